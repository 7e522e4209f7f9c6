//! Switches in a row.

use super::{Line, Network};

/// Switches `s1`, `s2` and so on, each with its hosts and joined to the next.
pub(super) fn chain(groups: &[Vec<String>], link: Line, trunk: Line) -> Network {
    let mut network = Network::default();
    let mut switches = Vec::new();
    for (index, hosts) in groups.iter().enumerate() {
        let switch = network.switch(format!("s{}", index + 1));
        switches.push(switch);
        for name in hosts {
            let host = network.host(name);
            network.join(host, switch, link);
        }
    }
    for pair in switches.windows(2) {
        network.join(pair[0], pair[1], trunk);
    }
    network
}
