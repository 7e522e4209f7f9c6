//! One wrong file each, and the message word for word.

use super::super::{Problems, Text, check_text};
use super::{RIGHT, and, instead, said, set, warned};
use crate::topology::waiting::tests::ring;
use insta::assert_snapshot;

#[test]
fn nothing_is_said_of_a_right_file() {
    assert_snapshot!(said(RIGHT), @"nothing");
}

#[test]
fn what_is_not_toml_is_shown_by_line() {
    assert_snapshot!(instead("hosts = 4", "hosts = = 4"), @"
    a.toml:6: extra `=`, expected nothing
    a.toml:6: unexpected key or value, expected newline, `#`
    ");
    assert_snapshot!(said("\u{0}\u{1}[["), @"
    a.toml:1: invalid unquoted key, expected letters, numbers, `-`, `_`
    a.toml:1: key with no value, expected `=`
    ");
}

#[test]
fn an_unknown_key_is_refused_with_what_is_near() {
    assert_snapshot!(instead("length =", "lenght ="), @"
    a.toml:2: `run.length` is missing
    hint: it is a time: How much time is simulated.
    a.toml:2: there is no key `run.lenght`
    hint: is it `run.length`?
    ");
    assert_snapshot!(and("[swich]"), @"
    a.toml:22: there is no key `swich`
    hint: is it `switch`?
    ");
    assert_snapshot!(instead("hosts = 4", "hosts = 4\nset_point = \"1kB\""), @"
    a.toml:7: there is no key `topology.set_point`
    hint: there is `scheme.set_point` or `switch.isolation.set_point`
    ");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\nqcn.weight = 2"), @"
    a.toml:14: there is no key `scheme.qcn`
    hint: what is particular to a kind stands beside it, such as `scheme.preset`
    ");
}

/// A rack with this in its topology.
fn rack(topology: &str) -> String {
    format!(
        "title = \"t\"\nrun.length = \"1ms\"\nswitch.output.buffer = \"150kB\"\n\
         traffic = [{{ from = \"h1\", to = \"h2\" }}]\n[topology]\nkind = \"rack\"\n{topology}\n"
    )
}

#[test]
fn a_fabric_whose_parts_cannot_work_is_refused_with_the_arithmetic() {
    assert_snapshot!(said(&rack("")), @"nothing");
    assert_snapshot!(said(&rack("spines = 0")), @"
    a.toml:7: `topology.spines` is 0: a leaf takes in 50Gb/s by 5 ports and has no way to pass them on
    hint: 3 uplinks of 25Gb/s carry as much
    ");
    assert_snapshot!(said(&rack("racks = 5")), @"
    a.toml:7: 5 racks of 32 leaves are 160 leaves, and a spine has 136 ports for them
    hint: every leaf takes a port of every spine: state more `spine_ports`, or fewer leaves
    ");
    assert_snapshot!(said(&rack("cell = \"2kB\"\nspine.input_buffer = \"2kB\"")), @"
    a.toml:8: `topology.spine.input_buffer` is 2kB, and a cell of 2kB and its header of 8B are 2008B
    hint: no full cell would ever fit
    ");
    assert_snapshot!(said(&rack("cell = \"2kB\"\nspine.output_buffer = \"1kB\"")), @"
    a.toml:8: `topology.spine.output_buffer` is 1kB, and a cell of 2kB and its header of 8B are 2008B
    hint: no full cell would ever fit
    ");
    assert_snapshot!(said(&rack("racks = 100\nleaves = 100\nports = 64\nspine_ports = 20000")), @"
    a.toml:8: 10000 leaves with 64 ports each are 640000 hosts
    hint: hosts and leaves of a fabric are at most 65535 together
    ");
    assert_snapshot!(said(&rack("").replace("switch.output.buffer = \"150kB\"", "switch.input_memory = \"1MB\"")), @"
    a.toml:3: the leaves of a fabric have no output buffers
    hint: a frame crosses when its output has room: state `switch.output.buffer`
    ");
    assert_snapshot!(said(&rack("").replace("switch.output.buffer = \"150kB\"", "switch.kind = \"output-queued\"")), @"
    a.toml:3: the leaves of a fabric queue at their inputs
    hint: set `switch.kind` to `voq`, and state `switch.output.buffer`
    ");
}

#[test]
fn a_fabric_that_blocks_is_allowed_and_says_how_much() {
    assert_snapshot!(warned(&rack("spines = 1")), @"
    a.toml:7: the fabric blocks: a leaf takes in 50Gb/s by 5 ports and passes on 24.2Gb/s by 1 uplink, headers of cells left out, 48.5%
    hint: 3 uplinks of 25Gb/s do not block
    ");
    assert_snapshot!(warned(&rack("spines = 20\nlink.rate = \"100Gb/s\"")), @"
    a.toml:7: the fabric blocks: a leaf takes in 500Gb/s by 5 ports and passes on 484.8Gb/s by 20 uplinks, headers of cells left out, 97.0%
    hint: 21 uplinks of 25Gb/s do not block
    ");
}

#[test]
fn a_leaf_of_a_dragonfly_that_blocks_is_warned_of() {
    let dragonfly = |uplink: &str| {
        rack(&format!("groups = 2\nrouters = 2\nports = 4\nuplink.rate = \"{uplink}\""))
            .replace("\"rack\"", "\"dragonfly\"")
    };
    assert_snapshot!(warned(&dragonfly("40Gb/s")), @"");
    assert_snapshot!(warned(&dragonfly("25Gb/s")), @"
    a.toml:10: a leaf blocks: it takes in 40Gb/s by 4 ports and has one uplink of 25Gb/s
    hint: what is to block are the links between routers
    ");
}

#[test]
fn a_memory_that_is_too_small_for_every_leaf_is_said_once() {
    let small = |memory: &str| {
        rack(&format!(
            "[switch]\ninput_memory = \"{memory}\"\noutput.buffer = \"150kB\"\npause = {{ mode = \"pause\", stop = \"110kB\", go = \"44kB\" }}"
        ))
        .replace("switch.output.buffer = \"150kB\"\n", "")
    };
    for memory in ["1kB", "111kB"] {
        let said = said(&small(memory));
        assert_eq!(said.matches("a.toml:").count(), 1, "{said}");
    }
}

#[test]
fn a_key_that_the_form_of_a_fabric_never_reads_is_refused() {
    let latency = |form: &str| {
        rack(form).replace(
            "switch.output.buffer = \"150kB\"",
            "switch.output = { buffer = \"150kB\", latency = \"1us\" }",
        )
    };
    assert_snapshot!(said(&latency("")), @"
    a.toml:3: `switch.output.latency` is not read while `topology.form` is `cells`
    hint: a request, its grant, two uplinks and a router take about 869ns: they are `topology.request_latency`, `grant_latency` and what else is stated there
    ");
    assert_snapshot!(said(&latency("form = \"switch\"")), @"nothing");
    assert_snapshot!(said(&rack("form = \"switch\"\ncell = \"128B\"\nspine.latency = \"1us\"")), @"
    a.toml:8: `topology.cell` is not read while `topology.form` is `switch`
    hint: one switch has no cells: what it takes to cross is `switch.output.latency`
    a.toml:9: `topology.spine.latency` is not read while `topology.form` is `switch`
    hint: one switch has no cells: what it takes to cross is `switch.output.latency`
    ");
    // What chooses another form from outside cannot take keys away.
    let scenario = set(&latency("form = \"switch\""), &[("topology.form", "cells")]).unwrap();
    assert_snapshot!(Problems(scenario.warnings).to_string(), @"
    a.toml:3: `switch.output.latency` is not read while `topology.form` is `cells`
    hint: a request, its grant, two uplinks and a router take about 869ns: they are `topology.request_latency`, `grant_latency` and what else is stated there
    ");
    let forms = "[axis.form]\ncells = { topology.form = \"cells\" }\nswitch = { topology.form = \"switch\" }";
    assert_snapshot!(said(&latency(forms)), @"nothing");
    assert_snapshot!(warned(&latency(forms)), @"");
}

#[test]
fn a_bare_number_is_told_its_unit() {
    assert_snapshot!(instead("\"10ms\"", "10"), @r#"
    a.toml:2: `run.length` is `10`: expected a time such as 15ms, found a number without a unit
    hint: say of what, such as "10ms": ps, ns, us, ms or s
    "#);
    assert_snapshot!(instead("\"10ms\"", "\"10\""), @r#"
    a.toml:2: `run.length` is `10`: expected a time such as 15ms, found a number without a unit
    hint: say of what, such as "10ms": ps, ns, us, ms or s
    "#);
}

#[test]
fn a_wrong_unit_is_told_the_right_one() {
    assert_snapshot!(instead("\"10ms\"", "\"10Gb/s\""), @"a.toml:2: `run.length` is `10Gb/s`: expected a time such as 15ms, found a rate");
    assert_snapshot!(instead("\"150kB\"", "\"150KB\""), @"
    a.toml:9: `switch.input_memory` is `150KB`: expected a size such as 150kB, or `none`, found the unknown unit `KB`
    hint: write kB for 1000 octets or KiB for 1024
    ");
}

#[test]
fn a_key_that_its_kind_never_reads_is_refused() {
    assert_snapshot!(instead("kind = \"qcn\"", "gd = \"1/64\""), @"
    a.toml:13: `scheme.gd` is not read while `scheme.kind` is `none`
    hint: it is read while `scheme.kind` is `af-qcn`, `fqcn`, `qcn`, `qcn-probe` or `qcn2007`
    ");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"fqcn\"\nculprit = \"arrival\"\nmix = \"50%\""), @"
    a.toml:14: `scheme.culprit` is not read while `scheme.kind` is `fqcn`
    hint: it is read while `scheme.kind` is `af-qcn` or `qcn`
    a.toml:15: `scheme.mix` is not read while `scheme.kind` is `fqcn`
    hint: it is read while `scheme.kind` is `af-qcn`
    ");
    assert_snapshot!(instead("hosts = 4", "hosts = 4\nk = 4"), @"
    a.toml:7: `topology.k` is not read while `topology.kind` is `star`
    hint: it is read while `topology.kind` is `fat-tree`
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\non = \"1ms\""), @"
    a.toml:18: `traffic.0.on` is not read while `traffic.0.pattern` is `greedy`
    hint: it is read while `traffic.0.pattern` is `on-off`
    ");
}

#[test]
fn a_key_that_one_configuration_reads_is_no_mistake_in_another() {
    let axis = "[axis.scheme]\nnone = { scheme.kind = \"none\" }\nqcn = { scheme.gd = \"1/64\" }";
    assert_snapshot!(and(axis), @"nothing");
    let axis = "[axis.scheme]\nnone = { scheme.kind = \"none\", scheme.gd = \"1/64\" }\nqcn = {}";
    assert_snapshot!(and(axis), @"
    a.toml:23: `scheme.gd` is not read while `scheme.kind` is `none` (in configuration `none`)
    hint: it is read while `scheme.kind` is `af-qcn`, `fqcn`, `qcn`, `qcn-probe` or `qcn2007`
    ");
}

#[test]
fn a_wrong_word_is_told_the_right_ones() {
    assert_snapshot!(instead("\"star\"", "\"stra\""), @"
    a.toml:5: `topology.kind` is `stra`: expected `star`, `chain`, `tree`, `fat-tree`, `n-tree`, `clos`, `graph`, `file`, `rack` or `dragonfly`
    hint: is it `star`?
    ");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\npreset = \"slides\""), @"a.toml:14: `scheme.preset` is `slides`: expected `standard-10G`, `slides-10G`, `netfpga-1G`, `ibm-10G`, `ibm-100G` or `crisan-2011`");
}

#[test]
fn a_value_out_of_range_is_told_the_range() {
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\nset_point = \"50B\""), @"a.toml:14: `scheme.set_point` is `50B`: expected at least 100B");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\nweight = 3"), @"a.toml:14: `scheme.weight` is `3`: expected a power of two, 1/1024 to 1024");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\nmin_decrease = \"0%\""), @"a.toml:14: `scheme.min_decrease` is `0%`: expected a whole percentage, 1% to 100%");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\npriority = 8"), @"a.toml:18: `traffic.0.priority` is `8`: expected a whole number, 0 to 7");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nframe = \"63B\""), @"a.toml:18: `traffic.0.frame` is `63B`: expected at least 64B");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nframe = \"17kB\""), @"a.toml:18: `traffic.0.frame` is `17kB`: expected at most 16384B");
}

#[test]
fn a_missing_key_is_asked_for() {
    assert_snapshot!(instead("run = { length = \"10ms\" }", ""), @"
    a.toml: `run.length` is missing
    hint: it is a time: How much time is simulated.
    ");
    assert_snapshot!(instead("to = \"h4\"", ""), @"
    a.toml:15: `traffic.0.to` is missing
    hint: it is a name or a list of names: The receivers: a host; `any` for all others; a list; `+4` for the host four places on, counted round; or `permutation` for one other host each, which every seed draws for itself. With several, each frame draws one.
    ");
    assert_snapshot!(said("title = \"t\"\nrun.length = \"1ms\"\ntopology = { kind = \"star\", hosts = 2 }"), @"
    a.toml: nothing is sent
    hint: write a [[traffic]] with `from` and `to`
    ");
}

#[test]
fn thresholds_stand_in_order_and_leave_headroom() {
    assert_snapshot!(instead("\"44kB\"", "\"120kB\""), @"
    a.toml:10: `switch.pause.go` is 120kB, not below `stop` at 110kB
    hint: traffic resumes below `go`, so it lies under `stop`
    ");
    assert_snapshot!(instead("\"110kB\"", "\"147kB\""), @"
    a.toml:10: `switch.pause.stop` is 147kB, and 5624B more can arrive before the peer stops: 152624B in `switch.input_memory` of 150kB
    hint: stop at 144376B or below, or give it 152624B; on the link h4-s1, 2500B are on the way there and back, and two frames of 1500B and the stop itself are sent
    ");
    assert_snapshot!(instead("\"150kB\"", "\"4kB\""), @"
    a.toml:10: `switch.pause.stop` is 110kB, and 5624B more can arrive before the peer stops: 115624B in `switch.input_memory` of 4kB
    hint: give it at least 115624B; on the link h4-s1, 2500B are on the way there and back, and two frames of 1500B and the stop itself are sent
    ");
    let receive = "[adapter]\nreceive = { buffer = \"20kB\", pause = { stop = \"18kB\", go = \"8kB\" } }";
    assert_snapshot!(and(receive), @"
    a.toml:23: `adapter.receive.pause.stop` is 18kB, and 5624B more can arrive before the peer stops: 23624B in `adapter.receive.buffer` of 20kB
    hint: stop at 14376B or below, or give it 23624B; on the link h4-s1, 2500B are on the way there and back, and two frames of 1500B and the stop itself are sent
    ");
}

#[test]
fn a_buffer_holds_a_frame() {
    assert_snapshot!(instead("input_memory = \"150kB\"\npause", "input_memory = \"1kB\"\nweights"), @"
    a.toml:9: `switch.input_memory` is 1kB, less than a frame of 1500B
    hint: no frame would ever fit
    a.toml:10: `switch.weights` is not read while `switch.schedule` is `strict`
    hint: it is read while `switch.schedule` is `drr` or `wrr`
    ");
    assert_snapshot!(instead("input_memory = \"150kB\"", "input_memory = \"1MB\"\noutput = { buffer = \"1kB\" }"), @"
    a.toml:10: `switch.output.buffer` is 1kB, less than a frame of 1500B
    hint: no frame would ever fit
    ");
}

#[test]
fn a_flow_leads_to_a_host_that_exists() {
    assert_snapshot!(instead("to = \"h4\"", "to = \"h9\""), @"
    a.toml:17: `traffic.0.to`: there is no host `h9`
    hint: is it `h1`, `h2` or `h3`?
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"s1\""), @"
    a.toml:17: `traffic.0.to`: `s1` is a switch, not a host
    hint: is it `h1`?
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h1\""), @"a.toml:17: `traffic.0`: `h1` would send to itself");
    assert_snapshot!(instead("to = \"h4\"", "to = \"+8\""), @"
    a.toml:17: `traffic.0.to` is `+8`: no host is that far on
    hint: there are 4 hosts: write +1 to +3
    ");
}

#[test]
fn a_load_is_at_most_the_link() {
    let paced = |with: &str| instead("to = \"h4\"", &format!("to = \"h4\"\npattern = \"constant\"\n{with}"));
    assert_snapshot!(paced("load = \"120%\""), @"a.toml:19: `traffic.0.load` is `120%`: expected more than 0% and at most 100%");
    assert_snapshot!(paced("offer = \"12Gb/s\""), @"
    a.toml:19: `traffic.0.offer` asks for 120% of the host's link of 10Gb/s
    hint: a frame of 1500B takes 1200ns on the wire, and one would come every 1us
    ");
    assert_snapshot!(paced("offer = \"1Gb/s\"\nload = \"10%\""), @"
    a.toml:15: `traffic.0` states 2 of `offer`, `load` and `interval`
    hint: a constant source takes exactly one of them
    ");
    assert_snapshot!(paced(""), @"
    a.toml:15: `traffic.0` states 0 of `offer`, `load` and `interval`
    hint: a constant source takes exactly one of them
    ");
}

#[test]
fn a_source_begins_in_the_run_and_before_it_ends() {
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nstart = \"10ms\""), @"a.toml:18: `traffic.0.start` is 10ms, and the run ends at 10ms");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nstart = \"5ms\"\nstop = \"4ms\""), @"a.toml:19: `traffic.0.stop` is 4ms, not after `start` at 5ms");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nstagger = \"6ms\""), @"
    a.toml:18: source 3 of `traffic.0` would begin when it has ended
    hint: state a shorter `stagger`, or `stagger_within`
    ");
}

#[test]
fn a_graph_is_connected_and_its_hosts_have_one_link() {
    let graph = |links: &str| {
        let old = "kind = \"star\"\nhosts = 4";
        let hosts = "hosts = [\"h1\", \"h2\", \"h3\", \"h4\"]\nswitches = [\"s1\", \"s2\"]";
        instead(old, &format!("kind = \"graph\"\n{hosts}\nlinks = [{links}]"))
    };
    let four = "{ ends = [\"h1\", \"s1\"] }, { ends = [\"h2\", \"s1\"] }, { ends = [\"h3\", \"s2\"] }, \
                { ends = [\"h4\", \"s2\"] }";
    assert_snapshot!(graph(four), @"
    a.toml:8: there is no way from `h1` to `h3`
    hint: the network must be connected
    ");
    assert_snapshot!(graph(&format!("{four}, {{ ends = [\"h1\", \"s2\"] }}")), @"
    a.toml:8: the host `h1` has 2 links
    hint: a host has exactly one link; what forwards is a switch
    ");
    assert_snapshot!(graph("{ ends = [\"h1\", \"s1\"] }"), @"
    a.toml:8: the host `h2` has no link
    hint: a host has exactly one link; what forwards is a switch
    a.toml:8: the host `h3` has no link
    hint: a host has exactly one link; what forwards is a switch
    a.toml:8: the host `h4` has no link
    hint: a host has exactly one link; what forwards is a switch
    ");
    assert_snapshot!(graph(&format!("{four}, {{ ends = [\"s1\", \"s3\"] }}")), @"
    a.toml:8: there is no node `s3`
    hint: is it `h3`, `s1` or `s2`?
    ");
    assert_snapshot!(graph(&format!("{four}, {{ ends = [\"s1\", \"s1\"] }}")), @"a.toml:8: `topology.links.4` joins `s1` to itself");
    assert_snapshot!(graph(&format!("{four}, {{ ends = [\"s1\", \"s2\"], rate = \"0b/s\" }}")), @"a.toml:8: `topology.links.4.rate` is `0b/s`: expected more than zero");
}

#[test]
fn names_are_unique_and_plain() {
    assert_snapshot!(instead("hosts = 4", "hosts = [\"h1\", \"h2\", \"h3\", \"h4\", \"h1\"]"), @"a.toml:6: two nodes are named `h1`");
    assert_snapshot!(instead("hosts = 4", "hosts = [\"h1\", \"h2\", \"h3\", \"h4\", \"a b\"]"), @"
    a.toml:6: `a b` cannot name a node
    hint: names are made of letters, digits, `_` and `-`
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nname = \"f1\""), @"
    a.toml:18: more than one flow is named `f1`
    hint: a name is for one flow; leave it out to name flows by their ends
    ");
}

#[test]
fn a_network_is_of_a_size_that_can_be_run() {
    assert_snapshot!(instead("hosts = 4", "hosts = 70000"), @"
    a.toml:6: the switch `s1` has 70000 links
    hint: a switch has at most 65535
    ");
    assert_snapshot!(instead("hosts = 4", "hosts = 200000"), @"a.toml:6: `topology.hosts` is `200000`: expected a whole number, 1 to 100000");
    let all = RIGHT.replace("hosts = 4", "hosts = 1500").replace("[\"h1\", \"h2\", \"h3\"]", "\"*\"");
    assert_snapshot!(said(&all.replace("to = \"h4\"", "to = \"any\"")), @"
    a.toml:15: `traffic.0` makes more than 1000000 flows
    hint: name fewer hosts, or let each send to a few
    ");
}

#[test]
fn a_fat_tree_has_even_switches() {
    assert_snapshot!(instead("kind = \"star\"\nhosts = 4", "kind = \"fat-tree\"\nk = 3"), @"
    a.toml:6: `topology.k` is 3, an odd number
    hint: half of a switch's ports lead up and half down
    ");
}

#[test]
fn samples_and_windows_lie_in_the_run() {
    assert_snapshot!(instead("length = \"10ms\"", "length = \"10ms\", sample = \"20ms\""), @"
    a.toml:2: `run.sample` is 20ms, and the run only 10ms
    hint: a hundredth of the length is usual
    ");
    assert_snapshot!(and("over = \"5ms..20ms\""), @"
    a.toml:22: `expect.0.over` is 5ms..20ms, outside of the run
    hint: the run is 0s..10ms
    ");
    assert_snapshot!(and("over = \"5ms..2ms\""), @"a.toml:22: `expect.0.over` is `5ms..2ms`: the window ends before it begins");
    assert_snapshot!(and("over = \"5ms\""), @"a.toml:22: `expect.0.over` is `5ms`: expected a window such as 100ms..200ms");
}

#[test]
fn a_claim_is_about_something_that_is_there() {
    assert_snapshot!(and("of = \"h1->h3\""), @"
    a.toml:22: `expect.0.of`: no flow or port matches `h1->h3`
    hint: is it `h1->h4` or `s1->h3`?
    ");
    assert_snapshot!(instead("jain(throughput)", "jain(thruput)"), @"
    a.toml:20: `expect.0.metric` is `jain(thruput)`: there is no metric `thruput`
    hint: the metrics are: throughput, send-rate, demand-share, delivered-share, throughput-cv, arrival-rate, arrival-cv, queue, queue-peak, queue-low, queue-deviation, period, … (41 in all)
    ");
    assert_snapshot!(instead("jain(throughput)", "utilisation\"\nof = \"flow:h1->h4"), @"a.toml:21: `expect.0.of`: this is not measured on a flow, only on a port");
    assert_snapshot!(instead("at_least = 0.9", "at_least = \"2Gb/s\""), @"a.toml:21: `expect.0.at_least` is `2Gb/s`: expected a share such as 85% or 1/128, found a rate");
    assert_snapshot!(instead("metric = \"jain(throughput)\"\nat_least = 0.9", "metric = \"queue\"\nat_most = 9"), @r#"
    a.toml:21: `expect.0.at_most` is `9`: expected a size such as 150kB, found a number without a unit
    hint: say of what, such as "9kB": B, kB (1000), KiB (1024), MB, MiB, GB or GiB
    "#);
    assert_snapshot!(and("at_most = 1"), @"
    a.toml:19: `expect.0` has several bounds: at_least, at_most
    hint: a claim has one; `between = [a, b]` has two ends
    ");
    assert_snapshot!(instead("at_least = 0.9", "between = [2, 1]"), @"a.toml:21: `expect.0.between` is `[2, 1]`: the first is above the second");
    assert_snapshot!(and("across = \"most\""), @"
    a.toml:22: `expect.0.across` is `most`
    hint: it is `every`, `median`, `mean`, `quantile 0.9` or `fraction 0.25`, shares from 0 to 1
    ");
    assert_snapshot!(instead("at_least = 0.9", "across = \"fraction 0.5\""), @"
    a.toml:21: `expect.0.across`: a fraction of what?
    hint: it is the fraction of runs that satisfy a bound, and there is none
    ");
    assert_snapshot!(and("relative_to = \"none\""), @"
    a.toml:22: `expect.0.relative_to`: there is no configuration `none`
    hint: the configurations are: default
    ");
    assert_snapshot!(and("when = { scheme = \"none\" }"), @"a.toml:22: `expect.0.when`: there is no axis `scheme`");
    assert_snapshot!(and("band = \"20%\""), @"
    a.toml:22: `expect.0.band` is not read while `expect.0.metric` is `throughput`
    hint: it is read while `expect.0.metric` is `convergence` or `settled`
    ");
    assert_snapshot!(instead("jain(throughput)", "convergence(limit)"), @"
    a.toml:19: `expect.0.band` is missing
    hint: it is a share such as `85%`, more than 0% and at most 100%: How far from the target still counts.
    a.toml:19: `expect.0.target` is missing
    hint: it is a value in the unit of the metric: The value to converge to, reach or settle at.
    ");
    assert_snapshot!(and("[[figure]]\nkind = \"limit\"\nof = \"s1->h4\""), @"
    a.toml:24: `figure.0.of`: no flow matches `s1->h4`
    hint: is it `h1->h4`?
    ");
}

#[test]
fn a_change_names_one_thing_that_is_there() {
    let at = |what: &str| and(&format!("[[at]]\ntime = \"1ms\"\n{what}"));
    assert_snapshot!(at("port = \"s1->h5\"\nservice = \"1Gb/s\""), @"
    a.toml:24: there is no port `s1->h5`
    hint: is it `s1->h1`, `s1->h2` or `s1->h3`?
    ");
    assert_snapshot!(at("port = \"s1->h4\""), @"
    a.toml:22: `at.0.service` is missing
    hint: it is a rate, at least 1kb/s: The new rate of service; `line` is the link's.
    ");
    assert_snapshot!(at("port = \"s1->h4\"\nservice = \"20Gb/s\""), @"a.toml:25: `at.0.service` is 20Gb/s, more than the link's 10Gb/s");
    assert_snapshot!(at("host = \"s1\"\nservice = \"1Gb/s\""), @"
    a.toml:24: there is no host `s1`
    hint: is it `h1`?
    ");
    assert_snapshot!(at("link = \"s1-h5\"\nstate = \"down\""), @"
    a.toml:24: there is no link `s1-h5`
    hint: is it `s1-h1`, `s1-h2` or `s1-h3`?
    ");
    assert_snapshot!(at("link = \"s1-h4\"\nstate = \"stop\""), @"a.toml:25: `at.0.state` is `stop`: a link goes `up` or `down`");
    assert_snapshot!(at("flow = \"h1->h2\"\nstate = \"stop\""), @"
    a.toml:24: there is no flow `h1->h2`
    hint: is it `h1->h4`?
    ");
    assert_snapshot!(at("port = \"s1->h4\"\nlink = \"s1-h4\"\nservice = \"1Gb/s\"\nstate = \"up\""), @"
    a.toml:22: `at.0` names 2 of `port`, `host`, `link`, `flow`
    hint: it names exactly one thing that changes
    ");
    assert_snapshot!(at("service = \"1Gb/s\""), @"
    a.toml:22: `at.0` names 0 of `port`, `host`, `link`, `flow`
    hint: it names exactly one thing that changes
    a.toml:24: `at.0.service` is not read without `at.0.port` or `at.0.host`
    hint: The new rate of service; `line` is the link's.
    ");
    assert_snapshot!(and("[[at]]\ntime = \"10ms\"\nlink = \"s1-h4\"\nstate = \"down\""), @"a.toml:23: `at.0.time` is 10ms, and the run ends at 10ms");
}

#[test]
fn notifications_have_a_priority_of_their_own() {
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\npriority = 6"), @"
    a.toml:18: `scheme.cnm_priority` is 6, which `h1->h4` uses for data
    hint: notifications travel at a priority of their own (802.1Q 32)
    ");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\ncnm_priority = 0"), @"
    a.toml:14: `scheme.cnm_priority` is 0, which `h1->h4` uses for data
    hint: notifications travel at a priority of their own (802.1Q 32)
    ");
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn\"\nmin_rate = \"20Gb/s\""), @"
    a.toml:14: `scheme.min_rate` is 20Gb/s, above a host's link of 10Gb/s
    hint: a limiter could never cut anything
    ");
}

#[test]
fn pause_and_pfc_do_not_meet_on_a_link() {
    let receive = "[adapter.receive]\nbuffer = \"1MB\"\npause = { stop = \"500kB\", go = \"400kB\" }";
    let text = RIGHT.replacen("mode = \"pause\"", "mode = \"pfc\"", 1);
    assert_snapshot!(said(&format!("{text}{receive}")), @"
    a.toml:10: `h1` uses PAUSE and `s1` PFC on their link
    hint: PAUSE and PFC are not both enabled on a port (802.1Qbb); a host's `receive.pause` is PAUSE
    ");
}

#[test]
fn weights_are_eight() {
    let weights = "schedule = \"wrr\"\nweights = [1, 2]\ninput_memory";
    assert_snapshot!(instead("input_memory", weights), @"
    a.toml:10: `switch.weights` has 2 entries
    hint: there is one for each of the eight priorities, from 0
    ");
    let weights = "schedule = \"drr\"\nweights = [1, 2]\ninput_memory";
    assert_snapshot!(instead("input_memory", weights), @r#"
    a.toml:10: `switch.weights` is `[1, 2]`: expected a size such as 150kB, found a number without a unit
    hint: say of what, such as "1kB": B, kB (1000), KiB (1024), MB, MiB, GB or GiB
    "#);
}

#[test]
fn an_override_names_a_switch_that_is_there() {
    assert_snapshot!(and("[switches.s2]\nkind = \"voq\""), @"
    a.toml:22: there is no switch `s2`
    hint: is it `s1`?
    ");
    assert_snapshot!(and("[switches.s1]\nkind = \"voq\"\nbuffer = \"1kB\""), @"
    a.toml:24: there is no key `switches.s1.buffer`
    hint: there is `adapter.receive.buffer` or `switch.output.buffer`
    ");
}

#[test]
fn parameters_are_known_and_used() {
    assert_snapshot!(instead("\"10ms\"", "\"$long\""), @"
    a.toml:2: `$long` is not among the parameters
    hint: state it: [parameters] long = …
    ");
    assert_snapshot!(instead("[topology]", "[parameters]\nlong = \"1ms\"\n[topology]"), @r#"
    a.toml:5: nothing reads `parameters.long`
    hint: its value is used as "$long"
    "#);
    assert_snapshot!(instead("\"10ms\" }", "\"$long\" }\n[parameters]\nlong = \"1kB\""), @"a.toml:4: `run.length` is `1kB`: expected a time such as 15ms, found a size");
    assert_snapshot!(instead("\"10ms\" }", "\"$long\" }\n[parameters]\nlong = \"$short\""), @"
    a.toml:4: `parameters.long` is `$short`, itself a parameter
    hint: state the value
    ");
}

#[test]
fn axes_have_tables_for_values() {
    assert_snapshot!(and("[axis]\nscheme = 3"), @"a.toml:23: `axis.scheme` is a number, not a table");
    assert_snapshot!(and("[axis.scheme]\nnone = \"none\""), @r#"
    a.toml:23: `axis.scheme.none` is a text, not a table
    hint: write none = { scheme.kind = "qcn" }, or {} to change nothing
    "#);
    assert_snapshot!(and("[axis.scheme]\n\"a/b\" = {}"), @"
    a.toml:23: `a/b` cannot name a value of `axis.scheme`
    hint: names of configurations are made of these, with `/` between
    ");
    assert_snapshot!(and("[axis.scheme]"), @"a.toml:22: `axis.scheme` has no values");
    assert_snapshot!(said(&format!("skip = [{{ scheme = \"qcn\" }}]\n{RIGHT}")), @"a.toml:1: `skip`: there is no axis `scheme`");
    let axis = "[axis.scheme]\na = {}\nb = { run.seed = 7 }";
    assert_snapshot!(and(axis), @"
    a.toml: `run.seed` and `run.repeat` differ between configurations
    hint: all configurations run the same seeds, so that they can be compared
    ");
    let axis = "[axis.hot]\na = {}\nb = { traffic.0.to = \"h7\" }";
    assert_snapshot!(and(axis), @"
    a.toml:24: `traffic.0.to`: there is no host `h7` (in configuration `b`)
    hint: is it `h1`, `h2` or `h3`?
    ");
}

#[test]
fn what_quick_would_choke_on_is_wrong_already() {
    assert_snapshot!(and("[quick]\nrun.length = \"1GB\""), @"a.toml:23: `run.length` is `1GB`: expected a time such as 15ms, found a size");
}

#[test]
fn a_flag_is_named_where_it_is_wrong() {
    let flag = |path, value| set(RIGHT, &[(path, value)]).unwrap_err().to_string();
    assert_snapshot!(flag("scheme.gdd", "1/256"), @"
    --set scheme.gdd=1/256: there is no key `scheme.gdd`
    hint: is it `scheme.gd`?
    ");
    assert_snapshot!(flag("scheme.gd", "1/100"), @"--set scheme.gd=1/100: `scheme.gd` is `1/100`: expected a power of two, 1/2147483648 to 1");
    assert_snapshot!(flag("run.length", "5"), @r#"
    --set run.length=5: `run.length` is `5`: expected a time such as 15ms, found a number without a unit
    hint: say of what, such as "5ms": ps, ns, us, ms or s
    "#);
    assert_snapshot!(flag("at.3.time", "5ms"), @"
    --set at.3.time=5ms: `at` is `{ 3 = { time = 5ms } }`: the list has no such entry
    hint: entries are counted from 0; a number changes one that is there
    ");
}

#[test]
fn a_key_that_is_there_twice_is_named() {
    assert_snapshot!(instead("hosts = 4", "hosts = 4\nhosts = 5"), @"
    a.toml:7: `hosts` is stated twice
    hint: keep one of them; what belongs to a table stands under one heading
    ");
    assert_snapshot!(and("[topology]"), @"
    a.toml:22: `topology` is stated twice
    hint: keep one of them; what belongs to a table stands under one heading
    ");
}

#[test]
fn what_is_no_table_is_not_told_that_its_keys_are_missing() {
    let said = |path: &str| set(RIGHT, &[(path, "3")]).unwrap_err().to_string();
    assert_snapshot!(said("run"), @"--set run=3: `run` is `3`: expected a table, found a number");
    assert_snapshot!(said("topology"), @"--set topology=3: `topology` is `3`: expected a table, found a number");
    assert_snapshot!(said("traffic"), @"
    --set traffic=3: `traffic` is `3`: expected a list of tables, found a number
    hint: write each as [[traffic]], or a list of { … }
    ");
}

#[test]
fn a_number_beyond_what_a_file_can_state_is_told_the_largest() {
    assert_snapshot!(instead("hosts = 4", "hosts = 9223372036854775808"), @"
    a.toml:6: 9223372036854775808 is too large
    hint: a whole number, such as a seed, is at most 9223372036854775807
    ");
    let wrong = set(RIGHT, &[("run.seed", "9223372036854775808")]).unwrap_err();
    assert_snapshot!(wrong.to_string(), @"
    --set run.seed=9223372036854775808: `run.seed` is `9223372036854775808`: it is too large
    hint: a whole number, such as a seed, is at most 9223372036854775807
    ");
    let largest = set(RIGHT, &[("run.seed", "9223372036854775807")]).unwrap();
    assert_eq!(largest.seed, 9_223_372_036_854_775_807);
}

#[test]
fn many_problems_are_shown_at_once_and_by_line() {
    let text = RIGHT.replace("10ms", "10").replace("hosts = 4", "hosts = \"four\"").replace("44kB", "120kB");
    assert_snapshot!(said(&text), @r#"
    a.toml:2: `run.length` is `10`: expected a time such as 15ms, found a number without a unit
    hint: say of what, such as "10ms": ps, ns, us, ms or s
    a.toml:10: `switch.pause.go` is 120kB, not below `stop` at 110kB
    hint: traffic resumes below `go`, so it lies under `stop`
    a.toml:16: `traffic.0.from`: there is no host `h1`
    hint: the hosts are: four
    a.toml:16: `traffic.0.from`: there is no host `h2`
    hint: the hosts are: four
    a.toml:16: `traffic.0.from`: there is no host `h3`
    hint: the hosts are: four
    "#);
}

#[test]
fn what_is_no_text_or_too_long_is_no_scenario() {
    let refused = |octets: &[u8]| check_text("a.toml", octets, Text::Scenario).unwrap_err().to_string();
    assert_snapshot!(refused(&vec![b'#'; 4_000_001]), @"
    a.toml: 4000001 octets, more than the 4000000 a scenario may have
    hint: is it a recording, or a capture?
    ");
    assert_snapshot!(refused(b"title\n\xff\xfe"), @"
    a.toml:2: not a text in UTF-8
    hint: a scenario is a TOML file
    ");
    assert_snapshot!(refused(b"PAR1\0\0"), @"
    a.toml:1: a zero octet: not a text
    hint: a scenario is a TOML file
    ");
    assert_eq!(check_text("a.toml", RIGHT.as_bytes(), Text::Scenario), Ok(RIGHT));
    // A trace of a hundred thousand flows is longer than any scenario.
    assert!(check_text("flows.csv", &vec![b'1'; 4_000_001], Text::Data).is_ok());
    assert_snapshot!(check_text("flows.csv", b"1\n\xff", Text::Data).unwrap_err(), @"
    flows.csv:2: not a text in UTF-8
    hint: what a scenario names is a table of words and numbers
    ");
}

#[test]
fn a_fair_rate_that_cannot_be_compared_with_is_refused() {
    let fair = |keys: &str| and(&format!("[[fair]]\n{keys}"));
    assert_snapshot!(fair("of = \"*->h4\"\nrate = \"1Gb/s\"\nover = \"5ms..10ms\""), @"nothing");
    assert_snapshot!(fair("of = \"*->h5\"\nrate = \"1Gb/s\""), @"
    a.toml:23: `fair.0.of`: no flow matches `*->h5`
    hint: flows and ports are named `a->b`, inputs `a<-b`; `*` stands for any letters
    ");
    assert_snapshot!(fair("of = \"s1->h4\"\nrate = \"1Gb/s\""), @"
    a.toml:23: `fair.0.of`: no flow matches `s1->h4`
    hint: is it `h1->h4`?
    ");
    assert_snapshot!(fair("of = \"*\"\nrate = 1"), @r#"
    a.toml:24: `fair.0.rate` is `1`: expected a rate such as 10Gb/s, found a number without a unit
    hint: say of what, such as "1Gb/s": b/s, kb/s, Mb/s, Gb/s or Tb/s
    "#);
    assert_snapshot!(fair("of = \"*\"\nrate = \"1Gb/s\"\nover = \"5ms..11ms\""), @"
    a.toml:25: `fair.0.over` is 5ms..11ms, outside of the run
    hint: the run is 0s..10ms
    ");
    assert_snapshot!(fair("of = \"*\"\nrate = \"1Gb/s\"\nsince = \"10ms\""), @"
    a.toml:25: `fair.0.since` is 10ms, at or after the end of `over`
    hint: convergence is timed from `since` to the end of `over`
    ");
    assert_snapshot!(fair("of = \"h1->h4\"\nrate = \"1Gb/s\"\n[[fair]]\nof = \"*\"\nrate = \"2Gb/s\""), @"
    a.toml:26: `fair.1.of`: `h1->h4` has a fair rate already
    hint: each flow has one; `!` takes flows away from a pattern
    ");
}

#[test]
fn what_another_key_makes_idle_is_refused() {
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nstagger_within = \"1us\""), @"
    a.toml:18: `traffic.0.stagger_within` is not read without `traffic.0.stagger`
    hint: Staggers are taken modulo this.
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nstagger = \"1us\"\nstagger_within = \"2us\""), @"nothing");
    let qcn = |keys: &str| instead("kind = \"qcn\"", &format!("kind = \"qcn\"\n{keys}"));
    assert_snapshot!(qcn("keep_alive = true"), @"
    a.toml:14: `scheme.keep_alive` is not read while `scheme.placement` is `output`
    hint: it is read while `scheme.placement` is `both` or `input`
    ");
    assert_snapshot!(qcn("keep_alive = true\nplacement = \"input\""), @"nothing");
    assert_snapshot!(qcn("keep_alive = true\nplacement = \"both\""), @"nothing");
    assert_snapshot!(qcn("byte_reset = \"75kB\"\nbyte_cycle = \"240us\""), @"
    a.toml:14: `scheme.byte_reset` is not read beside `scheme.byte_cycle`
    hint: `byte_cycle` takes its place: state one of the two
    ");
    assert_snapshot!(qcn("byte_cycle = \"240us\""), @"nothing");
}

#[test]
fn an_idle_way_that_is_too_short_for_a_path_is_warned_of() {
    let e2cm = |keys: &str| RIGHT.replace("kind = \"qcn\"", &format!("kind = \"e2cm\"\n{keys}"));
    assert_snapshot!(warned(&e2cm("idle_way = \"1us\"")), @"
    a.toml:14: `scheme.idle_way` is 1us, and a probe takes 5us on the longest idle path
    hint: the rest is taken for a queue, and a limiter there may never come back; `auto` follows the network
    ");
    assert_eq!(warned(&e2cm("idle_way = \"1ms\"")), "");
    assert_eq!(warned(&e2cm("")), "");
}

#[test]
fn a_least_sampling_above_the_most_is_refused() {
    let of = |kind: &str| instead("kind = \"qcn\"", &format!("kind = \"{kind}\"\nleast_sampling = \"20%\""));
    assert_snapshot!(of("qcn2007"), @"
    a.toml:14: `scheme.least_sampling` is above `scheme.most_sampling`
    hint: after the worst feedback frames are sampled more often than after good news, not less
    ");
    assert_eq!(of("qcn-probe"), of("qcn2007"));
    assert_snapshot!(instead("kind = \"qcn\"", "kind = \"qcn2007\"\nleast_sampling = \"10%\""), @"nothing");
}

#[test]
fn a_control_character_is_refused_where_it_is_printed() {
    assert_snapshot!(instead("Three into one", r"Three\u001b[31m into one"), @"
    a.toml:1: `title` has the control character U+001B
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(instead("Three into one", r"Three\ninto one"), @"
    a.toml:1: `title` has the control character U+000A
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(instead("run =", "shows = \"p.\\u0007 1\"\nabout = \"a\\tb\\nc\\u0000\"\nrun ="), @"
    a.toml:2: `shows` has the control character U+0007
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    a.toml:3: `about` has the control character U+0000
    hint: line breaks and tabs alone are allowed
    ");
    assert_snapshot!(instead("run =", "about = \"\"\"one\n\ttwo\r\nthree\"\"\"\nrun ="), @"nothing");
    assert_snapshot!(instead("hosts = 4", r#"hosts = ["h1", "h2", "h3", "h4", "h\u007f"]"#), @"
    a.toml:6: `topology.hosts.4` has the control character U+007F
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(instead("to = \"h4\"", "to = \"h4\"\nname = \"f\\r\""), @"
    a.toml:18: `traffic.0.name` has the control character U+000D
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(and(r#"claim = "all \u0008 share""#), @"
    a.toml:22: `expect.0.claim` has the control character U+0008
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(and("[[figure]]\nkind = \"queue\"\ntitle = \"a\\u0085b\""), @"
    a.toml:24: `figure.0.title` has the control character U+0085
    hint: it is printed as it is, so it is made of what can be seen; `about` may have several lines
    ");
    assert_snapshot!(and("[axis.\"sch\\u001beme\"]\nnone = { scheme.kind = \"none\" }"), @r#"
    a.toml:22: the name `axis.sch\u{1b}eme` has the control character U+001B
    hint: names are printed as they are, so they are made of what can be seen
    "#);
    assert_snapshot!(and("[parameters]\n\"a\\nb\" = \"1ms\""), @r#"
    a.toml:23: the name `parameters.a\u{a}b` has the control character U+000A
    hint: names are printed as they are, so they are made of what can be seen
    "#);
    assert_snapshot!(and("[switches.\"s\\t1\"]\ninput_memory = \"1MB\""), @r#"
    a.toml:22: the name `switches.s\u{9}1` has the control character U+0009
    hint: names are printed as they are, so they are made of what can be seen
    "#);
}

#[test]
fn thresholds_that_follow_the_free_memory_leave_headroom() {
    let dynamic = |memory: &str, alpha: &str| {
        let switch =
            format!("{memory}\npause = {{ mode = \"pause\", rule = \"dynamic\", alpha = \"{alpha}\" }}");
        let old = "input_memory = \"150kB\"\npause = { mode = \"pause\", stop = \"110kB\", go = \"44kB\" }";
        RIGHT.replacen(old, &switch, 1)
    };
    let shared = "kind = \"output-queued\"\nmemory = ";
    assert_snapshot!(said(&dynamic("input_memory = \"5kB\"", "1")), @"
    a.toml:9: `switch.input_memory` is 5kB, and 5624B more can arrive at an input before the peers stop: nothing is left
    hint: give it 11248B, so that 5624B are free at the threshold
    ");
    assert_snapshot!(said(&dynamic(&format!("{shared}\"20kB\""), "1")), @"
    a.toml:10: `switch.memory` is 20kB, and 22496B more can arrive at its inputs before the peers stop: nothing is left
    hint: give it 112480B, so that 22496B are free at the threshold
    ");
    assert_snapshot!(warned(&dynamic("input_memory = \"10kB\"", "1")), @"
    a.toml:10: `switch.pause.alpha` leaves 5kB of 10kB free with an input at the threshold, and 5624B more can arrive before the peers stop
    hint: an `alpha` of 1/2 leaves enough, or a `switch.input_memory` of 11248B
    ");
    assert_snapshot!(warned(&dynamic("input_memory = \"11248B\"", "1")), @"");
    assert_snapshot!(warned(&dynamic(&format!("{shared}\"100kB\""), "1")), @"
    a.toml:11: `switch.pause.alpha` leaves 20kB of 100kB free with its inputs at the threshold, and 22496B more can arrive before the peers stop
    hint: an `alpha` of 1/2 leaves enough, or a `switch.memory` of 112480B
    ");
    assert_snapshot!(warned(&dynamic(&format!("{shared}\"112480B\""), "1")), @"");
    assert_snapshot!(warned(&dynamic(&format!("{shared}\"100kB\""), "1/2")), @"");
}

#[test]
fn pauses_that_nothing_obeys_are_refused() {
    let pause = |priorities: &str| {
        let old = "pause = { mode = \"pause\", stop = \"110kB\", go = \"44kB\" }";
        let new = format!("pause = {{ mode = \"pfc\", stop = \"110kB\", go = \"44kB\"{priorities} }}");
        instead(old, &new)
    };
    assert_snapshot!(pause(", priorities = []"), @"
    a.toml:10: `switch.pause.priorities` names none, so that nothing is lossless
    hint: name some, or set `pause.mode` to `off`
    ");
    assert_snapshot!(pause(""), @"nothing");
    // Without a flow none is in use; what is wrong is the flow.
    let nobody = RIGHT.replacen("to = \"h4\"", "to = \"h9\"", 1);
    assert!(!said(&nobody).contains("lossless"));
}

#[test]
fn traffic_that_may_be_lost_needs_a_limit_where_it_shares_a_memory() {
    let mixed = |limit: &str, priorities: &str| {
        let switch = format!(
            "kind = \"output-queued\"\nmemory = \"1MB\"\nqueue_limit = \"{limit}\"\n{}pause = {{ mode = \"pfc\", \
             stop = \"20kB\", go = \"10kB\", priorities = {priorities} }}",
            if limit == "dynamic" { "alpha = 1\n" } else { "" },
        );
        let old = "input_memory = \"150kB\"\npause = { mode = \"pause\", stop = \"110kB\", go = \"44kB\" }";
        let text = RIGHT.replacen(old, &switch, 1);
        format!("{text}[[traffic]]\nfrom = \"h1\"\nto = \"h4\"\npriority = 3\n")
    };
    assert_snapshot!(warned(&mixed("none", "[0]")), @"
    a.toml:10: `switch.memory` is 1MB for all, and nothing stops priority 3: it can take the whole of it from the lossless ones
    hint: a `queue_limit`, a size or `dynamic`, bounds what each of its queues takes
    ");
    assert_snapshot!(warned(&mixed("none", "[0, 3]")), @"");
    assert_snapshot!(warned(&mixed("50kB", "[0]")), @"
    a.toml:11: `switch.queue_limit` holds for lossless queues too, and one of them may hold 102496B before all peers stop
    hint: a limit of 102496B drops nothing of them, and still bounds what may be lost
    ");
    assert_snapshot!(warned(&mixed("dynamic", "[0]")), @"
    a.toml:11: `switch.queue_limit` holds for lossless queues too, and one of them may hold 102496B before all peers stop
    hint: a limit of 102496B drops nothing of them, and still bounds what may be lost
    ");
    assert_snapshot!(warned(&mixed("102496B", "[0]")), @"");
    assert_snapshot!(warned(&mixed("50kB", "[0, 3]")), @"
    a.toml:11: `switch.queue_limit` drops what `pause.mode` promises to keep
    hint: a lossless switch has `queue_limit` `none`
    ");
}

#[test]
fn pauses_that_can_close_a_circle_are_warned_of() {
    let pausing = |topology: &str, to: &str| {
        format!(
            "title = \"t\"\nrun.length = \"1ms\"\n\
             switch = {{ input_memory = \"1MB\", pause = {{ mode = \"pfc\", stop = \"100kB\", go = \"50kB\" }} }}\n\
             traffic = [{{ from = \"*\", to = \"{to}\" }}]\n[topology]\n{topology}\n"
        )
    };
    assert_snapshot!(warned(&pausing(&ring(5), "+2")), @"
    a.toml:3: frames of priority 0 can wait for each other in a circle: s1->s2, s2->s3, s3->s4, s4->s5, s5->s1
    hint: if all of them are paused at once, they stay so; routes without a circle cannot, nor a priority that may be dropped; where it is meant, `run.deadlock` says so
    ");
    assert_snapshot!(warned(&pausing(&ring(5), "+1")), @"");
    let clos = pausing("kind = \"clos\"\nleaves = 4\nspines = 2\nhosts = 1", "any");
    let fails = |link: &str| format!("[[at]]\ntime = \"500us\"\nlink = \"{link}\"\nstate = \"down\"\n");
    assert_snapshot!(warned(&format!("{clos}{}", fails("l1-s1"))), @"");
    assert_snapshot!(warned(&format!("{clos}{}{}", fails("l1-s1"), fails("l2-s2"))), @"
    a.toml:3: frames of priority 0 can wait for each other in a circle from 500us on: l3->s1, s1->l4, l4->s2, s2->l3
    hint: if all of them are paused at once, they stay so; routes without a circle cannot, nor a priority that may be dropped; where it is meant, `run.deadlock` says so
    a.toml:3: frames of priority 0 can wait for each other in a circle from 500us on: s1->l3, l3->s2, s2->l4, l4->s1
    hint: if all of them are paused at once, they stay so; routes without a circle cannot, nor a priority that may be dropped; where it is meant, `run.deadlock` says so
    ");
}

#[test]
fn flows_are_compared_with_one_queue() {
    assert_snapshot!(and("[[expect]]\nmetric = \"correlation\"\nwith = \"s1->*\""), @"
    a.toml:24: `expect.1.with` is 4 queues
    hint: flows are compared with one: name a port
    ");
    assert_snapshot!(and("[[expect]]\nmetric = \"correlation\"\nwith = \"s9->h1\""), @"
    a.toml:24: `expect.1.with`: no port or input matches `s9->h1`
    hint: is it `s1->h1`?
    ");
    assert_snapshot!(and("[[expect]]\nmetric = \"queue\"\nwith = \"s1->h4\""), @"
    a.toml:24: `expect.1.with` is not read while `expect.1.metric` is `queue`
    hint: it is read while `expect.1.metric` is `correlation` or `correlation-rising`
    ");
    assert_snapshot!(and("[[figure]]\nkind = \"scatter\""), @"
    a.toml:22: `figure.0.with` is missing
    hint: it is text: The port or input whose queue the flows are compared with.
    ");
    assert_snapshot!(and("[[figure]]\nkind = \"cross-correlation\"\nwith = \"s1->*\""), @"
    a.toml:24: `figure.0.with` is 4 queues
    hint: flows are compared with one: name a port
    ");
    assert_snapshot!(and("[[figure]]\nkind = \"queue\"\nwith = \"s1->h1\""), @"
    a.toml:24: `figure.0.with` is not read while `figure.0.kind` is `queue`
    hint: it is read while `figure.0.kind` is `cross-correlation` or `scatter`
    ");
}

#[test]
fn thresholds_of_a_whole_memory_want_one_and_leave_room() {
    let own = "input_memory = \"150kB\"\npause = { mode = \"pause\", stop = \"110kB\", go = \"44kB\" }";
    let global = |kind: &str, stop: &str| {
        let pause = format!("mode = \"pause\", rule = \"global\", stop = \"{stop}\", go = \"44kB\"");
        instead(own, &format!("{kind}\npause = {{ {pause} }}"))
    };
    let shared = "kind = \"output-queued\"\nmemory = \"200kB\"";
    assert_snapshot!(global(shared, "160kB"), @"nothing");
    assert_snapshot!(global(shared, "199kB"), @"
    a.toml:11: `switch.pause.stop` is 199kB, and 22496B more can arrive at 4 ports before all peers stop: 221496B in a memory of 200kB
    hint: stop at 177504B or below, or give it 221496B
    ");
    assert_snapshot!(global("input_memory = \"150kB\"", "110kB"), @"
    a.toml:10: `switch.pause.rule` is `global`, and the memory is not one for all inputs
    hint: it goes with `kind` `output-queued` and a stated `memory`
    ");
}

#[test]
fn a_tree_of_too_many_hosts_is_refused() {
    let tree = "kind = \"n-tree\"\narity = 32\nlevels = 8";
    assert_snapshot!(instead("kind = \"star\"\nhosts = 4", tree), @"
    a.toml:7: 8 levels of 32 ports down have 1099511627776 hosts
    hint: a network has at most 100000 of them
    ");
}

#[test]
fn marks_have_thresholds_in_order_and_before_pauses() {
    let with = |switch: &str, scheme: &str| {
        format!(
            "title = \"t\"\nrun.length = \"10ms\"\ntopology = {{ kind = \"star\", hosts = 3 }}\n\
             switch = {{ kind = \"output-queued\", {switch} }}\nscheme = {{ kind = \"dcqcn\"{scheme} }}\n\
             [[traffic]]\nfrom = \"h1\"\nto = \"h2\"\n"
        )
    };
    let marking = "ecn = { low = \"5kB\", high = \"9kB\" }";
    let pausing = "pause = { mode = \"pfc\", stop = \"30kB\", go = \"20kB\" }, ecn = { low = \"40kB\", high = \"90kB\" }";
    let cases = [
        (with("ecn = { low = \"9kB\", high = \"5kB\" }", ""), "`switch.ecn.low` is 9kB, above `high` at 5kB"),
        (
            with("ecn = { low = \"5kB\", high = \"9kB\", most = \"0%\" }", ""),
            "`switch.ecn.most` is `0%`: expected more than 0%",
        ),
        (with("ecn = { low = \"5kB\", high = \"9kB\", most = \"101%\" }", ""), "`switch.ecn.most` is `101%`"),
        (with("ecn = { low = \"5kB\" }", ""), "`switch.ecn.high` is missing"),
        (
            with("queue_limit = \"9kB\", ecn = { low = \"9kB\", high = \"9kB\" }", ""),
            "queues drop at 9kB: before anything is marked",
        ),
        (
            with(pausing, ""),
            "`switch.ecn.low` is 40kB, and inputs stop their peers at 30kB: before anything is marked",
        ),
        (with("memory = \"1MB\"", ""), "no switch marks anything"),
        (with(marking, ", preset = \"standard-10G\""), "expected `paper-40G`, `nic-100G` or `hpcc-100G`"),
        (with(marking, ", cnp_priority = 0"), "`scheme.cnp_priority` is 0, which `h1->h2` uses for data"),
        (with(marking, ", cnp_frame = \"64B\""), "`scheme.cnp_frame` is `64B`"),
        (with(marking, ", gain = \"0%\""), "`scheme.gain` is `0%`: expected more than 0%"),
        (
            with(marking, "") + "frame = \"64B\"",
            "`traffic.0.frame` is 64B, and the headers of RoCEv2 alone take 66B",
        ),
    ];
    for (text, expected) in cases {
        let heard = match said(&text) {
            nothing if nothing == "nothing" => warned(&text),
            problems => problems,
        };
        assert!(heard.contains(expected), "{text}\n{heard}");
    }
}
