//! Reports for people: a page, and a screen.

mod compare;
mod html;
mod reproduction;
mod suite;
pub mod text;

pub use compare::compare_page;
pub use html::page;
pub use reproduction::{Reproduction, reproduction};
pub use suite::{suite_page, suite_table};
