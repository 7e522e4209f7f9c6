//! DCTCP: congestion control by a window that shrinks with the share of frames that come marked (Data Center TCP,
//! SIGCOMM 2010; RFC 8257).
//!
//! A queue marks everything above a threshold ([`MarkingConfig::step`](super::ecn::MarkingConfig::step)), the
//! receiver says with each acknowledgement whether its frame was marked, and once a window the sender moves its
//! estimate towards the share that was. The first mark shrinks the window by half of the estimate at once, and those
//! that follow within a window of it do not. How frames are numbered, acknowledged
//! and repeated is not this machine's business: [`go_back_n`](super::go_back_n) does that.

use super::estimate::Estimate;
use crate::units::{Bytes, Share};

/// Parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What part of its way the estimate goes each window (g).
    pub gain: Share,
    /// What the estimate begins with: one, so that the first congestion is taken seriously.
    pub initial_alpha: Share,
    /// Octets the window grows by while a window of octets is acknowledged.
    pub segment: Bytes,
    /// What a flow begins with.
    pub initial_window: Bytes,
    /// The window is never smaller.
    pub min_window: Bytes,
    /// Nor larger.
    pub max_window: Bytes,
}

impl Config {
    /// The usual numbers (RFC 8257 section 4.2: g = 1/16; ten segments to begin with, RFC 6928) for segments of
    /// this length, up to `max_window`.
    pub const fn usual(segment: Bytes, max_window: Bytes) -> Config {
        Config {
            gain: Share { num: 1, den: 16 },
            initial_alpha: Share { num: 1, den: 1 },
            segment,
            initial_window: Bytes::new(10 * segment.get()),
            min_window: Bytes::new(2 * segment.get()),
            max_window,
        }
    }
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Octets acknowledged for the first time.
    pub octets: Bytes,
    /// Whether what it acknowledges came marked.
    pub marked: bool,
    /// The sequence number below which everything is acknowledged.
    pub until: u64,
    /// The sequence number that would be sent next.
    pub next: u64,
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct DctcpWindow {
    window: u64,
    /// Below this the window doubles each time it is acknowledged (slow start).
    threshold: u64,
    /// Octets acknowledged towards the next segment of growth.
    grown: u64,
    alpha: Estimate,
    /// The window over which marks are counted ends when this sequence number is acknowledged.
    ends: u64,
    /// Marks on frames before this sequence number have been answered: they were sent before the cut.
    answered: u64,
    acked: u64,
    marked: u64,
    config: Config,
}

impl DctcpWindow {
    /// The window of a flow that has sent nothing.
    ///
    /// # Panics
    /// When the window has no room for a segment, or the bounds are the wrong way round.
    pub fn new(config: Config) -> DctcpWindow {
        assert!(config.segment.get() > 0 && config.min_window >= config.segment, "a window holds a segment");
        assert!(config.min_window <= config.max_window, "a window that is smallest above its largest");
        assert!(config.gain.den > 0 && config.gain.num <= config.gain.den, "a gain is a share");
        DctcpWindow {
            window: config.initial_window.clamp(config.min_window, config.max_window).get(),
            threshold: u64::MAX,
            grown: 0,
            alpha: Estimate::of(config.initial_alpha),
            ends: 0,
            answered: 0,
            acked: 0,
            marked: 0,
            config,
        }
    }

    /// How much may be sent and not acknowledged.
    #[inline]
    pub fn window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    /// The estimate of congestion in millionths (alpha).
    pub fn alpha_ppm(&self) -> u32 {
        self.alpha.millionths()
    }

    /// An acknowledgement came.
    pub fn on_ack(&mut self, ack: Acknowledged) {
        let octets = ack.octets.get();
        self.acked += octets;
        if ack.marked {
            self.marked += octets;
            if ack.until > self.answered {
                self.answered = ack.next;
                let (num, den) = self.alpha.half();
                // Rounded up, to the safe side.
                let cut = (u128::from(self.window) * u128::from(num)).div_ceil(u128::from(den));
                self.shrink_by(u64::try_from(cut).expect("at most half a window"));
            }
        } else {
            self.grow(octets);
        }
        if ack.until >= self.ends {
            self.end_window(ack.next);
        }
    }

    /// A frame was found missing: a cut by half, as without marks.
    pub fn on_loss(&mut self) {
        self.shrink_by(self.window / 2);
    }

    /// Nothing was heard for too long: begin anew, from the smallest window.
    pub fn on_timeout(&mut self) {
        self.shrink_by(self.window / 2);
        self.window = self.config.min_window.get();
    }

    fn end_window(&mut self, next: u64) {
        if self.acked > 0 {
            let share = Estimate::ratio(self.marked, self.acked);
            self.alpha = self.alpha.towards(share, self.config.gain);
        }
        (self.acked, self.marked, self.ends) = (0, 0, next);
    }

    fn shrink_by(&mut self, octets: u64) {
        self.window = (self.window - octets).max(self.config.min_window.get());
        self.threshold = self.window;
        self.grown = 0;
    }

    fn grow(&mut self, octets: u64) {
        if self.window < self.threshold {
            self.window += octets;
        } else {
            self.grown += octets;
            if self.grown >= self.window {
                self.grown -= self.window;
                self.window += self.config.segment.get();
            }
        }
        self.window = self.window.min(self.config.max_window.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    const SEGMENT: u64 = 1000;

    fn flow() -> DctcpWindow {
        DctcpWindow::new(Config::usual(Bytes::new(SEGMENT), Bytes::new(1_000_000)))
    }

    /// A path on which one window is acknowledged after the other, segment by segment.
    struct Path {
        flow: DctcpWindow,
        acked: u64,
    }

    impl Path {
        fn new() -> Path {
            Path { flow: flow(), acked: 0 }
        }

        /// A whole window is acknowledged, and every `nth` segment of it was marked.
        fn round(&mut self, nth: u64) {
            let segments = self.flow.window().get() / SEGMENT;
            for segment in 1..=segments {
                self.acked += 1;
                let (until, next) = (self.acked, self.acked + self.flow.window().get() / SEGMENT);
                let marked = nth > 0 && segment.is_multiple_of(nth);
                self.flow.on_ack(Acknowledged { octets: Bytes::new(SEGMENT), marked, until, next });
            }
        }
    }

    #[test]
    fn a_new_flow_doubles_each_window_until_it_is_marked() {
        let mut path = Path::new();
        path.round(0);
        assert_eq!(path.flow.window(), Bytes::from_kb(20));
        path.round(0);
        assert_eq!(path.flow.window(), Bytes::from_kb(40));
        path.round(1);
        assert!(path.flow.window() < Bytes::from_kb(30));
        let cut = path.flow.window();
        path.round(0);
        path.round(0);
        let grown = path.flow.window() - cut;
        assert_eq!(
            grown,
            Bytes::new(SEGMENT),
            "then by a segment a window; two rounds here, as it is no whole number"
        );
    }

    #[test]
    fn the_first_mark_halves_while_the_estimate_is_one() {
        let mut flow = flow();
        flow.on_ack(Acknowledged { octets: Bytes::new(10_000), marked: true, until: 10, next: 15 });
        assert_eq!(flow.alpha_ppm(), 1_000_000);
        assert_eq!(flow.window(), Bytes::new(5_000));
    }

    #[test]
    fn marks_cut_once_a_window() {
        let mut flow = flow();
        let ack = |until| Acknowledged { octets: Bytes::new(SEGMENT), marked: true, until, next: 10 };
        let windows: std::vec::Vec<u64> = (1..=11)
            .map(|until| {
                flow.on_ack(ack(until));
                flow.window().get()
            })
            .collect();
        assert_eq!(windows[..10], [5_000; 10], "frames 1 to 9 were on the way before the cut");
        assert_eq!(windows[10], 2_500);
    }

    #[test]
    fn the_estimate_is_that_of_a_share_that_stays() {
        let mut path = Path::new();
        path.flow.config.max_window = Bytes::from_kb(100);
        for _ in 0..300 {
            // Every fourth of a hundred segments, whatever the marks would make of the window.
            (path.flow.window, path.flow.threshold) = (100_000, 0);
            path.round(4);
        }
        assert!(path.flow.alpha_ppm().abs_diff(250_000) < 5_000, "{}", path.flow.alpha_ppm());
    }

    #[test]
    fn losses_halve_and_silence_begins_anew() {
        let mut flow = flow();
        flow.on_loss();
        assert_eq!(flow.window(), Bytes::from_kb(5));
        flow.on_timeout();
        assert_eq!(flow.window(), Bytes::from_kb(2));
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_window_in_bounds(
            history in prop::collection::vec((0u8..12, 1u64..100_000, any::<bool>()), 0..300),
        ) {
            let mut flow = flow();
            let mut until = 0;
            for (what, octets, marked) in history {
                match what {
                    0 => flow.on_loss(),
                    1 => flow.on_timeout(),
                    _ => {
                        until += octets;
                        let next = until + flow.window().get();
                        flow.on_ack(Acknowledged { octets: Bytes::new(octets), marked, until, next });
                    }
                }
                let window = flow.window();
                prop_assert!((flow.config.min_window..=flow.config.max_window).contains(&window), "{window}");
                prop_assert!(flow.alpha_ppm() <= 1_000_000);
            }
        }
    }

    #[test]
    fn life_of_a_window() {
        let mut path = Path::new();
        let mut text = String::from("round  marked   window    alpha\n");
        for (round, nth) in [0, 0, 0, 2, 2, 4, 4, 8, 8, 0, 0, 0, 1, 0].into_iter().enumerate() {
            path.round(nth);
            let share = if nth == 0 { String::from("-") } else { std::format!("1/{nth}") };
            let (window, alpha) = (path.flow.window().get(), f64::from(path.flow.alpha_ppm()) / 1e6);
            writeln!(text, "{:>5}  {share:>6}  {window:>7}  {alpha:>7.4}", round + 1).unwrap();
        }
        assert_snapshot!(text, @"
    round  marked   window    alpha
        1       -    20000   0.9375
        2       -    40000   0.8789
        3       -    80000   0.8240
        4     1/2    49714   0.7725
        5     1/2    30935   0.7554
        6     1/4    19506   0.7388
        7     1/4    13254   0.7072
        8     1/8    14254   0.6762
        9     1/8     9701   0.6387
       10       -    10701   0.6033
       11       -    11701   0.5656
       12       -    12701   0.5302
       13     1/1     9333   0.5028
       14       -     9333   0.5286
    ");
    }
}
