//! What was measured, as pictures.

use super::Measured;
use quell_report::Unit;
use quell_report::figure::{Axis, Chart, Mark, Plot};
use std::collections::BTreeMap;

/// Works of one family, which differ in their number of hosts.
type Family<'a> = (String, Vec<&'a Measured>);

/// What can be drawn of these.
pub(super) fn all(works: &[Measured]) -> Vec<Chart> {
    let mut charts = Vec::new();
    let families = families(works);
    if !families.is_empty() {
        charts.push(cost(&families));
        charts.push(memory(&families));
    }
    if works.iter().any(|it| it.threads > 1) {
        charts.push(speed_up(works));
    }
    charts
}

/// Families of which there are several sizes, as one thread runs them.
fn families(works: &[Measured]) -> Vec<Family<'_>> {
    let mut families: BTreeMap<String, Vec<&Measured>> = BTreeMap::new();
    for work in works.iter().filter(|it| it.threads == 1) {
        if let Some((family, size)) = work.work.rsplit_once('-')
            && size.parse::<u64>().is_ok()
        {
            families.entry(family.trim_start_matches("bench/").to_owned()).or_default().push(work);
        }
    }
    let mut families: Vec<Family<'_>> = families.into_iter().filter(|it| it.1.len() > 1).collect();
    families.iter_mut().for_each(|it| it.1.sort_by_key(|work| work.hosts));
    families
}

fn by_hosts(families: &[Family<'_>], value: impl Fn(&Measured) -> f64) -> Vec<Mark> {
    let lines = families.iter().enumerate().flat_map(|(colour, (name, works))| {
        let points: Vec<_> = works.iter().map(|it| (super::float(it.hosts), value(it))).collect();
        let dots = Mark::Points { name: String::new(), points: points.clone(), colour };
        [Mark::Line { name: name.clone(), points, colour, dashed: false }, dots]
    });
    lines.collect()
}

fn cost(families: &[Family<'_>]) -> Chart {
    let time = Plot {
        title: "Time".to_owned(),
        across: Axis::log("hosts", Unit::Count),
        up: Axis::straight("for each hop", Unit::Seconds),
        marks: by_hosts(families, |it| it.ns_per_hop * 1e-9),
    };
    let mut plots = vec![time];
    if families.iter().flat_map(|it| &it.1).all(|it| it.instructions_per_hop.is_some()) {
        plots.push(Plot {
            title: "Instructions".to_owned(),
            across: Axis::log("hosts", Unit::Count),
            up: Axis::straight("for each hop", Unit::Plain),
            marks: by_hosts(families, |it| it.instructions_per_hop.unwrap_or(0.0)),
        });
    }
    Chart {
        title: "What a frame-hop costs as the network grows".to_owned(),
        stem: "cost".to_owned(),
        caption: "One thread, the best run, recording and all.".to_owned(),
        plots,
    }
}

fn memory(families: &[Family<'_>]) -> Chart {
    let plot = Plot {
        title: String::new(),
        across: Axis::log("hosts", Unit::Count),
        up: Axis::log("memory", Unit::Bytes),
        marks: by_hosts(families, |it| super::float(it.peak_memory_bytes.unwrap_or(0))),
    };
    Chart {
        title: "What a network takes of memory".to_owned(),
        stem: "memory".to_owned(),
        caption: "The peak of the whole program, some 10 MB of which it takes for no network at all."
            .to_owned(),
        plots: vec![plot],
    }
}

fn speed_up(works: &[Measured]) -> Chart {
    let mut names: Vec<&str> = works.iter().map(|it| it.work.as_str()).collect();
    names.dedup();
    let most = works.iter().map(|it| it.threads).max().unwrap_or(1);
    let ideal = vec![(1.0, 1.0), (super::float(most), super::float(most))];
    let mut marks = vec![Mark::Line {
        name: "as many times as threads".to_owned(),
        points: ideal,
        colour: 7,
        dashed: true,
    }];
    for (colour, name) in names.into_iter().enumerate() {
        let of = |it: &&Measured| it.work == name;
        let Some(alone) = works.iter().filter(of).find(|it| it.threads == 1) else { continue };
        let points = works.iter().filter(of).map(|it| (super::float(it.threads), it.speed_up_over(alone)));
        let points: Vec<_> = points.collect();
        let name = name.trim_start_matches("bench/").to_owned();
        marks.push(Mark::Points { name: String::new(), points: points.clone(), colour });
        marks.push(Mark::Line { name, points, colour, dashed: false });
    }
    let plot = Plot {
        title: String::new(),
        across: Axis::log("threads", Unit::Count),
        up: Axis::log("times as fast as one thread", Unit::Plain),
        marks,
    };
    Chart {
        title: "How much faster one run is on several threads".to_owned(),
        stem: "threads".to_owned(),
        caption: "Whole runs, setting up and recording counted; the digest is the same on any number."
            .to_owned(),
        plots: vec![plot],
    }
}

/// Where the instructions of a work go.
pub(super) fn profile(work: &str, rows: Vec<(String, f64)>) -> Chart {
    let total: f64 = rows.iter().map(|it| it.1).sum();
    let plot = Plot {
        title: String::new(),
        across: Axis::straight("instructions for each hop", Unit::Plain),
        up: Axis::straight("source file", Unit::Plain),
        marks: vec![Mark::Bars(rows)],
    };
    Chart {
        title: format!("Where {total:.0} instructions a hop go: {work}"),
        stem: format!("profile-{}", work.trim_start_matches("bench/").replace(' ', "-")),
        caption: "By source file, as callgrind counts them; what comes from the standard library counts for the file that it is \
                  compiled into. Setting up is left out."
            .to_owned(),
        plots: vec![plot],
    }
}
