//! Why a recording could not be written or read.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that can be wrong with a recording's files, with the place.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The system refused to read or write.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done to it: "write", "read", …
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// A file or folder that a recording must have is not there.
    Missing {
        /// Where it was sought.
        path: PathBuf,
        /// What it would have been: "a run", "an experiment", "a file of this run".
        what: &'static str,
    },
    /// The run in this folder was killed before it could close its files.
    Unfinished {
        /// The folder it was writing.
        path: PathBuf,
    },
    /// A file that should be JSON is not, or does not say what it must.
    BadJson {
        /// The file.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A file's octets are not those that were written, or make no sense.
    Damaged {
        /// The file.
        path: PathBuf,
        /// How one can tell.
        message: String,
    },
    /// A later version wrote it in a form this one does not know.
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest this version reads.
        known: u32,
    },
    /// A folder is wanted where a file stands.
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder holds something that is not ours to overwrite.
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One thing in it.
        found: String,
    },
    /// A finished run stands where another was to be written.
    Finished {
        /// Its folder.
        path: PathBuf,
    },
    /// The folder holds another experiment.
    Different {
        /// The folder.
        path: PathBuf,
        /// What differs.
        difference: Difference,
    },
    /// Another process is writing to the experiment.
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

/// Why two experiments cannot share a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Another version of the tool wrote the one that is there.
    Version {
        /// The version that wrote it.
        there: String,
        /// The version that runs.
        here: String,
    },
    /// Another scenario, by its file name.
    Scenario {
        /// The one that is there.
        there: String,
        /// The one that was to run.
        here: String,
    },
    /// The scenario's text has changed.
    Text {
        /// The file, as the user named it.
        file: String,
        /// The first line that differs.
        line: usize,
    },
    /// A file of data that the scenario names has changed.
    Data {
        /// The file, as the scenario names it.
        file: String,
    },
    /// Other values were set on the command line.
    Overrides {
        /// Those of the experiment that is there.
        there: String,
        /// Those of the one that was to run.
        here: String,
    },
}

/// Whose fault it is, and so which exit code a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What was asked for, or what a file says, is wrong.
    Invalid,
    /// The system could not read or write.
    Io,
}

impl RecordError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            RecordError::Io { .. } => Fault::Io,
            _ => Fault::Invalid,
        }
    }

    /// What would help, if there is something to say beyond the message.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            RecordError::Io { error, .. } => return io_hint(error),
            RecordError::Missing { what: "a file of this run", .. } | RecordError::Damaged { .. } => {
                "run it again: the same scenario and seed give the same recording"
            }
            RecordError::Missing { .. } => "name a folder that `quell run --out` wrote",
            RecordError::Unfinished { .. } => "run it again into the same folder: what is finished stays",
            RecordError::BadJson { .. } => "it was edited or cut short; run it again into a new folder",
            RecordError::NewerFormat { .. } => "read it with the version that wrote it, or a later one",
            RecordError::NotAFolder { .. } => "name a folder that does not exist yet, or remove the file",
            RecordError::Foreign { .. } => "name a folder that is empty or does not exist yet",
            RecordError::Finished { .. } | RecordError::Different { .. } => {
                "a run never overwrites a different one: choose another folder, or remove this one"
            }
            RecordError::Busy { .. } => "wait for it to end, or choose another folder",
        };
        Some(hint.to_owned())
    }

    pub(crate) fn io(path: &Path, doing: &'static str, error: io::Error) -> RecordError {
        RecordError::Io { path: path.to_owned(), doing, error }
    }

    pub(crate) fn damaged(path: &Path, message: impl fmt::Display) -> RecordError {
        RecordError::Damaged { path: path.to_owned(), message: message.to_string() }
    }
}

fn io_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room or choose a folder on another disk; runs already finished are kept and not run again"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder you may write to, or change its permissions"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io { path, doing, error } => {
                write!(f, "{}: cannot {doing}: {error}", path.display())
            }
            RecordError::Missing { path, what } => write!(f, "{}: {what} is not here", path.display()),
            RecordError::Unfinished { path } => {
                write!(f, "{}: the run that wrote this was killed before it ended", path.display())
            }
            RecordError::BadJson { path, line, message } => {
                write!(f, "{}:{line}: {message}", path.display())
            }
            RecordError::Damaged { path, message } => write!(f, "{}: damaged: {message}", path.display()),
            RecordError::NewerFormat { path, found, known } => {
                write!(f, "{}: has format {found}; this version reads up to {known}", path.display())
            }
            RecordError::NotAFolder { path } => write!(f, "{}: is a file, not a folder", path.display()),
            RecordError::Foreign { path, found } => {
                write!(f, "{}: holds `{found}`, which is no part of a recording", path.display())
            }
            RecordError::Finished { path } => write!(f, "{}: holds a finished run already", path.display()),
            RecordError::Different { path, difference } => write!(f, "{}: {difference}", path.display()),
            RecordError::Busy { path } => write!(f, "{}: another process is writing here", path.display()),
        }
    }
}

impl Error for RecordError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RecordError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Version { there, here } => {
                write!(f, "holds an experiment of version {there}; this is version {here}")
            }
            Difference::Scenario { there, here } => write!(f, "holds runs of {there}, not of {here}"),
            Difference::Text { file, line } => {
                write!(f, "holds runs of {file} as it was before line {line} changed")
            }
            Difference::Data { file } => write!(f, "holds runs with {file} as it was before it changed"),
            Difference::Overrides { there, here } => write!(f, "holds runs with {there}, not with {here}"),
        }
    }
}
