//! Frames that wait: octets in slots that are made once, and queues of slots.

use std::collections::VecDeque;

/// Room for so many frames of so many octets, all of it taken at the start.
#[derive(Debug)]
pub(crate) struct Pool {
    octets: Vec<u8>,
    slot: usize,
    lengths: Vec<u32>,
    free: Vec<u32>,
}

/// A frame in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Pool {
    /// The length of a slot that holds nothing.
    const FREE: u32 = u32::MAX;

    pub(crate) fn new(slots: u32, slot: usize) -> Pool {
        Pool {
            octets: vec![0; slots as usize * slot],
            slot,
            lengths: vec![Self::FREE; slots as usize],
            free: (0..slots).rev().collect(),
        }
    }

    /// Keeps a frame; `None` if there is no free slot or the frame is longer than one.
    pub(crate) fn put(&mut self, octets: &[u8]) -> Option<Slot> {
        self.put_with(octets.len(), |slot| slot.copy_from_slice(octets))
    }

    /// Keeps a frame of this length that `write` writes.
    pub(crate) fn put_with(&mut self, length: usize, write: impl FnOnce(&mut [u8])) -> Option<Slot> {
        if length > self.slot {
            return None;
        }
        let slot = self.free.pop()?;
        let from = slot as usize * self.slot;
        write(&mut self.octets[from..from + length]);
        self.lengths[slot as usize] = length as u32;
        Some(Slot(slot))
    }

    pub(crate) fn get(&self, slot: Slot) -> &[u8] {
        let from = slot.0 as usize * self.slot;
        &self.octets[from..from + self.lengths[slot.0 as usize] as usize]
    }

    pub(crate) fn free(&mut self, slot: Slot) {
        let length = std::mem::replace(&mut self.lengths[slot.0 as usize], Self::FREE);
        assert!(length != Self::FREE, "slot {} freed twice", slot.0);
        self.free.push(slot.0);
    }
}

/// Frames in the order in which they came, with what each of them is charged to.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    frames: VecDeque<(Slot, T)>,
}

impl<T: Copy> Fifo<T> {
    /// One that holds so many without growing.
    pub(crate) fn new(frames: usize) -> Fifo<T> {
        Fifo { frames: VecDeque::with_capacity(frames) }
    }

    pub(crate) fn push(&mut self, slot: Slot, note: T) {
        self.frames.push_back((slot, note));
    }

    pub(crate) fn pop(&mut self) -> Option<(Slot, T)> {
        self.frames.pop_front()
    }

    pub(crate) fn head(&self) -> Option<(Slot, T)> {
        self.frames.front().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pool_and_a_long_frame_are_refused() {
        let mut pool = Pool::new(2, 8);
        assert_eq!(pool.put(&[0; 9]), None);
        let first = pool.put(b"first").unwrap();
        let second = pool.put(b"second..").unwrap();
        assert_eq!(pool.put(b"third"), None);
        assert_eq!(pool.get(first), b"first");
        pool.free(first);
        let third = pool.put(b"3").unwrap();
        assert_eq!((pool.get(third), pool.get(second)), (&b"3"[..], &b"second.."[..]));
    }
}
