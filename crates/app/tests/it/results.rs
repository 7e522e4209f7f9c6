//! `quell report` and `quell compare`: from recordings, without running anything.

use crate::support::{Desk, TINY, digest};
use std::fs;

#[test]
fn a_report_made_from_recordings_says_what_the_run_said() {
    let desk = Desk::with_tiny();
    let ran = desk.json("run tiny.toml --json --out out");
    let page = desk.read("out/report.html");
    fs::remove_file(desk.path("out/report.html")).unwrap();
    fs::remove_dir_all(desk.path("out/figures")).unwrap();
    let reported = desk.json("report out --json");
    assert_eq!(reported["verdicts"], ran["verdicts"]);
    assert_eq!(digest(&reported), digest(&ran));
    assert_eq!(desk.read("out/report.html"), page, "the same page, octet by octet");
}

#[test]
fn results_can_be_moved_and_reported_elsewhere() {
    let desk = Desk::with_tiny();
    let ran = desk.json("run tiny.toml --json --out out");
    fs::rename(desk.path("out"), desk.path("moved")).unwrap();
    assert_eq!(digest(&desk.json("report moved --json")), digest(&ran));
}

#[test]
fn two_experiments_are_compared_claim_by_claim() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out a").exits(0);
    desk.quell("run tiny.toml --out b --set traffic.0.load=40%").exits(0);
    let did = desk.quell("compare a b --out both.html");
    did.exits(0);
    let head = did.stdout.lines().next().unwrap();
    assert!(head.contains('a') && head.contains('b') && head.contains("change"), "{did:?}");
    let row = |words: &str| {
        did.stdout.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{did:?}"))
    };
    assert!(row("no frame is lost (qcn)").ends_with("same"));
    assert!(row("delivered (qcn)").contains('−'), "less is offered, so less is delivered");
    assert!(did.stdout.ends_with("page both.html\n"));
    let page = desk.read("both.html");
    assert!(page.contains("<svg") && page.contains("traffic.0.load"));
}

#[test]
fn two_runs_of_one_experiment_are_compared_whatever_they_are_called() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out").exits(0);
    let did = desk.quell("compare out/runs/qcn/seed-1 out/runs/pause-only/seed-1");
    did.exits(0);
    assert!(did.stdout.contains("qcn") && did.stdout.contains("pause-only"), "{did:?}");
    assert!(did.stdout.contains("mean latency"), "{did:?}");
    let page = desk.read("compare.html");
    assert!(page.contains("stroke-dasharray"), "the second run's lines are dashed");
}

#[test]
fn a_comparison_is_written_over_an_older_one_and_over_nothing_else() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out --repeat 1").exits(0);
    desk.quell("compare out out").exits(0);
    desk.quell("compare out out").exits(0);
    let report = desk.read("out/report.html");
    desk.write("compare.html", "precious");
    for (line, file) in [
        ("compare out out", "compare.html"),
        ("compare out out --out tiny.toml", "tiny.toml"),
        ("compare out out --out out/report.html", "out/report.html"),
    ] {
        let did = desk.quell(line);
        did.exits(2);
        let words = format!("{file}: is there already and is no page of `quell compare`");
        assert!(did.stderr.contains(&words) && did.stderr.contains("\nhint: "), "{did:?}");
    }
    assert_eq!(desk.read("compare.html"), "precious");
    assert_eq!(desk.read("tiny.toml"), TINY);
    assert_eq!(desk.read("out/report.html"), report);
}

#[test]
fn a_report_of_a_part_says_so_and_is_no_success() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out").exits(0);
    desk.quell("report out").exits(0);
    fs::remove_dir_all(desk.path("out/runs/qcn/seed-2")).unwrap();
    let did = desk.quell("report out --quiet");
    did.exits(1);
    assert!(
        did.stdout.contains("incomplete: 3 of 4 runs are finished, 0 were cut short, 1 never began"),
        "{did:?}"
    );
    let did = desk.quell("report out --json");
    did.exits(1);
    let document: serde_json::Value = serde_json::from_str(&did.stdout).unwrap();
    assert_eq!((&document["complete"], &document["exit"]), (&false.into(), &1.into()));

    fs::remove_dir_all(desk.path("out/runs")).unwrap();
    let did = desk.quell("report out --quiet");
    did.exits(1);
    assert!(did.stdout.contains("incomplete: 0 of 4 runs are finished"), "{did:?}");
    assert_eq!(desk.json("report out --json")["report"], serde_json::Value::Null, "there is nothing to draw");
}

#[test]
fn a_page_that_cannot_be_written_is_a_failure_to_write() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out --repeat 1").exits(0);
    let did = desk.quell("compare out out --out no/such/page.html");
    did.exits(4);
    assert!(
        did.stderr.contains("no/such/page.html: cannot write: ") && did.stderr.contains("\nhint: "),
        "{did:?}"
    );
}
