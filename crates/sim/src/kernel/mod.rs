//! The clockwork: events in order, and the loop that runs them.
//!
//! The kernel knows nothing of switches or flows. It keeps the [`agenda`], takes the samples on time, checks the
//! invariants and ends the run.

pub(crate) mod agenda;
mod deadlock;
mod hand;
mod heap;
mod parallel;
mod run;

pub use run::{Broken, Control, LINKS_FOR_A_THREAD, Outcome, links, run, run_tapped, useful_threads};
