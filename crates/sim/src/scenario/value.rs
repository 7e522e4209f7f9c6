//! What was typed: TOML as a tree in which every value knows where it came from.

use super::problem::{Log, suggest};
use std::fmt;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody said anything: the registry's default.
    Default,
    /// The named preset or profile of a scheme.
    Preset(String),
    /// A line of the scenario.
    File(Arc<str>, u32),
    /// A line of the file it extends.
    Extends(Arc<str>, u32),
    /// A line of `[quick]`, under `--quick`.
    Quick(Arc<str>, u32),
    /// The value `1` of the axis `0`, stated at a line.
    Axis(String, String, Arc<str>, u32),
    /// A flag, as typed.
    Flag(String),
}

impl Origin {
    /// The file and line, or the flag; `None` for what nobody wrote.
    pub(crate) fn place(&self) -> Option<(String, Option<u32>)> {
        match self {
            Origin::Default | Origin::Preset(_) => None,
            Origin::File(file, line)
            | Origin::Extends(file, line)
            | Origin::Quick(file, line)
            | Origin::Axis(_, _, file, line) => Some((file.to_string(), Some(*line))),
            Origin::Flag(flag) => Some((flag.clone(), None)),
        }
    }

    /// The line in the file, or 0 where there is none.
    pub(crate) fn line(&self) -> u32 {
        self.place().and_then(|(_, line)| line).unwrap_or(0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Preset(name) => f.write_str(name),
            Origin::File(file, line) => write!(f, "{file}:{line}"),
            Origin::Extends(file, line) => write!(f, "{file}:{line} (extended)"),
            Origin::Quick(file, line) => write!(f, "{file}:{line} (quick)"),
            Origin::Axis(axis, value, file, line) => write!(f, "{file}:{line} (axis {axis}: {value})"),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) data: Data,
    pub(crate) origin: Origin,
}

/// What TOML can say, dates left out: a scenario has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Value>),
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(pub(crate) Vec<(String, Value)>);

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Value> {
        let index = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(index).1)
    }

    /// The value at a dotted path.
    pub(crate) fn at(&self, path: &str) -> Option<&Value> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let value = self.get(first)?;
        match (rest, &value.data) {
            (None, _) => Some(value),
            (Some(rest), Data::Table(table)) => table.at(rest),
            (Some(_), _) => None,
        }
    }

    /// Lays `over` on top: tables merge key by key, anything else is replaced. A table whose keys are all
    /// numbers changes the elements of a list that stands below it.
    pub(crate) fn merge(&mut self, over: Table) {
        for (key, value) in over.0 {
            match self.get_mut(&key) {
                Some(below) => below.merge(value),
                None => self.0.push((key, value)),
            }
        }
    }
}

impl Value {
    pub(crate) fn table(&self) -> Option<&Table> {
        if let Data::Table(table) = &self.data { Some(table) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }

    fn merge(&mut self, over: Value) {
        match (&mut self.data, over) {
            (Data::Table(below), Value { data: Data::Table(over), .. }) => below.merge(over),
            (Data::List(below), Value { data: Data::Table(over), .. })
                if !over.0.is_empty() && over.0.iter().all(|(key, _)| element(key, below).is_some()) =>
            {
                for (key, value) in over.0 {
                    if let Some(index) = element(&key, below) {
                        below[index].merge(value);
                    }
                }
            }
            (_, over) => *self = over,
        }
    }

    /// Gives it and all within it another origin, made from the one it has.
    pub(crate) fn restamp(&mut self, stamp: &dyn Fn(&Arc<str>, u32) -> Origin) {
        if let Origin::File(file, line) | Origin::Extends(file, line) | Origin::Quick(file, line) =
            &self.origin
        {
            self.origin = stamp(file, *line);
        }
        match &mut self.data {
            Data::List(values) => values.iter_mut().for_each(|value| value.restamp(stamp)),
            Data::Table(table) => table.0.iter_mut().for_each(|(_, value)| value.restamp(stamp)),
            _ => {}
        }
    }

    /// What it is, in a sentence.
    pub(crate) fn what(&self) -> &'static str {
        match self.data {
            Data::Text(_) => "a text",
            Data::Integer(_) | Data::Number(_) => "a number",
            Data::Flag(_) => "true or false",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            Data::Text(text) => f.write_str(text),
            Data::Integer(number) => number.fmt(f),
            Data::Number(number) => number.fmt(f),
            Data::Flag(flag) => flag.fmt(f),
            Data::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Data::Table(table) => {
                f.write_str("{")?;
                for (index, (key, value)) in table.0.iter().enumerate() {
                    write!(f, "{}{key} = {value}", if index > 0 { ", " } else { " " })?;
                }
                f.write_str(" }")
            }
        }
    }
}

fn element(key: &str, list: &[Value]) -> Option<usize> {
    key.parse().ok().filter(|&index| index < list.len())
}

/// Reads TOML; what is not TOML goes to the log, and as much as could be read comes back.
pub(crate) fn parse(file: &str, text: &str, log: &mut Log) -> Table {
    let source = Source { file: Arc::from(file), lines: line_starts(text) };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or_default();
        let origin = source.origin(span.start);
        match text.get(span).filter(|_| error.message() == "duplicate key") {
            Some(key) => log
                .wrong(&origin, format!("`{}` is stated twice", key.trim()))
                .hint("keep one of them; what belongs to a table stands under one heading"),
            None => {
                log.wrong(&origin, error.message());
            }
        }
    }
    source.table(table.get_ref(), log)
}

/// What is said of a whole number that is beyond TOML's.
pub(crate) const LARGEST: &str = "a whole number, such as a seed, is at most 9223372036854775807";

struct Source {
    file: Arc<str>,
    lines: Vec<usize>,
}

impl Source {
    fn origin(&self, offset: usize) -> Origin {
        let line = self.lines.partition_point(|&start| start <= offset);
        Origin::File(self.file.clone(), u32::try_from(line).unwrap_or(u32::MAX))
    }

    fn table(&self, table: &DeTable<'_>, log: &mut Log) -> Table {
        let pairs = table.iter().map(|(key, value)| {
            let mut value = self.value(value, log);
            // A table is where its key is; so is a value, unless it stands on a line of its own.
            if matches!(value.data, Data::Table(_)) {
                value.origin = self.origin(key.span().start);
            }
            (key.get_ref().to_string(), value)
        });
        Table(pairs.collect())
    }

    fn value(&self, value: &Spanned<DeValue<'_>>, log: &mut Log) -> Value {
        let origin = self.origin(value.span().start);
        let data = match value.get_ref() {
            DeValue::String(text) => Data::Text(text.to_string()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Data::Integer(number),
                Err(_) => {
                    log.wrong(&origin, format!("{number} is too large")).hint(LARGEST);
                    Data::Integer(0)
                }
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Data::Number(number),
                _ => {
                    log.wrong(&origin, format!("{} is not a number that can be counted", number.as_str()));
                    Data::Number(0.0)
                }
            },
            DeValue::Boolean(flag) => Data::Flag(*flag),
            DeValue::Datetime(date) => {
                log.wrong(&origin, format!("{date} is a date, and a scenario has none"))
                    .hint("times count from the start of the run, such as \"100ms\"");
                Data::Text(date.to_string())
            }
            DeValue::Array(values) => Data::List(values.iter().map(|value| self.value(value, log)).collect()),
            DeValue::Table(table) => Data::Table(self.table(table, log)),
        };
        Value { data, origin }
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n');
    std::iter::once(0).chain(ends.map(|(offset, _)| offset + 1)).collect()
}

/// The tree that `--set path=value` lays over a scenario. The value is TOML where it reads as such, else
/// a text: quotes may be left out.
pub(crate) fn from_flag(path: &str, value: &str) -> Table {
    let flag = format!("--set {path}={value}");
    let mut quiet = Log::new(&flag);
    let source = Source { file: Arc::from(flag.as_str()), lines: Vec::new() };
    let mut data = match DeValue::parse(value) {
        Ok(parsed) if !matches!(parsed.get_ref(), DeValue::Datetime(_)) => source.value(&parsed, &mut quiet),
        _ => Value { data: Data::Text(value.to_owned()), origin: source.origin(0) },
    };
    if !quiet.problems.is_empty() {
        data.data = Data::Text(value.to_owned());
    }
    let origin = Origin::Flag(flag.clone());
    data.restamp(&|_, _| origin.clone());
    let nest = |inner: Value, key: &str| {
        let table = Table(vec![(key.to_owned(), inner)]);
        Value { data: Data::Table(table), origin: origin.clone() }
    };
    match path.split('.').map(str::trim).rev().fold(data, nest).data {
        Data::Table(table) => table,
        _ => unreachable!("a path has at least one part"),
    }
}

/// Puts the values of `[parameters]` where the file says `"$name"`, and says which were used.
pub(crate) fn substitute(tree: &mut Table, parameters: &Table, used: &mut Vec<String>, log: &mut Log) {
    for (_, value) in &mut tree.0 {
        substitute_value(value, parameters, used, log);
    }
}

fn substitute_value(value: &mut Value, parameters: &Table, used: &mut Vec<String>, log: &mut Log) {
    match &mut value.data {
        Data::Text(text) => {
            let Some(name) = text.strip_prefix('$') else { return };
            match parameters.get(name) {
                Some(parameter) => {
                    used.push(name.to_owned());
                    *value = parameter.clone();
                }
                None => {
                    let known = parameters.0.iter().map(|(name, _)| name.as_str());
                    let hint = suggest(name, known, "the parameters are")
                        .unwrap_or_else(|| format!("state it: [parameters] {name} = …"));
                    log.wrong(&value.origin, format!("`{text}` is not among the parameters")).hint(hint);
                }
            }
        }
        Data::List(values) => {
            values.iter_mut().for_each(|value| substitute_value(value, parameters, used, log));
        }
        Data::Table(table) => substitute(table, parameters, used, log),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Table {
        let mut log = Log::new("a.toml");
        let table = parse("a.toml", text, &mut log);
        assert!(log.problems.is_empty(), "{:?}", log.problems);
        table
    }

    fn show(table: &Table, path: &str) -> String {
        table.at(path).map_or("nothing".to_owned(), |value| format!("{value} from {}", value.origin))
    }

    #[test]
    fn every_value_knows_its_line() {
        let table = read("title = \"t\"\n[run]\nlength = \"1ms\"\n[[traffic]]\n\nfrom = [\"a\",\n\"b\"]\n");
        assert_eq!(show(&table, "run.length"), "1ms from a.toml:3");
        let Data::List(traffic) = &table.get("traffic").unwrap().data else { panic!("not a list") };
        let Data::List(from) = &traffic[0].table().unwrap().get("from").unwrap().data else {
            panic!("no list")
        };
        assert_eq!(from[1].origin.line(), 7);
    }

    #[test]
    fn a_merge_goes_deep_and_leaves_the_rest() {
        let mut table = read("[run]\nlength = \"1ms\"\nseed = 1\n[switch]\npause.stop = \"1kB\"");
        table.merge(read("run.length = \"2ms\"\nswitch.pause.go = \"500B\""));
        assert_eq!(show(&table, "run.length"), "2ms from a.toml:1");
        assert_eq!(show(&table, "run.seed"), "1 from a.toml:3");
        assert_eq!(show(&table, "switch.pause.stop"), "1kB from a.toml:5");
        assert_eq!(show(&table, "switch.pause.go"), "500B from a.toml:2");
    }

    #[test]
    fn a_list_is_replaced_whole_or_changed_by_number() {
        let mut table = read("[[at]]\ntime = \"1ms\"\nfor = \"2ms\"\n[[at]]\ntime = \"5ms\"");
        table.merge(from_flag("at.1.time", "7ms"));
        assert_eq!(table.get("at").unwrap().to_string(), "[{ time = 1ms, for = 2ms }, { time = 7ms }]");
        table.merge(read("at = []"));
        assert_eq!(table.get("at").unwrap().to_string(), "[]");
    }

    #[test]
    fn a_flag_needs_no_quotes_and_is_named_as_origin() {
        assert_eq!(show(&from_flag("scheme.gd", "1/256"), "scheme.gd"), "1/256 from --set scheme.gd=1/256");
        assert_eq!(from_flag("run.repeat", "3").at("run.repeat").unwrap().data, Data::Integer(3));
        assert_eq!(from_flag("a", "true").at("a").unwrap().data, Data::Flag(true));
        assert_eq!(from_flag("a", "\"1ms\"").at("a").unwrap().data, Data::Text("1ms".to_owned()));
        assert_eq!(from_flag("a", "2020-01-01").at("a").unwrap().data, Data::Text("2020-01-01".to_owned()));
        assert_eq!(from_flag("a", "").at("a").unwrap().data, Data::Text(String::new()));
    }

    #[test]
    fn a_parameter_stands_wherever_it_is_named() {
        let mut table = read("[run]\nlength = \"$long\"\nover = [\"$long\", \"x$long\"]");
        let parameters = read("long = \"5ms\"");
        let (mut used, mut log) = (Vec::new(), Log::new("a.toml"));
        substitute(&mut table, &parameters, &mut used, &mut log);
        assert_eq!(table.at("run").unwrap().to_string(), "{ length = 5ms, over = [5ms, x$long] }");
        assert_eq!(used, ["long", "long"]);
        assert!(log.problems.is_empty());
    }
}
