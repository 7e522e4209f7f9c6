//! Events in time order, at a cost that does not grow with their number.
//!
//! A wheel of buckets covers the near future; each holds a list of chunks of events, so that the memory in use is that of
//! the events pending, not of the buckets, and a full bucket is read in few lines of the cache. The bucket in hand is sorted
//! when it comes up. What lies beyond the wheel waits in a heap; that is the place of slow timers.
//!
//! Equal-time events leave by node, then by lane. That order belongs to the network, not to the order in which
//! events were booked, so any cut of the network into parts that keep their own agendas gives the same run.

use quell_proto::units::Instant;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What wakes a node: an arrival on a link, a port that falls free, a timer.
///
/// The order of fields is the order of events: time, then node, then lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// When.
    pub at: Instant,
    /// The node it wakes.
    pub node: u32,
    /// What of the node it concerns.
    pub lane: Lane,
}

impl Event {
    /// Its fields as one number, which compares faster than one field after the other.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.ps()) << 64 | u128::from(self.node) << 32 | u128::from(self.lane.0)
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Event) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What of a node an event concerns. At one instant a node sees its lanes in the order of [`LaneKind`], each by
/// index. A lane has at most one event that matters; a stale one fires harmlessly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(u32);

/// The kinds of lanes. **Their order is load-bearing**: it is the order of equal-time events at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum LaneKind {
    /// The scenario changes something about the node.
    Change,
    /// The first frame on a wire arrives; the index is the wire. A node's wires are in the order of its ports.
    Arrival,
    /// The first cell on an incoming wire of a fabric arrives; the index is the inlet.
    Cell,
    /// A leaf of a fabric has mail; the index is its kind.
    Message,
    /// A frame crosses the inside of a switch and reaches an output buffer; the index is the port.
    Crossing,
    /// An input hears that a frame of its own is on its output's wire; the index is the output.
    Acknowledgement,
    /// A pause that a peer asked for may have run out; the index is the port.
    PauseExpiry,
    /// A source turns on or off; the index is the source.
    Source,
    /// A notification takes effect after the adapter's reaction time.
    Reaction,
    /// A limiter's timer; the index is the limiter.
    Limiter,
    /// A sender has waited too long for an acknowledgement; the index is the flow, counted from the host's first.
    Retransmit,
    /// A pause must be refreshed before it runs out; the index is the input.
    Refresh,
    /// The clock of a congestion point while its input is paused; the index is the input.
    KeepAlive,
    /// A receiver has taken a frame in.
    Receive,
    /// An output's arbiter may grant again; the index is the port.
    Grant,
    /// An outlet into a fabric may take another cell; the index is the outlet of a router, and zero at a leaf.
    Outlet,
    /// A port may begin a frame; the index is the port.
    Transmit,
}

impl Lane {
    const INDEX_BITS: u32 = 24;

    /// The lane of this kind and index.
    pub(crate) const fn new(kind: LaneKind, index: u32) -> Lane {
        debug_assert!(index < 1 << Self::INDEX_BITS);
        Lane((kind as u32) << Self::INDEX_BITS | index)
    }

    /// Its kind.
    pub(crate) fn kind(self) -> LaneKind {
        const KINDS: [LaneKind; 17] = [
            LaneKind::Change,
            LaneKind::Arrival,
            LaneKind::Cell,
            LaneKind::Message,
            LaneKind::Crossing,
            LaneKind::Acknowledgement,
            LaneKind::PauseExpiry,
            LaneKind::Source,
            LaneKind::Reaction,
            LaneKind::Limiter,
            LaneKind::Retransmit,
            LaneKind::Refresh,
            LaneKind::KeepAlive,
            LaneKind::Receive,
            LaneKind::Grant,
            LaneKind::Outlet,
            LaneKind::Transmit,
        ];
        KINDS[(self.0 >> Self::INDEX_BITS) as usize]
    }

    /// Its place among the lanes of a node.
    pub(crate) const fn rank(self) -> u32 {
        self.0
    }

    /// Its index.
    pub(crate) const fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

const BUCKETS: usize = 4096;
const WORDS: usize = BUCKETS / 64;
const MASK: u64 = BUCKETS as u64 - 1;
const NIL: u32 = u32::MAX;

/// The pending events of one run.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// A bucket spans `2^shift` picoseconds.
    shift: u32,
    /// Number of the bucket in hand: its events have `at >> shift` equal to this.
    turn: u64,
    /// The bucket in hand, last event first.
    hand: Vec<Event>,
    /// The first chunk of each bucket; the others are full.
    heads: Box<[u32; BUCKETS]>,
    /// One bit a bucket, set while it holds events.
    full: [u64; WORDS],
    /// One bit a word of `full`, set while the word is not zero.
    words: u64,
    chunks: Vec<Chunk>,
    free: u32,
    far: BinaryHeap<Reverse<Event>>,
}

/// Events of one bucket: two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    events: [Event; 7],
    count: u32,
    /// The next chunk of the bucket, or of those that are free.
    next: u32,
}

impl Agenda {
    /// An empty agenda for about `events_per_second` of simulated time. The figure only tunes the width of the
    /// buckets; any value gives the same order.
    pub(crate) fn new(events_per_second: u64) -> Agenda {
        // A few events in a bucket: to sort them costs less than to look for the next bucket. Not below a nanosecond: the
        // wheel must reach as far as a frame and its wire take, about four microseconds.
        let gap_ps = (4 * 1_000_000_000_000 / events_per_second.max(1)).clamp(1 << 10, 1 << 24);
        Agenda {
            shift: gap_ps.ilog2(),
            turn: 0,
            hand: Vec::with_capacity(64),
            heads: Box::new([NIL; BUCKETS]),
            full: [0; WORDS],
            words: 0,
            chunks: Vec::with_capacity(256),
            free: NIL,
            far: BinaryHeap::new(),
        }
    }

    /// Books an event. It must not lie before the event popped last; [`run`](super::run()) checks what comes out.
    #[inline]
    pub(crate) fn book(&mut self, at: Instant, node: u32, lane: Lane) {
        let event = Event { at, node, lane };
        let bucket = at.ps() >> self.shift;
        if bucket.wrapping_sub(self.turn + 1) < MASK {
            self.file(event, bucket);
        } else if bucket <= self.turn {
            let place = self.hand.partition_point(|other| *other > event);
            self.hand.insert(place, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Takes out the next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.hand.is_empty() && !self.turn_over() {
            return None;
        }
        self.hand.pop()
    }

    /// When the next event is; [`Instant::NEVER`] if there is none.
    pub(crate) fn next_at(&mut self) -> Instant {
        if self.hand.is_empty() && !self.turn_over() {
            return Instant::NEVER;
        }
        self.hand.last().map_or(Instant::NEVER, |event| event.at)
    }

    /// Puts an event of the wheel's span, but not of the bucket in hand, into its bucket.
    #[inline]
    fn file(&mut self, event: Event, bucket: u64) {
        let slot = (bucket & MASK) as usize;
        if let Some(chunk) = self.chunks.get_mut(self.heads[slot] as usize)
            && let Some(place) = chunk.events.get_mut(chunk.count as usize)
        {
            *place = event;
            chunk.count += 1;
        } else {
            self.begin_chunk(event, slot);
        }
    }

    /// Puts an event into a new first chunk of a bucket.
    #[inline]
    fn begin_chunk(&mut self, event: Event, slot: usize) {
        let next = self.heads[slot];
        if let Some(chunk) = self.chunks.get_mut(self.free as usize) {
            self.heads[slot] = std::mem::replace(&mut self.free, chunk.next);
            chunk.events[0] = event;
            (chunk.count, chunk.next) = (1, next);
        } else {
            self.heads[slot] = u32::try_from(self.chunks.len()).expect("fewer than 2^32 pending events");
            self.chunks.push(Chunk { events: [event; 7], count: 1, next });
        }
        self.full[slot / 64] |= 1 << (slot % 64);
        self.words |= 1 << (slot / 64);
    }

    /// Takes the next bucket that holds an event in hand; `false` if there is none.
    fn turn_over(&mut self) -> bool {
        let near = self.next_full().map(|steps| self.turn + steps);
        let far = self.far.peek().map(|Reverse(event)| event.at.ps() >> self.shift);
        self.turn = match (near, far) {
            (None, None) => return false,
            (Some(near), Some(far)) => near.min(far),
            (Some(bucket), None) | (None, Some(bucket)) => bucket,
        };
        while let Some(Reverse(event)) = self.far.peek().copied() {
            let bucket = event.at.ps() >> self.shift;
            if bucket - self.turn >= MASK {
                break;
            }
            self.far.pop();
            if bucket == self.turn {
                self.hand.push(event);
            } else {
                self.file(event, bucket);
            }
        }
        let slot = (self.turn & MASK) as usize;
        let mut place = std::mem::replace(&mut self.heads[slot], NIL);
        while place != NIL {
            let chunk = &mut self.chunks[place as usize];
            // Last booked first: most are booked in the order of their times, and the bucket is wanted the other way round.
            self.hand.extend(chunk.events[..chunk.count as usize].iter().rev());
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = place;
            place = next;
        }
        let word = slot / 64;
        self.full[word] &= !(1 << (slot % 64));
        if self.full[word] == 0 {
            self.words &= !(1 << word);
        }
        if self.hand.len() > 1 {
            self.hand.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    /// How many buckets ahead the next full one is, going round the wheel once.
    #[inline]
    fn next_full(&self) -> Option<u64> {
        let from = ((self.turn + 1) & MASK) as usize;
        let (word, bit) = (from / 64, from % 64);
        let here = self.full[word] & (!0 << bit);
        let slot = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            // Words after this one, else from the start of the wheel up to and including this one.
            let after = if word == WORDS - 1 { 0 } else { self.words & (!0 << (word + 1)) };
            let words = if after != 0 { after } else { self.words };
            if words == 0 {
                return None;
            }
            let word = words.trailing_zeros() as usize;
            word * 64 + self.full[word].trailing_zeros() as usize
        };
        Some(((slot as u64).wrapping_sub(from as u64) & MASK) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lane(index: u32) -> Lane {
        Lane::new(LaneKind::Arrival, index)
    }

    #[test]
    fn equal_times_leave_by_node_then_lane_whatever_the_order_of_booking() {
        let mut agenda = Agenda::new(1_000_000);
        let at = Instant::from_ps(5_000_000);
        agenda.book(at, 2, lane(0));
        agenda.book(at, 1, lane(1));
        agenda.book(at, 1, Lane::new(LaneKind::Transmit, 0));
        agenda.book(at, 1, lane(0));
        let order: Vec<_> =
            std::iter::from_fn(|| agenda.pop()).map(|event| (event.node, event.lane)).collect();
        assert_eq!(order, [(1, lane(0)), (1, lane(1)), (1, Lane::new(LaneKind::Transmit, 0)), (2, lane(0))]);
    }

    #[test]
    fn a_lane_keeps_its_kind_and_index() {
        let lane = Lane::new(LaneKind::Grant, 77);
        assert_eq!((lane.kind(), lane.index()), (LaneKind::Grant, 77));
    }

    proptest! {
        /// Any interleaving of bookings and pops gives what a sorted list would give.
        #[test]
        fn it_agrees_with_a_sorted_list(
            density in prop_oneof![Just(1u64), Just(1_000_000), Just(100_000_000), Just(1_000_000_000_000)],
            steps in prop::collection::vec((0u64..6, 0u64..1_000_000, 0u32..4, 0u32..3, 1usize..4), 1..200),
        ) {
            let mut agenda = Agenda::new(density);
            let mut list = std::collections::BTreeSet::new();
            let mut now = 0;
            for (scale, gap, node, index, pops) in steps {
                let at = Instant::from_ps(now + gap * 10u64.pow(u32::try_from(scale).unwrap()));
                let event = Event { at, node, lane: lane(index) };
                if list.insert(event) {
                    agenda.book(at, node, lane(index));
                }
                for _ in 1..pops {
                    let popped = agenda.pop();
                    prop_assert_eq!(popped, list.pop_first());
                    if let Some(event) = popped {
                        now = event.at.ps();
                    }
                }
            }
            while let Some(event) = agenda.pop() {
                prop_assert_eq!(Some(event), list.pop_first());
            }
            prop_assert!(list.is_empty());
        }
    }
}
