//! The verbs that only tell: list, show, check, explain, schema, completions, man, help.

use crate::support::{Desk, files};
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_checked_scenario_shows_every_value_and_its_origin() {
    let desk = Desk::with_tiny();
    let did = desk.quell("check tiny.toml --quick --set scheme.gd=1/256 --seed 9");
    did.exits(0);
    assert_eq!(did.stderr, "");
    insta::assert_snapshot!(did.stdout);
}

#[test]
fn a_key_is_explained_with_unit_range_default_and_source() {
    let desk = Desk::new();
    let mut told = String::new();
    for path in ["scheme.qcn.weight", "scheme.gd", "run.length", "throughput"] {
        let did = desk.quell(&format!("explain {path}"));
        did.exits(0);
        told.push_str(&format!("$ quell explain {path}\n{}\n", did.stdout));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest() {
    let did = Desk::new().quell("explain scheme.wieght");
    did.exits(2);
    assert_eq!(did.stderr, "error: there is no key `scheme.wieght`\nhint: is it `scheme.weight`?\n");
    assert!(Desk::new().quell("explain").exits(0).stdout.contains("set_point"));
}

#[test]
fn every_scenario_of_the_gallery_is_listed_by_family_and_shown_as_it_is() {
    let desk = Desk::new();
    let list = desk.quell("list");
    list.exits(0);
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scenarios: Vec<String> = files(&gallery).into_iter().filter(|it| it.ends_with(".toml")).collect();
    for file in &scenarios {
        let id = file.strip_suffix(".toml").unwrap();
        let row = format!("\n  {id} ");
        assert_eq!(list.stdout.matches(&row).count(), 1, "{id} is listed once: {}", list.stdout);
        let shown = desk.quell(&format!("show {id}"));
        shown.exits(0);
        assert_eq!(shown.stdout, fs::read_to_string(gallery.join(file)).unwrap());
        desk.quell(&format!("check {id} --quiet")).exits(0);
        desk.quell(&format!("check {id} --quiet --quick")).exits(0);
    }
    assert!(!list.stdout.contains("(no title)"), "{}", list.stdout);
}

#[test]
fn an_unknown_scenario_is_answered_with_near_ones_or_the_list() {
    let did = Desk::new().quell("show no-such-scenario");
    did.exits(2);
    assert!(
        did.stderr.contains("no-such-scenario: there is no built-in scenario of that name\nhint: "),
        "{did:?}"
    );
}

#[test]
fn the_schema_is_json_and_knows_the_tables() {
    let schema = Desk::new().json("schema");
    for table in ["run", "topology", "switch", "scheme", "traffic", "expect"] {
        assert!(schema["properties"][table].is_object(), "{table}");
    }
}

#[test]
fn shells_and_man_get_their_files() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let did = desk.quell(&format!("completions {shell}"));
        assert!(did.exits(0).stdout.contains("quell"), "{shell}");
    }
    assert!(desk.quell("man").exits(0).stdout.starts_with(".ie"), "a page for man");
    desk.quell("man pages").exits(0);
    assert!(files(&desk.path("pages")).contains(&"quell-run.1".to_owned()));
}

#[test]
fn help_names_every_verb_and_every_exit_code() {
    let did = Desk::new().quell("--help");
    did.exits(0);
    insta::assert_snapshot!(did.stdout);
    let did = Desk::new().quell("run --help");
    insta::assert_snapshot!("help_of_run", did.exits(0).stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::new();
    let mut child = desk.command("schema").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
}

#[test]
fn without_a_verb_it_shows_how_to_begin() {
    let did = Desk::new().quell("");
    did.exits(2);
    assert!(did.stderr.contains("Start with `quell list`"), "{did:?}");
}
