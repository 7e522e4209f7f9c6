//! The receiving side of a host: a buffer that is emptied at the host's own pace, and pauses the switch in time.

use crate::kernel::agenda::{Lane, LaneKind};
use crate::model::Fault;
use crate::model::frame::{Body, Frame, Handle, List};
use crate::model::net::{Net, Speed};
use crate::model::port::Meter;
use crate::scenario::plan;
use quell_proto::control::pause::{PauseSender, Signal};
use quell_proto::units::{Bytes, Instant, Rate};
use quell_record::EventKind;

/// The receiving side of a host.
#[derive(Debug)]
pub(crate) struct Receiver {
    node: u32,
    /// The wire on which this host sends; the input is named by it.
    outbound: u32,
    service: Option<Speed>,
    capacity: Option<u64>,
    pause: Option<PauseSender>,
    refresh_booked: Instant,
    held: List,
    taking: bool,
    /// What is held, and what was dropped and for how long the peer was stopped since the last sample.
    pub meter: Meter,
    pub dropped: u64,
    stopped_ps: u64,
    stopped_since: Instant,
    drop_noted: bool,
    /// The link failed while the peer was stopped: what it sends before it hears of that again may be too much.
    excused: bool,
}

impl Receiver {
    pub(super) fn new(receive: &plan::Receive, node: u32, outbound: u32) -> Receiver {
        Receiver {
            node,
            outbound,
            service: receive.service.map(Speed::new),
            capacity: receive.buffer.map(Bytes::get),
            pause: receive.pause.map(PauseSender::new),
            refresh_booked: Instant::NEVER,
            held: List::default(),
            taking: false,
            meter: Meter::default(),
            dropped: 0,
            stopped_ps: 0,
            stopped_since: Instant::START,
            drop_noted: false,
            excused: false,
        }
    }

    /// Takes frames in at `rate`, or as fast as they come.
    pub(crate) fn set_service(&mut self, rate: Option<Rate>, net: &mut Net) {
        self.service = rate.map(Speed::new);
        let shown = rate.map_or(-1, |rate| i64::try_from(rate.bps()).unwrap_or(i64::MAX));
        net.input_event(self.outbound, 0, EventKind::Service, None, shown);
        // A frame being taken in finishes at the old pace; those behind it follow the new one.
    }

    /// A frame of data arrived. Gives back the pause it calls for, if any.
    #[inline]
    pub(super) fn on_frame(&mut self, handle: Handle, link_up: bool, net: &mut Net) -> Option<Frame> {
        if !link_up {
            self.lose(handle, net);
            return None;
        }
        if self.service.is_none() && self.held.is_empty() && !self.taking {
            net.deliver(handle);
            return None;
        }
        let length = u64::from(net.pool.get(handle).frame.length);
        if self.capacity.is_some_and(|capacity| self.meter.level() + length > capacity) {
            if self.pause.is_some() && !self.excused {
                let excess = self.meter.level() + length - self.capacity.unwrap_or(u64::MAX);
                let flow = net.pool.get(handle).frame.flow as usize;
                let priority = net.classes[net.flows[flow].class as usize];
                net.break_off(Fault::not_lossless(net, self.outbound, priority, excess));
            }
            self.lose(handle, net);
            return None;
        }
        self.meter.add(net.now, length);
        self.held.push(&mut net.pool, handle);
        if !self.taking {
            self.take_next(net);
        }
        self.review(net)
    }

    /// A frame has been taken in. Gives back the pause (or its end) that calls for.
    pub(super) fn on_taken(&mut self, net: &mut Net) -> Option<Frame> {
        let handle = self.held.pop(&net.pool).expect("a frame is taken in from the buffer");
        self.meter.remove(net.now, u64::from(net.pool.get(handle).frame.length));
        net.deliver(handle);
        self.taking = false;
        self.take_next(net);
        self.review(net)
    }

    /// The pause sent last may need another.
    pub(super) fn on_refresh(&mut self, net: &mut Net) -> Option<Frame> {
        if self.refresh_booked != net.now {
            return None;
        }
        self.refresh_booked = Instant::NEVER;
        let rate = net.wires[self.outbound as usize].speed.rate();
        let signal = self.pause.as_mut()?.on_timeout(net.now, rate);
        self.rearm(net);
        signal.map(|signal| self.frame(signal, net))
    }

    /// The link came back: a stop still in force is said again.
    pub(super) fn on_link_up(&mut self, net: &mut Net) -> Option<Frame> {
        let rate = net.wires[self.outbound as usize].speed.rate();
        let signal = self.pause.as_mut()?.repeat(net.now, rate)?;
        self.excused = true;
        self.rearm(net);
        Some(self.frame(signal, net))
    }

    fn take_next(&mut self, net: &mut Net) {
        while let Some(head) = self.held.head() {
            if let Some(service) = &self.service {
                self.taking = true;
                let octets = u64::from(net.pool.get(head).frame.length) + net.overhead;
                net.agenda.book(
                    net.now + service.time_for(octets),
                    self.node,
                    Lane::new(LaneKind::Receive, 0),
                );
                return;
            }
            self.held.pop(&net.pool);
            self.meter.remove(net.now, u64::from(net.pool.get(head).frame.length));
            net.deliver(head);
        }
    }

    fn review(&mut self, net: &mut Net) -> Option<Frame> {
        let rate = net.wires[self.outbound as usize].speed.rate();
        let level = self.meter.level();
        let signal = self.pause.as_mut()?.on_level(net.now, Bytes::new(level), rate)?;
        let kind = match signal {
            Signal::Stop(_) => {
                self.stopped_since = net.now;
                EventKind::Stop
            }
            Signal::Go => {
                self.excused = false;
                self.stopped_ps += (net.now - self.stopped_since).ps();
                EventKind::Go
            }
        };
        net.input_event(self.outbound, 0, kind, None, i64::try_from(level).unwrap_or(i64::MAX));
        self.rearm(net);
        Some(self.frame(signal, net))
    }

    fn rearm(&mut self, net: &mut Net) {
        let due = self.pause.as_ref().and_then(PauseSender::next_timeout);
        if let Some(due) = due.filter(|due| *due < self.refresh_booked) {
            self.refresh_booked = due;
            net.agenda.book(due, self.node, Lane::new(LaneKind::Refresh, 0));
        }
    }

    fn frame(&self, signal: Signal, net: &Net) -> Frame {
        Frame {
            born: net.now,
            flow: 0,
            to: self.node,
            body: Body::Pause { quanta: signal.quanta() },
            length: 64,
            class: 0,
        }
    }

    fn lose(&mut self, handle: Handle, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        net.lost[frame.flow as usize] += 1;
        self.dropped += 1;
        if !std::mem::replace(&mut self.drop_noted, true) {
            net.input_event(self.outbound, 0, EventKind::Drop, Some(frame.flow), i64::from(frame.length));
        }
        net.pool.free(handle);
    }

    /// Frames dropped and time the peer was stopped since the last sample.
    pub(crate) fn take_counts(&mut self, now: Instant) -> (u64, u64) {
        if self.pause.as_ref().is_some_and(PauseSender::is_stopping) {
            self.stopped_ps += (now - self.stopped_since).ps();
            self.stopped_since = now;
        }
        self.drop_noted = false;
        (std::mem::take(&mut self.dropped), std::mem::take(&mut self.stopped_ps))
    }
}
