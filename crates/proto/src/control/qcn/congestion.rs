//! The congestion point: watches a queue, and says when and how badly a source should hear of it.

use super::{CongestionConfig, Quantiser};
use crate::dice::Dice;
use crate::units::{Bytes, Duration, Rate};

/// What a congestion point has to tell a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The feedback, 1 to 63, the more the worse.
    pub quantised: u8,
    /// Octets above the set point (`cnmQOffset` before scaling); negative below it.
    pub offset: i64,
    /// Octets the queue grew since the sample before (`cnmQDelta` before scaling).
    pub delta: i64,
}

/// Samples one queue (802.1Q clause 32.8 and 32.9).
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    /// Octets until the next sample (`cpEnqued`, time_to_mark); below zero while one is due.
    to_sample: i64,
    /// Octets queued at the last sample (`cpQlenOld`).
    queued_before: i64,
    /// Samples taken.
    samples: u64,
    config: CongestionConfig,
    dice: Dice,
}

impl CongestionPoint {
    /// A congestion point on an empty queue. `dice` draws the intervals between samples.
    ///
    /// # Panics
    /// When the weight leaves the standard's range of 2^-10 to 2^10, or a jitter is over 100 %.
    pub fn new(config: CongestionConfig, dice: Dice) -> CongestionPoint {
        assert!((-10..=10).contains(&config.weight_log2), "cpW lies between 2^-10 and 2^10");
        let mut point = CongestionPoint { to_sample: 0, queued_before: 0, samples: 0, config, dice };
        point.to_sample = point.interval(0);
        point
    }

    /// A `frame` was accepted, and the queue holds `queued` with it.
    ///
    /// `answerable` says whether the source of the frame to be blamed can be told; while it cannot, the
    /// sample stays due and falls on the next frame. A driver that blames resident frames passes `true`.
    #[inline]
    pub fn on_arrival(&mut self, frame: Bytes, queued: Bytes, answerable: bool) -> Option<Sample> {
        self.to_sample -= frame.get() as i64;
        if self.to_sample >= 0 || !answerable {
            return None;
        }
        self.sample(queued)
    }

    /// The keep-alive clock ticked: a sample that no arrival made due, taken while the buffer holds its peer
    /// paused and nothing arrives. Otherwise it is a sample like any other.
    pub fn on_clock(&mut self, queued: Bytes) -> Option<Sample> {
        self.sample(queued)
    }

    /// Time between ticks of the keep-alive clock: what `cpSampleBase` octets take at line rate (Unbiased QCN
    /// for scalable server-rack fabrics, section IV).
    pub fn keep_alive_period(&self, rate: Rate) -> Duration {
        rate.time_for(self.config.sample_base)
    }

    /// Samples taken so far, those with nothing to tell included: what a driver that counts from sample to
    /// sample watches.
    #[inline]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    #[cold]
    fn sample(&mut self, queued: Bytes) -> Option<Sample> {
        let queued = octets(queued);
        let offset = queued - octets(self.config.set_point);
        let delta = queued - self.queued_before;
        let quantised = self.quantise(offset, delta);
        // In every case, told or not. What the frame took beyond the interval is not carried over.
        self.queued_before = queued;
        self.samples += 1;
        self.to_sample = self.interval(quantised);
        (quantised > 0).then_some(Sample { quantised, offset, delta })
    }

    fn quantise(&self, offset: i64, delta: i64) -> u8 {
        let CongestionConfig { set_point, weight_log2, quantiser, .. } = self.config;
        quantise(set_point, weight_log2, quantiser, offset, delta)
    }

    /// Octets until the next sample, by the top three of the six bits.
    fn interval(&mut self, quantised: u8) -> i64 {
        /// The octets that the pseudo-code tabulates; the last two are not quite a seventh and an eighth.
        const TABLE: [u64; 8] = [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500];
        let step = usize::from(quantised >> 3);
        let mean = match self.config.sample_base.get() {
            150_000 => TABLE[step],
            base => base / (step as u64 + 1),
        };
        self.dice.jitter(mean, self.config.sample_jitter_percent).min(i64::MAX as u64) as i64
    }
}

/// `-fb`, clamped between nothing and F, as six bits.
pub(in crate::control) fn quantise(
    set_point: Bytes,
    weight_log2: i8,
    quantiser: Quantiser,
    offset: i64,
    delta: i64,
) -> u8 {
    // A weight below one is a fraction: count in that fraction of an octet, and stay exact.
    let (weight_shift, octet_shift) = if weight_log2 >= 0 { (weight_log2, 0) } else { (0, -weight_log2) };
    let most = octets(set_point) * ((2 << weight_shift) + (1 << octet_shift));
    let badness = ((offset << octet_shift) + (delta << weight_shift)).clamp(0, most);
    if badness == 0 {
        return 0;
    }
    let quantised = match quantiser {
        Quantiser::SixtyThreeths => badness * 63 / most,
        Quantiser::SixtyFourths => badness * 64 / most,
        Quantiser::TopBits => badness >> (i64::BITS - most.leading_zeros()).saturating_sub(6),
    };
    quantised.min(63) as u8
}

/// Octets as the arithmetic takes them. The bound leaves room for weight and quantiser; no buffer reaches it.
pub(in crate::control) fn octets(size: Bytes) -> i64 {
    const TERABYTE: u64 = 1 << 40;
    size.get().min(TERABYTE) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::qcn::Profile;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    const FRAME: Bytes = Bytes::new(1500);

    /// The standard's parameters, with intervals that are not random.
    fn steady() -> CongestionConfig {
        CongestionConfig { sample_jitter_percent: 0, ..Profile::Standard.congestion() }
    }

    fn point(config: CongestionConfig) -> CongestionPoint {
        CongestionPoint::new(config, Dice::new(1, 2, 3))
    }

    /// Arrivals of full frames into a queue of this length until one is sampled with something to say.
    fn frames_until_sample(point: &mut CongestionPoint, queued: u64) -> (u32, Sample) {
        for frame in 1..1000 {
            if let Some(sample) = point.on_arrival(FRAME, Bytes::new(queued), true) {
                return (frame, sample);
            }
        }
        panic!("no sample in 1000 frames");
    }

    #[test]
    fn feedback_is_quantised_at_the_edges_of_its_steps() {
        // At a set point of 26000 octets, F is 130000 and a step is 2063.5.
        let point = point(steady());
        for (badness, quantised) in [
            (0, 0),
            (1, 0),
            (2_063, 0),
            (2_064, 1),
            (4_126, 1),
            (4_127, 2),
            (129_999, 62),
            (130_000, 63),
            (1 << 40, 63),
        ] {
            assert_eq!(point.quantise(badness, 0), quantised, "-fb = {badness}");
        }
        assert_eq!(point.quantise(-26_000, 0), 0);
    }

    #[test]
    fn growth_counts_twice_and_shrinking_too() {
        let point = point(steady());
        assert_eq!(point.quantise(0, 1_032), 1);
        assert_eq!(point.quantise(0, 1_031), 0);
        assert_eq!(point.quantise(4_127, 0), 2);
        assert_eq!(point.quantise(4_127, -1_000), 1);
        assert_eq!(point.quantise(20_000, -10_000), 0);
    }

    #[test]
    fn a_weight_below_one_is_exact() {
        // w = 1/2: F is 52000, a step 825.4 octets.
        let point = point(CongestionConfig { weight_log2: -1, ..steady() });
        assert_eq!(point.quantise(825, 0), 0);
        assert_eq!(point.quantise(825, 1), 1);
        assert_eq!(point.quantise(51_999, 1), 62);
        assert_eq!(point.quantise(51_999, 2), 63);
    }

    #[test]
    fn sixty_fourths_step_sooner() {
        let point = point(CongestionConfig { quantiser: Quantiser::SixtyFourths, ..steady() });
        assert_eq!(point.quantise(2_031, 0), 0);
        assert_eq!(point.quantise(2_032, 0), 1);
        assert_eq!(point.quantise(127_968, 0), 62);
        assert_eq!(point.quantise(127_969, 0), 63);
        assert_eq!(point.quantise(130_000, 0), 63);
    }

    #[test]
    fn top_bits_are_those_of_the_largest_feedback() {
        let top_bits = |kb| {
            point(CongestionConfig {
                quantiser: Quantiser::TopBits,
                set_point: Bytes::from_kb(kb),
                ..steady()
            })
        };
        // F = 330000 has 19 bits: a shift by 13.
        assert_eq!(top_bits(66).quantise(8_191, 0), 0);
        assert_eq!(top_bits(66).quantise(8_192, 0), 1);
        assert_eq!(top_bits(66).quantise(1 << 30, 0), 40); // 330000 >> 13
        // F = 130000 has 17, and nearly fills them.
        assert_eq!(top_bits(26).quantise(130_000, 0), 63);
    }

    #[test]
    fn a_sample_falls_due_with_the_octet_after_the_interval() {
        let mut point = point(steady());
        let full = Bytes::from_kb(100);
        assert_eq!(point.on_arrival(Bytes::from_kb(150), full, true), None);
        assert!(point.on_arrival(Bytes::new(1), full, true).is_some());
    }

    #[test]
    fn what_a_frame_takes_beyond_the_interval_is_not_carried_over() {
        let mut point = point(steady());
        point.on_arrival(Bytes::from_kb(149), Bytes::ZERO, true);
        point.on_arrival(Bytes::from_kb(100), Bytes::ZERO, true);
        assert_eq!(point.to_sample, 150_000);
    }

    #[test]
    fn a_sample_without_news_still_remembers_the_queue() {
        let mut point = point(steady());
        for _ in 0..101 {
            assert_eq!(point.on_arrival(FRAME, Bytes::new(8_000), true), None);
        }
        assert_eq!(point.queued_before, 8_000);
        assert_eq!(point.to_sample, 150_000);
        assert_eq!(point.samples(), 1);
    }

    #[test]
    fn growth_is_reported_against_the_sample_before() {
        let mut point = point(steady());
        let (_, first) = frames_until_sample(&mut point, 30_000);
        assert_eq!(first, Sample { quantised: 31, offset: 4_000, delta: 30_000 });
        let (_, second) = frames_until_sample(&mut point, 29_500);
        assert_eq!(second, Sample { quantised: 1, offset: 3_500, delta: -500 });
    }

    #[test]
    fn the_worse_the_feedback_the_sooner_the_next_sample() {
        let mut point = point(steady());
        let frames = [0, 8, 16, 24, 32, 40, 48, 56].map(|quantised| point.interval(quantised));
        assert_eq!(frames, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]);
        assert_eq!([7, 15, 63].map(|quantised| point.interval(quantised)), [150_000, 75_000, 18_500]);
    }

    #[test]
    fn another_base_is_divided() {
        let mut point = point(CongestionConfig { sample_base: Bytes::new(70_000), ..steady() });
        let octets = [0, 8, 16, 24, 32, 40, 48, 56].map(|quantised| point.interval(quantised));
        assert_eq!(octets, [70_000, 35_000, 23_333, 17_500, 14_000, 11_666, 10_000, 8_750]);
    }

    #[test]
    fn a_frame_that_cannot_be_answered_leaves_the_sample_to_the_next() {
        let mut point = point(steady());
        let full = Bytes::from_kb(100);
        for _ in 0..150 {
            assert_eq!(point.on_arrival(FRAME, full, false), None);
        }
        assert_eq!(point.queued_before, 0);
        let sample = point.on_arrival(FRAME, full, true).expect("the sample is overdue");
        assert_eq!(sample.delta, 100_000);
        assert_eq!(point.to_sample, 18_500);
    }

    #[test]
    fn the_clock_samples_without_an_arrival() {
        let mut point = point(steady());
        assert_eq!(point.on_clock(Bytes::from_kb(8)), None);
        let sample = point.on_clock(Bytes::from_kb(110)).expect("far above the set point");
        assert_eq!(sample, Sample { quantised: 63, offset: 84_000, delta: 102_000 });
        assert_eq!(point.keep_alive_period(Rate::from_gbps(10)), Duration::from_us(120));
    }

    #[test]
    fn intervals_are_as_random_as_configured() {
        let lengths: std::vec::Vec<_> = (0..500)
            .map(|entity| {
                CongestionPoint::new(Profile::Standard.congestion(), Dice::new(1, entity, 0)).to_sample
            })
            .collect();
        assert!(lengths.iter().all(|octets| (127_500..=172_500).contains(octets)));
        assert!(lengths.iter().any(|octets| *octets < 130_000));
        assert!(lengths.iter().any(|octets| *octets > 170_000));
    }

    #[test]
    #[should_panic(expected = "cpW lies between")]
    fn a_weight_beyond_the_standards_is_refused() {
        point(CongestionConfig { weight_log2: 11, ..steady() });
    }

    proptest! {
        /// The arithmetic in plain terms: `fb` as a fraction, clamped, then floored.
        #[test]
        fn any_sample_follows_the_formula(
            set_point in 100u64..5_000_000,
            weight_log2 in -10i8..=10,
            queued in 0u64..10_000_000,
            before in 0u64..10_000_000,
        ) {
            let config = CongestionConfig { set_point: Bytes::new(set_point), weight_log2, ..steady() };
            let mut point = point(config);
            point.queued_before = before as i64;
            let sample = point.on_clock(Bytes::new(queued));
            // In 1024ths of an octet: w is a multiple of that.
            let w = if weight_log2 < 0 { 1024 >> -weight_log2 } else { 1024i128 << weight_log2 };
            let offset = i128::from(queued) - i128::from(set_point);
            let delta = i128::from(queued) - i128::from(before);
            let most = i128::from(set_point) * (2 * w + 1024);
            let badness = (offset * 1024 + w * delta).clamp(0, most);
            let expected = badness * 63 / most;
            prop_assert_eq!(sample.map_or(0, |sample| i128::from(sample.quantised)), expected);
            prop_assert!(sample.is_none_or(|sample| (1..64).contains(&sample.quantised)));
            prop_assert_eq!(point.queued_before, queued as i64);
        }

        #[test]
        fn no_input_overflows(
            frames in prop::collection::vec((0..u64::MAX >> 8, any::<u64>(), any::<bool>()), 0..50),
            set_point: u64,
            sample_base: u64,
            weight_log2 in -10i8..=10,
            jitter in 0u8..=100,
        ) {
            let config = CongestionConfig {
                set_point: Bytes::new(set_point),
                weight_log2,
                sample_base: Bytes::new(sample_base),
                sample_jitter_percent: jitter,
                ..steady()
            };
            let mut point = point(config);
            for (frame, queued, answerable) in frames {
                let sample = point.on_arrival(Bytes::new(frame), Bytes::new(queued), answerable);
                prop_assert!(sample.is_none_or(|sample| (1..64).contains(&sample.quantised)));
            }
        }

        /// Between samples lies at least the interval, and at most that and a frame.
        #[test]
        fn samples_are_as_far_apart_as_their_feedback_says(seed: u64, queued in 26_000u64..160_000) {
            let mut point = CongestionPoint::new(Profile::Standard.congestion(), Dice::new(seed, 0, 0));
            point.queued_before = queued as i64;
            let mut since: Option<i64> = None;
            for _ in 0..2_000 {
                let armed = point.to_sample;
                let sample = point.on_arrival(FRAME, Bytes::new(queued), true);
                if let Some(octets) = &mut since {
                    *octets += 1500;
                }
                if point.to_sample > armed {
                    let mean = steady_interval(sample.map_or(0, |sample| sample.quantised));
                    prop_assert!(point.to_sample * 100 >= mean * 85 && point.to_sample * 100 <= mean * 115);
                    if let Some(octets) = since {
                        prop_assert!(octets * 100 >= mean * 85 && (octets - 1500) * 100 <= mean * 115);
                    }
                    since = Some(0);
                }
            }
        }
    }

    fn steady_interval(quantised: u8) -> i64 {
        point(steady()).interval(quantised)
    }

    #[test]
    fn life_of_a_congestion_point() {
        // Two 10 Gb/s sources into one output, then none: 1500 octets a step, up and down.
        let mut point = point(steady());
        let mut text = String::from("frame   queued  feedback  offset   delta  next after\n");
        let mut queued = 0u64;
        for frame in 1..=500u32 {
            queued = if frame <= 150 { queued + 750 } else { queued.saturating_sub(750) };
            let armed = point.to_sample;
            let sample = point.on_arrival(FRAME, Bytes::new(queued), true);
            if point.to_sample > armed {
                write!(text, "{frame:>5}  {queued:>7}  ").unwrap();
                match sample {
                    Some(Sample { quantised, offset, delta }) => {
                        write!(text, "{quantised:>8}  {offset:>6}  {delta:>6}").unwrap();
                    }
                    None => write!(text, "{:>8}  {:>6}  {:>6}", "-", "", "").unwrap(),
                }
                writeln!(text, "  {:>10}", point.to_sample).unwrap();
            }
        }
        assert_snapshot!(text, @"
    frame   queued  feedback  offset   delta  next after
      101    75750        63   49750   75750       18500
      114    85500        38   59500    9750       30000
      135   101250        51   75250   15750       21500
      150   112500        52   86500   11250       21500
      165   101250        25   75250  -11250       37500
      191    81750         8   55750  -19500       75000
      242    43500         -                      150000
      343        0         -                      150000
      444        0         -                      150000
    ");
    }
}
