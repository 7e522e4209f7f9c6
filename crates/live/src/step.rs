//! The step experiment: an adapter with reaction points, a switch whose port to the receiver is served at changing rates,
//! all on real interfaces and driven by one thread.
//!
//! One thread, so that the system cannot let one end run and not the other: a stall stops the whole experiment, and the
//! clock stands still meanwhile. What it cannot hide is a machine too slow for the rate: that is measured, and ends the run early.

use crate::clock::{Clock, Stall};
use crate::device::{Interface, Trouble, sys};
use crate::drive::{Driven, Pause, Station, WireCounts};
use crate::load::{Maker, Receiver};
use crate::nic::{HOST, Nic};
use crate::node::Node;
use crate::recorder::{Delivered, Recorder};
use crate::switch::Switch;
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use quell_record::{EntityId, FlowTotals, Sink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;

/// The port of the switch towards the adapter.
pub const TO_NIC: usize = 0;
/// The port of the switch towards the receiver.
pub const TO_SINK: usize = 1;

/// The longest nap between two turns, well below what counts as a stall.
const NAP: Duration = Duration::from_us(100);

/// A clock that all but stands still in stalls: while the one thread that drives everything does not run, nothing happens that
/// ought to take time. What it counts for them is about what a turn takes.
pub fn clock() -> Clock {
    let us = time::Duration::from_micros;
    Clock::leaving_out(Some(Stall { beyond: us(300), counts: us(20) }))
}

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
    /// Turns farther apart than this disturb what is measured.
    pub patience: Duration,
}

/// What is done with it.
#[derive(Clone, Debug)]
pub struct Course {
    /// When the port to the receiver is served at which rate, in order.
    pub services: Vec<(Instant, Rate)>,
    /// How long it takes.
    pub length: Duration,
    /// Whether it ends as soon as the machine does not keep up.
    pub must_hold: bool,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The time it reached.
    pub ended: Instant,
    /// Whether that is all of it.
    pub is_complete: bool,
    /// Whether the machine kept up.
    pub held: Held,
    /// Frames carried over wires.
    pub frames: u64,
    /// How often the system did not let it run, and for how long in all; none of that is in the recording.
    pub stalls: (u64, Duration),
    /// Turns of the loop.
    pub turns: u64,
    /// Notes that were not recorded, because too many came at once.
    pub left_out: u64,
}

/// Whether a machine kept up with an experiment, by what its clock counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The time counted.
    pub counted: Duration,
    /// What of it went by in turns farther apart than the experiment bears.
    pub late: Duration,
    /// What the thread took of the processor: more than was counted means that work was taken for stalls.
    pub worked: Duration,
    /// Frames that found a ring full, at any interface.
    pub refused: u64,
}

impl Held {
    /// Whether it did: no frame found a ring full, no more than 5 % of the time was late, and the work took no longer than the
    /// time counted, 10 % of grace apart.
    pub fn is_enough(&self) -> bool {
        self.refused == 0
            && self.late.ps() <= self.counted.ps() / 20
            && self.worked.ps() <= self.counted.ps() / 10 * 11
    }
}

/// What is counted before it is first asked whether the machine keeps up and all interfaces are well, and in between.
const ASKS_EVERY: Duration = Duration::from_ms(500);

impl Bench {
    /// Runs the course and tells the sink what is sampled. It stops early when `stop` is set, and when the machine does not
    /// keep up if it must.
    ///
    /// # Errors
    /// When an interface is down or gone: what comes after that is no experiment.
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
        let (mut turns, mut last, mut late) = (0, Instant::START, Duration::ZERO);
        let mut asks = Instant::START + ASKS_EVERY;
        let began = sys::processor_time();
        let origin = clock.now();
        let ended = loop {
            // The clock may have been read before; the experiment starts at nought.
            let now = Instant::START + (clock.now() - origin);
            turns += 1;
            let gap = now - std::mem::replace(&mut last, now);
            if gap > self.patience {
                late += gap;
            }
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
            if now >= asks {
                asks = now + ASKS_EVERY;
                if let Some(trouble) = self.trouble() {
                    return Err(trouble);
                }
                if course.must_hold && !self.held(now, late, began).is_enough() {
                    break now;
                }
            }
            for (maker, flow) in self.makers.iter_mut().zip(0..) {
                let wanted = wanted(self.nic.node.limit(flow).unwrap_or(self.line), maker.length());
                for _ in self.nic.node.waiting(flow)..wanted {
                    if !self.nic.node.has_room(flow) {
                        break;
                    }
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
                pause.until(due.min(now + NAP), now);
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
        Ok(Outcome {
            ended,
            is_complete: ended == end,
            held: self.held(ended, late, began),
            frames: self.wires().iter().map(|wire| wire.sent).sum(),
            stalls: clock.stalls(),
            turns,
            left_out: self.switch.node.notes_left_out(),
        })
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.nic.trouble().or_else(|| self.switch.trouble()).or_else(|| self.sink.trouble())
    }

    fn wires(&self) -> [WireCounts; 3] {
        [self.nic.counts(0), self.switch.counts(TO_NIC), self.switch.counts(TO_SINK)]
    }

    /// How it went until now, if that much of it was late and the thread had taken `began` of the processor before.
    fn held(&self, now: Instant, late: Duration, began: time::Duration) -> Held {
        let worked = sys::processor_time().saturating_sub(began);
        Held {
            counted: now - Instant::START,
            late,
            worked: Duration::from_ns(u64::try_from(worked.as_nanos()).unwrap_or(u64::MAX / 1000)),
            refused: self.wires().iter().map(|wire| wire.full + wire.overruns).sum(),
        }
    }
}

/// Frames that a flow of this rate keeps ready, so that it does not run out before the next turn, however late that is; no more, for
/// they wait and look like latency.
fn wanted(rate: Rate, frame: Bytes) -> usize {
    const LEAD: Duration = Duration::from_us(400);
    (rate.carries_in(LEAD).get() / frame.get()) as usize + 2
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_kept_up_if_it_was_seldom_late_lost_nothing_and_took_no_longer_than_it_says() {
        let ms = Duration::from_ms;
        let held = Held { counted: ms(1000), late: ms(50), worked: ms(1100), refused: 0 };
        assert!(held.is_enough());
        assert!(!Held { late: ms(51), ..held }.is_enough());
        assert!(!Held { worked: ms(1101), ..held }.is_enough());
        assert!(!Held { refused: 1, ..held }.is_enough());
    }
}
