//! Which source of a host offers next.

use quell_proto::units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Sources by the instants at which they offer something; equal ones by number. The first stands by itself: many hosts have one
/// source, and all turn to the first most of the time.
#[derive(Debug)]
pub(super) struct Due {
    /// Never, if there is none.
    at: Instant,
    number: u32,
    others: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Due {
    /// No source yet.
    pub(super) fn new() -> Due {
        Due { at: Instant::NEVER, number: 0, others: BinaryHeap::new() }
    }

    /// When the first one is due, or never.
    #[inline]
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Which one that is, if there is one.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// When the one after it is due, or never.
    #[inline]
    pub(super) fn second_at(&self) -> Instant {
        self.others.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Another source is due. One that never is need not be known.
    pub(super) fn insert(&mut self, at: Instant, number: u32) {
        if (at, number) < (self.at, self.number) {
            let first = (self.at, self.number);
            (self.at, self.number) = (at, number);
            self.insert_other(first);
        } else {
            self.insert_other((at, number));
        }
    }

    fn insert_other(&mut self, other: (Instant, u32)) {
        if other.0 != Instant::NEVER {
            self.others.push(Reverse(other));
        }
    }

    /// The first one is due again later, or never.
    #[inline(always)]
    pub(super) fn put_off(&mut self, at: Instant) {
        self.at = at;
        if !self.others.is_empty() {
            self.change_first();
        }
    }

    /// The first one may no longer be the first.
    #[inline(never)]
    fn change_first(&mut self) {
        let Some(mut second) = self.others.peek_mut() else { return };
        let Reverse((at, number)) = *second;
        if (at, number) >= (self.at, self.number) {
            return;
        }
        if self.at == Instant::NEVER {
            PeekMut::pop(second);
        } else {
            *second = Reverse((self.at, self.number));
        }
        (self.at, self.number) = (at, number);
    }

    /// A source offers no more.
    pub(super) fn remove(&mut self, number: u32) {
        self.others.retain(|Reverse((_, other))| *other != number);
        if self.number == number {
            self.put_off(Instant::NEVER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is done, the first is that of a sorted list.
        #[test]
        fn it_agrees_with_a_sorted_list(steps in prop::collection::vec((0u64..50, 0u32..8, 0..4), 1..200)) {
            let mut due = Due::new();
            let mut list: Vec<(u64, u32)> = Vec::new();
            for (time, number, what) in steps {
                match what {
                    0 | 1 if list.iter().all(|(_, other)| *other != number) => {
                        due.insert(Instant::from_ps(time), number);
                        list.push((time, number));
                    }
                    2 if !list.is_empty() => {
                        let first = list.remove(0);
                        let next = first.0 + time;
                        due.put_off(if time < 10 { Instant::NEVER } else { Instant::from_ps(next) });
                        list.extend((time >= 10).then_some((next, first.1)));
                    }
                    3 => {
                        due.remove(number);
                        list.retain(|(_, other)| *other != number);
                    }
                    _ => {}
                }
                list.sort_unstable();
                let at = |place: usize| list.get(place).map_or(Instant::NEVER, |(at, _)| Instant::from_ps(*at));
                prop_assert_eq!((due.at(), due.second_at()), (at(0), at(1)));
                prop_assert!(list.first().is_none_or(|(_, number)| *number == due.number()));
            }
        }
    }
}
