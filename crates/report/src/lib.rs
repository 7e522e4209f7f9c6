//! From recordings to verdicts, figures and pages.
//!
//! [`Extract::take`] keeps what one recording has to say; [`judge`] and [`figures`] put the runs together;
//! [`page`] and [`text`](render::text) show them. Nothing here knows whether a simulation or a live network
//! was recorded.

pub mod extract;
pub mod figure;
pub mod judge;
pub mod metric;
pub mod unit;

pub use extract::Extract;
pub use figure::{Figure, figures};
pub use judge::{Verdict, judge};
pub use unit::Unit;
