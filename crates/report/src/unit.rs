//! The units of measured numbers, and how people read them.

use serde::{Deserialize, Serialize};

/// What a measured number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Octets.
    Bytes,
    /// Seconds.
    Seconds,
    /// A part of a whole, shown in percent.
    Fraction,
    /// Things counted: frames, notifications, pauses.
    Count,
    /// A number without a unit: an index, a ratio.
    Plain,
}

/// A unit with its decimal prefix, as an axis carries it: divide by `divisor`, write `name`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// What a value in the base unit is divided by.
    pub divisor: f64,
    /// The prefixed unit; empty for plain numbers.
    pub name: &'static str,
}

const RATES: [Scaled; 5] =
    [scaled(1e12, "Tb/s"), scaled(1e9, "Gb/s"), scaled(1e6, "Mb/s"), scaled(1e3, "kb/s"), scaled(1.0, "b/s")];
const SIZES: [Scaled; 4] = [scaled(1e9, "GB"), scaled(1e6, "MB"), scaled(1e3, "kB"), scaled(1.0, "B")];
const TIMES: [Scaled; 4] = [scaled(1.0, "s"), scaled(1e-3, "ms"), scaled(1e-6, "µs"), scaled(1e-9, "ns")];
const PERCENT: [Scaled; 1] = [scaled(0.01, "%")];
const BARE: [Scaled; 1] = [scaled(1.0, "")];

const fn scaled(divisor: f64, name: &'static str) -> Scaled {
    Scaled { divisor, name }
}

impl Unit {
    /// The prefix under which numbers up to `largest` are read most easily.
    pub fn scale_for(self, largest: f64) -> Scaled {
        let largest = largest.abs();
        let ladder = self.ladder();
        if largest == 0.0 || !largest.is_finite() {
            return ladder[ladder.len() / 2];
        }
        *ladder.iter().find(|step| largest >= step.divisor * 0.9995).unwrap_or(&ladder[ladder.len() - 1])
    }

    /// The value with three significant digits and its unit: `33.2 kB`.
    pub fn show(self, value: f64) -> String {
        self.show_with(value, 3)
    }

    /// The value with this many significant digits and its unit.
    pub fn show_with(self, value: f64, digits: usize) -> String {
        if value == f64::INFINITY {
            return "never".to_owned();
        }
        let scale = if value == 0.0 { self.base() } else { self.scale_for(value) };
        let number = if self == Unit::Count && value.fract() == 0.0 {
            format!("{value:.0}")
        } else {
            // Not quite all is not all: 99.97 % keeps the digits that say so.
            let short_of_all = self == Unit::Fraction && value < 1.0;
            let enough = (digits..digits + 4).map(|digits| significant(value / scale.divisor, digits));
            let mut enough = enough.skip_while(|number| short_of_all && number.starts_with("100"));
            enough.next().unwrap_or_else(|| significant(value / scale.divisor, digits))
        };
        joined(&number, scale.name)
    }

    /// A value somebody wrote, without digits they did not write: `2.5 Gb/s`.
    pub fn show_stated(self, value: f64) -> String {
        let scale = if value == 0.0 { self.base() } else { self.scale_for(value) };
        let number = significant(value / scale.divisor, 6);
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
        joined(number, scale.name)
    }

    /// The value with as many digits as it takes to tell it from `bounds`: a miss must not look like a hit.
    pub fn show_beside(self, value: f64, bounds: &[f64]) -> String {
        (3..=9)
            .map(|digits| (digits, self.show_with(value, digits)))
            .find(|(digits, shown)| {
                bounds.iter().all(|bound| {
                    (value - bound).abs() <= f64::EPSILON * bound.abs()
                        || self.show_with(*bound, *digits) != *shown
                })
            })
            .map_or_else(|| self.show_with(value, 9), |(_, shown)| shown)
    }

    fn ladder(self) -> &'static [Scaled] {
        match self {
            Unit::BitsPerSecond => &RATES,
            Unit::Bytes => &SIZES,
            Unit::Seconds => &TIMES,
            Unit::Fraction => &PERCENT,
            Unit::Count | Unit::Plain => &BARE,
        }
    }

    fn base(self) -> Scaled {
        let ladder = self.ladder();
        *ladder.iter().find(|step| (step.divisor - 1.0).abs() < f64::EPSILON).unwrap_or(&ladder[0])
    }
}

/// `value` with `digits` significant digits, never in scientific form.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    // At most a dozen decimals: what is smaller than that is nothing to a reader.
    let decimals = |magnitude: f64| (digits as f64 - 1.0 - magnitude).clamp(0.0, 12.0);
    let magnitude = value.abs().log10().floor();
    let up = 10_f64.powf(magnitude + 1.0) - 0.5 * 10_f64.powf(-decimals(magnitude));
    let magnitude = if value.abs() >= up { magnitude + 1.0 } else { magnitude };
    let decimals = decimals(magnitude);
    format!("{value:.*}", decimals as usize)
}

fn joined(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_the_prefix_people_would_choose() {
        assert_eq!(Unit::Bytes.show(33_210.0), "33.2 kB");
        assert_eq!(Unit::BitsPerSecond.show(2.5e9), "2.50 Gb/s");
        assert_eq!(Unit::Seconds.show(0.0742), "74.2 ms");
        assert_eq!(Unit::Fraction.show(0.9731), "97.3 %");
        assert_eq!(Unit::Fraction.show(0.9997), "99.97 %");
        assert_eq!(Unit::Fraction.show(1.0), "100 %");
        assert_eq!(Unit::Count.show(12.0), "12");
        assert_eq!(Unit::Bytes.show(999.9), "1.00 kB");
        assert_eq!(Unit::Seconds.show(0.0), "0 s");
    }

    #[test]
    fn a_stated_value_gains_no_digits() {
        assert_eq!(Unit::BitsPerSecond.show_stated(2.5e9), "2.5 Gb/s");
        assert_eq!(Unit::Fraction.show_stated(0.97), "97 %");
        assert_eq!(Unit::Bytes.show_stated(33_000.0), "33 kB");
        assert_eq!(Unit::Plain.show_stated(200.0), "200");
    }

    #[test]
    fn a_narrow_miss_does_not_read_as_a_hit() {
        assert_eq!(Unit::Fraction.show_beside(0.969_98, &[0.97]), "96.998 %");
        assert_eq!(Unit::Fraction.show_beside(0.97, &[0.97]), "97.0 %");
    }
}
