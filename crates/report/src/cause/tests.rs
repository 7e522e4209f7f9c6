//! Holds, chains and their words on small recordings made by hand.

use super::*;
use quell_proto::units::Instant;
use quell_record::{Entity, Event, Memory, Quantity, Sink};

const MS: u64 = 1_000_000_000;

/// h1 and h2 on e1, h3 and h4 on e2, e1 and e2 joined; each link with its ports and inputs, and two flows.
fn catalog() -> Catalog {
    let links = [("h1", "e1"), ("h2", "e1"), ("e1", "e2"), ("h3", "e2"), ("h4", "e2")];
    let ends: Vec<(&str, &str)> = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    let mut entities: Vec<Entity> = Vec::new();
    entities.extend(ends.iter().map(|(node, peer)| Entity {
        name: format!("{node}->{peer}"),
        kind: EntityKind::Port {
            node: (*node).into(),
            peer: (*peer).into(),
            rate_bps: 10_000_000_000,
            of_switch: node.starts_with('e'),
        },
    }));
    entities.extend(ends.iter().map(|(node, peer)| Entity {
        name: format!("{node}<-{peer}"),
        kind: EntityKind::Input { node: (*node).into(), peer: (*peer).into(), capacity_bytes: None },
    }));
    entities.extend([("h1", "h3"), ("h2", "h4")].map(|(from, to)| Entity {
        name: format!("{from}->{to}"),
        kind: EntityKind::Flow {
            from: from.into(),
            to: to.into(),
            priority: 0,
            demand_bps: Some(4_000_000_000),
            frame_bytes: 1500,
            message: None,
        },
    }));
    Catalog { entities, overhead_bytes: 0 }
}

fn id(name: &str) -> EntityId {
    let class = if name.contains("<-") { EntityClass::Input } else { EntityClass::Port };
    catalog().find(class, name).unwrap_or_else(|| panic!("{name}"))
}

fn flow(name: &str) -> EntityId {
    catalog().find(EntityClass::Flow, name).unwrap()
}

/// What an input does to the port at the other end: from, to, the input and the queue that fills it.
type Story<'a> = (u64, u64, &'a str, Option<&'a str>);

/// Ten samples of a millisecond, in which each flow wants 4 Gb/s and gets 1 Gb/s.
fn recording(story: &[Story<'_>], more: &[Event], limit: i64) -> Recording {
    let mut events = more.to_vec();
    for &(from, to, input, cause) in story {
        let (node, peer) = input.split_once("<-").unwrap();
        let port = id(&format!("{peer}->{node}"));
        let event = |at, entity, kind, cause| Event {
            at: Instant::from_ps(at * MS),
            entity,
            kind,
            flow: None,
            value: 0,
            cause,
        };
        events.push(event(from, id(input), EventKind::Stop, cause.map(id)));
        events.push(event(from, port, EventKind::Paused, None));
        if to < 10 {
            events.push(event(to, id(input), EventKind::Go, None));
            events.push(event(to, port, EventKind::Resumed, None));
        }
    }
    events.sort_by_key(|event| event.at);
    let mut memory = Memory::new(catalog());
    for ms in 1..=10 {
        memory.begin_samples(Instant::from_ps(ms * MS));
        for (entity, it) in catalog().iter() {
            if it.class() == EntityClass::Port {
                memory.sample(
                    entity,
                    Quantity::QueueMeanBytes,
                    if it.name == "e2->h3" { 100_000 } else { 0 },
                );
                memory.sample(entity, Quantity::TxBytes, 125_000);
                let service = if it.name == "e2->h3" { 250_000 } else { 1_250_000 };
                memory.sample(entity, Quantity::ServiceBytes, service);
            }
        }
        for entity in [flow("h1->h3"), flow("h2->h4")] {
            memory.sample(entity, Quantity::OfferedBytes, 500_000);
            memory.sample(entity, Quantity::SentBytes, 125_000);
            memory.sample(entity, Quantity::DeliveredBytes, 125_000);
            memory.sample(entity, Quantity::LimitBps, if ms > 5 { limit } else { 10_000_000_000 });
        }
    }
    events.into_iter().for_each(|event| memory.event(event));
    memory.finish(true)
}

const WHOLE: Window = Window { from_ps: 0, to_ps: 10 * MS };

fn chain(story: &[Story<'_>], port: &str) -> Option<(Vec<EntityId>, Root)> {
    Edges::of(&holds(&recording(story, &[], 10_000_000_000)), WHOLE).chain(id(port), &catalog())
}

/// The tree behind the slow port e2->h3.
const TREE: [Story<'static>; 3] =
    [(1, 9, "e2<-e1", Some("e2->h3")), (2, 9, "e1<-h1", Some("e1->e2")), (2, 10, "e1<-h2", Some("e1->e2"))];

#[test]
fn a_hold_knows_who_held_whom_and_because_of_which_queue() {
    let found = holds(&recording(&TREE, &[], 10_000_000_000));
    let expected = |port, input, cause, from: u64, to: u64| Hold {
        port: id(port),
        input: Some(id(input)),
        cause: Some(id(cause)),
        from_ps: from * MS,
        to_ps: to * MS,
    };
    assert_eq!(
        found,
        [
            expected("e1->e2", "e2<-e1", "e2->h3", 1, 9),
            expected("h1->e1", "e1<-h1", "e1->e2", 2, 9),
            // Never resumed: it lasts to the end of the recording.
            expected("h2->e1", "e1<-h2", "e1->e2", 2, 10),
        ]
    );
}

#[test]
fn a_hold_whose_reason_changes_is_two_holds() {
    let again = Event {
        at: Instant::from_ps(4 * MS),
        entity: id("e2<-e1"),
        kind: EventKind::Stop,
        flow: None,
        value: 0,
        cause: Some(id("e2->h4")),
    };
    let found = holds(&recording(&TREE[..1], &[again], 10_000_000_000));
    let spans: Vec<_> = found.iter().map(|it| (it.from_ps / MS, it.to_ps / MS, it.cause)).collect();
    assert_eq!(spans, [(1, 4, Some(id("e2->h3"))), (4, 9, Some(id("e2->h4")))]);
}

#[test]
fn only_what_lies_in_the_window_counts() {
    let holds = holds(&recording(&TREE, &[], 10_000_000_000));
    let held = |from, to| {
        Edges::of(&holds, Window { from_ps: from * MS, to_ps: to * MS }).held_ps(id("h1->e1")) / MS
    };
    assert_eq!([held(0, 10), held(0, 3), held(8, 20), held(0, 2)], [7, 1, 1, 0]);
}

#[test]
fn a_chain_follows_pauses_to_the_port_that_nobody_holds() {
    let passed = vec![id("h2->e1"), id("e1->e2")];
    assert_eq!(chain(&TREE, "h2->e1"), Some((passed, Root::Port(id("e2->h3")))));
    assert_eq!(chain(&TREE, "h3->e2"), None);
}

#[test]
fn a_chain_that_ends_at_a_host_says_so() {
    let story = [(0, 10, "h3<-e2", None), (0, 10, "e2<-e1", Some("e2->h3"))];
    let passed = vec![id("e1->e2"), id("e2->h3")];
    assert_eq!(chain(&story, "e1->e2"), Some((passed, Root::Receiver(id("h3<-e2")))));
}

#[test]
fn a_chain_without_recorded_causes_ends_where_it_began() {
    assert_eq!(
        chain(&[(0, 5, "e1<-h1", None)], "h1->e1"),
        Some((vec![id("h1->e1")], Root::Unknown(id("h1->e1"))))
    );
}

#[test]
fn ports_that_hold_each_other_are_a_circle_and_no_endless_walk() {
    let story = [
        (0, 10, "e1<-h1", Some("e1->e2")),
        (0, 10, "e2<-e1", Some("e2->e1")),
        (0, 10, "e1<-e2", Some("e1->e2")),
    ];
    let passed = vec![id("h1->e1"), id("e1->e2"), id("e2->e1")];
    assert_eq!(chain(&story, "h1->e1"), Some((passed, Root::Cycle(id("e1->e2")))));
}

#[test]
fn a_victim_is_told_who_held_it_and_where_that_is_rooted() {
    let why = Why::of(&recording(&TREE, &[], 10_000_000_000), flow("h2->h4"), WHOLE);
    insta::assert_snapshot!(why, @"
    It wanted 4.00 Gb/s and got 1.00 Gb/s, 25 % of it.
    No limiter held it.
    Its own port h2->e1 was held paused 80 % of the time by e1, whose input was full of frames for e1->e2;
      e1->e2 was held paused 80 % of the time by e2, whose input was full of frames for e2->h3;
        e2->h3, which nobody held, is the root: it was served at 2.00 Gb/s (its link carries 10.0 Gb/s), sent 1.00 Gb/s, and 100 kB waited for it.
    So it was slow because it was held paused, rooted at e2->h3, which it does not pass: it is a victim.
    ");
}

#[test]
fn a_limited_flow_is_told_by_whose_notifications() {
    let cnm = |at, point| Event {
        at: Instant::from_ps(at * MS),
        entity: id(point),
        kind: EventKind::Cnm,
        flow: Some(flow("h1->h3")),
        value: 9,
        cause: None,
    };
    let events = [cnm(5, "e2->h3"), cnm(6, "e2->h3"), cnm(7, "e1->e2")];
    let recording = recording(&[], &events, 500_000_000);
    insta::assert_snapshot!(Why::of(&recording, flow("h1->h3"), WHOLE), @"
    It wanted 4.00 Gb/s and got 1.00 Gb/s, 25 % of it.
    Its limiter held it 50 % of the time, to 500 Mb/s on average and 500 Mb/s at the lowest, by 3 notifications: 2 from e2->h3, 1 from e1->e2.
    Its own port was never held paused.
    Of the ports on its way e2->h3 took longest to pass: it held 100 kB on average, in which a frame waited 800 µs.
    So it was slow because its source was limited by notifications of e2->h3.
    ");
    let late = Why::of(&recording, flow("h1->h3"), Window { from_ps: 8 * MS, to_ps: 10 * MS });
    assert!(late.to_string().contains("by 3 earlier notifications: 2 from e2->h3"), "{late}");
    let other = Why::of(&recording, flow("h2->h4"), WHOLE);
    assert!(other.to_string().contains("whose notifications those were is not in the recording"), "{other}");
}

#[test]
fn an_empty_window_is_no_division_by_zero() {
    let nothing = Window { from_ps: 20 * MS, to_ps: 30 * MS };
    let why = Why::of(&recording(&TREE, &[], 1), flow("h1->h3"), nothing);
    assert_eq!(why.to_string().lines().last(), Some("So there is nothing to explain."));
    assert!(why.delivered_bps == 0.0 && why.held.is_empty());
}

#[test]
fn a_source_that_is_held_back_wanted_its_demand_and_not_what_it_offered() {
    let mut memory = Memory::new(catalog());
    for ms in 1..=10 {
        memory.begin_samples(Instant::from_ps(ms * MS));
        // Half of 4 Gb/s, and nothing in the last half.
        let octets = if ms <= 5 { 250_000 } else { 0 };
        memory.sample(flow("h1->h3"), Quantity::OfferedBytes, octets);
        memory.sample(flow("h1->h3"), Quantity::DeliveredBytes, octets);
    }
    let recording = memory.finish(true);
    let first = Why::of(&recording, flow("h1->h3"), Window { from_ps: 0, to_ps: 5 * MS });
    assert_eq!((first.offered_bps, first.wanted_bps), (2e9, Some(4e9)));
    assert!(first.to_string().starts_with("It wanted 4.00 Gb/s and got 2.00 Gb/s, 50 % of it."), "{first}");
    assert_eq!(
        Why::of(&recording, flow("h1->h3"), WHOLE).wanted_bps,
        Some(2e9),
        "it is off for half of the time"
    );
}

#[test]
fn where_frames_were_lost_and_when_it_was_slowest_is_told() {
    let mut memory = Memory::new(catalog());
    for ms in 1..=10 {
        let is_bad = ms == 7 || ms == 8;
        memory.begin_samples(Instant::from_ps(ms * MS));
        memory.sample(id("e1->e2"), Quantity::DroppedFrames, i64::from(is_bad));
        memory.sample(id("e2->h3"), Quantity::DroppedFrames, if is_bad { 20 } else { 0 });
        memory.sample(flow("h1->h3"), Quantity::DroppedFrames, if is_bad { 18 } else { 0 });
        memory.sample(flow("h1->h3"), Quantity::OfferedBytes, 500_000);
        memory.sample(flow("h1->h3"), Quantity::DeliveredBytes, if is_bad { 50_000 } else { 500_000 });
    }
    let recording = memory.finish(true);
    let told = Why::of(&recording, flow("h1->h3"), WHOLE).to_string();
    let beginning: Vec<&str> = told.lines().take(2).collect();
    insta::assert_snapshot!(beginning.join("\n"), @"
    It wanted 4.00 Gb/s and got 3.28 Gb/s, 82 % of it. 36 of its frames were lost on the way; of all flows, frames were dropped 40 at e2->h3, 2 at e1->e2.
    It was slowest from 6ms to 8ms, with 400 Mb/s, 10 % of what it wanted; `--over 6ms..8ms` looks at that time alone.
    ");
    // Looked at by itself, no part of it is worse than the rest.
    let then = Why::of(&recording, flow("h1->h3"), Window { from_ps: 6 * MS, to_ps: 8 * MS });
    assert_eq!(then.worst, None);
}
