//! The folder of a suite's results: whose it is.
//!
//! ```text
//! <out>/suite.json       which suite, by which version, with what changed
//! <out>/report.html      the page of the suite, and `figures/` with its figure
//! <out>/<scenario>/      an experiment, as `quell run` lays it out
//! ```

use crate::exit::Failure;
use crate::prepared::VERSION;
use crate::results::write_file;
use quell_record::{Difference, RecordError};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

const FILE: &str = "suite.json";

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The version that simulates.
    pub(crate) tool_version: String,
    /// The name of the suite.
    pub(crate) suite: String,
    /// What the command line changes in every scenario.
    pub(crate) overrides: Vec<(String, String)>,
    /// The folder of scenario files, if it is no built-in family.
    #[serde(default)]
    pub(crate) from: Option<String>,
    /// How many seeds, if not each scenario's number.
    #[serde(default)]
    pub(crate) repeat: Option<u32>,
    /// The scenarios, in order, whether they could be run or not.
    #[serde(default)]
    pub(crate) scenarios: Vec<String>,
}

impl Head {
    /// A suite of this version.
    pub(crate) fn new(suite: &str, overrides: &[(String, String)]) -> Head {
        Head {
            tool_version: VERSION.to_owned(),
            suite: suite.to_owned(),
            overrides: overrides.to_vec(),
            ..Head::default()
        }
    }

    /// The command that makes it again.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["quell suite".to_owned()];
        match &self.from {
            Some(from) => words.push(format!("{} --from {from}", self.suite)),
            None => words.push(self.suite.clone()),
        }
        // Of what can be changed, a suite knows only flags.
        words.extend(self.overrides.iter().map(|(flag, _)| flag.clone()));
        words.extend(self.repeat.map(|it| format!("--repeat {it}")));
        words.join(" ")
    }
}

/// What a folder says it holds; `None` if it is not the folder of a suite.
pub(crate) fn read(dir: &Path) -> Result<Option<Head>, Failure> {
    let path = dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::invalid(format!("{}:{}: {error}", path.display(), error.line()))
                .hint(format!("choose another folder with `--out DIR`, or remove {}", dir.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(refused(dir, RecordError::NotAFolder { path: dir.to_owned() }))
        }
        Err(error) => Err(Failure::io(&path, "read", &error)),
    }
}

/// Makes the folder ready for this suite. If it holds the same one already, that goes on; anything else that is
/// there is left alone, with the reason.
pub(crate) fn take(dir: &Path, here: &Head) -> Result<(), Failure> {
    match read(dir)? {
        Some(there) => {
            if let Some(difference) = difference(&there, here) {
                return Err(refused(dir, RecordError::Different { path: dir.to_owned(), difference }));
            }
        }
        None => refuse_foreign(dir)?,
    }
    fs::create_dir_all(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            refused(dir, RecordError::NotAFolder { path: dir.to_owned() })
        }
        _ => Failure::io(dir, "create", &error),
    })?;
    let mut text = serde_json::to_string_pretty(here).expect("plain data is always JSON");
    text.push('\n');
    write_file(&dir.join(FILE), &text)
}

fn difference(there: &Head, here: &Head) -> Option<Difference> {
    let spoken = |head: &Head| {
        let pairs: Vec<&str> = head.overrides.iter().map(|(key, _)| key.as_str()).collect();
        if pairs.is_empty() { "no values set".to_owned() } else { format!("`{}`", pairs.join(" ")) }
    };
    if there.suite != here.suite {
        let name = |head: &Head| format!("the suite {}", head.suite);
        return Some(Difference::Scenario { there: name(there), here: name(here) });
    }
    if there.tool_version != here.tool_version {
        let (there, here) = (there.tool_version.clone(), here.tool_version.clone());
        return Some(Difference::Version { there, here });
    }
    if there.overrides != here.overrides {
        return Some(Difference::Overrides { there: spoken(there), here: spoken(here) });
    }
    None
}

/// Only folders of experiments may be there before: `quell run` may have put them there.
fn refuse_foreign(dir: &Path) -> Result<(), Failure> {
    let refused_to_read = |error| Failure::io(dir, "read", &error);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(refused(dir, RecordError::NotAFolder { path: dir.to_owned() }));
        }
        Err(error) => return Err(refused_to_read(error)),
    };
    for entry in entries {
        let path = entry.map_err(refused_to_read)?.path();
        if !path.join("experiment.json").is_file() {
            let found = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(refused(dir, RecordError::Foreign { path: dir.to_owned(), found }));
        }
    }
    Ok(())
}

fn refused(dir: &Path, error: RecordError) -> Failure {
    let hint = format!("choose another folder with `--out DIR`, or remove {}", dir.display());
    Failure::from(error).hint(hint)
}
