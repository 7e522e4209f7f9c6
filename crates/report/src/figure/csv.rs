//! The numbers of a figure as a table: one row a point, base units in the header.

use super::{Body, Figure, Line};
use crate::unit::Unit;
use std::fmt::Write as _;

pub(super) fn write(figure: &Figure) -> String {
    let unit = match figure.unit {
        Unit::BitsPerSecond => "bits_per_second",
        Unit::Bytes => "bytes",
        Unit::Seconds => "seconds",
        Unit::Fraction => "fraction",
        Unit::Count => "count",
        Unit::Plain => "per_ms",
    };
    let over_time = figure.panels.iter().any(|panel| !matches!(panel.body, Body::Bars(_)));
    let mut csv = if over_time {
        format!("configuration,series,from_seconds,to_seconds,middle_{unit},low_{unit},high_{unit}\n")
    } else {
        format!("configuration,series,median_{unit},low_{unit},high_{unit}\n")
    };
    for panel in &figure.panels {
        match &panel.body {
            Body::Lines(lines) | Body::Rows(lines) => {
                lines.iter().for_each(|line| points(&mut csv, &panel.title, &line.name, line));
            }
            Body::Tree(branches) => {
                for branch in branches {
                    for (line, what) in [(&branch.congested, "congested"), (&branch.held, "held")] {
                        points(&mut csv, &panel.title, &format!("{} {what}", line.name), line);
                    }
                }
            }
            Body::Bars(groups) => {
                for (group, bar) in
                    groups.iter().flat_map(|group| group.bars.iter().map(move |bar| (group, bar)))
                {
                    let (low, high) = bar.range;
                    let _ = writeln!(
                        csv,
                        "{},{},{},{low},{high}",
                        field(&group.name),
                        field(&bar.name),
                        bar.value
                    );
                }
            }
        }
    }
    csv
}

fn points(csv: &mut String, configuration: &str, series: &str, line: &Line) {
    let label = format!("{},{}", field(configuration), field(series));
    let mut from = line.from;
    for (index, (&to, &value)) in line.times.iter().zip(&line.values).enumerate() {
        let (low, high) = line.band.as_ref().map_or((value, value), |band| (band.0[index], band.1[index]));
        let _ = writeln!(csv, "{label},{from},{to},{value},{low},{high}");
        from = to;
    }
}

/// A text as one field: quoted where a comma, a quote or a line's end would break the row.
pub(super) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
