use super::read::{RunFile, read_events, read_flows, read_series};
use super::*;
use crate::manifest::{Ending, Manifest, ManifestDraft, ScenarioText};
use crate::testing::{catalog, tell};
use crate::{
    Catalog, Entity, EntityId, EntityKind, Event, EventKind, Fault, Memory, Quantity, Recording, Sink, Tee,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::record::{Field, Row};
use proptest::prelude::*;
use quell_proto::units::Instant;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::{TempDir, tempdir};

fn draft() -> ManifestDraft {
    ManifestDraft {
        tool_version: "0.0.1".into(),
        scenario: ScenarioText {
            id: "a/b".into(),
            file: "b.toml".into(),
            text: "title = 1\n".into(),
            base: None,
            data: Default::default(),
        },
        configuration: "none/short".into(),
        seed: u64::MAX,
        resolved: Vec::new(),
        started: "2026-11-16T00:00:00Z".into(),
        threads: 1,
    }
}

fn ending(complete: bool) -> Ending {
    Ending { complete, simulated_ps: 3, events: 4, frame_hops: 5, cell_hops: 0, wall_seconds: 0.1 }
}

/// Writes the story and returns it as it was in memory.
fn write(dir: &Path, samples: u64, complete: bool) -> (Manifest, Recording) {
    let disk = DiskWriter::create(dir, &catalog(), draft()).unwrap();
    let mut both = Tee(disk, Memory::new(catalog()));
    tell(samples, &mut both);
    let Tee(disk, memory) = both;
    (disk.finish(ending(complete), &json!({ "jain": 0.99 })).unwrap(), memory.finish(complete))
}

fn story(samples: u64, complete: bool) -> (TempDir, PathBuf) {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("seed-1");
    write(&dir, samples, complete);
    (temp, dir)
}

#[test]
fn a_run_read_back_is_the_run_that_was_written() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("runs/x/seed-1");
    let (manifest, recording) = write(&dir, 5, true);
    assert_eq!(manifest.digest, recording.digest);
    assert_eq!(read_run(&dir).unwrap(), (manifest, recording));
    assert_eq!(read_summary(&dir).unwrap(), json!({ "jain": 0.99 }));
    assert!(!partial(&dir).exists());
}

#[test]
fn what_is_kept_in_memory_is_what_was_written() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("kept");
    let mut disk = DiskWriter::create_and_keep(&dir, &catalog(), draft()).unwrap();
    tell(3000, &mut disk);
    let recording = disk.recording(true).unwrap();
    assert_eq!(disk.recording(true), None, "given away once");
    disk.finish(ending(true), &json!({})).unwrap();
    assert_eq!(read_run(&dir).unwrap().1, recording);
    let mut memory = Memory::new(catalog());
    tell(3000, &mut memory);
    assert_eq!(memory.finish(true), recording);
}

#[test]
fn a_long_run_is_written_in_several_row_groups() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("long");
    let (manifest, recording) = write(&dir, 20_000, true);
    assert_eq!(read_run(&dir).unwrap(), (manifest, recording));
    let file = File::open(dir.join(SERIES)).unwrap();
    let groups = SerializedFileReader::new(file).unwrap().metadata().row_groups().to_vec();
    let rows: Vec<_> = groups.iter().map(RowGroupMetaData::num_rows).collect();
    let (last, full) = rows.split_last().unwrap();
    assert!(
        !full.is_empty()
            && full.iter().all(|rows| (128 * 1024..132 * 1024).contains(rows))
            && *last < 128 * 1024,
        "{rows:?}"
    );
}

#[test]
fn a_run_of_nothing_can_be_read() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("empty");
    let disk = DiskWriter::create(&dir, &Catalog::default(), draft()).unwrap();
    disk.finish(ending(true), &json!(null)).unwrap();
    let (_, recording) = read_run(&dir).unwrap();
    assert_eq!(recording, Memory::new(Catalog::default()).finish(true));
}

#[test]
fn an_interrupted_run_is_readable_and_says_what_it_is() {
    let (_temp, dir) = story(4, false);
    let (manifest, recording) = read_run(&dir).unwrap();
    assert!(!manifest.ending.complete && !recording.complete);
    assert_eq!(recording.times.len(), 4);
}

#[test]
fn an_interrupted_run_gives_way_to_a_finished_one_and_that_to_none() {
    let (_temp, dir) = story(2, false);
    let again = DiskWriter::create(&dir, &catalog(), draft()).unwrap();
    assert_eq!(read_run(&dir).unwrap().1.times.len(), 2, "kept until the new run ends");
    drop(again);
    let (_, recording) = write(&dir, 6, true);
    assert_eq!(read_run(&dir).unwrap().1, recording);
    let error = DiskWriter::create(&dir, &catalog(), draft()).err().unwrap();
    assert!(matches!(error, RecordError::Finished { .. }), "{error}");
    assert_eq!(read_run(&dir).unwrap().1, recording);
}

#[test]
fn a_killed_run_is_not_taken_for_a_run_and_its_remains_are_replaced() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("seed-1");
    let mut killed = DiskWriter::create(&dir, &catalog(), draft()).unwrap();
    tell(3, &mut killed);
    drop(killed);
    for name in [SERIES, EVENTS, FLOWS] {
        let file = File::open(partial(&dir).join(name)).unwrap();
        assert!(SerializedFileReader::new(file).is_ok(), "{name} is closed");
    }
    for path in [dir.clone(), partial(&dir)] {
        let error = read_run(&path).unwrap_err();
        assert!(matches!(error, RecordError::Unfinished { .. }), "{error}");
    }
    write(&dir, 3, true);
    assert!(read_run(&dir).is_ok() && !partial(&dir).exists());
}

#[test]
fn what_is_not_ours_is_never_removed() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("seed-1");
    fs::create_dir(partial(&dir)).unwrap();
    fs::write(partial(&dir).join("thesis.tex"), "years").unwrap();
    let error = DiskWriter::create(&dir, &catalog(), draft()).err().unwrap();
    assert!(error.to_string().contains("holds `thesis.tex`"), "{error}");
    assert!(partial(&dir).join("thesis.tex").exists());
}

#[test]
fn a_file_where_the_folder_should_be_is_named() {
    let temp = tempdir().unwrap();
    let file = temp.path().join("results");
    fs::write(&file, "").unwrap();
    for dir in [file.clone(), file.join("runs/seed-1")] {
        let error = DiskWriter::create(&dir, &catalog(), draft()).err().unwrap();
        assert_eq!(error.to_string(), format!("{}: is a file, not a folder", file.display()));
        assert_eq!(error.fault(), Fault::Invalid);
    }
    assert!(matches!(read_run(&file), Err(RecordError::NotAFolder { .. })));
    assert!(matches!(read_run(&temp.path().join("nowhere")), Err(RecordError::Missing { .. })));
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_that_names_it() {
    let (_temp, dir) = story(3, true);
    for name in FILES.into_iter().filter(|name| *name != SUMMARY) {
        let path = dir.join(name);
        let whole = fs::read(&path).unwrap();
        // A manifest without its last line end is still whole.
        let cuts = (0..whole.len() - 1).step_by(whole.len() / 300 + 1).chain([whole.len() - 2]);
        for cut in cuts {
            fs::write(&path, &whole[..cut]).unwrap();
            let error = read_run(&dir).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(error.fault(), Fault::Invalid);
            assert!(error.hint().is_some());
        }
        fs::remove_file(&path).unwrap();
        assert!(read_run(&dir).is_err());
        fs::write(&path, &whole).unwrap();
        read_run(&dir).unwrap();
    }
}

#[test]
fn a_changed_octet_is_noticed_in_any_table() {
    let (_temp, dir) = story(3, true);
    for name in [CATALOG, SERIES, EVENTS, FLOWS] {
        let path = dir.join(name);
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            fs::write(&path, &changed).unwrap();
            let error = read_run(&dir).unwrap_err();
            assert!(error.to_string().ends_with("its octets are not those that were written"), "{error}");
        }
        fs::write(&path, &whole).unwrap();
    }
}

/// The marks find a cut file first; the parser does not need them to.
#[test]
fn the_parser_alone_survives_a_file_cut_short_anywhere() {
    let (_temp, dir) = story(3, true);
    type Reader = fn(&RunFile, &Catalog, &mut Memory) -> Result<(), RecordError>;
    let readers: [(&str, Reader); 3] = [(SERIES, read_series), (EVENTS, read_events), (FLOWS, read_flows)];
    for (name, read) in readers {
        let path = dir.join(name);
        let whole = fs::read(&path).unwrap();
        for cut in (0..whole.len()).step_by(7) {
            let file = RunFile { path: path.clone(), octets: whole[..cut].to_vec().into() };
            let result = read(&file, &catalog(), &mut Memory::new(catalog()));
            assert!(result.is_err(), "{name} cut at {cut}");
        }
        let file = RunFile { path, octets: whole.into() };
        read(&file, &catalog(), &mut Memory::new(catalog())).unwrap();
    }
}

#[test]
fn numbers_that_contradict_the_digest_are_damage() {
    let (_temp, dir) = story(3, true);
    let path = dir.join(MANIFEST);
    let manifest = fs::read_to_string(&path).unwrap();
    let digest = read_manifest(&dir).unwrap().digest.whole();
    fs::write(&path, manifest.replace(&digest, &"0".repeat(64))).unwrap();
    let error = read_run(&dir).unwrap_err().to_string();
    assert!(error.contains("the manifest says 0000000000000000"), "{error}");
}

#[test]
fn a_manifest_from_the_future_is_refused_with_its_number() {
    let (_temp, dir) = story(1, true);
    fs::write(dir.join(MANIFEST), r#"{ "format": 99, "wonders": true }"#).unwrap();
    let error = read_run(&dir).unwrap_err();
    assert!(error.to_string().ends_with("has format 99; this version reads up to 2"), "{error}");
}

#[test]
fn a_manifest_that_is_not_json_is_refused_with_its_line() {
    let (_temp, dir) = story(1, true);
    for (text, says) in [("\n{ \"format\": 1,\n!", ":3: "), ("\u{0}\u{1}", ":1: "), ("{}", "`format`")] {
        fs::write(dir.join(MANIFEST), text).unwrap();
        let error = read_run(&dir).unwrap_err();
        assert!(matches!(error, RecordError::BadJson { .. }) && error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_full_disk_at_any_point_is_an_error_and_leaves_no_run() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("seed-1");
    let room = |octets| Arc::new(AtomicUsize::new(octets));
    let attempt = |room: Arc<AtomicUsize>| {
        let mut disk = SmallDisk::writer(&dir, room)?;
        tell(2000, &mut disk);
        disk.finish(ending(true), &json!({}))
    };
    let plenty = room(usize::MAX);
    attempt(Arc::clone(&plenty)).unwrap();
    let needed = usize::MAX - plenty.load(Ordering::Relaxed);
    fs::remove_dir_all(&dir).unwrap();
    for octets in (0..needed).step_by(needed / 40).chain([needed - 1]) {
        let error = attempt(room(octets)).unwrap_err();
        assert_eq!(error.fault(), Fault::Io, "{error}");
        assert!(error.hint().unwrap().starts_with("make room"), "{error}");
        assert!(matches!(read_run(&dir), Err(RecordError::Unfinished { .. })));
    }
    attempt(room(needed)).unwrap();
    read_run(&dir).unwrap();
}

#[test]
fn a_failed_writer_says_so_while_it_is_still_told() {
    let temp = tempdir().unwrap();
    let room = Arc::new(AtomicUsize::new(10_000));
    let mut disk = SmallDisk::writer(&temp.path().join("seed-1"), room).unwrap();
    assert!(!disk.has_failed());
    // It writes on a thread of its own, which is never more than a few pieces behind.
    tell(60_000, &mut disk);
    assert!(disk.has_failed());
    disk.end();
    assert!(disk.has_failed());
}

#[test]
fn a_digest_is_of_all_that_was_said_though_the_disk_failed() {
    let temp = tempdir().unwrap();
    let room = Arc::new(AtomicUsize::new(10_000));
    let disk = SmallDisk::writer(&temp.path().join("seed-1"), room).unwrap();
    let mut both = Tee(disk, Memory::new(catalog()));
    tell(30_000, &mut both);
    let Tee(mut disk, memory) = both;
    assert_eq!(disk.end(), memory.finish(true).digest);
    assert!(disk.finish(ending(true), &json!({})).is_err());
}

#[test]
#[should_panic(expected = "after the end")]
fn who_speaks_after_the_end_is_stopped() {
    let temp = tempdir().unwrap();
    let mut disk = DiskWriter::create(&temp.path().join("seed-1"), &catalog(), draft()).unwrap();
    disk.end();
    tell(3, &mut disk);
    disk.end();
}

#[test]
#[should_panic(expected = "which is no flow")]
fn what_panics_on_the_thread_that_writes_panics_here() {
    let temp = tempdir().unwrap();
    let mut disk = DiskWriter::create(&temp.path().join("seed-1"), &catalog(), draft()).unwrap();
    disk.flow(EntityId(0), crate::FlowTotals::default());
    disk.end();
}

/// Whoever speaks is not stopped by it, but told.
#[test]
fn a_thread_that_panicked_has_failed_until_the_end() {
    let temp = tempdir().unwrap();
    let mut disk = DiskWriter::create(&temp.path().join("seed-1"), &catalog(), draft()).unwrap();
    // More than are handed over at a time.
    (0..200_000).for_each(|_| disk.flow(EntityId(0), crate::FlowTotals::default()));
    tell(60_000, &mut disk);
    assert!(disk.has_failed());
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| disk.end()));
    assert!(ended.is_err());
}

/// So many totals that their columns are encoded side by side.
#[test]
fn many_flows_survive_the_disk() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("many");
    let mut entities = catalog().entities;
    let flow = entities.last().unwrap().clone();
    let first = entities.len() as u32;
    let flows = first..first + 150_000;
    entities.extend(flows.clone().map(|id| Entity { name: format!("{}-{id}", flow.name), ..flow.clone() }));
    let catalog = Catalog { entities, ..catalog() };
    let draft = ManifestDraft { threads: 3, ..draft() };
    let mut both = Tee(DiskWriter::create(&dir, &catalog, draft).unwrap(), Memory::new(catalog));
    for id in flows {
        let totals =
            crate::FlowTotals { offered_bytes: id.into(), timeouts: u64::from(id) % 7, ..Default::default() };
        both.flow(EntityId(id), totals);
    }
    let Tee(disk, memory) = both;
    disk.finish(ending(true), &json!({})).unwrap();
    assert_eq!(read_run(&dir).unwrap().1, memory.finish(true));
}

/// The rows of each row group of a file, as any reader of Parquet sees them.
fn groups_of(path: &Path) -> Vec<(RowGroupMetaData, Vec<Row>)> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    (0..reader.num_row_groups())
        .map(|group| {
            let group = reader.get_row_group(group).unwrap();
            let rows = group.get_row_iter(None).unwrap().map(Result::unwrap).collect();
            (group.metadata().clone(), rows)
        })
        .collect()
}

/// The field of a row by its name.
fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(own, _)| *own == name).map(|(_, field)| field).unwrap()
}

/// What a reader sees for the entity whose number is in a field.
fn name_of(id: &Field, catalog: &Catalog) -> Field {
    match id {
        Field::UInt(id) => Field::Str(catalog.get(EntityId(*id)).name.clone()),
        _ => Field::Null,
    }
}

#[test]
fn names_stand_beside_the_numbers_of_entities() {
    let (_temp, dir) = story(5, true);
    let catalog = catalog();
    let rows = |file: &str| groups_of(&dir.join(file)).into_iter().flat_map(|(_, rows)| rows);
    let mut seen = 0;
    for row in rows("series.parquet").chain(rows("events.parquet")) {
        let id = field(&row, "entity_id");
        assert_eq!(*field(&row, "entity"), name_of(id, &catalog));
        // An instant of which there is nothing to say has none.
        let class = match id {
            Field::UInt(id) => Field::Str(catalog.get(EntityId(*id)).class().name().into()),
            _ => Field::Null,
        };
        assert_eq!(*field(&row, "class"), class);
        seen += 1;
    }
    for row in rows("events.parquet") {
        for (id, name) in [("flow_id", "flow"), ("cause_id", "cause")] {
            assert_eq!(*field(&row, name), name_of(field(&row, id), &catalog));
        }
    }
    for row in rows("flows.parquet") {
        let Field::UInt(id) = field(&row, "flow_id") else { panic!("a flow has a number") };
        let Entity { name, kind: EntityKind::Flow { from, to, .. } } = catalog.get(EntityId(*id)) else {
            panic!("{id} is not a flow")
        };
        let texts = [("flow", name), ("from", from), ("to", to)];
        assert!(texts.iter().all(|(column, text)| *field(&row, column) == Field::Str((*text).clone())));
        seen += 1;
    }
    assert!(seen > 50, "only {seen} rows");
}

#[test]
fn statistics_are_those_of_the_rows() {
    let (_temp, dir) = story(5, true);
    for file in ["series.parquet", "events.parquet", "flows.parquet"] {
        for (group, rows) in groups_of(&dir.join(file)) {
            for (place, column) in group.columns().iter().enumerate() {
                let fields = || rows.iter().map(|row| row.get_column_iter().nth(place).unwrap().1);
                let nulls = fields().filter(|field| matches!(field, Field::Null)).count() as u64;
                let what = format!("{} of {file}", column.column_path());
                let Some(statistics) = column.statistics() else {
                    assert_eq!(column.column_type(), parquet::basic::Type::BYTE_ARRAY, "{what}");
                    continue;
                };
                assert_eq!(statistics.null_count_opt(), Some(nulls), "{what}");
                let numbers = fields().filter_map(|field| match field {
                    Field::ULong(number) => Some(i128::from(*number)),
                    Field::UInt(number) => Some(i128::from(*number)),
                    Field::UByte(number) => Some(i128::from(*number)),
                    Field::Long(number) => Some(i128::from(*number)),
                    _ => None,
                });
                let numbers: Vec<i128> = numbers.collect();
                let (least, most) = (numbers.iter().min().copied(), numbers.iter().max().copied());
                let is_signed = fields().any(|field| matches!(field, Field::Long(_)));
                let said = match statistics {
                    Statistics::Int64(it) if is_signed => {
                        (it.min_opt().map(|it| i128::from(*it)), it.max_opt().map(|it| i128::from(*it)))
                    }
                    Statistics::Int64(it) => (
                        it.min_opt().map(|it| i128::from(it.cast_unsigned())),
                        it.max_opt().map(|it| i128::from(it.cast_unsigned())),
                    ),
                    Statistics::Int32(it) => (
                        it.min_opt().map(|it| i128::from(it.cast_unsigned())),
                        it.max_opt().map(|it| i128::from(it.cast_unsigned())),
                    ),
                    _ => continue,
                };
                assert_eq!(said, (least, most), "{what}");
            }
        }
    }
}

/// A disk with so many octets of room.
struct SmallDisk {
    file: File,
    room: Arc<AtomicUsize>,
}

impl SmallDisk {
    fn writer(dir: &Path, room: Arc<AtomicUsize>) -> Result<DiskWriter<SmallDisk>, RecordError> {
        let open = move |path: &Path| Ok(SmallDisk { file: File::create(path)?, room: Arc::clone(&room) });
        DiskWriter::create_with(dir, &catalog(), draft(), None, Box::new(open))
    }
}

impl Write for SmallDisk {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        // Two threads write at the end.
        let took = |room: usize| Some(room - octets.len().min(room));
        let room = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, took);
        let fits = octets.len().min(room.expect("there is always something left, if nothing else"));
        if fits == 0 && !octets.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_all(&octets[..fits])?;
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_samples_survive_the_disk(
        rows in prop::collection::vec(prop::collection::vec(any::<Option<i64>>(), 40), 0..12)
    ) {
        let temp = tempdir().unwrap();
        let dir = temp.path().join("any");
        let mut both =
            Tee(DiskWriter::create(&dir, &catalog(), draft()).unwrap(), Memory::new(catalog()));
        for (time, row) in (0_u64..).zip(&rows) {
            both.begin_samples(Instant::from_ps(time));
            for (index, value) in (0_u32..).zip(row) {
                if let Some(value) = value {
                    let quantity = Quantity::ALL[(index % 4) as usize * 4];
                    both.sample(EntityId(index / 4), quantity, *value);
                }
            }
        }
        let Tee(disk, memory) = both;
        disk.finish(ending(true), &json!({})).unwrap();
        prop_assert_eq!(read_run(&dir).unwrap().1, memory.finish(true));
    }
}

#[test]
fn causes_survive_the_disk_and_are_none_where_nobody_wrote_them() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("run");
    let disk = DiskWriter::create(&dir, &catalog(), draft()).unwrap();
    let mut both = Tee(disk, Memory::new(catalog()));
    for (at, cause) in [(1, None), (2, Some(EntityId(3))), (3, None)] {
        both.event(Event {
            at: Instant::from_ps(at),
            entity: EntityId(4),
            kind: EventKind::Stop,
            flow: None,
            value: 110_000,
            cause,
        });
    }
    let Tee(disk, memory) = both;
    disk.finish(ending(true), &json!({})).unwrap();
    let (_, read) = read_run(&dir).unwrap();
    assert_eq!(read, memory.finish(true));
    assert_eq!(
        read.events.iter().map(|event| event.cause).collect::<Vec<_>>(),
        [None, Some(EntityId(3)), None]
    );
}
