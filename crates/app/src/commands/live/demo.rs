//! `quell live demo step`: service steps before reaction points, on real interfaces and simulated, side by side.

mod scale;
mod stage;

use super::{rate, time, until_interrupted};
use crate::cli::ScenarioArgs;
use crate::cli_live::StepArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::prepared::Prepared;
use crate::progress::Progress;
use crate::results::{Results, write_file};
use crate::runner::{self, Job, Run, Watch};
use crate::source;
use quell_live::step::Outcome;
use quell_proto::units::{Duration, Instant, Rate};
use quell_record::{Ending, Sink};
use quell_sim::scenario::Plan;
use scale::Scale;
use stage::{Conduct, experiment};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Frames of the experiment, without check sequence, tags counted.
const FRAME: usize = 1496;

pub(super) fn step(args: &StepArgs) -> Result<Exit, Failure> {
    let phase = time("--phase", &args.phase)?;
    if phase < Duration::from_ms(100) {
        return Err(Failure::invalid(format!("--phase {}: too short for anything to settle", args.phase))
            .hint("100ms is the least, 3.7s is the document's"));
    }
    let asked = args.rate.as_deref().map(|text| rate("--rate", text)).transpose()?;
    let stop = until_interrupted();
    let scale = Scale::choose(args, asked, phase, &stop)?;
    at_scale(args, scale, phase, &stop, &experiment)
}

/// What makes a live run: [`experiment`], or what stands for it.
type Live<'a> = dyn Fn(&Plan, &Conduct<'_>, &mut dyn Sink) -> Result<Outcome, Failure> + 'a;

/// All experiments, at this scale or as far below it as the machine needs.
fn at_scale(
    args: &StepArgs,
    mut scale: Scale,
    phase: Duration,
    stop: &AtomicBool,
    live: &Live<'_>,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for &points in &args.points {
        let came = loop {
            match one(args, points, scale, phase, stop, live)? {
                Went::Judged(exit) => break exit,
                Went::TooFast(lower) => scale = lower,
            }
        };
        exit = exit.max(came);
    }
    Ok(exit)
}

/// How one experiment ended.
enum Went {
    /// It was run to its end, or interrupted, and judged.
    Judged(Exit),
    /// The machine did not keep up: the scale to try next. Nothing is left of it.
    TooFast(Scale),
}

/// Where the scenario of an experiment with so many reaction points is.
fn scenario_file(args: &StepArgs, points: u8) -> PathBuf {
    args.out.join(format!("{points}rp.toml"))
}

/// The experiment with so many reaction points: simulated, live, judged.
fn one(
    args: &StepArgs,
    points: u8,
    scale: Scale,
    phase: Duration,
    stop: &AtomicBool,
    live_run: &Live<'_>,
) -> Result<Went, Failure> {
    let (dir, file) = (args.out.join(format!("{points}rp")), scenario_file(args, points));
    // What was there before is nothing to take away.
    let lower = scale.lower().filter(|_| !dir.exists());
    fs::create_dir_all(&args.out).map_err(|error| Failure::io(&args.out, "create", &error))?;
    write_file(&file, &scenario(points, scale.line, phase, args.seed))?;
    let plain = ScenarioArgs::plain(&file.display().to_string());
    let loaded = source::load(&plain)?;
    let prepared =
        Prepared::new(&plain, loaded, &dir).map_err(|error| crate::commands::run::refused(&dir, error))?;
    let all: Vec<_> = prepared.scenario().configurations.iter().collect();
    let jobs = prepared.jobs(&all);
    let (live, simulated): (Vec<&Job<'_>>, Vec<&Job<'_>>) =
        jobs.iter().partition(|job| job.configuration == "live");
    let simulated: Vec<Job<'_>> = simulated.into_iter().copied().collect();
    let mut runs = runner::run_all(&simulated, 1, &Watch::default(), &Progress::new("live/step", true));
    for job in live {
        if prepared.is_there(job) {
            runs.push(job.bench.read(job.configuration, job.seed));
            continue;
        }
        let seconds = job.plan.length.ps() as f64 / 1e12;
        let points_in_words =
            if points == 1 { "1 reaction point".to_owned() } else { format!("{points} reaction points") };
        out::note(&format!("{points_in_words} at {}, {seconds} s on real interfaces", shown(scale.line)));
        let capture = dir.join("live.pcapng");
        let must_hold = lower.is_some();
        let conduct = Conduct {
            seed: job.seed,
            points,
            drained_at: scale.line,
            capture: Some(&capture),
            must_hold,
            stop,
        };
        let (run, outcome) = on_interfaces(job, &conduct, live_run)?;
        let is_over = outcome.is_complete || stop.load(Ordering::Relaxed);
        if let Some(lower) = lower.filter(|_| !is_over) {
            out::note(&format!(
                "given up after {:.1} s, for this machine does not keep up: {}; once more at {}",
                outcome.ended.ps() as f64 / 1e12,
                scale::why(&outcome.held),
                shown(lower.line)
            ));
            drop(prepared);
            remove(&dir, &file)?;
            return Ok(Went::TooFast(lower));
        }
        tell(&outcome, &capture);
        runs.push(run);
    }
    finish(args, &dir, &prepared.results(all.len(), runs)).map(Went::Judged)
}

/// Makes a run on real interfaces.
fn on_interfaces(job: &Job<'_>, conduct: &Conduct<'_>, live: &Live<'_>) -> Result<(Run, Outcome), Failure> {
    let mut went = None;
    let run = job.bench.make_otherwise(job, |sink| {
        let began = std::time::Instant::now();
        let result = live(job.plan, conduct, sink);
        let (ended, frames, is_complete) = match &result {
            Ok(outcome) => (outcome.ended, outcome.frames, outcome.is_complete),
            Err(_) => (Instant::START, 0, false),
        };
        went = Some(result);
        Ending {
            complete: is_complete,
            simulated_ps: ended.ps(),
            events: 0,
            frame_hops: frames,
            cell_hops: 0,
            wall_seconds: began.elapsed().as_secs_f64(),
        }
    });
    let outcome = went.ok_or_else(|| Failure::system("nothing could be recorded".to_owned()))??;
    Ok((run, outcome))
}

/// Takes away what an experiment that was given up wrote.
fn remove(dir: &Path, file: &Path) -> Result<(), Failure> {
    fs::remove_dir_all(dir).map_err(|error| Failure::io(dir, "remove", &error))?;
    fs::remove_file(file).map_err(|error| Failure::io(file, "remove", &error))
}

fn finish(args: &StepArgs, dir: &Path, results: &Results) -> Result<Exit, Failure> {
    results.complain();
    let page = results.write(dir)?;
    out::print(&results.in_words(Some(&page), args.quiet))?;
    if results.report.complete { Ok(results.exit()) } else { Ok(Exit::Interrupted) }
}

/// Says how a run went, and warns of what its results should not be believed for.
fn tell(outcome: &Outcome, capture: &Path) {
    let (stalls, left_out) = outcome.stalls;
    let stalls = match stalls {
        0 => "never stalled".to_owned(),
        _ => {
            let ms = left_out.ps() as f64 / 1e9;
            format!(
                "stalled {stalls} times for others on this machine, {ms:.0} ms in all, which are left out"
            )
        }
    };
    out::note(&format!(
        "{} frames over the wires, {} turns of the loop, {stalls}; frames in {}",
        outcome.frames,
        outcome.turns,
        capture.display()
    ));
    if !outcome.held.is_enough() {
        out::warn(&format!(
            "this machine did not keep up: {}; a lower `--rate` and another `--out` may help",
            scale::why(&outcome.held)
        ));
    }
    if outcome.left_out > 0 {
        out::warn(&format!(
            "{} events came too fast to be listed; they are counted in the samples",
            outcome.left_out
        ));
    }
}

/// The scenario of the experiment at this scale.
fn scenario(points: u8, line: Rate, phase: Duration, seed: u64) -> String {
    let part = |per_mille: u64| shown(Rate::from_bps(line.bps() / 1000 * per_mille));
    let us = |at: u64| format!("{}us", at / 1_000_000);
    let phase = phase.ps();
    let window = |from: u64, to: u64| format!("{}..{}", us(from), us(to));
    let half = phase / 2_000_000 * 1_000_000;
    let traffic: String = (1..=points)
        .map(|point| format!("[[traffic]]\nname = \"rp{point}\"\nfrom = \"nic\"\nto = \"sink\"\n\n"))
        .collect();
    let words =
        if points == 1 { "one reaction point".to_owned() } else { format!("{points} reaction points") };
    // The document's round trips: 100 us for one, 1 ms for eight.
    let delay = if points == 1 { "100us" } else { "1ms" };
    // Increases in proportion to the line: 0.5 and 5 Mb/s at 1 Gb/s.
    let rate = |bps: u64| shown(Rate::from_bps((line.bps() / 1_000_000 * bps / 1_000).max(1)));
    let mut text = include_str!("demo/step.toml").to_owned();
    for (name, value) in [
        ("points", words),
        ("line", shown(line)),
        ("delay", delay.to_owned()),
        ("length", us(3 * phase)),
        ("seed", seed.to_string()),
        ("ai", rate(500_000)),
        ("hai", rate(5_000_000)),
        ("traffic", traffic.trim_end().to_owned() + "\n"),
        ("high", part(950)),
        ("low", part(200)),
        ("fall", us(phase)),
        ("rise", us(2 * phase)),
        ("first", window(half, phase)),
        ("second", window(phase + half, 2 * phase)),
        ("third", window(2 * phase + half, 3 * phase)),
        ("phase1", window(0, phase)),
        ("phase2", window(phase, 2 * phase)),
        ("phase3", window(2 * phase, 3 * phase)),
    ] {
        text = text.replace(&format!("{{{name}}}"), &value);
    }
    text
}

/// A rate as scenarios write it, without losing a bit.
fn shown(rate: Rate) -> String {
    match rate.bps() {
        bps if bps % 1_000_000_000 == 0 => format!("{}Gb/s", bps / 1_000_000_000),
        bps if bps % 1_000_000 == 0 => format!("{}Mb/s", bps / 1_000_000),
        bps if bps % 1_000 == 0 => format!("{}kb/s", bps / 1_000),
        bps => format!("{bps}b/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_live::step::Held;
    use quell_sim::kernel::{self, Control};
    use quell_sim::scenario::{Request, read};
    use std::cell::RefCell;

    /// A machine that cannot hold 1 Gb/s and holds less: what it holds is simulated.
    #[test]
    fn an_experiment_that_the_machine_does_not_hold_is_given_up_and_begun_again_at_a_lower_rate() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let args = StepArgs {
            points: vec![1, 2],
            phase: "400ms".to_owned(),
            rate: None,
            out: out.clone(),
            seed: 1,
            quiet: true,
        };
        let tried = RefCell::new(Vec::new());
        let live = |plan: &Plan, conduct: &Conduct<'_>, sink: &mut dyn Sink| {
            let capture = conduct.capture.expect("frames are kept");
            assert!(!capture.exists(), "nothing is left of the one given up");
            fs::write(capture, "frames").unwrap();
            let line = plan.links[0].rate;
            tried.borrow_mut().push((conduct.points, line.bps() / 1_000_000, conduct.must_hold));
            let holds = line < Rate::from_gbps(1);
            let reached = if holds { plan.length } else { Duration::from_ms(500) };
            if holds {
                kernel::run(plan, conduct.seed, sink, &Control::default()).expect("nothing breaks");
            }
            Ok(Outcome {
                ended: Instant::START + reached,
                is_complete: holds,
                held: Held {
                    counted: reached,
                    late: Duration::ZERO,
                    worked: reached,
                    refused: u64::from(!holds),
                },
                frames: 1,
                stalls: (0, Duration::ZERO),
                turns: 1,
                left_out: 0,
            })
        };
        let scale = Scale::ours(Rate::from_gbps(1));
        let exit = at_scale(&args, scale, Duration::from_ms(400), &AtomicBool::new(false), &live).unwrap();
        // The second experiment begins where the first ended up.
        assert_eq!(*tried.borrow(), [(1, 1000, true), (1, 500, true), (2, 500, true)]);
        assert_eq!(exit, Exit::Done, "the claims hold at the rate that is held");
        for points in [1, 2] {
            let text = fs::read_to_string(scenario_file(&args, points)).unwrap();
            assert_eq!(text, scenario(points, Rate::from_mbps(500), Duration::from_ms(400), 1));
            assert!(out.join(format!("{points}rp/report.html")).exists());
        }
        // A rate that somebody asked for is not lowered, and what does not hold is kept.
        let asked = Scale::asked(Rate::from_gbps(1));
        let args = StepArgs { points: vec![1], out: folder.path().join("asked"), ..args };
        let exit = at_scale(&args, asked, Duration::from_ms(400), &AtomicBool::new(false), &live).unwrap();
        assert_eq!(tried.borrow()[3..], [(1, 1000, false)]);
        assert_eq!(exit, Exit::Interrupted);
    }

    #[test]
    fn the_scenario_of_any_scale_is_read_without_warnings() {
        for (points, line) in [(1, Rate::from_gbps(1)), (8, Rate::from_mbps(100)), (3, Rate::from_mbps(333))]
        {
            let text = scenario(points, line, Duration::from_ms(500), 7);
            let request = Request::plain("step.toml", &text);
            let scenario = read(request).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
            let plan = &scenario.configurations[0].plan;
            assert_eq!(plan.flows.len(), usize::from(points));
            let services: Vec<u64> =
                plan.changes.iter().filter_map(stage::service_of).map(|it| it.1.bps()).collect();
            assert_eq!(services, [950, 200, 950].map(|per_mille| line.bps() / 1000 * per_mille));
        }
    }
}
