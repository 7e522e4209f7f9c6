//! The reaction point: cuts when told, climbs by what it sends, and drifts by time.

use super::ReactionConfig;
use crate::control::fixed::Fixed;
use crate::control::{Feedback, ReactionPoint};
use crate::units::{Bytes, Instant, Rate};

/// One limiter's rate, and where it stands in its climb.
///
/// What the document does not say is our reading. Extra fast recovery makes the first cycle after a cut a quarter as
/// long and the second half (its formula sums from 25 to 100 frames a step), and at the end of the first divides a
/// goal of more than ten times the rate by eight, which is what became of it in the standard. Drift raises rate and
/// goal alike, and a cut puts it off for a whole period. A second cut within the first cycle keeps the goal, as in
/// the standard. Hyperactive increase adds more with every cycle.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// Octets left of the cycle; below zero ends it.
    bytes_left: i64,
    /// Whether a limiter exists; `false` before the first notification and after a release.
    limited: bool,
    /// Cycles ended since the last cut.
    stage: u32,
    /// When the rate next drifts; [`Instant::NEVER`] where it does not.
    drifts: Instant,
    /// What the flow is held to (R).
    current: Fixed,
    /// What `current` climbs halfway to at each step (R_d).
    target: Fixed,
    config: ReactionConfig,
}

impl Reaction {
    /// A reaction point that limits nothing until its first notification.
    pub fn new(config: ReactionConfig) -> Reaction {
        let full = Fixed::of(config.max_rate);
        Reaction {
            bytes_left: 0,
            limited: false,
            stage: 0,
            drifts: Instant::NEVER,
            current: full,
            target: full,
            config,
        }
    }

    /// The rate the climb aims at, rounded down; the maximum while nothing is limited.
    pub fn target(&self) -> Rate {
        self.target.floor()
    }

    /// Cycles since the last cut.
    pub fn stage(&self) -> u32 {
        self.stage
    }

    fn cut(&mut self, now: Instant, quantised: u8) {
        if !self.limited || self.stage != 0 {
            self.target = self.current;
            self.stage = 0;
            self.reload();
        }
        self.limited = true;
        let floor = Fixed::of(self.config.min_rate.min(self.config.max_rate));
        self.current = self.current.less(quantised, self.config.gd_log2).max(floor);
        self.restart_drift(now);
    }

    #[cold]
    fn end_cycle(&mut self) {
        self.stage = self.stage.saturating_add(1);
        let is_far_off = self.stage == 1 && self.target.exceeds_tenfold(self.current);
        self.target = if is_far_off && self.config.extra_fast_recovery {
            // A burst of cuts left the goal where nobody can go back to at once.
            self.target.eighth()
        } else {
            self.target.plus(self.step())
        };
        self.current = self.current.halfway_to(self.target);
        self.release_if_full();
        self.reload();
    }

    /// What the phase adds to the goal.
    fn step(&self) -> Fixed {
        match (self.stage.checked_sub(self.config.threshold), self.config.hai_rate) {
            (None, _) => Fixed::ZERO,
            (Some(_), None) => Fixed::of(self.config.ai_rate),
            (Some(past), Some(rate)) => Fixed::of(rate).times(past.saturating_add(1)),
        }
    }

    fn reload(&mut self) {
        let halves = if self.config.extra_fast_recovery { 2u32.saturating_sub(self.stage) } else { 0 };
        self.bytes_left = (self.config.byte_reset.get() >> halves).min(i64::MAX as u64) as i64;
    }

    fn restart_drift(&mut self, now: Instant) {
        self.drifts = self.config.drift.map_or(Instant::NEVER, |drift| now + drift.period);
    }

    fn release_if_full(&mut self) {
        let full = Fixed::of(self.config.max_rate);
        if self.current >= full {
            (self.current, self.target) = (full, full);
            self.stage = 0;
            self.limited = false;
            self.drifts = Instant::NEVER;
        }
    }
}

impl ReactionPoint for Reaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let Feedback::Cnm { quantised } = feedback else {
            unreachable!("an adapter hands a limiter its own scheme's feedback");
        };
        assert!(quantised < 64, "feedback has six bits");
        if quantised > 0 {
            self.cut(now, quantised);
        }
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, size: Bytes) {
        if !self.limited {
            return;
        }
        self.bytes_left -= size.get() as i64;
        if self.bytes_left < 0 {
            self.end_cycle();
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        let Some(drift) = self.config.drift.filter(|_| self.drifts <= now) else { return };
        self.current = drift.raise(self.current);
        // A goal beyond the link has nothing to gain, and below the rate it would pull it down.
        self.target =
            drift.raise(self.target).min(Fixed::of(self.config.max_rate)).max(self.target).max(self.current);
        self.restart_drift(now);
        self.release_if_full();
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        (self.drifts != Instant::NEVER).then_some(self.drifts)
    }

    /// Rounded down to whole bits per second.
    #[inline]
    fn limit(&self) -> Option<Rate> {
        self.limited.then(|| self.current.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::drift::Drift;
    use crate::units::{Duration, Share};
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;
    use std::vec::Vec;

    /// Nothing but cuts and cycles.
    fn without_drift() -> ReactionConfig {
        ReactionConfig { drift: None, ..ReactionConfig::default() }
    }

    fn cnm(flow: &mut Reaction, quantised: u8) {
        flow.on_feedback(Instant::START, Feedback::Cnm { quantised });
    }

    /// Frames of each of the next cycles.
    fn cycles(flow: &mut Reaction, count: usize) -> Vec<u32> {
        let mut frames = 0;
        let mut lengths = Vec::new();
        while lengths.len() < count {
            let stage = flow.stage();
            flow.on_sent(Instant::START, Bytes::new(1500));
            frames += 1;
            if flow.stage() != stage {
                lengths.push(frames);
                frames = 0;
            }
        }
        lengths
    }

    fn kbps(flow: &Reaction) -> (u64, u64) {
        (flow.limit().map_or(0, Rate::bps) / 1000, flow.target().bps() / 1000)
    }

    #[test]
    fn extra_fast_recovery_makes_the_first_cycles_shorter() {
        let mut flow = Reaction::new(without_drift());
        cnm(&mut flow, 63);
        // A cycle ends with the octet after the last, so with one frame more.
        assert_eq!(cycles(&mut flow, 4), [26, 51, 101, 101]);
        let mut plain = Reaction::new(ReactionConfig { extra_fast_recovery: false, ..without_drift() });
        cnm(&mut plain, 63);
        assert_eq!(cycles(&mut plain, 3), [101, 101, 101]);
    }

    #[test]
    fn after_a_burst_of_cuts_extra_fast_recovery_does_not_jump_back_to_the_goal() {
        let burst = |extra_fast_recovery| {
            let mut flow = Reaction::new(ReactionConfig { extra_fast_recovery, ..without_drift() });
            for _ in 0..5 {
                cnm(&mut flow, 63);
            }
            cycles(&mut flow, 1);
            kbps(&flow)
        };
        assert_eq!(burst(true), (793_844, 1_250_000));
        assert_eq!(burst(false), (5_168_844, 10_000_000));
    }

    #[test]
    fn fast_recovery_halves_the_distance_and_active_increase_adds() {
        let mut flow = Reaction::new(without_drift());
        cnm(&mut flow, 32);
        assert_eq!(kbps(&flow), (7_500_000, 10_000_000));
        cycles(&mut flow, 4);
        assert_eq!(kbps(&flow), (9_843_750, 10_000_000));
        cycles(&mut flow, 1);
        assert_eq!(kbps(&flow), (9_923_375, 10_003_000));
    }

    #[test]
    fn hyperactive_increase_adds_more_with_every_cycle() {
        let config = ReactionConfig { hai_rate: Some(Rate::from_mbps(30)), ..without_drift() };
        let mut flow = Reaction::new(config);
        for _ in 0..10 {
            cnm(&mut flow, 63);
        }
        cycles(&mut flow, 1);
        cnm(&mut flow, 63);
        let (_, goal) = kbps(&flow);
        cycles(&mut flow, 4);
        assert_eq!(kbps(&flow).1, goal, "fast recovery");
        cycles(&mut flow, 3);
        assert_eq!(kbps(&flow).1, goal + (1 + 2 + 3) * 30_000);
    }

    #[test]
    fn a_second_cut_in_the_first_cycle_keeps_the_goal_and_one_after_it_does_not() {
        let mut flow = Reaction::new(without_drift());
        cnm(&mut flow, 63);
        cnm(&mut flow, 63);
        assert_eq!(flow.target(), Rate::from_gbps(10));
        cycles(&mut flow, 1);
        let (current, _) = kbps(&flow);
        cnm(&mut flow, 10);
        assert_eq!(kbps(&flow).1, current);
    }

    #[test]
    fn drift_doubles_a_rate_in_seventy_milliseconds_and_a_cut_puts_it_off() {
        let mut flow = Reaction::new(ReactionConfig::default());
        for _ in 0..5 {
            cnm(&mut flow, 63);
        }
        let (before, _) = kbps(&flow);
        let mut steps = 0;
        while kbps(&flow).0 < 2 * before {
            let due = flow.next_timeout().expect("it drifts");
            flow.on_timeout(due);
            steps += 1;
        }
        assert_eq!(steps, 139, "69.5 ms");
        let now = flow.next_timeout().expect("it drifts");
        flow.on_feedback(now, Feedback::Cnm { quantised: 1 });
        assert_eq!(flow.next_timeout(), Some(now + Duration::from_us(500)));
    }

    #[test]
    fn a_flow_that_sends_nothing_drifts_free() {
        let mut flow = Reaction::new(ReactionConfig::default());
        for _ in 0..40 {
            cnm(&mut flow, 63);
        }
        assert_eq!(flow.limit(), Some(Rate::from_mbps(1)));
        let mut last = Instant::START;
        while let Some(due) = flow.next_timeout() {
            flow.on_timeout(due);
            last = due;
        }
        assert_eq!(flow.limit(), None);
        // ln(10^4) / ln(1.005) periods.
        assert_eq!(last, Instant::START + Duration::from_us(500) * 1_847);
    }

    #[test]
    fn a_flow_that_only_sends_climbs_free_too() {
        let mut flow = Reaction::new(without_drift());
        cnm(&mut flow, 63);
        for _ in 0..1_000_000 {
            flow.on_sent(Instant::START, Bytes::new(1500));
        }
        assert_eq!(flow.limit(), None);
    }

    #[test]
    fn life_of_a_flow() {
        let mut flow = Reaction::new(ReactionConfig::default());
        let mut now = Instant::START;
        let mut text = String::from("   ms  event        current      target  cycle\n");
        let mut line = |now: Instant, event: &str, flow: &Reaction| {
            let ms = std::format!("{}.{}", now.ps() / 1_000_000_000, now.ps() / 100_000_000 % 10);
            match flow.limit() {
                Some(_) => {
                    let (current, target) = kbps(flow);
                    writeln!(text, "{ms:>5}  {event:<9} {current:>10}  {target:>10}  {}", flow.stage())
                        .unwrap();
                }
                None => writeln!(text, "{ms:>5}  {event:<9}   released").unwrap(),
            }
        };
        for quantised in [63, 40] {
            flow.on_feedback(now, Feedback::Cnm { quantised });
            line(now, &std::format!("cnm {quantised}"), &flow);
        }
        while flow.limit().is_some() {
            // A millisecond of frames at the rate of its beginning, then the drifts of it.
            let rate = flow.limit().unwrap_or(Rate::from_gbps(10));
            for _ in 0..rate.carries_in(Duration::from_ms(1)).get() / 1500 {
                let stage = flow.stage();
                flow.on_sent(now, Bytes::new(1500));
                if flow.stage() != stage {
                    line(now, "cycle", &flow);
                }
            }
            now = now + Duration::from_ms(1);
            while let Some(due) = flow.next_timeout().filter(|due| *due <= now) {
                flow.on_timeout(due);
            }
        }
        assert_snapshot!(text, @"
         ms  event        current      target  cycle
        0.0  cnm 63       5078125    10000000  0
        0.0  cnm 40       3491210    10000000  0
        0.0  cycle        6745605    10000000  1
        0.0  cycle        8372802    10000000  2
        0.0  cycle        9186401    10000000  3
        0.0  cycle        9593200    10000000  4
        1.0  cycle        9846186    10003000  5
        1.0  cycle        9926093    10006000  6
        1.0  cycle        9967546    10009000  7
        1.0  cycle        9989773    10012000  8
        1.0  cycle       released
        ");
    }

    #[derive(Clone, Copy, Debug)]
    enum Happening {
        Cnm(u8),
        Sent(u64),
        Timeout,
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_rate_in_bounds_and_ends_in_release(
            history in prop::collection::vec(
                prop_oneof![
                    (0u8..64).prop_map(Happening::Cnm),
                    (64u64..200_000).prop_map(Happening::Sent),
                    Just(Happening::Timeout),
                ],
                0..200,
            ),
            extra_fast_recovery: bool,
            hyper: bool,
            percent in 1u32..100,
        ) {
            let gain = Share::percent(percent);
            let config = ReactionConfig {
                extra_fast_recovery,
                hai_rate: hyper.then_some(Rate::from_mbps(50)),
                drift: Some(Drift { gain, period: Duration::from_us(500) }),
                ..ReactionConfig::default()
            };
            let mut flow = Reaction::new(config);
            let mut now = Instant::START;
            for happening in history {
                match happening {
                    Happening::Cnm(quantised) => flow.on_feedback(now, Feedback::Cnm { quantised }),
                    Happening::Sent(octets) => flow.on_sent(now, Bytes::new(octets)),
                    Happening::Timeout => {
                        now = flow.next_timeout().unwrap_or(now);
                        flow.on_timeout(now);
                    }
                }
                if let Some(limit) = flow.limit() {
                    prop_assert!((config.min_rate..=config.max_rate).contains(&limit));
                    prop_assert!(flow.target >= flow.current);
                }
            }
            for _ in 0..2_000 {
                let Some(due) = flow.next_timeout() else { break };
                flow.on_timeout(due);
            }
            prop_assert_eq!(flow.limit(), None);
        }
    }
}
