//! Flows that end by themselves: how long they took.

use super::{NEVER, PS, Unmeasured};
use quell_record::claim::Metric;
use quell_record::{EntityId, EntityKind, EventKind, Message, Recording};
use std::collections::BTreeMap;

/// When the messages of a recording were done: one look at its events serves all its flows.
#[derive(Debug)]
pub struct Messages<'a> {
    recording: &'a Recording,
    /// Picoseconds from the start of each message that ended to the arrival of its last octet.
    took: BTreeMap<EntityId, i64>,
}

impl<'a> Messages<'a> {
    /// Those of a recording.
    pub fn of(recording: &'a Recording) -> Messages<'a> {
        let done = recording.events.iter().filter(|event| event.kind == EventKind::MessageDone);
        Messages { recording, took: done.map(|event| (event.entity, event.value)).collect() }
    }

    /// A metric of messages, of one flow.
    pub fn measure(&self, metric: &Metric, flow: EntityId) -> Result<f64, Unmeasured> {
        let took = self.took.get(&flow).map(|&ps| ps as f64);
        match metric {
            Metric::Finished(_) => Ok(if took.is_some() { 1.0 } else { 0.0 }),
            Metric::Slowdown(_) => self.slowdown(flow),
            _ => Ok(took.map_or(NEVER, |ps| ps / PS)),
        }
    }

    /// How much longer a message took than on an idle network; never, if it did not end. No less than one: what is
    /// less is the rounding of the last frame.
    pub fn slowdown(&self, flow: EntityId) -> Result<f64, Unmeasured> {
        let named = self.recording.catalog.get(flow);
        let EntityKind::Flow { message: Some(Message { ideal_ps: Some(ideal), .. }), .. } = &named.kind
        else {
            return Err(Unmeasured::NoIdeal { entity: named.name.clone() });
        };
        let took = self.took.get(&flow).map_or(NEVER, |&ps| ps as f64);
        Ok((took / (*ideal).max(1) as f64).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::Instant;
    use quell_record::claim::{Reduce, SizeClass, Window};
    use quell_record::{Catalog, Entity, Event, Memory, Sink};

    /// Flows of these payloads, with an ideal of a microsecond for each kilobyte; each took so many times that, or never
    /// ended.
    fn recording(flows: &[(u64, Option<u64>)]) -> Recording {
        let entity = |(index, (bytes, _)): (usize, &(u64, Option<u64>))| Entity {
            name: format!("f{index}"),
            kind: EntityKind::Flow {
                from: "a".into(),
                to: "b".into(),
                priority: 0,
                demand_bps: None,
                frame_bytes: 1000,
                message: Some(Message { bytes: *bytes, start_ps: 5_000_000, ideal_ps: Some(bytes * 1000) }),
            },
        };
        let catalog = Catalog { entities: flows.iter().enumerate().map(entity).collect(), overhead_bytes: 0 };
        let mut memory = Memory::new(catalog);
        for (index, (bytes, times)) in flows.iter().enumerate() {
            if let Some(times) = times {
                let flow = EntityId(u32::try_from(index).unwrap());
                memory.event(Event {
                    at: Instant::from_ps(900_000_000),
                    entity: flow,
                    kind: EventKind::MessageDone,
                    flow: Some(flow),
                    value: i64::try_from(bytes * 1000 * times).unwrap(),
                    cause: None,
                });
            }
        }
        memory.begin_samples(Instant::from_ps(1_000_000_000));
        memory.finish(true)
    }

    #[test]
    fn slowdown_is_what_it_took_over_what_it_takes_alone() {
        let recording = recording(&[(1000, Some(3)), (5000, Some(1)), (9000, None)]);
        let messages = Messages::of(&recording);
        let all = SizeClass::ALL;
        let values =
            |metric: Metric| [0, 1, 2].map(|flow| messages.measure(&metric, EntityId(flow)).unwrap());
        let near = |found: [f64; 3], wanted: [f64; 3]| {
            let pairs = found.iter().zip(wanted);
            assert!(
                pairs.clone().all(|(a, b)| a.is_infinite() && b.is_infinite() || (a - b).abs() < 1e-12),
                "{found:?}, not {wanted:?}"
            );
        };
        near(values(Metric::Slowdown(all)), [3.0, 1.0, NEVER]);
        near(values(Metric::CompletionTime(all)), [3e-6, 5e-6, NEVER]);
        near(values(Metric::Finished(all)), [1.0, 1.0, 0.0]);
    }

    #[test]
    fn size_classes_hold_from_their_start_and_below_their_end() {
        let recording = recording(&[(999, Some(1)), (1000, Some(1)), (9_999, Some(1)), (10_000, Some(1))]);
        let metric = Metric::Slowdown(SizeClass { least: 1000, below: 10_000 });
        let concerned = |window| {
            let flows = recording.catalog.iter().filter(|(_, it)| metric.concerns(&it.kind, window));
            flows.map(|(id, _)| id.0).collect::<Vec<_>>()
        };
        assert_eq!(concerned(Window { from_ps: 0, to_ps: 10_000_000 }), [1, 2]);
        assert!(concerned(Window { from_ps: 0, to_ps: 5_000_000 }).is_empty(), "they start at its end");
    }

    #[test]
    fn quantiles_of_what_partly_never_ended_are_those_of_the_rest_up_to_there() {
        let values = [1.0, 2.0, 3.0, NEVER];
        let quantile = |thousandths| super::super::reduce(&values, Reduce::Quantile(thousandths)).unwrap()[0];
        assert!((quantile(500) - 2.5).abs() < 1e-9 && quantile(990).is_infinite());
    }
}
