//! The page of an experiment: one file that needs no network.

use crate::extract::{FlowRow, PortRow};
use crate::fairness::{FairnessRow, Share};
use crate::figure::Figure;
use crate::judge::Verdict;
use crate::report::{ConfigurationRow, Report, RunFact, Setting, Tally};
use crate::suite::in_percent;
use crate::unit::Unit;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

/// Above this many verdicts a page shows a matrix first, and folds what holds.
const MANY: usize = 40;

/// The report as one self-contained HTML page. Figures link to `figures/STEM.svg` and `.csv` beside it.
pub fn page(report: &Report) -> String {
    let tally = Tally::of(&report.verdicts);
    let is_large = report.verdicts.len() > MANY;
    let view = PageView {
        title: &report.title,
        id: &report.id,
        shows: &report.shows,
        complete: report.complete,
        warnings: &report.warnings,
        paragraphs: paragraphs(&report.about),
        says: paragraphs(&report.says),
        differs: paragraphs(&report.differs),
        tally: tally.in_words(),
        failing: tally.failing,
        claims: claims(&report.verdicts, is_large),
        is_large,
        columns: columns(&report.verdicts),
        figures: report.figures.iter().map(FigureView::of).collect(),
        configurations: report.configurations.iter().map(ConfigurationView::of).collect(),
        axes: axes(report),
        fairness: report.fairness.iter().map(FairnessView::of).collect(),
        resolved: &report.resolved,
        facts: &report.facts,
        runs: &report.runs,
    };
    render("page.html", view)
}

/// What the template sees.
#[derive(Serialize)]
struct PageView<'a> {
    title: &'a str,
    id: &'a str,
    shows: &'a str,
    complete: bool,
    warnings: &'a [String],
    paragraphs: Vec<&'a str>,
    says: Vec<&'a str>,
    differs: Vec<&'a str>,
    tally: String,
    failing: usize,
    claims: Vec<ClaimView>,
    is_large: bool,
    columns: Vec<&'a str>,
    figures: Vec<FigureView>,
    configurations: Vec<ConfigurationView>,
    axes: Vec<String>,
    fairness: Vec<FairnessView>,
    resolved: &'a [Setting],
    facts: &'a [(String, String)],
    runs: &'a [RunFact],
}

pub(super) fn render(name: &str, view: impl Serialize) -> String {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters do not clash"));
    for (name, text) in [
        ("page.html", include_str!("page.html")),
        ("compare.html", include_str!("compare.html")),
        ("suite.html", include_str!("suite.html")),
        ("style.css", include_str!("style.css")),
    ] {
        environment.add_template(name, text).expect("our own templates are well formed");
    }
    let template = environment.get_template(name).expect("our own templates are there");
    template.render(Value::from(Serde(view))).expect("our own templates ask only for what they are given")
}

/// One claim with all configurations it is judged on.
#[derive(Serialize)]
struct ClaimView {
    number: usize,
    text: String,
    line: u32,
    wanted: Option<String>,
    holding: usize,
    failing: usize,
    state: &'static str,
    rows: Vec<VerdictView>,
}

/// One verdict, in words.
#[derive(Serialize)]
pub(super) struct VerdictView {
    pub(super) claim: String,
    pub(super) configuration: String,
    pub(super) state: &'static str,
    pub(super) mark: &'static str,
    pub(super) measured: String,
    pub(super) wanted: String,
    pub(super) spread: String,
    pub(super) interval: String,
    pub(super) runs: usize,
    pub(super) detail: String,
    pub(super) seeds: String,
}

impl VerdictView {
    pub(super) fn of(verdict: &Verdict) -> VerdictView {
        let (state, mark) = state_of(verdict.holds);
        let detail = match (&verdict.problem, &verdict.decided_by) {
            (Some(problem), _) => problem.clone(),
            (None, Some(by)) => format!("decided by {by}"),
            (None, None) => String::new(),
        };
        let seeds = verdict
            .per_seed
            .iter()
            .map(|(seed, value)| format!("seed {seed}: {}", verdict.unit.show(*value)));
        VerdictView {
            claim: verdict.claim.clone(),
            configuration: verdict.configuration.clone(),
            state,
            mark,
            measured: verdict.shown.clone(),
            wanted: verdict.wanted.clone(),
            spread: verdict.shown_spread(),
            interval: verdict.shown_interval(),
            runs: verdict.runs(),
            detail,
            seeds: seeds.collect::<Vec<_>>().join("\n"),
        }
    }
}

pub(super) fn state_of(holds: Option<bool>) -> (&'static str, &'static str) {
    match holds {
        Some(true) => ("holds", "✓"),
        Some(false) => ("fails", "✗"),
        None => ("reported", "·"),
    }
}

/// Verdicts of one claim are neighbours; two claims may share their words, but not their line.
fn claims(verdicts: &[Verdict], failing_first: bool) -> Vec<ClaimView> {
    let same = |a: &Verdict, b: &Verdict| a.claim == b.claim && a.line == b.line;
    verdicts
        .chunk_by(same)
        .enumerate()
        .map(|(index, group)| {
            let failing = group.iter().filter(|it| it.holds == Some(false)).count();
            let holding = group.iter().filter(|it| it.holds == Some(true)).count();
            let state = match (failing, holding) {
                (0, 0) => "reported",
                (0, _) => "holds",
                _ => "fails",
            };
            let wanted = group[0].wanted.clone();
            let mut rows: Vec<&Verdict> = group.iter().collect();
            if failing_first {
                rows.sort_by_key(|it| it.holds != Some(false));
            }
            ClaimView {
                number: index + 1,
                text: group[0].claim.clone(),
                line: group[0].line,
                wanted: group.iter().all(|it| it.wanted == wanted).then_some(wanted),
                holding,
                failing,
                state,
                rows: rows.into_iter().map(VerdictView::of).collect(),
            }
        })
        .collect()
}

/// Every configuration that any claim is judged on, once.
fn columns(verdicts: &[Verdict]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for verdict in verdicts {
        if !names.contains(&verdict.configuration.as_str()) {
            names.push(&verdict.configuration);
        }
    }
    names
}

#[derive(Serialize)]
pub(super) struct FigureView {
    title: String,
    shows: String,
    caption: String,
    stem: String,
    svg: String,
}

impl FigureView {
    pub(super) fn of(figure: &Figure) -> FigureView {
        FigureView {
            title: figure.title.clone(),
            shows: figure.shows.clone(),
            caption: figure.caption.clone(),
            stem: figure.stem.clone(),
            svg: figure.to_svg(),
        }
    }
}

#[derive(Serialize)]
struct ConfigurationView {
    name: String,
    axes: Vec<String>,
    runs: usize,
    numbers: Vec<String>,
    flows: Vec<Vec<String>>,
    ports: Vec<Vec<String>>,
}

impl ConfigurationView {
    fn of(row: &ConfigurationRow) -> ConfigurationView {
        ConfigurationView {
            name: row.name.clone(),
            axes: row.axes.iter().map(|(_, value)| value.clone()).collect(),
            runs: row.runs,
            numbers: numbers(row).into_iter().map(|(_, unit, value)| unit.show(value)).collect(),
            flows: row.flows.iter().map(flow_cells).collect(),
            ports: row.ports.iter().map(port_cells).collect(),
        }
    }
}

/// One configuration against what is called fair, in words.
#[derive(Serialize)]
pub(super) struct FairnessView {
    pub(super) configuration: String,
    pub(super) mean: String,
    pub(super) farthest: String,
    pub(super) queue: String,
    pub(super) converged: String,
    pub(super) flows: String,
}

impl FairnessView {
    pub(super) fn of(row: &FairnessRow) -> FairnessView {
        let flow = |it: &Share| {
            let (measured, fair) = (it.measured_bps, it.fair_bps);
            format!(
                "{}: {} of {}",
                it.flow,
                Unit::BitsPerSecond.show(measured),
                Unit::BitsPerSecond.show_stated(fair)
            )
        };
        FairnessView {
            configuration: row.configuration.clone(),
            mean: in_percent(row.mean),
            farthest: in_percent(row.farthest),
            queue: Unit::Bytes.show(row.queue_bytes),
            converged: row.converged_in_words(),
            flows: row.flows.iter().map(flow).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// A configuration in the numbers that a table compares.
pub(super) fn numbers(row: &ConfigurationRow) -> Vec<(&'static str, Unit, f64)> {
    let totals = &row.totals;
    let rate = if totals.seconds > 0.0 { totals.delivered_bytes * 8.0 / totals.seconds } else { 0.0 };
    vec![
        ("delivered", Unit::BitsPerSecond, rate),
        ("mean latency", Unit::Seconds, totals.latency_seconds),
        ("peak queue", Unit::Bytes, totals.peak_queue_bytes),
        ("ports paused", Unit::Seconds, totals.paused_seconds),
        ("notifications", Unit::Count, totals.cnms),
        ("frames lost", Unit::Count, totals.lost_frames),
        ("reordered", Unit::Count, totals.reordered_frames),
    ]
}

fn flow_cells(flow: &FlowRow) -> Vec<String> {
    vec![
        flow.name.clone(),
        Unit::BitsPerSecond.show(flow.offered_bps),
        Unit::BitsPerSecond.show(flow.delivered_bps),
        Unit::Seconds.show(flow.latency_seconds),
        Unit::Seconds.show(flow.latency_max_seconds),
        flow.cnms.to_string(),
        flow.lost_frames.to_string(),
    ]
}

fn port_cells(port: &PortRow) -> Vec<String> {
    vec![
        port.name.clone(),
        if port.transmits { Unit::BitsPerSecond.show(port.carried_bps) } else { String::new() },
        Unit::Bytes.show(port.queue_bytes),
        Unit::Bytes.show(port.queue_peak_bytes),
        Unit::Seconds.show(port.paused_seconds),
        Unit::Count.show(port.cnms),
        Unit::Count.show(port.dropped_frames),
    ]
}

fn axes(report: &Report) -> Vec<String> {
    let first = report.configurations.first();
    first.map_or_else(Vec::new, |row| row.axes.iter().map(|(axis, _)| axis.clone()).collect())
}

fn paragraphs(text: &str) -> Vec<&str> {
    text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()).collect()
}
