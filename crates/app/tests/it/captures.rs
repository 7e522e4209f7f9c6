//! `quell run --pcap` and `quell decode`: frames in files, and out of them.

use crate::support::{Desk, Did, files};
use crate::tshark;
use serde_json::Value;
use std::fs;

const QCN: &str = "results/tiny/runs/qcn/seed-1/ports.pcapng";

/// The lines that `decode --json` prints.
pub(crate) fn frames(desk: &Desk, file: &str, flags: &str) -> Vec<Value> {
    let did = desk.quell(&format!("decode {file} --json {flags}"));
    did.exits(0);
    did.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}")))
        .collect()
}

fn captures(desk: &Desk) -> Vec<String> {
    files(&desk.path("results")).into_iter().filter(|it| it.ends_with(".pcapng")).collect()
}

#[test]
fn one_seed_of_each_configuration_is_captured_and_that_is_said() {
    let desk = Desk::with_tiny();
    let did = desk.quell("run tiny.toml --quiet --pcap s1->h3");
    did.exits(0);
    assert_eq!(
        captures(&desk),
        ["tiny/runs/pause-only/seed-1/ports.pcapng", "tiny/runs/qcn/seed-1/ports.pcapng"]
    );
    assert!(did.stdout.contains(&format!("capture {QCN}  (")), "{did:?}");
    assert!(did.stdout.contains("frames of s1->h3"), "{did:?}");
    let frames = frames(&desk, QCN, "");
    assert!(frames.len() > 1000);
    assert_eq!(frames[0]["kind"], "lldp", "the port says what it is");
    assert!(frames.iter().all(|it| it["port"] == "s1->h3"));
    assert!(frames[1..].iter().all(|it| it["kind"] == "data"));
}

/// Every kind of frame that a simulated network sends, in one capture, headed by what each port says of itself.
#[test]
fn a_capture_holds_every_kind_of_frame_and_is_headed_by_lldp() {
    let desk = Desk::new();
    let network = |scheme: &str, pause: &str, more: &str| {
        format!(
            "title = \"kinds\"\nrun = {{ length = \"2ms\" }}\n\
             topology = {{ kind = \"chain\", hosts = [[\"a\", \"b\"], [\"c\", \"d\"]] }}\n\
             [switch]\nkind = \"output-queued\"\nmemory = \"2MB\"\npause = {pause}\n{more}\n\
             [scheme]\nkind = \"{scheme}\"\n\
             [[traffic]]\nfrom = [\"a\", \"b\", \"d\"]\nto = \"c\"\npriority = 3\n"
        )
    };
    let kinds = |name: &str, text: String| {
        desk.write(&format!("{name}.toml"), text);
        desk.quell(&format!("run {name}.toml --quiet --pcap * --out {name}")).exits(0);
        frames(&desk, &format!("{name}/runs/default/seed-1/ports.pcapng"), "--cim-port 49153")
    };
    let count = |all: &[Value], kind: &str| all.iter().filter(|it| it["kind"] == kind).count();
    let pfc = "{ mode = \"pfc\", priorities = [3], stop = \"40kB\", go = \"20kB\" }";
    let qcn = kinds("qcn", network("qcn", pfc, "schedule = \"wrr\"\nweights = [1, 1, 1, 5, 1, 1, 1, 1]"));
    for kind in ["data", "cnm", "pfc"] {
        assert!(count(&qcn, kind) > 3, "{kind}");
    }
    assert!(qcn.iter().filter(|it| it["kind"] == "data").all(|it| it["cn_tag"].is_u64()), "tagged");
    // Ten ports: five links, both ways.
    assert_eq!(count(&qcn, "lldp"), 10);
    assert!(qcn[..10].iter().all(|it| it["kind"] == "lldp" && it["time_ns"] == 0));
    let said =
        |port: &str| qcn.iter().find(|it| it["kind"] == "lldp" && it["port"] == port).expect("it is there");
    let switch = said("s1->a");
    assert_eq!((&switch["chassis"], &switch["port_id"]), (&"02:00:00:00:00:04".into(), &"s1->a".into()));
    assert_eq!(switch["cn"], serde_json::json!({ "cnpvs": [3], "ready": [3] }));
    assert_eq!(
        (&switch["pfc"]["enabled"], &switch["pfc"]["willing"]),
        (&[3].as_slice().into(), &false.into())
    );
    assert_eq!((&switch["ets"]["shares"][3], &switch["ets"]["adds_up"]), (&41.into(), &true.into()));
    assert_eq!(switch["applications"][0]["protocol"], 0x88b5);
    let host = said("a->s1");
    assert_eq!((&host["cn"], &host["pfc"]["willing"]), (&switch["cn"], &true.into()));
    assert!(host.get("ets").is_none() && host.get("isolation").is_none());
    let file = "qcn/runs/default/seed-1/ports.pcapng";
    tshark::dissects_every_frame(&desk, file, &["cntag", "cnm", "macc", "lldp"]);

    let pause = "{ mode = \"pause\", stop = \"40kB\", go = \"20kB\" }";
    assert!(count(&kinds("pause", network("none", pause, "")), "pause") > 3);
    let isolation = "isolation = { mode = \"signal\", monitored = 3, congesting = 1, signal_above = \"5kB\" }\n\
                     ecn = { low = \"5kB\", high = \"200kB\" }";
    let marked = kinds("dcqcn", network("dcqcn", "{ mode = \"off\" }", isolation));
    for kind in ["roce", "cnp", "cim"] {
        assert!(count(&marked, kind) > 0, "{kind}");
    }
    let switch =
        marked.iter().find(|it| it["kind"] == "lldp" && it["port"] == "s1->s2").expect("it is there");
    assert_eq!(switch["isolation"]["classes"]["3"], "monitored, congests into 1");
    assert_eq!(
        (&switch["isolation"]["port"], &switch["applications"][0]["protocol"]),
        (&49_153.into(), &4791.into())
    );
    assert!(switch.get("cn").is_none() && switch.get("pfc").is_none());
    let file = "dcqcn/runs/default/seed-1/ports.pcapng";
    tshark::dissects_every_frame(&desk, file, &["infiniband", "cim", "lldp"]);
}

#[test]
fn a_finished_run_is_captured_without_being_run_again() {
    let desk = Desk::with_tiny();
    let plain = desk.quell("run tiny.toml --quiet");
    let manifest = desk.read("results/tiny/runs/qcn/seed-2/manifest.json");
    let document = desk
        .json("run tiny.toml --json --config qcn --pcap s1->h1,s1->h2 --pcap-seed 2 --pcap-over 1ms..3ms");
    assert_eq!(desk.read("results/tiny/runs/qcn/seed-2/manifest.json"), manifest);
    assert!(plain.stdout.contains("All 4 claims hold"));
    let capture = &document["captures"][0];
    assert_eq!((&capture["seed"], &capture["configuration"]), (&2.into(), &"qcn".into()));
    assert_eq!(capture["ports"], serde_json::json!(["s1->h1", "s1->h2"]));
    let frames = frames(&desk, capture["file"].as_str().unwrap(), "");
    assert_eq!(frames.len() as u64, capture["frames"].as_u64().unwrap());
    let times: Vec<i64> = frames.iter().map(|it| it["time_ns"].as_i64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] >= 1_000_000 && times[times.len() - 1] < 3_000_000);
    assert!(frames.iter().any(|it| it["kind"] == "cnm"));
}

#[test]
fn the_same_run_gives_the_same_file() {
    let desk = Desk::with_tiny();
    let capture = |flags: &str| {
        desk.quell(&format!("run tiny.toml --quiet --config qcn --pcap s1 {flags}")).exits(0);
        fs::read(desk.path(QCN)).unwrap()
    };
    let first = capture("--threads 1");
    assert_eq!(capture("--threads 4"), first);
    let whole = capture("--snaplen 0");
    assert!(whole.len() > 5 * first.len(), "{} and {}", whole.len(), first.len());
    let frames = frames(&desk, QCN, "");
    assert!(frames.iter().all(|it| it.get("kept").is_none()), "nothing is cut");
    let document = desk.json("run tiny.toml --json --config qcn --pcap s1");
    let ports = document["captures"][0]["ports"].as_array().unwrap();
    assert_eq!(ports.len(), 6, "both ways on three links: {ports:?}");
}

#[test]
fn what_cannot_be_captured_is_refused_before_anything_runs() {
    let desk = Desk::with_tiny();
    let refused = |flags: &str, words: &[&str]| {
        let did: Did = desk.quell(&format!("run tiny.toml {flags}"));
        did.exits(2);
        for words in words {
            assert!(did.stderr.contains(words), "{words}: {did:?}");
        }
        assert!(!desk.path("results").exists(), "nothing has begun");
    };
    refused("--pcap s1->h9", &["no port matches `s1->h9`", "is it `s1->h1`", "put the name in quotes"]);
    refused("--pcap s1 --pcap-seed 7", &["--pcap-seed 7: there is no run with that seed", "from 1 to 2"]);
    refused("--pcap s1 --pcap-over 1s..2s", &["the run is over by then"]);
    refused("--pcap s1 --pcap-over 2ms..1ms", &["--pcap-over 2ms..1ms"]);
    refused("--pcap-over 1ms..2ms", &["--pcap"]);
    refused("--pcap s1 --snaplen 65536", &["65536"]);
}

#[test]
fn frames_are_filtered_by_any_field() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet --config qcn --pcap s1").exits(0);
    let all = frames(&desk, QCN, "");
    let count = |wanted: &dyn Fn(&Value) -> bool| all.iter().filter(|it| wanted(it)).count();
    let strong = frames(&desk, QCN, "--filter kind=cnm --filter feedback>=20");
    assert_eq!(strong.len(), count(&|it| it["kind"] == "cnm" && it["feedback"].as_u64() >= Some(20)));
    assert!(!strong.is_empty() && strong.len() < count(&|it| it["kind"] == "cnm"));
    let first = frames(&desk, QCN, "--filter time<500us --filter port=*->h3");
    assert_eq!(first.len(), count(&|it| it["time_ns"].as_i64() < Some(500_000) && it["port"] == "s1->h3"));
    let did = desk.quell(&format!("decode {QCN} --filter feedbak=1"));
    did.exits(0);
    assert!(did.stderr.contains("no frame has a field `feedbak`\nhint: is it feedback?"), "{did:?}");
    desk.quell(&format!("decode {QCN} --filter feedback")).exits(2);
}

#[test]
fn a_frame_is_a_line_and_the_kinds_are_counted() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet --config qcn --pcap s1->h1").exits(0);
    let did = desk.quell(&format!("decode {QCN} --filter kind=cnm"));
    did.exits(0);
    let line = did.stdout.lines().next().unwrap();
    for words in ["s1->h1", "cnm", "02:00:00:00:00:03 > 02:00:00:00:00:00", "priority=6", "feedback="] {
        assert!(line.contains(words), "{words}: {line}");
    }
    let count = did.stdout.lines().count();
    assert!(did.stderr.contains(&format!("{count} cnm")) && did.stderr.contains("frames: "), "{did:?}");
}

#[test]
fn damaged_files_and_other_files_are_told_apart_and_nothing_crashes() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet --config qcn --pcap s1->h1").exits(0);
    let whole = fs::read(desk.path(QCN)).unwrap();
    desk.write("cut.pcapng", &whole[..whole.len() - 70]);
    let did = desk.quell("decode cut.pcapng");
    did.exits(2);
    assert!(did.stderr.contains("cut.pcapng: the file ends within the block at octet"), "{did:?}");
    assert!(did.stdout.lines().count() > 10, "what was whole is shown");
    desk.write("empty.pcapng", "");
    assert!(desk.quell("decode empty.pcapng").exits(2).stderr.contains("the file is empty"));
    let did = desk.quell("decode tiny.toml");
    assert!(did.exits(2).stderr.contains("neither pcapng nor pcap"), "{did:?}");
    let did = desk.quell("decode nothing.pcapng");
    assert!(did.exits(4).stderr.contains("nothing.pcapng: cannot read"), "{did:?}");
}

#[test]
fn malformed_frames_are_named_and_counted() {
    let desk = Desk::new();
    let vectors = desk.json("vectors");
    let broken = vectors["broken_frames"].as_array().unwrap();
    desk.write("broken.pcap", pcap(broken));
    let frames = frames(&desk, "broken.pcap", "");
    assert_eq!(frames.len(), broken.len());
    for (frame, vector) in frames.iter().zip(broken) {
        assert_eq!(
            (&frame["kind"], &frame["fault"]),
            (&"malformed".into(), &vector["expect"]["fault"]),
            "{vector}"
        );
    }
    let did = desk.quell("decode broken.pcap");
    assert!(did.stderr.contains(&format!("{} malformed", broken.len())), "{did:?}");
}

/// A pcap file, nanoseconds, with the octets of some vectors.
pub(crate) fn pcap(vectors: &[Value]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1]);
    for (vector, number) in vectors.iter().zip(0u32..) {
        let hex = vector["octets"].as_str().expect("octets").as_bytes();
        let digit = |it: u8| char::from(it).to_digit(16).expect("hexadecimal") as u8;
        let octets: Vec<u8> = hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        let length = octets.len() as u32;
        file.extend(words(&[0, number, length, length]));
        file.extend(octets);
    }
    file
}
