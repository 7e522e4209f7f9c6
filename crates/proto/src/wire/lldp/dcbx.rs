//! The TLVs of data-centre bridging: bandwidth (ETS), losslessness (PFC), and who uses which priority.

use super::super::{WireError, field};
use super::congestion::first;
use crate::units::{Priority, PrioritySet};
use core::fmt;

/// How a port shares its bandwidth, and whether it would take its peer's word instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtsConfiguration {
    /// Whether it would.
    pub willing: bool,
    /// Whether it has credit-based shapers (CBS).
    pub has_shapers: bool,
    /// How many traffic classes it can have.
    pub most_classes: MostClasses,
    /// How it shares.
    pub ets: Ets,
}

/// A way to share bandwidth among traffic classes (802.1Qaz).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ets {
    /// The class of each priority.
    pub classes: [Priority; Priority::COUNT],
    /// The share of each class, in percent; those of the classes that share add up to 100.
    pub shares: [u8; Priority::COUNT],
    /// How each class takes its turn.
    pub selection: [TransmissionSelection; Priority::COUNT],
}

/// Which priorities of a port are lossless, and whether it would take its peer's word instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcConfiguration {
    /// Whether it would.
    pub willing: bool,
    /// Whether it can *not* send PFC past MACsec (the MBC bit says what it cannot).
    pub bound_to_macsec: bool,
    /// How many classes can be lossless at a time.
    pub capability: PfcCapability,
    /// Those that are.
    pub enabled: PrioritySet,
}

/// Which applications use which priority: up to 168 lines. Equal if they say the same.
#[derive(Clone, Copy, Debug)]
pub struct Applications<'a> {
    /// Three octets a line.
    lines: &'a [u8],
}

/// One line: this application uses this priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Application {
    /// The priority.
    pub priority: Priority,
    /// What the number stands for.
    pub selector: Selector,
    /// The application's number: an EtherType, a port or a code point.
    pub protocol: u16,
}

/// How a traffic class takes its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransmissionSelection(pub u8);

/// What an application's number stands for: three bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector(u8);

/// How many traffic classes a port can have: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MostClasses(u8);

/// How many traffic classes can be lossless at a time: four bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PfcCapability(u8);

const WILLING: u8 = 0x80;

impl EtsConfiguration {
    const HAS_SHAPERS: u8 = 0x40;

    pub(super) fn parse(octets: &[u8]) -> Result<EtsConfiguration, WireError> {
        let octets: &[u8; Ets::LEN] = first(octets, "ETS Configuration TLV")?;
        Ok(EtsConfiguration {
            willing: octets[0] & WILLING != 0,
            has_shapers: octets[0] & Self::HAS_SHAPERS != 0,
            most_classes: MostClasses::from_code(octets[0]),
            ets: Ets::parse(octets)?,
        })
    }

    pub(super) fn emit(&self) -> [u8; Ets::LEN] {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let shapers = flag(self.has_shapers, Self::HAS_SHAPERS);
        self.ets.emit(flag(self.willing, WILLING) | shapers | self.most_classes.code())
    }
}

impl Ets {
    pub(super) const LEN: usize = 21;

    pub(super) fn parse_recommendation(octets: &[u8]) -> Result<Ets, WireError> {
        Self::parse(first(octets, "ETS Recommendation TLV")?)
    }

    fn parse(octets: &[u8; Self::LEN]) -> Result<Ets, WireError> {
        let mut classes = [Priority::default(); Priority::COUNT];
        for (priority, class) in classes.iter_mut().enumerate() {
            let pair = octets[1 + priority / 2];
            let found = if priority % 2 == 0 { pair >> 4 } else { pair & 0x0f };
            *class = Priority::new(found).ok_or(WireError::OutOfRange {
                field: "ETS traffic class",
                found: u16::from(found),
                least: 0,
                most: 7,
            })?;
        }
        let selection = field::<8, _>(octets, 13).map(TransmissionSelection);
        Ok(Ets { classes, shares: field(octets, 5), selection })
    }

    /// With the first octet given, which only a configuration has something to say in.
    pub(super) fn emit(&self, head: u8) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        octets[0] = head;
        for (pair, slot) in self.classes.chunks(2).zip(&mut octets[1..5]) {
            *slot = pair[0].get() << 4 | pair[1].get();
        }
        octets[5..13].copy_from_slice(&self.shares);
        octets[13..].copy_from_slice(&self.selection.map(|it| it.0));
        octets
    }

    /// Whether the shares of the classes that share add up to 100 percent, as they must where there is one.
    pub fn adds_up(&self) -> bool {
        let shared = self.shares.iter().zip(&self.selection);
        let mut shared = shared.filter(|(_, how)| **how == TransmissionSelection::SHARED).peekable();
        shared.peek().is_none() || shared.map(|(share, _)| u16::from(*share)).sum::<u16>() == 100
    }
}

impl PfcConfiguration {
    pub(super) const LEN: usize = 2;
    const BOUND_TO_MACSEC: u8 = 0x40;

    pub(super) fn parse(octets: &[u8]) -> Result<PfcConfiguration, WireError> {
        let octets: &[u8; Self::LEN] = first(octets, "PFC Configuration TLV")?;
        Ok(PfcConfiguration {
            willing: octets[0] & WILLING != 0,
            bound_to_macsec: octets[0] & Self::BOUND_TO_MACSEC != 0,
            capability: PfcCapability(octets[0] & 0x0f),
            enabled: PrioritySet(octets[1]),
        })
    }

    pub(super) fn emit(&self) -> [u8; Self::LEN] {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let flags = flag(self.willing, WILLING) | flag(self.bound_to_macsec, Self::BOUND_TO_MACSEC);
        [flags | self.capability.0, self.enabled.0]
    }
}

impl<'a> Applications<'a> {
    const LINE: usize = 3;
    /// As many lines as a TLV has room for behind its prefix and one reserved octet.
    pub const MOST: usize = (511 - 4 - 1) / Self::LINE;

    /// Writes lines into a buffer that outlives the frame; `None` where there is no room for them in a TLV or there.
    pub fn write(list: &[Application], buffer: &'a mut [u8]) -> Option<Applications<'a>> {
        let lines = buffer.get_mut(..list.len() * Self::LINE).filter(|_| list.len() <= Self::MOST)?;
        for (line, application) in lines.chunks_exact_mut(Self::LINE).zip(list) {
            line.copy_from_slice(&application.emit());
        }
        Some(Applications { lines })
    }

    /// An octet left over at the end says nothing.
    pub(in crate::wire) fn parse(octets: &'a [u8]) -> Result<Applications<'a>, WireError> {
        let truncated = WireError::Truncated { format: "Application Priority TLV", need: 1, have: 0 };
        let (_, lines) = octets.split_first().ok_or(truncated)?;
        Ok(Applications { lines: &lines[..lines.len() / Self::LINE * Self::LINE] })
    }

    pub(super) fn emitted_len(&self) -> usize {
        1 + self.lines.len()
    }

    pub(super) fn emit(&self, octets: &mut [u8]) {
        let (reserved, lines) = octets.split_at_mut(1);
        reserved[0] = 0;
        for (line, application) in lines.chunks_exact_mut(Self::LINE).zip(self.iter()) {
            line.copy_from_slice(&application.emit());
        }
    }

    /// The lines, in their order.
    pub fn iter(&self) -> ApplicationsIter<'a> {
        ApplicationsIter { lines: self.lines.chunks_exact(Self::LINE) }
    }
}

/// The lines of an application priority TLV.
#[derive(Clone, Debug)]
pub struct ApplicationsIter<'a> {
    lines: core::slice::ChunksExact<'a, u8>,
}

impl Iterator for ApplicationsIter<'_> {
    type Item = Application;

    fn next(&mut self) -> Option<Application> {
        self.lines.next().and_then(|line| line.first_chunk()).map(Application::parse)
    }
}

impl<'a> IntoIterator for &Applications<'a> {
    type Item = Application;
    type IntoIter = ApplicationsIter<'a>;

    fn into_iter(self) -> ApplicationsIter<'a> {
        self.iter()
    }
}

impl PartialEq for Applications<'_> {
    fn eq(&self, other: &Applications<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Applications<'_> {}

impl Application {
    fn parse(line: &[u8; Applications::LINE]) -> Application {
        Application {
            priority: Priority::new(line[0] >> 5).expect("three bits name one of eight"),
            selector: Selector(line[0] & 0b111),
            protocol: u16::from_be_bytes([line[1], line[2]]),
        }
    }

    fn emit(&self) -> [u8; Applications::LINE] {
        let [b, c] = self.protocol.to_be_bytes();
        [self.priority.get() << 5 | self.selector.0, b, c]
    }
}

impl TransmissionSelection {
    /// Before all lower classes (0).
    pub const STRICT: TransmissionSelection = TransmissionSelection(0);
    /// As a credit-based shaper allows (1).
    pub const SHAPED: TransmissionSelection = TransmissionSelection(1);
    /// By its share of the bandwidth (2, ETS).
    pub const SHARED: TransmissionSelection = TransmissionSelection(2);
    /// As the vendor likes (255).
    pub const VENDOR: TransmissionSelection = TransmissionSelection(255);
}

impl fmt::Display for TransmissionSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::STRICT => f.write_str("strict"),
            Self::SHAPED => f.write_str("shaped"),
            Self::SHARED => f.write_str("ets"),
            Self::VENDOR => f.write_str("vendor"),
            Self(other) => write!(f, "{other}"),
        }
    }
}

impl Selector {
    /// The number is an EtherType; with 0, it is what everything else uses.
    pub const ETHER_TYPE: Selector = Selector(1);
    /// The number is a port of TCP or SCTP.
    pub const TCP: Selector = Selector(2);
    /// The number is a port of UDP or DCCP.
    pub const UDP: Selector = Selector(3);
    /// The number is a port of any of these.
    pub const PORT: Selector = Selector(4);
    /// The number is a differentiated services code point.
    pub const DSCP: Selector = Selector(5);

    /// A selector, if it has three bits.
    pub const fn new(number: u8) -> Option<Selector> {
        if number < 8 { Some(Selector(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ETHER_TYPE => f.write_str("EtherType"),
            Self::TCP => f.write_str("TCP port"),
            Self::UDP => f.write_str("UDP port"),
            Self::PORT => f.write_str("port"),
            Self::DSCP => f.write_str("DSCP"),
            Self(other) => write!(f, "selector {other}"),
        }
    }
}

impl MostClasses {
    /// A number of classes, 1 to 8.
    pub const fn new(classes: u8) -> Option<MostClasses> {
        match classes {
            1..=8 => Some(MostClasses(classes)),
            _ => None,
        }
    }

    /// How many.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Three bits, where 8 is written as 0.
    const fn from_code(code: u8) -> MostClasses {
        match code & 0b111 {
            0 => MostClasses(8),
            classes => MostClasses(classes),
        }
    }

    const fn code(self) -> u8 {
        self.0 & 0b111
    }
}

impl PfcCapability {
    /// A number of classes, if it has four bits.
    pub const fn new(classes: u8) -> Option<PfcCapability> {
        if classes < 16 { Some(PfcCapability(classes)) } else { None }
    }

    /// How many.
    pub const fn get(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::octets;
    use super::super::tests::pdu;
    use super::super::{Lldp, Tlv, Tlvs};
    use super::*;
    use std::vec::Vec;

    /// That these octets are this TLV, both ways.
    fn golden(text: &str, meant: Tlv<'_>) {
        let pdu = pdu(text);
        let read: Vec<Tlv<'_>> = Lldp::parse(&pdu).unwrap().tlvs.iter().collect();
        assert_eq!(read, [meant]);
        let mut buffer = [0xa5; 64];
        let octets = octets(text);
        Tlvs::write(&[meant], &mut buffer).unwrap();
        assert_eq!(buffer[..octets.len()], octets);
    }

    fn ets() -> Ets {
        let shared = TransmissionSelection::SHARED;
        let strict = TransmissionSelection::STRICT;
        Ets {
            classes: core::array::from_fn(|class| Priority::new(class as u8).unwrap()),
            shares: [10, 10, 10, 20, 20, 10, 10, 10],
            selection: [
                shared,
                shared,
                shared,
                shared,
                shared,
                strict,
                strict,
                TransmissionSelection::VENDOR,
            ],
        }
    }

    #[test]
    fn eight_willing_classes_are_these_octets() {
        let configuration = EtsConfiguration {
            willing: true,
            has_shapers: true,
            most_classes: MostClasses::new(8).unwrap(),
            ets: ets(),
        };
        let text = "fe190080c209 c0 01234567 0a0a0a14140a0a0a 02020202020000ff";
        golden(text, Tlv::EtsConfiguration(configuration));
        let text = "fe190080c20a 00 01234567 0a0a0a14140a0a0a 02020202020000ff";
        golden(text, Tlv::EtsRecommendation(ets()));
    }

    #[test]
    fn shares_add_up_among_the_classes_that_share() {
        assert!(!ets().adds_up(), "70 percent");
        assert!(Ets { shares: [20, 20, 20, 20, 20, 0, 0, 0], ..ets() }.adds_up());
        let strict = [TransmissionSelection::STRICT; 8];
        assert!(Ets { selection: strict, ..ets() }.adds_up(), "nothing is shared");
    }

    #[test]
    fn a_ninth_class_is_refused() {
        let pdu = pdu("fe190080c209 c0 81234567 0a0a0a14140a0a0a 02020202020000ff");
        let tlv = Lldp::parse(&pdu).unwrap().tlvs.iter().next();
        let Some(Tlv::Other(other)) = tlv else { panic!("{tlv:?}") };
        let fault = WireError::OutOfRange { field: "ETS traffic class", found: 8, least: 0, most: 7 };
        assert_eq!(other.fault(), Some(fault));
    }

    #[test]
    fn lossless_3_and_4_are_these_octets() {
        let pfc = PfcConfiguration {
            willing: true,
            bound_to_macsec: false,
            capability: PfcCapability::new(8).unwrap(),
            enabled: PrioritySet(0x18),
        };
        golden("fe060080c20b 88 18", Tlv::Pfc(pfc));
    }

    #[test]
    fn fcoe_on_3_and_roce_on_4_are_these_octets() {
        let line = |priority, selector, protocol| Application {
            priority: Priority::new(priority).unwrap(),
            selector,
            protocol,
        };
        let list = [line(3, Selector::ETHER_TYPE, 0x8906), line(4, Selector::UDP, 4791)];
        let mut buffer = [0; 6];
        let applications = Applications::write(&list, &mut buffer).unwrap();
        golden("fe0b0080c20c 00 61 8906 83 12b7", Tlv::Applications(applications));
        assert_eq!(applications.iter().collect::<Vec<_>>(), list);
    }

    #[test]
    fn a_tlv_holds_168_applications() {
        let line = Application { priority: Priority::default(), selector: Selector::DSCP, protocol: 1 };
        let mut buffer = [0; 600];
        assert!(Applications::write(&[line; 168], &mut buffer).is_some());
        assert!(Applications::write(&[line; 169], &mut buffer).is_none());
        assert!(Applications::write(&[line; 2], &mut [0; 5]).is_none());
    }

    #[test]
    fn numbers_have_their_bits() {
        assert_eq!((MostClasses::new(0), MostClasses::new(9)), (None, None));
        assert_eq!((Selector::new(7).map(Selector::get), Selector::new(8)), (Some(7), None));
        assert_eq!(
            (PfcCapability::new(15).map(PfcCapability::get), PfcCapability::new(16)),
            (Some(15), None)
        );
    }
}
