//! What kernel and adapter will hide from a packet socket, said before it starts.

use crate::device::packet::Facts;
use crate::device::sys;

/// Flags of `ETHTOOL_GFLAGS`.
const RECEIVES_WITHOUT_TAG: u32 = 1 << 8;
const LARGE_RECEIVE: u32 = 1 << 15;

/// What the user should know of an interface, a sentence each.
pub fn of(name: &str) -> Vec<String> {
    const ETHTOOL_GTSO: u32 = 0x1e;
    const ETHTOOL_GGSO: u32 = 0x23;
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETHTOOL_GGRO: u32 = 0x2b;
    let Some(facts) = Facts::of(name) else { return Vec::new() };
    let flags = sys::ethtool(name, ETHTOOL_GFLAGS).unwrap_or(0);
    let is_on = |command| sys::ethtool(name, command).is_some_and(|data| data != 0);
    let sight = Sight {
        is_software: matches!(facts.driver.as_deref(), Some("veth" | "tun" | "bridge" | "dummy")),
        driver: facts.driver.clone().unwrap_or_else(|| "unknown".to_owned()),
        mtu: facts.mtu,
        strips_tags: flags & RECEIVES_WITHOUT_TAG != 0,
        joins: is_on(ETHTOOL_GGRO) || flags & LARGE_RECEIVE != 0,
        cuts: is_on(ETHTOOL_GTSO) || is_on(ETHTOOL_GGSO),
        pauses: sys::pauses_in_hardware(name),
    };
    sight.in_words(name)
}

/// What is known of the way of a frame from the wire to a packet socket.
#[derive(Clone, Debug)]
struct Sight {
    is_software: bool,
    driver: String,
    mtu: usize,
    strips_tags: bool,
    joins: bool,
    cuts: bool,
    pauses: Option<(bool, bool)>,
}

impl Sight {
    fn in_words(&self, name: &str) -> Vec<String> {
        let mut words = vec![format!(
            "{name}: driver {}, frames of up to {} octets with their header",
            self.driver,
            self.mtu + 14
        )];
        let by = if self.strips_tags && !self.is_software { "the adapter" } else { "the kernel" };
        words.push(format!(
            "{name}: VLAN tags are taken off by {by}; they are put back from what it says of them"
        ));
        if !self.is_software {
            let hidden = match self.pauses {
                Some((true, _)) => "obeys PAUSE by itself, and shows no PAUSE or PFC frame",
                _ => "may keep PAUSE and PFC frames to itself, as adapters do",
            };
            words.push(format!(
                "{name}: the adapter {hidden}; flow control can be seen and obeyed on veth and TAP only"
            ));
        }
        if self.joins {
            words.push(format!(
                "{name}: received segments may be joined to frames longer than the wire's (GRO, LRO), which are dropped as \
                 oversized; `ethtool -K {name} gro off lro off`"
            ));
        }
        if self.cuts {
            words.push(format!(
                "{name}: a sender on this machine may hand over segments longer than a frame (TSO, GSO) and leave checksums \
                 open; `ethtool -K {name} tso off gso off tx off` on its side"
            ));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_physical_adapter_hides_pauses_and_a_veth_does_not() {
        let veth = Sight {
            is_software: true,
            driver: "veth".to_owned(),
            mtu: 1500,
            strips_tags: false,
            joins: false,
            cuts: true,
            pauses: None,
        };
        let words = veth.in_words("v0").join("\n");
        assert!(
            words.contains("1514 octets") && words.contains("TSO") && !words.contains("PAUSE"),
            "{words}"
        );
        let physical = Sight { is_software: false, pauses: Some((true, true)), joins: true, ..veth };
        let words = physical.in_words("eth0").join("\n");
        assert!(words.contains("obeys PAUSE by itself") && words.contains("GRO"), "{words}");
    }

    #[test]
    fn of_an_interface_that_is_not_there_nothing_is_said() {
        assert!(of("quell-none0").is_empty());
    }
}
