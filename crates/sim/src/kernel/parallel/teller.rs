//! Puts together what the parts of a network have to say, in the order of one thread, and tells the sink.

use super::super::deadlock::Lookout;
use super::super::run::{Broken, Control, Outcome, closed, world_broken};
use crate::model::{Fault, Wait, put_in_order};
use crate::scenario::plan::Plan;
use quell_proto::units::Instant;
use quell_record::{EntityId, Event, FlowTotals, Quantity, Sink};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

/// What one part has to say at a sample.
#[derive(Default)]
pub(super) struct Said {
    /// Recorded events, with their places among those of the same instant.
    pub(super) events: Vec<(Event, u64)>,
    pub(super) values: Vec<(EntityId, Quantity, i64)>,
    /// Totals of flows, if this is the last it says.
    pub(super) totals: Vec<(EntityId, FlowTotals)>,
    pub(super) waits: Vec<Wait>,
    pub(super) fault: Option<Fault>,
    /// Events that were handled so far.
    pub(super) handled: u64,
    /// Frames and cells carried so far.
    pub(super) hops: [u64; 2],
    /// Whether the run ends here, because it is over or was interrupted.
    pub(super) is_last: bool,
}

impl Sink for Said {
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

/// How the parts are to go on after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    /// A circle has closed: say the totals, and end.
    End,
}

/// Listens to all parts.
pub(super) struct Teller<'a> {
    pub(super) plan: &'a Plan,
    pub(super) control: &'a Control,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) lookout: Lookout,
    pub(super) parts: Vec<Receiver<Said>>,
    /// To the parts, where they wait to be told how to go on.
    pub(super) verdicts: Vec<Sender<Verdict>>,
    /// The last sample told.
    pub(super) told: Option<Instant>,
}

impl Teller<'_> {
    /// Tells the sink about all samples. `None`: a part came to nothing in between.
    pub(super) fn listen(
        &mut self,
        samples: impl Iterator<Item = Instant>,
        end: Instant,
    ) -> Option<Result<Outcome, Broken>> {
        for at in samples {
            let mut said = self.hear()?;
            if let Some(ended) = self.tell(at, at == end, &mut said) {
                return Some(ended);
            }
        }
        None
    }

    /// What every part says next.
    fn hear(&self) -> Option<Vec<Said>> {
        self.parts.iter().map(|part| part.recv().ok()).collect()
    }

    /// Tells what all parts have to say at a sample, and how the run ended, if it did.
    fn tell(&mut self, at: Instant, is_end: bool, said: &mut [Said]) -> Option<Result<Outcome, Broken>> {
        tell_events(said, self.sink);
        let waits: Vec<Wait> = said.iter_mut().flat_map(|part| std::mem::take(&mut part.waits)).collect();
        let circle = self.lookout.look(&waits, at, self.sink);
        self.sink.begin_samples(at);
        tell_values(said, self.sink);
        self.sink.end_samples();
        self.told = Some(at);
        self.control.now_ps.store(at.ps(), Ordering::Relaxed);
        // A fault found at a sample is one in the books of a node: one thread would name the first of them.
        let fault = said.iter().filter_map(|part| part.fault.as_ref()).min_by_key(|fault| fault.node());
        if let Some(fault) = fault {
            return Some(Err(world_broken(self.plan, fault)));
        }
        let verdict = if circle.is_some() { Verdict::End } else { Verdict::GoOn };
        for part in &self.verdicts {
            // A part that is gone is missed when it is to say something.
            let _ = part.send(verdict);
        }
        if let Some(circle) = circle {
            if !said[0].is_last {
                let rest = self.hear()?;
                tell_totals(&rest, self.sink);
            } else {
                tell_totals(said, self.sink);
            }
            return Some(Err(closed(self.plan, &circle, at)));
        }
        if !said[0].is_last {
            return None;
        }
        tell_totals(said, self.sink);
        let sum = |count: fn(&Said) -> u64| said.iter().map(count).sum();
        Some(Ok(Outcome {
            ended: at,
            complete: is_end,
            events: sum(|part| part.handled),
            frame_hops: sum(|part| part.hops[0]),
            cell_hops: sum(|part| part.hops[1]),
        }))
    }
}

fn tell_events(said: &mut [Said], sink: &mut dyn Sink) {
    let mut all: Vec<(Event, u64)> =
        said.iter_mut().flat_map(|part| std::mem::take(&mut part.events)).collect();
    put_in_order(&mut all);
    for (event, _) in all {
        sink.event(event);
    }
}

/// Most entities belong to one part; of a flow each part tells what it knows, and the sum is all.
fn tell_values(said: &[Said], sink: &mut dyn Sink) {
    let lists: Vec<&[(EntityId, Quantity, i64)]> = said.iter().map(|part| &part.values[..]).collect();
    let mut row: Vec<(Quantity, i64)> = Vec::new();
    by_entity(
        lists,
        |value| value.0,
        |entity, own| {
            row.clear();
            for values in own {
                for (place, (_, quantity, value)) in values.iter().enumerate() {
                    match row.get_mut(place) {
                        Some((_, sum)) => *sum += value,
                        None => row.push((*quantity, *value)),
                    }
                }
            }
            for (quantity, value) in &row {
                sink.sample(entity, *quantity, *value);
            }
        },
    );
}

fn tell_totals(said: &[Said], sink: &mut dyn Sink) {
    let lists: Vec<&[(EntityId, FlowTotals)]> = said.iter().map(|part| &part.totals[..]).collect();
    by_entity(
        lists,
        |totals| totals.0,
        |flow, own| {
            let mut sum = FlowTotals::default();
            for (_, part) in own.iter().copied().flatten() {
                sum += *part;
            }
            sink.flow(flow, sum);
        },
    );
    sink.all_said();
}

/// Goes through lists that are each in the order of entities, entity by entity, with what each list that has it says of it.
fn by_entity<'a, T>(
    mut lists: Vec<&'a [T]>,
    entity_of: impl Fn(&T) -> EntityId,
    mut tell: impl FnMut(EntityId, &[&'a [T]]),
) {
    let mut own = Vec::new();
    while let Some(entity) = lists.iter().filter_map(|list| list.first()).map(&entity_of).min() {
        own.clear();
        for list in &mut lists {
            let count = list.iter().take_while(|it| entity_of(it) == entity).count();
            if count > 0 {
                let (first, rest) = list.split_at(count);
                own.push(first);
                *list = rest;
            }
        }
        tell(entity, &own);
    }
}
