//! Shortest paths, and which of several equally short ones a frame takes.

use crate::scenario::plan::{HostId, NodeId, Plan, SwitchId, TieBreak};
use std::collections::{BTreeMap, VecDeque};

/// The next hop of every switch towards every host, while a given set of links works.
///
/// All hosts of an edge switch share their routes up to it, so the table has a row per switch and a column
/// per edge switch: 8192 hosts behind 512 edge switches cost 1280 × 512 entries, not 1280 × 8192.
#[derive(Clone, Debug)]
pub struct Routes {
    tie_break: TieBreak,
    /// Where each host is attached; `None` while its link is down, or if its peer is a host.
    attachments: Vec<Option<Attachment>>,
    /// The port of the edge switch that leads to each host.
    host_ports: Vec<u16>,
    columns: usize,
    /// Row by switch, column by edge switch: which of `choices` applies.
    table: Vec<u32>,
    choices: Vec<Choice>,
    /// The port lists of all choices, one after the other, each sorted.
    ports: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Attachment {
    switch: SwitchId,
    column: u32,
}

/// A list of equally good ports of one switch.
#[derive(Clone, Copy, Debug)]
struct Choice {
    start: u32,
    len: u32,
    /// What [`TieBreak::Destination`] divides the host's number by before it takes the remainder.
    divisor: u32,
}

impl Routes {
    /// The routes over those links of `plan` that are up; `links_up` has an entry per link.
    ///
    /// # Panics
    /// If `links_up` has another length than `plan.links`: there is no telling which links are meant.
    pub fn compute(plan: &Plan, links_up: &[bool]) -> Routes {
        assert_eq!(links_up.len(), plan.links.len(), "one flag per link");
        let graph = SwitchGraph::new(plan);
        let mut attachments = vec![None; plan.hosts.len()];
        let mut host_ports = vec![0; plan.hosts.len()];
        let mut column_of = vec![None; plan.switches.len()];
        let mut destinations = Vec::new();
        for &HostPort { host, switch, port, link } in &graph.host_ports {
            if !links_up[link] {
                continue;
            }
            let column = *column_of[switch.0 as usize].get_or_insert_with(|| {
                destinations.push(switch);
                u32::try_from(destinations.len() - 1).expect("fewer than 2^32 switches")
            });
            attachments[host.0 as usize] = Some(Attachment { switch, column });
            host_ports[host.0 as usize] = port;
        }
        let mut routes = Routes {
            tie_break: plan.tie_break,
            attachments,
            host_ports,
            columns: destinations.len(),
            table: vec![0; destinations.len() * plan.switches.len()],
            choices: vec![Choice { start: 0, len: 0, divisor: 1 }],
            ports: Vec::new(),
        };
        let tiers = graph.tiers();
        let mut known: Vec<BTreeMap<Vec<u16>, u32>> = vec![BTreeMap::new(); plan.switches.len()];
        let mut found = Vec::new();
        for (column, &destination) in destinations.iter().enumerate() {
            let distances = graph.distances([destination], links_up);
            for switch in 0..plan.switches.len() {
                let Some(distance) = distances[switch] else { continue };
                found.clear();
                let closer = |hop: &&Hop| links_up[hop.link] && distances[hop.to] < Some(distance);
                // Unreached neighbours are `None`, which sorts before every distance: leave them out.
                let hops = graph.hops(switch).iter().filter(|hop| distances[hop.to].is_some());
                found.extend(hops.filter(closer).map(|hop| hop.port));
                if found.is_empty() {
                    continue;
                }
                let index = known[switch].get(&found).copied().unwrap_or_else(|| {
                    let index = routes.add(&found, tiers[switch]);
                    known[switch].insert(found.clone(), index);
                    index
                });
                routes.table[switch * routes.columns + column] = index;
            }
        }
        routes
    }

    /// The ports of `switch` on shortest paths to `to`, in ascending order and numbered by the order of the
    /// switch's links in the plan; none if there is no path.
    ///
    /// With [`TieBreak::Hash`] the caller picks one by its flow. [`TieBreak::First`] leaves the lowest. Under
    /// [`TieBreak::Destination`] a switch `l` links away from the nearest switch with hosts, and with `c`
    /// equally good ports, takes number `⌊d / c^l⌋ mod c` of them, `d` being the host's number from 0: in a
    /// fat tree with `h` uplinks a switch, edge switches go up by port `d mod h` and aggregation switches by
    /// `⌊d / h⌋ mod h`, which spreads the destinations evenly over the core.
    #[inline]
    pub fn ports(&self, switch: SwitchId, to: HostId) -> &[u16] {
        let host = to.0 as usize;
        let Some(attachment) = self.attachments[host] else { return &[] };
        if attachment.switch == switch {
            return &self.host_ports[host..=host];
        }
        let index = self.table[switch.0 as usize * self.columns + attachment.column as usize];
        let choice = self.choices[index as usize];
        let all = &self.ports[choice.start as usize..(choice.start + choice.len) as usize];
        if choice.len <= 1 {
            return all;
        }
        match self.tie_break {
            TieBreak::Hash => all,
            TieBreak::First => &all[..1],
            TieBreak::Destination => {
                let pick = (to.0 / choice.divisor % choice.len) as usize;
                &all[pick..=pick]
            }
        }
    }

    fn add(&mut self, ports: &[u16], tier: u32) -> u32 {
        let len = u32::try_from(ports.len()).expect("a switch has at most 65536 ports");
        self.choices.push(Choice {
            start: u32::try_from(self.ports.len()).expect("fewer than 2^32 choices"),
            len,
            divisor: len.saturating_pow(tier),
        });
        self.ports.extend_from_slice(ports);
        u32::try_from(self.choices.len() - 1).expect("fewer than 2^32 choices")
    }
}

/// The switches and what joins them, laid out flat.
struct SwitchGraph {
    /// Where each switch's hops begin in `hops`; one more than there are switches.
    starts: Vec<usize>,
    hops: Vec<Hop>,
    host_ports: Vec<HostPort>,
}

/// A port that leads to another switch.
#[derive(Clone, Copy)]
struct Hop {
    to: usize,
    port: u16,
    link: usize,
}

/// A port that leads to a host.
struct HostPort {
    host: HostId,
    switch: SwitchId,
    port: u16,
    link: usize,
}

impl SwitchGraph {
    fn new(plan: &Plan) -> SwitchGraph {
        let mut next_port = vec![0u16; plan.switches.len()];
        let mut hops = vec![Vec::new(); plan.switches.len()];
        let mut host_ports = Vec::new();
        for (link, ends) in plan.links.iter().map(|link| link.ends).enumerate() {
            let ports = ends.map(|end| match end {
                NodeId::Switch(SwitchId(switch)) => {
                    let port = &mut next_port[switch as usize];
                    *port += 1;
                    *port - 1
                }
                NodeId::Host(_) => 0,
            });
            for (here, there, port) in [(ends[0], ends[1], ports[0]), (ends[1], ends[0], ports[1])] {
                match (here, there) {
                    (NodeId::Switch(switch), NodeId::Host(host)) => {
                        host_ports.push(HostPort { host, switch, port, link });
                    }
                    (NodeId::Switch(from), NodeId::Switch(to)) => {
                        hops[from.0 as usize].push(Hop { to: to.0 as usize, port, link });
                    }
                    (NodeId::Host(_), _) => {}
                }
            }
        }
        let mut starts = vec![0];
        starts.extend(hops.iter().scan(0, |end, hops| {
            *end += hops.len();
            Some(*end)
        }));
        SwitchGraph { starts, hops: hops.concat(), host_ports }
    }

    fn hops(&self, switch: usize) -> &[Hop] {
        &self.hops[self.starts[switch]..self.starts[switch + 1]]
    }

    /// How many links each switch is away from the nearest one with hosts, all links working: the level of a
    /// climb at which a frame passes it. Not affected by failures, so that one moves no other flow.
    fn tiers(&self) -> Vec<u32> {
        let all_up = vec![true; self.hops.iter().map(|hop| hop.link + 1).max().unwrap_or(0)];
        let edges = self.host_ports.iter().map(|port| port.switch);
        self.distances(edges, &all_up).into_iter().map(|distance| distance.unwrap_or(0)).collect()
    }

    /// Links from the nearest of `from` to each switch; `None` where there is no path.
    fn distances(&self, from: impl IntoIterator<Item = SwitchId>, links_up: &[bool]) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.starts.len() - 1];
        let mut queue = VecDeque::new();
        for switch in from {
            if distances[switch.0 as usize].replace(0).is_none() {
                queue.push_back((switch.0 as usize, 0));
            }
        }
        while let Some((switch, distance)) = queue.pop_front() {
            for hop in self.hops(switch) {
                if links_up[hop.link] && distances[hop.to].is_none() {
                    distances[hop.to] = Some(distance + 1);
                    queue.push_back((hop.to, distance + 1));
                }
            }
        }
        distances
    }
}
