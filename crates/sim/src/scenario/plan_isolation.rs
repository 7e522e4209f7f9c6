//! Congestion isolation: what a `[switch]` says of it, and what neighbours make of each other's.

use super::announced;
use super::plan::{
    Buffering, CimForm, Cims, FlowControl, Isolation, NodeId, Plan, StopRule, Switch, SwitchId,
};
use super::plan_checks::Places;
use super::problem::Log;
use super::section::Section;
use crate::model::octets;
use quell_proto::control::ecn::MarkingConfig;
use quell_proto::control::isolation::{
    Agreement, Announcement, BothClasses, Config, Detection, Flush, IsolatedMarking, QueueMap, agree,
};
use quell_proto::control::qcn::{CongestionConfig, Profile};
use quell_proto::units::{Priority, Share};
use quell_proto::wire::MacAddr;
use quell_proto::wire::lldp::{CongestionIsolation, Tlvs};

/// Reads what a `[switch]` says of isolation; `None` inside where it has none.
#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is none")]
pub(crate) fn isolation(section: &Section, log: &mut Log) -> Option<Option<Isolation>> {
    let mode = section.text("isolation.mode")?;
    if mode == "off" {
        return Some(None);
    }
    let (monitored, congesting) =
        (section.priority("isolation.monitored")?, section.priority("isolation.congesting")?);
    if monitored == congesting {
        let path = section.path_of("isolation.congesting");
        log.wrong(section.origin_of("isolation.congesting"), format!("`{path}` is the monitored priority"))
            .hint("flows are moved from one queue to another");
        return None;
    }
    let signals = mode == "signal";
    let config = Config {
        detection: detection(section, log)?,
        marking: match section.text("isolation.marks")? {
            "none" => IsolatedMarking::None,
            "curve" => IsolatedMarking::Curve(curve(
                section,
                ["isolation.marks_low", "isolation.marks_high", "isolation.marks_most"],
                log,
            )?),
            _ => IsolatedMarking::All,
        },
        signal_above: if signals { Some(section.size("isolation.signal_above")?) } else { None },
        most_messages: if signals { u8::try_from(section.count("isolation.signals")?).ok()? } else { 0 },
        inactivity: section.time("isolation.inactivity")?,
        most_life: section.time("isolation.most_life")?,
        flush: match section.text("isolation.flush")? {
            "all" => Flush::All,
            "nothing" => Flush::Nothing,
            _ => Flush::OwnFlows,
        },
        keeps_order: section.flag("isolation.markers")?,
    };
    Some(Some(Isolation {
        monitored,
        congesting,
        config,
        table: u32::try_from(section.count("isolation.table")?).ok()?,
        both: both_classes(section, log)?,
        messages: messages(section, signals)?,
        releases: signals && section.flag("isolation.releases")?,
    }))
}

fn detection(section: &Section, log: &mut Log) -> Option<Detection> {
    if section.text("isolation.detect")? == "sampling" {
        return Some(Detection::Sampling(CongestionConfig {
            set_point: section.size("isolation.set_point")?,
            sample_base: section.size("isolation.sample_base")?,
            ..Profile::Standard.congestion()
        }));
    }
    curve(section, ["isolation.low", "isolation.high", "isolation.most"], log).map(Detection::Marking)
}

/// A curve whose ends are in order.
fn curve(
    section: &Section,
    [low_key, high_key, most_key]: [&'static str; 3],
    log: &mut Log,
) -> Option<MarkingConfig> {
    let (low, high) = (section.size(low_key)?, section.size(high_key)?);
    if high < low {
        let path = section.path_of(high_key);
        log.wrong(section.origin_of(high_key), format!("`{path}` is {high}, below `{low_key}` at {low}"))
            .hint("the probability rises from the one to the other");
        return None;
    }
    let most = section.share(most_key)?;
    let most = Share { num: u32::try_from(most.above).ok()?, den: u32::try_from(most.below).ok()? };
    Some(MarkingConfig { low, high, most })
}

#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is none")]
fn both_classes(section: &Section, log: &mut Log) -> Option<Option<BothClasses>> {
    if section.text("pause.mode") != Some("pfc") {
        return Some(None);
    }
    let both = BothClasses { stop: section.size("pause.both_stop")?, go: section.size("pause.both_go")? };
    if both.go >= both.stop {
        let path = section.path_of("pause.both_go");
        let message = format!("`{path}` is {}, not below `both_stop` at {}", both.go, both.stop);
        log.wrong(section.origin_of("pause.both_go"), message).hint(
            "the monitored priority goes by itself again below `both_go`, so it lies under `both_stop`",
        );
        return None;
    }
    Some(Some(both))
}

/// How messages travel; what a switch that sends none would have announced does not matter.
fn messages(section: &Section, signals: bool) -> Option<Cims> {
    if !signals {
        return Some(Cims { form: CimForm::Layer2, priority: Default::default(), frame_octets: 0 });
    }
    Some(Cims {
        form: match section.text("isolation.cim")? {
            "ipv4" => CimForm::Ipv4,
            "ipv6" => CimForm::Ipv6,
            _ => CimForm::Layer2,
        },
        priority: section.priority("isolation.cim_priority")?,
        frame_octets: u16::try_from(section.count("isolation.cim_octets")?).ok()?,
    })
}

impl Isolation {
    /// Whether neighbours are told of flows.
    pub fn signals(&self) -> bool {
        self.config.signal_above.is_some()
    }

    /// What the switch with this number announces of it.
    pub(crate) fn tlv(&self, node: u32) -> CongestionIsolation {
        CongestionIsolation {
            queue_map: QueueMap::default().with_pair(self.monitored, self.congesting),
            excerpt: self.messages.frame_octets,
            address: MacAddr::numbered(node),
            port: CIM_PORT,
            ip: match self.messages.form {
                CimForm::Layer2 => None,
                CimForm::Ipv4 => Some(octets::address(node).into()),
                CimForm::Ipv6 => Some(octets::address_v6(node).into()),
            },
        }
    }
}

/// The UDP port at which switches take messages, as they announce: one that is free for private use.
pub(crate) const CIM_PORT: u16 = 49_153;

/// What a switch announces of itself: the TLVs of its LLDP frames behind the first three. Nothing where it signals nothing.
pub(crate) fn announced(plan: &Plan, switch: SwitchId) -> Vec<u8> {
    let signals = plan.switches[switch.0 as usize].isolation.is_some_and(|it| it.signals());
    let own = NodeId::Switch(switch);
    if signals { announced::tlvs(plan, own, own) } else { Vec::new() }
}

/// What the TLVs of an LLDP frame say of isolation, if anything.
pub(crate) fn heard(tlvs: &[u8]) -> Option<Announcement> {
    Announcement::of(&Tlvs::parse(tlvs).ok()?)
}

/// What a switch can do together with the node at the other end of one of its links, by the TLVs that each announces; `None` where
/// it signals nothing itself.
pub(crate) fn agreement(own: &Isolation, ours: &[u8], theirs: &[u8]) -> Option<Agreement> {
    Some(agree(&heard(ours)?, own.config.inactivity, heard(theirs).as_ref()))
}

/// Whether the node at the other end of a link has the same two queues, so that a pause of either stops what it is
/// meant for.
pub(crate) fn shares_queues(plan: &Plan, own: &Isolation, peer: NodeId) -> bool {
    let NodeId::Switch(SwitchId(peer)) = peer else { return false };
    let pair = |it: &Isolation| (it.monitored, it.congesting);
    plan.switches[peer as usize].isolation.is_some_and(|theirs| pair(&theirs) == pair(own))
}

/// Holds the isolation of each switch against the rest of the plan.
pub(crate) fn check(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    for (switch, section) in plan.switches.iter().zip(places.switches) {
        if let Some(isolation) = &switch.isolation {
            own_parts(plan, switch, isolation, section, log);
            priorities(plan, isolation, section, log);
        }
    }
    neighbours(plan, places, log);
}

fn own_parts(plan: &Plan, switch: &Switch, isolation: &Isolation, section: &Section, log: &mut Log) {
    let origin = section.origin_of("isolation.mode");
    if !matches!(switch.buffering, Buffering::OutputQueued { .. }) || plan.fabric.is_some() {
        log.wrong(origin, "congestion isolation is of switches that queue at their outputs")
            .hint("set `switch.kind` to `output-queued`");
        return;
    }
    let FlowControl::Pfc { priorities, stop } = switch.flow_control else { return };
    let is_lossless = |priority: Priority| priorities & (1 << priority.get()) != 0;
    let (monitored, congesting) = (isolation.monitored, isolation.congesting);
    if is_lossless(monitored) != is_lossless(congesting) {
        let [lossless, lossy] =
            if is_lossless(monitored) { [monitored, congesting] } else { [congesting, monitored] };
        let path = section.path_of("pause.priorities");
        let message =
            format!("`{path}` has priority {lossless} and not {lossy}, between which flows are moved");
        log.wrong(section.origin_of("pause.priorities"), message)
            .hint("a flow loses nothing if neither of its queues does: name both or none");
    }
    if let (StopRule::Static(config), Some(both)) = (stop, isolation.both)
        && both.stop < config.stop
    {
        let path = section.path_of("pause.both_stop");
        let message = format!(
            "`{path}` is {}, below `stop` at {}: the monitored priority would stop before the congesting one does",
            both.stop, config.stop
        );
        log.wrong(section.origin_of("pause.both_stop"), message)
            .hint("stopping both is for what goes on filling the congesting queue once that is stopped");
    }
}

fn priorities(plan: &Plan, isolation: &Isolation, section: &Section, log: &mut Log) {
    if plan.flow_priorities().any(|priority| priority == isolation.congesting) {
        let path = section.path_of("isolation.congesting");
        let flow = plan.flows.iter().find(|flow| flow.priority == isolation.congesting);
        let who = flow.map_or_else(|| "a flow of another seed".to_owned(), |flow| format!("`{}`", flow.name));
        let message = format!("`{path}` is {}, which {who} has", isolation.congesting);
        log.wrong(section.origin_of("isolation.congesting"), message)
            .hint("only what is moved there waits in that queue");
    }
    if !plan.flow_priorities().any(|priority| priority == isolation.monitored) {
        let path = section.path_of("isolation.monitored");
        let message = format!("`{path}` is {}, and no flow has that priority", isolation.monitored);
        log.warn(section.origin_of("isolation.monitored"), message, "nothing would ever be isolated");
    }
    if isolation.signals() && plan.priorities().contains(&isolation.messages.priority) {
        let path = section.path_of("isolation.cim_priority");
        let message = format!("`{path}` is {}, which data uses", isolation.messages.priority);
        log.wrong(section.origin_of("isolation.cim_priority"), message)
            .hint("messages to neighbours would wait behind what they are about");
    }
}

/// Neighbours that announce other queues, or none: each then isolates for itself.
fn neighbours(plan: &Plan, places: &Places<'_>, log: &mut Log) {
    let said: Vec<Vec<u8>> =
        (0..plan.switches.len()).map(|switch| announced(plan, SwitchId(switch as u32))).collect();
    for link in &plan.links {
        for end in 0..2 {
            let [NodeId::Switch(here), NodeId::Switch(there)] = [link.ends[end], link.ends[1 - end]] else {
                continue;
            };
            let [ours, theirs] = [here, there].map(|switch| said[switch.0 as usize].as_slice());
            let own = plan.switches[here.0 as usize].isolation;
            let agreed = own.and_then(|own| agreement(&own, ours, theirs));
            if let Some(Agreement::LocalOnly(why)) = agreed {
                let (name, peer) = (plan.name(link.ends[end]), plan.name(link.ends[1 - end]));
                let message = format!("`{name}` does not tell `{peer}` of congesting flows: {why}");
                let section = places.switches[here.0 as usize];
                let hint = "on that link each isolates for itself; with the same `isolation.monitored`, `congesting` \
                            and `cim` at both ends they signal";
                log.warn(section.origin_of("isolation.mode"), message, hint);
            }
        }
    }
}

impl Plan {
    /// The priorities of what switches tell each other.
    pub(crate) fn message_priorities(&self) -> impl Iterator<Item = Priority> {
        let isolating = self.switches.iter().filter_map(|switch| switch.isolation);
        isolating.filter(Isolation::signals).map(|it| it.messages.priority)
    }
}
