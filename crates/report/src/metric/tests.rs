//! Metrics against numbers worked out by hand.

use super::*;
use quell_record::{Catalog, Entity, Event, Memory, Sink};

const MS: u64 = 1_000_000_000;
const PORT: EntityId = EntityId(0);
const INPUT: EntityId = EntityId(1);
const FLOW: EntityId = EntityId(2);
const GREEDY: EntityId = EntityId(3);

fn catalog() -> Catalog {
    let flow = |name: &str, demand_bps| Entity {
        name: name.into(),
        kind: EntityKind::Flow {
            from: "a".into(),
            to: "b".into(),
            priority: 0,
            demand_bps,
            frame_bytes: 1500,
            message: None,
        },
    };
    let port =
        EntityKind::Port { node: "s".into(), peer: "b".into(), rate_bps: 10_000_000_000, of_switch: true };
    let input = EntityKind::Input { node: "s".into(), peer: "a".into(), capacity_bytes: None };
    Catalog {
        entities: vec![
            Entity { name: "s->b".into(), kind: port },
            Entity { name: "s<-a".into(), kind: input },
            flow("a->b", Some(8_000_000)),
            flow("greedy", None),
        ],
        overhead_bytes: 20,
    }
}

/// One row a millisecond, or however long it says: queue, octets carried.
fn recorded(rows: &[(u64, i64, i64)], events: &[(u64, EntityId, EventKind)]) -> Recording {
    let mut memory = Memory::new(catalog());
    let mut at = 0;
    for &(length, queue, octets) in rows {
        at += length;
        memory.begin_samples(Instant::from_ps(at));
        memory.sample(PORT, Quantity::QueueMeanBytes, queue);
        memory.sample(PORT, Quantity::QueuePeakBytes, queue * 2);
        memory.sample(PORT, Quantity::TxBytes, octets);
        memory.sample(PORT, Quantity::TxFrames, octets / 100);
        memory.sample(PORT, Quantity::ServiceBytes, 2000);
        memory.sample(PORT, Quantity::PausedPs, (length / 4) as i64);
        memory.sample(PORT, Quantity::CnmsSent, 3);
        memory.sample(PORT, Quantity::DroppedFrames, 1);
        memory.sample(INPUT, Quantity::StoppedPs, (length / 2) as i64);
        for flow in [FLOW, GREEDY] {
            memory.sample(flow, Quantity::DroppedFrames, 1);
            memory.sample(flow, Quantity::OfferedBytes, octets * 2);
            memory.sample(flow, Quantity::SentBytes, octets + 100);
            memory.sample(flow, Quantity::DeliveredBytes, octets);
            memory.sample(flow, Quantity::DeliveredFrames, octets / 100);
            memory.sample(flow, Quantity::LimitBps, queue * 1000);
            memory.sample(flow, Quantity::CnmsReceived, 2);
        }
    }
    for &(at, entity, kind) in events {
        memory.event(Event {
            at: Instant::from_ps(at),
            entity,
            kind,
            flow: Some(FLOW),
            value: 0,
            cause: None,
        });
    }
    let totals = FlowTotals {
        delivered_frames: 4,
        lost_frames: 7,
        reordered_frames: 2,
        latency_sum_ps: 8 * MS,
        ..FlowTotals::default()
    };
    memory.flow(FLOW, totals);
    memory.flow(GREEDY, FlowTotals::default());
    memory.finish(true)
}

fn window(from: u64, to: u64) -> Window {
    Window { from_ps: from, to_ps: to }
}

fn is(found: Result<f64, Unmeasured>, wanted: f64) {
    let found = found.expect("a number");
    assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-6), "{found} is not {wanted}");
}

/// Four samples of a millisecond.
fn plain() -> Recording {
    recorded(&[(MS, 10, 1000), (MS, 20, 1000), (MS, 30, 500), (MS, 60, 1500)], &[])
}

#[test]
fn rates_are_octets_over_the_window() {
    let recording = plain();
    // 4000 octets in 4 ms; 2000 in the last two.
    is(measure(&recording, &Metric::Throughput, FLOW, window(0, 4 * MS)), 8e6);
    is(measure(&recording, &Metric::Throughput, PORT, window(2 * MS, 4 * MS)), 8e6);
    is(measure(&recording, &Metric::SendRate, FLOW, window(0, 4 * MS)), 8.8e6);
    is(measure(&recording, &Metric::DemandShare, FLOW, window(2 * MS, 3 * MS)), 0.5);
    is(measure(&recording, &Metric::DeliveredShare, FLOW, window(0, 4 * MS)), 0.5);
    // Rates 8, 8, 4, 12 Mb/s: mean 8, deviation sqrt(32 / 4).
    is(measure(&recording, &Metric::ThroughputCv, FLOW, window(0, 4 * MS)), 8_f64.sqrt() / 8.0);
    // 4400 octets in frames of 1500, each with 20 more on the wire.
    is(measure(&recording, &Metric::ArrivalRate, FLOW, window(0, 4 * MS)), 8.8e6 * 1520.0 / 1500.0);
    // Rates 8.8, 8.8, 4.8, 12.8 Mb/s: mean 8.8, deviation sqrt(32 / 4).
    is(measure(&recording, &Metric::ArrivalCv, FLOW, window(0, 4 * MS)), 8_f64.sqrt() / 8.8);
    // 8 notifications for 4400 octets.
    is(measure(&recording, &Metric::CnmsPerMegabyte, FLOW, window(0, 4 * MS)), 8.0 / 0.0044);
    // 4000 octets and 40 times the overhead of 20, of 8000.
    is(measure(&recording, &Metric::Utilisation, PORT, window(0, 4 * MS)), 0.6);
}

#[test]
fn a_queue_counts_for_as_long_as_it_stands() {
    let recording = recorded(&[(MS, 100, 0), (3 * MS, 20, 0)], &[]);
    let all = window(0, 4 * MS);
    is(measure(&recording, &Metric::Queue, PORT, all), 40.0);
    is(measure(&recording, &Metric::QueuePeak, PORT, all), 200.0);
    // 60² · 1 + 20² · 3 over 4.
    is(measure(&recording, &Metric::QueueDeviation, PORT, all), 1200_f64.sqrt());
    is(measure(&recording, &Metric::Limit, FLOW, all), 40_000.0);
}

#[test]
fn a_queue_that_swings_has_a_period() {
    let swing = |at: u32| ((f64::from(at) / 8.0 * std::f64::consts::TAU).sin() * 1000.0) as i64 + 5000;
    let rows: Vec<(u64, i64, i64)> = (0..64).map(|at| (MS, swing(at), 0)).collect();
    let found = measure(&recorded(&rows, &[]), &Metric::Period, PORT, window(0, 64 * MS)).unwrap();
    assert!((found - 0.008).abs() < 1e-4, "{found}");
    let still = recorded(&[(MS, 100, 0); 16], &[]);
    let none = measure(&still, &Metric::Period, PORT, window(0, 16 * MS)).unwrap_err();
    assert_eq!(none.to_string(), "`s->b` does not oscillate in 0ps..16ms");
}

#[test]
fn counts_and_times_are_summed() {
    let recording = plain();
    let (half, all) = (window(0, 2 * MS), window(0, 4 * MS));
    is(measure(&recording, &Metric::PauseTime, PORT, half), 0.0005);
    is(measure(&recording, &Metric::PauseTime, INPUT, half), 0.001);
    is(measure(&recording, &Metric::Cnms, PORT, half), 6.0);
    is(measure(&recording, &Metric::Cnms, FLOW, half), 4.0);
    is(measure(&recording, &Metric::Frames, FLOW, half), 20.0);
    is(measure(&recording, &Metric::Reordered, FLOW, all), 2.0);
    is(measure(&recording, &Metric::Latency, FLOW, all), 0.002);
}

#[test]
fn a_refresh_is_not_another_pause() {
    let events = [
        (MS / 2, INPUT, EventKind::Stop),
        (MS, INPUT, EventKind::Stop),
        (2 * MS, INPUT, EventKind::Go),
        (3 * MS, INPUT, EventKind::Stop),
    ];
    let recording = recorded(&[(MS, 0, 0); 4], &events);
    is(measure(&recording, &Metric::PauseCount, INPUT, window(0, 4 * MS)), 2.0);
    // Stopped before the window: the refresh inside it asserts nothing.
    is(measure(&recording, &Metric::PauseCount, INPUT, window(MS, 3 * MS)), 0.0);
}

#[test]
fn loss_is_counted_in_its_window() {
    let recording = recorded(&[(MS, 0, 0); 4], &[]);
    is(measure(&recording, &Metric::Loss, FLOW, window(0, 4 * MS)), 4.0);
    is(measure(&recording, &Metric::Loss, FLOW, window(3 * MS, 4 * MS)), 1.0);
    is(measure(&recording, &Metric::Loss, PORT, window(2 * MS, 4 * MS)), 2.0);
}

#[test]
fn what_counts_on_one_side_only_may_lie_anywhere_on_the_other() {
    let recording = recorded(&[(MS, 130, 0), (MS, 100, 0), (MS, 50, 0), (MS, 110, 0)], &[]);
    let since = |side| {
        let metric =
            Metric::Convergence { series: ConvergingSeries::Queue, target: 100.0, within: 0.2, side };
        measure(&recording, &metric, PORT, window(0, 4 * MS))
    };
    is(since(Side::Both), 0.003);
    is(since(Side::Above), 0.001);
    is(since(Side::Below), 0.003);
    is(measure(&recording, &Metric::QueueLow, PORT, window(0, 4 * MS)), 50.0);
}

#[test]
fn convergence_ends_with_the_last_sample_outside() {
    let recording = recorded(&[(MS, 50, 0), (MS, 100, 0), (MS, 130, 0), (MS, 110, 0)], &[]);
    let metric = |target| Metric::Convergence {
        series: ConvergingSeries::Queue,
        target,
        within: 0.2,
        side: Side::Both,
    };
    is(measure(&recording, &metric(100.0), PORT, window(0, 4 * MS)), 0.003);
    is(measure(&recording, &metric(100.0), PORT, window(3 * MS, 4 * MS)), 0.0);
    let never = measure(&recording, &metric(1000.0), PORT, window(MS, 4 * MS));
    assert_eq!(never, Ok(NEVER), "outside at the end is no convergence");
}

#[test]
fn recovery_is_when_the_running_mean_arrives() {
    let recording = recorded(&[(MS, 0, 0), (MS, 0, 1000), (MS, 0, 1000), (MS, 0, 1000)], &[]);
    let metric = |target, span_ps| Metric::Recovery { target, span_ps };
    is(measure(&recording, &metric(8e6, MS), FLOW, window(0, 4 * MS)), 0.002);
    is(measure(&recording, &metric(8e6, 2 * MS), FLOW, window(0, 4 * MS)), 0.003);
    assert_eq!(measure(&recording, &metric(9e6, MS), FLOW, window(0, 4 * MS)), Ok(NEVER));
    assert!(measure(&recording, &metric(1.0, 9 * MS), FLOW, window(0, 4 * MS)).is_err());
}

#[test]
fn a_queue_settles_where_a_quiet_change_leaves_it() {
    let rows: Vec<(u64, i64, i64)> =
        [500, 100, 100, 100, 0, 0, 900, 300, 300, 300].iter().map(|&queue| (MS, queue, 0)).collect();
    let events = [
        (0, FLOW, EventKind::SourceOn),
        (4 * MS, FLOW, EventKind::SourceOff),
        (5 * MS, FLOW, EventKind::SourceOn),
        (6 * MS, FLOW, EventKind::SourceOn),
    ];
    let recording = recorded(&rows, &events);
    let metric = Metric::Settled { target: 100.0, within: 0.25, quiet_ps: 3 * MS, skip_ps: MS };
    // Two changes are quiet for 3 ms: the first settles at 100, the last at 300. The one at 5 ms is not quiet.
    is(measure(&recording, &metric, PORT, window(0, 10 * MS)), 0.5);
    is(measure(&recording, &metric, PORT, window(0, 4 * MS)), 1.0);
    assert!(measure(&recording, &metric, PORT, window(4 * MS, 6 * MS)).is_err());
}

#[test]
fn what_cannot_be_measured_says_why() {
    let recording = plain();
    let says =
        |metric: &Metric, entity, over| measure(&recording, metric, entity, over).unwrap_err().to_string();
    assert_eq!(says(&Metric::Queue, FLOW, window(0, MS)), "`a->b` is a flow, on which this is not measured");
    assert_eq!(
        says(&Metric::Queue, PORT, window(0, 9 * MS)),
        "the run ended at 4ms, inside or before the window 0ps..9ms"
    );
    assert_eq!(
        says(&Metric::Queue, PORT, window(0, MS + 1)),
        "the window 0ps..1000000001ps does not begin and end at sample instants"
    );
    assert_eq!(
        says(&Metric::DemandShare, GREEDY, window(0, MS)),
        "`greedy` is greedy, so it states no demand to compare with in 0ps..1ms"
    );
    assert_eq!(
        says(&Metric::Latency, GREEDY, window(0, MS)),
        "`greedy` has this for the whole run only, not in 0ps..1ms"
    );
    assert_eq!(says(&Metric::Latency, GREEDY, window(0, 4 * MS)), "`greedy` delivered no frame in 0ps..4ms");
    assert_eq!(says(&Metric::Queue, INPUT, window(0, MS)), "queue_mean_bytes of `s<-a` was not recorded");
    assert!(measure(&recording, &Metric::Queue, PORT, window(MS, MS)).is_err());
}

#[test]
fn entities_are_reduced_as_told() {
    let values = [1.0, 2.0, 3.0];
    let one = |how| reduce(&values, how).map(|all| all[0]);
    is(one(Reduce::Sum), 6.0);
    is(one(Reduce::Mean), 2.0);
    is(one(Reduce::Min), 1.0);
    is(one(Reduce::Max), 3.0);
    is(one(Reduce::Jain), 36.0 / 42.0);
    is(one(Reduce::MaxOverMin), 3.0);
    assert_eq!(reduce(&values, Reduce::Each), Ok(values.to_vec()));
    assert_eq!(reduce(&[0.0, 0.0], Reduce::Jain), Err(Unmeasured::AllZero));
    assert_eq!(reduce(&[0.0, 1.0], Reduce::MaxOverMin), Err(Unmeasured::LeastIsZero));
    assert_eq!(reduce(&[], Reduce::Min), Err(Unmeasured::NoValues));
}

#[test]
fn a_flow_that_sends_less_the_longer_the_queue_is_correlated_with_it_by_minus_one() {
    let rows: Vec<(u64, i64, i64)> =
        (0..20).map(|it| (MS, 1_000 * (it % 5), 10_000 - 500 * (it % 5))).collect();
    let recording = recorded(&rows, &[]);
    let window = Window { from_ps: 0, to_ps: 20 * MS };
    let correlation = |with: &str, step_ps, rising| {
        let metric = Metric::Correlation { with: Selector(with.to_owned()), step_ps, rising };
        measure(&recording, &metric, FLOW, window)
    };
    assert!((correlation("s->b", MS, false).unwrap() + 1.0).abs() < 1e-9);
    // It rises only from the end of one tooth to the beginning of the next, by as much each time.
    assert!(matches!(correlation("s->b", MS, true), Err(Unmeasured::Nothing { .. })));
    let flat = correlation("s->b", 5 * MS, false).unwrap_err();
    assert!(flat.to_string().contains("too few steps"), "{flat}");
    assert!(correlation("s<-a", MS, false).is_err(), "an input without a recorded queue");
}
