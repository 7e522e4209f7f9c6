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
    pub(crate) fn round(&self) -> Round<'_> {
        let turn = self.turn as usize;
        Round { ring: self, at: turn, turn, wrapped: false }
    }

    /// The member whose turn it is: the first of [`round`](Self::round).
    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        if !self.rest.is_empty() || self.turn > 63 {
            return self.round().next();
        }
        let later = self.first & (!0 << self.turn);
        let word = if later != 0 { later } else { self.first };
        (word != 0).then(|| word.trailing_zeros() as usize)
    }

    /// The next round begins after this member.
    #[inline]
    pub(crate) fn served(&mut self, member: usize) {
        self.turn = member as u32 + 1;
    }

    /// The first member not below `from`.
    #[inline]
    fn first_from(&self, from: usize) -> Option<usize> {
        let mut index = from / 64;
        let mut word = if index == 0 { self.first } else { *self.rest.get(index - 1)? };
        word &= !0 << (from % 64);
        while word == 0 {
            word = *self.rest.get(index)?;
            index += 1;
        }
        Some(index * 64 + word.trailing_zeros() as usize)
    }
}

/// A walk round a [`Ring`].
#[derive(Clone, Debug)]
pub(crate) struct Round<'a> {
    ring: &'a Ring,
    at: usize,
    turn: usize,
    wrapped: bool,
}

impl Iterator for Round<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let mut found = self.ring.first_from(self.at);
        if found.is_none() && !self.wrapped {
            self.wrapped = true;
            found = self.ring.first_from(0);
        }
        let member = found.filter(|member| !self.wrapped || *member < self.turn)?;
        self.at = member + 1;
        Some(member)
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
                assert_eq!(ring.first(), expected.first().copied(), "after {member} of {bound}");
            }
            for member in members {
                ring.remove(member);
            }
            assert!(ring.is_empty());
            assert_eq!(ring.first(), None);
        }
    }
}
