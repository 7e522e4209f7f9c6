//! A port of a switch.

use super::meter::Meter;
use super::{Config, FlowControl, PortConfig};
use crate::hold::Hold;
use crate::pool::Fifo;
use quell_proto::control::pause::PauseSender;
use quell_proto::control::qcn::CongestionPoint;
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Rate};
use quell_proto::wire::CpId;

/// A port: its queues, what holds it, what it stops.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) is_up: bool,
    pub(super) service: Option<Rate>,
    pub(super) queues: [Queue; Priority::COUNT],
    /// Control frames of its own, which go before everything else.
    pub(super) control: Fifo<()>,
    pub(super) busy_until: Instant,
    pub(super) wire_until: Instant,
    pub(super) hold: Hold,
    /// Since when it is held at all.
    pub(super) held_since: Option<Instant>,
    /// What it brought in and is still here, for each priority.
    pub(super) brought: [u64; Priority::COUNT],
    pub(super) senders: [Option<PauseSender>; Priority::COUNT],
    pub(super) stopped_since: Option<Instant>,
    pub(super) output: Meter,
    pub(super) input: Meter,
    pub(super) counts: PortCounts,
    pub(super) serviced_since: Instant,
}

/// What waits for a port in one priority, and the congestion point that watches it.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) frames: Fifo<Waiting>,
    pub(super) octets: u64,
    pub(super) point: Option<CongestionPoint>,
    pub(super) id: CpId,
}

/// What is known of a frame that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The port it came in by; none for a frame made here.
    pub(super) input: Option<u16>,
    pub(super) is_data: bool,
}

/// What a port did since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Octets of data that left, check sequences counted.
    pub sent_bytes: u64,
    /// Frames of data that left.
    pub sent_frames: u64,
    /// Frames of data that came in.
    pub received_frames: u64,
    /// Notifications that the congestion points here sent.
    pub cnms: u64,
    /// Frames that found no room.
    pub dropped: u64,
    /// Frames that the interface had no room for.
    pub refused: u64,
    /// Pause frames that came in.
    pub pauses: u64,
    /// How long the peer held it.
    pub paused: Duration,
    /// How long it held its peer.
    pub stopped: Duration,
    /// What its service rate would have carried.
    pub serviceable: Bytes,
    /// Octets that waited for it, on average and at most.
    pub queue: (u64, u64),
    /// Octets that it brought in and that waited, on average and at most.
    pub input: (u64, u64),
}

impl Port {
    pub(super) fn new(config: &Config, port: &PortConfig, number: u16) -> Port {
        let frames = (config.memory.get() / 1024).clamp(64, 1 << 14) as usize;
        let queue = |class: usize| {
            let priority = Priority::new(class as u8).expect("eight queues for eight priorities");
            let is_watched = priority != config.cnm_priority;
            let own = CpId::number(number, priority).unwrap_or(u16::MAX);
            let dice = Dice::new(config.seed, u64::from(number), class as u64);
            let point = config.congestion.filter(|_| is_watched).map(|it| CongestionPoint::new(it, dice));
            Queue { frames: Fifo::new(frames), octets: 0, point, id: CpId::of(port.address, own) }
        };
        let sender = |class: usize| match config.pause {
            FlowControl::Pause(pause) if class == 0 => Some(PauseSender::new(pause)),
            FlowControl::Pfc(pause, lossless) => {
                let priority = Priority::new(class as u8)?;
                lossless.contains(priority).then(|| PauseSender::new(pause))
            }
            _ => None,
        };
        Port {
            is_up: true,
            service: port.service,
            queues: std::array::from_fn(queue),
            control: Fifo::new(64),
            busy_until: Instant::START,
            wire_until: Instant::START,
            hold: Hold::new(),
            held_since: None,
            brought: [0; Priority::COUNT],
            senders: std::array::from_fn(sender),
            stopped_since: None,
            output: Meter::default(),
            input: Meter::default(),
            counts: PortCounts::default(),
            serviced_since: Instant::START,
        }
    }

    /// When it can begin a frame: one of its own control frames if one waits, else any other.
    pub(super) fn free_at(&self) -> Instant {
        if self.control.is_empty() { self.busy_until } else { self.wire_until }
    }

    /// The highest priority that has a frame and is not held.
    pub(super) fn eligible(&self, now: Instant) -> Option<Priority> {
        Priority::all().rev().find(|priority| {
            let class = priority.index();
            !self.queues[class].frames.is_empty() && self.hold.until(*priority, now) == Instant::START
        })
    }

    /// When the first pause that holds it ends.
    pub(super) fn pause_ends(&self, now: Instant) -> Option<Instant> {
        self.held_since.map(|_| self.hold.next_end(now))
    }

    pub(super) fn next_due(&self, now: Instant) -> Instant {
        let refresh = self.senders.iter().flatten().filter_map(PauseSender::next_timeout).min();
        let ends = self.pause_ends(now);
        let mut due = refresh.unwrap_or(Instant::NEVER).min(ends.unwrap_or(Instant::NEVER));
        if self.is_up && (!self.control.is_empty() || self.eligible(now).is_some()) {
            due = due.min(self.free_at());
        }
        due
    }
}
