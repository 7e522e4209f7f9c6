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

/// The most control frames of one kind that a port takes in a while; more is a storm, until a while has fewer.
///
/// A peer that behaves refreshes PAUSE a few hundred times a second, and a congestion point sends a notification for
/// every 18 kB at the most: some 7,000 a second at 1 Gb/s.
#[derive(Clone, Copy, Debug)]
pub struct StormGuard {
    most: u32,
    since: Instant,
    seen: u32,
    is_storm: bool,
}

/// What a [`StormGuard`] makes of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// One of as many as a peer may send in a while; whether a storm has been going on nevertheless.
    Fair {
        /// There were too many in the while before.
        after_storm: bool,
    },
    /// The first of too many: a storm begins.
    Breaks,
    /// One more of too many.
    Storm,
}

impl StormGuard {
    const WHILE_PS: u64 = 100_000_000_000;

    /// Lets so many through in a tenth of a second.
    pub fn new(most: u32) -> StormGuard {
        StormGuard { most, since: Instant::START, seen: 0, is_storm: false }
    }

    /// A control frame came.
    pub fn on_frame(&mut self, now: Instant) -> Weather {
        let whiles = now.saturating_since(self.since).ps() / Self::WHILE_PS;
        if whiles > 0 {
            // A while in which none came ends a storm as well.
            self.is_storm &= whiles == 1 && self.seen > self.most;
            (self.since, self.seen) = (now, 0);
        }
        self.seen = self.seen.saturating_add(1);
        if self.seen <= self.most {
            Weather::Fair { after_storm: self.is_storm }
        } else if std::mem::replace(&mut self.is_storm, true) {
            Weather::Storm
        } else {
            Weather::Breaks
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_breaks_once_and_is_over_after_a_while_that_is_fair() {
        let mut guard = StormGuard::new(3);
        let at = |ms| Instant::START + Duration::from_ms(ms);
        let mut weather = |ms, frames: usize| (0..frames).map(|_| guard.on_frame(at(ms))).collect::<Vec<_>>();
        let (fair, after) = (Weather::Fair { after_storm: false }, Weather::Fair { after_storm: true });
        assert_eq!(weather(1, 5), [fair, fair, fair, Weather::Breaks, Weather::Storm]);
        assert_eq!(weather(99, 1), [Weather::Storm]);
        // It goes on, and is no news.
        assert_eq!(weather(101, 5), [after, after, after, Weather::Storm, Weather::Storm]);
        // A while of three ends it; the next is fair.
        assert_eq!(weather(202, 3), [after; 3]);
        assert_eq!(weather(303, 4), [fair, fair, fair, Weather::Breaks]);
        // So does one without any.
        assert_eq!(weather(600, 1), [fair]);
    }
}
