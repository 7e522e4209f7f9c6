//! The machines of `quell-proto` on real interfaces.
//!
//! | part | what it is for |
//! |---|---|
//! | [`node`] | what a device is to its driver: frames in, frames out, told the time; no clock, no socket |
//! | [`note`] | what nodes tell of besides frames and counts |
//! | [`switch`] | a store-and-forward switch with congestion points, service rates, PAUSE and PFC |
//! | [`nic`] | an adapter: reaction points with token buckets in front of a wire |
//! | [`load`] | UDP frames with a flow number, made and measured |
//! | [`device`] | interfaces: packet rings of Linux, and pairs in memory |
//! | [`drive`] | the loop that gives nodes the real time and real frames |
//! | [`surroundings`] | what kernel and adapter will hide |
//! | [`lab`] | network namespaces joined by veth pairs, made and taken away |
//! | [`recorder`] | what happened, sampled as a simulation's recording |
//! | [`step`], [`mod@bench`] | the step experiment, and what the software can do |
//!
//! Nodes take `now` with every call and say when they want to be called again, as the machines inside them do. So a test
//! drives them in virtual time, and one transcript gives the same answers as in the simulator.

pub mod bench;
pub mod clock;
pub mod device;
pub mod drive;
mod hold;
pub mod lab;
pub mod load;
pub mod nic;
pub mod node;
pub mod note;
mod pool;
pub mod recorder;
pub mod step;
pub mod surroundings;
pub mod switch;
