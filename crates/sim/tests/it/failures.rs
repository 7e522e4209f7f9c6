//! Links that fail and come back, and the ways round them.

use crate::network::*;
use quell_proto::units::{Bytes, Duration};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

/// Four switches in a ring with a host each; links 4 to 7 join the switches.
fn ring() -> Plan {
    let mut ends: Vec<_> = (0..4).map(|index| [host(index), switch(index)]).collect();
    ends.extend((0..4).map(|index| [switch(index), switch((index + 1) % 4)]));
    graph(4, 4, &ends, TEN, US)
}

fn fail(plan: &mut Plan, link: u32, from_us: u64, to_us: u64) {
    let change = |at, up| Change { at: at_us(at), what: What::Link { link: LinkId(link), up } };
    plan.changes.extend([change(from_us, false), change(to_us, true)]);
    plan.changes.sort_by_key(|change| change.at);
}

#[test]
fn frames_go_the_other_way_round_while_a_link_is_down() {
    let mut plan = ring();
    let source = greedy(&mut plan, 0, 1);
    plan.sources[source].stop = at_us(900);
    fail(&mut plan, 4, 300, 600);
    let said = run_of(&plan);
    let busy = |link, end| -> Vec<bool> {
        said.series(port(link, end), Quantity::TxFrames).iter().map(|frames| *frames > 2).collect()
    };
    let (t, f) = (true, false);
    assert_eq!(busy(4, 0), [t, t, t, f, f, f, t, t, t, f], "the short way");
    assert_eq!(busy(7, 1), [f, f, f, t, t, t, f, f, f, f], "the long way");
    let flow = said.flows[0];
    // Lost: what was on the wire (1 us and the frame being sent), not more.
    assert!((1..=3).contains(&flow.lost_frames), "{flow:?}");
    assert_eq!(flow.sent_bytes, flow.delivered_bytes + 1500 * flow.lost_frames);
    assert_eq!(said.times(EventKind::LinkDown).len(), 2);
    assert_eq!(said.times(EventKind::LinkUp).len(), 2);
}

#[test]
fn a_failure_loses_frames_of_a_lossless_class_without_breaking_off() {
    let staged = OutputStage {
        buffer: Bytes::new(6000),
        latency: Duration::from_ns(500),
        speedup_percent: 150,
        acknowledge: None,
    };
    for output in [None, Some(staged)] {
        let mut plan = ring();
        for switch in &mut plan.switches {
            switch.flow_control = pause(15_000, 12_000);
            switch.buffering = Buffering::Voq { input_memory: Some(Bytes::new(24_000)), output };
        }
        for (from, to) in [(0, 1), (3, 1), (2, 1), (1, 3)] {
            let source = greedy(&mut plan, from, to);
            plan.sources[source].stop = at_us(700);
        }
        // Among them the link of the receiver itself, while everybody is paused because of it.
        fail(&mut plan, 4, 200, 400);
        fail(&mut plan, 1, 300, 500);
        let said = run_of(&plan);
        assert!(said.lost() > 0);
        for flow in &said.flows {
            assert_eq!(flow.sent_bytes, flow.delivered_bytes + 1500 * flow.lost_frames, "{output:?}");
        }
    }
}

#[test]
fn what_a_host_offers_while_its_link_is_down_waits() {
    let mut plan = star(2, TEN, US);
    let interval = Duration::from_us(5);
    let source = add_flow(&mut plan, 0, 1, Pattern::Constant { interval }, at_us(0));
    plan.sources[source].stop = at_us(900);
    fail(&mut plan, 0, 200, 600);
    let said = run_of(&plan);
    assert_eq!(said.delivered() + said.lost(), 180);
    assert!(said.lost() <= 1, "{}", said.lost());
    assert!(said.flows[0].latency_max_ps >= 395_000_000);
}

#[test]
fn a_peer_that_was_stopped_before_a_failure_is_stopped_after_it() {
    let mut plan = star(3, TEN, US);
    plan.switches[0].flow_control = pause(15_000, 12_000);
    greedy(&mut plan, 0, 2);
    greedy(&mut plan, 1, 2);
    // h3 takes nothing while the link of h1 fails and comes back.
    let slow = What::PortService {
        link: LinkId(2),
        from: switch(0),
        rate: Some(quell_proto::units::Rate::from_mbps(1)),
    };
    plan.changes.push(Change { at: at_us(100), what: slow });
    fail(&mut plan, 0, 300, 400);
    let said = run_of(&plan);
    let paused = said.series(port(0, 0), Quantity::PausedPs);
    // Stopped all through the second interval, forgotten while the link is down, told again a microsecond after.
    assert_eq!(paused[2..4], [100_000_000, 0]);
    assert!(paused[4] > 98_000_000 && paused[5] == 100_000_000, "{paused:?}");
}

#[test]
fn a_fat_tree_finds_its_way_round_a_dead_link() {
    let scenario = scenario("bench/permutation-open-16", &[]);
    let mut plan = scenario.configurations[0].plan.clone();
    for source in &mut plan.sources {
        source.stop = at_us(150);
    }
    let between_switches = |link: &Link| link.ends.iter().all(|end| matches!(end, NodeId::Switch(_)));
    let link = plan.links.iter().position(between_switches).unwrap();
    fail(&mut plan, u32::try_from(link).unwrap(), 50, 100);
    let said = run_of(&plan);
    // The remaining uplink cannot carry both flows of the edge: frames are lost there too, but none for ever.
    for flow in &said.flows {
        assert_eq!(flow.sent_bytes, flow.delivered_bytes + 1500 * flow.lost_frames);
        assert!(flow.delivered_frames > 0);
    }
    let whole = run_of(&scenario.configurations[0].plan);
    assert_eq!(whole.lost(), 0);
    assert!(said.lost() > 0);
}
