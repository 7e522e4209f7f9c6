//! How a flow's rate and a queue go together in a recording.

use crate::metric::{PS, stats};
use crate::theory::Pair;
use quell_record::claim::Window;
use quell_record::{EntityId, Quantity, Recording};
use quell_theory::{Outside, series};
use serde::Serialize;

/// A rate and a queue at equal steps, and how they go together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// The flow.
    pub flow: String,
    /// The port or input.
    pub queue: String,
    /// Seconds of a step.
    pub step: f64,
    /// Bits per second that the flow sent in each step.
    pub rates: Vec<f64>,
    /// Mean octets queued in each step.
    pub queues: Vec<f64>,
    /// Their coefficient over all steps; none if either never changes.
    pub coefficient: Option<f64>,
    /// The same over increments, where the rate rises.
    pub rising: Option<f64>,
    /// The cross-correlation by lag in steps, the queue later by the lag.
    pub lags: Vec<(i64, f64)>,
}

impl Correlation {
    /// Fewer steps than this say nothing.
    pub const LEAST_STEPS: usize = 8;

    /// Takes both from a recording, by steps of `step` seconds, and compares them up to `most` steps apart.
    pub fn take(
        recording: &Recording,
        (flow, queue): (EntityId, EntityId),
        window: Window,
        step: f64,
        most: usize,
    ) -> Result<Correlation, Outside> {
        let steps = Steps::of(recording, window, step);
        let rates = steps.of_series(flow, Quantity::SentBytes, |values| {
            let (octets, time) = values.fold((0.0, 0.0), |(sum, time), it| (sum + it.0, time + it.1));
            (time > 0.0).then(|| octets * 8.0 / time)
        });
        let queues = steps.of_series(queue, Quantity::QueueMeanBytes, stats::weighted_mean);
        let found = rates.len().min(queues.len());
        if found < Correlation::LEAST_STEPS {
            return Err(Outside::TooShort { values: found, needed: Correlation::LEAST_STEPS });
        }
        Ok(Correlation {
            flow: recording.catalog.get(flow).name.clone(),
            queue: recording.catalog.get(queue).name.clone(),
            step,
            coefficient: series::coefficient(&rates, &queues),
            rising: series::rising_coefficient(&rates, &queues),
            lags: series::cross_correlation(&rates, &queues, most),
            rates,
            queues,
        })
    }

    /// As a chart.
    pub fn chart(&self) -> crate::figure::Chart {
        let (rate, queue) = (format!("rate of {}", self.flow), format!("queue of {}", self.queue));
        crate::theory::correlation(&Pair {
            rate: (&rate, &self.rates),
            queue: (&queue, &self.queues),
            correlation: &self.lags,
            step: self.step,
        })
    }
}

/// The whole steps of a window.
struct Steps<'a> {
    recording: &'a Recording,
    from: f64,
    step: f64,
    count: usize,
    samples: std::ops::Range<usize>,
}

impl<'a> Steps<'a> {
    fn of(recording: &'a Recording, window: Window, step: f64) -> Steps<'a> {
        let (from, to) = (window.from_ps as f64 / PS, window.to_ps as f64 / PS);
        let count = if step > 0.0 { ((to - from) / step + 1e-9).max(0.0) as usize } else { 0 };
        Steps { recording, from, step, count, samples: recording.covering(window) }
    }

    /// A series by steps: each sample counts for the step it ends in. Ends at the first step without a sample.
    fn of_series(
        &self,
        entity: EntityId,
        quantity: Quantity,
        put_together: impl Fn(std::vec::IntoIter<(f64, f64)>) -> Option<f64>,
    ) -> Vec<f64> {
        let Some(series) = self.recording.series(entity, quantity) else { return Vec::new() };
        let mut steps: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.count];
        for sample in self.samples.clone() {
            let end = self.recording.times[sample].ps() as f64 / PS;
            let place = ((end - self.from) / self.step - 1e-9).max(0.0) as usize;
            if let Some(step) = steps.get_mut(place) {
                step.push((series[sample] as f64, self.recording.interval(sample).ps() as f64 / PS));
            }
        }
        steps.into_iter().map_while(|values| put_together(values.into_iter())).collect()
    }
}
