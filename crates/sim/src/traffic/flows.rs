//! Flows as a list: who sends how much to whom, from when on. Pure functions of parameters and a number to draw from.

use super::{Sizes, exponential_ps, uniform};
use crate::model::stream;
use crate::scenario::plan::HostId;
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration, Instant, Rate};

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedFlow {
    /// When it starts.
    pub start: Instant,
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// How much, in octets of payload.
    pub size: Bytes,
}

/// What the streams of draws here are for; model streams have other names.
mod purpose {
    pub(super) const DECK: u64 = 0x6465_636b;
    pub(super) const ARRIVALS: u64 = 0x666c_6f77;
}

/// Hosts in an order drawn at random. Clusters are dealt from its top and incasts from its bottom, so that the two share
/// no host while there are enough.
pub fn deck(hosts: &[HostId], draw: u64) -> Vec<HostId> {
    let mut deck = hosts.to_vec();
    let mut dice = Dice::new(draw, 0, purpose::DECK);
    for last in (1..deck.len()).rev() {
        let chosen = usize::try_from(dice.below(last as u64 + 1)).expect("an index");
        deck.swap(last, chosen);
    }
    deck
}

/// Where each of so many hosts sends in a permutation of them: the next on one ring through all, in an order that a draw
/// gives.
pub fn ring(count: usize, draw: u64) -> Vec<HostId> {
    // Draws are counted from 1, in the half that the numbers of hosts leave free.
    let which = draw.wrapping_sub(1).rotate_left(32);
    let mut order: Vec<u32> = (0..count).filter_map(|host| u32::try_from(host).ok()).collect();
    order.sort_by_key(|host| (stream::mix((u64::from(*host) + 1) ^ which), *host));
    let mut next = vec![HostId(0); order.len()];
    for (host, after) in order.iter().zip(order.iter().cycle().skip(1)) {
        next[*host as usize] = HostId(*after);
    }
    next
}

/// The first `count` groups of `size` hosts of a deck; fewer where it runs out.
pub fn clusters(deck: &[HostId], count: usize, size: usize) -> Vec<&[HostId]> {
    deck.chunks_exact(size.max(1)).take(count).collect()
}

/// Receivers with `fan_in` senders each, from the bottom of a deck; fewer where it runs out.
pub fn incasts(deck: &[HostId], count: usize, fan_in: usize) -> Vec<(HostId, &[HostId])> {
    deck.rchunks_exact(fan_in + 1).take(count).map(|group| (group[0], &group[1..])).collect()
}

/// Flows that come at random, each host of a group sending to the others of it.
#[derive(Clone, Copy, Debug)]
pub struct PoissonFlows<'a> {
    /// How large they are.
    pub sizes: &'a Sizes,
    /// Octets of payload offered by a host, on average, over what its link carries.
    pub load: f64,
    /// From when on they come.
    pub start: Instant,
    /// Until when.
    pub stop: Instant,
}

impl PoissonFlows<'_> {
    /// Mean time between the flows of a host with this link, in picoseconds.
    pub fn mean_gap_ps(&self, line: Rate) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
        let line = line.bps() as f64;
        self.sizes.mean() * 8.0 * 1e12 / (self.load * line)
    }

    /// How many flows to expect of so many hosts with this link.
    pub fn expected(&self, hosts: usize, line: Rate) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (hosts, span) = (hosts as f64, self.stop.saturating_since(self.start).ps() as f64);
        hosts * span / self.mean_gap_ps(line)
    }

    /// The flows of a group, by host and then by time. A host's flows depend on its own stream of draws, and on who else
    /// is in its group only in whom they go to.
    pub fn of_group(&self, group: &[HostId], line: impl Fn(HostId) -> Rate, draw: u64) -> Vec<ListedFlow> {
        let mut flows = Vec::new();
        if group.len() < 2 {
            return flows;
        }
        for (place, &from) in group.iter().enumerate() {
            let mean = self.mean_gap_ps(line(from));
            let mut dice = Dice::new(draw, u64::from(from.0), purpose::ARRIVALS);
            let mut at = self.start;
            loop {
                at = at + Duration::from_ps(exponential_ps(&mut dice, mean));
                if at >= self.stop {
                    break;
                }
                // Any of the others: those from its own place on are one further.
                let other = usize::try_from(dice.below(group.len() as u64 - 1)).expect("an index");
                let to = group[if other < place { other } else { other + 1 }];
                flows.push(ListedFlow {
                    start: at,
                    from,
                    to,
                    size: Bytes::new(self.sizes.at(uniform(&mut dice))),
                });
            }
        }
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LINE: Rate = Rate::from_gbps(100);

    fn hosts(count: u32) -> Vec<HostId> {
        (0..count).map(HostId).collect()
    }

    fn web_search() -> Sizes {
        Sizes::parse("websearch", include_str!("../../../../scenarios/data/cdf/websearch_dctcp.csv")).unwrap()
    }

    fn half_load(sizes: &Sizes) -> PoissonFlows<'_> {
        PoissonFlows {
            sizes,
            load: 0.5,
            start: Instant::START,
            stop: Instant::START + Duration::from_ms(100),
        }
    }

    #[test]
    fn a_deck_holds_every_host_once_in_an_order_of_its_draw() {
        let deck = deck(&hosts(100), 7);
        assert_eq!(deck.iter().collect::<BTreeSet<_>>().len(), 100);
        assert_ne!(deck, hosts(100));
        assert_eq!(deck, super::deck(&hosts(100), 7));
        assert_ne!(deck, super::deck(&hosts(100), 8));
    }

    #[test]
    fn every_place_of_a_deck_is_as_likely_for_a_host() {
        let mut places = [0; 5];
        for draw in 0..5_000 {
            places[deck(&hosts(5), draw).iter().position(|host| *host == HostId(0)).unwrap()] += 1;
        }
        assert!(places.iter().all(|count| (900..1_100).contains(count)), "{places:?}");
    }

    /// The congestion isolation experiment: 50 clusters of 21, and 4 incasts of 20 to 1, of 1152 hosts.
    #[test]
    fn clusters_and_incasts_share_no_host_while_there_are_enough() {
        let deck = deck(&hosts(1152), 1);
        let clusters = clusters(&deck, 50, 21);
        let incasts = incasts(&deck, 4, 20);
        assert_eq!((clusters.len(), incasts.len()), (50, 4));
        let mut seen: BTreeSet<HostId> = clusters.concat().into_iter().collect();
        assert_eq!(seen.len(), 1050);
        for (to, from) in incasts {
            assert_eq!(from.len(), 20);
            assert!(seen.insert(to) && from.iter().all(|host| seen.insert(*host)));
        }
    }

    #[test]
    fn flows_of_a_cluster_offer_their_load_and_stay_in_it() {
        let sizes = web_search();
        let process = half_load(&sizes);
        let group: Vec<HostId> = (100..140).map(HostId).collect();
        let flows = process.of_group(&group, |_| LINE, 1);
        let expected = process.expected(group.len(), LINE);
        assert!((flows.len() as f64 / expected - 1.0).abs() < 0.03, "{} of {expected}", flows.len());
        let offered: u64 = flows.iter().map(|flow| flow.size.get()).sum();
        let load = offered as f64 * 8.0 / (40.0 * 100e9 * 0.1);
        assert!((load - 0.5).abs() < 0.02, "{load}");
        assert!(flows.iter().all(|flow| group.contains(&flow.to) && flow.from != flow.to));
        assert!(flows.iter().all(|flow| flow.start < process.stop));
        let receivers: BTreeSet<_> = flows.iter().map(|flow| flow.to).collect();
        assert_eq!(receivers.len(), group.len());
    }

    #[test]
    fn another_host_shifts_nobody_elses_flows() {
        let sizes = web_search();
        let flows = |count| half_load(&sizes).of_group(&hosts(count), |_| LINE, 1);
        let starts = |flows: Vec<ListedFlow>| {
            let of_first = flows.into_iter().filter(|flow| flow.from == HostId(0));
            of_first.map(|flow| (flow.start, flow.size)).collect::<Vec<_>>()
        };
        assert_eq!(starts(flows(10)), starts(flows(11)));
    }

    #[test]
    fn a_host_alone_sends_to_nobody() {
        let sizes = web_search();
        assert!(half_load(&sizes).of_group(&hosts(1), |_| LINE, 1).is_empty());
    }
}
