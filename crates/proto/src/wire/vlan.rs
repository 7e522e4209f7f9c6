//! VLAN tags of 802.1Q: the customer's (C-TAG), the provider's (S-TAG), and stacks of them.
//!
//! `81-00 or 88-A8, then 16 bits: priority(3) drop eligible(1) VLAN(12)`

use super::WireError;
use crate::units::Priority;

/// Which of the two VLAN tags it is; they differ in their EtherType alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VlanKind {
    /// The C-TAG, 81-00: what a station or a customer's bridge sets.
    #[default]
    Customer,
    /// The S-TAG, 88-A8: what a provider's bridge puts around a customer's frame.
    Service,
}

/// The twelve bits that name a VLAN. 0 names none: the tag is there for its priority. 4095 is reserved, and read
/// like any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(u16);

/// A VLAN tag: which network a frame belongs to, and at which priority it travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// Customer's or provider's.
    pub kind: VlanKind,
    /// The priority code point (PCP).
    pub priority: Priority,
    /// Whether the frame goes first when frames must be dropped (DEI).
    pub drop_eligible: bool,
    /// The network (VID).
    pub id: VlanId,
}

/// The VLAN tags of a frame, outermost first. A frame rarely has more than two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tags {
    count: u8,
    /// Those behind `count` are all default, so that equal stacks are equal values.
    slots: [VlanTag; Tags::MOST],
}

impl VlanKind {
    pub(super) const CUSTOMER: u16 = 0x8100;
    pub(super) const SERVICE: u16 = 0x88a8;

    /// The kind of tag that this EtherType announces, if any.
    pub const fn from_ether_type(number: u16) -> Option<VlanKind> {
        match number {
            Self::CUSTOMER => Some(VlanKind::Customer),
            Self::SERVICE => Some(VlanKind::Service),
            _ => None,
        }
    }

    /// The EtherType that announces this kind of tag.
    pub const fn ether_type(self) -> u16 {
        match self {
            VlanKind::Customer => Self::CUSTOMER,
            VlanKind::Service => Self::SERVICE,
        }
    }
}

impl VlanId {
    /// A VLAN, if its number has twelve bits.
    pub const fn new(number: u16) -> Option<VlanId> {
        if number < 1 << 12 { Some(VlanId(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl VlanTag {
    /// EtherType and tag control information.
    pub const LEN: usize = 4;
    const DROP_ELIGIBLE: u16 = 1 << 12;

    /// Reads the tag control information (TCI): the two octets behind the tag's EtherType. Every value is a tag.
    pub fn from_control(kind: VlanKind, control: u16) -> VlanTag {
        VlanTag {
            kind,
            priority: super::top_priority(control),
            drop_eligible: control & Self::DROP_ELIGIBLE != 0,
            id: VlanId(control & 0x0fff),
        }
    }

    /// The tag control information of this tag.
    pub fn control(&self) -> u16 {
        let drop_eligible = if self.drop_eligible { Self::DROP_ELIGIBLE } else { 0 };
        u16::from(self.priority.get()) << 13 | drop_eligible | self.id.0
    }

    /// The octets of the tag, from its EtherType on.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let ([a, b], [c, d]) = (self.kind.ether_type().to_be_bytes(), self.control().to_be_bytes());
        [a, b, c, d]
    }
}

impl Tags {
    /// The deepest stack that is read or written.
    pub const MOST: usize = 4;
    const EMPTY: VlanTag = VlanTag {
        kind: VlanKind::Customer,
        priority: Priority::new(0).unwrap(),
        drop_eligible: false,
        id: VlanId(0),
    };
    /// No tag at all.
    pub const NONE: Tags = Tags { count: 0, slots: [Tags::EMPTY; Tags::MOST] };

    /// A single tag.
    pub const fn one(tag: VlanTag) -> Tags {
        let mut tags = Tags::NONE;
        tags.slots[0] = tag;
        tags.count = 1;
        tags
    }

    /// Adds a tag inside those there are.
    pub fn push(&mut self, tag: VlanTag) -> Result<(), WireError> {
        let slot = self.slots.get_mut(usize::from(self.count)).ok_or(WireError::TooManyTags)?;
        *slot = tag;
        self.count += 1;
        Ok(())
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    /// The tags, outermost first.
    pub fn as_slice(&self) -> &[VlanTag] {
        &self.slots[..self.count()]
    }

    /// The tags, to be changed where they stand.
    pub fn as_mut_slice(&mut self) -> &mut [VlanTag] {
        let count = self.count();
        &mut self.slots[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_customer_tag_has_priority_then_drop_bit_then_vlan() {
        let tag = VlanTag {
            kind: VlanKind::Customer,
            priority: Priority::new(6).unwrap(),
            drop_eligible: false,
            id: VlanId::new(100).unwrap(),
        };
        assert_eq!(tag.emit(), [0x81, 0x00, 0xc0, 0x64]);
        assert_eq!(VlanTag { drop_eligible: true, ..tag }.emit(), [0x81, 0x00, 0xd0, 0x64]);
    }

    #[test]
    fn a_service_tag_differs_in_its_ether_type_alone() {
        let tag = VlanTag { kind: VlanKind::Service, ..VlanTag::from_control(VlanKind::Customer, 0xc064) };
        assert_eq!(tag.emit(), [0x88, 0xa8, 0xc0, 0x64]);
    }

    #[test]
    fn a_vlan_has_twelve_bits() {
        assert_eq!(VlanId::new(4095).map(VlanId::get), Some(4095));
        assert_eq!(VlanId::new(4096), None);
    }

    #[test]
    fn tags_stack_inwards_up_to_four() {
        let outer = VlanTag::from_control(VlanKind::Service, 10);
        let inner = VlanTag::from_control(VlanKind::Customer, 100);
        let mut tags = Tags::one(outer);
        tags.push(inner).unwrap();
        assert_eq!(tags.as_slice(), [outer, inner]);
        tags.push(inner).unwrap();
        tags.push(inner).unwrap();
        assert_eq!(tags.push(inner), Err(WireError::TooManyTags));
        assert_eq!(tags.count(), 4);
    }

    #[test]
    fn no_tags_is_the_default() {
        assert_eq!(Tags::default(), Tags::NONE);
    }

    proptest! {
        #[test]
        fn every_control_word_is_a_tag_and_comes_back(control: u16) {
            let tag = VlanTag::from_control(VlanKind::Service, control);
            prop_assert_eq!(tag.control(), control);
        }
    }
}
