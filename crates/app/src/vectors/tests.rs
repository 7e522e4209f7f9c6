//! The vectors say what published numbers say, and leave no format out.

use super::frames::octets;
use super::*;
use quell_proto::wire::{Ports, parse};
use std::collections::BTreeSet;

fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document[name].as_array().unwrap_or_else(|| panic!("no {name}"))
}

fn named<'a>(document: &'a Value, list_name: &str, name: &str) -> &'a Value {
    let found = list(document, list_name).iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list_name}"))
}

#[test]
fn every_format_has_a_vector_and_every_good_one_survives_the_wire() {
    let document = all();
    let kinds: BTreeSet<&str> =
        list(&document, "frames").iter().filter_map(|it| it["expect"]["kind"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["cim", "cnm", "cnp", "data", "lldp", "pause", "pfc", "roce"]));
    for vector in list(&document, "frames") {
        let octets = octets(vector["octets"].as_str().unwrap());
        let frame =
            Ports { cim: Some(5000) }.parse(&octets).unwrap_or_else(|error| panic!("{vector}: {error}"));
        let mut again = vec![0xa5; 2048];
        let length = frame.emit(&mut again).unwrap();
        assert_eq!(again[..length], octets, "{vector}");
        assert!(vector["expect"]["fields"].get("broken_tlvs").is_none(), "{vector}");
    }
}

#[test]
fn every_broken_frame_is_refused() {
    let document = all();
    for vector in list(&document, "broken_frames") {
        assert_eq!(vector["expect"]["kind"], "malformed", "{vector}");
        assert!(vector["expect"]["fault"].is_string(), "{vector}");
        assert!(parse(&octets(vector["octets"].as_str().unwrap())).is_err(), "{vector}");
    }
}

/// The worked traces of the reference, in bits per second.
#[test]
fn reaction_points_follow_the_worked_traces() {
    let document = all();
    let limits = |name: &str| -> Vec<Option<u64>> {
        let steps = named(&document, "reaction_points", name)["steps"].as_array().unwrap();
        steps.iter().map(|it| it["expect"]["limit_bps"].as_u64()).collect()
    };
    let standard = limits("cut to the half and back by octets, by the standard");
    let meant = [
        5_078_125_000,
        7_539_062_500,
        8_769_531_250,
        9_384_765_625,
        9_692_382_812,
        9_848_691_406,
        9_929_345_703,
        9_972_172_851,
        9_996_086_425,
    ];
    assert_eq!(standard[..9], meant.map(Some));
    assert_eq!(standard[9], None, "released");
    let pseudo_code = limits("cut to the half and back by octets, by the pseudo-code");
    assert_eq!(pseudo_code[5], Some(9_846_191_406));
    let burst = limits("a burst of cuts keeps its goal, and approaches it by eighths");
    assert_eq!(
        burst,
        [
            5_078_125_000,
            2_578_735_351,
            1_309_514_045,
            664_987_601,
            337_689_016,
            793_844_508,
            1_021_922_254,
            942_084_577,
            982_003_416,
            1_001_962_835,
        ]
        .map(Some)
    );
}

#[test]
fn the_quantiser_steps_where_the_reference_says() {
    let document = all();
    let steps =
        named(&document, "congestion_points", "edges of the quantiser, 63/F")["steps"].as_array().unwrap();
    let of = |badness: u64| {
        let queued = 26_000 + badness;
        let found: Vec<&Value> = steps.iter().filter(|it| it["queued"] == queued).collect();
        found.last().unwrap_or_else(|| panic!("{badness}"))["expect"]["cnm"]["feedback"].as_u64().unwrap_or(0)
    };
    assert_eq!([of(2_063), of(2_064), of(129_999), of(130_000)], [0, 1, 62, 63]);
}

#[test]
fn a_queue_that_fills_is_told_of() {
    let document = all();
    for vector in list(&document, "congestion_points") {
        let steps = vector["steps"].as_array().unwrap();
        let told = steps.iter().filter(|it| !it["expect"].is_null()).count();
        assert!(told > 0 && told < steps.len(), "{}: {told} of {}", vector["name"], steps.len());
    }
}

#[test]
fn domain_defence_is_the_whole_table() {
    let document = all();
    assert_eq!(list(&document, "domain_defence").len(), 7 * 9);
}
