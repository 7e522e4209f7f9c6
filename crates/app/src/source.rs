//! Finding a scenario and reading its text: a built-in one by its name, any other by its file.

use crate::catalogue;
use crate::cli::ScenarioArgs;
use crate::exit::Failure;
use crate::out;
use quell_record::{FileMark, ScenarioText};
use quell_sim::scenario::{self, Problems, Request, Scenario, Text};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A scenario's text, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// What the user calls it: a built-in name such as `qau/b1`, or the path of a file.
    pub(crate) id: String,
    /// What messages call its file.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
    /// Where the file it extends is sought.
    home: Home,
}

#[derive(Clone, Debug)]
enum Home {
    /// Beside the built-in scenario of this name.
    BuiltIn(&'static str),
    /// In this folder.
    Folder(PathBuf),
}

impl Source {
    /// Finds what the user named. A file wins over a built-in scenario of the same name only if the name says
    /// that it is a file, by its ending or by a leading dot or slash.
    pub(crate) fn find(name: &str) -> Result<Source, Failure> {
        let path = Path::new(name);
        let is_path = path.extension() == Some(OsStr::new("toml")) || name.starts_with(['.', '/']);
        if !is_path && let Some(found) = catalogue::find(name) {
            return Ok(Source::built_in(found));
        }
        if path.exists() {
            return Source::file(path);
        }
        // `qau/b1.toml` is what messages and `show` call a built-in scenario's file.
        if let Some(found) = name.strip_suffix(".toml").and_then(catalogue::find) {
            return Ok(Source::built_in(found));
        }
        Err(missing(name))
    }

    /// A built-in scenario.
    pub(crate) fn built_in(found: catalogue::BuiltIn) -> Source {
        let (id, file, text) = (found.id.to_owned(), found.file(), found.text.to_owned());
        Source { id, file, text, home: Home::BuiltIn(found.id) }
    }

    fn file(path: &Path) -> Result<Source, Failure> {
        let text = read_text(path, Text::Scenario)?;
        let name = path.display().to_string();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Source { id: name.clone(), file: name, text, home: Home::Folder(folder) })
    }

    /// A name for a folder of results: the built-in name, or the file's without its ending.
    pub(crate) fn folder(&self) -> PathBuf {
        match &self.home {
            Home::BuiltIn(id) => id.split('/').collect(),
            Home::Folder(_) => Path::new(&self.file).file_stem().map(PathBuf::from).unwrap_or_default(),
        }
    }

    /// The text of a file that this one names, as what it extends or as data, if there is one of that name: beside it, or
    /// built in.
    pub(crate) fn beside(&self, name: &str) -> Result<Option<String>, Failure> {
        let beside = match &self.home {
            Home::BuiltIn(id) => {
                id.rsplit_once('/').map_or_else(String::new, |(family, _)| format!("{family}/"))
            }
            Home::Folder(folder) if folder.join(name).exists() => {
                let kind = if name.ends_with(".toml") { Text::Scenario } else { Text::Data };
                return read_text(&folder.join(name), kind).map(Some);
            }
            Home::Folder(_) => String::new(),
        };
        if let Some(text) = catalogue::data(name) {
            return Ok(Some(text.to_owned()));
        }
        let name = name.strip_suffix(".toml").unwrap_or(name);
        let found = catalogue::find(&format!("{beside}{name}")).or_else(|| catalogue::find(name));
        Ok(found.map(|it| it.text.to_owned()))
    }
}

/// A scenario that was found and understood.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Where it came from.
    pub(crate) source: Source,
    /// Its text as manifests keep it, with that of the file it extends.
    pub(crate) kept: ScenarioText,
    /// What it means.
    pub(crate) scenario: Scenario,
}

impl Loaded {
    /// Says so if a short form was asked for and there is none.
    pub(crate) fn note_if_never_short(&self, args: &ScenarioArgs) {
        let has_quick = |text: &str| text.parse::<toml::Table>().is_ok_and(|it| it.contains_key("quick"));
        if args.quick && !has_quick(&self.kept.text) && !self.kept.base.as_deref().is_some_and(has_quick) {
            out::note(&format!(
                "{}: has no short form, no table [quick]; `--quick` leaves it whole",
                self.source.file
            ));
        }
    }
}

/// Finds a scenario and reads it as the command line wants it.
pub(crate) fn load(args: &ScenarioArgs) -> Result<Loaded, Failure> {
    check_flags(args)?;
    let source = Source::find(&args.scenario)?;
    let extends =
        source.text.parse::<toml::Table>().ok().and_then(|it| Some(it.get("extends")?.as_str()?.to_owned()));
    let base = RefCell::new(None);
    let data = RefCell::new(BTreeMap::new());
    let unread = RefCell::new(None);
    let find_file = |name: &str| match source.beside(name) {
        Ok(text) => {
            if extends.as_deref() == Some(name) {
                base.replace(text.clone());
            } else if let Some(text) = &text {
                data.borrow_mut().insert(name.to_owned(), FileMark::of(text.as_bytes()));
            }
            text
        }
        Err(failure) => {
            unread.replace(Some(failure));
            None
        }
    };
    let request = Request {
        file: &source.file,
        text: &source.text,
        base: &find_file,
        sets: &args.sets,
        quick: args.quick,
        repeat: args.repeat,
        seed: args.seed,
        wire_check: args.wire_check,
    };
    let scenario = scenario::read(request).map_err(|problems| {
        let mut failure = Failure::from(problems);
        if let Some(why) = unread.take() {
            failure.message = format!("{}\n{}", failure.message, why.message);
            failure.hint = why.hint;
        }
        failure
    })?;
    let kept = ScenarioText {
        id: source.id.clone(),
        file: source.file.clone(),
        text: source.text.clone(),
        base: base.into_inner(),
        data: data.into_inner(),
    };
    Ok(Loaded { source, kept, scenario })
}

/// Refuses flags that would change nothing, or that say two things of one value.
fn check_flags(args: &ScenarioArgs) -> Result<(), Failure> {
    for (path, value) in &args.sets {
        let table = path.split('.').next().unwrap_or_default().trim();
        if ["extends", "quick"].contains(&table) {
            let message = format!("`--set {path}={value}`: `{table}` is read from the file only");
            return Err(Failure::invalid(message).hint(match table {
                "extends" => "write `extends` into the scenario's file",
                _ => "set the value itself, without `quick.`",
            }));
        }
    }
    let seed = args.seed.map(|it| ("seed", it));
    let repeat = args.repeat.map(|it| ("repeat", u64::from(it)));
    for (key, number) in seed.into_iter().chain(repeat) {
        if let Some((path, value)) = args.sets.iter().find(|(path, value)| sets(path, value, key)) {
            let message = format!("`--{key} {number}` and `--set {path}={value}` both set `run.{key}`");
            return Err(Failure::invalid(message).hint("keep one of them"));
        }
    }
    Ok(())
}

/// Whether an assignment sets this key of `[run]`, by itself or with the whole table.
fn sets(path: &str, value: &str, key: &str) -> bool {
    match path.split('.').map(str::trim).collect::<Vec<_>>()[..] {
        ["run"] => {
            format!("run = {value}").parse::<toml::Table>().is_ok_and(|it| it["run"].get(key).is_some())
        }
        ["run", last] => last == key,
        _ => false,
    }
}

fn missing(name: &str) -> Failure {
    let failure =
        Failure::invalid(format!("{name}: there is no such file and no built-in scenario of that name"));
    let elsewhere = "`quell list` shows the built-in scenarios; `quell init` writes one to start from";
    let near = catalogue::did_you_mean(name.trim_end_matches(".toml"));
    failure.hint(near.unwrap_or_else(|| elsewhere.to_owned()))
}

/// Reads a text file of bounded size, or says why it is none.
fn read_text(path: &Path, kind: Text) -> Result<String, Failure> {
    let shown = path.display();
    let (what, largest) = (kind.name(), kind.most_octets() as u64);
    let refused = |error| Failure::io(path, "read", &error);
    let found = path.metadata().map_err(refused)?;
    if found.is_dir() {
        let what = if kind == Text::Scenario { "a scenario file" } else { what };
        return Err(Failure::invalid(format!("{shown}: is a folder, not {what}"))
            .hint("name the file in it; a folder of results is for `quell report`"));
    }
    let too_large = |size: String| {
        Failure::invalid(format!("{shown}: has {size}; {what} has at most {} MB", largest / 1_000_000))
            .hint("is it a recording? `quell report` takes the folder it lies in")
    };
    if found.len() > largest {
        return Err(too_large(format!("{} MB", found.len().div_ceil(1_000_000))));
    }
    let mut octets = Vec::new();
    // A device or pipe does not say its size beforehand.
    let all = File::open(path).and_then(|file| file.take(largest + 1).read_to_end(&mut octets));
    all.map_err(refused)?;
    if octets.len() as u64 > largest {
        return Err(too_large(format!("more than {} MB", largest / 1_000_000)));
    }
    let text = scenario::check_text(&shown.to_string(), &octets, kind);
    text.map(str::to_owned).map_err(|problem| Problems(vec![problem]).into())
}
