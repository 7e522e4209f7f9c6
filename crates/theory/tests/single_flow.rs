//! One flow of DCQCN, followed by itself under marks that come at random: the queue whose marks leave it its share.
//!
//! It knows the paper's algorithm, in floats and from event to event, and neither packets nor a queue. The claims of
//! `theory/dcqcn` are its numbers.

const LINE: f64 = 40e9;
const FRAME_BITS: f64 = 8_000.0;
const GAIN: f64 = 1.0 / 256.0;
const QUIET: f64 = 50e-6;
const PERIOD: f64 = 55e-6;
const BYTE_CYCLE_BITS: f64 = 80e6;
const RECOVERY: u32 = 5;

/// Uniform draws in (0, 1].
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }
}

/// The mean rate of a flow of which this share of frames is marked, over some seconds.
fn mean_rate(marked: f64, seconds: f64) -> f64 {
    let mut draws = Draws(1);
    let (mut now, mut rate, mut goal, mut alpha) = (0.0, LINE / 2.0, LINE / 2.0, 0.1);
    let (mut times, mut bytes, mut time_ends, mut bits_left) = (0u32, 0u32, PERIOD, BYTE_CYCLE_BITS);
    let (mut counted, mut quiet_until, mut sent) = (0.0, 0.0, 0.0);
    while now < seconds {
        let mark = now - draws.next().ln() * FRAME_BITS / (marked * rate);
        let byte_end = now + bits_left / rate;
        let next = mark.min(byte_end).min(time_ends);
        sent += rate * (next - now);
        bits_left -= rate * (next - now);
        now = next;
        if mark <= byte_end.min(time_ends) {
            if now >= quiet_until {
                quiet_until = now + QUIET;
                alpha *= (1.0 - GAIN).powf(((now - counted) / PERIOD).floor());
                counted = now;
                goal = rate;
                rate = (rate * (1.0 - alpha / 2.0)).max(40e6);
                alpha += GAIN * (1.0 - alpha);
                (times, bytes, time_ends, bits_left) = (0, 0, now + PERIOD, BYTE_CYCLE_BITS);
            }
            continue;
        }
        if byte_end <= time_ends {
            (bytes, bits_left) = (bytes + 1, BYTE_CYCLE_BITS);
        } else {
            (times, time_ends) = (times + 1, time_ends + PERIOD);
        }
        if times.min(bytes) > RECOVERY {
            goal += 400e6 * f64::from(times.min(bytes) - RECOVERY);
        } else if times.max(bytes) >= RECOVERY {
            goal += 40e6;
        }
        rate = f64::midpoint(rate, goal).min(LINE);
    }
    sent / seconds
}

/// The queue in kilobytes that marks so many that a flow gets one part in `flows` of the line.
fn queue_of(flows: f64) -> f64 {
    let (mut low, mut high) = (1e-5_f64, 2e-2_f64);
    for _ in 0..14 {
        let middle = (low * high).sqrt();
        if mean_rate(middle, 12.0) > LINE / flows { low = middle } else { high = middle }
    }
    5.0 + (low * high).sqrt() / 0.01 * 195.0
}

#[test]
fn the_claims_of_the_scenario_are_its_numbers() {
    let scenario = include_str!("../../../scenarios/theory/dcqcn.toml");
    for (flows, stated) in [(2.0, 25.1), (4.0, 53.9), (10.0, 164.0)] {
        let found = queue_of(flows);
        assert!((found - stated).abs() < 0.03 * stated, "{flows} flows: {found} kB, not {stated}");
        assert!(scenario.contains(&format!("near = \"{stated}kB\"")), "{stated}");
    }
}
