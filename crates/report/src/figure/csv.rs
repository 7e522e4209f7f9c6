//! The numbers of a figure as a table: one row a point, base units in the header.

use super::{Body, Figure, Line};
use crate::unit::Unit;
use quell_record::claim::FigureKind;
use std::fmt::Write as _;

pub(super) fn write(figure: &Figure) -> String {
    let unit = match figure.unit {
        Unit::BitsPerSecond => "bits_per_second",
        Unit::Bytes => "bytes",
        Unit::Seconds => "seconds",
        Unit::Fraction => "fraction",
        Unit::Count => "count",
        Unit::Plain if figure.kind == FigureKind::Cnms => "per_ms",
        Unit::Plain => "number",
    };
    match figure.kind {
        FigureKind::Scatter => return dots(figure),
        FigureKind::CrossCorrelation => return lags(figure),
        _ => {}
    }
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
            // Written by themselves.
            Body::Dots(_) => {}
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

/// One row a dot.
fn dots(figure: &Figure) -> String {
    let mut csv = "configuration,series,queue_bytes,rate_bits_per_second\n".to_owned();
    for panel in &figure.panels {
        let Body::Dots(clouds) = &panel.body else { continue };
        for cloud in clouds {
            let label = format!("{},{}", field(&panel.title), field(&cloud.name));
            for (across, up) in &cloud.points {
                let _ = writeln!(csv, "{label},{across},{up}");
            }
        }
    }
    csv
}

/// One row a lag.
fn lags(figure: &Figure) -> String {
    let mut csv = "configuration,series,lag_seconds,middle,low,high\n".to_owned();
    for panel in &figure.panels {
        let Body::Lines(lines) = &panel.body else { continue };
        for line in lines {
            let label = format!("{},{}", field(&panel.title), field(&line.name));
            for (index, (lag, value)) in line.middles().zip(&line.values).enumerate() {
                let (low, high) = line.spread_at(index);
                let _ = writeln!(csv, "{label},{lag:.9},{value},{low},{high}");
            }
        }
    }
    csv
}

fn points(csv: &mut String, configuration: &str, series: &str, line: &Line) {
    let label = format!("{},{}", field(configuration), field(series));
    let mut from = line.from;
    for (index, (&to, &value)) in line.times.iter().zip(&line.values).enumerate() {
        let (low, high) = line.spread_at(index);
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
