//! The sending half of a port: what it is busy with, what holds it, what it has carried.

use super::frame::{Body, Frame, Handle, List};
use super::near::bring_near;
use super::net::{Net, Speed};
use crate::kernel::agenda::{Lane, LaneKind};
use crate::scenario::plan::Schedule;
use quell_proto::control::pause::PauseReceiver;
use quell_proto::units::{Instant, Priority, Quanta, Rate};
use quell_record::EventKind;

/// The sending half of a port of a host or a switch. What a frame touches stands together, in one line of the cache; the rest is a
/// box away.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// Until when the frame it sent last keeps it from the next one.
    pub busy_until: Instant,
    /// Until when the frame it sent last is on the wire; a pause frame waits no longer than that.
    wire_until: Instant,
    /// When its next look for a frame is booked; [`Instant::NEVER`] if it is not.
    booked: Instant,
    /// Pause frames and announcements of its own, which go before everything else.
    pub control: List,
    /// Octets and frames that it has carried of the first class since the last sample.
    bytes: u64,
    frames: u32,
    /// The wire it sends on.
    pub wire: u32,
    /// The node it belongs to, and its number there.
    node: u32,
    port: u32,
    /// Length and class of the frame of a queue that it sent last.
    sending: (u16, u8),
    /// One bit a class: frames wait in the switch that may be sent.
    pub ready: u8,
    /// One bit a class: held by the peer.
    pub held: u8,
    /// Whether the link works.
    pub up: bool,
    /// Whether it is served slower than its wire.
    is_slowed: bool,
    /// How fast it is served, if slower than its wire.
    service: Option<Box<Speed>>,
    rare: Box<Rare>,
}

/// What of a sender is needed only for pauses and samples.
#[derive(Debug)]
struct Rare {
    /// Octets and frames that it has carried of the other classes since the last sample.
    carried: [(u64, u32); 7],
    pauses: [PauseReceiver; 8],
    /// A class whose frames are of another one on the wire, and that other one: what holds the latter holds both.
    disguise: Option<(u8, u8)>,
    expiry_booked: Instant,
    /// For each class, how long it was held since the last sample, and since when it is.
    held: [(u64, Instant); 8],
    serviced_since: Instant,
    /// What its service rate would have carried since the last sample, up to `serviced_since`.
    serviceable: u64,
}

impl Sender {
    /// How many octets of it a frame touches.
    #[cfg(test)]
    pub(crate) const HOT: usize = std::mem::offset_of!(Sender, service);

    pub(crate) fn new(node: u32, port: u32, wire: u32) -> Sender {
        Sender {
            node,
            port,
            wire,
            sending: (0, 0),
            ready: 0,
            held: 0,
            up: true,
            is_slowed: false,
            busy_until: Instant::START,
            wire_until: Instant::START,
            booked: Instant::NEVER,
            control: List::default(),
            service: None,
            bytes: 0,
            frames: 0,
            rare: Box::new(Rare {
                carried: [(0, 0); 7],
                pauses: [PauseReceiver::default(); 8],
                disguise: None,
                expiry_booked: Instant::NEVER,
                held: [(0, Instant::START); 8],
                serviced_since: Instant::START,
                serviceable: 0,
            }),
        }
    }

    /// What a frame touches of it is wanted soon.
    #[inline]
    pub(crate) fn bring_near(&self) {
        bring_near(&self.busy_until);
    }

    /// When it can begin a frame: a pause frame if one waits, else any other.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        if self.control.is_empty() { self.busy_until } else { self.wire_until }
    }

    /// Whether it could begin a frame now.
    #[inline]
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.free_at() <= now
    }

    /// Whether a frame that came now could begin at once, with nothing before it, and nothing held.
    #[inline(always)]
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.ready | self.held == 0 && self.up && self.busy_until <= now && self.control.is_empty()
    }

    /// Octets of a class that are being sent.
    #[inline]
    pub(crate) fn sending(&self, class: usize, now: Instant) -> u64 {
        let (length, own) = self.sending;
        if self.busy_until > now && usize::from(own) == class { u64::from(length) } else { 0 }
    }

    /// Books the next look for a frame, unless an earlier one is booked.
    #[inline(always)]
    pub(crate) fn look_at(&mut self, at: Instant, net: &mut Net) {
        if at < self.booked {
            self.booked = at;
            net.agenda.book_own(at, self.node, Lane::new(LaneKind::Transmit, self.port));
        }
    }

    /// The booked look has come. `false`: it was a stale one.
    #[inline]
    pub(crate) fn looks_now(&mut self, now: Instant) -> bool {
        if self.booked != now {
            return false;
        }
        self.booked = Instant::NEVER;
        true
    }

    /// Puts a frame on the wire.
    #[inline(always)]
    pub(crate) fn send(&mut self, handle: Handle, net: &mut Net) {
        let Frame { length, class, body, .. } = net.pool.get(handle).frame;
        match body {
            Body::Data { .. } => self.send_data(handle, length, class, net),
            Body::Pause { .. } | Body::Pfc { .. } | Body::Lldp { .. } => {
                self.wire_until = net.depart(self.wire, handle, u64::from(length) + net.overhead);
                self.busy_until = self.busy_until.max(self.wire_until);
            }
            _ => self.send_of_queue(handle, length, class, net),
        }
    }

    /// Puts a frame of data on the wire.
    #[inline(always)]
    pub(crate) fn send_data(&mut self, handle: Handle, length: u16, class: u8, net: &mut Net) {
        self.send_of_queue(handle, length, class, net);
        let (bytes, frames) = self.carried_of(usize::from(class));
        *bytes += u64::from(length);
        *frames += 1;
    }

    /// Puts a frame on the wire that had to wait its turn.
    #[inline(always)]
    fn send_of_queue(&mut self, handle: Handle, length: u16, class: u8, net: &mut Net) {
        let octets = u64::from(length) + net.overhead;
        let sent = net.depart(self.wire, handle, octets);
        self.wire_until = sent;
        self.busy_until = if self.is_slowed { self.served_by(octets, net).max(sent) } else { sent };
        self.sending = (length, class);
    }

    /// When a port that is served slower than its wire is done with so many octets that it begins now.
    #[inline(never)]
    fn served_by(&self, octets: u64, net: &Net) -> Instant {
        self.service.as_ref().map_or(net.now, |service| net.now + service.time_for(octets))
    }

    /// The frame sent last waited in the queue of another class than its own, and counts there.
    pub(crate) fn count_as(&mut self, class: u8) {
        let (length, own) = self.sending;
        self.sending = (length, class);
        let (bytes, frames) = self.carried_of(usize::from(own));
        (*bytes, *frames) = (*bytes - u64::from(length), *frames - 1);
        let (bytes, frames) = self.carried_of(usize::from(class));
        (*bytes, *frames) = (*bytes + u64::from(length), *frames + 1);
    }

    /// The link failed or came back. With it goes what the peer asked for, and what was to be asked of the peer.
    pub(crate) fn set_link(&mut self, up: bool, net: &mut Net) {
        self.up = up;
        let kind = if up { EventKind::LinkUp } else { EventKind::LinkDown };
        net.port_event(self.wire, 0, kind, None, 0);
        self.rare.pauses = [PauseReceiver::default(); 8];
        self.review_pauses(None, net);
        while let Some(handle) = self.control.pop(&net.pool) {
            net.pool.free(handle);
        }
    }

    /// Serves the port at `rate`, or at its wire's.
    pub(crate) fn set_service(&mut self, rate: Option<Rate>, net: &mut Net) {
        self.settle_service(net);
        self.service = rate.map(|rate| Box::new(Speed::new(rate)));
        self.is_slowed = rate.is_some();
        let shown = rate.unwrap_or(net.wires[self.wire as usize].speed.rate());
        let bps = i64::try_from(shown.bps()).unwrap_or(i64::MAX);
        net.port_event(self.wire, 0, EventKind::Service, None, bps);
    }

    fn settle_service(&mut self, net: &Net) {
        let rate = match &self.service {
            Some(service) => service.rate(),
            None => net.wires[self.wire as usize].speed.rate(),
        };
        self.rare.serviceable += rate.carries_in(net.now - self.rare.serviced_since).get();
        self.rare.serviced_since = net.now;
    }

    /// A pause frame of the peer arrived: all priorities, or one. Says whether something was let go.
    pub(crate) fn on_pause(&mut self, priority: Option<Priority>, quanta: Quanta, net: &mut Net) -> bool {
        let rate = net.wires[self.wire as usize].speed.rate();
        for class in 0..net.classes.len() {
            if priority.is_none_or(|priority| priority == net.classes[class]) {
                self.rare.pauses[class].on_quanta(net.now, quanta, rate);
            }
        }
        self.review_pauses(priority, net)
    }

    /// A pause may have run out. Says whether something was let go.
    pub(crate) fn on_expiry(&mut self, net: &mut Net) -> bool {
        if self.rare.expiry_booked != net.now {
            return false;
        }
        self.rare.expiry_booked = Instant::NEVER;
        self.review_pauses(None, net)
    }

    /// The peer knows frames of a class only as those of another: its pauses of that one hold both.
    pub(crate) fn disguise(&mut self, own: u8, shown: u8) {
        self.rare.disguise = Some((own, shown));
    }

    /// The peer turns out to know both. Says whether something was let go.
    pub(crate) fn undisguise(&mut self, net: &mut Net) -> bool {
        self.rare.disguise = None;
        self.review_pauses(None, net)
    }

    /// The class whose pause holds this one: another where the peer knows it as that.
    pub(crate) fn holder(&self, class: usize, now: Instant) -> usize {
        match self.rare.disguise {
            Some((own, shown)) if usize::from(own) == class && !self.rare.pauses[class].is_paused(now) => {
                usize::from(shown)
            }
            _ => class,
        }
    }

    fn review_pauses(&mut self, priority: Option<Priority>, net: &mut Net) -> bool {
        let mut let_go = false;
        let shown = priority.map_or(-1, |priority| i64::from(priority.get()));
        let mut next = Instant::NEVER;
        for class in 0..net.classes.len() {
            let bit = 1 << class;
            let pause = &self.rare.pauses[self.holder(class, net.now)];
            let paused = pause.is_paused(net.now);
            if paused {
                next = next.min(pause.until().unwrap_or(Instant::NEVER));
            }
            if paused == (self.held & bit != 0) {
                continue;
            }
            self.held ^= bit;
            let (held_ps, since) = &mut self.rare.held[class];
            let kind = if paused {
                *since = net.now;
                EventKind::Paused
            } else {
                *held_ps += (net.now - *since).ps();
                let_go = true;
                EventKind::Resumed
            };
            if let Some(data) = net.data_class(class) {
                net.port_event(self.wire, data, kind, None, shown);
            }
        }
        if next < self.rare.expiry_booked {
            self.rare.expiry_booked = next;
            net.agenda.book(next, self.node, Lane::new(LaneKind::PauseExpiry, self.port));
        }
        let_go
    }

    #[inline]
    fn carried_of(&mut self, class: usize) -> (&mut u64, &mut u32) {
        match class.checked_sub(1) {
            None => (&mut self.bytes, &mut self.frames),
            Some(other) => {
                let (bytes, frames) = &mut self.rare.carried[other];
                (bytes, frames)
            }
        }
    }

    /// Octets, frames and held time of a class since the last sample.
    pub(crate) fn take_counts(&mut self, class: usize, now: Instant) -> (u64, u64, u64) {
        let (held_ps, since) = &mut self.rare.held[class];
        if self.held & (1 << class) != 0 {
            *held_ps += (now - *since).ps();
            *since = now;
        }
        let held = std::mem::take(held_ps);
        let (bytes, frames) = self.carried_of(class);
        (std::mem::take(bytes), u64::from(std::mem::take(frames)), held)
    }

    /// What the port could have carried since the last sample.
    pub(crate) fn take_serviceable(&mut self, net: &Net) -> u64 {
        self.settle_service(net);
        std::mem::take(&mut self.rare.serviceable)
    }
}

/// How much something holds, over time: its mean and its peak since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    level: u64,
    peak: u64,
    since: Instant,
    /// Octets times picoseconds since the last sample: high half, low half. As one number it would ask for padding.
    area: [u64; 2],
}

impl Meter {
    /// What it holds.
    #[inline]
    pub(crate) fn level(&self) -> u64 {
        self.level
    }

    #[inline]
    pub(crate) fn add(&mut self, now: Instant, octets: u64) {
        self.settle(now);
        self.level += octets;
        self.peak = self.peak.max(self.level);
    }

    #[inline]
    pub(crate) fn remove(&mut self, now: Instant, octets: u64) {
        self.settle(now);
        self.level -= octets;
    }

    /// Something came and went at once: it counts for the peak alone.
    #[inline]
    pub(crate) fn touch(&mut self, octets: u64) {
        self.peak = self.peak.max(self.level + octets);
    }

    #[inline]
    fn settle(&mut self, now: Instant) {
        if self.level > 0 {
            self.set_area(self.area() + u128::from(self.level) * u128::from((now - self.since).ps()));
        }
        self.since = now;
    }

    #[inline]
    fn area(&self) -> u128 {
        u128::from(self.area[0]) << 64 | u128::from(self.area[1])
    }

    #[inline]
    fn set_area(&mut self, area: u128) {
        self.area = [(area >> 64) as u64, area as u64];
    }

    /// Mean (rounded to nearest) and peak over the `span` that ends now.
    pub(crate) fn take(&mut self, now: Instant, span: quell_proto::units::Duration) -> (u64, u64) {
        self.settle(now);
        let ps = u128::from(span.ps().max(1));
        let mean = u64::try_from((self.area() + ps / 2) / ps).unwrap_or(u64::MAX);
        let peak = std::mem::replace(&mut self.peak, self.level);
        self.area = [0; 2];
        (mean, peak)
    }
}

/// Whose turn it is among the classes of a port.
#[derive(Clone, Debug)]
pub(crate) enum Turns {
    /// The highest class that is ready.
    Strict,
    /// Each in turn, for as long as its credit lasts.
    InTurn(Box<InTurn>),
}

/// Weighted or deficit round robin: a class gains its share when its turn comes, pays for each frame, and keeps
/// what it could not spend unless it fell idle.
#[derive(Clone, Debug)]
pub(crate) struct InTurn {
    shares: Vec<u64>,
    credit: Vec<u64>,
    class: usize,
    by_octets: bool,
}

/// The highest of the classes that are ready, of which there is one at least.
#[inline]
pub(crate) fn highest(ready: u8) -> usize {
    7 - ready.leading_zeros() as usize
}

impl Turns {
    pub(crate) fn new(schedule: Schedule, classes: &[Priority]) -> Turns {
        let (shares, by_octets): (Vec<u64>, bool) = match schedule {
            Schedule::Strict => return Turns::Strict,
            Schedule::WeightedRoundRobin(weights) => {
                (classes.iter().map(|class| u64::from(weights[class.index()].max(1))).collect(), false)
            }
            Schedule::DeficitRoundRobin(quanta) => {
                (classes.iter().map(|class| u64::from(quanta[class.index()].max(1))).collect(), true)
            }
        };
        Turns::InTurn(Box::new(InTurn { credit: vec![0; shares.len()], shares, class: 0, by_octets }))
    }

    /// Picks one of the ready classes (a bit each; at least one is set). `length` says how long the head frame of a
    /// class is. The pick counts as sent.
    #[inline]
    pub(crate) fn pick(&mut self, ready: u8, length: impl Fn(usize) -> u64) -> usize {
        debug_assert!(ready != 0);
        match self {
            Turns::Strict => highest(ready),
            Turns::InTurn(turns) => turns.pick(ready, length),
        }
    }
}

impl InTurn {
    fn pick(&mut self, ready: u8, length: impl Fn(usize) -> u64) -> usize {
        loop {
            let class = self.class;
            if ready & (1 << class) == 0 {
                self.credit[class] = 0;
            } else {
                let cost = if self.by_octets { length(class) } else { 1 };
                if self.credit[class] >= cost {
                    self.credit[class] -= cost;
                    return class;
                }
            }
            self.class = (class + 1) % self.shares.len();
            if ready & (1 << self.class) != 0 {
                self.credit[self.class] += self.shares[self.class];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(count: u8) -> Vec<Priority> {
        (0..count).map(|priority| Priority::new(priority).unwrap()).collect()
    }

    #[test]
    fn strict_takes_the_highest_that_is_ready() {
        let mut turns = Turns::new(Schedule::Strict, &classes(8));
        assert_eq!(turns.pick(0b0001_0110, |_| 1500), 4);
    }

    #[test]
    fn weighted_turns_share_frames_by_weight() {
        let mut turns = Turns::new(Schedule::WeightedRoundRobin([3, 1, 0, 0, 0, 0, 0, 0]), &classes(2));
        let mut sent = [0; 2];
        for _ in 0..400 {
            sent[turns.pick(0b11, |_| 1500)] += 1;
        }
        assert_eq!(sent, [300, 100]);
    }

    #[test]
    fn deficit_turns_share_octets_whatever_the_frames() {
        let mut turns = Turns::new(Schedule::DeficitRoundRobin([1000; 8]), &classes(2));
        let mut sent = [0u64; 2];
        for _ in 0..10_000 {
            let length = |class| if class == 0 { 1500 } else { 100 };
            let class = turns.pick(0b11, length);
            sent[class] += length(class);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 3000, "{sent:?}");
    }

    #[test]
    fn a_lone_class_is_served_however_small_its_share() {
        let mut turns = Turns::new(Schedule::DeficitRoundRobin([1; 8]), &classes(3));
        assert_eq!(turns.pick(0b100, |_| 1500), 2);
    }

    #[test]
    fn a_meter_weighs_levels_by_time() {
        let mut meter = Meter::default();
        meter.add(Instant::from_ps(100), 10);
        meter.remove(Instant::from_ps(300), 10);
        let span = quell_proto::units::Duration::from_ps(400);
        assert_eq!(meter.take(Instant::from_ps(400), span), (5, 10));
        assert_eq!(meter.take(Instant::from_ps(800), span), (0, 0));
    }
}
