//! What the nodes of a run share: the time, the wires between them, the frames, and the books that are kept.
//!
//! A node reaches another only through a wire, whose delay is the lookahead by which nodes act in turns. What a
//! node writes here besides is its own: the sending half of a flow belongs to the sender, the receiving half to the
//! receiver.

use super::Fault;
use super::fabric::{Cell, Mesh};
use super::frame::{Body, Frame, Handle, List, Pool};
use super::ground::{Flow, Ground};
use super::host::transport::Receiving;
use super::inlets::{BOOKED, Inlets};
use super::octets::{self, Captures};
use super::parcel::{HERE, Load, Parcel};
use crate::kernel::agenda::{Agenda, Event, Hoods, Lane, LaneKind, Late};
use crate::scenario::plan::{Completion, NodeId, Plan, Scheme, Script};
use quell_proto::control::dcqcn::NotificationPoint;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use quell_record::{EntityId, Event as Recorded, EventKind, Tap};
use std::sync::Arc;
use zerocopy::FromZeros;

/// The state that all nodes of a run (or of one part of it) share.
#[derive(Debug)]
pub(crate) struct Net {
    /// The time.
    pub now: Instant,
    /// What is to come.
    pub agenda: Agenda,
    /// One a direction of each link: `2 * link + end`, where `end` is the sending one.
    pub wires: Vec<Wire>,
    /// Where they end, as far as arrivals are not booked.
    pub inlets: Inlets,
    /// The frames.
    pub pool: Pool,
    /// The inside of the fabric; empty where there is none.
    pub mesh: Mesh,
    /// Octets each frame costs on a wire beyond its own.
    pub overhead: u64,
    /// The priorities in use, ascending: those of data, and that of notifications.
    pub classes: Arc<[Priority]>,
    /// For each class, its place among the data priorities.
    data_classes: Vec<Option<usize>>,
    data_count: usize,
    /// What is known of each flow.
    pub flows: Arc<[Flow]>,
    /// Of each flow the octets of its message, if it has one, and when its source began; empty where none has any.
    messages: Arc<[Option<(u64, Instant)>]>,
    /// The flows of each multicast group: one a receiver. What is sent to the group is sent on each of them.
    pub groups: Arc<[std::ops::Range<u32>]>,
    /// The sending half of each flow, written by its sender.
    pub sent: Vec<Sent>,
    /// The receiving half of each flow, written by its receiver; and where that of each flow is.
    received: Vec<Received>,
    places: Arc<[u32]>,
    /// How far each flow of a collective has got, written by its receiver; empty where there is none.
    pub steps: Vec<Step>,
    /// A transfer of a collective has arrived since this was last asked.
    pub has_stepped: bool,
    /// What answers the marks of each flow, in schemes where that is not every one; written by its receiver.
    pub notification: Vec<NotificationPoint>,
    /// The receiving end of each flow that is acknowledged; none where nothing is. Written by its receiver.
    pub receiving: Vec<Receiving>,
    /// Frames of each flow lost in the network.
    pub lost: Vec<u64>,
    /// What the last sample saw of each flow, where flows are sampled.
    pub sampled: Vec<Sampled>,
    /// Events not yet handed to the recording.
    pub events: Vec<Recorded>,
    /// For each of them, the node and lane it came from: events of one instant are recorded in that order.
    pub origins: Vec<u64>,
    /// The node and lane that act now.
    pub acting: u64,
    /// What goes to other parts of the network, by part.
    parcels: Vec<Vec<Parcel>>,
    /// The frame of the cell that comes next, from another part.
    aboard: Option<Handle>,
    /// Events handled so far.
    pub handled: u64,
    /// Frames carried over links so far.
    pub hops: u64,
    /// The first invariant that broke.
    pub fault: Option<Fault>,
    /// Compare every frame with its octets.
    check_octets: bool,
    /// Whether frames of a flow must arrive in order: cells take any way through a fabric, frames do not.
    keeps_order: bool,
    /// Whether a message is complete when it is delivered, not when its sender knows.
    completes_on_delivery: bool,
    /// Whether data travels as RoCEv2.
    pub speaks_roce: bool,
    /// For each switch, the TLVs that it announces in LLDP; and the number of the first.
    announced: Arc<[Box<[u8]>]>,
    first_switch: u32,
    /// Frames to be captured, if somebody asked for some.
    captures: Option<Box<Captures>>,
    /// Whether one of these two, or neither, wants to see octets.
    wants_octets: bool,
    /// Something rare is to be seen to when the event is over: an invariant broke, or a frame was captured.
    pub has_news: bool,
    links: u32,
    routers: u32,
}

/// One direction of a link, and the frames on it.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Wire {
    /// Its rate.
    pub speed: Speed,
    delay: Duration,
    to_node: u32,
    /// The port it ends at.
    pub to_port: u16,
    /// The part it leads to.
    part: u16,
    /// The inlet it ends at, or [`BOOKED`].
    inlet: u32,
    flight: List,
}

/// The sending half of a flow. With hundreds of thousands of them every look is at cold memory, so none lies across
/// two lines of the cache.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(align(32))]
pub(crate) struct Sent {
    pub offered: u64,
    pub bytes: u64,
    pub frames: u32,
    pub cnms: u64,
}

/// The receiving half of a flow, likewise.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(align(64))]
pub(crate) struct Received {
    pub bytes: u64,
    pub frames: u64,
    pub next_sequence: u32,
    pub reordered: u64,
    pub latency_sum: u64,
    pub latency_max: u64,
}

/// What the last sample saw of a flow.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
pub(crate) struct Sampled {
    pub offered: u64,
    pub sent: u64,
    pub cnms: u64,
    pub bytes: u64,
    pub frames: u64,
    pub lost: u64,
}

/// The transfers of a flow that have arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Octets of each; none of a flow that is in no collective.
    octets: u64,
    per_iteration: u32,
    /// How many have arrived.
    pub done: u32,
    /// When the iteration before was over, or the first began.
    since: Instant,
}

/// A rate, with the time of an octet worked out where it is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    rate: Rate,
    /// Picoseconds an octet, or zero where that is no whole number.
    octet_ps: u64,
}

impl Step {
    /// How a flow with a script begins.
    pub(super) fn of(script: &Script, since: Instant) -> Step {
        Step { octets: script.transfer.get(), per_iteration: script.per_iteration, done: 0, since }
    }
}

/// So many counters at nothing. Memory that is never written to is never taken: a part of a network counts for few of all flows.
fn zeroed<T: FromZeros>(count: usize) -> Vec<T> {
    T::new_vec_zeroed(count).unwrap_or_else(|_| panic!("no memory for {count} flows"))
}

impl Speed {
    pub(crate) fn new(rate: Rate) -> Speed {
        let octet_ps = if 8_000_000_000_000 % rate.bps() == 0 { 8_000_000_000_000 / rate.bps() } else { 0 };
        Speed { rate, octet_ps }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// How long this many octets take, rounded up.
    #[inline]
    pub(crate) fn time_for(&self, octets: u64) -> Duration {
        if self.octet_ps != 0 {
            Duration::from_ps(octets * self.octet_ps)
        } else {
            self.rate.time_for(Bytes::new(octets))
        }
    }
}

impl Wire {
    /// The first frame on it is wanted soon.
    #[inline]
    pub(super) fn bring_first_near(&self, pool: &Pool) {
        self.flight.bring_first_near(pool);
    }

    /// So is the last.
    #[inline]
    pub(super) fn bring_last_near(&self, pool: &Pool) {
        self.flight.bring_last_near(pool);
    }

    /// Puts a frame on it that reaches its end, which is here, at `due`. `own` is its number.
    #[inline(always)]
    fn put_on(
        &mut self,
        own: u32,
        handle: Handle,
        due: Instant,
        pool: &mut Pool,
        inlets: &mut Inlets,
        agenda: &mut Agenda,
    ) {
        if self.flight.push_due(pool, handle, due) {
            if self.inlet == BOOKED {
                agenda.book(due, self.to_node, Lane::new(LaneKind::Arrival, own));
            } else {
                inlets.expect(self.inlet, due);
                agenda.foresee(due, self.to_node);
            }
        }
    }

    /// How many frames of so many octets can be on it at a time.
    pub(super) fn holds(&self, octets: u64) -> u64 {
        self.delay.ps() / self.speed.time_for(octets).ps().max(1)
    }

    /// How long a frame travels on it.
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }
}

impl Net {
    /// The shared state at the start of a run.
    pub(crate) fn new(plan: &Plan, ground: &Ground, hoods: Hoods) -> Net {
        let node = |id: NodeId| node_index(plan, id);
        let mut ports = vec![0u16; plan.hosts.len() + plan.switches.len()];
        let mut wires = Vec::with_capacity(2 * plan.links.len());
        for link in &plan.links {
            let [a, b] = link.ends.map(node);
            let [at_a, at_b] = [a, b].map(|node| {
                let port = &mut ports[node as usize];
                *port += 1;
                *port - 1
            });
            for (to_node, to_port) in [(b, at_b), (a, at_a)] {
                let speed = Speed::new(link.rate);
                wires.push(Wire {
                    speed,
                    delay: link.delay,
                    to_node,
                    to_port,
                    part: HERE,
                    inlet: BOOKED,
                    flight: List::default(),
                });
            }
        }
        let agenda = Agenda::new(hoods);
        let ends: Vec<u32> = wires.iter().map(|wire: &Wire| wire.to_node).collect();
        let (inlets, inlet_of) = Inlets::new(plan.node_count(), &ends, &agenda);
        for (wire, inlet) in wires.iter_mut().zip(inlet_of) {
            wire.inlet = inlet;
        }
        let Ground { classes, data, .. } = ground;
        let flows = ground.flows.len();
        Net {
            now: Instant::START,
            agenda,
            wires,
            inlets,
            pool: Pool::default(),
            mesh: Mesh::default(),
            overhead: plan.overhead.get(),
            data_classes: classes.iter().map(|class| data.iter().position(|data| data == class)).collect(),
            data_count: data.len(),
            classes: Arc::clone(classes),
            flows: Arc::clone(&ground.flows),
            messages: Arc::clone(&ground.messages),
            groups: Arc::clone(&ground.groups),
            sent: zeroed(flows),
            received: zeroed(flows),
            places: Arc::clone(&ground.places),
            steps: ground.steps.clone(),
            has_stepped: false,
            receiving: super::host::transport::receiving(plan),
            completes_on_delivery: plan.completion() == Completion::Delivered,
            notification: match plan.scheme {
                Scheme::Dcqcn(dcqcn) => vec![NotificationPoint::new(dcqcn.notification); flows],
                _ => Vec::new(),
            },
            lost: zeroed(flows),
            sampled: zeroed(if plan.flow_series { flows } else { 0 }),
            events: Vec::new(),
            origins: Vec::new(),
            acting: 0,
            parcels: Vec::new(),
            aboard: None,
            handled: 0,
            hops: 0,
            fault: None,
            check_octets: plan.wire_check,
            keeps_order: plan.fabric.is_some(),
            speaks_roce: plan.scheme.understands_marks(),
            announced: Arc::clone(&ground.announced),
            first_switch: u32::try_from(plan.hosts.len()).expect("fewer than 2^32 hosts"),
            captures: None,
            wants_octets: plan.wire_check,
            has_news: false,
            links: u32::try_from(plan.links.len()).expect("fewer than 2^32 links"),
            routers: u32::try_from(plan.routers().count()).expect("fewer than 2^32 routers"),
        }
    }

    /// Puts a frame on a wire, on which it takes so many octets. Says when the last of them leaves.
    #[inline(always)]
    pub(crate) fn depart(&mut self, wire: u32, handle: Handle, octets: u64) -> Instant {
        if self.wants_octets {
            self.show_octets(wire, self.pool.get(handle).frame);
        }
        self.hops += 1;
        let Net { now, wires, pool, inlets, agenda, .. } = self;
        let way = &mut wires[wire as usize];
        let sent = *now + way.speed.time_for(octets);
        let due = sent + way.delay;
        if way.part == HERE {
            way.put_on(wire, handle, due, pool, inlets, agenda);
        } else {
            self.hand_over_frame(wire, handle, due);
        }
        sent
    }

    /// A frame is on a wire that ends in another part.
    #[inline(never)]
    fn hand_over_frame(&mut self, wire: u32, handle: Handle, due: Instant) {
        let part = self.wires[wire as usize].part;
        let load = Load::Frame { wire, frame: self.pool.get(handle).frame };
        self.parcels[usize::from(part)].push(Parcel { due, load });
        self.pool.free(handle);
    }

    /// Gives the turn to the next neighbourhood that has something to do before an instant. Says which one, if there is one.
    #[inline]
    pub(crate) fn pass_on(&mut self, before: Instant) -> Result<Option<usize>, Late> {
        let turn = self.agenda.pass_on(before)?;
        if let Some(node) = self.agenda.whose_turn() {
            let Net { agenda, wires, inlets, pool, .. } = self;
            inlets.collect(node, agenda, wires, pool);
        }
        Ok(turn)
    }

    /// The next event of the node that has the turn to itself, which acts on it now.
    #[inline(always)]
    pub(crate) fn next_of_lone(&mut self, node: u32) -> Result<Option<Lane>, Late> {
        let next = self.agenda.next_of_lone()?;
        Ok(next.map(|(at, lane)| self.begin(Event::new(at, node, lane)).lane()))
    }

    /// The next event of the nodes that have the turn together; its node acts on it now.
    #[inline(always)]
    pub(crate) fn next_of_several(&mut self) -> Result<Option<Event>, Late> {
        let next = self.agenda.next_of_several()?;
        Ok(next.map(|event| self.begin(event)))
    }

    #[inline(always)]
    fn begin(&mut self, event: Event) -> Event {
        self.now = event.at;
        self.acting = event.place();
        self.handled += 1;
        event
    }

    /// Keeps only the part `own` of the network here; the rest is reached by parcels. `part_of` has an entry for each node.
    pub(crate) fn split(&mut self, own: u16, part_of: &[u16]) {
        for wire in &mut self.wires {
            let part = part_of[wire.to_node as usize];
            wire.part = if part == own { HERE } else { part };
        }
        let parts = part_of.iter().max().map_or(0, |last| usize::from(*last) + 1);
        self.parcels = (0..parts).map(|_| Vec::new()).collect();
        self.mesh.split(own, part_of);
    }

    /// What goes to each part; whoever posts it takes it out.
    pub(crate) fn parcels(&mut self) -> &mut [Vec<Parcel>] {
        for (part, parcel) in self.mesh.parcels.drain(..) {
            let parcels = &mut self.parcels[usize::from(part)];
            if let Load::Cell { cell: Cell { frame: Some(handle), .. }, .. } = parcel.load {
                let frame = self.pool.get(handle).frame;
                self.pool.free(handle);
                parcels.push(Parcel { due: parcel.due, load: Load::Aboard { frame } });
            }
            parcels.push(parcel);
        }
        &mut self.parcels
    }

    /// Takes in what another part sent here.
    pub(crate) fn accept(&mut self, parcel: &Parcel) {
        let due = parcel.due;
        // Each copied from where it is: to copy it before it is known what it is takes as long as all the rest.
        match parcel.load {
            Load::Frame { wire, ref frame } => {
                let Net { wires, pool, inlets, agenda, .. } = self;
                let handle = pool.put(*frame);
                wires[wire as usize].put_on(wire, handle, due, pool, inlets, agenda);
            }
            Load::Aboard { ref frame } => {
                debug_assert!(self.aboard.is_none(), "the cell of the frame before comes right behind it");
                self.aboard = Some(self.pool.put(*frame));
            }
            Load::Cell { wire, mut cell } => {
                // Its frame came just before it, and has another place here.
                cell.frame = self.aboard.take();
                self.mesh.put_on(wire, cell, due, &mut self.agenda);
            }
            Load::Credit { wire, octets, channel } => {
                self.mesh.credit(wire, octets, channel, due, &mut self.agenda);
            }
            Load::Mail { kind, leaf, message } => {
                self.mesh.deliver(kind, leaf, message, due, &mut self.agenda);
            }
        }
    }

    /// Takes the frame that arrives now off the wire, and books the arrival of the one behind it where that is to be. Says by which port
    /// it came.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, wire: u32) -> (Handle, Frame, usize) {
        let way = &mut self.wires[wire as usize];
        let first = way.flight.pop_due(&self.pool);
        let (handle, slot) = first.expect("an arrival is foreseen only for a frame on the wire");
        let (frame, next, lane) = (slot.frame, slot.behind, Lane::new(LaneKind::Arrival, wire));
        if way.inlet != BOOKED {
            if !self.agenda.know(next, lane) {
                self.inlets.expect(way.inlet, next);
            }
        } else if next != Instant::NEVER {
            self.agenda.book_own(next, way.to_node, lane);
        }
        (handle, frame, usize::from(way.to_port))
    }

    /// The receiving half of a flow.
    pub(crate) fn received(&self, flow: u32) -> &Received {
        &self.received[self.places[flow as usize] as usize]
    }

    /// These hosts are here: the counters of their flows are written to, once. Memory that is read first is written to later, and each
    /// time a page of it is, all threads have to stop and hear of it.
    pub(crate) fn count_for(&mut self, is_here: impl Fn(usize) -> bool) {
        let halves = self.sent.iter_mut().zip(self.places.iter());
        for (flow, (sent, place)) in self.flows.iter().zip(halves) {
            if is_here(flow.from as usize) {
                *sent = Sent::default();
            }
            if is_here(flow.to as usize) {
                self.received[*place as usize] = Received::default();
            }
        }
    }

    /// The node that sends on a wire.
    pub(crate) fn node_before(&self, wire: u32) -> u32 {
        // Directions of a link stand side by side, and each ends where the other begins.
        self.wires[wire as usize ^ 1].to_node
    }

    /// A frame of data reached its receiver's memory at last.
    pub(crate) fn deliver(&mut self, handle: Handle) {
        let frame = self.pool.get(handle).frame;
        self.pool.free(handle);
        let Body::Data { sequence, .. } = frame.body else {
            unreachable!("only data is delivered");
        };
        let received = &mut self.received[self.places[frame.flow as usize] as usize];
        received.bytes += u64::from(frame.length);
        received.frames += 1;
        if sequence < received.next_sequence {
            received.reordered += 1;
            if self.keeps_order {
                let flow = frame.flow;
                self.break_off(Fault::Order { flow, at: self.now });
                return;
            }
        } else {
            received.next_sequence = sequence + 1;
        }
        let latency = (self.now - frame.born).ps();
        received.latency_sum += latency;
        received.latency_max = received.latency_max.max(latency);
        if !self.messages.is_empty()
            && let Some((message, _)) = self.messages[frame.flow as usize]
            && received.bytes >= message
            && received.bytes - u64::from(frame.length) < message
            && self.completes_on_delivery
        {
            self.note_completion(frame.flow);
        }
        if !self.steps.is_empty() {
            self.step(frame.flow);
        }
    }

    /// Notes that the message of a flow is complete.
    pub(crate) fn note_completion(&mut self, flow: u32) {
        if let Some(Some((_, began))) = self.messages.get(flow as usize) {
            let took = i64::try_from((self.now - *began).ps()).unwrap_or(i64::MAX);
            self.flow_event(flow, EventKind::MessageDone, took);
        }
    }

    /// Counts the transfers of a flow that have arrived, if it is of a collective.
    fn step(&mut self, flow: u32) {
        let bytes = self.received(flow).bytes;
        let step = &mut self.steps[flow as usize];
        while step.octets > 0 && bytes >= step.octets * u64::from(step.done + 1) {
            step.done += 1;
            self.has_stepped = true;
            if step.done.is_multiple_of(step.per_iteration.max(1)) {
                let took = self.now - std::mem::replace(&mut step.since, self.now);
                let took = i64::try_from(took.ps()).unwrap_or(i64::MAX);
                let entity = EntityId(4 * self.links * self.data_count as u32 + 2 * self.routers + flow);
                self.events.push(Recorded {
                    at: self.now,
                    entity,
                    kind: EventKind::Iteration,
                    flow: Some(entity),
                    value: took,
                    cause: None,
                });
                self.origins.push(self.acting);
            }
        }
    }

    /// Counts a frame in the sending half of every flow that it is sent on: its own, or all of its group. Says how many frames
    /// there were before. What is counted should be a copy (`move`): a look at something that may not leave its place costs more.
    #[inline(always)]
    pub(crate) fn count_sending(&mut self, flow: u32, count: impl Fn(&mut Sent)) -> u32 {
        let sent = &mut self.sent[flow as usize];
        let before = sent.frames;
        if self.groups.is_empty() {
            count(sent);
        } else {
            self.count_group(flow, count);
        }
        before
    }

    #[cold]
    #[inline(never)]
    fn count_group(&mut self, flow: u32, count: impl Fn(&mut Sent)) {
        let members = match self.flows[flow as usize].group {
            None => flow..flow + 1,
            Some(group) => self.groups[group as usize].clone(),
        };
        self.sent[members.start as usize..members.end as usize].iter_mut().for_each(count);
    }

    /// The place of a class among the data priorities; `None` for notifications.
    #[inline]
    pub(crate) fn data_class(&self, class: usize) -> Option<usize> {
        self.data_classes[class]
    }

    /// How many data priorities are in use.
    pub(crate) fn data_count(&self) -> usize {
        self.data_count
    }

    /// The class of each data priority.
    pub(crate) fn class_of_data(&self, data: usize) -> usize {
        self.data_classes.iter().position(|class| *class == Some(data)).expect("a data priority has a class")
    }

    /// Notes something that happened to the port that sends on a wire.
    pub(crate) fn port_event(
        &mut self,
        wire: u32,
        data: usize,
        kind: EventKind,
        flow: Option<u32>,
        value: i64,
    ) {
        let entity = EntityId(wire * self.data_count as u32 + data as u32);
        self.note(entity, kind, flow, value);
    }

    /// Notes something that happened to the input at the sending end of a wire, where the other direction ends.
    pub(crate) fn input_event(
        &mut self,
        wire: u32,
        data: usize,
        kind: EventKind,
        flow: Option<u32>,
        value: i64,
    ) {
        let entity = EntityId((2 * self.links + wire) * self.data_count as u32 + self.routers + data as u32);
        self.note(entity, kind, flow, value);
    }

    /// Notes that the input at the sending end of a wire stopped its peer or let it go again, and the port (by its
    /// wire) and data priority of the queue that brought it about.
    pub(crate) fn stop_event(
        &mut self,
        wire: u32,
        data: usize,
        kind: EventKind,
        level: u64,
        cause: Option<(u32, usize)>,
    ) {
        self.input_event(wire, data, kind, None, i64::try_from(level).unwrap_or(i64::MAX));
        let count = self.data_count as u32;
        let event = self.events.last_mut().expect("it was noted just now");
        event.cause = cause.map(|(wire, data)| EntityId(wire * count + data as u32));
    }

    /// Notes something that happened to a flow.
    pub(crate) fn flow_event(&mut self, flow: u32, kind: EventKind, value: i64) {
        self.note(self.flow_entity(flow), kind, Some(flow), value);
    }

    fn note(&mut self, entity: EntityId, kind: EventKind, flow: Option<u32>, value: i64) {
        let flow = flow.map(|flow| self.flow_entity(flow));
        self.events.push(Recorded { at: self.now, entity, kind, flow, value, cause: None });
        self.origins.push(self.acting);
    }

    /// The entity of a flow.
    pub(crate) fn flow_entity(&self, flow: u32) -> EntityId {
        EntityId(4 * self.links * self.data_count as u32 + 2 * self.routers + flow)
    }

    /// The first broken invariant ends the run; later ones follow from it.
    #[cold]
    pub(crate) fn break_off(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
        self.has_news = true;
    }

    /// Takes the frames that leave on these wires, from now on.
    pub(crate) fn capture(&mut self, wires: &[u32]) {
        self.captures = Some(Box::new(Captures::new(self.wires.len(), wires)));
        self.wants_octets = true;
    }

    /// The TLVs that a node announces in LLDP; none if it announces nothing.
    pub(crate) fn announced(&self, node: u32) -> &[u8] {
        let switch = node.checked_sub(self.first_switch);
        switch.and_then(|switch| self.announced.get(switch as usize)).map_or(&[], |tlvs| tlvs)
    }

    /// Hands over the frames that were taken.
    pub(crate) fn hand_over(&mut self, tap: &mut dyn Tap) {
        if let Some(captures) = &mut self.captures {
            captures.hand_over(tap);
        }
    }

    #[cold]
    fn show_octets(&mut self, wire: u32, frame: Frame) {
        let mut shown = if self.check_octets { octets::compare(&frame, self) } else { Ok(()) };
        if let Some(mut captures) = self.captures.take() {
            shown = shown.and(captures.take(wire, &frame, self));
            self.captures = Some(captures);
            self.has_news = true;
        }
        if let Err(found) = shown {
            self.break_off(Fault::Octets { at: self.now, found });
        }
    }
}

/// Hosts come first, then switches.
pub(crate) fn node_index(plan: &Plan, id: NodeId) -> u32 {
    match id {
        NodeId::Host(host) => host.0,
        NodeId::Switch(switch) => u32::try_from(plan.hosts.len()).expect("fewer than 2^32 hosts") + switch.0,
    }
}
