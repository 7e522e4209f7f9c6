//! A host: what its sources offer waits in the adapter, goes out by turns under the limiters, and what comes in is
//! taken in at the host's own pace.

mod due;
mod limiter;
mod receive;
pub(crate) mod transport;
mod waiting;

use super::frame::{Body, Frame, Handle, List, MARKED, UNTAGGED, tag_of};
use super::ground::Own;
use super::near::bring_near;
use super::net::Net;
use super::port::{Sender, Turns};
use super::stream;
use crate::kernel::agenda::{Lane, LaneKind};
use crate::scenario::plan::{AdapterQueueing, Completion, LimiterScope, Plan, Scheme};
use crate::traffic::Arrivals;
use due::Due;
use limiter::{Limiter, Limiters};
use quell_proto::control::{Feedback, ecm, qcn_probe};
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use quell_record::EventKind;
use receive::Receiver;
use std::collections::{HashMap, VecDeque};
use transport::Connection;
use waiting::Waiting;

/// A host and its adapter.
#[derive(Debug)]
pub(crate) struct Host {
    node: u32,
    /// Its one port.
    pub sender: Sender,
    receiver: Receiver,
    queueing: AdapterQueueing,
    queues: Vec<List>,
    /// What waits for each [`Path::queue`], where that is limited, and the limit.
    full: Option<(Vec<u64>, u64)>,
    waiting: Waiting,
    /// Whose turn it is among the classes.
    turns: Turns,
    /// Whether what waits is neither limited in number nor kept until it is acknowledged, and classes go by rank alone.
    is_plain: bool,
    limiters: Limiters,
    /// How many of them have a reaction point. While none has, nobody need look at any.
    awake: u32,
    scheme: Scheme,
    /// The least octets of a frame of data.
    shortest: u16,
    /// Length and class of the frames that answer marks and probes, in a scheme that has them.
    answers: Option<(u16, u8)>,
    /// The sending ends of its flows, by [`Host::path`]; none where nothing is acknowledged.
    connections: Vec<Connection>,
    /// Length and class of acknowledgements, see [`transport::acknowledgements`].
    acknowledgements: (u16, Option<u8>),
    completion: Completion,
    reaction_delay: Duration,
    /// Notifications on their way from the port to the limiter.
    reactions: VecDeque<(Instant, u32, Feedback)>,
    sources: Vec<Source>,
    /// Which source offers next.
    due: Due,
    /// Where the flows of this host wait and what limits them, by [`Host::path`].
    paths: Vec<Path>,
    first_flow: u32,
}

/// Where a flow waits, what limits it, and where it goes.
#[derive(Clone, Copy, Debug)]
struct Path {
    queue: u32,
    limiter: u32,
    to: u32,
    /// The source that waits for a frame to leave.
    refill: Option<Refill>,
    class: u8,
}

/// A source that does something when a frame of it leaves.
#[derive(Clone, Copy, Debug)]
enum Refill {
    /// It is greedy, and gives another.
    Greedy(u32),
    /// It has the queue to itself, and is parked while that holds a frame.
    Parked(u32),
}

#[derive(Debug)]
struct Source {
    arrivals: Arrivals,
    flows: Vec<u32>,
    frame: u16,
    /// Whether each frame goes to all of its flows, instead of to one that is drawn.
    multicast: bool,
    /// What is left of a finite message.
    left: Option<u64>,
    /// Whether it is the only one to fill its queue, and can be counted without being drawn. Such a source gives its
    /// next frame when the last one leaves: what waits behind it is a number, not memory, and wakes nobody.
    parks: bool,
    /// Frames counted as offered that have not been given yet.
    counted: u64,
    /// What it waits for, if it is a part of a collective.
    script: Option<Box<Script>>,
}

/// What becomes of a frame that a source offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Leaves,
}

/// A frame that a source has offered, and the queue it is for.
#[derive(Clone, Copy, Debug)]
struct Offered {
    handle: Handle,
    queue: u32,
    flow: u32,
    length: u16,
    class: u8,
}

/// The transfers of a source, and which have begun.
#[derive(Debug)]
struct Script {
    octets: u64,
    transfers: u32,
    begun: u32,
    /// Those that may begin, of which some wait for the one before to leave.
    granted: u32,
    /// The flows whose transfers it waits for.
    after: Vec<u32>,
}

impl Host {
    pub(crate) fn new(
        plan: &Plan,
        index: u32,
        own: &Own<'_>,
        outbound: u32,
        seed: u64,
        net: &mut Net,
    ) -> Host {
        let host = &plan.hosts[index as usize];
        let classes = net.classes.len();
        let (first_flow, last_flow) = (own.flows.start, own.flows.end);
        let mut numbers =
            Numbering::new(host.adapter.queueing, host.adapter.limiter, classes, last_flow - first_flow);
        let mut paths: Vec<Path> = (first_flow..last_flow)
            .map(|flow| numbers.path(net.flows[flow].to, net.flows[flow].class))
            .collect();
        for members in net.groups.iter() {
            if own.flows.contains(&(members.start as usize)) {
                // A group is a destination of its own, which no host has the number of.
                let path = numbers.path(u32::MAX - members.start, net.flows[members.start as usize].class);
                for flow in members.clone() {
                    paths[flow as usize - first_flow] = Path { to: net.flows[flow as usize].to, ..path };
                }
            }
        }
        let mut sources = Vec::new();
        let mut due = Due::new();
        for number in own.sources.iter().map(|number| *number as usize) {
            let source = &plan.sources[number];
            let dice = stream::dice(seed, number, stream::SOURCE);
            let arrivals = Arrivals::new(source.pattern, source.start, source.stop, dice);
            let here = u32::try_from(sources.len()).expect("fewer than 2^32 sources");
            due.insert(arrivals.next(), here);
            if arrivals.toggles() != Instant::NEVER {
                net.agenda.book(arrivals.toggles(), index, Lane::new(LaneKind::Source, here));
            }
            if arrivals.is_greedy() {
                for flow in &source.flows {
                    paths[flow.0 as usize - first_flow].refill = Some(Refill::Greedy(here));
                }
            }
            sources.push(Source {
                arrivals,
                flows: source.flows.iter().map(|flow| flow.0).collect(),
                frame: u16::try_from(source.frame.get()).expect("a plan's frames fit an Ethernet"),
                multicast: source.multicast,
                left: source.message.or(source.script.as_ref().map(|it| it.transfer)).map(Bytes::get),
                parks: false,
                counted: 0,
                script: source.script.as_ref().map(|it| {
                    Box::new(Script {
                        octets: it.transfer.get(),
                        transfers: it.transfers,
                        begun: 1,
                        granted: 1,
                        after: it.after.iter().map(|flow| flow.0).collect(),
                    })
                }),
            });
        }
        // A queue that may turn frames away must see every one of them.
        if host.adapter.queue_limit.is_none() {
            park_lone_sources(&mut sources, &mut paths, first_flow, host.adapter.queueing);
        }
        let rate = net.wires[outbound as usize].speed.rate();
        let limiters = Limiters::new(plan, index, numbers.limiters, rate, seed);
        let mut built = Host {
            node: index,
            sender: Sender::new(index, 0, outbound),
            receiver: Receiver::new(&host.adapter.receive, index, outbound),
            queueing: host.adapter.queueing,
            queues: vec![List::default(); numbers.queues as usize],
            full: host.adapter.queue_limit.map(|limit| (vec![0; numbers.queues as usize], limit.get())),
            waiting: Waiting::new(classes, numbers.queues as usize),
            turns: Turns::new(host.adapter.schedule, &net.classes),
            is_plain: false,
            limiters,
            awake: 0,
            scheme: plan.scheme,
            shortest: plan.scheme.shortest_frame().get() as u16,
            answers: answers(plan, net),
            connections: transport::connections(plan, own),
            acknowledgements: transport::acknowledgements(plan, net),
            completion: plan.completion(),
            reaction_delay: host.adapter.reaction_delay,
            reactions: VecDeque::new(),
            sources,
            due,
            paths,
            first_flow: u32::try_from(first_flow).expect("fewer than 2^32 flows"),
        };
        built.is_plain =
            built.full.is_none() && built.connections.is_empty() && matches!(built.turns, Turns::Strict);
        if plan.scheme.limits_from_the_start() {
            built.set_limiters_up(net);
        }
        built.look_again(net);
        built
    }

    /// Lets every limiter hold its flows before anybody asks for it.
    fn set_limiters_up(&mut self, net: &mut Net) {
        for number in 0..self.limiters.count() {
            self.steer(number, |limiter, scheme| limiter.set_up(net.now, scheme));
            if let Some(flow) = self.first_flow_of(number) {
                self.note_limit(number, flow, net);
            }
        }
    }

    /// An event of this host has come.
    #[inline(always)]
    pub(crate) fn on_event(&mut self, lane: Lane, net: &mut Net) {
        if lane.is(LaneKind::Arrival) {
            return self.on_arrival(lane.index() as u32, net);
        }
        if lane.is(LaneKind::Transmit) {
            if self.sender.looks_now(net.now) {
                self.look_if_free(net);
            }
            return;
        }
        match lane.kind() {
            LaneKind::PauseExpiry => {
                if self.sender.on_expiry(net) {
                    self.on_resumed(net);
                }
            }
            LaneKind::Source => self.on_toggle(lane.index(), net),
            LaneKind::Reaction => self.on_reaction(net),
            LaneKind::Limiter => self.on_limiter(lane.index(), net),
            LaneKind::Retransmit => self.on_retransmit(lane.index(), net),
            LaneKind::Refresh => {
                if let Some(pause) = self.receiver.on_refresh(net) {
                    self.send_control(pause, net);
                }
            }
            LaneKind::Receive => {
                if let Some(go) = self.receiver.on_taken(net) {
                    self.send_control(go, net);
                }
                if net.has_stepped {
                    self.begin_transfers(net);
                }
            }
            LaneKind::Arrival | LaneKind::Transmit => unreachable!("seen to above"),
            LaneKind::Change
            | LaneKind::Cell
            | LaneKind::Message
            | LaneKind::Crossing
            | LaneKind::Acknowledgement
            | LaneKind::KeepAlive
            | LaneKind::Grant
            | LaneKind::Outlet => {
                unreachable!("a host books no {:?}", lane.kind())
            }
        }
    }

    fn on_arrival(&mut self, wire: u32, net: &mut Net) {
        let (handle, frame, _) = net.arrive(wire);
        if let Body::Data { tag, .. } = frame.body {
            if tag == MARKED && self.answers.is_some() {
                self.return_mark(frame.flow, net);
            }
            if !net.receiving.is_empty() && self.sender.up && !self.receive_reliably(&frame, net) {
                return net.pool.free(handle);
            }
            if let Some(stop) = self.receiver.on_frame(handle, self.sender.up, net) {
                self.send_control(stop, net);
            }
            if net.has_stepped {
                self.begin_transfers(net);
            }
            return;
        }
        match frame.body {
            _ if !self.sender.up => {}
            Body::Cnm { quantised, .. } => self.on_message(frame.flow, Feedback::Cnm { quantised }, net),
            Body::Bcn { offset, delta, point } => {
                let message = ecm::Message { offset, delta };
                self.on_message(frame.flow, Feedback::Bcn { point, message }, net);
            }
            Body::Becn => self.on_message(frame.flow, Feedback::Becn, net),
            Body::Cnp => self.on_message(frame.flow, Feedback::Cnp, net),
            Body::Ack { below, gap, marked } => {
                self.on_acknowledgement(frame.flow, below, gap, marked, net);
            }
            Body::Probe { worst, is_back: false } => {
                // Born when its source sent it: so the source knows how long it took.
                self.answer(frame.flow, frame.born, Body::Probe { worst, is_back: true }, net);
            }
            Body::Probe { worst, is_back: true } => {
                self.react(frame.flow, Feedback::Probe { took: net.now - frame.born, worst }, net);
            }
            Body::Pause { quanta } => self.on_pause(None, quanta, net),
            Body::Pfc { priority, quanta } => self.on_pause(Priority::new(priority), quanta, net),
            // It has no queues to agree on.
            Body::Lldp { .. } => {}
            Body::Cim { .. } | Body::Marker => unreachable!("a host has no part in isolation"),
            Body::Data { .. } => unreachable!("seen to above"),
        }
        net.pool.free(handle);
    }

    /// A transfer of a collective has arrived: those that waited for it begin.
    #[cold]
    fn begin_transfers(&mut self, net: &mut Net) {
        net.has_stepped = false;
        for number in 0..self.sources.len() {
            let Source { script: Some(script), left: Some(left), .. } = &mut self.sources[number] else {
                continue;
            };
            let is_over = *left == 0;
            let mut has_come = script.after.iter().map(|flow| net.steps[*flow as usize].done);
            if script.granted < script.transfers && has_come.all(|done| done >= script.granted) {
                script.granted += 1;
                if is_over {
                    self.give(number, net.now, net);
                }
            }
        }
        self.look_if_free(net);
    }

    /// The network tells of a flow of this host.
    fn on_message(&mut self, flow: u32, feedback: Feedback, net: &mut Net) {
        net.sent[flow as usize].cnms += 1;
        if self.reaction_delay == Duration::ZERO {
            self.react(flow, feedback, net);
        } else {
            let at = net.now + self.reaction_delay;
            self.reactions.push_back((at, flow, feedback));
            net.agenda.book(at, self.node, Lane::new(LaneKind::Reaction, 0));
        }
    }

    /// A frame arrived with a mark: its source is to know, in some schemes not of every one.
    fn return_mark(&mut self, flow: u32, net: &mut Net) {
        if net.notification.is_empty() {
            self.answer(flow, net.now, Body::Becn, net);
        } else if self.answers_by_acknowledgement() {
            // The next acknowledgement says so.
        } else if net.notification[flow as usize].on_marked(net.now) {
            self.answer(flow, net.now, Body::Cnp, net);
        }
    }

    fn answers_by_acknowledgement(&self) -> bool {
        matches!(self.scheme, Scheme::Dcqcn(dcqcn) if dcqcn.in_acknowledgements)
    }

    /// Answers the source of a flow. That waits for no limiter and no pause, as one on a lane of its own.
    fn answer(&mut self, flow: u32, born: Instant, body: Body, net: &mut Net) {
        let Some((length, class)) = self.answers else { return };
        let to = net.flows[flow as usize].from;
        self.send_control(Frame { born, flow, to, body, length, class }, net);
    }

    /// Sends a probe along the path of a limiter's first flow, ahead of what waits here; none while the port is paused.
    fn send_probe(&mut self, number: usize, net: &mut Net) {
        let Some((length, _)) = self.answers else { return };
        let Some(flow) = self.first_flow_of(number) else { return };
        let super::ground::Flow { to, class, .. } = net.flows[flow as usize];
        if self.sender.held & (1 << class) == 0 {
            let body = Body::Probe { worst: qcn_probe::NO_QUEUE, is_back: false };
            self.send_control(Frame { born: net.now, flow, to, body, length, class }, net);
        }
    }

    fn on_pause(&mut self, priority: Option<Priority>, quanta: quell_proto::units::Quanta, net: &mut Net) {
        let held_before = self.sender.held;
        if self.sender.on_pause(priority, quanta, net) {
            self.on_resumed(net);
        } else if self.sender.held != held_before && self.awake > 0 && self.scheme.qcn().is_some() {
            self.limiters.all_made().for_each(|limiter| limiter.on_paused(net.now));
        }
    }

    fn on_resumed(&mut self, net: &mut Net) {
        // No other scheme has clocks that pauses stop.
        if self.awake > 0 && self.scheme.qcn().is_some() {
            for number in 0..self.limiters.count() {
                if self.limiters.get_mut(number).is_some_and(|limiter| limiter.on_resumed(net.now)) {
                    self.rearm(number, net);
                }
            }
        }
        self.look_if_free(net);
    }

    fn on_reaction(&mut self, net: &mut Net) {
        while self.reactions.front().is_some_and(|(at, ..)| *at <= net.now) {
            let (_, flow, feedback) = self.reactions.pop_front().expect("it has a front");
            self.react(flow, feedback, net);
        }
    }

    /// A notification reaches the limiter of its flow.
    fn react(&mut self, flow: u32, feedback: Feedback, net: &mut Net) {
        let number = self.path(flow).limiter as usize;
        let was_active = self.limiters.is_active(number);
        self.steer(number, |limiter, scheme| limiter.on_feedback(net.now, feedback, scheme));
        match (was_active, self.limiters.is_active(number)) {
            (false, true) => self.note_limit(number, flow, net),
            (true, false) => self.note_release(number, net),
            _ => {}
        }
        self.rearm(number, net);
        self.look_if_free(net);
    }

    fn on_limiter(&mut self, number: usize, net: &mut Net) {
        let was_active = self.limiters.is_active(number);
        let Some(released) = self.steer(number, |limiter, _| limiter.on_timer(net.now)) else { return };
        if released {
            self.note_release(number, net);
        } else if !was_active
            && self.limiters.is_active(number)
            && let Some(flow) = self.first_flow_of(number)
        {
            // Adapters that cut by a clock: what they were told of takes effect now.
            self.note_limit(number, flow, net);
        }
        if self.limiters.get_or_make(number).take_probe() {
            self.send_probe(number, net);
        }
        self.rearm(number, net);
        self.look_if_free(net);
    }

    /// Tells a limiter something that may set it up or let it go.
    #[inline]
    fn steer<T>(&mut self, number: usize, tell: impl FnOnce(&mut Limiter, &Scheme) -> T) -> T {
        let limiter = self.limiters.get_or_make(number);
        let was_awake = limiter.is_awake();
        let said = tell(limiter, &self.scheme);
        self.awake = self.awake + u32::from(limiter.is_awake()) - u32::from(was_awake);
        said
    }

    /// Books the limiter's next timer, unless an earlier one is booked.
    fn rearm(&mut self, number: usize, net: &mut Net) {
        if let Some(at) = self.limiters.get_or_make(number).timer_to_book() {
            net.agenda.book(at, self.node, Lane::new(LaneKind::Limiter, number as u32));
        }
    }

    fn note_limit(&self, number: usize, flow: u32, net: &mut Net) {
        let bps = self.limiters.limit(number).map_or(0, Rate::bps);
        net.flow_event(flow, EventKind::Limited, i64::try_from(bps).unwrap_or(i64::MAX));
    }

    fn note_release(&self, number: usize, net: &mut Net) {
        if let Some(flow) = self.first_flow_of(number) {
            net.flow_event(flow, EventKind::Released, 0);
        }
    }

    /// The first flow that a limiter holds.
    fn first_flow_of(&self, number: usize) -> Option<u32> {
        let place = self.paths.iter().position(|path| path.limiter as usize == number)?;
        Some(self.first_flow + place as u32)
    }

    /// An on/off source turns.
    fn on_toggle(&mut self, number: usize, net: &mut Net) {
        self.pull(net);
        let source = &mut self.sources[number];
        let (on, greedy) = (source.arrivals.toggle(net.now), source.arrivals.is_greedy());
        let kind = if on { EventKind::SourceOn } else { EventKind::SourceOff };
        for flow in &source.flows {
            net.flow_event(*flow, kind, 0);
        }
        if source.arrivals.toggles() != Instant::NEVER {
            net.agenda.book(source.arrivals.toggles(), self.node, Lane::new(LaneKind::Source, number as u32));
        }
        if on {
            self.due.insert(net.now, number as u32);
        } else {
            self.due.remove(number as u32);
            if greedy {
                self.withdraw(number, net);
            }
        }
        self.look_if_free(net);
    }

    /// Takes back the frame that a greedy source keeps waiting.
    fn withdraw(&mut self, number: usize, net: &mut Net) {
        for flow in self.sources[number].flows.clone() {
            let own = self.path(flow).queue as usize;
            let fifo = net.flows[flow as usize].class as usize;
            let shared = matches!(self.queueing, AdapterQueueing::FifoWithSetAside).then_some(fifo);
            for queue in [Some(own), shared].into_iter().flatten() {
                if let Some(handle) = self.queues[queue].withdraw_last(&mut net.pool, flow) {
                    let length = u64::from(net.pool.get(handle).frame.length);
                    net.count_sending(flow, move |sent| {
                        sent.offered -= length;
                        // The number of the frame goes to the next one, so that none seems lost.
                        sent.frames -= 1;
                    });
                    if let Some(left) = &mut self.sources[number].left {
                        *left += length;
                    }
                    if let Some((held, _)) = &mut self.full {
                        held[own] -= length;
                    }
                    net.pool.free(handle);
                    if self.queues[queue].is_empty() {
                        self.waiting.remove(net.flows[flow as usize].class as usize, queue);
                    }
                }
            }
        }
    }

    fn send_control(&mut self, pause: Frame, net: &mut Net) {
        if !self.sender.up {
            return;
        }
        let handle = net.pool.put(pause);
        self.sender.control.push(&mut net.pool, handle);
        self.look_if_free(net);
    }

    /// Something changed that may let a frame go.
    fn look_if_free(&mut self, net: &mut Net) {
        if self.sender.is_free(net.now) {
            self.look(net);
        } else {
            self.sender.look_at(self.sender.free_at(), net);
        }
    }

    /// The port is free: send what may go, and book the next look.
    #[inline(always)]
    fn look(&mut self, net: &mut Net) {
        if !self.sender.up {
            return;
        }
        if let Some(handle) = self.sender.control.pop(&net.pool) {
            self.sender.send(handle, net);
        } else if self.let_pass(net) {
            return self.look_for_offers(net);
        } else {
            self.pull(net);
            if let Some((class, queue)) = self.choose(net) {
                self.send_from(class, queue, net);
            }
        }
        self.look_again(net);
    }

    /// Sends the frame that is offered now, if it is the only one and nothing holds, limits or counts what waits. That gives what
    /// waiting for no time would give, for half of the work.
    #[inline(always)]
    fn let_pass(&mut self, net: &mut Net) -> bool {
        let (at, number) = (self.due.at(), self.due.number() as usize);
        let is_alone = self.waiting.classes() == 0 && self.due.second_at() > net.now;
        let is_free = self.is_plain && self.awake == 0 && self.sender.held == 0;
        if at > net.now || !is_alone || !is_free || self.sources[number].arrivals.is_greedy() {
            return false;
        }
        let source = &mut self.sources[number];
        source.arrivals.advance();
        let (next, is_parked) = (source.arrivals.next(), source.parks);
        self.due.put_off(next);
        if next <= net.now && !is_parked {
            // Another one of its own has come meanwhile, maybe to another queue.
            self.give(number, at, net);
            return false;
        }
        if let Some(offered) = self.offer(number, at, Fate::Leaves, net) {
            let Offered { handle, queue, length, class, .. } = offered;
            self.waiting.served(usize::from(class), queue as usize);
            self.sender.send_data(handle, length, class, net);
        }
        true
    }

    /// Books the next look where nothing waits or is held, when a source offers something.
    #[inline(always)]
    fn look_for_offers(&mut self, net: &mut Net) {
        let at = self.due.at();
        if at != Instant::NEVER {
            self.sender.look_at(self.sender.busy_until.max(net.now).max(at), net);
        }
    }

    /// The queue that goes next: of the class whose turn it is among those that have one ready, in turn within it.
    fn choose(&mut self, net: &mut Net) -> Option<(usize, usize)> {
        let mut left = self.waiting.classes() & !self.sender.held;
        let mut classes = std::iter::from_fn(|| {
            let class = left.checked_ilog2()?;
            left ^= 1 << class;
            Some(class as usize)
        });
        if matches!(self.turns, Turns::Strict) {
            return classes.find_map(|class| Some((class, self.ready_of(class, net)?)));
        }
        let mut queues = [None; 8];
        classes.for_each(|class| queues[class] = self.ready_of(class, net));
        let ready =
            (0..8).filter(|&class| queues[class].is_some()).fold(0, |ready, class| ready | 1 << class);
        if ready == 0 {
            return None;
        }
        let class = self.turns.pick(ready, |_| unreachable!("adapters take turns by frames"));
        queues[class].map(|queue| (class, queue))
    }

    /// The queue of a class that goes next, if it has one that may.
    #[inline(always)]
    fn ready_of(&mut self, class: usize, net: &mut Net) -> Option<usize> {
        if matches!(self.queueing, AdapterQueueing::FifoWithSetAside) {
            self.set_aside(class, net);
        }
        let waiting = self.waiting.of(class);
        match self.awake {
            0 => waiting.first(),
            _ => waiting.round().find(|queue| self.ready_at(*queue, net) <= net.now),
        }
    }

    fn send_from(&mut self, class: usize, queue: usize, net: &mut Net) {
        let (handle, is_repeated) = if self.connections.is_empty() {
            (self.queues[queue].pop(&net.pool).expect("a waiting queue holds a frame"), false)
        } else {
            let Some(next) = self.next_of_connection(class, queue, net) else { return };
            next
        };
        let Frame { flow, length, class: of_class, .. } = net.pool.get(handle).frame;
        self.waiting.served(class, queue);
        net.count_sending(flow, move |sent| sent.bytes += u64::from(length));
        let path = self.path(flow);
        if let Some((held, _)) = &mut self.full
            && !is_repeated
        {
            held[path.queue as usize] -= u64::from(length);
        }
        if self.awake > 0 {
            self.count_as_sent(handle, path.limiter as usize, net);
        }
        self.sender.send_data(handle, length, of_class, net);
        match path.refill {
            // Its source gave the next one long ago.
            _ if is_repeated => {}
            Some(Refill::Greedy(source)) => self.give(source as usize, net.now, net),
            Some(Refill::Parked(source)) => {
                let next = self.sources[source as usize].arrivals.next();
                self.due.insert(next, source);
            }
            None => {}
        }
        // Not before a greedy source has filled it again.
        if self.connections.is_empty() && self.queues[queue].is_empty() {
            self.waiting.remove(class, queue);
        }
    }

    /// The limiter of a frame lets it go.
    fn count_as_sent(&mut self, handle: Handle, number: usize, net: &mut Net) {
        let Some(limiter) = self.limiters.get_mut(number) else { return };
        let frame = &mut net.pool.get_mut(handle).frame;
        if let Some(tag) = limiter.tag()
            && let Body::Data { tag: carried, .. } = &mut frame.body
        {
            *carried = tag_of(tag);
        }
        let Frame { flow, length, .. } = *frame;
        if let Some(frames) = limiter.burst_over(net.now, length) {
            net.flow_event(flow, EventKind::Burst, i64::from(frames));
        }
        if self.steer(number, |limiter, _| limiter.on_sent(net.now, length)) {
            self.note_release(number, net);
        }
        self.rearm(number, net);
    }

    /// Books the next instant at which a frame may be ready.
    #[inline(always)]
    fn look_again(&mut self, net: &mut Net) {
        if !self.sender.up {
            return;
        }
        if !self.sender.control.is_empty() {
            self.sender.look_at(self.sender.free_at().max(net.now), net);
            return;
        }
        if self.waiting.all_classes() & !self.sender.held == 0 {
            return;
        }
        let free = self.sender.busy_until.max(net.now);
        let mut soonest = self.due.at();
        let classes = self.waiting.classes() & !self.sender.held;
        if soonest > free && classes != 0 {
            soonest =
                if self.awake == 0 { net.now } else { soonest.min(self.soonest_of(classes, free, net)) };
        }
        if soonest != Instant::NEVER {
            self.sender.look_at(soonest.max(free), net);
        }
    }

    /// When the first queue of these classes that waits may go, as far as its limiter is concerned; any time up to `free` if one
    /// may by then.
    fn soonest_of(&self, classes: u8, free: Instant, net: &Net) -> Instant {
        let mut soonest = Instant::NEVER;
        for class in (0..8).filter(|class| classes & (1 << class) != 0) {
            for queue in self.waiting.of(class).round() {
                // Limited frames at the head of the common queue will be set aside: others may go at once.
                let common = matches!(self.queueing, AdapterQueueing::FifoWithSetAside) && queue == class;
                let ready = if common { net.now } else { self.ready_at(queue, net) };
                soonest = soonest.min(ready);
                if soonest <= free {
                    return soonest;
                }
            }
        }
        soonest
    }

    /// When the head of a queue may go, as far as its limiter is concerned.
    #[inline]
    fn ready_at(&self, queue: usize, net: &Net) -> Instant {
        let head = self.queues[queue].head().expect("a waiting queue holds a frame");
        let frame = &net.pool.get(head).frame;
        self.limiters.ready_at(self.path(frame.flow).limiter as usize, frame.bytes())
    }

    /// Moves frames of limited flows from the head of the common queue to their own.
    fn set_aside(&mut self, class: usize, net: &mut Net) {
        while let Some(head) = self.queues[class].head() {
            let path = self.path(net.pool.get(head).frame.flow);
            let own = path.queue as usize;
            if !self.limiters.is_active(path.limiter as usize) && self.queues[own].is_empty() {
                return;
            }
            self.queues[class].pop(&net.pool);
            self.queues[own].push(&mut net.pool, head);
            self.waiting.insert(class, own);
            if self.queues[class].is_empty() {
                self.waiting.remove(class, class);
            }
        }
    }

    /// Takes in what the sources have offered up to now.
    #[inline]
    fn pull(&mut self, net: &mut Net) {
        self.pull_until(net.now, net);
    }

    #[inline]
    fn pull_until(&mut self, until: Instant, net: &mut Net) {
        // Never is not until any instant at which there are events.
        while self.due.at() <= until {
            let (at, number) = (self.due.at(), self.due.number() as usize);
            let source = &mut self.sources[number];
            source.arrivals.advance();
            let next = if source.parks { Instant::NEVER } else { source.arrivals.next() };
            self.due.put_off(next);
            self.give(number, at, net);
        }
    }

    /// A source offers a frame, born at `at`, and it waits for its turn.
    #[inline(never)]
    fn give(&mut self, number: usize, at: Instant, net: &mut Net) {
        let Some(Offered { handle, queue, flow, class, .. }) = self.offer(number, at, Fate::Waits, net)
        else {
            return;
        };
        self.queues[queue as usize].push(&mut net.pool, handle);
        if !self.is_blocked(flow) {
            self.waiting.insert(usize::from(class), queue as usize);
        }
    }

    /// A source offers a frame, born at `at`, unless its message is complete. It counts as sent too if it leaves at once.
    #[inline(always)]
    fn offer(&mut self, number: usize, at: Instant, fate: Fate, net: &mut Net) -> Option<Offered> {
        let source = &mut self.sources[number];
        if source.arrivals.is_greedy() && !source.arrivals.gives(net.now) {
            return None;
        }
        let mut length = source.frame;
        if let Some(left) = &mut source.left {
            if *left == 0 {
                let script = source.script.as_mut().filter(|it| it.begun < it.granted)?;
                script.begun += 1;
                *left = script.octets;
            }
            length = length.min(u16::try_from(*left).unwrap_or(u16::MAX)).max(self.shortest.min(length));
            *left = left.saturating_sub(u64::from(length));
        }
        let flow = match source.flows.as_slice() {
            [flow] => *flow,
            [first, ..] if source.multicast => *first,
            flows => flows[source.arrivals.choose(flows.len() as u64) as usize],
        };
        if let Some((held, limit)) = &mut self.full {
            let held = &mut held[self.paths[(flow - self.first_flow) as usize].queue as usize];
            // A greedy source has one frame waiting, and is not asked again before that is gone.
            if *held + u64::from(length) > *limit && !source.arrivals.is_greedy() {
                if let Some(left) = &mut source.left {
                    *left += u64::from(length);
                }
                return None;
            }
            *held += u64::from(length);
        }
        let is_counted = source.counted > 0;
        source.counted -= u64::from(is_counted);
        let sequence = net.count_sending(flow, move |sent| {
            sent.offered += if is_counted { 0 } else { u64::from(length) };
            sent.bytes += if fate == Fate::Leaves { u64::from(length) } else { 0 };
            sent.frames += 1;
        });
        let Path { to, class, queue, .. } = self.path(flow);
        let frame = Frame { born: at, flow, to, body: Body::Data { sequence, tag: UNTAGGED }, length, class };
        let queue = match self.queueing {
            AdapterQueueing::PerDestination | AdapterQueueing::PerFlow => queue,
            AdapterQueueing::FifoWithSetAside | AdapterQueueing::OneQueue => u32::from(class),
        };
        Some(Offered { handle: net.pool.put(frame), queue, flow, length, class })
    }

    /// What it points to is wanted soon: of what it has for each flow, the first, for many hosts have no other.
    pub(super) fn bring_contents_near(&self) {
        self.waiting.bring_near();
        self.queues.first().into_iter().for_each(bring_near);
        self.sources.first().into_iter().for_each(bring_near);
        self.limiters.bring_near();
        self.paths.first().into_iter().for_each(bring_near);
    }

    #[inline]
    fn path(&self, flow: u32) -> Path {
        self.paths[(flow - self.first_flow) as usize]
    }

    /// What a limiter holds a flow of this host to; `None` if nothing does.
    pub(crate) fn limit(&self, flow: u32) -> Option<Rate> {
        self.limiters.limit(self.path(flow).limiter as usize)
    }

    /// The receiving side, for samples and checks.
    pub(crate) fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// Takes offers from before now into the books, so that a sample sees them. What is sent, and when, does not
    /// change by it.
    pub(crate) fn catch_up(&mut self, net: &mut Net) {
        self.pull_until(Instant::from_ps(net.now.ps().saturating_sub(1)), net);
        for source in self.sources.iter_mut().filter(|source| source.parks) {
            let waiting = source.arrivals.offers_before(net.now).unwrap_or(0);
            let new = waiting.saturating_sub(source.counted);
            net.sent[source.flows[0] as usize].offered += new * u64::from(source.frame);
            source.counted += new;
        }
    }

    /// The link failed or came back.
    pub(crate) fn set_link(&mut self, up: bool, net: &mut Net) {
        let held_before = self.sender.held;
        self.sender.set_link(up, net);
        if self.sender.held != held_before {
            self.on_resumed(net);
        }
        if up {
            if let Some(stop) = self.receiver.on_link_up(net) {
                self.send_control(stop, net);
            }
            self.look_if_free(net);
        }
    }
}

/// Length and class of the frames that answer marks and probes, in a scheme that has them.
fn answers(plan: &Plan, net: &Net) -> Option<(u16, u8)> {
    if !matches!(plan.scheme, Scheme::IbCc(_) | Scheme::E2cm(_) | Scheme::QcnProbe(_) | Scheme::Dcqcn(_)) {
        return None;
    }
    let messages = plan.scheme.messages()?;
    let class = net.classes.iter().position(|class| *class == messages.priority);
    let class = class.expect("the priority of messages is in use") as u8;
    Some((messages.frame.get() as u16, class))
}

/// Marks the sources that can be parked.
fn park_lone_sources(
    sources: &mut [Source],
    paths: &mut [Path],
    first_flow: usize,
    queueing: AdapterQueueing,
) {
    if !matches!(queueing, AdapterQueueing::PerDestination | AdapterQueueing::PerFlow) {
        return;
    }
    let path_of = |flow: u32| flow as usize - first_flow;
    // How many flows of sources there are for each queue.
    let mut feeders = vec![0u32; paths.iter().map(|path| path.queue as usize + 1).max().unwrap_or(0)];
    for flow in sources.iter().flat_map(|source| &source.flows) {
        feeders[paths[path_of(*flow)].queue as usize] += 1;
    }
    for (source, number) in sources.iter_mut().zip(0..) {
        let is_countable = source.left.is_none() && source.arrivals.offers_before(Instant::START).is_some();
        let [flow] = source.flows[..] else { continue };
        let path = &mut paths[path_of(flow)];
        if is_countable && feeders[path.queue as usize] == 1 {
            source.parks = true;
            path.refill.get_or_insert(Refill::Parked(number));
        }
    }
}

/// Gives numbers to the queues and limiters of a host as its flows ask for them.
struct Numbering {
    queueing: AdapterQueueing,
    scope: LimiterScope,
    queues: u32,
    limiters: u32,
    by_destination: HashMap<(u32, u8), Path>,
}

impl Numbering {
    fn new(queueing: AdapterQueueing, scope: LimiterScope, classes: usize, flows: usize) -> Numbering {
        let queues = match queueing {
            AdapterQueueing::PerDestination | AdapterQueueing::PerFlow => 0,
            AdapterQueueing::FifoWithSetAside | AdapterQueueing::OneQueue => classes as u32,
        };
        let by_destination = HashMap::with_capacity(flows);
        Numbering { queueing, scope, queues, limiters: 0, by_destination }
    }

    fn path(&mut self, to: u32, class: u8) -> Path {
        let known = self.by_destination.get(&(to, class)).copied();
        let queue = match (self.queueing, known) {
            (AdapterQueueing::PerDestination, Some(path)) => path.queue,
            (AdapterQueueing::OneQueue, _) => u32::from(class),
            _ => {
                self.queues += 1;
                self.queues - 1
            }
        };
        let limiter = match (self.scope, known) {
            (LimiterScope::Host, _) => {
                self.limiters = 1;
                0
            }
            (LimiterScope::Destination, Some(path)) => path.limiter,
            _ => {
                self.limiters += 1;
                self.limiters - 1
            }
        };
        let path = Path { queue, limiter, to, refill: None, class };
        self.by_destination.insert((to, class), path);
        path
    }
}
