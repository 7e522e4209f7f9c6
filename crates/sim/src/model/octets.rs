//! The octets of simulated frames: `--wire-check` emits each one as it is sent, parses it, and compares; a capture
//! takes those of the ports that were asked for.
//!
//! Nodes have the addresses that [`MacAddr::numbered`] gives them; a flow's number is its CN-TAG. Data carries its flow,
//! number and tag behind the EtherType for experiments, and so do the messages of schemes whose formats are not known.

use super::frame::{Body, Frame};
use super::net::Net;
use quell_proto::units::{Instant, Priority};
use quell_proto::wire::{
    self, AnyFrame, CnTag, Cnm, CnmFrame, CpId, Envelope, EtherType, Excerpt, Header, MacAddr, Pause,
    PauseFrame, Pfc, PfcFrame, QuantisedFeedback, QueueDifference, Tags, VlanId, VlanKind, VlanTag,
};
use quell_record::Tap;

/// Room for the longest frame that is written out: what data carries behind its payload is zero, and left out.
const ROOM: usize = 512;

/// Octets of the check sequence, which the formats leave to the wire.
const CHECK_SEQUENCE: usize = 4;

/// Emits a frame as octets, parses them, and says what differs.
pub(crate) fn compare(frame: &Frame, net: &Net) -> Result<(), String> {
    let payload = payload(frame);
    let meant = meant(frame, &payload, net)?;
    let mut octets = [0; ROOM];
    let length = emit(frame, &meant, &mut octets)?;
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
        let payload = payload(frame);
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
    Ok(match frame.body {
        Body::Data { .. } | Body::Bcn { .. } | Body::Becn | Body::Probe { .. } => {
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
        Body::Pause { quanta } => {
            AnyFrame::Pause(PauseFrame { source: MacAddr::numbered(frame.to), pause: Pause { time: quanta } })
        }
        Body::Pfc { priority, quanta } => {
            let priority = Priority::new(priority).ok_or_else(|| known("priority"))?;
            AnyFrame::Pfc(PfcFrame { source: MacAddr::numbered(frame.to), pfc: Pfc::of(priority, quanta) })
        }
    })
}

/// What a frame carries behind the EtherType for experiments: its flow, its number and its tag, or what stands in the
/// place of those in messages whose format is not known.
fn payload(frame: &Frame) -> [u8; 12] {
    let (number, tag) = match frame.body {
        Body::Data { sequence, tag } => (sequence, tag),
        Body::Bcn { offset, delta, point } => {
            let [a, b] = offset.to_be_bytes();
            let [c, d] = delta.to_be_bytes();
            (u32::from_be_bytes([a, b, c, d]), point)
        }
        Body::Probe { worst, is_back } => (u32::from(worst.cast_unsigned()), u32::from(is_back)),
        Body::Cnm { .. } | Body::Becn | Body::Pause { .. } | Body::Pfc { .. } => (0, 0),
    };
    let mut payload = [0; 12];
    payload[..4].copy_from_slice(&frame.flow.to_be_bytes());
    payload[4..8].copy_from_slice(&number.to_be_bytes());
    payload[8..].copy_from_slice(&tag.to_be_bytes());
    payload
}
