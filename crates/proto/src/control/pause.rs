//! PAUSE and PFC: when a buffer stops its peer, and what the peer does about it.

use crate::units::{Bytes, Quanta};

/// When a buffer stops and restarts its peer, and for how long it asks at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseConfig {
    /// Stop the peer when the buffer holds more than this.
    pub stop: Bytes,
    /// Let it go when the buffer holds less than this.
    pub go: Bytes,
    /// The pause asked for; refreshed at half of it.
    pub quanta: Quanta,
}
