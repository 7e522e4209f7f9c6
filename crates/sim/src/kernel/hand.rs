//! A few events in order, of which most come last.
//!
//! What a node books for itself in its turn is mostly later than all it booked before, and there is little of it: a heap would be
//! too much.

/// Comes after every event.
const NEVER: u64 = u64::MAX;

/// Events as numbers, in order, in a ring of as many places as an octet can number.
#[derive(Debug)]
pub(crate) struct Hand {
    /// From `taken` to `end`, round and round, they are in order; at `end` is [`NEVER`].
    places: Box<[u64; PLACES]>,
    taken: u8,
    end: u8,
}

const PLACES: usize = 1 << u8::BITS;

impl Hand {
    /// So many it takes.
    pub(crate) const ROOM: usize = PLACES - 1;

    pub(crate) fn new() -> Hand {
        Hand { places: Box::new([NEVER; PLACES]), taken: 0, end: 0 }
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.end.wrapping_sub(self.taken))
    }

    /// The first; [`NEVER`] if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.places[usize::from(self.taken)]
    }

    /// Takes out the first, which must be there.
    #[inline(always)]
    pub(crate) fn drop_first(&mut self) {
        debug_assert!(self.len() > 0, "nothing is in hand");
        self.taken = self.taken.wrapping_add(1);
    }

    /// Puts a key in its place. There must be room.
    #[inline(always)]
    pub(crate) fn insert(&mut self, key: u64) {
        debug_assert!(self.len() < Self::ROOM, "too many for a hand");
        let mut place = self.end;
        while place != self.taken {
            let before = self.places[usize::from(place.wrapping_sub(1))];
            if before <= key {
                break;
            }
            self.places[usize::from(place)] = before;
            place = place.wrapping_sub(1);
        }
        self.places[usize::from(place)] = key;
        self.end = self.end.wrapping_add(1);
        self.places[usize::from(self.end)] = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        /// Any interleaving gives what a sorted list would give; more come than go, so that some fill the hand.
        #[test]
        fn it_agrees_with_a_sorted_list(steps in prop::collection::vec((0u64..1000, 0usize..4), 1..900)) {
            let mut hand = super::Hand::new();
            let mut list = Vec::new();
            for (key, pops) in steps {
                if list.len() < super::Hand::ROOM {
                    hand.insert(key);
                    list.push(key);
                }
                list.sort_unstable();
                for _ in 0..pops.saturating_sub(2).min(list.len()) {
                    prop_assert_eq!(hand.first(), list.remove(0));
                    hand.drop_first();
                }
                prop_assert_eq!(hand.len(), list.len());
                prop_assert_eq!(hand.first(), list.first().copied().unwrap_or(super::NEVER));
            }
        }
    }
}
