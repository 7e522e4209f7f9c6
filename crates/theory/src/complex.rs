//! As much of complex numbers as a characteristic equation needs.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Complex {
    pub(crate) const ZERO: Complex = Complex { re: 0.0, im: 0.0 };
    pub(crate) const ONE: Complex = Complex { re: 1.0, im: 0.0 };

    pub(crate) fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    /// The number of this angle on the unit circle.
    pub(crate) fn turned(angle: f64) -> Complex {
        Complex { re: angle.cos(), im: angle.sin() }
    }

    pub(crate) fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// Between -pi and pi.
    pub(crate) fn angle(self) -> f64 {
        self.im.atan2(self.re)
    }

    pub(crate) fn times(self, factor: f64) -> Complex {
        Complex { re: self.re * factor, im: self.im * factor }
    }

    /// The root with the positive real part.
    pub(crate) fn root(self) -> Complex {
        Complex::turned(self.angle() / 2.0).times(self.size().sqrt())
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, other: Complex) -> Complex {
        let size = other.re * other.re + other.im * other.im;
        Complex {
            re: (self.re * other.re + self.im * other.im) / size,
            im: (self.im * other.re - self.re * other.im) / size,
        }
    }
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex { re: -self.re, im: -self.im }
    }
}
