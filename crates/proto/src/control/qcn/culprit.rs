//! Whom to tell: the flow that a sample blames.

use super::Culprit;
use crate::dice::Dice;

/// A buffer, as far as blame needs to know it.
pub trait Occupancy {
    /// What a notification is addressed to.
    type Flow;
    /// Octets in the buffer.
    fn octets(&self) -> u64;
    /// The flow that holds most octets, if any holds one. Which of equals is the buffer's to fix.
    fn largest(&self) -> Option<Self::Flow>;
    /// The flow that holds octet number `octet` of the buffer, from zero and below [`octets`](Self::octets).
    fn holder_of(&self, octet: u64) -> Option<Self::Flow>;
}

/// The flow to notify when a sample falls due.
///
/// `arrival` is the flow of the frame that made it due; a sample made due by the keep-alive clock has none,
/// and the driver passes the flow of the last frame that arrived. `None` when a resident frame is to be
/// blamed and there is none.
pub fn blame<F>(
    culprit: Culprit,
    arrival: F,
    buffer: &impl Occupancy<Flow = F>,
    dice: &mut Dice,
) -> Option<F> {
    match culprit {
        Culprit::Arrival => Some(arrival),
        Culprit::LargestOccupancy => buffer.largest(),
        Culprit::RandomOccupancy => match buffer.octets() {
            0 => None,
            octets => buffer.holder_of(dice.below(octets)),
        },
    }
}
