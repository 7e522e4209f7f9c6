//! `quell live switch`: frames between interfaces, with congestion points, service rates, PAUSE or PFC.

use super::session::{Session, warn};
use super::{open, parameters, rate, size, until_interrupted};
use crate::cli_live::SwitchArgs;
use crate::exit::{Exit, Failure};
use quell_live::clock::Clock;
use quell_live::device::{Interface, PacketInterface};
use quell_live::drive::{Station, WireCounts, drive};
use quell_live::node::{Node, Oddities};
use quell_live::recorder::{Places, Recorder};
use quell_live::switch::{Config, FlowControl, PortConfig, Switch};
use quell_proto::control::pause::PauseConfig;
use quell_proto::units::{Bytes, Priority, PrioritySet, Quanta, Rate};
use quell_proto::wire::VlanTag;
use quell_record::claim::FigureKind;
use quell_record::{Catalog, Entity, EntityId, EntityKind};
use std::fmt::Write as _;

pub(super) fn switch(args: &SwitchArgs) -> Result<Exit, Failure> {
    let names = &args.interfaces;
    for (name, count) in names.iter().map(|name| (name, names.iter().filter(|it| it == &name).count())) {
        if count > 1 {
            return Err(Failure::invalid(format!("interface `{name}` is named {count} times")));
        }
    }
    let config = config(args)?;
    let interfaces = names.iter().map(|name| open(name)).collect::<Result<Vec<_>, _>>()?;
    let line = config.ports[0].rate;
    let catalog = catalog(names, line, config.memory);
    let figures = [
        (FigureKind::Queue, "Queues before the interfaces", "port:*"),
        (FigureKind::Throughput, "What leaves by the interfaces", "port:*"),
        (FigureKind::Cnms, "Notifications", "port:*"),
    ];
    let title = format!("Live switch between {}", names.join(", "));
    let mut session = Session::begin(&args.session, "live/switch", &title, &catalog, &figures)?;
    let mut station = station(config, interfaces);
    let ports = names.len();
    let entity = |index: usize| Some(EntityId(u32::try_from(index).unwrap_or(u32::MAX)));
    let places = Places {
        outputs: (0..ports).map(entity).collect(),
        inputs: (ports..2 * ports).map(entity).collect(),
        flows: Vec::new(),
    };
    let mut recorder = Recorder::new(places, session.every);
    let (mut clock, stop) = (Clock::new(), until_interrupted());
    let mut said = vec![(0, 0); ports];
    let ended = drive(&mut station, &mut clock, &stop, |station, now| {
        let notes: Vec<_> = station.node.notes().collect();
        notes.iter().for_each(|note| warn(note, &names[note.port]));
        recorder.take_notes(notes.into_iter());
        while recorder.due() <= now {
            let at = recorder.due();
            station.with(|switch, out| switch.advance(at, out));
            recorder.take_notes(station.node.notes());
            recorder.sample_switch(at, &mut station.node);
            recorder.emit(&mut session);
        }
        session.say(now, |seconds| words(station, names, &mut said, seconds));
        (!session.is_over(now)).then(|| recorder.due().min(session.due()))
    });
    session.tell_left_out(station.node.notes_left_out());
    let frames = (0..ports).map(|port| station.counts(port).sent).sum();
    session.end(recorder.last(), frames, ended)
}

fn station(config: Config, interfaces: Vec<PacketInterface>) -> Station<Switch> {
    let mut config = config;
    for (port, interface) in config.ports.iter_mut().zip(&interfaces) {
        port.address = interface.address();
    }
    // What came in with a tag may go out without it, and the other way round.
    config.longest = interfaces.iter().map(PacketInterface::longest).max().unwrap_or(1514) + VlanTag::LEN;
    let interfaces = interfaces.into_iter().map(|it| Box::new(it) as Box<dyn Interface + Send>).collect();
    Station::new(Switch::new(config), interfaces)
}

fn config(args: &SwitchArgs) -> Result<Config, Failure> {
    let line = rate("--rate", &args.qcn.rate)?;
    let preset = parameters(&args.qcn)?;
    let known = |flag: &str, name: &String| {
        if args.interfaces.contains(name) {
            return Ok(());
        }
        Err(Failure::invalid(format!("{flag} {name}: that is none of the interfaces it forwards between"))
            .hint(format!("they are {}", args.interfaces.join(", "))))
    };
    let mut services: Vec<(String, Rate)> = Vec::new();
    for (name, text) in &args.service {
        known("--service", name)?;
        services.push((name.clone(), rate("--service", text)?));
    }
    args.edge.iter().try_for_each(|name| known("--edge", name))?;
    let port = |name: &String| PortConfig {
        address: Default::default(),
        rate: line,
        service: services.iter().rev().find(|it| it.0 == *name).map(|it| it.1),
        is_edge: args.edge.contains(name),
    };
    let memory = size("--memory", &args.memory)?;
    let pause = match (&args.pause, &args.pfc) {
        (Some(text), _) => FlowControl::Pause(thresholds("--pause", text, memory)?),
        // The priority of notifications is never stopped.
        (None, Some(text)) => FlowControl::Pfc(thresholds("--pfc", text, memory)?, PrioritySet(0b1011_1111)),
        (None, None) => FlowControl::Off,
    };
    Ok(Config {
        ports: args.interfaces.iter().map(port).collect(),
        memory,
        longest: 1518,
        overhead: Bytes::ZERO,
        congestion: (!args.no_congestion).then_some(preset.congestion),
        cnm_priority: Priority::new(6).unwrap_or_default(),
        excerpt: 64,
        pause,
        seed: args.qcn.seed,
    })
}

fn thresholds(flag: &str, text: &str, memory: Bytes) -> Result<PauseConfig, Failure> {
    let hint = "write it as STOP,GO, such as 110kB,44kB";
    let (stop, go) = text
        .split_once(',')
        .ok_or_else(|| Failure::invalid(format!("{flag} {text}: no two sizes")).hint(hint))?;
    let (stop, go) = (size(flag, stop.trim())?, size(flag, go.trim())?);
    if go > stop || stop > memory {
        let message = format!("{flag} {text}: traffic stops above the first and goes on below the second");
        return Err(Failure::invalid(message).hint("the first is the larger, and no larger than `--memory`"));
    }
    Ok(PauseConfig { stop, go, quanta: Quanta::MAX })
}

fn catalog(names: &[String], line: Rate, memory: Bytes) -> Catalog {
    let port = |name: &String| Entity {
        name: format!("switch->{name}"),
        kind: EntityKind::Port {
            node: "switch".to_owned(),
            peer: name.clone(),
            rate_bps: line.bps(),
            of_switch: true,
        },
    };
    let input = |name: &String| Entity {
        name: format!("switch<-{name}"),
        kind: EntityKind::Input {
            node: "switch".to_owned(),
            peer: name.clone(),
            capacity_bytes: Some(memory.get()),
        },
    };
    Catalog { entities: names.iter().map(port).chain(names.iter().map(input)).collect(), overhead_bytes: 0 }
}

fn words(station: &Station<Switch>, names: &[String], said: &mut [(u64, u64)], seconds: f64) -> String {
    let mut words = String::new();
    for (port, name) in names.iter().enumerate() {
        let counts = station.counts(port);
        let (sent, received) = (counts.sent - said[port].0, counts.received - said[port].1);
        said[port] = (counts.sent, counts.received);
        let queued = station.node.queued(port) as f64 / 1000.0;
        let _ = write!(
            words,
            "{name}: {:.0} in/s, {:.0} out/s, {queued:.1} kB wait; ",
            received as f64 / seconds,
            sent as f64 / seconds
        );
        words.push_str(&refused(counts));
    }
    words.push_str(&dropped(station.node.dropped()));
    words.push_str(&odd(all_odd(station, station.node.oddities())));
    words.trim_end_matches([' ', ';']).to_owned()
}

/// Frames that an interface refused, or lost before it could hand them over, in words; nothing if there were none.
pub(super) fn refused(counts: WireCounts) -> String {
    let mut words = String::new();
    let lost = counts.full + counts.overruns;
    if lost > 0 {
        let _ = write!(words, "{lost} found no room in a ring; ");
    }
    if counts.too_long > 0 {
        let _ = write!(words, "{} were longer than it sends; ", counts.too_long);
    }
    words
}

/// Frames that a node had no room for, in words; nothing if there were none.
pub(super) fn dropped(frames: u64) -> String {
    if frames == 0 { String::new() } else { format!("{frames} dropped for want of room; ") }
}

/// The odd frames of a node, and those that were too long to reach it.
pub(super) fn all_odd<N: Node>(station: &Station<N>, oddities: Oddities) -> Oddities {
    let too_long: u64 = (0..station.ports()).map(|port| station.counts(port).oversized).sum();
    Oddities { oversized: oddities.oversized + too_long, ..oddities }
}

/// Odd frames in words; nothing if there were none.
pub(super) fn odd(oddities: Oddities) -> String {
    let Oddities { malformed, oversized, foreign, stormy } = oddities;
    let parts = [
        (malformed, "malformed"),
        (oversized, "oversized"),
        (foreign, "foreign"),
        (stormy, "ignored in storms"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|it| it.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    parts.join(", ")
}
