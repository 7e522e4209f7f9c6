//! Pages as people get them. Each is left in the target directory, to be looked at.

use crate::synthetic::{MS, Star, bounded, claim, figure};
use quell_record::claim::{Across, Bound, Claim, FigureKind, FigureSpec, Metric, Reduce, Window};
use quell_report::{ConfigurationRow, Extract, Report, RunFact, Setting, compare_page, figures, judge, page};
use std::path::PathBuf;

/// An experiment of these stars under so many seeds.
pub(crate) fn experiment(
    stars: &[(&str, Star)],
    seeds: u64,
    claims: &[Claim],
    specs: &[FigureSpec],
) -> Report {
    let mut extracts = Vec::new();
    for (name, star) in stars {
        for seed in 1..=seeds {
            extracts.push(Extract::take(&star.run(seed), name, seed, claims, specs));
        }
    }
    let axes = |name: &str| match name.split_once('/') {
        Some((scheme, rate)) => vec![("scheme".into(), scheme.into()), ("hot".into(), rate.into())],
        None => vec![("scheme".into(), name.into())],
    };
    Report {
        id: "qau/b1".into(),
        title: "Single hop, output-generated hotspot".into(),
        shows: "QCN: Description and Benchmark Simulations, pp. 11-24".into(),
        about: "Hosts send to one that is slow from 100 ms to 400 ms.\n\nThe numbers are made up.".into(),
        says: "The hot queue returns to its set point.".into(),
        differs: String::new(),
        complete: true,
        verdicts: judge(claims, &extracts),
        figures: figures(specs, &extracts),
        configurations: stars
            .iter()
            .map(|(name, _)| ConfigurationRow::of(name, &axes(name), &extracts))
            .collect(),
        fairness: Vec::new(),
        resolved: vec![
            Setting { path: "run.length".into(), value: "600ms".into(), origin: "b1.toml:7".into() },
            Setting { path: "scheme.gd".into(), value: "1/128".into(), origin: "default".into() },
        ],
        warnings: Vec::new(),
        facts: vec![("version".into(), "0.1.0".into()), ("seeds".into(), format!("1 to {seeds}"))],
        runs: extracts
            .iter()
            .map(|it| RunFact {
                configuration: it.configuration.clone(),
                seed: it.seed,
                digest: format!("{:016x}", it.seed * 7919),
                wall_seconds: 0.25,
                events: 1_234_567,
                directory: format!("runs/{}-{}", it.configuration, it.seed),
            })
            .collect(),
    }
}

fn names(stars: &[(&str, Star)]) -> Vec<String> {
    stars.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn keep(name: &str, text: &str) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join(name), text).expect("the target directory can be written");
}

pub(crate) fn small() -> Report {
    let stars = [("none", Star { reacts: false, ..Star::default() }), ("qcn", Star::default())];
    let all = names(&stars);
    let both = ["none", "qcn"];
    let claims = [
        bounded(
            claim("the hot queue returns to Q_EQ and stays", &["qcn"], Metric::Queue, Reduce::Each, "s1->h5"),
            Across::Every,
            Bound::Near { target: 33_000.0, within: 0.25 },
        ),
        bounded(
            claim("the hot link is used", &both, Metric::Utilisation, Reduce::Each, "s1->h5"),
            Across::Median,
            Bound::AtLeast(0.95),
        ),
        bounded(
            claim("no port is held", &both, Metric::PauseTime, Reduce::Sum, "h*->s1"),
            Across::Fraction(0.9),
            Bound::AtMost(0.0),
        ),
        claim(
            "how unfair the hot flows are to each other",
            &both,
            Metric::Throughput,
            Reduce::MaxOverMin,
            "*->h5",
        ),
        bounded(
            claim("<script>alert(1)</script> & so on", &["qcn"], Metric::PauseCount, Reduce::Each, "s1->h5"),
            Across::Every,
            Bound::AtMost(1.0),
        ),
    ];
    let specs = [
        figure("Queue before the hot port", FigureKind::Queue, "s1->h5", &all, true),
        figure("Queue before the hot port, by configuration", FigureKind::Queue, "s1->h5", &all, false),
        figure("Throughput of the flows", FigureKind::Throughput, "*->h5", &all, false),
        figure("Rate limits", FigureKind::Limit, "*->h5", &all[1..], false),
        figure("When senders are held", FigureKind::Pause, "h*->s1", &all, false),
        figure("Notifications", FigureKind::Cnms, "*->h5", &all[1..], false),
        FigureSpec {
            over: Some(Window { from_ps: 250 * MS, to_ps: 400 * MS }),
            ..figure("Shares of the hot link", FigureKind::Shares, "*->h5", &all, false)
        },
    ];
    experiment(&stars, 20, &claims, &specs)
}

pub(crate) fn large() -> Report {
    let rates = [("2G", 2e9), ("1G", 1e9), ("0.5G", 0.5e9), ("4G", 4e9)];
    let mut stars: Vec<(String, Star)> = Vec::new();
    for scheme in ["none", "pause-only", "qcn-output", "qcn-input", "qcn-random", "qcn-largest"] {
        for (name, hot_bps) in rates {
            let star = Star { reacts: scheme.starts_with("qcn"), hot_bps, senders: 45, ..Star::default() };
            stars.push((format!("{scheme}/{name}"), star));
        }
    }
    let stars: Vec<(&str, Star)> = stars.iter().map(|(name, star)| (name.as_str(), *star)).collect();
    let all = names(&stars);
    let every: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut claims = Vec::new();
    for (index, least) in [0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999].into_iter().enumerate() {
        let one = claim(
            &format!("the hot link is used, reading {index}"),
            &every,
            Metric::Utilisation,
            Reduce::Each,
            "s1->h46",
        );
        claims.push(bounded(Claim { line: index as u32, ..one }, Across::Median, Bound::AtLeast(least)));
    }
    claims.push(claim("fairness", &every, Metric::Throughput, Reduce::Jain, "*->h46"));
    let specs = [
        figure("Queue before the hot port", FigureKind::Queue, "s1->h46", &all, false),
        figure("Throughput of the flows", FigureKind::Throughput, "*->h46", &all, false),
        figure("Shares", FigureKind::Shares, "*->h46", &all, false),
        figure("When senders are held", FigureKind::Pause, "h*->s1", &all[..3], false),
    ];
    experiment(&stars, 3, &claims, &specs)
}

#[test]
fn a_page_tells_every_verdict_and_lets_no_text_become_markup() {
    let report = small();
    let html = page(&report);
    keep("small.html", &html);
    for figure in &report.figures {
        keep(&format!("{}.svg", figure.stem), &figure.to_svg());
    }
    for verdict in &report.verdicts {
        assert!(html.contains(&verdict.shown), "{} is missing", verdict.shown);
        assert!(html.contains(&verdict.configuration));
    }
    assert!(!html.contains("<script>"));
    assert!(html.contains("&lt;script&gt;"));
    assert!(html.contains("2 of 6 claims fail; 2 values are only reported."), "no verdict line");
    for outside in ["http-equiv", "src=\"http", "href=\"http", "@import", "url("] {
        assert!(!html.contains(outside), "the page reaches out with {outside}");
    }
}

#[test]
fn a_page_of_many_configurations_has_a_matrix_and_folds_what_holds() {
    let report = large();
    let html = page(&report);
    keep("large.html", &html);
    assert!(html.contains("class=\"matrix\""));
    assert_eq!(html.matches("<details id=\"claim-").count(), 10);
    assert_eq!(html.matches("class=\"cell ").count(), 240);
}

#[test]
fn a_comparison_overlays_figures_and_lists_what_differs() {
    let first = small();
    let mut second = small();
    second.resolved[1].value = "1/256".into();
    let verdict = second.verdicts.iter_mut().find(|it| it.holds == Some(true)).expect("a claim holds");
    verdict.holds = Some(false);
    let html = compare_page(&first, &second, ["before", "after"]);
    keep("compare.html", &html);
    assert!(html.contains("1&#x2f;256"));
    assert!(!html.contains("run.length"), "a setting that is the same is not listed");
    assert!(html.contains("1 of the claims that hold in the first fail in the second"));
    assert!(html.contains("stroke-dasharray=\"5 3\""), "the second run is dashed");
}

#[test]
fn a_report_survives_being_written_for_machines() {
    let report = small();
    let text = serde_json::to_string(&report).expect("a report is plain data");
    let again: Report = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again.verdicts, report.verdicts);
    assert!(!text.contains("null,null"), "a number that is none became null");
}
