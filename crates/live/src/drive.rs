//! The loop that gives nodes the real time and real frames.

use crate::clock::{Clock, to_real};
use crate::device::sys::Waiter;
use crate::device::{Interface, Sent, Trouble};
use crate::node::{Node, Outputs};
use quell_proto::units::{Duration, Instant};
use quell_record::Tap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// A node and the interfaces of its ports.
pub struct Station<N> {
    /// The node.
    pub node: N,
    wires: Wires,
    into: Box<[u8]>,
    looked: Instant,
    sockets: Vec<RawFd>,
}

/// The ports of a station, as its node sends by them.
struct Wires {
    ports: Vec<Wire>,
    tap: Option<Box<dyn Tap + Send>>,
}

struct Wire {
    interface: Box<dyn Interface + Send>,
    is_up: bool,
    has_pending: bool,
    counts: WireCounts,
}

/// What the driver counted at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    /// Frames handed to the node.
    pub received: u64,
    /// Frames the node sent.
    pub sent: u64,
    /// Frames the interface had no room for.
    pub full: u64,
    /// Frames longer than the interface sends.
    pub too_long: u64,
    /// Frames longer than a station takes.
    pub oversized: u64,
    /// Frames that came in faster than they were taken.
    pub overruns: u64,
}

/// Frames taken from one port before the others have their turn.
const BATCH: usize = 64;
/// How often interfaces are asked whether they are well.
const LOOKS_EVERY: Duration = Duration::from_ms(100);
/// The longest frame a station takes: what does not fit is counted and dropped.
const LONGEST: usize = 1 << 16;

impl<N: Node> Station<N> {
    /// A node and the interfaces of its ports, in their order.
    pub fn new(node: N, interfaces: Vec<Box<dyn Interface + Send>>) -> Station<N> {
        let sockets = interfaces.iter().filter_map(|interface| interface.socket()).collect();
        let wire =
            |interface| Wire { interface, is_up: true, has_pending: false, counts: WireCounts::default() };
        let ports = interfaces.into_iter().map(wire).collect();
        Station {
            node,
            wires: Wires { ports, tap: None },
            into: vec![0; LONGEST].into(),
            looked: Instant::START,
            sockets,
        }
    }

    /// Shows every frame to `tap`: by port, those that come in at twice its number, those that go out at one more.
    pub fn set_tap(&mut self, tap: Box<dyn Tap + Send>) {
        self.wires.tap = Some(tap);
    }

    /// Takes the tap off again.
    pub fn take_tap(&mut self) -> Option<Box<dyn Tap + Send>> {
        self.wires.tap.take()
    }

    /// What the driver counted at a port so far.
    pub fn counts(&self, port: usize) -> WireCounts {
        self.wires.ports[port].counts
    }

    /// What is wrong with its interfaces now, if anything is, be it that it may pass.
    pub fn trouble(&mut self) -> Option<Trouble> {
        self.wires.ports.iter_mut().find_map(|wire| wire.interface.trouble())
    }

    /// How many ports it has.
    pub fn ports(&self) -> usize {
        self.wires.ports.len()
    }

    /// Calls the node for something other than a frame.
    pub fn with<R>(&mut self, act: impl FnOnce(&mut N, &mut dyn Outputs) -> R) -> R {
        act(&mut self.node, &mut self.wires)
    }

    /// Takes in what came, does what is due, and lets go what was sent. Says how many frames came.
    ///
    /// # Errors
    /// When an interface is gone for good. One that is down is waited for.
    pub fn turn(&mut self, now: Instant) -> Result<usize, Trouble> {
        let mut came = 0;
        for port in 0..self.wires.ports.len() {
            for _ in 0..BATCH {
                let wire = &mut self.wires.ports[port];
                let Some(length) = wire.interface.receive(&mut self.into) else { break };
                came += 1;
                wire.counts.received += 1;
                let Some(octets) = self.into.get(..length) else {
                    wire.counts.oversized += 1;
                    continue;
                };
                if let Some(tap) = &mut self.wires.tap {
                    tap.frame(now, 2 * port, octets, length);
                }
                self.node.on_frame(now, port, octets, &mut self.wires);
            }
        }
        self.node.advance(now, &mut self.wires);
        let is_time_to_look = now.saturating_since(self.looked) >= LOOKS_EVERY;
        for port in 0..self.wires.ports.len() {
            let wire = &mut self.wires.ports[port];
            let flushed = if wire.has_pending { wire.interface.flush() } else { Ok(true) };
            wire.has_pending = matches!(flushed, Ok(false));
            let trouble = match flushed {
                Err(trouble) => Some(trouble),
                Ok(_) if is_time_to_look => {
                    wire.counts.overruns += wire.interface.take_overruns();
                    wire.interface.trouble()
                }
                Ok(_) => continue,
            };
            let is_up = match trouble {
                None => true,
                Some(trouble) if trouble.may_pass() => false,
                Some(trouble) => return Err(trouble),
            };
            if is_up != std::mem::replace(&mut wire.is_up, is_up) {
                self.node.on_link(now, port, is_up, &mut self.wires);
            }
        }
        if is_time_to_look {
            self.looked = now;
        }
        Ok(came)
    }
}

impl Outputs for Wires {
    fn send(&mut self, at: Instant, port: usize, octets: &[u8]) -> bool {
        let wire = &mut self.ports[port];
        if !wire.is_up {
            return false;
        }
        let mut sent = wire.interface.send(octets);
        if sent == Sent::Full && wire.interface.flush().is_ok() {
            sent = wire.interface.send(octets);
        }
        match sent {
            Sent::Yes => {
                wire.has_pending = true;
                wire.counts.sent += 1;
                if let Some(tap) = &mut self.tap {
                    tap.frame(at, 2 * port + 1, octets, octets.len());
                }
            }
            Sent::Full => wire.counts.full += 1,
            Sent::TooLong => wire.counts.too_long += 1,
        }
        sent == Sent::Yes
    }
}

/// What a driver gives turns to.
pub trait Driven {
    /// As [`Station::turn`].
    fn turn(&mut self, now: Instant) -> Result<usize, Trouble>;
    /// As [`Node::next_due`].
    fn next_due(&self) -> Instant;
    /// What the driver waits on.
    fn sockets(&self) -> &[RawFd];
}

impl<N: Node> Driven for Station<N> {
    fn turn(&mut self, now: Instant) -> Result<usize, Trouble> {
        Station::turn(self, now)
    }

    fn next_due(&self) -> Instant {
        self.node.next_due()
    }

    fn sockets(&self) -> &[RawFd] {
        &self.sockets
    }
}

/// Waits between turns: in the kernel if there is time, else awake.
#[derive(Debug)]
pub struct Pause {
    waiter: Waiter,
}

impl Pause {
    /// A wait shorter than this is spent awake: the kernel takes about as long to wake a thread.
    const AWAKE: Duration = Duration::from_us(50);
    /// However little there is to do, a stop is noticed so soon.
    const LONGEST: Duration = Duration::from_ms(20);

    /// One that ends when a frame comes in at any of these sockets.
    pub fn new(sockets: impl IntoIterator<Item = RawFd>) -> Pause {
        Pause { waiter: Waiter::new(sockets) }
    }

    /// Waits until `due`, or until a frame comes.
    pub fn until(&mut self, due: Instant, now: Instant) {
        let left = due.saturating_since(now);
        if left < Self::AWAKE {
            // Not `sched_yield`: on a busy machine that costs the rest of the time slice, some milliseconds.
            std::hint::spin_loop();
        } else {
            let left = Duration::from_ps(left.ps() - Self::AWAKE.ps() / 2);
            self.waiter.wait(to_real(left.min(Self::LONGEST)));
        }
    }
}

/// Gives a node its turns until `stop` is set or `between` says so. `between` is called before every turn, with the time that the
/// node is about to be told: it finds the node as it was until then, may have it catch up with an instant in between, and says
/// when it wants to be called again at the latest; `None` ends the drive.
///
/// # Errors
/// When an interface is gone for good.
pub fn drive<S: Driven>(
    station: &mut S,
    clock: &mut Clock,
    stop: &AtomicBool,
    mut between: impl FnMut(&mut S, Instant) -> Option<Instant>,
) -> Result<(), Trouble> {
    let mut pause = Pause::new(station.sockets().to_vec());
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        let Some(wanted) = between(station, now) else { break };
        if station.turn(now)? == 0 {
            pause.until(station.next_due().min(wanted), now);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::{MemoryInterface, State};

    /// Sends what comes in at one port out by the other, and remembers what it was told.
    #[derive(Default)]
    struct Repeater {
        links: Vec<(usize, bool)>,
        due: Option<Instant>,
        acted: Vec<Instant>,
    }

    impl Node for Repeater {
        fn on_frame(&mut self, now: Instant, port: usize, octets: &[u8], out: &mut dyn Outputs) {
            out.send(now, 1 - port, octets);
        }

        fn advance(&mut self, now: Instant, _: &mut dyn Outputs) {
            if let Some(due) = self.due.take_if(|due| *due <= now) {
                self.acted.push(due);
            }
        }

        fn next_due(&self) -> Instant {
            self.due.unwrap_or(Instant::NEVER)
        }

        fn on_link(&mut self, _: Instant, port: usize, is_up: bool, _: &mut dyn Outputs) {
            self.links.push((port, is_up));
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_ms(ms)
    }

    /// A repeater between two wires, and their far ends.
    fn repeater() -> (Station<Repeater>, [MemoryInterface; 2]) {
        let [a, left] = MemoryInterface::pair(["a", "left"], 4, 100);
        let [b, right] = MemoryInterface::pair(["b", "right"], 4, 100);
        (Station::new(Repeater::default(), vec![Box::new(left), Box::new(right)]), [a, b])
    }

    #[test]
    fn frames_go_through_and_are_counted_and_shown_both_ways() {
        #[derive(Clone, Default)]
        struct Seen(std::sync::Arc<std::sync::Mutex<Vec<(usize, usize)>>>);
        impl Tap for Seen {
            fn frame(&mut self, _: Instant, port: usize, _: &[u8], length: usize) {
                self.0.lock().unwrap().push((port, length));
            }
        }
        let (mut station, [mut a, mut b]) = repeater();
        let seen = Seen::default();
        station.set_tap(Box::new(seen.clone()));
        a.send(&[7; 60]);
        assert_eq!(station.turn(at(1)).unwrap(), 1);
        let mut into = [0; 100];
        assert_eq!((b.receive(&mut into), into[59]), (Some(60), 7));
        // In at port 0, out by port 1.
        assert_eq!(*seen.0.lock().unwrap(), [(0, 60), (3, 60)]);
        assert_eq!((station.counts(0).received, station.counts(1).sent), (1, 1));
    }

    #[test]
    fn a_full_wire_costs_frames_and_not_the_run() {
        let (mut station, [mut a, _]) = repeater();
        for round in 0..3 {
            for _ in 0..3 {
                assert_eq!(a.send(&[0; 60]), Sent::Yes);
            }
            station.turn(at(round)).unwrap();
        }
        assert_eq!((station.counts(1).sent, station.counts(1).full), (4, 5));
    }

    #[test]
    fn a_wire_that_goes_down_is_waited_for_and_one_that_is_gone_is_not() {
        let (mut station, [mut a, b]) = repeater();
        b.set(State::Down);
        station.turn(at(150)).unwrap();
        assert_eq!(station.node.links, [(1, false)]);
        a.send(&[0; 60]);
        station.turn(at(200)).unwrap();
        assert_eq!(station.counts(1).sent, 0);
        b.set(State::Up);
        station.turn(at(300)).unwrap();
        assert_eq!(station.node.links, [(1, false), (1, true)]);
        b.set(State::Vanished);
        assert!(matches!(station.turn(at(450)), Err(Trouble::Vanished { .. })));
    }

    #[test]
    fn a_drive_ends_when_it_is_asked_to_and_does_what_is_due_meanwhile() {
        let (mut station, _ends) = repeater();
        station.node.due = Some(Instant::from_ps(1));
        let mut turns = 0;
        drive(&mut station, &mut Clock::new(), &AtomicBool::new(false), |_, now| {
            turns += 1;
            (turns < 5).then_some(now)
        })
        .unwrap();
        assert_eq!((turns, station.node.acted.len()), (5, 1));
        // What is sampled before a turn is as it was then: nothing due later has happened.
        station.node.due = Some(Instant::from_ps(2));
        drive(&mut station, &mut Clock::new(), &AtomicBool::new(false), |station, _| {
            (station.node.acted.len() == 1).then_some(Instant::START)
        })
        .unwrap();
        assert_eq!(station.node.acted, [Instant::from_ps(1), Instant::from_ps(2)]);
        drive(&mut station, &mut Clock::new(), &AtomicBool::new(true), |_, _| {
            panic!("stopped before it began")
        })
        .unwrap();
    }
}
