//! QCN as a fluid: Alizadeh et al., "Data Center Transport Mechanisms" (Allerton 2008) and "Stability Analysis
//! of QCN" (SIGMETRICS 2011), with the cycles of the byte counter; timer and hyper-active increase are left out.

use super::{Path, QUEUE, RATE, TARGET, growth};
use crate::delay::{Past, State};
use crate::outside::{Outside, positive, within};
use quell_proto::control::qcn::{CongestionConfig, ReactionConfig};

/// Parameters of QCN's fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qcn {
    /// Who shares what.
    pub path: Path,
    /// Octets at which the queue is to rest (`cpQsp`, Q_eq).
    pub set_point: f64,
    /// Weight of the queue's growth (`cpW`, w).
    pub weight: f64,
    /// Octets between samples while feedback is low (`cpSampleBase`).
    pub sample_base: f64,
    /// The cut that the largest feedback makes, as a fraction: 63 Gd.
    pub largest_cut: f64,
    /// Octets of a cycle of the byte counter (`rpgByteReset`).
    pub byte_reset: f64,
    /// Cycles of fast recovery (`rpgThreshold`).
    pub recovery_cycles: f64,
    /// Bits per second of an active increase (`rpgAiRate`).
    pub increase: f64,
    /// How close to the mechanism.
    pub detail: Detail,
}

/// How close QCN's model keeps to the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// As in the literature: feedback is exact, growth is the derivative, one interval between samples.
    Plain,
    /// As a congestion point does it: feedback in whole sixty-thirds of the largest, growth since the sample
    /// before, and the more samples the worse the feedback.
    Sampled,
}

impl Qcn {
    /// The model of congestion and reaction points with these parameters.
    pub fn of(path: Path, congestion: &CongestionConfig, reaction: &ReactionConfig) -> Qcn {
        Qcn {
            path,
            set_point: congestion.set_point.get() as f64,
            weight: f64::from(congestion.weight_log2).exp2(),
            sample_base: congestion.sample_base.get() as f64,
            largest_cut: 63.0 * (-f64::from(reaction.gd_log2)).exp2(),
            byte_reset: reaction.byte_reset.get() as f64,
            recovery_cycles: f64::from(reaction.threshold),
            increase: reaction.ai_rate.bps() as f64,
            detail: Detail::Plain,
        }
    }

    pub(super) fn check(&self) -> Result<(), Outside> {
        positive("the set point", self.set_point)?;
        within("the weight", self.weight, self.weight >= 0.0, "zero or more")?;
        let base = self.sample_base;
        within("the sampling interval", base, base > self.path.frame, "longer than a frame")?;
        let cut = self.largest_cut;
        within("the largest cut", cut, cut > 0.0 && cut <= 1.0, "above 0 and at most 1")?;
        positive("the byte cycle", self.byte_reset)?;
        within(
            "the number of recovery cycles",
            self.recovery_cycles,
            self.recovery_cycles >= 0.0,
            "zero or more",
        )?;
        within("the increase", self.increase, self.increase >= 0.0, "zero or more")?;
        Ok(())
    }

    pub(super) fn longest_delay(&self) -> f64 {
        match self.detail {
            Detail::Plain => self.path.delay,
            Detail::Sampled => self.path.delay + self.sample_base / self.path.service(),
        }
    }

    /// The largest feedback, in octets.
    fn largest(&self) -> f64 {
        (2.0 * self.weight + 1.0) * self.set_point
    }

    /// The cut for an octet of feedback, as a fraction.
    fn gain(&self) -> f64 {
        self.largest_cut / self.largest()
    }

    /// Octets above the set point, growth weighed in, before anything is clamped.
    fn excess(&self, then: &State) -> f64 {
        let growth = f64::from(self.path.flows) * then[RATE] - self.path.service();
        then[QUEUE] - self.set_point + self.weight * self.sample_base / self.path.service() * growth
    }

    pub(super) fn rest(&self) -> Result<State, Outside> {
        let share = self.path.share();
        let climbs = Climbs::of(self, self.sample_base);
        let above = self.increase / 8.0 * climbs.active / climbs.lost;
        let feedback = above / (2.0 * climbs.lost * self.gain() * share);
        if feedback > self.largest() {
            return Err(Outside::NoEquilibrium {
                why: format!(
                    "an increase of {:.0} Mb/s needs feedback of {feedback:.0} octets to hold it, and {:.0} is the most",
                    self.increase / 1e6,
                    self.largest()
                ),
            });
        }
        Ok([self.set_point + feedback, share, share + above, 0.0])
    }

    pub(super) fn drift(&self, now: &State, then: &State) -> State {
        self.change(now, then, self.excess(then), Some(self.sample_base))
    }

    pub(super) fn slope(&self, now: &State, then: &State, past: &Past<'_>) -> State {
        let (feedback, interval) = match self.detail {
            Detail::Plain => (self.excess(then).clamp(0.0, self.largest()), self.sample_base),
            Detail::Sampled => self.sampled(then, past),
        };
        let told = (feedback > 0.0).then_some(interval);
        let mut slope = self.change(now, then, feedback, told);
        slope[QUEUE] = growth(&self.path, now[QUEUE], now[RATE]);
        slope
    }

    /// The feedback of a congestion point, and octets between its samples.
    fn sampled(&self, then: &State, past: &Past<'_>) -> (f64, f64) {
        let service = self.path.service();
        // How far apart two samples are depends on the feedback, which depends on how far apart they are: begin
        // with the longest interval, as a congestion point does.
        let before = past.back(self.path.delay + self.sample_base / service);
        let excess = then[QUEUE] - self.set_point + self.weight * (then[QUEUE] - before[QUEUE]);
        let steps = (excess / self.largest() * 63.0).clamp(0.0, 63.0).floor();
        (steps / 63.0 * self.largest(), self.sample_base / ((steps / 8.0).floor() + 1.0))
    }

    /// How rates change under some feedback; `told` is how many octets go by between two notifications, or none
    /// if there are none.
    fn change(&self, now: &State, then: &State, feedback: f64, told: Option<f64>) -> State {
        let (rate, target) = (now[RATE], now[TARGET]);
        let (notified, climbs) = match told {
            Some(interval) => (then[RATE] / interval, Climbs::of(self, interval)),
            None => (0.0, Climbs::undisturbed(self)),
        };
        [
            f64::from(self.path.flows) * rate - self.path.service(),
            -self.gain() * feedback * rate * notified + (target - rate) / 2.0 * then[RATE] * climbs.halvings,
            -(target - rate) * notified + self.increase / 8.0 * then[RATE] * climbs.active * climbs.halvings,
            0.0,
        ]
    }
}

/// How often a flow climbs, for an octet that it sends.
struct Climbs {
    /// Cycles that end before a notification does away with them, for each octet.
    halvings: f64,
    /// The share of them past fast recovery.
    active: f64,
    /// Notifications for each cycle that ends.
    lost: f64,
}

impl Climbs {
    /// With a notification on average every `interval` octets.
    fn of(model: &Qcn, interval: f64) -> Climbs {
        let chance = model.path.frame / interval;
        let frames = model.byte_reset / model.path.frame;
        // (1 - p)^-B - 1 and (1 - p)^(5 B), kept exact for small p.
        let lost = (-frames * (-chance).ln_1p()).exp_m1();
        let active = (model.recovery_cycles * frames * (-chance).ln_1p()).exp();
        Climbs { halvings: 1.0 / interval / lost, active, lost }
    }

    /// With none at all.
    fn undisturbed(model: &Qcn) -> Climbs {
        Climbs { halvings: 1.0 / model.byte_reset, active: 1.0, lost: 0.0 }
    }
}
