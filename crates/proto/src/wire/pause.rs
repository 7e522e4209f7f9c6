//! PAUSE of 802.3 (annex 31B): stop sending on this link, for so long.
//!
//! `opcode 00-01, pause time(2)`, in an untagged frame to 01-80-C2-00-00-01 of EtherType 88-08.

use super::{EtherType, Header, MacAddr, WireError, word};
use crate::units::Quanta;

/// What a PAUSE frame says: how long the peer is to be silent, from now; 0 lets it go on at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pause {
    /// The time, which replaces whatever was left of an earlier one.
    pub time: Quanta,
}

/// A whole PAUSE frame. Where it goes is fixed, so only its sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PauseFrame {
    /// The port that sends it.
    pub source: MacAddr,
    /// What it says.
    pub pause: Pause,
}

impl Pause {
    /// Opcode and time; what follows in a frame is padding.
    pub const LEN: usize = 4;
    /// What the MAC control payload starts with.
    pub const OPCODE: u16 = 0x0001;
    const NAME: &str = "PAUSE";

    /// Reads the MAC control payload of a frame, from the opcode on.
    pub fn parse(octets: &[u8]) -> Result<Pause, WireError> {
        let truncated = WireError::Truncated { format: Self::NAME, need: Self::LEN, have: octets.len() };
        let octets: &[u8; Self::LEN] = octets.first_chunk().ok_or(truncated)?;
        if word(octets, 0) != Self::OPCODE {
            let (found, want) = (word(octets, 0), Self::OPCODE);
            return Err(WireError::Unexpected { field: "MAC control opcode", found, want });
        }
        Ok(Pause { time: Quanta(word(octets, 2)) })
    }

    /// The MAC control payload, from the opcode on.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let ([a, b], [c, d]) = (Self::OPCODE.to_be_bytes(), self.time.0.to_be_bytes());
        [a, b, c, d]
    }
}

impl PauseFrame {
    /// Reads a whole frame that is known to be PAUSE.
    pub fn parse(octets: &[u8]) -> Result<PauseFrame, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &[u8]) -> Result<PauseFrame, WireError> {
        header.expect_mac_control(Pause::NAME)?;
        Ok(PauseFrame { source: header.source, pause: Pause::parse(payload)? })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        Header::untagged(MacAddr::MAC_CONTROL, self.source, EtherType::MAC_CONTROL)
    }

    /// Writes the frame, 60 octets with its padding, and says so.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, payload) = self.header().begin(octets, Pause::LEN)?;
        payload.copy_from_slice(&self.pause.emit());
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, parse};
    use super::*;

    const FRAME: PauseFrame =
        PauseFrame { source: MacAddr::numbered(1), pause: Pause { time: Quanta(0xffff) } };

    fn golden() -> std::vec::Vec<u8> {
        let mut frame = octets("0180c2000001 020000000001 8808 0001 ffff");
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn the_longest_pause_is_these_octets() {
        assert_eq!(emitted(AnyFrame::Pause(FRAME)), golden());
        assert_eq!(parse(&golden()), Ok(AnyFrame::Pause(FRAME)));
        assert_eq!(PauseFrame::parse(&golden()), Ok(FRAME));
    }

    #[test]
    fn padding_means_nothing_and_may_be_missing() {
        let mut frame = golden();
        frame[18..].fill(0xff);
        assert_eq!(PauseFrame::parse(&frame), Ok(FRAME));
        assert_eq!(PauseFrame::parse(&frame[..18]), Ok(FRAME));
        let truncated = WireError::Truncated { format: "PAUSE", need: 4, have: 3 };
        assert_eq!(PauseFrame::parse(&frame[..17]), Err(truncated));
    }

    #[test]
    fn a_pause_to_another_address_is_refused() {
        let mut frame = golden();
        frame[..6].copy_from_slice(&MacAddr::numbered(2).0);
        let (found, want) = (MacAddr::numbered(2), MacAddr::MAC_CONTROL);
        assert_eq!(parse(&frame), Err(WireError::WrongDestination { format: "PAUSE", found, want }));
    }

    #[test]
    fn a_tagged_pause_is_refused() {
        for tag in ["8100 c000", "22e9 0001"] {
            let mut frame = octets("0180c2000001 020000000001");
            frame.extend(octets(tag));
            frame.extend(&golden()[12..]);
            assert_eq!(parse(&frame), Err(WireError::Tagged { format: "PAUSE" }));
        }
    }

    #[test]
    fn another_opcode_or_ether_type_is_not_pause() {
        let unexpected = |field, found, want| Err(WireError::Unexpected { field, found, want });
        let mut frame = golden();
        frame[14] = 1;
        assert_eq!(PauseFrame::parse(&frame), unexpected("MAC control opcode", 0x0101, 0x0001));
        frame[12] = 0x08;
        frame[13] = 0x00;
        assert_eq!(PauseFrame::parse(&frame), unexpected("EtherType", 0x0800, 0x8808));
    }
}
