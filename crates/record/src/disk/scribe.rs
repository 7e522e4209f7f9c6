//! The thread that hashes, encodes and writes what a run says, and keeps it in memory for who wants that, so that the run need not
//! wait for it.

use super::tables::{MANY, Tables, Written};
use crate::error::RecordError;
use crate::rows::Rows;
use crate::{Digest, Digester, EntityId, Event, FlowTotals, Memory, Sink};
use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// So many pieces may wait. A run that says more than the disk takes waits for it then, and memory stays bounded.
const WAITING: usize = 4;

/// A piece of what a run says. Those of one kind are handed over in the order in which they were said.
pub(super) enum Piece {
    Rows(Rows),
    Events(Vec<Event>),
    Flows(Vec<(EntityId, FlowTotals)>),
}

/// Our end of the thread. Dropped, it waits until the thread has let go of its files.
pub(super) struct Scribe {
    /// None once all has been handed over.
    to: Option<SyncSender<Piece>>,
    thread: Option<JoinHandle<Ended>>,
    has_failed: Arc<AtomicBool>,
    ended: Option<Ended>,
}

/// What is known once everything is written.
pub(super) struct Ended {
    pub(super) digest: Digest,
    /// The files, or the first thing that went wrong.
    pub(super) files: Result<[Written; 3], RecordError>,
    /// What was kept in memory, if anybody wanted it.
    pub(super) memory: Option<Memory>,
}

impl Scribe {
    pub(super) fn start<W: Write + Send + 'static>(
        tables: Tables<W>,
        memory: Option<Memory>,
    ) -> io::Result<Scribe> {
        let (to, pieces) = mpsc::sync_channel(WAITING);
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let desk = Desk { tables, digester: Digester::new(), memory, failed: None, has_failed: failed };
        let thread = thread::Builder::new().name("writer".into()).spawn(move || desk.write_all(&pieces))?;
        Ok(Scribe { to: Some(to), thread: Some(thread), has_failed, ended: None })
    }

    /// Whether something went wrong so far.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Hands a piece over. A thread that panicked takes none; that is a failure like any other until [`end`](Self::end), because
    /// whoever speaks may have others waiting for it.
    pub(super) fn hand(&mut self, piece: Piece) {
        let to = self.to.as_ref().expect("nothing is said after the end");
        if to.send(piece).is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Everything has been handed over: waits until it is written.
    pub(super) fn end(&mut self) -> &mut Ended {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            self.ended = Some(thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        }
        self.ended.as_mut().expect("a thread that has been waited for has ended")
    }

    /// As [`end`](Self::end), for who wants nothing else any more.
    pub(super) fn into_ended(mut self) -> Ended {
        self.end();
        self.ended.take().expect("it has ended")
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more how it went.
            let _ = thread.join();
        }
    }
}

/// The thread's end.
struct Desk<W: Write + Send> {
    tables: Tables<W>,
    digester: Digester,
    memory: Option<Memory>,
    failed: Option<RecordError>,
    has_failed: Arc<AtomicBool>,
}

impl<W: Write + Send> Desk<W> {
    fn write_all(mut self, pieces: &Receiver<Piece>) -> Ended {
        for piece in pieces {
            self.take(&piece);
        }
        let files = match self.failed {
            Some(error) => Err(error),
            None => self.tables.finish(),
        };
        self.has_failed.store(files.is_err(), Ordering::Relaxed);
        Ended { digest: self.digester.digest(), files, memory: self.memory }
    }

    fn take(&mut self, piece: &Piece) {
        let Desk { tables, digester, memory, failed, has_failed } = self;
        let mut keep = || {
            piece.tell(digester);
            if let Some(memory) = memory {
                piece.keep_in(memory);
            }
        };
        let mut write = || {
            if failed.is_none() {
                *failed = piece.write_to(tables).err();
                has_failed.store(failed.is_some(), Ordering::Relaxed);
            }
        };
        if piece.is_long() {
            thread::scope(|scope| {
                let kept = scope.spawn(keep);
                write();
                kept.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            });
        } else {
            keep();
            write();
        }
    }
}

impl Piece {
    /// Whether it is worth a thread more.
    fn is_long(&self) -> bool {
        matches!(self, Piece::Flows(flows) if flows.len() >= MANY)
    }

    fn tell(&self, digester: &mut Digester) {
        match self {
            Piece::Rows(rows) => rows.tell(digester),
            Piece::Events(events) => events.iter().for_each(|event| digester.event(*event)),
            Piece::Flows(flows) => flows.iter().for_each(|(flow, totals)| digester.flow(*flow, *totals)),
        }
    }

    fn keep_in(&self, memory: &mut Memory) {
        match self {
            Piece::Rows(rows) => memory.keep(rows),
            Piece::Events(events) => memory.keep_events(events),
            Piece::Flows(flows) => memory.keep_flows(flows),
        }
    }

    fn write_to<W: Write + Send>(&self, tables: &mut Tables<W>) -> Result<(), RecordError> {
        match self {
            Piece::Rows(rows) => tables.series.write(rows),
            Piece::Events(events) => tables.events.write(events),
            Piece::Flows(flows) => tables.flows.write(flows),
        }
    }
}
