//! Marks and what ends make of them: DCQCN, from the queue that marks to the limiter that was told.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Rate};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

const FORTY: Rate = Rate::from_gbps(40);

/// [`crowd_on`] links of 40 Gb/s.
fn crowd(senders: u32, preset: &str, at: MarkedAt) -> Plan {
    crowd_on(FORTY, senders, preset, at)
}

/// So many senders to the last host of a star, each flow with a queue and a limiter of its own.
fn crowd_on(rate: Rate, senders: u32, preset: &str, at: MarkedAt) -> Plan {
    let mut plan = star(senders + 1, rate, Duration::from_ns(500));
    plan.length = Duration::from_ms(20);
    plan.sample = Duration::from_ms(10);
    plan.scheme = Scheme::Dcqcn(dcqcn(preset));
    plan.wire_check = true;
    marks(&mut plan, 5_000, 200_000, at);
    for host in &mut plan.hosts {
        host.adapter.queueing = AdapterQueueing::PerFlow;
        host.adapter.limiter = LimiterScope::Flow;
    }
    for sender in 0..senders {
        greedy(&mut plan, sender, senders);
    }
    plan
}

#[test]
fn both_forms_hold_the_queue_and_keep_the_link_busy() {
    // Each on the links it was made for. `hpcc-100G` on 40 Gb/s keeps a link 82 % busy where frames are marked as they
    // arrive: notified of every mark, it cuts on for as long as marked frames wait, which at that rate is longer.
    for (preset, rate) in [("paper-40G", 40), ("nic-100G", 100), ("hpcc-100G", 100)] {
        for at in [MarkedAt::Arrival, MarkedAt::Departure] {
            let rate = Rate::from_gbps(rate);
            let plan = crowd_on(rate, 4, preset, at);
            let said = run_of(&plan);
            let hot = port(4, 1);
            let queue = said.series(hot, Quantity::QueueMeanBytes)[1];
            let whole = rate.bps() / 8 / 100;
            let busy = said.series(hot, Quantity::TxBytes)[1] as u64 * 100 / whole;
            assert!(
                (5_000..220_000).contains(&queue) && busy >= 90,
                "{preset} {at:?}: {queue} octets, {busy} %"
            );
            let shares = said.frames();
            assert!(shares.iter().max().unwrap() < &(2 * shares.iter().min().unwrap()), "{shares:?}");
        }
    }
}

#[test]
fn marks_are_counted_where_they_are_made_and_notifications_where_they_arrive() {
    let plan = crowd(4, "paper-40G", MarkedAt::Arrival);
    let said = run_of(&plan);
    let marks: i64 = said.series(port(4, 1), Quantity::MarkedFrames).iter().sum();
    let told: u64 = said.flows.iter().map(|flow| flow.cnms_received).sum();
    // At most one in 50 us for each of four flows, and none without a mark.
    assert!(told > 0 && told <= 4 * 400 && i64::try_from(told).unwrap() <= marks, "{told} of {marks}");
    assert!(said.series(port(0, 1), Quantity::MarkedFrames).iter().all(|count| *count == 0));
    assert!(run_of(&star(2, FORTY, US)).series(port(0, 1), Quantity::MarkedFrames).is_empty());
}

#[test]
fn switches_that_mark_nothing_slow_nobody_down() {
    let mut plan = crowd(2, "paper-40G", MarkedAt::Arrival);
    plan.switches[0].marking = None;
    let said = run_of(&plan);
    assert!(said.times(EventKind::Limited).is_empty());
    assert!(said.flows.iter().all(|flow| flow.cnms_received == 0));
}

#[test]
fn an_estimate_outlives_the_limit_it_was_made_for() {
    // Short overloads, far apart: each time the flow is cut, and climbs back to the line. What the second one cuts
    // by depends on the estimate that the first one left.
    let first_cut = |start: u64| {
        let mut plan = crowd(2, "paper-40G", MarkedAt::Arrival);
        if let Scheme::Dcqcn(dcqcn) = &mut plan.scheme {
            dcqcn.reaction.ai_rate = Rate::from_gbps(5);
        }
        plan.length = Duration::from_ms(8);
        plan.sample = Duration::from_ms(8);
        plan.sources[1].message = Some(Bytes::new(150_000));
        if start > 0 {
            burst(&mut plan, 1, 2, 100);
            plan.sources[2].start = at_us(start);
        }
        let said = run_of(&plan);
        let own = flow(&plan, 0);
        let of = |event: &&quell_record::Event| event.kind == EventKind::Limited && event.entity == own;
        said.events.iter().filter(of).map(|event| event.value).collect::<Vec<_>>()
    };
    let (one, two) = (first_cut(0), first_cut(6_000));
    assert_eq!(one, two[..one.len()]);
    assert!(two.len() > one.len(), "{two:?}");
    assert_eq!(two[0], 20_000_000_000, "the first cut is by half");
    assert!(two[two.len() - 1] > two[0], "a later one by less: {two:?}");
}

#[test]
fn a_frame_of_its_own_goes_ahead_of_data_and_is_not_paused() {
    let mut plan = crowd(3, "paper-40G", MarkedAt::Arrival);
    for switch in &mut plan.switches {
        switch.flow_control =
            FlowControl::Pfc { priorities: 1, stop: StopRule::Static(pause_config(30_000, 20_000)) };
    }
    // The receiver has a flow of its own to fill the link back.
    greedy(&mut plan, 3, 0);
    let said = run_of(&plan);
    assert_eq!(said.lost(), 0);
    assert!(said.flows[..3].iter().all(|flow| flow.cnms_received > 0));
}

#[test]
fn a_run_is_a_function_of_plan_and_seed() {
    let plan = crowd(4, "hpcc-100G", MarkedAt::Departure);
    assert_eq!(digest(&plan, 7), digest(&plan, 7));
    assert_ne!(digest(&plan, 7), digest(&plan, 8));
}
