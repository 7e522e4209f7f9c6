//! The channel adapter: an index that marks push up and a timer lets fall.

use super::ReactionConfig;
use crate::control::{Feedback, ReactionPoint};
use crate::units::{Bytes, Instant, Rate};

/// One limiter's index into the table of delays (CCTI).
///
/// A delay behind every frame, in proportion to the frame, is a rate; that is what [`limit`](ReactionPoint::limit) says.
#[derive(Clone, Debug)]
pub struct IbReaction {
    index: u8,
    /// When the index falls next; [`Instant::NEVER`] while it stands at its least.
    falls: Instant,
    config: ReactionConfig,
}

impl IbReaction {
    /// A reaction point that delays nothing beyond its least.
    pub fn new(config: ReactionConfig) -> IbReaction {
        IbReaction { index: config.least.min(config.table.limit), falls: Instant::NEVER, config }
    }

    /// The index.
    pub fn index(&self) -> u8 {
        self.index
    }
}

impl ReactionPoint for IbReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let Feedback::Becn = feedback else {
            unreachable!("an adapter hands a limiter its own scheme's feedback");
        };
        self.index = self.index.saturating_add(self.config.increase).min(self.config.table.limit);
        // The timer runs on: marks do not restart it.
        if self.falls == Instant::NEVER {
            self.falls = now + self.config.timer;
        }
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, _size: Bytes) {}

    fn on_timeout(&mut self, now: Instant) {
        if now < self.falls {
            return;
        }
        let least = self.config.least.min(self.config.table.limit);
        self.index = self.index.saturating_sub(1).max(least);
        self.falls = if self.index > least { now + self.config.timer } else { Instant::NEVER };
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        (self.falls != Instant::NEVER).then_some(self.falls)
    }

    #[inline]
    fn limit(&self) -> Option<Rate> {
        let entry = self.config.table.entry(self.index);
        (entry.multiplier > 0).then(|| entry.of(self.config.max_rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ib_cc::Table;
    use crate::units::Duration;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    /// The index is the delay in frame times.
    fn coarse() -> ReactionConfig {
        let (table, timer) = (Table { limit: 127, most: 127 }, Duration::from_us(150));
        ReactionConfig { table, timer, ..ReactionConfig::default() }
    }

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    #[test]
    fn every_mark_moves_the_index_by_the_increment_up_to_the_limit() {
        let table = Table { limit: 63, most: 63 };
        let mut flow = IbReaction::new(ReactionConfig { table, increase: 20, ..coarse() });
        let mut seen = std::vec::Vec::new();
        for _ in 0..4 {
            flow.on_feedback(at(0), Feedback::Becn);
            seen.push(flow.index());
        }
        assert_eq!(seen, [20, 40, 60, 63]);
    }

    #[test]
    fn the_timer_is_not_restarted_by_marks_and_stops_at_the_least() {
        let mut flow = IbReaction::new(ReactionConfig { least: 2, ..coarse() });
        assert_eq!((flow.index(), flow.next_timeout()), (2, None));
        flow.on_feedback(at(0), Feedback::Becn);
        flow.on_feedback(at(100), Feedback::Becn);
        assert_eq!(flow.next_timeout(), Some(at(150)));
        flow.on_timeout(at(149));
        assert_eq!(flow.index(), 4, "too early");
        flow.on_timeout(at(150));
        flow.on_timeout(at(300));
        assert_eq!((flow.index(), flow.next_timeout()), (2, None));
    }

    #[test]
    fn the_first_steps_down_are_steep() {
        let mut flow = IbReaction::new(coarse());
        let mut rates = std::vec::Vec::new();
        for _ in 0..4 {
            flow.on_feedback(at(0), Feedback::Becn);
            rates.push(flow.limit().map_or(0, Rate::bps) / 1_000_000);
        }
        assert_eq!(rates, [5_000, 3_333, 2_500, 2_000]);
    }

    #[test]
    fn life_of_a_flow() {
        let mut flow = IbReaction::new(ReactionConfig { increase: 2, ..coarse() });
        let mut text = String::from("  us  event  index  Mb/s\n");
        let mut line = |us: u64, event: &str, flow: &IbReaction| {
            let rate =
                flow.limit().map_or(String::from("free"), |rate| std::format!("{}", rate.bps() / 1_000_000));
            writeln!(text, "{us:>4}  {event:<5}  {:>5}  {rate:>4}", flow.index()).unwrap();
        };
        for us in [0, 40, 80] {
            flow.on_feedback(at(us), Feedback::Becn);
            line(us, "becn", &flow);
        }
        for us in [150, 300] {
            flow.on_timeout(at(us));
            line(us, "timer", &flow);
        }
        flow.on_feedback(at(310), Feedback::Becn);
        line(310, "becn", &flow);
        while let Some(due) = flow.next_timeout() {
            flow.on_timeout(due);
            line(due.ps() / 1_000_000, "timer", &flow);
        }
        assert_snapshot!(text, @"
          us  event  index  Mb/s
           0  becn       2  3333
          40  becn       4  2000
          80  becn       6  1428
         150  timer      5  1666
         300  timer      4  2000
         310  becn       6  1428
         450  timer      5  1666
         600  timer      4  2000
         750  timer      3  2500
         900  timer      2  3333
        1050  timer      1  5000
        1200  timer      0  free
        ");
    }

    proptest! {
        #[test]
        fn any_history_stays_within_the_table_and_ends_at_its_least(
            marks in prop::collection::vec(any::<bool>(), 0..300),
            limit in 1u8..,
            least: u8,
            increase in 1u8..,
        ) {
            let table = Table { limit, most: 100 };
            let mut flow = IbReaction::new(ReactionConfig { table, least, increase, ..coarse() });
            let mut now = Instant::START;
            for mark in marks {
                if mark {
                    flow.on_feedback(now, Feedback::Becn);
                } else {
                    now = flow.next_timeout().unwrap_or(now);
                    flow.on_timeout(now);
                }
                prop_assert!((least.min(limit)..=limit).contains(&flow.index()));
            }
            while let Some(due) = flow.next_timeout() {
                flow.on_timeout(due);
            }
            prop_assert_eq!(flow.index(), least.min(limit));
        }
    }
}
