use super::*;
use crate::load::{Maker, Shape};
use proptest::prelude::*;
use quell_proto::control::qcn::Profile;
use quell_proto::units::Quanta;
use quell_proto::wire::{
    Cnm, CnmFrame, CpId, Envelope, Excerpt, MIN_FRAME, MacAddr, Pause, Pfc, QuantisedFeedback,
    QueueDifference, VlanId,
};

const GIGABIT: Rate = Rate::from_gbps(1);

#[derive(Debug, Default)]
struct Left(Vec<(Instant, usize, Vec<u8>)>);

impl Outputs for Left {
    fn send(&mut self, at: Instant, port: usize, octets: &[u8]) -> bool {
        self.0.push((at, port, octets.to_vec()));
        true
    }
}

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_us(us)
}

fn config() -> Config {
    let reaction = ReactionConfig { reload_jitter_percent: 0, ..Profile::PseudoCode.reaction(GIGABIT) };
    Config {
        rate: GIGABIT,
        overhead: Bytes::ZERO,
        reaction,
        rule: Rule::WholeFrame,
        depth: Bytes::ZERO,
        reaction_delay: Duration::ZERO,
        queue: 64,
        longest: 1514,
        tags: true,
        seed: 1,
    }
}

/// An adapter whose host has sent something before.
fn nic(config: Config) -> Nic {
    let mut nic = Nic::new(config);
    nic.stations.learn(MacAddr::numbered(1));
    nic
}

fn maker(flow: u8) -> Maker {
    Maker::new(&shape(1492, None), flow, false)
}

fn load(frame: usize, priority: Option<u8>) -> Maker {
    Maker::new(&shape(frame, priority), 7, false)
}

fn shape(frame: usize, priority: Option<u8>) -> Shape {
    let tag = priority.and_then(Priority::new).zip(VlanId::new(1));
    Shape { source: MacAddr::numbered(1), destination: MacAddr::numbered(2), tag, frame }
}

fn cnm(flow: Option<u8>, excerpt: Excerpt) -> Vec<u8> {
    let frame = CnmFrame {
        envelope: Envelope {
            cn_tag: flow.map(|flow| CnTag { flow: u16::from(flow) }),
            ..Envelope::plain(MacAddr::numbered(1), MacAddr::numbered(9))
        },
        cnm: Cnm {
            feedback: QuantisedFeedback::MAX,
            point: CpId::of(MacAddr::numbered(9), 0),
            offset: QueueDifference::from_octets(1000),
            delta: QueueDifference::from_octets(0),
            priority: Priority::default(),
            destination: MacAddr::numbered(2),
            excerpt,
        },
    };
    let mut octets = vec![0; CnmFrame::LONGEST];
    let length = frame.emit(&mut octets).unwrap();
    octets.truncate(length);
    octets
}

#[test]
fn data_leaves_at_line_rate_with_the_tag_of_its_reaction_point() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let mut maker = maker(7);
    for _ in 0..3 {
        nic.on_frame(at(0), HOST, maker.next(at(0)), &mut left);
    }
    nic.advance(at(100), &mut left);
    let times: Vec<u64> = left.0.iter().map(|it| it.0.ps() / 1_000_000).collect();
    assert_eq!(times, [0, 12, 24]);
    let header = Header::parse(&left.0[0].2).unwrap();
    assert_eq!((header.cn_tag, left.0[0].2.len()), (Some(CnTag { flow: 7 }), 1496));
    assert_eq!(nic.take_counts(7).sent_frames, 3);
}

/// The kernel drops what is longer than its interface sends, and says nothing.
#[test]
fn a_frame_that_has_no_room_for_a_cn_tag_goes_without_one() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    for (frame, priority) in [(1510, None), (1511, None), (1514, None), (1514, Some(3)), (1518, Some(3))] {
        nic.on_frame(at(0), HOST, load(frame, priority).next(at(0)), &mut left);
    }
    nic.advance(at(1000), &mut left);
    let seen = |it: &(Instant, usize, Vec<u8>)| (it.2.len(), Header::parse(&it.2).unwrap().cn_tag.is_some());
    let seen: Vec<_> = left.0.iter().map(seen).collect();
    assert_eq!(seen, [(1514, true), (1511, false), (1514, false), (1518, true), (1518, false)]);
    // With a tag or without, one octet more is too much.
    for (frame, priority) in [(1515, None), (1519, Some(3))] {
        nic.on_frame(at(2000), HOST, load(frame, priority).next(at(0)), &mut left);
    }
    assert_eq!((nic.oddities().oversized, nic.take_counts(7).sent_frames), (2, 5));
}

#[test]
fn a_notification_limits_its_flow_alone_after_the_reaction_delay() {
    let mut config = config();
    config.reaction_delay = Duration::from_us(100);
    let (mut nic, mut left) = (nic(config), Left::default());
    nic.on_frame(at(0), WIRE, &cnm(Some(3), Excerpt::NONE), &mut left);
    nic.advance(at(99), &mut left);
    assert_eq!(nic.limit(3), None);
    nic.advance(at(100), &mut left);
    let limit = nic.limit(3).unwrap();
    assert!(limit < Rate::from_mbps(520) && limit > Rate::from_mbps(490), "{limit:?}");
    assert_eq!(nic.limit(4), None);
    assert_eq!(nic.take_counts(3).cnms, 1);
}

#[test]
fn a_notification_without_tag_is_told_by_the_frame_it_carries() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let frame = maker(9).next(at(0)).to_vec();
    let parsed = wire::Frame::parse(&frame).unwrap();
    nic.on_frame(at(0), WIRE, &cnm(None, Excerpt::of_frame(&parsed, 64)), &mut left);
    nic.on_frame(at(0), WIRE, &cnm(None, Excerpt::NONE), &mut left);
    nic.advance(at(1), &mut left);
    assert!(nic.limit(9).is_some());
    assert_eq!(nic.oddities().foreign, 1);
}

#[test]
fn a_notification_for_another_station_or_of_a_flow_beyond_ours_is_foreign() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let mut other = cnm(Some(3), Excerpt::NONE);
    other[..6].copy_from_slice(&MacAddr::numbered(5).0);
    nic.on_frame(at(0), WIRE, &other, &mut left);
    let mut beyond = cnm(Some(3), Excerpt::NONE);
    beyond[14..16].copy_from_slice(&0x0103_u16.to_be_bytes());
    assert_eq!(Header::parse(&beyond).unwrap().cn_tag, Some(CnTag { flow: 0x0103 }));
    nic.on_frame(at(0), WIRE, &beyond, &mut left);
    nic.advance(at(1), &mut left);
    assert_eq!((nic.limit(3), nic.oddities().foreign), (None, 2));
    // A second station behind the same adapter is ours once it has sent.
    let shape = Shape { source: MacAddr::numbered(5), ..shape(500, None) };
    nic.on_frame(at(2), HOST, Maker::new(&shape, 3, false).next(at(2)), &mut left);
    nic.on_frame(at(3), WIRE, &other, &mut left);
    nic.advance(at(4), &mut left);
    assert!(nic.limit(3).is_some());
}

#[test]
fn a_limited_flow_is_paced_and_another_passes_it() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    for _ in 0..4 {
        nic.on_frame(at(0), WIRE, &cnm(Some(0), Excerpt::NONE), &mut left);
    }
    nic.advance(at(0), &mut left);
    let (mut slow, mut fast) = (maker(0), maker(1));
    for _ in 0..8 {
        nic.on_frame(at(1), HOST, slow.next(at(1)), &mut left);
        nic.on_frame(at(1), HOST, fast.next(at(1)), &mut left);
    }
    nic.advance(at(150), &mut left);
    let of = |flow: u16| {
        left.0.iter().filter(|it| Header::parse(&it.2).unwrap().cn_tag == Some(CnTag { flow })).count()
    };
    assert_eq!(of(1), 8);
    assert!(of(0) < 4, "{} frames in 150 us at about 66 Mb/s", of(0));
}

#[test]
fn a_pause_is_obeyed_and_ends_by_itself() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let mut octets = [0; MIN_FRAME];
    PauseFrame { source: MacAddr::numbered(9), pause: Pause { time: Quanta(100) } }
        .emit(&mut octets)
        .unwrap();
    nic.on_frame(at(0), WIRE, &octets, &mut left);
    nic.on_frame(at(1), HOST, maker(0).next(at(1)), &mut left);
    assert!(left.0.is_empty());
    nic.advance(at(200), &mut left);
    assert_eq!(left.0[0].0, Instant::from_ps(51_200_000));
}

#[test]
fn what_is_for_the_host_loses_its_tag_and_the_rest_is_untouched() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let shape =
        Shape { source: MacAddr::numbered(2), destination: MacAddr::numbered(1), tag: None, frame: 500 };
    let tagged = Maker::new(&shape, 4, true).next(at(0)).to_vec();
    nic.on_frame(at(0), WIRE, &tagged, &mut left);
    let (_, port, got) = &left.0[0];
    assert_eq!((*port, got.len()), (HOST, 496));
    assert_eq!(Header::parse(got).unwrap().cn_tag, None);
    assert_eq!(got[14..], tagged[18..]);
}

#[test]
fn a_storm_of_notifications_is_bounded_and_told_of_once() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let message = cnm(Some(0), Excerpt::NONE);
    // For half a second: five whiles.
    for number in 0..500_000u64 {
        nic.on_frame(at(number), WIRE, &message, &mut left);
    }
    assert_eq!(nic.take_counts(0).cnms, 5 * u64::from(MOST_CNMS));
    assert_eq!(nic.oddities().stormy, 500_000 - 5 * u64::from(MOST_CNMS));
    assert_eq!(nic.notes().filter(|note| note.what == Happening::Storm).count(), 1);
    // However many there are, the flow keeps its least rate, and climbs once they stop.
    assert!(nic.limit(0).is_some_and(|limit| limit >= config().reaction.min_rate));
    let before = nic.limit(0);
    nic.advance(at(1_000_000), &mut left);
    assert!(nic.limit(0).is_none() || nic.limit(0) > before);
}

#[test]
fn a_flow_that_offers_too_much_loses_its_own_frames_only() {
    let mut config = config();
    config.queue = 4;
    let (mut nic, mut left) = (nic(config), Left::default());
    let mut maker = maker(0);
    for _ in 0..10 {
        nic.on_frame(at(0), HOST, maker.next(at(0)), &mut left);
    }
    assert!(!nic.has_room(0) && nic.has_room(1));
    assert_eq!(nic.take_counts(0).dropped, 5);
    assert_eq!(
        (nic.take_counts(0).dropped, nic.counts().dropped),
        (0, 5),
        "since it was asked, and since the start"
    );
}

#[test]
fn odd_frames_are_counted_and_nothing_else() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    for port in [WIRE, HOST] {
        nic.on_frame(at(0), port, &[], &mut left);
        nic.on_frame(at(0), port, &[1; 12], &mut left);
    }
    nic.on_frame(at(0), HOST, load(1515, None).next(at(0)), &mut left);
    nic.on_frame(at(0), WIRE, &cnm(Some(1), Excerpt::NONE)[..25], &mut left);
    let oddities = nic.oddities();
    assert_eq!((oddities.malformed, oddities.oversized), (5, 1));
    assert!(left.0.is_empty());
}

#[test]
fn a_storm_of_pauses_is_bounded_and_told_of_once() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    let mut pause = [0; MIN_FRAME];
    let frame = PauseFrame { source: MacAddr::numbered(9), pause: Pause { time: Quanta::MAX } };
    frame.emit(&mut pause).unwrap();
    for number in 0..30_000 {
        nic.on_frame(at(number), WIRE, &pause, &mut left);
    }
    // All of it within a tenth of a second.
    assert_eq!(nic.oddities().stormy, 30_000 - u64::from(crate::hold::MOST));
    assert_eq!(nic.notes().filter(|note| note.what == Happening::Storm).count(), 1);
    nic.on_frame(at(30_000), HOST, maker(0).next(at(30_000)), &mut left);
    assert_eq!(left.0.len(), 1, "it is not held");
}

#[test]
fn a_host_that_goes_away_is_told_of_and_holds_nobody() {
    let (mut nic, mut left) = (nic(config()), Left::default());
    nic.on_link(at(1), HOST, false, &mut left);
    nic.on_link(at(2), HOST, true, &mut left);
    let notes: Vec<_> = nic.notes().map(|note| (note.port, note.what)).collect();
    assert_eq!(notes, [(HOST, Happening::LinkDown), (HOST, Happening::LinkUp)]);
    nic.on_frame(at(3), HOST, maker(0).next(at(3)), &mut left);
    assert_eq!(left.0.len(), 1);
}

/// What may come to an adapter.
#[derive(Clone, Debug)]
enum Comes {
    Load(u8, bool),
    Cnm(u8),
    Pfc(u8, u16),
    Octets(usize, Vec<u8>),
    Link(bool),
}

fn comes() -> impl Strategy<Value = Comes> {
    let octets = prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        8 => (any::<u8>(), any::<bool>()).prop_map(|(flow, is_tagged)| Comes::Load(flow % 8, is_tagged)),
        3 => any::<u8>().prop_map(|flow| Comes::Cnm(flow % 8)),
        1 => (0u8..8, 0u16..500).prop_map(|(priority, time)| Comes::Pfc(priority, time)),
        2 => (0usize..2, octets).prop_map(|(port, octets)| Comes::Octets(port, octets)),
        1 => any::<bool>().prop_map(Comes::Link),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, in whatever order: no panic, time goes on, and every frame of the host is sent, dropped or waits; in the end
    /// all have been sent.
    #[test]
    fn anything_keeps_the_books(came in prop::collection::vec((comes(), 0u64..40), 0..300)) {
        let (mut nic, mut left) = (nic(config()), Left::default());
        let (mut now, mut offered) = (0, 0);
        for (what, gap) in came {
            now += gap;
            match what {
                Comes::Load(flow, is_tagged) => {
                    let shape = shape(800, is_tagged.then_some(flow));
                    nic.on_frame(at(now), HOST, Maker::new(&shape, flow, false).next(at(now)), &mut left);
                    offered += 1;
                }
                Comes::Cnm(flow) => nic.on_frame(at(now), WIRE, &cnm(Some(flow), Excerpt::NONE), &mut left),
                Comes::Pfc(priority, time) => {
                    let mut octets = [0; MIN_FRAME];
                    let pfc = Pfc::of(Priority::new(priority).unwrap(), Quanta(time));
                    PfcFrame { source: MacAddr::numbered(9), pfc }.emit(&mut octets).unwrap();
                    nic.on_frame(at(now), WIRE, &octets, &mut left);
                }
                Comes::Octets(port, octets) => {
                    // Whatever has a header may go.
                    offered += u64::from(port == HOST && Header::parse(&octets).is_ok());
                    nic.on_frame(at(now), port, &octets, &mut left);
                }
                Comes::Link(is_up) => nic.on_link(at(now), WIRE, is_up, &mut left),
            }
            nic.advance(at(now), &mut left);
            prop_assert!(nic.next_due() > at(now));
            let sent = left.0.iter().filter(|it| it.1 == WIRE).count() as u64;
            let waiting = (0..=255).map(|flow| nic.waiting(flow) as u64).sum::<u64>();
            prop_assert_eq!(sent + waiting + nic.counts().dropped, offered);
        }
        nic.on_link(at(now), WIRE, true, &mut left);
        // The least rate is half a megabit: a frame takes some 13 ms, and 64 may wait.
        for _ in 0..2000 {
            now += 1000;
            nic.advance(at(now), &mut left);
        }
        prop_assert!((0..=255).all(|flow| nic.waiting(flow) == 0));
    }
}
