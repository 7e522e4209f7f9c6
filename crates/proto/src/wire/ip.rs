//! IPv4 and IPv6 headers, as far as the frames that travel over UDP need them.
//!
//! IPv4: `version and length(1) class(1) total length(2) identification(2) flags and offset(2) TTL(1) protocol(1)
//! checksum(2) source(4) destination(4)`; IPv6: `version, class and flow label(4) payload length(2) next header(1)
//! hop limit(1) source(16) destination(16)`

use super::{EtherType, WireError, field, word};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// What stands in front of a datagram. There are no options, extension headers or fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Between whom, with what only one of the two versions has.
    pub ends: IpEnds,
    /// The differentiated services code point.
    pub dscp: Dscp,
    /// Whether it may be marked instead of dropped, and whether it was.
    pub ecn: Ecn,
    /// Routers it may still pass (TTL, or hop limit).
    pub hops: u8,
}

/// The two ends of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpEnds {
    /// IPv4.
    V4 {
        /// Who sent it.
        source: Ipv4Addr,
        /// Whom it is for.
        destination: Ipv4Addr,
        /// What fragments would be known by.
        identification: u16,
        /// Whether routers must not cut it (DF).
        stays_whole: bool,
    },
    /// IPv6.
    V6 {
        /// Who sent it.
        source: Ipv6Addr,
        /// Whom it is for.
        destination: Ipv6Addr,
        /// What routers may tell flows apart by.
        flow: FlowLabel,
    },
}

/// Six bits by which routers choose a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Twenty bits by which IPv6 routers tell flows apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowLabel(u32);

/// Explicit congestion notification: the low two bits of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Its ends do not understand marks (Not-ECT, 0).
    #[default]
    Incapable,
    /// Its ends understand marks (ECT(1), 1).
    Capable1,
    /// Its ends understand marks (ECT(0), 2).
    Capable0,
    /// It met congestion (CE, 3).
    Congested,
}

impl IpHeader {
    /// The longest there is: version 6.
    pub const LONGEST: usize = Self::LEN_6;
    const LEN_4: usize = 20;
    const LEN_6: usize = 40;
    const UDP: u8 = 17;
    const NAME_4: &str = "IPv4 header";
    const NAME_6: &str = "IPv6 header";
    /// Don't fragment, more fragments, and the place of a fragment.
    const STAYS_WHOLE: u16 = 0x4000;
    const IS_FRAGMENT: u16 = 0x3fff;

    /// Reads a header in front of UDP, and gives back the datagram behind it, without what pads the frame.
    ///
    /// `ether_type` tells the version; what is neither is refused.
    pub fn parse(ether_type: EtherType, octets: &[u8]) -> Result<(IpHeader, &[u8]), WireError> {
        let (header, end) = Self::parse_start(ether_type, octets)?;
        let (start, format) = match header.ends {
            IpEnds::V4 { .. } => (Self::LEN_4, "IPv4 datagram"),
            IpEnds::V6 { .. } => (Self::LEN_6, "IPv6 datagram"),
        };
        let datagram = octets.get(start..end.max(start)).ok_or(Self::truncated(format, end, octets))?;
        Ok((header, datagram))
    }

    /// Reads the header alone, and says where the datagram should end: for a frame that a capture has cut.
    pub(super) fn parse_start(ether_type: EtherType, octets: &[u8]) -> Result<(IpHeader, usize), WireError> {
        match ether_type {
            EtherType::IPV4 => Self::parse_4(octets),
            EtherType::IPV6 => Self::parse_6(octets),
            other => Err(WireError::Unexpected {
                field: "EtherType",
                found: other.get(),
                want: EtherType::IPV4.get(),
            }),
        }
    }

    fn parse_4(octets: &[u8]) -> Result<(IpHeader, usize), WireError> {
        let head: &[u8; Self::LEN_4] =
            octets.first_chunk().ok_or(Self::truncated(Self::NAME_4, Self::LEN_4, octets))?;
        expect("IPv4 version and header length", head[0], 0x45)?;
        expect("IPv4 protocol", head[9], Self::UDP)?;
        let flags = word(head, 6);
        if flags & Self::IS_FRAGMENT != 0 {
            let found = flags & Self::IS_FRAGMENT;
            return Err(WireError::Unexpected { field: "IPv4 fragment", found, want: 0 });
        }
        let (found, want) = (word(head, 10), checksum([&head[..10], &head[12..]]));
        if found != want {
            let (found, want) = (u32::from(found), u32::from(want));
            return Err(WireError::Checksum { format: Self::NAME_4, found, want });
        }
        let ends = IpEnds::V4 {
            source: Ipv4Addr::from(field::<4, _>(head, 12)),
            destination: Ipv4Addr::from(field::<4, _>(head, 16)),
            identification: word(head, 4),
            stays_whole: flags & Self::STAYS_WHOLE != 0,
        };
        let header = IpHeader { ends, dscp: Dscp(head[1] >> 2), ecn: Ecn::of(head[1]), hops: head[8] };
        Ok((header, usize::from(word(head, 2))))
    }

    fn parse_6(octets: &[u8]) -> Result<(IpHeader, usize), WireError> {
        let head: &[u8; Self::LEN_6] =
            octets.first_chunk().ok_or(Self::truncated(Self::NAME_6, Self::LEN_6, octets))?;
        let first = u32::from_be_bytes(field(head, 0));
        expect("IPv6 version", head[0] >> 4, 6)?;
        expect("IPv6 next header", head[6], Self::UDP)?;
        let class = (first >> 20) as u8;
        let ends = IpEnds::V6 {
            source: Ipv6Addr::from(field::<16, _>(head, 8)),
            destination: Ipv6Addr::from(field::<16, _>(head, 24)),
            flow: FlowLabel(first & FlowLabel::MAX.0),
        };
        let header = IpHeader { ends, dscp: Dscp(class >> 2), ecn: Ecn::of(class), hops: head[7] };
        Ok((header, Self::LEN_6 + usize::from(word(head, 4))))
    }

    fn truncated(format: &'static str, need: usize, octets: &[u8]) -> WireError {
        WireError::Truncated { format, need, have: octets.len() }
    }

    /// The octets of a whole UDP datagram behind this EtherType, if the payload of a frame looks like one; for those
    /// who choose a format by its port. Nothing is checked but what leads there.
    pub(super) fn peek_udp(ether_type: EtherType, octets: &[u8]) -> Option<&[u8]> {
        let (protocol, at) = match ether_type {
            EtherType::IPV4 => {
                let whole = u16::from_be_bytes([*octets.get(6)?, *octets.get(7)?]) & Self::IS_FRAGMENT == 0;
                let length = usize::from(*octets.first()? & 0x0f) * 4;
                (whole.then_some(*octets.get(9)?)?, length)
            }
            EtherType::IPV6 => (*octets.get(6)?, Self::LEN_6),
            _ => return None,
        };
        if protocol == Self::UDP { octets.get(at..) } else { None }
    }

    /// The EtherType of a frame that carries it.
    pub const fn ether_type(&self) -> EtherType {
        match self.ends {
            IpEnds::V4 { .. } => EtherType::IPV4,
            IpEnds::V6 { .. } => EtherType::IPV6,
        }
    }

    /// How many octets it takes.
    pub const fn emitted_len(&self) -> usize {
        match self.ends {
            IpEnds::V4 { .. } => Self::LEN_4,
            IpEnds::V6 { .. } => Self::LEN_6,
        }
    }

    /// Writes the header of a UDP datagram of `size` octets into its place, which is as long as the header.
    pub(super) fn emit(&self, octets: &mut [u8], size: u16) {
        let class = self.dscp.0 << 2 | self.ecn as u8;
        match self.ends {
            IpEnds::V4 { source, destination, identification, stays_whole } => {
                let flags = if stays_whole { Self::STAYS_WHOLE } else { 0 };
                octets[..2].copy_from_slice(&[0x45, class]);
                octets[2..4].copy_from_slice(&(size + Self::LEN_4 as u16).to_be_bytes());
                octets[4..6].copy_from_slice(&identification.to_be_bytes());
                octets[6..8].copy_from_slice(&flags.to_be_bytes());
                octets[8..12].copy_from_slice(&[self.hops, Self::UDP, 0, 0]);
                octets[12..16].copy_from_slice(&source.octets());
                octets[16..20].copy_from_slice(&destination.octets());
                let sum = checksum([&*octets]);
                octets[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            IpEnds::V6 { source, destination, flow } => {
                let first = 6 << 28 | u32::from(class) << 20 | flow.0;
                octets[..4].copy_from_slice(&first.to_be_bytes());
                octets[4..6].copy_from_slice(&size.to_be_bytes());
                octets[6..8].copy_from_slice(&[Self::UDP, self.hops]);
                octets[8..24].copy_from_slice(&source.octets());
                octets[24..40].copy_from_slice(&destination.octets());
            }
        }
    }

    /// The checksum of a UDP datagram between these ends, whose own checksum stands as zero or is left out.
    pub(super) fn udp_checksum<'a>(&self, datagram: impl IntoIterator<Item = &'a [u8]>, size: u16) -> u16 {
        let pseudo = [0, Self::UDP, (size >> 8) as u8, size as u8];
        let ends = match self.ends {
            IpEnds::V4 { source, destination, .. } => {
                folded(&source.octets()) + folded(&destination.octets())
            }
            IpEnds::V6 { source, destination, .. } => {
                folded(&source.octets()) + folded(&destination.octets())
            }
        };
        let sum = datagram.into_iter().fold(ends + folded(&pseudo), |sum, part| sum + folded(part));
        // A sum of zero is sent as all ones; zero says that there is none.
        match complement(sum) {
            0 => u16::MAX,
            sum => sum,
        }
    }
}

fn expect(field: &'static str, found: u8, want: u8) -> Result<(), WireError> {
    if found == want {
        return Ok(());
    }
    Err(WireError::Unexpected { field, found: u16::from(found), want: u16::from(want) })
}

/// The Internet checksum of parts that each have an even number of octets.
fn checksum<const N: usize>(parts: [&[u8]; N]) -> u16 {
    complement(parts.iter().map(|part| folded(part)).sum())
}

/// The sum of the octets as big-endian words, an odd last one padded with zero.
fn folded(octets: &[u8]) -> u64 {
    octets.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))).sum()
}

fn complement(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl Dscp {
    /// A code point, if it has six bits.
    pub const fn new(number: u8) -> Option<Dscp> {
        if number < 1 << 6 { Some(Dscp(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl FlowLabel {
    const MAX: FlowLabel = FlowLabel(0xf_ffff);

    /// A label, if it has twenty bits.
    pub const fn new(number: u32) -> Option<FlowLabel> {
        if number <= Self::MAX.0 { Some(FlowLabel(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Ecn {
    /// What the low two bits of a class say.
    const fn of(class: u8) -> Ecn {
        match class & 0b11 {
            0 => Ecn::Incapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Congested,
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ecn::Incapable => "Not-ECT",
            Ecn::Capable1 => "ECT(1)",
            Ecn::Capable0 => "ECT(0)",
            Ecn::Congested => "CE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::any_ip;
    use super::super::tests::octets;
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// A header that a packet library wrote, in front of 40 octets.
    const V4: &str = "45c0003c00004000401125ef0a0000020a000001";

    fn v4() -> Vec<u8> {
        let mut octets = octets(V4);
        octets.resize(60, 0xee);
        octets
    }

    #[test]
    fn an_ipv4_header_reads_as_it_stands_and_writes_its_own_checksum() {
        let octets = v4();
        let (read, datagram) = IpHeader::parse(EtherType::IPV4, &octets).unwrap();
        let meant = IpHeader {
            ends: IpEnds::V4 {
                source: Ipv4Addr::new(10, 0, 0, 2),
                destination: Ipv4Addr::new(10, 0, 0, 1),
                identification: 0,
                stays_whole: true,
            },
            dscp: Dscp::new(48).unwrap(),
            ecn: Ecn::Incapable,
            hops: 64,
        };
        assert_eq!((read, datagram.len()), (meant, 40));
        let mut again = [0xa5; 20];
        meant.emit(&mut again, 40);
        assert_eq!(again, octets[..20]);
    }

    #[test]
    fn an_ipv6_header_has_its_class_across_two_octets() {
        let mut octets = octets("6c312345 0008 11 40");
        octets.extend([0x20; 16]);
        octets.extend([0x30; 16]);
        octets.resize(50, 0);
        let (read, datagram) = IpHeader::parse(EtherType::IPV6, &octets).unwrap();
        assert_eq!((read.dscp.get(), read.ecn, read.hops, datagram.len()), (48, Ecn::Congested, 64, 8));
        assert!(matches!(read.ends, IpEnds::V6 { flow: FlowLabel(0x12345), .. }));
    }

    #[test]
    fn what_is_no_plain_udp_is_refused_by_its_field() {
        let field = |at: usize, octet: u8| {
            let mut octets = v4();
            octets[at] = octet;
            IpHeader::parse(EtherType::IPV4, &octets).map(|(header, _)| header)
        };
        let unexpected = |field, found, want| Err(WireError::Unexpected { field, found, want });
        assert_eq!(field(0, 0x46), unexpected("IPv4 version and header length", 0x46, 0x45));
        assert_eq!(field(9, 6), unexpected("IPv4 protocol", 6, 17));
        assert_eq!(field(7, 1), unexpected("IPv4 fragment", 1, 0));
        assert_eq!(
            field(8, 63),
            Err(WireError::Checksum { format: "IPv4 header", found: 0x25ef, want: 0x26ef })
        );
        let mut long = v4();
        long.pop();
        assert_eq!(
            IpHeader::parse(EtherType::IPV4, &long),
            Err(WireError::Truncated { format: "IPv4 datagram", need: 60, have: 59 })
        );
    }

    #[test]
    fn code_points_and_labels_have_their_bits() {
        assert_eq!((Dscp::new(63).map(Dscp::get), Dscp::new(64)), (Some(63), None));
        assert_eq!(FlowLabel::new(0xf_ffff).map(FlowLabel::get), Some(0xf_ffff));
        assert_eq!(FlowLabel::new(0x10_0000), None);
    }

    proptest! {
        #[test]
        fn any_header_survives_the_wire(header in any_ip(), size in 0..2000_u16, padding in 0..64_usize) {
            let length = header.emitted_len();
            let mut octets = vec![0xa5; length + usize::from(size) + padding];
            header.emit(&mut octets[..length], size);
            let (read, datagram) = IpHeader::parse(header.ether_type(), &octets).unwrap();
            prop_assert_eq!(read, header);
            prop_assert_eq!(datagram.len(), usize::from(size));
        }
    }
}
