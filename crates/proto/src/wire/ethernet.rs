//! Addresses, EtherTypes, and the header and shape of an Ethernet II frame.
//!
//! `destination(6) source(6) [VLAN tag(4)]… [CN-TAG(4)] EtherType(2) payload [zeros up to 60 octets]`

use super::vlan::{Tags, VlanKind, VlanTag};
use super::{CnTag, WireError, word};
use crate::units::Priority;
use core::fmt;

/// The shortest frame there is, without its four octets of check sequence: what is shorter is padded with zeros.
pub const MIN_FRAME: usize = 60;

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// What the payload of a frame is: a number from 0x0600 on that is not one of the tags', which are fields of the
/// [`Header`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(u16);

/// Everything in front of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whom the frame is for.
    pub destination: MacAddr,
    /// Who sent it.
    pub source: MacAddr,
    /// The VLAN tags, outermost first.
    pub tags: Tags,
    /// The CN-TAG, which stands behind all VLAN tags.
    pub cn_tag: Option<CnTag>,
    /// What the payload is.
    pub ether_type: EtherType,
}

/// What stands in front of a frame's EtherType: a [`Header`] without it, for formats that have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Whom the frame is for.
    pub destination: MacAddr,
    /// Who sent it.
    pub source: MacAddr,
    /// The VLAN tags, outermost first.
    pub tags: Tags,
    /// The CN-TAG, which stands behind all VLAN tags.
    pub cn_tag: Option<CnTag>,
}

/// A frame whose payload is left as it is: a header, and the octets behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What stands in front of the payload.
    pub header: Header,
    /// What stands behind the EtherType; of a frame that was read, with its padding.
    pub payload: &'a [u8],
}

impl MacAddr {
    /// Every station.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);
    /// The other end of the link: where PAUSE and PFC frames go, and no bridge forwards (802.3 annex 31B).
    pub const MAC_CONTROL: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

    /// The nearest bridge: where LLDP frames go by default, and no bridge forwards (802.1AB).
    pub const NEAREST_BRIDGE: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

    /// A locally administered address for the station of this number: 02:00, then the number.
    pub const fn numbered(number: u32) -> MacAddr {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddr([0x02, 0x00, a, b, c, d])
    }

    /// Whether it stands for several stations, as broadcast and multicast addresses do. No frame comes from such.
    pub const fn is_group(self) -> bool {
        self.0[0] & 0b01 != 0
    }

    /// Whether it was given out locally, not by a manufacturer.
    pub const fn is_local(self) -> bool {
        self.0[0] & 0b10 != 0
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl EtherType {
    /// Internet Protocol, version 4.
    pub const IPV4: EtherType = EtherType(0x0800);
    /// A congestion notification message (802.1Qau).
    pub const CNM: EtherType = EtherType(0x22e7);
    /// Internet Protocol, version 6.
    pub const IPV6: EtherType = EtherType(0x86dd);
    /// A congestion isolation message (802.1Qcz).
    pub const CIM: EtherType = EtherType(0x89a2);
    /// Link layer discovery (802.1AB).
    pub const LLDP: EtherType = EtherType(0x88cc);
    /// PAUSE, PFC and whatever else two ends of a link tell each other.
    pub const MAC_CONTROL: EtherType = EtherType(0x8808);
    /// Left by IEEE for experiments on local networks; a payload that means nothing.
    pub const EXPERIMENT: EtherType = EtherType(0x88b5);
    /// Below this, the field is an 802.3 length.
    const LEAST: u16 = 0x0600;

    /// The EtherType of this number; `None` for an 802.3 length (below 0x0600) and for the types of tags.
    pub const fn new(number: u16) -> Option<EtherType> {
        match number {
            0..Self::LEAST | CnTag::ETHER_TYPE | VlanKind::CUSTOMER | VlanKind::SERVICE => None,
            _ => Some(EtherType(number)),
        }
    }

    /// Its number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl Envelope {
    /// Without tags.
    pub const fn plain(destination: MacAddr, source: MacAddr) -> Envelope {
        Envelope { destination, source, tags: Tags::NONE, cn_tag: None }
    }

    /// The header of a frame with this in front of its EtherType.
    pub const fn header(&self, ether_type: EtherType) -> Header {
        let Envelope { destination, source, tags, cn_tag } = *self;
        Header { destination, source, tags, cn_tag, ether_type }
    }
}

impl Header {
    /// The longest there is: all tags present.
    pub const LONGEST: usize = 14 + Tags::MOST * VlanTag::LEN + CnTag::LEN;
    const NAME: &str = "Ethernet header";
    /// Where the first tag or the EtherType stands.
    const TYPE_AT: usize = 12;

    /// A header without tags.
    pub const fn untagged(destination: MacAddr, source: MacAddr, ether_type: EtherType) -> Header {
        Envelope::plain(destination, source).header(ether_type)
    }

    /// What stands in front of the EtherType.
    pub const fn envelope(&self) -> Envelope {
        let Header { destination, source, tags, cn_tag, .. } = *self;
        Envelope { destination, source, tags, cn_tag }
    }

    /// Checks that the frame is of the format that this EtherType names.
    pub(super) fn expect(&self, want: EtherType) -> Result<(), WireError> {
        if self.ether_type == want {
            return Ok(());
        }
        Err(WireError::Unexpected { field: "EtherType", found: self.ether_type.get(), want: want.get() })
    }

    /// Reads the header at the start of a frame.
    pub fn parse(octets: &[u8]) -> Result<Header, WireError> {
        let mut tags = Tags::NONE;
        let mut cn_tag = None;
        let mut at = Self::TYPE_AT;
        let ether_type = loop {
            let found = Self::word_at(octets, at)?;
            if let Some(ether_type) = EtherType::new(found) {
                break ether_type;
            }
            if found < EtherType::LEAST {
                return Err(WireError::Length { found });
            }
            if cn_tag.is_some() {
                return Err(WireError::TagAfterCnTag { found });
            }
            let control = Self::word_at(octets, at + 2)?;
            match VlanKind::from_ether_type(found) {
                Some(kind) => tags.push(VlanTag::from_control(kind, control))?,
                None => cn_tag = Some(CnTag { flow: control }),
            }
            at += 4;
        };
        let addresses: &[u8; 12] = octets.first_chunk().ok_or(Self::truncated(Self::TYPE_AT, octets))?;
        Ok(Header {
            destination: MacAddr(super::field(addresses, 0)),
            source: MacAddr(super::field(addresses, 6)),
            tags,
            cn_tag,
            ether_type,
        })
    }

    fn word_at(octets: &[u8], at: usize) -> Result<u16, WireError> {
        let rest = octets.get(at..).and_then(|rest| rest.first_chunk());
        rest.map(|pair| u16::from_be_bytes(*pair)).ok_or(Self::truncated(at + 2, octets))
    }

    fn truncated(need: usize, octets: &[u8]) -> WireError {
        WireError::Truncated { format: Self::NAME, need, have: octets.len() }
    }

    /// How many octets the header takes, which is where the payload starts.
    pub const fn payload_at(&self) -> usize {
        let cn_tag = if self.cn_tag.is_some() { CnTag::LEN } else { 0 };
        Self::TYPE_AT + self.tags.count() * VlanTag::LEN + cn_tag + 2
    }

    /// The priority the frame travels at: the outermost tag's, and 0 without one.
    pub fn priority(&self) -> Priority {
        self.tags.as_slice().first().map_or(Priority::default(), |tag| tag.priority)
    }

    /// Writes the header and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (need, have) = (self.payload_at(), octets.len());
        let octets = octets.get_mut(..need).ok_or(WireError::NoRoom { need, have })?;
        let (addresses, mut rest) = octets.split_at_mut(Self::TYPE_AT);
        addresses[..6].copy_from_slice(&self.destination.0);
        addresses[6..].copy_from_slice(&self.source.0);
        let tags = self.tags.as_slice().iter().map(VlanTag::emit);
        for tag in tags.chain(self.cn_tag.as_ref().map(CnTag::emit)) {
            let (slot, after) = rest.split_at_mut(tag.len());
            slot.copy_from_slice(&tag);
            rest = after;
        }
        rest.copy_from_slice(&self.ether_type.get().to_be_bytes());
        Ok(need)
    }

    /// Begins a frame with this header and `size` octets of payload: writes the header and any padding, and
    /// gives back the length of the frame and the place of the payload. Writes nothing where there is no room.
    pub(super) fn begin<'a>(
        &self,
        octets: &'a mut [u8],
        size: usize,
    ) -> Result<(usize, &'a mut [u8]), WireError> {
        let at = self.payload_at();
        let (need, have) = ((at + size).max(MIN_FRAME), octets.len());
        let octets = octets.get_mut(..need).ok_or(WireError::NoRoom { need, have })?;
        self.emit(octets)?;
        let (payload, padding) = octets[at..].split_at_mut(size);
        padding.fill(0);
        Ok((need, payload))
    }

    /// Checks what all MAC control frames have in common: where they go, and that they have no tag.
    pub(super) fn expect_mac_control(&self, format: &'static str) -> Result<(), WireError> {
        self.expect(EtherType::MAC_CONTROL)?;
        if self.tags.count() > 0 || self.cn_tag.is_some() {
            return Err(WireError::Tagged { format });
        }
        if self.destination != MacAddr::MAC_CONTROL {
            let (found, want) = (self.destination, MacAddr::MAC_CONTROL);
            return Err(WireError::WrongDestination { format, found, want });
        }
        Ok(())
    }
}

/// The opcode of a MAC control frame, at the start of its payload.
pub(super) fn opcode(payload: &[u8]) -> Result<u16, WireError> {
    let truncated = WireError::Truncated { format: "MAC control frame", need: 2, have: payload.len() };
    payload.first_chunk::<2>().map(|octets| word(octets, 0)).ok_or(truncated)
}

impl<'a> Frame<'a> {
    /// Reads the header of a frame and takes the rest as its payload, whatever its EtherType.
    pub fn parse(octets: &'a [u8]) -> Result<Frame<'a>, WireError> {
        let header = Header::parse(octets)?;
        let payload = octets.get(header.payload_at()..).unwrap_or_default();
        Ok(Frame { header, payload })
    }

    /// Writes the frame, padded to [`MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, payload) = self.header.begin(octets, self.payload.len())?;
        payload.copy_from_slice(self.payload);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::any_header;
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, VlanId};
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn an_address_prints_as_people_write_it() {
        assert_eq!(MacAddr::MAC_CONTROL.to_string(), "01:80:c2:00:00:01");
        assert_eq!(MacAddr::numbered(0x0102_0304).to_string(), "02:00:01:02:03:04");
    }

    #[test]
    fn addresses_know_who_gave_them_out_and_for_how_many() {
        assert!(MacAddr::BROADCAST.is_group() && MacAddr::MAC_CONTROL.is_group());
        assert!(!MacAddr::MAC_CONTROL.is_local());
        assert!(MacAddr::numbered(7).is_local() && !MacAddr::numbered(7).is_group());
    }

    #[test]
    fn lengths_and_tags_are_no_ether_types() {
        for number in [0, 0x05ff, 0x8100, 0x88a8, 0x22e9] {
            assert_eq!(EtherType::new(number), None, "{number:#06x}");
        }
        assert_eq!(EtherType::new(0x0600).map(EtherType::get), Some(0x0600));
        assert_eq!(EtherType::new(0x22e7), Some(EtherType::CNM));
        assert_eq!(EtherType::IPV4.to_string(), "0x0800");
    }

    #[test]
    fn a_header_with_every_kind_of_tag_reads_as_it_stands() {
        let frame = octets("020000000002 020000000001 88a8 a00a 8100 7064 22e9 0007 0800 4500");
        let read = Frame::parse(&frame).unwrap();
        let service = VlanTag {
            kind: VlanKind::Service,
            priority: Priority::new(5).unwrap(),
            drop_eligible: false,
            id: VlanId::new(10).unwrap(),
        };
        let customer = VlanTag {
            kind: VlanKind::Customer,
            priority: Priority::new(3).unwrap(),
            drop_eligible: true,
            id: VlanId::new(100).unwrap(),
        };
        assert_eq!(read.header.destination, MacAddr::numbered(2));
        assert_eq!(read.header.source, MacAddr::numbered(1));
        assert_eq!(read.header.tags.as_slice(), [service, customer]);
        assert_eq!(read.header.cn_tag, Some(CnTag { flow: 7 }));
        assert_eq!(read.header.ether_type, EtherType::IPV4);
        assert_eq!(read.header.payload_at(), 26);
        assert_eq!(read.header.priority(), service.priority);
        assert_eq!(read.payload, [0x45, 0x00]);
        assert_eq!(emitted(AnyFrame::Data(read))[..28], frame);
    }

    #[test]
    fn a_short_frame_is_padded_with_zeros_to_60_octets() {
        let header = Header::untagged(MacAddr::numbered(2), MacAddr::numbered(1), EtherType::IPV4);
        let frame = emitted(AnyFrame::Data(Frame { header, payload: &[0xff; 45] }));
        assert_eq!((frame.len(), frame[58], frame[59]), (60, 0xff, 0));
        assert_eq!(emitted(AnyFrame::Data(Frame { header, payload: &[0xff; 46] })).len(), 60);
        assert_eq!(emitted(AnyFrame::Data(Frame { header, payload: &[0xff; 47] })).len(), 61);
    }

    #[test]
    fn a_header_cut_short_says_how_much_it_needs() {
        let truncated = |need, have| Err(WireError::Truncated { format: "Ethernet header", need, have });
        let tagged = octets("020000000002 020000000001 8100 7064 22e9 0007 0800");
        assert_eq!(Header::parse(&[]), truncated(14, 0));
        assert_eq!(Header::parse(&tagged[..13]), truncated(14, 13));
        assert_eq!(Header::parse(&tagged[..15]), truncated(16, 15));
        assert_eq!(Header::parse(&tagged[..17]), truncated(18, 17));
        assert_eq!(Header::parse(&tagged[..21]), truncated(22, 21));
        assert!(Header::parse(&tagged).is_ok());
    }

    #[test]
    fn a_length_in_place_of_the_ether_type_is_refused() {
        let frame = octets("0180c2000000 020000000001 0026 4242 03");
        assert_eq!(Header::parse(&frame), Err(WireError::Length { found: 0x26 }));
    }

    #[test]
    fn nothing_but_the_ether_type_follows_the_cn_tag() {
        let vlan = octets("020000000002 020000000001 22e9 0007 8100 7064 0800");
        assert_eq!(Header::parse(&vlan), Err(WireError::TagAfterCnTag { found: 0x8100 }));
        let second = octets("020000000002 020000000001 22e9 0007 22e9 0008 0800");
        assert_eq!(Header::parse(&second), Err(WireError::TagAfterCnTag { found: 0x22e9 }));
    }

    #[test]
    fn a_fifth_vlan_tag_is_refused() {
        let mut frame = octets("020000000002 020000000001");
        for _ in 0..5 {
            frame.extend(octets("8100 0001"));
        }
        frame.extend(octets("0800"));
        assert_eq!(Header::parse(&frame), Err(WireError::TooManyTags));
    }

    #[test]
    fn the_longest_header_is_as_long_as_its_constant_says() {
        let mut header = Header::untagged(MacAddr::numbered(2), MacAddr::numbered(1), EtherType::IPV4);
        for _ in 0..Tags::MOST {
            header.tags.push(VlanTag::default()).unwrap();
        }
        header.cn_tag = Some(CnTag { flow: 1 });
        assert_eq!(header.payload_at(), Header::LONGEST);
    }

    proptest! {
        #[test]
        fn any_header_survives_the_wire(header in any_header(), after: Vec<u8>) {
            let mut octets = [0xa5; Header::LONGEST];
            let length = header.emit(&mut octets).unwrap();
            prop_assert_eq!(length, header.payload_at());
            let mut octets = octets[..length].to_vec();
            octets.extend(after);
            prop_assert_eq!(Header::parse(&octets), Ok(header));
        }

        #[test]
        fn any_octets_are_a_header_or_an_error(octets: Vec<u8>) {
            if let Ok(header) = Header::parse(&octets) {
                let mut again = [0; Header::LONGEST];
                let length = header.emit(&mut again).unwrap();
                prop_assert_eq!(&again[..length], &octets[..length]);
            }
        }
    }
}
