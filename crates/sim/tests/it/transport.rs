//! Acknowledgements, windows and what is sent again.

use crate::network::*;
use quell_proto::control::dctcp;
use quell_proto::control::ecn::MarkingConfig;
use quell_proto::control::go_back_n::{ReceiverConfig, SenderConfig};
use quell_proto::units::{Bytes, Duration, Rate};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::*;

fn transport() -> Transport {
    Transport {
        sender: SenderConfig { timeout: Duration::from_us(200), most_doublings: 0 },
        receiver: ReceiverConfig::default(),
        window: None,
        ack_frame: Bytes::new(70),
        ack_priority: None,
        completion: Completion::Delivered,
    }
}

/// Hosts on one switch, each flow with a queue of its own and acknowledged.
fn reliable(hosts: u32, transport: Transport) -> Plan {
    let mut plan = star(hosts, TEN, US);
    plan.length = Duration::from_ms(20);
    plan.sample = Duration::from_ms(10);
    plan.wire_check = true;
    for host in &mut plan.hosts {
        host.adapter.queueing = AdapterQueueing::PerFlow;
        host.adapter.limiter = LimiterScope::Flow;
        host.adapter.transport = Some(transport);
    }
    plan
}

/// Lets the queues of the switch hold so much, and drop the rest.
fn lossy(plan: &mut Plan, octets: u64) {
    let queue_limit = QueueLimit::Static(Bytes::new(octets));
    plan.switches[0].buffering = Buffering::OutputQueued { memory: None, queue_limit };
}

#[test]
fn what_is_lost_is_sent_again_until_all_has_arrived_once_and_in_order() {
    for doublings in [0, 3] {
        let sender = SenderConfig { timeout: Duration::from_us(200), most_doublings: doublings };
        let mut plan = reliable(5, Transport { sender, ..transport() });
        lossy(&mut plan, 30_000);
        for sender in 0..4 {
            burst(&mut plan, sender, 4, 1_000);
        }
        let said = run_of(&plan);
        assert!(said.lost() > 0);
        assert_eq!(said.frames(), [1_000; 4]);
        for totals in &said.flows {
            assert_eq!((totals.delivered_bytes, totals.reordered_frames), (1_500_000, 0));
            assert!(totals.retransmitted_frames >= totals.lost_frames, "{totals:?}");
            assert_eq!(totals.sent_bytes, 1_500 * (1_000 + totals.retransmitted_frames));
        }
        assert_eq!(said.times(EventKind::MessageDone).len(), 4);
    }
}

#[test]
fn without_loss_nothing_is_sent_again() {
    let mut plan = reliable(3, transport());
    burst(&mut plan, 0, 2, 500);
    burst(&mut plan, 1, 2, 500);
    let said = run_of(&plan);
    assert!(said.flows.iter().all(|it| (it.retransmitted_frames, it.timeouts) == (0, 0)));
    assert_eq!(said.frames(), [500, 500]);
}

#[test]
fn patience_ends_where_the_last_frames_are_lost() {
    // The link fails while the message is on its way, and comes back later: nobody can say what is missing.
    let mut plan = reliable(2, transport());
    burst(&mut plan, 0, 1, 100);
    for (at, up) in [(50, false), (1_000, true)] {
        plan.changes.push(Change { at: at_us(at), what: What::Link { link: LinkId(1), up } });
    }
    let said = run_of(&plan);
    assert_eq!(said.frames(), [100]);
    assert!(said.flows[0].timeouts > 0 && said.flows[0].lost_frames > 0);
}

#[test]
fn a_window_is_what_is_on_its_way() {
    // Two frames a round trip: there 2 x (1.2 + 1) us, back 2 x (0.056 + 1) us, and the second frame behind the first.
    let window = Some(Bytes::new(3_000));
    let mut plan = reliable(2, Transport { window, ..transport() });
    greedy(&mut plan, 0, 1);
    let delivered = run_of(&plan).delivered();
    let trip_ns = 2 * (1_200 + 1_000) + 2 * (56 + 1_000);
    let wanted = 2 * 20_000_000 / trip_ns;
    assert!(delivered.abs_diff(wanted) <= 2, "{delivered}, not {wanted}");
}

#[test]
fn a_message_is_complete_when_delivered_or_when_its_sender_knows() {
    let took = |completion: Completion| {
        let mut plan = reliable(2, Transport { completion, ..transport() });
        burst(&mut plan, 0, 1, 1);
        let said = run_of(&plan);
        let done: Vec<i64> =
            said.events.iter().filter(|it| it.kind == EventKind::MessageDone).map(|it| it.value).collect();
        assert_eq!(done.len(), 1);
        done[0]
    };
    let there = 2 * (1_200_000 + 1_000_000);
    assert_eq!(took(Completion::Delivered), there);
    assert_eq!(took(Completion::Acknowledged), there + 2 * (56_000 + 1_000_000));
}

#[test]
fn dctcp_holds_the_queue_at_its_threshold_and_keeps_the_link_busy() {
    let mut plan = reliable(5, transport());
    plan.scheme = Scheme::Dctcp(dctcp::Config::usual(Bytes::new(1500), Bytes::new(1_500_000)));
    let curve = MarkingConfig::step(Bytes::new(30_000));
    plan.switches[0].marking = Some(Marking { curve, at: MarkedAt::Arrival });
    for sender in 0..4 {
        greedy(&mut plan, sender, 4);
    }
    let said = run_of(&plan);
    let hot = port(4, 1);
    let queue = said.series(hot, Quantity::QueueMeanBytes)[1];
    let busy = said.series(hot, Quantity::TxBytes)[1] * 100 / 12_500_000;
    assert!((15_000..45_000).contains(&queue) && busy >= 98, "{queue} octets, {busy} %");
    let shares = said.frames();
    assert!(shares.iter().max().unwrap() * 2 < 3 * shares.iter().min().unwrap(), "{shares:?}");
}

#[test]
fn acknowledgements_can_carry_notifications() {
    let mut plan = reliable(5, transport());
    for link in &mut plan.links {
        link.rate = Rate::from_gbps(40);
    }
    plan.scheme = Scheme::Dcqcn(Dcqcn { in_acknowledgements: true, ..dcqcn("paper-40G") });
    marks(&mut plan, 5_000, 200_000, MarkedAt::Departure);
    for sender in 0..4 {
        greedy(&mut plan, sender, 4);
    }
    let said = run_of(&plan);
    assert!(said.flows.iter().all(|flow| flow.cnms_received > 0));
    let queue = said.series(port(4, 1), Quantity::QueueMeanBytes)[1];
    assert!((5_000..200_000).contains(&queue), "{queue}");
}

#[test]
fn a_run_is_a_function_of_plan_and_seed() {
    let mut plan = reliable(4, transport());
    lossy(&mut plan, 20_000);
    for sender in 0..3 {
        add_flow(&mut plan, sender, 3, Pattern::Poisson { mean: Duration::from_ns(2_000) }, at_us(0));
    }
    assert_eq!(digest(&plan, 7), digest(&plan, 7));
    assert_ne!(digest(&plan, 7), digest(&plan, 8));
}
