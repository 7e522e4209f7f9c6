//! What each flow brings to one congestion point.

use quell_proto::control::arrivals::Arrivals;
use quell_proto::units::Bytes;

/// Octets per flow, by the number of the flow. A flow that brought nothing between two turns is forgotten with the
/// second, so that a congestion point knows those that pass by it and no others.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Vec<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    added: u64,
    measured: u64,
}

impl Arrivals for Tally {
    type Flow = u32;

    #[inline]
    fn add(&mut self, flow: u32, frame: Bytes) {
        match self.0.binary_search_by_key(&flow, |entry| entry.flow) {
            Ok(at) => self.0[at].added += frame.get(),
            Err(at) => self.0.insert(at, Entry { flow, added: frame.get(), measured: 0 }),
        }
    }

    fn turn(&mut self) {
        self.0.retain_mut(|entry| {
            entry.measured = std::mem::take(&mut entry.added);
            entry.measured > 0
        });
    }

    fn measured(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().filter(|entry| entry.measured > 0).map(|entry| (entry.flow, entry.measured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(tally: &Tally) -> Vec<(u32, u64)> {
        tally.measured().collect()
    }

    #[test]
    fn what_is_added_counts_from_the_next_turn_on_and_in_the_order_of_flows() {
        let mut tally = Tally::default();
        for (flow, octets) in [(7, 1500), (2, 64), (7, 500)] {
            tally.add(flow, Bytes::new(octets));
        }
        assert_eq!(measured(&tally), []);
        tally.turn();
        assert_eq!(measured(&tally), [(2, 64), (7, 2000)]);
        tally.add(9, Bytes::new(100));
        assert_eq!(measured(&tally), [(2, 64), (7, 2000)], "what is new does not count yet");
        tally.turn();
        assert_eq!(measured(&tally), [(9, 100)]);
    }

    #[test]
    fn a_flow_that_stays_away_is_forgotten() {
        let mut tally = Tally::default();
        tally.add(1, Bytes::new(100));
        tally.turn();
        tally.turn();
        assert!(tally.0.is_empty());
    }
}
