//! The octets of LLDP frames, by which switches announce their queues.

use super::{Body, CHECK_SEQUENCE, Frame, Net, ROOM, emit};
use crate::scenario::announced::LIFETIME;
use quell_proto::units::Instant;
use quell_proto::wire::lldp::{Id, Lldp, LldpFrame, Tlvs};
use quell_proto::wire::{AnyFrame, Envelope, MacAddr};

/// The shortest frame, its check sequence included.
const SHORTEST: usize = 64;

const ADDRESS: usize = 6;

/// What a port of a switch says: its address, its name with the length before, and the TLVs behind those.
pub(super) fn payload(node: u32, port: u16, net: &Net) -> Vec<u8> {
    let name = format!("port {}", port + 1);
    let mut payload = MacAddr::numbered(node).0.to_vec();
    payload.push(name.len() as u8);
    payload.extend(name.as_bytes());
    payload.extend(net.announced(node));
    payload
}

/// The frame as the formats have it.
pub(super) fn frame<'a>(frame: &Frame, payload: &'a [u8]) -> Result<AnyFrame<'a>, String> {
    let cut = || format!("{:?} is cut short", frame.body);
    let (address, rest) = payload.split_at_checked(ADDRESS).ok_or_else(cut)?;
    let (length, rest) = rest.split_first().ok_or_else(cut)?;
    let (name, tlvs) = rest.split_at_checked(usize::from(*length)).ok_or_else(cut)?;
    Ok(AnyFrame::Lldp(LldpFrame {
        envelope: Envelope::plain(MacAddr::NEAREST_BRIDGE, MacAddr::numbered(frame.to)),
        lldp: Lldp {
            chassis: Id::new(Id::CHASSIS_MAC, address).ok_or_else(cut)?,
            port: Id::new(Id::LOCAL, name).ok_or_else(cut)?,
            lifetime: LIFETIME,
            tlvs: Tlvs::parse(tlvs).map_err(|error| error.to_string())?,
        },
    }))
}

/// Octets of what a port of a switch says, from destination address to check sequence.
pub(in crate::model) fn length(node: u32, port: u16, net: &Net) -> u16 {
    let blank =
        Frame { born: Instant::START, flow: 0, to: node, body: Body::Lldp { port }, length: 0, class: 0 };
    let payload = payload(node, port, net);
    let mut octets = [0; ROOM];
    let emitted = frame(&blank, &payload).and_then(|meant| emit(&blank, &meant, &mut octets));
    let length = emitted.expect("what a switch announces fits a frame") + CHECK_SEQUENCE;
    length.max(SHORTEST) as u16
}
