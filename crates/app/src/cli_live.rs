//! What `quell live` takes.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// What `live` takes.
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    #[command(subcommand)]
    pub(crate) what: Live,
}

/// What can be done with real interfaces.
#[derive(Debug, Subcommand)]
pub(crate) enum Live {
    /// Forward between interfaces, with congestion points, service rates, PAUSE or PFC
    Switch(SwitchArgs),
    /// Stand between a host and its wire: reaction points, token buckets, pauses obeyed
    Nic(NicArgs),
    /// Send UDP frames that carry the number of their flow
    Send(SendArgs),
    /// Count such frames by flow
    Recv(RecvArgs),
    /// Build network namespaces, run an experiment in them, simulate the same, and compare
    Demo(DemoArgs),
    /// Measure what the software does on this machine: frames a second, latency, evenness of pacing
    Bench(BenchArgs),
}

/// For how long, and what is kept.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Stop after this long [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    /// Record into this folder, for `quell report` and `quell compare`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Time between samples of the recording
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) sample: String,
    /// No statistics every second
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Which parameters of QCN.
#[derive(Debug, Args)]
pub(crate) struct QcnArgs {
    /// Parameters of QCN by name: standard-10G, slides-10G, netfpga-1G, ibm-10G, ibm-100G, crisan-2011
    #[arg(long, value_name = "NAME", default_value = "netfpga-1G")]
    pub(crate) preset: String,
    /// What random draws follow from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Rate of the wires, which pauses and limits are counted in
    #[arg(long, value_name = "RATE", default_value = "1Gb/s")]
    pub(crate) rate: String,
}

/// What `live switch` takes.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// The interfaces it forwards between
    #[arg(value_name = "INTERFACE", num_args = 2.., required = true)]
    pub(crate) interfaces: Vec<String>,
    /// Serve an interface at a rate, as in `--service veth1=200Mb/s`; may be repeated
    #[arg(long, value_name = "INTERFACE=RATE", value_parser = crate::cli::assignment)]
    pub(crate) service: Vec<(String, String)>,
    /// Take the CN-TAG off what leaves by an interface, as towards a station outside of the domain; may be repeated
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) edge: Vec<String>,
    /// No congestion points
    #[arg(long)]
    pub(crate) no_congestion: bool,
    /// Room for frames that wait
    #[arg(long, value_name = "SIZE", default_value = "2MB")]
    pub(crate) memory: String,
    /// Stop all traffic of an input (802.3x PAUSE), above the first size and until below the second
    #[arg(long, value_name = "STOP,GO", conflicts_with = "pfc")]
    pub(crate) pause: Option<String>,
    /// Stop each priority of an input by itself (802.1Qbb PFC), likewise
    #[arg(long, value_name = "STOP,GO")]
    pub(crate) pfc: Option<String>,
    #[command(flatten)]
    pub(crate) qcn: QcnArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// When a limited flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacerName {
    // Not doc comments: help would spell out every flag over several lines for them.
    // When tokens cover the whole frame.
    WholeFrame,
    // While any token is left.
    AnyToken,
}

/// What `live nic` takes.
#[derive(Debug, Args)]
pub(crate) struct NicArgs {
    /// The interface towards the network
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) wire: String,
    /// The interface towards the host
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) host: String,
    /// How many flows are recorded, from number 0 on
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) flows: u16,
    /// When a limited flow may send
    #[arg(long, value_enum, default_value = "whole-frame")]
    pub(crate) pacer: PacerName,
    /// Octets of credit that a limited flow saves up
    #[arg(long, value_name = "SIZE", default_value = "3kB")]
    pub(crate) depth: String,
    /// Time from the arrival of a notification until it counts: what is missing of a round trip
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) reaction_delay: String,
    #[command(flatten)]
    pub(crate) qcn: QcnArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// What `live send` takes.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The interface to send by
    #[arg(value_name = "INTERFACE")]
    pub(crate) interface: String,
    /// The station to send to, such as 02:00:00:00:00:02
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: String,
    /// What each flow sends, in frame octets
    #[arg(long, value_name = "RATE", default_value = "10Mb/s")]
    pub(crate) rate: String,
    /// How many flows, from number 0 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) flows: u16,
    /// Length of frames, check sequence counted
    #[arg(long, value_name = "SIZE", default_value = "1500B")]
    pub(crate) frame: String,
    /// Tag frames with this priority, on VLAN 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub(crate) priority: Option<u8>,
    /// Stop after this long [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    /// No statistics every second
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `live recv` takes.
#[derive(Debug, Args)]
pub(crate) struct RecvArgs {
    /// The interface to listen at
    #[arg(value_name = "INTERFACE")]
    pub(crate) interface: String,
    /// Stop after this long [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<String>,
    /// Print one JSON document at the end instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// No statistics every second
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `live demo` takes.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    pub(crate) demo: Demo,
}

/// The experiments that build their own network.
#[derive(Debug, Subcommand)]
pub(crate) enum Demo {
    /// Service steps of 95, 20 and 95 % of the line before 1 and 8 reaction points, live and simulated
    Step(StepArgs),
}

/// What `live demo step` takes.
#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// How many reaction points, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,8",
        value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) points: Vec<u8>,
    /// Length of each of the three phases
    #[arg(long, value_name = "TIME", default_value = "3.7s")]
    pub(crate) phase: String,
    /// Rate of the wires [default: 1Gb/s, or less if this machine does not hold it, which is measured first]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Where results go, a folder for each number of reaction points
    #[arg(long, value_name = "DIR", default_value = "results/live/step", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// What random draws follow from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// No progress and no plots
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `live bench` takes.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Time for each measurement
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    pub(crate) length: String,
    /// Length of frames, check sequence counted
    #[arg(long, value_name = "SIZE", default_value = "1500B")]
    pub(crate) frame: String,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
