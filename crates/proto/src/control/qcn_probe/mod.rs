//! QCN with good news: cut by messages as QCN is, raised by what probes bring back and by nothing else.
//!
//! The answer of "2-point QCN vs ECM" (IBM 2007), "Proposal: Close the + Loop", plan B, to a recovery that listens to
//! nobody. Congestion points are those of [`qcn2007`](super::qcn2007); besides, every one on the way of a probe writes
//! its feedback into it unless a worse one is there ([`stamp`]). The receiver returns the probe, and a
//! [`ProbedReaction`] raises its rate in proportion to what came back if that is good: bad news counts if any congestion
//! point has it, good news only if all do, and no frame carries a tag.
//!
//! The document refers to a proposal (QCN-P/R) that was not at hand; this is what its one line says. All numbers beyond
//! QCN's are ours, or ECM's.

mod reaction;

pub use reaction::ProbedReaction;

use super::ecm;
use crate::units::{Bytes, Duration, Rate, Share};

/// Parameters of a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate at which the limiter is released: the port's.
    pub max_rate: Rate,
    /// Never cut below this.
    pub min_rate: Rate,
    /// Gain of a cut as a power of two: 7 means a cut of feedback/128.
    pub gd_log2: u8,
    /// What makes octets of queue into feedback, at both ends.
    pub scale: ecm::Scale,
    /// What the best feedback adds, as a part of the maximum.
    pub raise: Share,
    /// Time between probes.
    pub probe_period: Duration,
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        ReactionConfig {
            max_rate: Rate::from_gbps(10),
            min_rate: Rate::from_mbps(1),
            gd_log2: 7,
            scale: ecm::Scale { set_point: Bytes::from_kb(33), weight: 2 },
            raise: Share::percent(2),
            probe_period: Duration::from_us(500),
        }
    }
}

/// What a probe says that has seen no queue yet: as good as it gets, in units of 64 octets.
pub const NO_QUEUE: i16 = i16::MAX;

/// What a probe says after it passed a queue of this length: the feedback of the queue, or what it said before if that is
/// worse. `queued_before` is the length at the last sample of that queue.
pub fn stamp(said: i16, queued: Bytes, queued_before: Bytes, scale: ecm::Scale) -> i16 {
    let octets = |size: Bytes| size.get().min(1 << 40) as i64;
    let most = octets(scale.set_point);
    let offset = (octets(queued) - most).clamp(-most, most);
    let delta = (octets(queued) - octets(queued_before)).clamp(-2 * most, 2 * most);
    let feedback = -(offset + i64::from(scale.weight) * delta) / 64;
    said.min(feedback.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_keeps_the_worst_it_saw() {
        let scale = ReactionConfig::default().scale;
        let at_rest = |said, kb| stamp(said, Bytes::from_kb(kb), Bytes::from_kb(kb), scale);
        let empty = at_rest(NO_QUEUE, 0);
        assert_eq!(empty, 515, "33000 octets in units of 64");
        let busy = at_rest(empty, 20);
        assert_eq!(busy, 13_000 / 64);
        assert_eq!(at_rest(busy, 0), busy);
        assert!(at_rest(busy, 50) < 0);
        assert!(stamp(NO_QUEUE, Bytes::from_kb(20), Bytes::ZERO, scale) < 0, "it grows");
    }
}
