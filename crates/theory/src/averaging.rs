//! Why recovering half a cut steadies a loop: the averaging principle (Alizadeh et al., "Stability Analysis of
//! QCN: The Averaging Principle", SIGMETRICS 2011).
//!
//! A controller that acts on feedback at the start of each interval and takes half of it back in the middle
//! delivers, interval by interval, what a plain controller does that is driven by the feedback and by its change:
//! the derivative comes for nothing.

/// What a controller delivers in each interval, on average, that applies the feedback and goes half the way back
/// in the middle of the interval.
pub fn averaging(start: f64, feedback: &[f64]) -> Vec<f64> {
    let mut rate = start;
    let interval = |&feedback: &f64| {
        let (first, second) = (rate + feedback, rate + feedback / 2.0);
        rate = second;
        f64::midpoint(first, second)
    };
    feedback.iter().map(interval).collect()
}

/// What a plain controller delivers that is driven by half the feedback and a quarter of its change. It begins
/// as far off as if the feedback had been zero before.
pub fn proportional_derivative(start: f64, feedback: &[f64]) -> Vec<f64> {
    let (mut rate, mut before) = (start, 0.0);
    let interval = |&feedback: &f64| {
        rate += 0.5 * feedback + 0.25 * (feedback - before);
        before = feedback;
        rate
    };
    feedback.iter().map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn averaging_is_proportional_derivative_control(feedback in prop::collection::vec(-1024_i32..1024, 0..200)) {
            // Multiples of a power of two: sums are exact, and so is the claim.
            let feedback: Vec<f64> = feedback.into_iter().map(|it| f64::from(it) / 64.0).collect();
            prop_assert_eq!(averaging(40.0, &feedback), proportional_derivative(40.0, &feedback));
        }
    }
}
