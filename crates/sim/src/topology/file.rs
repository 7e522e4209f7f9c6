//! The `topology.txt` of the HPCC simulator and its relatives.

use super::{Line, Spec};
use crate::scenario::Problem;
use crate::scenario::plan::{HostId, NodeId, SwitchId};
use crate::scenario::units;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a network, or says what is wrong with it.
///
/// The first line has the numbers of nodes, switches and links; the second names the switches by number; each line after
/// that is a link, `a b rate delay error`, such as `0 64 100Gbps 1000ns 0`. Node 7 is called `h7` if it is a host and
/// `s7` if it is a switch. Links that lose frames at random are refused: there are none here.
pub fn parse(file: &str, text: &str) -> Result<Spec, Vec<Problem>> {
    let mut reader = Reader { file, problems: Vec::new() };
    let spec = reader.read(text);
    match spec {
        Some(spec) if reader.problems.is_empty() => Ok(spec),
        _ => Err(reader.problems),
    }
}

struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
}

/// No such file has more; a larger one is something else.
const MOST_NODES: u64 = 100_000;

impl Reader<'_> {
    fn read(&mut self, text: &str) -> Option<Spec> {
        let mut lines =
            text.lines().zip(1..).map(|(line, number)| (number, line.split_whitespace().collect::<Vec<_>>()));
        let mut next = || lines.find(|(_, words)| !words.is_empty());
        let Some((first, counts)) = next() else {
            self.wrong(
                None,
                "there is no network in it",
                "it begins with the numbers of nodes, switches and links",
            );
            return None;
        };
        let [Some(nodes), Some(switch_count), Some(link_count)] =
            counts.iter().map(|it| it.parse::<u64>().ok()).collect::<Vec<_>>()[..]
        else {
            let hint = "such as `80 16 128`: nodes, switches and links";
            self.wrong(Some(first), format!("`{}` is not three numbers", counts.join(" ")), hint);
            return None;
        };
        if nodes > MOST_NODES {
            self.wrong(Some(first), format!("{nodes} nodes"), &format!("at most {MOST_NODES} can be run"));
            return None;
        }
        let switches = if switch_count == 0 {
            BTreeSet::new()
        } else {
            let (number, words) = next().unwrap_or((first, Vec::new()));
            let ids: BTreeSet<u64> =
                words.iter().filter_map(|it| it.parse().ok()).filter(|id| *id < nodes).collect();
            if ids.len() as u64 != switch_count || words.len() != ids.len() {
                let message = format!("it names {} switches, and there are to be {switch_count}", ids.len());
                self.wrong(
                    Some(number),
                    message,
                    &format!("each by its number, 0 to {}, once", nodes.saturating_sub(1)),
                );
                return None;
            }
            ids
        };
        let mut known = BTreeMap::new();
        let (mut hosts, mut switch_names) = (Vec::new(), Vec::new());
        for id in 0..nodes {
            let node = if switches.contains(&id) {
                switch_names.push(format!("s{id}"));
                NodeId::Switch(SwitchId(u32::try_from(switch_names.len() - 1).ok()?))
            } else {
                hosts.push(format!("h{id}"));
                NodeId::Host(HostId(u32::try_from(hosts.len() - 1).ok()?))
            };
            known.insert(id, node);
        }
        let mut links = Vec::new();
        while let Some((number, words)) = next() {
            match link(&words, &known) {
                Ok(link) => links.push(link),
                Err((message, hint)) => self.wrong(Some(number), message, &hint),
            }
        }
        if self.problems.is_empty() && links.len() as u64 != link_count {
            let message = format!("its first line says {link_count} links, and {} follow", links.len());
            let hint = match links.len() as u64 > link_count {
                true => "the third number of that line counts them",
                false => "is the file cut short?",
            };
            self.wrong(Some(first), message, hint);
        }
        Some(Spec::Graph { hosts, switches: switch_names, links })
    }

    fn wrong(&mut self, line: Option<u32>, message: impl Into<String>, hint: &str) {
        /// More tell nobody anything.
        const MOST: usize = 20;
        if self.problems.len() < MOST {
            let (file, hint) = (self.file.to_owned(), Some(hint.to_owned()));
            self.problems.push(Problem { file, line, message: message.into(), hint });
        }
    }
}

fn link(words: &[&str], known: &BTreeMap<u64, NodeId>) -> Result<([NodeId; 2], Line), (String, String)> {
    let &[a, b, rate, delay, error] = words else {
        let message = format!("`{}` is no link", words.join(" "));
        return Err((
            message,
            "a link is `a b rate delay error`, such as `0 64 100Gbps 1000ns 0`".to_owned(),
        ));
    };
    let node = |name: &str| {
        let found = name.parse().ok().and_then(|id: u64| known.get(&id).copied());
        found.ok_or_else(|| {
            (format!("there is no node {name}"), format!("nodes are 0 to {}", known.len().max(1) - 1))
        })
    };
    let ends = [node(a)?, node(b)?];
    if ends[0] == ends[1] {
        return Err((format!("it joins {a} to itself"), "a link has two ends".to_owned()));
    }
    let explained = |what: &str, kind, error: units::UnitError| {
        let (message, hint) = error.explain(kind);
        (format!("{what}: {message}"), hint.unwrap_or_default())
    };
    // Its `Gbps` is our `Gb/s`.
    let words = rate.strip_suffix("bps").map_or_else(|| rate.to_owned(), |number| format!("{number}b/s"));
    let rate =
        units::rate(&words).map_err(|it| explained(&format!("a rate of `{rate}`"), units::Kind::Rate, it))?;
    let delay = units::time(delay)
        .map_err(|it| explained(&format!("a delay of `{delay}`"), units::Kind::Time, it))?;
    if rate.bps() == 0 || delay.ps() == 0 {
        return Err(("a link of no rate, or of no delay".to_owned(), "both are more than zero".to_owned()));
    }
    if !error.chars().all(|it| it == '0' || it == '.') {
        let hint = "frames are lost for want of room only, or by a link that fails; write 0".to_owned();
        return Err((format!("an error rate of `{error}`"), hint));
    }
    Ok((ends, Line { rate, delay }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quell_proto::units::{Duration, Rate};

    fn wrong(text: &str) -> String {
        let problems = parse("topology.txt", text).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_network_of_another_simulator_is_read_whole() {
        let text = include_str!("../../../../scenarios/data/hpcc/w4.topology.txt");
        let Spec::Graph { hosts, switches, links } = parse("w4.topology.txt", text).unwrap() else {
            panic!("not a graph");
        };
        assert_eq!((hosts.len(), switches.len(), links.len()), (64, 16, 128));
        assert_eq!((hosts[63].as_str(), switches[0].as_str()), ("h63", "s64"));
        let line = Line { rate: Rate::from_gbps(100), delay: Duration::from_us(1) };
        assert_eq!(links[0], ([NodeId::Host(HostId(0)), NodeId::Switch(SwitchId(0))], line));
        assert!(links.iter().all(|(_, it)| *it == line));
    }

    #[test]
    fn what_is_wrong_is_told_by_line() {
        assert!(wrong("").contains("there is no network in it"));
        assert!(wrong("3 1\n").contains("topology.txt:1: `3 1` is not three numbers"));
        assert!(wrong("3 1 0\n7\n").contains("topology.txt:2: it names 0 switches, and there are to be 1"));
        let links = |line: &str| wrong(&format!("3 1 2\n2\n0 2 10Gbps 1us 0\n{line}\n"));
        assert!(links("1 9 10Gbps 1us 0").contains("topology.txt:4: there is no node 9"));
        assert!(links("1 1 10Gbps 1us 0").contains("it joins 1 to itself"));
        assert!(links("1 2 10Gbqs 1us 0").contains("a rate of `10Gbqs`"));
        assert!(links("1 2 10Gbps 1 0").contains("a delay of `1`"));
        assert!(links("1 2 10Gbps 1us 0.01").contains("an error rate of `0.01`"));
        assert!(links("1 2 10Gbps").contains("`1 2 10Gbps` is no link"));
        assert!(links("").contains("says 2 links, and 1 follow\nhint: is the file cut short?"));
        let more = links("1 2 10Gbps 1us 0\n1 2 10Gbps 1us 0");
        assert!(more.contains("says 2 links, and 3 follow\nhint: the third number"), "{more}");
        assert!(links("1 2 10Gb 1us 0").contains("hint: write Gb/s"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9Gbps \n]{0,200}") {
            let _ = parse("topology.txt", &text);
        }
    }
}
