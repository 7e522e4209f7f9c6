//! A rate limiter: a reaction point and the pacer it steers.

use crate::scenario::plan::{Adapter, Scheme};
use quell_proto::control::pacer::Pacer;
use quell_proto::control::{
    AnyReaction, Feedback, ReactionPoint, dcqcn, e2cm, ecm, ib_cc, qcn, qcn_probe, qcn2007,
};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Instant, Rate};

/// A rate limiter, set up by the first notification and released when its rate is back at the port's.
#[derive(Debug)]
pub(super) struct Limiter {
    /// What steers it; a scheme may remember its flow longer than it limits it.
    reaction: Option<AnyReaction>,
    pacer: Pacer,
    line: Rate,
    dice: Dice,
    /// When its timer is booked; [`Instant::NEVER`] if it is not.
    booked: Instant,
}

impl Limiter {
    pub(super) fn new(adapter: &Adapter, line: Rate, dice: Dice) -> Limiter {
        let pacer = Pacer::new(adapter.pacer, adapter.pacer_depth);
        Limiter { reaction: None, pacer, line, dice, booked: Instant::NEVER }
    }

    /// Whether it holds anything.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.pacer.is_limited()
    }

    /// Whether it has a reaction point, which wants to know of what is sent.
    #[inline]
    pub(super) fn is_awake(&self) -> bool {
        self.reaction.is_some()
    }

    /// What it holds its flows to.
    pub(super) fn limit(&self) -> Option<Rate> {
        self.reaction.as_ref().and_then(ReactionPoint::limit)
    }

    /// When a frame of this length may go.
    #[inline]
    pub(super) fn ready_at(&self, frame: Bytes) -> Instant {
        self.pacer.ready_at(frame)
    }

    /// A notification came: it may set the limiter up, and good news may release it.
    pub(super) fn on_feedback(&mut self, now: Instant, feedback: Feedback, scheme: &Scheme) {
        let reaction = self.reaction.get_or_insert_with(|| {
            // Each life of a limiter has a stream of its own.
            let dice = Dice::new(self.dice.next_u64(), 0, 0);
            reaction(scheme, self.line, dice)
        });
        reaction.on_feedback(now, feedback);
        self.follow(now);
    }

    /// What the frames it lets go carry for congestion points to see.
    #[inline]
    pub(super) fn tag(&self) -> Option<u32> {
        self.reaction.as_ref()?.tag()
    }

    /// A frame left. Says whether that released the limiter.
    ///
    /// A pacer that no notification has ever reached is not told: its first frame under a limit may go at once.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, length: u16) -> bool {
        let Some(reaction) = &mut self.reaction else { return false };
        let length = Bytes::new(u64::from(length));
        self.pacer.on_sent(now, length);
        reaction.on_sent(now, length);
        self.follow(now)
    }

    /// The booked timer has come: `None` if it was a stale one, else whether it released the limiter.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<bool> {
        if self.booked != now {
            return None;
        }
        self.booked = Instant::NEVER;
        self.reaction.as_mut()?.on_timeout(now);
        Some(self.follow(now))
    }

    pub(super) fn on_paused(&mut self, now: Instant) {
        if let Some(reaction) = &mut self.reaction {
            reaction.on_paused(now);
        }
    }

    /// The port may send again. Says whether there is a reaction point, so that its timer may have moved.
    pub(super) fn on_resumed(&mut self, now: Instant) -> bool {
        if let Some(reaction) = &mut self.reaction {
            reaction.on_resumed(now);
        }
        self.reaction.is_some()
    }

    /// Whether it wants a probe sent now.
    pub(super) fn take_probe(&mut self) -> bool {
        self.reaction.as_mut().is_some_and(ReactionPoint::take_probe)
    }

    /// The time to book for the next timer, unless an earlier one is booked.
    pub(super) fn timer_to_book(&mut self) -> Option<Instant> {
        let due = self.reaction.as_ref()?.next_timeout()?;
        (due < self.booked).then(|| {
            self.booked = due;
            due
        })
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

/// A reaction point of the scheme, at a port of this rate.
fn reaction(scheme: &Scheme, max_rate: Rate, dice: Dice) -> AnyReaction {
    match scheme {
        Scheme::None | Scheme::Dctcp(_) => unreachable!("nobody notifies"),
        Scheme::Qcn(qcn) | Scheme::AfQcn(qcn, _) | Scheme::Fqcn(qcn) => {
            let config = qcn::ReactionConfig { max_rate, ..qcn.reaction };
            AnyReaction::Qcn(qcn::QcnReaction::new(config, dice))
        }
        Scheme::Ecm(ecm) => {
            let config = ecm::ReactionConfig { max_rate, ..ecm.reaction };
            AnyReaction::Ecm(ecm::EcmReaction::new(config, dice))
        }
        Scheme::Qcn2007(qcn) => {
            let config = qcn2007::ReactionConfig { max_rate, ..qcn.reaction };
            AnyReaction::Qcn2007(qcn2007::Reaction::new(config))
        }
        Scheme::E2cm(e2cm) => {
            let ecm = ecm::ReactionConfig { max_rate, ..e2cm.reaction.ecm };
            let config = e2cm::ReactionConfig { ecm, ..e2cm.reaction };
            AnyReaction::E2cm(e2cm::E2cmReaction::new(config, dice))
        }
        Scheme::QcnProbe(qcn) => {
            let config = qcn_probe::ReactionConfig { max_rate, ..qcn.reaction };
            AnyReaction::QcnProbe(qcn_probe::ProbedReaction::new(config))
        }
        Scheme::Dcqcn(dcqcn) => {
            let config = dcqcn::ReactionConfig { max_rate, ..dcqcn.reaction };
            AnyReaction::Dcqcn(dcqcn::DcqcnReaction::new(config))
        }
        Scheme::IbCc(ib) => {
            let config = ib_cc::ReactionConfig { max_rate, ..ib.reaction };
            AnyReaction::IbCc(ib_cc::IbReaction::new(config))
        }
    }
}
