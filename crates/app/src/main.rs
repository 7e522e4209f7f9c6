//! The command line of Quell. See `cli.rs` for what it takes, `commands/` for what it does.

mod capture;
mod catalogue;
mod cli;
mod cli_live;
mod cli_theory;
mod clock;
mod commands;
mod decoded;
mod exit;
mod filter;
mod fluid;
mod interrupt;
mod out;
mod overlay;
mod prepared;
mod progress;
mod results;
mod runner;
mod source;
mod suite_folder;
mod suite_results;
mod threads;
mod vectors;

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Threads of one run grow their state side by side; the system's allocator asks the kernel for a page at a time, and each
/// of them stops all threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    interrupt::listen();
    let cli = cli::Cli::parse();
    match commands::act(cli.command) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.tell().into(),
    }
}
