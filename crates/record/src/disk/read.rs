//! Reading a run back.

use super::tables::TOTALS;
use super::{CATALOG, EVENTS, FLOWS, MANIFEST, SERIES, SUMMARY, partial};
use crate::error::RecordError;
use crate::manifest::{FileMark, Manifest, parse_json, read, read_versioned};
use crate::{Catalog, EntityId, Event, EventKind, FlowTotals, Memory, Quantity, Recording, Sink};
use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use quell_proto::units::Instant;
use std::path::{Path, PathBuf};

/// Reads the manifest of a run.
pub fn read_manifest(dir: &Path) -> Result<Manifest, RecordError> {
    let path = dir.join(MANIFEST);
    if !path.exists() {
        if dir.is_file() {
            return Err(RecordError::NotAFolder { path: dir.to_owned() });
        }
        let killed =
            if dir.extension().is_some_and(|it| it == "partial") { dir.to_owned() } else { partial(dir) };
        if killed.is_dir() {
            return Err(RecordError::Unfinished { path: killed });
        }
        return Err(RecordError::Missing { path: dir.to_owned(), what: "a run" });
    }
    read_versioned(&path, "a run")
}

/// Reads what the run's author put into `summary.json`.
pub fn read_summary(dir: &Path) -> Result<serde_json::Value, RecordError> {
    let manifest = read_manifest(dir)?;
    let file = RunFile::read(dir, SUMMARY, &manifest)?;
    parse_json(&file.path, &file.octets)
}

/// Reads a run: whole files whose digest is the one the manifest states, or an error.
pub fn read_run(dir: &Path) -> Result<(Manifest, Recording), RecordError> {
    let manifest = read_manifest(dir)?;
    let catalog = RunFile::read(dir, CATALOG, &manifest)?;
    let catalog: Catalog = parse_json(&catalog.path, &catalog.octets)?;
    let mut memory = Memory::new(catalog.clone());
    read_series(&RunFile::read(dir, SERIES, &manifest)?, &catalog, &mut memory)?;
    read_events(&RunFile::read(dir, EVENTS, &manifest)?, &catalog, &mut memory)?;
    read_flows(&RunFile::read(dir, FLOWS, &manifest)?, &catalog, &mut memory)?;
    let recording = memory.finish(manifest.ending.complete);
    if recording.digest != manifest.digest {
        let message = format!("its digest is {}, the manifest says {}", recording.digest, manifest.digest);
        return Err(RecordError::damaged(dir, message));
    }
    Ok((manifest, recording))
}

/// A file of a run, known to be the one that was written.
pub(super) struct RunFile {
    pub(super) path: PathBuf,
    pub(super) octets: Bytes,
}

impl RunFile {
    fn read(dir: &Path, name: &'static str, manifest: &Manifest) -> Result<RunFile, RecordError> {
        let path = dir.join(name);
        let Some(mark) = manifest.files.get(name) else {
            return Err(RecordError::damaged(&dir.join(MANIFEST), format!("it does not list {name}")));
        };
        let octets = read(&path, "a file of this run")?;
        if octets.len() as u64 != mark.bytes {
            let message = format!("it has {} octets of {}", octets.len(), mark.bytes);
            return Err(RecordError::damaged(&path, message));
        }
        if FileMark::of(&octets) != *mark {
            return Err(RecordError::damaged(&path, "its octets are not those that were written"));
        }
        Ok(RunFile { path, octets: Bytes::from(octets) })
    }

    /// The batches of a table, with those of `columns` that it has.
    fn batches<'a>(
        &'a self,
        columns: &[&str],
    ) -> Result<impl Iterator<Item = Result<RecordBatch, RecordError>> + 'a, RecordError> {
        const ROWS: usize = 8 * 1024;
        // Parquet's own types say enough; the Arrow schema beside them is for other tools, and its parser panics
        // on octets it does not expect.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(self.octets.clone(), options);
        let builder = builder.map_err(|error| self.damaged(error))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(ROWS).build();
        let reader = reader.map_err(|error| self.damaged(error))?;
        Ok(reader.map(|batch| batch.map_err(|error| self.damaged(error))))
    }

    /// A column of the given type; it must be there.
    fn column<'a, A: Array + 'static>(
        &self,
        batch: &'a RecordBatch,
        name: &str,
    ) -> Result<&'a A, RecordError> {
        let column = batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref());
        column.ok_or_else(|| self.damaged(format!("it has no column `{name}` of the right type")))
    }

    fn entity(&self, catalog: &Catalog, id: u32) -> Result<EntityId, RecordError> {
        if (id as usize) < catalog.len() {
            Ok(EntityId(id))
        } else {
            Err(self.damaged(format!("it speaks of entity {id} of {}", catalog.len())))
        }
    }

    fn damaged(&self, message: impl std::fmt::Display) -> RecordError {
        RecordError::damaged(&self.path, message)
    }
}

pub(super) fn read_series(file: &RunFile, catalog: &Catalog, memory: &mut Memory) -> Result<(), RecordError> {
    let mut columns = vec!["time_ps", "entity_id"];
    columns.extend(Quantity::ALL.map(Quantity::name));
    // The row before: rows rise by time, then entity.
    let mut before: Option<(u64, Option<u32>)> = None;
    for batch in file.batches(&columns)? {
        let batch = batch?;
        let times: &UInt64Array = file.column(&batch, "time_ps")?;
        let entities: &UInt32Array = file.column(&batch, "entity_id")?;
        let quantities: Vec<(Quantity, &Int64Array)> = Quantity::ALL
            .into_iter()
            .filter(|quantity| batch.column_by_name(quantity.name()).is_some())
            .map(|quantity| Ok((quantity, file.column(&batch, quantity.name())?)))
            .collect::<Result<_, RecordError>>()?;
        for row in 0..batch.num_rows() {
            let (time, entity) = (times.value(row), value(entities, row));
            if before.is_some_and(|before| before >= (time, entity)) {
                return Err(file.damaged(format!("its rows at {time} ps are out of order")));
            }
            if before.is_none_or(|(earlier, _)| earlier < time) {
                memory.begin_samples(Instant::from_ps(time));
            }
            before = Some((time, entity));
            let Some(entity) = entity else { continue };
            let entity = file.entity(catalog, entity)?;
            for (quantity, column) in &quantities {
                if column.is_valid(row) {
                    memory.sample(entity, *quantity, column.value(row));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn read_events(file: &RunFile, catalog: &Catalog, memory: &mut Memory) -> Result<(), RecordError> {
    for batch in file.batches(&["time_ps", "kind", "entity_id", "flow_id", "value", "cause_id"])? {
        let batch = batch?;
        let times: &UInt64Array = file.column(&batch, "time_ps")?;
        let kinds: &StringArray = file.column(&batch, "kind")?;
        let entities: &UInt32Array = file.column(&batch, "entity_id")?;
        let flows: &UInt32Array = file.column(&batch, "flow_id")?;
        let values: &Int64Array = file.column(&batch, "value")?;
        // Format 1 knew no causes.
        let causes: Option<&UInt32Array> =
            batch.column_by_name("cause_id").map(|_| file.column(&batch, "cause_id")).transpose()?;
        for row in 0..batch.num_rows() {
            let name = kinds.value(row);
            let kind = EventKind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind =
                kind.ok_or_else(|| file.damaged(format!("it has an event of unknown kind `{name}`")))?;
            let entity = value(entities, row).ok_or_else(|| file.damaged("an event without an entity"))?;
            memory.event(Event {
                at: Instant::from_ps(times.value(row)),
                entity: file.entity(catalog, entity)?,
                kind,
                flow: value(flows, row).map(|flow| file.entity(catalog, flow)).transpose()?,
                value: values.value(row),
                cause: causes
                    .and_then(|causes| value(causes, row))
                    .map(|cause| file.entity(catalog, cause))
                    .transpose()?,
            });
        }
    }
    Ok(())
}

pub(super) fn read_flows(file: &RunFile, catalog: &Catalog, memory: &mut Memory) -> Result<(), RecordError> {
    let mut columns = vec!["flow_id"];
    columns.extend(TOTALS.map(|(name, ..)| name));
    for batch in file.batches(&columns)? {
        let batch = batch?;
        let flows: &UInt32Array = file.column(&batch, "flow_id")?;
        let mut rows = vec![FlowTotals::default(); batch.num_rows()];
        for (name, _, field) in TOTALS {
            let column: &UInt64Array = file.column(&batch, name)?;
            for (totals, number) in rows.iter_mut().zip(column.values()) {
                *field(totals) = *number;
            }
        }
        for (row, totals) in rows.into_iter().enumerate() {
            let flow = value(flows, row).ok_or_else(|| file.damaged("totals without a flow"))?;
            memory.flow(file.entity(catalog, flow)?, totals);
        }
    }
    Ok(())
}

fn value(column: &UInt32Array, row: usize) -> Option<u32> {
    column.is_valid(row).then(|| column.value(row))
}
