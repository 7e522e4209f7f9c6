//! How many threads a command uses, and what it says of an odd number of them.

use crate::out;
use crate::runner::Job;
use quell_sim::kernel;
use std::thread;

/// Cores of this machine.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// As many as asked for, for a single run or for several, or else [`by_default`]. What cannot be, or does no good, is explained:
/// results do not depend on it.
pub(crate) fn chosen(asked: Option<usize>, is_single: bool) -> usize {
    let cores = cores();
    match asked {
        None => by_default(cores, is_single),
        Some(0) => {
            let threads = by_default(cores, is_single);
            out::warn(&format!("--threads 0: nothing runs on no thread; taking {threads}"));
            threads
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

/// One for each core; but one fewer for a single run on many cores. Its threads keep step, so that one which must share its core
/// with whatever else goes on, the recording to begin with, holds up all.
fn by_default(cores: usize, is_single: bool) -> usize {
    if is_single && cores > MANY_CORES { cores - 1 } else { cores }
}

/// With so many cores or fewer, another thread is worth more than a core to spare.
const MANY_CORES: usize = 8;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_run_leaves_one_of_many_cores_to_the_rest_of_the_machine() {
        assert_eq!([1, 2, 8, 16].map(|cores| by_default(cores, true)), [1, 2, 8, 15]);
        assert_eq!([1, 2, 8, 16].map(|cores| by_default(cores, false)), [1, 2, 8, 16]);
    }
}
