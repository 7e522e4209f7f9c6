//! Where the instructions of a work go, by source file, as callgrind counts them.
//!
//! Its output names a file wherever the code that follows came from another one, inlined or not, and then the
//! instructions line by line. What was inlined from a library counts for the file of ours that was last seen.

use std::collections::BTreeMap;

/// How many files are shown by themselves.
const SHOWN: usize = 14;
/// What came from no file of ours.
const ELSEWHERE: &str = "elsewhere (start, C library)";

/// Instructions by source file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profile(BTreeMap<String, u64>);

impl Profile {
    /// Reads what callgrind wrote.
    pub(super) fn read(text: &str) -> Profile {
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        let mut here = ELSEWHERE.to_owned();
        let mut is_call = false;
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=') {
                match key {
                    "calls" => is_call = true,
                    "fl" | "fi" | "fe" | "cfi" | "cfl" => {
                        let (number, name) = value.split_once(' ').unwrap_or((value, ""));
                        if !name.is_empty() {
                            names.insert(number, ours(name).unwrap_or_default());
                        }
                        let file = names.get(number).map_or("", String::as_str);
                        if !key.starts_with('c') && (key == "fl" || !file.is_empty()) {
                            here = if file.is_empty() { ELSEWHERE.to_owned() } else { file.to_owned() };
                        }
                    }
                    _ => {}
                }
            } else if line.starts_with(|it: char| it.is_ascii_digit() || "+-*".contains(it)) {
                // The line after a call tells what the callee took, which its own lines do as well.
                if !std::mem::take(&mut is_call) {
                    let count = line.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok());
                    *counts.entry(here.clone()).or_default() += count.unwrap_or(0);
                }
            }
        }
        Profile(counts)
    }

    /// What this counted beyond `before`, for each of so many hops: the most first, the rest together.
    pub(super) fn beyond(&self, before: &Profile, hops: u64) -> Vec<(String, f64)> {
        let more = |(name, count): (&String, &u64)| {
            let more = count.saturating_sub(before.0.get(name).copied().unwrap_or(0));
            (name.clone(), super::float(more) / super::float(hops.max(1)))
        };
        let mut rows: Vec<(String, f64)> = self.0.iter().map(more).filter(|it| it.1 >= 0.05).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        if rows.len() > SHOWN {
            let rest = rows.split_off(SHOWN);
            rows.push((format!("{} others", rest.len()), rest.iter().map(|it| it.1).sum()));
        }
        rows
    }
}

/// The name of a source file of this project without what all have in common: `sim/model/host.rs`.
fn ours(path: &str) -> Option<String> {
    let (_, rest) = path.rsplit_once("crates/")?;
    let (name, file) = rest.split_once("/src/")?;
    (!name.contains('/')).then(|| format!("{name}/{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
events: Ir
fl=(1) /somewhere/crates/sim/src/model/host.rs
fn=(1) send
10 5
+1 7
fi=(2) /rustc/abc/library/core/src/option.rs
100 3
fi=(3) crates/sim/src/kernel/agenda.rs
7 2
cfi=(4) crates/record/src/sink.rs
cfn=(2) told
calls=1 20
* 900
fe=(1)
* 1

fl=(4)
fn=(2)
20 40

fl=(5) ./malloc/malloc.c
fn=(3) malloc
1 11
";

    #[test]
    fn instructions_count_for_the_file_of_ours_that_was_last_seen() {
        let profile = Profile::read(SAID);
        let rows = profile.beyond(&Profile::default(), 2);
        let expected = [
            ("record/sink.rs", 20.0),
            ("sim/model/host.rs", 8.0),
            (ELSEWHERE, 5.5),
            ("sim/kernel/agenda.rs", 1.0),
        ];
        assert_eq!(rows, expected.map(|(name, count)| (name.to_owned(), count)));
    }

    #[test]
    fn what_a_beginning_takes_is_left_out() {
        let profile = Profile::read(SAID);
        assert_eq!(profile.beyond(&profile, 1), []);
    }
}
