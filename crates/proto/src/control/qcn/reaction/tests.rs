//! Tests of the reaction point: the worked traces digit by digit, its rules one by one, any history, a life.

use super::*;
use crate::control::qcn::Profile;
use insta::assert_snapshot;
use proptest::prelude::*;
use std::fmt::Write;
use std::string::{String, ToString};
use std::vec::Vec;

/// The traces' parameters: 10 Gb/s, at least 10 Mb/s, nothing random.
fn traced(profile: Profile) -> ReactionConfig {
    ReactionConfig {
        min_rate: Rate::from_mbps(10),
        reload_jitter_percent: 0,
        ..profile.reaction(Rate::from_gbps(10))
    }
}

fn flow(config: ReactionConfig) -> QcnReaction {
    QcnReaction::new(config, Dice::new(1, 2, 3))
}

impl QcnReaction {
    fn cnm(&mut self, quantised: u8) {
        self.on_feedback(Instant::START, Feedback::Cnm { quantised });
    }

    /// Sends just enough to end the byte cycle.
    fn byte_event(&mut self) {
        self.on_sent(Instant::START, Bytes::new(self.bytes_left as u64 + 1));
    }

    fn time_event(&mut self) {
        self.on_timeout(self.next_timeout().expect("a limited flow has a timer"));
    }
}

/// Whether a rate is the one printed in Mb/s, to every digit of it.
#[track_caller]
fn assert_prints(rate: Fixed, printed: &str) {
    let digits = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    assert_eq!(mbps(rate, digits), printed);
}

/// A rate in Mb/s with this many digits, rounded to nearest.
fn mbps(rate: Fixed, digits: usize) -> String {
    let scale = 10u128.pow(u32::try_from(digits).unwrap());
    let unit = 1_000_000u128 << Fixed::FRACTION_BITS;
    let rounded = (rate.0 / unit) * scale + ((rate.0 % unit) * scale + unit / 2) / unit;
    if digits == 0 {
        return rounded.to_string();
    }
    std::format!("{}.{:0digits$}", rounded / scale, rounded % scale)
}

#[test]
fn one_cut_recovers_as_in_the_standards_trace() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    assert_prints(flow.target, "10000");
    assert_prints(flow.current, "5078.125");
    let trace = [
        ("10000", "7539.0625", Phase::FastRecovery),
        ("10000", "8769.53125", Phase::FastRecovery),
        ("10000", "9384.765625", Phase::FastRecovery),
        ("10000", "9692.3828125", Phase::FastRecovery),
        ("10005", "9848.69140625", Phase::ActiveIncrease),
        ("10010", "9929.3457", Phase::ActiveIncrease),
        ("10015", "9972.1729", Phase::ActiveIncrease),
        ("10020", "9996.0864", Phase::ActiveIncrease),
    ];
    for (target, current, phase) in trace {
        flow.byte_event();
        assert_prints(flow.target, target);
        assert_prints(flow.current, current);
        assert_eq!(flow.phase(), phase);
    }
    // The ninth would pass the maximum on its way to an uncapped target of 10025.
    let beyond = flow.target.plus(flow.step());
    assert_prints(beyond, "10025");
    assert_prints(flow.current.halfway_to(beyond), "10010.54");
    flow.byte_event();
    assert_eq!(flow.limit(), None);
}

#[test]
fn one_cut_recovers_as_in_the_pseudo_codes_trace() {
    let mut flow = flow(traced(Profile::PseudoCode));
    flow.cnm(63);
    for _ in 0..5 {
        flow.byte_event();
    }
    assert_eq!(flow.phase(), Phase::FastRecovery);
    assert_prints(flow.target, "10000");
    assert_prints(flow.current, "9846.19140625");
    for _ in 6..=8 {
        flow.byte_event();
        assert_eq!(flow.phase(), Phase::ActiveIncrease);
    }
    assert_prints(flow.target.plus(flow.step()), "10020");
    assert!(flow.limit().is_some());
    flow.byte_event();
    assert_eq!(flow.limit(), None);
}

#[test]
fn a_burst_recovers_as_in_its_trace() {
    let mut flow = flow(traced(Profile::Standard));
    let cuts = ["5078.125", "2578.7353515625", "1309.514045715332", "664.987601339817", "337.68901630537584"];
    for current in cuts {
        flow.cnm(63);
        assert_prints(flow.current, current);
        assert_prints(flow.target, "10000");
    }
    flow.byte_event();
    assert_prints(flow.target, "1250");
    assert_prints(flow.current, "793.8445081526879");
    flow.byte_event();
    assert_prints(flow.current, "1021.922254076344");
    flow.cnm(10);
    assert_prints(flow.target, "1021.922254076344");
    assert_prints(flow.current, "942.0845779766296");
    flow.byte_event();
    assert_prints(flow.current, "982.0034160264868");
    flow.time_event();
    assert_prints(flow.current, "1001.9628350514154");
}

#[test]
fn hyper_active_increase_climbs_as_in_its_trace() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(1);
    (flow.target, flow.current) = (Fixed::of(Rate::from_mbps(500)), Fixed::of(Rate::from_mbps(250)));
    let trace = [
        ((5, 4), "505", Some("502.012")),
        ((5, 5), "555", Some("528.506")),
        ((6, 5), "605", None),
        ((6, 6), "705", None),
        ((7, 6), "805", None),
        ((7, 7), "955", Some("837.719")),
        ((8, 8), "1305", Some("1138.180")),
    ];
    let mut checked = 0;
    let mut last = flow.stages();
    for event in 0.. {
        if event % 2 == 0 {
            flow.byte_event();
        } else {
            flow.time_event();
        }
        if flow.limit().is_none() {
            break;
        }
        last = flow.stages();
        if let Some((_, target, current)) = trace.iter().find(|(stages, ..)| *stages == last) {
            assert_prints(flow.target, target);
            if let Some(current) = current {
                assert_prints(flow.current, current);
            }
            checked += 1;
        }
    }
    assert_eq!(checked, trace.len());
    assert_eq!(last, (18, 18), "the next event, (19, 18), reaches the maximum");
}

#[test]
fn a_second_cut_in_one_byte_cycle_keeps_the_first_goal() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    let left = flow.bytes_left;
    flow.on_sent(Instant::START, Bytes::new(1500));
    flow.cnm(63);
    assert_eq!(flow.target(), Rate::from_gbps(10));
    assert_eq!(flow.bytes_left, left - 1500, "nor does it restart the byte cycle");
}

#[test]
fn a_timer_between_two_cuts_does_not_move_the_goal() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    flow.time_event();
    flow.cnm(63);
    assert_eq!(flow.target(), Rate::from_gbps(10));
    assert_eq!(flow.stages(), (0, 0));
}

#[test]
fn a_cut_after_a_byte_cycle_sets_a_new_goal_and_restarts_the_cycle() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    flow.byte_event();
    flow.on_sent(Instant::START, Bytes::new(1500));
    let before = flow.current;
    flow.cnm(63);
    assert_eq!(flow.target, before);
    assert_eq!(flow.bytes_left, 150_000);
}

#[test]
fn a_cut_in_hyper_active_increase_starts_full_cycles() {
    let mut flow = low_flow(traced(Profile::PseudoCode));
    while flow.phase() != Phase::HyperActiveIncrease {
        flow.byte_event();
        flow.time_event();
    }
    flow.byte_event();
    assert_eq!(flow.bytes_left, 75_000);
    flow.cnm(1);
    assert_eq!(flow.bytes_left, 150_000);
    assert_eq!(flow.next_timeout(), Some(Instant::START + Duration::from_ms(15)));
}

#[test]
fn a_cut_restarts_the_timer() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    flow.on_feedback(Instant::from_ps(7), Feedback::Cnm { quantised: 1 });
    assert_eq!(flow.next_timeout(), Some(Instant::from_ps(7) + Duration::from_ms(15)));
}

#[test]
fn feedback_of_zero_says_nothing() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(0);
    assert_eq!(flow.limit(), None);
    assert_eq!(flow.next_timeout(), None);
}

#[test]
fn a_byte_cycle_ends_with_the_octet_after_the_last() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    flow.on_sent(Instant::START, Bytes::new(150_000));
    assert_eq!(flow.stages(), (0, 0));
    flow.on_sent(Instant::START, Bytes::new(1));
    assert_eq!(flow.stages(), (1, 0));
}

#[test]
fn early_and_repeated_timeouts_change_nothing() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    let due = flow.next_timeout().unwrap();
    flow.on_timeout(Instant::from_ps(due.ps() - 1));
    assert_eq!(flow.stages(), (0, 0));
    flow.on_timeout(due);
    flow.on_timeout(due);
    assert_eq!(flow.stages(), (0, 1));
}

#[test]
fn no_cut_goes_below_the_minimum() {
    let mut flow = flow(traced(Profile::Standard));
    for _ in 0..100 {
        flow.cnm(63);
    }
    assert_eq!(flow.limit(), Some(Rate::from_mbps(10)));
}

#[test]
fn the_largest_cut_binds_when_the_gain_would_cut_deeper() {
    // 63/64 would leave a sixty-fourth; at least 50 % remain.
    let mut flow = flow(ReactionConfig { gd_log2: 6, ..traced(Profile::Standard) });
    flow.cnm(63);
    assert_eq!(flow.limit(), Some(Rate::from_gbps(5)));
}

#[test]
fn a_released_flow_forgets_its_climb() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    let fresh = (flow.limit(), flow.target(), flow.stages(), flow.bytes_left);
    while flow.limit().is_some() {
        flow.byte_event();
    }
    assert_eq!(flow.next_timeout(), None);
    flow.on_sent(Instant::START, Bytes::from_kb(1_000_000));
    flow.cnm(63);
    assert_eq!((flow.limit(), flow.target(), flow.stages(), flow.bytes_left), fresh);
}

/// A flow cut so low that it can climb for long without being released.
fn low_flow(config: ReactionConfig) -> QcnReaction {
    let mut flow = flow(config);
    flow.cnm(63);
    (flow.target, flow.current) = (Fixed::of(Rate::from_mbps(100)), Fixed::of(Rate::from_mbps(50)));
    flow
}

/// Lengths of the byte and time cycles loaded at each alternating event, in kB and us.
fn reloads(config: ReactionConfig, events: usize) -> Vec<(i64, u64)> {
    let mut flow = low_flow(config);
    let mut now = Instant::START;
    (0..events)
        .map(|event| {
            if event % 2 == 0 {
                flow.byte_event();
            } else {
                now = flow.next_timeout().unwrap();
                flow.on_timeout(now);
            }
            (flow.bytes_left / 1000, (flow.next_timeout().unwrap() - now).ps() / 1_000_000)
        })
        .collect()
}

#[test]
fn the_standard_halves_cycles_only_when_both_counters_are_past() {
    let loaded = reloads(traced(Profile::Standard), 12);
    // The fifth byte cycle is active increase, and full; the fifth time cycle makes it hyper-active.
    assert_eq!(loaded[8], (150, 15_000));
    assert_eq!(loaded[9], (150, 7_500));
    assert_eq!(loaded[10], (75, 7_500));
}

#[test]
fn the_pseudo_code_halves_the_cycle_of_the_counter_that_is_past() {
    let loaded = reloads(traced(Profile::PseudoCode), 13);
    assert_eq!(loaded[9], (150, 15_000));
    assert_eq!(loaded[10], (75, 15_000)); // the sixth byte cycle: active increase
    assert_eq!(loaded[11], (75, 7_500)); // the sixth time cycle: hyper-active
}

#[test]
fn the_pseudo_code_does_not_halve_the_cycle_of_the_other_counter() {
    let mut flow = low_flow(traced(Profile::PseudoCode));
    for _ in 0..6 {
        flow.byte_event();
    }
    assert_eq!((flow.phase(), flow.bytes_left), (Phase::ActiveIncrease, 75_000));
    let due = flow.next_timeout().unwrap();
    flow.on_timeout(due);
    assert_eq!(flow.next_timeout(), Some(due + Duration::from_ms(15)));
}

#[test]
fn each_difference_between_the_sources_is_a_switch_of_its_own() {
    let standard = traced(Profile::Standard);
    // Half reloads in active increase, the boundary still at the threshold.
    let half = reloads(ReactionConfig { half_reload_in_ai: true, ..standard }, 9);
    assert_eq!(half[8], (75, 15_000));

    let run = |config, events: u32| {
        let mut flow = low_flow(config);
        for event in 0..events {
            if event % 2 == 0 { flow.byte_event() } else { flow.time_event() }
        }
        flow
    };
    // The boundary by itself: the fifth cycle still recovers.
    let included = ReactionConfig { recovery_includes_threshold: true, ..standard };
    assert_eq!(run(standard, 9).phase(), Phase::ActiveIncrease);
    assert_eq!(run(included, 9).phase(), Phase::FastRecovery);
    // The multiplier by itself: the first hyper-active step is of nothing.
    let excluded = ReactionConfig { hai_excludes_threshold: true, ..standard };
    assert_prints(run(standard, 10).step(), "50");
    assert_prints(run(excluded, 10).step(), "0");
    assert_prints(run(excluded, 12).step(), "50");
}

#[test]
fn reloads_are_as_random_as_configured() {
    let config = ReactionConfig { reload_jitter_percent: 15, ..traced(Profile::Standard) };
    let mut lengths: Vec<_> = (0..200)
        .map(|entity| {
            let mut flow = QcnReaction::new(config, Dice::new(1, entity, 0));
            flow.cnm(63);
            (flow.bytes_left, flow.next_timeout().unwrap().ps() / 1_000_000)
        })
        .collect();
    assert!(lengths.iter().all(|(octets, _)| (127_500..=172_500).contains(octets)));
    assert!(lengths.iter().all(|(_, us)| (12_750..=17_250).contains(us)));
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 190);
}

#[test]
fn the_timer_runs_through_a_pause_unless_told_to_freeze() {
    let mut flow = flow(traced(Profile::Standard));
    flow.cnm(63);
    flow.on_paused(Instant::from_ps(1));
    assert_eq!(flow.next_timeout(), Some(Instant::START + Duration::from_ms(15)));
}

#[test]
fn a_frozen_timer_goes_on_where_it_stood() {
    let at = |ms| Instant::START + Duration::from_ms(ms);
    let mut flow = flow(ReactionConfig { freeze_timer_while_paused: true, ..traced(Profile::Standard) });
    flow.cnm(63);
    flow.on_paused(at(5));
    assert_eq!(flow.next_timeout(), None);
    flow.on_timeout(at(100)); // a stale one
    flow.on_paused(at(50)); // a refresh
    assert_eq!(flow.stages(), (0, 0));
    flow.on_resumed(at(105));
    assert_eq!(flow.next_timeout(), Some(at(115)));
}

#[test]
fn a_cut_during_a_pause_starts_a_frozen_timer() {
    let at = |ms| Instant::START + Duration::from_ms(ms);
    let mut flow = flow(ReactionConfig { freeze_timer_while_paused: true, ..traced(Profile::Standard) });
    flow.on_paused(at(1));
    flow.on_feedback(at(2), Feedback::Cnm { quantised: 63 });
    assert_eq!(flow.next_timeout(), None);
    flow.on_resumed(at(10));
    assert_eq!(flow.next_timeout(), Some(at(25)));
}

#[test]
fn a_flow_left_alone_is_released() {
    for profile in [Profile::Standard, Profile::PseudoCode] {
        let mut flow = flow(traced(profile));
        for _ in 0..20 {
            flow.cnm(63);
        }
        // By the timer alone, with no frame to send: 5 Mb/s a cycle.
        let mut cycles = 0;
        while let Some(due) = flow.next_timeout() {
            flow.on_timeout(due);
            cycles += 1;
            assert!(cycles < 2_100, "still held to {:?}", flow.limit());
        }
        assert_eq!(flow.limit(), None);
    }
}

#[test]
fn a_climb_reaches_a_target_it_can_only_halve_the_distance_to() {
    let (mut rate, target) = (Fixed(0), Fixed::of(Rate::from_gbps(10)));
    for _ in 0..80 {
        rate = rate.halfway_to(target);
    }
    assert_eq!(rate, target);
}

#[test]
fn a_cut_rounds_down() {
    // 129 less 129/128: one part and a bit.
    assert_eq!(Fixed(129).less(1, 7), Fixed(127));
    assert_eq!(Fixed(128).less(1, 7), Fixed(127));
    assert_eq!(Fixed(199).percent(50), Fixed(99));
}

#[test]
fn absurd_parameters_do_not_overflow() {
    let mut flow = flow(ReactionConfig {
        max_rate: Rate::from_bps(u64::MAX),
        hai_rate: Rate::from_bps(u64::MAX),
        gd_log2: 255,
        threshold: 0,
        ..traced(Profile::Standard)
    });
    (flow.byte_stage, flow.time_stage) = (u32::MAX, u32::MAX);
    flow.cnm(63);
    (flow.byte_stage, flow.time_stage) = (u32::MAX, u32::MAX);
    flow.current = Fixed::of(Rate::from_bps(1));
    flow.byte_event();
    assert_eq!(flow.limit(), None);
}

/// Something that can happen to a flow.
#[derive(Clone, Debug)]
enum Happening {
    Cnm(u8),
    Sent(u64),
    Timeout,
    Paused,
    Resumed,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        4 => (0u8..64).prop_map(Happening::Cnm),
        8 => (64u64..200_000).prop_map(Happening::Sent),
        4 => Just(Happening::Timeout),
        1 => Just(Happening::Paused),
        1 => Just(Happening::Resumed),
    ];
    prop::collection::vec(one, 0..300)
}

fn configs() -> impl Strategy<Value = ReactionConfig> {
    (any::<bool>(), any::<[bool; 4]>(), 0u8..50, 5u8..10, 1u8..100, 1u32..7).prop_map(
        |(pseudo, [half, includes, excludes, freeze], jitter, gd, least, threshold)| ReactionConfig {
            half_reload_in_ai: half,
            recovery_includes_threshold: includes,
            hai_excludes_threshold: excludes,
            freeze_timer_while_paused: freeze,
            reload_jitter_percent: jitter,
            gd_log2: gd,
            min_decrease_percent: least,
            threshold,
            ..traced(if pseudo { Profile::PseudoCode } else { Profile::Standard })
        },
    )
}

proptest! {
    #[test]
    fn any_history_keeps_the_rate_in_bounds_and_ends_in_release(
        config in configs(),
        history in happenings(),
        seed: u64,
    ) {
        let mut flow = QcnReaction::new(config, Dice::new(seed, 0, 0));
        let mut now = Instant::START;
        for happening in history {
            now = now + Duration::from_us(50);
            match happening {
                Happening::Cnm(quantised) => flow.on_feedback(now, Feedback::Cnm { quantised }),
                Happening::Sent(octets) => flow.on_sent(now, Bytes::new(octets)),
                Happening::Timeout => {
                    now = flow.next_timeout().map_or(now, |due| due.max(now));
                    flow.on_timeout(now);
                }
                Happening::Paused => flow.on_paused(now),
                Happening::Resumed => flow.on_resumed(now),
            }
            prop_assert!(flow.target >= flow.current);
            prop_assert_eq!(flow.limit().is_some(), flow.timer != Timer::Stopped);
            if let Some(limit) = flow.limit() {
                prop_assert!(config.min_rate <= limit && limit < config.max_rate);
            }
        }
        flow.on_resumed(now);
        for _ in 0..3_000 {
            flow.on_sent(now, Bytes::from_kb(300));
            let Some(due) = flow.next_timeout() else { break };
            now = now.max(due);
            flow.on_timeout(now);
        }
        prop_assert_eq!(flow.limit(), None);
    }

    #[test]
    fn a_stronger_notification_never_leaves_more(config in configs(), weak in 1u8..64, strong in 1u8..64) {
        prop_assume!(weak <= strong);
        let after = |quantised| {
            let mut flow = flow(config);
            flow.cnm(quantised);
            flow.current
        };
        prop_assert!(after(strong) <= after(weak));
    }

    /// The averaging principle: a cut of which half is taken back midway acts, interval by interval, like a
    /// plain controller driven by half the cut and a quarter of its change, so that the loop sees a derivative
    /// nobody measured (Alizadeh et al., Stability Analysis of QCN).
    #[test]
    fn a_climb_by_halves_acts_as_proportional_and_derivative_control(
        cuts in prop::collection::vec(1u8..64, 1..=5),
    ) {
        let mut flow = flow(traced(Profile::Standard));
        // In quarters of the smallest rate, so that both sides are whole numbers.
        let quarters = |rate: Fixed| 4 * i128::try_from(rate.0).unwrap();
        let mut plain = quarters(flow.current);
        let mut cut_before = 0;
        for quantised in cuts {
            let before = quarters(flow.current);
            flow.cnm(quantised);
            let (first_half, cut) = (quarters(flow.current), quarters(flow.current) - before);
            flow.byte_event();
            let second_half = quarters(flow.current);
            plain += cut / 2 + (cut - cut_before) / 4;
            prop_assert_eq!((first_half + second_half) / 2, plain);
            cut_before = cut;
        }
    }
}

/// Hayashi's reaction point: a byte cycle is 240 us at the current rate.
fn proportional() -> ReactionConfig {
    ReactionConfig { byte_cycle: Some(Duration::from_us(240)), ..traced(Profile::Standard) }
}

#[test]
fn a_proportional_byte_cycle_is_the_standards_at_half_of_10_gbps() {
    let mut flow = flow(ReactionConfig { gd_log2: 6, ..proportional() });
    flow.cnm(63);
    assert_eq!(flow.limit(), Some(Rate::from_gbps(5)));
    assert_eq!(flow.bytes_left, 150_000);
}

#[test]
fn a_proportional_byte_cycle_is_that_of_the_rate_it_begins_with() {
    let mut flow = flow(proportional());
    flow.cnm(63);
    assert_eq!(flow.bytes_left, 152_343, "5078.125 Mb/s for 240 us, after the cut");
    flow.byte_event();
    assert_eq!(flow.bytes_left, 226_171, "7539.0625 Mb/s for 240 us, after the climb");
    flow.time_event();
    assert_eq!(flow.bytes_left, 226_171, "a timer changes the rate and not the cycle that runs");
}

#[test]
fn a_proportional_byte_cycle_is_halved_as_a_fixed_one() {
    let mut flow = low_flow(ReactionConfig { threshold: 1, ..proportional() });
    flow.byte_event();
    flow.time_event();
    flow.byte_event();
    assert_eq!(flow.phase(), Phase::HyperActiveIncrease);
    let whole = flow.limit().unwrap().carries_in(Duration::from_us(240)).get() as i64;
    assert_eq!(flow.bytes_left, whole / 2);
}

/// Byte cycles in 10 ms of greedy sending at a quarter and at three quarters of the line, nothing else happening.
fn byte_cycles_of_unequal_flows(config: ReactionConfig) -> [u32; 2] {
    [2500, 7500].map(|mbps| {
        let rate = Rate::from_mbps(mbps);
        let mut flow = flow(config);
        flow.cnm(1);
        (flow.current, flow.target) = (Fixed::of(rate), Fixed::of(rate));
        flow.reload_bytes();
        // In fast recovery, with the target at the rate, the rate stays.
        for _ in 0..rate.carries_in(Duration::from_ms(10)).get() / 100 {
            flow.on_sent(Instant::START, Bytes::new(100));
        }
        flow.stages().0
    })
}

#[test]
fn with_proportional_cycles_a_fast_flow_climbs_no_more_often_than_a_slow_one() {
    // So many cycles of fast recovery that none of them changes the rate.
    let endless = |config| ReactionConfig { threshold: 1000, ..config };
    assert_eq!(byte_cycles_of_unequal_flows(endless(traced(Profile::Standard))), [20, 62]);
    assert_eq!(byte_cycles_of_unequal_flows(endless(proportional())), [41, 41]);
}

#[test]
fn life_of_a_flow_with_proportional_cycles() {
    let life =
        Transcript::of(flow(proportional())).notify(63).notify(63).notify(63).send(900).wait(20).send(900);
    assert_snapshot!(life.text, @"
       ms  event           current     target  cycles  phase
      0.0  cnm 63         5078.125  10000.000  0b 0t   FastRecovery
      0.0  cnm 63         2578.735  10000.000  0b 0t   FastRecovery
      0.0  cnm 63         1309.514  10000.000  0b 0t   FastRecovery
      0.0  frame 102      5654.757  10000.000  1b 0t   FastRecovery
      0.0  frame 216      7827.379  10000.000  2b 0t   FastRecovery
      0.0  frame 373      8913.689  10000.000  3b 0t   FastRecovery
      0.0  frame 552      9456.845  10000.000  4b 0t   FastRecovery
     15.0  timer          9728.422  10000.000  4b 1t   FastRecovery
     20.0  frame 142      9866.711  10005.000  5b 1t   ActiveIncrease
     20.0  frame 340      9938.356  10010.000  6b 1t   ActiveIncrease
     20.0  frame 539      9976.678  10015.000  7b 1t   ActiveIncrease
    ");
}

/// A flow's life, line by line.
struct Transcript {
    flow: QcnReaction,
    now: Instant,
    text: String,
}

impl Transcript {
    fn of(flow: QcnReaction) -> Transcript {
        let mut text = String::new();
        writeln!(text, "{:>6}  {:<13}{:>10} {:>10}  cycles  phase", "ms", "event", "current", "target")
            .unwrap();
        Transcript { flow, now: Instant::START, text }
    }

    fn notify(mut self, quantised: u8) -> Transcript {
        self.flow.on_feedback(self.now, Feedback::Cnm { quantised });
        self.line(&std::format!("cnm {quantised}"))
    }

    /// Sends frames of 1500 octets for `kb` thousand octets, with a line for each cycle that ended.
    fn send(mut self, kb: u64) -> Transcript {
        for frame in 1..=kb * 1000 / 1500 {
            let (bytes, _) = self.flow.stages();
            let limited = self.flow.limit().is_some();
            self.flow.on_sent(self.now, Bytes::new(1500));
            if self.flow.stages().0 != bytes || self.flow.limit().is_some() != limited {
                self = self.line(&std::format!("frame {frame}"));
            }
        }
        self
    }

    fn wait(mut self, ms: u64) -> Transcript {
        let until = self.now + Duration::from_ms(ms);
        while let Some(due) = self.flow.next_timeout().filter(|due| *due <= until) {
            self.now = due;
            self.flow.on_timeout(due);
            self = self.line("timer");
        }
        self.now = until;
        self
    }

    fn line(mut self, event: &str) -> Transcript {
        let (bytes, times) = self.flow.stages();
        let at = self.now.ps() / 100_000_000;
        let state = if self.flow.limit().is_some() {
            std::format!(
                "{:>10} {:>10}  {bytes}b {times}t   {:?}",
                mbps(self.flow.current, 3),
                mbps(self.flow.target, 3),
                self.flow.phase()
            )
        } else {
            "  released".to_string()
        };
        writeln!(self.text, "{:>6}  {event:<13}{state}", std::format!("{}.{}", at / 10, at % 10)).unwrap();
        self
    }
}

#[test]
fn life_of_a_flow() {
    let life = Transcript::of(flow(traced(Profile::Standard)))
        .notify(63)
        .send(160)
        .wait(20)
        .notify(32)
        .notify(8)
        .send(800)
        .wait(80)
        .send(400)
        .wait(100);
    assert_snapshot!(life.text, @"
       ms  event           current     target  cycles  phase
      0.0  cnm 63         5078.125  10000.000  0b 0t   FastRecovery
      0.0  frame 101      7539.063  10000.000  1b 0t   FastRecovery
     15.0  timer          8769.531  10000.000  1b 1t   FastRecovery
     20.0  cnm 32         6577.148   8769.531  0b 0t   FastRecovery
     20.0  cnm 8          6166.077   8769.531  0b 0t   FastRecovery
     20.0  frame 101      7467.804   8769.531  1b 0t   FastRecovery
     20.0  frame 202      8118.668   8769.531  2b 0t   FastRecovery
     20.0  frame 303      8444.099   8769.531  3b 0t   FastRecovery
     20.0  frame 404      8606.815   8769.531  4b 0t   FastRecovery
     20.0  frame 505      8690.673   8774.531  5b 0t   ActiveIncrease
     35.0  timer          8735.102   8779.531  5b 1t   ActiveIncrease
     50.0  timer          8759.817   8784.531  5b 2t   ActiveIncrease
     65.0  timer          8774.674   8789.531  5b 3t   ActiveIncrease
     80.0  timer          8784.603   8794.531  5b 4t   ActiveIncrease
     95.0  timer          8814.567   8844.531  5b 5t   HyperActiveIncrease
    100.0  frame 73       8854.549   8894.531  6b 5t   HyperActiveIncrease
    100.0  frame 124      8899.540   8944.531  7b 5t   HyperActiveIncrease
    100.0  frame 175      8947.036   8994.531  8b 5t   HyperActiveIncrease
    100.0  frame 226      8995.783   9044.531  9b 5t   HyperActiveIncrease
    102.5  timer          9070.157   9144.531  9b 6t   HyperActiveIncrease
    110.0  timer          9182.344   9294.531  9b 7t   HyperActiveIncrease
    117.5  timer          9338.438   9494.531  9b 8t   HyperActiveIncrease
    125.0  timer          9541.485   9744.531  9b 9t   HyperActiveIncrease
    132.5  timer          9768.008   9994.531  9b 10t   HyperActiveIncrease
    140.0  timer          released
    ");
}
