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
