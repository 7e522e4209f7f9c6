//! The time, as machines count it.

use quell_proto::units::{Duration, Instant};
use std::time;

/// What a clock leaves out: a gap between two readings in which the system let somebody else run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// A longer gap is a stall.
    pub beyond: time::Duration,
    /// What it counts for.
    pub counts: time::Duration,
}

/// The real time since the clock was made, less the stalls it was told to leave out.
#[derive(Clone, Debug)]
pub struct Clock {
    origin: time::Instant,
    last: time::Instant,
    stall: Option<Stall>,
    left_out: time::Duration,
    stalls: u64,
}

impl Clock {
    /// A clock that counts all time.
    pub fn new() -> Clock {
        Clock::leaving_out(None)
    }

    /// A clock that leaves out stalls: a loop that drives every node of an experiment, and that the system did not let run for
    /// a while, then finds the experiment as it left it.
    pub fn leaving_out(stall: Option<Stall>) -> Clock {
        let now = time::Instant::now();
        Clock { origin: now, last: now, stall, left_out: time::Duration::ZERO, stalls: 0 }
    }

    /// Reads it. It starts at [`Instant::START`] and never runs back.
    pub fn now(&mut self) -> Instant {
        let now = time::Instant::now();
        let gap = now - self.last;
        if let Some(stall) = self.stall.filter(|stall| gap > stall.beyond) {
            self.left_out += gap.saturating_sub(stall.counts);
            self.stalls += 1;
        }
        self.last = now;
        let counted = (now - self.origin).saturating_sub(self.left_out);
        Instant::from_ps(u64::try_from(counted.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// How often time was left out, and how much in all.
    pub fn stalls(&self) -> (u64, Duration) {
        (self.stalls, Duration::from_ns(u64::try_from(self.left_out.as_nanos()).unwrap_or(u64::MAX / 1000)))
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// A span of the machines' as the system takes it, rounded down to nanoseconds.
pub fn to_real(span: Duration) -> time::Duration {
    time::Duration::from_nanos(span.ps() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn a_stall_counts_for_what_it_was_said_to_and_is_told_of() {
        let ms = time::Duration::from_millis;
        let mut clock = Clock::leaving_out(Some(Stall { beyond: ms(10), counts: ms(2) }));
        let before = clock.now();
        sleep(ms(30));
        let after = clock.now();
        assert!((after - before).ps() <= Duration::from_ms(2).ps());
        assert!(clock.stalls().0 >= 1 && clock.stalls().1 >= Duration::from_ms(28));
    }

    #[test]
    fn a_plain_clock_counts_everything() {
        let mut clock = Clock::new();
        let before = clock.now();
        sleep(time::Duration::from_millis(5));
        assert!(clock.now() - before >= Duration::from_ms(5));
        assert_eq!(clock.stalls().0, 0);
    }
}
