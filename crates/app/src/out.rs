//! What the user sees: results on stdout, everything else on stderr, colour only on a terminal.

use crate::exit::Failure;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Writes results. A reader that went away (`quell list | head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io(Path::new("standard output"), "write", &error))
        }
        _ => Ok(()),
    }
}

/// Tells the user something beside the results.
pub(crate) fn note(text: &str) {
    // If stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells the user what is wrong, and what would help.
pub(crate) fn complain(message: &str, hint: Option<&str>) {
    let paint = Paint::for_stderr();
    list(&format!("{} {message}", paint.red("error:")), hint);
}

/// Tells the user of problems that each name their place.
pub(crate) fn list(problems: &str, hint: Option<&str>) {
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    note(&paint_hints(&format!("{problems}{hint}"), Paint::for_stderr()));
}

/// Tells the user what to check before trusting a result.
pub(crate) fn warn(message: &str) {
    let paint = Paint::for_stderr();
    note(&paint_hints(&format!("{} {message}", paint.yellow("warning:")), paint));
}

fn paint_hints(text: &str, paint: Paint) -> String {
    text.replace("\nhint: ", &format!("\n{} ", paint.bold("hint:")))
}

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// For results.
    pub(crate) fn for_stdout() -> Paint {
        Paint { is_on: wants_colour() && io::stdout().is_terminal() }
    }

    /// For what stands beside them.
    pub(crate) fn for_stderr() -> Paint {
        Paint { is_on: wants_colour() && io::stderr().is_terminal() }
    }

    /// Whether there is colour at all.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.dress(text, "1")
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.dress(text, "2")
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.dress(text, "1;31")
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.dress(text, "32")
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.dress(text, "33")
    }

    fn dress(self, text: &str, code: &str) -> String {
        if self.is_on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// `NO_COLOR`, if set to anything, means none (<https://no-color.org>).
fn wants_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|value| value != "dumb")
}
