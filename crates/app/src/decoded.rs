//! A captured frame as named fields: what `decode` prints, as text and as JSON, and what its filters look at.

use quell_proto::units::{Priority, PrioritySet, Quanta};
use quell_proto::wire::lldp::{Ets, Lldp, QueueRole, Tlv};
use quell_proto::wire::{
    Aeth, AnyFrame, Bth, Carriage, CimFrame, CnmFrame, CnpFrame, EtherType, Frame, Header, IpEnds, IpHeader,
    Opcode, Pfc, Ports, RoceFrame, Udp, VlanKind, WireError,
};
use serde_json::{Map, Value, json};

/// What a frame is, and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    /// Its format in a word.
    pub(crate) kind: &'static str,
    /// Its fields, in the order they are shown.
    pub(crate) fields: Map<String, Value>,
}

/// Reads a frame of which `octets` were kept out of `length`.
pub(crate) fn decode(octets: &[u8], length: u32, ports: Ports) -> Decoded {
    let mut fields = Map::new();
    let kind = match ports.parse(octets) {
        Ok(frame) => {
            header(&frame.header(), &mut fields);
            body(&frame, &mut fields)
        }
        Err(error) => {
            if let Ok(it) = Header::parse(octets) {
                header(&it, &mut fields);
            }
            // What a capture has cut off is no fault of the frame.
            let is_cut = (octets.len() as u64) < u64::from(length);
            match (is_cut && matches!(error, WireError::Truncated { .. }), RoceFrame::parse_cut(octets)) {
                (true, Ok(frame)) => {
                    let kind = body(&AnyFrame::Roce(frame), &mut fields);
                    fields.insert("payload".to_owned(), Value::Null);
                    kind
                }
                (is_cut, _) => {
                    fields.insert("fault".to_owned(), json!(error.to_string()));
                    if is_cut { "cut" } else { "malformed" }
                }
            }
        }
    };
    Decoded { kind, fields }
}

fn header(header: &Header, fields: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("from", json!(header.source.to_string()));
    put("to", json!(header.destination.to_string()));
    let tags = header.tags.as_slice();
    if let [outer, ..] = tags {
        put("priority", json!(outer.priority.get()));
        put("vlan", json!(outer.id.get()));
    }
    if tags.len() > 1 {
        let tag = |kind: VlanKind| if kind == VlanKind::Service { "service" } else { "customer" };
        let inner = tags.iter().map(|it| {
            let (kind, priority, vlan) = (tag(it.kind), it.priority.get(), it.id.get());
            json!({ "kind": kind, "priority": priority, "drop_eligible": it.drop_eligible, "vlan": vlan })
        });
        put("tags", inner.collect());
    }
    if let Some(tag) = header.cn_tag {
        put("cn_tag", json!(tag.flow));
    }
}

/// Adds what the format has of its own, and says what it is.
fn body(frame: &AnyFrame<'_>, fields: &mut Map<String, Value>) -> &'static str {
    let (kind, own) = match frame {
        AnyFrame::Cnm(frame) => ("cnm", cnm(frame)),
        AnyFrame::Pause(frame) => ("pause", json!({ "quanta": frame.pause.time.0 })),
        AnyFrame::Pfc(frame) => ("pfc", pfc(&frame.pfc)),
        AnyFrame::Cnp(frame) => ("cnp", cnp(frame)),
        AnyFrame::Roce(frame) => ("roce", roce(frame)),
        AnyFrame::Cim(frame) => ("cim", cim(frame)),
        AnyFrame::Lldp(frame) => ("lldp", lldp(&frame.lldp)),
        AnyFrame::Data(frame) => ("data", data(frame)),
        _ => ("other", Value::Null),
    };
    if let Value::Object(own) = own {
        fields.extend(own);
    }
    kind
}

fn cnm(CnmFrame { cnm, .. }: &CnmFrame) -> Value {
    json!({
        "feedback": cnm.feedback.get(),
        "point": cnm.point.to_string(),
        "queue_offset": cnm.offset.octets(),
        "queue_delta": cnm.delta.octets(),
        "sampled_priority": cnm.priority.get(),
        "sampled_to": cnm.destination.to_string(),
        "excerpt": hex(cnm.excerpt.as_slice()),
    })
}

fn pfc(pfc: &Pfc) -> Value {
    let told = Priority::all().filter_map(|priority| {
        let Quanta(quanta) = pfc.times[priority.index()]?;
        Some((priority.get().to_string(), json!(quanta)))
    });
    json!({ "quanta": told.collect::<Map<_, _>>() })
}

fn cnp(frame: &CnpFrame) -> Value {
    let mut fields = ip(&frame.ip);
    fields.insert("source_port".to_owned(), json!(frame.source_port));
    fields.insert("queue_pair".to_owned(), json!(frame.queue_pair.get()));
    fields.insert("partition".to_owned(), json!(frame.partition));
    Value::Object(fields)
}

fn roce(frame: &RoceFrame<'_>) -> Value {
    let Bth { opcode, queue_pair, sequence, wants_ack, partition, fecn, becn, .. } = frame.bth;
    let mut fields = ip(&frame.ip);
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("source_port", json!(frame.source_port));
    put("opcode", json!(opcode.to_string()));
    put("queue_pair", json!(queue_pair.get()));
    put("sequence", json!(sequence.get()));
    put("partition", json!(partition));
    put("wants_ack", json!(wants_ack));
    for (name, _) in [("fecn", fecn), ("becn", becn)].iter().filter(|(_, is_set)| *is_set) {
        put(name, json!(true));
    }
    if opcode == Opcode::ACKNOWLEDGE
        && let Ok(aeth) = Aeth::parse(frame.payload)
    {
        put("syndrome", json!(aeth.syndrome));
        put("messages", json!(aeth.messages.get()));
    }
    put("payload", json!(frame.payload.len()));
    Value::Object(fields)
}

fn ip(header: &IpHeader) -> Map<String, Value> {
    let (source, destination) = match header.ends {
        IpEnds::V4 { source, destination, .. } => (source.to_string(), destination.to_string()),
        IpEnds::V6 { source, destination, .. } => (source.to_string(), destination.to_string()),
    };
    let mut fields = Map::new();
    fields.insert("ip_from".to_owned(), json!(source));
    fields.insert("ip_to".to_owned(), json!(destination));
    fields.insert("dscp".to_owned(), json!(header.dscp.get()));
    fields.insert("ecn".to_owned(), json!(header.ecn.to_string()));
    fields
}

fn cim(CimFrame { carriage, cim, .. }: &CimFrame<'_>) -> Value {
    let mut fields = match carriage {
        Carriage::Layer2 => Map::new(),
        Carriage::Udp(Udp { ip: header, destination_port, .. }) => {
            let mut fields = ip(header);
            fields.insert("udp_port".to_owned(), json!(destination_port));
            fields
        }
    };
    let own = json!({
        "change": cim.change.to_string(),
        "flow_from": cim.source.to_string(),
        "flow_to": cim.destination.to_string(),
        "flow_vlan": cim.vlan.get(),
        "excerpt": hex(cim.excerpt.as_slice()),
    });
    if let Value::Object(own) = own {
        fields.extend(own);
    }
    Value::Object(fields)
}

fn lldp(lldp: &Lldp<'_>) -> Value {
    let mut fields = Map::new();
    // Where a TLV stands twice, the first counts.
    let mut put = |name: &str, value: Value| {
        fields.entry(name).or_insert(value);
    };
    put("chassis", json!(name(lldp.chassis.octets())));
    put("port_id", json!(name(lldp.port.octets())));
    put("lifetime", json!(lldp.lifetime));
    let (mut others, mut faults) = (0, Vec::new());
    for tlv in lldp.tlvs.iter() {
        match tlv {
            Tlv::CongestionNotification(it) => {
                put("cn", json!({ "cnpvs": set(it.cnpvs), "ready": set(it.ready) }));
            }
            Tlv::EtsConfiguration(it) => {
                let mut own = ets(&it.ets);
                own["willing"] = json!(it.willing);
                own["shapers"] = json!(it.has_shapers);
                own["most_classes"] = json!(it.most_classes.get());
                put("ets", own);
            }
            Tlv::EtsRecommendation(it) => {
                put("ets_recommended", ets(&it));
            }
            Tlv::Pfc(it) => {
                put(
                    "pfc",
                    json!({
                        "willing": it.willing,
                        "bound_to_macsec": it.bound_to_macsec,
                        "capability": it.capability.get(),
                        "enabled": set(it.enabled),
                    }),
                );
            }
            Tlv::Applications(it) => {
                let line = it.iter().map(|it| {
                    json!({
                        "priority": it.priority.get(),
                        "selector": it.selector.to_string(),
                        "protocol": it.protocol,
                    })
                });
                put("applications", line.collect());
            }
            Tlv::CongestionIsolation(it) => {
                let roles = Priority::all().filter_map(|class| match it.queue_map.role(class) {
                    QueueRole::Monitored(partner) => {
                        Some((class, format!("monitored, congests into {partner}")))
                    }
                    QueueRole::Congesting(partner) => Some((class, format!("congesting queue of {partner}"))),
                    QueueRole::Apart => None,
                });
                put(
                    "isolation",
                    json!({
                        "classes": roles.map(|(class, role)| (class.to_string(), json!(role))).collect::<Map<_, _>>(),
                        "excerpt": it.excerpt,
                        "address": it.address.to_string(),
                        "port": it.port,
                        "ip": it.ip.map(|it| it.to_string()),
                    }),
                );
            }
            Tlv::Inactivity(it) => put("inactivity_us", json!(it.us)),
            Tlv::Other(it) => match it.fault() {
                Some(fault) => faults.push(json!(fault.to_string())),
                None => others += 1,
            },
        }
    }
    if others > 0 {
        put("other_tlvs", json!(others));
    }
    if !faults.is_empty() {
        put("broken_tlvs", Value::Array(faults));
    }
    Value::Object(fields)
}

fn ets(ets: &Ets) -> Value {
    json!({
        "classes": ets.classes.iter().map(|it| it.get()).collect::<Vec<_>>(),
        "shares": ets.shares,
        "selection": ets.selection.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "adds_up": ets.adds_up(),
    })
}

fn set(set: PrioritySet) -> Vec<u8> {
    set.iter().map(Priority::get).collect()
}

/// A name of LLDP: as text where it is some, else as octets.
fn name(octets: &[u8]) -> String {
    match str::from_utf8(octets) {
        Ok(text) if text.chars().all(|it| !it.is_control()) => text.to_owned(),
        _ => octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":"),
    }
}

/// Frames of data; those of a simulation carry their flow and number.
fn data(frame: &Frame<'_>) -> Value {
    let mut fields = json!({ "ether_type": frame.header.ether_type.to_string() });
    if frame.header.ether_type == EtherType::EXPERIMENT
        && let Some([a, b, c, d, e, f, g, h]) = frame.payload.first_chunk()
    {
        fields["flow"] = json!(u32::from_be_bytes([*a, *b, *c, *d]));
        fields["sequence"] = json!(u32::from_be_bytes([*e, *f, *g, *h]));
    }
    fields
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|it| it.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
    }

    fn of(hex: &str) -> Decoded {
        let octets = octets(hex);
        decode(&octets, octets.len() as u32, Ports::default())
    }

    #[test]
    fn a_notification_shows_every_field() {
        let decoded =
            of("020000000001 020000000c01 8100c064 22e90007 22e7 0025 020000000c010003 0078 fffb 6000
                          020000000002 0002 0800");
        assert_eq!(decoded.kind, "cnm");
        let meant = json!({
            "from": "02:00:00:00:0c:01",
            "to": "02:00:00:00:00:01",
            "priority": 6,
            "vlan": 100,
            "cn_tag": 7,
            "feedback": 37,
            "point": "02:00:00:00:0c:01/0003",
            "queue_offset": 7680,
            "queue_delta": -320,
            "sampled_priority": 3,
            "sampled_to": "02:00:00:00:00:02",
            "excerpt": "0800",
        });
        assert_eq!(Value::Object(decoded.fields), meant);
    }

    #[test]
    fn a_frame_cut_by_its_capture_is_not_malformed() {
        let whole = octets("020000000001 020000000c01 22e7 0025 020000000c010003");
        assert_eq!(decode(&whole, 60, Ports::default()).kind, "cut");
        let decoded = decode(&whole, whole.len() as u32, Ports::default());
        assert_eq!(decoded.kind, "malformed");
        assert_eq!(decoded.fields["fault"], "CNM is cut short: 10 octets, where it takes 24");
        assert_eq!(decoded.fields["from"], "02:00:00:00:0c:01", "what can be read is shown");
    }

    #[test]
    fn a_roce_frame_cut_by_its_capture_shows_its_headers() {
        let start = octets(
            "020000000001 020000000002 0800 456a05dc 0007 4000 40 11 209e 0a000002 0a000001
                            c001 12b7 05c8 0000 07 70 ffff 00 123456 80 abcdef 0000",
        );
        let decoded = decode(&start, 1514, Ports::default());
        assert_eq!(decoded.kind, "roce", "{:?}", decoded.fields);
        assert_eq!(
            (&decoded.fields["opcode"], &decoded.fields["payload"]),
            (&json!("write middle"), &Value::Null)
        );
    }

    #[test]
    fn every_tlv_is_shown_by_name() {
        let decoded = of("0180c200000e 020000000001 88cc 0207 04 020000000001 0403 07 7031 0602 0078
                          fe060080c208 08 08 fe060080c20b 88 18 fe0b0080c20c 00 61 8906 83 12b7
                          fe190080c209 c0 01234567 0a0a0a14140a0a0a 02020202020000ff
                          fe1b0080c213 000000fb04000000 0030 020000000001 1388 01 c000020a
                          fe05 0080c20808 0a02 7377 0000");
        assert_eq!(decoded.kind, "lldp");
        let fields = &decoded.fields;
        assert_eq!(fields["chassis"], "02:00:00:00:00:01");
        assert_eq!(fields["port_id"], "p1");
        assert_eq!(fields["cn"], json!({ "cnpvs": [3], "ready": [3] }));
        assert_eq!(fields["pfc"]["enabled"], json!([3, 4]));
        assert_eq!(fields["applications"][1]["protocol"], 4791);
        assert_eq!(fields["ets"]["selection"][7], "vendor");
        assert_eq!(fields["isolation"]["ip"], "192.0.2.10");
        assert_eq!(fields["isolation"]["classes"]["3"], "monitored, congests into 4");
        assert_eq!(fields["other_tlvs"], 1);
        assert_eq!(fields["broken_tlvs"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn data_of_a_simulation_shows_its_flow() {
        let decoded = of("020000000002 020000000001 8100 6001 88b5 00000007 0000002a 00");
        assert_eq!(
            (decoded.kind, &decoded.fields["flow"], &decoded.fields["sequence"]),
            ("data", &json!(7), &json!(42))
        );
    }
}
