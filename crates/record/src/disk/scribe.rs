//! The thread that hashes, encodes and writes what a run says, and keeps it in memory for who wants that, so that the run need not
//! wait for it.

use super::tables::{MANY, Table, Tables, Written};
use crate::error::RecordError;
use crate::place;
use crate::rows::Rows;
use crate::{Digest, Digester, EntityId, Event, FlowTotals, Memory, Sink};
use std::io::{self, Write};
use std::iter;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many pieces may wait. A run that says more than the disk takes waits for it then, and memory stays bounded.
const WAITING: usize = 8;

/// A piece of what a run says. Those of one kind are handed over in the order in which they were said.
pub(super) enum Piece {
    Rows(Rows),
    Events(Vec<Event>),
    Flows(Vec<(EntityId, FlowTotals)>),
}

impl Piece {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Piece::Rows(rows) => rows.times().is_empty(),
            Piece::Events(events) => events.is_empty(),
            Piece::Flows(flows) => flows.is_empty(),
        }
    }
}

/// What is handed over at a time.
enum Handed {
    One(Piece),
    /// What was left when all had been said: nothing comes after it.
    Last(Vec<Piece>),
}

/// Our end of the thread. Dropped, it waits until the thread has let go of its files.
pub(super) struct Scribe<W: Write + Send + 'static> {
    /// None once all has been handed over.
    to: Option<SyncSender<Handed>>,
    thread: Option<JoinHandle<()>>,
    /// The tables, once all is in them: whoever waits takes part in closing them.
    full: Receiver<Full<W>>,
    rest: Receiver<Rest>,
    blanks: Receiver<Vec<Event>>,
    has_failed: Arc<AtomicBool>,
    ended: Option<Ended>,
}

/// What the thread says at its end.
struct Rest {
    digest: Digest,
    /// The files that it closed, or the first thing that went wrong.
    files: Result<Vec<Written>, RecordError>,
    memory: Option<Memory>,
}

/// Tables that are still to be closed.
type Full<W> = Arc<Mutex<Vec<Table<W>>>>;

/// Closes tables until none is left that nobody closes.
fn close<W: Write + Send>(full: &Mutex<Vec<Table<W>>>) -> Result<Vec<Written>, RecordError> {
    let next = || full.lock().expect("no thread panics while it holds this").pop();
    iter::from_fn(next).map(Table::finish).collect()
}

/// What is known once everything is written.
pub(super) struct Ended {
    pub(super) digest: Digest,
    /// The files, or the first thing that went wrong.
    pub(super) files: Result<Vec<Written>, RecordError>,
    /// What was kept in memory, if anybody wanted it.
    pub(super) memory: Option<Memory>,
}

impl<W: Write + Send + 'static> Scribe<W> {
    /// Starts the thread, away from the one that will speak: that is this one.
    pub(super) fn start(tables: Tables<W>, memory: Option<Memory>) -> io::Result<Scribe<W>> {
        let (to, handed) = mpsc::sync_channel(WAITING);
        let (leave, full) = mpsc::channel();
        let (say, rest) = mpsc::channel();
        let (used, blanks) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let keeper = Keeper { digester: Digester::new(), memory, used };
        let desk = Desk { pen: Pen { tables, failed: None, has_failed: failed }, keeper };
        let speaker = place::here();
        let thread = thread::Builder::new().name("writer".into()).spawn(move || {
            if let Some(core) = speaker {
                place::leave(core);
            }
            desk.write_all(&handed, &leave, &say);
        })?;
        Ok(Scribe { to: Some(to), thread: Some(thread), full, rest, blanks, has_failed, ended: None })
    }

    /// Whether something went wrong so far.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Hands a piece over. A thread that panicked takes none; that is a failure like any other until [`end`](Self::end), because
    /// whoever speaks may have others waiting for it.
    pub(super) fn hand(&mut self, piece: Piece) {
        let to = self.to.as_ref().expect("nothing is said after the end");
        if to.send(Handed::One(piece)).is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Hands over all that is left.
    pub(super) fn hand_last(&mut self, pieces: Vec<Piece>) {
        match self.to.take() {
            None => assert!(pieces.is_empty(), "nothing is said after the end"),
            Some(to) if to.send(Handed::Last(pieces)).is_err() => {
                self.has_failed.store(true, Ordering::Relaxed);
            }
            Some(_) => {}
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
        let own = soon(&self.full).map(|full| close(&full)).transpose();
        let Some(Rest { digest, files, memory }) = soon(&self.rest) else {
            let thread = self.thread.take().expect("a thread is waited for once");
            panic::resume_unwind(thread.join().expect_err("a thread that ends well says so"));
        };
        let files = own.and_then(|own| {
            let mut files = files?;
            files.extend(own.into_iter().flatten());
            Ok(files)
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
            let _ = self.full.recv().map(|full| close(&full));
            let _ = thread.join();
        }
    }
}

/// The thread's end.
struct Desk<W: Write + Send> {
    pen: Pen<W>,
    keeper: Keeper,
}

impl<W: Write + Send> Desk<W> {
    fn write_all(mut self, handed: &Receiver<Handed>, left: &Sender<Full<W>>, say: &Sender<Rest>) {
        let mut last = Vec::new();
        for handed in handed {
            match handed {
                Handed::One(piece) => self.take(piece),
                Handed::Last(pieces) => last = pieces,
            }
        }
        // Whoever waits can begin to close the tables: the rest is done meanwhile.
        last.iter().for_each(|piece| self.pen.write(piece));
        let Desk { pen: Pen { tables, failed, .. }, mut keeper } = self;
        let full = Arc::new(Mutex::new(tables.full()));
        if failed.is_none() {
            // They are taken: our other end is not let go before we end.
            let _ = left.send(Arc::clone(&full));
        }
        last.into_iter().for_each(|piece| keeper.keep(piece));
        let files = match failed {
            Some(error) => Err(error),
            None => close(&full),
        };
        // Perhaps nobody asks any more.
        let _ = say.send(Rest { digest: keeper.digester.digest(), files, memory: keeper.memory });
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            // So many are worth a thread more.
            Piece::Flows(flows) if flows.len() >= MANY => thread::scope(|scope| {
                let kept = scope.spawn(|| self.keeper.keep_flows(&flows));
                self.pen.write_flows(&flows);
                kept.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            }),
            piece => {
                self.pen.write(&piece);
                self.keeper.keep(piece);
                self.keeper.turn_many();
            }
        }
    }
}

/// Who writes into the tables, until something goes wrong.
struct Pen<W: Write + Send> {
    tables: Tables<W>,
    failed: Option<RecordError>,
    has_failed: Arc<AtomicBool>,
}

impl<W: Write + Send> Pen<W> {
    fn write(&mut self, piece: &Piece) {
        match piece {
            Piece::Rows(rows) => self.try_to(|tables| tables.series.write(rows)),
            Piece::Events(events) => self.try_to(|tables| tables.events.write(events)),
            Piece::Flows(flows) => self.write_flows(flows),
        }
    }

    fn write_flows(&mut self, flows: &[(EntityId, FlowTotals)]) {
        self.try_to(|tables| tables.flows.write(flows));
    }

    fn try_to(&mut self, write: impl FnOnce(&mut Tables<W>) -> Result<(), RecordError>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.tables).err();
            self.has_failed.store(self.failed.is_some(), Ordering::Relaxed);
        }
    }
}

/// Who takes the digest of what was written, and keeps it in memory if anybody wants that.
struct Keeper {
    digester: Digester,
    memory: Option<Memory>,
    /// Where lists of events go once they are written, to be filled again.
    used: Sender<Vec<Event>>,
}

impl Keeper {
    fn keep(&mut self, piece: Piece) {
        match piece {
            Piece::Rows(rows) => {
                rows.tell(&mut self.digester);
                if let Some(memory) = &mut self.memory {
                    memory.keep(rows);
                }
            }
            Piece::Events(mut events) => {
                events.iter().for_each(|event| self.digester.event(*event));
                if let Some(memory) = &mut self.memory {
                    memory.keep_events(&events);
                }
                events.clear();
                // Who speaks no more wants none.
                let _ = self.used.send(events);
            }
            Piece::Flows(flows) => self.keep_flows(&flows),
        }
    }

    /// What was kept is put in order once there is much of it.
    fn turn_many(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.turn_many();
        }
    }

    fn keep_flows(&mut self, flows: &[(EntityId, FlowTotals)]) {
        flows.iter().for_each(|(flow, totals)| self.digester.flow(*flow, *totals));
        if let Some(memory) = &mut self.memory {
            memory.keep_flows(flows);
        }
    }
}

/// What is about to come, if anything will. Who sleeps is woken late, and perhaps on the core of the thread that woke it: so this one
/// first only lets others go before it.
fn soon<T>(from: &Receiver<T>) -> Option<T> {
    const PATIENCE: Duration = Duration::from_micros(500);
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match from.try_recv() {
            Ok(it) => return Some(it),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => thread::yield_now(),
        }
    }
    from.recv().ok()
}
