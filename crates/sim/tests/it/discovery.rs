//! LLDP: switches that isolate agree on their queues before they use them together.

use crate::network::run_of;
use quell_proto::units::{Duration, Instant, Priority, PrioritySet};
use quell_proto::wire::lldp::{QueueRole, Tlv};
use quell_proto::wire::{AnyFrame, MacAddr, Ports};
use quell_record::{Digester, EventKind, Tap};
use quell_sim::kernel::{Control, run, run_tapped};
use quell_sim::scenario::plan::Plan;
use quell_sim::scenario::{Request, announced, read};

/// Two switches with a long wire between them, over which two senders overrun a receiver.
fn plan(run: &str, isolation: &str, more: &str) -> Plan {
    let text = format!(
        r#"
        title = "t"
        run = {{ length = "2ms", sample = "100us", {run} }}
        topology = {{ kind = "chain", trunk = {{ rate = "20Gb/s", delay = "50us" }}, hosts = [["a1", "a2"], ["r"]] }}
        switch = {{ kind = "output-queued", schedule = "wrr", weights = [1, 1, 1, 1, 1, 1, 1, 1], memory = "10MB", isolation = {{ mode = "signal", low = "5kB", high = "30kB", signal_above = "10kB", {isolation} }}, pause = {{ mode = "pfc", stop = "300kB", go = "250kB", both_stop = "400kB", both_go = "350kB" }} }}
        [[traffic]]
        from = ["a1", "a2"]
        to = "r"
        {more}
        "#
    );
    let read = read(Request::plain("t.toml", &text)).unwrap_or_else(|problems| panic!("{problems}"));
    read.configurations.into_iter().next().expect("there is one").plan
}

const FRAMES: &str = "discovery = \"frames\"";

/// What left by every port: when, by which, and its octets.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Vec<(Instant, String, Vec<u8>)>, Vec<String>);

impl Tap for Kept {
    fn frame(&mut self, at: Instant, port: usize, octets: &[u8], _length: usize) {
        self.0.push((at, self.1[port].clone(), octets.to_vec()));
    }
}

/// All frames of a run, and its digest.
pub(crate) fn tapped(plan: &Plan) -> (Kept, String) {
    let names: Vec<String> = plan.ports().iter().map(|(_, port)| port.name.clone()).collect();
    let all: Vec<u32> = (0..names.len() as u32).collect();
    let (mut kept, mut digester) = (Kept(Vec::new(), names), Digester::new());
    run_tapped(plan, 1, &mut digester, &Control::default(), &all, &mut kept).expect("nothing breaks");
    (kept, digester.digest().to_string())
}

fn is_lldp(octets: &[u8]) -> bool {
    matches!(quell_proto::wire::parse(octets), Ok(AnyFrame::Lldp(_)))
}

impl Kept {
    /// When and where LLDP frames left.
    fn announced(&self) -> Vec<(u64, &str)> {
        let of_them = self.0.iter().filter(|(.., octets)| is_lldp(octets));
        of_them.map(|(at, port, _)| (at.ps() / 1_000_000, port.as_str())).collect()
    }

    /// When congestion isolation messages left, in microseconds; `port` is that of those over UDP.
    fn messages(&self, port: u16) -> Vec<u64> {
        let ports = Ports { cim: Some(port) };
        let is_cim = |octets: &[u8]| matches!(ports.parse(octets), Ok(AnyFrame::Cim(_)));
        self.0.iter().filter(|(.., octets)| is_cim(octets)).map(|(at, ..)| at.ps() / 1_000_000).collect()
    }
}

#[test]
fn neighbours_are_told_of_flows_once_they_have_announced_the_same_queues() {
    let mut by_frames = plan(FRAMES, "", "");
    by_frames.wire_check = true;
    let (kept, _) = tapped(&by_frames);
    assert_eq!(kept.announced(), [(0, "s1->a1"), (0, "s1->a2"), (0, "s1->s2"), (0, "s2->r"), (0, "s2->s1")]);
    let told = kept.messages(0);
    assert!(told[0] >= 50, "nobody is told before s1 was heard, after 50 us: {told:?}");
    let said = run_of(&by_frames);
    assert!(said.events.iter().any(|it| it.kind == EventKind::Isolated && it.value == 1), "s1 was told");
    assert!(said.flows.iter().all(|flow| flow.reordered_frames == 0 && flow.lost_frames == 0));
}

#[test]
fn what_is_announced_is_the_pair_of_queues_what_is_lossless_and_where_messages_go() {
    for (cim, version) in [("layer2", None), ("ipv4", Some(4)), ("ipv6", Some(6))] {
        // Neighbours that have known each other before the run have done so by the same frames.
        for run in ["", FRAMES] {
            let plan = plan(run, &format!("cim = \"{cim}\", cim_octets = 60, inactivity = \"70us\""), "");
            let (kept, _) = tapped(&plan);
            let port = plan.ports().iter().position(|(_, port)| port.name == "s2->s1");
            let port = port.expect("there is such a port");
            let sent = kept.0.iter().find(|(_, port, octets)| port == "s2->s1" && is_lldp(octets));
            assert_eq!(
                (sent.is_some(), announced::is_sent_in_run(&plan, port)),
                (!run.is_empty(), !run.is_empty())
            );
            let octets = match sent {
                Some((at, _, octets)) => {
                    assert_eq!(*at, Instant::START);
                    octets.clone()
                }
                None => announced::frame(&plan, port, "s2->s1"),
            };
            let Ok(AnyFrame::Lldp(frame)) = quell_proto::wire::parse(&octets) else {
                panic!("{octets:02x?}")
            };
            assert_eq!(frame.envelope.destination, MacAddr::NEAREST_BRIDGE);
            let tlvs: Vec<Tlv<'_>> = frame.lldp.tlvs.iter().collect();
            let [
                Tlv::EtsConfiguration(_),
                Tlv::Pfc(pfc),
                Tlv::Applications(_),
                Tlv::CongestionIsolation(isolation),
                Tlv::Inactivity(inactivity),
            ] = tlvs[..]
            else {
                panic!("{tlvs:?}")
            };
            assert_eq!(pfc.enabled, PrioritySet(0b11));
            let class = |number| Priority::new(number).expect("one of eight");
            assert_eq!(isolation.queue_map.role(class(0)), QueueRole::Monitored(class(1)));
            assert_eq!((isolation.excerpt, isolation.address), (60, frame.envelope.source));
            let found = isolation.ip.map(|ip| if ip.is_ipv4() { 4 } else { 6 });
            assert_eq!(found, version);
            assert_eq!(inactivity.span(), Duration::from_us(70));
            assert!(!kept.messages(isolation.port).is_empty(), "messages go to the port that is announced");
        }
    }
}

#[test]
fn neighbours_that_announce_other_queues_or_no_address_are_told_of_nothing() {
    for second in ["congesting = 3", "mode = \"local\"", "mode = \"off\"", "cim = \"ipv4\""] {
        let more = format!("[switches.s2]\nisolation = {{ {second} }}");
        for run in ["", FRAMES] {
            let plan = plan(run, "cim = \"ipv6\"", &more);
            let (kept, _) = tapped(&plan);
            assert_eq!(kept.messages(49_153), [0; 0], "{run} {second}");
            let said = run_of(&plan);
            assert!(said.events.iter().any(|it| it.kind == EventKind::Isolated), "each isolates for itself");
            assert!(said.flows.iter().all(|flow| flow.lost_frames == 0), "{run} {second}");
        }
    }
}

#[test]
fn a_link_that_comes_back_is_announced_over_anew() {
    let (kept, _) = tapped(&plan(
        FRAMES,
        "",
        "[[at]]\ntime = \"700us\"\nlink = \"s1-s2\"\nstate = \"down\"\nfor = \"100us\"",
    ));
    let later: Vec<_> = kept.announced().into_iter().filter(|(at, _)| *at > 0).collect();
    assert_eq!(later, [(800, "s1->s2"), (800, "s2->s1")]);
    let quiet = kept.messages(0).into_iter().filter(|at| (700..850).contains(at)).count();
    assert_eq!(quiet, 0, "nobody is told of anything until the neighbour was heard again");
}

#[test]
fn frames_of_announcements_are_the_same_on_any_number_of_threads_and_taps_change_nothing() {
    for run_keys in ["", FRAMES] {
        let plan = plan(run_keys, "", "");
        let (_, digest) = tapped(&plan);
        for threads in [1, 2] {
            let mut digester = Digester::new();
            let control = Control { threads, ..Control::default() };
            run(&plan, 1, &mut digester, &control).expect("nothing breaks");
            assert_eq!(digester.digest().to_string(), digest, "{run_keys} on {threads}");
        }
    }
}
