//! Hosts around one switch.

use super::{Line, Network};

/// All hosts on the switch `s1`.
pub(super) fn star(hosts: &[String], link: Line) -> Network {
    let mut network = Network::default();
    let switch = network.switch("s1");
    for name in hosts {
        let host = network.host(name);
        network.join(host, switch, link);
    }
    network
}
