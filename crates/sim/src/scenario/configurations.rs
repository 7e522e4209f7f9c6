//! `[axis]`: the configurations of one file, and how claims and figures choose among them.

use super::problem::{Log, suggest};
use super::section::Section;
use super::value::{Data, Origin, Table, Value};
use std::sync::Arc;

/// The only configuration of a file without axes.
const ONLY: &str = "default";
/// More configurations than this are a sweep, not a comparison.
const MOST: usize = 1000;

/// The axes of a file and all that they make.
#[derive(Debug)]
pub(crate) struct Axes {
    axes: Vec<(String, Vec<String>)>,
    pub(crate) chosen: Vec<Chosen>,
}

/// One configuration: a value on each axis.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) axes: Vec<(String, String)>,
    /// What its values lay over the file, in the order of the axes.
    pub(crate) overlays: Vec<Table>,
}

impl Axes {
    /// Takes `axis` and `skip` out of the tree.
    pub(crate) fn take(tree: &mut Table, log: &mut Log) -> Axes {
        let mut chosen = vec![Chosen { name: String::new(), axes: Vec::new(), overlays: Vec::new() }];
        let mut axes = Vec::new();
        let stated = tree.remove("axis");
        let listed = stated.as_ref().map(|value| tables(value, "axis", log)).unwrap_or_default();
        for (axis, values) in listed {
            let values = tables_of_axis(axis, values, log);
            if values.is_empty() {
                continue;
            }
            if chosen.len().saturating_mul(values.len()) > MOST {
                let origin = &stated.as_ref().map_or(Origin::Default, |value| value.origin.clone());
                log.wrong(origin, format!("the axes make more than {MOST} configurations"));
                break;
            }
            axes.push((axis.clone(), values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()));
            chosen = chosen
                .iter()
                .flat_map(|before| values.iter().map(|(value, overlay)| before.and(axis, value, overlay)))
                .collect();
        }
        if axes.is_empty() {
            chosen[0].name = ONLY.to_owned();
        }
        let mut axes = Axes { axes, chosen };
        if let Some(skip) = tree.remove("skip") {
            axes.skip(&skip, log);
        }
        axes
    }

    fn skip(&mut self, skip: &Value, log: &mut Log) {
        let Data::List(entries) = &skip.data else {
            log.wrong(&skip.origin, format!("`skip` is {}, not a list of tables", skip.what()))
                .hint("write skip = [{ axis = \"value\", … }]");
            return;
        };
        for entry in entries {
            let Some(selection) = self.selection("skip", entry, log) else { continue };
            let before = self.chosen.len();
            self.chosen.retain(|chosen| !selection.matches(chosen));
            if self.chosen.len() == before {
                log.wrong(&entry.origin, format!("`skip` has {entry}, which leaves nothing out"));
            }
        }
        if self.chosen.is_empty() {
            log.wrong(&skip.origin, "`skip` leaves no configuration");
        }
    }

    /// Whether a `when` chooses this configuration; `None` where it says nothing sensible.
    pub(crate) fn applies(
        &self,
        path: &str,
        when: Option<&Value>,
        chosen: &Chosen,
        log: &mut Log,
    ) -> Option<bool> {
        let Some(when) = when else { return Some(true) };
        let selection = self.selection(path, when, log)?;
        if !self.chosen.iter().any(|chosen| selection.matches(chosen)) {
            log.wrong(&when.origin, format!("`{path}` is {when}, which chooses no configuration"));
            return None;
        }
        Some(selection.matches(chosen))
    }

    /// The configuration that a `relative_to` means.
    pub(crate) fn reference(
        &self,
        section: &Section,
        value: &Value,
        chosen: &Chosen,
        log: &mut Log,
    ) -> Option<String> {
        let path = section.path_of("relative_to");
        let wanted = match &value.data {
            Data::Text(name) => name.clone(),
            _ => {
                let selection = self.selection(&path, value, log)?;
                let mut axes = chosen.axes.clone();
                for (axis, value) in &mut axes {
                    if let Some((_, [other])) =
                        selection.0.iter().find(|(name, _)| name == axis).map(|(n, v)| (n, &v[..]))
                    {
                        value.clone_from(other);
                    }
                }
                axes.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("/")
            }
        };
        if wanted == chosen.name {
            log.wrong(&value.origin, format!("`{path}` compares `{wanted}` with itself"))
                .hint("let `when` leave it out");
            return None;
        }
        if self.chosen.iter().all(|chosen| chosen.name != wanted) {
            log.wrong(&value.origin, format!("`{path}`: there is no configuration `{wanted}`"));
            let names = self.chosen.iter().map(|chosen| chosen.name.as_str());
            if let Some(hint) = suggest(&wanted, names, "the configurations are") {
                log.hint(hint);
            }
            return None;
        }
        Some(wanted)
    }

    /// Reads `{ axis = "value", other = ["a", "b"] }`.
    fn selection(&self, path: &str, value: &Value, log: &mut Log) -> Option<Selection> {
        let Some(table) = value.table() else {
            log.wrong(&value.origin, format!("`{path}` is {}, not a table", value.what()))
                .hint("write { axis = \"value\" }");
            return None;
        };
        let mut selection = Selection(Vec::new());
        for (axis, wanted) in &table.0 {
            let Some((_, known)) = self.axes.iter().find(|(name, _)| name == axis) else {
                log.wrong(&wanted.origin, format!("`{path}`: there is no axis `{axis}`"));
                if let Some(hint) =
                    suggest(axis, self.axes.iter().map(|(name, _)| name.as_str()), "the axes are")
                {
                    log.hint(hint);
                }
                return None;
            };
            let words: Vec<&Value> = match &wanted.data {
                Data::List(values) => values.iter().collect(),
                _ => vec![wanted],
            };
            let mut values = Vec::new();
            for word in words {
                let text = word.to_string();
                if !known.contains(&text) {
                    log.wrong(&word.origin, format!("`{path}`: the axis `{axis}` has no value `{text}`"));
                    if let Some(hint) = suggest(&text, known.iter().map(String::as_str), "its values are") {
                        log.hint(hint);
                    }
                    return None;
                }
                values.push(text);
            }
            selection.0.push((axis.clone(), values));
        }
        Some(selection)
    }
}

impl Chosen {
    fn and(&self, axis: &str, value: &str, overlay: &Table) -> Chosen {
        let mut next = self.clone();
        next.name = if self.name.is_empty() { value.to_owned() } else { format!("{}/{value}", self.name) };
        next.axes.push((axis.to_owned(), value.to_owned()));
        next.overlays.push(overlay.clone());
        next
    }
}

/// Which values of which axes are meant; an axis that is not there may have any.
struct Selection(Vec<(String, Vec<String>)>);

impl Selection {
    fn matches(&self, chosen: &Chosen) -> bool {
        self.0.iter().all(|(axis, values)| {
            chosen.axes.iter().any(|(name, value)| name == axis && values.contains(value))
        })
    }
}

/// The tables within a table; anything else in it is wrong.
fn tables<'a>(value: &'a Value, path: &str, log: &mut Log) -> Vec<(&'a String, &'a Value)> {
    let Some(table) = value.table() else {
        log.wrong(&value.origin, format!("`{path}` is {}, not a table", value.what()));
        return Vec::new();
    };
    table.0.iter().map(|(name, value)| (name, value)).collect()
}

fn tables_of_axis(axis: &str, values: &Value, log: &mut Log) -> Vec<(String, Table)> {
    let path = format!("axis.{axis}");
    let mut found = Vec::new();
    for (name, value) in tables(values, &path, log) {
        if name.is_empty() || name.contains(['/', ',']) || name.trim() != name {
            log.wrong(&value.origin, format!("`{name}` cannot name a value of `{path}`"))
                .hint("names of configurations are made of these, with `/` between");
            continue;
        }
        let mut value = value.clone();
        let stamp = |file: &Arc<str>, line| Origin::Axis(axis.to_owned(), name.clone(), file.clone(), line);
        value.restamp(&stamp);
        match value.data {
            Data::Table(table) => found.push((name.clone(), table)),
            _ => {
                log.wrong(&value.origin, format!("`{path}.{name}` is {}, not a table", value.what()))
                    .hint(format!("write {name} = {{ scheme.kind = \"qcn\" }}, or {{}} to change nothing"));
            }
        }
    }
    if values.table().is_some_and(|table| table.0.is_empty()) {
        log.wrong(&values.origin, format!("`{path}` has no values"));
    }
    found
}
