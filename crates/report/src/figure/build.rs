//! From the runs of all configurations to figures.

use super::tree::{self, Grove};
use super::{Bar, Body, Cloud, Drawn, DrawnLine, Figure, Group, Line, Panel, Reference};
use crate::extract::Extract;
use crate::metric::stats;
use crate::unit::Unit;
use quell_record::claim::{Beside, FigureKind, FigureSpec, SLOWDOWN_QUANTILES};
use std::fmt::Write as _;

/// From this many runs on a band leaves out the lowest and the highest tenth.
const RUNS_FOR_A_BAND: usize = 10;
/// More bars than this do not fit beside each other.
const MOST_BARS_A_PANEL: usize = 40;

/// Draws every figure from what the runs contributed.
pub fn figures(specs: &[FigureSpec], extracts: &[Extract]) -> Vec<Figure> {
    specs.iter().enumerate().map(|(index, spec)| build(index, spec, extracts)).collect()
}

fn build(index: usize, spec: &FigureSpec, extracts: &[Extract]) -> Figure {
    let runs_of = |configuration: &str| {
        let mut runs: Vec<&Extract> =
            extracts.iter().filter(|it| it.configuration == configuration).collect();
        runs.sort_by_key(|it| it.seed);
        if spec.first_run {
            runs.truncate(1);
        }
        runs.into_iter().filter_map(|it| it.figures.get(index)?.as_ref()).collect::<Vec<&Drawn>>()
    };
    let parts: Vec<Part<'_>> = spec
        .configurations
        .iter()
        .map(|name| Part { configuration: name, runs: runs_of(name) })
        .filter(|part| !part.runs.is_empty())
        .collect();
    let mut palette = Palette::default();
    let mut tree_note = None;
    let panels = match spec.kind {
        FigureKind::Tree => {
            let (panels, note) = tree_panels(&parts);
            tree_note = note;
            panels
        }
        FigureKind::Slowdown => slowdown_panels(&parts, spec.beside.as_ref(), &mut palette),
        kind if kind.has_bars() => bar_panels(&parts, &mut palette, ""),
        FigureKind::Pause => row_panels(&parts),
        FigureKind::Scatter => dot_panels(&parts, spec.overlay, &mut palette),
        _ if spec.overlay => vec![overlay(&parts, &mut palette)],
        _ => parts.iter().map(|part| panel(part, Body::Lines(part.lines(&mut palette)))).collect(),
    };
    let has_bands = panels.iter().all(Panel::has_bands);
    let mut caption = caption(spec.kind, &parts, has_bands);
    if spec.first_run && !parts.is_empty() {
        caption = format!("The run of the first seed alone. {caption}").trim_end().to_owned();
    }
    caption.extend(tree_note.into_iter().flat_map(|note| [" ".to_owned(), note]));
    let mut figure = Figure {
        title: spec.title.clone(),
        shows: spec.shows.clone().unwrap_or_default(),
        stem: stem(index, &spec.title),
        kind: spec.kind,
        caption,
        unit: match spec.kind {
            FigureKind::Queue => Unit::Bytes,
            FigureKind::Throughput
            | FigureKind::Arrivals
            | FigureKind::Limit
            | FigureKind::Shares
            | FigureKind::Scatter => Unit::BitsPerSecond,
            FigureKind::Pause | FigureKind::Tree | FigureKind::Bursts => Unit::Fraction,
            FigureKind::PauseCount => Unit::Count,
            FigureKind::PauseTime => Unit::Seconds,
            FigureKind::Cnms | FigureKind::Slowdown | FigureKind::CrossCorrelation => Unit::Plain,
        },
        panels,
    };
    if !figure.has_common_scale() {
        let which = if spec.kind == FigureKind::Scatter { "scales" } else { "a vertical scale" };
        let _ = write!(figure.caption, " Each panel has {which} of its own.");
    }
    figure
}

/// One configuration's runs.
struct Part<'a> {
    configuration: &'a str,
    runs: Vec<&'a Drawn>,
}

impl Part<'_> {
    /// The names its lines have, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for line in self.runs.iter().flat_map(|run| &run.lines) {
            if !names.contains(&line.name.as_str()) {
                names.push(&line.name);
            }
        }
        names
    }

    fn lines_named<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b DrawnLine> {
        self.runs.iter().flat_map(|run| &run.lines).filter(move |line| line.name == name)
    }

    fn lines(&self, palette: &mut Palette) -> Vec<Line> {
        let Some(longest) = self.runs.iter().max_by_key(|run| run.times.len()) else { return Vec::new() };
        self.names()
            .into_iter()
            .map(|name| {
                let runs: Vec<&DrawnLine> = self.lines_named(name).collect();
                let (values, band) = over_runs(&runs);
                let times = longest.times[..values.len().min(longest.times.len())].to_vec();
                let colour = palette.colour(name);
                Line { name: name.to_owned(), from: longest.from, times, values, band, colour, dashed: false }
            })
            .collect()
    }

    /// A row for each name: the mean over runs, in which a run without that row was never held.
    fn rows(&self, names: &[&str]) -> Vec<Line> {
        let Some(longest) = self.runs.iter().max_by_key(|run| run.times.len()) else { return Vec::new() };
        let value = |name: &str, index: usize| {
            let held = self.lines_named(name).filter_map(|line| line.values.get(index)).sum::<f64>();
            held / self.runs.len() as f64
        };
        let row = |name: &&str| Line {
            name: (*name).to_owned(),
            from: longest.from,
            times: longest.times.clone(),
            values: (0..longest.times.len()).map(|index| value(name, index)).collect(),
            band: None,
            colour: 0,
            dashed: false,
        };
        names.iter().map(row).collect()
    }

    fn grove(&self) -> Grove<'_> {
        let longest = self.runs.iter().max_by_key(|run| run.times.len());
        Grove {
            from: longest.map_or(0.0, |run| run.from),
            times: longest.map_or_else(Vec::new, |run| run.times.clone()),
            runs: self.runs.iter().map(|run| run.twigs.as_slice()).collect(),
        }
    }

    fn references(&self) -> Vec<Reference> {
        let marks = self.runs.first().map_or(&[][..], |run| &run.references);
        marks.iter().map(|(label, value)| Reference { label: label.clone(), value: *value }).collect()
    }

    fn instants(&self) -> Vec<f64> {
        self.runs.first().map_or_else(Vec::new, |run| run.instants.clone())
    }
}

/// Middle and band of one line over runs, interval by interval.
type Spread = (Vec<f64>, Option<(Vec<f64>, Vec<f64>)>);

fn over_runs(runs: &[&DrawnLine]) -> Spread {
    let points = runs.iter().map(|run| run.values.len()).max().unwrap_or(0);
    let has_band = runs.len() > 1 || runs.iter().any(|run| run.range.is_some());
    let tail = if runs.len() >= RUNS_FOR_A_BAND { 0.1 } else { 0.0 };
    let at = |index: usize, of: fn(&DrawnLine) -> &Vec<f64>| {
        let mut values: Vec<f64> = runs.iter().filter_map(|run| of(run).get(index).copied()).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let take = |of: fn(&DrawnLine) -> &Vec<f64>, q: f64| -> Vec<f64> {
        (0..points).map(|index| stats::quantile_of_sorted(&at(index, of), q).unwrap_or(0.0)).collect()
    };
    let middle = take(|line| &line.values, 0.5);
    let band = has_band.then(|| {
        let low = take(|line| line.range.as_ref().map_or(&line.values, |(low, _)| low), tail);
        let high = take(|line| line.range.as_ref().map_or(&line.values, |(_, high)| high), 1.0 - tail);
        (low, high)
    });
    (middle, band)
}

fn panel(part: &Part<'_>, body: Body) -> Panel {
    let title = part.configuration.to_owned();
    Panel { title, body, references: part.references(), instants: part.instants() }
}

/// The panels of a timeline: all have the rows of all.
fn row_panels(parts: &[Part<'_>]) -> Vec<Panel> {
    let mut names: Vec<&str> = Vec::new();
    for name in parts.iter().flat_map(Part::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    parts.iter().map(|part| panel(part, Body::Rows(part.rows(&names)))).collect()
}

fn overlay(parts: &[Part<'_>], palette: &mut Palette) -> Panel {
    let mut all = Panel {
        title: String::new(),
        body: Body::Lines(Vec::new()),
        references: Vec::new(),
        instants: parts.first().map_or_else(Vec::new, Part::instants),
    };
    for part in parts {
        all.take_in(panel(part, Body::Lines(part.lines(palette))));
    }
    all
}

/// A panel for the median and one for the tail, each with a bar for each class of sizes.
fn slowdown_panels(parts: &[Part<'_>], beside: Option<&Beside>, palette: &mut Palette) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (quantile, title) in SLOWDOWN_QUANTILES.iter().map(|it| (it.0, it.2)) {
        let ending = format!(", {quantile}");
        let mut drawn = bar_panels(parts, palette, &ending);
        if let (Some(beside), Some(Panel { body: Body::Bars(groups), .. })) = (beside, drawn.last_mut()) {
            groups.push(group_beside(beside, palette, &ending));
            if let [ours, theirs] = &groups[..] {
                *groups = paired(ours, theirs);
            }
        }
        drawn.iter_mut().for_each(|panel| title.clone_into(&mut panel.title));
        panels.extend(drawn);
    }
    panels
}

/// What somebody else measured: its bars that end so.
fn group_beside(beside: &Beside, palette: &mut Palette, ending: &str) -> Group {
    let bars = beside.bars.iter().filter_map(|(name, thousandths)| {
        let (name, value) = (name.strip_suffix(ending)?, *thousandths as f64 / 1e3);
        let colour = palette.colour(name);
        Some(Bar { name: name.to_owned(), value, range: (value, value), colour, dashed: true })
    });
    Group { name: beside.name.clone(), bars: bars.collect() }
}

/// Two groups of bars as a group for each bar, so that what is to be compared stands side by side.
fn paired(ours: &Group, theirs: &Group) -> Vec<Group> {
    let mut pairs: Vec<Group> = Vec::new();
    for (place, (group, who)) in [(ours, "here"), (theirs, theirs.name.as_str())].into_iter().enumerate() {
        for bar in &group.bars {
            let named = Bar { name: who.to_owned(), colour: place, ..bar.clone() };
            match pairs.iter_mut().find(|pair| pair.name == bar.name) {
                Some(pair) => pair.bars.push(named),
                None => pairs.push(Group { name: bar.name.clone(), bars: vec![named] }),
            }
        }
    }
    pairs
}

/// Bars of those that end so, named without it: a group for each part, and as many of them in each panel.
fn bar_panels(parts: &[Part<'_>], palette: &mut Palette, ending: &str) -> Vec<Panel> {
    let groups: Vec<Group> = parts.iter().map(|part| bars_of(part, palette, ending)).collect();
    let bars: usize = groups.iter().map(|group| group.bars.len() + 1).sum();
    let most = groups.len().div_ceil(bars.div_ceil(MOST_BARS_A_PANEL).max(1)).max(1);
    let panel = |(groups, parts): (&[Group], &[Part<'_>])| {
        let mut references = Vec::new();
        for reference in parts.iter().flat_map(Part::references) {
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        Panel { title: String::new(), body: Body::Bars(groups.to_vec()), references, instants: Vec::new() }
    };
    groups.chunks(most).zip(parts.chunks(most)).map(panel).collect()
}

fn bars_of(part: &Part<'_>, palette: &mut Palette, ending: &str) -> Group {
    let bars = part.names().into_iter().filter_map(|name| {
        let values: Vec<f64> =
            part.lines_named(name).filter_map(|line| line.values.first().copied()).collect();
        let name = name.strip_suffix(ending)?;
        let colour = palette.colour(name);
        let (value, range) = (stats::median(&values)?, stats::range(&values)?);
        Some(Bar { name: name.to_owned(), value, range, colour, dashed: false })
    });
    Group { name: part.configuration.to_owned(), bars: bars.collect() }
}

/// A panel for each configuration, or one for all, with the dots of all runs.
fn dot_panels(parts: &[Part<'_>], overlay: bool, palette: &mut Palette) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for part in parts {
        let mut clouds: Vec<Cloud> = Vec::new();
        for drawn in part.runs.iter().flat_map(|run| &run.clouds) {
            match clouds.iter_mut().find(|it| it.name == drawn.name) {
                Some(cloud) => cloud.points.extend(&drawn.points),
                None => clouds.push(Cloud {
                    name: drawn.name.clone(),
                    points: drawn.points.clone(),
                    colour: palette.colour(&drawn.name),
                    dashed: false,
                }),
            }
        }
        let dots = panel(part, Body::Dots(clouds));
        match panels.last_mut() {
            Some(all) if overlay => all.take_in(dots),
            _ if overlay => panels.push(Panel { title: String::new(), ..dots }),
            _ => panels.push(dots),
        }
    }
    panels
}

fn tree_panels(parts: &[Part<'_>]) -> (Vec<Panel>, Option<String>) {
    let groves: Vec<Grove<'_>> = parts.iter().map(Part::grove).collect();
    let (trees, note) = tree::grow(&groves);
    let panel = |(part, branches): (&Part<'_>, _)| Panel {
        title: part.configuration.to_owned(),
        body: Body::Tree(branches),
        references: Vec::new(),
        instants: part.instants(),
    };
    (parts.iter().zip(trees).map(panel).collect(), note)
}

/// Gives each name a colour, the same wherever it appears.
#[derive(Default)]
struct Palette {
    names: Vec<String>,
}

impl Palette {
    fn colour(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

fn caption(kind: FigureKind, parts: &[Part<'_>], has_bands: bool) -> String {
    let counts: Vec<usize> = parts.iter().map(|part| part.runs.len()).collect();
    let (fewest, most) =
        (counts.iter().copied().min().unwrap_or(0), counts.iter().copied().max().unwrap_or(0));
    let runs = if fewest == most { format!("{most} runs") } else { format!("{fewest} to {most} runs") };
    let mut sentences = Vec::new();
    match kind {
        _ if most == 0 => sentences.push("No run contributed to this figure.".to_owned()),
        FigureKind::Tree => {
            sentences.push(tree::LEGEND.to_owned());
            if most > 1 {
                sentences.push(format!("The paler, the smaller the share of time; mean of {runs}."));
            }
        }
        FigureKind::Pause if most > 1 => {
            sentences.push(format!("The darker, the larger the share of time held; mean of {runs}."));
        }
        FigureKind::Pause => {
            sentences.push("Black while held; grey where held part of an interval.".to_owned());
        }
        FigureKind::Scatter if most > 1 => sentences.push(format!("Dots of {runs}.")),
        kind if kind.has_bars() && most > 1 => {
            sentences.push(format!("Bars: median of {runs}; whiskers: least and greatest."));
        }
        _ if most > 1 && !has_bands => {
            sentences.push(format!(
                "Lines: median of {runs}; where more than {} share a panel the spread over runs is left to the CSV.",
                Panel::MOST_BANDS
            ));
        }
        _ if most >= RUNS_FOR_A_BAND => {
            sentences.push(format!("Lines: median of {runs}; bands: 10th to 90th percentile."));
        }
        _ if most > 1 => sentences.push(format!("Lines: median of {runs}; bands: least to greatest.")),
        _ => {}
    }
    let mut notes: Vec<&str> = Vec::new();
    for run in parts.iter().filter_map(|part| part.runs.first()) {
        if !run.note.is_empty() && !notes.contains(&run.note.as_str()) {
            notes.push(&run.note);
        }
    }
    sentences.extend(notes.into_iter().map(str::to_owned));
    sentences.join(" ")
}

/// A file name that sorts by number and says what is in it.
fn stem(index: usize, title: &str) -> String {
    let plain: String = title
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().take(6).collect();
    let mut stem = format!("{:02}", index + 1);
    for word in words {
        stem.push('-');
        stem.push_str(word);
    }
    stem
}
