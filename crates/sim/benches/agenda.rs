//! What the agenda takes by itself to book an event and take one out, however many are pending. Whole runs are measured by
//! `quell bench`.
//!
//! ```text
//! cargo bench -p quell-sim
//! ```
//!
//! Instructions are counted by valgrind (callgrind), under which this program runs itself a second and third time:
//! once with the turns, once with only what comes before them. They are the same from run to run, so a change of a percent
//! is a change; wall time is the best of five and depends on the machine. Without valgrind that column stays empty.

#[expect(dead_code, reason = "the agenda is private to the kernel; here it runs by itself")]
#[path = "../src/kernel"]
mod kernel {
    pub(crate) mod agenda;
    mod hand;
    mod heap;
}

use kernel::agenda::{Agenda, Hoods, Lane, LaneKind};
use quell_proto::dice::Dice;
use quell_proto::units::{Duration, Instant};
use std::env;
use std::hint::black_box;
use std::process::Command;
use std::time;

const PENDING: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Events of each node.
const PER_NODE: u64 = 32;
/// Turns under the clock; a tenth of them under valgrind.
const TURNS: u64 = 5_000_000;

#[expect(clippy::print_stdout, reason = "a table is what it is for")]
fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, pending, turns] = &arguments[..]
        && flag == "--counted"
    {
        turn_over(pending.parse().expect("a number"), turns.parse().expect("a number"));
        return;
    }
    println!("{:>9} {:>12} {:>12}", "pending", "ns/turn", "instr/turn");
    for pending in PENDING {
        let ns = best_of_five(|| turn_over(pending, TURNS)) / to_float(TURNS);
        let counted = instructions(pending).map(|all| to_float(all) / to_float(TURNS / 10));
        let counted = counted.map_or_else(|| "-".to_owned(), |count| format!("{count:.1}"));
        println!("{pending:9} {ns:12.1} {counted:>12}");
    }
}

/// Keeps `pending` events booked, a few dozen for each node as in a switch, spread over about as many frame times as a busy
/// network has, and turns them over.
fn turn_over(pending: u64, turns: u64) {
    // A 10 Gb/s port has an event about every 600 ns.
    let (span, lookahead) = (1_200_000, 1_000_000);
    let mut dice = Dice::new(1, 2, 3);
    let nodes = u32::try_from(pending.div_ceil(PER_NODE)).expect("a small number");
    let mut agenda = Agenda::new(Hoods { of: (0..nodes).collect(), window: Duration::from_ps(lookahead) });
    let lane = Lane::new(LaneKind::Transmit, 0);
    for number in 0..u32::try_from(pending).expect("a small number") {
        agenda.book(Instant::from_ps(dice.below(span)), number % nodes, lane);
    }
    for _ in 0..turns {
        let (was, node) = next(&mut agenda);
        let at = was + Duration::from_ps(600_000 + (was.ps() ^ u64::from(node)) % 1_200_000);
        agenda.book(at, node, lane);
    }
    black_box(&agenda);
}

/// Takes out the next event: when it is, and whose.
fn next(agenda: &mut Agenda) -> (Instant, u32) {
    loop {
        if let Some(node) = agenda.whose_turn()
            && let Some((at, _)) = agenda.next_of_lone().expect("none comes too late")
        {
            return (at, node);
        }
        let turn = agenda.pass_on(Instant::NEVER).expect("none comes too late");
        turn.expect("as many as were booked");
    }
}

/// The shortest of five runs, in nanoseconds.
fn best_of_five(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = time::Instant::now();
        work();
        best = best.min(begun.elapsed().as_secs_f64() * 1e9);
    }
    best
}

/// Instructions of a tenth of the turns, less those before them; `None` without valgrind.
fn instructions(pending: u64) -> Option<u64> {
    let count = |turns: u64| -> Option<u64> {
        let program = env::current_exe().ok()?;
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["--counted", &pending.to_string(), &turns.to_string()])
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    Some(count(TURNS / 10)?.saturating_sub(count(0)?))
}

#[expect(clippy::cast_precision_loss, reason = "a table shows four digits")]
fn to_float(number: u64) -> f64 {
    number as f64
}
