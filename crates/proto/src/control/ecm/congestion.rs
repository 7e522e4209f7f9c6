//! The congestion point: samples arrivals, and tells sources of a queue in either direction.

use super::{CongestionConfig, Scale};
use crate::dice::Dice;
use crate::units::{Bytes, Share};

/// What a congestion point tells a source: two signed numbers of sixteen bits, in units of 64 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The queue above its set point (Qoff); negative below it.
    pub offset: i16,
    /// What the queue grew since the sample before (Qdelta).
    pub delta: i16,
}

impl Message {
    /// BCN(0,0): stop. A queue at its set point that does not move is never told of, so the two zeroes are free
    /// to mean this.
    pub const STOP: Message = Message { offset: 0, delta: 0 };
    const UNIT: i64 = 64;

    /// In units, rounded towards nothing: what is told is never worse than what is.
    fn of(offset: i64, delta: i64) -> Message {
        let units =
            |octets: i64| (octets / Self::UNIT).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
        Message { offset: units(offset), delta: units(delta) }
    }

    /// The feedback in octets, negative where the source should slow down.
    pub fn feedback(self, scale: Scale) -> i64 {
        -Self::UNIT * (i64::from(self.offset) + i64::from(scale.weight) * i64::from(self.delta))
    }
}

/// Samples one queue.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    /// Octets queued at the last sample.
    queued_before: Bytes,
    config: CongestionConfig,
    dice: Dice,
}

impl CongestionPoint {
    /// A congestion point on an empty queue. `dice` draws which frames are sampled.
    pub fn new(config: CongestionConfig, dice: Dice) -> CongestionPoint {
        CongestionPoint { queued_before: Bytes::ZERO, config, dice }
    }

    /// A frame was accepted, and the queue holds `queued` with it. `is_ours` says whether it carries a rate
    /// limiter tag with the identifier of this congestion point: only then is good news for its source.
    #[inline]
    pub fn on_arrival(&mut self, queued: Bytes, is_ours: bool) -> Option<Message> {
        let Share { num, den } = self.config.sampling;
        if self.dice.below(u64::from(den)) >= u64::from(num) {
            return None;
        }
        self.sample(queued, is_ours)
    }

    #[cold]
    fn sample(&mut self, queued: Bytes, is_ours: bool) -> Option<Message> {
        let before = core::mem::replace(&mut self.queued_before, queued);
        let is_above = |threshold: Option<Bytes>| threshold.is_some_and(|threshold| queued > threshold);
        let scale = self.config.scale;
        let most = scale.set_point.get() as i64;
        if is_above(self.config.stop_above) {
            return Some(Message::STOP);
        }
        if is_above(self.config.max_above) {
            return Some(Message::of(most, 2 * most));
        }
        let offset = (queued.get() as i64 - most).clamp(-most, most);
        let delta = (queued.get() as i64 - before.get() as i64).clamp(-2 * most, 2 * most);
        let message = Message::of(offset, delta);
        match message.feedback(scale) {
            ..0 => Some(message),
            0 => None,
            1.. => (is_ours && queued < scale.set_point).then_some(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    /// A point that samples every frame.
    fn eager(config: CongestionConfig) -> CongestionPoint {
        CongestionPoint::new(CongestionConfig { sampling: Share::percent(100), ..config }, Dice::new(1, 2, 3))
    }

    fn told(point: &mut CongestionPoint, queued: u64, is_ours: bool) -> Option<i64> {
        let scale = point.config.scale;
        point.on_arrival(Bytes::new(queued), is_ours).map(|message| message.feedback(scale))
    }

    #[test]
    fn one_frame_in_fifty_is_sampled() {
        let mut point = CongestionPoint::new(CongestionConfig::default(), Dice::new(1, 2, 3));
        // A long queue that does not move: every sample has something to say.
        let samples = (0..100_000).filter(|_| point.on_arrival(Bytes::from_kb(100), false).is_some());
        let samples = samples.count();
        assert!((1_850..2_150).contains(&samples), "{samples} of 100000 at 2 %");
    }

    #[test]
    fn bad_news_is_for_everyone_and_good_news_for_its_own() {
        let mut point = eager(CongestionConfig::default());
        assert!(told(&mut point, 60_000, false).is_some_and(|fb| fb < 0));
        assert_eq!(told(&mut point, 20_000, false), None);
        assert!(told(&mut point, 20_000, true).is_some_and(|fb| fb > 0));
    }

    #[test]
    fn above_the_set_point_there_is_no_good_news_even_of_a_falling_queue() {
        let mut point = eager(CongestionConfig::default());
        told(&mut point, 100_000, true);
        assert_eq!(told(&mut point, 40_000, true), None);
        assert!(told(&mut point, 37_000, true).is_some_and(|fb| fb > 0));
    }

    #[test]
    fn feedback_weighs_growth_twice_and_stays_within_its_range() {
        let mut point = eager(CongestionConfig::default());
        // 38400 octets are 600 units, 900 above the set point: 14 units.
        assert_eq!(told(&mut point, 38_400, false), Some(-64 * (14 + 2 * 600)));
        assert_eq!(told(&mut point, 51_200, false), Some(-64 * (214 + 2 * 200)));
        let scale = Scale::default();
        let worst = told(&mut point, 149_000, false).expect("bad news");
        assert_eq!(worst, -64 * (585 + 2 * 1171));
        assert!(worst.unsigned_abs() <= scale.largest());
    }

    #[test]
    fn a_queue_at_rest_at_its_set_point_is_not_told_of() {
        let mut point = eager(CongestionConfig::default());
        told(&mut point, 37_500, true);
        assert_eq!(told(&mut point, 37_500, true), None);
        assert_eq!(told(&mut point, 37_540, true), None, "less than a unit");
    }

    #[test]
    fn beyond_the_thresholds_the_worst_is_told_and_then_the_stop() {
        let config = CongestionConfig { stop_above: Some(Bytes::from_kb(300)), ..Default::default() };
        let mut point = eager(config);
        told(&mut point, 400_000, false);
        // Falling fast, and still the worst.
        assert_eq!(told(&mut point, 150_001, false), Some(-64 * (585 + 2 * 1171)));
        assert_eq!(point.on_arrival(Bytes::new(300_001), true), Some(Message::STOP));
        let mut without = eager(CongestionConfig { max_above: None, ..Default::default() });
        told(&mut without, 400_000, false);
        assert_eq!(told(&mut without, 300_001, false), Some(-64 * (585 - 2 * 1171)).filter(|fb| *fb < 0));
    }

    #[test]
    fn life_of_a_queue() {
        let config = CongestionConfig { stop_above: Some(Bytes::from_kb(300)), ..Default::default() };
        let mut point = eager(config);
        let mut text = String::from(" queue  tag   offset  delta  feedback\n");
        for (queued, is_ours) in [
            (10_000, false),
            (30_000, false),
            (90_000, false),
            (170_000, true),
            (310_000, true),
            (140_000, true),
            (60_000, true),
            (30_000, true),
            (30_000, false),
            (32_000, true),
            (36_000, true),
        ] {
            write!(text, "{queued:>6}  {}  ", if is_ours { "ours" } else { "none" }).unwrap();
            match point.on_arrival(Bytes::new(queued), is_ours) {
                None => text.push_str("     -      -         -\n"),
                Some(Message::STOP) => text.push_str("     0      0      stop\n"),
                Some(message) => {
                    let feedback = message.feedback(config.scale);
                    writeln!(text, "{:>6} {:>6} {feedback:>9}", message.offset, message.delta).unwrap();
                }
            }
        }
        assert_snapshot!(text, @"
         queue  tag   offset  delta  feedback
         10000  none       -      -         -
         30000  none    -117    312    -32448
         90000  none     585    937   -157376
        170000  ours     585   1171   -187328
        310000  ours       0      0      stop
        140000  ours       -      -         -
         60000  ours       -      -         -
         30000  ours    -117   -468     67392
         30000  none       -      -         -
         32000  ours     -85     31      1472
         36000  ours     -23     62     -6464
        ");
    }

    proptest! {
        #[test]
        fn whatever_the_queue_does_feedback_is_in_range_and_is_never_a_stop_by_accident(
            queue in prop::collection::vec((0u64..1 << 40, any::<bool>()), 1..50),
            set_point in 64u64..1_000_000,
            weight in 0u16..8,
        ) {
            let scale = Scale { set_point: Bytes::new(set_point), weight };
            let mut point = eager(CongestionConfig { scale, ..Default::default() });
            for (queued, is_ours) in queue {
                if let Some(message) = point.on_arrival(Bytes::new(queued), is_ours) {
                    let feedback = message.feedback(scale);
                    prop_assert_ne!(feedback, 0, "no threshold is set, so nobody is stopped");
                    prop_assert!(feedback.unsigned_abs() <= scale.largest());
                    prop_assert!(feedback < 0 || (is_ours && queued < set_point));
                }
            }
        }
    }
}
