//! A rate limiter of an adapter, and which reaction point a scheme puts into it.

use crate::model::near::bring_near;
use crate::model::stream;
use crate::scenario::plan::{Plan, Scheme};
use quell_proto::control::limiter::Limiter as Machine;
use quell_proto::control::pacer::{Pacer, Rule};
use quell_proto::control::{AnyReaction, Feedback, dcqcn, e2cm, ecm, ib_cc, qcn, qcn_probe, qcn2007};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Instant, Rate};

/// The rate limiters of a host. Each is made when it is first told something: of the many that a host may have, few ever are, and one
/// takes as much memory as all else that there is for a flow.
#[derive(Debug)]
pub(super) struct Limiters {
    /// For each limiter its place among those that have been made, or [`UNMADE`].
    places: Vec<u32>,
    made: Vec<Limiter>,
    rule: Rule,
    depth: Bytes,
    line: Rate,
    counts_bursts: bool,
    seed: u64,
    host: u32,
}

const UNMADE: u32 = u32::MAX;

impl Limiters {
    /// So many of a host, at a port of this rate.
    pub(super) fn new(plan: &Plan, host: u32, count: u32, line: Rate, seed: u64) -> Limiters {
        let adapter = &plan.hosts[host as usize].adapter;
        Limiters {
            places: vec![UNMADE; count as usize],
            made: Vec::new(),
            rule: adapter.pacer,
            depth: adapter.pacer_depth,
            line,
            counts_bursts: plan.bursts,
            seed,
            host,
        }
    }

    /// How many there can be.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// One that has been told something.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&Limiter> {
        self.made.get(self.places[number] as usize)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Limiter> {
        self.made.get_mut(self.places[number] as usize)
    }

    /// One that is told something now.
    #[inline]
    pub(super) fn get_or_make(&mut self, number: usize) -> &mut Limiter {
        if self.places[number] == UNMADE {
            self.make(number);
        }
        &mut self.made[self.places[number] as usize]
    }

    #[cold]
    fn make(&mut self, number: usize) {
        self.places[number] = self.made.len() as u32;
        // Numbered across hosts so that no two limiters share a stream.
        let entity = u64::from(self.host) << 32 | number as u64;
        let dice = Dice::new(self.seed, entity, stream::REACTION);
        self.made.push(Limiter::new(self.rule, self.depth, self.line, dice, self.counts_bursts));
    }

    /// All that have been told something.
    pub(super) fn all_made(&mut self) -> impl Iterator<Item = &mut Limiter> {
        self.made.iter_mut()
    }

    /// Whether one holds anything.
    #[inline]
    pub(super) fn is_active(&self, number: usize) -> bool {
        self.get(number).is_some_and(Limiter::is_active)
    }

    /// What one holds its flows to.
    pub(super) fn limit(&self, number: usize) -> Option<Rate> {
        self.get(number).and_then(Limiter::limit)
    }

    /// When one lets a frame of this length go.
    #[inline(always)]
    pub(super) fn ready_at(&self, number: usize, frame: Bytes) -> Instant {
        self.get(number).map_or(Instant::START, |limiter| limiter.ready_at(frame))
    }

    /// The first of them is wanted soon.
    pub(super) fn bring_near(&self) {
        self.places.first().into_iter().for_each(bring_near);
        self.made.first().into_iter().for_each(bring_near);
    }
}

/// A rate limiter of a simulated adapter: the one timer it has booked, and its bursts where they are counted.
#[derive(Debug)]
pub(super) struct Limiter {
    machine: Machine,
    line: Rate,
    /// When its timer is booked; [`Instant::NEVER`] if it is not.
    booked: Instant,
    /// Counts bursts, where they are recorded.
    bursts: Option<Box<Bursts>>,
}

/// Counts frames that leave sooner after the one before than the limit alone allows.
#[derive(Debug)]
struct Bursts {
    /// When the next frame would be due, counted from the last one alone: a bucket that was empty then.
    apart: Pacer,
    /// Frames of the burst that goes on; none before the first frame under a limit.
    frames: u32,
}

impl Bursts {
    /// A frame starts under a limit. Says how many the burst before it had, if that is over.
    fn on_sent(&mut self, now: Instant, length: Bytes, limit: Option<Rate>) -> Option<u32> {
        let is_close = self.frames > 0 && now < self.apart.ready_at(length);
        let over = (!is_close && self.frames > 0).then_some(self.frames);
        self.frames = if is_close { self.frames + 1 } else { 1 };
        self.apart = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
        self.apart.on_sent(now, length);
        self.apart.set_rate(now, limit);
        over
    }
}

impl Limiter {
    fn new(rule: Rule, depth: Bytes, line: Rate, dice: Dice, counts_bursts: bool) -> Limiter {
        let machine = Machine::new(rule, depth, dice);
        let apart = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
        let bursts = counts_bursts.then(|| Box::new(Bursts { apart, frames: 0 }));
        Limiter { machine, line, booked: Instant::NEVER, bursts }
    }

    /// Whether it holds anything.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.machine.is_active()
    }

    /// Whether it has a reaction point, which wants to know of what is sent.
    #[inline]
    pub(super) fn is_awake(&self) -> bool {
        self.machine.is_awake()
    }

    /// What it holds its flows to.
    pub(super) fn limit(&self) -> Option<Rate> {
        self.machine.limit()
    }

    /// When a frame of this length may go.
    #[inline]
    pub(super) fn ready_at(&self, frame: Bytes) -> Instant {
        self.machine.ready_at(frame)
    }

    /// Sets it up before any notification.
    pub(super) fn set_up(&mut self, now: Instant, scheme: &Scheme) {
        self.machine.set_up(now, |dice| reaction(scheme, self.line, dice));
        self.follow(now);
    }

    /// A notification came: it may set the limiter up, and good news may release it.
    pub(super) fn on_feedback(&mut self, now: Instant, feedback: Feedback, scheme: &Scheme) {
        self.machine.on_feedback(now, feedback, |dice| reaction(scheme, self.line, dice));
        self.follow(now);
    }

    /// What the frames it lets go carry for congestion points to see.
    #[inline]
    pub(super) fn tag(&self) -> Option<u32> {
        self.machine.tag()
    }

    /// A frame left. Says whether that released the limiter.
    ///
    /// A pacer that no notification has ever reached is not told: its first frame under a limit may go at once.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, length: u16) -> bool {
        let is_released = self.machine.on_sent(now, Bytes::new(u64::from(length)));
        self.follow(now);
        is_released
    }

    /// A frame is about to leave, before `on_sent`. Says how many frames the burst before it had, if bursts are counted
    /// and one is over.
    #[inline]
    pub(super) fn burst_over(&mut self, now: Instant, length: u16) -> Option<u32> {
        let limit = self.limit();
        let bursts = self.bursts.as_mut()?;
        limit?;
        bursts.on_sent(now, Bytes::new(u64::from(length)), limit)
    }

    /// The booked timer has come: `None` if it was a stale one, else whether it released the limiter.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<bool> {
        if self.booked != now {
            return None;
        }
        self.booked = Instant::NEVER;
        if !self.machine.is_awake() {
            return None;
        }
        let is_released = self.machine.on_timeout(now);
        self.follow(now);
        Some(is_released)
    }

    pub(super) fn on_paused(&mut self, now: Instant) {
        self.machine.on_paused(now);
    }

    /// The port may send again. Says whether there is a reaction point, so that its timer may have moved.
    pub(super) fn on_resumed(&mut self, now: Instant) -> bool {
        self.machine.on_resumed(now);
        self.machine.is_awake()
    }

    /// Whether it wants a probe sent now.
    pub(super) fn take_probe(&mut self) -> bool {
        self.machine.take_probe()
    }

    /// The time to book for the next timer, unless an earlier one is booked.
    pub(super) fn timer_to_book(&mut self) -> Option<Instant> {
        let due = self.machine.next_timeout()?;
        (due < self.booked).then(|| {
            self.booked = due;
            due
        })
    }

    /// Lets the count of bursts know the limit.
    #[inline]
    fn follow(&mut self, now: Instant) {
        if let Some(bursts) = &mut self.bursts {
            bursts.apart.set_rate(now, self.machine.limit());
        }
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
