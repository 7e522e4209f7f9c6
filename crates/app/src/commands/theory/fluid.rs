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
use quell_theory::{Outside, Stability};
use serde_json::json;

/// Seconds that a model is followed for unless it is said.
const SPAN: f64 = 0.1;

pub(super) fn fluid(args: &FluidArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&args.model)?;
    let asked = args.span.as_deref().map(|text| time("--span", text)).transpose()?;
    let span = asked.or(chosen.fluid.as_ref().map(|it| it.span)).unwrap_or(SPAN);
    let trace = match &chosen.fluid {
        Some(fluid) => Fluid { span, ..fluid.clone() }.trace()?,
        None => Trace::of(&chosen.model, Start::full(&chosen.model), span)?,
    };
    let (from, to) = chosen.fluid.as_ref().map_or((span / 2.0, span), |it| it.late(span));
    let late = trace.summary(&chosen.model, from, to);
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
    });
    answer(&args.answer, &theory::trace(&chosen.model, &trace), &words, document)
}
