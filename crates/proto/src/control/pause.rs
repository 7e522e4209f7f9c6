//! PAUSE and PFC: when a buffer stops its peer, and what the peer does about it.
//!
//! One [`PauseSender`] and one [`PauseReceiver`] serve a port under 802.3x PAUSE, one of each for every
//! lossless priority under 802.1Qbb PFC; which frame carries a [`Signal`] is the driver's choice.

pub use super::headroom;

use crate::units::{Bytes, Duration, Instant, Quanta, Rate};

/// When a buffer stops and restarts its peer, and for how long it asks at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseConfig {
    /// Stop the peer when the buffer holds more than this.
    pub stop: Bytes,
    /// Let it go when the buffer holds less than this.
    pub go: Bytes,
    /// The pause asked for; refreshed at half of it.
    pub quanta: Quanta,
}

/// What a buffer tells its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Start no frame for this long (XOFF).
    Stop(Quanta),
    /// Start frames again (XON): a pause of no quanta.
    Go,
}

impl Signal {
    /// The pause time a frame carries for it.
    pub fn quanta(self) -> Quanta {
        match self {
            Signal::Stop(quanta) => quanta,
            Signal::Go => Quanta(0),
        }
    }
}

/// The congested side: watches one buffer, and stops the peer that fills it.
#[derive(Clone, Debug)]
pub struct PauseSender {
    config: PauseConfig,
    /// When the stop in force is to be said again; `None` while the peer may send.
    refresh: Option<Instant>,
}

impl PauseSender {
    /// A sender whose peer may send.
    ///
    /// # Panics
    /// When `go` lies above `stop`, so that one level would both stop and restart, or the pause is of no
    /// quanta, which would be a restart.
    pub fn new(config: PauseConfig) -> PauseSender {
        assert!(config.go <= config.stop, "a buffer that restarts its peer above the level that stops it");
        assert!(config.quanta > Quanta(0), "a stop of no quanta is a restart");
        PauseSender { config, refresh: None }
    }

    /// The buffer holds `level` now, on a port of this `rate`; to be called after every change of it.
    /// An empty buffer always lets its peer go, whatever the thresholds.
    #[inline]
    pub fn on_level(&mut self, now: Instant, level: Bytes, rate: Rate) -> Option<Signal> {
        if self.is_stopping() {
            if level >= self.config.go && level > Bytes::ZERO {
                return None;
            }
            self.refresh = None;
            Some(Signal::Go)
        } else if level > self.config.stop {
            Some(self.stop(now, rate))
        } else {
            None
        }
    }

    /// Whether it would say nothing at this level, nor at any below it.
    #[inline]
    pub fn is_content_with(&self, level: Bytes) -> bool {
        !self.is_stopping() && level <= self.config.stop
    }

    /// When `on_timeout` is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.refresh
    }

    /// The time `next_timeout` named has come: a stop still in force is said again, before the peer's pause
    /// runs out. Early or repeated calls change nothing.
    pub fn on_timeout(&mut self, now: Instant, rate: Rate) -> Option<Signal> {
        let due = self.refresh.is_some_and(|due| due <= now);
        due.then(|| self.stop(now, rate))
    }

    /// The peer may have forgotten what it was told, as after a failure of the link: a stop in force is said again.
    pub fn repeat(&mut self, now: Instant, rate: Rate) -> Option<Signal> {
        self.is_stopping().then(|| self.stop(now, rate))
    }

    /// Whether the last signal was a stop.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.refresh.is_some()
    }

    /// New levels, for thresholds that follow the memory still free. They count from the next `on_level`.
    ///
    /// # Panics
    /// When `go` lies above `stop`.
    pub fn set_thresholds(&mut self, stop: Bytes, go: Bytes) {
        assert!(go <= stop, "a buffer that restarts its peer above the level that stops it");
        (self.config.stop, self.config.go) = (stop, go);
    }

    fn stop(&mut self, now: Instant, rate: Rate) -> Signal {
        let pause = self.config.quanta.on_port(rate);
        // Half the time advertised leaves the other half for the way to the peer.
        self.refresh = Some(now + Duration::from_ps(pause.ps() / 2));
        Signal::Stop(self.config.quanta)
    }
}

/// The sending side: knows until when it may start no frame. A frame already started is finished, and MAC
/// control frames are never paused; both are the driver's to respect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseReceiver {
    until: Option<Instant>,
}

impl PauseReceiver {
    /// A frame asked for a pause, on a port of this `rate`. It replaces what was left of the last one,
    /// longer or shorter; none (XON) ends it.
    pub fn on_quanta(&mut self, now: Instant, quanta: Quanta, rate: Rate) {
        self.until = (quanta > Quanta(0)).then(|| now + quanta.on_port(rate));
    }

    /// Whether no frame may start now.
    #[inline]
    pub fn is_paused(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// When the last pause ends or ended, unless it was cancelled.
    #[inline]
    pub fn until(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use std::fmt::Write;
    use std::string::String;

    const TEN: Rate = Rate::from_gbps(10);

    /// The thresholds of "Unbiased QCN for scalable server-rack fabrics", Table I.
    fn config() -> PauseConfig {
        PauseConfig { stop: Bytes::from_kb(110), go: Bytes::from_kb(44), quanta: Quanta::MAX }
    }

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    #[test]
    fn a_buffer_stops_its_peer_above_the_threshold_not_at_it() {
        let mut sender = PauseSender::new(config());
        assert_eq!(sender.on_level(at(0), Bytes::from_kb(110), TEN), None);
        assert_eq!(sender.on_level(at(1), Bytes::new(110_001), TEN), Some(Signal::Stop(Quanta::MAX)));
        assert!(sender.is_stopping());
    }

    #[test]
    fn it_says_so_once_and_lets_go_below_the_lower_threshold() {
        let mut sender = PauseSender::new(config());
        sender.on_level(at(0), Bytes::from_kb(120), TEN);
        assert_eq!(sender.on_level(at(1), Bytes::from_kb(130), TEN), None);
        assert_eq!(sender.on_level(at(2), Bytes::from_kb(44), TEN), None);
        assert_eq!(sender.on_level(at(3), Bytes::new(43_999), TEN), Some(Signal::Go));
        assert_eq!(sender.on_level(at(4), Bytes::ZERO, TEN), None);
        assert_eq!(sender.next_timeout(), None);
    }

    #[test]
    fn a_stop_is_said_again_at_half_its_time() {
        let mut sender = PauseSender::new(PauseConfig { quanta: Quanta(1000), ..config() });
        sender.on_level(at(0), Bytes::from_kb(120), TEN);
        // 1000 quanta of 51.2 ns.
        let due = Instant::START + Duration::from_ns(25_600);
        assert_eq!(sender.next_timeout(), Some(due));
        assert_eq!(sender.on_timeout(Instant::from_ps(due.ps() - 1), TEN), None);
        assert_eq!(sender.on_timeout(due, TEN), Some(Signal::Stop(Quanta(1000))));
        assert_eq!(sender.on_timeout(due, TEN), None);
        assert_eq!(sender.next_timeout(), Some(due + Duration::from_ns(25_600)));
    }

    #[test]
    fn an_empty_buffer_lets_its_peer_go_whatever_the_thresholds() {
        let mut sender = PauseSender::new(config());
        sender.on_level(at(0), Bytes::from_kb(120), TEN);
        sender.set_thresholds(Bytes::ZERO, Bytes::ZERO);
        assert_eq!(sender.on_level(at(1), Bytes::new(64), TEN), None);
        assert_eq!(sender.on_level(at(2), Bytes::ZERO, TEN), Some(Signal::Go));
    }

    #[test]
    fn thresholds_that_move_count_from_the_next_level() {
        let mut sender = PauseSender::new(config());
        sender.set_thresholds(Bytes::from_kb(20), Bytes::from_kb(17));
        assert!(!sender.is_stopping());
        assert_eq!(sender.on_level(at(0), Bytes::from_kb(21), TEN), Some(Signal::Stop(Quanta::MAX)));
        sender.set_thresholds(Bytes::from_kb(50), Bytes::from_kb(47));
        assert_eq!(sender.on_level(at(1), Bytes::from_kb(21), TEN), Some(Signal::Go));
    }

    #[test]
    #[should_panic(expected = "restarts its peer above")]
    fn thresholds_the_wrong_way_round_are_refused() {
        PauseSender::new(PauseConfig { go: Bytes::from_kb(111), ..config() });
    }

    #[test]
    #[should_panic(expected = "a stop of no quanta")]
    fn a_stop_of_no_time_is_refused() {
        PauseSender::new(PauseConfig { quanta: Quanta(0), ..config() });
    }

    #[test]
    fn signals_carry_their_quanta() {
        assert_eq!(Signal::Stop(Quanta(7)).quanta(), Quanta(7));
        assert_eq!(Signal::Go.quanta(), Quanta(0));
    }

    #[test]
    fn a_pause_ends_by_itself() {
        let mut receiver = PauseReceiver::default();
        assert!(!receiver.is_paused(at(0)));
        receiver.on_quanta(at(1), Quanta(100), TEN);
        let until = at(1) + Duration::from_ns(5_120);
        assert_eq!(receiver.until(), Some(until));
        assert!(receiver.is_paused(Instant::from_ps(until.ps() - 1)));
        assert!(!receiver.is_paused(until));
    }

    #[test]
    fn a_new_pause_replaces_what_was_left_of_the_old() {
        let mut receiver = PauseReceiver::default();
        receiver.on_quanta(at(0), Quanta::MAX, TEN);
        receiver.on_quanta(at(1), Quanta(1), TEN);
        assert_eq!(receiver.until(), Some(at(1) + Duration::from_ps(51_200)));
    }

    #[test]
    fn no_quanta_end_a_pause() {
        let mut receiver = PauseReceiver::default();
        receiver.on_quanta(at(0), Quanta::MAX, TEN);
        receiver.on_quanta(at(1), Quanta(0), TEN);
        assert_eq!(receiver.until(), None);
        assert!(!receiver.is_paused(at(1)));
    }

    proptest! {
        /// A sender and its peer over a wire that takes less than half the pause: whatever the buffer does,
        /// the peer is paused exactly while the sender wants it to be, but for the wire's delay.
        #[test]
        fn a_stop_holds_until_it_is_lifted(
            levels in prop::collection::vec((0u64..200_000, 1u64..3_000_000), 1..100),
            quanta in 10u16..2_000,
            wire_percent in 0u64..45,
        ) {
            let config = PauseConfig { quanta: Quanta(quanta), ..config() };
            let wire = Duration::from_ps(config.quanta.on_port(TEN).ps() * wire_percent / 100);
            let (mut sender, mut receiver) = (PauseSender::new(config), PauseReceiver::default());
            let mut now = Instant::START;
            for (level, gap) in levels {
                let next = now + Duration::from_ps(gap);
                while let Some(due) = sender.next_timeout().filter(|due| *due <= next) {
                    let signal = sender.on_timeout(due, TEN).expect("a due stop is said again");
                    prop_assert!(receiver.is_paused(due + wire), "ran out before the refresh came");
                    receiver.on_quanta(due + wire, signal.quanta(), TEN);
                }
                now = next;
                let was_stopping = sender.is_stopping();
                let signal = sender.on_level(now, Bytes::new(level), TEN);
                prop_assert_eq!(signal.is_some(), sender.is_stopping() != was_stopping);
                if let Some(signal) = signal {
                    receiver.on_quanta(now + wire, signal.quanta(), TEN);
                    prop_assert_eq!(receiver.is_paused(now + wire), sender.is_stopping());
                }
                prop_assert!(sender.is_stopping() || level <= 110_000);
                prop_assert!(!sender.is_stopping() || level >= 44_000);
            }
        }
    }

    #[test]
    fn life_of_a_paused_link() {
        // A buffer that fills at 10 Gb/s less 2 Gb/s of service, drains at 2 Gb/s, and a peer 1 us away.
        let (mut sender, mut receiver) =
            (PauseSender::new(PauseConfig { quanta: Quanta(2_000), ..config() }), PauseReceiver::default());
        let wire = Duration::from_us(1);
        let mut on_the_wire: Option<(Instant, Signal)> = None;
        let mut level = 0u64;
        let mut text = String::from("    us    level  event\n");
        for us in 0..600 {
            let now = at(us);
            if let Some((_, signal)) = on_the_wire.take_if(|(arrives, _)| *arrives <= now) {
                receiver.on_quanta(now, signal.quanta(), TEN);
            }
            let arriving = if receiver.is_paused(now) { 0 } else { 1250 };
            level = (level + arriving).saturating_sub(250);
            let refresh = sender.on_timeout(now, TEN);
            let event = if refresh.is_some() { "refresh" } else { "level" };
            if let Some(signal) = sender.on_level(now, Bytes::new(level), TEN).or(refresh) {
                on_the_wire = Some((now + wire, signal));
                writeln!(text, "{us:>6}  {level:>7}  {event}: {signal:?}").unwrap();
            }
        }
        assert_snapshot!(text, @"
     us    level  event
    110   111000  level: Stop(Quanta(2000))
    162    98000  refresh: Stop(Quanta(2000))
    214    85000  refresh: Stop(Quanta(2000))
    266    72000  refresh: Stop(Quanta(2000))
    318    59000  refresh: Stop(Quanta(2000))
    370    46000  refresh: Stop(Quanta(2000))
    379    43750  level: Go
    446   110750  level: Stop(Quanta(2000))
    498    97750  refresh: Stop(Quanta(2000))
    550    84750  refresh: Stop(Quanta(2000))
    ");
    }
}
