//! What a producer says while it runs.

use crate::{EntityId, Rows};
use quell_proto::units::Instant;
use serde::{Deserialize, Serialize};

/// A measured quantity; its name carries its unit. A value stands for the interval that ends at its
/// sample instant, or for that instant itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Quantity {
    /// Ports and inputs: octets held, averaged over the interval's time (rounded to nearest).
    QueueMeanBytes,
    /// Ports and inputs: the most octets held at any time of the interval.
    QueuePeakBytes,
    /// Ports: octets of data frames that began transmission in the interval.
    TxBytes,
    /// Ports: data frames that began transmission in the interval.
    TxFrames,
    /// Ports: what the port could have carried in the interval at its service rate, in octets on the wire.
    ServiceBytes,
    /// Ports: how long the peer's PAUSE or PFC held the port in the interval.
    PausedPs,
    /// Inputs: how long this buffer held its peer paused in the interval.
    StoppedPs,
    /// Ports and inputs: notifications the congestion point here sent in the interval.
    CnmsSent,
    /// Ports and inputs: frames dropped here in the interval. Flows: frames lost in the network in the interval.
    DroppedFrames,
    /// Flows: octets the source put into its adapter in the interval.
    OfferedBytes,
    /// Flows: octets that left the adapter in the interval.
    SentBytes,
    /// Flows: octets delivered to the receiver in the interval.
    DeliveredBytes,
    /// Flows: frames delivered to the receiver in the interval.
    DeliveredFrames,
    /// Flows: what the source's limiter holds the flow to at the instant; the line rate if nothing limits it.
    LimitBps,
    /// Flows: notifications that reached the source in the interval.
    CnmsReceived,
    /// Ports and inputs: reads of the culprit array that the congestion point here took in the interval. Recorded only
    /// where there is one.
    CulpritReads,
    /// Ports: frames marked on their way through the queue (ECN) in the interval. Recorded only where it marks.
    MarkedFrames,
}

impl Quantity {
    /// Every quantity, in the order of columns.
    pub const ALL: [Quantity; 17] = [
        Quantity::QueueMeanBytes,
        Quantity::QueuePeakBytes,
        Quantity::TxBytes,
        Quantity::TxFrames,
        Quantity::ServiceBytes,
        Quantity::PausedPs,
        Quantity::StoppedPs,
        Quantity::CnmsSent,
        Quantity::DroppedFrames,
        Quantity::OfferedBytes,
        Quantity::SentBytes,
        Quantity::DeliveredBytes,
        Quantity::DeliveredFrames,
        Quantity::LimitBps,
        Quantity::CnmsReceived,
        Quantity::CulpritReads,
        Quantity::MarkedFrames,
    ];

    /// The column name, unit included.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::QueueMeanBytes => "queue_mean_bytes",
            Quantity::QueuePeakBytes => "queue_peak_bytes",
            Quantity::TxBytes => "tx_bytes",
            Quantity::TxFrames => "tx_frames",
            Quantity::ServiceBytes => "service_bytes",
            Quantity::PausedPs => "paused_ps",
            Quantity::StoppedPs => "stopped_ps",
            Quantity::CnmsSent => "cnms_sent",
            Quantity::DroppedFrames => "dropped_frames",
            Quantity::OfferedBytes => "offered_bytes",
            Quantity::SentBytes => "sent_bytes",
            Quantity::DeliveredBytes => "delivered_bytes",
            Quantity::DeliveredFrames => "delivered_frames",
            Quantity::LimitBps => "limit_bps",
            Quantity::CnmsReceived => "cnms_received",
            Quantity::CulpritReads => "culprit_reads",
            Quantity::MarkedFrames => "marked_frames",
        }
    }
}

/// Something that happened at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Where: the port, input or flow it happened to.
    pub entity: EntityId,
    /// What.
    pub kind: EventKind,
    /// The flow it concerns, if any.
    pub flow: Option<EntityId>,
    /// What the kind says of it; zero where the kind says nothing.
    pub value: i64,
    /// The queue that brought it about, where the kind has one and it is known.
    pub cause: Option<EntityId>,
}

/// Kinds of events. New kinds are added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum EventKind {
    /// An input asserted PAUSE or PFC towards its peer; `value` is its occupancy in octets, `cause` the port
    /// for which most of that waits. A host's receive buffer has no such port: it waits for the host.
    Stop,
    /// An input lifted its pause; `value` is its occupancy in octets.
    Go,
    /// A port became held by its peer's pause; `value` is the priority, or -1 for all.
    Paused,
    /// A port may send again; `value` as in `Paused`.
    Resumed,
    /// The congestion point of a port or input sent a notification to `flow`; `value` is the feedback.
    Cnm,
    /// A frame of `flow` was dropped; `value` is its length in octets. The first of a port or input in each
    /// sampling interval is noted; `DroppedFrames` counts them all.
    Drop,
    /// A limiter was set up for `flow`; `value` is its rate in bits per second.
    Limited,
    /// The limiter of `flow` was released.
    Released,
    /// The source of `flow` turned on.
    SourceOn,
    /// The source of `flow` turned off.
    SourceOff,
    /// The service rate of a port or receiver changed; `value` is the new rate in bits per second.
    Service,
    /// The link behind a port failed.
    LinkDown,
    /// The link behind a port came back.
    LinkUp,
    /// The last frame of a finite message of `flow` was delivered; `value` is the message's completion time in ps.
    MessageDone,
    /// A burst of a limited source ended, here when the next one began: `value` frames, of which each but the first
    /// started sooner after the one before it than the limit alone allows. Recorded only where a claim or a figure
    /// asks for bursts.
    Burst,
    /// A port was found to be held for good: it waits for the port `cause`, and so on round a circle that leads back
    /// here. `value` is when the circle closed, in ps; the event itself is at the end of the sampling interval in which
    /// it was found.
    Deadlock,
    /// A port began to isolate `flow`, and its frames wait in the queue of the port's congesting priority; `value` is 0 if it
    /// was found there, 1 if the neighbour named it.
    Isolated,
    /// The last octet of an iteration of a collective that is for the receiver of `flow` on it has arrived; `value` is
    /// how long the iteration took, in ps: since the one before, or since the collective began.
    Iteration,
}

impl EventKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [EventKind; 18] = [
        EventKind::Stop,
        EventKind::Go,
        EventKind::Paused,
        EventKind::Resumed,
        EventKind::Cnm,
        EventKind::Drop,
        EventKind::Limited,
        EventKind::Released,
        EventKind::SourceOn,
        EventKind::SourceOff,
        EventKind::Service,
        EventKind::LinkDown,
        EventKind::LinkUp,
        EventKind::MessageDone,
        EventKind::Burst,
        EventKind::Deadlock,
        EventKind::Isolated,
        EventKind::Iteration,
    ];

    /// Its name in `events.parquet`.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Stop => "stop",
            EventKind::Go => "go",
            EventKind::Paused => "paused",
            EventKind::Resumed => "resumed",
            EventKind::Cnm => "cnm",
            EventKind::Drop => "drop",
            EventKind::Limited => "limited",
            EventKind::Released => "released",
            EventKind::SourceOn => "source_on",
            EventKind::SourceOff => "source_off",
            EventKind::Service => "service",
            EventKind::LinkDown => "link_down",
            EventKind::LinkUp => "link_up",
            EventKind::MessageDone => "message_done",
            EventKind::Burst => "burst",
            EventKind::Deadlock => "deadlock",
            EventKind::Isolated => "isolated",
            EventKind::Iteration => "iteration",
        }
    }
}

/// The whole life of one flow, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTotals {
    /// Octets put into the adapter.
    pub offered_bytes: u64,
    /// Octets that left the adapter.
    pub sent_bytes: u64,
    /// Octets delivered.
    pub delivered_bytes: u64,
    /// Frames delivered.
    pub delivered_frames: u64,
    /// Frames lost in the network.
    pub lost_frames: u64,
    /// Frames delivered after a later one of the same flow.
    pub reordered_frames: u64,
    /// Notifications that reached the source.
    pub cnms_received: u64,
    /// Sum over delivered frames of the time from adapter to receiver, in picoseconds.
    pub latency_sum_ps: u64,
    /// The longest such time.
    pub latency_max_ps: u64,
    /// Frames sent again.
    pub retransmitted_frames: u64,
    /// How often a sender had waited too long for an acknowledgement.
    pub timeouts: u64,
}

/// Puts together what is known of a flow at different places: what one of them does not know is zero there.
impl std::ops::AddAssign for FlowTotals {
    fn add_assign(&mut self, other: FlowTotals) {
        self.offered_bytes += other.offered_bytes;
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.delivered_frames += other.delivered_frames;
        self.lost_frames += other.lost_frames;
        self.reordered_frames += other.reordered_frames;
        self.cnms_received += other.cnms_received;
        self.latency_sum_ps += other.latency_sum_ps;
        self.latency_max_ps = self.latency_max_ps.max(other.latency_max_ps);
        self.retransmitted_frames += other.retransmitted_frames;
        self.timeouts += other.timeouts;
    }
}

/// Where a producer puts what it measures. Calls come in the order of the recording: samples by time, then
/// entity, then quantity; events by time, then entity; flow totals once, at the end, in order of entity.
pub trait Sink {
    /// A new row of samples begins at this instant; it covers the time since the one before.
    fn begin_samples(&mut self, at: Instant);
    /// One value of the row begun last.
    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64);
    /// That was the row begun last: whoever writes need not wait for the next one.
    fn end_samples(&mut self) {}
    /// Rows of samples that are whole: each as if it had been begun, said and ended.
    fn rows(&mut self, rows: &Rows) {
        for (row, at) in rows.times().iter().enumerate() {
            self.begin_samples(*at);
            for (&(entity, quantity), value) in rows.shape().iter().zip(rows.row(row)) {
                self.sample(entity, quantity, *value);
            }
            self.end_samples();
        }
    }
    /// Something happened. Events may arrive before the samples of an earlier instant have been written.
    fn event(&mut self, event: Event);
    /// The totals of one flow, at the end of the run.
    fn flow(&mut self, flow: EntityId, totals: FlowTotals);
    /// Those of many flows.
    fn flows(&mut self, flows: Vec<(EntityId, FlowTotals)>) {
        for (flow, totals) in flows {
            self.flow(flow, totals);
        }
    }
    /// That was all: whoever writes can do so while the producer clears up.
    fn all_said(&mut self) {}
}

/// Where a producer puts frames, for those who asked for some.
pub trait Tap {
    /// The first octet of a frame leaves by a port, one of those asked for by its place among them. The frame has
    /// `length` octets up to its check sequence; it starts with these, and those behind them are zero.
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], length: usize);
}

/// Says everything to two sinks.
#[derive(Clone, Debug)]
pub struct Tee<A, B>(pub A, pub B);

impl<A: Sink, B: Sink> Sink for Tee<A, B> {
    fn begin_samples(&mut self, at: Instant) {
        self.0.begin_samples(at);
        self.1.begin_samples(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.0.sample(entity, quantity, value);
        self.1.sample(entity, quantity, value);
    }

    fn end_samples(&mut self) {
        self.0.end_samples();
        self.1.end_samples();
    }

    fn rows(&mut self, rows: &Rows) {
        self.0.rows(rows);
        self.1.rows(rows);
    }

    fn event(&mut self, event: Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.0.flow(flow, totals);
        self.1.flow(flow, totals);
    }

    fn all_said(&mut self) {
        self.0.all_said();
        self.1.all_said();
    }
}

/// A borrowed sink is a sink, so that a [`Tee`] need not own its two.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn begin_samples(&mut self, at: Instant) {
        (**self).begin_samples(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        (**self).sample(entity, quantity, value);
    }

    fn end_samples(&mut self) {
        (**self).end_samples();
    }

    fn rows(&mut self, rows: &Rows) {
        (**self).rows(rows);
    }

    fn event(&mut self, event: Event) {
        (**self).event(event);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        (**self).flow(flow, totals);
    }

    fn flows(&mut self, flows: Vec<(EntityId, FlowTotals)>) {
        (**self).flows(flows);
    }

    fn all_said(&mut self) {
        (**self).all_said();
    }
}
