//! Differential equations that look back: fixed steps, fourth order, history kept and interpolated.

use crate::outside::Outside;

/// What a model is made of at an instant: queue, current rate, target rate, and what else it
/// keeps; unused places are zero.
pub(crate) type State = [f64; PLACES];

/// How many numbers that is.
pub(crate) const PLACES: usize = 6;

/// Steps that one integration may take; each keeps 96 octets.
pub(crate) const MOST_STEPS: usize = 4_000_000;

/// A system whose change depends on what it is and on what it was.
pub(crate) trait System {
    /// How it changes per second.
    fn slope(&self, time: f64, now: &State, past: &Past<'_>) -> State;

    /// Puts a state back that a step took beyond what can be: a queue below empty, a rate below zero.
    fn confine(&self, state: &mut State);
}

/// What a system was, seen from one instant.
pub(crate) struct Past<'a> {
    history: &'a History,
    time: f64,
    now: &'a State,
}

impl Past<'_> {
    /// The state `delay` seconds ago. Before the beginning it was as it began.
    pub(crate) fn back(&self, delay: f64) -> State {
        if delay <= 0.0 { *self.now } else { self.history.at(self.time - delay, (self.time, self.now)) }
    }
}

/// A solution: states and slopes at equal steps from zero.
#[derive(Clone, Debug)]
pub(crate) struct History {
    step: f64,
    states: Vec<State>,
    slopes: Vec<State>,
}

impl History {
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    pub(crate) fn states(&self) -> &[State] {
        &self.states
    }

    /// The state at a time, by the cubic through its neighbours' states and slopes. Between the last step and
    /// `latest`, where nothing is settled yet, by the line between the two.
    fn at(&self, time: f64, latest: (f64, &State)) -> State {
        if time <= 0.0 {
            return self.states[0];
        }
        let steps = time / self.step;
        let index = steps as usize;
        let share = steps - index as f64;
        let last = self.states.len() - 1;
        // The slope of the newest state is known once the step from it has begun.
        if index < last && index + 1 < self.slopes.len() {
            return hermite(self, index, share);
        }
        let (from, begin) = (&self.states[last.min(index)], last.min(index) as f64 * self.step);
        let (to, end) =
            if index < last { (&self.states[index + 1], begin + self.step) } else { (latest.1, latest.0) };
        let share = if end > begin { ((time - begin) / (end - begin)).clamp(0.0, 1.0) } else { 0.0 };
        std::array::from_fn(|it| from[it] + share * (to[it] - from[it]))
    }
}

fn hermite(history: &History, index: usize, share: f64) -> State {
    let (from, to) = (&history.states[index], &history.states[index + 1]);
    let (rise_from, rise_to) = (&history.slopes[index], &history.slopes[index + 1]);
    let (square, cube) = (share * share, share * share * share);
    let weights = [2.0 * cube - 3.0 * square + 1.0, cube - 2.0 * square + share, cube - square];
    std::array::from_fn(|it| {
        weights[0] * from[it]
            + (1.0 - weights[0]) * to[it]
            + history.step * (weights[1] * rise_from[it] + weights[2] * rise_to[it])
    })
}

/// Follows a system for `span` seconds by steps of at most `step`, the classical Runge-Kutta way. `delay` is its
/// longest; a step divides it, so that what a jump at zero causes later falls on steps too.
pub(crate) fn solve(
    system: &impl System,
    start: State,
    delay: f64,
    span: f64,
    step: f64,
) -> Result<History, Outside> {
    if delay >= span {
        return Err(Outside::DelayBeyondHistory { delay, span });
    }
    let step = if delay > 0.0 { delay / (delay / step).ceil().max(1.0) } else { step };
    // A span that is a whole number of steps but for rounding is that number.
    let steps = (span / step - 1e-6).ceil();
    if steps.is_nan() || steps > MOST_STEPS as f64 {
        return Err(Outside::TooManySteps { steps, most: MOST_STEPS });
    }
    let mut history = History {
        step,
        states: Vec::with_capacity(steps as usize + 1),
        slopes: Vec::with_capacity(steps as usize),
    };
    history.states.push(start);
    for index in 0..steps as usize {
        let next = advance(system, &mut history, index as f64 * step);
        history.states.push(next);
    }
    Ok(history)
}

fn advance(system: &impl System, history: &mut History, time: f64) -> State {
    let step = history.step;
    let from = *history.states.last().expect("it begins with one");
    let slope =
        |history: &History, time: f64, now: &State| system.slope(time, now, &Past { history, time, now });
    let towards = |rise: &State, span: f64| {
        let mut state = std::array::from_fn(|it| from[it] + span * rise[it]);
        system.confine(&mut state);
        state
    };
    let first = slope(history, time, &from);
    history.slopes.push(first);
    let half = time + step / 2.0;
    let second = slope(history, half, &towards(&first, step / 2.0));
    let third = slope(history, half, &towards(&second, step / 2.0));
    let fourth = slope(history, time + step, &towards(&third, step));
    let rise = std::array::from_fn(|it| (first[it] + 2.0 * (second[it] + third[it]) + fourth[it]) / 6.0);
    towards(&rise, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x' = -x(t - delay), which turns from decay to growth at delay = pi/2.
    struct Lagging(f64);

    impl System for Lagging {
        fn slope(&self, _: f64, _: &State, past: &Past<'_>) -> State {
            [-past.back(self.0)[0], 0.0, 0.0, 0.0, 0.0, 0.0]
        }

        fn confine(&self, _: &mut State) {}
    }

    fn end(delay: f64, span: f64, step: f64) -> f64 {
        let solution = solve(&Lagging(delay), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], delay, span, step).unwrap();
        solution.states().last().unwrap()[0]
    }

    #[test]
    fn without_delay_it_is_the_exponential() {
        assert!((end(0.0, 3.0, 0.01) - (-3.0_f64).exp()).abs() < 1e-9);
    }

    #[test]
    fn with_delay_it_is_what_the_method_of_steps_gives() {
        // On [0, 1] it falls as 1 - t; on [1, 2] it is 1 - t + (t - 1)^2 / 2; on [2, 3] the next term joins.
        let expected = 1.0 - 3.0 + (2.0_f64).powi(2) / 2.0 - 1.0 / 6.0;
        assert!((end(1.0, 3.0, 0.01) - expected).abs() < 1e-9, "{}", end(1.0, 3.0, 0.01));
    }

    #[test]
    fn half_the_step_makes_a_sixteenth_of_the_error() {
        let exact = end(1.0, 9.3, 1e-4);
        let (coarse, fine) = (end(1.0, 9.3, 0.1), end(1.0, 9.3, 0.05));
        let order = ((coarse - exact).abs() / (fine - exact).abs()).log2();
        assert!(order > 3.5, "order {order}");
    }

    #[test]
    fn a_delay_beyond_what_is_looked_at_is_refused() {
        let refused = solve(&Lagging(2.0), [1.0; 6], 2.0, 1.0, 0.1).unwrap_err();
        assert_eq!(refused, Outside::DelayBeyondHistory { delay: 2.0, span: 1.0 });
    }

    #[test]
    fn too_fine_a_step_is_refused_before_memory_is_asked_for() {
        assert!(matches!(solve(&Lagging(1.0), [1.0; 6], 1.0, 1e12, 1e-6), Err(Outside::TooManySteps { .. })));
    }
}
