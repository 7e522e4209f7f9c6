//! `quell theory bode`: the open loop over frequency.

use super::critical::shown;
use super::model::Chosen;
use super::{answer, table};
use crate::cli_theory::BodeArgs;
use crate::exit::{Exit, Failure};
use quell_report::{Unit, theory};
use quell_theory::stability::{Margin, Stability};
use serde_json::json;

pub(super) fn bode(args: &BodeArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&args.model)?;
    let loops = Stability::of(&chosen.model)?;
    let rest = chosen.model.equilibrium()?;
    let mut words = format!("{}\n", chosen.heading());
    words.push_str(&table(&[
        ("queue at rest", Unit::Bytes.show(rest.queue)),
        ("rate at rest", Unit::BitsPerSecond.show(rest.rate)),
    ]));
    let mut document = chosen.document();
    document["equilibrium"] = json!({ "queue": rest.queue, "rate": rest.rate, "target": rest.target });
    document["loops"] = json!([]);
    for stability in &loops {
        let (phase, gain) = (stability.phase_margin(), stability.gain_margin());
        let regime = theory::regime(stability.regime);
        if !regime.is_empty() {
            words.push_str(&format!("while in {regime}\n"));
        }
        let at = |margin: Option<Margin>, none: &str, show: &dyn Fn(f64) -> String| match margin {
            Some(it) => format!("{} at {} rad/s", show(it.margin), significant(it.frequency)),
            None => format!("none: {none}"),
        };
        let degrees = |it: f64| match it.to_degrees() {
            it if it < -360.0 => format!("{it:.0} degrees ({:.0} whole turns late)", (-it / 360.0).floor()),
            it => format!("{it:.1} degrees"),
        };
        words.push_str(&table(&[
            ("phase margin", at(phase, "the gain never falls through one", &degrees)),
            ("gain margin", at(gain, "the phase never falls through half a turn", &|it| factor(it))),
            ("critical delay", shown(stability.critical())),
        ]));
        if let Some(list) = document["loops"].as_array_mut() {
            list.push(json!({
                "regime": regime,
                "phase_margin": phase,
                "gain_margin": gain,
                "critical": stability.critical(),
            }));
        }
    }
    answer(&args.answer, &theory::bode(&chosen.model, &loops), &words, document)
}

/// A frequency to three digits, or whole.
fn significant(frequency: f64) -> String {
    let digits = (2.0 - frequency.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{frequency:.digits$}")
}

/// A factor, not rounded to nothing.
fn factor(it: f64) -> String {
    if it >= 0.01 { format!("{it:.2} times") } else { format!("{it:.1e} times") }
}
