//! Small plans, built by hand, for tests that want to know every number in them.

use quell_proto::control::ecn::MarkingConfig;
use quell_proto::control::pacer::Rule;
use quell_proto::control::pause::PauseConfig;
use quell_proto::control::qcn;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Quanta, Rate, Share};
use quell_record::{Digester, EntityId, Event, EventKind, FlowTotals, Quantity, Sink};
use quell_sim::kernel::{Broken, Control, Outcome, run};
use quell_sim::scenario::plan::*;

pub(crate) const TEN: Rate = Rate::from_gbps(10);
pub(crate) const US: Duration = Duration::from_us(1);

pub(crate) fn host(index: u32) -> NodeId {
    NodeId::Host(HostId(index))
}

pub(crate) fn switch(index: u32) -> NodeId {
    NodeId::Switch(SwitchId(index))
}

/// So many microseconds after the start.
pub(crate) fn at_us(us: u64) -> Instant {
    Instant::START + Duration::from_us(us)
}

/// Hosts and switches without memory limits or flow control, joined by links that are all alike.
pub(crate) fn graph(hosts: u32, switches: u32, ends: &[[NodeId; 2]], rate: Rate, delay: Duration) -> Plan {
    Plan {
        length: Duration::from_ms(1),
        overhead: Bytes::ZERO,
        sample: Duration::from_us(100),
        cuts: Vec::new(),
        bursts: false,
        flow_series: true,
        hosts: (0..hosts).map(|host| Host { name: format!("h{}", host + 1), adapter: adapter() }).collect(),
        switches: (0..switches)
            .map(|switch| Switch {
                name: format!("s{}", switch + 1),
                buffering: Buffering::OutputQueued { memory: None, queue_limit: QueueLimit::None },
                flow_control: FlowControl::Off,
                schedule: Schedule::Strict,
                isolation: None,
                marking: None,
            })
            .collect(),
        links: ends.iter().map(|ends| Link { ends: *ends, rate, delay }).collect(),
        fabric: None,
        tie_break: TieBreak::First,
        flows: Vec::new(),
        sources: Vec::new(),
        redraw: None,
        changes: Vec::new(),
        scheme: Scheme::None,
        deadlock: Deadlock::Impossible,
        discovery: Discovery::Before,
        wire_check: false,
    }
}

/// `hosts` on one switch; all links alike. Link `n` is the one of host `n`.
pub(crate) fn star(hosts: u32, rate: Rate, delay: Duration) -> Plan {
    let ends: Vec<_> = (0..hosts).map(|index| [host(index), switch(0)]).collect();
    graph(hosts, 1, &ends, rate, delay)
}

/// A row of switches with so many hosts each. Links of hosts come first, in order, then those between switches.
pub(crate) fn chain(hosts: &[u32], rate: Rate, delay: Duration) -> Plan {
    let mut ends = Vec::new();
    for (at, count) in hosts.iter().enumerate() {
        for _ in 0..*count {
            ends.push([host(u32::try_from(ends.len()).unwrap()), switch(u32::try_from(at).unwrap())]);
        }
    }
    let switches = u32::try_from(hosts.len()).unwrap();
    ends.extend((1..switches).map(|next| [switch(next - 1), switch(next)]));
    graph(hosts.iter().sum(), switches, &ends, rate, delay)
}

pub(crate) fn adapter() -> Adapter {
    Adapter {
        queueing: AdapterQueueing::PerDestination,
        schedule: Schedule::Strict,
        limiter: LimiterScope::Destination,
        pacer: Rule::WholeFrame,
        queue_limit: None,
        pacer_depth: Bytes::ZERO,
        reaction_delay: Duration::ZERO,
        transport: None,
        receive: Receive { service: None, buffer: None, pause: None },
    }
}

/// Adds a flow of 1500-octet frames and its source; both have the number given back.
pub(crate) fn add_flow(plan: &mut Plan, from: u32, to: u32, pattern: Pattern, start: Instant) -> usize {
    let flow = FlowId(u32::try_from(plan.flows.len()).unwrap());
    plan.flows.push(Flow {
        name: format!("h{}->h{}", from + 1, to + 1),
        from: HostId(from),
        to: HostId(to),
        priority: Priority::default(),
    });
    plan.sources.push(Source {
        host: HostId(from),
        flows: vec![flow],
        multicast: false,
        frame: Bytes::new(1500),
        pattern,
        start,
        stop: Instant::NEVER,
        message: None,
        header: Bytes::ZERO,
        script: None,
    });
    plan.sources.len() - 1
}

/// A flow that always has a frame waiting.
pub(crate) fn greedy(plan: &mut Plan, from: u32, to: u32) -> usize {
    add_flow(plan, from, to, Pattern::Greedy, Instant::START)
}

/// So many frames of a flow, as fast as they go.
pub(crate) fn burst(plan: &mut Plan, from: u32, to: u32, frames: u64) -> usize {
    let source = greedy(plan, from, to);
    plan.sources[source].message = Some(Bytes::new(1500 * frames));
    source
}

pub(crate) fn pause_config(stop: u64, go: u64) -> PauseConfig {
    PauseConfig { stop: Bytes::new(stop), go: Bytes::new(go), quanta: Quanta::MAX }
}

pub(crate) fn pause(stop: u64, go: u64) -> FlowControl {
    FlowControl::Pause(StopRule::Static(pause_config(stop, go)))
}

/// QCN at outputs with the standard's parameters.
pub(crate) fn qcn() -> Qcn {
    Qcn {
        placement: Placement::Output,
        congestion: qcn::CongestionConfig::default(),
        reaction: qcn::ReactionConfig::default(),
        cnm_priority: Priority::new(6).unwrap(),
        cnm_frame: Bytes::new(64),
        search: None,
    }
}

/// ECM with the document's parameters, without stops.
pub(crate) fn ecm() -> Ecm {
    Ecm { congestion: Default::default(), reaction: Default::default(), messages: messages() }
}

/// QCN of 2007 with the document's parameters.
pub(crate) fn qcn2007() -> Qcn2007 {
    Qcn2007 { congestion: Default::default(), reaction: Default::default(), messages: messages() }
}

/// InfiniBand's congestion control with our parameters.
pub(crate) fn ib_cc() -> IbCc {
    IbCc { marker: Default::default(), reaction: Default::default(), messages: messages() }
}

/// ECM with probes and our parameters.
pub(crate) fn e2cm() -> E2cm {
    E2cm { congestion: Default::default(), reaction: Default::default(), messages: messages() }
}

/// QCN of 2007 with good news from probes, and our parameters.
pub(crate) fn qcn_probe() -> QcnProbe {
    QcnProbe { congestion: Default::default(), reaction: Default::default(), messages: messages() }
}

/// DCQCN of a preset. Switches have to mark for it to do anything: see [`marks`].
pub(crate) fn dcqcn(name: &str) -> Dcqcn {
    let preset = quell_proto::control::dcqcn::preset(name).unwrap();
    let messages = Messages { priority: Priority::new(6).unwrap(), frame: Bytes::new(82) };
    Dcqcn {
        notification: preset.notification,
        reaction: preset.reaction,
        messages,
        in_acknowledgements: false,
    }
}

/// Lets all switches mark: nothing up to `low`, all above `high`, and one percent there.
pub(crate) fn marks(plan: &mut Plan, low: u64, high: u64, at: MarkedAt) {
    for switch in &mut plan.switches {
        let (low, high, most) = (Bytes::new(low), Bytes::new(high), Share::percent(1));
        switch.marking = Some(Marking { curve: MarkingConfig { low, high, most }, at });
    }
}

fn messages() -> Messages {
    Messages { priority: Priority::new(6).unwrap(), frame: Bytes::new(64) }
}

/// What a run said.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub flows: Vec<FlowTotals>,
    pub events: Vec<Event>,
    pub samples: Vec<(Instant, EntityId, Quantity, i64)>,
    at: Instant,
}

impl Sink for Totals {
    fn begin_samples(&mut self, at: Instant) {
        self.at = at;
    }
    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.samples.push((self.at, entity, quantity, value));
    }
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn flow(&mut self, _flow: EntityId, totals: FlowTotals) {
        self.flows.push(totals);
    }
}

impl Totals {
    pub(crate) fn delivered(&self) -> u64 {
        self.flows.iter().map(|flow| flow.delivered_frames).sum()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.flows.iter().map(|flow| flow.lost_frames).sum()
    }

    /// Frames delivered of each flow.
    pub(crate) fn frames(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.delivered_frames).collect()
    }

    /// The values of a quantity of an entity, in order of time.
    pub(crate) fn series(&self, entity: EntityId, quantity: Quantity) -> Vec<i64> {
        let of = |sample: &&(Instant, EntityId, Quantity, i64)| (sample.1, sample.2) == (entity, quantity);
        self.samples.iter().filter(of).map(|sample| sample.3).collect()
    }

    pub(crate) fn peak(&self, entity: EntityId) -> i64 {
        self.series(entity, Quantity::QueuePeakBytes).into_iter().max().unwrap_or(0)
    }

    /// When things of this kind happened.
    pub(crate) fn times(&self, kind: EventKind) -> Vec<Instant> {
        self.events.iter().filter(|event| event.kind == kind).map(|event| event.at).collect()
    }
}

/// The port of end 0 or 1 of a link, in a plan with one data priority.
pub(crate) fn port(link: u32, end: u32) -> EntityId {
    EntityId(2 * link + end)
}

/// The input at end 0 or 1 of a link, in a plan with one data priority.
pub(crate) fn input(plan: &Plan, link: u32, end: u32) -> EntityId {
    EntityId(2 * (u32::try_from(plan.links.len()).unwrap() + link) + end)
}

/// A flow, in a plan with one data priority.
pub(crate) fn flow(plan: &Plan, index: u32) -> EntityId {
    EntityId(4 * u32::try_from(plan.links.len()).unwrap() + index)
}

pub(crate) fn totals(plan: &Plan, seed: u64) -> Result<(Outcome, Totals), Broken> {
    let mut totals = Totals::default();
    let outcome = run(plan, seed, &mut totals, &Control::default())?;
    Ok((outcome, totals))
}

/// What a plan comes to, which must not break an invariant.
pub(crate) fn run_of(plan: &Plan) -> Totals {
    totals(plan, 1).unwrap_or_else(|broken| panic!("{broken}")).1
}

/// The digest of a run, short.
pub(crate) fn digest(plan: &Plan, seed: u64) -> String {
    let mut digester = Digester::new();
    run(plan, seed, &mut digester, &Control::default()).unwrap_or_else(|broken| panic!("{broken}"));
    digester.digest().to_string()
}

/// Reads a scenario of the gallery.
pub(crate) fn scenario(id: &str, sets: &[(&str, &str)]) -> quell_sim::scenario::Scenario {
    read_scenario(id, sets, false)
}

/// Reads the short form of a scenario of the gallery.
pub(crate) fn quick_scenario(id: &str) -> quell_sim::scenario::Scenario {
    read_scenario(id, &[], true)
}

fn read_scenario(id: &str, sets: &[(&str, &str)], quick: bool) -> quell_sim::scenario::Scenario {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let path = folder.join(format!("{id}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let beside = |name: &str| {
        let own = std::fs::read_to_string(path.with_file_name(name));
        own.or_else(|_| std::fs::read_to_string(folder.join(name))).ok()
    };
    quell_sim::scenario::read(quell_sim::scenario::Request {
        file: id,
        text: &text,
        base: &beside,
        sets: &sets,
        quick,
        repeat: None,
        seed: None,
        wire_check: false,
    })
    .unwrap_or_else(|problems| panic!("{problems}"))
}
