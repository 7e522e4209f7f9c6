//! One session at real interfaces: statistics every second, a recording if one is wanted.

use super::time;
use crate::cli_live::SessionArgs;
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::out;
use crate::prepared::VERSION;
use quell_live::device::Trouble;
use quell_live::note::{Happening, Note};
use quell_proto::units::{Duration, Instant};
use quell_record::claim::{FigureKind, FigureSpec};
use quell_record::{
    Catalog, ConfigurationHead, DiskWriter, Ending, EntityId, Event, Experiment, ExperimentHead, FlowTotals,
    ManifestDraft, Quantity, ScenarioText, Selector, Sink,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a session keeps, and when it says something.
pub(super) struct Session {
    pub(super) end: Option<Instant>,
    pub(super) every: Duration,
    is_quiet: bool,
    next_words: Instant,
    recording: Option<Recording>,
}

struct Recording {
    dir: PathBuf,
    disk: DiskWriter,
    /// Holds the folder.
    _experiment: Experiment,
    began: std::time::Instant,
}

/// The one configuration of a live recording.
const CONFIGURATION: &str = "live";

impl Session {
    /// Begins one: `id` is what the recording is of, `title` its heading, `figures` what a report draws of it.
    pub(super) fn begin(
        args: &SessionArgs,
        id: &str,
        title: &str,
        catalog: &Catalog,
        figures: &[(FigureKind, &str, &str)],
    ) -> Result<Session, Failure> {
        let end = args.length.as_deref().map(|text| time("--for", text)).transpose()?;
        let every = time("--sample", &args.sample)?;
        let recording = match &args.out {
            Some(dir) => Some(Recording::begin(dir, id, title, catalog, figures)?),
            None => None,
        };
        Ok(Session {
            end: end.map(|end| Instant::START + end),
            every,
            is_quiet: args.quiet,
            next_words: Instant::START + Duration::from_ms(1000),
            recording,
        })
    }

    /// When it wants to be asked again, apart from samples.
    pub(super) fn due(&self) -> Instant {
        self.end.unwrap_or(Instant::NEVER).min(self.next_words)
    }

    /// Whether it is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| end <= now)
    }

    /// Says something, if a second is over.
    pub(super) fn say(&mut self, now: Instant, words: impl FnOnce(f64) -> String) {
        if now < self.next_words {
            return;
        }
        let second = Duration::from_ms(1000);
        let since = 1.0 + (now - self.next_words).ps() as f64 / 1e12;
        self.next_words = now + second;
        if !self.is_quiet {
            out::note(&format!("{:>6.1} s  {}", now.ps() as f64 / 1e12, words(since)));
        }
    }

    /// Warns that events are missing, if some are.
    pub(super) fn tell_left_out(&self, events: u64) {
        if events > 0 {
            out::warn(&format!(
                "{events} events came faster than they were taken: they are counted in the samples, and in no list of events"
            ));
        }
    }

    /// Ends it: with what went wrong, if something did.
    pub(super) fn end(self, now: Instant, frames: u64, ended: Result<(), Trouble>) -> Result<Exit, Failure> {
        if let Some(Recording { dir, mut disk, began, .. }) = self.recording {
            disk.end();
            let ending = Ending {
                complete: ended.is_ok(),
                simulated_ps: now.ps(),
                events: 0,
                frame_hops: frames,
                cell_hops: 0,
                wall_seconds: began.elapsed().as_secs_f64(),
            };
            disk.finish(ending, &json!({}))?;
            out::note(&format!("recorded in {}; `quell report {0}` draws it", dir.display()));
        }
        match ended {
            Ok(()) => Ok(Exit::Done),
            Err(trouble) => Err(super::failure(&trouble)),
        }
    }
}

impl Recording {
    fn begin(
        dir: &Path,
        id: &str,
        title: &str,
        catalog: &Catalog,
        figures: &[(FigureKind, &str, &str)],
    ) -> Result<Recording, Failure> {
        let command: Vec<String> = std::env::args().collect();
        let text = format!("title = {}\nabout = {}\n", quoted(title), quoted(&command.join(" ")));
        let scenario =
            ScenarioText { id: id.to_owned(), file: String::new(), text, base: None, data: BTreeMap::new() };
        let figure = |(kind, title, of): &(FigureKind, &str, &str)| FigureSpec {
            title: (*title).to_owned(),
            shows: None,
            kind: *kind,
            of: Selector((*of).to_owned()),
            configurations: vec![CONFIGURATION.to_owned()],
            overlay: false,
            first_run: false,
            over: None,
            pairing: None,
            beside: None,
        };
        let head = ExperimentHead {
            format: 0,
            tool_version: VERSION.to_owned(),
            scenario: scenario.clone(),
            overrides: Vec::new(),
            claims: Vec::new(),
            figures: figures.iter().map(figure).collect(),
            fair: Vec::new(),
            configurations: vec![ConfigurationHead { name: CONFIGURATION.to_owned(), axes: Vec::new() }],
            seeds: vec![1],
        };
        let refused = |error| crate::commands::run::refused(dir, error);
        let experiment = Experiment::create(dir, head).map_err(refused)?;
        let draft = ManifestDraft {
            tool_version: VERSION.to_owned(),
            scenario,
            configuration: CONFIGURATION.to_owned(),
            seed: 1,
            resolved: Vec::new(),
            started: clock::now(),
            threads: 1,
        };
        let disk =
            DiskWriter::create(&experiment.run_dir(CONFIGURATION, 1), catalog, draft).map_err(refused)?;
        Ok(Recording { dir: dir.to_owned(), disk, _experiment: experiment, began: std::time::Instant::now() })
    }
}

/// A session takes samples whether or not it keeps them.
impl Sink for Session {
    fn begin_samples(&mut self, at: Instant) {
        if let Some(recording) = &mut self.recording {
            recording.disk.begin_samples(at);
        }
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        if let Some(recording) = &mut self.recording {
            recording.disk.sample(entity, quantity, value);
        }
    }

    fn event(&mut self, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.disk.event(event);
        }
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        if let Some(recording) = &mut self.recording {
            recording.disk.flow(flow, totals);
        }
    }
}

/// Warns of what happened, where it is something to warn of.
pub(super) fn warn(note: &Note, name: &str) {
    match note.what {
        Happening::Storm => out::warn(&format!(
            "{name}: more control frames come in than any peer has reason to send; those beyond are ignored"
        )),
        Happening::HeldLong => out::warn(&format!(
            "{name}: its peer has held it for a second without a break, by PAUSE or PFC; it is obeyed"
        )),
        Happening::LinkDown => out::warn(&format!("{name} went down; it is waited for")),
        Happening::LinkUp => out::note(&format!("{name} is up again")),
        _ => {}
    }
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
