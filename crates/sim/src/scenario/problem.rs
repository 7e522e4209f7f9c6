//! What is wrong with a scenario: facts with a place, collected so that one reading shows them all.

use super::value::Origin;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

/// One thing that is wrong, or dubious, in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file it is in, as the user named it, or the flag that brought it.
    pub file: String,
    /// The line, where there is one.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a scenario, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for Problems {}

/// Beyond this many, more of them tell nobody anything.
const MOST: usize = 50;

/// Where a key was stated: the file and line, and its last name, as several may share a line.
pub(crate) type Place = (String, Option<u32>, String);

/// Where problems are put while one configuration is read.
#[derive(Debug)]
pub(crate) struct Log {
    file: String,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    /// Keys that this configuration does not read. Wrong only if no configuration reads them.
    pub(crate) unread: Vec<(Place, Problem)>,
    /// Keys that this configuration reads.
    pub(crate) read: BTreeSet<Place>,
}

impl Log {
    pub(crate) fn new(file: &str) -> Log {
        let (problems, warnings) = (Vec::new(), Vec::new());
        Log { file: file.to_owned(), problems, warnings, unread: Vec::new(), read: BTreeSet::new() }
    }

    /// Notes that something is wrong at `origin`.
    pub(crate) fn wrong(&mut self, origin: &Origin, message: impl Into<String>) -> &mut Log {
        if self.problems.len() < MOST {
            let problem = self.problem(origin, message.into());
            self.problems.push(problem);
        }
        self
    }

    /// Notes what is wrong with another file.
    pub(crate) fn note(&mut self, problems: Vec<Problem>) {
        let room = MOST.saturating_sub(self.problems.len());
        self.problems.extend(problems.into_iter().take(room));
    }

    /// Adds what would be right to the problem noted last.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(problem) = self.problems.last_mut() {
            problem.hint.get_or_insert_with(|| hint.into());
        }
    }

    /// Notes that something is probably not meant.
    pub(crate) fn warn(&mut self, origin: &Origin, message: impl Into<String>, hint: impl Into<String>) {
        if self.warnings.len() < MOST {
            let mut problem = self.problem(origin, message.into());
            problem.hint = Some(hint.into());
            self.warnings.push(problem);
        }
    }

    /// Notes a key that this configuration has no use for.
    pub(crate) fn unread(&mut self, origin: &Origin, path: &str, message: String, hint: String) {
        if self.unread.len() < MOST {
            let mut problem = self.problem(origin, message);
            problem.hint = Some(hint);
            self.unread.push((self.key_place(origin, path), problem));
        }
    }

    /// Notes a key that this configuration does read.
    pub(crate) fn read(&mut self, origin: &Origin, path: &str) {
        let place = self.key_place(origin, path);
        self.read.insert(place);
    }

    fn key_place(&self, origin: &Origin, path: &str) -> Place {
        let (file, line) = self.place(origin);
        (file, line, path.rsplit('.').next().unwrap_or(path).to_owned())
    }

    fn problem(&self, origin: &Origin, message: String) -> Problem {
        let (file, line) = self.place(origin);
        Problem { file, line, message, hint: None }
    }

    fn place(&self, origin: &Origin) -> (String, Option<u32>) {
        origin.place().unwrap_or_else(|| (self.file.clone(), None))
    }
}

/// "`a`", "`a` or `b`", "`a`, `b` or `c`".
pub(crate) fn either<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// "is it `a` or `b`?", if anything is near enough to be meant; else what there is, if that is short.
pub(crate) fn suggest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> Option<String> {
    const SHOWN: usize = 12;
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let near = quell_record::near::closest(word, candidates.iter().copied());
    if !near.is_empty() {
        return Some(format!("is it {}?", either(near)));
    }
    match candidates.len() {
        0 => None,
        1..=SHOWN => Some(format!("{what}: {}", candidates.join(", "))),
        count => Some(format!("{what}: {}, … ({count} in all)", candidates[..SHOWN].join(", "))),
    }
}
