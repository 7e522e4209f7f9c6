//! Writing tables that nobody reads.
//!
//! What is left to write at the end of a run takes a thread a tenth of a millisecond, and several times as long if the code for it has to be
//! fetched first, page by page. A short run waits for that. So the thread that writes goes through it once while the run begins.

use super::tables::Tables;
use crate::manifest::ManifestDraft;
use crate::rows::Rows;
use crate::{Catalog, Entity, EntityId, EntityKind, Event, EventKind, FlowTotals, Quantity};
use quell_proto::units::Instant;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Writes a little of everything to nowhere, the first time in the life of the program.
pub(super) fn rehearse() {
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let tables =
        Tables::create(Path::new(""), &catalog(), &ManifestDraft::default(), |_| Ok(Box::new(io::sink())));
    // Nowhere has room for everything; if not, the run itself will say what is the matter.
    if let Ok(mut tables) = tables
        && write(&mut tables).is_ok()
    {
        for table in tables.full() {
            let _ = table.take_part();
        }
    }
}

fn write(tables: &mut Tables) -> Result<(), crate::RecordError> {
    let entity = EntityId(0);
    let shape = Arc::new(Quantity::ALL.map(|quantity| (entity, quantity)).to_vec());
    let numbers = (0..shape.len() as i64).collect();
    tables.series.write(&Rows::one(Instant::START, shape, numbers))?;
    let event = Event {
        at: Instant::START,
        entity,
        kind: EventKind::Stop,
        flow: Some(entity),
        value: 1,
        cause: None,
    };
    tables.events.write(&[event, Event { flow: None, cause: Some(entity), ..event }])?;
    tables.flows.write(&[(entity, FlowTotals::default())])
}

/// A single flow, to which all of it happens.
fn catalog() -> Catalog {
    let [from, to, name] = ["a", "b", "a->b"].map(str::to_owned);
    let kind =
        EntityKind::Flow { from, to, priority: 0, demand_bps: Some(1), frame_bytes: 64, message: None };
    Catalog { entities: vec![Entity { name, kind }], overhead_bytes: 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_rehearsed_can_be_written() {
        let open = |_: &std::path::Path| -> std::io::Result<super::super::tables::Out> {
            Ok(Box::new(std::io::sink()))
        };
        let mut tables =
            super::Tables::create("".as_ref(), &super::catalog(), &Default::default(), open).unwrap();
        super::write(&mut tables).unwrap();
        let closed = tables.full().into_iter().filter_map(|table| table.take_part());
        assert!(closed.map(|file| file.unwrap().mark.bytes).all(|bytes| bytes > 100));
    }
}
