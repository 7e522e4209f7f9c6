//! Where frames wait, and whether there is room for one more.

use super::{At, Switch, Virtual};
use crate::model::frame::{Frame, Handle, List, Pool};
use crate::model::near::bring_near;
use crate::model::net::Net;
use crate::scenario::plan::{Buffering, QueueLimit};
use quell_proto::units::Bytes;

/// The queues of a switch.
#[derive(Debug)]
pub(super) struct Waiting {
    kind: Kind,
    room: Room,
    classes: usize,
}

#[derive(Debug)]
enum Kind {
    /// One queue per output and class.
    PerOutput(Vec<List>),
    /// A queue per input, output and class; the output takes them in turn.
    PerInput(Vec<Virtual>),
    /// The same, but the output sends from a buffer of its own.
    Staged { virtuals: Vec<Virtual>, staged: Vec<List> },
    /// The same in the leaf of a fabric: outputs are those of the whole fabric, and their arbiters, which may be
    /// elsewhere, say which input is next.
    OfFabric { lists: Vec<List>, inputs: usize, staged: Vec<List> },
}

/// How much may wait.
#[derive(Debug)]
enum Room {
    /// One memory for all.
    Shared { memory: u64, used: u64, limit: QueueLimit },
    /// A share for each input and class.
    Partitioned { share: u64 },
}

impl Waiting {
    /// Queues for frames that come in by `ports` and leave by one of them, or, from a leaf, by one of the
    /// `fabric_outputs`.
    pub(super) fn new(
        buffering: &Buffering,
        ports: usize,
        fabric_outputs: Option<usize>,
        classes: usize,
    ) -> Waiting {
        let queues = ports * classes;
        // One input more than there are ports, for frames made in the switch.
        let virtuals = || {
            let lists = vec![List::default(); ports + 1].into_boxed_slice();
            vec![Virtual { lists, ring: crate::model::ring::Ring::new(ports + 1) }; queues]
        };
        let octets = |limit: Option<Bytes>| limit.map_or(u64::MAX, Bytes::get);
        let (kind, room) = match buffering {
            Buffering::OutputQueued { memory, queue_limit } => (
                Kind::PerOutput(vec![List::default(); queues]),
                Room::Shared { memory: octets(*memory), used: 0, limit: *queue_limit },
            ),
            Buffering::Voq { input_memory, output: None } => {
                (Kind::PerInput(virtuals()), Room::Partitioned { share: octets(*input_memory) })
            }
            Buffering::Voq { input_memory, output: Some(_) } => {
                let staged = vec![List::default(); queues];
                let kind = match fabric_outputs {
                    Some(outputs) => {
                        let lists = vec![List::default(); outputs * classes * (ports + 1)];
                        Kind::OfFabric { lists, inputs: ports + 1, staged }
                    }
                    None => Kind::Staged { virtuals: virtuals(), staged },
                };
                (kind, Room::Partitioned { share: octets(*input_memory) })
            }
        };
        Waiting { kind, room, classes }
    }

    /// They are wanted soon.
    pub(super) fn bring_near(&self) {
        if let Kind::PerOutput(lists) = &self.kind {
            bring_near(&lists[..]);
        }
    }

    /// So are the frames at their ends.
    pub(super) fn bring_ends_near(&self, pool: &Pool) {
        if let Kind::PerOutput(lists) = &self.kind {
            for list in lists {
                list.bring_first_near(pool);
                list.bring_last_near(pool);
            }
        }
    }

    /// Lets a frame wait for its output.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        handle: Handle,
        input: usize,
        output: usize,
        class: usize,
        pool: &mut Pool,
    ) {
        let queue = output * self.classes + class;
        match &mut self.kind {
            Kind::PerOutput(lists) => lists[queue].push(pool, handle),
            Kind::PerInput(virtuals) | Kind::Staged { virtuals, .. } => {
                virtuals[queue].push(handle, input, pool);
            }
            Kind::OfFabric { lists, inputs, .. } => lists[queue * *inputs + input].push(pool, handle),
        }
    }

    /// The queue of an output and class, where it is one.
    pub(super) fn of_output(&mut self, queue: usize) -> &mut List {
        let Kind::PerOutput(lists) = &mut self.kind else {
            unreachable!("flows are isolated where outputs have queues");
        };
        &mut lists[queue]
    }

    /// A frame has reached its output's own buffer.
    pub(super) fn stage(&mut self, handle: Handle, queue: usize, pool: &mut Pool) {
        let (Kind::Staged { staged, .. } | Kind::OfFabric { staged, .. }) = &mut self.kind else {
            unreachable!("frames cross only to output buffers");
        };
        staged[queue].push(pool, handle);
    }

    /// Takes the next frame for an output that is to be sent, and says whether it was the last of its queue.
    #[inline(always)]
    pub(super) fn pop(&mut self, port: usize, class: usize, pool: &Pool) -> (Handle, bool) {
        let queue = port * self.classes + class;
        match &mut self.kind {
            Kind::PerOutput(lists)
            | Kind::Staged { staged: lists, .. }
            | Kind::OfFabric { staged: lists, .. } => {
                let handle = lists[queue].pop(pool).expect("a ready class holds a frame");
                (handle, lists[queue].is_empty())
            }
            Kind::PerInput(virtuals) => {
                let handle = virtuals[queue].pop(pool).expect("a ready class holds a frame");
                (handle, virtuals[queue].ring.is_empty())
            }
        }
    }

    /// Length of the frame that [`pop`](Self::pop) would take from a queue.
    #[inline]
    pub(super) fn head_length(&self, queue: usize, pool: &Pool) -> u64 {
        let head = match &self.kind {
            Kind::PerOutput(lists)
            | Kind::Staged { staged: lists, .. }
            | Kind::OfFabric { staged: lists, .. } => lists[queue].head(),
            Kind::PerInput(virtuals) => virtuals[queue].head(),
        };
        head.map_or(0, |handle| u64::from(pool.get(handle).frame.length))
    }

    /// The frame that an arbiter would grant next for an output.
    pub(super) fn request(&self, queue: usize) -> Option<Handle> {
        match &self.kind {
            Kind::Staged { virtuals, .. } => virtuals[queue].head(),
            Kind::PerOutput(_) | Kind::PerInput(_) | Kind::OfFabric { .. } => None,
        }
    }

    /// Takes the frame of [`request`](Self::request) from its input.
    pub(super) fn granted(&mut self, queue: usize, pool: &Pool) -> Handle {
        let Kind::Staged { virtuals, .. } = &mut self.kind else {
            unreachable!("only output buffers grant");
        };
        virtuals[queue].pop(pool).expect("a request was there")
    }

    /// Takes the next frame of one input for an output of the fabric.
    #[inline]
    pub(super) fn take(&mut self, queue: usize, input: usize, pool: &Pool) -> Handle {
        let Kind::OfFabric { lists, inputs, .. } = &mut self.kind else {
            unreachable!("only in a fabric does an arbiter say which input is next");
        };
        lists[queue * *inputs + input].pop(pool).expect("what was granted waits")
    }

    /// Every list with frames that one input brought, in one class; of output queues, all of them.
    pub(super) fn lists_of_input(&self, input: usize, class: usize) -> impl Iterator<Item = &List> {
        let (lists, virtuals, first, step): (&[List], &[Virtual], usize, usize) = match &self.kind {
            Kind::PerOutput(lists) => (lists, &[], class, self.classes),
            Kind::PerInput(virtuals) | Kind::Staged { virtuals, .. } => (&[], virtuals, 0, 1),
            Kind::OfFabric { lists, inputs, .. } => {
                (lists, &[], class * inputs + input, self.classes * inputs)
            }
        };
        let lists = lists.iter().skip(first).step_by(step);
        let virtuals =
            virtuals.iter().skip(class).step_by(self.classes).map(move |queue| &queue.lists[input]);
        lists.chain(virtuals)
    }

    /// The frames in an output's own buffer, if it has one.
    pub(super) fn staged(&self, queue: usize) -> Option<&List> {
        match &self.kind {
            Kind::Staged { staged, .. } | Kind::OfFabric { staged, .. } => Some(&staged[queue]),
            Kind::PerOutput(_) | Kind::PerInput(_) => None,
        }
    }

    /// Every list with frames that an output's congestion point watches.
    pub(super) fn lists_of_output(&self, queue: usize) -> impl Iterator<Item = &List> {
        let (list, virtuals) = match &self.kind {
            Kind::PerOutput(lists)
            | Kind::Staged { staged: lists, .. }
            | Kind::OfFabric { staged: lists, .. } => (Some(&lists[queue]), None),
            Kind::PerInput(virtuals) => (None, Some(&virtuals[queue])),
        };
        list.into_iter().chain(virtuals.into_iter().flat_map(|queue| queue.lists.iter()))
    }

    /// Octets that are free: of a memory that all inputs share, or of the share of an input that holds `held`.
    pub(super) fn free_memory(&self, held: u64) -> u64 {
        match self.room {
            Room::Shared { memory, used, .. } => memory.saturating_sub(used),
            Room::Partitioned { share } => share.saturating_sub(held),
        }
    }

    /// Whether a frame fits that takes the place of nothing else for its output, by an input that holds `held`.
    /// `false` where that takes more than a look.
    #[inline]
    pub(super) fn has_room_for_passage(&self, length: u64, held: u64) -> bool {
        match self.room {
            Room::Partitioned { share } => held + length <= share,
            Room::Shared { memory, used, limit: QueueLimit::Static(limit) } => {
                used + length <= memory && length <= limit.get()
            }
            Room::Shared { memory, used, limit: QueueLimit::None } => used + length <= memory,
            Room::Shared { limit: QueueLimit::Dynamic { .. }, .. } => false,
        }
    }

    /// A frame of an input passed through to an output's wire without waiting, as if it had had its turn.
    #[inline]
    pub(super) fn passed(&mut self, input: usize, queue: usize) {
        if let Kind::PerInput(virtuals) = &mut self.kind {
            virtuals[queue].ring.served(input);
        }
    }

    #[inline]
    pub(super) fn occupy(&mut self, octets: u64) {
        if let Room::Shared { used, .. } = &mut self.room {
            *used += octets;
        }
    }

    #[inline]
    pub(super) fn vacate(&mut self, octets: u64) {
        if let Room::Shared { used, .. } = &mut self.room {
            *used -= octets;
        }
    }
}

impl Virtual {
    #[inline]
    fn push(&mut self, handle: Handle, input: usize, pool: &mut Pool) {
        self.lists[input].push(pool, handle);
        self.ring.insert(input);
    }

    #[inline]
    fn head(&self) -> Option<Handle> {
        self.ring.first().and_then(|input| self.lists[input].head())
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Handle> {
        let input = self.ring.first()?;
        let handle = self.take(input, pool);
        self.ring.served(input);
        handle
    }

    #[inline]
    fn take(&mut self, input: usize, pool: &Pool) -> Option<Handle> {
        let handle = self.lists[input].pop(pool);
        if self.lists[input].is_empty() {
            self.ring.remove(input);
        }
        handle
    }
}

impl Switch {
    /// Whether a frame of data fits; if not, where it is lost.
    #[inline(always)]
    pub(super) fn find_room(&self, frame: &Frame, input: usize, output: usize, net: &Net) -> Result<(), At> {
        let length = u64::from(frame.length);
        let class = frame.class as usize;
        match &self.waiting.room {
            Room::Partitioned { share } => {
                let held = self.inputs[input * self.classes + class].meter.level();
                if held + length > *share { Err(At::Input(input)) } else { Ok(()) }
            }
            Room::Shared { memory, used, limit } => {
                let limit = match *limit {
                    QueueLimit::None => u64::MAX,
                    QueueLimit::Static(limit) => limit.get(),
                    QueueLimit::Dynamic { alpha_num, alpha_den } => {
                        (memory - used).saturating_mul(u64::from(alpha_num)) / u64::from(alpha_den.max(1))
                    }
                };
                let meter = &self.outputs[output * self.classes + class].meter;
                let sending = self.ports[output].sender.sending(class, net.now);
                if used + length > *memory || meter.level() + sending + length > limit {
                    Err(At::Output(output))
                } else {
                    Ok(())
                }
            }
        }
    }
}
