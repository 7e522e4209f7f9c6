//! The TLVs of congestion management: notification (802.1Qau) and isolation (802.1Qcz).

use super::super::{MacAddr, WireError, field, word};
use crate::units::{Duration, Priority, PrioritySet};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which priorities a port treats as congestion controlled, and for which it would keep CN-TAGs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CongestionNotification {
    /// Its congestion notification priority values (CNPV).
    pub cnpvs: PrioritySet,
    /// Those for which it is ready.
    pub ready: PrioritySet,
}

/// Which queues of a port take congesting flows, and how to tell it of some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CongestionIsolation {
    /// What each traffic class is.
    pub queue_map: QueueMap,
    /// How much of a frame its messages should carry.
    pub excerpt: u16,
    /// Where messages go on layer 2.
    pub address: MacAddr,
    /// The UDP port for messages on layer 3.
    pub port: u16,
    /// Where messages go on layer 3, if they may.
    pub ip: Option<IpAddr>,
}

/// How long a congesting flow must be silent at a port to be none any more. The proposal of 2018 announces it ("helpful to
/// inform the upstream switch of the inactivity timeout used downstream"), the standard's TLV does not: so it stands in
/// one of nobody's organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inactivity {
    /// In microseconds.
    pub us: u32,
}

/// Which traffic classes a bridge isolates, and into which (`queue-map`): for each class 0 if it takes no part, `-k` if
/// class `k - 1` is the congesting one that its flows are moved to, `k` if it is the congesting one of class `k - 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueMap(pub [i8; Priority::COUNT]);

impl QueueMap {
    /// What a traffic class is: -k in the map is monitored with class k-1 as its congesting partner, +k congesting
    /// with class k-1 as its monitored one. A number beyond 8 names no class.
    pub fn role(&self, class: Priority) -> QueueRole {
        let entry = self.0[class.index()];
        let partner = entry.unsigned_abs().checked_sub(1).and_then(Priority::new);
        match (partner, entry) {
            (Some(partner), ..0) => QueueRole::Monitored(partner),
            (Some(partner), _) => QueueRole::Congesting(partner),
            (None, _) => QueueRole::Apart,
        }
    }

    /// This map with another pair of classes.
    ///
    /// # Panics
    /// When one of them is in a pair, or they are the same.
    #[must_use]
    pub fn with_pair(mut self, monitored: Priority, congesting: Priority) -> QueueMap {
        assert!(monitored != congesting, "a class cannot be isolated from itself");
        assert!(
            self.0[monitored.index()] == 0 && self.0[congesting.index()] == 0,
            "a class is in one pair at the most"
        );
        self.0[monitored.index()] = -(congesting.get() as i8 + 1);
        self.0[congesting.index()] = monitored.get() as i8 + 1;
        self
    }

    /// The congesting class of a monitored one, if it is one and both say so of each other.
    pub fn congesting(&self, monitored: Priority) -> Option<Priority> {
        let partner = self.0[monitored.index()].checked_neg()?;
        let congesting = u8::try_from(partner.checked_sub(1)?).ok().and_then(Priority::new)?;
        (self.0[congesting.index()] == monitored.get() as i8 + 1).then_some(congesting)
    }

    /// Every pair: the monitored class, and the congesting one.
    pub fn pairs(&self) -> impl Iterator<Item = (Priority, Priority)> + '_ {
        Priority::all().filter_map(|monitored| Some((monitored, self.congesting(monitored)?)))
    }

    /// A class that names a partner which does not name it.
    pub fn loose_end(&self) -> Option<Priority> {
        let in_a_pair = |class: Priority| self.pairs().any(|(a, b)| class == a || class == b);
        Priority::all().find(|class| self.0[class.index()] != 0 && !in_a_pair(*class))
    }
}

/// What a traffic class is to congestion isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueRole {
    /// Its flows are watched; congesting ones move to this class.
    Monitored(Priority),
    /// It takes the congesting flows of this class.
    Congesting(Priority),
    /// It takes no part.
    Apart,
}

impl CongestionNotification {
    pub(super) const LEN: usize = 2;

    pub(super) fn parse(octets: &[u8]) -> Result<CongestionNotification, WireError> {
        let octets: &[u8; Self::LEN] = first(octets, "Congestion Notification TLV")?;
        Ok(CongestionNotification { cnpvs: PrioritySet(octets[0]), ready: PrioritySet(octets[1]) })
    }

    pub(super) fn emit(&self) -> [u8; Self::LEN] {
        [self.cnpvs.0, self.ready.0]
    }
}

impl CongestionIsolation {
    /// All but the IP address.
    const FIXED_LEN: usize = 19;
    const NAME: &str = "Congestion Isolation TLV";
    /// Address families, as LLDP's own management addresses number them.
    const NO_FAMILY: u8 = 0;
    const IPV4: u8 = 1;
    const IPV6: u8 = 2;

    pub(super) fn parse(octets: &[u8]) -> Result<CongestionIsolation, WireError> {
        let fixed: &[u8; Self::FIXED_LEN] = first(octets, Self::NAME)?;
        let ip = match fixed[18] {
            Self::IPV4 => {
                let whole: &[u8; Self::FIXED_LEN + 4] = first(octets, Self::NAME)?;
                Some(IpAddr::V4(Ipv4Addr::from(field::<4, _>(whole, Self::FIXED_LEN))))
            }
            Self::IPV6 => {
                let whole: &[u8; Self::FIXED_LEN + 16] = first(octets, Self::NAME)?;
                Some(IpAddr::V6(Ipv6Addr::from(field::<16, _>(whole, Self::FIXED_LEN))))
            }
            _ => None,
        };
        Ok(CongestionIsolation {
            queue_map: QueueMap(field(fixed, 0).map(u8::cast_signed)),
            excerpt: word(fixed, 8),
            address: MacAddr(field(fixed, 10)),
            port: word(fixed, 16),
            ip,
        })
    }

    pub(super) fn emitted_len(&self) -> usize {
        Self::FIXED_LEN
            + match self.ip {
                None => 0,
                Some(IpAddr::V4(_)) => 4,
                Some(IpAddr::V6(_)) => 16,
            }
    }

    pub(super) fn emit(&self, octets: &mut [u8]) {
        let (fixed, ip) = octets.split_at_mut(Self::FIXED_LEN);
        fixed[..8].copy_from_slice(&self.queue_map.0.map(i8::cast_unsigned));
        fixed[8..10].copy_from_slice(&self.excerpt.to_be_bytes());
        fixed[10..16].copy_from_slice(&self.address.0);
        fixed[16..18].copy_from_slice(&self.port.to_be_bytes());
        fixed[18] = match self.ip {
            None => Self::NO_FAMILY,
            Some(IpAddr::V4(address)) => {
                ip.copy_from_slice(&address.octets());
                Self::IPV4
            }
            Some(IpAddr::V6(address)) => {
                ip.copy_from_slice(&address.octets());
                Self::IPV6
            }
        };
    }
}

impl Inactivity {
    pub(super) const LEN: usize = 4;

    /// That of a span, rounded up to whole microseconds; the longest there is where it is longer.
    pub fn of(span: Duration) -> Inactivity {
        Inactivity { us: u32::try_from(span.ps().div_ceil(1_000_000)).unwrap_or(u32::MAX) }
    }

    /// The span.
    pub fn span(self) -> Duration {
        Duration::from_us(u64::from(self.us))
    }

    pub(super) fn parse(octets: &[u8]) -> Result<Inactivity, WireError> {
        let octets: &[u8; Self::LEN] = first(octets, "isolation inactivity TLV")?;
        Ok(Inactivity { us: u32::from_be_bytes(*octets) })
    }

    pub(super) fn emit(self) -> [u8; Self::LEN] {
        self.us.to_be_bytes()
    }
}

/// The first octets of a TLV's value, as many as it takes; what follows them says nothing.
pub(super) fn first<'a, const N: usize>(
    octets: &'a [u8],
    format: &'static str,
) -> Result<&'a [u8; N], WireError> {
    octets.first_chunk().ok_or(WireError::Truncated { format, need: N, have: octets.len() })
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::octets;
    use super::super::tests::pdu;
    use super::super::{Lldp, Tlv, Tlvs};
    use super::*;

    #[test]
    fn congestion_notification_on_priority_3_is_these_octets() {
        let three = PrioritySet::of(Priority::new(3));
        let tlv = CongestionNotification { cnpvs: three, ready: three };
        let pdu = pdu("fe060080c208 08 08");
        assert_eq!(Lldp::parse(&pdu).unwrap().tlvs.congestion_notification(), Some(tlv));
        let mut buffer = [0; 8];
        Tlvs::write(&[Tlv::CongestionNotification(tlv)], &mut buffer).unwrap();
        assert_eq!(buffer[..], octets("fe060080c208 08 08"));
    }

    const ISOLATION: &str = "fe1b0080c213 000000fb04000000 0030 020000000001 1388 01 c000020a";

    fn isolation() -> CongestionIsolation {
        CongestionIsolation {
            queue_map: QueueMap([0, 0, 0, -5, 4, 0, 0, 0]),
            excerpt: 48,
            address: MacAddr::numbered(1),
            port: 5000,
            ip: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10))),
        }
    }

    #[test]
    fn class_4_as_congesting_partner_of_class_3_is_these_octets() {
        let pdu = pdu(ISOLATION);
        assert_eq!(Lldp::parse(&pdu).unwrap().tlvs.congestion_isolation(), Some(isolation()));
        let mut buffer = [0; 29];
        Tlvs::write(&[Tlv::CongestionIsolation(isolation())], &mut buffer).unwrap();
        assert_eq!(buffer[..], octets(ISOLATION));
    }

    #[test]
    fn an_inactivity_of_100_us_is_these_octets() {
        let pdu = pdu("fe08 02514c01 00000064");
        let tlv = Inactivity::of(Duration::from_us(100));
        assert_eq!(Lldp::parse(&pdu).unwrap().tlvs.inactivity(), Some(tlv));
        let mut buffer = [0; 10];
        Tlvs::write(&[Tlv::Inactivity(tlv)], &mut buffer).unwrap();
        assert_eq!(buffer[..], octets("fe08 02514c01 00000064"));
        assert_eq!(Inactivity::of(Duration::from_ns(1)).span(), Duration::from_us(1), "rounded up");
        assert_eq!(Inactivity::of(Duration::from_ms(5_000_000)).us, u32::MAX);
    }

    #[test]
    fn a_queue_map_names_partners() {
        let class = |number| Priority::new(number).unwrap();
        assert_eq!(isolation().queue_map.role(class(3)), QueueRole::Monitored(class(4)));
        assert_eq!(isolation().queue_map.role(class(4)), QueueRole::Congesting(class(3)));
        assert_eq!(isolation().queue_map.role(class(0)), QueueRole::Apart);
        let odd = QueueMap([9, -9, i8::MIN, 127, 8, -8, 1, -1]);
        let roles: std::vec::Vec<QueueRole> = Priority::all().map(|class| odd.role(class)).collect();
        assert_eq!(roles[..4], [QueueRole::Apart; 4]);
        assert_eq!(roles[4], QueueRole::Congesting(class(7)));
        assert_eq!(roles[5], QueueRole::Monitored(class(7)));
        assert_eq!(roles[6], QueueRole::Congesting(class(0)));
        assert_eq!(roles[7], QueueRole::Monitored(class(0)));
    }

    #[test]
    fn a_pair_is_the_two_numbers_of_the_standards_example() {
        let class = |number| Priority::new(number).unwrap();
        // Monitored class 3, congesting class 4: fb 04 at their places.
        let map = QueueMap::default().with_pair(class(3), class(4));
        assert_eq!(map.0, [0, 0, 0, -5, 4, 0, 0, 0]);
        assert_eq!(map.congesting(class(3)), Some(class(4)));
        assert_eq!(map.congesting(class(4)), None);
        assert_eq!(map.pairs().collect::<std::vec::Vec<_>>(), [(class(3), class(4))]);
    }

    #[test]
    fn an_address_may_be_missing_but_not_cut() {
        let none = pdu("fe17 0080c213 000000fb04000000 0030 020000000001 1388 00");
        let read = Lldp::parse(&none).unwrap().tlvs.congestion_isolation();
        assert_eq!(read, Some(CongestionIsolation { ip: None, ..isolation() }));
        let cut = pdu("fe1a 0080c213 000000fb04000000 0030 020000000001 1388 01 c00002");
        let tlv = Lldp::parse(&cut).unwrap().tlvs.iter().next();
        let Some(Tlv::Other(other)) = tlv else { panic!("{tlv:?}") };
        let fault = WireError::Truncated { format: "Congestion Isolation TLV", need: 23, have: 22 };
        assert_eq!(other.fault(), Some(fault));
    }
}
