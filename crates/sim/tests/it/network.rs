//! Small plans, built by hand, for tests that want to know every number in them.

use quell_proto::control::pacer::Rule;
use quell_proto::control::pause::PauseConfig;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Quanta, Rate};
use quell_record::{EntityId, Event, FlowTotals, Quantity, Sink};
use quell_sim::kernel::{Broken, Control, Outcome, run};
use quell_sim::scenario::plan::*;

/// `hosts` on one switch; all links alike.
pub(crate) fn star(hosts: u32, rate: Rate, delay: Duration) -> Plan {
    let ends = |host| [NodeId::Host(HostId(host)), NodeId::Switch(SwitchId(0))];
    Plan {
        length: Duration::from_ms(1),
        overhead: Bytes::ZERO,
        sample: Duration::from_us(100),
        cuts: Vec::new(),
        hosts: (0..hosts).map(|host| Host { name: format!("h{}", host + 1), adapter: adapter() }).collect(),
        switches: vec![Switch {
            name: "s1".into(),
            buffering: Buffering::OutputQueued { memory: None, queue_limit: QueueLimit::None },
            flow_control: FlowControl::Off,
            schedule: Schedule::Strict,
        }],
        links: (0..hosts).map(|host| Link { ends: ends(host), rate, delay }).collect(),
        tie_break: TieBreak::First,
        flows: Vec::new(),
        sources: Vec::new(),
        changes: Vec::new(),
        scheme: Scheme::None,
        wire_check: false,
    }
}

pub(crate) fn adapter() -> Adapter {
    Adapter {
        queueing: AdapterQueueing::PerDestination,
        limiter: LimiterScope::Destination,
        pacer: Rule::WholeFrame,
        pacer_depth: Bytes::ZERO,
        reaction_delay: Duration::ZERO,
        receive: Receive { service: None, buffer: None, pause: None },
    }
}

/// Adds a flow of 1500-octet frames and its source.
pub(crate) fn add_flow(plan: &mut Plan, from: u32, to: u32, pattern: Pattern, start: Instant) {
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
        frame: Bytes::new(1500),
        pattern,
        start,
        stop: Instant::NEVER,
        message: None,
    });
}

pub(crate) fn pause(stop: u64, go: u64) -> FlowControl {
    let config = PauseConfig { stop: Bytes::new(stop), go: Bytes::new(go), quanta: Quanta::MAX };
    FlowControl::Pause(StopRule::Static(config))
}

/// Sums over a run.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub flows: Vec<FlowTotals>,
    pub events: Vec<Event>,
}

impl Sink for Totals {
    fn begin_samples(&mut self, _at: Instant) {}
    fn sample(&mut self, _entity: EntityId, _quantity: Quantity, _value: i64) {}
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
}

pub(crate) fn totals(plan: &Plan, seed: u64) -> Result<(Outcome, Totals), Broken> {
    let mut totals = Totals::default();
    let outcome = run(plan, seed, &mut totals, &Control::default())?;
    Ok((outcome, totals))
}
