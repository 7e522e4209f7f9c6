//! Numbers as differences from the one before (`DELTA_BINARY_PACKED`): each takes as many bits as those around it need.

use super::put_varint;
use std::mem;

/// So many differences have their least one in common, and so many among them their width.
const BLOCK: usize = 128;
const PART: usize = 32;

/// The numbers of a page, and the range of those of the whole row group.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The first one of the page, if there is any, and the last one of the blocks that are full.
    first: Option<i64>,
    last: i64,
    /// Those that fill no block yet, and how many they are.
    block: [i64; BLOCK],
    in_block: usize,
    /// Full blocks.
    blocks: usize,
    octets: Vec<u8>,
    /// The least and the greatest. Numbers without a sign are ordered after this was flipped.
    range: (i64, i64),
    flip: i64,
}

impl Numbers {
    const NO_RANGE: (i64, i64) = (i64::MAX, i64::MIN);

    pub(super) fn new(is_unsigned: bool) -> Numbers {
        Numbers {
            first: None,
            last: 0,
            block: [0; BLOCK],
            in_block: 0,
            blocks: 0,
            octets: Vec::new(),
            range: Self::NO_RANGE,
            flip: if is_unsigned { i64::MIN } else { 0 },
        }
    }

    #[inline]
    pub(super) fn push(&mut self, number: i64) {
        if self.first.is_none() {
            self.begin(number);
            return;
        }
        self.block[self.in_block] = number;
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.end_block();
        }
    }

    #[cold]
    fn begin(&mut self, number: i64) {
        self.first = Some(number);
        self.last = number;
        self.range = widened(self.range, self.flip, &[number]);
    }

    /// Puts the page there, and begins another one.
    pub(super) fn take_page(&mut self, to: &mut Vec<u8>) {
        let count = BLOCK * mem::take(&mut self.blocks) + self.in_block + usize::from(self.first.is_some());
        if self.in_block > 0 {
            self.end_block();
            self.blocks = 0;
        }
        put_varint(BLOCK as u64, to);
        put_varint((BLOCK / PART) as u64, to);
        put_varint(count as u64, to);
        put_signed(self.first.take().unwrap_or(0), to);
        to.append(&mut self.octets);
    }

    /// The least and the greatest of all since this was asked last, if there were any.
    pub(super) fn take_range(&mut self) -> Option<(i64, i64)> {
        let (least, greatest) = mem::replace(&mut self.range, Self::NO_RANGE);
        (least <= greatest).then_some((least ^ self.flip, greatest ^ self.flip))
    }

    #[inline(never)]
    fn end_block(&mut self) {
        let numbers = &self.block[..mem::take(&mut self.in_block)];
        self.range = widened(self.range, self.flip, numbers);
        // Whoever reads knows how many there are: the rest stays zero, which takes least.
        let mut beyond = [0; BLOCK];
        let least = differences(self.last, numbers, &mut beyond);
        self.last = numbers[numbers.len() - 1];
        self.blocks += 1;
        put_signed(least, &mut self.octets);
        let parts = || beyond.chunks_exact(PART);
        let widths = parts().map(|part| {
            let bits = part.iter().fold(0, |bits, number| bits | number);
            (u64::BITS - bits.leading_zeros()) as u8
        });
        self.octets.extend(widths.clone());
        for (part, width) in parts().zip(widths) {
            pack(part, width.into(), &mut self.octets);
        }
    }
}

/// A range that has these numbers too.
fn widened((mut least, mut greatest): (i64, i64), flip: i64, numbers: &[i64]) -> (i64, i64) {
    for number in numbers {
        least = least.min(number ^ flip);
        greatest = greatest.max(number ^ flip);
    }
    (least, greatest)
}

/// The least of the differences between numbers, of which one went before; and by how much each is beyond that.
fn differences(mut before: i64, numbers: &[i64], beyond: &mut [u64; BLOCK]) -> i64 {
    let mut least = i64::MAX;
    for (to, number) in beyond.iter_mut().zip(numbers) {
        let difference = number.wrapping_sub(before);
        *to = difference as u64;
        least = least.min(difference);
        before = *number;
    }
    for difference in &mut beyond[..numbers.len()] {
        *difference = difference.wrapping_sub(least as u64);
    }
    least
}

/// Puts numbers one behind the other, with so many bits each.
fn pack(numbers: &[u64], width: u32, octets: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut word, mut bits) = (0_u64, 0);
    for number in numbers {
        word |= number << bits;
        bits += width;
        if bits >= u64::BITS {
            octets.extend_from_slice(&word.to_le_bytes());
            bits -= u64::BITS;
            // What did not fit.
            word = number.checked_shr(width - bits).unwrap_or(0);
        }
    }
    octets.extend_from_slice(&word.to_le_bytes()[..bits as usize / 8]);
}

/// Small numbers of either sign take few octets.
fn put_signed(number: i64, octets: &mut Vec<u8>) {
    put_varint(((number << 1) ^ (number >> (i64::BITS - 1))) as u64, octets);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{take_varint, unpacked};
    use super::*;
    use proptest::prelude::*;

    fn take_signed(octets: &mut &[u8]) -> i64 {
        let number = take_varint(octets);
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// Reads numbers, as the format has it.
    fn read(mut octets: &[u8]) -> Vec<i64> {
        assert_eq!([take_varint(&mut octets), take_varint(&mut octets)], [128, 4]);
        let count = take_varint(&mut octets) as usize;
        let mut numbers = vec![take_signed(&mut octets)];
        while numbers.len() < count {
            let least = take_signed(&mut octets);
            let (widths, rest) = octets.split_at(4);
            octets = rest;
            for width in widths.iter().map(|width| usize::from(*width)) {
                let (own, rest) = octets.split_at(PART * width / 8);
                octets = rest;
                for place in 0..PART {
                    let beyond = unpacked(own, width, place);
                    let before = *numbers.last().unwrap();
                    numbers.push(before.wrapping_add(least).wrapping_add(beyond as i64));
                }
            }
        }
        assert!(octets.is_empty());
        numbers.truncate(count);
        numbers
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_said(
            wanted in prop::collection::vec((any::<i64>(), 0_u32..64), 0..400), is_wild in any::<bool>()
        ) {
            let mut said = Numbers::new(false);
            let numbers: Vec<i64> =
                wanted.into_iter().map(|(number, less)| number >> if is_wild { less } else { 50 }).collect();
            for _ in 0..2 {
                numbers.iter().for_each(|number| said.push(*number));
                let mut octets = Vec::new();
                said.take_page(&mut octets);
                prop_assert_eq!(&read(&octets), &numbers);
                let range = numbers.iter().copied().min().zip(numbers.iter().copied().max());
                prop_assert_eq!(said.take_range(), range);
            }
        }
    }

    #[test]
    fn a_number_that_stays_takes_no_bits() {
        let mut said = Numbers::new(false);
        (0..1 + 3 * BLOCK).for_each(|_| said.push(7));
        let mut octets = Vec::new();
        said.take_page(&mut octets);
        assert_eq!(octets.len(), 6 + 3 * 5);
    }

    #[test]
    fn without_a_sign_the_least_number_is_another() {
        let range = |is_unsigned| {
            let mut said = Numbers::new(is_unsigned);
            [5, -1, 7].into_iter().for_each(|number| said.push(number));
            said.take_page(&mut Vec::new());
            said.take_range().unwrap()
        };
        assert_eq!(range(false), (-1, 7));
        assert_eq!(range(true), (5, -1));
    }
}
