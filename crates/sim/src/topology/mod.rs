//! Networks as data: parameters in, nodes and links out.
//!
//! A topology is a function. To add one: write it in a file of its own here, from its parameters to a
//! [`Network`]; give it a variant in [`Spec`] and an arm in [`Spec::build`]; add its word to `topology.kind` and
//! its keys in `scenario/keys.rs`, and read them in `scenario/plan_network.rs`. It names nodes and joins
//! them; routes, buffers and what is recorded follow from the plan, by code it does not touch.
//!
//! The ports of a switch are numbered in the order of its links here, so a topology that wants
//! [`TieBreak::Destination`](crate::scenario::plan::TieBreak::Destination) to spread destinations must list the links of its uplinks in order.

mod chain;
mod clos;
pub(crate) mod cut;
mod dragonfly;
mod fat_tree;
pub mod file;
mod graph;
mod n_tree;
mod rack;
pub mod routing;
mod star;
mod tree;
pub mod waiting;

pub use routing::Routes;

use crate::scenario::plan::{Fabric, HostId, Link, NodeId, SwitchId};
use quell_proto::units::{Bytes, Duration, Rate};

/// A topology and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// Hosts around one switch.
    Star {
        /// The names of the hosts.
        hosts: Vec<String>,
    },
    /// Switches in a row, each with hosts.
    Chain {
        /// The names of the hosts of each switch.
        hosts: Vec<Vec<String>>,
    },
    /// Edge switches with hosts, around a core.
    Tree {
        /// The names of the hosts of each edge switch.
        hosts: Vec<Vec<String>>,
    },
    /// Three levels of switches with `k` ports each.
    FatTree {
        /// Ports of a switch; even.
        k: u32,
    },
    /// Levels of switches with as many ports up as down.
    NTree {
        /// Ports of a switch that lead down.
        arity: u32,
        /// Levels of switches.
        levels: u32,
    },
    /// Leaves with hosts, each joined to every spine.
    Clos {
        /// The names of the hosts of each leaf.
        hosts: Vec<Vec<String>>,
        /// How many spines.
        spines: u32,
    },
    /// What the file lists.
    Graph {
        /// The names of the hosts.
        hosts: Vec<String>,
        /// The names of the switches.
        switches: Vec<String>,
        /// Which two nodes each link joins, and what it is.
        links: Vec<([NodeId; 2], Line)>,
    },
    /// Leaves and spines, or the one switch that they amount to.
    Rack(Rack),
    /// Groups of routers, each joined to every other group.
    Dragonfly(Dragonfly),
}

/// A server rack, or several: leaves with server ports, each joined to every spine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rack {
    /// The names of the hosts of each leaf; at most as many as it has ports.
    pub hosts: Vec<Vec<String>>,
    /// How many spines.
    pub spines: u32,
    /// What joins a leaf and a spine.
    pub uplink: Line,
    /// What the cells of the fabric are and where they wait; `None` for the fast form, one switch with all the ports.
    pub cells: Option<Cells>,
}

/// A fabric of groups of routers, each router with one leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    /// How many groups.
    pub groups: u32,
    /// Routers of a group, and so leaves.
    pub routers: u32,
    /// The names of the hosts of each leaf, group by group.
    pub hosts: Vec<Vec<String>>,
    /// What joins a leaf and its router.
    pub uplink: Line,
    /// What joins two routers of a group.
    pub local: Line,
    /// What joins two groups.
    pub global: Line,
    /// What the cells are and where they wait.
    pub cells: Cells,
}

/// What the cells of a fabric are, where they wait and what they wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The most octets of a frame that one cell carries.
    pub payload: Bytes,
    /// Octets of a cell beyond those.
    pub header: Bytes,
    /// Room at each input of a spine or router.
    pub input_buffer: Bytes,
    /// Room at each output of a spine or router.
    pub output_buffer: Bytes,
    /// What a spine or router takes to pass a cell on.
    pub router_latency: Duration,
    /// How long a request is on its way.
    pub request_latency: Duration,
    /// How long a grant is on its way.
    pub grant_latency: Duration,
}

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
}

/// Names and links: all that a topology decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The names of the switches.
    pub switches: Vec<String>,
    /// What joins them.
    pub links: Vec<Link>,
    /// What joins the switches out of sight, if they are the leaves of a fabric.
    pub fabric: Option<Fabric>,
}

impl Spec {
    /// The network, with hosts attached by `link` and switches joined by `trunk`.
    pub fn build(&self, link: Line, trunk: Line) -> Network {
        match self {
            Spec::Star { hosts } => star::star(hosts, link),
            Spec::Chain { hosts } => chain::chain(hosts, link, trunk),
            Spec::Tree { hosts } => tree::tree(hosts, link, trunk),
            Spec::NTree { arity, levels } => n_tree::n_tree(*arity, *levels, link, trunk),
            Spec::FatTree { k } => fat_tree::fat_tree(*k, link, trunk),
            Spec::Clos { hosts, spines } => clos::clos(hosts, *spines, link, trunk),
            Spec::Graph { hosts, switches, links } => graph::graph(hosts, switches, links),
            Spec::Rack(parts) => rack::rack(parts, link),
            Spec::Dragonfly(parts) => dragonfly::dragonfly(parts, link),
        }
    }
}

impl Network {
    fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.hosts.push(name.into());
        NodeId::Host(HostId(u32::try_from(self.hosts.len() - 1).expect("fewer than 2^32 hosts")))
    }

    fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.switches.push(name.into());
        NodeId::Switch(SwitchId(u32::try_from(self.switches.len() - 1).expect("fewer than 2^32 switches")))
    }

    fn join(&mut self, a: NodeId, b: NodeId, line: Line) {
        self.links.push(Link { ends: [a, b], rate: line.rate, delay: line.delay });
    }
}
