//! Why one flow was slow, as data.

use super::path::{only_path, own_ports};
use super::{Edges, Root, holds};
use crate::metric::PS;
use quell_record::claim::Window;
use quell_record::{EntityClass, EntityId, EntityKind, EventKind, Quantity, Recording};
use serde::Serialize;
use std::collections::BTreeMap;

/// What happened to one flow over a window of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The flow.
    pub flow: String,
    /// The window looked at, in seconds.
    pub over_seconds: [f64; 2],
    /// What its source was to offer while active; `None` if it takes whatever it can get.
    pub demand_bps: Option<f64>,
    /// What its source put into the adapter.
    pub offered_bps: f64,
    /// What it would have got, left alone: what its source offered, or what that had in mind where a full adapter held it
    /// back. `None` if it takes whatever it can get.
    pub wanted_bps: Option<f64>,
    /// What left the adapter.
    pub sent_bps: f64,
    /// What reached the receiver.
    pub delivered_bps: f64,
    /// Frames lost on the way.
    pub lost_frames: f64,
    /// Where frames were dropped on its way, its own and others', most of them first.
    pub lost_at: Vec<Loss>,
    /// The part of the window in which it got least of what it wanted, if that is much less than on average.
    pub worst: Option<Worst>,
    /// What its limiter did.
    pub limiter: Limiter,
    /// The ports it passes, where the network has one shortest way for it.
    pub path: Option<Vec<String>>,
    /// Whose pause held the flow's own port, and who held that one, and so on to the root. Empty if nobody did.
    pub held: Vec<Step>,
    /// Where that chain ends.
    pub root: Option<Rooted>,
    /// The queue on its way that took longest to pass.
    pub longest_queue: Option<Queue>,
}

/// Frames dropped at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The port, or the input before it.
    pub place: String,
    /// How many, of all flows.
    pub frames: f64,
}

/// A part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// From when to when, in seconds.
    pub over_seconds: [f64; 2],
    /// What reached the receiver in it.
    pub delivered_bps: f64,
    /// What it would have liked to get in it.
    pub wanted_bps: f64,
}

/// What the limiter at a flow's source did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limiter {
    /// The share of the time it held the flow below the rate of its port.
    pub share: f64,
    /// To what rate, on average over that time.
    pub mean_bps: f64,
    /// The lowest it was seen at.
    pub least_bps: f64,
    /// Who notified the source, most often first.
    pub notifiers: Vec<Notifier>,
    /// Whether the notifications were not for this flow but for others that share its limiter.
    pub is_shared: bool,
    /// Whether none came within the window: these came before it.
    pub is_earlier: bool,
}

/// A congestion point that notified a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notifier {
    /// The port or input.
    pub point: String,
    /// How often.
    pub count: usize,
}

/// One port of a chain of pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The port that was held.
    pub port: String,
    /// For what share of the time.
    pub share: f64,
    /// The node that held it.
    pub by: String,
    /// The input there that stopped it.
    pub input: Option<String>,
    /// The queue that filled that input for most of the time held.
    pub cause: Option<String>,
    /// The share of the time held that was because of this queue.
    pub cause_share: f64,
    /// Other queues that filled it, with their share of the time held.
    pub others: Vec<(String, f64)>,
}

/// The end of a chain of pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Rooted {
    /// A port that is sent more than it carries.
    Port {
        /// The port, and how it was served.
        #[serde(flatten)]
        queue: Queue,
        /// The share of the time it was held itself.
        held_share: f64,
        /// Whether the flow passes it; `None` if its way is not known.
        is_on_path: Option<bool>,
    },
    /// A host that takes frames in too slowly.
    Receiver {
        /// Its receive buffer.
        input: String,
        /// What it took in, in bits per second.
        taken_bps: f64,
        /// Whether it is the flow's own receiver.
        is_own: bool,
    },
    /// Ports that hold each other.
    Cycle {
        /// Where the circle closes.
        port: String,
    },
    /// Nobody recorded why the last one was held.
    Unknown {
        /// The last port.
        port: String,
    },
}

/// A port and what waited for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// The port.
    pub port: String,
    /// Rate of its link.
    pub link_bps: f64,
    /// What it could have sent on average.
    pub served_bps: f64,
    /// What it could have sent in its slowest interval.
    pub slowest_bps: f64,
    /// What it sent.
    pub carried_bps: f64,
    /// Octets that waited, on average.
    pub mean_bytes: f64,
}

impl Queue {
    /// Seconds that an octet waited on average, pauses counted: what waited over what was sent (Little's law). Never,
    /// if nothing was sent.
    pub fn wait(&self) -> f64 {
        if self.carried_bps > 0.0 { self.mean_bytes * 8.0 / self.carried_bps } else { f64::INFINITY }
    }
}

impl Why {
    /// Looks into a recording. `flow` must be a flow of it.
    ///
    /// # Panics
    /// When `flow` is a port or an input.
    pub fn of(recording: &Recording, flow: EntityId, window: Window) -> Why {
        let catalog = &recording.catalog;
        let EntityKind::Flow { from, to, demand_bps, .. } = &catalog.get(flow).kind else {
            panic!("`{}` is no flow", catalog.get(flow).name);
        };
        let look = Look::new(recording, window);
        let name = |id: EntityId| catalog.get(id).name.clone();
        let path = only_path(catalog, flow);
        let own = own_ports(catalog, flow);
        // With several links the one that counts is the one of its way, or else the one held longest.
        let start = match path.as_deref() {
            Some([first, ..]) => Some(*first),
            _ => own.iter().copied().max_by_key(|&port| look.edges.held_ps(port)),
        };
        let line = start.or(own.first().copied()).map_or(0, |port| look.link_bps(port));
        let chain = start.and_then(|port| look.edges.chain(port, catalog));
        let (passed, root) = chain.map_or((Vec::new(), None), |(passed, root)| (passed, Some(root)));
        let queues = path.iter().flatten().skip(1).map(|&port| look.queue(port));
        Why {
            flow: name(flow),
            over_seconds: [window.from_ps as f64 / PS, window.to_ps as f64 / PS],
            demand_bps: demand_bps.map(|bps| bps as f64),
            offered_bps: look.rate(flow, Quantity::OfferedBytes),
            wanted_bps: demand_bps.map(|bps| look.wanted(flow, bps as f64)),
            sent_bps: look.rate(flow, Quantity::SentBytes),
            delivered_bps: look.rate(flow, Quantity::DeliveredBytes),
            lost_frames: look.sum(flow, Quantity::DroppedFrames),
            lost_at: look.losses(path.as_deref()),
            worst: look.worst(flow, demand_bps.is_some()),
            limiter: look.limiter(flow, from, to, line as f64),
            held: passed.iter().map(|&port| look.step(port)).collect(),
            root: root.map(|root| look.rooted(root, path.as_deref(), to)),
            longest_queue: queues
                .filter(|queue| queue.mean_bytes > 0.0)
                .max_by(|a, b| a.wait().total_cmp(&b.wait())),
            path: path.map(|ports| ports.into_iter().map(name).collect()),
        }
    }
}

/// A recording with a window to look at it through.
struct Look<'a> {
    recording: &'a Recording,
    window: Window,
    /// The samples that cover the window, and how long they last together in picoseconds.
    samples: std::ops::Range<usize>,
    length_ps: u64,
    edges: Edges,
}

impl<'a> Look<'a> {
    fn new(recording: &'a Recording, window: Window) -> Look<'a> {
        let samples = recording.covering(window);
        let (from, to) = recording.span(samples.clone());
        let edges = Edges::of(&holds(recording), window);
        Look { recording, window, samples, length_ps: to.ps() - from.ps(), edges }
    }

    fn name(&self, id: EntityId) -> String {
        self.recording.catalog.get(id).name.clone()
    }

    fn values(&self, entity: EntityId, quantity: Quantity) -> impl Iterator<Item = (f64, f64)> {
        self.samples.clone().filter_map(move |sample| {
            let value = self.recording.value(entity, quantity, sample)?;
            Some((value as f64, self.recording.interval(sample).ps() as f64))
        })
    }

    fn sum(&self, entity: EntityId, quantity: Quantity) -> f64 {
        self.values(entity, quantity).map(|(value, _)| value).sum()
    }

    /// Octets as bits per second.
    fn rate(&self, entity: EntityId, quantity: Quantity) -> f64 {
        if self.length_ps == 0 {
            return 0.0;
        }
        self.sum(entity, quantity) * 8.0 * PS / self.length_ps as f64
    }

    /// What a source of this demand wanted on average. What it offers is less where a full adapter turns it away; chance
    /// alone takes no tenth of it. Times in which it offers nothing at all do not count: it may be off.
    fn wanted(&self, flow: EntityId, demand_bps: f64) -> f64 {
        let offered = self.rate(flow, Quantity::OfferedBytes);
        let values = self.values(flow, Quantity::OfferedBytes);
        let (active, all) = values.fold((0.0, 0.0), |(active, all), (octets, time)| {
            (active + if octets > 0.0 { time } else { 0.0 }, all + time)
        });
        let demand = if all > 0.0 { demand_bps * active / all } else { 0.0 };
        if offered < demand * 0.9 { demand } else { offered }
    }

    /// A time as a share of the window.
    fn share(&self, ps: u64) -> f64 {
        let whole = self.window.to_ps.saturating_sub(self.window.from_ps);
        if whole == 0 { 0.0 } else { ps as f64 / whole as f64 }
    }

    fn link_bps(&self, port: EntityId) -> u64 {
        match self.recording.catalog.get(port).kind {
            EntityKind::Port { rate_bps, .. } => rate_bps,
            _ => 0,
        }
    }

    /// Drops at the ports of a way and at the inputs that lead to them; of the whole network if the way is not known.
    fn losses(&self, path: Option<&[EntityId]>) -> Vec<Loss> {
        let catalog = &self.recording.catalog;
        let inputs = super::stoppers(catalog);
        let places: Vec<EntityId> = match path {
            Some(ports) => {
                ports.iter().flat_map(|port| [Some(*port), inputs.get(port).copied()]).flatten().collect()
            }
            None => catalog.iter().filter(|(_, it)| it.class() != EntityClass::Flow).map(|it| it.0).collect(),
        };
        let mut losses: Vec<Loss> = places
            .into_iter()
            .map(|place| Loss { place: self.name(place), frames: self.sum(place, Quantity::DroppedFrames) })
            .filter(|it| it.frames > 0.0)
            .collect();
        losses.sort_by(|a, b| b.frames.total_cmp(&a.frames));
        losses
    }

    /// The part of the window in which the flow got least of what it wanted, with the parts beside it that
    /// were about as bad. Nothing if no part is much worse than the whole.
    fn worst(&self, flow: EntityId, has_demand: bool) -> Option<Worst> {
        const PARTS: usize = 20;
        let wanted = if has_demand { Quantity::OfferedBytes } else { Quantity::DeliveredBytes };
        let mean = self.sum(flow, wanted) / PARTS as f64;
        let every = self.samples.len().div_ceil(PARTS).max(1);
        let parts: Vec<std::ops::Range<usize>> =
            self.samples.clone().step_by(every).map(|it| it..(it + every).min(self.samples.end)).collect();
        if parts.len() < 4 || mean <= 0.0 {
            return None;
        }
        let of = |part: &std::ops::Range<usize>, quantity| {
            part.clone().filter_map(|it| self.recording.value(flow, quantity, it)).sum::<i64>() as f64
        };
        // A source without a demand would have liked what it got on average.
        let share = |part: &std::ops::Range<usize>| {
            let wanted = if has_demand { of(part, wanted) } else { mean };
            (wanted > mean / 4.0).then(|| of(part, Quantity::DeliveredBytes) / wanted)
        };
        let shares: Vec<Option<f64>> = parts.iter().map(share).collect();
        let known = || shares.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
        let (worst, least) = known().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let average = known().map(|it| it.1).sum::<f64>() / known().count().max(1) as f64;
        if least > average * 0.5 {
            return None;
        }
        let is_bad = |at: &usize| shares[*at].is_some_and(|it| it <= f64::midpoint(least, average));
        let first = (0..=worst).rev().take_while(is_bad).last()?;
        let last = (worst..parts.len()).take_while(is_bad).last()?;
        let whole = parts[first].start..parts[last].end;
        let (from, to) = self.recording.span(whole.clone());
        let seconds = (to.ps() - from.ps()) as f64 / PS;
        let rate = |octets: f64| octets * 8.0 / seconds;
        let wanted = if has_demand { of(&whole, wanted) } else { mean * (last - first + 1) as f64 };
        Some(Worst {
            over_seconds: [from.ps() as f64 / PS, to.ps() as f64 / PS],
            delivered_bps: rate(of(&whole, Quantity::DeliveredBytes)),
            wanted_bps: rate(wanted),
        })
    }

    fn limiter(&self, flow: EntityId, from: &str, to: &str, line: f64) -> Limiter {
        let limited: Vec<(f64, f64)> =
            self.values(flow, Quantity::LimitBps).filter(|(limit, _)| *limit < line).collect();
        let time: f64 = limited.iter().map(|(_, ps)| ps).sum();
        if limited.is_empty() || self.length_ps == 0 || time == 0.0 {
            return Limiter::default();
        }
        let alike = |other: EntityId, same_receiver: bool| match &self.recording.catalog.get(other).kind {
            EntityKind::Flow { from: sender, to: receiver, .. } => {
                sender == from && (receiver == to || !same_receiver)
            }
            _ => false,
        };
        // A limiter may hold on long after the last notification, and one that several flows share heeds those of
        // each: the first of these that finds any is the most likely.
        let before = Window { from_ps: 0, ..self.window };
        let (notifiers, is_shared, is_earlier) = [(self.window, 0), (before, 0), (before, 1), (before, 2)]
            .into_iter()
            .map(|(window, kinship)| {
                let concerns = |other: EntityId| match kinship {
                    0 => other == flow,
                    1 => alike(other, true),
                    _ => alike(other, false),
                };
                (self.notifiers(window, concerns), kinship > 0, window != self.window)
            })
            .find(|(notifiers, ..)| !notifiers.is_empty())
            .unwrap_or_default();
        Limiter {
            share: time / self.length_ps as f64,
            mean_bps: limited.iter().map(|(limit, ps)| limit * ps).sum::<f64>() / time,
            least_bps: limited.iter().map(|(limit, _)| *limit).fold(f64::INFINITY, f64::min),
            notifiers,
            is_shared,
            is_earlier,
        }
    }

    /// Who notified the flows that are asked for, most often first.
    fn notifiers(&self, window: Window, of: impl Fn(EntityId) -> bool) -> Vec<Notifier> {
        let mut counts: BTreeMap<EntityId, usize> = BTreeMap::new();
        for event in self.recording.events_in(window) {
            if event.kind == EventKind::Cnm && event.flow.is_some_and(&of) {
                *counts.entry(event.entity).or_default() += 1;
            }
        }
        let mut counts: Vec<(EntityId, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|&(point, count)| (std::cmp::Reverse(count), point));
        counts.into_iter().map(|(point, count)| Notifier { point: self.name(point), count }).collect()
    }

    fn step(&self, port: EntityId) -> Step {
        let reasons = self.edges.reasons(port);
        let held = self.edges.held_ps(port);
        let part = |ps: u64| ps as f64 / held.max(1) as f64;
        let main = reasons.first();
        let by = match &self.recording.catalog.get(port).kind {
            EntityKind::Port { peer, .. } => peer.clone(),
            _ => String::new(),
        };
        let others = reasons.iter().skip(1);
        Step {
            port: self.name(port),
            share: self.share(held),
            by,
            input: main.and_then(|it| it.input).map(|id| self.name(id)),
            cause: main.and_then(|it| it.cause).map(|id| self.name(id)),
            cause_share: main.map_or(0.0, |it| part(it.held_ps)),
            others: others.filter_map(|it| Some((self.name(it.cause?), part(it.held_ps)))).collect(),
        }
    }

    fn rooted(&self, root: Root, path: Option<&[EntityId]>, receiver: &str) -> Rooted {
        match root {
            Root::Port(port) => Rooted::Port {
                queue: self.queue(port),
                held_share: self.share(self.edges.held_ps(port)),
                is_on_path: path.map(|path| path.contains(&port)),
            },
            Root::Receiver(input) => {
                let EntityKind::Input { node, .. } = &self.recording.catalog.get(input).kind else {
                    unreachable!("a receiver is an input");
                };
                let flows =
                    self.recording.catalog.iter().filter(
                        |(_, entity)| matches!(&entity.kind, EntityKind::Flow { to, .. } if to == node),
                    );
                Rooted::Receiver {
                    input: self.name(input),
                    taken_bps: flows.map(|(id, _)| self.rate(id, Quantity::DeliveredBytes)).sum(),
                    is_own: node == receiver,
                }
            }
            Root::Cycle(port) => Rooted::Cycle { port: self.name(port) },
            Root::Unknown(port) => Rooted::Unknown { port: self.name(port) },
        }
    }

    fn queue(&self, port: EntityId) -> Queue {
        let weighted = self.values(port, Quantity::QueueMeanBytes);
        let rates = self.values(port, Quantity::ServiceBytes).map(|(octets, ps)| octets * 8.0 * PS / ps);
        Queue {
            port: self.name(port),
            link_bps: self.link_bps(port) as f64,
            served_bps: self.rate(port, Quantity::ServiceBytes),
            slowest_bps: rates.fold(f64::INFINITY, f64::min).min(self.link_bps(port) as f64),
            carried_bps: self.rate(port, Quantity::TxBytes),
            mean_bytes: crate::metric::stats::weighted_mean(weighted).unwrap_or(0.0),
        }
    }
}
