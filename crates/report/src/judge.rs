//! From the numbers of many runs to one verdict a claim and configuration.
//!
//! A *cell* is one number a run gives: one window, and for [`Reduce::Each`] one entity. With `median`, `mean`
//! or `quantile` the statistic is taken cell by cell over the runs, and the worst cell is judged; with `every`
//! and `fraction` each run is judged by its own worst cell.

use crate::extract::{Extract, Taken};
use crate::metric::{self, Span, stats};
use crate::unit::Unit;
use quell_record::claim::{Across, Bound, Claim, Reduce};
use serde::{Deserialize, Serialize};

/// How one claim came out in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim in words.
    pub claim: String,
    /// The configuration.
    pub configuration: String,
    /// The line of the scenario that states it.
    pub line: u32,
    /// Whether it holds; `None` if it is only reported.
    pub holds: Option<bool>,
    /// The number that was judged, in `unit`; `None` if there is none, and then `problem` says why.
    pub measured: Option<f64>,
    /// The unit of `measured`, `spread`, `per_seed` and `interval`.
    pub unit: Unit,
    /// `measured` as people read it; a dash if there is none.
    pub shown: String,
    /// What was wanted, in words.
    pub wanted: String,
    /// The least and the greatest over the runs.
    pub spread: Option<(f64, f64)>,
    /// The value of each run, by seed.
    pub per_seed: Vec<(u64, f64)>,
    /// The 95 % confidence interval of the mean over the runs.
    pub interval: Option<(f64, f64)>,
    /// Which entity and window decided, where there was a choice.
    pub decided_by: Option<String>,
    /// Why there is no number.
    pub problem: Option<String>,
}

impl Verdict {
    /// How many runs it rests on.
    pub fn runs(&self) -> usize {
        self.per_seed.len()
    }

    /// The spread as people read it: `33.1 … 35.0 kB`; empty without one, or with a single run.
    pub fn shown_spread(&self) -> String {
        match self.spread {
            Some((low, high)) if self.per_seed.len() > 1 => range_in_words(self.unit, low, high),
            _ => String::new(),
        }
    }

    /// The confidence interval as people read it; empty without one.
    pub fn shown_interval(&self) -> String {
        self.interval.map_or_else(String::new, |(low, high)| range_in_words(self.unit, low, high))
    }
}

/// Judges every claim on every configuration it names, claim by claim.
pub fn judge(claims: &[Claim], extracts: &[Extract]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        for configuration in &claim.configurations {
            verdicts.push(judge_one(index, claim, configuration, extracts));
        }
    }
    verdicts
}

fn judge_one(index: usize, claim: &Claim, configuration: &str, extracts: &[Extract]) -> Verdict {
    let unit = match (&claim.measure.relative_to, &claim.measure.against) {
        (Some(_), _) | (_, Some(_)) => Unit::Plain,
        (None, None) => metric::unit_of(&claim.measure.metric, claim.measure.reduce),
    };
    let outcome = cells(index, claim, configuration, extracts).and_then(|cells| decide(claim, &cells));
    let mut verdict = Verdict {
        claim: claim.text.clone(),
        configuration: configuration.to_owned(),
        line: claim.line,
        holds: claim.bound.map(|_| false),
        measured: None,
        unit,
        shown: "–".to_owned(),
        wanted: wanted(claim, unit),
        spread: None,
        per_seed: Vec::new(),
        interval: None,
        decided_by: None,
        problem: None,
    };
    match outcome {
        Err(problem) => verdict.problem = Some(problem),
        Ok(decision) => {
            let values: Vec<f64> = decision.per_seed.iter().map(|(_, value)| *value).collect();
            let bounds = claim.bound.map_or_else(Vec::new, edges);
            verdict.holds = decision.holds;
            verdict.measured = Some(decision.measured);
            verdict.shown = match decision.satisfied {
                Some(satisfied) => format!("{satisfied} of {} runs", values.len()),
                None => unit.show_beside(decision.measured, &bounds),
            };
            verdict.spread = stats::range(&values);
            verdict.interval = stats::mean_interval(&values).map(|(low, high)| {
                // No metric is less than nothing, and Jain's index is no more than all.
                let most = if claim.measure.reduce == Reduce::Jain && claim.measure.relative_to.is_none() {
                    1.0
                } else {
                    f64::INFINITY
                };
                (low.max(0.0), high.min(most))
            });
            verdict.decided_by = decision.decided_by;
            verdict.per_seed = decision.per_seed;
        }
    }
    verdict
}

/// What the runs of one configuration measured for one claim.
struct Cells {
    seeds: Vec<u64>,
    /// What each cell is, in words.
    names: Vec<String>,
    /// `values[c][s]`: cell `c` under seed `s`.
    values: Vec<Vec<f64>>,
}

fn cells(index: usize, claim: &Claim, configuration: &str, extracts: &[Extract]) -> Result<Cells, String> {
    let runs_of = |name: &str| {
        let mut runs: Vec<&Extract> = extracts.iter().filter(|it| it.configuration == name).collect();
        runs.sort_by_key(|it| it.seed);
        runs
    };
    let runs = runs_of(configuration);
    if runs.is_empty() {
        return Err("no run of this configuration".to_owned());
    }
    let mut cells = Cells { seeds: Vec::new(), names: Vec::new(), values: Vec::new() };
    for run in runs {
        let of_seed = |problem: String| format!("seed {}: {problem}", run.seed);
        let taken = run.claims.get(index).and_then(Option::as_ref);
        let taken = taken.ok_or_else(|| of_seed("the run was not measured for this claim".to_owned()))?;
        let mut values = reduced(taken, claim.measure.reduce).map_err(of_seed)?;
        if let Some(reference) = &claim.measure.relative_to {
            let other = runs_of(reference).into_iter().find(|it| it.seed == run.seed);
            let other = other.and_then(|it| it.claims.get(index)).and_then(Option::as_ref);
            let other = other.ok_or_else(|| of_seed(format!("`{reference}` was not run under this seed")))?;
            let divisors = reduced(other, claim.measure.reduce)
                .map_err(|problem| of_seed(format!("in `{reference}`, {problem}")))?;
            values = ratios(&values, &divisors, reference).map_err(of_seed)?;
        }
        if cells.names.is_empty() {
            cells.names = names(taken, claim.measure.reduce);
            cells.values = vec![Vec::new(); values.len()];
        }
        if values.len() != cells.values.len() {
            return Err(of_seed("the run has other entities than the one before".to_owned()));
        }
        cells.seeds.push(run.seed);
        for (cell, value) in cells.values.iter_mut().zip(values) {
            cell.push(value);
        }
    }
    Ok(cells)
}

/// The cells of one run: its windows in order, and within each its entities or the one reduced number.
fn reduced(taken: &Taken, how: Reduce) -> Result<Vec<f64>, String> {
    if let Some(problem) = &taken.problem {
        return Err(problem.clone());
    }
    let mut cells = Vec::new();
    for (values, window) in taken.values.iter().zip(&taken.windows) {
        let values: Vec<f64> = values.iter().cloned().collect::<Result<_, _>>()?;
        let reduced = metric::reduce(&values, how).map_err(|why| format!("{why} in {}", Span(*window)))?;
        cells.extend(reduced);
    }
    if cells.is_empty() { Err("there is nothing to measure".to_owned()) } else { Ok(cells) }
}

fn names(taken: &Taken, how: Reduce) -> Vec<String> {
    let several_windows = taken.windows.len() > 1;
    let name = |entity: Option<&String>, window| match (entity, several_windows) {
        (Some(entity), true) => format!("{entity} in {}", Span(window)),
        (Some(entity), false) => entity.clone(),
        (None, _) => format!("{}", Span(window)),
    };
    let mut names = Vec::new();
    for &window in &taken.windows {
        match how {
            Reduce::Each => names.extend(taken.entities.iter().map(|entity| name(Some(entity), window))),
            _ => names.push(name(None, window)),
        }
    }
    names
}

fn ratios(values: &[f64], divisors: &[f64], reference: &str) -> Result<Vec<f64>, String> {
    if values.len() != divisors.len() {
        return Err(format!("`{reference}` has {} values to compare with {}", divisors.len(), values.len()));
    }
    let ratio = |(value, divisor): (&f64, &f64)| {
        let ratio = value / divisor;
        if ratio.is_finite() { Ok(ratio) } else { Err(format!("the value in `{reference}` is zero")) }
    };
    values.iter().zip(divisors).map(ratio).collect()
}

/// A judged number and what it rests on.
struct Decision {
    measured: f64,
    holds: Option<bool>,
    /// With [`Across::Fraction`]: how many runs satisfied the bound.
    satisfied: Option<usize>,
    per_seed: Vec<(u64, f64)>,
    decided_by: Option<String>,
}

fn decide(claim: &Claim, cells: &Cells) -> Result<Decision, String> {
    let Some(bound) = claim.bound else { return Ok(report(claim, cells)) };
    let several = cells.values.len() > 1;
    let name_of = |cell: usize| several.then(|| cells.names[cell].clone());
    match claim.across {
        Across::Median | Across::Mean | Across::Quantile(_) => {
            let statistics: Vec<f64> = cells.values.iter().map(|it| statistic(claim.across, it)).collect();
            let cell = worst(bound, &statistics).ok_or("there is nothing to judge")?;
            Ok(Decision {
                measured: statistics[cell],
                holds: Some(satisfies(bound, statistics[cell])),
                satisfied: None,
                per_seed: zip(&cells.seeds, &cells.values[cell]),
                decided_by: name_of(cell),
            })
        }
        Across::Every | Across::Fraction(_) => {
            let run = |seed: usize| cells.values.iter().map(|cell| cell[seed]).collect::<Vec<f64>>();
            let worst_cells: Vec<usize> =
                (0..cells.seeds.len()).filter_map(|seed| worst(bound, &run(seed))).collect();
            let values: Vec<f64> =
                worst_cells.iter().enumerate().map(|(seed, &cell)| cells.values[cell][seed]).collect();
            let seed = worst(bound, &values).ok_or("there is nothing to judge")?;
            let satisfied = values.iter().filter(|value| satisfies(bound, **value)).count();
            let (holds, shown) = match claim.across {
                Across::Fraction(wanted) => {
                    // A hair of slack: 0.3 of 10 runs is 3 runs, whatever binary fractions say.
                    (satisfied as f64 >= wanted * values.len() as f64 - 1e-9, Some(satisfied))
                }
                _ => (satisfied == values.len(), None),
            };
            Ok(Decision {
                measured: values[seed],
                holds: Some(holds),
                satisfied: shown,
                per_seed: zip(&cells.seeds, &values),
                decided_by: name_of(worst_cells[seed]),
            })
        }
    }
}

/// A value that is only reported: the mean of the cells in each run, and its statistic (by default the median).
fn report(claim: &Claim, cells: &Cells) -> Decision {
    let mean_of = |seed: usize| {
        cells.values.iter().map(|cell| cell[seed]).sum::<f64>() / cells.values.len().max(1) as f64
    };
    let values: Vec<f64> = (0..cells.seeds.len()).map(mean_of).collect();
    Decision {
        measured: statistic(claim.across, &values),
        holds: None,
        satisfied: None,
        per_seed: zip(&cells.seeds, &values),
        decided_by: None,
    }
}

fn statistic(across: Across, values: &[f64]) -> f64 {
    let value = match across {
        Across::Mean => stats::mean(values),
        Across::Quantile(q) => stats::quantile(values, q),
        Across::Median | Across::Every | Across::Fraction(_) => stats::median(values),
    };
    value.expect("every cell has a value under every seed")
}

fn zip(seeds: &[u64], values: &[f64]) -> Vec<(u64, f64)> {
    seeds.iter().copied().zip(values.iter().copied()).collect()
}

/// Whether a value keeps a bound. A relative hair is forgiven, so that 0.1 + 0.2 reaches 0.3.
pub fn satisfies(bound: Bound, value: f64) -> bool {
    excess(bound, value) <= 1e-12 * edges(bound).into_iter().fold(0.0, |most, edge| edge.abs().max(most))
}

/// The value of which the bound complains most, by index.
fn worst(bound: Bound, values: &[f64]) -> Option<usize> {
    (0..values.len()).max_by(|&a, &b| excess(bound, values[a]).total_cmp(&excess(bound, values[b])))
}

/// How far a value lies outside a bound; negative by its margin if it lies inside.
fn excess(bound: Bound, value: f64) -> f64 {
    match bound {
        Bound::AtLeast(least) => least - value,
        Bound::AtMost(most) => value - most,
        Bound::Between(least, most) => (least - value).max(value - most),
        Bound::Near { target, within } => (value - target).abs() - (target * within).abs(),
    }
}

/// The values at which a bound turns.
fn edges(bound: Bound) -> Vec<f64> {
    match bound {
        Bound::AtLeast(edge) | Bound::AtMost(edge) => vec![edge],
        Bound::Between(least, most) => vec![least, most],
        Bound::Near { target, within } => vec![target * (1.0 - within), target * (1.0 + within)],
    }
}

fn wanted(claim: &Claim, unit: Unit) -> String {
    let Some(bound) = claim.bound else { return "reported".to_owned() };
    let bound = match bound {
        Bound::AtLeast(least) => format!("≥ {}", unit.show_stated(least)),
        Bound::AtMost(most) => format!("≤ {}", unit.show_stated(most)),
        Bound::Between(least, most) => stated_range(unit, least, most),
        Bound::Near { target, within } => {
            format!("{} ± {}", unit.show_stated(target), Unit::Fraction.show_stated(within))
        }
    };
    let bound = match &claim.measure.relative_to {
        Some(reference) => format!("{bound} × {reference}"),
        None => bound,
    };
    let bound = match &claim.measure.against {
        Some(others) => format!("{bound} × that of {}", others.0),
        None => bound,
    };
    match claim.across {
        Across::Every => bound,
        Across::Median => format!("median {bound}"),
        Across::Mean => format!("mean {bound}"),
        Across::Quantile(q) => format!("{} quantile {bound}", Unit::Fraction.show_stated(q)),
        Across::Fraction(share) => format!("{bound} in {} of runs", Unit::Fraction.show_stated(share)),
    }
}

fn stated_range(unit: Unit, low: f64, high: f64) -> String {
    join_range(&unit.show_stated(low), &unit.show_stated(high))
}

pub(crate) fn range_in_words(unit: Unit, low: f64, high: f64) -> String {
    join_range(&unit.show(low), &unit.show(high))
}

/// `a kB` and `b kB` as `a … b kB`: a shared unit is said once, and so are equal ends.
fn join_range(low: &str, high: &str) -> String {
    if low == high {
        return low.to_owned();
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} … {high}"),
        _ => format!("{low} … {high}"),
    }
}

#[cfg(test)]
mod tests;
