//! Reports for the terminal: a table of claims, and one screen of an experiment.

use super::compare::{claim_differences, number_differences, verdict};
use crate::judge::Verdict;
use crate::report::{Report, Tally};
use std::fmt::Write as _;

/// How a terminal wants its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether marks carry colours.
    pub colour: bool,
    /// Whether a claim that holds in many configurations takes one line instead of one each.
    pub brief: bool,
}

/// With more configurations than this, a brief table sums up those where a claim holds.
const FEW: usize = 3;
/// More figures than this do not fit a screen.
const MOST_FIGURES: usize = 3;

/// The claims as an aligned table, and a line that counts them.
pub fn claims_table(verdicts: &[Verdict], style: Style) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut rows: Vec<Row> = Vec::new();
    for group in verdicts.chunk_by(|a, b| a.claim == b.claim && a.line == b.line) {
        match group {
            [one] => rows.push(Row::of(one, &one.claim, style)),
            several => {
                rows.push(Row::heading(&several[0].claim));
                rows.extend(group_rows(several, style));
            }
        }
    }
    let columns = ["", "claim", "measured", "wanted", "over runs"];
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| !row.is_heading).map(|row| row.cells[column].chars().count());
        cells.max().unwrap_or(0).max(columns[column].chars().count())
    };
    let widths = [1, width(1), width(2), width(3), width(4)];
    let mut text = String::new();
    if rows.iter().any(|row| !row.is_heading) {
        let head = format!(
            "{:w0$}  {:w1$}  {:>w2$}  {:w3$}  {}",
            columns[0],
            columns[1],
            columns[2],
            columns[3],
            columns[4],
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3],
        );
        let _ = writeln!(text, "{}", head.trim_end());
    }
    for row in &rows {
        row.write(&mut text, widths, style);
    }
    let tally = Tally::of(verdicts);
    let line = tally.in_words();
    let _ = writeln!(text, "\n{}", painted(&line, if tally.failing > 0 { RED } else { GREEN }, style));
    text
}

/// One screen: what it is, its claims, and its figures in characters.
pub fn summary(report: &Report, style: Style) -> String {
    let mut text = format!("{}\n", report.title);
    if !report.shows.is_empty() {
        let _ = writeln!(text, "after {}", report.shows);
    }
    if !report.complete {
        text.push_str("interrupted: what follows rests on the runs that were finished\n");
    }
    text.push('\n');
    text.push_str(&claims_table(&report.verdicts, Style { brief: true, ..style }));
    for figure in report.figures.iter().take(MOST_FIGURES) {
        text.push('\n');
        text.push_str(&figure.to_text());
    }
    if report.figures.len() > MOST_FIGURES {
        let _ = writeln!(text, "\n{} more figures are in the report", report.figures.len() - MOST_FIGURES);
    }
    text
}

/// What differs between two experiments, as aligned tables.
pub fn comparison(a: &Report, b: &Report, names: [&str; 2], style: Style) -> String {
    let claims = claim_differences(a, b);
    let mut rows = vec![[String::new(), names[0].to_owned(), names[1].to_owned(), "change".to_owned()]];
    for row in &claims {
        let side = |index: usize| format!("{} {}", row.sides[index].mark, row.sides[index].measured);
        let name = format!("{} ({})", row.claim, row.configuration);
        rows.push([name, side(0), side(1), row.change.clone()]);
    }
    for row in number_differences(a, b) {
        let [before, after] = row.values;
        rows.push([format!("{} ({})", row.name, row.configuration), before, after, row.change]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for [name, before, after, change] in &rows {
        let line = format!(
            "{name:w0$}  {before:>w1$}  {after:>w2$}  {change:>w3$}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3]
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let line = verdict(&claims);
    let _ = writeln!(text, "\n{}", painted(&line, BOLD, style));
    text
}

struct Row {
    cells: [String; 5],
    /// What follows on a line of its own: why there is no number, or what decided.
    detail: Option<String>,
    is_heading: bool,
}

impl Row {
    fn heading(text: &str) -> Row {
        let cells = [String::new(), text.to_owned(), String::new(), String::new(), String::new()];
        Row { cells, detail: None, is_heading: true }
    }

    fn of(verdict: &Verdict, name: &str, style: Style) -> Row {
        let runs = match (verdict.shown_spread().as_str(), verdict.runs()) {
            (_, 0) => String::new(),
            ("", runs) => format!("{runs} run{}", if runs == 1 { "" } else { "s" }),
            (spread, runs) => format!("{spread} ({runs})"),
        };
        let decided = verdict.decided_by.as_ref().filter(|_| verdict.holds == Some(false) || !style.brief);
        let detail = verdict.problem.clone().or_else(|| decided.map(|by| format!("decided by {by}")));
        let mark = super::html::state_of(verdict.holds).1.to_owned();
        let cells = [mark, name.to_owned(), verdict.shown.clone(), verdict.wanted.clone(), runs];
        Row { cells, detail, is_heading: false }
    }

    fn write(&self, text: &mut String, widths: [usize; 5], style: Style) {
        let [mark, name, measured, wanted, runs] = &self.cells;
        if self.is_heading {
            let _ = writeln!(text, "{}", painted(name, BOLD, style));
            return;
        }
        let colour = match mark.as_str() {
            "✓" => GREEN,
            "✗" => RED,
            _ => "",
        };
        let line = format!(
            "{}  {name:w1$}  {measured:>w2$}  {wanted:w3$}  {runs}",
            painted(mark, colour, style),
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3]
        );
        let _ = writeln!(text, "{}", line.trim_end());
        if let Some(detail) = &self.detail {
            let _ = writeln!(text, "     {detail}");
        }
    }
}

/// The rows of a claim on several configurations.
fn group_rows(group: &[Verdict], style: Style) -> Vec<Row> {
    let named = |verdict: &Verdict| Row::of(verdict, &format!("  {}", verdict.configuration), style);
    let holding: Vec<&Verdict> = group.iter().filter(|it| it.holds == Some(true)).collect();
    if !style.brief || holding.len() <= FEW {
        return group.iter().map(named).collect();
    }
    let mut rows: Vec<Row> = group.iter().filter(|it| it.holds != Some(true)).map(named).collect();
    let measured: Vec<f64> = holding.iter().filter_map(|it| it.measured).collect();
    let range = crate::metric::stats::range(&measured)
        .map_or_else(String::new, |(low, high)| crate::judge::range_in_words(holding[0].unit, low, high));
    let wanted = &holding[0].wanted;
    let wanted = if holding.iter().all(|it| it.wanted == *wanted) { wanted.clone() } else { String::new() };
    let name = if holding.len() == group.len() {
        format!("  all {} configurations", holding.len())
    } else {
        format!("  {} other configurations", holding.len())
    };
    rows.push(Row {
        cells: ["✓".to_owned(), name, range, wanted, String::new()],
        detail: None,
        is_heading: false,
    });
    rows
}

pub(super) const GREEN: &str = "32";
pub(super) const RED: &str = "31";
pub(super) const BOLD: &str = "1";

pub(super) fn painted(text: &str, code: &str, style: Style) -> String {
    if style.colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
