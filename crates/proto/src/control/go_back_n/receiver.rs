//! The receiving end: takes frames in order, and says what is missing.

use super::Reply;
use crate::units::{Duration, Instant};

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Frames to one acknowledgement.
    pub ack_every: u32,
    /// Least time before the same frame is called missing again; `None`: once only, and the sender's timeout does
    /// the rest.
    pub nak_interval: Option<Duration>,
}

impl Default for ReceiverConfig {
    /// Every frame acknowledged, and each gap told once, as reliable connections do.
    fn default() -> ReceiverConfig {
        ReceiverConfig { ack_every: 1, nak_interval: None }
    }
}

/// What becomes of a frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whether it is delivered; otherwise it is thrown away.
    pub delivered: bool,
    /// What to tell the sender, if anything.
    pub reply: Option<Reply>,
}

/// The receiver of one flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next frame to deliver.
    expected: u64,
    /// Frames delivered since the last acknowledgement.
    unacknowledged: u32,
    /// When the gap before `expected` may be told again; `None`: it has not been told.
    told_until: Option<Instant>,
    after_gap: u64,
    duplicates: u64,
    config: ReceiverConfig,
}

impl Receiver {
    /// One that expects frame 0.
    ///
    /// # Panics
    /// When nothing is ever to be acknowledged.
    pub fn new(config: ReceiverConfig) -> Receiver {
        assert!(config.ack_every > 0, "an acknowledgement of no frames");
        Receiver { expected: 0, unacknowledged: 0, told_until: None, after_gap: 0, duplicates: 0, config }
    }

    /// The frame that is to be delivered next.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Frames thrown away since one before them was missing.
    pub fn after_gap(&self) -> u64 {
        self.after_gap
    }

    /// Frames thrown away since they had been delivered before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// A frame arrived; `is_last` says whether it ends a message, which is acknowledged at once.
    pub fn on_frame(&mut self, now: Instant, sequence: u64, is_last: bool) -> Receipt {
        if sequence > self.expected {
            self.after_gap += 1;
            let reply = self.tells_gap(now).then_some(Reply::Nak(self.expected));
            return Receipt { delivered: false, reply };
        }
        if sequence < self.expected {
            self.duplicates += 1;
            // The acknowledgement may have been lost; without another the sender would repeat for ever.
            return Receipt { delivered: false, reply: Some(Reply::Ack(self.expected)) };
        }
        self.expected += 1;
        self.told_until = None;
        self.unacknowledged += 1;
        let acknowledges = is_last || self.unacknowledged >= self.config.ack_every;
        if acknowledges {
            self.unacknowledged = 0;
        }
        Receipt { delivered: true, reply: acknowledges.then_some(Reply::Ack(self.expected)) }
    }

    fn tells_gap(&mut self, now: Instant) -> bool {
        if self.told_until.is_some_and(|until| now < until) {
            return false;
        }
        self.told_until = Some(self.config.nak_interval.map_or(Instant::NEVER, |interval| now + interval));
        true
    }
}
