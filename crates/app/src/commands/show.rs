//! `quell show`: a built-in scenario as its file has it.

use crate::catalogue;
use crate::cli::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::out;

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
    let hint = catalogue::did_you_mean(id);
    failure.hint(hint.unwrap_or_else(|| "`quell list` shows them all".to_owned()))
}
