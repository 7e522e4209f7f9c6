//! The first page of a run: what ran, from which text, and what came of it.

use crate::Digest;
use crate::error::RecordError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The form of the files of a run and of an experiment. A reader knows all forms up to its own.
///
/// Format 2 added causes to events.
pub const FORMAT: u32 = 2;

/// `manifest.json`. It is written last, so a folder that has one has whole files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of the files beside it.
    pub format: u32,
    /// What was known before the run.
    #[serde(flatten)]
    pub run: ManifestDraft,
    /// What was known after it.
    #[serde(flatten)]
    pub ending: Ending,
    /// The digest of all that the run said.
    pub digest: Digest,
    /// The files of the run, as they were written.
    pub files: BTreeMap<String, FileMark>,
}

/// The part of a manifest that is known before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestDraft {
    /// Version of the tool.
    pub tool_version: String,
    /// What was run.
    pub scenario: ScenarioText,
    /// Name of the configuration.
    pub configuration: String,
    /// The seed.
    pub seed: u64,
    /// Every value of the scenario as it was understood, and where it came from.
    pub resolved: Vec<ResolvedValue>,
    /// When it began, by the wall clock, as RFC 3339 writes it.
    pub started: String,
    /// Threads that simulated it.
    pub threads: u32,
}

/// A scenario as its author wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioText {
    /// What the user called it: a built-in name such as `qau/b1`, or the path of a file.
    pub id: String,
    /// The name of its file.
    pub file: String,
    /// Its full text.
    pub text: String,
    /// The text of the file it extends, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// By what the files of data it names are known, such as traces of flows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, FileMark>,
}

/// One value of a scenario as it was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedValue {
    /// Its key, as `--set` takes it.
    pub path: String,
    /// The value, unit included.
    pub value: String,
    /// Where it came from: `default`, a file and line, or a flag.
    pub origin: String,
}

/// The part of a manifest that is known after the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Whether the run came to its end; `false` if it was interrupted.
    pub complete: bool,
    /// How far it came.
    pub simulated_ps: u64,
    /// Events the kernel processed.
    pub events: u64,
    /// Frames handed from one node to the next.
    pub frame_hops: u64,
    /// Cells handed on inside fabrics; recordings from before there were any lack it.
    #[serde(default)]
    pub cell_hops: u64,
    /// How long it took by the wall clock, until all it said was written.
    pub wall_seconds: f64,
}

/// By what a file is known to be the one that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its length in octets.
    pub bytes: u64,
    /// BLAKE3 of its octets.
    pub blake3: String,
}

impl FileMark {
    /// The mark of these octets.
    pub fn of(octets: &[u8]) -> FileMark {
        FileMark { bytes: octets.len() as u64, blake3: blake3::hash(octets).to_hex().to_string() }
    }
}

/// Reads a JSON file that states its `format`, which must be one we know.
pub(crate) fn read_versioned<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, RecordError> {
    #[derive(Deserialize)]
    struct Form {
        format: u32,
    }
    let octets = read(path, what)?;
    let form: Form = parse_json(path, &octets)?;
    if form.format > FORMAT {
        let path = path.to_owned();
        return Err(RecordError::NewerFormat { path, found: form.format, known: FORMAT });
    }
    parse_json(path, &octets)
}

/// Reads a whole file; `what` it would have been, if it is not there.
pub(crate) fn read(path: &Path, what: &'static str) -> Result<Vec<u8>, RecordError> {
    fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            RecordError::Missing { path: path.to_owned(), what }
        }
        _ => RecordError::io(path, "read", error),
    })
}

pub(crate) fn parse_json<T: DeserializeOwned>(path: &Path, octets: &[u8]) -> Result<T, RecordError> {
    serde_json::from_slice(octets).map_err(|error| RecordError::BadJson {
        path: path.to_owned(),
        line: error.line().max(1),
        message: error.to_string(),
    })
}

/// JSON as people read it, with a line end.
pub(crate) fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut octets = serde_json::to_vec_pretty(value).expect("plain data with text keys is always JSON");
    octets.push(b'\n');
    octets
}
