//! How a leaf makes frames whole again, and hands them on in the order in which their input sent them.

use super::{Cell, cells_of};
use crate::model::frame::{Handle, Pool};

/// The frames that have partly arrived at a leaf, or are whole and wait for one before them.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// For each input of the fabric, port of the leaf and class.
    streams: Vec<Stream>,
    ports: usize,
    classes: usize,
    parts: Vec<Part>,
    free: u32,
    payload: u16,
}

/// What comes from one input to one port, in one class.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The frame that is handed on next.
    next: u16,
    /// The first of its parts; they stand in the order of their numbers.
    first: u32,
}

/// A frame that has partly arrived.
#[derive(Clone, Copy, Debug)]
struct Part {
    sequence: u16,
    /// Cells that have arrived.
    cells: u16,
    /// The frame, once its last cell is here.
    frame: Option<Handle>,
    next: u32,
}

const NIL: u32 = u32::MAX;

impl Reassembly {
    pub(super) fn new(inputs: usize, ports: usize, classes: usize, payload: u16) -> Reassembly {
        Reassembly {
            streams: vec![Stream { next: 0, first: NIL }; inputs * ports * classes],
            ports,
            classes,
            parts: Vec::new(),
            free: NIL,
            payload,
        }
    }

    /// A cell has arrived.
    #[inline]
    pub(crate) fn put(&mut self, cell: &Cell) {
        let place = self.part_of(cell);
        let part = &mut self.parts[place as usize];
        part.cells += 1;
        part.frame = part.frame.or(cell.frame);
    }

    /// The next frame of the stream of a cell, if all of it is here.
    #[inline]
    pub(crate) fn next(&mut self, cell: &Cell, pool: &Pool) -> Option<Handle> {
        let at = self.stream_of(cell);
        let Stream { next, first } = self.streams[at];
        if first == NIL {
            return None;
        }
        let part = self.parts[first as usize];
        let handle = part.frame.filter(|_| part.sequence == next)?;
        if part.cells < cells_of(pool.get(handle).frame.length, self.payload) {
            return None;
        }
        self.streams[at] = Stream { next: next.wrapping_add(1), first: part.next };
        self.parts[first as usize].next = self.free;
        self.free = first;
        Some(handle)
    }

    #[inline]
    fn stream_of(&self, cell: &Cell) -> usize {
        (usize::from(cell.input) * self.ports + usize::from(cell.port)) * self.classes
            + usize::from(cell.class)
    }

    /// The part that a cell belongs to, made if this is its first cell.
    #[inline]
    fn part_of(&mut self, cell: &Cell) -> u32 {
        let at = self.stream_of(cell);
        let mut before = NIL;
        let mut place = self.streams[at].first;
        // Numbers go round; frames of one stream that are under way at once are far fewer than half of them.
        let is_earlier = |part: &Part| part.sequence.wrapping_sub(cell.sequence) > u16::MAX / 2;
        while place != NIL && is_earlier(&self.parts[place as usize]) {
            (before, place) = (place, self.parts[place as usize].next);
        }
        if place != NIL && self.parts[place as usize].sequence == cell.sequence {
            return place;
        }
        let part = Part { sequence: cell.sequence, cells: 0, frame: None, next: place };
        let new = if self.free == NIL {
            self.parts.push(part);
            (self.parts.len() - 1) as u32
        } else {
            let new = self.free;
            self.free = self.parts[new as usize].next;
            self.parts[new as usize] = part;
            new
        };
        if before == NIL {
            self.streams[at].first = new;
        } else {
            self.parts[before as usize].next = new;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::frame::{Body, Frame};
    use proptest::prelude::*;
    use quell_proto::units::Instant;

    fn cells(pool: &mut Pool, input: u16, sequence: u16, length: u16) -> Vec<Cell> {
        let body = Body::Data { sequence: u32::from(sequence), tag: 0 };
        let frame = Frame { born: Instant::START, flow: u32::from(input), to: 0, body, length, class: 0 };
        let handle = pool.put(frame);
        let count = cells_of(length, 256);
        let cell = Cell { frame: None, input, leaf: 0, sequence, octets: 256, port: 0, class: 0, channel: 0 };
        let mut cells = vec![cell; usize::from(count)];
        cells[usize::from(count) - 1].frame = Some(handle);
        cells
    }

    proptest! {
        /// Whatever order the cells arrive in, frames come out whole and in the order of their stream.
        #[test]
        fn frames_come_out_in_order(
            lengths in prop::collection::vec((0u16..3, 64u16..1600), 1..30),
            shuffle in prop::collection::vec(any::<u32>(), 300),
        ) {
            let mut pool = Pool::default();
            let mut reassembly = Reassembly::new(3, 1, 1, 256);
            let mut sent = [u16::MAX - 4; 3];
            for stream in &mut reassembly.streams {
                stream.next = u16::MAX - 4;
            }
            let mut under_way = Vec::new();
            for (input, length) in &lengths {
                let sequence = &mut sent[usize::from(*input)];
                under_way.extend(cells(&mut pool, *input, *sequence, *length));
                *sequence = sequence.wrapping_add(1);
            }
            let mut got = [u16::MAX - 4; 3];
            for pick in shuffle.iter().cycle() {
                if under_way.is_empty() {
                    break;
                }
                let cell = under_way.swap_remove(*pick as usize % under_way.len());
                reassembly.put(&cell);
                while let Some(handle) = reassembly.next(&cell, &pool) {
                    let frame = pool.get(handle).frame;
                    prop_assert_eq!(frame.flow, u32::from(cell.input));
                    let next = &mut got[usize::from(cell.input)];
                    prop_assert_eq!(frame.body, Body::Data { sequence: u32::from(*next), tag: 0 });
                    *next = next.wrapping_add(1);
                }
            }
            prop_assert_eq!(got, sent);
        }
    }
}
