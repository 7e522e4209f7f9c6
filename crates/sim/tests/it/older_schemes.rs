//! Schemes with machines of their own: ECM, QCN of 2007, InfiniBand's.

use crate::network::*;
use quell_proto::units::{Bytes, Duration, Rate, Share};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

const ALL: [fn() -> Scheme; 5] = [
    || Scheme::Ecm(ecm()),
    || Scheme::Qcn2007(qcn2007()),
    || Scheme::IbCc(ib_cc()),
    || Scheme::E2cm(e2cm()),
    || Scheme::QcnProbe(qcn_probe()),
];

/// Four senders to one receiver, without PAUSE and without a limit of memory.
fn crowd(scheme: Scheme) -> Plan {
    let mut plan = star(5, TEN, US);
    plan.length = Duration::from_ms(100);
    plan.sample = Duration::from_ms(50);
    plan.scheme = scheme;
    plan.wire_check = true;
    for sender in 0..4 {
        greedy(&mut plan, sender, 4);
    }
    plan
}

/// Mean queue and utilisation of the hot port in the second half, in octets and percent.
fn late(plan: &Plan) -> (i64, i64) {
    let said = run_of(plan);
    let hot = port(4, 1);
    let queue = said.series(hot, Quantity::QueueMeanBytes)[1];
    let carried = said.series(hot, Quantity::TxBytes)[1];
    (queue, carried * 100 / 62_500_000)
}

#[test]
fn every_scheme_holds_the_queue_and_keeps_the_link_busy() {
    let bounds = [
        (30_000..45_000, 98),
        (28_000..45_000, 98),
        (5_000..60_000, 95),
        (5_000..45_000, 90),
        (15_000..45_000, 95),
    ];
    for (scheme, (queue, least)) in ALL.into_iter().zip(bounds) {
        let plan = crowd(scheme());
        let (mean, busy) = late(&plan);
        assert!(queue.contains(&mean) && busy >= least, "{mean} octets, {busy} %: {:?}", plan.scheme);
    }
    let (free, _) = late(&crowd(Scheme::None));
    assert!(free > 100_000_000, "without control the queue only grows: {free}");
}

#[test]
fn a_run_is_a_function_of_plan_and_seed() {
    for scheme in ALL {
        let plan = crowd(scheme());
        assert_eq!(digest(&plan, 7), digest(&plan, 7));
        assert_ne!(digest(&plan, 7), digest(&plan, 8));
    }
}

#[test]
fn good_news_raises_ecm_and_reaches_only_those_who_were_cut() {
    // The hot port is freed after 50 ms: the queue falls, and only messages can raise the rates again.
    let mut plan = crowd(Scheme::Ecm(ecm()));
    plan.sources[0].stop = at_us(50_000);
    plan.sources[1].stop = at_us(50_000);
    let said = run_of(&plan);
    let good = said.events.iter().filter(|event| event.kind == EventKind::Cnm && event.value < 0).count();
    assert!(good > 50, "{good}");
    let left = (2..4).map(|sender| said.series(flow(&plan, sender), Quantity::DeliveredBytes)[1]);
    let left: i64 = left.sum();
    assert!(left > 55_000_000, "the link carries 62.5 MB in 50 ms, and they get {left}");
}

#[test]
fn an_ecm_limiter_whose_congestion_point_fell_silent_stays_low_unless_it_drifts() {
    let left_alone = |drift| {
        let mut scheme = ecm();
        scheme.reaction.drift = drift;
        let mut plan = crowd(Scheme::Ecm(scheme));
        plan.length = Duration::from_ms(400);
        plan.sample = Duration::from_ms(400);
        for source in &mut plan.sources {
            source.stop = at_us(50_000);
        }
        run_of(&plan).series(flow(&plan, 0), Quantity::LimitBps)[0]
    };
    let line = i64::try_from(TEN.bps()).unwrap();
    assert!(left_alone(None) < line / 2);
    let gain = Share { num: 5, den: 1000 };
    let drift = quell_proto::control::drift::Drift { gain, period: Duration::from_us(500) };
    assert_eq!(left_alone(Some(drift)), line);
}

#[test]
fn a_mark_of_infiniband_comes_back_to_its_source_and_to_nobody_else() {
    let mut plan = crowd(Scheme::IbCc(ib_cc()));
    // A flow that passes the hot port by.
    let innocent = add_flow(&mut plan, 0, 1, Pattern::Constant { interval: Duration::from_us(12) }, at_us(0));
    let said = run_of(&plan);
    assert_eq!(said.flows[innocent].cnms_received, 0);
    assert!(said.flows[0].cnms_received > 100, "{}", said.flows[0].cnms_received);
    let hot = port(4, 1);
    let marks: i64 = said.series(hot, Quantity::CnmsSent).iter().sum();
    let returned: u64 = said.flows.iter().map(|flow| flow.cnms_received).sum();
    assert!(u64::try_from(marks).unwrap().abs_diff(returned) < 100, "{marks} marks, {returned} came back");
}

#[test]
fn an_infiniband_adapter_keeps_to_its_least_index_without_any_mark() {
    let mut scheme = ib_cc();
    // The default table rises to 32 frame times at its index of 255: 12.5 at 100, rounded down to an eighth.
    scheme.reaction.least = 100;
    let mut plan = star(3, TEN, US);
    plan.length = Duration::from_ms(20);
    plan.sample = Duration::from_ms(10);
    plan.scheme = Scheme::IbCc(scheme);
    greedy(&mut plan, 0, 1);
    let said = run_of(&plan);
    assert_eq!(said.flows[0].cnms_received, 0);
    let limit = said.series(flow(&plan, 0), Quantity::LimitBps)[0];
    assert_eq!(limit, i64::try_from(TEN.bps() * 8 / (8 + 100)).unwrap());
    for delivered in said.series(flow(&plan, 0), Quantity::DeliveredBytes) {
        let bps = delivered * 8 * 100;
        assert!((bps - limit).abs() < limit / 50, "{bps} b/s under a limit of {limit}");
    }
}

#[test]
fn with_thresholds_of_the_whole_memory_all_inputs_stop_at_once() {
    let mut plan = crowd(Scheme::None);
    plan.length = Duration::from_ms(5);
    plan.sample = Duration::from_ms(5);
    let memory = Bytes::from_kb(200);
    plan.switches[0].buffering =
        Buffering::OutputQueued { memory: Some(memory), queue_limit: QueueLimit::None };
    plan.switches[0].flow_control = FlowControl::Pause(StopRule::Global(pause_config(160_000, 80_000)));
    let said = run_of(&plan);
    assert_eq!(said.lost(), 0);
    let stops = said.times(EventKind::Stop);
    assert!(stops.len() > 10 && stops.chunk_by(|a, b| a == b).all(|group| group.len() == 5), "{stops:?}");
    let peak = said.peak(port(4, 1));
    assert!((160_000..200_000).contains(&peak), "{peak}");
}

#[test]
fn probes_tell_a_limiter_that_its_congestion_point_is_gone() {
    for scheme in [Scheme::E2cm(e2cm()), Scheme::QcnProbe(qcn_probe())] {
        let mut plan = crowd(scheme);
        plan.length = Duration::from_ms(400);
        plan.sample = Duration::from_ms(400);
        for source in &mut plan.sources {
            source.stop = at_us(50_000);
        }
        let limit = run_of(&plan).series(flow(&plan, 0), Quantity::LimitBps)[0];
        assert_eq!(limit, i64::try_from(TEN.bps()).unwrap(), "{:?}", plan.scheme);
    }
}

#[test]
fn a_full_adapter_queue_holds_its_source_back() {
    let mut plan = star(2, TEN, US);
    plan.length = Duration::from_ms(2);
    plan.hosts[0].adapter.queue_limit = Some(Bytes::from_kb(30));
    // 15 Gb/s offered to a link of ten.
    add_flow(&mut plan, 0, 1, Pattern::Constant { interval: Duration::from_ns(800) }, at_us(0));
    let said = run_of(&plan);
    let flow = &said.flows[0];
    let waiting = flow.offered_bytes - flow.sent_bytes;
    assert!((28_500..=30_000).contains(&waiting), "what waits is a full queue, not {waiting}");
    assert_eq!(flow.lost_frames, 0, "what is not offered is not lost");
}

#[test]
fn in_one_queue_a_limited_flow_holds_up_the_others() {
    let through = |queueing| {
        let mut plan = star(4, TEN, US);
        plan.length = Duration::from_ms(50);
        plan.sample = Duration::from_ms(50);
        plan.scheme = Scheme::Qcn2007(qcn2007());
        plan.hosts[0].adapter.queueing = queueing;
        plan.hosts[0].adapter.limiter = LimiterScope::Flow;
        for to in [2, 3] {
            add_flow(&mut plan, 0, to, Pattern::Constant { interval: Duration::from_us(3) }, at_us(0));
        }
        greedy(&mut plan, 1, 2);
        // The port to the third host is slow, and the flow to it is cut; the flow to the fourth is innocent.
        plan.changes.push(Change {
            at: at_us(1_000),
            what: What::PortService { link: LinkId(2), from: switch(0), rate: Some(Rate::from_gbps(1)) },
        });
        run_of(&plan).series(flow(&plan, 1), Quantity::DeliveredBytes)[0]
    };
    let (own, shared) = (through(AdapterQueueing::PerDestination), through(AdapterQueueing::OneQueue));
    assert!(own > 24_500_000, "4 Gb/s for 50 ms are 25 MB: {own}");
    assert!(shared < own / 2, "{shared} of {own}");
}
