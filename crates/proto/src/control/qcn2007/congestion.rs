//! The congestion point: samples more often the worse things are.

use super::CongestionConfig;
use crate::control::qcn::{Quantiser, Sample, octets, quantise};
use crate::dice::Dice;
use crate::units::Bytes;

/// Samples one queue.
///
/// The probability that the next frame is sampled follows from the last sample, linear in its feedback. That the last
/// one decides is our reading: the probability cannot follow feedback that is only known once a sample is taken.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    /// Octets queued at the last sample.
    queued_before: i64,
    /// A frame is sampled if a draw of 32 bits falls below this.
    sampled_below: u64,
    config: CongestionConfig,
    dice: Dice,
}

impl CongestionPoint {
    /// A congestion point on an empty queue. `dice` draws which frames are sampled.
    ///
    /// # Panics
    /// When the weight leaves the range of 2^-10 to 2^10.
    pub fn new(config: CongestionConfig, dice: Dice) -> CongestionPoint {
        assert!((-10..=10).contains(&config.weight_log2), "the weight lies between 2^-10 and 2^10");
        let mut point = CongestionPoint { queued_before: 0, sampled_below: 0, config, dice };
        point.sampled_below = point.probability(0);
        point
    }

    /// A frame was accepted, and the queue holds `queued` with it.
    #[inline]
    pub fn on_arrival(&mut self, queued: Bytes) -> Option<Sample> {
        if self.dice.next_u64() >> 32 >= self.sampled_below {
            return None;
        }
        self.sample(queued)
    }

    /// Octets queued at the last sample, for those who compare by themselves.
    pub fn queued_before(&self) -> Bytes {
        Bytes::new(self.queued_before.unsigned_abs())
    }

    #[cold]
    fn sample(&mut self, queued: Bytes) -> Option<Sample> {
        let queued = octets(queued);
        let offset = queued - octets(self.config.set_point);
        let delta = queued - core::mem::replace(&mut self.queued_before, queued);
        let CongestionConfig { set_point, weight_log2, .. } = self.config;
        let quantised = quantise(set_point, weight_log2, Quantiser::SixtyThreeths, offset, delta);
        self.sampled_below = self.probability(quantised);
        (quantised > 0).then_some(Sample { quantised, offset, delta })
    }

    /// Of 2^32 draws, how many sample a frame after this feedback; rounded down.
    fn probability(&self, quantised: u8) -> u64 {
        let of = |share: crate::units::Share| (u64::from(share.num) << 32) / u64::from(share.den.max(1));
        let (least, most) = (of(self.config.least_sampling), of(self.config.most_sampling));
        least + most.saturating_sub(least) * u64::from(quantised) / 63
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use std::fmt::Write;
    use std::string::String;

    fn point() -> CongestionPoint {
        CongestionPoint::new(CongestionConfig::default(), Dice::new(1, 2, 3))
    }

    /// Samples of 100000 arrivals into a queue that stays as it is.
    fn samples(queued: u64) -> usize {
        let mut point = point();
        (0..100_000).filter(|_| point.on_arrival(Bytes::new(queued)).is_some()).count()
    }

    #[test]
    fn the_worse_the_feedback_the_more_is_sampled() {
        // At rest at F above the set point every sample has feedback 63; at a fifth of that, 12 of 63.
        assert!((9_600..10_400).contains(&samples(33_000 + 165_000)), "{}", samples(198_000));
        let fifth = samples(33_000 + 33_000);
        assert!((2_550..2_900).contains(&fifth), "{fifth} of 100000, for 1 % + 9 % * 12/63");
    }

    #[test]
    fn a_queue_at_its_set_point_is_told_of_once_for_having_grown_there_and_a_short_one_never() {
        assert_eq!(samples(33_000), 1);
        assert_eq!(samples(1_500), 0);
    }

    #[test]
    fn growth_from_an_empty_queue_counts_twice() {
        let mut point = point();
        let sample = (0..1000).find_map(|_| point.on_arrival(Bytes::from_kb(33))).expect("a sample");
        assert_eq!(sample, Sample { quantised: (2 * 33 * 63 / 165) as u8, offset: 0, delta: 33_000 });
    }

    #[test]
    fn life_of_a_queue() {
        let mut point = point();
        let mut text = String::from(" queue  frames  feedback  next\n");
        for queued in [20_000, 60_000, 150_000, 250_000, 200_000, 100_000, 40_000, 20_000, 34_000] {
            // The queue stands still until one frame is sampled.
            let (mut frames, before) = (1, point.queued_before);
            let mut sample = point.on_arrival(Bytes::new(queued));
            while sample.is_none() && point.queued_before == before {
                sample = point.on_arrival(Bytes::new(queued));
                frames += 1;
            }
            let told = sample.map_or(String::from("-"), |sample| std::format!("{}", sample.quantised));
            let permille = (point.sampled_below * 1000) >> 32;
            writeln!(text, "{queued:>6}  {frames:>6}  {told:>8}  {}.{} %", permille / 10, permille % 10)
                .unwrap();
        }
        assert_snapshot!(text, @"
         queue  frames  feedback  next
         20000     198        10  2.4 %
         60000      63        40  6.7 %
        150000       3        63  9.9 %
        250000      31        63  9.9 %
        200000      10        25  4.5 %
        100000       4         -  0.9 %
         40000     206         -  0.9 %
         20000      13         -  0.9 %
         34000      63        11  2.5 %
        ");
    }
}
