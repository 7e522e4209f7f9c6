//! `quell list`: the catalogue.

use crate::catalogue;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::results::Prose;
use crate::source::Source;
use std::fmt::Write as _;

pub(super) fn list() -> Result<Exit, Failure> {
    let paint = Paint::for_stdout();
    let width = catalogue::all().map(|it| it.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (family, scenarios) in catalogue::families() {
        let heading = if family.is_empty() { "others" } else { family };
        let _ = writeln!(text, "{}", paint.bold(heading));
        for it in scenarios {
            let title = title(it);
            let _ = writeln!(text, "  {:width$}  {title}", it.id);
        }
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("There is no built-in scenario in this build.\n\n");
    }
    text.push_str(
        "Run one with `quell run ID`, or first `quell run ID --quick`; read one with `quell show ID`.\n",
    );
    out::print(&text)?;
    Ok(Exit::Done)
}

fn title(it: catalogue::BuiltIn) -> String {
    let base = toml_string(it.text, "extends").and_then(|name| Source::built_in(it).beside(&name).ok()?);
    let prose = Prose::of(it.text, base.as_deref());
    if prose.title.is_empty() { "(no title)".to_owned() } else { prose.title }
}

fn toml_string(text: &str, key: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    Some(table.get(key)?.as_str()?.to_owned())
}
