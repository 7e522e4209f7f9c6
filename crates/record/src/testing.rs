//! A small network and a short story about it, for tests.

use crate::{Catalog, Entity, EntityId, EntityKind, Event, EventKind, FlowTotals, Quantity, Sink};
use quell_proto::units::Instant;

/// Two hosts on a switch: ports 0 to 3, inputs 4 to 7, flows 8 and 9.
pub(crate) fn catalog() -> Catalog {
    let ends = [("h1", "s1"), ("s1", "h1"), ("h2", "s1"), ("s1", "h2")];
    let port = |(node, peer): (&str, &str)| Entity {
        name: format!("{node}->{peer}"),
        kind: EntityKind::Port {
            node: node.into(),
            peer: peer.into(),
            rate_bps: 10_000_000_000,
            of_switch: node == "s1",
        },
    };
    let input = |(node, peer): (&str, &str)| Entity {
        name: format!("{node}<-{peer}"),
        kind: EntityKind::Input {
            node: node.into(),
            peer: peer.into(),
            capacity_bytes: (node == "s1").then_some(150_000),
        },
    };
    let flow = |(from, to): (&str, &str)| Entity {
        name: format!("{from}->{to}"),
        kind: EntityKind::Flow {
            from: from.into(),
            to: to.into(),
            priority: 3,
            demand_bps: (from == "h1").then_some(9_000_000_000),
            frame_bytes: 1500,
            message: None,
        },
    };
    let ports = ends.map(port);
    let inputs = ends.map(input);
    let flows = [("h1", "h2"), ("h2", "h1")].map(flow);
    Catalog { entities: [&ports[..], &inputs, &flows].concat(), overhead_bytes: 20 }
}

/// Says `samples` rows of made-up numbers in which every quantity and every kind of event occurs, and an
/// instant of which there is nothing to say.
pub(crate) fn tell(samples: u64, sink: &mut dyn Sink) {
    for sample in 1..=samples {
        sink.begin_samples(Instant::from_ps(sample * 1_000_000));
        for (id, _) in catalog().iter().take(if sample == 2 { 0 } else { usize::MAX }) {
            for quantity in quantities(id) {
                let value = i64::try_from(sample).unwrap() * 1000 + i64::from(id.0) * 10 + *quantity as i64;
                sink.sample(id, *quantity, if sample.is_multiple_of(3) { -value } else { value });
            }
        }
    }
    for (index, kind) in (0_u32..).zip(EventKind::ALL) {
        let at = Instant::from_ps(u64::from(index) * 700_000);
        let flow = (index % 2 == 0).then_some(EntityId(8 + index % 4 / 2));
        sink.event(Event {
            at,
            entity: EntityId(index % 8),
            kind,
            flow,
            value: i64::from(index) - 3,
            cause: None,
        });
    }
    for flow in [8, 9] {
        let totals = FlowTotals {
            offered_bytes: 9000 + u64::from(flow),
            sent_bytes: 8000,
            delivered_bytes: 7000,
            delivered_frames: 6,
            lost_frames: 5,
            reordered_frames: 4,
            cnms_received: 3,
            latency_sum_ps: u64::MAX,
            latency_max_ps: 1,
            retransmitted_frames: 0,
            timeouts: 0,
        };
        sink.flow(EntityId(flow), totals);
    }
}

fn quantities(id: EntityId) -> &'static [Quantity] {
    match id.0 {
        0..4 => &Quantity::ALL[..9],
        4..8 => &[Quantity::QueueMeanBytes, Quantity::QueuePeakBytes, Quantity::StoppedPs],
        _ => &Quantity::ALL[9..15],
    }
}
