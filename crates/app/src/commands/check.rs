//! `quell check`: is this a scenario, and what exactly does it say.

use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::progress;
use crate::results::seeds_in_words;
use crate::source::{self, Loaded};
use quell_sim::scenario::{Origin, Resolved, Scenario};
use std::fmt::Write as _;

pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let loaded = source::load(&args.scenario)?;
    loaded.note_if_never_short(&args.scenario);
    let Loaded { scenario, .. } = loaded;
    for warning in &scenario.warnings {
        out::warn(&warning.to_string());
    }
    if args.flows {
        out::print(&flows(&scenario)?)?;
    } else if !args.quiet {
        out::print(&in_words(&scenario))?;
    }
    Ok(Exit::Done)
}

/// The flows of its one configuration, or of its first if all send the same.
fn flows(scenario: &Scenario) -> Result<String, Failure> {
    let mut tables = scenario.configurations.iter().map(|it| (&it.name, it.plan.flow_table()));
    let (first, table) = tables.next().expect("a scenario has a configuration");
    if let Some((other, _)) = tables.find(|(_, it)| *it != table) {
        let message = format!("`{first}` and `{other}` do not send the same flows");
        return Err(Failure::invalid(message).hint("choose one with `--set`, so that there is one table"));
    }
    Ok(table)
}

fn in_words(scenario: &Scenario) -> String {
    let paint = Paint::for_stdout();
    let mut text = format!("{}\n", paint.bold(&scenario.title));
    if let Some(shows) = &scenario.shows {
        let _ = writeln!(text, "after {shows}");
    }
    text.push('\n');
    text.push_str(&values(&scenario.resolved, paint));
    if scenario.configurations.len() > 1 {
        text.push_str("\nconfigurations\n");
        for configuration in &scenario.configurations {
            let _ = writeln!(text, "  {}", configuration.name);
        }
    }
    let _ = writeln!(text, "\n{}", paint.green(&verdict(scenario)));
    text
}

/// Paths, values and origins in columns.
fn values(resolved: &[Resolved], paint: Paint) -> String {
    /// Longer values than this push only their own origin to the right.
    const WIDEST: usize = 36;
    let width = |of: fn(&Resolved) -> usize| resolved.iter().map(of).max().unwrap_or(0);
    let paths = width(|it| it.path.chars().count());
    let values = width(|it| one_line(&it.value).chars().count().min(WIDEST));
    let mut text = String::new();
    for it in resolved {
        let mut origin = it.origin.to_string();
        // What an axis sets says by itself where it holds.
        if !it.configurations.is_empty() && !matches!(it.origin, Origin::Axis(..)) {
            let _ = write!(origin, " (in {})", shortened(&it.configurations));
        }
        let _ = writeln!(text, "{:paths$}  {:values$}  {}", it.path, one_line(&it.value), paint.dim(&origin));
    }
    text
}

/// Prose by its beginning.
fn one_line(value: &str) -> String {
    const LONGEST: usize = 72;
    let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names.len() {
        0..=SHOWN => names.join(", "),
        count => format!("{}, … {count} in all", names[..SHOWN].join(", ")),
    }
}

fn verdict(scenario: &Scenario) -> String {
    let count = |number: usize, word: &str| match number {
        1 => format!("one {word}"),
        _ => format!("{number} {word}s"),
    };
    let seeds: Vec<u64> =
        (0..u64::from(scenario.repeat)).map(|it| scenario.seed.saturating_add(it)).collect();
    let runs = scenario.configurations.len() as u64 * u64::from(scenario.repeat);
    let length: u64 = scenario.configurations.iter().map(|it| it.plan.length.ps()).sum();
    format!(
        "All is well: {}, {}, {}; seed{} {}, so {} of {} together.",
        count(scenario.configurations.len(), "configuration"),
        count(scenario.claims.len(), "claim"),
        count(scenario.figures.len(), "figure"),
        if seeds.len() == 1 { "" } else { "s" },
        seeds_in_words(&seeds),
        count(usize::try_from(runs).unwrap_or(usize::MAX), "run"),
        progress::simulated(length.saturating_mul(u64::from(scenario.repeat))),
    )
}
