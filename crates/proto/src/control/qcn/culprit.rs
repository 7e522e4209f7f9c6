//! Whom to tell: the flow that a sample blames.

use super::Culprit;
use crate::dice::Dice;

/// A buffer, as far as blame needs to know it.
pub trait Occupancy {
    /// What a notification is addressed to.
    type Flow;
    /// Octets in the buffer.
    fn octets(&self) -> u64;
    /// The flow that holds most octets, if any holds one. Which of equals is the buffer's to fix.
    fn largest(&self) -> Option<Self::Flow>;
    /// The flow that holds octet number `octet` of the buffer, from zero and below [`octets`](Self::octets).
    fn holder_of(&self, octet: u64) -> Option<Self::Flow>;
}

/// The flow to notify when a sample falls due.
///
/// `arrival` is the flow of the frame that made it due; a sample made due by the keep-alive clock has none,
/// and the driver passes the flow of the last frame that arrived. `None` when a resident frame is to be
/// blamed and there is none.
pub fn blame<F>(
    culprit: Culprit,
    arrival: F,
    buffer: &impl Occupancy<Flow = F>,
    dice: &mut Dice,
) -> Option<F> {
    match culprit {
        Culprit::Arrival => Some(arrival),
        Culprit::LargestOccupancy => buffer.largest(),
        Culprit::RandomOccupancy => match buffer.octets() {
            0 => None,
            octets => buffer.holder_of(dice.below(octets)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flow n holds the octets of entry n.
    struct Buffer([u64; 3]);

    impl Occupancy for Buffer {
        type Flow = usize;

        fn octets(&self) -> u64 {
            self.0.iter().sum()
        }

        fn largest(&self) -> Option<usize> {
            (0..3).filter(|flow| self.0[*flow] > 0).max_by_key(|flow| self.0[*flow])
        }

        fn holder_of(&self, mut octet: u64) -> Option<usize> {
            (0..3).find(|flow| match octet.checked_sub(self.0[*flow]) {
                Some(rest) => {
                    octet = rest;
                    false
                }
                None => true,
            })
        }
    }

    fn dice() -> Dice {
        Dice::new(1, 2, 3)
    }

    #[test]
    fn arrival_blames_the_frame_that_came_and_draws_nothing() {
        let mut dice = dice();
        assert_eq!(blame(Culprit::Arrival, 0, &Buffer([0, 9000, 0]), &mut dice), Some(0));
        assert_eq!(dice, self::dice());
    }

    #[test]
    fn largest_occupancy_blames_who_holds_most_and_draws_nothing() {
        let mut dice = dice();
        assert_eq!(blame(Culprit::LargestOccupancy, 0, &Buffer([1500, 3000, 4500]), &mut dice), Some(2));
        assert_eq!(dice, self::dice());
    }

    #[test]
    fn random_occupancy_blames_in_proportion_to_the_room_taken() {
        let (buffer, mut dice) = (Buffer([1500, 3000, 10_500]), dice());
        let mut blamed = [0u32; 3];
        for _ in 0..15_000 {
            blamed[blame(Culprit::RandomOccupancy, 0, &buffer, &mut dice).unwrap()] += 1;
        }
        // Expected 1500, 3000 and 10500, standard deviations 37, 49 and 56.
        assert!(
            blamed.iter().zip([1500, 3000, 10_500]).all(|(n, mean)| n.abs_diff(mean) < 250),
            "{blamed:?}"
        );
    }

    #[test]
    fn nobody_in_an_empty_buffer_is_blamed() {
        assert_eq!(blame(Culprit::LargestOccupancy, 0, &Buffer([0; 3]), &mut dice()), None);
        assert_eq!(blame(Culprit::RandomOccupancy, 0, &Buffer([0; 3]), &mut dice()), None);
    }
}
