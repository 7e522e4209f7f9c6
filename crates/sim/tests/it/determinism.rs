//! The same plan and seed give the same run, today and in another build; what does not matter changes nothing.

use crate::network::*;
use quell_proto::control::qcn::Culprit;
use quell_proto::units::{Bytes, Duration, Priority};
use quell_record::FlowTotals;
use quell_sim::scenario::plan::*;
use std::fmt::Write;

/// A crowded star with everything that draws: random sources, sampling, culprits, reactions.
fn restless(hosts: u32) -> Plan {
    let mut plan = star(hosts, TEN, US);
    plan.length = Duration::from_ms(2);
    plan.switches[0].buffering = Buffering::Voq { input_memory: Some(Bytes::new(60_000)), output: None };
    plan.switches[0].flow_control = pause(45_000, 40_000);
    let mut scheme = qcn();
    scheme.placement = Placement::Both;
    scheme.congestion.culprit = Culprit::RandomOccupancy;
    scheme.congestion.sample_base = Bytes::new(30_000);
    scheme.reaction.reload_jitter_percent = 15;
    scheme.reaction.time_reset = Duration::from_us(200);
    plan.scheme = Scheme::Qcn(scheme);
    let (on, off) = (Duration::from_us(60), Duration::from_us(40));
    add_flow(
        &mut plan,
        0,
        3,
        Pattern::Bernoulli { slot: Duration::from_ns(1200), load_ppm: 700_000 },
        at_us(0),
    );
    add_flow(&mut plan, 1, 3, Pattern::Poisson { mean: Duration::from_ns(2000) }, at_us(0));
    add_flow(&mut plan, 2, 3, Pattern::OnOff { on, off, interval: None }, at_us(0));
    add_flow(&mut plan, 0, 1, Pattern::OnOff { on, off, interval: Some(Duration::from_ns(1500)) }, at_us(0));
    plan
}

/// A star that nothing controls. Each host has one source for all others, with a queue for each, and now and then a frame of
/// another priority.
fn scattered(hosts: u32) -> Plan {
    let mut plan = star(hosts, TEN, US);
    plan.length = Duration::from_ms(1);
    plan.switches[0].flow_control = pause(14_000, 9_000);
    for from in 0..hosts {
        plan.hosts[from as usize].adapter.queueing = AdapterQueueing::PerFlow;
        let mean = Duration::from_ns(1400);
        let source = add_flow(&mut plan, from, (from + 1) % hosts, Pattern::Poisson { mean }, at_us(0));
        for to in 2..hosts {
            let mut other = plan.flows[plan.sources[source].flows[0].0 as usize].clone();
            (other.to, other.name) = (HostId((from + to) % hosts), format!("h{}+{to}", from + 1));
            plan.sources[source].flows.push(FlowId(u32::try_from(plan.flows.len()).unwrap()));
            plan.flows.push(other);
        }
        let mean = Duration::from_ns(7000);
        add_flow(&mut plan, from, (from + 2) % hosts, Pattern::Poisson { mean }, at_us(0));
        plan.flows.last_mut().unwrap().priority = Priority::new(3).unwrap();
    }
    plan
}

fn flows(plan: &Plan) -> Vec<FlowTotals> {
    run_of(plan).flows
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let plan = restless(4);
    assert_eq!(digest(&plan, 7), digest(&plan, 7));
    assert_ne!(digest(&plan, 7), digest(&plan, 8));
}

#[test]
fn looking_more_often_changes_nothing() {
    let mut plan = restless(4);
    let before = flows(&plan);
    assert!(before.iter().map(|flow| flow.cnms_received).sum::<u64>() > 10);
    for sample in [7, 333, 2000] {
        plan.sample = Duration::from_us(sample);
        plan.cuts = vec![at_us(123), at_us(1777)];
        assert_eq!(flows(&plan), before, "a sample every {sample} us");
    }
    let mut plan = scattered(5);
    let before = flows(&plan);
    for sample in [3, 37, 500] {
        plan.sample = Duration::from_us(sample);
        assert_eq!(flows(&plan), before, "one source for many queues, a sample every {sample} us");
    }
}

#[test]
fn a_host_that_does_nothing_shifts_nobodys_luck() {
    assert_eq!(flows(&restless(5)), flows(&restless(4)));
}

#[test]
fn a_source_more_elsewhere_shifts_nobodys_luck() {
    let mut plan = restless(6);
    let before = flows(&plan);
    // To a receiver of its own; the others meet it nowhere but inside the switch.
    add_flow(&mut plan, 4, 5, Pattern::Poisson { mean: Duration::from_ns(3000) }, at_us(0));
    assert_eq!(flows(&plan)[..4], before[..]);
}

#[test]
fn emitting_every_frame_as_octets_changes_nothing() {
    let mut plan = restless(4);
    let before = digest(&plan, 3);
    plan.wire_check = true;
    assert_eq!(digest(&plan, 3), before);
}

#[test]
fn two_priorities_under_pfc_survive_their_octets() {
    let mut plan = restless(4);
    plan.wire_check = true;
    plan.flows[1].priority = Priority::new(4).unwrap();
    plan.hosts[3].adapter.receive.pause = Some(pause_config(6_000, 3_000));
    plan.hosts[3].adapter.receive.service = Some(quell_proto::units::Rate::from_gbps(3));
    let stop = StopRule::Static(pause_config(45_000, 40_000));
    plan.switches[0].flow_control = FlowControl::Pfc { priorities: 1 << 0 | 1 << 4, stop };
    let said = run_of(&plan);
    assert!(!said.times(quell_record::EventKind::Stop).is_empty());
    assert_eq!(said.lost(), 0);
}

/// Digests of runs that use most of what there is. A change here means that every recorded experiment changes: it is
/// right only together with a change of the model, and belongs into the changelog.
#[test]
fn digests_stay_what_they_were() {
    let mut table = String::new();
    let mut line = |name: &str, plan: &Plan| writeln!(table, "{name:24} {}", digest(plan, 1)).unwrap();
    line("restless star", &restless(4));
    let mut staged = restless(4);
    let stage = OutputStage {
        buffer: Bytes::new(9000),
        latency: Duration::from_ns(700),
        speedup_percent: 150,
        acknowledge: None,
    };
    staged.switches[0].buffering =
        Buffering::Voq { input_memory: Some(Bytes::new(60_000)), output: Some(stage) };
    line("output buffers", &staged);
    let mut shared = restless(4);
    shared.switches[0].buffering = Buffering::OutputQueued {
        memory: Some(Bytes::new(80_000)),
        queue_limit: QueueLimit::Dynamic { alpha_num: 1, alpha_den: 2 },
    };
    shared.switches[0].flow_control = FlowControl::Off;
    line("shared memory", &shared);
    let mut fifo = restless(4);
    for host in &mut fifo.hosts {
        host.adapter.queueing = AdapterQueueing::FifoWithSetAside;
        host.adapter.limiter = LimiterScope::Flow;
    }
    line("common adapter queues", &fifo);
    let mut failing = restless(4);
    let change = |at, up| Change { at: at_us(at), what: What::Link { link: LinkId(2), up } };
    failing.changes = vec![change(500, false), change(900, true)];
    line("a failing link", &failing);
    line("one source, many queues", &scattered(5));
    let mut turns = scattered(5);
    for host in &mut turns.hosts {
        host.adapter.schedule = Schedule::WeightedRoundRobin([3, 1, 1, 2, 1, 1, 1, 1]);
    }
    line("adapters take turns", &turns);
    let sampled = scenario("bench/permutation-open-16", &[("run.sample", "10us")]);
    line("permutation-open-16", &sampled.configurations[0].plan);
    insta::assert_snapshot!(table);
}
