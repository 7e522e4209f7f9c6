//! Puts together what the parts of a network have to say, in the order of one thread, and tells the sink.

use super::super::deadlock::Lookout;
use super::super::run::{Broken, Control, Outcome, closed, world_broken};
use crate::model::{Fault, Wait, put_in_order};
use crate::scenario::plan::Plan;
use quell_proto::units::Instant;
use quell_record::{Cell, EntityId, Event, FlowTotals, Quantity, Rows, Sink};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::{panic, thread};

/// The totals of so many entities are added up together.
const TOGETHER: usize = 1024;
/// So many are worth a thread.
const A_THREAD: usize = 128 * 1024;

/// The totals that a part has, in the order of entities.
type Totals<'a> = &'a [(EntityId, FlowTotals)];

/// What one part has to say at a sample.
#[derive(Default)]
pub(super) struct Said {
    /// Recorded events, with their places among those of the same instant.
    pub(super) events: Vec<(Event, u64)>,
    /// The row of samples.
    pub(super) rows: Rows,
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
    fn begin_samples(&mut self, at: Instant) {
        self.rows.begin(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        let others = self.rows.say((entity, quantity), value);
        assert!(others.is_none(), "a part says one row at a time");
    }

    fn end_samples(&mut self) {
        self.rows.end_row(None);
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
    pub(super) joint: Joint,
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
        self.sink.rows(&self.joint.row(at, said));
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

/// How the rows of all parts make one. Most entities belong to one part; of a flow each part tells what it knows, and the sum is all.
#[derive(Default)]
pub(super) struct Joint {
    /// Whose values the parts have, and the whole.
    parts: Vec<Arc<Vec<Cell>>>,
    whole: Arc<Vec<Cell>>,
    /// The places in the whole of what each part has.
    places: Vec<Vec<usize>>,
}

impl Joint {
    fn of(parts: Vec<Arc<Vec<Cell>>>) -> Joint {
        let mut whole: Vec<Cell> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        // Each part's are in order: a stable sort merges them, where another would begin anew.
        whole.sort();
        whole.dedup();
        let places = parts.iter().map(|part| {
            let mut rest = 0..whole.len();
            let place = |cell: &Cell| rest.find(|place| whole[*place] == *cell).expect("it is in the whole");
            part.iter().map(place).collect()
        });
        Joint { places: places.collect(), whole: Arc::new(whole), parts }
    }

    /// The row that parts say together.
    fn row(&mut self, at: Instant, said: &[Said]) -> Rows {
        if !self.parts.iter().eq(said.iter().map(|part| part.rows.shape())) {
            *self = Joint::of(said.iter().map(|part| Arc::clone(part.rows.shape())).collect());
        }
        let mut row = vec![0; self.whole.len()];
        for (places, part) in self.places.iter().zip(said) {
            for (place, value) in places.iter().zip(part.rows.row(0)) {
                row[*place] += value;
            }
        }
        Rows::one(at, Arc::clone(&self.whole), row)
    }
}

/// Tells the totals of each flow, of which several parts may have some: each part says its own in the order of entities.
fn tell_totals(said: &[Said], sink: &mut dyn Sink) {
    let lists: Vec<Totals<'_>> = said.iter().map(|part| &part.totals[..]).collect();
    let first = lists.iter().filter_map(|list| list.first()).map(|(flow, _)| flow.0).min();
    let last = lists.iter().filter_map(|list| list.last()).map(|(flow, _)| flow.0).max();
    if let (Some(first), Some(last)) = (first, last) {
        // The first thread adds up what is told first.
        thread::scope(|scope| {
            let lists = &lists;
            let rest = (first..=last).step_by(A_THREAD).skip(1);
            let rest: Vec<_> = rest.map(|begin| scope.spawn(move || sums(lists, begin))).collect();
            sink.flows(sums(lists, first));
            for sums in rest {
                sink.flows(sums.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
            }
        });
    }
    sink.all_said();
}

/// The totals of the flows that one thread adds up, from an entity on.
fn sums(lists: &[Totals<'_>], begin: u32) -> Vec<(EntityId, FlowTotals)> {
    let end = begin.saturating_add(A_THREAD as u32);
    let place = |list: &Totals<'_>, entity: u32| list.partition_point(|(flow, _)| flow.0 < entity);
    let of_these = lists.iter().map(|list| &list[place(list, begin)..place(list, end)]);
    let mut lists: Vec<Totals<'_>> = of_these.collect();
    let mut all = Vec::with_capacity(lists.iter().map(|list| list.len()).sum::<usize>().min(A_THREAD));
    let mut sums: Vec<Option<FlowTotals>> = Vec::new();
    // So many entities at a time: to look for the next one in all lists takes longer than to add up.
    while let Some(first) = lists.iter().filter_map(|list| list.first()).map(|(flow, _)| flow.0).min() {
        sums.clear();
        sums.resize(TOGETHER, None);
        for list in &mut lists {
            while let Some(((flow, totals), rest)) = list.split_first()
                && let Some(sum) = sums.get_mut((flow.0 - first) as usize)
            {
                *sum.get_or_insert_default() += *totals;
                *list = rest;
            }
        }
        let sums = sums.iter().zip(first..);
        all.extend(sums.filter_map(|(sum, entity)| Some((EntityId(entity), (*sum)?))));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{OfferedBytes, SentBytes, TxBytes};

    fn said(at: u64, values: &[(u32, Quantity, i64)]) -> Said {
        let mut said = Said::default();
        said.begin_samples(Instant::from_ps(at));
        values.iter().for_each(|(entity, quantity, value)| said.sample(EntityId(*entity), *quantity, *value));
        said.end_samples();
        said
    }

    fn row(joint: &mut Joint, at: u64, parts: &[&[(u32, Quantity, i64)]]) -> Vec<(u32, Quantity, i64)> {
        let said: Vec<Said> = parts.iter().map(|values| said(at, values)).collect();
        let row = joint.row(Instant::from_ps(at), &said);
        let cells = row.shape().iter().zip(row.row(0));
        cells.map(|((entity, quantity), value)| (entity.0, *quantity, *value)).collect()
    }

    #[test]
    fn a_row_is_in_the_order_of_entities_and_sums_what_several_parts_know() {
        let mut joint = Joint::default();
        for at in 1..3 {
            let first = [(0, TxBytes, 5), (3, OfferedBytes, 40), (3, SentBytes, 0)];
            let second = [(1, TxBytes, 7), (2, TxBytes, 9), (3, OfferedBytes, 0), (3, SentBytes, 38)];
            let whole = [
                (0, TxBytes, 5),
                (1, TxBytes, 7),
                (2, TxBytes, 9),
                (3, OfferedBytes, 40),
                (3, SentBytes, 38),
            ];
            assert_eq!(row(&mut joint, at, &[&first, &second]), whole);
        }
    }

    #[test]
    fn totals_are_told_once_for_each_flow_in_the_order_of_entities() {
        let apart = TOGETHER as u32;
        let part = |flows: &[u32]| Said {
            totals: (flows.iter())
                .map(|flow| (EntityId(*flow), FlowTotals { lost_frames: 1, ..FlowTotals::default() }))
                .collect(),
            ..Said::default()
        };
        let mut told = Said::default();
        let far = 7 + A_THREAD as u32;
        let parts = [
            part(&[3, 4, 2 + apart, 3 + apart]),
            part(&[4, 3 + 9 * apart, far]),
            part(&[]),
            part(&[1, 4, 3 + apart, far, far + 1]),
        ];
        tell_totals(&parts, &mut told);
        let told: Vec<_> = told.totals.iter().map(|(flow, totals)| (flow.0, totals.lost_frames)).collect();
        let near = [(1, 1), (3, 1), (4, 3), (2 + apart, 1), (3 + apart, 2), (3 + 9 * apart, 1)];
        assert_eq!(told, [&near[..], &[(far, 2), (far + 1, 1)]].concat());
    }

    #[test]
    fn a_part_may_speak_of_others_than_before() {
        let mut joint = Joint::default();
        assert_eq!(row(&mut joint, 1, &[&[(0, TxBytes, 5)], &[]]), [(0, TxBytes, 5)]);
        let both = [(0, TxBytes, 6), (4, TxBytes, 1)];
        assert_eq!(row(&mut joint, 2, &[&both[..1], &both[1..]]), both);
        assert_eq!(row(&mut joint, 3, &[&[], &both[1..]]), both[1..]);
    }
}
