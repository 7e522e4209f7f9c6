//! Tests of isolation as a port does it: two queues with markers in them, and whatever can happen to them.

use super::*;
use crate::control::qcn::CongestionConfig;
use crate::dice::Dice;
use crate::units::{Instant, Share};
use insta::assert_snapshot;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::string::String;
use std::vec;
use std::vec::Vec;

const FRAME: Bytes = Bytes::new(1000);

/// What waits in a queue: a marker, or a frame by its flow and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Marker,
    Frame(u32, u64),
}

/// An output port with a pair of queues, and what it sent of each flow.
struct Port {
    point: IsolationPoint<u32, Vec<Slot<u32>>>,
    monitored: VecDeque<Item>,
    congesting: VecDeque<Item>,
    now: Instant,
    next: BTreeMap<u32, u64>,
    sent: Vec<(u32, u64)>,
    removed: Vec<u32>,
}

impl Port {
    fn new(config: Config, room: usize, seed: u64) -> Port {
        Port {
            point: IsolationPoint::new(config, vec![None; room], Dice::new(seed, 0, 0)),
            monitored: VecDeque::new(),
            congesting: VecDeque::new(),
            now: Instant::START,
            next: BTreeMap::new(),
            sent: Vec::new(),
            removed: Vec::new(),
        }
    }

    fn levels(&self) -> Levels {
        let octets = |queue: &VecDeque<Item>| {
            Bytes::new(FRAME.get() * queue.iter().filter(|it| **it != Item::Marker).count() as u64)
        };
        Levels { monitored: octets(&self.monitored), congesting: octets(&self.congesting) }
    }

    fn arrive(&mut self, flow: u32) -> Placement {
        let placement = self.point.on_frame(self.now, flow, FRAME, self.levels(), true);
        if placement.markers {
            self.monitored.push_back(Item::Marker);
            self.congesting.push_back(Item::Marker);
        }
        let number = self.next.entry(flow).or_insert(0);
        match placement.queue {
            Queue::Monitored => self.monitored.push_back(Item::Frame(flow, *number)),
            Queue::Congesting => self.congesting.push_back(Item::Frame(flow, *number)),
        }
        *number += 1;
        self.drop_monitored_markers();
        placement
    }

    /// Markers at the head of the monitored queue leave at once, paused or not.
    fn drop_monitored_markers(&mut self) {
        while self.monitored.pop_front_if(|it| *it == Item::Marker).is_some() {
            self.point.markers().leave_monitored();
        }
    }

    /// Sends the next frame of a queue; `false` if there is none or it waits.
    fn serve(&mut self, queue: Queue) -> bool {
        match queue {
            Queue::Monitored => {
                let Some(Item::Frame(flow, number)) = self.monitored.pop_front() else { return false };
                self.sent.push((flow, number));
                self.drop_monitored_markers();
            }
            Queue::Congesting => {
                while self.congesting.front() == Some(&Item::Marker) {
                    if !self.point.markers().leave_congesting() {
                        return false;
                    }
                    self.congesting.pop_front();
                }
                let Some(Item::Frame(flow, number)) = self.congesting.pop_front() else { return false };
                self.sent.push((flow, number));
                let removed = &mut self.removed;
                self.point.on_departure(self.now, flow, |stream| removed.push(stream.flow));
            }
        }
        true
    }

    /// The first flow whose frames did not leave in order.
    fn reordered(&self) -> Option<u32> {
        let mut next = BTreeMap::new();
        self.sent.iter().find_map(|(flow, number)| {
            let expected = next.entry(*flow).or_insert(0u64);
            let wrong = expected != number;
            *expected += 1;
            wrong.then_some(*flow)
        })
    }
}

/// Isolates from the first frame that finds anything in the monitored queue.
fn eager() -> Config {
    Config { detection: Detection::Marking(MarkingConfig::step(Bytes::ZERO)), ..Config::default() }
}

#[test]
fn a_flow_that_is_moved_waits_for_its_own_earlier_frames() {
    let mut port = Port::new(eager(), 4, 1);
    assert_eq!(port.arrive(1).queue, Queue::Monitored);
    assert_eq!(port.arrive(1).queue, Queue::Congesting);
    assert!(!port.serve(Queue::Congesting), "its first frame is still in the other queue");
    assert!(port.serve(Queue::Monitored));
    assert!(port.serve(Queue::Congesting));
    assert_eq!(port.sent, [(1, 0), (1, 1)]);
}

#[test]
fn without_markers_a_flow_that_is_moved_overtakes_itself() {
    let mut port = Port::new(Config { keeps_order: false, ..eager() }, 4, 1);
    port.arrive(1);
    assert!(!port.arrive(1).markers);
    assert!(port.serve(Queue::Congesting));
    assert!(port.serve(Queue::Monitored));
    assert_eq!(port.reordered(), Some(1));
}

#[test]
fn flows_that_do_not_congest_pass_those_that_do() {
    let config = Config { detection: Detection::Marking(MarkingConfig::step(Bytes::from_kb(2))), ..eager() };
    let mut port = Port::new(config, 1, 1);
    for _ in 0..6 {
        port.arrive(1);
    }
    assert_eq!(port.levels(), Levels { monitored: Bytes::from_kb(3), congesting: Bytes::from_kb(3) });
    port.arrive(2);
    for _ in 0..4 {
        port.serve(Queue::Monitored);
    }
    assert_eq!(port.sent.last(), Some(&(2, 0)));
    assert_eq!(port.point.counters().refused, 1, "the table has room for one");
}

#[test]
fn a_queue_that_runs_empty_frees_the_flows_that_were_found_here() {
    for (flush, freed) in [(Flush::Nothing, vec![]), (Flush::OwnFlows, vec![2]), (Flush::All, vec![1, 2])] {
        let mut port = Port::new(Config { flush, ..eager() }, 4, 1);
        port.point.on_message(port.now, 1, Message::Add, |_| {});
        port.arrive(1);
        port.arrive(9);
        port.arrive(2);
        port.serve(Queue::Monitored);
        assert!(port.serve(Queue::Congesting) && port.removed.is_empty());
        assert!(port.serve(Queue::Congesting));
        assert_eq!(port.removed, freed, "{flush:?}");
    }
}

#[test]
fn a_silent_flow_is_free_again_but_not_while_its_frames_are_held() {
    let mut port = Port::new(Config { flush: Flush::Nothing, ..eager() }, 4, 1);
    port.arrive(1);
    port.arrive(1);
    port.serve(Queue::Monitored);
    port.now = port.now + Duration::from_ms(5);
    assert_eq!(port.arrive(1).queue, Queue::Congesting, "a frame of it is held there, by a pause say");
    port.serve(Queue::Congesting);
    port.serve(Queue::Congesting);
    assert_eq!(port.arrive(1).queue, Queue::Congesting, "it is not silent");
    port.serve(Queue::Congesting);
    port.now = port.now + Duration::from_us(100);
    assert_eq!(port.arrive(1).queue, Queue::Monitored);
}

#[test]
fn flows_whose_time_is_over_make_room() {
    let mut port = Port::new(Config { flush: Flush::Nothing, ..eager() }, 1, 1);
    port.point.on_message(port.now, 1, Message::Add, |_| {});
    port.point.on_message(port.now, 2, Message::Add, |_| {});
    assert_eq!(port.point.counters(), Counters { named: 1, refused: 1, ..Counters::default() });
    port.now = port.now + Duration::from_us(100);
    port.point.on_message(port.now, 2, Message::Add, |_| {});
    assert_eq!(port.point.streams().iter().map(|it| it.flow).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_flow_that_the_neighbour_named_outlives_the_queue_by_so_much_and_no_more() {
    let config = Config {
        inactivity: Duration::from_ms(10_000),
        most_life: Duration::from_ms(1),
        ..Config::default()
    };
    let mut port = Port::new(config, 4, 1);
    port.point.on_message(port.now, 1, Message::Add, |_| {});
    assert_eq!(port.arrive(1).queue, Queue::Congesting);
    port.serve(Queue::Congesting);
    port.now = port.now + Duration::from_us(999);
    let mut expired = Vec::new();
    port.point.expire(port.now, |it| expired.push(it.flow));
    assert!(expired.is_empty());
    port.now = port.now + Duration::from_us(1);
    port.point.expire(port.now, |it| expired.push(it.flow));
    assert_eq!(expired, [1]);
}

#[test]
fn a_neighbour_can_take_its_word_back() {
    let mut port = Port::new(eager(), 4, 1);
    port.point.on_message(port.now, 1, Message::Add, |_| {});
    port.point.on_message(port.now, 1, Message::Delete, |_| {});
    assert!(port.point.streams().is_empty());
    port.point.on_message(port.now, 1, Message::Delete, |_| {});
    // Not while a frame of it waits: the next would overtake it.
    port.point.on_message(port.now, 1, Message::Add, |_| {});
    port.arrive(1);
    port.point.on_message(port.now, 1, Message::Delete, |_| {});
    assert_eq!(port.arrive(1).queue, Queue::Congesting);
}

#[test]
fn the_neighbour_is_told_while_the_congesting_queue_is_long_and_not_too_often() {
    let signals = |config: Config, can_signal: bool| {
        let mut point = IsolationPoint::new(config, [None; 4], Dice::new(1, 0, 0));
        let levels = |kb| Levels { monitored: Bytes::from_kb(1), congesting: Bytes::from_kb(kb) };
        [75, 76, 76, 10, 76, 76]
            .map(|kb| point.on_frame(Instant::START, 1, FRAME, levels(kb), can_signal).signal)
    };
    assert_eq!(signals(eager(), true), [false, true, true, false, true, false], "three times");
    assert_eq!(signals(eager(), false), [false; 6], "a neighbour that does not agree");
    assert_eq!(signals(Config { signal_above: None, ..eager() }, true), [false; 6], "local isolation only");
}

#[test]
fn isolated_frames_are_marked_as_configured() {
    let marked = |marking| {
        let mut point = IsolationPoint::new(Config { marking, ..eager() }, [None; 4], Dice::new(1, 0, 0));
        [0, 1, 1, 50].map(|kb| {
            let levels = Levels { monitored: Bytes::from_kb(kb.min(1)), congesting: Bytes::from_kb(kb) };
            point.on_frame(Instant::START, 1, FRAME, levels, false).marked
        })
    };
    assert_eq!(marked(IsolatedMarking::All), [false, true, true, true], "the first is not isolated");
    assert_eq!(marked(IsolatedMarking::None), [false; 4]);
    let step = MarkingConfig::step(Bytes::from_kb(20));
    assert_eq!(marked(IsolatedMarking::Curve(step)), [false, false, false, true]);
}

#[test]
fn detection_by_samples_finds_the_flow_that_brings_most() {
    let sampling = CongestionConfig { sample_jitter_percent: 0, ..CongestionConfig::default() };
    let config = Config { detection: Detection::Sampling(sampling), ..Config::default() };
    let mut found = [0; 2];
    for seed in 0..200 {
        let mut point = IsolationPoint::new(config, [None; 4], Dice::new(seed, 0, 0));
        let levels = Levels { monitored: Bytes::from_kb(100), congesting: Bytes::ZERO };
        // Nine of ten frames are flow 1's, in an order that differs from seed to seed.
        let mut order = Dice::new(seed, 1, 0);
        while point.streams().is_empty() {
            let flow = usize::from(order.below(10) > 0);
            point.on_frame(Instant::START, flow, FRAME, levels, false);
        }
        found[point.streams().iter().next().unwrap().flow] += 1;
    }
    assert!(found[1] > 160 && found[0] > 0, "{found:?}");
}

/// Something that can happen at a port.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Arrival(u32),
    Service(Queue),
    Pause(Queue, bool),
    Message(u32, Message),
    Wait(u64),
    Expire,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let queue = || prop_oneof![Just(Queue::Monitored), Just(Queue::Congesting)];
    let one = prop_oneof![
        12 => (0u32..6).prop_map(Happening::Arrival),
        12 => queue().prop_map(Happening::Service),
        1 => (queue(), any::<bool>()).prop_map(|(queue, on)| Happening::Pause(queue, on)),
        2 => (0u32..6, any::<bool>())
            .prop_map(|(flow, add)| Happening::Message(flow, if add { Message::Add } else { Message::Delete })),
        2 => (1u64..300).prop_map(Happening::Wait),
        1 => Just(Happening::Expire),
    ];
    prop::collection::vec(one, 0..400)
}

fn configs() -> impl Strategy<Value = Config> {
    let detection = prop_oneof![
        (0u64..4, 0u64..8).prop_map(|(low, span)| Detection::Marking(MarkingConfig {
            low: Bytes::from_kb(low),
            high: Bytes::from_kb(low + span),
            most: Share::percent(50),
        })),
        (2u64..10).prop_map(|kb| Detection::Sampling(CongestionConfig {
            set_point: Bytes::from_kb(2),
            sample_base: Bytes::from_kb(kb),
            ..CongestionConfig::default()
        })),
    ];
    let flush = prop_oneof![Just(Flush::Nothing), Just(Flush::OwnFlows), Just(Flush::All)];
    (detection, flush, 1u64..200, 1u64..500).prop_map(|(detection, flush, inactivity, life)| Config {
        detection,
        flush,
        inactivity: Duration::from_us(inactivity),
        most_life: Duration::from_us(life),
        ..Config::default()
    })
}

/// Lives through a history; `Err` with the flow that was reordered.
fn live(config: Config, room: usize, seed: u64, history: &[Happening]) -> Result<Port, u32> {
    let mut port = Port::new(config, room, seed);
    let mut paused = [false; 2];
    for happening in history {
        match *happening {
            Happening::Arrival(flow) => {
                port.arrive(flow);
            }
            Happening::Service(queue) => {
                if !paused[queue as usize] {
                    port.serve(queue);
                }
            }
            Happening::Pause(queue, on) => paused[queue as usize] = on,
            Happening::Message(flow, message) => port.point.on_message(port.now, flow, message, |_| {}),
            Happening::Wait(us) => port.now = port.now + Duration::from_us(us),
            Happening::Expire => port.point.expire(port.now, |_| {}),
        }
        if let Some(flow) = port.reordered() {
            return Err(flow);
        }
    }
    Ok(port)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is found, named, freed, paused and served in whatever order: no flow is ever reordered, nothing stays
    /// behind once pauses are over, and the counts end where they began.
    #[test]
    fn isolation_never_reorders_a_flow(
        config in configs(),
        room in 0usize..5,
        seed: u64,
        history in happenings(),
    ) {
        let port = live(config, room, seed, &history);
        prop_assert!(port.is_ok(), "flow {:?} was reordered", port.err());
        let mut port = port.ok().unwrap();
        while !(port.monitored.is_empty() && port.congesting.is_empty()) {
            // The congesting queue first, as often as it lets itself be served.
            let served = port.serve(Queue::Congesting) || port.serve(Queue::Monitored);
            prop_assert!(served, "both queues wait: {:?} {:?}", port.monitored, port.congesting);
        }
        prop_assert_eq!(port.reordered(), None);
        prop_assert_eq!(port.point.markers().counts(), (0, 0));
        prop_assert_eq!(port.sent.len() as u64, port.next.values().sum::<u64>());
        if config.flush == Flush::All && port.point.counters().found > 0 {
            prop_assert!(port.point.streams().iter().all(|it| !it.moved));
        }
    }
}

/// The same histories without markers: isolation alone does reorder, so the property above is one of the markers.
#[test]
fn without_markers_histories_like_these_reorder() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (configs(), 1usize..5, any::<u64>(), happenings());
    let reordered = (0..200).filter(|_| {
        let tree = strategy.new_tree(&mut runner).unwrap();
        let (config, room, seed, history) = proptest::strategy::ValueTree::current(&tree);
        live(Config { keeps_order: false, ..config }, room, seed, &history).is_err()
    });
    let reordered = reordered.count();
    assert!(reordered > 50, "{reordered} of 200");
}

#[test]
fn life_of_two_congesting_flows() {
    let config = Config { detection: Detection::Marking(MarkingConfig::step(Bytes::from_kb(1))), ..eager() };
    // With room for two: white finds the queue as long as the others did, and stays.
    let mut port = Port::new(config, 2, 1);
    let mut text = String::from("event            congesting queue       monitored queue        counts\n");
    let names = ["white", "red", "purple"];
    let steps = ["+2", "+1", "+1", "+1", "+2", "+0", "c", "m", "c", "m", "c", "c", "+2", "c", "c", "c", "m"];
    for step in steps {
        let event = match step {
            "m" => std::format!("monitored {}", if port.serve(Queue::Monitored) { "sent" } else { "waits" }),
            "c" => {
                std::format!("congesting {}", if port.serve(Queue::Congesting) { "sent" } else { "waits" })
            }
            flow => {
                let flow = flow[1..].parse::<u32>().unwrap();
                port.arrive(flow);
                std::format!("{} arrives", names[flow as usize])
            }
        };
        let shown = |queue: &VecDeque<Item>| {
            let items = queue.iter().map(|it| match it {
                Item::Marker => String::from("|"),
                Item::Frame(flow, number) => std::format!("{}{number}", &names[*flow as usize][..1]),
            });
            items.collect::<Vec<_>>().join(" ")
        };
        let (congesting, monitored) = (shown(&port.congesting), shown(&port.monitored));
        let (c, m) = port.point.markers().counts();
        writeln!(text, "{event:<17}{congesting:<23}{monitored:<23}{c} {m}").unwrap();
    }
    assert_snapshot!(text, @"
    event            congesting queue       monitored queue        counts
    purple arrives                          p0                     0 0
    red arrives                             p0 r0                  0 0
    red arrives      | r1                   p0 r0 |                1 1
    red arrives      | r1 r2                p0 r0 |                1 1
    purple arrives   | r1 r2 | p1           p0 r0 | |              2 2
    white arrives    | r1 r2 | p1           p0 r0 | | w0           2 2
    congesting waits | r1 r2 | p1           p0 r0 | | w0           2 2
    monitored sent   | r1 r2 | p1           r0 | | w0              2 2
    congesting waits | r1 r2 | p1           r0 | | w0              2 2
    monitored sent   | r1 r2 | p1           w0                     2 0
    congesting sent  r2 | p1                w0                     1 0
    congesting sent  | p1                   w0                     1 0
    purple arrives   | p1 p2                w0                     1 0
    congesting sent  p2                     w0                     0 0
    congesting sent                         w0                     0 0
    congesting waits                        w0                     0 0
    monitored sent                                                 0 0
    ");
}
