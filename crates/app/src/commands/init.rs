//! `quell init`: a scenario to start from.

use crate::cli::InitArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The starter; a test runs it.
const STARTER: &str = include_str!("starter.toml");

pub(super) fn init(args: &InitArgs) -> Result<Exit, Failure> {
    if args.file == Path::new("-") {
        out::print(STARTER)?;
        return Ok(Exit::Done);
    }
    let shown = args.file.display();
    let written = File::create_new(&args.file).and_then(|mut file| file.write_all(STARTER.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::invalid(format!("{shown}: is there already, and is left as it is"))
                .hint("name another file: `quell init other.toml`")
        }
        _ => Failure::io(&args.file, "write", &error).hint("choose a file in a folder you may write to"),
    })?;
    out::print(&format!("wrote {shown}\nnext: quell check {shown}, then quell run {shown}\n"))?;
    Ok(Exit::Done)
}
