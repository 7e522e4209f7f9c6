//! `quell dissector`: the Lua dissector for Wireshark and tshark.

use crate::exit::{Exit, Failure};
use crate::out;

/// What Wireshark loads.
const DISSECTOR: &str = include_str!("quell.lua");

pub(super) fn dissector() -> Result<Exit, Failure> {
    out::print(DISSECTOR)?;
    Ok(Exit::Done)
}
