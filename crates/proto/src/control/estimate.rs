//! The running estimate of how congested a path is, as DCQCN and DCTCP keep it (alpha).

use crate::units::Share;

/// A share of one in units of 2^-32, moved by a part of its distance at a time.
///
/// Each step is rounded by less than a unit, towards where it goes, so that an estimate arrives at nothing and at
/// one instead of stopping short. A step with gain g leaves `1 - g` of the errors before it, so they never add up
/// to more than `1/g` units: 6e-8 at the usual gain of 1/256, against cuts of a hundredth and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Estimate(u64);

impl Estimate {
    pub(super) const ONE: Estimate = Estimate(1 << Self::FRACTION_BITS);
    pub(super) const NOTHING: Estimate = Estimate(0);
    const FRACTION_BITS: u32 = 32;

    /// Rounded down; at most one.
    pub(super) fn of(share: Share) -> Estimate {
        Estimate::ratio(u64::from(share.num), u64::from(share.den))
    }

    /// `part` of `whole`, rounded down; at most one, and nothing of nothing.
    pub(super) fn ratio(part: u64, whole: u64) -> Estimate {
        let units = u128::from(part.min(whole)) << Self::FRACTION_BITS;
        Estimate(u64::try_from(units / u128::from(whole.max(1))).expect("at most one"))
    }

    /// Moved a `gain` of the way to `to`: `(1 - g) * self + g * to`.
    pub(super) fn towards(self, to: Estimate, gain: Share) -> Estimate {
        // The distance is at most 2^32, the gain below 2^32: the product fits.
        let step = |distance: u64| (distance * u64::from(gain.num)).div_ceil(u64::from(gain.den));
        match to.0.checked_sub(self.0) {
            Some(up) => Estimate(self.0 + step(up)),
            None => Estimate(self.0 - step(self.0 - to.0)),
        }
    }

    /// Moved towards nothing this many times. As many single steps, since each is rounded; they end early where
    /// nothing is left, which at a gain of 1/256 is after 4,398.
    pub(super) fn fallen(self, times: u64, gain: Share) -> Estimate {
        let mut estimate = self;
        for _ in 0..times {
            if estimate == Self::NOTHING {
                break;
            }
            estimate = estimate.towards(Self::NOTHING, gain);
        }
        estimate
    }

    /// Numerator and denominator of half of it: what a cut takes.
    pub(super) fn half(self) -> (u64, u64) {
        (self.0, Self::ONE.0 << 1)
    }

    /// In millionths, rounded down.
    pub(super) fn millionths(self) -> u32 {
        ((self.0 * 1_000_000) >> Self::FRACTION_BITS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GAIN: Share = Share { num: 1, den: 256 };

    fn number(estimate: Estimate) -> f64 {
        estimate.0 as f64 / Estimate::ONE.0 as f64
    }

    #[test]
    fn an_estimate_arrives_where_it_goes() {
        let mut estimate = Estimate::ONE;
        assert_ne!(estimate.fallen(4_397, GAIN), Estimate::NOTHING);
        assert_eq!(estimate.fallen(4_398, GAIN), Estimate::NOTHING);
        estimate = Estimate::NOTHING;
        for _ in 0..4_600 {
            estimate = estimate.towards(Estimate::ONE, GAIN);
        }
        assert_eq!(estimate, Estimate::ONE);
    }

    #[test]
    fn shares_are_what_they_say() {
        assert_eq!(Estimate::of(Share { num: 1023, den: 1024 }).millionths(), 999_023);
        assert_eq!(Estimate::ratio(7, 7), Estimate::ONE);
        assert_eq!(Estimate::ratio(0, 0), Estimate::NOTHING);
        assert_eq!(Estimate::ratio(u64::MAX, 1), Estimate::ONE);
    }

    proptest! {
        /// Against floats, whose error of 2^-53 is nothing here: never more than 1/g units apart.
        #[test]
        fn rounding_never_adds_up(
            steps in prop::collection::vec(0u64..=100, 0..2_000),
            num in 1u32..100,
            den in 100u32..5_000,
        ) {
            let gain = Share { num, den };
            let g = f64::from(num) / f64::from(den);
            let (mut fixed, mut float) = (Estimate::ONE, 1.0f64);
            for percent in steps {
                let to = Estimate::ratio(percent, 100);
                fixed = fixed.towards(to, gain);
                float = (1.0 - g) * float + g * number(to);
                let units = (number(fixed) - float).abs() * Estimate::ONE.0 as f64;
                prop_assert!(units <= 1.0 / g + 1e-3, "{units} units apart");
            }
        }

        #[test]
        fn falling_is_so_many_single_steps(start: u32, times in 0u64..500) {
            let start = Estimate(u64::from(start));
            let single = (0..times).fold(start, |it, _| it.towards(Estimate::NOTHING, GAIN));
            prop_assert_eq!(start.fallen(times, GAIN), single);
        }
    }
}
