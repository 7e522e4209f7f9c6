//! Who is above an equal share, and by how much.

use super::Config;
use crate::control::arrivals::{Arrivals, Crowd};
use crate::control::qcn::Sample;
use crate::units::{Bytes, Instant};

/// What one congestion point knows of its flows.
#[derive(Clone, Debug)]
pub struct Fairness<A> {
    arrivals: A,
    /// When the running interval ends.
    ends: Instant,
    /// Whether a frame has arrived in it.
    counted: bool,
    config: Config,
}

impl<A: Arrivals> Fairness<A> {
    /// For a queue that has seen no frame.
    ///
    /// # Panics
    /// When the interval is nothing, or the mix is no share.
    pub fn new(config: Config, arrivals: A) -> Fairness<A> {
        assert!(config.interval.ps() > 0, "nothing is measured in no time");
        assert!(config.mix_den > 0 && config.mix_num <= config.mix_den, "a mix is a share");
        Fairness { arrivals, ends: Instant::START + config.interval, counted: false, config }
    }

    /// A frame was accepted.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, flow: A::Flow, frame: Bytes) {
        if now >= self.ends {
            self.end_interval(now);
        }
        self.arrivals.add(flow, frame);
        self.counted = true;
    }

    /// What to tell a flow that a sample blames: `(1 - mix) * feedback + mix * excess`, to the nearest and
    /// from the middle down, so that the weakest feedback alone does not reach a flow within its share. `None`
    /// if that is nothing.
    ///
    /// A sample below the set point never gets here, and so fairness alone cuts nobody: a lone flow on a link
    /// that is half idle would otherwise pay for a rival that has no use for the rest.
    pub fn weigh(&mut self, now: Instant, sample: Sample, flow: A::Flow) -> Option<Sample> {
        if now >= self.ends {
            self.end_interval(now);
        }
        let (num, den) = (u64::from(self.config.mix_num), u64::from(self.config.mix_den));
        let sum = (den - num) * u64::from(sample.quantised) + num * u64::from(self.excess(flow));
        let quantised = ((2 * sum + den - 1) / (2 * den)) as u8;
        (quantised > 0).then_some(Sample { quantised, ..sample })
    }

    /// How far a flow is above an equal share of what arrived: `1 - share / own`, as six bits rounded down; 0 for
    /// a flow within its share, or one that was not measured.
    pub fn excess(&self, flow: A::Flow) -> u8 {
        let all = Crowd::of(self.arrivals.measured().map(|(_, octets)| octets));
        let own = self.arrivals.measured().find(|(other, _)| *other == flow).map_or(0, |(_, octets)| octets);
        let own = u128::from(own) * all.flows;
        match own.checked_sub(all.octets) {
            None | Some(0) => 0,
            Some(above) => (above * 63 / own) as u8,
        }
    }

    /// Intervals begin at whole multiples of their length. One in which nothing arrived measures nothing: what
    /// was measured before stands, as it must while the peer is held paused.
    #[cold]
    fn end_interval(&mut self, now: Instant) {
        if self.counted {
            self.arrivals.turn();
            self.counted = false;
        }
        let interval = self.config.interval.ps();
        self.ends = Instant::from_ps((now.ps() / interval + 1).saturating_mul(interval));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::arrivals::counters::Counters;
    use crate::units::Duration;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;
    use std::vec::Vec;

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    fn sample(quantised: u8) -> Sample {
        Sample { quantised, offset: 5_000, delta: 700 }
    }

    /// A point that has measured these octets of flows 0, 1, …
    fn measured(config: Config, octets: &[u64]) -> Fairness<Counters> {
        let mut point = Fairness::new(config, Counters::default());
        for (flow, octets) in octets.iter().enumerate() {
            point.on_arrival(at(0), flow, Bytes::new(*octets));
        }
        point.end_interval(at(1000));
        point
    }

    fn told(point: &mut Fairness<Counters>, quantised: u8, flow: usize) -> u8 {
        point.weigh(at(1000), sample(quantised), flow).map_or(0, |sample| sample.quantised)
    }

    #[test]
    fn equal_flows_have_no_excess_and_hear_half_of_the_feedback() {
        let mut point = measured(Config::default(), &[1000, 1000, 1000]);
        for flow in 0..3 {
            assert_eq!(point.excess(flow), 0);
            assert_eq!(told(&mut point, 40, flow), 20);
        }
    }

    #[test]
    fn excess_is_the_part_of_a_flow_above_an_equal_share() {
        // The share is 2500: 7500 is three times as much, 2500 as much, 0 not there.
        let point = measured(Config::default(), &[7500, 1250, 1250, 0]);
        assert_eq!(point.excess(0), 35, "1 - 3333/7500 of 63");
        let point = measured(Config::default(), &[7500, 2500]);
        assert_eq!(point.excess(0), 21, "1 - 5000/7500 of 63");
        assert_eq!(point.excess(1), 0);
        assert_eq!(point.excess(7), 0, "never seen");
        let alone = measured(Config::default(), &[9000]);
        assert_eq!(alone.excess(0), 0);
    }

    #[test]
    fn who_takes_most_is_told_most() {
        let mut point = measured(Config::default(), &[7500, 2500]);
        assert_eq!(point.weigh(at(1000), sample(31), 0), Some(sample(26)));
        assert_eq!(point.weigh(at(1000), sample(31), 1), Some(sample(15)));
    }

    #[test]
    fn feedback_that_mixes_to_nothing_is_not_sent() {
        let mut point = measured(Config::default(), &[7500, 2500]);
        assert_eq!(point.weigh(at(1000), sample(1), 1), None);
        assert_eq!(point.weigh(at(1000), sample(2), 1), Some(sample(1)));
        assert_eq!(point.weigh(at(1000), sample(1), 0), Some(sample(11)));
    }

    #[test]
    fn the_mix_ranges_from_plain_qcn_to_fairness_alone() {
        let octets = [7500, 2500];
        let plain = Config { mix_num: 0, mix_den: 1, ..Config::default() };
        assert_eq!(told(&mut measured(plain, &octets), 31, 0), 31);
        let fair = Config { mix_num: 1, mix_den: 1, ..Config::default() };
        assert_eq!(told(&mut measured(fair, &octets), 31, 0), 21);
        assert_eq!(told(&mut measured(fair, &octets), 31, 1), 0);
        let quarter = Config { mix_num: 1, mix_den: 4, ..Config::default() };
        assert_eq!(told(&mut measured(quarter, &octets), 31, 0), 28, "23.25 and 5.25 are 28.5");
    }

    #[test]
    fn until_a_first_interval_has_ended_nobody_is_above_a_share() {
        let mut point = Fairness::new(Config::default(), Counters::default());
        point.on_arrival(at(999), 0, Bytes::new(9000));
        point.on_arrival(at(999), 1, Bytes::new(1000));
        assert_eq!(point.weigh(at(999), sample(30), 0), Some(sample(15)));
        assert_eq!(point.weigh(at(1000), sample(30), 0), Some(sample(29)), "(30 + 63 * 4/9) / 2");
    }

    #[test]
    fn an_interval_without_arrivals_leaves_the_last_measure_standing() {
        let mut point = measured(Config::default(), &[7500, 2500]);
        assert_eq!(point.weigh(at(50_000), sample(31), 0), Some(sample(26)));
        point.on_arrival(at(50_000), 1, Bytes::new(1500));
        point.on_arrival(at(51_000), 1, Bytes::new(1500));
        assert_eq!(point.excess(0), 0, "one with arrivals replaces it");
    }

    #[test]
    #[should_panic(expected = "a mix is a share")]
    fn a_mix_of_more_than_all_is_refused() {
        Fairness::new(Config { mix_num: 3, mix_den: 2, ..Config::default() }, Counters::default());
    }

    #[test]
    fn life_of_three_flows() {
        // 7, 2 and 1 frames a round at first; then the first is cut, and in the end all are equal.
        let mut point = Fairness::new(Config::default(), Counters::default());
        let mut text = String::from("  ms  frames a round  excess       told at 24\n");
        for (ms, frames) in
            [[7, 2, 1], [7, 2, 1], [4, 2, 1], [2, 2, 1], [2, 2, 2], [2, 2, 2]].iter().enumerate()
        {
            for round in 0..100 {
                for (flow, frames) in frames.iter().enumerate() {
                    let now = at(ms as u64 * 1000 + round * 10);
                    point.on_arrival(now, flow, Bytes::new(1500 * frames));
                }
            }
            let now = at(ms as u64 * 1000 + 999);
            let excess: Vec<u8> = (0..3).map(|flow| point.excess(flow)).collect();
            let told = (0..3).map(|flow| point.weigh(now, sample(24), flow).map_or(0, |it| it.quantised));
            let told: Vec<u8> = told.collect();
            let shown = [std::format!("{frames:?}"), std::format!("{excess:?}")];
            writeln!(text, "{ms:>4}  {:<14}  {:<11}  {told:?}", shown[0], shown[1]).unwrap();
        }
        assert_snapshot!(text, @"
          ms  frames a round  excess       told at 24
           0  [7, 2, 1]       [0, 0, 0]    [12, 12, 12]
           1  [7, 2, 1]       [33, 0, 0]   [28, 12, 12]
           2  [4, 2, 1]       [33, 0, 0]   [28, 12, 12]
           3  [2, 2, 1]       [26, 0, 0]   [25, 12, 12]
           4  [2, 2, 2]       [10, 10, 0]  [17, 17, 12]
           5  [2, 2, 2]       [0, 0, 0]    [12, 12, 12]
        ");
    }

    proptest! {
        #[test]
        fn whatever_arrives_feedback_has_six_bits_and_follows_the_formula(
            octets in prop::collection::vec(0u64..1 << 40, 1..20),
            quantised in 1u8..64,
            mix_num in 0u32..=100,
        ) {
            let mut point = measured(Config { mix_num, mix_den: 100, ..Config::default() }, &octets);
            let there: Vec<u64> = octets.iter().copied().filter(|octets| *octets > 0).collect();
            let share = there.iter().sum::<u64>() as f64 / there.len().max(1) as f64;
            for (flow, own) in octets.iter().enumerate() {
                let excess = f64::from(point.excess(flow));
                let exact = if *own == 0 { 0.0 } else { (63.0 * (1.0 - share / *own as f64)).max(0.0) };
                prop_assert!(excess <= exact + 1e-3 && exact < excess + 1.001, "{excess} of {exact}");
                let mixed = f64::from(mix_num) / 100.0 * (excess - f64::from(quantised)) + f64::from(quantised);
                let told = told(&mut point, quantised, flow);
                prop_assert!(told < 64);
                prop_assert!((f64::from(told) - mixed).abs() < 0.501, "{told} for {mixed}");
            }
        }

        #[test]
        fn equal_rates_leave_only_the_queue_to_tell_of(flows in 1usize..20, octets in 1u64..1 << 40, quantised in 1u8..64) {
            let mut point = measured(Config::default(), &std::vec![octets; flows]);
            for flow in 0..flows {
                prop_assert_eq!(point.excess(flow), 0);
                prop_assert_eq!(told(&mut point, quantised, flow), quantised / 2);
            }
        }

        #[test]
        fn who_brings_more_is_never_told_less(octets in prop::collection::vec(1u64..1 << 40, 2..20), quantised in 1u8..64) {
            let mut point = measured(Config::default(), &octets);
            let told: Vec<u8> = (0..octets.len()).map(|flow| told(&mut point, quantised, flow)).collect();
            for (one, other) in (0..octets.len()).zip(1..octets.len()) {
                let (more, less) = if octets[one] >= octets[other] { (one, other) } else { (other, one) };
                prop_assert!(told[more] >= told[less]);
            }
        }
    }
}
