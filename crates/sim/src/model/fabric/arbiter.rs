//! Who may send to an output next: requests, and credits against the room in its buffer.

use crate::model::net::Speed;
use crate::model::ring::Ring;
use quell_proto::units::Instant;

/// The output credit arbiters of one leaf.
#[derive(Debug)]
pub(crate) struct Arbiter {
    inputs: usize,
    classes: usize,
    buffer: u64,
    /// One a port.
    paces: Vec<Pace>,
    /// For each port and class: the inputs that ask, and octets granted that have not left the buffer.
    queues: Vec<Queue>,
    /// For each port, class and input: the first and last request.
    asked: Vec<[u32; 2]>,
    requests: Vec<Request>,
    free: u32,
}

#[derive(Clone, Debug)]
struct Pace {
    /// How fast frames are granted.
    speed: Speed,
    free_at: Instant,
    /// The look that was last promised.
    promised: Instant,
}

#[derive(Clone, Debug)]
struct Queue {
    asking: Ring,
    granted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    next: u32,
    length: u16,
}

/// What an arbiter says about a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A frame of this length may come from this input.
    Grant { input: u16, class: u8, length: u16 },
    /// It has just granted one, and wants to look again then.
    Later(Instant),
    /// Nobody asks for what there is room for, or a look was promised before.
    Nothing,
}

const NIL: u32 = u32::MAX;

impl Arbiter {
    /// Arbiters for ports that are granted to at these speeds.
    pub(super) fn new(speeds: &[Speed], inputs: usize, classes: usize, buffer: u64) -> Arbiter {
        let queues = speeds.len() * classes;
        Arbiter {
            inputs,
            classes,
            buffer,
            paces: speeds
                .iter()
                .map(|&speed| Pace { speed, free_at: Instant::START, promised: Instant::START })
                .collect(),
            queues: vec![Queue { asking: Ring::new(inputs), granted: 0 }; queues],
            asked: vec![[NIL; 2]; queues * inputs],
            requests: Vec::new(),
            free: NIL,
        }
    }

    /// An input asks for a frame of this length.
    pub(crate) fn ask(&mut self, port: usize, class: u8, input: u16, length: u16) {
        let queue = port * self.classes + usize::from(class);
        let request = Request { next: NIL, length };
        let new = if self.free == NIL {
            self.requests.push(request);
            (self.requests.len() - 1) as u32
        } else {
            let new = self.free;
            self.free = self.requests[new as usize].next;
            self.requests[new as usize] = request;
            new
        };
        let [first, last] = &mut self.asked[queue * self.inputs + usize::from(input)];
        if *first == NIL {
            *first = new;
            self.queues[queue].asking.insert(usize::from(input));
        } else {
            self.requests[*last as usize].next = new;
        }
        *last = new;
    }

    /// Grants the next frame for a port: of the highest class that fits, to the inputs in turn.
    pub(crate) fn grant(&mut self, port: usize, now: Instant) -> Verdict {
        for class in (0..self.classes).rev() {
            let queue = port * self.classes + class;
            let Some(input) = self.queues[queue].asking.first() else { continue };
            let pace = &mut self.paces[port];
            if pace.free_at > now {
                let known = std::mem::replace(&mut pace.promised, pace.free_at) == pace.free_at;
                return if known { Verdict::Nothing } else { Verdict::Later(pace.free_at) };
            }
            let [first, _] = &mut self.asked[queue * self.inputs + input];
            let Request { next, length } = self.requests[*first as usize];
            if self.queues[queue].granted + u64::from(length) > self.buffer {
                continue;
            }
            self.queues[queue].granted += u64::from(length);
            pace.free_at = now + pace.speed.time_for(u64::from(length));
            self.requests[*first as usize].next = self.free;
            self.free = *first;
            *first = next;
            if next == NIL {
                self.queues[queue].asking.remove(input);
            }
            self.queues[queue].asking.served(input);
            return Verdict::Grant { input: input as u16, class: class as u8, length };
        }
        Verdict::Nothing
    }

    /// A frame takes room without having asked.
    pub(crate) fn occupy(&mut self, port: usize, class: usize, length: u64) {
        self.queues[port * self.classes + class].granted += length;
    }

    /// A frame has left the buffer.
    pub(crate) fn vacate(&mut self, port: usize, class: usize, length: u64) {
        self.queues[port * self.classes + class].granted -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::Rate;

    fn arbiter() -> Arbiter {
        Arbiter::new(&[Speed::new(Rate::from_gbps(10))], 4, 2, 3000)
    }

    fn grant(input: u16, class: u8, length: u16) -> Verdict {
        Verdict::Grant { input, class, length }
    }

    #[test]
    fn inputs_are_granted_in_turn_at_the_pace_of_the_port_while_there_is_room() {
        let mut arbiter = arbiter();
        for (input, length) in [(2, 1500), (2, 700), (0, 1000), (3, 600)] {
            arbiter.ask(0, 0, input, length);
        }
        assert_eq!(arbiter.grant(0, Instant::START), grant(0, 0, 1000));
        assert_eq!(arbiter.grant(0, Instant::START), Verdict::Later(Instant::from_ps(800_000)));
        let later = Instant::from_ps(10_000_000);
        assert_eq!(arbiter.grant(0, later), grant(2, 0, 1500));
        let later = Instant::from_ps(20_000_000);
        assert_eq!(arbiter.grant(0, later), Verdict::Nothing, "600 more would not fit");
        arbiter.vacate(0, 0, 1000);
        assert_eq!(arbiter.grant(0, later), grant(3, 0, 600));
        arbiter.vacate(0, 0, 1500);
        assert_eq!(arbiter.grant(0, Instant::from_ps(30_000_000)), grant(2, 0, 700));
        assert_eq!(arbiter.grant(0, Instant::from_ps(40_000_000)), Verdict::Nothing);
    }

    #[test]
    fn a_higher_class_goes_first() {
        let mut arbiter = arbiter();
        arbiter.ask(0, 0, 1, 64);
        arbiter.ask(0, 1, 3, 64);
        assert_eq!(arbiter.grant(0, Instant::START), grant(3, 1, 64));
    }
}
