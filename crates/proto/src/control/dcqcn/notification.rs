//! The notification point: the receiver, who tells a sender that its frames come marked.

use crate::units::{Duration, Instant};

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotificationConfig {
    /// Least time between two notifications (N; `min_time_between_cnps`); zero: one for each marked frame.
    pub interval: Duration,
}

impl Default for NotificationConfig {
    /// The paper's: 50 us.
    fn default() -> NotificationConfig {
        NotificationConfig { interval: Duration::from_us(50) }
    }
}

/// Answers the marked frames of one flow; of a host, if the driver has one for all of them.
#[derive(Clone, Copy, Debug)]
pub struct NotificationPoint {
    config: NotificationConfig,
    /// Until when marks are not answered.
    quiet_until: Instant,
}

impl NotificationPoint {
    /// One that has answered nothing yet.
    pub fn new(config: NotificationConfig) -> NotificationPoint {
        NotificationPoint { config, quiet_until: Instant::START }
    }

    /// A marked frame arrived; says whether to send a notification.
    ///
    /// There is no timer: a mark that was not answered is forgotten, and the next one after the interval is.
    #[inline]
    pub fn on_marked(&mut self, now: Instant) -> bool {
        if now < self.quiet_until {
            return false;
        }
        self.quiet_until = now + self.config.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(interval_us: u64, marked_at_us: &[u64]) -> std::vec::Vec<u64> {
        let mut point =
            NotificationPoint::new(NotificationConfig { interval: Duration::from_us(interval_us) });
        let marks = marked_at_us.iter().copied();
        marks.filter(|us| point.on_marked(Instant::START + Duration::from_us(*us))).collect()
    }

    #[test]
    fn marks_are_answered_once_an_interval_from_the_answer_on() {
        assert_eq!(answered(50, &[0, 1, 49, 50, 51, 120, 169, 170]), [0, 50, 120, 170]);
    }

    #[test]
    fn without_an_interval_every_mark_is_answered() {
        assert_eq!(answered(0, &[3, 3, 4]), [3, 3, 4]);
    }
}
