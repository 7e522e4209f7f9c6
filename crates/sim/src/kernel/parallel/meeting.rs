//! Where the threads of one run wait for each other.
//!
//! Threads that simulate parts of one network meet for each sample, and where there is nothing to do for long, tell how far
//! each has got, and go on together. A thread that waits spins for a few microseconds, since the others are about to come; then it lets others go
//! first for a while, because to be woken takes longer than most waits; and then it sleeps: on a machine with other work it must
//! not hold a core for nothing.

#[cfg(test)]
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(test)]
use loom::sync::{Condvar, Mutex};
#[cfg(test)]
use loom::thread;
#[cfg(not(test))]
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex};
#[cfg(not(test))]
use std::thread;

use std::sync::atomic::Ordering;

/// A place where a fixed number of threads meet again and again.
#[derive(Debug)]
pub(crate) struct Meeting {
    threads: usize,
    patience: Patience,
    /// Who has come to this round.
    arrived: AtomicUsize,
    /// How many rounds are over.
    rounds: AtomicUsize,
    /// The least value brought to this round, and to the one before or after it.
    least: [AtomicU64; 2],
    /// One of the threads will not come again.
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    woken: Condvar,
}

/// So often a thread looks at nothing before it lets others go first again: some half a microsecond.
const SPINS_A_YIELD: u32 = if cfg!(test) { 0 } else { 16 };

/// How long a thread waits before it sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// So often it looks for the others at once, one look after the other.
    pub(crate) spins: u32,
    /// Then so often, after it has let any other program that wants the core go first.
    pub(crate) yields: u32,
}

impl Patience {
    /// Waits for a moment, for the `turn`th time. `false`: it is at its end.
    pub(crate) fn lasts(self, turn: u32) -> bool {
        if turn < self.spins {
            spin();
        } else if turn < self.spins + self.yields {
            // Not at once again: the thread that is waited for may share what this core is made of.
            (0..SPINS_A_YIELD).for_each(|_| spin());
            thread::yield_now();
        } else {
            return false;
        }
        true
    }
}

impl Meeting {
    /// A meeting of this many threads.
    pub(crate) fn new(threads: usize, patience: Patience) -> Meeting {
        Meeting {
            threads,
            patience,
            arrived: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            least: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits until every thread has come, and says the least value that one of them brought. What a thread wrote before it
    /// came, every thread sees after. `None`: a thread failed and will not come.
    pub(crate) fn meet(&self, value: u64) -> Option<u64> {
        // No thread is more than a round ahead of another, so two places are enough: the last one to come clears the other.
        let round = self.rounds.load(Ordering::Acquire);
        let least = &self.least[round % 2];
        least.fetch_min(value, Ordering::AcqRel);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.least[(round + 1) % 2].store(u64::MAX, Ordering::Release);
            self.arrived.store(0, Ordering::Release);
            self.wake(|| self.rounds.store(round + 1, Ordering::Release));
        } else {
            self.wait(round);
        }
        let least = least.load(Ordering::Acquire);
        (!self.is_broken()).then_some(least)
    }

    /// Lets the others go on without this thread: they are told at their next meeting, or at the one they wait in.
    pub(crate) fn break_off(&self) {
        self.wake(|| self.broken.store(true, Ordering::Release));
    }

    /// Whether a thread failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn is_over(&self, round: usize) -> bool {
        self.rounds.load(Ordering::Acquire) != round || self.is_broken()
    }

    fn wait(&self, round: usize) {
        for turn in 0.. {
            if self.is_over(round) {
                return;
            }
            if !self.patience.lasts(turn) {
                break;
            }
        }
        let mut sleepers = self.sleepers.lock().expect("nothing panics under this lock");
        *sleepers += 1;
        while !self.is_over(round) {
            sleepers = self.woken.wait(sleepers).expect("nothing panics under this lock");
        }
        *sleepers -= 1;
    }

    /// Changes what sleepers wait for. The lock makes sure that none falls asleep between its last look and the change.
    fn wake(&self, change: impl FnOnce()) {
        let sleepers = self.sleepers.lock().expect("nothing panics under this lock");
        change();
        if *sleepers > 0 {
            self.woken.notify_all();
        }
    }
}

fn spin() {
    #[cfg(test)]
    thread::yield_now();
    #[cfg(not(test))]
    std::hint::spin_loop();
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;

    const SLEEP: Patience = Patience { spins: 0, yields: 0 };

    /// Every order in which two threads can go through two rounds, with and without sleep.
    #[test]
    fn every_thread_learns_the_least_of_each_round_in_any_order() {
        for patience in [SLEEP, Patience { spins: 1, yields: 0 }, Patience { spins: 0, yields: 1 }] {
            loom::model(move || {
                let meeting = Arc::new(Meeting::new(2, patience));
                let other = {
                    let meeting = Arc::clone(&meeting);
                    thread::spawn(move || [meeting.meet(7), meeting.meet(3)])
                };
                assert_eq!([meeting.meet(5), meeting.meet(4)], [Some(5), Some(3)]);
                assert_eq!(other.join().unwrap(), [Some(5), Some(3)]);
            });
        }
    }

    #[test]
    fn three_threads_meet_in_any_order() {
        let mut exhaustive = loom::model::Builder::new();
        exhaustive.preemption_bound = Some(2);
        exhaustive.check(|| {
            let meeting = Arc::new(Meeting::new(3, SLEEP));
            let others: Vec<_> = [2, 9]
                .into_iter()
                .map(|value| {
                    let meeting = Arc::clone(&meeting);
                    thread::spawn(move || meeting.meet(value))
                })
                .collect();
            assert_eq!(meeting.meet(5), Some(2));
            for other in others {
                assert_eq!(other.join().unwrap(), Some(2));
            }
        });
    }

    /// Nothing else orders the two: the letter itself is written and read without any order.
    #[test]
    fn what_was_written_before_a_meeting_is_seen_after_it() {
        loom::model(|| {
            let meeting = Arc::new(Meeting::new(2, SLEEP));
            let letter = Arc::new(AtomicU64::new(0));
            let other = {
                let (meeting, letter) = (Arc::clone(&meeting), Arc::clone(&letter));
                thread::spawn(move || {
                    letter.store(42, Ordering::Relaxed);
                    meeting.meet(0);
                })
            };
            meeting.meet(0);
            assert_eq!(letter.load(Ordering::Relaxed), 42);
            other.join().unwrap();
        });
    }

    #[test]
    fn a_thread_that_fails_leaves_nobody_waiting() {
        for patience in [SLEEP, Patience { spins: 1, yields: 0 }, Patience { spins: 0, yields: 1 }] {
            loom::model(move || {
                let meeting = Arc::new(Meeting::new(2, patience));
                let other = {
                    let meeting = Arc::clone(&meeting);
                    thread::spawn(move || meeting.break_off())
                };
                assert_eq!(meeting.meet(1), None);
                other.join().unwrap();
            });
        }
    }
}
