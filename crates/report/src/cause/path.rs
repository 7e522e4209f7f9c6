//! The way of a flow, where the network leaves no choice.

use quell_record::{Catalog, EntityId, EntityKind};
use std::collections::{BTreeMap, VecDeque};

/// The ports a flow passes from one host to another, if there is one shortest way; recordings do not say which of
/// several a flow took.
pub(super) fn only_path(catalog: &Catalog, flow: EntityId) -> Option<Vec<EntityId>> {
    let EntityKind::Flow { from, to, priority, .. } = &catalog.get(flow).kind else { return None };
    let mut leaving: BTreeMap<&str, Vec<(EntityId, &str)>> = BTreeMap::new();
    for (id, node, peer, forwards) in ports_of(catalog, *priority) {
        if forwards || node == from {
            leaving.entry(node).or_default().push((id, peer));
        }
    }
    // How far each node is, in how many ways it is reached in so many hops, and by which port last.
    let mut reached: BTreeMap<&str, (usize, usize, Option<EntityId>)> = BTreeMap::new();
    let mut waiting = VecDeque::from([from.as_str()]);
    reached.insert(from, (0, 1, None));
    while let Some(node) = waiting.pop_front() {
        let (far, ways, _) = reached[node];
        for &(port, peer) in leaving.get(node).map_or(&[][..], Vec::as_slice) {
            match reached.get_mut(peer) {
                None => {
                    reached.insert(peer, (far + 1, ways, Some(port)));
                    waiting.push_back(peer);
                }
                Some((distance, count, _)) if *distance == far + 1 => *count = count.saturating_add(ways),
                Some(_) => {}
            }
        }
    }
    if reached.get(to.as_str())?.1 != 1 {
        return None;
    }
    let mut path = Vec::new();
    let mut node = to.as_str();
    while let Some(port) = reached.get(node)?.2 {
        path.push(port);
        let EntityKind::Port { node: before, .. } = &catalog.get(port).kind else { return None };
        node = before;
    }
    path.reverse();
    Some(path)
}

/// The ports by which a host sends a flow's frames.
pub(super) fn own_ports(catalog: &Catalog, flow: EntityId) -> Vec<EntityId> {
    let EntityKind::Flow { from, priority, .. } = &catalog.get(flow).kind else { return Vec::new() };
    ports_of(catalog, *priority).filter(|(_, node, ..)| *node == from).map(|(id, ..)| id).collect()
}

/// Ports of a priority: id, node, peer, and whether the node forwards.
fn ports_of(catalog: &Catalog, priority: u8) -> impl Iterator<Item = (EntityId, &str, &str, bool)> {
    let of_priority = move |name: &str| match name.rsplit_once('@') {
        Some((_, number)) => number.parse() == Ok(priority),
        None => true,
    };
    catalog.iter().filter_map(move |(id, entity)| match &entity.kind {
        EntityKind::Port { node, peer, of_switch, .. } if of_priority(&entity.name) => {
            Some((id, node.as_str(), peer.as_str(), *of_switch))
        }
        _ => None,
    })
}
