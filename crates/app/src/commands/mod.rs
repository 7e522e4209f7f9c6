//! One file a verb. A further verb is a variant of
//! [`Command`](crate::cli::Command), a file here and a line in [`act`].

mod bench;
mod check;
mod compare;
mod completions;
mod decode;
mod dissector;
mod explain;
mod init;
mod list;
mod live;
mod man;
mod recorded;
mod report;
mod run;
mod schema;
mod show;
mod suite;
mod theory;
mod vectors;
mod why;

use crate::cli::Command;
use crate::exit::{Exit, Failure};

/// Does what the command line asks.
pub(crate) fn act(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Suite(args) => suite::suite(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Check(args) => check::check(&args),
        Command::Init(args) => init::init(&args),
        Command::List => list::list(),
        Command::Show(args) => show::show(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Why(args) => why::why(&args),
        Command::Decode(args) => decode::decode(&args),
        Command::Dissector => dissector::dissector(),
        Command::Live(args) => live::live(&args),
        Command::Vectors => vectors::vectors(),
        Command::Theory(args) => theory::theory(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Schema => schema::schema(),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
    }
}
