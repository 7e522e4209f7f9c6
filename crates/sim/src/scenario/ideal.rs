//! What a message takes on an idle network: what its slowdown is measured against.

use super::plan::{Buffering, Completion, HostId, NodeId, Plan, Source, SwitchId};
use crate::topology::Routes;
use quell_proto::units::{Bytes, Duration, Instant, Rate};

/// The links of a plan by node, to follow a route.
pub(super) struct Paths<'a> {
    plan: &'a Plan,
    routes: Routes,
    /// The link and the sending end of each port of each switch.
    ports: Vec<Vec<(usize, usize)>>,
    /// The same of each host's one port.
    host_ports: Vec<(usize, usize)>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(plan: &'a Plan) -> Paths<'a> {
        let mut ports = vec![Vec::new(); plan.switches.len()];
        let mut host_ports = vec![(0, 0); plan.hosts.len()];
        for (link, ends) in plan.links.iter().map(|link| link.ends).enumerate() {
            for (end, node) in ends.into_iter().enumerate() {
                match node {
                    NodeId::Switch(switch) => ports[switch.0 as usize].push((link, end)),
                    NodeId::Host(host) => host_ports[host.0 as usize] = (link, end),
                }
            }
        }
        let routes = Routes::compute(plan, &vec![true; plan.links.len()]);
        Paths { plan, routes, ports, host_ports }
    }

    /// The time from the start of a message of this source to the arrival of its last octet, if nothing else is sent: its
    /// frames leave one after the other, and each link passes one on when it has all of it. Where a message is complete
    /// once it is acknowledged, the way back counts too. `None` where there is no
    /// way, or where frames travel as cells.
    ///
    /// One of the shortest paths is taken for all; they differ in nothing that matters in the networks we make.
    pub(super) fn ideal(&self, source: &Source, to: HostId, message: Bytes) -> Option<Duration> {
        if self.plan.fabric.is_some() {
            return None;
        }
        let mut links = Vec::new();
        let (mut link, mut end) = self.host_ports[source.host.0 as usize];
        loop {
            links.push(&self.plan.links[link]);
            match self.plan.links[link].ends[1 - end] {
                NodeId::Host(host) => break (host == to).then_some(())?,
                NodeId::Switch(switch) => {
                    let port = usize::from(*self.routes.ports(switch, to).first()?);
                    (link, end) = self.ports[switch.0 as usize][port];
                }
            }
        }
        let delays: u64 = links.iter().map(|link| link.delay.ps()).sum();
        let rates: Vec<Rate> = links.iter().map(|link| link.rate).collect();
        let whole = source.frame + self.plan.overhead;
        let before_last = message.get().div_ceil(source.frame.get()).saturating_sub(1);
        let last = Bytes::new(message.get() - before_last * source.frame.get());
        let last = last.max(self.plan.scheme.shortest_frame()) + self.plan.overhead;
        let there = delays + pipeline(&rates, before_last, whole, last);
        let back = match self.plan.transport() {
            Some(transport) if transport.completion == Completion::Acknowledged => {
                let acknowledgement = transport.ack_frame + self.plan.overhead;
                delays + pipeline(&rates, 0, whole, acknowledgement)
            }
            _ => 0,
        };
        Some(Duration::from_ps(there + back))
    }
}

/// What a frame of this length and its answer take on the longest of the shortest paths between any two hosts, if nothing
/// else is sent: with all links up, and as they are after each change; rounded up to a microsecond. `None` where frames travel as cells.
pub(super) fn longest_idle_way(plan: &Plan, probe: Bytes) -> Option<Duration> {
    if plan.fabric.is_some() {
        return None;
    }
    let mut paths = Paths::new(plan);
    let mut longest = 0;
    for (_, up) in plan.link_states().take(super::plan_checks::MOST_STATES) {
        paths.routes = Routes::compute(plan, &up);
        for to in (0..plan.hosts.len()).map(|host| HostId(host as u32)) {
            let mut known = vec![None; plan.switches.len()];
            let ways = (0..plan.switches.len()).map(|from| paths.way(from, to, probe, &mut known));
            let ways: Vec<u64> = ways.collect();
            for &(link, end) in &paths.host_ports {
                let NodeId::Switch(first) = plan.links[link].ends[1 - end] else { continue };
                longest = longest.max(paths.passage(link, probe) + ways[first.0 as usize]);
            }
        }
    }
    Some(Duration::from_us((2 * longest).div_ceil(1_000_000)))
}

impl Paths<'_> {
    /// What a frame takes over a link, in picoseconds.
    fn passage(&self, link: usize, frame: Bytes) -> u64 {
        let link = &self.plan.links[link];
        link.delay.ps() + link.rate.time_for(frame + self.plan.overhead).ps()
    }

    /// What a frame takes from a switch to a host, in picoseconds; nothing where there is no way.
    fn way(&self, from: usize, to: HostId, frame: Bytes, known: &mut [Option<u64>]) -> u64 {
        if let Some(way) = known[from] {
            return way;
        }
        let inside = match self.plan.switches[from].buffering {
            Buffering::Voq { output: Some(stage), .. } => stage.latency.ps(),
            _ => 0,
        };
        let mut longest = 0;
        for &port in self.routes.ports(SwitchId(from as u32), to) {
            let (link, end) = self.ports[from][usize::from(port)];
            let onwards = match self.plan.links[link].ends[1 - end] {
                NodeId::Host(_) => 0,
                NodeId::Switch(next) => self.way(next.0 as usize, to, frame, known),
            };
            longest = longest.max(inside + self.passage(link, frame) + onwards);
        }
        known[from] = Some(longest);
        longest
    }
}

/// How long it takes, in picoseconds, until `count` whole frames and a last one have passed links of these rates.
///
/// The frame before the last leaves link `k` when all links up to it have passed one frame each, and the slowest of them
/// all the others. The last one is held up there, for some `k`, and nowhere after.
fn pipeline(rates: &[Rate], count: u64, whole: Bytes, last: Bytes) -> u64 {
    let times = |size: Bytes| rates.iter().map(move |rate| rate.time_for(size).ps());
    let alone: u64 = times(last).sum();
    if count == 0 {
        return alone;
    }
    let (mut passed, mut slowest, mut left) = (0, 0, alone);
    let mut longest = 0;
    for (whole, last) in times(whole).zip(times(last)) {
        passed += whole;
        slowest = slowest.max(whole);
        longest = longest.max(passed + (count - 1) * slowest + left);
        left -= last;
    }
    longest
}

/// When a message starts, how much of it is payload, and what it takes at least.
pub(super) fn message(source: &Source) -> Option<(Instant, Bytes)> {
    let message = source.message?;
    let frames = message.get().div_ceil(source.frame.get());
    Some((source.start, Bytes::new(message.get().saturating_sub(frames * source.header.get()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against following every frame over every link.
        #[test]
        fn a_pipeline_takes_what_its_frames_take_one_by_one(
            gbps in prop::collection::vec(1u64..400, 1..6),
            count in 0u64..50,
            whole in 64u64..9000,
            last_percent in 1u64..=100,
        ) {
            let rates: Vec<Rate> = gbps.into_iter().map(Rate::from_gbps).collect();
            let last = (whole * last_percent / 100).max(1);
            let mut free = vec![0u64; rates.len()];
            for frame in 0..=count {
                let size = Bytes::new(if frame < count { whole } else { last });
                let mut ready = 0;
                for (rate, free) in rates.iter().zip(&mut free) {
                    *free = ready.max(*free) + rate.time_for(size).ps();
                    ready = *free;
                }
            }
            prop_assert_eq!(pipeline(&rates, count, Bytes::new(whole), Bytes::new(last)), *free.last().unwrap());
        }
    }
}
