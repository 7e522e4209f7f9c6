//! The things a recording speaks of: ports, input buffers and flows, by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Index of an entity in its [`Catalog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntityId(pub u32);

/// What an entity is, and what of it a viewer must know to draw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum EntityKind {
    /// A transmitting port and the queue before it, named `s1->h5`: the port of `s1` towards `h5`.
    /// With several data priorities in use there is one entity each, named `s1->h5@3`.
    Port {
        /// The node the port belongs to.
        node: String,
        /// The node at the other end.
        peer: String,
        /// Rate of the link in bits per second.
        rate_bps: u64,
        /// Whether the port belongs to a switch (`false`: to a host's adapter).
        of_switch: bool,
    },
    /// An input buffer of a switch, or the receive buffer of a host, named `s1<-h5`.
    Input {
        /// The node that holds the buffer.
        node: String,
        /// The node at the other end of the link.
        peer: String,
        /// How much it holds before it must drop or must have paused, in octets; `None` if unlimited.
        capacity_bytes: Option<u64>,
    },
    /// A flow, named `h1->h5` unless the scenario names it.
    Flow {
        /// The sending host.
        from: String,
        /// The receiving host.
        to: String,
        /// Its 802.1Q priority.
        priority: u8,
        /// The mean rate its source offers while active, in bits per second of frame octets;
        /// `None` for a greedy source, which offers whatever it can get.
        demand_bps: Option<u64>,
        /// Length of its frames in octets, from destination address to check sequence; zero if it is not known.
        #[serde(default)]
        frame_bytes: u64,
        /// The message it consists of, if it ends by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
}

/// A flow that ends by itself: what it has to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its octets, without what frames add to them.
    pub bytes: u64,
    /// When it starts.
    pub start_ps: u64,
    /// What it takes on an idle network, until its last octet has arrived; `None` if that is not known.
    pub ideal_ps: Option<u64>,
}

/// The three sorts of entities, without their particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntityClass {
    /// Transmitting ports.
    Port,
    /// Input and receive buffers.
    Input,
    /// Flows.
    Flow,
}

impl EntityClass {
    /// All of them, in the order of a catalogue.
    pub const ALL: [EntityClass; 3] = [EntityClass::Port, EntityClass::Input, EntityClass::Flow];

    /// Its name in files and before a colon in a selector.
    pub fn name(self) -> &'static str {
        match self {
            EntityClass::Port => "port",
            EntityClass::Input => "input",
            EntityClass::Flow => "flow",
        }
    }
}

impl fmt::Display for EntityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that has series or totals in a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Its name, unique within the kind.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: EntityKind,
}

impl Entity {
    /// Which sort it is.
    pub fn class(&self) -> EntityClass {
        match self.kind {
            EntityKind::Port { .. } => EntityClass::Port,
            EntityKind::Input { .. } => EntityClass::Input,
            EntityKind::Flow { .. } => EntityClass::Flow,
        }
    }
}

/// All entities of a run, in the order the run numbered them: ports, inputs, then flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// The entities; an [`EntityId`] is an index here.
    pub entities: Vec<Entity>,
    /// Octets each frame costs on the wire beyond its own (preamble, delimiter and gap), as the
    /// scenario counts them.
    pub overhead_bytes: u64,
}

impl Catalog {
    /// The entity behind an id.
    pub fn get(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The entity of this class and name.
    pub fn find(&self, class: EntityClass, name: &str) -> Option<EntityId> {
        self.iter().find(|(_, entity)| entity.class() == class && entity.name == name).map(|(id, _)| id)
    }

    /// Every entity with its id, in order.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.entities.iter().enumerate().map(|(index, entity)| {
            (EntityId(u32::try_from(index).expect("fewer than 2^32 entities")), entity)
        })
    }
}
