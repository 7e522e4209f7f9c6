//! The reaction point: holds one flow's rate, cuts it by how often it is told, and climbs back by itself.

use super::{AlphaRule, Clamp, ReactionConfig};
use crate::control::estimate::Estimate;
use crate::control::fixed::Fixed;
use crate::control::{Feedback, ReactionPoint};
use crate::units::{Bytes, Instant, Rate};

/// One flow's rate, and where it stands in its climb.
///
/// The estimate of congestion matters only when a cut is made, so its periods are counted up then and take no
/// timer: [`next_timeout`](ReactionPoint::next_timeout) names the end of a time cycle, or the clock tick at which a
/// cut is due, and nothing else. A pause does not stop its clocks.
#[derive(Clone, Debug)]
pub struct DcqcnReaction {
    /// Octets left of the byte cycle; below zero ends it.
    bytes_left: i64,
    /// Whether a limiter exists; `false` before the first notification and after a release.
    limited: bool,
    /// Whether a notification ever came. A release does not change that: the estimate goes on.
    told: bool,
    /// Whether a notification came in the running period of the estimate; only under [`AlphaRule::EachPeriod`].
    told_in_period: bool,
    /// When the running period of the estimate began.
    period_began: Instant,
    /// The first tick of the clock of cuts that has not passed; [`Instant::NEVER`] while no cut is due.
    cut_due: Instant,
    /// When the clock of cuts began to tick: at the first notification.
    cuts_tick_from: Instant,
    /// When the time cycle ends; [`Instant::NEVER`] while nothing is limited.
    cycle_ends: Instant,
    byte_stage: u32,
    time_stage: u32,
    alpha: Estimate,
    /// What the flow is held to (R_C).
    current: Fixed,
    /// What `current` climbs halfway to at each step (R_T).
    target: Fixed,
    config: ReactionConfig,
}

/// Where a climb stands, by the number of cycles since the last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Back to where the cut came from.
    FastRecovery,
    /// Probing gently for more.
    AdditiveIncrease,
    /// Probing harder.
    HyperIncrease,
}

impl DcqcnReaction {
    /// A reaction point that limits nothing until its first notification.
    ///
    /// # Panics
    /// When the gain is no share, or a period or cycle takes no time.
    pub fn new(config: ReactionConfig) -> DcqcnReaction {
        assert!(config.gain.den > 0 && config.gain.num <= config.gain.den, "a gain is a share");
        assert!(config.initial_alpha.den > 0, "a share has a whole");
        assert!(config.alpha_period.ps() > 0 && config.time_reset.ps() > 0, "a cycle takes time");
        let full = Fixed::of(config.max_rate);
        DcqcnReaction {
            bytes_left: 0,
            limited: false,
            told: false,
            told_in_period: false,
            period_began: Instant::START,
            cut_due: Instant::NEVER,
            cuts_tick_from: Instant::START,
            cycle_ends: Instant::NEVER,
            byte_stage: 0,
            time_stage: 0,
            alpha: Estimate::of(config.initial_alpha),
            current: full,
            target: full,
            config,
        }
    }

    /// The rate the climb aims at, rounded down; the maximum while nothing is limited.
    pub fn target(&self) -> Rate {
        self.target.floor()
    }

    /// The estimate of congestion at this time, in millionths (alpha).
    pub fn alpha_ppm(&self, now: Instant) -> u32 {
        let mut copy = self.clone();
        copy.count_periods(now);
        copy.alpha.millionths()
    }

    /// Byte cycles and time cycles since the last cut.
    pub fn stages(&self) -> (u32, u32) {
        (self.byte_stage, self.time_stage)
    }

    fn on_notified(&mut self, now: Instant) {
        if !self.told {
            self.told = true;
            (self.period_began, self.cuts_tick_from) = (now, now);
            if let Some(rate) = self.config.first_rate {
                self.current = Fixed::of(rate.min(self.config.max_rate)).max(self.floor());
                self.target = self.current;
                self.limit_from(now);
            }
        } else {
            self.count_periods(now);
            // The first notification sets the clocks going; the estimate begins at its most without it.
            self.told_in_period = true;
        }
        if self.config.cut_period.ps() == 0 {
            self.cut(now);
        } else if self.cut_due == Instant::NEVER {
            let period = self.config.cut_period.ps();
            let ticks = (now - self.cuts_tick_from).ps() / period + 1;
            self.cut_due = Instant::from_ps(self.cuts_tick_from.ps() + ticks * period);
        }
    }

    fn cut(&mut self, now: Instant) {
        let starts_climb = match self.config.clamp {
            Clamp::EveryCut => true,
            Clamp::AfterByteCycle => self.byte_stage > 0,
            Clamp::AfterAnyCycle => self.byte_stage > 0 || self.time_stage > 0,
        };
        if starts_climb || !self.limited {
            self.target = self.current;
        }
        if self.config.alpha_rule == AlphaRule::BeforeCut {
            self.raise_alpha(now);
        }
        let (num, den) = self.alpha.half();
        self.current = self
            .current
            .minus(self.current.part(num, den))
            .max(self.current.percent(self.config.min_decrease_percent))
            .max(self.floor());
        if self.config.alpha_rule == AlphaRule::AfterCut {
            self.raise_alpha(now);
        }
        // A cut that keeps its goal, in a form that has byte cycles, lets the running one go on.
        if starts_climb || !self.limited {
            self.reload_bytes();
        }
        self.limit_from(now);
    }

    /// Begins a climb at the bottom.
    fn limit_from(&mut self, now: Instant) {
        self.limited = true;
        (self.byte_stage, self.time_stage) = (0, 0);
        self.cycle_ends = now + self.config.time_reset;
    }

    /// Lets the periods of the estimate pass that have ended by now.
    fn count_periods(&mut self, now: Instant) {
        let period = self.config.alpha_period.ps();
        let mut ended = now.saturating_since(self.period_began).ps() / period;
        self.period_began = Instant::from_ps(self.period_began.ps() + ended * period);
        if ended > 0 && self.told_in_period && self.config.alpha_rule == AlphaRule::EachPeriod {
            self.alpha = self.alpha.towards(Estimate::ONE, self.config.gain);
            ended -= 1;
            self.told_in_period = false;
        }
        self.alpha = self.alpha.fallen(ended, self.config.gain);
    }

    fn raise_alpha(&mut self, now: Instant) {
        self.alpha = self.alpha.towards(Estimate::ONE, self.config.gain);
        self.period_began = now;
    }

    #[cold]
    fn end_byte_cycle(&mut self) {
        let before = self.stages();
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.reload_bytes();
        self.climb(before);
    }

    #[cold]
    fn end_time_cycle(&mut self) {
        let before = self.stages();
        self.time_stage = self.time_stage.saturating_add(1);
        self.cycle_ends = self.cycle_ends + self.config.time_reset;
        self.climb(before);
    }

    /// Raises the target by the phase, and the rate halfway to it; `before` are the stages without the cycle that
    /// ended.
    fn climb(&mut self, before: (u32, u32)) {
        let stages = if self.config.counts_ending_cycle { self.stages() } else { before };
        let full = Fixed::of(self.config.max_rate);
        self.target = self.target.plus(self.step(stages));
        if self.config.target_capped {
            self.target = self.target.min(full);
        }
        self.current = self.current.halfway_to(self.target);
        // A capped target is only ever approached: within a bit per second of it is there.
        if self.current.plus(Fixed::of(Rate::from_bps(1))) > full {
            self.release();
        }
    }

    /// What the phase adds to the target.
    fn step(&self, stages: (u32, u32)) -> Fixed {
        match self.phase(stages) {
            Phase::FastRecovery => Fixed::ZERO,
            Phase::AdditiveIncrease => Fixed::of(self.config.ai_rate),
            Phase::HyperIncrease => {
                let past = self.least(stages).saturating_sub(self.config.threshold);
                Fixed::of(self.config.hai_rate).times(if self.config.hai_grows { past } else { 1 })
            }
        }
    }

    fn phase(&self, stages: (u32, u32)) -> Phase {
        if stages.0.max(stages.1) < self.config.threshold {
            Phase::FastRecovery
        } else if self.least(stages) > self.config.threshold {
            Phase::HyperIncrease
        } else {
            Phase::AdditiveIncrease
        }
    }

    /// The lesser of the counters there are.
    fn least(&self, (bytes, times): (u32, u32)) -> u32 {
        if self.config.byte_reset.is_some() { bytes.min(times) } else { times }
    }

    fn reload_bytes(&mut self) {
        let octets = self.config.byte_reset.map_or(u64::MAX, Bytes::get);
        self.bytes_left = octets.min(i64::MAX as u64) as i64;
    }

    /// Back to full rate. A cut that is due still comes.
    fn release(&mut self) {
        let full = Fixed::of(self.config.max_rate);
        (self.current, self.target) = (full, full);
        (self.byte_stage, self.time_stage) = (0, 0);
        self.limited = false;
        self.cycle_ends = Instant::NEVER;
    }

    /// The rate no cut goes below: the minimum, on a port that has as much.
    fn floor(&self) -> Fixed {
        Fixed::of(self.config.min_rate.min(self.config.max_rate))
    }
}

impl ReactionPoint for DcqcnReaction {
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let Feedback::Cnp = feedback else {
            unreachable!("an adapter hands a limiter its own scheme's feedback");
        };
        self.on_notified(now);
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, size: Bytes) {
        if !self.limited || self.config.byte_reset.is_none() {
            return;
        }
        self.bytes_left -= size.get() as i64;
        if self.bytes_left < 0 {
            self.end_byte_cycle();
        }
    }

    #[inline]
    fn on_timeout(&mut self, now: Instant) {
        // A cut ends the time cycle that would have ended with it.
        if self.cut_due <= self.cycle_ends {
            if self.cut_due <= now {
                let due = core::mem::replace(&mut self.cut_due, Instant::NEVER);
                self.count_periods(due);
                self.cut(due);
            }
        } else if self.cycle_ends <= now {
            self.end_time_cycle();
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        let due = self.cycle_ends.min(self.cut_due);
        (due != Instant::NEVER).then_some(due)
    }

    /// Rounded down to whole bits per second.
    #[inline]
    fn limit(&self) -> Option<Rate> {
        self.limited.then(|| self.current.floor())
    }

    /// Not once it was told: the estimate outlives a release, and a cut may be due before there is a limit.
    #[inline]
    fn is_spent(&self) -> bool {
        !self.told
    }
}

#[cfg(test)]
mod tests;
