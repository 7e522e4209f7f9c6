//! Frames in files that packet analysers read: pcapng, written and read, and the older pcap, read.
//!
//! A capture is not part of a recording's digest: it is a second view of the same run, for those who want octets.
//! Both formats are a few kinds of length-prefixed blocks; what of them is used here is described where it is read
//! and written.

mod read;
mod write;

pub use read::{CaptureReader, Captured, Link};
pub use write::{CaptureWriter, Interface};

use std::error::Error;
use std::fmt;
use std::io;

/// The link type of Ethernet, in both formats.
pub const ETHERNET: u16 = 1;

/// Kinds of pcapng blocks.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// The number by which a pcapng section tells its byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Options of pcapng blocks.
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const OPT_SECTION_TOOL: u16 = 4;
const OPT_IF_NAME: u16 = 2;
const OPT_IF_DESCRIPTION: u16 = 3;
const OPT_IF_SPEED: u16 = 8;
const OPT_IF_RESOLUTION: u16 = 9;
const OPT_IF_OFFSET: u16 = 14;
const OPT_STATISTICS_SENT: u16 = 4;

/// Why a capture cannot be read, or read on.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The system refused.
    Io(io::Error),
    /// It starts like neither of the two formats.
    NotACapture {
        /// Its first four octets, or as many as there are.
        found: Vec<u8>,
    },
    /// A later version wrote it in a form that is not known here.
    Version {
        /// Its version, before and behind the dot.
        found: (u16, u16),
    },
    /// The file ends within a block.
    CutShort {
        /// Where the block starts, in octets.
        at: u64,
    },
    /// A block contradicts itself, so that the next one cannot be found.
    Damaged {
        /// Where the block starts, in octets.
        at: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Io(error) => write!(f, "cannot read: {error}"),
            CaptureError::NotACapture { found } if found.is_empty() => f.write_str("the file is empty"),
            CaptureError::NotACapture { found } => {
                let found: Vec<String> = found.iter().map(|octet| format!("{octet:02x}")).collect();
                write!(f, "neither pcapng nor pcap: it starts with {}", found.join(" "))
            }
            CaptureError::Version { found: (major, minor) } => {
                write!(f, "version {major}.{minor} of its format is not known here")
            }
            CaptureError::CutShort { at } => write!(f, "the file ends within the block at octet {at}"),
            CaptureError::Damaged { at, what } => write!(f, "the block at octet {at} is damaged: {what}"),
        }
    }
}

impl Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> CaptureError {
        CaptureError::Io(error)
    }
}

#[cfg(test)]
mod tests;
