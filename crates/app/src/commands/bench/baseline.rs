//! What a build measured, kept for another to be compared with.

use super::Measured;
use crate::exit::Failure;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs;
use std::path::Path;

/// What one build measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Baseline {
    /// The compiler that built it: another one makes other instructions.
    pub(super) compiler: String,
    pub(super) works: Vec<Measured>,
}

/// How a build compares with another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Works that take too many instructions more, and by how many percent.
    pub(super) slower: Vec<(String, f64)>,
    /// Works that take so many fewer that the baseline ought to be saved anew.
    pub(super) faster: Vec<(String, f64)>,
    /// Why instructions are not compared, if they are not.
    pub(super) excuse: Option<String>,
}

impl Baseline {
    /// What this build measured.
    pub(super) fn of(works: Vec<Measured>) -> Baseline {
        Baseline { compiler: env!("QUELL_COMPILER").to_owned(), works }
    }

    pub(super) fn load(path: &Path) -> Result<Baseline, Failure> {
        let text = fs::read_to_string(path).map_err(|error| Failure::io(path, "read", &error))?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::invalid(format!("{}:{}: not a baseline: {error}", path.display(), error.line()))
                .hint("`quell bench --instructions --save FILE` writes one")
        })
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self).expect("plain data is always JSON");
        text.push('\n');
        fs::write(path, text).map_err(|error| Failure::io(path, "write", &error))
    }

    /// The same work on as many threads, as it was measured here.
    pub(super) fn find(&self, now: &Measured) -> Option<&Measured> {
        self.works.iter().find(|it| it.work == now.work && it.threads == now.threads)
    }

    /// How this compares with what was before, if `at_most` percent more instructions may be.
    pub(super) fn compared_with(&self, before: &Baseline, at_most: f64) -> Verdict {
        if self.compiler != before.compiler {
            let excuse = format!(
                "instructions are not compared: the baseline was built by {}, this by {}",
                before.compiler, self.compiler
            );
            return Verdict { excuse: Some(excuse), ..Verdict::default() };
        }
        let mut verdict = Verdict::default();
        for now in &self.works {
            let counts = before.find(now).map(|before| before.instructions_per_hop);
            let (Some(now_takes), Some(Some(took))) = (now.instructions_per_hop, counts) else { continue };
            let percent = (now_takes / took - 1.0) * 100.0;
            if percent > at_most {
                verdict.slower.push((now.work.clone(), percent));
            } else if percent < -at_most {
                verdict.faster.push((now.work.clone(), percent));
            }
        }
        verdict
    }

    /// All of it, and how it compares, for a program.
    pub(super) fn to_json(&self, verdict: Option<&Verdict>) -> String {
        let document = json!({
            "compiler": self.compiler,
            "works": self.works,
            "slower": verdict.map(|it| &it.slower),
            "faster": verdict.map(|it| &it.faster),
            "not_compared": verdict.and_then(|it| it.excuse.as_ref()),
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(instructions: Option<f64>) -> Baseline {
        let work = Measured {
            work: "bench/a".into(),
            threads: 1,
            hosts: 2,
            flows: 1,
            checks: Some(true),
            frame_hops: 10,
            cell_hops: 0,
            events_per_hop: 1.0,
            ns_per_hop: 40.0,
            bare_ns_per_hop: Some(38.0),
            instructions_per_hop: instructions,
            peak_memory_bytes: None,
            setup_seconds: 0.1,
        };
        Baseline { compiler: "rustc 1".into(), works: vec![work] }
    }

    #[test]
    fn six_percent_more_instructions_are_too_many_and_four_are_not() {
        let before = measured(Some(100.0));
        let slower = |now: f64| measured(Some(now)).compared_with(&before, 5.0).slower;
        assert_eq!(slower(104.0), []);
        assert_eq!(slower(106.0).len(), 1);
    }

    #[test]
    fn a_gain_is_told_so_that_the_baseline_can_follow() {
        let verdict = measured(Some(80.0)).compared_with(&measured(Some(100.0)), 5.0);
        assert_eq!((verdict.slower.len(), verdict.faster.len()), (0, 1));
    }

    #[test]
    fn counts_of_another_compiler_are_not_compared() {
        let before = Baseline { compiler: "rustc 2".into(), ..measured(Some(1.0)) };
        let verdict = measured(Some(100.0)).compared_with(&before, 5.0);
        assert!(verdict.slower.is_empty() && verdict.excuse.is_some());
    }

    #[test]
    fn what_was_not_counted_is_not_compared() {
        assert_eq!(measured(None).compared_with(&measured(Some(1.0)), 5.0), Verdict::default());
    }
}
