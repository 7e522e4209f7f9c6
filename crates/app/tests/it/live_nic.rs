//! `quell live nic` from end to end: a host before it, a network behind it that this test plays.

use crate::live::{inside, interrupt, may_use_namespaces};
use crate::support::Desk;
use quell_live::device::{Interface, PacketInterface, Sent};
use quell_live::lab::Lab;
use quell_live::load::{Maker, Shape};
use quell_proto::units::{Instant as Moment, Priority, Quanta};
use quell_proto::wire::{
    AnyFrame, CpId, EtherType, Frame, Header, MacAddr, Origin, Pause, PauseFrame, Pfc, PfcFrame,
    QuantisedFeedback, QueueDifference, parse,
};
use std::time::{Duration, Instant};

/// The priority of the load.
const LOAD: u8 = 3;

/// The far end of the adapter's wire.
struct Network {
    wire: PacketInterface,
    into: Vec<u8>,
    /// The last frame of load that came.
    last: Vec<u8>,
}

impl Network {
    fn send(&mut self, octets: &[u8]) {
        assert_eq!(self.wire.send(octets), Sent::Yes);
        self.wire.flush().expect("the wire is up");
    }

    /// Frames of load that come in this time, each of which must carry the tag of its reaction point.
    fn counts(&mut self, span: Duration) -> u64 {
        let (began, mut came) = (Instant::now(), 0);
        while began.elapsed() < span {
            while let Some(length) = self.wire.receive(&mut self.into) {
                let octets = &self.into[..length];
                let header = Header::parse(octets).expect("a frame");
                if header.ether_type != EtherType::IPV4 {
                    continue;
                }
                assert_eq!(header.cn_tag.map(|tag| tag.flow), Some(0), "{header:?}");
                assert_eq!(header.priority().get(), LOAD);
                self.last.clear();
                self.last.extend_from_slice(octets);
                came += 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        came
    }

    /// Whether load comes within ten seconds.
    fn flows(&mut self) -> bool {
        (0..200).any(|_| self.counts(Duration::from_millis(50)) > 0)
    }

    /// Whether nothing comes for 200 ms in a row while `hold` is said again and again, within ten seconds.
    fn stands_still(&mut self, hold: &[u8]) -> bool {
        let mut quiet = 0;
        (0..200).any(|_| {
            self.send(hold);
            quiet = if self.counts(Duration::from_millis(50)) == 0 { quiet + 1 } else { 0 };
            quiet == 4
        })
    }

    /// A notification about the last frame that came, of the strongest kind.
    fn notification(&self) -> Vec<u8> {
        let origin = Origin {
            address: MacAddr::numbered(77),
            point: CpId::of(MacAddr::numbered(77), 1),
            priority: Priority::new(6).unwrap(),
            excerpt: 64,
            tag_always: false,
        };
        let frame = Frame::parse(&self.last).expect("it was read before");
        let none = QueueDifference::from_octets(0);
        let cnm = origin.answer(&frame, QuantisedFeedback::new(63).unwrap(), none, none).expect("a source");
        let mut octets = [0; 256];
        let length = cnm.emit(&mut octets).expect("it fits");
        octets[..length].to_vec()
    }
}

fn pfc(priority: u8, time: Quanta) -> Vec<u8> {
    let mut octets = [0; 60];
    let pfc = Pfc::of(Priority::new(priority).unwrap(), time);
    PfcFrame { source: MacAddr::numbered(77), pfc }.emit(&mut octets).expect("it fits");
    octets.to_vec()
}

fn pause(time: Quanta) -> Vec<u8> {
    let mut octets = [0; 60];
    PauseFrame { source: MacAddr::numbered(77), pause: Pause { time } }.emit(&mut octets).expect("it fits");
    octets.to_vec()
}

#[test]
fn reaction_points_pace_notifications_end_there_and_pauses_are_obeyed() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let lab = Lab::new(&["nic-h", "nic-n", "nic-w"]).unwrap_or_else(|error| panic!("{error}"));
    lab.join(["nic-h", "nic-n"], ["h0", "h1"], 1500).unwrap();
    lab.join(["nic-w", "nic-n"], ["w1", "w0"], 1504).unwrap();
    let open = |space: &str, name: &str| {
        lab.inside(space, || PacketInterface::open(name, 1024)).expect("it is there").expect("it opens")
    };
    let wire = open("nic-w", "w1");
    let mut host = open("nic-h", "h0");
    let nic = inside(&desk, &lab, "nic-n", "live nic --wire w0 --host h1 --rate 100Mb/s --flows 1 --out rec");
    let load = format!("live send h0 --to 02:00:00:00:00:02 --rate 50Mb/s --priority {LOAD} --quiet");
    let send = inside(&desk, &lab, "nic-h", &load);
    let mut network = Network { wire, into: vec![0; 4096], last: Vec::new() };
    assert!(network.flows(), "load comes out of the wire");

    // PFC holds its priority and no other, until it says otherwise.
    assert!(network.stands_still(&pfc(LOAD, Quanta::MAX)));
    network.send(&pfc(LOAD, Quanta(0)));
    assert!(network.flows());
    assert!(!(0..5).any(|_| {
        network.send(&pfc(5, Quanta::MAX));
        network.counts(Duration::from_millis(500)) == 0
    }));
    // PAUSE holds everything, and ends by itself: 65,535 quanta are a third of a second here.
    assert!(network.stands_still(&pause(Quanta::MAX)));
    assert!(network.flows());

    // Notifications cut the rate: far below the 50 Mb/s that are offered, 2083 frames in half a second.
    let half = Duration::from_millis(500);
    let before = network.counts(half);
    let began = Instant::now();
    let mut under = u64::MAX;
    while under > 600 && began.elapsed() < Duration::from_secs(10) {
        under = (0..50)
            .map(|_| {
                let cnm = network.notification();
                network.send(&cnm);
                network.counts(half / 50)
            })
            .sum();
    }
    assert!(under <= 600, "{before} frames in half a second, and {under} under notifications");

    // What is for the host goes on to it, without a tag; notifications and pauses do not.
    let shape = Shape { source: MacAddr::numbered(2), destination: host.address(), tag: None, frame: 200 };
    network.send(Maker::new(&shape, 9, true).next(Moment::START));
    std::thread::sleep(Duration::from_millis(300));
    let mut into = vec![0; 4096];
    let mut for_host = 0;
    while let Some(length) = host.receive(&mut into) {
        let Ok(AnyFrame::Data(frame)) = parse(&into[..length]) else {
            panic!("{:?}", parse(&into[..length]))
        };
        assert_eq!((frame.header.ether_type, frame.header.cn_tag), (EtherType::IPV4, None));
        for_host += 1;
    }
    assert_eq!(for_host, 1);

    interrupt(&send);
    interrupt(&nic);
    let (sent, nic) = (send.wait_with_output().unwrap(), nic.wait_with_output().unwrap());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let said = String::from_utf8_lossy(&nic.stderr).into_owned();
    assert!(nic.status.success(), "{said}");
    let dropped = "dropped for want of room";
    for words in ["w0: driver veth", "VLAN tags are taken off", "out/s; flows: ", dropped, "recorded in rec"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(desk.quell("report rec").code, Some(0));
    assert!(desk.read("rec/report.html").contains("Rates of the reaction points"));
}
