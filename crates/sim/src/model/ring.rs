//! A set of small numbers that is walked round robin.

/// Members below some bound, one bit each; the first 64 without a look at the heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    first: u64,
    rest: Box<[u64]>,
    /// Where the next round begins.
    turn: u32,
}

impl Ring {
    /// An empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Ring {
        Ring { first: 0, rest: vec![0; bound.saturating_sub(64).div_ceil(64)].into(), turn: 0 }
    }

    #[inline]
    fn word(&mut self, member: usize) -> &mut u64 {
        if member < 64 { &mut self.first } else { &mut self.rest[member / 64 - 1] }
    }

    #[inline]
    pub(crate) fn insert(&mut self, member: usize) {
        *self.word(member) |= 1 << (member % 64);
    }

    #[inline]
    pub(crate) fn remove(&mut self, member: usize) {
        *self.word(member) &= !(1 << (member % 64));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|word| *word == 0)
    }

    /// The members, beginning with the one whose turn it is and going round once.
    #[inline]
    pub(crate) fn round(&self) -> impl Iterator<Item = usize> {
        let turn = self.turn as usize;
        self.members(turn, usize::MAX).chain(self.members(0, turn))
    }

    /// The next round begins after this member.
    #[inline]
    pub(crate) fn served(&mut self, member: usize) {
        self.turn = member as u32 + 1;
    }

    /// Members from `from` up to but not including `to`, ascending.
    #[inline]
    fn members(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let words = self.rest.len() + 1;
        (from / 64..words.min(to.div_ceil(64))).flat_map(move |index| {
            let mut word = if index == 0 { self.first } else { self.rest[index - 1] };
            if index == from / 64 {
                word &= !0 << (from % 64);
            }
            if to / 64 == index {
                word &= (1 << (to % 64)) - 1;
            }
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as usize;
                    word &= word - 1;
                    index * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_begins_after_the_one_served_last() {
        for bound in [10, 64, 65, 200] {
            let mut ring = Ring::new(bound);
            let members = [0, 3, bound / 2, bound - 1];
            for member in members {
                ring.insert(member);
            }
            let mut sorted = members.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            for (place, member) in sorted.iter().enumerate() {
                ring.served(*member);
                let mut expected = sorted.clone();
                expected.rotate_left((place + 1) % sorted.len());
                assert_eq!(ring.round().collect::<Vec<_>>(), expected, "after {member} of {bound}");
            }
            for member in members {
                ring.remove(member);
            }
            assert!(ring.is_empty());
        }
    }
}
