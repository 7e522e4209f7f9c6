//! Time, rates and sizes as whole numbers in types of their own.
//!
//! Every rounding names its direction. Nothing here is a float: hardware counts, and so do we.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in time, in whole picoseconds since the start of a run (213 days in all).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Instant(u64);

/// A span of time in whole picoseconds: 800 an octet at 10 Gb/s, 5 an octet at 1.6 Tb/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Duration(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Rate(u64);

/// A number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Bytes(u64);

/// A pause time as PAUSE and PFC frames carry it: units of 512 bit times of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Quanta(pub u16);

/// One of the eight 802.1Q priorities; 7 is the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Priority(u8);

/// A part of a whole as hardware holds it: two numbers, and no rounding until it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Above the line.
    pub num: u32,
    /// Below the line; more than zero.
    pub den: u32,
}

impl Share {
    /// So many hundredths.
    pub const fn percent(percent: u32) -> Share {
        Share { num: percent, den: 100 }
    }
}

/// A set of priorities, as frames carry it: bit n of an octet stands for priority n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrioritySet(pub u8);

impl Instant {
    /// The start of a run.
    pub const START: Instant = Instant(0);
    /// Later than any event: "never", where an `Option` would cost a word.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The instant this many picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Instant {
        Instant(ps)
    }

    /// Picoseconds since the start.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, or zero where `earlier` is in fact later.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span of whole picoseconds.
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps)
    }

    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000_000)
    }

    /// Its length in picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
}

impl Rate {
    /// A rate of whole bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// A rate of whole megabits per second.
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// A rate of whole gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// How long `size` takes on a wire of this rate, rounded up: a pacer built on this can fall
    /// behind its rate by under a picosecond a frame, and can never exceed it.
    ///
    /// # Panics
    /// On a rate of zero. A stopped source has no transmission time; asking for one is a bug.
    pub fn time_for(self, size: Bytes) -> Duration {
        assert!(self.0 > 0, "transmission time asked of a stopped source");
        let bits_ps = u128::from(size.0) * 8 * u128::from(PS_PER_SECOND);
        Duration(u64::try_from(bits_ps.div_ceil(u128::from(self.0))).expect("no frame takes 213 days"))
    }

    /// Octets this rate carries in `span`, rounded down.
    pub fn carries_in(self, span: Duration) -> Bytes {
        let octets = u128::from(self.0) * u128::from(span.0) / (8 * u128::from(PS_PER_SECOND));
        Bytes(u64::try_from(octets).unwrap_or(u64::MAX))
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// A number of octets.
    pub const fn new(octets: u64) -> Bytes {
        Bytes(octets)
    }

    /// Thousands of octets: a kilobyte is 1000 octets, as in the standard's parameters.
    pub const fn from_kb(kb: u64) -> Bytes {
        Bytes(kb * 1000)
    }

    /// The number of octets.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// What is left after taking `other` away, or nothing.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Quanta {
    /// The longest pause a frame can ask for.
    pub const MAX: Quanta = Quanta(u16::MAX);
    const BIT_TIMES: u64 = 512;

    /// How long the pause lasts on a port of this rate, rounded up.
    pub fn on_port(self, rate: Rate) -> Duration {
        rate.time_for(Bytes(u64::from(self.0) * Self::BIT_TIMES / 8))
    }
}

impl Priority {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// A priority, if it is one of the eight.
    pub const fn new(priority: u8) -> Option<Priority> {
        if priority < 8 { Some(Priority(priority)) } else { None }
    }

    /// Its number, 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Its number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// All eight, lowest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Priority> {
        (0..8).map(Priority)
    }
}

impl PrioritySet {
    /// No priority.
    pub const NONE: PrioritySet = PrioritySet(0);

    /// These priorities.
    pub fn of(priorities: impl IntoIterator<Item = Priority>) -> PrioritySet {
        PrioritySet(priorities.into_iter().fold(0, |bits, priority| bits | 1 << priority.0))
    }

    /// Whether it is one of them.
    pub const fn contains(self, priority: Priority) -> bool {
        self.0 >> priority.0 & 1 == 1
    }

    /// Its priorities, lowest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Priority> {
        Priority::all().filter(move |priority| self.contains(*priority))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0 + span.0)
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// # Panics
    /// When time would run backwards; it does not return an absolute value.
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0.checked_sub(earlier.0).expect("time runs backwards"))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0 * times)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

/// Writes `value` with the largest of the units that divides it without remainder, so that what is
/// printed reads back to the same number.
fn write_exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (scale, name) = units
        .iter()
        .find(|(scale, _)| value >= *scale && value.is_multiple_of(*scale))
        .or(units.last())
        .expect("every quantity has a smallest unit");
    write!(f, "{}{name}", value / scale)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(PS_PER_SECOND, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
        write_exact(f, self.0, &UNITS)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s"), (1, "b/s")];
        write_exact(f, self.0, &UNITS)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")];
        write_exact(f, self.0, &UNITS)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn an_octet_takes_800_ps_at_10_gbps_and_5_at_1600() {
        assert_eq!(Rate::from_gbps(10).time_for(Bytes::new(1)), Duration::from_ps(800));
        assert_eq!(Rate::from_gbps(1600).time_for(Bytes::new(1)), Duration::from_ps(5));
    }

    #[test]
    fn transmission_time_is_rounded_up() {
        assert_eq!(Rate::from_gbps(3).time_for(Bytes::new(1)), Duration::from_ps(2667));
    }

    #[test]
    fn quanta_last_as_long_as_802_3_says() {
        // protocols: 65535 quanta last 33.55 ms at 1G, 3.355 ms at 10G, 335.5 us at 100G.
        assert_eq!(Quanta::MAX.on_port(Rate::from_gbps(1)).ps() / 1_000_000, 33_553);
        assert_eq!(Quanta::MAX.on_port(Rate::from_gbps(10)).ps() / 1_000_000, 3_355);
        assert_eq!(Quanta(1).on_port(Rate::from_gbps(100)), Duration::from_ps(5_120));
    }

    #[test]
    fn quantities_print_with_the_unit_that_loses_nothing() {
        assert_eq!(Duration::from_us(1500).to_string(), "1500us");
        assert_eq!(Rate::from_mbps(2000).to_string(), "2Gb/s");
        assert_eq!(Bytes::new(141_500).to_string(), "141500B");
        assert_eq!(Bytes::ZERO.to_string(), "0B");
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn time_does_not_run_backwards() {
        let _ = Instant::START - Instant::from_ps(1);
    }
}
