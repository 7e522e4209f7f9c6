//! The mechanisms: values and the time in, values out.

pub mod pacer;
pub mod pause;
pub mod qcn;
