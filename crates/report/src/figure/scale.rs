//! Where values lie on an axis, and which of them get a tick.

/// A linear axis from data to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// Maps `low..high` onto `start..end`; an empty or broken range becomes 0..1 above `low`.
    pub(super) fn new((low, high): (f64, f64), (start, end): (f64, f64)) -> Scale {
        let low = if low.is_finite() { low } else { 0.0 };
        let usable = high.is_finite() && high > low && (high - low).is_finite();
        Scale { low, high: if usable { high } else { low + 1.0 }, start, end }
    }

    /// The pixel of a value, kept inside the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        self.start + share * (self.end - self.start)
    }

    /// Round values about `pixels` apart, with their labels.
    pub(super) fn ticks(&self, pixels: f64) -> Vec<(f64, String)> {
        let wanted = ((self.end - self.start).abs() / pixels).max(1.0);
        let step = round_step((self.high - self.low) / wanted);
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let first = (self.low / step - 1e-9).ceil();
        let mut ticks = Vec::new();
        // The bound only guards against steps too small to move a float.
        for count in 0..100 {
            let value = (first + f64::from(count)) * step;
            if value > self.high + step * 1e-6 || !value.is_finite() {
                break;
            }
            let shown = if value == 0.0 { 0.0 } else { value };
            ticks.push((value, format!("{shown:.decimals$}")));
        }
        ticks
    }
}

/// The upper end of an axis from zero that shows `largest` with a little room, ending at a round value.
pub(super) fn round_up(largest: f64) -> f64 {
    if !largest.is_finite() || largest <= 0.0 {
        return 1.0;
    }
    let step = round_step(largest / 8.0);
    let top = (largest * 1.02 / step).ceil() * step;
    if top.is_finite() { top } else { largest }
}

/// The least of 1, 2, 5 times a power of ten that is not less than `rough`.
fn round_step(rough: f64) -> f64 {
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|step| *step >= rough * (1.0 - 1e-9));
    step.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_carry_only_the_digits_they_need() {
        let labels =
            |scale: Scale| scale.ticks(40.0).into_iter().map(|tick| tick.1).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(Scale::new((0.0, 600.0), (0.0, 280.0))), "0 100 200 300 400 500 600");
        assert_eq!(labels(Scale::new((0.0, 0.5), (200.0, 0.0))), "0.0 0.1 0.2 0.3 0.4 0.5");
    }

    #[test]
    fn an_axis_without_extent_is_still_an_axis() {
        let scale = Scale::new((3.0, 3.0), (0.0, 100.0));
        assert!((scale.place(3.0) - 0.0).abs() < 1e-9);
        assert!(!scale.ticks(20.0).is_empty());
    }

    proptest! {
        #[test]
        fn every_value_lands_on_the_axis(low in any::<f64>(), high in any::<f64>(), value in any::<f64>()) {
            let scale = Scale::new((low, high), (10.0, 110.0));
            let place = scale.place(value);
            prop_assert!((10.0..=110.0).contains(&place));
            prop_assert!(scale.ticks(30.0).len() <= 100);
            prop_assert!(round_up(value).is_finite());
        }
    }
}
