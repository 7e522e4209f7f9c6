//! Why one flow was slow, in sentences.

use super::why::{Limiter, Queue, Rooted, Step, Why};
use crate::unit::Unit;
use std::fmt::{self, Write as _};

/// Paragraphs, one for each thing that can slow a flow, each ending a line.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.outcome())?;
        writeln!(f, "{}", self.limiting())?;
        writeln!(f, "{}", self.holding())?;
        if let Some(queue) = &self.longest_queue {
            writeln!(f, "{}", waiting(queue))?;
        }
        write!(f, "{}", self.verdict())
    }
}

impl Why {
    /// Less than this share of the time is not worth blaming.
    const MATTERS: f64 = 0.05;
    /// A flow that got this share of what it wanted was not slow.
    const ENOUGH: f64 = 0.97;

    fn outcome(&self) -> String {
        let got = rate(self.delivered_bps);
        let mut text = match self.wanted() {
            None => format!("Its source sends whatever it can; it got {got}."),
            Some(0.0) => format!("Its source offered nothing in this time; it got {got}."),
            Some(wanted) => {
                let part = percent(self.delivered_bps / wanted);
                format!("It wanted {} and got {got}, {part} of it.", rate(wanted))
            }
        };
        if self.lost_frames > 0.0 {
            let _ =
                write!(text, " {} of its frames were lost on the way", Unit::Count.show(self.lost_frames));
            let places = self.lost_at.iter().take(3);
            let places: Vec<String> =
                places.map(|it| format!("{} at {}", Unit::Count.show(it.frames), it.place)).collect();
            if places.is_empty() {
                text.push('.');
            } else {
                let _ = write!(text, "; of all flows, frames were dropped {}.", places.join(", "));
            }
        }
        if let Some(worst) = &self.worst {
            let [from, to] = worst.over_seconds.map(|it| Unit::Seconds.show_stated(it).replace(' ', ""));
            let _ = write!(
                text,
                "\nIt was slowest from {from} to {to}, with {}, {} of {}; `--over {from}..{to}` looks at that time alone.",
                rate(worst.delivered_bps),
                percent(worst.delivered_bps / worst.wanted_bps.max(1.0)),
                if self.demand_bps.is_some() { "what it wanted" } else { "its average" },
            );
        }
        text
    }

    /// What it would have got, left alone.
    fn wanted(&self) -> Option<f64> {
        self.wanted_bps
    }

    fn limiting(&self) -> String {
        let Limiter { share, mean_bps, least_bps, notifiers, is_shared, is_earlier } = &self.limiter;
        if *share == 0.0 {
            return "No limiter held it.".to_owned();
        }
        let mut text = format!(
            "Its limiter held it {} of the time, to {} on average and {} at the lowest",
            percent(*share),
            rate(*mean_bps),
            rate(*least_bps)
        );
        let total: usize = notifiers.iter().map(|it| it.count).sum();
        let named: Vec<String> =
            notifiers.iter().take(3).map(|it| format!("{} from {}", it.count, it.point)).collect();
        let whose = if *is_shared { " for other flows of the same limiter" } else { "" };
        let what = if *is_earlier { "earlier notification" } else { "notification" };
        match (total, notifiers.len()) {
            (0, _) => text.push_str("; whose notifications those were is not in the recording."),
            (_, 1) => {
                let _ = write!(text, ", by {} from {}{whose}.", counted(total, what), notifiers[0].point);
            }
            (_, points) => {
                let rest = if points > 3 { ", others from elsewhere" } else { "" };
                let _ = write!(text, ", by {}{whose}: {}{rest}.", counted(total, what), named.join(", "));
            }
        }
        text
    }

    fn holding(&self) -> String {
        let Some(root) = &self.root else {
            return "Its own port was never held paused.".to_owned();
        };
        let mut lines: Vec<String> = Vec::new();
        for (place, step) in self.held.iter().enumerate() {
            let who = if place == 0 { format!("Its own port {}", step.port) } else { step.port.clone() };
            lines.push(format!("{}{who} {}", "  ".repeat(place), held(step)));
        }
        lines.push(format!("{}{}", "  ".repeat(self.held.len()), rooted(root)));
        lines.join("\n")
    }

    fn verdict(&self) -> String {
        let wanted = self.wanted();
        if wanted == Some(0.0) {
            return "So there is nothing to explain.\n".to_owned();
        }
        if wanted.is_some_and(|wanted| self.delivered_bps >= wanted * Self::ENOUGH) {
            return "So it was not slow.\n".to_owned();
        }
        let held = self.held.first().map_or(0.0, |step| step.share);
        let mut reasons: Vec<(f64, String)> = Vec::new();
        if self.limiter.share >= Self::MATTERS {
            let by = self
                .limiter
                .notifiers
                .first()
                .map_or_else(String::new, |it| format!(" by notifications of {}", it.point));
            reasons.push((self.limiter.share, format!("its source was limited{by}")));
        }
        if held >= Self::MATTERS {
            reasons.push((held, format!("it was held paused, {}", self.root_in_words())));
        }
        if self.lost_frames > 0.0 {
            reasons.push((0.0, "frames were lost".to_owned()));
        }
        reasons.sort_by(|a, b| b.0.total_cmp(&a.0));
        let reasons: Vec<String> = reasons.into_iter().map(|(_, reason)| reason).collect();
        match (reasons.is_empty(), wanted, &self.longest_queue) {
            (false, ..) => format!("So it was slow because {}.\n", reasons.join(", and because ")),
            (true, Some(_), Some(queue)) => {
                format!("So it was slow because it shared {} with others.\n", queue.port)
            }
            (true, Some(_), None) => "So what slowed it is not in the recording.\n".to_owned(),
            (true, None, _) => {
                "So nothing but its own links and those who share them slowed it.\n".to_owned()
            }
        }
    }

    fn root_in_words(&self) -> String {
        match &self.root {
            Some(Rooted::Port { queue, is_on_path, .. }) => match is_on_path {
                Some(false) => format!("rooted at {}, which it does not pass: it is a victim", queue.port),
                Some(true) => format!("rooted at {}, which it passes", queue.port),
                None => format!("rooted at {}", queue.port),
            },
            Some(Rooted::Receiver { input, is_own: true, .. }) => {
                format!("rooted at its own receiver, {input}")
            }
            Some(Rooted::Receiver { input, .. }) => {
                format!("rooted at {input}, which is not its receiver: it is a victim")
            }
            Some(Rooted::Cycle { port }) => format!("in a circle of pauses through {port}"),
            Some(Rooted::Unknown { .. }) | None => "for a reason that is not in the recording".to_owned(),
        }
    }
}

/// What follows the name of a port: by whom it was held, and why.
fn held(step: &Step) -> String {
    let mut text = format!("was held paused {} of the time by {}", percent(step.share), step.by);
    match &step.cause {
        Some(cause) if step.cause_share > 0.995 => {
            let _ = write!(text, ", whose input was full of frames for {cause};");
        }
        Some(cause) => {
            let others: Vec<String> = (step.others.iter().filter(|(_, share)| *share >= 0.005).take(2))
                .map(|(port, share)| format!("{port} {}", percent(*share)))
                .collect();
            let _ = write!(
                text,
                ", whose input was full of frames for {cause} ({} of that time",
                percent(step.cause_share)
            );
            if !others.is_empty() {
                let _ = write!(text, ", {}", others.join(", "));
            }
            text.push_str(");");
        }
        None => text.push(';'),
    }
    text
}

fn rooted(root: &Rooted) -> String {
    match root {
        Rooted::Port { queue, held_share, .. } => {
            let held = if *held_share == 0.0 {
                "nobody held".to_owned()
            } else {
                format!("hardly anybody held ({} of the time)", percent(*held_share))
            };
            format!("{}, which {held}, is the root: {}.", queue.port, service(queue))
        }
        Rooted::Receiver { input, taken_bps, .. } => {
            let host = input.split("<-").next().unwrap_or(input);
            format!("{host} is the root: it took in {} and let the rest wait.", rate(*taken_bps))
        }
        Rooted::Cycle { port } => format!("and that is {port} again: these ports hold each other."),
        Rooted::Unknown { port } => format!("why {port} was held is not in the recording."),
    }
}

fn service(queue: &Queue) -> String {
    let carried = rate(queue.carried_bps);
    let queued = Unit::Bytes.show(queue.mean_bytes);
    let Queue { link_bps, served_bps, slowest_bps, .. } = *queue;
    let slow = if served_bps >= link_bps * 0.995 {
        format!("it was served at the {} of its link", rate(link_bps))
    } else if slowest_bps >= served_bps * 0.98 {
        format!("it was served at {} (its link carries {})", rate(served_bps), rate(link_bps))
    } else {
        let (least, link) = (rate(slowest_bps), rate(link_bps));
        format!(
            "it was served at {least} at its slowest, {} on average (its link carries {link})",
            rate(served_bps)
        )
    };
    format!("{slow}, sent {carried}, and {queued} waited for it")
}

fn waiting(queue: &Queue) -> String {
    let wait = match queue.wait() {
        it if it.is_finite() => format!("in which a frame waited {}", Unit::Seconds.show(it)),
        _ => "of which nothing was sent".to_owned(),
    };
    format!(
        "Of the ports on its way {} took longest to pass: it held {} on average, {wait}.",
        queue.port,
        Unit::Bytes.show(queue.mean_bytes)
    )
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("one {thing}") } else { format!("{count} {thing}s") }
}

fn rate(bps: f64) -> String {
    Unit::BitsPerSecond.show(bps)
}

/// Whole percents, unless that would say none or all of what is neither.
fn percent(share: f64) -> String {
    let whole = share * 100.0;
    match whole.round() {
        _ if whole <= 0.0 => "0 %".to_owned(),
        rounded if rounded < 1.0 => "less than 1 %".to_owned(),
        rounded if rounded >= 100.0 && whole < 99.95 => format!("{whole:.1} %"),
        rounded => format!("{rounded:.0} %"),
    }
}
