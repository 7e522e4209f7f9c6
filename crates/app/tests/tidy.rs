//! Reads the source tree as a newcomer would, and fails where it is not what `ARCHITECTURE.md` says.

use quell_sim::scenario::{self, Request, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use toml::Table;

/// Who may use whom. A crate that is not here has no place in the house yet.
const ARROWS: &[(&str, &[&str])] = &[
    ("app", &["live", "proto", "record", "report", "sim", "theory"]),
    ("live", &["proto", "record"]),
    ("proto", &[]),
    ("record", &["proto"]),
    ("report", &["proto", "record", "theory"]),
    ("sim", &["proto", "record"]),
    ("theory", &["proto"]),
];

/// Where hardware would count, so do we.
const WITHOUT_FLOATS: &[&str] =
    &["crates/proto/src", "crates/sim/src/kernel", "crates/sim/src/model", "crates/sim/src/topology"];

/// What a simulation must not touch: it is a function of scenario and seed.
const WITHOUT_A_WORLD: &[&str] =
    &["crates/proto/src", "crates/sim/src", "crates/report/src", "crates/theory/src"];

/// Machines that no scenario can choose yet: the simulator does not drive them.
const NOT_DRIVEN_YET: &[&str] = &[];

/// Machines that are no `scheme.kind`, and the key that chooses them.
const CHOSEN_ELSEWHERE: &[(&str, &str)] = &[("isolation", "switch.isolation.mode")];

/// Folders of mechanisms that are no scheme of their own: what frames are sent again by.
const NOT_SCHEMES: &[&str] = &["go_back_n"];

/// Folders that hold nothing of ours, or nothing that is kept.
const NOT_OURS: &[&str] = &[".git", "target", "results", "corpus", "artifacts"];

#[test]
fn crates_use_only_those_below_them() {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        let Some((_, below)) = ARROWS.iter().find(|(it, _)| *it == name) else {
            wrong.push(format!("crates/{name} has no place in `ARROWS` and in ARCHITECTURE.md"));
            continue;
        };
        wrong.extend(wrong_arrows(&name, below, &manifest));
    }
    none(&wrong);
}

fn wrong_arrows(name: &str, below: &[&str], manifest: &Table) -> Vec<String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table());
    let ours = tables.flat_map(Table::keys).filter_map(|it| it.strip_prefix("quell-"));
    let wrong = ours.filter(|it| !below.contains(it));
    wrong.map(|it| format!("crates/{name} uses quell-{it}, which is not below it")).collect()
}

#[test]
fn an_arrow_upwards_is_seen() {
    let manifest: Table =
        "[dependencies]\nquell-proto.workspace = true\n[dev-dependencies]\nquell-sim.workspace = true"
            .parse()
            .expect("TOML");
    assert_eq!(wrong_arrows("report", &["proto"], &manifest).len(), 1);
    assert_eq!(wrong_arrows("report", &["proto", "sim"], &manifest).len(), 0);
}

#[test]
fn the_protocol_library_needs_nothing() {
    let manifest = &manifests()["proto"];
    let needed: Vec<&String> = manifest["dependencies"]
        .as_table()
        .expect("a table")
        .iter()
        .filter(|(_, it)| it.get("optional").and_then(toml::Value::as_bool) != Some(true))
        .map(|(name, _)| name)
        .collect();
    assert!(needed.is_empty(), "quell-proto cannot do without {needed:?}");
    assert!(read("crates/proto/src/lib.rs").contains("#![no_std]"));
}

#[test]
fn formats_do_not_know_what_uses_them() {
    let files = sources("crates/proto/src/wire");
    none(&files.iter().filter_map(|file| mentions(file, &["crate::control"])).collect::<Vec<_>>());
}

#[test]
fn every_crate_takes_its_lints_and_licence_from_the_workspace() {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        let inherits = |table: &str, key: &str| {
            let found = manifest.get(table).and_then(|it| it.get(key));
            found.and_then(|it| it.get("workspace").unwrap_or(it).as_bool()) == Some(true)
        };
        for (table, key) in [("lints", "workspace"), ("package", "version"), ("package", "license")] {
            if !inherits(table, key) {
                wrong.push(format!("crates/{name}/Cargo.toml: `{table}.{key}` is not the workspace's"));
            }
        }
    }
    none(&wrong);
}

#[test]
fn where_hardware_would_count_nothing_is_a_float() {
    let mut wrong = Vec::new();
    for folder in WITHOUT_FLOATS {
        for file in sources(folder).into_iter().filter(|it| it.file_name().is_some_and(|it| it != "tests.rs"))
        {
            let code = without_tests(&code_of(&text(&file)));
            wrong.extend(floats(&code).into_iter().map(|it| format!("{}: {it}", shown(&file))));
        }
    }
    none(&wrong);
}

#[test]
fn floats_are_told_from_what_looks_like_them() {
    assert_eq!(floats("let x: f64 = y.0.1; z(0..9, 0x1e3, 1usize, 7.max(2))"), ["f64"]);
    assert_eq!(floats("1.5 + 2e9 + 3_f32 + 4."), ["1.5", "2e9", "3_f32", "4."]);
}

#[test]
fn a_simulation_sees_no_file_and_no_clock_and_threads_in_one_place() {
    let world = ["std::fs", "std::net", "std::env", "SystemTime", "Instant::now"];
    let mut wrong = Vec::new();
    for file in WITHOUT_A_WORLD.iter().flat_map(|folder| sources(folder)) {
        wrong.extend(mentions(&file, &world));
        // Threads that wait for each other sleep for a while, and are held to cores as long as they have them for themselves: no
        // result depends on it.
        if !shown(&file).contains("kernel/parallel/") {
            wrong.extend(mentions(&file, &["std::thread", "std::time", "thread::", "place::"]));
        }
    }
    none(&wrong);
}

/// The file that speaks to the kernel past the standard library, and the one that asks the processor for memory ahead; their own
/// comments say why each line is sound.
const UNSAFE: [&str; 2] = ["crates/live/src/device/sys.rs", "crates/sim/src/model/near.rs"];

#[test]
fn nothing_is_unsafe_but_two_files_and_nothing_unfinished_or_ignored() {
    let words = ["unsafe", "todo!", "unimplemented!", "dbg!", "#[ignore"];
    let mut wrong = Vec::new();
    for file in sources("crates").into_iter().chain(sources("fuzz")) {
        let code = code_of(&text(&file));
        wrong.extend(
            words
                .iter()
                .filter(|it| {
                    has_word(&code, it) && !(**it == "unsafe" && UNSAFE.contains(&shown(&file).as_str()))
                })
                .map(|it| format!("{}: {it}", shown(&file))),
        );
    }
    none(&wrong);
}

#[test]
fn comments_and_quotes_are_no_code() {
    let source =
        "a /* unsafe /* still */ unsafe */ b // unsafe\n\"unsafe \\\" unsafe\" c r#\"unsafe\"# '\"' 'x d";
    let code = code_of(source);
    assert!(!has_word(&code, "unsafe"), "{code}");
    assert!(["a", "b", "c", "d"].iter().all(|it| has_word(&code, it)), "{code}");
    assert!(has_word("x; unsafe { }", "unsafe") && !has_word("unsafe_code", "unsafe"));
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\nb"), "a");
    assert_eq!(without_tests("#[cfg(test)]\nextern crate std;\na"), "#[cfg(test)]\nextern crate std;\na");
}

#[test]
fn every_scheme_has_a_page_and_a_scenario() {
    let resolved: Vec<_> = scenarios().into_values().flat_map(|scenario| scenario.resolved).collect();
    let of_schemes = resolved.iter().filter(|it| it.path == "scheme.kind").map(|it| it.value.clone());
    let elsewhere = CHOSEN_ELSEWHERE
        .iter()
        .filter(|(_, key)| resolved.iter().any(|it| it.path == *key && it.value != "off"));
    let kinds: BTreeSet<String> = of_schemes.chain(elsewhere.map(|(name, _)| (*name).to_owned())).collect();
    let mut wrong = Vec::new();
    for folder in folders("crates/proto/src/control") {
        let scheme = folder.replace('_', "-");
        if NOT_SCHEMES.contains(&folder.as_str()) {
            continue;
        }
        if NOT_DRIVEN_YET.contains(&folder.as_str()) {
            if kinds.contains(&scheme) {
                wrong.push(format!("`{folder}` is driven: take it off the list"));
            }
            continue;
        }
        if !root().join(format!("docs/schemes/{scheme}.md")).exists() {
            wrong.push(format!("docs/schemes/{scheme}.md is missing"));
        }
        if !kinds.contains(&scheme) {
            wrong.push(format!("no scenario uses `scheme.kind = \"{scheme}\"`"));
        }
    }
    none(&wrong);
}

#[test]
fn every_page_on_a_scheme_says_what_is_not_modelled() {
    let pages = files_in(&root().join("docs/schemes"), "md");
    assert!(!pages.is_empty());
    let silent = pages.iter().filter(|page| !text(page).contains("\n## Not modelled"));
    none(&silent.map(|page| shown(page)).collect::<Vec<_>>());
}

#[test]
fn every_scenario_says_what_it_is_what_it_shows_and_what_must_come_out() {
    let mut wrong = Vec::new();
    for (id, scenario) in scenarios() {
        let mut must = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("scenarios/{id}.toml {what}"));
            }
        };
        must(!scenario.title.trim().is_empty(), "has no title");
        must(scenario.shows.as_ref().is_some_and(|it| !it.trim().is_empty()), "does not say what it shows");
        must(scenario.claims.iter().any(|it| it.bound.is_some()), "claims nothing");
        must(scenario.warnings.is_empty(), "is read with warnings");
        if scenario.repeat > 5 {
            let quick = scenario_of(&id, true);
            must(quick.repeat < scenario.repeat, "has no quick form with fewer seeds");
            must(quick.claims.iter().any(|it| it.bound.is_some()), "claims nothing in its quick form");
        }
    }
    none(&wrong);
}

#[test]
fn nothing_here_names_one_machine_or_one_desk() {
    // Put together here, so that this file does not contain them.
    let words: Vec<String> =
        ["wo-rk/", "ho-me/", "ro-ot/"].iter().map(|it| format!("/{}", it.replace('-', ""))).collect();
    let mut wrong = Vec::new();
    for file in everything() {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (line, number) in text.lines().zip(1..) {
            if words.iter().any(|it| line.contains(it)) || names_a_numbered_source(line) {
                wrong.push(format!("{}:{number}: {}", shown(&file), line.trim()));
            }
        }
    }
    none(&wrong);
}

/// A source document is cited by its title; a number of three digits means nothing outside.
fn names_a_numbered_source(line: &str) -> bool {
    let start = format!("{} 0", "seed");
    line.to_lowercase()
        .split(&start)
        .skip(1)
        .any(|rest| rest.bytes().take(2).filter(u8::is_ascii_digit).count() == 2)
}

#[test]
fn a_numbered_source_is_told_from_a_seed() {
    assert!(names_a_numbered_source(&format!("see {} 012, p. 3", "Seed")));
    assert!(!names_a_numbered_source(&format!("with {} 0, or 7", "seed")));
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let pages = documents();
    let mut wrong = Vec::new();
    for page in &pages {
        let text = text(page);
        for link in links(&text) {
            if let Err(why) = follow(page, &link) {
                wrong.push(format!("{}: ({link}) {why}", shown(page)));
            }
        }
    }
    none(&wrong);
}

fn follow(page: &Path, link: &str) -> Result<(), String> {
    if ["https://", "http://", "mailto:"].iter().any(|it| link.starts_with(it)) {
        return Ok(());
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, it)| (path, Some(it)));
    let target = if path.is_empty() { page.to_owned() } else { page.parent().expect("a folder").join(path) };
    let target = plain(&target);
    if !target.starts_with(root()) {
        return Err("leads out of the project".to_owned());
    }
    if !target.exists() {
        return Err(format!("there is no {}", shown(&target)));
    }
    match heading {
        Some(heading) if !headings(&text(&target)).contains(heading) => {
            Err(format!("{} has no such heading", shown(&target)))
        }
        _ => Ok(()),
    }
}

#[test]
fn links_and_headings_are_found() {
    let page =
        "# A b: c, `d`\n[x](one.md) and ![y](two.svg)\n```sh\n[z](three.md)\n# not one\n```\n`[w](four.md)`";
    assert_eq!(links(page), ["one.md", "two.svg"]);
    assert_eq!(headings(page), BTreeSet::from(["a-b-c-d".to_owned()]));
    assert!(follow(&root().join("README.md"), "no-such-file.md").is_err());
    assert!(follow(&root().join("README.md"), "README.md#no-such-heading").is_err());
}

#[test]
fn every_page_is_in_the_index() {
    let index = root().join("docs/README.md");
    let listed: BTreeSet<PathBuf> = links(&text(&index))
        .iter()
        .map(|it| plain(&index.with_file_name(it.split('#').next().expect("a first part"))))
        .collect();
    let pages = files_in(&root().join("docs"), "md");
    let missing = pages.iter().filter(|it| **it != index && !listed.contains(*it));
    none(&missing.map(|it| format!("docs/README.md does not list {}", shown(it))).collect::<Vec<_>>());
}

#[test]
fn a_reproduction_page_is_that_of_the_scenarios_as_they_are() {
    let mut wrong = Vec::new();
    let home = root().join("docs/reproduction");
    let pages = if home.exists() { files_in(&home, "md") } else { Vec::new() };
    for page in pages {
        let family = page.file_stem().expect("a name").to_string_lossy().into_owned();
        let words = text(&page);
        let of_family = |id: &String| id.starts_with(&format!("{family}/"));
        let scenarios: Vec<Scenario> =
            scenarios().into_iter().filter(|(id, _)| of_family(id)).map(|(_, it)| it).collect();
        assert!(!scenarios.is_empty(), "{}: there is no family {family}", shown(&page));
        wrong.extend(
            scenarios.iter().flat_map(|it| parted(&words, it)).map(|it| format!("{}: {it}", shown(&page))),
        );
        let pictures = files_in(&page.with_extension(""), "svg");
        let name = |it: &PathBuf| it.file_name().expect("a name").to_string_lossy().into_owned();
        let unused = pictures.iter().map(name).filter(|it| !words.contains(&format!("{family}/{it})")));
        wrong.extend(unused.map(|it| format!("{}: has no picture {it}", shown(&page))));
    }
    none(&wrong);
}

/// What a scenario says and a reproduction page does not. Such a page is made again by its first command.
fn parted(page: &str, scenario: &Scenario) -> Vec<String> {
    let page = page.replace('\\', "");
    let prose = [Some(&scenario.title), scenario.shows.as_ref(), scenario.about.as_ref()];
    let prose = prose.into_iter().chain([scenario.says.as_ref(), scenario.differs.as_ref()]).flatten();
    let claims = scenario.claims.iter().map(|it| &it.text);
    let mut said: Vec<String> = prose.chain(claims).map(|it| it.trim().replace('\\', "")).collect();
    said.extend(scenario.configurations.iter().map(|it| format!("`{}`", it.name)));
    said.retain(|it| !page.contains(it.as_str()));
    said.into_iter().map(|it| format!("{} says, and it does not: {it}", scenario.id)).collect()
}

#[test]
fn a_page_that_parted_from_its_scenario_is_seen() {
    let scenario = scenario_of("qau/b7", false);
    let mut page =
        [&scenario.title, scenario.shows.as_ref().expect("a source")].map(String::as_str).join("\n");
    let prose = [&scenario.about, &scenario.says, &scenario.differs].map(|it| it.clone().unwrap_or_default());
    page.push_str(&prose.join("\n"));
    scenario.configurations.iter().for_each(|it| page.push_str(&format!("`{}`\n", it.name)));
    let claims: Vec<String> = scenario.claims.iter().map(|it| it.text.replace('*', "\\*")).collect();
    assert_eq!(parted(&format!("{page}{}", claims.join("\n")), &scenario), [""; 0]);
    assert_eq!(parted(&format!("{page}{}", claims[1..].join("\n")), &scenario).len(), 1);
    assert_eq!(parted("", &scenario).len(), 5 + scenario.claims.len() + scenario.configurations.len());
}

#[test]
fn the_documents_name_only_scenarios_and_commands_that_exist() {
    let ids: BTreeSet<String> = scenarios().into_keys().collect();
    let families: BTreeSet<&str> = ids.iter().filter_map(|it| it.split('/').next()).collect();
    let mut wrong = Vec::new();
    let mut verbs = BTreeMap::new();
    for page in documents() {
        let text = text(&page);
        let is_of_a_name = |it: char| it.is_ascii_alphanumeric() || "/-_.".contains(it);
        for name in text.split(|it| !is_of_a_name(it)).map(|it| it.trim_matches(['.', '/'])) {
            let parts: Vec<&str> = name.split('/').collect();
            let is_picture = name.ends_with(".svg");
            if parts.len() == 2 && families.contains(parts[0]) && !ids.contains(name) && !is_picture {
                wrong.push(format!("{}: there is no scenario {name}", shown(&page)));
            }
        }
        for words in text.split("quell ").skip(1).filter_map(|it| it.split_whitespace().next()) {
            if text.contains(&format!("`quell {words}")) || text.contains(&format!("\nquell {words}")) {
                let verb = words.trim_end_matches(|it: char| !it.is_ascii_lowercase());
                verbs.entry(verb.to_owned()).or_insert_with(|| shown(&page));
            }
        }
    }
    assert!(verbs.contains_key("run"), "{verbs:?}");
    for (verb, page) in verbs.into_iter().filter(|(verb, _)| !verb.is_empty()) {
        let help =
            Command::new(env!("CARGO_BIN_EXE_quell")).args(["help", &verb]).output().expect("it starts");
        if !help.status.success() {
            wrong.push(format!("{page}: there is no `quell {verb}`"));
        }
    }
    none(&wrong);
}

#[test]
fn the_first_page_has_the_two_commands_and_the_version_has_a_chapter() {
    let readme = read("README.md");
    for command in ["cargo run --release -- run qau/b7", "./test"] {
        assert!(readme.contains(command), "README.md does not say `{command}`");
    }
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CHANGELOG.md").contains(version), "CHANGELOG.md does not know {version}");
    for (name, _) in ARROWS {
        assert!(
            read("ARCHITECTURE.md").contains(&format!("{name}/")),
            "ARCHITECTURE.md does not know {name}/"
        );
    }
    for script in ["test", ".ci/run"] {
        assert!(is_executable(&root().join(script)), "{script} cannot be run");
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.exists()
}

// What the tree holds.

fn root() -> PathBuf {
    plain(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// The same path without `.` and `..`, links left alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn read(path: &str) -> String {
    text(&root().join(path))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", shown(path)))
}

/// Every file of the project, in order.
fn everything() -> Vec<PathBuf> {
    walk(&root())
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", shown(&folder))) {
            let path = entry.expect("an entry").path();
            let is_ours = !NOT_OURS.iter().any(|it| path.file_name().is_some_and(|name| name == *it));
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if path.is_file() && is_ours {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn files_in(folder: &Path, ending: &str) -> Vec<PathBuf> {
    walk(folder).into_iter().filter(|it| it.extension().is_some_and(|it| it == ending)).collect()
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let files = files_in(&root().join(folder), "rs");
    assert!(!files.is_empty(), "{folder} has no source");
    files
}

fn documents() -> Vec<PathBuf> {
    files_in(&root(), "md")
}

/// The names of the folders in a folder.
fn folders(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder").map(|it| it.expect("an entry"));
    let folders = entries.filter(|it| it.path().is_dir());
    let mut names: Vec<String> = folders.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(!names.is_empty(), "{folder} has no folders");
    names
}

fn manifests() -> BTreeMap<String, Table> {
    let manifest = |name: &String| {
        let path = format!("crates/{name}/Cargo.toml");
        read(&path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    folders("crates").into_iter().map(|name| (name.clone(), manifest(&name))).collect()
}

fn scenarios() -> BTreeMap<String, Scenario> {
    let home = root().join("scenarios");
    let id = |file: &Path| {
        let path = file.strip_prefix(&home).expect("within").with_extension("");
        path.to_string_lossy().replace('\\', "/")
    };
    let ids = files_in(&home, "toml").into_iter().map(|file| id(&file));
    let found: BTreeMap<String, Scenario> = ids.map(|id| (id.clone(), scenario_of(&id, false))).collect();
    assert!(!found.is_empty());
    found
}

fn scenario_of(id: &str, quick: bool) -> Scenario {
    let file = root().join(format!("scenarios/{id}.toml"));
    let home = root().join("scenarios");
    let base = |name: &str| {
        fs::read_to_string(file.with_file_name(name)).or_else(|_| fs::read_to_string(home.join(name))).ok()
    };
    let request = Request {
        file: &shown(&file),
        text: &text(&file),
        base: &base,
        sets: &[],
        quick,
        repeat: None,
        seed: None,
        wire_check: false,
    };
    scenario::read(request).unwrap_or_else(|problems| panic!("{problems}"))
}

// What a file says.

/// A file with the first of the words that its code outside tests contains, if it does.
fn mentions(file: &Path, words: &[&str]) -> Option<String> {
    if shown(file).contains("tests") {
        return None;
    }
    let code = without_tests(&code_of(&text(file)));
    let word = words.iter().find(|it| has_word(&code, it))?;
    Some(format!("{}: {word}", shown(file)))
}

/// Rust without what is not code: comments, and what stands between quotes.
fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if first == '"' {
            quote(rest)
        } else if let Some(length) = raw_quote(rest).filter(|_| !ends_in_a_word(&code)) {
            length
        } else if first == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().filter(|it| *it == '\n'));
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// The length of the comment at the start, comments within it included.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of the string at the start.
fn quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, it) in text.char_indices().skip(1) {
        match it {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The length of the raw string at the start, if there is one.
fn raw_quote(text: &str) -> Option<usize> {
    let marks = text.strip_prefix('r')?;
    let count = marks.bytes().take_while(|it| *it == b'#').count();
    let inside = marks[count..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(count));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(1 + count + 1 + length)
}

/// The length of the character at the start; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), Some((_, escaped))) => {
            text[2 + escaped.len_utf8()..].find('\'').map_or(0, |at| 2 + escaped.len_utf8() + at + 1)
        }
        (Some(_), Some((at, '\''))) => 1 + at + 1,
        _ => 0,
    }
}

/// Code without its tests, which stand last.
fn without_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let begin = lines.windows(2).position(|it| {
        let opens = it[1].trim_end().ends_with('{');
        it[0].trim() == "#[cfg(test)]" && it[1].trim_start().starts_with("mod ") && opens
    });
    lines[..begin.unwrap_or(lines.len())].join("\n")
}

fn is_of_a_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

fn ends_in_a_word(code: &str) -> bool {
    code.ends_with(is_of_a_word)
}

/// Whether the code has the word as a whole.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let after = &code[at + word.len()..];
        let begins = !ends_in_a_word(&code[..at]);
        let ends = !word.ends_with(is_of_a_word) || !after.starts_with(is_of_a_word);
        begins && ends
    })
}

/// The types and numbers in code that are floats.
fn floats(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find(is_of_a_word).map(|it| at + it) {
        let length = |from: usize| code[from..].find(|it| !is_of_a_word(it)).unwrap_or(code.len() - from);
        let mut end = start + length(start);
        let word = &code[start..end];
        let is_number = word.starts_with(|it: char| it.is_ascii_digit()) && !code[..start].ends_with('.');
        let is_float = if is_number && !["0x", "0b", "0o"].iter().any(|it| word.starts_with(it)) {
            let after = &code[end..];
            let next = after[1.min(after.len())..].chars().next();
            let has_point =
                after.starts_with('.') && next.is_none_or(|it| it.is_ascii_digit() || !is_start(it));
            if has_point {
                end += 1;
                end += length(end);
            }
            let suffix = word.trim_start_matches(|it: char| it.is_ascii_digit() || it == '_');
            has_point || suffix.starts_with(['e', 'E', 'f'])
        } else {
            ["f32", "f64"].contains(&word)
        };
        if is_float {
            found.push(code[start..end].to_owned());
        }
        at = end;
    }
    found
}

/// Whether a point before it makes it a method, a field or a range, not a number.
fn is_start(it: char) -> bool {
    it.is_alphabetic() || it == '_' || it == '.'
}

/// Where the links of a page lead, in order.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(page) {
        let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let mut rest = spoken.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let end = rest.find(')').unwrap_or(rest.len());
            found.push(rest[..end].split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// The headings of a page, as links name them.
fn headings(page: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    prose(page).filter(|line| line.starts_with('#')).map(name).collect()
}

/// The lines of a page outside its blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
