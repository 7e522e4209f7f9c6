//! `quell theory portrait`: rate against queue from several starts.

use super::answer;
use super::model::Chosen;
use super::value::time;
use crate::cli_theory::PortraitArgs;
use crate::exit::{Exit, Failure};
use quell_report::theory;
use quell_theory::Outside;
use quell_theory::trace::{Start, Trace};
use serde_json::json;

/// Where lines begin: multiples of the queue at rest, and of a flow's share.
const STARTS: [(f64, f64); 5] = [(0.0, 0.8), (0.5, 1.1), (2.0, 1.0), (1.5, 0.8), (0.0, 1.2)];

pub(super) fn portrait(args: &PortraitArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&args.model)?;
    let span = time("--span", &args.span)?;
    let rest = chosen.model.equilibrium()?;
    let follow =
        |(queue, rate): (f64, f64)| Trace::of(&chosen.model, Start { queue: queue * rest.queue, rate }, span);
    let traces = STARTS.map(follow).into_iter().collect::<Result<Vec<Trace>, Outside>>()?;
    let words = format!("{}\n", chosen.heading());
    let mut document = chosen.document();
    document["equilibrium"] = json!({ "queue": rest.queue, "rate": rest.rate });
    document["ends"] =
        traces.iter().map(|it| json!({ "queue": it.queue.last(), "rate": it.rate.last() })).collect();
    answer(&args.answer, &theory::portrait(&chosen.model, &traces), &words, document)
}
