//! What a run leaves behind, and the only thing that producers and viewers share.
//!
//! A simulation (or a live capture) fills a recording through [`Sink`]; metrics, claims and figures read it
//! as a [`Recording`]. On disk one run is one directory: `manifest.json`, `catalog.json`, `series.parquet`,
//! `flows.parquet`, `events.parquet`, `summary.json`. Runs of one scenario stand together in one
//! [`Experiment`]. Who wants frames as well gets them through [`Tap`], in files of the [`capture`] formats.

pub mod capture;
pub mod catalog;
pub mod claim;
pub mod digest;
pub mod disk;
pub mod error;
pub mod experiment;
pub mod manifest;
pub mod near;
pub mod place;
pub mod recording;
mod rows;
pub mod select;
pub mod sink;

pub use catalog::{Catalog, Entity, EntityClass, EntityId, EntityKind, Message};
pub use digest::{Digest, Digester};
pub use disk::{DiskWriter, read_manifest, read_run, read_summary};
pub use error::{Difference, Fault, RecordError};
pub use experiment::{ConfigurationHead, Experiment, ExperimentHead, RunEntry};
pub use manifest::{Ending, FileMark, Manifest, ManifestDraft, ResolvedValue, ScenarioText};
pub use recording::{Memory, Recording};
pub use rows::{Cell, Rows};
pub use select::{SelectError, Selector};
pub use sink::{Event, EventKind, FlowTotals, Quantity, Sink, Tap, Tee};

#[cfg(test)]
mod testing;
