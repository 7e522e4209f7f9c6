//! Charts as vector pictures.

use super::axis::Placed;
use super::{Chart, Heat, Mark, Plot};
use crate::figure::svg::{BODY, COLOURS, SMALL, Svg, TICK, Text, WIDTH, dash, named, path, shortened, width};
use std::fmt::Write as _;

const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const HEIGHT: f64 = 220.0;
const LEVEL: (&str, &str) = ("#555", "6 3");
const ABOVE: &str = COLOURS[0];
const BELOW: &str = COLOURS[1];
const NONE: &str = "#bbb";

pub(super) fn draw(chart: &Chart) -> String {
    let mut svg = Svg::default();
    let mut top = draw_heading(&mut svg, chart);
    for plot in &chart.plots {
        top = draw_plot(&mut svg, plot, top);
    }
    let bottom = draw_legend(&mut svg, chart, top);
    svg.finish(&chart.title, bottom)
}

/// What the chart shows and how to read it, because its file stands alone; returns where the plots may begin.
fn draw_heading(svg: &mut Svg, chart: &Chart) -> f64 {
    let room = WIDTH - LEFT - RIGHT;
    let mut y = 20.0;
    svg.text(LEFT, y, &shortened(&chart.title, room, BODY), &Text { bold: true, ..Text::body() });
    for line in wrapped(&chart.caption, room) {
        y += SMALL + 4.0;
        svg.text(LEFT, y, &line, &Text::small());
    }
    y + 8.0
}

/// A text in lines that fit, broken between words.
fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, SMALL) + width(word, SMALL) + SMALL <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Draws one plot from `top` on; returns where the next may begin.
fn draw_plot(svg: &mut Svg, plot: &Plot, top: f64) -> f64 {
    let y = top + if plot.title.is_empty() { 6.0 } else { 20.0 };
    if let [Mark::Bars(rows)] = &plot.marks[..] {
        return draw_bars(svg, plot, rows, y);
    }
    let (right, floor) = (WIDTH - RIGHT, y + HEIGHT);
    let across = Placed::across(plot, (LEFT, right));
    let up = Placed::up(plot, (floor, y));
    if !plot.title.is_empty() {
        let title = shortened(&plot.title, right - LEFT, BODY);
        svg.text(LEFT, y - 7.0, &title, &Text { bold: true, ..Text::body() });
    }
    for mark in &plot.marks {
        if let Mark::Heat(heat) = mark {
            draw_heat(svg, heat, (across, up), (LEFT, right, y, floor));
        }
    }
    for (level, label) in up.ticks(32.0) {
        svg.line((LEFT, level), (right, level), "#e6e6e6", 0.8, None);
        svg.line((LEFT - TICK, level), (LEFT, level), "#000", 1.0, None);
        let style = Text { anchor: "end", ..Text::small() };
        svg.text(LEFT - TICK - 3.0, level + SMALL * 0.35, &label, &style);
    }
    for (place, label) in across.ticks(64.0) {
        svg.line((place, floor), (place, floor + TICK), "#000", 1.0, None);
        let style = Text { anchor: "middle", ..Text::small() };
        svg.text(place, floor + TICK + SMALL + 1.0, &label, &style);
    }
    svg.line((LEFT, y), (LEFT, floor), "#000", 1.0, None);
    svg.line((LEFT, floor), (right, floor), "#000", 1.0, None);
    for mark in &plot.marks {
        draw_mark(svg, mark, (across, up), (LEFT, right, y, floor));
    }
    let (x, middle) = (14.0, f64::midpoint(y, floor));
    let turn = format!(r#" transform="rotate(-90 {x:.1} {middle:.1})""#);
    let up_name = named(&plot.up.name, up.unit.name);
    svg.text(x, middle, &up_name, &Text { anchor: "middle", turn, ..Text::body() });
    let style = Text { anchor: "middle", ..Text::body() };
    svg.text(f64::midpoint(LEFT, right), floor + 32.0, &named(&plot.across.name, across.unit.name), &style);
    floor + 42.0
}

/// Bars with their names to the left and their values to the right.
fn draw_bars(svg: &mut Svg, plot: &Plot, rows: &[(String, f64)], y: f64) -> f64 {
    const TALL: f64 = 17.0;
    let left = LEFT + rows.iter().map(|row| width(&row.0, SMALL)).fold(0.0, f64::max);
    let longest = rows.iter().map(|row| row.1).fold(f64::MIN_POSITIVE, f64::max);
    let right = WIDTH - RIGHT - 60.0;
    for (place, (name, value)) in rows.iter().enumerate() {
        let top = y + TALL * place as f64;
        let (long, base) = ((right - left) * value / longest, top + TALL * 0.7);
        let _ = writeln!(
            svg.body,
            r#"<rect x="{left:.1}" y="{:.1}" width="{long:.1}" height="{:.1}" fill="{}" fill-opacity="0.85"/>"#,
            top + 1.5,
            TALL - 3.0,
            COLOURS[0]
        );
        svg.text(left - 6.0, base, name, &Text { anchor: "end", ..Text::small() });
        svg.text(left + long + 5.0, base, &plot.across.unit.show(*value), &Text::small());
    }
    let floor = y + TALL * rows.len() as f64;
    svg.line((left, y), (left, floor), "#000", 1.0, None);
    svg.text(left, floor + 16.0, &plot.across.name, &Text::body());
    floor + 26.0
}

fn draw_mark(
    svg: &mut Svg,
    mark: &Mark,
    (across, up): (Placed, Placed),
    (left, right, y, floor): (f64, f64, f64, f64),
) {
    let placed = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let usable = points.iter().filter(|it| across.holds(it.0) && up.holds(it.1));
        usable.map(|it| (across.place(it.0), up.place(it.1))).collect()
    };
    match mark {
        Mark::Line { points, colour, dashed, .. } => {
            let dash =
                dash(*colour, *dashed).map_or_else(String::new, |it| format!(r#" stroke-dasharray="{it}""#));
            let _ = writeln!(
                svg.body,
                r#"<path d="{}" fill="none" stroke="{}" stroke-width="1.4" stroke-linejoin="round"{dash}/>"#,
                path(placed(points).into_iter()),
                COLOURS[colour % COLOURS.len()]
            );
        }
        Mark::Points { points, colour, .. } => {
            for (x, y) in placed(points) {
                let _ = writeln!(
                    svg.body,
                    r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.6" fill="{}" fill-opacity="0.8"/>"#,
                    COLOURS[colour % COLOURS.len()]
                );
            }
        }
        Mark::Level { value, .. } if up.holds(*value) => {
            let level = up.place(*value);
            svg.line((left, level), (right, level), LEVEL.0, 1.0, Some(LEVEL.1));
        }
        Mark::Upright { value, .. } if across.holds(*value) => {
            let place = across.place(*value);
            svg.line((place, y), (place, floor), LEVEL.0, 1.0, Some(LEVEL.1));
        }
        Mark::Level { .. } | Mark::Upright { .. } | Mark::Heat(_) | Mark::Bars(_) => {}
    }
}

fn draw_heat(
    svg: &mut Svg,
    heat: &Heat,
    (across, up): (Placed, Placed),
    (left, right, y, floor): (f64, f64, f64, f64),
) {
    let columns = edges(&heat.across, |it| across.place(it), (left, right));
    let rows = edges(&heat.up, |it| up.place(it), (floor, y));
    for (cells, row) in heat.cells.iter().zip(rows.windows(2)) {
        // Neighbours of one shade are one rectangle.
        let shades: Vec<String> = cells.iter().map(|cell| shade(*cell)).collect();
        let mut first = 0;
        for part in shades.chunk_by(|a, b| a == b) {
            let (from, to) = (columns[first], columns[first + part.len()]);
            let (top, tall, wide) = (row[1], row[0] - row[1], to - from);
            let _ = writeln!(
                svg.body,
                r#"<rect x="{from:.1}" y="{top:.1}" width="{wide:.1}" height="{tall:.1}" {}/>"#,
                part[0]
            );
            first += part.len();
        }
    }
}

/// Halfway between the places of neighbours, and the ends of the axis.
fn edges(values: &[f64], place: impl Fn(f64) -> f64, (first, last): (f64, f64)) -> Vec<f64> {
    let places: Vec<f64> = values.iter().map(|it| place(*it)).collect();
    let between = places.windows(2).map(|it| f64::midpoint(it[0], it[1]));
    // Whole pixels, or neighbours overlap by a shade.
    std::iter::once(first).chain(between).chain([last]).map(f64::round).collect()
}

/// The further from one, the stronger; from a factor of four on, full. Crisp, or neighbours show a seam.
fn shade(cell: Option<f64>) -> String {
    let (colour, opacity) = match cell {
        None => (NONE, 0.5),
        Some(value) => {
            let far = (value.max(1e-9).log2().abs() / 2.0).min(1.0);
            (if value > 1.0 { ABOVE } else { BELOW }, 0.15 + 0.65 * far)
        }
    };
    format!(r#"fill="{colour}" fill-opacity="{opacity:.2}" shape-rendering="crispEdges""#)
}

/// What stands before a name in the legend.
#[derive(Clone, Copy)]
enum Sign {
    Line(&'static str, Option<&'static str>),
    Dot(&'static str),
    Box(&'static str),
}

/// The names of a mark, each with its sign.
fn signs(mark: &Mark) -> Vec<(&str, Sign)> {
    match mark {
        Mark::Line { name, colour, dashed, .. } => {
            vec![(name, Sign::Line(COLOURS[colour % COLOURS.len()], dash(*colour, *dashed)))]
        }
        Mark::Points { name, colour, .. } => vec![(name, Sign::Dot(COLOURS[colour % COLOURS.len()]))],
        Mark::Level { name, .. } | Mark::Upright { name, .. } => {
            vec![(name, Sign::Line(LEVEL.0, Some(LEVEL.1)))]
        }
        Mark::Bars(_) => Vec::new(),
        Mark::Heat(heat) => {
            let mut signs = vec![(heat.above.as_str(), Sign::Box(ABOVE)), (&heat.below, Sign::Box(BELOW))];
            if heat.cells.iter().flatten().any(Option::is_none) {
                signs.push((&heat.none, Sign::Box(NONE)));
            }
            signs
        }
    }
}

fn draw_legend(svg: &mut Svg, chart: &Chart, top: f64) -> f64 {
    let mut entries: Vec<(&str, Sign)> = Vec::new();
    for (name, sign) in chart.plots.iter().flat_map(|plot| &plot.marks).flat_map(signs) {
        if !name.is_empty() && !entries.iter().any(|it| it.0 == name) {
            entries.push((name, sign));
        }
    }
    let (mut x, mut y) = (LEFT, top + 10.0);
    for (name, sign) in &entries {
        let text = shortened(name, WIDTH - LEFT - 50.0, SMALL);
        let needed = 26.0 + width(&text, SMALL) + 16.0;
        if x > LEFT && x + needed > WIDTH {
            (x, y) = (LEFT, y + 16.0);
        }
        let middle = y - SMALL * 0.35;
        match sign {
            Sign::Line(colour, dash) => svg.line((x, middle), (x + 20.0, middle), colour, 1.6, *dash),
            Sign::Dot(colour) => {
                let centre = x + 10.0;
                let _ = writeln!(
                    svg.body,
                    r#"<circle cx="{centre:.1}" cy="{middle:.1}" r="2.6" fill="{colour}"/>"#
                );
            }
            Sign::Box(colour) => {
                let (left, top) = (x + 8.0, middle - 5.0);
                let _ = writeln!(
                    svg.body,
                    r#"<rect x="{left:.1}" y="{top:.1}" width="10" height="10" fill="{colour}" fill-opacity="0.7"/>"#
                );
            }
        }
        svg.text(x + 26.0, y, &text, &Text::small());
        x += needed;
    }
    if entries.is_empty() { top } else { y + 10.0 }
}
