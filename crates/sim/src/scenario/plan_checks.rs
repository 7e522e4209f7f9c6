//! What can only be wrong between sections: a threshold against a buffer, a rate against a link.

use super::catalog::{mean_bps, port_names};
use super::ideal;
use super::plan::{
    AdapterQueueing, Buffering, CulpritSearch, Deadlock, E2cm, FlowControl, Link, NodeId, Pattern, Plan,
    Qcn2007, QcnProbe, QueueLimit, Receive, Scheme, StopRule, Switch, What,
};
use super::plan_isolation;
use super::problem::Log;
use super::section::Section;
use super::value::Origin;
use crate::topology::waiting;
use quell_proto::control::e2cm;
use quell_proto::control::headroom;
use quell_proto::control::isolation::IsolatedMarking;
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use std::collections::BTreeSet;

/// The sections that the checks point to.
pub(crate) struct Places<'a> {
    pub(crate) run: &'a Section,
    pub(crate) topology: &'a Section,
    /// What each switch of the plan was read from.
    pub(crate) switches: &'a [&'a Section],
    pub(crate) adapter: &'a Section,
    pub(crate) scheme: &'a Section,
    /// The `[[traffic]]` of each flow.
    pub(crate) flows: &'a [&'a Section],
}

/// Holds the parts of a plan against each other.
pub(crate) fn check(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    sampling(plan, places, log);
    let longest = plan.sources.iter().map(|source| source.frame).max().unwrap_or(Bytes::ZERO);
    let cnm = plan.scheme.messages().map_or(Bytes::ZERO, |messages| messages.frame);
    switches(plan, places, longest, longest.max(cnm), log);
    across_fabric(plan, places, log);
    receivers(plan, places, longest, longest.max(cnm), log);
    pause_or_pfc(plan, places, log);
    scheme(plan, places, log);
    marking(plan, places, log);
    transport(plan, places, log);
    culprit_array(plan, places, log);
    loads(plan, places, log);
    plan_isolation::check(plan, places, log);
}

/// A word of the culprit array for every unit that the frames of an input can take.
fn culprit_array(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let Some(search) = plan.scheme.qcn().and_then(|qcn| qcn.search) else { return };
    let priorities = plan.priorities().len() as u64;
    // What takes most units for its octets is the shortest frame, or the one that just spills over into another unit.
    let most_units = |memory: u64| {
        let units = |frame: u64| memory.div_ceil(frame.max(1)) * frame.div_ceil(CulpritSearch::UNIT);
        plan.sources.iter().map(|source| units(source.frame.get())).max().unwrap_or(0)
    };
    for (switch, section) in plan.switches.iter().zip(places.switches) {
        let memory = match switch.buffering {
            Buffering::Voq { input_memory, .. } => input_memory,
            Buffering::OutputQueued { memory, .. } => memory,
        };
        let (origin, words) = (places.scheme.origin_of("search_words"), search.words);
        let Some(memory) = memory else {
            log.wrong(
                origin,
                "a culprit array has a word for each unit of a memory, and this one has no end",
            )
            .hint(format!("state the memory of `{}`", section.path));
            return;
        };
        let needed = most_units(memory.get()) * priorities;
        if needed > u64::from(words) {
            let what =
                if priorities > 1 { format!(" in each of {priorities} priorities") } else { String::new() };
            log.wrong(
                origin,
                format!("`search_words` is {words}, and {memory}{what} can hold {needed} units"),
            )
            .hint("a unit holds 256 octets of one frame; state more words, or less memory");
            return;
        }
    }
}

fn sampling(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    if !places.run.has("length") || !places.run.has("sample") {
        return;
    }
    if plan.sample > plan.length {
        let message = format!("`run.sample` is {}, and the run only {}", plan.sample, plan.length);
        log.wrong(places.run.origin_of("sample"), message).hint("a hundredth of the length is usual");
    } else if plan.length.ps() / plan.sample.ps() > MOST_SAMPLES {
        let count = plan.length.ps() / plan.sample.ps();
        let message = format!("`run.sample` is {}: {count} samples of every port and flow", plan.sample);
        log.wrong(places.run.origin_of("sample"), message)
            .hint(format!("at most {MOST_SAMPLES} can be kept"));
    }
}

/// More rows than this nobody can draw.
const MOST_SAMPLES: u64 = 10_000_000;

fn switches(plan: &Plan, places: &Places<'_>, longest: Bytes, longest_sent: Bytes, log: &mut Log) {
    for (index, (switch, section)) in plan.switches.iter().zip(places.switches).enumerate() {
        let mut fits = |key: &'static str, size: Option<Bytes>| {
            too_small(section, key, size, longest, log);
        };
        let (memory, key) = match switch.buffering {
            Buffering::OutputQueued { .. } if plan.fabric.is_some() => {
                log.wrong(section.origin_of("kind"), "the leaves of a fabric queue at their inputs")
                    .hint("set `switch.kind` to `voq`, and state `switch.output.buffer`");
                return;
            }
            Buffering::OutputQueued { memory, queue_limit } => {
                fits("memory", memory);
                if let QueueLimit::Static(limit) = queue_limit {
                    fits("queue_limit", Some(limit));
                }
                (memory, "memory")
            }
            Buffering::Voq { output: None, .. } if plan.fabric.is_some() => {
                log.wrong(section.origin_of("output"), "the leaves of a fabric have no output buffers")
                    .hint("a frame crosses when its output has room: state `switch.output.buffer`");
                return;
            }
            Buffering::Voq { input_memory, output } => {
                fits("input_memory", input_memory);
                fits("output.buffer", output.map(|output| output.buffer));
                (input_memory, "input_memory")
            }
        };
        let (rule, classes) = match switch.flow_control {
            FlowControl::Off => continue,
            FlowControl::Pause(rule) => (rule, plan.priorities().len().max(1)),
            FlowControl::Pfc { priorities, stop } => (stop, priorities.count_ones() as usize),
        };
        let here = NodeId::Switch(super::plan::SwitchId(u32::try_from(index).unwrap_or(u32::MAX)));
        let links: Vec<&Link> = plan.links.iter().filter(|link| link.ends.contains(&here)).collect();
        let rooms: Vec<Bytes> = links.iter().map(|link| room(link, longest_sent)).collect();
        queue_limit(plan, index, section, &rooms, log);
        let config = match (rule, memory) {
            (StopRule::Static(config), _) => config,
            (StopRule::Global(config), Some(memory))
                if matches!(switch.buffering, Buffering::OutputQueued { .. }) =>
            {
                global_headroom(section, config.stop, memory, &rooms, log);
                continue;
            }
            (StopRule::Global(_), _) => {
                let path = section.path_of("pause.rule");
                let message = format!("`{path}` is `global`, and the memory is not one for all inputs");
                log.wrong(section.origin_of("pause.rule"), message)
                    .hint("it goes with `kind` `output-queued` and a stated `memory`");
                continue;
            }
            (StopRule::Dynamic { alpha_num, alpha_den, .. }, Some(memory)) => {
                let alpha = (u128::from(alpha_num), u128::from(alpha_den));
                if let Some(both) = switch.isolation.and_then(|it| it.both) {
                    stops_too_late(section, "pause.both_stop", both.stop, memory, &rooms, log);
                }
                dynamic_headroom(plan, index, section, (key, memory), alpha, &rooms, log);
                continue;
            }
            (StopRule::Dynamic { .. }, None) => {
                let path = section.path_of("pause.rule");
                log.wrong(section.origin_of("pause.rule"), format!("`{path}` follows an unlimited memory"))
                    .hint(format!("state `{}`", section.path_of(key)));
                continue;
            }
        };
        let Some(memory) = memory else { continue };
        if matches!(switch.buffering, Buffering::Voq { .. }) {
            let worst = links.into_iter().max_by_key(|link| room(link, longest_sent));
            if let Some(link) = worst {
                headroom_missing(
                    plan,
                    section,
                    ["pause.stop", key],
                    config.stop,
                    memory,
                    link,
                    longest_sent,
                    log,
                );
            }
        } else {
            // A class of a pair that is stopped may fill up to where both are, by what comes of the other; that one is
            // not stopped meanwhile, so it is one of them at a time.
            let further = switch
                .isolation
                .and_then(|it| it.both)
                .map_or(0, |both| both.stop.get().saturating_sub(config.stop.get()));
            let each =
                rooms.iter().map(|room| (config.stop + *room).get().saturating_mul(classes as u64) + further);
            let all = Bytes::new(each.fold(0, u64::saturating_add));
            let key = if further > 0 { "pause.both_stop" } else { "pause.stop" };
            let last = config.stop + Bytes::new(further);
            if !stops_too_late(section, key, last, memory, &rooms, log) && all > memory {
                let path = section.path_of("memory");
                let message =
                    format!("`{path}` is {memory}, and inputs may hold {all} before all peers stop");
                log.warn(section.origin_of("memory"), message, "frames of a lossless class may be dropped");
            }
        }
    }
}

/// Whether one input alone fills the memory before its peer has stopped; if so, that is said.
fn stops_too_late(
    section: &Section,
    key: &'static str,
    stop: Bytes,
    memory: Bytes,
    rooms: &[Bytes],
    log: &mut Log,
) -> bool {
    let room = rooms.iter().max().copied().unwrap_or(Bytes::ZERO);
    let (one, path) = (stop + room, section.path_of(key));
    if one > memory {
        let message = format!(
            "`{path}` is {stop}, and {room} more can arrive at one input alone before its peer stops: {one} in a memory \
             of {memory}"
        );
        log.wrong(section.origin_of(key), message).hint("it would never stop anybody in time; stop earlier");
    }
    one > memory
}

/// The way across a fabric takes as long as its parts do.
fn across_fabric(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let Some(fabric) = &plan.fabric else { return };
    let stated = places.switches.iter().find(|section| section.is_stated("output.latency"));
    let Some(section) = stated else { return };
    let cell = fabric.cell + fabric.header;
    let least = fabric.links.iter().map(|link| link.delay + link.rate.time_for(cell)).min();
    let parts = fabric.request_latency + fabric.grant_latency + fabric.router_latency;
    let parts = least.map_or(parts, |link| parts + link + link);
    let parts = Duration::from_ns(parts.ps().div_ceil(1000));
    let hint = format!(
        "a request, its grant, two uplinks and a router take about {parts}: they are `topology.request_latency`, \
         `grant_latency` and what else is stated there"
    );
    unread_in_form(section, "output.latency", places.topology, hint, log);
}

/// Says that a stated key counts for nothing in this form of a fabric: wrong in the file that chose the form, but neither
/// a flag that chooses another form nor a file that extends this one can take keys away.
pub(crate) fn unread_in_form(
    section: &Section,
    key: &'static str,
    topology: &Section,
    hint: String,
    log: &mut Log,
) {
    let (path, origin) = (section.path_of(key), section.origin_of(key));
    let form = if topology.has("form") { "form" } else { "kind" };
    let chosen = topology.text(form).unwrap_or_default();
    let message = format!("`{path}` is not read while `{}` is `{chosen}`", topology.path_of(form));
    match (topology.origin_of(form), origin) {
        (Origin::Axis(..), _) => {} // Another configuration reads it.
        (Origin::Flag(_) | Origin::Quick(..), _) | (_, Origin::Extends(..)) => {
            log.warn(origin, message, hint);
        }
        _ => log.wrong(origin, message).hint(hint),
    }
}

/// A threshold of the whole memory leaves room for what still arrives at every port: at best it lies at
/// `M - N * (RTT * B + L)`.
fn global_headroom(section: &Section, stop: Bytes, memory: Bytes, rooms: &[Bytes], log: &mut Log) {
    let needed = rooms.iter().fold(Bytes::ZERO, |sum, room| sum + *room);
    if stop + needed <= memory {
        return;
    }
    let path = section.path_of("pause.stop");
    let message = format!(
        "`{path}` is {stop}, and {needed} more can arrive at {} ports before all peers stop: {} in a memory of {memory}",
        rooms.len(),
        stop + needed
    );
    let hint = match memory.get().checked_sub(needed.get()).filter(|most| *most > 0) {
        Some(most) => format!("stop at {} or below, or give it {}", Bytes::new(most), stop + needed),
        None => format!("give it at least {}", stop + needed),
    };
    log.wrong(section.origin_of("pause.stop"), message).hint(hint);
}

/// A limit of queues against what pauses promise: it is wrong for a switch that loses nothing, and needed where
/// traffic that may be lost shares the memory.
fn queue_limit(plan: &Plan, index: usize, section: &Section, rooms: &[Bytes], log: &mut Log) {
    let switch = &plan.switches[index];
    let Buffering::OutputQueued { memory, queue_limit } = switch.buffering else { return };
    let path = section.path_of("queue_limit");
    let origin = section.origin_of("queue_limit");
    let (lossy, rule) = match switch.flow_control {
        FlowControl::Pfc { priorities, stop } => {
            let data = plan.priorities_at(switch).iter();
            (data.filter(|priority| priorities & (1 << priority.get()) == 0).collect(), Some(stop))
        }
        FlowControl::Pause(rule) => (Vec::new(), Some(rule)),
        FlowControl::Off => (Vec::new(), None),
    };
    if lossy.is_empty() {
        if queue_limit != QueueLimit::None {
            let message = format!("`{path}` drops what `pause.mode` promises to keep");
            log.warn(origin, message, "a lossless switch has `queue_limit` `none`");
        }
        return;
    }
    if queue_limit == QueueLimit::None {
        if let Some(memory) = memory {
            let lossy: Vec<String> = lossy.iter().map(ToString::to_string).collect();
            let (lossy, path) = (lossy.join(", "), section.path_of("memory"));
            let message = format!(
                "`{path}` is {memory} for all, and nothing stops priority {lossy}: it can take the whole of it from \
                 the lossless ones"
            );
            let hint = "a `queue_limit`, a size or `dynamic`, bounds what each of its queues takes";
            log.warn(section.origin_of("memory"), message, hint);
        }
        return;
    }
    let Some(StopRule::Static(config)) = rule else { return };
    let most = rooms.iter().fold(Bytes::ZERO, |sum, room| sum + config.stop + *room);
    if !matches!(queue_limit, QueueLimit::Static(limit) if limit >= most) {
        let message = format!(
            "`{path}` holds for lossless queues too, and one of them may hold {most} before all peers stop"
        );
        let hint = format!("a limit of {most} drops nothing of them, and still bounds what may be lost");
        log.warn(origin, message, hint);
    }
}

/// A threshold that follows the free memory leaves room for what still arrives: the memory free when every input
/// is at its threshold, M / (1 + n alpha), against the headroom of all n.
fn dynamic_headroom(
    plan: &Plan,
    index: usize,
    section: &Section,
    (key, memory): (&'static str, Bytes),
    (alpha_num, alpha_den): (u128, u128),
    rooms: &[Bytes],
    log: &mut Log,
) {
    let switch = &plan.switches[index];
    let classes = match switch.flow_control {
        FlowControl::Pfc { priorities, .. } => {
            plan.priorities().into_iter().filter(|priority| priorities & (1 << priority.get()) != 0).count()
        }
        FlowControl::Pause(_) | FlowControl::Off => 1,
    } as u128;
    let octets = |room: &Bytes| u128::from(room.get());
    // Each input of a partitioned memory has its own.
    let (inputs, needed) = match switch.buffering {
        Buffering::Voq { .. } => (1, rooms.iter().map(octets).max().unwrap_or(0)),
        Buffering::OutputQueued { .. } => {
            (rooms.len() as u128 * classes, rooms.iter().map(octets).sum::<u128>() * classes)
        }
    };
    let size = |octets: u128| Bytes::new(u64::try_from(octets).unwrap_or(u64::MAX));
    let (path, whose) = (section.path_of(key), if inputs == 1 { "an input" } else { "its inputs" });
    let all = u128::from(memory.get());
    let enough = size((needed * (alpha_den + inputs * alpha_num)).div_ceil(alpha_den));
    if all <= needed {
        let message = format!(
            "`{path}` is {memory}, and {} more can arrive at {whose} before the peers stop: nothing is left",
            size(needed)
        );
        log.wrong(section.origin_of(key), message)
            .hint(format!("give it {enough}, so that {} are free at the threshold", size(needed)));
        return;
    }
    let free = all * alpha_den / (alpha_den + inputs * alpha_num);
    if free < needed {
        let message = format!(
            "`{}` leaves {} of {memory} free with {whose} at the threshold, and {} more can arrive before the \
             peers stop",
            section.path_of("pause.alpha"),
            size(free),
            size(needed)
        );
        let part = (inputs * needed).div_ceil(all - needed);
        let hint = format!("an `alpha` of 1/{part} leaves enough, or a `{path}` of {enough}");
        log.warn(section.origin_of("pause.alpha"), message, hint);
    }
}

fn receivers(plan: &Plan, places: &Places<'_>, longest: Bytes, longest_sent: Bytes, log: &mut Log) {
    let Some(receive) = plan.hosts.first().map(|host| &host.adapter.receive) else { return };
    too_small(places.adapter, "receive.buffer", receive.buffer, longest, log);
    let (Some(pause), Some(buffer)) = (receive.pause, receive.buffer) else { return };
    let links = plan.links.iter().filter(|link| link.ends.iter().any(|end| matches!(end, NodeId::Host(_))));
    if let Some(link) = links.max_by_key(|link| room(link, longest_sent)) {
        let keys = ["receive.pause.stop", "receive.buffer"];
        headroom_missing(plan, places.adapter, keys, pause.stop, buffer, link, longest_sent, log);
    }
}

/// PAUSE and PFC exclude each other on a link (802.1Qbb).
fn pause_or_pfc(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let mode = |end: NodeId| match end {
        NodeId::Host(host) => plan.hosts[host.0 as usize].adapter.receive.pause.map(|_| "PAUSE"),
        NodeId::Switch(switch) => match plan.switches[switch.0 as usize].flow_control {
            FlowControl::Off => None,
            FlowControl::Pause(_) => Some("PAUSE"),
            FlowControl::Pfc { .. } => Some("PFC"),
        },
    };
    for link in &plan.links {
        if let [Some(here), Some(there)] = link.ends.map(mode)
            && here != there
        {
            let [a, b] = link.ends.map(|end| plan.name(end));
            let switch = link.ends.into_iter().find_map(|end| match end {
                NodeId::Switch(switch) => Some(places.switches[switch.0 as usize]),
                NodeId::Host(_) => None,
            });
            let section = switch.unwrap_or(places.adapter);
            log.wrong(
                section.origin_of("pause.mode"),
                format!("`{a}` uses {here} and `{b}` {there} on their link"),
            )
            .hint(
                "PAUSE and PFC are not both enabled on a port (802.1Qbb); a host's `receive.pause` is PAUSE",
            );
            return;
        }
    }
}

fn too_small(section: &Section, key: &'static str, size: Option<Bytes>, longest: Bytes, log: &mut Log) {
    if let Some(size) = size
        && size < longest
    {
        let message = format!("`{}` is {size}, less than a frame of {longest}", section.path_of(key));
        log.wrong(section.origin_of(key), message).hint("no frame would ever fit");
    }
}

/// What still arrives on a link after the decision to stop its far end, whose reaction takes no time here.
fn wire(link: &Link, longest: Bytes) -> headroom::Link {
    headroom::Link {
        rate: link.rate,
        cable_delay: link.delay,
        max_frame_local: longest,
        max_frame_peer: longest,
        response: Duration::ZERO,
    }
}

fn room(link: &Link, longest: Bytes) -> Bytes {
    wire(link, longest).octets()
}

#[expect(clippy::too_many_arguments, reason = "one message, made of all of them")]
fn headroom_missing(
    plan: &Plan,
    section: &Section,
    [stop_key, memory_key]: [&'static str; 2],
    stop: Bytes,
    memory: Bytes,
    link: &Link,
    longest: Bytes,
    log: &mut Log,
) {
    let room = room(link, longest);
    // That no frame fits is said by itself.
    if stop + room <= memory || memory < longest {
        return;
    }
    let [a, b] = link.ends.map(|end| plan.name(end));
    let message = format!(
        "`{}` is {stop}, and {room} more can arrive before the peer stops: {} in `{}` of {memory}",
        section.path_of(stop_key),
        stop + room,
        section.path_of(memory_key),
    );
    if log.problems.iter().any(|problem| problem.message == message) {
        return; // Links and switches that are alike lack the same.
    }
    let on_the_way = Bytes::new(2 * link.rate.carries_in(link.delay).get());
    let hint = match memory.get().checked_sub(room.get()).filter(|most| *most > 0) {
        Some(most) => format!("stop at {} or below, or give it {}", Bytes::new(most), stop + room),
        None => format!("give it at least {}", stop + room),
    };
    log.wrong(section.origin_of(stop_key), message).hint(format!(
        "{hint}; on the link {a}-{b}, {on_the_way} are on the way there and back, and two frames of {longest} and the \
         stop itself are sent"
    ));
}

fn scheme(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let Some(messages) = plan.scheme.messages() else { return };
    let key = if plan.scheme.understands_marks() { "cnp_priority" } else { "cnm_priority" };
    if let Some(flow) = plan.flows.iter().position(|flow| flow.priority == messages.priority) {
        let path = places.scheme.path_of(key);
        let message =
            format!("`{path}` is {}, which `{}` uses for data", messages.priority, plan.flows[flow].name);
        let origin = if places.scheme.is_stated(key) {
            places.scheme.origin_of(key)
        } else {
            places.flows[flow].origin_of("priority")
        };
        log.wrong(origin, message).hint("notifications travel at a priority of their own (802.1Q 32)");
    }
    let slowest = plan.links.iter().filter(|link| link.ends.iter().any(|end| matches!(end, NodeId::Host(_))));
    let slowest = slowest.map(|link| link.rate).min().unwrap_or(Rate::from_bps(u64::MAX));
    if let Some(min_rate) = plan.scheme.min_rate().filter(|min_rate| *min_rate > slowest) {
        let path = places.scheme.path_of("min_rate");
        let message = format!("`{path}` is {min_rate}, above a host's link of {slowest}");
        log.wrong(places.scheme.origin_of("min_rate"), message).hint("a limiter could never cut anything");
    }
    if let Scheme::Qcn2007(Qcn2007 { congestion, .. }) | Scheme::QcnProbe(QcnProbe { congestion, .. }) =
        plan.scheme
    {
        let (least, most) = (congestion.least_sampling, congestion.most_sampling);
        if u64::from(least.num) * u64::from(most.den) > u64::from(most.num) * u64::from(least.den) {
            let [least, most] = ["least_sampling", "most_sampling"].map(|key| places.scheme.path_of(key));
            log.wrong(places.scheme.origin_of("least_sampling"), format!("`{least}` is above `{most}`"))
                .hint(
                    "after the worst feedback frames are sampled more often than after good news, not less",
                );
        }
    }
    let Some(qcn) = plan.scheme.qcn() else { return };
    let parts = qcn.congestion.check().err().into_iter().chain(
        quell_proto::control::qcn::ReactionConfig {
            max_rate: slowest.max(qcn.reaction.min_rate),
            ..qcn.reaction
        }
        .check()
        .err(),
    );
    for error in parts {
        log.wrong(&places.scheme.origin, error.to_string());
    }
}

/// Sets what probes take at most on an idle path from the network, or holds what is stated against it: a limiter that
/// takes a long path for a queue never comes back.
pub(crate) fn idle_way(plan: &mut Plan, places: &Places<'_>, log: &mut Log) {
    let Scheme::E2cm(e2cm) = plan.scheme else { return };
    let Some(longest) = ideal::longest_idle_way(plan, e2cm.messages.frame) else { return };
    let stated = e2cm.reaction.idle_way;
    if places.scheme.text("idle_way").is_some() {
        let reaction = e2cm::ReactionConfig { idle_way: stated.max(longest), ..e2cm.reaction };
        plan.scheme = Scheme::E2cm(E2cm { reaction, ..e2cm });
    } else if stated < longest {
        let path = places.scheme.path_of("idle_way");
        let message = format!("`{path}` is {stated}, and a probe takes {longest} on the longest idle path");
        let hint = "the rest is taken for a queue, and a limiter there may never come back; `auto` follows the network";
        log.warn(places.scheme.origin_of("idle_way"), message, hint);
    }
}

/// What a transport needs of its host, its sources and its scheme.
fn transport(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let Some(transport) = plan.transport() else {
        let wants = match plan.scheme {
            Scheme::Dctcp(_) => Some(("kind", "a window counts what is acknowledged, and nothing is")),
            Scheme::Dcqcn(it) if it.in_acknowledgements => {
                Some(("cnps", "notifications travel in acknowledgements, and there are none"))
            }
            _ => None,
        };
        if let Some((key, message)) = wants {
            let hint = "set `adapter.transport.kind` to `go-back-n`";
            log.wrong(places.scheme.origin_of(key), message).hint(hint);
        }
        return;
    };
    let adapter = places.adapter;
    let mut wrong = |key: &'static str, message: &str, hint: &str| {
        log.wrong(adapter.origin_of(key), message.to_owned()).hint(hint.to_owned());
    };
    if plan.hosts.iter().any(|host| host.adapter.queueing != AdapterQueueing::PerFlow) {
        wrong(
            "transport.kind",
            "a flow that sends again what was lost needs a queue of its own",
            "set `adapter.queueing` to `per-flow`",
        );
    }
    let drops = |receive: &Receive| receive.buffer.is_some() && receive.pause.is_none();
    if plan.hosts.iter().any(|host| drops(&host.adapter.receive)) {
        wrong(
            "receive.buffer",
            "a receive buffer that drops would lose what was acknowledged",
            "state `receive.pause`, or leave the buffer out",
        );
    }
    let dctcp_most = match plan.scheme {
        Scheme::Dctcp(config) => transport.window.map(|window| (window, config.min_window)),
        _ => None,
    };
    if let Some((window, least)) = dctcp_most.filter(|(window, least)| window < least) {
        let message = format!("`adapter.transport.window` is {window}, below the least of {least}");
        wrong("transport.window", &message, "DCTCP's window shrinks to `scheme.min_window` segments");
    }
    for source in &plan.sources {
        let is_on_off = matches!(source.pattern, Pattern::OnOff { .. });
        if source.flows.len() > 1 || source.multicast || is_on_off {
            let section = places.flows[source.flows.first().map_or(0, |flow| flow.0 as usize)];
            let message = format!("frames of `{}` cannot be sent again", section.path);
            log.wrong(&section.origin, message).hint(
                "where frames are acknowledged a source has one receiver, or `each` has its own, and does not turn off",
            );
            return;
        }
    }
    if let Some(priority) = transport.ack_priority
        && plan.flows.iter().any(|flow| flow.priority == priority)
    {
        let message =
            format!("`{}` is {priority}, which data uses", adapter.path_of("transport.ack_priority"));
        log.wrong(adapter.origin_of("transport.ack_priority"), message)
            .hint("`data` lets acknowledgements have the priority of their data");
    }
}

/// Marks that come too late, or from nobody.
fn marking(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    if !plan.scheme.understands_marks() {
        return;
    }
    let isolation =
        |switch: &Switch| switch.isolation.is_some_and(|it| it.config.marking != IsolatedMarking::None);
    if plan.switches.iter().all(|switch| switch.marking.is_none() && !isolation(switch)) {
        let message = "no switch marks anything, so that no flow is ever slowed down";
        log.warn(
            places.scheme.origin_of("kind"),
            message,
            "state `switch.ecn`, such as { low = \"5kB\", high = \"200kB\" }",
        );
    }
    let mut told = BTreeSet::new();
    for (switch, section) in plan.switches.iter().zip(places.switches) {
        let Some(marking) = switch.marking else { continue };
        let (low, path) = (marking.curve.low, section.path_of("ecn.low"));
        let mut late = |bound: Bytes, what: String| {
            if low >= bound && told.insert(section.path.clone()) {
                let message = format!("`{path}` is {low}, and {what} at {bound}: before anything is marked");
                log.warn(section.origin_of("ecn.low"), message, "marks are meant to make the other rare");
            }
        };
        match switch.flow_control {
            FlowControl::Pause(StopRule::Static(config)) => {
                late(config.stop, "inputs stop their peers".into());
            }
            FlowControl::Pfc { stop: StopRule::Static(config), .. } => {
                late(config.stop, "inputs stop their peers".into());
            }
            _ => {}
        }
        if let Buffering::OutputQueued { queue_limit: QueueLimit::Static(limit), .. } = switch.buffering {
            late(limit, "queues drop".into());
        }
    }
    let least = plan.scheme.shortest_frame();
    if let Some(source) = plan.sources.iter().find(|source| source.frame < least) {
        let flow = source.flows.first().map_or(0, |flow| flow.0 as usize);
        let section = places.flows[flow];
        let path = section.path_of("frame");
        let message = format!("`{path}` is {}, and the headers of RoCEv2 alone take {least}", source.frame);
        log.wrong(section.origin_of("frame"), message).hint("its ends send RoCEv2, which is where marks are");
    }
}

/// Sources of one host that together offer more than its link carries at some time: allowed, seldom meant.
fn loads(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let mut turns: Vec<Vec<(Instant, i128)>> = vec![Vec::new(); plan.hosts.len()];
    for source in &plan.sources {
        let wire = u128::from((source.frame + plan.overhead).get());
        let bps = u128::from(mean_bps(source).unwrap_or(0)) * wire / u128::from(source.frame.get());
        let bps = i128::try_from(bps).unwrap_or(i128::MAX);
        turns[source.host.0 as usize].extend([(source.start, bps), (source.stop, -bps)]);
    }
    let offered: Vec<u128> = turns.into_iter().map(most_at_once).collect();
    for link in &plan.links {
        for end in link.ends {
            let NodeId::Host(host) = end else { continue };
            let bps = offered[host.0 as usize];
            // A rounding of each interval must not make a full link look over-full.
            if bps > u128::from(link.rate.bps()) + u128::from(link.rate.bps()) / 1_000_000 {
                let flow = plan.flows.iter().position(|flow| flow.from == host).unwrap_or(0);
                let bps = Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX));
                let name = plan.name(end);
                let message = format!("the sources of `{name}` offer {bps} to a link of {}", link.rate);
                let origin = &places.flows[flow].origin;
                log.warn(origin, message, "what cannot be sent waits in the adapter, without limit");
            }
        }
    }
}

/// The largest sum on the way through these changes. Those of one instant count together: one source that takes over
/// from another is not two.
fn most_at_once(mut changes: Vec<(Instant, i128)>) -> u128 {
    changes.sort_unstable();
    let (mut sum, mut most) = (0, 0);
    for (_, change) in changes {
        sum += change;
        most = most.max(sum);
    }
    u128::try_from(most).unwrap_or(0)
}

/// More states of the links than this are not looked at: each takes a walk of all routes.
pub(super) const MOST_STATES: usize = 16;

/// Pauses that can wait for each other in a circle, with all links up and after each one that fails or is repaired; and
/// what is to be done if they do.
pub(crate) fn deadlocks(plan: &Plan, places: &Places<'_>, log: &mut Log) -> Deadlock {
    let names = port_names(plan);
    let is_meant = places.run.text("deadlock").is_some_and(|word| word != "avoid");
    let mut told = BTreeSet::new();
    for (at, up) in plan.link_states().take(MOST_STATES) {
        for circle in waiting::circles(plan, &up) {
            let ports: Vec<&str> =
                circle.ports.iter().map(|&(link, end)| names[link][end].as_str()).collect();
            let since = at.map_or_else(String::new, |at| format!(" from {at} on"));
            let what = match circle.priority {
                Some(priority) => format!("frames of priority {priority}"),
                None => "frames".to_owned(),
            };
            let message = format!("{what} can wait for each other in a circle{since}: {}", ports.join(", "));
            let origin = match plan.links[circle.ports[0].0].ends[circle.ports[0].1] {
                NodeId::Switch(switch) => places.switches[switch.0 as usize].origin_of("pause.mode"),
                NodeId::Host(_) => &places.run.origin,
            };
            if told.insert(circle) && !is_meant {
                let hint = "if all of them are paused at once, they stay so; routes without a circle cannot, nor a \
                            priority that may be dropped; where it is meant, `run.deadlock` says so";
                log.warn(origin, message, hint);
            }
        }
    }
    let failures = plan.changes.iter().filter(|change| matches!(change.what, What::Link { .. })).count();
    match places.run.text("deadlock") {
        // States that nobody looked at may have one.
        _ if told.is_empty() && failures < MOST_STATES => Deadlock::Impossible,
        Some("expect") => Deadlock::Noted,
        _ => Deadlock::Ends,
    }
}
