//! Claims: what a scenario says must come out, as data.
//!
//! A claim names a metric over a window, reduces it over entities, judges a statistic of it over repeated
//! runs, and compares with a bound. Scenarios write claims, metrics judge them; this is what they share.

use crate::select::Selector;
use crate::{EntityClass, EntityKind};
use serde::{Deserialize, Serialize};

/// One `[[expect]]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim in words, as the table shows it.
    pub text: String,
    /// Names of the configurations it is judged on, each for itself; never empty.
    pub configurations: Vec<String>,
    /// What is measured.
    pub measure: Measure,
    /// The statistic over repeats.
    pub across: Across,
    /// What it must satisfy. `None`: the value is only reported.
    pub bound: Option<Bound>,
    /// Where the file states it.
    pub line: u32,
}

/// A number taken from one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The quantity.
    pub metric: Metric,
    /// How several entities become one number.
    pub reduce: Reduce,
    /// Which entities, by name; resolved against the catalogue of each run.
    pub of: Selector,
    /// Windows of time; the measure is taken in each, and the worst one counts against the bound
    /// (for a reported value: the mean of them). Times in picoseconds, half-open.
    pub over: Vec<Window>,
    /// Divide by the same measure in another configuration, seed by seed.
    pub relative_to: Option<String>,
    /// Divide by the mean of the same metric over these entities, in the same window of the same run.
    #[serde(default)]
    pub against: Option<Selector>,
}

/// A window of time in picoseconds, from `from` up to but not including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its start.
    pub from_ps: u64,
    /// Its end.
    pub to_ps: u64,
}

/// What can be measured on one entity over one window. Units are those of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Flows: delivered octets per time, in bits per second. Ports: transmitted octets likewise.
    Throughput,
    /// Flows: octets leaving the adapter per time, in bits per second.
    SendRate,
    /// Flows: delivered octets over the flow's stated demand in the window, as a fraction.
    DemandShare,
    /// Flows: delivered octets over offered octets in the window, as a fraction.
    DeliveredShare,
    /// Flows: coefficient of variation of the sampled throughput.
    ThroughputCv,
    /// Flows: octets leaving the adapter per time, what each frame costs on the wire beyond its own counted too,
    /// in bits per second: the raw rate at which the flow comes in at its first switch.
    ArrivalRate,
    /// Flows: coefficient of variation of the sampled arrival rate.
    ArrivalCv,
    /// Ports and inputs: mean octets held.
    Queue,
    /// Ports and inputs: most octets held.
    QueuePeak,
    /// Ports and inputs: the least of the sampled means of octets held.
    QueueLow,
    /// Ports and inputs: standard deviation over time of the sampled octets held.
    QueueDeviation,
    /// Ports and inputs: the period in seconds at which the sampled octets held swing; unmeasured if they do not.
    Period,
    /// Ports: transmitted octets, overhead counted, over what the port's service rate allowed: a fraction.
    Utilisation,
    /// Flows: mean of the sampled rate limit in bits per second.
    Limit,
    /// Flows: the least sampled rate limit in bits per second.
    LimitLow,
    /// Ports: seconds held by the peer's pause. Inputs: seconds the peer was held paused.
    PauseTime,
    /// Inputs: number of times PAUSE was asserted in the window (refreshes not counted).
    PauseCount,
    /// Ports: how often the port was found in a circle of ports that wait for each other.
    Deadlocks,
    /// Ports: how often the port began to isolate a flow.
    Isolations,
    /// Flows: notifications received. Ports and inputs: notifications sent.
    Cnms,
    /// Flows: notifications received for each megabyte that left the adapter.
    CnmsPerMegabyte,
    /// Ports and inputs: reads of the culprit array for each notification.
    CulpritReads,
    /// Ports: frames marked on their way through (ECN).
    Marks,
    /// Flows: frames sent again, over the whole run.
    Retransmissions,
    /// Flows: how often the sender had waited too long for an acknowledgement, over the whole run.
    Timeouts,
    /// Flows: frames lost. Ports and inputs: frames dropped there.
    Loss,
    /// Flows: frames delivered in the window.
    Frames,
    /// Flows: frames delivered out of order, over the whole run.
    Reordered,
    /// Flows: mean time from adapter to receiver over the whole run, in seconds.
    Latency,
    /// Flows: the coefficient of correlation of what the flow sends and a queue, by equal steps: -1 if one falls as the
    /// other rises.
    Correlation {
        /// The port or input whose queue it is; exactly one.
        with: Selector,
        /// Length of a step.
        step_ps: u64,
        /// Of their increments where the rate rises, instead of all values.
        rising: bool,
    },
    /// Flows and ports: seconds from the start of the window until `series` last was farther than `within`
    /// (a fraction) from `target`; never, which no bound from above admits, if it ends outside.
    Convergence {
        /// What must converge.
        series: ConvergingSeries,
        /// The value to converge to: bits per second, or octets for a queue.
        target: f64,
        /// The tolerated distance as a fraction of the target.
        within: f64,
        /// On which side of the target it counts.
        #[serde(default)]
        side: Side,
    },
    /// Flows: seconds from the start of the window until the throughput, averaged over `span_ps`, first
    /// reaches `target` bits per second; never if it does not.
    Recovery {
        /// Bits per second to reach.
        target: f64,
        /// Averaging time.
        span_ps: u64,
    },
    /// Ports: of the changes of any source (`SourceOn`) that are followed by at least `quiet_ps` without
    /// another change, the fraction after which the mean queue from `skip_ps` after the change until the
    /// next change lies within `within` of `target` octets.
    Settled {
        /// Octets to settle at.
        target: f64,
        /// Tolerated distance as a fraction.
        within: f64,
        /// Time without another change that makes a case count.
        quiet_ps: u64,
        /// Time after the change that is not looked at.
        skip_ps: u64,
    },
    /// Flows of collectives: mean seconds of an iteration, of those that ended in the window.
    IterationTime,
    /// Flows of collectives: iterations that ended in the window.
    Iterations,
    /// Flows that end by themselves and start in the window: seconds from their start until their last octet was
    /// delivered; never if it was not.
    CompletionTime(SizeClass),
    /// The same over what it takes on an idle network.
    Slowdown(SizeClass),
    /// Of those flows: 1 if it ended, 0 if not.
    Finished(SizeClass),
    /// Flows: mean frames of a burst that ended in the window, a frame that kept its distance counted as one.
    Burst,
    /// Flows: the most frames of a burst that ended in the window.
    BurstPeak,
}

/// Which messages count, by their octets: from the first number on, and below the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The smallest that counts.
    pub least: u64,
    /// The smallest that is too large.
    pub below: u64,
}

impl SizeClass {
    /// Every size.
    pub const ALL: SizeClass = SizeClass { least: 0, below: u64::MAX };
}

impl Metric {
    /// The sorts of entities it is measured on, the one that a bare pattern means first.
    pub fn classes(&self) -> &'static [EntityClass] {
        use EntityClass::{Flow, Input, Port};
        match self {
            Metric::Throughput | Metric::Recovery { .. } => &[Flow, Port],
            Metric::SendRate
            | Metric::DemandShare
            | Metric::DeliveredShare
            | Metric::ThroughputCv
            | Metric::ArrivalRate
            | Metric::ArrivalCv
            | Metric::CnmsPerMegabyte
            | Metric::Limit
            | Metric::LimitLow
            | Metric::Frames
            | Metric::Reordered
            | Metric::Retransmissions
            | Metric::Timeouts
            | Metric::Correlation { .. }
            | Metric::Latency
            | Metric::IterationTime
            | Metric::Iterations
            | Metric::CompletionTime(_)
            | Metric::Slowdown(_)
            | Metric::Finished(_)
            | Metric::Burst
            | Metric::BurstPeak => &[Flow],
            Metric::Queue
            | Metric::QueuePeak
            | Metric::QueueLow
            | Metric::CulpritReads
            | Metric::QueueDeviation
            | Metric::Period
            | Metric::Settled { .. } => &[Port, Input],
            Metric::Utilisation | Metric::Deadlocks | Metric::Isolations | Metric::Marks => &[Port],
            Metric::PauseTime => &[Port, Input],
            Metric::PauseCount => &[Input],
            Metric::Cnms | Metric::Loss => &[Flow, Port, Input],
            Metric::Convergence { series, .. } => match series {
                ConvergingSeries::Limit => &[Flow],
                ConvergingSeries::Throughput => &[Flow, Port],
                ConvergingSeries::Queue => &[Port, Input],
            },
        }
    }

    /// The messages it is about, if it is about messages.
    pub fn of_messages(&self) -> Option<SizeClass> {
        match self {
            Metric::CompletionTime(sizes) | Metric::Slowdown(sizes) | Metric::Finished(sizes) => Some(*sizes),
            _ => None,
        }
    }

    /// Whether it can be taken of an entity: metrics of messages only of flows that have one of their sizes.
    pub fn concerns(&self, kind: &EntityKind, window: Window) -> bool {
        let Some(sizes) = self.of_messages() else { return true };
        let EntityKind::Flow { message: Some(message), .. } = kind else { return false };
        (sizes.least..sizes.below).contains(&message.bytes)
            && (window.from_ps..window.to_ps).contains(&message.start_ps)
    }

    /// Whether it counts bursts, which are recorded only where they are asked for.
    pub fn counts_bursts(&self) -> bool {
        matches!(self, Metric::Burst | Metric::BurstPeak)
    }

    /// Whether the totals of a flow are enough to measure it over a whole run.
    pub fn is_in_totals(&self) -> bool {
        matches!(
            self,
            Metric::Throughput
                | Metric::SendRate
                | Metric::DemandShare
                | Metric::DeliveredShare
                | Metric::Frames
                | Metric::Retransmissions
                | Metric::Timeouts
                | Metric::Reordered
                | Metric::Latency
                | Metric::Cnms
                | Metric::Loss
        )
    }

    /// Whether it is measured on events alone, so that nothing need be sampled for it.
    pub fn is_in_events(&self) -> bool {
        self.of_messages().is_some() || matches!(self, Metric::IterationTime | Metric::Iterations)
    }
}

/// The series that [`Metric::Convergence`] watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConvergingSeries {
    /// A flow's rate limit.
    Limit,
    /// A flow's delivered rate.
    Throughput,
    /// A port's or input's queue.
    Queue,
}

/// On which side of its target a series must be near it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// On both.
    #[default]
    Both,
    /// Above it; below, anything goes.
    Above,
    /// Below it; above, anything goes.
    Below,
}

/// How the values of several entities become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// There is one entity, or each must satisfy the bound by itself.
    Each,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Jain's index: (Σx)² / (n Σx²).
    Jain,
    /// The greatest over the least.
    MaxOverMin,
    /// The value that so many thousandths of them do not exceed: 500 is the median.
    Quantile(u16),
}

/// The statistic over repeated runs that is compared with the bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// Every single run must satisfy it.
    Every,
    /// The median of the runs.
    Median,
    /// Their mean.
    Mean,
    /// The given quantile of the runs (0 to 1).
    Quantile(f64),
    /// At least this fraction of the runs must satisfy it.
    Fraction(f64),
}

/// What a value must satisfy, in the unit of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Not less than this.
    AtLeast(f64),
    /// Not more than this.
    AtMost(f64),
    /// Neither less than the first nor more than the second.
    Between(f64, f64),
    /// Within a fraction of a target.
    Near {
        /// The target.
        target: f64,
        /// The tolerated distance as a fraction of it.
        within: f64,
    },
}

/// One `[[fair]]` of a scenario: what some flows ought to get, stated by whoever wrote the benchmark. It is not
/// judged; reports say how far from it each configuration is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairShare {
    /// Which flows.
    pub of: Selector,
    /// What each of them ought to get, in bits per second.
    pub rate_bps: u64,
    /// Where their mean throughput is compared with it.
    pub over: Window,
    /// From when on the time until they stay near it is counted; until the end of `over`.
    pub since_ps: u64,
    /// Over how long throughput is averaged for that.
    pub span_ps: u64,
    /// The configurations it is stated for.
    pub configurations: Vec<String>,
}

/// A `[[figure]]` of a scenario: what to draw from the recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureSpec {
    /// Its caption.
    pub title: String,
    /// The figure or statement of the source that it redraws, if it does.
    #[serde(default)]
    pub shows: Option<String>,
    /// What it shows.
    pub kind: FigureKind,
    /// Which entities, by name.
    pub of: Selector,
    /// The configurations it is drawn for; one panel each, unless overlaid.
    pub configurations: Vec<String>,
    /// One panel with a line per configuration instead of a panel each with a line per entity.
    pub overlay: bool,
    /// The run of the first seed alone instead of the middle of all: a median of runs that differ by chance shows none
    /// of them.
    #[serde(default)]
    pub first_run: bool,
    /// The part of the run it shows, if not all.
    pub over: Option<Window>,
    /// What its flows are compared with, where it compares.
    #[serde(default)]
    pub pairing: Option<Pairing>,
    /// What somebody else measured of the same, if that is drawn too.
    #[serde(default)]
    pub beside: Option<Beside>,
}

/// A queue that rates of flows are compared with, step by step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The port or input.
    pub with: Selector,
    /// Length of a step.
    pub step_ps: u64,
}

/// What somebody else measured, as a group of bars of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Whose it is.
    pub name: String,
    /// The bars by their names in data, in thousandths.
    pub bars: Vec<(String, u64)>,
}

/// The classes of sizes that are usual where slowdowns are compared, by their ends.
pub const SIZE_CLASSES: [(&str, u64); 5] = [
    ("< 1 kB", 1_000),
    ("1-10 kB", 10_000),
    ("10-100 kB", 100_000),
    ("0.1-1 MB", 1_000_000),
    ("> 1 MB", u64::MAX),
];

/// What is drawn of the slowdowns of a class: its name in data, where it lies, its name on a panel.
pub const SLOWDOWN_QUANTILES: [(&str, f64, &str); 3] =
    [("p50", 0.5, "median"), ("p95", 0.95, "95th percentile"), ("p99", 0.99, "99th percentile")];

/// The kinds of figures a scenario can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Octets held over time.
    Queue,
    /// Delivered or transmitted rate over time, one line an entity.
    Throughput,
    /// Raw rate over time at which flows come in at their first switch, overhead counted.
    Arrivals,
    /// Rate limits of flows over time.
    Limit,
    /// When ports are held paused: one row a port, black while held.
    Pause,
    /// Notifications over time.
    Cnms,
    /// Mean rate of each entity over the window as bars, one group a configuration.
    Shares,
    /// Which ports are congested or held over time, as the tree that pauses make: rooted at the port that is sent
    /// too much, each port under the queue because of which it is held.
    Tree,
    /// Slowdown of messages by size: median, 95th and 99th percentile as bars, one group a configuration.
    Slowdown,
    /// How long bursts are: the share of frames in bursts of so many, as bars, one group a configuration.
    Bursts,
    /// How many pauses inputs began, by priority, as bars, one group a configuration.
    PauseCount,
    /// How long inputs held their peers altogether, by priority, as bars, one group a configuration.
    PauseTime,
    /// The rate of a flow against a queue, one dot a step of time.
    Scatter,
    /// How much alike the rate of a flow and a queue are, over how much later the queue is looked at.
    CrossCorrelation,
}

impl FigureKind {
    /// Whether it consists of bars, a group of them for each configuration.
    pub fn has_bars(self) -> bool {
        matches!(
            self,
            FigureKind::Shares
                | FigureKind::Slowdown
                | FigureKind::Bursts
                | FigureKind::PauseCount
                | FigureKind::PauseTime
        )
    }

    /// The sorts of entities it can show, the one that a bare pattern means first.
    pub fn classes(self) -> &'static [EntityClass] {
        use EntityClass::{Flow, Input, Port};
        match self {
            FigureKind::Queue => &[Port, Input],
            FigureKind::Throughput | FigureKind::Shares => &[Flow, Port],
            FigureKind::Limit | FigureKind::Arrivals | FigureKind::Slowdown | FigureKind::Bursts => &[Flow],
            FigureKind::Scatter | FigureKind::CrossCorrelation => &[Flow],
            FigureKind::Pause => &[Port, Input],
            FigureKind::PauseCount | FigureKind::PauseTime => &[Input],
            FigureKind::Tree => &[Port],
            FigureKind::Cnms => &[Flow, Port, Input],
        }
    }
}
