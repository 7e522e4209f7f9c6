//! Who goes next: schedulers, virtual output queues, and the arbiters of output buffers.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Priority};
use quell_record::Quantity;
use quell_sim::scenario::plan::*;

/// Two greedy senders of different priority meet at one port; frames delivered of each, and their lengths.
fn shares(schedule: Schedule, lengths: [u64; 2]) -> [u64; 2] {
    let mut plan = star(3, TEN, US);
    plan.switches[0].schedule = schedule;
    for (sender, priority) in [(0, 0), (1, 5)] {
        let source = greedy(&mut plan, sender, 2);
        plan.flows[source].priority = Priority::new(priority).unwrap();
        plan.sources[source].frame = Bytes::new(lengths[source]);
    }
    let frames = run_of(&plan).frames();
    [frames[0], frames[1]]
}

#[test]
fn strict_priority_starves_the_lower_class() {
    let [low, high] = shares(Schedule::Strict, [1500, 1500]);
    // Both are there at once at first, and the lower is never served again but when nothing else waits.
    assert!(low <= 1 && high >= 827, "{low} {high}");
}

#[test]
fn weighted_round_robin_shares_frames_by_weight() {
    let mut weights = [1; 8];
    weights[5] = 3;
    let [low, high] = shares(Schedule::WeightedRoundRobin(weights), [1500, 300]);
    assert!(high.abs_diff(3 * low) <= 4, "{low} {high}");
}

#[test]
fn deficit_round_robin_shares_octets_whatever_the_frames() {
    let mut quanta = [1500; 8];
    quanta[5] = 3000;
    let [low, high] = shares(Schedule::DeficitRoundRobin(quanta), [1500, 300]);
    // The sender of short frames offers 10 Gb/s too; two thirds of the octets are its.
    assert!((300 * high).abs_diff(2 * 1500 * low) <= 6000, "{low} {high}");
}

fn voq(plan: &mut Plan, output: Option<OutputStage>) {
    plan.switches[0].buffering = Buffering::Voq { input_memory: None, output };
}

#[test]
fn an_output_serves_its_inputs_in_turn_however_much_they_bring() {
    let mut plan = star(5, TEN, US);
    voq(&mut plan, None);
    // h1 brings four flows, h2 and h3 one.
    for _ in 0..4 {
        greedy(&mut plan, 0, 4);
    }
    greedy(&mut plan, 1, 4);
    greedy(&mut plan, 2, 4);
    let frames = run_of(&plan).frames();
    let first: u64 = frames[..4].iter().sum();
    assert!(first.abs_diff(frames[4]) <= 1 && frames[4].abs_diff(frames[5]) <= 1, "{frames:?}");
}

#[test]
fn a_first_in_first_out_output_serves_frames_as_they_come() {
    let mut plan = star(4, TEN, US);
    add_flow(&mut plan, 0, 3, Pattern::Constant { interval: Duration::from_ns(1200) }, at_us(0));
    add_flow(&mut plan, 1, 3, Pattern::Constant { interval: Duration::from_ns(3600) }, at_us(0));
    let frames = run_of(&plan).frames();
    assert!(frames[0].abs_diff(3 * frames[1]) <= 4, "{frames:?}");
}

fn stage(buffer: u64, latency_ns: u64, speedup_percent: u32) -> Option<OutputStage> {
    Some(OutputStage {
        buffer: Bytes::new(buffer),
        latency: Duration::from_ns(latency_ns),
        speedup_percent,
        acknowledge: None,
    })
}

#[test]
fn a_frame_crosses_a_switch_in_its_latency_and_its_time_on_the_inner_path() {
    let mut plan = star(2, TEN, US);
    voq(&mut plan, stage(6000, 500, 200));
    burst(&mut plan, 0, 1, 1);
    let said = run_of(&plan);
    assert_eq!(said.flows[0].latency_max_ps, 2 * 2_200_000 + 500_000 + 600_000);
}

#[test]
fn an_output_buffer_is_never_overfilled_and_the_port_never_starves() {
    for (buffer, latency) in [(3000, 0), (4500, 500), (9000, 3000)] {
        let mut plan = star(4, TEN, US);
        voq(&mut plan, stage(buffer, latency, 150));
        for sender in 0..3 {
            greedy(&mut plan, sender, 3);
        }
        let said = run_of(&plan);
        assert!(said.peak(port(3, 1)) <= i64::try_from(buffer).unwrap(), "{}", said.peak(port(3, 1)));
        // 1 ms less two hops and the crossing, a frame every 1.2 us.
        let whole = (1_000_000 - 4_400 - latency - 800) / 1200;
        assert!(said.delivered() >= whole, "{} of {whole} with {buffer}", said.delivered());
        let frames = said.frames();
        assert!(frames.iter().max().unwrap() - frames.iter().min().unwrap() <= 1, "{frames:?}");
    }
}

#[test]
fn an_output_buffer_too_small_for_its_latency_starves_the_port() {
    let mut plan = star(2, TEN, US);
    voq(&mut plan, stage(1500, 2000, 200));
    greedy(&mut plan, 0, 1);
    // The next frame is granted when the last one begins to leave, and is there 2.6 us later: at 3.9 us the first
    // reaches the switch, at 2.2 us the port begins it, every 2.6 us another follows and takes 2.2 us.
    let first_delivered = 2_200 + 2_600 + 2_200;
    assert_eq!(run_of(&plan).delivered(), 1 + (1_000_000 - 1 - first_delivered) / 2_600);
}

#[test]
fn an_input_keeps_its_copy_until_the_frame_is_on_the_wire_and_acknowledged() {
    let held = |acknowledge: Option<u64>| {
        let mut plan = star(2, TEN, US);
        let mut stage = stage(6000, 500, 200);
        stage.as_mut().unwrap().acknowledge = acknowledge.map(Duration::from_ns);
        voq(&mut plan, stage);
        burst(&mut plan, 0, 1, 1);
        let said = run_of(&plan);
        assert_eq!(said.delivered(), 1);
        // The mean over 1 ms of 1500 octets, in nanoseconds that they were held.
        let means = said.series(input(&plan, 0, 1), Quantity::QueueMeanBytes);
        means.iter().sum::<i64>() * i64::try_from(plan.sample.ps() / 1000).unwrap() / 1500
    };
    assert_eq!(held(None), 0, "granted at once, it leaves at once");
    // Latency, inner path, wire, and the way back of the acknowledgement.
    let expected = 500 + 600 + 1200 + 30_000;
    assert!((held(Some(30_000)) - expected).abs() < 700, "{} is not {expected}", held(Some(30_000)));
}

#[test]
fn copies_of_frames_that_wait_at_an_output_stop_the_peer_of_their_input() {
    let stops = |acknowledge: Option<Duration>| {
        let mut plan = star(2, TEN, US);
        plan.switches[0].flow_control = pause(30_000, 20_000);
        let mut stage = stage(60_000, 500, 200);
        stage.as_mut().unwrap().acknowledge = acknowledge;
        voq(&mut plan, stage);
        greedy(&mut plan, 0, 1);
        // Ten times too slow: the output buffer takes 60 kB, and the input alone would not hold 30 kB for 200 us.
        let slow = Some(quell_proto::units::Rate::from_gbps(1));
        let what = What::PortService { link: LinkId(1), from: NodeId::Switch(SwitchId(0)), rate: slow };
        plan.changes.push(Change { at: at_us(0), what });
        plan.length = Duration::from_us(50);
        plan.sample = Duration::from_us(10);
        run_of(&plan).times(quell_record::EventKind::Stop).len()
    };
    assert_eq!(stops(None), 0);
    assert_eq!(stops(Some(US)), 1);
}
