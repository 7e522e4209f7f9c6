//! What comes of a suite: its page, its table, a document for machines, a reproduction page, an exit code.

use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::progress;
use crate::results::{Results, write_file};
use crate::runner::State;
use crate::suite_folder::Head;
use quell_report::{Suite, SuiteScenario, reproduction, suite_page, suite_table, text};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The results of a suite, whole or in part.
pub(crate) struct SuiteResults {
    /// What was asked for.
    pub(crate) head: Head,
    /// Its scenarios, in order.
    pub(crate) ended: Vec<Ended>,
    /// Whether somebody pressed Ctrl-C.
    pub(crate) is_interrupted: bool,
}

/// How results are to be shown, beyond the suite's own page.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown<'a> {
    /// As one document for machines instead of a table.
    pub(crate) json: bool,
    /// As a reproduction page in this file too.
    pub(crate) page: Option<&'a Path>,
}

/// A scenario that is over.
pub(crate) struct Ended {
    scenario: SuiteScenario,
    document: serde_json::Value,
    exit: Exit,
    digest: Option<String>,
    counts: Counts,
}

impl Ended {
    /// Judges and draws a scenario into its folder, and keeps what the suite needs of it: its figures only if
    /// they are wanted, for they are on its own page.
    pub(crate) fn of(name: &str, results: Results, dir: &Path, has_figures: bool) -> Result<Ended, Failure> {
        results.complain();
        let exit = results.exit();
        // On a full disk the page cannot be written either; what is wrong has been said already.
        let page = match results.write(dir) {
            Err(_) if exit == Exit::Io => None,
            written => Some(written?),
        };
        let mut document = results.to_document(dir, page.as_deref(), exit);
        document["name"] = name.into();
        let counts = Counts::of(&results);
        let Results { mut report, digest, .. } = results;
        if !has_figures {
            report.figures.clear();
        }
        let lost = counts.runs - counts.complete;
        let trouble =
            (exit >= Exit::Invalid).then(|| format!("{lost} of {} runs are broken or lost.", counts.runs));
        Ok(Ended {
            document,
            exit,
            digest: digest.map(|it| it.whole()),
            counts,
            scenario: SuiteScenario {
                name: name.to_owned(),
                link: format!("{name}/report.html"),
                trouble,
                report: Some(report),
            },
        })
    }

    /// A scenario that could not be run, and why.
    pub(crate) fn not_run(name: &str, trouble: &str, exit: Exit) -> Ended {
        Ended {
            document: json!({ "name": name, "exit": exit.code(), "trouble": trouble }),
            exit,
            digest: None,
            counts: Counts::default(),
            scenario: SuiteScenario {
                name: name.to_owned(),
                report: None,
                link: String::new(),
                trouble: Some(trouble.to_owned()),
            },
        }
    }
}

/// Runs, counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    runs: usize,
    complete: usize,
    resumed: usize,
    seconds: f64,
}

impl Counts {
    fn of(results: &Results) -> Counts {
        let mut counts = Counts { runs: results.runs.len(), ..Counts::default() };
        for run in &results.runs {
            if let State::Complete(kept) = &run.state {
                counts.complete += 1;
                counts.resumed += usize::from(kept.was_resumed);
                counts.seconds += kept.ending.wall_seconds;
            }
        }
        counts
    }

    fn and(self, more: Counts) -> Counts {
        Counts {
            runs: self.runs + more.runs,
            complete: self.complete + more.complete,
            resumed: self.resumed + more.resumed,
            seconds: self.seconds + more.seconds,
        }
    }
}

impl SuiteResults {
    /// Writes the suite's page and what else is wanted, prints its table, and says how to end.
    pub(crate) fn show(self, dir: &Path, shown: Shown<'_>) -> Result<Exit, Failure> {
        let SuiteResults { head, ended, is_interrupted } = self;
        let mut exit = ended.iter().map(|it| it.exit).fold(Exit::Done, Exit::max);
        if is_interrupted {
            exit = Exit::Interrupted;
        }
        let digest = digest_of(&ended);
        let counts = ended.iter().map(|it| it.counts).fold(Counts::default(), Counts::and);
        let mut facts = vec![
            ("version".to_owned(), head.tool_version.clone()),
            ("scenarios".to_owned(), ended.len().to_string()),
            ("runs".to_owned(), format!("{} of {} finished", counts.complete, counts.runs)),
            ("time of all runs".to_owned(), progress::span(counts.seconds)),
        ];
        facts.extend(digest.iter().map(|it| ("digest".to_owned(), it.clone())));
        let (scenarios, documents): (Vec<_>, Vec<_>) =
            ended.into_iter().map(|it| (it.scenario, it.document)).unzip();
        let suite = Suite { name: head.suite.clone(), scenarios, facts, command: head.command() };
        let page = match write(&suite, dir) {
            Err(_) if exit == Exit::Io => None,
            written => Some(written?),
        };
        if let Some(file) = shown.page {
            write_reproduction(&suite, file)?;
        }
        if shown.json {
            let document = json!({
                "suite": head.suite,
                "version": head.tool_version,
                "exit": exit.code(),
                "digest": digest,
                "runs": { "all": counts.runs, "complete": counts.complete, "resumed": counts.resumed },
                "answer": suite.answer(),
                "scenarios": documents,
                "dir": dir,
                "report": page,
                "page": shown.page,
            });
            let text = serde_json::to_string_pretty(&document).expect("plain data is always JSON");
            out::print(&format!("{text}\n"))?;
        } else {
            let mut words = screen(&suite, page.as_deref(), digest.as_deref(), counts);
            if let Some(file) = shown.page {
                let _ = writeln!(words, "{} {}", Paint::for_stdout().dim("page  "), file.display());
            }
            out::print(&words)?;
        }
        if counts.complete < counts.runs {
            out::note(&format!(
                "{} of {} runs are finished. Run it again into the same folder to go on from there.",
                counts.complete, counts.runs
            ));
        }
        Ok(exit)
    }
}

/// Writes the suite's page and its figure. Gives the page's path.
fn write(suite: &Suite, dir: &Path) -> Result<PathBuf, Failure> {
    if let Some(figure) = suite.figure() {
        let pictures = dir.join("figures");
        create_folder(&pictures)?;
        write_file(&pictures.join(format!("{}.svg", figure.stem)), &figure.to_svg())?;
        write_file(&pictures.join(format!("{}.csv", figure.stem)), &figure.to_csv())?;
    }
    let page = dir.join("report.html");
    write_file(&page, &suite_page(suite))?;
    Ok(page)
}

/// Writes a reproduction page, and its pictures into a folder beside it that has its name without the ending.
/// Pictures that the page no longer has are removed.
fn write_reproduction(suite: &Suite, file: &Path) -> Result<(), Failure> {
    let stem = file.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let made = reproduction(suite, &stem);
    let folder = file.with_file_name(&stem);
    create_folder(&folder)?;
    let refused = |error| Failure::io(&folder, "read", &error);
    for entry in fs::read_dir(&folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let is_made =
            made.pictures.iter().any(|(name, _)| path.file_name().is_some_and(|it| it == name.as_str()));
        if !is_made && path.extension().is_some_and(|it| it == "svg") {
            fs::remove_file(&path).map_err(|error| Failure::io(&path, "remove", &error))?;
        }
    }
    for (name, svg) in &made.pictures {
        write_file(&folder.join(name), svg)?;
    }
    write_file(file, &made.text)
}

fn create_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, "create", &error))
}

fn screen(suite: &Suite, page: Option<&Path>, digest: Option<&str>, counts: Counts) -> String {
    let paint = Paint::for_stdout();
    let mut words = suite_table(suite, text::Style { colour: paint.is_on(), brief: true });
    words.push('\n');
    for it in suite.scenarios.iter().filter(|it| it.report.is_none()) {
        let _ = writeln!(words, "{}", paint.red(&format!("{} could not be run; see above", it.name)));
    }
    if let Some(page) = page {
        let _ = writeln!(words, "{} {}", paint.dim("report"), page.display());
    }
    let broken = suite.scenarios.iter().filter(|it| it.report.is_none()).count();
    let digest = digest.map_or_else(
        || match broken {
            0 => format!("none: {} of {} runs are finished", counts.complete, counts.runs),
            1 => "none: one scenario could not be run".to_owned(),
            _ => format!("none: {broken} scenarios could not be run"),
        },
        |digest| {
            let found = counts.resumed;
            format!("{}  ({} runs, {found} of which were there already)", &digest[..16], counts.runs)
        },
    );
    let _ = writeln!(words, "{} {digest}", paint.dim("digest"));
    words
}

/// The digest of all scenarios: BLAKE3 over a line for each with name and digest, in order. None unless every
/// run of every scenario is complete.
fn digest_of(ended: &[Ended]) -> Option<String> {
    let mut lines = String::new();
    for it in ended {
        let _ = writeln!(lines, "{}\t{}", it.scenario.name, it.digest.as_ref()?);
    }
    Some(blake3::hash(lines.as_bytes()).to_hex().to_string())
}
