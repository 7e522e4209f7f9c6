//! Which core a thread works on.
//!
//! The threads of a run work as long as each other and wait for each other all the time, so each is held to a core of its own. Left to
//! itself, the kernel puts two of them on one core while another is idle, and leaves them there for tens of milliseconds: in a virtual
//! machine an idle core looks as if it were taken away. A thread that finds it has to [share](Stay::is_shared) its core with somebody
//! is let go, so that the kernel can move it as it moves any other.

use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
pub(super) use linux::Cores;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Cores;

/// How long a thread has been on its core, and what became of the time.
#[derive(Debug)]
pub(super) struct Stay {
    since: Instant,
    /// What it had worked until then, as far as the system tells.
    worked: Option<Duration>,
    /// How long it has waited since then, which may have been in its sleep.
    waited: Duration,
    is_over: bool,
}

impl Stay {
    /// It is looked at no sooner than after this time: some turns of the kernel.
    const LEAST: Duration = Duration::from_millis(10);

    /// A stay that begins now.
    pub(super) fn begin() -> Stay {
        Stay { since: Instant::now(), worked: Cores::worked(), waited: Duration::ZERO, is_over: false }
    }

    /// Does what may take the thread some time in which it has nothing to do.
    pub(super) fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let waited = wait();
        self.waited += began.elapsed();
        waited
    }

    /// Lets the thread go anywhere if somebody else wants its core.
    pub(super) fn end_if_shared(&mut self, cores: &Cores) {
        if self.is_over || self.since.elapsed() < Stay::LEAST {
            return;
        }
        let next = Stay::begin();
        if let (Some(before), Some(now)) = (self.worked, next.worked) {
            let wanted = (next.since - self.since).saturating_sub(self.waited);
            self.is_over = Stay::is_shared(wanted, now.saturating_sub(before));
            if self.is_over {
                cores.set_free();
                return;
            }
        }
        *self = next;
    }

    /// Whether a thread that wanted to work all this time, and did so for a part of it, had to share its core: with one other it works
    /// half of the time, and now and then somebody has something short to do.
    fn is_shared(wanted: Duration, worked: Duration) -> bool {
        4 * worked < 3 * wanted
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// Where the first of all threads was, and how many have been given a core since then: runs side by side take the cores by turns.
    static FIRST: OnceLock<usize> = OnceLock::new();
    static GIVEN: AtomicUsize = AtomicUsize::new(0);

    /// The cores that the threads of a run may use. What cannot be done about them costs nothing but time.
    #[derive(Debug)]
    pub(in super::super) struct Cores {
        allowed: CpuSet,
        /// In the order in which they are given out.
        order: Vec<usize>,
    }

    impl Cores {
        /// Those that this thread may use, from the one that it is on.
        pub(in super::super) fn allowed() -> Cores {
            let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
            let mut order: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
            let first = *FIRST.get_or_init(sched_getcpu);
            let begin = order.iter().position(|core| *core == first).unwrap_or(0);
            order.rotate_left(begin);
            Cores { allowed, order }
        }

        /// This thread goes to the next core and stays there, and so does a thread that it starts there.
        pub(in super::super) fn go_on(&self) {
            let place = GIVEN.fetch_add(1, Ordering::Relaxed);
            if let Some(core) = self.order.get(place % self.order.len().max(1)) {
                let mut alone = CpuSet::new();
                alone.set(*core);
                let _ = sched_setaffinity(None, &alone);
            }
        }

        /// This thread may use any of them again.
        pub(in super::super) fn set_free(&self) {
            if !self.order.is_empty() {
                let _ = sched_setaffinity(None, &self.allowed);
            }
        }

        /// How long this thread has worked in its life, if the system tells.
        pub(super) fn worked() -> Option<Duration> {
            let worked = clock_gettime(ClockId::ThreadCPUTime);
            Some(Duration::new(worked.tv_sec.try_into().ok()?, worked.tv_nsec.try_into().ok()?))
        }
    }
}

/// Elsewhere that is for the system to say.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::time::Duration;

    #[derive(Debug)]
    pub(in super::super) struct Cores;

    impl Cores {
        pub(in super::super) fn allowed() -> Cores {
            Cores
        }

        pub(in super::super) fn go_on(&self) {}

        pub(in super::super) fn set_free(&self) {}

        pub(super) fn worked() -> Option<Duration> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_half_of_the_time_shares_its_core_and_who_is_interrupted_does_not() {
        let ms = Duration::from_millis;
        assert!(Stay::is_shared(ms(20), ms(10)));
        assert!(!Stay::is_shared(ms(20), ms(18)));
        assert!(!Stay::is_shared(ms(0), ms(0)));
    }

    #[test]
    fn a_thread_that_stands_still_is_let_go_unless_it_waits() {
        let cores = Cores::allowed();
        for is_waiting in [false, true] {
            let mut stay = Stay::begin();
            let stand_still = || std::thread::sleep(2 * Stay::LEAST);
            if is_waiting {
                stay.wait(stand_still);
            } else {
                stand_still();
            }
            stay.end_if_shared(&cores);
            assert_eq!(stay.is_over, !is_waiting && Cores::worked().is_some());
        }
    }
}
