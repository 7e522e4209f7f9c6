//! Which part of a network a thread simulates.
//!
//! A cut is a guess about work, made before anything runs: the rate of a node's links stands for its events. Any cut gives
//! the same run; a good one gives each part as much to do and lets few frames cross.

use crate::scenario::plan::{NodeId, Plan};
use quell_proto::units::{Bytes, Duration};

/// A network cut into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// For each node, hosts first and then switches, its part.
    pub part_of: Vec<u16>,
    /// How many parts there are; each has a node.
    pub parts: usize,
    /// The soonest that anything sent at an instant can reach another part. `None`: nothing ever does.
    pub lookahead: Option<Duration>,
}

/// The shortest frame that is ever sent.
const SHORTEST: Bytes = Bytes::new(64);

/// Cuts a network into at most `parts` parts.
///
/// A host goes with its switch, unless there is only one switch; ends of a link without delay go together. Nodes with
/// hosts are dealt out in their order, as topologies number neighbours next to each other; each switch without hosts
/// then goes where most of its links lead, as long as that part is not full.
pub(crate) fn cut(plan: &Plan, parts: usize) -> Cut {
    let hosts = plan.hosts.len();
    let nodes = hosts + plan.switches.len();
    let node = |id: NodeId| match id {
        NodeId::Host(host) => host.0 as usize,
        NodeId::Switch(switch) => hosts + switch.0 as usize,
    };
    let links: Vec<([usize; 2], u64, Duration)> =
        plan.links.iter().map(|link| (link.ends.map(node), link.rate.bps(), link.delay)).collect();

    let mut groups = Groups::new(nodes);
    for ([a, b], _, delay) in &links {
        let hangs_on = (*a < hosts || *b < hosts) && plan.switches.len() > 1;
        if hangs_on || *delay == Duration::ZERO {
            groups.join(*a, *b);
        }
    }
    let mut weight = vec![0u64; nodes];
    for ([a, b], rate, _) in &links {
        // In megabits, so that no sum overflows; a link costs each of its ends something however slow it is.
        weight[groups.of(*a)] += rate / 1_000_000 + 1;
        weight[groups.of(*b)] += rate / 1_000_000 + 1;
    }
    let total: u64 = weight.iter().sum();
    let share = total.div_ceil(parts.max(1) as u64).max(1);

    let mut part_of_group: Vec<Option<u16>> = vec![None; nodes];
    let mut load = vec![0u64; parts.max(1)];
    let edge_total: u64 = {
        let mut seen = vec![false; nodes];
        (0..hosts).map(|host| groups.of(host)).filter(|group| !std::mem::replace(&mut seen[*group], true)).map(|group| weight[group]).sum()
    };
    let mut dealt = 0u64;
    for host in 0..hosts {
        let group = groups.of(host);
        if part_of_group[group].is_some() {
            continue;
        }
        // By the middle of the group on a line that all groups with hosts share out.
        let middle = dealt + weight[group] / 2;
        let part = (u128::from(middle) * load.len() as u128 / u128::from(edge_total.max(1))) as usize;
        let part = part.min(load.len() - 1);
        part_of_group[group] = Some(part as u16);
        load[part] += weight[group];
        dealt += weight[group];
    }
    for switch in hosts..nodes {
        let group = groups.of(switch);
        if part_of_group[group].is_some() {
            continue;
        }
        let mut pull = vec![0u64; load.len()];
        for ([a, b], rate, _) in &links {
            for (own, other) in [(*a, *b), (*b, *a)] {
                if groups.of(own) == group
                    && let Some(part) = part_of_group[groups.of(other)]
                {
                    pull[usize::from(part)] += rate / 1_000_000 + 1;
                }
            }
        }
        let fits = |part: &usize| load[*part] + weight[group] <= share + share / 16;
        let lightest = (0..load.len()).min_by_key(|part| load[*part]).expect("there is a part");
        let part = (0..load.len())
            .filter(fits)
            .max_by_key(|part| (pull[*part], std::cmp::Reverse(load[*part]), std::cmp::Reverse(*part)))
            .unwrap_or(lightest);
        part_of_group[group] = Some(part as u16);
        load[part] += weight[group];
    }
    let dealt: Vec<u16> =
        (0..nodes).map(|node| part_of_group[groups.of(node)].expect("every group is dealt")).collect();
    number_anew(dealt, &links)
}

/// Leaves out parts that got nothing, and looks at what is cut.
fn number_anew(dealt: Vec<u16>, links: &[([usize; 2], u64, Duration)]) -> Cut {
    let mut used = dealt.clone();
    used.sort_unstable();
    used.dedup();
    let part_of: Vec<u16> = dealt
        .iter()
        .map(|part| used.binary_search(part).expect("it is used") as u16)
        .collect();
    let lookahead = links
        .iter()
        .filter(|([a, b], ..)| part_of[*a] != part_of[*b])
        .map(|(_, rate, delay)| *delay + quell_proto::units::Rate::from_bps(*rate).time_for(SHORTEST))
        .min();
    Cut { part_of, parts: used.len().max(1), lookahead }
}

/// Nodes that must stay together.
struct Groups {
    leader: Vec<usize>,
}

impl Groups {
    fn new(nodes: usize) -> Groups {
        Groups { leader: (0..nodes).collect() }
    }

    fn of(&self, mut node: usize) -> usize {
        while self.leader[node] != node {
            node = self.leader[node];
        }
        node
    }

    /// The lower number leads, so that chains stay short for hosts, which come first.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.leader[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Request, read};

    fn plan(topology: &str) -> Plan {
        let text = format!(
            "title = \"t\"\nshows = \"t\"\nabout = \"t\"\n[run]\nlength = \"1ms\"\nsample = \"1ms\"\n[topology]\n{topology}\n\
             [[traffic]]\nfrom = \"h1\"\nto = \"h2\"\npattern = \"greedy\"\n"
        );
        let request = Request {
            file: "t.toml",
            text: &text,
            base: &|_| None,
            sets: &[],
            quick: false,
            repeat: None,
            seed: None,
            wire_check: false,
        };
        read(request).expect("a scenario without mistakes").configurations.remove(0).plan
    }

    fn fat_tree() -> Plan {
        plan("kind = \"fat-tree\"\nk = 8\nlink = { rate = \"10Gb/s\", delay = \"1us\" }")
    }

    #[test]
    fn hosts_stay_with_their_switch() {
        let plan = fat_tree();
        let cut = cut(&plan, 4);
        for link in &plan.links {
            if let [NodeId::Host(host), NodeId::Switch(switch)] | [NodeId::Switch(switch), NodeId::Host(host)] = link.ends {
                let switch = plan.hosts.len() + switch.0 as usize;
                assert_eq!(cut.part_of[host.0 as usize], cut.part_of[switch]);
            }
        }
    }

    #[test]
    fn parts_have_about_as_much_to_do() {
        let plan = fat_tree();
        for parts in [1, 2, 3, 4, 5, 8, 16] {
            let cut = cut(&plan, parts);
            assert_eq!(cut.parts, parts);
            let mut ends = vec![0u32; parts];
            for node in plan.links.iter().flat_map(|link| link.ends) {
                let node = match node {
                    NodeId::Host(host) => host.0 as usize,
                    NodeId::Switch(switch) => plan.hosts.len() + switch.0 as usize,
                };
                ends[usize::from(cut.part_of[node])] += 1;
            }
            let (least, most) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
            assert!(f64::from(*most) <= 1.35 * f64::from(*least), "{parts} parts: {ends:?}");
        }
    }

    #[test]
    fn the_lookahead_is_the_shortest_way_across_the_cut() {
        let cut = cut(&fat_tree(), 2);
        // A microsecond of wire, and 64 octets at 10 Gb/s.
        assert_eq!(cut.lookahead, Some(Duration::from_ps(1_000_000 + 51_200)));
    }

    #[test]
    fn one_part_looks_ahead_for_ever() {
        let cut = cut(&fat_tree(), 1);
        assert_eq!((cut.parts, cut.lookahead), (1, None));
    }

    #[test]
    fn the_ends_of_a_link_without_delay_are_not_cut_apart() {
        let plan = plan("kind = \"star\"\nhosts = 4\nlink = { rate = \"10Gb/s\", delay = \"0s\" }");
        let cut = cut(&plan, 2);
        assert_eq!((cut.parts, cut.lookahead), (1, None));
    }

    #[test]
    fn a_star_is_cut_between_its_hosts() {
        let plan = plan("kind = \"star\"\nhosts = 8\nlink = { rate = \"10Gb/s\", delay = \"1us\" }");
        assert_eq!(cut(&plan, 2).parts, 2);
    }
}
