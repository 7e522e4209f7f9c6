//! Figures in characters: a dot plot for one line, a row of blocks each for several.

use super::{Body, Branch, Figure, Line, Panel};
use crate::unit::Unit;
use quell_record::claim::FigureKind;
use std::fmt::Write as _;

pub(super) const COLUMNS: usize = 60;
pub(super) const ROWS: usize = 10;
/// More rows than this do not fit a summary.
const MOST_ROWS: usize = 14;
/// More fields of dots than this do not fit either.
const MOST_FIELDS: usize = 3;
/// Rows of characters of a field of dots.
const FIELD_ROWS: usize = 6;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn draw(figure: &Figure, columns: usize, rows: usize) -> String {
    let mut text = format!("{}\n", figure.title);
    match figure.panels.as_slice() {
        _ if figure.is_empty() => text.push_str("  (nothing to draw)\n"),
        // Dots of several lines cannot be told apart; rows have names.
        [Panel { body: Body::Lines(lines), .. }] if lines.len() == 1 && figure.fixed_ends().is_none() => {
            text.push_str(&dots(figure, &lines[0], columns, rows));
        }
        [Panel { body: Body::Tree(_), .. }, ..] => {
            for panel in &figure.panels {
                if let Body::Tree(branches) = &panel.body {
                    text.push_str(&tree(&panel.title, branches, columns));
                }
            }
            text.push_str("  ░ congested  ▒ held paused  █ both\n");
        }
        panels if matches!(figure.kind, FigureKind::Scatter | FigureKind::CrossCorrelation) => {
            for panel in panels.iter().take(MOST_FIELDS) {
                text.push_str(&field(figure, panel, columns));
            }
            if panels.len() > MOST_FIELDS {
                let _ = writeln!(text, "  … and {} more in the report", panels.len() - MOST_FIELDS);
            }
        }
        panels => text.push_str(&blocks(figure, panels, columns)),
    }
    text
}

/// A row for each port, further in the more queues it stands under.
fn tree(title: &str, branches: &[Branch], columns: usize) -> String {
    let mut text = if title.is_empty() { String::new() } else { format!("  {title}\n") };
    let label = |branch: &Branch| format!("{}{}", " ".repeat(branch.depth), branch.held.name);
    let shown = &branches[..branches.len().min(MOST_ROWS)];
    let margin = shown.iter().map(|branch| label(branch).chars().count()).max().unwrap_or(0);
    for branch in shown {
        let to = branch.held.times.last().copied().unwrap_or(0.0);
        let is = |line: &Line| {
            let values = resample(line, line.from, to, columns).into_iter();
            values.map(|share| share.is_some_and(|share| share > 0.1)).collect::<Vec<bool>>()
        };
        let states = is(&branch.congested).into_iter().zip(is(&branch.held));
        let drawn: String = states
            .map(|state| match state {
                (false, false) => '·',
                (true, false) => '░',
                (false, true) => '▒',
                (true, true) => '█',
            })
            .collect();
        let _ = writeln!(text, "  {:margin$} {drawn}", label(branch));
    }
    if branches.len() > shown.len() {
        let _ = writeln!(text, "  … and {} more in the report", branches.len() - shown.len());
    }
    text
}

/// A line as dots, eight to a character.
fn dots(figure: &Figure, line: &Line, columns: usize, rows: usize) -> String {
    let top = line.values.iter().copied().fold(0.0, f64::max);
    let (from, to) = (line.from, line.times.last().copied().unwrap_or(0.0));
    let mut grid = vec![0_u8; columns * rows];
    let mut before: Option<usize> = None;
    for (x, height) in resample(line, from, to, columns * 2).into_iter().enumerate() {
        let Some(height) = height else {
            before = None;
            continue;
        };
        let share = if top > 0.0 { (height / top).clamp(0.0, 1.0) } else { 0.0 };
        let y = ((1.0 - share) * (rows * 4 - 1) as f64).round() as usize;
        let (first, last) = before.map_or((y, y), |it| (it.min(y), it.max(y)));
        for dot in first..=last {
            grid[dot / 4 * columns + x / 2] |= dot_bit(x % 2, dot % 4);
        }
        before = Some(y);
    }
    let ends = [figure.unit.show(0.0), figure.unit.show(top)];
    framed(&grid, columns, &ends, &[Unit::Seconds.show(from), Unit::Seconds.show(to)])
}

/// Dots with an axis to the left and one below, both labelled at their ends.
fn framed(grid: &[u8], columns: usize, up: &[String; 2], across: &[String; 2]) -> String {
    let ([low, high], [left, right]) = (up, across);
    let margin = high.chars().count().max(low.chars().count());
    let last = grid.len() / columns.max(1);
    let mut text = String::new();
    for (row, cells) in grid.chunks(columns).enumerate() {
        let label = match row {
            0 => high.as_str(),
            _ if row + 1 == last => low.as_str(),
            _ => "",
        };
        let cells: String =
            cells.iter().map(|&bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')).collect();
        let _ = writeln!(text, "{label:>margin$} ┤{}", cells.trim_end_matches('\u{2800}'));
    }
    let gap = columns.saturating_sub(left.chars().count() + right.chars().count());
    let _ = writeln!(text, "{:margin$} └{}", "", "─".repeat(columns));
    let _ = writeln!(text, "{:margin$}  {left}{:gap$}{right}", "", "");
    text
}

/// Dots by two values, or values over lags, with both axes named.
fn field(figure: &Figure, panel: &Panel, columns: usize) -> String {
    let points: Vec<(f64, f64)> = match &panel.body {
        Body::Dots(clouds) => clouds.iter().flat_map(|cloud| cloud.points.iter().copied()).collect(),
        Body::Lines(lines) => {
            lines.iter().flat_map(|line| line.middles().zip(line.values.iter().copied())).collect()
        }
        _ => Vec::new(),
    };
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let left = points.iter().map(|it| it.0).fold(0.0, f64::min);
    let (right, (low, high)) = (most(|it| it.0), figure.fixed_ends().unwrap_or((0.0, most(|it| it.1))));
    let share = |value: f64, from: f64, to: f64| {
        if to > from { ((value - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 }
    };
    let mut grid = vec![0_u8; columns * FIELD_ROWS];
    for (x, y) in &points {
        let across = (share(*x, left, right) * (columns * 2 - 1) as f64).round() as usize;
        let down = ((1.0 - share(*y, low, high)) * (FIELD_ROWS * 4 - 1) as f64).round() as usize;
        grid[down / 4 * columns + across / 2] |= dot_bit(across % 2, down % 4);
    }
    let (unit, (name, of)) = (figure.unit, figure.across());
    let title = if panel.title.is_empty() { String::new() } else { format!("  {}\n", panel.title) };
    let across = [of.show(left), format!("{} ({name})", of.show(right))];
    title + &framed(&grid, columns, &[unit.show(low), unit.show(high)], &across)
}

/// The bit of a braille character for a dot of its two columns and four rows.
pub(super) fn dot_bit(column: usize, row: usize) -> u8 {
    const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    BITS[column][row]
}

/// One row of blocks for each line of each panel, or one bar for each bar, all on one scale.
fn blocks(figure: &Figure, panels: &[Panel], columns: usize) -> String {
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    let mut bars = false;
    for panel in panels {
        match &panel.body {
            Body::Lines(lines) | Body::Rows(lines) => {
                let to = lines.iter().filter_map(|line| line.times.last()).copied().fold(0.0, f64::max);
                for line in lines {
                    let name = match (panel.title.as_str(), lines.len()) {
                        ("", _) => line.name.clone(),
                        (title, 1) => title.to_owned(),
                        (title, _) => format!("{title} {}", line.name),
                    };
                    let values = resample(line, line.from, to, columns);
                    rows.push((name, values.into_iter().map(|it| it.unwrap_or(0.0)).collect()));
                }
            }
            // Drawn by itself.
            Body::Tree(_) | Body::Dots(_) => {}
            Body::Bars(groups) => {
                bars = true;
                for group in groups {
                    rows.extend(
                        group
                            .bars
                            .iter()
                            .map(|bar| (format!("{} {}", group.name, bar.name), vec![bar.value])),
                    );
                }
            }
        }
    }
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let top = rows.iter().flat_map(|row| &row.1).copied().fold(0.0, f64::max);
    let margin = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, values) in &rows {
        let share = |value: f64| if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
        let most = values.iter().copied().fold(0.0, f64::max);
        let drawn: String = if bars {
            "█".repeat((share(most) * columns as f64).round() as usize)
        } else {
            values.iter().map(|&value| block(share(value))).collect()
        };
        let label = if bars { figure.unit.show(most) } else { format!("max {}", figure.unit.show(most)) };
        let _ = writeln!(text, "  {name:margin$} {drawn} {label}");
    }
    if left_out > 0 {
        let _ = writeln!(text, "  … and {left_out} more in the report");
    }
    text
}

fn block(share: f64) -> char {
    if share <= 0.0 {
        return ' ';
    }
    BLOCKS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1]
}

/// The line at `points` equal steps of time: the mean of the intervals that end in a step, or else the value
/// of the interval that spans it; none beyond its ends.
fn resample(line: &Line, from: f64, to: f64, points: usize) -> Vec<Option<f64>> {
    let step = (to - from) / points as f64;
    (0..points)
        .map(|index| {
            let (begin, end) = (from + step * index as f64, from + step * (index + 1) as f64);
            let first = line.times.partition_point(|time| *time <= begin);
            let last = line.times.partition_point(|time| *time <= end).max(first + 1);
            if begin < line.from - step || first >= line.values.len() {
                return None;
            }
            let values = &line.values[first..last.min(line.values.len())];
            crate::metric::stats::mean(values)
        })
        .collect()
}
