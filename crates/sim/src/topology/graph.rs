//! Any network, listed link by link.

use super::{Line, Network};
use crate::scenario::plan::NodeId;

/// Just what is listed.
pub(super) fn graph(hosts: &[String], switches: &[String], links: &[([NodeId; 2], Line)]) -> Network {
    let mut network = Network { hosts: hosts.to_vec(), switches: switches.to_vec(), ..Network::default() };
    for (ends, line) in links {
        network.join(ends[0], ends[1], *line);
    }
    network
}
