//! From an input to an output's own buffer: requests, credits and the way across.
//!
//! An output grants one frame at a time, to the inputs in turn, if the frame will fit its buffer. The frame leaves its
//! input at once, unless its copy is kept there ([`reliable`](super::reliable)), and reaches the buffer after the
//! latency of request and grant and its time on the internal path, which is as fast as the port times the speed-up.

use super::{At, Switch};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::{Body, Handle, List};
use crate::model::net::{Net, Speed};
use crate::scenario::plan::OutputStage;
use quell_proto::units::{Duration, Instant, Rate};

/// The arbiters and internal paths of a switch.
#[derive(Debug)]
pub(super) struct Crossing {
    stage: OutputStage,
    /// One a port.
    paths: Vec<InnerPath>,
    /// Octets granted for each port and class that have not left the switch.
    granted: Vec<u64>,
    /// Octets that wait at inputs or are on their way across, for the books.
    inside: u64,
}

#[derive(Clone, Debug, Default)]
struct InnerPath {
    flight: List,
    free_at: Instant,
    booked: Option<Instant>,
}

impl Crossing {
    pub(super) fn new(stage: OutputStage, ports: usize, classes: usize) -> Crossing {
        Crossing {
            stage,
            paths: vec![InnerPath::default(); ports],
            granted: vec![0; ports * classes],
            inside: 0,
        }
    }

    /// How long an acknowledgement takes, if there are any.
    pub(super) fn buffer(&self) -> u64 {
        self.stage.buffer.get()
    }

    pub(super) fn acknowledge(&self) -> Option<Duration> {
        self.stage.acknowledge
    }

    /// The frames on their way across to a port.
    pub(super) fn flight(&self, port: usize) -> &List {
        &self.paths[port].flight
    }

    /// Octets that are in the switch but not in an output buffer.
    pub(super) fn octets(&self) -> u64 {
        self.inside
    }
}

impl Switch {
    /// A frame came to wait for an output that grants.
    pub(super) fn request(&mut self, port: usize, length: u64, net: &mut Net) {
        if let Some(crossing) = &mut self.crossing {
            crossing.inside += length;
        }
        self.grant_next(port, net);
    }

    fn grant_next(&mut self, port: usize, net: &mut Net) {
        let wire = self.ports[port].sender.wire;
        for class in (0..self.classes).rev() {
            let queue = port * self.classes + class;
            let Some(handle) = self.waiting.request(queue) else { continue };
            let Some(crossing) = &mut self.crossing else { return };
            let path = &mut crossing.paths[port];
            if path.free_at > net.now {
                if path.booked != Some(path.free_at) {
                    path.booked = Some(path.free_at);
                    net.agenda.book(path.free_at, self.node, Lane::new(LaneKind::Grant, port as u32));
                }
                return;
            }
            let slot = net.pool.get(handle);
            let (frame, input) = (slot.frame, slot.ingress as usize);
            let length = u64::from(frame.length);
            if crossing.granted[queue] + length > crossing.stage.buffer.get() {
                continue;
            }
            crossing.granted[queue] += length;
            let inner =
                net.wires[wire as usize].speed.rate().bps() / 100 * u64::from(crossing.stage.speedup_percent);
            let takes = Speed::new(Rate::from_bps(inner)).time_for(length);
            path.free_at = net.now + takes;
            let due = net.now + crossing.stage.latency + takes;
            let taken = self.waiting.granted(queue, &net.pool);
            if path.flight.push_due(&mut net.pool, taken, due) {
                net.agenda.book(due, self.node, Lane::new(LaneKind::Crossing, port as u32));
            }
            if self.acknowledgements.is_none() && matches!(frame.body, Body::Data { .. }) {
                self.discharge(&frame, input, net);
            }
            self.grant_next(port, net);
            return;
        }
    }

    pub(super) fn on_grant(&mut self, port: usize, net: &mut Net) {
        if let Some(crossing) = &mut self.crossing
            && crossing.paths[port].booked == Some(net.now)
        {
            crossing.paths[port].booked = None;
            self.grant_next(port, net);
        }
    }

    /// A frame has reached its output's buffer.
    pub(super) fn on_crossed(&mut self, port: usize, net: &mut Net) {
        let Some(crossing) = &mut self.crossing else { return };
        let flight = &mut crossing.paths[port].flight;
        let (handle, slot) =
            flight.pop_due(&net.pool).expect("a crossing is booked only for a frame on its way");
        if slot.behind != Instant::NEVER {
            net.agenda.book(slot.behind, self.node, Lane::new(LaneKind::Crossing, port as u32));
        }
        crossing.inside -= u64::from(slot.frame.length);
        self.reach_output(handle, port, net);
    }

    /// A frame comes to wait in its output's own buffer, where room was kept for it.
    pub(super) fn reach_output(&mut self, handle: Handle, port: usize, net: &mut Net) {
        let slot = net.pool.get(handle);
        let (frame, input) = (slot.frame, slot.ingress as usize);
        let class = frame.class as usize;
        let queue = port * self.classes + class;
        if !self.ports[port].sender.up {
            self.vacate(port, class, u64::from(frame.length), net);
            if matches!(frame.body, Body::Data { .. }) {
                self.release_copy(&frame, input, net);
            }
            return self.lose(handle, At::Output(port), net);
        }
        self.outputs[queue].meter.add(net.now, u64::from(frame.length));
        self.waiting.stage(handle, queue, &mut net.pool);
        self.ports[port].sender.ready |= 1 << class;
        if matches!(frame.body, Body::Data { .. }) {
            self.watch_output(handle, port, net);
        } else {
            self.stamp(handle, port, net);
        }
        self.look_if_free(port, net);
    }

    /// The port is dead: what waits for it at the inputs is lost.
    pub(super) fn lose_requests(&mut self, port: usize, class: usize, net: &mut Net) {
        let queue = port * self.classes + class;
        while self.waiting.request(queue).is_some() {
            let handle = self.waiting.granted(queue, &net.pool);
            let slot = net.pool.get(handle);
            let (frame, input) = (slot.frame, slot.ingress as usize);
            if let Some(crossing) = &mut self.crossing {
                crossing.inside -= u64::from(frame.length);
            }
            if matches!(frame.body, Body::Data { .. }) {
                self.discharge(&frame, input, net);
            }
            self.lose(handle, At::Output(port), net);
        }
    }

    /// A frame has left an output buffer: there is room for another grant.
    pub(super) fn vacate(&mut self, port: usize, class: usize, length: u64, net: &mut Net) {
        if let Some(leaf) = &mut self.leaf {
            leaf.arbiter.vacate(port, class, length);
            return self.grant_over_fabric(port, net);
        }
        if let Some(crossing) = &mut self.crossing {
            crossing.granted[port * self.classes + class] -= length;
        }
        self.grant_next(port, net);
    }
}
