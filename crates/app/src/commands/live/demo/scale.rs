//! At which scale the experiment is run: what the machine holds.

use super::stage::{Conduct, experiment};
use super::{scenario, scenario_file, shown};
use crate::cli_live::StepArgs;
use crate::exit::Failure;
use crate::out;
use quell_live::step::Held;
use quell_proto::units::{Duration, Rate};
use quell_record::Digester;
use quell_sim::scenario::{Request, read};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a machine is asked to hold: as in the document if it can, else less.
const LINES: [Rate; 4] =
    [Rate::from_gbps(1), Rate::from_mbps(500), Rate::from_mbps(200), Rate::from_mbps(100)];

/// A phase of a rehearsal.
const REHEARSED: Duration = Duration::from_ms(250);

/// The rate of the wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) line: Rate,
    /// Whether it is ours to lower.
    is_ours: bool,
}

impl Scale {
    /// The scale that was asked for, else that of an experiment begun earlier in the same folder, else what the machine holds.
    pub(super) fn choose(
        args: &StepArgs,
        asked: Option<Rate>,
        phase: Duration,
        stop: &AtomicBool,
    ) -> Result<Scale, Failure> {
        if let Some(line) = asked {
            return Ok(Scale::asked(line));
        }
        if let Some(line) = begun(args, phase) {
            out::note(&format!("goes on at {}, as begun in {}", shown(line), args.out.display()));
            return Ok(Scale::asked(line));
        }
        let points = args.points.iter().copied().max().unwrap_or(1);
        Ok(Scale::ours(rehearse(points, args.seed, stop)?))
    }

    /// One that somebody asked for.
    pub(super) fn asked(line: Rate) -> Scale {
        Scale { line, is_ours: false }
    }

    /// One that the machine was found to hold, and that is lowered if it does not.
    pub(super) fn ours(line: Rate) -> Scale {
        Scale { line, is_ours: true }
    }

    /// The next lower scale, if there is one and nobody asked for this one.
    pub(super) fn lower(self) -> Option<Scale> {
        let line = LINES.into_iter().find(|line| *line < self.line).filter(|_| self.is_ours)?;
        Some(Scale { line, ..self })
    }
}

/// The line of an experiment that was begun with these arguments.
fn begun(args: &StepArgs, phase: Duration) -> Option<Rate> {
    args.points.iter().find_map(|&points| {
        let text = fs::read_to_string(scenario_file(args, points)).ok()?;
        LINES.into_iter().find(|line| scenario(points, *line, phase, args.seed) == text)
    })
}

/// Runs short experiments, the same nodes on the same thread, each at twice the rate of a scale: the first that the machine keeps up
/// with is the scale. Says so.
fn rehearse(points: u8, seed: u64, stop: &AtomicBool) -> Result<Rate, Failure> {
    for line in LINES {
        let twice = Rate::from_bps(line.bps() * 2);
        let held = rehearsal(points, line, twice, seed, stop)?;
        if held.is_enough() {
            out::note(&format!(
                "in a rehearsal this machine keeps up with {}; the experiment runs at half of that",
                shown(twice)
            ));
            return Ok(line);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        out::note(&format!(
            "in a rehearsal this machine does not keep up with {}: {}",
            shown(twice),
            why(&held)
        ));
    }
    Ok(LINES[LINES.len() - 1])
}

/// A short experiment at a rate, of which is asked how far apart turns may be at that of the scale.
fn rehearsal(points: u8, line: Rate, rate: Rate, seed: u64, stop: &AtomicBool) -> Result<Held, Failure> {
    let text = scenario(points, rate, REHEARSED, seed);
    let read = read(Request::plain("rehearsal.toml", &text));
    let read = read.map_err(|problems| Failure::invalid(problems.to_string()))?;
    let conduct = Conduct { seed, points, drained_at: line, capture: None, must_hold: true, stop };
    let outcome = experiment(&read.configurations[0].plan, &conduct, &mut Digester::new())?;
    Ok(outcome.held)
}

/// What kept a machine from keeping up.
pub(super) fn why(held: &Held) -> String {
    let share = |part: Duration| 100.0 * part.ps() as f64 / held.counted.ps().max(1) as f64;
    match held.refused {
        0 if held.late.ps() > held.counted.ps() / 20 => {
            format!("for {:.0} % of the time its turns were too far apart", share(held.late))
        }
        0 => format!("the work took {:.0} % of the time there was", share(held.worked)),
        refused => format!("{refused} frames found a ring full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_of_ours_is_lowered_step_by_step_and_one_that_was_asked_for_is_not() {
        let ours = Scale::ours(Rate::from_gbps(1));
        let steps: Vec<u64> = std::iter::successors(Some(ours), |scale| scale.lower())
            .map(|it| it.line.bps() / 1_000_000)
            .collect();
        assert_eq!(steps, [1000, 500, 200, 100]);
        assert_eq!(Scale::asked(Rate::from_gbps(1)).lower(), None);
    }
}
