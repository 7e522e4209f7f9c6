//! The real binary, as people and scripts use it: what it prints, how it exits, what it leaves behind.

mod bad_input;
mod bench;
mod captures;
mod conformance;
mod interrupted;
mod isolation;
mod lists;
mod live;
mod live_nic;
mod lookups;
mod results;
mod runs;
mod suite;
mod support;
mod theory;
mod tshark;
mod why;
