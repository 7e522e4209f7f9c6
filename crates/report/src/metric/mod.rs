//! Numbers taken from a recording: each [`Metric`] on one entity over one window, and how several entities
//! become one number.
//!
//! A number that does not exist is an [`Unmeasured`] that says why; nothing here is ever NaN or infinite.

mod messages;
pub mod stats;

pub use messages::Messages;

use crate::correlate::Correlation;
use crate::unit::Unit;
use quell_proto::units::Instant;
use quell_record::claim::{ConvergingSeries, Metric, Reduce, Side, Window};
use quell_record::{
    Catalog, EntityClass, EntityId, EntityKind, Event, EventKind, FlowTotals, Quantity, Recording, Selector,
};
use quell_theory::series;
use std::fmt;
use std::ops::Range;

/// Picoseconds in a second.
pub(crate) const PS: f64 = 1e12;

/// The time of what has not happened by the end of its window: later than any bound.
pub(crate) const NEVER: f64 = f64::INFINITY;

/// Takes one metric of one entity over one window.
pub fn measure(
    recording: &Recording,
    metric: &Metric,
    entity: EntityId,
    window: Window,
) -> Result<f64, Unmeasured> {
    let view = View::of(recording, metric, entity, window)?;
    let value = match metric {
        Metric::Throughput => view.rate(view.carried())?,
        Metric::SendRate => view.rate(Quantity::SentBytes)?,
        Metric::DemandShare => view.demand_share()?,
        Metric::DeliveredShare => {
            let offered = view.sum(Quantity::OfferedBytes)?;
            view.share(view.sum(Quantity::DeliveredBytes)?, offered, "offered nothing")?
        }
        Metric::ThroughputCv => view.variation(view.carried())?,
        Metric::ArrivalRate => view.rate(Quantity::SentBytes)? * view.raw_factor()?,
        // A factor that is the same in every sample cancels out.
        Metric::ArrivalCv => view.variation(Quantity::SentBytes)?,
        Metric::Queue => view.mean(Quantity::QueueMeanBytes)?,
        Metric::QueuePeak => view.peak(Quantity::QueuePeakBytes)?,
        Metric::QueueLow => view.low(Quantity::QueueMeanBytes)?,
        Metric::QueueDeviation => stats::weighted_deviation(view.levels(Quantity::QueueMeanBytes)?)
            .ok_or_else(|| view.nothing("was never sampled"))?,
        Metric::Period => view.period()?,
        Metric::Utilisation => {
            let overhead = recording.catalog.overhead_bytes as f64 * view.sum(Quantity::TxFrames)?;
            let carried = view.sum(Quantity::TxBytes)? + overhead;
            view.share(carried, view.sum(Quantity::ServiceBytes)?, "was not served at all")?
        }
        Metric::Limit => view.mean(Quantity::LimitBps)?,
        Metric::LimitLow => view.low(Quantity::LimitBps)?,
        Metric::PauseTime => match view.class {
            EntityClass::Input => view.sum(Quantity::StoppedPs)? / PS,
            _ => view.sum(Quantity::PausedPs)? / PS,
        },
        Metric::PauseCount => view.stops() as f64,
        Metric::Deadlocks => view.events(EventKind::Deadlock).count() as f64,
        Metric::Isolations => view.events(EventKind::Isolated).count() as f64,
        Metric::Cnms => match view.class {
            EntityClass::Flow => view.sum(Quantity::CnmsReceived)?,
            _ => view.sum(Quantity::CnmsSent)?,
        },
        Metric::CnmsPerMegabyte => {
            let sent = view.sum(Quantity::SentBytes)? / 1e6;
            view.share(view.sum(Quantity::CnmsReceived)?, sent, "sent nothing")?
        }
        Metric::CulpritReads => {
            let cnms = view.sum(Quantity::CnmsSent)?;
            view.share(view.sum(Quantity::CulpritReads)?, cnms, "sent no notification")?
        }
        Metric::Marks => view.sum(Quantity::MarkedFrames)?,
        Metric::Loss => view.sum(Quantity::DroppedFrames)?,
        Metric::Frames => view.sum(Quantity::DeliveredFrames)?,
        Metric::Retransmissions => view.totals()?.retransmitted_frames as f64,
        Metric::Timeouts => view.totals()?.timeouts as f64,
        Metric::Reordered => view.totals()?.reordered_frames as f64,
        Metric::Latency => {
            let totals = view.totals()?;
            let frames = totals.delivered_frames as f64;
            view.share(totals.latency_sum_ps as f64 / PS, frames, "delivered no frame")?
        }
        Metric::Correlation { with, step_ps, rising } => view.correlation(with, *step_ps, *rising)?,
        Metric::Convergence { series, target, within, side } => {
            view.convergence(*series, *target, *within, *side)?
        }
        Metric::Recovery { target, span_ps } => view.recovery(*target, *span_ps)?,
        Metric::Settled { target, within, quiet_ps, skip_ps } => {
            view.settled(*target, *within, *quiet_ps, *skip_ps)?
        }
        Metric::IterationTime => {
            let took: Vec<f64> =
                view.events(EventKind::Iteration).map(|event| event.value as f64 / PS).collect();
            stats::mean(&took).unwrap_or(NEVER)
        }
        Metric::Iterations => view.events(EventKind::Iteration).count() as f64,
        Metric::CompletionTime(_) | Metric::Slowdown(_) | Metric::Finished(_) => {
            Messages::of(recording).measure(metric, entity)?
        }
        Metric::Burst => view.mean_burst()?,
        Metric::BurstPeak => view.bursts().max().ok_or_else(|| view.nothing("ended no burst"))? as f64,
    };
    let may_be_never = matches!(
        metric,
        Metric::Convergence { .. }
            | Metric::Recovery { .. }
            | Metric::IterationTime
            | Metric::CompletionTime(_)
            | Metric::Slowdown(_)
    );
    if value.is_finite() || (may_be_never && value == NEVER) {
        Ok(value)
    } else {
        Err(view.nothing("gives a number out of range"))
    }
}

/// Makes one number of several entities' values; for [`Reduce::Each`] they stay as they are.
pub fn reduce(values: &[f64], how: Reduce) -> Result<Vec<f64>, Unmeasured> {
    let one = match how {
        Reduce::Each => return Ok(values.to_vec()),
        Reduce::Sum => Some(values.iter().sum()),
        Reduce::Mean => stats::mean(values),
        Reduce::Min => stats::range(values).map(|(low, _)| low),
        Reduce::Max => stats::range(values).map(|(_, high)| high),
        Reduce::Jain => stats::jain(values),
        Reduce::MaxOverMin => stats::max_over_min(values),
        Reduce::Quantile(thousandths) => stats::quantile(values, f64::from(thousandths) / 1000.0),
    };
    match one {
        Some(value) => Ok(vec![value]),
        None if values.is_empty() => Err(Unmeasured::NoValues),
        None if how == Reduce::Jain => Err(Unmeasured::AllZero),
        None => Err(Unmeasured::LeastIsZero),
    }
}

/// Frames of each burst of a flow that ended in a window, where bursts were recorded.
pub(crate) fn bursts(recording: &Recording, flow: EntityId, window: Window) -> impl Iterator<Item = i64> {
    let of_flow = move |event: &&Event| event.kind == EventKind::Burst && event.entity == flow;
    recording.events_in(window).iter().filter(of_flow).map(|event| event.value)
}

/// The unit of a metric after reduction.
pub fn unit_of(metric: &Metric, how: Reduce) -> Unit {
    if matches!(how, Reduce::Jain | Reduce::MaxOverMin) {
        return Unit::Plain;
    }
    match metric {
        Metric::Throughput | Metric::SendRate | Metric::ArrivalRate | Metric::Limit | Metric::LimitLow => {
            Unit::BitsPerSecond
        }
        Metric::DemandShare
        | Metric::DeliveredShare
        | Metric::Utilisation
        | Metric::Settled { .. }
        | Metric::Finished(_) => Unit::Fraction,
        Metric::ThroughputCv
        | Metric::ArrivalCv
        | Metric::CnmsPerMegabyte
        | Metric::CulpritReads
        | Metric::Correlation { .. }
        | Metric::Burst
        | Metric::Slowdown(_) => Unit::Plain,
        Metric::Queue | Metric::QueuePeak | Metric::QueueLow | Metric::QueueDeviation => Unit::Bytes,
        Metric::Period
        | Metric::PauseTime
        | Metric::Latency
        | Metric::Convergence { .. }
        | Metric::Recovery { .. }
        | Metric::IterationTime
        | Metric::CompletionTime(_) => Unit::Seconds,
        Metric::PauseCount
        | Metric::Deadlocks
        | Metric::Isolations
        | Metric::Iterations
        | Metric::Cnms
        | Metric::Marks
        | Metric::Loss
        | Metric::Frames
        | Metric::Retransmissions
        | Metric::Timeouts
        | Metric::Reordered
        | Metric::BurstPeak => Unit::Count,
    }
}

/// Why a number cannot be taken.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unmeasured {
    /// The metric has no meaning for this sort of entity.
    WrongKind {
        /// The entity.
        entity: String,
        /// What it is.
        class: EntityClass,
    },
    /// The recording lacks a series.
    NotRecorded {
        /// The entity.
        entity: String,
        /// What was not recorded of it.
        quantity: Quantity,
    },
    /// The recording lacks the totals of a flow: it was interrupted.
    NoTotals {
        /// The flow.
        entity: String,
    },
    /// The run ended before the window does.
    Ended {
        /// The window.
        window: Window,
        /// The last sample.
        at: Instant,
    },
    /// The window's ends are not sample instants, so no whole samples make it up.
    Ragged {
        /// The window.
        window: Window,
    },
    /// There was nothing to divide by: no demand, no offer, no frame.
    Nothing {
        /// The entity.
        entity: String,
        /// The window.
        window: Window,
        /// What it lacked, as the end of a sentence.
        what: &'static str,
    },
    /// It is not known what the flow would take on an idle network.
    NoIdeal {
        /// The flow.
        entity: String,
    },
    /// No values to reduce.
    NoValues,
    /// All values are zero where a share was asked.
    AllZero,
    /// The least is zero where a ratio to it was asked.
    LeastIsZero,
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmeasured::WrongKind { entity, class } => {
                write!(f, "`{entity}` is a {class}, on which this is not measured")
            }
            Unmeasured::NotRecorded { entity, quantity } => {
                write!(f, "{} of `{entity}` was not recorded", quantity.name())
            }
            Unmeasured::NoTotals { entity } => {
                write!(f, "the recording ends before the totals of `{entity}`")
            }
            Unmeasured::Ended { window, at } => {
                write!(f, "the run ended at {at}, inside or before the window {}", Span(*window))
            }
            Unmeasured::Ragged { window } => {
                write!(f, "the window {} does not begin and end at sample instants", Span(*window))
            }
            Unmeasured::Nothing { entity, window, what } => {
                write!(f, "`{entity}` {what} in {}", Span(*window))
            }
            Unmeasured::NoIdeal { entity } => {
                write!(f, "what `{entity}` takes on an idle network is not known")
            }
            Unmeasured::NoValues => f.write_str("there is nothing to take it of"),
            Unmeasured::AllZero => f.write_str("all values are zero"),
            Unmeasured::LeastIsZero => f.write_str("the least value is zero"),
        }
    }
}

impl std::error::Error for Unmeasured {}

/// A window as people write it: `350ms..600ms`.
pub(crate) struct Span(pub(crate) Window);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", Instant::from_ps(self.0.from_ps), Instant::from_ps(self.0.to_ps))
    }
}

/// One entity over the whole samples of one window.
struct View<'a> {
    recording: &'a Recording,
    entity: EntityId,
    class: EntityClass,
    window: Window,
    samples: Range<usize>,
}

impl<'a> View<'a> {
    fn of(
        recording: &'a Recording,
        metric: &Metric,
        entity: EntityId,
        window: Window,
    ) -> Result<View<'a>, Unmeasured> {
        let named = recording.catalog.get(entity);
        let class = named.class();
        if !metric.classes().contains(&class) {
            return Err(Unmeasured::WrongKind { entity: named.name.clone(), class });
        }
        let samples = recording.covering(window);
        if recording.end().ps() < window.to_ps {
            return Err(Unmeasured::Ended { window, at: recording.end() });
        }
        let (from, to) = recording.span(samples.clone());
        if samples.is_empty() || from.ps() != window.from_ps || to.ps() != window.to_ps {
            return Err(Unmeasured::Ragged { window });
        }
        Ok(View { recording, entity, class, window, samples })
    }

    /// How what the flow sends and a queue go together.
    fn correlation(&self, with: &Selector, step_ps: u64, rising: bool) -> Result<f64, Unmeasured> {
        let classes = [EntityClass::Port, EntityClass::Input];
        let [queue] = with.resolve(&self.recording.catalog, &classes)[..] else {
            return Err(self.nothing("is compared with no queue, or with several,"));
        };
        let step = step_ps as f64 / PS;
        let found = Correlation::take(self.recording, (self.entity, queue), self.window, step, 0)
            .map_err(|_| self.nothing("has too few steps to compare"))?;
        let value = if rising { found.rising } else { found.coefficient };
        value.ok_or_else(|| self.nothing("or the queue it is compared with never changes"))
    }

    /// Frames of each burst of the flow that ended in the window.
    fn bursts(&self) -> impl Iterator<Item = i64> {
        bursts(self.recording, self.entity, self.window)
    }

    fn mean_burst(&self) -> Result<f64, Unmeasured> {
        let (count, frames) =
            self.bursts().fold((0.0, 0.0), |(count, sum), it| (count + 1.0, sum + it as f64));
        self.share(frames, count, "ended no burst")
    }

    fn name(&self) -> String {
        self.recording.catalog.get(self.entity).name.clone()
    }

    fn nothing(&self, what: &'static str) -> Unmeasured {
        Unmeasured::Nothing { entity: self.name(), window: self.window, what }
    }

    fn seconds(&self) -> f64 {
        (self.window.to_ps - self.window.from_ps) as f64 / PS
    }

    fn values(&self, quantity: Quantity) -> Result<&'a [i64], Unmeasured> {
        let series = self.recording.series(self.entity, quantity);
        let series = series.ok_or_else(|| Unmeasured::NotRecorded { entity: self.name(), quantity })?;
        Ok(&series[self.samples.clone()])
    }

    /// Each value with the seconds it stands for.
    fn levels(&self, quantity: Quantity) -> Result<impl Iterator<Item = (f64, f64)> + Clone, Unmeasured> {
        let values = self.values(quantity)?;
        let spans = self.samples.clone().map(|sample| self.recording.interval(sample).ps() as f64 / PS);
        Ok(values.iter().map(|&value| value as f64).zip(spans))
    }

    /// Octets per sample as bits per second, each with the seconds it stands for.
    fn rates(&self, quantity: Quantity) -> Result<impl Iterator<Item = (f64, f64)> + Clone, Unmeasured> {
        Ok(self
            .levels(quantity)?
            .filter(|(_, span)| *span > 0.0)
            .map(|(octets, span)| (octets * 8.0 / span, span)))
    }

    fn sum(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        if let Some(total) = self.total(quantity) {
            return Ok(total as f64);
        }
        Ok(self.values(quantity)?.iter().map(|&value| i128::from(value)).sum::<i128>() as f64)
    }

    /// What the totals of a flow say of a quantity, where it was not sampled and the window is the whole run.
    fn total(&self, quantity: Quantity) -> Option<u64> {
        let is_whole = (self.window.from_ps, self.window.to_ps) == (0, self.recording.end().ps());
        if !is_whole || self.recording.series(self.entity, quantity).is_some() {
            return None;
        }
        let totals = self.recording.totals(self.entity)?;
        match quantity {
            Quantity::OfferedBytes => Some(totals.offered_bytes),
            Quantity::SentBytes => Some(totals.sent_bytes),
            Quantity::DeliveredBytes => Some(totals.delivered_bytes),
            Quantity::DeliveredFrames => Some(totals.delivered_frames),
            Quantity::DroppedFrames => Some(totals.lost_frames),
            Quantity::CnmsReceived => Some(totals.cnms_received),
            _ => None,
        }
    }

    fn mean(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        stats::weighted_mean(self.levels(quantity)?).ok_or_else(|| self.nothing("was never sampled"))
    }

    fn peak(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        let peak = self.values(quantity)?.iter().max();
        peak.map(|&peak| peak as f64).ok_or_else(|| self.nothing("was never sampled"))
    }

    fn low(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        let low = self.values(quantity)?.iter().min();
        low.map(|&low| low as f64).ok_or_else(|| self.nothing("was never sampled"))
    }

    /// What an entity's throughput is made of: octets delivered, or transmitted.
    fn carried(&self) -> Quantity {
        if self.class == EntityClass::Flow { Quantity::DeliveredBytes } else { Quantity::TxBytes }
    }

    fn rate(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        Ok(self.sum(quantity)? * 8.0 / self.seconds())
    }

    fn share(&self, part: f64, whole: f64, what: &'static str) -> Result<f64, Unmeasured> {
        if whole > 0.0 { Ok(part / whole) } else { Err(self.nothing(what)) }
    }

    fn demand_share(&self) -> Result<f64, Unmeasured> {
        let EntityKind::Flow { demand_bps, .. } = &self.recording.catalog.get(self.entity).kind else {
            return Err(Unmeasured::WrongKind { entity: self.name(), class: self.class });
        };
        let demand =
            demand_bps.ok_or_else(|| self.nothing("is greedy, so it states no demand to compare with"))?;
        self.share(self.rate(Quantity::DeliveredBytes)?, demand as f64, "demands nothing")
    }

    /// What octets on the wire are to octets of frames.
    fn raw_factor(&self) -> Result<f64, Unmeasured> {
        let catalog = &self.recording.catalog;
        raw_factor(catalog, self.entity).ok_or_else(|| self.nothing("has frames of unknown length"))
    }

    /// Coefficient of variation of a sampled rate.
    fn variation(&self, quantity: Quantity) -> Result<f64, Unmeasured> {
        let rates = self.rates(quantity)?;
        let mean = stats::weighted_mean(rates.clone()).ok_or_else(|| self.nothing("was never sampled"))?;
        let deviation = stats::weighted_deviation(rates).ok_or_else(|| self.nothing("was never sampled"))?;
        self.share(deviation, mean, "carried nothing")
    }

    /// The samples that claims add at the ends of their windows are as good as those at equal steps: they are few.
    fn period(&self) -> Result<f64, Unmeasured> {
        let values: Vec<f64> = self.levels(Quantity::QueueMeanBytes)?.map(|(octets, _)| octets).collect();
        let found = series::period(&values, self.seconds() / values.len().max(1) as f64);
        found.map(|it| it.seconds).ok_or_else(|| self.nothing("does not oscillate"))
    }

    /// Assertions of pause: a refresh, which finds the peer already stopped, is none.
    fn stops(&self) -> usize {
        let mut stopped = false;
        let mut count = 0;
        for event in self.recording.events_of(self.entity) {
            if event.at.ps() >= self.window.to_ps {
                break;
            }
            match event.kind {
                EventKind::Stop => {
                    count += usize::from(!stopped && event.at.ps() >= self.window.from_ps);
                    stopped = true;
                }
                EventKind::Go => stopped = false,
                _ => {}
            }
        }
        count
    }

    /// Events of a kind that happened to the entity.
    fn events(&self, kind: EventKind) -> impl Iterator<Item = &'a Event> {
        let span = self.window.from_ps..self.window.to_ps;
        let inside = self.recording.events_of(self.entity).filter(move |event| span.contains(&event.at.ps()));
        inside.filter(move |event| event.kind == kind)
    }

    /// What is known of a flow only for the whole run.
    fn totals(&self) -> Result<&'a FlowTotals, Unmeasured> {
        if self.window.from_ps > 0 || self.window.to_ps < self.recording.end().ps() {
            return Err(self.nothing("has this for the whole run only, not"));
        }
        self.recording.totals(self.entity).ok_or_else(|| Unmeasured::NoTotals { entity: self.name() })
    }

    fn convergence(
        &self,
        series: ConvergingSeries,
        target: f64,
        within: f64,
        side: Side,
    ) -> Result<f64, Unmeasured> {
        let tolerated = (target * within).abs();
        let outside = |value: f64| match side {
            Side::Both => (value - target).abs() > tolerated,
            Side::Above => value - target > tolerated,
            Side::Below => target - value > tolerated,
        };
        let last_outside = match series {
            ConvergingSeries::Limit => last_end(self.levels(Quantity::LimitBps)?, outside),
            ConvergingSeries::Queue => last_end(self.levels(Quantity::QueueMeanBytes)?, outside),
            ConvergingSeries::Throughput => last_end(self.rates(self.carried())?, outside),
        };
        // Outside in the last sample is outside for good, as far as anyone has seen.
        let converged = last_outside < self.seconds() * (1.0 - 1e-9);
        Ok(if converged { last_outside } else { NEVER })
    }

    /// The average runs over the samples before an instant that together last at least `span_ps`.
    fn recovery(&self, target: f64, span_ps: u64) -> Result<f64, Unmeasured> {
        let span = span_ps as f64 / PS;
        let samples: Vec<(f64, f64)> = self.levels(self.carried())?.collect();
        if span > self.seconds() {
            return Err(self.nothing("cannot be averaged over a span longer than the window"));
        }
        let slack = span * 1e-9;
        let (mut octets, mut lasted, mut elapsed, mut first) = (0.0, 0.0, 0.0, 0);
        for &(carried, time) in &samples {
            octets += carried;
            lasted += time;
            elapsed += time;
            while lasted - samples[first].1 >= span - slack && lasted > samples[first].1 {
                octets -= samples[first].0;
                lasted -= samples[first].1;
                first += 1;
            }
            if lasted > 0.0 && lasted >= span - slack && octets * 8.0 / lasted >= target {
                return Ok(elapsed);
            }
        }
        Ok(NEVER)
    }

    fn settled(&self, target: f64, within: f64, quiet_ps: u64, skip_ps: u64) -> Result<f64, Unmeasured> {
        let mut changes: Vec<(u64, bool)> = Vec::new();
        for event in self.recording.events_in(self.window) {
            let on = match event.kind {
                EventKind::SourceOn => true,
                EventKind::SourceOff => false,
                _ => continue,
            };
            // Flows of one source change together; that is one change.
            match changes.last_mut() {
                Some((at, any_on)) if *at == event.at.ps() => *any_on |= on,
                _ => changes.push((event.at.ps(), on)),
            }
        }
        let queue = self.recording.series(self.entity, Quantity::QueueMeanBytes);
        let queue = queue.ok_or_else(|| Unmeasured::NotRecorded {
            entity: self.name(),
            quantity: Quantity::QueueMeanBytes,
        })?;
        let (mut cases, mut settled) = (0_u32, 0_u32);
        for (index, &(at, on)) in changes.iter().enumerate() {
            let until = changes.get(index + 1).map_or(self.window.to_ps, |next| next.0);
            if !on || until - at < quiet_ps {
                continue;
            }
            let whole = whole_samples(self.recording, Window { from_ps: at + skip_ps, to_ps: until });
            let levels = whole.map(|it| (queue[it] as f64, self.recording.interval(it).ps() as f64));
            if let Some(mean) = stats::weighted_mean(levels) {
                cases += 1;
                settled += u32::from((mean - target).abs() <= (target * within).abs());
            }
        }
        self.share(f64::from(settled), f64::from(cases), "saw no source turn on and stay so long enough")
    }
}

/// What the octets of a flow's frames come to on the wire, for each of their own; one for anything else, none where
/// the length of its frames is not known.
pub(crate) fn raw_factor(catalog: &Catalog, entity: EntityId) -> Option<f64> {
    match catalog.get(entity).kind {
        EntityKind::Flow { frame_bytes: 0, .. } if catalog.overhead_bytes > 0 => None,
        EntityKind::Flow { frame_bytes, .. } if catalog.overhead_bytes > 0 => {
            Some(1.0 + catalog.overhead_bytes as f64 / frame_bytes as f64)
        }
        _ => Some(1.0),
    }
}

/// Samples that lie wholly inside a window, wherever its ends are.
fn whole_samples(recording: &Recording, window: Window) -> Range<usize> {
    let mut samples = recording.covering(window);
    if !samples.is_empty() && recording.span(samples.clone()).0.ps() < window.from_ps {
        samples.start += 1;
    }
    if !samples.is_empty() && recording.span(samples.clone()).1.ps() > window.to_ps {
        samples.end -= 1;
    }
    samples
}

/// When the last sample that `is_outside` ends, in seconds from the first; zero if none is.
fn last_end(levels: impl Iterator<Item = (f64, f64)>, is_outside: impl Fn(f64) -> bool) -> f64 {
    let mut elapsed = 0.0;
    let mut last = 0.0;
    for (value, span) in levels {
        elapsed += span;
        if is_outside(value) {
            last = elapsed;
        }
    }
    last
}

#[cfg(test)]
mod tests;
