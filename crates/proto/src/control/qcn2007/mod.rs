//! QCN as it was in the middle of 2007, with two points: the ancestor of the standard.
//!
//! A [`CongestionPoint`] samples with a probability that follows the last feedback, between 1 % and 10 %, and speaks
//! only when things are bad, in six bits. A [`Reaction`] cuts, and climbs by what it sends: halfway back to where it
//! was in fast recovery, at first in shorter cycles (extra fast recovery), then on by fixed steps. There
//! is no time cycle yet; a [`Drift`] makes up for it, half a percent every half a millisecond.
//!
//! Numbers are those of "2-point QCN vs ECM" (IBM 2007), "Simulation Parameters". What that document leaves out is
//! our reading, and stated where it matters: see [`Reaction`] and [`CongestionPoint`].

mod congestion;
mod reaction;

pub use congestion::CongestionPoint;
pub use reaction::Reaction;

use super::drift::Drift;
use crate::units::{Bytes, Duration, Rate, Share};

/// Parameters of a congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// The queue length the loop steers to (Q_eq).
    pub set_point: Bytes,
    /// How much the queue's growth counts against its length, as a power of two: 1 means w = 2.
    pub weight_log2: i8,
    /// Probability that a frame is sampled after good news.
    pub least_sampling: Share,
    /// Probability that a frame is sampled after the worst feedback.
    pub most_sampling: Share,
}

/// Parameters of a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate at which the limiter is released: the port's.
    pub max_rate: Rate,
    /// Never cut below this.
    pub min_rate: Rate,
    /// Gain of a cut as a power of two: 7 means a cut of feedback/128.
    pub gd_log2: u8,
    /// Octets of a cycle.
    pub byte_reset: Bytes,
    /// Whether the first two cycles after a cut are shorter, a quarter and half, and the first divides a goal that is
    /// far off by eight.
    pub extra_fast_recovery: bool,
    /// Cycles of fast recovery.
    pub threshold: u32,
    /// Step of active increase (A).
    pub ai_rate: Rate,
    /// Step of hyperactive increase, in place of active increase: the n-th cycle after fast recovery adds n of it.
    pub hai_rate: Option<Rate>,
    /// The climb by time; `None`: there is none.
    pub drift: Option<Drift>,
}

impl Default for CongestionConfig {
    fn default() -> CongestionConfig {
        CongestionConfig {
            set_point: Bytes::from_kb(33),
            weight_log2: 1,
            least_sampling: Share::percent(1),
            most_sampling: Share::percent(10),
        }
    }
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        ReactionConfig {
            max_rate: Rate::from_gbps(10),
            min_rate: Rate::from_mbps(1),
            gd_log2: 7,
            byte_reset: Bytes::from_kb(150),
            extra_fast_recovery: true,
            threshold: 5,
            ai_rate: Rate::from_mbps(3),
            hai_rate: None,
            drift: Some(Drift { gain: Share { num: 5, den: 1000 }, period: Duration::from_us(500) }),
        }
    }
}
