//! A model near its equilibrium: two matrices, and the equation they make with a delay between them.

use crate::complex::Complex;
use crate::delay::State;
use crate::model::{Model, Regime};
use crate::outside::Outside;

/// More places than this no linearised state has.
const MOST: usize = 4;

type Matrix = [[f64; MOST]; MOST];

/// How small changes of a state change its slope: those of now, and those of a delay ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    order: usize,
    present: Matrix,
    delayed: Matrix,
}

impl Linear {
    /// Linearises a model in one of its regimes.
    pub(crate) fn of(model: &Model, regime: Regime) -> Result<Linear, Outside> {
        let rest = model.equilibrium()?.state;
        let order = model.order();
        let column = |place: usize, moved: &dyn Fn(&State) -> State| {
            // The size of a state's place is what it is at rest; all are above zero there.
            let step = rest[place] * 1e-6;
            let shifted = |by: f64| {
                let mut state = rest;
                state[place] += by;
                moved(&state)
            };
            let (up, down) = (shifted(step), shifted(-step));
            let column: [f64; MOST] = std::array::from_fn(|row| (up[row] - down[row]) / (2.0 * step));
            column
        };
        let mut linear = Linear { order, present: [[0.0; MOST]; MOST], delayed: [[0.0; MOST]; MOST] };
        for place in 0..order {
            let present = column(place, &|state| model.drift(regime, state, &rest));
            let delayed = column(place, &|state| model.drift(regime, &rest, state));
            for row in 0..order {
                // In shares of what each place is at rest, so that rates and queues are of one size.
                let scale = rest[place] / rest[row];
                linear.present[row][place] = present[row] * scale;
                linear.delayed[row][place] = delayed[row] * scale;
            }
        }
        Ok(linear)
    }

    /// The determinant of `s - present - delayed z`: zero where a motion `e^st` sustains itself, `z` being what
    /// the delay makes of it.
    fn determinant(&self, s: Complex, z: Complex) -> Complex {
        let mut rows = [[Complex::ZERO; MOST]; MOST];
        for (row, cells) in rows.iter_mut().enumerate().take(self.order) {
            for (column, cell) in cells.iter_mut().enumerate().take(self.order) {
                *cell = -(Complex::new(self.present[row][column], 0.0) + z.times(self.delayed[row][column]));
                if row == column {
                    *cell = *cell + s;
                }
            }
        }
        determinant(&mut rows, self.order)
    }

    /// The open loop at a frequency: what comes back of a motion that goes round once, with `z` for the delay.
    /// One plus it is zero where the loop sustains a motion.
    pub(crate) fn open(&self, s: Complex, z: Complex) -> Complex {
        self.determinant(s, z) / self.determinant(s, Complex::ZERO) - Complex::ONE
    }

    /// The `z` at which a motion of this frequency sustains itself; at most two, since a model looks back at
    /// two things at the most: queue and rate.
    pub(crate) fn sustaining(&self, s: Complex) -> Vec<Complex> {
        let at = |z: f64| self.determinant(s, Complex::new(z, 0.0));
        let constant = at(0.0);
        let (plus, minus) = (at(1.0) - constant, at(-1.0) - constant);
        let square = (plus + minus).times(0.5);
        let linear = (plus - minus).times(0.5);
        if square.size() <= 1e-9 * linear.size() {
            return if linear.size() > 0.0 { vec![-constant / linear] } else { Vec::new() };
        }
        let root = (linear * linear - (square * constant).times(4.0)).root();
        [root, -root].map(|root| (root - linear) / square.times(2.0)).to_vec()
    }

    /// Whether it comes to rest if nothing is delayed: by Hurwitz's conditions on the characteristic polynomial.
    pub(crate) fn is_stable_without_delay(&self) -> bool {
        let n = self.order;
        let mut whole = [[0.0; MOST]; MOST];
        for (row, cells) in whole.iter_mut().enumerate().take(n) {
            for (column, cell) in cells.iter_mut().enumerate().take(n) {
                *cell = self.present[row][column] + self.delayed[row][column];
            }
        }
        let [a3, a2, a1, a0] = characteristic(&whole, n);
        match n {
            2 => a3 > 0.0 && a2 > 0.0,
            3 => a3 > 0.0 && a1 > 0.0 && a3 * a2 > a1,
            _ => {
                let third = a3 * a2 - a1;
                a3 > 0.0 && third > 0.0 && a1 * third > a3 * a3 * a0 && a0 > 0.0
            }
        }
    }
}

/// By elimination, the largest of a column first.
fn determinant(rows: &mut [[Complex; MOST]; MOST], order: usize) -> Complex {
    let mut product = Complex::ONE;
    for pivot in 0..order {
        let size = |row: &usize| rows[*row][pivot].size();
        let largest = (pivot..order).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(pivot);
        if largest != pivot {
            rows.swap(pivot, largest);
            product = -product;
        }
        let head = rows[pivot];
        product = product * head[pivot];
        if head[pivot] == Complex::ZERO {
            return Complex::ZERO;
        }
        for row in rows.iter_mut().take(order).skip(pivot + 1) {
            let factor = row[pivot] / head[pivot];
            for (cell, above) in row.iter_mut().zip(head).skip(pivot) {
                *cell = *cell - factor * above;
            }
        }
    }
    product
}

/// The coefficients of the characteristic polynomial after the leading one, highest power first, by Faddeev and
/// LeVerrier; those beyond the order are zero.
fn characteristic(matrix: &Matrix, order: usize) -> [f64; MOST] {
    let mut coefficients = [0.0; MOST];
    let mut power = [[0.0; MOST]; MOST];
    let mut last = 1.0;
    for count in 1..=order {
        // power = matrix * (power + last * identity)
        let mut inner = power;
        (0..order).for_each(|place| inner[place][place] += last);
        for row in 0..order {
            for column in 0..order {
                power[row][column] = (0..order).map(|it| matrix[row][it] * inner[it][column]).sum();
            }
        }
        let trace: f64 = (0..order).map(|place| power[place][place]).sum();
        last = -trace / count as f64;
        coefficients[count - 1] = last;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_characteristic_polynomial_is_that_of_its_roots() {
        // Triangular, so 1, 2 and 4 are its roots: x^3 - 7 x^2 + 14 x - 8.
        let matrix = [[1.0, 5.0, 3.0, 0.0], [0.0, 2.0, -7.0, 0.0], [0.0, 0.0, 4.0, 0.0], [0.0; 4]];
        let found = characteristic(&matrix, 3).map(|it| it.round() as i64);
        assert_eq!(found, [-7, 14, -8, 0]);
    }

    #[test]
    fn a_determinant_changes_its_sign_with_the_order_of_rows() {
        let real = |value: f64| Complex::new(value, 0.0);
        let mut rows = [[Complex::ZERO; MOST]; MOST];
        (rows[0][1], rows[1][0], rows[2][2]) = (real(2.0), real(3.0), real(5.0));
        assert_eq!(determinant(&mut rows, 3), real(-30.0));
    }
}
