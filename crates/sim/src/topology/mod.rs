//! Networks as data: parameters in, nodes and links out.

pub mod routing;

pub use routing::Routes;
