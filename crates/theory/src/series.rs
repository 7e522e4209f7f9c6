//! Statistics of values at equal steps of time: how two go together, and how one repeats itself.

use serde::{Deserialize, Serialize};

/// A series is said to oscillate if its swings are at least this much alike in length.
pub const LEAST_STRENGTH: f64 = 0.5;
/// Fewer swings than this are no oscillation.
const LEAST_SWINGS: usize = 3;

/// How a series swings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Seconds of a swing, on average.
    pub seconds: f64,
    /// How much alike swings are: one less their standard deviation over their mean. 1 for a clock; noise stays below
    /// a half.
    pub strength: f64,
}

/// The mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of the values themselves.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// Pearson's coefficient of two series of one length: -1 if one falls as the other rises. None if either never
/// changes.
pub fn coefficient(first: &[f64], second: &[f64]) -> Option<f64> {
    let count = first.len().min(second.len());
    let (first, second) = (&first[..count], &second[..count]);
    let scale = deviation(first)? * deviation(second)?;
    let (about, other) = (mean(first)?, mean(second)?);
    let size = (about.abs() + 1e-300) * (other.abs() + 1e-300);
    // A series that never changes has a deviation of rounding errors only.
    if scale <= size * 1e-24 {
        return None;
    }
    let product: f64 = first.iter().zip(second).map(|(a, b)| (a - about) * (b - other)).sum();
    Some((product / count as f64 / scale).clamp(-1.0, 1.0))
}

/// The coefficient over the steps at which the first series rises: its increments there, and the other's. What a
/// source does that claims rate back, against what the queue does meanwhile.
pub fn rising_coefficient(first: &[f64], second: &[f64]) -> Option<f64> {
    let steps = first.windows(2).zip(second.windows(2));
    let rises: Vec<(f64, f64)> =
        steps.map(|(a, b)| (a[1] - a[0], b[1] - b[0])).filter(|(rise, _)| *rise > 0.0).collect();
    let (ups, others): (Vec<f64>, Vec<f64>) = rises.into_iter().unzip();
    coefficient(&ups, &others)
}

/// The cross-correlation: for each lag from `-most` to `most` steps, the coefficient of the first series with the
/// second that many steps later, over means and deviations of the whole. Lags with nothing in common, and series
/// that never change, have none.
pub fn cross_correlation(first: &[f64], second: &[f64], most: usize) -> Vec<(i64, f64)> {
    let count = first.len().min(second.len());
    let (first, second) = (&first[..count], &second[..count]);
    let (Some(about), Some(other)) = (mean(first), mean(second)) else { return Vec::new() };
    let scale = deviation(first).unwrap_or(0.0) * deviation(second).unwrap_or(0.0) * count as f64;
    if scale <= (about.abs() + 1e-300) * (other.abs() + 1e-300) * 1e-24 {
        return Vec::new();
    }
    let most = most.min(count.saturating_sub(1)) as i64;
    let at = |lag: i64| {
        let shift = lag.unsigned_abs() as usize;
        let (early, late) = if lag >= 0 { (first, &second[shift..]) } else { (&first[shift..], second) };
        let product: f64 = early.iter().zip(late).map(|(a, b)| (a - about) * (b - other)).sum();
        (lag, product / scale)
    };
    (-most..=most).map(at).collect()
}

/// The period of a series: the time from one rise through its mean to the next. A rise counts once the series has been
/// well below the mean, by half its standard deviation, so that ripple does not. None if it never changes, swings
/// fewer than three times, or swings too differently ([`LEAST_STRENGTH`]).
pub fn period(values: &[f64], step: f64) -> Option<Period> {
    let (about, spread) = (mean(values)?, deviation(values)?);
    // Rounding alone is no change.
    if spread <= about.abs() * 1e-9 {
        return None;
    }
    let mut rises = Vec::new();
    let mut was_below = false;
    for (at, pair) in values.windows(2).enumerate() {
        was_below |= pair[0] < about - spread / 2.0;
        if was_below && pair[1] >= about {
            let share = (about - pair[0]) / (pair[1] - pair[0]);
            rises.push(at as f64 + share);
            was_below = false;
        }
    }
    let swings: Vec<f64> = rises.windows(2).map(|it| (it[1] - it[0]) * step).collect();
    if swings.len() < LEAST_SWINGS {
        return None;
    }
    let seconds = mean(&swings)?;
    let strength = 1.0 - deviation(&swings)? / seconds;
    (strength >= LEAST_STRENGTH).then_some(Period { seconds, strength })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn wave(count: usize, period: f64, shift: f64) -> Vec<f64> {
        (0..count).map(|it| 5.0 + ((it as f64 - shift) / period * TAU).sin()).collect()
    }

    #[test]
    fn what_falls_as_the_other_rises_has_a_coefficient_of_minus_one() {
        assert_eq!(coefficient(&[1.0, 2.0, 4.0], &[9.0, 7.0, 3.0]), Some(-1.0));
        assert_eq!(coefficient(&[1.0, 2.0, 4.0], &[3.0, 3.0, 3.0]), None);
        // By hand: deviations sqrt(2/3) and sqrt(8/9), covariance 2/3.
        let found = coefficient(&[1.0, 2.0, 3.0], &[1.0, 1.0, 3.0]).unwrap();
        assert!((found - (2.0 / 3.0) / (2.0_f64 / 3.0 * 8.0 / 9.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn only_rises_count_for_the_rising_coefficient() {
        let rate = [1.0, 2.0, 1.0, 4.0, 0.0, 2.0];
        let queue = [0.0, 10.0, 90.0, 120.0, 500.0, 520.0];
        // Rises of 1, 3 and 2 with the queue's 10, 30 and 20.
        assert!((rising_coefficient(&rate, &queue).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_shifted_copy_is_found_at_its_shift() {
        let found = cross_correlation(&wave(4000, 100.0, 0.0), &wave(4000, 100.0, 13.0), 40);
        let best = found.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!((found.len(), best.0), (81, 13));
        assert!(best.1 > 0.99);
    }

    #[test]
    fn a_period_between_two_samples_is_found() {
        let found = period(&wave(3000, 87.4, 0.0), 1e-6).unwrap();
        assert!((found.seconds - 87.4e-6).abs() < 0.1e-6, "{found:?}");
        assert!(found.strength > 0.99);
    }

    #[test]
    fn ripple_on_a_swing_is_no_swing() {
        let rippled: Vec<f64> =
            wave(3000, 300.0, 0.0).iter().zip(wave(3000, 7.0, 0.0)).map(|(a, b)| a + b / 5.0).collect();
        let found = period(&rippled, 1.0).unwrap();
        assert!((found.seconds - 300.0).abs() < 3.0, "{found:?}");
    }

    #[test]
    fn what_does_not_repeat_has_no_period() {
        assert_eq!(period(&[3.0; 100], 1.0), None);
        assert_eq!(period(&(0..500).map(f64::from).collect::<Vec<_>>(), 1.0), None);
        let mut seed = 1_u64;
        let mut noise = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64
        };
        assert_eq!(period(&(0..4000).map(|_| noise()).collect::<Vec<_>>(), 1.0), None);
    }

    proptest! {
        #[test]
        fn nothing_is_ever_beyond_one_or_no_number(values in prop::collection::vec(-1e9..1e9_f64, 0..60)) {
            let other: Vec<f64> = values.iter().rev().copied().collect();
            for (_, value) in cross_correlation(&values, &other, 20) {
                prop_assert!(value.abs() <= 1.0 + 1e-9);
            }
            prop_assert!(coefficient(&values, &other).is_none_or(|it| it.abs() <= 1.0));
            prop_assert!(period(&values, 1.0).is_none_or(|it| it.seconds > 0.0 && it.strength.is_finite()));
        }
    }
}
