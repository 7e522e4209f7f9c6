//! `quell completions`: a script for a shell.

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use clap::CommandFactory;

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "quell", &mut script);
    out::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
