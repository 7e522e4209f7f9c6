//! The house rules that a compiler does not check.

use crate::support::files;
use std::fs;
use std::path::{Path, PathBuf};

/// Which room may use which; `proto` uses none.
const ARROWS: [(&str, &[&str]); 5] = [
    ("proto", &[]),
    ("record", &["proto"]),
    ("sim", &["proto", "record"]),
    ("report", &["proto", "record"]),
    ("app", &["proto", "record", "report", "sim"]),
];

#[test]
fn rooms_use_only_the_rooms_below_them() {
    for (room, allowed) in ARROWS {
        let manifest: toml::Table =
            read(&root().join("crates").join(room).join("Cargo.toml")).parse().unwrap();
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else { continue };
            for name in dependencies.keys().filter_map(|name| name.strip_prefix("quell-")) {
                assert!(allowed.contains(&name), "{room} must not use {name}");
            }
            let is_pure = room != "proto" || table != "dependencies";
            let optional = |it: &toml::Value| it.get("optional").and_then(toml::Value::as_bool) == Some(true);
            assert!(is_pure || dependencies.values().all(optional), "proto needs nothing but itself");
        }
    }
}

#[test]
fn the_protocol_library_computes_without_floats() {
    for (path, text) in sources("crates/proto/src") {
        for (number, line) in code_lines(&text) {
            let has_float = ["f32", "f64"].iter().any(|word| words(line).any(|it| it == *word));
            assert!(!has_float, "{path}:{number}: a float: {line}");
        }
    }
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let texts = ["crates", "docs", "scenarios"].into_iter().flat_map(sources);
    // Put together here, so that this file does not find itself.
    let homes = ["work", "home", "root"].map(|it| format!("/{it}/"));
    for (path, text) in texts {
        for (number, line) in (1..).zip(text.lines()) {
            assert!(!homes.iter().any(|home| line.contains(home)), "{path}:{number}: {line}");
        }
    }
}

#[test]
fn every_scenario_says_what_it_is_and_claims_something() {
    for (path, text) in sources("scenarios") {
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        if table.contains_key("extends") {
            continue;
        }
        for key in ["title", "about", "expect"] {
            assert!(table.contains_key(key), "{path} has no `{key}`");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The texts of a folder: code, scenarios, pages.
fn sources(folder: &str) -> Vec<(String, String)> {
    let found = files(&root().join(folder));
    let is_text =
        |it: &&String| ["rs", "toml", "md", "html", "css"].iter().any(|end| it.ends_with(&format!(".{end}")));
    let name = |it: &String| format!("{folder}/{it}");
    found.iter().filter(is_text).map(|it| (name(it), read(&root().join(folder).join(it)))).collect()
}

/// The lines that are no comment, with their numbers.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}
