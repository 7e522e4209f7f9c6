//! The culprit array: how hardware finds the frame in a random occupied unit of a buffer.
//!
//! A port's memory is cut into units of 256 octets, and for each unit the array has a word that says whether a frame
//! lies there, of which priority, and in which unit that frame begins. To blame a random frame of a priority, the search
//! reads at random addresses, sixteen words at a time, until it sees one of that priority; after a bounded number of
//! misses it reads on from there in order, so that it always ends, with a culprit if there is one (Unbiased QCN for
//! Scalable Server-Fabrics, RZ 3880, section VI).

use crate::dice::Dice;
use crate::units::Priority;

/// What the array knows of one unit of the buffer: 20 bits, as in the hardware.
///
/// | bits | what |
/// |---|---|
/// | 0–13 | the unit in which the frame begins |
/// | 14–16 | its priority |
/// | 17 | a frame is here |
/// | 18, 19 | parity of the even and of the odd bits below |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word(u32);

impl Word {
    /// Bits of a word.
    pub const BITS: u32 = 20;
    /// More units than this a word cannot name.
    pub const MOST_UNITS: usize = 1 << 14;
    const VALID: u32 = 1 << 17;
    const EVEN: u32 = 0x1_5555;
    const ODD: u32 = 0x2_aaaa;

    /// The word of a unit that holds part of a frame of `priority`, which begins in unit `head`.
    ///
    /// # Panics
    /// When no word can name the unit.
    pub fn of(head: u16, priority: Priority) -> Word {
        assert!(usize::from(head) < Self::MOST_UNITS, "a head has 14 bits");
        let bits = u32::from(head) | u32::from(priority.get()) << 14 | Self::VALID;
        Word(bits | Self::parity(bits) << 18)
    }

    fn parity(bits: u32) -> u32 {
        (bits & Self::EVEN).count_ones() & 1 | ((bits & Self::ODD).count_ones() & 1) << 1
    }

    /// Where the frame here begins, if one of this priority is here and no bit has flipped.
    pub fn head_of(self, priority: Priority) -> Option<u16> {
        let intact = Self::parity(self.0 & 0x3_ffff) == self.0 >> 18;
        let of_priority = self.0 >> 14 & 7 == u32::from(priority.get());
        (intact && of_priority && self.0 & Self::VALID != 0).then_some((self.0 & 0x3fff) as u16)
    }
}

/// Which words of a read a random probe looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// All sixteen: one of those that fit is picked at random. Few reads; a flow is hit in proportion to the units it
    /// holds if where they lie does not depend on the flow, as in a memory whose free units have been mixed by use.
    Read,
    /// The one at the random address: in proportion wherever units lie, at up to sixteen times the reads.
    Word,
}

/// How a search goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchConfig {
    /// Random probes before it goes on in order.
    pub probes: u32,
    /// What a probe looks at.
    pub probe: Probe,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the frame to blame begins; `None` if the buffer holds none of the priority.
    pub head: Option<u16>,
    /// Reads it took.
    pub reads: u32,
}

/// The words of a port, in memory that its owner provides.
#[derive(Clone, Debug)]
pub struct CulpritArray<S> {
    words: S,
    config: SearchConfig,
}

/// Words that one read of the memory gives: 320 bits.
pub const WORDS_A_READ: usize = 16;

impl<S: AsRef<[Word]> + AsMut<[Word]>> CulpritArray<S> {
    /// An array for a buffer of as many units as there are words.
    ///
    /// # Panics
    /// When there are none, or more than a word can name.
    pub fn new(words: S, config: SearchConfig) -> CulpritArray<S> {
        let units = words.as_ref().len();
        assert!((1..=Word::MOST_UNITS).contains(&units), "a word names one of 1 to 16384 units");
        CulpritArray { words, config }
    }

    /// A unit now holds part of a frame of `priority` that begins in unit `head`.
    pub fn store(&mut self, unit: u16, head: u16, priority: Priority) {
        self.words.as_mut()[usize::from(unit)] = Word::of(head, priority);
    }

    /// A unit is free again.
    pub fn clear(&mut self, unit: u16) {
        self.words.as_mut()[usize::from(unit)] = Word::default();
    }

    /// Units that the array has words for.
    pub fn units(&self) -> usize {
        self.words.as_ref().len()
    }

    /// Finds a frame of this priority to blame.
    pub fn search(&self, priority: Priority, dice: &mut Dice) -> Found {
        let words = self.words.as_ref();
        let lines = words.len().div_ceil(WORDS_A_READ);
        let mut reads = 0;
        while reads < self.config.probes {
            let address = dice.below((lines * WORDS_A_READ) as u64) as usize;
            reads += 1;
            let head = match self.config.probe {
                Probe::Read => self.pick(address / WORDS_A_READ, priority, dice),
                Probe::Word => words.get(address).and_then(|word| word.head_of(priority)),
            };
            if head.is_some() {
                return Found { head, reads };
            }
        }
        let first = dice.below(lines as u64) as usize;
        for line in (first..lines).chain(0..first) {
            reads += 1;
            let head = self.pick(line, priority, dice);
            if head.is_some() {
                return Found { head, reads };
            }
        }
        Found { head: None, reads }
    }

    /// One of the words of a read that fit, at random.
    fn pick(&self, line: usize, priority: Priority, dice: &mut Dice) -> Option<u16> {
        let words = self.words.as_ref();
        let read = &words[line * WORDS_A_READ..words.len().min((line + 1) * WORDS_A_READ)];
        let heads = || read.iter().filter_map(|word| word.head_of(priority));
        match heads().count() {
            0 => None,
            count => heads().nth(dice.below(count as u64) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const UNITS: usize = 12 * 1024;

    fn priority(number: u8) -> Priority {
        Priority::new(number).unwrap()
    }

    /// Units in random order: a free list that use has mixed.
    fn mixed(dice: &mut Dice) -> Vec<u16> {
        let mut units: Vec<u16> = (0..UNITS as u16).collect();
        for place in (1..UNITS).rev() {
            units.swap(place, dice.below(place as u64 + 1) as usize);
        }
        units
    }

    /// An array in which the flows hold these many units, one frame each a unit; with the flow of each unit.
    fn filled(
        held: &[(usize, u8)],
        probe: Probe,
        probes: u32,
        seed: u64,
    ) -> (CulpritArray<Vec<Word>>, Vec<usize>) {
        let mut dice = Dice::new(seed, 0, 0);
        let mut free = mixed(&mut dice).into_iter();
        let mut array = CulpritArray::new(std::vec![Word::default(); UNITS], SearchConfig { probes, probe });
        let mut flow_of = std::vec![usize::MAX; UNITS];
        for (flow, (count, class)) in held.iter().enumerate() {
            for unit in free.by_ref().take(*count) {
                array.store(unit, unit, priority(*class));
                flow_of[usize::from(unit)] = flow;
            }
        }
        (array, flow_of)
    }

    /// Pearson's statistic of counts against probabilities.
    fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
        let total = counts.iter().sum::<u64>() as f64;
        counts.iter().zip(shares).map(|(n, p)| (*n as f64 - total * p).powi(2) / (total * p)).sum()
    }

    #[test]
    fn a_word_keeps_what_it_is_told_in_twenty_bits() {
        for (head, class) in [(0, 0), (5, 7), (16_383, 3)] {
            let word = Word::of(head, priority(class));
            assert!(word.0 < 1 << Word::BITS);
            assert_eq!(word.head_of(priority(class)), Some(head));
            assert_eq!(word.head_of(priority((class + 1) % 8)), None);
        }
        assert_eq!(Word::default().head_of(priority(0)), None);
    }

    #[test]
    fn a_word_with_a_flipped_bit_blames_nobody() {
        let word = Word::of(1234, priority(5));
        for bit in 0..Word::BITS {
            assert_eq!(Word(word.0 ^ 1 << bit).head_of(priority(5)), None, "bit {bit}");
        }
    }

    #[test]
    fn the_array_costs_less_than_a_hundredth_of_the_memory() {
        assert!(f64::from(Word::BITS) / (256.0 * 8.0) < 0.01);
    }

    #[test]
    fn reads_follow_the_geometric_distribution_of_the_occupancy() {
        // Of 12288 units this many hold the priority: 0.1, 1, 10, 50 and 100 %.
        for held in [12, 123, 1229, 6144, UNITS] {
            let (mut seen, searches, bins) = ([0u64; 4], 20_000, [0.25, 0.5, 0.75]);
            let mut dice = Dice::new(9, held as u64, 1);
            let (array, _) =
                filled(&[(held, 2), ((UNITS - held) / 2, 3)], Probe::Read, u32::MAX, held as u64);
            // What one read hits by chance, from where the units really lie.
            let lines = UNITS / WORDS_A_READ;
            let lucky = (0..lines).filter(|line| array.pick(*line, priority(2), &mut dice).is_some()).count();
            let hit = lucky as f64 / lines as f64;
            let shuffled = 1.0 - (1.0 - held as f64 / UNITS as f64).powi(16);
            assert!((hit - shuffled).abs() < 0.03, "{hit} against {shuffled} with {held}");
            // Quartiles of the geometric distribution, rounded to whole reads, as four bins.
            let quantile =
                |q: f64| if hit < 1.0 { ((1.0 - q).ln() / (1.0 - hit).ln()).ceil().max(1.0) } else { 1.0 };
            let edges = bins.map(quantile);
            for _ in 0..searches {
                let reads = f64::from(array.search(priority(2), &mut dice).reads);
                seen[edges.iter().filter(|edge| reads > **edge).count()] += 1;
            }
            let below = |reads: f64| 1.0 - (1.0 - hit).powf(reads);
            let mut ends = [0.0, below(edges[0]), below(edges[1]), below(edges[2]), 1.0];
            ends[1..].sort_by(f64::total_cmp);
            let shares: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (counts, shares): (Vec<u64>, Vec<f64>) =
                seen.into_iter().zip(shares).filter(|(_, share)| *share > 1e-9).unzip();
            // Three degrees of freedom at most: 16.3 is passed once in a thousand times.
            assert!(chi_square(&counts, &shares) < 16.3, "{counts:?} against {shares:?} with {held}");
        }
    }

    #[test]
    fn a_flow_is_hit_in_proportion_to_the_units_it_holds() {
        let held = [(300, 4), (600, 4), (100, 4), (2000, 1)];
        for probe in [Probe::Read, Probe::Word] {
            // Over many mixtures of the free list, since where units lie favours some of one mixture.
            let mut hits = [0u64; 4];
            for seed in 0..200 {
                let (array, flow_of) = filled(&held, probe, 64, seed);
                let mut dice = Dice::new(seed, 1, 1);
                for _ in 0..20 {
                    let head = array.search(priority(4), &mut dice).head.unwrap();
                    hits[flow_of[usize::from(head)]] += 1;
                }
            }
            assert_eq!(hits[3], 0, "another priority is never blamed");
            // Two degrees of freedom: 13.8 is passed once in a thousand times.
            assert!(chi_square(&hits[..3], &[0.3, 0.6, 0.1]) < 13.8, "{probe:?}: {hits:?}");
        }
    }

    #[test]
    fn a_probe_of_one_word_is_fair_wherever_units_lie() {
        // Flow 0 fills ten reads to the last word; flow 1 has as many units, one in each of 160 reads.
        let config = |probe| SearchConfig { probes: u32::MAX, probe };
        let mut shares = [Probe::Word, Probe::Read].map(|probe| {
            let mut array = CulpritArray::new(std::vec![Word::default(); UNITS], config(probe));
            for unit in 0..160 {
                array.store(unit, unit, priority(0));
                array.store(16 * (20 + unit), 16 * (20 + unit), priority(0));
            }
            let mut dice = Dice::new(1, 2, 3);
            let first =
                (0..4000).filter(|_| array.search(priority(0), &mut dice).head.unwrap() < 160).count();
            first as f64 / 4000.0
        });
        assert!((shares[0] - 0.5).abs() < 0.04, "{shares:?}");
        // Ten reads against a hundred and sixty.
        shares[1] -= 10.0 / 170.0;
        assert!(shares[1].abs() < 0.02, "{shares:?}");
    }

    proptest! {
        #[test]
        fn a_search_always_ends_with_a_culprit_if_there_is_one(
            words in 1usize..200,
            stored in prop::collection::vec((0usize..200, 0u8..8), 0..40),
            wanted in 0u8..8,
            probes in 0u32..20,
            one_word: bool,
            seed: u64,
        ) {
            let probe = if one_word { Probe::Word } else { Probe::Read };
            let mut array = CulpritArray::new(std::vec![Word::default(); words], SearchConfig { probes, probe });
            let mut holds = std::vec![None; words];
            for (unit, class) in stored {
                let unit = unit % words;
                array.store(unit as u16, unit as u16, priority(class));
                holds[unit] = Some(class);
            }
            let found = array.search(priority(wanted), &mut Dice::new(seed, 0, 0));
            prop_assert!(found.reads <= probes + words.div_ceil(WORDS_A_READ) as u32);
            match found.head {
                Some(head) => prop_assert_eq!(holds[usize::from(head)], Some(wanted)),
                None => prop_assert!(!holds.contains(&Some(wanted))),
            }
            for unit in 0..words {
                array.clear(unit as u16);
            }
            prop_assert_eq!(array.search(priority(wanted), &mut Dice::new(seed, 0, 0)).head, None);
        }
    }
}
