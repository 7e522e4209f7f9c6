//! The loop: events in order, samples on time, invariants watched.

use super::agenda::Late;
use super::deadlock::{Circle, Lookout};
use super::parallel;
use crate::model::{Fault, World};
use crate::scenario::plan::{Deadlock, Plan};
use crate::topology::cut::cut;
use quell_proto::units::{Instant, Priority};
use quell_record::{EntityId, Event, FlowTotals, Quantity, Sink, Tap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How a run is watched and stopped from outside. It cannot change what the run computes, only how far it gets.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to end the run at the next sample; what was computed is kept.
    pub stop: AtomicBool,
    /// How far the run has got, in picoseconds.
    pub now_ps: AtomicU64,
    /// How many threads may work on the run; none means one. The network may not be divisible into as many parts.
    pub threads: usize,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The time it reached.
    pub ended: Instant,
    /// Whether it reached the end of the plan, or was stopped.
    pub complete: bool,
    /// Events handled.
    pub events: u64,
    /// Frames carried over links.
    pub frame_hops: u64,
    /// Cells carried over wires inside fabrics.
    pub cell_hops: u64,
}

/// An invariant that does not hold. It ends the run: the model or the scenario is wrong, and no figure of the run can
/// be trusted after this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A lossless class had to drop a frame.
    NotLossless {
        /// The port whose input or output had no room.
        port: String,
        /// The priority.
        priority: Priority,
        /// Octets too many.
        excess: u64,
        /// When.
        at: Instant,
    },
    /// The octets of a node do not add up.
    Books {
        /// The node.
        node: String,
        /// When it was found.
        at: Instant,
        /// Octets that came in or were made.
        came: u64,
        /// Octets that went out or were dropped.
        went: u64,
        /// Octets held.
        held: u64,
    },
    /// An event lies before the one handled last.
    TimeRanBack {
        /// The time it was.
        now: Instant,
        /// The time of the event.
        event: Instant,
    },
    /// An input inside a fabric holds more than its sender had credit for.
    Overrun {
        /// The router.
        node: String,
        /// Octets held.
        level: u64,
        /// When.
        at: Instant,
    },
    /// A fabric delivered frames of a flow out of order.
    Order {
        /// The flow.
        flow: String,
        /// When.
        at: Instant,
    },
    /// Ports wait for each other in a circle, for good.
    Deadlock {
        /// The ports: each waits for the next, and the last for the first.
        ports: Vec<String>,
        /// When the last of them was stopped.
        closed: Instant,
        /// When that was found.
        found: Instant,
    },
    /// A frame does not survive its own format.
    Octets {
        /// When it was sent.
        at: Instant,
        /// What differs.
        found: String,
    },
}

/// An instant as people read it: milliseconds, to the picosecond.
struct Moment(Instant);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0.ps();
        let digits = format!("{:09}", ps % 1_000_000_000);
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{}{point}{digits} ms", ps / 1_000_000_000)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = |at: &Instant| Moment(*at);
        match self {
            Broken::NotLossless { port, priority, excess, at } => write!(
                f,
                "at {} port {port} dropped a frame of lossless priority {priority}: {excess} octets had no room",
                moment(at)
            ),
            Broken::Books { node, at, came, went, held } => write!(
                f,
                "at {} the octets of {node} do not add up: {came} came, {went} went, {held} are held",
                moment(at)
            ),
            Broken::TimeRanBack { now, event } => {
                write!(f, "an event of {} came up at {}", moment(event), moment(now))
            }
            Broken::Overrun { node, level, at } => {
                write!(
                    f,
                    "at {} an input of {node} holds {level} octets, more than it gave credit for",
                    moment(at)
                )
            }
            Broken::Order { flow, at } => {
                write!(f, "at {} the fabric delivered a frame of {flow} behind a later one", moment(at))
            }
            Broken::Deadlock { ports, closed, found } => {
                write!(
                    f,
                    "deadlock: {} and {} wait for each other, each for the next and the last for the first; the circle \
                     closed at {} and was found at {}",
                    ports[..ports.len() - 1].join(", "),
                    ports[ports.len() - 1],
                    moment(closed),
                    moment(found)
                )
            }
            Broken::Octets { at, found } => {
                write!(f, "at {} a frame does not survive its own format: {found}", moment(at))
            }
        }
    }
}

impl std::error::Error for Broken {}

/// Runs a plan under a seed and tells the sink what happened.
///
/// # Errors
/// When an invariant breaks. What was recorded until then has been told to the sink.
pub fn run(plan: &Plan, seed: u64, sink: &mut dyn Sink, control: &Control) -> Result<Outcome, Broken> {
    if control.threads > 1 {
        let cut = cut(plan, control.threads);
        if cut.parts > 1 {
            return parallel::run(plan, seed, sink, control, &cut);
        }
    }
    alone(plan, seed, sink, control)
}

/// A thread pays for so many links. With fewer, threads wait for each other longer than they work.
pub const LINKS_FOR_A_THREAD: usize = 128;

/// The links of a plan's network, those inside a fabric counted.
pub fn links(plan: &Plan) -> usize {
    plan.links.len() + plan.fabric.as_ref().map_or(0, |fabric| fabric.links.len())
}

/// How many threads, of `most`, a plan's network is large enough to gain from and can be cut for.
pub fn useful_threads(plan: &Plan, most: usize) -> usize {
    match most.min(links(plan) / LINKS_FOR_A_THREAD) {
        0 | 1 => 1,
        parts => cut(plan, parts).parts,
    }
}

/// Runs a plan on this thread.
fn alone(plan: &Plan, seed: u64, sink: &mut dyn Sink, control: &Control) -> Result<Outcome, Broken> {
    match go(plan, World::new(plan, seed), sink, control, None) {
        Ok(outcome) => Ok(outcome),
        Err(Halt::Broken(broken)) => Err(*broken),
        Err(Halt::Between(told)) => in_order(plan, seed, &mut Rest::new(sink, told), control),
    }
}

/// Runs a plan on this thread with events in the order of time, which is slower, and knows what came first.
pub(super) fn in_order(
    plan: &Plan,
    seed: u64,
    sink: &mut dyn Sink,
    control: &Control,
) -> Result<Outcome, Broken> {
    go_in_order(plan, World::in_order(plan, seed), sink, control, None)
}

/// As [`run`], on one thread, and hands every frame that leaves by some ports to the tap. `ports` are places in
/// [`Plan::ports`]; what is computed does not depend on them.
///
/// # Errors
/// As [`run`]; the frames until then have been handed over.
pub fn run_tapped(
    plan: &Plan,
    seed: u64,
    sink: &mut dyn Sink,
    control: &Control,
    ports: &[u32],
    tap: &mut dyn Tap,
) -> Result<Outcome, Broken> {
    let mut world = World::in_order(plan, seed);
    world.capture(ports);
    go_in_order(plan, world, sink, control, Some(tap))
}

fn go_in_order(
    plan: &Plan,
    world: World,
    sink: &mut dyn Sink,
    control: &Control,
    tap: Option<&mut dyn Tap>,
) -> Result<Outcome, Broken> {
    go(plan, world, sink, control, tap).map_err(|halt| match halt {
        Halt::Broken(broken) => *broken,
        Halt::Between(_) => unreachable!("in the order of time the first is known"),
    })
}

/// Why a run ends before its time.
enum Halt {
    /// An invariant broke.
    Broken(Box<Broken>),
    /// One broke between two samples, when nodes were at different times, so that it may not be the first; and the last sample that
    /// the sink was told of.
    Between(Option<Instant>),
}

impl From<Broken> for Halt {
    fn from(broken: Broken) -> Halt {
        Halt::Broken(Box::new(broken))
    }
}

fn go(
    plan: &Plan,
    mut world: World,
    sink: &mut dyn Sink,
    control: &Control,
    mut tap: Option<&mut dyn Tap>,
) -> Result<Outcome, Halt> {
    let mut lookout = Lookout::of(plan);
    let end = Instant::START + plan.length;
    let mut told = None;
    for next in Samples::of(plan) {
        loop {
            world.advance(next).map_err(ran_back)?;
            if !world.has_news() {
                break;
            }
            if let Some(tap) = &mut tap {
                world.hand_over(*tap);
            }
            if world.fault().is_some() {
                if !world.is_in_order() {
                    return Err(Halt::Between(told));
                }
                return Err(broken_at(plan, &mut world, sink).into());
            }
        }
        let circle = sample(plan, &mut world, &mut lookout, next, sink);
        told = Some(next);
        control.now_ps.store(next.ps(), Ordering::Relaxed);
        if let Some(fault) = world.fault() {
            return Err(world_broken(plan, fault).into());
        }
        if let Some(circle) = circle {
            world.finish(sink);
            return Err(closed(plan, &circle, next).into());
        }
        if next == end || control.stop.load(Ordering::Relaxed) {
            world.finish(sink);
            return Ok(Outcome {
                ended: next,
                complete: next == end,
                events: world.handled(),
                frame_hops: world.hops(),
                cell_hops: world.cell_hops(),
            });
        }
    }
    unreachable!("the last sample is at the end")
}

fn ran_back(Late { now, at }: Late) -> Broken {
    Broken::TimeRanBack { now, event: at }
}

/// An event broke an invariant: tells what there is to tell until then, and what it is.
fn broken_at(plan: &Plan, world: &mut World, sink: &mut dyn Sink) -> Broken {
    let at = world.now();
    if at > world.sampled() {
        world.sample(at, sink);
    }
    world.finish(sink);
    world_broken(plan, world.fault().expect("it is there"))
}

/// Takes a sample, and looks whether a circle has closed that ends the run.
fn sample(
    plan: &Plan,
    world: &mut World,
    lookout: &mut Lookout,
    at: Instant,
    sink: &mut dyn Sink,
) -> Option<Circle> {
    if plan.deadlock == Deadlock::Impossible {
        world.sample(at, sink);
        return None;
    }
    for (event, _) in world.take_events() {
        sink.event(event);
    }
    let circle = lookout.look(&world.waits(at), at, sink);
    world.sample_values(at, sink);
    circle
}

/// When samples are taken: on a grid, at the cuts, and at the end.
pub(super) struct Samples<'a> {
    step: u64,
    grid: u64,
    cuts: &'a [Instant],
    end: u64,
    last: u64,
}

impl<'a> Samples<'a> {
    pub(super) fn of(plan: &'a Plan) -> Samples<'a> {
        let step = plan.sample.ps().max(1);
        Samples { step, grid: step, cuts: &plan.cuts, end: plan.length.ps(), last: 0 }
    }
}

impl Iterator for Samples<'_> {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        while self.grid <= self.last {
            self.grid += self.step;
        }
        while self.cuts.first().is_some_and(|cut| cut.ps() <= self.last) {
            self.cuts = &self.cuts[1..];
        }
        let cut = self.cuts.first().map_or(u64::MAX, |cut| cut.ps());
        let at = self.grid.min(cut).min(self.end);
        if at <= self.last {
            return None;
        }
        self.last = at;
        Some(Instant::from_ps(at))
    }
}

/// What a circle that closed is, by name.
pub(super) fn closed(plan: &Plan, circle: &Circle, found: Instant) -> Broken {
    let names = plan.ports();
    let ports = circle.wires.iter().map(|wire| names.get(EntityId(*wire)).name.clone()).collect();
    Broken::Deadlock { ports, closed: circle.closed, found }
}

pub(super) fn world_broken(plan: &Plan, fault: &Fault) -> Broken {
    let name = |node: u32| {
        let node = node as usize;
        match node.checked_sub(plan.hosts.len()) {
            None => plan.hosts[node].name.clone(),
            Some(inner) => match (inner.checked_sub(plan.switches.len()), &plan.fabric) {
                (Some(router), Some(fabric)) => fabric.routers[router].clone(),
                _ => plan.switches[inner].name.clone(),
            },
        }
    };
    match fault.clone() {
        Fault::NotLossless { wire, priority, excess, at } => {
            let ends =
                plan.links[wire as usize / 2].ends.map(|end| name(crate::model::node_index(plan, end)));
            let [own, peer] = if wire % 2 == 0 { [&ends[0], &ends[1]] } else { [&ends[1], &ends[0]] };
            Broken::NotLossless { port: format!("{own}->{peer}"), priority, excess, at }
        }
        Fault::Books { node, at, came, went, held } => {
            Broken::Books { node: name(node), at, came, went, held }
        }
        Fault::Octets { at, found } => Broken::Octets { at, found },
        Fault::Overrun { node, at, level } => Broken::Overrun { node: name(node), level, at },
        Fault::Order { flow, at } => Broken::Order { flow: plan.flows[flow as usize].name.clone(), at },
    }
}

/// Says to a sink what it has not been told yet, by a run from the start.
pub(super) struct Rest<'a> {
    sink: &'a mut dyn Sink,
    /// The last sample it was told of.
    told: Option<Instant>,
    is_new: bool,
}

impl<'a> Rest<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink, told: Option<Instant>) -> Rest<'a> {
        Rest { sink, told, is_new: false }
    }
}

impl Sink for Rest<'_> {
    fn begin_samples(&mut self, at: Instant) {
        self.is_new = self.told.is_none_or(|told| at > told);
        if self.is_new {
            self.sink.begin_samples(at);
        }
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        if self.is_new {
            self.sink.sample(entity, quantity, value);
        }
    }

    fn end_samples(&mut self) {
        if self.is_new {
            self.sink.end_samples();
        }
    }

    fn event(&mut self, event: Event) {
        // An event at the instant of a sample comes after it.
        if self.told.is_none_or(|told| event.at >= told) {
            self.sink.event(event);
        }
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.sink.flow(flow, totals);
    }

    fn all_said(&mut self) {
        self.sink.all_said();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_invariant_names_its_place_and_time() {
        let broken = Broken::NotLossless {
            port: "s1->h2".into(),
            priority: Priority::default(),
            excess: 64,
            at: Instant::from_ps(243_200_586),
        };
        assert_eq!(
            broken.to_string(),
            "at 0.243200586 ms port s1->h2 dropped a frame of lossless priority 0: 64 octets had no room"
        );
        assert_eq!(Moment(Instant::from_ps(3_000_000_000)).to_string(), "3 ms");
    }

    #[test]
    fn samples_fall_on_the_grid_the_cuts_and_the_end() {
        let cuts = [5, 10, 12].map(Instant::from_ps);
        let samples = Samples { step: 10, grid: 10, cuts: &cuts, end: 25, last: 0 };
        assert_eq!(samples.map(Instant::ps).collect::<Vec<_>>(), [5, 10, 12, 20, 25]);
    }
}
