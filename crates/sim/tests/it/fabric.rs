//! The server-rack fabric, cell by cell: its latency is that of its parts, it keeps order and loses nothing, and it shares
//! an output as the one switch does that it amounts to.

use crate::network::*;
use quell_proto::units::{Duration, Rate};
use quell_record::Quantity;
use quell_sim::scenario::plan::*;
use quell_sim::scenario::{Request, Scenario, read};

/// A rack of 8 leaves with 5 ports each, as the paper's but smaller; `rest` is what differs.
fn rack(rest: &str) -> Scenario {
    let text = format!(
        r#"
        title = "a small rack"
        [run]
        length = "30ms"
        overhead = "20B"
        [topology]
        kind = "rack"
        racks = 1
        leaves = 8
        [switch]
        input_memory = "150kB"
        output = {{ buffer = "150kB", speedup = "160%", latency = "750ns" }}
        pause = {{ mode = "pause", stop = "110kB", go = "44kB" }}
        [adapter]
        queueing = "fifo"
        limiter = "flow"
        reaction_delay = "2.4us"
        {rest}"#
    );
    let request = Request {
        file: "rack.toml",
        text: &text,
        base: &|_| None,
        sets: &[],
        quick: false,
        repeat: None,
        seed: None,
        wire_check: false,
    };
    read(request).unwrap_or_else(|problems| panic!("{problems}"))
}

fn plan(rest: &str) -> Plan {
    rack(rest).configurations.remove(0).plan
}

#[test]
fn a_lone_frame_falls_through_in_about_a_microsecond() {
    let plan = plan(
        r#"
        [topology.link]
        rate = "100Gb/s"
        delay = "1ns"
        [[traffic]]
        from = "h1"
        to = "h40"
        frame = "1522B"
        message = "1522B"
        "#,
    );
    let flow = run_of(&plan).flows[0];
    assert_eq!(flow.delivered_frames, 1);
    // From the last octet in to the last octet out: what two links take is not the fabric's.
    let on_a_link = Rate::from_gbps(100).time_for(quell_proto::units::Bytes::new(1542)).ps() + 1_000;
    let fabric = Duration::from_ps(flow.latency_max_ps - on_a_link);
    assert!((800_000..1_300_000).contains(&fabric.ps()), "{fabric}");
    // Request, grant, a cell of 264 octets on two uplinks of 25 Gb/s and their delays, the spine; then the link.
    let parts = 250_000 + 250_000 + 2 * (84_480 + 50_000) + 100_000 + on_a_link;
    assert_eq!(fabric.ps(), parts);
}

/// Four flows from different leaves into one port, a fifth from 10 to 20 ms.
const FAN_IN: &str = r#"
    [topology.link]
    rate = "10Gb/s"
    delay = "50ns"
    [axis.form]
    cells = { topology.form = "cells" }
    switch = { topology.form = "switch" }
    [axis.control]
    pause = {}
    inputs = { scheme = { kind = "qcn", placement = "input", set_point = "60kB" } }
    [[traffic]]
    from = ["h1", "h6", "h11", "h16"]
    to = "h40"
    frame = "1522B"
    [[traffic]]
    from = "h21"
    to = "h40"
    frame = "1522B"
    start = "10ms"
    stop = "20ms"
"#;

#[test]
fn both_forms_share_a_port_alike() {
    let scenario = rack(FAN_IN);
    let rates = |name: &str| {
        let plan = &scenario.configurations.iter().find(|it| it.name == name).unwrap().plan;
        let catalog = plan.catalog();
        let run = run_of(plan);
        assert_eq!(run.lost(), 0);
        let flows = catalog.iter().filter(|(_, entity)| entity.class() == quell_record::EntityClass::Flow);
        let windows = [3..10, 13..20, 23..30];
        flows
            .map(|(id, _)| {
                let series = run.series(id, Quantity::DeliveredBytes);
                windows.clone().map(|window| series[window].iter().sum::<i64>())
            })
            .collect::<Vec<_>>()
    };
    for control in ["pause", "inputs"] {
        let (cells, switch) = (rates(&format!("cells/{control}")), rates(&format!("switch/{control}")));
        for (flow, (cells, switch)) in cells.iter().zip(&switch).enumerate() {
            for (cells, switch) in cells.iter().zip(switch) {
                let apart = (cells - switch).abs();
                assert!(
                    apart * 100 <= *switch.max(&2_000_000),
                    "{control}, flow {flow}: {cells} against {switch}"
                );
            }
        }
    }
}
