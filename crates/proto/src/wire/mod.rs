//! Octets to values and back, for every frame the mechanisms exchange.
//!
//! A frame here starts at its destination address and ends before its frame check sequence. Control messages
//! are small, so each is a plain value that owns what it carries; those that may be long borrow it.
//! A value holds what a frame *means*: reserved bits are sent as zero and ignored when read, and a value that
//! cannot be sent cannot be built, so that `emit` fails for want of room and for nothing else (but a RoCE payload
//! longer than a datagram).
//!
//! | format | value (the octets behind the EtherType) | whole frame |
//! |---|---|---|
//! | Ethernet II header with [`VlanTag`]s and a [`CnTag`] | [`Header`] | [`Frame`] |
//! | congestion notification message, 802.1Qau | [`Cnm`] | [`CnmFrame`] |
//! | PAUSE, 802.3 annex 31B | [`Pause`] | [`PauseFrame`] |
//! | priority-based flow control, 802.1Qbb | [`Pfc`] | [`PfcFrame`] |
//! | RoCEv2 data and acknowledgements, on [`IpHeader`] and [`Udp`] | [`Bth`] | [`RoceFrame`] |
//! | RoCEv2 congestion notification | | [`CnpFrame`] |
//! | congestion isolation message, 802.1Qcz, on layer 2 or [`Udp`] | [`Cim`] | [`CimFrame`] |
//! | LLDP, 802.1AB, with the TLVs of data-centre bridging and congestion management | [`Lldp`](lldp::Lldp) | [`LldpFrame`] |
//!
//! [`parse`] reads a frame of any of these formats by its EtherType or UDP port.
//!
//! A further format is one more file of the same shape: a value with `parse` and `emit`, a whole frame with
//! `from_parts`, `parse`, `header` and `emit`, golden octets below; then its EtherType, a variant of
//! [`AnyFrame`], a line in [`parse`] and a section in `docs/frames.md`.

pub mod cim;
pub mod cnm;
pub mod cnp;
pub mod cntag;
pub mod ethernet;
pub mod ip;
pub mod lldp;
pub mod pause;
pub mod pfc;
pub mod roce;
pub mod udp;
pub mod vlan;

#[cfg(test)]
mod arbitrary;

pub use cim::{Carriage, Change, Cim, CimFrame, MsduStart};
pub use cnm::{Cnm, CnmFrame, CpId, Excerpt, Origin, QuantisedFeedback, QueueDifference};
pub use cnp::CnpFrame;
pub use cntag::CnTag;
pub use ethernet::{Envelope, EtherType, Frame, Header, MIN_FRAME, MacAddr};
pub use ip::{Dscp, Ecn, FlowLabel, IpEnds, IpHeader};
pub use lldp::LldpFrame;
pub use pause::{Pause, PauseFrame};
pub use pfc::{Pfc, PfcFrame};
pub use roce::{Aeth, Bth, Opcode, ROCE_PORT, RoceFrame, U24};
pub use udp::Udp;
pub use vlan::{Tags, VlanId, VlanKind, VlanTag};

use crate::units::Priority;
use core::fmt;

/// A frame of any format this crate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnyFrame<'a> {
    /// A congestion notification message.
    Cnm(CnmFrame),
    /// A PAUSE frame.
    Pause(PauseFrame),
    /// A priority-based flow control frame.
    Pfc(PfcFrame),
    /// A congestion notification packet of RoCEv2.
    Cnp(CnpFrame),
    /// RoCEv2, but for its notifications.
    Roce(RoceFrame<'a>),
    /// A congestion isolation message.
    Cim(CimFrame<'a>),
    /// What a port says about itself.
    Lldp(LldpFrame<'a>),
    /// Anything else: a header, and a payload that is nobody's business here.
    Data(Frame<'a>),
}

/// What UDP ports mean on a link, beyond those that are the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// The port that congestion isolation messages are to be sent to, if any: each bridge chooses its own, and
    /// advertises it by LLDP.
    pub cim: Option<u16>,
}

/// Reads a whole frame, without its frame check sequence, as what its EtherType says it is.
///
/// A frame whose EtherType or UDP port names a control format but which breaks that format's rules is an error,
/// never data: a receiver drops it and counts it.
pub fn parse(octets: &[u8]) -> Result<AnyFrame<'_>, WireError> {
    Ports::default().parse(octets)
}

impl Ports {
    /// As [`parse`], where the ports are known.
    pub fn parse<'a>(&self, octets: &'a [u8]) -> Result<AnyFrame<'a>, WireError> {
        let frame = Frame::parse(octets)?;
        let Frame { header, payload } = frame;
        Ok(match header.ether_type {
            EtherType::CNM => AnyFrame::Cnm(CnmFrame::from_parts(&header, payload)?),
            EtherType::CIM => AnyFrame::Cim(CimFrame::from_parts(&header, payload)?),
            EtherType::LLDP => AnyFrame::Lldp(LldpFrame::from_parts(&header, payload)?),
            EtherType::MAC_CONTROL => match ethernet::opcode(payload)? {
                Pause::OPCODE => AnyFrame::Pause(PauseFrame::from_parts(&header, payload)?),
                Pfc::OPCODE => AnyFrame::Pfc(PfcFrame::from_parts(&header, payload)?),
                found => return Err(WireError::UnknownOpcode { found }),
            },
            ether_type => match Udp::peek_port(ether_type, payload) {
                Some(ROCE_PORT) if roce::is_cnp(ether_type, payload) => {
                    AnyFrame::Cnp(CnpFrame::from_parts(&header, payload)?)
                }
                Some(ROCE_PORT) => AnyFrame::Roce(RoceFrame::from_parts(&header, payload)?),
                port if port.is_some() && port == self.cim => {
                    AnyFrame::Cim(CimFrame::from_parts(&header, payload)?)
                }
                _ => AnyFrame::Data(frame),
            },
        })
    }
}

impl AnyFrame<'_> {
    /// Everything in front of the frame's payload.
    pub fn header(&self) -> Header {
        match self {
            AnyFrame::Cnm(frame) => frame.header(),
            AnyFrame::Pause(frame) => frame.header(),
            AnyFrame::Pfc(frame) => frame.header(),
            AnyFrame::Cnp(frame) => frame.header(),
            AnyFrame::Roce(frame) => frame.header(),
            AnyFrame::Cim(frame) => frame.header(),
            AnyFrame::Lldp(frame) => frame.header(),
            AnyFrame::Data(frame) => frame.header,
        }
    }

    /// Writes the frame, padded to [`MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        match self {
            AnyFrame::Cnm(frame) => frame.emit(octets),
            AnyFrame::Pause(frame) => frame.emit(octets),
            AnyFrame::Pfc(frame) => frame.emit(octets),
            AnyFrame::Cnp(frame) => frame.emit(octets),
            AnyFrame::Roce(frame) => frame.emit(octets),
            AnyFrame::Cim(frame) => frame.emit(octets),
            AnyFrame::Lldp(frame) => frame.emit(octets),
            AnyFrame::Data(frame) => frame.emit(octets),
        }
    }
}

/// Why octets are not the frame they were taken for, or why a frame could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The octets end before the format does.
    Truncated {
        /// The part that is cut short.
        format: &'static str,
        /// Octets it takes, from its own start.
        need: usize,
        /// Octets there are.
        have: usize,
    },
    /// The buffer to write to is smaller than the frame. Nothing was written.
    NoRoom {
        /// Octets the frame takes.
        need: usize,
        /// Octets the buffer has.
        have: usize,
    },
    /// A field that names the format names another one.
    Unexpected {
        /// The field.
        field: &'static str,
        /// Its value.
        found: u16,
        /// The only value this format has there.
        want: u16,
    },
    /// A field has a value that the format does not allow.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        found: u16,
        /// The smallest value allowed.
        least: u16,
        /// The largest value allowed.
        most: u16,
    },
    /// The frame is sent to an address that its format is never sent to.
    WrongDestination {
        /// The frame's format.
        format: &'static str,
        /// Where it is sent.
        found: MacAddr,
        /// Where the format is always sent.
        want: MacAddr,
    },
    /// Where an Ethernet II frame has its EtherType stands a number below 0x0600: an 802.3 length.
    Length {
        /// The number.
        found: u16,
    },
    /// More VLAN tags than [`Tags::MOST`].
    TooManyTags,
    /// A VLAN tag or a second CN-TAG stands behind the CN-TAG, which is the innermost.
    TagAfterCnTag {
        /// The EtherType of the misplaced tag.
        found: u16,
    },
    /// A MAC control frame, which is never tagged, has a tag.
    Tagged {
        /// The frame's format.
        format: &'static str,
    },
    /// A MAC control frame that is neither PAUSE nor PFC.
    UnknownOpcode {
        /// Its opcode.
        found: u16,
    },
    /// A check does not agree with the octets it covers.
    Checksum {
        /// Which check.
        format: &'static str,
        /// Its value.
        found: u32,
        /// The value for these octets.
        want: u32,
    },
    /// A field that stands once stands twice.
    Repeated {
        /// The field.
        field: &'static str,
    },
    /// A message to write is longer than its length field can say. Nothing was written.
    TooLong {
        /// What is too long.
        format: &'static str,
        /// The longest there is.
        most: usize,
        /// How long it would be.
        have: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WireError::Truncated { format, need, have } => {
                write!(f, "{format} is cut short: {have} octets, where it takes {need}")
            }
            WireError::NoRoom { need, have } => {
                write!(f, "the buffer has {have} octets, too few for the frame's {need}")
            }
            WireError::Unexpected { field, found, want } => {
                write!(f, "{field} is {found:#06x}, where this format has {want:#06x}")
            }
            WireError::OutOfRange { field, found, least, most } => {
                write!(f, "{field} is {found}, outside {least} to {most}")
            }
            WireError::WrongDestination { format, found, want } => {
                write!(f, "{format} is sent to {found}, where the format is always sent to {want}")
            }
            WireError::Length { found } => {
                write!(f, "EtherType is {found:#06x}, an 802.3 length, where Ethernet II has at least 0x0600")
            }
            WireError::TooManyTags => {
                write!(f, "more VLAN tags than the {} that are read", Tags::MOST)
            }
            WireError::TagAfterCnTag { found } => {
                write!(f, "tag {found:#06x} stands behind the CN-TAG, which is always the innermost")
            }
            WireError::Tagged { format } => {
                write!(f, "{format} has a tag, where MAC control frames never have one")
            }
            WireError::UnknownOpcode { found } => write!(
                f,
                "MAC control opcode is {found:#06x}, neither PAUSE ({:#06x}) nor PFC ({:#06x})",
                Pause::OPCODE,
                Pfc::OPCODE
            ),
            WireError::Checksum { format, found, want } => {
                write!(f, "{format} has the check {found:#x}, where its octets make {want:#x}")
            }
            WireError::Repeated { field } => write!(f, "{field} stands twice, where it may stand once"),
            WireError::TooLong { format, most, have } => {
                write!(f, "{format} message of {have} octets, where it has room for {most}")
            }
        }
    }
}

impl core::error::Error for WireError {}

/// The `N` octets at `at` of a format's fixed part.
fn field<const N: usize, const LEN: usize>(octets: &[u8; LEN], at: usize) -> [u8; N] {
    core::array::from_fn(|index| octets[at + index])
}

/// The big-endian number at `at` of a format's fixed part.
fn word<const LEN: usize>(octets: &[u8; LEN], at: usize) -> u16 {
    u16::from_be_bytes(field(octets, at))
}

/// The priority in the top three bits of a word, where VLAN tags and congestion messages have it.
fn top_priority(word: u16) -> Priority {
    Priority::new((word >> 13) as u8).expect("three bits name one of eight")
}

#[cfg(test)]
mod tests {
    use super::arbitrary::{self, any_frame};
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec;
    use std::vec::Vec;

    const PORTS: Ports = Ports { cim: Some(arbitrary::CIM_PORT) };

    /// The octets that hexadecimal digits stand for, blanks and line ends apart.
    pub(super) fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            hex.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap() as u8).collect();
        assert!(digits.len().is_multiple_of(2), "half an octet in {hex}");
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// What a whole frame looks like on the wire, written over a buffer full of something else.
    pub(super) fn emitted(frame: AnyFrame<'_>) -> Vec<u8> {
        let mut buffer = vec![0xa5; 20_000];
        let length = frame.emit(&mut buffer).unwrap();
        assert!(buffer[length..].iter().all(|octet| *octet == 0xa5), "wrote behind the frame");
        buffer.truncate(length);
        buffer
    }

    fn mac_control(rest: &str) -> Vec<u8> {
        let mut frame = octets("0180c2000001 020000000001 8808");
        frame.extend(octets(rest));
        frame
    }

    #[test]
    fn the_ether_type_and_the_opcode_choose_the_format() {
        assert!(matches!(parse(&mac_control("0001 ffff")), Ok(AnyFrame::Pause(_))));
        assert!(matches!(
            parse(&mac_control("0101 00ff 0000 0000 0000 0000 0000 0000 0000 0000")),
            Ok(AnyFrame::Pfc(_))
        ));
        let cnm =
            octets("020000000001 020000000c01 22e7 0001 0000000000000000 0000 0000 0000 000000000000 0000");
        assert!(matches!(parse(&cnm), Ok(AnyFrame::Cnm(_))));
        assert!(matches!(parse(&octets("020000000001 020000000c01 0800 45")), Ok(AnyFrame::Data(_))));
    }

    #[test]
    fn a_mac_control_frame_of_another_opcode_is_refused() {
        assert_eq!(parse(&mac_control("0002 0000")), Err(WireError::UnknownOpcode { found: 2 }));
        assert_eq!(
            parse(&mac_control("00")),
            Err(WireError::Truncated { format: "MAC control frame", need: 2, have: 1 })
        );
    }

    #[test]
    fn a_broken_control_frame_is_an_error_and_not_data() {
        let cnm = octets("020000000001 020000000c01 22e7 0001 00");
        assert_eq!(parse(&cnm), Err(WireError::Truncated { format: "CNM", need: 24, have: 3 }));
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_would_be_right() {
        let says = |error: WireError, sentence: &str| assert_eq!(error.to_string(), sentence);
        says(
            WireError::Truncated { format: "CNM", need: 24, have: 3 },
            "CNM is cut short: 3 octets, where it takes 24",
        );
        says(
            WireError::NoRoom { need: 60, have: 59 },
            "the buffer has 59 octets, too few for the frame's 60",
        );
        says(
            WireError::Unexpected { field: "CNM version", found: 1, want: 0 },
            "CNM version is 0x0001, where this format has 0x0000",
        );
        says(
            WireError::OutOfRange { field: "CNM quantised feedback", found: 0, least: 1, most: 63 },
            "CNM quantised feedback is 0, outside 1 to 63",
        );
        says(
            WireError::WrongDestination {
                format: "PAUSE",
                found: MacAddr::BROADCAST,
                want: MacAddr::MAC_CONTROL,
            },
            "PAUSE is sent to ff:ff:ff:ff:ff:ff, where the format is always sent to 01:80:c2:00:00:01",
        );
        says(
            WireError::Length { found: 0x26 },
            "EtherType is 0x0026, an 802.3 length, where Ethernet II has at least 0x0600",
        );
        says(WireError::TooManyTags, "more VLAN tags than the 4 that are read");
        says(
            WireError::TagAfterCnTag { found: 0x8100 },
            "tag 0x8100 stands behind the CN-TAG, which is always the innermost",
        );
        says(WireError::Tagged { format: "PFC" }, "PFC has a tag, where MAC control frames never have one");
        says(
            WireError::UnknownOpcode { found: 2 },
            "MAC control opcode is 0x0002, neither PAUSE (0x0001) nor PFC (0x0101)",
        );
        says(
            WireError::Checksum { format: "IPv4 header", found: 0x25ef, want: 0x26ef },
            "IPv4 header has the check 0x25ef, where its octets make 0x26ef",
        );
        says(WireError::Repeated { field: "LLDP port" }, "LLDP port stands twice, where it may stand once");
        says(
            WireError::TooLong { format: "UDP", most: 65_507, have: 65_508 },
            "UDP message of 65508 octets, where it has room for 65507",
        );
    }

    proptest! {
        #[test]
        fn any_octets_are_a_frame_or_an_error(octets: Vec<u8>) {
            let _ = parse(&octets);
        }

        #[test]
        fn any_octets_behind_a_control_ether_type_are_a_frame_or_an_error(
            ether_type in prop::sample::select(
                vec![0x8100_u16, 0x88a8, 0x22e9, 0x22e7, 0x8808, 0x0800, 0x86dd, 0x88cc, 0x89a2],
            ),
            octets: Vec<u8>,
        ) {
            let mut frame = vec![2; 12];
            frame.extend(ether_type.to_be_bytes());
            frame.extend(octets);
            let _ = Ports { cim: Some(0) }.parse(&frame);
        }

        #[test]
        fn any_frame_survives_the_wire(frame in any_frame()) {
            let octets = emitted(frame.as_any());
            prop_assert!(octets.len() >= MIN_FRAME);
            let read = PORTS.parse(&octets);
            if let (AnyFrame::Data(sent), Ok(AnyFrame::Data(read))) = (frame.as_any(), read) {
                // Nothing tells a data frame's padding from its payload.
                prop_assert_eq!(read.header, sent.header);
                let (payload, padding) = read.payload.split_at(sent.payload.len());
                prop_assert_eq!(payload, sent.payload);
                prop_assert!(padding.iter().all(|octet| *octet == 0));
            } else {
                prop_assert_eq!(read, Ok(frame.as_any()));
            }
        }

        #[test]
        fn a_frame_cut_short_anywhere_never_panics_and_never_becomes_another_format(
            frame in any_frame(),
            keep: prop::sample::Index,
        ) {
            let octets = emitted(frame.as_any());
            let cut = &octets[..keep.index(octets.len())];
            if let Ok(read) = PORTS.parse(cut) {
                prop_assert_eq!(read.header(), frame.as_any().header());
            }
        }

        #[test]
        fn a_buffer_too_small_is_refused_and_left_alone(frame in any_frame(), room: prop::sample::Index) {
            let need = emitted(frame.as_any()).len();
            let have = room.index(need);
            let mut buffer = vec![0xa5; have];
            prop_assert_eq!(frame.as_any().emit(&mut buffer), Err(WireError::NoRoom { need, have }));
            prop_assert!(buffer.iter().all(|octet| *octet == 0xa5));
        }
    }
}
