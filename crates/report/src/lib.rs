//! From recordings to verdicts, figures and pages.
//!
//! [`Extract::take`] keeps what one recording has to say; [`judge()`] and [`figures`] put the runs together;
//! [`page`] and [`text`] show them. Nothing here knows whether a simulation or a live network
//! was recorded.

pub mod cause;
pub mod correlate;
pub mod extract;
pub mod fairness;
pub mod figure;
pub mod judge;
pub mod metric;
pub mod render;
pub mod report;
pub mod suite;
pub mod theory;
pub mod unit;

pub use cause::Why;
pub use correlate::Correlation;
pub use extract::Extract;
pub use fairness::{Fairness, FairnessRow};
pub use figure::{Figure, figures};
pub use judge::{Verdict, judge};
pub use render::{Reproduction, compare_page, page, reproduction, suite_page, suite_table, text};
pub use report::{ConfigurationRow, Report, RunFact, Setting, Tally};
pub use suite::{Suite, SuiteScenario};
pub use unit::Unit;
