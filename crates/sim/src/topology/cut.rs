//! Which part of a network a thread simulates, and which nodes act in turns.
//!
//! A cut is a guess about work, made before anything runs: the rate of a node's links stands for its events. Any cut gives
//! the same run; a good one gives each part as much to do and lets few frames cross.

use crate::kernel::agenda::Hoods;
use crate::model::node_index;
use crate::scenario::plan::{InnerNode, Plan};
use quell_proto::units::{Bytes, Duration};
use std::cmp::Reverse;

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
/// A host goes with its switch, unless there is only one switch; ends of a link without delay go together. Groups with
/// hosts are dealt out in their order, as topologies number neighbours next to each other; each switch or router without
/// hosts then goes where most of its links lead, as long as that part is not full.
pub(crate) fn cut(plan: &Plan, parts: usize) -> Cut {
    let hosts = plan.hosts.len();
    let nodes = plan.node_count();
    let lines = lines(plan);
    let mut groups = Groups::new(nodes);
    for line in &lines {
        let hangs_on = line.ends.iter().any(|end| *end < hosts) && plan.switches.len() > 1;
        if hangs_on || line.soonest == Duration::ZERO {
            groups.join(line.ends);
        }
    }
    let mut deal = Deal::new(&lines, &groups, nodes, parts.max(1));
    deal.out_in_order(hosts);
    deal.out_by_pull(&lines, hosts);
    let dealt: Vec<u16> =
        (0..nodes).map(|node| deal.part_of[groups.of(node)].expect("every group is dealt")).collect();
    number_anew(&dealt, &lines, plan)
}

/// With no more links than this, all memory of a network is in the cache, and events may as well come in the order of time.
const FEW_LINKS: usize = 32;

/// The smallest neighbourhoods that anything takes time to leave: single nodes, unless links have no delay or are few.
pub(crate) fn hoods(plan: &Plan) -> Hoods {
    let nodes = plan.node_count();
    let lines = lines(plan);
    if lines.len() <= FEW_LINKS {
        return one_hood(plan);
    }
    let mut groups = Groups::new(nodes);
    for line in lines.iter().filter(|line| line.soonest == Duration::ZERO) {
        groups.join(line.ends);
    }
    let leaders: Vec<usize> = (0..nodes).map(|node| groups.of(node)).collect();
    let dealt: Vec<usize> = (0..nodes).filter(|node| leaders[*node] == *node).collect();
    let place = |leader: &usize| dealt.binary_search(leader).expect("a leader leads itself") as u32;
    let of: Vec<u32> = leaders.iter().map(place).collect();
    let wires = lines.iter().filter(|line| leaders[line.ends[0]] != leaders[line.ends[1]]);
    match wires.map(|line| line.soonest).chain(plan.mail_latencies()).min() {
        Some(window) if window > Duration::ZERO => Hoods { of, window },
        _ => one_hood(plan),
    }
}

/// All nodes together, so that events come in the order of time. Their windows are as long as some dozens of frames take on the
/// fastest link, which is less than most timers do.
pub(crate) fn one_hood(plan: &Plan) -> Hoods {
    let fastest = plan.links.iter().map(|link| link.rate.time_for(LONGEST)).min();
    let window =
        fastest.map_or(Duration::from_us(10), |frame| Duration::from_ps(FRAMES_A_WINDOW * frame.ps()));
    Hoods::one(plan.node_count(), window)
}

const LONGEST: Bytes = Bytes::new(1500);
const FRAMES_A_WINDOW: u64 = 64;

/// The neighbourhoods of one part: first those that reach other parts, the *rim*, in their order, then the others. And how many are of
/// the rim; none if there is but one neighbourhood. Nodes of other parts, for which nothing is ever booked, come last.
pub(crate) fn hoods_of_part(plan: &Plan, cut: &Cut, own: u16) -> (Hoods, usize) {
    let Hoods { of, window } = hoods(plan);
    let count = of.iter().max().map_or(0, |last| *last as usize + 1);
    if count <= 1 {
        return (Hoods { of, window }, 0);
    }
    let mut is_rim = vec![false; count];
    for Line { ends, .. } in lines(plan) {
        if cut.part_of[ends[0]] != cut.part_of[ends[1]] {
            ends.into_iter().for_each(|end| is_rim[of[end] as usize] = true);
        }
    }
    if plan.fabric.is_some() {
        // Leaves of a fabric reach each other by mail too.
        let leaves = plan.hosts.len()..plan.hosts.len() + plan.switches.len();
        leaves.for_each(|leaf| is_rim[of[leaf] as usize] = true);
    }
    let mut is_own = vec![false; count];
    for (hood, part) in of.iter().zip(&cut.part_of) {
        is_own[*hood as usize] |= *part == own;
    }
    let mut order: Vec<usize> = (0..count).collect();
    // Stable: each kind in its order.
    order.sort_by_key(|hood| (!is_own[*hood], !is_rim[*hood]));
    let rim = (0..count).filter(|hood| is_own[*hood] && is_rim[*hood]).count();
    let mut place = vec![0; count];
    for (hood, number) in order.into_iter().zip(0u32..) {
        place[hood] = number;
    }
    (Hoods { of: of.into_iter().map(|hood| place[hood as usize]).collect(), window }, rim)
}

/// A link as a cut sees it.
struct Line {
    ends: [usize; 2],
    /// In megabits per second, and one more, so that however slow it is it costs something.
    weight: u64,
    /// The soonest that something sent over it can arrive.
    soonest: Duration,
}

fn lines(plan: &Plan) -> Vec<Line> {
    let hosts = plan.hosts.len();
    let first_router = hosts + plan.switches.len();
    let outer = plan.links.iter().map(|link| Line {
        ends: link.ends.map(|end| node_index(plan, end) as usize),
        weight: link.rate.bps() / 1_000_000 + 1,
        soonest: if link.delay == Duration::ZERO {
            Duration::ZERO
        } else {
            link.delay + link.rate.time_for(SHORTEST)
        },
    });
    let inner = plan.fabric.iter().flat_map(|fabric| &fabric.links).map(|link| Line {
        ends: link.ends.map(|end| match end {
            InnerNode::Leaf(leaf) => hosts + leaf.0 as usize,
            InnerNode::Router(router) => first_router + router as usize,
        }),
        weight: link.rate.bps() / 1_000_000 + 1,
        // A credit takes no longer than the wire.
        soonest: link.delay,
    });
    outer.chain(inner).collect()
}

/// Groups of nodes being dealt out to parts.
struct Deal<'a> {
    groups: &'a Groups,
    weight: Vec<u64>,
    part_of: Vec<Option<u16>>,
    load: Vec<u64>,
}

impl Deal<'_> {
    fn new<'a>(lines: &[Line], groups: &'a Groups, nodes: usize, parts: usize) -> Deal<'a> {
        let mut weight = vec![0; nodes];
        for line in lines {
            for end in line.ends {
                weight[groups.of(end)] += line.weight;
            }
        }
        Deal { groups, weight, part_of: vec![None; nodes], load: vec![0; parts] }
    }

    fn give(&mut self, group: usize, part: usize) {
        self.part_of[group] = Some(part as u16);
        self.load[part] += self.weight[group];
    }

    /// The groups of the first `nodes` nodes, in their order, as much to each part.
    fn out_in_order(&mut self, nodes: usize) {
        let mut order: Vec<usize> = (0..nodes).map(|node| self.groups.of(node)).collect();
        order.sort_unstable();
        order.dedup();
        let all: u64 = order.iter().map(|group| self.weight[*group]).sum();
        let mut before = 0;
        for group in order {
            // By the middle of the group on a line that is divided evenly.
            let middle = u128::from(before + self.weight[group] / 2);
            let part = (middle * self.load.len() as u128 / u128::from(all.max(1))) as usize;
            before += self.weight[group];
            self.give(group, part.min(self.load.len() - 1));
        }
    }

    /// The groups that are left, each to the part that most of its links lead to, of those that have room for it.
    fn out_by_pull(&mut self, lines: &[Line], first: usize) {
        let parts = self.load.len();
        let nodes = self.weight.len();
        let share = self.weight.iter().sum::<u64>().div_ceil(parts as u64);
        let mut neighbours: Vec<Vec<(usize, u64)>> = vec![Vec::new(); nodes];
        for Line { ends: [a, b], weight, .. } in lines {
            let (a, b) = (self.groups.of(*a), self.groups.of(*b));
            neighbours[a].push((b, *weight));
            neighbours[b].push((a, *weight));
        }
        for node in first..nodes {
            let group = self.groups.of(node);
            if self.part_of[group].is_some() {
                continue;
            }
            let mut pull = vec![0u64; parts];
            for (other, weight) in &neighbours[group] {
                if let Some(part) = self.part_of[*other] {
                    pull[usize::from(part)] += weight;
                }
            }
            let has_room = |part: &usize| self.load[*part] + self.weight[group] <= share + share / 16;
            let lightest = (0..parts).min_by_key(|part| self.load[*part]).expect("there is a part");
            let part = (0..parts)
                .filter(has_room)
                .max_by_key(|part| (pull[*part], Reverse(self.load[*part]), Reverse(*part)))
                .unwrap_or(lightest);
            self.give(group, part);
        }
    }
}

/// Leaves out parts that got nothing, and looks at what is cut.
fn number_anew(dealt: &[u16], lines: &[Line], plan: &Plan) -> Cut {
    let mut used = dealt.to_vec();
    used.sort_unstable();
    used.dedup();
    let place = |part: &u16| used.binary_search(part).expect("it is used") as u16;
    let part_of: Vec<u16> = dealt.iter().map(place).collect();
    let wires = lines.iter().filter(|line| part_of[line.ends[0]] != part_of[line.ends[1]]);
    // Leaves of a fabric reach each other by mail too.
    let mail = plan.mail_latencies().filter(|_| used.len() > 1);
    let lookahead = wires.map(|line| line.soonest).chain(mail).min();
    if lookahead == Some(Duration::ZERO) {
        return Cut { part_of: vec![0; part_of.len()], parts: 1, lookahead: None };
    }
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

    /// The lower number leads.
    fn join(&mut self, ends: [usize; 2]) {
        let [a, b] = ends.map(|end| self.of(end));
        self.leader[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::plan::NodeId;
    use crate::scenario::{Request, read};

    fn plan(topology: &str) -> Plan {
        let text = format!(
            "title = \"t\"\nshows = \"t\"\nabout = \"t\"\n[run]\nlength = \"1ms\"\nsample = \"1ms\"\n[topology]\n{topology}\n\
             [[traffic]]\nfrom = \"h1\"\nto = \"h2\"\npattern = \"greedy\"\n"
        );
        let request = Request::plain("t.toml", &text);
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
            if let [NodeId::Host(host), NodeId::Switch(switch)]
            | [NodeId::Switch(switch), NodeId::Host(host)] = link.ends
            {
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

    /// For each part, the nodes of its rim and its others; every neighbourhood is a node here.
    fn rims(plan: &Plan, cut: &Cut) -> Vec<[Vec<usize>; 2]> {
        let of_part = |part: u16| {
            let (hoods, rim) = hoods_of_part(plan, cut, part);
            let mut own: Vec<usize> =
                (0..plan.node_count()).filter(|node| cut.part_of[*node] == part).collect();
            own.sort_by_key(|node| hoods.of[*node]);
            let places: Vec<u32> = own.iter().map(|node| hoods.of[*node]).collect();
            assert_eq!(places, (0u32..).take(own.len()).collect::<Vec<_>>(), "one after the other");
            let others = own.split_off(rim);
            [own, others]
        };
        (0u16..).take(cut.parts).map(of_part).collect()
    }

    #[test]
    fn the_rim_of_a_part_is_who_has_a_link_to_another() {
        let plan = fat_tree();
        let cut = cut(&plan, 3);
        let reaches = |node: usize| {
            let ends = lines(&plan).into_iter().map(|line| line.ends).filter(|ends| ends.contains(&node));
            ends.flatten().any(|end| cut.part_of[end] != cut.part_of[node])
        };
        for [rim, others] in rims(&plan, &cut) {
            assert!(!rim.is_empty() && rim.is_sorted() && others.is_sorted());
            assert!(rim.into_iter().all(reaches));
            assert!(!others.into_iter().any(reaches));
        }
    }

    #[test]
    fn leaves_of_a_fabric_reach_other_parts_by_mail() {
        let plan = plan(
            "kind = \"rack\"\nlink = { rate = \"100Gb/s\", delay = \"50ns\" }\n[switch]\ninput_memory = \"150kB\"\n\
             output = { buffer = \"150kB\", speedup = \"160%\" }\npause = { mode = \"pause\", stop = \"110kB\", go = \"44kB\" }",
        );
        let hosts = plan.hosts.len();
        for [rim, others] in rims(&plan, &cut(&plan, 2)) {
            assert!(rim.iter().all(|node| *node >= hosts));
            assert!(others.iter().all(|node| *node < hosts || *node >= hosts + plan.switches.len()));
        }
    }

    #[test]
    fn a_whole_network_has_no_rim() {
        let plan = fat_tree();
        let (whole, rim) = hoods_of_part(&plan, &cut(&plan, 1), 0);
        assert_eq!((whole, rim), (hoods(&plan), 0));
    }

    #[test]
    fn the_ends_of_a_link_without_delay_are_not_cut_apart() {
        let mut plan = plan("kind = \"star\"\nhosts = 4\nlink = { rate = \"10Gb/s\", delay = \"1us\" }");
        for link in &mut plan.links {
            link.delay = Duration::ZERO;
        }
        let cut = cut(&plan, 2);
        assert_eq!((cut.parts, cut.lookahead), (1, None));
    }

    #[test]
    fn a_star_is_cut_between_its_hosts() {
        let plan = plan("kind = \"star\"\nhosts = 8\nlink = { rate = \"10Gb/s\", delay = \"1us\" }");
        assert_eq!(cut(&plan, 2).parts, 2);
    }
}
