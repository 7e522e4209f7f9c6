//! A small seeded generator, one stream per entity and purpose.

/// A stream of draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dice([u64; 4]);

impl Dice {
    /// The stream of one entity for one purpose, under a run's seed.
    pub fn new(seed: u64, entity: u64, purpose: u64) -> Dice {
        Dice([seed, entity, purpose, 1])
    }
}
