//! How fast to let frames into a queue, solved exactly: an M/M/1 queue whose arrivals are controlled
//! ("2-point QCN vs ECM" (IBM 2007), slide "Optimal admission control rate"; method as in Bertsekas, "Dynamic
//! Programming and Optimal Control").
//!
//! Holding a frame costs, and so does turning one away; without the second the best rate is none. The rate may be
//! chosen anew at each number of frames in the queue. Policy iteration finds the choice of least average cost: what
//! a policy costs follows from its stationary distribution, the worth of one frame less from a recursion.

use crate::outside::{Outside, positive, within};
use serde::{Deserialize, Serialize};

/// The problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// Frames that would come, a unit of time: the most that can be admitted.
    pub offered: f64,
    /// Frames that are served, a unit of time.
    pub service: f64,
    /// Cost of holding a frame for a unit of time.
    pub holding: f64,
    /// Cost of turning a frame away.
    pub refusal: f64,
    /// How that cost grows with what is turned away.
    pub law: Law,
    /// Frames the queue has room for.
    pub room: usize,
}

/// How the cost of turning frames away grows with their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Each costs the same: it is best to admit all up to some number, and none beyond.
    Linear,
    /// The more are turned away, the more each costs: the rate is best lowered little by little. Turning all away
    /// costs the same as by the other law.
    Quadratic,
}

/// The best policy, and what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The rate to admit with this many frames in the queue.
    pub rates: Vec<f64>,
    /// Cost per unit of time.
    pub cost: f64,
    /// Mean number of frames in the queue.
    pub queued: f64,
    /// Frames admitted per unit of time.
    pub admitted: f64,
    /// Probability of this many frames in the queue.
    pub distribution: Vec<f64>,
}

/// Room beyond this is not asked for: the recursions are quick, but a figure of it shows nothing.
pub const MOST_ROOM: usize = 100_000;

impl Admission {
    /// Finds the best policy.
    pub fn solve(&self) -> Result<Policy, Outside> {
        self.check()?;
        // To begin with, no more than can be served.
        let mut rates = vec![self.offered.min(self.service); self.room + 1];
        rates[self.room] = 0.0;
        // Each turn lowers the cost or ends; in practice it takes a handful.
        for _ in 0..1000 {
            let policy = self.weigh(rates.clone());
            let better = self.improved(&policy);
            let moved = better.iter().zip(&rates).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            rates = better;
            if moved <= self.offered * 1e-12 {
                break;
            }
        }
        Ok(self.weigh(rates))
    }

    fn check(&self) -> Result<(), Outside> {
        positive("the offered rate", self.offered)?;
        positive("the service rate", self.service)?;
        let load = self.offered / self.service;
        weighable("the offered rate over the service rate", load)?;
        weighable("the cost of holding", self.holding)?;
        weighable("the cost of turning away", self.refusal)?;
        let room = self.room;
        within("the room", room as f64, (1..=MOST_ROOM).contains(&room), "1 to 100000 frames")?;
        Ok(())
    }

    /// What a policy costs, by its stationary distribution.
    fn weigh(&self, rates: Vec<f64>) -> Policy {
        let mut weights = vec![1.0];
        let mut total = 1.0;
        for (index, rate) in rates.iter().take(self.room).enumerate() {
            let next = weights[index] * rate / self.service;
            weights.push(next);
            total += next;
            // A crowded queue's weights grow beyond any number; only their proportions count.
            if total > 1e200 {
                weights.iter_mut().for_each(|it| *it /= total);
                total = 1.0;
            }
        }
        let distribution: Vec<f64> = weights.iter().map(|it| it / total).collect();
        let over = |of: &dyn Fn(usize) -> f64| -> f64 {
            distribution.iter().enumerate().map(|(count, share)| share * of(count)).sum()
        };
        let queued = over(&|count| count as f64);
        let cost = over(&|count| self.holding * count as f64 + self.turning_away(rates[count]));
        let admitted = over(&|count| rates[count]);
        Policy { rates, cost, queued, admitted, distribution }
    }

    /// The best rates if from then on the policy were kept.
    fn improved(&self, policy: &Policy) -> Vec<f64> {
        let mut better: Vec<f64> = self.worths(policy).into_iter().map(|worth| self.best(worth)).collect();
        better.push(0.0);
        better
    }

    /// What one frame more in the queue costs in the long run, by the number there is. The balance of cost ties each
    /// number to the one below: it can be followed upwards or downwards. Where more come than are served, errors shrink
    /// on the way up, elsewhere on the way down; each number is taken from the way with the smaller error.
    fn worths(&self, policy: &Policy) -> Vec<f64> {
        let here = |count: usize| self.holding * count as f64 + self.turning_away(policy.rates[count]);
        let (mut worth, mut error) = (0.0, 0.0);
        let upwards = (0..self.room).map(|count| {
            worth = (policy.cost - here(count) + self.service * worth) / policy.rates[count];
            error = (1.0 + self.service * error) / policy.rates[count];
            (worth, error)
        });
        let mut worths: Vec<(f64, f64)> = upwards.collect();
        (worth, error) = (0.0, 0.0);
        for count in (1..=self.room).rev() {
            worth = (here(count) + policy.rates[count] * worth - policy.cost) / self.service;
            error = (1.0 + policy.rates[count] * error) / self.service;
            // An upward way that met a rate of zero has no number at all.
            if worths[count - 1].1.is_nan() || worths[count - 1].1 > error {
                worths[count - 1] = (worth, error);
            }
        }
        worths.into_iter().map(|(worth, _)| worth).collect()
    }

    /// The rate to admit where one frame more costs this much in the long run.
    fn best(&self, worth: f64) -> f64 {
        match self.law {
            Law::Linear if worth < self.refusal => self.offered,
            Law::Linear => 0.0,
            Law::Quadratic => (self.offered * (1.0 - worth / (2.0 * self.refusal))).clamp(0.0, self.offered),
        }
    }

    fn turning_away(&self, rate: f64) -> f64 {
        let away = self.offered - rate;
        match self.law {
            Law::Linear => self.refusal * away,
            Law::Quadratic => self.refusal * away * away / self.offered,
        }
    }
}

/// `value`, if products and differences of three such keep their digits. Policies are told apart by 1e-12 of a rate, so
/// that beyond these bounds the answer would be made of rounding.
fn weighable(what: &'static str, value: f64) -> Result<f64, Outside> {
    positive(what, value)?;
    within(what, value, (1e-6..=1e6).contains(&value), "0.000001 to 1000000")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn crowded(law: Law) -> Admission {
        Admission { offered: 1.3, service: 1.0, holding: 1.0, refusal: 12.0, law, room: 60 }
    }

    /// The same by value iteration on the uniformised chain, rates tried one by one: cost, and the rates.
    fn by_value_iteration(it: &Admission, tried: usize) -> (f64, Vec<f64>) {
        let pace = it.offered + it.service;
        let mut value = vec![0.0; it.room + 1];
        let mut rates = value.clone();
        let mut cost = 0.0;
        for _ in 0..20_000 {
            let mut next = value.clone();
            for count in 0..=it.room {
                let down = if count > 0 { it.service } else { 0.0 };
                let of = |rate: f64| {
                    let up = value[(count + 1).min(it.room)];
                    let flows = rate * up + down * value[count.saturating_sub(1)];
                    let stays = (pace - rate - down) * value[count];
                    (it.holding * count as f64 + it.turning_away(rate) + flows + stays) / pace
                };
                let most = if count == it.room { 0 } else { tried };
                let tries = (0..=most).map(|step| it.offered * step as f64 / tried as f64);
                let best = tries.min_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap();
                (next[count], rates[count]) = (of(best), best);
            }
            let rises = next.iter().zip(&value).map(|(a, b)| a - b);
            let (low, high) = rises.fold((f64::MAX, f64::MIN), |(l, h), it| (l.min(it), h.max(it)));
            cost = f64::midpoint(low, high) * pace;
            let base = next[0];
            value = next.into_iter().map(|it| it - base).collect();
            if high - low < 1e-12 {
                break;
            }
        }
        (cost, rates)
    }

    /// Admitting all below a number: the closed form of M/M/1/K (Naor 1969).
    fn threshold_cost(it: &Admission, threshold: i32) -> f64 {
        let load: f64 = it.offered / it.service;
        let full = load.powi(threshold) * (1.0 - load) / (1.0 - load.powi(threshold + 1));
        let past = f64::from(threshold + 1) * load.powi(threshold + 1);
        let queued = load / (1.0 - load) - past / (1.0 - load.powi(threshold + 1));
        it.holding * queued + it.refusal * it.offered * full
    }

    #[test]
    fn the_linear_law_admits_all_up_to_the_closed_forms_threshold() {
        for offered in [0.6, 0.95, 1.3, 2.5] {
            let problem = Admission { offered, ..crowded(Law::Linear) };
            let (threshold, cost) = (1..60)
                .map(|it| (it, threshold_cost(&problem, it)))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .unwrap();
            let policy = problem.solve().unwrap();
            let admits = policy.rates.iter().filter(|rate| **rate > 0.0).count();
            assert_eq!(admits, threshold as usize, "offered {offered}");
            assert!((policy.cost - cost).abs() < 1e-9 * cost, "offered {offered}: {} {cost}", policy.cost);
        }
    }

    #[test]
    fn value_iteration_finds_the_same_cost_and_rates() {
        for (law, tried) in [(Law::Linear, 1), (Law::Quadratic, 400)] {
            let problem = Admission { room: 25, ..crowded(law) };
            let policy = problem.solve().unwrap();
            let (cost, rates) = by_value_iteration(&problem, tried);
            assert!((policy.cost - cost).abs() < 1e-4 * cost, "{law:?}: {} and {cost}", policy.cost);
            for (count, (found, other)) in policy.rates.iter().zip(rates).enumerate() {
                assert!((found - other).abs() <= problem.offered / tried as f64, "{law:?} at {count}");
            }
        }
    }

    #[test]
    fn a_crowd_beyond_any_float_is_still_weighed() {
        let problem = Admission { offered: 50.0, room: 2000, ..crowded(Law::Quadratic) };
        let policy = problem.solve().unwrap();
        assert!(policy.cost.is_finite() && policy.distribution.iter().all(|it| it.is_finite()));
    }

    #[test]
    fn what_costs_nothing_to_refuse_is_outside() {
        let refused = Admission { refusal: 0.0, ..crowded(Law::Linear) }.solve().unwrap_err();
        assert_eq!(refused.to_string(), "the cost of turning away is 0; it must be more than zero");
    }

    #[test]
    fn numbers_too_far_apart_to_be_weighed_are_outside() {
        let base = crowded(Law::Quadratic);
        for far in [1e7, 1e15, 1e20, 1e40, 1e300, 1e308, f64::INFINITY, f64::NAN, 1e-7] {
            for problem in [
                Admission { offered: far, ..base },
                Admission { holding: far, ..base },
                Admission { refusal: far, ..base },
            ] {
                let said = problem.solve().unwrap_err().to_string();
                assert!(said.contains("it must be"), "{said}");
            }
        }
        let said = Admission { offered: 1e20, ..base }.solve().unwrap_err().to_string();
        assert_eq!(
            said,
            "the offered rate over the service rate is 100000000000000000000; it must be 0.000001 to 1000000"
        );
    }

    #[test]
    fn at_the_ends_of_what_can_be_weighed_every_number_is_one() {
        let ends = [1e-6, 1e6];
        for (offered, holding, refusal, law) in ends.into_iter().flat_map(|offered| {
            let rest = ends.into_iter().flat_map(|it| ends.map(|other| (it, other)));
            rest.flat_map(move |(holding, refusal)| {
                [Law::Linear, Law::Quadratic].map(|law| (offered, holding, refusal, law))
            })
        }) {
            let policy = Admission { offered, holding, refusal, law, ..crowded(law) }.solve().unwrap();
            let sum: f64 = policy.distribution.iter().sum();
            let what = format!("{offered} {holding} {refusal} {law:?}");
            assert!(policy.cost.is_finite() && policy.cost >= 0.0, "{what}: {}", policy.cost);
            assert!((sum - 1.0).abs() < 1e-9 && policy.rates.iter().all(|it| it.is_finite()), "{what}");
            // No constant rate does better.
            for share in [0.0, 0.5, 1.0] {
                let problem = Admission { offered, holding, refusal, law, ..crowded(law) };
                let mut rates = vec![offered * share; problem.room + 1];
                rates[problem.room] = 0.0;
                let other = problem.weigh(rates).cost;
                assert!(policy.cost <= other * (1.0 + 1e-6), "{what}: {} against {other}", policy.cost);
            }
        }
    }

    proptest! {
        #[test]
        fn the_best_rate_never_rises_with_the_queue(
            offered in 0.1..3.0_f64,
            refusal in 0.5..80.0_f64,
            room in 1_usize..120,
            is_linear: bool,
        ) {
            let law = if is_linear { Law::Linear } else { Law::Quadratic };
            let problem = Admission { offered, refusal, room, ..crowded(law) };
            let policy = problem.solve().unwrap();
            prop_assert!(policy.rates.windows(2).all(|it| it[1] <= it[0] + 1e-9));
            // No constant rate does better.
            for share in [0.25, 0.5, 0.75, 1.0] {
                let mut rates = vec![offered * share; room + 1];
                rates[room] = 0.0;
                prop_assert!(policy.cost <= problem.weigh(rates).cost * (1.0 + 1e-9));
            }
        }
    }
}
