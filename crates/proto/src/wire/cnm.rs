//! The congestion notification message of 802.1Qau (clause 33): a congestion point tells the source of a frame
//! how badly its queue stands.
//!
//! Behind EtherType 22-E7:
//! `version(4 bits) reserved(6 bits) feedback(6 bits) CPID(8) offset(2) delta(2) priority(2) destination(6)
//! excerpt length(2) excerpt(0 to 64)`

use super::{CnTag, Envelope, EtherType, Frame, Header, MacAddr, WireError, field, top_priority, word};
use crate::units::Priority;
use core::fmt;

/// What a congestion notification message says.
///
/// A reaction point needs `feedback` alone; the rest is for people, and for those who look for the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cnm {
    /// How strongly the source is to slow down.
    pub feedback: QuantisedFeedback,
    /// The congestion point that speaks (CPID).
    pub point: CpId,
    /// How far its queue stood above the set point (`cnmQOffset`).
    pub offset: QueueDifference,
    /// How far its queue grew since the sample before (`cnmQDelta`).
    pub delta: QueueDifference,
    /// The priority of the sampled frame.
    pub priority: Priority,
    /// Whom the sampled frame was for.
    pub destination: MacAddr,
    /// How the sampled frame went on, from its own EtherType.
    pub excerpt: Excerpt,
}

/// A whole congestion notification message, on its way to the source of the sampled frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CnmFrame {
    /// From the congestion point's address (`cpMacAddress`) to the source of the sampled frame, on its VLANs at the
    /// priority of messages, with its CN-TAG.
    pub envelope: Envelope,
    /// What it says.
    pub cnm: Cnm,
}

/// The six bits that a reaction point acts on: 1, hardly congested, to 63. 0 is not congested, and never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantisedFeedback(u8);

/// Which congestion point of the network speaks: eight octets, of which no two points have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpId(pub [u8; 8]);

/// A difference of two queue lengths as a message carries it: in units of 64 octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueDifference(i16);

/// The first octets of a sampled frame from its own EtherType on, behind its tags: enough to tell the flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Excerpt {
    length: u8,
    /// Those behind `length` are all zero, so that equal excerpts are equal values.
    octets: [u8; Excerpt::MOST],
}

/// What all messages of one congestion point have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The address it sends from (`cpMacAddress`).
    pub address: MacAddr,
    /// Its identifier.
    pub point: CpId,
    /// The priority messages travel at (`cngCnmTransmitPriority`), which is not one that is congestion controlled.
    pub priority: Priority,
    /// Octets of the sampled frame to send back (`cpMinHeaderOctets`); more than 64 are not sent.
    pub excerpt: usize,
    /// Whether a message about a frame without CN-TAG carries one all the same, of flow 0.
    pub tag_always: bool,
}

impl Cnm {
    /// All fields but the excerpt.
    pub const FIXED_LEN: usize = 24;
    /// With the longest excerpt.
    pub const LONGEST: usize = Self::FIXED_LEN + Excerpt::MOST;
    const NAME: &str = "CNM";
    const VERSION: u16 = 0;

    /// Reads the payload of a frame of EtherType 22-E7. What follows the excerpt is padding.
    pub fn parse(octets: &[u8]) -> Result<Cnm, WireError> {
        let truncated = |need| WireError::Truncated { format: Self::NAME, need, have: octets.len() };
        let fixed: &[u8; Self::FIXED_LEN] = octets.first_chunk().ok_or(truncated(Self::FIXED_LEN))?;
        let first = word(fixed, 0);
        let version = first >> 12;
        if version != Self::VERSION {
            return Err(WireError::Unexpected { field: "CNM version", found: version, want: Self::VERSION });
        }
        let found = first & u16::from(QuantisedFeedback::MAX.0);
        let feedback = QuantisedFeedback::new(found as u8).ok_or(WireError::OutOfRange {
            field: "CNM quantised feedback",
            found,
            least: u16::from(QuantisedFeedback::MIN.0),
            most: u16::from(QuantisedFeedback::MAX.0),
        })?;
        let length = word(fixed, 22);
        if usize::from(length) > Excerpt::MOST {
            return Err(WireError::OutOfRange {
                field: "CNM encapsulated MSDU length",
                found: length,
                least: 0,
                most: Excerpt::MOST as u16,
            });
        }
        let end = Self::FIXED_LEN + usize::from(length);
        let excerpt = octets.get(Self::FIXED_LEN..end).ok_or(truncated(end))?;
        Ok(Cnm {
            feedback,
            point: CpId(field(fixed, 2)),
            offset: QueueDifference(i16::from_be_bytes(field(fixed, 10))),
            delta: QueueDifference(i16::from_be_bytes(field(fixed, 12))),
            priority: top_priority(word(fixed, 14)),
            destination: MacAddr(field(fixed, 16)),
            excerpt: Excerpt::of(excerpt),
        })
    }

    /// How many octets the message takes behind the EtherType.
    pub fn emitted_len(&self) -> usize {
        Self::FIXED_LEN + self.excerpt.as_slice().len()
    }

    /// Writes the payload of a frame of EtherType 22-E7 and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (need, have) = (self.emitted_len(), octets.len());
        let octets = octets.get_mut(..need).ok_or(WireError::NoRoom { need, have })?;
        let (fixed, excerpt) = octets.split_at_mut(Self::FIXED_LEN);
        let first = Self::VERSION << 12 | u16::from(self.feedback.0);
        fixed[0..2].copy_from_slice(&first.to_be_bytes());
        fixed[2..10].copy_from_slice(&self.point.0);
        fixed[10..12].copy_from_slice(&self.offset.0.to_be_bytes());
        fixed[12..14].copy_from_slice(&self.delta.0.to_be_bytes());
        fixed[14..16].copy_from_slice(&(u16::from(self.priority.get()) << 13).to_be_bytes());
        fixed[16..22].copy_from_slice(&self.destination.0);
        fixed[22..24].copy_from_slice(&u16::from(self.excerpt.length).to_be_bytes());
        excerpt.copy_from_slice(self.excerpt.as_slice());
        Ok(need)
    }
}

impl CnmFrame {
    /// The longest frame there is, with all tags and the longest excerpt.
    pub const LONGEST: usize = Header::LONGEST + Cnm::LONGEST;

    /// Reads a whole frame that is known to be a congestion notification message.
    pub fn parse(octets: &[u8]) -> Result<CnmFrame, WireError> {
        let header = Header::parse(octets)?;
        Self::from_parts(&header, octets.get(header.payload_at()..).unwrap_or_default())
    }

    /// Reads the payload of a frame whose header has been read.
    pub fn from_parts(header: &Header, payload: &[u8]) -> Result<CnmFrame, WireError> {
        header.expect(EtherType::CNM)?;
        Ok(CnmFrame { envelope: header.envelope(), cnm: Cnm::parse(payload)? })
    }

    /// The header such a frame has.
    pub fn header(&self) -> Header {
        self.envelope.header(EtherType::CNM)
    }

    /// Writes the frame, padded to [`super::MIN_FRAME`], and says how many octets it took.
    pub fn emit(&self, octets: &mut [u8]) -> Result<usize, WireError> {
        let (length, payload) = self.header().begin(octets, self.cnm.emitted_len())?;
        self.cnm.emit(payload)?;
        Ok(length)
    }
}

impl Origin {
    /// The message about a sampled frame, or `None` where the frame's source address is a group's, which nobody
    /// can be told at.
    ///
    /// It goes back to the frame's source, on the frame's VLANs but at the priority of messages, with the frame's
    /// CN-TAG.
    pub fn answer(
        &self,
        sampled: &Frame<'_>,
        feedback: QuantisedFeedback,
        offset: QueueDifference,
        delta: QueueDifference,
    ) -> Option<CnmFrame> {
        if sampled.header.source.is_group() {
            return None;
        }
        let mut tags = sampled.header.tags;
        for tag in tags.as_mut_slice() {
            (tag.priority, tag.drop_eligible) = (self.priority, false);
        }
        let cn_tag = sampled.header.cn_tag.or(self.tag_always.then_some(CnTag { flow: 0 }));
        let cnm = Cnm {
            feedback,
            point: self.point,
            offset,
            delta,
            priority: sampled.header.priority(),
            destination: sampled.header.destination,
            excerpt: Excerpt::of_frame(sampled, self.excerpt),
        };
        let envelope = Envelope { destination: sampled.header.source, source: self.address, tags, cn_tag };
        Some(CnmFrame { envelope, cnm })
    }
}

impl QuantisedFeedback {
    /// The weakest that is sent.
    pub const MIN: QuantisedFeedback = QuantisedFeedback(1);
    /// The strongest.
    pub const MAX: QuantisedFeedback = QuantisedFeedback(63);

    /// A feedback that can be sent: 1 to 63.
    pub const fn new(quantised: u8) -> Option<QuantisedFeedback> {
        match quantised {
            1..=63 => Some(QuantisedFeedback(quantised)),
            _ => None,
        }
    }

    /// Its number, 1 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl CpId {
    /// The recommended form: an address of the bridge, then a number of its own choice.
    pub fn of(bridge: MacAddr, number: u16) -> CpId {
        let ([a, b, c, d, e, f], [g, h]) = (bridge.0, number.to_be_bytes());
        CpId([a, b, c, d, e, f, g, h])
    }

    /// The number this library chooses for the queue of a traffic class at a port: eight times the port, plus the
    /// class. `None` from port 8192 on, which sixteen bits cannot tell.
    pub fn number(port: u16, class: Priority) -> Option<u16> {
        Some(port.checked_mul(Priority::COUNT as u16)? | u16::from(class.get()))
    }
}

impl fmt::Display for CpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridge = MacAddr(field(&self.0, 0));
        write!(f, "{bridge}/{:04x}", word(&self.0, 6))
    }
}

impl QueueDifference {
    /// What one unit stands for.
    const OCTETS: i64 = 64;

    /// A difference in octets, rounded towards zero, and the nearest that sixteen bits can tell.
    pub fn from_octets(octets: i64) -> QueueDifference {
        let units = (octets / Self::OCTETS).clamp(i64::from(i16::MIN), i64::from(i16::MAX));
        QueueDifference(units as i16)
    }

    /// A difference in units of 64 octets, as it stands in a message.
    pub const fn from_units(units: i16) -> QueueDifference {
        QueueDifference(units)
    }

    /// The difference in units of 64 octets.
    pub const fn units(self) -> i16 {
        self.0
    }

    /// The difference in octets.
    pub fn octets(self) -> i64 {
        i64::from(self.0) * Self::OCTETS
    }
}

impl Excerpt {
    /// As much of a frame as a message may carry.
    pub const MOST: usize = 64;
    /// Nothing of the frame.
    pub const NONE: Excerpt = Excerpt { length: 0, octets: [0; Self::MOST] };

    /// These octets, or the first 64 of them.
    pub fn of(octets: &[u8]) -> Excerpt {
        Self::collect(octets.iter().copied())
    }

    /// The first `most` octets of a frame from its EtherType on: no more than the frame has, no more than 64.
    pub fn of_frame(frame: &Frame<'_>, most: usize) -> Excerpt {
        let ether_type = frame.header.ether_type.get().to_be_bytes();
        Self::collect(ether_type.into_iter().chain(frame.payload.iter().copied()).take(most))
    }

    fn collect(octets: impl Iterator<Item = u8>) -> Excerpt {
        let mut excerpt = Self::NONE;
        for (slot, octet) in excerpt.octets.iter_mut().zip(octets) {
            *slot = octet;
            excerpt.length += 1;
        }
        excerpt
    }

    /// The octets.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt(")?;
        for octet in self.as_slice() {
            write!(f, "{octet:02x}")?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::{any_cnm, any_header};
    use super::super::tests::{emitted, octets};
    use super::super::{AnyFrame, MIN_FRAME, Tags, VlanId, VlanKind, VlanTag, parse};
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    const MSDU: &str = "0800450005dc00010000401100000a0000010a000002045708ae";

    fn golden() -> Vec<u8> {
        octets(
            "020000000001 020000000c01 8100c064 22e90007 22e7
             0025 020000000c010003 0078 fffb 6000 020000000002 001a
             0800450005dc00010000401100000a0000010a000002045708ae",
        )
    }

    fn frame() -> CnmFrame {
        let bridge = MacAddr([0x02, 0, 0, 0, 0x0c, 0x01]);
        CnmFrame {
            envelope: Envelope {
                destination: MacAddr::numbered(1),
                source: bridge,
                tags: Tags::one(VlanTag {
                    kind: VlanKind::Customer,
                    priority: Priority::new(6).unwrap(),
                    drop_eligible: false,
                    id: VlanId::new(100).unwrap(),
                }),
                cn_tag: Some(CnTag { flow: 7 }),
            },
            cnm: Cnm {
                feedback: QuantisedFeedback::new(37).unwrap(),
                point: CpId::of(bridge, 3),
                offset: QueueDifference::from_units(120),
                delta: QueueDifference::from_units(-5),
                priority: Priority::new(3).unwrap(),
                destination: MacAddr::numbered(2),
                excerpt: Excerpt::of(&octets(MSDU)),
            },
        }
    }

    /// The payload of the golden frame, changed.
    fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Result<Cnm, WireError> {
        let mut payload = golden().split_off(22);
        change(&mut payload);
        Cnm::parse(&payload)
    }

    #[test]
    fn a_message_with_every_field_is_these_octets() {
        assert_eq!(golden().len(), 72);
        assert_eq!(emitted(AnyFrame::Cnm(frame())), golden());
        assert_eq!(parse(&golden()), Ok(AnyFrame::Cnm(frame())));
        assert_eq!(CnmFrame::parse(&golden()), Ok(frame()));
    }

    #[test]
    fn the_shortest_message_is_padded_and_the_longest_is_110_octets() {
        let longest = Excerpt::of(&[0x5a; 64]);
        let full = CnmFrame { cnm: Cnm { excerpt: longest, ..frame().cnm }, ..frame() };
        assert_eq!(emitted(AnyFrame::Cnm(full)).len(), 110);
        let short = Cnm { excerpt: Excerpt::NONE, ..frame().cnm };
        assert_eq!(short.emitted_len(), 24);
        let Envelope { destination, source, .. } = frame().envelope;
        let short = CnmFrame { envelope: Envelope::plain(destination, source), cnm: short };
        let octets = emitted(AnyFrame::Cnm(short));
        assert_eq!(octets.len(), MIN_FRAME);
        assert!(octets[38..].iter().all(|octet| *octet == 0));
        assert_eq!(parse(&octets), Ok(AnyFrame::Cnm(short)));
    }

    #[test]
    fn fewer_than_24_octets_are_no_message() {
        let truncated = WireError::Truncated { format: "CNM", need: 24, have: 23 };
        assert_eq!(changed(|payload| payload.truncate(23)), Err(truncated));
    }

    #[test]
    fn another_version_is_refused() {
        let error = WireError::Unexpected { field: "CNM version", found: 1, want: 0 };
        assert_eq!(changed(|payload| payload[0] = 0x10), Err(error));
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let read = changed(|payload| {
            payload[0] |= 0x0f;
            payload[1] |= 0xc0;
            payload[14] |= 0x1f;
            payload[15] = 0xff;
        });
        assert_eq!(read, Ok(frame().cnm));
    }

    #[test]
    fn a_feedback_of_zero_is_refused() {
        let error = WireError::OutOfRange { field: "CNM quantised feedback", found: 0, least: 1, most: 63 };
        assert_eq!(changed(|payload| payload[1] = 0), Err(error));
        assert_eq!(changed(|payload| payload[1] = 63).map(|cnm| cnm.feedback), Ok(QuantisedFeedback::MAX));
    }

    #[test]
    fn an_excerpt_of_more_than_64_octets_is_refused_even_if_they_are_there() {
        let field = "CNM encapsulated MSDU length";
        let refused = |found| Err(WireError::OutOfRange { field, found, least: 0, most: 64 });
        let claim = |length: u16| {
            changed(|payload| {
                payload.resize(1000, 0);
                payload[22..24].copy_from_slice(&length.to_be_bytes());
            })
        };
        assert_eq!(claim(65), refused(65));
        assert_eq!(claim(0xffff), refused(0xffff));
        assert_eq!(claim(64).map(|cnm| cnm.excerpt.as_slice().len()), Ok(64));
    }

    #[test]
    fn an_excerpt_longer_than_the_frame_is_refused() {
        let truncated = WireError::Truncated { format: "CNM", need: 51, have: 50 };
        assert_eq!(changed(|payload| payload[23] = 27), Err(truncated));
    }

    #[test]
    fn padding_behind_the_excerpt_is_ignored() {
        assert_eq!(changed(|payload| payload.extend([0xff; 30])), Ok(frame().cnm));
    }

    #[test]
    fn another_ether_type_is_no_message() {
        let mut octets = golden();
        (octets[20], octets[21]) = (0x08, 0x00);
        let error = WireError::Unexpected { field: "EtherType", found: 0x0800, want: 0x22e7 };
        assert_eq!(CnmFrame::parse(&octets), Err(error));
    }

    #[test]
    fn queue_differences_count_in_64_octets_towards_zero() {
        let units = |octets| QueueDifference::from_octets(octets).units();
        assert_eq!([units(0), units(63), units(64), units(127)], [0, 0, 1, 1]);
        assert_eq!([units(-63), units(-64), units(-127), units(-128)], [0, -1, -1, -2]);
        assert_eq!([units(7_680), units(-320)], [120, -5]);
        assert_eq!(QueueDifference::from_units(-5).octets(), -320);
    }

    #[test]
    fn queue_differences_stop_at_what_sixteen_bits_can_tell() {
        let units = |octets| QueueDifference::from_octets(octets).units();
        assert_eq!([units(32_767 * 64), units(32_768 * 64), units(i64::MAX)], [i16::MAX; 3]);
        assert_eq!([units(-32_768 * 64), units(-32_769 * 64), units(i64::MIN)], [i16::MIN; 3]);
    }

    #[test]
    fn a_congestion_point_is_named_by_bridge_port_and_class() {
        let class = Priority::new(5).unwrap();
        assert_eq!(CpId::number(2, class), Some(21));
        assert_eq!(CpId::number(8191, class), Some(0xfffd));
        assert_eq!(CpId::number(8192, class), None);
        assert_eq!(CpId::of(MacAddr::numbered(9), 21).to_string(), "02:00:00:00:00:09/0015");
    }

    fn origin() -> Origin {
        let CnmFrame { envelope: Envelope { source, .. }, cnm } = frame();
        let priority = Priority::new(6).unwrap();
        Origin { address: source, point: cnm.point, priority, excerpt: 26, tag_always: true }
    }

    #[test]
    fn the_answer_to_a_frame_goes_back_to_its_source() {
        let mut sampled = octets("020000000002 020000000001 81007064 22e90007");
        sampled.extend(octets(MSDU));
        sampled.extend([0xee; 1000]);
        let sampled = Frame::parse(&sampled).unwrap();
        let Cnm { feedback, offset, delta, .. } = frame().cnm;
        assert_eq!(origin().answer(&sampled, feedback, offset, delta), Some(frame()));
    }

    #[test]
    fn an_answer_never_carries_more_than_the_frame_has_nor_more_than_64_octets() {
        let Cnm { feedback, offset, delta, .. } = frame().cnm;
        let answer = |payload: &[u8], excerpt| {
            let header = Header::untagged(MacAddr::numbered(2), MacAddr::numbered(1), EtherType::IPV4);
            let answer =
                Origin { excerpt, ..origin() }.answer(&Frame { header, payload }, feedback, offset, delta);
            answer.unwrap().cnm.excerpt.as_slice().len()
        };
        assert_eq!(answer(&[1, 2, 3], 64), 5);
        assert_eq!(answer(&[0; 1500], usize::MAX), 64);
        assert_eq!(answer(&[0; 1500], 0), 0);
    }

    #[test]
    fn an_answer_to_a_frame_without_cn_tag_carries_flow_0_or_none() {
        let header = Header::untagged(MacAddr::numbered(2), MacAddr::numbered(1), EtherType::IPV4);
        let sampled = Frame { header, payload: &[] };
        let Cnm { feedback, offset, delta, .. } = frame().cnm;
        let answer =
            |tag_always| Origin { tag_always, ..origin() }.answer(&sampled, feedback, offset, delta).unwrap();
        assert_eq!(answer(true).envelope.cn_tag, Some(CnTag { flow: 0 }));
        assert_eq!(answer(false).envelope.cn_tag, None);
        assert_eq!(answer(true).envelope.tags, Tags::NONE);
    }

    #[test]
    fn every_tag_of_an_answer_has_the_priority_of_messages() {
        let frame = octets("020000000002 020000000001 88a8 b00a 8100 7064 0800 4500");
        let Cnm { feedback, offset, delta, .. } = self::frame().cnm;
        let answer = origin().answer(&Frame::parse(&frame).unwrap(), feedback, offset, delta).unwrap();
        let controls: Vec<u16> = answer.envelope.tags.as_slice().iter().map(VlanTag::control).collect();
        assert_eq!(controls, [0xc00a, 0xc064]);
        assert_eq!(answer.cnm.priority, Priority::new(5).unwrap());
    }

    #[test]
    fn a_frame_from_a_group_has_no_answer() {
        let header = Header::untagged(MacAddr::numbered(2), MacAddr::BROADCAST, EtherType::IPV4);
        let Cnm { feedback, offset, delta, .. } = frame().cnm;
        assert_eq!(origin().answer(&Frame { header, payload: &[] }, feedback, offset, delta), None);
    }

    proptest! {
        #[test]
        fn any_message_survives_the_wire(sent in any_cnm(), padding: Vec<u8>) {
            let mut octets = [0xa5; Cnm::LONGEST];
            let length = sent.emit(&mut octets).unwrap();
            prop_assert_eq!(length, sent.emitted_len());
            let mut octets = octets[..length].to_vec();
            prop_assert_eq!(Cnm::parse(&octets), Ok(sent));
            octets.extend(padding);
            prop_assert_eq!(Cnm::parse(&octets), Ok(sent));
        }

        #[test]
        fn any_octets_are_a_message_or_an_error(octets: Vec<u8>) {
            let _ = Cnm::parse(&octets);
        }

        #[test]
        fn the_answer_to_any_frame_can_be_sent(
            header in any_header(),
            payload: Vec<u8>,
            excerpt: usize,
            tag_always: bool,
            sent in any_cnm(),
        ) {
            let origin = Origin { excerpt, tag_always, ..origin() };
            let sampled = Frame { header, payload: &payload };
            let answer = origin.answer(&sampled, sent.feedback, sent.offset, sent.delta);
            prop_assert_eq!(answer.is_none(), header.source.is_group());
            if let Some(answer) = answer {
                let octets = emitted(AnyFrame::Cnm(answer));
                prop_assert!(octets.len() <= CnmFrame::LONGEST);
                prop_assert_eq!(CnmFrame::parse(&octets), Ok(answer));
            }
        }
    }
}
