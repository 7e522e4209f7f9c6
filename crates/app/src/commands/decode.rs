//! `quell decode`: the frames of a capture, as text or JSON.

use crate::cli::DecodeArgs;
use crate::decoded::{self, Decoded};
use crate::exit::{Exit, Failure};
use crate::filter::Filter;
use crate::out;
use quell_proto::wire::Ports;
use quell_record::capture::{CaptureReader, Captured, ETHERNET, Link};
use quell_record::near::closest;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

pub(super) fn decode(args: &DecodeArgs) -> Result<Exit, Failure> {
    let filters: Vec<Filter> =
        args.filter.iter().map(|it| Filter::read(it)).collect::<Result<_, Failure>>()?;
    let input: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(|error| Failure::io(&args.file, "read", &error))?)
    };
    let mut stdout = BufWriter::new(io::stdout().lock());
    let mut seen = Seen::default();
    let ended = print_all(args, &filters, input, &mut stdout, &mut seen);
    let flushed = stdout.flush();
    drop(stdout);
    match ended.and(flushed.map_err(Stop::Output)) {
        Ok(()) => {}
        // A reader that went away (`quell decode x | head`) is no failure.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Done),
        Err(Stop::Output(error)) => {
            return Err(Failure::io(Path::new("standard output"), "write", &error));
        }
        Err(Stop::Input(failure)) => {
            if !seen.kinds.is_empty() {
                out::note(&seen.in_words());
            }
            return Err(failure);
        }
    }
    out::note(&seen.in_words());
    for filter in &filters {
        seen.doubt(filter);
    }
    Ok(Exit::Done)
}

/// Why no more frames are printed.
enum Stop {
    Input(Failure),
    Output(io::Error),
}

fn print_all(
    args: &DecodeArgs,
    filters: &[Filter],
    input: Box<dyn Read>,
    stdout: &mut impl Write,
    seen: &mut Seen,
) -> Result<(), Stop> {
    let failed = |error: quell_record::capture::CaptureError| {
        let failure = Failure::invalid(format!("{}: {error}", args.file.display()));
        Stop::Input(
            failure.hint("captures are pcapng or pcap files, from `quell run --pcap`, Wireshark or tcpdump"),
        )
    };
    let mut ports = Ports { cim: args.cim_port };
    let mut reader = CaptureReader::new(BufReader::new(input)).map_err(failed)?;
    let mut number = 0;
    loop {
        // The port of a frame is looked up in the reader, so what it says is taken first.
        let Some(frame) = reader.next_frame().map_err(failed)? else { return Ok(()) };
        number += 1;
        let Captured { link, at_ns, octets, length } = frame;
        let (kept, octets) = (octets.len(), octets.to_vec());
        let port = &reader.links()[link];
        let Decoded { kind, fields } =
            if port.kind == ETHERNET { decoded::decode(&octets, length, ports) } else { foreign(port) };
        if args.cim_port.is_none() {
            ports.cim = announced_port(&fields).or(ports.cim);
        }
        let mut line = Map::new();
        let mut put = |name: &str, value: Value| line.insert(name.to_owned(), value);
        put("number", json!(number));
        put("time_ns", at_ns.map_or(Value::Null, |it| i64::try_from(it).map_or(Value::Null, Value::from)));
        put("port", port.name.clone().map_or_else(|| json!(link), Value::from));
        put("kind", json!(kind));
        put("length", json!(length));
        if kept < length as usize {
            put("kept", json!(kept));
        }
        line.extend(fields);
        seen.count(kind, &line);
        if !filters.iter().all(|it| it.holds(&line)) {
            continue;
        }
        seen.shown += 1;
        let text = if args.json { format!("{}\n", Value::Object(line)) } else { in_words(&line) };
        stdout.write_all(text.as_bytes()).map_err(Stop::Output)?;
    }
}

/// The UDP port of congestion isolation messages that an LLDP frame announces, if it is one and does.
fn announced_port(fields: &Map<String, Value>) -> Option<u16> {
    u16::try_from(fields.get("isolation")?.get("port")?.as_u64()?).ok()
}

/// A frame of something that is not Ethernet.
fn foreign(link: &Link) -> Decoded {
    let mut fields = Map::new();
    fields.insert("fault".to_owned(), json!(format!("link type {} is not Ethernet", link.kind)));
    Decoded { kind: "foreign", fields }
}

/// A frame on a line: number, time, port, kind, ends, and the fields that are left.
fn in_words(line: &Map<String, Value>) -> String {
    const IN_FRONT: [&str; 6] = ["number", "time_ns", "port", "kind", "from", "to"];
    let word = |name: &str| line.get(name).map(bare).unwrap_or_default();
    let time = line.get("time_ns").and_then(Value::as_i64).map_or_else(|| "-".to_owned(), seconds);
    let mut text = format!("{:>6}  {time:>13}  {:<10}  {:<9}", word("number"), word("port"), word("kind"));
    if line.contains_key("from") {
        let _ = write!(text, "  {} > {}", word("from"), word("to"));
    }
    for (name, value) in line.iter().filter(|(name, _)| !IN_FRONT.contains(&name.as_str())) {
        let _ = write!(text, "  {name}={}", bare(value));
    }
    text.push('\n');
    text
}

/// A value without the quotes of JSON.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// What went by: how many of each kind, and which fields there were.
#[derive(Debug, Default)]
struct Seen {
    kinds: BTreeMap<&'static str, u64>,
    shown: u64,
    fields: BTreeSet<String>,
}

impl Seen {
    fn count(&mut self, kind: &'static str, line: &Map<String, Value>) {
        *self.kinds.entry(kind).or_default() += 1;
        for name in line.keys().filter(|it| !self.fields.contains(*it)).cloned().collect::<Vec<_>>() {
            self.fields.insert(name);
        }
    }

    fn in_words(&self) -> String {
        let all: u64 = self.kinds.values().sum();
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let shown = if self.shown == all { String::new() } else { format!("; {} shown", self.shown) };
        match kinds.len() {
            0 => "no frames".to_owned(),
            _ => format!("{all} frames: {}{shown}", kinds.join(", ")),
        }
    }

    /// Says so where no frame at all had the field of a filter.
    fn doubt(&self, filter: &Filter) {
        let field = filter.field.split('.').next().unwrap_or_default();
        if self.kinds.is_empty() || field == "time" || self.fields.contains(field) {
            return;
        }
        let near = closest(field, self.fields.iter().map(String::as_str));
        let hint = match near.as_slice() {
            [] => format!("there are {}", self.fields.iter().cloned().collect::<Vec<_>>().join(", ")),
            near => format!("is it {}?", near.join(" or ")),
        };
        out::warn(&format!("no frame has a field `{field}`\nhint: {hint}"));
    }
}
