//! Charts: pairs of axes that need not be time, straight or logarithmic, with lines, points, levels and shaded
//! fields. A [`Figure`](super::Figure) is made of recordings; a chart of whatever was computed.

mod axis;
mod csv;
mod svg;
mod text;

use crate::unit::Unit;
use serde::{Deserialize, Serialize};

/// Some plots under one heading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// The name of its files, without ending.
    pub stem: String,
    /// How to read it.
    pub caption: String,
    /// Its plots, one below the other.
    pub plots: Vec<Plot>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What it shows; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical one.
    pub up: Axis,
    /// What is drawn, the first below the others.
    pub marks: Vec<Mark>,
}

/// What an axis measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// In words.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Whether equal steps are equal factors.
    pub is_log: bool,
    /// Whether it ends where the values do, instead of at zero.
    pub is_tight: bool,
}

/// Something drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Points joined in order.
    Line {
        /// Its name in the legend.
        name: String,
        /// Its points.
        points: Vec<(f64, f64)>,
        /// Its colour, as an index into the palette.
        colour: usize,
        /// Whether it is dashed.
        dashed: bool,
    },
    /// Points by themselves.
    Points {
        /// Their name in the legend.
        name: String,
        /// The points.
        points: Vec<(f64, f64)>,
        /// Their colour.
        colour: usize,
    },
    /// A horizontal line to compare with.
    Level {
        /// What it is.
        name: String,
        /// Where it lies.
        value: f64,
    },
    /// A vertical line to compare with.
    Upright {
        /// What it is.
        name: String,
        /// Where it stands.
        value: f64,
    },
    /// A field of shaded cells.
    Heat(Heat),
    /// Bars that lie below each other, each with its name and its value: the plot has nothing else. The vertical
    /// axis names them, the horizontal one measures.
    Bars(Vec<(String, f64)>),
}

/// A field of cells: blue above one, orange below, the more so the further by factor; grey where there is nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// What cells above one are.
    pub above: String,
    /// What cells below one are.
    pub below: String,
    /// What cells without a value are.
    pub none: String,
    /// The places of the columns, rising.
    pub across: Vec<f64>,
    /// The places of the rows, rising.
    pub up: Vec<f64>,
    /// `cells[row][column]`.
    pub cells: Vec<Vec<Option<f64>>>,
}

impl Axis {
    /// A straight axis.
    pub fn straight(name: &str, unit: Unit) -> Axis {
        Axis { name: name.to_owned(), unit, is_log: false, is_tight: false }
    }

    /// An axis of equal factors.
    pub fn log(name: &str, unit: Unit) -> Axis {
        Axis { is_log: true, ..Axis::straight(name, unit) }
    }

    /// A straight axis about its values, wherever zero is.
    pub fn tight(name: &str, unit: Unit) -> Axis {
        Axis { is_tight: true, ..Axis::straight(name, unit) }
    }
}

impl Chart {
    /// The chart as a vector picture that stands alone.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    /// Every number of the chart, one a row, in base units.
    pub fn to_csv(&self) -> String {
        csv::write(self)
    }

    /// The chart in characters.
    pub fn to_text(&self) -> String {
        text::draw(self)
    }
}

#[cfg(test)]
mod tests;
