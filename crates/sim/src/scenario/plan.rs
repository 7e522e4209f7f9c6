//! What was meant: one configuration of a scenario, every cross-check done, nothing left to default.
//!
//! A plan is plain data and complete: the model is built from it and a seed, and from nothing else.

use quell_proto::control::ecn::MarkingConfig;
use quell_proto::control::isolation::{self, BothClasses};
use quell_proto::control::pacer::Rule;
use quell_proto::control::pause::PauseConfig;
use quell_proto::control::{af_qcn, dcqcn, dctcp, e2cm, ecm, go_back_n, ib_cc, qcn, qcn_probe, qcn2007};
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};

/// Index of a host in [`Plan::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// Index of a switch in [`Plan::switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u32);

/// Index of a link in [`Plan::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// Index of a flow in [`Plan::flows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A host or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// One configuration, ready to run under any seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How much simulated time.
    pub length: Duration,
    /// Octets each frame costs on the wire beyond its own.
    pub overhead: Bytes,
    /// Time between samples of the recording.
    pub sample: Duration,
    /// Further instants at which samples are taken, so that every window of a claim is whole; sorted.
    pub cuts: Vec<Instant>,
    /// Whether flows are sampled; if not, only their totals are recorded.
    pub flow_series: bool,
    /// Whether the bursts of limited sources are recorded: a claim or a figure asks for them.
    pub bursts: bool,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The switches.
    pub switches: Vec<Switch>,
    /// The links. A host has exactly one. The ports of a switch are numbered in the order of its links here.
    pub links: Vec<Link>,
    /// What joins the switches out of sight, if they are the leaves of a fabric.
    pub fabric: Option<Fabric>,
    /// How a switch chooses among equally short paths.
    pub tie_break: TieBreak,
    /// Every flow there can be; `(from, to, source)` is unique.
    pub flows: Vec<Flow>,
    /// What puts frames into the adapters.
    pub sources: Vec<Source>,
    /// How flows and sources are drawn anew for each seed ([`Plan::under`]), where they are.
    pub redraw: Option<Box<super::redraw::Redraw>>,
    /// What changes while it runs; sorted by time.
    pub changes: Vec<Change>,
    /// The congestion control.
    pub scheme: Scheme,
    /// What becomes of the run if pauses close a circle.
    pub deadlock: Deadlock,
    /// When switches that isolate learn of their neighbours' queues.
    pub discovery: Discovery,
    /// Emit and parse every frame as octets, and compare.
    pub wire_check: bool,
}

/// What becomes of a run in which pauses close a circle, so that nothing in it ever moves again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlock {
    /// None of its flows can close one; nobody looks.
    Impossible,
    /// It ends.
    Ends,
    /// It goes on, and the recording says so.
    Noted,
}

/// When switches that isolate with signalling learn of their neighbours' queues (LLDP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// They have known them since before the run.
    Before,
    /// By frames on the wire, as the run begins and when a link comes back.
    Frames,
}

/// A host with its adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its adapter.
    pub adapter: Adapter,
}

/// How a host's adapter queues, limits and receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// How frames wait for the wire.
    pub queueing: AdapterQueueing,
    /// How the priorities share it.
    pub schedule: Schedule,
    /// The most that waits in one queue, if there is a limit: a source that finds it full is held back, and what it
    /// had is not offered.
    pub queue_limit: Option<Bytes>,
    /// What shares a rate limiter.
    pub limiter: LimiterScope,
    /// When the pacer of a limited queue lets a frame go.
    pub pacer: Rule,
    /// Most octets of credit a pacer saves up while its queue is held or empty.
    pub pacer_depth: Bytes,
    /// Time from the arrival of a notification until the limiter acts on it.
    pub reaction_delay: Duration,
    /// How frames are acknowledged, and sent again; the same in all hosts. `None`: they are not.
    pub transport: Option<Transport>,
    /// The receiving side.
    pub receive: Receive,
}

/// How frames are acknowledged, and sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The sending end of a flow.
    pub sender: go_back_n::SenderConfig,
    /// The receiving end.
    pub receiver: go_back_n::ReceiverConfig,
    /// The most octets of a flow that are on their way, if there is a limit.
    pub window: Option<Bytes>,
    /// Length of an acknowledgement, from destination address to check sequence.
    pub ack_frame: Bytes,
    /// Priority of acknowledgements; `None`: that of their data.
    pub ack_priority: Option<Priority>,
    /// When a message is complete.
    pub completion: Completion,
}

/// When a message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// When its receiver has it.
    Delivered,
    /// When its sender knows that.
    Acknowledged,
}

/// How frames wait in an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterQueueing {
    /// One queue per destination, served round robin.
    PerDestination,
    /// One queue per flow, served round robin, as adapters keep one for each queue pair.
    PerFlow,
    /// One queue for everything, and a set-aside queue for each flow that a limiter holds.
    FifoWithSetAside,
    /// One queue for everything, and nothing else: who stands first holds up the rest, even where limiters hold
    /// each flow to a rate of its own.
    OneQueue,
}

/// What shares a rate limiter in an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterScope {
    /// All flows to one destination.
    Destination,
    /// Each flow by itself.
    Flow,
    /// All flows of the host.
    Host,
}

/// The receiving side of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// How fast frames are taken in; `None`: as fast as they come.
    pub service: Option<Rate>,
    /// Room for frames that wait for service; `None`: unlimited.
    pub buffer: Option<Bytes>,
    /// When the host pauses the switch; `None`: never, and a full buffer drops.
    pub pause: Option<PauseConfig>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Where frames wait.
    pub buffering: Buffering,
    /// Whether and when inputs stop their peers.
    pub flow_control: FlowControl,
    /// How the eight priorities of a port share it.
    pub schedule: Schedule,
    /// Whether its outputs take congesting flows out of the others' way.
    pub isolation: Option<Isolation>,
    /// Whether and when its output queues mark frames of data (ECN). Only ends that understand marks have theirs marked.
    pub marking: Option<Marking>,
}

/// Congestion isolation at the outputs of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// The priority in which flows start.
    pub monitored: Priority,
    /// That of the queue to which congesting ones are moved. Their frames keep their own priority on the wire.
    pub congesting: Priority,
    /// Detection, marks, messages, and how flows leave again; `signal_above` is `None` where none are sent.
    pub config: isolation::Config,
    /// Flows that each output can isolate at a time.
    pub table: u32,
    /// When what the congesting class holds stops the monitored class too, where pauses are by priority.
    pub both: Option<BothClasses>,
    /// What messages to neighbours look like.
    pub messages: Cims,
    /// Whether neighbours are told too that a flow is free again.
    pub releases: bool,
}

/// How congestion isolation messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cims {
    /// What in.
    pub form: CimForm,
    /// Their priority.
    pub priority: Priority,
    /// How many octets of a frame this switch wants in messages to it.
    pub frame_octets: u16,
}

/// What congestion isolation messages travel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CimForm {
    /// Frames of their own.
    Layer2,
    /// UDP over IPv4.
    Ipv4,
    /// UDP over IPv6.
    Ipv6,
}

/// How the output queues of a switch mark frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Which frames, by the length of the queue.
    pub curve: MarkingConfig,
    /// By its length at which moment.
    pub at: MarkedAt,
}

/// The moment at which a frame is marked or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkedAt {
    /// When it comes to wait: by what is there, itself included.
    Arrival,
    /// When it leaves: by what it leaves behind.
    Departure,
}

/// Where frames wait in a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// One memory for all; a queue per output and priority, first in first out.
    OutputQueued {
        /// The whole memory; `None`: unlimited.
        memory: Option<Bytes>,
        /// The most one output queue may hold, the frame being sent counted.
        queue_limit: QueueLimit,
    },
    /// Memory partitioned per input and shared by its virtual output queues; outputs serve inputs
    /// round robin.
    Voq {
        /// Each input's share, for each priority; `None`: unlimited.
        input_memory: Option<Bytes>,
        /// Buffers and arbiters at the outputs; `None`: an output reads straight from the inputs.
        output: Option<OutputStage>,
    },
}

/// How long an output queue of a shared memory may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Only the memory as a whole limits it.
    None,
    /// A fixed number of octets.
    Static(Bytes),
    /// A multiple of the free memory: `alpha_num / alpha_den` of it.
    Dynamic {
        /// Numerator of alpha.
        alpha_num: u32,
        /// Denominator of alpha.
        alpha_den: u32,
    },
}

/// Output buffers fed from the inputs under credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputStage {
    /// Room in each output buffer; the arbiter grants a frame only if it will fit.
    pub buffer: Bytes,
    /// Time from a request to the arrival of the granted frame's first octet at the output buffer.
    pub latency: Duration,
    /// How much faster than the port the fabric fills an output buffer, in percent (100: no speed-up).
    pub speedup_percent: u32,
    /// How long an acknowledgement takes to an input that keeps a copy of each frame until its output has it on the
    /// wire; `None`: inputs keep no copies.
    pub acknowledge: Option<Duration>,
}

/// Link-level flow control of a switch's inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// None: a full buffer drops.
    Off,
    /// 802.3x PAUSE: an input stops all of its peer's traffic.
    Pause(StopRule),
    /// Priority flow control on these priorities (bit n is priority n); the others may drop.
    Pfc {
        /// Bit n set: priority n is lossless.
        priorities: u8,
        /// When an input stops a priority.
        stop: StopRule,
    },
}

/// When an input stops its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// At fixed levels of the input's occupancy.
    Static(PauseConfig),
    /// At fixed levels of the whole memory: all inputs together.
    Global(PauseConfig),
    /// Above a multiple of the memory still free, going again `hysteresis` below that.
    Dynamic {
        /// Numerator of alpha.
        alpha_num: u32,
        /// Denominator of alpha.
        alpha_den: u32,
        /// How far below the threshold the input lets its peer go again.
        hysteresis: Bytes,
        /// The pause asked for at a time.
        quanta: quell_proto::units::Quanta,
    },
}

/// How the eight priorities of a port share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The highest priority that has a frame.
    Strict,
    /// In turn, `weights[p]` frames at a time.
    WeightedRoundRobin([u8; 8]),
    /// In turn, `quanta[p]` octets at a time, shortfalls carried over.
    DeficitRoundRobin([u32; 8]),
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its two ends.
    pub ends: [NodeId; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay; more than zero.
    pub delay: Duration,
}

/// A network of cells inside one large switch, of which the switches of the plan are the edge.
///
/// Its links are no [`Link`]s: nothing but cells travels on them, and a recording sums them up by router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// The names of the routers inside; those of a leaf-spine fabric are its spines.
    pub routers: Vec<String>,
    /// What joins leaves and routers.
    pub links: Vec<InnerLink>,
    /// The most octets of a frame that one cell carries.
    pub cell: Bytes,
    /// Octets of a cell beyond those.
    pub header: Bytes,
    /// Room at each input of a router, for each virtual channel; the sender holds credits for it.
    pub input_buffer: Bytes,
    /// Room at each output of a router.
    pub output_buffer: Bytes,
    /// Time from the last octet of a cell at a router's input to its first octet at the output, if that is free.
    pub router_latency: Duration,
    /// Time from a request to its arrival at the arbiter of the output.
    pub request_latency: Duration,
    /// Time from a grant to its arrival at the input that asked.
    pub grant_latency: Duration,
}

impl Plan {
    /// How frames are acknowledged and sent again, if they are.
    pub fn transport(&self) -> Option<&Transport> {
        self.hosts.first()?.adapter.transport.as_ref()
    }

    /// Which links are up at the start, and from each instant on at which one fails or is repaired.
    pub(crate) fn link_states(&self) -> impl Iterator<Item = (Option<Instant>, Vec<bool>)> {
        let mut up = vec![true; self.links.len()];
        let failures = self.changes.iter().filter_map(|change| match change.what {
            What::Link { link, up } => Some((Some(change.at), Some((link, up)))),
            _ => None,
        });
        std::iter::once((None, None)).chain(failures).map(move |(at, turned)| {
            if let Some((link, works)) = turned {
                up[link.0 as usize] = works;
            }
            (at, up.clone())
        })
    }

    /// When messages are complete.
    pub fn completion(&self) -> Completion {
        self.transport().map_or(Completion::Delivered, |transport| transport.completion)
    }

    /// How long acknowledgements take inside a fabric, if leaves keep copies for them.
    pub(crate) fn acknowledge_latency(&self) -> Option<Duration> {
        let stages = self.switches.iter().filter_map(|leaf| match &leaf.buffering {
            Buffering::Voq { output, .. } => output.as_ref(),
            Buffering::OutputQueued { .. } => None,
        });
        stages.filter_map(|stage| stage.acknowledge).max()
    }

    /// How many nodes it has: hosts, switches and routers, which are numbered in this order.
    pub(crate) fn node_count(&self) -> usize {
        self.hosts.len() + self.switches.len() + self.routers().count()
    }

    /// How long messages between the leaves of its fabric take, if it has one.
    pub(crate) fn mail_latencies(&self) -> impl Iterator<Item = Duration> {
        let asked = self.fabric.iter().flat_map(|fabric| [fabric.request_latency, fabric.grant_latency]);
        asked.chain(self.fabric.as_ref().and_then(|_| self.acknowledge_latency()))
    }
}

/// A full-duplex link inside a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerLink {
    /// Its two ends.
    pub ends: [InnerNode; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay; more than zero.
    pub delay: Duration,
    /// Whether a cell that crosses it goes on in the next virtual channel, as links between the groups of a
    /// Dragonfly make it do lest cells wait for each other in a circle.
    pub lifts: bool,
}

/// What a link inside a fabric leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InnerNode {
    /// A leaf: a switch of the plan.
    Leaf(SwitchId),
    /// A router, by its number in [`Fabric::routers`].
    Router(u32),
}

/// How a switch chooses among equally short paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of the flow.
    Hash,
    /// The port with the lowest number.
    First,
    /// By the destination's number: level `l` of the climb takes digit `l` of it in base "ports to choose
    /// from", as in a fat tree that spreads destinations over its cores.
    Destination,
}

/// A flow: what a limiter can hold and a figure can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// Its priority.
    pub priority: Priority,
}

/// What puts frames into one host's adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The host.
    pub host: HostId,
    /// Its flows; with more than one, each frame draws one uniformly, unless it is multicast.
    pub flows: Vec<FlowId>,
    /// Whether each frame goes to the receivers of all its flows, which are then numbered in a row.
    pub multicast: bool,
    /// Length of its frames, from destination address to check sequence.
    pub frame: Bytes,
    /// When frames come.
    pub pattern: Pattern,
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub stop: Instant,
    /// It ends after this much was offered, if set.
    pub message: Option<Bytes>,
    /// Octets of each frame that are not payload of the message.
    pub header: Bytes,
    /// What it waits for, if it is a part of a collective.
    pub script: Option<Script>,
}

impl Source {
    /// Pads the last frame of each transfer, if that is shorter than the shortest there can be.
    pub(crate) fn pad_transfers(&mut self, shortest: Bytes) {
        if let Some(script) = &mut self.script {
            let rest = script.transfer.get() % self.frame.get();
            let short = if rest == 0 { 0 } else { shortest.min(self.frame).get().saturating_sub(rest) };
            script.transfer += Bytes::new(short);
        }
    }
}

/// Transfers that wait for others: the part that one flow has in a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Octets of a transfer, in frames of the source; the last of them is not too short to be sent.
    pub transfer: Bytes,
    /// How many there are.
    pub transfers: u32,
    /// How many of them make an iteration of the collective.
    pub per_iteration: u32,
    /// A transfer begins when the one before it of each of these flows has arrived. They all lead to the host of the
    /// source, so it knows.
    pub after: Vec<FlowId>,
}

/// When the frames of a source come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Always one frame waiting.
    Greedy,
    /// One frame every `interval`.
    Constant {
        /// Time between frames.
        interval: Duration,
    },
    /// In every slot of length `slot` a frame with probability `load_ppm` millionths.
    Bernoulli {
        /// Time a frame takes on the wire.
        slot: Duration,
        /// Probability of a frame in a slot.
        load_ppm: u32,
    },
    /// Exponential gaps with this mean.
    Poisson {
        /// Mean time between frames.
        mean: Duration,
    },
    /// Exponential on and off periods; it begins on.
    OnOff {
        /// Mean on period.
        on: Duration,
        /// Mean off period.
        off: Duration,
        /// Time between frames while on; `None`: always one frame waiting while on, and what waits when
        /// it turns off is withdrawn.
        interval: Option<Duration>,
    },
}

/// Something that changes at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The port of `from` on `link` is served at this rate from now on; `None`: at the link's.
    PortService {
        /// The link behind the port.
        link: LinkId,
        /// The node that owns the port.
        from: NodeId,
        /// The new rate.
        rate: Option<Rate>,
    },
    /// The receiving side of a host takes frames in at this rate; `None`: as fast as they come.
    ReceiveService {
        /// The host.
        host: HostId,
        /// The new rate.
        rate: Option<Rate>,
    },
    /// A link fails (`up: false`) or is repaired. Routes follow at once.
    Link {
        /// The link.
        link: LinkId,
        /// Whether it works from now on.
        up: bool,
    },
}

/// The congestion control of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// None.
    None,
    /// QCN.
    Qcn(Qcn),
    /// QCN whose congestion points mix in how far a flow is above an equal share.
    AfQcn(Qcn, af_qcn::Config),
    /// QCN whose congestion points tell everyone who brings too much; `culprit` is not read.
    Fqcn(Qcn),
    /// ECM.
    Ecm(Ecm),
    /// QCN as it was in 2007.
    Qcn2007(Qcn2007),
    /// InfiniBand's congestion control.
    IbCc(IbCc),
    /// ECM whose sources send probes.
    E2cm(E2cm),
    /// QCN whose sources learn good news from probes.
    QcnProbe(QcnProbe),
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// DCTCP, over a transport; `max_window` holds where that has no window of its own.
    Dctcp(dctcp::Config),
}

impl Scheme {
    /// QCN, or the QCN that the scheme builds on.
    pub fn qcn(&self) -> Option<Qcn> {
        match self {
            Scheme::Qcn(qcn) | Scheme::AfQcn(qcn, _) | Scheme::Fqcn(qcn) => Some(*qcn),
            _ => None,
        }
    }

    /// How what it tells sources travels.
    pub fn messages(&self) -> Option<Messages> {
        match self {
            Scheme::None | Scheme::Dctcp(_) => None,
            Scheme::Qcn(qcn) | Scheme::AfQcn(qcn, _) | Scheme::Fqcn(qcn) => {
                Some(Messages { priority: qcn.cnm_priority, frame: qcn.cnm_frame })
            }
            Scheme::Ecm(ecm) => Some(ecm.messages),
            Scheme::Qcn2007(qcn) => Some(qcn.messages),
            Scheme::IbCc(ib) => Some(ib.messages),
            Scheme::E2cm(e2cm) => Some(e2cm.messages),
            Scheme::QcnProbe(qcn) => Some(qcn.messages),
            Scheme::Dcqcn(dcqcn) => Some(dcqcn.messages),
        }
    }

    /// The shortest frame of data there can be, from destination address to check sequence: Ethernet's, or the headers
    /// that ends which understand marks put around nothing (VLAN tag, IPv4, UDP, InfiniBand's).
    pub fn shortest_frame(&self) -> Bytes {
        Bytes::new(if self.understands_marks() { 18 + 20 + 8 + 12 + 4 + 4 } else { 64 })
    }

    /// Whether its ends understand marks of switches (ECN).
    pub fn understands_marks(&self) -> bool {
        matches!(self, Scheme::Dcqcn(_) | Scheme::Dctcp(_))
    }

    /// Whether its limiters hold flows before any notification: an InfiniBand adapter whose least index delays something.
    pub fn limits_from_the_start(&self) -> bool {
        matches!(self, Scheme::IbCc(ib) if ib.reaction.table.entry(ib.reaction.least).multiplier > 0)
    }

    /// The rate below which no limiter goes, where the scheme states one.
    pub fn min_rate(&self) -> Option<Rate> {
        match self {
            Scheme::None | Scheme::IbCc(_) | Scheme::Dctcp(_) => None,
            Scheme::Qcn(qcn) | Scheme::AfQcn(qcn, _) | Scheme::Fqcn(qcn) => Some(qcn.reaction.min_rate),
            Scheme::Ecm(ecm) => Some(ecm.reaction.min_rate),
            Scheme::Qcn2007(qcn) => Some(qcn.reaction.min_rate),
            Scheme::E2cm(e2cm) => Some(e2cm.reaction.ecm.min_rate),
            Scheme::QcnProbe(qcn) => Some(qcn.reaction.min_rate),
            Scheme::Dcqcn(dcqcn) => Some(dcqcn.reaction.min_rate),
        }
    }
}

/// How what a scheme tells sources travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Their priority.
    pub priority: Priority,
    /// Their length, from destination address to check sequence.
    pub frame: Bytes,
}

/// ECM as a network runs it, with congestion points at outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecm {
    /// The congestion points.
    pub congestion: ecm::CongestionConfig,
    /// The reaction points; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: ecm::ReactionConfig,
    /// Its messages.
    pub messages: Messages,
}

/// QCN of 2007 as a network runs it, with congestion points at outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qcn2007 {
    /// The congestion points.
    pub congestion: qcn2007::CongestionConfig,
    /// The reaction points; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: qcn2007::ReactionConfig,
    /// Its messages.
    pub messages: Messages,
}

/// E2CM as a network runs it, with congestion points at outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct E2cm {
    /// The congestion points.
    pub congestion: ecm::CongestionConfig,
    /// The reaction points; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: e2cm::ReactionConfig,
    /// Its messages, and the probes.
    pub messages: Messages,
}

/// QCN with good news from probes as a network runs it, with congestion points at outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QcnProbe {
    /// The congestion points.
    pub congestion: qcn2007::CongestionConfig,
    /// The reaction points; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: qcn_probe::ReactionConfig,
    /// Its messages, and the probes.
    pub messages: Messages,
}

/// DCQCN as a network runs it; who marks is up to the switches ([`Switch::marking`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcqcn {
    /// The receivers.
    pub notification: dcqcn::NotificationConfig,
    /// The senders; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: dcqcn::ReactionConfig,
    /// The congestion notification packets.
    pub messages: Messages,
    /// Whether acknowledgements carry notifications, and there are no packets for them.
    pub in_acknowledgements: bool,
}

/// InfiniBand's congestion control as a network runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IbCc {
    /// What marks at outputs.
    pub marker: ib_cc::MarkerConfig,
    /// The channel adapters; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: ib_cc::ReactionConfig,
    /// The frames that return marks.
    pub messages: Messages,
}

/// QCN as a network runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qcn {
    /// Where the congestion points are.
    pub placement: Placement,
    /// The congestion points.
    pub congestion: qcn::CongestionConfig,
    /// The reaction points; `max_rate` is replaced by the rate of the port it stands at.
    pub reaction: qcn::ReactionConfig,
    /// Priority of notifications.
    pub cnm_priority: Priority,
    /// Length of a notification, from destination address to check sequence.
    pub cnm_frame: Bytes,
    /// How a random occupant of a buffer is found; `None`: at once.
    pub search: Option<CulpritSearch>,
}

/// A search for a random occupant, as hardware does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CulpritSearch {
    /// Units of memory that each port has, and words of its culprit array.
    pub words: u16,
    /// How it goes about it.
    pub search: qcn::SearchConfig,
}

impl CulpritSearch {
    /// Octets of a unit of memory.
    pub const UNIT: u64 = 256;
}

/// Where congestion points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the outputs of switches, as in the standard: all frames in the switch that wait for an output.
    Output,
    /// At the inputs: all frames that an input holds.
    Input,
    /// At both.
    Both,
}
