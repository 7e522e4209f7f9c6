//! Figures of bars: what is added up, and what stands beside what.

use crate::synthetic::figure;
use quell_proto::units::Instant;
use quell_record::claim::{Beside, FigureKind, FigureSpec};
use quell_record::{
    Catalog, Entity, EntityId, EntityKind, Event, EventKind, Memory, Message, Quantity, Recording, Sink,
};
use quell_report::figure::{Body, Group};
use quell_report::{Extract, Figure, figures};

const US: u64 = 1_000_000;

fn drawn(spec: &FigureSpec, run: &Recording) -> Figure {
    let specs = [spec.clone()];
    figures(&specs, &[Extract::take(run, "one", 1, &[], &specs)]).remove(0)
}

/// The groups of a panel by name, with the bars of each.
fn groups(figure: &Figure, panel: usize) -> Vec<(String, Vec<(String, f64)>)> {
    let Body::Bars(groups) = &figure.panels[panel].body else { panic!("no bars: {figure:?}") };
    let bars = |group: &Group| group.bars.iter().map(|it| (it.name.clone(), it.value)).collect();
    groups.iter().map(|group| (group.name.clone(), bars(group))).collect()
}

/// Two inputs of priority 1, which pause their peers three times and for 20 us together, and one of priority 0 that
/// does so once, for 5 us.
fn pauses() -> Recording {
    let input = |peer: &str, priority: u8| Entity {
        name: format!("s<-{peer}@{priority}"),
        kind: EntityKind::Input { node: "s".into(), peer: peer.into(), capacity_bytes: None },
    };
    let entities = vec![input("g", 0), input("g", 1), input("h", 1)];
    let mut memory = Memory::new(Catalog { entities, overhead_bytes: 0 });
    for (at, entity, kind) in [
        (1, 0, EventKind::Stop),
        (2, 1, EventKind::Stop),
        (3, 2, EventKind::Stop),
        (4, 1, EventKind::Go),
        (5, 1, EventKind::Stop),
    ] {
        let at = Instant::from_ps(at * US);
        memory.event(Event { at, entity: EntityId(entity), kind, flow: None, value: 0, cause: None });
    }
    memory.begin_samples(Instant::from_ps(100 * US));
    for (entity, held) in [(0, 5), (1, 10), (2, 10)] {
        memory.sample(EntityId(entity), Quantity::StoppedPs, held * US as i64);
    }
    memory.finish(true)
}

#[test]
fn pauses_are_added_up_by_priority() {
    let spec = |kind| figure("pauses", kind, "*<-*", &["one".to_owned()], false);
    let bars = |zero: f64, one: f64| {
        vec![("one".to_owned(), vec![("priority 0".to_owned(), zero), ("priority 1".to_owned(), one)])]
    };
    let run = pauses();
    assert_eq!(groups(&drawn(&spec(FigureKind::PauseCount), &run), 0), bars(1.0, 3.0));
    assert_eq!(groups(&drawn(&spec(FigureKind::PauseTime), &run), 0), bars(5e-6, 2e-5));
}

/// One flow of 500 octets that took twice what it takes alone.
fn slow_flow() -> Recording {
    let message = Message { bytes: 500, start_ps: 0, ideal_ps: Some(US) };
    let kind = EntityKind::Flow {
        from: "g".into(),
        to: "h".into(),
        priority: 0,
        demand_bps: None,
        frame_bytes: 1500,
        message: Some(message),
    };
    let entities = vec![Entity { name: "g->h".into(), kind }];
    let mut memory = Memory::new(Catalog { entities, overhead_bytes: 0 });
    let (at, entity) = (Instant::from_ps(2 * US), EntityId(0));
    memory.event(Event {
        at,
        entity,
        kind: EventKind::MessageDone,
        flow: None,
        value: 2 * US as i64,
        cause: None,
    });
    memory.begin_samples(Instant::from_ps(100 * US));
    memory.sample(entity, Quantity::DeliveredBytes, 500);
    memory.finish(true)
}

#[test]
fn what_others_measured_stands_beside_ours_size_by_size() {
    let bars = vec![("< 1 kB, p99".to_owned(), 3_000), ("1-10 kB, p99".to_owned(), 4_000)];
    let beside = Some(Beside { name: "theirs".to_owned(), bars });
    let spec = FigureSpec { beside, ..figure("s", FigureKind::Slowdown, "*", &["one".to_owned()], false) };
    let figure = drawn(&spec, &slow_flow());
    let here = |value| ("here".to_owned(), value);
    let theirs = |value| ("theirs".to_owned(), value);
    assert_eq!(groups(&figure, 0), [("< 1 kB".to_owned(), vec![here(2.0)])], "they have no median");
    let tail =
        [("< 1 kB".to_owned(), vec![here(2.0), theirs(3.0)]), ("1-10 kB".to_owned(), vec![theirs(4.0)])];
    assert_eq!(groups(&figure, 2), tail);
}
