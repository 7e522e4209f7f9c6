//! What the inputs of a switch wait for, for whoever looks for a circle.

use super::Switch;
use super::crossing::Crossing;
use super::flow_control::Scope;
use crate::model::net::Net;
use quell_proto::units::Instant;

/// An input that has stopped its peer, and cannot let it go while the ports that it names stay held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The port that it holds, by the wire into it.
    pub wire: u32,
    /// Which priority of it, by its place among those of data; `None`: all.
    pub data: Option<u8>,
    /// Since when.
    pub since: Instant,
    /// It lets its peer go when it holds less than this.
    pub go: u64,
    /// What it holds for ports that their peers hold: wire, priority and octets.
    pub held: Vec<(u32, u8, u64)>,
}

impl Switch {
    /// Every input that has stopped its peer for so long that the peer must have heard of it.
    pub(crate) fn waits(&self, net: &Net) -> Vec<Wait> {
        let waiting = (0..self.stops.senders.len()).filter_map(|number| self.wait(number, net));
        waiting.collect()
    }

    fn wait(&self, number: usize, net: &Net) -> Option<Wait> {
        /// No frame is longer: one that was being sent is over when this many octets could have been.
        const LONGEST: u64 = 1 << 14;
        let stop = &self.stops.senders[number];
        let (port, class) = self.stops.input_of(number);
        // Directions of a link stand side by side.
        let inbound = self.ports[port].sender.wire ^ 1;
        let wire = &net.wires[inbound as usize];
        let heard = stop.began + wire.delay() + wire.speed.time_for(2 * LONGEST);
        if !stop.sender.is_stopping() || heard > net.now {
            return None;
        }
        // Under one threshold for the whole memory, all that is in it counts.
        let inputs = if self.stops.global.is_some() { 0..self.ports.len() } else { port..port + 1 };
        let mut held: Vec<_> = inputs.flat_map(|input| self.held_for_held(input, class, net)).collect();
        let mut go = self.stops.go_of(number);
        let octets = |held: &[(u32, u8, u64)]| held.iter().map(|(_, _, octets)| octets).sum::<u64>();
        if octets(&held) < go.max(1)
            && let Some((other, other_go)) = self.stops.kept_by(number)
        {
            (held, go) = (self.held_for_held(port, Some(other), net), other_go);
        }
        Some(Wait {
            wire: inbound,
            data: class.and_then(|class| net.data_class(class)).map(|data| data as u8),
            since: stop.began,
            go,
            held,
        })
    }

    /// What an input holds for ports that their peers hold.
    fn held_for_held(&self, input: usize, class: Option<usize>, net: &Net) -> Vec<(u32, u8, u64)> {
        let mut held = Vec::new();
        for class in class.map_or(0..self.classes, |class| class..class + 1) {
            for (port, output) in self.ports.iter().enumerate() {
                let Some(holder) = self.holder(port, class, net) else { continue };
                let Some(data) = net.data_class(holder) else { continue };
                let frames = self.held_by_input(input, class, net).filter(|(to, _)| *to == port);
                let octets: u64 = frames.map(|(_, frame)| u64::from(frame.length)).sum();
                // What fits into a buffer of the output may yet leave the input.
                let room = self.crossing.as_ref().map_or(0, Crossing::buffer);
                if octets > room {
                    held.push((output.sender.wire, data as u8, octets - room));
                }
            }
        }
        held
    }

    /// The class whose pause keeps a class of an output from going, if one does: its own, or one that it has to wait for.
    fn holder(&self, port: usize, class: usize, net: &Net) -> Option<usize> {
        let sender = &self.ports[port].sender;
        let is_held = |class: usize| sender.held & (1 << class) != 0;
        if is_held(class) {
            return Some(sender.holder(class, net.now));
        }
        let before = self.isolation.as_ref()?.waits_for_markers(class, sender.ready)?;
        is_held(before).then_some(before)
    }
}

impl super::Stops {
    /// Below which level a sender lets its peer go.
    fn go_of(&self, number: usize) -> u64 {
        match (&self.global, self.scope) {
            (_, Scope::Off) => 0,
            (Some(global), _) => global.go,
            (None, _) => self.senders[number].sender.thresholds().go.get(),
        }
    }
}
