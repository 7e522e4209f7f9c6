//! What sources offer, as it arrives at the other end.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Instant};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

/// Octets offered in 100 ms over an idle network, all of which arrive but for what is on the way.
fn offered(pattern: Pattern) -> u64 {
    let mut plan = star(2, TEN, US);
    plan.length = Duration::from_ms(100);
    add_flow(&mut plan, 0, 1, pattern, Instant::START);
    let flow = run_of(&plan).flows[0];
    assert!(flow.offered_bytes - flow.delivered_bytes <= 60_000, "{flow:?}");
    flow.offered_bytes
}

/// Within so many percent of a rate, over 100 ms.
fn is_near(octets: u64, mbps: u64, percent: u64) -> bool {
    let expected = mbps * 100_000 / 8;
    octets.abs_diff(expected) * 100 <= expected * percent
}

#[test]
fn every_pattern_offers_its_load() {
    let ns = Duration::from_ns;
    assert_eq!(offered(Pattern::Constant { interval: ns(4800) }), 1500 * 100_000_000u64.div_ceil(4800));
    assert!(is_near(offered(Pattern::Greedy), 10_000, 1));
    assert!(is_near(offered(Pattern::Bernoulli { slot: ns(1200), load_ppm: 600_000 }), 6_000, 2));
    assert!(is_near(offered(Pattern::Poisson { mean: ns(6000) }), 2_000, 4));
    let (on, off) = (Duration::from_us(20), Duration::from_us(60));
    assert!(is_near(offered(Pattern::OnOff { on, off, interval: None }), 2_500, 12));
    assert!(is_near(offered(Pattern::OnOff { on, off, interval: Some(ns(2400)) }), 1_250, 15));
}

#[test]
fn a_source_lives_from_its_start_to_its_stop() {
    let mut plan = star(2, TEN, US);
    let source = add_flow(&mut plan, 0, 1, Pattern::Constant { interval: Duration::from_us(10) }, at_us(100));
    plan.sources[source].stop = at_us(300);
    let said = run_of(&plan);
    assert_eq!(said.delivered(), 20);
    let offered = said.series(flow(&plan, 0), Quantity::OfferedBytes);
    assert_eq!(offered, [0, 15_000, 15_000, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_source_of_several_flows_spreads_its_frames_evenly() {
    let mut plan = star(5, TEN, US);
    plan.length = Duration::from_ms(5);
    let source = greedy(&mut plan, 0, 1);
    for to in 2..5 {
        let mut flow = plan.flows[0].clone();
        flow.to = HostId(to);
        plan.sources[source].flows.push(FlowId(u32::try_from(plan.flows.len()).unwrap()));
        plan.flows.push(flow);
    }
    let frames = run_of(&plan).frames();
    assert!((4160..=4166).contains(&frames.iter().sum::<u64>()), "{frames:?}");
    assert!(frames.iter().all(|frames| frames.abs_diff(1041) < 120), "{frames:?}");
}

#[test]
fn a_message_ends_once_with_its_last_octet() {
    let mut plan = star(2, TEN, US);
    let source = greedy(&mut plan, 0, 1);
    plan.sources[source].message = Some(Bytes::new(10 * 1500 + 700));
    let said = run_of(&plan);
    assert_eq!(said.flows[0].delivered_bytes, 15_700);
    assert_eq!(said.flows[0].delivered_frames, 11);
    let done: Vec<_> = said.events.iter().filter(|event| event.kind == EventKind::MessageDone).collect();
    // The long frames leave the switch by 1.2 us + 1 us + 12 us, when the short one has been there a while.
    let [done] = done[..] else { panic!("{done:?}") };
    assert_eq!(done.value, 1_200_000 + 1_000_000 + 10 * 1_200_000 + 700 * 800 + 1_000_000);
}

#[test]
fn a_short_message_still_makes_a_frame() {
    let mut plan = star(2, TEN, US);
    let source = greedy(&mut plan, 0, 1);
    plan.sources[source].message = Some(Bytes::new(1500 + 20));
    let flow = run_of(&plan).flows[0];
    // No frame is shorter than 64 octets.
    assert_eq!((flow.delivered_frames, flow.delivered_bytes), (2, 1564));
}

#[test]
fn a_greedy_source_that_turns_off_takes_back_what_waits() {
    let mut plan = star(2, TEN, US);
    plan.length = Duration::from_ms(10);
    let period = Duration::from_us(50);
    add_flow(&mut plan, 0, 1, Pattern::OnOff { on: period, off: period, interval: None }, Instant::START);
    let said = run_of(&plan);
    let offs = said.times(EventKind::SourceOff);
    let ons = [vec![Instant::START], said.times(EventKind::SourceOn)].concat();
    assert!(offs.len() > 50);
    // In an on period of length t go t / 1.2 us frames, rounded up, less what the frame before still takes.
    let most: u64 = ons.iter().zip(&offs).map(|(on, off)| (*off - *on).ps().div_ceil(1_200_000)).sum();
    let last = if ons.len() > offs.len() {
        (at_us(10_000) - *ons.last().unwrap()).ps().div_ceil(1_200_000)
    } else {
        0
    };
    let sent = said.flows[0].sent_bytes / 1500;
    assert!(sent <= most + last && sent + 2 * ons.len() as u64 >= most + last, "{sent} of {most} and {last}");
    assert!(said.flows[0].offered_bytes - said.flows[0].sent_bytes <= 1500);
}

#[test]
fn a_message_of_a_source_that_turns_off_and_on_is_sent_whole() {
    for queueing in [AdapterQueueing::PerDestination, AdapterQueueing::FifoWithSetAside] {
        let mut plan = star(2, TEN, US);
        plan.length = Duration::from_ms(10);
        plan.hosts[0].adapter.queueing = queueing;
        let period = Duration::from_us(5);
        let pattern = Pattern::OnOff { on: period, off: period, interval: None };
        let source = add_flow(&mut plan, 0, 1, pattern, Instant::START);
        plan.sources[source].message = Some(Bytes::new(1_000_000));
        let said = run_of(&plan);
        assert_eq!(said.flows[0].delivered_bytes, 1_000_000);
        assert_eq!(said.times(EventKind::MessageDone).len(), 1);
    }
}
