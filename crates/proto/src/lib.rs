//! Congestion control for lossless Ethernet, as pure state machines and frame formats.
//!
//! Nothing in this crate reads a clock, allocates, or does I/O. A driver hands each machine the time and
//! what happened, and gets values back; the simulator and the live datapath drive the same objects.
//!
//! - [`units`]: time in picoseconds, rates in bits per second, sizes in octets, as types.
//! - [`dice`]: a small seeded generator, one stream per entity and purpose.
//! - [`wire`]: octets to values and back, for every frame the mechanisms exchange.
//! - [`control`]: the mechanisms: who is told to slow down, by how much, and when it may speed up again.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod control;
pub mod dice;
pub mod units;
pub mod wire;
