//! UDP, as far as control frames travel over it.
//!
//! Behind the IP header: `source port(2) destination port(2) length(2) checksum(2)`, then the message.

use super::ip::IpHeader;
use super::{Envelope, EtherType, WireError, word};

/// What stands between a frame's EtherType and a message that travels over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Between whom.
    pub ip: IpHeader,
    /// The sender's port.
    pub source_port: u16,
    /// The port that says what the message is.
    pub destination_port: u16,
    /// Whether there is a checksum, or zero in its place.
    pub has_checksum: bool,
}

impl Udp {
    /// Ports, length and checksum.
    pub const LEN: usize = 8;
    /// The longest message, which an IPv4 datagram has room for.
    pub const MOST: usize = u16::MAX as usize - 20 - Self::LEN;
    const NAME: &str = "UDP";

    /// Reads the payload of a frame of EtherType 08-00 or 86-DD, and gives back the message.
    pub fn parse(ether_type: EtherType, octets: &[u8]) -> Result<(Udp, &[u8]), WireError> {
        let (ip, datagram) = IpHeader::parse(ether_type, octets)?;
        let truncated = |need| WireError::Truncated { format: Self::NAME, need, have: datagram.len() };
        let head: &[u8; Self::LEN] = datagram.first_chunk().ok_or(truncated(Self::LEN))?;
        let length = usize::from(word(head, 4)).max(Self::LEN);
        let message = datagram.get(Self::LEN..length).ok_or(truncated(length))?;
        let found = word(head, 6);
        if found != 0 {
            let want = ip.udp_checksum([&head[..6], message], length as u16);
            if found != want {
                let (found, want) = (u32::from(found), u32::from(want));
                return Err(WireError::Checksum { format: Self::NAME, found, want });
            }
        }
        let udp =
            Udp { ip, source_port: word(head, 0), destination_port: word(head, 2), has_checksum: found != 0 };
        Ok((udp, message))
    }

    /// The port a frame's payload is for, if it looks like UDP at all.
    pub(super) fn peek_port(ether_type: EtherType, octets: &[u8]) -> Option<u16> {
        let head: &[u8; 4] = IpHeader::peek_udp(ether_type, octets)?.first_chunk()?;
        Some(word(head, 2))
    }

    /// How many octets it takes behind the EtherType, with a message of `size` octets.
    pub const fn emitted_len(&self, size: usize) -> usize {
        self.ip.emitted_len() + Self::LEN + size
    }

    /// Writes a whole frame with this message, padded to [`super::MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, envelope: &Envelope, message: &[u8], octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, packet) = self.begin(envelope, octets, message.len())?;
        let at = self.emitted_len(0);
        packet[at..].copy_from_slice(message);
        self.seal(packet);
        Ok(length)
    }

    /// Begins a frame with a message of `size` octets: writes all in front of it and any padding, and gives back the
    /// length of the frame and the place of the packet. The message goes to the packet's end; then [`Udp::seal`].
    pub(super) fn begin<'a>(
        &self,
        envelope: &Envelope,
        octets: &'a mut [u8],
        size: usize,
    ) -> Result<(usize, &'a mut [u8]), WireError> {
        if size > Self::MOST {
            return Err(WireError::TooLong { format: Self::NAME, most: Self::MOST, have: size });
        }
        let header = envelope.header(self.ip.ether_type());
        let (length, packet) = header.begin(octets, self.emitted_len(size))?;
        let (ip, datagram) = packet.split_at_mut(self.ip.emitted_len());
        let total = (Self::LEN + size) as u16;
        self.ip.emit(ip, total);
        datagram[..2].copy_from_slice(&self.source_port.to_be_bytes());
        datagram[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        datagram[4..6].copy_from_slice(&total.to_be_bytes());
        datagram[6..8].fill(0);
        Ok((length, packet))
    }

    /// Writes the checksum, if there is to be one, once the message stands.
    pub(super) fn seal(&self, packet: &mut [u8]) {
        if self.has_checksum {
            let datagram = &mut packet[self.ip.emitted_len()..];
            let sum = self.ip.udp_checksum([&*datagram], datagram.len() as u16);
            datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::octets;
    use super::*;
    use std::vec::Vec;

    /// A congestion notification packet that a packet library wrote, from its IP header on.
    fn packet() -> Vec<u8> {
        octets(
            "45c0003c00004000401125ef0a0000020a000001 c00012b700280ccd 8100ffff4000001100000000
             00000000000000000000000000000000 5b65ef9f",
        )
    }

    #[test]
    fn ports_length_and_checksum_read_as_they_stand() {
        let packet = packet();
        let (udp, message) = Udp::parse(EtherType::IPV4, &packet).unwrap();
        assert_eq!((udp.source_port, udp.destination_port, udp.has_checksum), (0xc000, 4791, true));
        assert_eq!(message.len(), 32);
        assert_eq!(Udp::peek_port(EtherType::IPV4, &packet), Some(4791));
        assert_eq!(Udp::peek_port(EtherType::IPV6, &packet), None);
    }

    #[test]
    fn a_wrong_checksum_is_refused_and_a_missing_one_is_not() {
        let mut packet = packet();
        packet[26] ^= 1;
        assert_eq!(
            Udp::parse(EtherType::IPV4, &packet),
            Err(WireError::Checksum { format: "UDP", found: 0x0dcd, want: 0x0ccd })
        );
        packet[26..28].fill(0);
        assert!(Udp::parse(EtherType::IPV4, &packet).is_ok_and(|(udp, _)| !udp.has_checksum));
    }

    #[test]
    fn a_message_that_is_written_is_read_again() {
        let packet = packet();
        let (udp, message) = Udp::parse(EtherType::IPV4, &packet).unwrap();
        let envelope =
            Envelope::plain(super::super::MacAddr::numbered(1), super::super::MacAddr::numbered(2));
        let mut frame = [0; 200];
        let length = udp.emit(&envelope, message, &mut frame).unwrap();
        assert_eq!(&frame[14..length], &packet[..]);
    }

    #[test]
    fn a_length_beyond_the_datagram_is_refused() {
        let mut packet = packet();
        packet[25] = 0x29;
        assert_eq!(
            Udp::parse(EtherType::IPV4, &packet),
            Err(WireError::Truncated { format: "UDP", need: 41, have: 40 })
        );
    }

    #[test]
    fn a_message_longer_than_a_datagram_is_refused() {
        let packet = packet();
        let (udp, _) = Udp::parse(EtherType::IPV4, &packet).unwrap();
        let envelope = Envelope::plain(super::super::MacAddr::BROADCAST, super::super::MacAddr::BROADCAST);
        let mut room = std::vec![0; 100_000];
        let most = Udp::MOST;
        let error = WireError::TooLong { format: "UDP", most, have: most + 1 };
        assert_eq!(udp.begin(&envelope, &mut room, most + 1).map(|(length, _)| length), Err(error));
        assert!(udp.begin(&envelope, &mut room, most).is_ok());
    }
}
