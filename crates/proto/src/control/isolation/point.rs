//! The isolation point: where each frame goes, who is told, and when a flow is free again.

use super::{Config, Detection, Flush, IsolatedMarking, Markers, Slot, Stream, StreamTable};
use crate::control::ecn::Marker;
use crate::control::qcn::CongestionPoint;
use crate::dice::Dice;
use crate::units::{Bytes, Duration, Instant};

/// One of the two queues of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The one in which flows start.
    Monitored,
    /// The one that congesting flows are moved to.
    Congesting,
}

/// Octets in the two queues of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// In the monitored queue.
    pub monitored: Bytes,
    /// In the congesting queue.
    pub congesting: Bytes,
}

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where it goes.
    pub queue: Queue,
    /// Whether a marker goes into both queues before it.
    pub markers: bool,
    /// Whether it is marked for the ends to see, if it can be.
    pub marked: bool,
    /// Whether the neighbour it came from is told to isolate its flow.
    pub signal: bool,
}

/// What a congestion isolation message says of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Isolate it.
    Add,
    /// It need not be isolated for my sake any more.
    Delete,
}

/// What has happened at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Flows found congesting.
    pub found: u64,
    /// Flows isolated since the neighbour named them.
    pub named: u64,
    /// Flows that were not isolated for want of room in the table.
    pub refused: u64,
    /// Messages to be sent upstream.
    pub messages: u64,
}

/// Isolates the congesting flows of one port and pair of classes. `F` is what the driver knows flows by, `S` the
/// storage of the [`StreamTable`].
#[derive(Clone, Debug)]
pub struct IsolationPoint<F, S> {
    streams: StreamTable<F, S>,
    markers: Markers,
    /// Frames in the congesting queue.
    queued: u64,
    /// Since when the congesting queue is empty.
    empty_since: Instant,
    detector: Detector,
    marker: Option<Marker>,
    counters: Counters,
    config: Config,
}

/// A [`Detection`] at work.
#[derive(Clone, Debug)]
enum Detector {
    Marking(Marker),
    Sampling(CongestionPoint),
}

impl<F: Copy + Ord, S: AsRef<[Slot<F>]> + AsMut<[Slot<F>]>> IsolationPoint<F, S> {
    /// A point before two empty queues; `slots` are the places for flows. `dice` draw what is random.
    pub fn new(config: Config, slots: S, mut dice: Dice) -> IsolationPoint<F, S> {
        let marker = match config.marking {
            IsolatedMarking::Curve(curve) => Some(Marker::new(curve, Dice::new(dice.next_u64(), 0, 0))),
            IsolatedMarking::None | IsolatedMarking::All => None,
        };
        let detector = match config.detection {
            Detection::Marking(curve) => Detector::Marking(Marker::new(curve, dice)),
            Detection::Sampling(point) => Detector::Sampling(CongestionPoint::new(point, dice)),
        };
        IsolationPoint {
            streams: StreamTable::new(slots),
            markers: Markers::default(),
            queued: 0,
            empty_since: Instant::START,
            detector,
            marker,
            counters: Counters::default(),
            config,
        }
    }

    /// Whether a flow is isolated now. One whose time is over is taken out.
    #[inline]
    pub fn is_isolated(&mut self, now: Instant, flow: F) -> bool {
        let life = self.life();
        let Some(stream) = self.streams.get_mut(flow) else { return false };
        if life.is_over(now, stream) {
            self.streams.remove(|stream| stream.flow == flow, |_| {});
            return false;
        }
        true
    }

    /// A frame of this length is accepted, and the queues hold `levels` before it. `can_signal` says whether the
    /// neighbour it came from [agrees](super::agree) on the queues.
    #[inline]
    pub fn on_frame(
        &mut self,
        now: Instant,
        flow: F,
        length: Bytes,
        levels: Levels,
        can_signal: bool,
    ) -> Placement {
        if self.is_isolated(now, flow) || self.is_found(now, flow, length, levels) {
            self.isolate(now, flow, levels, can_signal)
        } else {
            Placement { queue: Queue::Monitored, markers: false, marked: false, signal: false }
        }
    }

    /// A frame left the congesting queue. Those that this frees from isolation are handed to `removed`: where messages
    /// were sent of one, the neighbour may be told to delete it.
    ///
    /// # Panics
    /// When no frame of the flow is in that queue, as far as was told here.
    pub fn on_departure(&mut self, now: Instant, flow: F, removed: impl FnMut(Stream<F>)) {
        let stream = self.streams.get_mut(flow).expect("a flow with frames in the queue stays in the table");
        stream.queued = stream.queued.checked_sub(1).expect("a frame that was never put in");
        self.queued -= 1;
        if self.queued == 0 {
            self.empty_since = now;
            match self.config.flush {
                Flush::Nothing => {}
                Flush::OwnFlows => self.streams.remove(|stream| !stream.named_by_neighbour, removed),
                Flush::All => self.streams.remove(|_| true, removed),
            }
        }
    }

    /// The downstream neighbour of this port sent a message about a flow.
    pub fn on_message(&mut self, now: Instant, flow: F, message: Message, removed: impl FnMut(Stream<F>)) {
        match message {
            Message::Add => {
                if self.is_isolated(now, flow) {
                    let stream = self.streams.get_mut(flow).expect("it is isolated");
                    (stream.named_by_neighbour, stream.active) = (true, now);
                } else if self.add(now, flow, false) {
                    self.counters.named += 1;
                }
            }
            Message::Delete => {
                let Some(stream) = self.streams.get_mut(flow) else { return };
                stream.named_by_neighbour = false;
                if !stream.found_here && stream.queued == 0 {
                    self.streams.remove(|stream| stream.flow == flow, removed);
                }
            }
        }
    }

    /// Takes out all flows whose time is over. Nobody needs to call this for the sake of isolation: a flow whose time is
    /// over is treated as one that is not there, and makes room where there is none. It is for drivers who want to tell
    /// the neighbour in time.
    pub fn expire(&mut self, now: Instant, removed: impl FnMut(Stream<F>)) {
        let life = self.life();
        self.streams.remove(|stream| life.is_over(now, stream), removed);
    }

    /// From now on a flow must be silent for this long to be free, since a neighbour is as patient.
    pub fn set_inactivity(&mut self, inactivity: Duration) {
        self.config.inactivity = inactivity;
    }

    /// The counts that keep order; drivers tell them which markers they meet at the heads of their queues.
    pub fn markers(&mut self) -> &mut Markers {
        &mut self.markers
    }

    /// The isolated flows, those whose time is over and whom nobody has missed among them.
    pub fn streams(&self) -> &StreamTable<F, S> {
        &self.streams
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a frame on its way to the monitored queue makes its flow a congesting one, and there is room for it.
    fn is_found(&mut self, now: Instant, flow: F, length: Bytes, levels: Levels) -> bool {
        let found = match &mut self.detector {
            Detector::Marking(marker) => marker.marks(levels.monitored),
            Detector::Sampling(point) => point.on_arrival(length, levels.monitored + length, true).is_some(),
        };
        if !found || !self.add(now, flow, true) {
            return false;
        }
        self.counters.found += 1;
        true
    }

    fn add(&mut self, now: Instant, flow: F, found_here: bool) -> bool {
        if self.streams.is_full() {
            self.expire(now, |_| {});
        }
        let stream = Stream {
            flow,
            found_here,
            named_by_neighbour: !found_here,
            since: now,
            active: now,
            queued: 0,
            messages: 0,
            moved: false,
        };
        let added = self.streams.insert(stream).is_some();
        self.counters.refused += u64::from(!added);
        added
    }

    fn isolate(&mut self, now: Instant, flow: F, levels: Levels, can_signal: bool) -> Placement {
        let stream = self.streams.get_mut(flow).expect("it is isolated");
        let signal = can_signal
            && self.config.signal_above.is_some_and(|above| levels.congesting > above)
            && stream.messages < self.config.most_messages;
        let markers = self.config.keeps_order && !stream.moved;
        stream.active = now;
        stream.queued += 1;
        stream.moved = true;
        stream.messages += u8::from(signal);
        self.queued += 1;
        self.counters.messages += u64::from(signal);
        if markers {
            self.markers.insert();
        }
        let marked = match &mut self.marker {
            Some(marker) => marker.marks(levels.congesting),
            None => self.config.marking == IsolatedMarking::All,
        };
        Placement { queue: Queue::Congesting, markers, marked, signal }
    }

    fn life(&self) -> Life {
        Life { empty_since: (self.queued == 0).then_some(self.empty_since), config: self.config }
    }
}

/// How long flows stay.
struct Life {
    /// Since when the congesting queue is empty, if it is.
    empty_since: Option<Instant>,
    config: Config,
}

impl Life {
    /// Whether a flow is isolated no more. Never while frames of it are in the congesting queue, as they are for as long
    /// as that is paused: those that followed would overtake them.
    fn is_over<F>(&self, now: Instant, stream: &Stream<F>) -> bool {
        if stream.queued > 0 {
            return false;
        }
        let outlived =
            |empty: Instant| now.saturating_since(empty.max(stream.since)) >= self.config.most_life;
        now.saturating_since(stream.active) >= self.config.inactivity
            || stream.named_by_neighbour && self.empty_since.is_some_and(outlived)
    }
}
