//! `quell why`: from a recording to the reason a flow was slow.

use crate::support::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("victim.toml", include_str!("../data/victim.toml"));
    desk.quell("run victim.toml --out out --quiet").exits(0);
    desk
}

#[test]
fn a_victim_of_pause_is_told_the_chain_down_to_its_root() {
    let desk = desk();
    let did = desk.quell("why out --config pause-only --flow h2->h4 --over 3ms..6ms");
    did.exits(0);
    assert_eq!(did.stderr, "");
    insta::assert_snapshot!(did.stdout);
}

#[test]
fn a_limited_flow_is_told_by_whose_notifications() {
    let desk = desk();
    for (over, notifications) in [
        ("1ms..", " by 9 notifications: 5 from s2->h3, "),
        ("2ms..", " by 9 earlier notifications: 5 from s2->h3, "),
    ] {
        let did = desk.quell(&format!("why out/runs/qcn/seed-1 --flow h1->h3 --over {over}"));
        did.exits(0);
        let says = |words: &str| assert!(did.stdout.contains(words), "{words}: {did:?}");
        says("Its limiter held it ");
        says(notifications);
        says("So it was slow because its source was limited by notifications of s2->h3");
    }
}

#[test]
fn a_name_that_several_flows_share_is_said_to_be_one_of_them() {
    let desk = Desk::new();
    let text = "title = \"a\"\nrun = { length = \"1ms\" }\ntopology = { kind = \"star\", hosts = 3 }\n\
                [[traffic]]\nfrom = \"h1\"\nto = \"h2\"\n[[traffic]]\nfrom = \"h1\"\nto = \"h2\"\n[[traffic]]\nfrom = \"h3\"\nto = \"h2\"\n";
    desk.write("twice.toml", text);
    desk.quell("run twice.toml --out out --quiet").exits(0);
    for (flow, other) in [("h1->h2", "h1->h2#2"), ("h1->h2#2", "h1->h2")] {
        let did = desk.quell(&format!("why out/runs/default/seed-1 --flow {flow}"));
        did.exits(0);
        let note = format!("note: this is `{flow}` alone; {other} goes between the same ends");
        assert!(did.stderr.contains(&note), "{did:?}");
    }
    assert_eq!(desk.quell("why out/runs/default/seed-1 --flow h3->h2").stderr, "");
}

#[test]
fn machines_get_the_same_as_people() {
    let desk = desk();
    let document = desk.json("why out --config pause-only --flow h2->h4 --json --over 3ms..6ms");
    let why = &document["why"];
    assert_eq!(document["configuration"], "pause-only");
    assert_eq!(why["path"], serde_json::json!(["h2->s1", "s1->s2", "s2->h4"]));
    let ports: Vec<_> = why["held"].as_array().unwrap().iter().map(|step| step["port"].clone()).collect();
    assert_eq!(ports, ["h2->s1", "s1->s2"]);
    assert_eq!(why["root"]["port"], "s2->h3");
    assert_eq!(why["root"]["is_on_path"], false);
    let words = document["words"].as_str().unwrap();
    assert!(desk.quell("why out --flow h2->h4 --over 3ms..6ms").stdout.ends_with(words));
}

#[test]
fn what_is_not_there_is_answered_with_what_is_near() {
    let desk = desk();
    for (line, says) in [
        ("why out --flow h2->h5", "error: there is no flow `h2->h5`\nhint: is it `h2->h4`?\n"),
        (
            "why out --flow s1->s2",
            "error: there is no flow `s1->s2`\nhint: that is a port; flows are h1->h3, h2->h4\n",
        ),
        (
            "why out --flow h2->h4 --config qcm",
            "error: out: there is no configuration `qcm`\nhint: is it `qcn`?\n",
        ),
        ("why out --flow h2->h4 --seed 7", "error: out: there is no run with seed 7\nhint: there are 1\n"),
        (
            "why out --config qcn --flow h2->h4 --over 3..4",
            "error: --over 3..4: expected a time such as 15ms, found a number without a unit\n",
        ),
        (
            "why out --config qcn --flow h2->h4 --over 8ms..",
            "error: --over 8ms..: nothing was recorded then\nhint: the run ends at 6 ms\n",
        ),
    ] {
        let did = desk.quell(line);
        did.exits(2);
        assert!(did.stderr.contains(says), "{line}: {did:?}");
    }
    desk.quell("why nowhere --flow h1").exits(2);
}

#[test]
fn a_tree_has_its_root_first_and_its_leaves_under_it() {
    let desk = desk();
    let table = desk.read("out/figures/01-who-holds-whom.csv");
    let mut names: Vec<&str> = Vec::new();
    for row in table.lines().skip(1).filter(|row| row.starts_with("pause-only,")) {
        let name = row.split(',').nth(1).unwrap().split(' ').next().unwrap();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    assert_eq!(names, ["s2->h3", "s1->s2", "h1->s1", "h2->s1"]);
    let picture = desk.read("out/figures/01-who-holds-whom.svg");
    assert!(picture.contains("held paused") && picture.contains("congested"));
}
