//! The tap: what leaves by a port is handed over as octets, and nothing else changes.

use crate::network::*;
use quell_proto::control::qcn::Culprit;
use quell_proto::units::{Bytes, Duration, Instant};
use quell_proto::wire::{AnyFrame, parse};
use quell_record::{Digester, EntityClass, Memory, Quantity, Recording, Tap, Tee};
use quell_sim::kernel::{Control, run_tapped};
use quell_sim::scenario::plan::*;
use std::collections::BTreeMap;

/// Keeps what comes: when, by which port, how it starts, how long it is.
#[derive(Default)]
struct Kept(Vec<(Instant, usize, Vec<u8>, usize)>);

impl Tap for Kept {
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], length: usize) {
        self.0.push((at, port, octets.to_vec(), length));
    }
}

/// Three senders, one receiver, with notifications and pauses.
fn congested() -> Plan {
    let mut plan = star(4, TEN, US);
    plan.length = Duration::from_ms(1);
    plan.switches[0].buffering = Buffering::Voq { input_memory: Some(Bytes::new(60_000)), output: None };
    plan.switches[0].flow_control = pause(45_000, 40_000);
    let mut scheme = qcn();
    scheme.placement = Placement::Both;
    scheme.congestion.culprit = Culprit::RandomOccupancy;
    plan.scheme = Scheme::Qcn(scheme);
    for sender in 0..3 {
        add_flow(&mut plan, sender, 3, Pattern::Greedy, at_us(0));
    }
    plan
}

/// A run with a tap at some ports, by their places among all.
fn tapped(plan: &Plan, ports: &[u32]) -> (Kept, Recording, String) {
    let mut kept = Kept::default();
    let mut sinks = Tee(Memory::new(plan.catalog()), Digester::new());
    run_tapped(plan, 1, &mut sinks, &Control::default(), ports, &mut kept).expect("nothing breaks");
    let Tee(memory, digester) = sinks;
    (kept, memory.finish(true), digester.digest().to_string())
}

#[test]
fn a_tap_sees_every_frame_that_its_port_counts() {
    let plan = congested();
    let all: Vec<u32> = (0..plan.ports().len() as u32).collect();
    let (kept, recording, _) = tapped(&plan, &all);
    let mut data = vec![0; all.len()];
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, port, octets, length) in &kept.0 {
        assert!(octets.len() <= *length);
        let kind = match parse(octets).expect("our own octets") {
            AnyFrame::Data(_) => {
                data[*port] += 1;
                "data"
            }
            AnyFrame::Cnm(_) => "cnm",
            AnyFrame::Pause(_) | AnyFrame::Pfc(_) => "pause",
            other => panic!("{other:?}"),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    for (id, entity) in plan.ports().iter() {
        let counted: i64 = recording.series(id, Quantity::TxFrames).expect("ports count").iter().sum();
        assert_eq!(data[id.0 as usize], counted, "{}", entity.name);
    }
    let sent = |class: EntityClass| -> i64 {
        let of_class = recording.catalog.iter().filter(|(_, it)| it.class() == class);
        of_class.filter_map(|(id, _)| recording.series(id, Quantity::CnmsSent)).flatten().sum()
    };
    assert!(kinds["cnm"] > 0 && kinds["pause"] > 0, "{kinds:?}");
    assert!(
        kinds["cnm"] as i64 <= sent(EntityClass::Port) + sent(EntityClass::Input),
        "one hop each at the most"
    );
}

#[test]
fn frames_come_in_the_order_of_time_and_only_by_the_ports_asked_for() {
    let plan = congested();
    let (all, ..) = tapped(&plan, &(0..8).collect::<Vec<u32>>());
    assert!(all.0.is_sorted_by_key(|(at, ..)| *at));
    let (some, ..) = tapped(&plan, &[6, 1]);
    let wanted: Vec<_> = all.0.iter().filter(|(_, port, ..)| [6, 1].contains(port)).collect();
    assert_eq!(some.0.len(), wanted.len());
    for (some, all) in some.0.iter().zip(wanted) {
        let place = if all.1 == 6 { 0 } else { 1 };
        assert_eq!((some.0, some.1, &some.2, some.3), (all.0, place, &all.2, all.3));
    }
}

#[test]
fn a_tap_changes_nothing() {
    let plan = congested();
    let without = digest(&plan, 1);
    let (_, _, with) = tapped(&plan, &[0, 1, 2]);
    assert_eq!(with, without);
}
