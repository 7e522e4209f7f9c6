//! The inside of a fabric: frames cut into cells, wires that carry them, routers that pass them on.
//!
//! The edge of a fabric are switches of the plan, its leaves. A frame waits at the input of one leaf until the
//! [`arbiter`] of its output, at another leaf, grants it room; then [`injection`] cuts it into cells and sprays those over
//! the uplinks, [`router`]s (the spines) pass them on, and [`reassembly`] makes the frame whole again and puts it in its
//! place among those of its input. `switch/over_fabric.rs` ties these to the buffers and congestion points of a leaf.
//!
//! A leaf or router reaches another only through what is here: cells and credits on [`Mesh::wires`], requests, grants and
//! acknowledgements in the mail. All of it takes time. A frame travels with its last cell; the cells before it only
//! count.

mod arbiter;
mod injection;
mod leaf;
mod outlet;
mod reassembly;
mod router;

pub(crate) use arbiter::Verdict;
pub(crate) use injection::Injected;
pub(crate) use leaf::Leaf;
pub(crate) use router::{Passed, Router};

use super::frame::Handle;
use super::net::Speed;
use super::parcel::{HERE, Load, Parcel};
use crate::kernel::agenda::{Agenda, Lane, LaneKind};
use crate::scenario::plan::{Fabric, InnerNode, Plan};
use leaf::Spot;
use outlet::Outlet;
use quell_proto::units::{Bytes, Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A piece of a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The frame, if this is its last cell.
    pub frame: Option<Handle>,
    /// The input it came in by, numbered over the whole fabric.
    pub input: u16,
    /// The leaf it is for.
    pub leaf: u16,
    /// Number of its frame among those from this input to this port and class.
    pub sequence: u16,
    /// Octets of the frame that it carries.
    pub octets: u16,
    /// The port of the leaf.
    pub port: u8,
    /// Index of its priority among those in use.
    pub class: u8,
    /// The virtual channel whose buffers it waits in.
    pub channel: u8,
}

/// Virtual channels: cells that have crossed a lifting link wait apart from those that have not.
const CHANNELS: usize = 2;

/// The wires and mail between the nodes of a fabric.
#[derive(Debug, Default)]
pub(crate) struct Mesh {
    wires: Vec<CellWire>,
    /// The way back of each.
    returns: Vec<Return>,
    /// Cells on wires, each behind the one before it. Freed places are used again last in first out, so that the memory
    /// in use stays warm.
    slots: Vec<Slot>,
    free: Option<Place>,
    /// What is on its way to each leaf.
    mail: Vec<[VecDeque<(Instant, Message)>; MAILS]>,
    latencies: [Duration; MAILS],
    first_leaf: u32,
    /// Octets of a cell beyond its payload.
    header: u64,
    /// Cells carried over wires so far.
    pub hops: u64,
    /// Where each leaf is, if not all are here.
    leaf_parts: Vec<u16>,
    /// What goes to other parts.
    pub parcels: Vec<(u16, Parcel)>,
}

/// A cell on a wire: half a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Slot {
    due: Instant,
    cell: Cell,
    next: Option<Place>,
}

/// Where a slot is, one more than its index, so that no slot costs no memory.
type Place = NonZeroU32;

/// One direction of a link inside a fabric, for the cells on it: half a line of the cache.
#[derive(Debug)]
#[repr(align(32))]
struct CellWire {
    delay: Duration,
    to: (u32, Lane),
    /// The first and last cell on it; the last one is meant only while there is a first.
    first: Option<Place>,
    last: Option<Place>,
    /// The part at its end.
    to_part: u16,
}

/// The way back, for credits.
#[derive(Debug)]
struct Return {
    delay: Duration,
    from: (u32, Lane),
    /// Those on their way.
    credits: VecDeque<Credit>,
    /// Whether the sender waits for the next one.
    wanted: bool,
    /// The part at the beginning of the wire.
    from_part: u16,
}

/// Room that a router's input has again.
#[derive(Clone, Copy, Debug)]
struct Credit {
    due: Instant,
    octets: u16,
    channel: u8,
}

/// What leaves say to each other about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    /// The input where the frame waits, numbered over the whole fabric.
    pub input: u16,
    /// The host it is for.
    pub to: u16,
    /// Its length.
    pub length: u16,
    /// Index of its priority among those in use.
    pub class: u8,
}

/// The kinds of messages, by the lane of the leaf that they wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mail {
    /// A frame waits: to the arbiter of its output.
    Request,
    /// There is room for it: to the leaf where it waits.
    Grant,
    /// It is on the wire to its host: to the leaf that keeps a copy.
    Acknowledgement,
}

const MAILS: usize = 3;

impl Mail {
    /// The kind behind the index of a lane.
    pub(crate) fn of(index: usize) -> Mail {
        [Mail::Request, Mail::Grant, Mail::Acknowledgement][index]
    }
}

/// What stands at the ends of the wires, for those who build it.
#[derive(Debug)]
pub(crate) struct Ends {
    /// For each leaf: the outlets to routers and the wires that come from them.
    leaves: Vec<End>,
    /// For each router: likewise.
    routers: Vec<End>,
    /// Where each host is.
    spots: Arc<[Spot]>,
    /// Whether inputs keep copies until they are acknowledged. One leaf that does makes all of them.
    keep_copies: bool,
}

#[derive(Clone, Debug, Default)]
struct End {
    outlets: Vec<Outlet>,
    inlets: Vec<u32>,
    /// Behind each outlet: the node and whether a cell changes channel on the way.
    beyond: Vec<(InnerNode, bool)>,
}

impl Mesh {
    /// The wires of a fabric, and what stands at their ends.
    pub(crate) fn new(plan: &Plan, fabric: &Fabric) -> (Mesh, Ends) {
        let acknowledge = plan.acknowledge_latency();
        let hosts = u32::try_from(plan.hosts.len()).expect("fewer than 2^32 hosts");
        let leaves = plan.switches.len();
        let mut ends = Ends {
            leaves: vec![End::default(); leaves],
            routers: vec![End::default(); fabric.routers.len()],
            spots: leaf::spots(plan),
            keep_copies: acknowledge.is_some(),
        };
        let mut mesh = Mesh {
            mail: (0..leaves).map(|_| Default::default()).collect(),
            latencies: [fabric.request_latency, fabric.grant_latency, acknowledge.unwrap_or(Duration::ZERO)],
            first_leaf: hosts,
            header: fabric.header.get(),
            ..Mesh::default()
        };
        let first_router = hosts + leaves as u32;
        let node = |end: InnerNode| match end {
            InnerNode::Leaf(leaf) => hosts + leaf.0,
            InnerNode::Router(router) => first_router + router,
        };
        for link in &fabric.links {
            for (from, to) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
                let wire = mesh.wires.len() as u32;
                let sender = ends.end(from);
                // A leaf looks at all its outlets at once.
                let outlet = if matches!(from, InnerNode::Leaf(_)) { 0 } else { sender.outlets.len() as u32 };
                // Only routers are short of room: a leaf has granted it before a cell comes.
                let room = matches!(to, InnerNode::Router(_)).then_some(fabric.input_buffer);
                sender.outlets.push(Outlet::new(wire, Speed::new(link.rate), room));
                sender.beyond.push((to, link.lifts));
                let receiver = ends.end(to);
                let inlet = receiver.inlets.len() as u32;
                receiver.inlets.push(wire);
                mesh.wires.push(CellWire {
                    delay: link.delay,
                    to: (node(to), Lane::new(LaneKind::Cell, inlet)),
                    first: None,
                    last: None,
                    to_part: HERE,
                });
                mesh.returns.push(Return {
                    delay: link.delay,
                    from: (node(from), Lane::new(LaneKind::Outlet, outlet)),
                    credits: VecDeque::new(),
                    wanted: false,
                    from_part: HERE,
                });
            }
        }
        (mesh, ends)
    }

    /// Keeps only the part `own` of a fabric here; the rest is reached by parcels. `part_of` has an entry for each node.
    pub(crate) fn split(&mut self, own: u16, part_of: &[u16]) {
        let place = |node: u32| if part_of[node as usize] == own { HERE } else { part_of[node as usize] };
        for (wire, back) in self.wires.iter_mut().zip(&mut self.returns) {
            (wire.to_part, back.from_part) = (place(wire.to.0), place(back.from.0));
        }
        self.leaf_parts = (0..self.mail.len() as u32).map(|leaf| place(self.first_leaf + leaf)).collect();
    }

    /// What a cell takes on a wire, its header included.
    #[inline]
    fn length(&self, cell: &Cell) -> u64 {
        u64::from(cell.octets) + self.header
    }

    /// A cell whose last octet leaves at `sent` travels to the other end.
    #[inline]
    fn depart(&mut self, wire: u32, cell: Cell, sent: Instant, agenda: &mut Agenda) {
        self.hops += 1;
        let number = wire;
        let wire = &mut self.wires[wire as usize];
        let due = sent + wire.delay;
        if wire.to_part != HERE {
            let load = Load::Cell { wire: number, cell };
            return self.parcels.push((wire.to_part, Parcel { due, load }));
        }
        self.put_on(number, cell, due, agenda);
    }

    /// A cell is on a wire that ends here.
    #[inline]
    pub(crate) fn put_on(&mut self, wire: u32, cell: Cell, due: Instant, agenda: &mut Agenda) {
        let slot = Slot { due, cell, next: None };
        let place = match self.free {
            Some(place) => {
                let freed = &mut self.slots[index(place)];
                self.free = freed.next;
                *freed = slot;
                place
            }
            None => {
                self.slots.push(slot);
                let count = u32::try_from(self.slots.len()).ok().and_then(Place::new);
                count.expect("fewer than 2^32 cells at a time")
            }
        };
        let wire = &mut self.wires[wire as usize];
        let before = wire.last.replace(place);
        match before.filter(|_| wire.first.is_some()) {
            Some(before) => self.slots[index(before)].next = Some(place),
            None => {
                wire.first = Some(place);
                agenda.book(due, wire.to.0, wire.to.1);
            }
        }
    }

    /// Takes the cell that arrives now off its wire, and books the arrival of the one behind it.
    #[inline]
    pub(crate) fn arrive(&mut self, wire: u32, agenda: &mut Agenda) -> Cell {
        let wire = &mut self.wires[wire as usize];
        let first = wire.first.expect("an arrival is booked only for a cell on the wire");
        let Slot { cell, next, .. } = self.slots[index(first)];
        wire.first = next;
        if let Some(next) = next {
            agenda.book(self.slots[index(next)].due, wire.to.0, wire.to.1);
        }
        self.slots[index(first)].next = self.free.replace(first);
        cell
    }

    /// Room at the end of a wire is free again; the sender learns of it after the wire's delay.
    #[inline]
    fn give_back(&mut self, wire: u32, octets: u16, channel: u8, now: Instant, agenda: &mut Agenda) {
        let back = &self.returns[wire as usize];
        let due = now + back.delay;
        if back.from_part != HERE {
            let load = Load::Credit { wire, octets, channel };
            return self.parcels.push((back.from_part, Parcel { due, load }));
        }
        self.credit(wire, octets, channel, due, agenda);
    }

    /// A credit is on its way to a sender here.
    #[inline]
    pub(crate) fn credit(&mut self, wire: u32, octets: u16, channel: u8, due: Instant, agenda: &mut Agenda) {
        let back = &mut self.returns[wire as usize];
        back.credits.push_back(Credit { due, octets, channel });
        if std::mem::take(&mut back.wanted) {
            agenda.book(due, back.from.0, back.from.1);
        }
    }

    /// The sender on a wire lacks room at its end, and is woken by the next credit.
    fn want(&mut self, wire: u32, agenda: &mut Agenda) {
        let back = &mut self.returns[wire as usize];
        match back.credits.front() {
            Some(credit) => agenda.book(credit.due, back.from.0, back.from.1),
            None => back.wanted = true,
        }
    }

    /// Sends a message to a leaf.
    pub(crate) fn post(
        &mut self,
        kind: Mail,
        leaf: u16,
        message: Message,
        now: Instant,
        agenda: &mut Agenda,
    ) {
        self.post_after(kind, leaf, message, now, agenda);
    }

    /// Sends a message to a leaf that sets out at `since`, now or later.
    pub(crate) fn post_after(
        &mut self,
        kind: Mail,
        leaf: u16,
        message: Message,
        since: Instant,
        agenda: &mut Agenda,
    ) {
        let due = since + self.latencies[kind as usize];
        match self.leaf_parts.get(usize::from(leaf)) {
            Some(&part) if part != HERE => {
                let load = Load::Mail { kind, leaf, message };
                self.parcels.push((part, Parcel { due, load }));
            }
            _ => self.deliver(kind, leaf, message, due, agenda),
        }
    }

    /// A message is on its way to a leaf here. Those that arrive together are opened in an order that does not depend on
    /// when they were posted, or where.
    pub(crate) fn deliver(
        &mut self,
        kind: Mail,
        leaf: u16,
        message: Message,
        due: Instant,
        agenda: &mut Agenda,
    ) {
        let mail = &mut self.mail[leaf as usize][kind as usize];
        let place = mail.iter().rposition(|other| *other <= (due, message)).map_or(0, |before| before + 1);
        if place == 0 {
            agenda.book(due, self.first_leaf + u32::from(leaf), Lane::new(LaneKind::Message, kind as u32));
        }
        mail.insert(place, (due, message));
    }

    /// Takes the next message that has arrived by now, and books the arrival of the one behind it.
    pub(crate) fn open(
        &mut self,
        kind: Mail,
        leaf: u16,
        now: Instant,
        agenda: &mut Agenda,
    ) -> Option<Message> {
        let mail = &mut self.mail[leaf as usize][kind as usize];
        let (due, message) = *mail.front()?;
        if due > now {
            return None;
        }
        mail.pop_front();
        if let Some(next) = mail.front().map(|(due, _)| *due)
            && next > now
        {
            agenda.book(next, self.first_leaf + u32::from(leaf), Lane::new(LaneKind::Message, kind as u32));
        }
        Some(message)
    }
}

impl Ends {
    fn end(&mut self, node: InnerNode) -> &mut End {
        match node {
            InnerNode::Leaf(leaf) => &mut self.leaves[leaf.0 as usize],
            InnerNode::Router(router) => &mut self.routers[router as usize],
        }
    }

    /// For each router, the outlet on the shortest way to each leaf: the first of several. A link that lifts counts as
    /// three, so that no way crosses two of them where one will do.
    fn routes(&self) -> Vec<Vec<u16>> {
        let mut routes = vec![vec![u16::MAX; self.leaves.len()]; self.routers.len()];
        for (leaf, own) in self.leaves.iter().enumerate() {
            let mut distances = vec![u32::MAX; self.routers.len()];
            let mut nearest = BinaryHeap::new();
            for router in own.beyond.iter().filter_map(|(node, _)| as_router(*node)) {
                distances[router] = 0;
                nearest.push((Reverse(0), router));
            }
            while let Some((Reverse(distance), router)) = nearest.pop() {
                for (next, lifts) in &self.routers[router].beyond {
                    let Some(next) = as_router(*next) else { continue };
                    let further = distance + cost(*lifts);
                    if further < distances[next] {
                        distances[next] = further;
                        nearest.push((Reverse(further), next));
                    }
                }
            }
            for (router, end) in self.routers.iter().enumerate() {
                let leads_there = |node: InnerNode, lifts: bool| match node {
                    InnerNode::Leaf(found) => found.0 as usize == leaf,
                    InnerNode::Router(next) => {
                        distances[next as usize].saturating_add(cost(lifts)) == distances[router]
                    }
                };
                let outlet = end.beyond.iter().position(|(node, lifts)| leads_there(*node, *lifts));
                routes[router][leaf] = outlet.map_or(u16::MAX, |outlet| outlet as u16);
            }
        }
        routes
    }
}

fn cost(lifts: bool) -> u32 {
    if lifts { 3 } else { 1 }
}

fn as_router(node: InnerNode) -> Option<usize> {
    match node {
        InnerNode::Leaf(_) => None,
        InnerNode::Router(router) => Some(router as usize),
    }
}

/// Where a place is among the slots.
#[inline]
fn index(place: Place) -> usize {
    place.get() as usize - 1
}

/// How many cells a frame is cut into.
#[inline]
fn cells_of(length: u16, payload: u16) -> u16 {
    length.div_ceil(payload)
}

/// The payload of a cell as the parts of a fabric count it.
fn payload(fabric: &Fabric) -> u16 {
    u16::try_from(fabric.cell.min(Bytes::new(u64::from(u16::MAX))).get()).expect("it was cut to fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_cell_looks_at_stays_small() {
        assert_eq!(size_of::<Slot>(), 32);
        assert_eq!(size_of::<CellWire>(), 32);
    }
}
