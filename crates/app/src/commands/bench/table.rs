//! What was measured, for people.

use super::Measured;
use super::baseline::{Baseline, Verdict};
use crate::out::Paint;
use std::fmt::Write as _;

pub(super) fn render(now: &Baseline, before: Option<&Baseline>, verdict: Option<&Verdict>) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    let head = format!(
        "{:<28} {:>3} {:>11} {:>7} {:>8} {:>6} {:>8} {:>10} {:>8}  {}",
        "work", "thr", "hops", "ev/hop", "ns/hop", "rec", "in/hop", "memory", "set-up", "counts"
    );
    let _ = writeln!(text, "{}", paint.bold(&head));
    for work in &now.works {
        let alone = now.works.iter().find(|it| it.work == work.work && it.threads == 1);
        let _ = writeln!(text, "{}{}", row(work, paint), speed_up(work, alone));
        if let Some(before) = before.and_then(|before| before.find(work)) {
            let _ = writeln!(text, "{}", paint.dim(&change(work, before)));
        }
    }
    text.push_str(
        "\nA hop is a frame over a link; inside a fabric, a cell over a wire. ev, ns and in: events, nanoseconds (recording and all,\n\
         the best run) and instructions for each. rec: what recording adds to the time. counts: whether what other simulators count came out.\n",
    );
    let Some(verdict) = verdict else { return text };
    if let Some(excuse) = &verdict.excuse {
        let _ = writeln!(text, "{excuse}.");
    }
    for (work, percent) in &verdict.slower {
        let _ = writeln!(text, "{}", paint.red(&format!("{work} takes {percent:.1} % more instructions.")));
    }
    for (work, percent) in &verdict.faster {
        let _ = writeln!(
            text,
            "{work} takes {:.1} % fewer instructions: save the baseline anew to keep that.",
            -percent
        );
    }
    text
}

fn row(work: &Measured, paint: Paint) -> String {
    let instructions =
        work.instructions_per_hop.map_or_else(|| "-".to_owned(), |count| format!("{count:.0}"));
    let memory = work.peak_memory_bytes.map_or_else(|| "-".to_owned(), |it| format!("{} MB", it / 1_000_000));
    let recording =
        work.recording().map_or_else(|| "-".to_owned(), |share| format!("{:+.0} %", share * 100.0));
    format!(
        "{:<28} {:>3} {:>11} {:>7.2} {:>8.1} {recording:>6} {instructions:>8} {memory:>10} {:>6.2} s  {}",
        work.work,
        work.threads,
        work.hops(),
        work.events_per_hop,
        work.ns_per_hop,
        work.setup_seconds,
        match work.checks {
            Some(true) => paint.green("agree"),
            Some(false) => paint.red("DIFFER"),
            None => "-".to_owned(),
        }
    )
}

/// How much faster than one thread it was, if it had several and one was measured too.
fn speed_up(work: &Measured, alone: Option<&Measured>) -> String {
    match alone {
        Some(alone) if work.threads > 1 => {
            let bare = work.bare_speed_up_over(alone).map(|times| format!(", {times:.2} × unrecorded"));
            format!("  {:.2} × one thread{}", work.speed_up_over(alone), bare.unwrap_or_default())
        }
        _ => String::new(),
    }
}

/// What it was before, in the columns of what it is.
fn change(now: &Measured, before: &Measured) -> String {
    let percent = |now: f64, before: f64| format!("{:+.1}%", (now / before - 1.0) * 100.0);
    let instructions = match (now.instructions_per_hop, before.instructions_per_hop) {
        (Some(now), Some(before)) => percent(now, before),
        _ => String::new(),
    };
    let memory = match (now.peak_memory_bytes, before.peak_memory_bytes) {
        (Some(now), Some(before)) => percent(super::float(now), super::float(before)),
        _ => String::new(),
    };
    format!(
        "{:<28} {:>3} {:>11} {:>7} {:>8} {:>6} {instructions:>8} {:>10} {:>8}",
        "  since the baseline",
        "",
        "",
        percent(now.events_per_hop, before.events_per_hop),
        percent(now.ns_per_hop, before.ns_per_hop),
        "",
        memory,
        percent(now.setup_seconds, before.setup_seconds),
    )
}
