//! A recording in memory: what metrics, claims and figures read.

use crate::claim::Window;
use crate::rows::Rows;
use crate::{Catalog, Digest, Digester, EntityId, Event, FlowTotals, Quantity, Sink};
use quell_proto::units::{Duration, Instant};
use std::ops::Range;
use std::sync::OnceLock;

/// What one run said, in memory and by entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What it speaks of.
    pub catalog: Catalog,
    /// The sample instants, rising. Sample `i` covers the time after `times[i - 1]` up to `times[i]`; the first
    /// one covers the time since the start.
    pub times: Vec<Instant>,
    /// What happened, in order of time.
    pub events: Vec<Event>,
    /// The totals of each flow, in order of entity.
    pub flows: Vec<(EntityId, FlowTotals)>,
    /// The digest of all of it.
    pub digest: Digest,
    /// Whether the run came to its end; `false` if it was interrupted.
    pub complete: bool,
    table: Table,
    by_entity: ByEntity,
}

/// The places of events, by entity and in order of time: made when somebody first asks. It says nothing new, so
/// recordings are the same with and without.
#[derive(Clone, Debug, Default)]
struct ByEntity(OnceLock<Vec<u32>>);

impl PartialEq for ByEntity {
    fn eq(&self, _: &ByEntity) -> bool {
        true
    }
}

impl Eq for ByEntity {}

impl Recording {
    /// The values of one quantity of one entity, one for each of `times`; `None` if it was not recorded, or
    /// not at every one of them (see [`Recording::value`]).
    pub fn series(&self, entity: EntityId, quantity: Quantity) -> Option<&[i64]> {
        let column = self.table.column(entity, quantity)?;
        (column.gaps.is_empty() && column.values.len() == self.times.len()).then_some(&column.values)
    }

    /// The value at one sample, if it was recorded there.
    pub fn value(&self, entity: EntityId, quantity: Quantity, sample: usize) -> Option<i64> {
        self.table.column(entity, quantity)?.value(sample)
    }

    /// The totals of one flow.
    pub fn totals(&self, flow: EntityId) -> Option<&FlowTotals> {
        let at = self.flows.binary_search_by_key(&flow, |(id, _)| *id).ok()?;
        Some(&self.flows[at].1)
    }

    /// The samples that cover a window: those whose interval shares any time with it. Where the producer sampled
    /// at the window's ends, they cover just the window; [`Recording::span`] says what they do cover.
    pub fn covering(&self, window: Window) -> Range<usize> {
        let first = self.times.partition_point(|time| time.ps() <= window.from_ps);
        let ended_before = self.times.partition_point(|time| time.ps() < window.to_ps);
        let last = if ended_before < self.times.len() { ended_before + 1 } else { ended_before };
        if window.from_ps >= window.to_ps { first..first } else { first..last.max(first) }
    }

    /// The time that samples cover together: after the first instant, up to the second.
    pub fn span(&self, samples: Range<usize>) -> (Instant, Instant) {
        let end_of = |count: usize| match count {
            0 => Instant::START,
            _ => self.times[count - 1],
        };
        (end_of(samples.start), end_of(samples.end.max(samples.start)))
    }

    /// How long one sample's interval is.
    pub fn interval(&self, sample: usize) -> Duration {
        let (from, to) = self.span(sample..sample + 1);
        to.saturating_since(from)
    }

    /// The events of one entity, in order of time. What is asked of thousands of entities must not look at all events
    /// for each.
    pub fn events_of(&self, entity: EntityId) -> impl Iterator<Item = &Event> {
        let places = self.by_entity.0.get_or_init(|| {
            let mut places: Vec<u32> = (0..self.events.len() as u32).collect();
            places.sort_by_key(|place| self.events[*place as usize].entity);
            places
        });
        let of = |place: &u32| self.events[*place as usize].entity;
        let first = places.partition_point(|place| of(place) < entity);
        places[first..]
            .iter()
            .map(|place| &self.events[*place as usize])
            .take_while(move |it| it.entity == entity)
    }

    /// The events of a window.
    pub fn events_in(&self, window: Window) -> &[Event] {
        let first = self.events.partition_point(|event| event.at.ps() < window.from_ps);
        let end = self.events.partition_point(|event| event.at.ps() < window.to_ps);
        &self.events[first..end.max(first)]
    }

    /// The last instant it knows of: how much time it covers.
    pub fn end(&self) -> Instant {
        self.times.last().copied().unwrap_or(Instant::START)
    }

    /// Says everything again, in order: to write a recording to disk, or to take its digest anew.
    pub fn replay(&self, sink: &mut dyn Sink) {
        for (sample, &at) in self.times.iter().enumerate() {
            sink.begin_samples(at);
            for (entity, _) in self.catalog.iter() {
                for quantity in Quantity::ALL {
                    if let Some(value) = self.value(entity, quantity, sample) {
                        sink.sample(entity, quantity, value);
                    }
                }
            }
        }
        for &event in &self.events {
            sink.event(event);
        }
        for &(flow, totals) in &self.flows {
            sink.flow(flow, totals);
        }
    }
}

/// A sink that becomes a [`Recording`].
#[derive(Clone, Debug)]
pub struct Memory {
    catalog: Catalog,
    times: Vec<Instant>,
    events: Vec<Event>,
    flows: Vec<(EntityId, FlowTotals)>,
    table: Table,
    /// What was said last, and is in no series yet; and before that, what another sink was told.
    rows: Rows,
    told: Vec<Rows>,
    told_events: Vec<Vec<Event>>,
    /// None if another sink takes the digest.
    digester: Option<Digester>,
}

impl Memory {
    /// So many rows are turned into series at a time, or so many values if rows are long.
    const ROWS: usize = 64;
    const VALUES: usize = 1 << 19;
    /// Events of another sink are kept in lists of so many.
    const EVENTS: usize = 8 * 1024;

    /// An empty one, for a run of these entities.
    pub fn new(catalog: Catalog) -> Memory {
        Memory { digester: Some(Digester::new()), ..Memory::beside(catalog) }
    }

    /// One that is given the same as a sink that takes the digest; see [`Memory::finish_with`].
    pub(crate) fn beside(catalog: Catalog) -> Memory {
        Memory {
            table: Table::new(catalog.len()),
            catalog,
            times: Vec::new(),
            events: Vec::new(),
            flows: Vec::new(),
            rows: Rows::default(),
            told: Vec::new(),
            told_events: Vec::new(),
            digester: None,
        }
    }

    /// The recording; `complete` says whether the run came to its end.
    pub fn finish(mut self, complete: bool) -> Recording {
        self.end_row();
        let digest = self.digester.take().expect("a recording of its own takes the digest").digest();
        self.finish_with(complete, digest)
    }

    /// The recording, of which another sink has taken the digest.
    pub(crate) fn finish_with(mut self, complete: bool, digest: Digest) -> Recording {
        self.end_row();
        self.keep_rows();
        self.keep_told();
        self.events.reserve_exact(self.told_events.iter().map(Vec::len).sum());
        for mut events in self.told_events {
            self.events.append(&mut events);
        }
        Recording {
            catalog: self.catalog,
            times: self.times,
            events: self.events,
            flows: self.flows,
            digest,
            complete,
            table: self.table,
            by_entity: ByEntity::default(),
        }
    }

    fn end_row(&mut self) {
        if let Some(others) = self.rows.end_row(self.digester.as_mut()) {
            self.turn(&others, 0);
        }
        if self.rows.times().len() >= Self::ROWS || self.rows.count() >= Self::VALUES {
            self.keep_rows();
        }
    }

    fn keep_rows(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.turn(&rows, 0);
        self.rows = rows;
        self.rows.clear();
    }

    /// Adds events that another sink was told. There may be millions: a single list would be copied each time that it has to grow.
    pub(crate) fn keep_events(&mut self, events: &[Event]) {
        match self.told_events.last_mut() {
            Some(last) if last.len() + events.len() <= last.capacity() => last.extend_from_slice(events),
            _ => {
                let mut list = Vec::with_capacity(events.len().max(Self::EVENTS));
                list.extend_from_slice(events);
                self.told_events.push(list);
            }
        }
    }

    /// Adds totals, likewise.
    pub(crate) fn keep_flows(&mut self, flows: &[(EntityId, FlowTotals)]) {
        self.flows.extend_from_slice(flows);
    }

    /// Adds rows, likewise. They are left as they are: see [`turn_many`](Self::turn_many).
    pub(crate) fn keep(&mut self, rows: Rows) {
        self.told.push(rows);
    }

    /// Turns rows of another sink into series if there are many: a series that grows by one value at a time is copied again and again,
    /// and there are tens of thousands.
    pub(crate) fn turn_many(&mut self) {
        let sum = |of: fn(&Rows) -> usize| self.told.iter().map(of).sum::<usize>();
        if sum(|rows| rows.times().len()) >= Self::ROWS || sum(Rows::count) >= Self::VALUES {
            self.keep_told();
        }
    }

    fn keep_told(&mut self) {
        let mut follow: usize = self.told.iter().map(|rows| rows.times().len()).sum();
        for rows in std::mem::take(&mut self.told) {
            follow -= rows.times().len();
            self.turn(&rows, follow);
        }
    }

    /// Turns rows into series, with room for so many that are known to follow.
    fn turn(&mut self, rows: &Rows, follow: usize) {
        self.table.push(self.times.len(), rows, follow);
        self.times.extend_from_slice(rows.times());
    }
}

impl Sink for Memory {
    fn begin_samples(&mut self, at: Instant) {
        self.end_row();
        self.rows.begin(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        if let Some(others) = self.rows.say((entity, quantity), value) {
            self.turn(&others, 0);
        }
    }

    fn event(&mut self, event: Event) {
        if let Some(digester) = &mut self.digester {
            digester.event(event);
        }
        self.events.push(event);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        if let Some(digester) = &mut self.digester {
            digester.flow(flow, totals);
        }
        self.flows.push((flow, totals));
    }
}

/// Every series, found by entity and quantity without a search.
#[derive(Clone, Debug)]
struct Table {
    /// For each entity and quantity the place in `columns`, or `NONE`.
    places: Vec<u32>,
    columns: Vec<Column>,
}

impl Table {
    const NONE: u32 = u32::MAX;

    fn new(entities: usize) -> Table {
        let places = vec![Self::NONE; entities * Quantity::ALL.len()];
        Table { places, columns: Vec::new() }
    }

    fn place(entity: EntityId, quantity: Quantity) -> usize {
        entity.0 as usize * Quantity::ALL.len() + quantity as usize
    }

    fn column(&self, entity: EntityId, quantity: Quantity) -> Option<&Column> {
        match *self.places.get(Self::place(entity, quantity))? {
            Self::NONE => None,
            place => Some(&self.columns[place as usize]),
        }
    }

    /// Adds rows, of which the first is this sample, with room for those that are known to follow.
    fn push(&mut self, sample: usize, rows: &Rows, follow: usize) {
        if self.columns.is_empty() {
            self.columns.reserve_exact(rows.shape().len());
        }
        for (cell, &(entity, quantity)) in rows.shape().iter().enumerate() {
            let column = self.column_mut(entity, quantity);
            column.fill_up_to(sample);
            column.make_room(rows.times().len(), follow);
            column.values.extend((0..rows.times().len()).map(|row| rows.row(row)[cell]));
        }
    }

    fn column_mut(&mut self, entity: EntityId, quantity: Quantity) -> &mut Column {
        let place = &mut self.places[Self::place(entity, quantity)];
        if *place == Self::NONE {
            *place = u32::try_from(self.columns.len()).expect("fewer than 2^32 series");
            self.columns.push(Column::default());
        }
        &mut self.columns[*place as usize]
    }
}

/// Equal if they give the same values, whatever order the series came in.
impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        let column = |table: &Table, place: u32| table.columns.get(place as usize).cloned();
        self.places.len() == other.places.len()
            && self.places.iter().zip(&other.places).all(|(&a, &b)| column(self, a) == column(other, b))
    }
}

impl Eq for Table {}

/// One series. Where nothing was said, a zero keeps the place and `gaps` its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Column {
    values: Vec<i64>,
    gaps: Vec<usize>,
}

impl Column {
    fn fill_up_to(&mut self, sample: usize) {
        while self.values.len() < sample {
            self.gaps.push(self.values.len());
            self.values.push(0);
        }
    }

    /// Makes room for values that come now, and those that are known to follow. There are tens of thousands of series, so each keeps
    /// less in reserve than it would by itself.
    fn make_room(&mut self, now: usize, follow: usize) {
        let (len, room) = (self.values.len(), self.values.capacity());
        if len + now > room {
            self.values.reserve_exact((now + follow).max(len / 4));
        }
    }

    fn value(&self, sample: usize) -> Option<i64> {
        let value = *self.values.get(sample)?;
        self.gaps.binary_search(&sample).is_err().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{catalog, tell};
    use Quantity::{LimitBps, QueueMeanBytes, TxBytes};

    fn recording(times: &[u64]) -> Recording {
        let mut memory = Memory::new(catalog());
        for &time in times {
            memory.begin_samples(Instant::from_ps(time));
            memory.sample(EntityId(0), QueueMeanBytes, i64::try_from(time).unwrap());
        }
        memory.finish(true)
    }

    #[test]
    fn a_series_has_a_value_for_every_instant() {
        let recording = recording(&[10, 20, 30]);
        assert_eq!(recording.series(EntityId(0), QueueMeanBytes), Some(&[10, 20, 30][..]));
        assert_eq!(recording.series(EntityId(0), TxBytes), None);
        assert_eq!(recording.series(EntityId(9), LimitBps), None);
        assert_eq!(recording.series(EntityId(99), LimitBps), None);
        assert_eq!(recording.end(), Instant::from_ps(30));
    }

    #[test]
    fn a_series_with_gaps_is_none_and_its_values_are_still_there() {
        let mut memory = Memory::new(catalog());
        for time in 1..=4 {
            memory.begin_samples(Instant::from_ps(time));
            if time % 2 == 0 {
                memory.sample(EntityId(8), LimitBps, 7);
            }
        }
        let recording = memory.finish(true);
        assert_eq!(recording.series(EntityId(8), LimitBps), None);
        let values: Vec<_> = (0..5).map(|sample| recording.value(EntityId(8), LimitBps, sample)).collect();
        assert_eq!(values, [None, Some(7), None, Some(7), None]);
    }

    #[test]
    fn a_window_is_covered_by_the_samples_that_share_time_with_it() {
        let recording = recording(&[10, 20, 30, 35]);
        let covering = |from_ps, to_ps| recording.covering(Window { from_ps, to_ps });
        assert_eq!(covering(10, 30), 1..3);
        assert_eq!(covering(0, 35), 0..4);
        assert_eq!(covering(0, 10), 0..1);
        assert_eq!(covering(12, 13), 1..2);
        assert_eq!(covering(15, 31), 1..4);
        assert_eq!(covering(30, 100), 3..4);
        assert!(covering(35, 100).is_empty() && covering(20, 20).is_empty() && covering(30, 10).is_empty());
        assert_eq!(recording.span(1..3), (Instant::from_ps(10), Instant::from_ps(30)));
        assert_eq!(recording.span(0..1), (Instant::START, Instant::from_ps(10)));
        assert_eq!(recording.interval(3), Duration::from_ps(5));
    }

    #[test]
    fn events_of_a_window_begin_with_it_and_end_before_its_end() {
        let mut memory = Memory::new(catalog());
        tell(3, &mut memory);
        let recording = memory.finish(true);
        let within = recording.events_in(Window { from_ps: 700_000, to_ps: 2_100_000 });
        assert_eq!(within.iter().map(|event| event.at.ps()).collect::<Vec<_>>(), [700_000, 1_400_000]);
        assert!(recording.events_in(Window { from_ps: 9, to_ps: 3 }).is_empty());
    }

    #[test]
    fn totals_are_found_by_flow() {
        let mut memory = Memory::new(catalog());
        tell(1, &mut memory);
        let recording = memory.finish(true);
        assert_eq!(recording.totals(EntityId(9)).unwrap().offered_bytes, 9009);
        assert_eq!(recording.totals(EntityId(0)), None);
    }

    #[test]
    fn a_recording_replayed_is_the_same_recording() {
        let mut memory = Memory::new(catalog());
        tell(7, &mut memory);
        let first = memory.finish(true);
        let mut again = Memory::new(catalog());
        first.replay(&mut again);
        assert_eq!(again.finish(true), first);
    }

    #[test]
    fn a_tee_tells_both() {
        let (mut memory, mut digester) = (Memory::new(catalog()), Digester::new());
        tell(4, &mut crate::Tee(&mut memory, &mut digester));
        assert_eq!(memory.finish(true).digest, digester.digest());
    }

    #[test]
    #[should_panic(expected = "out of order")]
    fn a_producer_that_says_values_out_of_order_is_stopped() {
        let mut memory = Memory::new(catalog());
        memory.begin_samples(Instant::from_ps(1));
        memory.sample(EntityId(1), QueueMeanBytes, 1);
        memory.sample(EntityId(0), QueueMeanBytes, 1);
    }

    #[test]
    #[should_panic(expected = "come after those of a later time")]
    fn a_producer_whose_samples_run_backwards_is_stopped() {
        recording(&[2, 1]);
    }
}
