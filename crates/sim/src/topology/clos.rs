//! Two levels: every leaf is joined to every spine.

use super::{Line, Network};

/// Leaves `l1`, `l2` and so on with their hosts, each joined once to each of the spines `s1`, `s2` and so on.
///
/// Links are listed hosts first, so the uplinks of a leaf have its highest port numbers, in the order of the spines.
pub(super) fn clos(groups: &[Vec<String>], spines: u32, link: Line, trunk: Line) -> Network {
    let mut network = Network::default();
    let leaves: Vec<_> = (1..=groups.len()).map(|number| network.switch(format!("l{number}"))).collect();
    let spines: Vec<_> = (1..=spines).map(|number| network.switch(format!("s{number}"))).collect();
    for (leaf, hosts) in leaves.iter().zip(groups) {
        for name in hosts {
            let host = network.host(name);
            network.join(host, *leaf, link);
        }
    }
    for leaf in &leaves {
        for spine in &spines {
            network.join(*leaf, *spine, trunk);
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::{Duration, Rate};

    #[test]
    fn the_isolation_experiment_has_1152_hosts_and_72_switches() {
        let line = Line { rate: Rate::from_gbps(100), delay: Duration::from_ns(200) };
        let groups: Vec<Vec<String>> =
            (0..48).map(|leaf| (1..=24).map(|it| format!("h{}", leaf * 24 + it)).collect()).collect();
        let network = clos(&groups, 24, line, line);
        assert_eq!(network.hosts.len(), 1152);
        assert_eq!(network.switches.len(), 72);
        assert_eq!(network.links.len(), 1152 + 48 * 24);
        assert_eq!((network.switches[47].as_str(), network.switches[48].as_str()), ("l48", "s1"));
    }
}
