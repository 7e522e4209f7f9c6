//! The reaction point: cut by messages, steered by probes.

use super::ReactionConfig;
use crate::control::ecm::EcmReaction;
use crate::control::probe::Clock;
use crate::control::{Feedback, ReactionPoint};
use crate::dice::Dice;
use crate::units::{Bytes, Duration, Instant, Rate};

/// One limiter's rate, and what it knows of its path.
#[derive(Clone, Debug)]
pub struct E2cmReaction {
    ecm: EcmReaction,
    clock: Clock,
    /// The shortest way there and back that a probe took, or what it takes at most.
    shortest: Duration,
    /// What the flow had waiting at the probe before.
    waited: u64,
    config: ReactionConfig,
}

impl E2cmReaction {
    /// A reaction point that limits nothing until its first notification. `dice` draws how long it waits when it is
    /// stopped.
    pub fn new(config: ReactionConfig, dice: Dice) -> E2cmReaction {
        let ecm = EcmReaction::new(config.ecm, dice);
        E2cmReaction { ecm, clock: Clock::stopped(), shortest: config.idle_way, waited: 0, config }
    }

    /// A probe is back after `took`: how much of this flow waits, against how much should.
    fn on_probe(&mut self, now: Instant, took: Duration) {
        let Some(point) = self.ecm.tag() else { return };
        self.shortest = self.shortest.min(took);
        let waits = self.ecm.current().floor().carries_in(took - self.shortest).get();
        let flow = self.config.flow;
        let (set_point, most) = (flow.set_point.get() as i64, 2 * flow.set_point.get() as i64);
        let octets = |size: u64| size.min(1 << 40) as i64;
        let offset = (octets(waits) - set_point).clamp(-set_point, set_point);
        let before = core::mem::replace(&mut self.waited, waits);
        let delta = (octets(waits) - octets(before)).clamp(-most, most);
        self.ecm.steer(now, point, -(offset + i64::from(flow.weight) * delta), flow);
    }
}

impl ReactionPoint for E2cmReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        match feedback {
            Feedback::Bcn { message, .. } => {
                // Good news of a congestion point is of one place only.
                if message.feedback(self.config.ecm.scale) <= 0 {
                    self.ecm.on_feedback(now, feedback);
                }
            }
            Feedback::Probe { took, .. } => self.on_probe(now, took),
            _ => unreachable!("an adapter hands a limiter its own scheme's feedback"),
        }
        self.clock.follow(now, self.config.probe_period, self.ecm.limit().is_some());
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, size: Bytes) {
        self.ecm.on_sent(now, size);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.ecm.on_timeout(now);
        self.clock.on_timeout(now, self.config.probe_period);
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        [self.ecm.next_timeout(), self.clock.next_timeout()].into_iter().flatten().min()
    }

    #[inline]
    fn limit(&self) -> Option<Rate> {
        self.ecm.limit()
    }

    #[inline]
    fn take_probe(&mut self) -> bool {
        self.clock.take_probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ecm::Message;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    const WORST: Message = Message { offset: 585, delta: 1171 };

    fn flow() -> E2cmReaction {
        E2cmReaction::new(ReactionConfig::default(), Dice::new(1, 2, 3))
    }

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    fn probe(us: u64) -> Feedback {
        Feedback::Probe { took: Duration::from_us(us), worst: 0 }
    }

    fn mbps(flow: &E2cmReaction) -> u64 {
        flow.limit().map_or(10_000, |rate| rate.bps() / 1_000_000)
    }

    #[test]
    fn a_path_without_a_queue_raises_the_rate_until_the_limiter_is_gone() {
        let mut flow = flow();
        flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: WORST });
        assert_eq!(mbps(&flow), 5_004);
        let mut probes = 0;
        while flow.limit().is_some() {
            flow.on_feedback(at(1), probe(10));
            probes += 1;
        }
        // Each is a fifth of a tenth of the link: an empty queue at rest.
        assert_eq!(probes, 25);
        assert_eq!(flow.next_timeout(), None, "without a limiter nobody asks");
    }

    #[test]
    fn what_waits_is_the_rate_times_the_excess_of_the_way() {
        let mut flow = flow();
        flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: WORST });
        flow.on_feedback(at(1), probe(10));
        let before = mbps(&flow);
        // 5.2 Gb/s for 40 us are 26 kB, nearly three times the set point.
        flow.on_feedback(at(2), probe(50));
        assert!(mbps(&flow) < before, "{} after {before}", mbps(&flow));
    }

    #[test]
    fn good_news_of_a_congestion_point_is_ignored_and_no_frame_is_tagged() {
        let mut flow = flow();
        flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: WORST });
        flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: Message { offset: -585, delta: 0 } });
        assert_eq!(mbps(&flow), 5_004);
        assert_eq!(flow.tag(), None);
    }

    #[test]
    fn probes_are_due_every_period_while_there_is_a_limiter() {
        let mut flow = flow();
        assert_eq!(flow.next_timeout(), None);
        flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: WORST });
        assert!(!flow.take_probe());
        flow.on_timeout(at(500));
        assert!(flow.take_probe());
        assert!(!flow.take_probe(), "one at a time");
        assert_eq!(flow.next_timeout(), Some(at(1000)));
    }

    #[test]
    fn life_of_a_flow() {
        let mut flow = flow();
        let mut text = String::from("event     Mb/s\n");
        let mut line =
            |event: &str, flow: &E2cmReaction| writeln!(text, "{event:<8}  {:>4}", mbps(flow)).unwrap();
        for _ in 0..3 {
            flow.on_feedback(at(0), Feedback::Bcn { point: 1, message: WORST });
            line("bcn", &flow);
        }
        for us in [200, 150, 80, 30, 12, 10, 10, 14, 20] {
            flow.on_feedback(at(us), probe(us));
            line(&std::format!("{us} us"), &flow);
        }
        assert_snapshot!(text, @"
        event     Mb/s
        bcn       5004
        bcn       2504
        bcn       1253
        200 us     626
        150 us    1383
        80 us     1425
        30 us     2009
        12 us     2209
        10 us     2409
        10 us     2609
        14 us     2722
        20 us     2753
        ");
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_rate_in_bounds_and_an_idle_path_ends_it(
            history in prop::collection::vec((any::<bool>(), any::<i16>(), any::<i16>(), 1u64..100_000), 0..100),
        ) {
            let mut flow = flow();
            for (is_probe, offset, delta, us) in history {
                let message = Message { offset, delta };
                let feedback = if is_probe { probe(us) } else { Feedback::Bcn { point: 1, message } };
                flow.on_feedback(at(0), feedback);
                while let Some(due) = flow.next_timeout().filter(|due| *due <= at(10_000)) {
                    flow.on_timeout(due);
                }
                if let Some(limit) = flow.limit() {
                    prop_assert!(limit >= Rate::from_mbps(1) && limit < Rate::from_gbps(10));
                }
            }
            for _ in 0..60 {
                flow.on_feedback(at(20_000), probe(1));
            }
            prop_assert_eq!(flow.limit(), None);
        }
    }
}
