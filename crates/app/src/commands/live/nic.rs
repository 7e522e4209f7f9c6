//! `quell live nic`: reaction points between a host and its wire.

use super::session::{Session, warn};
use super::switch::{all_odd, dropped, odd, refused};
use super::{open, parameters, rate, size, time, until_interrupted};
use crate::cli_live::{NicArgs, PacerName};
use crate::exit::{Exit, Failure};
use crate::out;
use quell_live::clock::Clock;
use quell_live::device::{Interface, PacketInterface};
use quell_live::drive::{Station, drive};
use quell_live::nic::{Config, HOST, Nic, WIRE};
use quell_live::node::Node;
use quell_live::recorder::{Places, Recorder};
use quell_proto::control::pacer::Rule;
use quell_proto::units::Bytes;
use quell_proto::wire::CnTag;
use quell_record::claim::FigureKind;
use quell_record::{Catalog, Entity, EntityId, EntityKind, FlowTotals, Sink};

pub(super) fn nic(args: &NicArgs) -> Result<Exit, Failure> {
    if args.wire == args.host {
        return Err(Failure::invalid(format!("`{}` is both the wire and the host", args.wire))
            .hint("an adapter stands between two interfaces"));
    }
    let line = rate("--rate", &args.qcn.rate)?;
    let config = Config {
        rate: line,
        overhead: Bytes::ZERO,
        reaction: parameters(&args.qcn)?.reaction,
        rule: match args.pacer {
            PacerName::WholeFrame => Rule::WholeFrame,
            PacerName::AnyToken => Rule::AnyToken,
        },
        depth: size("--depth", &args.depth)?,
        reaction_delay: time("--reaction-delay", &args.reaction_delay)?,
        queue: 256,
        longest: 1514,
        tags: true,
        seed: args.qcn.seed,
    };
    let (wire, host) = (open(&args.wire)?, open(&args.host)?);
    let config = Config { longest: wire.longest(), ..config };
    if let Some(words) = without_tag(&wire, &host) {
        out::note(&words);
    }
    let names = [&args.wire, &args.host];
    let catalog = catalog(args.flows);
    let figures = [
        (FigureKind::Limit, "Rates of the reaction points", "flow:*"),
        (FigureKind::Arrivals, "What leaves by the wire", "flow:*"),
        (FigureKind::Cnms, "Notifications", "flow:*"),
    ];
    let title = format!("Live adapter between {} and {}", args.host, args.wire);
    let mut session = Session::begin(&args.session, "live/nic", &title, &catalog, &figures)?;
    let interfaces: [Box<dyn Interface + Send>; 2] = [Box::new(wire), Box::new(host)];
    let mut station = Station::new(Nic::new(config), interfaces.into());
    let entity = |flow: u32| Some(EntityId(flow));
    let places = Places { flows: (0..u32::from(args.flows)).map(entity).collect(), ..Places::default() };
    let mut recorder = Recorder::new(places, session.every);
    let mut totals = vec![FlowTotals::default(); usize::from(args.flows)];
    let (mut clock, stop) = (Clock::new(), until_interrupted());
    let mut said = (0, 0);
    let ended = drive(&mut station, &mut clock, &stop, |station, now| {
        station.node.notes().for_each(|note| warn(&note, names[note.port]));
        while recorder.due() <= now {
            let at = recorder.due();
            station.with(|nic, out| nic.advance(at, out));
            recorder.sample_flows(&mut station.node, line, |_| None, &mut totals);
            recorder.emit(&mut session);
        }
        session.say(now, |seconds| {
            let (wire, host) = (station.counts(WIRE), station.counts(HOST));
            let (out, into) = (wire.sent - said.0, host.received - said.1);
            said = (wire.sent, host.received);
            let limits: Vec<String> = (0..args.flows)
                .filter_map(|flow| {
                    let limit = station.node.limit(flow as u8)?;
                    Some(format!("{flow} to {:.1} Mb/s", limit.bps() as f64 / 1e6))
                })
                .collect();
            let limits = if limits.is_empty() { "none is limited".to_owned() } else { limits.join(", ") };
            let rates = format!("{:.0} in/s, {:.0} out/s", into as f64 / seconds, out as f64 / seconds);
            let lost = refused(wire) + &refused(host) + &dropped(station.node.counts().dropped);
            let odd = odd(all_odd(station, station.node.oddities()));
            format!("{rates}; flows: {limits}; {lost}{odd}").trim_end_matches([' ', ';']).to_owned()
        });
        (!session.is_over(now)).then(|| recorder.due().min(session.due()))
    });
    for (flow, total) in (0..).map(EntityId).zip(totals) {
        session.flow(flow, total);
    }
    session.tell_left_out(station.node.notes_left_out());
    let frames = station.counts(WIRE).sent + station.counts(HOST).sent;
    session.end(recorder.last(), frames, ended)
}

/// What becomes of frames of the host that leave no room for a CN-TAG on the wire, if there are some.
fn without_tag(wire: &PacketInterface, host: &PacketInterface) -> Option<String> {
    let (most, name) = (wire.longest() - CnTag::LEN, wire.name());
    let wanted = host.mtu() + CnTag::LEN;
    (host.longest() > most).then(|| {
        format!(
            "{name}: frames longer than {most} octets have no room for a CN-TAG there and go without one; notifications \
             are told by what they carry of the frame. `ip link set {name} mtu {wanted}`, at both ends, makes room"
        )
    })
}

fn catalog(flows: u16) -> Catalog {
    let flow = |number: u16| Entity {
        name: format!("flow{number}"),
        kind: EntityKind::Flow {
            from: "host".to_owned(),
            to: "network".to_owned(),
            priority: 0,
            demand_bps: None,
            frame_bytes: 1500,
            message: None,
        },
    };
    Catalog { entities: (0..flows).map(flow).collect(), overhead_bytes: 0 }
}
