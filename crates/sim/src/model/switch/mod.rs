//! A switch: frames come in at a port, are charged to that input, wait for their output, and go.
//!
//! One model serves both kinds of memory. What differs is where frames wait ([`buffer`]): in a queue per output, or
//! in virtual output queues per input, with or without a buffer and an arbiter at the output ([`crossing`]).
//! Whatever the kind, an *input* is what one port brought in and still is here, an *output* is what waits for one
//! port; flow control watches inputs, congestion points watch either ([`congestion`]). A leaf of a fabric is such a switch
//! too, with outputs that other leaves have ([`over_fabric`]).

mod buffer;
mod congestion;
mod crossing;
mod flow_control;
mod isolation;
mod multicast;
mod over_fabric;
mod reliable;
mod sampler;
mod search;
mod tally;
mod waits;
mod ways;

use super::Fault;
use super::fabric::{Ends, Leaf, Mail};
use super::frame::{Body, Frame, Handle, List, Pool};
use super::near::bring_near;
use super::net::{Net, Wire};
use super::port::{Meter, Sender, Turns, highest};
use super::ring::Ring;
use super::stream;
use crate::kernel::agenda::{Lane, LaneKind};
use crate::scenario::plan::{Buffering, HostId, Plan, SwitchId};
use crate::topology::routing::Routes;
use buffer::Waiting;
use congestion::{CongestionPoints, Watcher};
use crossing::Crossing;
use flow_control::Stops;
use isolation::Isolation;
use multicast::Parted;
use quell_proto::dice::Dice;
use quell_proto::units::{Instant, Priority, Quanta};
use quell_record::EventKind;
use reliable::Acknowledgements;
use sampler::Sampler;
use std::sync::Arc;
pub(crate) use waits::Wait;
use ways::Ways;

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    node: u32,
    id: SwitchId,
    classes: usize,
    ports: Vec<Port>,
    /// One for each port and class, `port * classes + class`.
    outputs: Vec<Place>,
    /// Likewise.
    inputs: Vec<Place>,
    waiting: Waiting,
    ways: Ways,
    /// Credits and output buffers, where there are any.
    crossing: Option<Crossing>,
    /// What there is instead, if this is a leaf of a fabric.
    leaf: Option<Box<Leaf>>,
    /// What tells inputs to let go of their copies, where they keep any.
    acknowledgements: Option<Acknowledgements>,
    parted: Parted,
    stops: Stops,
    congestion: Option<CongestionPoints>,
    isolation: Option<Box<Isolation>>,
    /// For each host, the port towards it, [`CHOICE`] if there are several, [`NOWHERE`] if there is none.
    next: Vec<u16>,
    /// The ports among which a flow has its choice, where they are the same towards all hosts that several lead to.
    choices: Vec<u16>,
    /// The same if they are a power of two, so that a mask will do; else [`CHOICE`] alone; and none where there is no choice.
    masked_choices: Vec<u16>,
    routes: Arc<[Routes]>,
    epoch: usize,
    books: Books,
    /// Whether the highest class that is ready goes first, at all ports.
    is_strict: bool,
    /// Whether frames may pass through if nothing is in their way: not where they cross the switch in stages, where some
    /// are copied or isolated, or where classes take turns.
    may_pass: bool,
    /// Whether they may now: not while a link is down.
    lets_pass: bool,
    quiet: Quiet,
}

/// The port towards a host depends on the flow.
const CHOICE: u16 = u16::MAX;
/// No port leads to a host.
const NOWHERE: u16 = u16::MAX - 1;

/// A frame touches the first of its two lines of the cache, unless classes take turns.
#[derive(Debug)]
#[repr(C, align(64))]
struct Port {
    sender: Sender,
    turns: Turns,
}

/// What a queue may hold without anybody who watches it taking an interest: no congestion point, no flow control. Looked up
/// here, where all queues of a switch find it, and not in the memory of those who watch.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    output: u64,
    /// Likewise of an input; and below that, it holds nobody.
    input: u64,
}

/// What is held in one class for one port (an output), or was brought in by it (an input), and what happened there
/// since the last sample. Every frame touches two of these in each switch: they fill a cache line and no more.
#[derive(Debug, Default)]
struct Place {
    meter: Meter,
    watcher: Option<Box<Watcher>>,
    /// The congestion point of a scheme that is not a kind of QCN.
    sampler: Option<Box<Sampler>>,
    cnms: u32,
    dropped: u32,
}

impl Place {
    /// What it may hold without a congestion point taking an interest in what comes or goes.
    fn ignores_up_to(&self) -> u64 {
        match (&self.watcher, &self.sampler) {
            (Some(_), _) => 0,
            (None, Some(sampler)) => sampler.ignored,
            (None, None) => u64::MAX,
        }
    }

    /// Mean and peak held, notifications and drops, since the last sample.
    fn take(&mut self, span: quell_proto::units::Duration, now: Instant) -> [u64; 4] {
        let (mean, peak) = self.meter.take(now, span);
        let [cnms, dropped] = [&mut self.cnms, &mut self.dropped].map(std::mem::take).map(u64::from);
        [mean, peak, cnms, dropped]
    }
}

/// Every octet that came in or was made here has gone out, was dropped, or is held.
#[derive(Clone, Copy, Debug, Default)]
struct Books {
    received: u64,
    made: u64,
    sent: u64,
    dropped: u64,
}

impl Switch {
    pub(crate) fn new(
        plan: &Plan,
        id: SwitchId,
        wires: &[u32],
        routes: &Arc<[Routes]>,
        ends: Option<&Ends>,
        seed: u64,
        net: &Net,
    ) -> Switch {
        let switch = &plan.switches[id.0 as usize];
        let node = super::net::node_index(plan, crate::scenario::plan::NodeId::Switch(id));
        let classes = net.classes.len();
        let ports: Vec<Port> = wires
            .iter()
            .zip(0..)
            .map(|(wire, port)| Port {
                sender: Sender::new(node, port, *wire),
                turns: Turns::new(switch.schedule, &net.classes),
            })
            .collect();
        let queues = ports.len() * classes;
        let (crossing, leaf) = match (&switch.buffering, &plan.fabric, ends) {
            (Buffering::Voq { output: Some(stage), .. }, Some(fabric), Some(ends)) => {
                (None, Some(Box::new(Leaf::new(plan, fabric, stage, id, ends, net))))
            }
            (Buffering::Voq { output: Some(stage), .. }, _, _) => {
                (Some(Crossing::new(*stage, ports.len(), classes)), None)
            }
            _ => (None, None),
        };
        let takes = crossing.as_ref().and_then(Crossing::acknowledge);
        let fabric_outputs = leaf.is_some().then_some(plan.hosts.len());
        let mut built = Switch {
            node,
            id,
            classes,
            outputs: (0..queues).map(|_| Place::default()).collect(),
            inputs: (0..queues).map(|_| Place::default()).collect(),
            waiting: Waiting::new(&switch.buffering, ports.len(), fabric_outputs, classes),
            crossing,
            leaf,
            ways: Ways::default(),
            parted: Parted::new(net.groups.len()),
            acknowledgements: takes.map(|takes| Acknowledgements::new(takes, ports.len())),
            stops: Stops::new(&switch.flow_control, ports.len(), &net.classes),
            congestion: None,
            isolation: None,
            next: Vec::new(),
            choices: Vec::new(),
            masked_choices: Vec::new(),
            routes: Arc::clone(routes),
            epoch: 0,
            books: Books::default(),
            is_strict: ports.iter().all(|port| matches!(port.turns, Turns::Strict)),
            may_pass: false,
            lets_pass: false,
            quiet: Quiet { output: 0, input: 0 },
            ports,
        };
        built.install_congestion_points(plan, seed, net);
        built.install_samplers(plan, seed, net);
        built.install_isolation(plan, seed, net);
        built.follow_routes(plan.hosts.len());
        built.may_pass =
            !built.is_staged() && !built.parted.is_used() && built.isolation.is_none() && built.is_strict;
        built.lets_pass = built.may_pass;
        if built.counts_ways() {
            built.ways = Ways::new(built.ports.len(), classes);
        }
        built.quiet = built.who_watches();
        built
    }

    fn who_watches(&self) -> Quiet {
        let least = |places: &[Place]| places.iter().map(Place::ignores_up_to).min().unwrap_or(u64::MAX);
        Quiet { output: least(&self.outputs), input: least(&self.inputs).min(self.stops.silent_up_to()) }
    }

    /// An event of this switch has come.
    #[inline(always)]
    pub(crate) fn on_event(&mut self, lane: Lane, net: &mut Net) {
        let index = lane.index();
        if lane.is(LaneKind::Arrival) {
            return self.on_arrival(index as u32, net);
        }
        if lane.is(LaneKind::Transmit) {
            if self.ports[index].sender.looks_now(net.now) {
                self.look_if_free(index, net);
            }
            return;
        }
        match lane.kind() {
            LaneKind::PauseExpiry => {
                if self.ports[index].sender.on_expiry(net) {
                    self.look_if_free(index, net);
                }
            }
            LaneKind::Refresh => self.on_refresh(index, net),
            LaneKind::KeepAlive => self.on_keep_alive(index, net),
            LaneKind::Crossing => self.on_crossed(index, net),
            LaneKind::Acknowledgement => self.on_acknowledged(index, net),
            LaneKind::Grant if self.leaf.is_some() => self.grant_over_fabric(index, net),
            LaneKind::Grant => self.on_grant(index, net),
            LaneKind::Cell => self.on_cell(index, net),
            LaneKind::Message => self.on_message(Mail::of(index), net),
            LaneKind::Outlet => self.on_outlet(net),
            LaneKind::Arrival | LaneKind::Transmit => unreachable!("seen to above"),
            LaneKind::Change
            | LaneKind::Source
            | LaneKind::Reaction
            | LaneKind::Limiter
            | LaneKind::Retransmit
            | LaneKind::Receive => {
                unreachable!("a switch books no {:?}", lane.kind())
            }
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, wire: u32, net: &mut Net) {
        let (handle, frame, port) = net.arrive(wire);
        if self.lets_pass && matches!(frame.body, Body::Data { .. }) {
            self.let_pass(handle, &frame, port, net);
        } else {
            self.take(handle, port, net);
        }
    }

    /// A frame came in by a port.
    #[inline(never)]
    fn take(&mut self, handle: Handle, port: usize, net: &mut Net) {
        let frame = &net.pool.get(handle).frame;
        match frame.body {
            Body::Pause { .. } | Body::Pfc { .. } | Body::Lldp { .. } if !self.ports[port].sender.up => {
                net.pool.free(handle);
            }
            Body::Pause { quanta } => self.on_pause(port, None, quanta, handle, net),
            Body::Pfc { priority, quanta } => {
                self.on_pause(port, Priority::new(priority), quanta, handle, net);
            }
            Body::Cim { .. } => self.on_cim(handle, port, net),
            Body::Lldp { .. } => self.on_lldp(handle, port, net),
            Body::Marker => unreachable!("a marker stays in its queue"),
            Body::Data { .. }
            | Body::Cnm { .. }
            | Body::Bcn { .. }
            | Body::Becn
            | Body::Cnp
            | Body::Ack { .. }
            | Body::Probe { .. } => {
                self.books.received += u64::from(frame.length);
                self.take_in(handle, port, net);
            }
        }
    }

    fn on_pause(
        &mut self,
        port: usize,
        priority: Option<Priority>,
        quanta: Quanta,
        handle: Handle,
        net: &mut Net,
    ) {
        net.pool.free(handle);
        if self.ports[port].sender.on_pause(priority, quanta, net) {
            self.look_if_free(port, net);
        }
    }

    /// Finds room for a frame and lets it wait for its output. `input` is the port it came in by, or the number of
    /// ports for a frame made here.
    #[inline]
    fn take_in(&mut self, handle: Handle, input: usize, net: &mut Net) {
        let frame = &net.pool.get(handle).frame;
        if self.is_multicast(frame, net) {
            return self.take_in_multicast(handle, input, net);
        }
        let Some(output) = self.output_towards(frame.to, frame.flow) else {
            return self.lose(handle, At::Input(input), net);
        };
        self.take_in_for(handle, input, output, net);
    }

    /// Finds room for a frame and lets it wait for an output.
    #[inline(never)]
    fn take_in_for(&mut self, handle: Handle, input: usize, output: usize, net: &mut Net) {
        let mut frame = net.pool.get(handle).frame;
        let class = frame.class as usize;
        let is_data = matches!(frame.body, Body::Data { .. });
        if input < self.ports.len() && !self.ports[input].sender.up {
            return self.lose(handle, At::Input(input), net);
        }
        let is_watched = is_data && self.isolation.as_ref().is_some_and(|it| it.is_monitored(class));
        if is_watched {
            if let Err(full) = self.place(handle, input, output, net) {
                return self.lose_for_want_of_room(handle, full, net);
            }
            frame = net.pool.get(handle).frame;
        } else if is_data && let Err(full) = self.find_room(&frame, input, output, net) {
            return self.lose_for_want_of_room(handle, full, net);
        }
        if let Some(port) = self.own_port_for(&frame, input) {
            return self.bypass(handle, port, net);
        }
        let what = match (is_data, is_watched) {
            (_, true) => What::Watched,
            (true, false) => What::Data,
            (false, false) => What::Message,
        };
        self.enqueue(handle, &frame, [input, output], what, net);
    }

    /// Lets a frame of data wait for an output, for which there is room, where frames may pass through.
    #[inline(never)]
    fn let_data_wait(&mut self, handle: Handle, input: usize, output: usize, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        self.enqueue(handle, &frame, [input, output], What::Data, net);
    }

    /// A frame waits for an output.
    #[inline(always)]
    fn enqueue(
        &mut self,
        handle: Handle,
        frame: &Frame,
        [input, output]: [usize; 2],
        what: What,
        net: &mut Net,
    ) {
        let (is_data, is_watched) = (what != What::Message, what == What::Watched);
        let class = usize::from(frame.class);
        net.pool.get_mut(handle).ingress = input as u16;
        self.waiting.push(handle, input, output, class, &mut net.pool);
        if is_data {
            self.ways.add(input, class, output, frame.length);
            self.charge(frame, input, net);
        }
        if self.is_staged() {
            if is_data {
                self.watch_input(frame, input, net);
            }
            match self.leaf {
                Some(_) => self.ask(frame, input, net),
                None => self.request(output, u64::from(frame.length), net),
            }
            return;
        }
        self.wait_at_output(frame, output, net);
        if is_watched {
            self.settle(output, net);
        }
        if is_data {
            self.watch_output(handle, output, net);
            self.watch_input(frame, input, net);
        } else {
            self.stamp(handle, output, net);
        }
        self.look_if_free(output, net);
    }

    /// Puts a frame of data on its output's wire at once if nothing is before it and nobody watches what it passes by.
    /// That gives what waiting for no time would give, for a third of the work.
    #[inline(always)]
    fn let_pass(&mut self, handle: Handle, frame: &Frame, input: usize, net: &mut Net) {
        let Frame { flow, to, length: octets, class: of_class, .. } = *frame;
        let (class, length) = (usize::from(of_class), u64::from(octets));
        self.books.received += length;
        let Some(output) = self.port_towards(to, flow) else {
            return self.lose(handle, At::Input(input), net);
        };
        let [into, out_of] = [input, output].map(|port| port * self.classes + class);
        let (sender, held) = (&self.ports[output].sender, self.inputs[into].meter.level());
        let goes = sender.is_idle(net.now)
            && length <= self.quiet.output
            && (held + length <= self.quiet.input
                || self.inputs[into].ignores_up_to() >= length
                    && self.stops.stays_silent(input, class, length, held))
            && self.waiting.has_room_for_passage(length, held);
        if !goes {
            return match self.find_room(frame, input, output, net) {
                Ok(()) => self.let_data_wait(handle, input, output, net),
                Err(full) => self.lose_for_want_of_room(handle, full, net),
            };
        }
        self.outputs[out_of].meter.touch(length);
        self.inputs[into].meter.touch(length);
        self.waiting.passed(input, out_of);
        self.books.sent += length;
        self.ports[output].sender.send_data(handle, octets, of_class, net);
    }

    /// A frame counts for the port that it waits for.
    #[inline]
    fn wait_at_output(&mut self, frame: &Frame, output: usize, net: &mut Net) {
        let class = usize::from(frame.class);
        self.outputs[output * self.classes + class].meter.add(net.now, u64::from(frame.length));
        self.ports[output].sender.ready |= 1 << class;
    }

    /// A copy of a frame that its input has seen already comes to wait for a port.
    fn show_to_output(&mut self, handle: Handle, output: usize, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        self.wait_at_output(&frame, output, net);
        self.watch_output(handle, output, net);
        self.look_if_free(output, net);
    }

    /// A frame finds no room. That must not be in a lossless class, unless a link had failed.
    #[inline(never)]
    fn lose_for_want_of_room(&mut self, handle: Handle, full: At, net: &mut Net) {
        let class = usize::from(net.pool.get(handle).frame.class);
        let is_grave = self.stops.is_lossless(class)
            && match full {
                At::Input(input) => !self.stops.is_excused(input, class),
                At::Output(_) => !self.stops.is_any_excused(),
            };
        self.lose_at(handle, full, is_grave, net);
    }

    /// Every frame of data that an input holds in a class, with the output it is for.
    fn held_by_input<'a>(
        &'a self,
        input: usize,
        class: usize,
        net: &'a Net,
    ) -> impl Iterator<Item = (usize, &'a Frame)> {
        let kept = self.acknowledgements.as_ref();
        let waiting = self.waiting.lists_of_input(input, class).enumerate();
        let across = kept.and(self.crossing.as_ref()).into_iter().flat_map(move |crossing| {
            let staged =
                move |port| self.waiting.staged(port * self.classes + class).map(|list| (port, list));
            let crossing = (0..self.ports.len()).map(|port| (port, crossing.flight(port)));
            crossing.chain((0..self.ports.len()).filter_map(staged))
        });
        let here = waiting.chain(across).flat_map(move |(output, list)| {
            let slots = list.iter(&net.pool).map(|(_, slot)| slot);
            slots
                .filter(move |slot| usize::from(slot.ingress) == input)
                .map(move |slot| (output, &slot.frame))
        });
        let sent = kept.into_iter().flat_map(move |kept| kept.copies_of(input));
        let of_leaf = self.leaf.iter().flat_map(move |leaf| leaf.kept(input, class)).flat_map(move |list| {
            let slots = list.iter(&net.pool).map(|(_, slot)| slot);
            slots
                .filter(move |slot| usize::from(slot.ingress) == input)
                .map(|slot| (slot.frame.to as usize, &slot.frame))
        });
        here.chain(sent).chain(of_leaf).filter(move |(_, frame)| is_data_of(frame, class))
    }

    /// Whether outputs send from buffers of their own.
    #[inline]
    fn is_staged(&self) -> bool {
        self.crossing.is_some() || self.leaf.is_some()
    }

    /// The wire behind an output, which may be another leaf's.
    fn wire_of_output(&self, output: usize) -> u32 {
        match &self.leaf {
            Some(leaf) => leaf.spot(output).wire,
            None => self.ports[output].sender.wire,
        }
    }

    /// The output for a frame. Those of a fabric are numbered by their hosts.
    #[inline]
    fn output_towards(&self, to: u32, flow: u32) -> Option<usize> {
        if self.leaf.is_some() { Some(to as usize) } else { self.port_towards(to, flow) }
    }

    /// The port for a frame that has no fabric to cross.
    #[inline(always)]
    fn port_towards(&self, to: u32, flow: u32) -> Option<usize> {
        if self.masked_choices.is_empty() {
            let port = self.next[to as usize];
            return (port != NOWHERE).then_some(usize::from(port));
        }
        // Which of the two it is cannot be foretold: both are worked out.
        let hash = stream::mix(u64::from(flow) << 32 | u64::from(self.id.0));
        let (port, chosen) =
            (self.next[to as usize], self.masked_choices[hash as usize & (self.masked_choices.len() - 1)]);
        match std::hint::select_unpredictable(port == CHOICE, chosen, port) {
            CHOICE => {
                let choices = match self.choices.as_slice() {
                    [] => self.routes[self.epoch].ports(self.id, HostId(to)),
                    common => common,
                };
                Some(usize::from(choices[(hash % choices.len() as u64) as usize]))
            }
            NOWHERE => None,
            port => Some(usize::from(port)),
        }
    }

    /// Something changed that may let a frame go.
    #[inline]
    fn look_if_free(&mut self, port: usize, net: &mut Net) {
        let sender = &mut self.ports[port].sender;
        if sender.is_free(net.now) {
            self.look(port, net);
        } else {
            sender.look_at(sender.free_at(), net);
        }
    }

    /// The port is free: send what may go.
    #[inline]
    fn look(&mut self, port: usize, net: &mut Net) {
        let Port { sender, turns } = &mut self.ports[port];
        if !sender.up {
            return;
        }
        if let Some(handle) = sender.control.pop(&net.pool) {
            sender.send(handle, net);
            if sender.ready != 0 || !sender.control.is_empty() {
                sender.look_at(sender.free_at(), net);
            }
            return;
        }
        let eligible = sender.ready & !sender.held;
        if eligible == 0 {
            return;
        }
        let base = port * self.classes;
        let waiting = &self.waiting;
        let class = if self.is_strict {
            highest(eligible)
        } else {
            turns.pick(eligible, |class| waiting.head_length(base + class, &net.pool))
        };
        let (handle, is_last) = self.waiting.pop(port, class, &net.pool);
        if is_last {
            sender.ready &= !(1 << class);
        }
        let slot = net.pool.get(handle);
        let (frame, input) = (slot.frame, slot.ingress as usize);
        let length = u64::from(frame.length);
        let place = &mut self.outputs[base + class];
        place.meter.remove(net.now, length);
        self.books.sent += length;
        if place.sampler.is_some() && place.meter.level() > self.quiet.output {
            self.consult_departure(handle, base + class, net);
        }
        let isolated = if self.isolation.is_some() { self.leave(handle, port, class, net) } else { None };
        let sender = &mut self.ports[port].sender;
        sender.send(handle, net);
        if let Some(class) = isolated {
            sender.count_as(class);
        }
        if sender.ready != 0 {
            sender.look_at(sender.free_at(), net);
        }
        if isolated.is_some() {
            self.tell_of_the_freed(port, net);
        }
        let is_data = matches!(frame.body, Body::Data { .. });
        if self.is_staged() {
            if is_data {
                self.acknowledge(port, frame, input, net);
            }
            self.vacate(port, class, length, net);
        } else if is_data {
            self.ways.remove(input, class, port, frame.length);
            self.discharge(&frame, input, net);
        }
    }

    fn send_control(&mut self, port: usize, body: Body, net: &mut Net) {
        if !self.ports[port].sender.up {
            return;
        }
        let frame = Frame { born: net.now, flow: 0, to: self.node, body, length: 64, class: 0 };
        let handle = net.pool.put(frame);
        self.ports[port].sender.control.push(&mut net.pool, handle);
        self.look_if_free(port, net);
    }

    /// A frame is lost here, for no fault of the switch.
    fn lose(&mut self, handle: Handle, at: At, net: &mut Net) {
        self.lose_at(handle, at, false, net);
    }

    /// A frame is lost here. If that is grave, it ends the run.
    #[inline(always)]
    fn lose_at(&mut self, handle: Handle, at: At, is_grave: bool, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        net.pool.free(handle);
        let (class, length) = (frame.class as usize, u64::from(frame.length));
        self.books.dropped += length;
        net.lost[frame.flow as usize] += u64::from(matches!(frame.body, Body::Data { .. }));
        let (port, place) = match at {
            At::Input(input) if input < self.ports.len() => {
                (input, &mut self.inputs[input * self.classes + class])
            }
            At::Input(_) => return,
            At::Output(output) => (output, &mut self.outputs[output * self.classes + class]),
        };
        let wire = self.ports[port].sender.wire;
        place.dropped += 1;
        // The first of a sampling interval; the count of the rest is in the sample.
        if place.dropped == 1 {
            note_loss(&frame, at, wire, net);
        }
        if is_grave {
            net.break_off(Fault::not_lossless(net, wire, net.classes[class], length));
        }
    }

    /// The link behind a port failed or came back. Frames that wait for a dead port are lost.
    pub(crate) fn set_link(&mut self, port: usize, up: bool, net: &mut Net) {
        self.ports[port].sender.set_link(up, net);
        self.lets_pass = self.may_pass && self.ports.iter().all(|port| port.sender.up);
        if up {
            self.stop_again(port, net);
            self.announce(port, net);
            self.look_if_free(port, net);
            return;
        }
        self.forget_neighbour(port);
        // What waits behind a marker can be taken only when the other queue is empty: the second time at the latest.
        let rounds = if self.isolation.is_some() { 2 } else { 1 };
        for class in (0..self.classes).cycle().take(rounds * self.classes) {
            // What waits at the inputs of other leaves learns of it only at the output.
            if self.leaf.is_none() {
                self.lose_requests(port, class, net);
            }
            while self.ports[port].sender.ready & (1 << class) != 0 {
                let (handle, is_last) = self.waiting.pop(port, class, &net.pool);
                if is_last {
                    self.ports[port].sender.ready &= !(1 << class);
                }
                let slot = net.pool.get(handle);
                let (frame, input) = (slot.frame, slot.ingress as usize);
                let length = u64::from(frame.length);
                self.outputs[port * self.classes + class].meter.remove(net.now, length);
                if self.isolation.is_some() {
                    self.leave(handle, port, class, net);
                    self.tell_of_the_freed(port, net);
                }
                if self.is_staged() {
                    self.vacate(port, class, length, net);
                }
                if matches!(frame.body, Body::Data { .. }) {
                    if self.is_staged() {
                        self.release_copy(&frame, input, net);
                    } else {
                        self.ways.remove(input, class, port, frame.length);
                        self.discharge(&frame, input, net);
                    }
                }
                self.lose(handle, At::Output(port), net);
            }
        }
    }

    /// Serves a port at another rate.
    pub(crate) fn set_service(&mut self, port: usize, rate: Option<quell_proto::units::Rate>, net: &mut Net) {
        self.ports[port].sender.set_service(rate, net);
    }

    /// Links have failed or come back: routes are now those of another epoch.
    pub(crate) fn set_epoch(&mut self, epoch: usize) {
        self.epoch = epoch;
        self.follow_routes(self.next.len());
    }

    fn follow_routes(&mut self, hosts: usize) {
        let routes = &self.routes[self.epoch];
        let mut common: Option<&[u16]> = None;
        let mut are_common = true;
        self.next = (0..hosts)
            .map(|host| match routes.ports(self.id, HostId(host as u32)) {
                [] => NOWHERE,
                [port] => *port,
                several => {
                    are_common &= *common.get_or_insert(several) == several;
                    CHOICE
                }
            })
            .collect();
        self.masked_choices = match common {
            None => Vec::new(),
            Some(common) if are_common && common.len().is_power_of_two() => common.to_vec(),
            Some(_) => vec![CHOICE],
        };
        self.choices = common.filter(|_| are_common).unwrap_or_default().to_vec();
    }

    /// What it points to is wanted soon, as far as it concerns data; `data` are its classes.
    pub(super) fn bring_contents_near(&self, data: &[usize]) {
        for (port, first) in self.ports.iter().zip((0..).step_by(self.classes)) {
            port.sender.bring_near();
            for class in data {
                bring_near(&self.outputs[first + class]);
                bring_near(&self.inputs[first + class]);
            }
        }
        bring_near(&self.masked_choices[..]);
        self.waiting.bring_near();
    }

    /// So are the wires that it sends on, and the ends of its queues.
    pub(super) fn bring_wires_near(&self, wires: &[Wire], pool: &Pool) {
        for port in &self.ports {
            bring_near(&wires[port.sender.wire as usize]);
        }
        self.waiting.bring_ends_near(pool);
    }

    /// So are the last frames on those wires.
    pub(super) fn bring_last_near(&self, wires: &[Wire], pool: &Pool) {
        for port in &self.ports {
            wires[port.sender.wire as usize].bring_last_near(pool);
        }
    }

    /// The first thing about this switch that does not add up, if any.
    pub(crate) fn audit(&self, net: &Net) -> Option<Fault> {
        let waiting: u64 = self.outputs.iter().map(|output| output.meter.level()).sum();
        let crossing = self.crossing.as_ref().map_or(0, Crossing::octets);
        let held = waiting + crossing + self.leaf.as_ref().map_or(0, |leaf| leaf.inside);
        let Books { received, made, sent, dropped } = self.books;
        (received + made != sent + dropped + held).then_some(Fault::Books {
            node: self.node,
            at: net.now,
            came: received + made,
            went: sent + dropped,
            held,
        })
    }
}

/// What of a port is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// What waits for it.
    Output,
    /// What it brought in.
    Input,
}

/// What comes to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Data,
    /// Data whose flow may be isolated.
    Watched,
    /// Anything else.
    Message,
}

/// Where in a switch a frame is lost.
#[derive(Clone, Copy, Debug)]
enum At {
    Input(usize),
    Output(usize),
}

impl Switch {
    /// The sending half of a port.
    pub(crate) fn sender_mut(&mut self, port: usize) -> &mut Sender {
        &mut self.ports[port].sender
    }

    /// Mean and peak held for a port, notifications and drops, since the last sample.
    pub(crate) fn take_output(
        &mut self,
        port: usize,
        class: usize,
        span: quell_proto::units::Duration,
        now: Instant,
    ) -> [u64; 4] {
        self.outputs[port * self.classes + class].take(span, now)
    }

    /// Reads of the culprit array for a port's output or input since the last sample, where there is one.
    pub(crate) fn take_reads(&mut self, port: usize, class: usize, side: Side) -> Option<u64> {
        self.congestion.as_ref().filter(|points| points.has_array())?;
        let queue = port * self.classes + class;
        let place = match side {
            Side::Output => &mut self.outputs[queue],
            Side::Input => &mut self.inputs[queue],
        };
        place.watcher.as_mut().map(|watcher| watcher.take_reads())
    }

    /// Frames that a port's output marked since the last sample, where it marks any.
    pub(crate) fn take_marks(&mut self, port: usize, class: usize) -> Option<u64> {
        let place = &mut self.outputs[port * self.classes + class];
        let sampled = place.sampler.as_deref_mut().and_then(Sampler::take_marks);
        let isolated = self.isolation.as_deref_mut().and_then(|it| it.take_marks(port, class));
        isolated.map(|isolated| isolated + sampled.unwrap_or(0)).or(sampled)
    }

    /// Likewise of an input, and for how long it stopped its peer.
    pub(crate) fn take_input(
        &mut self,
        port: usize,
        class: usize,
        span: quell_proto::units::Duration,
        now: Instant,
    ) -> [u64; 5] {
        let stopped = self.stops.take_stopped(port, class, now);
        let [mean, peak, cnms, dropped] = self.inputs[port * self.classes + class].take(span, now);
        [mean, peak, stopped, cnms, dropped]
    }
}

/// Records that a frame was lost at a port, the one that sends on a wire.
#[cold]
fn note_loss(frame: &Frame, at: At, wire: u32, net: &mut Net) {
    let Some(data) = net.data_class(usize::from(frame.class)) else { return };
    let (flow, value) = (Some(frame.flow), i64::from(frame.length));
    match at {
        At::Input(_) => net.input_event(wire, data, EventKind::Drop, flow, value),
        At::Output(_) => net.port_event(wire, data, EventKind::Drop, flow, value),
    }
}

/// Whether a frame is data of this class.
fn is_data_of(frame: &Frame, class: usize) -> bool {
    usize::from(frame.class) == class && matches!(frame.body, Body::Data { .. })
}

/// Draws for the choice of a culprit, one stream a switch.
fn culprit_dice(seed: u64, switch: SwitchId) -> Dice {
    Dice::new(seed, u64::from(switch.0), stream::CULPRIT)
}

/// A place where frames wait in virtual output queues.
#[derive(Clone, Debug, Default)]
struct Virtual {
    lists: Box<[List]>,
    /// The inputs that hold a frame for this output.
    ring: Ring,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_passing_frame_touches_of_a_port_is_one_line_of_the_cache() {
        assert_eq!((align_of::<Port>(), size_of::<Port>()), (64, 128));
        assert!(std::mem::offset_of!(Port, sender) == 0 && Sender::HOT <= 64, "{}", Sender::HOT);
        assert_eq!(size_of::<Place>(), 64);
    }
}
