//! How fast the simulator is: instructions and wall time, of the agenda alone and a hop of the `bench/*` works.
//!
//! One command prints the table:
//!
//! ```text
//! cargo bench -p quell-sim
//! cargo bench -p quell-sim -- lossless     # only works with this in their names
//! ```
//!
//! Instructions are counted by valgrind (callgrind), under which this program runs itself a second and third time:
//! once with the work, once with only what comes before it. They are the same from run to run, so a change of a percent is
//! a change; wall time is the best of five and depends on the machine. Without valgrind that column stays empty.

#[expect(dead_code, reason = "the agenda is private to the kernel; here it runs by itself")]
#[path = "../src/kernel/agenda.rs"]
mod agenda;

use agenda::{Agenda, Lane, LaneKind};
use quell_proto::dice::Dice;
use quell_proto::units::{Duration, Instant};
use quell_record::Memory;
use quell_sim::kernel::{Control, Outcome, run};
use quell_sim::scenario::plan::Plan;
use quell_sim::scenario::{Request, read};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

const WORKS: [&str; 7] = [
    "bench/incast-open",
    "bench/incast-lossless",
    "bench/permutation-open-16",
    "bench/permutation-open-128",
    "bench/permutation-open-1024",
    "qau/b1",
    "bench/rack-cells",
];
const PENDING: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// Turns of the agenda under the clock; a tenth of them under valgrind.
const TURNS: u64 = 5_000_000;

#[expect(clippy::print_stdout, reason = "a table is what it is for")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--counted", name, part] => {
            counted(name, part == "whole");
            return;
        }
        _ => {}
    }
    let is_wanted = |name: &str| arguments.iter().all(|part| name.contains(part.as_str()));
    println!("{:28} {:>9} {:>9} {:>12} {:>12}", "the agenda alone", "pending", "", "ns/turn", "instr/turn");
    for pending in PENDING.into_iter().filter(|_| is_wanted("agenda")) {
        let ns = best_of_five(|| turn_over(pending, TURNS)) / to_float(TURNS);
        let instructions =
            instructions(&format!("agenda:{pending}")).map(|all| to_float(all) / to_float(TURNS / 10));
        println!("{:28} {pending:9} {:>9} {ns:12.1} {}", "book and pop", "", shown(instructions));
    }
    println!();
    println!(
        "{:28} {:>9} {:>9} {:>12} {:>12}",
        "a run, recording on", "hops", "events/hop", "ns/hop", "instr/hop"
    );
    for work in WORKS.into_iter().filter(|work| is_wanted(work)) {
        let plan = plan(work, 1);
        let mut outcome = None;
        let ns = best_of_five(|| outcome = Some(simulate(&plan)));
        let Some(outcome) = outcome else { continue };
        let (count, hops) = (hops(&outcome), to_float(hops(&outcome)));
        // Counted over a shorter run, which has hops of its own.
        let short = to_float(self::hops(&simulate(&self::plan(work, SHORTER))));
        let instructions = instructions(work).map(|all| to_float(all) / short);
        println!(
            "{work:28} {count:9} {:9.3} {:12.1} {}",
            to_float(outcome.events) / hops,
            ns / hops,
            shown(instructions)
        );
    }
}

/// What a run is counted by: cells where there are any, twelve or so for each frame, else frames.
fn hops(outcome: &Outcome) -> u64 {
    if outcome.cell_hops > 0 { outcome.cell_hops } else { outcome.frame_hops }
}

/// How much shorter a run is under valgrind.
const SHORTER: u64 = 5;

/// What valgrind counts: the work, or only what comes before it.
fn counted(name: &str, whole: bool) {
    if let Some(pending) = name.strip_prefix("agenda:") {
        let pending = pending.parse().expect("a number");
        turn_over(pending, if whole { TURNS / 10 } else { 0 });
    } else {
        let plan = plan(name, SHORTER);
        if whole {
            simulate(&plan);
        }
    }
}

/// Keeps `pending` events booked, spread over about as many frame times as a busy network has, and turns them over.
fn turn_over(pending: u64, turns: u64) {
    // A 10 Gb/s port has an event about every 600 ns.
    let span = 1_200_000;
    let mut dice = Dice::new(1, 2, 3);
    let mut agenda = Agenda::new(pending * 1_000_000_000_000 / span);
    let lane = Lane::new(LaneKind::Transmit, 0);
    for node in 0..u32::try_from(pending).expect("a small number") {
        agenda.book(Instant::from_ps(dice.below(span)), node, lane);
    }
    for _ in 0..turns {
        let event = agenda.pop().expect("as many as were booked");
        let at = event.at + Duration::from_ps(600_000 + (event.at.ps() ^ u64::from(event.node)) % 1_200_000);
        agenda.book(at, event.node, lane);
    }
    black_box(&agenda);
}

fn simulate(plan: &Plan) -> Outcome {
    let mut memory = Memory::new(plan.catalog());
    let outcome = run(plan, 1, &mut memory, &Control::default()).expect("a work breaks nothing");
    black_box(&memory);
    outcome
}

fn plan(work: &str, shorter: u64) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{work}.toml"));
    let text = std::fs::read_to_string(&path).expect("a scenario of the gallery");
    let request = Request::plain(work, &text);
    let mut plan = read(request).expect("a scenario without mistakes").configurations.remove(0).plan;
    plan.length = Duration::from_ps(plan.length.ps() / shorter);
    plan.cuts.retain(|cut| cut.ps() <= plan.length.ps());
    plan
}

/// The shortest of five runs, in nanoseconds.
fn best_of_five(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = std::time::Instant::now();
        work();
        best = best.min(begun.elapsed().as_secs_f64() * 1e9);
    }
    best
}

/// Instructions of a work, less those before it; `None` without valgrind.
fn instructions(name: &str) -> Option<u64> {
    let count = |part: &str| -> Option<u64> {
        let program = std::env::current_exe().ok()?;
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["--counted", name, part])
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    Some(count("whole")?.saturating_sub(count("before")?))
}

fn shown(instructions: Option<f64>) -> String {
    instructions.map_or_else(|| format!("{:>12}", "-"), |count| format!("{count:12.1}"))
}

#[expect(clippy::cast_precision_loss, reason = "a table shows four digits")]
fn to_float(number: u64) -> f64 {
    number as f64
}
