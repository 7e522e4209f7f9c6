//! How much room a lossless buffer needs above its stop threshold, and what that leaves of a switch's memory.
//!
//! After a buffer decides to stop its peer, the stop may wait behind a frame just begun, is sent, crosses
//! the cable and is acted on; the peer finishes the frame it has begun; and all that while the cable back is
//! full. [`Link::octets`] adds these up (802.1Qbb, Annex O, in the terms of 802.3 Annex 31B). Two vendors'
//! formulas stand beside it for comparison: [`mlx5e_xoff`] and [`Sonic`].

use crate::units::{Bytes, Duration, Quanta, Rate};

/// Preamble, start delimiter and the least gap: what a frame takes on the wire beyond its own octets.
const FRAME_OVERHEAD: u64 = 20;
/// A PFC or PAUSE frame, check sequence included.
const PFC_FRAME: Bytes = Bytes::new(64);
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// A link one end of which may be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub cable_delay: Duration,
    /// The longest frame the stop may have to wait behind.
    pub max_frame_local: Bytes,
    /// The longest frame the peer may just have begun.
    pub max_frame_peer: Bytes,
    /// Delays of both interfaces and of the peer's reaction: see [`response_quanta`].
    pub response: Duration,
}

impl Link {
    /// Bits that can arrive after the decision to stop; each part rounded up.
    pub fn bits(&self) -> u64 {
        2 * bits_in(self.rate, self.cable_delay)
            + bits_on_wire(self.max_frame_local)
            + bits_on_wire(PFC_FRAME)
            + bits_in(self.rate, self.response)
            + bits_on_wire(self.max_frame_peer)
    }

    /// Octets that can arrive after the decision to stop: room to keep above the threshold.
    pub fn octets(&self) -> Bytes {
        Bytes::new(self.bits().div_ceil(8))
    }
}

/// The time a port may take to act on a pause, in its own quanta (802.3, 31B.3.7, as SONiC tabulates it), for
/// the rates that have one.
pub fn response_quanta(rate: Rate) -> Option<Quanta> {
    const TABLE: [(u64, u16); 10] = [
        (100, 1),
        (1_000, 2),
        (10_000, 67), // the mean of 60, optical, and 74, 10GBASE-T
        (25_000, 80),
        (40_000, 118),
        (50_000, 147),
        (100_000, 394),
        (200_000, 453),
        (400_000, 905),
        (800_000, 905),
    ];
    TABLE.iter().find(|(mbps, _)| Rate::from_mbps(*mbps) == rate).map(|(_, quanta)| Quanta(*quanta))
}

/// Propagation delay of a cable: 5 ns a metre, the usual figure for fibre and copper.
pub const fn cable_delay(metres: u64) -> Duration {
    Duration::from_ns(5 * metres)
}

/// Octets above the threshold by the formula of Linux's mlx5e driver, in its integer arithmetic:
/// `(301 + 2.16 m) * Gb/s + 2.72 * mtu`. Links under 40 Gb/s are taken for 40.
pub fn mlx5e_xoff(rate: Rate, cable_metres: u64, mtu: Bytes) -> Bytes {
    let mbps = (rate.bps() / 1_000_000).max(40_000);
    Bytes::new((301 + 216 * cable_metres / 100) * mbps / 1000 + 272 * mtu.get() / 100)
}

/// A port as SONiC's buffer manager describes it to its headroom formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sonic {
    /// The port's rate.
    pub rate: Rate,
    /// Length of the cable.
    pub cable_metres: u64,
    /// Longest frame of the port.
    pub port_mtu: Bytes,
    /// Longest frame of the lossless class.
    pub lossless_mtu: Bytes,
    /// Delay of a gearbox, as octets; zero without one.
    pub gearbox_delay: Bytes,
    /// Delay of MAC and PHY, as octets.
    pub mac_phy_delay: Bytes,
    /// The peer's reaction: see [`response_quanta`].
    pub response: Quanta,
    /// Size of a memory cell.
    pub cell: Bytes,
    /// Share of small frames, which waste most of their cell, in percent.
    pub small_frame_percent: u8,
}

impl Sonic {
    /// Octets above the threshold, rounded up to 1024.
    pub fn xoff(&self) -> Bytes {
        // All in one fraction, so that only the last step rounds.
        const LIGHT: u128 = 198_000_000; // metres a second in a cable
        let mbps = u128::from(self.rate.bps() / 1_000_000);
        let cable = Fraction::new(2 * u128::from(self.cable_metres) * mbps * 1_000_000_000, LIGHT * 8 * 1024);
        let fixed = self.port_mtu.get()
            + 2 * self.gearbox_delay.get()
            + self.mac_phy_delay.get()
            + 64 * u64::from(self.response.0);
        let arriving = cable.plus(Fraction::new(u128::from(fixed), 1)).times(self.cell_occupancy());
        let octets = arriving.plus(Fraction::new(u128::from(self.lossless_mtu.get()), 1)).ceil();
        Bytes::new(u64::try_from(octets.div_ceil(1024) * 1024).unwrap_or(u64::MAX))
    }

    /// How many octets of memory an arriving octet takes, at worst.
    fn cell_occupancy(&self) -> Fraction {
        let cell = u128::from(self.cell.get());
        let small = u128::from(self.small_frame_percent);
        let waste = if cell > 128 { Fraction::new(cell, 64) } else { Fraction::new(2 * cell, 1 + cell) };
        // (100 - s + s * waste) / 100
        Fraction::new((100 - small) * waste.below + small * waste.above, 100 * waste.below)
    }
}

/// A switch memory shared by its ports, cut as in "Congestion Control for Large-Scale RDMA Deployments"
/// (DCQCN), section 4: every priority of every port keeps room for what is in flight to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// All of it.
    pub memory: Bytes,
    /// Ports that share it.
    pub ports: u64,
    /// Lossless priorities of a port.
    pub priorities: u64,
    /// Headroom of one priority of one port.
    pub headroom: Bytes,
}

impl SharedMemory {
    /// The highest stop threshold that is safe when all priorities of all ports are full at once. Rounded
    /// down; zero when headroom alone takes the memory.
    pub fn static_stop(&self) -> Bytes {
        Bytes::new(self.beyond_headroom() / self.buffers())
    }

    /// The highest marking threshold under which marks come before the first stop, with static thresholds:
    /// one output may be filled from every port.
    pub fn static_mark(&self) -> Bytes {
        Bytes::new(self.beyond_headroom() / self.buffers() / self.ports)
    }

    /// The stop threshold that follows the memory in use: `beta / priorities` of what is free.
    pub fn dynamic_stop(&self, beta: u64, used: Bytes) -> Bytes {
        Bytes::new(beta * self.beyond_headroom().saturating_sub(used.get()) / self.priorities)
    }

    /// The highest marking threshold under which marks come before the first stop, with dynamic ones.
    pub fn dynamic_mark(&self, beta: u64) -> Bytes {
        Bytes::new(beta * self.beyond_headroom() / (self.buffers() * (beta + 1)))
    }

    fn buffers(&self) -> u64 {
        self.ports * self.priorities
    }

    fn beyond_headroom(&self) -> u64 {
        self.memory.get().saturating_sub(self.buffers() * self.headroom.get())
    }
}

fn bits_on_wire(frame: Bytes) -> u64 {
    8 * (frame.get() + FRAME_OVERHEAD)
}

fn bits_in(rate: Rate, span: Duration) -> u64 {
    let bits = (u128::from(rate.bps()) * u128::from(span.ps())).div_ceil(PS_PER_SECOND);
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// `above / below`, never rounded until asked.
#[derive(Clone, Copy)]
struct Fraction {
    above: u128,
    below: u128,
}

impl Fraction {
    fn new(above: u128, below: u128) -> Fraction {
        Fraction { above, below }
    }

    fn plus(self, other: Fraction) -> Fraction {
        Fraction::new(self.above * other.below + other.above * self.below, self.below * other.below)
    }

    fn times(self, other: Fraction) -> Fraction {
        Fraction::new(self.above * other.above, self.below * other.below)
    }

    fn ceil(self) -> u128 {
        self.above.div_ceil(self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(gbps: u64, metres: u64, max_frame: u64) -> Link {
        let rate = Rate::from_gbps(gbps);
        Link {
            rate,
            cable_delay: cable_delay(metres),
            max_frame_local: Bytes::new(max_frame),
            max_frame_peer: Bytes::new(max_frame),
            response: response_quanta(rate).expect("a rate of the table").on_port(rate),
        }
    }

    #[test]
    fn the_worked_examples_come_out() {
        for (gbps, metres, max_frame, bits, octets) in [
            (10, 100, 1518, 69_584, 8_698),
            (10, 300, 9216, 212_752, 26_594),
            (100, 100, 1518, 327_008, 40_876),
            (100, 100, 9216, 450_176, 56_272),
            (100, 300, 9216, 650_176, 81_272),
        ] {
            let link = link(gbps, metres, max_frame);
            assert_eq!(link.bits(), bits, "{gbps} Gb/s, {metres} m, {max_frame}");
            assert_eq!(link.octets(), Bytes::new(octets));
        }
    }

    #[test]
    fn each_part_is_the_one_of_the_examples() {
        let link = link(10, 100, 1518);
        assert_eq!(2 * bits_in(link.rate, link.cable_delay), 10_000);
        assert_eq!(2 * bits_on_wire(link.max_frame_local), 24_608);
        assert_eq!(bits_on_wire(PFC_FRAME), 672);
        assert_eq!(bits_in(link.rate, link.response), 34_304);
    }

    #[test]
    fn part_of_a_bit_or_octet_needs_a_whole_one() {
        let nothing = Link {
            rate: Rate::from_gbps(3),
            cable_delay: Duration::ZERO,
            max_frame_local: Bytes::ZERO,
            max_frame_peer: Bytes::ZERO,
            response: Duration::ZERO,
        };
        let some = Link { response: Duration::from_ps(1), ..nothing };
        assert_eq!(some.bits(), nothing.bits() + 1);
        assert_eq!(some.octets(), nothing.octets() + Bytes::new(1));
    }

    #[test]
    fn every_rate_of_the_table_has_a_response_and_others_have_none() {
        let quanta = |mbps| response_quanta(Rate::from_mbps(mbps)).map(|quanta| quanta.0);
        assert_eq!(quanta(100), Some(1));
        assert_eq!(quanta(25_000), Some(80));
        assert_eq!(quanta(800_000), Some(905));
        assert_eq!(quanta(2_500), None);
    }

    #[test]
    fn mlx5e_rounds_as_its_driver_does() {
        // 55828.96 in exact terms.
        assert_eq!(mlx5e_xoff(Rate::from_gbps(100), 100, Bytes::new(1518)), Bytes::new(55_828));
        let at = |gbps| mlx5e_xoff(Rate::from_gbps(gbps), 5, Bytes::new(1500));
        assert_eq!(at(10), at(40), "slower links are taken for 40 Gb/s");
        assert!(at(50) > at(40));
    }

    fn sonic() -> Sonic {
        Sonic {
            rate: Rate::from_gbps(100),
            cable_metres: 40,
            port_mtu: Bytes::new(9_100),
            lossless_mtu: Bytes::new(1_024),
            gearbox_delay: Bytes::ZERO,
            mac_phy_delay: Bytes::new(830),
            response: Quanta(394),
            cell: Bytes::new(144),
            small_frame_percent: 100,
        }
    }

    #[test]
    fn sonic_rounds_up_to_1024_at_the_end() {
        // Cable 4932.24 octets; with mtu, delay and 25216 of response 40078.24; times 144/64; plus 1024: 91200.04.
        assert_eq!(sonic().xoff(), Bytes::new(92_160));
        // No small frames: 41102.24.
        assert_eq!(Sonic { small_frame_percent: 0, ..sonic() }.xoff(), Bytes::new(41_984));
        // Cells of 96 hold a frame of 97 in two: 1.979 times 40078.24, plus 1024: 80354.3.
        assert_eq!(Sonic { cell: Bytes::new(96), ..sonic() }.xoff(), Bytes::new(80_896));
    }

    #[test]
    fn the_formulas_agree_within_a_factor_of_two() {
        // 100 Gb/s, 100 m, frames of 1518, nothing wasted in cells: three views of one link.
        let ours = link(100, 100, 1518).octets().get();
        let mlx5e = mlx5e_xoff(Rate::from_gbps(100), 100, Bytes::new(1518)).get();
        let sonic = Sonic {
            cable_metres: 100,
            port_mtu: Bytes::new(1518),
            lossless_mtu: Bytes::new(1518),
            small_frame_percent: 0,
            ..sonic()
        };
        assert_eq!(ours, 40_876);
        assert_eq!(mlx5e, 55_828);
        assert_eq!(sonic.xoff().get(), 41_984);
    }

    #[test]
    fn the_dcqcn_papers_memory_comes_out() {
        let switch = SharedMemory {
            memory: Bytes::from_kb(12_000),
            ports: 32,
            priorities: 8,
            headroom: Bytes::new(22_400),
        };
        assert_eq!(switch.static_stop(), Bytes::new(24_475));
        // The paper prints 0.85 kB; its own numbers give 0.76. Either is less than a frame.
        assert_eq!(switch.static_mark(), Bytes::new(764));
        assert_eq!(switch.dynamic_mark(8), Bytes::new(21_755));
        assert_eq!(switch.dynamic_stop(8, Bytes::ZERO), Bytes::new(6_265_600));
        assert_eq!(switch.dynamic_stop(8, Bytes::new(6_265_600)), Bytes::ZERO);
    }

    #[test]
    fn headroom_that_takes_all_memory_leaves_no_threshold() {
        let switch = SharedMemory {
            memory: Bytes::from_kb(12),
            ports: 32,
            priorities: 8,
            headroom: Bytes::from_kb(22),
        };
        assert_eq!(switch.static_stop(), Bytes::ZERO);
        assert_eq!(switch.dynamic_stop(8, Bytes::ZERO), Bytes::ZERO);
    }
}
