//! ECM, formerly BCN, as a fluid: "2-point QCN vs ECM" (IBM 2007), section on linearisation, with both signs of
//! feedback. A flow hears of the queue as often as its frames are sampled.

use super::{Path, QUEUE, RATE, Regime, growth};
use crate::delay::State;
use crate::outside::{Outside, positive, within};
use quell_proto::control::ecm::{CongestionConfig, ReactionConfig};
use quell_proto::units::Share;

/// Parameters of ECM's fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecm {
    /// Who shares what.
    pub path: Path,
    /// Octets at which the queue is to rest (Q_eq).
    pub set_point: f64,
    /// Weight of the queue's growth (w).
    pub weight: f64,
    /// Octets between samples.
    pub sample_base: f64,
    /// The cut that the largest negative feedback makes, as a fraction: Gd F.
    pub largest_cut: f64,
    /// Bits per second that the largest positive feedback adds: Gi R_u F.
    pub largest_increase: f64,
}

impl Ecm {
    /// The model of congestion and reaction points with these parameters. Thresholds above which ECM has its
    /// emergencies (BCN-MAX, BCN(0,0)) are left out.
    pub fn of(path: Path, congestion: &CongestionConfig, reaction: &ReactionConfig) -> Ecm {
        Ecm {
            path,
            set_point: congestion.scale.set_point.get() as f64,
            weight: f64::from(congestion.scale.weight),
            sample_base: path.frame / number(congestion.sampling),
            largest_cut: number(reaction.cut),
            largest_increase: number(reaction.raise) * reaction.max_rate.bps() as f64,
        }
    }

    pub(super) fn check(&self) -> Result<(), Outside> {
        positive("the set point", self.set_point)?;
        within("the weight", self.weight, self.weight >= 0.0, "zero or more")?;
        let base = self.sample_base;
        within("the sampling interval", base, base > self.path.frame, "longer than a frame")?;
        let cut = self.largest_cut;
        within("the largest cut", cut, cut > 0.0 && cut <= 1.0, "above 0 and at most 1")?;
        positive("the largest increase", self.largest_increase)?;
        Ok(())
    }

    fn largest(&self) -> f64 {
        (2.0 * self.weight + 1.0) * self.set_point
    }

    /// Feedback as ECM signs it: positive while there is room.
    fn feedback(&self, then: &State) -> f64 {
        let growth = f64::from(self.path.flows) * then[RATE] - self.path.service();
        self.set_point - then[QUEUE] - self.weight * self.sample_base / self.path.service() * growth
    }

    pub(super) fn rest(&self) -> State {
        [self.set_point, self.path.share(), 0.0, 0.0, 0.0, 0.0]
    }

    pub(super) fn slope(&self, now: &State, then: &State) -> State {
        let largest = self.largest();
        let feedback = self.feedback(then).clamp(-largest, largest);
        let regime = if feedback > 0.0 { Regime::Increase } else { Regime::Decrease };
        [
            growth(&self.path, now[QUEUE], now[RATE]),
            self.climb(regime, feedback, now, then),
            0.0,
            0.0,
            0.0,
            0.0,
        ]
    }

    pub(super) fn drift(&self, regime: Regime, now: &State, then: &State) -> State {
        let growth = f64::from(self.path.flows) * now[RATE] - self.path.service();
        [growth, self.climb(regime, self.feedback(then), now, then), 0.0, 0.0, 0.0, 0.0]
    }

    fn climb(&self, regime: Regime, feedback: f64, now: &State, then: &State) -> f64 {
        let heard = then[RATE] / self.sample_base;
        match regime {
            Regime::Increase => self.largest_increase / 8.0 / self.largest() * feedback * heard,
            Regime::Decrease | Regime::Whole => {
                self.largest_cut / self.largest() * feedback * now[RATE] * heard
            }
        }
    }
}

fn number(share: Share) -> f64 {
    f64::from(share.num) / f64::from(share.den)
}
