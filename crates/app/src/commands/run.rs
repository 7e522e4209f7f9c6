//! `quell run`: a scenario in, claims judged and a report out.

use crate::cli::RunArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::progress::Progress;
use crate::results::{About, Prose, Results};
use crate::runner::{self, Bench, Job, Watch};
use crate::source::{self, Loaded};
use quell_record::{ConfigurationHead, Experiment, ExperimentHead, RecordError, ResolvedValue};
use quell_report::Setting;
use quell_sim::scenario::{Configuration, Origin, Resolved, Scenario};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// What wrote a folder of results: the version, and the fingerprint of everything that computes results.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("QUELL_FINGERPRINT"));

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let loaded = source::load(&args.scenario)?;
    let scenario = &loaded.scenario;
    for warning in &scenario.warnings {
        out::warn(&warning.to_string());
    }
    let chosen = chosen(&scenario.configurations, &args.configurations)?;
    let seeds = seeds(scenario);
    let head = head(args, &loaded, &seeds);
    let dir = args.out.clone().unwrap_or_else(|| default_out(args, &loaded));
    let experiment = Experiment::create(&dir, head.clone()).map_err(|error| refused(&dir, error))?;
    let resolved: Vec<ResolvedValue> = scenario.resolved.iter().map(kept_value).collect();
    let bench =
        Bench { experiment: &experiment, claims: &head.claims, figures: &head.figures, resolved: &resolved };
    let jobs: Vec<Job<'_>> = chosen
        .iter()
        .flat_map(|it| seeds.iter().map(|&seed| Job { configuration: &it.name, plan: &it.plan, seed }))
        .collect();
    let watch = Arc::new(Watch::default());
    watch.until_interrupted(|| out::note("\nstopping at the next sample; Ctrl-C once more stops at once"));
    let progress = Progress::new(&loaded.source.id, args.quiet);
    let threads = args.threads.or(thread::available_parallelism().ok()).map_or(1, usize::from);
    let runs = runner::run_all(bench, &jobs, threads, &watch, &progress);
    progress.clear();

    let about = About {
        id: loaded.source.id.clone(),
        prose: Prose {
            title: scenario.title.clone(),
            shows: scenario.shows.clone().unwrap_or_default(),
            about: scenario.about.clone().unwrap_or_default(),
        },
        resolved: scenario.resolved.iter().map(setting).collect(),
        warnings: warnings(scenario, &chosen),
        version: VERSION.to_owned(),
        overrides: head.overrides.clone(),
    };
    let results = Results::of(about, &head.configurations, &head.claims, &head.figures, runs);
    finish(args, &dir, &results, watch.is_interrupted())
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

/// The seeds to run. TOML and `--seed` know no number above 2^63, so there is always room for the last one.
fn seeds(scenario: &Scenario) -> Vec<u64> {
    (0..u64::from(scenario.repeat)).map(|it| scenario.seed + it).collect()
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

/// Whether a name is as the pattern says, where `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            (0..=left.len()).filter(|&at| left.is_char_boundary(at)).any(|at| matches(rest, &left[at..]))
        }),
    }
}

fn head(args: &RunArgs, loaded: &Loaded, seeds: &[u64]) -> ExperimentHead {
    let mut overrides = args.scenario.sets.clone();
    for (is_given, name) in [(args.scenario.quick, "--quick"), (args.scenario.wire_check, "--wire-check")] {
        if is_given {
            overrides.push((name.to_owned(), "yes".to_owned()));
        }
    }
    let scenario = &loaded.scenario;
    let configuration =
        |it: &Configuration| ConfigurationHead { name: it.name.clone(), axes: it.axes.clone() };
    ExperimentHead {
        format: 0,
        tool_version: VERSION.to_owned(),
        scenario: loaded.kept.clone(),
        overrides,
        claims: scenario.claims.clone(),
        figures: scenario.figures.clone(),
        fair: scenario.fair.clone(),
        configurations: scenario.configurations.iter().map(configuration).collect(),
        seeds: seeds.to_vec(),
    }
}

fn default_out(args: &RunArgs, loaded: &Loaded) -> PathBuf {
    let mut folder = loaded.source.folder().into_os_string();
    if args.scenario.quick {
        folder.push("-quick");
    }
    Path::new("results").join(folder)
}

/// A folder that cannot be used, with the flag that names another.
fn refused(dir: &Path, error: RecordError) -> Failure {
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

fn warnings(scenario: &Scenario, chosen: &[&Configuration]) -> Vec<String> {
    let mut warnings: Vec<String> =
        scenario.warnings.iter().map(|it| it.to_string().replace("\nhint: ", "; ")).collect();
    if chosen.len() < scenario.configurations.len() {
        let (part, all) = (chosen.len(), scenario.configurations.len());
        warnings.push(format!("Only {part} of {all} configurations were asked for."));
    }
    warnings
}

fn kept_value(it: &Resolved) -> ResolvedValue {
    let Setting { path, value, origin } = setting(it);
    ResolvedValue { path, value, origin }
}

fn setting(it: &Resolved) -> Setting {
    let origin = it.origin.to_string();
    let origin = match it.configurations.as_slice() {
        names if names.is_empty() || matches!(it.origin, Origin::Axis(..)) => origin,
        names => format!("{origin} (in {})", names.join(", ")),
    };
    Setting { path: it.path.clone(), value: it.value.clone(), origin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("qcn/*", "qcn/short"));
        assert!(matches("*/short", "qcn/short"));
        assert!(matches("*", ""));
        assert!(matches("*é*", "café/x"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("qcn", "qcn/short"));
        assert!(!matches("*/long", "qcn/short"));
    }
}
