//! Scenario and seed in, recording out: a deterministic packet simulator of lossless Ethernet.
//!
//! No files and no wall clock in here. See `ARCHITECTURE.md` for the map.

pub mod kernel;
pub mod model;
pub mod scenario;
pub mod topology;
pub mod traffic;
