//! `[[traffic]]`: from its keys to flows and sources.

use super::keys::MOST_TIME;
use super::plan::{Flow, FlowId, HostId, NodeId, Pattern, Source};
use super::plan_network::{Files, Names};
use super::problem::{Log, suggest};
use super::redraw::{Recipe, Redraw, What};
use super::section::Section;
use crate::model::stream;
use crate::topology::Network;
use crate::traffic::flows;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use std::collections::BTreeMap;

/// More flows than this would not fit the memory of the machines this runs on.
pub(crate) const MOST_FLOWS: usize = 1_000_000;

/// What `[[traffic]]` makes, while it is being made.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: Vec<Flow>,
    pub(crate) sources: Vec<Source>,
    /// How often each pair has been named, to tell its flows apart.
    taken: BTreeMap<String, u32>,
    /// What each seed draws for itself, and the flows that stand for it here.
    pub(crate) recipes: Vec<Recipe>,
    pub(crate) redrawn: Vec<std::ops::Range<usize>>,
}

/// What all traffic of a run has in common.
pub(crate) struct Setting<'a> {
    pub(crate) network: &'a Network,
    pub(crate) names: &'a Names<'a>,
    /// The rate of each host's link.
    pub(crate) lines: &'a [Rate],
    pub(crate) length: Duration,
    pub(crate) overhead: Bytes,
    /// The first seed.
    pub(crate) seed: u64,
    /// Finds a file that the scenario names.
    pub(crate) files: Files<'a>,
}

impl Traffic {
    /// Adds the flows and sources of one `[[traffic]]`.
    pub(crate) fn add(&mut self, section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<()> {
        match section.text("pattern")? {
            "flows" => self.add_drawn(section, setting, log),
            "incasts" => self.add_incasts(section, setting, log),
            "trace" => self.add_trace(section, setting, log),
            "all-reduce" | "all-to-all" => self.add_collective(section, setting, log),
            _ => self.add_framed(section, setting, log),
        }
    }

    /// Adds flows by their ends, with sources that offer frame by frame.
    fn add_framed(&mut self, section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<()> {
        let senders = senders(section, setting, log)?;
        let priorities = Priorities::of(section, log)?;
        let frame = section.size("frame")?;
        let each = section.flag("each")?;
        let multicast = section.flag("multicast")?;
        if multicast && each {
            log.wrong(
                section.origin_of("multicast"),
                format!("`{}` is both `multicast` and `each`", section.path),
            )
            .hint("a multicast has one source for all its receivers");
            return None;
        }
        if multicast
            && setting.network.links.len() >= setting.network.hosts.len() + setting.network.switches.len()
        {
            log.wrong(
                section.origin_of("multicast"),
                "a multicast needs a network without a second way to anywhere",
            )
            .hint("stars, chains and trees have none");
            return None;
        }
        let (start, stop) = life(section, setting, log)?;
        let stagger = section.time("stagger")?;
        let name = section.text("name");
        let mut begun = 0u64;
        let (first_flow, first_source) = (self.flows.len(), self.sources.len());
        let ring =
            (section.names("to")? == ["permutation"]).then(|| flows::ring(setting.lines.len(), setting.seed));
        for from in senders.hosts {
            let receivers = receivers(section, from, senders.all, ring.as_deref(), setting, log)?;
            if self.flows.len() + receivers.len() > MOST_FLOWS {
                log.wrong(&section.origin, format!("`{}` makes more than {MOST_FLOWS} flows", section.path))
                    .hint("name fewer hosts, or let each send to a few");
                return None;
            }
            if multicast && receivers.len() < 2 {
                log.wrong(
                    section.origin_of("to"),
                    format!("`{}` is a multicast to one receiver", section.path),
                )
                .hint("name several, or leave `multicast` out");
                return None;
            }
            let pattern = pattern(section, frame, setting.lines[from.0 as usize], setting.overhead, log)?;
            let mut flows = Vec::new();
            for to in receivers {
                flows.push(FlowId(u32::try_from(self.flows.len()).ok()?));
                let default = || format!("{}->{}", host_name(from, setting), host_name(to, setting));
                let name = match name {
                    Some(name) if multicast => format!("{name}->{}", host_name(to, setting)),
                    Some(name) => name.to_owned(),
                    None => default(),
                };
                let name = self.unique(name);
                self.flows.push(Flow { name, from, to, priority: priorities.towards(to) });
            }
            let sources: Vec<Vec<FlowId>> =
                if each { flows.into_iter().map(|flow| vec![flow]).collect() } else { vec![flows] };
            for flows in sources.into_iter().filter(|flows| !flows.is_empty()) {
                let mut later = u128::from(stagger.ps()) * u128::from(begun);
                if let Some(within) = section.time("stagger_within") {
                    later %= u128::from(within.ps());
                }
                let begins = u128::from(start.ps()) + later;
                begun += 1;
                if begins >= u128::from(stop.ps()) {
                    let message =
                        format!("source {begun} of `{}` would begin when it has ended", section.path);
                    log.wrong(section.origin_of("stagger"), message)
                        .hint("state a shorter `stagger`, or `stagger_within`");
                    return None;
                }
                let start = Instant::from_ps(u64::try_from(begins).ok()?);
                let message = section.size("message");
                self.sources.push(Source {
                    host: from,
                    flows,
                    multicast,
                    frame,
                    pattern,
                    start,
                    stop,
                    message,
                    header: Bytes::ZERO,
                    script: None,
                });
            }
        }
        if let Some(name) = name
            && self.taken.get(name).is_some_and(|&count| count > 1)
        {
            log.wrong(section.origin_of("name"), format!("more than one flow is named `{name}`"))
                .hint("a name is for one flow; leave it out to name flows by their ends");
            return None;
        }
        if ring.is_some() {
            let sources = self.sources[first_source..].to_vec();
            let what = What::Permutation { sources, priorities, name: name.map(str::to_owned) };
            let hosts = (0..u32::try_from(setting.lines.len()).ok()?).map(HostId).collect();
            self.recipes.push(Recipe { hosts, lines: Vec::new(), start, stop, what });
            self.redrawn.push(first_flow..self.flows.len());
        }
        Some(())
    }

    /// Takes up traffic where it was left.
    pub(crate) fn resume(flows: Vec<Flow>, sources: Vec<Source>) -> Traffic {
        let mut taken = BTreeMap::new();
        for flow in &flows {
            *taken.entry(without_number(&flow.name).to_owned()).or_insert(0) += 1;
        }
        Traffic { flows, sources, taken, ..Traffic::default() }
    }

    /// What is not drawn by each seed for itself, and how the rest is. `None` where all is the same.
    pub(crate) fn redraw(&mut self) -> Option<Box<Redraw>> {
        let recipes = std::mem::take(&mut self.recipes);
        if recipes.is_empty() {
            return None;
        }
        let is_drawn = |flow: usize| self.redrawn.iter().any(|range| range.contains(&flow));
        let mut new = vec![None; self.flows.len()];
        let (mut flows, mut names) = (Vec::new(), Traffic::default());
        for (old, flow) in self.flows.iter().enumerate().filter(|(old, _)| !is_drawn(*old)) {
            new[old] = u32::try_from(flows.len()).ok();
            let name = names.unique(without_number(&flow.name).to_owned());
            flows.push(Flow { name, ..flow.clone() });
        }
        let renumbered = |source: &Source| {
            let number = |flow: &FlowId| new[flow.0 as usize].map(FlowId);
            let mut renumbered = source.clone();
            renumbered.flows = source.flows.iter().map(number).collect::<Option<_>>()?;
            if let (Some(script), Some(old)) = (&mut renumbered.script, &source.script) {
                script.after = old.after.iter().map(number).collect::<Option<_>>()?;
            }
            Some(renumbered)
        };
        let sources = self.sources.iter().filter_map(renumbered).collect();
        Some(Box::new(Redraw { flows, sources, recipes }))
    }

    /// Numbers the flows of each host in a row, in the order they have; gives back the old number of each. What a host
    /// knows of its flows is then as long as they are many.
    pub(crate) fn number_by_sender(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        order.sort_by_key(|flow| self.flows[*flow].from);
        let mut new = vec![FlowId(0); order.len()];
        for (number, old) in (0..).zip(&order) {
            new[*old] = FlowId(number);
        }
        self.flows = order.iter().map(|old| self.flows[*old].clone()).collect();
        for source in &mut self.sources {
            let awaited = source.script.iter_mut().flat_map(|script| &mut script.after);
            for flow in source.flows.iter_mut().chain(awaited) {
                *flow = new[flow.0 as usize];
            }
        }
        order
    }

    /// The name, with a number from 2 on if it is taken.
    pub(crate) fn unique(&mut self, name: String) -> String {
        let count = self.taken.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { name } else { format!("{name}#{count}") }
    }
}

/// Which priorities the flows of a `[[traffic]]` have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Priorities {
    all: [Priority; Priority::COUNT],
    count: usize,
}

impl Priorities {
    pub(crate) fn of(section: &Section, log: &mut Log) -> Option<Priorities> {
        let Some(spread) = section.counts("spread") else {
            return Some(Priorities { all: [section.priority("priority")?; Priority::COUNT], count: 1 });
        };
        if spread.is_empty() || spread.len() > Priority::COUNT || section.is_stated("priority") {
            let path = section.path_of("spread");
            let message = match spread.len() {
                0 => format!("`{path}` names no priority"),
                1..=8 => format!("`{}` states both `priority` and `spread`", section.path),
                count => format!("`{path}` names {count} priorities, of eight"),
            };
            log.wrong(section.origin_of("spread"), message)
                .hint("flows have one `priority`, or are spread over several");
            return None;
        }
        let mut all = [Priority::default(); Priority::COUNT];
        for (place, it) in all.iter_mut().zip(spread) {
            *place = u8::try_from(*it).ok().and_then(Priority::new)?;
        }
        Some(Priorities { all, count: spread.len() })
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = Priority> + '_ {
        self.all[..self.count].iter().copied()
    }

    /// That of a flow to this host.
    pub(crate) fn towards(&self, to: HostId) -> Priority {
        let hash = stream::mix(u64::from(to.0) + 1);
        self.all[(hash % self.count as u64) as usize]
    }
}

/// The name that a flow had before it was told apart from another.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((before, number)) if number.parse::<u32>().is_ok_and(|number| number > 1) => before,
        _ => name,
    }
}

pub(crate) struct Senders {
    pub(crate) hosts: Vec<HostId>,
    /// Whether they were named as "all", so that a receiver among them is no mistake.
    all: bool,
}

pub(crate) fn senders(section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<Senders> {
    let names = section.names("from")?;
    if names == ["*"] {
        let hosts = (0..setting.network.hosts.len()).filter_map(|host| u32::try_from(host).ok()).map(HostId);
        return Some(Senders { hosts: hosts.collect(), all: true });
    }
    let hosts: Vec<HostId> =
        names.iter().filter_map(|name| host(section, "from", name, setting, log)).collect();
    if names.is_empty() {
        log.wrong(section.origin_of("from"), format!("`{}` names nobody", section.path_of("from")));
    }
    (hosts.len() == names.len() && !hosts.is_empty()).then_some(Senders { hosts, all: false })
}

fn receivers(
    section: &Section,
    from: HostId,
    all: bool,
    ring: Option<&[HostId]>,
    setting: &Setting<'_>,
    log: &mut Log,
) -> Option<Vec<HostId>> {
    let names = section.names("to")?;
    let count = u32::try_from(setting.network.hosts.len()).ok()?;
    if names == ["any"] {
        let others: Vec<HostId> = (0..count).map(HostId).filter(|to| *to != from).collect();
        if others.is_empty() {
            log.wrong(section.origin_of("to"), "there is no other host to send to");
            return None;
        }
        return Some(others);
    }
    if let Some(ring) = ring {
        if count < 2 {
            log.wrong(section.origin_of("to"), "there is no other host to send to");
            return None;
        }
        return Some(vec![ring[from.0 as usize]]);
    }
    if let [places] = names
        && let Some(places) = places.strip_prefix('+')
    {
        let on = places.parse::<u32>().ok().map(|places| places % count).filter(|places| *places > 0);
        let Some(on) = on else {
            let path = section.path_of("to");
            log.wrong(section.origin_of("to"), format!("`{path}` is `+{places}`: no host is that far on"))
                .hint(format!("there are {count} hosts: write +1 to +{}", count.saturating_sub(1)));
            return None;
        };
        return Some(vec![HostId((from.0 + on) % count)]);
    }
    let mut hosts = Vec::new();
    for name in names {
        let to = host(section, "to", name, setting, log)?;
        if to != from {
            hosts.push(to);
        } else if !all {
            log.wrong(section.origin_of("to"), format!("`{}`: `{name}` would send to itself", section.path));
            return None;
        }
    }
    if names.is_empty() {
        log.wrong(section.origin_of("to"), format!("`{}` names nobody", section.path_of("to")));
        return None;
    }
    Some(hosts)
}

fn host(
    section: &Section,
    key: &'static str,
    name: &str,
    setting: &Setting<'_>,
    log: &mut Log,
) -> Option<HostId> {
    let path = section.path_of(key);
    match setting.names.get(name) {
        Some(NodeId::Host(host)) => return Some(*host),
        Some(NodeId::Switch(_)) => {
            log.wrong(section.origin_of(key), format!("`{path}`: `{name}` is a switch, not a host"));
        }
        None => {
            log.wrong(section.origin_of(key), format!("`{path}`: there is no host `{name}`"));
        }
    }
    let hosts = setting.network.hosts.iter().map(String::as_str);
    if let Some(hint) = suggest(name, hosts, "the hosts are") {
        log.hint(hint);
    }
    None
}

/// When it begins and ends.
pub(crate) fn life(section: &Section, setting: &Setting<'_>, log: &mut Log) -> Option<(Instant, Instant)> {
    let start = section.time("start")?;
    let stop = section.time("stop").unwrap_or(setting.length);
    if start >= setting.length {
        let path = section.path_of("start");
        log.wrong(
            section.origin_of("start"),
            format!("`{path}` is {start}, and the run ends at {}", setting.length),
        );
        return None;
    }
    if stop <= start {
        let path = section.path_of("stop");
        log.wrong(section.origin_of("stop"), format!("`{path}` is {stop}, not after `start` at {start}"));
        return None;
    }
    Some((Instant::from_ps(start.ps()), Instant::from_ps(stop.min(setting.length).ps())))
}

fn pattern(section: &Section, frame: Bytes, line: Rate, overhead: Bytes, log: &mut Log) -> Option<Pattern> {
    let kind = section.text("pattern")?;
    if kind == "greedy" {
        return Some(Pattern::Greedy);
    }
    let pace = Pace { frame, wire: frame + overhead, line };
    if section.is_wrong(&["offer", "load", "interval"]) {
        return None;
    }
    let stated = [section.has("offer"), section.has("load"), section.has("interval")];
    match (stated.iter().filter(|stated| **stated).count(), kind) {
        (0, "on-off") => {
            return Some(Pattern::OnOff {
                on: section.time("on")?,
                off: section.time("off")?,
                interval: None,
            });
        }
        (1, _) => {}
        (count, _) => {
            let all =
                if kind == "bernoulli" { "`offer` and `load`" } else { "`offer`, `load` and `interval`" };
            let message = format!("`{}` states {count} of {all}", section.path);
            log.wrong(&section.origin, message).hint(format!("a {kind} source takes exactly one of them"));
            return None;
        }
    }
    let interval = pace.interval(section, log)?;
    Some(match kind {
        "constant" => Pattern::Constant { interval },
        "poisson" => Pattern::Poisson { mean: interval },
        "bernoulli" => Pattern::Bernoulli { slot: pace.slot(), load_ppm: pace.load_ppm(section, log)? },
        _ => Pattern::OnOff { on: section.time("on")?, off: section.time("off")?, interval: Some(interval) },
    })
}

/// A frame on its host's link.
struct Pace {
    frame: Bytes,
    /// The frame with what it costs on the wire beyond itself.
    wire: Bytes,
    line: Rate,
}

impl Pace {
    fn slot(&self) -> Duration {
        self.line.time_for(self.wire)
    }

    /// Mean time between frames, rounded up to a picosecond: never more than was offered.
    fn interval(&self, section: &Section, log: &mut Log) -> Option<Duration> {
        let (key, interval) = if let Some(offer) = section.rate("offer") {
            ("offer", offer.time_for(self.frame))
        } else if let Some(load) = section.share("load") {
            let slot = u128::from(self.wire.get()) * 8_000_000_000_000;
            let interval = (slot * u128::from(load.below))
                .div_ceil(u128::from(self.line.bps()) * u128::from(load.above));
            // Beyond a run's length it makes no difference how far.
            ("load", Duration::from_ps(u64::try_from(interval).unwrap_or(MOST_TIME)))
        } else {
            ("interval", section.time("interval")?)
        };
        if interval < self.slot() {
            let path = section.path_of(key);
            let percent = u128::from(self.slot().ps()) * 100 / u128::from(interval.ps().max(1));
            let message = format!("`{path}` asks for {percent}% of the host's link of {}", self.line);
            log.wrong(section.origin_of(key), message).hint(format!(
                "a frame of {} takes {} on the wire, and one would come every {interval}",
                self.frame,
                self.slot()
            ));
            return None;
        }
        Some(interval)
    }

    /// The probability of a frame in a slot, to the nearest millionth.
    fn load_ppm(&self, section: &Section, log: &mut Log) -> Option<u32> {
        let ppm = if let Some(load) = section.share("load") {
            u128::from(load.above) * 1_000_000 / u128::from(load.below)
        } else {
            let offered = u128::from(section.rate("offer")?.bps()) * u128::from(self.wire.get());
            let full = u128::from(self.line.bps()) * u128::from(self.frame.get());
            (offered * 1_000_000 + full / 2) / full
        };
        if ppm == 0 {
            log.wrong(
                &section.origin,
                format!("`{}` offers less than a millionth of the link", section.path),
            );
            return None;
        }
        u32::try_from(ppm.min(1_000_000)).ok()
    }
}

pub(crate) fn host_name<'a>(host: HostId, setting: &Setting<'a>) -> &'a str {
    &setting.network.hosts[host.0 as usize]
}

/// The rate of each host's one link.
pub(crate) fn lines(network: &Network) -> Vec<Rate> {
    let mut lines = vec![Rate::default(); network.hosts.len()];
    for link in &network.links {
        for end in link.ends {
            if let NodeId::Host(host) = end {
                lines[host.0 as usize] = link.rate;
            }
        }
    }
    lines
}
