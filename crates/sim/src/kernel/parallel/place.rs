//! Where a thread begins.
//!
//! The threads of a run work as long as each other, and for so short a time that it matters on which cores they begin: the kernel may put
//! two of them on one core while another is idle, and leave them there for tens of milliseconds (in a virtual machine an idle core looks
//! as if it were taken away). So each is sent to a core of its own when it begins. It is not held there: when another program wants
//! that core, the kernel moves one of the two as it always does.

/// Sends this thread to the next core that it may use. If that cannot be done, nothing is lost but time.
#[cfg(target_os = "linux")]
pub(super) fn spread_out() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the threads of all runs of this program.
    static PLACES: AtomicUsize = AtomicUsize::new(0);

    let Ok(allowed) = sched_getaffinity(None) else { return };
    let place = PLACES.fetch_add(1, Ordering::Relaxed) % allowed.count().max(1) as usize;
    let Some(core) = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).nth(place) else { return };
    let mut alone = CpuSet::new();
    alone.set(core);
    if sched_setaffinity(None, &alone).is_ok() {
        // It may go wherever it could before.
        let _ = sched_setaffinity(None, &allowed);
    }
}

/// Elsewhere that is for the system to say.
#[cfg(not(target_os = "linux"))]
pub(super) fn spread_out() {}
