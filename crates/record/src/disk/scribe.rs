//! The thread that hashes, encodes and writes what a run says, and keeps it in memory for who wants that, so that the run need not
//! wait for it.

use super::rehearsal::rehearse;
use super::tables::{Full, MANY, Tables, Written, held};
use crate::error::RecordError;
use crate::place;
use crate::rows::Rows;
use crate::{Digest, Digester, EntityId, Event, FlowTotals, Memory, Sink};
use std::io;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many pieces may wait. A run that says more than the disk takes waits for it then, and memory stays bounded.
const WAITING: usize = 8;
/// With so many the thread is woken. For one it is not: on a machine that is virtual that takes longer than to simulate hundreds of
/// frames.
const MANY_WAITING: usize = WAITING / 2;
/// So long it sleeps before it looks again, and longer and longer while there is nothing.
const SHORTEST_NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(4);

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
pub(super) struct Scribe {
    /// None once all has been handed over.
    to: Option<SyncSender<Handed>>,
    thread: Option<JoinHandle<()>>,
    desk: FreeDesk,
    /// How many pieces wait.
    waiting: Arc<AtomicUsize>,
    /// What is left to do, if the thread is the one that finds it; or if we do.
    found: Receiver<LastWork>,
    tell: Option<Sender<LastWork>>,
    /// What the thread has done of it.
    done: Receiver<Vec<Done>>,
    blanks: Receiver<Vec<Event>>,
    has_failed: Arc<AtomicBool>,
    ended: Option<Ended>,
}

/// The desk while nobody is at it. The thread goes there when something was handed over; so does, at the end, whoever waits for it: to
/// wake the thread takes longer than the last pages do.
type FreeDesk = Arc<Mutex<Option<Box<Desk>>>>;

/// What is known once everything is written.
pub(super) struct Ended {
    pub(super) digest: Digest,
    /// The files, or the first thing that went wrong.
    pub(super) files: Result<Vec<Written>, RecordError>,
    /// What was kept in memory, if anybody wanted it.
    pub(super) memory: Option<Memory>,
}

impl Ended {
    fn of(done: impl Iterator<Item = Done>) -> Ended {
        let (mut files, mut kept) = (Ok(Vec::new()), None);
        for done in done {
            match (done, &mut files) {
                (Done::Closed(Ok(file)), Ok(files)) => files.push(file),
                (Done::Closed(Err(error)), Ok(_)) => files = Err(error),
                (Done::Closed(_), Err(_)) => {}
                (Done::Kept(keeper), _) => kept = Some(keeper),
            }
        }
        let Keeper { digester, memory, .. } = *kept.expect("that is always a part of it");
        Ended { digest: digester.digest(), files, memory }
    }
}

impl Scribe {
    /// Starts the thread, away from the one that will speak: that is this one.
    pub(super) fn start(tables: Tables, memory: Option<Memory>) -> io::Result<Scribe> {
        let (to, handed) = mpsc::sync_channel(WAITING);
        let (leave, found) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (say, done) = mpsc::channel();
        let (used, blanks) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let keeper = Box::new(Keeper { digester: Digester::new(), memory, used });
        let pen = Pen { tables, failed: None, has_failed: failed };
        let waiting = Arc::new(AtomicUsize::new(0));
        let desk = Desk { handed, waiting: Arc::clone(&waiting), pen, keeper, last: Vec::new() };
        let desk = Arc::new(Mutex::new(Some(Box::new(desk))));
        let free = Arc::clone(&desk);
        let speaker = place::here();
        let thread = thread::Builder::new().name("writer".into()).spawn(move || {
            if let Some(core) = speaker {
                place::leave(core);
            }
            rehearse();
            if let Some(work) = write_all(&free, &leave, &told) {
                // Perhaps nobody asks any more.
                let _ = say.send(work.take_part());
            }
        })?;
        Ok(Scribe {
            to: Some(to),
            thread: Some(thread),
            desk,
            waiting,
            found,
            tell: Some(tell),
            done,
            blanks,
            has_failed,
            ended: None,
        })
    }

    /// Whether something went wrong so far.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Hands a piece over. A thread that panicked takes none; that is a failure like any other until [`end`](Self::end), because
    /// whoever speaks may have others waiting for it.
    pub(super) fn hand(&mut self, piece: Piece) {
        let to = self.to.as_ref().expect("nothing is said after the end");
        if self.waiting.fetch_add(1, Ordering::Relaxed) + 1 == MANY_WAITING {
            self.wake();
        }
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
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// An empty list with room for so many events: one that was handed over before, if the thread is done with it.
    pub(super) fn blank(&self, room: usize) -> Vec<Event> {
        self.blanks.try_recv().unwrap_or_else(|_| Vec::with_capacity(room))
    }

    /// Everything has been handed over: waits until it is written.
    pub(super) fn end(&mut self) -> &mut Ended {
        self.hand_last(Vec::new());
        if self.ended.is_none() {
            let ended = self.wait();
            self.has_failed.store(ended.files.is_err(), Ordering::Relaxed);
            self.ended = Some(ended);
        }
        self.ended.as_mut().expect("it has been waited for")
    }

    fn wait(&mut self) -> Ended {
        let own = || {
            let desk = held(&self.desk).take()?;
            let Next::Rest(work) = desk.work_off() else { unreachable!("nothing more is handed over") };
            if let Some(tell) = &self.tell {
                // Perhaps it sleeps; then it may come late, or not at all.
                let _ = tell.send(Arc::clone(&work));
                self.wake();
            }
            Some(work)
        };
        let Some(work) = soon(&self.found, own) else { self.fall_with_the_thread() };
        let mut done = work.take_part_with_others();
        if done.len() < work.count {
            let Some(others) = soon(&self.done, || None) else { self.fall_with_the_thread() };
            done.extend(others);
        }
        Ended::of(done.into_iter())
    }

    /// The thread panicked.
    fn fall_with_the_thread(&mut self) -> ! {
        let thread = self.thread.take().expect("a thread is waited for once");
        panic::resume_unwind(thread.join().expect_err("a thread that ends well says so"));
    }

    /// As [`end`](Self::end), for who wants nothing else any more.
    pub(super) fn into_ended(mut self) -> Ended {
        self.end();
        self.ended.take().expect("it has ended")
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        (self.to, self.tell) = (None, None);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more how it went.
            let _ = thread.join();
        }
    }
}

/// All that it takes to write what was handed over.
struct Desk {
    handed: Receiver<Handed>,
    waiting: Arc<AtomicUsize>,
    pen: Pen,
    keeper: Box<Keeper>,
    /// What was handed over last, once it was.
    last: Vec<Piece>,
}

/// How it goes on at a desk that is worked off.
enum Next {
    /// Something more may be handed over. And whether anything was.
    Wait(Box<Desk>, bool),
    /// All is in the tables.
    Rest(LastWork),
}

/// What the thread does, until all has been written: the work that is left then. None if whoever speaks is gone.
fn write_all(free: &FreeDesk, leave: &Sender<LastWork>, told: &Receiver<LastWork>) -> Option<LastWork> {
    let mut nap = SHORTEST_NAP;
    loop {
        let desk = held(free).take();
        match desk.map(Desk::work_off) {
            Some(Next::Wait(desk, had_work)) => {
                *held(free) = Some(desk);
                nap = if had_work { SHORTEST_NAP } else { LONGEST_NAP.min(2 * nap) };
                thread::park_timeout(nap);
            }
            Some(Next::Rest(work)) => {
                // Perhaps nobody waits any more.
                let _ = leave.send(Arc::clone(&work));
                return Some(work);
            }
            // Somebody else is there, who waits for the end.
            None => return soon(told, || None),
        }
    }
}

impl Desk {
    /// Writes all that was handed over.
    fn work_off(mut self: Box<Self>) -> Next {
        let mut had_work = false;
        loop {
            match self.handed.try_recv() {
                Ok(Handed::One(piece)) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.take(piece);
                    had_work = true;
                }
                Ok(Handed::Last(pieces)) => self.last = pieces,
                Err(TryRecvError::Empty) => return Next::Wait(self, had_work),
                Err(TryRecvError::Disconnected) => return Next::Rest(self.rest()),
            }
        }
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

    fn rest(mut self: Box<Self>) -> LastWork {
        self.last.iter().for_each(|piece| self.pen.write(piece));
        let Desk { pen: Pen { tables, failed, .. }, keeper, last, .. } = *self;
        let (tables, failed) = match failed {
            None => (Vec::from(tables.full()), None),
            Some(error) => (Vec::new(), Some(error)),
        };
        Arc::new(Rest {
            count: tables.len() + usize::from(failed.is_some()) + 1,
            failed: Mutex::new(failed),
            tables,
            keeping: Mutex::new(Some((keeper, last))),
        })
    }
}

/// What is left when all is in the tables, for the thread and for whoever waits: each does what nobody else does.
type LastWork = Arc<Rest>;

struct Rest {
    /// How many things are done at the end.
    count: usize,
    /// What went wrong before: then there is nothing to close.
    failed: Mutex<Option<RecordError>>,
    tables: Vec<Full>,
    keeping: Mutex<Option<(Box<Keeper>, Vec<Piece>)>>,
}

enum Done {
    Closed(Result<Written, RecordError>),
    Kept(Box<Keeper>),
}

impl Rest {
    fn take_part(&self) -> Vec<Done> {
        let mut done: Vec<Done> = self.tables.iter().filter_map(Full::take_part).map(Done::Closed).collect();
        done.extend(held(&self.failed).take().map(|error| Done::Closed(Err(error))));
        let keeping = held(&self.keeping).take();
        done.extend(keeping.map(|(mut keeper, last)| {
            last.into_iter().for_each(|piece| keeper.keep(piece));
            Done::Kept(keeper)
        }));
        done
    }

    /// Takes part together with as many others as the tables are worth.
    fn take_part_with_others(&self) -> Vec<Done> {
        // Two are there already, this one and the other end's.
        let most = self.tables.iter().map(|table| table.threads).max().unwrap_or(0);
        thread::scope(|scope| {
            let others: Vec<_> = (2..most).map(|_| scope.spawn(|| self.take_part())).collect();
            let mut done = self.take_part();
            for other in others {
                done.extend(other.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
            }
            done
        })
    }
}

/// Who writes into the tables, until something goes wrong.
struct Pen {
    tables: Tables,
    failed: Option<RecordError>,
    has_failed: Arc<AtomicBool>,
}

impl Pen {
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

    fn try_to(&mut self, write: impl FnOnce(&mut Tables) -> Result<(), RecordError>) {
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

/// What is about to come, if anything will, or what there is here. Who sleeps is woken late, and perhaps on the core of the thread that
/// woke it: so this one first only lets others go before it.
fn soon<T>(from: &Receiver<T>, here: impl Fn() -> Option<T>) -> Option<T> {
    const PATIENCE: Duration = Duration::from_micros(500);
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match from.try_recv() {
            Ok(it) => return Some(it),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if let Some(it) = here() {
            return Some(it);
        }
        thread::yield_now();
    }
    from.recv().ok()
}
