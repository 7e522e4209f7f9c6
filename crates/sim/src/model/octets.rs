//! The octets of simulated frames: `--wire-check` emits each one as it is sent, parses it, and compares.
//!
//! Nodes have the addresses that [`MacAddr::numbered`] gives them; a flow's number is its CN-TAG. Data carries its flow
//! and number behind the EtherType for experiments.

use super::frame::{Body, Frame};
use super::net::Net;
use quell_proto::units::Priority;
use quell_proto::wire::{
    self, AnyFrame, CnTag, Cnm, CnmFrame, CpId, Envelope, EtherType, Excerpt, Header, MacAddr, Pause,
    PauseFrame, Pfc, PfcFrame, QuantisedFeedback, QueueDifference, Tags, VlanId, VlanKind, VlanTag,
};

/// Octets of the check sequence, which the formats leave to the wire.
const CHECK_SEQUENCE: usize = 4;

/// Emits a frame as octets, parses them, and says what differs.
pub(crate) fn compare(frame: &Frame, net: &Net) -> Result<(), String> {
    let payload = payload(frame);
    let meant = meant(frame, &payload, net)?;
    let mut octets = [0; 512];
    let length =
        meant.emit(&mut octets).map_err(|error| format!("{:?} cannot be emitted: {error}", frame.body))?;
    if length + CHECK_SEQUENCE > usize::from(frame.length) {
        return Err(format!(
            "{:?} takes {length} octets and a check sequence, not {}",
            frame.body, frame.length
        ));
    }
    let read = wire::parse(&octets[..length])
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
    Ok(match frame.body {
        Body::Data { .. } => {
            let flow = flow.ok_or_else(|| known("flow"))?;
            let header = Header {
                destination: MacAddr::numbered(flow.to),
                source: MacAddr::numbered(flow.from),
                tags: tags(priority)?,
                cn_tag,
                ether_type: EtherType::EXPERIMENT,
            };
            AnyFrame::Data(wire::Frame { header, payload })
        }
        Body::Cnm { quantised, offset, delta, node } => {
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
                    point: CpId::of(MacAddr::numbered(node), 0),
                    offset: QueueDifference::from_units(offset),
                    delta: QueueDifference::from_units(delta),
                    priority: sampled,
                    destination: MacAddr::numbered(flow.to),
                    excerpt: Excerpt::NONE,
                },
            })
        }
        Body::Pause { quanta } => {
            AnyFrame::Pause(PauseFrame { source: MacAddr::numbered(frame.to), pause: Pause { time: quanta } })
        }
        Body::Pfc { priority, quanta } => {
            let priority = Priority::new(priority).ok_or_else(|| known("priority"))?;
            AnyFrame::Pfc(PfcFrame { source: MacAddr::numbered(frame.to), pfc: Pfc::of(priority, quanta) })
        }
    })
}

/// What a frame of data carries: its flow and its number.
fn payload(frame: &Frame) -> [u8; 8] {
    let sequence = match frame.body {
        Body::Data { sequence } => sequence,
        Body::Cnm { .. } | Body::Pause { .. } | Body::Pfc { .. } => 0,
    };
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&frame.flow.to_be_bytes());
    payload[4..].copy_from_slice(&sequence.to_be_bytes());
    payload
}
