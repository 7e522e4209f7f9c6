//! Captures and frames as tshark sees them, field by field: an opinion that is not ours.
//!
//! `./test` installs tshark. Where that cannot be done it says so and sets `QUELL_WITHOUT_TSHARK`; without either, these
//! tests fail.

use crate::captures::{frames, pcap};
use crate::support::Desk;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// What tshark says of each frame: the fields asked for, by name.
type Said = Vec<BTreeMap<String, String>>;

/// tshark on a file of the desk, with our dissector; `None` where the machine has none and that is known.
fn tshark(desk: &Desk, file: &str, flags: &[&str]) -> Option<String> {
    let is_there = Command::new("tshark").arg("--version").output().is_ok();
    if !is_there {
        let reason = std::env::var("QUELL_WITHOUT_TSHARK")
            .expect("tshark is not installed: ./test installs it, or set QUELL_WITHOUT_TSHARK to a reason");
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED, for want of tshark: {reason}");
        return None;
    }
    let dissector = desk.quell("dissector");
    desk.write("quell.lua", &dissector.exits(0).stdout);
    // tshark loads no scripts for root, and the folder of a test is its owner's alone.
    for name in [".", "quell.lua", file] {
        let mode = if name == "." { 0o755 } else { 0o644 };
        fs::set_permissions(desk.path(name), Permissions::from_mode(mode)).expect("our own file");
    }
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "tshark"]);
        command
    } else {
        Command::new("tshark")
    };
    command.env("HOME", "/nonexistent").env("WIRESHARK_CONFIG_DIR", desk.path("."));
    command.arg("-X").arg(format!("lua_script:{}", desk.path("quell.lua").display()));
    command.args(["-o", "cim.port:5000", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    let output = command.arg("-r").arg(desk.path(file)).args(flags).output().expect("tshark starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "tshark: {errors}");
    assert!(!text.contains("Lua Error") && !errors.contains("Lua"), "{text}{errors}");
    Some(text.into_owned())
}

/// Every frame of a capture has a dissector for all of it, and these protocols occur.
pub(crate) fn dissects_every_frame(desk: &Desk, file: &str, wanted: &[&str]) {
    let Some(text) = tshark(desk, file, &["-T", "fields", "-e", "frame.protocols", "-e", "_ws.malformed"])
    else {
        return;
    };
    let mut seen = std::collections::BTreeSet::new();
    for (line, number) in text.lines().zip(1..) {
        let (protocols, malformed) = line.split_once('\t').unwrap_or((line, ""));
        assert!(malformed.is_empty() && protocols.contains(':'), "frame {number}: {line}");
        seen.extend(protocols.split(':').map(str::to_owned));
    }
    assert!(wanted.iter().all(|it| seen.contains(*it)), "{wanted:?} in {seen:?}");
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id starts");
    id.stdout.starts_with(b"0")
}

/// The values of these fields for each frame; a field that a frame lacks is left out.
fn fields(desk: &Desk, file: &str, names: &[&str]) -> Option<Said> {
    let mut flags = vec!["-T", "fields", "-E", "separator=/t"];
    for name in names {
        flags.extend(["-e", name]);
    }
    let text = tshark(desk, file, &flags)?;
    let frame = |line: &str| {
        let values = names.iter().zip(line.split('\t'));
        values
            .filter(|(_, it)| !it.is_empty())
            .map(|(name, it)| ((*name).to_owned(), it.to_owned()))
            .collect()
    };
    Some(text.lines().map(frame).collect())
}

/// A number as tshark may print it, hexadecimal or not; any other text as it is.
fn plain(text: &str) -> String {
    let each =
        text.split(',').map(|it| match it.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16)) {
            Some(Ok(number)) => number.to_string(),
            _ => it.to_owned(),
        });
    each.collect::<Vec<_>>().join(",")
}

/// What tshark's fields should say of a frame that `quell` decodes to these.
fn meant(kind: &str, own: &Value) -> Vec<(String, String)> {
    let mut meant = Vec::new();
    let mut put = |name: &str, value: String| meant.push((name.to_owned(), value));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let same = |pairs: &[(&str, &str)], own: &Value, put: &mut dyn FnMut(&str, String)| {
        for (theirs, ours) in pairs {
            if let Some(value) = own.get(*ours) {
                put(theirs, text(value));
            }
        }
    };
    same(
        &[
            ("eth.src", "from"),
            ("eth.dst", "to"),
            ("vlan.priority", "priority"),
            ("vlan.id", "vlan"),
            ("cntag.flow", "cn_tag"),
        ],
        own,
        &mut put,
    );
    let is_v6 = own.get("ip_from").is_some_and(|it| text(it).contains(':'));
    if own.get("ip_from").is_some() {
        let version = if is_v6 { "ipv6" } else { "ip" };
        let class = if is_v6 { "ipv6.tclass" } else { "ip.dsfield" };
        put(&format!("{version}.src"), text(&own["ip_from"]));
        put(&format!("{version}.dst"), text(&own["ip_to"]));
        put(&format!("{class}.dscp"), text(&own["dscp"]));
        let ecn = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"].iter().position(|it| own["ecn"] == *it).unwrap();
        put(&format!("{class}.ecn"), ecn.to_string());
        if !is_v6 {
            put("ip.checksum.status", "1".to_owned());
        }
    }
    let flag = |is_set: bool| u8::from(is_set).to_string();
    if own.get("vlan").is_some() {
        put("vlan.dei", "0".to_owned());
    }
    let type_of = |kind: &str| match kind {
        "cnm" => Some(0x22e7),
        "data" => Some(0x88b5),
        _ => None,
    };
    if let Some(ether_type) = type_of(kind).filter(|_| own.get("cn_tag").is_some()) {
        put("cntag.etype", ether_type.to_string());
        put("vlan.etype", 0x22e9.to_string());
    }
    match kind {
        "pause" => {
            put("macc.opcode", "1".to_owned());
            same(&[("macc.pause_time", "quanta")], own, &mut put);
        }
        "pfc" => {
            put("macc.opcode", 0x0101.to_string());
            let told = own["quanta"].as_object().unwrap().keys();
            let vector = told.map(|it| 1 << it.parse::<u32>().unwrap()).sum::<u32>();
            put("macc.cbfc.enbv", vector.to_string());
            for priority in 0..8 {
                let time = own["quanta"].get(priority.to_string());
                put(&format!("macc.cbfc.enbv.c{priority}"), flag(time.is_some()));
                put(&format!("macc.cbfc.pause_time.c{priority}"), time.map_or("0".to_owned(), text));
            }
        }
        "cnm" => {
            let pairs = [
                ("cnm.feedback", "feedback"),
                ("cnm.priority", "sampled_priority"),
                ("cnm.dst", "sampled_to"),
            ];
            same(&pairs, own, &mut put);
            let units = |name: &str| (own[name].as_i64().unwrap() / 64).to_string();
            put("cnm.qoffset", units("queue_offset"));
            put("cnm.qdelta", units("queue_delta"));
            let point = text(&own["point"]).replace([':', '/'], "");
            let point: Vec<&str> = (0..8).map(|at| &point[2 * at..2 * at + 2]).collect();
            put("cnm.cpid", point.join(":"));
            put("cnm.version", "0".to_owned());
            put("cnm.reserved", "0".to_owned());
            put("cnm.msdu_length", (text(&own["excerpt"]).len() / 2).to_string());
            if own["excerpt"] != "" {
                put("cnm.msdu", text(&own["excerpt"]));
            }
        }
        "cnp" | "roce" => {
            put("udp.dstport", "4791".to_owned());
            let pairs = [
                ("udp.srcport", "source_port"),
                ("infiniband.bth.destqp", "queue_pair"),
                ("infiniband.bth.p_key", "partition"),
            ];
            same(&pairs, own, &mut put);
            put("infiniband.bth.opcode", if kind == "cnp" { "129" } else { "7" }.to_owned());
            put("infiniband.bth.psn", own.get("sequence").map_or("0".to_owned(), text));
            put("infiniband.bth.a", flag(own.get("wants_ack").and_then(Value::as_bool) == Some(true)));
            put("infiniband.bth.tver", "0".to_owned());
            put("infiniband.bth.se", "0".to_owned());
            // The one packet of data among the vectors has migrated, and thirteen octets to pad.
            put("infiniband.bth.m", flag(kind == "roce"));
            put("infiniband.bth.padcnt", if kind == "roce" { "3" } else { "0" }.to_owned());
        }
        "cim" => {
            let pairs = [
                ("cim.src", "flow_from"),
                ("cim.dst", "flow_to"),
                ("cim.vlan", "flow_vlan"),
                ("cim.msdu", "excerpt"),
            ];
            same(&pairs, own, &mut put);
            same(&[("udp.dstport", "udp_port")], own, &mut put);
            put("cim.change", flag(own["change"] == "release"));
            put("cim.version", "0".to_owned());
            put("cim.msdu_length", (text(&own["excerpt"]).len() / 2).to_string());
        }
        "lldp" => lldp(own, &mut put),
        _ => {}
    }
    meant
}

fn lldp(own: &Value, put: &mut dyn FnMut(&str, String)) {
    let bit = |list: &Value, priority: usize| {
        let is_in = list.as_array().unwrap().iter().any(|it| *it == priority);
        u8::from(is_in).to_string()
    };
    let number = |it: &Value| it.as_u64().unwrap_or_else(|| u64::from(it.as_bool().unwrap())).to_string();
    // A flag that several TLVs have stands there once for each, in their order.
    let mut willing = Vec::new();
    put("lldp.chassis.id.mac", own["chassis"].as_str().unwrap().to_owned());
    put("lldp.port.id.mac", own["port_id"].as_str().unwrap().to_owned());
    put("lldp.time_to_live", number(&own["lifetime"]));
    for priority in 0..8 {
        if let Some(cn) = own.get("cn") {
            put(&format!("lldp.ieee.802_1qau.cnpv.prio{priority}"), bit(&cn["cnpvs"], priority));
            put(&format!("lldp.ieee.802_1qau.ready.prio{priority}"), bit(&cn["ready"], priority));
        }
        let both: Vec<&Value> = ["ets", "ets_recommended"].iter().filter_map(|it| own.get(*it)).collect();
        if !both.is_empty() {
            let each =
                |of: &dyn Fn(&Value) -> String| both.iter().map(|it| of(it)).collect::<Vec<_>>().join(",");
            put(
                &format!("lldp.dcbx.feature.pg.pgid_prio{priority}"),
                each(&|it| number(&it["classes"][priority])),
            );
            put(&format!("lldp.dcbx.feature.pg.per{priority}"), each(&|it| number(&it["shares"][priority])));
            let code = |it: &Value| match it["selection"][priority].as_str().unwrap() {
                "strict" => "0".to_owned(),
                "shaped" => "1".to_owned(),
                "ets" => "2".to_owned(),
                "vendor" => "255".to_owned(),
                other => other.to_owned(),
            };
            put(&format!("lldp.dcbx.ieee.ets.tsa{priority}"), each(&code));
        }
        if let Some(pfc) = own.get("pfc") {
            put(&format!("lldp.dcbx.feature.pfc.prio{priority}"), bit(&pfc["enabled"], priority));
        }
    }
    if let Some(ets) = own.get("ets") {
        willing.push(number(&ets["willing"]));
        put("lldp.dcbx.ieee.ets.cbs", number(&ets["shapers"]));
        put("lldp.dcbx.ieee.ets.maxtcs", (ets["most_classes"].as_u64().unwrap() % 8).to_string());
    }
    if let Some(pfc) = own.get("pfc") {
        willing.push(number(&pfc["willing"]));
        put("lldp.dcbx.ieee.pfc.mbc", number(&pfc["bound_to_macsec"]));
        put("lldp.dcbx.ieee.pfc.numtcs", number(&pfc["capability"]));
    }
    if !willing.is_empty() {
        put("lldp.dcbx.ieee.willing", willing.join(","));
    }
    if let Some(lines) = own.get("applications").and_then(Value::as_array) {
        let each = |of: &dyn Fn(&Value) -> String| lines.iter().map(of).collect::<Vec<_>>().join(",");
        put("lldp.dcbx.ieee.app.prio", each(&|it| number(&it["priority"])));
        put("lldp.dcbx.feature.app.proto", each(&|it| number(&it["protocol"])));
        let selector =
            |it: &Value| if it["selector"] == "EtherType" { "1".to_owned() } else { "3".to_owned() };
        put("lldp.dcbx.iee.app.sf", each(&selector));
    }
    if own.get("isolation").is_some() {
        // tshark knows the subtype and no more of this one.
        let of_all =
            ["cn", "ets", "ets_recommended", "pfc", "applications"].iter().any(|it| own.get(*it).is_some());
        put("lldp.ieee.802_1.subtype", if of_all { "8,9,10,11,12,19" } else { "19" }.to_owned());
    }
}

#[test]
fn every_field_of_every_vector_is_what_tshark_reads() {
    let desk = Desk::new();
    let vectors = desk.json("vectors");
    let vectors = vectors["frames"].as_array().unwrap();
    desk.write("vectors.pcap", pcap(vectors));
    let wanted: Vec<Vec<(String, String)>> = vectors
        .iter()
        .map(|it| meant(it["expect"]["kind"].as_str().unwrap(), &it["expect"]["fields"]))
        .collect();
    let names: std::collections::BTreeSet<&str> =
        wanted.iter().flatten().map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let Some(said) = fields(&desk, "vectors.pcap", &names) else { return };
    assert_eq!(said.len(), vectors.len());
    let mut compared = 0;
    for ((vector, wanted), said) in vectors.iter().zip(&wanted).zip(&said) {
        for (name, value) in wanted {
            let found = said.get(name).map(|it| plain(it));
            assert_eq!(found.as_ref(), Some(value), "{name} of {}", vector["name"]);
            compared += 1;
        }
    }
    assert!(compared > 250, "{compared}");
}

#[test]
fn checksums_are_right_by_tshark() {
    let desk = Desk::new();
    let vectors = desk.json("vectors");
    desk.write("vectors.pcap", pcap(vectors["frames"].as_array().unwrap()));
    let names = ["ip.checksum.status", "udp.checksum.status"];
    let Some(said) = fields(&desk, "vectors.pcap", &names) else { return };
    let of = |name: &str| said.iter().filter_map(|it| it.get(name).cloned()).collect::<Vec<String>>();
    // 1 is right, 3 is not there.
    assert!(of("ip.checksum.status").iter().all(|it| it == "1"), "{said:?}");
    assert!(of("udp.checksum.status").iter().all(|it| it == "1" || it == "3"), "{said:?}");
    assert!(of("udp.checksum.status").contains(&"1".to_owned()), "{said:?}");
}

#[test]
fn a_simulated_capture_is_what_tshark_reads() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet --config qcn --pcap s1 --pcap-over ..1ms --out out").exits(0);
    fs::copy(desk.path("out/runs/qcn/seed-1/ports.pcapng"), desk.path("ports.pcapng")).unwrap();
    let own = frames(&desk, "ports.pcapng", "");
    let names = [
        "frame.number",
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "frame.cap_len",
        "eth.src",
        "eth.dst",
        "vlan.priority",
        "cntag.flow",
        "cnm.feedback",
        "macc.pause_time",
    ];
    let Some(said) = fields(&desk, "ports.pcapng", &names) else { return };
    assert_eq!(said.len(), own.len());
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for (own, said) in own.iter().zip(&said) {
        let kind = own["kind"].as_str().unwrap();
        *kinds.entry(kind).or_default() += 1;
        let ns = own["time_ns"].as_u64().unwrap();
        assert_eq!(said["frame.time_epoch"], format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000));
        assert_eq!(own["port"], said["frame.interface_name"].as_str());
        assert_eq!(own["length"].to_string(), said["frame.len"]);
        assert_eq!(own.get("kept").unwrap_or(&own["length"]).to_string(), said["frame.cap_len"]);
        for (name, value) in meant(kind, own).iter().filter(|(name, _)| names.contains(&name.as_str())) {
            assert_eq!(said.get(name).map(|it| plain(it)).as_ref(), Some(value), "{name} of {own}");
        }
    }
    assert!(kinds["data"] > 500 && kinds["cnm"] > 3, "{kinds:?}");
}

#[test]
fn what_switches_announce_and_what_flows_carry_is_what_tshark_reads() {
    let desk = Desk::new();
    desk.write("net.toml", crate::isolation::announcing("ipv4"));
    desk.quell("run net.toml --quiet --pcap s1->s2,s2->s1 --snaplen 0 --out out").exits(0);
    fs::copy(desk.path("out/runs/default/seed-1/ports.pcapng"), desk.path("ports.pcapng")).unwrap();
    let own = frames(&desk, "ports.pcapng", "");
    let names = [
        "lldp.chassis.id.mac",
        "lldp.time_to_live",
        "lldp.dcbx.feature.pfc.prio1",
        "lldp.dcbx.feature.pfc.prio2",
        "lldp.dcbx.ieee.pfc.numtcs",
        "lldp.ieee.802_1.subtype",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "_ws.malformed",
    ];
    let Some(said) = fields(&desk, "ports.pcapng", &names) else { return };
    assert_eq!(said.len(), own.len());
    let mut announced = 0;
    for (own, said) in own.iter().zip(&said) {
        assert!(!said.contains_key("_ws.malformed"), "{own} {said:?}");
        match own["kind"].as_str().unwrap() {
            "lldp" => {
                announced += 1;
                let found: Vec<&str> = names[..6].iter().map(|name| said[*name].as_str()).collect();
                let chassis = own["chassis"].as_str().unwrap();
                assert_eq!(found, [chassis, "120", "1", "0", "8", "0x09,0x0b,0x0c,0x13"]);
            }
            "roce" => {
                let pair = own["queue_pair"].as_u64().unwrap();
                assert!(pair >= 2, "0 and 1 are management's: {own}");
                assert_eq!(plain(&said["infiniband.bth.destqp"]), pair.to_string());
            }
            _ => {}
        }
    }
    assert_eq!(announced, 2);
}

#[test]
fn what_tshark_writes_is_read() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --quiet --config qcn --pcap s1->h1 --out out").exits(0);
    fs::copy(desk.path("out/runs/qcn/seed-1/ports.pcapng"), desk.path("ports.pcapng")).unwrap();
    let own = frames(&desk, "ports.pcapng", "");
    fs::set_permissions(desk.path("."), Permissions::from_mode(0o777)).unwrap();
    for format in ["nsecpcap", "pcapng"] {
        let file = desk.path(format).display().to_string();
        if fs::exists(&file).unwrap() {
            fs::remove_file(&file).unwrap();
        }
        // It drops its rights, so the file has to be its to write.
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        if tshark(&desk, "ports.pcapng", &["-F", format, "-w", &file]).is_none() {
            return;
        }
        let read = frames(&desk, format, "");
        assert_eq!(read.len(), own.len(), "{format}");
        for (read, own) in read.iter().zip(&own) {
            for name in ["time_ns", "kind", "length", "kept", "feedback", "flow", "sequence"] {
                assert_eq!(read.get(name), own.get(name), "{format}: {name}");
            }
        }
    }
}

/// What a capture has cut off is no fault of the frame.
#[test]
fn a_notification_that_its_capture_cut_is_not_called_malformed() {
    let desk = Desk::with_tiny();
    // Headers take 22 octets, and the message 24.
    for (snaplen, is_whole) in [(44, false), (46, true)] {
        let run = format!(
            "run tiny.toml --quiet --config qcn --pcap s1->h1 --snaplen {snaplen} --out out{snaplen}"
        );
        desk.quell(&run).exits(0);
        let file = format!("out{snaplen}/runs/qcn/seed-1/ports.pcapng");
        let Some(text) = tshark(&desk, &file, &["-Y", "cnm", "-V"]) else { return };
        assert!(text.contains("Congestion Notification Message"), "{text}");
        assert!(!text.contains("cut short") && !text.contains("Malformed"), "{text}");
        assert_eq!(text.contains("Encapsulated MSDU Length: 0"), is_whole, "{text}");
    }
}

#[test]
fn the_dissector_survives_broken_frames_and_says_so() {
    let desk = Desk::new();
    let vectors = desk.json("vectors");
    desk.write("broken.pcap", pcap(vectors["broken_frames"].as_array().unwrap()));
    let Some(text) = tshark(&desk, "broken.pcap", &["-V"]) else { return };
    for words in [
        "CNM is cut short",
        "CNM version is not 0",
        "Feedback 0 is never sent",
        "MSDU length is over 64",
        "MSDU length is over 512",
        "CIM version is not 0",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
