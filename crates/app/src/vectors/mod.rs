//! Test vectors: what goes into the machines and formats of `quell-proto`, and what comes out.
//!
//! Inputs are chosen here; every output is computed by the code that simulates, never typed. All randomness is off, so
//! that another implementation can follow each step.

mod frames;
mod machines;

use crate::prepared::VERSION;
use serde_json::{Value, json};

/// The form of the document; it changes when a reader must.
const FORMAT: u32 = 1;

/// The whole document.
pub(crate) fn all() -> Value {
    json!({
        "format": FORMAT,
        "tool": format!("quell {VERSION}"),
        "about": "Octets are hexadecimal, from the destination address up to the check sequence. Sizes are octets, rates \
                  bits per second, times picoseconds. Steps follow each other; `expect` is what holds after a step. \
                  Rates are rounded down; machines keep more digits. docs/captures.md describes every part.",
        "frames": frames::good(),
        "broken_frames": frames::broken(),
        "congestion_points": machines::congestion_points(),
        "reaction_points": machines::reaction_points(),
        "pause_times": machines::pause_times(),
        "domain_defence": machines::domain_defence(),
    })
}

#[cfg(test)]
mod tests;
