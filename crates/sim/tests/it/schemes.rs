//! What builds on QCN: who is told, and what comes of it.

use crate::network::*;
use quell_proto::control::af_qcn;
use quell_proto::control::qcn::Culprit;
use quell_proto::units::{Bytes, Duration};
use quell_record::{Event, EventKind, Quantity};
use quell_sim::scenario::plan::*;

const AF: af_qcn::Config = af_qcn::Config { interval: Duration::from_ms(1), mix_num: 1, mix_den: 2 };

/// Four senders to one receiver; the first began 5 ms earlier and had the port to itself.
fn crowd(scheme: Scheme) -> Plan {
    let mut plan = star(5, TEN, US);
    plan.length = Duration::from_ms(60);
    plan.scheme = scheme;
    greedy(&mut plan, 0, 4);
    for sender in 1..4 {
        add_flow(&mut plan, sender, 4, Pattern::Greedy, at_us(5_000));
    }
    plan
}

fn notifications(said: &Totals) -> Vec<&Event> {
    said.events.iter().filter(|event| event.kind == EventKind::Cnm).collect()
}

/// How unequal the senders are from 100 to 200 ms: the most against the least that one of them got, in percent, and
/// of five runs the middle one.
fn spread(scheme: Scheme) -> u64 {
    let mut plan = crowd(scheme);
    plan.length = Duration::from_ms(200);
    plan.sample = Duration::from_ms(100);
    let mut spreads: Vec<u64> = (1..=5)
        .map(|seed| {
            let (_, said) = totals(&plan, seed).unwrap_or_else(|broken| panic!("{broken}"));
            let late = (0..4).map(|sender| said.series(flow(&plan, sender), Quantity::DeliveredBytes)[1]);
            let late: Vec<i64> = late.collect();
            u64::try_from(late.iter().max().unwrap() * 100 / late.iter().min().unwrap()).unwrap()
        })
        .collect();
    spreads.sort_unstable();
    spreads[2]
}

#[test]
fn measuring_makes_shares_equal_in_time_and_telling_all_culprits_most_of_all() {
    let plain = spread(Scheme::Qcn(qcn()));
    let mixed = spread(Scheme::AfQcn(qcn(), AF));
    let all = spread(Scheme::Fqcn(qcn()));
    assert!(all < 105 && all < mixed && mixed < plain, "{all} % {mixed} % {plain} %");
}

#[test]
fn a_mix_without_fairness_is_qcn_to_the_last_event() {
    let none = af_qcn::Config { mix_num: 0, ..AF };
    assert_eq!(digest(&crowd(Scheme::AfQcn(qcn(), none)), 3), digest(&crowd(Scheme::Qcn(qcn())), 3));
    assert_ne!(digest(&crowd(Scheme::AfQcn(qcn(), AF)), 3), digest(&crowd(Scheme::Qcn(qcn())), 3));
}

#[test]
fn qcn_tells_one_flow_at_a_time_and_fqcn_several_each_once() {
    let at_once = |scheme| {
        let said = run_of(&crowd(scheme));
        let told = notifications(&said);
        let groups = told.chunk_by(|a, b| a.at == b.at);
        for group in groups.clone() {
            let mut flows: Vec<_> = group.iter().map(|event| event.flow).collect();
            flows.sort_unstable();
            flows.dedup();
            assert_eq!(flows.len(), group.len(), "{group:?}");
        }
        groups.map(<[_]>::len).max()
    };
    assert_eq!(at_once(Scheme::Qcn(qcn())), Some(1));
    assert_eq!(at_once(Scheme::AfQcn(qcn(), AF)), Some(1));
    assert_eq!(at_once(Scheme::Fqcn(qcn())), Some(4));
}

#[test]
fn every_notification_carries_one_to_sixty_three() {
    for scheme in [Scheme::AfQcn(qcn(), AF), Scheme::Fqcn(qcn())] {
        let said = run_of(&crowd(scheme));
        let told = notifications(&said);
        assert!(told.len() > 20, "{}", told.len());
        assert!(told.iter().all(|event| (1..=63).contains(&event.value)));
        let received: u64 = said.flows.iter().map(|flow| flow.cnms_received).sum();
        assert!(received.abs_diff(told.len() as u64) <= 4, "all but those on the way arrive");
    }
}

#[test]
fn a_lone_flow_below_the_line_is_never_told() {
    for scheme in [Scheme::AfQcn(qcn(), AF), Scheme::Fqcn(qcn())] {
        let mut plan = star(3, TEN, US);
        plan.length = Duration::from_ms(20);
        plan.scheme = scheme;
        // 7.5 Gb/s beside 1 Gb/s: unequal, and no queue.
        for (sender, ns) in [(0, 1_600), (1, 12_000)] {
            add_flow(&mut plan, sender, 2, Pattern::Constant { interval: Duration::from_ns(ns) }, at_us(0));
        }
        assert_eq!(notifications(&run_of(&plan)).len(), 0);
    }
}

#[test]
fn they_work_at_inputs_and_while_paused() {
    let mut base = qcn();
    base.placement = Placement::Both;
    base.congestion.keep_alive = true;
    base.congestion.culprit = Culprit::RandomOccupancy;
    for scheme in [Scheme::AfQcn(base, AF), Scheme::Fqcn(base)] {
        let mut plan = crowd(scheme);
        plan.length = Duration::from_ms(20);
        plan.switches[0].buffering = Buffering::Voq { input_memory: Some(Bytes::new(60_000)), output: None };
        plan.switches[0].flow_control = pause(45_000, 40_000);
        let said = run_of(&plan);
        assert_eq!(said.lost(), 0);
        assert!(notifications(&said).len() > 20);
        assert_eq!(digest(&plan, 5), digest(&plan, 5));
    }
}

#[test]
fn byte_cycles_of_equal_length_let_the_slow_catch_up() {
    let mut base = qcn();
    let plain = spread(Scheme::Qcn(base));
    base.reaction.byte_cycle = Some(Duration::from_us(240));
    let proportional = spread(Scheme::Qcn(base));
    assert!(proportional < plain, "{proportional} % {plain} %");
}
