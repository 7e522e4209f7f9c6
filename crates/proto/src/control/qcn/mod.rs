//! Quantized Congestion Notification, IEEE 802.1Qau (802.1Q clauses 30 to 33).
//!
//! A [`CongestionPoint`] watches one queue. Every so many octets it compares the queue with its set point
//! and with the last sample, and where that is bad news it has one frame's source told: a congestion
//! notification message with six bits of feedback. [`blame`] says which frame; a [`CulpritArray`] finds a random one as
//! hardware would. At the source a
//! [`QcnReaction`] cuts the rate of what that frame belonged to, and climbs back by itself: halfway to where
//! it was (fast recovery), then beyond (active and hyper-active increase), counting octets and time.
//!
//! The sources of QCN differ in details. Two [`Profile`]s collect them, [`PRESETS`] are the parameter sets of
//! known experiments, and each difference is a field of its own in [`CongestionConfig`] or
//! [`ReactionConfig`]. [`OBJECTS`] are the managed objects of the standard, with range and default.
//!
//! ```
//! use quell_proto::control::pacer::{Pacer, Rule};
//! use quell_proto::control::qcn::{CongestionPoint, QcnReaction, preset};
//! use quell_proto::control::{Feedback, ReactionPoint};
//! use quell_proto::dice::Dice;
//! use quell_proto::units::{Bytes, Instant, Rate};
//!
//! let set = preset("standard-10G").expect("a preset of this crate");
//! let mut switch = CongestionPoint::new(set.congestion, Dice::new(1, 0, 0));
//! let mut source = QcnReaction::new(set.reaction, Dice::new(1, 1, 0));
//! let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
//!
//! // Frames find 100 kB queued, far above the set point of 26 kB, until one of them is sampled.
//! let (frame, queued) = (Bytes::new(1500), Bytes::from_kb(100));
//! let sample = (0..200).find_map(|_| switch.on_arrival(frame, queued, true)).expect("a sample every 150 kB");
//!
//! let now = Instant::START;
//! pacer.on_sent(now, frame);
//! source.on_feedback(now, Feedback::Cnm { quantised: sample.quantised });
//! pacer.set_rate(now, source.limit());
//! assert!(source.limit().is_some_and(|limit| limit < Rate::from_gbps(10)));
//! assert!(pacer.ready_at(frame) > now + Rate::from_gbps(10).time_for(frame));
//! ```
//!
//! # What builds on it
//!
//! [`af_qcn`](super::af_qcn) and [`fqcn`](super::fqcn) watch what each flow brings, change whom a sample is told
//! to and how badly, and leave sampling, messages and reaction points alone. [`Sample`] is plain data for that
//! reason: it is final where the queue is concerned, the next interval is already drawn, and what is sent may
//! still be changed by the driver, after [`blame`] or instead of it, before the message is made.

mod array;
mod congestion;
mod culprit;
mod objects;
mod presets;
mod reaction;

pub use array::{CulpritArray, Found, Probe, SearchConfig, WORDS_A_READ, Word};
pub use congestion::{CongestionPoint, Sample};
pub(super) use congestion::{octets, quantise};
pub use culprit::{Occupancy, blame};
pub use objects::{OBJECTS, Object, OutOfRange, object};
pub use presets::{PRESETS, Preset, Profile, preset};
pub use reaction::{Phase, QcnReaction};

use crate::units::{Bytes, Duration, Rate};

/// Parameters of a congestion point. The default is the standard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// The queue length the loop steers to (`cpQsp`, Q_EQ).
    pub set_point: Bytes,
    /// How much the queue's growth counts against its length (`cpW`), as a power of two: 1 means w = 2.
    pub weight_log2: i8,
    /// Octets between samples while there is no congestion (`cpSampleBase`).
    pub sample_base: Bytes,
    /// How feedback becomes six bits.
    pub quantiser: Quantiser,
    /// Half-width of the uniform factor on the sampling interval, in percent: 15 draws from 0.85 to 1.15.
    pub sample_jitter_percent: u8,
    /// Which frame is blamed.
    pub culprit: Culprit,
    /// Whether a clock goes on sampling while the congestion point's own buffer holds its peer paused.
    pub keep_alive: bool,
}

/// How a congestion point turns feedback into six bits. F is the largest feedback, `cpQsp * (2 * cpW + 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantiser {
    /// `floor(-fb * 63 / F)`, the default: 63 only at F itself.
    SixtyThreeths,
    /// `min(63, floor(-fb * 64 / F))`.
    SixtyFourths,
    /// The six most significant bits of the largest possible `-fb`: a shift, and where F is no power of two,
    /// less than 63 at the most.
    TopBits,
}

/// Which frame of a congested buffer is blamed when a sample falls due.
///
/// The first is the standard's choice and blames the flow that sends fastest. In a buffer that is not served
/// first-in first-out that can be a victim, so the other two blame a resident frame instead (Unbiased QCN
/// for scalable server-rack fabrics, section III-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The frame whose arrival made the sample due.
    Arrival,
    /// A frame of the flow that holds most of the buffer.
    LargestOccupancy,
    /// The frame in a uniformly chosen occupied unit of the buffer: a flow is hit in proportion to the room
    /// it takes.
    RandomOccupancy,
}

/// Parameters of a reaction point. The default is the standard's, on a port of 10 Gb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate at which the limiter is released (`rpgMaxRate`): the port's.
    pub max_rate: Rate,
    /// Never cut below this (`rpgMinRate`).
    pub min_rate: Rate,
    /// Gain of a cut as a power of two (`rpgGd`): 7 means a cut of feedback/128.
    pub gd_log2: u8,
    /// Largest cut: what remains at the least, in percent (`rpgMinDecFac`).
    pub min_decrease_percent: u8,
    /// Octets of a byte cycle (`rpgByteReset`, BC_LIMIT).
    pub byte_reset: Bytes,
    /// Makes byte cycles proportional to the rate: as many octets as the current rate carries in this time,
    /// when a cycle begins, instead of `byte_reset`. A fixed length lets the fast flow climb more often than
    /// the slow one; this lets both climb alike (Hayashi et al. 2011, with 240 us).
    pub byte_cycle: Option<Duration>,
    /// Length of a time cycle (`rpgTimeReset`, TIMER_PERIOD).
    pub time_reset: Duration,
    /// Cycles of fast recovery (`rpgThreshold`).
    pub threshold: u32,
    /// Step of active increase (`rpgAiRate`).
    pub ai_rate: Rate,
    /// Step of hyper-active increase (`rpgHaiRate`).
    pub hai_rate: Rate,
    /// Half-width of the uniform factor on both reloads, in percent; 0 for none.
    pub reload_jitter_percent: u8,
    /// Whether a counter past the threshold reloads with half its length in active increase too.
    pub half_reload_in_ai: bool,
    /// Whether fast recovery lasts through the cycle numbered `threshold` (`stage > threshold` ends it).
    pub recovery_includes_threshold: bool,
    /// Whether the steps of hyper-active increase are multiplied by `min(stages) - threshold` instead of
    /// `min(stages) - threshold + 1`.
    pub hai_excludes_threshold: bool,
    /// Whether the time cycle stands still while the port is paused.
    pub freeze_timer_while_paused: bool,
}

impl Default for CongestionConfig {
    fn default() -> CongestionConfig {
        Profile::Standard.congestion()
    }
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        Profile::Standard.reaction(Rate::from_gbps(10))
    }
}
