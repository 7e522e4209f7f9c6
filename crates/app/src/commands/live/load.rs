//! `quell live send` and `quell live recv`: load and measurement.

use super::{failure, frame, open, rate, time, until_interrupted};
use crate::cli_live::{RecvArgs, SendArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use quell_live::clock::Clock;
use quell_live::device::{Interface, Sent, Trouble};
use quell_live::drive::Pause;
use quell_live::load::{FlowCounts, Maker, Receiver, SHORTEST, Shape, Source};
use quell_live::node::Oddities;
use quell_proto::units::{Duration, Instant, Priority};
use quell_proto::wire::{MacAddr, VlanId, VlanTag};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

const SECOND: Duration = Duration::from_ms(1000);

pub(super) fn send(args: &SendArgs) -> Result<Exit, Failure> {
    let destination = address(&args.to).ok_or_else(|| {
        Failure::invalid(format!("--to {}: that is no address of a station", args.to))
            .hint("write it as 02:00:00:00:00:02")
    })?;
    let rate = rate("--rate", &args.rate)?;
    let end = end(args.length.as_deref())?;
    let tag = match args.priority {
        Some(priority) => Priority::new(priority).zip(VlanId::new(1)),
        None => None,
    };
    let frame = frame(&args.frame, SHORTEST + if tag.is_some() { 4 } else { 0 })?;
    let mut interface = open(&args.interface)?;
    let longest = interface.longest() + if tag.is_some() { VlanTag::LEN } else { 0 };
    if frame > longest {
        let most = longest + quell_live::node::CHECK_SEQUENCE;
        return Err(Failure::invalid(format!(
            "--frame {}: {} sends up to {most} octets",
            args.frame, args.interface
        )));
    }
    let shape = Shape { source: interface.address(), destination, tag, frame };
    let mut sources: Vec<Source> =
        (0..args.flows).map(|flow| Source::new(Maker::new(&shape, flow as u8, false), Some(rate))).collect();
    let (mut clock, stop) = (Clock::new(), until_interrupted());
    let mut pause = Pause::new([]);
    let (mut sent, mut refused, mut said, mut next_words) = (0u64, 0u64, 0u64, Instant::START + SECOND);
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= end {
            break;
        }
        for source in &mut sources {
            while let Some(octets) = source.next(now) {
                match interface.send(octets) {
                    Sent::Yes => sent += 1,
                    _ => refused += 1,
                }
            }
        }
        interface.flush().map_err(|trouble| failure(&trouble))?;
        if now >= next_words {
            next_words = now + SECOND;
            if let Some(trouble) = interface.trouble() {
                return Err(failure(&trouble));
            }
            if !args.quiet {
                out::note(&format!("{:>6.1} s  {} frames/s", now.ps() as f64 / 1e12, sent - said));
            }
            said = sent;
        }
        let due = sources.iter().map(Source::due).min().unwrap_or(end);
        pause.until(due.min(end), now);
    }
    out::print(&format!("{sent} frames sent, {refused} found no room in the ring\n"))?;
    Ok(Exit::Done)
}

pub(super) fn recv(args: &RecvArgs) -> Result<Exit, Failure> {
    let end = end(args.length.as_deref())?;
    let mut interface = open(&args.interface)?;
    let (mut clock, stop) = (Clock::new(), until_interrupted());
    let mut pause = Pause::new(interface.socket());
    let mut receiver = Receiver::joining();
    let mut into = vec![0; 1 << 16];
    let (mut said, mut next_words, mut oversized, mut overruns) = (0, Instant::START + SECOND, 0u64, 0u64);
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= end {
            break;
        }
        let mut came = 0;
        while let Some(length) = interface.receive(&mut into) {
            came += 1;
            match into.get(..length) {
                Some(octets) => receiver.on_frame(now, octets),
                None => oversized += 1,
            }
            if came == 4096 {
                break;
            }
        }
        if now >= next_words {
            next_words = now + SECOND;
            overruns += interface.take_overruns();
            // A sender may yet come.
            if let Some(trouble) = interface.trouble().filter(|it| !matches!(it, Trouble::NoCarrier { .. })) {
                return Err(failure(&trouble));
            }
            let total = receiver.total();
            if !args.quiet {
                let line = format!("{} frames/s, {} lost so far", total.frames - said, total.lost);
                out::note(&format!("{:>6.1} s  {line}", now.ps() as f64 / 1e12));
            }
            said = total.frames;
        }
        if came == 0 {
            pause.until(end.min(next_words), now);
        }
    }
    overruns += interface.take_overruns();
    let span = clock.now().ps() as f64 / 1e12;
    let words = if args.json {
        document(&receiver, span, oversized, overruns)
    } else {
        table(&receiver, span, oversized, overruns)
    };
    out::print(&words)?;
    Ok(Exit::Done)
}

fn end(text: Option<&str>) -> Result<Instant, Failure> {
    let length = text.map(|text| time("--for", text)).transpose()?;
    Ok(length.map_or(Instant::NEVER, |length| Instant::START + length))
}

fn table(receiver: &Receiver, span: f64, oversized: u64, overruns: u64) -> String {
    let mut words =
        format!("{:>5}{:>12}{:>14}{:>10}{:>12}\n", "flow", "frames", "mean Mb/s", "lost", "reordered");
    let mut row = |name: String, flow: &FlowCounts| {
        let rate = flow.bytes as f64 * 8.0 / span / 1e6;
        let _ = writeln!(
            words,
            "{name:>5}{:>12}{rate:>14.3}{:>10}{:>12}",
            flow.frames, flow.lost, flow.reordered
        );
    };
    for (number, flow) in receiver.flows().iter().enumerate().filter(|(_, flow)| flow.frames > 0) {
        row(number.to_string(), flow);
    }
    row("all".to_owned(), &receiver.total());
    let odd = super::switch::odd(Oddities { oversized, ..receiver.oddities() });
    if !odd.is_empty() {
        let _ = writeln!(words, "other frames: {odd}");
    }
    if overruns > 0 {
        let _ = writeln!(words, "{overruns} frames came faster than they were taken");
    }
    words
}

fn document(receiver: &Receiver, span: f64, oversized: u64, overruns: u64) -> String {
    let flow = |(number, flow): (usize, &FlowCounts)| {
        json!({
            "flow": number,
            "frames": flow.frames,
            "bytes": flow.bytes,
            "lost": flow.lost,
            "reordered": flow.reordered,
        })
    };
    let flows = receiver.flows().iter().enumerate().filter(|(_, flow)| flow.frames > 0).map(flow);
    let oddities = receiver.oddities();
    let document = json!({
        "seconds": span,
        "flows": flows.collect::<Vec<_>>(),
        "malformed": oddities.malformed,
        "foreign": oddities.foreign,
        "oversized": oversized,
        "overruns": overruns,
    });
    format!("{document:#}\n")
}

fn address(text: &str) -> Option<MacAddr> {
    let octets: Vec<u8> =
        text.split(':').map(|part| u8::from_str_radix(part, 16)).collect::<Result<_, _>>().ok()?;
    let address = MacAddr(octets.try_into().ok()?);
    (!address.is_group()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_one_station() {
        assert_eq!(address("02:00:00:00:00:02"), Some(MacAddr::numbered(2)));
        assert_eq!(address("01:00:00:00:00:02"), None);
        assert_eq!(address("02:00:00:00:00"), None);
        assert_eq!(address("02:00:00:00:00:0x"), None);
    }
}
