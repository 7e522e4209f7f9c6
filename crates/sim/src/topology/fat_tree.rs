//! Three levels of equal switches, with as much rate upwards as downwards.

use super::{Line, Network};

/// The k-ary fat tree: `k` pods of `k/2` edge and `k/2` aggregation switches, `(k/2)²` core switches, `k³/4`
/// hosts. Aggregation switch `a` of every pod is joined to the core switches from `a·k/2` on.
///
/// Hosts are `h1`…, edge switches `e1`…, aggregation switches `a1`… and core switches `c1`…, pod by pod. Links
/// are listed hosts first, so the uplinks of a switch have its highest port numbers, in order.
pub(super) fn fat_tree(k: u32, link: Line, trunk: Line) -> Network {
    let half = k / 2;
    let mut network = Network::default();
    let edges: Vec<_> = (1..=k * half).map(|n| network.switch(format!("e{n}"))).collect();
    let aggregation: Vec<_> = (1..=k * half).map(|n| network.switch(format!("a{n}"))).collect();
    let core: Vec<_> = (1..=half * half).map(|n| network.switch(format!("c{n}"))).collect();
    for n in 0..k * half * half {
        let host = network.host(format!("h{}", n + 1));
        network.join(host, edges[(n / half) as usize], link);
    }
    for edge in 0..k * half {
        let pod = edge / half;
        for up in 0..half {
            network.join(edges[edge as usize], aggregation[(pod * half + up) as usize], trunk);
        }
    }
    for switch in 0..k * half {
        for up in 0..half {
            let above = core[(switch % half * half + up) as usize];
            network.join(aggregation[switch as usize], above, trunk);
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::plan::NodeId;
    use quell_proto::units::{Duration, Rate};

    #[test]
    fn a_fat_tree_has_the_size_its_k_says_and_k_links_a_switch() {
        let line = Line { rate: Rate::from_gbps(100), delay: Duration::from_us(1) };
        for k in [2, 4, 8] {
            let network = fat_tree(k, line, line);
            assert_eq!(network.hosts.len(), (k * k * k / 4) as usize);
            assert_eq!(network.switches.len(), (k * k + k * k / 4) as usize);
            let mut links = vec![0; network.switches.len()];
            for end in network.links.iter().flat_map(|link| link.ends) {
                if let NodeId::Switch(switch) = end {
                    links[switch.0 as usize] += 1;
                }
            }
            assert!(links.iter().all(|&count| count == k), "k = {k}: {links:?}");
        }
    }
}
