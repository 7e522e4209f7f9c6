//! How large flows are: a distribution given by points of its cumulative probability.

use crate::scenario::Problem;
use quell_proto::dice::Dice;

/// A distribution of sizes, in octets.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Sizes and the share of flows that are not larger; both never fall, the last share is one.
    points: Vec<(f64, f64)>,
    between: Between,
}

/// What lies between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    /// All sizes between them alike.
    Line,
    /// Nothing: flows have the sizes of points.
    Steps,
}

/// Payload of a packet, where sizes are counted in packets.
const PACKET: f64 = 1460.0;

impl Sizes {
    /// Reads a table of points: `bytes,cumulative_probability` or `packets,cumulative_probability`, a point a line,
    /// comments after `#`. Says everything that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Sizes, Vec<Problem>> {
        let mut reader = Reader {
            file,
            problems: Vec::new(),
            unit: None,
            between: Between::Line,
            points: Vec::new(),
            last: None,
        };
        for (line, number) in text.lines().zip(1..) {
            reader.line(number, line.trim());
        }
        reader.finish()
    }

    /// Mean size.
    pub fn mean(&self) -> f64 {
        let mut before = (self.points[0].0, 0.0);
        let mut mean = 0.0;
        for &(size, share) in &self.points {
            let typical = match self.between {
                Between::Line => f64::midpoint(before.0, size),
                Between::Steps => size,
            };
            mean += typical * (share - before.1);
            before = (size, share);
        }
        mean
    }

    /// The size below which this share of flows lies; `share` is more than zero and at most one. At least an octet, and
    /// rounded to the nearest.
    pub fn at(&self, share: f64) -> u64 {
        let index = self.points.partition_point(|point| point.1 < share).min(self.points.len() - 1);
        let (size, reached) = self.points[index];
        let exact = match (self.between, index.checked_sub(1).map(|below| self.points[below])) {
            (Between::Line, Some((smaller, below))) if reached > below => {
                smaller + (size - smaller) * (share - below) / (reached - below)
            }
            _ => size,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least one, and `as` saturates"
        )]
        let octets = libm::round(exact).max(1.0) as u64;
        octets
    }

    /// A size drawn.
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        self.at(super::uniform(dice))
    }
}

struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
    /// Octets to what the first column counts; `None` before the heading.
    unit: Option<f64>,
    between: Between,
    points: Vec<(f64, f64)>,
    /// The line of the last point.
    last: Option<u32>,
}

impl Reader<'_> {
    fn line(&mut self, number: u32, line: &str) {
        if let Some(comment) = line.strip_prefix('#') {
            if comment.trim() == "between points: steps" {
                self.between = Between::Steps;
            }
            return;
        }
        if line.is_empty() {
            return;
        }
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        let Some(unit) = self.unit else {
            self.unit = Some(match columns[..] {
                ["bytes", "cumulative_probability"] => 1.0,
                ["packets", "cumulative_probability"] => PACKET,
                _ => {
                    self.wrong(Some(number), format!("`{line}` is no heading"))
                        .hint("the first line is `bytes,cumulative_probability`, or `packets,…` of 1460 octets each");
                    1.0
                }
            });
            return;
        };
        self.last = Some(number);
        let [Ok(size), Ok(share)] = columns[..].iter().map(|it| it.parse::<f64>()).collect::<Vec<_>>()[..]
        else {
            self.wrong(Some(number), format!("`{line}` is not two numbers")).hint("such as `10000,0.15`");
            return;
        };
        if !size.is_finite() || size < 0.0 {
            self.wrong(Some(number), format!("a size of {size}")).hint("sizes are zero or more");
            return;
        }
        if !(0.0..=1.0).contains(&share) {
            self.wrong(Some(number), format!("a probability of {share}"))
                .hint("probabilities are from 0 to 1");
            return;
        }
        let size = size * unit;
        if let Some(&(larger, reached)) = self.points.last() {
            if size < larger {
                let (size, larger) = (size / unit, larger / unit);
                self.wrong(Some(number), format!("a size of {size} after one of {larger}"))
                    .hint("sizes never fall");
            }
            if share < reached {
                self.wrong(Some(number), format!("a probability of {share} after one of {reached}"))
                    .hint("they are cumulative: the share of flows that are not larger");
            }
        }
        self.points.push((size, share));
    }

    fn finish(mut self) -> Result<Sizes, Vec<Problem>> {
        if self.problems.is_empty() {
            match self.points.last() {
                None => {
                    self.wrong(None, "there are no points".to_owned()).hint(
                        "a heading, and a line for each size and the share of flows that are not larger",
                    );
                }
                // Files round: what lacks less than a millionth is one.
                Some((_, share)) if *share < 1.0 - 1e-6 => {
                    let share = *share;
                    self.wrong(self.last, format!("the probabilities end at {share}, not at 1"))
                        .hint("the last line is the largest size there is, with a probability of 1");
                }
                Some(_) => {}
            }
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Sizes { points: self.points, between: self.between })
    }

    fn wrong(&mut self, line: Option<u32>, message: String) -> Remedy<'_> {
        self.problems.push(Problem { file: self.file.to_owned(), line, message, hint: None });
        Remedy(self.problems.last_mut().expect("just pushed"))
    }
}

/// A problem that wants to hear what would be right.
struct Remedy<'a>(&'a mut Problem);

impl Remedy<'_> {
    fn hint(self, hint: &str) {
        self.0.hint = Some(hint.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn sizes(text: &str) -> Sizes {
        Sizes::parse("sizes.csv", text).unwrap()
    }

    fn wrong(text: &str) -> String {
        let problems = Sizes::parse("sizes.csv", text).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const HEADING: &str = "bytes,cumulative_probability\n";

    #[test]
    fn a_line_between_points_is_drawn_evenly() {
        let sizes = sizes(&format!("# two lines\n{HEADING}0,0\n100,0.5\n1100,1\n"));
        assert!((sizes.mean() - 325.0).abs() < 1e-9);
        assert_eq!([0.25, 0.5, 0.75, 1.0].map(|share| sizes.at(share)), [50, 100, 600, 1100]);
        assert_eq!(sizes.at(1e-9), 1, "nothing is smaller than an octet");
    }

    #[test]
    fn steps_have_the_sizes_of_points_and_repeated_sizes_are_masses() {
        let steps = sizes(&format!("# between points: steps\n{HEADING}50,0\n100,0.5\n1100,1\n"));
        assert!((steps.mean() - 600.0).abs() < 1e-9);
        assert_eq!([0.1, 0.5, 0.6, 1.0].map(|share| steps.at(share)), [100, 100, 1100, 1100]);
        let mass = sizes(&format!("{HEADING}7,0\n7,0.5\n9,1\n"));
        assert_eq!([0.1, 0.5, 0.75].map(|share| mass.at(share)), [7, 7, 8]);
        let first = sizes(&format!("{HEADING}7,0.5\n9,1\n"));
        assert_eq!(first.at(0.1), 7, "what lies below the first point is all of its size");
    }

    #[test]
    fn draws_have_the_mean() {
        let sizes = sizes(include_str!("../../../../scenarios/data/cdf/websearch_dctcp.csv"));
        let mut dice = Dice::new(1, 2, 3);
        let drawn: f64 = (0..200_000).map(|_| sizes.draw(&mut dice) as f64).sum();
        let off = drawn / 200_000.0 / sizes.mean();
        // The standard deviation is about 3.4 MB: 0.45 % of the mean of 200000 draws.
        assert!((off - 1.0).abs() < 0.015, "{off}");
    }

    #[test]
    fn bad_tables_are_told_by_line_what_would_be_right() {
        assert_eq!(
            wrong(&format!("{HEADING}0,0\n-5,0.5\n10,0.98\n")),
            "sizes.csv:3: a size of -5\nhint: sizes are zero or more"
        );
        assert_eq!(
            wrong(&format!("{HEADING}0,0\n10,0.98\n")),
            "sizes.csv:3: the probabilities end at 0.98, not at 1\n\
             hint: the last line is the largest size there is, with a probability of 1"
        );
        assert_eq!(
            wrong(&format!("{HEADING}0,0\n10,0.9\n5,0.8\n10,1.5\n")),
            "sizes.csv:4: a size of 5 after one of 10\nhint: sizes never fall\n\
             sizes.csv:4: a probability of 0.8 after one of 0.9\n\
             hint: they are cumulative: the share of flows that are not larger\n\
             sizes.csv:5: a probability of 1.5\nhint: probabilities are from 0 to 1"
        );
        assert!(wrong("size,p\n1,1\n").contains("sizes.csv:1: `size,p` is no heading"));
        assert!(wrong(HEADING).contains("there are no points"));
        assert!(wrong(&format!("{HEADING}1;1\n")).contains("`1;1` is not two numbers"));
        assert!(wrong(&format!("{HEADING}nan,1\n")).contains("a size of NaN"));
    }

    /// The table of `scenarios/data/README.md` is what the files say.
    #[test]
    fn every_distribution_of_the_catalogue_has_the_mean_its_page_states() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/data");
        let page = include_str!("../../../../scenarios/data/README.md");
        let mut wrong = Vec::new();
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join("cdf")).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let sizes = Sizes::parse(&name, &std::fs::read_to_string(&file).unwrap()).unwrap();
            let row = format!("| `{name}` | {:.0} B |", sizes.mean());
            if !page.contains(&row) {
                wrong.push(row);
            }
        }
        assert!(wrong.is_empty(), "the page lacks\n{}", wrong.join("\n"));
    }
}
