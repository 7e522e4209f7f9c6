//! The reaction point: holds one limiter's rate, cuts it when told, and climbs back by itself.

use super::ReactionConfig;
use crate::control::fixed::Fixed;
use crate::control::{Feedback, ReactionPoint};
use crate::dice::Dice;
use crate::units::{Bytes, Duration, Instant, Rate};

/// One limiter's rate, and where it stands in its climb (802.1Q clause 32.10 to 32.15).
#[derive(Clone, Debug)]
pub struct QcnReaction {
    /// Octets left of the byte cycle (`rpByteCount`); below zero ends it.
    bytes_left: i64,
    /// Whether a limiter exists; `false` before the first notification and after a release.
    limited: bool,
    /// Whether the port is paused, as far as that matters here.
    paused: bool,
    timer: Timer,
    /// Byte cycles ended since the last cut (`rpByteStage`).
    byte_stage: u32,
    /// Time cycles ended since the last cut (`rpTimeStage`).
    time_stage: u32,
    /// What the flow is held to (`rpCurrentRate`).
    current: Fixed,
    /// What `current` climbs halfway to at each step (`rpTargetRate`). Never capped: a target that stops at
    /// the maximum is one that `current` only ever approaches, and the limiter would stay for good.
    target: Fixed,
    config: ReactionConfig,
    dice: Dice,
}

/// Where a climb stands, by the number of cycles since the last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Neither counter has passed the threshold: back to where the cut came from.
    FastRecovery,
    /// One has: probing gently for more.
    ActiveIncrease,
    /// Both have: probing harder with each cycle.
    HyperActiveIncrease,
}

/// The time cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Stopped,
    Ends(Instant),
    /// The port is paused, and this much of the cycle is left.
    Frozen(Duration),
}

impl QcnReaction {
    /// A reaction point that limits nothing until its first notification. `dice` draws the lengths of its
    /// cycles.
    pub fn new(config: ReactionConfig, dice: Dice) -> QcnReaction {
        let full = Fixed::of(config.max_rate);
        QcnReaction {
            bytes_left: 0,
            limited: false,
            paused: false,
            timer: Timer::Stopped,
            byte_stage: 0,
            time_stage: 0,
            current: full,
            target: full,
            config,
            dice,
        }
    }

    /// The rate the climb aims at, rounded down; the maximum while nothing is limited.
    pub fn target(&self) -> Rate {
        self.target.floor()
    }

    /// Where the climb stands.
    pub fn phase(&self) -> Phase {
        match (self.is_past_threshold(self.byte_stage), self.is_past_threshold(self.time_stage)) {
            (false, false) => Phase::FastRecovery,
            (true, true) => Phase::HyperActiveIncrease,
            _ => Phase::ActiveIncrease,
        }
    }

    /// Byte cycles and time cycles since the last cut.
    pub fn stages(&self) -> (u32, u32) {
        (self.byte_stage, self.time_stage)
    }

    fn cut(&mut self, now: Instant, quantised: u8) {
        let starts_byte_cycle = !self.limited || self.byte_stage != 0;
        // Only the first cut of a burst sets the goal: those that follow within a byte cycle would otherwise
        // teach the flow that its own cut rate was what it deserved. The time stage does not count here, so a
        // timer between two notifications does not move the goal.
        if starts_byte_cycle {
            self.target = self.current;
        }
        self.limited = true;
        self.current = self
            .current
            .less(quantised, self.config.gd_log2)
            .max(self.current.percent(self.config.min_decrease_percent))
            .max(self.floor());
        // The stages and the rate first: they say how long a cycle is.
        (self.byte_stage, self.time_stage) = (0, 0);
        if starts_byte_cycle {
            self.reload_bytes();
        }
        self.reload_timer(now);
    }

    #[cold]
    fn end_byte_cycle(&mut self) {
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.climb();
        // After the climb: the cycle that begins is sent at the rate that was reached.
        self.reload_bytes();
    }

    #[cold]
    fn end_time_cycle(&mut self, now: Instant) {
        self.time_stage = self.time_stage.saturating_add(1);
        self.reload_timer(now);
        self.climb();
    }

    /// Raises the target by the phase, and the rate halfway to it.
    fn climb(&mut self) {
        let first_of_a_counter = self.byte_stage == 1 || self.time_stage == 1;
        self.target = if first_of_a_counter && self.target.exceeds_tenfold(self.current) {
            // A burst of cuts left the target far off: do not jump there at once.
            self.target.eighth()
        } else {
            self.target.plus(self.step())
        };
        self.current = self.current.halfway_to(self.target);
        if self.current >= Fixed::of(self.config.max_rate) {
            self.release();
        }
    }

    /// What the phase adds to the target.
    fn step(&self) -> Fixed {
        match self.phase() {
            Phase::FastRecovery => Fixed::ZERO,
            Phase::ActiveIncrease => Fixed::of(self.config.ai_rate),
            Phase::HyperActiveIncrease => {
                let past = self.byte_stage.min(self.time_stage).saturating_sub(self.config.threshold);
                let times = past.saturating_add(u32::from(!self.config.hai_excludes_threshold));
                Fixed::of(self.config.hai_rate).times(times)
            }
        }
    }

    fn release(&mut self) {
        let full = Fixed::of(self.config.max_rate);
        (self.current, self.target) = (full, full);
        (self.byte_stage, self.time_stage) = (0, 0);
        self.limited = false;
        self.timer = Timer::Stopped;
    }

    fn reload_bytes(&mut self) {
        let halves = self.halves(self.byte_stage);
        let octets = match self.config.byte_cycle {
            None => self.config.byte_reset,
            Some(span) => self.current.floor().carries_in(span),
        };
        let octets = octets.get() >> halves;
        let octets = self.dice.jitter(octets, self.config.reload_jitter_percent);
        self.bytes_left = octets.min(i64::MAX as u64) as i64;
    }

    fn reload_timer(&mut self, now: Instant) {
        let halves = self.halves(self.time_stage);
        let span = self.config.time_reset.ps() >> halves;
        let span = Duration::from_ps(self.dice.jitter(span, self.config.reload_jitter_percent));
        self.timer = if self.is_frozen() { Timer::Frozen(span) } else { Timer::Ends(now + span) };
    }

    /// How often the cycle of a counter at `own_stage` is halved: once in hyper-active increase, where both
    /// are past the threshold, and in active increase if so configured, for the one that is.
    fn halves(&self, own_stage: u32) -> u32 {
        u32::from(match self.phase() {
            Phase::FastRecovery => false,
            Phase::ActiveIncrease => self.config.half_reload_in_ai && self.is_past_threshold(own_stage),
            Phase::HyperActiveIncrease => true,
        })
    }

    fn is_past_threshold(&self, stage: u32) -> bool {
        if self.config.recovery_includes_threshold {
            stage > self.config.threshold
        } else {
            stage >= self.config.threshold
        }
    }

    fn is_frozen(&self) -> bool {
        self.paused && self.config.freeze_timer_while_paused
    }

    /// The rate no cut goes below: the minimum, on a port that has as much.
    fn floor(&self) -> Fixed {
        Fixed::of(self.config.min_rate.min(self.config.max_rate))
    }
}

impl ReactionPoint for QcnReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let Feedback::Cnm { quantised } = feedback else {
            unreachable!("an adapter hands a limiter its own scheme's feedback");
        };
        assert!(quantised < 64, "feedback has six bits");
        if quantised > 0 {
            self.cut(now, quantised);
        }
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, size: Bytes) {
        if !self.limited {
            return;
        }
        self.bytes_left -= size.get() as i64;
        if self.bytes_left < 0 {
            self.end_byte_cycle();
        }
    }

    #[inline]
    fn on_timeout(&mut self, now: Instant) {
        if self.next_timeout().is_some_and(|ends| ends <= now) {
            self.end_time_cycle(now);
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        match self.timer {
            Timer::Ends(at) => Some(at),
            Timer::Stopped | Timer::Frozen(_) => None,
        }
    }

    /// Rounded down to whole bits per second.
    #[inline]
    fn limit(&self) -> Option<Rate> {
        // `current` never lies below the minimum, a whole number; so neither does its floor.
        self.limited.then(|| self.current.floor())
    }

    fn on_paused(&mut self, now: Instant) {
        self.paused = true;
        if let (true, Timer::Ends(at)) = (self.is_frozen(), self.timer) {
            self.timer = Timer::Frozen(at.saturating_since(now));
        }
    }

    fn on_resumed(&mut self, now: Instant) {
        self.paused = false;
        if let Timer::Frozen(left) = self.timer {
            self.timer = Timer::Ends(now + left);
        }
    }
}

#[cfg(test)]
mod tests;
