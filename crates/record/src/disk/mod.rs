//! One run on disk: written while it runs, read back whole or not at all.
//!
//! A run is written to `<dir>.partial` and gets its own name only once every file is closed and `manifest.json`
//! says how long each is and what it hashes to. So a folder without that ending is complete in its files, even
//! if the run was interrupted, and a file that was cut or changed later is known before anything is read from it.

mod column;
mod read;
mod scribe;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use read::{read_manifest, read_run, read_summary};
pub use writer::DiskWriter;

use crate::error::RecordError;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
const CATALOG: &str = "catalog.json";
const SERIES: &str = "series.parquet";
const FLOWS: &str = "flows.parquet";
const EVENTS: &str = "events.parquet";
const SUMMARY: &str = "summary.json";
/// Everything a run's folder can hold.
const FILES: [&str; 6] = [MANIFEST, CATALOG, SERIES, FLOWS, EVENTS, SUMMARY];

/// Where a run is written until it ends.
fn partial(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".partial");
    dir.with_file_name(name)
}

/// Creates a folder and those above it.
pub(crate) fn create_folder(path: &Path) -> Result<(), RecordError> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => not_a_folder(path),
        _ => RecordError::io(path, "create", error),
    })
}

/// The error for a path that a file stands in the way of: names the file, which may lie further up.
pub(crate) fn not_a_folder(path: &Path) -> RecordError {
    let file = path.ancestors().find(|above| above.is_file()).unwrap_or(path);
    RecordError::NotAFolder { path: file.to_owned() }
}

/// Replaces a file, so that a reader sees the old or the new one and never a part.
pub(crate) fn write_whole(path: &Path, octets: &[u8]) -> Result<(), RecordError> {
    let draft = partial(path);
    fs::write(&draft, octets).map_err(|error| RecordError::io(path, "write", error))?;
    fs::rename(&draft, path).map_err(|error| RecordError::io(path, "write", error))
}
