//! ECM, Ethernet Congestion Management; before that BCN, Backward Congestion Notification.
//!
//! A [`CongestionPoint`] samples arriving frames at random and tells the frame's source how the queue stands and
//! which way it goes ([`Message`]): bad news to anyone, good news only to those it has told bad news before. For
//! that, frames of a limited flow carry a rate limiter tag with the identifier of the congestion point
//! that last cut them. At the source an [`EcmReaction`] combines the two numbers into feedback, cuts its rate in
//! proportion or raises it in proportion, and does nothing by itself: the loop is closed both ways.
//!
//! Two further messages are for emergencies. Above one threshold the worst feedback is sent whatever the queue does
//! (BCN-MAX); above a higher one the source is stopped (BCN(0,0)), waits a random time and starts again from the
//! minimum.
//!
//! Numbers are those of "2-point QCN vs ECM" (IBM 2007), "Simulation Parameters". Its slide prints the gain of
//! increases as `(R_link / R_unit) * ((2W + 1) * Q_eq)`, which has the wrong unit: it must be a division, so that the
//! largest feedback raises a rate by a tenth of the link. `R_unit` then cancels out, and so both gains are
//! stated here as what the largest feedback does.

mod congestion;
mod reaction;

pub use congestion::{CongestionPoint, Message};
pub use reaction::EcmReaction;
pub(super) use reaction::moved;

use super::drift::Drift;
use crate::units::{Bytes, Duration, Rate, Share};

/// Parameters of a congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// What both ends must agree on.
    pub scale: Scale,
    /// Probability that an arriving frame is sampled (P).
    pub sampling: Share,
    /// Above this the worst feedback is sent (BCN-MAX), if set.
    pub max_above: Option<Bytes>,
    /// Above this the source is told to stop (BCN(0,0)), if set.
    pub stop_above: Option<Bytes>,
}

/// What makes octets of queue into feedback: `Fb = -(offset + w * delta)`, between `-F` and `F`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The queue length the loop steers to (Q_eq).
    pub set_point: Bytes,
    /// How much the queue's growth counts against its length (W).
    pub weight: u16,
}

/// Parameters of a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate at which the limiter is released: the port's.
    pub max_rate: Rate,
    /// Never cut below this (R_min).
    pub min_rate: Rate,
    /// What both ends must agree on.
    pub scale: Scale,
    /// What the worst feedback takes of the current rate: `Gd * F`.
    pub cut: Share,
    /// What the best feedback adds, as a part of the maximum: `Gi * F * R_unit / R_link`.
    pub raise: Share,
    /// Longest random wait of a stopped source (T_max).
    pub longest_stop: Duration,
    /// How a rate recovers that no congestion point speaks of any more; `None`: it does not.
    pub drift: Option<Drift>,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale { set_point: Bytes::new(37_500), weight: 2 }
    }
}

impl Default for CongestionConfig {
    fn default() -> CongestionConfig {
        CongestionConfig {
            scale: Scale::default(),
            sampling: Share::percent(2),
            max_above: Some(Bytes::from_kb(150)),
            stop_above: None,
        }
    }
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        ReactionConfig {
            max_rate: Rate::from_gbps(10),
            min_rate: Rate::from_mbps(1),
            scale: Scale::default(),
            cut: Share::percent(50),
            raise: Share::percent(10),
            longest_stop: Duration::from_ms(10),
            drift: None,
        }
    }
}

impl Scale {
    /// The largest feedback, either way: `F = (2W + 1) * Q_eq`, in octets.
    pub const fn largest(self) -> u64 {
        (2 * self.weight as u64 + 1) * self.set_point.get()
    }
}
