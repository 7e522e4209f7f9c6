//! Multicast: a frame for several receivers is stored once at its input, and copied to every output on the way to one.
//!
//! It counts once for the input, from its arrival until its last copy has left the input's books, and once for each
//! output. So a congestion point at the input sees it once, and those at the outputs once each.

use super::{At, Switch};
use crate::model::frame::{Body, Frame, Handle};
use crate::model::net::Net;
use std::collections::VecDeque;

/// The multicast frames of a switch that have copies at their inputs.
#[derive(Debug, Default)]
pub(super) struct Parted {
    /// For each group its frames in the order of their numbers, each with how many copies are left. All of a group come
    /// in by one port, since multicast networks are trees.
    groups: Vec<VecDeque<(u32, u16)>>,
    /// Copies of the frame in hand, with their outputs; kept to spare the allocation.
    copies: Vec<(Handle, usize)>,
}

impl Parted {
    pub(super) fn new(groups: usize) -> Parted {
        Parted { groups: vec![VecDeque::new(); groups], copies: Vec::new() }
    }

    /// Whether there is any multicast at all.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        !self.groups.is_empty()
    }

    /// A copy leaves its input. Says whether another of the same frame is still there.
    fn leaves_others(&mut self, frame: &Frame, net: &Net) -> bool {
        let Some(group) = net.flows[frame.flow as usize].group else { return false };
        let Body::Data { sequence, .. } = frame.body else { return false };
        let frames = &mut self.groups[group as usize];
        let Ok(at) = frames.binary_search_by_key(&sequence, |(number, _)| *number) else { return false };
        frames[at].1 -= 1;
        let others = frames[at].1 > 0;
        while frames.front().is_some_and(|(_, left)| *left == 0) {
            frames.pop_front();
        }
        others
    }
}

impl Switch {
    /// Whether a frame goes to several receivers, as far as anyone knows here.
    #[inline]
    pub(super) fn is_multicast(&self, frame: &Frame, net: &Net) -> bool {
        self.parted.is_used()
            && matches!(frame.body, Body::Data { .. })
            && net.flows[frame.flow as usize].group.is_some()
    }

    /// Whether an input keeps a frame because of other copies of it.
    #[inline]
    pub(super) fn has_other_copies(&mut self, frame: &Frame, net: &Net) -> bool {
        self.parted.is_used() && self.parted.leaves_others(frame, net)
    }

    /// As `take_in`, for a frame of a group: a copy for each output that leads to a receiver, but for the way it came.
    pub(super) fn take_in_multicast(&mut self, handle: Handle, input: usize, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        let group = net.flows[frame.flow as usize].group.expect("it is a multicast frame");
        if !self.ports[input].sender.up {
            return self.lose(handle, At::Input(input), net);
        }
        let mut copies = std::mem::take(&mut self.parted.copies);
        let mut spare = Some(handle);
        for flow in net.groups[group as usize].clone() {
            let copy = Frame { flow, to: net.flows[flow as usize].to, ..frame };
            let Some(output) = self.output_towards(copy.to, copy.flow) else { continue };
            let is_way_back = self.leaf.is_none() && output == input;
            if is_way_back || copies.iter().any(|(_, other)| *other == output) {
                continue;
            }
            let own = match spare.take() {
                Some(handle) => {
                    net.pool.get_mut(handle).frame = copy;
                    handle
                }
                None => {
                    self.books.made += u64::from(frame.length);
                    net.pool.put(copy)
                }
            };
            match self.find_room(&copy, input, output, net) {
                Ok(()) => copies.push((own, output)),
                Err(full) => self.lose_for_want_of_room(own, full, net),
            }
        }
        if let Some(handle) = spare {
            self.lose(handle, At::Input(input), net);
        }
        if !copies.is_empty() {
            self.let_wait(&frame, group, &copies, input, net);
        }
        copies.clear();
        self.parted.copies = copies;
    }

    /// Lets the copies of a frame wait for their outputs.
    fn let_wait(
        &mut self,
        frame: &Frame,
        group: u32,
        copies: &[(Handle, usize)],
        input: usize,
        net: &mut Net,
    ) {
        let class = usize::from(frame.class);
        for (handle, output) in copies {
            net.pool.get_mut(*handle).ingress = input as u16;
            self.waiting.push(*handle, input, *output, class, &mut net.pool);
        }
        if let Body::Data { sequence, .. } = frame.body {
            self.parted.groups[group as usize].push_back((sequence, copies.len() as u16));
        }
        self.charge(frame, input, net);
        self.watch_input(frame, input, net);
        for (handle, output) in copies {
            let copy = net.pool.get(*handle).frame;
            if self.leaf.is_some() {
                self.ask(&copy, input, net);
            } else if self.crossing.is_some() {
                self.request(*output, u64::from(copy.length), net);
            } else {
                self.show_to_output(*handle, *output, net);
            }
        }
    }
}
