//! E2CM, Extended Ethernet Congestion Management: ECM whose sources look for themselves.
//!
//! Congestion points are [`ecm`](super::ecm)'s, and only their bad news counts: it sets a limiter up, and cuts it. From
//! then on the source sends a probe along the path every so often, the receiver returns it, and from how long that took
//! beyond the shortest way seen, an [`E2cmReaction`] works out how much of its own flow waits in the network: its rate
//! times the excess. It steers *that* to a set point, up and down, by ECM's own formulas. So good news comes from the
//! whole path at once, no frame carries a tag, and a congestion point that has gone is not missed.
//!
//! The scheme is named in "2-point QCN vs ECM" (IBM 2007) and not described there. This is the simplest form of what is
//! recalled of it; all numbers are ours.

mod reaction;

pub use reaction::E2cmReaction;

use super::ecm;
use crate::units::Duration;

/// Parameters of a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// How it answers congestion points, and by how much feedback moves a rate. There is no drift.
    pub ecm: ecm::ReactionConfig,
    /// What one flow is to have waiting in the network, and how much its growth counts.
    pub flow: ecm::Scale,
    /// Time between probes.
    pub probe_period: Duration,
    /// What a probe takes at most on a path without queues: where a limiter is born into congestion, and has never seen
    /// its path idle, this is taken for the shortest way.
    pub idle_way: Duration,
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        ReactionConfig {
            ecm: ecm::ReactionConfig::default(),
            flow: ecm::Scale { set_point: crate::units::Bytes::new(9_000), weight: 2 },
            probe_period: Duration::from_us(500),
            idle_way: Duration::from_us(30),
        }
    }
}
