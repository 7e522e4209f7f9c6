//! What a peer holds of a port, by PAUSE or PFC, and how far it is believed.

use crate::node::{StormGuard, Weather};
use quell_proto::control::pause::PauseReceiver;
use quell_proto::units::{Duration, Instant, Priority, Quanta, Rate};

/// The pauses of a port.
///
/// A peer that sends more of them than any has reason to is believed in nothing until it has calmed down: what it held goes on.
#[derive(Debug)]
pub(crate) struct Hold {
    pauses: [PauseReceiver; Priority::COUNT],
    guard: StormGuard,
    /// Since when something has been held without a break, as far as pauses that came tell.
    began: Option<Instant>,
    is_told: bool,
}

/// What was made of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It is obeyed.
    Obeyed,
    /// It is obeyed, and is the first to find the port held for longer than [`LONG`].
    Long,
    /// It is the first of a storm: nothing is held any more.
    Storm,
    /// It is one more of a storm, and ignored.
    Ignored,
}

/// PAUSE and PFC frames that a port takes in a tenth of a second; a peer refreshes some twenty times in that time.
pub(crate) const MOST: u32 = 2_000;

/// A hold of so long is something to know of: peers that fill up let go in between.
pub(crate) const LONG: Duration = Duration::from_ms(1000);

impl Hold {
    /// Nothing is held.
    pub(crate) fn new() -> Hold {
        Hold { pauses: Default::default(), guard: StormGuard::new(MOST), began: None, is_told: false }
    }

    /// A pause came: for each priority how long to hold it, if it says anything of it.
    pub(crate) fn on_times(
        &mut self,
        now: Instant,
        times: [Option<Quanta>; Priority::COUNT],
        rate: Rate,
    ) -> Heard {
        match self.guard.on_frame(now) {
            Weather::Fair { after_storm: false } => {}
            Weather::Fair { after_storm: true } | Weather::Storm => return Heard::Ignored,
            Weather::Breaks => {
                self.release();
                return Heard::Storm;
            }
        }
        let was_held = self.is_held(now);
        for (receiver, time) in self.pauses.iter_mut().zip(times) {
            if let Some(time) = time {
                receiver.on_quanta(now, time, rate);
            }
        }
        if !was_held {
            (self.began, self.is_told) = (Some(now), false);
        }
        let is_long = self.began.is_some_and(|began| now.saturating_since(began) >= LONG);
        if is_long && !std::mem::replace(&mut self.is_told, true) { Heard::Long } else { Heard::Obeyed }
    }

    /// Lets everything go.
    pub(crate) fn release(&mut self) {
        self.pauses = Default::default();
    }

    /// Whether any priority is held.
    pub(crate) fn is_held(&self, now: Instant) -> bool {
        self.pauses.iter().any(|pause| pause.is_paused(now))
    }

    /// Until when a priority is held; the start of all time if it is not.
    pub(crate) fn until(&self, priority: Priority, now: Instant) -> Instant {
        let pause = &self.pauses[priority.index()];
        if pause.is_paused(now) { pause.until().unwrap_or(Instant::NEVER) } else { Instant::START }
    }

    /// When the first of what is held is let go; now if nothing is.
    pub(crate) fn next_end(&self, now: Instant) -> Instant {
        let ends = self.pauses.iter().filter_map(PauseReceiver::until).filter(|ends| *ends > now);
        ends.min().unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Rate = Rate::from_mbps(100);

    fn at(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    fn pause(hold: &mut Hold, us: u64) -> Heard {
        hold.on_times(at(us), [Some(Quanta::MAX); Priority::COUNT], SLOW)
    }

    /// At 100 Mb/s a pause lasts a third of a second, longer than a guard's while: obeying some of each would hold for good.
    #[test]
    fn a_storm_holds_nothing_however_long_it_lasts_and_however_long_its_pauses() {
        let mut hold = Hold::new();
        // A pause each 10 us, for ten seconds.
        let heard: Vec<Heard> = (0..1_000_000).map(|number| pause(&mut hold, 10 * number)).collect();
        assert!(heard[..MOST as usize].iter().all(|it| *it == Heard::Obeyed));
        assert_eq!(heard[MOST as usize], Heard::Storm, "told of once");
        assert!(heard[MOST as usize + 1..].iter().all(|it| *it == Heard::Ignored));
        assert!(!hold.is_held(at(MOST.into())) && !hold.is_held(at(10_000_000)));
        // Once it is over the peer is believed again.
        assert_eq!(pause(&mut hold, 10_200_000), Heard::Obeyed);
        assert!(hold.is_held(at(10_200_001)));
    }

    #[test]
    fn a_peer_that_holds_without_a_break_is_obeyed_and_told_of_once() {
        let mut hold = Hold::new();
        let heard: Vec<Heard> = (0..60).map(|number| pause(&mut hold, 50_000 * number)).collect();
        let long: Vec<usize> = (0..60).filter(|number| heard[*number] == Heard::Long).collect();
        assert_eq!(long, [20], "after a second");
        assert!(heard.iter().all(|it| matches!(it, Heard::Obeyed | Heard::Long)));
        // A break, and it counts anew.
        let later = |number: u64| 10_000_000 + 50_000 * number;
        assert!((0..20).all(|number| pause(&mut hold, later(number)) == Heard::Obeyed));
        assert_eq!(pause(&mut hold, later(20)), Heard::Long);
    }

    #[test]
    fn a_priority_is_held_until_its_own_pause_ends() {
        let mut hold = Hold::new();
        let (three, four) = (Priority::new(3).unwrap(), Priority::new(4).unwrap());
        let mut times = [None; Priority::COUNT];
        times[3] = Some(Quanta(100));
        assert_eq!(hold.on_times(at(0), times, SLOW), Heard::Obeyed);
        // 512 bits at 100 Mb/s are 5.12 us.
        assert_eq!((hold.until(three, at(1)), hold.until(four, at(1))), (at(512), Instant::START));
        assert_eq!((hold.next_end(at(1)), hold.next_end(at(600))), (at(512), at(600)));
        hold.release();
        assert!(!hold.is_held(at(1)));
    }
}
