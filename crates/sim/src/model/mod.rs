//! Who holds a frame, and for how long.
//!
//! The way of one frame: a source offers it to its [`host`]'s adapter; the adapter's turn, limiter and pauses let it on
//! the wire ([`net`]); a [`switch`] charges it to its input, lets it wait for its output, and sends it on; the receiving
//! host takes it in. Switches that are the leaves of a [`fabric`] reach each other through it. Every node is one variant of [`Node`]; a new kind of node is one more, and its events are lanes of
//! the agenda.

mod ahead;
mod fabric;
mod frame;
mod ground;
mod host;
mod inlets;
mod near;
mod net;
pub(crate) mod octets;
mod parcel;
mod port;
mod ring;
pub(crate) mod stream;
mod switch;

use crate::kernel::agenda::{Hoods, Lane, LaneKind, Late};
use crate::scenario::plan::{Discovery, LinkId, Plan, SwitchId, What};
use crate::topology::cut::{Cut, hoods, hoods_of_part, one_hood};
use ahead::Ahead;
use fabric::{Mesh, Passed, Router};
pub(crate) use ground::Ground;
use host::Host;
pub(crate) use net::node_index;
use net::{Net, Received, Sampled, Sent};
pub(crate) use parcel::Parcel;
use quell_proto::units::{Duration, Instant, Priority, Rate};
use quell_record::{EntityId, Event as Recorded, FlowTotals, Quantity, Sink, Tap};
use std::sync::Arc;
pub(crate) use switch::Wait;
use switch::{Side, Switch};

/// A network, or a part of one, in the middle of a run.
#[derive(Debug)]
pub(crate) struct World {
    nodes: Vec<Node>,
    net: Net,
    /// For each wire, the node and port that send on it.
    taps: Arc<[(u32, u32)]>,
    changes: Vec<What>,
    /// The routes that hold after each change.
    epochs: Arc<[usize]>,
    sampled: Instant,
    ahead: Ahead,
    /// What the outputs of each router carry together.
    router_rates: Vec<Rate>,
    /// Whether flows are sampled.
    flow_series: bool,
}

#[derive(Debug)]
enum Node {
    Host(Box<Host>),
    Switch(Box<Switch>),
    Router(Box<Router>),
    /// A node of another part.
    Elsewhere,
}

/// Puts what happened in the order in which it is recorded: by time, node and lane.
pub(crate) fn put_in_order(events: &mut [(Recorded, u64)]) {
    // Stable: what one node says at one instant stays in its order.
    events.sort_by_key(|(event, place)| (event.at, *place));
}

/// An invariant that broke, by the numbers of the run.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// A lossless class had to drop.
    NotLossless { wire: u32, priority: Priority, excess: u64, at: Instant },
    /// The octets of a node do not add up.
    Books { node: u32, at: Instant, came: u64, went: u64, held: u64 },
    /// A frame does not survive its own format.
    Octets { at: Instant, found: String },
    /// An input of a router holds more than its sender had credit for.
    Overrun { node: u32, at: Instant, level: u64 },
    /// A fabric delivered frames of a flow out of order.
    Order { flow: u32, at: Instant },
}

impl Fault {
    /// The node whose books it is about, if it is one of those.
    pub(crate) fn node(&self) -> Option<u32> {
        match self {
            Fault::Books { node, .. } | Fault::Overrun { node, .. } => Some(*node),
            Fault::NotLossless { .. } | Fault::Octets { .. } | Fault::Order { .. } => None,
        }
    }

    fn not_lossless(net: &Net, wire: u32, priority: Priority, excess: u64) -> Fault {
        Fault::NotLossless { wire, priority, excess, at: net.now }
    }
}

impl World {
    /// The network of a plan at the start of a run, whose nodes act in turns.
    pub(crate) fn new(plan: &Plan, seed: u64) -> World {
        World::build(plan, &Ground::of(plan), seed, hoods(plan), None)
    }

    /// The same, with events in the order of time, whosever they are.
    pub(crate) fn in_order(plan: &Plan, seed: u64) -> World {
        World::build(plan, &Ground::of(plan), seed, one_hood(plan), None)
    }

    /// The part `own` of the network, on the ground that it shares with the others.
    pub(crate) fn part(plan: &Plan, ground: &Ground, seed: u64, cut: &Cut, own: u16) -> World {
        let (hoods, rim) = hoods_of_part(plan, cut, own);
        let mut world = World::build(plan, ground, seed, hoods, Some((cut, own)));
        world.net.agenda.set_rim(rim);
        world
    }

    fn build(plan: &Plan, ground: &Ground, seed: u64, hoods: Hoods, share: Option<(&Cut, u16)>) -> World {
        let is_here = |node: usize| share.is_none_or(|(cut, own)| cut.part_of[node] == own);
        let mut net = Net::new(plan, ground, hoods);
        net.count_for(is_here);
        let ends = plan.fabric.as_ref().map(|fabric| {
            let (mesh, ends) = Mesh::new(plan, fabric);
            net.mesh = mesh;
            ends
        });
        let wires = &ground.wires;
        let own_wires = wires.iter().enumerate().filter(|(node, _)| is_here(*node)).map(|(_, own)| own.len());
        net.pool.reserve(own_wires.sum());
        let mut nodes: Vec<Node> = Vec::with_capacity(wires.len());
        for (index, own) in wires[..plan.hosts.len()].iter().enumerate() {
            nodes.push(if is_here(index) {
                let traffic = ground.traffic_of(index);
                Node::Host(Box::new(Host::new(plan, index as u32, &traffic, own[0], seed, &mut net)))
            } else {
                Node::Elsewhere
            });
        }
        for index in 0..plan.switches.len() {
            let own = &wires[plan.hosts.len() + index];
            nodes.push(if is_here(nodes.len()) {
                let id = SwitchId(index as u32);
                Node::Switch(Box::new(Switch::new(plan, id, own, &ground.routes, ends.as_ref(), seed, &net)))
            } else {
                Node::Elsewhere
            });
        }
        if let (Some(fabric), Some(ends)) = (&plan.fabric, &ends) {
            let first = nodes.len();
            let routers = Router::all(fabric, ends, first as u32).into_iter().enumerate();
            nodes.extend(routers.map(|(index, router)| match is_here(first + index) {
                true => Node::Router(Box::new(router)),
                false => Node::Elsewhere,
            }));
        }
        if let Some((cut, own)) = share {
            net.split(own, &cut.part_of);
        }
        let mut world = World {
            ahead: Ahead::of(&nodes, &net),
            nodes,
            net,
            taps: Arc::clone(&ground.taps),
            changes: plan.changes.iter().map(|change| change.what).collect(),
            epochs: Arc::clone(&ground.epochs),
            sampled: Instant::START,
            flow_series: plan.flow_series,
            router_rates: (0..plan.routers().count()).map(|router| plan.router_rate(router)).collect(),
        };
        world.book_changes(plan);
        world.introduce(plan);
        world
    }

    /// Lets switches announce themselves to their neighbours, where that takes place in the run.
    fn introduce(&mut self, plan: &Plan) {
        if plan.discovery == Discovery::Before {
            return;
        }
        for node in &mut self.nodes {
            if let Node::Switch(switch) = node {
                switch.announce_all(&mut self.net);
            }
        }
    }

    fn book_changes(&mut self, plan: &Plan) {
        for (change, number) in plan.changes.iter().zip(0u32..) {
            let lane = Lane::new(LaneKind::Change, number);
            let concerned: Vec<u32> = match change.what {
                What::PortService { from, .. } => vec![node_index(plan, from)],
                What::ReceiveService { host, .. } => vec![host.0],
                What::Link { link, .. } => {
                    let ends = plan.links[link.0 as usize].ends.map(|end| node_index(plan, end));
                    let first = plan.hosts.len() as u32;
                    let switches = first..first + plan.switches.len() as u32;
                    let hosts = ends.into_iter().filter(|end| (*end as usize) < plan.hosts.len());
                    hosts.chain(switches).collect()
                }
            };
            let is_here = |node: &u32| !matches!(self.nodes[*node as usize], Node::Elsewhere);
            for node in concerned.into_iter().filter(is_here) {
                self.net.agenda.book(change.at, node, lane);
            }
        }
    }

    /// Lets nodes act on what happens before an instant, until all have or there is [news](Self::has_news). In a
    /// part of a network it also stops once in each window, when the nodes that reach other parts have had their turns.
    ///
    /// # Errors
    /// If an event lies before one that its node has seen.
    pub(crate) fn advance(&mut self, before: Instant) -> Result<(), Late> {
        loop {
            match self.net.agenda.whose_turn() {
                Some(node) => self.act_alone(node)?,
                None => self.act_together()?,
            }
            if self.net.has_news {
                return Ok(());
            }
            let Some(turn) = self.net.pass_on(before)? else { return Ok(()) };
            self.ahead.prepare(turn, &self.nodes, &self.net);
        }
    }

    /// Lets the node act that has the turn to itself, until it is over or there is news.
    fn act_alone(&mut self, node: u32) -> Result<(), Late> {
        loop {
            let net = &mut self.net;
            let change = match &mut self.nodes[node as usize] {
                Node::Switch(switch) => take_turn(node, net, |lane, net| switch.on_event(lane, net)),
                Node::Host(host) => take_turn(node, net, |lane, net| host.on_event(lane, net)),
                Node::Router(router) => take_turn(node, net, |lane, net| router.on_event(lane, net)),
                Node::Elsewhere => unreachable!("{ELSEWHERE}"),
            };
            match change? {
                Some(number) => self.change(node, number),
                None => return Ok(()),
            }
        }
    }

    /// Lets the nodes act that have the turn together, in the order of time, until it is over or there is news.
    fn act_together(&mut self) -> Result<(), Late> {
        while !self.net.has_news
            && let Some(event) = self.net.next_of_several()?
        {
            let (node, lane) = (event.node(), event.lane());
            if lane.is(LaneKind::Change) {
                self.change(node, lane.index());
                continue;
            }
            match &mut self.nodes[node as usize] {
                Node::Switch(switch) => switch.on_event(lane, &mut self.net),
                Node::Host(host) => host.on_event(lane, &mut self.net),
                Node::Router(router) => router.on_event(lane, &mut self.net),
                Node::Elsewhere => unreachable!("{ELSEWHERE}"),
            }
        }
        Ok(())
    }

    /// How long the nodes' turns are.
    pub(crate) fn window(&self) -> Duration {
        self.net.agenda.window()
    }

    /// When the next event is; [`Instant::NEVER`] if there is none.
    pub(crate) fn next_at(&mut self) -> Instant {
        self.net.agenda.next_at()
    }

    /// What goes to each part; whoever posts it takes it out.
    pub(crate) fn parcels(&mut self) -> &mut [Vec<Parcel>] {
        self.net.parcels()
    }

    /// Takes in what another part sent.
    pub(crate) fn accept(&mut self, parcel: &Parcel) {
        self.net.accept(parcel);
    }

    /// The time of the last event.
    pub(crate) fn now(&self) -> Instant {
        self.net.now
    }

    /// Whether events come in the order of time, whosever they are.
    pub(crate) fn is_in_order(&self) -> bool {
        self.net.agenda.is_in_order()
    }

    /// When the last sample was taken.
    pub(crate) fn sampled(&self) -> Instant {
        self.sampled
    }

    /// Events handled so far.
    pub(crate) fn handled(&self) -> u64 {
        self.net.handled
    }

    /// Frames carried over links so far.
    pub(crate) fn hops(&self) -> u64 {
        self.net.hops
    }

    /// Cells carried inside fabrics so far.
    pub(crate) fn cell_hops(&self) -> u64 {
        self.net.mesh.hops
    }

    /// Takes the frames that leave on these wires, from now on.
    pub(crate) fn capture(&mut self, wires: &[u32]) {
        self.net.capture(wires);
    }

    /// Whether something rare is to be seen to after an event.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.net.has_news
    }

    /// Hands over the frames that were captured. A broken invariant stays news.
    pub(crate) fn hand_over(&mut self, tap: &mut dyn Tap) {
        self.net.hand_over(tap);
        self.net.has_news = self.net.fault.is_some();
    }

    /// The first invariant that broke, if one did.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.net.fault.as_ref()
    }

    fn change(&mut self, node: u32, number: usize) {
        let net = &mut self.net;
        let port_on = |link: LinkId| {
            let wires = [2 * link.0, 2 * link.0 + 1];
            let own = wires.into_iter().find(|wire| self.taps[*wire as usize].0 == node);
            own.map(|wire| self.taps[wire as usize].1 as usize)
        };
        match (self.changes[number], &mut self.nodes[node as usize]) {
            (What::PortService { rate, .. }, Node::Host(host)) => host.sender.set_service(rate, net),
            (What::PortService { link, rate, .. }, Node::Switch(switch)) => {
                if let Some(port) = port_on(link) {
                    switch.set_service(port, rate, net);
                }
            }
            (What::ReceiveService { rate, .. }, Node::Host(host)) => {
                host.receiver_mut().set_service(rate, net);
            }
            (What::ReceiveService { .. }, Node::Switch(_)) => unreachable!("only a host receives"),
            (_, Node::Router(_)) => unreachable!("a scenario cannot change the inside of a fabric"),
            (_, Node::Elsewhere) => unreachable!("{ELSEWHERE}"),
            (What::Link { up, .. }, Node::Host(host)) => host.set_link(up, net),
            (What::Link { link, up }, Node::Switch(switch)) => {
                switch.set_epoch(self.epochs[number]);
                if let Some(port) = port_on(link) {
                    switch.set_link(port, up, net);
                }
            }
        }
    }

    /// Takes a sample of everything at `at`, for the time since the last one, and hands over the events since then.
    pub(crate) fn sample(&mut self, at: Instant, sink: &mut dyn Sink) {
        for (event, _) in self.take_events() {
            sink.event(event);
        }
        self.sample_values(at, sink);
    }

    /// Every input that has stopped its peer, and what it waits for, at `at`.
    pub(crate) fn waits(&mut self, at: Instant) -> Vec<Wait> {
        self.net.now = at;
        let switches = self.nodes.iter().filter_map(|node| match node {
            Node::Switch(switch) => Some(switch),
            _ => None,
        });
        switches.flat_map(|switch| switch.waits(&self.net)).collect()
    }

    /// What happened since the last sample, in order, each with its place among what happened at the same instant.
    pub(crate) fn take_events(&mut self) -> Vec<(Recorded, u64)> {
        let mut events: Vec<_> = self.net.events.drain(..).zip(self.net.origins.drain(..)).collect();
        put_in_order(&mut events);
        events
    }

    /// Takes a sample of everything at `at`, for the time since the last one.
    pub(crate) fn sample_values(&mut self, at: Instant, sink: &mut dyn Sink) {
        let span = at - self.sampled;
        self.sampled = at;
        self.net.now = at;
        for node in &mut self.nodes {
            match node {
                Node::Host(host) => host.catch_up(&mut self.net),
                Node::Switch(switch) => {
                    if let Some(fault) = switch.audit(&self.net) {
                        self.net.break_off(fault);
                    }
                }
                Node::Router(router) => {
                    if let Some(fault) = router.audit(at) {
                        self.net.break_off(fault);
                    }
                }
                Node::Elsewhere => {}
            }
        }
        sink.begin_samples(at);
        let first_router = self.nodes.len() - self.router_rates.len();
        let routers = self.nodes[first_router..].iter_mut();
        let passed: Vec<Option<Passed>> = routers
            .map(|node| match node {
                Node::Router(router) => Some(router.take_counts()),
                _ => None,
            })
            .collect();
        self.sample_ports(span, sink);
        self.sample_router_outputs(&passed, span, sink);
        self.sample_inputs(span, sink);
        self.sample_router_inputs(&passed, sink);
        if self.flow_series {
            self.sample_flows(sink);
        }
        sink.end_samples();
    }

    fn sample_ports(&mut self, span: Duration, sink: &mut dyn Sink) {
        let net = &mut self.net;
        let mut entity = 0;
        for (node, port) in self.taps.iter() {
            let sender = match &mut self.nodes[*node as usize] {
                Node::Host(host) => &mut host.sender,
                Node::Switch(switch) => switch.sender_mut(*port as usize),
                Node::Elsewhere => {
                    entity += net.data_count() as u32;
                    continue;
                }
                Node::Router(_) => unreachable!("{NO_LINKS}"),
            };
            let serviceable = sender.take_serviceable(net);
            for data in 0..net.data_count() {
                let class = net.class_of_data(data);
                let mut say = |quantity, value| sink.sample(EntityId(entity), quantity, signed(value));
                let (mut reads, mut marks) = (None, None);
                let (sender, output) = match &mut self.nodes[*node as usize] {
                    Node::Host(host) => (&mut host.sender, None),
                    Node::Switch(switch) => {
                        let output = switch.take_output(*port as usize, class, span, net.now);
                        reads = switch.take_reads(*port as usize, class, Side::Output);
                        marks = switch.take_marks(*port as usize, class);
                        (switch.sender_mut(*port as usize), Some(output))
                    }
                    Node::Router(_) | Node::Elsewhere => unreachable!("{NO_LINKS}"),
                };
                let (bytes, frames, held) = sender.take_counts(class, net.now);
                if let Some([mean, peak, ..]) = output {
                    say(Quantity::QueueMeanBytes, mean);
                    say(Quantity::QueuePeakBytes, peak);
                }
                say(Quantity::TxBytes, bytes);
                say(Quantity::TxFrames, frames);
                say(Quantity::ServiceBytes, serviceable);
                say(Quantity::PausedPs, held);
                if let Some([.., cnms, dropped]) = output {
                    say(Quantity::CnmsSent, cnms);
                    say(Quantity::DroppedFrames, dropped);
                }
                if let Some(reads) = reads {
                    say(Quantity::CulpritReads, reads);
                }
                if let Some(marks) = marks {
                    say(Quantity::MarkedFrames, marks);
                }
                entity += 1;
            }
        }
    }

    fn sample_inputs(&mut self, span: Duration, sink: &mut dyn Sink) {
        let net = &mut self.net;
        let mut entity = (self.taps.len() * net.data_count() + self.router_rates.len()) as u32;
        for (node, port) in self.taps.iter() {
            for data in 0..net.data_count() {
                let class = net.class_of_data(data);
                let mut say = |quantity, value| sink.sample(EntityId(entity), quantity, signed(value));
                match &mut self.nodes[*node as usize] {
                    Node::Host(host) => {
                        let receiver = host.receiver_mut();
                        // One buffer for all priorities: it is shown at the first.
                        let (mean, peak, dropped, stopped) = if data == 0 {
                            let (mean, peak) = receiver.meter.take(net.now, span);
                            let (dropped, stopped) = receiver.take_counts(net.now);
                            (mean, peak, dropped, stopped)
                        } else {
                            (0, 0, 0, 0)
                        };
                        say(Quantity::QueueMeanBytes, mean);
                        say(Quantity::QueuePeakBytes, peak);
                        say(Quantity::StoppedPs, stopped);
                        say(Quantity::DroppedFrames, dropped);
                    }
                    Node::Switch(switch) => {
                        let [mean, peak, stopped, cnms, dropped] =
                            switch.take_input(*port as usize, class, span, net.now);
                        say(Quantity::QueueMeanBytes, mean);
                        say(Quantity::QueuePeakBytes, peak);
                        say(Quantity::StoppedPs, stopped);
                        say(Quantity::CnmsSent, cnms);
                        say(Quantity::DroppedFrames, dropped);
                        if let Some(reads) = switch.take_reads(*port as usize, class, Side::Input) {
                            say(Quantity::CulpritReads, reads);
                        }
                    }
                    Node::Elsewhere => {}
                    Node::Router(_) => unreachable!("{NO_LINKS}"),
                }
                entity += 1;
            }
        }
    }

    fn sample_router_outputs(&self, passed: &[Option<Passed>], span: Duration, sink: &mut dyn Sink) {
        let first = (self.taps.len() * self.net.data_count()) as u32;
        for ((passed, rate), entity) in passed.iter().zip(&self.router_rates).zip(first..) {
            let Some(passed) = passed else { continue };
            let mut say = |quantity, value| sink.sample(EntityId(entity), quantity, signed(value));
            say(Quantity::QueuePeakBytes, passed.output_peak);
            say(Quantity::TxBytes, passed.octets);
            say(Quantity::TxFrames, passed.cells);
            say(Quantity::ServiceBytes, rate.carries_in(span).get());
        }
    }

    fn sample_router_inputs(&self, passed: &[Option<Passed>], sink: &mut dyn Sink) {
        let first = (2 * self.taps.len() * self.net.data_count() + self.router_rates.len()) as u32;
        for (passed, entity) in passed.iter().zip(first..) {
            let Some(passed) = passed else { continue };
            sink.sample(EntityId(entity), Quantity::QueuePeakBytes, signed(passed.input_peak));
        }
    }

    fn sample_flows(&mut self, sink: &mut dyn Sink) {
        let net = &mut self.net;
        for flow in 0..net.flows.len() as u32 {
            let Some((sent, received)) = counted_here(&self.nodes, net, flow) else { continue };
            let entity = net.flow_entity(flow);
            // A part tells what it knows of a flow; what it does not know counts as nothing.
            let limit = match &self.nodes[net.flows[flow as usize].from as usize] {
                Node::Host(host) => {
                    let line = net.wires[host.sender.wire as usize].speed.rate();
                    host.limit(flow).unwrap_or(line).bps()
                }
                _ => 0,
            };
            let now = Sampled {
                offered: sent.offered,
                sent: sent.bytes,
                cnms: sent.cnms,
                bytes: received.bytes,
                frames: received.frames,
                lost: net.lost[flow as usize],
            };
            let before = std::mem::replace(&mut net.sampled[flow as usize], now);
            sink.sample(entity, Quantity::DroppedFrames, difference(now.lost, before.lost));
            sink.sample(entity, Quantity::OfferedBytes, difference(now.offered, before.offered));
            sink.sample(entity, Quantity::SentBytes, difference(now.sent, before.sent));
            sink.sample(entity, Quantity::DeliveredBytes, difference(now.bytes, before.bytes));
            sink.sample(entity, Quantity::DeliveredFrames, difference(now.frames, before.frames));
            sink.sample(entity, Quantity::LimitBps, signed(limit));
            sink.sample(entity, Quantity::CnmsReceived, difference(now.cnms, before.cnms));
        }
    }

    /// Hands over the totals of every flow, at the end.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        for (event, _) in self.take_events() {
            sink.event(event);
        }
        let net = &self.net;
        for flow in 0..net.flows.len() {
            let Some((sent, received)) = counted_here(&self.nodes, net, flow as u32) else { continue };
            let (retransmitted_frames, timeouts) = match &self.nodes[net.flows[flow].from as usize] {
                Node::Host(host) => host.repeated(flow as u32),
                _ => (0, 0),
            };
            let totals = FlowTotals {
                offered_bytes: sent.offered,
                sent_bytes: sent.bytes,
                delivered_bytes: received.bytes,
                delivered_frames: received.frames,
                lost_frames: net.lost[flow],
                reordered_frames: received.reordered,
                cnms_received: sent.cnms,
                latency_sum_ps: received.latency_sum,
                latency_max_ps: received.latency_max,
                retransmitted_frames,
                timeouts,
            };
            sink.flow(net.flow_entity(flow as u32), totals);
        }
        sink.all_said();
    }
}

/// Lets a node act on its events until its turn is over or there is news. If the scenario changes something, that is where it
/// stops, and what it says.
#[inline(always)]
fn take_turn(
    node: u32,
    net: &mut Net,
    mut on_event: impl FnMut(Lane, &mut Net),
) -> Result<Option<usize>, Late> {
    while !net.has_news
        && let Some(lane) = net.next_of_lone(node)?
    {
        if lane.is(LaneKind::Change) {
            return Ok(Some(lane.index()));
        }
        on_event(lane, net);
    }
    Ok(None)
}

/// What this part counts of a flow, if it begins or ends here, or lost a frame here. A half that is not here counts as nothing; its
/// memory is better not touched.
fn counted_here(nodes: &[Node], net: &Net, flow: u32) -> Option<(Sent, Received)> {
    let is_here = |node: u32| !matches!(nodes[node as usize], Node::Elsewhere);
    let ends = &net.flows[flow as usize];
    let sent = is_here(ends.from).then(|| net.sent[flow as usize]);
    let received = is_here(ends.to).then(|| *net.received(flow));
    let is_counted = sent.is_some() || received.is_some() || net.lost[flow as usize] > 0;
    is_counted.then(|| (sent.unwrap_or_default(), received.unwrap_or_default()))
}

/// Why no event is for a node of another part.
const ELSEWHERE: &str = "a part books events for its own nodes";

/// Why a router is never found at the end of a link.
const NO_LINKS: &str = "the links of a plan do not lead into a fabric";

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Counters only grow, except that a withdrawn frame is no longer offered.
fn difference(now: u64, before: u64) -> i64 {
    signed(now).saturating_sub(signed(before))
}
