//! Reading a scenario: one pass over the file, then one for each configuration.

use super::configurations::{Axes, Chosen};
use super::plan::{Adapter, Deadlock, Discovery, Host, HostId, Plan, Scheme, Switch, TieBreak};
use super::plan_checks::Places;
use super::plan_claims::Reading;
use super::plan_network::Files;
use super::problem::{Log, Place, Problem, Problems, suggest};
use super::section::Section;
use super::value::{Data, Origin, Table, Value, from_flag, parse, substitute};
use super::{Configuration, Request, Resolved, Scenario};
use super::{plan_changes, plan_checks, plan_claims, plan_network, plan_nodes, plan_traffic};
use crate::topology::Network;
use quell_proto::units::{Bytes, Duration, Instant};
use quell_record::claim::{Claim, FairShare, FigureKind, FigureSpec};
use std::collections::{BTreeMap, BTreeSet};

/// Reads a scenario, or says all that is wrong with it, in the order of its lines.
pub fn read(request: Request<'_>) -> Result<Scenario, Problems> {
    let scenario = read_as_asked(request);
    if request.quick {
        return scenario;
    }
    // What `--quick` would choke on is wrong today already.
    match (scenario, has_quick(&request)) {
        (scenario, false) => scenario,
        (Ok(scenario), true) => read_as_asked(Request { quick: true, ..request }).map(|_| scenario),
        (Err(mut problems), true) => {
            if let Err(more) = read_as_asked(Request { quick: true, ..request }) {
                problems.0.extend(more.0);
                problems.0 = in_order(problems.0, request.file);
            }
            Err(problems)
        }
    }
}

fn has_quick(request: &Request<'_>) -> bool {
    request.text.contains("quick")
}

fn read_as_asked(request: Request<'_>) -> Result<Scenario, Problems> {
    let mut log = Log::new(request.file);
    let mut tree = typed(&request, &mut log);
    let flags = flags(&request);
    for flag in &flags {
        tree.merge(flag.clone());
    }
    if log.problems.is_empty() {
        refuse_control_characters("", &tree, &mut log);
    }
    let axes = Axes::take(&mut tree, &mut log);
    if !log.problems.is_empty() {
        return Err(Problems(in_order(log.problems, request.file)));
    }
    let mut used = BTreeSet::new();
    let mut passes = Vec::new();
    for chosen in &axes.chosen {
        let mut log = Log::new(request.file);
        let mut tree = tree.clone();
        for overlay in &chosen.overlays {
            tree.merge(overlay.clone());
        }
        for flag in &flags {
            tree.merge(flag.clone());
        }
        for gone in ["axis", "skip"] {
            tree.remove(gone);
        }
        fill_parameters(&mut tree, &mut used, &mut log);
        let meant = Sections::check(&tree, &axes, chosen, &mut log).meant(&axes, chosen, &request, &mut log);
        passes.push((chosen, log, meant));
    }
    unused_parameters(&tree, &used, &mut log);
    overridden_axes(&request, &axes, &mut log);
    let problems = problems(log.problems, &passes);
    if !problems.is_empty() {
        return Err(Problems(in_order(problems, request.file)));
    }
    assemble(&request, log.warnings, passes)
}

/// The tree of the file, over what it extends, under `[quick]`.
fn typed(request: &Request<'_>, log: &mut Log) -> Table {
    let mut tree = parse(request.file, request.text, log);
    if let Some(extends) = tree.remove("extends") {
        match extends.text().map(|name| (name, (request.base)(name))) {
            None => {
                log.wrong(
                    &extends.origin,
                    format!("`extends` is {}, not the name of a file", extends.what()),
                );
            }
            Some((name, None)) => {
                log.wrong(&extends.origin, format!("`extends` names `{name}`, which cannot be read"))
                    .hint("the name is relative to this file");
            }
            Some((name, Some(text))) => {
                let mut base = Value { data: Data::Table(parse(name, &text, log)), origin: Origin::Default };
                base.restamp(&|file, line| Origin::Extends(file.clone(), line));
                if let Data::Table(mut base) = base.data {
                    if let Some(again) = base.remove("extends") {
                        log.wrong(&again.origin, format!("`{name}` is extended, and extends a file itself"))
                            .hint("files are extended once deep");
                    }
                    base.merge(tree);
                    tree = base;
                }
            }
        }
    }
    if let Some(mut quick) = tree.remove("quick") {
        quick.restamp(&|file, line| Origin::Quick(file.clone(), line));
        match quick.data {
            Data::Table(quick) if request.quick => tree.merge(quick),
            Data::Table(_) => {}
            _ => {
                log.wrong(&quick.origin, format!("`quick` is {}, not a table", quick.what()));
            }
        }
    }
    tree
}

/// Names and texts go to terminals, tables and pages as they are; a control character would upset those.
fn refuse_control_characters(path: &str, table: &Table, log: &mut Log) {
    for (name, value) in &table.0 {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(letter) = name.chars().find(|letter| letter.is_control()) {
            let shown = visible(&path);
            log.wrong(
                &value.origin,
                format!("the name `{shown}` has the control character U+{:04X}", u32::from(letter)),
            )
            .hint("names are printed as they are, so they are made of what can be seen");
            continue;
        }
        refuse_control_characters_of(&path, value, log);
    }
}

/// Keys of several paragraphs.
const PROSE: &[&str] = &["about", "says", "differs"];

fn refuse_control_characters_of(path: &str, value: &Value, log: &mut Log) {
    match &value.data {
        Data::Table(table) => refuse_control_characters(path, table, log),
        Data::List(values) => {
            for (index, value) in values.iter().enumerate() {
                refuse_control_characters_of(&format!("{path}.{index}"), value, log);
            }
        }
        Data::Text(text) => {
            let is_prose = PROSE.contains(&path);
            let text = if is_prose { text.replace("\r\n", "\n") } else { text.clone() };
            let is_wrong =
                |letter: &char| letter.is_control() && !(is_prose && matches!(letter, '\n' | '\t'));
            if let Some(letter) = text.chars().find(is_wrong) {
                let number = u32::from(letter);
                let hint = if is_prose {
                    "line breaks and tabs alone are allowed"
                } else {
                    "it is printed as it is, so it is made of what can be seen; `about` may have several lines"
                };
                log.wrong(&value.origin, format!("`{path}` has the control character U+{number:04X}"))
                    .hint(hint);
            }
        }
        Data::Integer(_) | Data::Number(_) | Data::Flag(_) => {}
    }
}

/// Text with its control characters spelled out.
fn visible(text: &str) -> String {
    text.chars()
        .map(
            |letter| {
                if letter.is_control() { letter.escape_unicode().to_string() } else { letter.to_string() }
            },
        )
        .collect()
}

/// What the command line lays over the file, in order.
fn flags(request: &Request<'_>) -> Vec<Table> {
    let number = |flag: &str, key: &str, number: u64| {
        let mut table = from_flag(&format!("run.{key}"), &number.to_string());
        if let Some(run) = table.get_mut("run")
            && let Data::Table(run) = &mut run.data
            && let Some(value) = run.get_mut(key)
        {
            value.origin = Origin::Flag(format!("{flag} {number}"));
        }
        table
    };
    let mut flags: Vec<Table> = request.sets.iter().map(|(path, value)| from_flag(path, value)).collect();
    flags.extend(request.seed.map(|seed| number("--seed", "seed", seed)));
    flags.extend(request.repeat.map(|repeat| number("--repeat", "repeat", u64::from(repeat))));
    flags
}

fn fill_parameters(tree: &mut Table, used: &mut BTreeSet<String>, log: &mut Log) {
    let Some(stated) = tree.remove("parameters") else {
        substitute(tree, &Table::default(), &mut Vec::new(), log);
        return;
    };
    let Data::Table(parameters) = stated.data else {
        log.wrong(&stated.origin, format!("`parameters` is {}, not a table", stated.what()));
        return;
    };
    for (name, value) in &parameters.0 {
        if value.text().is_some_and(|text| text.starts_with('$')) {
            log.wrong(&value.origin, format!("`parameters.{name}` is `{value}`, itself a parameter"))
                .hint("state the value");
        }
    }
    let mut names = Vec::new();
    substitute(tree, &parameters, &mut names, log);
    used.extend(names);
}

fn unused_parameters(tree: &Table, used: &BTreeSet<String>, log: &mut Log) {
    let Some(parameters) = tree.get("parameters").and_then(Value::table) else { return };
    for (name, value) in parameters.0.iter().filter(|(name, _)| !used.contains(name)) {
        let path = format!("parameters.{name}");
        if matches!(value.origin, Origin::Extends(..)) {
            log.warn(
                &value.origin,
                format!("nothing reads `{path}`"),
                format!("its value is used as \"${name}\""),
            );
        } else {
            log.wrong(&value.origin, format!("nothing reads `{path}`"))
                .hint(format!("its value is used as \"${name}\""));
        }
    }
}

/// A flag that makes the values of an axis alike is seldom meant.
fn overridden_axes(request: &Request<'_>, axes: &Axes, log: &mut Log) {
    for (path, value) in request.sets {
        let chosen = axes.chosen.iter().flat_map(|chosen| chosen.axes.iter().zip(&chosen.overlays));
        if let Some(((axis, _), _)) = chosen.into_iter().find(|(_, overlay)| overlay.at(path).is_some()) {
            let origin = Origin::Flag(format!("--set {path}={value}"));
            let message = format!("it overrides the axis `{axis}` in every configuration");
            log.warn(&origin, message, format!("change `axis.{axis}.<value>.{path}` instead"));
        }
    }
}

/// The sections of one configuration, each checked against its keys.
struct Sections {
    top: Section,
    run: Section,
    topology: Section,
    links: Vec<Section>,
    switch: Section,
    /// Switches that differ: name, the whole section, and just what was stated for it.
    switches: Vec<(String, Section, Table)>,
    adapter: Section,
    scheme: Section,
    traffic: Vec<Section>,
    at: Vec<Section>,
    expect: Vec<Section>,
    fair: Vec<Section>,
    figure: Vec<Section>,
}

impl Sections {
    fn check(tree: &Table, axes: &Axes, chosen: &Chosen, log: &mut Log) -> Sections {
        let top = Section::check("", "", tree, &Origin::Default, log);
        let empty = Table::default();
        let table = |name: &str| match tree.get(name) {
            Some(value) => (value.table().unwrap_or(&empty), value.origin.clone()),
            None => (&empty, Origin::Default),
        };
        let plain = |name: &'static str, log: &mut Log| {
            let (table, origin) = table(name);
            // What is no table at all has been said to be none; that its keys are missing then says nothing.
            let mut unheard = Log::new("");
            let log = if top.is_wrong(&[name]) { &mut unheard } else { log };
            Section::check(name, name, table, &origin, log)
        };
        let run = plain("run", log);
        let topology = plain("topology", log);
        let list = |name: &'static str, of: &Section, key: &'static str, log: &mut Log| -> Vec<Section> {
            let tables = of.tables(key);
            tables
                .iter()
                .map(|(path, table, origin)| Section::check(name, path, table, origin, log))
                .collect()
        };
        let links = list("topology.links", &topology, "links", log);
        let switch = plain("switch", log);
        let (general, _) = table("switch");
        let switches = overrides(&top, general, log);
        let adapter = plain("adapter", log);
        let scheme = plain("scheme", log);
        let traffic = list("traffic", &top, "traffic", log);
        let at = list("at", &top, "at", log);
        // A claim is read only in the configurations it is about: elsewhere its flows need not exist.
        let about = |name: &'static str, log: &mut Log| -> Vec<Section> {
            let tables = top.tables(name);
            let chosen = tables.iter().filter(|(path, table, _)| {
                let when = format!("{path}.when");
                axes.applies(&when, table.get("when"), chosen, log).unwrap_or(false)
            });
            let chosen: Vec<_> = chosen.collect();
            chosen
                .into_iter()
                .map(|(path, table, origin)| Section::check(name, path, table, origin, log))
                .collect()
        };
        let expect = about("expect", log);
        let fair = about("fair", log);
        let figure = about("figure", log);
        Sections {
            top,
            run,
            topology,
            links,
            switch,
            switches,
            adapter,
            scheme,
            traffic,
            at,
            expect,
            fair,
            figure,
        }
    }

    /// What the sections mean, as far as nothing is wrong.
    fn meant(self, axes: &Axes, chosen: &Chosen, request: &Request<'_>, log: &mut Log) -> Option<Meant> {
        // What could not be read is in the log by now. Something stands in for it, so that the rest is checked
        // too; a plan made of stand-ins goes no further than this log.
        let length = self.run.time("length").unwrap_or(Duration::from_ps(u64::MAX / 8));
        let overhead = self.run.size("overhead").unwrap_or(Bytes::ZERO);
        let adapter = plan_nodes::adapter(&self.adapter, log);
        let mut preset_rows = Vec::new();
        let scheme = plan_nodes::scheme(&self.scheme, &mut preset_rows);
        let Some(network) = plan_network::network(&self.topology, &self.links, request.base, log) else {
            plan_nodes::switch(&self.switch, 1, log);
            return None;
        };
        let names = plan_network::by_name(&network);
        let lines = plan_traffic::lines(&network);
        let setting = plan_traffic::Setting {
            network: &network,
            names: &names,
            lines: &lines,
            length,
            overhead,
            seed: self.run.count("seed").unwrap_or(1),
            files: request.base,
        };
        let mut traffic = plan_traffic::Traffic::default();
        let mut flow_sections = Vec::new();
        let mut whole = true;
        for section in &self.traffic {
            whole &= traffic.add(section, &setting, log).is_some();
            flow_sections.resize(traffic.flows.len(), section);
        }
        let redraw = traffic.redraw();
        if let Some(redraw) = &redraw {
            // As every seed has it: what is the same under all of them first.
            let drawn = std::mem::take(&mut traffic.redrawn);
            let of_recipes = drawn.iter().map(|flows| flow_sections.get(flows.start).copied());
            let of_recipes: Vec<Option<&Section>> = of_recipes.collect();
            let is_fixed = |flow: &usize| !drawn.iter().any(|flows| flows.contains(flow));
            let fixed: Vec<&Section> =
                (0..flow_sections.len()).filter(is_fixed).map(|flow| flow_sections[flow]).collect();
            flow_sections = fixed;
            traffic = plan_traffic::Traffic::resume(redraw.flows.clone(), redraw.sources.clone());
            let name = |host: HostId| network.hosts[host.0 as usize].clone();
            for (recipe, section) in redraw.recipes.iter().zip(of_recipes) {
                recipe.draw(setting.seed, &mut traffic, &name);
                flow_sections.extend(
                    section.map(|it| vec![it; traffic.flows.len() - flow_sections.len()]).unwrap_or_default(),
                );
            }
        }
        let is_listed =
            |section: &Section| matches!(section.text("pattern"), Some("flows" | "incasts" | "trace"));
        if redraw.is_some() || self.traffic.iter().any(is_listed) {
            let order = traffic.number_by_sender();
            flow_sections = order.into_iter().map(|old| flow_sections[old]).collect();
        }
        if whole && traffic.flows.is_empty() {
            if let Some(section) = self.traffic.first() {
                log.wrong(&section.origin, format!("no flow comes in {length}, so that nothing is sent"))
                    .hint("a longer run, a higher load or smaller flows make some");
            } else if !self.top.is_wrong(&["traffic"]) {
                log.wrong(&self.top.origin, "nothing is sent")
                    .hint("write a [[traffic]] with `from` and `to`");
            }
            whole = false;
        }
        let of_flows = traffic.flows.iter().map(|flow| flow.priority);
        let drawn = redraw.iter().flat_map(|redraw| redraw.priorities());
        let in_use = of_flows.chain(drawn).fold(0, |bits, priority| bits | 1 << priority.get());
        let (switches, switch_sections) = self.switches(&network, in_use, log);
        let mut plan = Plan {
            length,
            overhead,
            sample: self.run.time("sample").unwrap_or(length),
            cuts: Vec::new(),
            flow_series: self.run.text("flow_series") != Some("none"),
            bursts: false,
            hosts: hosts(&network, &adapter.unwrap_or_else(plan_nodes::plain_adapter)),
            switches,
            links: network.links.clone(),
            fabric: network.fabric.clone(),
            tie_break: plan_network::tie_break(&self.topology).unwrap_or(TieBreak::Hash),
            flows: traffic.flows,
            sources: traffic.sources,
            redraw,
            changes: Vec::new(),
            scheme: scheme.unwrap_or(Scheme::None),
            deadlock: Deadlock::Impossible,
            discovery: match self.run.text("discovery") {
                Some("frames") => Discovery::Frames,
                _ => Discovery::Before,
            },
            wire_check: request.wire_check,
        };
        let shortest = plan.scheme.shortest_frame();
        let kept = plan.redraw.iter_mut().flat_map(|redraw| redraw.sources_mut());
        plan.sources.iter_mut().chain(kept).for_each(|source| source.pad_transfers(shortest));
        if !whole {
            return None; // Claims and changes name flows that may be the missing ones.
        }
        for section in &self.at {
            plan_changes::change(section, &mut plan, log);
        }
        plan.changes.sort_by_key(|change| change.at);
        if let Some(redraw) = &mut plan.redraw {
            redraw.follow(&plan.flows, &plan.sources);
        }
        let places = Places {
            run: &self.run,
            topology: &self.topology,
            switches: &switch_sections,
            adapter: &self.adapter,
            scheme: &self.scheme,
            flows: &flow_sections,
        };
        plan_checks::idle_way(&mut plan, &places, log);
        plan_checks::check(&plan, &places, log);
        plan.deadlock = plan_checks::deadlocks(&plan, &places, log);
        let (claims, figures) = self.claims(&plan, axes, chosen, request.base, log);
        let fair = self.fair(&plan, axes, chosen, request.base, log);
        plan.cuts = cuts(&plan, &claims, &fair, &figures);
        plan.bursts = claims.iter().any(|(_, claim)| claim.measure.metric.counts_bursts())
            || figures.iter().any(|(_, figure)| figure.kind == FigureKind::Bursts);
        let rows = self.rows(preset_rows);
        let titles = ["title", "shows", "about", "says", "differs"];
        let titles = titles.map(|key| self.top.text(key).map(str::to_owned));
        let (seed, repeat) = (self.run.count("seed")?, self.run.count("repeat")?);
        Some(Meant { plan, claims, fair, figures, seed, repeat, rows, titles })
    }

    /// The switches, and the section that each was read from.
    fn switches(&self, network: &Network, in_use: u8, log: &mut Log) -> (Vec<Switch>, Vec<&Section>) {
        let general = plan_nodes::switch(&self.switch, in_use, log);
        let own: BTreeMap<&str, (&Section, Option<plan_nodes::SwitchParts>)> = self
            .switches
            .iter()
            .map(|(name, section, _)| (name.as_str(), (section, plan_nodes::switch(section, in_use, log))))
            .collect();
        for (name, (section, _)) in &own {
            if !network.switches.iter().any(|switch| switch == name) {
                log.wrong(&section.origin, format!("there is no switch `{name}`"));
                if let Some(hint) =
                    suggest(name, network.switches.iter().map(String::as_str), "the switches are")
                {
                    log.hint(hint);
                }
            }
        }
        let switches = network.switches.iter().map(|name| {
            let (section, parts) =
                own.get(name.as_str()).map_or((&self.switch, &general), |own| (own.0, &own.1));
            let parts = parts.clone().unwrap_or_else(plan_nodes::plain_switch);
            let plan_nodes::SwitchParts { buffering, flow_control, schedule, marking, isolation } = parts;
            let name = name.clone();
            (Switch { name, buffering, flow_control, schedule, marking, isolation }, section)
        });
        switches.unzip()
    }

    /// Each claim and figure of this configuration, with its number in the file and its line.
    #[expect(clippy::type_complexity, reason = "two lists of numbered things")]
    fn claims(
        &self,
        plan: &Plan,
        axes: &Axes,
        chosen: &Chosen,
        files: Files<'_>,
        log: &mut Log,
    ) -> (Vec<(Stated, Reading)>, Vec<(Stated, FigureSpec)>) {
        let catalog = plan.catalog();
        let setting = plan_claims::Setting {
            catalog: &catalog,
            length: plan.length,
            flow_series: plan.flow_series,
            axes,
            chosen,
            files,
        };
        let stated = |section: &Section| {
            let number = section.path.rsplit('.').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            Stated { number, line: section.origin.line() }
        };
        let claims = self
            .expect
            .iter()
            .filter_map(|section| Some((stated(section), plan_claims::claim(section, &setting, log)?)));
        let claims = claims.collect();
        let figures = self
            .figure
            .iter()
            .filter_map(|section| Some((stated(section), plan_claims::figure(section, &setting, log)?)));
        (claims, figures.collect())
    }

    /// What each flow ought to get in this configuration.
    fn fair(
        &self,
        plan: &Plan,
        axes: &Axes,
        chosen: &Chosen,
        files: Files<'_>,
        log: &mut Log,
    ) -> Vec<FairShare> {
        let catalog = plan.catalog();
        let setting = plan_claims::Setting {
            catalog: &catalog,
            length: plan.length,
            flow_series: plan.flow_series,
            axes,
            chosen,
            files,
        };
        plan_claims::fair(&self.fair, &setting, log)
    }

    fn rows(&self, preset_rows: Vec<Row>) -> Vec<Row> {
        let mut rows: Vec<Row> = self.top.rows().filter(|(path, ..)| path != "switches").collect();
        rows.extend(self.run.rows());
        rows.extend(self.topology.rows());
        rows.extend(self.links.iter().flat_map(Section::rows));
        rows.extend(self.switch.rows());
        for (_, section, own) in &self.switches {
            let prefix = format!("{}.", section.path);
            rows.extend(
                section.rows().filter(|(path, ..)| {
                    path.strip_prefix(&prefix).is_some_and(|name| own.at(name).is_some())
                }),
            );
        }
        rows.extend(self.adapter.rows());
        rows.extend(self.scheme.rows());
        rows.extend(preset_rows);
        for list in [&self.traffic, &self.at, &self.expect, &self.fair, &self.figure] {
            rows.extend(list.iter().flat_map(Section::rows));
        }
        rows
    }
}

type Row = (String, String, Origin);

/// Which `[[expect]]` or `[[figure]]` it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stated {
    number: usize,
    line: u32,
}

/// One configuration, understood.
struct Meant {
    plan: Plan,
    claims: Vec<(Stated, Reading)>,
    fair: Vec<FairShare>,
    figures: Vec<(Stated, FigureSpec)>,
    seed: u64,
    repeat: u64,
    rows: Vec<Row>,
    titles: [Option<String>; 5],
}

fn overrides(top: &Section, general: &Table, log: &mut Log) -> Vec<(String, Section, Table)> {
    let Some(switches) = top.raw("switches").and_then(Value::table) else { return Vec::new() };
    let mut sections = Vec::new();
    for (name, value) in &switches.0 {
        let Some(own) = value.table() else {
            log.wrong(&value.origin, format!("`switches.{name}` is {}, not a table", value.what()));
            continue;
        };
        let mut table = general.clone();
        table.merge(own.clone());
        let path = format!("switches.{name}");
        let section = Section::check("switch", &path, &table, &value.origin, log);
        sections.push((name.clone(), section, own.clone()));
    }
    sections
}

fn hosts(network: &Network, adapter: &Adapter) -> Vec<Host> {
    network.hosts.iter().map(|name| Host { name: name.clone(), adapter: adapter.clone() }).collect()
}

/// The edges of windows that no sample falls on, and the end of the run if none does.
fn cuts(
    plan: &Plan,
    claims: &[(Stated, Reading)],
    fair: &[FairShare],
    figures: &[(Stated, FigureSpec)],
) -> Vec<Instant> {
    let windows = claims.iter().flat_map(|(_, claim)| claim.measure.over.iter().copied());
    let windows = windows.chain(figures.iter().filter_map(|(_, figure)| figure.over));
    let windows = windows.chain(fair.iter().map(|it| it.over));
    let edges = windows.flat_map(|window| [window.from_ps, window.to_ps]);
    let edges = edges.chain(fair.iter().map(|it| it.since_ps)).chain([plan.length.ps()]);
    let cuts: BTreeSet<u64> = edges.filter(|edge| !edge.is_multiple_of(plan.sample.ps())).collect();
    cuts.into_iter().map(Instant::from_ps).collect()
}

type Pass<'a> = (&'a Chosen, Log, Option<Meant>);

/// All that is wrong: what every configuration says once, what some say with their name.
fn problems(mut problems: Vec<Problem>, passes: &[Pass<'_>]) -> Vec<Problem> {
    let mut found: BTreeMap<Problem, Vec<&str>> = BTreeMap::new();
    let read: BTreeSet<&Place> = passes.iter().flat_map(|(_, log, _)| &log.read).collect();
    for (chosen, log, _) in passes {
        let unread = log.unread.iter().filter(|(place, _)| !read.contains(place)).map(|(_, problem)| problem);
        for problem in log.problems.iter().chain(unread) {
            found.entry(problem.clone()).or_default().push(&chosen.name);
        }
    }
    problems.extend(found.into_iter().map(|(mut problem, names)| {
        if names.len() < passes.len() {
            let others = names.len() - 1;
            let more = if others > 0 { format!(" and {others} more") } else { String::new() };
            problem.message = format!("{} (in configuration `{}`{more})", problem.message, names[0]);
        }
        problem
    }));
    problems
}

/// By file, the scenario's own first and flags last, then by line.
fn in_order(mut problems: Vec<Problem>, file: &str) -> Vec<Problem> {
    let rank = |problem: &Problem| match problem.file.as_str() {
        name if name == file => 0,
        name if name.starts_with("--") => 2,
        _ => 1,
    };
    problems.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
    problems.dedup();
    problems
}

fn assemble(
    request: &Request<'_>,
    mut warnings: Vec<Problem>,
    passes: Vec<Pass<'_>>,
) -> Result<Scenario, Problems> {
    warnings.extend(passes.iter().flat_map(|(_, log, _)| log.warnings.iter().cloned()));
    let warnings = in_order(warnings, request.file);
    let count = passes.len();
    let mut configurations = Vec::new();
    let mut claims: Vec<(Stated, Reading, Vec<String>)> = Vec::new();
    let mut figures: Vec<(Stated, FigureSpec)> = Vec::new();
    let mut fair: Vec<FairShare> = Vec::new();
    let mut rows: Vec<(Row, Vec<String>)> = Vec::new();
    let mut seeds = BTreeSet::new();
    let mut titles = [const { None }; 5];
    for (chosen, _, meant) in passes {
        let Some(meant) = meant else {
            let message = format!("the configuration `{}` cannot be read", chosen.name);
            return Err(Problems(vec![Problem {
                file: request.file.to_owned(),
                line: None,
                message,
                hint: None,
            }]));
        };
        let name = &chosen.name;
        for (stated, reading) in meant.claims {
            match claims.iter_mut().find(|(other, known, _)| *other == stated && *known == reading) {
                Some((.., names)) => names.push(name.clone()),
                None => claims.push((stated, reading, vec![name.clone()])),
            }
        }
        for (stated, figure) in meant.figures {
            let same =
                |known: &FigureSpec| FigureSpec { configurations: Vec::new(), ..known.clone() } == figure;
            match figures.iter_mut().find(|(other, known)| *other == stated && same(known)) {
                Some((_, known)) => known.configurations.push(name.clone()),
                None => {
                    figures.push((stated, FigureSpec { configurations: vec![name.clone()], ..figure }));
                }
            }
        }
        for share in meant.fair {
            let same = |known: &FairShare| FairShare { configurations: Vec::new(), ..known.clone() } == share;
            match fair.iter_mut().find(|known| same(known)) {
                Some(known) => known.configurations.push(name.clone()),
                None => fair.push(FairShare { configurations: vec![name.clone()], ..share }),
            }
        }
        merge_rows(&mut rows, meant.rows, name);
        seeds.insert((meant.seed, meant.repeat));
        titles = meant.titles;
        configurations.push(Configuration {
            name: name.clone(),
            axes: chosen.axes.clone(),
            plan: meant.plan,
        });
    }
    claims.sort_by_key(|(stated, ..)| *stated);
    figures.sort_by_key(|(stated, _)| *stated);
    if seeds.len() > 1 {
        let message = "`run.seed` and `run.repeat` differ between configurations".to_owned();
        let hint = Some("all configurations run the same seeds, so that they can be compared".to_owned());
        return Err(Problems(vec![Problem { file: request.file.to_owned(), line: None, message, hint }]));
    }
    let (seed, repeat) = seeds.into_iter().next().unwrap_or((1, 1));
    let [title, shows, about, says, differs] = titles;
    Ok(Scenario {
        id: id_of(request.file),
        title: title.unwrap_or_default(),
        shows,
        about,
        says,
        differs,
        seed,
        repeat: u32::try_from(repeat).unwrap_or(u32::MAX),
        configurations,
        claims: claims.into_iter().map(|(stated, reading, names)| claim(stated, reading, names)).collect(),
        figures: figures.into_iter().map(|(_, figure)| figure).collect(),
        fair,
        resolved: resolved(rows, count),
        warnings,
    })
}

fn claim(stated: Stated, reading: Reading, configurations: Vec<String>) -> Claim {
    let Reading { text, measure, across, bound } = reading;
    Claim { text, configurations, measure, across, bound, line: stated.line }
}

/// Adds the rows of one configuration, each beside the others of its key.
fn merge_rows(rows: &mut Vec<(Row, Vec<String>)>, more: Vec<Row>, name: &str) {
    if rows.is_empty() {
        rows.extend(more.into_iter().map(|row| (row, vec![name.to_owned()])));
        return;
    }
    let mut index: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, ((path, ..), _)) in rows.iter().enumerate() {
        index.entry(path.clone()).or_default().push(at);
    }
    // Rows of new keys go behind the key that comes before them in their own configuration.
    let mut inserts: Vec<(usize, Row)> = Vec::new();
    let mut last = 0;
    for row in more {
        let at = index.get(&row.0);
        match at.and_then(|at| at.iter().find(|&&at| rows[at].0 == row)) {
            Some(&same) => {
                rows[same].1.push(name.to_owned());
                last = same + 1;
            }
            None => {
                last = at.and_then(|at| at.last()).map_or(last, |at| at + 1);
                inserts.push((last, row));
            }
        }
    }
    for (before, (at, row)) in inserts.into_iter().enumerate() {
        rows.insert((at + before).min(rows.len()), (row, vec![name.to_owned()]));
    }
}

fn resolved(rows: Vec<(Row, Vec<String>)>, count: usize) -> Vec<Resolved> {
    let rows = rows.into_iter().map(|((path, value, origin), names)| {
        let configurations = if names.len() == count { Vec::new() } else { names };
        Resolved { path, value, origin, configurations }
    });
    rows.collect()
}

fn id_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}
