//! The reaction point: cuts and raises one limiter's rate as it is told, and by itself does nothing.

use super::{Message, ReactionConfig, Scale};
use crate::control::fixed::Fixed;
use crate::control::{Feedback, ReactionPoint};
use crate::dice::Dice;
use crate::units::{Bytes, Duration, Instant, Rate, Share};

/// One limiter's rate, and the congestion point that may raise it.
#[derive(Clone, Debug)]
pub struct EcmReaction {
    state: State,
    /// What the flows are held to.
    current: Fixed,
    /// When the rate next grows by itself; [`Instant::NEVER`] where it does not.
    drifts: Instant,
    config: ReactionConfig,
    dice: Dice,
}

/// What holds the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing.
    Free,
    /// A rate, set by this congestion point: the only one whose good news counts, and what frames are tagged with.
    Limited { point: u32 },
    /// A stop until this instant.
    Stopped { point: u32, until: Instant },
}

impl EcmReaction {
    /// A reaction point that limits nothing until its first notification. `dice` draws how long it waits when
    /// it is stopped.
    pub fn new(config: ReactionConfig, dice: Dice) -> EcmReaction {
        let current = Fixed::of(config.max_rate);
        EcmReaction { state: State::Free, current, drifts: Instant::NEVER, config, dice }
    }

    /// Moves the rate by feedback in octets, on a scale of its own: bad news from anyone, good news from the congestion
    /// point that cut last.
    pub(in crate::control) fn steer(&mut self, now: Instant, point: u32, feedback: i64, scale: Scale) {
        match feedback {
            bad @ ..0 => self.cut(now, point, bad.unsigned_abs(), scale),
            0 => {}
            good @ 1.. => self.raise(now, point, good.unsigned_abs(), scale),
        }
    }

    /// What it is held to, finer than whole bits per second.
    pub(in crate::control) fn current(&self) -> Fixed {
        self.current
    }

    /// Bad news: from any congestion point, which from now on is the one to lift it again.
    fn cut(&mut self, now: Instant, point: u32, feedback: u64, scale: Scale) {
        if let State::Stopped { until, .. } = self.state {
            // It starts from the minimum anyway.
            self.state = State::Stopped { point, until };
            return;
        }
        let cut = moved(self.current, feedback, self.config.cut, scale);
        self.current = self.current.minus(cut).max(self.floor());
        self.state = State::Limited { point };
        self.restart_drift(now);
    }

    /// Good news: counts only from the congestion point that cut last. Others are not on the way of this limiter's
    /// frames, or do not know the worst of it.
    fn raise(&mut self, now: Instant, from: u32, feedback: u64, scale: Scale) {
        if self.state != (State::Limited { point: from }) {
            return;
        }
        let step = moved(Fixed::of(self.config.max_rate), feedback, self.config.raise, scale);
        self.current = self.current.plus(step);
        self.restart_drift(now);
        self.release_if_full();
    }

    fn stop(&mut self, now: Instant, point: u32) {
        let wait = self.dice.below(self.config.longest_stop.ps().saturating_add(1));
        self.current = self.floor();
        self.state = State::Stopped { point, until: now + Duration::from_ps(wait) };
        self.drifts = Instant::NEVER;
    }

    fn restart_drift(&mut self, now: Instant) {
        self.drifts = self.config.drift.map_or(Instant::NEVER, |drift| now + drift.period);
    }

    fn release_if_full(&mut self) {
        let full = Fixed::of(self.config.max_rate);
        if self.current >= full {
            self.current = full;
            self.state = State::Free;
            self.drifts = Instant::NEVER;
        }
    }

    /// The rate no cut goes below: the minimum, on a port that has as much.
    fn floor(&self) -> Fixed {
        Fixed::of(self.config.min_rate.min(self.config.max_rate))
    }
}

impl ReactionPoint for EcmReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let Feedback::Bcn { point, message } = feedback else {
            unreachable!("an adapter hands a limiter its own scheme's feedback");
        };
        if message == Message::STOP {
            return self.stop(now, point);
        }
        self.steer(now, point, message.feedback(self.config.scale), self.config.scale);
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, _size: Bytes) {}

    fn on_timeout(&mut self, now: Instant) {
        match self.state {
            State::Stopped { point, until } if until <= now => {
                self.state = State::Limited { point };
                self.restart_drift(now);
            }
            State::Limited { .. } if self.drifts <= now => {
                if let Some(drift) = self.config.drift {
                    self.current = drift.raise(self.current);
                }
                self.restart_drift(now);
                self.release_if_full();
            }
            _ => {}
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Free => None,
            State::Limited { .. } => (self.drifts != Instant::NEVER).then_some(self.drifts),
            State::Stopped { until, .. } => Some(until),
        }
    }

    /// Rounded down to whole bits per second; nothing while it is stopped.
    #[inline]
    fn limit(&self) -> Option<Rate> {
        match self.state {
            State::Free => None,
            State::Limited { .. } => Some(self.current.floor()),
            State::Stopped { .. } => Some(Rate::from_bps(0)),
        }
    }

    #[inline]
    fn tag(&self) -> Option<u32> {
        match self.state {
            State::Free => None,
            State::Limited { point } | State::Stopped { point, .. } => Some(point),
        }
    }
}

/// The part of `whole` that this much feedback moves: `gain` of it at the largest, rounded down.
pub(in crate::control) fn moved(whole: Fixed, feedback: u64, gain: Share, scale: Scale) -> Fixed {
    let most = whole.part(u64::from(gain.num), u64::from(gain.den));
    most.part(feedback, scale.largest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::drift::Drift;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    fn flow(config: ReactionConfig) -> EcmReaction {
        EcmReaction::new(config, Dice::new(1, 2, 3))
    }

    /// The worst there is, but for the rounding of units.
    const WORST: Message = Message { offset: 585, delta: 1171 };
    const BEST: Message = Message { offset: -585, delta: -1171 };

    fn tell(flow: &mut EcmReaction, point: u32, message: Message) {
        flow.on_feedback(Instant::START, Feedback::Bcn { point, message });
    }

    fn mbps(flow: &EcmReaction) -> u64 {
        flow.limit().map_or(10_000, |rate| rate.bps() / 1_000_000)
    }

    #[test]
    fn the_worst_feedback_halves_and_the_best_adds_a_tenth_of_the_link() {
        let mut flow = flow(ReactionConfig::default());
        tell(&mut flow, 7, WORST);
        assert_eq!(mbps(&flow), 5_004);
        tell(&mut flow, 7, BEST);
        assert_eq!(mbps(&flow), 6_003);
    }

    #[test]
    fn cuts_are_in_proportion_to_the_rate_and_raises_are_not() {
        let mut flow = flow(ReactionConfig::default());
        for _ in 0..6 {
            tell(&mut flow, 7, WORST);
        }
        assert_eq!(mbps(&flow), 157);
        tell(&mut flow, 7, Message { offset: -293, delta: 0 });
        assert_eq!(mbps(&flow), 257, "a tenth of a tenth");
    }

    #[test]
    fn good_news_counts_only_from_the_point_that_cut_last() {
        let mut flow = flow(ReactionConfig::default());
        tell(&mut flow, 7, WORST);
        assert_eq!(flow.tag(), Some(7));
        tell(&mut flow, 8, BEST);
        assert_eq!(mbps(&flow), 5_004);
        tell(&mut flow, 8, WORST);
        assert_eq!(flow.tag(), Some(8));
        tell(&mut flow, 7, BEST);
        assert_eq!(mbps(&flow), 2_504);
        tell(&mut flow, 8, BEST);
        assert_eq!(mbps(&flow), 3_503);
    }

    #[test]
    fn good_news_for_a_flow_that_nothing_limits_changes_nothing() {
        let mut flow = flow(ReactionConfig::default());
        tell(&mut flow, 7, BEST);
        assert_eq!((flow.limit(), flow.tag()), (None, None));
    }

    #[test]
    fn a_stopped_flow_waits_and_starts_from_the_minimum() {
        let mut flow = flow(ReactionConfig::default());
        tell(&mut flow, 7, Message::STOP);
        assert_eq!(flow.limit(), Some(Rate::from_bps(0)));
        tell(&mut flow, 7, BEST);
        assert_eq!(flow.limit(), Some(Rate::from_bps(0)), "no news lifts a stop");
        let until = flow.next_timeout().expect("it starts again");
        assert!(until <= Instant::START + Duration::from_ms(10));
        flow.on_timeout(until);
        assert_eq!(flow.limit(), Some(Rate::from_mbps(1)));
        tell(&mut flow, 7, BEST);
        assert_eq!(mbps(&flow), 1_000);
    }

    #[test]
    fn the_waits_of_stopped_flows_are_spread_over_their_range() {
        let mut flow = flow(ReactionConfig::default());
        let mut longest = 0;
        let mut sum = 0;
        for _ in 0..1000 {
            tell(&mut flow, 7, Message::STOP);
            let wait = flow.next_timeout().expect("it starts again").ps();
            longest = longest.max(wait);
            sum += wait / 1000;
        }
        assert!((4_700_000_000..5_300_000_000).contains(&sum), "mean {sum} ps");
        assert!((9_900_000_000..=10_000_000_000).contains(&longest), "{longest}");
    }

    #[test]
    fn a_flow_whose_point_has_gone_stays_where_it_is_unless_it_drifts() {
        let mut stuck = flow(ReactionConfig::default());
        tell(&mut stuck, 7, WORST);
        assert_eq!(stuck.next_timeout(), None);
        let drift = Drift { gain: Share { num: 5, den: 1000 }, period: Duration::from_us(500) };
        let mut drifting = flow(ReactionConfig { drift: Some(drift), ..Default::default() });
        for _ in 0..20 {
            tell(&mut drifting, 7, WORST);
        }
        assert_eq!(mbps(&drifting), 1);
        let mut steps = 0;
        while let Some(due) = drifting.next_timeout() {
            drifting.on_timeout(due);
            steps += 1;
        }
        assert_eq!(drifting.limit(), None);
        // ln(10^4) / ln(1.005): 0.92 s.
        assert_eq!(steps, 1_847);
    }

    #[test]
    fn feedback_puts_the_drift_off() {
        let drift = Drift { gain: Share::percent(1), period: Duration::from_ms(1) };
        let mut flow = flow(ReactionConfig { drift: Some(drift), ..Default::default() });
        tell(&mut flow, 7, WORST);
        let later = Instant::START + Duration::from_us(900);
        flow.on_feedback(later, Feedback::Bcn { point: 7, message: BEST });
        assert_eq!(flow.next_timeout(), Some(later + Duration::from_ms(1)));
        let before = flow.limit();
        flow.on_timeout(Instant::START + Duration::from_ms(1));
        assert_eq!(flow.limit(), before, "an early timeout changes nothing");
    }

    #[test]
    fn life_of_a_flow() {
        let mut flow = flow(ReactionConfig::default());
        let mut text = String::from("from  message        rate  tag\n");
        let news = |offset, delta| Message { offset, delta };
        for (point, message) in [
            (1, news(200, 400)),
            (1, news(300, 100)),
            (2, news(585, 1171)),
            (1, news(-400, 0)),
            (2, news(-100, -50)),
            (2, Message::STOP),
            (2, news(-500, -100)),
        ]
        .into_iter()
        .chain([(2, news(-585, -1171)); 11])
        {
            tell(&mut flow, point, message);
            let shown = std::format!("{},{}", message.offset, message.delta);
            let rate =
                flow.limit().map_or(String::from("free"), |rate| std::format!("{}", rate.bps() / 1000));
            writeln!(text, "{point:>4}  {shown:<10} {rate:>8}  {:?}", flow.tag()).unwrap();
            if message == Message::STOP {
                let until = flow.next_timeout().expect("it starts again");
                flow.on_timeout(until);
                let rate = flow.limit().map_or(0, |rate| rate.bps() / 1000);
                writeln!(text, "      restart    {rate:>8}  {:?}", flow.tag()).unwrap();
            }
        }
        assert_snapshot!(text, @"
        from  message        rate  tag
           1  200,400     8293333  Some(1)
           1  300,100     7585635  Some(1)
           2  585,1171    3796297  Some(2)
           1  -400,0      3796297  Some(2)
           2  -100,-50    3864563  Some(2)
           2  0,0               0  Some(2)
              restart        1000  Some(2)
           2  -500,-100    239933  Some(2)
           2  -585,-1171  1239015  Some(2)
           2  -585,-1171  2238098  Some(2)
           2  -585,-1171  3237181  Some(2)
           2  -585,-1171  4236263  Some(2)
           2  -585,-1171  5235346  Some(2)
           2  -585,-1171  6234429  Some(2)
           2  -585,-1171  7233511  Some(2)
           2  -585,-1171  8232594  Some(2)
           2  -585,-1171  9231677  Some(2)
           2  -585,-1171     free  None
           2  -585,-1171     free  None
        ");
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_rate_in_bounds_and_good_news_ends_it(
            history in prop::collection::vec((0u32..3, any::<i16>(), any::<i16>()), 0..200),
            set_point in 1u64..10_000_000,
            weight in 0u16..100,
        ) {
            let scale = Scale { set_point: Bytes::new(set_point), weight };
            let config = ReactionConfig { scale, ..ReactionConfig::default() };
            let mut flow = flow(config);
            for (point, offset, delta) in history {
                tell(&mut flow, point, Message { offset, delta });
                if let Some(limit) = flow.limit() {
                    let stopped = limit == Rate::from_bps(0) && flow.next_timeout().is_some();
                    prop_assert!(stopped || (config.min_rate..config.max_rate).contains(&limit));
                }
                if let Some(due) = flow.next_timeout() {
                    flow.on_timeout(due);
                }
            }
            let point = flow.tag().unwrap_or(0);
            for _ in 0..11 {
                tell(&mut flow, point, Message { offset: i16::MIN, delta: i16::MIN });
            }
            // Ten of the largest are the whole link, where a message can hold as much.
            if scale.largest() <= 64 * 32_768 * (1 + u64::from(weight)) {
                prop_assert_eq!(flow.limit(), None);
            }
        }

        #[test]
        fn worse_news_never_leaves_more(weak in 1i16.., strong in 1i16..) {
            let (weak, strong) = (weak.min(strong), weak.max(strong));
            let left = |offset| {
                let mut flow = flow(ReactionConfig::default());
                tell(&mut flow, 1, Message { offset, delta: 0 });
                flow.limit()
            };
            prop_assert!(left(weak) >= left(strong));
        }
    }
}
