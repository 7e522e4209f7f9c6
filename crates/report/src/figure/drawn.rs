//! What one run contributes to a figure: series cut down to a thousand points with their peaks kept.

use super::pair;
use super::tree::{self, Twig};
use crate::metric::{Messages, PS, bursts, measure, raw_factor, stats};
use crate::unit::Unit;
use quell_record::claim::{
    Bound, Claim, ConvergingSeries, FigureKind, FigureSpec, Metric, Reduce, SIZE_CLASSES, SLOWDOWN_QUANTILES,
    SizeClass, Window,
};
use quell_record::{EntityClass, EntityId, EventKind, Quantity, Recording};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// More intervals than this no figure shows.
const MOST_POINTS: usize = 1000;
/// Notifications come one by one; only over longer intervals do they make a rate.
const MOST_COUNTS: usize = 100;
/// More lines than this a panel does not tell apart.
const MOST_LINES: usize = 10;
/// More bars than this a group does not tell apart.
const MOST_BARS: usize = 12;
/// More rows than this a timeline does not show.
const MOST_ROWS: usize = 24;

/// One run's part of one figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Where the first interval begins, in seconds.
    pub from: f64,
    /// Where each interval ends, in seconds.
    pub times: Vec<f64>,
    /// The lines, rows or bars.
    pub lines: Vec<DrawnLine>,
    /// What was put together or left out, as a sentence; empty if nothing was.
    pub note: String,
    /// Targets of claims about the same thing: label and value.
    pub references: Vec<(String, f64)>,
    /// Seconds at which a service rate or a link changed.
    pub instants: Vec<f64>,
    /// The ports of a saturation tree; such a figure has no lines.
    #[serde(default)]
    pub twigs: Vec<Twig>,
    /// The dots of a scatter plot; such a figure has no lines.
    #[serde(default)]
    pub clouds: Vec<DrawnCloud>,
}

/// Dots of one sort of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnCloud {
    /// The entity, or what the dots stand for.
    pub name: String,
    /// Across and up.
    pub points: Vec<(f64, f64)>,
}

/// One line of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnLine {
    /// The entity, or what the line stands for.
    pub name: String,
    /// Its mean in each interval.
    pub values: Vec<f64>,
    /// Its least and greatest sample in each interval, where an interval holds several.
    pub range: Option<(Vec<f64>, Vec<f64>)>,
}

impl Drawn {
    pub(crate) fn take(
        recording: &Recording,
        spec: &FigureSpec,
        configuration: &str,
        claims: &[Claim],
    ) -> Drawn {
        let window = spec.over.unwrap_or(Window { from_ps: 0, to_ps: recording.end().ps() });
        let entities = spec.of.resolve(&recording.catalog, spec.kind.classes());
        if let (FigureKind::CrossCorrelation, Some(pairing)) = (spec.kind, &spec.pairing) {
            let (lines, from, times) = pair::lags(recording, pairing, &entities, window);
            let (lines, note) = arrange(spec, configuration, lines);
            return Drawn { from, times, lines, note, ..Drawn::default() };
        }
        if spec.kind == FigureKind::Scatter {
            let (clouds, note) = pair::clouds(recording, spec, configuration, &entities, window);
            return Drawn { clouds, note, ..Drawn::default() };
        }
        let samples = recording.covering(window);
        let buckets = match spec.kind {
            kind if kind.has_bars() && samples.is_empty() => Vec::new(),
            kind if kind.has_bars() => vec![samples.clone()],
            FigureKind::Cnms => buckets(recording, samples.clone(), MOST_COUNTS),
            _ => buckets(recording, samples.clone(), MOST_POINTS),
        };
        let several = buckets.iter().any(|bucket| bucket.len() > 1)
            && !matches!(spec.kind, FigureKind::Shares | FigureKind::Cnms | FigureKind::Pause);
        let (lines, twigs) = match spec.kind {
            FigureKind::Tree => (Vec::new(), tree::take(recording, &entities, &buckets)),
            FigureKind::Slowdown => (slowdowns(recording, &entities, window), Vec::new()),
            FigureKind::Bursts => (burst_lengths(recording, &entities, window), Vec::new()),
            FigureKind::PauseCount => {
                (by_priority(recording, &Metric::PauseCount, &entities, window), Vec::new())
            }
            FigureKind::PauseTime => {
                (by_priority(recording, &Metric::PauseTime, &entities, window), Vec::new())
            }
            kind => {
                let line = |&entity| line(recording, kind, entity, &buckets, several);
                (entities.iter().filter_map(line).collect(), Vec::new())
            }
        };
        let (lines, note) = arrange(spec, configuration, lines);
        let seconds = |ps: u64| ps as f64 / PS;
        Drawn {
            from: seconds(recording.span(samples).0.ps()),
            times: buckets.iter().map(|it| seconds(recording.span(it.clone()).1.ps())).collect(),
            lines,
            note,
            references: references(recording, spec, configuration, claims, &entities),
            instants: instants(recording, window),
            twigs,
            clouds: Vec::new(),
        }
    }
}

/// Runs of samples of about equal length, at most `most`. A short sample, taken because a claim's
/// window ends there, joins its neighbour: by itself it would show a rate that never was.
fn buckets(recording: &Recording, samples: Range<usize>, most: usize) -> Vec<Range<usize>> {
    let lengths: Vec<f64> = samples.clone().map(|it| recording.interval(it).ps() as f64).collect();
    let total: f64 = lengths.iter().sum();
    let typical = stats::median(&lengths).unwrap_or(0.0);
    let wanted = typical.max(total / most as f64) * (1.0 - 1e-9);
    let mut buckets = Vec::new();
    let (mut first, mut lasted) = (samples.start, 0.0);
    for (sample, length) in samples.clone().zip(lengths) {
        lasted += length;
        if lasted >= wanted {
            buckets.push(first..sample + 1);
            (first, lasted) = (sample + 1, 0.0);
        }
    }
    if first < samples.end {
        match buckets.last_mut() {
            Some(last) if lasted < wanted / 2.0 => last.end = samples.end,
            _ => buckets.push(first..samples.end),
        }
    }
    buckets
}

fn line(
    recording: &Recording,
    kind: FigureKind,
    entity: EntityId,
    buckets: &[Range<usize>],
    several: bool,
) -> Option<DrawnLine> {
    let named = recording.catalog.get(entity);
    let quantity = quantity(kind, named.class())?;
    let series = recording.series(entity, quantity)?;
    // What a sample must be multiplied with, once it is over the picoseconds it stands for.
    let per_ps = match kind {
        FigureKind::Throughput | FigureKind::Shares => Some(8.0 * PS),
        FigureKind::Arrivals => Some(8.0 * PS * raw_factor(&recording.catalog, entity)?),
        FigureKind::Pause => Some(1.0),
        FigureKind::Cnms => Some(PS / 1000.0),
        FigureKind::Queue
        | FigureKind::Limit
        | FigureKind::Tree
        | FigureKind::Slowdown
        | FigureKind::Bursts
        | FigureKind::PauseCount
        | FigureKind::PauseTime
        | FigureKind::Scatter
        | FigureKind::CrossCorrelation => None,
    };
    let over = |samples: Range<usize>| {
        let spans = samples.clone().map(|it| recording.interval(it).ps() as f64);
        match per_ps {
            Some(factor) => {
                let time: f64 = spans.sum();
                let sum: f64 = series[samples].iter().map(|&value| value as f64).sum();
                if time > 0.0 { sum * factor / time } else { 0.0 }
            }
            None => stats::weighted_mean(series[samples].iter().map(|&value| value as f64).zip(spans))
                .unwrap_or(0.0),
        }
    };
    let values: Vec<f64> = buckets.iter().map(|bucket| over(bucket.clone())).collect();
    let range = several.then(|| {
        let range_of = |(bucket, mean): (&Range<usize>, &f64)| {
            let fair = recording.span(bucket.clone());
            let share = (fair.1.ps() - fair.0.ps()) / (2 * bucket.len() as u64);
            let whole = bucket.clone().filter(|&it| recording.interval(it).ps() >= share);
            whole.fold((*mean, *mean), |(low, high), it| {
                let value = over(it..it + 1);
                (low.min(value), high.max(value))
            })
        };
        buckets.iter().zip(&values).map(range_of).unzip()
    });
    Some(DrawnLine { name: named.name.clone(), values, range })
}

/// The series that a figure draws; none if it is no series.
fn quantity(kind: FigureKind, class: EntityClass) -> Option<Quantity> {
    Some(match (kind, class) {
        (FigureKind::Queue | FigureKind::Tree, _) => Quantity::QueueMeanBytes,
        (FigureKind::Throughput | FigureKind::Shares, EntityClass::Flow) => Quantity::DeliveredBytes,
        (FigureKind::Throughput | FigureKind::Shares, _) => Quantity::TxBytes,
        (FigureKind::Arrivals, _) => Quantity::SentBytes,
        (FigureKind::Limit, _) => Quantity::LimitBps,
        (FigureKind::Pause, EntityClass::Input) => Quantity::StoppedPs,
        (FigureKind::Pause, _) => Quantity::PausedPs,
        (FigureKind::Cnms, EntityClass::Flow) => Quantity::CnmsReceived,
        (FigureKind::Cnms, _) => Quantity::CnmsSent,
        (FigureKind::Slowdown | FigureKind::Bursts, _) => return None,
        (FigureKind::PauseCount | FigureKind::PauseTime, _) => return None,
        (FigureKind::Scatter | FigureKind::CrossCorrelation, _) => return None,
    })
}

/// The median and the 99th percentile of the slowdown of the messages of each class of sizes.
fn slowdowns(recording: &Recording, flows: &[EntityId], window: Window) -> Vec<DrawnLine> {
    let messages = Messages::of(recording);
    let mut lines = Vec::new();
    let mut least = 0;
    for (name, below) in SIZE_CLASSES {
        let metric = Metric::Slowdown(SizeClass { least, below });
        least = below;
        let concerned = flows.iter().filter(|it| metric.concerns(&recording.catalog.get(**it).kind, window));
        let slowdowns: Vec<f64> = concerned.filter_map(|&it| messages.slowdown(it).ok()).collect();
        for (quantile, q, _) in SLOWDOWN_QUANTILES {
            if let Some(value) = stats::quantile(&slowdowns, q).filter(|it| it.is_finite()) {
                lines.push(DrawnLine {
                    name: format!("{name}, {quantile}"),
                    values: vec![value],
                    range: None,
                });
            }
        }
    }
    lines
}

/// Classes of bursts, by the most frames of each.
const BURSTS: [(&str, i64); 6] = [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5-8", 8), ("> 8", i64::MAX)];

/// The share of all frames that went in bursts of each class.
fn burst_lengths(recording: &Recording, flows: &[EntityId], window: Window) -> Vec<DrawnLine> {
    let frames: Vec<i64> = flows.iter().flat_map(|&flow| bursts(recording, flow, window)).collect();
    let all: i64 = frames.iter().sum();
    let mut above = 0;
    let mut lines = Vec::new();
    for (name, most) in BURSTS {
        let within: i64 = frames.iter().filter(|it| (above + 1..=most).contains(*it)).sum();
        above = most;
        let values = if all > 0 { vec![within as f64 / all as f64] } else { Vec::new() };
        lines.push(DrawnLine { name: name.to_owned(), values, range: None });
    }
    lines
}

/// The sum of a metric over the inputs of each priority; of all, where there is but one.
fn by_priority(
    recording: &Recording,
    metric: &Metric,
    inputs: &[EntityId],
    window: Window,
) -> Vec<DrawnLine> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for &input in inputs {
        let name = recording.catalog.get(input).name.as_str();
        let priority = name.rsplit_once('@').map_or("all", |(_, priority)| priority);
        *sums.entry(priority).or_default() += measure(recording, metric, input, window).unwrap_or(0.0);
    }
    let named = |priority: &str| match priority {
        "all" => priority.to_owned(),
        _ => format!("priority {priority}"),
    };
    let line = |(priority, sum)| DrawnLine { name: named(priority), values: vec![sum], range: None };
    sums.into_iter().map(line).collect()
}

/// Puts together what would be too much to tell apart.
fn arrange(spec: &FigureSpec, configuration: &str, lines: Vec<DrawnLine>) -> (Vec<DrawnLine>, String) {
    let count = lines.len();
    let held = |line: &DrawnLine| line.values.iter().sum::<f64>();
    match spec.kind {
        FigureKind::Pause if lines.iter().filter(|line| held(line) > 0.0).count() > MOST_ROWS => {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by(|&a, &b| held(&lines[b]).total_cmp(&held(&lines[a])));
            let mut kept = order[..MOST_ROWS].to_vec();
            kept.sort_unstable();
            let lines = kept.into_iter().map(|index| lines[index].clone()).collect();
            (lines, format!("Of {count} rows the {MOST_ROWS} held longest are shown."))
        }
        FigureKind::Pause => {
            let lines: Vec<DrawnLine> = lines.into_iter().filter(|line| held(line) > 0.0).collect();
            let left_out = "Those that were never held are left out.".to_owned();
            (lines, if count > 0 { left_out } else { String::new() })
        }
        FigureKind::Shares if count > MOST_BARS => {
            let values: Vec<f64> = lines.iter().filter_map(|line| line.values.first().copied()).collect();
            let bar = |name: &str, q: f64| DrawnLine {
                name: name.to_owned(),
                values: stats::quantile(&values, q).into_iter().collect(),
                range: None,
            };
            let bars = vec![bar("least", 0.0), bar("median", 0.5), bar("greatest", 1.0)];
            (bars, format!("Bars: the least, the median and the greatest of {count}."))
        }
        FigureKind::Slowdown => {
            let note =
                "Flows by their payload. A quantile that lies with flows that never ended is not drawn.";
            (lines, note.to_owned())
        }
        FigureKind::Bursts => {
            let note = "Of the frames sent under a limit, the share in bursts of so many: frames each of which but the \
                first left sooner after the one before it than the limit alone allows.";
            (lines, note.to_owned())
        }
        FigureKind::PauseCount | FigureKind::PauseTime => {
            (lines, if count > 0 { "All inputs together.".to_owned() } else { String::new() })
        }
        FigureKind::Shares | FigureKind::Tree => (lines, String::new()),
        _ if spec.overlay && count > 0 => {
            let (line, how) = match spec.kind {
                FigureKind::Throughput | FigureKind::Arrivals | FigureKind::Cnms => {
                    (combined(&lines, |all| all.iter().sum()), "sum")
                }
                _ => (combined(&lines, |all| stats::mean(all).unwrap_or(0.0)), "mean"),
            };
            let note = if count > 1 { format!("Each line is the {how} of {count}.") } else { String::new() };
            (vec![DrawnLine { name: configuration.to_owned(), ..line }], note)
        }
        _ if count > MOST_LINES => {
            let middle = combined(&lines, |all| stats::median(all).unwrap_or(0.0));
            let low = combined(&lines, |all| stats::range(all).map_or(0.0, |(low, _)| low)).values;
            let high = combined(&lines, |all| stats::range(all).map_or(0.0, |(_, high)| high)).values;
            let name = format!("median of {count}");
            let line = DrawnLine { name, range: Some((low, high)), ..middle };
            (
                vec![line],
                format!(
                    "The line is the median of {count}, the band reaches from the least to the greatest."
                ),
            )
        }
        _ => (lines, String::new()),
    }
}

/// One line of many, interval by interval.
fn combined(lines: &[DrawnLine], how: impl Fn(&[f64]) -> f64) -> DrawnLine {
    let points = lines.first().map_or(0, |line| line.values.len());
    let at = |index: usize| lines.iter().map(|line| line.values[index]).collect::<Vec<f64>>();
    DrawnLine { name: String::new(), values: (0..points).map(|index| how(&at(index))).collect(), range: None }
}

/// Targets that claims state for what the figure shows: where the line ought to lie.
fn references(
    recording: &Recording,
    spec: &FigureSpec,
    configuration: &str,
    claims: &[Claim],
    shown: &[EntityId],
) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for claim in claims.iter().filter(|it| it.configurations.iter().any(|name| name == configuration)) {
        let measure = &claim.measure;
        let near = match claim.bound {
            Some(Bound::Near { target, .. })
                if measure.relative_to.is_none() && measure.against.is_none() =>
            {
                Some(target)
            }
            _ => None,
        };
        let whole = if spec.overlay { Reduce::Sum } else { Reduce::Each };
        let one = shown.len() == 1 || measure.reduce == whole || measure.reduce == Reduce::Mean;
        let target = match (spec.kind, &measure.metric) {
            (FigureKind::Queue, Metric::Queue) => near,
            (FigureKind::Queue, Metric::Settled { target, .. }) => Some(*target),
            (FigureKind::Queue, Metric::Convergence { series: ConvergingSeries::Queue, target, .. }) => {
                Some(*target)
            }
            (FigureKind::Throughput | FigureKind::Shares, Metric::Throughput) if one => near,
            (FigureKind::Arrivals, Metric::ArrivalRate) if one => near,
            (FigureKind::Limit, Metric::Limit) if one => near,
            (FigureKind::Limit, Metric::Convergence { series: ConvergingSeries::Limit, target, .. }) => {
                Some(*target)
            }
            _ => None,
        };
        let concerns_it = || {
            let entities = measure.of.resolve(&recording.catalog, measure.metric.classes());
            entities.iter().any(|entity| shown.contains(entity))
        };
        let unit = if spec.kind == FigureKind::Queue { Unit::Bytes } else { Unit::BitsPerSecond };
        if let Some(target) = target
            && target.is_finite()
            && concerns_it()
        {
            let entry = (format!("wanted: {}", unit.show_stated(target)), target);
            if !found.contains(&entry) && found.len() < 3 {
                found.push(entry);
            }
        }
    }
    found
}

/// When the network itself changed, if that is seldom enough to be worth a line.
fn instants(recording: &Recording, window: Window) -> Vec<f64> {
    let changes = recording.events_in(window).iter();
    let mut times: Vec<f64> = changes
        .filter(|it| matches!(it.kind, EventKind::Service | EventKind::LinkDown | EventKind::LinkUp))
        .map(|it| it.at.ps() as f64 / PS)
        .collect();
    times.dedup();
    if times.len() > 8 { Vec::new() } else { times }
}
