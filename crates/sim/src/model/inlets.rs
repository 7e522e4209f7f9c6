//! Where wires end, and when frames arrive there.

use super::frame::Pool;
use super::near::bring_near;
use super::net::Wire;
use crate::kernel::agenda::{Agenda, Lane, LaneKind};
use quell_proto::units::Instant;

/// A wire that ends at a node which takes its turns by itself needs no booked event: when a turn begins, all that arrives in it is
/// on the wire. Such an end is an inlet. Those of a node stand side by side.
#[derive(Debug, Default)]
pub(crate) struct Inlets {
    /// For each node, the first of its inlets; and the number of all.
    first_of: Vec<u32>,
    /// The wire that ends at each.
    wires: Vec<u32>,
    /// When the first frame arrives by each, or never.
    next: Vec<Instant>,
}

/// No inlet: arrivals are booked.
pub(super) const BOOKED: u32 = u32::MAX;

/// A node with more wires than this has its arrivals booked: to look at all of them in every turn takes longer, if few are in use.
const MANY: usize = 128;

impl Inlets {
    /// Those of a network with so many nodes, whose wires end at `ends`; and for each wire its inlet, or [`BOOKED`].
    pub(super) fn new(nodes: usize, ends: &[u32], agenda: &Agenda) -> (Inlets, Vec<u32>) {
        let mut of_node = vec![Vec::new(); nodes];
        for (node, wire) in ends.iter().zip(0u32..) {
            if agenda.is_lone(*node) {
                of_node[*node as usize].push(wire);
            }
        }
        let mut inlets = Inlets { first_of: vec![0], wires: Vec::new(), next: Vec::new() };
        let mut inlet_of = vec![BOOKED; ends.len()];
        for mut wires in of_node {
            if wires.len() > MANY {
                wires.clear();
            }
            for wire in wires {
                inlet_of[wire as usize] = inlets.wires.len() as u32;
                inlets.wires.push(wire);
            }
            inlets.first_of.push(inlets.wires.len() as u32);
        }
        inlets.next = vec![Instant::NEVER; inlets.wires.len()];
        (inlets, inlet_of)
    }

    /// When the first frame on a wire arrives by its inlet, or never.
    #[inline(always)]
    pub(super) fn expect(&mut self, inlet: u32, due: Instant) {
        self.next[inlet as usize] = due;
    }

    #[inline]
    fn of(&self, node: u32) -> std::ops::Range<usize> {
        self.first_of[node as usize] as usize..self.first_of[node as usize + 1] as usize
    }

    /// The turn of a node begins: lets the agenda know what arrives first on each of its wires.
    #[inline]
    pub(super) fn collect(&self, node: u32, agenda: &mut Agenda, wires: &[Wire], pool: &Pool) {
        let inlets = self.of(node);
        for (next, wire) in self.next[inlets.clone()].iter().zip(&self.wires[inlets]) {
            if agenda.know(*next, Lane::new(LaneKind::Arrival, *wire)) {
                wires[*wire as usize].bring_first_near(pool);
            }
        }
    }

    /// When frames arrive at a node is wanted soon.
    pub(super) fn bring_near(&self, node: usize) {
        let inlets = self.of(node as u32);
        bring_near(&self.next[inlets.clone()]);
        bring_near(&self.wires[inlets]);
    }

    /// The wires of a node on which frames are.
    pub(super) fn busy(&self, node: usize) -> impl Iterator<Item = u32> {
        let inlets = self.of(node as u32);
        let ends = self.next[inlets.clone()].iter().zip(&self.wires[inlets]);
        ends.filter(|(next, _)| **next != Instant::NEVER).map(|(_, wire)| *wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::agenda::Hoods;
    use quell_proto::units::Duration;

    #[test]
    fn a_wire_has_an_inlet_where_a_node_takes_turns_by_itself_and_has_few() {
        let many = MANY as u32 + 1;
        // Nodes 0 and 1 take their turns together.
        let agenda = Agenda::new(Hoods { of: vec![0, 0, 1, 2], window: Duration::from_us(1) });
        let ends: Vec<u32> = [2, 0, 2, 1].into_iter().chain((0..many).map(|_| 3)).collect();
        let (inlets, inlet_of) = Inlets::new(4, &ends, &agenda);
        assert_eq!(inlet_of[..4], [0, BOOKED, 1, BOOKED]);
        assert!(inlet_of[4..].iter().all(|inlet| *inlet == BOOKED));
        assert_eq!((inlets.of(2), inlets.of(3)), (0..2, 2..2));
    }
}
