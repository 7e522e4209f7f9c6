use super::*;
use crate::load::{Maker, Shape};
use proptest::prelude::*;
use quell_proto::control::qcn::Profile;
use quell_proto::units::Quanta;
use quell_proto::wire::CpId;

const GIGABIT: Rate = Rate::from_gbps(1);

/// What left, and when.
#[derive(Debug, Default)]
struct Left(Vec<(Instant, usize, Vec<u8>)>);

impl Outputs for Left {
    fn send(&mut self, at: Instant, port: usize, octets: &[u8]) -> bool {
        self.0.push((at, port, octets.to_vec()));
        true
    }
}

impl Left {
    fn cnms(&self) -> Vec<(usize, CnmFrame)> {
        let parsed =
            self.0.iter().filter_map(|(_, port, octets)| Some((*port, CnmFrame::parse(octets).ok()?)));
        parsed.collect()
    }

    fn by(&self, port: usize) -> usize {
        self.0.iter().filter(|it| it.1 == port).count()
    }
}

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_us(us)
}

fn config() -> Config {
    let port = |number: u32| PortConfig {
        address: MacAddr::numbered(100 + number),
        rate: GIGABIT,
        service: None,
        is_edge: false,
    };
    Config {
        ports: (0..3).map(port).collect(),
        memory: Bytes::from_kb(300),
        longest: 1518,
        overhead: Bytes::ZERO,
        congestion: None,
        cnm_priority: Priority::new(6).unwrap(),
        excerpt: 64,
        pause: FlowControl::Off,
        seed: 1,
    }
}

fn frames(flow: u8, from: u32, to: u32) -> Maker {
    let shape =
        Shape { source: MacAddr::numbered(from), destination: MacAddr::numbered(to), tag: None, frame: 1496 };
    Maker::new(&shape, flow, true)
}

#[test]
fn an_unknown_station_is_sought_everywhere_and_a_known_one_is_not() {
    let (mut switch, mut left) = (Switch::new(config()), Left::default());
    switch.on_frame(at(0), 0, frames(0, 1, 2).next(at(0)), &mut left);
    assert_eq!((left.by(0), left.by(1), left.by(2)), (0, 1, 1));
    switch.on_frame(at(100), 1, frames(0, 2, 1).next(at(100)), &mut left);
    assert_eq!((left.by(0), left.by(2)), (1, 1));
}

#[test]
fn a_served_port_sends_at_its_service_rate_and_not_before() {
    let mut config = config();
    config.ports[2].service = Some(Rate::from_mbps(100));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(0, 1, 2);
    for _ in 0..3 {
        switch.on_frame(at(0), 0, maker.next(at(0)), &mut left);
    }
    assert_eq!(switch.queued(2), 3000);
    assert_eq!(switch.next_due(), at(120));
    switch.advance(at(1000), &mut left);
    let times: Vec<u64> = left.0.iter().map(|it| it.0.ps() / 1_000_000).collect();
    assert_eq!(times, [0, 120, 240]);
    let counts = switch.take_counts(at(1000), 2);
    assert_eq!((counts.sent_frames, counts.sent_bytes), (3, 4500));
    assert_eq!(counts.serviceable, Bytes::new(12_500));
    // Two frames for 120 us, one for the next.
    assert_eq!(counts.queue, ((3000 * 120 + 1500 * 120) / 1000, 3000));
}

#[test]
fn a_driver_that_comes_late_makes_up_for_two_milliseconds_and_no_more() {
    let mut config = config();
    (config.ports[2].service, config.memory) = (Some(Rate::from_mbps(100)), Bytes::from_kb(1000));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(0, 1, 2);
    for _ in 0..100 {
        switch.on_frame(at(0), 0, maker.next(at(0)), &mut left);
    }
    switch.advance(at(9_999), &mut left);
    // One at the start, then those of the last 2 ms, which begin 1999 us before.
    assert_eq!(left.0.len(), 1 + 17);
}

#[test]
fn a_congestion_point_answers_the_source_with_its_tag_and_the_start_of_its_frame() {
    let mut config = config();
    config.congestion =
        Some(CongestionConfig { sample_jitter_percent: 0, ..Profile::PseudoCode.congestion() });
    config.ports[2].service = Some(Rate::from_mbps(10));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(5, 1, 2);
    for number in 0..120u64 {
        switch.on_frame(at(12 * number), 0, maker.next(at(0)), &mut left);
    }
    let cnms = left.cnms();
    let (port, first) = &cnms[0];
    assert_eq!(*port, 0);
    assert_eq!(first.envelope.destination, MacAddr::numbered(1));
    assert_eq!(first.envelope.source, MacAddr::numbered(100));
    assert_eq!(first.envelope.cn_tag, Some(CnTag { flow: 5 }));
    assert_eq!(crate::load::flow_of_excerpt(&first.cnm.excerpt), Some(5));
    assert_eq!(first.cnm.feedback, QuantisedFeedback::MAX);
    assert_eq!(first.cnm.point, CpId::of(MacAddr::numbered(102), 16));
    let noted: Vec<Happening> = switch.notes().map(|note| note.what).collect();
    assert_eq!(noted[0], Happening::Cnm(Some(5), 63));
    assert_eq!(switch.take_counts(at(1500), 2).cnms, cnms.len() as u64);
}

#[test]
fn an_edge_port_takes_the_tag_off() {
    let mut config = config();
    config.ports[2].is_edge = true;
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    switch.on_frame(at(0), 0, frames(5, 1, 2).next(at(0)), &mut left);
    let sent = &left.0[0].2;
    assert_eq!(sent.len(), 1492);
    let header = Header::parse(sent).unwrap();
    assert_eq!((header.cn_tag, header.ether_type), (None, EtherType::IPV4));
    assert_eq!(crate::load::flow_of(&header, sent), Some(5));
}

#[test]
fn a_filled_input_stops_its_peer_refreshes_and_lets_go() {
    let mut config = config();
    config.pause = FlowControl::Pause(PauseConfig {
        stop: Bytes::from_kb(15),
        go: Bytes::from_kb(6),
        quanta: Quanta(400),
    });
    config.ports[2].service = Some(Rate::from_mbps(100));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(0, 1, 2);
    for _ in 0..14 {
        switch.on_frame(at(0), 0, maker.next(at(0)), &mut left);
    }
    let mut now = 0;
    while now < 2000 {
        now += 10;
        switch.advance(at(now), &mut left);
    }
    let pauses: Vec<(u64, u16)> = left
        .0
        .iter()
        .filter_map(|(at, port, octets)| {
            let pause = PauseFrame::parse(octets).ok()?;
            assert_eq!(*port, 0);
            Some((at.ps() / 1_000_000, pause.pause.time.0))
        })
        .collect();
    // 400 quanta of 512 ns, said again every 102.4 us while ten frames wait for 120 us each.
    assert_eq!(pauses[..3], [(0, 400), (102, 400), (204, 400)]);
    let (last, time) = *pauses.last().unwrap();
    assert_eq!((last, time), (1200, 0));
    let counts = switch.take_counts(at(2000), 0);
    assert_eq!(counts.stopped, Duration::from_us(1200));
}

#[test]
fn a_paused_port_holds_its_frames_until_the_pause_ends_or_is_lifted() {
    let (mut switch, mut left) = (Switch::new(config()), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let pause = |time| {
        let mut octets = [0; MIN_FRAME];
        let frame = PauseFrame { source: MacAddr::numbered(2), pause: Pause { time: Quanta(time) } };
        frame.emit(&mut octets).unwrap();
        octets
    };
    switch.on_frame(at(0), 2, &pause(1000), &mut left);
    switch.on_frame(at(1), 0, frames(0, 1, 2).next(at(1)), &mut left);
    assert_eq!(left.by(2), 0);
    // 1000 quanta of 512 ns.
    assert_eq!(switch.next_due(), at(512));
    switch.advance(at(600), &mut left);
    assert_eq!(left.0[0].0, at(512));
    switch.on_frame(at(700), 2, &pause(1000), &mut left);
    switch.on_frame(at(701), 0, frames(0, 1, 2).next(at(701)), &mut left);
    switch.on_frame(at(710), 2, &pause(0), &mut left);
    assert_eq!(left.0[1].0, at(710));
    assert_eq!(switch.take_counts(at(800), 2).paused, Duration::from_us(522));
}

#[test]
fn pfc_holds_one_priority_and_lets_others_pass() {
    let (mut switch, mut left) = (Switch::new(config()), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let three = Priority::new(3).unwrap();
    let mut octets = [0; MIN_FRAME];
    PfcFrame { source: MacAddr::numbered(2), pfc: Pfc::of(three, Quanta(60_000)) }.emit(&mut octets).unwrap();
    switch.on_frame(at(0), 2, &octets, &mut left);
    let tagged = |priority: u8| {
        let tag = Some((Priority::new(priority).unwrap(), wire::VlanId::new(1).unwrap()));
        let shape =
            Shape { source: MacAddr::numbered(1), destination: MacAddr::numbered(2), tag, frame: 1000 };
        Maker::new(&shape, 0, false).next(at(0)).to_vec()
    };
    switch.on_frame(at(1), 0, &tagged(3), &mut left);
    switch.on_frame(at(2), 0, &tagged(4), &mut left);
    assert_eq!(left.by(2), 1);
    assert_eq!(Header::parse(&left.0[0].2).unwrap().priority().get(), 4);
}

#[test]
fn a_storm_of_pauses_is_bounded_and_told_of_once() {
    let (mut switch, mut left) = (Switch::new(config()), Left::default());
    let mut octets = [0; MIN_FRAME];
    PauseFrame { source: MacAddr::numbered(2), pause: Pause { time: Quanta::MAX } }
        .emit(&mut octets)
        .unwrap();
    for number in 0..50_000u64 {
        switch.on_frame(at(number), 2, &octets, &mut left);
    }
    assert_eq!(switch.oddities().stormy, 48_000);
    let storms = switch.notes().filter(|note| note.what == Happening::Storm).count();
    assert_eq!(storms, 1);
    // A storm holds nothing, not even what was obeyed before it was one.
    switch.teach(MacAddr::numbered(2), 2);
    switch.on_frame(at(50_001), 0, frames(0, 1, 2).next(at(0)), &mut left);
    assert_eq!(left.by(2), 1);
}

#[test]
fn odd_frames_are_counted_and_nothing_else() {
    let (mut switch, mut left) = (Switch::new(config()), Left::default());
    switch.on_frame(at(0), 0, &[], &mut left);
    switch.on_frame(at(0), 0, &[0xff; 13], &mut left);
    switch.on_frame(at(0), 0, &[0; 9000], &mut left);
    let mut lldp = [0; 60];
    lldp[..6].copy_from_slice(&MacAddr::NEAREST_BRIDGE.0);
    lldp[12..14].copy_from_slice(&0x88cc_u16.to_be_bytes());
    switch.on_frame(at(0), 0, &lldp, &mut left);
    let mut control = [0; 60];
    control[..6].copy_from_slice(&MacAddr::MAC_CONTROL.0);
    control[12..16].copy_from_slice(&[0x88, 0x08, 0x77, 0x77]);
    switch.on_frame(at(0), 0, &control, &mut left);
    assert!(left.0.is_empty());
    let oddities = switch.oddities();
    assert_eq!((oddities.malformed, oddities.oversized, oddities.foreign), (3, 1, 1));
}

#[test]
fn a_full_memory_drops_and_counts() {
    let mut config = config();
    (config.memory, config.ports[2].service) = (Bytes::from_kb(6), Some(Rate::from_mbps(1)));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(0, 1, 2);
    for _ in 0..10 {
        switch.on_frame(at(0), 0, maker.next(at(0)), &mut left);
    }
    // One is on its way, four wait.
    assert_eq!(switch.take_counts(at(1), 2).dropped, 5);
    assert_eq!((switch.take_counts(at(1), 2).dropped, switch.dropped()), (0, 5));
}

#[test]
fn what_waits_for_a_port_that_goes_down_is_lost_and_frees_its_room() {
    let mut config = config();
    config.ports[2].service = Some(Rate::from_mbps(1));
    let (mut switch, mut left) = (Switch::new(config), Left::default());
    switch.teach(MacAddr::numbered(2), 2);
    let mut maker = frames(0, 1, 2);
    for _ in 0..10 {
        switch.on_frame(at(0), 0, maker.next(at(0)), &mut left);
    }
    switch.on_link(at(5), 2, false, &mut left);
    assert_eq!((switch.queued(2), switch.held), (0, 0));
    switch.on_frame(at(6), 0, maker.next(at(0)), &mut left);
    assert_eq!(left.by(2), 1);
    switch.on_link(at(100_000), 2, true, &mut left);
    switch.on_frame(at(100_001), 0, maker.next(at(0)), &mut left);
    assert_eq!(left.by(2), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes in, in whatever order: no panic, time goes on, and every frame taken in is sent, lost or held.
    #[test]
    fn any_frames_keep_the_books(
        came in prop::collection::vec((0usize..3, prop::collection::vec(any::<u8>(), 0..200), 0u64..50, any::<bool>()), 0..200),
    ) {
        let mut config = config();
        config.congestion = Some(Profile::PseudoCode.congestion());
        config.pause = FlowControl::Pfc(
            PauseConfig { stop: Bytes::from_kb(2), go: Bytes::from_kb(1), quanta: Quanta(9) },
            PrioritySet(0xff),
        );
        let (mut switch, mut left) = (Switch::new(config), Left::default());
        let mut maker = frames(0, 1, 2);
        let mut now = 0;
        for (port, octets, gap, is_load) in came {
            now += gap;
            let octets = if is_load { maker.next(at(now)).to_vec() } else { octets };
            switch.on_frame(at(now), port, &octets, &mut left);
            prop_assert!(switch.next_due() > at(now));
        }
        switch.advance(at(now + 10_000), &mut left);
        prop_assert_eq!(switch.held, 0);
        prop_assert!((0..3).all(|port| switch.queued(port) == 0));
    }
}
