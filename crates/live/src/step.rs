//! The step experiment: an adapter with reaction points, a switch whose port to the receiver is served at changing rates,
//! all on real interfaces and driven by one thread.
//!
//! One thread, so that the system cannot let one end run and not the other: a stall stops the whole experiment, and the
//! clock leaves it out.

use crate::clock::Clock;
use crate::device::{Interface, Trouble};
use crate::drive::{Driven, Pause, Station};
use crate::load::{Maker, Receiver};
use crate::nic::{HOST, Nic};
use crate::node::Node;
use crate::recorder::{Delivered, Recorder};
use crate::switch::Switch;
use quell_proto::units::{Duration, Instant, Rate};
use quell_record::{EntityId, FlowTotals, Sink};
use std::sync::atomic::{AtomicBool, Ordering};

/// The port of the switch towards the adapter.
pub const TO_NIC: usize = 0;
/// The port of the switch towards the receiver.
pub const TO_SINK: usize = 1;

/// What stands on the bench.
pub struct Bench {
    /// The adapter, with its wire.
    pub nic: Station<Nic>,
    /// The switch, with its ports [`TO_NIC`] and [`TO_SINK`].
    pub switch: Station<Switch>,
    /// The receiver's interface.
    pub sink: Box<dyn Interface>,
    /// What each reaction point always has a frame of.
    pub makers: Vec<Maker>,
    /// The rate of the adapter's wire.
    pub line: Rate,
}

/// What is done with it.
#[derive(Clone, Debug)]
pub struct Course {
    /// When the port to the receiver is served at which rate, in order.
    pub services: Vec<(Instant, Rate)>,
    /// How long it takes.
    pub length: Duration,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The time it reached.
    pub ended: Instant,
    /// Whether that is all of it.
    pub is_complete: bool,
    /// Frames carried over wires.
    pub frames: u64,
    /// How often the system did not let it run, and for how long in all; none of that is in the recording.
    pub stalls: (u64, Duration),
    /// Turns of the loop.
    pub turns: u64,
    /// Frames that found a ring full, at any interface.
    pub refused: u64,
}

impl Bench {
    /// Runs the course, tells the sink what is sampled, and stops early when `stop` is set.
    ///
    /// # Errors
    /// When an interface is gone for good.
    pub fn run(
        &mut self,
        course: &Course,
        clock: &mut Clock,
        recorder: &mut Recorder,
        told: &mut dyn Sink,
        flows: &[EntityId],
        stop: &AtomicBool,
    ) -> Result<Outcome, Trouble> {
        let mut receiver = Receiver::default();
        let mut seen = vec![Delivered::default(); self.makers.len()];
        let mut totals = vec![FlowTotals::default(); self.makers.len()];
        let mut services = course.services.iter().copied().peekable();
        let mut into = vec![0; 1 << 14];
        let sockets: Vec<_> = self.nic.sockets().iter().chain(self.switch.sockets()).copied().collect();
        let mut pause = Pause::new(sockets.into_iter().chain(self.sink.socket()));
        let end = Instant::START + course.length;
        let mut turns = 0;
        let origin = clock.now();
        let ended = loop {
            // The clock may have been read before; the experiment starts at nought.
            let now = Instant::START + (clock.now() - origin);
            turns += 1;
            if let Some((at, rate)) = services.next_if(|(at, _)| *at <= now) {
                self.switch
                    .with(|switch, out| switch.set_service(at.max(Instant::START), TO_SINK, Some(rate), out));
            }
            while recorder.due() <= now.min(end) {
                let at = recorder.due();
                self.switch.with(|switch, out| switch.advance(at, out));
                recorder.take_notes(self.switch.node.notes());
                recorder.sample_switch(at, &mut self.switch.node);
                let before = std::mem::take(&mut seen);
                seen = receiver.flows()[..self.makers.len()].iter().map(so_far).collect();
                recorder.sample_flows(
                    &mut self.nic.node,
                    self.line,
                    |flow| Some(since(before[flow], seen[flow])),
                    &mut totals,
                );
                recorder.emit(told);
            }
            if now >= end || stop.load(Ordering::Relaxed) {
                break now.min(end);
            }
            for (maker, flow) in self.makers.iter_mut().zip(0..) {
                while self.nic.node.has_room(flow) {
                    self.nic.with(|nic, out| nic.on_frame(now, HOST, maker.next(now), out));
                }
            }
            let mut came = self.nic.turn(now)?;
            came += self.switch.turn(now)?;
            while let Some(length) = self.sink.receive(&mut into) {
                came += 1;
                if let Some(octets) = into.get(..length) {
                    receiver.on_frame(now, octets);
                }
            }
            if came == 0 {
                let due = self.nic.next_due().min(self.switch.next_due()).min(recorder.due());
                pause.until(due, now);
            }
        };
        for ((flow, total), counts) in flows.iter().zip(&mut totals).zip(receiver.flows()) {
            total.delivered_bytes = counts.bytes;
            total.delivered_frames = counts.frames;
            total.lost_frames = counts.lost;
            total.reordered_frames = counts.reordered;
            total.latency_sum_ps = counts.latency_sum_ps;
            total.latency_max_ps = counts.latency_max_ps;
            told.flow(*flow, *total);
        }
        let wires = [self.nic.counts(0), self.switch.counts(TO_NIC), self.switch.counts(TO_SINK)];
        Ok(Outcome {
            ended,
            is_complete: ended == end,
            frames: wires.iter().map(|wire| wire.sent).sum(),
            stalls: clock.stalls(),
            turns,
            refused: wires.iter().map(|wire| wire.full + wire.overruns).sum(),
        })
    }
}

fn so_far(counts: &crate::load::FlowCounts) -> Delivered {
    Delivered { bytes: counts.bytes, frames: counts.frames, lost: counts.lost }
}

fn since(before: Delivered, now: Delivered) -> Delivered {
    Delivered {
        bytes: now.bytes - before.bytes,
        frames: now.frames - before.frames,
        // A frame that was thought lost may have come late.
        lost: now.lost.saturating_sub(before.lost),
    }
}
