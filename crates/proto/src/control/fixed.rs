//! Rates that are cut and raised many times a second, finer than whole bits per second.

use crate::units::Rate;

/// A rate in 2^-40 bits per second, so that a climb of halves and a cut of 128ths stay exact for dozens of
/// steps. Cuts round down, climbs round towards their target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed(pub(super) u128);

impl Fixed {
    pub(super) const ZERO: Fixed = Fixed(0);
    pub(super) const FRACTION_BITS: u32 = 40;

    pub(super) fn of(rate: Rate) -> Fixed {
        Fixed(u128::from(rate.bps()) << Self::FRACTION_BITS)
    }

    pub(super) fn floor(self) -> Rate {
        Rate::from_bps(u64::try_from(self.0 >> Self::FRACTION_BITS).unwrap_or(u64::MAX))
    }

    /// What a cut of `quantised / 2^gain_log2` leaves, rounded down; nothing where that is all.
    pub(super) fn less(self, quantised: u8, gain_log2: u8) -> Fixed {
        // A limited rate is below its maximum, 2^104 here; six bits more fit.
        let parts = self.0 * u128::from(quantised);
        let unit = 1u128 << gain_log2.min(127);
        Fixed(self.0.saturating_sub(parts.div_ceil(unit)))
    }

    pub(super) fn percent(self, percent: u8) -> Fixed {
        Fixed(self.0 * u128::from(percent) / 100)
    }

    pub(super) fn exceeds_tenfold(self, other: Fixed) -> bool {
        self.0 > 10 * other.0
    }

    pub(super) fn eighth(self) -> Fixed {
        Fixed(self.0 / 8)
    }

    pub(super) fn plus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_add(other.0))
    }

    pub(super) fn times(self, times: u32) -> Fixed {
        Fixed(self.0.saturating_mul(u128::from(times)))
    }

    /// Rounded towards `target`, so that a climb arrives.
    pub(super) fn halfway_to(self, target: Fixed) -> Fixed {
        match target.0.checked_sub(self.0) {
            Some(up) => Fixed(self.0 + up.div_ceil(2)),
            None => Fixed(self.0 - (self.0 - target.0).div_ceil(2)),
        }
    }

    /// `num / den` of it, at most all, rounded down.
    pub(super) fn part(self, num: u64, den: u64) -> Fixed {
        let (num, den) = (u128::from(num.min(den)), u128::from(den.max(1)));
        Fixed(self.0 / den * num + self.0 % den * num / den)
    }

    /// What is left without `other`, or nothing.
    pub(super) fn minus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_sub(other.0))
    }
}
