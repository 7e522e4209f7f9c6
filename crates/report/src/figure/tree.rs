//! A saturation tree over time: which ports are congested, which are held paused, and behind which queue.

use super::{Branch, Line};
use crate::cause::{Hold, holds};
use crate::metric::{PS, stats};
use quell_record::claim::Window;
use quell_record::{EntityId, EntityKind, Quantity, Recording};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A port is congested while its mean queue is longer than its link carries in this time: 62.5 kB at 10 Gb/s, about
/// twice the set point QCN is usually given.
const CONGESTED_SECONDS: f64 = 50e-6;
/// More rows than this a tree does not show.
const MOST_ROWS: usize = 24;

/// What the caption says of all trees.
pub(super) const LEGEND: &str = "Orange: congested, that is, its mean queue is longer than its link carries in 50 µs, \
    or an input that it fills holds its peer. Blue: held paused, so that nothing leaves. Each port stands under the \
    queue that filled the input that held it longest; all panels have the rows of all.";

/// What one run knows of one port of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Twig {
    /// The port.
    pub name: String,
    /// The queues because of which it was held, with seconds.
    pub causes: Vec<(String, f64)>,
    /// The share of each interval in which it was congested.
    pub congested: Vec<f64>,
    /// The share of each interval in which it was held.
    pub held: Vec<f64>,
}

/// Every port that was ever congested or held, in the order of the catalogue.
pub(super) fn take(recording: &Recording, ports: &[EntityId], buckets: &[Range<usize>]) -> Vec<Twig> {
    let Some((first, last)) = buckets.first().zip(buckets.last()) else { return Vec::new() };
    let (from, to) = recording.span(first.start..last.end);
    let window = Window { from_ps: from.ps(), to_ps: to.ps() };
    let ends: Vec<u64> = buckets.iter().map(|it| recording.span(it.clone()).1.ps()).collect();
    let clock = Clock { window, ends };
    let mut of_port: BTreeMap<EntityId, Vec<(u64, u64)>> = BTreeMap::new();
    let mut of_cause: BTreeMap<EntityId, Vec<(u64, u64)>> = BTreeMap::new();
    let mut seconds: BTreeMap<EntityId, BTreeMap<EntityId, f64>> = BTreeMap::new();
    for Hold { port, cause, from_ps, to_ps, .. } in holds(recording) {
        let (from, to) = (from_ps.max(window.from_ps), to_ps.min(window.to_ps));
        if from >= to {
            continue;
        }
        of_port.entry(port).or_default().push((from, to));
        if let Some(cause) = cause {
            of_cause.entry(cause).or_default().push((from, to));
            *seconds.entry(port).or_default().entry(cause).or_default() += (to - from) as f64 / PS;
        }
    }
    let name = |id: EntityId| recording.catalog.get(id).name.clone();
    let twig = |&port: &EntityId| {
        let held = clock.shares(of_port.get(&port).map_or(&[], Vec::as_slice));
        let filling = clock.shares(of_cause.get(&port).map_or(&[], Vec::as_slice));
        let queued = buckets.iter().map(|bucket| long_queue(recording, port, bucket.clone()));
        let congested: Vec<f64> = queued.zip(filling).map(|(queued, filling)| queued.max(filling)).collect();
        let causes = seconds.get(&port).into_iter().flatten();
        let is_calm = held.iter().chain(&congested).all(|share| *share == 0.0);
        (!is_calm).then(|| Twig {
            name: name(port),
            causes: causes.map(|(&cause, &seconds)| (name(cause), seconds)).collect(),
            congested,
            held,
        })
    };
    ports.iter().filter_map(twig).collect()
}

/// The share of some samples in which a switch's port had a long queue. What waits in an adapter waits by choice of
/// its host.
fn long_queue(recording: &Recording, port: EntityId, samples: Range<usize>) -> f64 {
    let EntityKind::Port { rate_bps, of_switch: true, .. } = recording.catalog.get(port).kind else {
        return 0.0;
    };
    let limit = rate_bps as f64 / 8.0 * CONGESTED_SECONDS;
    let is_long = samples.filter_map(|sample| {
        let queue = recording.value(port, Quantity::QueueMeanBytes, sample)? as f64;
        Some((if queue > limit { 1.0 } else { 0.0 }, recording.interval(sample).ps() as f64))
    });
    stats::weighted_mean(is_long).unwrap_or(0.0)
}

/// The intervals of a figure.
struct Clock {
    window: Window,
    /// Where each ends, in picoseconds.
    ends: Vec<u64>,
}

impl Clock {
    /// What share of each interval some spans cover, those that overlap counted once. Spans rise by their start.
    fn shares(&self, spans: &[(u64, u64)]) -> Vec<f64> {
        let mut covered = vec![0_u64; self.ends.len()];
        let mut done = self.window.from_ps;
        for &(from, to) in spans {
            let mut at = from.max(done);
            let mut index = self.ends.partition_point(|end| *end <= at);
            while at < to && index < self.ends.len() {
                let until = to.min(self.ends[index]);
                covered[index] += until - at;
                at = until;
                index += 1;
            }
            done = done.max(to);
        }
        let begins = std::iter::once(self.window.from_ps).chain(self.ends.iter().copied());
        let lengths = begins.zip(&self.ends).map(|(begin, end)| end.saturating_sub(begin).max(1));
        covered.iter().zip(lengths).map(|(&covered, length)| covered as f64 / length as f64).collect()
    }
}

/// One configuration's runs: where their intervals begin and end in seconds, and the ports of each run.
pub(super) struct Grove<'a> {
    pub(super) from: f64,
    pub(super) times: Vec<f64>,
    pub(super) runs: Vec<&'a [Twig]>,
}

/// The same rows for every configuration, from each root outward; and a sentence on what was left out.
pub(super) fn grow(groves: &[Grove<'_>]) -> (Vec<Vec<Branch>>, Option<String>) {
    let shape = Shape::of(groves);
    let (rows, left_out) = shape.rows();
    let note = (left_out > 0).then(|| {
        format!(
            "Of {} ports the {} busiest, and those they stand under, are shown.",
            shape.names.len(),
            rows.len()
        )
    });
    let panels = groves.iter().map(|grove| {
        let branch = |&(name, depth): &(&str, usize)| Branch {
            depth,
            congested: grove.line(name, |twig| &twig.congested),
            held: grove.line(name, |twig| &twig.held),
        };
        rows.iter().map(branch).collect()
    });
    (panels.collect(), note)
}

impl Grove<'_> {
    /// The mean over runs; a run that does not know the port was calm there.
    fn line(&self, name: &str, of: fn(&Twig) -> &Vec<f64>) -> Line {
        let value = |index: usize| {
            let at = |run: &&[Twig]| {
                let twig = run.iter().find(|twig| twig.name == name);
                twig.and_then(|twig| of(twig).get(index).copied()).unwrap_or(0.0)
            };
            stats::mean(&self.runs.iter().map(at).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        Line {
            name: name.to_owned(),
            from: self.from,
            times: self.times.clone(),
            values: (0..self.times.len()).map(value).collect(),
            band: None,
            colour: 0,
            dashed: false,
        }
    }
}

/// Who stands under whom, over all runs of all configurations.
struct Shape<'a> {
    /// Every port, in order of first appearance.
    names: Vec<&'a str>,
    /// How busy each was, summed over runs and intervals.
    weight: BTreeMap<&'a str, f64>,
    parent: BTreeMap<&'a str, &'a str>,
}

impl<'a> Shape<'a> {
    fn of(groves: &[Grove<'a>]) -> Shape<'a> {
        let mut names: Vec<&str> = Vec::new();
        let mut weight: BTreeMap<&str, f64> = BTreeMap::new();
        let mut causes: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for twig in groves.iter().flat_map(|grove| &grove.runs).copied().flatten() {
            if !weight.contains_key(twig.name.as_str()) {
                names.push(&twig.name);
            }
            *weight.entry(&twig.name).or_default() += twig.congested.iter().chain(&twig.held).sum::<f64>();
            for (cause, seconds) in &twig.causes {
                *causes.entry(&twig.name).or_default().entry(cause).or_default() += seconds;
            }
        }
        let longest = |(port, causes): (&'a str, BTreeMap<&'a str, f64>)| {
            let known = causes.into_iter().filter(|(cause, _)| weight.contains_key(cause));
            known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(cause, _)| (port, cause))
        };
        let parent = causes.into_iter().filter_map(longest).collect();
        Shape { names, weight, parent }
    }

    /// Ports with their depth, from each root outward, and how many were left out.
    fn rows(&self) -> (Vec<(&'a str, usize)>, usize) {
        let kept = self.kept();
        let mut rows: Vec<(&str, usize)> = Vec::new();
        let is_root = |name: &&&str| self.parent.get(**name).is_none_or(|parent| !kept.contains(parent));
        let mut roots: Vec<&str> = kept.iter().filter(is_root).copied().collect();
        let size = |root: &str| kept.iter().filter(|name| self.root_of(name) == root).count();
        roots.sort_by_key(|root| std::cmp::Reverse(size(root)));
        // Ports that hold each other in a circle have no root; the first of them serves as one.
        for start in roots.into_iter().chain(kept.iter().copied()) {
            self.descend(start, 0, &kept, &mut rows);
        }
        (rows, self.names.len() - kept.len())
    }

    fn descend(&self, name: &'a str, depth: usize, kept: &[&'a str], rows: &mut Vec<(&'a str, usize)>) {
        if rows.iter().any(|(row, _)| *row == name) {
            return;
        }
        rows.push((name, depth));
        for &child in kept.iter().filter(|child| self.parent.get(**child) == Some(&name)) {
            self.descend(child, depth + 1, kept, rows);
        }
    }

    /// The port that a port's parents lead to; in a circle, wherever the walk is when it notices.
    fn root_of(&self, name: &'a str) -> &'a str {
        let mut here = name;
        for _ in 0..self.names.len() {
            match self.parent.get(here) {
                Some(&parent) => here = parent,
                None => break,
            }
        }
        here
    }

    /// The busiest ports and all that they stand under, in order of appearance.
    fn kept(&self) -> Vec<&'a str> {
        let mut busiest = self.names.clone();
        busiest.sort_by(|a, b| self.weight[b].total_cmp(&self.weight[a]));
        let mut kept: Vec<&str> = Vec::new();
        for name in busiest {
            let mut way: Vec<&str> = Vec::new();
            let mut next = Some(name);
            while let Some(here) = next.filter(|here| !kept.contains(here) && !way.contains(here)) {
                way.push(here);
                next = self.parent.get(here).copied();
            }
            if kept.len() + way.len() <= MOST_ROWS {
                kept.extend(way);
            }
        }
        self.names.iter().copied().filter(|name| kept.contains(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twig(name: &str, causes: &[(&str, f64)], busy: f64) -> Twig {
        let causes = causes.iter().map(|(cause, seconds)| ((*cause).to_owned(), *seconds)).collect();
        Twig { name: name.to_owned(), causes, congested: vec![busy], held: vec![0.0] }
    }

    fn rows(twigs: &[Twig]) -> Vec<(String, usize)> {
        let grove = Grove { from: 0.0, times: vec![1.0], runs: vec![twigs] };
        let (panels, _) = grow(&[grove]);
        panels[0].iter().map(|branch| (branch.held.name.clone(), branch.depth)).collect()
    }

    fn named(rows: &[(&str, usize)]) -> Vec<(String, usize)> {
        rows.iter().map(|(name, depth)| ((*name).to_owned(), *depth)).collect()
    }

    #[test]
    fn rows_run_from_the_root_outward() {
        let twigs = [
            twig("lone", &[], 0.1),
            twig("h1->e1", &[("e1->core", 2.0), ("e1->h2", 1.0)], 0.5),
            twig("e1->core", &[("core->e3", 3.0)], 0.7),
            twig("core->e3", &[("e3->h7", 3.0)], 0.8),
            twig("e3->h7", &[], 1.0),
            twig("h8->e3", &[("e3->h7", 1.0)], 0.3),
        ];
        let expected =
            [("e3->h7", 0), ("core->e3", 1), ("e1->core", 2), ("h1->e1", 3), ("h8->e3", 1), ("lone", 0)];
        assert_eq!(rows(&twigs), named(&expected));
    }

    #[test]
    fn a_circle_of_pauses_is_drawn_once_and_does_not_hang() {
        let twigs = [
            twig("a->b", &[("b->c", 1.0)], 1.0),
            twig("b->c", &[("c->a", 1.0)], 1.0),
            twig("c->a", &[("a->b", 1.0)], 1.0),
        ];
        assert_eq!(rows(&twigs), named(&[("a->b", 0), ("c->a", 1), ("b->c", 2)]));
    }

    #[test]
    fn all_configurations_have_the_same_rows() {
        let (full, calm) = ([twig("a->b", &[], 1.0)], [twig("c->d", &[], 0.5)]);
        let grove = |twigs| Grove { from: 0.0, times: vec![1.0], runs: vec![twigs] };
        let (panels, note) = grow(&[grove(&full[..]), grove(&calm[..])]);
        let shape = |branches: &[Branch]| {
            branches.iter().map(|it| (it.held.name.clone(), it.congested.values[0])).collect::<Vec<_>>()
        };
        assert_eq!(shape(&panels[0]), [("a->b".to_owned(), 1.0), ("c->d".to_owned(), 0.0)]);
        assert_eq!(shape(&panels[1]), [("a->b".to_owned(), 0.0), ("c->d".to_owned(), 0.5)]);
        assert_eq!(note, None);
    }

    #[test]
    fn what_a_tree_leaves_out_is_said_and_parents_stay() {
        let mut twigs: Vec<Twig> =
            (0..40).map(|it| twig(&format!("p{it}"), &[("root", 1.0)], 1.0 + f64::from(it))).collect();
        twigs.push(twig("root", &[], 0.1));
        let grove = Grove { from: 0.0, times: vec![1.0], runs: vec![&twigs] };
        let (panels, note) = grow(&[grove]);
        assert_eq!(panels[0].len(), MOST_ROWS);
        assert_eq!((panels[0][0].held.name.as_str(), panels[0][0].depth), ("root", 0));
        assert_eq!(
            note.as_deref(),
            Some("Of 41 ports the 24 busiest, and those they stand under, are shown.")
        );
    }

    #[test]
    fn overlapping_spans_count_once() {
        let clock = Clock { window: Window { from_ps: 0, to_ps: 30 }, ends: vec![10, 20, 30] };
        assert_eq!(clock.shares(&[(0, 5), (2, 5), (4, 15), (29, 30)]), [1.0, 0.5, 0.1]);
        assert_eq!(clock.shares(&[]), [0.0, 0.0, 0.0]);
    }
}
