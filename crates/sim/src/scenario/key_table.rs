//! Every key a scenario may have, in the order of a file.
//!
//! A new key is a line here and a line in the decoder that reads it; a test fails if either is missing.

use super::keys::{Form, Given, Key, MOST_RATE, MOST_SIZE, MOST_TIME, When};
use Given::{Default as By, Optional, Preset, Required};
use When::{Has, Is, Lacks};

/// No upper end.
const MOST: u64 = u64::MAX;
const U32: u64 = u32::MAX as u64;
/// Shortest and longest frame, check sequence included: 802.3's least, and well beyond jumbo frames.
const FRAME: Form = Form::Size(64, 16_384);
const SIZE: Form = Form::Size(1, MOST_SIZE);
const RATE: Form = Form::Rate(1, MOST_RATE);
/// A rate of service. At less than this the longest pause would outlast any run.
const LINE_RATE: Form = Form::Rate(1_000, MOST_RATE);
const TIME: Form = Form::Time(1, MOST_TIME);
/// A time that may be zero.
const OFFSET: Form = Form::Time(0, MOST_TIME);

/// A value of DCQCN, and what the paper says.
const fn dcqcn(name: &'static str, form: Form, value: &'static str, doc: &'static str) -> Key {
    key("scheme", name, form, Given::PresetOf("paper-40G", value), doc).when(DCQCN)
}

const fn key(section: &'static str, name: &'static str, form: Form, given: Given, doc: &'static str) -> Key {
    Key { section, name, form, words: &[], given, when: &[], doc, source: "" }
}

impl Key {
    const fn when(mut self, when: &'static [When]) -> Key {
        self.when = when;
        self
    }

    const fn or(mut self, words: &'static [&'static str]) -> Key {
        self.words = words;
        self
    }

    const fn source(mut self, source: &'static str) -> Key {
        self.source = source;
        self
    }
}

const STAR: &[When] = &[Is("kind", &["star"])];
const CHAIN: &[When] = &[Is("kind", &["chain"])];
const TREE: &[When] = &[Is("kind", &["tree"])];
const FAT_TREE: &[When] = &[Is("kind", &["fat-tree"])];
const RACK: &[When] = &[Is("kind", &["rack"])];
const DRAGONFLY: &[When] = &[Is("kind", &["dragonfly"])];
const FABRIC: &[When] = &[Is("kind", &["rack", "dragonfly"])];
const GRAPH: &[When] = &[Is("kind", &["graph"])];
const N_TREE: &[When] = &[Is("kind", &["n-tree"])];
const TRUNKED: &[When] = &[Is("kind", &["chain", "tree", "fat-tree", "n-tree", "clos"])];
const CLOS: &[When] = &[Is("kind", &["clos"])];
const FILE: &[When] = &[Is("kind", &["file"])];
const LINKED: &[When] =
    &[Is("kind", &["star", "chain", "tree", "fat-tree", "n-tree", "clos", "graph", "rack", "dragonfly"])];
const VOQ: &[When] = &[Is("kind", &["voq"])];
const OUTPUT_STAGE: &[When] = &[Is("kind", &["voq"]), Has(&["output"])];
const SHARED: &[When] = &[Is("kind", &["output-queued"])];
const PAUSING: &[When] = &[Is("pause.mode", &["pause", "pfc"])];
const PFC: &[When] = &[Is("pause.mode", &["pfc"])];
const STATIC_STOP: &[When] = &[Is("pause.mode", &["pause", "pfc"]), Is("pause.rule", &["static", "global"])];
const DYNAMIC_STOP: &[When] = &[Is("pause.mode", &["pause", "pfc"]), Is("pause.rule", &["dynamic"])];
const ISOLATING: &[When] = &[Is("isolation.mode", &["local", "signal"])];
const ISOLATED_BY_MARKS: &[When] =
    &[Is("isolation.mode", &["local", "signal"]), Is("isolation.detect", &["marking"])];
const ISOLATED_BY_SAMPLES: &[When] =
    &[Is("isolation.mode", &["local", "signal"]), Is("isolation.detect", &["sampling"])];
const ISOLATED_CURVE: &[When] =
    &[Is("isolation.mode", &["local", "signal"]), Is("isolation.marks", &["curve"])];
const SIGNALLING: &[When] = &[Is("isolation.mode", &["signal"])];
const ISOLATING_PFC: &[When] = &[Is("isolation.mode", &["local", "signal"]), Is("pause.mode", &["pfc"])];
const RECEIVE_PAUSE: &[When] = &[Has(&["receive.pause"])];
/// QCN, and what builds on it.
const QCN: &[When] = &[Is("kind", &["qcn", "af-qcn", "fqcn"])];
const QCN_BLAMING_ONE: &[When] = &[Is("kind", &["qcn", "af-qcn"])];
const RANDOM_CULPRIT: &[When] = &[Is("kind", &["qcn", "af-qcn"]), Is("culprit", &["random-occupancy"])];
const ARRAY: &[When] =
    &[Is("kind", &["qcn", "af-qcn"]), Is("culprit", &["random-occupancy"]), Is("search", &["array"])];
const QCN_AT_INPUTS: &[When] = &[Is("kind", &["qcn", "af-qcn", "fqcn"]), Is("placement", &["input", "both"])];
const QCN_BY_OCTETS: &[When] = &[Is("kind", &["qcn", "af-qcn", "fqcn"]), Lacks("byte_cycle")];
const AF_QCN: &[When] = &[Is("kind", &["af-qcn"])];
const ECM: &[When] = &[Is("kind", &["ecm", "e2cm"])];
const ECM_ALONE: &[When] = &[Is("kind", &["ecm"])];
const E2CM: &[When] = &[Is("kind", &["e2cm"])];
const QCN_2007: &[When] = &[Is("kind", &["qcn2007"])];
const QCN_2007_POINTS: &[When] = &[Is("kind", &["qcn2007", "qcn-probe"])];
const ECN: &[When] = &[Has(&["ecn"])];
const DCTCP: &[When] = &[Is("kind", &["dctcp"])];
const RELIABLE: &[When] = &[Is("transport.kind", &["go-back-n"])];
const DCQCN: &[When] = &[Is("kind", &["dcqcn"])];
const QCN_PROBE: &[When] = &[Is("kind", &["qcn-probe"])];
const PROBES: &[When] = &[Is("kind", &["e2cm", "qcn-probe"])];
const IB_CC: &[When] = &[Is("kind", &["ib-cc"])];
const NOT_QCN: &[When] = &[Is("kind", &["ib-cc", "ecm", "e2cm", "qcn2007", "qcn-probe"])];
/// Traffic by its two ends, whose sources offer frame by frame.
const FRAMED: &[When] = &[Is("pattern", &["greedy", "constant", "bernoulli", "poisson", "on-off"])];
const DEALT: &[When] = &[Is("pattern", &["flows", "incasts"])];
const DRAWN: &[When] = &[Is("pattern", &["flows"])];
const INCASTS: &[When] = &[Is("pattern", &["incasts"])];
const TRACE: &[When] = &[Is("pattern", &["trace"])];
/// Traffic that is a list of flows, each of a size.
const LISTED: &[When] = &[Is("pattern", &["flows", "trace"])];
const COLLECTIVE: &[When] = &[Is("pattern", &["all-reduce", "all-to-all"])];
const HEADED: &[When] = &[Is("pattern", &["flows", "trace", "all-reduce", "all-to-all"])];
const TIMED: &[When] = &[Is(
    "pattern",
    &["greedy", "constant", "bernoulli", "poisson", "on-off", "flows", "incasts", "all-reduce", "all-to-all"],
)];
const PACED: &[When] = &[Is("pattern", &["constant", "bernoulli", "poisson", "on-off"])];
const SPACED: &[When] = &[Is("pattern", &["constant", "poisson", "on-off"])];
const ON_OFF: &[When] = &[Is("pattern", &["on-off"])];
const CONVERGENCE: &[When] = &[Is("metric", &["convergence", "settled"])];
const CONVERGING: &[When] = &[Is("metric", &["convergence"])];
const AIMED: &[When] = &[Is("metric", &["convergence", "recovery", "settled"])];
const CORRELATED: &[When] = &[Is("metric", &["correlation", "correlation-rising"])];
const COMPARING: &[When] = &[Is("kind", &["scatter", "cross-correlation"])];
const RECOVERY: &[When] = &[Is("metric", &["recovery"])];
const OF_MESSAGES: &[When] = &[Is("metric", &["completion", "slowdown", "finished"])];
const SLOWDOWNS: &[When] = &[Is("kind", &["slowdown"])];
const BESIDE: &[When] = &[Is("kind", &["slowdown"]), Has(&["beside"])];
const SETTLED: &[When] = &[Is("metric", &["settled"])];

const MIB: &str = "802.1Q 32 (802.1Qau), IEEE8021-CN-MIB";
const RZ: &str = "Unbiased QCN for scalable server-rack fabrics (RZ 3880), section III";
const RZ_FABRIC: &str = "Unbiased QCN for Scalable Server-Fabrics (RZ 3880), section II.A";
const RZ_CELLS: &str = "Unbiased QCN for Scalable Server-Fabrics (RZ 3880), section VI";
const RZ_KEEP_ALIVE: &str = "Unbiased QCN for scalable server-rack fabrics (RZ 3880), section IV";
const RZ_ARRAY: &str = "Unbiased QCN for Scalable Server-Fabrics (RZ 3880), section VI";
const IBM_2007: &str = "2-point QCN vs ECM (IBM 2007), Simulation Parameters";
const IBM_2007_STALE: &str = "2-point QCN vs ECM (IBM 2007), Stale CPIDs";
const IBA: &str = "IBA annex A10";
const DCQCN_PAPER: &str = "Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015), section 5";
const DCQCN_NIC: &str = "NVIDIA's DCQCN parameter pages";
const RFC_8257: &str = "RFC 8257 (Data Center TCP), section 4.2";
const IBA_RC: &str = "InfiniBand 9.7 (reliable connections)";
const PAUSE: &str = "802.3 Annex 31B, 802.1Qbb";
const QCZ: &str = "802.1Qcz";
const QCZ_2018: &str = "IEEE P802.1Qcz Congestion Isolation (2018), Queue Models Used";
const QCZ_2018_FLUSH: &str =
    "IEEE P802.1Qcz Congestion Isolation (2018), Response: Congested to uncongested transition";
const QCZ_2018_ORDER: &str =
    "IEEE P802.1Qcz Congestion Isolation (2018), Handling the potential out-of-order problem";
const QCZ_2018_BOTH: &str = "IEEE P802.1Qcz Congestion Isolation (2018), Response: Congested flow packets can be in noncongested queue when PFC is triggered";

#[rustfmt::skip] // one key a line or two reads as the table it is
pub(super) const KEYS: &[Key] = &[
    key("", "title", Form::Text, Required, "What the scenario is, in a line."),
    key("", "shows", Form::Text, Optional("it reproduces nothing"), "The document and page it reproduces."),
    key("", "about", Form::Text, Optional("nothing to add"), "What a reader should know, our reading of unclear points included."),
    key("", "says", Form::Text, Optional("its source says nothing beyond `shows`"), "What the source says of it: set-up, numbers, figures, as far as they are known."),
    key("", "differs", Form::Text, Optional("nothing is known to differ"), "Where what comes out differs from the source, or from what one would expect, and the best explanation."),
    key("", "extends", Form::Text, Optional("it stands alone"), "A file this one is laid over: tables merge, lists are replaced. Once deep."),
    key("", "skip", Form::Tables, Optional("every combination runs"), "Combinations of axis values that are left out."),
    key("", "parameters", Form::Free, Optional("there are none"), "Values by name; any value elsewhere may be `\"$name\"`."),
    key("", "axis", Form::Free, Optional("one configuration, named `default`"), "What is compared: each axis has named values, each a table laid over the file. Configurations are all combinations."),
    key("", "quick", Form::Free, Optional("`--quick` changes nothing"), "Laid over the file under `--quick`."),
    key("", "switches", Form::Free, Optional("all switches are alike"), "By name of a switch: keys of `[switch]` that differ there."),
    key("", "run", Form::Table, Optional("see its keys"), "How long, how often, how finely."),
    key("", "topology", Form::Table, Optional("see its keys"), "The nodes and links."),
    key("", "switch", Form::Table, Optional("see its keys"), "What the switches are."),
    key("", "adapter", Form::Table, Optional("see its keys"), "What the hosts' adapters are."),
    key("", "scheme", Form::Table, Optional("no congestion control"), "The congestion control."),
    key("", "traffic", Form::Tables, Optional("nothing is sent"), "What is sent."),
    key("", "at", Form::Tables, Optional("nothing changes"), "What changes while it runs."),
    key("", "expect", Form::Tables, Optional("nothing is claimed"), "What must come out."),
    key("", "fair", Form::Tables, Optional("no allocation is called the fair one"), "What each flow ought to get; reports say how far from it each configuration is."),
    key("", "figure", Form::Tables, Optional("the report draws its usual figures"), "What the report shows."),

    key("run", "length", TIME, Required, "How much time is simulated."),
    key("run", "seed", Form::Count(0, MOST), By("1"), "The first seed; repeats count up from it."),
    key("run", "repeat", Form::Count(1, 100_000), By("1"), "How many seeds are run."),
    key("run", "sample", TIME, By("1ms"), "Time between samples of the recording."),
    key("run", "flow_series", Form::Word(&["all", "none"]), By("all"), "Whether every flow is sampled; without, only its totals are kept, which whole-run claims read. For very many flows."),
    key("run", "deadlock", Form::Word(&["avoid", "risk", "expect"]), By("avoid"), "What of ports that can wait for each other in a circle: `avoid` warns where they can, `risk` does not, and both end a run in which they do, with exit code 3; `expect` lets it go on, and `deadlocks` counts it."),
    key("run", "discovery", Form::Word(&["before", "frames"]), By("before"), "When switches that isolate with signalling learn of each other's queues (LLDP): `before` the run, as where the network has been up for long, or by `frames` on the wire, which their ports send as the run begins and when a link comes back. Until one has come each isolates for itself."),
    key("run", "overhead", Form::Size(0, 1000), By("0B"), "Octets each frame costs on the wire beyond its own; preamble, delimiter and gap are 20B.").source("802.3 clause 4"),

    key("topology", "kind", Form::Word(&["star", "chain", "tree", "fat-tree", "n-tree", "clos", "graph", "file", "rack", "dragonfly"]), Required, "The shape of the network."),
    key("topology", "routing", Form::Word(&["hash", "first", "destination"]), By("hash"), "Which of several shortest paths a flow takes: by a hash of the flow, the lowest port, or by the destination's number."),
    key("topology", "link.rate", LINE_RATE, By("10Gb/s"), "Rate of a link, each way.").when(LINKED),
    key("topology", "link.delay", Form::Time(1, MOST_TIME / 1_000_000), By("1us"), "Propagation delay of a link, one way.").when(LINKED),
    key("topology", "trunk.rate", LINE_RATE, Optional("as `link.rate`"), "Rate of a link between switches.").when(TRUNKED),
    key("topology", "trunk.delay", Form::Time(1, MOST_TIME / 1_000_000), Optional("as `link.delay`"), "Propagation delay of a link between switches.").when(TRUNKED),
    key("topology", "hosts", Form::Hosts, Required, "The hosts of the one switch `s1`; a number names them `h1`, `h2` and so on.").when(STAR),
    key("topology", "hosts", Form::HostGroups, Required, "The hosts of each switch, in a row: `s1`, `s2` and so on.").when(CHAIN),
    key("topology", "switches", Form::Count(1, 4096), Optional("as many as there are lists of hosts"), "How many switches stand in the row.").when(CHAIN),
    key("topology", "hosts", Form::HostGroups, Required, "The hosts of each edge switch `e1`, `e2` and so on; all edges are joined to the switch `core`.").when(TREE),
    key("topology", "switches", Form::Count(1, 4096), Optional("as many as there are lists of hosts"), "How many edge switches there are.").when(TREE),
    key("topology", "k", Form::Count(2, 64), Required, "Ports of a switch, an even number: k³/4 hosts `h1`…, edge switches `e1`…, aggregation `a1`…, core `c1`….").when(FAT_TREE),
    key("topology", "arity", Form::Count(2, 32), Required, "Ports of a switch that lead down, and as many up.").when(N_TREE),
    key("topology", "levels", Form::Count(1, 8), Required, "Levels of switches: with `arity` k and `levels` n there are kⁿ hosts `h1`…, and on level l the switches `l1s1`…, n·kⁿ⁻¹ in all; a frame passes up to 2n - 1 of them.").when(N_TREE),
    key("topology", "hosts", Form::HostGroups, Required, "The hosts of each leaf `l1`, `l2` and so on.").when(CLOS),
    key("topology", "leaves", Form::Count(1, 4096), Optional("as many as there are lists of hosts"), "How many leaves there are.").when(CLOS),
    key("topology", "spines", Form::Count(1, 4096), Required, "How many spines there are, `s1`, `s2` and so on; every leaf is joined to every one.").when(CLOS),
    key("topology", "file", Form::Text, Required, "A `topology.txt` as the HPCC simulator and its relatives read it; its node 7 is called `h7` or `s7`.").when(FILE),
    key("topology", "hosts", Form::Names, Required, "The names of the hosts.").when(GRAPH),
    key("topology", "switches", Form::Names, Required, "The names of the switches.").when(GRAPH),
    key("topology", "links", Form::Tables, Required, "The links.").when(GRAPH),
    key("topology", "form", Form::Word(&["cells", "switch"]), By("cells"), "What stands for the fabric: leaves and spines that pass cells, or the one switch `fabric` that they amount to.").when(RACK),
    key("topology", "racks", Form::Count(1, 1024), By("4"), "How many racks.").when(RACK).source(RZ_FABRIC),
    key("topology", "leaves", Form::Count(1, 4096), By("32"), "Leaves of each rack, `l1` and so on over all racks.").when(RACK).source(RZ_FABRIC),
    key("topology", "ports", Form::Count(1, 64), By("5"), "Server ports of a leaf, with hosts `h1` and so on.").when(FABRIC).source(RZ_FABRIC),
    key("topology", "hosts", Form::Names, Optional("one on every port: `h1` and so on, leaf by leaf"), "The names of the hosts, if not all ports have one; they stand one a leaf in turn.").when(RACK),
    key("topology", "spines", Form::Count(0, 1024), By("32"), "Spines `s1` and so on; each leaf has an uplink to every one.").when(RACK).source(RZ_FABRIC),
    key("topology", "spine_ports", Form::Count(1, 65_535), By("136"), "Ports of a spine, of which each leaf takes one.").when(RACK).source(RZ_FABRIC),
    key("topology", "uplink.rate", LINE_RATE, By("25Gb/s"), "Rate of an uplink, each way.").when(FABRIC).source(RZ_FABRIC),
    key("topology", "uplink.delay", Form::Time(1, MOST_TIME / 1_000_000), By("50ns"), "Propagation delay of an uplink, one way.").when(FABRIC),
    key("topology", "cell", Form::Size(64, 16_384), By("256B"), "The most octets of a frame that one cell carries.").when(FABRIC).source(RZ_CELLS),
    key("topology", "header", Form::Size(0, 1000), By("8B"), "Octets of a cell beyond those.").when(FABRIC),
    key("topology", "spine.input_buffer", Form::Size(1, 65_535), By("4KiB"), "Room at each input of a spine, for which a leaf holds credits.").when(RACK),
    key("topology", "spine.output_buffer", Form::Size(1, 65_535), By("4KiB"), "Room at each output of a spine.").when(RACK),
    key("topology", "spine.latency", OFFSET, By("100ns"), "Time a cell takes from the input to the output of a spine, if it need not wait.").when(RACK),
    key("topology", "request_latency", Form::Time(1, MOST_TIME / 1_000_000), By("250ns"), "Time from a request at an input to its arrival at the arbiter of the output.").when(FABRIC),
    key("topology", "grant_latency", Form::Time(1, MOST_TIME / 1_000_000), By("250ns"), "Time from a grant to its arrival at the input.").when(FABRIC),
    key("topology", "groups", Form::Count(2, 256), Required, "Groups of routers; every two are joined by one link.").when(DRAGONFLY),
    key("topology", "routers", Form::Count(1, 256), Required, "Routers of a group, `r1` and so on over all groups, all joined to each other; each has one leaf.").when(DRAGONFLY),
    key("topology", "local.rate", LINE_RATE, By("100Gb/s"), "Rate of a link between routers of a group, each way.").when(DRAGONFLY),
    key("topology", "local.delay", Form::Time(1, MOST_TIME / 1_000_000), By("50ns"), "Its propagation delay, one way.").when(DRAGONFLY),
    key("topology", "global.rate", LINE_RATE, By("100Gb/s"), "Rate of a link between groups, each way.").when(DRAGONFLY),
    key("topology", "global.delay", Form::Time(1, MOST_TIME / 1_000_000), By("200ns"), "Its propagation delay, one way.").when(DRAGONFLY),
    key("topology", "router.input_buffer", Form::Size(1, 65_535), By("16KiB"), "Room at each input of a router and virtual channel, for which the sender holds credits.").when(DRAGONFLY),
    key("topology", "router.output_buffer", Form::Size(1, 65_535), By("4KiB"), "Room at each output of a router.").when(DRAGONFLY),
    key("topology", "router.latency", OFFSET, By("100ns"), "Time a cell takes from the input to the output of a router, if it need not wait.").when(DRAGONFLY),
    key("topology.links", "ends", Form::Names, Required, "The two nodes it joins."),
    key("topology.links", "rate", LINE_RATE, Optional("as `topology.link.rate`"), "Its rate, each way."),
    key("topology.links", "delay", Form::Time(1, MOST_TIME / 1_000_000), Optional("as `topology.link.delay`"), "Its propagation delay, one way."),

    key("switch", "kind", Form::Word(&["voq", "output-queued"]), By("voq"), "Where frames wait: in memory partitioned per input, by output; or in one memory for all, first in first out."),
    key("switch", "input_memory", SIZE, By("none"), "Memory of each input, for each priority.").or(&["none"]).when(VOQ),
    key("switch", "output", Form::Table, Optional("outputs read straight from the inputs"), "Buffers at the outputs, filled under credits.").when(VOQ),
    key("switch", "output.buffer", SIZE, Required, "Room in each output buffer; a frame is granted only if it will fit.").when(OUTPUT_STAGE),
    key("switch", "output.latency", OFFSET, By("0s"), "Time from a request to the arrival of the granted frame at the output buffer; a fabric of cells takes the time of its parts instead.").when(OUTPUT_STAGE),
    key("switch", "output.speedup", Form::Percent(100, 10_000), By("100%"), "How fast the fabric fills an output buffer, against the port.").when(OUTPUT_STAGE),
    key("switch", "reliable", TIME, By("off"), "Reliable delivery: an input keeps a copy of each frame, which counts as held, until its output has sent the frame and the acknowledgement is back after this time.").or(&["off"]).when(OUTPUT_STAGE).source(RZ_KEEP_ALIVE),
    key("switch", "memory", SIZE, By("none"), "The whole memory.").or(&["none"]).when(SHARED),
    key("switch", "queue_limit", SIZE, By("none"), "The most one output queue may hold, the frame being sent counted; `dynamic` makes it `alpha` times the free memory.").or(&["none", "dynamic"]).when(SHARED),
    key("switch", "alpha", Form::Factor, Required, "What part of the free memory one queue may hold.").when(&[Is("kind", &["output-queued"]), Is("queue_limit", &["dynamic"])]),
    key("switch", "pause.mode", Form::Word(&["off", "pause", "pfc"]), By("off"), "Whether inputs stop their peers before they overflow: not at all, all traffic, or by priority.").source(PAUSE),
    key("switch", "pause.rule", Form::Word(&["static", "dynamic", "global"]), By("static"), "Whether the thresholds are fixed for each input, follow the memory still free, or are of the whole memory: all inputs stop at once, at best at M - N·(RTT·B + L), and go below half of that.").when(PAUSING),
    key("switch", "pause.stop", SIZE, Required, "An input that holds more than this, or under `global` a switch, stops its peer (XOFF).").when(STATIC_STOP).source(PAUSE),
    key("switch", "pause.go", SIZE, Required, "An input that holds less than this, or under `global` a switch, lets its peer go again (XON); below `stop`.").when(STATIC_STOP).source(PAUSE),
    key("switch", "pause.alpha", Form::Factor, Required, "An input that holds more than this part of the free memory stops its peer.").when(DYNAMIC_STOP),
    key("switch", "pause.hysteresis", Form::Size(0, MOST_SIZE), By("3KiB"), "How far below the threshold an input lets its peer go again.").when(DYNAMIC_STOP),
    key("switch", "pause.quanta", Form::Count(1, 65_535), By("65535"), "The pause asked for at a time, in units of 512 bit times; it is refreshed at half of that.").when(PAUSING).source("802.3 31B.2"),
    key("switch", "pause.priorities", Form::Counts(0, 7), Optional("every priority in use"), "The priorities that are lossless; the others may drop.").when(PFC).source("802.1Qbb"),
    key("switch", "schedule", Form::Word(&["strict", "wrr", "drr"]), By("strict"), "How the priorities of a port share it: the highest first, in turn by frames, or in turn by octets.").source("802.1Q 8.6.8"),
    key("switch", "weights", Form::Counts(1, 255), Required, "Frames at a turn, for each of the eight priorities from 0.").when(&[Is("schedule", &["wrr"])]),
    key("switch", "weights", Form::Sizes(1, U32), Required, "Octets at a turn, for each of the eight priorities from 0.").when(&[Is("schedule", &["drr"])]),
    key("switch", "isolation.mode", Form::Word(&["off", "local", "signal"]), By("off"), "Congestion isolation: whether each output moves flows that fill it to a queue of their own, and whether it tells the neighbour that sends them to do the same. Neighbours that do not announce the same queues are not told.").source(QCZ),
    key("switch", "isolation.monitored", Form::Count(0, 7), By("0"), "The priority that is watched.").when(ISOLATING).source(QCZ),
    key("switch", "isolation.congesting", Form::Count(0, 7), By("1"), "The priority of the queue that congesting flows are moved to; not one that flows have. Their frames keep their own on the wire.").when(ISOLATING).source(QCZ),
    key("switch", "isolation.detect", Form::Word(&["marking", "sampling"]), By("marking"), "Which frame makes its flow a congesting one: one that ECN would mark, or one that QCN would notify of.").when(ISOLATING).source(QCZ_2018),
    key("switch", "isolation.low", Form::Size(0, MOST_SIZE), By("10kB"), "Up to this length of the monitored queue none does.").when(ISOLATED_BY_MARKS).source(QCZ_2018),
    key("switch", "isolation.high", Form::Size(0, MOST_SIZE), By("300kB"), "Above this every one does.").when(ISOLATED_BY_MARKS).source(QCZ_2018),
    key("switch", "isolation.most", Form::Share, By("1%"), "The probability at `high` itself, to which it rises evenly from `low`.").when(ISOLATED_BY_MARKS).source(QCZ_2018),
    key("switch", "isolation.set_point", Form::Size(100, U32), By("33kB"), "Samples find flows while the monitored queue is above this, or growing fast.").when(ISOLATED_BY_SAMPLES),
    key("switch", "isolation.sample_base", Form::Size(10_000, U32), By("150kB"), "Octets between samples while there is no congestion.").when(ISOLATED_BY_SAMPLES).source(MIB),
    key("switch", "isolation.marks", Form::Word(&["all", "none", "curve"]), By("all"), "Which frames of congesting flows are marked for the ends (ECN): all, none, or by the length of the congesting queue.").when(ISOLATING).source(QCZ_2018),
    key("switch", "isolation.marks_low", Form::Size(0, MOST_SIZE), By("10kB"), "Up to this length of the congesting queue none is.").when(ISOLATED_CURVE),
    key("switch", "isolation.marks_high", Form::Size(0, MOST_SIZE), By("300kB"), "Above this all are.").when(ISOLATED_CURVE),
    key("switch", "isolation.marks_most", Form::Share, By("1%"), "The share at `marks_high` itself.").when(ISOLATED_CURVE),
    key("switch", "isolation.table", Form::Count(1, 65_536), By("1024"), "Flows that an output can isolate at a time; further ones stay where they are.").when(ISOLATING).source("802.1Qcz 12.33.3; the number is ours"),
    key("switch", "isolation.inactivity", TIME, By("100us"), "A flow without a frame for this long is free again, if none of it waits; where a neighbour downstream announces more, as long as that.").when(ISOLATING).source("the number is ours"),
    key("switch", "isolation.most_life", TIME, By("1s"), "How long a flow that the neighbour named stays at most after the congesting queue ran empty (ci-max-flow-life).").when(ISOLATING).source(QCZ),
    key("switch", "isolation.flush", Form::Word(&["own", "all", "nothing"]), By("own"), "Which flows are free when the congesting queue runs empty: those found here, all, or none.").when(ISOLATING).source(QCZ_2018_FLUSH),
    key("switch", "isolation.markers", Form::Flag, By("true"), "Whether markers in both queues keep flows in order when they are moved.").when(ISOLATING).source(QCZ_2018_ORDER),
    key("switch", "isolation.signal_above", Form::Size(0, MOST_SIZE), By("75kB"), "The neighbour is told of a flow whose frame finds more than this in the congesting queue.").when(SIGNALLING).source("the number is ours"),
    key("switch", "isolation.signals", Form::Count(1, 255), By("3"), "How often at most it is told of one flow (max-cim-tx).").when(SIGNALLING).source(QCZ),
    key("switch", "isolation.releases", Form::Flag, By("false"), "Whether it is told too when the congesting queue ran empty and the flow is free.").when(SIGNALLING),
    key("switch", "isolation.cim", Form::Word(&["layer2", "ipv4", "ipv6"]), By("layer2"), "What messages to neighbours travel in.").when(SIGNALLING).source(QCZ),
    key("switch", "isolation.cim_priority", Form::Count(0, 7), By("6"), "Their priority (ci-cim-tx-priority); not one that data uses.").when(SIGNALLING).source(QCZ),
    key("switch", "isolation.cim_octets", Form::Count(0, 512), By("48"), "How much of a frame this switch asks to be in messages to it (min-header-octets).").when(SIGNALLING).source(QCZ),
    key("switch", "pause.both_stop", SIZE, Required, "An input that holds more than this of the congesting priority stops the monitored one as well: its neighbour may have congesting flows in that too. Not below `stop`.").when(ISOLATING_PFC).source(QCZ_2018_BOTH),
    key("switch", "pause.both_go", SIZE, Required, "An input that holds less than this of it lets the monitored one go by itself again; below `both_stop`.").when(ISOLATING_PFC).source(QCZ_2018_BOTH),

    key("switch", "ecn", Form::Table, Optional("outputs mark nothing"), "When output queues mark frames whose ends understand marks."),
    key("switch", "ecn.low", Form::Size(0, MOST_SIZE), Required, "Up to this queue length nothing is marked (K_min).").when(ECN).source(DCQCN_PAPER),
    key("switch", "ecn.high", SIZE, Required, "Above this queue length everything is marked (K_max); where it is `low`, marking is a step.").when(ECN).source(DCQCN_PAPER),
    key("switch", "ecn.most", Form::Share, By("1%"), "Share of frames that is marked at `high` itself (P_max); between the two it grows in a line.").when(ECN).source(DCQCN_PAPER),
    key("switch", "ecn.at", Form::Word(&["arrival", "departure"]), By("arrival"), "Whether a frame is marked by the queue it finds, itself included, or by the one it leaves behind.").when(ECN),

    key("adapter", "queueing", Form::Word(&["per-destination", "per-flow", "fifo", "one-queue"]), By("per-destination"), "How frames wait: a queue per destination, or per flow, served in turn; one queue and a set-aside queue for each flow that a limiter holds; or one queue alone, where the first frame holds up the rest."),
    key("adapter", "schedule", Form::Word(&["strict", "wrr"]), By("strict"), "How the priorities of a host share its link: the highest first, or in turn by frames.").source("802.1Q 8.6.8"),
    key("adapter", "weights", Form::Counts(1, 255), Required, "Frames at a turn, for each of the eight priorities from 0.").when(&[Is("schedule", &["wrr"])]),
    key("adapter", "queue_limit", SIZE, By("none"), "The most that waits in one queue; a source that finds it full is held back, and what it had is not offered.").or(&["none"]).source(IBM_2007),
    key("adapter", "limiter", Form::Word(&["destination", "flow", "host"]), By("destination"), "What shares a rate limiter."),
    key("adapter", "pacer", Form::Word(&["whole-frame", "any-token"]), By("whole-frame"), "When a limited queue may send: when its tokens cover the frame, or while any token is left.").source("NetFPGA QCN, token bucket rate limiter"),
    key("adapter", "pacer_depth", Form::Size(0, MOST_SIZE), By("0B"), "Most octets of credit that a limited queue saves up while it is held or empty."),
    key("adapter", "reaction_delay", OFFSET, By("0s"), "Time from the arrival of a notification until the limiter acts on it."),
    key("adapter", "transport.kind", Form::Word(&["none", "go-back-n"]), By("none"), "Whether frames are acknowledged: not at all, or as reliable connections do, which take frames in order only and on a loss send everything from there again."),
    key("adapter", "transport.timeout", Form::Time(1_000_000, MOST_TIME / 1000), By("1048576ns"), "Time without progress after which everything not acknowledged is sent again.").when(RELIABLE).source(IBA_RC),
    key("adapter", "transport.doublings", Form::Count(0, 32), By("0"), "How often that time doubles while nothing gets through.").when(RELIABLE),
    key("adapter", "transport.ack_every", Form::Count(1, U32), By("1"), "Frames to one acknowledgement; the last of a message has one at once.").when(RELIABLE),
    key("adapter", "transport.nak_interval", TIME, By("none"), "Least time before the same frame is called missing again; `none` calls it once, and the timeout does the rest.").or(&["none"]).when(RELIABLE).source(IBA_RC),
    key("adapter", "transport.window", SIZE, By("none"), "The most octets of a flow that are on their way.").or(&["none"]).when(RELIABLE),
    key("adapter", "transport.ack_frame", Form::Size(70, 16_384), By("70B"), "Length of an acknowledgement.").when(RELIABLE).source("InfiniBand A17 (RoCEv2)"),
    key("adapter", "transport.ack_priority", Form::Count(0, 7), By("data"), "Priority of acknowledgements; `data` is that of what they acknowledge.").or(&["data"]).when(RELIABLE),
    key("adapter", "transport.complete", Form::Word(&["delivered", "acknowledged"]), By("delivered"), "When a flow of a size is complete: when its receiver has it all, or when its sender knows.").when(RELIABLE),
    key("adapter", "receive.service", LINE_RATE, By("line"), "How fast frames are taken in; `line` is as fast as they come.").or(&["line"]),
    key("adapter", "receive.buffer", SIZE, By("none"), "Room for frames that wait for service; `none` is no limit.").or(&["none"]),
    key("adapter", "receive.pause", Form::Table, Optional("a host never stops its switch"), "When a host stops its switch."),
    key("adapter", "receive.pause.stop", SIZE, Required, "A host whose receive buffer holds more than this stops its switch.").when(RECEIVE_PAUSE).source(PAUSE),
    key("adapter", "receive.pause.go", SIZE, Required, "A host whose receive buffer holds less than this lets its switch go again.").when(RECEIVE_PAUSE).source(PAUSE),
    key("adapter", "receive.pause.quanta", Form::Count(1, 65_535), By("65535"), "The pause asked for at a time, in units of 512 bit times.").when(RECEIVE_PAUSE).source("802.3 31B.2"),

    key("scheme", "kind", Form::Word(&["none", "qcn", "af-qcn", "fqcn", "ecm", "e2cm", "qcn2007", "qcn-probe", "ib-cc", "dcqcn", "dctcp"]), By("none"), "The congestion control: none, QCN, QCN with congestion points that measure flows and mix in their shares (AF-QCN) or tell all who bring too much (FQCN), ECM, ECM with probes (E2CM), QCN as it was in 2007, QCN with good news from probes, InfiniBand's, DCQCN, or DCTCP."),
    key("scheme", "preset", Form::Preset, Optional("the profile's numbers, or those of `standard-10G`"), "Where the numbers below come from, unless stated.").when(QCN),
    key("scheme", "profile", Form::Word(&["standard", "pseudo-code"]), Optional("as the preset reads it"), "Which reading of QCN: the standard's machines, or the pseudo-code 2.2 and 2.3. With a preset it sets the four switches in which they differ, without one all numbers.").when(QCN).source("802.1Q 32; QCN pseudo-code 2.2"),
    key("scheme", "placement", Form::Word(&["output", "input", "both"]), By("output"), "Where congestion points are: at the outputs of switches as in the standard, at their inputs, or both.").when(QCN).source(RZ),
    key("scheme", "culprit", Form::Word(&["arrival", "largest-occupancy", "random-occupancy"]), Preset("arrival"), "Which frame is blamed when a sample falls due: the one that arrived, one of the flow that holds most, or a random one of those held.").when(QCN_BLAMING_ONE).source(RZ),
    key("scheme", "search", Form::Word(&["at-once", "array"]), By("at-once"), "How a random one of the frames held is found: at once, or by reads of a culprit array, as hardware does it.").when(RANDOM_CULPRIT).source(RZ_ARRAY),
    key("scheme", "search_words", Form::Count(1, 16_384), By("12288"), "Units of 256 octets in the memory of a port, each with a word of the array; 16 words are read at once.").when(ARRAY).source(RZ_ARRAY),
    key("scheme", "search_probes", Form::Count(0, U32), By("16"), "Random reads without success before the array is read in order.").when(ARRAY).source("the number is ours"),
    key("scheme", "search_probe", Form::Word(&["read", "word"]), By("read"), "What of a random read counts: all its 16 words, or the one at the random address.").when(ARRAY),
    key("scheme", "keep_alive", Form::Flag, Preset("false"), "Whether a clock goes on sampling while an input holds its peer paused.").when(QCN_AT_INPUTS).source(RZ_KEEP_ALIVE),
    key("scheme", "set_point", Form::Size(100, U32), Preset("26kB"), "The queue length the loop steers to (cpQsp, Q_EQ).").when(QCN).source(MIB),
    key("scheme", "weight", Form::PowerOfTwo(-10, 10), Preset("2"), "How much the queue's growth counts against its length (cpW).").when(QCN).source(MIB),
    key("scheme", "sample_base", Form::Size(10_000, U32), Preset("150kB"), "Octets between samples while there is no congestion (cpSampleBase).").when(QCN).source(MIB),
    key("scheme", "sample_jitter", Form::Percent(0, 99), Preset("15%"), "Half-width of the uniform factor on the sampling interval: 15% draws from 0.85 to 1.15.").when(QCN).source("QCN: Description and Benchmark Simulations"),
    key("scheme", "quantiser", Form::Word(&["sixty-threeths", "sixty-fourths", "top-bits"]), Preset("sixty-threeths"), "How feedback becomes six bits: floor(63·fb/F), min(63, floor(64·fb/F)), or the six top bits of F.").when(QCN).source("802.1Q 32.9.4"),
    key("scheme", "gd", Form::PowerOfTwo(-31, 0), Preset("1/128"), "Gain of a cut: a feedback of 63 cuts by 63 times this (rpgGd).").when(QCN).source(MIB),
    key("scheme", "min_decrease", Form::Percent(1, 100), Preset("50%"), "What a single cut leaves at the least (rpgMinDecFac).").when(QCN).source(MIB),
    key("scheme", "byte_reset", Form::Size(2, U32), Preset("150kB"), "Octets of a byte cycle (rpgByteReset, BC_LIMIT).").when(QCN_BY_OCTETS).source(MIB),
    key("scheme", "byte_cycle", Form::Time(1_000_000, MOST_TIME / 1000), Optional("`byte_reset` octets at any rate"), "Makes byte cycles proportional to the rate: what the current rate carries in this time, instead of `byte_reset` octets.").when(QCN).source("Hayashi et al. 2011: 240us"),
    key("scheme", "time_reset", Form::Time(2, MOST_TIME / 1000), Preset("15ms"), "Length of a time cycle (rpgTimeReset, TIMER_PERIOD).").when(QCN).source(MIB),
    key("scheme", "threshold", Form::Count(1, U32), Preset("5"), "Cycles of fast recovery (rpgThreshold, FAST_RECOVERY_TH).").when(QCN).source(MIB),
    key("scheme", "ai_rate", RATE, Preset("5Mb/s"), "Step of active increase (rpgAiRate, R_AI).").when(QCN).source(MIB),
    key("scheme", "hai_rate", RATE, Preset("50Mb/s"), "Step of hyper-active increase (rpgHaiRate, R_HAI).").when(QCN).source(MIB),
    key("scheme", "min_rate", RATE, Preset("5Mb/s"), "A limiter never goes below this (rpgMinRate, MIN_RATE).").when(QCN).source(MIB),
    key("scheme", "reload_jitter", Form::Percent(0, 99), Preset("0%"), "Half-width of the uniform factor on the lengths of both cycles.").when(QCN).source("QCN pseudo-code 2.2"),
    key("scheme", "half_reload_in_ai", Form::Flag, Preset("false"), "Whether a counter past the threshold has half its length in active increase too.").when(QCN).source("QCN pseudo-code 2.2"),
    key("scheme", "recovery_includes_threshold", Form::Flag, Preset("false"), "Whether fast recovery lasts through the cycle numbered `threshold`.").when(QCN).source("QCN pseudo-code 2.2"),
    key("scheme", "hai_excludes_threshold", Form::Flag, Preset("false"), "Whether the n-th step of hyper-active increase is n - 1 times `hai_rate` instead of n times.").when(QCN).source("QCN pseudo-code 2.2"),
    key("scheme", "freeze_timer_while_paused", Form::Flag, Preset("false"), "Whether time cycles stand still while the port is paused.").when(QCN).source(RZ),
    key("scheme", "cnm_priority", Form::Count(0, 7), By("6"), "Priority of notifications; not one that data uses (cngCnmTransmitPriority).").when(QCN).source(MIB),
    key("scheme", "cnm_frame", FRAME, By("64B"), "Length of a notification.").when(QCN).source("802.1Q 33"),
    key("scheme", "interval", Form::Time(1_000_000, MOST_TIME / 1000), By("1ms"), "Time over which a congestion point measures what each flow brings.").when(AF_QCN).source("Kabbani et al. 2010; the length is ours"),
    key("scheme", "mix", Form::Share, By("50%"), "How much of the feedback is a flow's excess over an equal share; the rest is QCN's.").when(AF_QCN).source("Kabbani et al. 2010; the value is ours"),

    key("scheme", "set_point", Form::Size(64, U32), By("37500B"), "The queue length the loop steers to (Q_eq).").when(ECM).source(IBM_2007),
    key("scheme", "weight", Form::Count(0, 255), By("2"), "How much the queue's growth counts against its length (W).").when(ECM).source(IBM_2007),
    key("scheme", "sampling", Form::Share, By("2%"), "Share of arriving frames that are sampled, at random (P).").when(ECM).source(IBM_2007),
    key("scheme", "max_above", SIZE, By("150kB"), "A sample of a longer queue tells the worst whatever the queue does (BCN-MAX).").or(&["none"]).when(ECM).source(IBM_2007),
    key("scheme", "stop_above", SIZE, By("none"), "A sample of a longer queue stops the source (BCN(0,0)); 300kB in the document, where it is on.").or(&["none"]).when(ECM).source(IBM_2007),
    key("scheme", "cut", Form::Share, By("50%"), "What the worst feedback takes of a rate: Gd times the largest feedback, (2W+1)·Q_eq.").when(ECM).source(IBM_2007),
    key("scheme", "raise", Form::Share, By("10%"), "What the best feedback adds, as a share of the link: Gi times R_unit times the largest feedback.").when(ECM).source(IBM_2007),
    key("scheme", "longest_stop", Form::Time(0, MOST_TIME / 1000), By("10ms"), "Longest random wait of a stopped source; it starts again at `min_rate`.").when(ECM).source("our reading"),
    key("scheme", "flow_set_point", Form::Size(64, U32), By("9kB"), "What one flow is to have waiting in the network, as its probes tell.").when(E2CM).source("our reading"),
    key("scheme", "idle_way", Form::Time(1, MOST_TIME / 1000), By("auto"), "What a probe takes at most on a path without queues, there and back; the shortest that is seen is taken if it is less. `auto` is the longest way of the network, all links up or as `[[at]]` leaves them, but at least 30 us.").or(&["auto"]).when(E2CM).source("our reading"),
    key("scheme", "raise", Form::Share, By("2%"), "What the best feedback of a probe adds, as a share of the link.").when(QCN_PROBE).source("our reading"),
    key("scheme", "probe_period", Form::Time(1_000_000, MOST_TIME / 1000), By("500us"), "Time between probes of a limited flow.").when(PROBES).source("our reading"),
    key("scheme", "drift", Form::Share, By("none"), "What a rate gains every `drift_period` without feedback, as a share of itself: what brings a limiter back whose congestion point is gone.").or(&["none"]).when(ECM_ALONE).source(IBM_2007_STALE),
    key("scheme", "set_point", Form::Size(64, U32), By("33kB"), "The queue length the loop steers to (Q_eq).").when(QCN_2007_POINTS).source("QCN: Description and Benchmark Simulations"),
    key("scheme", "weight", Form::PowerOfTwo(-10, 10), By("2"), "How much the queue's growth counts against its length (w).").when(QCN_2007_POINTS).source(IBM_2007),
    key("scheme", "least_sampling", Form::Share, By("1%"), "Share of arriving frames that are sampled after good news.").when(QCN_2007_POINTS).source(IBM_2007),
    key("scheme", "most_sampling", Form::Share, By("10%"), "Share of arriving frames that are sampled after the worst feedback; in between it is linear.").when(QCN_2007_POINTS).source(IBM_2007),
    key("scheme", "gd", Form::PowerOfTwo(-31, 0), By("1/128"), "Gain of a cut: a feedback of 63 cuts by 63 times this (Gd).").when(QCN_2007_POINTS).source("QCN: Description and Benchmark Simulations"),
    key("scheme", "byte_reset", Form::Size(4, U32), By("150kB"), "Octets of a cycle of recovery.").when(QCN_2007).source("QCN: Description and Benchmark Simulations"),
    key("scheme", "extra_fast_recovery", Form::Flag, By("true"), "Whether the first two cycles after a cut are shorter, a quarter and half, and the first divides a goal of more than ten times the rate by eight.").when(QCN_2007).source(IBM_2007),
    key("scheme", "threshold", Form::Count(1, U32), By("5"), "Cycles of fast recovery.").when(QCN_2007).source(IBM_2007),
    key("scheme", "ai_rate", RATE, By("3Mb/s"), "Step of active increase (A).").when(QCN_2007).source(IBM_2007),
    key("scheme", "hai_rate", RATE, By("none"), "Step of hyperactive increase, in place of active increase: the n-th cycle after fast recovery adds n of it.").or(&["none"]).when(QCN_2007).source(IBM_2007),
    key("scheme", "drift", Form::Share, By("0.5%"), "What a rate gains every `drift_period` without a cut, as a share of itself.").or(&["none"]).when(QCN_2007).source(IBM_2007),
    key("scheme", "min_rate", RATE, By("1Mb/s"), "A limiter never goes below this (R_min).").when(ECM).source(IBM_2007),
    key("scheme", "min_rate", RATE, By("1Mb/s"), "A limiter never goes below this (R_min).").when(QCN_2007_POINTS).source(IBM_2007),
    key("scheme", "drift_period", Form::Time(1_000_000, MOST_TIME / 1000), By("500us"), "Time between gains by drift, counted from the last feedback.").when(ECM_ALONE).source(IBM_2007),
    key("scheme", "drift_period", Form::Time(1_000_000, MOST_TIME / 1000), By("500us"), "Time between gains by drift, counted from the last feedback.").when(QCN_2007).source(IBM_2007),
    key("scheme", "threshold", Form::Size(0, MOST_SIZE), By("33kB"), "A queue above this is congested, and its frames are marked (sw_th).").when(IB_CC).source(IBA),
    key("scheme", "marking_rate", Form::Count(0, 65_535), By("10"), "Mean number of frames that go unmarked between two marks (Marking_Rate).").when(IB_CC).source(IBA),
    key("scheme", "smallest", Form::Size(0, 65_535), By("0B"), "Shorter frames are not marked (Packet_Size).").when(IB_CC).source(IBA),
    key("scheme", "marks_victims", Form::Flag, By("false"), "Whether frames that wait for a paused port are marked too (Victim_Mask).").when(IB_CC).source(IBA),
    key("scheme", "table", Form::Count(2, 256), By("256"), "Entries of the table of delays.").when(IB_CC).source(IBA),
    key("scheme", "most_delay", Form::Count(1, 16_383), By("32"), "The last entry of the table, in frame times (max_ipd); entries rise evenly to it, and a rate is the line's over one plus its entry.").when(IB_CC).source(IBA),
    key("scheme", "increase", Form::Count(1, 255), By("1"), "What a returned mark adds to the index (CCTI_Increase, ipd_idx_incr).").when(IB_CC).source(IBA),
    key("scheme", "least", Form::Count(0, 255), By("0"), "What the index never is below, from the start (CCTI_Min).").when(IB_CC).source(IBA),
    key("scheme", "timer", Form::Time(1_000, MOST_TIME / 1000), By("500us"), "Time after which the index falls by one (CCTI_Timer, rec_time).").when(IB_CC).source(IBA),
    key("scheme", "cnm_priority", Form::Count(0, 7), By("6"), "Priority of what is told to sources; not one that data uses.").when(NOT_QCN),
    key("scheme", "cnm_frame", FRAME, By("64B"), "Length of what is told to sources.").when(NOT_QCN),

    key("scheme", "preset", Form::Word(&["paper-40G", "nic-100G", "hpcc-100G"]), By("paper-40G"), "Where the numbers below come from, unless stated: the paper, the factory settings of network adapters, or the simulator of HPCC. The first cuts at each notification and counts octets beside time; the other two cut and estimate by clocks, and count time alone.").when(DCQCN),
    dcqcn("cnp_interval", OFFSET, "50us", "Least time between two notifications to a flow (N, min_time_between_cnps); `0s` answers every mark.").source(DCQCN_PAPER),
    dcqcn("min_rate", RATE, "40Mb/s", "A limiter never goes below this (rpg_min_rate).").source(DCQCN_PAPER),
    dcqcn("gain", Form::Share, "1/256", "What part of its way the estimate of congestion goes at a time (g, dce_tcp_g).").source(DCQCN_PAPER),
    dcqcn("initial_alpha", Form::Share, "100%", "What the estimate begins with (initial_alpha_value).").source(DCQCN_PAPER),
    dcqcn("alpha_rule", Form::Word(&["after-cut", "before-cut", "each-period"]), "after-cut", "When the estimate rises: after the cut of a notification, before it, or once each `alpha_period` in which one came.").source(DCQCN_NIC),
    dcqcn("alpha_period", Form::Time(1_000, MOST_TIME / 1000), "55us", "Time without notifications after which the estimate falls, again and again (K, dce_tcp_rtt).").source(DCQCN_PAPER),
    dcqcn("cut_period", Form::Time(0, MOST_TIME / 1000), "0ps", "Notifications are acted upon once in this time (rate_reduce_monitor_period); `0s` is each at once.").source(DCQCN_NIC),
    dcqcn("min_decrease", Form::Percent(1, 100), "50%", "What a single cut leaves at the least (rpg_min_dec_fac).").source(DCQCN_NIC),
    dcqcn("first_rate", RATE, "none", "What the first notification of a flow sets its rate to, before any cut (rate_to_set_on_first_cnp).").or(&["none"]).source(DCQCN_NIC),
    dcqcn("clamp", Form::Word(&["every-cut", "after-byte-cycle", "after-any-cycle"]), "every-cut", "Which cuts make the rate before them the goal of the climb: every one, or the first since a byte cycle or any cycle ended (clamp_tgt_rate).").source(DCQCN_NIC),
    dcqcn("time_reset", Form::Time(1_000, MOST_TIME / 1000), "55us", "Length of a time cycle (T, rpg_time_reset).").source(DCQCN_PAPER),
    dcqcn("byte_reset", Form::Size(1, U32), "10MB", "Octets of a byte cycle (B, rpg_byte_reset); `none` lets time alone count.").or(&["none"]).source(DCQCN_PAPER),
    dcqcn("threshold", Form::Count(1, U32), "5", "Cycles of fast recovery (F, rpg_threshold).").source(DCQCN_PAPER),
    dcqcn("counts_ending_cycle", Form::Flag, "true", "Whether the cycle that ends counts among those that `threshold` is held against."),
    dcqcn("ai_rate", RATE, "40Mb/s", "Step of additive increase (R_AI, rpg_ai_rate).").source(DCQCN_PAPER),
    dcqcn("hai_rate", RATE, "400Mb/s", "Step of hyper increase (R_HAI, rpg_hai_rate).").source(DCQCN_NIC),
    dcqcn("hai_grows", Form::Flag, "true", "Whether the steps of hyper increase grow from cycle to cycle: once, twice, three times `hai_rate`."),
    dcqcn("target_capped", Form::Flag, "false", "Whether the goal of the climb is held to the port's rate."),
    key("scheme", "cnps", Form::Word(&["packets", "in-acks"]), By("packets"), "How notifications travel: each as a packet of its own, or in the next acknowledgement, where adapters have a `transport`.").when(DCQCN),
    key("scheme", "cnp_priority", Form::Count(0, 7), By("6"), "Priority of congestion notification packets; not one that data uses.").when(DCQCN).source(DCQCN_NIC),
    key("scheme", "cnp_frame", Form::Size(82, 16_384), By("82B"), "Length of a congestion notification packet: 74 octets, its VLAN tag and its check sequence.").when(DCQCN).source("InfiniBand A17 (RoCEv2)"),

    key("scheme", "gain", Form::Share, By("1/16"), "What part of its way the estimate of congestion goes each window (g).").when(DCTCP).source(RFC_8257),
    key("scheme", "initial_alpha", Form::Share, By("100%"), "What the estimate begins with.").when(DCTCP).source(RFC_8257),
    key("scheme", "segment", FRAME, By("1500B"), "What windows are counted in: the length of a frame.").when(DCTCP),
    key("scheme", "initial_window", Form::Count(1, 1_000_000), By("10"), "Segments a flow begins with.").when(DCTCP).source("RFC 6928"),
    key("scheme", "min_window", Form::Count(1, 1_000_000), By("2"), "The least segments of a window.").when(DCTCP),
    key("scheme", "max_window", Form::Count(1, 1_000_000), By("1000"), "The most, where `adapter.transport.window` does not say.").when(DCTCP),

    key("traffic", "from", Form::Names, Required, "The senders: a host, a list of hosts, or `*` for all.").when(FRAMED),
    key("traffic", "from", Form::Names, By("*"), "The hosts that take part: a list of hosts, or `*` for all.").when(DEALT),
    key("traffic", "from", Form::Names, By("*"), "The members, in the order of the ring: a list of hosts, or `*` for all.").when(COLLECTIVE),
    key("traffic", "to", Form::Names, Required, "The receivers: a host; `any` for all others; a list; `+4` for the host four places on, counted round; or `permutation` for one other host each, which every seed draws for itself. With several, each frame draws one.").when(FRAMED),
    key("traffic", "each", Form::Flag, By("false"), "Whether each receiver has a source of its own, instead of sharing one.").when(FRAMED),
    key("traffic", "multicast", Form::Flag, By("false"), "Whether each frame goes to all receivers, copied where their ways part, instead of to one of them. Each receiver has a flow; they share queue and limiter.").when(FRAMED),
    key("traffic", "name", Form::Text, Optional("`from->to`"), "What the flow is called, if there is just one; of a multicast, what stands before `->` and the receiver.").when(FRAMED),
    key("traffic", "priority", Form::Count(0, 7), By("0"), "Priority of its frames, where a trace has none.").source("802.1Q"),
    key("traffic", "spread", Form::Counts(0, 7), Optional("all have `priority`"), "Priorities that flows are spread over by a hash of their destination, in place of `priority`.").source(QCZ_2018),
    key("traffic", "frame", FRAME, By("1500B"), "Length of its frames, from destination address to check sequence."),
    key("traffic", "pattern", Form::Word(&["greedy", "constant", "bernoulli", "poisson", "on-off", "flows", "incasts", "trace", "all-reduce", "all-to-all"]), By("greedy"), "When frames come: always one waiting, at even gaps, by a coin tossed each frame time, at exponential gaps, or in exponential on and off periods. Or many flows at once: `flows` come at random with sizes of a distribution, `incasts` are groups of greedy senders to one receiver each, a `trace` lists them. Or transfers that wait for each other, as training of neural networks makes them: an `all-reduce` passes pieces round a ring, in an `all-to-all` each member sends to every other once all of the iteration before has reached it."),
    key("traffic", "offer", RATE, Optional("see `load` and `interval`"), "Mean rate offered while active, in frame octets.").when(PACED),
    key("traffic", "load", Form::Share, Optional("see `offer` and `interval`"), "Share of the host's link that is offered while active, overhead counted.").when(PACED),
    key("traffic", "interval", TIME, Optional("see `offer` and `load`"), "Mean time between frames while active.").when(SPACED),
    key("traffic", "on", TIME, Required, "Mean length of an on period; the first begins at `start`.").when(ON_OFF),
    key("traffic", "off", TIME, Required, "Mean length of an off period.").when(ON_OFF),
    key("traffic", "start", OFFSET, By("0s"), "When it begins.").when(TIMED),
    key("traffic", "stop", TIME, Optional("the end of the run"), "When it ends; of `flows`, when the last may begin.").when(TIMED),
    key("traffic", "message", SIZE, Optional("it does not end by itself"), "It ends after this much was offered.").when(FRAMED),
    key("traffic", "stagger", OFFSET, By("0s"), "How much later each source begins than the one before.").when(FRAMED),
    key("traffic", "stagger_within", TIME, Optional("staggers add up"), "Staggers are taken modulo this.").when(&[Has(&["stagger"])]),
    key("traffic", "sizes", Form::Text, Required, "How large flows are: a table of sizes and cumulative probabilities, built in or beside this file, such as `data/cdf/websearch_dctcp.csv`.").when(DRAWN),
    key("traffic", "load", Form::Share, Required, "Payload that each host offers on average, as a share of its link.").when(DRAWN),
    key("traffic", "clusters", Form::Count(1, 100_000), Optional("all hosts are one cluster"), "Deal the hosts into so many clusters at random; flows stay in theirs.").when(DRAWN),
    key("traffic", "cluster_size", Form::Count(2, 100_000), Required, "Hosts of a cluster.").when(&[Is("pattern", &["flows"]), Has(&["clusters"])]),
    key("traffic", "incasts", Form::Count(1, 100_000), Required, "How many receivers there are, dealt at random; those that `clusters` of the same draw take come last.").when(INCASTS),
    key("traffic", "fan_in", Form::Count(1, 100_000), Required, "Senders to each of them.").when(INCASTS),
    key("traffic", "draw", Form::Count(0, MOST), By("seed"), "What is dealt and drawn follows from this number, and is the same under all seeds; `seed` lets each seed of the run draw its own.").or(&["seed"]).when(DEALT),
    key("traffic", "file", Form::Text, Required, "A table of flows with the columns `start_ns` (or another unit), `from`, `to`, `bytes` and if it likes `priority`; or a `flow.txt` as the HPCC simulator and its relatives read it.").when(TRACE),
    key("traffic", "zero", OFFSET, By("0s"), "The time of the trace at which the run begins.").when(TRACE),
    key("traffic", "header", Form::Size(0, 1000), By("0B"), "Octets of each frame that are not payload of its flow.").when(HEADED),
    key("traffic", "size", SIZE, Required, "What each member holds, of an `all-reduce`, or sends to each other, of an `all-to-all`, in an iteration.").when(COLLECTIVE),
    key("traffic", "iterations", Form::Count(1, 1_000_000), Required, "How often in a row; as many as fit the run are made.").when(COLLECTIVE),
    key("traffic", "mice_below", SIZE, Optional("all flows have one priority"), "Flows of less payload than this have the priority `mice_priority`.").when(LISTED),
    key("traffic", "mice_priority", Form::Count(0, 7), Required, "Priority of small flows.").when(&[Is("pattern", &["flows", "trace"]), Has(&["mice_below"])]),

    key("at", "time", OFFSET, Required, "When it happens."),
    key("at", "for", TIME, Optional("it stays so"), "After this long, things are as at the start of the run again."),
    key("at", "port", Form::Text, Optional("see `host`, `link`, `flow`"), "The port, as `s1->h10`, whose service changes; `*->h10` is the port to that host, whatever its switch."),
    key("at", "host", Form::Text, Optional("see `port`, `link`, `flow`"), "The host whose receive service changes."),
    key("at", "link", Form::Text, Optional("see `port`, `host`, `flow`"), "The link, as `s1-s2`, that fails or is repaired."),
    key("at", "flow", Form::Text, Optional("see `port`, `host`, `link`"), "The flow that starts or stops."),
    key("at", "service", LINE_RATE, Required, "The new rate of service; `line` is the link's.").or(&["line"]).when(&[Has(&["port", "host"])]),
    key("at", "state", Form::Word(&["up", "down", "start", "stop"]), Required, "What becomes of it: `up` or `down` for a link, `start` or `stop` for a flow.").when(&[Has(&["link", "flow"])]),

    key("expect", "claim", Form::Text, Optional("made from the rest"), "The claim in words."),
    key("expect", "metric", Form::Text, Required, "What is measured, such as `queue` or `max/min(throughput)`; see the list of metrics."),
    key("expect", "of", Form::Text, By("*"), "On which flows, ports or inputs: names or patterns with `*`, separated by commas; `!` takes away."),
    key("expect", "over", Form::Windows, Optional("the whole run"), "In which part of the run; in each of several."),
    key("expect", "when", Form::Selection, Optional("in all configurations"), "In which configurations."),
    key("expect", "across", Form::Text, By("every"), "Statistic over the repeats: `every`, `median`, `mean`, `quantile 0.9`, or `fraction 0.25` of the runs."),
    key("expect", "at_least", Form::Bound, Optional("no such bound"), "It is not less than this."),
    key("expect", "at_most", Form::Bound, Optional("no such bound"), "It is not more than this."),
    key("expect", "between", Form::Bounds, Optional("no such bound"), "It lies between these two."),
    key("expect", "near", Form::Bound, Optional("no such bound"), "It lies `within` a share of this."),
    key("expect", "within", Form::Share, Required, "How far from `near` it may lie.").when(&[Has(&["near"])]),
    key("expect", "relative_to", Form::Reference, Optional("the value itself"), "Divide by the same measure in another configuration, seed by seed; the bound is then a ratio."),
    key("expect", "against", Form::Text, Optional("the value itself"), "Divide by the mean of the same metric over these, in the same window of the same run; the bound is then a ratio."),
    key("expect", "target", Form::Bound, Required, "The value to converge to, reach or settle at.").when(AIMED),
    key("expect", "band", Form::Share, Required, "How far from the target still counts.").when(CONVERGENCE),
    key("expect", "side", Form::Word(&["both", "above", "below"]), By("both"), "On which side of the target it counts.").when(CONVERGING),
    key("expect", "with", Form::Text, Required, "The port or input whose queue the flows are compared with.").when(CORRELATED),
    key("expect", "step", TIME, By("10ms"), "Length of the steps by which they are compared.").when(CORRELATED),
    key("expect", "span", TIME, Required, "The time over which throughput is averaged.").when(RECOVERY),
    key("expect", "sizes", Form::Text, Optional("every size"), "Which flows by their payload, such as `10kB..100kB`: from the first on, and below the second.").when(OF_MESSAGES),
    key("expect", "quiet", TIME, Required, "Time without another change that makes a case count.").when(SETTLED),
    key("expect", "skip", OFFSET, Required, "Time after a change that is not looked at.").when(SETTLED),

    key("fair", "of", Form::Text, Required, "Which flows: names or patterns with `*`, separated by commas; `!` takes away."),
    key("fair", "rate", RATE, Required, "What each of them ought to get."),
    key("fair", "over", Form::Window, Optional("the whole run"), "The part of the run in which they are compared with it."),
    key("fair", "since", OFFSET, By("0s"), "From when on the time is counted until all flows stay within 20% of their rates."),
    key("fair", "span", TIME, By("10ms"), "The time over which throughput is averaged for that."),
    key("fair", "when", Form::Selection, Optional("in all configurations"), "In which configurations."),

    key("figure", "kind", Form::Word(&["queue", "throughput", "arrivals", "limit", "pause", "cnms", "shares", "tree", "slowdown", "bursts", "pause-count", "pause-time", "scatter", "cross-correlation"]), Required, "What is drawn; `slowdown` is that of finite flows by size, `bursts` the share of frames in bursts of so many, `pause-count` and `pause-time` how many pauses inputs began and how long they held their peers, by priority; `arrivals` is the raw rate of flows into their first switch, overhead counted; `tree` shows which ports are congested or held paused, each under the queue behind it; `scatter` is the rate of a flow against a queue, a dot a step, and `cross-correlation` how much alike they are, over how much later the queue is looked at."),
    key("figure", "of", Form::Text, By("*"), "Of which flows, ports or inputs, as in `expect.of`."),
    key("figure", "title", Form::Text, Optional("made from the rest"), "Its caption."),
    key("figure", "shows", Form::Text, Optional("it is ours"), "The figure or statement of the source that it redraws, by page; a reproduction page has those that redraw one."),
    key("figure", "when", Form::Selection, Optional("all configurations"), "For which configurations."),
    key("figure", "overlay", Form::Flag, By("false"), "One panel with a line per configuration, instead of a panel each."),
    key("figure", "runs", Form::Word(&["all", "first"]), By("all"), "Of which runs: the middle of all and their spread, or the one of the first seed."),
    key("figure", "with", Form::Text, Required, "The port or input whose queue the flows are compared with.").when(COMPARING),
    key("figure", "step", TIME, By("10ms"), "Length of the steps by which they are compared.").when(COMPARING),
    key("figure", "beside", Form::Text, Optional("nothing of others is drawn"), "A table of flow completion times that somebody else measured, with the columns `bytes`, `fct_ns` and `standalone_ns`, whose slowdowns are drawn too.").when(SLOWDOWNS),
    key("figure", "beside_name", Form::Text, By("theirs"), "What they are called.").when(BESIDE),
    key("figure", "over", Form::Window, Optional("the whole run"), "The part of the run it shows."),
];
