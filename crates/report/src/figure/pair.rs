//! Rates of flows against a queue: as dots, and as their cross-correlation.

use super::drawn::{DrawnCloud, DrawnLine};
use crate::correlate::Correlation;
use crate::metric::PS;
use quell_record::claim::{FigureSpec, Pairing, Window};
use quell_record::{EntityClass, EntityId, Recording};

/// Steps apart at which a rate and a queue are compared, at most; and never more than half of what there is, for beyond
/// that few steps are left to compare.
const MOST_LAGS: usize = 30;
/// More dots than this of one run only blacken a panel.
const MOST_DOTS: usize = 1000;
/// More colours than this a panel does not tell apart.
const MOST_CLOUDS: usize = 7;

/// The dots of each flow; together where they are too many to tell apart.
pub(super) fn clouds(
    recording: &Recording,
    spec: &FigureSpec,
    configuration: &str,
    flows: &[EntityId],
    window: Window,
) -> (Vec<DrawnCloud>, String) {
    let Some(pairing) = &spec.pairing else { return (Vec::new(), String::new()) };
    let compared = compared(recording, pairing, flows, window);
    let note = format!(
        "One dot for each {} of a flow.",
        crate::unit::Unit::Seconds.show_stated(pairing.step_ps as f64 / PS)
    );
    let cloud = |name: &str, of: &[Correlation]| {
        let dots = of.iter().flat_map(|it| it.queues.iter().copied().zip(it.rates.iter().copied()));
        let dots: Vec<(f64, f64)> = dots.filter(|it| it.0.is_finite() && it.1.is_finite()).collect();
        let every = dots.len().div_ceil(MOST_DOTS).max(1);
        DrawnCloud { name: name.to_owned(), points: dots.into_iter().step_by(every).collect() }
    };
    let clouds = if compared.is_empty() {
        Vec::new()
    } else if spec.overlay {
        vec![cloud(configuration, &compared)]
    } else if compared.len() > MOST_CLOUDS {
        vec![cloud(&format!("{} flows", compared.len()), &compared)]
    } else {
        compared.iter().map(|it| cloud(&it.flow, std::slice::from_ref(it))).collect()
    };
    (clouds, note)
}

/// The cross-correlation of each flow's rate and the queue: lines over lags, the middle of each interval being the lag.
pub(super) fn lags(
    recording: &Recording,
    pairing: &Pairing,
    flows: &[EntityId],
    window: Window,
) -> (Vec<DrawnLine>, f64, Vec<f64>) {
    let compared = compared(recording, pairing, flows, window);
    let lines = compared.iter().filter(|it| !it.lags.is_empty()).map(|it| DrawnLine {
        name: it.flow.clone(),
        values: it.lags.iter().map(|lag| lag.1).collect(),
        range: None,
    });
    let (lines, step) = (lines.collect(), pairing.step_ps as f64 / PS);
    let places = compared.iter().map(|it| it.lags.as_slice()).max_by_key(|it| it.len()).unwrap_or_default();
    let first = places.first().map_or(0.0, |lag| (lag.0 as f64 - 0.5) * step);
    (lines, first, places.iter().map(|lag| (lag.0 as f64 + 0.5) * step).collect())
}

fn compared(
    recording: &Recording,
    pairing: &Pairing,
    flows: &[EntityId],
    window: Window,
) -> Vec<Correlation> {
    let queues = pairing.with.resolve(&recording.catalog, &[EntityClass::Port, EntityClass::Input]);
    let Some(&queue) = queues.first() else { return Vec::new() };
    let steps = window.to_ps.saturating_sub(window.from_ps) / pairing.step_ps.max(1);
    let most = MOST_LAGS.min(usize::try_from(steps / 2).unwrap_or(MOST_LAGS));
    let step = pairing.step_ps as f64 / PS;
    let compare = |&flow: &EntityId| Correlation::take(recording, (flow, queue), window, step, most).ok();
    flows.iter().filter_map(compare).collect()
}
