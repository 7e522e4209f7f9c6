//! Which model is meant: by flags, or as a scenario has it.

use super::value::{parameter, value};
use crate::cli::ScenarioArgs;
use crate::cli_theory::{DetailName, ModelArgs, ModelName};
use crate::commands::recorded::near;
use crate::exit::Failure;
use crate::fluid::Fluid;
use crate::out;
use crate::source;
use clap::ValueEnum;
use quell_proto::control::ecm;
use quell_proto::control::qcn::Profile;
use quell_proto::units::Rate;
use quell_report::theory;
use quell_sim::scenario::Configuration;
use quell_theory::model::Detail;
use quell_theory::{Dcqcn, Ecm, Model, Parameter, Path, Qcn};
use serde_json::{Value, json};

/// A model, and the scenario's port it stands for, if it does.
pub(super) struct Chosen {
    pub(super) model: Model,
    pub(super) fluid: Option<Fluid>,
}

impl Chosen {
    pub(super) fn of(args: &ModelArgs) -> Result<Chosen, Failure> {
        let (mut model, fluid) = match &args.scenario {
            Some(scenario) => {
                let fluid = of_scenario(args, scenario)?;
                (fluid.model, Some(fluid))
            }
            None => (standard(args.model.unwrap_or(ModelName::Qcn)), None),
        };
        if let (Model::Qcn(qcn), Some(detail)) = (&mut model, args.detail) {
            qcn.detail = match detail {
                DetailName::Plain => Detail::Plain,
                DetailName::Mechanism => Detail::Mechanism,
            };
        }
        let flows = args.flows.map(|it| it.to_string());
        let named = [
            (Parameter::Flows, flows.as_ref()),
            (Parameter::Capacity, args.rate.as_ref()),
            (Parameter::Delay, args.delay.as_ref()),
        ];
        for (parameter, text) in named {
            if let Some(text) = text {
                model = parameter.set(&model, value(parameter, text)?)?;
            }
        }
        for (name, text) in &args.with {
            let parameter = parameter(name)?;
            model = parameter.set(&model, value(parameter, text)?)?;
        }
        model.check()?;
        let fluid = fluid.map(|it| Fluid { model, ..it });
        Ok(Chosen { model, fluid })
    }

    /// What it is, in a line.
    pub(super) fn heading(&self) -> String {
        let words = theory::in_words(&self.model);
        match &self.fluid {
            Some(fluid) => format!("{words} (port {})", fluid.port),
            None => words,
        }
    }

    /// Its parameters, for a document.
    pub(super) fn document(&self) -> Value {
        let values = Parameter::ALL.into_iter().filter_map(|it| Some((it.name(), it.value(&self.model)?)));
        let parameters: serde_json::Map<String, Value> =
            values.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        json!({
            "model": self.model.name(),
            "port": self.fluid.as_ref().map(|it| &it.port),
            "parameters": parameters,
        })
    }
}

/// A model with the numbers it is known by: ten flows, a loop of 100 us.
fn standard(name: ModelName) -> Model {
    let gbps = if name == ModelName::Dcqcn { 40 } else { 10 };
    let rate = gbps as f64 * 1e9;
    let path = Path { flows: 10, capacity: rate, line: rate, delay: 100e-6, frame: 1500.0 };
    match name {
        ModelName::Qcn => {
            let (congestion, reaction) =
                (Profile::PseudoCode.congestion(), Profile::PseudoCode.reaction(Rate::from_gbps(gbps)));
            Model::Qcn(Qcn::of(path, &congestion, &reaction))
        }
        ModelName::Ecm => {
            Model::Ecm(Ecm::of(path, &ecm::CongestionConfig::default(), &ecm::ReactionConfig::default()))
        }
        ModelName::Dcqcn => Model::Dcqcn(Dcqcn::published(Path { frame: 1000.0, ..path })),
    }
}

fn of_scenario(args: &ModelArgs, scenario: &str) -> Result<Fluid, Failure> {
    let is_model = ModelName::from_str(scenario, true).is_ok();
    let loaded = source::load(&ScenarioArgs::plain(scenario)).map_err(|failure| {
        if is_model { failure.hint(format!("for the model, say `--model {scenario}`")) } else { failure }
    })?;
    let all = &loaded.scenario.configurations;
    let port = args.port.as_deref();
    let of = |it: &Configuration| Fluid::of(&it.plan, port);
    let Some(name) = &args.configuration else {
        return first_with_a_model(scenario, all, &of);
    };
    let Some(configuration) = all.iter().find(|it| it.name == *name) else {
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        let message = format!("{scenario}: there is no configuration `{name}`");
        return Err(Failure::invalid(message).hint(near(name, &names)));
    };
    of(configuration).map_err(|reason| {
        Failure::invalid(format!("{scenario}: {name} has no fluid model: {reason}"))
            .hint("`docs/theory.md` says what the models can stand for")
    })
}

/// The first configuration with a model, or every reason why none has one.
fn first_with_a_model(
    scenario: &str,
    all: &[Configuration],
    of: &dyn Fn(&Configuration) -> Result<Fluid, String>,
) -> Result<Fluid, Failure> {
    let mut reasons: Vec<(&str, String)> = Vec::new();
    for configuration in all {
        match of(configuration) {
            Ok(fluid) => {
                if all.len() > 1 {
                    out::note(&format!("configuration {}; `--config` chooses another", configuration.name));
                }
                return Ok(fluid);
            }
            Err(why) if reasons.iter().any(|(_, known)| *known == why) => {}
            Err(why) => reasons.push((&configuration.name, why)),
        }
    }
    let reasons: Vec<String> = reasons.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    let message = format!("{scenario}: no configuration has a fluid model; {}", reasons.join("; "));
    Err(Failure::invalid(message).hint("`docs/theory.md` says what the models can stand for"))
}
