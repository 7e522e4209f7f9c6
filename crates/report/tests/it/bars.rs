//! Figures of bars: what is added up, and what stands beside what.

use crate::synthetic::figure;
use quell_proto::units::Instant;
use quell_record::claim::{Beside, FigureKind, FigureSpec};
use quell_record::{
    Catalog, Entity, EntityId, EntityKind, Event, EventKind, Memory, Message, Quantity, Recording, Sink,
};
use quell_report::figure::{Bar, Body, Group};
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

#[test]
fn many_configurations_are_dealt_evenly_over_panels() {
    let names: Vec<String> = (0..14).map(|it| format!("c{it}")).collect();
    let specs = [figure("pauses", FigureKind::PauseCount, "*<-*", &names, false)];
    let run = pauses();
    let extracts: Vec<Extract> = names.iter().map(|name| Extract::take(&run, name, 1, &[], &specs)).collect();
    let figure = figures(&specs, &extracts).remove(0);
    let counts: Vec<usize> = (0..figure.panels.len()).map(|panel| groups(&figure, panel).len()).collect();
    // 14 groups of two bars and a gap are 42, more than one panel takes.
    assert_eq!(counts, [7, 7]);
}

/// Where each bar of a figure stands, and how wide it is.
fn bars_of(svg: &str) -> Vec<(f64, f64)> {
    let number = |rect: &str, key: &str| {
        let rest = rect.split(&format!(" {key}=\"")).nth(1).expect("it has one");
        rest.split('"').next().and_then(|it| it.parse().ok()).expect("a number")
    };
    let bars = svg.split("<rect").filter(|rect| rect.contains("stroke-width=\"0.6\""));
    bars.map(|rect| (number(rect, "x"), number(rect, "width"))).collect()
}

#[test]
fn a_bar_that_is_missing_leaves_its_place_empty() {
    let bar = |name: &str, colour: usize| Bar {
        name: name.to_owned(),
        value: 1.0,
        range: (1.0, 1.0),
        colour,
        dashed: false,
    };
    let group = |name: &str, bars: Vec<Bar>| Group { name: name.to_owned(), bars };
    let spec = figure("pauses", FigureKind::PauseCount, "*<-*", &["one".to_owned()], false);
    let mut figure = drawn(&spec, &pauses());
    let all = vec![bar("a", 0), bar("b", 1), bar("c", 2)];
    let pair = vec![group("whole", all), group("less", vec![bar("a", 0), bar("c", 2)])];
    figure.panels[0].body = Body::Bars(pair);
    let [(a, wide), (b, _), (c, _), (second_a, second_wide), (second_c, _)] = bars_of(&figure.to_svg())[..]
    else {
        panic!("five bars")
    };
    let near = |one: f64, other: f64| (one - other).abs() < 0.3;
    assert!(near(wide, second_wide) && near(b - a, c - b));
    assert!(near(second_c - second_a, c - a), "the place of b stays empty");
    assert!(near(second_a - a, second_c - c), "and all stand where they stand in the other group");
}
