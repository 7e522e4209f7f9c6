//! `quell live`: the machines of the simulator on real interfaces.

mod bench;
mod demo;
mod load;
mod nic;
mod session;
mod switch;

use crate::cli_live::{Demo, Live, LiveArgs, QcnArgs};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::out;
use quell_live::device::{PacketInterface, Trouble};
use quell_live::lab::LabError;
use quell_live::surroundings;
use quell_proto::control::qcn::{PRESETS, Preset, preset};
use quell_proto::units::{Bytes, Duration, Rate};
use quell_sim::scenario::{self, Wrong};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn live(args: &LiveArgs) -> Result<Exit, Failure> {
    match &args.what {
        Live::Switch(args) => switch::switch(args),
        Live::Nic(args) => nic::nic(args),
        Live::Send(args) => load::send(args),
        Live::Recv(args) => load::recv(args),
        Live::Demo(args) => match &args.demo {
            Demo::Step(args) => demo::step(args),
        },
        Live::Bench(args) => bench::bench(args),
    }
}

/// Slots of the rings of an interface, each way: 50 ms at 1 Gb/s.
const SLOTS: u32 = 4096;

/// Opens an interface and says what will be hidden there.
fn open(name: &str) -> Result<PacketInterface, Failure> {
    let interface = PacketInterface::open(name, SLOTS).map_err(|trouble| failure(&trouble))?;
    for line in surroundings::of(name) {
        out::note(&line);
    }
    Ok(interface)
}

fn failure(trouble: &Trouble) -> Failure {
    let failure = match trouble {
        Trouble::Missing { .. } | Trouble::NotEthernet { .. } => Failure::invalid(trouble.to_string()),
        _ => Failure::system(trouble.to_string()),
    };
    told(failure, trouble.hint())
}

fn no_lab(error: &LabError) -> Failure {
    told(Failure::system(error.to_string()), error.hint().map(str::to_owned))
}

fn told(failure: Failure, hint: Option<String>) -> Failure {
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A flag that Ctrl-C, or the end of the session, sets.
fn until_interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    interrupt::then(move || {
        if seen.swap(true, Ordering::SeqCst) {
            interrupt::end();
        }
    });
    stop
}

fn read<T>(flag: &str, text: &str, how: impl Fn(&str) -> Result<T, Wrong>) -> Result<T, Failure> {
    how(text).map_err(|(message, hint)| told(Failure::invalid(format!("{flag} {text}: {message}")), hint))
}

fn time(flag: &str, text: &str) -> Result<Duration, Failure> {
    let time = read(flag, text, scenario::time)?;
    if time == Duration::ZERO && flag != "--reaction-delay" {
        return Err(Failure::invalid(format!("{flag} {text}: that is no time at all")));
    }
    Ok(time)
}

fn rate(flag: &str, text: &str) -> Result<Rate, Failure> {
    let rate = read(flag, text, scenario::rate)?;
    if rate.bps() == 0 {
        return Err(Failure::invalid(format!("{flag} {text}: nothing moves at that rate")));
    }
    Ok(rate)
}

fn size(flag: &str, text: &str) -> Result<Bytes, Failure> {
    read(flag, text, scenario::size)
}

/// Length of a frame as flags state it, without its check sequence.
fn frame(text: &str, shortest: usize) -> Result<usize, Failure> {
    let stated = size("--frame", text)?.get();
    let fits = usize::try_from(stated).ok().and_then(|it| it.checked_sub(quell_live::node::CHECK_SEQUENCE));
    fits.filter(|it| (shortest..=9000).contains(it)).ok_or_else(|| {
        Failure::invalid(format!("--frame {text}: frames of load have {} to 9004 octets", shortest + 4))
    })
}

fn parameters(args: &QcnArgs) -> Result<Preset, Failure> {
    preset(&args.preset).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|it| it.name).collect();
        Failure::invalid(format!("--preset {}: there is none of this name", args.preset))
            .hint(format!("there are {}", names.join(", ")))
    })
}
