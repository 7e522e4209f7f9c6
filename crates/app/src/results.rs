//! What comes of an experiment: verdicts, figures, a page, a screen, a document for machines, an exit code.

use crate::capture::Capture;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::progress;
use crate::runner::{Kept, Run, State};
use quell_record::claim::{Claim, FigureSpec};
use quell_record::{ConfigurationHead, Digest, Fault, RecordError};
use quell_report::figure::Chart;
use quell_report::{
    ConfigurationRow, Extract, FairnessRow, Report, RunFact, Setting, Tally, figures, judge, page, text,
};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of an experiment before its runs are looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// The short name it is run by.
    pub(crate) id: String,
    /// Heading, source and prose.
    pub(crate) prose: Prose,
    /// Every setting, and where it comes from.
    pub(crate) resolved: Vec<Setting>,
    /// What the reader should know, a sentence each.
    pub(crate) warnings: Vec<String>,
    /// The version that simulated.
    pub(crate) version: String,
    /// What the command line changed.
    pub(crate) overrides: Vec<(String, String)>,
}

/// What a scenario says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prose {
    /// Its heading.
    pub(crate) title: String,
    /// The document it follows.
    pub(crate) shows: String,
    /// What it is about.
    pub(crate) about: String,
    /// What its source says.
    pub(crate) says: String,
    /// Where what comes out differs from that, and why.
    pub(crate) differs: String,
}

impl Prose {
    /// Read from a scenario's text, and from the one it extends where it is silent. Whatever else is wrong in
    /// the text does not matter here.
    pub(crate) fn of(text: &str, base: Option<&str>) -> Prose {
        let tables: Vec<toml::Table> =
            [Some(text), base].into_iter().flatten().flat_map(str::parse).collect();
        let said = |key: &str| {
            let found = tables.iter().find_map(|table| table.get(key)?.as_str());
            found.unwrap_or_default().trim().to_owned()
        };
        Prose {
            title: said("title"),
            shows: said("shows"),
            about: said("about"),
            says: said("says"),
            differs: said("differs"),
        }
    }
}

/// The results of an experiment, or of a part of it.
#[derive(Debug)]
pub(crate) struct Results {
    /// What the page shows.
    pub(crate) report: Report,
    /// The runs it rests on.
    pub(crate) runs: Vec<Run>,
    /// The digest of all runs together; none unless all are complete.
    pub(crate) digest: Option<Digest>,
    /// What was captured of them.
    pub(crate) captures: Vec<Capture>,
    version: String,
    overrides: Vec<(String, String)>,
}

impl Results {
    /// Puts runs together. Only complete runs are judged; figures show interrupted ones if there is no other.
    pub(crate) fn of(
        about: About,
        configurations: &[ConfigurationHead],
        claims: &[Claim],
        specs: &[FigureSpec],
        mut runs: Vec<Run>,
    ) -> Results {
        let complete = take_extracts(&mut runs, |state| matches!(state, State::Complete(_)));
        let has_runs = |name: &str| complete.iter().any(|it| it.configuration == name);
        let mut verdicts = judge(claims, &complete);
        verdicts.retain(|verdict| has_runs(&verdict.configuration));
        let figures = if complete.is_empty() {
            figures(specs, &take_extracts(&mut runs, |state| matches!(state, State::Interrupted(_))))
        } else {
            figures(specs, &complete)
        };
        let rows = configurations
            .iter()
            .filter(|it| has_runs(&it.name))
            .map(|it| ConfigurationRow::of(&it.name, &it.axes, &complete));
        let fairness = configurations.iter().filter_map(|it| FairnessRow::of(&it.name, &it.axes, &complete));
        let mut warnings = about.warnings;
        warnings.extend(runs.iter().filter_map(trouble));
        let report = Report {
            id: about.id,
            title: about.prose.title,
            shows: about.prose.shows,
            about: about.prose.about,
            says: about.prose.says,
            differs: about.prose.differs,
            complete: !runs.iter().any(|it| matches!(it.state, State::Interrupted(_) | State::NotBegun)),
            verdicts,
            figures,
            configurations: rows.collect(),
            fairness: fairness.collect(),
            resolved: about.resolved,
            warnings,
            facts: facts(&runs, &about.version, &about.overrides),
            runs: runs.iter().filter_map(run_fact).collect(),
        };
        let digest = digest_of(&runs);
        let captures = Vec::new();
        Results { report, runs, digest, captures, version: about.version, overrides: about.overrides }
    }

    /// Writes the page, and every figure as a picture and as numbers, into a folder. Gives the page's path.
    pub(crate) fn write(&self, dir: &Path) -> Result<PathBuf, Failure> {
        let pictures = dir.join("figures");
        if !self.report.figures.is_empty() {
            fs::create_dir_all(&pictures).map_err(|error| Failure::io(&pictures, "create", &error))?;
        }
        for figure in &self.report.figures {
            write_file(&pictures.join(format!("{}.svg", figure.stem)), &figure.to_svg())?;
            write_file(&pictures.join(format!("{}.csv", figure.stem)), &figure.to_csv())?;
        }
        let path = dir.join("report.html");
        write_file(&path, &page(&self.report))?;
        Ok(path)
    }

    /// One screen for people; `page` is where the report was written, if it could be.
    pub(crate) fn in_words(&self, page: Option<&Path>, is_brief: bool) -> String {
        let paint = Paint::for_stdout();
        let style = text::Style { colour: paint.is_on(), brief: true };
        let mut words = if is_brief {
            text::claims_table(&self.report.verdicts, style)
        } else {
            text::summary(&self.report, style)
        };
        if !words.is_empty() && !words.ends_with("\n\n") {
            words.push('\n');
        }
        let unjudged = self.unjudged();
        if !unjudged.is_empty() {
            let line = format!("not judged, for want of a finished run: {}", unjudged.join(", "));
            let _ = writeln!(words, "{}\n", paint.yellow(&line));
        }
        if let Some(page) = page {
            let _ = writeln!(words, "{} {}", paint.dim("report"), page.display());
        }
        for capture in &self.captures {
            let _ = writeln!(words, "{} {}", paint.dim("capture"), capture.in_words());
        }
        let _ = writeln!(words, "{} {}", paint.dim("digest"), self.digest_in_words());
        words
    }

    /// Configurations of which no run is finished.
    fn unjudged(&self) -> Vec<&str> {
        let groups = self.runs.chunk_by(|a, b| a.configuration == b.configuration);
        let is_unjudged = |runs: &&[Run]| !runs.iter().any(|it| matches!(it.state, State::Complete(_)));
        groups.filter(is_unjudged).map(|runs| runs[0].configuration.as_str()).collect()
    }

    fn digest_in_words(&self) -> String {
        let runs = self.runs.len();
        let Some(digest) = self.digest else {
            let complete = self.runs.iter().filter(|it| matches!(it.state, State::Complete(_))).count();
            return format!("none: {complete} of {runs} runs are finished");
        };
        let found = self.runs.iter().filter(|it| it.kept().is_some_and(|kept| kept.was_resumed)).count();
        match (runs, found) {
            (1, 0) => format!("{digest}  (one run)"),
            (runs, 0) => format!("{digest}  ({runs} runs)"),
            (1, _) => format!("{digest}  (the run was there already)"),
            (runs, found) if found == runs => format!("{digest}  (all {runs} runs were there already)"),
            (runs, found) => format!("{digest}  ({runs} runs, {found} of which were there already)"),
        }
    }

    /// One document for machines.
    pub(crate) fn to_json(&self, dir: &Path, page: Option<&Path>, exit: Exit) -> String {
        let document = self.to_document(dir, page, exit);
        let mut text = serde_json::to_string_pretty(&document).expect("plain data is always JSON");
        text.push('\n');
        text
    }

    /// The same, before it is text.
    pub(crate) fn to_document(&self, dir: &Path, page: Option<&Path>, exit: Exit) -> serde_json::Value {
        let tally = Tally::of(&self.report.verdicts);
        let runs: Vec<_> = self.runs.iter().map(Run::to_json).collect();
        json!({
            "scenario": { "id": self.report.id, "title": self.report.title, "shows": self.report.shows },
            "version": self.version,
            "overrides": self.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
            "exit": exit.code(),
            "complete": self.digest.is_some(),
            "claims": { "hold": tally.holding, "fail": tally.failing, "reported": tally.reported },
            "verdicts": self.report.verdicts,
            "digest": self.digest.map(|it| it.whole()),
            "configurations": self.report.configurations.iter().map(|it| json!({
                "name": it.name,
                "axes": it.axes.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "runs": it.runs,
                "totals": it.totals,
            })).collect::<Vec<_>>(),
            "fairness": self.report.fairness,
            "runs": runs,
            "captures": self.captures.iter().map(Capture::to_json).collect::<Vec<_>>(),
            "warnings": self.report.warnings,
            "peak_memory_bytes": peak_memory(),
            "dir": dir,
            "report": page,
        })
    }

    /// How many runs are finished, and how to go on.
    pub(crate) fn progress_in_words(&self) -> String {
        let count = |wanted: fn(&State) -> bool| self.runs.iter().filter(|it| wanted(&it.state)).count();
        let complete = count(|it| matches!(it, State::Complete(_)));
        let cut = count(|it| matches!(it, State::Interrupted(_)));
        let left = count(|it| matches!(it, State::NotBegun));
        format!(
            "{complete} of {} runs are finished, {cut} were cut short, {left} never began; what there is was kept.\n\
             Run it again into the same folder to go on from there.",
            self.runs.len()
        )
    }

    /// Says what went wrong with which runs: the first of each configuration in full, the others by seed.
    pub(crate) fn complain(&self) {
        for runs in self.runs.chunk_by(|a, b| a.configuration == b.configuration) {
            let broken: Vec<(&Run, &String)> =
                runs.iter().filter_map(|it| Some((it, it.broken()?))).collect();
            if let [(run, why), others @ ..] = broken.as_slice() {
                let mut message = format!("{}: {why}", run.name());
                if !others.is_empty() {
                    let seeds: Vec<u64> = others.iter().map(|(run, _)| run.seed).collect();
                    let _ = write!(message, "\nit broke likewise under seed {}", seeds_in_words(&seeds));
                }
                out::complain(
                    &message,
                    Some(&format!("what was recorded until then is in {}", run.dir.display())),
                );
            }
            for run in runs {
                if let State::Lost(error) = &run.state {
                    out::complain(&error.to_string(), Some(&remedy(run, error)));
                }
            }
        }
    }

    /// How the command ends, as far as the runs and claims say.
    pub(crate) fn exit(&self) -> Exit {
        let run = |run: &Run| match &run.state {
            State::Broken(_) => Exit::Broken,
            State::Lost(error) if error.fault() == Fault::Io => Exit::Io,
            State::Lost(_) => Exit::Invalid,
            _ => Exit::Done,
        };
        let claims = if Tally::of(&self.report.verdicts).failing > 0 { Exit::Failed } else { Exit::Done };
        self.runs.iter().map(run).fold(claims, Exit::max)
    }
}

impl Run {
    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        format!("{}, seed {}", self.configuration, self.seed)
    }

    /// What is kept of it.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        match &self.state {
            State::Complete(kept) | State::Interrupted(kept) => Some(kept),
            State::Broken(_) | State::NotBegun | State::Lost(_) => None,
        }
    }

    fn broken(&self) -> Option<&String> {
        match &self.state {
            State::Broken(why) => Some(why),
            _ => None,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let (state, why) = match &self.state {
            State::Complete(_) => ("complete", None),
            State::Interrupted(_) => ("interrupted", None),
            State::Broken(why) => ("broken", Some(why.clone())),
            State::NotBegun => ("not-begun", None),
            State::Lost(error) => ("lost", Some(error.to_string())),
        };
        json!({
            "configuration": self.configuration,
            "seed": self.seed,
            "state": state,
            "why": why,
            "was_resumed": self.kept().map(|it| it.was_resumed),
            "digest": self.kept().map(|it| it.digest.whole()),
            "ending": self.kept().map(|it| it.ending),
            "dir": self.dir,
        })
    }
}

/// The most memory this program has used so far, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// What helps against a run that cannot be read or written.
fn remedy(run: &Run, error: &RecordError) -> String {
    match (error.fault(), error.hint()) {
        (Fault::Io, Some(hint)) => hint,
        (Fault::Io, None) => {
            "put it right and run again: finished runs are kept and not run again".to_owned()
        }
        (Fault::Invalid, _) => {
            format!(
                "remove {} and run again: the same scenario and seed give the same run",
                run.dir.display()
            )
        }
    }
}

/// Writes a chart as picture and table into a folder, and gives the names of both files.
pub(crate) fn write_chart(dir: &Path, chart: &Chart) -> Result<Vec<String>, Failure> {
    fs::create_dir_all(dir).map_err(|error| Failure::io(dir, "create", &error))?;
    let mut files = Vec::new();
    for (ending, text) in [("svg", chart.to_svg()), ("csv", chart.to_csv())] {
        let path = dir.join(format!("{}.{ending}", chart.stem));
        write_file(&path, &text)?;
        files.push(path.display().to_string());
    }
    Ok(files)
}

/// Writes a file, whole or not at all, with a failure that names it.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let is_special = path.metadata().is_ok_and(|found| !found.is_file());
    let written = if is_special {
        fs::write(path, text)
    } else {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".partial");
        let draft = PathBuf::from(draft);
        let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // What is left of it is of no use, and may not even be there.
            let _ = fs::remove_file(&draft);
        }
        written
    };
    written.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "make room or choose a folder on another disk; finished runs are kept and not run again"
            }
            std::io::ErrorKind::IsADirectory => "name a file, not a folder",
            std::io::ErrorKind::NotFound => "its folder does not exist; make it, or choose another place",
            _ => "choose another place",
        };
        Failure::io(path, "write", &error).hint(hint)
    })
}

/// The digest of several runs: BLAKE3 over a line for each with configuration, seed and digest, in order. That of
/// one run is its own.
fn digest_of(runs: &[Run]) -> Option<Digest> {
    let mut lines = String::new();
    for run in runs {
        let State::Complete(kept) = &run.state else { return None };
        if let [_] = runs {
            return Some(kept.digest);
        }
        let _ = writeln!(lines, "{}\t{}\t{}", run.configuration, run.seed, kept.digest.whole());
    }
    (!runs.is_empty()).then(|| {
        let hash = blake3::hash(lines.as_bytes()).to_hex();
        hash.parse().expect("a hash is 64 hexadecimal digits")
    })
}

/// Copies out the extracts of the runs that are wanted.
fn take_extracts(runs: &mut [Run], wanted: impl Fn(&State) -> bool) -> Vec<Extract> {
    runs.iter().filter(|it| wanted(&it.state)).filter_map(|it| Some(it.kept()?.extract.clone())).collect()
}

fn trouble(run: &Run) -> Option<String> {
    match &run.state {
        State::Broken(why) => Some(format!("{}: {why}; this run is not judged.", run.name())),
        State::Lost(error) => Some(format!("{}: {error}; this run is not judged.", run.name())),
        _ => None,
    }
}

fn facts(runs: &[Run], version: &str, overrides: &[(String, String)]) -> Vec<(String, String)> {
    let kept = || runs.iter().filter_map(Run::kept);
    let seconds: f64 = kept().map(|it| it.ending.wall_seconds).sum();
    let hops: u64 = kept().map(|it| it.ending.frame_hops).sum();
    let simulated: u64 = kept().map(|it| it.ending.simulated_ps).sum();
    let mut seeds: Vec<u64> = runs.iter().map(|it| it.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let mut facts = vec![
        ("version".to_owned(), version.to_owned()),
        ("seeds".to_owned(), seeds_in_words(&seeds)),
        ("runs".to_owned(), runs.len().to_string()),
        ("simulated".to_owned(), progress::simulated(simulated)),
        ("frames carried over links".to_owned(), hops.to_string()),
        ("time of all runs".to_owned(), progress::span(seconds)),
    ];
    let cells: u64 = kept().map(|it| it.ending.cell_hops).sum();
    if cells > 0 {
        facts.push(("cells carried inside the fabric".to_owned(), cells.to_string()));
    }
    if let Some(digest) = digest_of(runs) {
        facts.push(("digest".to_owned(), digest.whole()));
    }
    facts.extend(overrides.iter().map(|(key, value)| (format!("set: {key}"), value.clone())));
    facts
}

/// `1 to 20`, or the seeds one by one where they have gaps.
pub(crate) fn seeds_in_words(seeds: &[u64]) -> String {
    match seeds {
        [] => "none".to_owned(),
        [one] => one.to_string(),
        [first, .., last] if last - first == seeds.len() as u64 - 1 => format!("{first} to {last}"),
        several => several.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn run_fact(run: &Run) -> Option<RunFact> {
    let kept = run.kept()?;
    let names: Vec<_> = run.dir.iter().rev().take(3).collect();
    let directory: PathBuf = names.into_iter().rev().collect();
    Some(RunFact {
        configuration: run.configuration.clone(),
        seed: run.seed,
        digest: kept.digest.to_string(),
        wall_seconds: kept.ending.wall_seconds,
        events: kept.ending.events,
        directory: directory.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_says_what_its_base_does_not_say_for_it() {
        let prose = Prose::of("title = \"own\"\nfoo = 1", Some("title = \"base\"\nshows = \"a page\""));
        assert_eq!(prose, Prose { title: "own".into(), shows: "a page".into(), ..Prose::default() });
        assert_eq!(Prose::of("not toml", None), Prose::default());
    }

    #[test]
    fn seeds_without_a_gap_are_said_as_a_range() {
        assert_eq!(seeds_in_words(&[1, 2, 3]), "1 to 3");
        assert_eq!(seeds_in_words(&[1, 3]), "1, 3");
        assert_eq!(seeds_in_words(&[7]), "7");
    }
}
