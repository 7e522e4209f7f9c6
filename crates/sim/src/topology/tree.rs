//! Edge switches around a core.

use super::{Line, Network};

/// Edge switches `e1`, `e2` and so on with their hosts, each joined to the switch `core`.
pub(super) fn tree(groups: &[Vec<String>], link: Line, trunk: Line) -> Network {
    let mut network = Network::default();
    let core = network.switch("core");
    let mut edges = Vec::new();
    for (index, hosts) in groups.iter().enumerate() {
        let edge = network.switch(format!("e{}", index + 1));
        edges.push(edge);
        for name in hosts {
            let host = network.host(name);
            network.join(host, edge, link);
        }
    }
    for edge in edges {
        network.join(edge, core, trunk);
    }
    network
}
