//! LLDP of 802.1AB: what the two ends of a link tell each other about themselves.
//!
//! In a frame of EtherType 88-CC, usually to 01-80-C2-00-00-0E, one TLV after the other:
//! `type(7 bits) length(9 bits) information(0 to 511)`: chassis, port, time to live, any others, and an end.
//!
//! The TLVs of data-centre bridging and congestion management are values of their own ([`Tlv`]); all others are left
//! as they stand.

mod congestion;
mod dcbx;
mod tlv;

pub use congestion::{CongestionIsolation, CongestionNotification, Inactivity, QueueMap, QueueRole};
pub use dcbx::{
    Application, Applications, ApplicationsIter, Ets, EtsConfiguration, MostClasses, PfcCapability,
    PfcConfiguration, Selector, TransmissionSelection,
};
pub use tlv::{OtherTlv, Tlv};

use super::{Envelope, EtherType, Header, WireError};
use tlv::RawTlv;

/// A whole LLDP frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LldpFrame<'a> {
    /// From the port to one of LLDP's group addresses.
    pub envelope: Envelope,
    /// What it says.
    pub lldp: Lldp<'a>,
}

/// What a port says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lldp<'a> {
    /// The system it belongs to.
    pub chassis: Id<'a>,
    /// Which of its ports it is.
    pub port: Id<'a>,
    /// For how many seconds this is to be believed; 0 takes everything back.
    pub lifetime: u16,
    /// What else it says.
    pub tlvs: Tlvs<'a>,
}

/// The name of a system or a port: what kind of name, and 1 to 255 octets of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id<'a> {
    kind: u8,
    octets: &'a [u8],
}

/// The TLVs behind the first three, as they stand in a frame or a buffer. Equal if they say the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tlvs<'a> {
    /// Whole TLVs one after the other; none of them is one of the first three or an end.
    octets: &'a [u8],
}

/// The types of the TLVs that every frame has.
const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const LIFETIME: u8 = 3;

impl<'a> Lldp<'a> {
    const NAMES: [&'static str; 3] = ["LLDP chassis", "LLDP port", "LLDP time to live"];

    /// Reads what stands behind EtherType 88-CC. What follows the end TLV is padding; the end itself may be missing.
    pub fn parse(octets: &'a [u8]) -> Result<Lldp<'a>, WireError> {
        let (chassis, rest) = Self::expect(CHASSIS, octets)?;
        let (port, rest) = Self::expect(PORT, rest)?;
        let (lifetime, rest) = Self::expect(LIFETIME, rest)?;
        let [chassis_name, port_name, format] = Self::NAMES;
        let truncated = WireError::Truncated { format, need: 2, have: lifetime.len() };
        Ok(Lldp {
            chassis: Id::parse(chassis_name, chassis)?,
            port: Id::parse(port_name, port)?,
            lifetime: lifetime.first_chunk().map(|octets| u16::from_be_bytes(*octets)).ok_or(truncated)?,
            tlvs: Tlvs::parse(rest)?,
        })
    }

    /// Reads one of the first three TLVs.
    fn expect(kind: u8, octets: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), WireError> {
        let (raw, rest) = RawTlv::split(octets)?;
        if raw.kind != kind {
            let (found, want) = (u16::from(raw.kind), u16::from(kind));
            return Err(WireError::Unexpected { field: "LLDP TLV type", found, want });
        }
        Ok((raw.octets, rest))
    }

    /// How many octets it takes.
    pub fn emitted_len(&self) -> usize {
        let id = |id: &Id<'_>| RawTlv::HEAD + 1 + id.octets.len();
        let others = self.tlvs.iter().map(|tlv| tlv.emitted_len()).sum::<usize>();
        id(&self.chassis) + id(&self.port) + RawTlv::HEAD + 2 + others + RawTlv::HEAD
    }

    /// Writes it into its place, which is as long as it is.
    fn emit(&self, octets: &mut [u8]) {
        let mut rest = octets;
        for (kind, id) in [(CHASSIS, &self.chassis), (PORT, &self.port)] {
            let (octets, after) = RawTlv::begin(kind, 1 + id.octets.len(), rest);
            octets[0] = id.kind;
            octets[1..].copy_from_slice(id.octets);
            rest = after;
        }
        let (octets, mut rest) = RawTlv::begin(LIFETIME, 2, rest);
        octets.copy_from_slice(&self.lifetime.to_be_bytes());
        for tlv in self.tlvs.iter() {
            rest = tlv.emit(rest);
        }
        RawTlv::begin(END, 0, rest);
    }
}

impl<'a> LldpFrame<'a> {
    /// Reads a whole frame that is known to be LLDP.
    pub fn parse(octets: &'a [u8]) -> Result<LldpFrame<'a>, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &'a [u8]) -> Result<LldpFrame<'a>, WireError> {
        header.expect(EtherType::LLDP)?;
        Ok(LldpFrame { envelope: header.envelope(), lldp: Lldp::parse(payload)? })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        self.envelope.header(EtherType::LLDP)
    }

    /// Writes the frame, padded to [`super::MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, payload) = self.header().begin(octets, self.lldp.emitted_len())?;
        self.lldp.emit(payload);
        Ok(length)
    }
}

impl<'a> Id<'a> {
    /// A MAC address, as the kind of a chassis.
    pub const CHASSIS_MAC: u8 = 4;
    /// A MAC address, as the kind of a port.
    pub const PORT_MAC: u8 = 3;
    /// A name of the system's own choice, as the kind of a chassis or a port.
    pub const LOCAL: u8 = 7;

    /// A name of this kind, if it has 1 to 255 octets.
    pub const fn new(kind: u8, octets: &'a [u8]) -> Option<Id<'a>> {
        match octets.len() {
            1..=255 => Some(Id { kind, octets }),
            _ => None,
        }
    }

    fn parse(format: &'static str, octets: &'a [u8]) -> Result<Id<'a>, WireError> {
        let [kind, name @ ..] = octets else {
            return Err(WireError::Truncated { format, need: 2, have: 0 });
        };
        Id::new(*kind, name).ok_or(WireError::OutOfRange {
            field: format,
            found: octets.len() as u16,
            least: 2,
            most: 256,
        })
    }

    /// What kind of name it is.
    pub const fn kind(&self) -> u8 {
        self.kind
    }

    /// Its octets.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }
}

impl<'a> Tlvs<'a> {
    /// None.
    pub const NONE: Tlvs<'static> = Tlvs { octets: &[] };

    /// Writes TLVs one after the other into a buffer that outlives the frame.
    pub fn write(list: &[Tlv<'_>], buffer: &'a mut [u8]) -> Result<Tlvs<'a>, WireError> {
        let (need, have) = (list.iter().map(Tlv::emitted_len).sum(), buffer.len());
        let octets = buffer.get_mut(..need).ok_or(WireError::NoRoom { need, have })?;
        let mut rest = &mut octets[..];
        for tlv in list {
            rest = tlv.emit(rest);
        }
        Ok(Tlvs { octets })
    }

    /// Reads up to an end TLV or the last octet.
    pub fn parse(octets: &'a [u8]) -> Result<Tlvs<'a>, WireError> {
        let mut rest = octets;
        while !rest.is_empty() {
            let (raw, after) = RawTlv::split(rest)?;
            match raw.kind {
                END => break,
                kind @ (CHASSIS..=LIFETIME) => {
                    return Err(WireError::Repeated { field: Lldp::NAMES[usize::from(kind - CHASSIS)] });
                }
                _ => rest = after,
            }
        }
        Ok(Tlvs { octets: &octets[..octets.len() - rest.len()] })
    }

    /// The TLVs, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Tlv<'a>> + use<'a> {
        let mut rest = self.octets;
        core::iter::from_fn(move || {
            let (raw, after) = RawTlv::split(rest).ok()?;
            rest = after;
            Some(Tlv::read(raw))
        })
    }

    /// What the port says about congestion notification, if anything; the first time it says so.
    pub fn congestion_notification(&self) -> Option<CongestionNotification> {
        self.iter().find_map(|tlv| match tlv {
            Tlv::CongestionNotification(tlv) => Some(tlv),
            _ => None,
        })
    }

    /// What the port says about congestion isolation, if anything; the first time it says so.
    pub fn congestion_isolation(&self) -> Option<CongestionIsolation> {
        self.iter().find_map(|tlv| match tlv {
            Tlv::CongestionIsolation(tlv) => Some(tlv),
            _ => None,
        })
    }
}

impl Tlvs<'_> {
    /// How long a congesting flow must be silent at the port, if it says so; the first time it does.
    pub fn inactivity(&self) -> Option<Inactivity> {
        self.iter().find_map(|tlv| match tlv {
            Tlv::Inactivity(tlv) => Some(tlv),
            _ => None,
        })
    }
}

impl PartialEq for Tlvs<'_> {
    fn eq(&self, other: &Tlvs<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Tlvs<'_> {}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, MIN_FRAME, MacAddr, parse};
    use super::*;
    use std::vec::Vec;

    pub(super) const HEAD: &str = "0207 04 020000000001  0407 03 020000000001  0602 0078";

    pub(super) fn pdu(tlvs: &str) -> Vec<u8> {
        octets(&std::format!("{HEAD} {tlvs} 0000"))
    }

    fn frame<'a>(mac: &'a MacAddr, tlvs: Tlvs<'a>) -> LldpFrame<'a> {
        LldpFrame {
            envelope: Envelope::plain(MacAddr::NEAREST_BRIDGE, *mac),
            lldp: Lldp {
                chassis: Id::new(Id::CHASSIS_MAC, &mac.0).unwrap(),
                port: Id::new(Id::PORT_MAC, &mac.0).unwrap(),
                lifetime: 120,
                tlvs,
            },
        }
    }

    #[test]
    fn the_smallest_frame_is_these_octets() {
        let mut golden = octets("0180c200000e 020000000001 88cc");
        golden.extend(pdu(""));
        golden.resize(MIN_FRAME, 0);
        let mac = MacAddr::numbered(1);
        assert_eq!(emitted(AnyFrame::Lldp(frame(&mac, Tlvs::NONE))), golden);
        assert_eq!(parse(&golden), Ok(AnyFrame::Lldp(frame(&mac, Tlvs::NONE))));
    }

    #[test]
    fn the_end_may_be_missing_and_what_follows_it_is_padding() {
        let mac = MacAddr::numbered(1);
        let meant = frame(&mac, Tlvs::NONE).lldp;
        assert_eq!(Lldp::parse(&octets(HEAD)), Ok(meant));
        let mut padded = pdu("");
        padded.extend([0xff; 20]);
        assert_eq!(Lldp::parse(&padded), Ok(meant));
    }

    #[test]
    fn the_first_three_come_first_and_only_once() {
        let swapped = octets("0407 03 020000000001  0207 04 020000000001  0602 0078");
        assert_eq!(
            Lldp::parse(&swapped),
            Err(WireError::Unexpected { field: "LLDP TLV type", found: 2, want: 1 })
        );
        let twice = pdu("0602 0078");
        assert_eq!(Lldp::parse(&twice), Err(WireError::Repeated { field: "LLDP time to live" }));
    }

    #[test]
    fn a_tlv_beyond_the_end_of_the_frame_is_refused() {
        let cut = octets(&std::format!("{HEAD} fe06 0080c208 08"));
        assert_eq!(Lldp::parse(&cut), Err(WireError::Truncated { format: "LLDP TLV", need: 8, have: 7 }));
        assert_eq!(Lldp::parse(&[2]), Err(WireError::Truncated { format: "LLDP TLV", need: 2, have: 1 }));
    }

    #[test]
    fn names_have_1_to_255_octets() {
        assert_eq!(Id::new(7, &[]), None);
        assert_eq!(Id::new(7, &[0; 256]), None);
        let nameless = octets("0201 04  0407 03 020000000001  0602 0078");
        let range = WireError::OutOfRange { field: "LLDP chassis", found: 1, least: 2, most: 256 };
        assert_eq!(Lldp::parse(&nameless), Err(range));
        let empty = octets("0200  0407 03 020000000001  0602 0078");
        let truncated = WireError::Truncated { format: "LLDP chassis", need: 2, have: 0 };
        assert_eq!(Lldp::parse(&empty), Err(truncated));
    }

    #[test]
    fn a_lifetime_has_two_octets() {
        let short = octets("0207 04 020000000001  0407 03 020000000001  0601 78");
        let truncated = WireError::Truncated { format: "LLDP time to live", need: 2, have: 1 };
        assert_eq!(Lldp::parse(&short), Err(truncated));
    }
}
