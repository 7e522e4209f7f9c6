//! `quell report`: from recordings to verdicts, figures and a page, once more.

use crate::cli::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::results::{About, Prose, Results};
use crate::runner::{self, Bench, Run, State};
use quell_record::{Experiment, ExperimentHead, Manifest, read_manifest};
use quell_report::Setting;
use std::path::Path;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let experiment = Experiment::open(&args.dir)?;
    let results = results_of(&experiment);
    results.complain();
    let exit = results.exit();
    if results.runs.iter().all(|run| matches!(run.state, State::NotBegun | State::Lost(_))) {
        if exit == Exit::Done {
            return Err(Failure::invalid(format!("{}: no run here is finished", args.dir.display()))
                .hint("run it again into the same folder: what is finished stays"));
        }
        return Ok(exit);
    }
    let page = results.write(&args.dir)?;
    if args.json {
        out::print(&results.to_json(&args.dir, Some(&page), exit))?;
    } else {
        out::print(&results.in_words(Some(&page), args.quiet))?;
    }
    if !results.report.complete {
        out::note(&results.progress_in_words());
    }
    Ok(exit)
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
