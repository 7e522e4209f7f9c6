//! An adapter in software: reaction points with token buckets in front of a wire.
//!
//! Frames of the host wait by flow and leave in turn, as their limiters let them. Notifications from the wire are
//! consumed, PAUSE and PFC are obeyed, everything else is the host's.

use crate::hold::{Heard, Hold};
use crate::load::{flow_of, flow_of_excerpt};
use crate::node::{Node, Oddities, Outputs, Stepwise, StormGuard, Weather, counted};
use crate::note::{Happening, Note, Noted};
use crate::pool::{Fifo, Pool};
use quell_proto::control::limiter::Limiter;
use quell_proto::control::pacer::Rule;
use quell_proto::control::qcn::{QcnReaction, ReactionConfig};
use quell_proto::control::{AnyReaction, Feedback};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use quell_proto::wire::{
    self, AnyFrame, CnTag, CnmFrame, EtherType, Header, MacAddr, PauseFrame, PfcFrame, VlanKind, VlanTag,
};
use std::collections::{HashSet, VecDeque};

/// The port towards the network.
pub const WIRE: usize = 0;
/// The port towards the host.
pub const HOST: usize = 1;
/// Flows an adapter tells apart, by eight bits.
pub const FLOWS: usize = 256;

/// What an adapter is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The rate of its wire, and the most a reaction point lets through.
    pub rate: Rate,
    /// Octets each frame costs on the wire beyond its own.
    pub overhead: Bytes,
    /// Its reaction points; their `max_rate` is the wire's.
    pub reaction: ReactionConfig,
    /// When a limited flow may send.
    pub rule: Rule,
    /// Octets of credit that a limited flow saves up.
    pub depth: Bytes,
    /// Time from the arrival of a notification until it counts: what is missing of a round trip.
    pub reaction_delay: Duration,
    /// Frames of one flow that may wait.
    pub queue: usize,
    /// The longest frame of the wire, without check sequence; a C-TAG comes on top of it.
    pub longest: usize,
    /// Whether data carries the number of its reaction point in a CN-TAG, where there is room for one.
    pub tags: bool,
    /// What the draws of its reaction points follow from.
    pub seed: u64,
}

/// An adapter.
#[derive(Debug)]
pub struct Nic {
    config: Config,
    flows: Vec<Flow>,
    /// Flows that are limited, in no order: the others need no looking after.
    limited: Vec<u8>,
    /// Flows that have a frame waiting, in the order of their turns.
    turns: VecDeque<u8>,
    pool: Pool,
    busy_until: Instant,
    hold: Hold,
    is_held: bool,
    is_up: bool,
    /// Notifications on their way to their reaction point.
    reactions: VecDeque<(Instant, u8, u8)>,
    guard: StormGuard,
    stations: Stations,
    now: Instant,
    noted: Noted,
    oddities: Oddities,
    counts: NicCounts,
    scratch: Box<[u8]>,
}

#[derive(Debug)]
struct Flow {
    frames: Fifo<Priority>,
    limiter: Limiter,
    counts: FlowCounts,
}

/// What a flow did since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Octets the host gave, check sequences counted.
    pub offered_bytes: u64,
    /// Octets that left by the wire.
    pub sent_bytes: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Frames of the host that found its queue full.
    pub dropped: u64,
    /// Notifications that reached its reaction point.
    pub cnms: u64,
}

/// The addresses that the host sends from. Notifications to others are not its own: a switch that does not know where a station is
/// sends them everywhere.
#[derive(Debug)]
struct Stations {
    last: MacAddr,
    known: HashSet<MacAddr>,
}

impl Stations {
    /// Of more than this any may be one.
    const MOST: usize = 1024;

    fn learn(&mut self, station: MacAddr) {
        if self.last != station && self.known.len() <= Self::MOST {
            self.known.insert(station);
        }
        self.last = station;
    }

    fn contains(&self, station: MacAddr) -> bool {
        self.known.contains(&station) || self.known.len() > Self::MOST
    }
}

/// What the adapter did as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounts {
    /// Frames handed to the host.
    pub to_host: u64,
    /// Frames of the host that found the queue of their flow full.
    pub dropped: u64,
    /// Pause frames that came.
    pub pauses: u64,
    /// Frames that the interface had no room for.
    pub refused: u64,
}

/// Octets by which a frame may be longer than others: those of a C-TAG.
fn beyond_mtu(header: &Header) -> usize {
    match header.tags.as_slice().first() {
        Some(tag) if tag.kind == VlanKind::Customer => VlanTag::LEN,
        _ => 0,
    }
}

/// Notifications that an adapter takes in a tenth of a second: those of a congestion point at 10 Gb/s at its worst.
const MOST_CNMS: u32 = 7_000;
/// Notifications that may be on their way to their reaction point.
const MOST_UNDER_WAY: usize = 4096;

impl Nic {
    /// An adapter without traffic.
    pub fn new(config: Config) -> Nic {
        let flow = |number: usize| Flow {
            frames: Fifo::new(config.queue.min(64)),
            limiter: Limiter::new(config.rule, config.depth, Dice::new(config.seed, number as u64, 1)),
            counts: FlowCounts::default(),
        };
        let slots = (config.queue * 16).clamp(256, 1 << 14) as u32;
        Nic {
            flows: (0..FLOWS).map(flow).collect(),
            limited: Vec::with_capacity(FLOWS),
            turns: VecDeque::with_capacity(FLOWS),
            pool: Pool::new(slots, config.longest + VlanTag::LEN),
            busy_until: Instant::START,
            hold: Hold::new(),
            is_held: false,
            is_up: true,
            reactions: VecDeque::with_capacity(MOST_UNDER_WAY),
            guard: StormGuard::new(MOST_CNMS),
            stations: Stations {
                last: MacAddr::default(),
                known: HashSet::with_capacity(Stations::MOST + 1),
            },
            now: Instant::START,
            noted: Noted::new(),
            oddities: Oddities::default(),
            counts: NicCounts::default(),
            scratch: vec![0; config.longest + VlanTag::LEN].into(),
            config,
        }
    }

    /// Whether a flow has room for another frame.
    pub fn has_room(&self, flow: u8) -> bool {
        self.waiting(flow) < self.config.queue
    }

    /// Frames of a flow that wait.
    pub fn waiting(&self, flow: u8) -> usize {
        self.flows[usize::from(flow)].frames.len()
    }

    /// What a flow is held to; `None` if nothing holds it.
    pub fn limit(&self, flow: u8) -> Option<Rate> {
        self.flows[usize::from(flow)].limiter.limit()
    }

    /// What a flow did since this was last asked.
    pub fn take_counts(&mut self, flow: u8) -> FlowCounts {
        std::mem::take(&mut self.flows[usize::from(flow)].counts)
    }

    /// What the adapter did so far.
    pub fn counts(&self) -> NicCounts {
        self.counts
    }

    /// Frames that were not what they ought to be.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// What happened since this was last asked.
    pub fn notes(&mut self) -> impl Iterator<Item = Note> {
        self.noted.drain()
    }

    /// Notes that were not kept, since the start, because too many came before they were fetched.
    pub fn notes_left_out(&self) -> u64 {
        self.noted.left_out()
    }

    /// The host gives a frame.
    fn take_from_host(&mut self, now: Instant, octets: &[u8], out: &mut dyn Outputs) {
        let Ok(header) = Header::parse(octets) else {
            self.oddities.malformed += 1;
            return;
        };
        let longest = self.config.longest + beyond_mtu(&header);
        if octets.len() > longest {
            self.oddities.oversized += 1;
            return;
        }
        self.stations.learn(header.source);
        // What is neither UDP nor IPv4 shares the first reaction point.
        let number = flow_of(&header, octets).unwrap_or(0);
        let flow = &mut self.flows[usize::from(number)];
        let adds_tag = self.config.tags && header.cn_tag.is_none() && octets.len() + CnTag::LEN <= longest;
        let slot = if flow.frames.len() >= self.config.queue {
            None
        } else if adds_tag {
            let tagged = Header { cn_tag: Some(CnTag { flow: u16::from(number) }), ..header };
            self.pool.put_with(octets.len() + CnTag::LEN, |slot| {
                let at = tagged.emit(slot).expect("a slot has room for one more tag");
                slot[at..].copy_from_slice(&octets[header.payload_at()..]);
            })
        } else {
            self.pool.put(octets)
        };
        let Some(slot) = slot else {
            flow.counts.dropped += 1;
            self.counts.dropped += 1;
            return;
        };
        flow.counts.offered_bytes += counted(self.pool.get(slot).len()).get();
        if flow.frames.is_empty() {
            self.turns.push_back(number);
        }
        flow.frames.push(slot, header.priority());
        self.look(now, out);
    }

    fn take_from_wire(&mut self, now: Instant, octets: &[u8], out: &mut dyn Outputs) {
        let Ok(header) = Header::parse(octets) else {
            self.oddities.malformed += 1;
            return;
        };
        match header.ether_type {
            EtherType::CNM | EtherType::MAC_CONTROL => {}
            _ => return self.give_to_host(now, &header, octets, out),
        }
        match wire::parse(octets) {
            Ok(AnyFrame::Cnm(message)) => match self.flow_of_message(&message) {
                Some(flow) => self.notified(now, flow, message.cnm.feedback.get()),
                None => self.oddities.foreign += 1,
            },
            Ok(AnyFrame::Pause(PauseFrame { pause, .. })) => {
                self.pause(now, [Some(pause.time); Priority::COUNT], out);
            }
            Ok(AnyFrame::Pfc(PfcFrame { pfc, .. })) => self.pause(now, pfc.times, out),
            Ok(_) => self.oddities.foreign += 1,
            Err(_) => self.oddities.malformed += 1,
        }
    }

    /// The flow that a notification is about; `None` if it is for another station, or about no flow of ours.
    fn flow_of_message(&self, message: &CnmFrame) -> Option<u8> {
        if !self.stations.contains(message.envelope.destination) {
            return None;
        }
        match message.envelope.cn_tag {
            Some(tag) => u8::try_from(tag.flow).ok(),
            None => flow_of_excerpt(&message.cnm.excerpt),
        }
    }

    /// A notification reaches its reaction point after a while. Of a storm as many do as of a bad day: rates keep their least.
    fn notified(&mut self, now: Instant, flow: u8, feedback: u8) {
        let weather = self.guard.on_frame(now);
        if weather == Weather::Breaks {
            self.noted.note(now, WIRE, Happening::Storm);
        }
        let is_fair = matches!(weather, Weather::Fair { .. });
        if is_fair && self.reactions.len() < MOST_UNDER_WAY {
            self.reactions.push_back((now + self.config.reaction_delay, flow, feedback));
        } else {
            self.oddities.stormy += 1;
        }
    }

    /// What is for the host loses its CN-TAG, of which no host knows.
    fn give_to_host(&mut self, now: Instant, header: &Header, octets: &[u8], out: &mut dyn Outputs) {
        self.counts.to_host += 1;
        let is_sent = match header.cn_tag {
            Some(_) if octets.len() <= self.scratch.len() => {
                let plain = Header { cn_tag: None, ..*header };
                let payload = &octets[header.payload_at()..];
                let at = plain
                    .emit(&mut self.scratch)
                    .expect("a header without its tag fits where it stood with it");
                self.scratch[at..at + payload.len()].copy_from_slice(payload);
                out.send(now, HOST, &self.scratch[..at + payload.len()])
            }
            _ => out.send(now, HOST, octets),
        };
        self.counts.refused += u64::from(!is_sent);
    }

    fn pause(
        &mut self,
        now: Instant,
        times: [Option<quell_proto::units::Quanta>; Priority::COUNT],
        out: &mut dyn Outputs,
    ) {
        self.counts.pauses += 1;
        match self.hold.on_times(now, times, self.config.rate) {
            Heard::Obeyed => {}
            Heard::Long => self.noted.note(now, WIRE, Happening::HeldLong),
            Heard::Storm => {
                self.oddities.stormy += 1;
                self.noted.note(now, WIRE, Happening::Storm);
            }
            Heard::Ignored => {
                self.oddities.stormy += 1;
                return;
            }
        }
        self.review_pauses(now);
        self.look(now, out);
    }

    /// Reaction points may stand still while the port is held.
    fn review_pauses(&mut self, now: Instant) {
        let is_held = self.hold.is_held(now);
        if is_held == self.is_held {
            return;
        }
        self.is_held = is_held;
        self.noted.note(now, WIRE, if is_held { Happening::Paused } else { Happening::Resumed });
        for number in &self.limited {
            let limiter = &mut self.flows[usize::from(*number)].limiter;
            if is_held {
                limiter.on_paused(now);
            } else {
                limiter.on_resumed(now);
            }
        }
    }

    /// Sends what may go now: in turn among the flows that pause and limiter let go.
    fn look(&mut self, now: Instant, out: &mut dyn Outputs) {
        while self.is_up && self.busy_until <= now {
            let Some(place) = self.turns.iter().position(|flow| self.ready_at(*flow, now) <= now) else {
                return;
            };
            let number = self.turns.remove(place).expect("it was found there");
            let flow = &mut self.flows[usize::from(number)];
            let (slot, _) = flow.frames.pop().expect("a flow that has a turn has a frame");
            if !flow.frames.is_empty() {
                self.turns.push_back(number);
            }
            let octets = self.pool.get(slot);
            let length = counted(octets.len());
            self.busy_until = now + self.config.rate.time_for(length + self.config.overhead);
            flow.limiter.on_sent(now, length);
            if out.send(now, WIRE, octets) {
                flow.counts.sent_bytes += length.get();
                flow.counts.sent_frames += 1;
            } else {
                self.counts.refused += 1;
            }
            self.pool.free(slot);
        }
    }

    /// When the first frame of a flow may go, the wire apart.
    fn ready_at(&self, number: u8, now: Instant) -> Instant {
        let flow = &self.flows[usize::from(number)];
        let (slot, priority) = flow.frames.head().expect("a flow that has a turn has a frame");
        flow.limiter.ready_at(counted(self.pool.get(slot).len())).max(self.hold.until(priority, now))
    }

    fn react(&mut self, at: Instant) {
        while let Some((_, number, quantised)) = self.reactions.pop_front_if(|(due, ..)| *due <= at) {
            let config = ReactionConfig { max_rate: self.config.rate, ..self.config.reaction };
            let flow = &mut self.flows[usize::from(number)];
            flow.counts.cnms += 1;
            if !flow.limiter.is_active() && !self.limited.contains(&number) {
                self.limited.push(number);
            }
            flow.limiter.on_feedback(at, Feedback::Cnm { quantised }, |dice| {
                AnyReaction::Qcn(QcnReaction::new(config, dice))
            });
        }
    }

    fn timeouts(&self) -> impl Iterator<Item = Instant> {
        self.limited.iter().filter_map(|flow| self.flows[usize::from(*flow)].limiter.next_timeout())
    }
}

impl Stepwise for Nic {
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn act(&mut self, at: Instant, out: &mut dyn Outputs) {
        self.review_pauses(at);
        self.react(at);
        let flows = &mut self.flows;
        self.limited.retain(|number| {
            let limiter = &mut flows[usize::from(*number)].limiter;
            if limiter.next_timeout().is_some_and(|due| due <= at) {
                limiter.on_timeout(at);
            }
            limiter.is_active()
        });
        self.look(at, out);
    }
}

impl Node for Nic {
    fn on_frame(&mut self, now: Instant, port: usize, octets: &[u8], out: &mut dyn Outputs) {
        self.advance(now, out);
        let now = self.now;
        match port {
            HOST => self.take_from_host(now, octets, out),
            _ => self.take_from_wire(now, octets, out),
        }
    }

    fn advance(&mut self, now: Instant, out: &mut dyn Outputs) {
        self.catch_up(now, out);
    }

    fn next_due(&self) -> Instant {
        let mut due = self.reactions.front().map_or(Instant::NEVER, |(due, ..)| *due);
        due = self.timeouts().fold(due, Instant::min);
        if self.is_held {
            due = due.min(self.hold.next_end(self.now));
        }
        if self.is_up
            && let Some(ready) = self.turns.iter().map(|flow| self.ready_at(*flow, self.now)).min()
        {
            due = due.min(ready.max(self.busy_until));
        }
        due
    }

    fn on_link(&mut self, now: Instant, port: usize, is_up: bool, out: &mut dyn Outputs) {
        self.advance(now, out);
        self.noted.note(now, port, if is_up { Happening::LinkUp } else { Happening::LinkDown });
        if port == WIRE {
            self.is_up = is_up;
            self.hold.release();
            self.review_pauses(now);
            self.look(now, out);
        }
    }
}

#[cfg(test)]
mod tests;
