//! Ctrl-C and worse: what was computed is kept, and the next run goes on from there.

use crate::support::{Desk, TINY, digest, files};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn ctrl_c_keeps_what_was_computed_and_says_so() {
    let desk = Desk::new();
    // Longer than anyone waits.
    desk.write("long.toml", TINY.replace("length = \"4ms\"", "length = \"500s\"").replace("100us", "1ms"));
    let child = desk.start("run long.toml --out out --threads 2");
    wait_for(|| files_in(&desk.path("out")).iter().any(|it| it.contains(".partial/series.parquet")));
    thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("0 of 4 runs are finished, 2 were cut short, 2 never began"), "{stderr}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("none: 0 of 4 runs are finished"));

    let manifest: serde_json::Value =
        serde_json::from_str(&desk.read("out/runs/pause-only/seed-1/manifest.json")).unwrap();
    assert_eq!(manifest["complete"], false);
    assert!(manifest["simulated_ps"].as_u64().unwrap() > 0);
    let document = desk.json("report out --json");
    assert_eq!((&document["complete"], &document["exit"]), (&false.into(), &1.into()));
    assert_eq!(document["verdicts"].as_array().unwrap().len(), 0, "what is not finished is not judged");
    let states: Vec<&str> =
        document["runs"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["interrupted", "interrupted", "not-begun", "not-begun"]);
    assert!(desk.read("out/report.html").contains("<svg"), "its figures show what there is");
}

#[test]
fn killed_in_the_middle_it_goes_on_and_ends_with_the_same_digest() {
    let desk = Desk::new();
    desk.write(
        "net.toml",
        TINY.replace("length = \"4ms\"", "length = \"40ms\"").replace("repeat = 2", "repeat = 8"),
    );
    let whole = digest(&desk.json("run net.toml --json --out whole"));
    let mut child = desk.start("run net.toml --out out --threads 1");
    wait_for(|| finished(&desk.path("out")) >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = finished(&desk.path("out"));
    assert!((2..16).contains(&before), "{before} runs were finished when it was killed");
    let document = desk.json("run net.toml --json --out out");
    assert_eq!(digest(&document), whole);
    let resumed =
        document["runs"].as_array().unwrap().iter().filter(|run| run["was_resumed"] == true).count();
    assert_eq!(resumed, before);
}

#[test]
fn two_processes_do_not_write_to_one_folder() {
    let desk = Desk::new();
    desk.write("long.toml", TINY.replace("length = \"4ms\"", "length = \"500s\"").replace("100us", "1ms"));
    let child = desk.start("run long.toml --out out");
    wait_for(|| desk.path("out/experiment.json").exists());
    let did = desk.quell("run long.toml --out out");
    did.exits(2);
    assert!(did.stderr.contains("out: another process is writing here\nhint: "), "{did:?}");
    let did = desk.quell("report out --quiet");
    did.exits(1);
    assert!(
        did.stdout.contains("incomplete: a run is in progress here; 0 of 4 runs are finished"),
        "{did:?}"
    );
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn ctrl_c_while_the_scenario_is_still_being_read_ends_with_the_code_for_it() {
    let desk = Desk::new();
    let pipe = desk.path("slow.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    let child = desk.start("run slow.toml");
    // Opens once the other side reads, and keeps it waiting.
    let _writer = fs::File::options().write(true).open(&pipe).unwrap();
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(files(&desk.path("")), ["slow.toml"], "nothing was written");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the signal was sent");
}

fn wait_for(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

fn finished(out: &Path) -> usize {
    files_in(out).iter().filter(|it| it.ends_with("manifest.json") && !it.contains(".partial")).count()
}

/// The files of a folder that another process is writing: what vanishes while looking is not there.
fn files_in(out: &Path) -> Vec<String> {
    std::panic::catch_unwind(|| files(out)).unwrap_or_default()
}
