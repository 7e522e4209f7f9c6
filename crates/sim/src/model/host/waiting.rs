//! Which queues of an adapter wait for a turn, class by class.

use crate::model::near::bring_near;
use crate::model::ring::Ring;

/// The queues that hold a frame which may go as far as its connection is concerned.
#[derive(Debug)]
pub(super) struct Waiting {
    rings: Vec<Ring>,
    /// One bit a class: it has such a queue.
    classes: u8,
}

impl Waiting {
    /// None yet, of so many classes and queues.
    pub(super) fn new(classes: usize, queues: usize) -> Waiting {
        Waiting { rings: vec![Ring::new(queues); classes], classes: 0 }
    }

    /// The classes that have one, one bit each.
    #[inline]
    pub(super) fn classes(&self) -> u8 {
        self.classes
    }

    /// All classes there are, one bit each.
    #[inline]
    pub(super) fn all_classes(&self) -> u8 {
        ((1u16 << self.rings.len()) - 1) as u8
    }

    /// The queues of a class that wait.
    #[inline]
    pub(super) fn of(&self, class: usize) -> &Ring {
        &self.rings[class]
    }

    #[inline]
    pub(super) fn insert(&mut self, class: usize, queue: usize) {
        self.rings[class].insert(queue);
        self.classes |= 1 << class;
    }

    #[inline]
    pub(super) fn remove(&mut self, class: usize, queue: usize) {
        self.rings[class].remove(queue);
        if self.rings[class].is_empty() {
            self.classes &= !(1 << class);
        }
    }

    /// It is wanted soon.
    pub(super) fn bring_near(&self) {
        bring_near(&self.rings[..]);
    }

    /// A queue of a class has had its turn.
    #[inline]
    pub(super) fn served(&mut self, class: usize, queue: usize) {
        self.rings[class].served(queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_a_bit_while_a_queue_of_it_waits() {
        let mut waiting = Waiting::new(3, 70);
        assert_eq!((waiting.classes(), waiting.all_classes()), (0, 0b111));
        for queue in [2, 69] {
            waiting.insert(1, queue);
        }
        waiting.insert(2, 0);
        waiting.remove(1, 2);
        assert_eq!((waiting.classes(), waiting.of(1).first()), (0b110, Some(69)));
        waiting.remove(1, 69);
        waiting.remove(0, 5);
        assert_eq!(waiting.classes(), 0b100);
        assert_eq!(Waiting::new(8, 1).all_classes(), 0xff);
    }
}
