//! The parameters a model can be varied in, by name.

use super::Model;
use crate::outside::Outside;

/// A parameter that several models have, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Number of flows.
    Flows,
    /// Seconds of delay of the loop.
    Delay,
    /// Bits per second of the queue's service; what goes with the rate of ports follows.
    Capacity,
    /// Octets at which the queue is to rest.
    SetPoint,
    /// Weight of the queue's growth.
    Weight,
    /// The cut that the largest feedback makes, as a fraction.
    Cut,
    /// Octets between samples.
    Sample,
    /// Bits per second of an active increase, or of the largest.
    Increase,
    /// Octets of a byte cycle.
    ByteReset,
    /// Octets above which DCQCN marks everything.
    MarkAll,
    /// Largest probability of a mark below that.
    MarkMost,
    /// Weight of a notification in DCQCN's alpha.
    AlphaGain,
}

impl Parameter {
    /// Every parameter.
    pub const ALL: [Parameter; 12] = [
        Parameter::Flows,
        Parameter::Delay,
        Parameter::Capacity,
        Parameter::SetPoint,
        Parameter::Weight,
        Parameter::Cut,
        Parameter::Sample,
        Parameter::Increase,
        Parameter::ByteReset,
        Parameter::MarkAll,
        Parameter::MarkMost,
        Parameter::AlphaGain,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Flows => "flows",
            Parameter::Delay => "delay",
            Parameter::Capacity => "rate",
            Parameter::SetPoint => "set-point",
            Parameter::Weight => "weight",
            Parameter::Cut => "cut",
            Parameter::Sample => "sample",
            Parameter::Increase => "increase",
            Parameter::ByteReset => "byte-reset",
            Parameter::MarkAll => "k-max",
            Parameter::MarkMost => "p-max",
            Parameter::AlphaGain => "g",
        }
    }

    /// The parameter of this name.
    pub fn named(name: &str) -> Option<Parameter> {
        Parameter::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Whether a model has it.
    pub fn is_of(self, model: &Model) -> bool {
        let mut model = *model;
        self.place(&mut model).is_some()
            || matches!(self, Parameter::Flows | Parameter::Delay | Parameter::Capacity)
    }

    /// Its value in a model.
    pub fn value(self, model: &Model) -> Option<f64> {
        let path = model.path();
        match self {
            Parameter::Flows => Some(f64::from(path.flows)),
            Parameter::Delay => Some(path.delay),
            Parameter::Capacity => Some(path.capacity),
            _ => self.place(&mut model.clone()).map(|it| *it),
        }
    }

    /// The model with this parameter set.
    pub fn set(self, model: &Model, value: f64) -> Result<Model, Outside> {
        let mut model = *model;
        let mut path = *model.path();
        match self {
            Parameter::Flows => path.flows = value.round().clamp(0.0, f64::from(u32::MAX)) as u32,
            Parameter::Delay => path.delay = value,
            Parameter::Capacity => {
                let factor = value / path.capacity;
                (path.capacity, path.line) = (value, path.line * factor);
                // A share of the port's rate, in octets.
                if let Model::Ecm(ecm) = &mut model {
                    ecm.largest_increase *= factor;
                }
            }
            _ => {
                let missing = Outside::NoSuchParameter { what: self.name(), model: model.name() };
                *self.place(&mut model).ok_or(missing)? = value;
            }
        }
        let model = model.with_path(path);
        model.check()?;
        Ok(model)
    }

    /// Where a model keeps it.
    fn place(self, model: &mut Model) -> Option<&mut f64> {
        match (self, model) {
            (Parameter::SetPoint, Model::Qcn(it)) => Some(&mut it.set_point),
            (Parameter::SetPoint, Model::Ecm(it)) => Some(&mut it.set_point),
            (Parameter::Weight, Model::Qcn(it)) => Some(&mut it.weight),
            (Parameter::Weight, Model::Ecm(it)) => Some(&mut it.weight),
            (Parameter::Cut, Model::Qcn(it)) => Some(&mut it.largest_cut),
            (Parameter::Cut, Model::Ecm(it)) => Some(&mut it.largest_cut),
            (Parameter::Sample, Model::Qcn(it)) => Some(&mut it.sample_base),
            (Parameter::Sample, Model::Ecm(it)) => Some(&mut it.sample_base),
            (Parameter::Increase, Model::Qcn(it)) => Some(&mut it.increase),
            (Parameter::Increase, Model::Ecm(it)) => Some(&mut it.largest_increase),
            (Parameter::Increase, Model::Dcqcn(it)) => Some(&mut it.increase),
            (Parameter::ByteReset, Model::Qcn(it)) => Some(&mut it.byte_reset),
            (Parameter::ByteReset, Model::Dcqcn(it)) => Some(&mut it.byte_reset),
            (Parameter::MarkAll, Model::Dcqcn(it)) => Some(&mut it.mark_all),
            (Parameter::MarkMost, Model::Dcqcn(it)) => Some(&mut it.mark_most),
            (Parameter::AlphaGain, Model::Dcqcn(it)) => Some(&mut it.alpha_gain),
            _ => None,
        }
    }
}
