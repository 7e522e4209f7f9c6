//! The token bucket before a limited flow.

/// When a token bucket lets a frame go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// When the tokens cover the frame. Never sends two frames closer than the rate allows.
    WholeFrame,
    /// While any token is left. Sends bursts.
    AnyToken,
}
