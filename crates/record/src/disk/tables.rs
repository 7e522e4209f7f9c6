//! The three Parquet tables of a run, written row group by row group.
//!
//! Tables are long and tidy: a row per sample instant and entity, per event, per flow; units in the column
//! names. Entities stand by name for people and other tools, and by number for our own reader.

use super::{EVENTS, FLOWS, SERIES};
use crate::error::RecordError;
use crate::manifest::{FORMAT, FileMark, ManifestDraft};
use crate::rows::{Cell, Rows};
use crate::{Catalog, EntityClass, EntityId, EntityKind, Event, EventKind, FlowTotals, Quantity};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, StringArray, UInt8Array,
    UInt32Array, UInt64Array, new_null_array,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::iter;
use std::mem;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

/// From so many rows on, more threads are worth it.
pub(super) const MANY: usize = 16 * 1024;
/// Rows of a row group: what the encoder holds at most, and what a killed run can lose.
const ROW_GROUP: usize = 128 * 1024;
/// Rows of a page, which is compressed as soon as it is full: not too many are left for the end.
const PAGE: usize = 8 * 1024;

/// The tables of one run, open.
pub(super) struct Tables<W: Write + Send> {
    pub(super) series: Series<W>,
    pub(super) events: Events<W>,
    pub(super) flows: Flows<W>,
}

/// A closed table, and how its file is known.
pub(super) struct Written {
    pub(super) name: &'static str,
    pub(super) mark: FileMark,
}

impl<W: Write + Send> Tables<W> {
    pub(super) fn create(
        dir: &Path,
        catalog: &Catalog,
        draft: &ManifestDraft,
        open: impl Fn(&Path) -> io::Result<W>,
    ) -> Result<Tables<W>, RecordError> {
        let names = Names::of(catalog);
        let table = |name, schema| Table::create(dir, name, schema, draft, &open);
        Ok(Tables {
            series: Series {
                table: table(SERIES, Series::<W>::schema())?,
                names: names.clone(),
                lines: Lines::of(Arc::default()),
            },
            events: Events { table: table(EVENTS, Events::<W>::schema())?, names },
            flows: Flows { table: table(FLOWS, Flows::<W>::schema())?, catalog: catalog.clone() },
        })
    }

    /// Makes ready for the first rows. It takes a millisecond, and a short run would wait for it at its end.
    pub(super) fn prepare(&mut self) -> Result<(), RecordError> {
        self.series.table.prepare()?;
        self.events.table.prepare()?;
        self.flows.table.prepare()
    }
}

/// `series.parquet`: a row for each sample instant and entity, a column for each quantity.
pub(super) struct Series<W: Write + Send> {
    table: Table<W>,
    names: Names,
    /// Those of the rows written last.
    lines: Lines,
}

impl<W: Write + Send> Series<W> {
    fn schema() -> SchemaRef {
        let mut fields = vec![
            Field::new("time_ps", DataType::UInt64, false),
            Field::new("entity_id", DataType::UInt32, true),
            Field::new("entity", Names::entity_type(), true),
            Field::new("class", Names::class_type(), true),
        ];
        fields.extend(Quantity::ALL.map(|quantity| Field::new(quantity.name(), DataType::Int64, true)));
        Arc::new(Schema::new(fields))
    }

    /// Writes what was said at several instants.
    pub(super) fn write(&mut self, rows: &Rows) -> Result<(), RecordError> {
        let instants = rows.times().len();
        if self.lines.shape != *rows.shape() {
            self.lines = Lines::of(Arc::clone(rows.shape()));
        }
        let lines = &self.lines;
        let times = rows.times().iter().flat_map(|at| iter::repeat_n(at.ps(), lines.entities.len()));
        let entities = Entities::of(iter::repeat_n(&lines.entities, instants).flatten().copied());
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(times)),
            entities.ids(),
            entities.names(&self.names),
            entities.classes(&self.names),
        ];
        columns.extend(lines.cells.iter().map(|cells| -> ArrayRef {
            if cells.is_empty() {
                return new_null_array(&DataType::Int64, entities.len());
            }
            let mut values = vec![0; entities.len()];
            let mut said = vec![false; entities.len()];
            for row in 0..instants {
                let (values, said) =
                    (&mut values[row * lines.entities.len()..], &mut said[row * lines.entities.len()..]);
                for &(line, cell) in cells {
                    values[line] = rows.row(row)[cell];
                    said[line] = true;
                }
            }
            Arc::new(Int64Array::new(values.into(), Some(said.into())))
        }));
        self.table.write(&columns)
    }

    pub(super) fn finish(self) -> Result<Written, RecordError> {
        self.table.finish()
    }
}

/// The lines of the table that each instant has.
struct Lines {
    /// What each instant says.
    shape: Arc<Vec<Cell>>,
    /// The entity of each. An instant of which nothing was said still has a line, so that reading finds it.
    entities: Vec<Option<EntityId>>,
    /// For each quantity, the lines that have a value of it, and its place among what was said.
    cells: [Vec<(usize, usize)>; Quantity::ALL.len()],
}

impl Lines {
    fn of(shape: Arc<Vec<Cell>>) -> Lines {
        let (mut entities, mut cells) = (Vec::new(), Quantity::ALL.map(|_| Vec::new()));
        for (place, &(entity, quantity)) in shape.iter().enumerate() {
            if entities.last() != Some(&Some(entity)) {
                entities.push(Some(entity));
            }
            cells[quantity as usize].push((entities.len() - 1, place));
        }
        if shape.is_empty() {
            entities.push(None);
        }
        Lines { shape, entities, cells }
    }
}

/// `events.parquet`: a row for each event, in order.
pub(super) struct Events<W: Write + Send> {
    table: Table<W>,
    names: Names,
}

impl<W: Write + Send> Events<W> {
    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("time_ps", DataType::UInt64, false),
            Field::new("kind", Names::class_type(), false),
            Field::new("entity_id", DataType::UInt32, true),
            Field::new("entity", Names::entity_type(), true),
            Field::new("class", Names::class_type(), true),
            Field::new("flow_id", DataType::UInt32, true),
            Field::new("flow", Names::entity_type(), true),
            Field::new("value", DataType::Int64, false),
            Field::new("cause_id", DataType::UInt32, true),
            Field::new("cause", Names::entity_type(), true),
        ]))
    }

    pub(super) fn write(&mut self, events: &[Event]) -> Result<(), RecordError> {
        let entities = Entities::of(events.iter().map(|event| Some(event.entity)));
        let flows = Entities::of(events.iter().map(|event| event.flow));
        let causes = Entities::of(events.iter().map(|event| event.cause));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(events.iter().map(|event| event.at.ps()))),
            self.names.of_kinds(events.iter().map(|event| event.kind)),
            entities.ids(),
            entities.names(&self.names),
            entities.classes(&self.names),
            flows.ids(),
            flows.names(&self.names),
            Arc::new(Int64Array::from_iter_values(events.iter().map(|event| event.value))),
            causes.ids(),
            causes.names(&self.names),
        ];
        self.table.write(&columns)
    }

    pub(super) fn finish(self) -> Result<Written, RecordError> {
        self.table.finish()
    }
}

/// `flows.parquet`: a row for each flow.
pub(super) struct Flows<W: Write + Send> {
    table: Table<W>,
    catalog: Catalog,
}

/// A column of totals: its name, unit included, and how it is read and written.
type Total = (&'static str, fn(&FlowTotals) -> u64, fn(&mut FlowTotals) -> &mut u64);

/// The columns of totals, in order.
pub(super) const TOTALS: [Total; 11] = [
    ("offered_bytes", |it| it.offered_bytes, |it| &mut it.offered_bytes),
    ("sent_bytes", |it| it.sent_bytes, |it| &mut it.sent_bytes),
    ("delivered_bytes", |it| it.delivered_bytes, |it| &mut it.delivered_bytes),
    ("delivered_frames", |it| it.delivered_frames, |it| &mut it.delivered_frames),
    ("lost_frames", |it| it.lost_frames, |it| &mut it.lost_frames),
    ("reordered_frames", |it| it.reordered_frames, |it| &mut it.reordered_frames),
    ("cnms_received", |it| it.cnms_received, |it| &mut it.cnms_received),
    ("latency_sum_ps", |it| it.latency_sum_ps, |it| &mut it.latency_sum_ps),
    ("latency_max_ps", |it| it.latency_max_ps, |it| &mut it.latency_max_ps),
    ("retransmitted_frames", |it| it.retransmitted_frames, |it| &mut it.retransmitted_frames),
    ("timeouts", |it| it.timeouts, |it| &mut it.timeouts),
];

impl<W: Write + Send> Flows<W> {
    fn schema() -> SchemaRef {
        let mut fields = vec![
            Field::new("flow_id", DataType::UInt32, true),
            Field::new("flow", DataType::Utf8, false),
            Field::new("from", DataType::Utf8, false),
            Field::new("to", DataType::Utf8, false),
            Field::new("priority", DataType::UInt8, false),
            Field::new("demand_bps", DataType::UInt64, true),
        ];
        fields.extend(TOTALS.map(|(name, ..)| Field::new(name, DataType::UInt64, false)));
        Arc::new(Schema::new(fields))
    }

    pub(super) fn write(&mut self, flows: &[(EntityId, FlowTotals)]) -> Result<(), RecordError> {
        let entities = || flows.iter().map(|(id, _)| self.catalog.get(*id));
        let (mut from, mut to, mut priority, mut demand) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for entity in entities() {
            let EntityKind::Flow { from: sender, to: receiver, priority: class, demand_bps, .. } =
                &entity.kind
            else {
                panic!("totals of `{}`, which is no flow", entity.name);
            };
            from.push(sender.as_str());
            to.push(receiver.as_str());
            priority.push(*class);
            demand.push(*demand_bps);
        }
        let mut columns: Vec<ArrayRef> = vec![
            Entities::of(flows.iter().map(|(id, _)| Some(*id))).ids(),
            Arc::new(StringArray::from_iter_values(entities().map(|entity| &entity.name))),
            Arc::new(StringArray::from(from)),
            Arc::new(StringArray::from(to)),
            Arc::new(UInt8Array::from(priority)),
            Arc::new(UInt64Array::from(demand)),
        ];
        for (_, read, _) in TOTALS {
            columns.push(Arc::new(UInt64Array::from_iter_values(flows.iter().map(|(_, it)| read(it)))));
        }
        self.table.write(&columns)
    }

    pub(super) fn finish(self) -> Result<Written, RecordError> {
        self.table.finish()
    }
}

/// The words that columns point into instead of repeating them.
#[derive(Clone)]
struct Names {
    entities: ArrayRef,
    /// The class of each entity, by its number in `classes`.
    class_of: Arc<[i8]>,
    classes: ArrayRef,
    kinds: ArrayRef,
}

impl Names {
    fn of(catalog: &Catalog) -> Names {
        let entities = StringArray::from_iter_values(catalog.entities.iter().map(|entity| &entity.name));
        Names {
            entities: Arc::new(entities),
            class_of: catalog.entities.iter().map(|entity| entity.class() as i8).collect(),
            classes: Arc::new(StringArray::from_iter_values(EntityClass::ALL.map(EntityClass::name))),
            kinds: Arc::new(StringArray::from_iter_values(EventKind::ALL.map(EventKind::name))),
        }
    }

    // Signed keys, because pandas takes no unsigned ones.
    fn entity_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn class_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
    }

    fn of_kinds(&self, kinds: impl Iterator<Item = EventKind>) -> ArrayRef {
        let kinds = Int8Array::from_iter_values(kinds.map(|kind| kind as i8));
        Arc::new(DictionaryArray::<Int8Type>::new(kinds, Arc::clone(&self.kinds)))
    }
}

/// The entities that rows speak of, by number; not every row has one.
struct Entities(UInt32Array);

impl Entities {
    fn of(entities: impl Iterator<Item = Option<EntityId>> + Clone) -> Entities {
        let numbers = entities.clone().map(|entity| entity.map_or(0, |entity| entity.0)).collect();
        let known: Vec<bool> = entities.map(|entity| entity.is_some()).collect();
        Entities(UInt32Array::new(numbers, Some(known.into())))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn ids(&self) -> ArrayRef {
        Arc::new(self.0.clone())
    }

    fn names(&self, names: &Names) -> ArrayRef {
        let name = |number: &u32| i32::try_from(*number).expect("fewer than 2^31 entities");
        let keys = Int32Array::new(self.0.values().iter().map(name).collect(), self.0.nulls().cloned());
        Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(&names.entities)))
    }

    fn classes(&self, names: &Names) -> ArrayRef {
        let class = |number: &u32| names.class_of.get(*number as usize).copied().unwrap_or(0);
        let keys = Int8Array::new(self.0.values().iter().map(class).collect(), self.0.nulls().cloned());
        Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::clone(&names.classes)))
    }
}

/// One Parquet file on its way to disk.
struct Table<W: Write + Send> {
    name: &'static str,
    path: PathBuf,
    schema: SchemaRef,
    file: SerializedFileWriter<Marked<W>>,
    factory: ArrowRowGroupWriterFactory,
    /// The columns of the row group in hand, and its rows.
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
    /// So many encode the columns of many rows: those that simulate, which have nothing else to do once totals are told, and the one
    /// that writes.
    threads: usize,
}

impl<W: Write + Send> Table<W> {
    fn create(
        dir: &Path,
        name: &'static str,
        schema: SchemaRef,
        draft: &ManifestDraft,
        open: impl Fn(&Path) -> io::Result<W>,
    ) -> Result<Table<W>, RecordError> {
        let path = dir.join(name);
        let file = open(&path).map_err(|error| RecordError::io(&path, "write", error))?;
        let properties = properties(draft, &schema);
        let begun = ArrowWriter::try_new(Marked::new(file), Arc::clone(&schema), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer);
        let (file, factory) = begun.map_err(|error| refused(&path, error))?;
        let threads = draft.threads as usize + 1;
        Ok(Table { name, path, schema, file, factory, columns: Vec::new(), rows: 0, threads })
    }

    fn prepare(&mut self) -> Result<(), RecordError> {
        self.begin_group().map_err(|error| refused(&self.path, error))
    }

    /// Adds rows, given as columns in the order of the schema.
    fn write(&mut self, columns: &[ArrayRef]) -> Result<(), RecordError> {
        assert_eq!(columns.len(), self.schema.fields().len(), "a column for each of the schema");
        let rows = columns.iter().map(Array::len).max().unwrap_or(0);
        let mut written = 0;
        while written < rows {
            let fit = (rows - written).min(ROW_GROUP - self.rows);
            let part: Vec<_> = columns.iter().map(|column| column.slice(written, fit)).collect();
            self.add(&part, fit).map_err(|error| refused(&self.path, error))?;
            written += fit;
        }
        Ok(())
    }

    fn add(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), ParquetError> {
        self.begin_group()?;
        let fields = self.schema.fields().iter();
        let mut work: Vec<_> = self.columns.iter_mut().zip(fields.zip(columns)).collect();
        let threads = if rows < MANY { 1 } else { self.threads.clamp(1, work.len()) };
        let share = work.len().div_ceil(threads);
        thread::scope(|scope| {
            let (own, others) = work.split_at_mut(share);
            let others: Vec<_> =
                others.chunks_mut(share).map(|share| scope.spawn(|| encode(share))).collect();
            let joined = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
            };
            let done = iter::once(encode(own)).chain(others.into_iter().map(joined));
            done.collect::<Result<(), ParquetError>>()
        })?;
        self.rows += rows;
        if self.rows >= ROW_GROUP { self.end_group() } else { Ok(()) }
    }

    fn begin_group(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in mem::take(&mut self.columns) {
            column.close()?.append_to_row_group(&mut group)?;
        }
        group.close().map(|_| ())
    }

    fn finish(mut self) -> Result<Written, RecordError> {
        let ended = self.end_group().and_then(|()| self.file.finish().map(|_| ()));
        ended.map_err(|error| refused(&self.path, error))?;
        let file = self.file.inner_mut();
        file.flush().map_err(|error| RecordError::io(&self.path, "write", error))?;
        Ok(Written { name: self.name, mark: file.mark() })
    }
}

/// A column on its way into a file, its place in the schema, and what is added to it.
type Added<'a> = (&'a mut ArrowColumnWriter, (&'a FieldRef, &'a ArrayRef));

fn encode(columns: &mut [Added<'_>]) -> Result<(), ParquetError> {
    for (column, (field, values)) in columns {
        // None of our columns is a structure: each is its own only leaf.
        for leaf in compute_leaves(field, values)? {
            column.write(&leaf)?;
        }
    }
    Ok(())
}

/// Numbers are stored as differences. Letting Parquet try dictionaries on them as well doubles the time and saves nothing; nor
/// does it where there are a few short words, or names that each stand once: those are left to the compression. Which word is the
/// least and which the greatest, nobody asks.
fn properties(draft: &ManifestDraft, schema: &Schema) -> WriterProperties {
    let said = |key: &str, value: String| KeyValue::new(format!("quell.{key}"), value);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_data_page_row_count_limit(PAGE)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(format!("quell {}", draft.tool_version))
        .set_key_value_metadata(Some(vec![
            said("format", FORMAT.to_string()),
            said("scenario", draft.scenario.id.clone()),
            said("configuration", draft.configuration.clone()),
            said("seed", draft.seed.to_string()),
        ]));
    for field in schema.fields() {
        let (name, kind) = (field.name().as_str(), field.data_type());
        let column = ColumnPath::from(name);
        let stand_once = name == "flow" && *kind == DataType::Utf8;
        if kind.is_integer() || ["class", "kind"].contains(&name) || stand_once {
            properties = properties.set_column_dictionary_enabled(column.clone(), false);
        }
        properties = if kind.is_integer() {
            properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
        } else {
            properties.set_column_statistics_enabled(column, EnabledStatistics::None)
        };
    }
    properties.build()
}

/// What the disk said, taken out of what Parquet made of it.
fn refused(path: &Path, error: ParquetError) -> RecordError {
    let error = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    RecordError::io(path, "write", error)
}

/// Counts and hashes what passes through, so that a file is known without reading it again.
struct Marked<W> {
    inner: W,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl<W: Write> Marked<W> {
    fn new(inner: W) -> Marked<W> {
        Marked { inner, bytes: 0, hasher: blake3::Hasher::new() }
    }

    fn mark(&self) -> FileMark {
        FileMark { bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

impl<W: Write> Write for Marked<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(octets)?;
        self.hasher.update(&octets[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
