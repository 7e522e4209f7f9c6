//! `quell theory fluid`: queue and rate over time.

use super::critical::shown;
use super::model::Chosen;
use super::value::time;
use super::{answer, table};
use crate::cli_theory::FluidArgs;
use crate::exit::{Exit, Failure};
use crate::fluid::Fluid;
use quell_report::{Unit, theory};
use quell_theory::trace::{Start, Trace};
use quell_theory::{Model, Outside, Stability};
use serde_json::json;

/// Seconds that a model is followed for at first unless it is said, and how often that is doubled until it has settled.
const SPAN: f64 = 0.1;
const DOUBLINGS: u32 = 7;

pub(super) fn fluid(args: &FluidArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&args.model)?;
    let asked = args.span.as_deref().map(|text| time("--span", text)).transpose()?;
    let stated = asked.or(chosen.fluid.as_ref().map(|it| it.span));
    let (span, trace) = match (&chosen.fluid, stated) {
        (Some(fluid), Some(span)) => (span, Fluid { span, ..fluid.clone() }.trace()?),
        (_, Some(span)) => (span, Trace::of(&chosen.model, Start::full(&chosen.model), span)?),
        (_, None) => until_settled(&chosen.model)?,
    };
    let (from, to) = chosen.fluid.as_ref().map_or((span / 2.0, span), |it| it.late(span));
    let late = trace.summary(&chosen.model, from, to);
    let settled = has_settled(&chosen.model, &trace, from, to);
    let critical = match Stability::critical_delay(&chosen.model) {
        Ok(critical) => shown(critical),
        Err(why @ Outside::NoEquilibrium { .. }) => why.to_string(),
        Err(why) => return Err(why.into()),
    };
    let period = late.period.map_or_else(|| "none".to_owned(), |it| Unit::Seconds.show(it.seconds));
    let words = format!(
        "{}\nfrom {} to {}\n{}",
        chosen.heading(),
        Unit::Seconds.show_stated(from),
        Unit::Seconds.show_stated(to),
        table(&[
            ("mean queue", Unit::Bytes.show(late.mean)),
            ("its standard deviation", Unit::Bytes.show(late.deviation)),
            ("period of its swings", period),
            ("offered over capacity", Unit::Fraction.show(late.load)),
            ("critical delay", critical),
            ("settled", if settled { "yes" } else { NOT_SETTLED }.to_owned()),
        ])
    );
    let mut document = chosen.document();
    document["late"] = json!({
        "from": from,
        "to": to,
        "queue_mean": late.mean,
        "queue_deviation": late.deviation,
        "period": late.period,
        "load": late.load,
        "settled": settled,
    });
    answer(&args.answer, &theory::trace(&chosen.model, &trace), &words, document)
}

const NOT_SETTLED: &str =
    "no: the halves of this time differ, so that these are means on the way; see a longer --span";

/// Follows a model until it has settled, or for as long as there is patience.
fn until_settled(model: &Model) -> Result<(f64, Trace), Outside> {
    let mut span = SPAN;
    let mut trace = Trace::of(model, Start::full(model), span)?;
    for _ in 0..DOUBLINGS {
        if has_settled(model, &trace, span / 2.0, span) {
            break;
        }
        // A model of fine steps may not bear twice the time: what there is has to do then.
        let Ok(longer) = Trace::of(model, Start::full(model), span * 2.0) else { break };
        (span, trace) = (span * 2.0, longer);
    }
    Ok((span, trace))
}

/// Whether the halves of a time agree, in the queue by a twentieth (or a frame) and in what is offered by a fiftieth.
fn has_settled(model: &Model, trace: &Trace, from: f64, to: f64) -> bool {
    let middle = f64::midpoint(from, to);
    let (first, second) = (trace.summary(model, from, middle), trace.summary(model, middle, to));
    let queue = (first.mean.max(second.mean) / 20.0).max(model.path().frame);
    (first.mean - second.mean).abs() <= queue && (first.load - second.load).abs() <= 0.02
}
