//! Quantized Congestion Notification, IEEE 802.1Qau.

use crate::units::{Bytes, Duration, Rate};

/// Parameters of a congestion point.
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

/// How a congestion point turns feedback into six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantiser {
    /// `floor(-fb * 63 / F)`, the default.
    SixtyThreeths,
    /// `min(63, floor(-fb * 64 / F))`.
    SixtyFourths,
    /// The six most significant bits of the largest possible `-fb`.
    TopBits,
}

/// Which frame of a congested buffer is blamed when a sample falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The frame whose arrival made the sample due.
    Arrival,
    /// A frame of the flow that holds most of the buffer.
    LargestOccupancy,
    /// The frame in a uniformly chosen occupied unit of the buffer.
    RandomOccupancy,
}

/// Parameters of a reaction point.
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
    /// Whether the time cycle stands still while the port is paused.
    pub freeze_timer_while_paused: bool,
}
