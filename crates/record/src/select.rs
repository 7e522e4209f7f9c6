//! Choosing entities by name.

use serde::{Deserialize, Serialize};

/// A choice of entities, as a scenario writes it: names or patterns with `*`, separated by commas; `!`
/// before a pattern takes its matches away. `flow:`, `port:` or `input:` before it says which kind is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selector(pub String);
