//! What is held, over time.

use quell_proto::units::Instant;

/// How much something holds, over time: its mean and its peak since it was last asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    pub(super) level: u64,
    peak: u64,
    begun: Instant,
    since: Instant,
    area: u128,
}

impl Meter {
    pub(super) fn change(&mut self, now: Instant, by: i64) {
        self.settle(now);
        self.level = self.level.checked_add_signed(by).expect("what goes out came in");
        self.peak = self.peak.max(self.level);
    }

    /// The mean, rounded to nearest, and the peak.
    pub(super) fn take(&mut self, now: Instant) -> (u64, u64) {
        self.settle(now);
        let span = u128::from(now.saturating_since(self.begun).ps());
        let mean = (self.area + span / 2).checked_div(span).unwrap_or(u128::from(self.level));
        let taken = (u64::try_from(mean).unwrap_or(u64::MAX), self.peak);
        (self.begun, self.area, self.peak) = (now, 0, self.level);
        taken
    }

    fn settle(&mut self, now: Instant) {
        self.area += u128::from(self.level) * u128::from(now.saturating_since(self.since).ps());
        self.since = self.since.max(now);
    }
}
