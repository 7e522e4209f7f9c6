//! Who brings too much, and how badly each is told.

use crate::control::arrivals::{Arrivals, Crowd};
use crate::control::qcn::Sample;
use crate::units::Bytes;

/// What one congestion point knows of its flows.
#[derive(Clone, Debug)]
pub struct Culprits<A> {
    arrivals: A,
    /// Whether a frame has arrived since the last sample.
    counted: bool,
}

impl<A: Arrivals> Culprits<A> {
    /// For a queue that has seen no frame.
    pub fn new(arrivals: A) -> Culprits<A> {
        Culprits { arrivals, counted: false }
    }

    /// A frame was accepted; the one that makes a sample due is counted before it.
    #[inline]
    pub fn on_arrival(&mut self, flow: A::Flow, frame: Bytes) {
        self.arrivals.add(flow, frame);
        self.counted = true;
    }

    /// The congestion point took a sample, whether there is something to tell or not. What arrived since the one
    /// before decides on culprits; if that is nothing (the peer is held paused), what decided last still does.
    pub fn on_sample(&mut self) {
        if self.counted {
            self.arrivals.turn();
            self.counted = false;
        }
    }

    /// Everyone to tell of a sample, and what.
    ///
    /// Overrated is who brings an equal share of all or more; a culprit, who of those brings an equal share of what
    /// *they* bring or more. The feedback is divided among culprits by what they bring, rounded up: a sample with
    /// something to say is never lost among many.
    pub fn of(&self, sample: Sample) -> impl Iterator<Item = (A::Flow, Sample)> {
        let all = Crowd::of(self.arrivals.measured().map(|(_, octets)| octets));
        let overrated =
            move || self.arrivals.measured().filter(move |(_, octets)| all.is_reached_by(*octets));
        let among = Crowd::of(overrated().map(|(_, octets)| octets));
        let culprits = move || overrated().filter(move |(_, octets)| among.is_reached_by(*octets));
        let blamed = Crowd::of(culprits().map(|(_, octets)| octets));
        culprits().map(move |(flow, octets)| {
            let part = u128::from(octets) * u128::from(sample.quantised);
            (flow, Sample { quantised: part.div_ceil(blamed.octets) as u8, ..sample })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::arrivals::counters::Counters;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;
    use std::vec::Vec;

    fn sample(quantised: u8) -> Sample {
        Sample { quantised, offset: 5_000, delta: 700 }
    }

    /// A point that sampled after these octets of flows 0, 1, …
    fn sampled(octets: &[u64]) -> Culprits<Counters> {
        let mut point = Culprits::new(Counters::default());
        for (flow, octets) in octets.iter().enumerate() {
            point.on_arrival(flow, Bytes::new(*octets));
        }
        point.on_sample();
        point
    }

    fn told(octets: &[u64], quantised: u8) -> Vec<(usize, u8)> {
        sampled(octets).of(sample(quantised)).map(|(flow, sample)| (flow, sample.quantised)).collect()
    }

    #[test]
    fn who_brings_less_than_an_equal_share_hears_nothing() {
        assert_eq!(told(&[9000, 500, 500], 42), [(0, 42)]);
    }

    #[test]
    fn the_overrated_are_held_to_the_share_among_themselves() {
        // All bring 30000, a share is 6000; those above it bring 26000, a share of that is 8667.
        assert_eq!(told(&[10_000, 9_000, 7_000, 2_000, 2_000], 38), [(0, 20), (1, 18)]);
    }

    #[test]
    fn equal_flows_are_all_told_and_share_the_feedback() {
        assert_eq!(told(&[1500, 1500, 1500], 60), [(0, 20), (1, 20), (2, 20)]);
    }

    #[test]
    fn feedback_is_divided_in_proportion_and_never_down_to_nothing() {
        assert_eq!(told(&[9000, 9000, 9000, 9000], 1), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(told(&[4500, 4500, 1500], 63), [(0, 32), (1, 32)]);
    }

    #[test]
    fn what_a_sample_says_of_the_queue_is_passed_on() {
        let told: Vec<_> = sampled(&[1500]).of(sample(7)).collect();
        assert_eq!(told, [(0, sample(7))]);
    }

    #[test]
    fn nobody_is_told_before_anybody_came() {
        let mut point = Culprits::new(Counters::default());
        assert_eq!(point.of(sample(63)).count(), 0);
        point.on_sample();
        assert_eq!(point.of(sample(63)).count(), 0);
    }

    #[test]
    fn counting_starts_anew_with_every_sample() {
        let mut point = sampled(&[9000, 500]);
        point.on_arrival(1, Bytes::new(1500));
        point.on_sample();
        let told: Vec<_> = point.of(sample(9)).collect();
        assert_eq!(told, [(1, sample(9))]);
    }

    #[test]
    fn a_sample_without_arrivals_blames_as_the_last_one_did() {
        let mut point = sampled(&[9000, 500]);
        point.on_sample();
        let told: Vec<_> = point.of(sample(9)).collect();
        assert_eq!(told, [(0, sample(9))]);
    }

    #[test]
    fn life_of_four_flows() {
        let mut point = Culprits::new(Counters::default());
        let mut text = String::from("frames since the last  feedback  told\n");
        for (frames, quantised) in [
            ([40, 30, 20, 10], 63),
            ([8, 6, 4, 4], 31),
            ([7, 7, 5, 5], 12),
            ([6, 6, 6, 6], 3),
            ([5, 6, 6, 6], 1),
        ] {
            for (flow, frames) in frames.iter().enumerate() {
                point.on_arrival(flow, Bytes::new(1500 * frames));
            }
            point.on_sample();
            write!(text, "{:<21}  {quantised:>8} ", std::format!("{frames:?}")).unwrap();
            for (flow, sample) in point.of(sample(quantised)) {
                write!(text, " {flow}:{}", sample.quantised).unwrap();
            }
            text.push('\n');
        }
        assert_snapshot!(text, @"
        frames since the last  feedback  told
        [40, 30, 20, 10]             63  0:63
        [8, 6, 4, 4]                 31  0:31
        [7, 7, 5, 5]                 12  0:6 1:6
        [6, 6, 6, 6]                  3  0:1 1:1 2:1 3:1
        [5, 6, 6, 6]                  1  1:1 2:1 3:1
        ");
    }

    proptest! {
        #[test]
        fn culprits_bring_at_least_both_shares_and_all_who_do_are_told(
            octets in prop::collection::vec(0u64..1 << 40, 1..20),
            quantised in 1u8..64,
        ) {
            let told = told(&octets, quantised);
            let there: Vec<u64> = octets.iter().copied().filter(|octets| *octets > 0).collect();
            let share = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
            let coarse = share(&there);
            let overrated: Vec<u64> = there.iter().copied().filter(|own| *own as f64 >= coarse).collect();
            let fine = share(&overrated);
            let expected: Vec<usize> =
                (0..octets.len()).filter(|flow| octets[*flow] > 0 && octets[*flow] as f64 >= fine).collect();
            prop_assert!(fine >= coarse);
            prop_assert_eq!(told.iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn what_is_told_has_six_bits_and_adds_up_to_the_feedback(
            octets in prop::collection::vec(0u64..1 << 40, 1..20),
            quantised in 1u8..64,
        ) {
            let told = told(&octets, quantised);
            prop_assert!(told.iter().all(|(_, part)| (1..=quantised).contains(part)));
            let sum: usize = told.iter().map(|(_, part)| usize::from(*part)).sum();
            let fair = usize::from(quantised);
            // Rounding up adds less than one for each.
            prop_assert!(told.is_empty() || (fair..fair + told.len()).contains(&sum), "{told:?}");
            prop_assert_eq!(told.is_empty(), octets.iter().all(|octets| *octets == 0));
        }
    }
}
