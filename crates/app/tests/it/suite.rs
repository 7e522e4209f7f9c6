//! `quell suite`: many scenarios, one table, one report; interrupted and begun again, broken in part, refused.

use crate::support::{Desk, Did, TINY, files};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// What is fair in the tiny scenario: its two senders share the wire.
const FAIR: &str = "\n[[fair]]\nof = \"*->h3\"\nrate = \"5Gb/s\"\nover = \"2ms..4ms\"\nspan = \"1ms\"\n";

/// A folder `mine` with two tiny scenarios, one of which says what is fair.
fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path("mine")).unwrap();
    desk.write("mine/a.toml", tiny(""));
    desk.write("mine/b.toml", tiny(FAIR).replace("axis.control", "axis.scheme"));
    desk
}

fn tiny(more: &str) -> String {
    format!("{TINY}{more}")
}

#[test]
fn a_suite_runs_every_scenario_and_ends_with_one_table_and_one_report() {
    let desk = desk();
    let did = desk.quell("suite --from mine --out out");
    did.exits(0);
    let table: Vec<Vec<&str>> = did.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        table[0],
        ["scenario", "configuration", "runs", "held", "failed", "distance", "farthest", "queue", "converges"]
    );
    assert_eq!(table[1], ["a", "pause-only", "2", "2", "0"]);
    assert_eq!(table[2], ["a", "qcn", "2", "2", "0"]);
    assert_eq!(table[3][..5], ["b", "pause-only", "2", "2", "0"]);
    assert_eq!(table[3][6], "%", "{did:?}");
    assert!(did.stdout.contains("\nClosest to the stated fair allocations of b comes "), "{did:?}");
    assert!(did.stdout.contains("All 8 claims hold."), "{did:?}");
    assert!(did.stdout.contains("report out/report.html"), "{did:?}");
    assert!(did.stderr.contains("[8/8] "), "a line for each run: {did:?}");
    assert!(did.stderr.contains("b: qcn, seed 2: "), "{did:?}");

    let page = desk.read("out/report.html");
    for part in ["href=\"#table\"", "href=\"#fairness\"", "id=\"b\"", "href=\"b&#x2f;report.html\"", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    // Each scenario is laid out as `quell run` does it, and is the same to the digest.
    let alone = desk.json("run mine/b.toml --json --out alone");
    let names = |folder: &str| files(&desk.path(folder));
    assert_eq!(names("out/b"), names("alone"));
    assert_eq!(desk.json("report out/b --json")["digest"], alone["digest"]);
    assert!(desk.read("out/b/report.html").contains("stated fair allocation"));
    assert!(!desk.read("out/a/report.html").contains("stated fair allocation"));
}

#[test]
fn a_reproduction_page_is_made_with_the_suite_or_afterwards_and_is_the_same() {
    let desk = desk();
    let said = "says = \"Its page 3 says so.\"\ndiffers = \"\"\"\nIn nothing.\n\"\"\"\n";
    let more = "\n[[figure]]\nkind = \"queue\"\ntitle = \"Redrawn\"\nshows = \"p. 4\"\n";
    desk.write("mine/a.toml", format!("{said}{}", tiny(more)));
    let did = desk.quell("suite --from mine --out out --page pages/mine.md");
    did.exits(0);
    assert!(did.stdout.contains("page   pages/mine.md"), "{did:?}");
    let page = desk.read("pages/mine.md");
    let document: Value = desk.json("report out --json");
    for verdict in
        document["scenarios"].as_array().unwrap().iter().flat_map(|it| it["verdicts"].as_array().unwrap())
    {
        let (claim, shown) = (verdict["claim"].as_str().unwrap(), verdict["shown"].as_str().unwrap());
        assert!(page.contains(claim) && page.contains(shown), "{claim} {shown}\n{page}");
    }
    for part in [
        "Its page 3 says so.",
        "In nothing.",
        "**Redrawn**, after p. 4.",
        "quell suite mine --from mine",
        "](mine/fairness.svg)",
        document["digest"].as_str().unwrap(),
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let redrawn = |it: &String| it.starts_with("a-");
    let pictures = files(&desk.path("pages/mine"));
    assert_eq!(pictures.iter().filter(|it| redrawn(it)).count(), 1, "{pictures:?}");
    assert!(pictures.iter().all(|it| page.contains(&format!("](mine/{it})"))), "{pictures:?}");

    desk.write("pages/mine/a-99-old.svg", "");
    desk.quell("report out --page again/mine.md").exits(0);
    assert_eq!(desk.read("again/mine.md"), page);
    desk.quell("report out --page pages/mine.md").exits(0);
    assert_eq!(files(&desk.path("pages/mine")), pictures, "a picture that the page has no more is removed");
    let did = desk.quell("report out/a --page pages/a.md");
    did.exits(2);
    assert!(did.stderr.contains("out/a: is not the folder of a suite\nhint: "), "{did:?}");
}

#[test]
fn a_suite_is_reported_again_from_its_recordings() {
    let desk = desk();
    let made = desk.json("suite --from mine --out out --json");
    let page = desk.read("out/report.html");
    fs::remove_file(desk.path("out/report.html")).unwrap();
    let again = desk.json("report out --json");
    assert_eq!((&again["digest"], &again["answer"]), (&made["digest"], &made["answer"]));
    assert_eq!(desk.read("out/report.html"), page);
    fs::remove_dir_all(desk.path("out/b")).unwrap();
    let did = desk.quell("report out");
    did.exits(2);
    assert!(did.stdout.contains("b could not be run"), "{did:?}");
    assert!(did.stdout.contains("a         qcn"), "the rest is reported: {did:?}");
}

#[test]
fn the_distance_from_what_is_fair_is_that_of_the_recorded_rates() {
    let desk = desk();
    let document = desk.json("suite --from mine --out out --json");
    let scenario = &document["scenarios"][1];
    assert_eq!(scenario["name"], "b");
    for row in scenario["fairness"].as_array().unwrap() {
        let flows = row["flows"].as_array().unwrap();
        assert_eq!(flows.len(), 2);
        let number = |value: &Value| value.as_f64().unwrap();
        assert!(number(&row["mean"]) <= number(&row["farthest"]), "{row}");
        // Two senders of 8 Gb/s fill the wire, so one is as far above its half as the other is below.
        let sum: f64 = flows.iter().map(|flow| number(&flow["measured_bps"])).sum();
        // A frame of each may have begun before the 2 ms that are looked at.
        let edge = 2.0 * 1500.0 * 8.0 / 2e-3;
        assert!((9.0e9..=10.0e9 + edge).contains(&sum), "{row}");
        assert!(number(&row["queue_bytes"]) > 0.0, "{row}");
    }
    assert_eq!(document["scenarios"][0]["fairness"].as_array().unwrap().len(), 0);
    assert!(
        document["answer"]
            .as_str()
            .unwrap()
            .starts_with("Closest to the stated fair allocations of b comes ")
    );
}

#[test]
fn killed_in_the_middle_it_goes_on_and_ends_with_the_same_digests() {
    let desk = Desk::new();
    fs::create_dir(desk.path("mine")).unwrap();
    let longer = TINY.replace("length = \"4ms\"", "length = \"40ms\"").replace("repeat = 2", "repeat = 5");
    desk.write("mine/a.toml", &longer);
    desk.write("mine/b.toml", longer.replace("load = \"80%\"", "load = \"70%\""));
    let whole = desk.json("suite --from mine --json --out whole");
    let mut child = desk.start("suite --from mine --out out --threads 1");
    wait_for(|| finished(&desk.path("out")) >= 12);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = finished(&desk.path("out"));
    assert!((12..20).contains(&before), "{before} of 20 runs were finished when it was killed");

    let resumed = desk.json("suite --from mine --json --out out");
    assert_eq!(resumed["runs"]["resumed"], before);
    assert_eq!(resumed["digest"], whole["digest"]);
    for index in 0..2 {
        assert_eq!(resumed["scenarios"][index]["digest"], whole["scenarios"][index]["digest"]);
        assert_eq!(resumed["scenarios"][index]["verdicts"], whole["scenarios"][index]["verdicts"]);
    }
    // And once more: nothing is left to run.
    let again = desk.json("suite --from mine --json --out out");
    assert_eq!(again["runs"]["resumed"], 20);
    assert_eq!(again["digest"], whole["digest"]);
}

#[test]
fn a_broken_scenario_is_reported_and_the_rest_runs() {
    let desk = desk();
    desk.write("mine/aa.toml", TINY.replace("length = \"4ms\"", "length = \"4\""));
    let did = desk.quell("suite --from mine --out out");
    did.exits(2);
    assert!(did.stderr.contains("mine/aa.toml:6: `run.length` is `4`"), "{did:?}");
    let row = |name: &str| did.stdout.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    assert_eq!(row("aa ").as_deref().map(|it| it.contains("not run")), Some(true), "{did:?}");
    assert!(row("b ").is_some() && row("a ").is_some(), "{did:?}");
    assert!(did.stdout.contains("aa could not be run; see above"), "{did:?}");
    assert!(did.stdout.contains("digest none: one scenario could not be run"), "{did:?}");
    assert!(desk.read("out/report.html").contains("aa.toml:6: `run.length` is `4`"));
    assert_eq!(desk.json("report out/b --json")["complete"], true);
    // Put right, only what is missing runs.
    desk.write("mine/aa.toml", TINY);
    let document = desk.json("suite --from mine --out out --json");
    assert_eq!(document["exit"], 0);
    assert_eq!((&document["runs"]["all"], &document["runs"]["resumed"]), (&12.into(), &8.into()));
}

#[test]
fn a_scenario_that_changed_is_refused_and_the_rest_runs() {
    let desk = desk();
    desk.quell("suite --from mine --out out").exits(0);
    desk.write("mine/a.toml", TINY.replace("80%", "81%"));
    let did = desk.quell("suite --from mine --out out");
    did.exits(2);
    assert!(did.stderr.contains("out/a: holds runs of mine/a.toml as it was before line"), "{did:?}");
    assert!(did.stdout.contains("b         qcn"), "{did:?}");
}

#[test]
fn an_unknown_suite_is_told_the_known_ones() {
    let desk = Desk::new();
    let did: Did = desk.quell("suite nothing");
    did.exits(2);
    assert!(did.stderr.contains("there is no suite `nothing`\nhint: there are: "), "{did:?}");
    assert!(did.stderr.contains("qau"), "{did:?}");
    desk.quell("suite").exits(2);
    fs::create_dir(desk.path("empty")).unwrap();
    for (line, words) in [
        ("suite --from empty", "empty: there is no scenario file in it\nhint: "),
        ("suite --from nowhere", "nowhere: is no folder\nhint: "),
    ] {
        let did = desk.quell(line);
        did.exits(2);
        assert!(did.stderr.contains(words), "{did:?}");
    }
    assert!(files(&desk.path("")).is_empty());
}

#[test]
fn a_folder_of_another_version_suite_or_kind_is_refused_with_the_reason() {
    let desk = desk();
    desk.quell("suite --from mine --out out").exits(0);
    let head = desk.read("out/suite.json");
    let mut other: Value = serde_json::from_str(&head).unwrap();
    other["tool_version"] = "0.0.1+abc".into();
    desk.write("out/suite.json", other.to_string());
    let refused = |line: &str, words: &str| {
        let did = desk.quell(line);
        did.exits(2);
        assert!(did.stderr.contains(words) && did.stderr.contains("\nhint: "), "{did:?}");
    };
    refused("suite --from mine --out out", "out: holds an experiment of version 0.0.1+abc; this is version ");
    desk.write("out/suite.json", &head);

    // The same if only one scenario's folder is.
    let own = desk.read("out/b/experiment.json");
    let mut other: Value = serde_json::from_str(&own).unwrap();
    other["tool_version"] = "0.0.1+abc".into();
    desk.write("out/b/experiment.json", other.to_string());
    refused(
        "suite --from mine --out out",
        "out/b: holds an experiment of version 0.0.1+abc; this is version ",
    );
    desk.write("out/b/experiment.json", own);

    refused("suite --from mine --out out --quick", "out: holds runs with no values set, not with `--quick`");
    refused("suite other --from mine --out out", "out: holds runs of the suite mine, not of the suite other");
    desk.write("out/suite.json", &head[..head.len() / 2]);
    refused("suite --from mine --out out", "out/suite.json:");
    desk.write("out/suite.json", head);
    desk.quell("suite --from mine --out out").exits(0);

    desk.write("file", "precious");
    refused("suite --from mine --out file", "file: is a file, not a folder");
    refused("suite --from mine --out mine", "mine: holds `");
    assert_eq!(desk.read("file"), "precious");
}

#[test]
fn a_quick_suite_has_a_folder_of_its_own_and_takes_up_runs_made_before() {
    let desk = desk();
    let document = desk.json("suite small --from mine --quick --json");
    assert_eq!(document["runs"]["all"], 4);
    assert!(desk.path("results/small-quick/a/report.html").exists());
    desk.quell("run mine/a.toml --out results/small/a").exits(0);
    let document = desk.json("suite small --from mine --repeat 3 --json");
    assert_eq!((&document["runs"]["all"], &document["runs"]["resumed"]), (&12.into(), &4.into()));
}

fn wait_for(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Finished runs in a folder that another process is writing: what vanishes while looking is not there.
fn finished(out: &Path) -> usize {
    let files = std::panic::catch_unwind(|| files(out)).unwrap_or_default();
    files.iter().filter(|it| it.ends_with("manifest.json") && !it.contains(".partial")).count()
}
