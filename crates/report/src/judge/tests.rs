//! Verdicts on values set by hand.

use super::*;
use crate::extract::Totals;
use quell_record::Selector;
use quell_record::claim::{Measure, Metric, Window};

const MS: u64 = 1_000_000_000;

fn claim(reduce: Reduce, across: Across, bound: Option<Bound>) -> Claim {
    Claim {
        text: "it is so".into(),
        configurations: vec!["qcn".into()],
        measure: Measure {
            metric: Metric::Throughput,
            reduce,
            of: Selector("*".into()),
            over: vec![Window { from_ps: 0, to_ps: MS }, Window { from_ps: MS, to_ps: 2 * MS }],
            relative_to: None,
            against: None,
        },
        across,
        bound,
        line: 1,
    }
}

/// A run whose two windows gave its two flows these values.
fn run(configuration: &str, seed: u64, values: [[f64; 2]; 2]) -> Extract {
    let windows = claim(Reduce::Each, Across::Every, None).measure.over;
    let values = values.iter().map(|row| row.iter().map(|&it| Ok(it)).collect()).collect();
    let entities = vec!["f1".into(), "f2".into()];
    Extract {
        configuration: configuration.into(),
        seed,
        claims: vec![Some(Taken { entities, windows, values, problem: None })],
        figures: Vec::new(),
        fairness: None,
        totals: Totals::default(),
        flows: Vec::new(),
        ports: Vec::new(),
    }
}

/// Three seeds; the first flow's second window grows with the seed.
fn runs() -> Vec<Extract> {
    (1..=3_u32).map(|seed| run("qcn", u64::from(seed), [[5e9, 6e9], [f64::from(seed) * 1e9, 7e9]])).collect()
}

fn only(claim: Claim, runs: &[Extract]) -> Verdict {
    judge(&[claim], runs).remove(0)
}

#[test]
fn every_run_is_judged_by_its_worst_entity_and_window() {
    let verdict = only(claim(Reduce::Each, Across::Every, Some(Bound::AtLeast(1e9))), &runs());
    assert_eq!(verdict.holds, Some(true));
    assert_eq!(verdict.shown, "1.00 Gb/s");
    assert_eq!(verdict.wanted, "≥ 1 Gb/s");
    assert_eq!(verdict.per_seed, [(1, 1e9), (2, 2e9), (3, 3e9)]);
    assert_eq!(verdict.shown_spread(), "1.00 … 3.00 Gb/s");
    assert_eq!(verdict.decided_by.as_deref(), Some("f1 in 1ms..2ms"));
    let verdict = only(claim(Reduce::Each, Across::Every, Some(Bound::AtLeast(1.5e9))), &runs());
    assert_eq!(verdict.holds, Some(false));
}

#[test]
fn a_median_is_taken_for_each_entity_before_the_worst_is_chosen() {
    let runs = [
        run("qcn", 1, [[1.0, 9.0], [5.0, 5.0]]),
        run("qcn", 2, [[9.0, 1.0], [5.0, 5.0]]),
        run("qcn", 3, [[9.0, 9.0], [5.0, 5.0]]),
    ];
    // Each flow's median is 9 although in two runs one of them has 1.
    let verdict = only(claim(Reduce::Each, Across::Median, Some(Bound::AtLeast(4.0))), &runs);
    assert_eq!(verdict.measured, Some(5.0));
    assert_eq!(verdict.holds, Some(true));
    let verdict = only(claim(Reduce::Min, Across::Median, Some(Bound::AtLeast(4.0))), &runs);
    assert_eq!(verdict.measured, Some(1.0));
    assert_eq!(verdict.holds, Some(false));
}

#[test]
fn a_fraction_counts_the_runs_that_satisfy_it() {
    let two_thirds = Across::Fraction(2.0 / 3.0);
    let verdict = only(claim(Reduce::Each, two_thirds, Some(Bound::AtLeast(2e9))), &runs());
    assert_eq!((verdict.holds, verdict.shown.as_str()), (Some(true), "2 of 3 runs"));
    assert_eq!(verdict.wanted, "≥ 2 Gb/s in 66.6667 % of runs");
    let verdict = only(claim(Reduce::Each, Across::Fraction(0.7), Some(Bound::AtLeast(2e9))), &runs());
    assert_eq!(verdict.holds, Some(false));
}

#[test]
fn means_and_quantiles_are_taken_over_seeds() {
    // Sums of the second window: 8, 9 and 10 Gb/s; of the first: 11.
    let verdict = only(claim(Reduce::Sum, Across::Mean, Some(Bound::AtLeast(1e9))), &runs());
    assert_eq!(verdict.shown, "9.00 Gb/s");
    let interval = verdict.interval.expect("three runs");
    assert!((interval.0 - (9e9 - 4.303e9 / 3_f64.sqrt())).abs() < 1.0);
    let verdict = only(claim(Reduce::Sum, Across::Quantile(0.75), Some(Bound::AtLeast(1e9))), &runs());
    assert_eq!(verdict.shown, "9.50 Gb/s");
    assert_eq!(verdict.wanted, "75 % quantile ≥ 1 Gb/s");
}

#[test]
fn an_interval_stays_where_values_can_be() {
    // Jain's index of the first window: 1, 1 and 0.5; of the second 1 throughout.
    let runs = [
        run("qcn", 1, [[1.0, 1.0], [5.0, 5.0]]),
        run("qcn", 2, [[1.0, 1.0], [5.0, 5.0]]),
        run("qcn", 3, [[0.0, 1.0], [5.0, 5.0]]),
    ];
    let verdict = only(claim(Reduce::Jain, Across::Every, Some(Bound::AtLeast(0.9))), &runs);
    assert_eq!(verdict.interval.map(|(low, high)| (low > 0.0, high)), Some((true, 1.0)));
    let verdict = only(claim(Reduce::Min, Across::Every, Some(Bound::AtLeast(0.9))), &runs);
    assert_eq!(verdict.interval.map(|(low, high)| (low, high > 1.0)), Some((0.0, true)));
}

#[test]
fn a_value_without_a_bound_is_only_reported() {
    let verdict = only(claim(Reduce::Sum, Across::Every, None), &runs());
    // Means of the two windows: 9.5, 10, 10.5; their median.
    assert_eq!((verdict.holds, verdict.measured), (None, Some(10e9)));
    assert_eq!(verdict.wanted, "reported");
}

#[test]
fn a_ratio_pairs_runs_of_the_same_seed() {
    let mut ratio = claim(Reduce::Min, Across::Every, Some(Bound::Between(1.9, 2.1)));
    ratio.measure.relative_to = Some("none".into());
    let mut all = vec![run("qcn", 1, [[2.0, 3.0], [4.0, 5.0]]), run("none", 1, [[1.0, 3.0], [2.0, 5.0]])];
    let verdict = only(ratio.clone(), &all);
    assert_eq!((verdict.holds, verdict.measured, verdict.unit), (Some(true), Some(2.0), Unit::Plain));
    all.push(run("qcn", 2, [[2.0, 3.0], [4.0, 5.0]]));
    let verdict = only(ratio.clone(), &all);
    assert_eq!(verdict.problem.as_deref(), Some("seed 2: `none` was not run under this seed"));
    let all = [run("qcn", 1, [[2.0, 3.0], [4.0, 5.0]]), run("none", 1, [[0.0, 3.0], [2.0, 5.0]])];
    let verdict = only(ratio, &all);
    assert_eq!(verdict.problem.as_deref(), Some("seed 1: the value in `none` is zero"));
}

#[test]
fn a_number_that_does_not_exist_fails_and_says_why() {
    let mut broken = runs();
    if let Some(taken) = &mut broken[1].claims[0] {
        taken.values[0][1] = Err("`f2` offered nothing in 0ps..1ms".into());
    }
    let verdict = only(claim(Reduce::Each, Across::Every, Some(Bound::AtMost(1e12))), &broken);
    assert_eq!((verdict.holds, verdict.measured, verdict.shown.as_str()), (Some(false), None, "–"));
    assert_eq!(verdict.problem.as_deref(), Some("seed 2: `f2` offered nothing in 0ps..1ms"));
    let verdict = only(claim(Reduce::Each, Across::Every, None), &broken);
    assert_eq!(verdict.holds, None);
    let verdict = only(claim(Reduce::Each, Across::Every, None), &[]);
    assert_eq!(verdict.problem.as_deref(), Some("no run of this configuration"));
}

#[test]
fn bounds_include_their_edges() {
    for (bound, inside, outside) in [
        (Bound::AtLeast(0.3), 0.1 + 0.2, 0.299),
        (Bound::AtMost(0.3), 0.1 + 0.2, 0.301),
        (Bound::Between(1.0, 2.0), 2.0, 0.99),
        (Bound::Near { target: 33.0, within: 0.25 }, 24.75, 41.3),
        (Bound::AtMost(0.0), 0.0, 1e-9),
    ] {
        assert!(satisfies(bound, inside), "{inside} {bound:?}");
        assert!(!satisfies(bound, outside), "{outside} {bound:?}");
    }
}
