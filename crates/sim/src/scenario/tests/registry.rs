//! The registry, the decoders, the documentation and the schema say the same.

use super::super::keys::{Form, Given, Key, keys};
use super::super::section::ASKED;
use super::super::{reference, schema};
use super::right;
use quell_proto::control::{dcqcn, qcn};
use std::collections::BTreeSet;

/// Files that between them use every kind of everything.
pub(super) const ALL_KINDS: [&str; 11] = [
    r#"
title = "graph"
shows = "s"
about = "a"
run = { length = "10ms", seed = 1, repeat = 2, sample = "1ms", overhead = "20B" }
[topology]
kind = "graph"
hosts = ["h1", "h2"]
switches = ["s1", "s2"]
links = [
    { ends = ["h1", "s1"], rate = "10Gb/s", delay = "1us" },
    { ends = ["h2", "s2"] },
    { ends = ["s1", "s2"] },
]
[switch]
kind = "output-queued"
memory = "10MB"
queue_limit = "dynamic"
alpha = 2
schedule = "wrr"
weights = [1, 1, 1, 1, 1, 1, 1, 1]
[switches.s2]
queue_limit = "1MB"
schedule = "drr"
weights = ["1kB", "1kB", "1kB", "1kB", "1kB", "1kB", "1kB", "1kB"]
[adapter]
schedule = "wrr"
weights = [1, 1, 1, 1, 1, 1, 1, 1]
[adapter.receive]
buffer = "1MB"
pause = { stop = "100kB", go = "50kB" }
[[traffic]]
from = "h1"
to = "h2"
name = "f"
message = "1MB"
[[traffic]]
from = "h1"
to = "h2"
pattern = "on-off"
on = "1ms"
off = "1ms"
interval = "2us"
[[traffic]]
from = "h2"
to = "h1"
pattern = "poisson"
load = "10%"
stop = "9ms"
stagger = "300ns"
stagger_within = "1us"
[[at]]
time = "1ms"
host = "h1"
service = "1Gb/s"
[[at]]
time = "1ms"
for = "1ms"
link = "s1-s2"
state = "down"
[[at]]
time = "1ms"
flow = "f"
state = "stop"
[[expect]]
metric = "recovery"
of = "f"
target = "1Gb/s"
span = "1ms"
[[expect]]
metric = "settled"
of = "s2->h2"
target = "33kB"
band = "25%"
quiet = "1ms"
skip = "0s"
at_least = "50%"
[[fair]]
of = "f"
rate = "1Gb/s"
over = "1ms..2ms"
since = "500us"
span = "1ms"
[[figure]]
kind = "queue"
title = "t"
runs = "first"
over = "1ms..2ms"
"#,
    r#"
title = "chain"
run.length = "10ms"
topology = { kind = "chain", hosts = [["h1"], ["h2"]], switches = 2, trunk = { rate = "10Gb/s", delay = "2us" } }
switch = { ecn = { low = "5kB", high = "9kB" }, input_memory = "1MB", output = { buffer = "100kB" }, reliable = "1us", pause = { mode = "pfc", stop = "100kB", go = "50kB", priorities = [0] } }
scheme = { kind = "qcn", placement = "both", preset = "slides-10G", profile = "standard" }
traffic = [{ from = "h1", to = "h2", pattern = "constant", offer = "1Gb/s" }]
at = [{ time = "1ms", port = "s1->s2", service = "1Gb/s" }]
[axis.scheme]
none = { scheme.kind = "none" }
qcn = {}
af-qcn = { scheme.kind = "af-qcn", scheme.byte_cycle = "240us" }
array = { scheme.culprit = "random-occupancy", scheme.search = "array" }
fqcn = { scheme.kind = "fqcn" }
ecm = { scheme.kind = "ecm" }
qcn2007 = { scheme.kind = "qcn2007" }
ib-cc = { scheme.kind = "ib-cc" }
e2cm = { scheme.kind = "e2cm" }
qcn-probe = { scheme.kind = "qcn-probe" }
dcqcn = { scheme.kind = "dcqcn", scheme.preset = "nic-100G" }
dctcp = { scheme.kind = "dctcp", adapter = { queueing = "per-flow", transport.kind = "go-back-n" } }
[[expect]]
metric = "correlation"
with = "s1->s2"
step = "1ms"
[[expect]]
claim = "c"
metric = "convergence(limit)"
when = { scheme = "qcn" }
over = "1ms.."
target = "1Gb/s"
band = "20%"
side = "above"
relative_to = { scheme = "none" }
near = 1
within = "5%"
[[expect]]
metric = "throughput"
between = ["1kb/s", "1Gb/s"]
[[expect]]
metric = "throughput"
against = "*"
at_most = 1
[[figure]]
kind = "scatter"
with = "s1->s2"
step = "1ms"
"#,
    r#"
title = "tree"
run.length = "10ms"
topology = { kind = "tree", hosts = 2, switches = 2 }
switch = { input_memory = "1MB", pause = { mode = "pause", rule = "dynamic", alpha = "1/2" } }
traffic = [{ from = "h1", to = "any", multicast = true }]
"#,
    r#"
title = "n-tree"
run.length = "10ms"
topology = { kind = "n-tree", arity = 2, levels = 3 }
switch = { kind = "output-queued", memory = "1MB", pause = { mode = "pause", rule = "global", stop = "900kB", go = "450kB" } }
traffic = [{ from = "*", to = "any" }]
"#,
    r#"
title = "fat tree"
run.length = "10ms"
topology = { kind = "fat-tree", k = 4, routing = "destination" }
traffic = [{ from = "*", to = "+8" }]
"#,
    r#"
title = "rack"
run.length = "10ms"
topology = { kind = "rack", form = "cells" }
switch = { output = { buffer = "150kB" } }
traffic = [{ from = "*", to = "+8" }]
"#,
    r#"
title = "dragonfly"
run = { length = "10ms", flow_series = "none" }
topology = { kind = "dragonfly", groups = 3, routers = 2 }
switch = { output = { buffer = "150kB" } }
traffic = [{ from = "*", to = "permutation" }]
"#,
    r#"
title = "lists in a Clos"
run.length = "1ms"
topology = { kind = "clos", leaves = 4, spines = 2, hosts = 4 }
[[traffic]]
pattern = "flows"
sizes = "sizes.csv"
load = "50%"
clusters = 2
cluster_size = 4
mice_below = "1kB"
mice_priority = 5
[[traffic]]
pattern = "incasts"
incasts = 1
fan_in = 3
"#,
    r#"
title = "isolation by marks, with neighbours"
run.length = "1ms"
topology = { kind = "chain", hosts = [["a", "b"], ["c"]] }
[switch]
kind = "output-queued"
memory = "10MB"
isolation = { mode = "signal", marks = "curve" }
pause = { mode = "pfc", stop = "100kB", go = "90kB", both_stop = "120kB", both_go = "110kB" }
[[traffic]]
pattern = "all-to-all"
from = ["a", "b"]
size = "10kB"
iterations = 3
"#,
    r#"
title = "isolation by samples, each for itself"
run.length = "1ms"
topology = { kind = "star", hosts = 3 }
switch = { kind = "output-queued", isolation = { mode = "local", detect = "sampling" } }
traffic = [{ from = "*", to = "h1", spread = [0, 2] }]
"#,
    r#"
title = "another simulator's"
run.length = "1ms"
topology = { kind = "file", file = "topology.txt" }
traffic = [{ pattern = "trace", file = "flow.txt", zero = "2s", frame = "1048B", header = "48B" }]
figure = [{ kind = "slowdown", beside = "fct.csv" }]
"#,
];

/// Keys that the reader takes from the tree before it asks sections.
const TAKEN_EARLIER: [(&str, &str); 13] = [
    ("", "extends"),
    ("", "skip"),
    ("", "parameters"),
    ("", "axis"),
    ("", "quick"),
    ("", "run"),
    ("", "topology"),
    ("", "switch"),
    ("", "adapter"),
    ("", "scheme"),
    ("expect", "when"),
    ("fair", "when"),
    ("figure", "when"),
];

#[test]
fn every_registered_key_is_read_and_every_key_read_is_registered() {
    ASKED.take();
    for text in ALL_KINDS {
        right(text);
    }
    // That what is asked for is registered, `Section::get` asserts itself.
    let asked: BTreeSet<_> = ASKED.take().into_iter().chain(TAKEN_EARLIER).collect();
    let registered: BTreeSet<_> = keys().iter().map(|key| (key.section, key.name)).collect();
    let unread: Vec<_> = registered.difference(&asked).collect();
    assert!(unread.is_empty(), "registered, and read by nobody: {unread:?}");
    assert_eq!(asked, registered);
}

#[test]
fn the_standards_values_are_those_of_the_preset() {
    let text =
        ALL_KINDS[1].replace("preset = \"slides-10G\", profile = \"standard\"", "preset = \"standard-10G\"");
    let resolved = right(&text).resolved;
    for key in keys() {
        if let Given::Preset(value) = key.given {
            let row = resolved.iter().find(|row| row.path == key.path());
            assert_eq!(row.map(|row| row.value.as_str()), Some(value), "{}", key.path());
        }
    }
    assert_eq!(qcn::PRESETS[0].name, "standard-10G");
}

#[test]
fn dcqcn_has_its_presets_and_shows_the_values_of_the_first() {
    let text = ALL_KINDS[1].replace("kind = \"qcn\", placement", "kind = \"dcqcn\", placement");
    let (start, _) = text.split_once("[axis.scheme]").unwrap();
    let text = start.replace(", placement = \"both\", preset = \"slides-10G\", profile = \"standard\"", "");
    let resolved = right(&text).resolved;
    for key in keys() {
        if let Given::PresetOf(preset, value) = key.given {
            assert_eq!(preset, dcqcn::PRESETS[0].name);
            let row = resolved.iter().find(|row| row.path == key.path());
            assert_eq!(row.map(|row| row.value.as_str()), Some(value), "{}", key.path());
        }
    }
    let names: Vec<&str> = dcqcn::PRESETS.iter().map(|preset| preset.name).collect();
    let listed = |key: &&Key| matches!(key.form, Form::Word(words) if key.name == "preset" && words == names);
    assert!(keys().iter().any(|key| listed(&key)), "{names:?}");
}

#[test]
fn every_key_has_a_sentence_and_a_default_of_its_own_form() {
    for key in keys() {
        assert!(key.doc.ends_with('.'), "{}: {}", key.path(), key.doc);
        assert!(key.doc.starts_with(|letter: char| letter.is_uppercase()), "{}: {}", key.path(), key.doc);
    }
}

#[test]
fn the_schema_is_json_and_knows_every_key() {
    let schema = schema();
    let value: toml::Value = json(&schema);
    for key in keys() {
        let mut node = &value;
        for part in key.path().split('.') {
            let inside = node.get("items").unwrap_or(node);
            node = &inside["properties"][part];
        }
        assert!(node.get("description").is_some(), "{}", key.path());
    }
}

#[test]
fn the_documentation_lists_the_registry() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let text = std::fs::read_to_string(path).expect("docs/scenario.md is there");
    let mark = "<!-- made from the registry of keys: change crates/sim/src/scenario/key_table.rs -->\n";
    let (prose, _) = text.split_once(mark).expect("docs/scenario.md has the mark where the tables begin");
    let whole = format!("{prose}{mark}\n{}", reference());
    if std::env::var_os("QUELL_WRITE_DOCS").is_some() {
        std::fs::write(path, &whole).expect("docs/scenario.md can be written");
    }
    assert!(text == whole, "run this test with QUELL_WRITE_DOCS=1 to write the tables anew");
}

/// Reads JSON by way of TOML, whose inline tables differ only in `=` and in what may stand on a line of its own.
fn json(text: &str) -> toml::Value {
    let mut out = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            '"' if !escaped => quoted = !quoted,
            ':' if !quoted => {
                out.push('=');
                continue;
            }
            '\n' if !quoted => {
                out.push(' ');
                continue;
            }
            _ => {}
        }
        escaped = quoted && letter == '\\' && !escaped;
        out.push(letter);
    }
    toml::from_str(&format!("root = {out}"))
        .map(|root: toml::Table| root["root"].clone())
        .expect("it is JSON")
}
