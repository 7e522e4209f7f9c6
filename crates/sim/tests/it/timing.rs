//! How long a frame takes, to the picosecond, and what a slower service makes of it.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Rate};
use quell_record::Quantity;
use quell_sim::scenario::plan::*;

/// The time one frame takes from adapter to receiver over a row of switches.
fn latency(switches: usize, rate: Rate, delay: Duration, overhead: u64) -> u64 {
    let mut hosts = vec![0; switches];
    hosts[0] += 1;
    hosts[switches - 1] += 1;
    let mut plan = chain(&hosts, rate, delay);
    plan.overhead = Bytes::new(overhead);
    burst(&mut plan, 0, 1, 1);
    let said = run_of(&plan);
    assert_eq!(said.delivered(), 1);
    said.flows[0].latency_max_ps
}

#[test]
fn every_hop_stores_a_frame_whole_and_forwards_it() {
    for switches in 1..=5 {
        let hops = switches as u64 + 1;
        assert_eq!(latency(switches, TEN, US, 0), hops * (1500 * 800 + 1_000_000), "{switches} switches");
    }
}

#[test]
fn overhead_costs_time_on_every_wire() {
    assert_eq!(latency(2, TEN, US, 20), 3 * (1520 * 800 + 1_000_000));
}

#[test]
fn a_frame_time_that_is_no_whole_number_is_rounded_up() {
    // 12000 bits at 7 Gb/s are 1714285.7 ps.
    assert_eq!(latency(1, Rate::from_gbps(7), Duration::from_ps(3), 0), 2 * (1_714_286 + 3));
}

#[test]
fn the_next_frame_of_a_greedy_source_waits_while_one_is_sent() {
    let mut plan = star(2, TEN, US);
    burst(&mut plan, 0, 1, 2);
    let said = run_of(&plan);
    assert_eq!(said.flows[0].latency_max_ps, 1_200_000 + 2 * 2_200_000);
    assert_eq!(said.flows[0].latency_sum_ps, 1_200_000 + 4 * 2_200_000);
}

#[test]
fn a_port_served_at_another_rate_carries_that_rate() {
    let mut plan = star(2, TEN, US);
    greedy(&mut plan, 0, 1);
    let slow = |rate| What::PortService { link: LinkId(1), from: switch(0), rate };
    plan.changes = vec![
        Change { at: at_us(300), what: slow(Some(Rate::from_gbps(2))) },
        Change { at: at_us(600), what: slow(None) },
    ];
    let said = run_of(&plan);
    let service = said.series(port(1, 1), Quantity::ServiceBytes);
    assert_eq!(service, [[125_000; 3].as_slice(), &[25_000; 3], &[125_000; 4]].concat());
    let sent = said.series(port(1, 1), Quantity::TxFrames);
    // 100 us are 83 frames and a third at 10 Gb/s, 16 and two thirds at 2 Gb/s.
    for (frames, bytes) in sent.iter().zip(&service).skip(1) {
        assert!((frames - bytes / 1500).abs() <= 1, "{sent:?}");
    }
    assert_eq!(said.lost(), 0);
}

#[test]
fn a_receiver_takes_frames_in_at_its_own_rate_and_pauses_the_switch_in_time() {
    let mut plan = star(2, TEN, US);
    greedy(&mut plan, 0, 1);
    plan.hosts[1].adapter.receive = Receive {
        service: Some(Rate::from_gbps(4)),
        buffer: Some(Bytes::new(30_000)),
        pause: Some(pause_config(20_000, 15_000)),
    };
    let said = run_of(&plan);
    // The first frame is there after two hops of 2.2 us; one is taken in every 3 us from then on.
    assert_eq!(said.delivered(), (1_000_000 - 4_400) / 3_000);
    assert_eq!(said.lost(), 0);
    let stopped: i64 = said.series(input(&plan, 1, 0), Quantity::StoppedPs).iter().sum();
    let paused: i64 = said.series(port(1, 1), Quantity::PausedPs).iter().sum();
    assert!(stopped > 0 && (stopped - paused).abs() < 5_000_000, "{stopped} {paused}");
}

#[test]
fn a_receiver_that_is_slower_from_some_time_on_delivers_less_from_then_on() {
    let mut plan = star(2, TEN, US);
    greedy(&mut plan, 0, 1);
    let rate = Some(Rate::from_gbps(1));
    plan.changes = vec![Change { at: at_us(500), what: What::ReceiveService { host: HostId(1), rate } }];
    let frames = run_of(&plan).series(flow(&plan, 0), Quantity::DeliveredFrames);
    assert!(frames[2..5].iter().all(|frames| (83..=84).contains(frames)), "{frames:?}");
    assert!(frames[6..].iter().all(|frames| (8..=9).contains(frames)), "{frames:?}");
}
