//! Groups of routers, each group joined to every other: a fabric that blocks.

use super::rack::leaves;
use super::{Dragonfly, Line, Network};
use crate::scenario::plan::{InnerLink, InnerNode, SwitchId};

/// Routers `r1`…, group by group, each with one leaf `l1`… and its hosts `h1`…. The routers of a group are all joined to each
/// other, and every two groups by one link, which the routers of a group take turns to hold.
///
/// A cell goes by at most one link within its group, one between groups and one within the other. Crossing between groups
/// lifts it to the next virtual channel, so that no circle of full buffers can wait for itself.
pub(super) fn dragonfly(parts: &Dragonfly, link: Line) -> Network {
    let Dragonfly { groups, routers, .. } = *parts;
    let mut network = leaves(&parts.hosts, link);
    let inner = |ends: [InnerNode; 2], line: Line, lifts: bool| InnerLink {
        ends,
        rate: line.rate,
        delay: line.delay,
        lifts,
    };
    let router = |group: u32, number: u32| InnerNode::Router(group * routers + number);
    let mut links = Vec::new();
    for leaf in 0..groups * routers {
        links.push(inner([InnerNode::Leaf(SwitchId(leaf)), InnerNode::Router(leaf)], parts.uplink, false));
    }
    for group in 0..groups {
        for a in 0..routers {
            let others = a + 1..routers;
            links.extend(others.map(|b| inner([router(group, a), router(group, b)], parts.local, false)));
        }
    }
    // The link from a group to the one `n` places on is held by its router `n - 1`, counted round.
    let holder = |from: u32, to: u32| router(from, ((to + groups - from) % groups - 1) % routers);
    for a in 0..groups {
        links.extend((a + 1..groups).map(|b| inner([holder(a, b), holder(b, a)], parts.global, true)));
    }
    let names = (1..=groups * routers).map(|number| format!("r{number}"));
    network.fabric = Some(parts.cells.fabric(names.collect(), links));
    network
}
