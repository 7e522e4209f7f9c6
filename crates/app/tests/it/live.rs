//! `quell live`: real interfaces, in network namespaces that each test makes and takes away.
//!
//! They need root; where `./test` has set `QUELL_WITHOUT_ROOT` to a reason they are skipped, loudly.

use crate::support::Desk;
use crate::tshark;
use quell_live::lab::{Lab, PREFIX, is_root};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

pub(crate) fn may_use_namespaces() -> bool {
    if let Ok(reason) = std::env::var("QUELL_WITHOUT_ROOT") {
        let _ = writeln!(std::io::stderr(), "SKIPPED, for want of network namespaces: {reason}");
        return false;
    }
    assert!(is_root(), "not root: run ./test as root, or set QUELL_WITHOUT_ROOT to a reason");
    true
}

fn namespaces() -> Vec<String> {
    let output = Command::new("ip").args(["netns", "list"]).output().expect("ip starts");
    let text = String::from_utf8(output.stdout).expect("names are text");
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn of_process(id: u32) -> Vec<String> {
    let own = format!("{PREFIX}{id}-");
    namespaces().into_iter().filter(|name| name.starts_with(&own)).collect()
}

#[test]
fn an_interface_that_is_not_there_is_refused_and_so_is_nonsense() {
    let desk = Desk::new();
    let refused = |line: &str, words: &[&str]| {
        let did = desk.quell(line);
        assert_eq!(did.code, Some(2), "{line}: {did:?}");
        for word in words {
            assert!(did.stderr.contains(word), "{line}: {}", did.stderr);
        }
    };
    refused("live switch quell-x0 quell-x1", &["there is no interface `quell-x0` here", "hint: `ip link`"]);
    refused("live recv quell-x0", &["there is no interface `quell-x0` here"]);
    refused("live recv lo", &["interface `lo` is not an Ethernet"]);
    refused("live nic --wire a --host a", &["both the wire and the host"]);
    refused("live switch a a", &["interface `a` is named 2 times"]);
    refused("live switch a b --service c=1Gb/s", &["--service c", "they are a, b"]);
    refused("live switch a b --pause 10kB", &["no two sizes", "STOP,GO"]);
    refused("live switch a b --pause 10kB,20kB", &["stops above the first"]);
    refused("live switch a b --preset slow", &["--preset slow", "netfpga-1G"]);
    refused("live send a --to 01:00:00:00:00:01", &["no address of a station"]);
    refused("live send a --to 02:00:00:00:00:01 --frame 20B", &["frames of load have"]);
    refused("live send a --to 02:00:00:00:00:01 --rate 0b/s", &["nothing moves"]);
    refused("live demo step --phase 1ms", &["too short"]);
}

#[test]
fn without_the_right_to_it_says_so_and_leaves_nothing() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let before = namespaces().len();
    let binary = env!("CARGO_BIN_EXE_quell");
    let nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", binary]).args(words);
        command.current_dir("/").output().expect("setpriv starts")
    };
    // A target folder that only its owner may enter is no matter of ours.
    if nobody(&["--version"]).status.success() {
        let output = nobody(&["live", "demo", "step", "--rate", "100Mb/s"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("not root") || said.contains("cannot create"), "{said}");
        assert_eq!(output.status.code(), Some(4));
    }
    drop(desk);
    assert!(namespaces().len() <= before + 8, "other tests make some, this one none");
}

#[test]
fn a_short_experiment_is_recorded_compared_and_captured_frame_by_frame() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let did = desk.quell("live demo step --points 1 --phase 300ms --rate 100Mb/s --out out --quiet");
    // Phases this short need not settle: whether the claims hold is not asked here.
    assert!(matches!(did.code, Some(0 | 1)), "{did:?}");
    let document = desk.json("report out/1rp --json");
    let runs = document["runs"].as_array().expect("a list");
    let states: Vec<&str> = runs.iter().filter_map(|run| run["state"].as_str()).collect();
    assert_eq!(states, ["complete", "complete"], "{document:#}");
    assert!(desk.read("out/1rp/report.html").contains("<svg"));
    let live = runs.iter().find(|run| run["configuration"] == "live").expect("a live run");
    let frames = live["ending"]["frame_hops"].as_u64().expect("a number");
    assert!(frames > 1_000, "{frames} frames");
    let lost =
        document["verdicts"].as_array().expect("a list").iter().find(|it| it["text"] == "no frame is lost");
    assert!(lost.is_none_or(|it| it["holds"] != Value::Bool(false)), "{lost:?}");
    tshark::dissects_every_frame(&desk, "out/1rp/live.pcapng", &["ip", "cnm"]);
}

#[test]
fn what_a_killed_experiment_left_the_next_one_takes_away() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let mut child = desk.start("live demo step --points 1 --phase 60s --rate 100Mb/s --out a --quiet");
    let id = child.id();
    wait_for(|| of_process(id).len() == 3);
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    assert_eq!(of_process(id).len(), 3, "killed, it could not clean up");
    // In the same folder: what the first left there is no hindrance either.
    let mut next = desk.start("live demo step --points 1 --phase 60s --rate 100Mb/s --out a --quiet");
    wait_for(|| of_process(id).is_empty());
    // Interrupted, it cleans up itself and keeps what it recorded.
    wait_for(|| of_process(next.id()).len() == 3);
    sleep(Duration::from_millis(300));
    interrupt(&next);
    let status = next.wait().expect("our own child");
    assert_eq!(status.code(), Some(130));
    assert!(of_process(next.id()).is_empty());
}

/// Frames that nobody receives would not be missed: those behind them do not come either.
#[test]
fn an_experiment_whose_receiver_goes_down_is_none() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let child = desk.start("live demo step --points 1 --phase 60s --rate 100Mb/s --out out --quiet");
    let id = child.id();
    wait_for(|| desk.path("out/1rp/live.pcapng").exists());
    sleep(Duration::from_millis(300));
    let space = of_process(id).into_iter().find(|it| it.ends_with("-step-sink")).expect("a receiver");
    let down = ["-n", &space, "link", "set", "dev", "sink0", "down"];
    assert!(Command::new("ip").args(down).status().expect("ip starts").success());
    let output = child.wait_with_output().expect("our own child");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("has no carrier") || said.contains("`sink0` is down"), "{said}");
    assert!(of_process(id).is_empty());
}

#[test]
fn a_measurement_that_is_interrupted_takes_its_network_away() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let mut child = desk.start("live bench --for 60s");
    let id = child.id();
    wait_for(|| of_process(id).len() == 3);
    sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().expect("our own child").code(), Some(130));
    assert!(of_process(id).is_empty());
}

#[test]
fn switch_send_and_recv_work_together_and_leave_a_recording() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let lab = Lab::new(&["cmd-s", "cmd-a", "cmd-b"]).unwrap_or_else(|error| panic!("{error}"));
    lab.join(["cmd-a", "cmd-s"], ["a0", "p0"], 1500).unwrap();
    lab.join(["cmd-b", "cmd-s"], ["b0", "p1"], 1500).unwrap();
    lab.ip("cmd-b", &["link", "set", "dev", "b0", "address", "02:00:00:00:00:02"]).unwrap();
    let inside = |space, line| inside(&desk, &lab, space, line);
    let switch = inside("cmd-s", "live switch p0 p1 --service p1=20Mb/s --for 60s --out rec");
    let recv = inside("cmd-b", "live recv b0 --json --quiet");
    sleep(Duration::from_millis(700));
    let send = inside(
        "cmd-a",
        "live send a0 --to 02:00:00:00:00:02 --rate 10Mb/s --flows 2 --priority 3 --for 500ms --quiet",
    );
    let sent = send.wait_with_output().expect("our own child");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    sleep(Duration::from_millis(400));
    interrupt(&recv);
    interrupt(&switch);
    let (recv, switch) = (recv.wait_with_output().unwrap(), switch.wait_with_output().unwrap());
    let said = String::from_utf8_lossy(&switch.stderr).into_owned();
    assert!(switch.status.success(), "{said}");
    assert!(said.contains("VLAN tags are taken off by the kernel"), "{said}");
    assert!(said.contains("recorded in rec"), "{said}");
    let got: Value = serde_json::from_slice(&recv.stdout).expect("a document");
    let flows = got["flows"].as_array().expect("a list");
    assert_eq!(flows.len(), 2, "{got:#}");
    assert!(flows.iter().all(|flow| flow["frames"].as_u64() > Some(50)), "{got:#}");
    let report = desk.quell("report rec");
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(desk.read("rec/report.html").contains("Queues before the interfaces"));
    desk.quell("compare rec rec --out c.html").exits(0);
}

/// Both sides of the adapter have the usual MTU, which leaves no room for a CN-TAG on a full frame.
#[test]
fn full_frames_of_the_host_pass_an_adapter_on_a_wire_of_the_same_mtu() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let lab = Lab::new(&["mtu-h", "mtu-n", "mtu-w"]).unwrap_or_else(|error| panic!("{error}"));
    lab.join(["mtu-h", "mtu-n"], ["h0", "h1"], 1500).unwrap();
    lab.join(["mtu-w", "mtu-n"], ["w1", "w0"], 1500).unwrap();
    lab.ip("mtu-w", &["link", "set", "dev", "w1", "address", "02:00:00:00:00:02"]).unwrap();
    let nic = inside(&desk, &lab, "mtu-n", "live nic --wire w0 --host h1");
    let send = "live send h0 --to 02:00:00:00:00:02 --rate 5Mb/s --frame 1518B --quiet";
    let send = inside(&desk, &lab, "mtu-h", send);
    sleep(Duration::from_millis(700));
    // It joins late: what went before is not lost.
    let recv = inside(&desk, &lab, "mtu-w", "live recv w1 --json --quiet --for 1s");
    let got: Value = serde_json::from_slice(&recv.wait_with_output().unwrap().stdout).expect("a document");
    interrupt(&send);
    interrupt(&nic);
    let (_, nic) = (send.wait_with_output().unwrap(), nic.wait_with_output().unwrap());
    assert!(got["flows"][0]["frames"].as_u64() > Some(50), "{got:#}");
    assert_eq!(got["flows"][0]["lost"], 0, "{got:#}");
    let said = String::from_utf8_lossy(&nic.stderr).into_owned();
    assert!(said.contains("w0: frames longer than 1510 octets have no room for a CN-TAG"), "{said}");
    assert!(said.contains("`ip link set w0 mtu 1504`"), "{said}");
}

#[test]
fn an_interface_that_vanishes_under_a_switch_ends_it_with_words_and_what_was_recorded() {
    if !may_use_namespaces() {
        return;
    }
    let desk = Desk::new();
    let lab = Lab::new(&["van-s", "van-a"]).unwrap_or_else(|error| panic!("{error}"));
    lab.join(["van-a", "van-s"], ["a0", "p0"], 1500).unwrap();
    lab.join(["van-a", "van-s"], ["a1", "p1"], 1500).unwrap();
    let mut switch = inside(&desk, &lab, "van-s", "live switch p0 p1 --out rec --quiet");
    let said = Arc::new(Mutex::new(String::new()));
    let (mut stderr, heard) = (switch.stderr.take().expect("it is piped"), Arc::clone(&said));
    let listener = thread::spawn(move || {
        let mut octets = [0; 1024];
        while let Ok(length @ 1..) = stderr.read(&mut octets) {
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&octets[..length]));
        }
    });
    let says = |words: &str| wait_for(|| said.lock().unwrap().contains(words));
    says("p1: driver veth");
    // It says that before it is quite open.
    sleep(Duration::from_millis(300));
    lab.ip("van-s", &["link", "set", "dev", "p1", "down"]).unwrap();
    says("p1 went down; it is waited for");
    lab.ip("van-s", &["link", "set", "dev", "p1", "up"]).unwrap();
    says("p1 is up again");
    lab.ip("van-a", &["link", "del", "dev", "a1"]).unwrap();
    let output = switch.wait_with_output().expect("our own child");
    listener.join().expect("it only listens");
    let said = said.lock().unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    for words in ["interface `p1` was taken away", "recorded in rec"] {
        assert!(said.contains(words), "{said}");
    }
    let manifest: Value =
        serde_json::from_str(&desk.read("rec/runs/live/seed-1/manifest.json")).expect("JSON");
    assert_eq!(manifest["complete"], false);
}

/// Starts the command in a namespace.
pub(crate) fn inside(desk: &Desk, lab: &Lab, space: &str, line: &str) -> Child {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &lab.space(space), env!("CARGO_BIN_EXE_quell")]);
    command.args(line.split_whitespace()).current_dir(desk.path("."));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("ip starts")
}

pub(crate) fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill starts").success());
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain");
        sleep(Duration::from_millis(20));
    }
}
