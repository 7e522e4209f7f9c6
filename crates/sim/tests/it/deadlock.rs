//! Pauses that wait for each other in a circle: found, named, and the same on any number of threads.

use crate::network::quick_scenario;
use quell_proto::units::Instant;
use quell_record::Digester;
use quell_sim::kernel::{Broken, Control, run};
use quell_sim::scenario::plan::{Deadlock, Plan};

fn plan(configuration: &str) -> Plan {
    let scenario = quick_scenario("isolation/deadlock");
    let found = scenario.configurations.into_iter().find(|it| it.name == configuration);
    found.expect("a configuration of that name").plan
}

fn ends(plan: &Plan, threads: usize) -> (String, Result<Instant, Broken>) {
    let mut digester = Digester::new();
    let control = Control { threads, ..Control::default() };
    let outcome = run(plan, 1, &mut digester, &control).map(|outcome| outcome.ended);
    (digester.digest().to_string(), outcome)
}

#[test]
fn a_circle_that_closes_ends_the_run_and_names_its_ports() {
    let mut plan = plan("circle");
    plan.deadlock = Deadlock::Ends;
    let (digest, outcome) = ends(&plan, 1);
    let Err(Broken::Deadlock { ports, closed, found }) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(ports.join(" "), "s1->s2 s2->s3 s3->s4 s4->s5 s5->s1");
    assert!(closed < found && found.ps() < plan.length.ps(), "{closed} {found}");
    for threads in [2, 3, 5] {
        assert_eq!(ends(&plan, threads), (digest.clone(), outcome.clone()), "on {threads} threads");
    }
}

#[test]
fn a_network_that_cannot_deadlock_is_not_watched() {
    assert_eq!(plan("circle").deadlock, Deadlock::Noted);
    assert_eq!(plan("open").deadlock, Deadlock::Impossible);
}

/// A circle of pauses that is only long, and opens again, is none: the same ring with hosts that stop in time.
#[test]
fn what_was_found_never_moves_again() {
    let mut plan = plan("circle");
    plan.deadlock = Deadlock::Ends;
    let (_, Err(Broken::Deadlock { found, .. })) = ends(&plan, 1) else { panic!("it closes") };
    plan.deadlock = Deadlock::Noted;
    for source in &mut plan.sources {
        source.stop = found;
    }
    let mut memory = quell_record::Memory::new(plan.catalog());
    run(&plan, 1, &mut memory, &Control::default()).expect("it goes on");
    let recording = memory.finish(true);
    let held = recording.catalog.iter().filter(|(_, it)| it.name.starts_with('s') && it.name.contains("->s"));
    let held: Vec<_> = held.filter(|(_, it)| !it.name.contains("->h")).map(|(id, _)| id).collect();
    let frames = |id| recording.series(id, quell_record::Quantity::TxFrames).expect("it is sampled");
    let silent = held.iter().filter(|id| frames(**id).last() == Some(&0)).count();
    // Five in the circle, and the five ports the other way round, which nobody uses.
    assert_eq!(silent, 10);
}
