//! One machine, two drivers: what the simulator's switch and adapter do, frame by frame, the live ones do too.
//!
//! A run of the simulator is the transcript. The frames that came in at its switch are given to the live switch at the
//! same instants, in virtual time, and what leaves must be the same octets at the same instants; likewise the
//! notifications that came in at its adapter, and when its data left.

use quell_live::load::{Maker, Shape};
use quell_live::nic::{self, HOST, Nic, WIRE};
use quell_live::node::{Node, Outputs};
use quell_live::switch::{self, FlowControl, PortConfig, Switch};
use quell_proto::units::{Bytes, Duration, Instant, PrioritySet, Rate};
use quell_proto::wire::{AnyFrame, MacAddr, parse};
use quell_record::{Memory, Tap};
use quell_sim::kernel::{Control, run_tapped};
use quell_sim::scenario::plan::{self, Change, Scheme, StopRule, What};
use quell_sim::scenario::{Plan, Request, read};

/// Nothing random: cycles and intervals have the lengths their parameters state. PAUSE as well, so that it is compared.
const SCENARIO: &str = r#"
title = "A transcript"
run = { length = "300ms", sample = "10ms", overhead = "20B" }
topology = { kind = "star", hosts = ["nic", "sink"], link = { rate = "1Gb/s", delay = "50us" } }
switch = { kind = "output-queued", memory = "2MB", pause = { mode = "pause", stop = "60kB", go = "30kB", quanta = 1000 } }
adapter = { queueing = "fifo", limiter = "flow" }

[scheme]
kind = "qcn"
preset = "netfpga-1G"
profile = "pseudo-code"
sample_jitter = "0%"
reload_jitter = "0%"

[[traffic]]
from = "nic"
to = "sink"

[[at]]
time = "0s"
port = "s1->sink"
service = "950Mb/s"

[[at]]
time = "80ms"
port = "s1->sink"
service = "200Mb/s"

[[at]]
time = "180ms"
port = "s1->sink"
service = "950Mb/s"
"#;

const DELAY: Duration = Duration::from_us(50);
const LINE: Rate = Rate::from_gbps(1);
const OVERHEAD: Bytes = Bytes::new(20);

/// The ports of the transcript, in the order they are asked for.
const NIC_TO_SWITCH: usize = 0;
const SWITCH_TO_NIC: usize = 1;
const SWITCH_TO_SINK: usize = 2;

/// A frame, when it left, and by which port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    at: Instant,
    port: usize,
    octets: Vec<u8>,
}

impl Sent {
    /// When it is whole at the other end.
    fn arrives(&self) -> Instant {
        let length = Bytes::new(self.octets.len() as u64 + 4) + OVERHEAD;
        self.at + LINE.time_for(length) + DELAY
    }
}

#[derive(Default)]
struct Transcript(Vec<Sent>);

impl Tap for Transcript {
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], length: usize) {
        let mut octets = octets.to_vec();
        octets.resize(length, 0);
        self.0.push(Sent { at, port, octets });
    }
}

impl Outputs for Transcript {
    fn send(&mut self, at: Instant, port: usize, octets: &[u8]) -> bool {
        self.0.push(Sent { at, port, octets: octets.to_vec() });
        true
    }
}

fn plan() -> Plan {
    planned(SCENARIO)
}

/// The same with PFC, and a second flow at another priority that goes first. Rates are prime, so that no frame arrives at the very
/// instant at which the port is free: which of the two comes first then is nobody's promise.
fn plan_with_pfc() -> Plan {
    let by_priority = "mode = \"pfc\", priorities = [3, 5]";
    let flows = "[[traffic]]\nfrom = \"nic\"\nto = \"sink\"\npriority = 3\n\n\
                 [[traffic]]\nname = \"first\"\nfrom = \"nic\"\nto = \"sink\"\npriority = 5\npattern = \"constant\"\noffer = \"150Mb/s\"\n";
    let text = SCENARIO.replace("mode = \"pause\"", by_priority);
    let text = text.replace("950Mb/s", "947Mb/s").replace("200Mb/s", "199Mb/s");
    planned(&text.replace("[[traffic]]\nfrom = \"nic\"\nto = \"sink\"\n", flows))
}

fn planned(text: &str) -> Plan {
    let request = Request::plain("transcript.toml", text);
    let scenario = read(request).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.configurations[0].plan.clone()
}

/// What the simulator does.
fn simulated(plan: &Plan) -> Vec<Sent> {
    let names: Vec<String> = plan.ports().entities.iter().map(|it| it.name.clone()).collect();
    let place = |name: &str| names.iter().position(|it| it == name).expect("the port is there") as u32;
    let ports = ["nic->s1", "s1->nic", "s1->sink"].map(place);
    let mut transcript = Transcript::default();
    let mut memory = Memory::new(plan.catalog());
    run_tapped(plan, 1, &mut memory, &Control::default(), &ports, &mut transcript).expect("nothing breaks");
    transcript.0
}

/// Lets a node do what is due before an instant, exactly when it is due, as a driver that is never late would.
fn advance(node: &mut impl Node, until: Instant, out: &mut Transcript) {
    while node.next_due() < until {
        let due = node.next_due();
        node.advance(due, out);
    }
}

/// When the port to the receiver is served at another rate.
fn service_of(change: &Change) -> Option<(Instant, Rate)> {
    match change.what {
        What::PortService { rate: Some(rate), .. } => Some((change.at, rate)),
        _ => None,
    }
}

fn of(transcript: &[Sent], port: usize) -> Vec<&Sent> {
    transcript.iter().filter(|sent| sent.port == port).collect()
}

#[test]
fn the_live_switch_answers_the_simulators_transcript_octet_by_octet() {
    let back = the_live_switch_answers(&plan());
    assert!(count(&back, |frame| matches!(frame, AnyFrame::Cnm(_))) > 20);
    assert!(count(&back, |frame| matches!(frame, AnyFrame::Pause(_))) >= 2);
}

#[test]
fn the_live_switch_stops_priorities_and_blames_flows_as_the_simulator_does() {
    let back = the_live_switch_answers(&plan_with_pfc());
    let stops = |priority: usize| {
        count(&back, |frame| matches!(frame, AnyFrame::Pfc(it) if it.pfc.times[priority].is_some()))
    };
    // The priority that goes first does not fill up.
    assert!(stops(3) >= 2 && stops(5) == 0, "{} and {}", stops(3), stops(5));
    assert!(count(&back, |frame| matches!(frame, AnyFrame::Cnm(_))) > 20);
}

fn count(frames: &[Sent], wanted: impl Fn(&AnyFrame<'_>) -> bool) -> usize {
    frames.iter().filter(|sent| parse(&sent.octets).is_ok_and(|frame| wanted(&frame))).count()
}

/// Compares the live switch with the simulator's, and gives what it sent back to the adapter.
fn the_live_switch_answers(plan: &Plan) -> Vec<Sent> {
    let transcript = simulated(plan);
    let Scheme::Qcn(qcn) = plan.scheme else { panic!("the scheme is QCN") };
    let pause = match plan.switches[0].flow_control {
        plan::FlowControl::Pause(StopRule::Static(pause)) => FlowControl::Pause(pause),
        plan::FlowControl::Pfc { priorities, stop: StopRule::Static(pause) } => {
            FlowControl::Pfc(pause, PrioritySet(priorities))
        }
        _ => panic!("the switch pauses at fixed levels"),
    };
    // Nodes are numbered: the two hosts, then the switch.
    let port = || PortConfig { address: MacAddr::numbered(2), rate: LINE, service: None, is_edge: false };
    let mut switch = Switch::new(switch::Config {
        ports: vec![port(), port()],
        memory: Bytes::from_kb(2000),
        longest: 1514,
        overhead: OVERHEAD,
        congestion: Some(qcn.congestion),
        cnm_priority: qcn.cnm_priority,
        excerpt: 0,
        pause,
        seed: 1,
    });
    switch.teach(MacAddr::numbered(0), 0);
    switch.teach(MacAddr::numbered(1), 1);
    let mut services = plan.changes.iter().filter_map(service_of).peekable();
    let mut out = Transcript::default();
    let end = Instant::START + Duration::from_ms(290);
    for frame in of(&transcript, NIC_TO_SWITCH) {
        while let Some((at, rate)) = services.next_if(|(at, _)| *at <= frame.arrives()) {
            advance(&mut switch, at, &mut out);
            switch.set_service(at, 1, Some(rate), &mut out);
        }
        advance(&mut switch, frame.arrives(), &mut out);
        switch.on_frame(frame.arrives(), 0, &frame.octets, &mut out);
    }
    let until = |sent: &&Sent| sent.at < end;
    for (port, of_simulator, of_live) in [("sink", SWITCH_TO_SINK, 1), ("nic", SWITCH_TO_NIC, 0)] {
        let expected: Vec<&Sent> = of(&transcript, of_simulator).into_iter().filter(until).collect();
        let got: Vec<&Sent> = of(&out.0, of_live).into_iter().filter(until).collect();
        for (number, (expected, got)) in expected.iter().zip(&got).enumerate() {
            assert_eq!(
                (expected.at, &expected.octets),
                (got.at, &got.octets),
                "frame {number} towards {port}"
            );
        }
        assert_eq!(expected.len(), got.len(), "frames towards {port}");
    }
    // It compared something: data at both rates, and what it said of it.
    assert!(of(&out.0, 1).len() > 8_000);
    of(&out.0, 0).into_iter().cloned().collect()
}

#[test]
fn the_live_adapter_sends_when_the_simulators_does() {
    let plan = plan();
    let transcript = simulated(&plan);
    let Scheme::Qcn(qcn) = plan.scheme else { panic!("the scheme is QCN") };
    let adapter = &plan.hosts[0].adapter;
    let mut nic = Nic::new(nic::Config {
        rate: LINE,
        overhead: OVERHEAD,
        reaction: qcn.reaction,
        rule: adapter.pacer,
        depth: adapter.pacer_depth,
        reaction_delay: adapter.reaction_delay,
        queue: 2,
        longest: 1496,
        tags: true,
        seed: 1,
    });
    let shape =
        Shape { source: MacAddr::numbered(0), destination: MacAddr::numbered(1), tag: None, frame: 1496 };
    let mut maker = Maker::new(&shape, 0, true);
    let mut out = Transcript::default();
    let end = Instant::START + Duration::from_ms(290);
    let mut inputs = of(&transcript, SWITCH_TO_NIC).into_iter().peekable();
    let mut now = Instant::START;
    while now < end {
        // A greedy host: there is always a frame behind the one that leaves.
        while nic.has_room(0) {
            nic.on_frame(now, HOST, maker.next(now), &mut out);
        }
        let due = nic.next_due();
        match inputs.peek().map(|frame| frame.arrives()) {
            Some(arrives) if arrives < due => {
                let frame = inputs.next().expect("it was there");
                now = arrives;
                nic.on_frame(now, WIRE, &frame.octets, &mut out);
            }
            _ => {
                now = due;
                nic.advance(now, &mut out);
            }
        }
    }
    let until = |at: &Instant| *at < end;
    let expected: Vec<Instant> =
        of(&transcript, NIC_TO_SWITCH).iter().map(|sent| sent.at).filter(until).collect();
    let got: Vec<Instant> = of(&out.0, WIRE).iter().map(|sent| sent.at).filter(until).collect();
    let parted = expected.iter().zip(&got).position(|(expected, got)| expected != got);
    if let Some(number) = parted {
        let around = |list: &[Instant]| list[number.saturating_sub(2)..(number + 3).min(list.len())].to_vec();
        panic!("frame {number}: simulated {:?}, live {:?}", around(&expected), around(&got));
    }
    assert_eq!(expected.len(), got.len());
    assert!(got.len() > 8_000);
}
