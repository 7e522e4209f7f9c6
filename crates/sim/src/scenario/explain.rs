//! The registry of keys as text: for one key, for an editor, for the documentation.

use super::keys::{Form, Given, Key, When, keys};
use super::metric::METRICS;
use super::problem::either;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a key does, its form, range, default and source; or, as an error, what may have been meant.
///
/// Accepts a path as files write it (`scheme.weight`), with its kind (`scheme.qcn.weight`), a section (`scheme`) or a
/// metric (`throughput`).
pub fn explain(path: &str) -> Result<String, String> {
    let path = path.trim().trim_matches('.');
    let found: Vec<&Key> = keys().iter().filter(|key| key.full_path() == path).collect();
    let found =
        if found.is_empty() { keys().iter().filter(|key| key.path() == path).collect() } else { found };
    let mut text = String::new();
    for (index, key) in found.iter().enumerate() {
        text.push_str(if index > 0 { "\n" } else { "" });
        text.push_str(&describe(key));
    }
    let within = keys_within(path);
    if !within.is_empty() {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        let width = within.iter().map(|key| key.full_path().len()).max().unwrap_or(0);
        for key in within {
            let _ = writeln!(text, "{:width$}  {}", key.full_path(), key.doc);
        }
    }
    if let Some(metric) = METRICS.iter().find(|metric| metric.name == path) {
        let _ = writeln!(text, "{}: a metric of claims\n  {}", metric.name, metric.doc);
    }
    if !text.is_empty() {
        return Ok(text.trim_end().to_owned());
    }
    let known: Vec<String> = keys().iter().flat_map(|key| [key.path(), key.full_path()]).collect();
    let leaf = path.rsplit('.').next().unwrap_or(path);
    let same_leaf = keys().iter().filter(|key| key.name.rsplit('.').next() == Some(leaf)).map(Key::full_path);
    let mut near: Vec<String> = same_leaf.collect();
    if near.is_empty() {
        near = quell_record::near::closest(path, known.iter().map(String::as_str))
            .into_iter()
            .map(str::to_owned)
            .collect();
    }
    near.sort();
    near.dedup();
    let hint = if near.is_empty() {
        "`quell schema` lists all keys".to_owned()
    } else {
        format!("is it {}?", either(near.iter().map(String::as_str)))
    };
    Err(format!("there is no key `{path}`\nhint: {hint}"))
}

/// The keys of a section; of a table within one, or of a kind, if there is no such section.
fn keys_within(path: &str) -> Vec<&'static Key> {
    if path.is_empty() {
        return Vec::new();
    }
    let own: Vec<&Key> = keys().iter().filter(|key| key.section == path).collect();
    if !own.is_empty() {
        return own;
    }
    let inner = format!("{path}.");
    let is_within = |key: &&Key| key.path().starts_with(&inner) || key.full_path().starts_with(&inner);
    keys().iter().filter(is_within).collect()
}

fn describe(key: &Key) -> String {
    let mut text = format!("{}\n  {}\n", key.full_path(), key.doc);
    let _ = writeln!(text, "  in a file   {}", written(key));
    let _ = writeln!(text, "  value       {}", form(key));
    let _ = writeln!(text, "  default     {}", key.given.text().replace('`', ""));
    if !key.when.is_empty() {
        let _ = writeln!(text, "  read while  {}", conditions(key).replace('`', ""));
    }
    if !key.source.is_empty() {
        let _ = writeln!(text, "  source      {}", key.source);
    }
    text
}

/// How a file states it.
fn written(key: &Key) -> String {
    match key.section {
        "" => key.name.to_owned(),
        list @ ("traffic" | "at" | "expect" | "fair" | "figure" | "topology.links") => {
            format!("[[{list}]] {}", key.name)
        }
        table => format!("[{table}] {}", key.name),
    }
}

fn form(key: &Key) -> String {
    let words = either(key.words.iter().copied());
    let text = if key.words.is_empty() { key.form.to_string() } else { format!("{}; or {words}", key.form) };
    text.replace('`', "")
}

fn conditions(key: &Key) -> String {
    let all: Vec<String> = key.when.iter().map(When::to_string).collect();
    all.join(" and ")
}

/// The registry as tables in Markdown, a section each: the reference part of `docs/scenario.md`.
pub fn reference() -> String {
    let mut text = String::new();
    let mut section = None;
    for key in keys() {
        if section != Some(key.section) {
            section = Some(key.section);
            let title = match key.section {
                "" => "Top of the file".to_owned(),
                list @ ("traffic" | "at" | "expect" | "fair" | "figure" | "topology.links") => {
                    format!("`[[{list}]]`")
                }
                table => format!("`[{table}]`"),
            };
            let _ = write!(text, "\n### {title}\n\n| key | value | default | meaning |\n|---|---|---|---|\n");
        }
        let words: Vec<String> = key.words.iter().map(|word| format!("`{word}`")).collect();
        let or = if words.is_empty() { String::new() } else { format!("; or {}", words.join(", ")) };
        let mut doc = key.doc.to_owned();
        if !key.when.is_empty() {
            let _ = write!(doc, " Read while {}.", conditions(key));
        }
        if !key.source.is_empty() {
            let _ = write!(doc, " *{}*", key.source);
        }
        let cells = [format!("`{}`", key.name), format!("{}{or}", key.form), key.given.text(), doc];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push_str("\n### Metrics\n\n| metric | meaning |\n|---|---|\n");
    for metric in METRICS {
        let _ = writeln!(text, "| `{}` | {} |", metric.name, metric.doc);
    }
    text.trim_start().to_owned()
}

/// A JSON Schema (draft 2020-12) of scenario files, for completion and checks in editors.
pub fn schema() -> String {
    let mut root = Node::default();
    for key in keys() {
        let path = key.path();
        let mut parts: Vec<&str> = path.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let parent =
            parts.iter().fold(&mut root, |node, part| node.children.entry((*part).to_owned()).or_default());
        let node = parent.children.entry(last.to_owned()).or_default();
        node.keys.push(key);
    }
    let mut text = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n");
    text.push_str("  \"title\": \"Quell scenario\",\n");
    write_object(&mut text, &root, 1, true);
    text.push_str("}\n");
    text
}

/// A key, a table of keys, or both.
#[derive(Default)]
struct Node {
    children: BTreeMap<String, Node>,
    keys: Vec<&'static Key>,
}

/// The members of an object schema, without the braces around them.
fn write_object(text: &mut String, node: &Node, depth: usize, top: bool) {
    let pad = "  ".repeat(depth);
    let _ = write!(text, "{pad}\"type\": \"object\",\n{pad}\"additionalProperties\": false,\n");
    let required = node.children.iter().filter(|(_, child)| {
        // What is required only under a condition is checked by the reader, which can say so.
        child.keys.len() == 1 && child.keys[0].when.is_empty() && child.keys[0].given == Given::Required
    });
    let required: Vec<String> = required.map(|(name, _)| quoted(name)).collect();
    if !required.is_empty() && !top {
        let _ = writeln!(text, "{pad}\"required\": [{}],", required.join(", "));
    }
    let _ = writeln!(text, "{pad}\"properties\": {{");
    for (index, (name, child)) in node.children.iter().enumerate() {
        let _ = writeln!(text, "{pad}  {}: {{", quoted(name));
        write_node(text, child, depth + 2);
        let comma = if index + 1 < node.children.len() { "," } else { "" };
        let _ = writeln!(text, "{pad}  }}{comma}");
    }
    let _ = writeln!(text, "{pad}}}");
}

fn write_node(text: &mut String, node: &Node, depth: usize) {
    let pad = "  ".repeat(depth);
    if let Some(key) = node.keys.first() {
        let docs: Vec<&str> = node.keys.iter().map(|key| key.doc).collect();
        let _ = writeln!(text, "{pad}\"description\": {},", quoted(&docs.join(" ")));
        if let Given::Default(value) = key.given
            && node.keys.len() == 1
        {
            let _ = writeln!(text, "{pad}\"default\": {},", default_json(key.form, value));
        }
    }
    let lists = node.keys.iter().any(|key| key.form == Form::Tables);
    if lists && !node.children.is_empty() {
        let _ = write!(text, "{pad}\"type\": \"array\",\n{pad}\"items\": {{\n");
        write_object(text, node, depth + 1, false);
        let _ = writeln!(text, "{pad}}}");
        return;
    }
    if !node.children.is_empty() {
        write_object(text, node, depth, false);
        return;
    }
    let mut types: Vec<String> = Vec::new();
    for key in &node.keys {
        for one in type_json(key) {
            if !types.contains(&one) {
                types.push(one);
            }
        }
    }
    match &types[..] {
        [one] => {
            let _ = writeln!(text, "{pad}{one}");
        }
        several => {
            let several: Vec<String> = several.iter().map(|one| format!("{{ {one} }}")).collect();
            let _ = writeln!(text, "{pad}\"anyOf\": [{}]", several.join(", "));
        }
    }
}

/// The members of each schema that a key's value may satisfy.
fn type_json(key: &Key) -> Vec<String> {
    let string = || "\"type\": \"string\"".to_owned();
    let pattern = |pattern: &str| format!("\"type\": \"string\", \"pattern\": {}", quoted(pattern));
    let number = r"[0-9]+(\\.[0-9]+)? ?".replace("\\\\", "\\");
    let parameter = || pattern(r"^\$");
    let integer = |least: u64, most: u64| {
        let most = if most > 1 << 53 { String::new() } else { format!(", \"maximum\": {most}") };
        format!("\"type\": \"integer\", \"minimum\": {least}{most}")
    };
    let words = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("\"enum\": [{}]", words.join(", "))
    };
    let array = |of: &str| format!("\"type\": \"array\", \"items\": {{ {of} }}");
    let rate = pattern(&format!("^{number}[kMGT]?b/s$"));
    let time = pattern(&format!("^{number}(p|n|u|µ|μ|m)?s$"));
    let size = pattern(&format!("^{number}([kMG]|[KMG]i)?B$"));
    let share = pattern(&format!("^({number}%|[0-9]+/[0-9]+)$"));
    let mut types = match key.form {
        Form::Text => vec![string()],
        Form::Word(list) => vec![words(list), parameter()],
        Form::Preset => {
            let names: Vec<&str> =
                quell_proto::control::qcn::PRESETS.iter().map(|preset| preset.name).collect();
            vec![words(&names), parameter()]
        }
        Form::Flag => vec!["\"type\": \"boolean\"".to_owned(), parameter()],
        Form::Count(least, most) => vec![integer(least, most), parameter()],
        Form::Counts(least, most) => vec![array(&integer(least, most)), parameter()],
        Form::Rate(..) => vec![rate, parameter()],
        Form::Time(..) => vec![time, parameter()],
        Form::Size(..) => vec![size, parameter()],
        Form::Sizes(..) => vec![array(&size), parameter()],
        Form::Percent(..) | Form::Share => vec![share, parameter()],
        Form::Factor | Form::PowerOfTwo(..) => vec![integer(0, u64::MAX), share, parameter()],
        Form::Names | Form::Window | Form::Windows => vec![string(), array(&string())],
        Form::Hosts => vec![integer(1, u64::MAX), string(), array(&string())],
        Form::HostGroups => vec![integer(1, u64::MAX), array(&array(&string())), parameter()],
        Form::Bound => vec!["\"type\": \"number\"".to_owned(), string()],
        Form::Bounds => vec!["\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2".to_owned(), parameter()],
        Form::Reference => vec![string(), "\"type\": \"object\"".to_owned()],
        Form::Tables => vec![array("\"type\": \"object\"")],
        Form::Selection | Form::Table | Form::Free => vec!["\"type\": \"object\"".to_owned()],
    };
    if !key.words.is_empty() {
        types.insert(0, words(key.words));
    }
    types
}

fn default_json(form: Form, value: &str) -> String {
    match form {
        Form::Count(..) | Form::Flag if value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok() => {
            value.to_owned()
        }
        _ => quoted(value),
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
