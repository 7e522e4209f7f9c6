//! PAUSE and PFC: nothing is lost where there is room for what is on its way, and it is said where there is not.

use crate::network::*;
use quell_proto::control::headroom;
use quell_proto::control::pause::PauseConfig;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Quanta, Rate};
use quell_record::{EventKind, Quantity};
use quell_sim::kernel::Broken;
use quell_sim::scenario::plan::*;

const STOP: u64 = 15_000;
/// Two of it, a frame and a pause frame are a little more than the time of three frames.
const DELAY: Duration = Duration::from_ps(1_199_000);

/// A greedy sender to h3, whose port stands all but still, and frames from h3 to h1 for the stop to wait behind, which
/// begin at `phase`.
fn adversarial(phase: Duration, memory: Option<u64>) -> Plan {
    let mut plan = star(3, TEN, DELAY);
    plan.length = Duration::from_us(150);
    plan.overhead = Bytes::new(20);
    plan.switches[0].buffering = Buffering::Voq { input_memory: memory.map(Bytes::new), output: None };
    plan.switches[0].flow_control = pause(STOP, STOP);
    greedy(&mut plan, 0, 2);
    add_flow(&mut plan, 2, 0, Pattern::Greedy, Instant::START + phase);
    let slow = What::PortService { link: LinkId(2), from: switch(0), rate: Some(Rate::from_mbps(1)) };
    plan.changes.push(Change { at: Instant::START, what: slow });
    plan
}

/// Phases of the reverse traffic, over the time of a frame.
fn phases() -> impl Iterator<Item = Duration> {
    (0..1216).step_by(19).map(Duration::from_ns)
}

/// The most an input ever holds, and the phase at which it does.
fn worst() -> (u64, Duration) {
    let held = |phase| {
        let plan = adversarial(phase, None);
        u64::try_from(run_of(&plan).peak(input(&plan, 0, 1))).unwrap()
    };
    phases().map(|phase| (held(phase), phase)).max().unwrap()
}

#[test]
fn the_headroom_of_the_calculator_is_enough_and_no_frame_more_than_that() {
    let link = headroom::Link {
        rate: TEN,
        cable_delay: DELAY,
        max_frame_local: Bytes::new(1500),
        max_frame_peer: Bytes::new(1500),
        response: Duration::ZERO,
    };
    // The frame that passed the threshold is there already when the stop is decided on.
    let room = STOP + 1500 + link.octets().get();
    let (most, _) = worst();
    assert!(most <= room && room - most < 300, "{most} held, {room} to be kept");
    for phase in phases() {
        let said = run_of(&adversarial(phase, Some(room)));
        assert_eq!(said.lost(), 0);
    }
}

#[test]
fn with_a_little_less_room_than_that_the_run_breaks_off_and_says_where() {
    let (most, phase) = worst();
    run_of(&adversarial(phase, Some(most)));
    let broken = totals(&adversarial(phase, Some(most - 300)), 1).unwrap_err();
    let Broken::NotLossless { port, priority, at, .. } = &broken else { panic!("{broken}") };
    assert_eq!(port, "s1->h1");
    assert_eq!(priority.get(), 0);
    assert!(*at > Instant::START && at.ps() < 150_000_000);
    assert!(broken.to_string().contains(port.as_str()), "{broken}");
}

#[test]
fn without_flow_control_the_same_room_is_simply_too_small() {
    let mut plan = adversarial(Duration::ZERO, Some(STOP));
    plan.switches[0].flow_control = FlowControl::Off;
    assert!(run_of(&plan).lost() > 0);
}

/// h1 sends priority 0 to the crowded h3 and 5 Gb/s of priority 3 to h4.
fn two_priorities(flow_control: FlowControl) -> Plan {
    let mut plan = star(4, TEN, US);
    plan.switches[0].flow_control = flow_control;
    greedy(&mut plan, 0, 2);
    greedy(&mut plan, 1, 2);
    let interval = Duration::from_ns(2400);
    let other = add_flow(&mut plan, 0, 3, Pattern::Constant { interval }, Instant::START);
    plan.flows[other].priority = Priority::new(3).unwrap();
    plan
}

#[test]
fn pfc_pauses_one_priority_and_not_another() {
    let stop = StopRule::Static(pause_config(15_000, 12_000));
    let said = run_of(&two_priorities(FlowControl::Pfc { priorities: 1, stop }));
    let paused: Vec<_> = said.events.iter().filter(|event| event.kind == EventKind::Paused).collect();
    assert!(paused.len() > 3);
    // Two data priorities: ports of priority 3 have odd numbers.
    assert!(paused.iter().all(|event| event.entity.0 % 2 == 0 && event.value == 0));
    // It waits for a frame of the other priority at most, at two ports.
    assert!(said.flows[2].latency_max_ps <= 2 * 2_200_000 + 2 * 1_200_000, "{:?}", said.flows[2]);
    assert_eq!(said.flows[2].offered_bytes - said.flows[2].sent_bytes, 0);
}

#[test]
fn pause_stops_every_priority() {
    let said = run_of(&two_priorities(pause(15_000, 12_000)));
    assert!(said.events.iter().any(|event| event.kind == EventKind::Paused && event.entity.0 % 2 == 1));
    assert!(said.flows[2].latency_max_ps > 2 * 2_200_000 + 2 * 1_200_000);
    assert_eq!(said.lost(), 0);
}

/// h1 sends to h2, which takes in a frame every 240 us and pauses the switch for `quanta` at a time.
fn slow_receiver(quanta: u16) -> Plan {
    let mut plan = star(2, TEN, US);
    greedy(&mut plan, 0, 1);
    let pause = PauseConfig { stop: Bytes::new(1500), go: Bytes::new(1500), quanta: Quanta(quanta) };
    plan.hosts[1].adapter.receive =
        Receive { service: Some(Rate::from_mbps(50)), buffer: None, pause: Some(pause) };
    plan
}

#[test]
fn a_pause_that_is_said_again_in_time_lasts() {
    // 100 quanta are 5.12 us.
    let said = run_of(&slow_receiver(100));
    let paused = said.series(port(1, 1), Quantity::PausedPs);
    assert!(paused[1..9].iter().all(|ps| *ps == 100_000_000), "{paused:?}");
    // It ends when four frames are taken in, 240 us each, and that is heard.
    let first = said.times(EventKind::Resumed)[0];
    assert!((960_000_000..970_000_000).contains(&first.ps()), "{first}");
}

#[test]
fn a_pause_that_is_said_again_too_late_runs_out() {
    // 10 quanta are 512 ns; said again after 256 ns, but behind a frame of 1.2 us.
    let mut plan = slow_receiver(10);
    greedy(&mut plan, 1, 0);
    let said = run_of(&plan);
    let (paused, resumed) = (said.times(EventKind::Paused), said.times(EventKind::Resumed));
    assert!(resumed.len() > 100);
    let spans: Vec<_> = paused.iter().zip(&resumed).map(|(from, to)| (*to - *from).ps()).collect();
    // What waited behind the frame comes at once, 51.2 ns apart; the last of it counts, for 512 ns.
    assert!(spans.iter().all(|ps| *ps >= 512_000 && (ps - 512_000) % 51_200 == 0 && *ps < 1_200_000));
    // All the while the receiver meant to stop its peer.
    assert_eq!(said.times(EventKind::Go).len(), 0);
}

/// How long after the first stop of h1 its port is paused, when the port that must say so is as it is here.
fn stop_takes(change: impl Fn(&mut Plan)) -> u64 {
    let mut plan = star(4, TEN, US);
    plan.switches[0].flow_control = pause(15_000, 12_000);
    greedy(&mut plan, 0, 2);
    greedy(&mut plan, 1, 2);
    change(&mut plan);
    let said = run_of(&plan);
    let first = |kind, entity| {
        let at = said.events.iter().find(|event| event.kind == kind && event.entity == entity);
        at.map(|event| event.at).expect("it happens")
    };
    (first(EventKind::Paused, port(0, 0)) - first(EventKind::Stop, input(&plan, 0, 1))).ps()
}

#[test]
fn a_stop_waits_for_the_frame_being_sent_and_for_nothing_else() {
    let alone = 64 * 800 + 1_000_000;
    assert_eq!(stop_takes(|_| {}), alone);
    let mut longest = 0;
    for phase in (0..1200).step_by(40) {
        let takes = stop_takes(|plan| {
            let start = Instant::START + Duration::from_ns(phase);
            add_flow(plan, 3, 0, Pattern::Greedy, start);
        });
        assert!((alone..=alone + 1_200_000).contains(&takes), "{takes}");
        longest = longest.max(takes);
    }
    assert!(longest > alone + 1_100_000, "{longest}");
}

#[test]
fn a_port_that_is_served_slowly_says_stop_as_fast_as_another() {
    let takes = stop_takes(|plan| {
        greedy(plan, 3, 0);
        let slow = What::PortService { link: LinkId(0), from: switch(0), rate: Some(Rate::from_mbps(100)) };
        plan.changes.push(Change { at: Instant::START, what: slow });
    });
    assert!(takes <= 64 * 800 + 1_000_000 + 1_200_000, "{takes}");
}

#[test]
fn pauses_spread_from_switch_to_switch_and_nothing_is_lost() {
    let mut plan = chain(&[2, 0, 2], TEN, US);
    for switch in &mut plan.switches {
        switch.flow_control = pause(15_000, 12_000);
        switch.buffering = Buffering::Voq { input_memory: Some(Bytes::new(24_000)), output: None };
    }
    for sender in [0, 1, 2] {
        greedy(&mut plan, sender, 3);
    }
    let said = run_of(&plan);
    assert_eq!(said.lost(), 0);
    // The port of the last switch to h4 is always busy; the two far senders share one input of it.
    assert!((829..=833).contains(&said.delivered()), "{}", said.delivered());
    let [a, b, c] = said.frames()[..] else { panic!("three flows") };
    assert!(a.abs_diff(b) <= 8 && c.abs_diff(a + b) <= 16, "{a} {b} {c}");
}
