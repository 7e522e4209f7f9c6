//! What implementations agree on, and the parameters of known experiments.

use super::{AlphaRule, Clamp, NotificationConfig, ReactionConfig};
use crate::units::{Bytes, Duration, Rate, Share};

/// A family of senders that differ from the other in rules, not in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The paper's: a notification cuts at once, and octets count beside time.
    Paper,
    /// Network adapters': estimate and cuts run on clocks, and only time counts.
    Nic,
}

impl Profile {
    /// A sender of this family on a port of this rate.
    pub const fn reaction(self, max_rate: Rate) -> ReactionConfig {
        match self {
            // Section 5 and the authors' fluid model: g = 1/256, K = T = 55 us, B = 10 MB, F = 5, R_AI = 40 Mb/s.
            Profile::Paper => ReactionConfig {
                max_rate,
                min_rate: Rate::from_mbps(40),
                gain: Share { num: 1, den: 256 },
                initial_alpha: Share { num: 1, den: 1 },
                alpha_rule: AlphaRule::AfterCut,
                alpha_period: Duration::from_us(55),
                cut_period: Duration::ZERO,
                min_decrease_percent: 50,
                first_rate: None,
                clamp: Clamp::EveryCut,
                time_reset: Duration::from_us(55),
                byte_reset: Some(Bytes::from_kb(10_000)),
                threshold: 5,
                counts_ending_cycle: true,
                ai_rate: Rate::from_mbps(40),
                hai_rate: Rate::from_mbps(400),
                hai_grows: true,
                target_capped: false,
            },
            // The factory settings as NVIDIA's parameter pages list them; the rules as the HPCC simulator has them.
            Profile::Nic => ReactionConfig {
                max_rate,
                min_rate: Rate::from_mbps(1),
                gain: Share { num: 5, den: 1024 },
                initial_alpha: Share { num: 1023, den: 1024 },
                alpha_rule: AlphaRule::EachPeriod,
                alpha_period: Duration::from_us(1),
                cut_period: Duration::from_us(4),
                min_decrease_percent: 50,
                first_rate: None,
                clamp: Clamp::AfterAnyCycle,
                time_reset: Duration::from_us(300),
                byte_reset: None,
                threshold: 1,
                counts_ending_cycle: false,
                ai_rate: Rate::from_mbps(5),
                hai_rate: Rate::from_mbps(50),
                hai_grows: false,
                target_capped: true,
            },
        }
    }
}

/// The parameters of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What scenarios call it.
    pub name: &'static str,
    /// Where the numbers are from.
    pub source: &'static str,
    /// The receivers.
    pub notification: NotificationConfig,
    /// The senders.
    pub reaction: ReactionConfig,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "paper-40G",
        source: "Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015), section 5, with the constants \
                 of its authors' fluid model",
        notification: NotificationConfig { interval: Duration::from_us(50) },
        reaction: Profile::Paper.reaction(Rate::from_gbps(40)),
    },
    Preset {
        name: "nic-100G",
        source: "NVIDIA's DCQCN parameter pages: factory settings",
        notification: NotificationConfig { interval: Duration::from_us(4) },
        reaction: Profile::Nic.reaction(Rate::from_gbps(100)),
    },
    Preset {
        name: "hpcc-100G",
        source: "HPCC: High Precision Congestion Control (SIGCOMM 2019), the simulator's DCQCN settings",
        // There every acknowledgement says whether its frame was marked.
        notification: NotificationConfig { interval: Duration::ZERO },
        reaction: ReactionConfig {
            min_rate: Rate::from_mbps(100),
            gain: Share { num: 1, den: 256 },
            initial_alpha: Share { num: 1, den: 1 },
            ai_rate: Rate::from_mbps(50),
            hai_rate: Rate::from_mbps(100),
            ..Profile::Nic.reaction(Rate::from_gbps(100))
        },
    },
];

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_of_their_own_and_are_found_by_them() {
        for preset in PRESETS {
            let found = super::preset(preset.name).unwrap();
            assert_eq!((found.source, found.reaction), (preset.source, preset.reaction), "{}", preset.name);
        }
        assert!(preset("paper-400G").is_none());
    }
}
