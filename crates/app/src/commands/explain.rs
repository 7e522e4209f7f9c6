//! `quell explain`: what a key of a scenario means.

use crate::cli::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use quell_sim::scenario::{self, keys};
use std::fmt::Write as _;

pub(super) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let text = match args.path.as_str() {
        "" => contents(),
        path => scenario::explain(path).map_err(Failure::invalid)?,
    };
    out::print(&format!("{}\n", text.trim_end()))?;
    Ok(Exit::Done)
}

/// Every table of a scenario with its keys.
fn contents() -> String {
    let mut text =
        String::from("Tables of a scenario and their keys. `quell explain TABLE` says a line on each key.\n");
    for group in keys().chunk_by(|a, b| a.section == b.section) {
        let section = if group[0].section.is_empty() { "(top of the file)" } else { group[0].section };
        let mut names: Vec<&str> = Vec::new();
        for key in group {
            // A key that means another thing for each kind is listed once for each.
            if !names.contains(&key.name) {
                names.push(key.name);
            }
        }
        let _ = write!(text, "\n{section}\n{}", wrapped(&names));
    }
    text
}

/// Words with commas between, in lines of a terminal's width, indented.
fn wrapped(words: &[&str]) -> String {
    const WIDTH: usize = 96;
    let mut text = String::new();
    let mut line = String::from(" ");
    for (index, word) in words.iter().enumerate() {
        let comma = if index + 1 < words.len() { "," } else { "" };
        if line.len() + word.len() + 2 > WIDTH {
            let _ = writeln!(text, "{line}");
            line = String::from(" ");
        }
        let _ = write!(line, " {word}{comma}");
    }
    let _ = writeln!(text, "{line}");
    text
}
