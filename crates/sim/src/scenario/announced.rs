//! What a port says of itself in LLDP, by the plan.
//!
//! Switches that isolate flows agree on their queues by it, before a run or in it ([`Discovery`](super::plan::Discovery)). A capture has
//! it at its head for every port, so that whoever reads it knows how each is set.

use super::plan::{Discovery, FlowControl, Isolation, NodeId, Plan, Schedule, Switch, SwitchId};
use crate::model::node_index;
use quell_proto::control::domain_defence::{Choice, Defence, PortDefence};
use quell_proto::units::{Priority, PrioritySet};
use quell_proto::wire::lldp::{
    Application, Applications, Ets, EtsConfiguration, Id, Inactivity, Lldp, MostClasses, PfcCapability,
    PfcConfiguration, Selector, Tlv, Tlvs, TransmissionSelection,
};
use quell_proto::wire::{Envelope, EtherType, LldpFrame, MacAddr, ROCE_PORT};

/// For how many seconds what is said holds: four times the usual 30 s between two frames, as IEEE 802.1AB has it.
pub(crate) const LIFETIME: u16 = 120;

/// The frame of a port, by its place among [`Plan::ports`] and its name there.
pub fn frame(plan: &Plan, port: usize, name: &str) -> Vec<u8> {
    let ends = plan.links[port / 2].ends;
    let (own, peer) = (ends[port % 2], ends[1 - port % 2]);
    let address = MacAddr::numbered(node_index(plan, own));
    let chassis = Id::new(Id::CHASSIS_MAC, &address.0).expect("six octets");
    // A name has 255 octets at the most, and one at least.
    let name = &name.as_bytes()[..name.len().min(255)];
    let list = tlvs(plan, own, peer);
    let frame = LldpFrame {
        envelope: Envelope::plain(MacAddr::NEAREST_BRIDGE, address),
        lldp: Lldp {
            chassis,
            port: Id::new(Id::LOCAL, name).unwrap_or(chassis),
            lifetime: LIFETIME,
            tlvs: Tlvs::parse(&list).expect("they were written by these formats"),
        },
    };
    let mut octets = vec![0; 1024];
    let length = frame.emit(&mut octets).expect("one of each kind, and eight applications, have room");
    octets.truncate(length);
    octets
}

/// Whether the frame of a port is sent in the run itself.
pub fn is_sent_in_run(plan: &Plan, port: usize) -> bool {
    let NodeId::Switch(SwitchId(own)) = plan.links[port / 2].ends[port % 2] else { return false };
    let signals = plan.switches[own as usize].isolation.is_some_and(|it| it.signals());
    signals && plan.discovery == Discovery::Frames
}

/// What a port says behind its address, its name and the lifetime of that.
pub(crate) fn tlvs(plan: &Plan, own: NodeId, peer: NodeId) -> Vec<u8> {
    let (applications, mut lines) = (applications(plan), [0; 3 * Priority::COUNT]);
    let mut list: Vec<Tlv<'_>> = Vec::new();
    list.extend(congestion_notification(plan));
    let switch = |node| match node {
        NodeId::Switch(SwitchId(switch)) => Some(&plan.switches[switch as usize]),
        NodeId::Host(_) => None,
    };
    // A host does as its switch does.
    let (is_switch, bridge) = (switch(own).is_some(), switch(own).or(switch(peer)));
    list.extend(switch(own).map(|it| Tlv::EtsConfiguration(ets(it.schedule))));
    list.extend(bridge.and_then(|it| pfc(it, !is_switch)));
    list.extend(Applications::write(&applications, &mut lines).map(Tlv::Applications));
    if let Some(isolation) = switch(own).and_then(|it| it.isolation).filter(Isolation::signals) {
        list.push(Tlv::CongestionIsolation(isolation.tlv(node_index(plan, own))));
        list.push(Tlv::Inactivity(Inactivity::of(isolation.config.inactivity)));
    }
    let mut octets = vec![0; list.iter().map(Tlv::emitted_len).sum()];
    Tlvs::write(&list, &mut octets).expect("there is room for all of them");
    octets
}

/// Under QCN every node is within the domain, as if a person had said so.
fn congestion_notification(plan: &Plan) -> Option<Tlv<'static>> {
    plan.scheme.qcn()?;
    let port = PortDefence::new(priorities(plan), Choice::Admin(Defence::InteriorReady));
    port.tlv().map(Tlv::CongestionNotification)
}

fn pfc(switch: &Switch, willing: bool) -> Option<Tlv<'static>> {
    let FlowControl::Pfc { priorities, .. } = switch.flow_control else { return None };
    Some(Tlv::Pfc(PfcConfiguration {
        willing,
        bound_to_macsec: false,
        capability: PfcCapability::new(Priority::COUNT as u8)?,
        enabled: PrioritySet(priorities),
    }))
}

/// Every priority is a class of its own.
fn ets(schedule: Schedule) -> EtsConfiguration {
    let weights = match schedule {
        Schedule::Strict => None,
        Schedule::WeightedRoundRobin(weights) => Some(weights.map(u32::from)),
        Schedule::DeficitRoundRobin(quanta) => Some(quanta),
    };
    let how = if weights.is_some() { TransmissionSelection::SHARED } else { TransmissionSelection::STRICT };
    let mut classes = [Priority::default(); Priority::COUNT];
    classes.iter_mut().zip(Priority::all()).for_each(|(class, priority)| *class = priority);
    EtsConfiguration {
        willing: false,
        has_shapers: false,
        most_classes: MostClasses::new(Priority::COUNT as u8).expect("there are eight"),
        ets: Ets { classes, shares: weights.map_or([0; 8], percent), selection: [how; 8] },
    }
}

/// Weights as shares in percent that add up to 100: each is the difference of two sums, rounded down.
fn percent(weights: [u32; Priority::COUNT]) -> [u8; Priority::COUNT] {
    let all: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let (mut sum, mut told) = (0, 0);
    weights.map(|weight| {
        sum += u64::from(weight);
        let until = (sum * 100).checked_div(all).unwrap_or(0);
        (until - std::mem::replace(&mut told, until)) as u8
    })
}

/// The priorities that data is sent at.
fn priorities(plan: &Plan) -> PrioritySet {
    PrioritySet::of(plan.flows.iter().map(|flow| flow.priority))
}

/// Data, by the priorities it is sent at.
fn applications(plan: &Plan) -> Vec<Application> {
    let (selector, protocol) = if plan.scheme.understands_marks() {
        (Selector::UDP, ROCE_PORT)
    } else {
        (Selector::ETHER_TYPE, EtherType::EXPERIMENT.get())
    };
    priorities(plan).iter().map(|priority| Application { priority, selector, protocol }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_whatever_the_weights() {
        assert_eq!(percent([1; 8]), [12, 13, 12, 13, 12, 13, 12, 13]);
        assert_eq!(percent([3, 1, 0, 0, 0, 0, 0, 0]), [75, 25, 0, 0, 0, 0, 0, 0]);
        assert_eq!(percent([0; 8]), [0; 8]);
        for weights in [[1, 2, 3, 4, 5, 6, 7, 8], [u32::MAX; 8], [7, 0, 0, 9, 0, 0, 0, 1]] {
            assert_eq!(percent(weights).iter().map(|it| u32::from(*it)).sum::<u32>(), 100, "{weights:?}");
        }
    }
}
