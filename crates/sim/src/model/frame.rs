//! Frames as plain data, and the lists they wait in.

use super::near::bring_near;
use crate::scenario::plan::CimForm;
use quell_proto::units::{Bytes, Instant, Quanta};

/// A frame on its way, small enough to be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// When its source offered it (for notifications: when it was made).
    pub born: Instant,
    /// The flow it belongs to or speaks of.
    pub flow: u32,
    /// The host it is for; of a pause frame, the node that sends it.
    pub to: u32,
    /// What it carries.
    pub body: Body,
    /// Octets from destination address to check sequence.
    pub length: u16,
    /// Index of its priority among those in use.
    pub class: u8,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Data, numbered within its flow.
    Data {
        /// Number of the frame in its flow.
        sequence: u32,
        /// What the scheme has it carry: [`UNTAGGED`], the tag of its limiter ([`tag_of`]), or [`MARKED`].
        tag: u32,
    },
    /// A congestion notification.
    Cnm {
        /// Six bits of feedback.
        quantised: u8,
        /// Queue above set point, in units of 64 octets.
        offset: i16,
        /// Queue growth, in units of 64 octets.
        delta: i16,
        /// The node whose congestion point speaks.
        node: u32,
        /// Which of its congestion points, as [`CpId::number`](quell_proto::wire::CpId::number) has it.
        point: u16,
    },
    /// A message of ECM.
    Bcn {
        /// Queue above set point, in units of 64 octets.
        offset: i16,
        /// Queue growth, in units of 64 octets.
        delta: i16,
        /// The congestion point that speaks: the wire behind its queue.
        point: u32,
    },
    /// A mark that the receiver returns to the source.
    Becn,
    /// A congestion notification packet: frames of the flow come marked.
    Cnp,
    /// A receiver tells what has arrived of a flow.
    Ack {
        /// All frames below this number have.
        below: u32,
        /// A later one has too, and this one is missing.
        gap: bool,
        /// Frames came marked.
        marked: bool,
    },
    /// A probe along the path of a flow.
    Probe {
        /// The worst feedback on its way, as [`stamp`](quell_proto::control::qcn_probe::stamp) has it.
        worst: i16,
        /// Whether it is on its way back.
        is_back: bool,
    },
    /// A congestion isolation message to a neighbour, about the flow.
    Cim {
        /// Whether the flow is to be isolated, or no longer.
        adds: bool,
        /// What it travels in.
        form: CimForm,
        /// How much of a frame of the flow it quotes.
        octets: u16,
        /// The switch that says so; `to` is the neighbour.
        node: u32,
    },
    /// A switch tells the neighbour behind one of its ports what it announces (LLDP); `to` is the switch.
    Lldp {
        /// The port.
        port: u16,
    },
    /// No frame: a place in two queues, between which flows are moved.
    Marker,
    /// 802.3x PAUSE.
    Pause {
        /// How long.
        quanta: Quanta,
    },
    /// Priority flow control for one priority.
    Pfc {
        /// The priority.
        priority: u8,
        /// How long.
        quanta: Quanta,
    },
}

/// The tag of data that nothing limits, and that nothing has marked.
pub(crate) const UNTAGGED: u32 = 0;
/// The tag of data that a switch has marked (FECN, or CE of ECN). Schemes that mark have no other tags.
pub(crate) const MARKED: u32 = 1;

/// The tag of data whose limiter answers to a congestion point.
#[inline]
pub(crate) fn tag_of(point: u32) -> u32 {
    point + 1
}

impl Frame {
    /// Marks it, if it is data. Says whether it was not marked before.
    #[inline]
    pub(crate) fn mark(&mut self) -> bool {
        match &mut self.body {
            Body::Data { tag, .. } => std::mem::replace(tag, MARKED) != MARKED,
            _ => false,
        }
    }

    /// Its length.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.length))
    }
}

/// Names a frame in its [`Pool`].
pub(crate) type Handle = u32;

const NIL: Handle = u32::MAX;

/// All frames of a run. A frame stays in its place from birth to delivery; queues and wires pass its handle on.
/// Freed places are used again last in first out, so that the memory in use stays warm.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    slots: Vec<Slot>,
    /// The places that are free, the last one on top. Not linked through the places: whoever takes several would have to wait for the
    /// memory of each.
    free: Vec<Handle>,
}

/// A frame and where it stands in the list that holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The frame.
    pub frame: Frame,
    /// When the frame behind it on a wire reaches the end of that; never, if there is none.
    pub behind: Instant,
    next: Handle,
    /// The port by which it entered the switch it is in.
    pub ingress: u16,
}

impl Pool {
    /// A busy network has about so many frames for each of its wires, on it and before it.
    const USUAL: usize = 64;

    /// Asks for room for the frames of so many wires. What is not used of it costs nothing but addresses; to grow step by step
    /// would mean to move all frames each time. A machine that counts addresses may refuse; then they are moved.
    pub(crate) fn reserve(&mut self, wires: usize) {
        let _ = self.slots.try_reserve(Self::USUAL * wires);
    }

    /// Gives a frame a place.
    #[inline(always)]
    pub(crate) fn put(&mut self, frame: Frame) -> Handle {
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None => self.grow(),
        };
        self.slots[handle as usize].frame = frame;
        handle
    }

    /// Makes another place, where none is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Handle {
        let frame = Frame { born: Instant::START, flow: 0, to: 0, body: Body::Marker, length: 0, class: 0 };
        self.slots.push(Slot { frame, behind: Instant::NEVER, next: NIL, ingress: 0 });
        assert!(self.slots.len() < NIL as usize, "fewer than 2^32 frames at a time");
        self.slots.len() as u32 - 1
    }

    /// Frees a frame's place.
    #[inline(always)]
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// A frame is wanted soon, if there is one.
    #[inline]
    fn bring_near(&self, handle: Handle) {
        if let Some(slot) = self.slots.get(handle as usize) {
            bring_near(slot);
        }
    }

    /// The frame in a place.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> &Slot {
        &self.slots[handle as usize]
    }

    /// The frame in a place, to change.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Slot {
        &mut self.slots[handle as usize]
    }
}

/// A first-in first-out list of frames, threaded through the pool: eight octets, no memory of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: Handle,
    tail: Handle,
}

impl Default for List {
    fn default() -> List {
        List { head: NIL, tail: NIL }
    }
}

impl List {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The frame that would leave next.
    #[inline]
    pub(crate) fn head(&self) -> Option<Handle> {
        (self.head != NIL).then_some(self.head)
    }

    /// The first frame is wanted soon, if there is one.
    #[inline]
    pub(crate) fn bring_first_near(&self, pool: &Pool) {
        pool.bring_near(self.head);
    }

    /// So is the last.
    #[inline]
    pub(crate) fn bring_last_near(&self, pool: &Pool) {
        if !self.is_empty() {
            pool.bring_near(self.tail);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, handle: Handle) {
        pool.slots[handle as usize].next = NIL;
        if self.head == NIL {
            self.head = handle;
        } else {
            pool.slots[self.tail as usize].next = handle;
        }
        self.tail = handle;
    }

    /// As [`push`](Self::push), and notes in the frame before it when this one is due. Says whether there was none.
    #[inline(always)]
    pub(crate) fn push_due(&mut self, pool: &mut Pool, handle: Handle, due: Instant) -> bool {
        let slot = &mut pool.slots[handle as usize];
        (slot.behind, slot.next) = (Instant::NEVER, NIL);
        let is_first = self.head == NIL;
        if is_first {
            self.head = handle;
        } else {
            let before = &mut pool.slots[self.tail as usize];
            (before.behind, before.next) = (due, handle);
        }
        self.tail = handle;
        is_first
    }

    /// As [`pop`](Self::pop), and shows the frame, with which it is noted when the next one is due.
    #[inline(always)]
    pub(crate) fn pop_due<'a>(&mut self, pool: &'a Pool) -> Option<(Handle, &'a Slot)> {
        let head = self.head()?;
        let slot = &pool.slots[head as usize];
        self.head = slot.next;
        pool.bring_near(slot.next);
        Some((head, slot))
    }

    /// Takes the first frame. The next one is brought near.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> Option<Handle> {
        self.pop_due(pool).map(|(handle, _)| handle)
    }

    /// Its frames, in order.
    pub(crate) fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = (Handle, &'a Slot)> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            if at == NIL {
                return None;
            }
            let (handle, slot) = (at, &pool.slots[at as usize]);
            at = slot.next;
            Some((handle, slot))
        })
    }

    /// Takes out the last frame of a flow, wherever it stands.
    pub(crate) fn withdraw_last(&mut self, pool: &mut Pool, flow: u32) -> Option<Handle> {
        let handle =
            self.iter(pool).filter(|(_, slot)| slot.frame.flow == flow).map(|(handle, _)| handle).last()?;
        let before = self.iter(pool).find(|(_, slot)| slot.next == handle).map(|(before, _)| before);
        let after = pool.slots[handle as usize].next;
        match before {
            Some(before) => pool.slots[before as usize].next = after,
            None => self.head = after,
        }
        if self.tail == handle {
            self.tail = before.unwrap_or(NIL);
        }
        Some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(flow: u32) -> Frame {
        Frame {
            born: Instant::START,
            flow,
            to: 0,
            body: Body::Data { sequence: 0, tag: UNTAGGED },
            length: 64,
            class: 0,
        }
    }

    #[test]
    fn a_slot_stays_small() {
        assert!(size_of::<Frame>() <= 32, "{}", size_of::<Frame>());
        assert!(size_of::<Slot>() <= 48, "{}", size_of::<Slot>());
    }

    #[test]
    fn a_list_is_first_in_first_out_and_its_places_are_used_again() {
        let mut pool = Pool::default();
        let mut list = List::default();
        for flow in 0..3 {
            let handle = pool.put(frame(flow));
            list.push(&mut pool, handle);
        }
        let mut seen = Vec::new();
        while let Some(handle) = list.pop(&pool) {
            seen.push(pool.get(handle).frame.flow);
            pool.free(handle);
        }
        assert_eq!(seen, [0, 1, 2]);
        for flow in 0..3 {
            pool.put(frame(flow));
        }
        assert_eq!(pool.slots.len(), 3);
    }

    #[test]
    fn the_last_frame_of_a_flow_can_be_withdrawn_from_anywhere() {
        for flow in 0..3 {
            let mut pool = Pool::default();
            let mut list = List::default();
            for flow in [0, 1, 2] {
                let handle = pool.put(frame(flow));
                list.push(&mut pool, handle);
            }
            assert!(list.withdraw_last(&mut pool, flow).is_some());
            let handle = pool.put(frame(9));
            list.push(&mut pool, handle);
            let left: Vec<_> = list.iter(&pool).map(|(_, slot)| slot.frame.flow).collect();
            let expected: Vec<_> = [0, 1, 2, 9].into_iter().filter(|other| *other != flow).collect();
            assert_eq!(left, expected);
        }
    }
}
