//! What theory says, as charts.

use crate::figure::{Axis, Chart, Heat, Mark, Plot};
use crate::unit::Unit;
use quell_theory::admission::{Admission, Policy};
use quell_theory::map::{Cell, Map, Range};
use quell_theory::model::Regime;
use quell_theory::stability::{Critical, Stability};
use quell_theory::trace::Trace;
use quell_theory::{Model, Parameter};
use std::f64::consts::PI;

/// Points of a line that a picture tells apart.
const POINTS: usize = 1500;

/// What a regime is called; nothing where there is but one.
pub fn regime(regime: Regime) -> &'static str {
    match regime {
        Regime::Whole => "",
        Regime::Increase => "increase",
        Regime::Decrease => "decrease",
    }
}

/// The unit and the name of a parameter.
pub fn parameter(of: Parameter) -> (&'static str, Unit) {
    match of {
        Parameter::Flows => ("flows", Unit::Count),
        Parameter::Delay => ("delay of the loop", Unit::Seconds),
        Parameter::Capacity => ("link rate", Unit::BitsPerSecond),
        Parameter::SetPoint => ("set point", Unit::Bytes),
        Parameter::Weight => ("weight of growth", Unit::Plain),
        Parameter::Cut => ("largest cut", Unit::Fraction),
        Parameter::Sample => ("octets between samples", Unit::Bytes),
        Parameter::Increase => ("increase", Unit::BitsPerSecond),
        Parameter::ByteReset => ("byte cycle", Unit::Bytes),
        Parameter::MarkAll => ("K_max", Unit::Bytes),
        Parameter::MarkMost => ("P_max", Unit::Fraction),
        Parameter::AlphaGain => ("g", Unit::Plain),
    }
}

/// A model with its path, in a line.
pub fn in_words(model: &Model) -> String {
    let path = model.path();
    let flows = if path.flows == 1 { "one flow".to_owned() } else { format!("{} flows", path.flows) };
    let rate = Unit::BitsPerSecond.show_stated(path.capacity);
    format!("{}, {flows}, {rate}, {} of delay", model.name(), Unit::Seconds.show(path.delay))
}

/// Gain and phase of the open loop over frequency.
pub fn bode(model: &Model, loops: &[Stability]) -> Chart {
    let crossing = loops.iter().filter_map(Stability::phase_margin).map(|it| it.frequency);
    let centre = crossing.fold(0.0, f64::max);
    let centre = if centre > 0.0 { centre } else { 1e4 };
    let (mut gains, mut phases) = (Vec::new(), Vec::new());
    for (colour, stability) in loops.iter().enumerate() {
        let points = stability.bode(centre / 100.0, centre * 30.0, 600);
        let name = match regime(stability.regime) {
            "" => "open loop",
            it => it,
        };
        let line =
            |points: Vec<(f64, f64)>| Mark::Line { name: name.to_owned(), points, colour, dashed: false };
        gains.push(line(points.iter().map(|it| (it.frequency, it.gain)).collect()));
        // The delay turns on and on; margins are decided at half a turn. Both plots go over the same frequencies.
        let shown = |phase: f64| if phase > -2.0 * PI { phase.to_degrees() } else { f64::NAN };
        phases.push(line(points.iter().map(|it| (it.frequency, shown(it.phase))).collect()));
        for margin in stability.phase_margin().into_iter().chain(stability.gain_margin()) {
            let name = "where margins are taken: of phase at gain one, of gain at half a turn".to_owned();
            gains.push(Mark::Upright { name: name.clone(), value: margin.frequency });
            phases.push(Mark::Upright { name, value: margin.frequency });
        }
    }
    gains.push(Mark::Level { name: "gain one, half a turn".to_owned(), value: 1.0 });
    phases.push(Mark::Level { name: "gain one, half a turn".to_owned(), value: -180.0 });
    let across = || Axis::log("frequency (rad/s)", Unit::Plain);
    Chart {
        title: format!("Open loop: {}", in_words(model)),
        stem: "bode".to_owned(),
        caption:
            "The loop comes to rest if the phase is above -180 degrees where the gain falls through one."
                .to_owned(),
        plots: vec![
            Plot {
                title: "Gain".to_owned(),
                across: across(),
                up: Axis::log("gain", Unit::Plain),
                marks: gains,
            },
            Plot {
                title: "Phase".to_owned(),
                across: across(),
                up: Axis::tight("phase (degrees)", Unit::Plain),
                marks: phases,
            },
        ],
    }
}

/// Where a model is stable, over two parameters.
pub fn map(model: &Model, map: &Map, across: Range, up: Range) -> Chart {
    let cell = |cell: &Cell| match cell {
        Cell::Rests { ratio: Some(ratio), .. } => Some(*ratio),
        Cell::Rests { critical: Critical::Never, .. } => Some(0.0),
        Cell::Rests { is_stable, .. } => Some(if *is_stable { f64::MAX } else { 0.0 }),
        Cell::Outside => None,
    };
    let axis = |range: Range| {
        let (name, unit) = parameter(range.parameter);
        Axis { is_log: range.is_log, ..Axis::straight(name, unit) }
    };
    let heat = Heat {
        above: "stable".to_owned(),
        below: "unstable".to_owned(),
        none: "no equilibrium".to_owned(),
        across: map.across.clone(),
        up: map.up.clone(),
        cells: map.cells.iter().map(|row| row.iter().map(cell).collect()).collect(),
    };
    let plot =
        Plot { title: String::new(), across: axis(across), up: axis(up), marks: vec![Mark::Heat(heat)] };
    let others = Parameter::ALL.into_iter().filter(|it| ![across.parameter, up.parameter].contains(it));
    let held = others.filter_map(|it| {
        let (name, unit) = parameter(it);
        Some(format!("{name} {}", unit.show_stated(it.value(model)?)))
    });
    Chart {
        title: format!("Where {} is stable", model.name()),
        stem: "map".to_owned(),
        caption: format!(
            "By the linearised loop: the darker, the further the delay is from the critical one, up to a factor of four. Held: {}.",
            held.collect::<Vec<_>>().join(", ")
        ),
        plots: vec![plot],
    }
}

/// Queue and rate over time.
pub fn trace(model: &Model, trace: &Trace) -> Chart {
    let line = |values: &[f64]| {
        let every = values.len().div_ceil(POINTS).max(1);
        let points = values.iter().enumerate().step_by(every).map(|(at, it)| (at as f64 * trace.step, *it));
        Mark::Line { name: "fluid model".to_owned(), points: points.collect(), colour: 0, dashed: false }
    };
    let mut queue = vec![line(&trace.queue)];
    if let Ok(rest) = model.equilibrium() {
        queue.push(Mark::Level { name: "equilibrium".to_owned(), value: rest.queue });
    }
    let share = model.path().capacity / f64::from(model.path().flows.max(1));
    let rate = vec![line(&trace.rate), Mark::Level { name: "equilibrium".to_owned(), value: share }];
    let time = || Axis::straight("time", Unit::Seconds);
    Chart {
        title: format!("In time: {}", in_words(model)),
        stem: "fluid".to_owned(),
        caption: "Queue and the rate of each flow.".to_owned(),
        plots: vec![
            Plot {
                title: "Queue".to_owned(),
                across: time(),
                up: Axis::straight("queue", Unit::Bytes),
                marks: queue,
            },
            Plot {
                title: "Rate of a flow".to_owned(),
                across: time(),
                up: Axis::straight("rate", Unit::BitsPerSecond),
                marks: rate,
            },
        ],
    }
}

/// Rate against queue, from several starts.
pub fn portrait(model: &Model, traces: &[Trace]) -> Chart {
    let line = |(colour, trace): (usize, &Trace)| {
        let every = trace.queue.len().div_ceil(POINTS).max(1);
        let points = trace.queue.iter().copied().zip(trace.rate.iter().copied()).step_by(every).collect();
        Mark::Line { name: String::new(), points, colour, dashed: false }
    };
    let mut marks: Vec<Mark> = traces.iter().enumerate().map(line).collect();
    let starts = traces.iter().filter_map(|it| Some((*it.queue.first()?, *it.rate.first()?)));
    marks.push(Mark::Points { name: "start".to_owned(), points: starts.collect(), colour: 6 });
    if let Ok(rest) = model.equilibrium() {
        let points = vec![(rest.queue, rest.rate)];
        marks.push(Mark::Points { name: "equilibrium".to_owned(), points, colour: 1 });
    }
    let plot = Plot {
        title: String::new(),
        across: Axis::straight("queue", Unit::Bytes),
        up: Axis::tight("rate of a flow", Unit::BitsPerSecond),
        marks,
    };
    Chart {
        title: format!("Phase portrait: {}", in_words(model)),
        stem: "portrait".to_owned(),
        caption: "Each line begins at a dot.".to_owned(),
        plots: vec![plot],
    }
}

/// The best rate to admit by the number of frames in the queue.
pub fn admission(problem: &Admission, policy: &Policy) -> Chart {
    // As many as there are likely to be, and some more.
    let last = policy.distribution.iter().rposition(|it| *it > 1e-4).unwrap_or(0);
    let shown = (last + last / 4 + 2).min(policy.rates.len());
    let line = |name: &str, values: &[f64], colour| {
        let points = values.iter().take(shown).enumerate().map(|(count, it)| (count as f64, *it));
        Mark::Line { name: name.to_owned(), points: points.collect(), colour, dashed: false }
    };
    let across = || Axis::straight("frames in the queue", Unit::Count);
    let rates = vec![
        line("best rate", &policy.rates, 0),
        Mark::Level { name: "service rate".to_owned(), value: problem.service },
    ];
    Chart {
        title: format!(
            "Optimal admission to a queue: {} offered, {} served",
            problem.offered, problem.service
        ),
        stem: "admission".to_owned(),
        caption: "The rate that makes the average cost least, and how often the queue is how long under it."
            .to_owned(),
        plots: vec![
            Plot {
                title: "Rate to admit".to_owned(),
                across: across(),
                up: Axis::straight("frames per unit of time", Unit::Plain),
                marks: rates,
            },
            Plot {
                title: "How often the queue is that long".to_owned(),
                across: across(),
                up: Axis::straight("share of time", Unit::Fraction),
                marks: vec![line("share of time", &policy.distribution, 2)],
            },
        ],
    }
}

/// Two series against each other, and their cross-correlation.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// What the first is, and its values in bits per second.
    pub rate: (&'a str, &'a [f64]),
    /// What the second is, and its values in octets.
    pub queue: (&'a str, &'a [f64]),
    /// The correlation at each lag, in steps.
    pub correlation: &'a [(i64, f64)],
    /// Seconds of a step.
    pub step: f64,
}

/// A scatter plot, and the cross-correlation over lags.
pub fn correlation(pair: &Pair<'_>) -> Chart {
    let points: Vec<(f64, f64)> = pair.queue.1.iter().copied().zip(pair.rate.1.iter().copied()).collect();
    let every = points.len().div_ceil(POINTS).max(1);
    let scatter = Mark::Points {
        name: "one sample".to_owned(),
        points: points.into_iter().step_by(every).collect(),
        colour: 0,
    };
    let lags = pair.correlation.iter().map(|(lag, it)| (*lag as f64 * pair.step, *it));
    let line =
        Mark::Line { name: "cross-correlation".to_owned(), points: lags.collect(), colour: 1, dashed: false };
    Chart {
        title: format!("{} and {}", pair.rate.0, pair.queue.0),
        stem: "correlation".to_owned(),
        caption: "A control that acts at once and in proportion gives a falling line and a dip to -1 at a lag of zero."
            .to_owned(),
        plots: vec![
            Plot {
                title: "Rate against queue".to_owned(),
                across: Axis::straight(pair.queue.0, Unit::Bytes),
                up: Axis::straight(pair.rate.0, Unit::BitsPerSecond),
                marks: vec![scatter],
            },
            Plot {
                title: "Cross-correlation, the queue later by the lag".to_owned(),
                across: Axis::straight("lag", Unit::Seconds),
                up: Axis::straight("correlation", Unit::Plain),
                marks: vec![line, Mark::Upright { name: "no lag".to_owned(), value: 0.0 }],
            },
        ],
    }
}
