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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Request, read};

    fn plan(topology: &str) -> Plan {
        let text = format!(
            "title = \"t\"\nrun = {{ length = \"1ms\" }}\ntraffic = [{{ from = \"*\", to = \"+1\" }}]\n[topology]\n{topology}"
        );
        let request = Request::plain("t.toml", &text);
        read(request).unwrap_or_else(|problems| panic!("{problems}")).configurations.remove(0).plan
    }

    fn routes(plan: &Plan) -> Routes {
        Routes::compute(plan, &vec![true; plan.links.len()])
    }

    /// The switches a frame passes from one host to another, by name; it must arrive.
    fn walk(plan: &Plan, routes: &Routes, from: u32, to: u32) -> Vec<String> {
        let mut ports = vec![Vec::new(); plan.switches.len()];
        let mut at = None;
        for link in &plan.links {
            for (end, other) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
                match end {
                    NodeId::Switch(switch) => ports[switch.0 as usize].push(other),
                    NodeId::Host(host) if host.0 == from => at = Some(other),
                    NodeId::Host(_) => {}
                }
            }
        }
        let mut way = Vec::new();
        let mut at = at.unwrap();
        while let NodeId::Switch(switch) = at {
            way.push(plan.name(at).to_owned());
            assert!(way.len() < 10, "a loop: {way:?}");
            at = ports[switch.0 as usize][routes.ports(switch, HostId(to))[0] as usize];
        }
        assert_eq!(at, NodeId::Host(HostId(to)));
        way
    }

    #[test]
    fn a_fat_tree_spreads_destinations_as_the_benchmark_says() {
        // Edge switches go up by port d mod h, aggregation switches by ⌊d / h⌋ mod h.
        for k in [4, 8] {
            let plan = plan(&format!("kind = \"fat-tree\"\nk = {k}\nrouting = \"destination\""));
            let routes = routes(&plan);
            let h = k / 2;
            let edges = k * h;
            for d in 0..k * h * h {
                for edge in (0..edges).filter(|edge| *edge != d / h) {
                    let up = h + d % h; // ports below h lead to hosts
                    assert_eq!(routes.ports(SwitchId(edge), HostId(d)), [up as u16], "edge {edge} to {d}");
                }
                for above in (0..edges).filter(|above| above / h != d / (h * h)) {
                    let up = h + d / h % h; // ports below h lead to edge switches
                    let found = routes.ports(SwitchId(edges + above), HostId(d));
                    assert_eq!(found, [up as u16], "aggregation {above} to {d}");
                }
            }
        }
    }

    #[test]
    fn a_frame_of_a_fat_tree_passes_five_switches_between_pods_and_arrives() {
        let plan = plan("kind = \"fat-tree\"\nk = 4\nrouting = \"destination\"");
        let routes = routes(&plan);
        // d = 8: edge port 0 mod 2, aggregation port ⌊8/2⌋ mod 2.
        assert_eq!(walk(&plan, &routes, 0, 8), ["e1", "a1", "c1", "a5", "e5"]);
        assert_eq!(walk(&plan, &routes, 0, 11), ["e1", "a2", "c4", "a6", "e6"]);
        assert_eq!(walk(&plan, &routes, 0, 2), ["e1", "a1", "e2"]);
        assert_eq!(walk(&plan, &routes, 0, 1), ["e1"]);
        for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))).filter(|(a, b)| a != b) {
            walk(&plan, &routes, from, to);
        }
    }

    #[test]
    fn a_hash_chooses_among_all_and_first_takes_the_lowest() {
        let all = plan("kind = \"fat-tree\"\nk = 4\nrouting = \"hash\"");
        assert_eq!(routes(&all).ports(SwitchId(0), HostId(15)), [2, 3]);
        let first = plan("kind = \"fat-tree\"\nk = 4\nrouting = \"first\"");
        assert_eq!(routes(&first).ports(SwitchId(0), HostId(15)), [2]);
    }

    const RING: &str = "kind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\", \"u\"]\nlinks = [\
        { ends = [\"a\", \"s\"] }, { ends = [\"b\", \"t\"] }, { ends = [\"s\", \"t\"] }, { ends = [\"s\", \"t\"] }, \
        { ends = [\"s\", \"u\"] }, { ends = [\"u\", \"t\"] }]";

    #[test]
    fn a_failure_moves_traffic_to_what_is_left() {
        let plan = plan(RING);
        let mut up = vec![true; plan.links.len()];
        let to_b = |up: &[bool]| Routes::compute(&plan, up).ports(SwitchId(0), HostId(1)).to_vec();
        assert_eq!(to_b(&up), [1, 2]);
        up[2] = false;
        assert_eq!(to_b(&up), [2]);
        up[3] = false;
        assert_eq!(to_b(&up), [3]);
        up[5] = false;
        assert_eq!(to_b(&up), [0u16; 0]);
    }

    #[test]
    fn a_host_whose_link_is_down_is_reached_from_nowhere() {
        let plan = plan(RING);
        let mut up = vec![true; plan.links.len()];
        up[1] = false;
        let routes = Routes::compute(&plan, &up);
        assert!((0..3).all(|switch| routes.ports(SwitchId(switch), HostId(1)).is_empty()));
        assert_eq!(routes.ports(SwitchId(0), HostId(0)), [0]);
    }
}
