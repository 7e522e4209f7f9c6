//! The three Parquet tables of a run, written row group by row group.
//!
//! Tables are long and tidy: a row per sample instant and entity, per event, per flow; units in the column
//! names. Entities stand by name for people and other tools, and by number for our own reader.

use super::column::{Closed, Column, Content, Gaps, Words};
use super::{EVENTS, FLOWS, SERIES};
use crate::error::RecordError;
use crate::manifest::{FORMAT, FileMark, ManifestDraft};
use crate::rows::{Cell, Rows};
use crate::{Catalog, EntityClass, EntityId, EntityKind, Event, EventKind, FlowTotals, Quantity};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::io::{self, Write};
use std::iter;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

/// From so many rows on, more threads are worth it.
pub(super) const MANY: usize = 16 * 1024;
/// A row group ends with the first piece that gives it so many rows: about what is held at most, and what a killed run can lose.
/// What is said at one instant is one piece, however much it is.
const ROW_GROUP: usize = 128 * 1024;

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
        let catalog = Arc::new(catalog.clone());
        let table = |name, columns| Table::create(dir, name, columns, draft, &open);
        Ok(Tables {
            series: Series {
                table: table(SERIES, Series::<W>::columns(&catalog))?,
                lines: Lines::of(Arc::default(), &catalog),
                catalog: Arc::clone(&catalog),
            },
            events: Events {
                table: table(EVENTS, Events::<W>::columns(&catalog))?,
                catalog: Arc::clone(&catalog),
            },
            flows: Flows { table: table(FLOWS, Flows::<W>::columns())?, catalog },
        })
    }

    /// All is in them: what is to be closed, the longest last.
    pub(super) fn full(self) -> Vec<Table<W>> {
        vec![self.flows.table, self.events.table, self.series.table]
    }
}

/// `series.parquet`: a row for each sample instant and entity, a column for each quantity.
pub(super) struct Series<W: Write + Send> {
    table: Table<W>,
    catalog: Arc<Catalog>,
    /// Those of the rows written last.
    lines: Lines,
}

impl<W: Write + Send> Series<W> {
    fn columns(catalog: &Arc<Catalog>) -> Vec<(Field, Content)> {
        let mut columns = vec![
            number("time_ps", DataType::UInt64, false),
            number("entity_id", DataType::UInt32, true),
            name("entity", catalog),
            class(),
        ];
        columns.extend(Quantity::ALL.map(|quantity| number(quantity.name(), DataType::Int64, true)));
        columns
    }

    /// Writes what was said at several instants.
    pub(super) fn write(&mut self, rows: &Rows) -> Result<(), RecordError> {
        if self.lines.shape != *rows.shape() {
            self.lines = Lines::of(Arc::clone(rows.shape()), &self.catalog);
        }
        let Lines { entities, classes, cells, .. } = &self.lines;
        let instants = rows.times();
        let times = move || instants.iter().flat_map(|at| iter::repeat_n(at.ps() as i64, entities.len()));
        let entities_of_all = move || iter::repeat_n(entities, instants.len()).flatten().copied();
        let mut fills: Vec<Fill<'_>> = vec![
            Box::new(move |column| column.numbers(times())),
            Box::new(move |column| column.maybe_numbers(entities_of_all().map(number_of))),
            Box::new(move |column| column.maybe_words(entities_of_all().map(place_of))),
            Box::new(move |column| {
                column.maybe_words(iter::repeat_n(classes, instants.len()).flatten().copied());
            }),
        ];
        fills.extend(cells.iter().map(|cells| -> Fill<'_> {
            Box::new(move |column| {
                for row in (0..instants.len()).map(|row| rows.row(row)) {
                    column.numbers_among(&cells.gaps, cells.places.iter().map(|place| row[*place]));
                }
            })
        }));
        self.table.write(instants.len() * entities.len(), fills)
    }
}

/// The lines of the table that each instant has.
struct Lines {
    /// What each instant says.
    shape: Arc<Vec<Cell>>,
    /// The entity of each, and its class. An instant of which nothing was said still has a line, so that reading finds it.
    entities: Vec<Option<EntityId>>,
    classes: Vec<Option<u32>>,
    /// Where the values of each quantity are.
    cells: [Cells; Quantity::ALL.len()],
}

/// Where the values of one quantity are.
#[derive(Default)]
struct Cells {
    /// The lines that have one.
    gaps: Gaps,
    /// So many lines are known so far.
    lines: usize,
    /// Their places among what was said.
    places: Vec<usize>,
}

impl Cells {
    fn add(&mut self, line: usize, place: usize) {
        self.fill_up_to(line, false);
        self.fill_up_to(line + 1, true);
        self.places.push(place);
    }

    fn fill_up_to(&mut self, lines: usize, is_there: bool) {
        let more = lines - self.lines;
        match self.gaps.last_mut() {
            _ if more == 0 => {}
            Some((before, count)) if *before == is_there => *count += more,
            _ => self.gaps.push((is_there, more)),
        }
        self.lines = lines;
    }
}

impl Lines {
    fn of(shape: Arc<Vec<Cell>>, catalog: &Catalog) -> Lines {
        let (mut entities, mut cells) = (Vec::new(), Quantity::ALL.map(|_| Cells::default()));
        for (place, &(entity, quantity)) in shape.iter().enumerate() {
            if entities.last() != Some(&Some(entity)) {
                entities.push(Some(entity));
            }
            cells[quantity as usize].add(entities.len() - 1, place);
        }
        if shape.is_empty() {
            entities.push(None);
        }
        cells.iter_mut().for_each(|cells| cells.fill_up_to(entities.len(), false));
        let classes = entities.iter().map(|entity| entity.map(|entity| class_of(entity, catalog))).collect();
        Lines { shape, entities, classes, cells }
    }
}

/// `events.parquet`: a row for each event, in order.
pub(super) struct Events<W: Write + Send> {
    table: Table<W>,
    catalog: Arc<Catalog>,
}

impl<W: Write + Send> Events<W> {
    fn columns(catalog: &Arc<Catalog>) -> Vec<(Field, Content)> {
        vec![
            number("time_ps", DataType::UInt64, false),
            few("kind", false, EventKind::ALL.map(EventKind::name).to_vec()),
            number("entity_id", DataType::UInt32, true),
            name("entity", catalog),
            class(),
            number("flow_id", DataType::UInt32, true),
            name("flow", catalog),
            number("value", DataType::Int64, false),
            number("cause_id", DataType::UInt32, true),
            name("cause", catalog),
        ]
    }

    pub(super) fn write(&mut self, events: &[Event]) -> Result<(), RecordError> {
        let catalog = &self.catalog;
        let all = || events.iter();
        self.table.write(
            events.len(),
            vec![
                Box::new(move |column| column.numbers(all().map(|event| event.at.ps() as i64))),
                Box::new(move |column| column.words(all().map(|event| event.kind as u32))),
                Box::new(move |column| column.numbers(all().map(|event| event.entity.0.into()))),
                Box::new(move |column| column.words(all().map(|event| event.entity.0))),
                Box::new(move |column| column.words(all().map(|event| class_of(event.entity, catalog)))),
                Box::new(move |column| column.maybe_numbers(all().map(|event| number_of(event.flow)))),
                Box::new(move |column| column.maybe_words(all().map(|event| place_of(event.flow)))),
                Box::new(move |column| column.numbers(all().map(|event| event.value))),
                Box::new(move |column| column.maybe_numbers(all().map(|event| number_of(event.cause)))),
                Box::new(move |column| column.maybe_words(all().map(|event| place_of(event.cause)))),
            ],
        )
    }
}

/// `flows.parquet`: a row for each flow.
pub(super) struct Flows<W: Write + Send> {
    table: Table<W>,
    catalog: Arc<Catalog>,
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
    fn columns() -> Vec<(Field, Content)> {
        let text = |name: &str| (Field::new(name, DataType::Utf8, false), Content::Texts);
        let mut columns = vec![
            number("flow_id", DataType::UInt32, true),
            text("flow"),
            text("from"),
            text("to"),
            number("priority", DataType::UInt8, false),
            number("demand_bps", DataType::UInt64, true),
        ];
        columns.extend(TOTALS.map(|(name, ..)| number(name, DataType::UInt64, false)));
        columns
    }

    pub(super) fn write(&mut self, flows: &[(EntityId, FlowTotals)]) -> Result<(), RecordError> {
        let catalog = &self.catalog;
        let all = move || flows.iter().map(|(id, _)| Flow::of(*id, catalog));
        let mut fills: Vec<Fill<'_>> = vec![
            Box::new(move |column| column.numbers(flows.iter().map(|(id, _)| id.0.into()))),
            Box::new(move |column| column.texts(all().map(|flow| flow.name))),
            Box::new(move |column| column.texts(all().map(|flow| flow.from))),
            Box::new(move |column| column.texts(all().map(|flow| flow.to))),
            Box::new(move |column| column.numbers(all().map(|flow| flow.priority.into()))),
            Box::new(move |column| {
                column.maybe_numbers(all().map(|flow| flow.demand_bps.map(|rate| rate as i64)));
            }),
        ];
        fills.extend(TOTALS.map(|(_, read, _)| -> Fill<'_> {
            Box::new(move |column| column.numbers(flows.iter().map(|(_, totals)| read(totals) as i64)))
        }));
        self.table.write(flows.len(), fills)
    }
}

/// What the catalogue says of a flow.
struct Flow<'a> {
    name: &'a str,
    from: &'a str,
    to: &'a str,
    priority: u8,
    demand_bps: Option<u64>,
}

impl Flow<'_> {
    fn of(id: EntityId, catalog: &Catalog) -> Flow<'_> {
        let entity = catalog.get(id);
        let EntityKind::Flow { from, to, priority, demand_bps, .. } = &entity.kind else {
            panic!("totals of `{}`, which is no flow", entity.name);
        };
        Flow { name: &entity.name, from, to, priority: *priority, demand_bps: *demand_bps }
    }
}

fn number(name: &str, kind: DataType, may_lack: bool) -> (Field, Content) {
    (Field::new(name, kind, may_lack), Content::Numbers)
}

/// The name of an entity. Keys are signed, because pandas takes no unsigned ones.
fn name(name: &str, catalog: &Arc<Catalog>) -> (Field, Content) {
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    (Field::new(name, kind, true), Content::Words(Words::Entities(Arc::clone(catalog))))
}

fn few(name: &str, may_lack: bool, words: Vec<&'static str>) -> (Field, Content) {
    let kind = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    (Field::new(name, kind, may_lack), Content::Words(Words::Few(words)))
}

/// The class of an entity.
fn class() -> (Field, Content) {
    few("class", true, EntityClass::ALL.map(EntityClass::name).to_vec())
}

fn class_of(entity: EntityId, catalog: &Catalog) -> u32 {
    catalog.get(entity).class() as u32
}

fn number_of(entity: Option<EntityId>) -> Option<i64> {
    entity.map(|entity| entity.0.into())
}

fn place_of(entity: Option<EntityId>) -> Option<u32> {
    entity.map(|entity| entity.0)
}

/// How rows are added to a column.
type Fill<'a> = Box<dyn Fn(&mut Column) + Send + 'a>;

/// One Parquet file on its way to disk.
pub(super) struct Table<W: Write + Send> {
    name: &'static str,
    path: PathBuf,
    file: SerializedFileWriter<Marked<W>>,
    /// The columns of the row group in hand, and its rows.
    columns: Vec<Column>,
    rows: usize,
    /// So many encode the columns of many rows: those that simulate, which have nothing else to do once totals are told, and the one
    /// that writes.
    threads: usize,
}

impl<W: Write + Send> Table<W> {
    fn create(
        dir: &Path,
        name: &'static str,
        columns: Vec<(Field, Content)>,
        draft: &ManifestDraft,
        open: impl Fn(&Path) -> io::Result<W>,
    ) -> Result<Table<W>, RecordError> {
        let path = dir.join(name);
        let file = open(&path).map_err(|error| RecordError::io(&path, "write", error))?;
        let (fields, contents): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let file = begun(file, &Schema::new(fields), draft).map_err(|error| refused(&path, error))?;
        let about = file.schema_descr().columns().iter();
        let columns = about.zip(contents).map(|(about, content)| Column::new(Arc::clone(about), content));
        let columns = columns.collect();
        let threads = draft.threads as usize + 1;
        Ok(Table { name, path, file, columns, rows: 0, threads })
    }

    /// Adds rows, told how to fill each column of the schema.
    fn write(&mut self, rows: usize, fills: Vec<Fill<'_>>) -> Result<(), RecordError> {
        assert_eq!(fills.len(), self.columns.len(), "a column for each of the schema");
        self.add(rows, fills).map_err(|error| refused(&self.path, error))
    }

    fn add(&mut self, rows: usize, fills: Vec<Fill<'_>>) -> Result<(), ParquetError> {
        self.rows += rows;
        let ends_group = self.rows >= ROW_GROUP;
        let mut work: Vec<_> = self.columns.iter_mut().zip(fills).collect();
        let closed = side_by_side(threads_for(rows, self.threads), &mut work, |(column, fill)| {
            fill(column);
            column.end_full_page()?;
            if ends_group { column.close().map(Some) } else { Ok(None) }
        })?;
        if ends_group { self.put_group(closed.into_iter().flatten()) } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let closed = side_by_side(threads_for(self.rows, self.threads), &mut self.columns, Column::close)?;
        self.put_group(closed)
    }

    fn put_group(&mut self, closed: impl IntoIterator<Item = Closed>) -> Result<(), ParquetError> {
        self.rows = 0;
        let mut group = self.file.next_row_group()?;
        for (octets, known) in closed {
            group.append_column(&octets, known)?;
        }
        group.close().map(|_| ())
    }

    pub(super) fn finish(mut self) -> Result<Written, RecordError> {
        let ended = self.end_group().and_then(|()| self.file.finish().map(|_| ()));
        ended.map_err(|error| refused(&self.path, error))?;
        let file = self.file.inner_mut();
        file.flush().map_err(|error| RecordError::io(&self.path, "write", error))?;
        Ok(Written { name: self.name, mark: file.mark() })
    }
}

/// So many threads, of `most`, are worth it for the columns of so many rows.
fn threads_for(rows: usize, most: usize) -> usize {
    if rows < MANY { 1 } else { most }
}

/// Does the same with all of these, on at most so many threads, this one among them. What comes out is in their order.
fn side_by_side<T: Send, R: Send>(
    threads: usize,
    all: &mut [T],
    work: impl Fn(&mut T) -> Result<R, ParquetError> + Sync,
) -> Result<Vec<R>, ParquetError> {
    let share = all.len().div_ceil(threads.clamp(1, all.len().max(1))).max(1);
    let of_share = |share: &mut [T]| share.iter_mut().map(&work).collect::<Result<Vec<R>, _>>();
    thread::scope(|scope| {
        let (own, others) = all.split_at_mut(share.min(all.len()));
        let others: Vec<_> = others.chunks_mut(share).map(|share| scope.spawn(|| of_share(share))).collect();
        let joined = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        let done = iter::once(of_share(own)).chain(others.into_iter().map(joined));
        done.collect::<Result<Vec<_>, _>>().map(|done| done.into_iter().flatten().collect())
    })
}

/// Begins a file with this schema.
fn begun<W: Write + Send>(
    file: W,
    schema: &Schema,
    draft: &ManifestDraft,
) -> Result<SerializedFileWriter<Marked<W>>, ParquetError> {
    let said = |key: &str, value: String| KeyValue::new(format!("quell.{key}"), value);
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("quell {}", draft.tool_version))
        .set_key_value_metadata(Some(vec![
            said("format", FORMAT.to_string()),
            said("scenario", draft.scenario.id.clone()),
            said("configuration", draft.configuration.clone()),
            said("seed", draft.seed.to_string()),
        ]))
        .build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    let schema = ArrowSchemaConverter::new().convert(schema)?.root_schema_ptr();
    SerializedFileWriter::new(Marked::new(file), schema, Arc::new(properties))
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
