//! The numbers of a chart as a table: one row a point or cell, in base units.

use super::{Chart, Mark};
use crate::figure::csv::field;
use std::fmt::Write as _;

pub(super) fn write(chart: &Chart) -> String {
    let mut csv = "plot,series,across,up,value\n".to_owned();
    for plot in &chart.plots {
        let title = if plot.title.is_empty() { &chart.title } else { &plot.title };
        let mut row = |series: &str, across: String, up: String, value: String| {
            let _ = writeln!(csv, "{},{},{across},{up},{value}", field(title), field(series));
        };
        for mark in &plot.marks {
            match mark {
                Mark::Line { name, points, .. } | Mark::Points { name, points, .. } => {
                    for (across, up) in points.iter().filter(|it| it.0.is_finite() && it.1.is_finite()) {
                        row(name, across.to_string(), up.to_string(), String::new());
                    }
                }
                Mark::Level { name, value } => row(name, String::new(), value.to_string(), String::new()),
                Mark::Upright { name, value } => row(name, value.to_string(), String::new(), String::new()),
                Mark::Bars(rows) => {
                    for (name, value) in rows {
                        row(name, String::new(), String::new(), value.to_string());
                    }
                }
                Mark::Heat(heat) => {
                    for (up, cells) in heat.up.iter().zip(&heat.cells) {
                        for (across, cell) in heat.across.iter().zip(cells) {
                            let value = cell.map_or_else(String::new, |it| it.to_string());
                            row("cell", across.to_string(), up.to_string(), value);
                        }
                    }
                }
            }
        }
    }
    csv
}
