//! What makes a switch the leaf of a fabric.

use super::arbiter::Arbiter;
use super::injection::{Injected, Injection};
use super::reassembly::Reassembly;
use super::{Cell, Ends, payload};
use crate::model::frame::{Frame, List, Pool};
use crate::model::net::{Net, Speed};
use crate::scenario::plan::{Fabric, NodeId, OutputStage, Plan, SwitchId};
use quell_proto::units::Rate;
use std::sync::Arc;

/// The parts of a leaf that the rest of the fabric sees.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Its number among the leaves.
    pub number: u16,
    /// Where each host is.
    spots: Arc<[Spot]>,
    /// The host of each port of this leaf.
    hosts: Vec<u16>,
    classes: usize,
    pub injection: Injection,
    pub arbiter: Arbiter,
    pub reassembly: Reassembly,
    /// The wires on which cells come in.
    pub inlets: Vec<u32>,
    /// The number of the next frame, for each own input, host and class.
    sequences: Vec<u16>,
    /// Copies of frames that have left for the fabric and are not acknowledged, likewise, where they are kept.
    copies: Option<Vec<List>>,
    /// Octets that wait for a grant or an uplink, or have come in and are not whole, for the books.
    pub inside: u64,
}

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Its leaf.
    pub leaf: u16,
    /// The port there.
    pub port: u8,
    /// The wire from the leaf to it.
    pub wire: u32,
}

impl Leaf {
    pub(crate) fn new(
        plan: &Plan,
        fabric: &Fabric,
        stage: &OutputStage,
        id: SwitchId,
        ends: &Ends,
        net: &Net,
    ) -> Leaf {
        let number = u16::try_from(id.0).expect("a plan's fabric has few leaves");
        let classes = net.classes.len();
        let spots = Arc::clone(&ends.spots);
        let hosts: Vec<u16> =
            (0..plan.hosts.len() as u16).filter(|host| spots[usize::from(*host)].leaf == number).collect();
        let inputs = plan.hosts.len() + plan.switches.len();
        let speeds: Vec<Speed> = hosts
            .iter()
            .map(|host| {
                let rate = net.wires[spots[usize::from(*host)].wire as usize].speed.rate();
                Speed::new(Rate::from_bps(rate.bps() / 100 * u64::from(stage.speedup_percent)))
            })
            .collect();
        let payload = payload(fabric);
        let streams = (hosts.len() + 1) * plan.hosts.len() * classes;
        Leaf {
            number,
            injection: Injection::new(ends, number.into(), classes, payload),
            arbiter: Arbiter::new(&speeds, inputs, classes, stage.buffer.get()),
            reassembly: Reassembly::new(inputs, hosts.len(), classes, payload),
            inlets: ends.leaves[usize::from(number)].inlets.clone(),
            sequences: vec![0; streams],
            copies: ends.keep_copies.then(|| vec![List::default(); streams]),
            inside: 0,
            spots,
            hosts,
            classes,
        }
    }

    /// Sends the next cell into the fabric, if there is one and an uplink takes it.
    #[inline]
    pub(crate) fn inject(&mut self, net: &mut Net) -> Injected {
        let Leaf { injection, sequences, spots, hosts, classes, number, .. } = self;
        let address = |frame: &Frame, own: usize| {
            let spot = spots[frame.to as usize];
            let stream = (own * spots.len() + frame.to as usize) * *classes + usize::from(frame.class);
            let sequence = sequences[stream];
            sequences[stream] = sequence.wrapping_add(1);
            Cell {
                frame: None,
                input: hosts.get(own).copied().unwrap_or(spots.len() as u16 + *number),
                leaf: spot.leaf,
                sequence,
                octets: 0,
                port: spot.port,
                class: frame.class,
                channel: 0,
            }
        };
        injection.next(net.now, address, &net.pool, &mut net.mesh, &mut net.agenda)
    }

    /// Whether copies of frames are kept until they are acknowledged.
    #[inline]
    pub(crate) fn keeps_copies(&self) -> bool {
        self.copies.is_some()
    }

    /// Keeps a copy of a frame that has left, if copies are kept.
    pub(crate) fn keep(&mut self, frame: Frame, own: usize, pool: &mut Pool) {
        let stream = self.stream(own, frame.to as usize, usize::from(frame.class));
        if let Some(copies) = &mut self.copies {
            let copy = pool.put(frame);
            pool.get_mut(copy).ingress = own as u16;
            copies[stream].push(pool, copy);
        }
    }

    /// The oldest copy of those from an own input to a host is not needed any more.
    pub(crate) fn let_go(&mut self, own: usize, to: u16, class: u8, pool: &mut Pool) -> Option<Frame> {
        let stream = self.stream(own, usize::from(to), usize::from(class));
        let copy = self.copies.as_mut()?[stream].pop(pool)?;
        let frame = pool.get(copy).frame;
        pool.free(copy);
        Some(frame)
    }

    /// The frames of a class that an own input still answers for, beyond those that wait for a grant: granted ones, of
    /// which some belong to other inputs, and copies.
    pub(crate) fn kept(&self, own: usize, class: usize) -> impl Iterator<Item = &List> {
        let copies = self.copies.iter().flat_map(move |copies| {
            (0..self.spots.len()).map(move |host| &copies[self.stream(own, host, class)])
        });
        copies.chain(std::iter::once(self.injection.frames(class)))
    }

    #[inline]
    fn stream(&self, own: usize, host: usize, class: usize) -> usize {
        (own * self.spots.len() + host) * self.classes + class
    }

    /// Where a host is.
    #[inline]
    pub(crate) fn spot(&self, host: usize) -> Spot {
        self.spots[host]
    }

    /// The leaf of an input of the fabric.
    #[inline]
    pub(crate) fn leaf_of(&self, input: u16) -> u16 {
        match self.spots.get(usize::from(input)) {
            Some(spot) => spot.leaf,
            None => input - self.spots.len() as u16,
        }
    }

    /// The number in the whole fabric of an input of this leaf: that of the host behind it. What the leaf itself makes
    /// counts as an input behind all hosts.
    #[inline]
    pub(crate) fn input(&self, own: usize) -> u16 {
        match self.hosts.get(own) {
            Some(host) => *host,
            None => self.spots.len() as u16 + self.number,
        }
    }

    /// The reverse: which of this leaf's inputs it is.
    #[inline]
    pub(crate) fn own_input(&self, input: u16) -> usize {
        match self.spots.get(usize::from(input)) {
            Some(spot) => usize::from(spot.port),
            None => self.hosts.len(),
        }
    }
}

/// Where each host of the plan is attached; ports are numbered in the order of links.
pub(super) fn spots(plan: &Plan) -> Arc<[Spot]> {
    let mut spots = vec![Spot { leaf: 0, port: 0, wire: 0 }; plan.hosts.len()];
    let mut ports = vec![0u8; plan.switches.len()];
    for (number, link) in plan.links.iter().enumerate() {
        let (host, leaf, end) = match link.ends {
            [NodeId::Host(host), NodeId::Switch(leaf)] => (host, leaf, 1),
            [NodeId::Switch(leaf), NodeId::Host(host)] => (host, leaf, 0),
            _ => unreachable!("leaves are joined by the fabric alone"),
        };
        let port = &mut ports[leaf.0 as usize];
        spots[host.0 as usize] = Spot { leaf: leaf.0 as u16, port: *port, wire: 2 * number as u32 + end };
        *port += 1;
    }
    spots.into()
}
