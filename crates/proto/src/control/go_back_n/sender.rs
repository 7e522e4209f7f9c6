//! The sending end: knows what to send next, and when to go back.

use super::Reply;
use crate::units::{Duration, Instant};

/// Parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Time without progress after which everything not acknowledged is sent again.
    pub timeout: Duration,
    /// How often that time is doubled while nothing gets through.
    pub most_doublings: u8,
}

impl Default for SenderConfig {
    /// Reliable connections wait 4.096 us times a power of two (InfiniBand 9.7.6.1.3); 2^8 makes it a millisecond.
    fn default() -> SenderConfig {
        SenderConfig { timeout: Duration::from_ns(4_096 << 8), most_doublings: 0 }
    }
}

/// The sender of one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    /// All frames below this are acknowledged.
    acknowledged: u64,
    /// The frame to send next.
    next: u64,
    /// The first frame never sent.
    fresh: u64,
    /// When to go back, unless something is acknowledged before.
    deadline: Option<Instant>,
    /// Timeouts in a row.
    doublings: u8,
    retransmitted: u64,
    timeouts: u64,
    naks: u64,
    config: SenderConfig,
}

impl Sender {
    /// One that has sent nothing.
    ///
    /// # Panics
    /// When the timeout is none.
    pub fn new(config: SenderConfig) -> Sender {
        assert!(config.timeout.ps() > 0, "a timeout that is over before it begins");
        Sender {
            acknowledged: 0,
            next: 0,
            fresh: 0,
            deadline: None,
            doublings: 0,
            retransmitted: 0,
            timeouts: 0,
            naks: 0,
            config,
        }
    }

    /// The frame to send next; whether there is one, and whether it may go, is for the driver to know.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The first frame never sent.
    #[inline]
    pub fn fresh(&self) -> u64 {
        self.fresh
    }

    /// All frames below this have arrived.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Frames sent and not acknowledged, those that were gone back over not counted.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.next - self.acknowledged
    }

    /// Frames sent again.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// How often time ran out.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// How often it was told to go back, and did.
    pub fn naks(&self) -> u64 {
        self.naks
    }

    /// The frame [`next`](Self::next) named is on its way; returns its number.
    pub fn on_sent(&mut self, now: Instant) -> u64 {
        let sequence = self.next;
        self.retransmitted += u64::from(sequence < self.fresh);
        self.next += 1;
        self.fresh = self.fresh.max(self.next);
        if self.deadline.is_none() {
            self.arm(now);
        }
        sequence
    }

    /// The receiver replied. What it says of frames never sent is not believed.
    pub fn on_reply(&mut self, now: Instant, reply: Reply) {
        let (Reply::Ack(arrived) | Reply::Nak(arrived)) = reply;
        if arrived > self.fresh || arrived < self.acknowledged {
            return;
        }
        let progress = arrived > self.acknowledged;
        self.acknowledged = arrived;
        if matches!(reply, Reply::Nak(_)) && self.next > arrived {
            self.naks += 1;
            self.next = arrived;
        }
        // A frame that arrived late needs no repetition, though the sender had gone back over it.
        self.next = self.next.max(arrived);
        if self.acknowledged == self.fresh {
            self.deadline = None;
        } else if progress {
            self.doublings = 0;
            self.arm(now);
        }
    }

    /// When `on_timeout` is next due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// The time `next_timeout` named has come. Early or repeated calls change nothing. Says whether it went back.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return false;
        }
        self.timeouts += 1;
        self.next = self.acknowledged;
        self.doublings = (self.doublings + 1).min(self.config.most_doublings);
        self.arm(now);
        true
    }

    fn arm(&mut self, now: Instant) {
        let wait = self.config.timeout.ps().saturating_mul(1 << self.doublings.min(63));
        self.deadline = Some(Instant::from_ps(now.ps().saturating_add(wait)));
    }
}
