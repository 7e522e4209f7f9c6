//! Any text is the data that a scenario names, or a list of problems with the place of each: a distribution of sizes, a list of
//! flows in either form, a topology of the HPCC simulator, completion times that somebody else measured. The first octet
//! chooses which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_sim::scenario::{self, Request};

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\nlink = { rate = \"10Gb/s\", delay = \"1us\" }\n";
const FLOWS: &str = "[[traffic]]\npattern = \"flows\"\nsizes = \"data\"\nload = \"1%\"\n";
const TRACE: &str =
    "[[traffic]]\npattern = \"trace\"\nfile = \"data\"\nframe = \"1048B\"\nheader = \"48B\"\n";
const FILE: &str = "[topology]\nkind = \"file\"\nfile = \"data\"\n[[traffic]]\nfrom = \"h0\"\nto = \"h1\"\n";
/// One flow whose slowdown stands beside those of the data.
const BESIDE: &str =
    "[[traffic]]\npattern = \"trace\"\nfile = \"flow\"\n[[figure]]\nkind = \"slowdown\"\nbeside = \"data\"\n";
const FLOW: &str = "start_ns,from,to,bytes\n1,h1,h2,1000\n";

fuzz_target!(|octets: &[u8]| {
    let Some((which, data)) = octets.split_first() else { return };
    let Ok(data) = scenario::check_text("data", data, scenario::Text::Data) else { return };
    let rest = match which % 4 {
        0 => format!("{STAR}{FLOWS}"),
        1 => format!("{STAR}{TRACE}"),
        2 => FILE.to_owned(),
        _ => format!("{STAR}{BESIDE}"),
    };
    let text = format!("title = \"data\"\n[run]\nlength = \"1ms\"\nsample = \"10us\"\n{rest}");
    let file = |name: &str| Some(if name == "flow" { FLOW } else { data }.to_owned());
    let request = Request { base: &file, ..Request::plain("a.toml", &text) };
    match scenario::read(request) {
        Ok(read) => {
            assert!(read.configurations.iter().all(|it| !it.plan.catalog().entities.is_empty()));
            let beside = read.figures.iter().filter_map(|it| it.beside.as_ref());
            // In thousandths: a slowdown is at least one, and not without end.
            assert!(beside.flat_map(|it| &it.bars).all(|(_, value)| (1000..u64::MAX).contains(value)));
        }
        Err(problems) => {
            assert!(!problems.0.is_empty());
            assert!(problems.0.iter().all(|it| !it.file.is_empty() && !it.message.is_empty()));
        }
    }
});
