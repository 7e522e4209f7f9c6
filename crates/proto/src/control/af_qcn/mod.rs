//! AF-QCN, approximate fairness for QCN (Kabbani et al. 2010).
//!
//! Plain QCN tells a source how badly the queue is doing, never whether that source is to blame: two flows of
//! unequal rate are cut by the same factor and stay unequal. Here the congestion point measures what each flow
//! brings, and mixes into the feedback how far a flow is above an equal share. Sampling, messages and reaction
//! points are [`qcn`](super::qcn)'s: a driver counts frames with [`Fairness::on_arrival`], samples with
//! [`CongestionPoint`](super::qcn::CongestionPoint), chooses a flow with [`blame`](super::qcn::blame), and asks
//! [`Fairness::weigh`] what to tell it.
//!
//! The published notes give the formulas, and neither the interval nor the mix; the defaults are ours.

mod fairness;

pub use fairness::Fairness;

use crate::units::Duration;

/// Parameters of AF-QCN beyond QCN's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Time over which arrivals are measured.
    pub interval: Duration,
    /// How much fairness counts against the queue: `mix_num / mix_den` of the feedback, at most all of it.
    pub mix_num: u32,
    /// See `mix_num`.
    pub mix_den: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config { interval: Duration::from_ms(1), mix_num: 1, mix_den: 2 }
    }
}
