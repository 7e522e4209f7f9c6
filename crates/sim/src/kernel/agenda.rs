//! Events in an order that is right for every node, node by node.
//!
//! Nodes reach each other only over links, and a link takes time: the least of that is the *lookahead*. So within a window of
//! that length no node can tell in which order others acted, and a node may handle all its events of the window before
//! the next node begins. That is what is done here. It keeps the memory of a node in the cache while it is at work, however large
//! the network; and each node needs a queue of its own events only, a few dozen.
//!
//! What comes to a node over its wires need not even be booked: when its turn begins, all that arrives in it is on its way. It is enough to
//! [foresee](Agenda::foresee) when the first of it comes.
//!
//! Equal-time events of a node leave by lane. That order, like the windows, belongs to the network and not to who booked first.
//! So any cut of the network into parts that keep their own agendas gives the same run, and so does one window after another
//! with all nodes in one queue ([`Hoods::one`]): the order of time itself.

use super::hand::Hand;
use super::heap::Heap;
use quell_proto::units::{Duration, Instant};

/// What wakes a node: an arrival on a link, a port that falls free, a timer.
///
/// The order of fields is the order of events: time, then node, then lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    /// When.
    pub at: Instant,
    /// Node and lane as one number, which compares in one step.
    place: u64,
}

impl Event {
    #[inline]
    pub(crate) fn new(at: Instant, node: u32, lane: Lane) -> Event {
        Event { at, place: u64::from(node) << 32 | u64::from(lane.0) }
    }

    /// Its place among the events of the same instant.
    #[inline]
    pub(crate) fn place(self) -> u64 {
        self.place
    }

    /// The node it wakes.
    #[inline]
    pub(crate) fn node(self) -> u32 {
        (self.place >> 32) as u32
    }

    /// What of the node it concerns.
    #[inline]
    pub(crate) fn lane(self) -> Lane {
        Lane(self.place as u32)
    }

    /// All of it as one number, in the order of events.
    #[inline]
    pub(crate) fn key(self) -> u128 {
        u128::from(self.at.ps()) << 64 | u128::from(self.place)
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

    /// Whether it is of this kind.
    #[inline]
    pub(crate) const fn is(self, kind: LaneKind) -> bool {
        self.0 >> Self::INDEX_BITS == kind as u32
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

    /// Its index.
    pub(crate) const fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

/// Which nodes take their turns together, and how long a turn may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hoods {
    /// For each node, its neighbourhood.
    pub of: Vec<u32>,
    /// The soonest that anything sent at an instant can reach another neighbourhood.
    pub window: Duration,
}

impl Hoods {
    /// All nodes in one, so that events come in the order of time. Any window would do; best is one in which most of what is
    /// booked lies, but few timers.
    pub(crate) fn one(nodes: usize, window: Duration) -> Hoods {
        Hoods { of: vec![0; nodes], window }
    }
}

/// So many neighbourhoods are looked at together for the next one that has something to do.
const BLOCK: usize = 64;
/// So many events of several nodes are kept in hand. With more a heap is faster.
const HAND: usize = 64;
const NEVER: u64 = Instant::NEVER.ps();
/// A neighbourhood of several nodes has no node of its own.
const SEVERAL: u32 = u32::MAX;

/// An event that lies before one that its node has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Late {
    /// The time it was for that node.
    pub now: Instant,
    /// The time of the event.
    pub at: Instant,
}

/// The pending events of one run.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The neighbourhood of each node.
    hoods: Vec<u32>,
    /// The node of each neighbourhood, or [`SEVERAL`].
    lone: Vec<u32>,
    /// The events of each neighbourhood.
    heaps: Vec<Heap>,
    /// When the first of them is, and of what is [foreseen](Self::foresee); of the one whose turn it is, when it was at the
    /// beginning of that.
    next: Vec<u64>,
    /// The least of each block of `next`; of the block that has its turn it may be less than that.
    blocks: Vec<u64>,
    window: u64,
    /// The window in hand: all events before it have been taken out, and those before its end are to be.
    start: u64,
    end: u64,
    /// The neighbourhood whose turn it is, or the next one to look at.
    turn: usize,
    is_turn: bool,
    /// So many neighbourhoods, the first, are of the rim; and whether they have yet to have their turns in this window.
    rim: usize,
    is_rim_due: bool,
    /// Its node, or [`SEVERAL`].
    node: u32,
    /// What is to be seen in this turn, except what is in the heap, [as numbers](Self::key).
    hand: Hand,
    /// How many of them are kept in hand.
    room: usize,
    /// The first of the heap within the window, in the same form.
    first: u64,
    /// How long the window is; nothing while it is nobody's turn.
    span: u64,
    /// Where in a number the time begins, and which part of a node's number is in it: all in the turn of several, else none.
    shift: u32,
    mask: u32,
    /// What these are in the turn of several.
    of_several: (u32, u32),
    /// When the first thing is that was foreseen and lies beyond the window.
    foreseen: u64,
    /// The last event of this turn, or where the window begins.
    last: u64,
}

impl Agenda {
    /// An empty agenda.
    pub(crate) fn new(hoods: Hoods) -> Agenda {
        let count = hoods.of.iter().max().map_or(0, |last| *last as usize + 1);
        let mut nodes = vec![Vec::new(); count];
        for (hood, node) in hoods.of.iter().zip(0u32..) {
            nodes[*hood as usize].push(node);
        }
        let lone: Vec<u32> =
            nodes.iter().map(|nodes| if let [node] = nodes[..] { node } else { SEVERAL }).collect();
        // A number is half time, half lane; where it has to name a node, that takes from the time.
        let bits = if lone.contains(&SEVERAL) { hoods.of.len().next_power_of_two().ilog2() } else { 0 };
        let longest = u64::from(u32::MAX) >> bits;
        Agenda {
            hoods: hoods.of,
            lone,
            heaps: (0..count).map(|_| Heap::default()).collect(),
            next: vec![NEVER; count],
            blocks: vec![NEVER; count.div_ceil(BLOCK)],
            window: hoods.window.ps().min(longest),
            start: 0,
            end: 0,
            turn: 0,
            is_turn: false,
            rim: 0,
            is_rim_due: false,
            node: SEVERAL,
            hand: Hand::new(),
            room: 0,
            first: NEVER,
            span: 0,
            shift: 0,
            mask: 0,
            of_several: (32 + bits, !(u32::MAX << bits)),
            foreseen: NEVER,
            last: 0,
        }
    }

    /// The first neighbourhoods reach other parts of the network: [`pass_on`](Self::pass_on) stops when they have had their turns.
    pub(crate) fn set_rim(&mut self, hoods: usize) {
        self.rim = hoods;
    }

    /// The neighbourhood of a node.
    pub(crate) fn hood_of(&self, node: usize) -> usize {
        self.hoods[node] as usize
    }

    /// Whether events come in the order of time, whosever they are.
    pub(crate) fn is_in_order(&self) -> bool {
        self.heaps.len() <= 1
    }

    /// The pending events of a neighbourhood whose turn it is not.
    #[inline]
    pub(crate) fn pending(&self, hood: usize) -> &[Event] {
        self.heaps[hood].events()
    }

    /// The neighbourhood whose turn comes after another's, in this window or in the next; that other if there is none.
    #[inline]
    pub(crate) fn turn_after(&self, hood: usize) -> usize {
        let in_this = self.due_from(hood + 1, self.end);
        let in_next = || self.due_from(0, self.end.saturating_add(self.window));
        in_this.or_else(in_next).unwrap_or(hood)
    }

    /// Whether a node takes its turns by itself.
    pub(crate) fn is_lone(&self, node: u32) -> bool {
        self.lone[self.hoods[node as usize] as usize] == node
    }

    /// How long the turns are.
    pub(crate) fn window(&self) -> Duration {
        Duration::from_ps(self.window)
    }

    /// Books an event. It must not lie before the last one of its node; nor, if it is another neighbourhood's, in the window in
    /// hand. What comes out is checked.
    #[inline]
    pub(crate) fn book(&mut self, at: Instant, node: u32, lane: Lane) {
        let hood = self.hoods[node as usize] as usize;
        if self.is_turn && hood == self.turn {
            return self.book_own(at, node, lane);
        }
        self.heaps[hood].push(Event::new(at, node, lane));
        self.foresee_in(hood, at);
    }

    /// A node that takes its turns by itself, and whose turn it is not, will have something to do at an instant. What that is must
    /// be [known](Self::know) in its turn, in time.
    #[inline]
    pub(crate) fn foresee(&mut self, at: Instant, node: u32) {
        self.foresee_in(self.hoods[node as usize] as usize, at);
    }

    #[inline(always)]
    fn foresee_in(&mut self, hood: usize, at: Instant) {
        if at.ps() < self.next[hood] {
            self.next[hood] = at.ps();
            let block = &mut self.blocks[hood / BLOCK];
            *block = at.ps().min(*block);
        }
    }

    /// As [`book`](Self::book), for the node that acts, and before any does.
    #[inline(always)]
    pub(crate) fn book_own(&mut self, at: Instant, node: u32, lane: Lane) {
        debug_assert!(!self.is_turn || self.hoods[node as usize] as usize == self.turn, "another's event");
        let since = at.ps().wrapping_sub(self.start);
        if since < self.span && self.hand.len() < self.room {
            self.hand.insert(self.key(since, node, lane));
        } else {
            self.book_beyond(at, node, lane);
        }
    }

    /// As [`book_own`](Self::book_own), of what is not kept in hand.
    #[inline(never)]
    fn book_beyond(&mut self, at: Instant, node: u32, lane: Lane) {
        if self.is_turn {
            // One that comes too late is found when the turn is over.
            self.heaps[self.turn].push(Event::new(at, node, lane));
            self.first = self.first_of_heap();
        } else {
            self.book(at, node, lane);
        }
    }

    /// An event of this turn as a number, in the order of events: picoseconds since the start of the window, node and lane.
    #[inline(always)]
    fn key(&self, since: u64, node: u32, lane: Lane) -> u64 {
        since << self.shift | u64::from(node & self.mask) << 32 | u64::from(lane.0)
    }

    /// Gives the turn to the next neighbourhood that has something to do before an instant. Says which one, if there is one.
    /// If that is [a node by itself](Self::whose_turn), it wants to [know](Self::know) what was foreseen for it. Where there is a
    /// [rim](Self::set_rim), there is none once in each window, when the rim is through.
    #[inline(never)]
    pub(crate) fn pass_on(&mut self, before: Instant) -> Result<Option<usize>, Late> {
        let late = |now, at| Err(Late { now: Instant::from_ps(now), at: Instant::from_ps(at) });
        if self.is_turn {
            self.end_turn();
            let next = self.next[self.turn];
            if next < self.end {
                return late(self.last, next);
            }
        }
        loop {
            let is_found = self.find_turn();
            if self.is_rim_due && self.turn >= self.rim {
                self.is_rim_due = false;
                return Ok(None);
            }
            if is_found {
                break;
            }
            let start = self.blocks.iter().copied().min().unwrap_or(NEVER);
            if start >= before.ps() {
                return Ok(None);
            }
            if start < self.end {
                return late(self.end, start);
            }
            self.start = start;
            self.end = start.saturating_add(self.window).min(before.ps());
            self.turn = 0;
            self.is_rim_due = self.rim > 0;
        }
        self.is_turn = true;
        self.last = self.start;
        self.node = self.lone[self.turn];
        let is_lone = self.node != SEVERAL;
        (self.shift, self.mask) = if is_lone { (32, 0) } else { self.of_several };
        self.room = if is_lone { Hand::ROOM } else { HAND };
        self.span = self.end - self.start;
        self.first = self.first_of_heap();
        self.foreseen = NEVER;
        Ok(Some(self.turn))
    }

    /// The node whose turn it is, if it takes turns by itself.
    #[inline]
    pub(crate) fn whose_turn(&self) -> Option<u32> {
        (self.is_turn && self.node != SEVERAL).then_some(self.node)
    }

    /// The node that has the turn to itself has something to do at an instant that was foreseen, or never. Says whether that is in
    /// this turn; if not, it is foreseen still.
    #[inline(always)]
    pub(crate) fn know(&mut self, at: Instant, lane: Lane) -> bool {
        let is_now = at.ps() < self.end;
        if is_now {
            self.book_own(at, self.node, lane);
        } else {
            self.foreseen = self.foreseen.min(at.ps());
        }
        is_now
    }

    /// The first event of the heap whose turn it is, if it is within the window, as a number.
    fn first_of_heap(&mut self) -> u64 {
        let window = Instant::from_ps(self.start)..Instant::from_ps(self.end);
        let first = self.heaps[self.turn].first().filter(|event| window.contains(&event.at));
        first.map_or(NEVER, |event| self.key((event.at - window.start).ps(), event.node(), event.lane()))
    }

    /// Takes out the next event of [the node whose turn it is](Self::whose_turn), if that is not over: when it is, and what.
    #[inline(always)]
    pub(crate) fn next_of_lone(&mut self) -> Result<Option<(Instant, Lane)>, Late> {
        let Some(key) = self.next_key() else { return Ok(None) };
        let at = self.not_before_the_last(self.start + (key >> 32))?;
        Ok(Some((at, Lane(key as u32))))
    }

    /// Takes out the next event of the nodes whose turn it is together, if that is not over.
    #[inline(always)]
    pub(crate) fn next_of_several(&mut self) -> Result<Option<Event>, Late> {
        let Some(key) = self.next_key() else { return Ok(None) };
        let at = self.not_before_the_last(self.start + (key >> self.shift))?;
        Ok(Some(Event { at, place: key & !(u64::MAX << self.shift) }))
    }

    #[inline(always)]
    fn next_key(&mut self) -> Option<u64> {
        let in_hand = self.hand.first();
        if in_hand > self.first {
            return Some(self.take_first_of_heap());
        }
        if in_hand == NEVER {
            return None;
        }
        self.hand.drop_first();
        Some(in_hand)
    }

    #[inline(never)]
    fn take_first_of_heap(&mut self) -> u64 {
        self.heaps[self.turn].pop();
        let next = self.first_of_heap();
        std::mem::replace(&mut self.first, next)
    }

    #[inline(always)]
    fn not_before_the_last(&mut self, at: u64) -> Result<Instant, Late> {
        let last = std::mem::replace(&mut self.last, at);
        let at = Instant::from_ps(at);
        if at.ps() < last { Err(Late { now: Instant::from_ps(last), at }) } else { Ok(at) }
    }

    /// When the next event is; [`Instant::NEVER`] if there is none. The turn of the last node must be over.
    pub(crate) fn next_at(&mut self) -> Instant {
        self.end_turn();
        let block = self.turn / BLOCK;
        if block < self.blocks.len() {
            self.blocks[block] = self.least_of(block);
        }
        Instant::from_ps(self.blocks.iter().copied().min().unwrap_or(NEVER))
    }

    fn end_turn(&mut self) {
        (self.span, self.first) = (0, NEVER);
        if std::mem::take(&mut self.is_turn) {
            debug_assert!(self.hand.len() == 0, "its turn is not over");
            let booked = self.heaps[self.turn].first().map_or(NEVER, |event| event.at.ps());
            self.next[self.turn] = booked.min(self.foreseen);
        }
    }

    fn least_of(&self, block: usize) -> u64 {
        let hoods = self.next.iter().skip(block * BLOCK).take(BLOCK);
        hoods.copied().min().unwrap_or(NEVER)
    }

    /// Looks for a neighbourhood with an event in the window, from the one in turn on.
    fn find_turn(&mut self) -> bool {
        while self.turn < self.next.len() {
            if let Some(due) = self.due_in_block(self.turn, self.end) {
                self.turn = due;
                return true;
            }
            let block = self.turn / BLOCK;
            if self.blocks[block] < self.end {
                self.blocks[block] = self.least_of(block);
            }
            self.turn = (block + 1) * BLOCK;
        }
        false
    }

    /// The first neighbourhood from one on, within its block, that has an event before an instant.
    #[inline]
    fn due_in_block(&self, from: usize, before: u64) -> Option<usize> {
        let block = from / BLOCK;
        if self.blocks[block] >= before {
            return None;
        }
        let end = ((block + 1) * BLOCK).min(self.next.len());
        self.next[from..end].iter().position(|next| *next < before).map(|steps| from + steps)
    }

    /// As [`due_in_block`](Self::due_in_block), in all blocks from there on.
    #[inline]
    fn due_from(&self, mut from: usize, before: u64) -> Option<usize> {
        while from < self.next.len() {
            let due = self.due_in_block(from, before);
            if due.is_some() {
                return due;
            }
            from = (from / BLOCK + 1) * BLOCK;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quell_proto::dice::Dice;

    fn lane(index: u32) -> Lane {
        Lane::new(LaneKind::Arrival, index)
    }

    /// Takes out the next event before an instant, whosever turn it is.
    fn pop(agenda: &mut Agenda, before: u64) -> Result<Option<Event>, Late> {
        loop {
            let event = match agenda.whose_turn() {
                Some(node) => agenda.next_of_lone()?.map(|(at, lane)| Event::new(at, node, lane)),
                None => agenda.next_of_several()?,
            };
            if event.is_some() || agenda.pass_on(Instant::from_ps(before))?.is_none() {
                return Ok(event);
            }
        }
    }

    #[test]
    fn equal_times_leave_by_node_then_lane_whatever_the_order_of_booking() {
        let mut agenda = Agenda::new(Hoods::one(3, Duration::from_us(10)));
        let at = Instant::from_ps(5_000_000);
        agenda.book(at, 2, lane(0));
        agenda.book(at, 1, lane(1));
        agenda.book(at, 1, Lane::new(LaneKind::Transmit, 0));
        agenda.book(at, 1, lane(0));
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut agenda, u64::MAX).unwrap())
            .map(|event| (event.node(), event.lane()))
            .collect();
        assert_eq!(order, [(1, lane(0)), (1, lane(1)), (1, Lane::new(LaneKind::Transmit, 0)), (2, lane(0))]);
    }

    #[test]
    fn a_lane_keeps_its_kind_and_index() {
        let lane = Lane::new(LaneKind::Grant, 77);
        assert_eq!((lane.kind(), lane.index()), (LaneKind::Grant, 77));
    }

    #[test]
    fn an_event_that_comes_too_late_is_told() {
        let late = |now, at| Err(Late { now: Instant::from_ps(now), at: Instant::from_ps(at) });
        for of in [vec![0, 1], vec![0, 0]] {
            let new = || Agenda::new(Hoods { of: of.clone(), window: Duration::from_ps(100) });
            let mut agenda = new();
            for at in [50, 90] {
                agenda.book(Instant::from_ps(at), 0, lane(0));
                assert!(pop(&mut agenda, u64::MAX).unwrap().is_some());
            }
            agenda.book(Instant::from_ps(70), 0, lane(0));
            assert_eq!(pop(&mut agenda, u64::MAX), late(90, 70), "before the last one of its node");

            let mut agenda = new();
            agenda.book(Instant::from_ps(50), 0, lane(0));
            assert!(pop(&mut agenda, u64::MAX).unwrap().is_some());
            agenda.book(Instant::from_ps(40), 0, lane(0));
            assert!(pop(&mut agenda, u64::MAX).is_err(), "before the window");
        }
        let mut agenda = Agenda::new(Hoods { of: vec![0, 1], window: Duration::from_ps(100) });
        agenda.book(Instant::from_ps(50), 0, lane(0));
        agenda.book(Instant::from_ps(60), 1, lane(0));
        for _ in 0..2 {
            assert!(pop(&mut agenda, u64::MAX).unwrap().is_some());
        }
        agenda.book(Instant::from_ps(140), 0, lane(0));
        assert_eq!(
            pop(&mut agenda, u64::MAX),
            late(150, 140),
            "in a window in which its node has had its turn"
        );
    }

    #[test]
    fn whose_turn_comes_next_is_known() {
        let mut agenda = Agenda::new(Hoods { of: (0..200).collect(), window: Duration::from_ps(100) });
        for (at, node) in [(150, 0), (10, 1), (20, 3), (260, 5), (99, 70), (120, 190)] {
            agenda.book(Instant::from_ps(at), node, lane(0));
        }
        let mut turns = Vec::new();
        while let Some(event) = pop(&mut agenda, u64::MAX).unwrap() {
            turns.push((event.node() as usize, agenda.turn_after(event.node() as usize)));
        }
        // The window of the first three ends at 110, that of the next two at 220.
        assert_eq!(turns, [(1, 3), (3, 70), (70, 0), (0, 190), (190, 5), (5, 5)]);
    }

    #[test]
    fn what_was_foreseen_comes_in_its_place() {
        let mut agenda = Agenda::new(Hoods { of: vec![0, 1], window: Duration::from_ps(100) });
        let timer = Lane::new(LaneKind::Limiter, 0);
        agenda.book(Instant::from_ps(30), 1, timer);
        agenda.foresee(Instant::from_ps(20), 1);
        assert_eq!(agenda.next_at(), Instant::from_ps(20));
        assert_eq!(agenda.pass_on(Instant::NEVER), Ok(Some(1)));
        for (at, wire) in [(30, 4), (20, 4), (30, 2), (500, 3)] {
            assert_eq!(agenda.know(Instant::from_ps(at), lane(wire)), at < 120);
        }
        let order: Vec<_> =
            std::iter::from_fn(|| agenda.next_of_lone().unwrap()).map(|(at, lane)| (at.ps(), lane)).collect();
        assert_eq!(order, [(20, lane(4)), (30, lane(2)), (30, lane(4)), (30, timer)]);
        assert_eq!(agenda.next_at(), Instant::from_ps(500));
    }

    #[test]
    fn more_than_a_hand_holds_comes_in_order_too() {
        for of in [vec![0], vec![0, 0]] {
            let mut agenda = Agenda::new(Hoods { of, window: Duration::from_us(1) });
            agenda.book(Instant::from_ps(1), 0, lane(0));
            assert!(pop(&mut agenda, u64::MAX).unwrap().is_some());
            let mut times: Vec<u64> = (0..600).map(|number| 2 + number * 7919 % 1_000).collect();
            for at in &times {
                agenda.book(Instant::from_ps(*at), 0, lane(0));
            }
            times.sort_unstable();
            let popped = std::iter::from_fn(|| pop(&mut agenda, u64::MAX).unwrap());
            assert_eq!(popped.map(|event| event.at.ps()).collect::<Vec<_>>(), times);
        }
    }

    #[test]
    fn the_rim_has_its_turns_first_and_then_there_is_a_stop() {
        let mut agenda = Agenda::new(Hoods { of: vec![0, 1, 2], window: Duration::from_ps(100) });
        agenda.set_rim(2);
        for (at, node) in [(10, 2), (20, 0), (30, 1), (150, 2), (300, 0)] {
            agenda.book(Instant::from_ps(at), node, lane(0));
        }
        let mut until_stop = || {
            let popped = std::iter::from_fn(|| pop(&mut agenda, u64::MAX).unwrap());
            popped.map(|event| (event.at.ps(), event.node())).collect::<Vec<_>>()
        };
        assert_eq!(until_stop(), [(20, 0), (30, 1)]);
        // The rim has nothing to do in the window that begins at 150; what is left of one window and the rim of the next go together.
        assert_eq!(until_stop(), [(10, 2)]);
        assert_eq!(until_stop(), [(150, 2), (300, 0)]);
        assert_eq!(until_stop(), []);
    }

    /// A network of nodes that answer every event with others, drawn by what the event is: some of their own at any time, some of
    /// other nodes' after the lookahead. What each node sees, in its order.
    fn seen(hoods: Hoods, rim: usize, nodes: u32, lookahead: u64, stops: &[u64]) -> Vec<Vec<Event>> {
        let mut agenda = Agenda::new(hoods);
        agenda.set_rim(rim);
        let mut seen = vec![Vec::new(); nodes as usize];
        for node in 0..nodes {
            agenda.book(Instant::from_ps(u64::from(node * 37 % 50)), node, lane(0));
        }
        for stop in stops {
            loop {
                let Some(event) = pop(&mut agenda, *stop).unwrap() else {
                    // Or it was the stop after the rim.
                    if agenda.next_at().ps() >= *stop {
                        break;
                    }
                    continue;
                };
                assert!(event.at.ps() < *stop);
                seen[event.node() as usize].push(event);
                let mut dice = Dice::new(event.at.ps(), event.place, 0);
                // As many as there were, on the whole: half of the time one of its own, half of the time one of another's.
                if dice.below(2) == 0 {
                    let at = event.at.ps() + 1 + dice.below(2 * lookahead);
                    let lane = Lane::new(LaneKind::Transmit, dice.below(3) as u32);
                    agenda.book(Instant::from_ps(at), event.node(), lane);
                }
                if dice.below(2) == 0 {
                    let other = dice.below(u64::from(nodes)) as u32;
                    let at = event.at.ps() + lookahead + dice.below(3) * dice.below(lookahead);
                    agenda.book(Instant::from_ps(at), other, lane(event.node()));
                }
            }
        }
        seen
    }

    proptest! {
        /// Every node sees the same in windows as in the order of time, however it is grouped with others, whoever is of the rim, and
        /// wherever the run is interrupted.
        #[test]
        fn a_node_cannot_tell_windows_from_the_order_of_time(
            nodes in 1u32..200,
            hoods in 1u32..200,
            rim in 0usize..200,
            lookahead in 1u64..100,
            share in 1u64..5,
            stops in prop::collection::vec(0u64..400, 0..5),
        ) {
            let mut stops = stops;
            stops.push(4 * lookahead);
            stops.sort_unstable();
            stops.retain(|stop| *stop <= 4 * lookahead);
            let one = Hoods::one(nodes as usize, Duration::from_us(10));
            let in_time = seen(one, 0, nodes, lookahead, &[4 * lookahead]);
            let of = (0..nodes).map(|node| node % hoods.min(nodes)).collect();
            let window = Duration::from_ps((lookahead / share).max(1));
            let in_windows = seen(Hoods { of, window }, rim, nodes, lookahead, &stops);
            prop_assert!(in_time == in_windows);
        }
    }
}
