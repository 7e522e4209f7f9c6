//! Isolation, lists of flows and deadlocks at the command line: what is refused, what is warned of, and how a run ends.

use crate::support::Desk;

/// Two switches that isolate, with what the test changes.
fn network(switch: &str, more: &str, traffic: &str) -> String {
    format!(
        "title = \"two switches\"\nrun = {{ length = \"1ms\" }}\n\
         topology = {{ kind = \"chain\", hosts = [[\"a\", \"b\"], [\"c\", \"d\"]] }}\n\
         [switch]\nkind = \"output-queued\"\nmemory = \"2MB\"\n{switch}\n{more}\n{traffic}\n"
    )
}

const FLOWS: &str = "[[traffic]]\nfrom = [\"a\", \"b\"]\nto = \"c\"";
const ISOLATION: &str = "isolation = { mode = \"signal\" }";

fn told(text: &str, files: &[(&str, &str)], code: i32) -> String {
    let desk = Desk::new();
    desk.write("net.toml", text);
    for (name, content) in files {
        desk.write(name, content);
    }
    let did = desk.quell("check net.toml --quiet");
    did.exits(code);
    did.stderr.clone()
}

fn says(told: &str, words: &[&str]) {
    for word in words {
        assert!(told.contains(word), "nothing of `{word}` in: {told}");
    }
}

#[test]
fn a_distribution_that_does_not_end_at_one_is_refused_by_its_line() {
    let traffic = "[[traffic]]\npattern = \"flows\"\nload = \"10%\"\nsizes = \"own.csv\"";
    let text = network("", "", traffic);
    let short = "bytes,cumulative_probability\n1000,0.5\n2000,0.9\n";
    says(&told(&text, &[("own.csv", short)], 2), &["own.csv:3: ", "0.9", "hint: "]);
    let negative = "bytes,cumulative_probability\n-1000,0.5\n2000,1\n";
    says(&told(&text, &[("own.csv", negative)], 2), &["own.csv:2: ", "-1000"]);
    let falling = "bytes,cumulative_probability\n1000,0.5\n500,1\n";
    says(&told(&text, &[("own.csv", falling)], 2), &["own.csv:3: "]);
}

#[test]
fn flows_of_no_size_or_of_missing_hosts_are_refused_by_their_lines() {
    let text = network("", "", "[[traffic]]\npattern = \"trace\"\nfile = \"own.csv\"");
    let trace = "start_us,from,to,bytes\n0,a,c,1000\n1,a,z,1000\n2,b,c,-5\n";
    says(
        &told(&text, &[("own.csv", trace)], 2),
        &["own.csv:3: there is no host `z`", "own.csv:4: a size of `-5`"],
    );
}

#[test]
fn neighbours_that_mean_other_queues_isolate_for_themselves_and_are_told_so() {
    let text = network(ISOLATION, "[switches.s2]\nisolation = { congesting = 3 }", FLOWS);
    says(
        &told(&text, &[], 0),
        &[
            "warning: net.toml:7: `s1` does not tell `s2` of congesting flows: flows of class 0 are moved to class 1 here and to \
             class 3 there",
            "`s2` does not tell `s1`",
            "hint: on that link each isolates for itself",
        ],
    );
    let silent = network(ISOLATION, "[switches.s2]\nisolation = { mode = \"local\" }", FLOWS);
    says(&told(&silent, &[], 0), &["`s1` does not tell `s2`", "announces no congestion isolation"]);
}

#[test]
fn thresholds_that_make_pauses_impossible_are_refused() {
    let pfc =
        |pause: &str| network(&format!("{ISOLATION}\npause = {{ mode = \"pfc\", {pause} }}"), "", FLOWS);
    let missing = pfc("stop = \"100kB\", go = \"90kB\"");
    says(&told(&missing, &[], 2), &["net.toml:4: `switch.pause.both_stop` is missing"]);
    let first = pfc("stop = \"100kB\", go = \"90kB\", both_stop = \"80kB\", both_go = \"70kB\"");
    says(&told(&first, &[], 2), &["net.toml:8: `switch.pause.both_stop` is 80kB, below `stop` at 100kB"]);
    let late = pfc("stop = \"100kB\", go = \"90kB\", both_stop = \"2MB\", both_go = \"1MB\"");
    says(&told(&late, &[], 2), &["net.toml:8: `switch.pause.both_stop` is 2MB", "in a memory of 2MB"]);
    let moving = pfc("rule = \"dynamic\", alpha = \"1/8\", both_stop = \"2MB\", both_go = \"1MB\"");
    says(&told(&moving, &[], 2), &["net.toml:8: `switch.pause.both_stop` is 2MB", "in a memory of 2MB"]);
    let crossed = pfc("stop = \"100kB\", go = \"90kB\", both_stop = \"120kB\", both_go = \"120kB\"");
    says(&told(&crossed, &[], 2), &["net.toml:8: `switch.pause.both_go` is 120kB, not below `both_stop`"]);
    let half =
        pfc("stop = \"100kB\", go = \"90kB\", both_stop = \"120kB\", both_go = \"110kB\", priorities = [0]");
    says(&told(&half, &[], 2), &["has priority 0 and not 1, between which flows are moved"]);
}

#[test]
fn isolation_that_cannot_be_is_refused() {
    let same = network("isolation = { mode = \"local\", congesting = 0 }", "", FLOWS);
    says(&told(&same, &[], 2), &["net.toml:7: `switch.isolation.congesting` is the monitored priority"]);
    let used = network(ISOLATION, "", &format!("{FLOWS}\npriority = 1"));
    says(&told(&used, &[], 2), &["`switch.isolation.congesting` is 1, which `a->c` has"]);
    let cims = network("isolation = { mode = \"signal\", cim_priority = 0 }", "", FLOWS);
    says(&told(&cims, &[], 2), &["`switch.isolation.cim_priority` is 0, which data uses"]);
    let inputs =
        network(ISOLATION, "", FLOWS).replace("kind = \"output-queued\"\nmemory = \"2MB\"", "kind = \"voq\"");
    says(&told(&inputs, &[], 2), &["congestion isolation is of switches that queue at their outputs"]);
    let curve = network("isolation = { mode = \"local\", low = \"90kB\", high = \"80kB\" }", "", FLOWS);
    says(&told(&curve, &[], 2), &["`switch.isolation.high` is 80kB, below `isolation.low` at 90kB"]);
}

#[test]
fn a_deadlock_ends_a_run_with_code_3_unless_it_is_expected() {
    let desk = Desk::new();
    desk.quell("run isolation/deadlock --out expected").exits(0);
    let did = desk.quell("run isolation/deadlock --set run.deadlock=risk --out found");
    did.exits(3);
    says(
        &did.stderr,
        &["deadlock: s1->s2, s2->s3, s3->s4, s4->s5 and s5->s1 wait for each other", "the circle closed at"],
    );
    assert!(!did.stderr.contains("warning"), "it was meant: {}", did.stderr);
    let warned = desk.quell("check isolation/deadlock --quiet --set run.deadlock=avoid");
    warned.exits(0);
    says(&warned.stderr, &["can wait for each other in a circle", "`run.deadlock` says so"]);
}

/// Two switches that signal over IP, under DCQCN: a receiver is overrun from both.
pub(crate) fn announcing(cim: &str) -> String {
    let isolation = format!(
        "isolation = {{ mode = \"signal\", low = \"5kB\", high = \"30kB\", signal_above = \"10kB\", cim = \"{cim}\" }}\n\
         pause = {{ mode = \"pfc\", stop = \"100kB\", go = \"90kB\", both_stop = \"120kB\", both_go = \"110kB\" }}"
    );
    let ends = "[adapter]\nqueueing = \"per-flow\"\nlimiter = \"flow\"\n[scheme]\nkind = \"dcqcn\"";
    network(&isolation, ends, "[[traffic]]\nfrom = [\"a\", \"b\", \"d\"]\nto = \"c\"")
}

#[test]
fn a_capture_begins_with_what_neighbours_announce_and_says_where_messages_go() {
    for (cim, discovery) in [("ipv4", "before"), ("ipv6", "frames")] {
        let desk = Desk::new();
        desk.write("net.toml", announcing(cim));
        desk.quell(&format!(
            "run net.toml --quiet --wire-check --set run.discovery={discovery} --pcap s1->s2,s2->s1 --snaplen 0 --out out"
        ))
        .exits(0);
        let frames = crate::captures::frames(&desk, "out/runs/default/seed-1/ports.pcapng", "");
        for port in ["s1->s2", "s2->s1"] {
            let first = frames.iter().find(|it| it["port"] == port).unwrap();
            assert_eq!((&first["kind"], &first["time_ns"]), (&"lldp".into(), &0.into()), "{cim} {port}");
            assert_eq!(first["isolation"]["classes"]["0"], "monitored, congests into 1");
            assert_eq!(first["inactivity_us"], 100);
        }
        let messages = frames.iter().filter(|it| it["kind"] == "cim" && it["port"] == "s2->s1");
        assert!(messages.count() > 0, "{cim}: read without a word of their port");
    }
}
