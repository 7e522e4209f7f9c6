//! An interface of Linux, through the rings of a packet socket.

use super::sys::{self, Arrived, RingSize, Rings};
use super::{Interface, Sent, Trouble};
use quell_proto::wire::MacAddr;
use std::io;
use std::os::fd::RawFd;

/// An interface of Linux: veth, TAP or physical.
///
/// The kernel takes the outermost VLAN tag off a frame before a packet socket sees it, and with it the priority; it is put
/// back here from what the ring says. The socket stays in the network namespace it was opened in, whatever the thread
/// does later.
#[derive(Debug)]
pub struct PacketInterface {
    name: String,
    address: MacAddr,
    mtu: usize,
    longest: usize,
    rings: Rings,
}

/// Octets of an untagged Ethernet header.
const HEADER: usize = 14;
/// Octets of a VLAN tag.
const TAG: usize = 4;
/// Where a tag stands: behind the two addresses.
const TAG_AT: usize = 12;
/// What a C-TAG starts with.
const C_TAG: [u8; 2] = [0x81, 0x00];

impl PacketInterface {
    /// Opens an interface of this thread's network namespace, with rings of this many slots each way.
    pub fn open(name: &str, slots: u32) -> Result<PacketInterface, Trouble> {
        let facts = Facts::of(name).ok_or_else(|| Trouble::Missing { name: name.to_owned() })?;
        if !facts.is_ethernet {
            return Err(Trouble::NotEthernet { name: name.to_owned() });
        }
        let longest = facts.mtu + HEADER;
        // Room for the frame, its tag, and what the kernel puts in front of it.
        let slot = (longest + TAG + 128).next_power_of_two().clamp(2048, 1 << 16) as u32;
        let open = |doing, error: io::Error| trouble(name, doing, error);
        let index = sys::index_of(name).map_err(|error| open("find", error))?;
        let size = RingSize { slot, receive: slots, send: slots };
        let rings = Rings::open(index, size).map_err(|error| open("open", error))?;
        let longest = longest.min(rings.most() - TAG);
        let mut opened =
            PacketInterface { name: name.to_owned(), address: facts.address, mtu: facts.mtu, longest, rings };
        // Nobody at the other end may yet come.
        match opened.trouble() {
            None | Some(Trouble::NoCarrier { .. }) => Ok(opened),
            Some(trouble) => Err(trouble),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address.
    pub fn address(&self) -> MacAddr {
        self.address
    }

    /// The longest payload it carries.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// The longest frame it sends, without check sequence. One whose outermost tag is a C-TAG may be longer by that tag, and
    /// no other: what the kernel finds too long it takes from the ring and drops without a word.
    pub fn longest(&self) -> usize {
        self.longest
    }

    fn has_room_for(&self, octets: &[u8]) -> bool {
        let is_tagged = octets.get(TAG_AT..TAG_AT + 2) == Some(&C_TAG);
        octets.len() <= self.longest + if is_tagged { TAG } else { 0 }
    }
}

impl Interface for PacketInterface {
    fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        self.rings.receive(|Arrived { octets, length, tag }| {
            let tag = tag.filter(|_| octets.len() >= TAG_AT);
            let whole = length + if tag.is_some() { TAG } else { 0 };
            // Joined segments may be longer than a slot, which then holds the start of them.
            if octets.len() < length || whole > into.len() {
                return whole.max(into.len() + 1);
            }
            let Some((kind, control)) = tag else {
                into[..length].copy_from_slice(octets);
                return length;
            };
            let (addresses, rest) = octets.split_at(TAG_AT);
            into[..TAG_AT].copy_from_slice(addresses);
            into[TAG_AT..TAG_AT + 2].copy_from_slice(&kind.to_be_bytes());
            into[TAG_AT + 2..TAG_AT + TAG].copy_from_slice(&control.to_be_bytes());
            into[TAG_AT + TAG..whole].copy_from_slice(rest);
            whole
        })
    }

    fn send(&mut self, octets: &[u8]) -> Sent {
        if !self.has_room_for(octets) {
            return Sent::TooLong;
        }
        let write = |slot: &mut [u8]| {
            slot[..octets.len()].copy_from_slice(octets);
            octets.len()
        };
        if self.rings.queue(write) {
            return Sent::Yes;
        }
        // The ring is full of what was not let go yet, perhaps.
        let _ = self.rings.flush();
        Sent::Full
    }

    fn flush(&mut self) -> Result<bool, Trouble> {
        self.rings.flush().map_err(|error| trouble(&self.name, "send", error))
    }

    fn trouble(&mut self) -> Option<Trouble> {
        // An error of the socket is over once it was asked for; whether the interface is up is not.
        let error = self.rings.take_error();
        let name = || self.name.clone();
        let found = match self.rings.is_up(&self.name) {
            Ok(false) => Some(Trouble::Down { name: name() }),
            Err(_) => Some(Trouble::Vanished { name: name() }),
            Ok(true) if !self.rings.has_carrier(&self.name) => Some(Trouble::NoCarrier { name: name() }),
            Ok(true) => error
                .filter(|error| error.raw_os_error() != Some(libc::ENETDOWN))
                .map(|error| trouble(&self.name, "receive", error)),
        };
        // The kernel keeps what it could not send in the ring, and would send it when nobody waits for it any more.
        if found.is_some() {
            self.rings.withdraw();
        }
        found
    }

    fn take_overruns(&mut self) -> u64 {
        self.rings.take_overruns()
    }

    fn socket(&self) -> Option<RawFd> {
        Some(self.rings.raw())
    }
}

fn trouble(name: &str, doing: &'static str, error: io::Error) -> Trouble {
    let name = name.to_owned();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Trouble::Forbidden { name },
        Some(libc::ENETDOWN) => Trouble::Down { name },
        Some(libc::ENODEV | libc::ENXIO) if doing == "find" => Trouble::Missing { name },
        Some(libc::ENODEV | libc::ENXIO) => Trouble::Vanished { name },
        _ => Trouble::System { name, doing, error },
    }
}

/// What the system says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its address.
    pub address: MacAddr,
    /// The longest payload it carries.
    pub mtu: usize,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it carries Ethernet frames.
    pub is_ethernet: bool,
    /// The driver behind it: `veth` and `tun` are software alone.
    pub driver: Option<String>,
}

impl Facts {
    /// Those of an interface of this thread's network namespace; `None` if there is none of this name.
    pub fn of(name: &str) -> Option<Facts> {
        let (flags, mtu, kind, address) = sys::describe(name).ok()?;
        Some(Facts {
            address: MacAddr(address),
            mtu,
            is_up: flags & libc::IFF_UP as u32 != 0,
            is_ethernet: kind == libc::ARPHRD_ETHER,
            driver: sys::driver(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_missing() {
        let error = PacketInterface::open("quell-none0", 64).unwrap_err();
        assert!(matches!(error, Trouble::Missing { .. }), "{error}");
        assert_eq!(error.to_string(), "there is no interface `quell-none0` here");
        assert!(matches!(PacketInterface::open("../lo", 64), Err(Trouble::Missing { .. })));
    }

    #[test]
    fn the_loopback_is_no_ethernet() {
        assert!(matches!(PacketInterface::open("lo", 64), Err(Trouble::NotEthernet { .. })));
    }
}
