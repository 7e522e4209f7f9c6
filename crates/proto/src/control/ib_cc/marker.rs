//! The switch: which frames carry the news of congestion on.

use super::MarkerConfig;
use crate::dice::Dice;
use crate::units::Bytes;

/// Marks the frames of one queue.
#[derive(Clone, Debug)]
pub struct Marker {
    config: MarkerConfig,
    dice: Dice,
}

impl Marker {
    /// A marker of this queue. `dice` draws which of the eligible frames are marked.
    pub fn new(config: MarkerConfig, dice: Dice) -> Marker {
        Marker { config, dice }
    }

    /// A `frame` came to wait, and the queue holds `queued` with it. `has_credits` says whether the port may send: it is
    /// the root of congestion then, and else its victim. Says whether the frame is to be marked.
    #[inline]
    pub fn on_arrival(&mut self, frame: Bytes, queued: Bytes, has_credits: bool) -> bool {
        let MarkerConfig { threshold, marking_rate, smallest, marks_victims } = self.config;
        if queued <= threshold || frame < smallest || !(has_credits || marks_victims) {
            return false;
        }
        marking_rate == 0 || self.dice.below(u64::from(marking_rate) + 1) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Bytes = Bytes::new(1500);
    const LONG: Bytes = Bytes::from_kb(100);

    /// Marks all that is eligible.
    fn every() -> MarkerConfig {
        MarkerConfig { marking_rate: 0, ..MarkerConfig::default() }
    }

    fn marker(config: MarkerConfig) -> Marker {
        Marker::new(config, Dice::new(1, 2, 3))
    }

    #[test]
    fn above_the_threshold_every_frame_is_marked() {
        let mut marker = marker(every());
        assert!(!marker.on_arrival(FRAME, Bytes::from_kb(33), true));
        assert!(marker.on_arrival(FRAME, Bytes::new(33_001), true));
    }

    #[test]
    fn a_victim_is_marked_only_where_the_mask_says_so() {
        assert!(!marker(every()).on_arrival(FRAME, LONG, false));
        let config = MarkerConfig { marks_victims: true, ..every() };
        assert!(marker(config).on_arrival(FRAME, LONG, false));
    }

    #[test]
    fn short_frames_go_unmarked_where_told() {
        let config = MarkerConfig { smallest: Bytes::new(512), ..every() };
        assert!(!marker(config).on_arrival(Bytes::new(511), LONG, true));
        assert!(marker(config).on_arrival(Bytes::new(512), LONG, true));
    }

    #[test]
    fn a_marking_rate_lets_that_many_pass_between_marks() {
        let mut marker = marker(MarkerConfig { marking_rate: 9, ..every() });
        let marks = (0..100_000).filter(|_| marker.on_arrival(FRAME, LONG, true)).count();
        assert!((9_700..10_300).contains(&marks), "{marks} of 100000, one in ten expected");
    }
}
