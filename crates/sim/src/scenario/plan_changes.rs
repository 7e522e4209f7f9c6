//! `[[at]]`: what changes while a run goes on.

use super::catalog::port_names;
use super::plan::{Change, LinkId, Plan, What};
use super::problem::{Log, suggest};
use super::section::Section;
use quell_proto::units::Instant;

/// Adds one `[[at]]` to the plan.
pub(crate) fn change(section: &Section, plan: &mut Plan, log: &mut Log) -> Option<()> {
    let time = section.time("time")?;
    if time >= plan.length {
        let message = format!("`{}` is {time}, and the run ends at {}", section.path_of("time"), plan.length);
        log.wrong(section.origin_of("time"), message);
        return None;
    }
    let at = Instant::from_ps(time.ps());
    let until = section.time("for").map(|span| at + span).filter(|until| until.ps() < plan.length.ps());
    if section.is_wrong(&["port", "host", "link", "flow"]) {
        return None;
    }
    let targets = ["port", "host", "link", "flow"];
    let named = [section.text("port"), section.text("host"), section.text("link"), section.text("flow")];
    if named.iter().flatten().count() != 1 {
        let count = named.iter().flatten().count();
        log.wrong(&section.origin, format!("`{}` names {count} of `{}`", section.path, targets.join("`, `")))
            .hint("it names exactly one thing that changes");
        return None;
    }
    let (what, back) = match named {
        [Some(port), ..] => port_service(section, port, plan, log)?,
        [_, Some(host), ..] => receive_service(section, host, plan, log)?,
        [_, _, Some(link), _] => link_state(section, link, plan, log)?,
        [.., Some(flow)] => return flow_life(section, flow, at, plan, log),
        [None, None, None, None] => return None,
    };
    plan.changes.push(Change { at, what });
    if let Some(at) = until {
        plan.changes.push(Change { at, what: back });
    }
    Some(())
}

/// The change, and what takes it back.
type Pair = (What, What);

fn port_service(section: &Section, name: &str, plan: &Plan, log: &mut Log) -> Option<Pair> {
    let ports = port_names(plan);
    let found = ports.iter().enumerate().find_map(|(link, names)| {
        // A host has one link, so `*->h1` is one port too, whatever the switch is called.
        let is_meant = |port: &String| match name.strip_prefix("*->") {
            Some(peer) => port.rsplit_once("->").is_some_and(|(_, found)| found == peer),
            None => port == name,
        };
        names.iter().position(is_meant).map(|end| (link, plan.links[link].ends[end]))
    });
    let Some((link, from)) = found else {
        log.wrong(section.origin_of("port"), format!("there is no port `{name}`"));
        if let Some(hint) = suggest(name, ports.iter().flatten().map(String::as_str), "the ports are") {
            log.hint(hint);
        }
        return None;
    };
    let line = plan.links[link].rate;
    let link = LinkId(u32::try_from(link).ok()?);
    let rate = service(section)?;
    if let Some(rate) = rate
        && rate > line
    {
        let path = section.path_of("service");
        log.wrong(section.origin_of("service"), format!("`{path}` is {rate}, more than the link's {line}"));
        return None;
    }
    Some((What::PortService { link, from, rate }, What::PortService { link, from, rate: None }))
}

fn receive_service(section: &Section, name: &str, plan: &Plan, log: &mut Log) -> Option<Pair> {
    let Some(index) = plan.hosts.iter().position(|host| host.name == name) else {
        log.wrong(section.origin_of("host"), format!("there is no host `{name}`"));
        if let Some(hint) = suggest(name, plan.hosts.iter().map(|host| host.name.as_str()), "the hosts are") {
            log.hint(hint);
        }
        return None;
    };
    let host = super::plan::HostId(u32::try_from(index).ok()?);
    let back = plan.hosts[index].adapter.receive.service;
    Some((What::ReceiveService { host, rate: service(section)? }, What::ReceiveService { host, rate: back }))
}

#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is line rate")]
fn service(section: &Section) -> Option<Option<quell_proto::units::Rate>> {
    match section.text("service") {
        Some(_) => Some(None),
        None => section.rate("service").map(Some),
    }
}

fn link_state(section: &Section, name: &str, plan: &Plan, log: &mut Log) -> Option<Pair> {
    let names = link_names(plan);
    let Some(index) = names.iter().position(|both| both.iter().any(|link| link == name)) else {
        log.wrong(section.origin_of("link"), format!("there is no link `{name}`"));
        if let Some(hint) = suggest(name, names.iter().flatten().map(String::as_str), "the links are") {
            log.hint(hint);
        }
        return None;
    };
    let up = match section.text("state")? {
        "up" => true,
        "down" => false,
        other => {
            let path = section.path_of("state");
            log.wrong(
                section.origin_of("state"),
                format!("`{path}` is `{other}`: a link goes `up` or `down`"),
            );
            return None;
        }
    };
    let link = LinkId(u32::try_from(index).ok()?);
    Some((What::Link { link, up }, What::Link { link, up: true }))
}

/// Each link by either of its names: `a-b`, `b-a`; parallel ones with `#2` and so on.
fn link_names(plan: &Plan) -> Vec<[String; 2]> {
    let ports = port_names(plan);
    ports.into_iter().map(|names| names.map(|name| name.replacen("->", "-", 1))).collect()
}

/// A flow's source is told when to begin or end.
fn flow_life(section: &Section, name: &str, at: Instant, plan: &mut Plan, log: &mut Log) -> Option<()> {
    let Some(flow) = plan.flows.iter().position(|flow| flow.name == name) else {
        log.wrong(section.origin_of("flow"), format!("there is no flow `{name}`"));
        if let Some(hint) = suggest(name, plan.flows.iter().map(|flow| flow.name.as_str()), "the flows are") {
            log.hint(hint);
        }
        return None;
    };
    let state = section.text("state")?;
    let source =
        plan.sources.iter_mut().find(|source| source.flows.iter().any(|id| id.0 as usize == flow))?;
    if source.flows.len() > 1 {
        log.wrong(section.origin_of("flow"), format!("`{name}` shares its source with other flows"))
            .hint("give it a `[[traffic]]` of its own, with `start` and `stop`");
        return None;
    }
    let until = section.time("for").map(|span| at + span);
    match (state, until) {
        ("start", until) => {
            source.start = at;
            source.stop = until.map_or(source.stop, |until| until.min(source.stop));
        }
        ("stop", None) => source.stop = at,
        ("stop", Some(_)) => {
            log.wrong(section.origin_of("for"), "a flow that stops does not start again")
                .hint("write a second `[[traffic]]` that starts then");
            return None;
        }
        (other, _) => {
            let path = section.path_of("state");
            log.wrong(
                section.origin_of("state"),
                format!("`{path}` is `{other}`: a flow does `start` or `stop`"),
            );
            return None;
        }
    }
    if source.start >= source.stop {
        log.wrong(section.origin_of("time"), format!("`{name}` would stop before it starts"));
        return None;
    }
    Some(())
}
