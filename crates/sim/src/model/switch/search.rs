//! The search for a random occupant of a buffer, as hardware does it.

use super::congestion::Resident;
use crate::scenario::plan::CulpritSearch;
use quell_proto::control::qcn::{CulpritArray, Word};
use quell_proto::dice::Dice;
use quell_proto::units::Priority;

/// The culprit array of a port. Ports of a switch take turns with one: what it holds is put there for each search.
///
/// Where the units of a frame lie is drawn anew each time. That is what a memory looks like whose free units have been
/// mixed by use, and spares keeping books of units for every frame.
#[derive(Debug)]
pub(super) struct Search {
    array: CulpritArray<Box<[Word]>>,
    /// Every unit, in an order that is drawn as far as it is needed.
    units: Vec<u16>,
    /// The flow of the frame that begins in a unit.
    flows: Box<[u32]>,
}

impl Search {
    pub(super) fn new(plan: CulpritSearch) -> Search {
        let words = usize::from(plan.words);
        Search {
            array: CulpritArray::new(vec![Word::default(); words].into(), plan.search),
            units: (0..plan.words).collect(),
            flows: vec![0; words].into(),
        }
    }

    /// Finds the flow to blame among the frames of a port, and says how many reads that took.
    pub(super) fn find(
        &mut self,
        residents: &[Resident],
        priority: Priority,
        dice: &mut Dice,
    ) -> (Option<u32>, u32) {
        let mut used = 0;
        for resident in residents {
            let mut head = None;
            for _ in 0..resident.octets.div_ceil(CulpritSearch::UNIT) {
                let left = self.units.len() - used;
                assert!(left > 0, "a plan's array has a word for every unit");
                self.units.swap(used, used + dice.below(left as u64) as usize);
                let unit = self.units[used];
                used += 1;
                let head = *head.get_or_insert(unit);
                self.array.store(unit, head, resident.priority);
                self.flows[usize::from(head)] = resident.flow;
            }
        }
        let found = self.array.search(priority, dice);
        for unit in &self.units[..used] {
            self.array.clear(*unit);
        }
        (found.head.map(|head| self.flows[usize::from(head)]), found.reads)
    }
}
