//! Reports for people: a page, and a screen.

mod compare;
mod html;
pub mod text;

pub use compare::compare_page;
pub use html::page;
