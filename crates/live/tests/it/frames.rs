//! What the kernel does to frames, and what comes out all the same.

use crate::{lab, open};
use quell_live::clock::{Clock, Stall};
use quell_live::device::{Interface, PacketInterface, Sent};
use quell_live::drive::Station;
use quell_live::load::{Maker, Receiver, Shape};
use quell_live::node::counted;
use quell_live::switch::{Config, FlowControl, PortConfig, Switch};
use quell_proto::control::pause::PauseConfig;
use quell_proto::control::qcn::Profile;
use quell_proto::units::{Bytes, Duration, Instant, Priority, Quanta, Rate};
use quell_proto::wire::{AnyFrame, Header, MacAddr, Pause, PauseFrame, VlanId, parse};
use std::time;

/// The next frame, waited for no longer than two seconds.
fn next(interface: &mut PacketInterface) -> Option<Vec<u8>> {
    let mut into = vec![0; 1 << 14];
    let began = time::Instant::now();
    while began.elapsed() < time::Duration::from_secs(2) {
        if let Some(length) = interface.receive(&mut into) {
            into.truncate(length);
            return Some(into);
        }
    }
    None
}

fn send(interface: &mut PacketInterface, octets: &[u8]) {
    assert_eq!(interface.send(octets), Sent::Yes);
    interface.flush().unwrap();
}

fn shape(priority: Option<u8>, frame: usize) -> Shape {
    let tag = priority.map(|it| (Priority::new(it).unwrap(), VlanId::new(7).unwrap()));
    Shape { source: MacAddr::numbered(1), destination: MacAddr::numbered(2), tag, frame }
}

#[test]
fn every_octet_of_a_frame_arrives_its_vlan_tag_and_control_frames_too() {
    let Some(lab) = lab(&["fa", "fb"]) else { return };
    lab.join(["fa", "fb"], ["a", "b"], 1500).unwrap();
    let (mut a, mut b) = (open(&lab, "fa", "a"), open(&lab, "fb", "b"));
    let mut pause = [0; 60];
    PauseFrame { source: MacAddr::numbered(1), pause: Pause { time: Quanta(9) } }.emit(&mut pause).unwrap();
    let frames = [
        Maker::new(&shape(None, 1514), 1, false).next(Instant::START).to_vec(),
        Maker::new(&shape(Some(5), 1518), 2, true).next(Instant::START).to_vec(),
        Maker::new(&shape(Some(3), 90), 3, true).next(Instant::START).to_vec(),
        pause.to_vec(),
    ];
    for frame in &frames {
        send(&mut a, frame);
        assert_eq!(next(&mut b).as_ref(), Some(frame));
    }
    assert!(matches!(parse(&frames[3]), Ok(AnyFrame::Pause(_))));
    // One octet more than the interface carries is refused here, not lost there; only a C-TAG makes room for itself.
    assert_eq!(a.send(Maker::new(&shape(Some(5), 1519), 2, false).next(Instant::START)), Sent::TooLong);
    assert_eq!(a.send(Maker::new(&shape(None, 1515), 1, false).next(Instant::START)), Sent::TooLong);
    assert_eq!(a.send(Maker::new(&shape(None, 1518), 1, true).next(Instant::START)), Sent::TooLong);
    // A socket does not hear itself.
    assert_eq!(a.receive(&mut [0; 2000]), None);
}

/// Segments that the kernel joined are longer than a slot, which holds their start. Here the interface grows instead.
#[test]
fn a_frame_of_which_a_slot_holds_the_start_is_told_longer_than_there_is_room_for() {
    let Some(lab) = lab(&["ga", "gb"]) else { return };
    lab.join(["ga", "gb"], ["a", "b"], 1500).unwrap();
    let mut b = open(&lab, "gb", "b");
    for (space, name) in [("ga", "a"), ("gb", "b")] {
        lab.ip(space, &["link", "set", "dev", name, "mtu", "9000"]).unwrap();
    }
    let mut a = open(&lab, "ga", "a");
    for (priority, frame) in [(None, 5000), (Some(3), 5004)] {
        send(&mut a, Maker::new(&shape(priority, frame), 1, false).next(Instant::START));
        let mut into = vec![0; 8000];
        let began = time::Instant::now();
        let told = loop {
            if let Some(length) = b.receive(&mut into) {
                break length;
            }
            assert!(began.elapsed() < time::Duration::from_secs(2), "nothing came");
        };
        assert!(told > into.len(), "said to be {told} octets, of which some are missing");
    }
    // Those that fit are whole.
    let whole = Maker::new(&shape(Some(3), 1518), 1, false).next(Instant::START).to_vec();
    send(&mut a, &whole);
    assert_eq!(next(&mut b), Some(whole));
}

#[test]
fn a_ring_goes_round_many_times_without_losing_or_mixing_frames() {
    let Some(lab) = lab(&["ra", "rb"]) else { return };
    lab.join(["ra", "rb"], ["a", "b"], 1500).unwrap();
    let (mut a, mut b) = (open(&lab, "ra", "a"), open(&lab, "rb", "b"));
    let (mut maker, mut receiver) = (Maker::new(&shape(Some(1), 700), 9, false), Receiver::default());
    let mut into = vec![0; 2000];
    for _ in 0..100 {
        for _ in 0..50 {
            assert_eq!(a.send(maker.next(Instant::START)), Sent::Yes);
        }
        a.flush().unwrap();
        let wanted = receiver.total_frames() + 50;
        let began = time::Instant::now();
        while receiver.total_frames() < wanted && began.elapsed() < time::Duration::from_secs(2) {
            if let Some(length) = b.receive(&mut into) {
                receiver.on_frame(Instant::START, &into[..length]);
            }
        }
    }
    let total = receiver.total();
    assert_eq!((total.frames, total.lost, total.reordered), (5000, 0, 0));
    assert_eq!(total.bytes, 5000 * counted(700).get());
    assert_eq!(b.take_overruns(), 0);
}

#[test]
fn a_switch_over_two_pairs_forwards_notifies_and_stops() {
    let Some(lab) = lab(&["sa", "sw", "sb"]) else { return };
    lab.join(["sa", "sw"], ["a", "p0"], 1500).unwrap();
    lab.join(["sb", "sw"], ["b", "p1"], 1500).unwrap();
    let (mut a, mut b) = (open(&lab, "sa", "a"), open(&lab, "sb", "b"));
    let ports = ["p0", "p1"].map(|name| open(&lab, "sw", name));
    let config = Config {
        ports: ports
            .iter()
            .map(|port| PortConfig {
                address: port.address(),
                rate: Rate::from_gbps(1),
                service: Some(Rate::from_mbps(10)),
                is_edge: false,
            })
            .collect(),
        memory: Bytes::from_kb(400),
        longest: 1518,
        overhead: Bytes::ZERO,
        congestion: Some(Profile::PseudoCode.congestion()),
        cnm_priority: Priority::new(6).unwrap(),
        excerpt: 64,
        pause: FlowControl::Pause(PauseConfig {
            stop: Bytes::from_kb(200),
            go: Bytes::from_kb(100),
            quanta: Quanta::MAX,
        }),
        seed: 1,
    };
    let mut switch = Switch::new(config);
    switch.teach(MacAddr::numbered(2), 1);
    let ports = ports.map(|port| Box::new(port) as Box<dyn Interface + Send>);
    let mut station = Station::new(switch, ports.into());
    let mut maker = Maker::new(&shape(Some(2), 1500), 4, true);
    let longest = time::Duration::from_millis(1);
    let mut clock = Clock::leaving_out(Some(Stall { beyond: longest, counts: longest }));
    let (mut cnms, mut pauses, mut receiver) = (0, 0, Receiver::default());
    let mut into = vec![0; 2000];
    while clock.now() < Instant::START + Duration::from_ms(150) {
        if maker.made() < 200 {
            send(&mut a, maker.next(Instant::START));
        }
        station.turn(clock.now()).unwrap();
        while let Some(length) = a.receive(&mut into) {
            match parse(&into[..length]) {
                Ok(AnyFrame::Cnm(cnm)) => {
                    assert_eq!(cnm.envelope.destination, MacAddr::numbered(1));
                    assert_eq!(cnm.header().priority().get(), 6);
                    cnms += 1;
                }
                Ok(AnyFrame::Pause(_)) => pauses += 1,
                other => panic!("{other:?}"),
            }
        }
        while let Some(length) = b.receive(&mut into) {
            assert_eq!(Header::parse(&into[..length]).unwrap().priority().get(), 2);
            receiver.on_frame(Instant::START, &into[..length]);
        }
    }
    assert!(cnms >= 1 && pauses >= 1, "{cnms} notifications, {pauses} pauses");
    // 1504 octets at 10 Mb/s take 1.2 ms each.
    let got = receiver.total().frames;
    assert!((100..=126).contains(&got), "{got} frames in 150 ms");
}
