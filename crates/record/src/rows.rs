//! Samples of successive instants as they are said, row by row.
//!
//! Most runs say the same of the same entities at every instant. Then a value is one number more in a list: whose it is stands in the
//! shape that all rows share, and who wants series turns many rows round at once.

use crate::{Digester, EntityId, Quantity};
use quell_proto::units::Instant;
use std::sync::Arc;

/// Whose a value is, and what it measures.
pub(crate) type Cell = (EntityId, Quantity);

/// Rows that say the same of the same entities. The last one may not be over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Shared with those that were given away: it may be as long as a row.
    shape: Arc<Vec<Cell>>,
    times: Vec<Instant>,
    values: Vec<i64>,
    /// How many values of the last row have been said.
    said: usize,
    /// Whether more of it may follow.
    is_open: bool,
    /// When the last row of all began, here or before.
    last: Option<Instant>,
}

impl Rows {
    /// Begins a row, after [`Rows::end_row`].
    ///
    /// # Panics
    /// When rows do not rise: digests and files rest on the order that [`Sink`](crate::Sink) asks for.
    pub(crate) fn begin(&mut self, at: Instant) {
        assert!(
            self.last.is_none_or(|before| before < at),
            "samples at {at} come after those of a later time"
        );
        self.last = Some(at);
        self.times.push(at);
        (self.said, self.is_open) = (0, true);
    }

    /// Adds a value to the row begun last. Gives back the rows before it if they are of another shape.
    ///
    /// # Panics
    /// When values of a row are not in order of entity and quantity, or precede every row.
    #[inline]
    pub(crate) fn say(&mut self, cell: Cell, value: i64) -> Option<Rows> {
        if self.shape.get(self.said) != Some(&cell) {
            return self.say_otherwise(cell, value);
        }
        self.said += 1;
        self.values.push(value);
        None
    }

    #[cold]
    #[inline(never)]
    fn say_otherwise(&mut self, cell: Cell, value: i64) -> Option<Rows> {
        assert!(!self.times.is_empty(), "a sample of {} before any row", cell.1.name());
        let before = self.said.checked_sub(1).map(|place| self.shape[place]);
        assert!(before.is_none_or(|before| before < cell), "{cell:?} said out of order in its row");
        let others = self.part_from_others();
        Arc::make_mut(&mut self.shape).push(cell);
        self.said += 1;
        self.values.push(value);
        others
    }

    /// The row begun last is over, if it is not already, and is told to a digest. Gives back the rows before it if they are of
    /// another shape.
    pub(crate) fn end_row(&mut self, digester: Option<&mut Digester>) -> Option<Rows> {
        if !self.is_open {
            return None;
        }
        self.is_open = false;
        let others = if self.said == self.shape.len() { None } else { self.part_from_others() };
        if let Some(digester) = digester {
            self.tell_row(self.times.len() - 1, digester);
        }
        others
    }

    /// Tells a digest of all rows.
    pub(crate) fn tell(&self, digester: &mut Digester) {
        (0..self.times.len()).for_each(|row| self.tell_row(row, digester));
    }

    fn tell_row(&self, row: usize, digester: &mut Digester) {
        let values = self.row(row).iter().copied();
        digester.row(self.times[row], self.shape.iter().copied().zip(values));
    }

    /// Gives the last row, as far as it has been said, a shape of its own.
    fn part_from_others(&mut self) -> Option<Rows> {
        if self.times.len() == 1 {
            Arc::make_mut(&mut self.shape).truncate(self.said);
            return None;
        }
        let shape = Arc::new(self.shape[..self.said].to_vec());
        let others = self.times.len() - 1;
        let values = self.values.split_off(others * self.shape.len());
        let times = self.times.split_off(others);
        let last = Rows { shape, times, values, ..*self };
        Some(std::mem::replace(self, last))
    }

    /// Forgets all rows but not their shape, in which the next ones are likely to be said.
    pub(crate) fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
    }

    /// Gives all rows away but not their shape, likewise.
    pub(crate) fn hand_over(&mut self) -> Rows {
        let times = std::mem::take(&mut self.times);
        let room = Vec::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, room);
        Rows { shape: Arc::clone(&self.shape), times, values, ..*self }
    }

    /// Whose values each row has.
    pub(crate) fn shape(&self) -> &Arc<Vec<Cell>> {
        &self.shape
    }

    /// When the rows are.
    pub(crate) fn times(&self) -> &[Instant] {
        &self.times
    }

    /// How many values there are in all.
    pub(crate) fn count(&self) -> usize {
        self.values.len()
    }

    /// The values of one row.
    pub(crate) fn row(&self, row: usize) -> &[i64] {
        &self.values[row * self.shape.len()..(row + 1) * self.shape.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{TxBytes, TxFrames};
    use proptest::prelude::*;

    proptest! {
        /// However shapes change from row to row, the rows that come out are those that were said.
        #[test]
        fn what_comes_out_is_what_was_said(said in prop::collection::vec((0u8..16, 0usize..6), 0..60)) {
            let cells = [(EntityId(0), TxBytes), (EntityId(0), TxFrames), (EntityId(3), TxBytes), (EntityId(4), TxFrames)];
            let mut rows = Rows::default();
            let mut out: Vec<(Instant, Vec<(Cell, i64)>)> = Vec::new();
            let mut take = |rows: &Rows| for (row, at) in rows.times().iter().enumerate() {
                out.push((*at, rows.shape().iter().copied().zip(rows.row(row).iter().copied()).collect()));
            };
            let mut expected = Vec::new();
            for (place, (which, takes)) in said.into_iter().enumerate() {
                let at = Instant::from_ps(place as u64 + 1);
                rows.begin(at);
                let mut row = Vec::new();
                for (bit, cell) in cells.into_iter().enumerate().filter(|(bit, _)| which & 1 << bit != 0) {
                    let value = (place * 4 + bit) as i64;
                    rows.say(cell, value).iter().for_each(&mut take);
                    row.push((cell, value));
                }
                rows.end_row(None).iter().for_each(&mut take);
                if takes == 0 {
                    take(&rows);
                    rows.clear();
                }
                expected.push((at, row));
            }
            take(&rows);
            prop_assert_eq!(out, expected);
        }
    }
}
