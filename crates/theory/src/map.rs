//! Where a model is stable, over two of its parameters.

use crate::model::{Model, Parameter};
use crate::outside::{Outside, positive, within};
use crate::stability::{Critical, Stability};
use serde::{Deserialize, Serialize};

/// Values of one parameter, equally spaced by themselves or by their logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The parameter.
    pub parameter: Parameter,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    /// How many.
    pub count: usize,
    /// Whether by logarithm.
    pub is_log: bool,
}

impl Range {
    /// The values; whole where the parameter counts, and then perhaps fewer.
    pub fn values(&self) -> Result<Vec<f64>, Outside> {
        positive("the number of steps", self.count as f64)?;
        if self.is_log {
            positive("the start of a logarithmic range", self.from)?;
        }
        within("the end of a range", self.to, self.to > self.from, "above its start")?;
        let share = |index: usize| index as f64 / (self.count.max(2) - 1) as f64;
        let at = |index: usize| match self.is_log {
            true => self.from * (self.to / self.from).powf(share(index)),
            false => self.from + (self.to - self.from) * share(index),
        };
        let mut values: Vec<f64> = (0..self.count).map(at).collect();
        if self.parameter == Parameter::Flows {
            values.iter_mut().for_each(|it| *it = it.round());
            values.dedup();
        }
        Ok(values)
    }
}

/// What is known of one pair of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// The model rests somewhere, and bears this much delay; `ratio` is that over the delay it has.
    Rests {
        /// What it bears.
        critical: Critical,
        /// Above one: stable. None where there is no critical delay.
        ratio: Option<f64>,
        /// Whether it is stable.
        is_stable: bool,
    },
    /// It does not rest anywhere, or the parameters make no sense together.
    Outside,
}

/// Stability over two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The values along the first.
    pub across: Vec<f64>,
    /// The values along the second.
    pub up: Vec<f64>,
    /// `cells[row][column]`: the second parameter by row, the first by column.
    pub cells: Vec<Vec<Cell>>,
    /// Why some cells are outside; the first reason found.
    pub why_outside: Option<Outside>,
}

/// Asks a model's stability for each pair of values.
pub fn map(model: &Model, across: Range, up: Range) -> Result<Map, Outside> {
    for range in [across, up] {
        if !range.parameter.is_of(model) {
            return Err(Outside::NoSuchParameter { what: range.parameter.name(), model: model.name() });
        }
    }
    let (columns, rows) = (across.values()?, up.values()?);
    let mut why_outside = None;
    let mut cell = |column: f64, row: f64| {
        let varied = across.parameter.set(model, column).and_then(|it| up.parameter.set(&it, row));
        let found = varied.and_then(|it| Ok((Stability::critical_delay(&it)?, it.path().delay)));
        match found {
            Ok((critical, delay)) => Cell::Rests {
                critical,
                ratio: critical.delay().filter(|_| delay > 0.0).map(|it| it / delay),
                is_stable: critical.admits(delay),
            },
            Err(why) => {
                why_outside.get_or_insert(why);
                Cell::Outside
            }
        }
    };
    let cells = rows.iter().map(|&row| columns.iter().map(|&column| cell(column, row)).collect()).collect();
    Ok(Map { across: columns, up: rows, cells, why_outside })
}
