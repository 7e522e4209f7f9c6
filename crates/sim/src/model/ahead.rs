//! Nodes whose turn is near: their memory is asked for while others act.
//!
//! In a large network a node finds nothing of its own in the caches when its turn comes: a thousand others have acted since. But
//! whose turn is next is known, and so is what will be looked at first. Each step of the way to it can be read only when the step
//! before has come, so a node is prepared in four steps, one in each turn before its own.

use super::Node;
use super::frame::Pool;
use super::near::bring_near;
use super::net::Wire;
use crate::kernel::agenda::{Agenda, LaneKind};

/// Fewer nodes than this stay in the caches by themselves.
const MANY: usize = 512;

/// The order of turns, where it is of use to know it.
#[derive(Debug)]
pub(super) struct Ahead {
    /// For each node, the one here whose turn comes after it, round and round. Empty if nodes are few, or take no turns of their own.
    next: Vec<u32>,
}

impl Ahead {
    pub(super) fn of(nodes: &[Node], agenda: &Agenda) -> Ahead {
        let take_turns = agenda.hoods() == nodes.len();
        let is_here = |node: &Node| !matches!(node, Node::Elsewhere);
        let is_of_use = take_turns && nodes.len() >= MANY;
        Ahead { next: if is_of_use { round(nodes, is_here) } else { Vec::new() } }
    }

    /// The turn of a node begins: prepares the four that come after it.
    #[inline]
    pub(super) fn prepare(&self, turn: usize, nodes: &[Node], agenda: &Agenda, wires: &[Wire], pool: &Pool) {
        if !self.next.is_empty() {
            self.prepare_after(turn, nodes, agenda, wires, pool);
        }
    }

    #[inline(never)]
    fn prepare_after(&self, turn: usize, nodes: &[Node], agenda: &Agenda, wires: &[Wire], pool: &Pool) {
        let after = |node: usize| self.next[node] as usize;
        let first = after(turn);
        let second = after(first);
        let third = after(second);
        let fourth = after(third);
        let arrivals = |node: usize| {
            let pending = agenda.pending(node).iter().map(|event| event.lane());
            pending.filter(|lane| lane.is(LaneKind::Arrival)).map(|lane| &wires[lane.index()])
        };
        nodes[fourth].bring_near();
        nodes[third].bring_contents_near();
        bring_near(agenda.pending(third));
        nodes[second].bring_wires_near(wires, pool);
        arrivals(second).for_each(bring_near);
        nodes[first].bring_last_near(wires, pool);
        arrivals(first).for_each(|wire| wire.bring_first_near(pool));
    }
}

/// For each value, the place of the one after it that counts, the first of all after the last.
fn round<T>(values: &[T], counts: impl Fn(&T) -> bool) -> Vec<u32> {
    let mut after = values.iter().position(&counts).unwrap_or(0) as u32;
    let mut round = vec![0; values.len()];
    for (place, value) in values.iter().enumerate().rev() {
        round[place] = after;
        if counts(value) {
            after = place as u32;
        }
    }
    round
}

/// What each kind of node is prepared by. Routers are reached by cells, and their wires are not those of frames.
impl Node {
    /// The node itself.
    fn bring_near(&self) {
        match self {
            Node::Switch(switch) => bring_near(&**switch),
            Node::Host(host) => bring_near(&**host),
            Node::Router(router) => bring_near(&**router),
            Node::Elsewhere => {}
        }
    }

    /// What it points to.
    fn bring_contents_near(&self) {
        match self {
            Node::Switch(switch) => switch.bring_contents_near(),
            Node::Host(host) => host.bring_contents_near(),
            Node::Router(_) | Node::Elsewhere => {}
        }
    }

    /// The wires that it sends on, and the ends of its queues.
    fn bring_wires_near(&self, wires: &[Wire], pool: &Pool) {
        match self {
            Node::Switch(switch) => switch.bring_wires_near(wires, pool),
            Node::Host(host) => bring_near(&wires[host.sender.wire as usize]),
            Node::Router(_) | Node::Elsewhere => {}
        }
    }

    /// The last frame on each of those wires.
    fn bring_last_near(&self, wires: &[Wire], pool: &Pool) {
        match self {
            Node::Switch(switch) => switch.bring_last_near(wires, pool),
            Node::Host(host) => wires[host.sender.wire as usize].bring_last_near(pool),
            Node::Router(_) | Node::Elsewhere => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn the_round_leads_from_anyone_to_the_next_that_counts() {
        assert_eq!(round(&[0, 1, 0, 1, 1, 0], |it| *it == 1), [1, 3, 3, 4, 1, 1]);
        assert_eq!(round(&[1], |it| *it == 1), [0]);
        assert_eq!(round(&[0, 0], |it| *it == 1), [0, 0]);
    }
}
