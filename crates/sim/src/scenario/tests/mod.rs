//! Whole files: what they come to, and what is said of wrong ones.

mod lists;
mod messages;
mod reading;
mod registry;

use super::{Problems, Request, Scenario, read};

/// A small file that is right.
const RIGHT: &str = r#"title = "Three into one"
run = { length = "10ms" }

[topology]
kind = "star"
hosts = 4

[switch]
input_memory = "150kB"
pause = { mode = "pause", stop = "110kB", go = "44kB" }

[scheme]
kind = "qcn"

[[traffic]]
from = ["h1", "h2", "h3"]
to = "h4"

[[expect]]
metric = "jain(throughput)"
at_least = 0.9
"#;

fn request(text: &str) -> Request<'_> {
    Request {
        file: "a.toml",
        text,
        base: &lists::files,
        sets: &[],
        quick: false,
        repeat: None,
        seed: None,
        wire_check: false,
    }
}

fn right(text: &str) -> Scenario {
    read(request(text)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What is said of a file.
fn said(text: &str) -> String {
    match read(request(text)) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

/// What a file that is right is warned of.
fn warned(text: &str) -> String {
    Problems(right(text).warnings).to_string()
}

/// What is said of the right file with one thing replaced.
fn instead(old: &str, new: &str) -> String {
    assert!(RIGHT.contains(old), "there is no {old:?} in the right file");
    said(&RIGHT.replacen(old, new, 1))
}

/// What is said of the right file with more at its end.
fn and(more: &str) -> String {
    said(&format!("{RIGHT}{more}\n"))
}

fn set(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, Problems> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    read(Request { sets: &sets, ..request(text) })
}
