//! What a device is to its driver.

use quell_proto::units::{Bytes, Duration, Instant};

/// A device without a clock and without sockets: frames in, frames out, told the time.
///
/// Time never runs back. What a node had to do by itself before a frame came is done first, at its own time, so that
/// a driver that is late changes when frames leave, not what is computed.
pub trait Node {
    /// A whole frame, without its check sequence, came in by a port.
    fn on_frame(&mut self, now: Instant, port: usize, octets: &[u8], out: &mut dyn Outputs);
    /// Does what is due by now.
    fn advance(&mut self, now: Instant, out: &mut dyn Outputs);
    /// When there is something to do next; [`Instant::NEVER`] if nothing but a frame makes a difference.
    fn next_due(&self) -> Instant;
    /// The link behind a port came up or went down.
    fn on_link(&mut self, now: Instant, port: usize, is_up: bool, out: &mut dyn Outputs);
}

/// Where a node puts frames.
pub trait Outputs {
    /// Sends a frame by a port, as of an instant that may be a little past. `false`: there is no room, and it is lost.
    fn send(&mut self, at: Instant, port: usize, octets: &[u8]) -> bool;
}

/// Octets of the check sequence, which the kernel adds and takes off; lengths are counted with it, as a simulation does.
pub const CHECK_SEQUENCE: usize = 4;

/// How late a node may be and still make up for it: what was due longer ago is done as if due so long ago. It bounds the
/// burst that follows when the system did not let the driver run.
pub(crate) const PATIENCE: Duration = Duration::from_ms(2);

/// A node that does one thing after the other, by a clock of its own.
pub(crate) trait Stepwise: Node {
    /// Its clock.
    fn clock(&mut self) -> &mut Instant;
    /// Does the one thing that is due next, as of `at`.
    fn act(&mut self, at: Instant, out: &mut dyn Outputs);

    /// Does all that is due by now, each thing at its time, but as if none were due longer ago than [`PATIENCE`].
    fn catch_up(&mut self, now: Instant, out: &mut dyn Outputs) {
        let earliest = Instant::from_ps(now.ps().saturating_sub(PATIENCE.ps())).max(*self.clock());
        loop {
            let due = self.next_due();
            if due > now {
                break;
            }
            let at = due.max(earliest).max(*self.clock());
            self.act(at, out);
            *self.clock() = at;
        }
        *self.clock() = now.max(*self.clock());
    }
}

/// What a frame counts for.
pub fn counted(octets: usize) -> Bytes {
    Bytes::new((octets + CHECK_SEQUENCE) as u64)
}

/// Frames that were not what they ought to be, each counted, none of them a reason to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Cut short, or with a header that cannot be read.
    pub malformed: u64,
    /// Longer than the longest frame that is let through.
    pub oversized: u64,
    /// Of a protocol that is none of the node's business, and not passed on.
    pub foreign: u64,
    /// Control frames that came faster than any peer has reason to send them, and were ignored.
    pub stormy: u64,
}

/// The most control frames of one kind that a port takes in a while; more is a storm.
///
/// A peer that behaves refreshes PAUSE a few hundred times a second, and a congestion point sends a notification for
/// every 18 kB at the most: some 7,000 a second at 1 Gb/s.
#[derive(Clone, Copy, Debug)]
pub struct StormGuard {
    most: u32,
    since: Instant,
    seen: u32,
    /// Whether the while that is running has been told of.
    is_told: bool,
}

impl StormGuard {
    const WHILE_PS: u64 = 100_000_000_000;

    /// Lets so many through in a tenth of a second.
    pub fn new(most: u32) -> StormGuard {
        StormGuard { most, since: Instant::START, seen: 0, is_told: false }
    }

    /// A control frame came: whether to act on it.
    pub fn admits(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.since).ps() >= Self::WHILE_PS {
            *self = StormGuard { since: now, ..StormGuard::new(self.most) };
        }
        self.seen = self.seen.saturating_add(1);
        self.seen <= self.most
    }

    /// Whether a storm began that nobody was told of yet.
    pub fn is_news(&mut self) -> bool {
        self.seen > self.most && !std::mem::replace(&mut self.is_told, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_cut_off_and_told_of_once_and_is_over_after_a_while() {
        let mut guard = StormGuard::new(3);
        let at = |ms| Instant::START + Duration::from_ms(ms);
        let admitted = (0..10).filter(|_| guard.admits(at(1))).count();
        assert_eq!(admitted, 3);
        assert!(guard.is_news());
        assert!(!guard.is_news());
        assert!(!guard.admits(at(99)));
        assert!(guard.admits(at(101)));
        assert!(!guard.is_news());
    }
}
