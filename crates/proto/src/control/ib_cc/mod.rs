//! Congestion control of InfiniBand (IBA annex A10).
//!
//! A switch marks frames that wait at a congested output ([`Marker`], FECN): at the root of congestion always, at
//! its victims, which only wait for credits, if told so. The receiver returns each mark to the source (BECN). There a
//! [`IbReaction`] moves an index into a table of inter-packet delays, up with every mark that came back and down
//! with every tick of a timer. Nothing tells how bad things are: the gain of the loop is the increment, the steepness
//! of the table and the period of the timer, and what suits one network and traffic does not suit another.
//!
//! Names are the annex's, with those of "2-point QCN vs ECM" (IBM 2007), "QCN vs. IBA CM", behind them. That
//! document gives no values. The defaults are ours, tuned to some dozens of sources on 10 Gb/s: marks come back no
//! faster than frames leave the queue, so a timer that is shorter than the time between two marks of one flow
//! undoes them all, and a mark on every frame cuts deeper than the timer can mend.

mod marker;
mod reaction;

pub use marker::Marker;
pub use reaction::IbReaction;

use crate::units::{Bytes, Duration, Rate};

/// How a switch marks (SwitchCongestionSetting).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerConfig {
    /// A queue above this is congested (`sw_th`). The annex has sixteen levels of a vendor's meaning instead.
    pub threshold: Bytes,
    /// Mean number of frames that go unmarked between two marks (Marking_Rate); 0 marks every one.
    pub marking_rate: u16,
    /// Shorter frames are not marked (Packet_Size).
    pub smallest: Bytes,
    /// Whether a queue that waits for credits is marked too (Victim_Mask).
    pub marks_victims: bool,
}

/// How a channel adapter reacts (CACongestionSetting and its table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The rate without delay: the port's.
    pub max_rate: Rate,
    /// The table of delays.
    pub table: Table,
    /// What a returned mark adds to the index (CCTI_Increase, `ipd_idx_incr`).
    pub increase: u8,
    /// What the timer never takes the index below (CCTI_Min).
    pub least: u8,
    /// Time after which the index falls by one (CCTI_Timer, `rec_time`).
    pub timer: Duration,
}

/// The congestion control table: what index follows which delay.
///
/// Entries rise evenly from nothing to `most`. A rate is then the line's over one plus its entry, so the first steps
/// down are steep and the last ones fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The last index (CCTI_Limit): one less than the number of entries, 64 to 256 in the document.
    pub limit: u8,
    /// The last entry (`max_ipd`), in frame times: the smallest rate is the line's over one plus this.
    pub most: u16,
}

/// An entry of the table as the annex has it: a delay of `multiplier / 2^shift` frame times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// CCT_Shift, two bits.
    pub shift: u8,
    /// CCT_Multiplier, fourteen bits.
    pub multiplier: u16,
}

impl Table {
    /// The entry at an index, rounded down to the finest step that its size leaves; past the last one, the last.
    pub fn entry(self, index: u8) -> Entry {
        const MOST: u32 = (1 << 14) - 1;
        let limit = u32::from(self.limit.max(1));
        let eighths = 8 * u32::from(self.most) * u32::from(index.min(self.limit)) / limit;
        let shift = (0..=3).rev().find(|shift| eighths >> (3 - shift) <= MOST).unwrap_or(0);
        Entry { shift, multiplier: (eighths >> (3 - shift)).min(MOST) as u16 }
    }
}

impl Entry {
    /// The delay in eighths of a frame time.
    pub const fn eighths(self) -> u64 {
        (self.multiplier as u64) << (3 - self.shift)
    }

    /// What a port of this rate sends with this delay behind every frame; rounded down.
    pub fn of(self, line: Rate) -> Rate {
        let bps = u128::from(line.bps()) * 8 / u128::from(8 + self.eighths());
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl Default for MarkerConfig {
    fn default() -> MarkerConfig {
        MarkerConfig {
            threshold: Bytes::from_kb(33),
            marking_rate: 10,
            smallest: Bytes::ZERO,
            marks_victims: false,
        }
    }
}

impl Default for ReactionConfig {
    fn default() -> ReactionConfig {
        ReactionConfig {
            max_rate: Rate::from_gbps(10),
            table: Table { limit: 255, most: 32 },
            increase: 1,
            least: 0,
            timer: Duration::from_us(500),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_even_table_of_128_has_the_index_for_its_delay() {
        let table = Table { limit: 127, most: 127 };
        for index in [0, 1, 2, 64, 127] {
            assert_eq!(table.entry(index), Entry { shift: 3, multiplier: 8 * u16::from(index) });
        }
        assert_eq!(table.entry(1).of(Rate::from_gbps(10)), Rate::from_gbps(5));
        assert_eq!(table.entry(9).of(Rate::from_gbps(10)), Rate::from_gbps(1));
    }

    #[test]
    fn a_delay_too_long_for_eighths_is_stated_more_coarsely() {
        let table = Table { limit: 255, most: 10_000 };
        assert_eq!(table.entry(255), Entry { shift: 0, multiplier: 10_000 });
        assert_eq!(table.entry(1), Entry { shift: 3, multiplier: 313 });
        assert_eq!(table.entry(100), Entry { shift: 2, multiplier: 15_686 });
    }

    proptest! {
        #[test]
        fn a_further_index_never_sends_more(limit: u8, most in 0u16..16_384, index in 0u8..255) {
            let table = Table { limit, most };
            let line = Rate::from_gbps(10);
            prop_assert!(table.entry(index + 1).of(line) <= table.entry(index).of(line));
            prop_assert!(table.entry(index).multiplier < 1 << 14 && table.entry(index).shift < 4);
        }
    }
}
