//! One frame for several receivers: where it is copied, where it counts, and who is told of it.

use crate::network::*;
use quell_proto::units::{Bytes, Duration};
use quell_record::Quantity;
use quell_sim::scenario::plan::*;

/// A source of host `from` whose frames go to all of `to`.
fn multicast(plan: &mut Plan, from: u32, to: &[u32], frames: Option<u64>) {
    let first = plan.flows.len();
    let source = greedy(plan, from, to[0]);
    for to in &to[1..] {
        let name = format!("m{to}");
        plan.flows.push(Flow { name, to: HostId(*to), ..plan.flows[first].clone() });
    }
    let source = &mut plan.sources[source];
    source.flows = (first..plan.flows.len()).map(|flow| FlowId(u32::try_from(flow).unwrap())).collect();
    source.multicast = true;
    source.message = frames.map(|frames| Bytes::new(1500 * frames));
}

fn stage(acknowledge: Option<Duration>) -> Option<OutputStage> {
    let (buffer, latency) = (Bytes::new(150_000), Duration::from_us(1));
    Some(OutputStage { buffer, latency, speedup_percent: 160, acknowledge })
}

/// Every way in which a switch can hold frames.
fn switches() -> [Buffering; 4] {
    let input_memory = Some(Bytes::new(150_000));
    [
        Buffering::OutputQueued { memory: None, queue_limit: QueueLimit::None },
        Buffering::Voq { input_memory, output: None },
        Buffering::Voq { input_memory, output: stage(None) },
        Buffering::Voq { input_memory, output: stage(Some(US)) },
    ]
}

#[test]
fn every_receiver_gets_every_frame_once_and_the_sender_sends_it_once() {
    for buffering in switches() {
        let mut plan = star(4, TEN, US);
        plan.switches[0].buffering = buffering;
        plan.switches[0].flow_control = pause(110_000, 44_000);
        multicast(&mut plan, 0, &[1, 2, 3], Some(50));
        let said = run_of(&plan);
        assert_eq!(said.frames(), [50, 50, 50]);
        assert!(said.flows.iter().all(|flow| flow.reordered_frames == 0 && flow.lost_frames == 0));
        assert_eq!(said.series(port(0, 0), Quantity::TxFrames).iter().sum::<i64>(), 50);
        for flow in &said.flows {
            assert_eq!((flow.offered_bytes, flow.sent_bytes), (75_000, 75_000));
        }
    }
}

#[test]
fn a_frame_is_copied_where_the_ways_of_its_receivers_part() {
    // h1 h2 - s1 - s2 - h3 h4: one copy crosses the link between the switches.
    let mut plan = chain(&[2, 2], TEN, US);
    plan.length = Duration::from_ms(1);
    multicast(&mut plan, 0, &[1, 2, 3], Some(20));
    let said = run_of(&plan);
    assert_eq!(said.frames(), [20, 20, 20]);
    let trunk =
        plan.links.iter().position(|link| link.ends.iter().all(|end| matches!(end, NodeId::Switch(_))));
    let trunk = u32::try_from(trunk.unwrap()).unwrap();
    let crossed = [0, 1].map(|end| said.series(port(trunk, end), Quantity::TxFrames).iter().sum::<i64>());
    assert_eq!(crossed.iter().sum::<i64>(), 20);
}

#[test]
fn an_input_holds_a_frame_once_until_its_last_copy_has_gone() {
    for buffering in &switches()[1..] {
        let mut plan = star(4, TEN, US);
        plan.switches[0].buffering = buffering.clone();
        multicast(&mut plan, 0, &[1, 2, 3], Some(10));
        // Nothing leaves towards the last receiver after the first frame.
        let slow = Some(quell_proto::units::Rate::from_mbps(1));
        let what = What::PortService { link: LinkId(3), from: NodeId::Switch(SwitchId(0)), rate: slow };
        plan.changes.push(Change { at: at_us(0), what });
        let said = run_of(&plan);
        assert_eq!(said.frames()[..2], [10, 10]);
        let peak = said.peak(input(&plan, 0, 1));
        assert!(peak <= 15_000, "{peak} in {buffering:?}");
        let held = *said.series(input(&plan, 0, 1), Quantity::QueueMeanBytes).last().unwrap();
        let expected = match buffering {
            Buffering::Voq { output: Some(stage), .. } if stage.acknowledge.is_none() => 0,
            // The one being sent is acknowledged when it is sent, and in no memory without an output buffer.
            Buffering::Voq { output: Some(_), .. } => 15_000,
            _ => 13_500,
        };
        assert_eq!(held, expected, "{buffering:?}");
    }
}

#[test]
fn a_limiter_holds_the_whole_group() {
    let mut plan = star(6, TEN, US);
    plan.length = Duration::from_ms(5);
    plan.switches[0].buffering = Buffering::Voq { input_memory: None, output: None };
    plan.scheme = Scheme::Qcn(qcn());
    for host in &mut plan.hosts {
        host.adapter.limiter = LimiterScope::Flow;
    }
    multicast(&mut plan, 0, &[4, 5], None);
    greedy(&mut plan, 1, 4);
    greedy(&mut plan, 2, 4);
    let said = run_of(&plan);
    let limits = [0, 1].map(|member| said.series(flow(&plan, member), Quantity::LimitBps));
    assert!(limits[0].iter().any(|limit| *limit < 10_000_000_000));
    assert_eq!(limits[0], limits[1]);
    assert!(said.flows[0].cnms_received > 0, "the congested output is the first receiver's");
    assert_eq!(said.flows[1].cnms_received, 0);
}
