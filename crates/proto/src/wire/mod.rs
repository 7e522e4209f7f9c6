//! Octets to values and back.
