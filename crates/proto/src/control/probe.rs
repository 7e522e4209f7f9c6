//! When a source asks the network how things are.

use crate::units::{Duration, Instant};

/// Says when a probe is due: every so often, while there is a limiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    due: Instant,
    wanted: bool,
}

impl Clock {
    pub(super) const fn stopped() -> Clock {
        Clock { due: Instant::NEVER, wanted: false }
    }

    /// Runs while there is a limiter.
    pub(super) fn follow(&mut self, now: Instant, period: Duration, is_limited: bool) {
        match (is_limited, self.due) {
            (false, _) => *self = Clock::stopped(),
            (true, Instant::NEVER) => self.due = now + period,
            (true, _) => {}
        }
    }

    pub(super) fn on_timeout(&mut self, now: Instant, period: Duration) {
        if self.due <= now {
            self.wanted = true;
            self.due = now + period;
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        (self.due != Instant::NEVER).then_some(self.due)
    }

    /// Whether a probe is to be sent; asking takes it.
    pub(super) fn take_probe(&mut self) -> bool {
        core::mem::take(&mut self.wanted)
    }
}
