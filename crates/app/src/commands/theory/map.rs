//! `quell theory map`: where a loop is stable, over two parameters.

use super::answer;
use super::model::Chosen;
use super::value::range;
use crate::cli_theory::MapArgs;
use crate::exit::{Exit, Failure};
use quell_report::theory;
use quell_theory::map::Cell;
use serde_json::json;

pub(super) fn map(args: &MapArgs) -> Result<Exit, Failure> {
    let (across, up) = (range(&args.across)?, range(&args.up)?);
    if across.parameter == up.parameter {
        let message = format!("both axes are `{}`", across.parameter.name());
        return Err(Failure::invalid(message).hint("choose two different parameters"));
    }
    let chosen = Chosen::of(&args.model)?;
    let found = quell_theory::map::map(&chosen.model, across, up)?;
    let cells = || found.cells.iter().flatten();
    let stable = cells().filter(|it| matches!(it, Cell::Rests { is_stable: true, .. })).count();
    let outside = cells().filter(|it| matches!(it, Cell::Outside)).count();
    let mut words = format!("{}\n  {stable} of {} points are stable", chosen.heading(), cells().count());
    match (&found.why_outside, outside) {
        (Some(why), 1..) => words.push_str(&format!("; {outside} have no answer, such as: {why}\n")),
        _ => words.push('\n'),
    }
    let mut document = chosen.document();
    document["across"] = json!({ "parameter": across.parameter.name(), "values": found.across });
    document["up"] = json!({ "parameter": up.parameter.name(), "values": found.up });
    document["cells"] = json!(found.cells);
    answer(&args.answer, &theory::map(&chosen.model, &found, across, up), &words, document)
}
