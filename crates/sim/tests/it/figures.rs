//! A dozen figures of short runs of the gallery's experiments, to be read as a diff when the model changes.

use crate::network::*;
use quell_proto::units::Duration;
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;
use std::fmt::Write;

/// The first 4 ms of a configuration, with what changes moved to the end of the first.
fn short(id: &str, name: &str) -> Plan {
    let scenario = scenario(id, &[]);
    let found = scenario.configurations.into_iter().find(|configuration| configuration.name == name);
    let mut plan = found.unwrap_or_else(|| panic!("{id} has no configuration {name}")).plan;
    plan.length = Duration::from_ms(4);
    plan.sample = Duration::from_ms(1);
    plan.cuts.clear();
    plan.changes.truncate(1);
    for change in &mut plan.changes {
        change.at = at_us(1000);
    }
    for source in &mut plan.sources {
        source.start = at_us(0);
    }
    plan
}

#[test]
fn short_runs_of_the_gallery_come_to_the_figures_they_came_to() {
    let mut table = format!(
        "{:8} {:34} {:>7} {:>6} {:>5} {:>5} {:>9} {:>9} {:>10}\n",
        "", "", "frames", "lost", "cnms", "stops", "mean B", "peak B", "Gb/s limit"
    );
    for (id, name) in [
        ("qau/b1", "pause-only/2G/short"),
        ("qau/b1", "outputs/2G/short"),
        ("qau/b1", "outputs-no-pause/0.5G/short"),
        ("qau/b1", "inputs-occupancy/1G/long"),
        ("qau/b5", "greedy/5ms/outputs"),
        ("qau/b5", "piling/20ms/outputs"),
        ("qau/b7", "pause-only"),
        ("qau/b7", "outputs"),
        ("qau/b7", "inputs-occupancy"),
        ("qau/b8", "pause-only"),
        ("qau/b8", "outputs-standard"),
        ("qau/b8", "inputs-arrival"),
    ] {
        let said = run_of(&short(id, name));
        let queues = |quantity| {
            let of = |sample: &&(_, quell_record::EntityId, Quantity, i64)| sample.2 == quantity;
            said.samples.iter().filter(of).map(|sample| sample.3).max().unwrap_or(0)
        };
        let limits = said.samples.iter().filter(|sample| sample.2 == Quantity::LimitBps);
        let lowest = limits.map(|sample| sample.3).min().unwrap_or(0);
        writeln!(
            table,
            "{id:8} {name:34} {:7} {:6} {:5} {:5} {:9} {:9} {:10.3}",
            said.delivered(),
            said.lost(),
            said.times(EventKind::Cnm).len(),
            said.times(EventKind::Stop).len(),
            queues(Quantity::QueueMeanBytes),
            queues(Quantity::QueuePeakBytes),
            lowest as f64 / 1e9,
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}
