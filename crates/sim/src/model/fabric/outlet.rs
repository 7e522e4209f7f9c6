//! The sending end of a wire inside a fabric.

use super::{CHANNELS, Cell, Mesh};
use crate::kernel::agenda::Agenda;
use crate::model::net::Speed;
use quell_proto::units::{Bytes, Instant};

/// The sending end of a wire: what it is busy with, and how much room it knows of at the other end.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    pub(super) wire: u32,
    pub(super) speed: Speed,
    /// Until when cells that were accepted keep the wire busy.
    pub(super) busy_until: Instant,
    /// Octets of room left at the other end, for each virtual channel; `None`: there always is some.
    room: Option<[u32; CHANNELS]>,
}

impl Outlet {
    pub(super) fn new(wire: u32, speed: Speed, room: Option<Bytes>) -> Outlet {
        Outlet {
            wire,
            speed,
            busy_until: Instant::START,
            room: room.map(|room| [room.get() as u32; CHANNELS]),
        }
    }

    /// Whether the other end has room for so many octets. Looks for credits only when it needs them.
    #[inline]
    pub(super) fn has_room(&mut self, octets: u64, channel: usize, now: Instant, mesh: &mut Mesh) -> bool {
        let Some(room) = &mut self.room else { return true };
        if u64::from(room[channel]) >= octets {
            return true;
        }
        let returns = &mut mesh.returns[self.wire as usize].credits;
        while let Some(credit) = returns.front()
            && credit.due <= now
        {
            room[credit.channel as usize] += u32::from(credit.octets);
            returns.pop_front();
        }
        u64::from(room[channel]) >= octets
    }

    /// Puts a cell on the wire at `start`, or behind those before it. The other end must have room.
    #[inline]
    pub(super) fn send(&mut self, cell: Cell, start: Instant, mesh: &mut Mesh, agenda: &mut Agenda) {
        let octets = mesh.length(&cell);
        if let Some(room) = &mut self.room {
            room[usize::from(cell.channel)] -= octets as u32;
        }
        self.busy_until = start.max(self.busy_until) + self.speed.time_for(octets);
        mesh.depart(self.wire, cell, self.busy_until, agenda);
    }
}
