//! How a command ends: the code for scripts, the words for people.

use crate::out;
use quell_record::{Fault, RecordError};
use quell_sim::scenario::Problems;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How a command ended. When several apply, the one that is named last here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All done; every claim holds.
    Done = 0,
    /// A claim failed, the digest is not the expected one, or what is reported is not complete.
    Failed = 1,
    /// The command line or a file does not make sense.
    Invalid = 2,
    /// An invariant broke while simulating.
    Broken = 3,
    /// The system could not read or write.
    Io = 4,
    /// Ctrl-C; what was computed is kept.
    Interrupted = 130,
}

impl Exit {
    /// The number a script sees.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what it was asked: what is wrong, with the place, and what would be right.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How to end.
    pub(crate) exit: Exit,
    /// What is wrong and where; may be several lines, hints included.
    pub(crate) message: String,
    /// What would help.
    pub(crate) hint: Option<String>,
    /// Whether it is a list of problems, each with its own place and hint.
    is_list: bool,
}

impl Failure {
    /// What was asked for does not make sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Invalid, message: message.into(), hint: None, is_list: false }
    }

    /// The system refused.
    pub(crate) fn io(path: &Path, doing: &str, error: &io::Error) -> Failure {
        let message = format!("{}: cannot {doing}: {error}", path.display());
        Failure { exit: Exit::Io, message, hint: None, is_list: false }
    }

    /// The system refused, in words of its own.
    pub(crate) fn system(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Io, ..Failure::invalid(message) }
    }

    /// Adds what would help.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Says it to the user, and how to end.
    pub(crate) fn tell(&self) -> Exit {
        if self.is_list {
            out::list(&self.message, self.hint.as_deref());
        } else {
            out::complain(&self.message, self.hint.as_deref());
        }
        self.exit
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        let exit = match error.fault() {
            Fault::Invalid => Exit::Invalid,
            Fault::Io => Exit::Io,
        };
        Failure { exit, message: error.to_string(), hint: error.hint(), is_list: false }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        let mut message = problems.to_string();
        if let count @ 2.. = problems.0.len() {
            let _ = write!(message, "\n{count} problems");
        }
        Failure { exit: Exit::Invalid, message, hint: None, is_list: true }
    }
}
