//! Where stations are.

use quell_proto::wire::MacAddr;
use std::collections::HashMap;

/// Which port a station was last heard at.
#[derive(Debug)]
pub(super) struct Table {
    ports: HashMap<MacAddr, u16>,
}

impl Default for Table {
    fn default() -> Table {
        Table { ports: HashMap::with_capacity(Self::MOST) }
    }
}

impl Table {
    /// More stations than this are not remembered: their frames go everywhere.
    const MOST: usize = 4096;

    pub(super) fn learn(&mut self, station: MacAddr, port: usize) {
        if let Some(known) = self.ports.get_mut(&station) {
            *known = port as u16;
        } else if self.ports.len() < Self::MOST {
            self.ports.insert(station, port as u16);
        }
    }

    pub(super) fn port_of(&self, station: MacAddr) -> Option<usize> {
        if station.is_group() { None } else { self.ports.get(&station).map(|port| usize::from(*port)) }
    }
}
