//! Congestion isolation in the simulator: flows that fill a queue are moved out of the others' way, in order.

use crate::network::{Totals, run_of};
use proptest::prelude::*;
use quell_proto::wire::{AnyFrame, Change};
use quell_record::{EventKind, Quantity};
use quell_sim::scenario::plan::Plan;
use quell_sim::scenario::{Request, read};

/// Two switches in a row: three senders that share a receiver with one of each switch, and a victim that shares only
/// the link between them.
fn plan(isolation: &str, more: &str) -> Plan {
    let text = format!(
        r#"
        title = "t"
        run = {{ length = "2ms", sample = "100us" }}
        topology = {{ kind = "chain", trunk.rate = "40Gb/s", hosts = [["a1", "a2", "a3", "v"], ["b1", "r", "w"]] }}
        switch = {{ kind = "output-queued", schedule = "wrr", weights = [1, 1, 1, 1, 1, 1, 1, 1], {isolation} }}
        [[traffic]]
        from = ["a1", "a2", "b1"]
        to = "r"
        [[traffic]]
        from = "v"
        to = "w"
        pattern = "bernoulli"
        load = "40%"
        {more}
        "#
    );
    read_plan(&text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn read_plan(text: &str) -> Result<Plan, String> {
    let request = Request::plain("t.toml", text);
    let scenario = read(request).map_err(|problems| problems.to_string())?;
    Ok(scenario.configurations.into_iter().next().expect("there is one").plan)
}

const PFC: &str = "memory = \"10MB\", pause = { mode = \"pfc\", stop = \"60kB\", go = \"40kB\", both_stop = \"90kB\", both_go = \"70kB\" }";
const PLAIN_PFC: &str = "memory = \"10MB\", pause = { mode = \"pfc\", stop = \"60kB\", go = \"40kB\" }";
const LOSSY: &str = "memory = \"10MB\", queue_limit = \"150kB\"";

fn isolating(mode: &str, rest: &str) -> String {
    let signals = if mode == "signal" { ", signal_above = \"10kB\"" } else { "" };
    format!("isolation = {{ mode = \"{mode}\", low = \"5kB\", high = \"30kB\"{signals} }}, {rest}")
}

fn delivered(said: &Totals, flow: usize) -> u64 {
    said.flows[flow].delivered_bytes
}

#[test]
fn a_victim_of_pauses_gets_what_it_asks_for_once_the_culprits_are_isolated_upstream() {
    let without = run_of(&plan(PLAIN_PFC, ""));
    let local = run_of(&plan(&isolating("local", PFC), ""));
    let signalled = run_of(&plan(&isolating("signal", PFC), ""));
    // Flows in the order of the file: three culprits, then the victim.
    let victim = |said: &Totals| delivered(said, 3);
    assert!(victim(&signalled) > victim(&without) * 5 / 4, "{} {}", victim(&signalled), victim(&without));
    assert!(victim(&signalled) >= victim(&local), "{} {}", victim(&signalled), victim(&local));
    for said in [&without, &local, &signalled] {
        assert!(said.flows.iter().all(|flow| flow.reordered_frames == 0 && flow.lost_frames == 0));
    }
}

#[test]
fn neighbours_are_told_of_flows_and_isolate_them_too() {
    let said = run_of(&plan(&isolating("signal", PFC), ""));
    let isolated: Vec<i64> =
        said.events.iter().filter(|it| it.kind == EventKind::Isolated).map(|it| it.value).collect();
    assert!(isolated.contains(&0) && isolated.contains(&1), "found and named: {isolated:?}");
    let local = run_of(&plan(&isolating("local", PFC), ""));
    assert!(local.events.iter().filter(|it| it.kind == EventKind::Isolated).all(|it| it.value == 0));
}

#[test]
fn without_markers_flows_that_are_moved_overtake_themselves() {
    for (markers, reorders) in [("true", false), ("false", true)] {
        let keys = isolating("signal", PFC).replacen("mode", &format!("markers = {markers}, mode"), 1);
        let said = run_of(&plan(&keys, ""));
        let reordered: u64 = said.flows.iter().map(|flow| flow.reordered_frames).sum();
        assert_eq!(reordered > 0, reorders, "markers = {markers}: {reordered}");
    }
}

#[test]
fn both_classes_are_paused_where_a_host_goes_on_filling_the_congesting_one() {
    let said = run_of(&plan(&isolating("signal", PFC), ""));
    // Nothing is lost although hosts know of no second class: what they hold is all of the monitored one.
    assert!(said.flows.iter().all(|flow| flow.lost_frames == 0));
    let stops = |data: u32| {
        let stops = said.events.iter().filter(|it| it.kind == EventKind::Stop);
        stops.filter(|it| it.entity.0 % 2 == data).count()
    };
    assert!(stops(0) > 0 && stops(1) > 0, "{} {}", stops(0), stops(1));
}

/// A switch that isolates, in front of one that does not or that means other queues: three senders overrun a receiver,
/// and memory is scarce.
fn unlike(second: &str) -> Plan {
    let text = format!(
        r#"
        title = "t"
        run = {{ length = "3ms", sample = "100us" }}
        topology = {{ kind = "chain", trunk.rate = "20Gb/s", hosts = [["a1", "a2", "a3"], ["r"]] }}
        [switch]
        kind = "output-queued"
        schedule = "wrr"
        weights = [1, 1, 1, 1, 1, 1, 1, 1]
        memory = "1MB"
        isolation = {{ mode = "local", low = "5kB", high = "30kB" }}
        pause = {{ mode = "pfc", stop = "60kB", go = "40kB", both_stop = "90kB", both_go = "70kB" }}
        [switches.s2]
        isolation = {{ {second} }}
        [[traffic]]
        from = ["a1", "a2", "a3"]
        to = "r"
        "#
    );
    read_plan(&text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// On the wire an isolated frame has the priority of its flow. So a neighbour that has no such congesting queue, or
/// does not isolate that flow, stops it by pauses of the monitored class, in whichever queue it waits.
#[test]
fn nothing_is_lost_between_switches_that_mean_other_queues() {
    // The last has the queues, but hardly ever finds a flow: what comes out of the congesting queue of the first waits
    // in the monitored one there.
    for second in ["mode = \"off\"", "congesting = 3", "mode = \"local\", low = \"2MB\", high = \"2MB\""] {
        let said = run_of(&unlike(second));
        assert!(said.events.iter().any(|it| it.kind == EventKind::Isolated), "{second}: flows are isolated");
        assert!(said.flows.iter().all(|flow| flow.lost_frames == 0), "{second}");
        let delivered: u64 = said.flows.iter().map(|flow| flow.delivered_bytes).sum();
        assert!(delivered > 3_500_000, "{second}: the receiver is kept busy, {delivered}");
    }
}

#[test]
fn thresholds_that_move_with_the_memory_hold_for_isolated_flows_of_hosts_too() {
    let dynamic = "memory = \"400kB\", pause = { mode = \"pfc\", rule = \"dynamic\", alpha = \"1/8\", both_stop = \"300kB\", both_go = \"200kB\" }";
    let said = run_of(&plan(&isolating("signal", dynamic), ""));
    assert!(said.events.iter().any(|it| it.kind == EventKind::Isolated));
    assert!(said.flows.iter().all(|flow| flow.lost_frames == 0));
}

/// A flow that falls silent is free after a while, and the neighbour that was told of it is told of that too.
#[test]
fn neighbours_are_told_of_the_end_of_silent_flows_if_asked_for() {
    let silent = "[[traffic]]\nfrom = \"a3\"\nto = \"r\"\nmessage = \"100kB\"";
    for (releases, wanted) in [(true, true), (false, false)] {
        let keys = isolating("signal", PFC).replacen(
            "mode",
            &format!("flush = \"nothing\", inactivity = \"50us\", releases = {releases}, mode"),
            1,
        );
        let plan = plan(&keys, silent);
        let (kept, _) = crate::discovery::tapped(&plan);
        let changes: Vec<Change> = (kept.0.iter())
            .filter_map(|(.., octets)| match quell_proto::wire::parse(octets) {
                Ok(AnyFrame::Cim(message)) => Some(message.cim.change),
                _ => None,
            })
            .collect();
        assert!(changes.contains(&Change::Isolate));
        assert_eq!(changes.contains(&Change::Release), wanted, "{changes:?}");
    }
}

#[test]
fn what_an_isolating_port_carries_counts_for_the_queue_it_waited_in() {
    let said = run_of(&plan(&isolating("local", LOSSY), ""));
    let plan = plan(&isolating("local", LOSSY), "");
    let entity = |name: &str| {
        let catalog = plan.catalog();
        catalog.iter().find(|(_, it)| it.name == name).map(|(id, _)| id).expect("a port of that name")
    };
    let sum = |name| said.series(entity(name), Quantity::TxFrames).iter().sum::<i64>();
    assert!(sum("s2->r@1") > sum("s2->r@0"), "{} {}", sum("s2->r@1"), sum("s2->r@0"));
}

/// What may be asked of isolation, and what else goes on.
fn knobs() -> impl Strategy<Value = (String, String, bool)> {
    let flush = prop::sample::select(vec!["own", "all", "nothing"]);
    let detect = prop::sample::select(vec!["marking", "sampling"]);
    let mode = prop::sample::select(vec!["local", "signal"]);
    let pause = prop::sample::select(vec![PFC, LOSSY]);
    let schedule = prop::sample::select(vec!["strict", "wrr"]);
    (flush, detect, mode, pause, schedule, 1u32..20, 5u64..200, any::<bool>(), any::<bool>()).prop_map(
        |(flush, detect, mode, pause, schedule, table, inactivity, releases, fails)| {
            let detail = match detect {
                "marking" => "low = \"4kB\", high = \"20kB\", most = \"30%\"",
                _ => "detect = \"sampling\", set_point = \"6kB\", sample_base = \"10kB\"",
            };
            let signals = match mode {
                "signal" => format!("signal_above = \"8kB\", releases = {releases}, cim = \"ipv6\","),
                _ => String::new(),
            };
            let isolation = format!(
                "isolation = {{ mode = \"{mode}\", {detail}, {signals} table = {table}, flush = \"{flush}\", \
                 inactivity = \"{inactivity}us\" }}, {pause}"
            );
            let more = if fails {
                "[[at]]\ntime = \"700us\"\nlink = \"s2-r\"\nstate = \"down\"\nfor = \"100us\""
            } else {
                "[[traffic]]\nfrom = [\"a3\", \"v\"]\nto = [\"r\", \"w\"]\npattern = \"on-off\"\non = \"60us\"\noff = \"90us\""
            };
            (isolation, more.to_owned(), schedule == "strict")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn isolation_never_reorders_whatever_it_is_asked_for((isolation, more, strict) in knobs()) {
        let mut plan = plan(&isolation, &more);
        plan.wire_check = true;
        if strict {
            plan.switches.iter_mut().for_each(|it| it.schedule = quell_sim::scenario::plan::Schedule::Strict);
        }
        let said = run_of(&plan);
        for (flow, totals) in plan.flows.iter().zip(&said.flows) {
            prop_assert_eq!(totals.reordered_frames, 0, "{}", &flow.name);
        }
    }
}
