//! The CN-TAG of 802.1Qau, by which a source tells its rate-limited flows apart.
//!
//! `22-E9, then 16 bits that mean something to the source alone`, behind any VLAN tag and in front of the
//! frame's own EtherType. The network copies it into congestion notification messages, and takes it off where a
//! frame leaves the congestion notification domain.

/// Which flow of its source a frame belongs to (the standard's RPID, or flow identifier).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CnTag {
    /// The source's own number for the flow. 0 is also what a message about an untagged frame carries.
    pub flow: u16,
}

impl CnTag {
    /// EtherType and flow.
    pub const LEN: usize = 4;
    /// The EtherType that announces the tag.
    pub const ETHER_TYPE: u16 = 0x22e9;

    /// The octets of the tag, from its EtherType on.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let ([a, b], [c, d]) = (Self::ETHER_TYPE.to_be_bytes(), self.flow.to_be_bytes());
        [a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_its_ether_type_and_the_flow() {
        assert_eq!(CnTag { flow: 7 }.emit(), [0x22, 0xe9, 0x00, 0x07]);
        assert_eq!(CnTag { flow: 0xfedc }.emit(), [0x22, 0xe9, 0xfe, 0xdc]);
    }
}
