//! Traffic: when the frames of a source come, and lists of flows.
//!
//! [`Sizes`] are distributions of flow sizes, [`flows`] lists of flows drawn from them, [`trace`] reads and writes such
//! lists, and [`collective`] makes lists whose transfers wait for each other: pure functions, before a run.
//!
//! While it runs, a source is one small process, drawn lazily. It has no events of its own while it only offers frames: its adapter asks for what has come so far
//! whenever it looks for a frame to send. A new pattern is a variant of
//! [`Pattern`](crate::scenario::plan::Pattern) and an arm of [`Arrivals::draw`].

pub mod collective;
pub mod flows;
mod sizes;
pub mod trace;

pub use sizes::Sizes;

use crate::scenario::plan::Pattern;
use quell_proto::dice::Dice;
use quell_proto::units::{Duration, Instant};

/// The arrival process of one source.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    pattern: Pattern,
    is_greedy: bool,
    dice: Dice,
    /// When the next frame comes; [`Instant::NEVER`] for none, or for one that waits for something else.
    next: Instant,
    /// How much later the one after it comes, where that is always the same.
    interval: Option<Duration>,
    stop: Instant,
    /// For on/off sources: whether it is on, and until when.
    on: bool,
    toggles: Instant,
    /// `1 / ln(1 - p)` of a Bernoulli source.
    per_slot: f64,
}

impl Arrivals {
    /// The process of a source that lives from `start` to `stop`.
    pub(crate) fn new(pattern: Pattern, start: Instant, stop: Instant, dice: Dice) -> Arrivals {
        let mut process = Arrivals {
            pattern,
            is_greedy: matches!(pattern, Pattern::Greedy | Pattern::OnOff { interval: None, .. }),
            dice,
            next: start,
            interval: match pattern {
                Pattern::Constant { interval } => Some(interval),
                Pattern::OnOff { interval, .. } => interval,
                Pattern::Greedy | Pattern::Bernoulli { .. } | Pattern::Poisson { .. } => None,
            },
            stop,
            on: true,
            toggles: Instant::NEVER,
            per_slot: 0.0,
        };
        match pattern {
            Pattern::Greedy | Pattern::Constant { .. } => {}
            Pattern::Bernoulli { slot, load_ppm } => {
                let idle = 1.0 - f64::from(load_ppm) / 1e6;
                process.per_slot = if idle > 0.0 { 1.0 / libm::log(idle) } else { 0.0 };
                // Sources are not slotted in step: each has its own phase.
                let phase = Duration::from_ps(process.dice.below(slot.ps().max(1)));
                process.next = start + phase;
                process.advance();
            }
            Pattern::Poisson { .. } => process.advance(),
            Pattern::OnOff { on, .. } => process.toggles = start + process.exponential(on),
        }
        process
    }

    /// When the next frame comes.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        if self.next < self.stop { self.next } else { Instant::NEVER }
    }

    /// When an on/off source turns next.
    pub(crate) fn toggles(&self) -> Instant {
        if self.toggles < self.stop { self.toggles } else { Instant::NEVER }
    }

    /// Whether it keeps one frame waiting at all times while on, instead of offering by the clock.
    #[inline]
    pub(crate) fn is_greedy(&self) -> bool {
        self.is_greedy
    }

    /// Whether a greedy source has another frame to give at this time.
    pub(crate) fn gives(&self, now: Instant) -> bool {
        self.on && now < self.stop
    }

    /// How many frames a constant source offers from its next one up to but not including `until`; `None` for other
    /// patterns, which must be drawn to know.
    pub(crate) fn offers_before(&self, until: Instant) -> Option<u64> {
        let Pattern::Constant { interval } = self.pattern else { return None };
        let until = until.min(self.stop);
        let span = until.saturating_since(self.next).ps();
        Some(span.div_ceil(interval.ps()))
    }

    /// Draws a number below `n`, for the choice among several flows.
    #[inline]
    pub(crate) fn choose(&mut self, n: u64) -> u64 {
        self.dice.below(n)
    }

    /// Moves on to the frame after the next.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        match self.interval {
            Some(interval) => self.next = self.next + interval,
            None => self.draw(),
        }
    }

    /// Draws when the frame after the next comes.
    #[inline(never)]
    fn draw(&mut self) {
        self.next = match self.pattern {
            // What a greedy source gives next waits for its last; the others have an interval.
            Pattern::Greedy | Pattern::OnOff { .. } | Pattern::Constant { .. } => Instant::NEVER,
            Pattern::Bernoulli { slot, .. } => {
                let empty = libm::floor(libm::log(uniform(&mut self.dice)) * self.per_slot);
                self.next + Duration::from_ps(slot.ps() * (1 + float_to_ps(empty)))
            }
            Pattern::Poisson { mean } => {
                let gap = self.exponential(mean);
                self.next + gap
            }
        };
    }

    /// Turns an on/off source, at the instant [`toggles`](Self::toggles) named; says whether it is on now.
    pub(crate) fn toggle(&mut self, now: Instant) -> bool {
        let Pattern::OnOff { on, off, .. } = self.pattern else {
            unreachable!("only an on/off source toggles");
        };
        self.on = !self.on;
        let period = if self.on { on } else { off };
        self.toggles = now + self.exponential(period);
        self.next = if self.on { now } else { Instant::NEVER };
        self.on
    }

    /// An exponential span of this mean, at least a picosecond.
    fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_ps(exponential_ps(&mut self.dice, ps_to_float(mean)))
    }
}

/// An exponential number of picoseconds with this mean, at least one.
fn exponential_ps(dice: &mut Dice, mean: f64) -> u64 {
    float_to_ps(-libm::log(uniform(dice)) * mean).max(1)
}

/// Uniform in (0, 1].
fn uniform(dice: &mut Dice) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    let bits = (dice.unit53() + 1) as f64;
    bits * (1.0 / (1u64 << 53) as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
fn ps_to_float(span: Duration) -> f64 {
    span.ps() as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and `as` saturates above"
)]
fn float_to_ps(span: f64) -> u64 {
    (span as u64).min(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_gap(pattern: Pattern, frames: u64) -> f64 {
        let mut process = Arrivals::new(pattern, Instant::START, Instant::NEVER, Dice::new(7, 1, 2));
        let first = process.next();
        for _ in 0..frames {
            process.advance();
        }
        ps_to_float(process.next() - first) / ps_to_float(Duration::from_ps(frames))
    }

    #[test]
    fn a_constant_source_is_exact() {
        let interval = Duration::from_ns(1200);
        assert!((mean_gap(Pattern::Constant { interval }, 1000) - 1_200_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_bernoulli_source_offers_its_load() {
        let pattern = Pattern::Bernoulli { slot: Duration::from_ns(1200), load_ppm: 850_000 };
        let gap = mean_gap(pattern, 200_000);
        assert!((gap * 0.85 / 1_200_000.0 - 1.0).abs() < 0.005, "mean gap {gap}");
    }

    #[test]
    fn a_bernoulli_source_of_full_load_fills_every_slot() {
        let pattern = Pattern::Bernoulli { slot: Duration::from_ns(1200), load_ppm: 1_000_000 };
        assert!((mean_gap(pattern, 1000) - 1_200_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_poisson_source_has_its_mean() {
        let gap = mean_gap(Pattern::Poisson { mean: Duration::from_us(3) }, 200_000);
        assert!((gap / 3_000_000.0 - 1.0).abs() < 0.01, "mean gap {gap}");
    }

    #[test]
    fn on_and_off_periods_have_their_means() {
        let (on, off) = (Duration::from_ms(20), Duration::from_ms(5));
        let mut process = Arrivals::new(
            Pattern::OnOff { on, off, interval: None },
            Instant::START,
            Instant::NEVER,
            Dice::new(7, 1, 2),
        );
        let mut spent = [0.0, 0.0];
        let mut now = Instant::START;
        for _ in 0..20_000 {
            let next = process.toggles();
            spent[usize::from(process.gives(now))] += ps_to_float(next - now);
            now = next;
            process.toggle(now);
        }
        assert!((spent[1] / 10_000.0 / 20e9 - 1.0).abs() < 0.05, "{spent:?}");
        assert!((spent[0] / 10_000.0 / 5e9 - 1.0).abs() < 0.05, "{spent:?}");
    }

    #[test]
    fn the_offers_of_a_constant_source_can_be_counted_without_drawing_them() {
        let pattern = Pattern::Constant { interval: Duration::from_us(1) };
        let start = Instant::from_ps(500_000);
        let mut process = Arrivals::new(pattern, start, Instant::from_ps(7_000_000), Dice::new(1, 1, 1));
        for until in [0, 500_000, 500_001, 1_500_000, 1_500_001, 9_000_000] {
            let until = Instant::from_ps(until);
            let mut drawn = process.clone();
            let mut count = 0;
            while drawn.next() < until {
                drawn.advance();
                count += 1;
            }
            assert_eq!(process.offers_before(until), Some(count), "before {until}");
        }
        process.advance();
        assert_eq!(process.offers_before(Instant::from_ps(1_500_000)), Some(0));
    }

    #[test]
    fn nothing_comes_after_the_stop() {
        let mut process = Arrivals::new(
            Pattern::Constant { interval: Duration::from_us(1) },
            Instant::START,
            Instant::from_ps(2_500_000),
            Dice::new(1, 1, 1),
        );
        for _ in 0..2 {
            assert_ne!(process.next(), Instant::NEVER);
            process.advance();
        }
        assert_ne!(process.next(), Instant::NEVER);
        process.advance();
        assert_eq!(process.next(), Instant::NEVER);
    }
}
