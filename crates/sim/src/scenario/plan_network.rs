//! `[topology]`: from its keys to nodes and links.

use super::plan::{HostId, NodeId, SwitchId, TieBreak};
use super::plan_checks::unread_in_form;
use super::problem::{Log, suggest};
use super::section::{MOST_NODES, Section};
use super::value::Origin;
use crate::topology::{self, Cells, Dragonfly, Line, Network, Rack, Spec};
use quell_proto::units::{Duration, Rate};
use std::collections::BTreeMap;

/// The nodes of a network by name.
pub(crate) type Names<'a> = BTreeMap<&'a str, NodeId>;

/// Finds a file that a scenario names.
pub(crate) type Files<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The text of a file that a key names, or the complaint that there is none.
pub(crate) fn file(
    section: &Section,
    key: &'static str,
    name: &str,
    files: Files<'_>,
    log: &mut Log,
) -> Option<String> {
    let text = files(name);
    if text.is_none() {
        let path = section.path_of(key);
        log.wrong(section.origin_of(key), format!("`{path}` names `{name}`, which cannot be read"))
            .hint("the name is relative to this file, or that of a built-in file such as `data/cdf/websearch_dctcp.csv`");
    }
    text
}

/// The network that the section describes; `links` are its `[[topology.links]]`.
pub(crate) fn network(
    section: &Section,
    links: &[Section],
    files: Files<'_>,
    log: &mut Log,
) -> Option<Network> {
    // What was wrong with a link is in the log; go on with another, to find what else is wrong.
    let link = Line {
        rate: section.rate("link.rate").unwrap_or(Rate::from_gbps(10)),
        delay: section.time("link.delay").unwrap_or(Duration::from_us(1)),
    };
    let trunk = Line {
        rate: section.rate("trunk.rate").unwrap_or(link.rate),
        delay: section.time("trunk.delay").unwrap_or(link.delay),
    };
    let spec = spec(section, links, link, files, log)?;
    let network = spec.build(link, trunk);
    sound(&network, section, log).then_some(network)
}

/// How switches choose among equally short paths.
pub(crate) fn tie_break(section: &Section) -> Option<TieBreak> {
    Some(match section.text("routing")? {
        "hash" => TieBreak::Hash,
        "first" => TieBreak::First,
        _ => TieBreak::Destination,
    })
}

/// Every node of the network by its name.
pub(crate) fn by_name(network: &Network) -> Names<'_> {
    let hosts = network.hosts.iter().zip(0..).map(|(name, id)| (name.as_str(), NodeId::Host(HostId(id))));
    let switches =
        network.switches.iter().zip(0..).map(|(name, id)| (name.as_str(), NodeId::Switch(SwitchId(id))));
    hosts.chain(switches).collect()
}

fn spec(section: &Section, links: &[Section], link: Line, files: Files<'_>, log: &mut Log) -> Option<Spec> {
    Some(match section.text("kind")? {
        "star" => {
            let names = section.names("hosts").map(<[String]>::to_vec);
            Spec::Star { hosts: names.or_else(|| Some(numbered(1, section.count("hosts")?)))? }
        }
        "chain" => Spec::Chain { hosts: groups(section, "switches", log)? },
        "tree" => Spec::Tree { hosts: groups(section, "switches", log)? },
        "clos" => Spec::Clos {
            hosts: groups(section, "leaves", log)?,
            spines: u32::try_from(section.count("spines")?).ok()?,
        },
        "file" => {
            let name = section.text("file")?;
            let text = file(section, "file", name, files, log)?;
            match topology::file::parse(name, &text) {
                Ok(spec) => spec,
                Err(problems) => {
                    log.note(problems);
                    return None;
                }
            }
        }
        "fat-tree" => {
            let k = section.count("k")?;
            if k % 2 == 1 {
                log.wrong(
                    section.origin_of("k"),
                    format!("`{}` is {k}, an odd number", section.path_of("k")),
                )
                .hint("half of a switch's ports lead up and half down");
                return None;
            }
            Spec::FatTree { k: u32::try_from(k).ok()? }
        }
        "n-tree" => {
            let (arity, levels) = (section.count("arity")?, section.count("levels")?);
            let hosts = arity.checked_pow(u32::try_from(levels).ok()?).unwrap_or(u64::MAX);
            if hosts > MOST_NODES {
                let message = format!("{levels} levels of {arity} ports down have {hosts} hosts");
                log.wrong(section.origin_of("levels"), message)
                    .hint(format!("a network has at most {MOST_NODES} of them"));
                return None;
            }
            Spec::NTree { arity: u32::try_from(arity).ok()?, levels: u32::try_from(levels).ok()? }
        }
        "rack" => Spec::Rack(rack(section, link, log)?),
        "dragonfly" => Spec::Dragonfly(dragonfly(section, link, log)?),
        _ => graph(section, links, link, log)?,
    })
}

/// A rack whose parts can work together.
fn rack(section: &Section, link: Line, log: &mut Log) -> Option<Rack> {
    let count = |key| section.count(key).and_then(|count| u32::try_from(count).ok());
    let (racks, each, ports) = (count("racks")?, count("leaves")?, count("ports")?);
    let (spines, spine_ports) = (count("spines")?, count("spine_ports")?);
    let uplink = line(section, ["uplink.rate", "uplink.delay"])?;
    let before = log.problems.len();
    let cells = cells(section, ["spine.input_buffer", "spine.output_buffer", "spine.latency"], log)?;
    let leaves = racks * each;
    if leaves > spine_ports {
        let message = format!(
            "{} of {} are {}, and a spine has {} for them",
            so_many(racks, "rack", "racks"),
            so_many(each, "leaf", "leaves"),
            so_many(leaves, "leaf", "leaves"),
            so_many(spine_ports, "port", "ports")
        );
        let stated = ["racks", "leaves"].into_iter().find(|key| section.is_stated(key));
        log.wrong(section.origin_of(stated.unwrap_or("spine_ports")), message)
            .hint("every leaf takes a port of every spine: state more `spine_ports`, or fewer leaves");
    }
    few_enough(section, "leaves", leaves, ports, log);
    let servers = u128::from(link.rate.bps()) * u128::from(ports);
    if spines == 0 {
        let message = format!(
            "`{}` is 0: a leaf takes in {} by {} and has no way to pass them on",
            section.path_of("spines"),
            for_people(servers),
            so_many(ports, "port", "ports")
        );
        let needed = uplinks_for(servers, &cells, uplink.rate);
        log.wrong(section.origin_of("spines"), message)
            .hint(format!("{needed} uplinks of {} carry as much", uplink.rate));
    } else {
        oversubscribed(section, &cells, (ports, link.rate), (spines, uplink.rate), log);
    }
    if log.problems.len() > before {
        return None;
    }
    let hosts = rack_hosts(section, leaves, ports, log)?;
    let cells = (section.text("form")? == "cells").then_some(cells);
    if cells.is_none() {
        for key in OF_CELLS.into_iter().filter(|key| section.is_stated(key)) {
            let hint = "one switch has no cells: what it takes to cross is `switch.output.latency`";
            unread_in_form(section, key, section, hint.to_owned(), log);
        }
    }
    Some(Rack { hosts, spines, uplink, cells })
}

/// What only cells need to know of a rack.
const OF_CELLS: [&str; 9] = [
    "uplink.rate",
    "uplink.delay",
    "cell",
    "header",
    "spine.input_buffer",
    "spine.output_buffer",
    "spine.latency",
    "request_latency",
    "grant_latency",
];

/// The hosts of each leaf: all there is room for, or those named, one a leaf in turn.
fn rack_hosts(section: &Section, leaves: u32, ports: u32, log: &mut Log) -> Option<Vec<Vec<String>>> {
    let Some(names) = section.names("hosts") else { return Some(everywhere(leaves, ports)) };
    let room = leaves as usize * ports as usize;
    if names.len() > room {
        let message = format!(
            "`{}` names {} hosts, and there is room for {room}: {} with {} each",
            section.path_of("hosts"),
            names.len(),
            so_many(leaves, "leaf", "leaves"),
            so_many(ports, "port", "ports")
        );
        log.wrong(section.origin_of("hosts"), message);
        return None;
    }
    let mut hosts = vec![Vec::new(); leaves as usize];
    for (name, place) in names.iter().zip((0..hosts.len()).cycle()) {
        hosts[place].push(name.clone());
    }
    Some(hosts)
}

/// A host on every port: `h1` and so on, leaf by leaf.
fn everywhere(leaves: u32, ports: u32) -> Vec<Vec<String>> {
    (0..u64::from(leaves)).map(|leaf| numbered(1 + leaf * u64::from(ports), u64::from(ports))).collect()
}

/// Inputs of a fabric are numbered in 16 bits.
const MOST_FABRIC_INPUTS: u64 = 65_535;

fn few_enough(section: &Section, key: &'static str, leaves: u32, ports: u32, log: &mut Log) {
    let hosts = u64::from(leaves) * u64::from(ports);
    if hosts + u64::from(leaves) > MOST_FABRIC_INPUTS {
        let message = format!("{leaves} leaves with {ports} ports each are {hosts} hosts");
        log.wrong(section.origin_of(key), message)
            .hint(format!("hosts and leaves of a fabric are at most {MOST_FABRIC_INPUTS} together"));
    }
}

/// A Dragonfly whose parts can work together. That it blocks between routers is what it is for.
fn dragonfly(section: &Section, link: Line, log: &mut Log) -> Option<Dragonfly> {
    let count = |key| section.count(key).and_then(|count| u32::try_from(count).ok());
    let before = log.problems.len();
    let (groups, routers, ports) = (count("groups")?, count("routers")?, count("ports")?);
    let parts = Dragonfly {
        groups,
        routers,
        hosts: Vec::new(),
        uplink: line(section, ["uplink.rate", "uplink.delay"])?,
        local: line(section, ["local.rate", "local.delay"])?,
        global: line(section, ["global.rate", "global.delay"])?,
        cells: cells(section, ["router.input_buffer", "router.output_buffer", "router.latency"], log)?,
    };
    few_enough(section, "groups", groups * routers, ports, log);
    let servers = u128::from(link.rate.bps()) * u128::from(ports);
    if u128::from(parts.uplink.rate.bps()) < servers {
        let message = format!(
            "a leaf blocks: it takes in {} by {} and has one uplink of {}",
            for_people(servers),
            so_many(ports, "port", "ports"),
            parts.uplink.rate
        );
        log.warn(section.origin_of("uplink.rate"), message, "what is to block are the links between routers");
    }
    (log.problems.len() == before).then(|| Dragonfly { hosts: everywhere(groups * routers, ports), ..parts })
}

fn line(section: &Section, [rate, delay]: [&'static str; 2]) -> Option<Line> {
    Some(Line { rate: section.rate(rate)?, delay: section.time(delay)? })
}

/// The cells of a fabric, which must fit the buffers they pass.
fn cells(section: &Section, [input, output, latency]: [&'static str; 3], log: &mut Log) -> Option<Cells> {
    let cells = Cells {
        payload: section.size("cell")?,
        header: section.size("header")?,
        input_buffer: section.size(input)?,
        output_buffer: section.size(output)?,
        router_latency: section.time(latency)?,
        request_latency: section.time("request_latency")?,
        grant_latency: section.time("grant_latency")?,
    };
    let cell = cells.payload + cells.header;
    for (key, buffer) in [(input, cells.input_buffer), (output, cells.output_buffer)] {
        if cell > buffer {
            let message = format!(
                "`{}` is {buffer}, and a cell of {} and its header of {} are {cell}",
                section.path_of(key),
                cells.payload,
                cells.header
            );
            log.wrong(section.origin_of(key), message).hint("no full cell would ever fit");
        }
    }
    Some(cells)
}

/// Uplinks that carry less than the server ports bring in: allowed, and no longer free of blocking.
fn oversubscribed(
    section: &Section,
    cells: &Cells,
    (ports, port): (u32, Rate),
    (uplinks, uplink): (u32, Rate),
    log: &mut Log,
) {
    let servers = u128::from(port.bps()) * u128::from(ports);
    let whole = u128::from((cells.payload + cells.header).get());
    let carried = u128::from(uplink.bps()) * u128::from(uplinks) * u128::from(cells.payload.get()) / whole;
    if carried < servers {
        let thousandths = (carried * 1000 + servers / 2) / servers;
        let message = format!(
            "the fabric blocks: a leaf takes in {} by {} and passes on {} by {}, headers of cells left out, {}.{}%",
            for_people(servers),
            so_many(ports, "port", "ports"),
            for_people(carried),
            so_many(uplinks, "uplink", "uplinks"),
            thousandths / 10,
            thousandths % 10
        );
        let needed = uplinks_for(servers, cells, uplink);
        log.warn(section.origin_of("spines"), message, format!("{needed} uplinks of {uplink} do not block"));
    }
}

/// How many uplinks carry so much besides the headers of cells.
fn uplinks_for(servers: u128, cells: &Cells, uplink: Rate) -> u128 {
    let whole = u128::from((cells.payload + cells.header).get());
    (servers * whole).div_ceil(u128::from(uplink.bps()) * u128::from(cells.payload.get()))
}

fn so_many(count: u32, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// A rate for people, rounded to a tenth of the larger unit that fits.
fn for_people(bps: u128) -> String {
    let (unit, name) = if bps < 1_000_000_000 { (1_000_000, "Mb/s") } else { (1_000_000_000, "Gb/s") };
    let tenths = (bps * 10 + unit / 2) / unit;
    match tenths % 10 {
        0 => format!("{}{name}", tenths / 10),
        rest => format!("{}.{rest}{name}", tenths / 10),
    }
}

fn numbered(first: u64, count: u64) -> Vec<String> {
    (first..first + count).map(|number| format!("h{number}")).collect()
}

/// The hosts of each switch: as listed, or so many each.
fn groups(section: &Section, count: &'static str, log: &mut Log) -> Option<Vec<Vec<String>>> {
    let switches = section.count(count);
    if let Some(each) = section.count("hosts") {
        let Some(switches) = switches else {
            log.wrong(
                section.origin_of("hosts"),
                format!("`{}` is {each} hosts a switch, of an unknown number", section.path_of("hosts")),
            )
            .hint(format!("state `{count}`, or list the hosts of each switch by name"));
            return None;
        };
        if each * switches > MOST_NODES {
            let message = format!("{switches} switches with {each} hosts each are {} hosts", each * switches);
            log.wrong(section.origin_of("hosts"), message).hint(format!("at most {MOST_NODES} can be run"));
            return None;
        }
        return Some((0..switches).map(|switch| numbered(1 + switch * each, each)).collect());
    }
    let groups = section.groups("hosts")?;
    if let Some(switches) = switches
        && switches != groups.len() as u64
    {
        let message = format!("`{}` is {switches}", section.path_of(count));
        let message = format!("{message}, but `hosts` lists those of {} switches", groups.len());
        log.wrong(section.origin_of(count), message).hint(format!("leave `{count}` out"));
        return None;
    }
    Some(groups.to_vec())
}

fn graph(section: &Section, links: &[Section], link: Line, log: &mut Log) -> Option<Spec> {
    let hosts = section.names("hosts")?.to_vec();
    let switches = section.names("switches")?.to_vec();
    let network = Network { hosts: hosts.clone(), switches: switches.clone(), ..Network::default() };
    let known = by_name(&network);
    let mut joined = Vec::new();
    for part in links {
        let rate = part.rate("rate").unwrap_or(link.rate);
        let delay = part.time("delay").unwrap_or(link.delay);
        let Some(ends) = part.names("ends") else { continue };
        let origin = part.origin_of("ends");
        let [a, b] = ends else {
            log.wrong(origin, format!("`{}` has {} ends, not two", part.path, ends.len()));
            continue;
        };
        if a == b {
            log.wrong(origin, format!("`{}` joins `{a}` to itself", part.path));
            continue;
        }
        let (Some(a), Some(b)) = (node(a, &known, origin, log), node(b, &known, origin, log)) else {
            continue;
        };
        joined.push(([a, b], Line { rate, delay }));
    }
    (joined.len() == links.len()).then_some(Spec::Graph { hosts, switches, links: joined })
}

/// The node of this name, or the complaint that there is none.
pub(crate) fn node(name: &str, known: &Names<'_>, origin: &Origin, log: &mut Log) -> Option<NodeId> {
    let found = known.get(name).copied();
    if found.is_none() {
        log.wrong(origin, format!("there is no node `{name}`"));
        if let Some(hint) = suggest(name, known.keys().copied(), "the nodes are") {
            log.hint(hint);
        }
    }
    found
}

/// Ports of a switch are numbered in 16 bits.
const MOST_PORTS: u32 = 65_535;

/// Names are usable and unique, a host has one link, and there is a way from everywhere to everywhere.
fn sound(network: &Network, section: &Section, log: &mut Log) -> bool {
    let before = log.problems.len();
    let origin = section.origin_of("hosts");
    let mut seen = BTreeMap::new();
    for name in network.hosts.iter().chain(&network.switches) {
        if !name.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter)) || name.is_empty() {
            log.wrong(origin, format!("`{name}` cannot name a node"))
                .hint("names are made of letters, digits, `_` and `-`");
        }
        if seen.insert(name.as_str(), ()).is_some() {
            log.wrong(origin, format!("two nodes are named `{name}`"));
        }
    }
    if network.hosts.is_empty() {
        log.wrong(origin, "there is no host");
    }
    if network.hosts.len() + network.switches.len() > usize::try_from(MOST_NODES).unwrap_or(usize::MAX) {
        log.wrong(origin, format!("more than {MOST_NODES} nodes"));
    }
    if log.problems.len() > before {
        return false;
    }
    let mut links = vec![0u32; network.hosts.len()];
    let mut ports = vec![0u32; network.switches.len()];
    for end in network.links.iter().flat_map(|link| link.ends) {
        match end {
            NodeId::Host(host) => links[host.0 as usize] += 1,
            NodeId::Switch(switch) => ports[switch.0 as usize] += 1,
        }
    }
    for (name, count) in network.switches.iter().zip(ports).filter(|(_, count)| *count > MOST_PORTS) {
        log.wrong(origin, format!("the switch `{name}` has {count} links"))
            .hint(format!("a switch has at most {MOST_PORTS}"));
    }
    for (name, count) in network.hosts.iter().zip(links).filter(|(_, count)| *count != 1) {
        let how = if count == 0 { "no link".to_owned() } else { format!("{count} links") };
        log.wrong(section.origin_of("links"), format!("the host `{name}` has {how}"))
            .hint("a host has exactly one link; what forwards is a switch");
    }
    if log.problems.len() == before
        && network.fabric.is_none()
        && let Some((here, there)) = apart(network)
    {
        log.wrong(section.origin_of("links"), format!("there is no way from `{here}` to `{there}`"))
            .hint("the network must be connected");
    }
    log.problems.len() == before
}

/// Two nodes that no path joins, if there are any.
fn apart(network: &Network) -> Option<(&str, &str)> {
    let hosts = network.hosts.len();
    let index = |node: NodeId| match node {
        NodeId::Host(host) => host.0 as usize,
        NodeId::Switch(switch) => hosts + switch.0 as usize,
    };
    let name = |index: usize| {
        if index < hosts { network.hosts[index].as_str() } else { network.switches[index - hosts].as_str() }
    };
    let mut neighbours = vec![Vec::new(); hosts + network.switches.len()];
    for link in &network.links {
        let [a, b] = link.ends.map(index);
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut reached = vec![false; neighbours.len()];
    let mut queue = vec![0];
    reached[0] = true;
    while let Some(node) = queue.pop() {
        for &next in &neighbours[node] {
            if !std::mem::replace(&mut reached[next], true) {
                queue.push(next);
            }
        }
    }
    let missed = reached.iter().position(|reached| !reached)?;
    Some((name(0), name(missed)))
}
