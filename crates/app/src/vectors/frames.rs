//! One frame of every format, and frames that must be refused.

use crate::decoded::{Decoded, decode};
use quell_proto::units::{Priority, Quanta};
use quell_proto::wire::lldp::{Id, Lldp, Tlvs};
use quell_proto::wire::{
    AnyFrame, Bth, Carriage, Change, Cim, CimFrame, CnTag, CnpFrame, Dscp, Ecn, Envelope, EtherType,
    FlowLabel, Frame, IpEnds, IpHeader, LldpFrame, MacAddr, MsduStart, Opcode, Pause, PauseFrame, Pfc,
    PfcFrame, Ports, RoceFrame, Tags, U24, Udp, VlanId, VlanKind, VlanTag,
};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The UDP port that these vectors let congestion isolation messages go to.
const CIM_PORT: u16 = 5000;

const PORTS: Ports = Ports { cim: Some(CIM_PORT) };

/// Frames that are right: their octets, and every field.
pub(super) fn good() -> Vec<Value> {
    let frames = built().into_iter().chain(GIVEN.iter().map(|(name, hex)| (*name, octets(hex))));
    let shown = frames.map(|(name, octets)| {
        let Decoded { kind, fields } = decode(&octets, octets.len() as u32, PORTS);
        json!({ "name": name, "octets": hex(&octets), "expect": { "kind": kind, "fields": fields } })
    });
    shown.collect()
}

/// Frames that must be dropped and counted, and what is wrong with each.
pub(super) fn broken() -> Vec<Value> {
    let shown = BROKEN.iter().map(|(name, text)| {
        let octets = octets(text);
        let Decoded { kind, fields } = decode(&octets, octets.len() as u32, PORTS);
        json!({ "name": name, "octets": hex(&octets), "expect": { "kind": kind, "fault": fields.get("fault") } })
    });
    shown.collect()
}

/// Formats whose octets are public, or follow from this project's documents.
const GIVEN: &[(&str, &str)] = &[
    (
        "CNM with every field",
        "020000000001 020000000c01 8100c064 22e90007 22e7 0025 020000000c010003 0078 fffb 6000 020000000002 001a
         0800450005dc00010000401100000a0000010a000002045708ae",
    ),
    (
        "CNP on IPv4, with a UDP checksum",
        "020000000001 020000000002 0800 45c0003c00004000401125ef0a0000020a000001 c00012b700280ccd
         8100ffff4000001100000000 00000000000000000000000000000000 5b65ef9f",
    ),
    (
        "CNM, untagged and without excerpt, padded",
        "020000000001 020000000c01 22e7 003f 020000000c010003 7fff 8000 e000 020000000002 0000
         00000000000000000000000000000000000000000000",
    ),
];

const BROKEN: &[(&str, &str)] = &[
    (
        "CNM without feedback",
        "020000000001 020000000c01 22e7 0000 0000000000000000 0000 0000 0000 000000000000 0000",
    ),
    (
        "CNM of version 1",
        "020000000001 020000000c01 22e7 1001 0000000000000000 0000 0000 0000 000000000000 0000",
    ),
    ("CNM cut short", "020000000001 020000000c01 22e7 0001 00000000000000"),
    (
        "CNM with an excerpt of 65 octets",
        "020000000001 020000000c01 22e7 0001 0000000000000000 0000 0000 0000 000000000000 0041",
    ),
    (
        "CNM with an excerpt beyond its end",
        "020000000001 020000000c01 22e7 0001 0000000000000000 0000 0000 0000 000000000000 0004 0800",
    ),
    ("PAUSE to a station", "020000000002 020000000001 8808 0001 ffff"),
    (
        "PFC with a tag",
        "0180c2000001 020000000001 8100c000 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000",
    ),
    ("MAC control of another opcode", "0180c2000001 020000000001 8808 0002 0000"),
    ("a VLAN tag behind the CN-TAG", "020000000002 020000000001 22e9 0007 8100 6064 0800"),
    ("CIM of version 1", "020000000c02 020000000c01 89a2 10 020000000002 020000000001 0064 0000"),
    (
        "CIM with an excerpt of 513 octets",
        "020000000c02 020000000c01 89a2 00 020000000002 020000000001 0064 0201",
    ),
    (
        "CNP with a wrong ICRC",
        "020000000001 020000000002 0800 45c0003c00004000401125ef0a0000020a000001 c00012b700280000
         8100ffff4000001200000000 00000000000000000000000000000000 5b65ef9f",
    ),
    (
        "CNP with a wrong IPv4 checksum",
        "020000000001 020000000002 0800 45c0003c00004000401125ee0a0000020a000001 c00012b700280ccd
         8100ffff4000001100000000 00000000000000000000000000000000 5b65ef9f",
    ),
    ("LLDP without a chassis", "0180c200000e 020000000001 88cc 0407 03 020000000001 0602 0078 0000"),
    (
        "LLDP with two lifetimes",
        "0180c200000e 020000000001 88cc 0207 04 020000000001 0407 03 020000000001 0602 0078 0602 0078 0000",
    ),
];

/// The TLVs of 802.1, each in a frame of its own.
const TLVS: &[(&str, &str)] = &[
    ("LLDP, congestion notification on priority 3", "fe060080c208 08 08"),
    ("LLDP, ETS configuration", "fe190080c209 c0 01234567 0a0a0a14140a0a0a 02020202020000ff"),
    ("LLDP, ETS recommendation", "fe190080c20a 00 01234567 14141414140a0000 0202020202000000"),
    ("LLDP, PFC on priorities 3 and 4", "fe060080c20b 88 18"),
    ("LLDP, PFC bound to MACsec", "fe060080c20b 44 08"),
    ("LLDP, FCoE on 3 and RoCE on 4", "fe0b0080c20c 00 61 8906 83 12b7"),
    (
        "LLDP, congestion isolation of class 3 into class 4",
        "fe1b0080c213 000000fb04000000 0030 020000000001 1388 01 c000020a",
    ),
];

/// Frames made from values.
fn built() -> Vec<(&'static str, Vec<u8>)> {
    let priority = |number| Priority::new(number).expect("one of eight");
    let plain = Envelope::plain(MacAddr::numbered(2), MacAddr::numbered(1));
    let tag = VlanTag {
        kind: VlanKind::Customer,
        priority: priority(3),
        drop_eligible: false,
        id: VlanId::new(1).expect("twelve bits"),
    };
    let tagged = Envelope { tags: Tags::one(tag), cn_tag: Some(CnTag { flow: 7 }), ..plain };
    let source = MacAddr::numbered(1);
    let mut both = Pfc::of(priority(3), Quanta::MAX);
    both.times[4] = Some(Quanta(0));
    let data = Frame { header: tagged.header(EtherType::EXPERIMENT), payload: &[0, 0, 0, 7, 0, 0, 0, 42] };
    let pause = |time| AnyFrame::Pause(PauseFrame { source, pause: Pause { time } });
    let mut frames = vec![
        ("data with VLAN tag and CN-TAG", AnyFrame::Data(data)),
        ("PAUSE for as long as can be", pause(Quanta::MAX)),
        ("PAUSE that ends", pause(Quanta(0))),
        ("PFC, stop 3 and go 4", AnyFrame::Pfc(PfcFrame { source, pfc: both })),
    ];
    for (name, data, ends) in [
        ("CNP on IPv4", false, v4()),
        ("CNP on IPv6", false, v6()),
        ("RoCE write on IPv4, marked", true, v4()),
        ("RoCE write on IPv6, marked", true, v6()),
    ] {
        frames.push((name, if data { roce(plain, ends) } else { cnp(plain, ends) }));
    }
    for (name, change, carriage) in [
        ("CIM on layer 2, isolate", Change::Isolate, Carriage::Layer2),
        ("CIM on layer 2, release", Change::Release, Carriage::Layer2),
        ("CIM on IPv4", Change::Isolate, udp(v4())),
        ("CIM on IPv6", Change::Isolate, udp(v6())),
    ] {
        frames.push((name, cim(plain, change, carriage)));
    }
    let mut emitted: Vec<(&str, Vec<u8>)> = frames.iter().map(|(name, frame)| (*name, emit(frame))).collect();
    for (name, text) in TLVS {
        let tlv = octets(text);
        emitted.push((name, lldp(&tlv)));
    }
    let all: Vec<u8> =
        TLVS.iter().filter(|(name, _)| !name.contains("MACsec")).flat_map(|(_, text)| octets(text)).collect();
    emitted.push(("LLDP with all of these", lldp(&all)));
    emitted
}

/// A frame around TLVs, read so that only what is right gets in.
fn lldp(tlvs: &[u8]) -> Vec<u8> {
    let mac = MacAddr::numbered(1);
    let head = octets("0207 04 020000000001 0407 03 020000000001 0602 0078");
    let pdu = [head, tlvs.to_vec()].concat();
    let read = Lldp::parse(&pdu).map_or(Tlvs::NONE, |lldp| lldp.tlvs);
    let name = |kind| Id::new(kind, &mac.0).expect("six octets");
    let lldp = Lldp { chassis: name(Id::CHASSIS_MAC), port: name(Id::PORT_MAC), lifetime: 120, tlvs: read };
    let envelope = Envelope::plain(MacAddr::NEAREST_BRIDGE, mac);
    emit(&AnyFrame::Lldp(LldpFrame { envelope, lldp }))
}

fn emit(frame: &AnyFrame<'_>) -> Vec<u8> {
    let mut octets = vec![0; 2048];
    let length = frame.emit(&mut octets).expect("there is room for these");
    octets.truncate(length);
    octets
}

fn v4() -> IpEnds {
    let (source, destination) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 1));
    IpEnds::V4 { source, destination, identification: 0, stays_whole: true }
}

fn v6() -> IpEnds {
    let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let flow = FlowLabel::new(0x12345).expect("twenty bits");
    IpEnds::V6 { source: address(2), destination: address(1), flow }
}

fn ip(ends: IpEnds, dscp: u8, ecn: Ecn, hops: u8) -> IpHeader {
    IpHeader { ends, dscp: Dscp::new(dscp).expect("six bits"), ecn, hops }
}

fn cnp(envelope: Envelope, ends: IpEnds) -> AnyFrame<'static> {
    AnyFrame::Cnp(CnpFrame {
        envelope,
        ip: ip(ends, 48, Ecn::Incapable, 64),
        source_port: 0xc000,
        has_checksum: matches!(ends, IpEnds::V6 { .. }),
        queue_pair: U24::new(17).expect("24 bits"),
        partition: 0xffff,
        migrated: false,
    })
}

fn roce(envelope: Envelope, ends: IpEnds) -> AnyFrame<'static> {
    AnyFrame::Roce(RoceFrame {
        envelope,
        ip: ip(ends, 26, Ecn::Congested, 64),
        source_port: 0xc001,
        has_checksum: matches!(ends, IpEnds::V6 { .. }),
        bth: Bth {
            opcode: Opcode::WRITE_MIDDLE,
            solicited: false,
            migrated: true,
            partition: 0xffff,
            fecn: false,
            becn: false,
            queue_pair: U24::new(0x12_3456).expect("24 bits"),
            wants_ack: true,
            sequence: U24::new(0xab_cdef).expect("24 bits"),
        },
        payload: b"thirteen octs",
    })
}

fn udp(ends: IpEnds) -> Carriage {
    let ip = ip(ends, 48, Ecn::Incapable, 1);
    Carriage::Udp(Udp { ip, source_port: CIM_PORT, destination_port: CIM_PORT, has_checksum: true })
}

fn cim(envelope: Envelope, change: Change, carriage: Carriage) -> AnyFrame<'static> {
    let cim = Cim {
        change,
        destination: MacAddr::numbered(4),
        source: MacAddr::numbered(3),
        vlan: VlanId::new(100).expect("twelve bits"),
        excerpt: MsduStart::of(&[0x08, 0x00, 0x45, 0x00, 0x05, 0xdc]),
    };
    AnyFrame::Cim(CimFrame { envelope, carriage, cim })
}

/// The octets that hexadecimal digits stand for, blanks and line ends apart.
pub(super) fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|it| it.to_digit(16)).map(|it| it as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
