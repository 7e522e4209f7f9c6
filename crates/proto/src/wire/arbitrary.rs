//! Any value of each format, for property tests.

use super::lldp::*;
use super::*;
use crate::units::{Priority, PrioritySet, Quanta};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

/// A frame of any format that owns its payload, as a generated value must.
#[derive(Clone, Debug)]
pub(super) enum OwnedFrame {
    Control(AnyFrame<'static>),
    Data(Header, Vec<u8>),
    Roce(RoceFrame<'static>, Vec<u8>),
    Cim(CimFrame<'static>, Vec<u8>),
    /// A name for chassis and port, a lifetime, and the rest one after the other.
    Lldp(Envelope, Vec<u8>, u16, Vec<u8>),
}

/// A TLV that owns what it holds.
#[derive(Clone, Debug)]
pub(super) enum OwnedTlv {
    Plain(Tlv<'static>),
    Applications(Vec<u8>),
    Other(u8, Vec<u8>),
}

impl OwnedTlv {
    pub(super) fn as_tlv(&self) -> Tlv<'_> {
        match self {
            OwnedTlv::Plain(tlv) => *tlv,
            OwnedTlv::Applications(lines) => Tlv::Applications(Applications::parse(lines).unwrap()),
            OwnedTlv::Other(kind, octets) => Tlv::Other(OtherTlv::new(*kind, octets).unwrap()),
        }
    }
}

impl OwnedFrame {
    pub(super) fn as_any(&self) -> AnyFrame<'_> {
        match self {
            OwnedFrame::Control(frame) => *frame,
            OwnedFrame::Data(header, payload) => AnyFrame::Data(Frame { header: *header, payload }),
            OwnedFrame::Roce(frame, payload) => AnyFrame::Roce(RoceFrame { payload, ..*frame }),
            OwnedFrame::Cim(frame, excerpt) => {
                let cim = Cim { excerpt: MsduStart::of(excerpt), ..frame.cim };
                AnyFrame::Cim(CimFrame { cim, ..*frame })
            }
            OwnedFrame::Lldp(envelope, name, lifetime, tlvs) => {
                let id = Id::new(Id::LOCAL, name).unwrap();
                let lldp =
                    Lldp { chassis: id, port: id, lifetime: *lifetime, tlvs: Tlvs::parse(tlvs).unwrap() };
                AnyFrame::Lldp(LldpFrame { envelope: *envelope, lldp })
            }
        }
    }
}

pub(super) fn any_frame() -> impl Strategy<Value = OwnedFrame> {
    let control = |frame| OwnedFrame::Control(frame);
    prop_oneof![
        any_cnm_frame().prop_map(move |frame| control(AnyFrame::Cnm(frame))),
        (any_mac(), any::<u16>()).prop_map(move |(source, time)| {
            control(AnyFrame::Pause(PauseFrame { source, pause: Pause { time: Quanta(time) } }))
        }),
        (any_mac(), any::<[Option<u16>; 8]>()).prop_map(move |(source, times)| {
            let pfc = Pfc { times: times.map(|time| time.map(Quanta)) };
            control(AnyFrame::Pfc(PfcFrame { source, pfc }))
        }),
        (any_header(), any::<Vec<u8>>()).prop_map(|(header, payload)| OwnedFrame::Data(header, payload)),
        any_cnp().prop_map(move |frame| control(AnyFrame::Cnp(frame))),
        (any_roce(), any::<Vec<u8>>()).prop_map(|(frame, payload)| OwnedFrame::Roce(frame, payload)),
        (any_cim(), any::<Vec<u8>>()).prop_map(|(frame, excerpt)| OwnedFrame::Cim(frame, excerpt)),
        any_lldp(),
    ]
}

/// The port that these tests let congestion isolation messages go to.
pub(super) const CIM_PORT: u16 = 5000;

pub(super) fn any_ip() -> impl Strategy<Value = IpHeader> {
    let ends = prop_oneof![
        any::<([u8; 4], [u8; 4], u16, bool)>().prop_map(
            |(source, destination, identification, stays_whole)| {
                let (source, destination) = (source.into(), destination.into());
                IpEnds::V4 { source, destination, identification, stays_whole }
            }
        ),
        (any::<[u8; 16]>(), any::<[u8; 16]>(), 0..1_u32 << 20).prop_map(|(source, destination, flow)| {
            let (source, destination) = (source.into(), destination.into());
            IpEnds::V6 { source, destination, flow: FlowLabel::new(flow).unwrap() }
        }),
    ];
    let ecn = prop::sample::select(vec![Ecn::Incapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested]);
    (ends, 0..64_u8, ecn, any::<u8>()).prop_map(|(ends, dscp, ecn, hops)| {
        let dscp = Dscp::new(dscp).unwrap();
        IpHeader { ends, dscp, ecn, hops }
    })
}

/// A RoCE frame of any kind, without payload.
pub(super) fn any_roce() -> impl Strategy<Value = RoceFrame<'static>> {
    let opcode = any::<u8>().prop_filter_map("no notification", Opcode::new);
    let bth = (opcode, any::<[bool; 5]>(), any::<u16>(), any_u24(), any_u24()).prop_map(
        |(opcode, [solicited, migrated, fecn, becn, wants_ack], partition, queue_pair, sequence)| Bth {
            opcode,
            solicited,
            migrated,
            partition,
            fecn,
            becn,
            queue_pair,
            wants_ack,
            sequence,
        },
    );
    (any_envelope(), any_ip(), any::<u16>(), any::<bool>(), bth).prop_map(
        |(envelope, ip, source_port, has_checksum, bth)| RoceFrame {
            envelope,
            ip,
            source_port,
            has_checksum,
            bth,
            payload: &[],
        },
    )
}

fn any_cnp() -> impl Strategy<Value = CnpFrame> {
    (any_envelope(), any_ip(), any::<u16>(), any::<[bool; 2]>(), any_u24(), any::<u16>()).prop_map(
        |(envelope, ip, source_port, [has_checksum, migrated], queue_pair, partition)| CnpFrame {
            envelope,
            ip,
            source_port,
            has_checksum,
            queue_pair,
            partition,
            migrated,
        },
    )
}

/// A congestion isolation message of any kind, without excerpt.
fn any_cim() -> impl Strategy<Value = CimFrame<'static>> {
    let carriage = prop::option::of((any_ip(), any::<u16>(), any::<bool>()).prop_map(
        |(ip, source_port, has_checksum)| Udp { ip, source_port, destination_port: CIM_PORT, has_checksum },
    ))
    .prop_map(|udp| udp.map_or(Carriage::Layer2, Carriage::Udp));
    let cim = (any::<bool>(), any_mac(), any_mac(), 0..4096_u16).prop_map(
        |(isolate, destination, source, vlan)| Cim {
            change: if isolate { Change::Isolate } else { Change::Release },
            destination,
            source,
            vlan: VlanId::new(vlan).unwrap(),
            excerpt: MsduStart::default(),
        },
    );
    (any_envelope(), carriage, cim).prop_map(|(envelope, carriage, cim)| CimFrame { envelope, carriage, cim })
}

fn any_lldp() -> impl Strategy<Value = OwnedFrame> {
    let name = prop::collection::vec(any::<u8>(), 1..=255);
    let tlvs = prop::collection::vec(any_tlv(), 0..6).prop_map(|list| {
        let list: Vec<Tlv<'_>> = list.iter().map(OwnedTlv::as_tlv).collect();
        let mut buffer = vec![0; list.iter().map(Tlv::emitted_len).sum()];
        Tlvs::write(&list, &mut buffer).unwrap();
        buffer
    });
    (any_envelope(), name, any::<u16>(), tlvs)
        .prop_map(|(envelope, name, lifetime, tlvs)| OwnedFrame::Lldp(envelope, name, lifetime, tlvs))
}

pub(super) fn any_tlv() -> impl Strategy<Value = OwnedTlv> {
    let plain = |tlv| OwnedTlv::Plain(tlv);
    let ets = || {
        (any::<[u8; 8]>(), any::<[u8; 8]>(), any::<[u8; 8]>()).prop_map(|(classes, shares, selection)| Ets {
            classes: classes.map(|class| Priority::new(class % 8).unwrap()),
            shares,
            selection: selection.map(TransmissionSelection),
        })
    };
    let address = prop_oneof![
        Just(None),
        any::<[u8; 4]>().prop_map(|octets| Some(octets.into())),
        any::<[u8; 16]>().prop_map(|octets| Some(octets.into())),
    ];
    let isolation = (any::<[i8; 8]>(), any::<u16>(), any_mac(), any::<u16>(), address);
    prop_oneof![
        any::<[u8; 2]>().prop_map(move |[cnpvs, ready]| {
            let (cnpvs, ready) = (PrioritySet(cnpvs), PrioritySet(ready));
            plain(Tlv::CongestionNotification(CongestionNotification { cnpvs, ready }))
        }),
        (any::<[bool; 2]>(), 1..=8_u8, ets()).prop_map(move |([willing, has_shapers], classes, ets)| {
            let most_classes = MostClasses::new(classes).unwrap();
            plain(Tlv::EtsConfiguration(EtsConfiguration { willing, has_shapers, most_classes, ets }))
        }),
        ets().prop_map(move |ets| plain(Tlv::EtsRecommendation(ets))),
        (any::<[bool; 2]>(), 0..16_u8, any::<u8>()).prop_map(
            move |([willing, bound_to_macsec], capability, enabled)| {
                let (capability, enabled) = (PfcCapability::new(capability).unwrap(), PrioritySet(enabled));
                plain(Tlv::Pfc(PfcConfiguration { willing, bound_to_macsec, capability, enabled }))
            }
        ),
        prop::collection::vec(any::<u8>(), 1..=507).prop_map(OwnedTlv::Applications),
        isolation.prop_map(move |(queue_map, excerpt, address, port, ip)| {
            plain(Tlv::CongestionIsolation(CongestionIsolation {
                queue_map: QueueMap(queue_map),
                excerpt,
                address,
                port,
                ip,
            }))
        }),
        any::<u32>().prop_map(move |us| plain(Tlv::Inactivity(Inactivity { us }))),
        (4..=127_u8, prop::collection::vec(any::<u8>(), 0..=511))
            .prop_filter("another TLV", |(kind, octets)| OtherTlv::new(*kind, octets).is_some())
            .prop_map(|(kind, octets)| OwnedTlv::Other(kind, octets)),
    ]
}

fn any_u24() -> impl Strategy<Value = U24> {
    (0..1_u32 << 24).prop_map(|number| U24::new(number).unwrap())
}

fn any_envelope() -> impl Strategy<Value = Envelope> {
    any_header().prop_map(|header| header.envelope())
}

fn any_cnm_frame() -> impl Strategy<Value = CnmFrame> {
    (any_envelope(), any_cnm()).prop_map(|(envelope, cnm)| CnmFrame { envelope, cnm })
}

pub(super) fn any_cnm() -> impl Strategy<Value = Cnm> {
    let difference = || any::<i16>().prop_map(QueueDifference::from_units);
    (
        (1..=63_u8).prop_map(|feedback| QuantisedFeedback::new(feedback).unwrap()),
        any::<[u8; 8]>().prop_map(CpId),
        difference(),
        difference(),
        any_priority(),
        any_mac(),
        prop::collection::vec(any::<u8>(), 0..=Excerpt::MOST),
    )
        .prop_map(|(feedback, point, offset, delta, priority, destination, excerpt)| {
            let excerpt = Excerpt::of(&excerpt);
            Cnm { feedback, point, offset, delta, priority, destination, excerpt }
        })
}

const CONTROL: [EtherType; 4] = [EtherType::CNM, EtherType::MAC_CONTROL, EtherType::CIM, EtherType::LLDP];

/// A header of data: its EtherType names none of the control formats.
pub(super) fn any_header() -> impl Strategy<Value = Header> {
    let ether_type = any::<u16>()
        .prop_filter_map("an EtherType", EtherType::new)
        .prop_filter("of data", |found| !CONTROL.contains(found));
    let flow = prop::option::of(any::<u16>());
    (any_mac(), any_mac(), any_tags(), flow, ether_type).prop_map(
        |(destination, source, tags, flow, ether_type)| {
            let cn_tag = flow.map(|flow| CnTag { flow });
            Header { destination, source, tags, cn_tag, ether_type }
        },
    )
}

fn any_tags() -> impl Strategy<Value = Tags> {
    prop::collection::vec((any::<bool>(), any::<u16>()), 0..=Tags::MOST).prop_map(|list| {
        let mut tags = Tags::NONE;
        for (service, control) in list {
            let kind = if service { VlanKind::Service } else { VlanKind::Customer };
            tags.push(VlanTag::from_control(kind, control)).unwrap();
        }
        tags
    })
}

fn any_mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

fn any_priority() -> impl Strategy<Value = Priority> {
    (0..8_u8).prop_map(|priority| Priority::new(priority).unwrap())
}
