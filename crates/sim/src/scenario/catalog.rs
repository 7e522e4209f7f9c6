//! What a run of a plan will record: every port, input and flow by name.

use super::ideal::{self, Paths};
use super::plan::{Buffering, Flow, InnerNode, Link, NodeId, Pattern, Plan, Source, Switch};
use crate::traffic::flows::ListedFlow;
use crate::traffic::trace;
use quell_proto::units::{Duration, Priority, PrioritySet, Rate};
use quell_record::{Catalog, Entity, EntityKind, Message};
use std::collections::BTreeMap;

/// The far end of all links of a router, in names.
const INSIDE: &str = "fabric";

impl Plan {
    /// The data priorities in use, lowest first: those of flows, and those that flows are moved to.
    pub fn priorities(&self) -> Vec<Priority> {
        let isolation = self.switches.iter().filter_map(|switch| switch.isolation);
        PrioritySet::of(self.flow_priorities().chain(isolation.map(|it| it.congesting))).iter().collect()
    }

    /// The priorities of flows, those among them that only another seed draws.
    pub(crate) fn flow_priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let drawn = self.redraw.iter().flat_map(|redraw| redraw.priorities());
        self.flows.iter().map(|flow| flow.priority).chain(drawn)
    }

    /// The priorities that frames of data can have while they are in a switch: those of flows, and the one that this
    /// switch moves flows to.
    pub(crate) fn priorities_at(&self, switch: &Switch) -> PrioritySet {
        PrioritySet::of(self.flow_priorities().chain(switch.isolation.map(|it| it.congesting)))
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        match node {
            NodeId::Host(host) => &self.hosts[host.0 as usize].name,
            NodeId::Switch(switch) => &self.switches[switch.0 as usize].name,
        }
    }

    /// Every port of the network without regard to priorities, in the order of wires: two a link.
    pub fn ports(&self) -> Catalog {
        let names = port_names(self);
        let entities = self.links.iter().zip(names).flat_map(|(link, names)| {
            names.into_iter().enumerate().map(|(end, name)| Entity { name, kind: self.port(link, end) })
        });
        Catalog { entities: entities.collect(), overhead_bytes: self.overhead.get() }
    }

    /// The port at one end of a link.
    fn port(&self, link: &Link, end: usize) -> EntityKind {
        let (node, peer) = (link.ends[end], link.ends[1 - end]);
        EntityKind::Port {
            node: self.name(node).to_owned(),
            peer: self.name(peer).to_owned(),
            rate_bps: link.rate.bps(),
            of_switch: matches!(node, NodeId::Switch(_)),
        }
    }

    /// The entities of a run: ports, inputs, then flows.
    ///
    /// With P data priorities in use, L links and R routers inside a fabric, the port of end `e` of link `l` for
    /// priority number `p` has the id `(2l + e)·P + p`, and all outputs of router `r` together `2LP + r`; the input at
    /// the same end and all inputs of the router `2LP + R` more than that; flow `f` the id `4LP + 2R + f`. A port is
    /// named `a->b` and an input `a<-b` by its own node first, with `#2`, `#3` for further links between
    /// the same nodes, and with `@priority` where there are several.
    pub fn catalog(&self) -> Catalog {
        let priorities = self.priorities();
        let ports = port_names(self);
        // To grow would mean to move all of them.
        let count = 4 * self.links.len() * priorities.len() + 2 * self.routers().count() + self.flows.len();
        let mut entities = Vec::with_capacity(count);
        let named = |name: &str, priority: Priority| {
            if priorities.len() > 1 { format!("{name}@{priority}") } else { name.to_owned() }
        };
        for (link, names) in self.links.iter().zip(&ports) {
            for (end, name) in names.iter().enumerate() {
                let kind = self.port(link, end);
                let each = priorities.iter().map(|&priority| (named(name, priority), kind.clone()));
                entities.extend(each.map(|(name, kind)| Entity { name, kind }));
            }
        }
        for (router, name) in self.routers().enumerate() {
            let rate_bps = self.router_rate(router).bps();
            let (node, peer) = (name.to_owned(), INSIDE.to_owned());
            let kind = EntityKind::Port { node, peer, rate_bps, of_switch: true };
            entities.push(Entity { name: format!("{name}->{INSIDE}"), kind });
        }
        for (link, names) in self.links.iter().zip(&ports) {
            for (end, name) in names.iter().enumerate() {
                let (node, peer) = (link.ends[end], link.ends[1 - end]);
                let kind = EntityKind::Input {
                    node: self.name(node).to_owned(),
                    peer: self.name(peer).to_owned(),
                    capacity_bytes: self.capacity(node),
                };
                let name = name.replacen("->", "<-", 1);
                let each = priorities.iter().map(|&priority| (named(&name, priority), kind.clone()));
                entities.extend(each.map(|(name, kind)| Entity { name, kind }));
            }
        }
        for name in self.routers() {
            let capacity_bytes = self.fabric.as_ref().map(|fabric| fabric.input_buffer.get());
            let kind = EntityKind::Input { node: name.to_owned(), peer: INSIDE.to_owned(), capacity_bytes };
            entities.push(Entity { name: format!("{name}<-{INSIDE}"), kind });
        }
        let demands = self.demands();
        let frames = self.frame_lengths();
        let messages = self.messages();
        entities.extend(self.flows.iter().zip(demands).zip(frames).zip(messages).map(
            |(((flow, demand_bps), frame_bytes), message)| Entity {
                name: flow.name.clone(),
                kind: EntityKind::Flow {
                    from: self.hosts[flow.from.0 as usize].name.clone(),
                    to: self.hosts[flow.to.0 as usize].name.clone(),
                    priority: flow.priority.get(),
                    demand_bps,
                    frame_bytes,
                    message,
                },
            },
        ));
        debug_assert_eq!(entities.len(), count);
        Catalog { entities, overhead_bytes: self.overhead.get() }
    }

    /// The message of each flow that ends by itself.
    fn messages(&self) -> Vec<Option<Message>> {
        let mut messages = vec![None; self.flows.len()];
        let mut paths = None;
        for source in &self.sources {
            if let ([flow], Some((start, payload)), Some(octets)) =
                (&source.flows[..], ideal::message(source), source.message)
            {
                let to = self.flows[flow.0 as usize].to;
                let ideal = paths.get_or_insert_with(|| Paths::new(self)).ideal(source, to, octets);
                messages[flow.0 as usize] = Some(Message {
                    bytes: payload.get(),
                    start_ps: start.ps(),
                    ideal_ps: ideal.map(Duration::ps),
                });
            }
        }
        messages
    }

    /// The flows that end by themselves, as a table that a trace is read from; sizes are payload.
    pub fn flow_table(&self) -> String {
        let listed = self.sources.iter().filter_map(|source| {
            let [flow] = source.flows[..] else { return None };
            let Flow { from, to, priority, .. } = self.flows[flow.0 as usize];
            let (start, size) = ideal::message(source)?;
            Some((ListedFlow { start, from, to, size }, priority))
        });
        trace::write(listed, |host| self.name(NodeId::Host(host)))
    }

    /// The names of the routers inside the fabric, if there is one.
    pub(crate) fn routers(&self) -> impl Iterator<Item = &str> {
        self.fabric.iter().flat_map(|fabric| fabric.routers.iter().map(String::as_str))
    }

    /// What the outputs of a router carry together.
    pub(crate) fn router_rate(&self, router: usize) -> Rate {
        let links = self.fabric.iter().flat_map(|fabric| &fabric.links);
        let own = links.filter(|link| link.ends.contains(&InnerNode::Router(router as u32)));
        Rate::from_bps(own.map(|link| link.rate.bps()).sum())
    }

    /// What a node can hold of what comes in on one link.
    fn capacity(&self, node: NodeId) -> Option<u64> {
        let capacity = match node {
            NodeId::Host(host) => self.hosts[host.0 as usize].adapter.receive.buffer,
            NodeId::Switch(switch) => match self.switches[switch.0 as usize].buffering {
                Buffering::OutputQueued { memory, .. } => memory,
                Buffering::Voq { input_memory, .. } => input_memory,
            },
        };
        capacity.map(quell_proto::units::Bytes::get)
    }

    /// The length of each flow's frames.
    fn frame_lengths(&self) -> Vec<u64> {
        let mut lengths = vec![0; self.flows.len()];
        for source in &self.sources {
            for flow in &source.flows {
                lengths[flow.0 as usize] = source.frame.get();
            }
        }
        lengths
    }

    /// What the source of each flow offers it on average, in bits per second.
    fn demands(&self) -> Vec<Option<u64>> {
        let mut demands = vec![None; self.flows.len()];
        for source in &self.sources {
            let parts = if source.multicast { 1 } else { source.flows.len().max(1) as u64 };
            let share = mean_bps(source).map(|bps| bps / parts);
            for flow in &source.flows {
                demands[flow.0 as usize] = share;
            }
        }
        demands
    }
}

/// The mean rate of a source between its start and stop, on and off periods averaged; `None` if it takes what
/// it can get.
pub(crate) fn mean_bps(source: &Source) -> Option<u64> {
    let bits_ps = u128::from(source.frame.get()) * 8 * 1_000_000_000_000;
    let every = |ps: u64| bits_ps / u128::from(ps.max(1));
    let bps = match source.pattern {
        Pattern::Greedy | Pattern::OnOff { interval: None, .. } => return None,
        Pattern::Constant { interval } => every(interval.ps()),
        Pattern::Poisson { mean } => every(mean.ps()),
        Pattern::Bernoulli { slot, load_ppm } => every(slot.ps()) * u128::from(load_ppm) / 1_000_000,
        Pattern::OnOff { on, off, interval: Some(interval) } => {
            every(interval.ps()) * u128::from(on.ps()) / (u128::from(on.ps()) + u128::from(off.ps()))
        }
    };
    u64::try_from(bps).ok()
}

/// The name of each port, priority left out: two a link, in the order of its ends.
pub(crate) fn port_names(plan: &Plan) -> Vec<[String; 2]> {
    let mut parallel: BTreeMap<[NodeId; 2], u32> = BTreeMap::new();
    let names = plan.links.iter().map(|link| {
        let mut pair = link.ends;
        pair.sort();
        let count = parallel.entry(pair).or_insert(0);
        *count += 1;
        let number = if *count > 1 { format!("#{count}") } else { String::new() };
        let [a, b] = link.ends.map(|end| plan.name(end));
        [format!("{a}->{b}{number}"), format!("{b}->{a}{number}")]
    });
    names.collect()
}
