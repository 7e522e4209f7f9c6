//! On which core a thread works.
//!
//! The threads of a run work for so short a time that it matters on which cores they are: the kernel may put two of them on one core
//! while another is idle, and leave them there for tens of milliseconds (in a virtual machine an idle core looks as if it were taken
//! away). What cannot be done about that costs nothing but time.

mod stay;

pub use stay::Stay;

#[cfg(target_os = "linux")]
use linux::worked;
#[cfg(target_os = "linux")]
pub use linux::{Cores, here, leave};
#[cfg(not(target_os = "linux"))]
use other::worked;
#[cfg(not(target_os = "linux"))]
pub use other::{Cores, here, leave};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};
    use std::fs;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// Where the first of all threads was, and how many have been given a core since then: runs side by side take the cores by turns.
    static FIRST: OnceLock<Option<usize>> = OnceLock::new();
    static GIVEN: AtomicUsize = AtomicUsize::new(0);

    /// The core that this thread is on, if the system tells.
    pub fn here() -> Option<usize> {
        let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
        // The second field is a name, which may have blanks; this is the 39th.
        stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
    }

    /// How long this thread has worked in its life, if the system tells.
    pub(super) fn worked() -> Option<Duration> {
        let worked = clock_gettime(ClockId::ThreadCPUTime);
        Some(Duration::new(worked.tv_sec.try_into().ok()?, worked.tv_nsec.try_into().ok()?))
    }

    /// Sends this thread to any core but this one. From then on it may go wherever it could before.
    pub fn leave(core: usize) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut others = allowed;
        if core < CpuSet::MAX_CPU {
            others.unset(core);
            if sched_setaffinity(None, &others).is_ok() {
                let _ = sched_setaffinity(None, &allowed);
            }
        }
    }

    /// The cores that the threads of a run may use, to hold each to one of its own.
    #[derive(Debug)]
    pub struct Cores {
        allowed: CpuSet,
        /// In the order of places.
        order: Vec<usize>,
    }

    impl Cores {
        /// Those that this thread may use, for so many threads: each has a place, the first of which is this core unless others run
        /// beside.
        pub fn allowed(threads: usize) -> Cores {
            let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
            let mut order: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
            let first = *FIRST.get_or_init(here);
            let begin = order.iter().position(|core| Some(*core) == first).unwrap_or(0);
            let given = GIVEN.fetch_add(threads, Ordering::Relaxed);
            let count = order.len().max(1);
            order.rotate_left((begin + given) % count);
            Cores { allowed, order }
        }

        /// This thread goes to the core of its place and stays there, and so does a thread that it starts there.
        pub fn hold(&self, place: usize) {
            if let Some(core) = self.order.get(place % self.order.len().max(1)) {
                let mut alone = CpuSet::new();
                alone.set(*core);
                let _ = sched_setaffinity(None, &alone);
            }
        }

        /// This thread may use any of them again.
        pub fn set_free(&self) {
            if !self.order.is_empty() {
                let _ = sched_setaffinity(None, &self.allowed);
            }
        }
    }
}

/// Elsewhere that is for the system to say.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::time::Duration;

    /// The core that this thread is on, if the system tells.
    pub fn here() -> Option<usize> {
        None
    }

    /// How long this thread has worked in its life, if the system tells.
    pub(super) fn worked() -> Option<Duration> {
        None
    }

    /// Sends this thread to any core but this one.
    pub fn leave(_: usize) {}

    /// The cores that the threads of a run may use.
    #[derive(Debug)]
    pub struct Cores;

    impl Cores {
        /// Those that this thread may use.
        pub fn allowed(_: usize) -> Cores {
            Cores
        }

        /// This thread goes to the core of its place.
        pub fn hold(&self, _: usize) {}

        /// This thread may use any of them again.
        pub fn set_free(&self) {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;
    use std::thread;

    #[test]
    fn a_thread_is_held_to_one_core_with_those_it_starts_until_it_is_set_free() {
        let held = || sched_getaffinity(None).unwrap();
        let test = move || {
            let before = held();
            let cores = Cores::allowed(1);
            let mut seen = Vec::new();
            for place in 0..before.count() as usize {
                cores.hold(place);
                assert_eq!((held().count(), thread::spawn(held).join().unwrap()), (1, held()));
                seen.push(held());
            }
            assert!((1..seen.len()).all(|place| !seen[..place].contains(&seen[place])));
            cores.set_free();
            assert_eq!(held(), before);
        };
        // On a thread of its own, for it is moved about.
        thread::spawn(test).join().unwrap();
    }

    #[test]
    fn who_leaves_a_core_may_come_back() {
        let test = || {
            let before = sched_getaffinity(None).unwrap();
            leave(here().unwrap());
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        };
        thread::spawn(test).join().unwrap();
    }
}
