//! `[[traffic]]` whose flows come as a list: drawn from a distribution, dealt as incasts, or read from a trace.

use super::plan::{Flow, FlowId, HostId, NodeId, Pattern, Script, Source};
use super::plan_network;
use super::plan_traffic::{MOST_FLOWS, Priorities, Setting, Traffic, host_name, life, senders};
use super::problem::Log;
use super::redraw::{Recipe, What};
use super::section::Section;
use crate::traffic::flows::{ListedFlow, PoissonFlows};
use crate::traffic::{Sizes, collective, trace};
use quell_proto::units::{Bytes, Instant, Priority};

/// How a listed flow is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    frame: Bytes,
    header: Bytes,
    priorities: Priorities,
    /// Flows of less than this have a priority of their own.
    mice: Option<(Bytes, Priority)>,
}

impl Sending {
    /// The priorities that go by the receiver, and the one that goes by size.
    pub(super) fn priorities(&self) -> (&Priorities, Option<Priority>) {
        (&self.priorities, self.mice.map(|(_, priority)| priority))
    }
}

impl Traffic {
    /// Adds flows that come at random, with sizes of a distribution.
    pub(crate) fn add_drawn(
        &mut self,
        section: &Section,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let sending = sending(section, log)?;
        let (start, stop) = life(section, setting, log)?;
        let name = section.text("sizes")?;
        let text = plan_network::file(section, "sizes", name, setting.files, log)?;
        let sizes = match Sizes::parse(name, &text) {
            Ok(sizes) => sizes,
            Err(problems) => {
                log.note(problems);
                return None;
            }
        };
        let hosts = senders(section, setting, log)?.hosts;
        let clusters = match section.count("clusters") {
            None => None,
            Some(count) => {
                let size = section.count("cluster_size")?;
                enough(section, "clusters", count.saturating_mul(size), hosts.len(), log)?;
                Some((usize::try_from(count).ok()?, usize::try_from(size).ok()?))
            }
        };
        let load = section.share("load")?;
        let process = PoissonFlows { sizes: &sizes, load: load.number(), start, stop };
        let senders = clusters.map_or(hosts.len(), |(count, size)| count * size);
        let each = hosts.iter().map(|host| process.expected(1, setting.lines[host.0 as usize]));
        let expected = each.fold(0.0, f64::max) * senders as f64;
        if expected > MOST_FLOWS as f64 {
            let message = format!("`{}` makes about {expected:.0} flows", section.path);
            log.wrong(&section.origin, message).hint(format!(
                "at most {MOST_FLOWS} can be run: a shorter run, a lower load or larger flows make fewer"
            ));
            return None;
        }
        let (sizes, end) = ((name.to_owned(), text), Instant::from_ps(setting.length.ps()));
        let what = What::Flows { sizes, load, clusters, sending, end };
        self.add_recipe(
            section,
            Recipe { hosts, lines: setting.lines.to_vec(), start, stop, what },
            setting,
            log,
        )
    }

    /// Adds permanent incasts: receivers with so many greedy senders each.
    pub(crate) fn add_incasts(
        &mut self,
        section: &Section,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let (start, stop) = life(section, setting, log)?;
        let hosts = senders(section, setting, log)?.hosts;
        let (count, fan_in) = (section.count("incasts")?, section.count("fan_in")?);
        enough(section, "incasts", count.saturating_mul(fan_in + 1), hosts.len(), log)?;
        let (priorities, frame) = (Priorities::of(section, log)?, section.size("frame")?);
        let (count, fan_in) = (usize::try_from(count).ok()?, usize::try_from(fan_in).ok()?);
        let what = What::Incasts { count, fan_in, priorities, frame };
        self.add_recipe(section, Recipe { hosts, lines: Vec::new(), start, stop, what }, setting, log)
    }

    /// Draws by a recipe, and keeps it where each seed draws for itself.
    fn add_recipe(
        &mut self,
        section: &Section,
        recipe: Recipe,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let draw = section.count("draw");
        let first = self.flows.len();
        let name = |host: HostId| host_name(host, setting).to_owned();
        recipe.draw(draw.unwrap_or(setting.seed), self, &name)?;
        if self.flows.len() > MOST_FLOWS {
            log.wrong(&section.origin, format!("`{}` makes more than {MOST_FLOWS} flows", section.path));
            return None;
        }
        if draw.is_none() {
            self.recipes.push(recipe);
            self.redrawn.push(first..self.flows.len());
        }
        Some(())
    }

    /// Adds the flows of a trace. Those that start after the end of the run are left out.
    pub(crate) fn add_trace(
        &mut self,
        section: &Section,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let sending = sending(section, log)?;
        let name = section.text("file")?;
        let text = plan_network::file(section, "file", name, setting.files, log)?;
        let host = |name: &str| match setting.names.get(name) {
            Some(NodeId::Host(host)) => Some(*host),
            _ => None,
        };
        let traced = match trace::parse(name, &text, host) {
            Ok(traced) => traced,
            Err(problems) => {
                log.note(problems);
                return None;
            }
        };
        let zero = section.time("zero")?;
        let mut listed = Vec::new();
        for mut it in traced {
            let Some(start) = it.flow.start.ps().checked_sub(zero.ps()) else {
                let path = section.path_of("zero");
                let message = format!("`{path}` is {zero}, and line {} of `{name}` starts before", it.line);
                log.wrong(section.origin_of("zero"), message)
                    .hint("it is the time of the trace at which the run begins");
                return None;
            };
            it.flow.start = Instant::from_ps(start);
            if start < setting.length.ps() {
                listed.push((it.flow, it.priority));
            }
        }
        if listed.is_empty() {
            let message = format!("no flow of `{name}` starts before the run ends at {}", setting.length);
            log.wrong(section.origin_of("file"), message)
                .hint("`zero` is the time of the trace at which the run begins");
            return None;
        }
        listed.sort_by_key(|(flow, _)| *flow);
        self.list(section, listed, &sending, setting, log)
    }

    /// Adds a collective: transfers between its members that wait for each other.
    pub(crate) fn add_collective(
        &mut self,
        section: &Section,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let sending = sending(section, log)?;
        let (start, stop) = life(section, setting, log)?;
        let hosts = senders(section, setting, log)?.hosts;
        if hosts.len() < 2 {
            log.wrong(section.origin_of("from"), format!("`{}` has one member", section.path))
                .hint("a collective has two or more");
            return None;
        }
        let (size, iterations) = (section.size("size")?, u32::try_from(section.count("iterations")?).ok()?);
        let list = match section.text("pattern")? {
            "all-reduce" => {
                most_transfers(section, 2 * hosts.len() * (hosts.len() - 1), iterations, log)?;
                collective::ring_all_reduce(&hosts, size, iterations)
            }
            _ => {
                most_transfers(section, hosts.len() * (hosts.len() - 1), iterations, log)?;
                collective::all_to_all(&hosts, size, iterations)
            }
        };
        let first = self.flows.len();
        let name = |host: HostId| host_name(host, setting).to_owned();
        let numbered = |part: u32| u32::try_from(first).ok().map(|first| FlowId(first + part));
        for part in collective::parts(&list) {
            let priority = sending.priorities.towards(part.to);
            let flow = self.push_flow(part.from, part.to, priority, &name)?;
            self.sources.push(Source {
                host: part.from,
                flows: vec![flow],
                frame: sending.frame,
                pattern: Pattern::Greedy,
                start,
                stop,
                message: None,
                header: sending.header,
                multicast: false,
                script: Some(Script {
                    transfer: in_frames(sending.frame, sending.header, part.size),
                    transfers: part.transfers,
                    per_iteration: part.per_iteration,
                    after: part.after.into_iter().map(numbered).collect::<Option<_>>()?,
                }),
            });
        }
        Some(())
    }

    fn list(
        &mut self,
        section: &Section,
        listed: impl IntoIterator<Item = (ListedFlow, Option<Priority>)>,
        sending: &Sending,
        setting: &Setting<'_>,
        log: &mut Log,
    ) -> Option<()> {
        let (end, name) =
            (Instant::from_ps(setting.length.ps()), |host: HostId| host_name(host, setting).to_owned());
        for (it, priority) in listed {
            if self.flows.len() >= MOST_FLOWS {
                log.wrong(&section.origin, format!("`{}` makes more than {MOST_FLOWS} flows", section.path));
                return None;
            }
            self.push_listed(it, priority, sending, end, &name)?;
        }
        Some(())
    }

    /// Adds one flow of a list.
    pub(super) fn push_listed(
        &mut self,
        it: ListedFlow,
        priority: Option<Priority>,
        sending: &Sending,
        end: Instant,
        name: &dyn Fn(HostId) -> String,
    ) -> Option<()> {
        let mouse = sending.mice.filter(|(below, _)| it.size < *below).map(|(_, priority)| priority);
        let priority = mouse.or(priority).unwrap_or_else(|| sending.priorities.towards(it.to));
        let flow = self.push_flow(it.from, it.to, priority, name)?;
        self.sources.push(Source {
            host: it.from,
            flows: vec![flow],
            frame: sending.frame,
            pattern: Pattern::Greedy,
            start: it.start,
            stop: end,
            message: Some(in_frames(sending.frame, sending.header, it.size)),
            header: sending.header,
            script: None,
            multicast: false,
        });
        Some(())
    }

    /// Adds a flow, named by its ends.
    pub(super) fn push_flow(
        &mut self,
        from: HostId,
        to: HostId,
        priority: Priority,
        name: &dyn Fn(HostId) -> String,
    ) -> Option<FlowId> {
        let name = self.unique(format!("{}->{}", name(from), name(to)));
        self.flows.push(Flow { name, from, to, priority });
        Some(FlowId(u32::try_from(self.flows.len() - 1).ok()?))
    }
}

/// What so much payload amounts to in frames of this length, with a header each.
fn in_frames(frame: Bytes, header: Bytes, size: Bytes) -> Bytes {
    let payload = (frame - header).get();
    let (whole, rest) = (size.get() / payload, size.get() % payload);
    let rest = if rest == 0 { 0 } else { rest + header.get() };
    Bytes::new(whole.saturating_mul(frame.get()).saturating_add(rest))
}

/// More transfers than this would take more memory than they are worth.
const MOST_TRANSFERS: u64 = 20_000_000;

fn most_transfers(section: &Section, each: usize, iterations: u32, log: &mut Log) -> Option<()> {
    let count = each as u64 * u64::from(iterations);
    if count <= MOST_TRANSFERS {
        return Some(());
    }
    let message = format!("`{}` makes {count} transfers, more than {MOST_TRANSFERS}", section.path);
    log.wrong(section.origin_of("iterations"), message).hint("fewer iterations, or fewer members");
    None
}

fn sending(section: &Section, log: &mut Log) -> Option<Sending> {
    let (frame, header) = (section.size("frame")?, section.size("header")?);
    if header >= frame {
        let path = section.path_of("header");
        log.wrong(section.origin_of("header"), format!("`{path}` is {header}, and a whole frame {frame}"))
            .hint("a frame carries something of its flow");
        return None;
    }
    let mice = match section.size("mice_below") {
        None => None,
        Some(below) => Some((below, section.priority("mice_priority")?)),
    };
    Some(Sending { frame, header, priorities: Priorities::of(section, log)?, mice })
}

/// Whether there are as many hosts as are to be dealt.
fn enough(section: &Section, key: &'static str, wanted: u64, hosts: usize, log: &mut Log) -> Option<()> {
    if wanted <= hosts as u64 {
        return Some(());
    }
    let message = format!("`{}` takes {wanted} hosts, of {hosts}", section.path_of(key));
    log.wrong(section.origin_of(key), message).hint("no host is in two of them; name more, or deal fewer");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_becomes_frames_with_a_header_each() {
        for (size, octets) in [(1, 49), (999, 1047), (1000, 1048), (1001, 1048 + 49), (5000, 5 * 1048)] {
            assert_eq!(in_frames(Bytes::new(1048), Bytes::new(48), Bytes::new(size)), Bytes::new(octets));
        }
    }
}
