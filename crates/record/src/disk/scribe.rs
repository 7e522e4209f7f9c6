//! The thread that hashes, encodes and writes what a run says, and keeps it in memory for who wants that, so that the run need not
//! wait for it.

use super::tables::{Flows, MANY, Series, Tables, Written};
use crate::error::RecordError;
use crate::rows::Rows;
use crate::{Digest, Digester, EntityId, Event, FlowTotals, Memory, Sink};
use std::io::{self, Write};
use std::mem;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

/// So many pieces may wait. A run that says more than the disk takes waits for it then, and memory stays bounded.
const WAITING: usize = 8;

/// A piece of what a run says. Those of one kind are handed over in the order in which they were said.
pub(super) enum Piece {
    Rows(Rows),
    Events(Vec<Event>),
    Flows(Vec<(EntityId, FlowTotals)>),
}

/// Our end of the thread. Dropped, it waits until the thread has let go of its files.
pub(super) struct Scribe<W: Write + Send + 'static> {
    /// None once all has been handed over.
    to: Option<SyncSender<Piece>>,
    thread: Option<JoinHandle<()>>,
    /// Two of the tables, once all is in them: whoever waits closes them while the thread closes the other.
    tables: Receiver<(Series<W>, Flows<W>)>,
    rest: Receiver<Rest>,
    blanks: Receiver<Vec<Event>>,
    has_failed: Arc<AtomicBool>,
    ended: Option<Ended>,
}

/// What the thread says at its end.
struct Rest {
    digest: Digest,
    /// The file that it closed, or the first thing that went wrong.
    events: Result<Written, RecordError>,
    memory: Option<Memory>,
}

/// What is known once everything is written.
pub(super) struct Ended {
    pub(super) digest: Digest,
    /// The files, or the first thing that went wrong.
    pub(super) files: Result<[Written; 3], RecordError>,
    /// What was kept in memory, if anybody wanted it.
    pub(super) memory: Option<Memory>,
}

impl<W: Write + Send + 'static> Scribe<W> {
    pub(super) fn start(tables: Tables<W>, memory: Option<Memory>) -> io::Result<Scribe<W>> {
        let (to, pieces) = mpsc::sync_channel(WAITING);
        let (leave, left) = mpsc::channel();
        let (say, rest) = mpsc::channel();
        let (used, blanks) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let desk = Desk { tables, digester: Digester::new(), memory, used, failed: None, has_failed: failed };
        let thread = thread::Builder::new()
            .name("writer".into())
            .spawn(move || desk.write_all(&pieces, &leave, &say))?;
        Ok(Scribe { to: Some(to), thread: Some(thread), tables: left, rest, blanks, has_failed, ended: None })
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

    /// An empty list with room for so many events: one that was handed over before, if the thread is done with it.
    pub(super) fn blank(&self, room: usize) -> Vec<Event> {
        self.blanks.try_recv().unwrap_or_else(|_| Vec::with_capacity(room))
    }

    /// Everything has been handed over: waits until it is written.
    pub(super) fn end(&mut self) -> &mut Ended {
        self.to = None;
        if self.ended.is_none() {
            let ended = self.wait();
            self.has_failed.store(ended.files.is_err(), Ordering::Relaxed);
            self.ended = Some(ended);
        }
        self.ended.as_mut().expect("it has been waited for")
    }

    fn wait(&mut self) -> Ended {
        // There is none if something went wrong before.
        let closed = self.tables.recv().ok().map(close).transpose();
        let Ok(Rest { digest, events, memory }) = self.rest.recv() else {
            let thread = self.thread.take().expect("a thread is waited for once");
            panic::resume_unwind(thread.join().expect_err("a thread that ends well says so"));
        };
        let files = closed.and_then(|closed| {
            let events = events?;
            let [series, flows] = closed.expect("they came before the other was closed");
            Ok([series, events, flows])
        });
        Ended { digest, files, memory }
    }

    /// As [`end`](Self::end), for who wants nothing else any more.
    pub(super) fn into_ended(mut self) -> Ended {
        self.end();
        self.ended.take().expect("it has ended")
    }
}

impl<W: Write + Send + 'static> Drop for Scribe<W> {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more how it went.
            let _ = self.tables.recv().map(close);
            let _ = thread.join();
        }
    }
}

/// The thread's end.
struct Desk<W: Write + Send> {
    tables: Tables<W>,
    digester: Digester,
    memory: Option<Memory>,
    /// Where lists of events go once they are written, to be filled again.
    used: Sender<Vec<Event>>,
    failed: Option<RecordError>,
    has_failed: Arc<AtomicBool>,
}

impl<W: Write + Send> Desk<W> {
    fn write_all(
        mut self,
        pieces: &Receiver<Piece>,
        left: &Sender<(Series<W>, Flows<W>)>,
        say: &Sender<Rest>,
    ) {
        for piece in pieces {
            self.take(piece);
        }
        let events = match self.failed {
            Some(error) => Err(error),
            None => {
                let Tables { series, events, flows } = self.tables;
                // They are taken: our other end is not let go before we end.
                let _ = left.send((series, flows));
                events.finish()
            }
        };
        // Perhaps nobody asks any more.
        let _ = say.send(Rest { digest: self.digester.digest(), events, memory: self.memory });
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Rows(rows) => {
                rows.tell(&mut self.digester);
                self.write(|tables| tables.series.write(&rows));
                if let Some(memory) = &mut self.memory {
                    memory.keep(rows);
                }
            }
            Piece::Events(mut events) => {
                events.iter().for_each(|event| self.digester.event(*event));
                self.write(|tables| tables.events.write(&events));
                if let Some(memory) = &mut self.memory {
                    memory.keep_events(&events);
                }
                events.clear();
                // Who speaks no more wants none.
                let _ = self.used.send(events);
            }
            Piece::Flows(flows) if flows.len() >= MANY => self.take_many(&flows),
            Piece::Flows(flows) => {
                keep_flows(&flows, &mut self.digester, self.memory.as_mut());
                self.write(|tables| tables.flows.write(&flows));
            }
        }
    }

    /// So many flows are worth a thread more.
    fn take_many(&mut self, flows: &[(EntityId, FlowTotals)]) {
        let (mut digester, mut memory) = (mem::take(&mut self.digester), self.memory.take());
        thread::scope(|scope| {
            let kept = scope.spawn(|| keep_flows(flows, &mut digester, memory.as_mut()));
            self.write(|tables| tables.flows.write(flows));
            kept.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        });
        (self.digester, self.memory) = (digester, memory);
    }

    /// Writes, unless something went wrong before.
    fn write(&mut self, write: impl FnOnce(&mut Tables<W>) -> Result<(), RecordError>) {
        if self.failed.is_none() {
            let written = write(&mut self.tables);
            self.note(written);
        }
    }

    fn note(&mut self, written: Result<(), RecordError>) {
        self.failed = written.err();
        self.has_failed.store(self.failed.is_some(), Ordering::Relaxed);
    }
}

fn close<W: Write + Send>((series, flows): (Series<W>, Flows<W>)) -> Result<[Written; 2], RecordError> {
    Ok([series.finish()?, flows.finish()?])
}

fn keep_flows(flows: &[(EntityId, FlowTotals)], digester: &mut Digester, memory: Option<&mut Memory>) {
    flows.iter().for_each(|(flow, totals)| digester.flow(*flow, *totals));
    if let Some(memory) = memory {
        memory.keep_flows(flows);
    }
}
