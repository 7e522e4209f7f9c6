//! How a leaf sends frames into the fabric: cut into cells, each over the next uplink that is free.

use super::{Cell, Ends, Mesh, Outlet};
use crate::kernel::agenda::Agenda;
use crate::model::frame::{Frame, Handle, List, Pool};
use quell_proto::units::Instant;

/// The uplinks of a leaf and the granted frames that wait for them.
#[derive(Debug)]
pub(crate) struct Injection {
    uplinks: Vec<Outlet>,
    /// The uplink that is asked first for the next cell.
    turn: usize,
    /// Granted frames, by class.
    granted: Vec<Granted>,
    payload: u16,
    /// When the leaf looks again; [`Instant::NEVER`] if it waits for nothing but credits.
    booked: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    frames: List,
    /// Octets of the first frame that have left.
    cut: u16,
    /// Where the first frame goes, once a cell of it has left.
    address: Option<Cell>,
}

/// What became of the next cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Injected {
    /// It left, with so many octets; if it was the last one of its frame, that frame.
    Cell { octets: u16, frame: Option<(Frame, usize)> },
    /// No uplink can take it before this instant.
    Busy(Instant),
    /// No uplink can take it before a credit comes back; the mesh will wake the leaf.
    NoCredit,
    /// There is none.
    Idle,
}

impl Injection {
    pub(super) fn new(ends: &Ends, leaf: usize, classes: usize, payload: u16) -> Injection {
        Injection {
            uplinks: ends.leaves[leaf].outlets.clone(),
            turn: 0,
            granted: vec![Granted::default(); classes],
            payload,
            booked: Instant::NEVER,
        }
    }

    /// Lets a granted frame wait for an uplink.
    pub(crate) fn push(&mut self, handle: Handle, class: usize, pool: &mut Pool) {
        self.granted[class].frames.push(pool, handle);
    }

    /// The granted frames of a class that have not left.
    pub(crate) fn frames(&self, class: usize) -> &List {
        &self.granted[class].frames
    }

    /// Sends the next cell of the first frame of the highest class. `address` says where a frame goes; it is
    /// asked once a frame, and numbers it.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Instant,
        address: impl FnOnce(&Frame, usize) -> Cell,
        pool: &Pool,
        mesh: &mut Mesh,
        agenda: &mut Agenda,
    ) -> Injected {
        let Some(class) = (0..self.granted.len()).rev().find(|class| !self.granted[*class].frames.is_empty())
        else {
            return Injected::Idle;
        };
        let Granted { frames, cut, address: known } = &mut self.granted[class];
        let handle = frames.head().expect("it is not empty");
        let slot = pool.get(handle);
        let left = slot.frame.length - *cut;
        let octets = left.min(self.payload);
        let is_last = octets == left;
        let uplink = match free_uplink(
            &mut self.uplinks,
            self.turn,
            u64::from(octets) + mesh.header,
            now,
            mesh,
            agenda,
        ) {
            Ok(uplink) => uplink,
            Err(wait) => return wait,
        };
        self.turn = if uplink + 1 == self.uplinks.len() { 0 } else { uplink + 1 };
        let ingress = usize::from(slot.ingress);
        let cell = *known.get_or_insert_with(|| address(&slot.frame, ingress));
        let cell = Cell { octets, frame: is_last.then_some(handle), ..cell };
        self.uplinks[uplink].send(cell, now, mesh, agenda);
        let frame = is_last.then_some((slot.frame, ingress));
        if is_last {
            (*cut, *known) = (0, None);
            frames.pop(pool);
        } else {
            *cut += octets;
        }
        Injected::Cell { octets, frame }
    }

    /// Whether a look at `at` is worth booking: none is booked for then or before.
    pub(crate) fn looks_at(&mut self, at: Instant) -> bool {
        let sooner = at < self.booked;
        self.booked = self.booked.min(at);
        sooner
    }

    /// A look has come.
    pub(crate) fn looks_now(&mut self, now: Instant) {
        if self.booked <= now {
            self.booked = Instant::NEVER;
        }
    }
}

/// The first uplink from `turn` on, going round, that is free and has room at its end.
#[inline]
fn free_uplink(
    uplinks: &mut [Outlet],
    turn: usize,
    octets: u64,
    now: Instant,
    mesh: &mut Mesh,
    agenda: &mut Agenda,
) -> Result<usize, Injected> {
    let count = uplinks.len();
    let mut soonest = Instant::NEVER;
    for place in (turn..count).chain(0..turn) {
        let uplink = &mut uplinks[place];
        if uplink.busy_until > now {
            soonest = soonest.min(uplink.busy_until);
        } else if uplink.has_room(octets, 0, now, mesh) {
            return Ok(place);
        }
    }
    for uplink in uplinks.iter().filter(|uplink| uplink.busy_until <= now) {
        mesh.want(uplink.wire, agenda);
    }
    Err(if soonest == Instant::NEVER { Injected::NoCredit } else { Injected::Busy(soonest) })
}
