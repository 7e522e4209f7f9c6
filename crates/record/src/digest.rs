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
//! | events  | one with a cause   | the same with `80` added to the kind, then the cause (4)                   |
//! | flows   | a flow's totals    | entity (4), then the fields of [`FlowTotals`] in order (8 each)            |
//!
//! Quantities and kinds are numbered in the order of their enums, which only ever grow at the end; there are fewer
//! than 128 kinds. An event without a cause is written as before there were causes, so that the digests of
//! recordings without them still stand. The digest is BLAKE3 over the text `quell digest 1`, then the BLAKE3 of each stream in the order samples, events, flows.
//! The streams are hashed apart because a producer may run ahead with events; only the order within each counts.

use crate::rows::Cell;
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
        if text.len() != 2 * octets.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
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

    /// A row of samples: whose values it has, and the values.
    pub(crate) fn row(&mut self, at: Instant, shape: &[Cell], values: &[i64]) {
        self.begin_samples(at);
        let values = shape.iter().zip(values);
        self.samples.push_all(values.map(|((entity, quantity), value)| said(*entity, *quantity, *value)));
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

    #[inline]
    fn sample(&mut self, entity: EntityId, quantity: Quantity, value: i64) {
        self.samples.push(&said(entity, quantity, value));
    }

    fn event(&mut self, event: Event) {
        let mut octets = [0; 29];
        octets[..8].copy_from_slice(&event.at.ps().to_le_bytes());
        octets[8..12].copy_from_slice(&event.entity.0.to_le_bytes());
        octets[12] = event.kind as u8;
        octets[13..17].copy_from_slice(&event.flow.map_or(u32::MAX, |flow| flow.0).to_le_bytes());
        octets[17..25].copy_from_slice(&event.value.to_le_bytes());
        match event.cause {
            None => self.events.push(&octets[..25]),
            Some(cause) => {
                octets[12] |= 0x80;
                octets[25..].copy_from_slice(&cause.0.to_le_bytes());
                self.events.push(&octets);
            }
        }
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
            retransmitted_frames,
            timeouts,
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
        // Of runs in which nothing is acknowledged the digest is what it was before these were counted.
        if retransmitted_frames > 0 || timeouts > 0 {
            self.flows.push(&retransmitted_frames.to_le_bytes());
            self.flows.push(&timeouts.to_le_bytes());
        }
    }
}

/// How a value is written.
#[inline]
fn said(entity: EntityId, quantity: Quantity, value: i64) -> [u8; 14] {
    let mut octets = [1; 14];
    octets[1..5].copy_from_slice(&entity.0.to_le_bytes());
    octets[5] = quantity as u8;
    octets[6..].copy_from_slice(&value.to_le_bytes());
    octets
}

/// A stream of octets on its way into a hash, which likes them in long pieces.
#[derive(Clone, Debug, Default)]
struct Stream {
    hasher: blake3::Hasher,
    waiting: Vec<u8>,
}

impl Stream {
    /// A power of two: pieces of that length are hashed several octets at a time from beginning to end.
    const PIECE: usize = 32 * 1024;

    #[inline]
    fn push(&mut self, octets: &[u8]) {
        self.waiting.extend_from_slice(octets);
        if self.waiting.len() >= Self::PIECE {
            self.hash_pieces();
        }
    }

    /// Pushes several of the same length, whose room is made at once.
    fn push_all<const N: usize>(&mut self, all: impl ExactSizeIterator<Item = [u8; N]>) {
        let before = self.waiting.len();
        self.waiting.resize(before + N * all.len(), 0);
        for (room, octets) in self.waiting[before..].chunks_exact_mut(N).zip(all) {
            room.copy_from_slice(&octets);
        }
        self.hash_pieces();
    }

    /// Hashes what is whole pieces; the rest goes on waiting.
    #[inline(never)]
    fn hash_pieces(&mut self) {
        let pieces = self.waiting.len() / Self::PIECE * Self::PIECE;
        self.hasher.update(&self.waiting[..pieces]);
        self.waiting.drain(..pieces);
    }

    fn hash(&self) -> blake3::Hash {
        self.hasher.clone().update(&self.waiting).finalize()
    }
}

/// Octets as lower-case hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;
    use crate::testing::tell;

    fn digest(samples: u64) -> Digest {
        let mut digester = Digester::new();
        tell(samples, &mut digester);
        digester.digest()
    }

    /// If this fails, every digest anyone has noted down is void. Change the version in the encoding's
    /// name, or better, do not change the encoding.
    #[test]
    fn the_digest_of_a_known_story_never_changes() {
        assert_eq!(digest(3).whole(), "6054d787a3c24cf03437e93412ec9361eb0c224f5d97e6649c0d9e064d47ca4d");
        assert_eq!(
            Digester::new().digest().whole(),
            "9051037e9a1d176eabc748bf46bd1031284dc2d5ed4841e2f96dc1670c985245"
        );
    }

    #[test]
    fn quantities_and_kinds_keep_their_numbers() {
        assert!((0..).zip(Quantity::ALL).all(|(number, quantity)| quantity as u8 == number));
        assert!((0..).zip(EventKind::ALL).all(|(number, kind)| kind as u8 == number));
    }

    #[test]
    fn long_stories_are_hashed_in_pieces_without_changing_the_digest() {
        let mut pieces = Stream::default();
        let mut whole = blake3::Hasher::new();
        for number in 0..20_000_u32 {
            pieces.push(&number.to_le_bytes());
            whole.update(&number.to_le_bytes());
        }
        assert_eq!(pieces.hash(), whole.finalize());
        let all = (0..20_000_u16).map(u16::to_be_bytes);
        all.clone().for_each(|octets| {
            whole.update(&octets);
        });
        pieces.push_all(all);
        assert_eq!(pieces.hash(), whole.finalize());
    }

    #[test]
    fn every_word_of_a_story_counts() {
        let mut digester = Digester::new();
        let mut seen = vec![digester.digest()];
        let event = |flow| Event {
            at: Instant::START,
            entity: EntityId(0),
            kind: EventKind::Cnm,
            flow,
            value: 0,
            cause: None,
        };
        digester.begin_samples(Instant::from_ps(1));
        seen.push(digester.digest());
        digester.sample(EntityId(0), Quantity::TxBytes, 0);
        seen.push(digester.digest());
        digester.event(event(None));
        seen.push(digester.digest());
        digester.event(event(Some(EntityId(0))));
        seen.push(digester.digest());
        for cause in [0, 1] {
            let mut digester = digester.clone();
            digester.event(Event { cause: Some(EntityId(cause)), ..event(None) });
            seen.push(digester.digest());
        }
        digester.event(event(None));
        seen.push(digester.digest());
        digester.flow(EntityId(0), FlowTotals::default());
        seen.push(digester.digest());
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn events_may_run_ahead_of_samples() {
        let event = Event {
            at: Instant::START,
            entity: EntityId(1),
            kind: EventKind::Go,
            flow: None,
            value: 5,
            cause: None,
        };
        let (mut ahead, mut behind) = (Digester::new(), Digester::new());
        ahead.event(event);
        ahead.begin_samples(Instant::from_ps(9));
        behind.begin_samples(Instant::from_ps(9));
        behind.event(event);
        assert_eq!(ahead.digest(), behind.digest());
    }

    #[test]
    fn a_digest_is_shown_short_and_stored_whole() {
        let digest = digest(2);
        assert_eq!(digest.to_string().len(), 16);
        assert!(digest.whole().starts_with(&digest.to_string()));
        assert_eq!(digest.whole().parse(), Ok(digest));
        assert_eq!("12".parse::<Digest>(), Err(NotADigest));
        assert_eq!("é".repeat(32).parse::<Digest>(), Err(NotADigest));
        assert_eq!("+1".repeat(32).parse::<Digest>(), Err(NotADigest));
    }
}
