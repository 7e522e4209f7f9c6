//! From values to places on an axis, straight or logarithmic.

use super::{Axis, Mark, Plot};
use crate::figure::scale::{Scale, round_up};
use crate::unit::{Scaled, significant};

/// An axis with its extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    scale: Scale,
    /// The unit that its labels are in.
    pub(super) unit: Scaled,
    low: f64,
    high: f64,
    is_log: bool,
}

impl Placed {
    /// The horizontal axis of a plot, on these pixels.
    pub(super) fn across(plot: &Plot, pixels: (f64, f64)) -> Placed {
        Placed::new(&plot.across, values(plot, |point| point.0), pixels, false)
    }

    /// The vertical one, with a little room above.
    pub(super) fn up(plot: &Plot, pixels: (f64, f64)) -> Placed {
        // A field ends where its cells do.
        let with_room = !plot.marks.iter().any(|mark| matches!(mark, Mark::Heat(_)));
        Placed::new(&plot.up, values(plot, |point| point.1), pixels, with_room)
    }

    fn new(axis: &Axis, values: Vec<f64>, pixels: (f64, f64), with_room: bool) -> Placed {
        let usable = values.into_iter().filter(|it| it.is_finite() && (!axis.is_log || *it > 0.0));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
        if low > high {
            (low, high) = if axis.is_log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let unit = axis.unit.scale_for(low.abs().max(high.abs()));
        (low, high) = (low / unit.divisor, high / unit.divisor);
        if axis.is_log {
            if high <= low * 1.000_001 {
                (low, high) = (low / 2.0, high * 2.0);
            }
        } else if axis.is_tight {
            let room = ((high - low) * 0.06).max(high.abs() * 1e-3);
            (low, high) = (low - room, high + room);
        } else if with_room {
            // From zero where everything is above it; both ways where not.
            high = if high > 0.0 { round_up(high) } else { 0.0 };
            low = if low < 0.0 { -round_up(-low) } else { 0.0 };
        }
        let ends = if axis.is_log { (low.log10(), high.log10()) } else { (low, high) };
        Placed { scale: Scale::new(ends, pixels), unit, low, high, is_log: axis.is_log }
    }

    /// The pixel of a value in base units, kept on the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        self.place_scaled(value / self.unit.divisor)
    }

    fn place_scaled(&self, value: f64) -> f64 {
        match self.is_log {
            true => self.scale.place(value.max(self.low / 10.0).log10()),
            false => self.scale.place(value),
        }
    }

    /// Whether a value in base units lies on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        let value = value / self.unit.divisor;
        let room = (self.high - self.low).abs() * 1e-6;
        value.is_finite() && value >= self.low - room && value <= self.high + room
    }

    /// The pixels and labels of its ticks.
    pub(super) fn ticks(&self, apart: f64) -> Vec<(f64, String)> {
        if !self.is_log {
            let ticks = self.scale.ticks(apart).into_iter();
            return ticks.map(|(value, label)| (self.scale.place(value), label)).collect();
        }
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        let within = all.filter(|it| (self.low * 0.999..=self.high * 1.001).contains(it));
        within.map(|it| (self.place_scaled(it), label(it))).collect()
    }

    /// Both ends in words, for a chart of characters.
    pub(super) fn ends(&self) -> [String; 2] {
        [self.low, self.high].map(|it| {
            let number = if it == 0.0 { "0".to_owned() } else { significant(it, 3) };
            if self.unit.name.is_empty() { number } else { format!("{number} {}", self.unit.name) }
        })
    }
}

fn label(value: f64) -> String {
    let shown = significant(value, 1);
    if value >= 1e5 { format!("1e{}", value.log10().round()) } else { shown }
}

/// What the marks of a plot have along one of its axes.
fn values(plot: &Plot, of: impl Fn(&(f64, f64)) -> f64) -> Vec<f64> {
    let is_across = of(&(1.0, 0.0)) > 0.5;
    let mut values = Vec::new();
    for mark in &plot.marks {
        match mark {
            Mark::Line { points, .. } | Mark::Points { points, .. } => values.extend(points.iter().map(&of)),
            Mark::Level { value, .. } if !is_across => values.push(*value),
            Mark::Upright { value, .. } if is_across => values.push(*value),
            Mark::Level { .. } | Mark::Upright { .. } => {}
            Mark::Bars(rows) if is_across => values.extend(rows.iter().map(|it| it.1)),
            Mark::Bars(_) => {}
            Mark::Heat(heat) => values.extend(if is_across { &heat.across } else { &heat.up }),
        }
    }
    values
}
