//! What a run leaves behind, and the only thing that producers and viewers share.
//!
//! A simulation (or a live capture) fills a recording through [`Sink`]; metrics, claims and figures read it
//! as a [`Recording`]. On disk one run is one directory: `manifest.json`, `series.parquet`,
//! `flows.parquet`, `events.parquet`, `summary.json`.

pub mod catalog;
pub mod claim;
pub mod select;
pub mod sink;

pub use catalog::{Catalog, Entity, EntityId, EntityKind};
pub use select::Selector;
pub use sink::{Event, EventKind, FlowTotals, Quantity, Sink};
