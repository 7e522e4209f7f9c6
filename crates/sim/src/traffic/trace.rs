//! Lists of flows as text: our own table, and the `flow.txt` of the HPCC simulator and its relatives.

use super::flows::ListedFlow;
use crate::scenario::Problem;
use crate::scenario::plan::HostId;
use crate::scenario::units;
use quell_proto::units::{Bytes, Instant, Priority};
use std::fmt::Write;

/// A flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFlow {
    /// The flow.
    pub flow: ListedFlow,
    /// Its priority, if the trace has one.
    pub priority: Option<Priority>,
    /// The line it stands in.
    pub line: u32,
}

/// More than this of what is wrong tells nobody anything.
const MOST_PROBLEMS: usize = 20;

/// Reads a trace; `host` knows hosts by their names. Says all that is wrong with it, up to a point.
///
/// Two forms are told apart by their first line. A table has a heading that names its columns, in any order: `from`,
/// `to`, `bytes`, one of `start_s`, `start_ms`, `start_us`, `start_ns` or `start_ps`, and `priority` if it likes; lines
/// that begin with `#` are comments. A `flow.txt` begins with the number of flows, and has `src dst priority port bytes
/// start` in each line after it, hosts by number and times in seconds; its host 7 is our `h7`.
pub fn parse(
    file: &str,
    text: &str,
    host: impl Fn(&str) -> Option<HostId>,
) -> Result<Vec<TracedFlow>, Vec<Problem>> {
    let mut lines = text.lines().zip(1..).map(|(line, number)| (number, line.trim()));
    let first = lines.find(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut problems = Vec::new();
    let Some((number, first)) = first else {
        return Err(vec![problem(file, None, "there is no flow in it".to_owned(), HEADING_HINT)]);
    };
    let reader = match first.parse::<usize>() {
        Ok(count) => Form::FlowTxt { count },
        Err(_) => match Columns::of(first) {
            Ok(columns) => Form::Table(columns),
            Err(message) => return Err(vec![problem(file, Some(number), message, HEADING_HINT)]),
        },
    };
    let mut flows = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        match reader.flow(line, &host) {
            Ok((flow, priority)) => flows.push(TracedFlow { flow, priority, line: number }),
            Err((message, hint)) => problems.push(problem(file, Some(number), message, &hint)),
        }
        if problems.len() == MOST_PROBLEMS {
            return Err(problems);
        }
    }
    if let Form::FlowTxt { count } = reader
        && problems.is_empty()
        && count != flows.len()
    {
        let message = format!("its first line says {count} flows, and {} follow", flows.len());
        problems.push(problem(file, Some(number), message, "is the file cut short?"));
    }
    if problems.is_empty() { Ok(flows) } else { Err(problems) }
}

const HEADING_HINT: &str =
    "a trace begins with a heading such as `start_ns,from,to,bytes`, or with a number of flows";

/// Writes flows as a table that [`parse`] reads back to the same, to the picosecond.
pub fn write<'a>(
    flows: impl IntoIterator<Item = (ListedFlow, Priority)>,
    name: impl Fn(HostId) -> &'a str,
) -> String {
    let mut text = String::from("start_ns,from,to,bytes,priority\n");
    for (flow, priority) in flows {
        let (ns, ps) = (flow.start.ps() / 1000, flow.start.ps() % 1000);
        let fraction = if ps == 0 { String::new() } else { format!(".{ps:03}") };
        let (from, to, size) = (name(flow.from), name(flow.to), flow.size.get());
        writeln!(text, "{ns}{fraction},{from},{to},{size},{priority}").expect("a text takes all");
    }
    text
}

enum Form {
    Table(Columns),
    FlowTxt { count: usize },
}

/// Where a table has what.
struct Columns {
    start: (usize, &'static str),
    from: usize,
    to: usize,
    bytes: usize,
    priority: Option<usize>,
    count: usize,
}

impl Columns {
    fn of(heading: &str) -> Result<Columns, String> {
        let names: Vec<&str> = heading.split(',').map(str::trim).collect();
        let find = |name: &str| names.iter().position(|it| *it == name);
        let must = |name: &str| find(name).ok_or_else(|| format!("the heading has no column `{name}`"));
        let starts = ["s", "ms", "us", "ns", "ps"].into_iter();
        let start = starts.filter_map(|unit| Some((find(&format!("start_{unit}"))?, unit))).next();
        Ok(Columns {
            start: start.ok_or("the heading has no column such as `start_ns`")?,
            from: must("from")?,
            to: must("to")?,
            bytes: must("bytes")?,
            priority: find("priority"),
            count: names.len(),
        })
    }
}

impl Form {
    fn flow(
        &self,
        line: &str,
        host: &impl Fn(&str) -> Option<HostId>,
    ) -> Result<(ListedFlow, Option<Priority>), (String, String)> {
        match self {
            Form::Table(columns) => {
                let cells: Vec<&str> = line.split(',').map(str::trim).collect();
                if cells.len() != columns.count {
                    let message = format!("{} columns, where the heading has {}", cells.len(), columns.count);
                    return Err((message, "a flow is one line".to_owned()));
                }
                let (start, unit) = columns.start;
                let priority = columns.priority.map(|it| cells[it]);
                let [from, to] = [cells[columns.from], cells[columns.to]];
                make(&format!("{}{unit}", cells[start]), [from, to], cells[columns.bytes], priority, host)
            }
            Form::FlowTxt { .. } => {
                let [from, to, priority, _port, bytes, start] =
                    line.split_whitespace().collect::<Vec<_>>()[..]
                else {
                    let hint = "a line is `src dst priority port bytes start`".to_owned();
                    return Err((format!("`{line}` is not six numbers"), hint));
                };
                let [from, to] = [from, to].map(|number| format!("h{number}"));
                make(&format!("{start}s"), [&from, &to], bytes, Some(priority), host)
            }
        }
    }
}

fn make(
    start: &str,
    [from, to]: [&str; 2],
    bytes: &str,
    priority: Option<&str>,
    host: &impl Fn(&str) -> Option<HostId>,
) -> Result<(ListedFlow, Option<Priority>), (String, String)> {
    let start = units::time(start).map_err(|error| {
        let (message, hint) = error.explain(units::Kind::Time);
        (format!("a start of `{start}`: {message}"), hint.unwrap_or_default())
    })?;
    let whose = |name: &str| {
        let hint = "hosts are those of the topology, by their names; number 3 of a `flow.txt` is `h3`";
        host(name).ok_or_else(|| (format!("there is no host `{name}`"), hint.to_owned()))
    };
    let (sender, receiver) = (whose(from)?, whose(to)?);
    if sender == receiver {
        return Err((format!("`{from}` would send to itself"), "a flow has two ends".to_owned()));
    }
    let size = bytes.parse::<u64>().ok().filter(|size| *size > 0);
    let size = size
        .ok_or_else(|| (format!("a size of `{bytes}`"), "sizes are whole octets, one or more".to_owned()))?;
    let priority = match priority {
        None => None,
        Some(text) => Some(
            text.parse()
                .ok()
                .and_then(Priority::new)
                .ok_or_else(|| (format!("a priority of `{text}`"), "priorities are 0 to 7".to_owned()))?,
        ),
    };
    let start = Instant::from_ps(start.ps());
    Ok((ListedFlow { start, from: sender, to: receiver, size: Bytes::new(size) }, priority))
}

fn problem(file: &str, line: Option<u32>, message: String, hint: &str) -> Problem {
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    Problem { file: file.to_owned(), line, message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(name: &str) -> Option<HostId> {
        name.strip_prefix('h')?.parse().ok().filter(|id| *id < 64).map(HostId)
    }

    fn wrong(text: &str) -> String {
        let problems = parse("flows.csv", text, host).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_table_is_read_by_its_heading() {
        let text = "# two flows\nfrom,bytes,to,start_us\n\nh1,1000,h2,1.5\nh3,1,h1,0\n";
        let flows = parse("flows.csv", text, host).unwrap();
        let first = ListedFlow {
            start: Instant::from_ps(1_500_000),
            from: HostId(1),
            to: HostId(2),
            size: Bytes::new(1000),
        };
        assert_eq!(flows[0], TracedFlow { flow: first, priority: None, line: 4 });
        assert_eq!(flows.len(), 2);
    }

    #[test]
    fn the_flow_list_of_another_simulator_is_read_whole() {
        let text = include_str!("../../../../scenarios/data/hpcc/w4_fbhdp.flow.txt");
        let flows = parse("w4_fbhdp.flow.txt", text, host).unwrap();
        assert_eq!(flows.len(), 32_972);
        let TracedFlow { flow, priority, .. } = flows[0];
        assert_eq!((flow.from, flow.to, flow.size.get()), (HostId(0), HostId(7), 497));
        assert_eq!(flow.start, Instant::from_ps(2_000_000_013_000));
        assert_eq!(priority, Priority::new(3));
        // 64 hosts of 100 Gb/s for 10 ms: the load that the run states.
        let octets: u64 = flows.iter().map(|it| it.flow.size.get()).sum();
        let load = octets as f64 * 8.0 / (64.0 * 100e9 * 0.01);
        assert!((load - 0.51).abs() < 0.01, "{load}");
    }

    #[test]
    fn what_is_wrong_is_told_by_line() {
        let heading = "start_ns,from,to,bytes\n";
        assert_eq!(
            wrong(&format!("{heading}1,h1,h99,10\n1,h1,h2,-5\n1,h3,h3,5\n")),
            "flows.csv:2: there is no host `h99`\nhint: hosts are those of the topology, by their names; number 3 of a \
             `flow.txt` is `h3`\nflows.csv:3: a size of `-5`\nhint: sizes are whole octets, one or more\nflows.csv:4: \
             `h3` would send to itself\nhint: a flow has two ends"
        );
        assert!(wrong("from,to,bytes\n").contains("no column such as `start_ns`"));
        assert!(wrong(&format!("{heading}1,h1,h2\n")).contains("3 columns, where the heading has 4"));
        assert!(wrong(&format!("{heading}-1,h1,h2,3\n")).contains("flows.csv:2: a start of `-1ns`"));
        assert!(wrong("").contains("there is no flow in it"));
        assert!(wrong("2\n1 2 3 100 10 0.5\n").contains("says 2 flows, and 1 follow"));
        assert!(wrong("1\n1 2 9 100 10 0.5\n").contains("a priority of `9`"));
        assert!(wrong("1\n1 2 3 100 10\n").contains("is not six numbers"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            flows in prop::collection::vec((0u64..1 << 50, 0u32..64, 1u32..64, 1u64.., 0u8..8), 0..50),
        ) {
            let flows: Vec<_> = flows
                .into_iter()
                .map(|(start, from, on, size, priority)| {
                    let (from, to) = (HostId(from), HostId((from + on) % 64));
                    let flow = ListedFlow { start: Instant::from_ps(start), from, to, size: Bytes::new(size) };
                    (flow, Priority::new(priority).unwrap())
                })
                .collect();
            let names: Vec<String> = (0..64).map(|id| format!("h{id}")).collect();
            let text = write(flows.iter().copied(), |host| &names[host.0 as usize]);
            let read = parse("flows.csv", &text, host).unwrap();
            let read: Vec<_> = read.into_iter().map(|it| (it.flow, it.priority.unwrap())).collect();
            prop_assert_eq!(read, flows);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-z,#.\\- \n]{0,200}") {
            let _ = parse("flows.csv", &text, host);
        }
    }
}
