//! The digest: one number that says whether two runs said the same.
//!
//! It is taken over what the producer said, never over files, so that it outlives every change of their format.
//! Encoding, version 1; all numbers little-endian, two's complement where signed:
//!
//! | stream  | for                | octets                                                                     |
//! |---------|--------------------|----------------------------------------------------------------------------|
//! | samples | a row begun        | `00`, time in ps (8)                                                       |
//! | samples | a value            | `01`, entity (4), quantity (1), value (8)                                  |
//! | events  | an event           | time in ps (8), entity (4), kind (1), flow (4; `ffffffff` if none), value (8) |
//! | flows   | a flow's totals    | entity (4), then the fields of [`FlowTotals`] in order (8 each)            |
//!
//! Quantities and kinds are numbered in the order of their enums, which only ever grow at the end. The digest is
//! BLAKE3 over the text `quell digest 1`, then the BLAKE3 of each stream in the order samples, events, flows.
//! The streams are hashed apart because a producer may run ahead with events; only the order within each counts.

use crate::{EntityId, Event, FlowTotals, Quantity, Sink};
use quell_proto::units::Instant;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A digest of everything a run said. Shown short, stored whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    const SHOWN: usize = 8;

    /// All 64 hexadecimal digits.
    pub fn whole(&self) -> String {
        hex(&self.0)
    }
}

/// Sixteen hexadecimal digits: enough that no two runs anyone compares share them by chance.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0[..Self::SHOWN]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.whole())
    }
}

/// Reads the whole form.
impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Digest, NotADigest> {
        let mut octets = [0; 32];
        if text.len() != 2 * octets.len() || !text.is_ascii() {
            return Err(NotADigest);
        }
        for (octet, digits) in octets.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NotADigest)?;
            *octet = u8::from_str_radix(digits, 16).map_err(|_| NotADigest)?;
        }
        Ok(Digest(octets))
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADigest;

impl fmt::Display for NotADigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest has 64 hexadecimal digits")
    }
}

impl std::error::Error for NotADigest {}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.whole())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Takes the digest of what it is told, and keeps nothing else.
#[derive(Clone, Debug, Default)]
pub struct Digester {
    samples: Stream,
    events: Stream,
    flows: Stream,
}

impl Digester {
    /// Nothing said yet.
    pub fn new() -> Digester {
        Digester::default()
    }

    /// The digest of all that was said so far.
    pub fn digest(&self) -> Digest {
        let mut whole = blake3::Hasher::new();
        whole.update(b"quell digest 1");
        for stream in [&self.samples, &self.events, &self.flows] {
            whole.update(stream.hash().as_bytes());
        }
        Digest(*whole.finalize().as_bytes())
    }
}

impl Sink for Digester {
    fn begin_samples(&mut self, at: Instant) {
        let mut octets = [0; 9];
        octets[1..].copy_from_slice(&at.ps().to_le_bytes());
        self.samples.push(&octets);
    }

    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        let mut octets = [1; 14];
        octets[1..5].copy_from_slice(&entity.0.to_le_bytes());
        octets[5] = quantity as u8;
        octets[6..].copy_from_slice(&value.to_le_bytes());
        self.samples.push(&octets);
    }

    fn event(&mut self, event: Event) {
        let mut octets = [0; 25];
        octets[..8].copy_from_slice(&event.at.ps().to_le_bytes());
        octets[8..12].copy_from_slice(&event.entity.0.to_le_bytes());
        octets[12] = event.kind as u8;
        octets[13..17].copy_from_slice(&event.flow.map_or(u32::MAX, |flow| flow.0).to_le_bytes());
        octets[17..].copy_from_slice(&event.value.to_le_bytes());
        self.events.push(&octets);
    }

    fn flow(&mut self, flow: EntityId, totals: FlowTotals) {
        // Taken apart by name, so that a new field cannot be forgotten here.
        let FlowTotals {
            offered_bytes,
            sent_bytes,
            delivered_bytes,
            delivered_frames,
            lost_frames,
            reordered_frames,
            cnms_received,
            latency_sum_ps,
            latency_max_ps,
        } = totals;
        self.flows.push(&flow.0.to_le_bytes());
        for number in [
            offered_bytes,
            sent_bytes,
            delivered_bytes,
            delivered_frames,
            lost_frames,
            reordered_frames,
            cnms_received,
            latency_sum_ps,
            latency_max_ps,
        ] {
            self.flows.push(&number.to_le_bytes());
        }
    }
}

/// A stream of octets on its way into a hash, which likes them in long pieces.
#[derive(Clone, Debug, Default)]
struct Stream {
    hasher: blake3::Hasher,
    waiting: Vec<u8>,
}

impl Stream {
    const PIECE: usize = 32 * 1024;

    fn push(&mut self, octets: &[u8]) {
        self.waiting.extend_from_slice(octets);
        if self.waiting.len() >= Self::PIECE {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }

    fn hash(&self) -> blake3::Hash {
        self.hasher.clone().update(&self.waiting).finalize()
    }
}

/// Octets as lower-case hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
