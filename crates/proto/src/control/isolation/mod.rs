//! Congestion isolation, IEEE 802.1Qcz (IEEE P802.1Qcz Congestion Isolation, P. Congdon, April 2018; the managed
//! values are those of 802.1Qcz-2023).
//!
//! A queue that fills delays everyone behind it, and the pause that keeps it from overflowing delays even more. So a
//! port takes the few flows that fill it out of the others' way: it gives them a queue of their own, tells its upstream
//! neighbour to do the same, and only if that queue fills too does it pause. Slowing those flows down is left to the
//! ends ([`dcqcn`](super::dcqcn)), for which this buys time.
//!
//! An [`IsolationPoint`] stands at one output port, for one pair of traffic classes: the *monitored* one, in which
//! flows start, and the *congesting* one, to which they are moved. The driver holds the two queues, and for each frame
//! it accepts asks where it goes:
//!
//! ```
//! use quell_proto::control::isolation::{Config, IsolationPoint, Levels, Queue};
//! use quell_proto::dice::Dice;
//! use quell_proto::units::{Bytes, Instant};
//!
//! // A table of four flows; it may lie in an array or on a heap, as the driver likes.
//! let mut port = IsolationPoint::new(Config::default(), [None; 4], Dice::new(1, 2, 3));
//! let full = Levels { monitored: Bytes::from_kb(301), congesting: Bytes::ZERO };
//! let first = port.on_frame(Instant::START, "red", Bytes::new(1000), full, true);
//! assert_eq!(first.queue, Queue::Congesting);
//! assert!(first.markers, "which wait in both queues, so that red's earlier frames go first");
//! let second = port.on_frame(Instant::START, "red", Bytes::new(1000), full, true);
//! assert!(second.queue == Queue::Congesting && !second.markers);
//! ```
//!
//! - detection: [`Detection`] says which frame of a filling queue makes its flow a congesting one;
//! - the flows found: [`StreamTable`], of as many as the driver gives room for, and how they leave it again: by
//!   inactivity, by the congesting queue running empty ([`Flush`]), by word of the neighbour;
//! - order: [`Markers`], without which a flow that changes queues would overtake itself;
//! - upstream: [`Placement::signal`] says when to send a congestion isolation message, [`IsolationPoint::on_message`]
//!   what to do with one, and [`agree`] whether two neighbours mean the same queues at all;
//! - [`LastResort`]: pauses for both classes, with the further threshold that lossless operation needs.
//!
//! # Degrees of conformity
//!
//! The proposal allows several, and each is a choice here: local isolation only (`signal_above` is `None`, or a
//! neighbour does not [`agree`]); with signalling; with pauses, in which case a [`LastResort`] watches what each input
//! holds; and without, where a full queue drops.
//!
//! # Several monitored classes
//!
//! In 802.1Qcz-2023 classes come in pairs. The proposal of 2018 lets several monitored classes share one congesting
//! queue: that is several points, one for each, whose markers in that queue carry their point's number. A marker at its
//! head is held against the counters of the point it belongs to, and the others' markers do not matter.

mod last_resort;
mod order;
mod peer;
mod point;
mod streams;
#[cfg(test)]
mod tests;

pub use last_resort::{BothClasses, Coupling, Impossible, LastResort, LastResortConfig, Signals};
pub use order::Markers;
pub use peer::{Agreement, Announcement, Disagreement, QueueMap, agree};
pub use point::{Counters, IsolationPoint, Levels, Message, Placement, Queue};
pub use streams::{Slot, Stream, StreamTable};

use super::ecn::MarkingConfig;
use super::qcn::CongestionConfig;
use crate::units::{Bytes, Duration};

/// Parameters of an isolation point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which frames make their flow a congesting one.
    pub detection: Detection,
    /// Which frames of congesting flows are marked for the ends to see.
    pub marking: IsolatedMarking,
    /// Upstream neighbours are told of a flow while the congesting queue holds more than this; `None`: never.
    pub signal_above: Option<Bytes>,
    /// How often a neighbour is told of one flow at most (`max-cim-tx`).
    pub most_messages: u8,
    /// A flow without a frame for this long is none of the congesting ones any more.
    pub inactivity: Duration,
    /// A flow that the neighbour named stays for at most this long after the congesting queue ran empty
    /// (`ci-max-flow-life`).
    pub most_life: Duration,
    /// What happens to the table when the congesting queue runs empty.
    pub flush: Flush,
    /// Whether flows keep their order when they change queues.
    pub keeps_order: bool,
}

impl Default for Config {
    /// The numbers of the proposal's simulations ("Queue Models Used"), and the standard's defaults. Neither states
    /// where signalling begins nor how long inactivity is; a tenth of the pause threshold and 100 us are ours.
    fn default() -> Config {
        Config {
            detection: Detection::Marking(MarkingConfig::isolation_100g()),
            marking: IsolatedMarking::All,
            signal_above: Some(Bytes::from_kb(75)),
            most_messages: 3,
            inactivity: Duration::from_us(100),
            most_life: Duration::from_ms(1000),
            flush: Flush::OwnFlows,
            keeps_order: true,
        }
    }
}

/// Which frame of a filling queue makes its flow a congesting one. The standard leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// One that ECN would mark: at random, the likelier the longer the monitored queue.
    Marking(MarkingConfig),
    /// One that QCN would notify of: every so many octets, where the monitored queue is above its set point and
    /// growing. Only the samples are used; nobody is notified.
    Sampling(CongestionConfig),
}

/// Which frames of congesting flows are marked for the ends to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolatedMarking {
    /// None.
    None,
    /// All of them: "ECN is marked once a packet is isolated" (P802.1Qcz, "Queue Models Used").
    All,
    /// Those that this curve marks, by the length of the congesting queue.
    Curve(MarkingConfig),
}

/// What happens to the table of flows when the congesting queue runs empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Nothing: flows leave by inactivity.
    Nothing,
    /// Those that were found here leave; those a neighbour named stay as long as it may still be congested.
    OwnFlows,
    /// All leave (P802.1Qcz, "Response: Congested to uncongested transition").
    All,
}
