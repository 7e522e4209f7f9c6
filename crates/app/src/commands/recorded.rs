//! Finding a recorded run and what it speaks of, for the verbs that look into one.

use super::report::is_run;
use crate::cli::RecordedArgs;
use crate::exit::Failure;
use crate::out;
use quell_proto::units::Duration;
use quell_record::claim::Window;
use quell_record::near::closest;
use quell_record::{Catalog, EntityClass, EntityId, Experiment, Recording};
use quell_report::Unit;
use quell_sim::scenario;
use std::path::PathBuf;

/// More names than this a hint does not list.
const MOST_NAMES: usize = 8;

/// The run to look into: the one that is named, or the first that there is.
pub(super) fn run_dir(args: &RecordedArgs) -> Result<PathBuf, Failure> {
    if is_run(&args.dir) {
        return match (&args.configuration, args.seed) {
            (None, None) => Ok(args.dir.clone()),
            _ => Err(Failure::invalid(format!("{}: this is one run already", args.dir.display()))
                .hint("leave `--config` and `--seed` out, or name the folder of the whole experiment")),
        };
    }
    let experiment = Experiment::open(&args.dir)?;
    let head = experiment.head();
    let names: Vec<&str> = head.configurations.iter().map(|it| it.name.as_str()).collect();
    if let Some(name) = &args.configuration
        && !names.contains(&name.as_str())
    {
        let message = format!("{}: there is no configuration `{name}`", args.dir.display());
        return Err(Failure::invalid(message).hint(near(name, &names)));
    }
    if let Some(seed) = args.seed
        && !head.seeds.contains(&seed)
    {
        let seeds: Vec<String> = head.seeds.iter().map(u64::to_string).collect();
        let shown: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let message = format!("{}: there is no run with seed {seed}", args.dir.display());
        return Err(Failure::invalid(message).hint(format!("there are {}", listed(&shown))));
    }
    let is_meant = |name: &str, seed: u64| {
        args.configuration.as_deref().is_none_or(|it| it == name) && args.seed.is_none_or(|it| it == seed)
    };
    let mut found: Option<PathBuf> = None;
    for name in &names {
        for &seed in head.seeds.iter().filter(|&&seed| is_meant(name, seed)) {
            let run = experiment.run(name, seed)?;
            if run.manifest.is_some() {
                found = found.or(Some(run.dir));
            }
        }
    }
    let Some(found) = found else {
        return Err(Failure::invalid(format!("{}: no run meant here is finished", args.dir.display()))
            .hint("run it again into the same folder: what is finished stays"));
    };
    if args.configuration.is_none() && names.len() > 1 {
        out::note(&format!("{} configurations; `--config` chooses: {}", names.len(), listed(&names)));
    }
    Ok(found)
}

/// The flow of this name. Where others of the same ends have it with a number behind, that is said: it is one of them.
pub(super) fn find_flow(catalog: &Catalog, name: &str) -> Result<EntityId, Failure> {
    if let Some(flow) = catalog.find(EntityClass::Flow, name) {
        if let Some(note) = shared_name(catalog, name) {
            out::note(&note);
        }
        return Ok(flow);
    }
    let of_class = |class| names_of(catalog, class);
    let flows: Vec<&str> = of_class(EntityClass::Flow).collect();
    let message = format!("there is no flow `{name}`");
    if of_class(EntityClass::Port).any(|port| port == name) {
        let hint = format!("that is a port; flows are {}", listed(&flows));
        return Err(Failure::invalid(message).hint(hint));
    }
    Err(Failure::invalid(message).hint(near(name, &flows)))
}

/// That other flows share a name but for the number behind it, in a sentence.
fn shared_name(catalog: &Catalog, name: &str) -> Option<String> {
    let plain = |name: &str| match name.rsplit_once('#') {
        Some((before, number)) if number.parse::<u32>().is_ok() => before.to_owned(),
        _ => name.to_owned(),
    };
    let others = names_of(catalog, EntityClass::Flow).filter(|it| *it != name && plain(it) == plain(name));
    let others: Vec<&str> = others.collect();
    let verb = if others.len() == 1 { "goes" } else { "go" };
    (!others.is_empty())
        .then(|| format!("note: this is `{name}` alone; {} {verb} between the same ends", listed(&others)))
}

/// The names of all entities of a sort.
pub(super) fn names_of(catalog: &Catalog, class: EntityClass) -> impl Iterator<Item = &str> {
    catalog.iter().filter(move |(_, it)| it.class() == class).map(|(_, it)| it.name.as_str())
}

/// What may have been meant, or what there is.
pub(super) fn near(name: &str, known: &[&str]) -> String {
    let near: Vec<String> =
        closest(name, known.iter().copied()).into_iter().map(|it| format!("`{it}`")).collect();
    match near.split_last() {
        None => format!("there are {}", listed(known)),
        Some((last, [])) => format!("is it {last}?"),
        Some((last, others)) => format!("is it {} or {last}?", others.join(", ")),
    }
}

pub(super) fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The part of a recording that is meant.
pub(super) fn window(args: &RecordedArgs, recording: &Recording) -> Result<Window, Failure> {
    let end = recording.end().ps();
    let Some(text) = &args.over else { return Ok(Window { from_ps: 0, to_ps: end }) };
    let (from, to) = scenario::window(text).map_err(|(message, hint)| {
        let failure = Failure::invalid(format!("--over {text}: {message}"));
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint("write it as 100ms..200ms; either end may be left out"),
        }
    })?;
    let window =
        Window { from_ps: from.map_or(0, Duration::ps), to_ps: to.map_or(end, |it| it.ps().min(end)) };
    if window.from_ps >= window.to_ps {
        let ends = Unit::Seconds.show_stated(end as f64 / 1e12);
        return Err(Failure::invalid(format!("--over {text}: nothing was recorded then"))
            .hint(format!("the run ends at {ends}")));
    }
    Ok(window)
}
