//! `[switch]`, `[adapter]` and `[scheme]`: what stands at the nodes.

use super::plan::{
    Adapter, AdapterQueueing, Buffering, Completion, CulpritSearch, FlowControl, Isolation, LimiterScope,
    MarkedAt, Marking, OutputStage, Placement, Qcn, QueueLimit, Receive, Schedule, Scheme, StopRule,
    Transport,
};
use super::problem::Log;
use super::section::Section;
use super::value::Origin;
use super::{plan_dcqcn, plan_isolation, plan_schemes};
use quell_proto::control::ecn::MarkingConfig;
use quell_proto::control::pacer::Rule;
use quell_proto::control::pause::PauseConfig;
use quell_proto::control::qcn::{
    CongestionConfig, Culprit, Probe, Profile, Quantiser, ReactionConfig, SearchConfig, preset,
};
use quell_proto::control::{af_qcn, go_back_n};
use quell_proto::units::{Bytes, Duration, Quanta, Rate, Share};

/// What a `[switch]` says, but for the name.
#[derive(Clone, Debug)]
pub(crate) struct SwitchParts {
    pub(crate) buffering: Buffering,
    pub(crate) flow_control: FlowControl,
    pub(crate) schedule: Schedule,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) marking: Option<Marking>,
}

/// Reads a `[switch]`; `in_use` has a bit for each priority that data uses.
pub(crate) fn switch(section: &Section, in_use: u8, log: &mut Log) -> Option<SwitchParts> {
    let buffering = buffering(section, log);
    let isolation = plan_isolation::isolation(section, log);
    let moved_to = isolation.flatten().map_or(0, |it| 1 << it.congesting.get());
    let flow_control = flow_control(section, in_use | moved_to, log);
    let schedule = schedule(section, log);
    let marking = marking(section, log);
    Some(SwitchParts {
        buffering: buffering?,
        flow_control: flow_control?,
        schedule: schedule?,
        isolation: isolation?,
        marking: marking?,
    })
}

/// A switch that could not be read, while the rest is checked.
pub(crate) fn plain_switch() -> SwitchParts {
    SwitchParts {
        buffering: Buffering::Voq { input_memory: None, output: None },
        flow_control: FlowControl::Off,
        schedule: Schedule::Strict,
        isolation: None,
        marking: None,
    }
}

/// An adapter that could not be read, while the rest is checked.
pub(crate) fn plain_adapter() -> Adapter {
    Adapter {
        queueing: AdapterQueueing::PerDestination,
        schedule: Schedule::Strict,
        queue_limit: None,
        limiter: LimiterScope::Destination,
        pacer: Rule::WholeFrame,
        pacer_depth: Bytes::ZERO,
        reaction_delay: Duration::ZERO,
        transport: None,
        receive: Receive { service: None, buffer: None, pause: None },
    }
}

fn buffering(section: &Section, log: &mut Log) -> Option<Buffering> {
    if section.text("kind")? == "voq" {
        let output = if section.has("output") {
            Some(OutputStage {
                buffer: section.size("output.buffer")?,
                latency: section.time("output.latency")?,
                speedup_percent: u32::try_from(section.percent("output.speedup")?).ok()?,
                acknowledge: match section.text("reliable") {
                    Some(_) => None,
                    None => Some(section.time("reliable")?),
                },
            })
        } else {
            None
        };
        return Some(Buffering::Voq { input_memory: unless(section, "input_memory", "none")?, output });
    }
    let memory = unless(section, "memory", "none")?;
    let queue_limit = match (section.text("queue_limit"), section.size("queue_limit")) {
        (Some("none"), _) => QueueLimit::None,
        (Some(_), _) => {
            let (alpha_num, alpha_den) = factor(section, "alpha")?;
            if memory.is_none() {
                let path = section.path_of("queue_limit");
                log.wrong(
                    section.origin_of("queue_limit"),
                    format!("`{path}` is a part of an unlimited memory"),
                )
                .hint("state `memory`");
                return None;
            }
            QueueLimit::Dynamic { alpha_num, alpha_den }
        }
        (None, size) => QueueLimit::Static(size?),
    };
    Some(Buffering::OutputQueued { memory, queue_limit })
}

fn flow_control(section: &Section, in_use: u8, log: &mut Log) -> Option<FlowControl> {
    let mode = section.text("pause.mode")?;
    if mode == "off" {
        return Some(FlowControl::Off);
    }
    let quanta = Quanta(u16::try_from(section.count("pause.quanta")?).ok()?);
    let stop = match section.text("pause.rule")? {
        "dynamic" => {
            let (alpha_num, alpha_den) = factor(section, "pause.alpha")?;
            StopRule::Dynamic { alpha_num, alpha_den, hysteresis: section.size("pause.hysteresis")?, quanta }
        }
        rule => {
            let config = thresholds(section, ["pause.stop", "pause.go"], quanta, log)?;
            if rule == "global" { StopRule::Global(config) } else { StopRule::Static(config) }
        }
    };
    if mode == "pause" {
        return Some(FlowControl::Pause(stop));
    }
    let named = section.counts("pause.priorities");
    let priorities = named.map_or(in_use, |list| list.iter().fold(0, |bits, priority| bits | 1 << priority));
    // Where no flow could be read none is in use; that is said where it could not.
    if priorities == 0 && named.is_some() {
        let message =
            format!("`{}` names none, so that nothing is lossless", section.path_of("pause.priorities"));
        log.wrong(section.origin_of("pause.priorities"), message)
            .hint("name some, or set `pause.mode` to `off`");
        return None;
    }
    Some(FlowControl::Pfc { priorities, stop })
}

/// A pair of thresholds in order.
fn thresholds(
    section: &Section,
    [stop_key, go_key]: [&'static str; 2],
    quanta: Quanta,
    log: &mut Log,
) -> Option<PauseConfig> {
    let (stop, go) = (section.size(stop_key)?, section.size(go_key)?);
    if go >= stop {
        let path = section.path_of(go_key);
        log.wrong(section.origin_of(go_key), format!("`{path}` is {go}, not below `stop` at {stop}"))
            .hint("traffic resumes below `go`, so it lies under `stop`");
        return None;
    }
    Some(PauseConfig { stop, go, quanta })
}

fn schedule(section: &Section, log: &mut Log) -> Option<Schedule> {
    let kind = section.text("schedule")?;
    if kind == "strict" {
        return Some(Schedule::Strict);
    }
    let mut wrong = |count: usize| {
        let path = section.path_of("weights");
        log.wrong(section.origin_of("weights"), format!("`{path}` has {count} entries"))
            .hint("there is one for each of the eight priorities, from 0");
    };
    if kind == "wrr" {
        let weights: Vec<u8> = section.counts("weights")?.iter().map(|&weight| weight as u8).collect();
        let exact = weights.try_into().map_err(|weights: Vec<u8>| wrong(weights.len())).ok()?;
        return Some(Schedule::WeightedRoundRobin(exact));
    }
    let sizes: Vec<u32> = section.sizes("weights")?.iter().map(|size| size.get() as u32).collect();
    let exact = sizes.try_into().map_err(|sizes: Vec<u32>| wrong(sizes.len())).ok()?;
    Some(Schedule::DeficitRoundRobin(exact))
}

/// How outputs mark, or `None` inside where they do not.
#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is no marking")]
fn marking(section: &Section, log: &mut Log) -> Option<Option<Marking>> {
    if !section.has("ecn") {
        return Some(None);
    }
    let (low, high) = (section.size("ecn.low")?, section.size("ecn.high")?);
    let most = share(section, "ecn.most")?;
    if low > high {
        let path = section.path_of("ecn.low");
        log.wrong(section.origin_of("ecn.low"), format!("`{path}` is {low}, above `high` at {high}"))
            .hint("nothing is marked up to `low`, everything above `high`; the two may be the same");
        return None;
    }
    let at = match section.text("ecn.at")? {
        "departure" => MarkedAt::Departure,
        _ => MarkedAt::Arrival,
    };
    Some(Some(Marking { curve: MarkingConfig { low, high, most }, at }))
}

/// Reads the `[adapter]`.
pub(crate) fn adapter(section: &Section, log: &mut Log) -> Option<Adapter> {
    let pause = if section.has("receive.pause") {
        let quanta = Quanta(u16::try_from(section.count("receive.pause.quanta")?).ok()?);
        let pause = thresholds(section, ["receive.pause.stop", "receive.pause.go"], quanta, log)?;
        Some(pause)
    } else {
        None
    };
    let service = match section.text("receive.service") {
        Some(_) => None,
        None => Some(section.rate("receive.service")?),
    };
    Some(Adapter {
        queueing: match section.text("queueing")? {
            "fifo" => AdapterQueueing::FifoWithSetAside,
            "one-queue" => AdapterQueueing::OneQueue,
            "per-flow" => AdapterQueueing::PerFlow,
            _ => AdapterQueueing::PerDestination,
        },
        schedule: schedule(section, log)?,
        queue_limit: unless(section, "queue_limit", "none")?,
        limiter: match section.text("limiter")? {
            "flow" => LimiterScope::Flow,
            "host" => LimiterScope::Host,
            _ => LimiterScope::Destination,
        },
        pacer: match section.text("pacer")? {
            "any-token" => Rule::AnyToken,
            _ => Rule::WholeFrame,
        },
        pacer_depth: section.size("pacer_depth")?,
        reaction_delay: section.time("reaction_delay")?,
        transport: transport(section)?,
        receive: Receive { service, buffer: unless(section, "receive.buffer", "none")?, pause },
    })
}

/// How frames are acknowledged, or `None` inside where they are not.
#[expect(
    clippy::option_option,
    reason = "the outer is a problem already reported, the inner is no transport"
)]
fn transport(section: &Section) -> Option<Option<Transport>> {
    if section.text("transport.kind")? == "none" {
        return Some(None);
    }
    Some(Some(Transport {
        sender: go_back_n::SenderConfig {
            timeout: section.time("transport.timeout")?,
            most_doublings: u8::try_from(section.count("transport.doublings")?).ok()?,
        },
        receiver: go_back_n::ReceiverConfig {
            ack_every: u32::try_from(section.count("transport.ack_every")?).ok()?,
            nak_interval: match section.text("transport.nak_interval") {
                Some(_) => None,
                None => Some(section.time("transport.nak_interval")?),
            },
        },
        window: unless(section, "transport.window", "none")?,
        ack_frame: section.size("transport.ack_frame")?,
        ack_priority: match section.text("transport.ack_priority") {
            Some(_) => None,
            None => Some(section.priority("transport.ack_priority")?),
        },
        completion: match section.text("transport.complete")? {
            "acknowledged" => Completion::Acknowledged,
            _ => Completion::Delivered,
        },
    }))
}

/// Reads the `[scheme]`; also the rows of what a preset filled in.
pub(crate) fn scheme(section: &Section, rows: &mut Vec<(String, String, Origin)>) -> Option<Scheme> {
    match section.text("kind")? {
        "none" => return Some(Scheme::None),
        "ecm" => return plan_schemes::ecm(section),
        "qcn2007" => return plan_schemes::qcn2007(section),
        "ib-cc" => return plan_schemes::ib_cc(section),
        "e2cm" => return plan_schemes::e2cm(section),
        "qcn-probe" => return plan_schemes::qcn_probe(section),
        "dcqcn" => return plan_dcqcn::dcqcn(section, rows),
        "dctcp" => return plan_dcqcn::dctcp(section),
        _ => {}
    }
    let profile = section.text("profile").map(|name| match name {
        "standard" => Profile::Standard,
        _ => Profile::PseudoCode,
    });
    // What is not stated comes from here, and is shown as coming from here.
    let (source, mut congestion, mut reaction) = match (section.text("preset"), profile) {
        (None, Some(profile)) => {
            let name = section.text("profile")?;
            (format!("profile {name}"), profile.congestion(), profile.reaction(Rate::from_gbps(10)))
        }
        (name, _) => {
            let preset = preset(name.unwrap_or("standard-10G"))?;
            (format!("preset {}", preset.name), preset.congestion, preset.reaction)
        }
    };
    let readings = profile.filter(|_| section.has("preset"));
    if let Some(profile) = readings {
        let reading = profile.reaction(reaction.max_rate);
        reaction.reload_jitter_percent = reading.reload_jitter_percent;
        reaction.half_reload_in_ai = reading.half_reload_in_ai;
        reaction.recovery_includes_threshold = reading.recovery_includes_threshold;
        reaction.hai_excludes_threshold = reading.hai_excludes_threshold;
    }
    let mut fill = Fill { section, rows, source, readings: readings.and(section.text("profile")) };
    fill_congestion(&mut congestion, &mut fill)?;
    fill_reaction(&mut reaction, &mut fill)?;
    let qcn = Qcn {
        placement: match section.text("placement")? {
            "input" => Placement::Input,
            "both" => Placement::Both,
            _ => Placement::Output,
        },
        congestion,
        reaction,
        cnm_priority: section.priority("cnm_priority")?,
        cnm_frame: section.size("cnm_frame")?,
        search: match section.text("search") {
            Some("array") => Some(CulpritSearch {
                words: u16::try_from(section.count("search_words")?).ok()?,
                search: SearchConfig {
                    probes: u32::try_from(section.count("search_probes")?).ok()?,
                    probe: match section.text("search_probe")? {
                        "word" => Probe::Word,
                        _ => Probe::Read,
                    },
                },
            }),
            _ => None,
        },
    };
    Some(match section.text("kind")? {
        "af-qcn" => {
            let (mix_num, mix_den) = factor(section, "mix")?;
            Scheme::AfQcn(qcn, af_qcn::Config { interval: section.time("interval")?, mix_num, mix_den })
        }
        "fqcn" => Scheme::Fqcn(qcn),
        _ => Scheme::Qcn(qcn),
    })
}

/// Notes each value that a preset or profile gave.
pub(super) struct Fill<'a> {
    pub(super) section: &'a Section,
    pub(super) rows: &'a mut Vec<(String, String, Origin)>,
    pub(super) source: String,
    pub(super) readings: Option<&'a str>,
}

impl Fill<'_> {
    pub(super) fn put<T>(
        &mut self,
        name: &'static str,
        field: &mut T,
        stated: Option<T>,
        show: impl Fn(&T) -> String,
    ) {
        match stated {
            Some(value) => *field = value,
            None => {
                const READINGS: [&str; 4] = [
                    "reload_jitter",
                    "half_reload_in_ai",
                    "recovery_includes_threshold",
                    "hai_excludes_threshold",
                ];
                let source = match self.readings {
                    Some(profile) if READINGS.contains(&name) => format!("profile {profile}"),
                    _ => self.source.clone(),
                };
                self.rows.push((self.section.path_of(name), show(field), Origin::Preset(source)));
            }
        }
    }
}

fn fill_congestion(congestion: &mut CongestionConfig, fill: &mut Fill<'_>) -> Option<()> {
    let section = fill.section;
    let culprits = [
        ("arrival", Culprit::Arrival),
        ("largest-occupancy", Culprit::LargestOccupancy),
        ("random-occupancy", Culprit::RandomOccupancy),
    ];
    let quantisers = [
        ("sixty-threeths", Quantiser::SixtyThreeths),
        ("sixty-fourths", Quantiser::SixtyFourths),
        ("top-bits", Quantiser::TopBits),
    ];
    // FQCN tells everyone who brings too much, whichever frame made the sample due.
    if section.text("kind")? != "fqcn" {
        fill.put("culprit", &mut congestion.culprit, choice(section, "culprit", &culprits), |it| {
            word(it, &culprits)
        });
    }
    fill.put("keep_alive", &mut congestion.keep_alive, section.flag("keep_alive"), ToString::to_string);
    fill.put("set_point", &mut congestion.set_point, section.size("set_point"), ToString::to_string);
    let weight = section.log2("weight").map(|log2| log2 as i8);
    fill.put("weight", &mut congestion.weight_log2, weight, |log2| {
        super::keys::power_of_two(i32::from(*log2))
    });
    fill.put("sample_base", &mut congestion.sample_base, section.size("sample_base"), ToString::to_string);
    let jitter = section.percent("sample_jitter").map(|percent| percent as u8);
    fill.put("sample_jitter", &mut congestion.sample_jitter_percent, jitter, |percent| format!("{percent}%"));
    fill.put("quantiser", &mut congestion.quantiser, choice(section, "quantiser", &quantisers), |it| {
        word(it, &quantisers)
    });
    Some(())
}

fn fill_reaction(reaction: &mut ReactionConfig, fill: &mut Fill<'_>) -> Option<()> {
    let section = fill.section;
    let gd = section.log2("gd").map(|log2| (-log2) as u8);
    fill.put("gd", &mut reaction.gd_log2, gd, |log2| super::keys::power_of_two(-i32::from(*log2)));
    let percent = |percent: &u8| format!("{percent}%");
    let least = section.percent("min_decrease").map(|percent| percent as u8);
    fill.put("min_decrease", &mut reaction.min_decrease_percent, least, percent);
    reaction.byte_cycle = section.time("byte_cycle");
    if reaction.byte_cycle.is_none() {
        fill.put("byte_reset", &mut reaction.byte_reset, section.size("byte_reset"), ToString::to_string);
    }
    fill.put("time_reset", &mut reaction.time_reset, section.time("time_reset"), ToString::to_string);
    let threshold = section.count("threshold").and_then(|count| u32::try_from(count).ok());
    fill.put("threshold", &mut reaction.threshold, threshold, ToString::to_string);
    fill.put("ai_rate", &mut reaction.ai_rate, section.rate("ai_rate"), ToString::to_string);
    fill.put("hai_rate", &mut reaction.hai_rate, section.rate("hai_rate"), ToString::to_string);
    fill.put("min_rate", &mut reaction.min_rate, section.rate("min_rate"), ToString::to_string);
    let jitter = section.percent("reload_jitter").map(|percent| percent as u8);
    fill.put("reload_jitter", &mut reaction.reload_jitter_percent, jitter, percent);
    let mut flag = |name, field: &mut bool| fill.put(name, field, section.flag(name), ToString::to_string);
    flag("half_reload_in_ai", &mut reaction.half_reload_in_ai);
    flag("recovery_includes_threshold", &mut reaction.recovery_includes_threshold);
    flag("hai_excludes_threshold", &mut reaction.hai_excludes_threshold);
    flag("freeze_timer_while_paused", &mut reaction.freeze_timer_while_paused);
    Some(())
}

pub(super) fn choice<T: Copy>(section: &Section, name: &'static str, words: &[(&str, T)]) -> Option<T> {
    let stated = section.text(name)?;
    words.iter().find(|(word, _)| *word == stated).map(|(_, value)| *value)
}

pub(super) fn word<T: PartialEq>(value: &T, words: &[(&str, T)]) -> String {
    words.iter().find(|(_, known)| known == value).map_or(String::new(), |(word, _)| (*word).to_owned())
}

/// The size, or `None` inside where the word for "no limit" stands; `None` outside where it was wrong.
#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is no limit")]
pub(super) fn unless(section: &Section, name: &'static str, no_limit: &str) -> Option<Option<Bytes>> {
    match section.text(name) {
        Some(word) if word == no_limit => Some(None),
        _ => section.size(name).map(Some),
    }
}

/// A part of a whole.
pub(super) fn share(section: &Section, name: &'static str) -> Option<Share> {
    let (num, den) = factor(section, name)?;
    Some(Share { num, den })
}

fn factor(section: &Section, name: &'static str) -> Option<(u32, u32)> {
    let ratio = section.share(name)?;
    Some((u32::try_from(ratio.above).ok()?, u32::try_from(ratio.below).ok()?))
}
