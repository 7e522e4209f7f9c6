//! The octets of simulated frames: `--wire-check` emits each one as it is sent, parses it, and compares; a capture
//! takes those of the ports that were asked for.
//!
//! Nodes have the addresses that [`MacAddr::numbered`] gives them; a flow's number is its CN-TAG. Data carries its flow,
//! number and tag behind the EtherType for experiments, and so do the messages of schemes whose formats are not known.
//! Where ends speak RoCEv2, data is RoCEv2: a flow's number, beyond the first two that InfiniBand manages itself by, is its
//! queue pair, a frame's its packet sequence number, a node's its address in 10.0.0.0/8, and a mark is CE in the IP header.

mod cim;
mod lldp;

use super::frame::{Body, Frame, MARKED};
use super::ground::Flow;
use super::net::Net;
use crate::scenario::plan_isolation::CIM_PORT;
pub(crate) use cim::address_v6;
use core::net::Ipv4Addr;
pub(super) use lldp::length as lldp_length;
use quell_proto::units::{Instant, Priority};
use quell_proto::wire::{
    self, AnyFrame, Bth, CnTag, Cnm, CnmFrame, CnpFrame, CpId, Dscp, Ecn, Envelope, EtherType, Excerpt,
    Header, IpEnds, IpHeader, MacAddr, Opcode, Pause, PauseFrame, Pfc, PfcFrame, Ports, QuantisedFeedback,
    QueueDifference, RoceFrame, Tags, U24, VlanId, VlanKind, VlanTag,
};
use quell_record::Tap;

/// Room for the longest frame.
const ROOM: usize = 16_384;

/// What frames carry where nobody looks.
static NOTHING: [u8; ROOM] = [0; ROOM];

/// Octets of the check sequence, which the formats leave to the wire.
const CHECK_SEQUENCE: usize = 4;

/// Emits a frame as octets, parses them, and says what differs.
pub(crate) fn compare(frame: &Frame, net: &Net) -> Result<(), String> {
    let payload = payload(frame, net)?;
    let meant = meant(frame, &payload, net)?;
    let mut octets = [0; ROOM];
    let length = emit(frame, &meant, &mut octets)?;
    if length + CHECK_SEQUENCE > usize::from(frame.length) {
        return Err(format!(
            "{:?} takes {length} octets and a check sequence, not {}",
            frame.body, frame.length
        ));
    }
    let read = (Ports { cim: Some(CIM_PORT) })
        .parse(&octets[..length])
        .map_err(|error| format!("{:?} cannot be read: {error}", frame.body))?;
    let same = match (&meant, &read) {
        // What pads a short frame is behind the payload.
        (AnyFrame::Data(meant), AnyFrame::Data(read)) => {
            meant.header == read.header && read.payload.starts_with(meant.payload)
        }
        _ => meant == read,
    };
    if same { Ok(()) } else { Err(format!("{meant:?} was read as {read:?}")) }
}

/// Frames of the ports that were asked for, until they are fetched.
#[derive(Debug)]
pub(crate) struct Captures {
    /// For each wire, its place among the ports asked for.
    places: Vec<Option<usize>>,
    /// When each frame left, by which port, how long it is, and where its octets end.
    frames: Vec<(Instant, usize, usize, usize)>,
    octets: Vec<u8>,
}

impl Captures {
    /// For these of so many wires.
    pub(crate) fn new(wires: usize, chosen: &[u32]) -> Captures {
        let mut places = vec![None; wires];
        for (place, wire) in chosen.iter().enumerate() {
            places[*wire as usize] = Some(place);
        }
        Captures { places, frames: Vec::new(), octets: Vec::new() }
    }

    /// Takes a frame that begins to leave on a wire, if that is one of those asked for.
    pub(crate) fn take(&mut self, wire: u32, frame: &Frame, net: &Net) -> Result<(), String> {
        let Some(place) = self.places[wire as usize] else { return Ok(()) };
        let payload = payload(frame, net)?;
        let mut octets = [0; ROOM];
        let length = emit(frame, &meant(frame, &payload, net)?, &mut octets)?;
        self.octets.extend(&octets[..length]);
        let whole = usize::from(frame.length).saturating_sub(CHECK_SEQUENCE).max(length);
        self.frames.push((net.now, place, whole, self.octets.len()));
        Ok(())
    }

    /// Hands over what there is.
    pub(crate) fn hand_over(&mut self, tap: &mut dyn Tap) {
        let mut from = 0;
        for (at, place, whole, to) in self.frames.drain(..) {
            tap.frame(at, place, &self.octets[from..to], whole);
            from = to;
        }
        self.octets.clear();
    }
}

fn emit(frame: &Frame, meant: &AnyFrame<'_>, octets: &mut [u8]) -> Result<usize, String> {
    meant.emit(octets).map_err(|error| format!("{:?} cannot be emitted: {error}", frame.body))
}

/// The frame as the formats have it.
fn meant<'a>(frame: &Frame, payload: &'a [u8], net: &Net) -> Result<AnyFrame<'a>, String> {
    let flow = net.flows.get(frame.flow as usize);
    let known = |what: &str| format!("{:?} has no {what}", frame.body);
    let tags = |priority: Priority| {
        let id = VlanId::new(1).ok_or_else(|| known("VLAN"))?;
        Ok::<_, String>(Tags::one(VlanTag { kind: VlanKind::Customer, priority, drop_eligible: false, id }))
    };
    // The sixteen bits of a CN-TAG are local to a station; the low ones tell its flows apart.
    let cn_tag = Some(CnTag { flow: frame.flow as u16 });
    let priority = net.classes.get(frame.class as usize).copied().unwrap_or_default();
    if net.speaks_roce && matches!(frame.body, Body::Data { .. } | Body::Cnp | Body::Ack { .. }) {
        return roce(frame, flow.ok_or_else(|| known("flow"))?, tags(priority)?, priority);
    }
    Ok(match frame.body {
        Body::Data { .. }
        | Body::Bcn { .. }
        | Body::Becn
        | Body::Cnp
        | Body::Ack { .. }
        | Body::Probe { .. } => {
            let flow = flow.ok_or_else(|| known("flow"))?;
            let (to, from) = match frame.body {
                Body::Data { .. } | Body::Probe { is_back: false, .. } => (flow.to, flow.from),
                Body::Bcn { point, .. } => (flow.from, net.node_before(point)),
                _ => (flow.from, flow.to),
            };
            let header = Header {
                destination: MacAddr::numbered(to),
                source: MacAddr::numbered(from),
                tags: tags(priority)?,
                cn_tag,
                ether_type: EtherType::EXPERIMENT,
            };
            AnyFrame::Data(wire::Frame { header, payload })
        }
        Body::Cnm { quantised, offset, delta, node, point } => {
            let flow = flow.ok_or_else(|| known("flow"))?;
            let sampled = net.classes[flow.class as usize];
            AnyFrame::Cnm(CnmFrame {
                envelope: Envelope {
                    destination: MacAddr::numbered(flow.from),
                    source: MacAddr::numbered(node),
                    tags: tags(priority)?,
                    cn_tag,
                },
                cnm: Cnm {
                    feedback: QuantisedFeedback::new(quantised).ok_or_else(|| known("feedback"))?,
                    point: CpId::of(MacAddr::numbered(node), point),
                    offset: QueueDifference::from_units(offset),
                    delta: QueueDifference::from_units(delta),
                    priority: sampled,
                    destination: MacAddr::numbered(flow.to),
                    excerpt: Excerpt::NONE,
                },
            })
        }
        Body::Cim { .. } => {
            let vlan = VlanId::new(1).ok_or_else(|| known("VLAN"))?;
            return cim::message(frame, payload, tags(priority)?, vlan, net);
        }
        Body::Lldp { .. } => return lldp::frame(frame, payload),
        Body::Marker => return Err(known("place on a wire")),
        Body::Pause { quanta } => {
            AnyFrame::Pause(PauseFrame { source: MacAddr::numbered(frame.to), pause: Pause { time: quanta } })
        }
        Body::Pfc { priority, quanta } => {
            let priority = Priority::new(priority).ok_or_else(|| known("priority"))?;
            AnyFrame::Pfc(PfcFrame { source: MacAddr::numbered(frame.to), pfc: Pfc::of(priority, quanta) })
        }
    })
}

/// A frame of a flow whose ends speak RoCEv2.
fn roce<'a>(frame: &Frame, flow: &Flow, tags: Tags, priority: Priority) -> Result<AnyFrame<'a>, String> {
    let (to, from) =
        if matches!(frame.body, Body::Data { .. }) { (flow.to, flow.from) } else { (flow.from, flow.to) };
    let envelope =
        Envelope { destination: MacAddr::numbered(to), source: MacAddr::numbered(from), tags, cn_tag: None };
    // Class selectors of the differentiated services: the priority in the upper three bits.
    let dscp = Dscp::new(priority.get() << 3).unwrap_or_default();
    let ip = |ecn| IpHeader {
        ends: IpEnds::V4 {
            source: address(from),
            destination: address(to),
            identification: 0,
            stays_whole: true,
        },
        dscp,
        ecn,
        hops: 64,
    };
    let low = |number: u32| U24::new(number & U24::MAX.get()).unwrap_or_default();
    // Routers tell flows apart by the port they come from; those are the dynamic ones.
    let source_port = 0xc000 | (frame.flow as u16 & 0x3fff);
    let (queue_pair, partition) = (low(frame.flow + MANAGING_PAIRS), 0xffff);
    let bth = |opcode, sequence, becn| Bth {
        opcode,
        solicited: false,
        migrated: false,
        partition,
        fecn: false,
        becn,
        queue_pair,
        wants_ack: false,
        sequence: low(sequence),
    };
    let packet = |ecn, bth, payload| RoceFrame {
        envelope,
        ip: ip(ecn),
        source_port,
        has_checksum: false,
        bth,
        payload,
    };
    let (sequence, ecn) = match frame.body {
        Body::Data { sequence, tag } => {
            (sequence, if tag == MARKED { Ecn::Congested } else { Ecn::Capable0 })
        }
        // What is acknowledged last, or is missing; BECN where frames came marked. Syndrome and message number are in
        // the extended header.
        Body::Ack { below, gap, marked } => {
            let bth = bth(Opcode::ACKNOWLEDGE, if gap { below } else { below.wrapping_sub(1) }, marked);
            let extended = if gap { &OUT_OF_SEQUENCE } else { &ACKNOWLEDGED };
            return Ok(AnyFrame::Roce(packet(Ecn::Incapable, bth, extended)));
        }
        _ => {
            return Ok(AnyFrame::Cnp(CnpFrame {
                envelope,
                ip: ip(Ecn::Incapable),
                source_port,
                has_checksum: false,
                queue_pair,
                partition,
                migrated: false,
            }));
        }
    };
    let frame_of = |payload| packet(ecn, bth(Opcode::WRITE_MIDDLE, sequence, false), payload);
    let mut octets = [0; ROOM];
    let least = frame_of(&[]).emit(&mut octets).map_err(|error| error.to_string())?;
    // A payload is padded to four octets, and a frame of odd length has that much less of it.
    let room = usize::from(frame.length).saturating_sub(least + CHECK_SEQUENCE) & !3;
    Ok(AnyFrame::Roce(frame_of(&NOTHING[..room])))
}

/// Queue pairs that carry no data: 0 and 1 are those of subnet management and of general services.
const MANAGING_PAIRS: u32 = 2;

/// Extended headers of acknowledgements: an ACK without a limit of credits, and a NAK for a sequence error.
static ACKNOWLEDGED: [u8; 4] = [0x1f, 0, 0, 0];
static OUT_OF_SEQUENCE: [u8; 4] = [0x60, 0, 0, 0];

/// The address of a node in 10.0.0.0/8.
pub(crate) fn address(node: u32) -> Ipv4Addr {
    let [_, a, b, c] = (node + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// What a frame carries behind the EtherType for experiments: its flow, its number and its tag, or what stands in the
/// place of those in messages whose format is not known. Of a congestion isolation message, what it quotes.
fn payload(frame: &Frame, net: &Net) -> Result<Vec<u8>, String> {
    let (number, tag) = match frame.body {
        Body::Data { sequence, tag } => (sequence, tag),
        Body::Bcn { offset, delta, point } => {
            let [a, b] = offset.to_be_bytes();
            let [c, d] = delta.to_be_bytes();
            (u32::from_be_bytes([a, b, c, d]), point)
        }
        Body::Probe { worst, is_back } => (u32::from(worst.cast_unsigned()), u32::from(is_back)),
        Body::Cim { octets, .. } => return cim::excerpt(frame, octets, net),
        Body::Lldp { port } => return Ok(lldp::payload(frame.to, port, net)),
        Body::Ack { below, gap, marked } => (below, u32::from(gap) << 1 | u32::from(marked)),
        Body::Cnm { .. } | Body::Becn | Body::Cnp | Body::Marker | Body::Pause { .. } | Body::Pfc { .. } => {
            (0, 0)
        }
    };
    let mut payload = vec![0; 12];
    payload[..4].copy_from_slice(&frame.flow.to_be_bytes());
    payload[4..8].copy_from_slice(&number.to_be_bytes());
    payload[8..].copy_from_slice(&tag.to_be_bytes());
    Ok(payload)
}
