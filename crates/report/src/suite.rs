//! Several experiments that belong together: what they claim, and which scheme comes closest to what they call
//! fair.

use crate::fairness::FairnessRow;
use crate::figure::{Bar, Body, Figure, Group, Panel};
use crate::report::{Report, Tally};
use crate::unit::Unit;
use quell_record::claim::FigureKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A suite, gathered by whoever ran it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// What it is called.
    pub name: String,
    /// Its scenarios, in order.
    pub scenarios: Vec<SuiteScenario>,
    /// Facts of the suite as a whole, name and value: version, runs, time taken, digest.
    pub facts: Vec<(String, String)>,
    /// The command that makes it again.
    pub command: String,
}

/// One scenario of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SuiteScenario {
    /// What tables call it: `b7`.
    pub name: String,
    /// Its report; without one it could not be run.
    pub report: Option<Report>,
    /// Where its own page is, from the suite's.
    pub link: String,
    /// Why it could not be run, or not wholly; may have several lines.
    pub trouble: Option<String>,
}

/// One line of the suite's table: a configuration of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteRow<'a> {
    /// The scenario.
    pub scenario: &'a str,
    /// The configuration.
    pub configuration: &'a str,
    /// Runs that were finished.
    pub runs: usize,
    /// How its claims came out.
    pub tally: Tally,
    /// How far it is from what is called fair.
    pub fairness: Option<&'a FairnessRow>,
}

impl SuiteScenario {
    /// Its lines of the suite's table.
    pub fn rows(&self) -> Vec<SuiteRow<'_>> {
        let Some(report) = &self.report else { return Vec::new() };
        report
            .configurations
            .iter()
            .map(|it| {
                let own: Vec<_> = report
                    .verdicts
                    .iter()
                    .filter(|verdict| verdict.configuration == it.name)
                    .cloned()
                    .collect();
                SuiteRow {
                    scenario: &self.name,
                    configuration: &it.name,
                    runs: it.runs,
                    tally: Tally::of(&own),
                    fairness: report.fairness.iter().find(|row| row.configuration == it.name),
                }
            })
            .collect()
    }

    /// Whether it has a report on finished runs, and nothing else to complain of.
    pub fn is_whole(&self) -> bool {
        self.trouble.is_none() && self.report.as_ref().is_some_and(|report| report.complete)
    }
}

impl Suite {
    /// How the claims of all scenarios came out.
    pub fn tally(&self) -> Tally {
        let reports = self.scenarios.iter().filter_map(|it| it.report.as_ref());
        let tallies = reports.map(|report| Tally::of(&report.verdicts));
        tallies.fold(Tally::default(), |sum, it| Tally {
            holding: sum.holding + it.holding,
            failing: sum.failing + it.failing,
            reported: sum.reported + it.reported,
        })
    }

    /// The scenarios that call an allocation fair.
    pub fn fair_scenarios(&self) -> Vec<&str> {
        let states =
            |it: &&SuiteScenario| it.report.as_ref().is_some_and(|report| !report.fairness.is_empty());
        self.scenarios.iter().filter(states).map(|it| it.name.as_str()).collect()
    }

    /// The schemes against the allocations that are called fair, the closest first; those that were not run on
    /// all of the scenarios come last, for they cannot be compared.
    pub fn ranking(&self) -> Vec<Ranked<'_>> {
        let mut schemes: BTreeMap<&str, Vec<(&str, &FairnessRow)>> = BTreeMap::new();
        for scenario in &self.scenarios {
            for row in scenario.report.iter().flat_map(|report| &report.fairness) {
                schemes.entry(&row.scheme).or_default().push((&scenario.name, row));
            }
        }
        let count = self.fair_scenarios().len();
        let mut ranked: Vec<Ranked<'_>> =
            schemes.into_iter().map(|(name, of)| Ranked::of(name, of)).collect();
        ranked.sort_by(|a, b| {
            let partial = |it: &Ranked<'_>| it.scenarios < count;
            partial(a).cmp(&partial(b)).then(a.mean.total_cmp(&b.mean))
        });
        ranked
    }

    /// Which scheme comes closest, and at what cost, in a sentence or two.
    pub fn answer(&self) -> Option<String> {
        let count = self.fair_scenarios().len();
        let (ranking, partial): (Vec<_>, Vec<_>) =
            self.ranking().into_iter().partition(|it| it.scenarios == count);
        let first = ranking.first()?;
        let mut words = format!(
            "Closest to the stated fair allocations of {} comes {}: {} away on average, the farthest flow {}, \
             with a mean queue of {} and {}.",
            in_a_row(&self.fair_scenarios()),
            first.scheme,
            in_percent(first.mean),
            in_percent(first.farthest),
            Unit::Bytes.show(first.queue_bytes),
            first.converged_in_words(),
        );
        if let Some(second) = ranking.get(1) {
            words.push_str(&format!(
                " Next is {}: {} away, a mean queue of {}, {}.",
                second.scheme,
                in_percent(second.mean),
                Unit::Bytes.show(second.queue_bytes),
                second.converged_in_words(),
            ));
        }
        if !partial.is_empty() {
            let names: Vec<&str> = partial.iter().map(|it| it.scheme).collect();
            words.push_str(&format!(" Not run on all of these, and so not compared: {}.", in_a_row(&names)));
        }
        Some(words)
    }

    /// The distances as bars: a group for each scheme, a bar for each scenario.
    pub fn figure(&self) -> Option<Figure> {
        let names = self.fair_scenarios();
        let group = |it: &Ranked<'_>| Group {
            name: it.scheme.to_owned(),
            bars: names
                .iter()
                .enumerate()
                .flat_map(|(colour, name)| {
                    it.of.iter().filter(move |(scenario, _)| scenario == name).map(move |(_, row)| Bar {
                        name: (*name).to_owned(),
                        value: row.mean,
                        range: row.range,
                        colour,
                        dashed: false,
                    })
                })
                .collect(),
        };
        let groups: Vec<Group> = self.ranking().iter().map(group).collect();
        (!groups.is_empty()).then(|| Figure {
            title: "How far each scheme is from the stated fair allocation".to_owned(),
            shows: String::new(),
            stem: "fairness".to_owned(),
            kind: FigureKind::Shares,
            caption: "Bars: the distance of a flow's throughput from its stated fair rate, as a share of that rate, \
                      mean over flows and median over runs; whiskers: the least and the greatest run. Lower is \
                      fairer; the schemes are in order."
                .to_owned(),
            unit: Unit::Fraction,
            panels: vec![Panel {
                title: String::new(),
                body: Body::Bars(groups),
                references: Vec::new(),
                instants: Vec::new(),
            }],
        })
    }
}

/// One scheme over all scenarios that call an allocation fair.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked<'a> {
    /// The scheme.
    pub scheme: &'a str,
    /// Scenario and numbers, in the order of the suite; a scenario may be there several times.
    pub of: Vec<(&'a str, &'a FairnessRow)>,
    /// How many scenarios that are.
    pub scenarios: usize,
    /// The mean distance, every scenario counting alike.
    pub mean: f64,
    /// The distance of the farthest flow of all.
    pub farthest: f64,
    /// The longest mean queue of all, in octets.
    pub queue_bytes: f64,
    /// The longest time to converge of all; `None` if it does not in some scenario.
    pub converged_seconds: Option<f64>,
}

impl<'a> Ranked<'a> {
    fn of(scheme: &'a str, of: Vec<(&'a str, &'a FairnessRow)>) -> Ranked<'a> {
        let means: Vec<f64> = of
            .chunk_by(|a, b| a.0 == b.0)
            .map(|rows| rows.iter().map(|(_, row)| row.mean).sum::<f64>() / rows.len() as f64)
            .collect();
        let most =
            |of_row: fn(&FairnessRow) -> f64| of.iter().map(|(_, row)| of_row(row)).fold(0.0, f64::max);
        Ranked {
            scheme,
            scenarios: means.len(),
            mean: means.iter().sum::<f64>() / means.len().max(1) as f64,
            farthest: most(|row| row.farthest),
            queue_bytes: most(|row| row.queue_bytes),
            converged_seconds: of
                .iter()
                .try_fold(0.0_f64, |most, (_, row)| row.converged_seconds.map(|it| most.max(it))),
            of,
        }
    }

    /// When it converges, as the end of a sentence.
    pub fn converged_in_words(&self) -> String {
        let never: Vec<&str> = self
            .of
            .iter()
            .filter(|(_, row)| row.converged_seconds.is_none())
            .map(|(name, _)| *name)
            .collect();
        match self.converged_seconds {
            Some(seconds) => format!("typically converged after at most {}", Unit::Seconds.show(seconds)),
            None => format!("never converged in {}", in_a_row(&never)),
        }
    }
}

/// A distance as people read it: below a thousandth nobody asks how far.
pub(crate) fn in_percent(distance: f64) -> String {
    if distance < 0.001 { "< 0.1 %".to_owned() } else { Unit::Fraction.show(distance) }
}

/// `b3, b7 and b8`, each once.
pub(crate) fn in_a_row(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.dedup();
    match names.split_last() {
        None => String::new(),
        Some((one, [])) => (*one).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheme: &str, mean: f64, converged_seconds: Option<f64>) -> FairnessRow {
        FairnessRow {
            configuration: scheme.to_owned(),
            scheme: scheme.to_owned(),
            runs: 1,
            farthest: mean * 2.0,
            mean,
            range: (mean, mean),
            queue_bytes: 1000.0 * mean,
            converged_seconds,
            converged_runs: usize::from(converged_seconds.is_some()),
            flows: Vec::new(),
        }
    }

    fn suite(rows: [Vec<FairnessRow>; 3]) -> Suite {
        let scenario = |(name, fairness): (&str, Vec<FairnessRow>)| SuiteScenario {
            name: name.to_owned(),
            report: Some(Report { fairness, ..Report::default() }),
            ..SuiteScenario::default()
        };
        let scenarios = ["b1", "b2", "b3"].into_iter().zip(rows).map(scenario).collect();
        Suite { name: "s".to_owned(), scenarios, ..Suite::default() }
    }

    #[test]
    fn the_closest_over_all_scenarios_comes_first_and_what_was_not_run_on_all_last() {
        let suite = suite([
            Vec::new(),
            vec![row("slow", 0.5, None), row("near", 0.1, Some(0.2)), row("new", 0.01, Some(0.1))],
            vec![row("slow", 0.1, Some(0.3)), row("near", 0.2, Some(0.1))],
        ]);
        let ranking = suite.ranking();
        let order: Vec<(&str, usize)> = ranking.iter().map(|it| (it.scheme, it.scenarios)).collect();
        assert_eq!(order, [("near", 2), ("slow", 2), ("new", 1)]);
        assert!((ranking[0].mean - 0.15).abs() < 1e-12 && (ranking[0].farthest - 0.4).abs() < 1e-12);
        assert_eq!(ranking[0].converged_seconds, Some(0.2), "the longest");
        assert_eq!(
            suite.answer().unwrap(),
            "Closest to the stated fair allocations of b2 and b3 comes near: 15.0 % away on average, the farthest \
             flow 40.0 %, with a mean queue of 200 B and typically converged after at most 200 ms. Next is slow: 30.0 % away, \
             a mean queue of 500 B, never converged in b2. Not run on all of these, and so not compared: new."
        );
        let Body::Bars(groups) = &suite.figure().unwrap().panels[0].body else { panic!("bars") };
        assert_eq!(groups.iter().map(|it| it.bars.len()).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn several_configurations_of_a_scenario_count_as_one() {
        let suite = suite([
            vec![row("a", 0.1, None), row("a", 0.3, None), row("b", 0.25, None)],
            vec![row("a", 0.4, None), row("b", 0.25, None)],
            Vec::new(),
        ]);
        let means: Vec<f64> = suite.ranking().iter().map(|it| it.mean).collect();
        assert!((means[0] - 0.25).abs() < 1e-12 && (means[1] - 0.3).abs() < 1e-12, "{means:?}");
    }

    #[test]
    fn a_suite_that_calls_nothing_fair_has_no_answer_and_no_figure() {
        let suite = suite([Vec::new(), Vec::new(), Vec::new()]);
        assert_eq!((suite.answer(), suite.figure()), (None, None));
    }
}
