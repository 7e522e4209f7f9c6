//! Traffic and networks that come from files: what they come to, and what is said of wrong ones.

use super::super::plan::{FlowControl, Pattern, Plan, Source};
use super::{request, said as told};
use crate::scenario::{Request, read};
use insta::assert_snapshot;
use quell_proto::units::{Bytes, Instant};
use quell_record::{EntityKind, Message};
use std::collections::BTreeSet;

const SIZES: &str = "bytes,cumulative_probability\n0,0\n10000,0.5\n30000,1\n";
const FLOWS: &str = "start_us,from,to,bytes,priority\n7,h1,h2,2500,3\n5,h3,h1,999,3\n900000,h1,h2,1,3\n";
const TOPOLOGY: &str = "4 1 3\n3\n0 3 100Gbps 1000ns 0.000000\n1 3 100Gbps 1us 0\n2 3 25Gbps 1us 0\n";

/// The files that scenarios of these tests can name.
pub(super) fn files(name: &str) -> Option<String> {
    let text = match name {
        "sizes.csv" => SIZES,
        "rare.csv" => "bytes,cumulative_probability\n1000000000000,0\n1000000000000,1\n",
        "half.csv" => "bytes,cumulative_probability\n0,0\n10,0.5\n",
        "flows.csv" => FLOWS,
        "lost.csv" => "start_us,from,to,bytes\n0,h1,h99,1\n",
        "flow.txt" => "2\n0 1 3 100 1500 2.000001\n2 0 3 100 48 2.0\n",
        "topology.txt" => TOPOLOGY,
        "fct.csv" => "bytes,fct_ns,standalone_ns\n100,30,10\n",
        "broken.txt" => "4 1 3\n3\n0 3 100Gbps\n",
        _ => return None,
    };
    Some(text.to_owned())
}

fn scenario(topology: &str, traffic: &str) -> String {
    format!("title = \"t\"\nrun.length = \"1ms\"\n[topology]\n{topology}\n[[traffic]]\n{traffic}\n")
}

fn plan(topology: &str, traffic: &str) -> Plan {
    let read = read(request(&scenario(topology, traffic)));
    read.unwrap_or_else(|problems| panic!("{problems}")).configurations.remove(0).plan
}

fn said(topology: &str, traffic: &str) -> String {
    told(&scenario(topology, traffic))
}

const CLOS: &str = "kind = \"clos\"\nleaves = 4\nspines = 3\nhosts = 8\nlink.rate = \"100Gb/s\"";
const STAR: &str = "kind = \"star\"\nhosts = 4\nlink.rate = \"100Gb/s\"";

#[test]
fn a_clos_has_leaves_spines_and_as_many_paths() {
    let plan = plan(CLOS, "from = \"h1\"\nto = \"h32\"");
    assert_eq!((plan.hosts.len(), plan.switches.len(), plan.links.len()), (32, 7, 32 + 12));
    let routes = crate::topology::Routes::compute(&plan, &vec![true; plan.links.len()]);
    let (leaf, far) = (crate::scenario::plan::SwitchId(0), plan.flows[0].to);
    assert_eq!(routes.ports(leaf, far), [8, 9, 10], "one uplink to each spine");
}

#[test]
fn drawn_flows_are_finite_and_offer_their_load_in_every_cluster() {
    let traffic = "pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"40%\"\nclusters = 3\ncluster_size = 10\n\
                   frame = \"1048B\"\nheader = \"48B\"\nmice_below = \"1kB\"\nmice_priority = 5";
    let plan = plan(CLOS, traffic);
    let payload: f64 = plan.sources.iter().map(|it| it.message.unwrap().get() as f64 * 1000.0 / 1048.0).sum();
    let load = payload * 8.0 / (30.0 * 100e9 * 1e-3);
    assert!((load - 0.4).abs() < 0.03, "{load}");
    let senders: BTreeSet<_> = plan.flows.iter().map(|it| it.from).collect();
    assert_eq!(senders.len(), 30);
    assert!(plan.sources.windows(2).all(|it| it[0].start <= it[1].start));
    assert!(plan.sources.iter().all(|it| it.pattern == Pattern::Greedy && it.flows.len() == 1));
    let mice = plan.flows.iter().filter(|it| it.priority.get() == 5).count();
    let share = mice as f64 / plan.flows.len() as f64;
    assert!((share - 0.05).abs() < 0.02, "a twentieth is below 1 kB: {share}");
}

#[test]
fn a_draw_decides_what_is_sent() {
    let traffic =
        |draw: u32| format!("pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"10%\"\ndraw = {draw}");
    assert!(plan(CLOS, &traffic(1)) == plan(CLOS, &traffic(1)));
    assert!(plan(CLOS, &traffic(1)) != plan(CLOS, &traffic(2)));
}

#[test]
fn each_seed_draws_its_own_flows_unless_a_number_is_stated() {
    let drawn = "pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"10%\"";
    let more = "[[traffic]]\npattern = \"incasts\"\nincasts = 1\nfan_in = 3\n[[traffic]]\nfrom = \"h1\"\nto = \"h9\"";
    let own = plan(CLOS, &format!("{drawn}\n{more}"));
    assert!(own.under(1).flows == own.flows, "the plan is that of the first seed");
    let other = own.under(2);
    assert!(other.flows != own.flows);
    assert!(*other == *own.under(2));
    for plan in [&own, &*other] {
        let names: BTreeSet<_> = plan.flows.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), plan.flows.len());
        let ends = |it: &Source| plan.flows[it.flows[0].0 as usize].from == it.host;
        assert!(plan.sources.iter().all(ends));
        assert_eq!(
            plan.sources.iter().filter(|it| it.message.is_none()).count(),
            4,
            "what is not drawn stays"
        );
    }
    let same = plan(CLOS, &format!("{drawn}\ndraw = 1"));
    assert!(*same.under(2) == same);
}

#[test]
fn each_seed_draws_its_own_permutation() {
    let own = plan(CLOS, "from = \"*\"\nto = \"permutation\"\nmessage = \"10kB\"");
    assert!(*own.under(1) == own, "the plan is that of the first seed");
    let others: Vec<_> = (2..10).map(|seed| own.under(seed)).collect();
    for (seed, plan) in (2..).zip(&others) {
        assert!(**plan == *own.under(seed));
        let receivers: BTreeSet<_> = plan.flows.iter().map(|it| it.to).collect();
        assert_eq!((plan.flows.len(), receivers.len()), (own.hosts.len(), own.hosts.len()));
        assert!(plan.flows.iter().all(|it| it.from != it.to));
        let sent = |plan: &Plan| plan.sources.iter().map(|it| (it.host, it.message)).collect::<Vec<_>>();
        assert_eq!(sent(plan), sent(&own), "only the receivers differ");
    }
    let drawn: BTreeSet<Vec<_>> = others.iter().map(|it| it.flows.iter().map(|it| it.to).collect()).collect();
    assert_eq!(drawn.len(), others.len(), "no two seeds draw the same");
}

/// Priorities go by the receiver, whom each seed draws.
#[test]
fn priorities_that_only_another_seed_has_are_as_lossless_as_those_of_the_first() {
    let incast = "pattern = \"incasts\"\nincasts = 1\nfan_in = 3\nspread = [0, 1, 2, 3]";
    let pfc =
        "[switch]\nkind = \"output-queued\"\npause = { mode = \"pfc\", stop = \"20kB\", go = \"10kB\" }";
    let plan = plan(CLOS, &format!("{incast}\n{pfc}"));
    let first: BTreeSet<_> = plan.flows.iter().map(|it| it.priority).collect();
    assert_eq!(first.len(), 1, "one receiver has one priority");
    let others: BTreeSet<_> =
        (1..20).flat_map(|seed| plan.under(seed).flows.clone()).map(|it| it.priority).collect();
    assert_eq!(others.len(), 4);
    for switch in &plan.switches {
        assert!(matches!(switch.flow_control, FlowControl::Pfc { priorities: 0b1111, .. }), "{switch:?}");
    }
    assert_eq!(plan.priorities().len(), 4, "and recordings have a line for each");
}

#[test]
fn a_run_too_short_for_any_flow_says_so() {
    assert_snapshot!(said(CLOS, "pattern = \"flows\"\nsizes = \"rare.csv\"\nload = \"1%\""), @"
    a.toml:9: no flow comes in 1ms, so that nothing is sent
    hint: a longer run, a higher load or smaller flows make some
    ");
}

#[test]
fn incasts_are_greedy_for_good() {
    let plan = plan(CLOS, "pattern = \"incasts\"\nincasts = 2\nfan_in = 5");
    assert_eq!((plan.flows.len(), plan.sources.len()), (10, 10));
    let receivers: BTreeSet<_> = plan.flows.iter().map(|it| it.to).collect();
    assert_eq!(receivers.len(), 2);
    assert!(plan.sources.iter().all(|it| it.pattern == Pattern::Greedy && it.message.is_none()));
}

#[test]
fn a_trace_is_sent_as_it_lists() {
    let plan = plan(STAR, "pattern = \"trace\"\nfile = \"flows.csv\"\nframe = \"1048B\"\nheader = \"48B\"");
    let names: Vec<_> = plan.flows.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["h1->h2", "h3->h1"], "by sender; the third starts after the end");
    let sources: Vec<_> = plan.sources.iter().map(|it| (it.start.ps() / 1_000_000, it.message)).collect();
    assert_eq!(sources, [(5, Some(Bytes::new(1047))), (7, Some(Bytes::new(2 * 1048 + 548)))]);
    let flows: Vec<_> = plan.sources.iter().map(|it| it.flows[0].0).collect();
    assert_eq!(flows, [1, 0], "sources are by time");
    assert!(plan.flows.iter().all(|it| it.priority.get() == 3));
}

#[test]
fn flows_written_as_a_table_are_sent_alike() {
    let drawn =
        plan(CLOS, "pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"10%\"\nheader = \"48B\"\ndraw = 1");
    let table = drawn.flow_table();
    assert!(table.starts_with("start_ns,from,to,bytes,priority\n"), "{table}");
    let read_back = |_: &str| Some(table.clone());
    let text = scenario(CLOS, "pattern = \"trace\"\nfile = \"drawn.csv\"\nheader = \"48B\"");
    let read = read(Request { base: &read_back, ..request(&text) });
    let traced = read.unwrap_or_else(|problems| panic!("{problems}")).configurations.remove(0).plan;
    assert!(drawn.flows.len() > 100);
    assert!(traced == drawn, "what was read back differs");
}

#[test]
fn what_a_flow_takes_on_an_idle_network_is_in_the_catalogue() {
    let plan = plan(STAR, "pattern = \"trace\"\nfile = \"flows.csv\"\nframe = \"1048B\"\nheader = \"48B\"");
    let catalog = plan.catalog();
    let messages: Vec<Message> = catalog
        .entities
        .iter()
        .filter_map(|it| match it.kind {
            EntityKind::Flow { message, .. } => message,
            _ => None,
        })
        .collect();
    // Two links of 1 us and 100 Gb/s: 1047 octets pass both; 2 * 1048 + 548 pass one after the other.
    let octets = |count: u64| count * 80;
    assert_eq!(
        messages[1],
        Message { bytes: 999, start_ps: 5_000_000, ideal_ps: Some(2_000_000 + octets(2 * 1047)) }
    );
    let second = 2_000_000 + octets(3 * 1048 + 548);
    assert_eq!(messages[0], Message { bytes: 2500, start_ps: 7_000_000, ideal_ps: Some(second) });
}

#[test]
fn claims_about_messages_name_their_sizes() {
    let traffic = "pattern = \"trace\"\nfile = \"flows.csv\"\n[[expect]]\nmetric = \"p99(slowdown)\"\n";
    let said = |more: &str| said(STAR, &format!("{traffic}{more}"));
    assert_snapshot!(said("sizes = \"1kB..10kB\"\nat_most = 3"), @"
    nothing
    ");
    assert_snapshot!(said("sizes = \"10kB\""), @"
    a.toml:12: `expect.0.sizes` is `10kB`: no two sizes with `..` between them
    hint: such as `10kB..100kB`, from the first on and below the second; either may be left out
    ");
    assert_snapshot!(said("sizes = \"10kB..1kB\""), @"
    a.toml:12: `expect.0.sizes` is `10kB..1kB`: its end is not above its start
    hint: such as `10kB..100kB`, from the first on and below the second; either may be left out
    ");
    assert_snapshot!(said("sizes = \"1MB..\""), @"
    a.toml:11: `expect.0.metric` is `p99(slowdown)`, and no such flow of these sizes starts in 0ps..1ms
    hint: it is measured on flows with a `message`, or of `pattern` `flows` or `trace`
    ");
    assert_snapshot!(told(&scenario(STAR, "from = \"h1\"\nto = \"h2\"\n[[expect]]\nmetric = \"completion\"")), @"
    a.toml:11: `expect.0.metric` is `completion`, and no such flow of these sizes starts in 0ps..1ms
    hint: it is measured on flows with a `message`, or of `pattern` `flows` or `trace`
    ");
}

#[test]
fn an_experiment_of_another_simulator_is_a_network_and_a_trace() {
    let traffic = "pattern = \"trace\"\nfile = \"flow.txt\"\nzero = \"2s\"";
    let plan = plan("kind = \"file\"\nfile = \"topology.txt\"", traffic);
    assert_eq!((plan.hosts.len(), plan.switches.len(), plan.links.len()), (3, 1, 3));
    assert_eq!(plan.links[2].rate.bps(), 25_000_000_000);
    assert_eq!(plan.flows[1].name, "h2->h0");
    assert_eq!((plan.sources[0].start, plan.sources[1].start), (Instant::START, Instant::from_ps(1_000_000)));
}

#[test]
fn what_is_wrong_with_lists_is_said_with_what_would_be_right() {
    assert_snapshot!(said(CLOS, "pattern = \"flows\"\nsizes = \"sizes.csv\""), @"
    a.toml:9: `traffic.0.load` is missing
    hint: it is a share such as `85%`, more than 0% and at most 100%: Payload that each host offers on average, as a share of its link.
    ");
    assert_snapshot!(said(CLOS, "pattern = \"flows\"\nsizes = \"nowhere.csv\"\nload = \"10%\""), @"
    a.toml:11: `traffic.0.sizes` names `nowhere.csv`, which cannot be read
    hint: the name is relative to this file, or that of a built-in file such as `data/cdf/websearch_dctcp.csv`
    ");
    assert_snapshot!(said(CLOS, "pattern = \"flows\"\nsizes = \"half.csv\"\nload = \"10%\""), @"
    half.csv:3: the probabilities end at 0.5, not at 1
    hint: the last line is the largest size there is, with a probability of 1
    ");
    let crowded =
        "pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"10%\"\nclusters = 4\ncluster_size = 9";
    assert_snapshot!(said(CLOS, crowded), @"
    a.toml:13: `traffic.0.clusters` takes 36 hosts, of 32
    hint: no host is in two of them; name more, or deal fewer
    ");
    assert_snapshot!(said(CLOS, "pattern = \"incasts\"\nincasts = 2\nfan_in = 20"), @"
    a.toml:11: `traffic.0.incasts` takes 42 hosts, of 32
    hint: no host is in two of them; name more, or deal fewer
    ");
    assert_snapshot!(said(STAR, "pattern = \"trace\"\nfile = \"lost.csv\""), @"
    lost.csv:2: there is no host `h99`
    hint: hosts are those of the topology, by their names; number 3 of a `flow.txt` is `h3`
    ");
    assert_snapshot!(said(STAR, "pattern = \"trace\"\nfile = \"flows.csv\"\nzero = \"6us\""), @"
    a.toml:10: `traffic.0.zero` is 6us, and line 3 of `flows.csv` starts before
    hint: it is the time of the trace at which the run begins
    ");
    let no_room = "pattern = \"trace\"\nfile = \"flows.csv\"\nframe = \"64B\"\nheader = \"64B\"";
    assert_snapshot!(said(STAR, no_room), @"
    a.toml:11: `traffic.0.header` is 64B, and a whole frame 64B
    hint: a frame carries something of its flow
    ");
    assert_snapshot!(said(STAR, "pattern = \"trace\"\nfile = \"flows.csv\"\nto = \"h2\""), @"
    a.toml:10: `traffic.0.to` is not read while `traffic.0.pattern` is `trace`
    hint: it is read while `traffic.0.pattern` is `bernoulli`, `constant`, `greedy`, `on-off` or `poisson`
    ");
    assert_snapshot!(said("kind = \"file\"\nfile = \"broken.txt\"", "from = \"h0\"\nto = \"h1\""), @"
    broken.txt:3: `0 3 100Gbps` is no link
    hint: a link is `a b rate delay error`, such as `0 64 100Gbps 1000ns 0`
    ");
    assert_snapshot!(said("kind = \"clos\"\nhosts = 8\nspines = 2", "from = \"h1\"\nto = \"h2\""), @"
    a.toml:5: `topology.hosts` is 8 hosts a switch, of an unknown number
    hint: state `leaves`, or list the hosts of each switch by name
    ");
    let endless = "pattern = \"flows\"\nsizes = \"sizes.csv\"\nload = \"100%\"";
    assert_snapshot!(told(&scenario(CLOS, endless).replace("1ms", "10s")), @"
    a.toml:9: `traffic.0` makes about 320000000 flows
    hint: at most 1000000 can be run: a shorter run, a lower load or larger flows make fewer
    ");
}
