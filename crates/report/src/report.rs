//! Everything a page needs of an experiment, gathered by whoever ran it.

use crate::extract::{Extract, FlowRow, PortRow, Totals};
use crate::fairness::FairnessRow;
use crate::figure::Figure;
use crate::judge::Verdict;
use crate::metric::stats;
use serde::{Deserialize, Serialize};

/// One experiment: what it claims, what it measured, how it was made. This is also the form for machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The short name it is run by.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// The source it follows: document and page.
    pub shows: String,
    /// What it is about, in paragraphs.
    pub about: String,
    /// What its source says, in paragraphs.
    #[serde(default)]
    pub says: String,
    /// Where what comes out differs from the source, and why, in paragraphs.
    #[serde(default)]
    pub differs: String,
    /// Whether every run came to its end.
    pub complete: bool,
    /// How its claims came out, claim by claim.
    pub verdicts: Vec<Verdict>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its configurations in numbers.
    pub configurations: Vec<ConfigurationRow>,
    /// How far each is from the allocation that the scenario calls fair; empty if it calls none so.
    #[serde(default)]
    pub fairness: Vec<FairnessRow>,
    /// Every setting, and where its value comes from.
    pub resolved: Vec<Setting>,
    /// What the reader of the scenario should know, a sentence each.
    pub warnings: Vec<String>,
    /// Facts of the experiment as a whole, name and value: version, seeds, time taken.
    pub facts: Vec<(String, String)>,
    /// Facts of each run.
    pub runs: Vec<RunFact>,
}

/// One configuration in numbers; medians over its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationRow {
    /// Its name.
    pub name: String,
    /// What each axis is set to.
    pub axes: Vec<(String, String)>,
    /// How many runs it had.
    pub runs: usize,
    /// The run in numbers.
    pub totals: Totals,
    /// Its flows.
    pub flows: Vec<FlowRow>,
    /// Its ports and buffers.
    pub ports: Vec<PortRow>,
}

/// One setting of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its path, as `--set` takes it.
    pub path: String,
    /// Its value.
    pub value: String,
    /// Where that comes from: default, file and line, flag.
    pub origin: String,
}

/// How one run went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFact {
    /// The configuration.
    pub configuration: String,
    /// The seed.
    pub seed: u64,
    /// The digest of its recording.
    pub digest: String,
    /// Seconds it took.
    pub wall_seconds: f64,
    /// Events it worked off.
    pub events: u64,
    /// Its directory, from the page.
    pub directory: String,
}

impl ConfigurationRow {
    /// Sums up the runs of one configuration.
    pub fn of(name: &str, axes: &[(String, String)], extracts: &[Extract]) -> ConfigurationRow {
        let runs: Vec<&Extract> = extracts.iter().filter(|it| it.configuration == name).collect();
        let total = |of: fn(&Totals) -> f64| middle(runs.iter().map(|run| of(&run.totals)));
        ConfigurationRow {
            name: name.to_owned(),
            axes: axes.to_vec(),
            runs: runs.len(),
            totals: Totals {
                seconds: total(|it| it.seconds),
                delivered_bytes: total(|it| it.delivered_bytes),
                delivered_frames: total(|it| it.delivered_frames),
                lost_frames: total(|it| it.lost_frames),
                reordered_frames: total(|it| it.reordered_frames),
                cnms: total(|it| it.cnms),
                paused_seconds: total(|it| it.paused_seconds),
                peak_queue_bytes: total(|it| it.peak_queue_bytes),
                latency_seconds: total(|it| it.latency_seconds),
            },
            flows: flows(&runs),
            ports: ports(&runs),
        }
    }
}

fn flows(runs: &[&Extract]) -> Vec<FlowRow> {
    let first = runs.first().map_or(&[][..], |run| &run.flows);
    let row = |flow: &FlowRow| {
        let same: Vec<&FlowRow> =
            runs.iter().filter_map(|run| run.flows.iter().find(|it| it.name == flow.name)).collect();
        let over = |of: fn(&FlowRow) -> f64| middle(same.iter().map(|it| of(it)));
        FlowRow {
            name: flow.name.clone(),
            offered_bps: over(|it| it.offered_bps),
            delivered_bps: over(|it| it.delivered_bps),
            lost_frames: over(|it| it.lost_frames as f64).round() as u64,
            cnms: over(|it| it.cnms as f64).round() as u64,
            latency_seconds: over(|it| it.latency_seconds),
            latency_max_seconds: over(|it| it.latency_max_seconds),
        }
    };
    first.iter().map(row).collect()
}

fn ports(runs: &[&Extract]) -> Vec<PortRow> {
    let first = runs.first().map_or(&[][..], |run| &run.ports);
    let row = |port: &PortRow| {
        let same: Vec<&PortRow> = runs
            .iter()
            .filter_map(|run| {
                run.ports.iter().find(|it| it.name == port.name && it.transmits == port.transmits)
            })
            .collect();
        let over = |of: fn(&PortRow) -> f64| middle(same.iter().map(|it| of(it)));
        PortRow {
            name: port.name.clone(),
            transmits: port.transmits,
            carried_bps: over(|it| it.carried_bps),
            queue_bytes: over(|it| it.queue_bytes),
            queue_peak_bytes: over(|it| it.queue_peak_bytes),
            paused_seconds: over(|it| it.paused_seconds),
            cnms: over(|it| it.cnms),
            dropped_frames: over(|it| it.dropped_frames),
        }
    };
    first.iter().map(row).collect()
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    stats::median(&values.collect::<Vec<f64>>()).unwrap_or(0.0)
}

/// How the claims of a report came out, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Claims that hold.
    pub holding: usize,
    /// Claims that fail.
    pub failing: usize,
    /// Values only reported.
    pub reported: usize,
}

impl Tally {
    /// Counts.
    pub fn of(verdicts: &[Verdict]) -> Tally {
        let count = |state: Option<bool>| verdicts.iter().filter(|it| it.holds == state).count();
        Tally { holding: count(Some(true)), failing: count(Some(false)), reported: count(None) }
    }

    /// The count as one line.
    pub fn in_words(self) -> String {
        let judged = self.holding + self.failing;
        let mut words = match (judged, self.failing) {
            (0, _) => "No claim is judged".to_owned(),
            (1, 0) => "The claim holds".to_owned(),
            (1, _) => "The claim fails".to_owned(),
            (_, 0) => format!("All {judged} claims hold"),
            (_, failing) => {
                format!("{failing} of {judged} claims {}", if failing == 1 { "fails" } else { "fail" })
            }
        };
        match self.reported {
            0 => {}
            1 => words.push_str("; one value is only reported"),
            count => words.push_str(&format!("; {count} values are only reported")),
        }
        words.push('.');
        words
    }
}
