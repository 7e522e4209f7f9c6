//! Reads the `[scheme]` of kinds that do not build on QCN.

use super::plan::{E2cm, Ecm, IbCc, Messages, Qcn2007, QcnProbe, Scheme};
use super::plan_nodes::{share, unless};
use super::section::Section;
use quell_proto::control::drift::Drift;
use quell_proto::control::{e2cm, ecm, ib_cc, qcn_probe, qcn2007};
use quell_proto::units::Rate;

/// What a reaction point holds for its port until it is told.
const LINE: Rate = Rate::from_gbps(10);

pub(super) fn ecm(section: &Section) -> Option<Scheme> {
    let (congestion, reaction) = ecm_parts(section)?;
    let reaction = ecm::ReactionConfig { drift: drift(section)?, ..reaction };
    Some(Scheme::Ecm(Ecm { congestion, reaction, messages: messages(section)? }))
}

pub(super) fn e2cm(section: &Section) -> Option<Scheme> {
    let (congestion, ecm) = ecm_parts(section)?;
    let flow = ecm::Scale { set_point: section.size("flow_set_point")?, weight: congestion.scale.weight };
    let reaction = e2cm::ReactionConfig {
        ecm,
        flow,
        probe_period: section.time("probe_period")?,
        idle_way: match section.text("idle_way") {
            // Until the network is known: see `plan_checks::idle_way`.
            Some(_) => e2cm::ReactionConfig::default().idle_way,
            None => section.time("idle_way")?,
        },
    };
    Some(Scheme::E2cm(E2cm { congestion, reaction, messages: messages(section)? }))
}

/// What ECM and E2CM share; without a drift.
fn ecm_parts(section: &Section) -> Option<(ecm::CongestionConfig, ecm::ReactionConfig)> {
    let weight = u16::try_from(section.count("weight")?).ok()?;
    let scale = ecm::Scale { set_point: section.size("set_point")?, weight };
    let congestion = ecm::CongestionConfig {
        scale,
        sampling: share(section, "sampling")?,
        max_above: unless(section, "max_above", "none")?,
        stop_above: unless(section, "stop_above", "none")?,
    };
    let reaction = ecm::ReactionConfig {
        max_rate: LINE,
        min_rate: section.rate("min_rate")?,
        scale,
        cut: share(section, "cut")?,
        raise: share(section, "raise")?,
        longest_stop: section.time("longest_stop")?,
        drift: None,
    };
    Some((congestion, reaction))
}

pub(super) fn qcn2007(section: &Section) -> Option<Scheme> {
    Some(Scheme::Qcn2007(Qcn2007 {
        congestion: qcn2007_points(section)?,
        reaction: qcn2007::ReactionConfig {
            max_rate: LINE,
            min_rate: section.rate("min_rate")?,
            gd_log2: (-section.log2("gd")?) as u8,
            byte_reset: section.size("byte_reset")?,
            extra_fast_recovery: section.flag("extra_fast_recovery")?,
            threshold: u32::try_from(section.count("threshold")?).ok()?,
            ai_rate: section.rate("ai_rate")?,
            hai_rate: section.rate("hai_rate"),
            drift: drift(section)?,
        },
        messages: messages(section)?,
    }))
}

pub(super) fn qcn_probe(section: &Section) -> Option<Scheme> {
    let congestion = qcn2007_points(section)?;
    // Probes have whole weights; one below one counts growth not at all.
    let weight = 1u16.checked_shl(u32::try_from(congestion.weight_log2).unwrap_or(u32::MAX)).unwrap_or(0);
    Some(Scheme::QcnProbe(QcnProbe {
        congestion,
        reaction: qcn_probe::ReactionConfig {
            max_rate: LINE,
            min_rate: section.rate("min_rate")?,
            gd_log2: (-section.log2("gd")?) as u8,
            scale: ecm::Scale { set_point: congestion.set_point, weight },
            raise: share(section, "raise")?,
            probe_period: section.time("probe_period")?,
        },
        messages: messages(section)?,
    }))
}

fn qcn2007_points(section: &Section) -> Option<qcn2007::CongestionConfig> {
    Some(qcn2007::CongestionConfig {
        set_point: section.size("set_point")?,
        weight_log2: section.log2("weight")? as i8,
        least_sampling: share(section, "least_sampling")?,
        most_sampling: share(section, "most_sampling")?,
    })
}

pub(super) fn ib_cc(section: &Section) -> Option<Scheme> {
    let octet = |name| section.count(name).and_then(|count| u8::try_from(count).ok());
    Some(Scheme::IbCc(IbCc {
        marker: ib_cc::MarkerConfig {
            threshold: section.size("threshold")?,
            marking_rate: u16::try_from(section.count("marking_rate")?).ok()?,
            smallest: section.size("smallest")?,
            marks_victims: section.flag("marks_victims")?,
        },
        reaction: ib_cc::ReactionConfig {
            max_rate: LINE,
            table: ib_cc::Table {
                limit: u8::try_from(section.count("table")? - 1).ok()?,
                most: u16::try_from(section.count("most_delay")?).ok()?,
            },
            increase: octet("increase")?,
            least: octet("least")?,
            timer: section.time("timer")?,
        },
        messages: messages(section)?,
    }))
}

fn messages(section: &Section) -> Option<Messages> {
    Some(Messages { priority: section.priority("cnm_priority")?, frame: section.size("cnm_frame")? })
}

/// The drift, or `None` inside where there is none.
#[expect(clippy::option_option, reason = "the outer is a problem already reported, the inner is no drift")]
fn drift(section: &Section) -> Option<Option<Drift>> {
    if section.text("drift").is_some() {
        return Some(None);
    }
    Some(Some(Drift { gain: share(section, "drift")?, period: section.time("drift_period")? }))
}
