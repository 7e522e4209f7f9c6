//! Interfaces: where real frames come from and go to.

pub mod memory;
pub mod packet;
pub(crate) mod sys;

use std::fmt;
use std::io;
use std::os::fd::RawFd;

pub use packet::PacketInterface;
pub use sys::RingSize;

/// Where frames come from and go to. Frames have no check sequence, and all their tags.
pub trait Interface {
    /// Writes the next frame that came in to `into`, if there is one, and says how long it is: longer than `into` if some of it
    /// is missing, for want of room there or before.
    fn receive(&mut self, into: &mut [u8]) -> Option<usize>;
    /// Puts a frame on its way; what was put goes at the next [`Interface::flush`].
    fn send(&mut self, octets: &[u8]) -> Sent;
    /// Lets go what was put on its way. Says whether all of it went; what did not is tried again the next time.
    fn flush(&mut self) -> Result<bool, Trouble>;
    /// What is wrong with the interface now, asked a few times a second; `None` if it carries frames.
    fn trouble(&mut self) -> Option<Trouble>;
    /// Frames that came in and were lost before they could be handed over, since this was last asked.
    fn take_overruns(&mut self) -> u64;
    /// What can be waited on until a frame comes in, if anything can.
    fn socket(&self) -> Option<RawFd>;
}

/// What became of a frame that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Yes,
    /// There is no room.
    Full,
    /// It is longer than the interface sends.
    TooLong,
}

/// What is wrong with an interface.
#[derive(Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// There is none of this name.
    Missing {
        /// The name.
        name: String,
    },
    /// The process may not open it.
    Forbidden {
        /// Its name.
        name: String,
    },
    /// It is down, or went down.
    Down {
        /// Its name.
        name: String,
    },
    /// It is up, and nothing is at its other end: a peer that is down, no cable.
    NoCarrier {
        /// Its name.
        name: String,
    },
    /// It was taken away.
    Vanished {
        /// Its name.
        name: String,
    },
    /// It is not an Ethernet.
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// The system refused something else.
    System {
        /// Its name.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl Trouble {
    /// What helps against it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Trouble::Missing { .. } => {
                Some("`ip link` lists the interfaces of this network namespace".to_owned())
            }
            Trouble::Forbidden { .. } => Some(
                "run it as root, or give the binary the right with `setcap cap_net_raw,cap_net_admin+ep`"
                    .to_owned(),
            ),
            Trouble::Down { name } => Some(format!("`ip link set {name} up`")),
            Trouble::NotEthernet { .. } => Some("veth, TAP and physical Ethernet interfaces are".to_owned()),
            Trouble::NoCarrier { .. } => Some("its other end must be up too".to_owned()),
            Trouble::Vanished { .. } | Trouble::System { .. } => None,
        }
    }

    /// Whether it may be over by itself: then a station waits for it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Trouble::Down { .. } | Trouble::NoCarrier { .. })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Missing { name } => write!(f, "there is no interface `{name}` here"),
            Trouble::Forbidden { name } => {
                write!(f, "interface `{name}`: this process may not open packet sockets")
            }
            Trouble::Down { name } => write!(f, "interface `{name}` is down"),
            Trouble::NoCarrier { name } => write!(f, "interface `{name}` has no carrier"),
            Trouble::Vanished { name } => write!(f, "interface `{name}` was taken away"),
            Trouble::NotEthernet { name } => write!(f, "interface `{name}` is not an Ethernet"),
            Trouble::System { name, doing, error } => {
                write!(f, "interface `{name}`: cannot {doing}: {error}")
            }
        }
    }
}

impl std::error::Error for Trouble {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Trouble::System { error, .. } => Some(error),
            _ => None,
        }
    }
}
