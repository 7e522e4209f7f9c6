//! Which of several equally short paths a flow takes.

use crate::network::*;
use quell_proto::units::Duration;
use quell_record::Quantity;
use quell_sim::scenario::plan::*;

/// Frames on each of four parallel links between two switches with eight hosts each; every host of the first sends
/// eight flows, one to each host of the second.
fn spread(tie_break: TieBreak) -> Vec<i64> {
    let mut ends: Vec<_> = (0..16).map(|index| [host(index), switch(index / 8)]).collect();
    ends.extend((0..4).map(|_| [switch(0), switch(1)]));
    let mut plan = graph(16, 2, &ends, TEN, US);
    plan.tie_break = tie_break;
    for from in 0..8 {
        for to in 8..16 {
            add_flow(&mut plan, from, to, Pattern::Constant { interval: Duration::from_us(100) }, at_us(0));
        }
    }
    let said = run_of(&plan);
    assert_eq!(said.flows.iter().map(|flow| flow.reordered_frames).sum::<u64>(), 0);
    (16..20).map(|link| said.series(port(link, 0), Quantity::TxFrames).iter().sum()).collect()
}

#[test]
fn a_hash_spreads_flows_over_all_paths() {
    let frames = spread(TieBreak::Hash);
    // 64 flows of ten frames over four links: 160 each on average, three deviations of 35.
    assert_eq!(frames.iter().sum::<i64>(), 640);
    assert!(frames.iter().all(|frames| (55..=265).contains(frames)), "{frames:?}");
}

#[test]
fn the_first_path_takes_everything() {
    assert_eq!(spread(TieBreak::First), [640, 0, 0, 0]);
}

#[test]
fn destinations_are_dealt_out_over_the_paths() {
    assert_eq!(spread(TieBreak::Destination), [160; 4]);
}
