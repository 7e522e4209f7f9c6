//! The experiment runner: configurations and seeds in, one small extract a run out.
//!
//! Runs are independent, so each core takes the next one that is left. A run is recorded to disk while it runs
//! and to memory for its extract; the memory is let go before the next run begins. A run that its folder already
//! holds is read instead, which is how an interrupted experiment goes on.

use crate::clock;
use crate::interrupt;
use crate::progress::{Progress, Seen};
use quell_proto::units::Instant;
use quell_record::claim::{Claim, FairShare, FigureSpec};
use quell_record::{
    Digest, DiskWriter, Ending, EntityId, Event, Experiment, Fault, FlowTotals, Manifest, ManifestDraft,
    Quantity, RecordError, ResolvedValue, Rows, Sink, read_run,
};
use quell_report::Extract;
use quell_sim::kernel::{self, Broken, Control};
use quell_sim::scenario::plan::Plan;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time;

/// One run to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    /// The experiment it belongs to.
    pub(crate) bench: Bench<'a>,
    /// The configuration's name.
    pub(crate) configuration: &'a str,
    /// What it means.
    pub(crate) plan: &'a Plan,
    /// The seed.
    pub(crate) seed: u64,
}

/// What all runs of an experiment share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench<'a> {
    /// Where they are recorded.
    pub(crate) experiment: &'a Experiment,
    /// What is asked of each.
    pub(crate) claims: &'a [Claim],
    /// What is drawn of each.
    pub(crate) figures: &'a [FigureSpec],
    /// What each flow ought to get.
    pub(crate) fair: &'a [FairShare],
    /// Every value of the scenario, for the manifests.
    pub(crate) resolved: &'a [ResolvedValue],
}

/// One run, over or not.
#[derive(Debug)]
pub(crate) struct Run {
    /// The configuration.
    pub(crate) configuration: String,
    /// The seed.
    pub(crate) seed: u64,
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// What became of it.
    pub(crate) state: State,
}

/// What became of a run.
#[derive(Debug)]
pub(crate) enum State {
    /// It came to its end.
    Complete(Kept),
    /// It was stopped before its end; what it had recorded is there.
    Interrupted(Kept),
    /// An invariant broke; what it had recorded until then is there.
    Broken(String),
    /// It never began.
    NotBegun,
    /// It could not be written or read.
    Lost(RecordError),
}

/// What is kept of a run in memory.
#[derive(Debug)]
pub(crate) struct Kept {
    /// What claims and figures need.
    pub(crate) extract: Extract,
    /// The digest of all it said.
    pub(crate) digest: Digest,
    /// How it ended.
    pub(crate) ending: Ending,
    /// Whether it was to be made, and was there already.
    pub(crate) was_resumed: bool,
}

/// How an experiment is watched and stopped while it runs.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// No further run may begin.
    is_stopping: AtomicBool,
    /// Somebody pressed Ctrl-C.
    is_interrupted: AtomicBool,
    running: Mutex<Vec<Arc<Control>>>,
    ended_runs: AtomicUsize,
    ended_ps: AtomicU64,
    total_ps: AtomicU64,
}

impl Watch {
    /// Ctrl-C ends the runs at their next sample; pressed again, it ends the process at once.
    pub(crate) fn until_interrupted(self: &Arc<Watch>, announce: impl Fn() + Send + 'static) {
        let watch = Arc::clone(self);
        let handler = move || {
            if watch.is_interrupted.swap(true, Ordering::SeqCst) {
                interrupt::end();
            }
            announce();
            watch.stop();
        };
        interrupt::then(handler);
    }

    /// Whether somebody pressed Ctrl-C.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::SeqCst)
    }

    /// Ends all runs at their next sample, and begins no other.
    fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        for control in self.running.lock().expect("no thread panics while it holds this").iter() {
            control.stop.store(true, Ordering::SeqCst);
        }
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Simulates something, on so many threads, that Ctrl-C ends.
    pub(crate) fn watched<T>(&self, threads: usize, simulate: impl FnOnce(&Control) -> T) -> T {
        let control = self.begin(threads);
        let result = simulate(&control);
        self.end(&control);
        result
    }

    fn begin(&self, threads: usize) -> Arc<Control> {
        let control = Arc::new(Control { threads, ..Control::default() });
        self.running.lock().expect("no thread panics while it holds this").push(Arc::clone(&control));
        // A stop that came just before the control was listed has not reached it.
        if self.is_stopping() {
            control.stop.store(true, Ordering::SeqCst);
        }
        control
    }

    fn end(&self, control: &Arc<Control>) {
        let mut running = self.running.lock().expect("no thread panics while it holds this");
        running.retain(|it| !Arc::ptr_eq(it, control));
        self.ended_ps.fetch_add(control.now_ps.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn seen(&self, of_runs: usize) -> Seen {
        let running = self.running.lock().expect("no thread panics while it holds this");
        let now: u64 = running.iter().map(|it| it.now_ps.load(Ordering::Relaxed)).sum();
        Seen {
            runs: self.ended_runs.load(Ordering::Relaxed),
            of_runs,
            simulated_ps: self.ended_ps.load(Ordering::Relaxed) + now,
            of_ps: self.total_ps.load(Ordering::Relaxed),
        }
    }
}

/// Makes all the runs on `threads` threads, and gives them back in the order of the jobs.
pub(crate) fn run_all(jobs: &[Job<'_>], threads: usize, watch: &Watch, progress: &Progress) -> Vec<Run> {
    let mut runs: Vec<Option<Run>> = jobs.iter().map(|_| None).collect();
    run_each(jobs, threads, watch, progress, |index, run| runs[index] = Some(run));
    runs.into_iter().map(|run| run.expect("every job was taken")).collect()
}

/// Makes all the runs, of one experiment or of several, and hands each over as it ends, with its place among the
/// jobs. Where there are fewer runs than threads, a large network is simulated by several.
pub(crate) fn run_each(
    jobs: &[Job<'_>],
    threads: usize,
    watch: &Watch,
    progress: &Progress,
    mut take: impl FnMut(usize, Run),
) {
    const TICK: time::Duration = time::Duration::from_millis(100);
    let total = jobs.iter().map(|job| job.plan.length.ps()).fold(0, u64::saturating_add);
    watch.total_ps.store(total, Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let at_a_time = threads.clamp(1, jobs.len().max(1));
    let for_each = (threads / at_a_time).max(1);
    thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        for _ in 0..at_a_time {
            let (done, next) = (done.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let run = job.bench.make(job, for_each, watch);
                    watch.ended_runs.fetch_add(1, Ordering::Relaxed);
                    if done.send((index, run)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        loop {
            match results.recv_timeout(TICK) {
                Ok((index, run)) => take(index, run),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            progress.show(watch.seen(jobs.len()));
        }
    });
}

/// Reads every run an experiment has, without making any.
pub(crate) fn read_all(bench: Bench<'_>) -> Vec<Run> {
    let head = bench.experiment.head();
    let pairs =
        head.configurations.iter().flat_map(|it| head.seeds.iter().map(|&seed| (it.name.as_str(), seed)));
    pairs.map(|(configuration, seed)| bench.read(configuration, seed)).collect()
}

impl Bench<'_> {
    /// Reads one run, if it is there.
    pub(crate) fn read(&self, configuration: &str, seed: u64) -> Run {
        let state = self.state_on_disk(configuration, seed).unwrap_or_else(State::Lost);
        self.run(configuration, seed, state)
    }

    fn state_on_disk(&self, configuration: &str, seed: u64) -> Result<State, RecordError> {
        let entry = self.experiment.run(configuration, seed)?;
        if entry.manifest.is_none() {
            return Ok(State::NotBegun);
        }
        let (manifest, recording) = read_run(&entry.dir)?;
        let extract = Extract::take(&recording, configuration, seed, self.claims, self.figures)
            .with_fairness(&recording, self.fair);
        let kept = Kept { extract, digest: manifest.digest, ending: manifest.ending, was_resumed: false };
        if manifest.ending.complete {
            return Ok(State::Complete(kept));
        }
        let summary = quell_record::read_summary(&entry.dir)?;
        Ok(match summary.get("broken").and_then(serde_json::Value::as_str) {
            Some(why) => State::Broken(why.to_owned()),
            None => State::Interrupted(kept),
        })
    }

    fn make(&self, job: &Job<'_>, threads: usize, watch: &Watch) -> Run {
        let state = self.made(job, threads, watch).unwrap_or_else(State::Lost);
        if matches!(&state, State::Lost(error) if error.fault() == Fault::Io) {
            // The next run would meet the same disk.
            watch.stop();
        }
        self.run(job.configuration, job.seed, state)
    }

    fn made(&self, job: &Job<'_>, threads: usize, watch: &Watch) -> Result<State, RecordError> {
        if watch.is_stopping() {
            return Ok(State::NotBegun);
        }
        if self.experiment.run(job.configuration, job.seed)?.is_complete() {
            watch.total_ps.fetch_sub(job.plan.length.ps(), Ordering::Relaxed);
            let mut state = self.state_on_disk(job.configuration, job.seed)?;
            if let State::Complete(kept) = &mut state {
                kept.was_resumed = true;
            }
            return Ok(state);
        }
        let threads = kernel::useful_threads(job.plan, threads);
        watch.watched(threads, |control| self.simulate(job, control))
    }

    fn simulate(&self, job: &Job<'_>, control: &Control) -> Result<State, RecordError> {
        let plan = job.plan.under(job.seed);
        self.record(job, &plan, control, |recorder| {
            let began = time::Instant::now();
            let outcome = kernel::run(&plan, job.seed, recorder, control);
            let wall_seconds = began.elapsed().as_secs_f64();
            let ending = match &outcome {
                Ok(outcome) => Ending {
                    complete: outcome.complete,
                    simulated_ps: outcome.ended.ps(),
                    events: outcome.events,
                    frame_hops: outcome.frame_hops,
                    cell_hops: outcome.cell_hops,
                    wall_seconds,
                },
                Err(_) => Ending {
                    complete: false,
                    simulated_ps: control.now_ps.load(Ordering::Relaxed),
                    events: 0,
                    frame_hops: 0,
                    cell_hops: 0,
                    wall_seconds,
                },
            };
            (ending, outcome.map(|_| ()))
        })
    }

    /// A run that something other than the simulator makes, recorded as if it had been simulated.
    pub(crate) fn make_otherwise(&self, job: &Job<'_>, produce: impl FnOnce(&mut dyn Sink) -> Ending) -> Run {
        let control = Control::default();
        let state = self.record(job, job.plan, &control, |sink| (produce(sink), Ok(())));
        self.run(job.configuration, job.seed, state.unwrap_or_else(State::Lost))
    }

    /// Records what is produced to disk, and keeps what claims and figures need.
    fn record(
        &self,
        job: &Job<'_>,
        plan: &Plan,
        control: &Control,
        produce: impl FnOnce(&mut dyn Sink) -> (Ending, Result<(), Broken>),
    ) -> Result<State, RecordError> {
        let catalog = plan.catalog();
        let dir = self.experiment.run_dir(job.configuration, job.seed);
        let disk = DiskWriter::create_and_keep(&dir, &catalog, self.draft(job, control.threads))?;
        drop(catalog);
        let mut recorder = Recorder { disk, control };
        let (mut ending, outcome) = produce(&mut recorder);
        let Recorder { mut disk, .. } = recorder;
        let produced = time::Instant::now();
        disk.end();
        ending.wall_seconds += produced.elapsed().as_secs_f64();
        let recording = disk.recording(ending.complete).expect("it was to be kept");
        let extract = Extract::take(&recording, job.configuration, job.seed, self.claims, self.figures)
            .with_fairness(&recording, self.fair);
        drop(recording);
        let Manifest { digest, ending, .. } =
            disk.finish(ending, &self.summary(&extract, outcome.as_ref().err()))?;
        let kept = Kept { extract, digest, ending, was_resumed: false };
        Ok(match outcome {
            Err(broken) => State::Broken(broken.to_string()),
            Ok(()) if kept.ending.complete => State::Complete(kept),
            Ok(_) => State::Interrupted(kept),
        })
    }

    fn draft(&self, job: &Job<'_>, threads: usize) -> ManifestDraft {
        ManifestDraft {
            tool_version: self.experiment.head().tool_version.clone(),
            scenario: self.experiment.head().scenario.clone(),
            configuration: job.configuration.to_owned(),
            seed: job.seed,
            resolved: self.resolved.to_vec(),
            started: clock::now(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
        }
    }

    /// What `summary.json` says of a run.
    fn summary(&self, extract: &Extract, broken: Option<&Broken>) -> serde_json::Value {
        let claims = self.claims.iter().zip(&extract.claims).filter_map(|(claim, taken)| {
            Some(json!({ "claim": claim.text, "line": claim.line, "taken": taken.as_ref()? }))
        });
        let mut summary = json!({
            "totals": extract.totals,
            "flows": extract.flows,
            "ports": extract.ports,
            "claims": claims.collect::<Vec<_>>(),
        });
        if let Some(broken) = broken {
            summary["broken"] = broken.to_string().into();
        }
        summary
    }

    fn run(&self, configuration: &str, seed: u64, state: State) -> Run {
        let dir = self.experiment.run_dir(configuration, seed);
        Run { configuration: configuration.to_owned(), seed, dir, state }
    }
}

/// Records a run, and ends it when the disk fails.
struct Recorder<'a> {
    disk: DiskWriter,
    control: &'a Control,
}

impl Recorder<'_> {
    fn stop_if_failed(&self) {
        if self.disk.has_failed() {
            self.control.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Sink for Recorder<'_> {
    fn begin_samples(&mut self, at: Instant) {
        self.stop_if_failed();
        self.disk.begin_samples(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.disk.sample(entity, quantity, value);
    }

    fn end_samples(&mut self) {
        self.disk.end_samples();
    }

    fn rows(&mut self, rows: &Rows) {
        self.stop_if_failed();
        self.disk.rows(rows);
    }

    fn event(&mut self, event: Event) {
        self.disk.event(event);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.disk.flow(flow, totals);
    }

    fn flows(&mut self, flows: Vec<(EntityId, FlowTotals)>) {
        self.disk.flows(flows);
    }

    fn all_said(&mut self) {
        self.disk.all_said();
    }
}
