//! Interfaces in memory, joined in pairs: what tests and transcripts use instead of a kernel.

use super::{Interface, Sent, Trouble};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};

/// One end of a wire in memory.
#[derive(Clone, Debug)]
pub struct MemoryInterface {
    name: &'static str,
    inbound: Arc<Mutex<VecDeque<Vec<u8>>>>,
    outbound: Arc<Mutex<VecDeque<Vec<u8>>>>,
    state: Arc<Mutex<State>>,
    room: usize,
    longest: usize,
}

/// What a wire in memory suffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It carries frames.
    Up,
    /// It carries nothing.
    Down,
    /// It is gone.
    Vanished,
}

impl MemoryInterface {
    /// Two ends of a wire that holds up to `room` frames each way.
    pub fn pair(names: [&'static str; 2], room: usize, longest: usize) -> [MemoryInterface; 2] {
        let [a, b] = [0, 1].map(|_| Arc::new(Mutex::new(VecDeque::new())));
        let state = Arc::new(Mutex::new(State::Up));
        let end = |name, inbound: &Arc<_>, outbound: &Arc<_>| MemoryInterface {
            name,
            inbound: Arc::clone(inbound),
            outbound: Arc::clone(outbound),
            state: Arc::clone(&state),
            room,
            longest,
        };
        [end(names[0], &a, &b), end(names[1], &b, &a)]
    }

    /// Lets something happen to the wire.
    pub fn set(&self, state: State) {
        *locked(&self.state) = state;
    }
}

impl Interface for MemoryInterface {
    fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        let frame = locked(&self.inbound).pop_front()?;
        let kept = frame.len().min(into.len());
        into[..kept].copy_from_slice(&frame[..kept]);
        Some(frame.len())
    }

    fn send(&mut self, octets: &[u8]) -> Sent {
        if octets.len() > self.longest {
            return Sent::TooLong;
        }
        let mut wire = locked(&self.outbound);
        if wire.len() >= self.room {
            return Sent::Full;
        }
        if *locked(&self.state) == State::Up {
            wire.push_back(octets.to_vec());
        }
        Sent::Yes
    }

    fn flush(&mut self) -> Result<bool, Trouble> {
        self.trouble().map_or(Ok(true), Err)
    }

    fn trouble(&mut self) -> Option<Trouble> {
        let name = self.name.to_owned();
        match *locked(&self.state) {
            State::Up => None,
            State::Down => Some(Trouble::Down { name }),
            State::Vanished => Some(Trouble::Vanished { name }),
        }
    }

    fn take_overruns(&mut self) -> u64 {
        0
    }

    fn socket(&self) -> Option<RawFd> {
        None
    }
}

/// Nobody panics while holding one of these.
fn locked<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
