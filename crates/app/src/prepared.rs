//! A scenario made ready to run into a folder, and what comes of its runs. `run` does it with one, `suite` with many.

use crate::cli::ScenarioArgs;
use crate::results::{About, Prose, Results};
use crate::runner::{Bench, Job, Run};
use crate::source::Loaded;
use quell_record::{ConfigurationHead, Experiment, ExperimentHead, RecordError, ResolvedValue};
use quell_report::Setting;
use quell_sim::scenario::{Configuration, Origin, Resolved, Scenario};
use std::path::Path;

/// What wrote a folder of results: the version, and the fingerprint of everything that computes results.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("QUELL_FINGERPRINT"));

/// A scenario and the folder that its runs go to, held until this is dropped.
#[derive(Debug)]
pub(crate) struct Prepared {
    loaded: Loaded,
    head: ExperimentHead,
    experiment: Experiment,
    resolved: Vec<ResolvedValue>,
}

impl Prepared {
    /// Takes the folder, unless something else is in it.
    pub(crate) fn new(args: &ScenarioArgs, loaded: Loaded, dir: &Path) -> Result<Prepared, RecordError> {
        let head = head(args, &loaded);
        let experiment = Experiment::create(dir, head.clone())?;
        let resolved = loaded.scenario.resolved.iter().map(kept_value).collect();
        Ok(Prepared { loaded, head, experiment, resolved })
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        self.experiment.dir()
    }

    /// What is run.
    pub(crate) fn scenario(&self) -> &Scenario {
        &self.loaded.scenario
    }

    /// The runs of some of its configurations, by configuration, then seed.
    pub(crate) fn jobs<'a>(&'a self, chosen: &[&'a Configuration]) -> Vec<Job<'a>> {
        let bench = Bench {
            experiment: &self.experiment,
            claims: &self.head.claims,
            figures: &self.head.figures,
            fair: &self.head.fair,
            resolved: &self.resolved,
        };
        let seeds = &self.head.seeds;
        let job = |it: &'a Configuration, seed| Job { bench, configuration: &it.name, plan: &it.plan, seed };
        chosen.iter().flat_map(|it| seeds.iter().map(move |&seed| job(it, seed))).collect()
    }

    /// Whether a run is there already, and whole.
    pub(crate) fn is_there(&self, job: &Job<'_>) -> bool {
        self.experiment.run(job.configuration, job.seed).is_ok_and(|run| run.is_complete())
    }

    /// Puts the runs of some of its configurations together.
    pub(crate) fn results(&self, chosen: usize, runs: Vec<Run>) -> Results {
        let scenario = &self.loaded.scenario;
        let about = About {
            id: self.loaded.source.id.clone(),
            prose: Prose {
                title: scenario.title.clone(),
                shows: scenario.shows.clone().unwrap_or_default(),
                about: scenario.about.clone().unwrap_or_default(),
                says: scenario.says.clone().unwrap_or_default(),
                differs: scenario.differs.clone().unwrap_or_default(),
            },
            resolved: scenario.resolved.iter().map(setting).collect(),
            warnings: warnings(scenario, chosen),
            version: VERSION.to_owned(),
            overrides: self.head.overrides.clone(),
        };
        Results::of(about, &self.head.configurations, &self.head.claims, &self.head.figures, runs)
    }
}

fn head(args: &ScenarioArgs, loaded: &Loaded) -> ExperimentHead {
    let scenario = &loaded.scenario;
    let configuration =
        |it: &Configuration| ConfigurationHead { name: it.name.clone(), axes: it.axes.clone() };
    ExperimentHead {
        format: 0,
        tool_version: VERSION.to_owned(),
        scenario: loaded.kept.clone(),
        overrides: overrides(args),
        claims: scenario.claims.clone(),
        figures: scenario.figures.clone(),
        fair: scenario.fair.clone(),
        configurations: scenario.configurations.iter().map(configuration).collect(),
        // TOML and `--seed` know no number above 2^63, so there is always room for the last one.
        seeds: (0..u64::from(scenario.repeat)).map(|it| scenario.seed + it).collect(),
    }
}

/// What the command line changes in a scenario, as folders of results keep it.
pub(crate) fn overrides(args: &ScenarioArgs) -> Vec<(String, String)> {
    let mut overrides = args.sets.clone();
    for (is_given, name) in [(args.quick, "--quick"), (args.wire_check, "--wire-check")] {
        if is_given {
            overrides.push((name.to_owned(), "yes".to_owned()));
        }
    }
    overrides
}

fn warnings(scenario: &Scenario, chosen: usize) -> Vec<String> {
    let mut warnings: Vec<String> =
        scenario.warnings.iter().map(|it| it.to_string().replace("\nhint: ", "; ")).collect();
    let all = scenario.configurations.len();
    if chosen < all {
        warnings.push(format!("Only {chosen} of {all} configurations were asked for."));
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
