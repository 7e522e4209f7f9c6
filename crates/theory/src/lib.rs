//! What can be said of congestion control without simulating frames.
//!
//! A fluid model ([`Model`]: QCN, ECM, DCQCN) treats rates and queues as continuous and the way back of feedback
//! as a delay. [`trace`] follows it through time, [`Stability`] linearises it and says how much delay it bears,
//! [`map`] asks that over two parameters. [`admission`] is the other view of the same question: how fast to let
//! frames into a queue, solved exactly. [`series`] compares rates and queues of any origin.
//!
//! Everything is a function of its parameters. Parameters without an answer give [`Outside`], which says why;
//! no result holds a number that is not finite.

pub mod admission;
pub mod averaging;
mod complex;
mod delay;
mod linear;
pub mod map;
pub mod model;
mod outside;
pub mod series;
pub mod stability;
pub mod trace;

pub use model::{Dcqcn, Ecm, Model, Parameter, Path, Qcn};
pub use outside::Outside;
pub use stability::{Critical, Stability};
pub use trace::{Start, Trace};
