//! The simulator from outside: plans in, recordings out, compared with what other simulators and arithmetic say.

mod benchworks;
mod conservation;
mod network;
