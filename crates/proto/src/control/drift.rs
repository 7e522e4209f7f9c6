//! A climb that asks nobody: a true timer raises the rate by a small factor while nothing speaks against it.

use super::fixed::Fixed;
use crate::units::{Duration, Share};

/// How fast a limited rate grows by itself.
///
/// It is what brings a limiter back whose congestion point has fallen silent for good: nothing else reaches a source
/// that sends too little to be sampled (2-point QCN vs ECM, "Stale CPIDs": open loop, conservative, timer-based).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// What a rate gains each time, as a part of itself: half a percent is a factor of 1.005.
    pub gain: Share,
    /// Time between gains, counted from the last feedback.
    pub period: Duration,
}

impl Drift {
    /// The rate after one gain, rounded down, and never the same: a climb arrives.
    pub(super) fn raise(self, rate: Fixed) -> Fixed {
        let gain = rate.part(u64::from(self.gain.num), u64::from(self.gain.den));
        rate.plus(gain.max(Fixed(1)))
    }
}
