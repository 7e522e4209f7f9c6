//! Samples of successive instants as they are said, row by row.
//!
//! Most runs say the same of the same entities at every instant. Then a value is one number more in a list: whose it is stands in the
//! shape that all rows share, and who wants series turns many rows round at once.

use crate::{Digester, EntityId, Quantity};
use quell_proto::units::Instant;
use std::sync::Arc;

/// Whose a value is, and what it measures.
pub type Cell = (EntityId, Quantity);

/// Rows that say the same of the same entities. The last one may not be over.
#[derive(Clone, Debug, Default)]
pub struct Rows {
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
    /// One row: whose values it has, in order, and those values.
    ///
    /// # Panics
    /// When there are more of one than of the other.
    pub fn one(at: Instant, shape: Arc<Vec<Cell>>, values: Vec<i64>) -> Rows {
        assert_eq!(shape.len(), values.len(), "a value for each cell");
        Rows { said: shape.len(), shape, times: vec![at], values, is_open: false, last: Some(at) }
    }

    /// Adds rows that are over to those that are over here. Gives back the latter if they are of another shape.
    ///
    /// # Panics
    /// As [`Rows::begin`], and when the last row of either is not over.
    pub(crate) fn append(&mut self, rows: &Rows) -> Option<Rows> {
        let first = rows.times.first()?;
        assert!(!self.is_open && !rows.is_open, "a row that is not over is not alone");
        self.assert_later(*first);
        let is_alike = self.times.is_empty() || self.shape == rows.shape;
        let others = (!is_alike).then(|| self.hand_over());
        // Theirs even if it is the same: who says rows of one shape again and again is recognised by it.
        self.shape = Arc::clone(&rows.shape);
        self.times.extend_from_slice(&rows.times);
        self.values.extend_from_slice(&rows.values);
        (self.said, self.last) = (self.shape.len(), rows.last);
        others
    }

    /// Begins a row, after [`Rows::end_row`].
    ///
    /// # Panics
    /// When rows do not rise: digests and files rest on the order that [`Sink`](crate::Sink) asks for.
    pub fn begin(&mut self, at: Instant) {
        self.assert_later(at);
        self.last = Some(at);
        self.times.push(at);
        (self.said, self.is_open) = (0, true);
    }

    fn assert_later(&self, at: Instant) {
        assert!(
            self.last.is_none_or(|before| before < at),
            "samples at {at} come after those of a later time"
        );
    }

    /// Adds a value to the row begun last. Gives back the rows before it if they are of another shape.
    ///
    /// # Panics
    /// When values of a row are not in order of entity and quantity, or belong to no row.
    #[inline]
    pub fn say(&mut self, cell: Cell, value: i64) -> Option<Rows> {
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
        assert!(self.is_open, "a sample of {} outside of any row", cell.1.name());
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
    pub fn end_row(&mut self, digester: Option<&mut Digester>) -> Option<Rows> {
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
        digester.row(self.times[row], &self.shape, self.row(row));
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
    pub fn hand_over(&mut self) -> Rows {
        let times = std::mem::take(&mut self.times);
        let room = Vec::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, room);
        Rows { shape: Arc::clone(&self.shape), times, values, ..*self }
    }

    /// Whose values each row has.
    pub fn shape(&self) -> &Arc<Vec<Cell>> {
        &self.shape
    }

    /// When the rows are.
    pub fn times(&self) -> &[Instant] {
        &self.times
    }

    /// How many values there are in all.
    pub(crate) fn count(&self) -> usize {
        self.values.len()
    }

    /// The values of one row.
    pub fn row(&self, row: usize) -> &[i64] {
        &self.values[row * self.shape.len()..(row + 1) * self.shape.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{TxBytes, TxFrames};
    use proptest::prelude::*;

    #[test]
    fn rows_of_one_shape_stay_together_and_others_part_from_them() {
        let row = |at, cells: &[Cell]| {
            let values = (0..cells.len() as i64).collect();
            Rows::one(Instant::from_ps(at), Arc::new(cells.to_vec()), values)
        };
        let (one, two) = ((EntityId(1), TxBytes), (EntityId(2), TxBytes));
        let mut rows = Rows::default();
        assert!(rows.append(&row(1, &[one])).is_none());
        assert!(rows.append(&row(2, &[one])).is_none());
        let others = rows.append(&row(3, &[one, two])).unwrap();
        assert_eq!((others.times().len(), others.row(1)), (2, &[0][..]));
        assert_eq!((rows.times().len(), rows.row(0)), (1, &[0, 1][..]));
        rows.begin(Instant::from_ps(4));
        assert!(rows.say(one, 7).is_none() && rows.say(two, 8).is_none() && rows.end_row(None).is_none());
        assert_eq!((rows.times().len(), rows.row(1)), (2, &[7, 8][..]));
    }

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
