//! What nodes tell of besides frames and counts.

use quell_proto::units::{Instant, Rate};

/// Something that a recording or a warning tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: usize,
    /// What.
    pub what: Happening,
}

/// What can happen at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// Its congestion point sent a notification: the flow of the CN-TAG, if there was one, and the feedback.
    Cnm(Option<u16>, u8),
    /// It stopped its peer; what it had brought in.
    Stop(u64),
    /// It let its peer go; likewise.
    Go(u64),
    /// Its peer stopped it.
    Paused,
    /// It may send again.
    Resumed,
    /// It dropped a frame of this length.
    Drop(u64),
    /// Its service changed to this rate.
    Service(Rate),
    /// Its link went down.
    LinkDown,
    /// Its link came up.
    LinkUp,
    /// More control frames came than any peer has reason to send: too many notifications, of which those beyond are ignored,
    /// or pauses, of which all are until they are fewer.
    Storm,
    /// Its peer has held it for a second without a break.
    HeldLong,
}

/// Notes that wait to be fetched, no more than a fixed number of them.
#[derive(Debug)]
pub(crate) struct Noted {
    notes: Vec<Note>,
    left_out: u64,
}

impl Noted {
    const MOST: usize = 1 << 14;

    pub(crate) fn new() -> Noted {
        Noted { notes: Vec::with_capacity(Self::MOST), left_out: 0 }
    }

    pub(crate) fn note(&mut self, at: Instant, port: usize, what: Happening) {
        if self.notes.len() < Self::MOST {
            self.notes.push(Note { at, port, what });
        } else {
            self.left_out += 1;
        }
    }

    /// Notes that found no room, since the start.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Note> {
        self.notes.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_beyond_the_room_for_them_are_counted() {
        let mut noted = Noted::new();
        for _ in 0..Noted::MOST + 3 {
            noted.note(Instant::START, 0, Happening::Paused);
        }
        assert_eq!((noted.drain().count(), noted.left_out()), (Noted::MOST, 3));
        noted.note(Instant::START, 0, Happening::Resumed);
        assert_eq!((noted.drain().count(), noted.left_out()), (1, 3));
    }
}
