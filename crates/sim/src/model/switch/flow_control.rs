//! Which inputs stop their peers, and when.

use super::Switch;
use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::frame::{Body, Frame};
use crate::model::net::Net;
use crate::scenario::plan::{FlowControl, StopRule};
use quell_proto::control::isolation::{BothClasses, Coupling};
use quell_proto::control::pause::{PauseConfig, PauseSender, Signal};
use quell_proto::units::{Bytes, Instant, Priority};
use quell_record::EventKind;
use std::cmp::Reverse;

/// Link-level flow control of one switch.
#[derive(Debug)]
pub(super) struct Stops {
    pub(super) scope: Scope,
    classes: usize,
    /// One bit a class: must not drop.
    lossless: u8,
    /// One for each port (PAUSE), or for each port and class (PFC; only the lossless ones are used).
    pub(super) senders: Vec<Stop>,
    /// What each port brought in and still is here, over all classes.
    totals: Vec<u64>,
    dynamic: Option<Dynamic>,
    /// Thresholds of the whole memory, where all inputs stop at once.
    pub(super) global: Option<Global>,
    /// Two classes that stop for each other's sake, where flows are isolated.
    pub(super) coupled: Option<Coupled>,
}

/// Two classes that stop for each other's sake.
#[derive(Debug)]
pub(super) struct Coupled {
    /// The monitored one and the congesting one.
    classes: [usize; 2],
    /// For each input, what stops the first of them for the second's sake, and the second for the first's.
    inputs: Vec<[Coupling; 2]>,
    /// The inputs whose peers have no such congesting queue, by a flag each: a pause of that class would stop nothing there.
    alone: Vec<bool>,
    /// The thresholds for peers that have one.
    both: BothClasses,
}

impl Coupled {
    /// Which of the two a class is.
    fn place_of(&self, class: usize) -> Option<usize> {
        self.classes.iter().position(|it| *it == class)
    }
}

impl Stops {
    /// Lets what an input holds of one class stop the other too: beyond the thresholds of both, or beyond its own where the
    /// peer is `alone` in having no queue of the congesting class.
    pub(super) fn couple(&mut self, both: BothClasses, classes: [u8; 2], alone: Vec<bool>) {
        let own =
            self.senders.first().filter(|_| self.dynamic.is_none()).map(|stop| stop.sender.thresholds());
        let own = own.map_or(both, |own| BothClasses { stop: own.stop, go: own.go });
        let of_input = |alone: &bool| [Coupling::new(if *alone { own } else { both }), Coupling::new(both)];
        self.coupled = Some(Coupled {
            classes: classes.map(usize::from),
            inputs: alone.iter().map(of_input).collect(),
            alone,
            both,
        });
    }

    /// Where another class is what keeps a sender stopping: that class, and below which level it does not.
    pub(super) fn kept_by(&self, number: usize) -> Option<(usize, u64)> {
        let coupled = self.coupled.as_ref()?;
        let (port, class) = self.input_of(number);
        let place = coupled.place_of(class?)?;
        let go = coupled.inputs[port][place].holds_above()?;
        Some((coupled.classes[1 - place], go.get()))
    }
}

/// One state for all inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Global {
    stop: u64,
    pub(super) go: u64,
    held: u64,
    stopping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Off,
    Port,
    Class,
}

#[derive(Debug)]
pub(super) struct Stop {
    pub(super) sender: PauseSender,
    booked: Instant,
    stopped_ps: u64,
    /// When the pause in force was last accounted for, and when it began.
    since: Instant,
    pub(super) began: Instant,
    /// The link failed while the peer was stopped: what it sends before it hears of that again may be too much.
    excused: bool,
}

/// A threshold that moves with the memory still free.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    alpha_num: u64,
    alpha_den: u64,
    hysteresis: u64,
}

impl Stops {
    pub(super) fn new(flow_control: &FlowControl, ports: usize, classes: &[Priority]) -> Stops {
        let (scope, rule, lossless) = match flow_control {
            FlowControl::Off => (Scope::Off, None, 0),
            FlowControl::Pause(rule) => (Scope::Port, Some(*rule), u8::MAX),
            FlowControl::Pfc { priorities, stop } => {
                let bits =
                    classes.iter().enumerate().filter(|(_, class)| priorities & (1 << class.get()) != 0);
                (Scope::Class, Some(*stop), bits.fold(0, |bits, (class, _)| bits | 1 << class))
            }
        };
        let (config, dynamic) = match rule {
            None => (PauseConfig { stop: Bytes::ZERO, go: Bytes::ZERO, quanta: Default::default() }, None),
            Some(StopRule::Static(config) | StopRule::Global(config)) => (config, None),
            Some(StopRule::Dynamic { alpha_num, alpha_den, hysteresis, quanta }) => {
                let dynamic = Dynamic {
                    alpha_num: u64::from(alpha_num),
                    alpha_den: u64::from(alpha_den.max(1)),
                    hysteresis: hysteresis.get(),
                };
                (PauseConfig { stop: Bytes::ZERO, go: Bytes::ZERO, quanta }, Some(dynamic))
            }
        };
        let count = match scope {
            Scope::Off => 0,
            Scope::Port => ports,
            Scope::Class => ports * classes.len(),
        };
        let stop = || Stop {
            sender: PauseSender::new(config),
            booked: Instant::NEVER,
            stopped_ps: 0,
            since: Instant::START,
            began: Instant::START,
            excused: false,
        };
        Stops {
            scope,
            classes: classes.len(),
            lossless,
            senders: (0..count).map(|_| stop()).collect(),
            totals: vec![0; ports],
            dynamic,
            global: match rule {
                Some(StopRule::Global(PauseConfig { stop, go, .. })) => {
                    Some(Global { stop: stop.get(), go: go.get(), held: 0, stopping: false })
                }
                _ => None,
            },
            coupled: None,
        }
    }

    #[inline]
    pub(super) fn is_lossless(&self, class: usize) -> bool {
        self.lossless & (1 << class) != 0
    }

    /// Which sender speaks for an input, if any.
    #[inline]
    fn sender_of(&self, port: usize, class: usize) -> Option<usize> {
        match self.scope {
            Scope::Off => None,
            Scope::Port => Some(port),
            Scope::Class
                if self.coupled.as_ref().is_some_and(|it| it.classes[1] == class && it.alone[port]) =>
            {
                None
            }
            Scope::Class => self.is_lossless(class).then_some(port * self.classes + class),
        }
    }

    /// The port and class that a sender speaks for.
    pub(super) fn input_of(&self, sender: usize) -> (usize, Option<usize>) {
        match self.scope {
            Scope::Off | Scope::Port => (sender, None),
            Scope::Class => (sender / self.classes, Some(sender % self.classes)),
        }
    }

    /// Whether an input that holds `held` octets in a class would say nothing if it held `length` more for no time.
    /// `false` where that takes more than a look.
    #[inline]
    pub(super) fn stays_silent(&self, port: usize, class: usize, length: u64, held: u64) -> bool {
        let level = match self.scope {
            Scope::Off => return true,
            Scope::Port => self.totals[port],
            Scope::Class => held,
        };
        let Some(sender) = self.sender_of(port, class) else { return true };
        let is_fixed = self.dynamic.is_none() && self.global.is_none();
        is_fixed && self.senders[sender].sender.is_content_with(Bytes::new(level + length))
    }

    /// What an input may hold in a class without a word to its peer. Below that it holds nobody, since it says so when it falls
    /// that far. Nothing where that takes more than a look at the class.
    pub(super) fn silent_up_to(&self) -> u64 {
        let is_fixed = self.dynamic.is_none() && self.global.is_none() && self.coupled.is_none();
        match (self.scope, self.senders.first()) {
            (Scope::Off, _) => u64::MAX,
            (Scope::Class, Some(stop)) if is_fixed => {
                let thresholds = stop.sender.thresholds();
                thresholds.stop.get().min(thresholds.go.get())
            }
            _ => 0,
        }
    }

    /// Whether an input holds its peer.
    pub(super) fn is_stopping(&self, port: usize, class: usize) -> bool {
        self.sender_of(port, class).is_some_and(|sender| self.senders[sender].sender.is_stopping())
    }

    /// Whether a loss at this input follows from the failure of its link.
    pub(super) fn is_excused(&self, port: usize, class: usize) -> bool {
        self.sender_of(port, class).is_some_and(|sender| self.senders[sender].excused)
    }

    /// Whether a loss in a memory that all inputs share may follow from the failure of a link.
    pub(super) fn is_any_excused(&self) -> bool {
        self.senders.iter().any(|stop| stop.excused)
    }

    /// How long an input held its peer since the last sample.
    pub(super) fn take_stopped(&mut self, port: usize, class: usize, now: Instant) -> u64 {
        let Some(sender) = self.sender_of(port, class) else { return 0 };
        let stop = &mut self.senders[sender];
        if stop.sender.is_stopping() {
            stop.stopped_ps += (now - stop.since).ps();
            stop.since = now;
        }
        std::mem::take(&mut stop.stopped_ps)
    }
}

impl Switch {
    /// A frame of data now is here by this input.
    #[inline(always)]
    pub(super) fn charge(&mut self, frame: &Frame, input: usize, net: &mut Net) {
        let length = u64::from(frame.length);
        let meter = &mut self.inputs[input * self.classes + frame.class as usize].meter;
        meter.add(net.now, length);
        let level = meter.level();
        self.waiting.occupy(length);
        if self.stops.scope != Scope::Off {
            self.stops.totals[input] += length;
            if let Some(global) = &mut self.stops.global {
                global.held += length;
                return self.review_all(net);
            }
            if level > self.quiet.input {
                self.review(input, frame.class as usize, net);
            }
        }
    }

    /// A frame of data has left the input's books.
    #[inline(always)]
    pub(super) fn discharge(&mut self, frame: &Frame, input: usize, net: &mut Net) {
        if self.has_other_copies(frame, net) {
            return;
        }
        let length = u64::from(frame.length);
        let meter = &mut self.inputs[input * self.classes + frame.class as usize].meter;
        let before = meter.level();
        meter.remove(net.now, length);
        self.waiting.vacate(length);
        if self.stops.scope != Scope::Off {
            self.stops.totals[input] -= length;
            if let Some(global) = &mut self.stops.global {
                global.held -= length;
                return self.review_all(net);
            }
            if before >= self.quiet.input {
                self.review(input, frame.class as usize, net);
            }
        }
    }

    /// Compares the whole memory with its thresholds. What it says holds for every input.
    #[inline(never)]
    fn review_all(&mut self, net: &mut Net) {
        let Some(global) = &mut self.stops.global else { return };
        let turns = if global.stopping { global.held < global.go } else { global.held > global.stop };
        if !turns {
            return;
        }
        global.stopping = !global.stopping;
        let level = global.held;
        for number in 0..self.stops.senders.len() {
            let (port, class) = self.stops.input_of(number);
            if class.is_some_and(|class| !self.stops.is_lossless(class)) {
                continue;
            }
            let rate = net.wires[self.ports[port].sender.wire as usize].speed.rate();
            let signal = self.stops.senders[number].sender.on_level(net.now, Bytes::new(level), rate);
            if let Some(signal) = signal {
                self.signal(number, signal, level, net);
            }
        }
    }

    /// Compares an input with its thresholds.
    #[inline(never)]
    fn review(&mut self, input: usize, class: usize, net: &mut Net) {
        if self.stops.coupled.is_some() {
            self.review_coupled(input, class, net);
        }
        self.review_class(input, class, net);
    }

    /// The peer of an input turns out to have a congesting queue too: from now on each class is paused by itself.
    pub(super) fn meet_peer(&mut self, input: usize, net: &mut Net) {
        let Some(coupled) = &mut self.stops.coupled else { return };
        if !std::mem::take(&mut coupled.alone[input]) {
            return;
        }
        coupled.inputs[input][0] = Coupling::new(coupled.both);
        let [monitored, congesting] = coupled.classes;
        self.review(input, congesting, net);
        self.review(input, monitored, net);
    }

    /// What an input holds of a class may stop another class, or let it go again.
    fn review_coupled(&mut self, input: usize, class: usize, net: &mut Net) {
        let level = self.inputs[input * self.classes + class].meter.level();
        let Some(coupled) = &mut self.stops.coupled else { return };
        let Some(place) = coupled.place_of(class) else { return };
        let other = 1 - place;
        let turns = coupled.inputs[input][other].on_level(Bytes::new(level));
        if turns || self.stops.dynamic.is_some() && coupled.alone[input] {
            let class = coupled.classes[other];
            self.review_class(input, class, net);
        }
    }

    fn review_class(&mut self, input: usize, class: usize, net: &mut Net) {
        let Some(number) = self.stops.sender_of(input, class) else { return };
        let mut level = match self.stops.scope {
            Scope::Port => self.stops.totals[input],
            Scope::Class | Scope::Off => self.inputs[input * self.classes + class].meter.level(),
        };
        if let Some(coupled) = &self.stops.coupled
            && let Some(place) = coupled.place_of(class)
        {
            let stop = self.stops.senders[number].sender.thresholds().stop;
            level = coupled.inputs[input][place].shown(Bytes::new(level), stop).get();
            if self.stops.dynamic.is_some() && coupled.alone[input] {
                // The peer is told of the congesting class by this one, whose threshold moves.
                let congesting = coupled.classes[1];
                level = level.max(self.inputs[input * self.classes + congesting].meter.level());
            }
        }
        let rate = net.wires[self.ports[input].sender.wire as usize].speed.rate();
        let stop = &mut self.stops.senders[number];
        if let Some(dynamic) = self.stops.dynamic {
            let free = self.waiting.free_memory(level);
            let threshold = free.saturating_mul(dynamic.alpha_num) / dynamic.alpha_den;
            let go = threshold.saturating_sub(dynamic.hysteresis);
            stop.sender.set_thresholds(Bytes::new(threshold), Bytes::new(go));
        }
        if let Some(signal) = stop.sender.on_level(net.now, Bytes::new(level), rate) {
            self.signal(number, signal, level, net);
        }
    }

    #[cold]
    fn signal(&mut self, number: usize, signal: Signal, level: u64, net: &mut Net) {
        let (port, class) = self.stops.input_of(number);
        let cause = match signal {
            Signal::Stop(_) => self.fullest_for(port, class, net),
            Signal::Go => None,
        };
        let stop = &mut self.stops.senders[number];
        let kind = match signal {
            Signal::Stop(_) => {
                (stop.since, stop.began) = (net.now, net.now);
                EventKind::Stop
            }
            Signal::Go => {
                stop.excused = false;
                stop.stopped_ps += (net.now - stop.since).ps();
                EventKind::Go
            }
        };
        for data in 0..net.data_count() {
            if class.is_none_or(|class| net.data_class(class) == Some(data)) {
                let wire = self.ports[port].sender.wire;
                net.stop_event(wire, data, kind, level, cause);
            }
        }
        self.rearm_refresh(number, net);
        self.send_signal(number, signal, net);
        if matches!(signal, Signal::Stop(_)) {
            self.start_keep_alive(port, class, net);
        }
    }

    /// The queue that most of what an input holds waits in, as the wire of its port and its data priority; in all
    /// classes if none is given.
    fn fullest_for(&self, input: usize, class: Option<usize>, net: &Net) -> Option<(u32, usize)> {
        let mut fullest: Option<(u64, (u32, usize))> = None;
        for class in class.map_or(0..self.classes, |class| class..class + 1) {
            let Some(data) = net.data_class(class) else { continue };
            let found = if self.ways.are_known() {
                let found = self.ways.fullest(input, class);
                debug_assert_eq!(found, self.fullest_of_all(input, class, net));
                found
            } else {
                self.fullest_of_all(input, class, net)
            };
            if let Some((octets, output)) = found
                && octets > fullest.map_or(0, |(most, _)| most)
            {
                fullest = Some((octets, (self.wire_of_output(output), data)));
            }
        }
        fullest.map(|(_, queue)| queue)
    }

    /// Whether each frame waits for one output and nowhere else, and somebody will ask what an input holds for which.
    pub(super) fn counts_ways(&self) -> bool {
        self.stops.scope != Scope::Off
            && !self.is_staged()
            && !self.parted.is_used()
            && self.acknowledgements.is_none()
            && self.isolation.is_none()
    }

    /// The output that most of what an input holds of a class is for, and how much that is; the first of several. Looks at every
    /// frame, wherever in the switch it is.
    fn fullest_of_all(&self, input: usize, class: usize, net: &Net) -> Option<(u64, usize)> {
        // By output. Those of a fabric are many, so it grows with what is there.
        let mut held = Vec::new();
        for (output, frame) in self.held_by_input(input, class, net) {
            held.resize(held.len().max(output + 1), 0);
            held[output] += u64::from(frame.length);
        }
        let fullest = held.into_iter().zip(0..).max_by_key(|(octets, output)| (*octets, Reverse(*output)));
        fullest.filter(|(octets, _)| *octets > 0)
    }

    /// The pause sent last may need another.
    pub(super) fn on_refresh(&mut self, number: usize, net: &mut Net) {
        if self.stops.senders[number].booked != net.now {
            return;
        }
        self.stops.senders[number].booked = Instant::NEVER;
        let (port, _) = self.stops.input_of(number);
        let rate = net.wires[self.ports[port].sender.wire as usize].speed.rate();
        let signal = self.stops.senders[number].sender.on_timeout(net.now, rate);
        self.rearm_refresh(number, net);
        if let Some(signal) = signal {
            self.send_signal(number, signal, net);
        }
    }

    /// The link of a port came back: stops still in force are said again.
    pub(super) fn stop_again(&mut self, port: usize, net: &mut Net) {
        let rate = net.wires[self.ports[port].sender.wire as usize].speed.rate();
        for number in 0..self.stops.senders.len() {
            if self.stops.input_of(number).0 != port {
                continue;
            }
            if let Some(signal) = self.stops.senders[number].sender.repeat(net.now, rate) {
                self.stops.senders[number].excused = true;
                self.rearm_refresh(number, net);
                self.send_signal(number, signal, net);
            }
        }
    }

    fn rearm_refresh(&mut self, number: usize, net: &mut Net) {
        let stop = &mut self.stops.senders[number];
        if let Some(due) = stop.sender.next_timeout().filter(|due| *due < stop.booked) {
            stop.booked = due;
            net.agenda.book(due, self.node, Lane::new(LaneKind::Refresh, number as u32));
        }
    }

    fn send_signal(&mut self, number: usize, signal: Signal, net: &mut Net) {
        let (port, class) = self.stops.input_of(number);
        let quanta = signal.quanta();
        let body = match class {
            None => Body::Pause { quanta },
            Some(class) => Body::Pfc { priority: net.classes[class].get(), quanta },
        };
        self.send_control(port, body, net);
    }
}
