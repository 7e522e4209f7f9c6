//! From typed text to checked values: one table of a scenario against its keys.

use super::keys::{Form, Given, Key, When, keys};
use super::problem::{Log, either, suggest};
use super::units::{self, Kind, Ratio, Span, UnitError};
use super::value::{Data, LARGEST, Origin, Table, Value};
use quell_proto::control::qcn;
use quell_proto::units::{Bytes, Duration, Priority, Rate};
use std::collections::BTreeSet;
use std::fmt;

/// A table of the file with every key that applies checked and filled in, defaults included.
///
/// A decoder asks for its keys by name and gets `None` for one that is absent or was wrong; the problem is
/// then in the log already.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its path in the file: `traffic.0`.
    pub(crate) path: String,
    /// Where it begins.
    pub(crate) origin: Origin,
    entries: Vec<Entry>,
    /// Keys that were stated, and wrong.
    wrong: Vec<&'static str>,
    name: &'static str,
}

#[derive(Debug)]
struct Entry {
    key: &'static Key,
    parsed: Parsed,
    origin: Origin,
}

/// A value that has the form its key asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Parsed {
    Text(String),
    Flag(bool),
    Count(u64),
    Counts(Vec<u64>),
    Rate(Rate),
    Time(Duration),
    Size(Bytes),
    Sizes(Vec<Bytes>),
    Share(Ratio),
    PowerOfTwo(i32),
    Names(Vec<String>),
    Groups(Vec<Vec<String>>),
    Windows(Vec<Span>),
    Raw(Value),
}

impl Section {
    /// Checks `table` against the keys of the section `name`; `path` is where it stands in this file.
    pub(crate) fn check(
        name: &'static str,
        path: &str,
        table: &Table,
        origin: &Origin,
        log: &mut Log,
    ) -> Section {
        let origin = origin.clone();
        let mut section =
            Section { path: path.to_owned(), origin, entries: Vec::new(), wrong: Vec::new(), name };
        refuse_unknown(name, path, "", table, log);
        for key in keys().iter().filter(|key| key.section == name) {
            let stated = table.at(key.name);
            match unmet(key, table) {
                None => section.take(key, stated, log),
                Some(when) => {
                    if let Some(value) = stated
                        && std::ptr::eq(key, nearest(key, table))
                    {
                        report_unread(key, &section.path, when, table, value, log);
                    }
                }
            }
        }
        section
    }

    /// Takes one key that applies: its stated value, its default, or the complaint that it is missing.
    fn take(&mut self, key: &'static Key, stated: Option<&Value>, log: &mut Log) {
        let path = join(&self.path, key.name);
        let (value, origin) = match (stated, key.given) {
            (Some(value), _) => {
                log.read(&value.origin, &path);
                (value.clone(), value.origin.clone())
            }
            (None, Given::Default(text)) => (default_value(key.form, text), Origin::Default),
            (None, Given::Required) => {
                log.wrong(&self.origin, format!("`{path}` is missing"))
                    .hint(format!("it is {}: {}", key.form, key.doc));
                return;
            }
            (None, Given::Optional(_) | Given::Preset(_) | Given::PresetOf(..)) => return,
        };
        if value.text().is_some_and(|text| text.starts_with('$')) {
            self.wrong.push(key.name); // A parameter that is not there: said already.
            return;
        }
        match parse(key, &value) {
            Ok(parsed) => self.entries.push(Entry { key, parsed, origin }),
            Err((message, hint)) => {
                self.wrong.push(key.name);
                let shown = shorten(&value.to_string());
                log.wrong(&origin, format!("`{path}` is `{shown}`: {message}"));
                if let Some(hint) = hint {
                    log.hint(hint);
                }
            }
        }
    }

    /// The rows of `quell check`, in the order of the registry.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (String, String, Origin)> {
        let shown = self.entries.iter().filter(|entry| !matches!(entry.key.form, Form::Table | Form::Tables));
        shown.map(|entry| (join(&self.path, entry.key.name), entry.parsed.to_string(), entry.origin.clone()))
    }

    /// Whether somebody stated the key, and rightly.
    pub(crate) fn is_stated(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.key.name == name && entry.origin.place().is_some())
    }

    /// Where a key was stated; where the section begins, if it was not.
    pub(crate) fn origin_of(&self, name: &str) -> &Origin {
        let stated = self.entries.iter().find(|entry| entry.key.name == name);
        stated.map(|entry| &entry.origin).filter(|origin| origin.place().is_some()).unwrap_or(&self.origin)
    }

    /// The path of a key in this file.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Whether the key has a value.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    /// Whether one of these was stated, and wrong: nothing follows from its absence then.
    pub(crate) fn is_wrong(&self, names: &[&str]) -> bool {
        self.wrong.iter().any(|wrong| names.contains(wrong))
    }

    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        if let Parsed::Text(text) = self.get(name)? { Some(text) } else { None }
    }

    pub(crate) fn flag(&self, name: &'static str) -> Option<bool> {
        if let Parsed::Flag(flag) = self.get(name)? { Some(*flag) } else { None }
    }

    pub(crate) fn count(&self, name: &'static str) -> Option<u64> {
        if let Parsed::Count(count) = self.get(name)? { Some(*count) } else { None }
    }

    pub(crate) fn counts(&self, name: &'static str) -> Option<&[u64]> {
        if let Parsed::Counts(counts) = self.get(name)? { Some(counts) } else { None }
    }

    pub(crate) fn rate(&self, name: &'static str) -> Option<Rate> {
        if let Parsed::Rate(rate) = self.get(name)? { Some(*rate) } else { None }
    }

    pub(crate) fn time(&self, name: &'static str) -> Option<Duration> {
        if let Parsed::Time(time) = self.get(name)? { Some(*time) } else { None }
    }

    pub(crate) fn size(&self, name: &'static str) -> Option<Bytes> {
        if let Parsed::Size(size) = self.get(name)? { Some(*size) } else { None }
    }

    pub(crate) fn sizes(&self, name: &'static str) -> Option<&[Bytes]> {
        if let Parsed::Sizes(sizes) = self.get(name)? { Some(sizes) } else { None }
    }

    pub(crate) fn share(&self, name: &'static str) -> Option<Ratio> {
        if let Parsed::Share(share) = self.get(name)? { Some(*share) } else { None }
    }

    pub(crate) fn percent(&self, name: &'static str) -> Option<u64> {
        self.share(name)?.percent()
    }

    pub(crate) fn log2(&self, name: &'static str) -> Option<i32> {
        if let Parsed::PowerOfTwo(log2) = self.get(name)? { Some(*log2) } else { None }
    }

    pub(crate) fn names(&self, name: &'static str) -> Option<&[String]> {
        if let Parsed::Names(names) = self.get(name)? { Some(names) } else { None }
    }

    pub(crate) fn groups(&self, name: &'static str) -> Option<&[Vec<String>]> {
        if let Parsed::Groups(groups) = self.get(name)? { Some(groups) } else { None }
    }

    pub(crate) fn windows(&self, name: &'static str) -> Option<&[Span]> {
        if let Parsed::Windows(windows) = self.get(name)? { Some(windows) } else { None }
    }

    pub(crate) fn raw(&self, name: &'static str) -> Option<&Value> {
        if let Parsed::Raw(value) = self.get(name)? { Some(value) } else { None }
    }

    pub(crate) fn priority(&self, name: &'static str) -> Option<Priority> {
        Priority::new(u8::try_from(self.count(name)?).ok()?)
    }

    /// The tables of a list, each with the number it has in the file.
    pub(crate) fn tables(&self, name: &'static str) -> Vec<(String, &Table, &Origin)> {
        let Some(Value { data: Data::List(values), .. }) = self.raw(name) else { return Vec::new() };
        let numbered = values.iter().enumerate();
        numbered
            .filter_map(|(index, value)| {
                Some((join(&self.path_of(name), &index.to_string()), value.table()?, &value.origin))
            })
            .collect()
    }

    fn get(&self, name: &'static str) -> Option<&Parsed> {
        let known = keys().iter().any(|key| key.section == self.name && key.name == name);
        assert!(known, "the registry has no key `{}.{name}`", self.name);
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert((self.name, name)));
        self.entries.iter().find(|entry| entry.key.name == name).map(|entry| &entry.parsed)
    }
}

#[cfg(test)]
thread_local! {
    /// Every key that a decoder of this thread asked for, for the test that decoders and registry agree.
    pub(crate) static ASKED: std::cell::RefCell<BTreeSet<(&'static str, &'static str)>> =
        const { std::cell::RefCell::new(BTreeSet::new()) };
}

/// `a.b`, or `b` at the top of the file.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Of the keys of one name, the first that applies to the table, or that fails by its last condition: what is said of
/// it helps most.
fn nearest(key: &'static Key, table: &Table) -> &'static Key {
    let met = |key: &Key| match unmet(key, table) {
        None => usize::MAX,
        Some(unmet) => key.when.iter().take_while(|when| *when != unmet).count(),
    };
    let all = keys().iter().filter(|other| same_place(other, key));
    // Of equals, `max_by_key` takes the last.
    all.rev().max_by_key(|other| met(other)).unwrap_or(key)
}

fn same_place(a: &Key, b: &Key) -> bool {
    a.section == b.section && a.name == b.name
}

/// The first condition of a key that the table does not meet.
fn unmet(key: &Key, table: &Table) -> Option<&'static When> {
    key.when.iter().find(|when| match when {
        When::Is(selector, values) => {
            let value = selector_value(key.section, selector, table);
            !value.is_some_and(|value| values.contains(&value.as_str()))
        }
        When::Has(names) => !names.iter().any(|name| is_stated(key.section, name, table)),
        When::Lacks(name) => is_stated(key.section, name, table),
    })
}

/// Whether a key stands in the table, and is a table itself where it should be.
fn is_stated(section: &str, name: &str, table: &Table) -> bool {
    let is_table =
        keys().iter().any(|key| key.section == section && key.name == name && key.form == Form::Table);
    table.at(name).is_some_and(|value| !is_table || value.table().is_some())
}

/// What a selecting key says, stated or by default; for a metric, its name without what stands around it.
fn selector_value(section: &str, selector: &str, table: &Table) -> Option<String> {
    if let Some(value) = table.at(selector) {
        let text = value.text()?;
        return Some(if selector == "metric" { super::metric::base_name(text) } else { text.to_owned() });
    }
    let key = keys().iter().find(|key| key.section == section && key.name == selector)?;
    match key.given {
        Given::Default(text) => Some(text.to_owned()),
        _ => None,
    }
}

/// Whether the selecting key names one of the kinds there are.
fn is_known_kind(section: &str, selector: &str, table: &Table) -> bool {
    let Some(kind) = selector_value(section, selector, table) else { return false };
    let key = keys().iter().find(|key| key.section == section && key.name == selector);
    match key.map(|key| key.form) {
        Some(Form::Word(words)) => words.contains(&kind.as_str()),
        _ if selector == "metric" => super::metric::METRICS.iter().any(|metric| metric.name == kind),
        _ => true,
    }
}

fn report_unread(key: &Key, path: &str, when: &When, table: &Table, value: &Value, log: &mut Log) {
    if matches!(value.origin, Origin::Extends(..)) {
        return; // A file that extends another may choose another kind, and cannot take keys away.
    }
    if let When::Is(selector, _) = when
        && !is_known_kind(key.section, selector, table)
    {
        return; // The selector itself is wrong, and said to be.
    }
    let path_of = |name: &str| join(path, name);
    let message = match when {
        When::Is(selector, _) => {
            let selected = selector_value(key.section, selector, table);
            let selected = selected.map_or("not stated".to_owned(), |word| format!("`{word}`"));
            format!("`{}` is not read while `{}` is {selected}", path_of(key.name), path_of(selector))
        }
        When::Has(names) => {
            let names: Vec<String> = names.iter().map(|name| path_of(name)).collect();
            let names = either(names.iter().map(String::as_str));
            format!("`{}` is not read without {names}", path_of(key.name))
        }
        When::Lacks(name) => {
            format!("`{}` is not read beside `{}`", path_of(key.name), path_of(name))
        }
    };
    let hint = match when {
        When::Is(selector, values) => {
            let readers = keys().iter().filter(|other| same_place(other, key));
            let words = readers.flat_map(|other| match other.when.first() {
                Some(When::Is(name, values)) if name == selector => values.iter().copied(),
                _ => values.iter().copied(),
            });
            let words: BTreeSet<&str> = words.collect();
            format!("it is read while `{}` is {}", path_of(selector), either(words))
        }
        When::Has(_) => key.doc.to_owned(),
        When::Lacks(name) => format!("`{name}` takes its place: state one of the two"),
    };
    match when {
        // Whoever turns something off for once need not take its settings out of the file.
        When::Is(selector, _)
            if matches!(table.at(selector), Some(Value { origin: Origin::Flag(_), .. })) =>
        {
            log.warn(&value.origin, message, hint);
        }
        _ => log.unread(&value.origin, key.name, message, hint),
    }
}

/// Complains of every key of `table` that no key of the registry begins with.
fn refuse_unknown(section: &str, path: &str, within: &str, table: &Table, log: &mut Log) {
    let names: Vec<&str> = keys().iter().filter(|key| key.section == section).map(|key| key.name).collect();
    for (name, value) in &table.0 {
        let here = join(within, name);
        let inner = format!("{here}.");
        let leads_on = names.iter().any(|known| known.starts_with(&inner));
        match (names.contains(&here.as_str()), leads_on, &value.data) {
            (_, true, Data::Table(table)) => refuse_unknown(section, path, &here, table, log),
            (true, _, _) => {}
            (false, true, _) => {
                let example = names.iter().find(|known| known.starts_with(&inner)).unwrap_or(&"");
                log.wrong(&value.origin, format!("`{}` is {}, not a table", join(path, &here), value.what()))
                    .hint(format!("it holds keys such as `{}`", join(path, example)));
            }
            (false, false, _) => {
                let hint = unknown_hint(section, path, &here, &names);
                log.wrong(&value.origin, format!("there is no key `{}`", join(path, &here)));
                if let Some(hint) = hint {
                    log.hint(hint);
                }
            }
        }
    }
}

fn unknown_hint(section: &str, path: &str, here: &str, names: &[&str]) -> Option<String> {
    let full = join(section, here);
    // `scheme.qcn.weight`, as `explain` and the documentation call it, or `[scheme.qcn]`.
    if let Some(key) = keys().iter().find(|key| key.full_path() == full) {
        return Some(format!("in a file it is `{}`", key.path()));
    }
    let inner = format!("{full}.");
    if let Some(key) = keys().iter().find(|key| key.full_path().starts_with(&inner)) {
        return Some(format!("what is particular to a kind stands beside it, such as `{}`", key.path()));
    }
    let near = quell_record::near::closest(here, names.iter().copied());
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| join(path, name)).collect();
        return Some(format!("is it {}?", either(near.iter().map(String::as_str))));
    }
    let leaf = here.rsplit('.').next().unwrap_or(here);
    let elsewhere = keys().iter().filter(|key| key.name.rsplit('.').next() == Some(leaf));
    let elsewhere: BTreeSet<String> = elsewhere.map(Key::path).collect();
    if !elsewhere.is_empty() {
        return Some(format!("there is {}", either(elsewhere.iter().map(String::as_str))));
    }
    let tops: BTreeSet<&str> = names.iter().map(|name| name.split('.').next().unwrap_or(name)).collect();
    suggest(here, tops, "the keys here are")
}

/// The value that a default of the registry stands for.
fn default_value(form: Form, text: &str) -> Value {
    let data = match form {
        Form::Count(..) | Form::PowerOfTwo(..) => {
            text.parse().map_or_else(|_| Data::Text(text.to_owned()), Data::Integer)
        }
        Form::Flag => Data::Flag(text == "true"),
        _ => Data::Text(text.to_owned()),
    };
    Value { data, origin: Origin::Default }
}

/// What is wrong with a value, and what would be right.
type Wrong = (String, Option<String>);

/// Reads a value in the form its key asks for.
fn parse(key: &Key, value: &Value) -> Result<Parsed, Wrong> {
    if let Some(text) = value.text()
        && key.words.contains(&text)
    {
        return Ok(Parsed::Text(text.to_owned()));
    }
    match key.form {
        Form::Text => Ok(Parsed::Text(text(value)?.to_owned())),
        Form::Word(words) => word(value, words.iter().copied()),
        Form::Preset => word(value, qcn::PRESETS.iter().map(|preset| preset.name)),
        Form::Flag => match value.data {
            Data::Flag(flag) => Ok(Parsed::Flag(flag)),
            _ => Err((format!("expected true or false, found {}", value.what()), None)),
        },
        Form::Count(least, most) => Ok(Parsed::Count(count(value, least, most)?)),
        Form::Counts(least, most) => list(value, |value| count(value, least, most)).map(Parsed::Counts),
        Form::Rate(least, most) => {
            let rate = quantity(key, value, Kind::Rate, units::rate)?;
            in_range(rate, rate.bps(), least, most, Rate::from_bps).map(Parsed::Rate)
        }
        Form::Time(least, most) => {
            let time = quantity(key, value, Kind::Time, units::time)?;
            in_range(time, time.ps(), least, most, Duration::from_ps).map(Parsed::Time)
        }
        Form::Size(least, most) => size(key, value, least, most).map(Parsed::Size),
        Form::Sizes(least, most) => list(value, |value| size(key, value, least, most)).map(Parsed::Sizes),
        Form::Percent(least, most) => {
            let share = quantity(key, value, Kind::Share, units::share)?;
            let whole = (format!("expected a whole percentage, {least}% to {most}%"), None);
            let percent = share.percent().ok_or_else(|| whole.clone())?;
            if (least..=most).contains(&percent) { Ok(Parsed::Share(share)) } else { Err(whole) }
        }
        Form::Share => {
            let share = quantity(key, value, Kind::Share, units::share)?;
            if share.above == 0 || share.above > share.below {
                Err(("expected more than 0% and at most 100%".to_owned(), None))
            } else {
                Ok(Parsed::Share(share))
            }
        }
        Form::Factor => factor(value).map(Parsed::Share),
        Form::PowerOfTwo(least, most) => {
            let expected = (format!("expected {}", key.form), None);
            let log2 = factor(value)?.log2().ok_or_else(|| expected.clone())?;
            if (least..=most).contains(&log2) { Ok(Parsed::PowerOfTwo(log2)) } else { Err(expected) }
        }
        Form::Names => names(value).map(Parsed::Names),
        Form::Hosts => match value.data {
            Data::Integer(_) => Ok(Parsed::Count(count(value, 1, MOST_NODES)?)),
            _ => names(value).map(Parsed::Names),
        },
        Form::HostGroups => match &value.data {
            Data::Integer(_) => Ok(Parsed::Count(count(value, 1, MOST_NODES)?)),
            Data::List(_) => list(value, names).map(Parsed::Groups),
            _ => Err((format!("expected {}", key.form), None)),
        },
        Form::Window => Ok(Parsed::Windows(vec![window(value)?])),
        Form::Windows => match value.data {
            Data::List(_) => list(value, window).map(Parsed::Windows),
            _ => Ok(Parsed::Windows(vec![window(value)?])),
        },
        Form::Table | Form::Selection | Form::Free => match value.data {
            Data::Table(_) => Ok(Parsed::Raw(value.clone())),
            _ => Err((format!("expected a table, found {}", value.what()), None)),
        },
        Form::Tables => match &value.data {
            Data::List(values) if values.iter().all(|value| value.table().is_some()) => {
                Ok(Parsed::Raw(value.clone()))
            }
            Data::Table(table) if table.0.iter().all(|(name, _)| name.parse::<usize>().is_ok()) => {
                let hint = "entries are counted from 0; a number changes one that is there".to_owned();
                Err(("the list has no such entry".to_owned(), Some(hint)))
            }
            _ => {
                let hint = format!("write each as [[{}]], or a list of {{ … }}", key.path());
                Err((format!("expected a list of tables, found {}", value.what()), Some(hint)))
            }
        },
        Form::Bound | Form::Bounds | Form::Reference => Ok(Parsed::Raw(value.clone())),
    }
}

/// More nodes than this are a slip of the hand.
pub(crate) const MOST_NODES: u64 = 100_000;

fn text(value: &Value) -> Result<&str, Wrong> {
    value.text().ok_or_else(|| (format!("expected a text in quotes, found {}", value.what()), None))
}

fn word<'a>(value: &Value, words: impl Iterator<Item = &'a str> + Clone) -> Result<Parsed, Wrong> {
    let text = text(value)?;
    if words.clone().any(|word| word == text) {
        return Ok(Parsed::Text(text.to_owned()));
    }
    let near = quell_record::near::closest(text, words.clone());
    let hint = (!near.is_empty()).then(|| format!("is it {}?", either(near)));
    Err((format!("expected {}", either(words)), hint))
}

fn count(value: &Value, least: u64, most: u64) -> Result<u64, Wrong> {
    let expected = |found: &str| {
        let range = if most == u64::MAX { format!("at least {least}") } else { format!("{least} to {most}") };
        (format!("expected a whole number, {range}{found}"), None)
    };
    let Data::Integer(number) = value.data else {
        let is_beyond = |text: &str| text.len() > 18 && text.bytes().all(|it| it.is_ascii_digit());
        if value.text().is_some_and(is_beyond) {
            return Err(("it is too large".to_owned(), Some(LARGEST.to_owned())));
        }
        return Err(expected(&format!(", found {}", value.what())));
    };
    u64::try_from(number).ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| expected(""))
}

fn quantity<T>(
    key: &Key,
    value: &Value,
    kind: Kind,
    read: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<T, Wrong> {
    let explain = |error: UnitError| {
        let (message, hint) = error.explain(kind);
        let words = key.words;
        let or =
            if words.is_empty() { String::new() } else { format!(", or {}", either(words.iter().copied())) };
        (message.replacen(kind.example(), &format!("{}{or}", kind.example()), 1), hint)
    };
    match &value.data {
        Data::Text(text) => read(text).map_err(explain),
        Data::Integer(_) | Data::Number(_) => Err(explain(UnitError::Bare { number: value.to_string() })),
        _ => Err((format!("expected {}, found {}", kind.example(), value.what()), None)),
    }
}

fn in_range<T: Copy, D: fmt::Display>(
    quantity: T,
    number: u64,
    least: u64,
    most: u64,
    show: impl Fn(u64) -> D,
) -> Result<T, Wrong> {
    if number == 0 && least > 0 {
        return Err(("expected more than zero".to_owned(), None));
    }
    if number < least {
        return Err((format!("expected at least {}", show(least)), None));
    }
    if number > most {
        return Err((format!("expected at most {}", show(most)), None));
    }
    Ok(quantity)
}

fn size(key: &Key, value: &Value, least: u64, most: u64) -> Result<Bytes, Wrong> {
    let size = quantity(key, value, Kind::Size, units::size)?;
    in_range(size, size.get(), least, most, Bytes::new)
}

fn factor(value: &Value) -> Result<Ratio, Wrong> {
    let expected = || (format!("expected {}", Form::Factor), None);
    let ratio = match &value.data {
        Data::Integer(number) => Ratio { above: u64::try_from(*number).map_err(|_| expected())?, below: 1 },
        Data::Text(text) => match (units::share(text), text.trim().parse()) {
            (Ok(ratio), _) => ratio.reduced(),
            (_, Ok(above)) => Ratio { above, below: 1 },
            _ => return Err(expected()),
        },
        _ => return Err(expected()),
    };
    let most = u64::from(u32::MAX);
    if (1..=most).contains(&ratio.above) && ratio.below <= most { Ok(ratio) } else { Err(expected()) }
}

fn names(value: &Value) -> Result<Vec<String>, Wrong> {
    match &value.data {
        Data::Text(text) => Ok(vec![text.clone()]),
        Data::List(_) => list(value, |value| text(value).map(str::to_owned)),
        _ => Err((format!("expected a name or a list of names, found {}", value.what()), None)),
    }
}

fn window(value: &Value) -> Result<Span, Wrong> {
    units::span(text(value)?).map_err(|error| error.explain(Kind::Time))
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
    match &value.data {
        Data::List(values) => values.iter().map(read).collect(),
        _ => Err((format!("expected a list, found {}", value.what()), None)),
    }
}

/// A value as a message shows it: long ones by their beginning.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text[..end].replace('\n', " ")),
        None => text.replace('\n', " "),
    }
}

impl fmt::Display for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parsed::Text(text) => f.write_str(text),
            Parsed::Flag(flag) => flag.fmt(f),
            Parsed::Count(count) => count.fmt(f),
            Parsed::Counts(counts) => write!(f, "{counts:?}"),
            Parsed::Rate(rate) => rate.fmt(f),
            Parsed::Time(Duration::ZERO) => f.write_str("0s"),
            Parsed::Time(time) => time.fmt(f),
            Parsed::Size(size) => size.fmt(f),
            Parsed::Sizes(sizes) => write!(f, "[{}]", commas(sizes)),
            Parsed::Share(share) => share.fmt(f),
            Parsed::PowerOfTwo(log2) => f.write_str(&super::keys::power_of_two(*log2)),
            Parsed::Names(names) => f.write_str(&commas(names)),
            Parsed::Groups(groups) => {
                let groups: Vec<String> = groups.iter().map(|group| format!("[{}]", commas(group))).collect();
                f.write_str(&commas(&groups))
            }
            Parsed::Windows(windows) => f.write_str(&commas(windows)),
            Parsed::Raw(value) => value.fmt(f),
        }
    }
}

fn commas<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
