//! `quell live demo step`: service steps before reaction points, on real interfaces and simulated, side by side.

use super::{failure, no_lab, rate, time, until_interrupted};
use crate::cli::ScenarioArgs;
use crate::cli_live::StepArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::prepared::{Prepared, VERSION};
use crate::progress::Progress;
use crate::results::{Results, write_file};
use crate::runner::{self, Job, Watch};
use crate::source;
use quell_live::bench;
use quell_live::clock::Clock;
use quell_live::device::{Interface, PacketInterface, Trouble};
use quell_live::drive::Station;
use quell_live::lab::Lab;
use quell_live::load::{Maker, Shape};
use quell_live::nic::{self, Nic};
use quell_live::recorder::{Places, Recorder};
use quell_live::step::{Bench, Course, Outcome, TO_NIC, TO_SINK};
use quell_live::switch::{self, FlowControl, PortConfig, Switch};
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use quell_proto::wire::{EtherType, Header, MacAddr};
use quell_record::capture::{CaptureWriter, Interface as CaptureInterface};
use quell_record::{Ending, EntityClass, EntityId, Sink, Tap};
use quell_sim::scenario::Plan;
use quell_sim::scenario::plan::{Change, Scheme, What};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a machine is asked to hold: as in the document if it can, else less.
const LINES: [Rate; 4] =
    [Rate::from_gbps(1), Rate::from_mbps(500), Rate::from_mbps(200), Rate::from_mbps(100)];

pub(super) fn step(args: &StepArgs) -> Result<Exit, Failure> {
    let phase = time("--phase", &args.phase)?;
    if phase < Duration::from_ms(100) {
        return Err(Failure::invalid(format!("--phase {}: too short for anything to settle", args.phase))
            .hint("100ms is the least, 3.7s is the document's"));
    }
    let asked = args.rate.as_deref().map(|text| rate("--rate", text)).transpose()?;
    let stop = until_interrupted();
    let line = match asked {
        Some(line) => line,
        None => choose_line()?,
    };
    let mut exit = Exit::Done;
    for &points in &args.points {
        exit = exit.max(one(args, points, line, phase, &stop)?);
    }
    Ok(exit)
}

/// Frames of the experiment, without check sequence, tags counted.
const FRAME: usize = 1496;

/// Measures what the machine holds, and says so.
fn choose_line() -> Result<Rate, Failure> {
    let lab = Wires::build("measure")?;
    let mut found = lab.open()?;
    let span = Duration::from_ms(300);
    let mut carried = 0;
    // Both pairs one after the other, twice each: a turn of the loop has four such ways for a frame.
    for _ in 0..2 {
        let [nic, port] = [&mut found.nic, &mut found.to_nic];
        let shape = Shape {
            source: MacAddr::numbered(1),
            destination: MacAddr::numbered(2),
            tag: None,
            frame: FRAME,
        };
        let fared = bench::through(None, [nic, port], &shape, None, span, &mut bench::clock())
            .map_err(|trouble| failure(&trouble))?;
        carried = carried.max(fared.rate());
    }
    drop(lab);
    // A frame goes over two pairs, and half of the machine is left to others.
    let holds = carried / 4 * FRAME as u64 * 8;
    let line = LINES.into_iter().find(|line| line.bps() <= holds).unwrap_or(LINES[3]);
    out::note(&format!(
        "this machine carries {} frames/s over one veth pair now; the experiment runs at {}",
        carried,
        shown(line)
    ));
    Ok(line)
}

/// The experiment with so many reaction points: simulated, live, judged.
fn one(
    args: &StepArgs,
    points: u8,
    line: Rate,
    phase: Duration,
    stop: &Arc<AtomicBool>,
) -> Result<Exit, Failure> {
    let dir = args.out.join(format!("{points}rp"));
    fs::create_dir_all(&args.out).map_err(|error| Failure::io(&args.out, "create", &error))?;
    let file = args.out.join(format!("{points}rp.toml"));
    write_file(&file, &scenario(points, line, phase, args.seed))?;
    let plain = ScenarioArgs::plain(&file.display().to_string());
    let loaded = source::load(&plain)?;
    let prepared =
        Prepared::new(&plain, loaded, &dir).map_err(|error| crate::commands::run::refused(&dir, error))?;
    let scenario = prepared.scenario();
    let all: Vec<_> = scenario.configurations.iter().collect();
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
        out::note(&format!(
            "{points} reaction point{} at {}, {} s on real interfaces",
            if points == 1 { "" } else { "s" },
            shown(line),
            job.plan.length.ps() as f64 / 1e12
        ));
        let capture = dir.join("live.pcapng");
        let mut went = None;
        let run = job.bench.make_otherwise(job, |sink| {
            let began = std::time::Instant::now();
            let result = experiment(job.plan, job.seed, points, sink, &capture, stop);
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
        if let Some(outcome) = went.transpose()? {
            out::note(&told(&outcome, &capture));
        }
        runs.push(run);
    }
    finish(args, &dir, &prepared.results(all.len(), runs))
}

fn finish(args: &StepArgs, dir: &Path, results: &Results) -> Result<Exit, Failure> {
    results.complain();
    let page = results.write(dir)?;
    out::print(&results.in_words(Some(&page), args.quiet))?;
    if results.report.complete { Ok(results.exit()) } else { Ok(Exit::Interrupted) }
}

fn told(outcome: &Outcome, capture: &Path) -> String {
    let (stalls, left_out) = outcome.stalls;
    let share = left_out.ps() as f64 / (left_out.ps() + outcome.ended.ps()).max(1) as f64;
    let busy = if share > 0.5 { " (others use this machine: more was left out than counted)" } else { "" };
    let frames = format!("{} frames over the wires", outcome.frames);
    let stalls = match stalls {
        0 => "never stalled".to_owned(),
        _ => {
            let ms = left_out.ps() as f64 / 1e9;
            format!("stalled {stalls} times, {ms:.0} ms in all, which are left out{busy}")
        }
    };
    let refused = match outcome.refused {
        0 => String::new(),
        refused => format!("; {refused} found a ring full"),
    };
    format!(
        "{frames}, {} turns of the loop, {stalls}{refused}; frames in {}",
        outcome.turns,
        capture.display()
    )
}

/// The network of the experiment, and what is in it.
struct Wires {
    lab: Lab,
    names: [String; 3],
}

/// Its interfaces.
struct Found {
    nic: PacketInterface,
    to_nic: PacketInterface,
    to_sink: PacketInterface,
    sink: PacketInterface,
}

impl Wires {
    fn build(what: &str) -> Result<Wires, Failure> {
        let names = ["nic", "s1", "sink"].map(|node| format!("{what}-{node}"));
        let lab = Lab::new(&[&names[0], &names[1], &names[2]]).map_err(|error| no_lab(&error))?;
        let join = |a: usize, b: usize, ends| lab.join([&names[a], &names[b]], ends, 1600);
        join(0, 1, ["nic0", "port0"])
            .and_then(|()| join(2, 1, ["sink0", "port1"]))
            .map_err(|error| no_lab(&error))?;
        Ok(Wires { lab, names })
    }

    fn open(&self) -> Result<Found, Failure> {
        let spaces = &self.names;
        let open = |space: &str, name: &str| -> Result<PacketInterface, Failure> {
            let opened = self.lab.inside(space, || PacketInterface::open(name, super::SLOTS));
            opened.map_err(|error| no_lab(&error))?.map_err(|trouble| failure(&trouble))
        };
        Ok(Found {
            nic: open(&spaces[0], "nic0")?,
            to_nic: open(&spaces[1], "port0")?,
            to_sink: open(&spaces[1], "port1")?,
            sink: open(&spaces[2], "sink0")?,
        })
    }
}

/// A gap between two turns that is longer is a stall, and left out.
const STALL: std::time::Duration = std::time::Duration::from_micros(300);

fn experiment(
    plan: &Plan,
    seed: u64,
    points: u8,
    sink: &mut dyn Sink,
    capture: &Path,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let wires = Wires::build("step")?;
    let found = wires.open()?;
    let Scheme::Qcn(qcn) = plan.scheme else { unreachable!("the scenario is ours, and its scheme is QCN") };
    let line = plan.links[0].rate;
    let adapter = &plan.hosts[0].adapter;
    let (nic_address, sink_address) = (found.nic.address(), found.sink.address());
    let shape = Shape { source: nic_address, destination: sink_address, tag: None, frame: FRAME };
    let port = |interface: &PacketInterface| PortConfig {
        address: interface.address(),
        rate: line,
        service: None,
        is_edge: false,
    };
    let mut switch = Switch::new(switch::Config {
        ports: vec![port(&found.to_nic), port(&found.to_sink)],
        memory: Bytes::from_kb(2000),
        longest: FRAME + 64,
        overhead: plan.overhead,
        congestion: Some(qcn.congestion),
        cnm_priority: qcn.cnm_priority,
        excerpt: 64,
        pause: FlowControl::Off,
        seed,
    });
    switch.teach(nic_address, TO_NIC);
    switch.teach(sink_address, TO_SINK);
    let nic = Nic::new(nic::Config {
        rate: line,
        overhead: plan.overhead,
        reaction: qcn.reaction,
        rule: adapter.pacer,
        depth: adapter.pacer_depth,
        reaction_delay: adapter.reaction_delay,
        // What the line carries between two turns, however late the second is.
        queue: 64,
        longest: FRAME,
        tags: true,
        seed,
    });
    let boxed = |interface: PacketInterface| Box::new(interface) as Box<dyn Interface + Send>;
    let mut switch = Station::new(switch, vec![boxed(found.to_nic), boxed(found.to_sink)]);
    let taken = capture_to(capture, line).map_err(|error| Failure::io(capture, "write", &error))?;
    switch.set_tap(Box::new(taken));
    let mut bench = Bench {
        nic: Station::new(nic, vec![boxed(found.nic)]),
        switch,
        sink: boxed(found.sink),
        makers: (0..points).map(|flow| Maker::new(&shape, flow, true)).collect(),
        line,
    };
    let catalog = plan.catalog();
    let find = |class, name: &str| catalog.find(class, name);
    let flows: Vec<EntityId> =
        (1..=points).filter_map(|point| find(EntityClass::Flow, &format!("rp{point}"))).collect();
    let places = Places {
        outputs: vec![find(EntityClass::Port, "s1->nic"), find(EntityClass::Port, "s1->sink")],
        inputs: vec![find(EntityClass::Input, "s1<-nic"), find(EntityClass::Input, "s1<-sink")],
        flows: flows.iter().copied().map(Some).collect(),
    };
    let mut recorder = Recorder::new(places, plan.sample);
    let course =
        Course { services: plan.changes.iter().filter_map(service_of).collect(), length: plan.length };
    let mut clock = Clock::leaving_out(Some(STALL));
    let outcome = bench.run(&course, &mut clock, &mut recorder, sink, &flows, stop);
    let result = outcome.map_err(|trouble: Trouble| failure(&trouble));
    drop(bench);
    result
}

/// The new service rate of a change of the scenario.
fn service_of(change: &Change) -> Option<(Instant, Rate)> {
    match change.what {
        What::PortService { rate: Some(rate), .. } => Some((change.at, rate)),
        _ => None,
    }
}

/// Keeps frames of the switch's ports: all control frames, and as many others as fit.
struct Taken {
    writer: Option<CaptureWriter<BufWriter<File>>>,
    /// Frames of data that may still be kept before `refill`.
    left: u32,
    refill: Instant,
}

impl Taken {
    /// Frames of data kept of each tenth of a second.
    const A_WHILE: u32 = 100;
}

fn capture_to(path: &Path, line: Rate) -> std::io::Result<Taken> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let interface = |name: &str, way: &str, peer: &str| CaptureInterface {
        name: name.to_owned(),
        description: format!("{way} at the port of s1 towards {peer}"),
        speed_bps: line.bps(),
    };
    let interfaces = [
        interface("nic->s1", "came in", "nic"),
        interface("s1->nic", "left", "nic"),
        interface("sink->s1", "came in", "sink"),
        interface("s1->sink", "left", "sink"),
    ];
    let comment = "Every control frame, and the first hundred others of each tenth of a second.";
    let out = BufWriter::new(File::create(path)?);
    let writer = CaptureWriter::new(out, &format!("quell {VERSION}"), comment, &interfaces, 1 << 16)?;
    Ok(Taken { writer: Some(writer), left: Taken::A_WHILE, refill: Instant::START })
}

impl Tap for Taken {
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], length: usize) {
        if at >= self.refill {
            (self.left, self.refill) = (Self::A_WHILE, at + Duration::from_ms(100));
        }
        let is_control = Header::parse(octets)
            .is_ok_and(|header| matches!(header.ether_type, EtherType::CNM | EtherType::MAC_CONTROL));
        if !is_control {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
        }
        let Some(writer) = &mut self.writer else { return };
        let written = writer.frame(port as u32, at.ps() / 1000, octets, length as u32);
        // A capture that cannot be written takes nothing from the experiment.
        if let Err(error) = written {
            out::warn(&format!("the capture ends here: {error}"));
            self.writer = None;
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish()
        {
            out::warn(&format!("the capture is cut short: {error}"));
        }
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
    let mut text = include_str!("step.toml").to_owned();
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
    use quell_sim::scenario::{Request, read};

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
                plan.changes.iter().filter_map(service_of).map(|it| it.1.bps()).collect();
            assert_eq!(services, [950, 200, 950].map(|per_mille| line.bps() / 1000 * per_mille));
        }
    }
}
