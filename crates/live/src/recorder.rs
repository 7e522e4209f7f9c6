//! What happened at nodes, sampled as a simulation's recording.

use crate::nic::Nic;
use crate::note::{Happening, Note};
use crate::switch::{PortCounts, Switch};
use quell_proto::units::{Duration, Instant, Rate};
use quell_record::{EntityId, Event, EventKind, FlowTotals, Quantity, Sink};

/// Where the ports of a switch and the flows of an adapter stand in the catalogue of a recording. What has no place is
/// not recorded.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// For each port of the switch, its output.
    pub outputs: Vec<Option<EntityId>>,
    /// For each port of the switch, its input.
    pub inputs: Vec<Option<EntityId>>,
    /// For each flow of the adapter, by its number.
    pub flows: Vec<Option<EntityId>>,
}

/// Takes samples at even times and tells them to a sink.
#[derive(Debug)]
pub struct Recorder {
    places: Places,
    every: Duration,
    next: Instant,
    row: Vec<(EntityId, Quantity, i64)>,
    events: Vec<Event>,
}

/// What a receiver counted of a flow in a sampling interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Octets.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
    /// Frames found missing.
    pub lost: u64,
}

impl Recorder {
    /// A sample every so often, the first that long after the start.
    pub fn new(places: Places, every: Duration) -> Recorder {
        Recorder { places, every, next: Instant::START + every, row: Vec::new(), events: Vec::new() }
    }

    /// The instant of the last sample.
    pub fn last(&self) -> Instant {
        Instant::from_ps(self.next.ps() - self.every.ps())
    }

    /// When the next sample is due.
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Takes what happened at a switch since it was last asked; to be called at least as often as samples are due.
    pub fn take_notes(&mut self, notes: impl Iterator<Item = Note>) {
        for Note { at, port, what } in notes {
            let output = self.places.outputs.get(port).copied().flatten();
            let input = self.places.inputs.get(port).copied().flatten();
            let (entity, kind, flow, value) = match what {
                Happening::Cnm(flow, feedback) => (output, EventKind::Cnm, flow, i64::from(feedback)),
                Happening::Stop(level) => (input, EventKind::Stop, None, signed(level)),
                Happening::Go(level) => (input, EventKind::Go, None, signed(level)),
                Happening::Paused => (output, EventKind::Paused, None, -1),
                Happening::Resumed => (output, EventKind::Resumed, None, -1),
                Happening::Drop(length) => (output, EventKind::Drop, None, signed(length)),
                Happening::Service(rate) => (output, EventKind::Service, None, signed(rate.bps())),
                Happening::LinkDown => (output, EventKind::LinkDown, None, 0),
                Happening::LinkUp => (output, EventKind::LinkUp, None, 0),
                Happening::Storm | Happening::HeldLong => continue,
            };
            let Some(entity) = entity else { continue };
            let flow = flow.and_then(|flow| self.places.flows.get(usize::from(flow)).copied().flatten());
            self.events.push(Event { at, entity, kind, flow, value, cause: None });
        }
    }

    /// Samples a switch.
    pub fn sample_switch(&mut self, at: Instant, switch: &mut Switch) {
        for port in 0..self.places.outputs.len() {
            let counts: PortCounts = switch.take_counts(at, port);
            if let Some(output) = self.places.outputs[port] {
                let mut say = |quantity, value| self.row.push((output, quantity, signed(value)));
                say(Quantity::QueueMeanBytes, counts.queue.0);
                say(Quantity::QueuePeakBytes, counts.queue.1);
                say(Quantity::TxBytes, counts.sent_bytes);
                say(Quantity::TxFrames, counts.sent_frames);
                say(Quantity::ServiceBytes, counts.serviceable.get());
                say(Quantity::PausedPs, counts.paused.ps());
                say(Quantity::CnmsSent, counts.cnms);
                say(Quantity::DroppedFrames, counts.dropped);
            }
            if let Some(input) = self.places.inputs.get(port).copied().flatten() {
                let mut say = |quantity, value| self.row.push((input, quantity, signed(value)));
                say(Quantity::QueueMeanBytes, counts.input.0);
                say(Quantity::QueuePeakBytes, counts.input.1);
                say(Quantity::StoppedPs, counts.stopped.ps());
                say(Quantity::CnmsSent, 0);
                say(Quantity::DroppedFrames, 0);
            }
        }
    }

    /// Samples the flows of an adapter, each with what a receiver counted of it if there is one, and adds what the adapter
    /// knows to their totals.
    pub fn sample_flows(
        &mut self,
        nic: &mut Nic,
        line: Rate,
        delivered: impl Fn(usize) -> Option<Delivered>,
        totals: &mut [FlowTotals],
    ) {
        for (number, place) in self.places.flows.iter().enumerate() {
            let Some(flow) = *place else { continue };
            let counts = nic.take_counts(number as u8);
            let got = delivered(number);
            if let Some(total) = totals.get_mut(number) {
                total.offered_bytes += counts.offered_bytes;
                total.sent_bytes += counts.sent_bytes;
                total.cnms_received += counts.cnms;
            }
            let mut say = |quantity, value| self.row.push((flow, quantity, signed(value)));
            say(Quantity::OfferedBytes, counts.offered_bytes);
            say(Quantity::SentBytes, counts.sent_bytes);
            // Without a receiver, what is lost is what the adapter had no room for.
            say(Quantity::DroppedFrames, got.map_or(counts.dropped, |got| got.lost));
            if let Some(got) = got {
                say(Quantity::DeliveredBytes, got.bytes);
                say(Quantity::DeliveredFrames, got.frames);
            }
            say(Quantity::LimitBps, nic.limit(number as u8).unwrap_or(line).bps());
            say(Quantity::CnmsReceived, counts.cnms);
        }
    }

    /// Tells the sink what was sampled, as of the instant that was due, and what happened until then.
    pub fn emit(&mut self, sink: &mut dyn Sink) {
        sink.begin_samples(self.next);
        self.row.sort_unstable_by_key(|(entity, quantity, _)| (*entity, *quantity));
        for (entity, quantity, value) in self.row.drain(..) {
            sink.sample(entity, quantity, value);
        }
        // Events by time, then entity; a late one stands with the sample it was told with.
        self.events.sort_unstable_by_key(|event| (event.at, event.entity));
        for event in self.events.drain(..) {
            sink.event(event);
        }
        self.next = self.next + self.every;
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
