//! Where a thread begins.
//!
//! The threads of a run work for so short a time that it matters on which cores they begin: the kernel may put two of them on one core
//! while another is idle, and leave them there for tens of milliseconds (in a virtual machine an idle core looks as if it were taken
//! away). So each is sent to a core of its own when it begins. It is not held there: when another program wants that core, the kernel
//! moves one of the two as it always does.

#[cfg(target_os = "linux")]
pub use linux::{here, leave, spread_out};
#[cfg(not(target_os = "linux"))]
pub use other::{here, leave, spread_out};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the threads of all runs of this program.
    static PLACES: AtomicUsize = AtomicUsize::new(0);

    /// The core that this thread is on, if the system tells.
    pub fn here() -> Option<usize> {
        let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
        // The second field is a name, which may have blanks; this is the 39th.
        stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
    }

    /// Sends this thread to the next core that it may use. If that cannot be done, nothing is lost but time.
    pub fn spread_out() {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let place = PLACES.fetch_add(1, Ordering::Relaxed) % allowed.count().max(1) as usize;
        let Some(core) = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).nth(place) else { return };
        let mut alone = CpuSet::new();
        alone.set(core);
        go_to(&alone, &allowed);
    }

    /// Sends this thread to any core but this one, likewise.
    pub fn leave(core: usize) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut others = allowed;
        if core < CpuSet::MAX_CPU {
            others.unset(core);
            go_to(&others, &allowed);
        }
    }

    fn go_to(cores: &CpuSet, allowed: &CpuSet) {
        if sched_setaffinity(None, cores).is_ok() {
            // It may go wherever it could before.
            let _ = sched_setaffinity(None, allowed);
        }
    }
}

/// Elsewhere that is for the system to say.
#[cfg(not(target_os = "linux"))]
mod other {
    /// The core that this thread is on, if the system tells.
    pub fn here() -> Option<usize> {
        None
    }

    /// Sends this thread to the next core that it may use.
    pub fn spread_out() {}

    /// Sends this thread to any core but this one.
    pub fn leave(_: usize) {}
}
