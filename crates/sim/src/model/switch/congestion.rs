//! Congestion points at outputs, inputs or both, and whom they notify.

use super::{Switch, culprit_dice};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::{Body, Frame, List, Pool};
use crate::model::net::Net;
use crate::model::stream;
use crate::scenario::plan::{Placement, Plan, Qcn, Scheme};
use quell_proto::control::qcn::{CongestionPoint, Culprit, Occupancy, Sample, blame};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Instant};
use quell_record::EventKind;

/// What the congestion points of a switch have in common.
#[derive(Debug)]
pub(super) struct CongestionPoints {
    plan: Qcn,
    class: u8,
    dice: Dice,
    /// Frames of the buffer that is being looked at, kept to spare the allocation.
    residents: Vec<Resident>,
}

/// A congestion point at one output or input.
#[derive(Debug)]
pub(super) struct Watcher {
    point: CongestionPoint,
    /// When its keep-alive clock ticks next; [`Instant::NEVER`] while it stands still.
    ticks: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    flow: u32,
    octets: u64,
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
                largest = Some(Resident { flow: group[0].flow, octets });
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
        let Scheme::Qcn(qcn) = plan.scheme else { return };
        let class = net.classes.iter().position(|class| *class == qcn.cnm_priority);
        self.congestion = Some(CongestionPoints {
            plan: qcn,
            class: class.expect("the priority of notifications is in use") as u8,
            dice: culprit_dice(seed, self.id),
            residents: Vec::new(),
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
                Watcher { point: CongestionPoint::new(qcn.congestion, dice), ticks: Instant::NEVER }
            };
            self.outputs[queue].watcher = at_outputs.then(|| watcher(0));
            self.inputs[queue].watcher = at_inputs.then(|| watcher(1));
        }
    }

    /// A frame of data has come to wait for an output.
    #[inline]
    pub(super) fn watch_output(&mut self, frame: &Frame, output: usize, net: &mut Net) {
        let queue = output * self.classes + frame.class as usize;
        let place = &mut self.outputs[queue];
        let Some(watcher) = &mut place.watcher else { return };
        let queued = Bytes::new(place.meter.level());
        if let Some(sample) = watcher.point.on_arrival(frame.bytes(), queued, true) {
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
        if let Some(sample) = watcher.point.on_arrival(frame.bytes(), queued, true) {
            self.notify_from_input(queue, Some(frame.flow), sample, net);
        }
    }

    #[cold]
    fn notify_from_output(&mut self, queue: usize, arrival: u32, sample: Sample, net: &mut Net) {
        let points = self.congestion.as_mut().expect("a watcher belongs to congestion points");
        let culprit = points.plan.congestion.culprit;
        if !matches!(culprit, Culprit::Arrival) {
            points.gather(self.waiting.lists_of_output(queue), None, &net.pool);
        }
        let Some(flow) = points.blame(culprit, Some(arrival)) else { return };
        self.outputs[queue].cnms += 1;
        let wire = self.ports[queue / self.classes].sender.wire;
        if let Some(data) = net.data_class(queue % self.classes) {
            net.port_event(wire, data, EventKind::Cnm, Some(flow), i64::from(sample.quantised));
        }
        self.notify(flow, sample, net);
    }

    #[cold]
    fn notify_from_input(&mut self, queue: usize, arrival: Option<u32>, sample: Sample, net: &mut Net) {
        let (input, class) = (queue / self.classes, queue % self.classes);
        let points = self.congestion.as_mut().expect("a watcher belongs to congestion points");
        let culprit = points.plan.congestion.culprit;
        if !matches!(culprit, Culprit::Arrival) {
            points.gather(self.waiting.lists_of_input(input, class), Some(input), &net.pool);
        }
        let Some(flow) = points.blame(culprit, arrival) else { return };
        self.inputs[queue].cnms += 1;
        let wire = self.ports[input].sender.wire;
        if let Some(data) = net.data_class(class) {
            net.input_event(wire, data, EventKind::Cnm, Some(flow), i64::from(sample.quantised));
        }
        self.notify(flow, sample, net);
    }

    /// Sends a notification to the source of a flow.
    fn notify(&mut self, flow: u32, sample: Sample, net: &mut Net) {
        let points = self.congestion.as_ref().expect("a watcher belongs to congestion points");
        let units = |octets: i64| (octets / 64).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
        let length = points.plan.cnm_frame.get() as u16;
        let frame = Frame {
            born: net.now,
            flow,
            to: net.flows[flow as usize].from,
            body: Body::Cnm {
                quantised: sample.quantised,
                offset: units(sample.offset),
                delta: units(sample.delta),
                node: self.node,
            },
            length,
            class: points.class,
        };
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
        let sample = watcher.point.on_clock(queued);
        self.tick_after(queue, net);
        if let Some(sample) = sample {
            self.notify_from_input(queue, None, sample, net);
        }
    }
}

impl CongestionPoints {
    /// Lists the frames of a buffer; of one input only, if given.
    fn gather<'a>(&mut self, lists: impl Iterator<Item = &'a List>, input: Option<usize>, pool: &Pool) {
        self.residents.clear();
        for list in lists {
            let here = list.iter(pool).map(|(_, slot)| slot);
            let own = here.filter(|slot| input.is_none_or(|input| slot.ingress as usize == input));
            self.residents.extend(
                own.filter(|slot| matches!(slot.frame.body, Body::Data { .. }))
                    .map(|slot| Resident { flow: slot.frame.flow, octets: u64::from(slot.frame.length) }),
            );
        }
    }

    /// The flow to notify.
    fn blame(&mut self, culprit: Culprit, arrival: Option<u32>) -> Option<u32> {
        match (culprit, arrival) {
            (Culprit::Arrival, arrival) => arrival,
            (culprit, arrival) => {
                let buffer = Residents(&self.residents);
                blame(culprit, arrival.unwrap_or(u32::MAX), &buffer, &mut self.dice)
            }
        }
    }
}
