//! One run on several threads is the run on one thread, and both are the run in the order of time: to the digest, for every experiment
//! and any network.

use crate::conservation::{build, knobs};
use crate::fabric::multicast_over_cells;
use crate::network::quick_scenario;
use proptest::prelude::*;
use quell_proto::units::{Duration, Instant};
use quell_record::{Digester, EntityId, Event, FlowTotals, Quantity, Sink, Tap};
use quell_sim::kernel::{Broken, Control, run, run_tapped};
use quell_sim::scenario::plan::Plan;
use std::io::{self, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

/// What a run left behind and how it ended, on so many threads.
fn ends(plan: &Plan, seed: u64, threads: usize) -> (String, Result<(Instant, u64), Broken>) {
    let mut digester = Digester::new();
    let control = Control { threads, ..Control::default() };
    let outcome = run(plan, seed, &mut digester, &control);
    (digester.digest().to_string(), outcome.map(|outcome| (outcome.ended, outcome.frame_hops)))
}

/// Captures nothing.
struct Nobody;

impl Tap for Nobody {
    fn frame(&mut self, _at: Instant, _port: usize, _octets: &[u8], _length: usize) {
        unreachable!("no port is captured");
    }
}

/// The same with events in the order of time, as captures want them.
fn ends_in_order(plan: &Plan, seed: u64) -> (String, Result<(Instant, u64), Broken>) {
    let mut digester = Digester::new();
    let outcome = run_tapped(plan, seed, &mut digester, &Control::default(), &[], &mut Nobody);
    (digester.digest().to_string(), outcome.map(|outcome| (outcome.ended, outcome.frame_hops)))
}

/// A part of an experiment that is long enough for some ten thousand frames: what it changes comes ten times sooner.
fn sooner(plan: &Plan) -> Plan {
    const FRAMES: u64 = 40_000;
    let mut plan = plan.clone();
    let fabric = plan.fabric.iter().flat_map(|fabric| fabric.links.iter().map(|link| link.rate.bps()));
    let rate: u64 = plan.links.iter().map(|link| link.rate.bps()).chain(fabric).sum();
    let enough = Duration::from_ns(FRAMES * 12_000 * 1_000 / (rate / 1_000_000).max(1));
    if plan.length <= enough {
        return plan;
    }
    plan.length = enough;
    for change in &mut plan.changes {
        change.at = Instant::from_ps(change.at.ps() / 10);
    }
    for cut in &mut plan.cuts {
        *cut = Instant::from_ps(cut.ps() / 10);
    }
    plan.cuts.retain(|cut| cut.ps() <= plan.length.ps());
    plan.changes.retain(|change| change.at.ps() < plan.length.ps());
    plan
}

/// The experiments of the gallery, by name.
pub(crate) fn gallery() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut names = Vec::new();
    for family in std::fs::read_dir(&root).expect("the gallery is there").flatten() {
        let Ok(files) = std::fs::read_dir(family.path()) else { continue };
        for file in files.flatten() {
            if file.path().extension().is_some_and(|extension| extension == "toml") {
                let path = file.path();
                let name = path.strip_prefix(&root).expect("it lies there").with_extension("");
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    names
}

/// The beginning of three configurations of each; with `QUELL_IN_FULL` set, every configuration from beginning to end, as many at a
/// time as there are cores.
#[test]
fn every_experiment_is_the_same_on_any_number_of_threads() {
    let in_full = env::var_os("QUELL_IN_FULL").is_some();
    let mut jobs = Vec::new();
    for name in gallery() {
        let configurations = quick_scenario(&name).configurations;
        // The first, the last and one between them: they differ in scheme, PAUSE and traffic.
        let few = [0, configurations.len() / 2, configurations.len() - 1];
        let chosen =
            configurations.into_iter().enumerate().filter(|(index, _)| in_full || few.contains(index));
        jobs.extend(chosen.map(|(_, it)| {
            let plan = if in_full { it.plan } else { sooner(&it.plan) };
            (format!("{name} {}", it.name), plan)
        }));
    }
    let (next, divided) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let at_a_time = if in_full { thread::available_parallelism().map_or(1, NonZero::get) } else { 1 };
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                while let Some((name, plan)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    is_the_same_on_any_number_of_threads(name, plan);
                    divided.fetch_add(usize::from(plan.switches.len() > 1), Ordering::Relaxed);
                    if in_full {
                        let _ = writeln!(io::stderr(), "{name}: the same");
                    }
                }
            });
        }
    });
    let divided = divided.into_inner();
    assert!(divided > 20, "only {divided} networks can be cut");
}

fn is_the_same_on_any_number_of_threads(name: &str, plan: &Plan) {
    let alone = ends(plan, 1, 1);
    assert_eq!(alone, ends_in_order(plan, 1), "{name} in order");
    for threads in [2, 3, 5] {
        assert_eq!(alone, ends(plan, 1, threads), "{name} on {threads}");
    }
}

/// Listens for some samples, then panics.
struct Faint(usize);

impl Sink for Faint {
    fn begin_samples(&mut self, _at: Instant) {
        self.0 = self.0.checked_sub(1).expect("the sink is faint");
    }

    fn sample(&mut self, _entity: EntityId, _quantity: Quantity, _value: i64) {}
    fn event(&mut self, _event: Event) {}
    fn flow(&mut self, _flow: EntityId, _totals: FlowTotals) {}
}

#[test]
#[should_panic(expected = "the sink is faint")]
fn a_sink_that_panics_ends_a_run_on_several_threads() {
    let mut plan = multicast_over_cells();
    plan.sample = Duration::from_ps(plan.length.ps() / 20);
    let control = Control { threads: 3, ..Control::default() };
    let _ = run(&plan, 1, &mut Faint(2), &control);
}

#[test]
fn a_multicast_over_cells_is_the_same_on_any_number_of_threads() {
    let plan = multicast_over_cells();
    let alone = ends(&plan, 1, 1);
    assert!(alone.1.is_ok());
    assert_eq!(alone, ends_in_order(&plan, 1));
    for threads in [2, 3, 5, 8] {
        assert_eq!(alone, ends(&plan, 1, threads), "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_network_is_the_same_on_any_number_of_threads(knobs in knobs(), threads in 2usize..6) {
        let plan = build(knobs);
        let alone = ends(&plan, 1, 1);
        prop_assert_eq!(&alone, &ends_in_order(&plan, 1));
        prop_assert_eq!(alone, ends(&plan, 1, threads));
    }
}
