//! The simulator from outside: plans in, recordings out, compared with what other simulators and arithmetic say.

mod adapters;
mod benchworks;
mod captures;
mod conservation;
mod dcqcn;
mod deadlock;
mod determinism;
mod discovery;
mod fabric;
mod failures;
mod figures;
mod isolation;
mod lossless;
mod memory;
mod multicast;
mod network;
mod older_schemes;
mod paths;
mod schemes;
mod sharing;
mod sources;
mod threads;
mod timing;
mod transport;
