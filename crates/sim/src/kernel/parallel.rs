//! One run on several threads, to the same end as on one.
//!
//! The network is cut at its wires, and each thread simulates one part. Nothing reaches another part sooner than the
//! lookahead of the cut, so when the next event of the whole network is at `t`, every part may handle its events before
//! `t + lookahead` by itself. Then the threads meet, hand each other what crossed the cut, and learn the next `t`.
//!
//! Why the result is the same: a node sees the same arrivals at the same times, equal times are ordered by node and lane and
//! not by who booked first, and every random stream belongs to one entity. What is recorded is put together in the order
//! of one thread: values by entity, events by time, node and lane.

use super::deadlock::Lookout;
use super::meeting::Meeting;
use super::run::{Broken, Control, Outcome, Samples, alone, closed, world_broken};
use crate::model::{Fault, Parcel, Wait, World};
use crate::scenario::plan::{Deadlock, Plan};
use crate::topology::cut::Cut;
use quell_proto::units::{Duration, Instant};
use quell_record::{EntityId, Event, FlowTotals, Quantity, Sink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a thread looks for the others before it sleeps: some ten microseconds.
const SPINS: u32 = 400;

/// Runs a plan that is cut into parts, one thread a part.
pub(super) fn run(
    plan: &Plan,
    seed: u64,
    sink: &mut dyn Sink,
    control: &Control,
    cut: &Cut,
) -> Result<Outcome, Broken> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = Shared {
        plan,
        seed,
        cut,
        meeting: Meeting::new(cut.parts, if cores >= cut.parts { SPINS } else { 0 }),
        inboxes: (0..cut.parts).map(|_| Default::default()).collect(),
        gathered: (0..cut.parts).map(|_| Mutex::default()).collect(),
        is_over: AtomicBool::new(false),
    };
    let mut leader = Leader { sink, control, lookout: Lookout::of(plan), told: None, ended: None };
    std::thread::scope(|scope| {
        for part in 1..cut.parts {
            let shared = &shared;
            scope.spawn(move || shared.work(part, None));
        }
        shared.work(0, Some(&mut leader));
    });
    let Leader { sink, told, ended, .. } = leader;
    // An invariant broke between two samples, when parts were at different times: one thread goes to the same point and says
    // what it is.
    ended.unwrap_or_else(|| alone(plan, seed, &mut Rest { sink, told, is_new: false }, control))
}

/// What the threads of a run share.
struct Shared<'a> {
    plan: &'a Plan,
    seed: u64,
    cut: &'a Cut,
    meeting: Meeting,
    /// For each part, what others sent to it: in this round, and in the one before.
    inboxes: Vec<[Mutex<Vec<Parcel>>; 2]>,
    /// What each part has to say at a sample.
    gathered: Vec<Mutex<Gathered>>,
    is_over: AtomicBool,
}

/// What only the first thread has: it tells the sink.
struct Leader<'a> {
    sink: &'a mut dyn Sink,
    control: &'a Control,
    lookout: Lookout,
    /// The last sample told.
    told: Option<Instant>,
    ended: Option<Result<Outcome, Broken>>,
}

/// Lets the others go when a thread ends before its time.
struct Watch<'a> {
    meeting: &'a Meeting,
    is_done: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.meeting.break_off();
        }
    }
}

impl Shared<'_> {
    fn work(&self, part: usize, leader: Option<&mut Leader<'_>>) {
        let mut watch = Watch { meeting: &self.meeting, is_done: false };
        watch.is_done = self.simulate(part, leader).is_some();
    }

    /// Simulates a part to the end. `None`: something broke, here or in another part.
    fn simulate(&self, part: usize, mut leader: Option<&mut Leader<'_>>) -> Option<()> {
        let mut world = World::part(self.plan, self.seed, Some((self.cut, part as u16)));
        let mut samples = Samples::of(self.plan);
        let end = Instant::START + self.plan.length;
        let mut next_sample = samples.next().unwrap_or(end);
        let mut outbox: Vec<Vec<Parcel>> = vec![Vec::new(); self.cut.parts];
        let mut inbox = Vec::new();
        let mut round = 0;
        let mut events = 0;
        let mut least = self.meeting.meet(world.next_at().ps())?;
        loop {
            if least >= next_sample.ps() {
                self.gather(part, &mut world, next_sample, events);
                self.meeting.meet(0)?;
                if let Some(leader) = &mut leader {
                    leader.tell(next_sample, next_sample == end, self);
                }
                self.meeting.meet(0)?;
                if self.is_over.load(Ordering::Acquire) {
                    return self.finish(part, &mut world, leader);
                }
                next_sample = samples.next().unwrap_or(end);
                continue;
            }
            let lookahead = self.cut.lookahead.map_or(u64::MAX, Duration::ps);
            let until = Instant::from_ps(least.saturating_add(lookahead)).min(next_sample);
            events += advance(&mut world, until)?;
            let mut soonest = world.next_at().ps();
            world.take_parcels(|parcel| {
                soonest = soonest.min(parcel.due.ps());
                outbox[usize::from(parcel.part)].push(parcel);
            });
            round = 1 - round;
            for (inboxes, parcels) in self.inboxes.iter().zip(&mut outbox) {
                if !parcels.is_empty() {
                    held(&inboxes[round]).append(parcels);
                }
            }
            least = self.meeting.meet(soonest)?;
            std::mem::swap(&mut *held(&self.inboxes[part][round]), &mut inbox);
            for parcel in inbox.drain(..) {
                world.accept(parcel);
            }
        }
    }

    /// Puts down what a part has to say at a sample.
    fn gather(&self, part: usize, world: &mut World, at: Instant, events: u64) {
        let mut gathered = held(&self.gathered[part]);
        gathered.events.extend(world.take_events());
        if self.plan.deadlock != Deadlock::Impossible {
            gathered.waits = world.waits(at);
        }
        world.sample_values(at, &mut *gathered);
        gathered.fault = world.fault().cloned();
        (gathered.handled, gathered.hops) = (events, [world.hops(), world.cell_hops()]);
    }

    /// Puts down the totals of a part's flows, and lets the leader tell them.
    fn finish(&self, part: usize, world: &mut World, leader: Option<&mut Leader<'_>>) -> Option<()> {
        world.finish(&mut *held(&self.gathered[part]));
        self.meeting.meet(0)?;
        if let Some(leader) = leader {
            let mut parts: Vec<_> = self.gathered.iter().map(held).collect();
            tell_totals(&mut parts, leader.sink);
        }
        Some(())
    }
}

/// Handles the events of a part before `until`, and says how many. `None`: an invariant broke.
fn advance(world: &mut World, until: Instant) -> Option<u64> {
    let mut events = 0;
    while world.next_at() < until {
        let event = world.next_event().expect("there is a next one");
        if event.at < world.now() {
            return None;
        }
        events += 1;
        world.act(event);
        if world.fault().is_some() {
            return None;
        }
    }
    Some(events)
}

impl Leader<'_> {
    /// Tells the sink what all parts have to say at a sample, and decides whether it was the last.
    fn tell(&mut self, at: Instant, is_last: bool, shared: &Shared<'_>) {
        let mut parts: Vec<_> = shared.gathered.iter().map(held).collect();
        tell_events(&mut parts, self.sink);
        let waits: Vec<Wait> = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.waits)).collect();
        let circle = self.lookout.look(&waits, at, self.sink);
        self.sink.begin_samples(at);
        tell_values(&mut parts, self.sink);
        self.told = Some(at);
        self.control.now_ps.store(at.ps(), Ordering::Relaxed);
        // A fault found at a sample is one in the books of a node: one thread would name the first of them.
        let fault = parts.iter().filter_map(|part| part.fault.as_ref()).min_by_key(|fault| fault.node());
        if let Some(fault) = fault {
            self.ended = Some(world_broken(shared.plan, fault).map(|()| unreachable!("a fault is one")));
            shared.meeting.break_off();
        } else if let Some(circle) = circle {
            self.ended = Some(Err(closed(shared.plan, &circle, at)));
            shared.is_over.store(true, Ordering::Release);
        } else if is_last || self.control.stop.load(Ordering::Relaxed) {
            let sum = |count: fn(&Gathered) -> u64| parts.iter().map(|part| count(part)).sum();
            self.ended = Some(Ok(Outcome {
                ended: at,
                complete: is_last,
                events: sum(|part| part.handled),
                frame_hops: sum(|part| part.hops[0]),
                cell_hops: sum(|part| part.hops[1]),
            }));
            shared.is_over.store(true, Ordering::Release);
        }
    }
}

/// What one part has to say, until it is put together with what the others say.
#[derive(Default)]
struct Gathered {
    /// With their places among events of the same instant.
    events: Vec<(Event, u64)>,
    values: Vec<(EntityId, Quantity, i64)>,
    totals: Vec<(EntityId, FlowTotals)>,
    waits: Vec<Wait>,
    fault: Option<Fault>,
    handled: u64,
    hops: [u64; 2],
}

impl Sink for Gathered {
    fn begin_samples(&mut self, _at: Instant) {}

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.values.push((entity, quantity, value));
    }

    fn event(&mut self, _event: Event) {
        unreachable!("events are taken with their places");
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.totals.push((flow, totals));
    }
}

type Held<'a> = MutexGuard<'a, Gathered>;

fn tell_events(parts: &mut [Held<'_>], sink: &mut dyn Sink) {
    let mut all: Vec<(Event, u64)> =
        parts.iter_mut().flat_map(|part| std::mem::take(&mut part.events)).collect();
    // Stable: what one node says at one instant stays in its order.
    all.sort_by_key(|(event, place)| (event.at, *place));
    for (event, _) in all {
        sink.event(event);
    }
}

/// Values come by entity. Most entities belong to one part; of a flow each part tells what it knows, and the sum is all.
fn tell_values(parts: &mut [Held<'_>], sink: &mut dyn Sink) {
    let mut at = vec![0; parts.len()];
    let next = |parts: &[Held<'_>], at: &[usize]| {
        let heads = parts.iter().zip(at).filter_map(|(part, at)| part.values.get(*at));
        heads.map(|(entity, ..)| *entity).min()
    };
    let mut row: Vec<(Quantity, i64)> = Vec::new();
    while let Some(entity) = next(parts, &at) {
        row.clear();
        for (part, at) in parts.iter().zip(&mut at) {
            let own = part.values[*at..].iter().take_while(|(other, ..)| *other == entity);
            let mut count = 0;
            for (place, (_, quantity, value)) in own.enumerate() {
                count += 1;
                match row.get_mut(place) {
                    Some((_, sum)) => *sum += value,
                    None => row.push((*quantity, *value)),
                }
            }
            *at += count;
        }
        for (quantity, value) in &row {
            sink.sample(entity, *quantity, *value);
        }
    }
    for part in parts {
        part.values.clear();
    }
}

fn tell_totals(parts: &mut [Held<'_>], sink: &mut dyn Sink) {
    let mut all: Vec<(EntityId, FlowTotals)> =
        parts.iter_mut().flat_map(|part| std::mem::take(&mut part.totals)).collect();
    all.sort_by_key(|(flow, _)| *flow);
    for flow in all.chunk_by(|(a, _), (b, _)| a == b) {
        let mut sum = FlowTotals::default();
        for (_, part) in flow {
            sum += *part;
        }
        sink.flow(flow[0].0, sum);
    }
}

/// Says to a sink what it has not been told yet, by a run from the start.
struct Rest<'a> {
    sink: &'a mut dyn Sink,
    told: Option<Instant>,
    is_new: bool,
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

    fn event(&mut self, event: Event) {
        // An event at the instant of a sample comes after it.
        if self.told.is_none_or(|told| event.at >= told) {
            self.sink.event(event);
        }
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.sink.flow(flow, totals);
    }
}

/// A panic of another thread ends the run anyway.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
