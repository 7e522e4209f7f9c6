//! Random networks: whatever is built and whatever fails, no frame comes from nowhere, goes nowhere, or overtakes.

use crate::network::*;
use proptest::prelude::*;
use quell_proto::control::pacer::Rule;
use quell_proto::control::pause::PauseConfig;
use quell_proto::control::qcn::{self, Culprit};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Quanta, Rate};
use quell_record::Quantity;
use quell_sim::scenario::plan::*;

/// The choices that shape a network; the rest is drawn from `details`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knobs {
    shape: Shape,
    memory: Memory,
    control: Control,
    scheme: Option<(Placement, Culprit)>,
    queueing: AdapterQueueing,
    sources: usize,
    failures: usize,
    details: u64,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Star(u32),
    Chain(u32),
    /// With two links between the first two switches.
    Ring(u32),
}

#[derive(Clone, Copy, Debug)]
enum Memory {
    Shared,
    Virtual,
    Staged,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Control {
    Off,
    Pause,
    Pfc,
    DynamicPause,
    DynamicPfc,
}

pub(crate) fn knobs() -> impl Strategy<Value = Knobs> {
    // Nodes of the larger ones, with more than 32 links, take turns; the small ones go in the order of time.
    let shape = prop_oneof![
        3 => (2u32..7).prop_map(Shape::Star),
        3 => (2u32..5).prop_map(Shape::Chain),
        3 => (3u32..6).prop_map(Shape::Ring),
        1 => (33u32..36).prop_map(Shape::Star),
        1 => (14u32..16).prop_map(Shape::Chain),
        1 => (16u32..19).prop_map(Shape::Ring),
    ];
    let memory = prop_oneof![Just(Memory::Shared), Just(Memory::Virtual), Just(Memory::Staged)];
    let control = prop_oneof![
        Just(Control::Off),
        Just(Control::Pause),
        Just(Control::Pfc),
        Just(Control::DynamicPause),
        Just(Control::DynamicPfc),
    ];
    let placement = prop_oneof![Just(Placement::Output), Just(Placement::Input), Just(Placement::Both)];
    let culprit =
        prop_oneof![Just(Culprit::Arrival), Just(Culprit::LargestOccupancy), Just(Culprit::RandomOccupancy)];
    let queueing =
        prop_oneof![Just(AdapterQueueing::PerDestination), Just(AdapterQueueing::FifoWithSetAside)];
    let scheme = prop::option::of((placement, culprit));
    (shape, memory, control, scheme, queueing, 1usize..10, 0usize..4, any::<u64>()).prop_map(
        |(shape, memory, control, scheme, queueing, sources, failures, details)| Knobs {
            shape,
            memory,
            control,
            scheme,
            queueing,
            sources,
            failures,
            details,
        },
    )
}

/// Draws the details of a network.
struct Draw(Dice);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 0
    }
}

const LONGEST: u64 = 1500;
const SOURCES_END: Duration = Duration::from_us(800);

pub(crate) fn build(knobs: Knobs) -> Plan {
    let mut draw = Draw(Dice::new(knobs.details, 0, 0));
    let mut plan = wires(knobs.shape, &mut draw);
    plan.length = Duration::from_us(1600);
    plan.overhead = Bytes::new(draw.of(&[0, 20]));
    plan.sample = Duration::from_us(draw.of(&[50, 100, 333]));
    plan.tie_break = draw.of(&[TieBreak::Hash, TieBreak::First, TieBreak::Destination]);
    plan.wire_check = draw.yes();
    let priorities: Vec<Priority> = if draw.yes() { vec![0] } else { vec![0, 3, 5] }
        .into_iter()
        .map(|priority| Priority::new(priority).unwrap())
        .collect();
    for _ in 0..knobs.sources {
        add_source(&mut plan, &priorities, &mut draw);
    }
    if let Some((placement, culprit)) = knobs.scheme {
        plan.scheme = match draw.below(8) {
            0 => {
                let mut scheme = Ecm { messages: messages(&mut draw), ..ecm() };
                scheme.congestion.stop_above = draw.yes().then_some(Bytes::new(20_000));
                Scheme::Ecm(scheme)
            }
            1 => Scheme::Qcn2007(Qcn2007 { messages: messages(&mut draw), ..qcn2007() }),
            2 => Scheme::IbCc(IbCc { messages: messages(&mut draw), ..ib_cc() }),
            3 => Scheme::E2cm(E2cm { messages: messages(&mut draw), ..e2cm() }),
            4 => Scheme::QcnProbe(QcnProbe { messages: messages(&mut draw), ..qcn_probe() }),
            5 => Scheme::Dcqcn(dcqcn(draw.of(&["paper-40G", "nic-100G", "hpcc-100G"]))),
            _ => Scheme::Qcn(scheme(placement, culprit, &mut draw)),
        };
    }
    for switch in 0..plan.switches.len() {
        furnish(&mut plan, switch, knobs, &priorities, &mut draw);
    }
    if plan.scheme.understands_marks() {
        marks(&mut plan, 3_000, 20_000, draw.of(&[MarkedAt::Arrival, MarkedAt::Departure]));
        for source in &mut plan.sources {
            let frames = source.message.map(|message| message.get().div_ceil(source.frame.get()));
            source.frame = source.frame.max(plan.scheme.shortest_frame());
            // Whole frames, as before: a last one that is padded would offer more than the message.
            source.message = frames.map(|frames| Bytes::new(frames * source.frame.get()));
        }
    }
    for host in 0..plan.hosts.len() {
        equip(&mut plan, host, knobs, &mut draw);
    }
    for _ in 0..knobs.failures {
        add_change(&mut plan, &mut draw);
    }
    plan.changes.sort_by_key(|change| change.at);
    plan
}

fn wires(shape: Shape, draw: &mut Draw) -> Plan {
    let mut plan = match shape {
        Shape::Star(hosts) => star(hosts, TEN, US),
        Shape::Chain(switches) => {
            let hosts: Vec<u32> = (0..switches).map(|_| u32::try_from(draw.between(1, 3)).unwrap()).collect();
            chain(&hosts, TEN, US)
        }
        Shape::Ring(switches) => {
            let mut ends: Vec<_> = (0..switches).map(|index| [host(index), switch(index)]).collect();
            ends.extend((0..switches).map(|index| [switch(index), switch((index + 1) % switches)]));
            ends.push([switch(0), switch(1)]);
            graph(switches, switches, &ends, TEN, US)
        }
    };
    for link in &mut plan.links {
        link.rate = draw.of(&[Rate::from_gbps(1), TEN, TEN, Rate::from_gbps(3), Rate::from_gbps(40)]);
        link.delay = Duration::from_ps(draw.of(&[0, 1, 77_777, 1_000_000, 4_000_000]));
    }
    plan
}

fn add_source(plan: &mut Plan, priorities: &[Priority], draw: &mut Draw) {
    let hosts = plan.hosts.len() as u64;
    let from = draw.below(hosts);
    let mut targets = vec![(from + draw.between(1, hosts - 1)) % hosts];
    if draw.below(4) == 0 {
        targets = (0..hosts).filter(|host| *host != from).collect();
    }
    let priority = draw.of(priorities);
    let mut flows = Vec::new();
    for to in targets {
        flows.push(FlowId(u32::try_from(plan.flows.len()).unwrap()));
        plan.flows.push(Flow {
            name: format!("f{}", plan.flows.len()),
            from: HostId(u32::try_from(from).unwrap()),
            to: HostId(u32::try_from(to).unwrap()),
            priority,
        });
    }
    let gap = Duration::from_ns(draw.between(300, 20_000));
    let period = Duration::from_us(draw.between(5, 200));
    let pattern = match draw.below(7) {
        0 | 1 => Pattern::Greedy,
        2 => Pattern::Constant { interval: gap },
        3 => Pattern::Bernoulli { slot: gap, load_ppm: u32::try_from(draw.between(1, 1_000_000)).unwrap() },
        4 => Pattern::Poisson { mean: gap },
        5 => Pattern::OnOff { on: period, off: period, interval: None },
        _ => Pattern::OnOff { on: period, off: period, interval: Some(gap) },
    };
    let frame = draw.of(&[64, 333, 1000, LONGEST]);
    plan.sources.push(Source {
        host: HostId(u32::try_from(from).unwrap()),
        flows,
        multicast: false,
        frame: Bytes::new(frame),
        pattern,
        start: Instant::from_ps(draw.below(200_000_000)),
        stop: Instant::START + SOURCES_END,
        message: (draw.below(4) == 0).then(|| Bytes::new(frame * draw.between(1, 100))),
        header: Bytes::ZERO,
        script: None,
    });
}

fn scheme(placement: Placement, culprit: Culprit, draw: &mut Draw) -> Qcn {
    let profile = draw.of(&[qcn::Profile::Standard, qcn::Profile::PseudoCode]);
    Qcn {
        placement,
        congestion: qcn::CongestionConfig {
            set_point: Bytes::new(draw.between(3_000, 30_000)),
            sample_base: Bytes::new(draw.between(10_000, 60_000)),
            culprit,
            keep_alive: draw.yes(),
            ..profile.congestion()
        },
        reaction: qcn::ReactionConfig {
            // Short cycles, so that limiters are released and set up again within a run.
            time_reset: Duration::from_us(draw.between(10, 500)),
            byte_reset: Bytes::new(draw.between(5_000, 150_000)),
            ai_rate: Rate::from_mbps(draw.between(5, 1000)),
            hai_rate: Rate::from_mbps(draw.between(50, 3000)),
            freeze_timer_while_paused: draw.yes(),
            ..profile.reaction(TEN)
        },
        cnm_priority: Priority::new(u8::try_from(draw.below(8)).unwrap()).unwrap(),
        cnm_frame: Bytes::new(draw.of(&[64, 90])),
        search: None,
    }
}

fn messages(draw: &mut Draw) -> Messages {
    let priority = Priority::new(u8::try_from(draw.below(8)).unwrap()).unwrap();
    Messages { priority, frame: Bytes::new(draw.of(&[64, 90])) }
}

/// Room above a stop threshold in which nothing is lost: the frame that passed it, the frame and the pause frames
/// that a stop waits for, the way there and back, and the frame just begun.
fn room_above(link: &Link) -> u64 {
    let on_the_way = link.rate.carries_in(Duration::from_ps(2 * link.delay.ps() + 1_000)).get() + 1;
    on_the_way + 3 * (LONGEST + 20) + 20 * 84
}

fn furnish(plan: &mut Plan, switch: usize, knobs: Knobs, priorities: &[Priority], draw: &mut Draw) {
    let here = |link: &&Link| link.ends.contains(&NodeId::Switch(SwitchId(u32::try_from(switch).unwrap())));
    let links = plan.links.iter().filter(here);
    let (inputs, room) = links.fold((0, 0), |(inputs, room), link| (inputs + 1, room.max(room_above(link))));
    let stop = draw.between(1, 40_000);
    let go = draw.between(0, stop);
    let quanta = draw.of(&[Quanta::MAX, Quanta(2_000)]);
    let inputs = inputs * priorities.len() as u64;
    // With all of them falling asleep at an eighth of what is free, half of four times the room is still there.
    let dynamic = StopRule::Dynamic {
        alpha_num: 1,
        alpha_den: 8,
        hysteresis: Bytes::new(draw.between(0, 5_000)),
        quanta,
    };
    let fixed = StopRule::Static(PauseConfig { stop: Bytes::new(stop), go: Bytes::new(go), quanta });
    let all = priorities.iter().fold(0, |bits, priority| bits | 1 << priority.get());
    let shared = matches!(knobs.memory, Memory::Shared);
    // Where priorities have memory of their own, one of them may be lossy.
    let some = if shared { all } else { draw.of(&[all, 1 << priorities[0].get()]) };
    let (flow_control, memory) = match knobs.control {
        Control::Off => (FlowControl::Off, draw.between(5_000, 80_000)),
        Control::Pause => {
            (FlowControl::Pause(fixed), if shared { inputs * (stop + room) } else { stop + room })
        }
        Control::Pfc => {
            let memory = if shared { inputs * (stop + room) } else { stop + room };
            (FlowControl::Pfc { priorities: some, stop: fixed }, memory)
        }
        Control::DynamicPause => (FlowControl::Pause(dynamic), 8 * inputs * room),
        Control::DynamicPfc => (FlowControl::Pfc { priorities: all, stop: dynamic }, 8 * inputs * room),
    };
    let memory = Some(Bytes::new(memory));
    let stage = OutputStage {
        buffer: Bytes::new(draw.between(LONGEST, 10_000)),
        latency: Duration::from_ns(draw.below(2_000)),
        speedup_percent: u32::try_from(draw.between(100, 300)).unwrap(),
        acknowledge: (draw.below(3) == 0).then(|| Duration::from_ns(draw.below(2_000))),
    };
    let queue_limit = match (knobs.control, draw.below(3)) {
        (Control::Off, 1) => QueueLimit::Static(Bytes::new(draw.between(3_000, 30_000))),
        (Control::Off, 2) => {
            QueueLimit::Dynamic { alpha_num: 1, alpha_den: u32::try_from(draw.between(1, 4)).unwrap() }
        }
        _ => QueueLimit::None,
    };
    plan.switches[switch].buffering = match knobs.memory {
        Memory::Shared => Buffering::OutputQueued { memory, queue_limit },
        Memory::Virtual => Buffering::Voq { input_memory: memory, output: None },
        Memory::Staged => Buffering::Voq { input_memory: memory, output: Some(stage) },
    };
    plan.switches[switch].flow_control = flow_control;
    plan.switches[switch].schedule = draw.of(&[
        Schedule::Strict,
        Schedule::WeightedRoundRobin([1, 1, 1, 4, 1, 2, 1, 1]),
        Schedule::DeficitRoundRobin([1500, 1, 1, 500, 1, 9000, 1500, 1]),
    ]);
}

fn equip(plan: &mut Plan, index: usize, knobs: Knobs, draw: &mut Draw) {
    let node = NodeId::Host(HostId(u32::try_from(index).unwrap()));
    let room = plan.links.iter().find(|link| link.ends.contains(&node)).map_or(0, room_above);
    let adapter = &mut plan.hosts[index].adapter;
    adapter.queueing = knobs.queueing;
    adapter.limiter = draw.of(&[LimiterScope::Destination, LimiterScope::Flow, LimiterScope::Host]);
    adapter.pacer = draw.of(&[Rule::WholeFrame, Rule::AnyToken]);
    adapter.pacer_depth = Bytes::new(draw.of(&[0, 3000]));
    adapter.reaction_delay = Duration::from_us(draw.of(&[0, 0, 7]));
    if draw.below(3) == 0 {
        let stop = draw.between(1, 20_000);
        let pause = draw.yes().then(|| pause_config(stop, draw.between(0, stop)));
        adapter.receive = Receive {
            service: draw.yes().then(|| Rate::from_mbps(draw.between(200, 9_000))),
            buffer: Some(Bytes::new(if pause.is_some() { stop + room } else { draw.between(2_000, 30_000) })),
            pause,
        };
    }
}

fn add_change(plan: &mut Plan, draw: &mut Draw) {
    let at = Instant::from_ps(draw.between(50_000_000, 700_000_000));
    let again = at + Duration::from_us(draw.between(1, 500));
    let slow = Some(Rate::from_mbps(draw.between(100, 3_000)));
    let number = draw.below(plan.links.len() as u64);
    let link = LinkId(u32::try_from(number).unwrap());
    let (first, then) = match draw.below(4) {
        0 => {
            let from = plan.links[usize::try_from(number).unwrap()].ends[usize::from(draw.yes())];
            (What::PortService { link, from, rate: slow }, What::PortService { link, from, rate: None })
        }
        1 => {
            let host = HostId(u32::try_from(draw.below(plan.hosts.len() as u64)).unwrap());
            (What::ReceiveService { host, rate: slow }, What::ReceiveService { host, rate: None })
        }
        _ => (What::Link { link, up: false }, What::Link { link, up: true }),
    };
    plan.changes.push(Change { at, what: first });
    plan.changes.push(Change { at: again, what: then });
}

/// The most that can be on wires at a time.
fn on_wires(plan: &Plan) -> u64 {
    let one = |link: &Link| link.rate.carries_in(link.delay).get() + 2 * (LONGEST + 20);
    plan.links.iter().map(|link| 2 * one(link)).sum()
}

fn check(knobs: Knobs) -> Result<(), TestCaseError> {
    let plan = build(knobs);
    let (outcome, said) =
        totals(&plan, knobs.details).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    prop_assert!(outcome.complete);
    let peaks_at = |at| {
        let peaks =
            said.samples.iter().filter(move |sample| sample.0 == at && sample.2 == Quantity::QueuePeakBytes);
        peaks.map(|sample| u64::try_from(sample.3).unwrap()).sum::<u64>()
    };
    let times: std::collections::BTreeSet<Instant> = said.samples.iter().map(|sample| sample.0).collect();
    let held = peaks_at(*times.last().unwrap());
    let idle = times.iter().rev().take_while(|at| peaks_at(**at) == 0).count() > 2;
    let fails = plan.changes.iter().any(|change| matches!(change.what, What::Link { .. }));
    let mut in_flight = 0;
    for (flow, index) in said.flows.iter().zip(0u32..) {
        let source = plan.sources.iter().find(|source| source.flows.contains(&FlowId(index))).unwrap();
        let accounted = flow.delivered_bytes + flow.lost_frames * source.frame.get();
        prop_assert!(accounted <= flow.sent_bytes, "flow {index}: {accounted} of {} sent", flow.sent_bytes);
        prop_assert!(flow.sent_bytes <= flow.offered_bytes, "flow {index} sent more than was offered");
        in_flight += flow.sent_bytes - accounted;
        if !fails {
            prop_assert_eq!(flow.reordered_frames, 0, "flow {}", index);
        }
        if let Some(message) = source.message {
            // The last frame may be padded.
            prop_assert!(flow.offered_bytes < message.get() + plan.scheme.shortest_frame().get());
        }
    }
    prop_assert!(in_flight <= held + on_wires(&plan), "{in_flight} octets in flight, {held} held");
    if idle {
        prop_assert_eq!(in_flight, 0, "the network is empty");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_sent_is_delivered_lost_or_in_flight_and_in_order(knobs in knobs()) {
        check(knobs)?;
    }
}

/// Guards the property above against testing nothing: the drawn networks do pause, notify, drop and drain.
#[test]
fn drawn_networks_do_all_there_is_to_do() {
    use quell_record::EventKind;
    let mut seen = std::collections::BTreeSet::new();
    for details in 0..60u64 {
        let mut draw = Draw(Dice::new(details, 1, 0));
        let knobs = Knobs {
            shape: draw.of(&[Shape::Star(4), Shape::Chain(3), Shape::Ring(4)]),
            memory: draw.of(&[Memory::Shared, Memory::Virtual, Memory::Staged]),
            control: draw.of(&[Control::Off, Control::Pause, Control::Pfc, Control::DynamicPause]),
            scheme: draw.of(&[None, Some((Placement::Both, Culprit::RandomOccupancy))]),
            queueing: draw.of(&[AdapterQueueing::PerDestination, AdapterQueueing::FifoWithSetAside]),
            sources: 6,
            failures: 2,
            details,
        };
        let plan = Plan { bursts: true, ..build(knobs) };
        let (_, said) = totals(&plan, 1).unwrap();
        seen.extend(said.events.iter().map(|event| event.kind));
    }
    // No drawn network isolates flows, runs a collective or means to deadlock; those have tests of their own.
    seen.extend([EventKind::Isolated, EventKind::Iteration, EventKind::Deadlock]);
    let missing: Vec<_> = EventKind::ALL.into_iter().filter(|kind| !seen.contains(kind)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
