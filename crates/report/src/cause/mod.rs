//! Who held whom, from when to when, because of which queue.
//!
//! A port is held by the input at the other end of its link; that input stopped it because it was full of frames
//! for some port of its own switch; and that port may be held in its turn. [`holds`] reads these edges from a
//! recording, [`Edges`] adds them up over a window, [`Edges::chain`] follows them to the port they are rooted at,
//! and [`Why`] says of one flow what of all this concerned it.

mod path;
mod why;
mod words;

#[cfg(test)]
mod tests;

pub use why::{Limiter, Loss, Notifier, Queue, Rooted, Step, Why, Worst};

use quell_record::claim::Window;
use quell_record::{Catalog, EntityClass, EntityId, EntityKind, EventKind, Recording};
use std::collections::BTreeMap;

/// One port was held for a while, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The port that could not send.
    pub port: EntityId,
    /// The input that stopped it, if the recording knows of it.
    pub input: Option<EntityId>,
    /// The queue that filled that input; `None` if it is a host's, or if nobody recorded it.
    pub cause: Option<EntityId>,
    /// From when, in picoseconds.
    pub from_ps: u64,
    /// To when; later than `from_ps`.
    pub to_ps: u64,
}

/// Everything that was held in a recording. Of a port, holds follow one another and do not overlap.
pub fn holds(recording: &Recording) -> Vec<Hold> {
    let stoppers = stoppers(&recording.catalog);
    let stopped: BTreeMap<EntityId, EntityId> =
        stoppers.iter().map(|(&port, &input)| (input, port)).collect();
    let mut causes: BTreeMap<EntityId, Option<EntityId>> = BTreeMap::new();
    let mut open: BTreeMap<EntityId, Hold> = BTreeMap::new();
    let mut closed = Vec::new();
    let mut close = |hold: Option<Hold>, to_ps: u64| {
        closed.extend(hold.filter(|it| it.from_ps < to_ps).map(|it| Hold { to_ps, ..it }));
    };
    for event in &recording.events {
        let (at, entity) = (event.at.ps(), event.entity);
        match event.kind {
            EventKind::Stop => {
                causes.insert(entity, event.cause);
                // A peer that is held already goes on being held, perhaps for another reason.
                let port = stopped.get(&entity);
                if let Some(hold) = port.and_then(|port| open.get_mut(port))
                    && hold.cause != event.cause
                {
                    close(Some(*hold), at);
                    (hold.from_ps, hold.cause) = (at, event.cause);
                }
            }
            EventKind::Paused => {
                let input = stoppers.get(&entity).copied();
                let cause = input.and_then(|input| causes.get(&input).copied().flatten());
                open.entry(entity).or_insert(Hold { port: entity, input, cause, from_ps: at, to_ps: at });
            }
            EventKind::Resumed => close(open.remove(&entity), at),
            _ => {}
        }
    }
    for hold in open.into_values() {
        close(Some(hold), recording.end().ps());
    }
    closed.sort_by_key(|hold| (hold.from_ps, hold.port));
    closed
}

/// For each port the input at the other end of its link, which alone can hold it.
fn stoppers(catalog: &Catalog) -> BTreeMap<EntityId, EntityId> {
    // What follows the two nodes in a name: the number of a parallel link, and the priority.
    let suffix = |name: &str, node: &str, peer: &str| {
        name.get(node.len() + 2 + peer.len()..).unwrap_or_default().to_owned()
    };
    let mut inputs = BTreeMap::new();
    for (id, entity) in catalog.iter() {
        if let EntityKind::Input { node, peer, .. } = &entity.kind {
            inputs.insert((peer.as_str(), node.as_str(), suffix(&entity.name, node, peer)), id);
        }
    }
    let input_of = |(id, entity): (EntityId, &quell_record::Entity)| match &entity.kind {
        EntityKind::Port { node, peer, .. } => {
            let key = (node.as_str(), peer.as_str(), suffix(&entity.name, node, peer));
            inputs.get(&key).map(|&input| (id, input))
        }
        _ => None,
    };
    catalog.iter().filter_map(input_of).collect()
}

/// How long ports were held in a window, by whom and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// For each port that was held, the reasons, the longest first.
    of: BTreeMap<EntityId, Vec<Edge>>,
}

/// One reason a port was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The input that stopped it.
    pub input: Option<EntityId>,
    /// The queue that filled the input.
    pub cause: Option<EntityId>,
    /// For how long, in picoseconds.
    pub held_ps: u64,
}

/// Where a chain of holds ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// At a port that nobody holds, or hardly: it is sent more than it can carry.
    Port(EntityId),
    /// At a host's receive buffer: the host takes frames in too slowly.
    Receiver(EntityId),
    /// At a port that the chain had already passed: they hold each other.
    Cycle(EntityId),
    /// At a port of which nobody recorded why it was held.
    Unknown(EntityId),
}

impl Edges {
    /// A port that is held for less than this share of the time that it makes another wait is not held by its own
    /// successor in any way that matters: it is a root.
    const MATTERS: f64 = 0.1;

    /// Adds up what lies within a window.
    pub fn of(holds: &[Hold], window: Window) -> Edges {
        let mut sums: BTreeMap<(EntityId, Option<EntityId>, Option<EntityId>), u64> = BTreeMap::new();
        for hold in holds {
            let shared = hold.to_ps.min(window.to_ps).saturating_sub(hold.from_ps.max(window.from_ps));
            if shared > 0 {
                *sums.entry((hold.port, hold.input, hold.cause)).or_default() += shared;
            }
        }
        let mut of: BTreeMap<EntityId, Vec<Edge>> = BTreeMap::new();
        for ((port, input, cause), held_ps) in sums {
            of.entry(port).or_default().push(Edge { input, cause, held_ps });
        }
        for edges in of.values_mut() {
            edges.sort_by_key(|edge| std::cmp::Reverse(edge.held_ps));
        }
        Edges { of }
    }

    /// Why a port was held, the longest reason first; nothing if it was not.
    pub fn reasons(&self, port: EntityId) -> &[Edge] {
        self.of.get(&port).map_or(&[], Vec::as_slice)
    }

    /// For how long a port was held, for whatever reason.
    pub fn held_ps(&self, port: EntityId) -> u64 {
        self.reasons(port).iter().map(|edge| edge.held_ps).sum()
    }

    /// From a port along the longest reasons to their root; none if the port was not held. Ports come in order,
    /// the root not among them unless it was held itself.
    pub fn chain(&self, port: EntityId, catalog: &Catalog) -> Option<(Vec<EntityId>, Root)> {
        let mut passed = vec![port];
        let mut here = port;
        loop {
            let reason = self.reasons(here).first()?;
            let Some(next) = reason.cause else {
                let receiver = reason.input.filter(|&input| is_receiver(catalog, input));
                return Some((passed, receiver.map_or(Root::Unknown(here), Root::Receiver)));
            };
            if passed.contains(&next) {
                return Some((passed, Root::Cycle(next)));
            }
            if (self.held_ps(next) as f64) < self.held_ps(here) as f64 * Self::MATTERS {
                return Some((passed, Root::Port(next)));
            }
            passed.push(next);
            here = next;
        }
    }
}

/// Whether an input is a host's: no port of its node belongs to a switch.
fn is_receiver(catalog: &Catalog, input: EntityId) -> bool {
    let EntityKind::Input { node: holder, .. } = &catalog.get(input).kind else { return false };
    let mut ports = catalog.iter().filter(|(_, entity)| entity.class() == EntityClass::Port);
    !ports.any(|(_, entity)| {
        matches!(&entity.kind, EntityKind::Port { node, of_switch: true, .. } if node == holder)
    })
}
