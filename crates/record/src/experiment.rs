//! Runs that belong together: one scenario, its configurations and seeds, in one folder.
//!
//! ```text
//! <out>/experiment.json                          the scenario, its claims and figures, what is to run
//! <out>/runs/<configuration>/seed-<n>/           a run
//! <out>/runs/<configuration>/seed-<n>.partial/   a run that is being written, or was killed
//! ```

use crate::claim::{Claim, FairShare, FigureSpec};
use crate::disk;
use crate::error::{Difference, RecordError};
use crate::manifest::{FORMAT, Manifest, ScenarioText, read_versioned, to_json};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// `experiment.json`: what is run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentHead {
    /// The form of the files; see [`FORMAT`].
    pub format: u32,
    /// Version of the tool.
    pub tool_version: String,
    /// The scenario.
    pub scenario: ScenarioText,
    /// What the command line changed in it, as key and value; `--quick` among them.
    pub overrides: Vec<(String, String)>,
    /// What it claims.
    pub claims: Vec<Claim>,
    /// What it draws.
    pub figures: Vec<FigureSpec>,
    /// What each flow ought to get.
    #[serde(default)]
    pub fair: Vec<FairShare>,
    /// Its configurations, in order.
    pub configurations: Vec<ConfigurationHead>,
    /// The seeds each is run under.
    pub seeds: Vec<u64>,
}

/// A configuration as an experiment knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationHead {
    /// Its name.
    pub name: String,
    /// Its value on each axis, as axis and value.
    pub axes: Vec<(String, String)>,
}

/// A folder of runs.
#[derive(Debug)]
pub struct Experiment {
    out: PathBuf,
    head: ExperimentHead,
    is_resumed: bool,
    /// Held while the folder is written to; the system lets go of it even if the process is killed.
    _lock: Option<File>,
}

/// One run of an experiment, there or not.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The configuration.
    pub configuration: String,
    /// The seed.
    pub seed: u64,
    /// Its folder.
    pub dir: PathBuf,
    /// Its manifest, if it came to an end or was interrupted; `None` if it is yet to run.
    pub manifest: Option<Manifest>,
}

impl RunEntry {
    /// Whether there is nothing left to run.
    pub fn is_complete(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.ending.complete)
    }
}

impl Experiment {
    const FILE: &str = "experiment.json";
    const LOCK: &str = ".lock";

    /// Makes the folder ready to run this experiment. If it holds the same one already (same version,
    /// scenario text and overrides), that is resumed: its finished runs stand, and its seeds are kept beside the
    /// new ones. Anything else that is there is left alone, with an error.
    pub fn create(out: &Path, head: ExperimentHead) -> Result<Experiment, RecordError> {
        match fs::metadata(out) {
            Ok(found) if !found.is_dir() => {
                return Err(RecordError::NotAFolder { path: out.to_owned() });
            }
            Ok(_) => refuse_foreign(out)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => disk::create_folder(out)?,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(disk::not_a_folder(out));
            }
            Err(error) => return Err(RecordError::io(out, "open", error)),
        }
        let lock = lock(out)?;
        let (mut head, mut is_resumed) = (ExperimentHead { format: FORMAT, ..head }, false);
        if out.join(Self::FILE).exists() {
            let there: ExperimentHead = read_versioned(&out.join(Self::FILE), "an experiment")?;
            if let Some(difference) = difference(&there, &head) {
                return Err(RecordError::Different { path: out.to_owned(), difference });
            }
            head.seeds = merged(there.seeds, &head.seeds);
            is_resumed = true;
        }
        disk::write_whole(&out.join(Self::FILE), &to_json(&head))?;
        Ok(Experiment { out: out.to_owned(), head, is_resumed, _lock: Some(lock) })
    }

    /// Opens an experiment to read it.
    pub fn open(out: &Path) -> Result<Experiment, RecordError> {
        if fs::metadata(out).is_ok_and(|found| !found.is_dir()) {
            return Err(RecordError::NotAFolder { path: out.to_owned() });
        }
        let head = read_versioned(&out.join(Self::FILE), "an experiment")?;
        Ok(Experiment { out: out.to_owned(), head, is_resumed: false, _lock: None })
    }

    /// What is run here.
    pub fn head(&self) -> &ExperimentHead {
        &self.head
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.out
    }

    /// Whether it was there before.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The folder of one run, there or not.
    ///
    /// # Panics
    /// On a configuration the experiment does not have.
    pub fn run_dir(&self, configuration: &str, seed: u64) -> PathBuf {
        let index = self.head.configurations.iter().position(|it| it.name == configuration);
        let index = index.expect("a configuration of this experiment");
        self.out.join("runs").join(&self.slugs()[index]).join(format!("seed-{seed}"))
    }

    /// One run, and whether it is there.
    pub fn run(&self, configuration: &str, seed: u64) -> Result<RunEntry, RecordError> {
        let dir = self.run_dir(configuration, seed);
        let manifest = match disk::read_manifest(&dir) {
            Ok(manifest) => Some(manifest),
            Err(RecordError::Missing { .. } | RecordError::Unfinished { .. }) => None,
            Err(error) => return Err(error),
        };
        if let Some(manifest) = &manifest
            && (manifest.run.configuration != configuration || manifest.run.seed != seed)
        {
            return Err(RecordError::damaged(
                &dir,
                format!("it is the run of `{}` under seed {}", manifest.run.configuration, manifest.run.seed),
            ));
        }
        Ok(RunEntry { configuration: configuration.to_owned(), seed, dir, manifest })
    }

    /// Every run of the experiment, by configuration, then seed.
    pub fn runs(&self) -> Result<Vec<RunEntry>, RecordError> {
        let mut runs = Vec::new();
        for configuration in &self.head.configurations {
            for &seed in &self.head.seeds {
                runs.push(self.run(&configuration.name, seed)?);
            }
        }
        Ok(runs)
    }

    fn slugs(&self) -> Vec<String> {
        slugs(self.head.configurations.iter().map(|configuration| configuration.name.as_str()))
    }
}

/// A folder that is neither empty nor an experiment is not ours to write to.
fn refuse_foreign(out: &Path) -> Result<(), RecordError> {
    if out.join(Experiment::FILE).exists() {
        return Ok(());
    }
    let entries = fs::read_dir(out).map_err(|error| RecordError::io(out, "read", error))?;
    for entry in entries {
        let name = entry.map_err(|error| RecordError::io(out, "read", error))?.file_name();
        let name = name.to_string_lossy();
        if name != Experiment::LOCK {
            return Err(RecordError::Foreign { path: out.to_owned(), found: name.into_owned() });
        }
    }
    Ok(())
}

fn lock(out: &Path) -> Result<File, RecordError> {
    let path = out.join(Experiment::LOCK);
    let options = File::options().create(true).truncate(false).write(true).open(&path);
    let file = options.map_err(|error| RecordError::io(&path, "write", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RecordError::Busy { path: out.to_owned() }),
        // Some network file systems know no locks; a run there is no worse off than before there were any.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(RecordError::io(&path, "lock", error)),
    }
}

fn difference(there: &ExperimentHead, here: &ExperimentHead) -> Option<Difference> {
    if there.tool_version != here.tool_version {
        let (there, here) = (there.tool_version.clone(), here.tool_version.clone());
        return Some(Difference::Version { there, here });
    }
    if there.scenario.id != here.scenario.id && there.scenario.text != here.scenario.text {
        let (there, here) = (there.scenario.id.clone(), here.scenario.id.clone());
        return Some(Difference::Scenario { there, here });
    }
    let base = |head: &ExperimentHead| head.scenario.base.clone().unwrap_or_default();
    if let Some(line) = first_difference(&there.scenario.text, &here.scenario.text) {
        return Some(Difference::Text { file: here.scenario.file.clone(), line });
    }
    if let Some(line) = first_difference(&base(there), &base(here)) {
        return Some(Difference::Text {
            file: format!("the file that {} extends", here.scenario.file),
            line,
        });
    }
    let mut data = here.scenario.data.iter();
    if let Some((file, _)) = data.find(|(file, mark)| there.scenario.data.get(*file) != Some(*mark)) {
        return Some(Difference::Data { file: file.clone() });
    }
    if there.overrides != here.overrides {
        let (there, here) = (spoken(&there.overrides), spoken(&here.overrides));
        return Some(Difference::Overrides { there, here });
    }
    None
}

/// The first line, counted from one, in which two texts differ.
fn first_difference(a: &str, b: &str) -> Option<usize> {
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    (a != b).then_some(same + 1)
}

fn spoken(overrides: &[(String, String)]) -> String {
    if overrides.is_empty() {
        return "no values set".to_owned();
    }
    let pairs: Vec<String> = overrides.iter().map(|(key, value)| format!("`{key}={value}`")).collect();
    pairs.join(", ")
}

fn merged(mut seeds: Vec<u64>, more: &[u64]) -> Vec<u64> {
    for seed in more {
        if !seeds.contains(seed) {
            seeds.push(*seed);
        }
    }
    seeds
}

/// Folder names for configurations: their letters and digits, everything else a dash, each name once.
fn slugs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const LONGEST: usize = 80;
    let mut slugs: Vec<String> = Vec::new();
    for name in names {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let mut slug: String = name.chars().map(plain).take(LONGEST).collect();
        if slug.is_empty() {
            slug.push_str("only");
        }
        let first = slug.clone();
        let mut number = 2;
        while slugs.contains(&slug) {
            slug = format!("{first}.{number}");
            number += 1;
        }
        slugs.push(slug);
    }
    slugs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FileMark;
    use crate::manifest::{Ending, ManifestDraft};
    use crate::testing::{catalog, tell};
    use crate::{DiskWriter, Fault};
    use tempfile::tempdir;

    fn head() -> ExperimentHead {
        let configuration = |name: &str| ConfigurationHead { name: name.into(), axes: Vec::new() };
        ExperimentHead {
            format: 0,
            tool_version: "0.0.1".into(),
            scenario: ScenarioText {
                id: "qau/b1".into(),
                file: "b1.toml".into(),
                text: "a = 1\nb = 2\n".into(),
                base: None,
                data: Default::default(),
            },
            overrides: vec![("scheme.gd".into(), "1/256".into())],
            claims: Vec::new(),
            figures: Vec::new(),
            fair: Vec::new(),
            configurations: vec![configuration("none/short"), configuration("none-short")],
            seeds: vec![1, 2],
        }
    }

    fn finish(experiment: &Experiment, configuration: &str, seed: u64, complete: bool) {
        let draft = ManifestDraft { configuration: configuration.into(), seed, ..ManifestDraft::default() };
        let dir = experiment.run_dir(configuration, seed);
        let mut disk = DiskWriter::create(&dir, &catalog(), draft).unwrap();
        tell(2, &mut disk);
        let ending =
            Ending { complete, simulated_ps: 1, events: 1, frame_hops: 1, cell_hops: 0, wall_seconds: 0.5 };
        disk.finish(ending, &serde_json::Value::Null).unwrap();
    }

    fn done(experiment: &Experiment) -> Vec<(String, u64, bool)> {
        let runs = experiment.runs().unwrap();
        runs.into_iter().map(|run| (run.configuration.clone(), run.seed, run.is_complete())).collect()
    }

    fn refusal(out: &Path, head: ExperimentHead) -> String {
        let error = Experiment::create(out, head).unwrap_err();
        assert_eq!(error.fault(), Fault::Invalid);
        assert!(error.hint().is_some());
        error.to_string().replace(&out.display().to_string(), "out")
    }

    #[test]
    fn finished_runs_are_found_when_an_experiment_is_resumed_with_more_seeds() {
        let temp = tempdir().unwrap();
        let out = temp.path().join("a/results");
        let first = Experiment::create(&out, head()).unwrap();
        assert!(!first.is_resumed());
        finish(&first, "none/short", 1, true);
        finish(&first, "none/short", 2, false);
        drop(first);
        let second = Experiment::create(&out, ExperimentHead { seeds: vec![2, 3], ..head() }).unwrap();
        assert!(second.is_resumed());
        let (slash, dash) = ("none/short".to_owned(), "none-short".to_owned());
        let states = done(&second);
        assert_eq!(states[..3], [(slash.clone(), 1, true), (slash.clone(), 2, false), (slash, 3, false)]);
        assert_eq!(states[3..].iter().filter(|run| run.0 == dash && !run.2).count(), 3);
        assert_eq!(done(&Experiment::open(&out).unwrap()), states);
        assert!(
            second.runs().unwrap()[1].manifest.is_some(),
            "an interrupted run is there, and not complete"
        );
    }

    #[test]
    fn configurations_of_like_names_have_folders_of_their_own() {
        let temp = tempdir().unwrap();
        let experiment = Experiment::create(temp.path(), head()).unwrap();
        let folder = |name| experiment.run_dir(name, 7).strip_prefix(temp.path()).unwrap().to_owned();
        assert_eq!(folder("none/short"), Path::new("runs/none-short/seed-7"));
        assert_eq!(folder("none-short"), Path::new("runs/none-short.2/seed-7"));
        assert_eq!(slugs(["", "../..", "Ü 1", "only"].into_iter()), ["only", "-----", "--1", "only.2"]);
        assert_eq!(slugs(["x".repeat(500).as_str()].into_iter())[0].len(), 80);
    }

    #[test]
    fn a_different_experiment_is_refused_with_what_differs() {
        let temp = tempdir().unwrap();
        let out = temp.path();
        drop(Experiment::create(out, head()).unwrap());
        let before = fs::read(out.join("experiment.json")).unwrap();
        let mut other = head();
        other.tool_version = "0.0.2".into();
        assert_eq!(refusal(out, other), "out: holds an experiment of version 0.0.1; this is version 0.0.2");
        let mut other = head();
        other.scenario.text = "a = 1\nb = 3\n".into();
        assert_eq!(refusal(out, other), "out: holds runs of b1.toml as it was before line 2 changed");
        let mut other = head();
        other.scenario.base = Some("x = 1".into());
        let said = "out: holds runs of the file that b1.toml extends as it was before line 1 changed";
        assert_eq!(refusal(out, other), said);
        let mut other = head();
        other.scenario.data.insert("flows.csv".into(), FileMark::of(b"other flows"));
        assert_eq!(refusal(out, other), "out: holds runs with flows.csv as it was before it changed");
        let mut other = head();
        (other.scenario.id, other.scenario.text) = ("qau/b2".into(), String::new());
        assert_eq!(refusal(out, other), "out: holds runs of qau/b1, not of qau/b2");
        let mut other = head();
        other.overrides.clear();
        assert_eq!(refusal(out, other), "out: holds runs with `scheme.gd=1/256`, not with no values set");
        assert_eq!(fs::read(out.join("experiment.json")).unwrap(), before, "and nothing was touched");
    }

    #[test]
    fn a_folder_of_other_things_and_a_file_are_left_alone() {
        let temp = tempdir().unwrap();
        let file = temp.path().join("notes.txt");
        fs::write(&file, "mine").unwrap();
        assert_eq!(refusal(temp.path(), head()), "out: holds `notes.txt`, which is no part of a recording");
        assert_eq!(refusal(&file, head()), "out: is a file, not a folder");
        assert!(
            Experiment::create(&file.join("below"), head()).unwrap_err().to_string().contains("is a file")
        );
        assert!(matches!(Experiment::open(&file), Err(RecordError::NotAFolder { .. })));
        assert!(matches!(Experiment::open(temp.path()), Err(RecordError::Missing { .. })));
        assert_eq!(fs::read(&file).unwrap(), b"mine");
    }

    #[test]
    fn two_processes_do_not_write_to_one_folder() {
        let temp = tempdir().unwrap();
        let first = Experiment::create(temp.path(), head()).unwrap();
        assert_eq!(refusal(temp.path(), head()), "out: another process is writing here");
        Experiment::open(temp.path()).unwrap();
        drop(first);
        Experiment::create(temp.path(), head()).unwrap();
    }

    #[test]
    fn an_experiment_file_cut_short_or_of_another_age_is_refused() {
        let temp = tempdir().unwrap();
        drop(Experiment::create(temp.path(), head()).unwrap());
        let path = temp.path().join("experiment.json");
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() - 1 {
            fs::write(&path, &whole[..cut]).unwrap();
            let error = Experiment::open(temp.path()).unwrap_err();
            assert!(matches!(error, RecordError::BadJson { .. }), "{error}");
        }
        fs::write(&path, r#"{"format": 7}"#).unwrap();
        assert!(refusal(temp.path(), head()).contains("has format 7"));
    }

    #[test]
    fn a_run_moved_to_anothers_place_is_noticed() {
        let temp = tempdir().unwrap();
        let experiment = Experiment::create(temp.path(), head()).unwrap();
        finish(&experiment, "none/short", 1, true);
        fs::rename(experiment.run_dir("none/short", 1), experiment.run_dir("none/short", 2)).unwrap();
        let error = experiment.runs().unwrap_err().to_string();
        assert!(error.ends_with("it is the run of `none/short` under seed 1"), "{error}");
    }
}
