//! A store-and-forward switch in software: congestion points at its outputs, service rates, PAUSE and PFC.
//!
//! It decides as the simulator's output-queued switch does, frame by frame: a frame is taken in whole, charged to its
//! input, waits for its output by priority, and is out of the queue once its transmission begins. The congestion point of a
//! queue samples what comes to wait in it.

mod meter;
mod port;
mod table;

pub use port::PortCounts;

use crate::hold::Heard;
use crate::node::{Node, Oddities, Outputs, Stepwise, counted};
use crate::note::{Happening, Note, Noted};
use crate::pool::{Pool, Slot};
use port::{Port, Waiting};
use quell_proto::control::pause::{PauseConfig, PauseSender, Signal};
use quell_proto::control::qcn::{CongestionConfig, Sample};
use quell_proto::units::{Bytes, Duration, Instant, Priority, PrioritySet, Rate};
use quell_proto::wire::{
    self, AnyFrame, CnTag, CnmFrame, EtherType, Frame, Header, MIN_FRAME, MacAddr, Origin, Pause, PauseFrame,
    Pfc, PfcFrame, QuantisedFeedback, QueueDifference,
};
use table::Table;

/// What a switch is.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its ports.
    pub ports: Vec<PortConfig>,
    /// Room for frames of data that wait, all ports together.
    pub memory: Bytes,
    /// The longest frame it takes, without check sequence.
    pub longest: usize,
    /// Octets each frame costs on the wire beyond its own.
    pub overhead: Bytes,
    /// The congestion points at its outputs; none if absent.
    pub congestion: Option<CongestionConfig>,
    /// The priority that notifications travel at. Data of this priority is not watched.
    pub cnm_priority: Priority,
    /// Octets of the sampled frame that a notification carries.
    pub excerpt: usize,
    /// How it stops those who fill its inputs.
    pub pause: FlowControl,
    /// What the draws of its congestion points follow from.
    pub seed: u64,
}

/// What a port is.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// The address that its control frames come from.
    pub address: MacAddr,
    /// The rate of its wire, which pauses are counted in too.
    pub rate: Rate,
    /// What it is served at, if slower.
    pub service: Option<Rate>,
    /// Whether it takes the CN-TAG off what it sends, as towards a station outside of the domain.
    pub is_edge: bool,
}

/// How a switch stops those who fill its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// Not at all: what finds no room is dropped.
    Off,
    /// All traffic of a port (802.3x).
    Pause(PauseConfig),
    /// These priorities, each for itself (802.1Qbb).
    Pfc(PauseConfig, PrioritySet),
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    config: Config,
    ports: Vec<Port>,
    pool: Pool,
    table: Table,
    /// Octets of data that wait.
    held: u64,
    dropped: u64,
    now: Instant,
    noted: Noted,
    oddities: Oddities,
    scratch: Box<[u8]>,
}

impl Switch {
    /// A switch whose ports are all up.
    ///
    /// # Panics
    /// When thresholds of flow control contradict each other, as [`PauseSender::new`] says.
    pub fn new(config: Config) -> Switch {
        // Every frame that fits into the memory finds a slot, and so do notifications.
        let slots = (config.memory.get() / MIN_FRAME as u64).clamp(64, 1 << 16) as u32;
        let ports =
            config.ports.iter().zip(0..).map(|(port, number)| Port::new(&config, port, number)).collect();
        Switch {
            ports,
            pool: Pool::new(slots, config.longest + Header::LONGEST),
            table: Table::default(),
            held: 0,
            dropped: 0,
            now: Instant::START,
            noted: Noted::new(),
            oddities: Oddities::default(),
            scratch: vec![0; config.longest.max(CnmFrame::LONGEST) + CnTag::LEN].into(),
            config,
        }
    }

    /// Says where a station is, before it has sent anything.
    pub fn teach(&mut self, station: MacAddr, port: usize) {
        self.table.learn(station, port);
    }

    /// Serves a port at another rate from now on; `None` is its wire's.
    pub fn set_service(&mut self, now: Instant, port: usize, rate: Option<Rate>, out: &mut dyn Outputs) {
        self.advance(now, out);
        self.settle_service(port, now);
        self.ports[port].service = rate;
        let shown = rate.unwrap_or(self.config.ports[port].rate);
        self.noted.note(now, port, Happening::Service(shown));
    }

    /// What a port did since this was last asked.
    pub fn take_counts(&mut self, now: Instant, port: usize) -> PortCounts {
        self.settle_service(port, now);
        let Port { counts, output, input, held_since, stopped_since, .. } = &mut self.ports[port];
        let since = |start: &mut Option<Instant>| match start {
            Some(at) => now.saturating_since(std::mem::replace(at, now)),
            None => Duration::ZERO,
        };
        counts.paused += since(held_since);
        counts.stopped += since(stopped_since);
        (counts.queue, counts.input) = (output.take(now), input.take(now));
        std::mem::take(counts)
    }

    /// Octets that wait for a port now.
    pub fn queued(&self, port: usize) -> u64 {
        self.ports[port].output.level
    }

    /// Frames that found no room, or waited for a port that went down, since the start.
    pub fn dropped(&self) -> u64 {
        self.dropped
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

    fn settle_service(&mut self, port: usize, now: Instant) {
        let Port { service, counts, serviced_since, .. } = &mut self.ports[port];
        let rate = service.unwrap_or(self.config.ports[port].rate);
        counts.serviceable += rate.carries_in(now.saturating_since(*serviced_since));
        *serviced_since = now;
    }

    fn take_control(&mut self, now: Instant, port: usize, octets: &[u8], out: &mut dyn Outputs) {
        // PAUSE where PFC was agreed on, or the other way round, is obeyed all the same.
        let times = match wire::parse(octets) {
            Ok(AnyFrame::Pause(PauseFrame { pause, .. })) => [Some(pause.time); Priority::COUNT],
            Ok(AnyFrame::Pfc(PfcFrame { pfc, .. })) => pfc.times,
            Ok(_) => {
                self.oddities.foreign += 1;
                return;
            }
            Err(_) => {
                self.oddities.malformed += 1;
                return;
            }
        };
        let rate = self.config.ports[port].rate;
        let own = &mut self.ports[port];
        own.counts.pauses += 1;
        match own.hold.on_times(now, times, rate) {
            Heard::Obeyed => {}
            Heard::Long => self.noted.note(now, port, Happening::HeldLong),
            Heard::Storm => {
                self.oddities.stormy += 1;
                self.noted.note(now, port, Happening::Storm);
            }
            Heard::Ignored => {
                self.oddities.stormy += 1;
                return;
            }
        }
        self.review_pauses(now, port);
        self.look(now, port, out);
    }

    /// Notes when a port becomes held and when it is let go.
    fn review_pauses(&mut self, now: Instant, port: usize) {
        let own = &mut self.ports[port];
        let is_held = own.hold.is_held(now);
        match (own.held_since, is_held) {
            (None, true) => {
                own.held_since = Some(now);
                self.noted.note(now, port, Happening::Paused);
            }
            (Some(since), false) => {
                own.counts.paused += now.saturating_since(since);
                own.held_since = None;
                self.noted.note(now, port, Happening::Resumed);
            }
            _ => {}
        }
    }

    /// Lets a frame wait for one output.
    fn enqueue(
        &mut self,
        now: Instant,
        input: usize,
        output: usize,
        header: &Header,
        octets: &[u8],
        out: &mut dyn Outputs,
    ) {
        let is_data = header.ether_type != EtherType::CNM;
        let length = counted(octets.len()).get();
        let priority = header.priority();
        let has_room = !is_data || self.held + length <= self.config.memory.get();
        let strips = self.config.ports[output].is_edge && header.cn_tag.is_some();
        let slot = if !has_room || !self.ports[output].is_up {
            None
        } else if strips {
            let plain = Header { cn_tag: None, ..*header };
            self.pool.put_with(octets.len() - CnTag::LEN, |slot| {
                let at = plain.emit(slot).expect("a header without its tag fits where it stood with it");
                slot[at..].copy_from_slice(&octets[header.payload_at()..]);
            })
        } else {
            self.pool.put(octets)
        };
        let Some(slot) = slot else {
            self.ports[output].counts.dropped += 1;
            self.dropped += 1;
            self.noted.note(now, output, Happening::Drop(length));
            return;
        };
        let length = counted(self.pool.get(slot).len()).get();
        let waiting = Waiting { input: Some(input as u16), is_data };
        self.wait(now, output, priority, slot, waiting);
        if is_data {
            self.charge(now, input, priority, length, out);
            self.watch(now, output, input, header, octets, length, out);
        }
        self.look(now, output, out);
    }

    fn wait(&mut self, now: Instant, output: usize, priority: Priority, slot: Slot, waiting: Waiting) {
        let length = counted(self.pool.get(slot).len()).get();
        let port = &mut self.ports[output];
        let queue = &mut port.queues[priority.index()];
        queue.frames.push(slot, waiting);
        queue.octets += length;
        port.output.change(now, length as i64);
    }

    /// Shows a frame that came to wait to the congestion point there, and sends a notification if that says so.
    #[expect(clippy::too_many_arguments, reason = "a frame, where it came from and where it goes")]
    fn watch(
        &mut self,
        now: Instant,
        output: usize,
        input: usize,
        header: &Header,
        octets: &[u8],
        length: u64,
        out: &mut dyn Outputs,
    ) {
        let queue = &mut self.ports[output].queues[header.priority().index()];
        let Some(point) = &mut queue.point else { return };
        let answerable = !header.source.is_group();
        let Some(sample) = point.on_arrival(Bytes::new(length), Bytes::new(queue.octets), answerable) else {
            return;
        };
        let origin = Origin {
            address: self.config.ports[input].address,
            point: queue.id,
            priority: self.config.cnm_priority,
            excerpt: self.config.excerpt,
            tag_always: false,
        };
        let frame = Frame { header: *header, payload: octets.get(header.payload_at()..).unwrap_or_default() };
        let Some((feedback, offset, delta)) = told(sample) else { return };
        let Some(message) = origin.answer(&frame, feedback, offset, delta) else { return };
        let Ok(written) = message.emit(&mut self.scratch) else { return };
        let Some(slot) = self.pool.put(&self.scratch[..written]) else { return };
        self.ports[output].counts.cnms += 1;
        let flow = header.cn_tag.map(|tag| tag.flow);
        self.noted.note(now, output, Happening::Cnm(flow, sample.quantised));
        // It goes back where the sampled frame came from.
        let priority = message.header().priority();
        self.wait(now, input, priority, slot, Waiting { input: None, is_data: false });
        self.look(now, input, out);
    }

    fn charge(&mut self, now: Instant, input: usize, priority: Priority, length: u64, out: &mut dyn Outputs) {
        self.held += length;
        let port = &mut self.ports[input];
        port.brought[priority.index()] += length;
        port.input.change(now, length as i64);
        self.review_input(now, input, priority, out);
    }

    fn discharge(
        &mut self,
        now: Instant,
        input: usize,
        priority: Priority,
        length: u64,
        out: &mut dyn Outputs,
    ) {
        self.held -= length;
        let port = &mut self.ports[input];
        port.brought[priority.index()] -= length;
        port.input.change(now, -(length as i64));
        self.review_input(now, input, priority, out);
    }

    /// Compares an input with its thresholds.
    fn review_input(&mut self, now: Instant, input: usize, priority: Priority, out: &mut dyn Outputs) {
        let (place, level) = match self.config.pause {
            FlowControl::Off => return,
            FlowControl::Pause(_) => (0, self.ports[input].input.level),
            FlowControl::Pfc(..) => (priority.index(), self.ports[input].brought[priority.index()]),
        };
        let rate = self.config.ports[input].rate;
        let Some(sender) = &mut self.ports[input].senders[place] else { return };
        if let Some(signal) = sender.on_level(now, Bytes::new(level), rate) {
            self.signal(now, input, place, signal, out);
        }
    }

    /// Tells the peer of an input to stop or to go on.
    fn signal(&mut self, now: Instant, input: usize, place: usize, signal: Signal, out: &mut dyn Outputs) {
        let source = self.config.ports[input].address;
        let time = signal.quanta();
        let mut octets = [0; MIN_FRAME];
        let written = match (self.config.pause, Priority::new(place as u8)) {
            (FlowControl::Pfc(..), Some(priority)) => {
                PfcFrame { source, pfc: Pfc::of(priority, time) }.emit(&mut octets)
            }
            _ => PauseFrame { source, pause: Pause { time } }.emit(&mut octets),
        };
        let Some(slot) = written.ok().and_then(|length| self.pool.put(&octets[..length])) else { return };
        let port = &mut self.ports[input];
        port.control.push(slot, ());
        let level = port.input.level;
        let is_stopping = port.senders.iter().flatten().any(PauseSender::is_stopping);
        match (port.stopped_since, is_stopping) {
            (None, true) => {
                port.stopped_since = Some(now);
                self.noted.note(now, input, Happening::Stop(level));
            }
            (Some(since), false) => {
                port.counts.stopped += now.saturating_since(since);
                port.stopped_since = None;
                self.noted.note(now, input, Happening::Go(level));
            }
            _ => {}
        }
        self.look(now, input, out);
    }

    /// Sends what may go by a port now.
    fn look(&mut self, now: Instant, number: usize, out: &mut dyn Outputs) {
        loop {
            let port = &mut self.ports[number];
            if !port.is_up || port.free_at() > now {
                return;
            }
            if let Some((slot, ())) = port.control.pop() {
                let octets = self.pool.get(slot);
                let length = counted(octets.len()) + self.config.overhead;
                port.wire_until = now + self.config.ports[number].rate.time_for(length);
                port.busy_until = port.busy_until.max(port.wire_until);
                if !out.send(now, number, octets) {
                    port.counts.refused += 1;
                }
                self.pool.free(slot);
                continue;
            }
            let Some(priority) = port.eligible(now) else { return };
            let queue = &mut port.queues[priority.index()];
            let (slot, waiting) = queue.frames.pop().expect("an eligible queue holds a frame");
            let octets = self.pool.get(slot);
            let length = counted(octets.len());
            queue.octets -= length.get();
            port.output.change(now, -(length.get() as i64));
            let on_wire = length + self.config.overhead;
            let rate = self.config.ports[number].rate;
            port.wire_until = now + rate.time_for(on_wire);
            let served = port.service.map_or(port.wire_until, |service| now + service.time_for(on_wire));
            port.busy_until = served.max(port.wire_until);
            if !out.send(now, number, octets) {
                port.counts.refused += 1;
            } else if waiting.is_data {
                port.counts.sent_bytes += length.get();
                port.counts.sent_frames += 1;
            }
            self.pool.free(slot);
            if let (true, Some(input)) = (waiting.is_data, waiting.input) {
                self.discharge(now, usize::from(input), priority, length.get(), out);
            }
        }
    }
}

impl Stepwise for Switch {
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn act(&mut self, at: Instant, out: &mut dyn Outputs) {
        for port in 0..self.ports.len() {
            if self.ports[port].pause_ends(self.now).is_some_and(|ends| ends <= at) {
                self.review_pauses(at, port);
            }
            for place in 0..Priority::COUNT {
                let rate = self.config.ports[port].rate;
                let repeated =
                    self.ports[port].senders[place].as_mut().and_then(|it| it.on_timeout(at, rate));
                if let Some(signal) = repeated {
                    self.signal(at, port, place, signal, out);
                }
            }
            self.look(at, port, out);
        }
    }
}

impl Node for Switch {
    fn on_frame(&mut self, now: Instant, port: usize, octets: &[u8], out: &mut dyn Outputs) {
        self.advance(now, out);
        let now = self.now;
        if octets.len() > self.config.longest {
            self.oddities.oversized += 1;
            return;
        }
        let Ok(header) = Header::parse(octets) else {
            self.oddities.malformed += 1;
            return;
        };
        if header.source.is_group() {
            self.oddities.malformed += 1;
            return;
        }
        if header.ether_type == EtherType::MAC_CONTROL {
            return self.take_control(now, port, octets, out);
        }
        // What is meant for the bridge itself ends here: 01-80-C2-00-00-00 to 0F.
        if matches!(header.destination.0, [0x01, 0x80, 0xc2, 0, 0, 0..=0x0f]) {
            self.oddities.foreign += 1;
            return;
        }
        if !self.ports[port].is_up {
            return;
        }
        self.ports[port].counts.received_frames += 1;
        self.table.learn(header.source, port);
        match self.table.port_of(header.destination) {
            Some(output) if output == port => {}
            Some(output) => self.enqueue(now, port, output, &header, octets, out),
            None => {
                for output in (0..self.ports.len()).filter(|output| *output != port) {
                    self.enqueue(now, port, output, &header, octets, out);
                }
            }
        }
    }

    fn advance(&mut self, now: Instant, out: &mut dyn Outputs) {
        self.catch_up(now, out);
    }

    fn next_due(&self) -> Instant {
        self.ports.iter().map(|port| port.next_due(self.now)).min().unwrap_or(Instant::NEVER)
    }

    fn on_link(&mut self, now: Instant, number: usize, is_up: bool, out: &mut dyn Outputs) {
        self.advance(now, out);
        if self.ports[number].is_up == is_up {
            return;
        }
        self.ports[number].is_up = is_up;
        self.ports[number].hold.release();
        self.noted.note(now, number, if is_up { Happening::LinkUp } else { Happening::LinkDown });
        self.review_pauses(now, number);
        if is_up {
            for place in 0..Priority::COUNT {
                let rate = self.config.ports[number].rate;
                // The peer may have forgotten that it was stopped.
                let again = self.ports[number].senders[place].as_mut().and_then(|it| it.repeat(now, rate));
                if let Some(signal) = again {
                    self.signal(now, number, place, signal, out);
                }
            }
            return self.look(now, number, out);
        }
        // What waits for a dead port is lost.
        while let Some((slot, ())) = self.ports[number].control.pop() {
            self.pool.free(slot);
        }
        for priority in Priority::all() {
            while let Some((slot, waiting)) = self.ports[number].queues[priority.index()].frames.pop() {
                let length = counted(self.pool.get(slot).len()).get();
                self.pool.free(slot);
                let port = &mut self.ports[number];
                port.queues[priority.index()].octets -= length;
                port.output.change(now, -(length as i64));
                port.counts.dropped += 1;
                self.dropped += 1;
                if let (true, Some(input)) = (waiting.is_data, waiting.input) {
                    self.discharge(now, usize::from(input), priority, length, out);
                }
            }
        }
    }
}

/// What a notification says of a sample.
fn told(sample: Sample) -> Option<(QuantisedFeedback, QueueDifference, QueueDifference)> {
    let feedback = QuantisedFeedback::new(sample.quantised)?;
    Some((feedback, QueueDifference::from_octets(sample.offset), QueueDifference::from_octets(sample.delta)))
}

#[cfg(test)]
mod tests;
