//! The reaction point: cut by messages, raised by probes.

use super::{NO_QUEUE, ReactionConfig};
use crate::control::ecm::moved;
use crate::control::fixed::Fixed;
use crate::control::probe::Clock;
use crate::control::{Feedback, ReactionPoint};
use crate::units::{Bytes, Instant, Rate};

/// One limiter's rate.
#[derive(Clone, Debug)]
pub struct ProbedReaction {
    limited: bool,
    current: Fixed,
    clock: Clock,
    config: ReactionConfig,
}

impl ProbedReaction {
    /// A reaction point that limits nothing until its first notification.
    pub fn new(config: ReactionConfig) -> ProbedReaction {
        let current = Fixed::of(config.max_rate);
        ProbedReaction { limited: false, current, clock: Clock::stopped(), config }
    }

    fn cut(&mut self, quantised: u8) {
        let floor = Fixed::of(self.config.min_rate.min(self.config.max_rate));
        self.current = self.current.less(quantised, self.config.gd_log2).max(floor);
        self.limited = true;
    }

    /// Bad news has come by other ways.
    fn raise(&mut self, worst: i16) {
        let Some(good) = u64::try_from(worst).ok().filter(|good| *good > 0 && worst != NO_QUEUE) else {
            return;
        };
        let full = Fixed::of(self.config.max_rate);
        let step = moved(full, 64 * good, self.config.raise, self.config.scale);
        self.current = self.current.plus(step);
        if self.current >= full {
            self.current = full;
            self.limited = false;
        }
    }
}

impl ReactionPoint for ProbedReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        match feedback {
            Feedback::Cnm { quantised } if quantised > 0 => self.cut(quantised),
            Feedback::Cnm { .. } => {}
            Feedback::Probe { worst, .. } if self.limited => self.raise(worst),
            Feedback::Probe { .. } => {}
            _ => unreachable!("an adapter hands a limiter its own scheme's feedback"),
        }
        self.clock.follow(now, self.config.probe_period, self.limited);
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, _size: Bytes) {}

    fn on_timeout(&mut self, now: Instant) {
        self.clock.on_timeout(now, self.config.probe_period);
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        self.clock.next_timeout()
    }

    #[inline]
    fn limit(&self) -> Option<Rate> {
        self.limited.then(|| self.current.floor())
    }

    #[inline]
    fn take_probe(&mut self) -> bool {
        self.clock.take_probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    fn probe(worst: i16) -> Feedback {
        Feedback::Probe { took: Duration::from_us(10), worst }
    }

    fn mbps(flow: &ProbedReaction) -> u64 {
        flow.limit().map_or(10_000, |rate| rate.bps() / 1_000_000)
    }

    #[test]
    fn only_good_news_raises_and_it_does_so_in_proportion() {
        let mut flow = ProbedReaction::new(ReactionConfig::default());
        flow.on_feedback(at(0), Feedback::Cnm { quantised: 63 });
        assert_eq!(mbps(&flow), 5_078);
        for worst in [-1, -500, 0, NO_QUEUE] {
            flow.on_feedback(at(0), probe(worst));
            assert_eq!(mbps(&flow), 5_078, "{worst}");
        }
        // An empty queue at rest is a fifth of the largest feedback, and a fifth of 2 % of the link is 40 Mb/s.
        flow.on_feedback(at(0), probe(515));
        assert_eq!(mbps(&flow), 5_118);
        flow.on_feedback(at(0), probe(257));
        assert_eq!(mbps(&flow), 5_138);
    }

    #[test]
    fn a_probe_for_a_flow_that_nothing_limits_changes_nothing() {
        let mut flow = ProbedReaction::new(ReactionConfig::default());
        flow.on_feedback(at(0), probe(500));
        assert_eq!((flow.limit(), flow.next_timeout()), (None, None));
    }

    #[test]
    fn without_probes_a_rate_stays_where_it_is() {
        let mut flow = ProbedReaction::new(ReactionConfig::default());
        flow.on_feedback(at(0), Feedback::Cnm { quantised: 63 });
        for period in 1..100 {
            flow.on_timeout(at(500 * period));
            flow.on_sent(at(500 * period), Bytes::from_kb(150));
            assert!(flow.take_probe());
        }
        assert_eq!(mbps(&flow), 5_078);
    }

    #[test]
    fn life_of_a_flow() {
        let mut flow = ProbedReaction::new(ReactionConfig::default());
        let mut text = String::from("event      Mb/s\n");
        let mut line =
            |event: &str, flow: &ProbedReaction| writeln!(text, "{event:<9}  {:>4}", mbps(flow)).unwrap();
        for quantised in [63, 40, 10] {
            flow.on_feedback(at(0), Feedback::Cnm { quantised });
            line(&std::format!("cnm {quantised}"), &flow);
        }
        for worst in [-900, -20, 100, 300, 515, 2_500] {
            flow.on_feedback(at(1), probe(worst));
            line(&std::format!("probe {worst}"), &flow);
        }
        assert_snapshot!(text, @"
        event      Mb/s
        cnm 63     5078
        cnm 40     3491
        cnm 10     3218
        probe -900  3218
        probe -20  3218
        probe 100  3226
        probe 300  3249
        probe 515  3289
        probe 2500  3483
        ");
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_rate_in_bounds_and_an_idle_path_ends_it(
            history in prop::collection::vec((any::<bool>(), 0u8..64, any::<i16>()), 0..300),
        ) {
            let mut flow = ProbedReaction::new(ReactionConfig::default());
            for (is_probe, quantised, worst) in history {
                flow.on_feedback(at(0), if is_probe { probe(worst) } else { Feedback::Cnm { quantised } });
                if let Some(limit) = flow.limit() {
                    prop_assert!((Rate::from_mbps(1)..Rate::from_gbps(10)).contains(&limit));
                }
            }
            for _ in 0..300 {
                flow.on_feedback(at(0), probe(515));
            }
            prop_assert_eq!(flow.limit(), None);
        }
    }
}
