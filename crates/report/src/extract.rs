//! What is kept of one run once its recording is dropped: the numbers its claims need, the lines its figures
//! draw, and the totals its summary shows. Small whatever the length of the run, and serialisable.

use crate::fairness::Fairness;
use crate::figure::Drawn;
use crate::metric::{self, Messages, PS};
use quell_record::claim::{Claim, FairShare, FigureSpec, Measure, Reduce, Window};
use quell_record::{EntityClass, EntityId, EntityKind, FlowTotals, Quantity, Recording};
use serde::{Deserialize, Serialize};

/// One run, reduced to what the report needs of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extract {
    /// The configuration it ran.
    pub configuration: String,
    /// Its seed.
    pub seed: u64,
    /// For each claim what it measured here; `None` where the claim does not concern the configuration.
    pub claims: Vec<Option<Taken>>,
    /// For each figure what it draws of this run; `None` where the figure leaves the configuration out.
    pub figures: Vec<Option<Drawn>>,
    /// How far it is from the allocation that the scenario calls fair, where it does.
    #[serde(default)]
    pub fairness: Option<Fairness>,
    /// The run in numbers.
    pub totals: Totals,
    /// The flows that carried most, at most [`Extract::MOST_ROWS`] of them.
    pub flows: Vec<FlowRow>,
    /// The ports that carried most and the buffers that held most, likewise.
    pub ports: Vec<PortRow>,
}

/// The values of one claim in one run, before any judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The names of the entities it was taken of.
    pub entities: Vec<String>,
    /// The windows, as the claim lists them.
    pub windows: Vec<Window>,
    /// `values[w][e]`: entity `e` in window `w`, or why there is no such number.
    pub values: Vec<Vec<Result<f64, String>>>,
    /// Why nothing could be taken at all, if so: the selector chose nothing.
    pub problem: Option<String>,
}

/// A run in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Simulated seconds.
    pub seconds: f64,
    /// Octets delivered by all flows.
    pub delivered_bytes: f64,
    /// Frames delivered.
    pub delivered_frames: f64,
    /// Frames dropped anywhere.
    pub lost_frames: f64,
    /// Frames delivered out of order.
    pub reordered_frames: f64,
    /// Notifications that reached a source.
    pub cnms: f64,
    /// Seconds that ports were held paused, summed over ports.
    pub paused_seconds: f64,
    /// The most that any port of a switch held, in octets.
    pub peak_queue_bytes: f64,
    /// Mean seconds from adapter to receiver; zero if nothing was delivered.
    pub latency_seconds: f64,
}

/// One flow in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Its name.
    pub name: String,
    /// Bits per second put into the adapter, over the whole run.
    pub offered_bps: f64,
    /// Bits per second delivered, over the whole run.
    pub delivered_bps: f64,
    /// Frames lost.
    pub lost_frames: u64,
    /// Notifications received.
    pub cnms: u64,
    /// Mean seconds from adapter to receiver.
    pub latency_seconds: f64,
    /// The longest such time.
    pub latency_max_seconds: f64,
}

/// One port or buffer in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortRow {
    /// Its name.
    pub name: String,
    /// Whether it is a transmitting port; else an input or receive buffer.
    pub transmits: bool,
    /// Bits per second transmitted, over the whole run.
    pub carried_bps: f64,
    /// Mean octets held.
    pub queue_bytes: f64,
    /// Most octets held.
    pub queue_peak_bytes: f64,
    /// Ports: seconds held by the peer. Buffers: seconds the peer was held.
    pub paused_seconds: f64,
    /// Notifications sent.
    pub cnms: f64,
    /// Frames dropped.
    pub dropped_frames: f64,
}

impl Extract {
    /// How many flows, and how many ports and buffers, a summary keeps.
    pub const MOST_ROWS: usize = 100;

    /// Takes from a recording all that judging and drawing will ask of it.
    pub fn take(
        recording: &Recording,
        configuration: &str,
        seed: u64,
        claims: &[Claim],
        figures: &[FigureSpec],
    ) -> Extract {
        let concerns = |claim: &Claim| {
            claim.configurations.iter().any(|name| name == configuration)
                || claim.measure.relative_to.as_deref() == Some(configuration)
        };
        let draws = |spec: &FigureSpec| spec.configurations.iter().any(|name| name == configuration);
        Extract {
            configuration: configuration.to_owned(),
            seed,
            claims: claims.iter().map(|it| concerns(it).then(|| Taken::of(recording, it))).collect(),
            figures: figures
                .iter()
                .map(|it| draws(it).then(|| Drawn::take(recording, it, configuration, claims)))
                .collect(),
            fairness: None,
            totals: Totals::of(recording),
            flows: flow_rows(recording),
            ports: port_rows(recording),
        }
    }
}

impl Extract {
    /// Compares the run with what its scenario calls fair as well.
    pub fn with_fairness(self, recording: &Recording, fair: &[FairShare]) -> Extract {
        Extract { fairness: Fairness::take(recording, &self.configuration, fair), ..self }
    }
}

impl Taken {
    fn of(recording: &Recording, claim: &Claim) -> Taken {
        let measure = &claim.measure;
        let classes = measure.metric.classes();
        let (entities, problem) = match measure.of.check(&recording.catalog, classes) {
            Ok(entities) => (entities, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let messages = measure.metric.of_messages().map(|_| Messages::of(recording));
        let take = |entity, window| {
            let value = match &messages {
                Some(messages) => messages.measure(&measure.metric, entity),
                None => metric::measure(recording, &measure.metric, entity, window),
            };
            value.map_err(|why| why.to_string())
        };
        if messages.is_some() && is_one_of_one(measure.reduce) && problem.is_none() {
            return Taken::of_many(recording, measure, &entities, &take);
        }
        let others = measure.against.as_ref().map(|it| it.check(&recording.catalog, classes));
        let over_others = |value: f64, window| -> Result<f64, String> {
            let others = match &others {
                None => return Ok(value),
                Some(Ok(others)) => others,
                Some(Err(error)) => return Err(error.to_string()),
            };
            let values: Vec<f64> = others.iter().map(|&it| take(it, window)).collect::<Result<_, _>>()?;
            match metric::stats::mean(&values) {
                Some(mean) if mean != 0.0 => Ok(value / mean),
                _ => Err("what it is compared with is zero".to_owned()),
            }
        };
        let take_in = |window: Window| {
            let value = |&entity: &EntityId| take(entity, window).and_then(|it| over_others(it, window));
            let concerned = entities
                .iter()
                .filter(|it| measure.metric.concerns(&recording.catalog.get(**it).kind, window));
            concerned.map(value).collect()
        };
        Taken {
            values: measure.over.iter().map(|&window| take_in(window)).collect(),
            entities: entities.iter().map(|&id| recording.catalog.get(id).name.clone()).collect(),
            windows: measure.over.clone(),
            problem,
        }
    }
}

impl Taken {
    /// Thousands of flows as the one number that they come to in each window.
    fn of_many(
        recording: &Recording,
        measure: &Measure,
        entities: &[EntityId],
        take: &dyn Fn(EntityId, Window) -> Result<f64, String>,
    ) -> Taken {
        let mut most = 0;
        let values = measure.over.iter().map(|&window| {
            let concerned = entities
                .iter()
                .filter(|it| measure.metric.concerns(&recording.catalog.get(**it).kind, window));
            let values: Result<Vec<f64>, String> = concerned.map(|&it| take(it, window)).collect();
            let reduced = values.and_then(|values| {
                most = most.max(values.len());
                metric::reduce(&values, measure.reduce).map_err(|why| why.to_string())
            });
            vec![reduced.map(|it| it[0])]
        });
        let values = values.collect();
        Taken {
            entities: vec![format!("{most} flows")],
            windows: measure.over.clone(),
            values,
            problem: None,
        }
    }
}

/// Whether a reduced value reduces to itself.
fn is_one_of_one(how: Reduce) -> bool {
    matches!(how, Reduce::Sum | Reduce::Mean | Reduce::Min | Reduce::Max | Reduce::Quantile(_))
}

impl Totals {
    fn of(recording: &Recording) -> Totals {
        let flows = recording.flows.iter().map(|(_, totals)| totals);
        let total = |of: fn(&FlowTotals) -> u64| flows.clone().map(|it| of(it) as f64).sum::<f64>();
        let frames = total(|it| it.delivered_frames);
        let latency = total(|it| it.latency_sum_ps) / PS;
        let mut totals = Totals {
            seconds: recording.end().ps() as f64 / PS,
            delivered_bytes: total(|it| it.delivered_bytes),
            delivered_frames: frames,
            lost_frames: total(|it| it.lost_frames),
            reordered_frames: total(|it| it.reordered_frames),
            cnms: total(|it| it.cnms_received),
            latency_seconds: if frames > 0.0 { latency / frames } else { 0.0 },
            ..Totals::default()
        };
        for (id, entity) in recording.catalog.iter() {
            if let EntityKind::Port { of_switch, .. } = entity.kind {
                totals.paused_seconds += sum(recording, id, Quantity::PausedPs) / PS;
                if of_switch {
                    let peak = peak(recording, id, Quantity::QueuePeakBytes);
                    totals.peak_queue_bytes = totals.peak_queue_bytes.max(peak);
                }
            }
        }
        totals
    }
}

fn flow_rows(recording: &Recording) -> Vec<FlowRow> {
    let seconds = recording.end().ps() as f64 / PS;
    let rate = |octets: u64| if seconds > 0.0 { octets as f64 * 8.0 / seconds } else { 0.0 };
    let row = |(id, totals): &(EntityId, FlowTotals)| FlowRow {
        name: recording.catalog.get(*id).name.clone(),
        offered_bps: rate(totals.offered_bytes),
        delivered_bps: rate(totals.delivered_bytes),
        lost_frames: totals.lost_frames,
        cnms: totals.cnms_received,
        latency_seconds: totals.latency_sum_ps as f64 / PS / totals.delivered_frames.max(1) as f64,
        latency_max_seconds: totals.latency_max_ps as f64 / PS,
    };
    let rows = recording.flows.iter().map(row).collect();
    most(rows, |row: &FlowRow| row.offered_bps.max(row.delivered_bps))
}

fn port_rows(recording: &Recording) -> Vec<PortRow> {
    let seconds = recording.end().ps() as f64 / PS;
    let mut rows = Vec::new();
    for (id, entity) in recording.catalog.iter() {
        let class = entity.class();
        if class == EntityClass::Flow {
            continue;
        }
        let transmits = class == EntityClass::Port;
        let held = if transmits { Quantity::PausedPs } else { Quantity::StoppedPs };
        let carried = sum(recording, id, Quantity::TxBytes) * 8.0;
        let row = PortRow {
            name: entity.name.clone(),
            transmits,
            carried_bps: if seconds > 0.0 { carried / seconds } else { 0.0 },
            queue_bytes: mean(recording, id, Quantity::QueueMeanBytes),
            queue_peak_bytes: peak(recording, id, Quantity::QueuePeakBytes),
            paused_seconds: sum(recording, id, held) / PS,
            cnms: sum(recording, id, Quantity::CnmsSent),
            dropped_frames: sum(recording, id, Quantity::DroppedFrames),
        };
        if row.carried_bps > 0.0 || row.queue_peak_bytes > 0.0 {
            rows.push(row);
        }
    }
    most(rows, |row: &PortRow| row.queue_bytes)
}

/// The rows with the greatest `weight`, in their first order.
fn most<R>(rows: Vec<R>, weight: impl Fn(&R) -> f64) -> Vec<R> {
    if rows.len() <= Extract::MOST_ROWS {
        return rows;
    }
    let mut weights: Vec<f64> = rows.iter().map(&weight).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let least = weights[Extract::MOST_ROWS - 1];
    rows.into_iter().filter(|row| weight(row) >= least).take(Extract::MOST_ROWS).collect()
}

fn sum(recording: &Recording, id: EntityId, quantity: Quantity) -> f64 {
    recording.series(id, quantity).map_or(0.0, |values| values.iter().map(|&value| value as f64).sum())
}

fn peak(recording: &Recording, id: EntityId, quantity: Quantity) -> f64 {
    recording.series(id, quantity).and_then(|values| values.iter().max()).map_or(0.0, |&value| value as f64)
}

fn mean(recording: &Recording, id: EntityId, quantity: Quantity) -> f64 {
    let values = recording.series(id, quantity).unwrap_or_default();
    let levels =
        values.iter().enumerate().map(|(at, &value)| (value as f64, recording.interval(at).ps() as f64));
    metric::stats::weighted_mean(levels).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::Instant;
    use quell_record::claim::{Across, Measure, Metric, Reduce};
    use quell_record::{Catalog, Entity, Memory, Selector, Sink};

    fn taken(delivered: [i64; 3], against: &str) -> Taken {
        let flow = |name: &str| Entity {
            name: name.into(),
            kind: EntityKind::Flow {
                from: "a".into(),
                to: "b".into(),
                priority: 0,
                demand_bps: None,
                frame_bytes: 1500,
                message: None,
            },
        };
        let entities = ["f1", "f2", "f3"].map(flow).to_vec();
        let mut memory = Memory::new(Catalog { entities, overhead_bytes: 0 });
        memory.begin_samples(Instant::from_ps(1000));
        for (flow, octets) in (0..).zip(delivered) {
            memory.sample(EntityId(flow), Quantity::DeliveredBytes, octets);
        }
        let claim = Claim {
            text: String::new(),
            configurations: vec!["one".into()],
            measure: Measure {
                metric: Metric::Throughput,
                reduce: Reduce::Each,
                of: Selector("f1".into()),
                over: vec![Window { from_ps: 0, to_ps: 1000 }],
                relative_to: None,
                against: Some(Selector(against.into())),
            },
            across: Across::Every,
            bound: None,
            line: 1,
        };
        Taken::of(&memory.finish(true), &claim)
    }

    #[test]
    fn a_measure_against_others_is_divided_by_their_mean() {
        assert_eq!(taken([600, 100, 300], "f2").values, [[Ok(6.0)]]);
        assert_eq!(taken([600, 100, 300], "f2,f3").values, [[Ok(3.0)]]);
        let zero = Err("what it is compared with is zero".to_owned());
        assert_eq!(taken([600, 0, 300], "f2").values, [[zero]]);
    }
}
