//! Figures of a rate and a queue: dots of both, and how alike they are over lags.

use crate::synthetic::figure;
use quell_proto::units::Instant;
use quell_record::claim::{FigureKind, FigureSpec, Pairing, Window};
use quell_record::{Catalog, Entity, EntityId, EntityKind, Memory, Quantity, Recording, Selector, Sink};
use quell_report::figure::Body;
use quell_report::{Extract, Figure, figures};

const MS: u64 = 1_000_000_000;

/// A queue that saws up and down by steps of 1 ms, and a flow that sends the less the longer it was `late` steps ago.
fn saw(late: u64) -> Recording {
    let port = EntityKind::Port { node: "s".into(), peer: "h".into(), rate_bps: 1, of_switch: true };
    let flow = EntityKind::Flow {
        from: "g".into(),
        to: "h".into(),
        priority: 0,
        demand_bps: None,
        frame_bytes: 1500,
        message: None,
    };
    let entities =
        vec![Entity { name: "s->h".into(), kind: port }, Entity { name: "g->h".into(), kind: flow }];
    let mut memory = Memory::new(Catalog { entities, overhead_bytes: 0 });
    let queue = |step: u64| 1000 * (step % 7) as i64;
    for step in 70..140 {
        memory.begin_samples(Instant::from_ps((step - 69) * MS));
        memory.sample(EntityId(0), Quantity::QueueMeanBytes, queue(step));
        memory.sample(EntityId(1), Quantity::SentBytes, 10_000 - queue(step - late));
    }
    memory.finish(true)
}

fn drawn(kind: FigureKind, late: u64) -> Figure {
    let pairing = Some(Pairing { with: Selector("s->h".to_owned()), step_ps: MS });
    let over = Some(Window { from_ps: 0, to_ps: 70 * MS });
    let all = ["only".to_owned()];
    let specs = [FigureSpec { pairing, over, ..figure("Pair", kind, "g->h", &all, false) }];
    let extracts: Vec<Extract> =
        (1..=3).map(|seed| Extract::take(&saw(late), "only", seed, &[], &specs)).collect();
    figures(&specs, &extracts).remove(0)
}

#[test]
fn a_scatter_plot_has_a_dot_for_each_step_of_each_run() {
    let figure = drawn(FigureKind::Scatter, 0);
    let Body::Dots(clouds) = &figure.panels[0].body else { panic!("no dots in {figure:?}") };
    assert_eq!((clouds.len(), clouds[0].points.len()), (1, 3 * 70));
    // 10 000 octets less the queue, in 1 ms.
    for (queue, rate) in &clouds[0].points {
        assert!((rate - (10_000.0 - queue) * 8.0 * 1000.0).abs() < 1.0, "{queue} and {rate}");
    }
    assert_eq!(figure.caption, "Dots of 3 runs. One dot for each 1 ms of a flow.");
    let csv = figure.to_csv();
    assert!(csv.starts_with("configuration,series,queue_bytes,rate_bits_per_second\nonly,g->h,0,80000000\n"));
    let svg = figure.to_svg();
    assert!(svg.contains("queue (kB)") && svg.contains("rate (Mb/s)") && !svg.contains("time ("));
    assert!(figure.to_text().contains("6.00 kB (queue)"), "{}", figure.to_text());
}

#[test]
fn a_cross_correlation_dips_where_the_rate_followed_the_queue() {
    for late in [0, 2] {
        let figure = drawn(FigureKind::CrossCorrelation, late);
        let Body::Lines(lines) = &figure.panels[0].body else { panic!("no lines in {figure:?}") };
        let csv = figure.to_csv();
        let rows = csv.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
        let value = |row: &[&str]| row[3].parse::<f64>().unwrap();
        let least = rows.min_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
        // The rate comes after the queue: the queue has to be looked at earlier.
        let lag: f64 = least[2].parse().unwrap();
        assert!((lag + late as f64 * 1e-3).abs() < 1e-9, "{late} steps late, found at {lag} s");
        assert!(value(&least) < -0.95);
        assert_eq!(lines[0].values.len(), 61, "30 lags on either side");
        assert!(figure.to_svg().contains(">-1.0<") && figure.to_svg().contains(">1.0<"));
    }
}
