//! The page of a suite: contents, one table, the answer on fairness, then each scenario with a link to its own.

use super::html::{FairnessView, FigureView, VerdictView, render};
use super::text::{BOLD, GREEN, RED, Style, painted};
use crate::report::Tally;
use crate::suite::{Ranked, Suite, SuiteRow, SuiteScenario, in_percent};
use crate::unit::Unit;
use serde::Serialize;
use std::fmt::Write as _;

/// The suite as one self-contained HTML page. Its figure links to `figures/` beside it, each scenario to its own
/// page.
pub fn suite_page(suite: &Suite) -> String {
    let fair_scenarios = suite.fair_scenarios();
    let tally = suite.tally();
    let view = SuiteView {
        name: &suite.name,
        tally: tally.in_words(),
        failing: tally.failing,
        troubles: suite.scenarios.iter().filter_map(trouble).collect(),
        scenarios: suite.scenarios.iter().map(ScenarioView::of).collect(),
        ranking: suite.ranking().iter().map(|it| RankedView::of(it, &fair_scenarios)).collect(),
        fair_scenarios,
        answer: suite.answer(),
        figure: suite.figure().as_ref().map(FigureView::of),
        facts: &suite.facts,
    };
    render("suite.html", view)
}

/// The suite as one aligned table for a terminal: a line a configuration, then what the fairness comes to.
pub fn suite_table(suite: &Suite, style: Style) -> String {
    let has_fairness = !suite.fair_scenarios().is_empty();
    let head =
        ["scenario", "configuration", "runs", "held", "failed", "distance", "farthest", "queue", "converges"];
    let mut rows: Vec<[String; 9]> = vec![head.map(str::to_owned)];
    for scenario in &suite.scenarios {
        let own = scenario.rows();
        if own.is_empty() {
            rows.push([&scenario.name, "not run", "", "", "", "", "", "", ""].map(str::to_owned));
        }
        rows.extend(own.iter().map(cells));
    }
    let columns = if has_fairness { 9 } else { 5 };
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cell = |column: usize| {
            let (cell, width) = (&row[column], widths[column]);
            if column < 2 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        };
        let line = (0..columns).map(cell).collect::<Vec<_>>().join("  ");
        let is_failed = index > 0 && (row[4] != "0" || row[2].is_empty());
        let code = if index == 0 {
            BOLD
        } else if is_failed {
            RED
        } else {
            ""
        };
        let _ = writeln!(text, "{}", painted(line.trim_end(), code, style));
    }
    if let Some(answer) = suite.answer() {
        let _ = writeln!(text, "\n{answer}");
    }
    let tally = suite.tally();
    let code = if tally.failing > 0 { RED } else { GREEN };
    let _ = writeln!(text, "\n{}", painted(&tally.in_words(), code, style));
    text
}

pub(super) fn cells(row: &SuiteRow<'_>) -> [String; 9] {
    let of = |show: fn(&FairnessView) -> &String| {
        row.fairness.map(FairnessView::of).as_ref().map(show).cloned().unwrap_or_default()
    };
    [
        row.scenario.to_owned(),
        row.configuration.to_owned(),
        row.runs.to_string(),
        row.tally.holding.to_string(),
        row.tally.failing.to_string(),
        of(|it| &it.mean),
        of(|it| &it.farthest),
        of(|it| &it.queue),
        of(|it| &it.converged),
    ]
}

#[derive(Serialize)]
struct SuiteView<'a> {
    name: &'a str,
    tally: String,
    failing: usize,
    troubles: Vec<String>,
    scenarios: Vec<ScenarioView<'a>>,
    fair_scenarios: Vec<&'a str>,
    ranking: Vec<RankedView<'a>>,
    answer: Option<String>,
    figure: Option<FigureView>,
    facts: &'a [(String, String)],
}

#[derive(Serialize)]
struct ScenarioView<'a> {
    name: &'a str,
    title: &'a str,
    shows: &'a str,
    link: &'a str,
    trouble: Vec<&'a str>,
    tally: Option<String>,
    failing: usize,
    rows: Vec<RowView<'a>>,
    failed: Vec<VerdictView>,
    held: Vec<VerdictView>,
}

impl<'a> ScenarioView<'a> {
    fn of(scenario: &'a SuiteScenario) -> ScenarioView<'a> {
        let report = scenario.report.as_ref();
        let verdicts = || report.iter().flat_map(|it| &it.verdicts);
        let is_failed = |holds: Option<bool>| holds == Some(false);
        let tally = report.map(|it| Tally::of(&it.verdicts));
        ScenarioView {
            name: &scenario.name,
            title: report.map_or("", |it| &it.title),
            shows: report.map_or("", |it| &it.shows),
            link: &scenario.link,
            trouble: scenario.trouble.iter().flat_map(|it| it.lines()).collect(),
            tally: tally.map(Tally::in_words),
            failing: tally.map_or(0, |it| it.failing),
            rows: scenario.rows().iter().map(RowView::of).collect(),
            failed: verdicts().filter(|it| is_failed(it.holds)).map(VerdictView::of).collect(),
            held: verdicts().filter(|it| !is_failed(it.holds)).map(VerdictView::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct RowView<'a> {
    configuration: &'a str,
    runs: usize,
    holding: usize,
    failing: usize,
    reported: usize,
    state: &'static str,
    fairness: Option<FairnessView>,
}

impl<'a> RowView<'a> {
    fn of(row: &SuiteRow<'a>) -> RowView<'a> {
        let Tally { holding, failing, reported } = row.tally;
        RowView {
            configuration: row.configuration,
            runs: row.runs,
            holding,
            failing,
            reported,
            state: if failing > 0 { "fails" } else { "holds" },
            fairness: row.fairness.map(FairnessView::of),
        }
    }
}

#[derive(Serialize)]
pub(super) struct RankedView<'a> {
    pub(super) scheme: &'a str,
    pub(super) mean: String,
    pub(super) cells: Vec<String>,
    pub(super) farthest: String,
    pub(super) queue: String,
    pub(super) converged: String,
}

impl<'a> RankedView<'a> {
    pub(super) fn of(it: &Ranked<'a>, scenarios: &[&str]) -> RankedView<'a> {
        let cell = |name: &&str| {
            let means = it.of.iter().filter(|(scenario, _)| scenario == name);
            let means: Vec<String> = means.map(|(_, row)| in_percent(row.mean)).collect();
            if means.is_empty() { "not run".to_owned() } else { means.join(", ") }
        };
        RankedView {
            scheme: it.scheme,
            mean: in_percent(it.mean),
            cells: scenarios.iter().map(cell).collect(),
            farthest: in_percent(it.farthest),
            queue: Unit::Bytes.show(it.queue_bytes),
            converged: it.converged_in_words(),
        }
    }
}

/// What the top of the page says of a scenario that is not whole.
fn trouble(scenario: &SuiteScenario) -> Option<String> {
    let incomplete = scenario.report.as_ref().is_some_and(|it| !it.complete);
    match &scenario.trouble {
        Some(why) => {
            Some(format!("{}: {}", scenario.name, why.lines().next().unwrap_or("it could not be run")))
        }
        None if incomplete => Some(format!("{}: not every run is finished.", scenario.name)),
        None => None,
    }
}
