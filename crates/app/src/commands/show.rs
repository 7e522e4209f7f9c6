//! `quell show`: a built-in scenario as its file has it.

use crate::catalogue;
use crate::cli::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use std::path::Path;

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let id = args.id.strip_suffix(".toml").unwrap_or(&args.id);
    match catalogue::find(id) {
        Some(found) => out::print(found.text)?,
        None => return Err(unknown(id)),
    }
    Ok(Exit::Done)
}

fn unknown(id: &str) -> Failure {
    let failure = Failure::invalid(format!("{id}: there is no built-in scenario of that name"));
    match catalogue::near(id).as_slice() {
        [] if Path::new(id).exists() => failure.hint("it is a file: read it with what you like"),
        [] => failure.hint("`quell list` shows them all"),
        near => failure.hint(format!("is it `{}`?", near.join("` or `"))),
    }
}
