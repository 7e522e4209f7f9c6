//! Scenarios: from a file to a [`Plan`] for each configuration.
//!
//! A file is read twice. First into what was typed: a tree in which every value knows its line (`value.rs`), laid
//! over the file it extends and under what axes and flags change. Then into what was meant: each table is
//! checked against the registry of keys (`keys.rs`, `section.rs`), and the `plan_*.rs` make a plan of it and hold
//! its parts against each other. All that is wrong is said at once, by line.

pub mod announced;
mod beside;
mod catalog;
mod configurations;
mod explain;
mod ideal;
mod key_table;
mod keys;
mod metric;
pub mod plan;
mod plan_changes;
mod plan_checks;
mod plan_claims;
mod plan_dcqcn;
mod plan_flows;
pub(crate) mod plan_isolation;
mod plan_network;
mod plan_nodes;
mod plan_schemes;
mod plan_traffic;
mod problem;
mod reading;
pub mod redraw;
mod section;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod value;

pub use explain::{explain, reference, schema};
pub use keys::{Form, Given, Key, When, keys};
pub use metric::{METRICS, MetricName};
pub use plan::Plan;
pub use problem::{Problem, Problems};
pub use reading::read;
pub use value::Origin;

use quell_proto::units::{Bytes, Duration, Rate};
use quell_record::claim::{Claim, FairShare, FigureSpec};

/// What is to be read, and what the command line adds to it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The name of the file, as the user knows it.
    pub file: &'a str,
    /// What is in it; see [`check_text`] for octets of unknown kind.
    pub text: &'a str,
    /// Finds a file by the name that this one uses: the scenario it extends, or data it names.
    pub base: &'a dyn Fn(&str) -> Option<String>,
    /// `--set path=value`, in order.
    pub sets: &'a [(String, String)],
    /// Lay `[quick]` over it.
    pub quick: bool,
    /// `--repeat`, if given.
    pub repeat: Option<u32>,
    /// `--seed`, if given.
    pub seed: Option<u64>,
    /// Emit and parse every frame as octets.
    pub wire_check: bool,
}

impl<'a> Request<'a> {
    /// A text as it is, which names no other file.
    pub fn plain(file: &'a str, text: &'a str) -> Request<'a> {
        Request {
            file,
            text,
            base: &|_| None,
            sets: &[],
            quick: false,
            repeat: None,
            seed: None,
            wire_check: false,
        }
    }
}

/// A scenario, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name of its file, without folder and ending.
    pub id: String,
    /// What it is, in a line.
    pub title: String,
    /// What it reproduces, if anything.
    pub shows: Option<String>,
    /// What a reader should know.
    pub about: Option<String>,
    /// What its source says, in paragraphs.
    pub says: Option<String>,
    /// Where what comes out differs from the source, and why, in paragraphs.
    pub differs: Option<String>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds are run.
    pub repeat: u32,
    /// What is compared; never empty, names unique.
    pub configurations: Vec<Configuration>,
    /// What must come out.
    pub claims: Vec<Claim>,
    /// What the report shows.
    pub figures: Vec<FigureSpec>,
    /// What each flow ought to get.
    pub fair: Vec<FairShare>,
    /// Every key with its value and where that came from, in the order of the sections.
    pub resolved: Vec<Resolved>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<Problem>,
}

/// One of the things a scenario compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Its values on the axes, with `/` between; `default` where there are no axes.
    pub name: String,
    /// Axis and value, in the order of the file.
    pub axes: Vec<(String, String)>,
    /// What is run.
    pub plan: Plan,
}

/// A key, the value it has, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its path in the file.
    pub path: String,
    /// Its value, in the unit that loses nothing.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
    /// The configurations that have this value; empty if all do.
    pub configurations: Vec<String>,
}

/// What is wrong with a value, and what would be right.
pub type Wrong = (String, Option<String>);

/// Reads a window of time as scenarios write it, such as `100ms..200ms`; either end may be left out.
pub fn window(text: &str) -> Result<(Option<Duration>, Option<Duration>), Wrong> {
    let span = units::span(text).map_err(|error| error.explain(units::Kind::Time))?;
    Ok((span.from, span.to))
}

/// Reads a rate as scenarios write it, such as `10Gb/s`.
pub fn rate(text: &str) -> Result<Rate, Wrong> {
    units::rate(text).map_err(|error| error.explain(units::Kind::Rate))
}

/// Reads a time as scenarios write it, such as `85us`.
pub fn time(text: &str) -> Result<Duration, Wrong> {
    units::time(text).map_err(|error| error.explain(units::Kind::Time))
}

/// Reads a size as scenarios write it, such as `33kB`.
pub fn size(text: &str) -> Result<Bytes, Wrong> {
    units::size(text).map_err(|error| error.explain(units::Kind::Size))
}

/// Reads a share as scenarios write it, such as `50%` or `1/128`.
pub fn share(text: &str) -> Result<f64, Wrong> {
    units::share(text).map(units::Ratio::number).map_err(|error| error.explain(units::Kind::Share))
}

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// A scenario.
    Scenario,
    /// A table that a scenario names: sizes, flows, a network.
    Data,
}

impl Text {
    /// The longest that is read, in octets: what is longer is something else by that name. A million flows take less.
    pub const fn most_octets(self) -> usize {
        match self {
            Text::Scenario => 4_000_000,
            Text::Data => 200_000_000,
        }
    }

    /// What to call it.
    pub const fn name(self) -> &'static str {
        match self {
            Text::Scenario => "a scenario",
            Text::Data => "a file of data",
        }
    }

    fn is_rather(self) -> &'static str {
        match self {
            Text::Scenario => "a scenario is a TOML file",
            Text::Data => "what a scenario names is a table of words and numbers",
        }
    }
}

/// The text of a file of unknown kind, or why it cannot be what it is read as.
pub fn check_text<'a>(file: &str, octets: &'a [u8], kind: Text) -> Result<&'a str, Problem> {
    let wrong = |line: Option<u32>, message: String, hint: &str| Problem {
        file: file.to_owned(),
        line,
        message,
        hint: Some(hint.to_owned()),
    };
    if octets.len() > kind.most_octets() {
        let (found, most) = (octets.len(), kind.most_octets());
        let message = format!("{found} octets, more than the {most} {} may have", kind.name());
        return Err(wrong(None, message, "is it a recording, or a capture?"));
    }
    let line_of = |end: usize| {
        let lines = octets[..end].iter().filter(|octet| **octet == b'\n').count() + 1;
        u32::try_from(lines).ok()
    };
    match std::str::from_utf8(octets) {
        Err(error) => {
            let line = line_of(error.valid_up_to());
            Err(wrong(line, "not a text in UTF-8".to_owned(), kind.is_rather()))
        }
        Ok(text) => match text.find('\0') {
            Some(at) => Err(wrong(line_of(at), "a zero octet: not a text".to_owned(), kind.is_rather())),
            None => Ok(text),
        },
    }
}
