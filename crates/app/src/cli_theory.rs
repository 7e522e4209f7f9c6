//! What `quell theory` takes.

use crate::cli::{RecordedArgs, assignment};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// What `theory` takes.
#[derive(Debug, Args)]
pub(crate) struct TheoryArgs {
    #[command(subcommand)]
    pub(crate) question: Question,
}

/// What can be asked of theory.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// How much delay a loop bears before it swings, over flows and link rates
    CriticalDelay(CriticalArgs),
    /// The open loop over frequency, with gain and phase margin
    Bode(BodeArgs),
    /// Where a loop is stable, over two of its parameters
    Map(MapArgs),
    /// Queue and rate over time by the fluid model
    Fluid(FluidArgs),
    /// Rate against queue from several starts
    Portrait(PortraitArgs),
    /// How fast to let frames into an M/M/1 queue so that holding and turning away cost least
    Admission(AdmissionArgs),
    /// How a flow's rate and a queue go together in a recording
    Correlation(CorrelationArgs),
}

/// A model and its parameters: by flags, or as a scenario has them.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Take the model of a scenario's hottest port: a built-in scenario such as qau/b1, or a file
    #[arg(value_name = "ID|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: Option<String>,
    /// The scenario's configuration [default: the first that has a model]
    #[arg(long = "config", value_name = "NAME", requires = "scenario")]
    pub(crate) configuration: Option<String>,
    /// The scenario's port, such as s1->h10 [default: the most overloaded one]
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub(crate) port: Option<String>,
    /// The scheme [default: qcn, or the scenario's]
    #[arg(long, value_enum, conflicts_with = "scenario")]
    pub(crate) model: Option<ModelName>,
    /// How closely QCN's model follows the machines [default: plain; mechanism for a scenario]
    #[arg(long, value_enum)]
    pub(crate) detail: Option<DetailName>,
    /// How many flows share the queue [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) flows: Option<u32>,
    /// Rate of the link, and of the sources' [default: 10Gb/s; 40Gb/s for dcqcn]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Delay from the queue to the sources and back [default: 100us]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Another parameter, as in `--with set-point=33kB`: set-point, weight, cut, sample, increase, byte-reset, k-max,
    /// p-max, g; may be repeated
    #[arg(long = "with", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) with: Vec<(String, String)>,
}

/// The models there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelName {
    /// Quantized congestion notification, 802.1Qau
    Qcn,
    /// Ethernet congestion management, also known as BCN
    Ecm,
    /// Data centre QCN
    Dcqcn,
}

/// How closely QCN's model follows the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DetailName {
    /// As in the literature
    Plain,
    /// With sampling by feedback, protected first cycles and delayed increase
    Mechanism,
}

/// Where an answer goes.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Write the picture and its numbers into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `theory critical-delay` takes.
#[derive(Debug, Args)]
pub(crate) struct CriticalArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `theory bode` takes.
#[derive(Debug, Args)]
pub(crate) struct BodeArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What `theory map` takes.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The horizontal parameter and its range; a last part says how many steps
    #[arg(long, value_name = "NAME=FROM..TO[:STEPS]", default_value = "delay=20us..1ms", value_parser = assignment)]
    pub(crate) across: (String, String),
    /// The vertical parameter and its range
    #[arg(long, value_name = "NAME=FROM..TO[:STEPS]", default_value = "flows=1..64", value_parser = assignment)]
    pub(crate) up: (String, String),
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What `theory fluid` takes.
#[derive(Debug, Args)]
pub(crate) struct FluidArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// How long to follow it [default: 100ms or more, until it has settled; the scenario's length]
    #[arg(long, value_name = "TIME")]
    pub(crate) span: Option<String>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What `theory portrait` takes.
#[derive(Debug, Args)]
pub(crate) struct PortraitArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// How long to follow each line
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub(crate) span: String,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What `theory admission` takes.
#[derive(Debug, Args)]
pub(crate) struct AdmissionArgs {
    /// Frames that would come, in the time of one service
    #[arg(long, value_name = "X", default_value_t = 1.2, allow_negative_numbers = true)]
    pub(crate) offered: f64,
    /// Cost of holding a frame for the time of one service
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) holding: f64,
    /// Cost of turning a frame away
    #[arg(long, value_name = "X", default_value_t = 20.0, allow_negative_numbers = true)]
    pub(crate) refusal: f64,
    /// How that cost grows with what is turned away
    #[arg(long, value_enum, default_value_t = LawName::Quadratic)]
    pub(crate) law: LawName,
    /// Frames the queue has room for
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) room: usize,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// How the cost of turning frames away grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LawName {
    /// Each costs the same
    Linear,
    /// The more, the more each costs
    Quadratic,
}

/// What `theory correlation` takes.
#[derive(Debug, Args)]
pub(crate) struct CorrelationArgs {
    #[command(flatten)]
    pub(crate) recorded: RecordedArgs,
    /// The flow, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: String,
    /// The port or input whose queue it is
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: String,
    /// Time of a step
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) lag: String,
    /// How many steps apart to look
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) lags: usize,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
