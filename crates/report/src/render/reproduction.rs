//! The reproduction page of a suite, in Markdown: source by source, what it says, what comes out here, and where
//! the two differ. Words come from the scenarios, numbers and figures from their runs, and nothing from anywhere else.

use super::html::FairnessView;
use super::suite::{RankedView, cells};
use crate::figure::Figure;
use crate::judge::Verdict;
use crate::report::{Report, Tally};
use crate::suite::{Suite, SuiteScenario};
use std::fmt::Write as _;

/// A page and the pictures it links to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reproduction {
    /// The page, in Markdown.
    pub text: String,
    /// Name and content of each picture, as SVG.
    pub pictures: Vec<(String, String)>,
}

/// Makes the page of a suite whose reports still have their figures. Pictures are linked to in `folder`, beside the
/// page.
pub fn reproduction(suite: &Suite, folder: &str) -> Reproduction {
    let mut page = Page { folder, made: Reproduction::default() };
    page.head(suite);
    page.contents(suite);
    page.table(suite);
    page.fairness(suite);
    for scenario in &suite.scenarios {
        page.scenario(scenario);
    }
    page.made
}

struct Page<'a> {
    folder: &'a str,
    made: Reproduction,
}

const TABLE: &str = "All scenarios and configurations";
const FAIRNESS: &str = "Which scheme comes closest to what is fair?";

impl Page<'_> {
    fn head(&mut self, suite: &Suite) {
        self.line(&format!("# Suite {}: what the sources say, and what comes out", suite.name));
        self.paragraph(&format!(
            "<!-- Written by `{} --page FILE`. Do not edit: words belong into the scenario files. -->",
            suite.command
        ));
        self.paragraph(&format!(
            "Made by `{}`. Words are those of the scenario files, numbers and figures those of the runs; a claim that \
             does not come out is left standing as one that fails. {}",
            suite.command,
            suite.tally().in_words()
        ));
        let is_stable = |name: &str| ["version", "runs", "digest"].contains(&name);
        let facts = suite.facts.iter().filter(|(name, _)| is_stable(name));
        let facts: Vec<String> = facts.map(|(name, value)| format!("{name} {value}")).collect();
        self.paragraph(&format!("{}.", capitalised(&facts.join(", "))));
    }

    fn contents(&mut self, suite: &Suite) {
        self.line("");
        self.line(&format!("- [{TABLE}](#{})", anchor(TABLE)));
        if !suite.ranking().is_empty() {
            self.line(&format!("- [{FAIRNESS}](#{})", anchor(FAIRNESS)));
        }
        for scenario in &suite.scenarios {
            let heading = heading(scenario);
            self.line(&format!("- [{}](#{})", escaped(&heading), anchor(&heading)));
        }
    }

    fn table(&mut self, suite: &Suite) {
        self.heading(2, TABLE);
        let has_fairness = !suite.fair_scenarios().is_empty();
        let head = [
            "scenario",
            "configuration",
            "runs",
            "held",
            "failed",
            "mean distance",
            "farthest flow",
            "longest mean queue",
            "converges after",
        ];
        let columns = if has_fairness { head.len() } else { 5 };
        let head: Vec<String> = head[..columns].iter().map(|it| (*it).to_owned()).collect();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for scenario in &suite.scenarios {
            let own = scenario.rows();
            if own.is_empty() {
                rows.push(vec![escaped(&scenario.name), "not run".to_owned()]);
            }
            rows.extend(own.iter().map(|row| {
                let mut cells = cells(row)[..columns].to_vec();
                cells[1] = code(&cells[1]);
                cells
            }));
        }
        self.rows(&head, 2, &rows);
    }

    fn fairness(&mut self, suite: &Suite) {
        let ranking = suite.ranking();
        if ranking.is_empty() {
            return;
        }
        self.heading(2, FAIRNESS);
        self.paragraph(&suite.answer().unwrap_or_else(|| {
            "No scheme was run on all scenarios that state a fair allocation.".to_owned()
        }));
        let scenarios = suite.fair_scenarios();
        let mut head = vec!["scheme".to_owned(), "mean distance".to_owned()];
        head.extend(scenarios.iter().map(|name| format!("in {name}")));
        head.extend(["farthest flow", "longest mean queue", "convergence"].map(str::to_owned));
        let rows: Vec<Vec<String>> = ranking
            .iter()
            .map(|it| {
                let view = RankedView::of(it, &scenarios);
                let mut row = vec![code(view.scheme), view.mean];
                row.extend(view.cells);
                row.extend([view.farthest, view.queue, view.converged]);
                row
            })
            .collect();
        self.rows(&head, 1, &rows);
        if let Some(figure) = suite.figure() {
            self.figure("", &figure);
        }
    }

    fn scenario(&mut self, scenario: &SuiteScenario) {
        self.heading(2, &escaped(&heading(scenario)));
        for line in scenario.trouble.iter().flat_map(|it| it.lines()) {
            self.paragraph(&format!("**{}**", escaped(line)));
        }
        let Some(report) = &scenario.report else { return };
        if !report.shows.is_empty() {
            self.paragraph(&format!("After {}.", report.shows));
        }
        for (title, words) in [("What the source says", &report.says), ("Our reading", &report.about)] {
            if !words.is_empty() {
                self.heading(3, title);
                self.paragraph(words);
            }
        }
        self.claims(report);
        self.shares(report);
        let redrawn = |it: &&Figure| !it.shows.is_empty();
        let all = !report.figures.iter().any(|it| redrawn(&it));
        let figures: Vec<&Figure> =
            report.figures.iter().filter(|it| !it.is_empty() && (all || redrawn(it))).collect();
        if !figures.is_empty() {
            self.heading(3, "Figures");
            for figure in figures {
                self.figure(&format!("{}-", scenario.name), figure);
            }
        }
        if !report.differs.is_empty() {
            self.heading(3, "Where it differs, and why");
            self.paragraph(&report.differs);
        }
        self.heading(3, "Again");
        self.line("");
        self.line("```text");
        self.line(&again(report));
        self.line("```");
        let fact =
            |name: &str| report.facts.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
        let digest = fact("digest").unwrap_or("none: not every run is finished");
        let (seeds, version) = (fact("seeds").unwrap_or_default(), fact("version").unwrap_or_default());
        self.paragraph(&format!("Version {version}, seeds {seeds}, digest {}.", code(digest)));
    }

    fn claims(&mut self, report: &Report) {
        self.heading(3, "What comes out");
        self.paragraph(&Tally::of(&report.verdicts).in_words());
        let head = ["claim", "configuration", "wanted", "came out", "over the runs", "verdict"];
        let mut rows: Vec<Vec<String>> = Vec::new();
        for group in report.verdicts.chunk_by(|a, b| a.claim == b.claim && a.line == b.line) {
            rows.extend(claim_rows(group));
        }
        self.rows(&head.map(str::to_owned), 2, &rows);
    }

    fn shares(&mut self, report: &Report) {
        if report.fairness.is_empty() {
            return;
        }
        self.paragraph("Against the allocation that the source calls fair, medians over the runs:");
        let head = [
            "configuration",
            "mean distance",
            "farthest flow",
            "longest mean queue",
            "converges after",
            "flows",
        ];
        let row = |it: &_| {
            let view = FairnessView::of(it);
            let flows = escaped(&view.flows).replace('\n', "; ");
            vec![code(&view.configuration), view.mean, view.farthest, view.queue, view.converged, flows]
        };
        let rows: Vec<Vec<String>> = report.fairness.iter().map(row).collect();
        self.rows(&head.map(str::to_owned), 1, &rows);
    }

    fn figure(&mut self, prefix: &str, figure: &Figure) {
        let name = format!("{prefix}{}.svg", figure.stem);
        let (title, caption) = (escaped(&figure.title), escaped(&figure.caption));
        let after = if figure.shows.is_empty() { String::new() } else { format!(", after {}", figure.shows) };
        self.paragraph(&format!("![{title}]({}/{name})", self.folder));
        self.paragraph(format!("**{title}**{}. {caption}", escaped(&after)).trim_end());
        self.made.pictures.push((name, figure.to_svg()));
    }

    /// A table; all but the first `left` columns stand to the right, except the last where it has words.
    fn rows(&mut self, head: &[String], left: usize, rows: &[Vec<String>]) {
        self.line("");
        self.line(&format!("| {} |", head.join(" | ")));
        let is_words =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).any(|it| it.split(' ').count() > 3);
        let rule = |column: usize| if column < left || is_words(column) { "---" } else { "---:" };
        let rules: Vec<&str> = (0..head.len()).map(rule).collect();
        self.line(&format!("|{}|", rules.join("|")));
        for row in rows {
            let cell = |column: usize| row.get(column).map_or("", String::as_str);
            let cells: Vec<&str> = (0..head.len()).map(cell).collect();
            self.line(&format!("| {} |", cells.join(" | ")));
        }
    }

    fn heading(&mut self, level: usize, title: &str) {
        self.paragraph(&format!("{} {title}", "#".repeat(level)));
    }

    fn paragraph(&mut self, words: &str) {
        self.line("");
        self.line(words.trim());
    }

    fn line(&mut self, words: &str) {
        let _ = writeln!(self.made.text, "{words}");
    }
}

/// The verdicts on one claim; configurations in which it came out alike share a row.
fn claim_rows(verdicts: &[Verdict]) -> Vec<Vec<String>> {
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for verdict in verdicts {
        let (name, outcome) = (code(&verdict.configuration), outcome(verdict));
        match rows.iter_mut().find(|(_, it)| *it == outcome) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], outcome)),
        }
    }
    let mut claim = verdicts.first().map_or_else(String::new, |it| escaped(&it.claim));
    let row = |(names, outcome): (Vec<String>, Vec<String>)| {
        [std::mem::take(&mut claim), names.join(", ")].into_iter().chain(outcome).collect()
    };
    rows.into_iter().map(row).collect()
}

/// What was wanted, what came out, its spread over runs, and the verdict.
fn outcome(verdict: &Verdict) -> Vec<String> {
    let mut shown = escaped(&verdict.shown);
    if let Some(why) = verdict.problem.as_ref().or(verdict.decided_by.as_ref()) {
        let _ = write!(shown, " ({})", escaped(why));
    }
    let state = match verdict.holds {
        Some(true) => "holds",
        Some(false) => "**fails**",
        None => "reported",
    };
    let wanted = if verdict.holds.is_some() { escaped(&verdict.wanted) } else { String::new() };
    vec![wanted, shown, escaped(&verdict.shown_spread()), state.to_owned()]
}

fn heading(scenario: &SuiteScenario) -> String {
    match &scenario.report {
        Some(report) if !report.title.is_empty() => format!("{}: {}", scenario.name, report.title),
        _ => scenario.name.clone(),
    }
}

/// The command that runs one scenario as the suite did.
fn again(report: &Report) -> String {
    let mut words = format!("quell run {}", report.id);
    for (name, value) in &report.facts {
        match name.strip_prefix("set: ") {
            Some(flag) if flag.starts_with("--") => words.push_str(&format!(" {flag}")),
            Some(key) => words.push_str(&format!(" --set {key}={value}")),
            None => {}
        }
    }
    words
}

/// How a link names a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.flat_map(char::to_lowercase).map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// A text that Markdown takes for nothing but itself.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '|' | '*' | '<' | '`' | '[' | ']' | '\\') {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

/// A name as it is typed, in a table too.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|"))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Bar, Body, Group, Panel};
    use crate::unit::Unit;
    use quell_record::claim::FigureKind;

    fn verdict(configuration: &str, holds: Option<bool>) -> Verdict {
        Verdict {
            claim: "a|b of *->h7 is small".to_owned(),
            configuration: configuration.to_owned(),
            line: 3,
            holds,
            measured: Some(2.0),
            unit: Unit::Bytes,
            shown: "2 B".to_owned(),
            wanted: "≤ 3 B".to_owned(),
            spread: Some((1.0, 3.0)),
            per_seed: vec![(1, 1.0), (2, 3.0)],
            interval: None,
            decided_by: None,
            problem: None,
        }
    }

    fn figure(title: &str, shows: &str) -> Figure {
        let bar = Bar { name: "x".to_owned(), value: 1.0, range: (1.0, 1.0), colour: 0, dashed: false };
        let groups = vec![Group { name: "g".to_owned(), bars: vec![bar] }];
        let panel = Panel {
            title: String::new(),
            body: Body::Bars(groups),
            references: Vec::new(),
            instants: Vec::new(),
        };
        Figure {
            title: title.to_owned(),
            shows: shows.to_owned(),
            stem: title.to_lowercase(),
            kind: FigureKind::Shares,
            caption: "Bars.".to_owned(),
            unit: Unit::Bytes,
            panels: vec![panel],
        }
    }

    fn suite(figures: Vec<Figure>) -> Suite {
        let report = Report {
            id: "s/b1".to_owned(),
            title: "One: two?".to_owned(),
            shows: "A Deck, p. 3".to_owned(),
            says: "It says.\n\nAnd more.".to_owned(),
            differs: "It differs.".to_owned(),
            complete: true,
            verdicts: [("q/long", Some(true)), ("p", Some(false)), ("r", None), ("q/short", Some(true))]
                .map(|(name, holds)| verdict(name, holds))
                .to_vec(),
            figures,
            facts: [("version", "1"), ("seeds", "1 to 2"), ("digest", "abc"), ("set: --quick", "yes")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            ..Report::default()
        };
        let scenario = |name: &str, report: Option<Report>| SuiteScenario {
            name: name.to_owned(),
            trouble: report.is_none().then(|| "b2.toml:3: no".to_owned()),
            report,
            ..SuiteScenario::default()
        };
        Suite {
            name: "s".to_owned(),
            scenarios: vec![scenario("b1", Some(report)), scenario("b2", None)],
            facts: vec![
                ("version".to_owned(), "1".to_owned()),
                ("time of all runs".to_owned(), "9 s".to_owned()),
            ],
            command: "quell suite s --quick".to_owned(),
        }
    }

    #[test]
    fn a_page_tells_what_is_said_what_comes_out_and_what_differs() {
        let made = reproduction(&suite(vec![figure("Queue", "p. 4"), figure("Own", "")]), "s");
        for line in [
            "- [b1: One: two?](#b1-one-two)",
            "## b1: One: two?",
            "After A Deck, p. 3.",
            "It says.\n\nAnd more.",
            "| a\\|b of \\*->h7 is small | `q/long`, `q/short` | ≤ 3 B | 2 B | 1.00 … 3.00 B | holds |",
            "|  | `p` | ≤ 3 B | 2 B | 1.00 … 3.00 B | **fails** |",
            "|  | `r` |  | 2 B | 1.00 … 3.00 B | reported |",
            "![Queue](s/b1-queue.svg)\n\n**Queue**, after p. 4. Bars.",
            "### Where it differs, and why\n\nIt differs.",
            "quell run s/b1 --quick",
            "Version 1, seeds 1 to 2, digest `abc`.",
            "## b2\n\n**b2.toml:3: no**",
        ] {
            assert!(made.text.contains(line), "{line}\nis not in\n{}", made.text);
        }
        assert!(!made.text.contains("9 s"), "what differs from machine to machine has no place in it");
        let names: Vec<&str> = made.pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b1-queue.svg"], "figures of our own stay out where others redraw the source's");
    }

    #[test]
    fn a_scenario_that_redraws_nothing_shows_all_it_has() {
        let made = reproduction(&suite(vec![figure("Queue", ""), figure("Own", "")]), "s");
        assert_eq!(made.pictures.len(), 2);
    }
}
