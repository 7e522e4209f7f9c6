//! The congestion isolation message of 802.1Qcz: a bridge asks its neighbour upstream to set a flow apart.
//!
//! Behind EtherType 89-A2, or in a UDP datagram to the port that the neighbour advertises:
//! `version(4 bits) reserved(3 bits) delete(1 bit) destination(6) source(6) reserved(4 bits) VLAN(12 bits)
//! excerpt length(2) excerpt(0 to 512)`

use super::udp::Udp;
use super::{Envelope, EtherType, Frame, Header, MacAddr, VlanId, WireError, field, word};
use core::fmt;

/// What a congestion isolation message says: this flow is to be set apart, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cim<'a> {
    /// Which of the two.
    pub change: Change,
    /// Whom the flow's frames are for.
    pub destination: MacAddr,
    /// Who sends them.
    pub source: MacAddr,
    /// The network they are in.
    pub vlan: VlanId,
    /// How one of them goes on, from its own EtherType: what tells the flow from others between the same two.
    pub excerpt: MsduStart<'a>,
}

/// What is to be done with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Set it apart, into the congesting queue (Add).
    Isolate,
    /// Treat it like any other again (Delete).
    Release,
}

/// A whole congestion isolation message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CimFrame<'a> {
    /// From the bridge to its neighbour.
    pub envelope: Envelope,
    /// What the message travels in.
    pub carriage: Carriage,
    /// What it says.
    pub cim: Cim<'a>,
}

/// What a congestion isolation message travels in; the neighbour advertises what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// A frame of its own EtherType.
    Layer2,
    /// A UDP datagram.
    Udp(Udp),
}

/// The first octets of a frame from its EtherType on: at most 512.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MsduStart<'a>(&'a [u8]);

const FIXED_LEN: usize = 17;

impl<'a> Cim<'a> {
    /// All fields but the excerpt.
    pub const FIXED_LEN: usize = FIXED_LEN;
    const NAME: &'static str = "CIM";
    const DELETE: u8 = 1;

    /// Reads what stands behind EtherType 89-A2 or the UDP header. What follows the excerpt is padding.
    pub fn parse(octets: &'a [u8]) -> Result<Cim<'a>, WireError> {
        let truncated = |need| WireError::Truncated { format: Self::NAME, need, have: octets.len() };
        let fixed: &[u8; FIXED_LEN] = octets.first_chunk().ok_or(truncated(FIXED_LEN))?;
        let version = u16::from(fixed[0] >> 4);
        if version != 0 {
            return Err(WireError::Unexpected { field: "CIM version", found: version, want: 0 });
        }
        let length = word(fixed, 15);
        if usize::from(length) > MsduStart::MOST {
            return Err(WireError::OutOfRange {
                field: "CIM encapsulated MSDU length",
                found: length,
                least: 0,
                most: MsduStart::MOST as u16,
            });
        }
        let end = Self::FIXED_LEN + usize::from(length);
        let excerpt = octets.get(Self::FIXED_LEN..end).ok_or(truncated(end))?;
        Ok(Cim {
            change: if fixed[0] & Self::DELETE == 0 { Change::Isolate } else { Change::Release },
            destination: MacAddr(field(fixed, 1)),
            source: MacAddr(field(fixed, 7)),
            vlan: VlanId::new(word(fixed, 13) & 0x0fff).expect("twelve bits name a VLAN"),
            excerpt: MsduStart(excerpt),
        })
    }

    /// How many octets the message takes.
    pub const fn emitted_len(&self) -> usize {
        Self::FIXED_LEN + self.excerpt.0.len()
    }

    /// Writes the message into its place, which is as long as the message.
    fn emit(&self, octets: &mut [u8]) {
        let (fixed, excerpt) = octets.split_at_mut(Self::FIXED_LEN);
        fixed[0] = match self.change {
            Change::Isolate => 0,
            Change::Release => Self::DELETE,
        };
        fixed[1..7].copy_from_slice(&self.destination.0);
        fixed[7..13].copy_from_slice(&self.source.0);
        fixed[13..15].copy_from_slice(&self.vlan.get().to_be_bytes());
        fixed[15..17].copy_from_slice(&(self.excerpt.0.len() as u16).to_be_bytes());
        excerpt.copy_from_slice(self.excerpt.0);
    }
}

impl<'a> CimFrame<'a> {
    /// Reads a whole frame that is known to be a congestion isolation message, in whatever it travels. A UDP
    /// datagram is taken for one whatever its port: only the receiver knows what it advertised.
    pub fn parse(octets: &'a [u8]) -> Result<CimFrame<'a>, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &'a [u8]) -> Result<CimFrame<'a>, WireError> {
        let envelope = header.envelope();
        if matches!(header.ether_type, EtherType::IPV4 | EtherType::IPV6) {
            let (udp, message) = Udp::parse(header.ether_type, payload)?;
            return Ok(CimFrame { envelope, carriage: Carriage::Udp(udp), cim: Cim::parse(message)? });
        }
        header.expect(EtherType::CIM)?;
        Ok(CimFrame { envelope, carriage: Carriage::Layer2, cim: Cim::parse(payload)? })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        self.envelope.header(match self.carriage {
            Carriage::Layer2 => EtherType::CIM,
            Carriage::Udp(udp) => udp.ip.ether_type(),
        })
    }

    /// Writes the frame, padded to [`super::MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let size = self.cim.emitted_len();
        match self.carriage {
            Carriage::Layer2 => {
                let (length, payload) = self.header().begin(octets, size)?;
                self.cim.emit(payload);
                Ok(length)
            }
            Carriage::Udp(udp) => {
                let (length, packet) = udp.begin(&self.envelope, octets, size)?;
                self.cim.emit(&mut packet[udp.emitted_len(0)..]);
                udp.seal(packet);
                Ok(length)
            }
        }
    }
}

impl<'a> MsduStart<'a> {
    /// As much of a frame as a message may carry.
    pub const MOST: usize = 512;
    /// What a bridge asks for unless it is told otherwise: enough for addresses and ports of either IP.
    pub const USUAL: usize = 48;

    /// These octets, or the first 512 of them.
    pub fn of(octets: &'a [u8]) -> MsduStart<'a> {
        MsduStart(octets.get(..Self::MOST).unwrap_or(octets))
    }

    /// The first `most` octets of a frame that starts at `octets`, from its own EtherType on.
    pub fn of_frame(frame: &Frame<'_>, octets: &'a [u8], most: usize) -> MsduStart<'a> {
        let rest = octets.get(frame.header.payload_at() - 2..).unwrap_or_default();
        Self::of(rest.get(..most).unwrap_or(rest))
    }

    /// The octets.
    pub const fn as_slice(&self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for MsduStart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MsduStart(")?;
        for octet in self.0 {
            write!(f, "{octet:02x}")?;
        }
        write!(f, ")")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Isolate => "isolate",
            Change::Release => "release",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ip::{Dscp, Ecn, FlowLabel, IpEnds, IpHeader};
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, Ports, parse};
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use std::vec::Vec;

    const PDU: &str = "00 020000000002 020000000001 0064 0004 08004500";
    const PORT: u16 = 5000;

    fn cim() -> Cim<'static> {
        Cim {
            change: Change::Isolate,
            destination: MacAddr::numbered(2),
            source: MacAddr::numbered(1),
            vlan: VlanId::new(100).unwrap(),
            excerpt: MsduStart::of(&[0x08, 0x00, 0x45, 0x00]),
        }
    }

    fn frame(carriage: Carriage) -> CimFrame<'static> {
        CimFrame {
            envelope: Envelope::plain(MacAddr::numbered(0x0c02), MacAddr::numbered(0x0c01)),
            carriage,
            cim: cim(),
        }
    }

    fn udp(ends: IpEnds) -> Carriage {
        let ip = IpHeader { ends, dscp: Dscp::new(48).unwrap(), ecn: Ecn::Incapable, hops: 1 };
        Carriage::Udp(Udp { ip, source_port: PORT, destination_port: PORT, has_checksum: true })
    }

    fn v4() -> Carriage {
        udp(IpEnds::V4 {
            source: Ipv4Addr::new(192, 0, 2, 9),
            destination: Ipv4Addr::new(192, 0, 2, 10),
            identification: 0,
            stays_whole: true,
        })
    }

    fn v6() -> Carriage {
        let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
        udp(IpEnds::V6 { source: address(9), destination: address(10), flow: FlowLabel::default() })
    }

    #[test]
    fn on_layer_2_a_message_is_these_octets() {
        let mut golden = octets("020000000c02 020000000c01 89a2");
        golden.extend(octets(PDU));
        golden.resize(60, 0);
        assert_eq!(emitted(AnyFrame::Cim(frame(Carriage::Layer2))), golden);
        assert_eq!(parse(&golden), Ok(AnyFrame::Cim(frame(Carriage::Layer2))));
        assert_eq!(CimFrame::parse(&golden), Ok(frame(Carriage::Layer2)));
    }

    #[test]
    fn on_ipv4_and_ipv6_the_same_octets_stand_behind_udp() {
        let ports = Ports { cim: Some(PORT) };
        let mut golden = octets(
            "020000000c02 020000000c01 0800 45c00031 0000 4000 01 11 f4e8 c0000209 c000020a
             1388 1388 001d e93e",
        );
        golden.extend(octets(PDU));
        assert_eq!(emitted(AnyFrame::Cim(frame(v4()))), golden);
        for carriage in [v4(), v6()] {
            let octets = emitted(AnyFrame::Cim(frame(carriage)));
            assert!(octets.ends_with(&self::octets(PDU)));
            assert_eq!(ports.parse(&octets), Ok(AnyFrame::Cim(frame(carriage))));
            assert!(matches!(parse(&octets), Ok(AnyFrame::Data(_))), "the port means nothing unless told");
            assert_eq!(CimFrame::parse(&octets), Ok(frame(carriage)));
        }
    }

    #[test]
    fn one_bit_takes_it_back() {
        let mut golden = octets(PDU);
        golden[0] = 1;
        assert_eq!(Cim::parse(&golden), Ok(Cim { change: Change::Release, ..cim() }));
        golden[0] = 0x0f;
        golden[13] |= 0xf0;
        assert_eq!(Cim::parse(&golden), Ok(Cim { change: Change::Release, ..cim() }), "reserved bits");
    }

    #[test]
    fn broken_messages_are_refused_by_their_first_fault() {
        let changed = |change: fn(&mut Vec<u8>)| {
            let mut octets = octets(PDU);
            change(&mut octets);
            Cim::parse(&octets).map(|_| ()).unwrap_err()
        };
        let truncated = |need, have| WireError::Truncated { format: "CIM", need, have };
        assert_eq!(changed(|octets| octets.truncate(16)), truncated(17, 16));
        assert_eq!(changed(|octets| octets.truncate(20)), truncated(21, 20));
        assert_eq!(
            changed(|octets| octets[0] = 0x10),
            WireError::Unexpected { field: "CIM version", found: 1, want: 0 }
        );
        assert_eq!(
            changed(|octets| octets[15] = 3),
            WireError::OutOfRange { field: "CIM encapsulated MSDU length", found: 772, least: 0, most: 512 }
        );
    }

    #[test]
    fn an_excerpt_starts_at_the_frames_own_ether_type() {
        let octets = octets("020000000002 020000000001 8100 0064 22e9 0001 0800 4500 0102");
        let frame = Frame::parse(&octets).unwrap();
        assert_eq!(MsduStart::of_frame(&frame, &octets, 4).as_slice(), [0x08, 0x00, 0x45, 0x00]);
        assert_eq!(MsduStart::of_frame(&frame, &octets, 48).as_slice().len(), 6);
        assert_eq!(MsduStart::of(&[0; 600]).as_slice().len(), 512);
    }
}
