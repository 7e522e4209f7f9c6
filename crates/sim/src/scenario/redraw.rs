//! Traffic that each seed of a run draws for itself.

use super::plan::{Flow, FlowId, HostId, Pattern, Plan, Source};
use super::plan_flows::Sending;
use super::plan_traffic::{Priorities, Traffic};
use super::units::Ratio;
use crate::traffic::Sizes;
use crate::traffic::flows::{self, ListedFlow, PoissonFlows};
use quell_proto::units::{Bytes, Instant, Priority, Rate};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What of a plan's traffic is the same under every seed, and how the rest is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redraw {
    pub(super) flows: Vec<Flow>,
    pub(super) sources: Vec<Source>,
    pub(crate) recipes: Vec<Recipe>,
}

/// How a list of flows is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Who takes part.
    pub(super) hosts: Vec<HostId>,
    /// The rate of the link of every host there is.
    pub(super) lines: Vec<Rate>,
    pub(super) start: Instant,
    pub(super) stop: Instant,
    pub(super) what: What,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Flows that come at random.
    Flows {
        /// The name and the text of the distribution of their sizes.
        sizes: (String, String),
        load: Ratio,
        /// How many clusters of how many hosts, if not all are one.
        clusters: Option<(usize, usize)>,
        sending: Sending,
        /// When the run ends.
        end: Instant,
    },
    /// Permanent incasts.
    Incasts { count: usize, fan_in: usize, priorities: Priorities, frame: Bytes },
    /// A permutation: the sources are the same, and whom they send to is drawn.
    Permutation { sources: Vec<Source>, priorities: Priorities, name: Option<String> },
}

impl Redraw {
    /// The sources that are known before anything is drawn.
    pub(super) fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let of_recipes = self.recipes.iter_mut().flat_map(|recipe| match &mut recipe.what {
            What::Permutation { sources, .. } => sources.iter_mut(),
            What::Flows { .. } | What::Incasts { .. } => [].iter_mut(),
        });
        self.sources.iter_mut().chain(of_recipes)
    }

    /// Every priority that a flow may have under some seed.
    pub(crate) fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        self.recipes.iter().flat_map(Recipe::priorities)
    }

    /// Lets what is the same under every seed begin and end as it does in a plan, where flows are told to.
    pub(super) fn follow(&mut self, flows: &[Flow], sources: &[Source]) {
        let life = |source: &Source, flows: &[Flow]| {
            let flow = source.flows.first()?;
            Some((flows[flow.0 as usize].name.clone(), (source.start, source.stop)))
        };
        let lives: BTreeMap<_, _> = sources.iter().filter_map(|source| life(source, flows)).collect();
        for source in &mut self.sources {
            let name = source.flows.first().map(|flow| self.flows[flow.0 as usize].name.as_str());
            if let Some((start, stop)) = name.and_then(|name| lives.get(name)) {
                (source.start, source.stop) = (*start, *stop);
            }
        }
    }
}

impl Recipe {
    /// Every priority that one of its flows may have.
    fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let (priorities, mice) = self.by_receiver();
        priorities.all().chain(mice)
    }

    /// The priorities that a flow to this host may have.
    pub(crate) fn priorities_towards(&self, to: HostId) -> impl Iterator<Item = Priority> + use<> {
        let (priorities, mice) = self.by_receiver();
        [priorities.towards(to)].into_iter().chain(mice)
    }

    /// The priorities that go by the receiver, and the one that goes by size.
    fn by_receiver(&self) -> (&Priorities, Option<Priority>) {
        match &self.what {
            What::Flows { sending, .. } => sending.priorities(),
            What::Incasts { priorities, .. } | What::Permutation { priorities, .. } => (priorities, None),
        }
    }

    /// Whoever may send, and whoever may receive.
    pub(crate) fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// Adds what comes of a number to draw from.
    pub(super) fn draw(
        &self,
        draw: u64,
        traffic: &mut Traffic,
        name: &dyn Fn(HostId) -> String,
    ) -> Option<()> {
        match &self.what {
            What::Flows { sizes: (file, text), load, clusters, sending, end } => {
                // It was read before, when the plan was made.
                let sizes = Sizes::parse(file, text).ok()?;
                let process =
                    PoissonFlows { sizes: &sizes, load: load.number(), start: self.start, stop: self.stop };
                let deck = flows::deck(&self.hosts, draw);
                let groups = match clusters {
                    None => vec![&self.hosts[..]],
                    Some((count, size)) => flows::clusters(&deck, *count, *size),
                };
                let line = |host: HostId| self.lines[host.0 as usize];
                let mut listed: Vec<ListedFlow> =
                    groups.iter().flat_map(|group| process.of_group(group, line, draw)).collect();
                listed.sort();
                for it in listed {
                    traffic.push_listed(it, None, sending, *end, name)?;
                }
            }
            What::Incasts { count, fan_in, priorities, frame } => {
                let deck = flows::deck(&self.hosts, draw);
                for (to, from) in flows::incasts(&deck, *count, *fan_in) {
                    for &from in from {
                        let flow = traffic.push_flow(from, to, priorities.towards(to), name)?;
                        traffic.sources.push(Source {
                            host: from,
                            flows: vec![flow],
                            frame: *frame,
                            pattern: Pattern::Greedy,
                            start: self.start,
                            stop: self.stop,
                            message: None,
                            header: Bytes::ZERO,
                            script: None,
                            multicast: false,
                        });
                    }
                }
            }
            What::Permutation { sources, priorities, name: flow_name } => {
                let ring = flows::ring(self.hosts.len(), draw);
                for source in sources {
                    let to = ring[source.host.0 as usize];
                    let flow = FlowId(u32::try_from(traffic.flows.len()).ok()?);
                    let pair = || format!("{}->{}", name(source.host), name(to));
                    let name = traffic.unique(flow_name.clone().unwrap_or_else(pair));
                    traffic.flows.push(Flow {
                        name,
                        from: source.host,
                        to,
                        priority: priorities.towards(to),
                    });
                    traffic.sources.push(Source { flows: vec![flow], ..source.clone() });
                }
            }
        }
        Some(())
    }
}

impl Plan {
    /// The plan as a seed has it: with the flows that this seed draws, where they are drawn.
    pub fn under(&self, seed: u64) -> Cow<'_, Plan> {
        let Some(redraw) = &self.redraw else { return Cow::Borrowed(self) };
        let mut traffic = Traffic::resume(redraw.flows.clone(), redraw.sources.clone());
        let name = |host: HostId| self.hosts[host.0 as usize].name.clone();
        for recipe in &redraw.recipes {
            // Fewer than 2^32 flows were expected of it when it was read.
            if recipe.draw(seed, &mut traffic, &name).is_none() {
                break;
            }
        }
        traffic.number_by_sender();
        Cow::Owned(Plan { flows: traffic.flows, sources: traffic.sources, ..self.clone() })
    }
}
