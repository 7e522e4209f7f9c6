//! Any text is the data that a scenario names, or a list of problems with the place of each: a distribution of sizes, a list of
//! flows in either form, a topology of the HPCC simulator. The first octet chooses which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_sim::scenario::{self, Request};

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\nlink = { rate = \"10Gb/s\", delay = \"1us\" }\n";
const FLOWS: &str = "[[traffic]]\npattern = \"flows\"\nsizes = \"data\"\nload = \"1%\"\n";
const TRACE: &str = "[[traffic]]\npattern = \"trace\"\nfile = \"data\"\nframe = \"1048B\"\nheader = \"48B\"\n";
const FILE: &str = "[topology]\nkind = \"file\"\nfile = \"data\"\n[[traffic]]\nfrom = \"h0\"\nto = \"h1\"\n";

fuzz_target!(|octets: &[u8]| {
    let Some((which, data)) = octets.split_first() else { return };
    let Ok(data) = scenario::check_text("data", data) else { return };
    let rest = match which % 3 {
        0 => format!("{STAR}{FLOWS}"),
        1 => format!("{STAR}{TRACE}"),
        _ => FILE.to_owned(),
    };
    let text = format!("title = \"data\"\n[run]\nlength = \"1ms\"\nsample = \"10us\"\n{rest}");
    let request = Request { base: &|_| Some(data.to_owned()), ..Request::plain("a.toml", &text) };
    match scenario::read(request) {
        Ok(read) => assert!(read.configurations.iter().all(|it| !it.plan.catalog().entities.is_empty())),
        Err(problems) => {
            assert!(!problems.0.is_empty());
            assert!(problems.0.iter().all(|it| !it.file.is_empty() && !it.message.is_empty()));
        }
    }
});
