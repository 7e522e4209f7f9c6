//! One TLV: which kinds have a value of their own, and what becomes of the others.

use super::super::WireError;
use super::{
    Applications, CongestionIsolation, CongestionNotification, END, Ets, EtsConfiguration, Inactivity,
    LIFETIME, PfcConfiguration,
};

/// A TLV behind the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tlv<'a> {
    /// Which priorities are congestion controlled (802.1, subtype 8).
    CongestionNotification(CongestionNotification),
    /// How bandwidth is shared (subtype 9).
    EtsConfiguration(EtsConfiguration),
    /// How the peer should share it (subtype 10).
    EtsRecommendation(Ets),
    /// Which priorities are lossless (subtype 11).
    Pfc(PfcConfiguration),
    /// Which applications use which priority (subtype 12).
    Applications(Applications<'a>),
    /// Which queues take congesting flows, and where to tell (subtype 19).
    CongestionIsolation(CongestionIsolation),
    /// How long a congesting flow must be silent to be none any more (02-51-4C, subtype 1).
    Inactivity(Inactivity),
    /// Any other, and any of the above that breaks its own rules.
    Other(OtherTlv<'a>),
}

/// A TLV that is left as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherTlv<'a> {
    raw: RawTlv<'a>,
    fault: Option<WireError>,
}

/// Type and information of a TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawTlv<'a> {
    pub(super) kind: u8,
    pub(super) octets: &'a [u8],
}

/// The type of TLVs whose meaning an organisation has defined.
const ORGANISATION: u8 = 127;
/// 802.1's number among organisations.
const OUI_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
/// A number that nobody was given: locally administered, as addresses of that form are.
const OUI_OWN: [u8; 3] = [0x02, 0x51, 0x4c];
/// The organisation, and its own number for the TLV.
const PREFIX: usize = 4;

impl<'a> Tlv<'a> {
    const CN: u8 = 8;
    const ETS_CONFIGURATION: u8 = 9;
    const ETS_RECOMMENDATION: u8 = 10;
    const PFC: u8 = 11;
    const APPLICATIONS: u8 = 12;
    const CI: u8 = 19;
    const INACTIVITY: u8 = 1;

    /// What a TLV says. One that breaks its rules does not spoil its frame: it says nothing, and why.
    pub(super) fn read(raw: RawTlv<'a>) -> Tlv<'a> {
        Self::known(raw).unwrap_or_else(|fault| Tlv::Other(OtherTlv { raw, fault: Some(fault) }))
    }

    fn known(raw: RawTlv<'a>) -> Result<Tlv<'a>, WireError> {
        let other = Tlv::Other(OtherTlv { raw, fault: None });
        if let Some((Self::INACTIVITY, value)) = raw.of(OUI_OWN) {
            return Inactivity::parse(value).map(Tlv::Inactivity);
        }
        let Some((subtype, value)) = raw.of(OUI_802_1) else { return Ok(other) };
        Ok(match subtype {
            Self::CN => Tlv::CongestionNotification(CongestionNotification::parse(value)?),
            Self::ETS_CONFIGURATION => Tlv::EtsConfiguration(EtsConfiguration::parse(value)?),
            Self::ETS_RECOMMENDATION => Tlv::EtsRecommendation(Ets::parse_recommendation(value)?),
            Self::PFC => Tlv::Pfc(PfcConfiguration::parse(value)?),
            Self::APPLICATIONS => Tlv::Applications(Applications::parse(value)?),
            Self::CI => Tlv::CongestionIsolation(CongestionIsolation::parse(value)?),
            _ => other,
        })
    }

    /// How many octets it takes, its type and length included.
    pub fn emitted_len(&self) -> usize {
        let value = match self {
            Tlv::CongestionNotification(_) => CongestionNotification::LEN,
            Tlv::EtsConfiguration(_) | Tlv::EtsRecommendation(_) => Ets::LEN,
            Tlv::Pfc(_) => PfcConfiguration::LEN,
            Tlv::Applications(tlv) => tlv.emitted_len(),
            Tlv::CongestionIsolation(tlv) => tlv.emitted_len(),
            Tlv::Inactivity(_) => Inactivity::LEN,
            Tlv::Other(tlv) => return RawTlv::HEAD + tlv.raw.octets.len(),
        };
        RawTlv::HEAD + PREFIX + value
    }

    /// Writes it to the start of the octets, which have room, and gives back those behind it.
    pub(super) fn emit<'b>(&self, octets: &'b mut [u8]) -> &'b mut [u8] {
        let length = self.emitted_len() - RawTlv::HEAD;
        let of = |organisation: [u8; 3], subtype: u8, octets: &'b mut [u8]| {
            let (information, rest) = RawTlv::begin(ORGANISATION, length, octets);
            let (prefix, value) = information.split_at_mut(PREFIX);
            prefix[..3].copy_from_slice(&organisation);
            prefix[3] = subtype;
            (value, rest)
        };
        let of_802_1 = |subtype: u8, octets: &'b mut [u8]| of(OUI_802_1, subtype, octets);
        match self {
            Tlv::CongestionNotification(tlv) => {
                let (value, rest) = of_802_1(Self::CN, octets);
                value.copy_from_slice(&tlv.emit());
                rest
            }
            Tlv::EtsConfiguration(tlv) => {
                let (value, rest) = of_802_1(Self::ETS_CONFIGURATION, octets);
                value.copy_from_slice(&tlv.emit());
                rest
            }
            Tlv::EtsRecommendation(tlv) => {
                let (value, rest) = of_802_1(Self::ETS_RECOMMENDATION, octets);
                value.copy_from_slice(&tlv.emit(0));
                rest
            }
            Tlv::Pfc(tlv) => {
                let (value, rest) = of_802_1(Self::PFC, octets);
                value.copy_from_slice(&tlv.emit());
                rest
            }
            Tlv::Applications(tlv) => {
                let (value, rest) = of_802_1(Self::APPLICATIONS, octets);
                tlv.emit(value);
                rest
            }
            Tlv::CongestionIsolation(tlv) => {
                let (value, rest) = of_802_1(Self::CI, octets);
                tlv.emit(value);
                rest
            }
            Tlv::Inactivity(tlv) => {
                let (value, rest) = of(OUI_OWN, Self::INACTIVITY, octets);
                value.copy_from_slice(&tlv.emit());
                rest
            }
            Tlv::Other(OtherTlv { raw, .. }) => {
                let (information, rest) = RawTlv::begin(raw.kind, raw.octets.len(), octets);
                information.copy_from_slice(raw.octets);
                rest
            }
        }
    }
}

impl<'a> OtherTlv<'a> {
    /// A TLV of any type but the first three and the end, with up to 511 octets, that is not one this library has a
    /// value for.
    pub fn new(kind: u8, octets: &'a [u8]) -> Option<OtherTlv<'a>> {
        let is_free = (LIFETIME + 1..=ORGANISATION).contains(&kind) && octets.len() <= RawTlv::MOST;
        match Tlv::read(RawTlv { kind, octets }) {
            Tlv::Other(tlv) if is_free && tlv.fault.is_none() => Some(tlv),
            _ => None,
        }
    }

    /// Its type.
    pub const fn kind(&self) -> u8 {
        self.raw.kind
    }

    /// Its information.
    pub const fn octets(&self) -> &'a [u8] {
        self.raw.octets
    }

    /// Why it is not the TLV that it claims to be, if it claims to be one of those above.
    pub const fn fault(&self) -> Option<WireError> {
        self.fault
    }

    /// The organisation that defined it, and its number there; `None` for the types that 802.1AB itself defines.
    pub fn organisation(&self) -> Option<([u8; 3], u8)> {
        let [a, b, c, subtype, ..] = *self.raw.octets else { return None };
        (self.raw.kind == ORGANISATION).then_some(([a, b, c], subtype))
    }
}

impl<'a> RawTlv<'a> {
    /// Type and length.
    pub(super) const HEAD: usize = 2;
    /// The longest information.
    pub(super) const MOST: usize = 511;

    /// The first TLV of these octets, and the octets behind it.
    pub(super) fn split(octets: &'a [u8]) -> Result<(RawTlv<'a>, &'a [u8]), WireError> {
        let truncated = |need| WireError::Truncated { format: "LLDP TLV", need, have: octets.len() };
        let (head, rest) = octets.split_first_chunk::<2>().ok_or(truncated(Self::HEAD))?;
        let head = u16::from_be_bytes(*head);
        let (kind, length) = ((head >> 9) as u8, usize::from(head) & Self::MOST);
        let (octets, rest) = rest.split_at_checked(length).ok_or(truncated(Self::HEAD + length))?;
        // An end has no information; one that claims some is still an end.
        Ok((RawTlv { kind, octets: if kind == END { &[] } else { octets } }, rest))
    }

    /// Writes type and length to the start of the octets, and gives back the place of the information and the rest.
    pub(super) fn begin(kind: u8, length: usize, octets: &mut [u8]) -> (&mut [u8], &mut [u8]) {
        let (head, rest) = octets.split_at_mut(Self::HEAD);
        head.copy_from_slice(&(u16::from(kind) << 9 | length as u16).to_be_bytes());
        rest.split_at_mut(length)
    }

    /// Subtype and value of a TLV that this organisation has defined.
    fn of(&self, organisation: [u8; 3]) -> Option<(u8, &'a [u8])> {
        let (prefix, value) = self.octets.split_first_chunk::<PREFIX>()?;
        (self.kind == ORGANISATION && prefix[..3] == organisation).then_some((prefix[3], value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::arbitrary::any_tlv;
    use super::super::super::tests::octets;
    use super::super::tests::pdu;
    use super::super::{Lldp, Tlvs};
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn tlvs(text: &str) -> Vec<(Vec<u8>, Option<WireError>)> {
        let pdu = pdu(text);
        let lldp = Lldp::parse(&pdu).unwrap();
        let others = lldp.tlvs.iter().filter_map(|tlv| match tlv {
            Tlv::Other(tlv) => Some((tlv.octets().to_vec(), tlv.fault())),
            _ => None,
        });
        others.collect()
    }

    #[test]
    fn a_foreign_tlv_is_left_as_it_stands() {
        assert_eq!(tlvs("0a03 737731"), [(octets("737731"), None)]);
        assert_eq!(tlvs("fe05 00120f0101"), [(octets("00120f0101"), None)]);
    }

    #[test]
    fn a_broken_tlv_says_why_and_does_not_spoil_its_frame() {
        let fault = WireError::Truncated { format: "Congestion Notification TLV", need: 2, have: 1 };
        assert_eq!(tlvs("fe05 0080c20808"), [(octets("0080c20808"), Some(fault))]);
        let pdu = pdu("fe05 0080c20808 fe06 0080c2080808");
        let lldp = Lldp::parse(&pdu).unwrap();
        assert_eq!(lldp.tlvs.iter().count(), 2);
        assert!(lldp.tlvs.congestion_notification().is_some(), "the whole one counts");
    }

    #[test]
    fn other_tlvs_are_of_other_kinds() {
        assert!(OtherTlv::new(5, b"switch 1").is_some());
        for kind in [0, 1, 2, 3, 128] {
            assert_eq!(OtherTlv::new(kind, b"x"), None, "{kind}");
        }
        assert_eq!(OtherTlv::new(5, &[0; 512]), None);
        assert_eq!(OtherTlv::new(127, &octets("0080c2080808")), None, "that is congestion notification");
        let bridge = octets("0080c20300");
        let other = OtherTlv::new(127, &bridge).unwrap();
        assert_eq!(other.organisation(), Some(([0x00, 0x80, 0xc2], 3)));
    }

    proptest! {
        #[test]
        fn any_list_of_tlvs_survives_the_wire(list in prop::collection::vec(any_tlv(), 0..8)) {
            let list: Vec<Tlv<'_>> = list.iter().map(|tlv| tlv.as_tlv()).collect();
            let mut buffer = [0xa5; 4200];
            let written = Tlvs::write(&list, &mut buffer).unwrap();
            prop_assert_eq!(written.iter().collect::<Vec<_>>(), list);
        }

        #[test]
        fn any_octets_are_tlvs_or_an_error(octets: Vec<u8>) {
            let mut pdu = pdu("");
            pdu.truncate(pdu.len() - 2);
            pdu.extend(&octets);
            if let Ok(lldp) = Lldp::parse(&pdu) {
                let list: Vec<Tlv<'_>> = lldp.tlvs.iter().collect();
                let mut buffer = std::vec![0; octets.len()];
                prop_assert_eq!(Tlvs::write(&list, &mut buffer).unwrap(), lldp.tlvs);
            }
        }
    }
}
