//! `quell suite`: every scenario of a family through one pool of runs, into one table and one report.
//!
//! Each scenario has a folder of its own, laid out as `quell run` does. A scenario is judged and drawn as soon as
//! its last run is over, so that no more than a few are in memory at a time.

use crate::catalogue;
use crate::cli::{ScenarioArgs, SuiteArgs};
use crate::commands::run;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::prepared::{self, Prepared};
use crate::progress::{self, Progress};
use crate::runner::{self, Job, Run, State, Watch};
use crate::source;
use crate::suite_folder::{self, Head};
use crate::suite_results::{Ended, Shown, SuiteResults};
use crate::threads;
use quell_record::{Difference, RecordError};
use quell_sim::scenario::Configuration;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn suite(args: &SuiteArgs) -> Result<Exit, Failure> {
    let (name, members) = members(args)?;
    let dir = args.out.clone().unwrap_or_else(|| default_out(args, &name));
    let loaded: Vec<_> = members.iter().map(|it| source::load(&it.args)).collect();
    let overrides = members.first().map(|it| prepared::overrides(&it.args)).unwrap_or_default();
    let head = Head {
        from: args.from.as_ref().map(|it| it.display().to_string()),
        repeat: args.repeat,
        scenarios: members.iter().map(|it| it.name.clone()).collect(),
        ..Head::new(&name, &overrides)
    };
    suite_folder::take(&dir, &head)?;

    let mut scenarios: Vec<Scenario> = Vec::new();
    for (member, loaded) in members.iter().zip(loaded) {
        let own = dir.join(&member.name);
        let ready = match loaded {
            Ok(loaded) => {
                loaded.scenario.warnings.iter().for_each(|it| out::warn(&it.to_string()));
                match Prepared::new(&member.args, loaded, &own) {
                    Err(error) if concerns_all(&error) => return Err(run::refused(&dir, error)),
                    made => made.map_err(|error| run::refused(&own, error)),
                }
            }
            Err(failure) => Err(failure),
        };
        let ready = ready.inspect_err(|failure| {
            failure.tell();
        });
        scenarios.push(Scenario { name: member.name.clone(), ready });
    }

    let watch = Arc::new(Watch::default());
    watch.until_interrupted(|| out::note("\nstopping at the next sample; Ctrl-C once more stops at once"));
    let progress = Progress::new(&name, args.quiet);
    let has_figures = args.page.is_some();
    let ended = run_all(&scenarios, threads::chosen(args.threads), &watch, &progress, has_figures)?;
    progress.clear();
    let shown = Shown { json: args.json, page: args.page.as_deref() };
    SuiteResults { head, ended, is_interrupted: watch.is_interrupted() }.show(&dir, shown)
}

/// A scenario of the suite as the command line asks for it.
struct Member {
    name: String,
    args: ScenarioArgs,
}

/// One that was looked at: ready to run, or not and why.
struct Scenario {
    name: String,
    ready: Result<Prepared, Failure>,
}

/// The name of the suite, and its scenarios in order.
fn members(args: &SuiteArgs) -> Result<(String, Vec<Member>), Failure> {
    let member = |name: String, scenario: String| Member {
        name,
        args: ScenarioArgs {
            scenario,
            quick: args.quick,
            seed: None,
            repeat: args.repeat,
            sets: Vec::new(),
            wire_check: false,
        },
    };
    if let Some(folder) = &args.from {
        let files = scenario_files(folder)?;
        let own_name = || folder.canonicalize().ok()?.file_name()?.to_str().map(str::to_owned);
        let name = args.name.clone().or_else(own_name).unwrap_or_else(|| "suite".to_owned());
        let stem = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // A name that is plainly a file's, so that no built-in scenario is meant.
        let members = files.iter().map(|file| member(stem(file), file.display().to_string()));
        return Ok((name, members.collect()));
    }
    let name = args.name.clone().unwrap_or_default();
    let families = catalogue::families();
    let Some(family) = families.get(name.as_str()).filter(|_| !name.is_empty()) else {
        let known: Vec<&str> = families.keys().copied().filter(|it| !it.is_empty()).collect();
        return Err(Failure::invalid(format!("there is no suite `{name}`")).hint(format!(
            "there are: {}; a folder of scenario files is run with `--from DIR`",
            known.join(", ")
        )));
    };
    let short = |id: &str| id.strip_prefix(&format!("{name}/")).unwrap_or(id).to_owned();
    Ok((name.clone(), family.iter().map(|it| member(short(it.id), it.id.to_owned())).collect()))
}

/// The scenario files of a folder, by name.
fn scenario_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |error| Failure::io(folder, "read", &error);
    if !folder.is_dir() {
        return Err(Failure::invalid(format!("{}: is no folder", folder.display()))
            .hint("`--from` takes a folder of scenario files; `quell run` takes a single one"));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.extension() == Some(OsStr::new("toml")) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::invalid(format!("{}: there is no scenario file in it", folder.display()))
            .hint("scenario files end in .toml; `quell init FILE` writes one to start from"));
    }
    Ok(files)
}

fn default_out(args: &SuiteArgs, name: &str) -> PathBuf {
    let ending = if args.quick { "-quick" } else { "" };
    Path::new("results").join(format!("{name}{ending}"))
}

/// Whether what is wrong with one scenario's folder is wrong with the whole suite's.
fn concerns_all(error: &RecordError) -> bool {
    matches!(
        error,
        RecordError::Different { difference: Difference::Version { .. } | Difference::Overrides { .. }, .. }
            | RecordError::Busy { .. }
            | RecordError::Io { .. }
    )
}

/// Makes all runs of all scenarios, and ends each scenario when its last run is over.
fn run_all(
    scenarios: &[Scenario],
    threads: usize,
    watch: &Watch,
    progress: &Progress,
    has_figures: bool,
) -> Result<Vec<Ended>, Failure> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    let mut owners: Vec<(usize, usize)> = Vec::new();
    let mut slots: Vec<Vec<Option<Run>>> = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let own = scenario.ready.as_ref().map_or_else(|_| Vec::new(), |it| it.jobs(&all(it)));
        owners.extend((0..own.len()).map(|place| (index, place)));
        slots.push(own.iter().map(|_| None).collect());
        jobs.extend(own);
    }
    let mut ended: Vec<Option<Ended>> = scenarios.iter().map(not_run).collect();
    let mut failure = None;
    let mut count = 0;
    runner::run_each(&jobs, threads, watch, progress, |index, run| {
        let (owner, place) = owners[index];
        let scenario = &scenarios[owner];
        count += 1;
        if let Some(words) = in_words(&run) {
            progress.tell(&format!("{} · {}", scenario.name, run.configuration), || {
                format!("[{count}/{}] {}: {}: {words}", jobs.len(), scenario.name, run.name())
            });
        }
        slots[owner][place] = Some(run);
        if slots[owner].iter().all(Option::is_some)
            && let Ok(prepared) = &scenario.ready
        {
            let runs = slots[owner].iter_mut().filter_map(Option::take).collect();
            let results = prepared.results(prepared.scenario().configurations.len(), runs);
            match Ended::of(&scenario.name, results, prepared.dir(), has_figures) {
                Ok(it) => ended[owner] = Some(it),
                // The runs are on disk; let the others end, and say it then.
                Err(it) => failure = Some(it),
            }
        }
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(ended.into_iter().flatten().collect()),
    }
}

fn all(prepared: &Prepared) -> Vec<&Configuration> {
    prepared.scenario().configurations.iter().collect()
}

/// What became of a run, as a line of progress says it.
fn in_words(run: &Run) -> Option<String> {
    match &run.state {
        State::Complete(kept) if kept.was_resumed => Some("was there already".to_owned()),
        State::Complete(kept) => Some(progress::span(kept.ending.wall_seconds)),
        State::Interrupted(_) => Some("cut short".to_owned()),
        State::Broken(_) => Some("broken".to_owned()),
        State::Lost(_) => Some("lost".to_owned()),
        State::NotBegun => None,
    }
}

/// What the suite says of a scenario that could not be read.
fn not_run(scenario: &Scenario) -> Option<Ended> {
    let failure = scenario.ready.as_ref().err()?;
    Some(Ended::not_run(&scenario.name, &failure.message, failure.exit))
}
