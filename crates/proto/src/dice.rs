//! A small seeded generator, one stream per entity and purpose.
//!
//! Every port, flow and source draws from dice of its own, so that adding a host to a network shifts nobody
//! else's luck. The generator is xoshiro256++ (Blackman and Vigna), its state filled by splitmix64 as its
//! authors advise. Nothing here is a float.

/// A stream of draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dice([u64; 4]);

impl Dice {
    /// The stream of one entity for one purpose, under a run's seed.
    pub fn new(seed: u64, entity: u64, purpose: u64) -> Dice {
        let mut well = Splitmix(seed);
        // Each name is mixed before the next joins it: (1, 2) and (2, 1) are unrelated streams.
        well.0 = well.next() ^ entity;
        well.0 = well.next() ^ purpose;
        Dice::from_state([well.next(), well.next(), well.next(), well.next()])
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let drawn = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        drawn
    }

    /// A number below `n`, each equally likely.
    ///
    /// The high half of `draw * n` is the answer; draws whose low half falls into the remainder of
    /// 2^64 / n are thrown again, so that no answer has one draw more than another (Lemire, 2019).
    ///
    /// # Panics
    /// When `n` is zero: there is nothing to choose from.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a draw from nothing");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // The remainder costs a division, and is less than n: seldom worth asking for.
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// `value` times a uniform factor between `1 - percent/100` and `1 + percent/100`: each whole number
    /// in that range is equally likely, ends included. A `percent` of zero draws nothing.
    ///
    /// # Panics
    /// When `percent` is over 100, which would let the value change its sign.
    pub fn jitter(&mut self, value: u64, percent: u8) -> u64 {
        assert!(percent <= 100, "jitter of more than the value itself");
        if percent == 0 {
            return value;
        }
        // Rounded down, so that the range never leaves the stated one.
        let spread = (u128::from(value) * u128::from(percent) / 100) as u64;
        let width = spread.saturating_mul(2).saturating_add(1);
        (value - spread).saturating_add(self.below(width))
    }

    /// 53 random bits, for a caller who makes a float in [0, 1) of them.
    pub fn unit53(&mut self) -> u64 {
        self.next_u64() >> 11
    }

    fn from_state(state: [u64; 4]) -> Dice {
        // All zeroes is the one state xoshiro never leaves.
        if state == [0; 4] { Dice([1, 0, 0, 0]) } else { Dice(state) }
    }
}

/// Spreads a seed of few ones over a whole state (Steele, Lea and Flood, 2014).
struct Splitmix(u64);

impl Splitmix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
    use std::collections::BTreeSet;

    #[test]
    fn the_reference_vector_comes_out() {
        let mut dice = Dice::from_state([1, 2, 3, 4]);
        // The first outputs of the authors' C code from this state.
        for expected in [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386] {
            assert_eq!(dice.next_u64(), expected);
        }
    }

    #[test]
    fn splitmix_is_the_one_that_others_seed_with() {
        let mut ours = Splitmix(42);
        let mut theirs = SplitMix64::seed_from_u64(42);
        for _ in 0..100 {
            assert_eq!(ours.next(), theirs.next_u64());
        }
    }

    #[test]
    fn every_name_of_a_stream_counts() {
        let mut firsts = BTreeSet::new();
        for seed in 0..10 {
            for entity in 0..10 {
                for purpose in 0..10 {
                    firsts.insert(Dice::new(seed, entity, purpose).next_u64());
                }
            }
        }
        assert_eq!(firsts.len(), 1000);
    }

    #[test]
    fn below_favours_nobody() {
        // Of 3 * 2^62 numbers, the plain high half of the product gives every third one half of the draws.
        let mut dice = Dice::new(1, 2, 3);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[(dice.below(3 << 62) % 3) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn below_reaches_every_number() {
        let mut dice = Dice::new(1, 2, 3);
        let drawn: BTreeSet<_> = (0..1000).map(|_| dice.below(7)).collect();
        assert_eq!(drawn, (0..7).collect());
    }

    #[test]
    fn jitter_covers_its_range_and_no_more() {
        let mut dice = Dice::new(1, 2, 3);
        let drawn: BTreeSet<_> = (0..10_000).map(|_| dice.jitter(100, 15)).collect();
        assert_eq!(drawn, (85..=115).collect());
    }

    #[test]
    fn no_jitter_draws_nothing() {
        let mut dice = Dice::new(1, 2, 3);
        let before = dice.clone();
        assert_eq!(dice.jitter(150_000, 0), 150_000);
        assert_eq!(dice, before);
    }

    #[test]
    #[should_panic(expected = "a draw from nothing")]
    fn nothing_is_below_zero() {
        Dice::new(1, 2, 3).below(0);
    }

    proptest! {
        #[test]
        fn streams_agree_with_another_implementation(state: [u64; 4]) {
            prop_assume!(state != [0; 4]);
            let mut seed = [0; 32];
            for (octets, word) in seed.chunks_exact_mut(8).zip(state) {
                octets.copy_from_slice(&word.to_le_bytes());
            }
            let mut ours = Dice::from_state(state);
            let mut theirs = Xoshiro256PlusPlus::from_seed(seed);
            for _ in 0..50 {
                prop_assert_eq!(ours.next_u64(), theirs.next_u64());
            }
        }

        #[test]
        fn draws_stay_in_their_range(seed: u64, n in 1u64.., value: u64, percent in 0u8..=100) {
            let mut dice = Dice::new(seed, 0, 0);
            prop_assert!(dice.below(n) < n);
            prop_assert!(dice.unit53() < 1 << 53);
            let drawn = u128::from(dice.jitter(value, percent)) * 100;
            let (value, percent) = (u128::from(value), u128::from(percent));
            prop_assert!(drawn >= value * (100 - percent) && drawn <= value * (100 + percent));
        }
    }
}
