//! Any text is a scenario or a list of problems, each with words and a place, and what was read can be looked at.
//!
//! A line `#--set path=value` is a flag; all after a line `#--base` is the file that the scenario extends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_sim::scenario::{self, Request};
use std::collections::BTreeSet;

fuzz_target!(|octets: &[u8]| {
    let Ok(all) = scenario::check_text("a.toml", octets, scenario::Text::Scenario) else { return };
    let (text, base) = match all.split_once("\n#--base\n") {
        Some((text, base)) => (text, Some(base)),
        None => (all, None),
    };
    let flag = |line: &str| {
        let (path, value) = line.strip_prefix("#--set ")?.split_once('=')?;
        Some((path.trim().to_owned(), value.trim().to_owned()))
    };
    let sets: Vec<(String, String)> = text.lines().filter_map(flag).collect();
    for quick in [false, true] {
        let request = Request {
            file: "a.toml",
            text,
            // As on a disk, no file has no name.
            base: &|name| base.filter(|_| !name.is_empty()).map(str::to_owned),
            sets: &sets,
            quick,
            repeat: None,
            seed: None,
            wire_check: false,
        };
        match scenario::read(request) {
            Ok(read) => {
                let names: BTreeSet<&String> = read.configurations.iter().map(|it| &it.name).collect();
                assert_eq!(names.len(), read.configurations.len(), "configurations have names of their own");
                assert!(!names.is_empty());
                for it in &read.configurations {
                    assert!(!it.plan.catalog().entities.is_empty(), "there is something to record");
                }
                let known = |it: &String| names.contains(it);
                assert!(read.claims.iter().flat_map(|it| &it.configurations).all(known));
                assert!(read.figures.iter().flat_map(|it| &it.configurations).all(known));
            }
            Err(problems) => {
                assert!(!problems.0.is_empty());
                for problem in &problems.0 {
                    assert!(!problem.file.is_empty() && !problem.message.is_empty(), "{problem:?}");
                }
            }
        }
    }
});
