//! One run on several threads, to the same end as on one.
//!
//! The network is cut at its wires, and each thread simulates one part. Nothing reaches another part sooner than the
//! lookahead of the cut, so a part may handle its events up to the [clock](clocks) of the slowest other part + lookahead. Parts
//! go on without waiting for each other inside that window; and the nodes that reach other parts, the *rim*, have their turns first, so
//! that the others hear of it while the rest of the part is at work. Parts [meet](meeting) for each sample, and where nothing happens
//! for long, to go on at the next event of the whole network. This thread [tells](teller) the sink what they have to say, while
//! they go on.
//!
//! Why the result is the same: a node sees the same arrivals at the same times, equal times are ordered by node and lane and
//! not by who booked first, and every random stream belongs to one entity. What is recorded is put together in the order
//! of one thread: values by entity, events by time, node and lane.

mod clocks;
mod meeting;
mod teller;

use super::deadlock::Lookout;
use super::run::{Broken, Control, Outcome, Rest, Samples, in_order};
use crate::model::{Ground, Parcel, World};
use crate::scenario::plan::{Deadlock, Plan};
use crate::topology::cut::Cut;
use clocks::{Clocks, Inbox};
use meeting::{Meeting, Patience};
use quell_proto::units::{Duration, Instant};
use quell_record::place::{Cores, Stay};
use quell_record::{Rows, Sink};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::{mem, thread, time};
use teller::{Joint, Said, Teller, Verdict};

/// How long a thread waits for the others before it sleeps: some ten microseconds, and then some hundred if nobody else wants
/// the core.
const PATIENCE: Patience = Patience { spins: 400, yields: 250 };
/// Where there are fewer cores than threads, who waits is in the way of who is waited for.
const LITTLE_PATIENCE: Patience = Patience { spins: 0, yields: 20 };
/// How long a thread sleeps before it looks again.
const NAP: time::Duration = time::Duration::from_micros(50);
/// A part tells the others how far it has got after so many events, at the least: some ten microseconds.
const EVENTS_A_STEP: u64 = 100;
/// After so many steps without an event a part calls the others to a meeting.
const IDLE_STEPS: u32 = 32;
/// So many samples a part may be ahead of what the sink was told.
const SAMPLES_AHEAD: usize = 2;

/// Runs a plan that is cut into parts, one thread a part.
pub(super) fn run(
    plan: &Plan,
    seed: u64,
    sink: &mut dyn Sink,
    control: &Control,
    cut: &Cut,
) -> Result<Outcome, Broken> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let patience = if cores >= cut.parts { PATIENCE } else { LITTLE_PATIENCE };
    let shared = Shared {
        plan,
        ground: OnceLock::new(),
        seed,
        cut,
        stop: &control.stop,
        patience,
        clocks: Clocks::new(cut.parts),
        inboxes: (0..cut.parts).map(|_| Inbox::new()).collect(),
        meeting: Meeting::new(cut.parts, patience),
        is_called: AtomicBool::new(false),
        is_stopping: AtomicBool::new(false),
        cores: Cores::deal(cut.parts),
    };
    let (ended, sink, told) = thread::scope(|scope| {
        // In here, so that it is gone before the parts are waited for, even if the sink panics: whoever still has something to say
        // must find nobody who listens.
        let mut teller = Teller {
            plan,
            control,
            sink,
            lookout: Lookout::of(plan),
            parts: Vec::new(),
            verdicts: Vec::new(),
            told: None,
            joint: Joint::default(),
        };
        let mut watch = Watch { meeting: &shared.meeting, is_done: false };
        for part in (0..cut.parts).rev() {
            if part == 0 {
                // While the others begin. This one has the core that this thread is on.
                shared.ground.set(Ground::of(plan)).expect("nobody else does");
            }
            let (say, said) = mpsc::sync_channel(SAMPLES_AHEAD);
            let (verdict, verdicts) = mpsc::channel();
            teller.parts.push(said);
            if plan.deadlock != Deadlock::Impossible {
                teller.verdicts.push(verdict);
            }
            let shared = &shared;
            scope.spawn(move || shared.work(part, &say, &verdicts));
        }
        teller.parts.reverse();
        teller.verdicts.reverse();
        watch.is_done = true;
        let ended = teller.listen(Samples::of(plan), Instant::START + plan.length);
        let Teller { sink, told, .. } = teller;
        (ended, sink, told)
    });
    // An invariant broke between two samples, when parts were at different times: one thread goes to the same point and says
    // what it is.
    ended.unwrap_or_else(|| in_order(plan, seed, &mut Rest::new(sink, told), control))
}

/// What the threads of a run share.
struct Shared<'a> {
    plan: &'a Plan,
    /// Set as soon as it is known.
    ground: OnceLock<Ground>,
    seed: u64,
    cut: &'a Cut,
    /// Somebody wants the run to end at its next sample.
    stop: &'a AtomicBool,
    patience: Patience,
    clocks: Clocks,
    inboxes: Vec<Inbox<Parcel>>,
    meeting: Meeting,
    /// Somebody has nothing to do and wants all to meet.
    is_called: AtomicBool,
    /// The run ends at this sample: decided once for all parts.
    is_stopping: AtomicBool,
    cores: Cores,
}

/// Lets the others go when a thread ends before its time.
struct Watch<'a> {
    meeting: &'a Meeting,
    is_done: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.meeting.break_off();
        }
    }
}

impl Shared<'_> {
    /// What all parts have in common, once it is known. `None`: it never will be.
    fn ground(&self) -> Option<&Ground> {
        let mut waited = 0;
        loop {
            if let Some(ground) = self.ground.get() {
                return Some(ground);
            }
            if self.meeting.is_broken() {
                return None;
            }
            if !self.patience.lasts(waited) {
                thread::sleep(NAP);
            }
            waited += 1;
        }
    }

    fn work(&self, part: usize, say: &SyncSender<Said>, verdicts: &Receiver<Verdict>) {
        self.cores.hold(part);
        let mut watch = Watch { meeting: &self.meeting, is_done: false };
        let Some(ground) = self.ground() else { return };
        let simulated = Part::new(self, ground, part).simulate(say, verdicts);
        watch.is_done = simulated.is_some();
    }
}

/// One part, and the thread that simulates it.
struct Part<'a> {
    shared: &'a Shared<'a>,
    part: usize,
    world: World,
    /// What was collected.
    mail: Vec<Parcel>,
    /// What it says of whom: the same at most samples.
    shape: Rows,
    /// Steps since the last event.
    idle: u32,
    stay: Stay,
}

impl<'a> Part<'a> {
    fn new(shared: &'a Shared<'a>, ground: &Ground, part: usize) -> Part<'a> {
        let stay = Stay::begin();
        let world = World::part(shared.plan, ground, shared.seed, shared.cut, part as u16);
        Part { shared, part, world, mail: Vec::new(), shape: Rows::default(), idle: 0, stay }
    }

    /// Simulates to the end. `None`: something broke, here or in another part, or nobody listens any more.
    fn simulate(&mut self, say: &SyncSender<Said>, verdicts: &Receiver<Verdict>) -> Option<()> {
        let end = Instant::START + self.shared.plan.length;
        for at in Samples::of(self.shared.plan) {
            self.advance_to(at)?;
            let is_last = at == end || self.shared.is_stopping.load(Ordering::Acquire);
            let said = self.sample(at, is_last);
            self.stay.wait(|| say.send(said).ok())?;
            // Where the run may end for what is found in this sample, it is waited for.
            let may_close = self.shared.plan.deadlock != Deadlock::Impossible;
            if may_close && self.stay.wait(|| verdicts.recv()).ok()? == Verdict::End && !is_last {
                let mut rest = Said::default();
                self.world.finish(&mut rest);
                say.send(rest).ok()?;
                return Some(());
            }
            if is_last {
                return Some(());
            }
        }
        Some(())
    }

    /// Handles everything before a sample, until all parts have.
    fn advance_to(&mut self, sample: Instant) -> Option<()> {
        let shared = self.shared;
        let lookahead = shared.cut.lookahead.map_or(u64::MAX, Duration::ps);
        let mut waited = 0;
        loop {
            let done = shared.clocks.of(self.part);
            if done >= sample.ps() || shared.is_called.load(Ordering::Relaxed) {
                if self.meet(done, sample)? {
                    return Some(());
                }
                continue;
            }
            let horizon = shared.clocks.horizon(self.part, lookahead).min(sample.ps());
            if horizon > done {
                // After the look at the clocks: see there.
                self.collect();
                self.step(Instant::from_ps(horizon))?;
                self.stay.end_if_shared(&shared.cores);
                waited = 0;
            } else if shared.meeting.is_broken() {
                return None;
            } else {
                if !shared.patience.lasts(waited) {
                    self.stay.wait(|| thread::sleep(NAP));
                }
                waited += 1;
            }
        }
    }

    /// Handles what there is before an instant, or a good part of it.
    fn step(&mut self, until: Instant) -> Option<()> {
        let before = self.world.handled();
        let mut next = self.world.next_at();
        // Whole windows: in the midst of one, some node has not begun yet.
        while next < until && self.world.handled() - before < EVENTS_A_STEP {
            let end = next.ps().saturating_add(self.world.window().ps());
            let end = until.min(Instant::from_ps(end));
            // First the rim, which is all that sends to others: they may go on while this part does the rest of the window.
            self.handle_until(end)?;
            self.publish(end);
            self.handle_until(end)?;
            assert!(self.world.parcels().iter().all(Vec::is_empty), "only the rim sends to others");
            next = self.world.next_at();
        }
        self.shared.clocks.set(self.part, until.min(next).ps());
        self.idle = if self.world.handled() == before { self.idle + 1 } else { 0 };
        if self.idle >= IDLE_STEPS {
            self.idle = 0;
            self.shared.is_called.store(true, Ordering::Relaxed);
        }
        Some(())
    }

    /// Posts what was sent, and says that nothing more will be before an instant.
    fn publish(&mut self, until: Instant) {
        for (inbox, parcels) in self.shared.inboxes.iter().zip(self.world.parcels()) {
            inbox.post(parcels);
        }
        self.shared.clocks.set(self.part, until.ps());
    }

    /// Handles everything before an instant, or all that the rim has to handle before it.
    fn handle_until(&mut self, until: Instant) -> Option<()> {
        self.world.advance(until).ok()?;
        self.world.fault().is_none().then_some(())
    }

    /// Takes in what others have sent.
    fn collect(&mut self) {
        let mut mail = mem::take(&mut self.mail);
        self.shared.inboxes[self.part].collect(&mut mail);
        mail.iter().for_each(|parcel| self.world.accept(parcel));
        mail.clear();
        self.mail = mail;
    }

    /// Meets the others, and goes with them to the next event of all or to the sample, whichever is first. Says whether that
    /// was the sample. Some may have come because they are there already, others because they were called.
    fn meet(&mut self, done: u64, sample: Instant) -> Option<bool> {
        let shared = self.shared;
        // What anybody sent has been posted when all have come.
        self.stay.wait(|| shared.meeting.meet(0))?;
        if self.part == 0 {
            shared.is_called.store(false, Ordering::Relaxed);
            shared.is_stopping.store(shared.stop.load(Ordering::Relaxed), Ordering::Release);
        }
        self.collect();
        let next = self.world.next_at().ps();
        let least = self.stay.wait(|| shared.meeting.meet(next))?;
        shared.clocks.set(self.part, least.min(sample.ps()).max(done));
        Some(least >= sample.ps())
    }

    /// What this part has to say at a sample.
    fn sample(&mut self, at: Instant, is_last: bool) -> Said {
        let mut said = Said { is_last, rows: mem::take(&mut self.shape), ..Said::default() };
        said.events = self.world.take_events();
        if self.shared.plan.deadlock != Deadlock::Impossible {
            said.waits = self.world.waits(at);
        }
        self.world.sample_values(at, &mut said);
        let row = said.rows.hand_over();
        self.shape = mem::replace(&mut said.rows, row);
        said.fault = self.world.fault().cloned();
        (said.handled, said.hops) = (self.world.handled(), [self.world.hops(), self.world.cell_hops()]);
        if is_last {
            // Most flows have an end in two parts. What is not used is never touched.
            said.totals.reserve(2 * self.shared.plan.flows.len() / self.shared.cut.parts);
            self.world.finish(&mut said);
        }
        said
    }
}
