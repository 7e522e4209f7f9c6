//! How much delay and how much gain a loop bears: margins, Bode data, the critical delay.

use crate::complex::Complex;
use crate::linear::Linear;
use crate::model::{Model, Regime};
use crate::outside::Outside;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Frequencies that are looked at, in radians per second, and how many to a decade.
const FREQUENCIES: (f64, f64) = (1e-1, 1e8);
const A_DECADE: u32 = 100;

/// Up to which delay a loop comes to rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Critical {
    /// It does not, however soon the feedback comes.
    Never,
    /// It always does.
    Always,
    /// Up to this delay; beyond it a motion of this frequency grows.
    At {
        /// Seconds.
        delay: f64,
        /// Radians per second.
        frequency: f64,
    },
}

impl Critical {
    /// Seconds, if there is such a delay.
    pub fn delay(self) -> Option<f64> {
        match self {
            Critical::At { delay, .. } => Some(delay),
            _ => None,
        }
    }

    /// Whether a loop of this delay comes to rest.
    pub fn admits(self, delay: f64) -> bool {
        match self {
            Critical::Never => false,
            Critical::Always => true,
            Critical::At { delay: most, .. } => delay < most,
        }
    }
}

/// Where a margin was found, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// Radians per second.
    pub frequency: f64,
    /// Radians of phase, or a factor of gain.
    pub margin: f64,
}

/// The open loop at one frequency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bode {
    /// Radians per second.
    pub frequency: f64,
    /// The gain as a factor.
    pub gain: f64,
    /// The phase in radians, without jumps.
    pub phase: f64,
}

/// A model near its equilibrium, in one regime.
#[derive(Clone, Debug)]
pub struct Stability {
    /// The regime.
    pub regime: Regime,
    linear: Linear,
    delay: f64,
}

impl Stability {
    /// Linearises a model in each of its regimes.
    pub fn of(model: &Model) -> Result<Vec<Stability>, Outside> {
        let of = |&regime: &Regime| {
            let linear = Linear::of(model, regime)?;
            Ok(Stability { regime, linear, delay: model.path().delay })
        };
        model.regimes().iter().map(of).collect()
    }

    /// Up to which delay a model comes to rest: in all of its regimes.
    pub fn critical_delay(model: &Model) -> Result<Critical, Outside> {
        let all = Stability::of(model)?;
        let worst =
            |a: Critical, b: Critical| match (a, b) {
                (Critical::Never, _) | (_, Critical::Never) => Critical::Never,
                (Critical::Always, it) | (it, Critical::Always) => it,
                (Critical::At { delay: first, .. }, Critical::At { delay: second, .. }) => {
                    if first <= second { a } else { b }
                }
            };
        Ok(all.iter().map(Stability::critical).fold(Critical::Always, worst))
    }

    /// Up to which delay it comes to rest.
    pub fn critical(&self) -> Critical {
        if !self.linear.is_stable_without_delay() {
            return Critical::Never;
        }
        let excess = |frequency: f64, which: usize| {
            let found = self.linear.sustaining(Complex::new(0.0, frequency));
            found.get(which).map_or(f64::NAN, |z| z.size().ln())
        };
        let mut first = Critical::Always;
        for which in 0..2 {
            for frequency in crossings(|frequency| excess(frequency, which)) {
                let Some(z) = self.linear.sustaining(Complex::new(0.0, frequency)).get(which).copied() else {
                    continue;
                };
                // z is what the delay makes of the motion: a turn back by frequency times delay.
                let turn = (-z.angle()).rem_euclid(2.0 * PI);
                let delay = turn / frequency;
                if first.delay().is_none_or(|least| delay < least) {
                    first = Critical::At { delay, frequency };
                }
            }
        }
        first
    }

    /// The open loop at a frequency.
    fn open(&self, frequency: f64) -> Complex {
        self.linear.open(Complex::new(0.0, frequency), Complex::turned(-frequency * self.delay))
    }

    /// The open loop over a range of frequencies, equally spaced by their logarithm.
    pub fn bode(&self, from: f64, to: f64, points: usize) -> Vec<Bode> {
        let mut before: Option<f64> = None;
        let of = |index: usize| {
            let share = index as f64 / (points.max(2) - 1) as f64;
            let frequency = from * (to / from).powf(share);
            let open = self.open(frequency);
            // The delay turns faster and faster; what is left without it changes little from point to point.
            let turn = frequency * self.delay;
            let rest = unwrapped(open.angle() + turn, before);
            before = Some(rest);
            Bode { frequency, gain: open.size(), phase: rest - turn }
        };
        (0..points).map(of).filter(|it| it.gain.is_finite() && it.phase.is_finite()).collect()
    }

    /// How far the phase is from turning feedback into its opposite, where the gain falls through one for the
    /// last time. Below zero the loop grows.
    pub fn phase_margin(&self) -> Option<Margin> {
        let frequency = crossings(|frequency| self.open(frequency).size().ln()).pop()?;
        let sweep = self.bode(frequency * 1e-4, frequency, 2000);
        Some(Margin { frequency, margin: sweep.last()?.phase + PI })
    }

    /// By what factor the gain could grow until the loop does: where the phase first falls through half a turn.
    pub fn gain_margin(&self) -> Option<Margin> {
        // From where the sweep begins the phase must be followed without a jump, and the delay must not have turned it yet.
        let from = if self.delay > 0.0 { FREQUENCIES.0.min(1e-3 / self.delay) } else { FREQUENCIES.0 };
        let sweep = self.bode(from, FREQUENCIES.1, 8000);
        let falls = sweep.windows(2).find(|it| it[0].phase > -PI && it[1].phase <= -PI)?;
        let (from, to) = (falls[0], falls[1]);
        let share = (from.phase + PI) / (from.phase - to.phase);
        let frequency = from.frequency * (to.frequency / from.frequency).powf(share);
        let gain = from.gain * (to.gain / from.gain).powf(share);
        (gain > 0.0).then(|| Margin { frequency, margin: 1.0 / gain })
    }
}

/// The angle next to the one before, by whole turns; the first between -3 pi / 2 and pi / 2, since feedback
/// that opposes begins near half a turn.
fn unwrapped(angle: f64, before: Option<f64>) -> f64 {
    let about = before.unwrap_or(-PI / 2.0);
    angle + 2.0 * PI * ((about - angle) / (2.0 * PI)).round()
}

/// The frequencies at which a function passes through zero, rising.
fn crossings(function: impl Fn(f64) -> f64) -> Vec<f64> {
    let (from, to) = FREQUENCIES;
    let decades = (to / from).log10();
    let count = (decades * f64::from(A_DECADE)) as usize;
    let at = |index: usize| from * (to / from).powf(index as f64 / count as f64);
    let mut found = Vec::new();
    let mut low = (at(0), function(at(0)));
    for index in 1..=count {
        let high = (at(index), function(at(index)));
        if low.1.is_finite() && high.1.is_finite() && (low.1 > 0.0) != (high.1 > 0.0) {
            found.push(bisected(&function, low, high.0));
        }
        low = high;
    }
    found
}

fn bisected(function: &impl Fn(f64) -> f64, low: (f64, f64), high: f64) -> f64 {
    let (mut from, mut to) = (low.0, high);
    for _ in 0..60 {
        let middle = f64::midpoint(from, to);
        if (function(middle) > 0.0) == (low.1 > 0.0) {
            from = middle;
        } else {
            to = middle;
        }
    }
    f64::midpoint(from, to)
}
