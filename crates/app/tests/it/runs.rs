//! `quell run`: the same in, the same out; what is there is not run again; a different run is not overwritten.

use crate::support::{Desk, TINY, digest, files};
use std::fs;

#[test]
fn the_same_seed_gives_the_same_digest_on_any_number_of_threads() {
    let desk = Desk::with_tiny();
    let run =
        |out: &str, flags: &str| digest(&desk.json(&format!("run tiny.toml --json --out {out} {flags}")));
    let first = run("a", "--threads 1");
    assert_eq!(run("b", "--threads 2"), first);
    assert_eq!(run("c", "--threads 7"), first);
    assert_eq!(run("d", "--wire-check"), first);
    assert_ne!(run("e", "--seed 77"), first);
}

#[test]
fn no_threads_too_many_and_more_than_a_network_can_use_are_explained_and_change_nothing() {
    let desk = Desk::with_tiny();
    let first = digest(&desk.json("run tiny.toml --json --out first --config qcn --repeat 1 --threads 1"));
    let run = |threads: &str| {
        let did = desk.quell(&format!(
            "run tiny.toml --out t{threads} --config qcn --repeat 1 --threads {threads} --expect-digest {first}"
        ));
        did.exits(0);
        did.stderr
    };
    let none = run("0");
    let cores = std::thread::available_parallelism().unwrap().get();
    let explained = format!("--threads 0: nothing runs on no thread; taking {cores}");
    assert!(none.lines().any(|line| line.ends_with(&explained)), "{none}");
    let many = run("5000");
    assert!(many.contains("--threads 5000: this machine has"), "{many}");
    assert!(many.contains("the run is simulated by one thread: a thread pays for each 128 links"), "{many}");
}

#[test]
fn every_run_has_the_digest_it_has_alone() {
    let desk = Desk::with_tiny();
    let together = desk.json("run tiny.toml --json --out together");
    let alone = desk.json("run tiny.toml --json --out alone --config qcn --seed 2 --repeat 1");
    let of = |document: &serde_json::Value| {
        let runs = document["runs"].as_array().unwrap().clone();
        runs.into_iter().find(|run| run["configuration"] == "qcn" && run["seed"] == 2).unwrap()["digest"]
            .clone()
    };
    assert_eq!(of(&together), of(&alone));
    assert_eq!(digest(&alone), of(&alone), "one run alone is known by its own digest");
    assert_eq!(alone["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn an_expected_digest_that_differs_fails_the_command() {
    let desk = Desk::with_tiny();
    let right = digest(&desk.json("run tiny.toml --json --out out"));
    desk.quell(&format!("run tiny.toml --out out --expect-digest {right}")).exits(0);
    desk.quell(&format!("run tiny.toml --out out --expect-digest {}", right[..16].to_uppercase())).exits(0);
    let did = desk.quell("run tiny.toml --out out --expect-digest 0123456789abcdef");
    did.exits(1);
    assert!(did.stderr.contains(&format!("the digest is {}, not 0123456789abcdef", &right[..16])), "{did:?}");
}

#[test]
fn a_run_says_what_it_found_and_where_it_is() {
    let desk = Desk::with_tiny();
    let did = desk.quell("run tiny.toml");
    did.exits(0);
    assert_eq!(did.stderr, "", "no terminal, no progress");
    for words in [
        "Two senders, one receiver",
        "✓    pause-only",
        "All 4 claims hold.",
        "queue of s1->h3",
        "report results/tiny/report.html",
        "(4 runs)",
    ] {
        assert!(did.stdout.contains(words), "{words}: {}", did.stdout);
    }
    assert!(!did.stdout.contains('\u{1b}'), "colour without a terminal");
    let found = files(&desk.path("results/tiny"));
    for name in [
        "experiment.json",
        "report.html",
        "runs/qcn/seed-1/events.parquet",
        "runs/qcn/seed-1/flows.parquet",
        "runs/qcn/seed-1/manifest.json",
        "runs/qcn/seed-1/series.parquet",
        "runs/qcn/seed-1/summary.json",
    ] {
        assert!(found.iter().any(|it| it == name), "{name} is not in {found:?}");
    }
    assert!(found.iter().any(|it| it.starts_with("figures/") && it.ends_with(".svg")), "{found:?}");
    assert!(found.iter().any(|it| it.starts_with("figures/") && it.ends_with(".csv")), "{found:?}");
    let page = desk.read("results/tiny/report.html");
    assert!(page.contains("no frame is lost") && page.contains("<svg"));
    assert!(!page.contains("http://") || !page.contains("src=\"http"), "the page opens offline");
}

#[test]
fn a_quick_run_is_another_run_in_another_folder() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet").exits(0);
    let did = desk.quell("run tiny.toml --quick --quiet");
    did.exits(0);
    assert!(did.stdout.contains("report results/tiny-quick/report.html"), "{did:?}");
    assert!(did.stdout.contains("(2 runs)"), "{did:?}");
    let did = desk.quell("run tiny.toml --quick --out results/tiny");
    did.exits(2);
    assert!(did.stderr.contains("not with `--quick=yes`"), "{did:?}");
}

#[test]
fn a_failed_claim_fails_the_command() {
    let desk = Desk::new();
    desk.write("net.toml", TINY.replace("at_least = \"50%\"", "at_least = \"100.5%\""));
    let did = desk.quell("run net.toml --quiet");
    did.exits(1);
    assert!(did.stdout.contains("2 of 4 claims fail."), "{did:?}");
    let document = desk.json("run net.toml --json");
    assert_eq!(document["exit"], 1);
    assert_eq!(document["claims"]["fail"], 2);
}

#[test]
fn json_holds_claims_verdicts_and_digests() {
    let desk = Desk::with_tiny();
    let document = desk.json("run tiny.toml --json --set scheme.gd=1/256");
    assert_eq!(document["scenario"]["id"], "tiny.toml");
    assert_eq!(document["overrides"][0], "scheme.gd=1/256");
    assert_eq!(document["exit"], 0);
    assert_eq!(document["complete"], true);
    assert_eq!(document["claims"]["hold"], 4);
    let verdict = &document["verdicts"][2];
    assert_eq!(verdict["claim"], "the receiver's wire is busy");
    assert_eq!(verdict["configuration"], "pause-only");
    assert_eq!(verdict["holds"], true);
    assert!(verdict["measured"].as_f64().unwrap() > 0.5);
    assert_eq!(verdict["per_seed"].as_array().unwrap().len(), 2);
    for run in document["runs"].as_array().unwrap() {
        assert_eq!(run["state"], "complete");
        assert_eq!(run["digest"].as_str().unwrap().len(), 64);
        assert!(run["ending"]["frame_hops"].as_u64().unwrap() > 1000);
    }
    assert!(desk.path(document["report"].as_str().unwrap()).is_file());
}

#[test]
fn finished_runs_are_not_run_again_and_more_seeds_join_them() {
    let desk = Desk::with_tiny();
    let first = desk.json("run tiny.toml --json --out out");
    let manifest = desk.read("out/runs/qcn/seed-1/manifest.json");
    fs::remove_dir_all(desk.path("out/runs/qcn/seed-2")).unwrap();

    let second = desk.json("run tiny.toml --json --out out");
    assert_eq!(digest(&second), digest(&first));
    let resumed: Vec<bool> =
        second["runs"].as_array().unwrap().iter().map(|run| run["was_resumed"].as_bool().unwrap()).collect();
    assert_eq!(resumed, [true, true, true, false]);
    assert_eq!(
        second["verdicts"], first["verdicts"],
        "a run that was read says what it said when it was made"
    );

    let third = desk.quell("run tiny.toml --quiet --out out --repeat 3");
    third.exits(0);
    assert!(third.stdout.contains("(6 runs, 4 of which were there already)"), "{third:?}");
    assert_eq!(desk.read("out/runs/qcn/seed-1/manifest.json"), manifest, "a finished run is left as it is");
}

#[test]
fn a_scenario_without_a_short_form_says_that_it_runs_whole() {
    let desk = Desk::with_tiny();
    let words = "net.toml: has no short form, no table [quick]; `--quick` leaves it whole";
    desk.write("net.toml", &TINY[..TINY.find("[quick]").unwrap()]);
    let did = desk.quell("run net.toml --quick --quiet");
    did.exits(0);
    assert!(did.stderr.contains(words) && did.stdout.contains("(4 runs)"), "{did:?}");
    assert!(desk.quell("check net.toml --quick --quiet").stderr.contains(words));
    // That of the file it extends is its own.
    desk.write("net.toml", "title = \"Own\"\nextends = \"tiny.toml\"\n");
    assert_eq!(desk.quell("check net.toml --quick --quiet").stderr, "");
}

#[test]
fn a_different_run_is_refused_with_what_differs() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out").exits(0);
    let before = desk.read("out/experiment.json");
    let did = desk.quell("run tiny.toml --out out --set scheme.gd=1/256");
    did.exits(2);
    assert!(did.stderr.contains("out: holds runs with no values set, not with `scheme.gd=1/256`"), "{did:?}");
    assert!(did.stderr.contains("hint: choose another folder with `--out DIR`"), "{did:?}");
    desk.write("tiny.toml", TINY.replace("load = \"80%\"", "load = \"70%\""));
    let did = desk.quell("run tiny.toml --out out");
    did.exits(2);
    assert!(did.stderr.contains("out: holds runs of tiny.toml as it was before line "), "{did:?}");
    assert_eq!(desk.read("out/experiment.json"), before);
}

#[test]
fn a_broken_invariant_names_port_and_time_and_the_other_runs_are_reported() {
    let desk = Desk::new();
    // Room for one input's 110 kB, not for two: a lossless class must drop.
    desk.write("net.toml", TINY.replace("memory = \"450kB\"", "memory = \"150kB\""));
    let did = desk.quell("run net.toml --quiet --out out");
    did.exits(3);
    assert!(did.stderr.contains("pause-only, seed 1: at "), "{did:?}");
    assert!(did.stderr.contains("port s1->h3 dropped a frame of lossless priority 0"), "{did:?}");
    assert!(did.stderr.contains("it broke likewise under seed 2"), "{did:?}");
    assert!(did.stdout.contains("not judged, for want of a finished run: pause-only"), "{did:?}");
    assert!(did.stdout.contains("none: 2 of 4 runs are finished"), "{did:?}");
    assert!(desk.read("out/report.html").contains("port s1-&gt;h3 dropped a frame"), "the page says so too");
    // What was recorded until then can be read, and still says that it broke.
    let again = desk.quell("report out --quiet");
    again.exits(3);
    assert!(again.stderr.contains("port s1->h3 dropped a frame"), "{again:?}");
}

#[test]
fn a_scenario_may_extend_one_beside_it() {
    let desk = Desk::with_tiny();
    fs::create_dir(desk.path("nets")).unwrap();
    desk.write("nets/base.toml", TINY);
    desk.write("nets/own.toml", "title = \"Own\"\nextends = \"base.toml\"\n[run]\nrepeat = 1\n");
    let did = desk.quell("run nets/own.toml --quiet");
    did.exits(0);
    assert!(did.stdout.contains("results/own/report.html") && did.stdout.contains("(2 runs)"), "{did:?}");
    // The base is part of the run: another one is another run.
    desk.write("nets/base.toml", TINY.replace("load = \"80%\"", "load = \"70%\""));
    let did = desk.quell("run nets/own.toml");
    did.exits(2);
    assert!(did.stderr.contains("the file that nets/own.toml extends"), "{did:?}");
}

#[test]
fn the_starter_scenario_runs_and_its_claims_hold() {
    let desk = Desk::new();
    let did = desk.quell("init");
    did.exits(0);
    assert!(did.stdout.contains("next: quell check my-network.toml"), "{did:?}");
    desk.quell("check my-network.toml").exits(0);
    let did = desk.quell("run my-network.toml --quiet");
    did.exits(0);
    assert_eq!(did.stderr, "", "no warning: it is what people copy");
    let did = desk.quell("init");
    did.exits(2);
    assert!(did.stderr.contains("my-network.toml: is there already, and is left as it is"), "{did:?}");
    let printed = desk.quell("init -");
    assert_eq!(printed.stdout, desk.read("my-network.toml"));
    desk.quell("init no/such/folder.toml").exits(4);
}
