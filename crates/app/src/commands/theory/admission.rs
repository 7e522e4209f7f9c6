//! `quell theory admission`: how fast to let frames into a queue.

use super::{answer, table};
use crate::cli_theory::{AdmissionArgs, LawName};
use crate::exit::{Exit, Failure};
use quell_report::{Unit, theory};
use quell_theory::admission::{Admission, Law};
use serde_json::json;

pub(super) fn admission(args: &AdmissionArgs) -> Result<Exit, Failure> {
    let law = match args.law {
        LawName::Linear => Law::Linear,
        LawName::Quadratic => Law::Quadratic,
    };
    let (offered, service) = (args.offered, 1.0);
    let problem =
        Admission { offered, service, holding: args.holding, refusal: args.refusal, law, room: args.room };
    let policy = problem.solve()?;
    let full = policy.rates.iter().take_while(|rate| **rate >= offered * (1.0 - 1e-9)).count();
    let none = policy.rates.iter().position(|rate| *rate <= offered * 1e-9).unwrap_or(args.room);
    let words = format!(
        "M/M/1 with {offered} frames offered in the time of one service\n{}",
        table(&[
            ("least average cost", format!("{:.4}", policy.cost)),
            ("mean number of frames", format!("{:.2}", policy.queued)),
            ("admitted", Unit::Fraction.show(policy.admitted / offered)),
            ("all are admitted below", format!("{full} frames")),
            ("none is admitted from", format!("{none} frames on")),
        ])
    );
    let document = json!({
        "offered": offered,
        "service": service,
        "holding": args.holding,
        "refusal": args.refusal,
        "law": law,
        "cost": policy.cost,
        "queued": policy.queued,
        "admitted": policy.admitted,
        "rates": policy.rates,
        "distribution": policy.distribution,
    });
    answer(&args.answer, &theory::admission(&problem, &policy), &words, document)
}
