//! `quell theory`: fluid models, stability, admission and correlation. One file a question.

mod admission;
mod bode;
mod correlation;
mod critical;
mod fluid;
mod map;
mod model;
mod portrait;
mod value;

use crate::cli_theory::{AnswerArgs, Question, TheoryArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use crate::results;
use quell_report::figure::Chart;
use quell_theory::Outside;
use serde_json::Value;

pub(super) fn theory(args: &TheoryArgs) -> Result<Exit, Failure> {
    match &args.question {
        Question::CriticalDelay(args) => critical::critical(args),
        Question::Bode(args) => bode::bode(args),
        Question::Map(args) => map::map(args),
        Question::Fluid(args) => fluid::fluid(args),
        Question::Portrait(args) => portrait::portrait(args),
        Question::Admission(args) => admission::admission(args),
        Question::Correlation(args) => correlation::correlation(args),
    }
}

impl From<Outside> for Failure {
    fn from(why: Outside) -> Failure {
        let failure = Failure::invalid(why.to_string());
        match why {
            Outside::NoSuchParameter { .. } => {
                failure.hint("`quell help theory map` lists the parameters; not every model has all")
            }
            Outside::DelayBeyondHistory { .. } => failure.hint("look at a longer time: `--span`"),
            Outside::TooShort { .. } => {
                failure.hint("take shorter steps with `--lag`, or a longer part of the run")
            }
            _ => failure,
        }
    }
}

/// Gives an answer: words and a picture in characters, or a document; and files, if they are wanted.
fn answer(args: &AnswerArgs, chart: &Chart, words: &str, mut document: Value) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    if let Some(dir) = &args.out {
        files = results::write_chart(dir, chart)?;
    }
    if args.json {
        document["files"] = files.into();
        print_json(&document)?;
    } else {
        let written: String = files.iter().map(|it| format!("wrote {it}\n")).collect();
        out::print(&format!("{words}\n{}{written}", chart.to_text()))?;
    }
    Ok(Exit::Done)
}

fn print_json(document: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).expect("plain data is always JSON");
    out::print(&format!("{text}\n"))
}

/// Names and values as a table of two columns.
fn table(rows: &[(&str, String)]) -> String {
    let widest = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("  {name:widest$}  {value}\n")).collect()
}
