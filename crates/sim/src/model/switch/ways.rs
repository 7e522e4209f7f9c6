//! How much of what each input brought waits for each output.
//!
//! An input that stops its peer says which queue is to blame. To find that by looking at frames would mean to look at hundreds, most
//! of which have long left the caches; so it is kept count of.

/// Octets of data by input, class and output. Those of an input and class stand side by side.
#[derive(Debug, Default)]
pub(super) struct Ways {
    octets: Box<[u32]>,
    ports: usize,
    classes: usize,
}

impl Ways {
    /// More than these would take too much memory: 16 MB.
    const MOST: usize = 4 << 20;

    /// Nothing yet, between so many ports. They are not known if they would be too many.
    pub(super) fn new(ports: usize, classes: usize) -> Ways {
        match ports * ports * classes {
            count if count <= Self::MOST => Ways { octets: vec![0; count].into(), ports, classes },
            _ => Ways::default(),
        }
    }

    #[inline]
    fn way(&mut self, input: usize, class: usize, output: usize) -> Option<&mut u32> {
        self.octets.get_mut((input * self.classes + class) * self.ports + output)
    }

    /// A frame of an input waits for an output.
    #[inline]
    pub(super) fn add(&mut self, input: usize, class: usize, output: usize, length: u16) {
        let Some(octets) = self.way(input, class, output) else { return };
        match octets.checked_add(u32::from(length)) {
            Some(more) => *octets = more,
            // Four gigabytes: nobody keeps count from now on.
            None => *self = Ways::default(),
        }
    }

    /// It waits no longer.
    #[inline]
    pub(super) fn remove(&mut self, input: usize, class: usize, output: usize, length: u16) {
        if let Some(octets) = self.way(input, class, output) {
            *octets -= u32::from(length);
        }
    }

    /// Whether it is kept count of.
    pub(super) fn are_known(&self) -> bool {
        !self.octets.is_empty()
    }

    /// The output that most of what an input holds of a class is for, and how much that is; the first of several.
    pub(super) fn fullest(&self, input: usize, class: usize) -> Option<(u64, usize)> {
        let first = (input * self.classes + class) * self.ports;
        let outputs = self.octets.get(first..first + self.ports)?.iter().enumerate();
        let (output, octets) = outputs.rev().max_by_key(|(_, octets)| **octets)?;
        (*octets > 0).then_some((u64::from(*octets), output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_way_is_the_first_of_those_with_most() {
        let mut ways = Ways::new(3, 2);
        assert_eq!(ways.fullest(1, 0), None);
        for (output, length) in [(0, 100), (2, 1500), (1, 1500), (0, 1400)] {
            ways.add(1, 0, output, length);
        }
        ways.add(1, 1, 2, 9000);
        ways.add(0, 0, 2, 9000);
        assert_eq!(ways.fullest(1, 0), Some((1500, 0)));
        ways.remove(1, 0, 0, 100);
        assert_eq!(ways.fullest(1, 0), Some((1500, 1)));
        assert_eq!((ways.fullest(1, 1), ways.fullest(2, 0)), (Some((9000, 2)), None));
    }

    #[test]
    fn what_cannot_be_counted_is_not_known() {
        let mut ways = Ways::new(2, 1);
        for _ in 0..u32::MAX / u32::from(u16::MAX) {
            ways.add(0, 0, 1, u16::MAX);
        }
        assert!(ways.are_known());
        ways.add(0, 0, 1, u16::MAX);
        assert!(!ways.are_known());
        ways.remove(0, 0, 1, u16::MAX);
        assert_eq!(ways.fullest(0, 0), None);
    }
}
