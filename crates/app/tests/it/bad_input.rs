//! What cannot be done: a message with the place and the remedy, the right exit code, never a panic.

use crate::support::{Desk, TINY, files};
use std::fs;
use std::process::{Command, Stdio};

/// A line of the tiny scenario changed, and what must be said of it.
struct Case {
    what: &'static str,
    change: (&'static str, &'static str),
}

const CASES: &[Case] = &[
    Case { what: "unknown key", change: ("length = \"4ms\"", "length = \"4ms\"\nlenght = \"5ms\"") },
    Case { what: "wrong unit", change: ("sample = \"100us\"", "sample = \"100kB\"") },
    Case { what: "bare number", change: ("sample = \"100us\"", "sample = 100") },
    Case { what: "GO above STOP", change: ("go = \"90kB\"", "go = \"120kB\"") },
    Case {
        what: "XOFF without headroom",
        change: ("kind = \"output-queued\"\nmemory = \"450kB\"", "kind = \"voq\"\ninput_memory = \"112kB\""),
    },
    Case { what: "flow to a missing host", change: ("to = \"h3\"", "to = \"h9\"") },
    Case {
        what: "disconnected graph",
        change: (
            "kind = \"star\"\nhosts = 3\nlink = { rate = \"10Gb/s\", delay = \"1us\" }",
            "kind = \"graph\"\nhosts = [\"h1\", \"h2\", \"h3\"]\nswitches = [\"s1\", \"s2\"]\nlinks = [\n\
             { ends = [\"h1\", \"s1\"], rate = \"10Gb/s\", delay = \"1us\" },\n\
             { ends = [\"h2\", \"s1\"], rate = \"10Gb/s\", delay = \"1us\" },\n\
             { ends = [\"h3\", \"s2\"], rate = \"10Gb/s\", delay = \"1us\" },\n]",
        ),
    },
    Case { what: "zero rate", change: ("rate = \"10Gb/s\"", "rate = \"0Gb/s\"") },
    Case { what: "claim on a flow that is not there", change: ("of = \"*\"", "of = \"h1->h9\"") },
    Case { what: "not TOML at all", change: ("[run]", "[run") },
    Case { what: "a base that is not there", change: ("[run]", "extends = \"bass.toml\"\n[run]") },
];

#[test]
fn a_bad_scenario_is_refused_with_its_line_and_a_remedy() {
    let mut told = String::new();
    for case in CASES {
        let desk = Desk::new();
        let (good, bad) = case.change;
        assert_eq!(TINY.matches(good).count().min(1), 1, "{}: the tiny scenario has no `{good}`", case.what);
        desk.write("net.toml", TINY.replacen(good, bad, 1));
        for line in ["check net.toml", "run net.toml"] {
            let did = desk.quell(line);
            did.exits(2);
            assert!(did.stdout.is_empty(), "{}: {did:?}", case.what);
            let has_place = did.stderr.lines().any(|line| {
                let rest = line.strip_prefix("net.toml:").unwrap_or_default();
                rest.split_once(": ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
            });
            assert!(has_place, "{}: names no line: {did:?}", case.what);
            if line.starts_with("check") {
                told.push_str(&format!("# {}\n{}\n", case.what, did.stderr));
            }
        }
        assert_eq!(files(&desk.path("")), ["net.toml"], "{}: something was written", case.what);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let desk = Desk::with_tiny();
    for (line, words) in [
        ("run tiny.toml --set scheme.gdd=1/256", "scheme.gd"),
        ("run tiny.toml --set scheme.gd", "PATH=VALUE"),
        ("run tiny.toml --set run.length=5", "without a unit"),
        ("run tiny.toml --set extends=base.toml", "`extends` is read from the file only\nhint: "),
        ("check tiny.toml --set quick.run.repeat=3", "`quick` is read from the file only\nhint: "),
        ("run tiny.toml --seed 7 --set run.seed=8", "`--seed 7` and `--set run.seed=8` both set `run.seed`"),
        ("run tiny.toml --seed 7 --set run={seed=8}", "`--seed 7` and `--set run={seed=8}` both set"),
        ("run tiny.toml --repeat 1 --set run.repeat=2", "`--repeat 1` and `--set run.repeat=2` both set"),
        ("run tiny.toml --repeat 0", "--repeat"),
        ("run tiny.toml --seed -1", "-1"),
        ("run tiny.toml --seed 18446744073709551615", "9223372036854775807"),
        ("run tiny.toml --expect-digest xyz", "hexadecimal"),
        ("run tiny.toml --config qcm", "there are: pause-only, qcn"),
        ("run", "<ID|FILE>"),
        ("fly", "fly"),
    ] {
        let did = desk.quell(line);
        did.exits(2);
        assert!(did.stderr.contains(words), "{line}: {did:?}");
    }
    assert_eq!(files(&desk.path("")), ["tiny.toml"]);
}

#[test]
fn what_is_no_scenario_file_is_refused_with_its_size_or_place() {
    let desk = Desk::new();
    let large = fs::File::create(desk.path("large.toml")).unwrap();
    large.set_len(100_000_000).unwrap();
    desk.write("binary.toml", b"title = \"x\"\n\xff\xfe\x00\x01");
    desk.write("zeros.toml", b"title = \"x\"\n\n\0\0");
    fs::create_dir(desk.path("folder.toml")).unwrap();
    for (name, words) in [
        ("large.toml", "large.toml: has 100 MB; a scenario has at most 4 MB\nhint: "),
        ("binary.toml", "binary.toml:2: not a text in UTF-8\nhint: "),
        ("zeros.toml", "zeros.toml:3: a zero octet: not a text\nhint: "),
        ("folder.toml", "folder.toml: is a folder, not a scenario file\nhint: "),
        ("/dev/zero", "/dev/zero: has more than 4 MB"),
        ("missing.toml", "missing.toml: there is no such file and no built-in scenario of that name\nhint: "),
    ] {
        for verb in ["check", "run"] {
            let did = desk.quell(&format!("{verb} {name}"));
            did.exits(2);
            assert!(did.stderr.contains(words), "{verb} {name}: {did:?}");
        }
    }
}

#[test]
fn an_empty_file_is_a_scenario_with_everything_missing() {
    let desk = Desk::new();
    desk.write("empty.toml", "");
    let did = desk.quell("check empty.toml");
    did.exits(2);
    assert!(did.stderr.contains("is missing"), "{did:?}");
}

#[test]
fn an_output_folder_that_is_a_file_is_refused_and_left_alone() {
    let desk = Desk::with_tiny();
    desk.write("out", "precious");
    for out in ["out", "out/deeper"] {
        let did = desk.quell(&format!("run tiny.toml --out {out}"));
        did.exits(2);
        assert!(did.stderr.contains("out: is a file, not a folder\nhint: "), "{did:?}");
        assert!(did.stderr.contains("--out DIR"), "{did:?}");
    }
    assert_eq!(desk.read("out"), "precious");
}

#[test]
fn a_folder_of_other_things_is_refused_and_left_alone() {
    let desk = Desk::with_tiny();
    fs::create_dir(desk.path("thesis")).unwrap();
    desk.write("thesis/chapter1.tex", "precious");
    let did = desk.quell("run tiny.toml --out thesis");
    did.exits(2);
    assert!(did.stderr.contains("chapter1.tex"), "{did:?}");
    assert_eq!(files(&desk.path("thesis")), ["chapter1.tex"]);
}

#[test]
fn a_truncated_recording_is_named_and_never_taken_for_a_whole_one() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out").exits(0);
    let series = desk.path("out/runs/qcn/seed-2/series.parquet");
    let octets = fs::read(&series).unwrap();
    fs::write(&series, &octets[..octets.len() / 2]).unwrap();

    let did = desk.quell("report out --json");
    did.exits(2);
    let words = format!(
        "out/runs/qcn/seed-2/series.parquet: damaged: it has {} octets of {}\nhint: remove",
        octets.len() / 2,
        octets.len()
    );
    assert!(did.stderr.contains(&words), "{did:?}");
    let document: serde_json::Value = serde_json::from_str(&did.stdout).unwrap();
    assert_eq!(document["complete"], false);
    assert_eq!(document["digest"], serde_json::Value::Null);
    let states: Vec<&str> =
        document["runs"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["complete", "complete", "complete", "lost"]);

    // To run again does not overwrite it either; to do as the hint says does.
    desk.quell("run tiny.toml --out out").exits(2);
    fs::remove_dir_all(desk.path("out/runs/qcn/seed-2")).unwrap();
    desk.quell("run tiny.toml --out out").exits(0);
    assert_eq!(fs::read(&series).unwrap().len(), octets.len());
}

#[test]
fn a_cut_manifest_or_head_is_named_with_its_line() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out").exits(0);
    for name in ["out/runs/qcn/seed-1/manifest.json", "out/experiment.json"] {
        let text = desk.read(name);
        desk.write(name, &text[..text.len() / 2]);
        let did = desk.quell("report out");
        did.exits(2);
        assert!(did.stderr.contains(&format!("{name}:")), "{did:?}");
        desk.write(name, text);
    }
    desk.quell("report out").exits(0);
}

#[test]
fn what_holds_no_results_cannot_be_reported_or_compared() {
    let desk = Desk::with_tiny();
    fs::create_dir(desk.path("empty")).unwrap();
    for line in ["report empty", "report nowhere", "report tiny.toml", "compare empty nowhere"] {
        let did = desk.quell(line);
        did.exits(2);
        assert!(did.stderr.contains("\nhint: "), "{line}: {did:?}");
    }
}

/// A disk that takes a few files and no more: a small file system of its own where that may be mounted, else a
/// limit on the size of any file.
#[test]
fn a_full_disk_ends_the_run_and_keeps_what_is_finished() {
    let desk = Desk::with_tiny();
    fs::create_dir(desk.path("disk")).unwrap();
    let mounted = Mounted::small(&desk.path("disk").display().to_string());
    let mut command = match &mounted {
        Some(_) => desk.command("run tiny.toml --repeat 40 --threads 1 --out disk/out"),
        None => {
            let mut limited = Command::new("sh");
            limited.args([
                "-c",
                "trap '' XFSZ; ulimit -f 8; exec \"$0\" run tiny.toml --threads 1 --out disk/out",
            ]);
            limited.arg(env!("CARGO_BIN_EXE_quell")).current_dir(desk.path(""));
            limited
        }
    };
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("cannot write: ") && stderr.contains("\nhint: "), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let found = files(&desk.path("disk/out"));
    assert!(!found.iter().any(|it| it == "report.html.partial"), "{found:?}");
    if mounted.is_some() {
        // What was finished before is whole, and counts as such; nothing else does.
        let whole =
            found.iter().filter(|it| it.ends_with("manifest.json") && !it.contains(".partial")).count();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(whole > 0, "{found:?}");
        assert!(stdout.contains(&format!("none: {whole} of 80 runs are finished")), "{stdout}");
    }
}

#[test]
fn results_that_cannot_be_printed_are_a_failure_to_write() {
    let desk = Desk::new();
    let full = fs::File::options().write(true).open("/dev/full");
    let full = full.expect("this system has /dev/full");
    let output = desk.command("schema").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output: cannot write"));
}

/// A file system of 200 kB, gone with the value.
struct Mounted(String);

impl Mounted {
    fn small(path: &str) -> Option<Mounted> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=200k", "tmpfs", path]).output();
        mount.is_ok_and(|it| it.status.success()).then(|| Mounted(path.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
