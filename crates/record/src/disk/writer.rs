//! Writing a run while it runs.

use super::tables::{Tables, Written};
use super::{CATALOG, FILES, MANIFEST, SUMMARY, create_folder, partial, read_manifest};
use crate::error::RecordError;
use crate::manifest::{Ending, FORMAT, FileMark, Manifest, ManifestDraft, to_json};
use crate::rows::Rows;
use crate::{Catalog, Digest, Digester, EntityId, Event, FlowTotals, Quantity, Sink};
use quell_proto::units::Instant;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A sink that writes a run's folder as it goes, in bounded memory.
///
/// A [`Sink`] cannot fail, so the first error is kept: nothing more is written, [`DiskWriter::has_failed`] tells
/// a driver that wants to stop, and [`DiskWriter::finish`] returns it. A writer dropped without `finish` leaves
/// a `.partial` folder, which no reader takes for a run.
pub struct DiskWriter<W: Write + Send = File> {
    dir: PathBuf,
    open: Open<W>,
    draft: ManifestDraft,
    files: BTreeMap<String, FileMark>,
    tables: Tables<W>,
    digester: Digester,
    /// What was said last, and is in no table yet.
    rows: Rows,
    failed: Option<RecordError>,
}

/// How a file is made; tests make theirs on a disk that is full.
type Open<W> = Box<dyn Fn(&Path) -> io::Result<W> + Send>;

impl DiskWriter<File> {
    /// Begins a run in `dir`, which must not hold a finished one. What an interrupted or killed run left there
    /// is replaced, the former only once this one ends.
    pub fn create(dir: &Path, catalog: &Catalog, draft: ManifestDraft) -> Result<DiskWriter, RecordError> {
        DiskWriter::create_with(dir, catalog, draft, Box::new(|path| File::create(path)))
    }
}

impl<W: Write + Send> DiskWriter<W> {
    /// So many values of samples are kept before they are encoded, or so many rows if those say little.
    const VALUES: usize = 64 * 1024;
    const ROWS: usize = 8 * 1024;

    pub(super) fn create_with(
        dir: &Path,
        catalog: &Catalog,
        draft: ManifestDraft,
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
        let (digester, rows) = (Digester::new(), Rows::default());
        Ok(DiskWriter { dir: dir.to_owned(), open, draft, files, tables, digester, rows, failed: None })
    }

    /// Whether writing failed; `finish` will say how.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The digest of what was said so far.
    pub fn digest(&self) -> Digest {
        let mut digester = self.digester.clone();
        self.rows.tell_open(&mut digester);
        digester.digest()
    }

    /// Closes the files and gives the folder its name. `summary` is what the caller wants to find in
    /// `summary.json`. An interrupted run (`ending.complete` is false) is readable, and says what it is.
    pub fn finish(mut self, ending: Ending, summary: &serde_json::Value) -> Result<Manifest, RecordError> {
        self.end_row();
        self.write_rows();
        if let Some(error) = self.failed {
            return Err(error);
        }
        let work = partial(&self.dir);
        for Written { name, mark } in self.tables.finish()? {
            self.files.insert(name.to_owned(), mark);
        }
        write_file(&work, SUMMARY, &to_json(summary), &self.open, &mut self.files)?;
        let digest = self.digester.digest();
        let manifest = Manifest { format: FORMAT, run: self.draft, ending, digest, files: self.files };
        write_file(&work, MANIFEST, &to_json(&manifest), &self.open, &mut BTreeMap::new())?;
        clear(&self.dir)?;
        fs::rename(&work, &self.dir).map_err(|error| RecordError::io(&self.dir, "name", error))?;
        Ok(manifest)
    }

    fn end_row(&mut self) {
        if let Some(others) = self.rows.end_row(Some(&mut self.digester)) {
            self.attempt(|tables| tables.series.write(&others));
        }
        if self.rows.count() >= Self::VALUES || self.rows.times().len() >= Self::ROWS {
            self.write_rows();
        }
    }

    fn write_rows(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.attempt(|tables| tables.series.write(&rows));
        self.rows = rows;
        self.rows.clear();
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Tables<W>) -> Result<(), RecordError>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.tables).err();
        }
    }
}

impl<W: Write + Send> Sink for DiskWriter<W> {
    fn begin_samples(&mut self, at: Instant) {
        self.end_row();
        self.rows.begin(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        if let Some(others) = self.rows.say((entity, quantity), value) {
            self.attempt(|tables| tables.series.write(&others));
        }
    }

    fn event(&mut self, event: Event) {
        self.digester.event(event);
        self.attempt(|tables| tables.events.push(event));
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.digester.flow(flow, totals);
        self.attempt(|tables| tables.flows.push(flow, totals));
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
