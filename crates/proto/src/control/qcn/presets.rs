//! Parameter sets: the two readings of QCN, and what known experiments ran with.

use super::{CongestionConfig, Culprit, Quantiser, ReactionConfig};
use crate::units::{Bytes, Duration, Rate};

/// A reading of QCN. Where the sources differ, each difference is a field of its own in the parameters; a
/// profile sets all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The state machines and managed-object defaults of IEEE 802.1Qau.
    Standard,
    /// The pseudo-code, versions 2.2 and 2.3, and "QCN: Description and Benchmark Simulations".
    PseudoCode,
}

impl Profile {
    /// Its congestion point.
    pub const fn congestion(self) -> CongestionConfig {
        CongestionConfig {
            set_point: match self {
                Profile::Standard => Bytes::new(26_000),
                Profile::PseudoCode => Bytes::from_kb(33),
            },
            weight_log2: 1,
            sample_base: Bytes::from_kb(150),
            quantiser: Quantiser::SixtyThreeths,
            sample_jitter_percent: 15,
            culprit: Culprit::Arrival,
            keep_alive: false,
        }
    }

    /// Its reaction point, on a port of this rate.
    pub const fn reaction(self, max_rate: Rate) -> ReactionConfig {
        let pseudo_code = matches!(self, Profile::PseudoCode);
        ReactionConfig {
            max_rate,
            min_rate: if pseudo_code { Rate::from_mbps(10) } else { Rate::from_mbps(5) },
            gd_log2: 7,
            min_decrease_percent: 50,
            byte_reset: Bytes::from_kb(150),
            byte_cycle: None,
            time_reset: Duration::from_ms(15),
            threshold: 5,
            ai_rate: Rate::from_mbps(5),
            hai_rate: Rate::from_mbps(50),
            reload_jitter_percent: if pseudo_code { 15 } else { 0 },
            half_reload_in_ai: pseudo_code,
            recovery_includes_threshold: pseudo_code,
            hai_excludes_threshold: pseudo_code,
            freeze_timer_while_paused: false,
        }
    }
}

/// A named parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What scenarios call it.
    pub name: &'static str,
    /// The congestion points.
    pub congestion: CongestionConfig,
    /// The reaction points.
    pub reaction: ReactionConfig,
    /// Where the numbers come from, and which of them are our reading.
    pub source: &'static str,
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<Preset> {
    PRESETS.into_iter().find(|preset| preset.name == name)
}

/// Every preset.
pub const PRESETS: [Preset; 6] = [
    Preset {
        name: "standard-10G",
        congestion: STANDARD,
        reaction: Profile::Standard.reaction(TEN),
        source: "IEEE8021-CN-MIB, defaults of the managed objects",
    },
    Preset {
        name: "slides-10G",
        congestion: PSEUDO_CODE,
        reaction: Profile::PseudoCode.reaction(TEN),
        source: "QCN: Description and Benchmark Simulations",
    },
    Preset {
        name: "netfpga-1G",
        congestion: PSEUDO_CODE,
        reaction: ReactionConfig {
            time_reset: Duration::from_ms(25),
            ai_rate: Rate::from_bps(500_000),
            hai_rate: Rate::from_mbps(5),
            min_rate: Rate::from_bps(500_000),
            ..Profile::PseudoCode.reaction(Rate::from_gbps(1))
        },
        source: "NetFPGA QCN, which follows the pseudo-code, version 2.3",
    },
    Preset {
        name: "ibm-10G",
        congestion: CongestionConfig { set_point: Bytes::from_kb(60), ..STANDARD },
        reaction: ReactionConfig { time_reset: Duration::from_ms(10), ..Profile::Standard.reaction(TEN) },
        source: "Unbiased QCN for scalable server-rack fabrics (RZ 3880), Table I and section V; \
                 the unit of the set point and the minimum rate are our reading",
    },
    Preset {
        name: "ibm-100G",
        congestion: CongestionConfig { set_point: Bytes::from_kb(60), ..STANDARD },
        reaction: ReactionConfig {
            time_reset: Duration::from_ms(2),
            ai_rate: Rate::from_mbps(15),
            hai_rate: Rate::from_mbps(250),
            ..Profile::Standard.reaction(Rate::from_gbps(100))
        },
        source: "Unbiased QCN for scalable server-rack fabrics (RZ 3880), section V; \
                 the unit of the set point and the minimum rate are our reading",
    },
    Preset {
        name: "crisan-2011",
        congestion: CongestionConfig { set_point: Bytes::from_kb(66), ..STANDARD },
        reaction: ReactionConfig { min_rate: Rate::from_bps(100_000), ..Profile::Standard.reaction(TEN) },
        source: "Crisan et al. 2011, with the larger of its set points (20 and 66 kB); its largest cut of one \
                 half is 63/128 here",
    },
];

const TEN: Rate = Rate::from_gbps(10);
const STANDARD: CongestionConfig = Profile::Standard.congestion();
const PSEUDO_CODE: CongestionConfig = Profile::PseudoCode.congestion();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_by_its_name_and_lies_in_range() {
        for preset in PRESETS {
            assert_eq!(super::preset(preset.name), Some(preset));
            assert_eq!(preset.congestion.check(), Ok(()), "{}", preset.name);
            assert_eq!(preset.reaction.check(), Ok(()), "{}", preset.name);
        }
        assert_eq!(preset("standard"), None);
    }

    /// Set point and base in octets, jitters in percent, timer in us, steps and minimum in kb/s.
    type Row = (&'static str, u64, u64, (u8, u8), u64, u64, (u64, u64, u64), u64);

    #[test]
    fn presets_hold_the_numbers_of_their_sources() {
        let rows: [Row; 6] = [
            ("standard-10G", 26_000, 150_000, (15, 0), 15_000, 150_000, (5_000, 50_000, 5_000), 10),
            ("slides-10G", 33_000, 150_000, (15, 15), 15_000, 150_000, (5_000, 50_000, 10_000), 10),
            ("netfpga-1G", 33_000, 150_000, (15, 15), 25_000, 150_000, (500, 5_000, 500), 1),
            ("ibm-10G", 60_000, 150_000, (15, 0), 10_000, 150_000, (5_000, 50_000, 5_000), 10),
            ("ibm-100G", 60_000, 150_000, (15, 0), 2_000, 150_000, (15_000, 250_000, 5_000), 100),
            ("crisan-2011", 66_000, 150_000, (15, 0), 15_000, 150_000, (5_000, 50_000, 100), 10),
        ];
        for (row, preset) in rows.iter().zip(PRESETS) {
            let (congestion, reaction) = (preset.congestion, preset.reaction);
            let kbps = |rate: Rate| rate.bps() / 1000;
            let found: Row = (
                preset.name,
                congestion.set_point.get(),
                congestion.sample_base.get(),
                (congestion.sample_jitter_percent, reaction.reload_jitter_percent),
                reaction.time_reset.ps() / 1_000_000,
                reaction.byte_reset.get(),
                (kbps(reaction.ai_rate), kbps(reaction.hai_rate), kbps(reaction.min_rate)),
                reaction.max_rate.bps() / 1_000_000_000,
            );
            assert_eq!(found, *row);
            assert_eq!((congestion.weight_log2, reaction.gd_log2), (1, 7), "w = 2, Gd = 1/128 in all");
        }
    }

    #[test]
    fn profiles_differ_where_the_sources_do_and_nowhere_else() {
        let line = Rate::from_gbps(10);
        assert_eq!(
            ReactionConfig {
                min_rate: Rate::from_mbps(5),
                reload_jitter_percent: 0,
                half_reload_in_ai: false,
                recovery_includes_threshold: false,
                hai_excludes_threshold: false,
                ..Profile::PseudoCode.reaction(line)
            },
            Profile::Standard.reaction(line),
        );
        assert_eq!(
            CongestionConfig { set_point: Bytes::new(26_000), ..Profile::PseudoCode.congestion() },
            Profile::Standard.congestion(),
        );
    }
}
