//! Tables and plots as a terminal shows them.

use crate::pages::{large, small};
use quell_report::figure::Body;
use quell_report::text::{Style, claims_table, summary};

#[test]
fn the_table_of_claims_reads_like_this() {
    insta::assert_snapshot!(claims_table(&small().verdicts, Style::default()), @r"
       claim                                         measured  wanted                 over runs
    ✓  the hot queue returns to Q_EQ and stays        25.1 kB  33 kB ± 25 %           25.1 … 33.9 kB (20)
    the hot link is used
    ✓    none                                           100 %  median ≥ 95 %          100 % (20)
    ✓    qcn                                           99.6 %  median ≥ 95 %          99.0 … 100 % (20)
    no port is held
    ✗    none                                    0 of 20 runs  ≤ 0 s in 90 % of runs  450 ms (20)
    ✓    qcn                                    20 of 20 runs  ≤ 0 s in 90 % of runs  0 s (20)
    how unfair the hot flows are to each other
    ·    none                                            1.00  reported               1.00 (20)
    ·    qcn                                             1.59  reported               1.15 … 2.66 (20)
    ✗  <script>alert(1)</script> & so on                    –  ≤ 1
         seed 1: no input matches `s1->h5`

    2 of 6 claims fail; 2 values are only reported.
    ");
}

#[test]
fn a_summary_fits_a_screen() {
    let text = summary(&small(), Style::default());
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 130));
    let named = |name: &str| text.lines().any(|line| line.starts_with(&format!("  {name} ")));
    assert!(named("none") && named("qcn"), "lines of one panel have no names in {text}");
    assert!(text.contains("qcn h3->h5  ▅"), "no rows of blocks in {text}");
    assert!(text.contains("4 more figures"));
}

#[test]
fn a_line_by_itself_is_plotted_with_its_axes() {
    let mut figure = small().figures.remove(0);
    if let Body::Lines(lines) = &mut figure.panels[0].body {
        lines.truncate(1);
    }
    let text = figure.to_text();
    assert!(text.contains(" kB ┤") && text.contains("└──"), "no plot in {text}");
}

#[test]
fn many_configurations_are_summed_up() {
    let brief = claims_table(&large().verdicts, Style { brief: true, ..Style::default() });
    let full = claims_table(&large().verdicts, Style::default());
    assert!(full.lines().count() > 240);
    assert!(brief.lines().count() < 150, "{brief}");
    assert!(brief.contains("other configurations") || brief.contains("all 24 configurations"));
}

#[test]
fn colours_come_only_when_asked_for() {
    let verdicts = small().verdicts;
    assert!(!claims_table(&verdicts, Style::default()).contains('\u{1b}'));
    assert!(claims_table(&verdicts, Style { colour: true, ..Style::default() }).contains("\u{1b}[31m✗"));
}
