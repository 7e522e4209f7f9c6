//! How far each part has got, and what the parts sent each other.
//!
//! A part whose clock says `t` sends nothing more before `t`, and all that it sent until then has been posted; its inner nodes may
//! still be at it. What it sends later arrives at `t` + lookahead or later. So a part that looks at the clocks of the others and *then* collects its
//! mail knows all that can happen to it before the least of them + lookahead.

#[cfg(test)]
use loom::sync::Mutex;
#[cfg(test)]
use loom::sync::atomic::{AtomicBool, AtomicU64};
#[cfg(not(test))]
use std::sync::Mutex;
#[cfg(not(test))]
use std::sync::atomic::{AtomicBool, AtomicU64};

use std::sync::atomic::Ordering;

/// The clocks of all parts, in picoseconds.
#[derive(Debug)]
pub(crate) struct Clocks(Vec<Clock>);

/// A line of the cache by itself: its part writes it all the time.
#[derive(Debug)]
#[repr(align(128))]
struct Clock(AtomicU64);

impl Clocks {
    pub(crate) fn new(parts: usize) -> Clocks {
        Clocks((0..parts).map(|_| Clock(AtomicU64::new(0))).collect())
    }

    /// How far a part has got.
    pub(crate) fn of(&self, part: usize) -> u64 {
        self.0[part].0.load(Ordering::Relaxed)
    }

    /// A part sends nothing more before this instant, and has posted all that it sent until then.
    pub(crate) fn set(&self, part: usize, ps: u64) {
        self.0[part].0.store(ps, Ordering::Release);
    }

    /// Before this instant nothing happens to a part that is not in its mail already.
    pub(crate) fn horizon(&self, part: usize, lookahead: u64) -> u64 {
        let others = self.0.iter().enumerate().filter(|(other, _)| *other != part);
        let least = others.map(|(_, clock)| clock.0.load(Ordering::Acquire)).min();
        least.unwrap_or(u64::MAX).saturating_add(lookahead)
    }
}

/// Where others leave what is for one part.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Inbox<T> {
    /// Spares most looks the lock.
    has_mail: AtomicBool,
    mail: Mutex<Vec<T>>,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        Inbox { has_mail: AtomicBool::new(false), mail: Mutex::new(Vec::new()) }
    }

    /// Leaves all of these, in their order.
    pub(crate) fn post(&self, letters: &mut Vec<T>) {
        if letters.is_empty() {
            return;
        }
        let mut mail = self.mail.lock().expect("nothing panics under this lock");
        if mail.is_empty() {
            std::mem::swap(&mut *mail, letters);
        } else {
            mail.append(letters);
        }
        self.has_mail.store(true, Ordering::Release);
    }

    /// Takes all there is into an empty list.
    pub(crate) fn collect(&self, into: &mut Vec<T>) {
        debug_assert!(into.is_empty(), "what was collected before has been read");
        if self.has_mail.load(Ordering::Acquire) {
            let mut mail = self.mail.lock().expect("nothing panics under this lock");
            std::mem::swap(&mut *mail, into);
            self.has_mail.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    const LOOKAHEAD: u64 = 10;

    /// Two parts; one sends a letter at 5, due at 15, and goes on to 8. If the other may go beyond 15, it has the letter.
    #[test]
    fn who_may_go_on_has_all_the_mail_until_then() {
        loom::model(|| {
            let clocks = Arc::new(Clocks::new(2));
            let inbox = Arc::new(Inbox::new());
            let sender = {
                let (clocks, inbox) = (Arc::clone(&clocks), Arc::clone(&inbox));
                thread::spawn(move || {
                    clocks.set(1, 5);
                    inbox.post(&mut vec![15]);
                    clocks.set(1, 8);
                })
            };
            let horizon = clocks.horizon(0, LOOKAHEAD);
            let mut mail = Vec::new();
            inbox.collect(&mut mail);
            assert!([10, 15, 18].contains(&horizon));
            assert!(horizon <= 15 || mail == [15], "may go to {horizon} with {mail:?}");
            sender.join().unwrap();
        });
    }

    /// Two senders and one who collects in between: nothing is lost, nothing comes twice, each sender's letters in order.
    #[test]
    fn every_letter_arrives_once_and_in_order() {
        let mut bounded = loom::model::Builder::new();
        bounded.preemption_bound = Some(3);
        bounded.check(|| {
            let inbox = Arc::new(Inbox::new());
            let senders: Vec<_> = [[1, 2], [11, 12]]
                .into_iter()
                .map(|letters| {
                    let inbox = Arc::clone(&inbox);
                    thread::spawn(move || letters.into_iter().for_each(|it| inbox.post(&mut vec![it])))
                })
                .collect();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            inbox.collect(&mut first);
            for sender in senders {
                sender.join().unwrap();
            }
            inbox.collect(&mut second);
            first.append(&mut second);
            for letters in [[1, 2], [11, 12]] {
                let own: Vec<i32> = first.iter().copied().filter(|it| letters.contains(it)).collect();
                assert_eq!(own, letters);
            }
            assert_eq!(first.len(), 4);
        });
    }

    #[test]
    fn the_slowest_part_can_always_go_on() {
        loom::model(|| {
            let clocks = Clocks::new(3);
            for (part, at) in [(0, 7), (1, 3), (2, 12)] {
                clocks.set(part, at);
            }
            assert_eq!(clocks.horizon(1, LOOKAHEAD), 17);
            assert_eq!(clocks.horizon(0, LOOKAHEAD), 13);
            assert_eq!(clocks.of(1), 3);
        });
    }
}
