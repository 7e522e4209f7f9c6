//! Deadlock: ports that wait for each other in a circle, found while it runs.
//!
//! [`topology::waiting`](crate::topology::waiting) says before a run whether a circle can close. Here is seen whether it
//! did. Every input that has stopped its peer says what it holds for ports that are held themselves. It never lets its
//! peer go if that alone keeps it above its threshold, and if none of those ports is ever let go. What is left when all
//! the others are struck out, again and again, is held for good.
//!
//! That is looked at when samples are taken, when all parts of a network are at the same instant; so it is found on any
//! number of threads, at the same time.

use crate::model::Wait;
use crate::scenario::plan::{Deadlock, Plan};
use quell_proto::units::{Duration, Instant};
use quell_record::{EntityId, Event, EventKind, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// A circle that closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Circle {
    /// The ports, by their wires: each waits for the next, and the last for the first.
    pub(super) wires: Vec<u32>,
    /// The priority that waits, by its place among those of data, or all.
    data: Option<u8>,
    /// When the last of them was stopped.
    pub(super) closed: Instant,
}

/// Looks for circles at each sample of a run.
#[derive(Debug)]
pub(super) struct Lookout {
    rule: Deadlock,
    /// Circles that were told of.
    known: BTreeSet<Vec<u32>>,
    /// How many data priorities there are.
    priorities: u32,
}

impl Lookout {
    pub(super) fn of(plan: &Plan) -> Lookout {
        Lookout { rule: plan.deadlock, known: BTreeSet::new(), priorities: plan.priorities().len() as u32 }
    }

    /// What is told of a circle that closed by now; and it, if it ends the run.
    pub(super) fn look(&mut self, waits: &[Wait], at: Instant, sink: &mut dyn Sink) -> Option<Circle> {
        let circle = circle(waits)?;
        if !self.known.insert(circle.wires.clone()) {
            return None;
        }
        // The events of a sampling interval come before its end.
        let at = Instant::from_ps(at.ps().saturating_sub(Duration::from_ps(1).ps()));
        let data = circle.data.map_or(0, u32::from);
        let entity = |wire: u32| EntityId(wire * self.priorities + data);
        let next = circle.wires.iter().cycle().skip(1);
        let mut pairs: Vec<(u32, u32)> = circle.wires.iter().copied().zip(next.copied()).collect();
        pairs.sort_unstable();
        for (wire, next) in pairs {
            sink.event(Event {
                at,
                entity: entity(wire),
                kind: EventKind::Deadlock,
                flow: None,
                value: i64::try_from(circle.closed.ps()).unwrap_or(i64::MAX),
                cause: Some(entity(next)),
            });
        }
        (self.rule == Deadlock::Ends).then_some(circle)
    }
}

/// A circle among those who wait, if there is one.
fn circle(waits: &[Wait]) -> Option<Circle> {
    type Place = (u32, Option<u8>);
    let mut left: BTreeMap<Place, &Wait> = waits.iter().map(|wait| ((wait.wire, wait.data), wait)).collect();
    // Whom what is held for a port waits for, if that is still held.
    let holder = |left: &BTreeMap<Place, &Wait>, wire: u32, class: u8| {
        [(wire, Some(class)), (wire, None)].into_iter().find(|place| left.contains_key(place))
    };
    loop {
        let stuck = |wait: &&Wait| {
            let held = wait.held.iter().filter(|(wire, class, _)| holder(&left, *wire, *class).is_some());
            held.map(|(_, _, octets)| octets).sum::<u64>() >= wait.go.max(1)
        };
        let free: Vec<Place> =
            left.iter().filter(|(_, wait)| !stuck(wait)).map(|(place, _)| *place).collect();
        if free.is_empty() {
            break;
        }
        for place in free {
            left.remove(&place);
        }
    }
    // Whoever is left waits for somebody who is: following that leads round.
    let mut way = vec![*left.keys().next()?];
    loop {
        let last = left[way.last().expect("never empty")];
        let most = last.held.iter().filter_map(|(wire, class, octets)| {
            holder(&left, *wire, *class).map(|place| (*octets, std::cmp::Reverse(place)))
        });
        let (_, std::cmp::Reverse(next)) = most.max().expect("it is stuck");
        if let Some(start) = way.iter().position(|place| *place == next) {
            way.drain(..start);
            break;
        }
        way.push(next);
    }
    let first = way.iter().enumerate().min_by_key(|(_, place)| **place).map_or(0, |(index, _)| index);
    way.rotate_left(first);
    let closed = way.iter().map(|place| left[place].since).max().expect("never empty");
    Some(Circle { wires: way.iter().map(|(wire, _)| *wire).collect(), data: way[0].1, closed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(wire: u32, since: u64, held: &[(u32, u64)]) -> Wait {
        let held = held.iter().map(|(wire, octets)| (*wire, 0, *octets)).collect();
        Wait { wire, data: Some(0), since: Instant::from_ps(since), go: 1000, held }
    }

    #[test]
    fn a_circle_is_named_from_its_first_port_and_closed_when_its_last_was_stopped() {
        let waits = [wait(7, 10, &[(3, 1500)]), wait(3, 30, &[(5, 1500)]), wait(5, 20, &[(7, 1000)])];
        let found = circle(&waits).unwrap();
        assert_eq!((found.wires, found.closed.ps()), (vec![3, 5, 7], 30));
    }

    #[test]
    fn a_chain_of_waits_that_ends_somewhere_is_none() {
        assert_eq!(circle(&[wait(1, 0, &[(2, 1500)]), wait(2, 0, &[(3, 1500)]), wait(3, 0, &[])]), None);
    }

    #[test]
    fn an_input_that_will_fall_below_its_threshold_opens_the_circle() {
        assert_eq!(circle(&[wait(1, 0, &[(2, 999), (9, 5000)]), wait(2, 0, &[(1, 1500)])]), None);
        assert!(circle(&[wait(1, 0, &[(2, 1000), (9, 5000)]), wait(2, 0, &[(1, 1500)])]).is_some());
    }

    #[test]
    fn who_waits_for_a_circle_is_not_in_it() {
        let waits = [wait(0, 99, &[(1, 1500)]), wait(1, 5, &[(2, 1500)]), wait(2, 4, &[(1, 1500)])];
        let found = circle(&waits).unwrap();
        assert_eq!((found.wires, found.closed.ps()), (vec![1, 2], 5));
    }
}
