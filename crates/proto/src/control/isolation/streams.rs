//! The flows that are isolated at a port (the CI stream table, 802.1Qcz 12.33.3).

use crate::units::Instant;

/// A place for a flow.
pub type Slot<F> = Option<Stream<F>>;

/// What is known of one isolated flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream<F> {
    /// The flow.
    pub flow: F,
    /// Whether it was found congesting here (`create-mask` bit 0).
    pub found_here: bool,
    /// Whether the downstream neighbour named it (`create-mask` bit 1).
    pub named_by_neighbour: bool,
    /// Since when it is isolated (`create-time`).
    pub since: Instant,
    /// When its last frame came, or the neighbour last named it.
    pub active: Instant,
    /// Its frames in the congesting queue.
    pub queued: u32,
    /// Messages sent upstream (`cim-count`).
    pub messages: u8,
    /// Whether a frame of it has entered the congesting queue since: its markers are in place.
    pub moved: bool,
}

/// The table, in storage that the driver gives: its length is the limit on flows.
///
/// Streams lie sorted by flow, so that one is found by halving; there are few, and frames are many.
#[derive(Clone, Debug)]
pub struct StreamTable<F, S> {
    slots: S,
    len: usize,
    flow: core::marker::PhantomData<F>,
}

impl<F: Copy + Ord, S: AsRef<[Slot<F>]> + AsMut<[Slot<F>]>> StreamTable<F, S> {
    /// An empty table in this storage, whatever was in it.
    pub fn new(mut slots: S) -> StreamTable<F, S> {
        slots.as_mut().fill(None);
        StreamTable { slots, len: 0, flow: core::marker::PhantomData }
    }

    /// How many flows are isolated.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there is no room for another.
    pub fn is_full(&self) -> bool {
        self.len == self.slots.as_ref().len()
    }

    /// The streams, by flow.
    pub fn iter(&self) -> impl Iterator<Item = &Stream<F>> {
        self.slots.as_ref()[..self.len].iter().flatten()
    }

    /// What is known of a flow.
    pub fn get(&self, flow: F) -> Option<&Stream<F>> {
        let index = self.search(flow).ok()?;
        self.slots.as_ref()[index].as_ref()
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn get_mut(&mut self, flow: F) -> Option<&mut Stream<F>> {
        if self.len == 0 {
            return None;
        }
        let index = self.search(flow).ok()?;
        self.slots.as_mut()[index].as_mut()
    }

    /// Adds a flow; `None` if the table is full.
    ///
    /// # Panics
    /// When it is in the table.
    pub(super) fn insert(&mut self, stream: Stream<F>) -> Option<&mut Stream<F>> {
        if self.is_full() {
            return None;
        }
        let index = self.search(stream.flow).expect_err("a flow is isolated once");
        let slots = &mut self.slots.as_mut()[..=self.len];
        slots[index..].rotate_right(1);
        self.len += 1;
        Some(slots[index].insert(stream))
    }

    /// Takes out all that `leaves` says, and hands each to `removed`.
    pub(super) fn remove(&mut self, leaves: impl Fn(&Stream<F>) -> bool, mut removed: impl FnMut(Stream<F>)) {
        let slots = &mut self.slots.as_mut()[..self.len];
        let mut kept = 0;
        for index in 0..slots.len() {
            match slots[index] {
                Some(stream) if leaves(&stream) => {
                    slots[index] = None;
                    removed(stream);
                }
                _ => {
                    slots.swap(kept, index);
                    kept += 1;
                }
            }
        }
        self.len = kept;
    }

    fn search(&self, flow: F) -> Result<usize, usize> {
        self.slots.as_ref()[..self.len]
            .binary_search_by(|slot| slot.as_ref().expect("the first `len` slots are taken").flow.cmp(&flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    fn stream(flow: u32) -> Stream<u32> {
        Stream {
            flow,
            found_here: true,
            named_by_neighbour: false,
            since: Instant::START,
            active: Instant::START,
            queued: 0,
            messages: 0,
            moved: false,
        }
    }

    #[test]
    fn a_full_table_takes_nobody() {
        let mut table = StreamTable::new([None; 2]);
        assert!(table.insert(stream(5)).is_some() && table.insert(stream(3)).is_some());
        assert!(table.is_full());
        assert!(table.insert(stream(4)).is_none());
        assert_eq!(table.iter().map(|it| it.flow).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn a_table_without_room_is_one_that_isolates_nobody() {
        let mut table: StreamTable<u32, [Slot<u32>; 0]> = StreamTable::new([]);
        assert!(table.insert(stream(1)).is_none() && table.get(1).is_none());
    }

    proptest! {
        #[test]
        fn it_holds_what_a_set_would(
            room in 0usize..12,
            steps in prop::collection::vec((0u32..20, any::<bool>()), 0..100),
        ) {
            let mut table = StreamTable::new(vec![None; room]);
            let mut set = BTreeSet::new();
            for (flow, comes) in steps {
                if comes && table.get(flow).is_none() {
                    let fits = set.len() < room;
                    prop_assert_eq!(table.insert(stream(flow)).is_some(), fits);
                    if fits {
                        set.insert(flow);
                    }
                } else if !comes {
                    let mut removed = BTreeSet::new();
                    table.remove(|it| it.flow % 5 == flow % 5, |it| {
                        removed.insert(it.flow);
                    });
                    let (gone, kept): (BTreeSet<_>, _) = set.iter().partition(|it| *it % 5 == flow % 5);
                    prop_assert_eq!(removed, gone);
                    set = kept;
                }
                prop_assert!(table.iter().map(|it| it.flow).eq(set.iter().copied()));
                prop_assert!((0..20).all(|it| table.get(it).is_some() == set.contains(&it)));
                prop_assert_eq!(table.len(), set.len());
            }
        }
    }
}
