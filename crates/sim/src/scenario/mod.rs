//! Scenarios: from a file to a [`Plan`](plan::Plan).

pub mod plan;
