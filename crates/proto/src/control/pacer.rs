//! The token bucket before a limited flow.
//!
//! Tokens are counted as time: credit of one picosecond is what the current rate earns in one picosecond.
//! So waiting needs no multiplication, a frame costs one division, and nothing is rounded but frame times
//! (up) and, when the rate changes, the credit carried over (down). Both let a flow fall behind its rate by
//! under a picosecond a step, and never exceed it.

use crate::units::{Bytes, Instant, Rate};

/// When a token bucket lets a frame go (NetFPGA QCN, "Token Bucket Rate Limiter").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// When the tokens cover the frame. Never sends two frames closer than the rate allows, but for what
    /// the bucket's depth saved up.
    WholeFrame,
    /// While any token is left; the rest of the frame is a debt. Sends bursts.
    AnyToken,
}

/// Holds one queue to a rate.
///
/// The bucket saves up to `depth` octets while its queue is empty or held. It always has room for what the
/// frame at hand needs, so a depth of zero means: no burst at all.
#[derive(Clone, Debug)]
pub struct Pacer {
    rule: Rule,
    depth: Bytes,
    rate: Option<Rate>,
    /// When `credit` was last counted: the start of the last frame, or the last change of rate.
    counted: Instant,
    /// Tokens at `counted`, in picoseconds of the rate; negative is debt, [`Pacer::FULL`] a full bucket.
    /// Capped only when a frame takes from it, since the cap depends on the frame.
    credit: i64,
}

impl Pacer {
    /// More credit than any cap, with room for a run's length on top.
    const FULL: i64 = i64::MAX / 4;

    /// A pacer that lets everything go until a rate is set.
    pub fn new(rule: Rule, depth: Bytes) -> Pacer {
        Pacer { rule, depth, rate: None, counted: Instant::START, credit: Self::FULL }
    }

    /// Holds the queue to `rate` from now on; `None` lets everything go. The tokens earned so far stay. The
    /// first frame under a limit waits its time from the start of the last frame sent before.
    ///
    /// A rate of zero is taken for 1 b/s: the flow stands still, and still has a time at which it may go.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        let rate = rate.map(|rate| rate.max(Rate::from_bps(1)));
        if rate == self.rate {
            return;
        }
        match (self.rate, rate) {
            (Some(old), Some(new)) => {
                let tokens = i128::from(self.credit_at(now)) * i128::from(old.bps());
                // Floored: credit is lost, debt is not.
                self.credit = clamp(tokens.div_euclid(i128::from(new.bps())));
                self.counted = now;
            }
            // Without a limit the bucket is full, unless frames go out meanwhile (see `on_sent`).
            (Some(_), None) => self.credit = Self::FULL,
            (None, _) => {}
        }
        self.rate = rate;
    }

    /// Whether it holds the queue to a rate.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    /// The earliest time at which `frame` may start; in the past where it might have started already.
    #[inline]
    pub fn ready_at(&self, frame: Bytes) -> Instant {
        let Some(rate) = self.rate else { return Instant::START };
        let missing = picoseconds(rate, self.needs(frame)) - self.credit;
        match u64::try_from(missing) {
            Ok(wait) => Instant::from_ps(self.counted.ps().saturating_add(wait)),
            // It was ready when the credit was counted, or before.
            Err(_) => self.counted,
        }
    }

    /// `frame` started now. A driver that sends before `ready_at` leaves a debt.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, frame: Bytes) {
        self.credit = match self.rate {
            Some(rate) => {
                let room = picoseconds(rate, self.needs(frame).max(self.depth));
                (self.credit_at(now).min(room) - picoseconds(rate, frame)).max(-Self::FULL)
            }
            None => 0,
        };
        self.counted = now;
    }

    /// Tokens that let `frame` go.
    #[inline]
    fn needs(&self, frame: Bytes) -> Bytes {
        match self.rule {
            Rule::WholeFrame => frame,
            Rule::AnyToken => Bytes::new(1),
        }
    }

    #[inline]
    fn credit_at(&self, now: Instant) -> i64 {
        let earned = now.saturating_since(self.counted).ps().min(Self::FULL as u64) as i64;
        (self.credit + earned).min(Self::FULL)
    }
}

/// How long `size` takes at `rate`, rounded up, and no longer than a bucket can count.
#[inline]
fn picoseconds(rate: Rate, size: Bytes) -> i64 {
    const BIT_PS_PER_OCTET: u64 = 8_000_000_000_000;
    match size.get().checked_mul(BIT_PS_PER_OCTET) {
        // Up to 2.3 MB: every frame.
        Some(bits) => bits.div_ceil(rate.bps()).min(Pacer::FULL as u64) as i64,
        None => {
            let bits = u128::from(size.get()) * u128::from(BIT_PS_PER_OCTET);
            clamp(i128::try_from(bits.div_ceil(u128::from(rate.bps()))).unwrap_or(i128::MAX))
        }
    }
}

/// Credit or debt as a bucket can count it.
fn clamp(picoseconds: i128) -> i64 {
    picoseconds.clamp(-i128::from(Pacer::FULL), i128::from(Pacer::FULL)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;
    use std::vec::Vec;

    const FRAME: Bytes = Bytes::new(1500);
    const GIGABIT: Rate = Rate::from_gbps(1);

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    /// A pacer held to 1 Gb/s since a frame that started at 0.
    fn held(rule: Rule, depth: Bytes) -> Pacer {
        let mut pacer = Pacer::new(rule, depth);
        pacer.on_sent(at(0), FRAME);
        pacer.set_rate(at(0), Some(GIGABIT));
        pacer
    }

    /// When each of `frames` starts if each starts as soon as it may, from `now` on.
    fn starts(pacer: &mut Pacer, mut now: Instant, frames: usize) -> Vec<u64> {
        (0..frames)
            .map(|_| {
                now = now.max(pacer.ready_at(FRAME));
                pacer.on_sent(now, FRAME);
                now.ps() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn without_a_rate_everything_goes() {
        let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
        pacer.on_sent(at(5), FRAME);
        assert_eq!(pacer.ready_at(FRAME), Instant::START);
    }

    #[test]
    fn frames_leave_a_frame_time_apart() {
        assert_eq!(starts(&mut held(Rule::WholeFrame, Bytes::ZERO), at(0), 4), [12, 24, 36, 48]);
    }

    #[test]
    fn the_first_frame_under_a_limit_counts_from_the_last_before_it() {
        let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
        pacer.on_sent(at(100), FRAME);
        pacer.set_rate(at(105), Some(GIGABIT));
        assert_eq!(pacer.ready_at(FRAME), at(112));
    }

    #[test]
    fn a_flow_that_never_sent_may_start_at_once() {
        let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
        pacer.set_rate(at(7), Some(GIGABIT));
        assert!(pacer.ready_at(FRAME) <= at(7));
    }

    #[test]
    fn a_late_frame_gains_nothing_from_a_bucket_without_depth() {
        let mut pacer = held(Rule::WholeFrame, Bytes::ZERO);
        assert_eq!(starts(&mut pacer, at(1000), 3), [1000, 1012, 1024]);
    }

    #[test]
    fn a_bucket_saves_its_depth_and_no_more() {
        let mut pacer = held(Rule::WholeFrame, Bytes::new(4500));
        assert_eq!(starts(&mut pacer, at(1000), 5), [1000, 1000, 1000, 1012, 1024]);
    }

    #[test]
    fn any_token_lets_a_whole_frame_go_and_bursts() {
        // 1501 octets saved: the third frame goes on the strength of one.
        let mut whole = held(Rule::WholeFrame, Bytes::new(3001));
        let mut any = held(Rule::AnyToken, Bytes::new(3001));
        assert_eq!(starts(&mut whole, at(1000), 4), [1000, 1000, 1011, 1023]);
        assert_eq!(starts(&mut any, at(1000), 5), [1000, 1000, 1000, 1012, 1024]);
    }

    #[test]
    fn any_token_pays_its_debt() {
        let mut pacer = held(Rule::AnyToken, Bytes::ZERO);
        // 8 ns for the first octet of credit; then 1499 octets of debt.
        assert_eq!(pacer.ready_at(FRAME), Instant::from_ps(8_000));
        pacer.on_sent(Instant::from_ps(8_000), FRAME);
        assert_eq!(pacer.ready_at(FRAME), Instant::from_ps(12_008_000));
    }

    #[test]
    fn credit_survives_a_change_of_rate() {
        let mut pacer = held(Rule::WholeFrame, Bytes::ZERO);
        // Half a frame earned at 1 Gb/s; the other half at 0.5 Gb/s, then at 2.
        pacer.set_rate(at(6), Some(Rate::from_mbps(500)));
        assert_eq!(pacer.ready_at(FRAME), at(18));
        pacer.set_rate(at(12), Some(Rate::from_gbps(2)));
        assert_eq!(pacer.ready_at(FRAME), Instant::from_ps(13_500_000));
    }

    #[test]
    fn frequent_changes_of_rate_do_not_hold_a_frame_up() {
        let mut pacer = held(Rule::WholeFrame, Bytes::ZERO);
        for us in 1..=11 {
            pacer.set_rate(at(us), Some(Rate::from_bps(1_000_000_000 + us % 2)));
        }
        let late = pacer.ready_at(FRAME).ps().abs_diff(at(12).ps());
        assert!(late < 100, "{late} ps");
    }

    #[test]
    fn lifting_the_limit_fills_the_bucket() {
        let mut pacer = held(Rule::WholeFrame, Bytes::ZERO);
        pacer.set_rate(at(1), None);
        assert_eq!(pacer.ready_at(FRAME), Instant::START);
        pacer.set_rate(at(2), Some(GIGABIT));
        assert!(pacer.ready_at(FRAME) <= at(2));
    }

    #[test]
    fn a_rate_of_zero_stands_still_and_can_be_raised_again() {
        let mut pacer = held(Rule::WholeFrame, Bytes::ZERO);
        pacer.set_rate(at(6), Some(Rate::from_bps(0)));
        assert!(pacer.ready_at(FRAME) > at(1_000_000));
        pacer.set_rate(at(106), Some(GIGABIT));
        let off = pacer.ready_at(FRAME).ps().abs_diff(at(112).ps());
        assert!(off < 10, "{off} ps");
    }

    /// What a pacer's driver can do.
    #[derive(Clone, Debug)]
    enum Step {
        Send { octets: u64, late: u64 },
        Rate { bps: u64, after: u64 },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let send = (64u64..9_217, prop_oneof![3 => Just(0), 1 => 0u64..50_000_000])
            .prop_map(|(octets, late)| Step::Send { octets, late });
        let rate = (1_000_000u64..400_000_000_000, 0u64..20_000_000)
            .prop_map(|(bps, after)| Step::Rate { bps, after });
        prop::collection::vec(prop_oneof![3 => send, 1 => rate], 1..60)
    }

    /// Each start: the frame's octets, and the tokens in bit*ps/s earned since the start before.
    fn history(pacer: &mut Pacer, steps: &[Step]) -> Vec<(u64, u128)> {
        let (mut now, mut rate, mut earned) = (Instant::START, GIGABIT, 0u128);
        pacer.on_sent(now, FRAME);
        pacer.set_rate(now, Some(rate));
        let mut starts = Vec::new();
        for step in steps {
            let next = match step {
                Step::Send { octets, late } => {
                    now.max(pacer.ready_at(Bytes::new(*octets))) + Duration::from_ps(*late)
                }
                Step::Rate { after, .. } => now + Duration::from_ps(*after),
            };
            earned += u128::from(rate.bps()) * u128::from((next - now).ps());
            now = next;
            match step {
                Step::Send { octets, .. } => {
                    pacer.on_sent(now, Bytes::new(*octets));
                    starts.push((*octets, earned));
                    earned = 0;
                }
                Step::Rate { bps, .. } => {
                    rate = Rate::from_bps(*bps);
                    pacer.set_rate(now, Some(rate));
                }
            }
        }
        starts
    }

    const OCTET: u128 = 8_000_000_000_000;

    proptest! {
        #[test]
        fn two_frames_never_start_closer_than_the_rate_allows(steps in steps()) {
            let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
            for (octets, earned) in history(&mut pacer, &steps) {
                prop_assert!(earned >= u128::from(octets) * OCTET);
            }
        }

        /// Over any stretch of frames: no more than was earned, and what the bucket can hold at its start.
        #[test]
        fn no_stretch_exceeds_the_rate_by_more_than_the_bucket(
            steps in steps(),
            depth in 0u64..20_000,
            any_token: bool,
        ) {
            let rule = if any_token { Rule::AnyToken } else { Rule::WholeFrame };
            let mut pacer = Pacer::new(rule, Bytes::new(depth));
            let starts = history(&mut pacer, &steps);
            // Largest excess of tokens taken over tokens earned, over all stretches: a running maximum.
            let mut excess = 0i128;
            for (octets, earned) in starts {
                let (octets, earned) = (i128::from(octets) * OCTET as i128, earned as i128);
                excess = (excess - earned).max(0) + octets;
                // The bucket holds its depth, or what the frame at hand needs; under any token a frame may also
                // leave a debt. A full bucket is rounded up to a picosecond, here at up to 400 Gb/s.
                let held = depth.max(if any_token { 1 } else { 9_216 });
                let debt = if any_token { 9_216 } else { 0 };
                let bound = i128::from(held + debt) * OCTET as i128 + 400_000_000_000;
                prop_assert!(excess <= bound, "{} octets over", (excess - bound) / OCTET as i128);
            }
        }

        /// Left to itself, a flow gets its rate: it falls behind by under a picosecond a frame.
        #[test]
        fn a_greedy_flow_gets_its_rate(bps in 1_000_000u64..400_000_000_000, octets in 64u64..9_217) {
            let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
            pacer.on_sent(Instant::START, Bytes::new(octets));
            pacer.set_rate(Instant::START, Some(Rate::from_bps(bps)));
            let mut now = Instant::START;
            for _ in 0..100 {
                now = pacer.ready_at(Bytes::new(octets));
                pacer.on_sent(now, Bytes::new(octets));
            }
            let ideal = 100 * u128::from(octets) * OCTET / u128::from(bps);
            prop_assert!(u128::from(now.ps()) - ideal <= 100);
        }

        #[test]
        fn no_input_overflows(
            calls in prop::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..50),
            depth: u64,
            any_token: bool,
        ) {
            let rule = if any_token { Rule::AnyToken } else { Rule::WholeFrame };
            let mut pacer = Pacer::new(rule, Bytes::new(depth));
            for (ps, octets, bps) in calls {
                pacer.set_rate(Instant::from_ps(ps), bps.map(Rate::from_bps));
                let _ = pacer.ready_at(Bytes::new(octets));
                pacer.on_sent(Instant::from_ps(ps), Bytes::new(octets));
            }
        }
    }

    #[test]
    fn life_of_a_paced_queue() {
        let mut text = String::from("rule, depth: starts in us; frames wait from 0, from 60 and from 500\n");
        for rule in [Rule::WholeFrame, Rule::AnyToken] {
            for depth in [0, 1500, 5000] {
                let mut pacer = held(rule, Bytes::new(depth));
                let first = starts(&mut pacer, at(0), 5);
                pacer.set_rate(at(60), Some(Rate::from_mbps(500)));
                let slower = starts(&mut pacer, at(60), 3);
                let late = starts(&mut pacer, at(500), 5);
                writeln!(text, "{rule:?} {depth}: {first:?}, at half the rate {slower:?}, late {late:?}")
                    .unwrap();
            }
        }
        assert_snapshot!(text, @"
    rule, depth: starts in us; frames wait from 0, from 60 and from 500
    WholeFrame 0: [12, 24, 36, 48, 60], at half the rate [84, 108, 132], late [500, 524, 548, 572, 596]
    WholeFrame 1500: [12, 24, 36, 48, 60], at half the rate [84, 108, 132], late [500, 524, 548, 572, 596]
    WholeFrame 5000: [12, 24, 36, 48, 60], at half the rate [84, 108, 132], late [500, 500, 500, 516, 540]
    AnyToken 0: [0, 12, 24, 36, 48], at half the rate [60, 84, 108], late [500, 524, 548, 572, 596]
    AnyToken 1500: [0, 12, 24, 36, 48], at half the rate [60, 84, 108], late [500, 500, 524, 548, 572]
    AnyToken 5000: [0, 12, 24, 36, 48], at half the rate [60, 84, 108], late [500, 500, 500, 500, 516]
    ");
    }
}
