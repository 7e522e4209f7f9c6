//! How long a thread stays on its core.
//!
//! The threads of a run work as long as each other and wait for each other all the time, so each is held to a core of its own. Left to
//! itself, the kernel puts two of them on one core while another is idle, and leaves them there for tens of milliseconds: in a virtual
//! machine an idle core looks as if it were taken away. A thread that finds it has to [share](Stay::is_shared) its core with somebody
//! is let go, so that the kernel can move it as it moves any other.

use super::{Cores, worked};
use std::time::{Duration, Instant};

/// How long a thread has been on its core, and what became of the time.
#[derive(Debug)]
pub struct Stay {
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
    pub fn begin() -> Stay {
        Stay { since: Instant::now(), worked: worked(), waited: Duration::ZERO, is_over: false }
    }

    /// Does what may take the thread some time in which it has nothing to do.
    pub fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let waited = wait();
        self.waited += began.elapsed();
        waited
    }

    /// Lets the thread go anywhere if somebody else wants its core.
    pub fn end_if_shared(&mut self, cores: &Cores) {
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
    /// half of the time, and now and then somebody has something short to do. Who hardly wanted to cannot tell.
    fn is_shared(wanted: Duration, worked: Duration) -> bool {
        wanted >= Stay::LEAST / 2 && 4 * worked < 3 * wanted
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
        assert!(!Stay::is_shared(ms(1), ms(0)));
    }

    #[test]
    fn a_thread_that_stands_still_is_let_go_unless_it_waits() {
        let cores = Cores::deal(1);
        for is_waiting in [false, true] {
            let mut stay = Stay::begin();
            let stand_still = || std::thread::sleep(2 * Stay::LEAST);
            if is_waiting {
                stay.wait(stand_still);
            } else {
                stand_still();
            }
            stay.end_if_shared(&cores);
            assert_eq!(stay.is_over, !is_waiting && worked().is_some());
        }
    }
}
