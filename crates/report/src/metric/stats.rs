//! The arithmetic of metrics. Every function says `None` where the number does not exist, so that no
//! infinity and no NaN ever reaches a table.

/// The mean, if there is anything to average.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The `q`-quantile, interpolated between the two values around rank `q (n - 1)`.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

/// As [`quantile`], of values already in ascending order.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    // What never comes has no distance to go part of the way.
    let between = rank.fract() > 0.0 && high > low;
    Some(if between { low + (high - low) * rank.fract() } else { low })
}

/// The least and the greatest.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), &value| (low.min(value), high.max(value))))
}

/// The mean of values that each stand for a weight: a level for a time.
pub fn weighted_mean(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weight) =
        pairs.fold((0.0, 0.0), |(sum, total), (value, weight)| (sum + value * weight, total + weight));
    (weight > 0.0).then(|| sum / weight)
}

/// The standard deviation about the weighted mean, of the whole population.
pub fn weighted_deviation(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let mean = weighted_mean(pairs.clone())?;
    weighted_mean(pairs.map(|(value, weight)| ((value - mean).powi(2), weight))).map(f64::sqrt)
}

/// Jain's index, from 1/n (one has all) to 1 (all have the same); none if all are zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    // Scaled by the greatest, so that squares of huge rates stay in range.
    let (_, greatest) = range(values)?;
    if greatest <= 0.0 {
        return None;
    }
    let sum: f64 = values.iter().map(|value| value / greatest).sum();
    let squares: f64 = values.iter().map(|value| (value / greatest).powi(2)).sum();
    Some(sum * sum / (values.len() as f64 * squares))
}

/// The greatest over the least; none if the least is zero.
pub fn max_over_min(values: &[f64]) -> Option<f64> {
    let (least, greatest) = range(values)?;
    (least > 0.0).then(|| greatest / least)
}

/// The 95 % confidence interval of the mean, by Student's t; none for fewer than two values, or where one is never.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = mean(values)?;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let half = student_t975(n - 1) * (variance / n as f64).sqrt();
    Some((mean - half, mean + half))
}

/// The 0.975 quantile of Student's t: from a table up to 30 degrees of freedom, and beyond by the first
/// terms of its expansion around the normal quantile, which there err by less than one in ten thousand.
fn student_t975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    const Z: f64 = 1.959_964;
    if let Some(value) = degrees.checked_sub(1).and_then(|index| TABLE.get(index)) {
        return *value;
    }
    let nu = degrees as f64;
    let (z3, z5) = (Z.powi(3), Z.powi(5));
    Z + (z3 + Z) / (4.0 * nu) + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * nu * nu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: Option<f64>, wanted: f64) {
        let found = found.expect("a number");
        assert!((found - wanted).abs() < 1e-9 * wanted.abs().max(1.0), "{found} is not {wanted}");
    }

    #[test]
    fn jain_agrees_with_hand_arithmetic() {
        near(jain(&[2.0, 2.0, 2.0]), 1.0);
        near(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        // (1 + 2 + 3)² / (3 (1 + 4 + 9)) = 36 / 42.
        near(jain(&[1.0, 2.0, 3.0]), 36.0 / 42.0);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn quantiles_interpolate_between_ranks() {
        let values = [4.0, 1.0, 3.0, 2.0];
        near(median(&values), 2.5);
        near(quantile(&values, 0.0), 1.0);
        near(quantile(&values, 1.0), 4.0);
        // Rank 0.9 * 3 = 2.7: 3 + 0.7 * (4 - 3).
        near(quantile(&values, 0.9), 3.7);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_level_counts_for_as_long_as_it_lasts() {
        let levels = [(10.0, 1.0), (20.0, 3.0)];
        near(weighted_mean(levels.into_iter()), 17.5);
        // ((7.5)² · 1 + (2.5)² · 3) / 4 = 18.75.
        near(weighted_deviation(levels.into_iter()), 18.75_f64.sqrt());
        assert_eq!(weighted_mean([(1.0, 0.0)].into_iter()), None);
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert_eq!(max_over_min(&[0.0, 1.0]), None);
        near(max_over_min(&[2.0, 5.0]), 2.5);
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        let (low, high) = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("five values");
        // Mean 3, standard error sqrt(2.5 / 5), t(4) = 2.776.
        let half = 2.776 * 0.5_f64.sqrt();
        near(Some(low), 3.0 - half);
        near(Some(high), 3.0 + half);
        assert_eq!(mean_interval(&[1.0]), None);
    }

    #[test]
    fn students_quantile_goes_on_smoothly_beyond_its_table() {
        for (degrees, wanted) in [(31, 2.0395), (60, 2.0003), (120, 1.9799)] {
            assert!((student_t975(degrees) - wanted).abs() < 2e-4, "{degrees}: {}", student_t975(degrees));
        }
    }

    proptest! {
        #[test]
        fn jain_lies_between_one_nth_and_one(values in prop::collection::vec(0.0..1e12_f64, 1..40)) {
            if let Some(index) = jain(&values) {
                prop_assert!(index >= 1.0 / values.len() as f64 - 1e-12 && index <= 1.0 + 1e-12);
            }
        }

        #[test]
        fn a_quantile_lies_within_the_range(values in prop::collection::vec(-1e9..1e9_f64, 1..40), q in 0.0..=1.0_f64) {
            let (low, high) = range(&values).unwrap();
            let found = quantile(&values, q).unwrap();
            prop_assert!(found >= low && found <= high);
        }

        #[test]
        fn a_mean_lies_within_its_interval(values in prop::collection::vec(0.0..1e9_f64, 2..40)) {
            let (low, high) = mean_interval(&values).unwrap();
            let mean = mean(&values).unwrap();
            prop_assert!(low <= mean && mean <= high);
        }
    }
}
