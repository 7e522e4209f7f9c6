//! Server racks: leaves with server ports around spines.

use super::{Cells, Line, Network, Rack};
use crate::scenario::plan::{Fabric, InnerLink, InnerNode, SwitchId};

/// The hosts on the leaves `l1`…, every leaf joined to every spine `s1`…; or, in the fast form, all hosts on the one switch
/// `fabric`, in the same order.
pub(super) fn rack(rack: &Rack, link: Line) -> Network {
    let Some(cells) = rack.cells else {
        let mut network = Network::default();
        let switch = network.switch("fabric");
        for name in rack.hosts.iter().flatten() {
            let host = network.host(name);
            network.join(host, switch, link);
        }
        return network;
    };
    let mut network = leaves(&rack.hosts, link);
    let uplinks =
        (0..rack.hosts.len() as u32).flat_map(|leaf| (0..rack.spines).map(move |spine| (leaf, spine)));
    let links = uplinks.map(|(leaf, spine)| InnerLink {
        ends: [InnerNode::Leaf(SwitchId(leaf)), InnerNode::Router(spine)],
        rate: rack.uplink.rate,
        delay: rack.uplink.delay,
        lifts: false,
    });
    let names = (1..=rack.spines).map(|spine| format!("s{spine}"));
    network.fabric = Some(cells.fabric(names.collect(), links.collect()));
    network
}

/// Leaves `l1`… and the hosts on them, joined by nothing yet.
pub(super) fn leaves(hosts: &[Vec<String>], link: Line) -> Network {
    let mut network = Network::default();
    for (leaf, hosts) in hosts.iter().enumerate() {
        let switch = network.switch(format!("l{}", leaf + 1));
        for name in hosts {
            let host = network.host(name);
            network.join(host, switch, link);
        }
    }
    network
}

impl Cells {
    /// The fabric of these routers and links.
    pub(super) fn fabric(self, routers: Vec<String>, links: Vec<InnerLink>) -> Fabric {
        Fabric {
            routers,
            links,
            cell: self.payload,
            header: self.header,
            input_buffer: self.input_buffer,
            output_buffer: self.output_buffer,
            router_latency: self.router_latency,
            request_latency: self.request_latency,
            grant_latency: self.grant_latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::{Bytes, Duration, Rate};

    fn line(gbps: u64) -> Line {
        Line { rate: Rate::from_gbps(gbps), delay: Duration::from_ns(50) }
    }

    fn parts(cells: Option<Cells>) -> Rack {
        let hosts = (0..128).map(|leaf| (1..=5).map(|port| format!("h{}", 5 * leaf + port)).collect());
        Rack { hosts: hosts.collect(), spines: 32, uplink: line(25), cells }
    }

    #[test]
    fn four_racks_have_640_ports_in_either_form() {
        let cells = Cells {
            payload: Bytes::new(256),
            header: Bytes::new(8),
            input_buffer: Bytes::new(4096),
            output_buffer: Bytes::new(4096),
            router_latency: Duration::from_ns(100),
            request_latency: Duration::from_ns(250),
            grant_latency: Duration::from_ns(250),
        };
        let whole = rack(&parts(Some(cells)), line(100));
        let fast = rack(&parts(None), line(100));
        assert_eq!(whole.hosts, fast.hosts);
        assert_eq!((whole.hosts.len(), whole.links.len(), whole.switches.len()), (640, 640, 128));
        assert_eq!((fast.links.len(), fast.switches.len()), (640, 1));
        let fabric = whole.fabric.unwrap();
        assert_eq!((fabric.routers.len(), fabric.links.len()), (32, 128 * 32));
        assert!(fast.fabric.is_none());
    }
}
