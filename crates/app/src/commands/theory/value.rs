//! Values of parameters as people write them, in the unit that a parameter has.

use crate::exit::Failure;
use quell_record::near::closest;
use quell_report::{Unit, theory};
use quell_sim::scenario;
use quell_theory::Parameter;
use quell_theory::map::Range;

/// How many steps a range has unless it says so.
const STEPS: usize = 48;
/// More no screen shows, and the map takes long.
const MOST_STEPS: usize = 400;

/// The parameter of this name.
pub(super) fn parameter(name: &str) -> Result<Parameter, Failure> {
    Parameter::named(name).ok_or_else(|| {
        let names = Parameter::ALL.map(Parameter::name);
        let near = closest(name, names);
        let failure = Failure::invalid(format!("there is no parameter `{name}`"));
        match near.first() {
            Some(near) => failure.hint(format!("is it `{near}`?")),
            None => failure.hint(format!("there are {}", names.join(", "))),
        }
    })
}

/// A value in base units.
pub(super) fn value(of: Parameter, text: &str) -> Result<f64, Failure> {
    let read = match theory::parameter(of).1 {
        Unit::BitsPerSecond => scenario::rate(text).map(|it| it.bps() as f64),
        Unit::Seconds => scenario::time(text).map(seconds),
        Unit::Bytes => scenario::size(text).map(|it| it.get() as f64),
        Unit::Fraction => scenario::share(text),
        Unit::Count | Unit::Plain => match text.trim().parse::<f64>() {
            Ok(number) => Ok(number),
            Err(_) => scenario::share(text),
        },
    };
    read.map_err(|wrong| refused(of.name(), text, wrong))
}

/// A time in seconds.
pub(super) fn time(what: &str, text: &str) -> Result<f64, Failure> {
    scenario::time(text).map(seconds).map_err(|wrong| refused(what, text, wrong))
}

fn seconds(time: quell_proto::units::Duration) -> f64 {
    time.ps() as f64 / 1e12
}

fn refused(what: &str, text: &str, (message, hint): scenario::Wrong) -> Failure {
    let failure = Failure::invalid(format!("{what} is `{text}`: {message}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A parameter and its range, such as `delay` and `20us..1ms:60`. A range of a factor of eight or more goes by factors.
pub(super) fn range((name, text): &(String, String)) -> Result<Range, Failure> {
    let parameter = parameter(name)?;
    let (ends, count) = match text.rsplit_once(':') {
        Some((ends, count)) => (ends, count.trim().parse::<usize>().ok()),
        None => (text.as_str(), Some(STEPS)),
    };
    let count = count.filter(|it| (2..=MOST_STEPS).contains(it)).ok_or_else(|| {
        Failure::invalid(format!("{name}={text}: what stands after the colon is no number of steps"))
            .hint(format!("write 2 to {MOST_STEPS}, as in 20us..1ms:60"))
    })?;
    let (from, to) = ends.split_once("..").ok_or_else(|| {
        Failure::invalid(format!("{name}={text}: that is no range"))
            .hint("write it as FROM..TO, such as 20us..1ms")
    })?;
    let (from, to) = (value(parameter, from)?, value(parameter, to)?);
    if from >= to {
        return Err(Failure::invalid(format!("{name}={text}: a range must end above its start"))
            .hint("write the smaller value first"));
    }
    Ok(Range { parameter, from, to, count, is_log: from > 0.0 && to >= from * 8.0 })
}
