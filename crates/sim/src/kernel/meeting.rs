//! Where the threads of one run wait for each other.
//!
//! Threads that simulate parts of one network meet after each stretch of time, tell how far each has got, and go on
//! together. A thread that waits spins for a few microseconds, since the others are about to come, and then sleeps: on a
//! machine with other work it must not hold a core for nothing.

#[cfg(test)]
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(test)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(test))]
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex};

use std::sync::atomic::Ordering;

/// A place where a fixed number of threads meet again and again.
#[derive(Debug)]
pub(crate) struct Meeting {
    threads: usize,
    spins: u32,
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

impl Meeting {
    /// A meeting of this many threads. Each looks `spins` times whether the others have come before it sleeps.
    pub(crate) fn new(threads: usize, spins: u32) -> Meeting {
        Meeting {
            threads,
            spins,
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
        (!self.broken.load(Ordering::Acquire)).then_some(least)
    }

    /// Lets the others go on without this thread: they are told at their next meeting, or at the one they wait in.
    pub(crate) fn break_off(&self) {
        self.wake(|| self.broken.store(true, Ordering::Release));
    }

    fn is_over(&self, round: usize) -> bool {
        self.rounds.load(Ordering::Acquire) != round || self.broken.load(Ordering::Acquire)
    }

    fn wait(&self, round: usize) {
        for _ in 0..self.spins {
            if self.is_over(round) {
                return;
            }
            spin();
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
    loom::thread::yield_now();
    #[cfg(not(test))]
    std::hint::spin_loop();
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Every order in which two threads can go through two rounds, with and without sleep.
    #[test]
    fn every_thread_learns_the_least_of_each_round_in_any_order() {
        for spins in [0, 1] {
            loom::model(move || {
                let meeting = Arc::new(Meeting::new(2, spins));
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
            let meeting = Arc::new(Meeting::new(3, 0));
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
            let meeting = Arc::new(Meeting::new(2, 0));
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
        for spins in [0, 1] {
            loom::model(move || {
                let meeting = Arc::new(Meeting::new(2, spins));
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
