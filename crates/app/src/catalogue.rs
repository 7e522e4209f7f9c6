//! The scenarios that come with the binary.

use quell_record::near;
use std::collections::BTreeMap;

/// Every file of `scenarios/`, by its path without the ending.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// Every file of data in `scenarios/data/`, by its path in `scenarios/`.
const DATA: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// A built-in scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn {
    /// What the user calls it: `qau/b1`.
    pub(crate) id: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
}

impl BuiltIn {
    /// The name of its file, as messages give it.
    pub(crate) fn file(&self) -> String {
        format!("{}.toml", self.id)
    }
}

/// All of them, in order.
pub(crate) fn all() -> impl Iterator<Item = BuiltIn> {
    FILES.iter().map(|&(id, text)| BuiltIn { id, text })
}

/// The one of that name.
pub(crate) fn find(id: &str) -> Option<BuiltIn> {
    all().find(|it| it.id == id)
}

/// The text of the built-in file of data of that name, such as `data/cdf/websearch_dctcp.csv`.
pub(crate) fn data(name: &str) -> Option<&'static str> {
    DATA.iter().find(|(it, _)| *it == name).map(|(_, text)| *text)
}

/// "is it `a`, `b` or `c`?" of those whose name the user may have meant; `None` where nothing is near.
pub(crate) fn did_you_mean(id: &str) -> Option<String> {
    let near: Vec<String> = near(id).into_iter().map(|it| format!("`{it}`")).collect();
    let (last, others) = near.split_last()?;
    let others = if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
    Some(format!("is it {others}{last}?"))
}

fn near(id: &str) -> Vec<&'static str> {
    let close = near::closest(id, all().map(|it| it.id));
    if !close.is_empty() {
        return close;
    }
    // Only the last part given, or only the family.
    all().map(|it| it.id).filter(|it| it.split('/').any(|part| part == id)).take(6).collect()
}

/// All of them by family, the first part of the name.
pub(crate) fn families() -> BTreeMap<&'static str, Vec<BuiltIn>> {
    let mut families: BTreeMap<&str, Vec<BuiltIn>> = BTreeMap::new();
    for it in all() {
        let family = it.id.split_once('/').map_or("", |(family, _)| family);
        families.entry(family).or_default().push(it);
    }
    families
}
