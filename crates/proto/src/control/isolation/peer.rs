//! Neighbours: whether two bridges mean the same queues, by what they announce of themselves (LLDP, 802.1Qcz D.2.15).
//!
//! Values only; where they sit in a TLV is for [`wire`](crate::wire::lldp) to know.

use crate::units::{Duration, Priority};
pub use crate::wire::lldp::QueueMap;
use crate::wire::lldp::{CongestionIsolation, Inactivity, Tlvs};
use core::fmt;
use core::net::IpAddr;

/// What a bridge announces of its isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Its queues.
    pub map: QueueMap,
    /// How many octets of a frame it wants in a message, to know the flow by.
    pub frame_octets: u16,
    /// How long a flow must be silent there to be no congesting one any more; the proposal of 2018 announces it, the
    /// standard does not.
    pub inactivity: Option<Duration>,
    /// Where it takes messages on layer 3, if it does.
    pub ip: Option<IpAddr>,
}

impl Announcement {
    /// What the TLVs of an LLDP frame announce; `None` if they say nothing of isolation.
    pub fn of(tlvs: &Tlvs<'_>) -> Option<Announcement> {
        let CongestionIsolation { queue_map, excerpt, ip, .. } = tlvs.congestion_isolation()?;
        let inactivity = tlvs.inactivity().map(Inactivity::span);
        Some(Announcement { map: queue_map, frame_octets: excerpt, inactivity, ip })
    }
}

/// What two neighbours can do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Tell each other of congesting flows.
    Signals {
        /// Octets of a frame in messages to the neighbour.
        frame_octets: u16,
        /// How long a flow must be silent here: no shorter than there, so that the upstream bridge does not free one
        /// that the downstream bridge still isolates.
        inactivity: Duration,
    },
    /// Isolate each for itself.
    LocalOnly(Disagreement),
}

/// Why two neighbours do not signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The neighbour announces no isolation.
    Silent,
    /// The neighbour's map contradicts itself at this class.
    Incoherent {
        /// The class.
        class: Priority,
    },
    /// The neighbour does not isolate this class.
    NotMonitored {
        /// The class.
        class: Priority,
    },
    /// The neighbour moves flows of this class to another one.
    OtherQueue {
        /// The class.
        class: Priority,
        /// Where they go here.
        ours: Priority,
        /// Where they go there.
        theirs: Priority,
    },
    /// Our messages travel in IP, and the neighbour announces no address for them, or one of the other version.
    OtherAddress,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disagreement::Silent => f.write_str("the neighbour announces no congestion isolation"),
            Disagreement::Incoherent { class } => {
                write!(f, "the neighbour's class {class} names a partner that does not name it")
            }
            Disagreement::NotMonitored { class } => write!(f, "the neighbour does not isolate class {class}"),
            Disagreement::OtherQueue { class, ours, theirs } => {
                write!(f, "flows of class {class} are moved to class {ours} here and to class {theirs} there")
            }
            Disagreement::OtherAddress => f.write_str(
                "messages go over IP here, and the neighbour announces no address of that version",
            ),
        }
    }
}

/// What two neighbours can do together: whether every class monitored here has the same congesting class there, and
/// whether our messages can reach it. They travel as those do that we take ourselves: by the IP of the address that we
/// announce, and on layer 2 if that is none.
///
/// # Panics
/// When our own map contradicts itself.
pub fn agree(ours: &Announcement, inactivity: Duration, theirs: Option<&Announcement>) -> Agreement {
    assert!(ours.map.loose_end().is_none(), "a map of our own that contradicts itself");
    let Some(theirs) = theirs else { return Agreement::LocalOnly(Disagreement::Silent) };
    if let Some(class) = theirs.map.loose_end() {
        return Agreement::LocalOnly(Disagreement::Incoherent { class });
    }
    for (class, congesting) in ours.map.pairs() {
        match theirs.map.congesting(class) {
            None => return Agreement::LocalOnly(Disagreement::NotMonitored { class }),
            Some(theirs) if theirs != congesting => {
                return Agreement::LocalOnly(Disagreement::OtherQueue { class, ours: congesting, theirs });
            }
            Some(_) => {}
        }
    }
    if ours.ip.is_some_and(|own| theirs.ip.is_none_or(|ip| ip.is_ipv4() != own.is_ipv4())) {
        return Agreement::LocalOnly(Disagreement::OtherAddress);
    }
    Agreement::Signals {
        frame_octets: theirs.frame_octets,
        inactivity: theirs.inactivity.map_or(inactivity, |theirs| theirs.max(inactivity)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::lldp::Tlv;
    use proptest::prelude::*;
    use std::string::ToString;

    fn class(number: u8) -> Priority {
        Priority::new(number).unwrap()
    }

    fn announcement(map: QueueMap) -> Announcement {
        Announcement { map, frame_octets: 48, inactivity: None, ip: None }
    }

    const OWN: Duration = Duration::from_us(100);

    fn disagreement(ours: QueueMap, theirs: QueueMap) -> std::string::String {
        match agree(&announcement(ours), OWN, Some(&announcement(theirs))) {
            Agreement::LocalOnly(why) => why.to_string(),
            agreement @ Agreement::Signals { .. } => panic!("{agreement:?}"),
        }
    }

    #[test]
    fn neighbours_with_the_same_queues_signal_with_the_longer_patience() {
        let ours = announcement(QueueMap::default().with_pair(class(3), class(4)));
        let theirs = Announcement { frame_octets: 64, inactivity: Some(Duration::from_us(300)), ..ours };
        let patient = Agreement::Signals { frame_octets: 64, inactivity: Duration::from_us(300) };
        assert_eq!(agree(&ours, OWN, Some(&theirs)), patient);
        let hasty = Announcement { inactivity: Some(Duration::from_us(10)), ..theirs };
        assert_eq!(agree(&ours, OWN, Some(&hasty)), Agreement::Signals { frame_octets: 64, inactivity: OWN });
    }

    #[test]
    fn what_the_tlvs_of_a_frame_say_is_what_is_agreed_upon() {
        let tlv = CongestionIsolation {
            queue_map: QueueMap::default().with_pair(class(0), class(1)),
            excerpt: 64,
            address: crate::wire::MacAddr::numbered(1),
            port: 5000,
            ip: None,
        };
        let mut buffer = [0; 64];
        let list = [Tlv::CongestionIsolation(tlv), Tlv::Inactivity(Inactivity { us: 250 })];
        let theirs = Announcement::of(&Tlvs::write(&list, &mut buffer).unwrap());
        let ours = announcement(tlv.queue_map);
        let agreed = Agreement::Signals { frame_octets: 64, inactivity: Duration::from_us(250) };
        assert_eq!(agree(&ours, OWN, theirs.as_ref()), agreed);
        assert_eq!(Announcement::of(&Tlvs::NONE), None);
    }

    #[test]
    fn messages_over_ip_need_an_address_of_that_version() {
        let map = QueueMap::default().with_pair(class(3), class(4));
        let with = |ip: Option<[u8; 4]>| Announcement { ip: ip.map(IpAddr::from), ..announcement(map) };
        let (plain, four) = (with(None), with(Some([10, 0, 0, 1])));
        let six = Announcement { ip: Some(IpAddr::from([0u16; 8])), ..plain };
        let signals = |ours, theirs| matches!(agree(&ours, OWN, Some(&theirs)), Agreement::Signals { .. });
        assert!(signals(four, four) && signals(six, six) && signals(plain, four));
        for (ours, theirs) in [(four, plain), (four, six), (six, four)] {
            let agreed = agree(&ours, OWN, Some(&theirs));
            assert_eq!(agreed, Agreement::LocalOnly(Disagreement::OtherAddress), "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn neighbours_that_differ_say_in_what() {
        let ours = QueueMap::default().with_pair(class(3), class(4));
        assert_eq!(agree(&announcement(ours), OWN, None), Agreement::LocalOnly(Disagreement::Silent));
        assert_eq!(disagreement(ours, QueueMap::default()), "the neighbour does not isolate class 3");
        assert_eq!(
            disagreement(ours, QueueMap::default().with_pair(class(3), class(5))),
            "flows of class 3 are moved to class 4 here and to class 5 there"
        );
        assert_eq!(
            disagreement(ours, QueueMap([0, 0, 0, -5, 0, 0, 0, 0])),
            "the neighbour's class 3 names a partner that does not name it"
        );
    }

    proptest! {
        #[test]
        fn any_map_is_coherent_or_has_a_loose_end(map: [i8; 8]) {
            let map = QueueMap(map);
            let paired = 2 * map.pairs().count();
            let named = map.0.iter().filter(|it| **it != 0).count();
            prop_assert!(paired <= named);
            prop_assert_eq!(map.loose_end().is_none(), paired == named);
            let ours = announcement(QueueMap::default().with_pair(class(0), class(1)));
            let agreed = matches!(agree(&ours, OWN, Some(&announcement(map))), Agreement::Signals { .. });
            prop_assert_eq!(agreed, map.loose_end().is_none() && map.congesting(class(0)) == Some(class(1)));
        }
    }
}
