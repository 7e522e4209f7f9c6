//! What right files come to.

use super::super::plan::{Pattern, Scheme, TieBreak, What};
use super::super::{Request, explain, read};
use super::registry::ALL_KINDS;
use super::{RIGHT, request, right, set};
use insta::assert_snapshot;
use proptest::prelude::*;
use quell_proto::control::af_qcn;
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use quell_record::claim::{Across, Bound, ConvergingSeries, Metric, Reduce, Side};
use std::fmt::Write as _;

/// The rows of `quell check`.
fn resolved(text: &str) -> String {
    right(text).resolved.iter().fold(String::new(), |mut table, row| {
        let _ = write!(table, "{} = {} ({})", row.path, row.value, row.origin);
        let _ =
            writeln!(table, "{}", row.configurations.iter().fold(String::new(), |all, one| all + " " + one));
        table
    })
}

#[test]
fn what_probes_take_on_an_idle_path_follows_the_network() {
    let idle_way = |link: &str, at: &str| {
        let text = format!(
            "title = \"a\"\nrun = {{ length = \"10ms\" }}\nscheme.kind = \"e2cm\"\n[topology]\nkind = \"graph\"\nrouting = \
             \"first\"\nhosts = [\"h1\", \"h2\"]\nswitches = [\"s1\", \"a\", \"b\", \"c\"]\nlinks = [\n  {{ ends = [\"h1\", \"s1\"] \
             }},\n  {{ ends = [\"s1\", \"a\"] }},\n  {{ ends = [\"a\", \"c\"] }},\n  {{ ends = [\"s1\", \"b\"], delay = \"{link}\" }},\n  {{ ends \
             = [\"b\", \"c\"] }},\n  {{ ends = [\"c\", \"h2\"] }},\n]\n[[traffic]]\nfrom = \"h1\"\nto = \"h2\"\n{at}"
        );
        let scenario = right(&text);
        let Scheme::E2cm(e2cm) = scenario.configurations[0].plan.scheme else { panic!("it is E2CM") };
        e2cm.reaction.idle_way.ps() / 1_000_000
    };
    assert_eq!(idle_way("1us", ""), 30, "the least");
    assert_eq!(idle_way("1ms", ""), 30, "no frame takes the long link");
    let fails = "[[at]]\ntime = \"1ms\"\nlink = \"s1-a\"\nstate = \"down\"\n";
    let long = idle_way("1ms", fails);
    assert!((2000..2010).contains(&long), "{long} us, with a link of 1 ms there and back");
}

#[test]
fn every_key_is_resolved_with_its_origin() {
    let axis = "[axis.scheme]\nnone = { scheme.kind = \"none\" }\nqcn = {}\n";
    let text =
        RIGHT.replace("kind = \"qcn\"", "kind = \"qcn\"\npreset = \"ibm-10G\"\nprofile = \"pseudo-code\"");
    assert_snapshot!(resolved(&format!("{text}{axis}")), @"
    title = Three into one (a.toml:1)
    run.length = 10ms (a.toml:2)
    run.seed = 1 (default)
    run.repeat = 1 (default)
    run.sample = 1ms (default)
    run.flow_series = all (default)
    run.deadlock = avoid (default)
    run.discovery = before (default)
    run.overhead = 0B (default)
    topology.kind = star (a.toml:5)
    topology.routing = hash (default)
    topology.link.rate = 10Gb/s (default)
    topology.link.delay = 1us (default)
    topology.hosts = 4 (a.toml:6)
    switch.kind = voq (default)
    switch.input_memory = 150kB (a.toml:9)
    switch.pause.mode = pause (a.toml:10)
    switch.pause.rule = static (default)
    switch.pause.stop = 110kB (a.toml:10)
    switch.pause.go = 44kB (a.toml:10)
    switch.pause.quanta = 65535 (default)
    switch.schedule = strict (default)
    switch.isolation.mode = off (default)
    adapter.queueing = per-destination (default)
    adapter.schedule = strict (default)
    adapter.queue_limit = none (default)
    adapter.limiter = destination (default)
    adapter.pacer = whole-frame (default)
    adapter.pacer_depth = 0B (default)
    adapter.reaction_delay = 0s (default)
    adapter.transport.kind = none (default)
    adapter.receive.service = line (default)
    adapter.receive.buffer = none (default)
    scheme.kind = none (a.toml:25 (axis scheme: none)) none
    scheme.kind = qcn (a.toml:13) qcn
    scheme.preset = ibm-10G (a.toml:14) qcn
    scheme.profile = pseudo-code (a.toml:15) qcn
    scheme.placement = output (default) qcn
    scheme.cnm_priority = 6 (default) qcn
    scheme.cnm_frame = 64B (default) qcn
    scheme.culprit = arrival (preset ibm-10G) qcn
    scheme.keep_alive = false (preset ibm-10G) qcn
    scheme.set_point = 60kB (preset ibm-10G) qcn
    scheme.weight = 2 (preset ibm-10G) qcn
    scheme.sample_base = 150kB (preset ibm-10G) qcn
    scheme.sample_jitter = 15% (preset ibm-10G) qcn
    scheme.quantiser = sixty-threeths (preset ibm-10G) qcn
    scheme.gd = 1/128 (preset ibm-10G) qcn
    scheme.min_decrease = 50% (preset ibm-10G) qcn
    scheme.byte_reset = 150kB (preset ibm-10G) qcn
    scheme.time_reset = 10ms (preset ibm-10G) qcn
    scheme.threshold = 5 (preset ibm-10G) qcn
    scheme.ai_rate = 5Mb/s (preset ibm-10G) qcn
    scheme.hai_rate = 50Mb/s (preset ibm-10G) qcn
    scheme.min_rate = 5Mb/s (preset ibm-10G) qcn
    scheme.reload_jitter = 15% (profile pseudo-code) qcn
    scheme.half_reload_in_ai = true (profile pseudo-code) qcn
    scheme.recovery_includes_threshold = true (profile pseudo-code) qcn
    scheme.hai_excludes_threshold = true (profile pseudo-code) qcn
    scheme.freeze_timer_while_paused = false (preset ibm-10G) qcn
    traffic.0.from = h1, h2, h3 (a.toml:18)
    traffic.0.to = h4 (a.toml:19)
    traffic.0.each = false (default)
    traffic.0.multicast = false (default)
    traffic.0.priority = 0 (default)
    traffic.0.frame = 1500B (default)
    traffic.0.pattern = greedy (default)
    traffic.0.start = 0s (default)
    traffic.0.stagger = 0s (default)
    expect.0.metric = jain(throughput) (a.toml:22)
    expect.0.of = * (default)
    expect.0.across = every (default)
    expect.0.at_least = 0.9 (a.toml:23)
    ");
}

#[test]
fn a_file_lies_over_the_one_it_extends() {
    let base = RIGHT.replace("a.toml", "base.toml");
    let text = "extends = \"base.toml\"\nrun.length = \"20ms\"\nscheme.kind = \"none\"\ntitle = \"other\"";
    let base = |name: &str| (name == "base.toml").then(|| base.clone());
    let scenario = read(Request { base: &base, ..request(text) }).unwrap();
    let plan = &scenario.configurations[0].plan;
    assert_eq!((plan.length, plan.hosts.len()), (Duration::from_ms(20), 4));
    assert_eq!(plan.scheme, Scheme::None);
    let origin =
        |path: &str| scenario.resolved.iter().find(|row| row.path == path).unwrap().origin.to_string();
    assert_eq!(origin("run.length"), "a.toml:2");
    assert_eq!(origin("topology.hosts"), "base.toml:6 (extended)");
}

#[test]
fn a_flag_wins_over_everything() {
    let text = format!(
        "{RIGHT}[axis.scheme]\nnone = {{ scheme.kind = \"none\" }}\nqcn = {{}}\n[quick]\nrun.repeat = 3\n"
    );
    let scenario = set(&text, &[("scheme.kind", "none"), ("run.repeat", "7")]).unwrap();
    assert!(scenario.configurations.iter().all(|one| one.plan.scheme == Scheme::None));
    assert_eq!(scenario.repeat, 7);
    assert_snapshot!(scenario.warnings[0], @"
    --set scheme.kind=none: it overrides the axis `scheme` in every configuration
    hint: change `axis.scheme.<value>.scheme.kind` instead
    ");
    let quick = read(Request { quick: true, repeat: Some(5), seed: Some(9), ..request(&text) }).unwrap();
    assert_eq!((quick.seed, quick.repeat), (9, 5));
    let quick = read(Request { quick: true, ..request(&text) }).unwrap();
    assert_eq!(quick.repeat, 3);
}

#[test]
fn configurations_are_all_combinations_but_those_skipped() {
    let text = format!(
        "skip = [{{ hot = \"short\", scheme = [\"none\"] }}]\n{}\n[axis.scheme]\nnone = {{ scheme.kind = \"none\" }}\n\
         qcn = {{}}\n[axis.hot]\nshort = {{ parameters.end = \"8ms\" }}\nlong = {{}}\n",
        RIGHT.replace("at_least = 0.9", "at_least = 0.9\nover = \"1ms..\"\nwhen = { hot = \"long\" }").replace(
            "[scheme]",
            "[parameters]\nend = \"9500us\"\n[[at]]\ntime = \"$end\"\nport = \"s1->h4\"\nservice = \"1Gb/s\"\n[scheme]"
        )
    );
    let scenario = right(&text);
    let names: Vec<&str> = scenario.configurations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["none/long", "qcn/short", "qcn/long"]);
    let at = |index: usize| scenario.configurations[index].plan.changes[0].at;
    assert_eq!((at(0), at(1)), (Instant::from_ps(9_500_000_000), Instant::from_ps(8_000_000_000)));
    assert_eq!(scenario.claims[0].configurations, ["none/long", "qcn/long"]);
}

#[test]
fn a_claim_that_a_parameter_makes_different_becomes_several() {
    let text = RIGHT.replace("at_least = 0.9", "at_least = 0.9\nover = \"$late\"").replace(
        "[topology]",
        "[parameters]\nlate = \"5ms..\"\n[axis.hot]\nshort = {}\nlong = { parameters.late = \"7ms..\" }\n[topology]",
    );
    let claims = right(&text).claims;
    assert_eq!(claims.len(), 2);
    assert_eq!(claims[0].configurations, ["short"]);
    assert_eq!(claims[1].measure.over[0].from_ps, 7_000_000_000);
}

#[test]
fn a_claim_says_what_is_measured_and_how_it_is_judged() {
    let text = RIGHT.replace(
        "[[expect]]",
        r#"[[expect]]
metric = "max(convergence(limit))"
of = "h1->h4"
over = ["1ms..2500us", "3ms.."]
target = "2.5Gb/s"
band = "20%"
across = "quantile 0.9"
between = ["1ms", "5ms"]

[[expect]]
claim = "half of it"
metric = "queue"
of = "s1->h4"
near = "33kB"
within = "25%"
across = "median"

[[expect]]"#,
    );
    let scenario = right(&text);
    let claim = &scenario.claims[0];
    assert_eq!(claim.text, "max(convergence(limit)) of h1->h4 in [1ms, 5ms]");
    assert_eq!(claim.measure.reduce, Reduce::Max);
    let metric =
        Metric::Convergence { series: ConvergingSeries::Limit, target: 2.5e9, within: 0.2, side: Side::Both };
    assert_eq!(claim.measure.metric, metric);
    assert_eq!((claim.across, claim.bound), (Across::Quantile(0.9), Some(Bound::Between(0.001, 0.005))));
    assert_eq!(claim.measure.over.len(), 2);
    assert_eq!(scenario.claims[1].bound, Some(Bound::Near { target: 33_000.0, within: 0.25 }));
    assert_eq!(scenario.claims[1].line, 28);
    // Only the one edge is off the grid of 1 ms.
    assert_eq!(scenario.configurations[0].plan.cuts, [Instant::from_ps(2_500_000_000)]);
}

#[test]
fn one_configuration_is_compared_with_another() {
    let axes = "[axis.scheme]\nnone = { scheme.kind = \"none\" }\nqcn = {}\n[axis.hot]\na = {}\nb = {}\n";
    let claim = "relative_to = { scheme = \"none\" }\nwhen = { scheme = \"qcn\" }\n";
    let claims = right(&format!("{RIGHT}{claim}{axes}")).claims;
    let against: Vec<_> = claims.iter().map(|claim| claim.measure.relative_to.clone().unwrap()).collect();
    assert_eq!(against, ["none/a", "none/b"]);
}

#[test]
fn traffic_makes_flows_and_sources() {
    let plan = |traffic: &str| {
        let text = RIGHT.replace("from = [\"h1\", \"h2\", \"h3\"]\nto = \"h4\"", traffic);
        right(&text).configurations[0].plan.clone()
    };
    let uniform = plan("from = \"*\"\nto = \"any\"\npattern = \"bernoulli\"\nload = \"85%\"");
    assert_eq!((uniform.flows.len(), uniform.sources.len()), (12, 4));
    let slot = Duration::from_ns(1200);
    assert_eq!(uniform.sources[0].pattern, Pattern::Bernoulli { slot, load_ppm: 850_000 });
    let each =
        plan("from = \"h1\"\nto = [\"h2\", \"h3\"]\neach = true\npattern = \"constant\"\noffer = \"3Gb/s\"");
    assert_eq!(each.sources.len(), 2);
    assert_eq!(each.sources[1].pattern, Pattern::Constant { interval: Duration::from_us(4) });
    let on = plan("from = \"*\"\nto = \"+2\"\nstagger = \"37ns\"\nstagger_within = \"60ns\"");
    let names: Vec<&str> = on.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["h1->h3", "h2->h4", "h3->h1", "h4->h2"]);
    let starts: Vec<u64> = on.sources.iter().map(|source| source.start.ps() / 1000).collect();
    assert_eq!(starts, [0, 37, 14, 51]);
    let twice = plan("from = \"h1\"\nto = \"h4\"\n[[traffic]]\nfrom = \"h1\"\nto = \"h4\"\npriority = 3");
    let names: Vec<&str> = twice.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["h1->h4", "h1->h4#2"]);
    let all = plan("from = \"*\"\nto = \"h4\"\npattern = \"on-off\"\non = \"1ms\"\noff = \"2ms\"");
    assert_eq!(all.sources.len(), 3);
    assert!(matches!(all.sources[0].pattern, Pattern::OnOff { interval: None, .. }));
}

#[test]
fn overhead_counts_in_a_load_and_not_in_an_offer() {
    let interval = |traffic: &str| {
        let text = RIGHT.replace("length = \"10ms\"", "length = \"10ms\", overhead = \"20B\"").replace(
            "to = \"h4\"",
            &format!("to = \"h4\"\npattern = \"constant\"\nframe = \"1480B\"\n{traffic}"),
        );
        match right(&text).configurations[0].plan.sources[0].pattern {
            Pattern::Constant { interval } => interval,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(interval("load = \"100%\""), Duration::from_ns(1200));
    assert_eq!(interval("offer = \"1Gb/s\""), Duration::from_ns(11_840));
}

#[test]
fn changes_come_and_go_in_order_of_time() {
    let text = format!(
        "{RIGHT}[[at]]\ntime = \"5ms\"\nlink = \"h4-s1\"\nstate = \"down\"\nfor = \"1ms\"\n[[at]]\ntime = \"1ms\"\nhost = \"h4\"\n\
         service = \"1Gb/s\"\n[[at]]\ntime = \"2ms\"\nport = \"s1->h4\"\nservice = \"line\"\n[[at]]\ntime = \"3ms\"\n\
         flow = \"h1->h4\"\nstate = \"start\"\nfor = \"4ms\"\n"
    );
    let plan = &right(&text).configurations[0].plan;
    let times: Vec<u64> = plan.changes.iter().map(|change| change.at.ps() / 1_000_000_000).collect();
    assert_eq!(times, [1, 2, 5, 6]);
    assert!(matches!(plan.changes[0].what, What::ReceiveService { rate: Some(_), .. }));
    assert!(matches!(plan.changes[1].what, What::PortService { rate: None, .. }));
    assert!(matches!(plan.changes[3].what, What::Link { up: true, .. }));
    let ms = |ms: u64| Instant::from_ps(ms * 1_000_000_000);
    assert_eq!((plan.sources[0].start, plan.sources[0].stop), (ms(3), ms(7)));
}

#[test]
fn a_switch_of_its_own_keeps_what_it_does_not_state() {
    let text = RIGHT.replace(
        "kind = \"star\"\nhosts = 4",
        "kind = \"chain\"\nhosts = [[\"h1\", \"h2\"], [\"h3\", \"h4\"]]",
    );
    let text = format!("{text}[switches.s2]\ninput_memory = \"300kB\"\n");
    let plan = &right(&text).configurations[0].plan;
    assert_eq!(plan.switches[0].flow_control, plan.switches[1].flow_control);
    let memory = |index: usize| {
        plan.catalog()
            .entities
            .iter()
            .filter_map(|entity| match &entity.kind {
                quell_record::EntityKind::Input { node, capacity_bytes, .. }
                    if *node == plan.switches[index].name =>
                {
                    *capacity_bytes
                }
                _ => None,
            })
            .next()
    };
    assert_eq!((memory(0), memory(1)), (Some(150_000), Some(300_000)));
}

#[test]
fn presets_and_profiles_give_way_to_what_is_stated() {
    let qcn = |with: &str| {
        let text = RIGHT.replace("kind = \"qcn\"", &format!("kind = \"qcn\"\n{with}"));
        right(&text).configurations[0].plan.scheme.qcn().expect("a scheme")
    };
    assert_eq!(qcn("").congestion.set_point, Bytes::new(26_000));
    assert_eq!(qcn("preset = \"slides-10G\"").reaction.min_rate, Rate::from_mbps(10));
    assert_eq!(qcn("profile = \"pseudo-code\"").congestion.set_point, Bytes::new(33_000));
    let both = qcn("preset = \"ibm-100G\"\nprofile = \"pseudo-code\"");
    assert_eq!((both.reaction.time_reset, both.reaction.half_reload_in_ai), (Duration::from_ms(2), true));
    let stated = qcn("preset = \"slides-10G\"\ngd = \"1/256\"\nweight = \"1/2\"\nhalf_reload_in_ai = false");
    assert_eq!((stated.reaction.gd_log2, stated.congestion.weight_log2), (8, -1));
    assert!(!stated.reaction.half_reload_in_ai);
}

#[test]
fn entities_are_named_and_numbered_as_the_recording_knows_them() {
    let text = RIGHT
        .replace(
            "kind = \"star\"\nhosts = 4",
            "kind = \"graph\"\nhosts = [\"h1\", \"h2\", \"h3\", \"h4\"]\nswitches = [\"s1\", \"s2\"]\nrouting = \"first\"\n\
             links = [{ ends = [\"h1\", \"s1\"] }, { ends = [\"h2\", \"s1\"] }, { ends = [\"h3\", \"s1\"] }, \
             { ends = [\"s2\", \"h4\"] }, { ends = [\"s1\", \"s2\"] }, { ends = [\"s2\", \"s1\"] }]",
        )
        .replace("to = \"h4\"", "to = \"h4\"\n[[traffic]]\nfrom = \"h4\"\nto = \"h1\"\npriority = 3\nname = \"back\"");
    let plan = &right(&text).configurations[0].plan;
    assert_eq!(plan.tie_break, TieBreak::First);
    let catalog = plan.catalog();
    let name = |id: usize| catalog.entities[id].name.as_str();
    let (links, priorities) = (6, 2);
    assert_eq!(name(0), "h1->s1@0");
    assert_eq!(name((2 * 3 + 1) * priorities + 1), "h4->s2@3");
    assert_eq!(name((2 * 5 + 1) * priorities), "s1->s2#2@0");
    assert_eq!(name(2 * links * priorities + (2 * 4 + 1) * priorities), "s2<-s1@0");
    assert_eq!(name(4 * links * priorities), "h1->h4");
    assert_eq!(name(4 * links * priorities + 3), "back");
    assert_eq!(catalog.entities.len(), 4 * links * priorities + 4);
}

#[test]
fn what_builds_on_qcn_has_its_keys_and_some_of_its_own() {
    let scheme = |kind: &str, with: &str| {
        let text = RIGHT.replace("kind = \"qcn\"", &format!("kind = \"{kind}\"\n{with}"));
        right(&text).configurations[0].plan.scheme
    };
    let af = |interval, mix_num, mix_den| af_qcn::Config { interval, mix_num, mix_den };
    let plain = scheme("qcn", "").qcn().expect("QCN");
    assert_eq!(scheme("af-qcn", ""), Scheme::AfQcn(plain, af(Duration::from_ms(1), 50, 100)));
    let slow = scheme("af-qcn", "interval = \"2ms\"\nmix = \"1/4\"");
    assert_eq!(slow, Scheme::AfQcn(plain, af(Duration::from_ms(2), 1, 4)));
    assert_eq!(scheme("fqcn", ""), Scheme::Fqcn(plain));
    let gentle = scheme("fqcn", "gd = \"1/256\"").qcn().expect("FQCN builds on QCN");
    assert_eq!(gentle.reaction.gd_log2, 8);
    let hayashi = scheme("qcn", "byte_cycle = \"240us\"").qcn().expect("QCN");
    assert_eq!(
        (plain.reaction.byte_cycle, hayashi.reaction.byte_cycle),
        (None, Some(Duration::from_us(240)))
    );
}

#[test]
fn explain_knows_a_key_by_both_of_its_names() {
    assert_snapshot!(explain("scheme.qcn.weight").unwrap(), @"
    scheme.qcn.weight
      How much the queue's growth counts against its length (cpW).
      in a file   [scheme] weight
      value       a power of two, 1/1024 to 1024
      default     by preset; 2 in standard-10G
      read while  kind is qcn, af-qcn or fqcn
      source      802.1Q 32 (802.1Qau), IEEE8021-CN-MIB
    ");
    let all = explain("scheme.weight").expect("a key");
    let own = ["scheme.qcn.weight", "scheme.ecm.weight", "scheme.qcn2007.weight"];
    assert_eq!(all, own.map(|path| explain(path).expect("a key")).join("\n\n"));
    assert_eq!(explain("scheme.quantiser"), explain("scheme.qcn.quantiser"));
    assert_snapshot!(explain("scheme.wieght").unwrap_err(), @"
    there is no key `scheme.wieght`
    hint: is it `scheme.weight`?
    ");
    assert_snapshot!(explain("weight").unwrap_err(), @"
    there is no key `weight`
    hint: is it `scheme.ecm.weight`, `scheme.qcn.weight` or `scheme.qcn2007.weight`?
    ");
    assert!(explain("scheme").unwrap().contains("scheme.qcn.gd"));
    let hosts = explain("topology.hosts").unwrap();
    assert!(
        ["star", "chain", "tree", "graph"]
            .iter()
            .all(|kind| hosts.contains(&format!("topology.{kind}.hosts")))
    );
    assert_snapshot!(explain("adapter.receive.pause").unwrap(), @"
    adapter.receive.pause
      When a host stops its switch.
      in a file   [adapter] receive.pause
      value       a table
      default     none: a host never stops its switch

    adapter.receive.pause.stop    A host whose receive buffer holds more than this stops its switch.
    adapter.receive.pause.go      A host whose receive buffer holds less than this lets its switch go again.
    adapter.receive.pause.quanta  The pause asked for at a time, in units of 512 bit times.
    ");
    let pause = explain("switch.pause").unwrap();
    assert!(
        ["switch.pause.mode", "switch.pause.pfc.priorities"].iter().all(|key| pause.contains(key)),
        "{pause}"
    );
    assert!(explain("switch.pause.go").unwrap().contains("below `stop`"));
    assert!(explain("settled").unwrap().contains("a metric of claims"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_edit_of_a_file_makes_the_reader_panic(
        at in 0usize..RIGHT.len(),
        gone in 0usize..12,
        put in "[ -~\n]{0,8}|\"|\\[\\[|\\$x|999999999999999999999|-1|0|nan|\\{\\}|\\.|µ|\u{0}",
    ) {
        let mut text = RIGHT.to_owned();
        let end = (at + gone).min(text.len());
        text.replace_range(at..end, &put);
        let _ = read(request(&text));
    }

    #[test]
    fn no_edit_of_any_kind_of_file_makes_the_reader_panic(
        file in 0usize..ALL_KINDS.len(),
        edits in prop::collection::vec((0usize..4000, 0usize..12, "[ -~\n]{0,6}|[0-9]{1,20}(kB|ms|Gb/s|%)|\"|\\$x|-1|0"), 1..4),
    ) {
        let mut text = ALL_KINDS[file].to_owned();
        for (at, gone, put) in edits {
            let at = at % text.len().max(1);
            let end = (at + gone).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, &put);
            }
        }
        let _ = read(request(&text));
    }

    #[test]
    fn no_number_makes_the_reader_panic(
        file in 0usize..ALL_KINDS.len(),
        which in 0usize..60,
        number in "[0-9]{1,20}(\\.[0-9]{1,3})?",
    ) {
        let text = ALL_KINDS[file];
        let starts: Vec<usize> = (1..text.len())
            .filter(|&at| text.as_bytes()[at].is_ascii_digit() && !text.as_bytes()[at - 1].is_ascii_digit())
            .collect();
        let at = starts[which % starts.len()];
        let end = at + text[at..].find(|letter: char| !letter.is_ascii_digit()).unwrap();
        let _ = read(request(&format!("{}{number}{}", &text[..at], &text[end..])));
    }

    #[test]
    fn no_flag_makes_the_reader_panic(key in 0usize..300, value in "[ -~]{0,12}|[0-9]{1,25}(kB|ms|Gb/s|%)?|1/[0-9]{1,22}") {
        let keys = super::super::keys();
        let path = keys[key % keys.len()].path();
        let path = path.replacen("traffic.", "traffic.0.", 1).replacen("expect.", "expect.0.", 1);
        let _ = set(RIGHT, &[(path.as_str(), value.as_str())]);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = read(request(&text));
    }
}

#[test]
fn a_fair_rate_is_read_in_the_configurations_it_is_about() {
    let text = format!(
        "{RIGHT}\n[axis.speed]\nfast = {{}}\nslow = {{ topology.link.rate = \"1Gb/s\" }}\n\
         [[fair]]\nof = \"*->h4\"\nrate = \"3333333333b/s\"\nover = \"5ms..\"\nsince = \"1500us\"\nwhen = {{ speed = \"fast\" }}\n"
    );
    let scenario = right(&text);
    let [fair] = &scenario.fair[..] else { panic!("{:?}", scenario.fair) };
    assert_eq!((fair.rate_bps, fair.since_ps, fair.span_ps), (3_333_333_333, 1_500_000_000, 10_000_000_000));
    assert_eq!((fair.over.from_ps, fair.over.to_ps), (5_000_000_000, 10_000_000_000));
    assert_eq!(fair.configurations, ["fast"]);
    let cuts = |index: usize| scenario.configurations[index].plan.cuts.clone();
    assert_eq!(cuts(0), [Instant::from_ps(1_500_000_000)], "convergence is timed from a sample on");
    assert_eq!(cuts(1), []);
}
