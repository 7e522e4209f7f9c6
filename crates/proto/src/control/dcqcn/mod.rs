//! DCQCN: end-to-end congestion control of RDMA over converged Ethernet (Congestion Control for Large-Scale RDMA
//! Deployments, SIGCOMM 2015).
//!
//! A switch marks frames by its queue ([`ecn`](super::ecn)). The receiver's [`NotificationPoint`] answers the marks
//! of a flow with congestion notification packets, at most one in 50 us. The sender's [`DcqcnReaction`] keeps an
//! estimate of how often they come, cuts the flow's rate by half of that estimate, and climbs back as QCN does:
//! halfway to where it was, then beyond, counting time and octets.
//!
//! Two [`Profile`]s collect what implementations do differently, and each difference is a field of
//! [`ReactionConfig`]: the paper's, and that of network adapters, whose estimate and cuts run on clocks of their own.
//! [`PRESETS`] are the parameters of known experiments.
//!
//! ```
//! use quell_proto::control::dcqcn::{DcqcnReaction, NotificationPoint, preset};
//! use quell_proto::control::{Feedback, ReactionPoint};
//! use quell_proto::units::{Duration, Instant, Rate};
//!
//! let set = preset("paper-40G").expect("a preset of this crate");
//! let mut receiver = NotificationPoint::new(set.notification);
//! let mut sender = DcqcnReaction::new(set.reaction);
//! // Two marked frames a microsecond apart: one notification, and the first cut is by half.
//! let now = Instant::START;
//! assert!(receiver.on_marked(now));
//! assert!(!receiver.on_marked(now + Duration::from_us(1)));
//! sender.on_feedback(now, Feedback::Cnp);
//! assert_eq!(sender.limit(), Some(Rate::from_gbps(20)));
//! ```
//!
//! Priority flow control is not part of it, but what makes it lossless meanwhile. Rates are in 2^-40 b/s and
//! estimates in 2^-32; the tests hold both against floats over long histories.

mod notification;
mod presets;
mod reaction;

pub use notification::{NotificationConfig, NotificationPoint};
pub use presets::{PRESETS, Preset, Profile, preset};
pub use reaction::{DcqcnReaction, Phase};

use crate::units::{Bytes, Duration, Rate, Share};

/// Parameters of a sender. The default is the paper's, on a port of 40 Gb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate at which the limiter is released: the port's.
    pub max_rate: Rate,
    /// Never cut below this (`rpg_min_rate`).
    pub min_rate: Rate,
    /// What part of its way the estimate goes at a time (g; `dce_tcp_g` is 1024 less this in 1024ths).
    pub gain: Share,
    /// What the estimate begins with (`initial_alpha_value`).
    pub initial_alpha: Share,
    /// When the estimate moves.
    pub alpha_rule: AlphaRule,
    /// Time after which it falls for want of notifications, again and again (K; `dce_tcp_rtt`).
    pub alpha_period: Duration,
    /// Notifications are acted upon once in this time (`rate_reduce_monitor_period`); zero: each at once.
    pub cut_period: Duration,
    /// Largest cut: what remains at the least, in percent (`rpg_min_dec_fac`).
    pub min_decrease_percent: u8,
    /// What the first notification of a flow sets its rate to, before any cut (`rate_to_set_on_first_cnp`).
    pub first_rate: Option<Rate>,
    /// Which cuts make the rate before them the goal of the climb.
    pub clamp: Clamp,
    /// Length of a time cycle (T; `rpg_time_reset`).
    pub time_reset: Duration,
    /// Octets of a byte cycle (B; `rpg_byte_reset`); `None`: only time counts.
    pub byte_reset: Option<Bytes>,
    /// Cycles of fast recovery (F; `rpg_threshold`).
    pub threshold: u32,
    /// Whether the cycle that ends counts among those that `threshold` is held against.
    pub counts_ending_cycle: bool,
    /// Step of additive increase (R_AI; `rpg_ai_rate`).
    pub ai_rate: Rate,
    /// Step of hyper increase (R_HAI; `rpg_hai_rate`).
    pub hai_rate: Rate,
    /// Whether the steps of hyper increase grow from cycle to cycle: once, twice, three times `hai_rate`.
    pub hai_grows: bool,
    /// Whether the goal of the climb is held to the port's rate.
    pub target_capped: bool,
}

/// When the estimate of congestion moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaRule {
    /// Up with each notification, after the cut it caused; down for each period without one (the paper's text).
    AfterCut,
    /// Up with each notification, before the cut it causes; down for each period without one (the authors'
    /// simulator).
    BeforeCut,
    /// Once each period, up if a notification came in it and down if none did (network adapters).
    EachPeriod,
}

/// Which cuts make the rate before them the goal of the climb (`clamp_tgt_rate`, `clamp_tgt_rate_after_time_inc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clamp {
    /// Every cut.
    EveryCut,
    /// The first cut since a byte cycle ended, as in QCN: those that follow it keep its goal.
    AfterByteCycle,
    /// The first cut since a cycle of either sort ended.
    AfterAnyCycle,
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        Profile::Paper.reaction(Rate::from_gbps(40))
    }
}
