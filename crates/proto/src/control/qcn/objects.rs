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
