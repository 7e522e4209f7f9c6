//! Reliable connections: what is acknowledged, what is sent again, and how much may be on its way.
//!
//! Only hosts whose adapters have a transport have any of this. A flow's new frames wait in its queue as ever; a frame
//! that must be sent again is made anew when its turn comes, ahead of them. A flow whose window is full leaves the ring
//! of those that wait for a turn until an acknowledgement makes room.

use super::{Host, Path};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::{Body, Frame, Handle, MARKED, UNTAGGED};
use crate::model::ground::Own;
use crate::model::net::Net;
use crate::scenario::plan::{Completion, Plan, Scheme, Source, Transport};
use quell_proto::control::dctcp::{Acknowledged, DctcpWindow};
use quell_proto::control::go_back_n::{self, Reply};
use quell_proto::control::{Feedback, dctcp};
use quell_proto::units::{Bytes, Instant};
use std::cmp::Ordering;

/// The sending end of one flow.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    sender: go_back_n::Sender,
    window: Window,
    /// Length of its frames, and of the last one.
    lengths: [u16; 2],
    /// How many frames there are; the most there can be, if it does not end.
    frames: u64,
    /// Whether its window is full, and its queue waits for no turn.
    blocked: bool,
    /// When its timer is booked; [`Instant::NEVER`] if it is not.
    booked: Instant,
}

/// How much may be sent and not acknowledged.
#[derive(Clone, Debug)]
enum Window {
    Unlimited,
    Octets(u64),
    Dctcp(DctcpWindow),
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    receiver: go_back_n::Receiver,
    /// How many frames there are.
    frames: u64,
    /// A mark has come that no acknowledgement has told of.
    marked: bool,
}

impl Connection {
    fn new(transport: &Transport, scheme: &Scheme, shape: Shape) -> Connection {
        let window = match (scheme, transport.window) {
            (Scheme::Dctcp(config), most) => Window::Dctcp(DctcpWindow::new(dctcp::Config {
                max_window: most.unwrap_or(config.max_window),
                ..*config
            })),
            (_, Some(octets)) => Window::Octets(octets.get()),
            (_, None) => Window::Unlimited,
        };
        Connection {
            sender: go_back_n::Sender::new(transport.sender),
            window,
            lengths: shape.lengths,
            frames: shape.frames,
            blocked: false,
            booked: Instant::NEVER,
        }
    }

    /// Whether another frame fits the window. There is always room for one.
    fn has_room(&self) -> bool {
        let limit = match &self.window {
            Window::Unlimited => return true,
            Window::Octets(octets) => *octets,
            Window::Dctcp(window) => window.window().get(),
        };
        let outstanding = self.sender.outstanding();
        outstanding == 0 || (outstanding + 1) * u64::from(self.lengths[0]) <= limit
    }

    /// Whether a frame that was sent before is to be sent next.
    fn repeats(&self) -> bool {
        self.sender.next() < self.sender.fresh()
    }
}

/// The frames of a flow.
#[derive(Clone, Copy, Debug)]
struct Shape {
    lengths: [u16; 2],
    frames: u64,
}

impl Shape {
    const ENDLESS: Shape = Shape { lengths: [64; 2], frames: u64::MAX };

    fn of(source: &Source, plan: &Plan) -> Shape {
        let frame = source.frame.get();
        let least = plan.scheme.shortest_frame().get().min(frame);
        let frames = source.message.map_or(u64::MAX, |message| message.get().div_ceil(frame));
        let last = source.message.map_or(frame, |message| (message.get() - (frames - 1) * frame).max(least));
        Shape { lengths: [frame as u16, last as u16], frames }
    }
}

/// The receiving ends of all flows, where hosts have a transport. There, each source has one flow.
pub(crate) fn receiving(plan: &Plan) -> Vec<Receiving> {
    let Some(transport) = plan.transport() else { return Vec::new() };
    let receiver = go_back_n::Receiver::new(transport.receiver);
    let mut ends = vec![Receiving { receiver, frames: u64::MAX, marked: false }; plan.flows.len()];
    for source in &plan.sources {
        ends[source.flows[0].0 as usize].frames = Shape::of(source, plan).frames;
    }
    ends
}

/// The sending ends of a host's flows, where it has a transport.
pub(super) fn connections(plan: &Plan, own: &Own<'_>) -> Vec<Connection> {
    let Some(transport) = plan.transport() else { return Vec::new() };
    let mut shapes = vec![Shape::ENDLESS; own.flows.len()];
    for source in own.sources.iter().map(|number| &plan.sources[*number as usize]) {
        shapes[source.flows[0].0 as usize - own.flows.start] = Shape::of(source, plan);
    }
    shapes.into_iter().map(|shape| Connection::new(transport, &plan.scheme, shape)).collect()
}

/// Length of acknowledgements, and their class if it is not that of the data they are for.
pub(super) fn acknowledgements(plan: &Plan, net: &Net) -> (u16, Option<u8>) {
    let Some(transport) = plan.transport() else { return (0, None) };
    let class = transport.ack_priority.map(|priority| {
        let class = net.classes.iter().position(|class| *class == priority);
        class.expect("the priority of acknowledgements is in use") as u8
    });
    (transport.ack_frame.get() as u16, class)
}

impl Host {
    /// Takes the frame of a queue that goes next: its head, or one that is sent again before it. Says too whether it
    /// was sent before. `None` where the head is one that has arrived meanwhile.
    pub(super) fn next_of_connection(
        &mut self,
        class: usize,
        queue: usize,
        net: &mut Net,
    ) -> Option<(Handle, bool)> {
        let head = self.queues[queue].head().expect("a waiting queue holds a frame");
        let frame = net.pool.get(head).frame;
        let Body::Data { sequence, .. } = frame.body else { unreachable!("only data waits here") };
        let place = (frame.flow - self.first_flow) as usize;
        let connection = &mut self.connections[place];
        let next = connection.sender.next();
        let is_repeated = connection.repeats();
        let order = u64::from(sequence).cmp(&next);
        if order != Ordering::Greater {
            self.queues[queue].pop(&net.pool);
        }
        let handle = match order {
            Ordering::Equal => Some(head),
            Ordering::Greater => Some(net.pool.put(again(&frame, next, connection, net.now))),
            Ordering::Less => {
                net.pool.free(head);
                None
            }
        };
        if handle.is_some() {
            connection.sender.on_sent(net.now);
            self.wait_for_acknowledgement(place, net);
        }
        self.let_wait(place, queue, class, frame, net);
        handle.map(|handle| (handle, is_repeated))
    }

    /// A queue waits for a turn if its flow has something to send, and may.
    fn let_wait(&mut self, place: usize, queue: usize, class: usize, like: Frame, net: &mut Net) {
        let connection = &mut self.connections[place];
        if self.queues[queue].is_empty() && connection.repeats() {
            let next = connection.sender.next();
            let handle = net.pool.put(again(&like, next, connection, net.now));
            self.queues[queue].push(&mut net.pool, handle);
        }
        connection.blocked = !connection.has_room();
        if connection.blocked || self.queues[queue].is_empty() {
            self.waiting.remove(class, queue);
        } else {
            self.waiting.insert(class, queue);
        }
    }

    /// Whether a flow's window is full.
    #[inline]
    pub(super) fn is_blocked(&self, flow: u32) -> bool {
        !self.connections.is_empty() && self.connections[(flow - self.first_flow) as usize].blocked
    }

    /// An acknowledgement came, for all frames of a flow below a number.
    pub(super) fn on_acknowledgement(
        &mut self,
        flow: u32,
        below: u32,
        gap: bool,
        marked: bool,
        net: &mut Net,
    ) {
        let place = (flow - self.first_flow) as usize;
        let connection = &mut self.connections[place];
        let (before, naks) = (connection.sender.acknowledged(), connection.sender.naks());
        let below = u64::from(below);
        connection.sender.on_reply(net.now, if gap { Reply::Nak(below) } else { Reply::Ack(below) });
        let until = connection.sender.acknowledged();
        if let Window::Dctcp(window) = &mut connection.window {
            if until > before {
                let octets = Bytes::new((until - before) * u64::from(connection.lengths[0]));
                window.on_ack(Acknowledged { octets, marked, until, next: connection.sender.next() });
            }
            if connection.sender.naks() > naks {
                window.on_loss();
            }
        }
        if self.completion == Completion::Acknowledged && until > before && until == connection.frames {
            net.note_completion(flow);
        }
        if marked && matches!(self.scheme, Scheme::Dcqcn(_)) {
            self.on_message(flow, Feedback::Cnp, net);
        }
        self.go_on(place, flow, net);
    }

    /// Nothing was acknowledged for too long.
    pub(super) fn on_retransmit(&mut self, place: usize, net: &mut Net) {
        let connection = &mut self.connections[place];
        if connection.booked != net.now {
            return;
        }
        connection.booked = Instant::NEVER;
        if connection.sender.on_timeout(net.now)
            && let Window::Dctcp(window) = &mut connection.window
        {
            window.on_timeout();
        }
        self.wait_for_acknowledgement(place, net);
        self.go_on(place, self.first_flow + place as u32, net);
    }

    /// What may be sent of a flow has changed.
    fn go_on(&mut self, place: usize, flow: u32, net: &mut Net) {
        let Path { queue, .. } = self.paths[place];
        let crate::model::ground::Flow { to, class, .. } = net.flows[flow as usize];
        let body = Body::Data { sequence: 0, tag: UNTAGGED };
        let like = Frame { born: net.now, flow, to, body, length: 0, class };
        self.let_wait(place, queue as usize, usize::from(class), like, net);
        self.look_if_free(net);
    }

    /// Books the end of the flow's patience, unless an earlier look at it is booked.
    fn wait_for_acknowledgement(&mut self, place: usize, net: &mut Net) {
        let connection = &mut self.connections[place];
        if let Some(due) = connection.sender.next_timeout().filter(|due| *due < connection.booked) {
            connection.booked = due;
            net.agenda.book(due, self.node, Lane::new(LaneKind::Retransmit, place as u32));
        }
    }

    /// A frame of data arrived: acknowledges it, or says what is missing. Says whether it is to be delivered.
    pub(super) fn receive_reliably(&mut self, frame: &Frame, net: &mut Net) -> bool {
        let Body::Data { sequence, tag } = frame.body else { unreachable!("only data is acknowledged") };
        let end = &mut net.receiving[frame.flow as usize];
        end.marked |= tag == MARKED;
        let is_last = u64::from(sequence) + 1 == end.frames;
        let receipt = end.receiver.on_frame(net.now, u64::from(sequence), is_last);
        if let Some(reply) = receipt.reply {
            let mut marked = std::mem::take(&mut end.marked);
            if let Scheme::Dcqcn(dcqcn) = self.scheme {
                marked &=
                    dcqcn.in_acknowledgements && net.notification[frame.flow as usize].on_marked(net.now);
            }
            let (below, gap) = match reply {
                Reply::Ack(below) => (below, false),
                Reply::Nak(below) => (below, true),
            };
            let body = Body::Ack { below: below as u32, gap, marked };
            let (length, class) = self.acknowledgements;
            let to = net.flows[frame.flow as usize].from;
            let class = class.unwrap_or(frame.class);
            self.send_control(Frame { born: net.now, flow: frame.flow, to, body, length, class }, net);
        }
        receipt.delivered
    }

    /// Frames that a flow of this host sent again, and how often its patience ended.
    pub(crate) fn repeated(&self, flow: u32) -> (u64, u64) {
        let connection = self.connections.get((flow - self.first_flow) as usize);
        connection.map_or((0, 0), |it| (it.sender.retransmitted(), it.sender.timeouts()))
    }
}

/// A frame of a flow made anew.
fn again(like: &Frame, sequence: u64, connection: &Connection, now: Instant) -> Frame {
    let is_last = sequence + 1 == connection.frames;
    let body = Body::Data { sequence: sequence as u32, tag: UNTAGGED };
    Frame { born: now, body, length: connection.lengths[usize::from(is_last)], ..*like }
}
