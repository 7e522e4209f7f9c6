//! How an adapter queues, limits and lets go.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

/// h1 sends to h3, where h2 and h5 send too, and to h4, where nobody else does. QCN slows the first flow down.
fn one_limited_flow(queueing: AdapterQueueing) -> Plan {
    let mut plan = star(5, TEN, US);
    plan.length = Duration::from_ms(3);
    plan.scheme = Scheme::Qcn(qcn());
    plan.hosts[0].adapter.queueing = queueing;
    for (from, to) in [(0, 2), (0, 3), (1, 2), (4, 2)] {
        greedy(&mut plan, from, to);
    }
    plan
}

#[test]
fn a_limited_flow_is_set_aside_and_does_not_hold_up_the_others() {
    for queueing in [AdapterQueueing::PerDestination, AdapterQueueing::FifoWithSetAside] {
        let plan = one_limited_flow(queueing);
        let said = run_of(&plan);
        assert!(!said.times(EventKind::Limited).is_empty());
        let sent = said.series(port(0, 0), Quantity::TxFrames);
        // h1's wire is full all the time: 83 frames and a third in 100 us.
        assert!(sent.iter().all(|frames| *frames >= 83), "{queueing:?} {sent:?}");
        let [limited, free, ..] = said.frames()[..] else { panic!("four flows") };
        assert!(free > 2 * limited, "{queueing:?}: {limited} limited, {free} free");
        assert!(said.flows.iter().all(|flow| flow.reordered_frames == 0));
    }
}

#[test]
fn pause_holds_up_every_flow_behind_the_first() {
    let mut plan = one_limited_flow(AdapterQueueing::FifoWithSetAside);
    plan.scheme = Scheme::None;
    plan.switches[0].flow_control = pause(15_000, 12_000);
    let frames = run_of(&plan).frames();
    // The two of h1 take turns, so the free one gets what the crowded one gets, but for what the switch still holds: up
    // to 11 frames when it says stop, and three that come before that is heard.
    assert!(frames[1] >= frames[0] && frames[1] - frames[0] <= 14, "{frames:?}");
    // 3 ms are 2500 frames, of which h1 has no more than its third at the crowded port.
    assert!(frames[0] <= 834 && frames[0] > 600, "{frames:?}");
}

/// h1 sends on two priorities; frames delivered of each, the lower first.
fn two_priorities_of_one_host(schedule: Schedule) -> [u64; 2] {
    let mut plan = star(3, TEN, US);
    plan.hosts[0].adapter.schedule = schedule;
    for (to, priority) in [(1, 0), (2, 1)] {
        let source = greedy(&mut plan, 0, to);
        plan.flows[source].priority = Priority::new(priority).unwrap();
    }
    run_of(&plan).frames().try_into().unwrap()
}

#[test]
fn the_priorities_of_a_host_take_turns_where_it_says_so() {
    let [low, high] = two_priorities_of_one_host(Schedule::Strict);
    assert!(low <= 1 && high > 800, "{low} {high}");
    let [low, high] = two_priorities_of_one_host(Schedule::WeightedRoundRobin([1; 8]));
    assert!(low.abs_diff(high) <= 1 && high > 400, "{low} {high}");
    let [low, high] = two_priorities_of_one_host(Schedule::WeightedRoundRobin([1, 3, 1, 1, 1, 1, 1, 1]));
    assert!(high.abs_diff(3 * low) <= 4 && high > 600, "{low} {high}");
}

#[test]
fn destinations_take_turns() {
    let mut plan = star(5, TEN, US);
    for to in 1..5 {
        greedy(&mut plan, 0, to);
    }
    // A second source to h2 does not get h2 a second turn.
    greedy(&mut plan, 0, 1);
    let frames = run_of(&plan).frames();
    let second = frames[0] + frames[4];
    for other in &frames[1..4] {
        assert!(second.abs_diff(*other) <= 1, "{frames:?}");
    }
}

/// The limits of three flows of h1 at the end: two to h3, which is crowded, and one to h4.
fn limits(scope: LimiterScope) -> Vec<i64> {
    let mut plan = star(4, TEN, US);
    plan.length = Duration::from_ms(2);
    plan.scheme = Scheme::Qcn(qcn());
    plan.hosts[0].adapter.limiter = scope;
    for (from, to) in [(0, 2), (0, 2), (0, 3), (1, 2)] {
        greedy(&mut plan, from, to);
    }
    let said = run_of(&plan);
    let last = |index| *said.series(flow(&plan, index), Quantity::LimitBps).last().unwrap();
    (0..3).map(last).collect()
}

#[test]
fn flows_share_a_limiter_by_its_scope() {
    const LINE: i64 = 10_000_000_000;
    let [a, b, c] = limits(LimiterScope::Destination)[..] else { panic!() };
    assert!(a < LINE && a == b && c == LINE, "{a} {b} {c}");
    let [a, b, c] = limits(LimiterScope::Flow)[..] else { panic!() };
    assert!(a < LINE && b < LINE && a != b && c == LINE, "{a} {b} {c}");
    let [a, b, c] = limits(LimiterScope::Host)[..] else { panic!() };
    assert!(a < LINE && a == b && b == c, "{a} {b} {c}");
}

#[test]
fn a_reaction_delay_shifts_the_first_limit_by_just_that() {
    let first = |delay: u64| -> (Instant, Instant) {
        let mut plan = star(3, TEN, US);
        plan.scheme = Scheme::Qcn(qcn());
        for host in &mut plan.hosts {
            host.adapter.reaction_delay = Duration::from_ns(delay);
        }
        greedy(&mut plan, 0, 2);
        greedy(&mut plan, 1, 2);
        let said = run_of(&plan);
        (said.times(EventKind::Cnm)[0], said.times(EventKind::Limited)[0])
    };
    // A notification of 64 octets over one idle wire.
    let way = Duration::from_ps(64 * 800 + 1_000_000);
    for delay in [0, 1, 7_000, 60_000] {
        let (told, limited) = first(delay);
        assert_eq!(limited, told + way + Duration::from_ns(delay), "{delay} ns");
    }
}

#[test]
fn a_limiter_holds_a_flow_to_its_rate() {
    let mut plan = star(3, TEN, US);
    plan.length = Duration::from_ms(2);
    plan.sample = Duration::from_us(20);
    plan.scheme = Scheme::Qcn(qcn());
    greedy(&mut plan, 0, 2);
    greedy(&mut plan, 1, 2);
    let said = run_of(&plan);
    for index in 0..2 {
        let limit = said.series(flow(&plan, index), Quantity::LimitBps);
        let sent = said.series(flow(&plan, index), Quantity::SentBytes);
        for (interval, bytes) in sent.iter().enumerate().skip(1) {
            // Cuts within an interval may have left the higher of the two limits in force.
            let rate = u64::try_from(limit[interval].max(limit[interval - 1])).unwrap();
            let most = Rate::from_bps(rate).carries_in(Duration::from_us(20)) + Bytes::new(1500);
            assert!(u64::try_from(*bytes).unwrap() <= most.get(), "flow {index}, interval {interval}");
        }
    }
}
