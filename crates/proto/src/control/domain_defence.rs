//! The defence of a congestion notification domain (802.1Qau, clause 32.1.1): which ports border on a neighbour that
//! takes part, for each congestion controlled priority.
//!
//! Frames that enter at a congestion controlled priority from a neighbour that knows nothing of congestion
//! notification would share a queue with flows that slow down, and never slow down themselves. A port that has no
//! neighbour in the domain is therefore an *edge*: it moves such frames to another priority, and takes CN-TAGs off
//! what leaves. The neighbours find out about each other by LLDP.

use crate::units::{Priority, PrioritySet};
use crate::wire::lldp::CongestionNotification;

/// How a port stands to one congestion controlled priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defence {
    /// Nothing is done for it.
    Disabled,
    /// The neighbour takes part.
    Interior,
    /// The neighbour takes part, and so does what lies behind it: CN-TAGs may go there.
    InteriorReady,
    /// The neighbour takes no part.
    Edge,
}

/// Who decides on the [`Defence`] of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A person, for good.
    Admin(Defence),
    /// What the neighbour says.
    Auto,
}

/// Who decides, where a port may leave it to the bridge as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortChoice {
    /// The port's own choice.
    Own(Choice),
    /// The bridge's.
    Component,
}

/// What the neighbours of a port say, as LLDP keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbour {
    /// There is none, or what it said has aged out.
    None,
    /// There is one; this is its congestion notification TLV, if it sends one.
    One(Option<CongestionNotification>),
    /// There are several: a shared medium, on which nobody can be relied on.
    Several,
}

/// What may happen to the machine of one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefenceEvent {
    /// The neighbour says that this priority is congestion controlled.
    PeerHasCnpv,
    /// It no longer says so.
    PeerLostCnpv,
    /// It says that it is ready.
    PeerReady,
    /// It no longer says so.
    PeerNotReady,
    /// Somebody decides who decides.
    Set(Choice),
}

/// The machine of one port and one congestion controlled priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DomainDefence {
    choice: Choice,
    /// Where the neighbour's word has led; an edge while a person decides.
    auto: Automatic,
}

/// Where the machine can be by itself: never disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Automatic {
    Edge,
    Interior,
    InteriorReady,
}

/// The defence of a whole port: a machine for each congestion controlled priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortDefence {
    machines: [Option<DomainDefence>; Priority::COUNT],
}

impl DomainDefence {
    /// A machine that has heard of no neighbour yet.
    pub const fn new(choice: Choice) -> DomainDefence {
        DomainDefence { choice, auto: Automatic::Edge }
    }

    /// Takes note of one thing.
    pub fn on_event(&mut self, event: DefenceEvent) {
        use Automatic::{Edge, Interior, InteriorReady};
        self.auto = match (self.choice, event, self.auto) {
            // What a person decides starts the machine over; so does taking it back.
            (Choice::Admin(_), DefenceEvent::Set(_), _)
            | (Choice::Auto, DefenceEvent::Set(Choice::Admin(_)), _)
            | (Choice::Admin(_), _, _)
            | (Choice::Auto, DefenceEvent::PeerLostCnpv, _) => Edge,
            (Choice::Auto, DefenceEvent::PeerHasCnpv, Edge) => Interior,
            (Choice::Auto, DefenceEvent::PeerReady, Interior) => InteriorReady,
            (Choice::Auto, DefenceEvent::PeerNotReady, InteriorReady) => Interior,
            (Choice::Auto, _, stays) => stays,
        };
        if let DefenceEvent::Set(choice) = event {
            self.choice = choice;
        }
    }

    /// Takes note of all that the neighbours say about this priority.
    pub fn on_neighbour(&mut self, neighbour: Neighbour, priority: Priority) {
        let said = match neighbour {
            Neighbour::One(Some(tlv)) if tlv.cnpvs.contains(priority) => tlv,
            Neighbour::One(_) | Neighbour::None | Neighbour::Several => {
                return self.on_event(DefenceEvent::PeerLostCnpv);
            }
        };
        self.on_event(DefenceEvent::PeerHasCnpv);
        let is_ready = said.ready.contains(priority);
        self.on_event(if is_ready { DefenceEvent::PeerReady } else { DefenceEvent::PeerNotReady });
    }

    /// How the port stands to the priority now.
    pub const fn defence(&self) -> Defence {
        match (self.choice, self.auto) {
            (Choice::Admin(defence), _) => defence,
            (Choice::Auto, Automatic::Edge) => Defence::Edge,
            (Choice::Auto, Automatic::Interior) => Defence::Interior,
            (Choice::Auto, Automatic::InteriorReady) => Defence::InteriorReady,
        }
    }
}

impl Defence {
    /// Whether frames that come in at the priority are moved to the alternate one.
    pub const fn remaps(self) -> bool {
        matches!(self, Defence::Edge)
    }

    /// Whether the port tells its neighbour that it is ready.
    pub const fn is_ready(self) -> bool {
        matches!(self, Defence::Interior | Defence::InteriorReady)
    }

    /// Whether CN-TAGs are taken off frames that go out.
    pub const fn removes_cn_tag(self) -> bool {
        matches!(self, Defence::Edge | Defence::Interior)
    }
}

impl PortChoice {
    /// Who decides for the port in the end.
    pub const fn within(self, component: Choice) -> Choice {
        match self {
            PortChoice::Own(choice) => choice,
            PortChoice::Component => component,
        }
    }
}

impl PortDefence {
    /// A port with these congestion controlled priorities.
    pub fn new(cnpvs: PrioritySet, choice: Choice) -> PortDefence {
        let mut machines = [None; Priority::COUNT];
        for priority in cnpvs.iter() {
            machines[priority.index()] = Some(DomainDefence::new(choice));
        }
        PortDefence { machines }
    }

    /// The machine of a priority, if it is congestion controlled.
    pub fn machine(&mut self, priority: Priority) -> Option<&mut DomainDefence> {
        self.machines[priority.index()].as_mut()
    }

    /// How the port stands to a priority, if it is congestion controlled.
    pub fn defence(&self, priority: Priority) -> Option<Defence> {
        self.machines[priority.index()].map(|machine| machine.defence())
    }

    /// Takes note of what the neighbours say now.
    pub fn on_neighbour(&mut self, neighbour: Neighbour) {
        for priority in Priority::all() {
            if let Some(machine) = self.machine(priority) {
                machine.on_neighbour(neighbour, priority);
            }
        }
    }

    /// What the port tells its neighbour; nothing where no priority is congestion controlled.
    pub fn tlv(&self) -> Option<CongestionNotification> {
        let of = |wanted: fn(Defence) -> bool| {
            PrioritySet::of(Priority::all().filter(|priority| self.defence(*priority).is_some_and(wanted)))
        };
        let cnpvs = of(|defence| defence != Defence::Disabled);
        (cnpvs != PrioritySet::NONE).then(|| CongestionNotification { cnpvs, ready: of(Defence::is_ready) })
    }

    /// The priority at which a frame goes on that came in at this one.
    pub fn ingress(&self, priority: Priority) -> Priority {
        let cnpvs = PrioritySet::of(Priority::all().filter(|it| self.defence(*it).is_some()));
        match self.defence(priority) {
            Some(defence) if defence.remaps() => alternate(cnpvs, priority).unwrap_or(priority),
            _ => priority,
        }
    }
}

/// Where an edge moves frames of a congestion controlled priority: to the next lower one that is not, or where there
/// is none, to the next higher; `None` where all eight are congestion controlled.
pub fn alternate(cnpvs: PrioritySet, priority: Priority) -> Option<Priority> {
    let is_free = |it: &Priority| !cnpvs.contains(*it);
    let lower = Priority::all().rev().filter(|it| *it < priority).find(is_free);
    lower.or_else(|| Priority::all().filter(|it| *it > priority).find(is_free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    const DEFENCES: [Defence; 4] =
        [Defence::Disabled, Defence::Interior, Defence::InteriorReady, Defence::Edge];

    fn choices() -> Vec<Choice> {
        DEFENCES.into_iter().map(Choice::Admin).chain([Choice::Auto]).collect()
    }

    fn events() -> Vec<DefenceEvent> {
        use DefenceEvent::{PeerHasCnpv, PeerLostCnpv, PeerNotReady, PeerReady, Set};
        let said = [PeerHasCnpv, PeerLostCnpv, PeerReady, PeerNotReady];
        said.into_iter().chain(choices().into_iter().map(Set)).collect()
    }

    /// Every state that any history can lead to.
    fn states() -> HashSet<DomainDefence> {
        let mut found: HashSet<DomainDefence> = choices().into_iter().map(DomainDefence::new).collect();
        loop {
            let next: HashSet<DomainDefence> = found
                .iter()
                .flat_map(|state| events().into_iter().map(|event| after(*state, event)))
                .chain(found.iter().copied())
                .collect();
            if next.len() == found.len() {
                return found;
            }
            found = next;
        }
    }

    fn after(mut state: DomainDefence, event: DefenceEvent) -> DomainDefence {
        state.on_event(event);
        state
    }

    fn auto(defence: Defence) -> DomainDefence {
        let mut machine = DomainDefence::new(Choice::Auto);
        if defence != Defence::Edge {
            machine.on_event(DefenceEvent::PeerHasCnpv);
        }
        if defence == Defence::InteriorReady {
            machine.on_event(DefenceEvent::PeerReady);
        }
        assert_eq!(machine.defence(), defence);
        machine
    }

    #[test]
    fn there_are_seven_states_and_no_more() {
        let states = states();
        assert_eq!(states.len(), 7, "{states:?}");
    }

    #[test]
    fn every_transition_is_the_tables() {
        use Defence::{Edge, Interior, InteriorReady};
        use DefenceEvent::{PeerHasCnpv, PeerLostCnpv, PeerNotReady, PeerReady, Set};
        // Columns: the neighbour has the priority, has lost it, is ready, is not; somebody sets automatic.
        let table = [
            (Edge, [Interior, Edge, Edge, Edge, Edge]),
            (Interior, [Interior, Edge, InteriorReady, Interior, Interior]),
            (InteriorReady, [InteriorReady, Edge, InteriorReady, Interior, InteriorReady]),
        ];
        let columns = [PeerHasCnpv, PeerLostCnpv, PeerReady, PeerNotReady, Set(Choice::Auto)];
        for (from, row) in table {
            for (event, to) in columns.into_iter().zip(row) {
                assert_eq!(after(auto(from), event), auto(to), "{from:?} on {event:?}");
            }
            for defence in DEFENCES {
                let set = after(auto(from), Set(Choice::Admin(defence)));
                assert_eq!(set, DomainDefence::new(Choice::Admin(defence)), "{from:?}");
            }
        }
        for defence in DEFENCES {
            let admin = DomainDefence::new(Choice::Admin(defence));
            for event in [PeerHasCnpv, PeerLostCnpv, PeerReady, PeerNotReady] {
                assert_eq!(after(admin, event), admin, "{defence:?} on {event:?}");
            }
            assert_eq!(after(admin, Set(Choice::Auto)), auto(Edge), "reset, then edge");
            for other in DEFENCES {
                let set = after(admin, Set(Choice::Admin(other)));
                assert_eq!(set, DomainDefence::new(Choice::Admin(other)));
            }
        }
    }

    #[test]
    fn each_defence_acts_as_the_table_says() {
        // Remaps frames that come in, says ready, takes CN-TAGs off.
        let acts = |defence: Defence| [defence.remaps(), defence.is_ready(), defence.removes_cn_tag()];
        assert_eq!(acts(Defence::Disabled), [false, false, false]);
        assert_eq!(acts(Defence::Edge), [true, false, true]);
        assert_eq!(acts(Defence::Interior), [false, true, true]);
        assert_eq!(acts(Defence::InteriorReady), [false, true, false]);
    }

    /// From every state and for every TLV there is (all priorities, both octets): 7 x 8 x (65,536 + 3) steps.
    #[test]
    fn whatever_the_neighbour_says_the_last_word_counts() {
        let neighbours = (0..=u16::MAX)
            .map(|bits| {
                let [cnpvs, ready] = bits.to_be_bytes().map(PrioritySet);
                Neighbour::One(Some(CongestionNotification { cnpvs, ready }))
            })
            .chain([Neighbour::None, Neighbour::One(None), Neighbour::Several]);
        let states = states();
        for neighbour in neighbours {
            for priority in Priority::all() {
                let said = match neighbour {
                    Neighbour::One(Some(tlv)) if tlv.cnpvs.contains(priority) => {
                        if tlv.ready.contains(priority) { Defence::InteriorReady } else { Defence::Interior }
                    }
                    _ => Defence::Edge,
                };
                for mut machine in states.iter().copied() {
                    let before = machine;
                    machine.on_neighbour(neighbour, priority);
                    match before.choice {
                        Choice::Auto => assert_eq!(machine, auto(said), "{before:?} on {neighbour:?}"),
                        Choice::Admin(_) => assert_eq!(machine, before, "a person has decided"),
                    }
                }
            }
        }
    }

    #[test]
    fn two_ports_find_each_other_and_lose_each_other() {
        let three = Priority::new(3).unwrap();
        let mut ports = [PortDefence::new(PrioritySet::of([three]), Choice::Auto); 2];
        let hear = |ports: &mut [PortDefence; 2]| {
            let said = ports.map(|port| port.tlv());
            ports[0].on_neighbour(Neighbour::One(said[1]));
            ports[1].on_neighbour(Neighbour::One(said[0]));
            ports.map(|port| port.defence(three).unwrap())
        };
        assert_eq!(ports[0].ingress(three).get(), 2, "an edge at first");
        assert_eq!(hear(&mut ports), [Defence::Interior; 2]);
        assert_eq!(hear(&mut ports), [Defence::InteriorReady; 2]);
        assert_eq!(hear(&mut ports), [Defence::InteriorReady; 2]);
        assert_eq!(ports[0].ingress(three), three);
        ports[0].on_neighbour(Neighbour::None);
        assert_eq!(ports[0].defence(three), Some(Defence::Edge));
        // The other is told that its neighbour is not ready.
        ports[1].on_neighbour(Neighbour::One(ports[0].tlv()));
        assert_eq!(ports[1].defence(three), Some(Defence::Interior));
    }

    #[test]
    fn a_port_without_congestion_control_says_nothing() {
        assert_eq!(PortDefence::new(PrioritySet::NONE, Choice::Auto).tlv(), None);
        let all = PrioritySet(0xff);
        assert_eq!(PortDefence::new(all, Choice::Admin(Defence::Disabled)).tlv(), None);
        let tlv = PortDefence::new(all, Choice::Auto).tlv();
        assert_eq!(tlv, Some(CongestionNotification { cnpvs: all, ready: PrioritySet::NONE }));
    }

    #[test]
    fn the_alternate_priority_is_the_next_lower_free_one_or_the_next_higher() {
        for bits in 0..=u8::MAX {
            let cnpvs = PrioritySet(bits);
            for priority in Priority::all() {
                let free = |it: &u8| !cnpvs.contains(Priority::new(*it).unwrap());
                let below = (0..priority.get()).rev().find(free);
                let meant = below.or_else(|| (priority.get() + 1..8).find(free));
                assert_eq!(alternate(cnpvs, priority).map(Priority::get), meant, "{bits:#010b} {priority:?}");
            }
        }
    }

    #[test]
    fn a_port_may_leave_the_choice_to_its_bridge() {
        let interior = Choice::Admin(Defence::Interior);
        assert_eq!(PortChoice::Component.within(interior), interior);
        assert_eq!(PortChoice::Own(Choice::Auto).within(interior), Choice::Auto);
    }
}
