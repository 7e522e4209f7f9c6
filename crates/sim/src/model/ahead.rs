//! Nodes whose turn is near: their memory is asked for while others act.
//!
//! In a large network a node finds nothing of its own in the caches when its turn comes: a thousand others have acted since. But
//! whose turn is next is known, and so is what will be looked at first. Each step of the way to it can be read only when the step
//! before has come, so a node is prepared in four steps, one in each turn before its own.
//!
//! That costs time too, which is lost where the caches hold everything anyway, or where few of a switch's ports are used in a turn.

use super::Node;
use super::frame::Pool;
use super::near::bring_near;
use super::net::{Net, Wire};

/// So many frames under way, and what belongs to them, fill the caches near the processor.
const MANY: u64 = 1 << 15;
/// Octets of a usual frame.
const FRAME: u64 = 1024;

/// Those whose turns come next, where it is of use to know them.
#[derive(Debug)]
pub(super) struct Ahead {
    is_of_use: bool,
    /// The nodes in the order of their turns.
    nodes: Vec<u32>,
    /// The classes of data.
    data: Vec<usize>,
    /// The next four, in their order.
    coming: [usize; 4],
}

impl Ahead {
    pub(super) fn of(nodes: &[Node], net: &Net) -> Ahead {
        let Net { agenda, wires, .. } = net;
        let own = nodes.iter().zip(0u32..).filter(|(node, _)| !matches!(node, Node::Elsewhere));
        let mut in_turn: Vec<u32> = own.map(|(_, number)| number).collect();
        in_turn.sort_by_key(|node| agenda.hood_of(*node as usize));
        let take_turns = in_turn.iter().all(|node| agenda.is_lone(*node));
        let on_wires: u64 = wires.iter().map(|wire| wire.holds(FRAME)).sum();
        let data = (0..net.data_count()).map(|data| net.class_of_data(data)).collect();
        Ahead { is_of_use: take_turns && on_wires >= MANY, nodes: in_turn, data, coming: [0; 4] }
    }

    /// The turn of a node begins: prepares the four that come after it.
    #[inline]
    pub(super) fn prepare(&mut self, turn: usize, nodes: &[Node], net: &Net) {
        if self.is_of_use {
            self.prepare_after(turn, nodes, net);
        }
    }

    #[inline(never)]
    fn prepare_after(&mut self, turn: usize, nodes: &[Node], net: &Net) {
        let Net { agenda, wires, inlets, pool, .. } = net;
        if self.coming[0] == turn {
            self.coming.rotate_left(1);
            self.coming[3] = agenda.turn_after(self.coming[2]);
        } else {
            let mut last = turn;
            self.coming = std::array::from_fn(|_| {
                last = agenda.turn_after(last);
                last
            });
        }
        let [first, second, third, fourth] = self.coming;
        let number = |turn: usize| self.nodes[turn] as usize;
        let node = |turn: usize| &nodes[number(turn)];
        let arrivals = |turn: usize| inlets.busy(number(turn)).map(|wire| &wires[wire as usize]);
        node(fourth).bring_near();
        node(third).bring_contents_near(&self.data);
        inlets.bring_near(number(third));
        bring_near(agenda.pending(third));
        node(second).bring_wires_near(wires, pool);
        arrivals(second).for_each(bring_near);
        node(first).bring_last_near(wires, pool);
        arrivals(first).for_each(|wire| wire.bring_first_near(pool));
    }
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
    fn bring_contents_near(&self, data: &[usize]) {
        match self {
            Node::Switch(switch) => switch.bring_contents_near(data),
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
