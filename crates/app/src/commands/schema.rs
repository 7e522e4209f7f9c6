//! `quell schema`: what an editor needs to complete and check a scenario while it is written.

use crate::exit::{Exit, Failure};
use crate::out;
use quell_sim::scenario;

pub(super) fn schema() -> Result<Exit, Failure> {
    let mut text = scenario::schema();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    out::print(&text)?;
    Ok(Exit::Done)
}
