//! Congestion points at outputs, inputs or both, and whom they notify.

use super::search::Search;
use super::tally::Tally;
use super::{Switch, culprit_dice};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::{Body, Frame, Handle, List};
use crate::model::net::Net;
use crate::model::stream;
use crate::scenario::plan::{Placement, Plan, Qcn, Scheme};
use quell_proto::control::af_qcn::Fairness;
use quell_proto::control::fqcn::Culprits;
use quell_proto::control::qcn::{CongestionPoint, Culprit, Occupancy, Sample, blame};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Instant, Priority};
use quell_proto::wire::CpId;
use quell_record::EventKind;

/// What the congestion points of a switch have in common.
#[derive(Debug)]
pub(super) struct CongestionPoints {
    plan: Qcn,
    class: u8,
    dice: Dice,
    /// Frames of the buffer that is being looked at, kept to spare the allocation.
    residents: Vec<Resident>,
    /// Whom to notify of one sample and what of, kept likewise.
    told: Vec<(u32, Sample)>,
    /// How a random occupant is found, if not at once.
    search: Option<Search>,
}

/// What the number of a congestion point at an input has that of one at an output has not.
const AT_INPUT: u16 = 1 << 15;

/// The number of the congestion point of a priority at a port.
pub(super) fn point_number(port: usize, priority: Priority) -> u16 {
    u16::try_from(port).ok().and_then(|port| CpId::number(port, priority)).unwrap_or(u16::MAX)
}

/// A congestion point at one output or input.
#[derive(Debug)]
pub(super) struct Watcher {
    point: CongestionPoint,
    /// When its keep-alive clock ticks next; [`Instant::NEVER`] while it stands still.
    ticks: Instant,
    /// What it knows of its flows, in schemes that measure them.
    measure: Option<Box<Measure>>,
    /// Reads of an array in search of its culprits since the last sample.
    reads: u64,
}

/// How a congestion point that measures its flows goes about it.
#[derive(Debug)]
enum Measure {
    Fairness(Fairness<Tally>),
    Culprits(Culprits<Tally>),
}

impl Watcher {
    /// A frame came to wait here; `queued` includes it.
    #[inline]
    fn on_arrival(&mut self, frame: &Frame, queued: Bytes, now: Instant) -> Option<Sample> {
        if self.measure.is_some() {
            return self.measure_and_sample(frame, queued, now);
        }
        self.point.on_arrival(frame.bytes(), queued, true)
    }

    #[inline(never)]
    fn measure_and_sample(&mut self, frame: &Frame, queued: Bytes, now: Instant) -> Option<Sample> {
        match self.measure.as_deref_mut() {
            Some(Measure::Fairness(fairness)) => fairness.on_arrival(now, frame.flow, frame.bytes()),
            Some(Measure::Culprits(culprits)) => culprits.on_arrival(frame.flow, frame.bytes()),
            None => {}
        }
        self.sample(|point| point.on_arrival(frame.bytes(), queued, true))
    }

    /// Reads of an array since the last sample.
    pub(super) fn take_reads(&mut self) -> u64 {
        std::mem::take(&mut self.reads)
    }

    fn on_clock(&mut self, queued: Bytes) -> Option<Sample> {
        self.sample(|point| point.on_clock(queued))
    }

    /// Lets the congestion point look, and those who count from sample to sample know if it took one.
    fn sample(&mut self, look: impl FnOnce(&mut CongestionPoint) -> Option<Sample>) -> Option<Sample> {
        let before = self.point.samples();
        let sample = look(&mut self.point);
        if let Some(Measure::Culprits(culprits)) = self.measure.as_deref_mut()
            && self.point.samples() != before
        {
            culprits.on_sample();
        }
        sample
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Resident {
    pub(super) flow: u32,
    pub(super) octets: u64,
    pub(super) priority: Priority,
}

impl Resident {
    fn of(frame: &Frame, net: &Net) -> Resident {
        let priority = net.classes[usize::from(frame.class)];
        Resident { flow: frame.flow, octets: u64::from(frame.length), priority }
    }
}

/// Leaves out all copies of a multicast frame but one: an input stores it once.
fn stored_once<'a>(frames: impl Iterator<Item = &'a Frame>, net: &'a Net) -> impl Iterator<Item = &'a Frame> {
    let mut seen: Vec<(u32, u32)> = Vec::new();
    frames.filter(move |frame| {
        let (Some(group), Body::Data { sequence, .. }) = (net.flows[frame.flow as usize].group, frame.body)
        else {
            return true;
        };
        let is_new = !seen.contains(&(group, sequence));
        seen.push((group, sequence));
        is_new
    })
}

/// The frames of one buffer, for the choice of a culprit.
struct Residents<'a>(&'a [Resident]);

impl Occupancy for Residents<'_> {
    type Flow = u32;

    fn octets(&self) -> u64 {
        self.0.iter().map(|resident| resident.octets).sum()
    }

    fn largest(&self) -> Option<u32> {
        let mut sums: Vec<Resident> = self.0.to_vec();
        sums.sort_by_key(|resident| resident.flow);
        let mut largest: Option<Resident> = None;
        for group in sums.chunk_by(|a, b| a.flow == b.flow) {
            let octets = group.iter().map(|resident| resident.octets).sum();
            if largest.is_none_or(|largest| octets > largest.octets) {
                largest = Some(Resident { octets, ..group[0] });
            }
        }
        largest.map(|largest| largest.flow)
    }

    fn holder_of(&self, octet: u64) -> Option<u32> {
        let mut end = 0;
        self.0
            .iter()
            .find(|resident| {
                end += resident.octets;
                octet < end
            })
            .map(|resident| resident.flow)
    }
}

impl Switch {
    pub(super) fn install_congestion_points(&mut self, plan: &Plan, seed: u64, net: &Net) {
        let Some(qcn) = plan.scheme.qcn() else { return };
        let class = net.classes.iter().position(|class| *class == qcn.cnm_priority);
        self.congestion = Some(CongestionPoints {
            plan: qcn,
            class: class.expect("the priority of notifications is in use") as u8,
            dice: culprit_dice(seed, self.id),
            residents: Vec::new(),
            told: Vec::new(),
            search: qcn.search.map(Search::new),
        });
        let at_outputs = matches!(qcn.placement, Placement::Output | Placement::Both);
        let at_inputs = matches!(qcn.placement, Placement::Input | Placement::Both);
        for queue in 0..self.outputs.len() {
            if net.data_class(queue % self.classes).is_none() {
                continue;
            }
            let watcher = |side: u64| {
                let entity = u64::from(self.id.0) << 32 | (queue as u64) << 1 | side;
                let dice = Dice::new(seed, entity, stream::CONGESTION);
                let measure = match plan.scheme {
                    Scheme::AfQcn(_, config) => {
                        Some(Measure::Fairness(Fairness::new(config, Tally::default())))
                    }
                    Scheme::Fqcn(_) => Some(Measure::Culprits(Culprits::new(Tally::default()))),
                    _ => None,
                };
                Box::new(Watcher {
                    point: CongestionPoint::new(qcn.congestion, dice),
                    ticks: Instant::NEVER,
                    measure: measure.map(Box::new),
                    reads: 0,
                })
            };
            self.outputs[queue].watcher = at_outputs.then(|| watcher(0));
            self.inputs[queue].watcher = at_inputs.then(|| watcher(1));
        }
    }

    /// A frame of data has come to wait for an output.
    #[inline]
    pub(super) fn watch_output(&mut self, handle: Handle, output: usize, net: &mut Net) {
        let frame = &net.pool.get(handle).frame;
        let queue = output * self.classes + frame.class as usize;
        let place = &mut self.outputs[queue];
        let Some(watcher) = &mut place.watcher else {
            if place.sampler.is_some() && place.meter.level() > self.quiet.output {
                self.consult(handle, output, net);
            }
            return;
        };
        let frame = *frame;
        let queued = Bytes::new(place.meter.level());
        if let Some(sample) = watcher.on_arrival(&frame, queued, net.now) {
            self.notify_from_output(queue, frame.flow, sample, net);
        }
    }

    /// A frame of data has come in by a port.
    #[inline]
    pub(super) fn watch_input(&mut self, frame: &Frame, input: usize, net: &mut Net) {
        let queue = input * self.classes + frame.class as usize;
        let place = &mut self.inputs[queue];
        let Some(watcher) = &mut place.watcher else { return };
        let queued = Bytes::new(place.meter.level());
        if let Some(sample) = watcher.on_arrival(frame, queued, net.now) {
            self.notify_from_input(queue, Some(frame.flow), sample, net);
        }
    }

    #[cold]
    fn notify_from_output(&mut self, queue: usize, arrival: u32, sample: Sample, net: &mut Net) {
        let points = self.congestion.as_mut().expect("a watcher belongs to congestion points");
        if !matches!(points.plan.congestion.culprit, Culprit::Arrival) {
            points.gather(self.waiting.lists_of_output(queue), net);
        }
        let priority = net.classes[queue % self.classes];
        let arrival = (Some(arrival), priority);
        let place = &mut self.outputs[queue];
        let told = points.whom_to_tell(place.watcher.as_deref_mut(), arrival, sample, net.now);
        place.cnms += told.len() as u32;
        let wire = self.ports[queue / self.classes].sender.wire;
        for (flow, sample) in &told {
            if let Some(data) = net.data_class(queue % self.classes) {
                net.port_event(wire, data, EventKind::Cnm, Some(*flow), i64::from(sample.quantised));
            }
            self.notify(*flow, *sample, point_number(queue / self.classes, priority), net);
        }
        self.give_back(told);
    }

    #[cold]
    fn notify_from_input(&mut self, queue: usize, arrival: Option<u32>, sample: Sample, net: &mut Net) {
        let (input, class) = (queue / self.classes, queue % self.classes);
        let points = self.congestion.as_mut().expect("a watcher belongs to congestion points");
        if !matches!(points.plan.congestion.culprit, Culprit::Arrival) {
            let mut residents = std::mem::take(&mut points.residents);
            residents.clear();
            // The array of a port has words for all its priorities.
            let whole_port = self.congestion.as_ref().is_some_and(CongestionPoints::has_array);
            for class in if whole_port { 0..self.classes } else { class..class + 1 } {
                let held = self.held_by_input(input, class, net).map(|(_, frame)| frame);
                if self.parted.is_used() {
                    residents.extend(stored_once(held, net).map(|frame| Resident::of(frame, net)));
                } else {
                    residents.extend(held.map(|frame| Resident::of(frame, net)));
                }
            }
            self.congestion.as_mut().expect("it was there").residents = residents;
        }
        let points = self.congestion.as_mut().expect("it was there");
        let arrival = (arrival, net.classes[class]);
        let place = &mut self.inputs[queue];
        let told = points.whom_to_tell(place.watcher.as_deref_mut(), arrival, sample, net.now);
        place.cnms += told.len() as u32;
        let wire = self.ports[input].sender.wire;
        for (flow, sample) in &told {
            if let Some(data) = net.data_class(class) {
                net.input_event(wire, data, EventKind::Cnm, Some(*flow), i64::from(sample.quantised));
            }
            self.notify(*flow, *sample, point_number(input, net.classes[class]) | AT_INPUT, net);
        }
        self.give_back(told);
    }

    /// The list has been read: its memory serves the next sample.
    fn give_back(&mut self, told: Vec<(u32, Sample)>) {
        if let Some(points) = &mut self.congestion {
            points.told = told;
        }
    }

    /// Sends a notification to the source of a flow.
    fn notify(&mut self, flow: u32, sample: Sample, point: u16, net: &mut Net) {
        let points = self.congestion.as_ref().expect("a watcher belongs to congestion points");
        let units = |octets: i64| (octets / 64).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
        let body = Body::Cnm {
            quantised: sample.quantised,
            offset: units(sample.offset),
            delta: units(sample.delta),
            node: self.node,
            point,
        };
        let (length, class) = (points.plan.cnm_frame.get() as u16, points.class);
        self.send_message(flow, body, (length, class), net);
    }

    /// Sends a message of this length and class to the source of a flow.
    pub(super) fn send_message(&mut self, flow: u32, body: Body, (length, class): (u16, u8), net: &mut Net) {
        let to = net.flows[flow as usize].from;
        let frame = Frame { born: net.now, flow, to, body, length, class };
        self.books.made += u64::from(length);
        let handle = net.pool.put(frame);
        self.take_in(handle, self.ports.len(), net);
    }

    /// An input has stopped its peer: no frame will make a sample due, so a clock does.
    pub(super) fn start_keep_alive(&mut self, port: usize, class: Option<usize>, net: &mut Net) {
        if !self.congestion.as_ref().is_some_and(|points| points.plan.congestion.keep_alive) {
            return;
        }
        for class in class.map_or(0..self.classes, |class| class..class + 1) {
            self.tick_after(port * self.classes + class, net);
        }
    }

    fn tick_after(&mut self, queue: usize, net: &mut Net) {
        let rate = net.wires[self.ports[queue / self.classes].sender.wire as usize].speed.rate();
        if let Some(watcher) = &mut self.inputs[queue].watcher {
            let at = net.now + watcher.point.keep_alive_period(rate);
            watcher.ticks = at;
            net.agenda.book(at, self.node, Lane::new(LaneKind::KeepAlive, queue as u32));
        }
    }

    pub(super) fn on_keep_alive(&mut self, queue: usize, net: &mut Net) {
        let queued = Bytes::new(self.inputs[queue].meter.level());
        let stopping = self.stops.is_stopping(queue / self.classes, queue % self.classes);
        let Some(watcher) = &mut self.inputs[queue].watcher else { return };
        if watcher.ticks != net.now {
            return;
        }
        watcher.ticks = Instant::NEVER;
        if !stopping {
            return;
        }
        let sample = watcher.on_clock(queued);
        self.tick_after(queue, net);
        if let Some(sample) = sample {
            self.notify_from_input(queue, None, sample, net);
        }
    }
}

impl CongestionPoints {
    /// Whether culprits are searched for in an array.
    pub(super) fn has_array(&self) -> bool {
        self.search.is_some()
    }

    /// Lists the frames of an output's queues.
    fn gather<'a>(&mut self, lists: impl Iterator<Item = &'a List>, net: &Net) {
        self.residents.clear();
        for list in lists {
            let frames = list.iter(&net.pool).map(|(_, slot)| &slot.frame);
            let data = frames.filter(|frame| matches!(frame.body, Body::Data { .. }));
            self.residents.extend(data.map(|frame| Resident::of(frame, net)));
        }
    }

    /// Whom to notify of a sample, and what of. The list is the caller's to give back.
    fn whom_to_tell(
        &mut self,
        watcher: Option<&mut Watcher>,
        (arrival, priority): (Option<u32>, Priority),
        sample: Sample,
        now: Instant,
    ) -> Vec<(u32, Sample)> {
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        let Some(watcher) = watcher else { return told };
        match watcher.measure.as_deref_mut() {
            None => {
                let (blamed, reads) = self.blame(arrival, priority);
                watcher.reads += reads;
                told.extend(blamed.map(|flow| (flow, sample)));
            }
            Some(Measure::Fairness(fairness)) => {
                let (blamed, _) = self.blame(arrival, priority);
                let fair = |flow| fairness.weigh(now, sample, flow).map(|sample| (flow, sample));
                told.extend(blamed.and_then(fair));
            }
            Some(Measure::Culprits(culprits)) => told.extend(culprits.of(sample)),
        }
        told
    }

    /// The flow that a sample blames, and the reads of an array that it took to find it.
    fn blame(&mut self, arrival: Option<u32>, priority: Priority) -> (Option<u32>, u64) {
        match (self.plan.congestion.culprit, arrival) {
            (Culprit::RandomOccupancy, _) if let Some(search) = &mut self.search => {
                let (flow, reads) = search.find(&self.residents, priority, &mut self.dice);
                (flow, u64::from(reads))
            }
            (Culprit::Arrival, arrival) => (arrival, 0),
            (culprit, arrival) => {
                let buffer = Residents(&self.residents);
                (blame(culprit, arrival.unwrap_or(u32::MAX), &buffer, &mut self.dice), 0)
            }
        }
    }
}
