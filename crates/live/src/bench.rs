//! What the software can do on this machine: frames a second through the switch, what it adds to their way, and how even a
//! paced flow is.

use crate::clock::{Clock, Stall};
use crate::device::{Interface, Sent, Trouble, sys};
use crate::drive::{Pause, Station};
use crate::load::{Maker, Receiver, Shape};
use crate::switch::Switch;
use quell_proto::control::pacer::{Pacer, Rule};
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use std::time;

/// The longest gap between two readings of the clock that work explains. A longer one is a stall: the system let somebody else
/// run. It counts for this long all the same, so that a machine that is merely slow does not look fast.
const STALL: time::Duration = time::Duration::from_micros(300);

/// A clock for measurements on a machine that others use too.
pub fn clock() -> Clock {
    Clock::leaving_out(Some(Stall { beyond: STALL, counts: STALL }))
}

/// How a flow of frames fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fared {
    /// Frames sent in the time measured.
    pub sent: u64,
    /// Frames that arrived.
    pub arrived: u64,
    /// The time measured.
    pub span: Duration,
    /// The mean time from end to end, in picoseconds.
    pub latency_ps: u64,
    /// The longest of them.
    pub latency_max_ps: u64,
    /// What all of it took of the processor: load, switch, receiver and the kernel on their behalf.
    pub worked: time::Duration,
    /// Frames that the switch took in while the processor was watched, and what it took of it for them: its own time and the
    /// kernel's on its behalf, delivery to the other end of the pair included.
    pub watched: (u64, time::Duration),
}

impl Fared {
    /// Frames that arrived, a second.
    pub fn rate(&self) -> u64 {
        per_second(self.arrived, u128::from(self.span.ps()))
    }

    /// Frames that one core would make, forward and count in a second if it did nothing else.
    pub fn rate_of_all(&self) -> u64 {
        per_second(self.arrived, self.worked.as_nanos() * 1000)
    }

    /// Frames that one core would forward in a second if it did nothing else; none if there was no switch.
    pub fn rate_of_a_core(&self) -> u64 {
        per_second(self.watched.0, self.watched.1.as_nanos() * 1000)
    }

    /// Frames that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }
}

fn per_second(frames: u64, ps: u128) -> u64 {
    let frames = u128::from(frames) * 1_000_000_000_000;
    u64::try_from(frames.checked_div(ps).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Frames that may be under way at once when they go as fast as they can.
const WINDOW: u64 = 512;

/// Every so many turns of the switch the processor is watched: asking costs as much as a frame.
const WATCHED: u64 = 16;

/// Sends frames by one interface, so many a second or as fast as they go, and counts them at another; `switch`, if there is
/// one, has its turns in between. All of it on one thread: what others do on the machine changes how long it takes,
/// not what is measured.
///
/// # Errors
/// When an interface is gone for good.
pub fn through(
    mut switch: Option<&mut Station<Switch>>,
    [from, to]: [&mut dyn Interface; 2],
    shape: &Shape,
    rate: Option<u64>,
    span: Duration,
    clock: &mut Clock,
) -> Result<Fared, Trouble> {
    let mut maker = Maker::new(shape, 0, false);
    let mut receiver = Receiver::default();
    let mut into = vec![0; 1 << 14];
    let gap = rate.map(|rate| Duration::from_ps(1_000_000_000_000 / rate.max(1)));
    let (begin, worked) = (clock.now(), sys::processor_time());
    let (mut due, mut sent, mut turns, mut watched) = (begin, 0, 0u64, (0, time::Duration::ZERO));
    let end = begin + span;
    // What is still under way at the end is waited for.
    let last = end + Duration::from_ms(50);
    loop {
        let now = clock.now();
        if now < end {
            for _ in 0..64 {
                let may_go = match gap {
                    Some(_) => due <= now,
                    None => sent - receiver.total_frames() < WINDOW,
                };
                // As of when it was due: that it had to wait for this loop is part of its way.
                let made = if gap.is_some() { due } else { now };
                if !may_go || from.send(maker.next(made)) != Sent::Yes {
                    break;
                }
                sent += 1;
                due = due + gap.unwrap_or(Duration::ZERO);
            }
            from.flush()?;
        } else if receiver.total_frames() >= sent || now >= last {
            break;
        }
        if let Some(switch) = switch.as_deref_mut() {
            let before = turns.is_multiple_of(WATCHED).then(sys::processor_time);
            let came = switch.turn(clock.now())?;
            if let Some(before) = before.filter(|_| came > 0) {
                watched.0 += came as u64;
                watched.1 += sys::processor_time().saturating_sub(before);
            }
            turns += 1;
        }
        // All that is taken now was in the ring by now.
        let now = clock.now();
        while let Some(length) = to.receive(&mut into) {
            if let Some(octets) = into.get(..length) {
                receiver.on_frame(now, octets);
            }
        }
    }
    let total = receiver.total();
    Ok(Fared {
        sent,
        arrived: total.frames,
        span,
        latency_ps: total.latency_sum_ps.checked_div(total.frames).unwrap_or(0),
        latency_max_ps: total.latency_max_ps,
        worked: sys::processor_time().saturating_sub(worked),
        watched,
    })
}

/// How far the gaps between frames of a paced flow were from what they ought to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evenness {
    /// The gap there ought to be.
    pub gap: Duration,
    /// Half of the gaps were no farther from it than this.
    pub median: Duration,
    /// 99 of 100 likewise.
    pub p99: Duration,
    /// The farthest.
    pub worst: Duration,
    /// Frames sent in the time, against those due in it, in thousandths.
    pub kept_permille: u64,
}

/// Sends frames of one flow under a token bucket of this rate, and looks at when they left.
///
/// # Errors
/// When the interface is gone for good.
pub fn evenness(
    from: &mut dyn Interface,
    shape: &Shape,
    rate: Rate,
    span: Duration,
) -> Result<Evenness, Trouble> {
    let mut maker = Maker::new(shape, 0, false);
    let length = maker.length();
    let mut pacer = Pacer::new(Rule::WholeFrame, Bytes::ZERO);
    // All time counts, stalls too: this is what the wire sees.
    let mut clock = Clock::new();
    let gap = rate.time_for(length);
    let mut errors: Vec<u64> = Vec::with_capacity((span.ps() / gap.ps().max(1)) as usize + 2);
    let mut last: Option<Instant> = None;
    let mut sent = 0;
    pacer.set_rate(Instant::START, Some(rate));
    let mut pause = Pause::new([]);
    loop {
        let now = clock.now();
        if now >= Instant::START + span {
            break;
        }
        let ready = pacer.ready_at(length);
        if ready > now {
            pause.until(ready, now);
            continue;
        }
        // Charged as of when it was due, so that being late once does not make all that follow late.
        let late = Instant::from_ps(now.ps().saturating_sub(gap.ps()));
        pacer.on_sent(ready.max(late), length);
        if from.send(maker.next(now)) == Sent::Yes {
            from.flush()?;
            sent += 1;
            let left = clock.now();
            if let Some(before) = last.replace(left) {
                errors.push((left - before).ps().abs_diff(gap.ps()));
            }
        }
    }
    errors.sort_unstable();
    let at = |permille: usize| {
        let place = (errors.len() * permille / 1000).min(errors.len().saturating_sub(1));
        Duration::from_ps(errors.get(place).copied().unwrap_or(0))
    };
    let due = span.ps() / gap.ps().max(1);
    Ok(Evenness {
        gap,
        median: at(500),
        p99: at(990),
        worst: at(1000),
        kept_permille: sent * 1000 / due.max(1),
    })
}
