//! Figures as vector pictures, in our own few marks.
//!
//! `kuva` was tried first. Its panels of a grid do not come out on one scale when told to share it (a panel
//! without labels showed another range than its neighbour), panels differ in size, the legend is one tall
//! column, pause rows have no mark, and coordinates carry fifteen digits. What we need is small: linear axes,
//! lines with bands, shaded rows, bars with whiskers, and one legend below everything.
//!
//! White ground, ticks out, units on the axes, the colours of Okabe and Ito, nothing over the data.

use super::scale::{Scale, round_up};
use super::{Bar, Body, Branch, Cloud, Figure, Group, Line, Panel};
use crate::metric::stats;
use crate::unit::{Scaled, Unit};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

/// Okabe and Ito's colours in the order that keeps neighbours apart; yellow, unreadable on white, left out.
pub(super) const COLOURS: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"];
pub(super) const WIDTH: f64 = 760.0;
pub(super) const TICK: f64 = 4.0;
pub(super) const SMALL: f64 = 10.0;
pub(super) const BODY: f64 = 11.0;
const ROW: f64 = 13.0;
/// Intervals nearer to each other than this many pixels are drawn as one.
const GRAIN: f64 = 1.5;
/// How much further in a port of a tree stands than the one it stands under.
const INDENT: f64 = 10.0;
const CONGESTED: &str = COLOURS[1];
const HELD: &str = COLOURS[0];

pub(super) fn draw(figure: &Figure) -> String {
    let layout = Layout::of(figure);
    let mut svg = Svg::default();
    for (index, panel) in figure.panels.iter().enumerate() {
        layout.draw_panel(&mut svg, figure, index, panel);
    }
    let bottom = layout.draw_axis_names(&mut svg, figure);
    let height = draw_legend(&mut svg, figure, &layout, bottom);
    svg.finish(&figure.title, height)
}

/// Where everything goes.
struct Layout {
    columns: usize,
    left: f64,
    gap: f64,
    plot_width: f64,
    /// Top and height of each panel's plot.
    boxes: Vec<(f64, f64)>,
    bottom: f64,
    /// Where the vertical axis of each panel begins and ends, in its unit.
    spans: Vec<(f64, f64)>,
    /// The unit of each panel; the same for all unless axes are their own.
    units: Vec<Scaled>,
    /// The unit of the horizontal axis.
    across: Scaled,
    common: bool,
    /// The most groups of bars that a panel has.
    most_groups: usize,
    /// The bars that have the same place in every group; none if each group has its own.
    bar_names: Vec<String>,
}

impl Layout {
    fn of(figure: &Figure) -> Layout {
        let count = figure.panels.len();
        let has_rows = figure.panels.iter().any(|panel| matches!(panel.body, Body::Rows(_) | Body::Tree(_)));
        // The rows of all trees of a figure are the same, so that the first column names them for all.
        let has_trees = figure.panels.iter().any(|panel| matches!(panel.body, Body::Tree(_)));
        let has_bars = figure.panels.iter().any(|panel| matches!(panel.body, Body::Bars(_)));
        let columns = match count {
            _ if has_bars => 1,
            0 | 1 => 1,
            2 | 4 => 2,
            _ if has_rows => 2,
            _ => 3,
        };
        let tops: Vec<f64> = figure.panels.iter().map(Panel::top).collect();
        let most = tops.iter().copied().fold(0.0, f64::max);
        let common = figure.has_common_scale();
        let is_alike = |a: &Panel, b: &Panel| has_bars && a.title == b.title;
        let of_alike = |own: &Panel| {
            let alike = figure.panels.iter().zip(&tops).filter(|(panel, _)| is_alike(panel, own));
            alike.map(|(_, top)| *top).fold(own.top(), f64::max)
        };
        let tops: Vec<f64> =
            figure.panels.iter().map(|panel| if common { most } else { of_alike(panel) }).collect();
        let units: Vec<Scaled> = tops.iter().map(|top| figure.unit.scale_for(*top)).collect();
        let span = |(top, unit): (&f64, &Scaled)| {
            figure.fixed_ends().unwrap_or_else(|| (0.0, round_up(top / unit.divisor)))
        };
        let spans: Vec<(f64, f64)> = tops.iter().zip(&units).map(span).collect();
        let labels = if has_rows {
            let names = lines_in(figure).map(|line| width(&line.name, SMALL));
            names.chain(branches_in(figure).map(label_width)).fold(0.0, f64::max)
        } else {
            let ticks = spans.iter().flat_map(|span| Scale::new(*span, (0.0, 150.0)).ticks(32.0));
            ticks.map(|(_, label)| width(&label, SMALL)).fold(0.0, f64::max)
        };
        let left = labels + TICK + if has_rows { 10.0 } else { 26.0 };
        let gap = if has_trees || common && !has_rows { 28.0 } else { labels + TICK + 14.0 };
        let plot_width = (WIDTH - left - 12.0 - gap * (columns as f64 - 1.0)) / columns as f64;
        let height_of = |panel: &Panel| match &panel.body {
            Body::Rows(rows) => ROW * rows.len().max(1) as f64,
            Body::Tree(branches) => ROW * branches.len().max(1) as f64,
            Body::Bars(_) => 200.0,
            Body::Lines(_) | Body::Dots(_) => [0.0, 250.0, 180.0, 140.0][columns],
        };
        let mut layout = Layout {
            columns,
            left,
            gap,
            plot_width,
            boxes: Vec::new(),
            bottom: 6.0,
            spans,
            units,
            across: across_unit(figure),
            common,
            most_groups: figure.panels.iter().map(|panel| panel.body.groups()).max().unwrap_or(0),
            bar_names: Layout::bar_names(figure),
        };
        for row in figure.panels.chunks(columns) {
            let title = if row.iter().any(|panel| !panel.title.is_empty()) { 18.0 } else { 4.0 };
            let below = match &row[0].body {
                Body::Bars(groups) => layout.group_labels(groups).height,
                _ => 0.0,
            };
            let height = row.iter().map(height_of).fold(0.0, f64::max);
            for panel in row {
                layout.boxes.push((layout.bottom + title, height_of(panel)));
            }
            let room = if columns == 1 || !common || has_rows { 26.0 } else { 12.0 };
            layout.bottom += title + height + below.max(room);
        }
        layout
    }

    fn has_one_unit(&self) -> bool {
        self.units.windows(2).all(|pair| pair[0].name == pair[1].name)
    }

    fn x_of(&self, index: usize) -> f64 {
        self.left + (index % self.columns) as f64 * (self.plot_width + self.gap)
    }

    fn draw_panel(&self, svg: &mut Svg, figure: &Figure, index: usize, panel: &Panel) {
        let (y, height) = self.boxes[index];
        let x = self.x_of(index);
        let unit = self.units[index];
        if !panel.title.is_empty() {
            // Where units differ, the name of the axis cannot say them.
            let suffix = if self.has_one_unit() { String::new() } else { format!(" ({})", unit.name) };
            let title = shortened(&panel.title, self.plot_width - width(&suffix, BODY), BODY);
            svg.text(x, y - 6.0, &format!("{title}{suffix}"), &Text { bold: true, ..Text::body() });
        }
        let (from, to) = self.spans[index];
        let values = Scale::new((from, to), (y + height, y));
        let vertical = Scale::new((from * unit.divisor, to * unit.divisor), (y + height, y));
        let is_last = index + self.columns >= figure.panels.len();
        match &panel.body {
            Body::Lines(lines) => {
                let across = self.time_scale(figure, x);
                let labelled = index.is_multiple_of(self.columns) || !self.common;
                self.draw_values(svg, (x, y, height), values, labelled);
                self.draw_across(svg, (x, y, height), across, is_last || !self.common);
                self.draw_instants(svg, panel, across, (y, height));
                for reference in &panel.references {
                    let level = vertical.place(reference.value);
                    svg.line((x, level), (x + self.plot_width, level), "#555", 1.0, Some("6 3"));
                }
                if panel.has_bands() {
                    // Bands over each other turn grey; the more there are, the lighter each.
                    let opacity = [0.2, 0.2, 0.2, 0.14][lines.len()];
                    for line in lines {
                        self.draw_band(svg, line, opacity, (across, vertical));
                    }
                }
                for line in lines {
                    self.draw_line(svg, line, across, vertical);
                }
            }
            Body::Dots(clouds) => {
                let across = self.dot_scale(figure, index, x);
                let labelled = index.is_multiple_of(self.columns) || !self.common;
                self.draw_values(svg, (x, y, height), values, labelled);
                self.draw_across(svg, (x, y, height), across, is_last || !self.common);
                for cloud in clouds {
                    self.draw_cloud(svg, cloud, across, vertical);
                }
            }
            Body::Rows(rows) => {
                let across = self.time_scale(figure, x);
                self.draw_across(svg, (x, y, height), across, true);
                self.draw_instants(svg, panel, across, (y, height));
                for (place, row) in rows.iter().enumerate() {
                    self.draw_row(svg, row, across, (x, y + ROW * place as f64));
                }
            }
            Body::Tree(branches) => {
                let across = self.time_scale(figure, x);
                self.draw_across(svg, (x, y, height), across, true);
                let is_named = index.is_multiple_of(self.columns);
                for (place, branch) in branches.iter().enumerate() {
                    let top = y + ROW * place as f64;
                    if is_named {
                        self.name_branch(svg, branches, place, (self.left, y));
                    }
                    svg.line((x, top + ROW), (x + self.plot_width, top + ROW), "#e6e6e6", 0.6, None);
                    let lane = (ROW - 3.0) / 2.0;
                    self.draw_shades(svg, &branch.congested, across, (top + 1.5, lane), CONGESTED);
                    self.draw_shades(svg, &branch.held, across, (top + 1.5 + lane, lane), HELD);
                }
                self.draw_instants(svg, panel, across, (y, height));
            }
            Body::Bars(groups) => {
                self.draw_values(svg, (x, y, height), values, true);
                svg.line((x, y + height), (x + self.plot_width, y + height), "#000", 1.0, None);
                for reference in &panel.references {
                    let level = vertical.place(reference.value);
                    svg.line((x, level), (x + self.plot_width, level), "#555", 1.0, Some("6 3"));
                }
                self.draw_groups(svg, groups, (x, y + height), vertical);
            }
        }
    }

    /// Every panel of a figure spans the same time.
    fn time_scale(&self, figure: &Figure, x: f64) -> Scale {
        let (from, to) = time_range(figure);
        Scale::new((from / self.across.divisor, to / self.across.divisor), (x, x + self.plot_width))
    }

    /// Panels of dots share their horizontal axis if they share the vertical one. It begins at zero, unless that would
    /// press all dots into its right half.
    fn dot_scale(&self, figure: &Figure, index: usize, x: f64) -> Scale {
        let panels = if self.common { &figure.panels[..] } else { &figure.panels[index..=index] };
        let places = || panels.iter().flat_map(Panel::places).map(|it| it / self.across.divisor);
        let (least, most) = (places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max));
        let span = if least > most / 2.0 && least < most {
            let step = round_up((most - least) / 8.0);
            ((least / step - 0.5).floor() * step, (most / step + 0.5).ceil() * step)
        } else {
            (0.0, round_up(most))
        };
        Scale::new(span, (x, x + self.plot_width))
    }

    fn draw_values(&self, svg: &mut Svg, (x, y, height): (f64, f64, f64), scale: Scale, labelled: bool) {
        for (value, label) in scale.ticks(32.0) {
            let level = scale.place(value);
            svg.line((x, level), (x + self.plot_width, level), "#e6e6e6", 0.8, None);
            svg.line((x - TICK, level), (x, level), "#000", 1.0, None);
            if labelled {
                let style = Text { anchor: "end", ..Text::small() };
                svg.text(x - TICK - 3.0, level + SMALL * 0.35, &label, &style);
            }
        }
        svg.line((x, y), (x, y + height), "#000", 1.0, None);
    }

    fn draw_across(&self, svg: &mut Svg, (x, y, height): (f64, f64, f64), scale: Scale, labelled: bool) {
        let floor = y + height;
        svg.line((x, floor), (x + self.plot_width, floor), "#000", 1.0, None);
        for (value, label) in scale.ticks(50.0) {
            let place = scale.place(value);
            svg.line((place, floor), (place, floor + TICK), "#000", 1.0, None);
            if labelled {
                let style = Text { anchor: "middle", ..Text::small() };
                svg.text(place, floor + TICK + SMALL + 1.0, &label, &style);
            }
        }
    }

    fn draw_instants(&self, svg: &mut Svg, panel: &Panel, across: Scale, (y, height): (f64, f64)) {
        for instant in &panel.instants {
            let place = across.place(instant / self.across.divisor);
            svg.line((place, y), (place, y + height), "#888", 0.9, Some("1.5 2.5"));
        }
    }

    fn draw_band(&self, svg: &mut Svg, line: &Line, opacity: f64, (across, vertical): (Scale, Scale)) {
        let Some((low, high)) = &line.band else { return };
        let level = |value: f64| vertical.place(value);
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for (x, part) in self.grains(line, across) {
            let most = high.get(part.clone()).into_iter().flatten().copied().reduce(f64::max);
            let least = low.get(part).into_iter().flatten().copied().reduce(f64::min);
            if let Some((most, least)) = most.zip(least) {
                upper.push((x, level(most)));
                lower.push((x, level(least)));
            }
        }
        if upper.len() < 2 {
            return;
        }
        let path = path(upper.into_iter().chain(lower.into_iter().rev()));
        let colour = COLOURS[line.colour % COLOURS.len()];
        let _ = writeln!(svg.body, r#"<path d="{path}z" fill="{colour}" fill-opacity="{opacity}"/>"#);
    }

    /// Dots as ends of strokes without length: one path, whatever their number.
    fn draw_cloud(&self, svg: &mut Svg, cloud: &Cloud, across: Scale, vertical: Scale) {
        let mut path = String::new();
        for (x, y) in &cloud.points {
            let (x, y) = (across.place(x / self.across.divisor), vertical.place(*y));
            let _ = write!(path, "M{x:.1} {y:.1}h0");
        }
        if path.is_empty() {
            return;
        }
        let colour = COLOURS[cloud.colour % COLOURS.len()];
        let mut stroke = |colour: &str, width: f64, opacity: f64| {
            let _ = writeln!(
                svg.body,
                r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity}" stroke-linecap="round"/>"#
            );
        };
        if cloud.dashed {
            stroke(colour, 4.4, 1.0);
            stroke("#fff", 2.4, 1.0);
        } else {
            stroke(colour, 3.4, 0.5);
        }
    }

    fn draw_line(&self, svg: &mut Svg, line: &Line, across: Scale, vertical: Scale) {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (x, part) in self.grains(line, across) {
            let values = line.values.get(part).unwrap_or_default();
            let levels = match line.band {
                // The band shows the extremes.
                Some(_) => stats::mean(values).into_iter().collect(),
                None => extremes(values),
            };
            points.extend(levels.into_iter().map(|it| (x, vertical.place(it))));
        }
        let colour = COLOURS[line.colour % COLOURS.len()];
        match points.as_slice() {
            [] => {}
            [(x, y)] => {
                let _ = writeln!(svg.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#);
            }
            points => {
                let dash = dash(line.colour, line.dashed)
                    .map_or_else(String::new, |it| format!(r#" stroke-dasharray="{it}""#));
                let _ = writeln!(
                    svg.body,
                    r#"<path d="{}" fill="none" stroke="{colour}" stroke-width="1.4" stroke-linejoin="round"{dash}/>"#,
                    path(points.iter().copied())
                );
            }
        }
    }

    /// The intervals of a line in groups too narrow to be told apart: where each is drawn, and which they are.
    fn grains(&self, line: &Line, across: Scale) -> Vec<(f64, Range<usize>)> {
        let xs: Vec<f64> = line.middles().map(|time| across.place(time / self.across.divisor)).collect();
        let mut grains = Vec::new();
        let mut begin = 0;
        while begin < xs.len() {
            let near = xs[begin..].iter().take_while(|x| **x - xs[begin] < GRAIN).count().max(1);
            let end = begin + near;
            grains.push((f64::midpoint(xs[begin], xs[end - 1]), begin..end));
            begin = end;
        }
        grains
    }

    /// A row of a timeline: neighbours of one shade are one rectangle.
    fn draw_row(&self, svg: &mut Svg, row: &Line, across: Scale, (x, y): (f64, f64)) {
        let style = Text { anchor: "end", ..Text::small() };
        svg.text(x - TICK - 3.0, y + ROW / 2.0 + SMALL * 0.35, &row.name, &style);
        svg.line((x, y + ROW / 2.0), (x + self.plot_width, y + ROW / 2.0), "#e0e0e0", 0.8, None);
        let colour = if row.dashed { COLOURS[1] } else { "#000" };
        self.draw_shades(svg, row, across, (y + 2.0, ROW - 4.0), colour);
    }

    /// The name of a port of a tree, with a hook to the one it stands under.
    fn name_branch(&self, svg: &mut Svg, branches: &[Branch], place: usize, (x, y): (f64, f64)) {
        let branch = &branches[place];
        let widest = branches.iter().map(label_width).fold(0.0, f64::max);
        let start = x - TICK - 3.0 - widest;
        let middle = |place: usize| y + ROW * (place as f64 + 0.5);
        if branch.depth > 0
            && let Some(parent) = branches[..place].iter().rposition(|it| it.depth < branch.depth)
        {
            let bend = start + INDENT * (branch.depth as f64 - 1.0) + 3.0;
            svg.line((bend, middle(parent) + 5.0), (bend, middle(place)), "#888", 0.8, None);
            svg.line((bend, middle(place)), (bend + INDENT - 5.0, middle(place)), "#888", 0.8, None);
        }
        let label = start + INDENT * branch.depth as f64;
        svg.text(label, middle(place) + SMALL * 0.35, &branch.held.name, &Text::small());
    }

    /// Darker where a line's value is nearer to one; neighbours of one shade are one rectangle, and all rectangles
    /// of a shade one path.
    fn draw_shades(&self, svg: &mut Svg, row: &Line, across: Scale, (y, height): (f64, f64), colour: &str) {
        const SHADES: u8 = 10;
        let shade = |value: f64| (value.clamp(0.0, 1.0) * f64::from(SHADES)).ceil() as u8;
        let mut spans: Vec<(u8, f64, f64)> = Vec::new();
        let mut from = across.place(row.from / self.across.divisor);
        for (_, part) in self.grains(row, across) {
            let to = across.place(row.times[part.end - 1] / self.across.divisor);
            let dark = shade(stats::mean(row.values.get(part).unwrap_or_default()).unwrap_or(0.0));
            match spans.last_mut() {
                Some((same, _, end)) if *same == dark => *end = to,
                _ => spans.push((dark, from, to)),
            }
            from = to;
        }
        for dark in 1..=SHADES {
            let mut path = String::new();
            for (_, from, to) in spans.iter().filter(|(it, ..)| *it == dark) {
                let _ = write!(path, "M{from:.1} {y:.1}h{:.1}v{height:.1}H{from:.1}z", (to - from).max(0.4));
            }
            if !path.is_empty() {
                let opacity = f64::from(dark) / f64::from(SHADES);
                let _ =
                    writeln!(svg.body, r#"<path d="{path}" fill="{colour}" fill-opacity="{opacity:.1}"/>"#);
            }
        }
    }

    fn draw_groups(&self, svg: &mut Svg, groups: &[Group], (x, floor): (f64, f64), vertical: Scale) {
        let slot = self.slot();
        let labels = self.group_labels(groups);
        for (index, group) in groups.iter().enumerate() {
            let left = x + slot * index as f64;
            let places = if self.bar_names.is_empty() { group.bars.len() } else { self.bar_names.len() };
            let bar_width = (slot * 0.8 / places.max(1) as f64).min(40.0);
            let start = left + (slot - bar_width * places as f64) / 2.0;
            for (index, bar) in group.bars.iter().enumerate() {
                let place = self.bar_names.iter().position(|name| *name == bar.name).unwrap_or(index);
                self.draw_bar(svg, bar, (start + bar_width * place as f64, floor, bar_width), vertical);
            }
            let middle = left + slot / 2.0;
            if labels.turned {
                let (at, top) = (middle, floor + 12.0);
                let turn = format!(r#" transform="rotate(-30 {at:.1} {top:.1})""#);
                svg.text(at, top, &group.name, &Text { anchor: "end", turn, ..Text::small() });
            } else {
                for (line, part) in lines_of(&group.name, slot).iter().enumerate() {
                    let style = Text { anchor: "middle", ..Text::small() };
                    svg.text(middle, floor + 14.0 + line as f64 * 12.0, part, &style);
                }
            }
        }
    }

    fn draw_bar(&self, svg: &mut Svg, bar: &Bar, (x, floor, bar_width): (f64, f64, f64), vertical: Scale) {
        let level = |value: f64| vertical.place(value);
        let top = level(bar.value);
        let colour = COLOURS[bar.colour % COLOURS.len()];
        let opacity = if bar.dashed { "0.35" } else { "0.85" };
        let _ = writeln!(
            svg.body,
            r#"<rect x="{:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="{colour}" fill-opacity="{opacity}" stroke="{colour}" stroke-width="0.6"/>"#,
            x + bar_width * 0.06,
            bar_width * 0.88,
            (floor - top).max(0.0)
        );
        let (low, high) = (level(bar.range.0), level(bar.range.1));
        if (low - high).abs() > 0.8 {
            let (middle, half) = (x + bar_width / 2.0, (bar_width * 0.2).min(4.0));
            svg.line((middle, low), (middle, high), "#000", 1.0, None);
            svg.line((middle - half, low), (middle + half, low), "#000", 1.0, None);
            svg.line((middle - half, high), (middle + half, high), "#000", 1.0, None);
        }
    }

    /// The names of the bars of the largest group, if it has all there are: then each has a place of its own in every group,
    /// which stays empty where there is none of that name.
    fn bar_names(figure: &Figure) -> Vec<String> {
        let groups = figure.panels.iter().flat_map(|panel| match &panel.body {
            Body::Bars(groups) => groups.as_slice(),
            _ => &[],
        });
        let names = |group: &Group| group.bars.iter().map(|bar| bar.name.clone()).collect::<Vec<_>>();
        let all: BTreeSet<String> = groups.clone().flat_map(names).collect();
        let has_all = |own: &Vec<String>| own.len() == all.len() && all.iter().all(|name| own.contains(name));
        groups.map(names).find(has_all).unwrap_or_default()
    }

    /// The width that a group of bars has, in all panels alike.
    fn slot(&self) -> f64 {
        self.plot_width / self.most_groups.max(1) as f64
    }

    fn group_labels(&self, groups: &[Group]) -> GroupLabels {
        let slot = self.slot();
        let fits = |group: &Group| lines_of(&group.name, slot).iter().all(|part| width(part, SMALL) <= slot);
        if groups.iter().all(fits) {
            let most = groups.iter().map(|group| lines_of(&group.name, slot).len()).max().unwrap_or(1);
            GroupLabels { turned: false, height: 12.0 * most as f64 + 14.0 }
        } else {
            let widest = groups.iter().map(|group| width(&group.name, SMALL)).fold(0.0, f64::max);
            GroupLabels { turned: true, height: widest * 0.5 + 24.0 }
        }
    }

    /// The names of the axes; returns where the next thing may begin.
    fn draw_axis_names(&self, svg: &mut Svg, figure: &Figure) -> f64 {
        let has_rows = figure.panels.iter().any(|panel| matches!(panel.body, Body::Rows(_) | Body::Tree(_)));
        let has_bars = figure.panels.iter().any(|panel| matches!(panel.body, Body::Bars(_)));
        let mut bottom = self.bottom;
        if !has_rows {
            let unit = self.units.first().filter(|_| self.has_one_unit()).map_or("", |unit| unit.name);
            let name = named(figure.quantity(), unit);
            for (y, height) in self.boxes.iter().step_by(self.columns) {
                let (x, y) = (12.0, y + height / 2.0);
                let turn = format!(r#" transform="rotate(-90 {x:.1} {y:.1})""#);
                svg.text(x, y, &name, &Text { anchor: "middle", turn, ..Text::body() });
            }
        }
        if !has_bars && !figure.panels.is_empty() {
            let spare = if self.columns == 1 || !self.common || has_rows { 4.0 } else { 18.0 };
            bottom += spare + 6.0;
            let x = self.left + (WIDTH - self.left - 12.0) / 2.0;
            let name = named(figure.across().0, self.across.name);
            svg.text(x, bottom, &name, &Text { anchor: "middle", ..Text::body() });
        }
        bottom + 8.0
    }
}

struct GroupLabels {
    turned: bool,
    height: f64,
}

/// One legend for all panels, in rows below them; returns the height of the picture.
fn draw_legend(svg: &mut Svg, figure: &Figure, layout: &Layout, top: f64) -> f64 {
    let entries = legend(figure);
    if entries.is_empty() {
        return top + 6.0;
    }
    let (mut x, mut y) = (layout.left, top + 12.0);
    for entry in &entries {
        let text = shortened(&entry.label, WIDTH - layout.left - 50.0, SMALL);
        let needed = 26.0 + width(&text, SMALL) + 16.0;
        if x > layout.left && x + needed > WIDTH {
            (x, y) = (layout.left, y + 16.0);
        }
        let middle = y - SMALL * 0.35;
        match entry.mark {
            Mark::Line { colour, dash, band } => {
                if band {
                    let _ = writeln!(
                        svg.body,
                        r#"<rect x="{x:.1}" y="{:.1}" width="20" height="9" fill="{colour}" fill-opacity="0.18"/>"#,
                        middle - 4.5
                    );
                }
                svg.line((x, middle), (x + 20.0, middle), colour, 1.6, dash);
            }
            Mark::Box(colour) => {
                let _ = writeln!(
                    svg.body,
                    r#"<rect x="{:.1}" y="{:.1}" width="10" height="10" fill="{colour}" fill-opacity="0.85"/>"#,
                    x + 8.0,
                    middle - 5.0
                );
            }
            Mark::Dot { colour, hollow } => {
                let (at, fill) = (x + 13.0, if hollow { "#fff" } else { colour });
                let _ = writeln!(
                    svg.body,
                    r#"<circle cx="{at:.1}" cy="{middle:.1}" r="3" fill="{fill}" stroke="{colour}"/>"#
                );
            }
        }
        svg.text(x + 26.0, y, &text, &Text::small());
        x += needed;
    }
    y + 10.0
}

struct Entry {
    label: String,
    mark: Mark,
}

enum Mark {
    Line { colour: &'static str, dash: Option<&'static str>, band: bool },
    Box(&'static str),
    Dot { colour: &'static str, hollow: bool },
}

fn legend(figure: &Figure) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |label: &str, mark: Mark| {
        if !entries.iter().any(|entry| entry.label == label) {
            entries.push(Entry { label: label.to_owned(), mark });
        }
    };
    for panel in &figure.panels {
        match &panel.body {
            Body::Lines(lines) => {
                for line in lines {
                    let colour = COLOURS[line.colour % COLOURS.len()];
                    let dash = dash(line.colour, line.dashed);
                    add(&line.name, Mark::Line { colour, dash, band: line.band.is_some() });
                }
            }
            Body::Bars(groups) => {
                for bar in groups.iter().flat_map(|group| &group.bars) {
                    add(&bar.name, Mark::Box(COLOURS[bar.colour % COLOURS.len()]));
                }
            }
            Body::Tree(_) => {
                add("congested", Mark::Box(CONGESTED));
                add("held paused", Mark::Box(HELD));
            }
            Body::Dots(clouds) => {
                for cloud in clouds {
                    let colour = COLOURS[cloud.colour % COLOURS.len()];
                    add(&cloud.name, Mark::Dot { colour, hollow: cloud.dashed });
                }
            }
            Body::Rows(_) => {}
        }
    }
    for reference in figure.panels.iter().flat_map(|panel| &panel.references) {
        add(&reference.label, Mark::Line { colour: "#555", dash: Some("6 3"), band: false });
    }
    if figure.panels.iter().any(|panel| !panel.instants.is_empty()) {
        let mark = Mark::Line { colour: "#888", dash: Some("1.5 2.5"), band: false };
        add("a service rate or link changes", mark);
    }
    entries
}

/// The second time round the palette, and the second of two compared runs, are dashed.
pub(super) fn dash(colour: usize, dashed: bool) -> Option<&'static str> {
    match (colour / COLOURS.len(), dashed) {
        (0, false) => None,
        (0, true) => Some("5 3"),
        (_, false) => Some("2 2"),
        (_, true) => Some("7 2 2 2"),
    }
}

fn lines_in(figure: &Figure) -> impl Iterator<Item = &Line> {
    figure.panels.iter().flat_map(|panel| match &panel.body {
        Body::Lines(lines) | Body::Rows(lines) => lines.as_slice(),
        Body::Bars(_) | Body::Tree(_) | Body::Dots(_) => &[],
    })
}

fn branches_in(figure: &Figure) -> impl Iterator<Item = &Branch> {
    figure.panels.iter().flat_map(|panel| match &panel.body {
        Body::Tree(branches) => branches.as_slice(),
        _ => &[],
    })
}

fn label_width(branch: &Branch) -> f64 {
    width(&branch.held.name, SMALL) + INDENT * branch.depth as f64
}

fn time_range(figure: &Figure) -> (f64, f64) {
    let lines = || lines_in(figure).chain(branches_in(figure).map(|branch| &branch.held));
    let from = lines().map(|line| line.from).fold(f64::INFINITY, f64::min);
    let to = lines().filter_map(|line| line.times.last()).copied().fold(0.0, f64::max);
    if from.is_finite() && to.is_finite() { (from, to) } else { (0.0, 1.0) }
}

/// The unit of the horizontal axis.
fn across_unit(figure: &Figure) -> Scaled {
    match figure.across().1 {
        Unit::Seconds => time_unit(figure),
        unit => {
            let ends = figure.panels.iter().map(Panel::end).filter(|end| *end > 0.0);
            unit.scale_for(ends.reduce(f64::min).unwrap_or(0.0))
        }
    }
}

/// Milliseconds up to ten seconds, as papers have them; else whatever fits.
fn time_unit(figure: &Figure) -> Scaled {
    let (_, to) = time_range(figure);
    let natural = Unit::Seconds.scale_for(to);
    if (1.0..10.0).contains(&to) { Unit::Seconds.scale_for(0.5) } else { natural }
}

/// A path through points, to a tenth of a pixel, each told from the one before; points that add nothing at that
/// grain are left out.
pub(super) fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in points {
        let grain = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
        let (dx, dy) = match last {
            Some(last) if last == grain => continue,
            Some(last) => (grain.0.saturating_sub(last.0), grain.1.saturating_sub(last.1)),
            None => grain,
        };
        path.push(if last.is_none() { 'M' } else { 'l' });
        push_tenths(&mut path, dx);
        if dy >= 0 {
            path.push(' ');
        }
        push_tenths(&mut path, dy);
        last = Some(grain);
    }
    path
}

/// A number of tenths in as few characters as do: `12`, `-.5`.
fn push_tenths(path: &mut String, tenths: i64) {
    if tenths < 0 {
        path.push('-');
    }
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if whole > 0 || rest == 0 {
        let _ = write!(path, "{whole}");
    }
    if rest > 0 {
        let _ = write!(path, ".{rest}");
    }
}

/// The least and the greatest of some values in the order they come in, or all if they are few.
fn extremes(values: &[f64]) -> Vec<f64> {
    if values.len() <= 2 {
        return values.to_vec();
    }
    let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
    let (least, most) = ((0..values.len()).min_by(by), (0..values.len()).max_by(by));
    let mut places: Vec<usize> = least.into_iter().chain(most).collect();
    places.sort_unstable();
    places.into_iter().map(|place| values[place]).collect()
}

pub(super) fn named(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// A label in as many lines as its slashes allow, where it does not fit in one.
fn lines_of(label: &str, room: f64) -> Vec<String> {
    if width(label, SMALL) <= room {
        return vec![label.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for part in label.split_inclusive(['/', '·']) {
        match lines.last_mut() {
            Some(line) if width(line, SMALL) + width(part, SMALL) <= room => line.push_str(part),
            _ => lines.push(part.trim_start().to_owned()),
        }
    }
    lines
}

/// About how wide a text is: browsers differ, so this errs on the wide side.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.58
}

pub(super) fn shortened(text: &str, room: f64, size: f64) -> String {
    let fitting = (room / (size * 0.58)).floor() as usize;
    if text.chars().count() <= fitting {
        return text.to_owned();
    }
    let kept: String = text.chars().take(fitting.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[derive(Default)]
pub(super) struct Svg {
    pub(super) body: String,
}

pub(super) struct Text {
    pub(super) size: f64,
    pub(super) anchor: &'static str,
    pub(super) bold: bool,
    pub(super) turn: String,
}

impl Text {
    pub(super) fn small() -> Text {
        Text { size: SMALL, anchor: "start", bold: false, turn: String::new() }
    }

    pub(super) fn body() -> Text {
        Text { size: BODY, ..Text::small() }
    }
}

impl Svg {
    pub(super) fn line(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        colour: &str,
        width: f64,
        dash: Option<&str>,
    ) {
        let dash = dash.map_or_else(String::new, |dash| format!(r#" stroke-dasharray="{dash}""#));
        let _ = writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="{width}"{dash}/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, style: &Text) {
        let weight = if style.bold { r#" font-weight="600""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{}" text-anchor="{}"{weight}{}>{}</text>"#,
            style.size,
            style.anchor,
            style.turn,
            escaped(text)
        );
    }

    pub(super) fn finish(self, title: &str, height: f64) -> String {
        format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h:.0}" width="{w}" height="{h:.0}" "#,
                r#"font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" role="img">"#,
                "\n<title>{title}</title>\n",
                r##"<rect width="100%" height="100%" fill="#fff"/>"##,
                "\n{body}</svg>\n"
            ),
            w = WIDTH,
            h = height,
            title = escaped(title),
            body = self.body
        )
    }
}

/// A text that cannot be taken for markup. Control characters, which XML does not allow, are left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => safe.push(' '),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_step_by_step_in_tenths() {
        let points = [(1.0, 20.04), (1.5, 20.0), (1.52, 20.0), (2.5, 19.5), (2.5, 119.56)];
        assert_eq!(path(points.into_iter()), "M1 20l.5 0l1-.5l0 100.1");
        assert_eq!(path(std::iter::empty()), "");
    }

    #[test]
    fn many_values_are_drawn_by_their_extremes_in_order() {
        assert_eq!(extremes(&[3.0, 9.0, 1.0, 4.0]), [9.0, 1.0]);
        assert_eq!(extremes(&[3.0, 1.0]), [3.0, 1.0]);
        assert!(extremes(&[]).is_empty());
    }
}
