//! Explicit congestion notification: which frames a switch marks on their way through a queue.
//!
//! The further a queue is above its lower threshold, the more of its frames are marked, as in random early
//! detection but by the queue at the instant and without an average; above the upper threshold all are. One
//! threshold in place of two is DCTCP's step. A driver marks only frames whose sender understands marks, and
//! what their receiver does about it is a scheme of its own: [`dcqcn`](super::dcqcn), [`dctcp`](super::dctcp).
//!
//! Congestion isolation asks the same question of the same curve, and isolates what would be marked
//! ([`isolation`](super::isolation)).

use crate::dice::Dice;
use crate::units::{Bytes, Share};

/// The marking curve of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkingConfig {
    /// Up to this nothing is marked (K_min).
    pub low: Bytes,
    /// Above this everything is (K_max).
    pub high: Bytes,
    /// What share of frames is marked at `high` itself (P_max).
    pub most: Share,
}

impl MarkingConfig {
    /// DCTCP's: nothing up to the threshold, everything above it.
    pub const fn step(threshold: Bytes) -> MarkingConfig {
        MarkingConfig { low: threshold, high: threshold, most: Share { num: 1, den: 1 } }
    }

    /// The DCQCN paper's at 40 Gb/s: 5 kB, 200 kB, 1 % (Congestion Control for Large-Scale RDMA Deployments,
    /// section 5).
    pub const fn dcqcn_40g() -> MarkingConfig {
        MarkingConfig { low: Bytes::from_kb(5), high: Bytes::from_kb(200), most: Share::percent(1) }
    }

    /// That of the congestion isolation experiments at 100 Gb/s: 10 kB, 300 kB, 1 % (IEEE P802.1Qcz Congestion
    /// Isolation, April 2018, "Queue Models Used").
    pub const fn isolation_100g() -> MarkingConfig {
        MarkingConfig { low: Bytes::from_kb(10), high: Bytes::from_kb(300), most: Share::percent(1) }
    }
}

/// Marks the frames of one queue.
#[derive(Clone, Debug)]
pub struct Marker {
    config: MarkingConfig,
    dice: Dice,
}

impl Marker {
    /// For a queue of this curve. `dice` draws who is marked.
    ///
    /// # Panics
    /// When the thresholds are the wrong way round, or more than all is to be marked.
    pub fn new(config: MarkingConfig, dice: Dice) -> Marker {
        assert!(config.low <= config.high, "a curve that ends before it begins");
        assert!(config.most.den > 0 && config.most.num <= config.most.den, "more than all cannot be marked");
        Marker { config, dice }
    }

    /// Whether to mark a frame that finds `queued` octets, itself counted or not as the driver chose for all.
    ///
    /// The draw is of a whole number below the denominator of the exact probability: nothing is rounded, and
    /// nothing is drawn where the answer is certain.
    #[inline]
    pub fn marks(&mut self, queued: Bytes) -> bool {
        if queued <= self.config.low {
            return false;
        }
        queued > self.config.high || self.draw(queued)
    }

    fn draw(&mut self, queued: Bytes) -> bool {
        /// Beyond 2 GB of queue the curve is not drawn any finer: with a 32-bit share, the product fits.
        const LONGEST: u64 = 1 << 31;
        let span = (self.config.high - self.config.low).get().min(LONGEST);
        let above = (queued - self.config.low).get().min(span);
        let Share { num, den } = self.config.most;
        self.dice.below(u64::from(den) * span) < u64::from(num) * above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marker(config: MarkingConfig) -> Marker {
        Marker::new(config, Dice::new(1, 2, 3))
    }

    fn share_marked(config: MarkingConfig, queued: u64) -> f64 {
        const FRAMES: u32 = 400_000;
        let mut marker = marker(config);
        let marked = (0..FRAMES).filter(|_| marker.marks(Bytes::new(queued))).count();
        marked as f64 / f64::from(FRAMES)
    }

    #[test]
    fn nothing_is_marked_at_the_lower_threshold_and_all_above_the_upper() {
        let curve = MarkingConfig::dcqcn_40g();
        let mut marker = marker(curve);
        assert!((0..1000).all(|_| !marker.marks(Bytes::new(5_000))));
        assert!((0..1000).all(|_| marker.marks(Bytes::new(200_001))));
    }

    #[test]
    fn between_the_thresholds_the_share_grows_in_a_line() {
        // At an eighth, half and all of the way from 5 to 200 kB: that part of 1 %. Three standard deviations
        // of 400000 draws at 1 % are 0.05 %.
        for (queued, share) in [(29_375, 0.001_25), (102_500, 0.005), (200_000, 0.01)] {
            let found = share_marked(MarkingConfig::dcqcn_40g(), queued);
            assert!((found - share).abs() < 0.000_5, "{found} at {queued}");
        }
    }

    #[test]
    fn a_step_is_no_matter_of_luck() {
        let mut marker = marker(MarkingConfig::step(Bytes::from_kb(65)));
        let before = marker.dice.clone();
        assert!(!marker.marks(Bytes::from_kb(65)));
        assert!(marker.marks(Bytes::new(65_001)));
        assert_eq!(marker.dice, before);
    }

    #[test]
    #[should_panic(expected = "ends before it begins")]
    fn thresholds_the_wrong_way_round_are_refused() {
        marker(MarkingConfig { low: Bytes::from_kb(201), ..MarkingConfig::dcqcn_40g() });
    }

    #[test]
    #[should_panic(expected = "more than all")]
    fn a_share_above_all_is_refused() {
        marker(MarkingConfig { most: Share { num: 3, den: 2 }, ..MarkingConfig::dcqcn_40g() });
    }

    proptest! {
        #[test]
        fn any_curve_takes_any_queue(low: u32, span: u64, num: u32, den: u32, queued: u64, seed: u64) {
            prop_assume!(den > 0 && num <= den);
            let low = u64::from(low);
            let high = low.saturating_add(span);
            let most = Share { num, den };
            let config = MarkingConfig { low: Bytes::new(low), high: Bytes::new(high), most };
            let marked = Marker::new(config, Dice::new(seed, 0, 0)).marks(Bytes::new(queued));
            prop_assert!(queued > low || !marked);
            prop_assert!(queued <= high || marked);
        }
    }
}
