//! `[[expect]]`, `[[fair]]` and `[[figure]]`: what must come out, what would be fair, and what is drawn.

use super::beside;
use super::configurations::{Axes, Chosen};
use super::metric::{self, Unit, Words};
use super::plan_network::{self, Files};
use super::problem::Log;
use super::section::Section;
use super::units::{Ratio, Span};
use super::value::{Data, Value};
use quell_proto::units::{Duration, Instant};
use quell_record::claim::{
    Across, Bound, FairShare, FigureKind, FigureSpec, Measure, Metric, Pairing, Reduce, Window,
};
use quell_record::{Catalog, EntityClass, EntityId, Selector};

/// A claim as one configuration reads it; equal ones of several configurations become one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) text: String,
    pub(crate) measure: Measure,
    pub(crate) across: Across,
    pub(crate) bound: Option<Bound>,
}

/// What claims and figures are read against.
pub(crate) struct Setting<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) length: Duration,
    /// Whether flows are sampled.
    pub(crate) flow_series: bool,
    pub(crate) axes: &'a Axes,
    pub(crate) chosen: &'a Chosen,
    /// Finds a file that the scenario names.
    pub(crate) files: Files<'a>,
}

/// Reads one `[[expect]]`.
pub(crate) fn claim(section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<Reading> {
    let path = section.path_of("metric");
    let text = section.text("metric")?;
    let words = match Words::parse(text) {
        Ok(words) => words,
        Err((message, hint)) => {
            log.wrong(section.origin_of("metric"), format!("`{path}` is `{text}`: {message}"));
            if let Some(hint) = hint {
                log.hint(hint);
            }
            return None;
        }
    };
    let target = match section.raw("target") {
        Some(value) => Some(number(section, "target", value, words.target_unit(), log)?),
        None => None,
    };
    if let Err((message, hint)) = metric::sizes(section) {
        let shown = section.text("sizes").unwrap_or_default();
        log.wrong(
            section.origin_of("sizes"),
            format!("`{}` is `{shown}`: {message}", section.path_of("sizes")),
        );
        if let Some(hint) = hint {
            log.hint(hint);
        }
        return None;
    }
    let metric = words.metric(section, target)?;
    let of = Selector(section.text("of")?.to_owned());
    let entities = match of.check(setting.catalog, metric.classes()) {
        Ok(entities) => entities,
        Err(error) => {
            log.wrong(section.origin_of("of"), format!("`{}`: {error}", section.path_of("of")));
            if let Some(hint) = error.hint() {
                log.hint(hint);
            }
            return None;
        }
    };
    if let Metric::Correlation { with, .. } = &metric {
        one_queue(section, with, setting, log)?;
    }
    let relative_to = match section.raw("relative_to") {
        Some(value) => Some(setting.axes.reference(section, value, setting.chosen, log)?),
        None => None,
    };
    let against = section.text("against").map(|text| Selector(text.to_owned()));
    if let Some(Err(error)) = against.as_ref().map(|it| it.check(setting.catalog, metric.classes())) {
        log.wrong(section.origin_of("against"), format!("`{}`: {error}", section.path_of("against")));
        if let Some(hint) = error.hint() {
            log.hint(hint);
        }
        return None;
    }
    let unit = if relative_to.is_some() || against.is_some() { Unit::Number } else { words.unit() };
    let bound = bound(section, unit, log)?;
    let across = across(section, bound.is_some(), log)?;
    let over = match section.windows("over") {
        Some(windows) => {
            windows.iter().map(|span| window(section, *span, setting, log)).collect::<Option<_>>()?
        }
        None => vec![Window { from_ps: 0, to_ps: setting.length.ps() }],
    };
    let none = |window: &&Window| {
        !entities.iter().any(|id| metric.concerns(&setting.catalog.get(*id).kind, **window))
    };
    if let Some(empty) = over.iter().find(none) {
        let (from, to) = (Instant::from_ps(empty.from_ps), Instant::from_ps(empty.to_ps));
        let message = format!("`{path}` is `{text}`, and no such flow of these sizes starts in {from}..{to}");
        log.wrong(section.origin_of("metric"), message)
            .hint("it is measured on flows with a `message`, or of `pattern` `flows` or `trace`");
        return None;
    }
    let whole = over.iter().all(|window| (window.from_ps, window.to_ps) == (0, setting.length.ps()));
    let is_flow = |id: &EntityId| setting.catalog.get(*id).class() == EntityClass::Flow;
    let told = setting.flow_series || metric.is_in_events() || (whole && metric.is_in_totals());
    if !told && entities.iter().any(is_flow) {
        let message =
            format!("`{path}` is `{text}` of flows, which `run.flow_series` keeps from being sampled");
        log.wrong(section.origin_of("metric"), message).hint(
            "totals tell what was offered, delivered, lost or notified over the whole run; ports are sampled anyway",
        );
        return None;
    }
    let measure = Measure { metric, reduce: words.reduce, of, over, relative_to, against };
    let text = match section.text("claim") {
        Some(claim) => claim.to_owned(),
        None => in_words(section, text, words.reduce),
    };
    Some(Reading { text, measure, across, bound })
}

/// What flows are compared with is one queue.
fn one_queue(section: &Section, with: &Selector, setting: &Setting<'_>, log: &mut Log) -> Option<()> {
    let path = section.path_of("with");
    match with.check(setting.catalog, &[EntityClass::Port, EntityClass::Input]) {
        Ok(queues) if queues.len() == 1 => Some(()),
        Ok(queues) => {
            log.wrong(section.origin_of("with"), format!("`{path}` is {} queues", queues.len()))
                .hint("flows are compared with one: name a port");
            None
        }
        Err(error) => {
            log.wrong(section.origin_of("with"), format!("`{path}`: {error}"));
            if let Some(hint) = error.hint() {
                log.hint(hint);
            }
            None
        }
    }
}

/// Reads one `[[figure]]`; its configurations are filled in later.
pub(crate) fn figure(section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<FigureSpec> {
    let word = section.text("kind")?;
    let kind = match word {
        "queue" => FigureKind::Queue,
        "throughput" => FigureKind::Throughput,
        "arrivals" => FigureKind::Arrivals,
        "limit" => FigureKind::Limit,
        "pause" => FigureKind::Pause,
        "cnms" => FigureKind::Cnms,
        "tree" => FigureKind::Tree,
        "slowdown" => FigureKind::Slowdown,
        "bursts" => FigureKind::Bursts,
        "pause-count" => FigureKind::PauseCount,
        "pause-time" => FigureKind::PauseTime,
        "scatter" => FigureKind::Scatter,
        "cross-correlation" => FigureKind::CrossCorrelation,
        _ => FigureKind::Shares,
    };
    let of = Selector(section.text("of")?.to_owned());
    if let Err(error) = of.check(setting.catalog, kind.classes()) {
        log.wrong(section.origin_of("of"), format!("`{}`: {error}", section.path_of("of")));
        if let Some(hint) = error.hint() {
            log.hint(hint);
        }
        return None;
    }
    let pairing = match kind {
        FigureKind::Scatter | FigureKind::CrossCorrelation => {
            let with = Selector(section.text("with")?.to_owned());
            one_queue(section, &with, setting, log)?;
            if !setting.flow_series {
                let message = format!(
                    "`{}` is `{word}`, and `run.flow_series` keeps flows from being sampled",
                    section.path_of("kind")
                );
                log.wrong(section.origin_of("kind"), message).hint("remove `flow_series`, or this figure");
                return None;
            }
            Some(Pairing { with, step_ps: section.time("step")?.ps() })
        }
        _ => None,
    };
    let over = match section.windows("over") {
        Some(windows) => Some(window(section, *windows.first()?, setting, log)?),
        None => None,
    };
    let title = section.text("title").map_or_else(|| format!("{word} of {}", of.0), str::to_owned);
    let overlay = section.flag("overlay")?;
    let first_run = section.text("runs")? == "first";
    let shows = section.text("shows").map(str::to_owned);
    let beside = match section.text("beside") {
        Some(file) => {
            let text = plan_network::file(section, "beside", file, setting.files, log)?;
            let name = section.text("beside_name")?;
            Some(beside::parse(name, file, &text).map_err(|problem| log.note(vec![problem])).ok()?)
        }
        None => None,
    };
    let configurations = Vec::new();
    Some(FigureSpec { title, shows, kind, of, configurations, overlay, first_run, over, pairing, beside })
}

/// Reads every `[[fair]]` of a configuration; their configurations are filled in later.
pub(crate) fn fair(sections: &[Section], setting: &Setting<'_>, log: &mut Log) -> Vec<FairShare> {
    let mut taken: Vec<EntityId> = Vec::new();
    let mut read = |section: &Section| {
        let of = Selector(section.text("of")?.to_owned());
        let wrong = |log: &mut Log, message: String, hint: Option<String>| {
            log.wrong(section.origin_of("of"), format!("`{}`: {message}", section.path_of("of")));
            if let Some(hint) = hint {
                log.hint(hint);
            }
        };
        let flows = match of.check(setting.catalog, &[EntityClass::Flow]) {
            Ok(flows) => flows,
            Err(error) => {
                wrong(log, error.to_string(), error.hint());
                return None;
            }
        };
        if let Some(twice) = flows.iter().find(|flow| taken.contains(flow)) {
            let message = format!("`{}` has a fair rate already", setting.catalog.get(*twice).name);
            wrong(log, message, Some("each flow has one; `!` takes flows away from a pattern".to_owned()));
            return None;
        }
        taken.extend(flows);
        let over = match section.windows("over") {
            Some(windows) => window(section, *windows.first()?, setting, log)?,
            None => Window { from_ps: 0, to_ps: setting.length.ps() },
        };
        let (since, span) = (section.time("since")?, section.time("span")?);
        if since.ps() >= over.to_ps {
            let message = format!("`{}` is {since}, at or after the end of `over`", section.path_of("since"));
            log.wrong(section.origin_of("since"), message)
                .hint("convergence is timed from `since` to the end of `over`");
            return None;
        }
        Some(FairShare {
            of,
            rate_bps: section.rate("rate")?.bps(),
            over,
            since_ps: since.ps(),
            span_ps: span.ps(),
            configurations: Vec::new(),
        })
    };
    sections.iter().filter_map(&mut read).collect()
}

fn number(section: &Section, key: &'static str, value: &Value, unit: Unit, log: &mut Log) -> Option<f64> {
    match unit.read(value) {
        Ok(number) => Some(number),
        Err((message, hint)) => {
            log.wrong(section.origin_of(key), format!("`{}` is `{value}`: {message}", section.path_of(key)));
            if let Some(hint) = hint {
                log.hint(hint);
            }
            None
        }
    }
}

#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is no bound")]
fn bound(section: &Section, unit: Unit, log: &mut Log) -> Option<Option<Bound>> {
    let stated = ["at_least", "at_most", "between", "near"];
    let given: Vec<(&'static str, &Value)> =
        stated.into_iter().filter_map(|key| section.raw(key).map(|value| (key, value))).collect();
    let (key, value) = match given[..] {
        [] => return Some(None),
        [one] => one,
        _ => {
            let keys: Vec<&str> = given.iter().map(|(key, _)| *key).collect();
            log.wrong(&section.origin, format!("`{}` has several bounds: {}", section.path, keys.join(", ")))
                .hint("a claim has one; `between = [a, b]` has two ends");
            return None;
        }
    };
    let mut read = |value: &Value| number(section, key, value, unit, log);
    Some(Some(match key {
        "at_least" => Bound::AtLeast(read(value)?),
        "at_most" => Bound::AtMost(read(value)?),
        "near" => Bound::Near { target: read(value)?, within: section.share("within").map(Ratio::number)? },
        _ => {
            let Data::List(ends) = &value.data else {
                log.wrong(section.origin_of(key), format!("`{}` is not a list of two", section.path_of(key)));
                return None;
            };
            let [low, high] = &ends[..] else {
                let message = format!("`{}` has {} values, not two", section.path_of(key), ends.len());
                log.wrong(section.origin_of(key), message);
                return None;
            };
            let (low, high) = (read(low)?, read(high)?);
            if low > high {
                let message =
                    format!("`{}` is `{value}`: the first is above the second", section.path_of(key));
                log.wrong(section.origin_of(key), message);
                return None;
            }
            Bound::Between(low, high)
        }
    }))
}

fn across(section: &Section, bounded: bool, log: &mut Log) -> Option<Across> {
    let text = section.text("across")?;
    let mut words = text.split_whitespace();
    let statistic = (words.next().unwrap_or_default(), words.next().and_then(share), words.next());
    let across = match statistic {
        ("every", None, None) if text.trim() == "every" => Across::Every,
        ("median", None, None) if text.trim() == "median" => Across::Median,
        ("mean", None, None) if text.trim() == "mean" => Across::Mean,
        ("quantile", Some(share), None) => Across::Quantile(share),
        ("fraction", Some(share), None) if bounded => Across::Fraction(share),
        ("fraction", Some(_), None) => {
            log.wrong(
                section.origin_of("across"),
                format!("`{}`: a fraction of what?", section.path_of("across")),
            )
            .hint("it is the fraction of runs that satisfy a bound, and there is none");
            return None;
        }
        _ => {
            log.wrong(section.origin_of("across"), format!("`{}` is `{text}`", section.path_of("across")))
                .hint(
                    "it is `every`, `median`, `mean`, `quantile 0.9` or `fraction 0.25`, shares from 0 to 1",
                );
            return None;
        }
    };
    Some(across)
}

/// A share from 0 to 1, as a number or a percentage.
fn share(text: &str) -> Option<f64> {
    let number = super::units::share(text).ok().map(Ratio::number).or_else(|| text.parse().ok())?;
    (0.0..=1.0).contains(&number).then_some(number)
}

/// The window, inside the run.
fn window(section: &Section, span: Span, setting: &Setting<'_>, log: &mut Log) -> Option<Window> {
    let from = span.from.unwrap_or(Duration::ZERO);
    let to = span.to.unwrap_or(setting.length);
    if to > setting.length || from >= to {
        let message = format!("`{}` is {span}, outside of the run", section.path_of("over"));
        log.wrong(section.origin_of("over"), message).hint(format!("the run is 0s..{}", setting.length));
        return None;
    }
    Some(Window { from_ps: from.ps(), to_ps: to.ps() })
}

/// A claim that says of itself what it says.
fn in_words(section: &Section, metric: &str, reduce: Reduce) -> String {
    let of = section.text("of").unwrap_or("*");
    let each = if reduce == Reduce::Each && (of.contains('*') || of.contains(',')) { " each" } else { "" };
    let value = |key: &'static str| section.raw(key).map(ToString::to_string);
    let bound = if let Some(value) = value("at_least") {
        format!(" at least {value}")
    } else if let Some(value) = value("at_most") {
        format!(" at most {value}")
    } else if let Some(value) = value("between") {
        format!(" in {value}")
    } else if let (Some(value), Some(within)) = (value("near"), section.share("within")) {
        format!(" within {within} of {value}")
    } else {
        String::new()
    };
    let sizes = section.text("sizes").map_or_else(String::new, |sizes| format!(" of {sizes}"));
    format!("{metric} of {of}{sizes}{each}{bound}")
}
