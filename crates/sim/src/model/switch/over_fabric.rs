//! A switch as the leaf of a fabric: what happens between its inputs and the outputs of other leaves.
//!
//! Where the direct crossing hands a frame from an input to an output of the same switch, a leaf asks the arbiter of the
//! output, wherever that is; sends the frame into the fabric when it is granted; and takes in what others send to its own
//! outputs. Buffers, pauses and congestion points are those of any switch.

use super::Switch;
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::fabric::{Injected, Mail, Message, Verdict};
use crate::model::frame::{Body, Frame, Handle};
use crate::model::net::Net;
use quell_proto::units::Instant;

impl Switch {
    /// The port of this leaf on which a frame leaves that was made here, if it need not cross the fabric.
    pub(super) fn own_port_for(&self, frame: &Frame, input: usize) -> Option<usize> {
        let leaf = self.leaf.as_ref().filter(|_| input == self.ports.len())?;
        let spot = leaf.spot(frame.to as usize);
        (spot.leaf == leaf.number).then_some(usize::from(spot.port))
    }

    /// A frame goes straight to the buffer of an output here.
    pub(super) fn bypass(&mut self, handle: Handle, port: usize, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        if let Some(leaf) = &mut self.leaf {
            leaf.arbiter.occupy(port, usize::from(frame.class), u64::from(frame.length));
        }
        self.reach_output(handle, port, net);
    }

    /// A frame has come to wait for an output of the fabric.
    pub(super) fn ask(&mut self, frame: &Frame, input: usize, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        leaf.inside += u64::from(frame.length);
        let message = Message {
            input: leaf.input(input),
            to: frame.to as u16,
            length: frame.length,
            class: frame.class,
        };
        let output = leaf.spot(frame.to as usize).leaf;
        net.mesh.post(Mail::Request, output, message, net.now, &mut net.agenda);
    }

    /// Messages of other leaves have come.
    pub(super) fn on_message(&mut self, kind: Mail, net: &mut Net) {
        let Some(number) = self.leaf.as_ref().map(|leaf| leaf.number) else { return };
        while let Some(message) = net.mesh.open(kind, number, net.now, &mut net.agenda) {
            match kind {
                Mail::Request => self.on_request(message, net),
                Mail::Grant => self.on_granted(message, net),
                Mail::Acknowledgement => self.on_copy_acknowledged(message, net),
            }
        }
        if kind == Mail::Grant {
            self.inject(net);
        }
    }

    fn on_request(&mut self, message: Message, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        let port = usize::from(leaf.spot(usize::from(message.to)).port);
        leaf.arbiter.ask(port, message.class, message.input, message.length);
        self.grant_over_fabric(port, net);
    }

    /// Lets the arbiter of a port grant what it can.
    pub(super) fn grant_over_fabric(&mut self, port: usize, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        loop {
            match leaf.arbiter.grant(port, net.now) {
                Verdict::Grant { input, class, length } => {
                    let message = Message { input, to: leaf.input(port), length, class };
                    net.mesh.post(Mail::Grant, leaf.leaf_of(input), message, net.now, &mut net.agenda);
                }
                Verdict::Later(at) => {
                    net.agenda.book(at, self.node, Lane::new(LaneKind::Grant, port as u32));
                    return;
                }
                Verdict::Nothing => return,
            }
        }
    }

    fn on_granted(&mut self, message: Message, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        let class = usize::from(message.class);
        let queue = usize::from(message.to) * self.classes + class;
        let handle = self.waiting.take(queue, leaf.own_input(message.input), &net.pool);
        leaf.injection.push(handle, class, &mut net.pool);
    }

    /// Sends cells into the fabric for as long as an uplink takes them.
    pub(super) fn inject(&mut self, net: &mut Net) {
        loop {
            let Some(leaf) = &mut self.leaf else { return };
            match leaf.inject(net) {
                Injected::Cell { octets, frame } => {
                    leaf.inside -= u64::from(octets);
                    self.books.sent += u64::from(octets);
                    if let Some((frame, input)) = frame
                        && matches!(frame.body, Body::Data { .. })
                    {
                        if leaf.keeps_copies() {
                            leaf.keep(frame, input, &mut net.pool);
                        } else {
                            self.discharge(&frame, input, net);
                        }
                    }
                }
                Injected::Busy(at) => {
                    if leaf.injection.looks_at(at) {
                        net.agenda.book(at, self.node, Lane::new(LaneKind::Outlet, 0));
                    }
                    return;
                }
                Injected::NoCredit | Injected::Idle => return,
            }
        }
    }

    /// A frame of data is on the wire to its host at `at`, or lost: the input that keeps a copy hears of it.
    pub(super) fn acknowledge_over_fabric(
        &mut self,
        frame: &Frame,
        input: usize,
        at: Instant,
        net: &mut Net,
    ) {
        let Some(leaf) = self.leaf.as_ref().filter(|leaf| leaf.keeps_copies()) else { return };
        let message =
            Message { input: input as u16, to: frame.to as u16, length: frame.length, class: frame.class };
        let keeper = leaf.leaf_of(message.input);
        net.mesh.post_after(Mail::Acknowledgement, keeper, message, at, &mut net.agenda);
    }

    fn on_copy_acknowledged(&mut self, message: Message, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        let own = leaf.own_input(message.input);
        if let Some(frame) = leaf.let_go(own, message.to, message.class, &mut net.pool) {
            self.discharge(&frame, own, net);
        }
    }

    /// An uplink may take cells again.
    pub(super) fn on_outlet(&mut self, net: &mut Net) {
        if let Some(leaf) = &mut self.leaf {
            leaf.injection.looks_now(net.now);
        }
        self.inject(net);
    }

    /// A cell came in from the fabric.
    #[inline]
    pub(super) fn on_cell(&mut self, inlet: usize, net: &mut Net) {
        let Some(leaf) = &mut self.leaf else { return };
        let cell = net.mesh.arrive(leaf.inlets[inlet], &mut net.agenda);
        self.books.received += u64::from(cell.octets);
        leaf.inside += u64::from(cell.octets);
        leaf.reassembly.put(&cell);
        while let Some(leaf) = &mut self.leaf
            && let Some(handle) = leaf.reassembly.next(&cell, &net.pool)
        {
            let slot = net.pool.get_mut(handle);
            slot.ingress = cell.input;
            leaf.inside -= u64::from(slot.frame.length);
            self.reach_output(handle, usize::from(cell.port), net);
        }
    }
}
