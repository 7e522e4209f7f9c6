//! The events of one neighbourhood: a few dozen as a rule, now and then thousands.
//!
//! A heap in which each event has four below it, so that there are few levels and the four lie side by side. An event that is
//! taken out leaves a hole at the top: most events book another of their node at once, and that goes down from there.

use super::agenda::Event;

const BELOW: usize = 4;

/// Pending events, of which the first can be taken out.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// No event comes before the one at `(place - 1) / 4`; but the first may be a hole.
    events: Vec<Event>,
    has_hole: bool,
}

impl Heap {
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        if std::mem::take(&mut self.has_hole) {
            self.sink(event);
        } else {
            self.rise(event);
        }
    }

    /// Takes out the first event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let first = self.first()?;
        self.has_hole = true;
        Some(first)
    }

    /// The first event.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<Event> {
        self.fill();
        self.events.first().copied()
    }

    /// All of them, in no order; the first may have been taken out.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Fills the hole at the top, if there is one, with the last event.
    #[inline]
    fn fill(&mut self) {
        if std::mem::take(&mut self.has_hole)
            && let Some(last) = self.events.pop()
            && !self.events.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts an event in from below.
    fn rise(&mut self, event: Event) {
        let mut place = self.events.len();
        self.events.push(event);
        while place > 0 {
            let above = (place - 1) / BELOW;
            if self.events[above].key() <= event.key() {
                break;
            }
            self.events[place] = self.events[above];
            place = above;
        }
        self.events[place] = event;
    }

    /// Puts an event in from the top, where the hole is.
    fn sink(&mut self, event: Event) {
        let events = &mut self.events[..];
        let mut place = 0;
        loop {
            let below = place * BELOW + 1;
            let least = match events.get(below..) {
                Some([a, b, c, d, ..]) => {
                    let left = if b.key() < a.key() { (b.key(), 1) } else { (a.key(), 0) };
                    let right = if d.key() < c.key() { (d.key(), 3) } else { (c.key(), 2) };
                    if right.0 < left.0 { right } else { left }
                }
                Some(few) if !few.is_empty() => {
                    (few.iter().zip(0..).map(|(other, step)| (other.key(), step)).min())
                        .expect("there is one")
                }
                _ => break,
            };
            if event.key() <= least.0 {
                break;
            }
            events[place] = events[below + least.1];
            place = below + least.1;
        }
        events[place] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::super::agenda::{Lane, LaneKind};
    use super::*;
    use proptest::prelude::*;
    use quell_proto::units::Instant;

    fn event(at: u64, node: u32) -> Event {
        Event::new(Instant::from_ps(at), node, Lane::new(LaneKind::Arrival, 0))
    }

    proptest! {
        /// Any interleaving gives what a sorted list would give.
        #[test]
        fn it_agrees_with_a_sorted_list(steps in prop::collection::vec((0u64..40, 0u32..3, 0usize..3), 1..300)) {
            let mut heap = Heap::default();
            let mut list = Vec::new();
            for (at, node, pops) in steps {
                let event = event(at, node);
                heap.push(event);
                list.push(event);
                list.sort_unstable();
                for _ in 0..pops {
                    let first = list.first().copied();
                    prop_assert_eq!(heap.first(), first);
                    prop_assert_eq!(heap.pop(), first);
                    list = list.split_off(list.len().min(1));
                }
            }
            while let Some(event) = heap.pop() {
                prop_assert_eq!(event, list.remove(0));
            }
            prop_assert!(list.is_empty());
        }
    }
}
