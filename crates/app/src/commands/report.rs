//! `quell report`: from recordings to verdicts, figures and a page, once more.

use crate::cli::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::results::{About, Prose, Results};
use crate::runner::{self, Bench, Run, State};
use crate::suite_folder::{self, Head};
use crate::suite_results::{Ended, Shown, SuiteResults};
use quell_record::{Experiment, ExperimentHead, Manifest, RecordError, read_manifest};
use quell_report::Setting;
use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::path::Path;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if let Some(head) = suite_folder::read(&args.dir)? {
        return suite(args, head);
    }
    if args.page.is_some() {
        return Err(Failure::invalid(format!("{}: is not the folder of a suite", args.dir.display()))
            .hint("`--page` takes what `quell suite` wrote; a single scenario has its report.html"));
    }
    let experiment = Experiment::open(&args.dir)?;
    // Asked before the runs are read, so that what a run adds meanwhile is not missed in silence.
    let is_running = is_running(&args.dir);
    let results = results_of(&experiment);
    results.complain();
    let missing = (!results.report.complete).then(|| missing(&results, is_running));
    let exit = if missing.is_some() { results.exit().max(Exit::Failed) } else { results.exit() };
    let is_bare = results.runs.iter().all(|run| matches!(run.state, State::NotBegun | State::Lost(_)));
    let page = if is_bare { None } else { Some(results.write(&args.dir)?) };
    if args.json {
        out::print(&results.to_json(&args.dir, page.as_deref(), exit))?;
        if let Some(missing) = missing {
            out::note(&missing);
        }
    } else {
        let mut words = results.in_words(page.as_deref(), args.quiet);
        if let Some(missing) = missing {
            let _ = writeln!(words, "\n{}", Paint::for_stdout().yellow(&missing));
        }
        out::print(&words)?;
    }
    Ok(exit)
}

/// All scenarios of a suite once more, into their pages and that of the suite.
fn suite(args: &ReportArgs, head: Head) -> Result<Exit, Failure> {
    let mut ended = Vec::new();
    for name in &head.scenarios {
        let dir = args.dir.join(name);
        ended.push(match Experiment::open(&dir) {
            Ok(experiment) => Ended::of(name, results_of(&experiment), &dir, args.page.is_some())?,
            Err(RecordError::Missing { .. }) => Ended::not_run(name, "it was not run", Exit::Invalid),
            Err(error) => return Err(error.into()),
        });
    }
    let shown = Shown { json: args.json, page: args.page.as_deref() };
    SuiteResults { head, ended, is_interrupted: false }.show(&args.dir, shown)
}

/// That this is a part, not the whole, and what makes it whole.
fn missing(results: &Results, is_running: bool) -> String {
    if !is_running {
        return format!("incomplete: {}", results.progress_in_words());
    }
    let complete = results.runs.iter().filter(|run| matches!(run.state, State::Complete(_))).count();
    format!(
        "incomplete: a run is in progress here; {complete} of {} runs are finished so far.\n\
         Report it again when that has ended.",
        results.runs.len()
    )
}

/// Whether a process is writing to this folder now: it holds the lock for as long as it does.
fn is_running(dir: &Path) -> bool {
    let held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    File::open(dir.join(".lock")).is_ok_and(held)
}

/// All that an experiment's folder holds.
pub(super) fn results_of(experiment: &Experiment) -> Results {
    let head = experiment.head();
    let runs = runner::read_all(bench(experiment));
    results(head, runs)
}

/// One run of an experiment, by itself.
pub(super) fn results_of_run(experiment: &Experiment, configuration: &str, seed: u64) -> Results {
    let run = bench(experiment).read(configuration, seed);
    results(experiment.head(), vec![run])
}

fn bench(experiment: &Experiment) -> Bench<'_> {
    let head = experiment.head();
    Bench { experiment, claims: &head.claims, figures: &head.figures, fair: &head.fair, resolved: &[] }
}

fn results(head: &ExperimentHead, runs: Vec<Run>) -> Results {
    let first = runs.iter().find(|run| run.kept().is_some()).and_then(|run| read_manifest(&run.dir).ok());
    let about = About {
        id: head.scenario.id.clone(),
        prose: Prose::of(&head.scenario.text, head.scenario.base.as_deref()),
        resolved: first.as_ref().map(settings).unwrap_or_default(),
        warnings: Vec::new(),
        version: head.tool_version.clone(),
        overrides: head.overrides.clone(),
    };
    Results::of(about, &head.configurations, &head.claims, &head.figures, runs)
}

fn settings(manifest: &Manifest) -> Vec<Setting> {
    let setting = |it: &quell_record::ResolvedValue| Setting {
        path: it.path.clone(),
        value: it.value.clone(),
        origin: it.origin.clone(),
    };
    manifest.run.resolved.iter().map(setting).collect()
}

/// Whether a folder looks like that of one run.
pub(super) fn is_run(dir: &Path) -> bool {
    dir.join("manifest.json").is_file()
}
