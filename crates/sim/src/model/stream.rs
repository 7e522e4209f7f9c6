//! Random streams: one for each entity and purpose, so that adding a host shifts nobody else's luck.

use quell_proto::dice::Dice;

/// Draws of a traffic source, by its number in the plan.
pub(crate) const SOURCE: u64 = 1;
/// Draws of a congestion point.
pub(crate) const CONGESTION: u64 = 2;
/// Draws of a reaction point.
pub(crate) const REACTION: u64 = 3;
/// Choices of culprits, by switch.
pub(crate) const CULPRIT: u64 = 4;

/// Draws of an isolation point.
pub(crate) const ISOLATION: u64 = 5;

/// The stream of an entity for a purpose.
pub(crate) fn dice(seed: u64, entity: usize, purpose: u64) -> Dice {
    Dice::new(seed, entity as u64, purpose)
}

/// A fixed mixing of bits (the finaliser of splitmix64), for the choice among equal paths.
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
