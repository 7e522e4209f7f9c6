//! Figures as data, before anything decides how they look.
//!
//! [`Drawn`] is what one run contributes; [`figures`] puts the runs of all configurations together into
//! [`Figure`]s; [`Figure::to_svg`], [`Figure::to_csv`] and [`Figure::to_text`] show one.

mod build;
mod chart;
mod csv;
mod drawn;
mod pair;
mod scale;
mod svg;
mod text;
mod tree;

pub use build::figures;
pub use chart::{Axis, Chart, Heat, Mark, Plot};
pub use drawn::{Drawn, DrawnCloud, DrawnLine};
pub use tree::Twig;

use crate::unit::Unit;
use quell_record::claim::FigureKind;
use serde::{Deserialize, Serialize};

/// A figure: panels of one kind with common axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// The figure or statement of a source that it redraws; empty if it is our own.
    #[serde(default)]
    pub shows: String,
    /// The name of its files, without ending.
    pub stem: String,
    /// What it shows.
    pub kind: FigureKind,
    /// How to read it: what lines and bands are, what was left out.
    pub caption: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Its panels, in the order of configurations.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The configuration, or nothing where one panel shows all.
    pub title: String,
    /// What is drawn.
    pub body: Body,
    /// Values to compare with, as horizontal lines.
    pub references: Vec<Reference>,
    /// Seconds at which something in the network changed, as vertical lines.
    pub instants: Vec<f64>,
}

/// What a panel draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// Values over time, or over lags.
    Lines(Vec<Line>),
    /// One row each; the value, 0 to 1, is how dark the row is at that time.
    Rows(Vec<Line>),
    /// Groups of bars.
    Bars(Vec<Group>),
    /// One row each, from a root outward; values are 0 to 1.
    Tree(Vec<Branch>),
    /// Dots, by two values each.
    Dots(Vec<Cloud>),
}

/// One value over time, with its range over runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Where the first interval begins, in seconds.
    pub from: f64,
    /// Where each interval ends, in seconds, rising.
    pub times: Vec<f64>,
    /// The middle over runs, one for each interval.
    pub values: Vec<f64>,
    /// The lower and the upper edge of the band, one for each interval; none if there is nothing to spread.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
    /// Its colour, as an index into the palette: a name keeps its colour in all panels.
    pub colour: usize,
    /// Whether it is drawn dashed: the second of two compared runs.
    pub dashed: bool,
}

/// One port of a saturation tree, over time. Both lines have its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// How many queues it stands under.
    pub depth: usize,
    /// When it was congested.
    pub congested: Line,
    /// When it was held paused.
    pub held: Line,
}

/// Dots of one sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cloud {
    /// Its name in the legend.
    pub name: String,
    /// Across and up.
    pub points: Vec<(f64, f64)>,
    /// Its colour, as an index into the palette.
    pub colour: usize,
    /// Whether it is hollow: the second of two compared runs.
    pub dashed: bool,
}

/// The bars of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The configuration.
    pub name: String,
    /// Its bars.
    pub bars: Vec<Bar>,
}

/// One bar, with its range over runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// What it stands for; the legend.
    pub name: String,
    /// The median over runs.
    pub value: f64,
    /// The least and the greatest.
    pub range: (f64, f64),
    /// Its colour, as an index into the palette.
    pub colour: usize,
    /// Whether it is pale: the second of two compared runs.
    pub dashed: bool,
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// What it is.
    pub label: String,
    /// Where it lies.
    pub value: f64,
}

impl Line {
    /// The middle of each interval: what a value over an interval is drawn at.
    fn middles(&self) -> impl Iterator<Item = f64> + Clone {
        let begins = std::iter::once(self.from).chain(self.times.iter().copied());
        begins.zip(&self.times).map(|(begin, end)| f64::midpoint(begin, *end))
    }

    /// The edges of the band in an interval; the value itself where there is no band.
    fn spread_at(&self, index: usize) -> (f64, f64) {
        let value = self.values[index];
        self.band.as_ref().map_or((value, value), |band| (band.0[index], band.1[index]))
    }
}

impl Figure {
    /// The figure as a vector picture that stands alone.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    /// Every number of the figure, one a row, with units in the header.
    pub fn to_csv(&self) -> String {
        csv::write(self)
    }

    /// The figure in characters, about sixty columns wide.
    pub fn to_text(&self) -> String {
        text::draw(self, text::COLUMNS, text::ROWS)
    }

    /// What the vertical axis says, before its unit.
    pub fn quantity(&self) -> &'static str {
        match self.kind {
            FigureKind::Queue => "queue",
            FigureKind::Throughput => "throughput",
            FigureKind::Arrivals => "raw rate into the switch",
            FigureKind::Limit => "rate limit",
            FigureKind::Pause => "share of time held",
            FigureKind::Cnms => "notifications per ms",
            FigureKind::Shares if self.unit == Unit::Fraction => "distance",
            FigureKind::Shares => "mean rate",
            FigureKind::Tree => "share of time congested or held",
            FigureKind::Slowdown => "slowdown",
            FigureKind::Bursts => "frames by length of their burst",
            FigureKind::PauseCount => "pauses",
            FigureKind::PauseTime => "time held",
            FigureKind::Scatter => "rate",
            FigureKind::CrossCorrelation => "correlation",
        }
    }

    /// What the horizontal axis says, and the unit of what lies on it.
    pub fn across(&self) -> (&'static str, Unit) {
        match self.kind {
            FigureKind::Scatter => ("queue", Unit::Bytes),
            FigureKind::CrossCorrelation => ("how much later the queue is looked at", Unit::Seconds),
            _ => ("time", Unit::Seconds),
        }
    }

    /// The ends of the vertical axis, where they do not depend on the values.
    fn fixed_ends(&self) -> Option<(f64, f64)> {
        (self.kind == FigureKind::CrossCorrelation).then_some((-1.0, 1.0))
    }

    /// Two figures as one: the second's lines are dashed, its bars pale and its rows orange, in the colours of
    /// the first's of the same name.
    pub fn overlaid(&self, other: &Figure, names: [&str; 2]) -> Figure {
        let mut both = self.clone();
        let [first, second] = match self.kind {
            kind if kind.has_bars() => ["Full", "Pale"],
            FigureKind::Pause => ["Black", "Orange"],
            FigureKind::Tree => ["First", "Second"],
            FigureKind::Scatter => ["Full", "Hollow"],
            _ => ["Solid", "Dashed"],
        };
        both.caption = format!("{first}: {}. {second}: {}. {}", names[0], names[1], self.caption);
        let colours = self.colours();
        for panel in &mut both.panels {
            panel.body.label(names[0]);
        }
        for panel in &other.panels {
            let mut panel = panel.clone();
            panel.body.recolour(&colours);
            panel.body.label(names[1]);
            panel.body.dash();
            let lone = self.panels.len() == 1 && other.panels.len() == 1;
            match both.panels.iter_mut().find(|it| lone || it.title == panel.title) {
                Some(first) => first.take_in(panel),
                None => both.panels.push(panel),
            }
        }
        both
    }

    /// Which colour each name has.
    fn colours(&self) -> Vec<(String, usize)> {
        let mut colours: Vec<(String, usize)> = Vec::new();
        for panel in &self.panels {
            match &panel.body {
                Body::Lines(lines) | Body::Rows(lines) => {
                    colours.extend(lines.iter().map(|line| (line.name.clone(), line.colour)));
                }
                Body::Bars(groups) => {
                    let bars = groups.iter().flat_map(|group| &group.bars);
                    colours.extend(bars.map(|bar| (bar.name.clone(), bar.colour)));
                }
                Body::Dots(clouds) => {
                    colours.extend(clouds.iter().map(|cloud| (cloud.name.clone(), cloud.colour)));
                }
                Body::Tree(_) => {}
            }
        }
        colours.sort();
        colours.dedup();
        colours
    }

    /// Whether all panels have one vertical scale. Where the largest values of two panels differ by more than
    /// [`Figure::COMMON_UP_TO`] they have their own, or the smaller would be a flat line.
    pub fn has_common_scale(&self) -> bool {
        let tops = || self.panels.iter().map(Panel::top).filter(|top| *top > 0.0);
        let (most, least) = (tops().fold(0.0, f64::max), tops().fold(f64::INFINITY, f64::min));
        let ends = || self.panels.iter().map(Panel::end).filter(|end| *end > 0.0);
        if ends().fold(0.0, f64::max) > ends().fold(f64::INFINITY, f64::min) * Figure::COMMON_UP_TO {
            return false;
        }
        // Bars of one sort are compared over panels; those of a median and of a tail are not.
        let has_bars = self.panels.iter().any(|panel| matches!(panel.body, Body::Bars(_)));
        has_bars && self.kind != FigureKind::Slowdown
            || !least.is_finite()
            || most <= least * Figure::COMMON_UP_TO
    }

    /// How far panels on one scale may differ.
    pub const COMMON_UP_TO: f64 = 6.0;

    /// Whether there is any number in it.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| match &panel.body {
            Body::Lines(lines) | Body::Rows(lines) => lines.iter().all(|line| line.values.is_empty()),
            Body::Bars(groups) => groups.iter().all(|group| group.bars.is_empty()),
            Body::Tree(branches) => branches.iter().all(|branch| branch.held.values.is_empty()),
            Body::Dots(clouds) => clouds.iter().all(|cloud| cloud.points.is_empty()),
        })
    }
}

impl Panel {
    /// Bands of more lines than this cover each other.
    const MOST_BANDS: usize = 3;

    /// Whether the bands of its lines are drawn; the numbers are in the CSV in any case.
    fn has_bands(&self) -> bool {
        matches!(&self.body, Body::Lines(lines) if lines.len() <= Panel::MOST_BANDS)
    }

    /// The largest value it shows.
    fn top(&self) -> f64 {
        let finite = |most: f64, value: f64| if value.is_finite() { most.max(value) } else { most };
        let references = self.references.iter().map(|it| it.value).fold(0.0, finite);
        let values = match &self.body {
            Body::Lines(lines) => {
                let bands = lines.iter().filter(|_| self.has_bands()).filter_map(|line| line.band.as_ref());
                let values = lines.iter().flat_map(|line| &line.values);
                values.chain(bands.flat_map(|band| &band.1)).copied().fold(0.0, finite)
            }
            Body::Rows(_) | Body::Tree(_) => 1.0,
            Body::Dots(clouds) => clouds.iter().flat_map(|it| &it.points).map(|it| it.1).fold(0.0, finite),
            Body::Bars(groups) => {
                groups.iter().flat_map(|it| &it.bars).map(|bar| bar.value.max(bar.range.1)).fold(0.0, finite)
            }
        };
        // A target far above everything measured must not press the data flat.
        if values > 0.0 && references > values * Figure::COMMON_UP_TO {
            values
        } else {
            values.max(references)
        }
    }

    /// Where its dots lie across.
    fn places(&self) -> impl Iterator<Item = f64> {
        let clouds = if let Body::Dots(clouds) = &self.body { clouds.as_slice() } else { &[] };
        clouds.iter().flat_map(|it| &it.points).map(|it| it.0).filter(|it| it.is_finite())
    }

    /// How far its dots reach to the right; nothing where it has none.
    fn end(&self) -> f64 {
        self.places().fold(0.0, f64::max)
    }

    fn take_in(&mut self, other: Panel) {
        match (&mut self.body, other.body) {
            (Body::Lines(mine), Body::Lines(theirs)) | (Body::Rows(mine), Body::Rows(theirs)) => {
                mine.extend(theirs);
            }
            (Body::Tree(mine), Body::Tree(theirs)) => mine.extend(theirs),
            (Body::Dots(mine), Body::Dots(theirs)) => mine.extend(theirs),
            (Body::Bars(mine), Body::Bars(theirs)) => {
                // Beside the group they are to be compared with, where there is one.
                let base = |name: &str| name.split(" · ").next().unwrap_or_default().to_owned();
                for group in theirs {
                    let place = mine.iter().rposition(|it| base(&it.name) == base(&group.name));
                    mine.insert(place.map_or(mine.len(), |it| it + 1), group);
                }
            }
            _ => {}
        }
        for reference in other.references {
            if !self.references.contains(&reference) {
                self.references.push(reference);
            }
        }
    }
}

impl Body {
    /// How many groups of bars it has.
    fn groups(&self) -> usize {
        if let Body::Bars(groups) = self { groups.len() } else { 0 }
    }

    fn label(&mut self, run: &str) {
        match self {
            Body::Lines(lines) | Body::Rows(lines) => {
                lines.iter_mut().for_each(|line| line.name = format!("{} · {run}", line.name));
            }
            Body::Bars(groups) => {
                groups.iter_mut().for_each(|group| group.name = format!("{} · {run}", group.name));
            }
            Body::Tree(branches) => {
                let lines = branches.iter_mut().flat_map(|branch| [&mut branch.congested, &mut branch.held]);
                lines.for_each(|line| line.name = format!("{} · {run}", line.name));
            }
            Body::Dots(clouds) => {
                clouds.iter_mut().for_each(|cloud| cloud.name = format!("{} · {run}", cloud.name));
            }
        }
    }

    /// Gives each name the colour it has elsewhere; new names come after those.
    fn recolour(&mut self, known: &[(String, usize)]) {
        let next = known.iter().map(|(_, colour)| colour + 1).max().unwrap_or(0);
        let colour = |name: &str, own: usize| {
            known.iter().find(|(it, _)| it == name).map_or(next + own, |(_, colour)| *colour)
        };
        match self {
            Body::Lines(lines) | Body::Rows(lines) => {
                lines.iter_mut().for_each(|line| line.colour = colour(&line.name, line.colour));
            }
            Body::Bars(groups) => {
                let bars = groups.iter_mut().flat_map(|group| &mut group.bars);
                bars.for_each(|bar| bar.colour = colour(&bar.name, bar.colour));
            }
            Body::Dots(clouds) => {
                clouds.iter_mut().for_each(|cloud| cloud.colour = colour(&cloud.name, cloud.colour));
            }
            Body::Tree(_) => {}
        }
    }

    fn dash(&mut self) {
        match self {
            Body::Lines(lines) | Body::Rows(lines) => lines.iter_mut().for_each(|line| line.dashed = true),
            Body::Bars(groups) => {
                groups.iter_mut().flat_map(|group| &mut group.bars).for_each(|bar| bar.dashed = true);
            }
            Body::Dots(clouds) => clouds.iter_mut().for_each(|cloud| cloud.dashed = true),
            Body::Tree(_) => {}
        }
    }
}
