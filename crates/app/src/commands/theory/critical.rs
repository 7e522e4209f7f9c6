//! `quell theory critical-delay`: how late feedback may be, over flows and link rates.

use super::model::Chosen;
use super::print_json;
use crate::cli_theory::CriticalArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use quell_report::{Unit, theory};
use quell_theory::stability::{Critical, Stability};
use quell_theory::{Model, Parameter};
use serde_json::json;
use std::fmt::Write as _;

const FLOWS: [u32; 6] = [1, 2, 4, 10, 20, 50];
const RATES: [f64; 4] = [1e9, 10e9, 40e9, 100e9];

pub(super) fn critical(args: &CriticalArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&args.model)?;
    let own = Stability::critical_delay(&chosen.model)?;
    let rows: Vec<(f64, Vec<Cell>)> = RATES.map(|rate| (rate, row(&chosen.model, rate))).to_vec();
    if args.json {
        let cells = rows.iter().flat_map(|(rate, cells)| {
            cells.iter().zip(FLOWS).map(move |(cell, flows)| {
                json!({ "rate": rate, "flows": flows, "critical": cell.as_ref().ok(), "why_none": cell.as_ref().err() })
            })
        });
        let mut document = chosen.document();
        document["critical"] = json!(own);
        document["table"] = cells.collect();
        print_json(&document)?;
        return Ok(Exit::Done);
    }
    let delay = chosen.model.path().delay;
    let verdict = if own.admits(delay) { "stable" } else { "unstable" };
    let mut words = format!("{}: {verdict}; critical delay {}\n\n", chosen.heading(), shown(own));
    for stability in Stability::of(&chosen.model)?.iter().filter(|it| !theory::regime(it.regime).is_empty()) {
        let _ = writeln!(
            words,
            "  while in {}: {}",
            theory::regime(stability.regime),
            shown(stability.critical())
        );
    }
    let _ = write!(words, "  {:>10}", "flows");
    for flows in FLOWS {
        let _ = write!(words, " {flows:>9}");
    }
    words.push('\n');
    let mut whys: Vec<&str> = Vec::new();
    for (rate, cells) in &rows {
        let _ = write!(words, "  {:>10}", Unit::BitsPerSecond.show_stated(*rate));
        for cell in cells {
            let text = match cell {
                Ok(Critical::Never) => "never".to_owned(),
                Ok(Critical::Always) => "any".to_owned(),
                Ok(critical) => shown(*critical),
                Err(why) => {
                    if !whys.contains(&why.as_str()) {
                        whys.push(why);
                    }
                    "–".to_owned()
                }
            };
            let _ = write!(words, " {text:>9}");
        }
        words.push('\n');
    }
    let has = |wanted: Critical| rows.iter().flat_map(|(_, cells)| cells).any(|it| *it == Ok(wanted));
    if has(Critical::Never) {
        words.push_str("\n  never: unstable even without delay\n");
    }
    if has(Critical::Always) {
        words.push_str("\n  any: stable at any delay\n");
    }
    if let Some(why) = whys.first() {
        let _ = writeln!(words, "\n  –: {why}");
    }
    out::print(&words)?;
    Ok(Exit::Done)
}

/// A critical delay, or why there is none.
type Cell = Result<Critical, String>;

fn row(model: &Model, rate: f64) -> Vec<Cell> {
    let cell = |flows: u32| {
        let varied = Parameter::Flows.set(model, f64::from(flows))?;
        Stability::critical_delay(&Parameter::Capacity.set(&varied, rate)?)
    };
    FLOWS.iter().map(|flows| cell(*flows).map_err(|why| why.to_string())).collect()
}

/// A critical delay in words.
pub(super) fn shown(critical: Critical) -> String {
    match critical {
        Critical::Never => "none: unstable even without delay".to_owned(),
        Critical::Always => "none: stable at any delay".to_owned(),
        Critical::At { delay, .. } => Unit::Seconds.show(delay),
    }
}
