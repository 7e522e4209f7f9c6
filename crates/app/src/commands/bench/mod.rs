//! `quell bench`: how fast this build simulates.
//!
//! A work is a configuration of a scenario of the family `bench`. Each measurement is a run of this program by itself, so that it has its own
//! peak of memory and judges the work's check values as any other run does. What recording costs is the difference from a run
//! that is told to nobody. Instructions are those of a shorter run less those of a very short one, under valgrind and recorded in
//! memory: setting up and starting are in both.

mod baseline;
mod charts;
mod profile;
mod table;

use crate::catalogue;
use crate::cli::{BenchArgs, ScenarioArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use crate::results;
use crate::source;
use crate::threads;
use baseline::Baseline;
use profile::Profile;
use quell_proto::units::Duration;
use quell_record::select::matches;
use quell_record::{EntityId, Event, FlowTotals, Memory, Quantity, Sink};
use quell_report::figure::Chart;
use quell_sim::kernel::{self, Control};
use quell_sim::scenario::Configuration;
use quell_sim::scenario::plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Instant;

/// A very short run, of this part of a work's length: what it takes to begin.
const BEGINNING: u64 = 100;
/// The seed of every work.
const SEED: u64 = 1;
/// The run in which instructions are counted is this much shorter than the work.
const SHORTER: u64 = 5;

/// What was measured of one work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Its name.
    pub(super) work: String,
    /// The threads that each run had.
    pub(super) threads: u64,
    /// Hosts of its network.
    pub(super) hosts: u64,
    /// Flows between them.
    pub(super) flows: u64,
    /// Whether the counts that other simulators agree on came out, in all runs; nobody knows if something else was set.
    pub(super) checks: Option<bool>,
    /// Frames carried over links.
    pub(super) frame_hops: u64,
    /// Cells carried inside a fabric.
    pub(super) cell_hops: u64,
    /// Events for each hop: of a cell where there are cells.
    pub(super) events_per_hop: f64,
    /// Time for each hop, the best of several runs, recording and all.
    pub(super) ns_per_hop: f64,
    /// Likewise if nothing is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bare_ns_per_hop: Option<f64>,
    /// Instructions for each hop, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instructions_per_hop: Option<f64>,
    /// Peak of the memory of the whole program, where the system tells.
    pub(super) peak_memory_bytes: Option<u64>,
    /// From the start of the program to the first hundredth of the work.
    pub(super) setup_seconds: f64,
}

impl Measured {
    /// What it is counted by: cells where there are any, a dozen for each frame, else frames.
    fn hops(&self) -> u64 {
        if self.cell_hops > 0 { self.cell_hops } else { self.frame_hops }
    }

    /// What recording adds to the time of the simulation alone, as a share of that.
    fn recording(&self) -> Option<f64> {
        self.bare_ns_per_hop.map(|bare| self.ns_per_hop / bare - 1.0)
    }

    /// How many times as fast it was as another measurement of the same work.
    fn speed_up_over(&self, other: &Measured) -> f64 {
        other.ns_per_hop / self.ns_per_hop
    }

    /// Likewise of the simulation alone.
    fn bare_speed_up_over(&self, other: &Measured) -> Option<f64> {
        Some(other.bare_ns_per_hop? / self.bare_ns_per_hop?)
    }
}

/// What is measured.
struct Work {
    /// The scenario.
    id: String,
    /// The configuration, and whether it is the first.
    configuration: String,
    is_first: bool,
    /// What it simulates.
    plan: Plan,
}

impl Work {
    /// The configurations of a scenario.
    fn all_of(id: &str, args: &BenchArgs) -> Result<Vec<Work>, Failure> {
        let asked = ScenarioArgs { sets: args.sets.clone(), ..ScenarioArgs::plain(id) };
        let configurations = source::load(&asked)?.scenario.configurations.into_iter().zip(0..);
        Ok(configurations
            .map(|(Configuration { name, plan, .. }, place)| Work {
                id: id.to_owned(),
                configuration: name,
                is_first: place == 0,
                plan: plan.under(SEED).into_owned(),
            })
            .collect())
    }

    /// The one that a run of this program by itself is for.
    fn asked(id: &str, args: &BenchArgs) -> Result<Work, Failure> {
        let all = Work::all_of(id, args)?;
        let wanted =
            |work: &Work| args.configuration.as_ref().map_or(work.is_first, |it| *it == work.configuration);
        all.into_iter()
            .find(wanted)
            .ok_or_else(|| Failure::invalid(format!("{id} has no such configuration")))
    }

    /// Its name: that of the scenario, and of the configuration if it is not the first.
    fn name(&self) -> String {
        if self.is_first { self.id.clone() } else { format!("{} {}", self.id, self.configuration) }
    }

    /// This program, to measure something of it.
    fn program(&self, mut command: Command, args: &BenchArgs) -> Command {
        command.args(["bench", &self.id, "--configuration", &self.configuration]).args(sets(args));
        command
    }
}

pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    match (args.beginning, args.bare, &args.works[..]) {
        (Some(ps), _, [work]) => return begin(Work::asked(work, args)?.plan, ps),
        (None, true, [work]) => return run_for_nobody(&Work::asked(work, args)?.plan, args),
        _ => {}
    }
    let before = args.against.as_deref().map(Baseline::load).transpose()?;
    let scenarios = scenarios(&args.works)?;
    if args.instructions || args.profile {
        require_valgrind()?;
    }
    if args.profile {
        return profile(&scenarios, args);
    }
    let asked: Vec<usize> = args.threads.iter().map(|it| threads::chosen(Some(*it))).collect();
    let mut measured: Vec<Measured> = Vec::new();
    for id in scenarios {
        // One scenario at a time: the plans of some are large.
        for work in Work::all_of(id, args)? {
            let name = work.name();
            for &asked in &asked {
                let threads = kernel::useful_threads(&work.plan, asked);
                if measured.iter().any(|it| it.work == name && it.threads == threads as u64) {
                    out::note(&format!(
                        "{name}: {asked} threads are as good as {threads}, which was measured"
                    ));
                    continue;
                }
                if !args.json {
                    out::note(&if threads == 1 {
                        format!("{name} …")
                    } else {
                        format!("{name} on {threads} threads …")
                    });
                }
                measured.push(measure(&work, threads, args)?);
            }
        }
    }
    let now = Baseline::of(measured);
    let verdict = before.as_ref().map(|before| now.compared_with(before, args.at_most));
    let text = if args.json {
        now.to_json(verdict.as_ref())
    } else {
        table::render(&now, before.as_ref(), verdict.as_ref())
    };
    // Before anything that may fail: it took minutes.
    out::print(&text)?;
    if let Some(path) = &args.save {
        now.save(path)?;
    }
    if let Some(dir) = &args.out {
        let charts = charts::all(&now.works);
        if charts.is_empty() {
            out::note(
                "nothing to draw: pictures take a family of works, such as 'permutation-*', or several threads",
            );
        }
        charts.iter().try_for_each(|chart| draw(dir, chart))?;
    }
    let differs = now.works.iter().any(|work| work.checks == Some(false));
    let failed = differs || verdict.is_some_and(|it| !it.slower.is_empty());
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Says where the instructions of works go.
fn profile(scenarios: &[&'static str], args: &BenchArgs) -> Result<Exit, Failure> {
    for id in scenarios {
        for work in Work::all_of(id, args)? {
            let length = work.plan.length.ps();
            let [start, part] =
                [BEGINNING, SHORTER].map(|part| profile_beginning(&work, length / part, args));
            let ((hops_before, before), (hops, profile)) = (start?, part?);
            let chart = charts::profile(&work.name(), profile.beyond(&before, hops - hops_before));
            out::print(&format!("{}\n", chart.to_text()))?;
            if let Some(dir) = &args.out {
                draw(dir, &chart)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn draw(dir: &Path, chart: &Chart) -> Result<(), Failure> {
    results::write_chart(dir, chart)?.iter().try_for_each(|file| out::print(&format!("wrote {file}\n")))
}

/// The scenarios of the works that are asked for, or of all.
fn scenarios(patterns: &[String]) -> Result<Vec<&'static str>, Failure> {
    let all: Vec<&'static str> =
        catalogue::all().map(|it| it.id).filter(|id| id.starts_with("bench/")).collect();
    let is_called =
        |id: &str, pattern: &str| matches(pattern, id.trim_start_matches("bench/")) || matches(pattern, id);
    if let Some(pattern) = patterns.iter().find(|pattern| !all.iter().any(|id| is_called(id, pattern))) {
        let names: Vec<_> = all.iter().map(|id| id.trim_start_matches("bench/")).collect();
        return Err(Failure::invalid(format!("no work is called `{pattern}`"))
            .hint(format!("the works are {}", names.join(", "))));
    }
    let wanted = |id: &&str| patterns.is_empty() || patterns.iter().any(|pattern| is_called(id, pattern));
    Ok(all.into_iter().filter(wanted).collect())
}

fn measure(work: &Work, threads: usize, args: &BenchArgs) -> Result<Measured, Failure> {
    let plan = &work.plan;
    let length = plan.length.ps();
    let started = Instant::now();
    run_beginning(Command::new(own_program()?), work, length / BEGINNING, args)?;
    let setup_seconds = started.elapsed().as_secs_f64();
    let mut best: Option<Run> = None;
    let mut bare = f64::INFINITY;
    let mut checks = true;
    // By turns, so that what else the machine does hits both.
    for _ in 0..args.times.get() {
        let run = run_whole(work, threads, args)?;
        checks &= run.checks;
        if best.as_ref().is_none_or(|best| run.seconds < best.seconds) {
            best = Some(run);
        }
        bare = bare.min(run_bare(work, threads, args)?);
    }
    let best = best.expect("it ran at least once");
    // One thread is counted: several do the same, and wait.
    let instructions_per_hop = if args.instructions && threads == 1 {
        let [start, part] = [BEGINNING, SHORTER].map(|part| count_beginning(work, length / part, args));
        let ((hops_before, before), (hops, count)) = (start?, part?);
        Some(float(count.saturating_sub(before)) / float((hops - hops_before).max(1)))
    } else {
        None
    };
    let mut measured = Measured {
        work: work.name(),
        threads: threads as u64,
        hosts: plan.hosts.len() as u64,
        flows: plan.flows.len() as u64,
        checks: args.sets.is_empty().then_some(checks),
        frame_hops: best.frame_hops,
        cell_hops: best.cell_hops,
        events_per_hop: 0.0,
        ns_per_hop: 0.0,
        bare_ns_per_hop: None,
        instructions_per_hop,
        peak_memory_bytes: best.peak_memory_bytes,
        setup_seconds,
    };
    let hops = float(measured.hops().max(1));
    measured.events_per_hop = float(best.events) / hops;
    measured.ns_per_hop = best.seconds * 1e9 / hops;
    measured.bare_ns_per_hop = Some(bare * 1e9 / hops);
    Ok(measured)
}

/// Simulates only so much of a work, and says how much that was.
fn begin(mut plan: Plan, ps: u64) -> Result<Exit, Failure> {
    plan.length = Duration::from_ps(ps);
    plan.cuts.retain(|cut| cut.ps() <= ps);
    let mut memory = Memory::new(plan.catalog());
    let outcome = kernel::run(&plan, SEED, &mut memory, &Control::default());
    let outcome = outcome.map_err(|broken| Failure::invalid(broken.to_string()))?;
    let hops = if outcome.cell_hops > 0 { outcome.cell_hops } else { outcome.frame_hops };
    out::print(&format!("{hops}\n"))?;
    Ok(Exit::Done)
}

/// Simulates a work without recording anything, and says how many seconds that took.
fn run_for_nobody(plan: &Plan, args: &BenchArgs) -> Result<Exit, Failure> {
    let threads = args.threads.first().copied().unwrap_or(1);
    let control = Control { threads, ..Control::default() };
    let simulate = || {
        let started = Instant::now();
        (kernel::run(plan, SEED, &mut Nobody, &control), started.elapsed().as_secs_f64())
    };
    // On a thread of its own, as runs that are recorded: it has no memory yet that was used before.
    let (outcome, seconds) = thread::scope(|scope| {
        scope.spawn(simulate).join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    });
    outcome.map_err(|broken| Failure::invalid(broken.to_string()))?;
    out::print(&format!("{seconds}\n"))?;
    Ok(Exit::Done)
}

/// Keeps nothing of what it is told.
struct Nobody;

impl Sink for Nobody {
    fn begin_samples(&mut self, _: quell_proto::units::Instant) {}
    fn sample(&mut self, _: EntityId, _: Quantity, _: i64) {}
    fn event(&mut self, _: Event) {}
    fn flow(&mut self, _: EntityId, _: FlowTotals) {}
}

/// What one run of a work said of itself.
#[derive(Debug)]
struct Run {
    checks: bool,
    frame_hops: u64,
    cell_hops: u64,
    events: u64,
    seconds: f64,
    peak_memory_bytes: Option<u64>,
}

/// Runs a work as `quell run` does.
fn run_whole(work: &Work, threads: usize, args: &BenchArgs) -> Result<Run, Failure> {
    let folder =
        tempfile::tempdir().map_err(|error| Failure::io(&env::temp_dir(), "make a folder", &error))?;
    let mut command = Command::new(own_program()?);
    command.args(["run", &work.id, "--config", &work.configuration, "--quiet", "--json"]);
    command
        .args(["--threads", &threads.to_string(), "--out"])
        .arg(folder.path().join("out"))
        .args(sets(args));
    let output = command.output().map_err(|error| Failure::io(Path::new(&work.id), "run", &error))?;
    run_of(&output.stdout).ok_or_else(|| broken(work, &output))
}

/// Simulates a work without recording anything: its seconds.
fn run_bare(work: &Work, threads: usize, args: &BenchArgs) -> Result<f64, Failure> {
    let mut command = work.program(Command::new(own_program()?), args);
    command.args(["--bare", "--threads", &threads.to_string()]);
    let output = command.output().map_err(|error| Failure::io(Path::new(&work.id), "run", &error))?;
    let seconds = String::from_utf8_lossy(&output.stdout).trim().parse();
    seconds.map_err(|_| broken(work, &output))
}

/// What is set in the works, as arguments.
fn sets(args: &BenchArgs) -> impl Iterator<Item = String> {
    args.sets.iter().map(|(path, value)| format!("--set={path}={value}"))
}

/// Simulates only the beginning of a work: its hops.
fn run_beginning(command: Command, work: &Work, ps: u64, args: &BenchArgs) -> Result<(u64, Output), Failure> {
    let mut command = work.program(command, args);
    command.args(["--beginning", &ps.to_string()]);
    let output = command.output().map_err(|error| Failure::io(Path::new(&work.id), "run", &error))?;
    let hops = String::from_utf8_lossy(&output.stdout).trim().parse();
    hops.map_err(|_| broken(work, &output)).map(|hops| (hops, output))
}

/// This program, to be run under callgrind.
fn under_callgrind(written_to: &Path) -> Result<Command, Failure> {
    let mut valgrind = Command::new("valgrind");
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(written_to);
    valgrind.arg("--tool=callgrind").arg(file).arg(own_program()?);
    Ok(valgrind)
}

/// The hops of the beginning of a work, and in which files their instructions are.
fn profile_beginning(work: &Work, ps: u64, args: &BenchArgs) -> Result<(u64, Profile), Failure> {
    let folder =
        tempfile::tempdir().map_err(|error| Failure::io(&env::temp_dir(), "make a folder", &error))?;
    let file = folder.path().join("callgrind.out");
    let (hops, _) = run_beginning(under_callgrind(&file)?, work, ps, args)?;
    let text = fs::read(&file).map_err(|error| Failure::io(&file, "read", &error))?;
    Ok((hops, Profile::read(&String::from_utf8_lossy(&text))))
}

/// The hops of the beginning of a work, and the instructions that they took, as valgrind counts them.
fn count_beginning(work: &Work, ps: u64, args: &BenchArgs) -> Result<(u64, u64), Failure> {
    let (hops, output) = run_beginning(under_callgrind(Path::new("/dev/null"))?, work, ps, args)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.contains("Collected"));
    let count = line.and_then(|line| line.rsplit(' ').next()).and_then(|count| count.parse().ok());
    count.map(|count| (hops, count)).ok_or_else(|| broken(work, &output))
}

fn own_program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| Failure::io(Path::new("quell"), "find itself", &error))
}

/// Reads what `quell run --json` said.
fn run_of(json: &[u8]) -> Option<Run> {
    let document: Value = serde_json::from_slice(json).ok()?;
    let ending = document.pointer("/runs/0/ending")?;
    let count = |name: &str| ending.get(name).and_then(Value::as_u64);
    Some(Run {
        checks: document.pointer("/claims/fail")?.as_u64()? == 0,
        frame_hops: count("frame_hops")?,
        cell_hops: count("cell_hops")?,
        events: count("events")?,
        seconds: ending.get("wall_seconds")?.as_f64()?,
        peak_memory_bytes: document.get("peak_memory_bytes").and_then(Value::as_u64),
    })
}

fn broken(work: &Work, output: &Output) -> Failure {
    let Work { id, configuration, .. } = work;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or("it said nothing");
    Failure::invalid(format!("{} could not be measured: {said}", work.name()))
        .hint(format!("`quell run {id} --config {configuration}` shows what is the matter"))
}

fn require_valgrind() -> Result<(), Failure> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(Failure::invalid("instructions are counted by valgrind, which is not there")
            .hint("install valgrind, or leave `--instructions` and `--profile` out")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a table shows four digits")]
fn float(number: u64) -> f64 {
    number as f64
}
