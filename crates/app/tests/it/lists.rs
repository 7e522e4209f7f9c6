//! Flows by the thousand: drawn from built-in data, written as a table, read back, and held to what was read.

use crate::support::Desk;

const DRAWN: &str = r#"
title = "Web search in a small Clos"
run = { length = "1ms", sample = "100us" }
topology = { kind = "clos", leaves = 2, spines = 2, hosts = 4, link = { rate = "100Gb/s" } }
[[traffic]]
pattern = "flows"
sizes = "data/cdf/fb_hadoop_hpcc.csv"
load = "40%"
[[expect]]
metric = "sum(loss)"
at_most = 0
"#;

#[test]
fn flows_drawn_from_built_in_data_can_be_written_and_run_as_a_trace() {
    let desk = Desk::new();
    desk.write("drawn.toml", DRAWN);
    let table = desk.quell("check drawn.toml --flows");
    table.exits(0);
    assert!(table.stdout.lines().count() > 50, "{}", table.stdout);
    desk.write("flows.csv", &table.stdout);
    let traced = DRAWN.replace("pattern = \"flows\"", "pattern = \"trace\"\nfile = \"flows.csv\"");
    let traced = traced.replace("sizes = \"data/cdf/fb_hadoop_hpcc.csv\"\nload = \"40%\"\n", "");
    desk.write("traced.toml", traced);
    let digest = |did: &str| did.lines().find(|line| line.starts_with("digest")).map(str::to_owned);
    let first = desk.quell("run drawn.toml --quiet --out a");
    let second = desk.quell("run traced.toml --quiet --out b");
    first.exits(0);
    second.exits(0);
    assert!(digest(&first.stdout).is_some());
    assert_eq!(digest(&first.stdout), digest(&second.stdout));
    // A folder of results is not continued with other flows.
    desk.write("flows.csv", table.stdout.lines().take(20).collect::<Vec<_>>().join("\n"));
    let changed = desk.quell("run traced.toml --quiet --out b");
    changed.exits(2);
    assert!(
        changed.stderr.contains("holds runs with flows.csv as it was before it changed"),
        "{}",
        changed.stderr
    );
}

#[test]
fn a_file_that_is_not_there_is_told_by_its_key() {
    let desk = Desk::new();
    desk.write("drawn.toml", DRAWN.replace("fb_hadoop_hpcc", "fb_hadop"));
    let did = desk.quell("check drawn.toml");
    did.exits(2);
    assert!(did.stderr.contains("names `data/cdf/fb_hadop.csv`, which cannot be read"), "{}", did.stderr);
}
