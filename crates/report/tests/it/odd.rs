//! Figures of odd data: whatever comes, a picture has only numbers in it.

use crate::synthetic::figure;
use proptest::prelude::*;
use quell_proto::units::Instant;
use quell_record::claim::{FigureKind, FigureSpec, Pairing};
use quell_record::{Catalog, Entity, EntityId, EntityKind, Memory, Quantity, Recording, Selector, Sink};
use quell_report::{Extract, Figure, figures};

const KINDS: [FigureKind; 14] = [
    FigureKind::Queue,
    FigureKind::Throughput,
    FigureKind::Arrivals,
    FigureKind::Limit,
    FigureKind::Pause,
    FigureKind::Cnms,
    FigureKind::Shares,
    FigureKind::Tree,
    FigureKind::Slowdown,
    FigureKind::Bursts,
    FigureKind::PauseCount,
    FigureKind::PauseTime,
    FigureKind::Scatter,
    FigureKind::CrossCorrelation,
];

/// One port and one flow with these values at these steps of time.
fn recording(values: &[i64], steps: &[u64]) -> Recording {
    let port = EntityKind::Port { node: "s".into(), peer: "h".into(), rate_bps: 1, of_switch: true };
    let flow = EntityKind::Flow {
        from: "g".into(),
        to: "h".into(),
        priority: 0,
        demand_bps: None,
        frame_bytes: 1500,
        message: None,
    };
    let entities =
        vec![Entity { name: "s->h".into(), kind: port }, Entity { name: "g->h".into(), kind: flow }];
    let mut memory = Memory::new(Catalog { entities, overhead_bytes: 0 });
    let mut at = 0;
    for (&value, &step) in values.iter().zip(steps) {
        at += step.max(1);
        memory.begin_samples(Instant::from_ps(at));
        for quantity in [Quantity::QueueMeanBytes, Quantity::TxBytes, Quantity::PausedPs] {
            memory.sample(EntityId(0), quantity, value);
        }
        for quantity in
            [Quantity::SentBytes, Quantity::DeliveredBytes, Quantity::LimitBps, Quantity::CnmsReceived]
        {
            memory.sample(EntityId(1), quantity, value);
        }
    }
    memory.finish(true)
}

fn all_figures(runs: &[Recording]) -> Vec<Figure> {
    let configurations = ["<a> & \"b\"".to_owned()];
    let specs: Vec<_> = KINDS
        .iter()
        .map(|&kind| {
            let pairing = Pairing { with: Selector("s->h".to_owned()), step_ps: 1_000_000_000_000 };
            let overlay = kind == FigureKind::Limit;
            FigureSpec { pairing: Some(pairing), ..figure("odd", kind, "*", &configurations, overlay) }
        })
        .collect();
    let extracts: Vec<Extract> = runs
        .iter()
        .enumerate()
        .map(|(seed, run)| Extract::take(run, &configurations[0], seed as u64, &[], &specs))
        .collect();
    figures(&specs, &extracts)
}

fn is_sound(figure: &Figure) {
    let svg = figure.to_svg();
    for bad in ["NaN", "inf", "-0.0\"", "<a>"] {
        assert!(!svg.contains(bad), "{bad} in {svg}");
    }
    assert!(svg.ends_with("</svg>\n"));
    let csv = figure.to_csv();
    assert!(!csv.contains("NaN") && !csv.contains("inf"), "{csv}");
    assert!(!figure.to_text().contains("NaN"));
}

#[test]
fn nothing_constants_single_samples_and_giants_are_drawn() {
    let second = 1_000_000_000_000;
    for values in [vec![], vec![0], vec![7], vec![5; 50], vec![i64::MAX; 3], vec![0, i64::MAX, 1, i64::MIN]] {
        let steps = vec![second; values.len()];
        all_figures(&[recording(&values, &steps)]).iter().for_each(is_sound);
        all_figures(&[recording(&values, &steps), recording(&[], &[])]).iter().for_each(is_sound);
    }
    all_figures(&[]).iter().for_each(is_sound);
}

#[test]
fn a_long_series_is_cut_down_and_keeps_its_peak() {
    let mut values = vec![1000; 20_000];
    values[12_345] = 900_000;
    let figures = all_figures(&[recording(&values, &vec![1_000_000; 20_000])]);
    let csv = figures[0].to_csv();
    assert!(csv.lines().count() <= 1002, "{} lines", csv.lines().count());
    assert!(csv.contains(",900000\n"), "the peak is lost");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_history_gives_a_picture_of_numbers(
        values in prop::collection::vec(any::<i64>(), 0..60),
        steps in prop::collection::vec(1_u64..1 << 40, 60),
        others in prop::collection::vec(0_i64..1 << 40, 0..60),
    ) {
        let runs = [recording(&values, &steps), recording(&others, &steps)];
        all_figures(&runs).iter().for_each(is_sound);
    }
}
