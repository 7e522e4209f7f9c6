//! `quell man`: the manual page, or a page for each verb.

use crate::cli::{Cli, ManArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use clap::CommandFactory;
use clap_mangen::Man;
use std::fs;

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    match &args.dir {
        None => {
            let mut page = Vec::new();
            let rendered = Man::new(Cli::command()).render(&mut page);
            rendered.expect("writing to memory does not fail");
            out::print(&String::from_utf8_lossy(&page))?;
        }
        Some(dir) => {
            fs::create_dir_all(dir).map_err(|error| Failure::io(dir, "create", &error))?;
            clap_mangen::generate_to(Cli::command(), dir)
                .map_err(|error| Failure::io(dir, "write", &error))?;
            out::note(&format!("wrote the manual pages to {}", dir.display()));
        }
    }
    Ok(Exit::Done)
}
