//! Priority-based flow control of 802.1Qbb: PAUSE for each of the eight priorities by itself.
//!
//! `opcode 01-01, enable vector(2), eight times(2)`, in an untagged frame to 01-80-C2-00-00-01 of EtherType 88-08.

use super::{EtherType, Header, MacAddr, WireError, word};
use crate::units::{Priority, Quanta};

/// What a PFC frame says to each of the eight priorities; `None` leaves one as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pfc {
    /// How long each priority is to be silent, from now; 0 lets it go on at once.
    pub times: [Option<Quanta>; Priority::COUNT],
}

/// A whole PFC frame. Where it goes is fixed, so only its sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PfcFrame {
    /// The port that sends it.
    pub source: MacAddr,
    /// What it says.
    pub pfc: Pfc,
}

impl Pfc {
    /// Opcode, enable vector and eight times; what follows in a frame is padding.
    pub const LEN: usize = 20;
    /// What the MAC control payload starts with.
    pub const OPCODE: u16 = 0x0101;
    const NAME: &str = "PFC";

    /// Speaks to one priority and leaves the others as they were.
    pub fn of(priority: Priority, time: Quanta) -> Pfc {
        let mut pfc = Pfc::default();
        pfc.times[priority.index()] = Some(time);
        pfc
    }

    /// Reads the MAC control payload of a frame, from the opcode on.
    ///
    /// The high octet of the enable vector is reserved, and a time counts only under its enable bit; both are
    /// ignored otherwise.
    pub fn parse(octets: &[u8]) -> Result<Pfc, WireError> {
        let truncated = WireError::Truncated { format: Self::NAME, need: Self::LEN, have: octets.len() };
        let octets: &[u8; Self::LEN] = octets.first_chunk().ok_or(truncated)?;
        if word(octets, 0) != Self::OPCODE {
            let (found, want) = (word(octets, 0), Self::OPCODE);
            return Err(WireError::Unexpected { field: "MAC control opcode", found, want });
        }
        let enabled = word(octets, 2);
        Ok(Pfc {
            times: core::array::from_fn(|priority| {
                (enabled >> priority & 1 == 1).then(|| Quanta(word(octets, 4 + 2 * priority)))
            }),
        })
    }

    /// The MAC control payload, from the opcode on.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        octets[..2].copy_from_slice(&Self::OPCODE.to_be_bytes());
        for (priority, time) in self.times.iter().enumerate() {
            if let Some(Quanta(time)) = time {
                octets[3] |= 1 << priority;
                octets[4 + 2 * priority..][..2].copy_from_slice(&time.to_be_bytes());
            }
        }
        octets
    }
}

impl PfcFrame {
    /// Reads a whole frame that is known to be PFC.
    pub fn parse(octets: &[u8]) -> Result<PfcFrame, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &[u8]) -> Result<PfcFrame, WireError> {
        header.expect_mac_control(Pfc::NAME)?;
        Ok(PfcFrame { source: header.source, pfc: Pfc::parse(payload)? })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        Header::untagged(MacAddr::MAC_CONTROL, self.source, EtherType::MAC_CONTROL)
    }

    /// Writes the frame, 60 octets with its padding, and says so.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, payload) = self.header().begin(octets, Pfc::LEN)?;
        payload.copy_from_slice(&self.pfc.emit());
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, parse};
    use super::*;
    use proptest::prelude::*;

    /// Priority 3 stops for as long as can be said, priority 4 goes on.
    fn frame() -> PfcFrame {
        let mut pfc = Pfc::of(Priority::new(3).unwrap(), Quanta::MAX);
        pfc.times[4] = Some(Quanta(0));
        PfcFrame { source: MacAddr::numbered(1), pfc }
    }

    fn golden() -> std::vec::Vec<u8> {
        let mut frame =
            octets("0180c2000001 020000000001 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000");
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn stop_on_3_and_go_on_4_are_these_octets() {
        assert_eq!(emitted(AnyFrame::Pfc(frame())), golden());
        assert_eq!(parse(&golden()), Ok(AnyFrame::Pfc(frame())));
        assert_eq!(PfcFrame::parse(&golden()), Ok(frame()));
    }

    #[test]
    fn a_time_without_its_enable_bit_says_nothing() {
        let mut octets = golden();
        octets[17] = 0x10;
        assert_eq!(PfcFrame::parse(&octets).unwrap().pfc, Pfc::of(Priority::new(4).unwrap(), Quanta(0)));
    }

    #[test]
    fn the_reserved_half_of_the_enable_vector_is_ignored() {
        let mut octets = golden();
        octets[16] = 0xff;
        assert_eq!(PfcFrame::parse(&octets), Ok(frame()));
    }

    #[test]
    fn padding_means_nothing_and_may_be_missing() {
        let mut octets = golden();
        octets[34..].fill(0xff);
        assert_eq!(PfcFrame::parse(&octets), Ok(frame()));
        assert_eq!(PfcFrame::parse(&octets[..34]), Ok(frame()));
        let truncated = WireError::Truncated { format: "PFC", need: 20, have: 19 };
        assert_eq!(PfcFrame::parse(&octets[..33]), Err(truncated));
    }

    #[test]
    fn tags_and_other_addresses_are_refused() {
        let mut elsewhere = golden();
        elsewhere[..6].copy_from_slice(&MacAddr::BROADCAST.0);
        let (found, want) = (MacAddr::BROADCAST, MacAddr::MAC_CONTROL);
        assert_eq!(parse(&elsewhere), Err(WireError::WrongDestination { format: "PFC", found, want }));
        let mut tagged = octets("0180c2000001 020000000001 8100 c000");
        tagged.extend(&golden()[12..]);
        assert_eq!(parse(&tagged), Err(WireError::Tagged { format: "PFC" }));
    }

    #[test]
    fn pause_is_not_pfc() {
        let mut octets = golden();
        octets[14] = 0;
        let error = WireError::Unexpected { field: "MAC control opcode", found: 0x0001, want: 0x0101 };
        assert_eq!(PfcFrame::parse(&octets), Err(error));
    }

    proptest! {
        #[test]
        fn what_is_said_to_the_priorities_survives_the_wire(times: [Option<u16>; 8]) {
            let sent = Pfc { times: times.map(|time| time.map(Quanta)) };
            prop_assert_eq!(Pfc::parse(&sent.emit()), Ok(sent));
        }
    }
}
