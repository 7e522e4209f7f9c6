//! How many threads a command uses, and what it says of an odd number of them.

use crate::out;
use crate::runner::Job;
use quell_sim::kernel;
use std::thread;

/// Cores of this machine.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// As many as asked for, or else one for each core. What cannot be, or does no good, is explained:
/// results do not depend on it.
pub(crate) fn chosen(asked: Option<usize>) -> usize {
    let cores = cores();
    match asked {
        None => cores,
        Some(0) => {
            out::warn(&format!("--threads 0: nothing runs on no thread; taking {cores}"));
            cores
        }
        Some(asked) => {
            if asked > cores {
                let has = if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") };
                out::warn(&format!(
                    "--threads {asked}: this machine has {has}; more threads only wait for each other"
                ));
            }
            asked
        }
    }
}

/// Says why some of the threads that were asked for find nothing to do, if that is so.
pub(crate) fn explain_idle(asked: Option<usize>, jobs: &[Job<'_>]) {
    let Some(asked) = asked else { return };
    let Some(largest) = jobs.iter().max_by_key(|job| job.plan.links.len()) else { return };
    let for_each = asked / jobs.len();
    let used = kernel::useful_threads(largest.plan, for_each);
    if for_each <= 1 || used >= for_each {
        return;
    }
    let runs =
        if jobs.len() == 1 { "the run is".to_owned() } else { format!("each of {} runs is", jobs.len()) };
    let by = if used == 1 { "one thread".to_owned() } else { format!("{used} threads") };
    let links = kernel::links(largest.plan);
    let why = if links / kernel::LINKS_FOR_A_THREAD < for_each {
        format!("a thread pays for each {} links, and the network has {links}", kernel::LINKS_FOR_A_THREAD)
    } else {
        "the network cannot be cut into more parts at links with a delay".to_owned()
    };
    out::note(&format!("--threads {asked}: {runs} simulated by {by}: {why}"));
}
