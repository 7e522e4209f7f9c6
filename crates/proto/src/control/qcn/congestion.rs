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
        let mut point = CongestionPoint { to_sample: 0, queued_before: 0, config, dice };
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

    #[cold]
    fn sample(&mut self, queued: Bytes) -> Option<Sample> {
        let queued = octets(queued);
        let offset = queued - octets(self.config.set_point);
        let delta = queued - self.queued_before;
        let quantised = self.quantise(offset, delta);
        // In every case, told or not. What the frame took beyond the interval is not carried over.
        self.queued_before = queued;
        self.to_sample = self.interval(quantised);
        (quantised > 0).then_some(Sample { quantised, offset, delta })
    }

    /// `-fb`, clamped between nothing and F, as six bits.
    fn quantise(&self, offset: i64, delta: i64) -> u8 {
        // A weight below one is a fraction: count in that fraction of an octet, and stay exact.
        let weight = self.config.weight_log2;
        let (weight_shift, octet_shift) = if weight >= 0 { (weight, 0) } else { (0, -weight) };
        let most = octets(self.config.set_point) * ((2 << weight_shift) + (1 << octet_shift));
        let badness = ((offset << octet_shift) + (delta << weight_shift)).clamp(0, most);
        if badness == 0 {
            return 0;
        }
        let quantised = match self.config.quantiser {
            Quantiser::SixtyThreeths => badness * 63 / most,
            Quantiser::SixtyFourths => badness * 64 / most,
            Quantiser::TopBits => badness >> (i64::BITS - most.leading_zeros()).saturating_sub(6),
        };
        quantised.min(63) as u8
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

/// Octets as the arithmetic takes them. The bound leaves room for weight and quantiser; no buffer reaches it.
fn octets(size: Bytes) -> i64 {
    const TERABYTE: u64 = 1 << 40;
    size.get().min(TERABYTE) as i64
}
