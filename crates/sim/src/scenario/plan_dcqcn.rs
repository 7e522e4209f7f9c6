//! Reads the `[scheme]` of DCQCN and DCTCP.

use super::plan::{Dcqcn, Messages, Scheme};
use super::plan_nodes::{Fill, choice, share, word};
use super::section::Section;
use super::units::Ratio;
use super::value::Origin;
use quell_proto::control::dcqcn::{AlphaRule, Clamp, ReactionConfig, preset};
use quell_proto::control::dctcp;
use quell_proto::units::{Bytes, Share};

/// Reads it, with the rows of what its preset filled in.
pub(super) fn dcqcn(section: &Section, rows: &mut Vec<(String, String, Origin)>) -> Option<Scheme> {
    let preset = preset(section.text("preset")?)?;
    let source = format!("preset {}", preset.name);
    let mut fill = Fill { section, rows, source, readings: None };
    let (mut notification, mut reaction) = (preset.notification, preset.reaction);
    fill.put("cnp_interval", &mut notification.interval, section.time("cnp_interval"), ToString::to_string);
    fill_reaction(&mut reaction, &mut fill);
    let messages =
        Messages { priority: section.priority("cnp_priority")?, frame: section.size("cnp_frame")? };
    let in_acknowledgements = section.text("cnps")? == "in-acks";
    Some(Scheme::Dcqcn(Dcqcn { notification, reaction, messages, in_acknowledgements }))
}

pub(super) fn dctcp(section: &Section) -> Option<Scheme> {
    let segment = section.size("segment")?;
    let segments = |name| Some(Bytes::new(segment.get().saturating_mul(section.count(name)?)));
    Some(Scheme::Dctcp(dctcp::Config {
        gain: share(section, "gain")?,
        initial_alpha: share(section, "initial_alpha")?,
        segment,
        initial_window: segments("initial_window")?,
        min_window: segments("min_window")?,
        max_window: segments("max_window")?,
    }))
}

fn fill_reaction(reaction: &mut ReactionConfig, fill: &mut Fill<'_>) {
    const ALPHA_RULES: [(&str, AlphaRule); 3] = [
        ("after-cut", AlphaRule::AfterCut),
        ("before-cut", AlphaRule::BeforeCut),
        ("each-period", AlphaRule::EachPeriod),
    ];
    const CLAMPS: [(&str, Clamp); 3] = [
        ("every-cut", Clamp::EveryCut),
        ("after-byte-cycle", Clamp::AfterByteCycle),
        ("after-any-cycle", Clamp::AfterAnyCycle),
    ];
    let section = fill.section;
    let part = |it: &Share| Ratio { above: u64::from(it.num), below: u64::from(it.den) }.to_string();
    fill.put("min_rate", &mut reaction.min_rate, section.rate("min_rate"), ToString::to_string);
    fill.put("gain", &mut reaction.gain, share(section, "gain"), part);
    fill.put("initial_alpha", &mut reaction.initial_alpha, share(section, "initial_alpha"), part);
    let rule = choice(section, "alpha_rule", &ALPHA_RULES);
    fill.put("alpha_rule", &mut reaction.alpha_rule, rule, |it| word(it, &ALPHA_RULES));
    fill.put("alpha_period", &mut reaction.alpha_period, section.time("alpha_period"), ToString::to_string);
    fill.put("cut_period", &mut reaction.cut_period, section.time("cut_period"), ToString::to_string);
    let least = section.percent("min_decrease").map(|percent| percent as u8);
    fill.put("min_decrease", &mut reaction.min_decrease_percent, least, |percent| format!("{percent}%"));
    let first = none(section, "first_rate").or_else(|| section.rate("first_rate").map(Some));
    fill.put("first_rate", &mut reaction.first_rate, first, |rate| or_none(rate.as_ref()));
    let clamp = choice(section, "clamp", &CLAMPS);
    fill.put("clamp", &mut reaction.clamp, clamp, |it| word(it, &CLAMPS));
    fill.put("time_reset", &mut reaction.time_reset, section.time("time_reset"), ToString::to_string);
    let bytes = none(section, "byte_reset").or_else(|| section.size("byte_reset").map(Some));
    fill.put("byte_reset", &mut reaction.byte_reset, bytes, |size| or_none(size.as_ref()));
    let threshold = section.count("threshold").and_then(|count| u32::try_from(count).ok());
    fill.put("threshold", &mut reaction.threshold, threshold, ToString::to_string);
    fill.put("ai_rate", &mut reaction.ai_rate, section.rate("ai_rate"), ToString::to_string);
    fill.put("hai_rate", &mut reaction.hai_rate, section.rate("hai_rate"), ToString::to_string);
    let mut flag = |name, field: &mut bool| fill.put(name, field, section.flag(name), ToString::to_string);
    flag("counts_ending_cycle", &mut reaction.counts_ending_cycle);
    flag("hai_grows", &mut reaction.hai_grows);
    flag("target_capped", &mut reaction.target_capped);
}

/// Whether the word for nothing is stated.
#[expect(clippy::option_option, reason = "the outer is what was stated, the inner that it is nothing")]
fn none<T>(section: &Section, name: &'static str) -> Option<Option<T>> {
    (section.text(name) == Some("none")).then_some(None)
}

fn or_none(value: Option<&impl ToString>) -> String {
    value.map_or("none".to_owned(), ToString::to_string)
}
