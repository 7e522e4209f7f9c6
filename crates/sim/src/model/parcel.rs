//! What goes from one part of a network to another, where threads simulate one part each.
//!
//! Inside a part, what is on a wire lies in that wire's list. Where a wire leads out of the part,
//! the same thing goes as a parcel to the part at its other end, which puts it into its own list of the same wire.

use super::fabric::{Cell, Mail, Message};
use super::frame::Frame;
use quell_proto::units::Instant;

/// In place of a part's number: this part.
pub(crate) const HERE: u16 = u16::MAX;

/// Something on its way to another part. What crosses a cut is read by another core than wrote it, line by line of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    /// When it arrives.
    pub due: Instant,
    /// What it is.
    pub load: Load,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// A frame on a wire.
    Frame {
        /// The wire.
        wire: u32,
        /// The frame.
        frame: Frame,
    },
    /// The frame of which the next parcel is the last cell. By itself: so no parcel is longer than one with a frame.
    Aboard {
        /// The frame.
        frame: Frame,
    },
    /// A cell on a wire inside a fabric.
    Cell {
        /// The wire.
        wire: u32,
        /// The cell.
        cell: Cell,
    },
    /// Room that is free again at the end of a wire inside a fabric, told to its beginning.
    Credit {
        /// The wire.
        wire: u32,
        /// How much.
        octets: u16,
        /// In which virtual channel.
        channel: u8,
    },
    /// A message from one leaf of a fabric to another.
    Mail {
        /// Its kind.
        kind: Mail,
        /// The leaf it is for.
        leaf: u16,
        /// What it says.
        message: Message,
    },
}

const _: () = assert!(size_of::<Parcel>() == 48);
