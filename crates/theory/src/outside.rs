//! Why a model has no answer: facts first, a sentence where they are shown.

use std::fmt;

/// Parameters for which a model says nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Outside {
    /// There is nobody to control.
    NoFlows,
    /// A parameter that must lie within bounds does not.
    OutOfRange {
        /// Which, in words.
        what: &'static str,
        /// What it was.
        value: f64,
        /// What would do, in words.
        wanted: &'static str,
    },
    /// The model has no such parameter.
    NoSuchParameter {
        /// Which, in words.
        what: &'static str,
        /// The model's name.
        model: &'static str,
    },
    /// The rates and the queue rest nowhere.
    NoEquilibrium {
        /// The reason, as half a sentence.
        why: String,
    },
    /// The feedback comes from before the time that is looked at.
    DelayBeyondHistory {
        /// Seconds of delay.
        delay: f64,
        /// Seconds that are looked at.
        span: f64,
    },
    /// The time is too long for the step that the model needs.
    TooManySteps {
        /// Steps it would take.
        steps: f64,
        /// Steps there may be.
        most: usize,
    },
    /// A series with too little in it to say anything.
    TooShort {
        /// How many values there are.
        values: usize,
        /// How many are needed.
        needed: usize,
    },
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outside::NoFlows => f.write_str("there are no flows: a model needs at least one"),
            Outside::OutOfRange { what, value, wanted } => {
                write!(f, "{what} is {value}; it must be {wanted}")
            }
            Outside::NoSuchParameter { what, model } => write!(f, "{model} has no {what}"),
            Outside::NoEquilibrium { why } => write!(f, "there is no equilibrium: {why}"),
            Outside::DelayBeyondHistory { delay, span } => write!(
                f,
                "the feedback is {:.1} us late and only {:.1} us are looked at: all of it would come from before",
                delay * 1e6,
                span * 1e6
            ),
            Outside::TooManySteps { steps, most } => {
                write!(f, "this takes {steps:.0} steps, and {most} is the most; look at a shorter time")
            }
            Outside::TooShort { values, needed } => {
                write!(f, "there are {values} values; at least {needed} are needed")
            }
        }
    }
}

impl std::error::Error for Outside {}

/// `value`, if it is a positive number.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, Outside> {
    within(what, value, value > 0.0, "more than zero")
}

/// `value`, if it is a number for which `holds`.
pub(crate) fn within(
    what: &'static str,
    value: f64,
    holds: bool,
    wanted: &'static str,
) -> Result<f64, Outside> {
    if value.is_finite() && holds { Ok(value) } else { Err(Outside::OutOfRange { what, value, wanted }) }
}
