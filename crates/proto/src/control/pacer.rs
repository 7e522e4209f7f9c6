//! The token bucket before a limited flow.
//!
//! Tokens are counted as time: credit of one picosecond is what the current rate earns in one picosecond.
//! So waiting needs no multiplication, a frame costs one division, and nothing is rounded but frame times
//! (up) and, when the rate changes, the credit carried over (down). Both let a flow fall behind its rate by
//! under a picosecond a step, and never exceed it.

use crate::units::{Bytes, Instant, Rate};

/// When a token bucket lets a frame go (NetFPGA QCN, "Token Bucket Rate Limiter").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// When the tokens cover the frame. Never sends two frames closer than the rate allows, but for what
    /// the bucket's depth saved up.
    WholeFrame,
    /// While any token is left; the rest of the frame is a debt. Sends bursts.
    AnyToken,
}

/// Holds one queue to a rate.
///
/// The bucket saves up to `depth` octets while its queue is empty or held. It always has room for what the
/// frame at hand needs, so a depth of zero means: no burst at all.
#[derive(Clone, Debug)]
pub struct Pacer {
    rule: Rule,
    depth: Bytes,
    rate: Option<Rate>,
    /// When `credit` was last counted: the start of the last frame, or the last change of rate.
    counted: Instant,
    /// Tokens at `counted`, in picoseconds of the rate; negative is debt, [`Pacer::FULL`] a full bucket.
    /// Capped only when a frame takes from it, since the cap depends on the frame.
    credit: i64,
}

impl Pacer {
    /// More credit than any cap, with room for a run's length on top.
    const FULL: i64 = i64::MAX / 4;

    /// A pacer that lets everything go until a rate is set.
    pub fn new(rule: Rule, depth: Bytes) -> Pacer {
        Pacer { rule, depth, rate: None, counted: Instant::START, credit: Self::FULL }
    }

    /// Holds the queue to `rate` from now on; `None` lets everything go. The tokens earned so far stay. The
    /// first frame under a limit waits its time from the start of the last frame sent before.
    ///
    /// A rate of zero is taken for 1 b/s: the flow stands still, and still has a time at which it may go.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        let rate = rate.map(|rate| rate.max(Rate::from_bps(1)));
        if rate == self.rate {
            return;
        }
        match (self.rate, rate) {
            (Some(old), Some(new)) => {
                let tokens = i128::from(self.credit_at(now)) * i128::from(old.bps());
                // Floored: credit is lost, debt is not.
                self.credit = clamp(tokens.div_euclid(i128::from(new.bps())));
                self.counted = now;
            }
            // Without a limit the bucket is full, unless frames go out meanwhile (see `on_sent`).
            (Some(_), None) => self.credit = Self::FULL,
            (None, _) => {}
        }
        self.rate = rate;
    }

    /// The earliest time at which `frame` may start; in the past where it might have started already.
    #[inline]
    pub fn ready_at(&self, frame: Bytes) -> Instant {
        let Some(rate) = self.rate else { return Instant::START };
        let missing = picoseconds(rate, self.needs(frame)) - self.credit;
        match u64::try_from(missing) {
            Ok(wait) => Instant::from_ps(self.counted.ps().saturating_add(wait)),
            // It was ready when the credit was counted, or before.
            Err(_) => self.counted,
        }
    }

    /// `frame` started now. A driver that sends before `ready_at` leaves a debt.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, frame: Bytes) {
        self.credit = match self.rate {
            Some(rate) => {
                let room = picoseconds(rate, self.needs(frame).max(self.depth));
                (self.credit_at(now).min(room) - picoseconds(rate, frame)).max(-Self::FULL)
            }
            None => 0,
        };
        self.counted = now;
    }

    /// Tokens that let `frame` go.
    #[inline]
    fn needs(&self, frame: Bytes) -> Bytes {
        match self.rule {
            Rule::WholeFrame => frame,
            Rule::AnyToken => Bytes::new(1),
        }
    }

    #[inline]
    fn credit_at(&self, now: Instant) -> i64 {
        let earned = now.saturating_since(self.counted).ps().min(Self::FULL as u64) as i64;
        (self.credit + earned).min(Self::FULL)
    }
}

/// How long `size` takes at `rate`, rounded up, and no longer than a bucket can count.
#[inline]
fn picoseconds(rate: Rate, size: Bytes) -> i64 {
    const BIT_PS_PER_OCTET: u64 = 8_000_000_000_000;
    match size.get().checked_mul(BIT_PS_PER_OCTET) {
        // Up to 2.3 MB: every frame.
        Some(bits) => bits.div_ceil(rate.bps()).min(Pacer::FULL as u64) as i64,
        None => {
            let bits = u128::from(size.get()) * u128::from(BIT_PS_PER_OCTET);
            clamp(i128::try_from(bits.div_ceil(u128::from(rate.bps()))).unwrap_or(i128::MAX))
        }
    }
}

/// Credit or debt as a bucket can count it.
fn clamp(picoseconds: i128) -> i64 {
    picoseconds.clamp(-i128::from(Pacer::FULL), i128::from(Pacer::FULL)) as i64
}
