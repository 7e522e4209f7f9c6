//! Charts in characters: dots for lines and points, a letter a cell for fields.

use super::axis::Placed;
use super::{Chart, Heat, Mark, Plot};
use crate::figure::text::dot_bit;
use std::fmt::Write as _;

const COLUMNS: usize = 60;
const ROWS: usize = 10;

pub(super) fn draw(chart: &Chart) -> String {
    let mut text = format!("{}\n", chart.title);
    for plot in &chart.plots {
        if !plot.title.is_empty() {
            let _ = writeln!(text, "  {}", plot.title);
        }
        let drawn = plot.marks.iter().find_map(|mark| match mark {
            Mark::Heat(heat) => Some(cells(plot, heat)),
            Mark::Bars(rows) => Some(bars(plot, rows)),
            _ => None,
        });
        text.push_str(&drawn.unwrap_or_else(|| dots(plot)));
    }
    text
}

/// Everything drawn as dots, eight to a character.
fn dots(plot: &Plot) -> String {
    let across = Placed::across(plot, (0.0, (COLUMNS * 2 - 1) as f64));
    let up = Placed::up(plot, ((ROWS * 4 - 1) as f64, 0.0));
    let mut grid = vec![0_u8; COLUMNS * ROWS];
    let mut dot = |x: f64, y: f64| {
        let (x, y) = (x.round() as usize, y.round() as usize);
        grid[(y / 4).min(ROWS - 1) * COLUMNS + (x / 2).min(COLUMNS - 1)] |= dot_bit(x % 2, y % 4);
    };
    for mark in &plot.marks {
        let (points, is_joined) = match mark {
            Mark::Line { points, .. } => (points, true),
            Mark::Points { points, .. } => (points, false),
            _ => continue,
        };
        let usable = points.iter().filter(|it| across.holds(it.0) && up.holds(it.1));
        let mut before: Option<(f64, f64)> = None;
        for (x, y) in usable.map(|it| (across.place(it.0), up.place(it.1))) {
            let (from_x, from_y) = before.filter(|_| is_joined).unwrap_or((x, y));
            let steps = (x - from_x).abs().max((y - from_y).abs()).ceil().max(1.0);
            for step in 0..=steps as usize {
                let share = step as f64 / steps;
                dot(from_x + (x - from_x) * share, from_y + (y - from_y) * share);
            }
            before = Some((x, y));
        }
    }
    let rows = grid.chunks(COLUMNS).map(|row| {
        let row: String =
            row.iter().map(|&bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')).collect();
        row.trim_end_matches('\u{2800}').to_owned()
    });
    let mut text = framed(plot, &rows.collect::<Vec<String>>(), (across, up));
    let names: Vec<&str> = plot
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Line { name, .. } | Mark::Points { name, .. } if !name.is_empty() => Some(name.as_str()),
            _ => None,
        })
        .collect();
    if names.len() > 1 {
        let _ = writeln!(text, "  {}", names.join(", "));
    }
    text
}

fn bars(plot: &Plot, rows: &[(String, f64)]) -> String {
    let named = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let longest = rows.iter().map(|row| row.1).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = String::new();
    for (name, value) in rows {
        let long = (value / longest * (COLUMNS - 20) as f64).round() as usize;
        let _ = writeln!(text, "  {name:>named$} ┤{} {}", "█".repeat(long), plot.across.unit.show(*value));
    }
    let _ = writeln!(text, "  {:named$} {}", "", plot.across.name);
    text
}

fn cells(plot: &Plot, heat: &Heat) -> String {
    let across = Placed::across(plot, (0.0, 1.0));
    let up = Placed::up(plot, (1.0, 0.0));
    let letter = |cell: &Option<f64>| match cell {
        Some(value) if *value > 1.0 => '░',
        Some(_) => '█',
        None => '·',
    };
    let rows = heat.cells.iter().rev().map(|row| row.iter().map(letter).collect());
    let mut text = framed(plot, &rows.collect::<Vec<String>>(), (across, up));
    let _ = writeln!(text, "  ░ {}   █ {}   · {}", heat.above, heat.below, heat.none);
    text
}

/// Rows with their axes.
fn framed(plot: &Plot, rows: &[String], (across, up): (Placed, Placed)) -> String {
    let [low, high] = up.ends();
    let margin = low.chars().count().max(high.chars().count());
    let last = rows.len().saturating_sub(1);
    let columns = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0).max(COLUMNS / 2);
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let label = match index {
            0 => high.as_str(),
            _ if index == last => low.as_str(),
            _ => "",
        };
        let _ = writeln!(text, "  {label:>margin$} ┤{row}");
    }
    let [left, right] = across.ends();
    let gap = columns.saturating_sub(left.chars().count() + right.chars().count());
    let _ = writeln!(text, "  {:margin$} └{}", "", "─".repeat(columns));
    let _ = writeln!(text, "  {:margin$}  {left}{:gap$}{right}", "", "");
    let _ = writeln!(text, "  {:margin$}  {} against {}", "", plot.up.name, plot.across.name);
    text
}
