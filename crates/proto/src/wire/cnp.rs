//! The congestion notification packet of RoCEv2: a receiver tells a sender that its packets met congestion.
//!
//! A RoCEv2 packet of opcode 0x81 whose base header has the BECN bit, and 16 octets that are reserved.

use super::ip::IpHeader;
use super::roce::{Bth, CNP_OPCODE, ROCE_PORT, Transport, U24};
use super::udp::Udp;
use super::{Envelope, Header, WireError, field, word};

/// A congestion notification packet. What it says is whom it is for: that queue pair is to slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CnpFrame {
    /// From whom to whom, on the link.
    pub envelope: Envelope,
    /// From whom to whom, in the network.
    pub ip: IpHeader,
    /// What routers tell flows apart by.
    pub source_port: u16,
    /// Whether UDP has a checksum; most senders leave it to the ICRC.
    pub has_checksum: bool,
    /// The queue pair whose packets met congestion, at the one that sent them.
    pub queue_pair: U24,
    /// The partition (P_Key); 0xffff is the default one.
    pub partition: u16,
    /// The state of path migration (M).
    pub migrated: bool,
}

impl CnpFrame {
    /// What stands reserved behind the base header.
    const RESERVED: usize = 16;
    const MIGRATED: u8 = 0x40;
    const BECN: u8 = 0x40;

    /// Reads a whole frame that is known to be a congestion notification packet.
    pub fn parse(octets: &[u8]) -> Result<CnpFrame, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    ///
    /// The opcode alone makes it one: BECN, the sequence and what is reserved are written as they should be, and not
    /// asked for.
    pub fn from_parts(header: &Header, payload: &[u8]) -> Result<CnpFrame, WireError> {
        let Transport { udp, head, rest } = Transport::parse(header.ether_type, payload)?;
        if head[0] != CNP_OPCODE {
            let (found, want) = (u16::from(head[0]), u16::from(CNP_OPCODE));
            return Err(WireError::Unexpected { field: "RoCE opcode", found, want });
        }
        if rest.len() < Self::RESERVED {
            return Err(WireError::Truncated { format: "CNP", need: Self::RESERVED, have: rest.len() });
        }
        let Udp { ip, source_port, has_checksum, .. } = udp;
        Ok(CnpFrame {
            envelope: header.envelope(),
            ip,
            source_port,
            has_checksum,
            queue_pair: U24::from_octets(field(head, 5)),
            partition: word(head, 2),
            migrated: head[1] & Self::MIGRATED != 0,
        })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        self.envelope.header(self.ip.ether_type())
    }

    /// Writes the frame and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let CnpFrame { ip, source_port, has_checksum, .. } = *self;
        let udp = Udp { ip, source_port, destination_port: ROCE_PORT, has_checksum };
        Transport::emit(&udp, &self.envelope, octets, Self::RESERVED, |message| {
            let ([a, b], [c, d, e]) = (self.partition.to_be_bytes(), self.queue_pair.octets());
            let flags = if self.migrated { Self::MIGRATED } else { 0 };
            let (head, reserved) = message.split_at_mut(Bth::LEN);
            head.copy_from_slice(&[CNP_OPCODE, flags, a, b, Self::BECN, c, d, e, 0, 0, 0, 0]);
            reserved.fill(0);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ip::{Dscp, Ecn, IpEnds};
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, MacAddr, parse};
    use super::*;
    use core::net::Ipv4Addr;

    fn golden() -> std::vec::Vec<u8> {
        octets(
            "020000000001 020000000002 0800 45c0003c00004000401125ef0a0000020a000001
             c00012b700280ccd 8100ffff4000001100000000 00000000000000000000000000000000 5b65ef9f",
        )
    }

    fn frame() -> CnpFrame {
        CnpFrame {
            envelope: Envelope::plain(MacAddr::numbered(1), MacAddr::numbered(2)),
            ip: IpHeader {
                ends: IpEnds::V4 {
                    source: Ipv4Addr::new(10, 0, 0, 2),
                    destination: Ipv4Addr::new(10, 0, 0, 1),
                    identification: 0,
                    stays_whole: true,
                },
                dscp: Dscp::new(48).unwrap(),
                ecn: Ecn::Incapable,
                hops: 64,
            },
            source_port: 0xc000,
            has_checksum: true,
            queue_pair: U24::new(0x11).unwrap(),
            partition: 0xffff,
            migrated: false,
        }
    }

    #[test]
    fn a_notification_for_queue_pair_17_is_these_octets() {
        assert_eq!(golden().len(), 74);
        assert_eq!(emitted(AnyFrame::Cnp(frame())), golden());
        assert_eq!(parse(&golden()), Ok(AnyFrame::Cnp(frame())));
        assert_eq!(CnpFrame::parse(&golden()), Ok(frame()));
    }

    #[test]
    fn a_notification_with_a_wrong_check_is_refused() {
        let mut octets = golden();
        octets[40..42].fill(0);
        octets[49] = 0x12;
        assert!(matches!(parse(&octets), Err(WireError::Checksum { format: "RoCE ICRC", .. })));
    }

    #[test]
    fn the_congestion_bits_are_not_asked_for() {
        let mut octets = golden();
        octets[40..42].fill(0);
        octets[46] = 0;
        assert_eq!(parse(&octets), Ok(AnyFrame::Cnp(CnpFrame { has_checksum: false, ..frame() })));
    }

    #[test]
    fn another_opcode_is_no_notification() {
        let mut buffer = [0; 128];
        let mut octets = golden();
        octets[42] = 0x04;
        assert!(CnpFrame::parse(&octets).is_err());
        assert_eq!(frame().emit(&mut buffer), Ok(74));
    }
}
