//! What a port says of itself: the LLDP frame at the head of its capture, made from the plan.
//!
//! A simulation carries none: in it all nodes know each other from the start. So these frames take no time and reach nobody.
//! They tell whoever reads the capture how each port is set.

use quell_proto::control::domain_defence::{Choice, Defence, PortDefence};
use quell_proto::units::{Priority, PrioritySet};
use quell_proto::wire::lldp::{
    Application, Applications, Ets, EtsConfiguration, Id, Lldp, MostClasses, PfcCapability, PfcConfiguration,
    Selector, Tlv, Tlvs, TransmissionSelection,
};
use quell_proto::wire::{Envelope, EtherType, LldpFrame, MacAddr, ROCE_PORT};
use quell_sim::scenario::Plan;
use quell_sim::scenario::plan::{FlowControl, NodeId, Schedule, Switch, SwitchId};

/// For how many seconds what is said holds: four times the usual 30 s between two frames.
const LIFETIME: u16 = 120;

/// The frame of a port, by its place among [`Plan::ports`] and its name there.
pub(crate) fn frame(plan: &Plan, port: usize, name: &str) -> Vec<u8> {
    let (own, peer) = {
        let ends = plan.links[port / 2].ends;
        (ends[port % 2], ends[1 - port % 2])
    };
    let (applications, mut lines) = (applications(plan), [0; 3 * Priority::COUNT]);
    let mut tlvs: Vec<Tlv<'_>> = Vec::new();
    tlvs.extend(congestion_notification(plan));
    let switch = |node| match node {
        NodeId::Switch(SwitchId(switch)) => Some(&plan.switches[switch as usize]),
        NodeId::Host(_) => None,
    };
    // A host does as its switch does.
    let (is_switch, bridge) = (switch(own).is_some(), switch(own).or(switch(peer)));
    tlvs.extend(switch(own).map(|it| Tlv::EtsConfiguration(ets(it.schedule))));
    tlvs.extend(bridge.and_then(|it| pfc(it, !is_switch)));
    tlvs.extend(Applications::write(&applications, &mut lines).map(Tlv::Applications));
    let isolation = switch(own).and_then(|it| it.isolation).filter(|it| it.config.signal_above.is_some());
    let address = address(plan, own);
    tlvs.extend(isolation.map(|it| Tlv::CongestionIsolation(it.tlv(address.0))));
    written(address.1, name, &tlvs)
}

/// The number of a node and the address it has.
fn address(plan: &Plan, node: NodeId) -> (u32, MacAddr) {
    let number = match node {
        NodeId::Host(host) => host.0,
        NodeId::Switch(switch) => plan.hosts.len() as u32 + switch.0,
    };
    (number, MacAddr::numbered(number))
}

/// Under QCN every node is within the domain, as if a person had said so.
fn congestion_notification(plan: &Plan) -> Option<Tlv<'static>> {
    plan.scheme.qcn()?;
    let controlled = PrioritySet::of(plan.flows.iter().map(|flow| flow.priority));
    let port = PortDefence::new(controlled, Choice::Admin(Defence::InteriorReady));
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

/// Data, by the priorities it is sent at.
fn applications(plan: &Plan) -> Vec<Application> {
    let (selector, protocol) = if plan.scheme.understands_marks() {
        (Selector::UDP, ROCE_PORT)
    } else {
        (Selector::ETHER_TYPE, EtherType::EXPERIMENT.get())
    };
    let used = PrioritySet::of(plan.flows.iter().map(|flow| flow.priority));
    used.iter().map(|priority| Application { priority, selector, protocol }).collect()
}

fn written(address: MacAddr, name: &str, list: &[Tlv<'_>]) -> Vec<u8> {
    let mut buffer = [0; 512];
    let tlvs = Tlvs::write(list, &mut buffer).expect("one of each kind, and eight applications, have room");
    let chassis = Id::new(Id::CHASSIS_MAC, &address.0).expect("six octets");
    // A name has 255 octets at the most, and one at least.
    let name = &name.as_bytes()[..name.len().min(255)];
    let port = Id::new(Id::LOCAL, name).unwrap_or(chassis);
    let frame = LldpFrame {
        envelope: Envelope::plain(MacAddr::NEAREST_BRIDGE, address),
        lldp: Lldp { chassis, port, lifetime: LIFETIME, tlvs },
    };
    let mut octets = vec![0; 1024];
    let length = frame.emit(&mut octets).expect("there is room");
    octets.truncate(length);
    octets
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
