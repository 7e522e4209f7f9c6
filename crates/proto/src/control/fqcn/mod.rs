//! FQCN, fair QCN (Zhang and Ansari 2012 and 2013).
//!
//! Plain QCN blames one flow a sample. Here the congestion point counts what each flow brings from sample to sample,
//! picks out those that bring too much, and tells all of them at once, each in proportion to what it brings. Who
//! stays within an equal share hears nothing. Sampling, messages and reaction points are [`qcn`](super::qcn)'s: a
//! driver counts frames with [`Culprits::on_arrival`], samples with
//! [`CongestionPoint`](super::qcn::CongestionPoint), and tells everyone of [`Culprits::of`]; which frame made the
//! sample due does not matter.
//!
//! The abstract of the papers was at hand, their formulas were not: those here are recalled, with equal weights.

mod culprits;

pub use culprits::Culprits;
