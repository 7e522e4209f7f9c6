//! What the command line takes. Each verb has its flags here and its work in `commands/`.

use crate::cli_live::LiveArgs;
use crate::cli_theory::TheoryArgs;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// A laboratory for congestion in lossless Ethernet: describe a network in one file, run it exactly, see what
/// happened.
#[derive(Debug, Parser)]
#[command(name = "quell", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with `quell list`, then `quell run qau/b1 --quick`.

Exit codes:
    0  done, and every claim holds
    1  a claim failed, the digest is not the expected one, or what is reported is not complete
    2  the command line or a file does not make sense
    3  an invariant broke while simulating
    4  the system could not read or write
  130  interrupted; what was computed is kept")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario: all its configurations and seeds, then judge its claims and write a report
    Run(RunArgs),
    /// Run every scenario of a family, and put their results into one table and one report
    Suite(SuiteArgs),
    /// Check a scenario and print every value it uses, with where the value comes from
    Check(CheckArgs),
    /// Write a commented scenario to start from
    Init(InitArgs),
    /// List the built-in scenarios, by family
    List,
    /// Print a built-in scenario
    Show(ShowArgs),
    /// Judge and draw recorded runs again
    Report(ReportArgs),
    /// Put two results side by side: what differs, and their figures overlaid
    Compare(CompareArgs),
    /// Say why a flow was slow: limited by whom, held paused by whom, rooted where
    Why(WhyArgs),
    /// Ask fluid models and queueing theory: stability, margins, optimal admission, correlation
    Theory(TheoryArgs),
    /// Print the frames of a capture, its own or another tool's
    Decode(DecodeArgs),
    /// Print a dissector for Wireshark and tshark: CN-TAG, CNM and CIM
    Dissector,
    /// The same machines on real Linux interfaces: a switch, an adapter, load, experiments
    Live(LiveArgs),
    /// Print test vectors for hardware and drivers: frames, congestion points, reaction points, step by step
    Vectors,
    /// Measure how fast this build simulates, on works that other simulators have done too
    Bench(BenchArgs),
    /// Say what a key of a scenario means: unit, range, default, source
    Explain(ExplainArgs),
    /// Print the JSON Schema of scenario files, for editors
    Schema,
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
}

/// What `run` takes.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Where results go [default: results/<ID>, with `-quick` for a quick run]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Only configurations whose name matches; `*` stands for anything, and the flag may be repeated
    #[arg(long = "config", value_name = "PATTERN")]
    pub(crate) configurations: Vec<String>,
    /// Threads to use [default: one for each core]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Draw the fluid model of the hottest port over queues and rates, where there is one
    #[arg(long, value_enum)]
    pub(crate) overlay: Option<Overlay>,
    /// Fail unless the digest is this one; 16 digits are enough
    #[arg(long, value_name = "HEX", value_parser = digest)]
    pub(crate) expect_digest: Option<String>,
    #[command(flatten)]
    pub(crate) pcap: PcapArgs,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress bar and no plots
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `bench` takes.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Works to measure, such as incast-open or 'permutation-*' [default: all]
    #[arg(value_name = "WORK")]
    pub(crate) works: Vec<String>,
    /// Count instructions too, on a shorter run; takes valgrind, and a minute or so
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Compare with what `--save` wrote
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) against: Option<PathBuf>,
    /// Fail if a work needs more instructions than in that file, by this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, requires = "against")]
    pub(crate) at_most: f64,
    /// Write what was measured to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save: Option<PathBuf>,
    /// Threads for each run; several numbers, as in 1,2,4, measure how runs speed up
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1")]
    pub(crate) threads: Vec<usize>,
    /// Take the best of so many runs
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) times: NonZeroUsize,
    /// Set a value of the works, as in `--set run.sample=10us`; may be repeated. Counts are not checked then
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment, conflicts_with_all = ["against", "save"])]
    pub(crate) sets: Vec<(String, String)>,
    /// Say where the instructions go, by source file, and nothing else; takes valgrind
    #[arg(long, conflicts_with_all = ["json", "save", "against"])]
    pub(crate) profile: bool,
    /// Write pictures and their numbers into this folder: cost and memory by hosts, speed-up by threads, profile
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Only simulate the first so many picoseconds of one work; what the command runs itself with
    #[arg(long, value_name = "PS", hide = true)]
    pub(crate) beginning: Option<u64>,
    /// Only this configuration of one work; what the command runs itself with
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) configuration: Option<String>,
    /// Only simulate one work, and record nothing; what the command runs itself with
    #[arg(long, hide = true)]
    pub(crate) bare: bool,
}

/// What is to be captured.
#[derive(Debug, Args)]
pub(crate) struct PcapArgs {
    /// Capture what leaves by these ports, for one seed of each configuration, into ports.pcapng in the folder of
    /// the run: a port such as 's1->h1', a pattern such as 's1->*', or a node for all its ports both ways; several
    /// with commas, and the flag may be repeated
    #[arg(long, value_name = "PORTS")]
    pub(crate) pcap: Vec<String>,
    /// The part of the run to capture, such as 1ms..2ms [default: all of it]
    #[arg(long, value_name = "FROM..TO", requires = "pcap")]
    pub(crate) pcap_over: Option<String>,
    /// The seed to capture [default: the first]
    #[arg(long, value_name = "N", requires = "pcap")]
    pub(crate) pcap_seed: Option<u64>,
    /// Keep so many octets of each frame; 0 keeps all
    #[arg(long, value_name = "OCTETS", default_value_t = 128, requires = "pcap",
        value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub(crate) snaplen: u32,
}

/// What can be drawn over a run's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overlay {
    // Not a doc comment: help would spell out every flag over several lines for it.
    // The fluid model of the hottest port.
    Fluid,
}

/// What `suite` takes.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    /// A family of built-in scenarios such as qau; `quell list` shows them
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub(crate) name: Option<String>,
    /// Take the scenario files of this folder instead of a built-in family
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) from: Option<PathBuf>,
    /// The scenarios' own short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// How many seeds, instead of each scenario's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// Where results go, a folder for each scenario [default: results/<NAME>, with `-quick` for a quick run]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Threads to use [default: one for each core]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Write a reproduction page in Markdown too, with its figures in a folder of the same name beside it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) page: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A scenario and what is changed in it.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// A built-in scenario such as qau/b1, or a file
    #[arg(value_name = "ID|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: String,
    /// The scenario's own short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// The first seed, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// How many seeds, instead of the scenario's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// Set a value of the scenario, as in `--set scheme.gd=1/256`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment)]
    pub(crate) sets: Vec<(String, String)>,
    /// Emit and parse every control frame as octets while simulating
    #[arg(long)]
    pub(crate) wire_check: bool,
}

impl ScenarioArgs {
    /// A scenario as it is.
    pub(crate) fn plain(scenario: &str) -> ScenarioArgs {
        ScenarioArgs {
            scenario: scenario.to_owned(),
            quick: false,
            seed: None,
            repeat: None,
            sets: Vec::new(),
            wire_check: false,
        }
    }
}

/// What `check` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Print the flows that end by themselves as a table that `pattern = "trace"` reads, and nothing else
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) flows: bool,
    /// Print nothing if all is well
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `init` takes.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The file to write; `-` prints it
    #[arg(value_name = "FILE", default_value = "my-network.toml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// What `show` takes.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A built-in scenario such as qau/b1
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// What `report` takes.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A folder that `quell run` or `quell suite` wrote
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Of a suite: write a reproduction page in Markdown too, with its figures in a folder of the same name beside it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) page: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// No plots
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A folder that `quell run` wrote, or the folder of one run in it
    #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
    pub(crate) first: PathBuf,
    /// Another one
    #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
    pub(crate) second: PathBuf,
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "compare.html", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
}

/// What `why` takes.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) recorded: RecordedArgs,
    /// The flow, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: String,
    /// Print one JSON document instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

/// A recorded run, and a part of it.
#[derive(Debug, Args)]
pub(crate) struct RecordedArgs {
    /// A folder that `quell run` wrote, or the folder of one run in it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// The configuration, by name [default: the first that was run]
    #[arg(long = "config", value_name = "NAME")]
    pub(crate) configuration: Option<String>,
    /// The seed [default: the first that was run]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The part of the run to look at, such as 100ms..200ms [default: all of it]
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) over: Option<String>,
}

/// What `decode` takes.
#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// A capture, pcapng or pcap; `-` reads it from standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Only frames of which this holds, such as kind=cnm,cnp or feedback>=32 or time<2ms; may be repeated, and all
    /// must hold
    #[arg(long, short, value_name = "FIELD=VALUE")]
    pub(crate) filter: Vec<String>,
    /// The UDP port of congestion isolation messages, which bridges choose themselves [default: what LLDP frames of the
    /// capture announce]
    #[arg(long, value_name = "PORT")]
    pub(crate) cim_port: Option<u16>,
    /// Print one JSON document a frame
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `explain` takes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A key as `--set` takes it, such as scheme.gd, or a table such as scheme; without one, all tables
    #[arg(value_name = "PATH", default_value = "")]
    pub(crate) path: String,
}

/// What `completions` takes.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// What `man` takes.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each verb into this folder instead
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => {
            Ok((path.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as PATH=VALUE, for example scheme.gd=1/256".to_owned()),
    }
}

fn digest(text: &str) -> Result<String, String> {
    let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex && (16..=64).contains(&text.len()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a digest is 16 to 64 hexadecimal digits, as `quell run` prints it".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_assignment_is_cut_at_its_first_equals_sign() {
        assert_eq!(assignment("a.b = c=d"), Ok(("a.b".to_owned(), "c=d".to_owned())));
        assert!(assignment("a.b").is_err());
        assert!(assignment("=1").is_err());
    }

    #[test]
    fn sixteen_digits_of_a_digest_are_enough() {
        assert_eq!(digest("0123456789ABCDEF"), Ok("0123456789abcdef".to_owned()));
        assert!(digest("0123456789abcde").is_err());
        assert!(digest("0123456789abcdeg").is_err());
    }
}
