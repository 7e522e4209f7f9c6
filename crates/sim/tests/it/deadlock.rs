//! Pauses that wait for each other in a circle: found, named, and the same on any number of threads.

use crate::network::{quick_scenario, scenario};
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

/// The ring with congestion isolation at some of its switches only: the others know isolated frames by the priority of
/// their flows, and are told of them by pauses of that.
#[test]
fn a_circle_closes_through_switches_that_isolate_and_others_that_do_not() {
    let ring: Vec<String> =
        (1..=5).flat_map(|it| [format!("h{it}\", \"s{it}"), format!("s{it}\", \"s{}", it % 5 + 1)]).collect();
    let links: Vec<String> = ring.iter().map(|ends| format!("{{ ends = [\"{ends}\"] }}")).collect();
    let names = |letter: &str| (1..=5).map(|it| format!("\"{letter}{it}\"")).collect::<Vec<_>>().join(", ");
    for off in ["", "[switches.s2]\nisolation.mode = \"off\"\n[switches.s4]\nisolation.mode = \"off\""] {
        let text = format!(
            "title = \"t\"\nrun = {{ length = \"5ms\", sample = \"100us\", deadlock = \"risk\" }}\n\
             topology = {{ kind = \"graph\", hosts = [{}], switches = [{}], links = [{}] }}\n\
             traffic = [{{ from = \"*\", to = \"+2\" }}]\n[switch]\nkind = \"output-queued\"\nmemory = \"2MB\"\n\
             isolation = {{ mode = \"local\", low = \"5kB\", high = \"20kB\" }}\n\
             pause = {{ mode = \"pfc\", stop = \"40kB\", go = \"20kB\", both_stop = \"50kB\", both_go = \"30kB\" }}\n{off}",
            names("h"),
            names("s"),
            links.join(", "),
        );
        let request = quell_sim::scenario::Request::plain("t.toml", &text);
        let read = quell_sim::scenario::read(request).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = &read.configurations[0].plan;
        let (_, outcome) = ends(plan, 1);
        let Err(Broken::Deadlock { ports, .. }) = &outcome else { panic!("{off}: {outcome:?}") };
        assert_eq!(ports.join(" "), "s1->s2 s2->s3 s3->s4 s4->s5 s5->s1");
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

/// What people copy says nothing that is doubtful: neither of circles nor of memory that is too small.
#[test]
fn no_experiment_of_the_gallery_is_warned_of() {
    for name in crate::threads::gallery() {
        let warnings = scenario(&name, &[]).warnings;
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{name}: {}", warnings.join("\n"));
    }
}
