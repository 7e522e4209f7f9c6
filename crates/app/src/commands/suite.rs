//! `quell suite`: every scenario of a family through one pool of runs, into one table and one report.
//!
//! Each scenario has a folder of its own, laid out as `quell run` does. A scenario is judged and drawn as soon as
//! its last run is over, so that no more than a few are in memory at a time.

use crate::catalogue;
use crate::cli::{ScenarioArgs, SuiteArgs};
use crate::commands::run;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::prepared::{self, Prepared};
use crate::progress::{self, Progress};
use crate::results::{Results, write_file};
use crate::runner::{self, Job, Run, State, Watch};
use crate::source;
use crate::suite_folder;
use quell_record::{Difference, RecordError};
use quell_report::{Suite, SuiteScenario, suite_page, suite_table, text};
use quell_sim::scenario::Configuration;
use serde_json::json;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn suite(args: &SuiteArgs) -> Result<Exit, Failure> {
    let (name, members) = members(args)?;
    let dir = args.out.clone().unwrap_or_else(|| default_out(args, &name));
    let loaded: Vec<_> = members.iter().map(|it| source::load(&it.args)).collect();
    let overrides = members.first().map(|it| prepared::overrides(&it.args)).unwrap_or_default();
    suite_folder::take(&dir, &name, &overrides)?;

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
    let ended = run_all(&scenarios, run::threads(args.threads), &watch, &progress)?;
    progress.clear();
    finish(args, &name, &dir, ended, watch.is_interrupted())
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

/// One that is over.
struct Ended {
    scenario: SuiteScenario,
    document: serde_json::Value,
    exit: Exit,
    digest: Option<String>,
    counts: Counts,
}

/// Runs of a scenario, counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    runs: usize,
    complete: usize,
    resumed: usize,
    seconds: f64,
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
            match end(scenario, prepared, runs) {
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
    let trouble = failure.message.clone();
    Some(Ended {
        document: json!({ "name": scenario.name, "exit": failure.exit.code(), "trouble": trouble }),
        exit: failure.exit,
        digest: None,
        counts: Counts::default(),
        scenario: SuiteScenario {
            name: scenario.name.clone(),
            report: None,
            link: String::new(),
            trouble: Some(trouble),
        },
    })
}

/// Judges and draws a scenario into its folder, and keeps what the suite needs of it.
fn end(scenario: &Scenario, prepared: &Prepared, runs: Vec<Run>) -> Result<Ended, Failure> {
    let results = prepared.results(prepared.scenario().configurations.len(), runs);
    results.complain();
    let exit = results.exit();
    // On a full disk the page cannot be written either; what is wrong has been said already.
    let page = match results.write(prepared.dir()) {
        Err(_) if exit == Exit::Io => None,
        written => Some(written?),
    };
    let mut document = results.to_document(prepared.dir(), page.as_deref(), exit);
    document["name"] = scenario.name.clone().into();
    let counts = counts(&results);
    let Results { report, digest, .. } = results;
    let lost = counts.runs - counts.complete;
    let trouble =
        (exit >= Exit::Invalid).then(|| format!("{lost} of {} runs are broken or lost.", counts.runs));
    Ok(Ended {
        document,
        exit,
        digest: digest.map(|it| it.whole()),
        counts,
        scenario: SuiteScenario {
            name: scenario.name.clone(),
            link: format!("{}/report.html", scenario.name),
            trouble,
            // Its figures are on its own page.
            report: Some(quell_report::Report { figures: Vec::new(), ..report }),
        },
    })
}

fn counts(results: &Results) -> Counts {
    let mut counts = Counts { runs: results.runs.len(), ..Counts::default() };
    for run in &results.runs {
        if let State::Complete(kept) = &run.state {
            counts.complete += 1;
            counts.resumed += usize::from(kept.was_resumed);
            counts.seconds += kept.ending.wall_seconds;
        }
    }
    counts
}

/// Writes the suite's page, prints its table, and says how to end.
fn finish(
    args: &SuiteArgs,
    name: &str,
    dir: &Path,
    ended: Vec<Ended>,
    is_interrupted: bool,
) -> Result<Exit, Failure> {
    let mut exit = ended.iter().map(|it| it.exit).fold(Exit::Done, Exit::max);
    if is_interrupted {
        exit = Exit::Interrupted;
    }
    let digest = digest_of(&ended);
    let counts = ended.iter().fold(Counts::default(), |sum, it| Counts {
        runs: sum.runs + it.counts.runs,
        complete: sum.complete + it.counts.complete,
        resumed: sum.resumed + it.counts.resumed,
        seconds: sum.seconds + it.counts.seconds,
    });
    let mut facts = vec![
        ("version".to_owned(), prepared::VERSION.to_owned()),
        ("scenarios".to_owned(), ended.len().to_string()),
        ("runs".to_owned(), format!("{} of {} finished", counts.complete, counts.runs)),
        ("time of all runs".to_owned(), progress::span(counts.seconds)),
    ];
    facts.extend(digest.iter().map(|it| ("digest".to_owned(), it.clone())));
    let (scenarios, documents): (Vec<_>, Vec<_>) =
        ended.into_iter().map(|it| (it.scenario, it.document)).unzip();
    let suite = Suite { name: name.to_owned(), scenarios, facts };
    let page = match write(&suite, dir) {
        Err(_) if exit == Exit::Io => None,
        written => Some(written?),
    };
    if args.json {
        let document = json!({
            "suite": name,
            "version": prepared::VERSION,
            "exit": exit.code(),
            "digest": digest,
            "runs": { "all": counts.runs, "complete": counts.complete, "resumed": counts.resumed },
            "answer": suite.answer(),
            "scenarios": documents,
            "dir": dir,
            "report": page,
        });
        let text = serde_json::to_string_pretty(&document).expect("plain data is always JSON");
        out::print(&format!("{text}\n"))?;
    } else {
        out::print(&screen(&suite, page.as_deref(), digest.as_deref(), counts))?;
    }
    if counts.complete < counts.runs {
        out::note(&format!(
            "{} of {} runs are finished. Run it again into the same folder to go on from there.",
            counts.complete, counts.runs
        ));
    }
    Ok(exit)
}

/// Writes the suite's page and its figure. Gives the page's path.
fn write(suite: &Suite, dir: &Path) -> Result<PathBuf, Failure> {
    if let Some(figure) = suite.figure() {
        let pictures = dir.join("figures");
        fs::create_dir_all(&pictures).map_err(|error| Failure::io(&pictures, "create", &error))?;
        write_file(&pictures.join(format!("{}.svg", figure.stem)), &figure.to_svg())?;
        write_file(&pictures.join(format!("{}.csv", figure.stem)), &figure.to_csv())?;
    }
    let page = dir.join("report.html");
    write_file(&page, &suite_page(suite))?;
    Ok(page)
}

fn screen(suite: &Suite, page: Option<&Path>, digest: Option<&str>, counts: Counts) -> String {
    let paint = Paint::for_stdout();
    let mut words = suite_table(suite, text::Style { colour: paint.is_on(), brief: true });
    words.push('\n');
    for it in suite.scenarios.iter().filter(|it| it.report.is_none()) {
        let _ = writeln!(words, "{}", paint.red(&format!("{} could not be run; see above", it.name)));
    }
    if let Some(page) = page {
        let _ = writeln!(words, "{} {}", paint.dim("report"), page.display());
    }
    let digest = digest.map_or_else(
        || format!("none: {} of {} runs are finished", counts.complete, counts.runs),
        |digest| {
            let found = counts.resumed;
            format!("{}  ({} runs, {found} of which were there already)", &digest[..16], counts.runs)
        },
    );
    let _ = writeln!(words, "{} {digest}", paint.dim("digest"));
    words
}

/// The digest of all scenarios: BLAKE3 over a line for each with name and digest, in order. None unless every
/// run of every scenario is complete.
fn digest_of(ended: &[Ended]) -> Option<String> {
    let mut lines = String::new();
    for it in ended {
        let _ = writeln!(lines, "{}\t{}", it.scenario.name, it.digest.as_ref()?);
    }
    Some(blake3::hash(lines.as_bytes()).to_hex().to_string())
}
