//! Reliable delivery: an input keeps a copy of every frame it sends across until the output has put the frame on
//! its wire and the acknowledgement of that is back.
//!
//! Until then the frame counts as held by its input: for its memory, for its thresholds and for its congestion
//! point. Nothing is ever sent twice here, since nothing is lost inside a switch; what is modelled is the room that
//! the copies take (Unbiased QCN for Scalable Server-Fabrics, RZ 3880, section IV).

use super::Switch;
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::Frame;
use crate::model::net::Net;
use quell_proto::units::{Duration, Instant};
use std::collections::VecDeque;

/// Acknowledgements on their way from the outputs of a switch to its inputs.
#[derive(Debug)]
pub(super) struct Acknowledgements {
    takes: Duration,
    /// One queue an output. Frames leave an output one after another, so each queue is in order of time.
    under_way: Vec<VecDeque<Acknowledgement>>,
}

/// Says to an input that it can let go of a frame.
#[derive(Clone, Copy, Debug)]
struct Acknowledgement {
    at: Instant,
    input: u16,
    frame: Frame,
}

impl Acknowledgements {
    pub(super) fn new(takes: Duration, ports: usize) -> Acknowledgements {
        Acknowledgements { takes, under_way: vec![VecDeque::new(); ports] }
    }

    /// Frames that have left their output, and of which this input still keeps a copy.
    pub(super) fn copies_of(&self, input: usize) -> impl Iterator<Item = (usize, &Frame)> {
        self.under_way.iter().enumerate().flat_map(move |(output, queue)| {
            let own = queue.iter().filter(move |it| usize::from(it.input) == input);
            own.map(move |it| (output, &it.frame))
        })
    }
}

impl Switch {
    /// A frame of data begins to leave an output: its input will hear of it when it is on the wire.
    pub(super) fn acknowledge(&mut self, output: usize, frame: Frame, input: usize, net: &mut Net) {
        let sent = self.ports[output].sender.busy_until;
        self.acknowledge_over_fabric(&frame, input, sent, net);
        let Some(acknowledgements) = &mut self.acknowledgements else { return };
        let at = sent + acknowledgements.takes;
        let queue = &mut acknowledgements.under_way[output];
        if queue.is_empty() {
            net.agenda.book(at, self.node, Lane::new(LaneKind::Acknowledgement, output as u32));
        }
        queue.push_back(Acknowledgement { at, input: input as u16, frame });
    }

    /// A frame of data is lost behind its input: a copy of it is not needed any more.
    pub(super) fn release_copy(&mut self, frame: &Frame, input: usize, net: &mut Net) {
        if self.acknowledgements.is_some() {
            self.discharge(frame, input, net);
        }
        self.acknowledge_over_fabric(frame, input, net.now, net);
    }

    /// An acknowledgement has come back from an output.
    pub(super) fn on_acknowledged(&mut self, output: usize, net: &mut Net) {
        let Some(acknowledgements) = &mut self.acknowledgements else { return };
        let queue = &mut acknowledgements.under_way[output];
        let done = queue.pop_front().expect("an acknowledgement is booked only while one is under way");
        if let Some(next) = queue.front() {
            net.agenda.book(next.at, self.node, Lane::new(LaneKind::Acknowledgement, output as u32));
        }
        self.discharge(&done.frame, usize::from(done.input), net);
    }
}
