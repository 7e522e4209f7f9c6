//! Which frames `decode` shows: `FIELD=VALUE` over the fields it prints.

use crate::exit::Failure;
use quell_proto::units::Duration;
use quell_sim::scenario;
use serde_json::{Map, Value};

/// One condition on a frame.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// The field, as it is printed; dots lead into fields of fields.
    pub(crate) field: String,
    relation: Relation,
    /// What it is compared with; any of several where it is to be equal.
    values: Vec<Operand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Number(i128),
    /// From, and up to but without.
    Between(i128, i128),
    /// A text, where `*` stands for anything.
    Pattern(String),
}

/// The field that holds nanoseconds, and is filtered in units.
const TIME: &str = "time";

impl Filter {
    /// Reads a condition as it is typed.
    pub(crate) fn read(text: &str) -> Result<Filter, Failure> {
        let wrong = |message: &str| {
            Failure::invalid(format!("--filter {text}: {message}")).hint(
                "write it as kind=cnm,cnp or feedback>=32 or time=1ms..2ms; `quell decode` prints the fields",
            )
        };
        let relations = [
            ("!=", Relation::NotEqual),
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("=", Relation::Equal),
            ("<", Relation::Less),
            (">", Relation::More),
        ];
        let at = |sign: &str| text.find(sign);
        let found = relations.iter().filter_map(|(sign, relation)| Some((at(sign)?, *sign, *relation)));
        // The first in the text; of two that start there, the longer.
        let (at, sign, relation) = found
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
            .ok_or_else(|| wrong("there is no =, !=, <, <=, > or >= in it"))?;
        let (field, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        if field.is_empty() || value.is_empty() {
            return Err(wrong("a field stands before the sign, and a value behind it"));
        }
        let values: Vec<Operand> = value
            .split(',')
            .map(|value| operand(field, value.trim()))
            .collect::<Result<_, String>>()
            .map_err(|message| wrong(&message))?;
        let is_order = !matches!(relation, Relation::Equal | Relation::NotEqual);
        if is_order && !matches!(values.as_slice(), [Operand::Number(_)]) {
            return Err(wrong("only a single number is more or less than another"));
        }
        Ok(Filter { field: field.to_owned(), relation, values })
    }

    /// Whether it holds for a frame; for one without the field, only that it differs.
    pub(crate) fn holds(&self, fields: &Map<String, Value>) -> bool {
        let found = self.find(fields);
        let Some(found) = found else { return self.relation == Relation::NotEqual };
        let any = |test: &dyn Fn(&Value) -> bool| match found {
            Value::Array(list) => list.iter().any(test),
            value => test(value),
        };
        let is_one = |value: &Value| self.values.iter().any(|operand| operand.is(value));
        let order = |test: fn(&i128, &i128) -> bool| {
            any(&|value| match (number(value), self.values.as_slice()) {
                (Some(value), [Operand::Number(limit)]) => test(&value, limit),
                _ => false,
            })
        };
        match self.relation {
            Relation::Equal => any(&is_one),
            Relation::NotEqual => !any(&is_one),
            Relation::Less => order(i128::lt),
            Relation::AtMost => order(i128::le),
            Relation::More => order(i128::gt),
            Relation::AtLeast => order(i128::ge),
        }
    }

    /// The value of its field.
    pub(crate) fn find<'a>(&self, fields: &'a Map<String, Value>) -> Option<&'a Value> {
        let mut parts = self.field.split('.');
        let first = fields.get(if self.field == TIME { "time_ns" } else { parts.next()? })?;
        if self.field == TIME {
            return Some(first);
        }
        parts.try_fold(first, |value, part| value.get(part))
    }
}

fn operand(field: &str, text: &str) -> Result<Operand, String> {
    if field == TIME {
        return time(text);
    }
    Ok(digits(text).map_or_else(|| Operand::Pattern(text.to_owned()), Operand::Number))
}

/// The number that a text is, hexadecimal behind `0x`.
fn digits(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A time or a window of time, with units as in scenarios.
fn time(text: &str) -> Result<Operand, String> {
    let span = if text.contains("..") { text.to_owned() } else { format!("..{text}") };
    let (from, to) = scenario::window(&span).map_err(|(message, _)| message)?;
    let ns = |it: Duration| i128::from(it.ps() / 1000);
    if text.contains("..") {
        return Ok(Operand::Between(from.map_or(i128::MIN, ns), to.map_or(i128::MAX, ns)));
    }
    Ok(Operand::Number(to.map_or(0, ns)))
}

fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i128(),
        // EtherTypes, and names that are numbers.
        Value::String(text) => digits(text),
        _ => None,
    }
}

impl Operand {
    fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Operand::Number(wanted), _) => number(value) == Some(*wanted),
            (Operand::Between(from, to), _) => number(value).is_some_and(|it| (*from..*to).contains(&it)),
            (Operand::Pattern(pattern), Value::String(text)) => matches(pattern, text),
            (Operand::Pattern(pattern), Value::Bool(is_true)) => *pattern == is_true.to_string(),
            _ => false,
        }
    }
}

/// Whether a text is as the pattern says, where `*` stands for anything.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|left| {
            (0..=left.len()).filter(|&at| left.is_char_boundary(at)).any(|at| matches(rest, &left[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(filter: &str, frame: Value) -> bool {
        let Value::Object(fields) = frame else { panic!("fields") };
        Filter::read(filter).unwrap_or_else(|failure| panic!("{failure:?}")).holds(&fields)
    }

    #[test]
    fn fields_are_compared_as_numbers_or_as_words() {
        let frame = || json!({ "kind": "cnm", "feedback": 37, "port": "s1->h1", "time_ns": 1_500_000 });
        for filter in [
            "kind=cnm",
            "kind=pfc,cnm",
            "kind!=pfc",
            "feedback>=37",
            "feedback<0x26",
            "port=s1->*",
            "port=s1->h1",
        ] {
            assert!(holds(filter, frame()), "{filter}");
        }
        for filter in
            ["kind=pfc", "kind!=cnm", "feedback>37", "feedback=3", "port=h1->*", "missing=1", "missing>0"]
        {
            assert!(!holds(filter, frame()), "{filter}");
        }
        assert!(holds("missing!=1", frame()));
    }

    #[test]
    fn a_number_that_is_printed_as_text_is_found_as_it_is_printed_and_otherwise() {
        let frame = || json!({ "ether_type": "0x88b5", "port_id": "7", "chassis": "s1" });
        for filter in
            ["ether_type=0x88b5", "ether_type=0x88B5", "ether_type=34997", "port_id=7", "ether_type>=0x600"]
        {
            assert!(holds(filter, frame()), "{filter}");
        }
        for filter in ["ether_type=0x800", "ether_type!=0x88b5", "port_id=8", "chassis=1", "chassis>0"] {
            assert!(!holds(filter, frame()), "{filter}");
        }
    }

    #[test]
    fn time_has_units_and_windows() {
        let frame = || json!({ "time_ns": 1_500_000 });
        for filter in ["time=1ms..2ms", "time<2ms", "time>=1500us", "time=1.5ms", "time=1ms.."] {
            assert!(holds(filter, frame()), "{filter}");
        }
        for filter in ["time=..1.5ms", "time>1.5ms", "time!=1ms..2ms"] {
            assert!(!holds(filter, frame()), "{filter}");
        }
    }

    #[test]
    fn dots_lead_into_fields_and_lists_hold_if_one_does() {
        let frame = || json!({ "cn": { "cnpvs": [3, 4] }, "quanta": { "3": 65535 } });
        assert!(holds("cn.cnpvs=4", frame()) && !holds("cn.cnpvs=5", frame()));
        assert!(holds("quanta.3>0", frame()) && !holds("quanta.4>0", frame()));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in ["cnm", "=1", "kind=", "kind>cnm", "time=soon", "feedback>1,2"] {
            assert!(Filter::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("qcn/*", "qcn/short"));
        assert!(matches("*/short", "qcn/short"));
        assert!(matches("*", ""));
        assert!(matches("*é*", "café/x"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("qcn", "qcn/short"));
        assert!(!matches("*/long", "qcn/short"));
    }
}
