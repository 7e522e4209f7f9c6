//! Small numbers in runs and packed groups: how Parquet stores whether values are there, and their places in a dictionary.

use super::put_varint;
use std::mem;

/// So many numbers are packed together. A run that is shorter is packed too.
pub(super) const GROUP: usize = 8;

/// Numbers of so many bits, on their way into a page.
#[derive(Debug)]
pub(super) struct Runs {
    width: u32,
    octets: Vec<u8>,
    /// The number said last, and how often in a row.
    last: (u32, usize),
    /// Packed numbers that are not among the octets yet, because those say first how many there are; of the last ones the bits.
    packed: Vec<u8>,
    count: usize,
    word: u64,
    bits: u32,
}

impl Runs {
    pub(super) fn new(width: u32) -> Runs {
        Runs { width, octets: Vec::new(), last: (0, 0), packed: Vec::new(), count: 0, word: 0, bits: 0 }
    }

    /// The bits of numbers below this one.
    pub(super) fn width_below(end: usize) -> u32 {
        usize::BITS - end.saturating_sub(1).leading_zeros()
    }

    /// Adds a number, so many times.
    #[inline]
    pub(super) fn push(&mut self, number: u32, times: usize) {
        if self.last.0 != number {
            self.settle();
            self.last.0 = number;
        }
        self.last.1 += times;
    }

    /// Adds a few numbers of which nothing is known.
    #[inline]
    pub(super) fn push_group(&mut self, numbers: &[u32]) {
        match numbers {
            [first, rest @ ..] if rest.iter().all(|number| number == first) => {
                self.push(*first, numbers.len());
            }
            _ => {
                self.settle();
                numbers.iter().for_each(|number| self.pack(*number));
            }
        }
    }

    /// All of them, and none is left.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.settle();
        while !self.count.is_multiple_of(GROUP) {
            // Whoever reads knows how many there are.
            self.pack(0);
        }
        self.end_packed();
        mem::take(&mut self.octets)
    }

    /// The number said last comes no more.
    fn settle(&mut self) {
        let (number, mut times) = mem::take(&mut self.last);
        while !self.count.is_multiple_of(GROUP) && times > 0 {
            self.pack(number);
            times -= 1;
        }
        if times < GROUP {
            (0..times).for_each(|_| self.pack(number));
            return;
        }
        self.end_packed();
        put_varint((times as u64) << 1, &mut self.octets);
        let octets = self.width.div_ceil(8) as usize;
        self.octets.extend_from_slice(&number.to_le_bytes()[..octets]);
    }

    #[inline]
    fn pack(&mut self, number: u32) {
        self.word |= u64::from(number) << self.bits;
        self.bits += self.width;
        self.count += 1;
        if self.bits >= u32::BITS {
            self.packed.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= u32::BITS;
            self.bits -= u32::BITS;
        }
    }

    /// What is packed are whole groups, and so whole octets.
    fn end_packed(&mut self) {
        if self.count > 0 {
            put_varint((self.count / GROUP) as u64 * 2 + 1, &mut self.octets);
            self.octets.append(&mut self.packed);
            self.octets.extend_from_slice(&self.word.to_le_bytes()[..self.bits as usize / 8]);
            (self.count, self.word, self.bits) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{take_varint, unpacked};
    use super::*;
    use proptest::prelude::*;

    /// Reads so many numbers, as the format has it.
    fn read(mut octets: &[u8], width: usize, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let header = take_varint(&mut octets);
            let (count, is_run) = ((header >> 1) as usize, header & 1 == 0);
            let length = if is_run { width.div_ceil(8) } else { count * width };
            let (own, rest) = octets.split_at(length);
            octets = rest;
            match is_run {
                true => numbers.extend((0..count).map(|_| unpacked(own, width, 0) as u32)),
                false => numbers.extend((0..count * 8).map(|at| unpacked(own, width, at) as u32)),
            }
        }
        assert!(octets.is_empty());
        numbers.truncate(count);
        numbers
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_said(
            width in 0_u32..=31, said in prop::collection::vec((any::<u32>(), 1_usize..30), 0..60)
        ) {
            let mut runs = Runs::new(width);
            let mut expected = Vec::new();
            for (number, times) in said {
                // Many of them in a row, now and then.
                let number = (number >> (number % 31)) & ((1 << width) - 1);
                let times = if number % 3 == 0 { times } else { 1 };
                runs.push(number, times);
                expected.extend(std::iter::repeat_n(number, times));
            }
            prop_assert_eq!(read(&runs.take(), width as usize, expected.len()), expected);
            prop_assert!(runs.take().is_empty());
        }
    }

    #[test]
    fn groups_and_runs_may_follow_each_other() {
        let mut runs = Runs::new(3);
        runs.push_group(&[5; 8]);
        runs.push_group(&[1, 2, 3]);
        runs.push_group(&[]);
        runs.push(4, 20);
        runs.push_group(&[4; 8]);
        runs.push_group(&[7, 0, 7, 0, 7, 0, 7, 0]);
        let mut expected = [vec![5; 8], vec![1, 2, 3], vec![4; 28], [7, 0].repeat(4)].concat();
        // What fills a group up is not told from what was said.
        expected.push(0);
        assert_eq!(read(&runs.take(), 3, 47), expected[..47]);
    }

    #[test]
    fn a_long_run_takes_two_or_three_octets() {
        let mut runs = Runs::new(1);
        runs.push(1, 50);
        runs.push(1, 13);
        assert_eq!(runs.take(), [63 << 1, 1]);
    }

    #[test]
    fn a_width_holds_all_numbers_below_its_end() {
        let widths = [0, 1, 2, 3, 4, 5, 8, 9, 256, 257].map(Runs::width_below);
        assert_eq!(widths, [0, 0, 1, 2, 2, 3, 3, 4, 8, 9]);
    }
}
