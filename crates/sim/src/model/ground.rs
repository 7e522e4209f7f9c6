//! What of a network is the same in all parts of a run, and in its whole course: worked out once, looked at by all.

use super::net::{Step, node_index};
use crate::scenario::plan::{Plan, SwitchId, What};
use crate::scenario::plan_isolation::announced;
use crate::topology::routing::Routes;
use quell_proto::units::{Instant, Priority};
use std::ops::Range;
use std::sync::Arc;

/// The ground that all nodes of a run stand on.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The priorities in use, ascending: those of data, and those of notifications, acknowledgements and the like.
    pub classes: Arc<[Priority]>,
    /// The priorities of data.
    pub data: Vec<Priority>,
    /// What is known of each flow.
    pub flows: Arc<[Flow]>,
    /// Where the receiving half of each flow stands: those of one host side by side, so that a part of the network that counts for some
    /// hosts touches no more memory than that of their flows.
    pub places: Arc<[u32]>,
    /// Of each flow the octets of its message, if it has one, and when its source began; empty where none has any.
    pub messages: Arc<[Option<(u64, Instant)>]>,
    /// The flows of each multicast group: one a receiver. What is sent to the group is sent on each of them.
    pub groups: Arc<[Range<u32>]>,
    /// How each flow of a collective begins; empty where there is none.
    pub steps: Vec<Step>,
    /// For each switch, the TLVs that it announces in LLDP.
    pub announced: Arc<[Box<[u8]>]>,
    /// For each wire, the node and port that send on it.
    pub taps: Arc<[(u32, u32)]>,
    /// For each node, the wires on which its ports send.
    pub wires: Vec<Vec<u32>>,
    /// Routes for every state of the links that the plan's changes bring about.
    pub routes: Arc<[Routes]>,
    /// Which of them holds after each change.
    pub epochs: Arc<[usize]>,
    traffic: Traffic,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The multicast group it belongs to, by its number in [`Ground::groups`].
    pub group: Option<u32>,
    /// Index of its priority among those in use.
    pub class: u8,
}

/// What of a plan's traffic is one host's own.
#[derive(Clone, Debug)]
pub(crate) struct Own<'a> {
    /// From its first flow to its last; those of other hosts are in between if the plan mixes them.
    pub flows: Range<usize>,
    /// Its sources, by their places in the plan.
    pub sources: &'a [u32],
}

/// Whose flows and sources are whose.
#[derive(Debug)]
struct Traffic {
    /// For each host, from its first flow to its last.
    flows: Vec<Range<usize>>,
    /// The sources, host by host, and where those of each host begin.
    sources: Vec<u32>,
    first: Vec<u32>,
}

impl Ground {
    /// What all parts of a run of this plan have in common.
    pub(crate) fn of(plan: &Plan) -> Ground {
        let data = plan.priorities();
        let mut classes = data.clone();
        classes.extend(plan.scheme.messages().map(|messages| messages.priority));
        classes.extend(plan.transport().and_then(|transport| transport.ack_priority));
        classes.extend(plan.message_priorities());
        classes.sort_unstable();
        classes.dedup();
        let mut flows = flows(plan, &classes);
        let (mut messages, mut steps, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        let mut hosts = Vec::with_capacity(plan.sources.len());
        for source in &plan.sources {
            hosts.push(source.host.0);
            let message = source.message.map(|message| (message.get(), source.start));
            if message.is_some() && messages.is_empty() {
                messages = vec![None; flows.len()];
            }
            match source.flows[..] {
                [flow] if message.is_some() => messages[flow.0 as usize] = message,
                _ => {}
            }
            if let (Some(script), [flow]) = (&source.script, &source.flows[..]) {
                steps.resize(flows.len(), Step::default());
                steps[flow.0 as usize] = Step::of(script, source.start);
            }
            if let (true, Some(first), Some(last)) =
                (source.multicast, source.flows.first(), source.flows.last())
            {
                for flow in first.0..last.0 + 1 {
                    flows[flow as usize].group = Some(groups.len() as u32);
                    if let Some(own) = messages.get_mut(flow as usize) {
                        *own = message;
                    }
                }
                groups.push(first.0..last.0 + 1);
            }
        }
        let node_count = plan.hosts.len() + plan.switches.len();
        let mut wires: Vec<Vec<u32>> = vec![Vec::new(); node_count];
        let mut taps = Vec::with_capacity(2 * plan.links.len());
        for (link, number) in plan.links.iter().zip(0u32..) {
            for end in 0..2 {
                let node = node_index(plan, link.ends[end as usize]);
                let ports = &mut wires[node as usize];
                taps.push((node, ports.len() as u32));
                ports.push(2 * number + end);
            }
        }
        let (epochs, routes) = epochs(plan);
        let announced =
            (0..plan.switches.len() as u32).map(|switch| announced(plan, SwitchId(switch)).into());
        let (_, places) = grouped_by_host(plan.hosts.len(), flows.iter().map(|flow| flow.to));
        Ground {
            places: places.into(),
            traffic: Traffic::of(plan.hosts.len(), &flows, &hosts),
            data,
            classes: classes.into(),
            flows: flows.into(),
            messages: messages.into(),
            groups: groups.into(),
            steps,
            announced: announced.collect(),
            taps: taps.into(),
            wires,
            routes,
            epochs: epochs.into(),
        }
    }

    /// The own traffic of a host.
    pub(crate) fn traffic_of(&self, host: usize) -> Own<'_> {
        let Traffic { flows, sources, first } = &self.traffic;
        Own { flows: flows[host].clone(), sources: &sources[first[host] as usize..first[host + 1] as usize] }
    }
}

/// The flows of a plan, as if none were in a group.
fn flows(plan: &Plan, classes: &[Priority]) -> Vec<Flow> {
    let class_of = |priority: Priority| {
        let class = classes.iter().position(|class| *class == priority);
        u8::try_from(class.expect("every priority of a flow is in use")).expect("eight classes at most")
    };
    let flow = |flow: &crate::scenario::plan::Flow| Flow {
        from: flow.from.0,
        to: flow.to.0,
        group: None,
        class: class_of(flow.priority),
    };
    plan.flows.iter().map(flow).collect()
}

impl Traffic {
    /// That of so many hosts, with the host of each source.
    fn of(count: usize, flows: &[Flow], hosts: &[u32]) -> Traffic {
        let mut ranges = vec![0..0; count];
        for (flow, number) in flows.iter().zip(0..) {
            let range: &mut Range<usize> = &mut ranges[flow.from as usize];
            if range.end == 0 {
                range.start = number;
            }
            range.end = number + 1;
        }
        let (first, places) = grouped_by_host(count, hosts.iter().copied());
        let mut sources = vec![0; hosts.len()];
        for (place, number) in places.into_iter().zip(0..) {
            sources[place as usize] = number;
        }
        Traffic { flows: ranges, sources, first }
    }
}

/// Puts things side by side that belong to the same one of so many hosts: where those of each host begin, and where the last ones end;
/// and the place of each thing.
fn grouped_by_host(count: usize, hosts: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0; count + 1];
    hosts.clone().for_each(|host| first[host as usize + 1] += 1);
    for host in 1..first.len() {
        first[host] += first[host - 1];
    }
    let mut next = first.clone();
    let place = |host: u32| {
        let next = &mut next[host as usize];
        *next += 1;
        *next - 1
    };
    let places = hosts.map(place).collect();
    (first, places)
}

/// Routes for every state of the links that the plan's changes bring about, and which of them holds after each change.
fn epochs(plan: &Plan) -> (Vec<usize>, Arc<[Routes]>) {
    let mut up = vec![true; plan.links.len()];
    let mut states = vec![up.clone()];
    let mut epochs = Vec::with_capacity(plan.changes.len());
    let mut current = 0;
    for change in &plan.changes {
        if let What::Link { link, up: works } = change.what {
            up[link.0 as usize] = works;
            current = states.iter().position(|state| *state == up).unwrap_or_else(|| {
                states.push(up.clone());
                states.len() - 1
            });
        }
        epochs.push(current);
    }
    (epochs, states.iter().map(|state| Routes::compute(plan, state)).collect())
}
