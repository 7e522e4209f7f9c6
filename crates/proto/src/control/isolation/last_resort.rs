//! Pauses, where isolation was not enough: for both classes of a pair.

use super::Levels;
use crate::control::pause::{PauseConfig, PauseSender, Signal};
use crate::units::{Bytes, Instant, Rate};
use core::fmt;

/// When an input pauses its neighbour, for each class of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastResortConfig {
    /// The monitored class, by what it holds itself.
    pub monitored: PauseConfig,
    /// The congesting class, by what it holds itself.
    pub congesting: PauseConfig,
    /// When what one class holds pauses the other too; `None`: never.
    pub both: Option<BothClasses>,
}

/// The further threshold of a pair: what a neighbour still has of congesting flows in its monitored queue is not stopped
/// by a pause of the congesting class, and would fill the congesting queue all the same ("Response: Congested flow
/// packets can be in non-congested queue when PFC is triggered: additional thresholds are required"). Likewise the other
/// way round: a flow that only the neighbour isolates comes out of its congesting queue, which a pause of the monitored
/// class does not stop, and waits in the monitored queue here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BothClasses {
    /// One class holds more than this: the other is paused as well.
    pub stop: Bytes,
    /// It holds less than this: the other goes by itself again.
    pub go: Bytes,
}

/// Why thresholds cannot keep a queue from overflowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Impossible {
    /// What still arrives after the stop does not fit above it.
    NoRoom {
        /// The threshold.
        stop: Bytes,
        /// What still arrives.
        headroom: Bytes,
        /// What the queue holds at most.
        capacity: Bytes,
    },
    /// A class would be paused for the other one's sake before that is paused itself.
    BothFirst {
        /// The threshold of both classes.
        both: Bytes,
        /// That of the other class.
        own: Bytes,
    },
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Impossible::NoRoom { stop, headroom, capacity } => {
                write!(
                    f,
                    "a stop at {stop}, and {headroom} that still arrive, do not fit into a queue of {capacity}"
                )
            }
            Impossible::BothFirst { both, own } => {
                write!(f, "both classes stop at {both}, before one of them does by itself at {own}")
            }
        }
    }
}

impl core::error::Error for Impossible {}

impl LastResortConfig {
    /// Whether queues of this capacity never overflow, if `headroom` still arrives after a stop.
    pub fn check(&self, capacity: Bytes, headroom: Bytes) -> Result<(), Impossible> {
        let own = self.monitored.stop.max(self.congesting.stop);
        let stop = self.both.map_or(own, |both| both.stop);
        if stop < own {
            return Err(Impossible::BothFirst { both: stop, own });
        }
        match stop.get().saturating_add(headroom.get()) > capacity.get() {
            true => Err(Impossible::NoRoom { stop, headroom, capacity }),
            false => Ok(()),
        }
    }
}

/// What to tell the neighbour, for each class of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The monitored class.
    pub monitored: Option<Signal>,
    /// The congesting class.
    pub congesting: Option<Signal>,
}

/// Watches what one input holds of one class of a pair, and whether the other is to stop for its sake.
#[derive(Clone, Copy, Debug)]
pub struct Coupling {
    both: BothClasses,
    is_holding: bool,
}

impl Coupling {
    /// For an input that holds nothing.
    ///
    /// # Panics
    /// When the threshold to go lies above the one to stop.
    pub fn new(both: BothClasses) -> Coupling {
        assert!(both.go <= both.stop, "goes again above the level that stops");
        Coupling { both, is_holding: false }
    }

    /// The input holds so much of the class that is watched; to be called after every change. Says whether the other
    /// class is to stop or to go by itself from now on: its own level must be looked at again.
    #[inline]
    pub fn on_level(&mut self, watched: Bytes) -> bool {
        let before = self.is_holding;
        self.is_holding = if before { watched >= self.both.go } else { watched > self.both.stop };
        before != self.is_holding
    }

    /// The level of the other class as its own thresholds, which begin at `stop`, are to see it: a class that is held
    /// is as good as one that is over its own.
    #[inline]
    pub fn shown(&self, other: Bytes, stop: Bytes) -> Bytes {
        if self.is_holding { other.max(stop + Bytes::new(1)) } else { other }
    }

    /// While the other class stops: below which level of the class that is watched it goes by itself again.
    pub fn holds_above(&self) -> Option<Bytes> {
        self.is_holding.then_some(self.both.go)
    }
}

/// Watches what one input holds of a pair of classes, and pauses its neighbour.
#[derive(Clone, Debug)]
pub struct LastResort {
    monitored: PauseSender,
    congesting: PauseSender,
    /// What stops the monitored class for the congesting one's sake, and the congesting class for the other's.
    couplings: Option<[Coupling; 2]>,
    config: LastResortConfig,
}

impl LastResort {
    /// For an input that holds nothing.
    ///
    /// # Panics
    /// When a threshold to go lies above the one to stop.
    pub fn new(config: LastResortConfig) -> LastResort {
        LastResort {
            monitored: PauseSender::new(config.monitored),
            congesting: PauseSender::new(config.congesting),
            couplings: config.both.map(|both| [Coupling::new(both); 2]),
            config,
        }
    }

    /// The input holds `levels` now, on a port of this `rate`; to be called after every change.
    #[inline]
    pub fn on_levels(&mut self, now: Instant, levels: Levels, rate: Rate) -> Signals {
        let mut shown = levels;
        if let Some([monitored, congesting]) = &mut self.couplings {
            monitored.on_level(levels.congesting);
            congesting.on_level(levels.monitored);
            shown.monitored = monitored.shown(levels.monitored, self.config.monitored.stop);
            shown.congesting = congesting.shown(levels.congesting, self.config.congesting.stop);
        }
        Signals {
            monitored: self.monitored.on_level(now, shown.monitored, rate),
            congesting: self.congesting.on_level(now, shown.congesting, rate),
        }
    }

    /// When `on_timeout` is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        [self.monitored.next_timeout(), self.congesting.next_timeout()].into_iter().flatten().min()
    }

    /// The time `next_timeout` named has come: stops in force are said again. Early or repeated calls change nothing.
    pub fn on_timeout(&mut self, now: Instant, rate: Rate) -> Signals {
        Signals {
            monitored: self.monitored.on_timeout(now, rate),
            congesting: self.congesting.on_timeout(now, rate),
        }
    }

    /// Whether each class is paused: the monitored one, and the congesting one.
    pub fn is_stopping(&self) -> (bool, bool) {
        (self.monitored.is_stopping(), self.congesting.is_stopping())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Quanta;
    use proptest::prelude::*;

    const RATE: Rate = Rate::from_gbps(100);

    /// The pause threshold of the proposal's simulations, and a further one of ours.
    fn config() -> LastResortConfig {
        let pause = PauseConfig { stop: Bytes::from_kb(750), go: Bytes::from_kb(700), quanta: Quanta::MAX };
        let both = BothClasses { stop: Bytes::from_kb(850), go: Bytes::from_kb(800) };
        LastResortConfig { monitored: pause, congesting: pause, both: Some(both) }
    }

    fn after(input: &mut LastResort, monitored_kb: u64, congesting_kb: u64) -> (bool, bool) {
        let levels =
            Levels { monitored: Bytes::from_kb(monitored_kb), congesting: Bytes::from_kb(congesting_kb) };
        input.on_levels(Instant::START, levels, RATE);
        input.is_stopping()
    }

    #[test]
    fn each_class_is_paused_by_itself() {
        let mut input = LastResort::new(config());
        assert_eq!(after(&mut input, 10, 760), (false, true));
        assert_eq!(after(&mut input, 10, 699), (false, false));
        assert_eq!(after(&mut input, 760, 10), (true, false));
    }

    #[test]
    fn the_further_threshold_pauses_both_and_lets_the_monitored_class_go_first() {
        let mut input = LastResort::new(config());
        assert_eq!(after(&mut input, 10, 850), (false, true));
        assert_eq!(after(&mut input, 10, 851), (true, true));
        assert_eq!(after(&mut input, 10, 800), (true, true));
        assert_eq!(after(&mut input, 10, 799), (false, true));
        assert_eq!(after(&mut input, 10, 699), (false, false));
    }

    #[test]
    fn what_a_neighbour_isolates_by_itself_is_stopped_by_the_further_threshold_of_the_monitored_class() {
        let mut input = LastResort::new(config());
        assert_eq!(after(&mut input, 850, 10), (true, false));
        assert_eq!(after(&mut input, 851, 10), (true, true));
        assert_eq!(after(&mut input, 799, 10), (true, false));
        assert_eq!(after(&mut input, 699, 10), (false, false));
    }

    #[test]
    fn a_class_that_is_over_its_own_threshold_stays_paused() {
        let mut input = LastResort::new(config());
        assert_eq!(after(&mut input, 760, 851), (true, true));
        assert_eq!(after(&mut input, 760, 10), (true, false));
        assert_eq!(after(&mut input, 699, 10), (false, false));
    }

    #[test]
    fn stops_are_said_again_for_both() {
        let mut input = LastResort::new(config());
        after(&mut input, 10, 851);
        let due = input.next_timeout().unwrap();
        let stop = Some(Signal::Stop(Quanta::MAX));
        assert_eq!(input.on_timeout(due, RATE), Signals { monitored: stop, congesting: stop });
        assert_eq!(input.on_timeout(due, RATE), Signals::default());
    }

    #[test]
    fn thresholds_without_room_are_found() {
        let (queue, room) = (Bytes::from_kb(1000), Bytes::from_kb(150));
        assert_eq!(config().check(queue, room), Ok(()));
        let tight = config().check(queue, Bytes::from_kb(151)).unwrap_err();
        assert_eq!(
            std::string::ToString::to_string(&tight),
            "a stop at 850kB, and 151kB that still arrive, do not fit into a queue of 1MB"
        );
        let both = BothClasses { stop: Bytes::from_kb(700), go: Bytes::from_kb(600) };
        let early = LastResortConfig { both: Some(both), ..config() };
        assert!(matches!(early.check(queue, room), Err(Impossible::BothFirst { .. })));
    }

    proptest! {
        #[test]
        fn levels_above_a_stop_are_always_answered(levels in prop::collection::vec((0u64..1000, 0u64..1000), 1..80)) {
            let mut input = LastResort::new(config());
            for (monitored, congesting) in levels {
                let (stops_monitored, stops_congesting) = after(&mut input, monitored, congesting);
                prop_assert!(stops_monitored || monitored <= 750 && congesting <= 850);
                prop_assert!(stops_congesting || congesting <= 750 && monitored <= 850);
                prop_assert!(!stops_monitored || monitored >= 700 || congesting >= 800);
                prop_assert!(!stops_congesting || congesting >= 700 || monitored >= 800);
            }
        }
    }
}
