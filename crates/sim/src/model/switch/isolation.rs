//! Congestion isolation: a second queue behind each output, for the flows that fill the first.
//!
//! One [`IsolationPoint`] stands at each output, for one pair of classes. It decides where each frame of the monitored
//! class goes; here are the queues, the markers in them, the messages to neighbours, and what a frame in the congesting
//! queue is: of the congesting class while it is in this switch, as far as room, pauses and turns go, and of its own
//! again on the wire. The neighbour learns of the flow by messages, not by its frames.

use super::{At, Switch};
use crate::model::frame::{Body, Frame, Handle};
use crate::model::net::Net;
use crate::model::octets::lldp_length;
use crate::model::stream;
use crate::scenario::plan::{CimForm, Discovery, NodeId, Plan};
use crate::scenario::plan_isolation::{agreement, heard, shares_queues};
use quell_proto::control::isolation::{
    Agreement, Announcement, IsolationPoint, Levels, Message, Queue, Slot, agree,
};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration};
use quell_record::EventKind;

/// Congestion isolation of one switch.
#[derive(Debug)]
pub(super) struct Isolation {
    /// The class that is watched.
    monitored: u8,
    /// The class that congesting flows are moved to.
    congesting: u8,
    /// One for each port.
    points: Vec<Point>,
    /// Class of messages, and what they travel in.
    messages: u8,
    form: CimForm,
    releases: bool,
    /// Whether the ends understand marks.
    marks: bool,
    /// Flows of an output that are free again, and of which a neighbour is to be told.
    freed: Vec<u32>,
    /// How long a flow must be silent, if no neighbour is more patient.
    inactivity: Duration,
    /// What it tells its neighbours of itself, where that is done by frames.
    announcement: Option<Announcement>,
}

#[derive(Debug)]
struct Point {
    point: IsolationPoint<u32, Box<[Slot<u32>]>>,
    /// How much of a frame a message to the neighbour behind this port quotes; `None`: it is told nothing.
    quotes: Option<u16>,
    /// Frames marked since the last sample.
    marks: u64,
    /// The node that neighbour is.
    neighbour: u32,
    /// Flows of this output that a neighbour was told of, and the port towards it; kept where it is told of the end too.
    told: Vec<(u32, u16)>,
}

impl Point {
    /// Does what was agreed upon with the neighbour, if anything was.
    fn follow(&mut self, agreed: Option<Agreement>) {
        self.quotes = None;
        if let Some(Agreement::Signals { frame_octets, inactivity }) = agreed {
            self.quotes = Some(frame_octets);
            self.point.set_inactivity(inactivity);
        }
    }
}

impl Isolation {
    /// Whether frames of this class are watched.
    #[inline]
    pub(super) fn is_monitored(&self, class: usize) -> bool {
        usize::from(self.monitored) == class
    }
}

impl Isolation {
    /// Whether a flow has the class that is watched.
    fn is_in_use(&self) -> bool {
        self.monitored != UNUSED
    }

    /// The class that frames of a class wait for at an output with these classes `ready`, since a marker is before them.
    pub(super) fn waits_for_markers(&self, class: usize, ready: u8) -> Option<usize> {
        let waits = usize::from(self.congesting) == class && ready & (1 << class) == 0 && self.is_in_use();
        waits.then_some(usize::from(self.monitored))
    }

    /// Frames that an output marked in its congesting queue since the last sample, if that is meant.
    pub(super) fn take_marks(&mut self, port: usize, class: usize) -> Option<u64> {
        (usize::from(self.congesting) == class).then(|| std::mem::take(&mut self.points[port].marks))
    }
}

impl Switch {
    pub(super) fn install_isolation(&mut self, plan: &Plan, seed: u64, net: &Net) {
        let Some(own) = &plan.switches[self.id.0 as usize].isolation else { return };
        let class_of = |priority| net.classes.iter().position(|class| *class == priority).map(|it| it as u8);
        let here = NodeId::Switch(self.id);
        let neighbours: Vec<NodeId> = (plan.links.iter())
            .flat_map(|link| [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])])
            .filter(|(own, _)| *own == here)
            .map(|(_, peer)| peer)
            .collect();
        // Where it is yet to be heard of, a neighbour is as good as one without.
        let waits_for_frames = plan.discovery == Discovery::Frames && own.signals();
        let alone: Vec<bool> =
            neighbours.iter().map(|node| waits_for_frames || !shares_queues(plan, own, *node)).collect();
        let points = neighbours.into_iter().zip(0u64..).map(|(neighbour, port)| {
            let number = super::super::net::node_index(plan, neighbour);
            let agreed = agreement(own, net.announced(self.node), net.announced(number));
            let dice = Dice::new(seed, u64::from(self.id.0) << 32 | port, stream::ISOLATION);
            let slots = vec![None; own.table as usize].into_boxed_slice();
            let mut point = Point {
                point: IsolationPoint::new(own.config, slots, dice),
                quotes: None,
                neighbour: number,
                marks: 0,
                told: Vec::new(),
            };
            point.follow(agreed.filter(|_| !waits_for_frames));
            point
        });
        self.isolation = Some(Box::new(Isolation {
            monitored: class_of(own.monitored).unwrap_or(UNUSED),
            congesting: class_of(own.congesting).expect("what flows are moved to is in use"),
            points: points.collect(),
            messages: if own.signals() { class_of(own.messages.priority).unwrap_or(0) } else { 0 },
            form: own.messages.form,
            releases: own.releases,
            marks: plan.scheme.understands_marks(),
            freed: Vec::new(),
            inactivity: own.config.inactivity,
            announcement: heard(net.announced(self.node)).filter(|_| waits_for_frames),
        }));
        let Some(isolation) = self.isolation.as_deref().filter(|it| it.is_in_use()) else { return };
        let Isolation { monitored, congesting, .. } = *isolation;
        for (port, _) in self.ports.iter_mut().zip(&alone).filter(|(_, alone)| **alone) {
            port.sender.disguise(congesting, monitored);
        }
        if let Some(both) = own.both {
            self.stops.couple(both, [monitored, congesting], alone);
        }
    }

    /// Announces its queues at all ports, as the run begins.
    pub(crate) fn announce_all(&mut self, net: &mut Net) {
        for port in 0..self.ports.len() {
            self.announce(port, net);
        }
    }

    /// Tells the neighbour behind a port of its queues, where that is done by frames: as soon as the port looks for one.
    pub(super) fn announce(&mut self, port: usize, net: &mut Net) {
        if self.isolation.as_ref().is_none_or(|it| it.announcement.is_none()) {
            return;
        }
        let body = Body::Lldp { port: port as u16 };
        let length = lldp_length(self.node, port as u16, net);
        let frame = Frame { born: net.now, flow: 0, to: self.node, body, length, class: 0 };
        let handle = net.pool.put(frame);
        let sender = &mut self.ports[port].sender;
        sender.control.push(&mut net.pool, handle);
        sender.look_at(sender.free_at().max(net.now), net);
    }

    /// The neighbour behind a port told of its queues.
    pub(super) fn on_lldp(&mut self, handle: Handle, port: usize, net: &mut Net) {
        let from = net.pool.get(handle).frame.to;
        net.pool.free(handle);
        let Some(isolation) = self.isolation.as_deref_mut() else { return };
        let (Some(ours), Some(theirs)) = (isolation.announcement, heard(net.announced(from))) else { return };
        isolation.points[port].follow(Some(agree(&ours, isolation.inactivity, Some(&theirs))));
        if isolation.is_in_use() && ours.map.pairs().all(|(own, to)| theirs.map.congesting(own) == Some(to)) {
            self.meet_peer(port, net);
            if self.ports[port].sender.undisguise(net) {
                self.look_if_free(port, net);
            }
        }
    }

    /// The link to the neighbour behind a port failed: what it told of itself is not known any more, where it tells it anew.
    pub(super) fn forget_neighbour(&mut self, port: usize) {
        if let Some(isolation) = self.isolation.as_deref_mut().filter(|it| it.announcement.is_some()) {
            isolation.points[port].quotes = None;
        }
    }

    /// Decides where a frame of the monitored class waits, if there is room for it. Afterwards it is of the class whose
    /// queue it goes to, and all that goes before it there is in place.
    pub(super) fn place(
        &mut self,
        handle: Handle,
        input: usize,
        output: usize,
        net: &mut Net,
    ) -> Result<(), At> {
        self.free_the_silent(output, net);
        let isolation = self.isolation.as_deref_mut().expect("it was asked for");
        let Isolation { monitored, congesting, .. } = *isolation;
        let frame = net.pool.get(handle).frame;
        let is_isolated = isolation.points[output].point.is_isolated(net.now, frame.flow);
        let moved = Frame { class: congesting, ..frame };
        let room_there = self.find_room(&moved, input, output, net);
        if is_isolated {
            net.pool.get_mut(handle).frame.class = congesting;
            room_there?;
        } else {
            self.find_room(&frame, input, output, net)?;
            if room_there.is_err() {
                return Ok(());
            }
        }
        let base = output * self.classes;
        let held = |class: u8| Bytes::new(self.outputs[base + usize::from(class)].meter.level());
        let levels = Levels { monitored: held(monitored), congesting: held(congesting) };
        let isolation = self.isolation.as_deref_mut().expect("it is there");
        let can_signal = isolation.points.get(input).is_some_and(|it| it.quotes.is_some());
        let point = &mut isolation.points[output].point;
        let placement = point.on_frame(net.now, frame.flow, frame.bytes(), levels, can_signal);
        if placement.queue == Queue::Monitored {
            return Ok(());
        }
        net.pool.get_mut(handle).frame.class = congesting;
        if placement.marked && isolation.marks {
            isolation.points[output].marks += u64::from(net.pool.get_mut(handle).frame.mark());
        }
        if !is_isolated {
            self.note_isolated(output, frame.flow, FOUND_HERE, net);
        }
        if placement.markers {
            self.put_markers(output, net);
        }
        if placement.signal {
            self.tell_neighbour(output, input, frame.flow, Message::Add, net);
        }
        Ok(())
    }

    fn note_isolated(&mut self, output: usize, flow: u32, how: i64, net: &mut Net) {
        let isolation = self.isolation.as_deref().expect("it is there");
        if let Some(data) = net.data_class(usize::from(isolation.congesting)) {
            net.port_event(self.ports[output].sender.wire, data, EventKind::Isolated, Some(flow), how);
        }
    }

    /// Puts a marker behind all that waits in both queues.
    fn put_markers(&mut self, output: usize, net: &mut Net) {
        let isolation = self.isolation.as_deref_mut().expect("it is there");
        let base = output * self.classes;
        let mut put = |list: &mut crate::model::frame::List| {
            let handle = net.pool.put(Frame {
                born: net.now,
                flow: 0,
                to: 0,
                body: Body::Marker,
                length: 0,
                class: 0,
            });
            list.push(&mut net.pool, handle);
        };
        let list = self.waiting.of_output(base + usize::from(isolation.monitored));
        if list.is_empty() {
            isolation.points[output].point.markers().leave_monitored();
        } else {
            put(list);
        }
        put(self.waiting.of_output(base + usize::from(isolation.congesting)));
    }

    /// A frame was put into the congesting queue of an output, or one was taken from either of the two: markers that
    /// have come to their heads leave, and what may be sent is ready.
    pub(super) fn settle(&mut self, output: usize, net: &mut Net) {
        let isolation = self.isolation.as_deref_mut().expect("it is there");
        let base = output * self.classes;
        let markers = isolation.points[output].point.markers();
        let is_marker = |handle: Handle, net: &Net| matches!(net.pool.get(handle).frame.body, Body::Marker);
        let list = self.waiting.of_output(base + usize::from(isolation.monitored));
        while let Some(head) = list.head().filter(|head| is_marker(*head, net)) {
            list.pop(&net.pool);
            net.pool.free(head);
            markers.leave_monitored();
        }
        let monitored_ready = !list.is_empty();
        let list = self.waiting.of_output(base + usize::from(isolation.congesting));
        while let Some(head) = list.head().filter(|head| is_marker(*head, net)) {
            if !markers.leave_congesting() {
                break;
            }
            list.pop(&net.pool);
            net.pool.free(head);
        }
        let congesting_ready = list.head().is_some_and(|head| !is_marker(head, net));
        let ready = &mut self.ports[output].sender.ready;
        for (class, is_ready) in
            [(isolation.monitored, monitored_ready), (isolation.congesting, congesting_ready)]
        {
            // A class that no flow has is never ready.
            let bit = 1u8.checked_shl(u32::from(class)).unwrap_or(0);
            *ready = if is_ready { *ready | bit } else { *ready & !bit };
        }
    }

    /// A frame was taken from a queue of an output, to be sent or lost. If it was isolated, it is of its own class again,
    /// and this says which it was of.
    pub(super) fn leave(&mut self, handle: Handle, output: usize, class: usize, net: &mut Net) -> Option<u8> {
        let isolation = self.isolation.as_deref_mut().expect("it is there");
        let Isolation { monitored, congesting, .. } = *isolation;
        let was_isolated = usize::from(congesting) == class;
        if !was_isolated && !isolation.is_monitored(class) {
            return None;
        }
        if was_isolated {
            let frame = &mut net.pool.get_mut(handle).frame;
            frame.class = monitored;
            let Isolation { points, freed, releases, .. } = isolation;
            points[output].point.on_departure(net.now, frame.flow, |stream| {
                if *releases && stream.messages > 0 {
                    freed.push(stream.flow);
                }
            });
        }
        self.settle(output, net);
        was_isolated.then_some(congesting)
    }

    /// The neighbour behind a port sent a message about a flow that goes to it.
    pub(super) fn on_cim(&mut self, handle: Handle, port: usize, net: &mut Net) {
        let Frame { flow, body, .. } = net.pool.get(handle).frame;
        net.pool.free(handle);
        let Some(isolation) = self.isolation.as_deref_mut() else { return };
        let Body::Cim { adds, .. } = body else { unreachable!("it was looked at") };
        let message = if adds { Message::Add } else { Message::Delete };
        let point = &mut isolation.points[port].point;
        let before = point.counters().named;
        point.on_message(net.now, flow, message, |_| {});
        if point.counters().named > before {
            self.note_isolated(port, flow, NAMED_BY_NEIGHBOUR, net);
        }
    }

    /// Frees the flows of an output whose time is over and tells neighbours so, where those are told of the end too. Where
    /// they are not, nobody needs to know before the flow's next frame.
    fn free_the_silent(&mut self, output: usize, net: &mut Net) {
        let Some(isolation) = self.isolation.as_deref_mut().filter(|it| it.releases) else { return };
        let Isolation { points, freed, .. } = isolation;
        points[output].point.expire(net.now, |stream| {
            if stream.messages > 0 {
                freed.push(stream.flow);
            }
        });
        self.tell_of_the_freed(output, net);
    }

    /// Tells neighbours of the flows of an output that are free again, once what freed them is on its way.
    pub(super) fn tell_of_the_freed(&mut self, output: usize, net: &mut Net) {
        while let Some(isolation) = self.isolation.as_deref_mut()
            && let Some(flow) = isolation.freed.pop()
        {
            let told = &mut isolation.points[output].told;
            if let Some(index) = told.iter().position(|(other, _)| *other == flow) {
                let (_, port) = told.swap_remove(index);
                self.tell_neighbour(output, usize::from(port), flow, Message::Delete, net);
            }
        }
    }

    /// Sends a message about a flow that waits for an output to the neighbour that sends it, behind a port.
    fn tell_neighbour(&mut self, output: usize, port: usize, flow: u32, message: Message, net: &mut Net) {
        let isolation = self.isolation.as_deref_mut().expect("it is there");
        let Some(octets) = isolation.points[port].quotes else { return };
        let (form, length) = (isolation.form, length_of(isolation.form, octets));
        let adds = message == Message::Add;
        if adds && isolation.releases {
            let told = &mut isolation.points[output].told;
            if !told.iter().any(|(other, _)| *other == flow) {
                told.push((flow, port as u16));
            }
        }
        let frame = Frame {
            born: net.now,
            flow,
            to: isolation.points[port].neighbour,
            body: Body::Cim { adds, form, octets, node: self.node },
            length,
            class: isolation.messages,
        };
        let monitored = usize::from(isolation.monitored);
        self.inputs[port * self.classes + monitored].cnms += 1;
        if !self.ports[port].sender.up {
            return;
        }
        self.books.made += u64::from(length);
        let handle = net.pool.put(frame);
        net.pool.get_mut(handle).ingress = self.ports.len() as u16;
        self.waiting.push(handle, self.ports.len(), port, usize::from(frame.class), &mut net.pool);
        self.wait_at_output(&frame, port, net);
        self.look_if_free(port, net);
    }
}

/// The monitored class where no flow has it.
const UNUSED: u8 = u8::MAX;

/// Values of [`EventKind::Isolated`].
const FOUND_HERE: i64 = 0;
const NAMED_BY_NEIGHBOUR: i64 = 1;

/// Octets of a message with so many of a frame in it, from destination address to check sequence.
fn length_of(form: CimForm, octets: u16) -> u16 {
    /// Addresses, a tag with the priority, EtherType and check sequence; and what the message itself is.
    const FIXED: u16 = 6 + 6 + 4 + 2 + 4 + quell_proto::wire::Cim::FIXED_LEN as u16;
    let udp = match form {
        CimForm::Layer2 => 0,
        CimForm::Ipv4 => 20 + 8,
        CimForm::Ipv6 => 40 + 8,
    };
    (FIXED + udp + octets).max(64)
}
