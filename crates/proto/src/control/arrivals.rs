//! What each flow brings to a queue: the counters of congestion points that are fair by measuring.

use crate::units::Bytes;

/// Octets per flow, kept by the driver: how many flows there can be and where their counters lie is its to
/// say. A driver with little room may leave a flow out; such a flow is nobody's rival and never a culprit.
pub trait Arrivals {
    /// What a notification is addressed to.
    type Flow: Copy + PartialEq;
    /// A frame of this flow arrived.
    fn add(&mut self, flow: Self::Flow, frame: Bytes);
    /// What was added since the last turn is what is measured from now on; adding starts anew.
    fn turn(&mut self);
    /// Every flow that brought something between the last two turns, and how many octets: each flow once,
    /// and in an order that depends on nothing but the calls made.
    fn measured(&self) -> impl Iterator<Item = (Self::Flow, u64)>;
}

/// How much flows brought together, and how many they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) octets: u128,
    pub(super) flows: u128,
}

impl Crowd {
    pub(super) fn of(octets: impl Iterator<Item = u64>) -> Crowd {
        octets.fold(Crowd::default(), |crowd, octets| Crowd {
            octets: crowd.octets + u128::from(octets),
            flows: crowd.flows + 1,
        })
    }

    /// Whether a flow brought at least an equal share.
    pub(super) fn is_reached_by(self, octets: u64) -> bool {
        u128::from(octets) * self.flows >= self.octets
    }
}

#[cfg(test)]
pub(super) mod counters {
    use super::*;
    use std::vec::Vec;

    /// As simple as it gets: flow n has entry n.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Counters {
        added: Vec<u64>,
        measured: Vec<u64>,
    }

    impl Arrivals for Counters {
        type Flow = usize;

        fn add(&mut self, flow: usize, frame: Bytes) {
            if self.added.len() <= flow {
                self.added.resize(flow + 1, 0);
            }
            self.added[flow] += frame.get();
        }

        fn turn(&mut self) {
            self.measured = std::mem::take(&mut self.added);
        }

        fn measured(&self) -> impl Iterator<Item = (usize, u64)> {
            self.measured.iter().copied().enumerate().filter(|(_, octets)| *octets > 0)
        }
    }
}
