//! The managed objects of QCN: what the standard calls each parameter, what it may be, and its default.

use super::{CongestionConfig, ReactionConfig};
use core::fmt;

/// A managed object of IEEE8021-CN-MIB, in the unit the MIB counts it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The standard's name for it.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// The least and the most it may be, where the MIB says so.
    pub range: Option<(i64, i64)>,
    /// Its default, where there is one.
    pub default: Option<i64>,
}

/// The objects that a congestion point or a reaction point is configured with.
pub const OBJECTS: [Object; 12] = [
    Object { name: "cpQsp", unit: "octets", range: Some((100, U32)), default: Some(26_000) },
    Object { name: "cpW", unit: "log2", range: Some((-10, 10)), default: Some(1) },
    Object { name: "cpSampleBase", unit: "octets", range: Some((10_000, U32)), default: Some(150_000) },
    Object { name: "rpgTimeReset", unit: "ms", range: None, default: Some(15) },
    Object { name: "rpgByteReset", unit: "octets", range: None, default: Some(150_000) },
    Object { name: "rpgThreshold", unit: "cycles", range: None, default: Some(5) },
    Object { name: "rpgMaxRate", unit: "Mb/s", range: None, default: None },
    Object { name: "rpgAiRate", unit: "Mb/s", range: None, default: Some(5) },
    Object { name: "rpgHaiRate", unit: "Mb/s", range: None, default: Some(50) },
    Object { name: "rpgGd", unit: "-log2", range: None, default: Some(7) },
    Object { name: "rpgMinDecFac", unit: "percent", range: Some((1, 100)), default: Some(50) },
    Object { name: "rpgMinRate", unit: "Mb/s", range: None, default: Some(5) },
];

const U32: i64 = u32::MAX as i64;

/// The object of this name.
pub fn object(name: &str) -> Option<Object> {
    OBJECTS.into_iter().find(|object| object.name == name)
}

/// A parameter outside of what it may be: the standard's range, or what a machine can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The parameter: a managed object, or what it shapes where the standard has none.
    pub name: &'static str,
    /// What the numbers count.
    pub unit: &'static str,
    /// What it is.
    pub value: i64,
    /// The least it may be.
    pub least: i64,
    /// The most it may be.
    pub most: i64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { name, unit, value, least, most } = self;
        write!(f, "{name} is {value} {unit}, outside of {least} to {most}")
    }
}

impl core::error::Error for OutOfRange {}

impl CongestionConfig {
    /// Says which parameter leaves its range, if one does: the first of them.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within_object("cpQsp", whole(self.set_point.get()))?;
        within_object("cpW", i64::from(self.weight_log2))?;
        within_object("cpSampleBase", whole(self.sample_base.get()))?;
        within("sampling jitter", "percent", i64::from(self.sample_jitter_percent), (0, 100))
    }
}

impl ReactionConfig {
    /// Says which parameter leaves its range, if one does: the first of them. Where the standard states no
    /// range, the least is what lets a cut flow climb again.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within("rpgMaxRate", "b/s", whole(self.max_rate.bps()), (1, i64::MAX))?;
        within("rpgMinRate", "b/s", whole(self.min_rate.bps()), (1, whole(self.max_rate.bps())))?;
        within("rpgGd", "-log2", i64::from(self.gd_log2), (0, 31))?;
        within_object("rpgMinDecFac", i64::from(self.min_decrease_percent))?;
        within("rpgByteReset", "octets", whole(self.byte_reset.get()), (2, U32))?;
        if let Some(span) = self.byte_cycle {
            within("byte cycle", "ps", whole(span.ps()), (2, i64::MAX))?;
        }
        within("rpgTimeReset", "ps", whole(self.time_reset.ps()), (2, i64::MAX))?;
        within("rpgThreshold", "cycles", i64::from(self.threshold), (1, U32))?;
        within("rpgAiRate", "b/s", whole(self.ai_rate.bps()), (1, i64::MAX))?;
        within("rpgHaiRate", "b/s", whole(self.hai_rate.bps()), (1, i64::MAX))?;
        within("reload jitter", "percent", i64::from(self.reload_jitter_percent), (0, 99))
    }
}

fn within_object(name: &'static str, value: i64) -> Result<(), OutOfRange> {
    let object = object(name).expect("checked by name, and the names are ours");
    within(object.name, object.unit, value, object.range.expect("the MIB bounds it"))
}

fn within(
    name: &'static str,
    unit: &'static str,
    value: i64,
    (least, most): (i64, i64),
) -> Result<(), OutOfRange> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(OutOfRange { name, unit, value, least, most }) }
}

/// A count as a message shows it.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};
    use std::string::ToString;
    use std::vec::Vec;

    /// IEEE8021-CN-MIB: name, range if any, DEFVAL if any. Kept as the MIB's text so that a slip in the
    /// table above or in a default shows.
    const MIB: &str = "
        cpQsp         100..4294967295    26000
        cpW           -10..10            1
        cpSampleBase  10000..4294967295  150000
        rpgTimeReset  -                  15
        rpgByteReset  -                  150000
        rpgThreshold  -                  5
        rpgMaxRate    -                  -
        rpgAiRate     -                  5
        rpgHaiRate    -                  50
        rpgGd         -                  7
        rpgMinDecFac  1..100             50
        rpgMinRate    -                  5
    ";

    /// What the default configurations hold, in the MIB's units.
    fn default_of(name: &str) -> Option<i64> {
        let (cp, rp) = (CongestionConfig::default(), ReactionConfig::default());
        let mbps = |rate: Rate| whole(rate.bps() / 1_000_000);
        Some(match name {
            "cpQsp" => whole(cp.set_point.get()),
            "cpW" => i64::from(cp.weight_log2),
            "cpSampleBase" => whole(cp.sample_base.get()),
            "rpgTimeReset" => whole(rp.time_reset.ps() / 1_000_000_000),
            "rpgByteReset" => whole(rp.byte_reset.get()),
            "rpgThreshold" => i64::from(rp.threshold),
            "rpgAiRate" => mbps(rp.ai_rate),
            "rpgHaiRate" => mbps(rp.hai_rate),
            "rpgGd" => i64::from(rp.gd_log2),
            "rpgMinDecFac" => i64::from(rp.min_decrease_percent),
            "rpgMinRate" => mbps(rp.min_rate),
            _ => return None,
        })
    }

    #[test]
    fn objects_and_defaults_are_those_of_the_mib() {
        let rows: Vec<_> = MIB.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(rows.len(), OBJECTS.len());
        for (row, found) in rows.iter().zip(OBJECTS) {
            let [name, range, default] = row.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("three columns: {row}");
            };
            let range =
                range.split_once("..").map(|(least, most)| (least.parse().unwrap(), most.parse().unwrap()));
            let default: Option<i64> = default.parse().ok();
            assert_eq!((found.name, found.range, found.default), (name, range, default));
            assert_eq!(object(name), Some(found));
            assert_eq!(default_of(name), default, "{name}");
        }
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it() {
        let with = |octets| CongestionConfig { set_point: Bytes::new(octets), ..Default::default() };
        assert_eq!(with(100).check(), Ok(()));
        assert_eq!(with(u64::from(u32::MAX)).check(), Ok(()));
        assert!(with(u64::from(u32::MAX) + 1).check().is_err());
        let weight = |weight_log2| CongestionConfig { weight_log2, ..Default::default() };
        assert_eq!(weight(-10).check(), Ok(()));
        assert!(weight(-11).check().is_err());
        assert!(CongestionConfig { sample_base: Bytes::new(9_999), ..Default::default() }.check().is_err());
    }

    #[test]
    fn a_parameter_out_of_range_says_which_and_what_would_be_right() {
        let error = CongestionConfig { set_point: Bytes::new(99), ..Default::default() }.check().unwrap_err();
        assert_eq!(error.to_string(), "cpQsp is 99 octets, outside of 100 to 4294967295");
    }

    #[test]
    fn a_reaction_point_that_could_not_climb_is_out_of_range() {
        let standard = ReactionConfig::default();
        assert_eq!(standard.check(), Ok(()));
        let wrong = [
            ReactionConfig { min_rate: Rate::from_bps(0), ..standard },
            ReactionConfig { min_rate: Rate::from_gbps(11), ..standard },
            ReactionConfig { min_decrease_percent: 0, ..standard },
            ReactionConfig { min_decrease_percent: 101, ..standard },
            ReactionConfig { byte_reset: Bytes::ZERO, ..standard },
            ReactionConfig { time_reset: crate::units::Duration::ZERO, ..standard },
            ReactionConfig { threshold: 0, ..standard },
            ReactionConfig { ai_rate: Rate::from_bps(0), ..standard },
            ReactionConfig { hai_rate: Rate::from_bps(0), ..standard },
            ReactionConfig { reload_jitter_percent: 100, ..standard },
            ReactionConfig { gd_log2: 32, ..standard },
        ];
        for config in wrong {
            assert!(config.check().is_err(), "{config:?}");
        }
    }
}
