//! The step experiment on real interfaces: its network, what stands in it, and the frames that are kept.

use super::FRAME;
use crate::commands::live::{SLOTS, failure, no_lab};
use crate::exit::Failure;
use crate::out;
use crate::prepared::VERSION;
use quell_live::device::{Interface, PacketInterface};
use quell_live::drive::Station;
use quell_live::lab::Lab;
use quell_live::load::{Maker, Shape};
use quell_live::nic::{self, Nic};
use quell_live::recorder::{Places, Recorder};
use quell_live::step::{self, Bench, Course, Outcome, TO_NIC, TO_SINK};
use quell_live::switch::{self, FlowControl, PortConfig, Switch};
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use quell_proto::wire::{EtherType, Header, MacAddr};
use quell_record::capture::{CaptureWriter, Interface as CaptureInterface};
use quell_record::{EntityClass, EntityId, Sink, Tap};
use quell_sim::scenario::Plan;
use quell_sim::scenario::plan::{Change, Scheme, What};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::AtomicBool;

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
    fn build() -> Result<Wires, Failure> {
        let names = ["nic", "s1", "sink"].map(|node| format!("step-{node}"));
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
            let opened = self.lab.inside(space, || PacketInterface::open(name, SLOTS));
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

/// What an experiment is run with, besides its plan.
pub(super) struct Conduct<'a> {
    pub(super) seed: u64,
    pub(super) points: u8,
    /// The rate at which the queue before the receiver must not run dry for want of a turn.
    pub(super) drained_at: Rate,
    /// Where frames are kept, if anywhere.
    pub(super) capture: Option<&'a Path>,
    /// Whether it ends as soon as the machine does not keep up.
    pub(super) must_hold: bool,
    pub(super) stop: &'a AtomicBool,
}

/// Runs an experiment on real interfaces.
pub(super) fn experiment(
    plan: &Plan,
    conduct: &Conduct<'_>,
    sink: &mut dyn Sink,
) -> Result<Outcome, Failure> {
    let Conduct { seed, points, .. } = *conduct;
    let wires = Wires::build()?;
    let found = wires.open()?;
    let Scheme::Qcn(qcn) = plan.scheme else { unreachable!("the scenario is ours, and its scheme is QCN") };
    let line = plan.links[0].rate;
    let adapter = &plan.hosts[0].adapter;
    // Stations that no interface is, so that the kernel does not take their frames for its own.
    let (nic_address, sink_address) = (MacAddr::numbered(1), MacAddr::numbered(2));
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
        // What the line carries between two turns, however late the second is, and memory for that of all of them.
        queue: usize::from(points).max(16) * 4,
        longest: FRAME,
        tags: true,
        seed,
    });
    let boxed = |interface: PacketInterface| Box::new(interface) as Box<dyn Interface + Send>;
    let mut switch = Station::new(switch, vec![boxed(found.to_nic), boxed(found.to_sink)]);
    if let Some(path) = conduct.capture {
        let taken = capture_to(path, line).map_err(|error| Failure::io(path, "write", &error))?;
        switch.set_tap(Box::new(taken));
    }
    let mut bench = Bench {
        nic: Station::new(nic, vec![boxed(found.nic)]),
        switch,
        sink: boxed(found.sink),
        makers: (0..points).map(|flow| Maker::new(&shape, flow, true)).collect(),
        line,
        // Half of what drains a queue at its set point: later than that, the port may run dry for want of a turn.
        patience: Duration::from_ps(conduct.drained_at.time_for(qcn.congestion.set_point).ps() / 2),
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
    let course = Course {
        services: plan.changes.iter().filter_map(service_of).collect(),
        length: plan.length,
        must_hold: conduct.must_hold,
    };
    bench
        .run(&course, &mut step::clock(), &mut recorder, sink, &flows, conduct.stop)
        .map_err(|trouble| failure(&trouble))
}

/// The new service rate of a change of the scenario.
pub(super) fn service_of(change: &Change) -> Option<(Instant, Rate)> {
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
