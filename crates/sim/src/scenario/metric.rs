//! The grammar of metrics: `queue`, `max/min(throughput)`, `min(convergence(limit))`.

use super::problem::{either, suggest};
use super::section::Section;
use super::units::{Kind, Quantity, UnitError};
use super::value::{Data, Value};
use quell_proto::units::Bytes;
use quell_record::Selector;
use quell_record::claim::{ConvergingSeries, Metric, Reduce, Side, SizeClass};

/// A metric as written, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) reduce: Reduce,
    name: String,
    /// What stands in the brackets of `convergence(…)`.
    series: Option<String>,
}

/// What a metric's values are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Rate,
    Size,
    Time,
    /// A share or a bare number: 0.97 and 97% alike.
    Number,
}

/// A metric of the list: its name, its unit and what it is, for the reader and the documentation.
#[derive(Clone, Copy, Debug)]
pub struct MetricName {
    /// As a claim writes it.
    pub name: &'static str,
    pub(crate) unit: Unit,
    /// What it measures.
    pub doc: &'static str,
}

const fn metric(name: &'static str, unit: Unit, doc: &'static str) -> MetricName {
    MetricName { name, unit, doc }
}

/// Every metric a claim can name.
pub const METRICS: &[MetricName] = &[
    metric("throughput", Unit::Rate, "Flows: delivered octets per time. Ports: transmitted octets likewise."),
    metric("send-rate", Unit::Rate, "Flows: octets leaving the adapter per time."),
    metric("demand-share", Unit::Number, "Flows: delivered octets over the stated demand."),
    metric("delivered-share", Unit::Number, "Flows: delivered octets over offered octets."),
    metric("throughput-cv", Unit::Number, "Flows: coefficient of variation of the sampled throughput."),
    metric(
        "arrival-rate",
        Unit::Rate,
        "Flows: octets leaving the adapter per time, `run.overhead` counted: the raw rate into the first switch.",
    ),
    metric("arrival-cv", Unit::Number, "Flows: coefficient of variation of the sampled arrival rate."),
    metric("queue", Unit::Size, "Ports and inputs: mean octets held."),
    metric("queue-peak", Unit::Size, "Ports and inputs: most octets held."),
    metric("queue-low", Unit::Size, "Ports and inputs: the least of the sampled means of octets held."),
    metric("queue-deviation", Unit::Size, "Ports and inputs: standard deviation of the sampled octets held."),
    metric(
        "period",
        Unit::Time,
        "Ports and inputs: mean time from one rise of the octets held through their mean to the next; missing where \
         there are fewer than three such times, or they differ by more than half.",
    ),
    metric(
        "utilisation",
        Unit::Number,
        "Ports: what was sent, overhead counted, over what the service rate allowed.",
    ),
    metric("limit", Unit::Rate, "Flows: mean of the sampled rate limit."),
    metric("limit-low", Unit::Rate, "Flows: the least sampled rate limit."),
    metric("pause-time", Unit::Time, "Ports: time held by the peer's pause. Inputs: time the peer was held."),
    metric("pause-count", Unit::Number, "Inputs: how often a pause was begun."),
    metric(
        "deadlocks",
        Unit::Number,
        "Ports: how often the port was found in a circle of ports that wait for each other.",
    ),
    metric(
        "isolations",
        Unit::Number,
        "Ports: how often the port began to isolate a flow, as a rule `s1->h2@1` by its congesting priority.",
    ),
    metric("cnms", Unit::Number, "Flows: notifications received. Ports and inputs: notifications sent."),
    metric(
        "cnms-per-megabyte",
        Unit::Number,
        "Flows: notifications received for each megabyte that left the adapter.",
    ),
    metric(
        "culprit-reads",
        Unit::Number,
        "Ports and inputs: reads of the culprit array for each notification.",
    ),
    metric("marks", Unit::Number, "Ports: frames marked on their way through (ECN)."),
    metric("loss", Unit::Number, "Flows: frames lost. Ports and inputs: frames dropped there."),
    metric("retransmissions", Unit::Number, "Flows: frames sent again, over the whole run."),
    metric(
        "timeouts",
        Unit::Number,
        "Flows: how often the sender had waited too long for an acknowledgement, over the whole run.",
    ),
    metric("frames", Unit::Number, "Flows: frames delivered."),
    metric("reordered", Unit::Number, "Flows: frames delivered out of order, over the whole run."),
    metric(
        "completion",
        Unit::Time,
        "Flows that end by themselves, of `sizes`: time from the start until the last octet was delivered; never, if it was not.",
    ),
    metric(
        "slowdown",
        Unit::Number,
        "Flows that end by themselves, of `sizes`: that time over what it takes on an idle network.",
    ),
    metric(
        "finished",
        Unit::Number,
        "Flows that end by themselves, of `sizes`: 1 if they did, 0 if not; `mean(finished)` is the share that did.",
    ),
    metric(
        "iteration-time",
        Unit::Time,
        "Flows of collectives: mean time of an iteration, from the one before until all of it has arrived; never, if none was over.",
    ),
    metric("iterations", Unit::Number, "Flows of collectives: iterations that were over."),
    metric(
        "burst",
        Unit::Number,
        "Flows: mean frames of a burst, each of which but the first leaves sooner after the one before it than the rate \
         limit alone allows; a frame that keeps its distance is one of 1. Of flows under a limiter, while limited.",
    ),
    metric("burst-peak", Unit::Number, "Flows: likewise, the longest burst in frames."),
    metric("latency", Unit::Time, "Flows: mean time from adapter to receiver, over the whole run."),
    metric(
        "correlation",
        Unit::Number,
        "Flows: coefficient of correlation of what the flow sends and the queue `with`, by steps of `step`.",
    ),
    metric(
        "correlation-rising",
        Unit::Number,
        "Flows: likewise, of their increments in the steps in which the flow sends more than in the one before.",
    ),
    metric(
        "convergence",
        Unit::Time,
        "Flows and ports, as `convergence(limit)`, `convergence(throughput)` or `convergence(queue)`: time until \
         the series stays within `band` of `target`.",
    ),
    metric("recovery", Unit::Time, "Flows: time until the throughput over `span` first reaches `target`."),
    metric(
        "settled",
        Unit::Number,
        "Ports: share of changes of sources, those followed by `quiet` without another, after which the mean \
         queue from `skip` on lies within `band` of `target`.",
    ),
];

const REDUCERS: [(&str, Reduce); 11] = [
    ("each", Reduce::Each),
    ("sum", Reduce::Sum),
    ("mean", Reduce::Mean),
    ("min", Reduce::Min),
    ("max", Reduce::Max),
    ("jain", Reduce::Jain),
    ("max/min", Reduce::MaxOverMin),
    ("median", Reduce::Quantile(500)),
    ("p95", Reduce::Quantile(950)),
    ("p99", Reduce::Quantile(990)),
    ("p99.9", Reduce::Quantile(999)),
];

/// The name of the metric, without what reduces it or what it is of.
pub(crate) fn base_name(text: &str) -> String {
    take_apart(text).name
}

fn take_apart(text: &str) -> Words {
    let text = text.trim();
    let bracketed = |text: &str| -> Option<(String, String)> {
        let (name, rest) = text.split_once('(')?;
        Some((name.trim().to_owned(), rest.strip_suffix(')')?.trim().to_owned()))
    };
    let (reduce, rest) = match bracketed(text) {
        Some((name, inner)) => match REDUCERS.iter().find(|(word, _)| *word == name) {
            Some((_, reduce)) => (*reduce, inner),
            None => (Reduce::Each, text.to_owned()),
        },
        None => (Reduce::Each, text.to_owned()),
    };
    match bracketed(&rest) {
        Some((name, series)) => Words { reduce, name, series: Some(series) },
        None => Words { reduce, name: rest, series: None },
    }
}

impl Words {
    /// Takes a metric apart, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Words, (String, Option<String>)> {
        let words = take_apart(text);
        if !METRICS.iter().any(|metric| metric.name == words.name) {
            let names = METRICS.iter().map(|metric| metric.name);
            let reducers = REDUCERS.iter().map(|(name, _)| *name);
            let hint = match words.series {
                Some(_) => suggest(&words.name, reducers, "what stands before a bracket is one of"),
                None => suggest(&words.name, names, "the metrics are"),
            };
            return Err((format!("there is no metric `{}`", words.name), hint));
        }
        match (words.name.as_str(), words.series.as_deref()) {
            ("convergence", Some(series)) if series_of(series).is_some() => Ok(words),
            ("convergence", _) => Err((
                "it does not say what converges".to_owned(),
                Some(format!(
                    "write {}",
                    either(["convergence(limit)", "convergence(throughput)", "convergence(queue)"])
                )),
            )),
            (_, Some(_)) => {
                let reducers = either(REDUCERS.iter().map(|(name, _)| *name));
                Err((
                    format!("`{}` takes nothing in brackets", words.name),
                    Some(format!("what may stand around it is {reducers}")),
                ))
            }
            (_, None) => Ok(words),
        }
    }

    /// What its values are counted in once reduced.
    pub(crate) fn unit(&self) -> Unit {
        if matches!(self.reduce, Reduce::Jain | Reduce::MaxOverMin) {
            Unit::Number
        } else {
            self.plain_unit()
        }
    }

    fn plain_unit(&self) -> Unit {
        METRICS.iter().find(|metric| metric.name == self.name).map_or(Unit::Number, |metric| metric.unit)
    }

    /// What `target` is counted in.
    pub(crate) fn target_unit(&self) -> Unit {
        match (self.name.as_str(), self.series.as_deref()) {
            ("convergence", Some("queue")) | ("settled", _) => Unit::Size,
            _ => Unit::Rate,
        }
    }

    /// The metric, with what the claim says about it; `target` has been read in its unit.
    pub(crate) fn metric(&self, section: &Section, target: Option<f64>) -> Option<Metric> {
        let band = || section.share("band").map(super::units::Ratio::number);
        Some(match self.name.as_str() {
            "throughput" => Metric::Throughput,
            "send-rate" => Metric::SendRate,
            "demand-share" => Metric::DemandShare,
            "delivered-share" => Metric::DeliveredShare,
            "throughput-cv" => Metric::ThroughputCv,
            "arrival-rate" => Metric::ArrivalRate,
            "arrival-cv" => Metric::ArrivalCv,
            "queue" => Metric::Queue,
            "queue-peak" => Metric::QueuePeak,
            "queue-low" => Metric::QueueLow,
            "queue-deviation" => Metric::QueueDeviation,
            "period" => Metric::Period,
            "utilisation" => Metric::Utilisation,
            "limit" => Metric::Limit,
            "limit-low" => Metric::LimitLow,
            "pause-time" => Metric::PauseTime,
            "pause-count" => Metric::PauseCount,
            "deadlocks" => Metric::Deadlocks,
            "isolations" => Metric::Isolations,
            "cnms" => Metric::Cnms,
            "cnms-per-megabyte" => Metric::CnmsPerMegabyte,
            "culprit-reads" => Metric::CulpritReads,
            "marks" => Metric::Marks,
            "loss" => Metric::Loss,
            "retransmissions" => Metric::Retransmissions,
            "timeouts" => Metric::Timeouts,
            "frames" => Metric::Frames,
            "reordered" => Metric::Reordered,
            "latency" => Metric::Latency,
            "burst" => Metric::Burst,
            "burst-peak" => Metric::BurstPeak,
            "convergence" => {
                let series = series_of(self.series.as_deref()?)?;
                let side = match section.text("side")? {
                    "above" => Side::Above,
                    "below" => Side::Below,
                    _ => Side::Both,
                };
                Metric::Convergence { series, target: target?, within: band()?, side }
            }
            "correlation" | "correlation-rising" => Metric::Correlation {
                with: Selector(section.text("with")?.to_owned()),
                step_ps: section.time("step")?.ps(),
                rising: self.name == "correlation-rising",
            },
            "recovery" => Metric::Recovery { target: target?, span_ps: section.time("span")?.ps() },
            "settled" => Metric::Settled {
                target: target?,
                within: band()?,
                quiet_ps: section.time("quiet")?.ps(),
                skip_ps: section.time("skip")?.ps(),
            },
            "iteration-time" => Metric::IterationTime,
            "iterations" => Metric::Iterations,
            "completion" => Metric::CompletionTime(sizes(section).ok()?),
            "slowdown" => Metric::Slowdown(sizes(section).ok()?),
            "finished" => Metric::Finished(sizes(section).ok()?),
            _ => return None,
        })
    }
}

/// The sizes that a claim about messages is about, such as `10kB..100kB`; either end may be left out.
pub(crate) fn sizes(section: &Section) -> Result<SizeClass, (String, Option<String>)> {
    let Some(text) = section.text("sizes") else { return Ok(SizeClass::ALL) };
    let hint = || {
        Some(
            "such as `10kB..100kB`, from the first on and below the second; either may be left out"
                .to_owned(),
        )
    };
    let (least, below) =
        text.split_once("..").ok_or_else(|| ("no two sizes with `..` between them".to_owned(), hint()))?;
    let end = |text: &str, open: u64| match text.trim() {
        "" => Ok(open),
        text => super::units::size(text).map(Bytes::get).map_err(|error| error.explain(Kind::Size)),
    };
    let sizes = SizeClass { least: end(least, 0)?, below: end(below, u64::MAX)? };
    if sizes.least >= sizes.below {
        return Err(("its end is not above its start".to_owned(), hint()));
    }
    Ok(sizes)
}

fn series_of(word: &str) -> Option<ConvergingSeries> {
    match word {
        "limit" => Some(ConvergingSeries::Limit),
        "throughput" => Some(ConvergingSeries::Throughput),
        "queue" => Some(ConvergingSeries::Queue),
        _ => None,
    }
}

impl Unit {
    /// Reads a bound in this unit: bits per second, octets, seconds, or a plain number.
    #[expect(clippy::cast_precision_loss, reason = "claims are judged in floats")]
    pub(crate) fn read(self, value: &Value) -> Result<f64, (String, Option<String>)> {
        let kind = match self {
            Unit::Rate => Kind::Rate,
            Unit::Size => Kind::Size,
            Unit::Time => Kind::Time,
            Unit::Number => Kind::Share,
        };
        match &value.data {
            Data::Integer(number) if self == Unit::Number => Ok(*number as f64),
            Data::Number(number) if self == Unit::Number => Ok(*number),
            Data::Integer(_) | Data::Number(_) => {
                Err(UnitError::Bare { number: value.to_string() }.explain(kind))
            }
            Data::Text(text) => match Quantity::parse(text) {
                Ok(Quantity::Rate(rate)) if self == Unit::Rate => Ok(rate.bps() as f64),
                Ok(Quantity::Size(size)) if self == Unit::Size => Ok(size.get() as f64),
                Ok(Quantity::Time(time)) if self == Unit::Time => Ok(time.ps() as f64 / 1e12),
                Ok(Quantity::Share(share)) if self == Unit::Number => Ok(share.number()),
                Err(UnitError::Bare { .. }) if self == Unit::Number => {
                    text.trim().parse().map_err(|_| UnitError::NotANumber.explain(kind))
                }
                Ok(other) => Err(UnitError::WrongKind { found: other.kind() }.explain(kind)),
                Err(error) => Err(error.explain(kind)),
            },
            _ => Err((format!("expected {}, found {}", kind.example(), value.what()), None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_metric_reduces_it() {
        let parse = |text| Words::parse(text).map(|words| (words.reduce, words.name, words.series));
        let plain = |reduce, name: &str| Ok((reduce, name.to_owned(), None));
        assert_eq!(parse("throughput"), plain(Reduce::Each, "throughput"));
        assert_eq!(parse("max/min(throughput)"), plain(Reduce::MaxOverMin, "throughput"));
        assert_eq!(parse(" jain( queue-peak ) "), plain(Reduce::Jain, "queue-peak"));
        let limit = Some("limit".to_owned());
        assert_eq!(parse("convergence(limit)"), Ok((Reduce::Each, "convergence".to_owned(), limit.clone())));
        assert_eq!(parse("max(convergence(limit))"), Ok((Reduce::Max, "convergence".to_owned(), limit)));
    }

    #[test]
    fn a_metric_that_is_none_is_told_what_is_near() {
        let wrong = |text| Words::parse(text).unwrap_err();
        assert_eq!(wrong("thruput").0, "there is no metric `thruput`");
        assert_eq!(wrong("min(throughptu)").1.unwrap(), "is it `throughput`?");
        assert_eq!(wrong("mx(throughput)").1.unwrap(), "is it `max`?");
        assert_eq!(wrong("convergence").0, "it does not say what converges");
        assert_eq!(wrong("queue(limit)").0, "`queue` takes nothing in brackets");
    }
}
