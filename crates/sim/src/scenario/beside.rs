//! What somebody else measured of flows, to be drawn beside ours.

use super::problem::Problem;
use quell_record::claim::{Beside, SIZE_CLASSES, SLOWDOWN_QUANTILES};

const HINT: &str = "a heading names the columns `bytes`, `fct_ns` and `standalone_ns`; a line is a flow";

/// The largest slowdown that is taken for one.
const MOST: f64 = 1e12;

/// Reads a table of flow completion times, and reduces it to slowdowns by size. A slowdown is never below one.
pub(super) fn parse(name: &str, file: &str, text: &str) -> Result<Beside, Problem> {
    let problem = |line: Option<u32>, message: String| Problem {
        file: file.to_owned(),
        line,
        message,
        hint: Some(HINT.to_owned()),
    };
    let mut lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (number, heading) = lines.next().ok_or_else(|| problem(None, "there is nothing in it".to_owned()))?;
    let column = |name: &str| {
        let place = heading.split(',').position(|it| it.trim() == name);
        place.ok_or_else(|| problem(Some(number), format!("the heading has no column `{name}`")))
    };
    let columns = [column("bytes")?, column("fct_ns")?, column("standalone_ns")?];
    let mut classes: [Vec<f64>; SIZE_CLASSES.len()] = Default::default();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let read =
            |place: usize| fields.get(place).and_then(|it| it.parse::<f64>().ok()).filter(|it| *it > 0.0);
        let [Some(bytes), Some(took), Some(alone)] = columns.map(read) else {
            return Err(problem(
                Some(number),
                format!("`{line}` has no three numbers above zero in these columns"),
            ));
        };
        if !(bytes.is_finite() && took / alone <= MOST) {
            return Err(problem(
                Some(number),
                format!("`{line}` is a slowdown of more than {MOST:e}, or of no end"),
            ));
        }
        #[expect(clippy::cast_precision_loss, reason = "a class of sizes needs no more than 53 bits")]
        let class = SIZE_CLASSES.iter().position(|(_, below)| bytes < *below as f64);
        classes[class.unwrap_or(SIZE_CLASSES.len() - 1)].push((took / alone).max(1.0));
    }
    let mut bars = Vec::new();
    for ((class, _), mut slowdowns) in SIZE_CLASSES.into_iter().zip(classes) {
        slowdowns.sort_by(f64::total_cmp);
        for (quantile, q, _) in SLOWDOWN_QUANTILES {
            if let Some(last) = slowdowns.len().checked_sub(1) {
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rank, and a value in thousandths for a figure"
                )]
                let value = (slowdowns[(q * last as f64).round() as usize] * 1e3).round() as u64;
                bars.push((format!("{class}, {quantile}"), value));
            }
        }
    }
    Ok(Beside { name: name.to_owned(), bars })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_become_quantiles_by_size() {
        let text = "# ours\nbytes,fct_ns,standalone_ns\n500,20,10\n600,5,10\n700,40,10\n2000,30,10\n";
        let beside = parse("theirs", "a.csv", text).unwrap();
        let bars: Vec<(&str, u64)> =
            beside.bars.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let small = [("< 1 kB, p50", 2000), ("< 1 kB, p95", 4000), ("< 1 kB, p99", 4000)];
        let larger = [("1-10 kB, p50", 3000), ("1-10 kB, p95", 3000), ("1-10 kB, p99", 3000)];
        assert_eq!(bars, [small, larger].concat());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &str| parse("theirs", "a.csv", text).unwrap_err();
        assert_eq!(said("").message, "there is nothing in it");
        assert_eq!(said("bytes,fct_ns\n").message, "the heading has no column `standalone_ns`");
        let problem = said("bytes,fct_ns,standalone_ns\n1,2,0\n");
        assert_eq!((problem.line, problem.message.contains("`1,2,0`")), (Some(2), true));
        for line in ["1,inf,1", "inf,1,1", "1,inf,inf", "1,1e300,1e-300", "1,NaN,1"] {
            let problem = said(&format!("bytes,fct_ns,standalone_ns\n1,2,2\n{line}\n"));
            assert_eq!((problem.line, problem.message.contains(line)), (Some(3), true), "{line}");
        }
    }

    #[test]
    fn the_claims_of_the_cross_check_are_the_quantiles_of_its_data() {
        let data = include_str!("../../../../scenarios/data/hpcc/w4_fbhdp.fct.csv");
        let scenario = include_str!("../../../../scenarios/isolation/hpcc-crosscheck.toml");
        let stated = scenario.lines().filter_map(|line| line.strip_prefix("near = ")?.parse::<f64>().ok());
        let stated: Vec<f64> = stated.collect();
        for (name, value) in parse("theirs", "fct.csv", data).unwrap().bars {
            let value = f64::from(u32::try_from(value).unwrap()) / 1e3;
            assert!(stated.iter().any(|near| (near - value).abs() < 0.01), "{name}: {value}");
        }
    }
}
