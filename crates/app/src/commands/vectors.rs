//! `quell vectors`: inputs and expected outputs, step by step, for people who build hardware or drivers.

use crate::exit::{Exit, Failure};
use crate::out;
use crate::vectors;

pub(super) fn vectors() -> Result<Exit, Failure> {
    let mut text = serde_json::to_string_pretty(&vectors::all()).expect("plain data is always JSON");
    text.push('\n');
    out::print(&text)?;
    Ok(Exit::Done)
}
