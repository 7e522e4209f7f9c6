//! `quell run`: a scenario in, claims judged and a report out.

use crate::capture::{self, Asked};
use crate::cli::{Overlay, RunArgs};
use crate::exit::{Exit, Failure};
use crate::filter::matches;
use crate::out;
use crate::overlay;
use crate::prepared::Prepared;
use crate::progress::Progress;
use crate::results::Results;
use crate::runner::{self, Watch};
use crate::source::{self, Loaded};
use crate::threads;
use quell_record::RecordError;
use quell_sim::scenario::{Configuration, Scenario};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let loaded = source::load(&args.scenario)?;
    loaded.note_if_never_short(&args.scenario);
    for warning in &loaded.scenario.warnings {
        out::warn(&warning.to_string());
    }
    let asked = {
        let Scenario { configurations, seed, repeat, .. } = &loaded.scenario;
        Asked::of(&args.pcap, &chosen(configurations, &args.configurations)?, *seed, *repeat)?
    };
    let id = loaded.source.id.clone();
    let dir = args.out.clone().unwrap_or_else(|| default_out(args, &loaded));
    let prepared = Prepared::new(&args.scenario, loaded, &dir).map_err(|error| refused(&dir, error))?;
    let chosen = chosen(&prepared.scenario().configurations, &args.configurations)?;
    let watch = Arc::new(Watch::default());
    watch.until_interrupted(|| out::note("\nstopping at the next sample; Ctrl-C once more stops at once"));
    let progress = Progress::new(&id, args.quiet);
    let jobs = prepared.jobs(&chosen);
    let threads = threads::chosen(args.threads);
    threads::explain_idle(args.threads, &jobs);
    let runs = runner::run_all(&jobs, threads, &watch, &progress);
    progress.clear();
    let captures = asked.map(|asked| capture::make(&asked, &jobs, &runs, threads, &watch));
    let dirs: Vec<_> = runs.iter().map(|run| (run.configuration.clone(), run.dir.clone())).collect();
    let mut results = prepared.results(chosen.len(), runs);
    if args.overlay == Some(Overlay::Fluid) {
        let notes = overlay::draw(&mut results.report.figures, &prepared.scenario().figures, &chosen, &dirs);
        notes.iter().for_each(|note| out::note(note));
        results.report.warnings.extend(notes);
    }
    // A capture that cannot be written takes nothing from the results.
    let captured = match captures.transpose() {
        Ok(captures) => {
            results.captures = captures.unwrap_or_default();
            Exit::Done
        }
        Err(failure) => failure.tell(),
    };
    let exit = finish(args, &dir, &results, watch.is_interrupted())?;
    Ok(exit.max(captured))
}

/// Writes and prints what there is, and says how to end.
fn finish(args: &RunArgs, dir: &Path, results: &Results, is_interrupted: bool) -> Result<Exit, Failure> {
    results.complain();
    let mut exit = results.exit();
    // On a full disk the page cannot be written either; what is wrong has been said already.
    let page = match results.write(dir) {
        Err(_) if exit == Exit::Io => None,
        written => Some(written?),
    };
    if let Some(problem) = unexpected(args, results) {
        out::complain(&problem, None);
        exit = exit.max(Exit::Failed);
    }
    if is_interrupted {
        exit = Exit::Interrupted;
    }
    if args.json {
        out::print(&results.to_json(dir, page.as_deref(), exit))?;
    } else {
        out::print(&results.in_words(page.as_deref(), args.quiet))?;
    }
    if is_interrupted {
        out::note(&results.progress_in_words());
    }
    Ok(exit)
}

/// What is wrong with the digest, if one was expected.
fn unexpected(args: &RunArgs, results: &Results) -> Option<String> {
    let expected = args.expect_digest.as_ref()?;
    match results.digest {
        Some(digest) if digest.whole().starts_with(expected) => None,
        Some(digest) => Some(format!("the digest is {}, not {expected}", &digest.whole()[..expected.len()])),
        None => Some(format!("there is no digest to compare with {expected}: not every run is finished")),
    }
}

/// The configurations that a pattern names; all without one.
fn chosen<'a>(all: &'a [Configuration], patterns: &[String]) -> Result<Vec<&'a Configuration>, Failure> {
    let known = || all.iter().map(|it| it.name.as_str());
    for pattern in patterns {
        if !known().any(|name| matches(pattern, name)) {
            let names: Vec<&str> = known().take(30).collect();
            return Err(Failure::invalid(format!("`--config {pattern}` names no configuration"))
                .hint(format!("there are: {}", names.join(", "))));
        }
    }
    let is_chosen = |it: &&Configuration| {
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, &it.name))
    };
    Ok(all.iter().filter(is_chosen).collect())
}

fn default_out(args: &RunArgs, loaded: &Loaded) -> PathBuf {
    let mut folder = loaded.source.folder().into_os_string();
    if args.scenario.quick {
        folder.push("-quick");
    }
    Path::new("results").join(folder)
}

/// A folder that cannot be used, with the flag that names another.
pub(super) fn refused(dir: &Path, error: RecordError) -> Failure {
    let is_taken = matches!(
        error,
        RecordError::Different { .. } | RecordError::Foreign { .. } | RecordError::NotAFolder { .. }
    );
    let failure = Failure::from(error);
    if is_taken {
        let hint = format!("choose another folder with `--out DIR`, or remove {}", dir.display());
        return failure.hint(hint);
    }
    failure
}
