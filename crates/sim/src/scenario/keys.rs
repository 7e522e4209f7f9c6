//! What a key of a scenario is: its form, range, default and meaning.
//!
//! The reader takes defaults and ranges from the table of them (`key_table.rs`), and refuses what is not there;
//! `quell explain`, the JSON schema and the tables of `docs/scenario.md` are made from it.

use quell_proto::units::{Bytes, Duration, Rate};
use std::fmt;

/// A key of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table it stands in: `scheme`, `traffic`, or nothing for the top of the file.
    pub section: &'static str,
    /// Its name there; dots lead into tables within.
    pub name: &'static str,
    /// What its value looks like.
    pub form: Form,
    /// Words that may stand instead.
    pub words: &'static [&'static str],
    /// What holds when nobody states it.
    pub given: Given,
    /// When it is read; a key that is stated and not read is an error.
    pub when: &'static [When],
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// The clause or document it answers to, if any.
    pub source: &'static str,
}

/// What a value looks like; numbers are the least and the most it may be, in its smallest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a parameter set.
    Preset,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count(u64, u64),
    /// Whole numbers.
    Counts(u64, u64),
    /// A rate, in bits per second.
    Rate(u64, u64),
    /// A time, in picoseconds.
    Time(u64, u64),
    /// A size, in octets.
    Size(u64, u64),
    /// Sizes.
    Sizes(u64, u64),
    /// A share in whole percent.
    Percent(u64, u64),
    /// A share of more than nothing and at most all.
    Share,
    /// A positive factor: a whole number, a fraction or a percentage.
    Factor,
    /// A power of two, by its exponent: `2`, `"1/128"`.
    PowerOfTwo(i32, i32),
    /// A name or a list of names.
    Names,
    /// A number of hosts, or their names.
    Hosts,
    /// The names of the hosts of each switch, or a number of hosts a switch.
    HostGroups,
    /// A part of the run.
    Window,
    /// A part of the run, or a list of parts.
    Windows,
    /// A number in the unit of the claim's metric.
    Bound,
    /// Two numbers in the unit of the claim's metric.
    Bounds,
    /// Values of axes.
    Selection,
    /// A configuration, by its name or by the axes that differ.
    Reference,
    /// A table whose presence means something; its keys are listed by themselves.
    Table,
    /// A list of tables; their keys are listed by themselves.
    Tables,
    /// Names and values of the user's own.
    Free,
}

/// What holds when nobody states a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It must be stated.
    Required,
    /// This value, as a file would state it.
    Default(&'static str),
    /// What the scheme's preset or profile says; the standard's value is shown.
    Preset(&'static str),
    /// What the scheme's preset says; that of the one named first is shown.
    PresetOf(&'static str, &'static str),
    /// Nothing; what that means.
    Optional(&'static str),
}

/// When a key is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// While another key of the section has one of these values.
    Is(&'static str, &'static [&'static str]),
    /// While at least one of these keys of the section is stated.
    Has(&'static [&'static str]),
    /// While this key of the section, which takes its place, is not stated.
    Lacks(&'static str),
}

/// Every key, in the order of a file.
pub fn keys() -> &'static [Key] {
    super::key_table::KEYS
}

impl Key {
    /// Its path as a file writes it: `scheme.weight`.
    pub fn path(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    /// Its path with the kind that reads it, where one kind alone does, or those that build on it:
    /// `scheme.qcn.weight`.
    pub fn full_path(&self) -> String {
        match self.when.first() {
            Some(When::Is(selector, [kind] | [kind @ ("qcn" | "ecm" | "qcn2007"), ..])) => {
                let place = selector.rsplit_once('.').map_or("", |(place, _)| place);
                let rest = self.name.strip_prefix(place).unwrap_or(self.name).trim_start_matches('.');
                let place = if place.is_empty() { String::new() } else { format!(".{place}") };
                format!("{}{place}.{kind}.{rest}", self.section)
            }
            _ => self.path(),
        }
    }
}

impl Given {
    /// The default as a table of keys shows it.
    pub fn text(self) -> String {
        match self {
            Given::Required => "required".to_owned(),
            Given::Default(value) => format!("`{value}`"),
            Given::Preset(value) => format!("by preset; `{value}` in `standard-10G`"),
            Given::PresetOf(preset, value) => format!("by preset; `{value}` in `{preset}`"),
            Given::Optional(meaning) => format!("none: {meaning}"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Is(key, values) => {
                write!(f, "`{key}` is {}", super::problem::either(values.iter().copied()))
            }
            When::Has(keys) => write!(f, "there is {}", super::problem::either(keys.iter().copied())),
            When::Lacks(key) => write!(f, "there is no `{key}`"),
        }
    }
}

impl fmt::Display for Form {
    /// A noun phrase, range included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>,
                     what: &str,
                     least: &dyn fmt::Display,
                     most: Option<&dyn fmt::Display>| {
            match most {
                Some(most) => write!(f, "{what}, {least} to {most}"),
                None => write!(f, "{what}, at least {least}"),
            }
        };
        match *self {
            Form::Text => f.write_str("text"),
            Form::Word(words) => f.write_str(&super::problem::either(words.iter().copied())),
            Form::Preset => f.write_str(&super::problem::either(
                quell_proto::control::qcn::PRESETS.iter().map(|it| it.name),
            )),
            Form::Flag => f.write_str("`true` or `false`"),
            Form::Count(least, u64::MAX) => range(f, "a whole number", &least, None),
            Form::Count(least, most) => range(f, "a whole number", &least, Some(&most)),
            Form::Counts(least, most) => range(f, "a list of whole numbers", &least, Some(&most)),
            Form::Rate(1, MOST_RATE) => f.write_str("a rate"),
            Form::Time(1, MOST_TIME) => f.write_str("a time"),
            Form::Time(0, MOST_TIME) => f.write_str("a time, or 0s"),
            Form::Size(1, MOST_SIZE) => f.write_str("a size"),
            Form::Rate(least, MOST_RATE) => range(f, "a rate", &Rate::from_bps(least), None),
            Form::Rate(least, most) => {
                range(f, "a rate", &Rate::from_bps(least), Some(&Rate::from_bps(most)))
            }
            Form::Time(least, MOST_TIME) => range(f, "a time", &Duration::from_ps(least), None),
            Form::Time(least, most) => {
                range(f, "a time", &Duration::from_ps(least), Some(&Duration::from_ps(most)))
            }
            Form::Size(least, MOST_SIZE) => range(f, "a size", &Bytes::new(least), None),
            Form::Size(least, most) => range(f, "a size", &Bytes::new(least), Some(&Bytes::new(most))),
            Form::Sizes(least, most) => {
                range(f, "a list of sizes", &Bytes::new(least), Some(&Bytes::new(most)))
            }
            Form::Percent(least, most) => write!(f, "a whole percentage, {least}% to {most}%"),
            Form::Share => f.write_str("a share such as `85%`, more than 0% and at most 100%"),
            Form::Factor => f.write_str("a factor such as `2` or `\"1/8\"`"),
            Form::PowerOfTwo(least, most) => {
                write!(f, "a power of two, {} to {}", power_of_two(least), power_of_two(most))
            }
            Form::Names => f.write_str("a name or a list of names"),
            Form::Hosts => f.write_str("a number of hosts, or a list of their names"),
            Form::HostGroups => f.write_str("a list of lists of names, or a number of hosts a switch"),
            Form::Window => f.write_str("a window such as `100ms..200ms`"),
            Form::Windows => f.write_str("a window such as `100ms..200ms`, or a list of them"),
            Form::Bound => f.write_str("a value in the unit of the metric"),
            Form::Bounds => f.write_str("a list of two values in the unit of the metric"),
            Form::Selection => f.write_str("a table: axis = value, or a list of values"),
            Form::Reference => f.write_str("the name of a configuration, or a table: axis = value"),
            Form::Table => f.write_str("a table"),
            Form::Tables => f.write_str("a list of tables"),
            Form::Free => f.write_str("a table of your own names"),
        }
    }
}

/// Far more than any run needs, and little enough that sums and products of a few of them can be counted: a
/// million seconds, a petabit per second, a petabyte.
pub(crate) const MOST_TIME: u64 = 1_000_000_000_000_000_000;
pub(crate) const MOST_RATE: u64 = 1_000_000_000_000_000;
pub(crate) const MOST_SIZE: u64 = 1_000_000_000_000_000;

/// 2^log2 as a file writes it.
pub(crate) fn power_of_two(log2: i32) -> String {
    let value = 1u64 << log2.unsigned_abs().min(63);
    if log2 < 0 { format!("1/{value}") } else { value.to_string() }
}
