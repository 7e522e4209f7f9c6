//! DCQCN as a fluid: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), appendix,
//! and Zhu et al., "ECN or Delay" (CoNEXT 2016), with the constants of the authors' published code.

use super::{ALPHA, Path, QUEUE, RATE, TARGET, growth};
use crate::delay::State;
use crate::outside::{Outside, positive, within};
use quell_proto::control::dcqcn::{NotificationConfig, ReactionConfig};
use quell_proto::control::ecn::MarkingConfig;
use quell_proto::units::{Duration, Share};

/// Parameters of DCQCN's fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    /// Who shares what.
    pub path: Path,
    /// Octets below which nothing is marked (K_min).
    pub mark_from: f64,
    /// Octets above which everything is marked (K_max).
    pub mark_all: f64,
    /// Probability of a mark just below `mark_all` (P_max).
    pub mark_most: f64,
    /// Seconds between two notifications of a flow.
    pub notify_every: f64,
    /// Seconds after which alpha is brought up to date.
    pub alpha_every: f64,
    /// Weight of a notification in alpha (g).
    pub alpha_gain: f64,
    /// Seconds of a time cycle (T).
    pub time_reset: f64,
    /// Octets of a byte cycle (B).
    pub byte_reset: f64,
    /// Cycles of fast recovery (F).
    pub recovery_cycles: f64,
    /// Bits per second of an additive increase (R_AI).
    pub increase: f64,
}

impl Dcqcn {
    /// The constants of the authors' code, for a wire of 40 Gb/s: K_min 5 kB, K_max 200 kB, P_max 1 %,
    /// 50 and 55 us, 10 MB, 40 Mb/s.
    pub fn published(path: Path) -> Dcqcn {
        Dcqcn {
            path,
            mark_from: 5e3,
            mark_all: 200e3,
            mark_most: 0.01,
            notify_every: 50e-6,
            alpha_every: 55e-6,
            alpha_gain: 1.0 / 256.0,
            time_reset: 55e-6,
            byte_reset: 10e6,
            recovery_cycles: 5.0,
            increase: 40e6,
        }
    }

    /// With the parameters of a simulated network's queues and ends. Senders that count no octets have a byte cycle that
    /// never ends.
    pub fn of(
        path: Path,
        marking: &MarkingConfig,
        notification: &NotificationConfig,
        reaction: &ReactionConfig,
    ) -> Dcqcn {
        let seconds = |time: Duration| time.ps() as f64 / 1e12;
        let share = |share: Share| f64::from(share.num) / f64::from(share.den);
        Dcqcn {
            path,
            mark_from: marking.low.get() as f64,
            mark_all: marking.high.get() as f64,
            mark_most: share(marking.most),
            notify_every: seconds(notification.interval),
            alpha_every: seconds(reaction.alpha_period),
            alpha_gain: share(reaction.gain),
            time_reset: seconds(reaction.time_reset),
            byte_reset: reaction.byte_reset.map_or(f64::INFINITY, |octets| octets.get() as f64),
            recovery_cycles: f64::from(reaction.threshold),
            increase: reaction.ai_rate.bps() as f64,
        }
    }

    pub(super) fn check(&self) -> Result<(), Outside> {
        within("K_min", self.mark_from, self.mark_from >= 0.0, "zero or more")?;
        within("K_max", self.mark_all, self.mark_all > self.mark_from, "above K_min")?;
        let most = self.mark_most;
        within("P_max", most, most > 0.0 && most <= 1.0, "above 0 and at most 1")?;
        positive("the time between notifications", self.notify_every)?;
        positive("the time between updates of alpha", self.alpha_every)?;
        let gain = self.alpha_gain;
        within("g", gain, gain > 0.0 && gain <= 1.0, "above 0 and at most 1")?;
        positive("the time cycle", self.time_reset)?;
        positive("the byte cycle", self.byte_reset)?;
        within(
            "the number of recovery cycles",
            self.recovery_cycles,
            self.recovery_cycles >= 0.0,
            "zero or more",
        )?;
        positive("the increase", self.increase)?;
        Ok(())
    }

    /// The probability of a mark at a queue, by the sloping part of the curve.
    fn sloping(&self, queue: f64) -> f64 {
        self.mark_most * (queue - self.mark_from) / (self.mark_all - self.mark_from)
    }

    fn marking(&self, queue: f64) -> f64 {
        if queue > self.mark_all { 1.0 } else { self.sloping(queue).max(0.0) }
    }

    pub(super) fn rest(&self) -> Result<State, Outside> {
        let share = self.path.share();
        // What cuts exceed climbs by, which rises with the marks: none at 0, all at 1.
        let surplus = |chance: f64| {
            let events = Events::of(self, chance, share);
            let above = self.above(&events, share);
            share * events.alpha * events.cuts / 2.0
                - above * share * (events.by_bytes + events.by_time) / 2.0
        };
        let (mut low, mut high) = (1e-12, 1.0 - 1e-9);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if surplus(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let chance = f64::midpoint(low, high);
        if chance > self.mark_most {
            return Err(Outside::NoEquilibrium {
                why: format!(
                    "{} flows need {:.2} % of frames marked, and below K_max at most {:.2} % are; \
                     the queue stays at K_max and jumps between some and all",
                    self.path.flows,
                    chance * 100.0,
                    self.mark_most * 100.0
                ),
            });
        }
        let queue = self.mark_from + chance / self.mark_most * (self.mark_all - self.mark_from);
        let events = Events::of(self, chance, share);
        Ok([queue, share, share + self.above(&events, share), events.alpha, 0.0, 0.0])
    }

    /// How far above the rate the target rests.
    fn above(&self, events: &Events, rate: f64) -> f64 {
        self.increase / 8.0 * rate * (events.active_by_bytes + events.active_by_time) / events.cuts
    }

    pub(super) fn slope(&self, now: &State, then: &State) -> State {
        let mut slope = self.change(now, then, self.marking(then[QUEUE]));
        slope[QUEUE] = growth(&self.path, now[QUEUE], now[RATE]);
        slope
    }

    pub(super) fn drift(&self, now: &State, then: &State) -> State {
        self.change(now, then, self.sloping(then[QUEUE]))
    }

    fn change(&self, now: &State, then: &State, chance: f64) -> State {
        let events = Events::of(self, chance, then[RATE]);
        let gap = now[TARGET] - now[RATE];
        let climbs = then[RATE] * (events.by_bytes + events.by_time);
        let active = then[RATE] * (events.active_by_bytes + events.active_by_time);
        [
            f64::from(self.path.flows) * now[RATE] - self.path.service(),
            -now[RATE] * now[ALPHA] * events.cuts / 2.0 + gap * climbs / 2.0,
            -gap * events.cuts + self.increase / 8.0 * active,
            self.alpha_gain / self.alpha_every * (events.alpha - now[ALPHA]),
            0.0,
            0.0,
        ]
    }
}

/// How often what happens to a flow of some rate whose frames are marked with some probability.
struct Events {
    /// Cuts a second.
    cuts: f64,
    /// Where alpha tends to.
    alpha: f64,
    /// Byte cycles that end before a cut, for each octet.
    by_bytes: f64,
    /// Time cycles likewise.
    by_time: f64,
    /// Byte cycles past fast recovery, for each octet.
    active_by_bytes: f64,
    /// Time cycles likewise.
    active_by_time: f64,
}

impl Events {
    fn of(model: &Dcqcn, chance: f64, rate: f64) -> Events {
        let frames = rate / model.path.frame;
        // ln(1 - p), and p over it where p vanishes.
        let none = (-chance.min(1.0 - 1e-12)).ln_1p();
        let some_within = |seconds: f64| -(seconds * frames * none).exp_m1();
        let cycles = |length: f64| {
            // p / ((1 - p)^-n - 1), which tends to 1/n.
            let ended = if chance.abs() < 1e-15 { 1.0 / length } else { chance / (-length * none).exp_m1() };
            ended / model.path.frame
        };
        let by_bytes = cycles(model.byte_reset / model.path.frame);
        let by_time = cycles(model.time_reset * frames);
        let past = |length: f64| (model.recovery_cycles * length * none).exp();
        Events {
            cuts: some_within(model.notify_every) / model.notify_every,
            alpha: some_within(model.alpha_every),
            by_bytes,
            by_time,
            active_by_bytes: by_bytes * past(model.byte_reset / model.path.frame),
            active_by_time: by_time * past(model.time_reset * frames),
        }
    }
}
