//! On which core a thread works.
//!
//! The threads of a run work for so short a time that it matters on which cores they are: the kernel may put two of them on one core
//! while another is idle, and leave them there for tens of milliseconds (in a virtual machine an idle core looks as if it were taken
//! away). None of it changes what a run says: where the system refuses, the run takes longer, and that is all.

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
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    /// How many threads are held to each core. Runs go side by side, each with threads of its own.
    static HELD: Mutex<Vec<u32>> = Mutex::new(Vec::new());

    fn held() -> MutexGuard<'static, Vec<u32>> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.resize(CpuSet::MAX_CPU, 0);
        held
    }

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

    /// The cores that the threads of a run are held to, one each.
    #[derive(Debug)]
    pub struct Cores {
        allowed: CpuSet,
        /// That of each thread; none where there are fewer cores than threads.
        of_thread: Vec<usize>,
    }

    impl Cores {
        /// For so many threads, those that the fewest are held to, and this one before others.
        pub fn deal(threads: usize) -> Cores {
            let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
            let mut order: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
            if order.len() < threads {
                return Cores { allowed, of_thread: Vec::new() };
            }
            let first = here().and_then(|here| order.iter().position(|core| *core == here));
            order.rotate_left(first.unwrap_or(0));
            if order.len() > threads {
                // Stable: one of each piece of hardware, in this order, and then the next one of each.
                order.sort_by_cached_key(|core| place_among_siblings(*core));
            }
            Cores { allowed, of_thread: deal(&order, threads, &mut held()) }
        }

        /// This thread of the run goes to its core and stays there.
        pub fn hold(&self, thread: usize) {
            if let Some(core) = self.of_thread.get(thread) {
                let mut alone = CpuSet::new();
                alone.set(*core);
                let _ = sched_setaffinity(None, &alone);
            }
        }

        /// This thread may use any of them again.
        pub fn set_free(&self) {
            if !self.of_thread.is_empty() {
                let _ = sched_setaffinity(None, &self.allowed);
            }
        }
    }

    impl Drop for Cores {
        fn drop(&mut self) {
            let mut held = held();
            self.of_thread.iter().for_each(|core| held[*core] -= 1);
        }
    }

    /// Gives each thread a core of its own: those that the fewest are held to, else in order.
    fn deal(order: &[usize], threads: usize, held: &mut [u32]) -> Vec<usize> {
        let mut cores = order.to_vec();
        cores.sort_by_key(|core| held[*core]);
        cores.truncate(threads);
        cores.iter().for_each(|core| held[*core] += 1);
        cores
    }

    /// Cores that share what they are made of are siblings. How many of them come before this one, as far as the system tells.
    fn place_among_siblings(core: usize) -> usize {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let siblings = fs::read_to_string(file).unwrap_or_default();
        cores_before(core, &siblings)
    }

    /// How many cores of a list such as `0-2,8` come before one of them.
    fn cores_before(core: usize, list: &str) -> usize {
        let ranges = list.trim().split(',').filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<usize>().ok()?..last.parse::<usize>().ok()? + 1)
        });
        ranges.flatten().filter(|other| *other < core).count()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn runs_side_by_side_share_no_core_while_another_is_free() {
            let (order, mut held) = ([2, 3, 0, 1], vec![0; 4]);
            assert_eq!(deal(&order, 2, &mut held), [2, 3]);
            assert_eq!(deal(&order, 1, &mut held), [0]);
            assert_eq!(deal(&order, 3, &mut held), [1, 2, 3]);
            assert_eq!(held, [1, 1, 2, 2]);
            assert_eq!(deal(&order, 4, &mut held), [0, 1, 2, 3], "never two of one run on one core");
        }

        #[test]
        fn siblings_are_counted_in_ranges_and_lists() {
            assert_eq!([0, 8].map(|core| cores_before(core, "0,8\n")), [0, 1]);
            assert_eq!([4, 5, 12].map(|core| cores_before(core, "4-5,12-13")), [0, 1, 2]);
            assert_eq!(cores_before(3, ""), 0);
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

    /// The cores that the threads of a run are held to.
    #[derive(Debug)]
    pub struct Cores;

    impl Cores {
        /// For so many threads.
        pub fn deal(_: usize) -> Cores {
            Cores
        }

        /// This thread of the run goes to its core.
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
            let threads = before.count() as usize;
            let cores = Cores::deal(threads);
            let mut seen = Vec::new();
            for thread in 0..threads {
                cores.hold(thread);
                assert_eq!((held().count(), thread::spawn(held).join().unwrap()), (1, held()));
                seen.push(held());
            }
            assert!((1..seen.len()).all(|thread| !seen[..thread].contains(&seen[thread])));
            cores.set_free();
            assert_eq!(held(), before);
            Cores::deal(threads + 1).hold(0);
            assert_eq!(held(), before, "where there are too few cores, nobody is held to one");
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
