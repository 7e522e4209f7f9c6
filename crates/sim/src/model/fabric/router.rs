//! A router inside a fabric, such as a spine: small buffers at its inputs and outputs, and credits for the former.
//!
//! A cell crosses to the buffer of its output as soon as that has room for it and the node beyond has too; until then it
//! waits at its input, for which the sender needed credit. Of several that wait for an output the one that came first
//! crosses first. Credits go back for a quarter of a buffer at a time. The crossbar itself is fast enough not to matter. An output sends in the order of crossing, so the
//! moment of a cell's departure is known when it crosses, and costs no event.

use super::{CHANNELS, Cell, Ends, Outlet};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::Fault;
use crate::model::net::Net;
use crate::scenario::plan::Fabric;
use quell_proto::units::{Duration, Instant};
use std::collections::VecDeque;

/// A router, its buffers and its routes.
#[derive(Debug)]
pub(crate) struct Router {
    node: u32,
    latency: Duration,
    inlets: Vec<Inlet>,
    outlets: Vec<Output>,
    /// What waits for each output. Seldom looked at: what passes at once does not come here.
    waiting: Vec<Queue>,
    /// For each leaf, the outlet towards it.
    routes: Vec<u16>,
    input_buffer: u64,
    /// How many octets are given back at a time.
    batch: u16,
    counts: Counts,
}

#[derive(Debug)]
struct Inlet {
    wire: u32,
    /// Octets that wait here, in each virtual channel.
    level: [u64; CHANNELS],
    /// Octets that have left, and for which the sender has no credit yet.
    owed: [u16; CHANNELS],
}

/// What every cell that leaves by an output looks at: one line of the cache.
#[derive(Debug)]
#[repr(align(64))]
struct Output {
    outlet: Outlet,
    /// What the buffer takes to be sent.
    depth: Duration,
    /// How many cells wait for it, in each virtual channel.
    waiting: [u16; CHANNELS],
    /// Whether a cell that leaves here changes channel.
    lifts: bool,
    /// The longest that a cell took to leave its buffer, since the last sample.
    longest: Duration,
}

#[derive(Debug)]
struct Queue {
    /// The cells and the inlets where they are, by virtual channel.
    cells: [VecDeque<(Cell, u32)>; CHANNELS],
    /// When the output looks again; [`Instant::NEVER`] if nothing waits for time alone.
    booked: Instant,
}

/// What a router has counted since the last sample, and its books.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    cells: u64,
    octets: u64,
    input_peak: u64,
    output_peak: u64,
    received: u64,
    sent: u64,
    held: u64,
}

/// Why a cell cannot cross yet.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// The buffer of its output is full until then.
    Until(Instant),
    /// The node beyond has no room.
    Credit,
}

impl Router {
    /// The routers of a fabric, in order, the first with this node number.
    pub(crate) fn all(fabric: &Fabric, ends: &Ends, first_node: u32) -> Vec<Router> {
        let routes = ends.routes();
        let routers = ends.routers.iter().zip(routes).zip(first_node..);
        routers
            .map(|((end, routes), node)| Router {
                node,
                latency: fabric.router_latency,
                inlets: end
                    .inlets
                    .iter()
                    .map(|&wire| Inlet { wire, level: [0; CHANNELS], owed: [0; CHANNELS] })
                    .collect(),
                outlets: (end.outlets.iter().zip(&end.beyond))
                    .map(|(outlet, (_, lifts))| Output {
                        outlet: outlet.clone(),
                        depth: outlet.speed.time_for(fabric.output_buffer.get()),
                        waiting: [0; CHANNELS],
                        lifts: *lifts,
                        longest: Duration::ZERO,
                    })
                    .collect(),
                waiting: (end.outlets.iter())
                    .map(|_| Queue { cells: Default::default(), booked: Instant::NEVER })
                    .collect(),
                routes,
                input_buffer: fabric.input_buffer.get(),
                batch: batch(fabric),
                counts: Counts::default(),
            })
            .collect()
    }

    /// An event of this router has come.
    #[inline]
    pub(crate) fn on_event(&mut self, lane: Lane, net: &mut Net) {
        match lane.kind() {
            LaneKind::Cell => self.on_cell(lane.index(), net),
            LaneKind::Outlet => self.on_outlet(lane.index(), net),
            kind => unreachable!("a router books no {kind:?}"),
        }
    }

    #[inline]
    fn on_cell(&mut self, inlet: usize, net: &mut Net) {
        let cell = net.mesh.arrive(self.inlets[inlet].wire, &mut net.agenda);
        let octets = net.mesh.length(&cell);
        self.counts.received += octets;
        let output = usize::from(self.routes[usize::from(cell.leaf)]);
        if self.outlets[output].waiting[usize::from(cell.channel)] == 0 {
            match self.cross(cell, inlet, output, net) {
                Ok(()) => return,
                Err(wait) => self.wait(output, wait, net),
            }
        }
        self.outlets[output].waiting[usize::from(cell.channel)] += 1;
        self.waiting[output].cells[usize::from(cell.channel)].push_back((cell, inlet as u32));
        let level = &mut self.inlets[inlet].level[usize::from(cell.channel)];
        *level += octets;
        self.counts.input_peak = self.counts.input_peak.max(*level);
        self.counts.held += octets;
        if *level > self.input_buffer {
            net.break_off(Fault::Overrun { node: self.node, at: net.now, level: *level });
        }
    }

    /// Lets a cell cross to its output, or says what it waits for.
    #[inline]
    fn cross(&mut self, cell: Cell, inlet: usize, output: usize, net: &mut Net) -> Result<(), Wait> {
        let Output { outlet, depth, lifts, longest, .. } = &mut self.outlets[output];
        let octets = net.mesh.length(&cell);
        let ready = net.now + self.latency;
        let full = outlet.busy_until + outlet.speed.time_for(octets);
        if full > ready + *depth {
            return Err(Wait::Until(net.now + (full - (ready + *depth))));
        }
        let onwards = Cell { channel: cell.channel + u8::from(*lifts), ..cell };
        if !outlet.has_room(octets, usize::from(onwards.channel), net.now, &mut net.mesh) {
            return Err(Wait::Credit);
        }
        outlet.send(onwards, ready, &mut net.mesh, &mut net.agenda);
        if outlet.busy_until > ready + *longest {
            *longest = outlet.busy_until - ready;
            let held = outlet.speed.rate().carries_in(*longest).get();
            self.counts.output_peak = self.counts.output_peak.max(held);
        }
        self.counts.cells += 1;
        self.counts.octets += u64::from(cell.octets);
        self.counts.sent += octets;
        let Inlet { wire, owed, .. } = &mut self.inlets[inlet];
        let owed = &mut owed[usize::from(cell.channel)];
        *owed += octets as u16;
        if *owed >= self.batch {
            net.mesh.give_back(*wire, std::mem::take(owed), cell.channel, net.now, &mut net.agenda);
        }
        Ok(())
    }

    /// Sees to it that an output looks again.
    fn wait(&mut self, output: usize, wait: Wait, net: &mut Net) {
        let booked = &mut self.waiting[output].booked;
        match wait {
            Wait::Credit => net.mesh.want(self.outlets[output].outlet.wire, &mut net.agenda),
            Wait::Until(at) if at < *booked => {
                *booked = at;
                net.agenda.book(at, self.node, Lane::new(LaneKind::Outlet, output as u32));
            }
            Wait::Until(_) => {}
        }
    }

    /// An output may have room again. Cells that are further on their way go first.
    fn on_outlet(&mut self, output: usize, net: &mut Net) {
        let booked = &mut self.waiting[output].booked;
        if *booked == net.now {
            *booked = Instant::NEVER;
        }
        for channel in (0..CHANNELS).rev() {
            while let Some((cell, inlet)) = self.waiting[output].cells[channel].front().copied() {
                if let Err(wait) = self.cross(cell, inlet as usize, output, net) {
                    self.wait(output, wait, net);
                    break;
                }
                self.waiting[output].cells[channel].pop_front();
                self.outlets[output].waiting[channel] -= 1;
                let octets = net.mesh.length(&cell);
                self.inlets[inlet as usize].level[channel] -= octets;
                self.counts.held -= octets;
            }
        }
    }

    /// The first thing about this router that does not add up, if any.
    pub(crate) fn audit(&self, now: Instant) -> Option<Fault> {
        let Counts { received, sent, held, .. } = self.counts;
        (received != sent + held).then_some(Fault::Books {
            node: self.node,
            at: now,
            came: received,
            went: sent,
            held,
        })
    }

    /// What this router has done since the last sample.
    pub(crate) fn take_counts(&mut self) -> Passed {
        let Counts { cells, octets, input_peak, output_peak, .. } = self.counts;
        (self.counts.cells, self.counts.octets) = (0, 0);
        (self.counts.input_peak, self.counts.output_peak) = (0, 0);
        for output in &mut self.outlets {
            output.longest = Duration::ZERO;
        }
        Passed { cells, octets, input_peak, output_peak }
    }
}

/// How many octets of room a router gives back at a time: a quarter of its buffer, but never so much that what is left
/// would not do for a cell.
fn batch(fabric: &Fabric) -> u16 {
    let spare = fabric.input_buffer.get().saturating_sub((fabric.cell + fabric.header).get());
    u16::try_from((fabric.input_buffer.get() / 4).min(spare)).unwrap_or(u16::MAX)
}

/// What a router says of itself in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Cells passed on.
    pub cells: u64,
    /// Octets of frames in them.
    pub octets: u64,
    /// The most octets that waited at one input.
    pub input_peak: u64,
    /// The most octets that one output held.
    pub output_peak: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_cell_looks_at_stays_small() {
        assert_eq!(size_of::<Output>(), 64);
    }
}
