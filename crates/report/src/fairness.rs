//! How far a run is from the allocation its scenario calls fair, and at what cost.

use crate::extract::Extract;
use crate::metric::{self, PS, stats};
use quell_record::claim::{FairShare, Metric, Window};
use quell_record::{EntityClass, EntityId, EntityKind, Quantity, Recording};
use serde::{Deserialize, Serialize};

/// How near to its fair rate every flow must stay to count as converged.
pub const BAND: f64 = 0.2;

/// One run against the stated allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// What each flow got, and ought to get.
    pub flows: Vec<Share>,
    /// The most octets that any port of a switch held on average while they were compared.
    pub queue_bytes: f64,
    /// Seconds until all flows stay within [`BAND`] of their rates; `None` if they never do.
    pub converged_seconds: Option<f64>,
}

/// What one flow got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The flow.
    pub flow: String,
    /// What it ought to get, in bits per second.
    pub fair_bps: f64,
    /// What it got.
    pub measured_bps: f64,
}

impl Share {
    /// How far from it, as a fraction of what it ought to get.
    pub fn distance(&self) -> f64 {
        (self.measured_bps - self.fair_bps).abs() / self.fair_bps
    }
}

impl Fairness {
    /// Compares a run with what is stated for its configuration; `None` if nothing is, or if the run ended
    /// before it could be compared.
    pub fn take(recording: &Recording, configuration: &str, fair: &[FairShare]) -> Option<Fairness> {
        let stated: Vec<&FairShare> =
            fair.iter().filter(|it| it.configurations.iter().any(|name| name == configuration)).collect();
        let mut flows = Vec::new();
        let mut converged = Some(0.0_f64);
        let mut queue_bytes = 0.0_f64;
        for share in &stated {
            queue_bytes = queue_bytes.max(longest_queue(recording, share.over));
            for flow in share.of.resolve(&recording.catalog, &[EntityClass::Flow]) {
                flows.push(Share {
                    flow: recording.catalog.get(flow).name.clone(),
                    fair_bps: share.rate_bps as f64,
                    measured_bps: metric::measure(recording, &Metric::Throughput, flow, share.over).ok()?,
                });
                converged = converged.zip(convergence(recording, flow, share)).map(|(a, b)| a.max(b));
            }
        }
        (!flows.is_empty()).then_some(Fairness { flows, queue_bytes, converged_seconds: converged })
    }

    /// How far the farthest flow is from its rate, as a fraction.
    pub fn farthest(&self) -> f64 {
        self.flows.iter().map(Share::distance).fold(0.0, f64::max)
    }

    /// How far flows are on average.
    pub fn mean(&self) -> f64 {
        self.flows.iter().map(Share::distance).sum::<f64>() / self.flows.len().max(1) as f64
    }
}

fn longest_queue(recording: &Recording, over: Window) -> f64 {
    let of_switch = recording
        .catalog
        .iter()
        .filter(|(_, it)| matches!(it.kind, EntityKind::Port { of_switch, .. } if of_switch));
    let queues = of_switch.filter_map(|(id, _)| metric::measure(recording, &Metric::Queue, id, over).ok());
    queues.fold(0.0, f64::max)
}

/// Seconds from `since` until the throughput, averaged over the samples before an instant that last `span`, was
/// last outside of the band; `None` if it is outside at the end. Before `span` has passed nothing is averaged, so
/// that no flow has converged.
fn convergence(recording: &Recording, flow: EntityId, share: &FairShare) -> Option<f64> {
    let window = Window { from_ps: share.since_ps, to_ps: share.over.to_ps };
    let samples = recording.covering(window);
    let octets = recording.series(flow, Quantity::DeliveredBytes)?;
    let length = |sample: usize| recording.interval(sample).ps();
    // A span longer than the window is the window.
    let span = share.span_ps.min(window.to_ps - window.from_ps);
    let fair = share.rate_bps as f64;
    let (mut first, mut carried, mut lasted, mut elapsed) = (samples.start, 0.0, 0_u64, 0_u64);
    let mut settled: Option<u64> = None;
    for sample in samples.clone() {
        carried += octets[sample] as f64;
        lasted += length(sample);
        elapsed += length(sample);
        while lasted - length(first) >= span && first < sample {
            carried -= octets[first] as f64;
            lasted -= length(first);
            first += 1;
        }
        let rate = carried * 8.0 * PS / lasted as f64;
        let is_near = lasted >= span && (rate - fair).abs() <= BAND * fair;
        settled = if is_near { settled.or(Some(elapsed)) } else { None };
    }
    settled.map(|it| it as f64 / PS)
}

/// One configuration against the stated allocation: medians over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FairnessRow {
    /// The configuration.
    pub configuration: String,
    /// Its value on the axis `scheme`; its whole name if it has no such axis.
    pub scheme: String,
    /// How many runs it rests on.
    pub runs: usize,
    /// How far the farthest flow is from its rate, as a fraction.
    pub farthest: f64,
    /// How far flows are on average.
    pub mean: f64,
    /// The least and the greatest of that over the runs.
    pub range: (f64, f64),
    /// The longest mean queue of a switch port, in octets.
    pub queue_bytes: f64,
    /// Seconds until all flows stay near their rates; `None` where half of the runs or more never do.
    pub converged_seconds: Option<f64>,
    /// In how many runs they do.
    pub converged_runs: usize,
    /// What each flow got.
    pub flows: Vec<Share>,
}

impl FairnessRow {
    /// Sums up the runs of one configuration; `None` if none of them was compared.
    pub fn of(name: &str, axes: &[(String, String)], extracts: &[Extract]) -> Option<FairnessRow> {
        let runs: Vec<&Fairness> = extracts
            .iter()
            .filter(|it| it.configuration == name)
            .filter_map(|it| it.fairness.as_ref())
            .collect();
        let first = runs.first()?;
        let middle = |of: &dyn Fn(&Fairness) -> f64| {
            stats::median(&runs.iter().map(|run| of(run)).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let means: Vec<f64> = runs.iter().map(|run| run.mean()).collect();
        let mut times: Vec<f64> = runs.iter().filter_map(|run| run.converged_seconds).collect();
        times.sort_by(f64::total_cmp);
        let converged_runs = times.len();
        // The median with `never` as the longest of all times.
        let converged_seconds = (2 * converged_runs > runs.len()).then(|| times[(runs.len() - 1) / 2]);
        let share = |index: usize, share: &Share| Share {
            measured_bps: middle(&|run| run.flows.get(index).map_or(0.0, |it| it.measured_bps)),
            ..share.clone()
        };
        let scheme = axes.iter().find(|(axis, _)| axis == "scheme").map_or(name, |(_, value)| value);
        Some(FairnessRow {
            configuration: name.to_owned(),
            scheme: scheme.to_owned(),
            runs: runs.len(),
            farthest: middle(&Fairness::farthest),
            mean: middle(&Fairness::mean),
            range: stats::range(&means).unwrap_or_default(),
            queue_bytes: middle(&|run| run.queue_bytes),
            converged_seconds,
            converged_runs,
            flows: first.flows.iter().enumerate().map(|(index, it)| share(index, it)).collect(),
        })
    }

    /// The time to converge as people read it.
    pub fn converged_in_words(&self) -> String {
        match (self.converged_seconds, self.converged_runs) {
            (Some(seconds), all) if all == self.runs => crate::Unit::Seconds.show(seconds),
            (Some(seconds), some) => {
                format!("{} ({some} of {} runs)", crate::Unit::Seconds.show(seconds), self.runs)
            }
            (None, 0) => "never".to_owned(),
            (None, some) => format!("never ({some} of {} runs do)", self.runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::Instant;
    use quell_record::{Catalog, Entity, Memory, Selector, Sink};

    const MS: u64 = 1_000_000_000;

    /// Two flows and a port; each millisecond the flows are delivered so many Gb/s, and the port holds so much.
    fn recording(samples: &[(f64, f64, i64)]) -> Recording {
        let flow = |name: &str| Entity {
            name: name.into(),
            kind: EntityKind::Flow {
                from: "a".into(),
                to: "c".into(),
                priority: 0,
                demand_bps: None,
                frame_bytes: 1500,
                message: None,
            },
        };
        let port = Entity {
            name: "s->c".into(),
            kind: EntityKind::Port {
                node: "s".into(),
                peer: "c".into(),
                rate_bps: 10_000_000_000,
                of_switch: true,
            },
        };
        let catalog = Catalog { entities: vec![port, flow("a->c"), flow("b->c")], overhead_bytes: 0 };
        let mut memory = Memory::new(catalog);
        for (index, &(a, b, queue)) in samples.iter().enumerate() {
            memory.begin_samples(Instant::from_ps((index as u64 + 1) * MS));
            memory.sample(EntityId(0), Quantity::QueueMeanBytes, queue);
            memory.sample(EntityId(1), Quantity::DeliveredBytes, (a * 125_000.0) as i64);
            memory.sample(EntityId(2), Quantity::DeliveredBytes, (b * 125_000.0) as i64);
        }
        memory.finish(true)
    }

    fn fair(flow: &str, gbps: u64, over: (u64, u64), since: u64, span: u64) -> FairShare {
        FairShare {
            of: Selector(flow.into()),
            rate_bps: gbps * 1_000_000_000,
            over: Window { from_ps: over.0 * MS, to_ps: over.1 * MS },
            since_ps: since * MS,
            span_ps: span * MS,
            configurations: vec!["only".into()],
        }
    }

    #[test]
    fn distances_are_shares_of_what_a_flow_ought_to_get() {
        let run = recording(&[(9.0, 1.0, 0), (9.0, 1.0, 0), (3.0, 6.0, 40_000), (3.0, 6.0, 20_000)]);
        let stated = [fair("a->c", 2, (2, 4), 0, 1), fair("b->c", 8, (2, 4), 0, 1)];
        let found = Fairness::take(&run, "only", &stated).unwrap();
        assert_eq!(found.flows.iter().map(Share::distance).collect::<Vec<_>>(), [0.5, 0.25]);
        assert_eq!((found.farthest(), found.mean(), found.queue_bytes), (0.5, 0.375, 30_000.0));
        assert_eq!(found.converged_seconds, None);
        assert_eq!(Fairness::take(&run, "other", &stated), None, "it is stated for one configuration");
        let beyond = [fair("a->c", 2, (2, 5), 0, 1)];
        assert_eq!(Fairness::take(&run, "only", &beyond), None, "the run ended before it could be compared");
    }

    #[test]
    fn all_flows_must_stay_near_their_rates_to_have_converged() {
        let near = |since, span| {
            let run = recording(&[
                (5.0, 5.0, 0),
                (9.0, 5.0, 0),
                (5.0, 5.0, 0),
                (5.9, 2.0, 0),
                (5.0, 5.0, 0),
                (4.1, 5.9, 0),
            ]);
            let stated = [fair("*->c", 5, (4, 6), since, span)];
            Fairness::take(&run, "only", &stated).unwrap().converged_seconds
        };
        assert_eq!(near(0, 1), Some(0.005), "the second flow was last away in the fourth millisecond");
        assert_eq!(near(4, 1), Some(0.001));
        assert_eq!(
            near(0, 4),
            Some(0.006),
            "averaged over four, the burst of the first flow weighs until the fifth"
        );
        assert_eq!(near(5, 10), Some(0.001), "a span longer than what is looked at is cut to it");
    }

    #[test]
    fn a_time_to_converge_is_a_median_in_which_never_is_longest() {
        let run = |seed, converged_seconds| Extract {
            configuration: "q/x".into(),
            seed,
            claims: Vec::new(),
            figures: Vec::new(),
            fairness: Some(Fairness {
                flows: vec![Share { flow: "f".into(), fair_bps: 2e9, measured_bps: 1e9 }],
                queue_bytes: 1000.0,
                converged_seconds,
            }),
            totals: crate::extract::Totals::default(),
            flows: Vec::new(),
            ports: Vec::new(),
        };
        let axes = [("scheme".to_owned(), "q".to_owned()), ("other".to_owned(), "x".to_owned())];
        let row = |times: &[Option<f64>]| {
            let runs: Vec<Extract> = (1..).zip(times).map(|(seed, time)| run(seed, *time)).collect();
            FairnessRow::of("q/x", &axes, &runs).unwrap()
        };
        let most = row(&[Some(0.3), None, Some(0.1)]);
        assert_eq!((most.converged_seconds, most.converged_runs), (Some(0.3), 2));
        assert_eq!(most.converged_in_words(), "300 ms (2 of 3 runs)");
        assert_eq!(row(&[Some(0.3), None]).converged_in_words(), "never (1 of 2 runs do)");
        assert_eq!(row(&[None]).converged_in_words(), "never");
        assert_eq!((most.scheme.as_str(), most.mean, most.range), ("q", 0.5, (0.5, 0.5)));
        assert_eq!(FairnessRow::of("other", &[], &[run(1, None)]), None);
    }
}
