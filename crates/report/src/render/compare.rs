//! Two experiments side by side: figures overlaid, and what differs in claims, numbers and settings.

use super::html::{FigureView, numbers, render, state_of};
use crate::figure::Figure;
use crate::judge::Verdict;
use crate::report::{Report, Setting, Tally};
use crate::unit::Unit;
use serde::Serialize;

/// The comparison as one self-contained HTML page; `names` are what the two are called on it.
pub fn compare_page(a: &Report, b: &Report, names: [&str; 2]) -> String {
    let claims = claim_differences(a, b);
    let view = CompareView {
        names,
        titles: [&a.title, &b.title],
        tallies: [Tally::of(&a.verdicts).in_words(), Tally::of(&b.verdicts).in_words()],
        verdict: verdict(&claims),
        claims,
        figures: overlaid(a, b, names).iter().map(FigureView::of).collect(),
        numbers: number_differences(a, b),
        settings: setting_differences(&a.resolved, &b.resolved),
    };
    render("compare.html", view)
}

/// What the template sees.
#[derive(Serialize)]
struct CompareView<'a> {
    names: [&'a str; 2],
    titles: [&'a str; 2],
    tallies: [String; 2],
    verdict: String,
    claims: Vec<ClaimDifference>,
    figures: Vec<FigureView>,
    numbers: Vec<NumberDifference>,
    settings: Vec<SettingDifference>,
}

/// One claim on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ClaimDifference {
    pub(super) claim: String,
    pub(super) configuration: String,
    pub(super) sides: [Side; 2],
    pub(super) change: String,
    pub(super) wanted: String,
}

/// One side of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Side {
    pub(super) state: &'static str,
    pub(super) mark: &'static str,
    pub(super) measured: String,
    pub(super) problem: Option<String>,
}

impl Side {
    fn of(verdict: Option<&Verdict>) -> Side {
        match verdict {
            Some(verdict) => {
                let (state, mark) = state_of(verdict.holds);
                Side { state, mark, measured: verdict.shown.clone(), problem: verdict.problem.clone() }
            }
            None => Side { state: "reported", mark: "", measured: "not claimed".to_owned(), problem: None },
        }
    }
}

/// All claims of both, those they share first matched by words and configuration. Two experiments of one
/// configuration each are matched whatever the configurations are called.
pub(super) fn claim_differences(a: &Report, b: &Report) -> Vec<ClaimDifference> {
    let lone = a.configurations.len() == 1 && b.configurations.len() == 1;
    let same = |x: &Verdict, y: &Verdict| x.claim == y.claim && (lone || x.configuration == y.configuration);
    let row = |left: Option<&Verdict>, right: Option<&Verdict>| {
        let known = left.or(right)?;
        let change = match (left.and_then(|it| it.measured), right.and_then(|it| it.measured)) {
            (Some(before), Some(after)) => change(known.unit, before, after),
            _ => String::new(),
        };
        Some(ClaimDifference {
            claim: known.claim.clone(),
            configuration: known.configuration.clone(),
            sides: [Side::of(left), Side::of(right)],
            change,
            wanted: known.wanted.clone(),
        })
    };
    let first =
        a.verdicts.iter().map(|left| row(Some(left), b.verdicts.iter().find(|right| same(left, right))));
    let only_second = b.verdicts.iter().filter(|right| !a.verdicts.iter().any(|left| same(left, right)));
    first.chain(only_second.map(|right| row(None, Some(right)))).flatten().collect()
}

pub(super) fn verdict(claims: &[ClaimDifference]) -> String {
    let count = |from: &str, to: &str| {
        claims.iter().filter(|it| it.sides[0].state == from && it.sides[1].state == to).count()
    };
    let (lost, won) = (count("holds", "fails"), count("fails", "holds"));
    match (lost, won) {
        (0, 0) => "Every claim that both make comes out the same way.".to_owned(),
        (lost, 0) => format!("{lost} of the claims that hold in the first fail in the second."),
        (0, won) => format!("{won} of the claims that fail in the first hold in the second."),
        (lost, won) => format!("{lost} claims hold in the first only, {won} in the second only."),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NumberDifference {
    pub(super) configuration: String,
    pub(super) name: &'static str,
    pub(super) values: [String; 2],
    pub(super) change: String,
}

/// The totals of configurations that both have.
pub(super) fn number_differences(a: &Report, b: &Report) -> Vec<NumberDifference> {
    let lone = a.configurations.len() == 1 && b.configurations.len() == 1;
    let mut rows = Vec::new();
    for left in &a.configurations {
        let Some(right) = b.configurations.iter().find(|it| lone || it.name == left.name) else { continue };
        for ((name, unit, before), (_, _, after)) in numbers(left).into_iter().zip(numbers(right)) {
            rows.push(NumberDifference {
                configuration: left.name.clone(),
                name,
                values: [unit.show(before), unit.show(after)],
                change: change(unit, before, after),
            });
        }
    }
    rows
}

/// The change in words: in percent of the first, or as it is where the first is zero.
fn change(unit: Unit, before: f64, after: f64) -> String {
    let difference = after - before;
    if difference.abs() <= 1e-12 * before.abs() {
        return "same".to_owned();
    }
    let sign = if difference < 0.0 { "−" } else { "+" };
    if before == 0.0 {
        return format!("{sign}{}", unit.show(difference.abs()));
    }
    let share = (difference / before).abs();
    if share >= 10.0 {
        return format!("× {}", crate::unit::significant(after / before, 3));
    }
    format!("{sign}{}", Unit::Fraction.show_with(share, if share < 0.01 { 2 } else { 3 }))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SettingDifference {
    path: String,
    values: [String; 2],
}

fn setting_differences(a: &[Setting], b: &[Setting]) -> Vec<SettingDifference> {
    let value = |settings: &[Setting], path: &str| {
        settings.iter().find(|it| it.path == path).map_or_else(|| "–".to_owned(), |it| it.value.clone())
    };
    let mut paths: Vec<&str> = a.iter().map(|it| it.path.as_str()).collect();
    paths.extend(b.iter().map(|it| it.path.as_str()).filter(|path| !a.iter().any(|it| it.path == *path)));
    paths
        .into_iter()
        .map(|path| SettingDifference { path: path.to_owned(), values: [value(a, path), value(b, path)] })
        .filter(|it| it.values[0] != it.values[1])
        .collect()
}

/// Figures of the same kind and title as one; the others as they are.
fn overlaid(a: &Report, b: &Report, names: [&str; 2]) -> Vec<Figure> {
    let same = |x: &Figure, y: &Figure| x.kind == y.kind && x.title == y.title;
    let renamed = |figure: &Figure, name: &str| {
        let mut figure = figure.clone();
        figure.title = format!("{} ({name} only)", figure.title);
        figure
    };
    let mut figures: Vec<Figure> = a
        .figures
        .iter()
        .map(|left| match b.figures.iter().find(|right| same(left, right)) {
            Some(right) => left.overlaid(right, names),
            None => renamed(left, names[0]),
        })
        .collect();
    let only_second = b.figures.iter().filter(|right| !a.figures.iter().any(|left| same(left, right)));
    figures.extend(only_second.map(|right| renamed(right, names[1])));
    figures
}
