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
