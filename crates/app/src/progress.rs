//! The bar on stderr: how far, how fast, how long to go. Silent unless stderr is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// The bar of one experiment.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    is_quiet: bool,
}

/// How far an experiment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Runs that are over, found finished ones included.
    pub(crate) runs: usize,
    /// Runs in all.
    pub(crate) of_runs: usize,
    /// Time simulated so far.
    pub(crate) simulated_ps: u64,
    /// Time to simulate.
    pub(crate) of_ps: u64,
}

impl Progress {
    const STEPS: u64 = 1000;

    /// A bar with this heading; none if `quiet`.
    pub(crate) fn new(heading: &str, quiet: bool) -> Progress {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(Self::STEPS), target);
        let style =
            ProgressStyle::with_template("{prefix} {bar:20} {msg}").expect("our own template is well formed");
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_prefix(heading.to_owned());
        Progress { bar, began: Instant::now(), is_quiet: quiet }
    }

    /// Shows how far it is.
    pub(crate) fn show(&self, seen: Seen) {
        if !self.bar.is_hidden() {
            self.bar.set_position(share(seen).map_or(0, |share| (share * Self::STEPS as f64) as u64));
            self.bar.set_message(words(seen, self.began.elapsed()));
        }
    }

    /// Says what ended last: as the heading of the bar, or as a line of its own where there is no terminal.
    pub(crate) fn tell(&self, heading: &str, line: impl FnOnce() -> String) {
        if !self.bar.is_hidden() {
            self.bar.set_prefix(heading.to_owned());
        } else if !self.is_quiet {
            crate::out::note(&line());
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn share(seen: Seen) -> Option<f64> {
    (seen.of_ps > 0).then(|| seen.simulated_ps as f64 / seen.of_ps as f64)
}

/// Short enough for a terminal of eighty columns, bar included.
fn words(seen: Seen, elapsed: Duration) -> String {
    let mut words = format!("{} of {}", simulated(seen.simulated_ps), simulated(seen.of_ps));
    let real = elapsed.as_secs_f64();
    if let Some(share) = share(seen)
        && seen.simulated_ps > 0
        && real > 0.5
    {
        let speed = seen.simulated_ps as f64 / 1e12 / real;
        let left = real * (1.0 - share) / share;
        words.push_str(&format!(" · {}× real time · {} left", significant(speed), span(left)));
    }
    if seen.of_runs > 1 {
        words.push_str(&format!(" · {}/{} runs", seen.runs, seen.of_runs));
    }
    words
}

/// Simulated time, in the unit that suits it.
pub(crate) fn simulated(ps: u64) -> String {
    let seconds = ps as f64 / 1e12;
    match seconds {
        it if it >= 1.0 => format!("{it:.2} s"),
        it if it >= 1e-3 => format!("{:.0} ms", it * 1e3),
        it => format!("{:.0} us", it * 1e6),
    }
}

/// Real time, as people say it.
pub(crate) fn span(seconds: f64) -> String {
    match seconds {
        it if it < 1.0 => format!("{it:.1} s"),
        it if it < 90.0 => format!("{it:.0} s"),
        it if it < 5400.0 => format!("{:.0} min", it / 60.0),
        it => format!("{:.1} h", it / 3600.0),
    }
}

fn significant(speed: f64) -> String {
    match speed {
        it if it >= 10.0 => format!("{it:.0}"),
        it if it >= 0.1 => format!("{it:.2}"),
        it if it >= 0.001 => format!("{it:.3}"),
        it => format!("{it:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_far_how_fast_and_how_long_to_go() {
        let seen = Seen { runs: 3, of_runs: 8, simulated_ps: 600_000_000_000, of_ps: 4_800_000_000_000 };
        assert_eq!(
            words(seen, Duration::from_secs(4)),
            "600 ms of 4.80 s · 0.15× real time · 28 s left · 3/8 runs"
        );
    }

    #[test]
    fn before_anything_is_simulated_it_promises_nothing() {
        let seen = Seen { runs: 0, of_runs: 1, simulated_ps: 0, of_ps: 0 };
        assert_eq!(words(seen, Duration::from_secs(6)), "0 us of 0 us");
    }
}
