//! `quell live bench`: what the software does on this machine.

use super::{failure, frame, no_lab, time};
use crate::cli_live::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::out;
use quell_live::bench::{self, Evenness, Fared};
use quell_live::device::{Interface, PacketInterface};
use quell_live::drive::Station;
use quell_live::lab::Lab;
use quell_live::load::{SHORTEST, Shape};
use quell_live::switch::{Config, FlowControl, PortConfig, Switch};
use quell_proto::control::qcn::Profile;
use quell_proto::units::{Bytes, Duration, Priority, Rate};
use quell_proto::wire::MacAddr;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Rates at which loss is looked for, in frames a second.
const RATES: [u64; 6] = [25_000, 50_000, 100_000, 150_000, 200_000, 300_000];

/// Rates at which a paced flow is looked at.
const PACED: [Rate; 3] = [Rate::from_mbps(10), Rate::from_mbps(100), Rate::from_mbps(500)];

pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    let span = time("--for", &args.length)?;
    let frame = frame(&args.frame, SHORTEST)?;
    let stand = Stand::build(frame)?;
    let (mut a, mut b, mut station) = stand.open()?;
    let shape = Stand::shape(frame);
    let mut clock = bench::clock();
    let mut go = |rate: Option<u64>| {
        bench::through(Some(&mut station), [&mut a, &mut b], &shape, rate, span, &mut clock)
            .map_err(|trouble| failure(&trouble))
    };
    let fastest = go(None)?;
    let loads =
        RATES.into_iter().map(|rate| Ok((rate, go(Some(rate))?))).collect::<Result<Vec<_>, Failure>>()?;
    let (mut direct, mut far) = stand.direct()?;
    let quiet = RATES[0];
    let bare = bench::through(None, [&mut direct, &mut far], &shape, Some(quiet), span, &mut bench::clock())
        .map_err(|trouble| failure(&trouble))?;
    let paced = PACED
        .into_iter()
        .map(|rate| {
            Ok((rate, bench::evenness(&mut direct, &shape, rate, span).map_err(|trouble| failure(&trouble))?))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let measured = Measured { frame, fastest, loads, bare, paced };
    out::print(&if args.json { format!("{:#}\n", measured.to_json()) } else { measured.in_words() })?;
    Ok(Exit::Done)
}

/// The network to measure in.
struct Stand {
    lab: Lab,
    frame: usize,
}

impl Stand {
    /// Stations that no interface is, so that the kernel does not take the frames for its own and look for their way on.
    const SENDER: MacAddr = MacAddr::numbered(1);
    const RECEIVER: MacAddr = MacAddr::numbered(2);

    fn shape(frame: usize) -> Shape {
        Shape { source: Self::SENDER, destination: Self::RECEIVER, tag: None, frame }
    }

    fn build(frame: usize) -> Result<Stand, Failure> {
        let refused = |error| no_lab(&error);
        let lab = Lab::new(&["bench-a", "bench-s", "bench-b"]).map_err(refused)?;
        let mtu = (frame as u32).max(1500);
        lab.join(["bench-a", "bench-s"], ["a0", "port0"], mtu).map_err(refused)?;
        lab.join(["bench-b", "bench-s"], ["b0", "port1"], mtu).map_err(refused)?;
        lab.join(["bench-a", "bench-b"], ["a1", "b1"], mtu).map_err(refused)?;
        Ok(Stand { lab, frame })
    }

    fn interface(&self, space: &str, name: &str) -> Result<PacketInterface, Failure> {
        let opened = self.lab.inside(space, || PacketInterface::open(name, super::SLOTS));
        opened.map_err(|error| no_lab(&error))?.map_err(|trouble| failure(&trouble))
    }

    /// Both ends, and the switch between them: as it is used, congestion points and all, at a rate that limits nothing.
    fn open(&self) -> Result<(PacketInterface, PacketInterface, Station<Switch>), Failure> {
        let ports = [self.interface("bench-s", "port0")?, self.interface("bench-s", "port1")?];
        let (a, b) = (self.interface("bench-a", "a0")?, self.interface("bench-b", "b0")?);
        let port = |interface: &PacketInterface| PortConfig {
            address: interface.address(),
            rate: Rate::from_gbps(100),
            service: None,
            is_edge: false,
        };
        let mut switch = Switch::new(Config {
            ports: ports.iter().map(port).collect(),
            memory: Bytes::from_kb(4000),
            longest: self.frame + 64,
            overhead: Bytes::ZERO,
            congestion: Some(Profile::Standard.congestion()),
            cnm_priority: Priority::new(6).unwrap_or_default(),
            excerpt: 64,
            pause: FlowControl::Off,
            seed: 1,
        });
        switch.teach(Self::SENDER, 0);
        switch.teach(Self::RECEIVER, 1);
        let ports = ports.map(|port| Box::new(port) as Box<dyn Interface + Send>);
        Ok((a, b, Station::new(switch, ports.into())))
    }

    /// Two ends of one pair, with nothing in between.
    fn direct(&self) -> Result<(PacketInterface, PacketInterface), Failure> {
        Ok((self.interface("bench-a", "a1")?, self.interface("bench-b", "b1")?))
    }
}

struct Measured {
    frame: usize,
    fastest: Fared,
    loads: Vec<(u64, Fared)>,
    bare: Fared,
    paced: Vec<(Rate, Evenness)>,
}

impl Measured {
    /// The highest rate up to which nothing was lost.
    fn lossless(&self) -> u64 {
        let clean = self
            .loads
            .iter()
            .take_while(|(rate, fared)| fared.lost() == 0 && fared.sent >= kept(*rate, fared));
        clean.map(|it| it.0).last().unwrap_or(0)
    }

    fn in_words(&self) -> String {
        let us = |ps: u64| ps as f64 / 1e6;
        let octets = self.frame + quell_live::node::CHECK_SEQUENCE;
        let gbps = |frames: u64| frames as f64 * octets as f64 * 8.0 / 1e9;
        let mut words = format!(
            "frames of {octets} octets through the switch, between two veth pairs\n\
             load, switch and receiver on one thread, as fast as they go: {} frames/s, {:.2} Gb/s\n\
             … by the processor time they took: {} frames/s on one core, {:.2} Gb/s\n\
             the switch alone, likewise: {} frames/s on one core, {:.2} Gb/s\n\n",
            self.fastest.rate(),
            gbps(self.fastest.rate()),
            self.fastest.rate_of_all(),
            gbps(self.fastest.rate_of_all()),
            self.fastest.rate_of_a_core(),
            gbps(self.fastest.rate_of_a_core())
        );
        let _ = writeln!(
            words,
            "{:>10}{:>12}{:>8}{:>14}{:>16}",
            "offered/s", "carried/s", "lost", "mean way, us", "longest way, us"
        );
        for (rate, fared) in &self.loads {
            let (mean, most) = (us(fared.latency_ps), us(fared.latency_max_ps));
            let _ =
                writeln!(words, "{rate:>10}{:>12}{:>8}{mean:>14.1}{most:>16.1}", fared.rate(), fared.lost());
        }
        let _ = writeln!(words, "\nno loss up to {} frames/s", self.lossless());
        let added = self.loads[0].1.latency_ps.saturating_sub(self.bare.latency_ps);
        let _ = writeln!(
            words,
            "the way without the switch takes {:.1} us at {} frames/s: it adds {:.1} us on average\n",
            us(self.bare.latency_ps),
            self.loads[0].0,
            us(added)
        );
        let _ = writeln!(
            words,
            "a paced flow: how far the gaps between frames are from what they ought to be, in us\n{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}",
            "Mb/s", "gap", "median", "99 %", "worst", "rate kept"
        );
        for (rate, it) in &self.paced {
            let [gap, median, p99, worst] = [it.gap, it.median, it.p99, it.worst].map(|span| us(span.ps()));
            let kept = it.kept_permille as f64 / 10.0;
            let mbps = rate.bps() / 1_000_000;
            let _ =
                writeln!(words, "{mbps:>10}{gap:>10.1}{median:>10.2}{p99:>10.2}{worst:>10.1}{kept:>10.1} %");
        }
        words
    }

    fn to_json(&self) -> Value {
        let fared = |fared: &Fared| {
            json!({
                "sent": fared.sent,
                "arrived": fared.arrived,
                "frames_per_second": fared.rate(),
                "frames_per_second_of_a_core": fared.rate_of_all(),
                "switched_per_second_of_a_core": fared.rate_of_a_core(),
                "mean_latency_ps": fared.latency_ps,
                "longest_latency_ps": fared.latency_max_ps,
            })
        };
        let paced = |(rate, it): &(Rate, Evenness)| {
            json!({
                "rate_bps": rate.bps(),
                "gap_ps": it.gap.ps(),
                "median_error_ps": it.median.ps(),
                "p99_error_ps": it.p99.ps(),
                "worst_error_ps": it.worst.ps(),
                "kept_permille": it.kept_permille,
            })
        };
        json!({
            "frame_octets": self.frame + quell_live::node::CHECK_SEQUENCE,
            "fastest": fared(&self.fastest),
            "loads": self.loads.iter().map(|(rate, it)| json!({ "offered": rate, "fared": fared(it) })).collect::<Vec<_>>(),
            "lossless_frames_per_second": self.lossless(),
            "without_switch": fared(&self.bare),
            "paced": self.paced.iter().map(paced).collect::<Vec<_>>(),
        })
    }
}

/// Frames that must have been sent for a rate to count as held: 98 % of it.
fn kept(rate: u64, fared: &Fared) -> u64 {
    let due = u128::from(rate) * u128::from(fared.span.ps()) / u128::from(Duration::from_ms(1000).ps());
    u64::try_from(due * 98 / 100).unwrap_or(u64::MAX)
}
