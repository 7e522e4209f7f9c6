//! Tests of the reaction point: worked traces, its rules one by one, another arithmetic, any history, a life.

use super::*;
use crate::control::dcqcn::{Profile, preset};
use crate::units::{Duration, Share};
use insta::assert_snapshot;
use proptest::prelude::*;
use std::fmt::Write;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_us(us)
}

fn paper() -> ReactionConfig {
    Profile::Paper.reaction(Rate::from_gbps(40))
}

fn hpcc() -> ReactionConfig {
    preset("hpcc-100G").unwrap().reaction
}

/// A flow that was told of congestion at these microseconds, its timers served on time.
fn told(config: ReactionConfig, times_us: &[u64]) -> DcqcnReaction {
    let mut flow = DcqcnReaction::new(config);
    for us in times_us {
        flow.run_until(at(*us));
        flow.on_feedback(at(*us), Feedback::Cnp);
    }
    flow
}

impl DcqcnReaction {
    fn run_until(&mut self, until: Instant) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= until) {
            self.on_timeout(due);
        }
    }

    fn kbps(&self) -> u64 {
        self.current.floor().bps() / 1000
    }
}

#[test]
fn the_first_notification_halves_and_fast_recovery_takes_four_steps() {
    let mut flow = told(paper(), &[0]);
    assert_eq!(flow.limit(), Some(Rate::from_gbps(20)));
    // Half the way back to 40 Gb/s at each of the first four cycles; then 40 Mb/s further at each.
    let climb = [30_000_000, 35_000_000, 37_500_000, 38_750_000, 39_395_000, 39_737_500, 39_928_750];
    for (cycle, kbps) in climb.into_iter().enumerate() {
        flow.run_until(at(55 * (cycle as u64 + 1)));
        assert_eq!(flow.kbps(), kbps, "cycle {}", cycle + 1);
    }
    // The eighth passes the maximum on its way to 40.16 Gb/s.
    flow.run_until(at(440));
    assert_eq!(flow.limit(), None);
    assert_eq!(flow.next_timeout(), None);
}

#[test]
fn a_cut_takes_half_of_the_estimate_and_the_estimate_falls_while_nothing_comes() {
    // 550 us are ten periods: alpha is (255/256)^10 = 0.961617.
    let mut flow = told(paper(), &[0]);
    assert_eq!(flow.alpha_ppm(at(0)), 1_000_000, "it cannot rise any more");
    assert_eq!(flow.alpha_ppm(at(549)), 965_388, "nine periods");
    flow.run_until(at(550));
    assert_eq!(flow.alpha_ppm(at(550)), 961_617);
    flow.on_feedback(at(550), Feedback::Cnp);
    // 40 Gb/s less 48.08 %; and the estimate has risen by 1/256 of what it was short of one.
    assert_eq!(flow.kbps(), 20_767_659);
    assert_eq!(flow.alpha_ppm(at(550)), 961_766);
}

#[test]
fn the_estimate_rises_before_the_cut_where_so_configured() {
    let before = ReactionConfig { alpha_rule: AlphaRule::BeforeCut, ..paper() };
    let mut flow = told(before, &[0]);
    flow.run_until(at(550));
    flow.on_feedback(at(550), Feedback::Cnp);
    assert_eq!(flow.alpha_ppm(at(550)), 961_766);
    assert_eq!(flow.kbps(), 20_764_660, "less by half of 0.000150 of 40 Gb/s");
}

#[test]
fn octets_count_beside_time_and_both_together_make_the_increase_hyper() {
    let mut flow = told(paper(), &[0]);
    (flow.current, flow.target) = (Fixed::of(Rate::from_gbps(1)), Fixed::of(Rate::from_gbps(1)));
    let cycle = |flow: &mut DcqcnReaction| flow.on_sent(at(0), Bytes::new(10_000_001));
    for _ in 0..5 {
        cycle(&mut flow);
    }
    assert_eq!(flow.stages(), (5, 0));
    assert_eq!(flow.target(), Rate::from_mbps(1_040), "the fifth byte cycle adds 40 Mb/s");
    flow.run_until(at(5 * 55));
    assert_eq!(flow.stages(), (5, 5));
    assert_eq!(flow.target(), Rate::from_mbps(1_240), "and so does each of five time cycles");
    cycle(&mut flow);
    assert_eq!(flow.target(), Rate::from_mbps(1_280), "the time cycles are not past the threshold yet");
    flow.run_until(at(6 * 55));
    assert_eq!(flow.target(), Rate::from_mbps(1_680), "both are");
    cycle(&mut flow);
    flow.run_until(at(7 * 55));
    assert_eq!(flow.target(), Rate::from_mbps(1_680 + 400 + 800), "the steps grow with the lesser count");
}

#[test]
fn what_a_burst_of_cuts_climbs_back_to_is_the_clamps_choice() {
    // Cuts at 0 and, after a time cycle but no byte cycle, at 60 us.
    let target = |clamp| told(ReactionConfig { clamp, ..paper() }, &[0, 60]).target();
    assert_eq!(target(Clamp::EveryCut), Rate::from_gbps(30));
    assert_eq!(target(Clamp::AfterAnyCycle), Rate::from_gbps(30));
    assert_eq!(target(Clamp::AfterByteCycle), Rate::from_gbps(40));
    // Two cuts with nothing between them.
    let target = |clamp| told(ReactionConfig { clamp, ..paper() }, &[0, 1]).target();
    assert_eq!(target(Clamp::EveryCut), Rate::from_gbps(20));
    assert_eq!(target(Clamp::AfterAnyCycle), Rate::from_gbps(40));
    assert_eq!(target(Clamp::AfterByteCycle), Rate::from_gbps(40));
}

#[test]
fn an_adapter_cuts_at_the_tick_after_a_notification_and_once_a_tick() {
    let mut flow = told(hpcc(), &[10, 11, 12]);
    assert_eq!(flow.limit(), None, "nothing is cut before the tick");
    assert_eq!(flow.next_timeout(), Some(at(14)));
    flow.run_until(at(14));
    // Notified in the periods that end at 12 and 13, not in those that end at 11 and 14, all gains 1/256.
    let g = 1.0 / 256.0;
    let alpha =
        (0..4).fold(
            1.0,
            |alpha, period| {
                if [1, 2].contains(&period) { (1.0 - g) * alpha + g } else { (1.0 - g) * alpha }
            },
        );
    let expected = 100e9 * (1.0 - alpha / 2.0);
    assert!((flow.current.floor().bps() as f64 - expected).abs() < 100.0);
    assert_eq!(flow.next_timeout(), Some(at(314)), "the next is the end of a time cycle");
    flow.run_until(at(20));
    flow.on_feedback(at(20), Feedback::Cnp);
    assert_eq!(flow.next_timeout(), Some(at(22)), "ticks count from the first notification");
}

#[test]
fn an_adapter_recovers_adds_and_then_adds_more() {
    let mut flow = told(hpcc(), &[0]);
    flow.run_until(at(4));
    let (cut, full) = (flow.current, Fixed::of(Rate::from_gbps(100)));
    flow.run_until(at(304));
    assert_eq!(flow.current, cut.halfway_to(full), "one cycle of fast recovery");
    flow.target = Fixed::of(Rate::from_gbps(60));
    flow.run_until(at(604));
    assert_eq!(flow.target(), Rate::from_mbps(60_050), "one of additive increase");
    flow.run_until(at(904));
    flow.run_until(at(1204));
    assert_eq!(flow.target(), Rate::from_mbps(60_250), "hyper increase from then on, always as much");
}

#[test]
fn a_capped_target_does_not_keep_the_limiter_for_good() {
    let mut flow = told(hpcc(), &[0]);
    flow.run_until(at(20_000));
    assert_eq!(flow.limit(), None);
    assert_eq!(flow.next_timeout(), None);
}

#[test]
fn a_release_does_not_forget_the_estimate() {
    let mut flow = told(hpcc(), &[0]);
    flow.run_until(at(20_000));
    assert_eq!(flow.alpha_ppm(at(20_000)), 0);
    flow.on_feedback(at(20_000), Feedback::Cnp);
    flow.run_until(at(20_004));
    // One of 256 parts, and three periods of decay: a cut of a five hundredth.
    assert_eq!(flow.kbps() / 1000, 99_806);
}

#[test]
fn the_first_notification_can_set_a_rate() {
    let config = ReactionConfig { first_rate: Some(Rate::from_gbps(10)), ..hpcc() };
    let mut flow = told(config, &[0]);
    assert_eq!(flow.limit(), Some(Rate::from_gbps(10)));
    flow.run_until(at(4));
    assert_eq!(flow.kbps() / 1_000_000, 5);
    assert_eq!(flow.target(), Rate::from_gbps(10));
}

#[test]
fn no_cut_goes_below_the_minimum() {
    let mut flow = told(paper(), &(0..40).collect::<Vec<_>>());
    assert_eq!(flow.limit(), Some(Rate::from_mbps(40)));
    flow.run_until(at(100));
    assert_eq!(flow.limit(), Some(Rate::from_mbps(40)), "its goal is the rate before the last cut");
    let slow = ReactionConfig { max_rate: Rate::from_mbps(10), ..paper() };
    assert_eq!(told(slow, &[0]).limit(), Some(Rate::from_mbps(10)), "on a port of less");
}

#[test]
fn absurd_parameters_do_not_overflow() {
    let config = ReactionConfig {
        max_rate: Rate::from_bps(u64::MAX),
        hai_rate: Rate::from_bps(u64::MAX),
        threshold: 0,
        gain: Share { num: u32::MAX, den: u32::MAX },
        ..hpcc()
    };
    let mut flow = told(config, &[0]);
    flow.time_stage = u32::MAX;
    flow.run_until(at(2000));
    assert_eq!(flow.limit(), None);
}

/// The adapter's rules once more, in floats and with a clock that ticks every microsecond: what the lazy periods
/// and the whole numbers of the machine are held against.
struct Reference {
    config: ReactionConfig,
    now: u64,
    first: Option<u64>,
    alpha: f64,
    alpha_told: bool,
    cut_told: bool,
    rate: f64,
    target: f64,
    stage: u32,
    timer: Option<u64>,
}

impl Reference {
    fn new(config: ReactionConfig) -> Reference {
        let full = config.max_rate.bps() as f64;
        Reference {
            config,
            now: 0,
            first: None,
            alpha: 1.0,
            alpha_told: false,
            cut_told: false,
            rate: full,
            target: full,
            stage: 0,
            timer: None,
        }
    }

    fn tick(&mut self) {
        self.now += 1;
        let Some(first) = self.first else { return };
        let g = f64::from(self.config.gain.num) / f64::from(self.config.gain.den);
        self.alpha = (1.0 - g) * self.alpha + if self.alpha_told { g } else { 0.0 };
        self.alpha_told = false;
        if (self.now - first).is_multiple_of(4) && self.cut_told {
            if self.stage > 0 || self.timer.is_none() {
                self.target = self.rate;
            }
            self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.config.min_rate.bps() as f64);
            (self.stage, self.cut_told) = (0, false);
            self.timer = Some(self.now + 300);
        }
        if self.timer == Some(self.now) {
            self.timer = Some(self.now + 300);
            self.target += match self.stage.cmp(&self.config.threshold) {
                core::cmp::Ordering::Less => 0.0,
                core::cmp::Ordering::Equal => self.config.ai_rate.bps() as f64,
                core::cmp::Ordering::Greater => self.config.hai_rate.bps() as f64,
            };
            self.target = self.target.min(self.config.max_rate.bps() as f64);
            self.rate = (self.rate + self.target) / 2.0;
            self.stage += 1;
        }
    }

    fn notify(&mut self) {
        self.cut_told = true;
        self.alpha_told = self.first.is_some();
        self.first.get_or_insert(self.now);
    }
}

proptest! {
    /// Over a simulated 10 ms: the rates agree to a part in a million, however often the flow is told.
    #[test]
    fn an_adapter_agrees_with_its_rules_in_floats(
        gaps in prop::collection::vec(prop_oneof![3 => 1u64..60, 1 => 60u64..2_000], 1..150),
    ) {
        let mut flow = DcqcnReaction::new(hpcc());
        let mut reference = Reference::new(hpcc());
        let mut now = 0;
        for gap in gaps {
            now += gap;
            while reference.now < now {
                reference.tick();
                flow.run_until(at(reference.now));
                let rate = flow.limit().unwrap_or(flow.config.max_rate).bps() as f64;
                let off = (rate - reference.rate).abs() / reference.rate;
                prop_assert!(off < 1e-6, "{rate} and {} at {} us", reference.rate, reference.now);
            }
            reference.notify();
            flow.on_feedback(at(now), Feedback::Cnp);
        }
    }

    #[test]
    fn any_history_keeps_the_rate_in_bounds_and_ends_in_release(
        nic: bool,
        clamp in prop_oneof![Just(Clamp::EveryCut), Just(Clamp::AfterByteCycle), Just(Clamp::AfterAnyCycle)],
        rule in prop_oneof![Just(AlphaRule::AfterCut), Just(AlphaRule::BeforeCut), Just(AlphaRule::EachPeriod)],
        cut_period in 0u64..8,
        threshold in 0u32..6,
        history in prop::collection::vec((0u8..3, 1u64..200_000), 0..300),
    ) {
        let base = if nic { hpcc() } else { paper() };
        let cut_period = Duration::from_us(cut_period);
        let config = ReactionConfig { clamp, alpha_rule: rule, cut_period, threshold, ..base };
        let mut flow = DcqcnReaction::new(config);
        let mut now = Instant::START;
        for (what, amount) in history {
            now = now + Duration::from_ns(amount);
            flow.run_until(now);
            match what {
                0 => flow.on_feedback(now, Feedback::Cnp),
                1 => flow.on_sent(now, Bytes::new(50 * amount)),
                _ => flow.on_timeout(now),
            }
            prop_assert!(flow.target >= flow.current);
            if let Some(limit) = flow.limit() {
                prop_assert!(config.min_rate <= limit && limit < config.max_rate);
                prop_assert!(flow.next_timeout().is_some_and(|due| due > now));
            }
        }
        flow.run_until(now + Duration::from_ms(800));
        prop_assert_eq!(flow.limit(), None);
        prop_assert_eq!(flow.next_timeout(), None);
    }
}

/// A flow's life, line by line.
fn life(config: ReactionConfig, told_at: &[u64], until: u64) -> String {
    let mut text =
        format!("{:>5}  {:<6}{:>10} {:>10} {:>7}  cycles\n", "us", "event", "current", "target", "alpha");
    let mut flow = DcqcnReaction::new(config);
    let mut told_at = told_at.iter().map(|us| at(*us)).peekable();
    while let Some(now) = [told_at.peek().copied(), flow.next_timeout()].into_iter().flatten().min() {
        if now > at(until) {
            break;
        }
        let event = if flow.next_timeout().is_some_and(|due| due <= now) {
            let is_cut = flow.cut_due == now;
            flow.on_timeout(now);
            if is_cut { "cut" } else { "timer" }
        } else {
            told_at.next();
            flow.on_feedback(now, Feedback::Cnp);
            "cnp"
        };
        let mbps = |rate: Fixed| format!("{:.3}", rate.floor().bps() as f64 / 1e6);
        let state = match flow.limit() {
            Some(_) => {
                let alpha = f64::from(flow.alpha_ppm(now)) / 1e6;
                let (bytes, times) = flow.stages();
                format!(
                    "{:>10} {:>10} {alpha:>7.4}  {bytes}b {times}t",
                    mbps(flow.current),
                    mbps(flow.target)
                )
            }
            None => "  not limited".to_string(),
        };
        writeln!(text, "{:>5}  {event:<6}{state}", now.ps() / 1_000_000).unwrap();
    }
    text
}

#[test]
fn life_of_a_flow_as_in_the_paper() {
    assert_snapshot!(life(paper(), &[0, 50, 100, 1000], 1500), @"
      us  event    current     target   alpha  cycles
       0  cnp    20000.000  40000.000  1.0000  0b 0t
      50  cnp    10000.000  20000.000  1.0000  0b 0t
     100  cnp     5000.000  10000.000  1.0000  0b 0t
     155  timer   7500.000  10000.000  0.9961  0b 1t
     210  timer   8750.000  10000.000  0.9922  0b 2t
     265  timer   9375.000  10000.000  0.9883  0b 3t
     320  timer   9687.500  10000.000  0.9845  0b 4t
     375  timer   9863.750  10040.000  0.9806  0b 5t
     430  timer   9971.875  10080.000  0.9768  0b 6t
     485  timer  10045.938  10120.000  0.9730  0b 7t
     540  timer  10102.969  10160.000  0.9692  0b 8t
     595  timer  10151.484  10200.000  0.9654  0b 9t
     650  timer  10195.742  10240.000  0.9616  0b 10t
     705  timer  10237.871  10280.000  0.9579  0b 11t
     760  timer  10278.936  10320.000  0.9541  0b 12t
     815  timer  10319.468  10360.000  0.9504  0b 13t
     870  timer  10359.734  10400.000  0.9467  0b 14t
     925  timer  10399.867  10440.000  0.9430  0b 15t
     980  timer  10439.933  10480.000  0.9393  0b 16t
    1000  cnp     5536.829  10439.933  0.9395  0b 0t
    1055  timer   7988.381  10439.933  0.9359  0b 1t
    1110  timer   9214.157  10439.933  0.9322  0b 2t
    1165  timer   9827.045  10439.933  0.9286  0b 3t
    1220  timer  10133.489  10439.933  0.9249  0b 4t
    1275  timer  10306.711  10479.933  0.9213  0b 5t
    1330  timer  10413.322  10519.933  0.9177  0b 6t
    1385  timer  10486.628  10559.933  0.9141  0b 7t
    1440  timer  10543.281  10599.933  0.9106  0b 8t
    1495  timer  10591.607  10639.933  0.9070  0b 9t
    ");
}

#[test]
fn life_of_a_flow_in_an_adapter() {
    assert_snapshot!(life(hpcc(), &[0, 1, 2, 7, 650], 2600), @"
      us  event    current     target   alpha  cycles
       0  cnp     not limited
       1  cnp     not limited
       2  cnp     not limited
       4  cut    50388.345 100000.000  0.9922  0b 0t
       7  cnp    50388.345 100000.000  0.9807  0b 0t
       8  cut    25679.757 100000.000  0.9807  0b 0t
     308  timer  62839.879 100000.000  0.3031  0b 1t
     608  timer  81419.939 100000.000  0.0937  0b 2t
     650  cnp    81419.939 100000.000  0.0795  0b 2t
     652  cut    78050.931  81419.939  0.0828  0b 0t
     952  timer  79735.435  81419.939  0.0256  0b 1t
    1252  timer  80602.687  81469.939  0.0079  0b 2t
    1552  timer  81086.313  81569.939  0.0024  0b 3t
    1852  timer  81378.126  81669.939  0.0008  0b 4t
    2152  timer  81574.033  81769.939  0.0002  0b 5t
    2452  timer  81721.986  81869.939  0.0001  0b 6t
    ");
}

#[test]
fn what_was_told_is_not_forgotten_with_the_limit() {
    let mut flow = DcqcnReaction::new(preset("nic-100G").unwrap().reaction);
    assert!(flow.is_spent());
    flow.on_feedback(Instant::START, Feedback::Cnp);
    assert_eq!(flow.limit(), None, "the cut waits for its clock");
    assert!(!flow.is_spent());
}
