//! Quantities in words: "10Gb/s", "1us", "150kB", "85%", "1/128", "100ms..200ms".
//!
//! A number must fit: what a type cannot hold exactly is an error, never a rounded value.

use quell_proto::units::{Bytes, Duration, Rate};
use std::fmt;

/// A number with its unit, as a file states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Rate(Rate),
    Time(Duration),
    Size(Bytes),
    Share(Ratio),
}

/// What kind of quantity a key wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rate,
    Time,
    Size,
    Share,
}

/// An exact share: 85 % is 85/100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    pub(crate) above: u64,
    pub(crate) below: u64,
}

/// A span of a run; an end that is not stated is that of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Option<Duration>,
    pub(crate) to: Option<Duration>,
}

/// Why a text is not the quantity that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnitError {
    /// It does not begin with a number.
    NotANumber,
    /// A negative number.
    Negative,
    /// A number without a unit.
    Bare { number: String },
    /// A unit nobody knows.
    UnknownUnit { unit: String },
    /// Another kind of quantity than the one wanted.
    WrongKind { found: Kind },
    /// Finer than the smallest unit.
    TooFine { smallest: &'static str },
    /// More than a run can count.
    TooLarge,
    /// A division by zero.
    ZeroBelow,
    /// A window whose end is not after its start.
    Backwards,
    /// No two times with `..` between them.
    NotASpan,
}

impl Quantity {
    /// Reads a quantity of any kind.
    pub(crate) fn parse(text: &str) -> Result<Quantity, UnitError> {
        let text = text.trim();
        if let Some((above, below)) = text.split_once('/')
            && let (Ok(above), Ok(below)) = (above.trim().parse::<u64>(), below.trim().parse::<u64>())
        {
            return if below == 0 {
                Err(UnitError::ZeroBelow)
            } else {
                Ok(Quantity::Share(Ratio { above, below }))
            };
        }
        let (number, unit) = Number::split(text)?;
        if unit.is_empty() {
            return Err(UnitError::Bare { number: text.to_owned() });
        }
        if unit == "%" {
            let below = 100u64.checked_mul(number.below).ok_or(UnitError::TooLarge)?;
            return Ok(Quantity::Share(Ratio { above: number.above, below }));
        }
        let (kind, scale) = UNITS
            .iter()
            .find(|(name, ..)| *name == unit)
            .map(|(_, kind, scale)| (*kind, *scale))
            .ok_or_else(|| UnitError::UnknownUnit { unit: unit.to_owned() })?;
        let value = number.times(scale, kind)?;
        Ok(match kind {
            Kind::Rate => Quantity::Rate(Rate::from_bps(value)),
            Kind::Time => Quantity::Time(Duration::from_ps(value)),
            Kind::Size => Quantity::Size(Bytes::new(value)),
            Kind::Share => unreachable!("no unit of the table is a share"),
        })
    }

    /// Which kind it is.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Quantity::Rate(_) => Kind::Rate,
            Quantity::Time(_) => Kind::Time,
            Quantity::Size(_) => Kind::Size,
            Quantity::Share(_) => Kind::Share,
        }
    }
}

/// Reads a rate such as `10Gb/s`.
pub(crate) fn rate(text: &str) -> Result<Rate, UnitError> {
    match Quantity::parse(text)? {
        Quantity::Rate(rate) => Ok(rate),
        other => Err(UnitError::WrongKind { found: other.kind() }),
    }
}

/// Reads a time such as `15ms`.
pub(crate) fn time(text: &str) -> Result<Duration, UnitError> {
    match Quantity::parse(text)? {
        Quantity::Time(time) => Ok(time),
        other => Err(UnitError::WrongKind { found: other.kind() }),
    }
}

/// Reads a size such as `150kB`.
pub(crate) fn size(text: &str) -> Result<Bytes, UnitError> {
    match Quantity::parse(text)? {
        Quantity::Size(size) => Ok(size),
        other => Err(UnitError::WrongKind { found: other.kind() }),
    }
}

/// Reads a share such as `85%` or `1/128`.
pub(crate) fn share(text: &str) -> Result<Ratio, UnitError> {
    match Quantity::parse(text)? {
        Quantity::Share(share) => Ok(share),
        other => Err(UnitError::WrongKind { found: other.kind() }),
    }
}

/// Reads a window such as `100ms..200ms`; either end may be left out.
pub(crate) fn span(text: &str) -> Result<Span, UnitError> {
    let (from, to) = text.split_once("..").ok_or(UnitError::NotASpan)?;
    let end = |text: &str| if text.trim().is_empty() { Ok(None) } else { time(text).map(Some) };
    let span = Span { from: end(from)?, to: end(to)? };
    match span {
        Span { from: Some(from), to: Some(to) } if from >= to => Err(UnitError::Backwards),
        span => Ok(span),
    }
}

impl Kind {
    /// What a right value looks like, in a sentence.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Kind::Rate => "a rate such as 10Gb/s",
            Kind::Time => "a time such as 15ms",
            Kind::Size => "a size such as 150kB",
            Kind::Share => "a share such as 85% or 1/128",
        }
    }

    /// The unit that most numbers of this kind have.
    fn usual(self) -> &'static str {
        match self {
            Kind::Rate => "Gb/s",
            Kind::Time => "ms",
            Kind::Size => "kB",
            Kind::Share => "%",
        }
    }

    /// All its units, as a hint.
    fn units(self) -> &'static str {
        match self {
            Kind::Rate => "b/s, kb/s, Mb/s, Gb/s or Tb/s",
            Kind::Time => "ps, ns, us, ms or s",
            Kind::Size => "B, kB (1000), KiB (1024), MB, MiB, GB or GiB",
            Kind::Share => "%",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Rate => "a rate",
            Kind::Time => "a time",
            Kind::Size => "a size",
            Kind::Share => "a share",
        })
    }
}

impl UnitError {
    /// The sentence after "`key` is `text`: ", and a hint.
    pub(crate) fn explain(&self, wanted: Kind) -> (String, Option<String>) {
        let example = wanted.example();
        let message = match self {
            UnitError::NotANumber => format!("expected {example}"),
            UnitError::Negative => format!("expected {example}, found a negative number"),
            UnitError::Bare { .. } => format!("expected {example}, found a number without a unit"),
            UnitError::UnknownUnit { unit } => format!("expected {example}, found the unknown unit `{unit}`"),
            UnitError::WrongKind { found } => format!("expected {example}, found {found}"),
            UnitError::TooFine { smallest } => format!("finer than {smallest}, the smallest step there is"),
            UnitError::TooLarge => "too large to be counted".to_owned(),
            UnitError::ZeroBelow => "a division by zero".to_owned(),
            UnitError::Backwards => "the window ends before it begins".to_owned(),
            UnitError::NotASpan => "expected a window such as 100ms..200ms".to_owned(),
        };
        let hint = match self {
            UnitError::Bare { number } if wanted == Kind::Share => {
                Some(format!("write \"{number}%\", or a fraction such as \"1/128\""))
            }
            UnitError::Bare { number } => {
                let usual = wanted.usual();
                Some(format!("say of what, such as \"{number}{usual}\": {}", wanted.units()))
            }
            UnitError::UnknownUnit { unit } => Some(meant(unit, wanted)),
            _ => None,
        };
        (message, hint)
    }
}

/// What may have been meant by a unit that is not one.
fn meant(unit: &str, wanted: Kind) -> String {
    let folded = unit.to_lowercase();
    let rate = folded.replace("bit/s", "b/s").replace("bps", "b/s");
    if unit == "KB" {
        return "write kB for 1000 octets or KiB for 1024".to_owned();
    }
    if unit.ends_with("B/s") {
        return format!("rates are in bits: {}", Kind::Rate.units());
    }
    let known = UNITS.iter().filter(|(_, kind, _)| *kind == wanted).map(|(name, ..)| *name);
    let spelled = [rate, format!("{folded}/s"), folded];
    match known.into_iter().find(|name| spelled.contains(&name.to_lowercase())) {
        Some(name) => format!("write {name}"),
        None => format!("the units of {} are {}", &wanted.to_string()[2..], wanted.units()),
    }
}

const UNITS: [(&str, Kind, u64); 19] = [
    ("ps", Kind::Time, 1),
    ("ns", Kind::Time, 1_000),
    ("us", Kind::Time, 1_000_000),
    ("µs", Kind::Time, 1_000_000), // micro sign
    ("μs", Kind::Time, 1_000_000), // Greek letter mu
    ("ms", Kind::Time, 1_000_000_000),
    ("s", Kind::Time, 1_000_000_000_000),
    ("b/s", Kind::Rate, 1),
    ("kb/s", Kind::Rate, 1_000),
    ("Mb/s", Kind::Rate, 1_000_000),
    ("Gb/s", Kind::Rate, 1_000_000_000),
    ("Tb/s", Kind::Rate, 1_000_000_000_000),
    ("B", Kind::Size, 1),
    ("kB", Kind::Size, 1_000),
    ("MB", Kind::Size, 1_000_000),
    ("GB", Kind::Size, 1_000_000_000),
    ("KiB", Kind::Size, 1 << 10),
    ("MiB", Kind::Size, 1 << 20),
    ("GiB", Kind::Size, 1 << 30),
];

/// A decimal number, exactly: 2.5 is 25/10.
struct Number {
    above: u64,
    below: u64,
}

impl Number {
    /// Takes the number off the front of a text; what is left is the unit.
    fn split(text: &str) -> Result<(Number, &str), UnitError> {
        if let Some(rest) = text.strip_prefix('-')
            && rest.starts_with(|letter: char| letter.is_ascii_digit())
        {
            return Err(UnitError::Negative);
        }
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() || part.contains('.') || (digits.contains('.') && part.is_empty()) {
            return Err(UnitError::NotANumber);
        }
        let part = part.trim_end_matches('0');
        let above = format!("{whole}{part}").parse().map_err(|_| UnitError::TooLarge)?;
        let places = u32::try_from(part.len()).map_err(|_| UnitError::TooLarge)?;
        let below = 10u64.checked_pow(places).ok_or(UnitError::TooLarge)?;
        Ok((Number { above, below }, unit.trim_start()))
    }

    fn times(&self, scale: u64, kind: Kind) -> Result<u64, UnitError> {
        let value = u128::from(self.above) * u128::from(scale);
        let below = u128::from(self.below);
        if !value.is_multiple_of(below) {
            let smallest = match kind {
                Kind::Rate => "1b/s",
                Kind::Time => "1ps",
                Kind::Size | Kind::Share => "1B",
            };
            return Err(UnitError::TooFine { smallest });
        }
        // A quarter of the range, so that sums of a few of them cannot overflow either.
        let value = u64::try_from(value / below).map_err(|_| UnitError::TooLarge)?;
        if value > u64::MAX / 4 { Err(UnitError::TooLarge) } else { Ok(value) }
    }
}

impl Ratio {
    /// The share in millionths, if it is a whole number of them.
    pub(crate) fn millionths(self) -> Option<u64> {
        let above = u128::from(self.above) * 1_000_000;
        let below = u128::from(self.below);
        above.is_multiple_of(below).then(|| u64::try_from(above / below).ok())?
    }

    /// The share in whole percent, if it is a whole number of them.
    pub(crate) fn percent(self) -> Option<u64> {
        let above = u128::from(self.above) * 100;
        let below = u128::from(self.below);
        above.is_multiple_of(below).then(|| u64::try_from(above / below).ok())?
    }

    /// The power of two that it is: 1/128 is -7.
    pub(crate) fn log2(self) -> Option<i32> {
        let common = gcd(self.above, self.below);
        let (above, below) = (self.above / common.max(1), self.below / common.max(1));
        let exponent = |value: u64| i32::try_from(value.trailing_zeros()).ok();
        match (above, below) {
            (above, 1) if above.is_power_of_two() => exponent(above),
            (1, below) if below.is_power_of_two() => exponent(below).map(|log2| -log2),
            _ => None,
        }
    }

    /// As a number, for claims.
    #[expect(clippy::cast_precision_loss, reason = "claims are judged in floats; shares have few digits")]
    pub(crate) fn number(self) -> f64 {
        self.above as f64 / self.below as f64
    }

    /// In lowest terms.
    pub(crate) fn reduced(self) -> Ratio {
        let common = gcd(self.above, self.below).max(1);
        Ratio { above: self.above / common, below: self.below / common }
    }
}

impl fmt::Display for Ratio {
    /// As a percentage where that is short, else as a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio { above, below } = self.reduced();
        match (self.percent(), self.millionths()) {
            (Some(percent), _) => write!(f, "{percent}%"),
            (None, Some(millionths)) if below <= 1000 && !below.is_power_of_two() => {
                let text = format!("{}.{:04}", millionths / 10_000, millionths % 10_000);
                write!(f, "{}%", text.trim_end_matches('0'))
            }
            _ => write!(f, "{above}/{below}"),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(from) = self.from {
            from.fmt(f)?;
        }
        f.write_str("..")?;
        self.to.map_or(Ok(()), |to| to.fmt(f))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_reads_to_its_size() {
        assert_eq!(rate("10Gb/s"), Ok(Rate::from_gbps(10)));
        assert_eq!(rate("2.5 Gb/s"), Ok(Rate::from_mbps(2500)));
        assert_eq!(rate("1.6Tb/s"), Ok(Rate::from_gbps(1600)));
        assert_eq!(time("1us"), Ok(Duration::from_us(1)));
        assert_eq!(time("1µs"), time("1μs"));
        assert_eq!(time("0.5ns"), Ok(Duration::from_ps(500)));
        assert_eq!(size("150kB"), Ok(Bytes::new(150_000)));
        assert_eq!(size("150KiB"), Ok(Bytes::new(153_600)));
        assert_eq!(share("85%"), Ok(Ratio { above: 85, below: 100 }));
        assert_eq!(share("12.5%").map(Ratio::number), Ok(0.125));
        assert_eq!(share("1/128").map(Ratio::log2), Ok(Some(-7)));
    }

    #[test]
    fn a_window_has_two_ends_in_order_or_those_of_the_run() {
        let ms = |ms| Some(Duration::from_ms(ms));
        assert_eq!(span("100ms..200ms"), Ok(Span { from: ms(100), to: ms(200) }));
        assert_eq!(span("100ms.."), Ok(Span { from: ms(100), to: None }));
        assert_eq!(span("200ms..100ms"), Err(UnitError::Backwards));
        assert_eq!(span("200ms"), Err(UnitError::NotASpan));
        assert_eq!(span("2..3"), Err(UnitError::Bare { number: "2".to_owned() }));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_not_rounded() {
        assert_eq!(time("0.5ps"), Err(UnitError::TooFine { smallest: "1ps" }));
        assert_eq!(size("1.5B"), Err(UnitError::TooFine { smallest: "1B" }));
        assert_eq!(time("300days"), Err(UnitError::UnknownUnit { unit: "days".to_owned() }));
        assert_eq!(time("99999999s"), Err(UnitError::TooLarge));
        assert_eq!(time("99999999999999999999s"), Err(UnitError::TooLarge));
        assert_eq!(rate("-1Gb/s"), Err(UnitError::Negative));
        assert_eq!(share("1/0"), Err(UnitError::ZeroBelow));
        assert_eq!(rate(""), Err(UnitError::NotANumber));
        assert_eq!(rate("fast"), Err(UnitError::NotANumber));
        assert_eq!(rate("1.Gb/s"), Err(UnitError::NotANumber));
        assert_eq!(rate("1..2Gb/s"), Err(UnitError::NotANumber));
    }

    #[test]
    fn a_wrong_unit_is_told_what_would_be_right() {
        let hint = |text, kind: Kind| Quantity::parse(text).unwrap_err().explain(kind).1.unwrap();
        assert_eq!(hint("150KB", Kind::Size), "write kB for 1000 octets or KiB for 1024");
        assert_eq!(hint("10Gbps", Kind::Rate), "write Gb/s");
        assert_eq!(hint("10Gbit/s", Kind::Rate), "write Gb/s");
        assert_eq!(hint("10GB/s", Kind::Rate), "rates are in bits: b/s, kb/s, Mb/s, Gb/s or Tb/s");
        assert_eq!(hint("15", Kind::Time), "say of what, such as \"15ms\": ps, ns, us, ms or s");
        assert_eq!(hint("85", Kind::Share), "write \"85%\", or a fraction such as \"1/128\"");
        let found = rate("150kB").unwrap_err().explain(Kind::Rate).0;
        assert_eq!(found, "expected a rate such as 10Gb/s, found a size");
    }

    #[test]
    fn shares_print_as_people_write_them() {
        let text = |text| share(text).unwrap().to_string();
        assert_eq!(text("85%"), "85%");
        assert_eq!(text("12.5%"), "1/8");
        assert_eq!(text("99.5%"), "99.5%");
        assert_eq!(text("1/128"), "1/128");
        assert_eq!(text("1/2"), "50%");
        assert_eq!(text("1/3"), "1/3");
    }
}
