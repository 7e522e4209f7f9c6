//! `--overlay fluid`: the fluid model's line in the figures of a run.

use crate::fluid::Fluid;
use quell_record::claim::{FigureKind, FigureSpec};
use quell_record::{EntityClass, Quantity, read_run};
use quell_report::Unit;
use quell_report::figure::{Body, Figure, Line};
use quell_sim::scenario::Configuration;
use quell_sim::scenario::plan::NodeId;
use quell_theory::Trace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A model followed through the time of its configuration.
struct Followed<'a> {
    configuration: &'a Configuration,
    fluid: Fluid,
    trace: Trace,
}

/// Draws the model of each configuration over the packets, where there is one, and says where there is none, or where
/// PAUSE, which no model knows, held its senders. `runs` are configurations and folders of recordings.
pub(crate) fn draw(
    figures: &mut [Figure],
    specs: &[FigureSpec],
    configurations: &[&Configuration],
    runs: &[(String, PathBuf)],
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut followed = Vec::new();
    for configuration in configurations {
        let found = Fluid::of(&configuration.plan, None).and_then(|fluid| {
            let trace = fluid.trace().map_err(|why| why.to_string())?;
            Ok(Followed { configuration, fluid, trace })
        });
        match found {
            Ok(it) => {
                let dir = runs.iter().find(|(name, _)| *name == configuration.name).map(|(_, dir)| dir);
                notes.extend(dir.and_then(|dir| pause_note(&it, dir)));
                followed.push(it);
            }
            Err(why) => notes.push(format!("No fluid model for {}: {why}.", configuration.name)),
        }
    }
    for (figure, spec) in figures.iter_mut().zip(specs) {
        let drawn = followed.iter().filter(|it| draw_one(figure, spec, it)).count();
        if drawn > 0 {
            figure.caption.push_str(" Dashed: the fluid model.");
        }
    }
    notes
}

/// For how much of a run PAUSE held those who send to the model's port, in a sentence; `None` if it did not.
fn pause_note(it: &Followed<'_>, dir: &Path) -> Option<String> {
    let (manifest, recording) = read_run(dir).ok()?;
    let plan = &it.configuration.plan;
    let flows = plan.flows.iter().filter(|flow| it.fluid.flows.contains(&flow.name));
    let senders: BTreeSet<&str> = flows.map(|flow| plan.name(NodeId::Host(flow.from))).collect();
    let ports = recording.catalog.iter().filter(|(_, entity)| {
        let from = entity.name.split_once("->").map(|(from, _)| from);
        entity.class() == EntityClass::Port && from.is_some_and(|from| senders.contains(from))
    });
    let held: Vec<i64> = ports
        .filter_map(|(port, _)| Some(recording.series(port, Quantity::PausedPs)?.iter().sum()))
        .collect();
    let all = recording.end().ps() as f64 * held.len() as f64;
    let share = held.iter().sum::<i64>() as f64 / all;
    (share > 0.0).then(|| {
        let (name, seed) = (&it.configuration.name, manifest.run.seed);
        let share = Unit::Fraction.show(share);
        let port = &it.fluid.port;
        format!("The fluid model of {name} knows no PAUSE, which held those who send to {port} for {share} of the time (seed {seed}).")
    })
}

/// Adds one configuration's line, if the figure shows what the model has.
fn draw_one(figure: &mut Figure, spec: &FigureSpec, it: &Followed<'_>) -> bool {
    let name = &it.configuration.name;
    let catalog = it.configuration.plan.catalog();
    let entities = spec.of.resolve(&catalog, spec.kind.classes());
    let names: Vec<&str> = entities.iter().map(|id| catalog.get(*id).name.as_str()).collect();
    if !spec.configurations.contains(name) || !it.fluid.is_in(spec.kind, &names) {
        return false;
    }
    let colour = colour_of(figure, "fluid model");
    let Some(panel) = figure.panels.iter_mut().find(|panel| spec.overlay || panel.title == *name) else {
        return false;
    };
    let Body::Lines(lines) = &mut panel.body else { return false };
    let Some(longest) = lines.iter().max_by_key(|line| line.times.len()) else { return false };
    // In an overlaid figure a line is a configuration, and several flows are summed up in it.
    let label = match (spec.overlay, spec.kind) {
        (true, FigureKind::Throughput | FigureKind::Limit) => return false,
        (true, _) => format!("{name}, fluid model"),
        (false, FigureKind::Queue) => "fluid model".to_owned(),
        (false, _) => "fluid model, each flow".to_owned(),
    };
    let of = if spec.kind == FigureKind::Queue { &it.trace.queue } else { &it.trace.rate };
    let values = averaged(of, it.trace.step, longest.from, &longest.times);
    let own = lines.iter().find(|line| line.name == *name).map(|line| line.colour);
    let line = Line {
        name: label,
        from: longest.from,
        times: longest.times.clone(),
        values,
        band: None,
        colour: own.unwrap_or(colour),
        dashed: true,
    };
    lines.push(line);
    true
}

/// The colour that lines beginning so have already, or the first that no line has.
fn colour_of(figure: &Figure, beginning: &str) -> usize {
    let lines = figure.panels.iter().flat_map(|panel| match &panel.body {
        Body::Lines(lines) => lines.as_slice(),
        _ => &[],
    });
    let own = lines.clone().find(|line| line.name.starts_with(beginning)).map(|line| line.colour);
    own.unwrap_or_else(|| lines.map(|line| line.colour + 1).max().unwrap_or(0))
}

/// The mean of values at equal steps over each interval.
fn averaged(values: &[f64], step: f64, from: f64, times: &[f64]) -> Vec<f64> {
    let last = values.len().saturating_sub(1);
    let mut begin = from;
    let mut mean_until = |end: &f64| {
        let first = ((begin / step) as usize).min(last);
        let until = ((end / step) as usize).clamp(first + 1, last.max(first) + 1);
        begin = *end;
        let part = &values[first..until];
        part.iter().sum::<f64>() / part.len().max(1) as f64
    };
    times.iter().map(&mut mean_until).collect()
}
