//! `quell theory correlation`: how a flow's rate and a queue go together in a recording.

use super::value::time;
use super::{answer, table};
use crate::cli_theory::CorrelationArgs;
use crate::commands::recorded;
use crate::exit::{Exit, Failure};
use quell_record::{Catalog, EntityClass, EntityId, Recording, read_run};
use quell_report::{Correlation, Unit};
use serde_json::json;

pub(super) fn correlation(args: &CorrelationArgs) -> Result<Exit, Failure> {
    let dir = recorded::run_dir(&args.recorded)?;
    let step = time("--lag", &args.lag)?;
    let (manifest, recording) = read_run(&dir)?;
    let flow = recorded::find_flow(&recording.catalog, &args.flow)?;
    let queue = find_queue(&recording.catalog, &args.queue)?;
    let window = recorded::window(&args.recorded, &recording)?;
    let sample = recorded_step(&recording);
    if step < sample * (1.0 - 1e-9) {
        let message = format!(
            "`--lag` is {}, and the recording has a sample every {}",
            args.lag,
            Unit::Seconds.show(sample)
        );
        let hint = "take longer steps, or run it again with a shorter `run.sample`";
        return Err(Failure::invalid(message).hint(hint));
    }
    let found = Correlation::take(&recording, (flow, queue), window, step, args.lags)?;
    let shown = |value: Option<f64>| {
        value.map_or_else(|| "none: one of them never changes".to_owned(), |it| format!("{it:+.3}"))
    };
    let extreme = found.lags.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let strongest = extreme.map_or_else(
        || "none".to_owned(),
        |(lag, value)| format!("{value:+.3} with the queue {} later", Unit::Seconds.show(*lag as f64 * step)),
    );
    let words = format!(
        "{} and {}, {}, seed {}, {} steps of {}\n{}",
        found.flow,
        found.queue,
        manifest.run.configuration,
        manifest.run.seed,
        found.rates.len(),
        Unit::Seconds.show_stated(step),
        table(&[
            ("correlation of rate and queue", shown(found.coefficient)),
            ("of their increments, where the rate rises", shown(found.rising)),
            ("strongest over lags", strongest),
        ])
    );
    let chart = found.chart();
    let document = json!({
        "configuration": manifest.run.configuration,
        "seed": manifest.run.seed,
        "correlation": found,
    });
    answer(&args.answer, &chart, &words, document)
}

/// Seconds from one sample to the next, mostly: claims may have cut some intervals in two.
fn recorded_step(recording: &Recording) -> f64 {
    (0..recording.times.len()).map(|sample| recording.interval(sample).ps()).max().unwrap_or(0) as f64 / 1e12
}

fn find_queue(catalog: &Catalog, name: &str) -> Result<EntityId, Failure> {
    let classes = [EntityClass::Port, EntityClass::Input];
    classes.into_iter().find_map(|class| catalog.find(class, name)).ok_or_else(|| {
        let known: Vec<&str> = classes.iter().flat_map(|class| recorded::names_of(catalog, *class)).collect();
        Failure::invalid(format!("there is no port or input `{name}`")).hint(recorded::near(name, &known))
    })
}
