//! The octets of congestion isolation messages.

use super::{Body, Frame, Net, ROOM, address, emit, meant, payload};
use crate::model::frame::UNTAGGED;
use crate::scenario::plan::CimForm;
use crate::scenario::plan_isolation::CIM_PORT;
use core::net::Ipv6Addr;
use quell_proto::wire::{
    AnyFrame, Carriage, Change, Cim, CimFrame, Dscp, Ecn, Envelope, IpEnds, IpHeader, MacAddr, MsduStart,
    Tags, Udp, VlanId,
};

/// How a frame of the flow that a message is about begins, from its EtherType on.
pub(super) fn excerpt(frame: &Frame, most: u16, net: &Net) -> Result<Vec<u8>, String> {
    let flow = net.flows.get(frame.flow as usize).ok_or("a message about no flow")?;
    let data = Frame {
        to: flow.to,
        class: flow.class,
        length: 1500,
        body: Body::Data { sequence: 0, tag: UNTAGGED },
        ..*frame
    };
    let own = payload(&data, net)?;
    let meant = meant(&data, &own, net)?;
    let mut octets = [0; ROOM];
    let length = emit(&data, &meant, &mut octets)?;
    let from = meant.header().payload_at() - 2;
    let rest = octets.get(from..length).unwrap_or_default();
    Ok(rest.get(..usize::from(most)).unwrap_or(rest).to_vec())
}

/// A message as the formats have it.
pub(super) fn message<'a>(
    frame: &Frame,
    excerpt: &'a [u8],
    tags: Tags,
    vlan: VlanId,
    net: &Net,
) -> Result<AnyFrame<'a>, String> {
    let Body::Cim { adds, form, node, .. } = frame.body else { return Err("no message".to_owned()) };
    let flow = net.flows.get(frame.flow as usize).ok_or("a message about no flow")?;
    let ends = match form {
        CimForm::Layer2 => None,
        CimForm::Ipv4 => Some(IpEnds::V4 {
            source: address(node),
            destination: address(frame.to),
            identification: 0,
            stays_whole: true,
        }),
        CimForm::Ipv6 => Some(IpEnds::V6 {
            source: address_v6(node),
            destination: address_v6(frame.to),
            flow: Default::default(),
        }),
    };
    let udp = |ends| Udp {
        // It goes no further than the neighbour.
        ip: IpHeader { ends, dscp: Dscp::default(), ecn: Ecn::Incapable, hops: 1 },
        source_port: CIM_PORT,
        destination_port: CIM_PORT,
        has_checksum: true,
    };
    Ok(AnyFrame::Cim(CimFrame {
        envelope: Envelope {
            destination: MacAddr::numbered(frame.to),
            source: MacAddr::numbered(node),
            tags,
            cn_tag: None,
        },
        carriage: ends.map_or(Carriage::Layer2, |ends| Carriage::Udp(udp(ends))),
        cim: Cim {
            change: if adds { Change::Isolate } else { Change::Release },
            destination: MacAddr::numbered(flow.to),
            source: MacAddr::numbered(flow.from),
            vlan,
            excerpt: MsduStart::of(excerpt),
        },
    }))
}

/// The address of a node in fd00::/96.
pub(crate) fn address_v6(node: u32) -> Ipv6Addr {
    let [a, b] = [(node + 1) >> 16, (node + 1) & 0xffff].map(|half| half as u16);
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, a, b)
}
