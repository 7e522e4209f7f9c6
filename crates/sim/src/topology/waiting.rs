//! Who can wait for whom: whether pauses can close a circle, in which nothing ever moves again.
//!
//! An input that is full stops the port that feeds it, so what that port's switch holds for it waits. A frame that came
//! to switch `b` from `a` and goes on to `c` makes the input of `b` wait for the input of `c`. If following such waits
//! leads back to where it began, all of those inputs can be full at once, each waiting for the next: a deadlock. Whether
//! it happens is up to traffic and time; that it cannot is known before a run.
//!
//! All shortest paths a flow may take are followed, and where each seed draws its flows, those of all that it may draw.
//! Notifications are not: they are few, and leave the network. Inputs that a host feeds are left out: they wait for
//! others, but nobody waits for a host.

use super::Routes;
use crate::scenario::plan::{FlowControl, HostId, NodeId, Plan, SwitchId};
use quell_proto::units::Priority;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ports that can wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Circle {
    /// The priority that waits; `None` where pauses stop all traffic.
    pub priority: Option<Priority>,
    /// The ports, each fed by the one before and the first by the last: the link, and which of its ends sends.
    pub ports: Vec<(usize, usize)>,
}

/// More circles than this tell nobody anything.
const MOST_CIRCLES: usize = 10;

/// The circles that the flows of a plan can close over those links that are up: for each port that is in one, a shortest
/// that it is in, unless a circle found before has it.
pub fn circles(plan: &Plan, links_up: &[bool]) -> Vec<Circle> {
    if plan.fabric.is_some() {
        // Leaves send up and then down through a fabric of their own, which has credits and no pauses.
        return Vec::new();
    }
    let mut waits = Waits::new(plan);
    let routes = Routes::compute(plan, links_up);
    for ((to, priority), from) in waits.destinations() {
        waits.follow(to, priority, &from, &routes);
    }
    waits.circles()
}

/// The eight priorities, and all traffic at once.
const CLASSES: usize = Priority::COUNT + 1;
const ALL: usize = Priority::COUNT;

/// Which inputs wait for which. An input is known by the wire into it, `2 * link + sending end`, and its class.
struct Waits<'a> {
    plan: &'a Plan,
    /// The wire out of each port of each switch.
    wires: Vec<Vec<usize>>,
    /// The wire out of each host.
    host_wires: Vec<usize>,
    /// Per wire and class, what is waited for: a bit for each port of the receiving switch and class beyond it.
    waits_for: Vec<Vec<u64>>,
    /// Per wire, the last walk that came by.
    seen: Vec<u32>,
    walk: u32,
}

impl<'a> Waits<'a> {
    fn new(plan: &'a Plan) -> Waits<'a> {
        let mut wires = vec![Vec::new(); plan.switches.len()];
        let mut host_wires = vec![0; plan.hosts.len()];
        for (link, ends) in plan.links.iter().map(|link| link.ends).enumerate() {
            for (end, node) in ends.into_iter().enumerate() {
                match node {
                    NodeId::Switch(switch) => wires[switch.0 as usize].push(2 * link + end),
                    NodeId::Host(host) => host_wires[host.0 as usize] = 2 * link + end,
                }
            }
        }
        let count = 2 * plan.links.len();
        Waits {
            plan,
            wires,
            host_wires,
            waits_for: vec![Vec::new(); count * CLASSES],
            seen: vec![0; count],
            walk: 0,
        }
    }

    /// The switches of the senders to each destination, by priority.
    fn destinations(&self) -> BTreeMap<(HostId, Priority), BTreeSet<SwitchId>> {
        let switch_of = |host: HostId| match self.receiver(self.host_wires[host.0 as usize]) {
            NodeId::Switch(switch) => Some(switch),
            NodeId::Host(_) => None,
        };
        let mut groups: BTreeMap<_, BTreeSet<SwitchId>> = BTreeMap::new();
        for flow in &self.plan.flows {
            groups.entry((flow.to, flow.priority)).or_default().extend(switch_of(flow.from));
        }
        for recipe in self.plan.redraw.iter().flat_map(|redraw| &redraw.recipes) {
            let switches: BTreeSet<SwitchId> =
                recipe.hosts().iter().filter_map(|host| switch_of(*host)).collect();
            for &to in recipe.hosts() {
                for priority in recipe.priorities_towards(to) {
                    groups.entry((to, priority)).or_default().extend(&switches);
                }
            }
        }
        groups
    }

    /// Follows all ways from the switches of senders to a destination, and notes who waits for whom on them.
    fn follow(&mut self, to: HostId, priority: Priority, from: &BTreeSet<SwitchId>, routes: &Routes) {
        self.walk += 1;
        let ways = |switch: &SwitchId| {
            let own = &self.wires[switch.0 as usize];
            routes.ports(*switch, to).iter().map(|port| own[usize::from(*port)])
        };
        let mut wires: Vec<usize> = from.iter().flat_map(ways).collect();
        while let Some(wire) = wires.pop() {
            if self.seen[wire] == self.walk {
                continue;
            }
            self.seen[wire] = self.walk;
            let NodeId::Switch(switch) = self.receiver(wire) else { continue };
            for &port in routes.ports(switch, to) {
                let next = self.wires[switch.0 as usize][usize::from(port)];
                wires.push(next);
                if let (Some(here), Some(there)) = (self.class(wire, priority), self.class(next, priority)) {
                    let bit = usize::from(port) * CLASSES + there;
                    let words = &mut self.waits_for[wire * CLASSES + here];
                    if words.len() <= bit / 64 {
                        words.resize(bit / 64 + 1, 0);
                    }
                    words[bit / 64] |= 1 << (bit % 64);
                }
            }
        }
    }

    /// The class in which the input at the end of a wire stops this priority, if it is a switch's and does.
    fn class(&self, wire: usize, priority: Priority) -> Option<usize> {
        let NodeId::Switch(switch) = self.receiver(wire) else { return None };
        let switch = &self.plan.switches[switch.0 as usize];
        match switch.flow_control {
            FlowControl::Off => None,
            FlowControl::Pause(_) => Some(ALL),
            FlowControl::Pfc { priorities, .. } => {
                // A flow may be moved at one switch and not at the next: a pair of classes waits as one.
                let moved = switch.isolation.filter(|it| it.monitored == priority);
                let bits = moved.map_or(0, |it| 1 << it.congesting.get()) | 1 << priority.get();
                (priorities & bits != 0).then_some(priority.index())
            }
        }
    }

    fn receiver(&self, wire: usize) -> NodeId {
        self.plan.links[wire / 2].ends[1 - wire % 2]
    }

    /// The inputs that one waits for.
    fn next(&self, input: usize) -> impl Iterator<Item = usize> + '_ {
        let out: &[usize] = match self.receiver(input / CLASSES) {
            NodeId::Switch(SwitchId(switch)) => &self.wires[switch as usize],
            NodeId::Host(_) => &[],
        };
        let words = self.waits_for[input].iter().enumerate();
        let bits = words.flat_map(|(index, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * index + bit)
        });
        bits.map(|bit| out[bit / CLASSES] * CLASSES + bit % CLASSES)
    }

    fn circles(&self) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut in_one = vec![false; self.waits_for.len()];
        for input in self.tangled() {
            if in_one[input] {
                continue;
            }
            if let Some(circle) = self.way_back(input) {
                circle.iter().for_each(|it| in_one[*it] = true);
                let class = u8::try_from(input % CLASSES).expect("nine classes");
                let ports = circle.into_iter().map(|it| (it / CLASSES / 2, it / CLASSES % 2)).collect();
                circles.push(Circle { priority: Priority::new(class), ports });
            }
            if circles.len() == MOST_CIRCLES {
                break;
            }
        }
        circles
    }

    /// The inputs that are left when those that wait for nobody are taken away, again and again: what is in a circle, or
    /// waits for one.
    fn tangled(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> =
            (0..self.waits_for.len()).map(|input| self.next(input).count()).collect();
        let mut waited_by = vec![Vec::new(); waiting.len()];
        for input in 0..waiting.len() {
            for next in self.next(input) {
                waited_by[next].push(input);
            }
        }
        let mut free: Vec<usize> = (0..waiting.len()).filter(|input| waiting[*input] == 0).collect();
        while let Some(input) = free.pop() {
            for &before in &waited_by[input] {
                waiting[before] -= 1;
                if waiting[before] == 0 {
                    free.push(before);
                }
            }
        }
        (0..waiting.len()).filter(|input| waiting[*input] > 0).collect()
    }

    /// A shortest circle through an input, beginning with it; `None` if it only waits for one.
    fn way_back(&self, input: usize) -> Option<Vec<usize>> {
        let mut before = BTreeMap::new();
        let mut queue = VecDeque::from([input]);
        while let Some(at) = queue.pop_front() {
            for next in self.next(at) {
                if next == input {
                    let mut circle = vec![at];
                    while *circle.last().expect("never empty") != input {
                        circle.push(before[circle.last().expect("never empty")]);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(next) {
                    entry.insert(at);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::scenario::{Request, read};

    fn plan(topology: &str, pause: &str, traffic: &str) -> Plan {
        let text = format!(
            "title = \"t\"\nrun = {{ length = \"1ms\" }}\nswitch = {{ kind = \"output-queued\", pause = {{ {pause} }} }}\n\
             traffic = [{traffic}]\n[topology]\n{topology}"
        );
        let request = Request::plain("t.toml", &text);
        read(request).unwrap_or_else(|problems| panic!("{problems}")).configurations.remove(0).plan
    }

    fn found(plan: &Plan) -> Vec<Circle> {
        circles(plan, &vec![true; plan.links.len()])
    }

    fn names(plan: &Plan, circle: &Circle) -> Vec<String> {
        let ports = circle.ports.iter().map(|&(link, end)| {
            let ends = plan.links[link].ends;
            format!("{}->{}", plan.name(ends[end]), plan.name(ends[1 - end]))
        });
        ports.collect()
    }

    /// So many switches in a ring, with a host each.
    pub(crate) fn ring(count: usize) -> String {
        let list = |letter: &str| {
            let names: Vec<String> = (1..=count).map(|it| format!("\"{letter}{it}\"")).collect();
            names.join(", ")
        };
        let links: Vec<String> = (1..=count)
            .flat_map(|it| [format!("h{it}\", \"s{it}"), format!("s{it}\", \"s{}", it % count + 1)])
            .map(|ends| format!("{{ ends = [\"{ends}\"] }}"))
            .collect();
        format!(
            "kind = \"graph\"\nhosts = [{}]\nswitches = [{}]\nlinks = [{}]",
            list("h"),
            list("s"),
            links.join(", ")
        )
    }

    const PFC: &str = "mode = \"pfc\", stop = \"100kB\", go = \"50kB\"";
    const PAUSE: &str = "mode = \"pause\", stop = \"100kB\", go = \"50kB\"";
    const TWO_ON: &str = "{ from = \"*\", to = \"+2\" }";

    #[test]
    fn a_ring_whose_flows_go_two_on_can_close() {
        let plan = plan(&ring(5), PFC, TWO_ON);
        let circles = found(&plan);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].priority, Priority::new(0));
        assert_eq!(names(&plan, &circles[0]), ["s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s1"]);
    }

    #[test]
    fn a_ring_whose_flows_go_one_on_cannot() {
        assert_eq!(found(&plan(&ring(5), PFC, "{ from = \"*\", to = \"+1\" }")), []);
    }

    #[test]
    fn one_flow_less_opens_the_circle() {
        let flows = "{ from = [\"h1\", \"h2\", \"h3\"], to = \"+2\" }, { from = \"h4\", to = \"h5\" }";
        assert_eq!(found(&plan(&ring(5), PFC, flows)), []);
    }

    #[test]
    fn priorities_close_circles_each_for_itself_and_pause_closes_one_for_all() {
        let halves = "{ from = [\"h1\", \"h2\", \"h3\"], to = \"+2\", priority = 1 }, \
                      { from = [\"h4\", \"h5\"], to = \"+2\", priority = 2 }";
        assert_eq!(found(&plan(&ring(5), PFC, halves)), []);
        let circles = found(&plan(&ring(5), PAUSE, halves));
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].priority, None);
    }

    #[test]
    fn a_priority_that_may_be_dropped_waits_for_nobody() {
        let lossy = format!("{PFC}, priorities = [3]");
        assert_eq!(found(&plan(&ring(5), &lossy, TWO_ON)), []);
        assert_eq!(found(&plan(&ring(5), "mode = \"off\"", TWO_ON)), []);
    }

    #[test]
    fn both_ways_round_a_ring_of_four_are_found() {
        // The host opposite is as far either way, and a hash may take both.
        let circles = found(&plan(&ring(4), PFC, TWO_ON));
        assert_eq!(circles.len(), 2);
        assert!(circles.iter().all(|it| it.ports.len() == 4));
    }

    #[test]
    fn trees_have_no_circle() {
        let any = "{ from = \"*\", to = \"any\" }";
        for topology in [
            "kind = \"star\"\nhosts = 4",
            "kind = \"chain\"\nhosts = 2\nswitches = 5",
            "kind = \"tree\"\nhosts = 3\nswitches = 3",
            "kind = \"fat-tree\"\nk = 4",
            "kind = \"clos\"\nleaves = 4\nspines = 3\nhosts = 3",
        ] {
            assert_eq!(found(&plan(topology, PFC, any)), [], "{topology}");
            assert_eq!(found(&plan(topology, PAUSE, any)), [], "{topology}");
        }
    }

    /// Whom a permutation pairs is drawn by each seed for itself. None of the first ones need close the ring.
    #[test]
    fn what_any_seed_may_draw_is_followed() {
        let drawn = plan(&ring(5), PFC, "{ from = \"*\", to = \"permutation\" }");
        let fixed = Plan { redraw: None, ..drawn.clone() };
        assert_eq!(found(&fixed), [], "the first seed alone closes none");
        let circles = found(&drawn);
        assert_eq!(names(&drawn, &circles[0]), ["s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s1"]);
        let trees = plan(
            "kind = \"clos\"\nleaves = 4\nspines = 3\nhosts = 3",
            PFC,
            "{ to = \"permutation\", from = \"*\" }",
        );
        assert_eq!(found(&trees), []);
    }

    /// A Clos in which two links have failed has ways that go up again, and those can wait for each other (Deadlocks in
    /// Datacenter Networks: Why Do They Form, and How to Avoid Them, HotNets 2016).
    #[test]
    fn failures_can_close_a_circle_in_a_clos() {
        let plan =
            plan("kind = \"clos\"\nleaves = 4\nspines = 2\nhosts = 1", PFC, "{ from = \"*\", to = \"any\" }");
        let fails = |[leaf, spine]: [&str; 2]| {
            plan.links.iter().position(|link| link.ends.map(|end| plan.name(end)) == [leaf, spine]).unwrap()
        };
        let mut up = vec![true; plan.links.len()];
        for link in [["l1", "s1"], ["l2", "s2"]] {
            up[fails(link)] = false;
        }
        let circles = circles(&plan, &up);
        assert!(!circles.is_empty());
        for circle in &circles {
            let names = names(&plan, circle);
            assert!(names.iter().any(|it| it.starts_with("l3->") || it.starts_with("l4->")), "{names:?}");
        }
    }
}
