//! `quell compare`: two results side by side.

use super::report::{is_run, results_of, results_of_run};
use crate::cli::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use crate::results::{Results, write_file};
use quell_record::{Experiment, read_manifest};
use quell_report::{Report, compare_page, text};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How a page of ours is known again, within its first lines.
const MARK: &str = "<meta name=\"generator\" content=\"quell compare\">";

pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    spare(&args.out)?;
    let first = side(&args.first)?;
    let mut second = side(&args.second)?;
    align(&first.report, &mut second.report);
    if !shares_a_configuration(&first.report, &second.report) {
        out::warn("the two have no configuration in common; nothing is put side by side");
    }
    let names = names(&args.first, &args.second);
    let names = [names[0].as_str(), names[1].as_str()];
    let style = text::Style { colour: Paint::for_stdout().is_on(), brief: true };
    let mut words = text::comparison(&first.report, &second.report, names, style);
    write_file(&args.out, &marked(&compare_page(&first.report, &second.report, names)))?;
    words.push_str(&format!("\n{} {}\n", Paint::for_stdout().dim("page"), args.out.display()));
    out::print(&words)?;
    Ok(Exit::Done)
}

/// Refuses to write over a file that is no page of ours.
fn spare(out: &Path) -> Result<(), Failure> {
    /// The mark stands well before this many octets.
    const HEAD: u64 = 1024;
    // What is not there, or is a folder or a device, is for the one who writes.
    if !out.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(out).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(|error| Failure::io(out, "read", &error))?;
    if String::from_utf8_lossy(&head).contains(MARK) {
        return Ok(());
    }
    let shown = out.display();
    Err(Failure::invalid(format!(
        "{shown}: is there already and is no page of `quell compare`; it is left as it is"
    ))
    .hint(format!("name another file with `--out FILE`, or remove {shown}")))
}

/// The page with the mark by which [`spare`] knows it.
fn marked(page: &str) -> String {
    page.replacen("<head>", &format!("<head>\n{MARK}"), 1)
}

/// What a folder holds: an experiment, or one run of one.
fn side(dir: &Path) -> Result<Results, Failure> {
    let results = if is_run(dir) { lone_run(dir)? } else { results_of(&Experiment::open(dir)?) };
    results.complain();
    if results.report.configurations.is_empty() {
        return Err(Failure::invalid(format!("{}: no run here is finished", dir.display()))
            .hint("run it again into the same folder: what is finished stays"));
    }
    if !results.report.complete {
        out::warn(&format!("{}: {}", dir.display(), results.progress_in_words()));
    }
    Ok(results)
}

/// One run. Its claims and figures are those of the experiment around it.
fn lone_run(dir: &Path) -> Result<Results, Failure> {
    let manifest = read_manifest(dir)?;
    let whole = dir.canonicalize().map_err(|error| Failure::io(dir, "open", &error))?;
    let around = whole.ancestors().nth(3).filter(|it| it.join("experiment.json").is_file());
    let around = around.ok_or_else(|| {
        Failure::invalid(format!("{}: the experiment this run belongs to is not around it", dir.display()))
            .hint("compare folders that `quell run --out` wrote, or runs inside them")
    })?;
    let experiment = Experiment::open(around)?;
    Ok(results_of_run(&experiment, &manifest.run.configuration, manifest.run.seed))
}

/// Two results of one configuration each are compared whatever those are called: the second takes the name of the
/// first in its figures, so that they overlay.
fn align(first: &Report, second: &mut Report) {
    if let ([mine], [theirs]) = (first.configurations.as_slice(), second.configurations.as_slice()) {
        for panel in second.figures.iter_mut().flat_map(|figure| &mut figure.panels) {
            if panel.title == theirs.name {
                panel.title.clone_from(&mine.name);
            }
        }
    }
}

fn shares_a_configuration(a: &Report, b: &Report) -> bool {
    let are_lone = a.configurations.len() == 1 && b.configurations.len() == 1;
    are_lone || a.configurations.iter().any(|mine| b.configurations.iter().any(|it| it.name == mine.name))
}

/// What the two are called: the ends of their paths, as far as they differ.
fn names(first: &Path, second: &Path) -> [String; 2] {
    let parts = |path: &Path| -> Vec<String> {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        whole.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    };
    let (a, b) = (parts(first), parts(second));
    let alike = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let same_end = a[alike..].iter().rev().zip(b[alike..].iter().rev()).take_while(|(a, b)| a == b).count();
    let name = |parts: &[String]| match &parts[alike..parts.len() - same_end] {
        [] => parts.last().cloned().unwrap_or_default(),
        own => own.join("/"),
    };
    [name(&a), name(&b)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_results_are_called_by_what_differs_in_their_paths() {
        let name = |a: &str, b: &str| names(Path::new(a), Path::new(b));
        assert_eq!(name("/x/qau/b1", "/x/qau/b5"), ["b1", "b5"]);
        assert_eq!(name("/x/old/b1", "/x/new/b1"), ["old", "new"]);
        assert_eq!(name("/x/b1", "/x/b1"), ["b1", "b1"]);
        assert_eq!(name("/x/b1", "/x/b1/deeper"), ["b1", "deeper"]);
    }
}
