//! `quell why`: why a flow was slow, in words.

use super::recorded;
use crate::cli::WhyArgs;
use crate::exit::{Exit, Failure};
use crate::out::{self, Paint};
use quell_record::{Manifest, read_run};
use quell_report::{Unit, Why};
use serde_json::json;

pub(super) fn why(args: &WhyArgs) -> Result<Exit, Failure> {
    let dir = recorded::run_dir(&args.recorded)?;
    let (manifest, recording) = read_run(&dir)?;
    let flow = recorded::find_flow(&recording.catalog, &args.flow)?;
    let window = recorded::window(&args.recorded, &recording)?;
    let why = Why::of(&recording, flow, window);
    if args.json {
        let document = json!({
            "configuration": manifest.run.configuration,
            "seed": manifest.run.seed,
            "complete": manifest.ending.complete,
            "dir": dir,
            "why": why,
            "words": why.to_string(),
        });
        let text = serde_json::to_string_pretty(&document).expect("plain data is always JSON");
        out::print(&format!("{text}\n"))?;
    } else {
        out::print(&format!("{}\n\n{why}", heading(&why, &manifest)))?;
    }
    Ok(Exit::Done)
}

fn heading(why: &Why, manifest: &Manifest) -> String {
    let [from, to] = why.over_seconds.map(|it| Unit::Seconds.show_stated(it));
    let cut = if manifest.ending.complete { "" } else { ", cut short" };
    let run = format!("{}, seed {}{cut}, {from} to {to}", manifest.run.configuration, manifest.run.seed);
    format!("{} ({run})", Paint::for_stdout().bold(&why.flow))
}
