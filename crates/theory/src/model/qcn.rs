//! QCN as a fluid: Alizadeh et al., "Data Center Transport Mechanisms" (Allerton 2008) and "Stability Analysis
//! of QCN" (SIGMETRICS 2011), with the cycles of the byte counter; timer and hyper-active increase are left out. The
//! detailed form is ours.

use super::{BEGUN, GAP_LATER, HEARD, Path, QUEUE, RATE, TARGET, growth};
use crate::delay::{PLACES, Past, State};
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

/// How close QCN's model keeps to the mechanism. Equilibrium and linearisation are those of the plain model: at rest
/// both agree to a fraction of an octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// As in the literature: growth is the derivative, samples come at one interval, every notification sets the
    /// target to the rate, and active increase begins as soon as notifications cease.
    Plain,
    /// As congestion and reaction points do it. Growth is counted since the sample before, and samples come the sooner
    /// the worse the feedback. A notification in the first cycle after another leaves the target alone, so that those
    /// who lose their target are those who had almost reached it. Active increase waits for its cycles.
    Mechanism,
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
            Detail::Mechanism => self.path.delay + self.sample_base / self.path.service(),
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
        Ok([self.set_point + feedback, share, share + above, 0.0, 0.0, 0.0])
    }

    pub(super) fn drift(&self, now: &State, then: &State) -> State {
        self.change(now, then, self.excess(then), Some(self.sample_base))
    }

    pub(super) fn slope(&self, now: &State, then: &State, past: &Past<'_>) -> State {
        let mut slope = match self.detail {
            Detail::Plain => {
                let feedback = self.excess(then).clamp(0.0, self.largest());
                self.change(now, then, feedback, (feedback > 0.0).then_some(self.sample_base))
            }
            Detail::Mechanism => self.mechanism(now, then, past),
        };
        slope[QUEUE] = growth(&self.path, now[QUEUE], now[RATE]);
        slope
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
            -self.gain() * feedback * rate * notified + (target - rate) / 2.0 * then[RATE] * climbs.ended,
            -(target - rate) * notified + self.increase / 8.0 * then[RATE] * climbs.active * climbs.ended,
            0.0,
            0.0,
            0.0,
        ]
    }

    /// The same as congestion and reaction points do it; see [`Detail::Mechanism`]. Flows are of two sorts: those in the
    /// first cycle since their target was set, and later ones. Cycles end at random, as often as they do on average.
    fn mechanism(&self, now: &State, then: &State, past: &Past<'_>) -> State {
        let (rate, gap) = (now[RATE], now[TARGET] - now[RATE]);
        let (feedback, interval) = self.sampled(then, past);
        let notified = if feedback > 0.0 { then[RATE] / interval } else { 0.0 };
        let cycle = self.byte_reset / rate;
        let share_first = (now[BEGUN] - past.back(cycle)[BEGUN]).clamp(0.0, 1.0);
        let (gap_later, gap_first) = (now[GAP_LATER], gap - now[GAP_LATER]);
        let ended_later =
            if feedback > 0.0 { then[RATE] * Climbs::of(self, interval).ended } else { 1.0 / cycle };
        let (climb_first, climb_later) = (gap_first / 2.0 / cycle, gap_later / 2.0 * ended_later);
        let heard = now[HEARD] - past.back(cycle * self.recovery_cycles)[HEARD];
        let increase = self.increase / 8.0 * (1.0 - share_first) * ended_later * (-heard).exp();
        let mut slope = [0.0; PLACES];
        slope[RATE] = -self.gain() * feedback * rate * notified + climb_first + climb_later;
        slope[TARGET] = -gap_later * notified + increase;
        slope[HEARD] = notified;
        slope[BEGUN] = notified * (1.0 - share_first);
        // The half of a gap that a first cycle leaves is a later flow's.
        slope[GAP_LATER] = climb_first - climb_later - gap_later * notified + increase;
        slope
    }

    /// The feedback of a congestion point, and octets between its samples.
    fn sampled(&self, then: &State, past: &Past<'_>) -> (f64, f64) {
        let (mut feedback, mut interval) = (0.0, self.sample_base);
        // How far apart two samples are depends on the feedback, and the feedback on that: two rounds settle it.
        for _ in 0..2 {
            let before = past.back(self.path.delay + interval / self.path.service());
            let excess = then[QUEUE] - self.set_point + self.weight * (then[QUEUE] - before[QUEUE]);
            feedback = excess.clamp(0.0, self.largest());
            // The top three of six bits say how soon the next sample is.
            interval = self.sample_base / ((feedback / self.largest() * 63.0 / 8.0).floor() + 1.0);
        }
        (feedback, interval)
    }
}

/// How often a flow climbs, for an octet that it sends.
struct Climbs {
    /// Cycles that end before a notification does away with them, for each octet.
    ended: f64,
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
        Climbs { ended: 1.0 / interval / lost, active, lost }
    }

    /// With none at all.
    fn undisturbed(model: &Qcn) -> Climbs {
        Climbs { ended: 1.0 / model.byte_reset, active: 1.0, lost: 0.0 }
    }
}
