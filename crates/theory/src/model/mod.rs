//! The fluid models: N equal flows through one queue, told of it after a delay.
//!
//! Queues are in octets, rates in octets per second, times in seconds, unless a name says otherwise.

mod dcqcn;
mod ecm;
mod parameter;
mod qcn;

pub use dcqcn::Dcqcn;
pub use ecm::Ecm;
pub use parameter::Parameter;
pub use qcn::{Detail, Qcn};

use crate::delay::{Past, State, System};
use crate::outside::{Outside, positive, within};

/// The places of a [`State`].
pub(crate) const QUEUE: usize = 0;
pub(crate) const RATE: usize = 1;
pub(crate) const TARGET: usize = 2;
pub(crate) const ALPHA: usize = 3;
/// QCN in detail: notifications that a flow has had since the start, first cycles that they have begun, and what
/// flows in later cycles are below their targets, averaged over all.
pub(crate) const HEARD: usize = 3;
pub(crate) const BEGUN: usize = 4;
pub(crate) const GAP_LATER: usize = 5;

/// What a model stands for, whatever the scheme: who shares what, and how late they hear of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Flows that share the queue.
    pub flows: u32,
    /// Bits per second at which the queue is served.
    pub capacity: f64,
    /// Bits per second that a source sends at the most: its wire's, or what it has to send.
    pub line: f64,
    /// Seconds from the queue to the sources and back to the queue.
    pub delay: f64,
    /// Octets of a frame.
    pub frame: f64,
}

impl Path {
    /// Octets per second at which the queue is served.
    pub(crate) fn service(&self) -> f64 {
        self.capacity / 8.0
    }

    /// Octets per second that each flow ought to get.
    pub(crate) fn share(&self) -> f64 {
        self.service() / f64::from(self.flows)
    }

    fn check(&self) -> Result<(), Outside> {
        if self.flows == 0 {
            return Err(Outside::NoFlows);
        }
        positive("the capacity", self.capacity)?;
        positive("the frame's length", self.frame)?;
        let enough = self.line * f64::from(self.flows) >= self.capacity;
        within(
            "what a source can send",
            self.line,
            enough,
            "at least its share: nothing is congested otherwise",
        )?;
        // The slowest that a source is let become: see `confine`.
        let share = self.capacity / f64::from(self.flows);
        within(
            "a flow's share, in bits per second,",
            share,
            share / 8.0 >= self.frame,
            "a frame a second or more",
        )?;
        within("the delay", self.delay, self.delay >= 0.0, "zero or more")?;
        Ok(())
    }
}

/// A fluid model with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Quantized congestion notification, 802.1Qau.
    Qcn(Qcn),
    /// Ethernet congestion management, also known as BCN.
    Ecm(Ecm),
    /// Data centre QCN: marks, and sources that count them.
    Dcqcn(Dcqcn),
}

/// Where a model rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibrium {
    /// Octets queued.
    pub queue: f64,
    /// Bits per second of each flow.
    pub rate: f64,
    /// Bits per second to which each flow recovers; none where the scheme knows no target.
    pub target: Option<f64>,
    pub(crate) state: State,
}

/// A part of a model's range in which it is smooth, and so can be linearised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// The only one about the equilibrium.
    Whole,
    /// ECM while feedback is positive.
    Increase,
    /// ECM while feedback is negative.
    Decrease,
}

impl Model {
    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Model::Qcn(_) => "QCN",
            Model::Ecm(_) => "ECM",
            Model::Dcqcn(_) => "DCQCN",
        }
    }

    /// Who shares what.
    pub fn path(&self) -> &Path {
        match self {
            Model::Qcn(it) => &it.path,
            Model::Ecm(it) => &it.path,
            Model::Dcqcn(it) => &it.path,
        }
    }

    /// The same with another path.
    pub fn with_path(mut self, path: Path) -> Model {
        match &mut self {
            Model::Qcn(it) => it.path = path,
            Model::Ecm(it) => it.path = path,
            Model::Dcqcn(it) => it.path = path,
        }
        self
    }

    /// Whether its parameters make sense.
    pub fn check(&self) -> Result<(), Outside> {
        self.path().check()?;
        match self {
            Model::Qcn(it) => it.check(),
            Model::Ecm(it) => it.check(),
            Model::Dcqcn(it) => it.check(),
        }
    }

    /// Where it rests, stable or not.
    pub fn equilibrium(&self) -> Result<Equilibrium, Outside> {
        self.check()?;
        let state = match self {
            Model::Qcn(it) => it.rest()?,
            Model::Ecm(it) => it.rest(),
            Model::Dcqcn(it) => it.rest()?,
        };
        let target = (!matches!(self, Model::Ecm(_))).then_some(state[TARGET] * 8.0);
        Ok(Equilibrium { queue: state[QUEUE], rate: state[RATE] * 8.0, target, state })
    }

    /// The regimes about its equilibrium.
    pub fn regimes(&self) -> &'static [Regime] {
        match self {
            Model::Qcn(_) | Model::Dcqcn(_) => &[Regime::Whole],
            Model::Ecm(_) => &[Regime::Increase, Regime::Decrease],
        }
    }

    /// How many places of its state it uses.
    pub(crate) fn order(&self) -> usize {
        match self {
            Model::Ecm(_) => 2,
            Model::Qcn(_) => 3,
            Model::Dcqcn(_) => 4,
        }
    }

    /// How it changes within a regime, continued smoothly beyond it; `then` is what it was a delay ago.
    pub(crate) fn drift(&self, regime: Regime, now: &State, then: &State) -> State {
        match self {
            Model::Qcn(it) => it.drift(now, then),
            Model::Ecm(it) => it.drift(regime, now, then),
            Model::Dcqcn(it) => it.drift(now, then),
        }
    }

    /// How far it looks back.
    pub(crate) fn longest_delay(&self) -> f64 {
        match self {
            Model::Qcn(it) => it.longest_delay(),
            Model::Ecm(_) | Model::Dcqcn(_) => self.path().delay,
        }
    }

    /// Seconds in which a solution changes little: what a step may be.
    pub(crate) fn step(&self) -> f64 {
        let frame = self.path().frame / self.path().service();
        (frame * 2.0).clamp(1e-7, 4e-6)
    }
}

impl System for Model {
    fn slope(&self, _: f64, now: &State, past: &Past<'_>) -> State {
        let then = past.back(self.path().delay);
        match self {
            Model::Qcn(it) => it.slope(now, &then, past),
            Model::Ecm(it) => it.slope(now, &then),
            Model::Dcqcn(it) => it.slope(now, &then),
        }
    }

    fn confine(&self, state: &mut State) {
        let (least, most) = (self.path().frame, self.path().line / 8.0);
        state[QUEUE] = state[QUEUE].max(0.0);
        // However slow, a source sends a frame a second: what sends nothing is told nothing, and stays there.
        state[RATE] = state[RATE].clamp(least, most);
        state[TARGET] = state[TARGET].clamp(least, most);
        if matches!(self, Model::Dcqcn(_)) {
            state[ALPHA] = state[ALPHA].clamp(0.0, 1.0);
        }
    }
}

/// How fast a queue grows, which an empty one cannot shrink.
fn growth(path: &Path, queue: f64, rate: f64) -> f64 {
    let growth = f64::from(path.flows) * rate - path.service();
    if queue <= 0.0 { growth.max(0.0) } else { growth }
}
