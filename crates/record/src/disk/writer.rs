//! Writing a run while it runs.

use super::scribe::{Ended, Piece, Scribe};
use super::tables::{Tables, Written};
use super::{CATALOG, FILES, MANIFEST, SUMMARY, create_folder, partial, read_manifest};
use crate::error::RecordError;
use crate::manifest::{Ending, FORMAT, FileMark, Manifest, ManifestDraft, to_json};
use crate::rows::Rows;
use crate::{Catalog, Digest, EntityId, Event, FlowTotals, Memory, Quantity, Recording, Sink};
use quell_proto::units::Instant;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

/// A sink that writes a run's folder as it goes, on a thread of its own, and in bounded memory unless it is to [keep](Self::create_and_keep)
/// everything there.
///
/// A [`Sink`] cannot fail, so the first error is kept: nothing more is written, [`DiskWriter::has_failed`] tells
/// a driver that wants to stop, and [`DiskWriter::finish`] returns it. A writer dropped without `finish` leaves
/// a `.partial` folder, which no reader takes for a run.
pub struct DiskWriter<W: Write + Send + 'static = File> {
    dir: PathBuf,
    open: Open<W>,
    draft: ManifestDraft,
    files: BTreeMap<String, FileMark>,
    scribe: Scribe<W>,
    /// What was said last, and is not handed over yet.
    rows: Rows,
    events: Vec<Event>,
    flows: Vec<(EntityId, FlowTotals)>,
    /// So many values of samples are handed over at a time.
    values: usize,
}

/// How a file is made; tests make theirs on a disk that is full.
type Open<W> = Box<dyn Fn(&Path) -> io::Result<W> + Send>;

impl DiskWriter<File> {
    /// Begins a run in `dir`, which must not hold a finished one. What an interrupted or killed run left there
    /// is replaced, the former only once this one ends.
    pub fn create(dir: &Path, catalog: &Catalog, draft: ManifestDraft) -> Result<DiskWriter, RecordError> {
        DiskWriter::create_with(dir, catalog, draft, None, Box::new(|path| File::create(path)))
    }

    /// As [`create`](Self::create), for who wants the [recording](Self::recording) in memory too.
    pub fn create_and_keep(
        dir: &Path,
        catalog: &Catalog,
        draft: ManifestDraft,
    ) -> Result<DiskWriter, RecordError> {
        let memory = Some(Memory::beside(catalog.clone()));
        DiskWriter::create_with(dir, catalog, draft, memory, Box::new(|path| File::create(path)))
    }
}

impl<W: Write + Send + 'static> DiskWriter<W> {
    /// At most so many values of samples are handed over at a time, or so many rows if those say little. The first row goes at once
    /// and the next ones in ever larger pieces, so that of a short run not all is left for the end.
    const VALUES: usize = 4 * 1024;
    const ROWS: usize = 1024;
    /// So many events: what is left of them at the end should be written soon.
    const EVENTS: usize = 2 * 1024;
    /// And so many flows: their columns are encoded side by side, which is worth it for many.
    const FLOWS: usize = 128 * 1024;

    pub(super) fn create_with(
        dir: &Path,
        catalog: &Catalog,
        draft: ManifestDraft,
        memory: Option<Memory>,
        open: Open<W>,
    ) -> Result<DiskWriter<W>, RecordError> {
        if dir.is_file() {
            return Err(RecordError::NotAFolder { path: dir.to_owned() });
        }
        if is_finished(dir)? {
            return Err(RecordError::Finished { path: dir.to_owned() });
        }
        let work = partial(dir);
        clear(&work)?;
        create_folder(&work)?;
        let mut files = BTreeMap::new();
        write_file(&work, CATALOG, &catalog_json(catalog), &open, &mut files)?;
        let tables = Tables::create(&work, catalog, &draft, &open)?;
        let scribe = Scribe::start(tables, memory).map_err(|error| RecordError::io(dir, "write", error))?;
        Ok(DiskWriter {
            dir: dir.to_owned(),
            open,
            draft,
            files,
            scribe,
            rows: Rows::default(),
            events: Vec::new(),
            flows: Vec::new(),
            values: 1,
        })
    }

    /// Whether writing failed; `finish` will say how.
    pub fn has_failed(&self) -> bool {
        self.scribe.has_failed()
    }

    /// All has been said: waits until it is written. The digest of it.
    pub fn end(&mut self) -> Digest {
        self.all_said();
        self.scribe.end().digest
    }

    /// All has been said: the recording in memory, once; `None` if nobody [wanted](Self::create_and_keep) it. `complete` says whether
    /// the run came to its end.
    pub fn recording(&mut self, complete: bool) -> Option<Recording> {
        let digest = self.end();
        let memory = self.scribe.end().memory.take()?;
        Some(memory.finish_with(complete, digest))
    }

    /// Gives the folder its name. `summary` is what the caller wants to find in `summary.json`. An interrupted run
    /// (`ending.complete` is false) is readable, and says what it is.
    pub fn finish(mut self, ending: Ending, summary: &serde_json::Value) -> Result<Manifest, RecordError> {
        self.end();
        let Ended { digest, files, .. } = self.scribe.into_ended();
        for Written { name, mark } in files? {
            self.files.insert(name.to_owned(), mark);
        }
        let work = partial(&self.dir);
        write_file(&work, SUMMARY, &to_json(summary), &self.open, &mut self.files)?;
        let manifest = Manifest { format: FORMAT, run: self.draft, ending, digest, files: self.files };
        write_file(&work, MANIFEST, &to_json(&manifest), &self.open, &mut BTreeMap::new())?;
        clear(&self.dir)?;
        fs::rename(&work, &self.dir).map_err(|error| RecordError::io(&self.dir, "name", error))?;
        Ok(manifest)
    }

    fn end_row(&mut self) {
        if let Some(others) = self.rows.end_row(None) {
            self.scribe.hand(Piece::Rows(others));
        }
        self.hand_many_rows();
    }

    fn hand_many_rows(&mut self) {
        if self.rows.count() >= self.values || self.rows.times().len() >= Self::ROWS {
            self.values = (2 * self.rows.count()).clamp(self.values, Self::VALUES);
            let rows = self.rows.hand_over();
            self.scribe.hand(Piece::Rows(rows));
        }
    }

    fn hand_many_flows(&mut self) {
        if self.flows.len() >= Self::FLOWS {
            let flows = mem::take(&mut self.flows);
            self.scribe.hand(Piece::Flows(flows));
        }
    }
}

impl<W: Write + Send + 'static> Sink for DiskWriter<W> {
    fn begin_samples(&mut self, at: Instant) {
        self.end_row();
        self.rows.begin(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        if let Some(others) = self.rows.say((entity, quantity), value) {
            self.scribe.hand(Piece::Rows(others));
        }
    }

    fn end_samples(&mut self) {
        self.end_row();
    }

    fn rows(&mut self, rows: &Rows) {
        self.end_row();
        if let Some(others) = self.rows.append(rows) {
            self.scribe.hand(Piece::Rows(others));
        }
        self.hand_many_rows();
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
        if self.events.len() >= Self::EVENTS {
            let blank = self.scribe.blank(Self::EVENTS);
            let events = mem::replace(&mut self.events, blank);
            self.scribe.hand(Piece::Events(events));
        }
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.flows.push((flow, totals));
        self.hand_many_flows();
    }

    fn flows(&mut self, mut flows: Vec<(EntityId, FlowTotals)>) {
        if self.flows.is_empty() {
            self.flows = flows;
        } else {
            self.flows.append(&mut flows);
        }
        self.hand_many_flows();
    }

    fn all_said(&mut self) {
        self.end_row();
        let rows = Piece::Rows(self.rows.hand_over());
        let events = Piece::Events(mem::take(&mut self.events));
        let flows = Piece::Flows(mem::take(&mut self.flows));
        self.scribe.hand_last([rows, events, flows].into_iter().filter(|piece| !piece.is_empty()).collect());
    }
}

fn is_finished(dir: &Path) -> Result<bool, RecordError> {
    match read_manifest(dir) {
        Ok(manifest) => Ok(manifest.ending.complete),
        Err(RecordError::Missing { .. } | RecordError::Unfinished { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the files of an earlier, unfinished run, and refuses to remove anything else.
fn clear(dir: &Path) -> Result<(), RecordError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(super::not_a_folder(dir)),
        Err(error) => return Err(RecordError::io(dir, "read", error)),
    };
    let refused = |error| RecordError::io(dir, "remove", error);
    let names: io::Result<Vec<_>> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
    let names = names.map_err(refused)?;
    if let Some(foreign) = names.iter().find(|name| !FILES.iter().any(|file| **name == **file)) {
        let found = foreign.to_string_lossy().into_owned();
        return Err(RecordError::Foreign { path: dir.to_owned(), found });
    }
    for name in &names {
        fs::remove_file(dir.join(name)).map_err(refused)?;
    }
    fs::remove_dir(dir).map_err(refused)
}

/// One entity a line: a catalogue of thousands stays readable, and short.
fn catalog_json(catalog: &Catalog) -> Vec<u8> {
    let mut text = format!("{{\"overhead_bytes\":{},\"entities\":[\n", catalog.overhead_bytes);
    for (index, entity) in catalog.entities.iter().enumerate() {
        let comma = if index == 0 { "" } else { ",\n" };
        let line = serde_json::to_string(entity).expect("an entity is always JSON");
        text.push_str(comma);
        text.push_str(&line);
    }
    text.push_str("\n]}\n");
    text.into_bytes()
}

fn write_file<W: Write>(
    dir: &Path,
    name: &str,
    octets: &[u8],
    open: impl Fn(&Path) -> io::Result<W>,
    files: &mut BTreeMap<String, FileMark>,
) -> Result<(), RecordError> {
    let path = dir.join(name);
    let written = open(&path).and_then(|mut file| {
        file.write_all(octets)?;
        file.flush()
    });
    written.map_err(|error| RecordError::io(&path, "write", error))?;
    files.insert(name.to_owned(), FileMark::of(octets));
    Ok(())
}
