//! RoCEv2: InfiniBand's transport in UDP datagrams to port 4791.
//!
//! `opcode(1) flags(1) partition(2) congestion(1) queue pair(3) acknowledge(1) sequence(3) payload and padding
//! ICRC(4)`, where the ICRC covers all that no router changes.

use super::ip::IpHeader;
use super::udp::Udp;
use super::{Envelope, EtherType, Header, WireError, field, word};
use core::fmt;

/// A RoCEv2 frame of data or acknowledgement: everything but a [`Cnp`](super::CnpFrame).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceFrame<'a> {
    /// From whom to whom, on the link.
    pub envelope: Envelope,
    /// From whom to whom, in the network; whether it may be marked, and was.
    pub ip: IpHeader,
    /// What routers tell flows apart by.
    pub source_port: u16,
    /// Whether UDP has a checksum; most senders leave it to the ICRC.
    pub has_checksum: bool,
    /// What it is, and where in its flow.
    pub bth: Bth,
    /// What it carries, extended headers included, without the padding to four octets.
    pub payload: &'a [u8],
}

/// The base transport header: which queue pair a packet is for, and which of its packets it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// What kind of packet it is.
    pub opcode: Opcode,
    /// Whether the receiver is to raise an event (SE).
    pub solicited: bool,
    /// The state of path migration (M).
    pub migrated: bool,
    /// The partition (P_Key); 0xffff is the default one.
    pub partition: u16,
    /// Whether it met congestion, as InfiniBand's own switches say it (FECN).
    pub fecn: bool,
    /// Whether packets the other way met congestion (BECN).
    pub becn: bool,
    /// The receiving queue pair.
    pub queue_pair: U24,
    /// Whether it is to be acknowledged at once (A).
    pub wants_ack: bool,
    /// Its number in the flow (PSN).
    pub sequence: U24,
}

/// The ACK extended transport header, behind the base header of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// Acknowledged, not ready, or refused, and why.
    pub syndrome: u8,
    /// Messages completed so far (MSN).
    pub messages: U24,
}

/// What kind of packet it is: three bits of service, five of operation. 0x81 is not one of them: see
/// [`CnpFrame`](super::CnpFrame).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(u8);

/// A number of 24 bits, as queue pairs and sequences have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct U24(u32);

/// The UDP port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// The opcode of a congestion notification packet.
pub(super) const CNP_OPCODE: u8 = 0x81;

/// Whether the payload of a frame to port 4791 says that it is a congestion notification packet.
pub(super) fn is_cnp(ether_type: EtherType, payload: &[u8]) -> bool {
    let opcode = IpHeader::peek_udp(ether_type, payload).and_then(|datagram| datagram.get(Udp::LEN));
    opcode == Some(&CNP_OPCODE)
}

impl<'a> RoceFrame<'a> {
    const NAME: &'static str = "RoCE packet";

    /// Reads a whole frame that is known to be RoCEv2.
    pub fn parse(octets: &'a [u8]) -> Result<RoceFrame<'a>, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &'a [u8]) -> Result<RoceFrame<'a>, WireError> {
        let Transport { udp, head, rest } = Transport::parse(header.ether_type, payload)?;
        let bth = Bth::parse(head)?;
        // Padding fills the payload up to four octets; how much of it there is stands in the base header.
        let padding = usize::from(Bth::padding(head));
        let have = rest.len();
        let end = have.checked_sub(padding).ok_or(WireError::Truncated {
            format: Self::NAME,
            need: padding,
            have,
        })?;
        if have % 4 != 0 {
            let found = (have % 4) as u16;
            return Err(WireError::Unexpected { field: "RoCE payload length modulo 4", found, want: 0 });
        }
        let Udp { ip, source_port, has_checksum, .. } = udp;
        let envelope = header.envelope();
        Ok(RoceFrame { envelope, ip, source_port, has_checksum, bth, payload: &rest[..end] })
    }

    /// Reads what there is of a frame that a capture has cut: its headers. Neither checksum nor ICRC can be checked, and
    /// the payload is what was kept of it.
    pub fn parse_cut(octets: &'a [u8]) -> Result<RoceFrame<'a>, WireError> {
        let header = Header::parse(octets)?;
        let packet = octets.get(header.payload_at()..).unwrap_or_default();
        let (ip, _) = IpHeader::parse_start(header.ether_type, packet)?;
        let message = packet.get(ip.emitted_len()..).unwrap_or_default();
        let truncated =
            WireError::Truncated { format: Self::NAME, need: Udp::LEN + Bth::LEN, have: message.len() };
        let (udp, message) = message.split_first_chunk::<{ Udp::LEN }>().ok_or(truncated)?;
        if word(udp, 2) != ROCE_PORT {
            let (found, want) = (word(udp, 2), ROCE_PORT);
            return Err(WireError::Unexpected { field: "UDP destination port", found, want });
        }
        let (head, payload) = message.split_first_chunk::<{ Bth::LEN }>().ok_or(truncated)?;
        let (source_port, has_checksum) = (word(udp, 0), word(udp, 6) != 0);
        let envelope = header.envelope();
        Ok(RoceFrame { envelope, ip, source_port, has_checksum, bth: Bth::parse(head)?, payload })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        self.envelope.header(self.ip.ether_type())
    }

    /// Writes the frame and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let RoceFrame { ip, source_port, has_checksum, .. } = *self;
        let transport = Udp { ip, source_port, destination_port: ROCE_PORT, has_checksum };
        let padding = self.payload.len().wrapping_neg() % 4;
        let size = self.payload.len() + padding;
        Transport::emit(&transport, &self.envelope, octets, size, |message| {
            let (head, rest) = message.split_at_mut(Bth::LEN);
            head.copy_from_slice(&self.bth.emit(padding as u8));
            let (payload, padding) = rest.split_at_mut(self.payload.len());
            payload.copy_from_slice(self.payload);
            padding.fill(0);
        })
    }
}

/// A UDP datagram to port 4791 whose ICRC is right.
pub(super) struct Transport<'a> {
    /// From whom to whom.
    pub(super) udp: Udp,
    /// The base header.
    pub(super) head: &'a [u8; Bth::LEN],
    /// What stands between that and the ICRC.
    pub(super) rest: &'a [u8],
}

impl<'a> Transport<'a> {
    const ICRC: usize = 4;

    pub(super) fn parse(ether_type: EtherType, payload: &'a [u8]) -> Result<Transport<'a>, WireError> {
        let (udp, message) = Udp::parse(ether_type, payload)?;
        if udp.destination_port != ROCE_PORT {
            let (found, want) = (udp.destination_port, ROCE_PORT);
            return Err(WireError::Unexpected { field: "UDP destination port", found, want });
        }
        let need = Bth::LEN + Self::ICRC;
        let truncated = WireError::Truncated { format: RoceFrame::NAME, need, have: message.len() };
        let (covered, icrc) = message.split_last_chunk().ok_or(truncated)?;
        let (head, rest) = covered.split_first_chunk().ok_or(truncated)?;
        let (found, want) =
            (u32::from_le_bytes(*icrc), icrc_of(payload, udp.ip.emitted_len(), message.len()));
        if found != want {
            return Err(WireError::Checksum { format: "RoCE ICRC", found, want });
        }
        Ok(Transport { udp, head, rest })
    }

    /// Writes a frame with `size` octets between base header and ICRC; `fill` writes these and the base header.
    pub(super) fn emit(
        udp: &Udp,
        envelope: &Envelope,
        octets: &mut [u8],
        size: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<usize, WireError> {
        let size = Bth::LEN + size + Self::ICRC;
        let (length, packet) = udp.begin(envelope, octets, size)?;
        let at = udp.emitted_len(0);
        let end = packet.len() - Self::ICRC;
        fill(&mut packet[at..end]);
        let icrc = icrc_of(packet, udp.ip.emitted_len(), size);
        packet[end..].copy_from_slice(&icrc.to_le_bytes());
        udp.seal(packet);
        Ok(length)
    }
}

/// The invariant check of a packet that starts with an IP header of `ip` octets and carries a message of `size`: over
/// all that routers leave alone, with ones in place of what they change.
fn icrc_of(packet: &[u8], ip: usize, size: usize) -> u32 {
    let is_masked = |at: usize| match at.checked_sub(ip) {
        // IPv4: class, TTL, checksum. IPv6: class and flow label (four bits of version stay), hop limit.
        None if ip == 20 => matches!(at, 1 | 8 | 10 | 11),
        None => matches!(at, 1..=3 | 7),
        // UDP: checksum. Base header: congestion bits.
        Some(at) => matches!(at, 6 | 7 | 12),
    };
    let covered = packet.iter().take(ip + Udp::LEN + size - Transport::ICRC).enumerate();
    let masked = covered.map(|(at, octet)| match at {
        0 if ip != 20 => octet | 0x0f,
        at if is_masked(at) => 0xff,
        _ => *octet,
    });
    crc32([0xff; 8].into_iter().chain(masked))
}

/// The check of Ethernet, over any octets.
fn crc32(octets: impl Iterator<Item = u8>) -> u32 {
    !octets.fold(u32::MAX, |crc, octet| crc >> 8 ^ CRC_TABLE[usize::from(crc as u8 ^ octet)])
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

impl Bth {
    /// How many octets it takes.
    pub const LEN: usize = 12;
    const SOLICITED: u8 = 0x80;
    const MIGRATED: u8 = 0x40;
    const FECN: u8 = 0x80;
    const BECN: u8 = 0x40;
    const WANTS_ACK: u8 = 0x80;

    /// Reads a base header. Reserved bits are ignored.
    pub fn parse(head: &[u8; Self::LEN]) -> Result<Bth, WireError> {
        let opcode = Opcode::new(head[0]).ok_or(WireError::Unexpected {
            field: "RoCE opcode",
            found: u16::from(head[0]),
            want: 0,
        })?;
        let version = u16::from(head[1] & 0x0f);
        if version != 0 {
            return Err(WireError::Unexpected { field: "RoCE transport version", found: version, want: 0 });
        }
        Ok(Bth {
            opcode,
            solicited: head[1] & Self::SOLICITED != 0,
            migrated: head[1] & Self::MIGRATED != 0,
            partition: word(head, 2),
            fecn: head[4] & Self::FECN != 0,
            becn: head[4] & Self::BECN != 0,
            queue_pair: U24::from_octets(field(head, 5)),
            wants_ack: head[8] & Self::WANTS_ACK != 0,
            sequence: U24::from_octets(field(head, 9)),
        })
    }

    /// How many octets pad the payload of a packet with this base header.
    const fn padding(head: &[u8; Self::LEN]) -> u8 {
        head[1] >> 4 & 0b11
    }

    /// The octets of a base header in front of a payload that needs so much padding.
    fn emit(&self, padding: u8) -> [u8; Self::LEN] {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let ([a, b], [c, d, e]) = (self.partition.to_be_bytes(), self.queue_pair.octets());
        let [f, g, h] = self.sequence.octets();
        let flags =
            flag(self.solicited, Self::SOLICITED) | flag(self.migrated, Self::MIGRATED) | padding << 4;
        let congestion = flag(self.fecn, Self::FECN) | flag(self.becn, Self::BECN);
        [self.opcode.0, flags, a, b, congestion, c, d, e, flag(self.wants_ack, Self::WANTS_ACK), f, g, h]
    }
}

impl Aeth {
    /// How many octets it takes.
    pub const LEN: usize = 4;

    /// Reads the start of an acknowledgement's payload.
    pub fn parse(payload: &[u8]) -> Result<Aeth, WireError> {
        let truncated =
            WireError::Truncated { format: "RoCE acknowledgement", need: Self::LEN, have: payload.len() };
        let octets: &[u8; Self::LEN] = payload.first_chunk().ok_or(truncated)?;
        Ok(Aeth { syndrome: octets[0], messages: U24::from_octets(field(octets, 1)) })
    }

    /// Its octets.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let [b, c, d] = self.messages.octets();
        [self.syndrome, b, c, d]
    }
}

impl Opcode {
    /// The only packet of a message sent, reliably.
    pub const SEND_ONLY: Opcode = Opcode(0x04);
    /// A packet within a message that is written to the receiver's memory, reliably.
    pub const WRITE_MIDDLE: Opcode = Opcode(0x07);
    /// An acknowledgement, with an [`Aeth`].
    pub const ACKNOWLEDGE: Opcode = Opcode(0x11);

    /// The opcode of this number; `None` for a congestion notification packet's.
    pub const fn new(number: u8) -> Option<Opcode> {
        if number == CNP_OPCODE { None } else { Some(Opcode(number)) }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Opcode {
    /// The usual name of those of reliable connections; a number otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0x00 => "send first",
            0x01 => "send middle",
            0x02 => "send last",
            0x04 => "send only",
            0x06 => "write first",
            0x07 => "write middle",
            0x08 => "write last",
            0x0a => "write only",
            0x0c => "read request",
            0x0d => "read response first",
            0x0e => "read response middle",
            0x0f => "read response last",
            0x10 => "read response only",
            0x11 => "acknowledge",
            other => return write!(f, "opcode {other:#04x}"),
        })
    }
}

impl U24 {
    /// The largest.
    pub const MAX: U24 = U24(0xff_ffff);

    /// This number, if it has 24 bits.
    pub const fn new(number: u32) -> Option<U24> {
        if number <= Self::MAX.0 { Some(U24(number)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    pub(super) const fn from_octets([a, b, c]: [u8; 3]) -> U24 {
        U24(u32::from_be_bytes([0, a, b, c]))
    }

    pub(super) const fn octets(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::any_roce;
    use super::super::ip::{Dscp, Ecn, FlowLabel, IpEnds};
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, MacAddr, parse};
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn data(payload: &[u8]) -> RoceFrame<'_> {
        RoceFrame {
            envelope: Envelope::plain(MacAddr::numbered(1), MacAddr::numbered(2)),
            ip: IpHeader {
                ends: IpEnds::V4 {
                    source: Ipv4Addr::new(10, 0, 0, 2),
                    destination: Ipv4Addr::new(10, 0, 0, 1),
                    identification: 7,
                    stays_whole: true,
                },
                dscp: Dscp::new(26).unwrap(),
                ecn: Ecn::Capable0,
                hops: 64,
            },
            source_port: 0xc001,
            has_checksum: false,
            bth: Bth {
                opcode: Opcode::WRITE_MIDDLE,
                solicited: false,
                migrated: true,
                partition: 0xffff,
                fecn: false,
                becn: false,
                queue_pair: U24::new(0x0012_3456).unwrap(),
                wants_ack: true,
                sequence: U24::new(0x00ab_cdef).unwrap(),
            },
            payload,
        }
    }

    #[test]
    fn the_check_is_that_of_ethernet() {
        assert_eq!(crc32(b"123456789".iter().copied()), 0xcbf4_3926);
    }

    #[test]
    fn a_packet_of_data_is_these_octets() {
        let frame = emitted(AnyFrame::Roce(data(b"quell")));
        let meant = octets(
            "020000000001 020000000002 0800 456a0034 0007 4000 40 11 2646 0a000002 0a000001
             c001 12b7 0020 0000  07 70 ffff 00 123456 80 abcdef  7175656c6c 000000",
        );
        assert_eq!(frame[..meant.len()], meant);
        assert_eq!(parse(&frame), Ok(AnyFrame::Roce(data(b"quell"))));
    }

    #[test]
    fn what_routers_change_does_not_break_the_check_and_anything_else_does() {
        let frame = emitted(AnyFrame::Roce(data(b"quell")));
        let icrc = |at: usize| {
            let packet: Vec<u8> =
                frame[14..].iter().enumerate().map(|(index, octet)| octet ^ u8::from(index == at)).collect();
            icrc_of(&packet, 20, packet.len() - 28)
        };
        let right = icrc(usize::MAX);
        let free: Vec<usize> = (0..frame.len() - 18).filter(|at| icrc(*at) == right).collect();
        assert_eq!(free, [1, 8, 10, 11, 26, 27, 32]);
    }

    #[test]
    fn on_ipv6_class_flow_label_and_hop_limit_are_free() {
        let mut sent = data(b"quell");
        sent.ip.ends = IpEnds::V6 {
            source: Ipv6Addr::LOCALHOST,
            destination: Ipv6Addr::LOCALHOST,
            flow: FlowLabel::new(0x12345).unwrap(),
        };
        let mut frame = emitted(AnyFrame::Roce(sent));
        frame[14] ^= 0x0f;
        frame[15..18].fill(0x5a);
        frame[21] = 1;
        let Ok(AnyFrame::Roce(read)) = parse(&frame) else { panic!("{:?}", parse(&frame)) };
        assert_eq!((read.bth, read.payload), (sent.bth, sent.payload));
        assert_eq!(read.ip.hops, 1);
    }

    #[test]
    fn a_frame_that_a_capture_has_cut_still_shows_its_headers() {
        let frame = emitted(AnyFrame::Roce(data(b"quell")));
        let cut = RoceFrame::parse_cut(&frame[..56]).unwrap();
        assert_eq!((cut.ip, cut.bth, cut.payload), (data(b"").ip, data(b"").bth, &b"qu"[..]));
        let truncated = WireError::Truncated { format: "RoCE packet", need: 20, have: 19 };
        assert_eq!(RoceFrame::parse_cut(&frame[..53]), Err(truncated));
        assert!(parse(&frame[..56]).is_err(), "it is no whole frame");
    }

    #[test]
    fn a_changed_payload_is_refused() {
        let mut frame = emitted(AnyFrame::Roce(data(b"quell")));
        frame[54] ^= 1;
        assert!(matches!(parse(&frame), Err(WireError::Checksum { format: "RoCE ICRC", .. })));
    }

    #[test]
    fn an_acknowledgement_has_its_own_header() {
        let sent = Aeth { syndrome: 0x60, messages: U24::new(5).unwrap() };
        assert_eq!(sent.emit(), [0x60, 0, 0, 5]);
        assert_eq!(Aeth::parse(&sent.emit()), Ok(sent));
        let truncated = WireError::Truncated { format: "RoCE acknowledgement", need: 4, have: 3 };
        assert_eq!(Aeth::parse(&[0; 3]), Err(truncated));
    }

    #[test]
    fn opcodes_have_names() {
        assert_eq!(Opcode::ACKNOWLEDGE.to_string(), "acknowledge");
        assert_eq!(Opcode::new(0x64).unwrap().to_string(), "opcode 0x64");
        assert_eq!(Opcode::new(0x81), None);
    }

    #[test]
    fn queue_pairs_have_24_bits() {
        assert_eq!((U24::new(0xff_ffff), U24::new(0x100_0000)), (Some(U24::MAX), None));
    }

    proptest! {
        #[test]
        fn any_payload_survives_the_wire(frame in any_roce(), payload: Vec<u8>) {
            let frame = RoceFrame { payload: &payload, ..frame };
            let octets = emitted(AnyFrame::Roce(frame));
            prop_assert_eq!(parse(&octets), Ok(AnyFrame::Roce(frame)));
        }
    }
}
