//! `quell run --pcap`: the frames of some ports, in a file that packet analysers read.
//!
//! A run is a function of scenario and seed, so it is simulated once more for its frames: recordings are made as if nobody
//! had asked, and those that are there already serve as well. A capture of the whole run must come to the recording's
//! digest. Only one seed of each configuration is captured, a file grows no larger than [`MOST`], and what was written is
//! said.

use crate::cli::PcapArgs;
use crate::exit::{Exit, Failure};
use crate::prepared::VERSION;
use crate::progress;
use crate::runner::{Job, Run, State, Watch};
use quell_proto::units::{Duration, Instant};
use quell_record::capture::{CaptureWriter, Interface};
use quell_record::{
    Catalog, Digest, Digester, EntityClass, EntityId, EntityKind, Event, FlowTotals, Quantity, Selector,
    Sink, Tap,
};
use quell_sim::kernel::{self, Control};
use quell_sim::scenario::{self, Configuration, announced};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The name of a capture in the folder of its run.
const FILE: &str = "ports.pcapng";

/// The largest file that is written: 1 GiB.
const MOST: u64 = 1 << 30;

/// What is to be captured.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    ports: Selector,
    from: Instant,
    to: Instant,
    seed: u64,
    snaplen: u32,
}

/// A capture that was written.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    configuration: String,
    seed: u64,
    file: PathBuf,
    ports: Vec<String>,
    frames: u64,
    octets: u64,
    /// When it grew too large and was ended, if it was.
    full_at: Option<Instant>,
}

impl Asked {
    /// What the command line asks for, if it makes sense for these configurations and seeds.
    pub(crate) fn of(
        args: &PcapArgs,
        chosen: &[&Configuration],
        first_seed: u64,
        repeat: u32,
    ) -> Result<Option<Asked>, Failure> {
        if args.pcap.is_empty() {
            return Ok(None);
        }
        let seed = args.pcap_seed.unwrap_or(first_seed);
        if !(first_seed..first_seed + u64::from(repeat)).contains(&seed) {
            let last = first_seed + u64::from(repeat) - 1;
            return Err(Failure::invalid(format!("--pcap-seed {seed}: there is no run with that seed"))
                .hint(format!(
                    "seeds go from {first_seed} to {last}; `--seed` and `--repeat` choose others"
                )));
        }
        let (from, to) = window(args.pcap_over.as_deref())?;
        let snaplen = if args.snaplen == 0 { u32::from(u16::MAX) } else { args.snaplen };
        let asked = |ports: Selector| Asked { ports, from, to, seed, snaplen };
        let mut selector = Selector(String::new());
        for configuration in chosen {
            let catalog = configuration.plan.ports();
            selector = Selector(spelled_out(&args.pcap, &catalog));
            ports(&selector, &catalog)?;
            if from >= Instant::START + configuration.plan.length {
                let end = progress::simulated(configuration.plan.length.ps());
                let text = args.pcap_over.as_deref().unwrap_or_default();
                return Err(Failure::invalid(format!("--pcap-over {text}: the run is over by then"))
                    .hint(format!("{} ends at {end}", configuration.name)));
            }
        }
        Ok(Some(asked(selector)))
    }
}

fn window(text: Option<&str>) -> Result<(Instant, Instant), Failure> {
    let Some(text) = text else { return Ok((Instant::START, Instant::NEVER)) };
    let (from, to) = scenario::window(text).map_err(|(message, hint)| {
        let hint = hint.unwrap_or_else(|| "write it as 1ms..2ms; either end may be left out".to_owned());
        Failure::invalid(format!("--pcap-over {text}: {message}")).hint(hint)
    })?;
    let from = Instant::START + from.unwrap_or(Duration::ZERO);
    let to = to.map_or(Instant::NEVER, |to| Instant::START + to);
    if from >= to {
        return Err(Failure::invalid(format!("--pcap-over {text}: it ends before it begins")));
    }
    Ok((from, to))
}

/// A node's name stands for all its ports and those that lead to it.
fn spelled_out(asked: &[String], catalog: &Catalog) -> String {
    let is_node = |name: &str| {
        catalog.entities.iter().any(|it| matches!(&it.kind, EntityKind::Port { node, .. } if node == name))
    };
    let terms = asked.iter().flat_map(|it| it.split(',')).map(|term| match term.trim() {
        name if is_node(name) => format!("{name}->*,*->{name},*->{name}#*"),
        other => other.to_owned(),
    });
    // Parallel links have numbers; a node without any has no port of that name, which is no mistake.
    let has = |term: &str| !term.ends_with("#*") || Selector(term.to_owned()).check(catalog, PORTS).is_ok();
    let terms: Vec<String> = terms.collect();
    terms.iter().flat_map(|it| it.split(',')).filter(|it| has(it)).collect::<Vec<_>>().join(",")
}

const PORTS: &[EntityClass] = &[EntityClass::Port];

fn ports(selector: &Selector, catalog: &Catalog) -> Result<Vec<EntityId>, Failure> {
    selector.check(catalog, PORTS).map_err(|error| {
        let hint = error.hint().unwrap_or_else(|| "ports are named `a->b`".to_owned());
        Failure::invalid(format!("--pcap: {error}"))
            .hint(format!("{hint}; a shell takes `>` for itself, so put the name in quotes: --pcap 's1->h1'"))
    })
}

/// Makes the captures of the runs that came to an end, or broke.
pub(crate) fn make(
    asked: &Asked,
    jobs: &[Job<'_>],
    runs: &[Run],
    threads: usize,
    watch: &Watch,
) -> Result<Vec<Capture>, Failure> {
    let wanted: Vec<(&Job<'_>, &Run)> = jobs
        .iter()
        .zip(runs)
        .filter(|(job, run)| {
            job.seed == asked.seed && matches!(run.state, State::Complete(_) | State::Broken(_))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, wanted.len().max(1)) {
            scope.spawn(|| {
                while let Some((job, run)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let capture = watch.watched(1, |control| one(asked, job, run, control));
                    made.lock().expect("no thread panics while it holds this").push(capture);
                }
            });
        }
    });
    let made = made.into_inner().expect("no thread panics while it holds this");
    let mut captures: Vec<Capture> =
        made.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    captures.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(captures)
}

/// Simulates a run again for its frames; `None` if it was interrupted.
fn one(asked: &Asked, job: &Job<'_>, run: &Run, control: &Control) -> Result<Option<Capture>, Failure> {
    let catalog = job.plan.ports();
    let chosen = ports(&asked.ports, &catalog)?;
    let path = run.dir.join(FILE);
    let draft = run.dir.join(format!("{FILE}.partial"));
    let failed = |error: io::Error| Failure::io(&path, "write", &error);
    let interfaces: Vec<Interface> = chosen.iter().map(|id| interface(&catalog, *id)).collect();
    let comment = format!(
        "{}, configuration {}, seed {}; times count from the start of the run",
        job.bench.experiment.head().scenario.id,
        job.configuration,
        job.seed
    );
    let file = Counted { file: BufWriter::new(File::create(&draft).map_err(failed)?), octets: 0 };
    let tool = format!("quell {VERSION}");
    let mut writer = CaptureWriter::new(file, &tool, &comment, &interfaces, asked.snaplen).map_err(failed)?;
    for (place, (id, interface)) in chosen.iter().zip(&interfaces).enumerate() {
        if announced::is_sent_in_run(job.plan, id.0 as usize) {
            continue;
        }
        let octets = announced::frame(job.plan, id.0 as usize, &interface.name);
        let length = octets.len() as u32;
        writer.frame(place as u32, asked.from.ps() / 1000, &octets, length).map_err(failed)?;
    }
    let mut tap = FileTap { writer, asked, control, failed: None, full_at: None };
    let mut digests = Digests { digester: Digester::new(), to: asked.to, control };
    let wires: Vec<u32> = chosen.iter().map(|id| id.0).collect();
    let outcome =
        kernel::run_tapped(&job.plan.under(job.seed), job.seed, &mut digests, control, &wires, &mut tap);
    let FileTap { writer, failed: error, full_at, .. } = tap;
    if let Some(error) = error {
        return Err(failed(error));
    }
    let frames = writer.frames();
    let octets = writer.finish().map_err(failed)?.octets;
    let expected = run.kept().map(|kept| kept.digest);
    if let Ok(outcome) = &outcome {
        let was_cut = full_at.is_some() || asked.to < Instant::START + job.plan.length;
        if !outcome.complete && !was_cut {
            let _ = fs::remove_file(&draft);
            return Ok(None);
        }
        if outcome.complete {
            compare(job, digests.digester.digest(), expected)?;
        }
    }
    fs::rename(&draft, &path).map_err(failed)?;
    Ok(Some(Capture {
        configuration: job.configuration.to_owned(),
        seed: job.seed,
        file: path,
        ports: interfaces.into_iter().map(|it| it.name).collect(),
        frames,
        octets,
        full_at,
    }))
}

/// The second run must have been the first.
fn compare(job: &Job<'_>, found: Digest, expected: Option<Digest>) -> Result<(), Failure> {
    match expected {
        Some(expected) if found != expected => {
            let name = format!("{}, seed {}", job.configuration, job.seed);
            let message =
                format!("the capture of {name} came to the digest {found}, its recording to {expected}");
            let mut failure = Failure::invalid(message).hint("that must never happen; please report it");
            failure.exit = Exit::Broken;
            Err(failure)
        }
        _ => Ok(()),
    }
}

fn interface(catalog: &Catalog, id: EntityId) -> Interface {
    let port = catalog.get(id);
    let (speed_bps, description) = match &port.kind {
        EntityKind::Port { rate_bps, node, peer, .. } => (*rate_bps, format!("what {node} sends to {peer}")),
        EntityKind::Input { .. } | EntityKind::Flow { .. } => (0, String::new()),
    };
    Interface { name: port.name.clone(), description, speed_bps }
}

/// Writes frames to a file, until its window ends or the file is full.
struct FileTap<'a> {
    writer: CaptureWriter<Counted>,
    asked: &'a Asked,
    control: &'a Control,
    failed: Option<io::Error>,
    full_at: Option<Instant>,
}

impl Tap for FileTap<'_> {
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], length: usize) {
        let is_asked = (self.asked.from..self.asked.to).contains(&at);
        if !is_asked || self.failed.is_some() || self.full_at.is_some() {
            return;
        }
        if self.writer.out().octets >= MOST {
            self.full_at = Some(at);
            self.control.stop.store(true, Ordering::Relaxed);
            return;
        }
        // A simulation counts picoseconds; the file's stamps are the nanoseconds they fall into.
        let written = self.writer.frame(port as u32, at.ps() / 1000, octets, length as u32);
        if let Err(error) = written {
            self.failed = Some(error);
            self.control.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Keeps the digest, and ends the run when the window does.
struct Digests<'a> {
    digester: Digester,
    to: Instant,
    control: &'a Control,
}

impl Sink for Digests<'_> {
    fn begin_samples(&mut self, at: Instant) {
        if at >= self.to {
            self.control.stop.store(true, Ordering::Relaxed);
        }
        self.digester.begin_samples(at);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.digester.sample(entity, quantity, value);
    }

    fn event(&mut self, event: Event) {
        self.digester.event(event);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        self.digester.flow(flow, totals);
    }
}

/// A file that knows how long it is.
#[derive(Debug)]
struct Counted {
    file: BufWriter<File>,
    octets: u64,
}

impl Write for Counted {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.file.write(octets)?;
        self.octets += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Capture {
    /// What was captured, on a line.
    pub(crate) fn in_words(&self) -> String {
        let ports = match self.ports.as_slice() {
            [port] => port.clone(),
            ports => format!("{} ports", ports.len()),
        };
        let full = self.full_at.map_or_else(String::new, |at| {
            let at = progress::simulated(at.ps());
            format!("; ended at {at}, where it reached 1 GiB: `--pcap-over` and `--snaplen` choose less")
        });
        format!("{}  ({} frames of {ports}, {}{full})", self.file.display(), self.frames, size(self.octets))
    }

    /// The same for machines.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({
            "configuration": self.configuration,
            "seed": self.seed,
            "file": self.file,
            "ports": self.ports,
            "frames": self.frames,
            "octets": self.octets,
            "full_at_ps": self.full_at.map(Instant::ps),
        })
    }
}

/// A size in words of three digits.
fn size(octets: u64) -> String {
    match octets {
        0..10_000 => format!("{octets} octets"),
        10_000..10_000_000 => format!("{} kB", octets / 1000),
        _ => format!("{} MB", octets / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_say_them() {
        assert_eq!(size(9_999), "9999 octets");
        assert_eq!(size(1_234_567), "1234 kB");
        assert_eq!(size(1 << 30), "1073 MB");
    }
}
