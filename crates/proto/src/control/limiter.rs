//! A rate limiter: a reaction point and the pacer it steers.

use super::pacer::{Pacer, Rule};
use super::{AnyReaction, Feedback, ReactionPoint};
use crate::dice::Dice;
use crate::units::{Bytes, Instant, Rate};

/// A rate limiter, set up by the first notification (or from the start, where the scheme limits without one) and released
/// when its rate is back at the port's.
#[derive(Clone, Debug)]
pub struct Limiter {
    /// What steers it; a scheme may remember its flow longer than it limits it.
    reaction: Option<AnyReaction>,
    pacer: Pacer,
    dice: Dice,
}

impl Limiter {
    /// One that limits nothing until its first notification. `dice` gives each of its lives a stream of its own.
    pub fn new(rule: Rule, depth: Bytes, dice: Dice) -> Limiter {
        Limiter { reaction: None, pacer: Pacer::new(rule, depth), dice }
    }

    /// Whether it holds anything.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.pacer.is_limited()
    }

    /// Whether it has a reaction point, which wants to know of what is sent.
    #[inline]
    pub fn is_awake(&self) -> bool {
        self.reaction.is_some()
    }

    /// What it holds its flows to.
    #[inline]
    pub fn limit(&self) -> Option<Rate> {
        self.reaction.as_ref().and_then(ReactionPoint::limit)
    }

    /// When a frame of this length may go.
    #[inline]
    pub fn ready_at(&self, frame: Bytes) -> Instant {
        self.pacer.ready_at(frame)
    }

    /// A notification came: it may set the limiter up with a reaction point that `make` makes, and good news may release
    /// it.
    pub fn on_feedback(&mut self, now: Instant, feedback: Feedback, make: impl FnOnce(Dice) -> AnyReaction) {
        let reaction = self.reaction.get_or_insert_with(|| make(Dice::new(self.dice.next_u64(), 0, 0)));
        reaction.on_feedback(now, feedback);
        self.follow(now);
    }

    /// Sets the limiter up without a notification, in a scheme that limits from the start.
    pub fn set_up(&mut self, now: Instant, make: impl FnOnce(Dice) -> AnyReaction) {
        self.reaction.get_or_insert_with(|| make(Dice::new(self.dice.next_u64(), 0, 0)));
        self.follow(now);
    }

    /// What the frames it lets go carry for congestion points to see.
    #[inline]
    pub fn tag(&self) -> Option<u32> {
        self.reaction.as_ref()?.tag()
    }

    /// A frame left. Says whether that released the limiter.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, length: Bytes) -> bool {
        let Some(reaction) = &mut self.reaction else { return false };
        self.pacer.on_sent(now, length);
        reaction.on_sent(now, length);
        self.follow(now)
    }

    /// The time `next_timeout` named has come. Says whether that released the limiter. Early or repeated calls change
    /// nothing.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        let Some(reaction) = &mut self.reaction else { return false };
        reaction.on_timeout(now);
        self.follow(now)
    }

    /// When `on_timeout` is next due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.reaction.as_ref()?.next_timeout()
    }

    /// The port was paused.
    pub fn on_paused(&mut self, now: Instant) {
        if let Some(reaction) = &mut self.reaction {
            reaction.on_paused(now);
        }
    }

    /// The port may send again.
    pub fn on_resumed(&mut self, now: Instant) {
        if let Some(reaction) = &mut self.reaction {
            reaction.on_resumed(now);
        }
    }

    /// Whether it wants a probe sent now.
    pub fn take_probe(&mut self) -> bool {
        self.reaction.as_mut().is_some_and(ReactionPoint::take_probe)
    }

    /// Lets the pacer follow the reaction point. Says whether the limiter is released.
    #[inline]
    fn follow(&mut self, now: Instant) -> bool {
        let Some(reaction) = &self.reaction else { return false };
        let was_limited = self.pacer.is_limited();
        self.pacer.set_rate(now, reaction.limit());
        if reaction.is_spent() {
            self.reaction = None;
        }
        was_limited && !self.pacer.is_limited()
    }
}

#[cfg(test)]
mod tests {
    use super::super::qcn::{QcnReaction, ReactionConfig};
    use super::*;
    use crate::units::Duration;

    fn cut(limiter: &mut Limiter, now: Instant) {
        let config = ReactionConfig { max_rate: Rate::from_gbps(1), ..ReactionConfig::default() };
        limiter.on_feedback(now, Feedback::Cnm { quantised: 63 }, |dice| {
            AnyReaction::Qcn(QcnReaction::new(config, dice))
        });
    }

    #[test]
    fn a_limiter_is_set_up_by_a_notification_and_paces_from_then_on() {
        let mut limiter = Limiter::new(Rule::WholeFrame, Bytes::ZERO, Dice::new(1, 2, 3));
        let frame = Bytes::new(1500);
        assert_eq!((limiter.is_active(), limiter.ready_at(frame)), (false, Instant::START));
        let now = Instant::START + Duration::from_ms(1);
        cut(&mut limiter, now);
        assert!(limiter.limit().is_some_and(|limit| limit < Rate::from_gbps(1)));
        assert!(!limiter.on_sent(now, frame));
        assert!(limiter.ready_at(frame) > now + Duration::from_us(12));
    }

    #[test]
    fn a_limiter_left_alone_is_released_and_holds_nothing() {
        let mut limiter = Limiter::new(Rule::WholeFrame, Bytes::ZERO, Dice::new(1, 2, 3));
        cut(&mut limiter, Instant::START);
        for _ in 0..1000 {
            let Some(due) = limiter.next_timeout() else { break };
            limiter.on_timeout(due);
        }
        assert!(!limiter.is_active());
        assert_eq!(limiter.ready_at(Bytes::new(1500)), Instant::START);
    }
}
