//! `quell bench`: the works, their counts, and what is said of a work that is not there.

use crate::support::Desk;

#[test]
fn a_work_is_measured_and_its_counts_are_those_of_other_simulators() {
    let said = Desk::new().json("bench incast-open --times 1 --json");
    let work = &said["works"][0];
    assert_eq!(work["work"], "bench/incast-open");
    assert_eq!(work["checks"], true);
    // 749 990 by other simulators, which count the frames in flight at the end differently.
    let hops = work["frame_hops"].as_u64().unwrap();
    assert!(hops.abs_diff(749_990) <= 10, "{hops}");
    assert!(work["ns_per_hop"].as_f64().unwrap() > 1.0);
    assert!(work["bare_ns_per_hop"].as_f64().unwrap() > 1.0);
    assert!(work["peak_memory_bytes"].as_u64().unwrap() > 1_000_000);
}

#[test]
fn hops_are_those_of_other_simulators_and_one_for_each_link_that_is_sending() {
    let said = Desk::new().json("bench permutation-open-16 --times 1 --json");
    // Three simulators count 156 363 frames that have left. Ours counts them when they begin to: at the end that is one more on
    // almost each of the 96 links in use.
    let hops = said["works"][0]["frame_hops"].as_u64().unwrap();
    assert!((90..=96).contains(&(hops - 156_363)), "{hops}");
}

#[test]
fn a_work_can_be_measured_with_other_values_and_is_not_compared_then() {
    let desk = Desk::new();
    let work = |sets: &str| {
        desk.json(&format!("bench permutation-open-16 --times 1 --json {sets}"))["works"][0].clone()
    };
    let (whole, half) = (work(""), work("--set run.length=100us"));
    let hops = |work: &serde_json::Value| work["frame_hops"].as_u64().unwrap();
    assert!(hops(&half) > hops(&whole) / 3 && hops(&half) < hops(&whole) * 2 / 3, "{half} of {whole}");
    assert!(whole["checks"] == true && half["checks"].is_null());
    let did = desk.quell("bench permutation-open-16 --set run.sampel=10us");
    did.exits(2);
    assert!(did.stderr.contains("run.sample"), "{}", did.stderr);
    desk.quell("bench permutation-open-16 --set run.sample=10us --save base.json").exits(2);
}

#[test]
fn threads_that_a_network_cannot_use_are_not_measured_twice() {
    let did = Desk::new().quell("bench permutation-open-16 --threads 1,2 --times 1");
    did.exits(0);
    assert!(did.stderr.contains("2 threads are as good as 1, which was measured"), "{}", did.stderr);
    assert!(!did.stdout.contains("× one thread"), "{}", did.stdout);
}

#[test]
fn what_was_measured_is_shown_even_if_it_cannot_be_saved() {
    let did = Desk::new().quell("bench permutation-open-16 --times 1 --save nowhere/base.json");
    did.exits(4);
    assert!(did.stdout.contains("bench/permutation-open-16"), "{}", did.stdout);
}

#[test]
fn a_work_that_is_not_there_is_answered_with_those_that_are() {
    let did = Desk::new().quell("bench incast-open incest-open");
    did.exits(2);
    assert!(did.stderr.contains("no work is called `incest-open`"), "{}", did.stderr);
    assert!(did.stderr.contains("incast-lossless"), "{}", did.stderr);
}

#[test]
fn a_baseline_that_is_none_is_refused_before_anything_is_measured() {
    let desk = Desk::new();
    desk.write("base.json", "{\n \"works\": 3\n}");
    let did = desk.quell("bench incast-open --against base.json");
    did.exits(2);
    assert!(did.stderr.contains("base.json:2: not a baseline"), "{}", did.stderr);
    assert!(did.stderr.contains("--save"), "{}", did.stderr);
}

#[test]
fn a_work_that_names_a_file_of_data_can_be_begun() {
    let did = Desk::new().quell("bench bench/uniform-1152 --beginning 1000000");
    did.exits(0);
    assert!(did.stdout.trim().parse::<u64>().is_ok_and(|hops| hops > 0), "{}", did.stdout);
}

#[test]
fn several_numbers_of_threads_are_measured_and_drawn() {
    let desk = Desk::new();
    let did = desk.quell("bench permutation-open-128 --threads 1,2 --times 1 --out pictures");
    did.exits(0);
    assert!(did.stdout.contains("× one thread"), "{}", did.stdout);
    let table = desk.read("pictures/threads.csv");
    let rows = table.lines().filter(|it| it.contains(",permutation-open-128,")).count();
    assert_eq!(rows, 2, "{table}");
    assert!(desk.read("pictures/threads.svg").contains("times as fast as one thread"));
}

#[test]
fn works_of_one_family_are_drawn_by_their_hosts() {
    let desk = Desk::new();
    desk.quell("bench permutation-open-16 permutation-open-128 incast-* --times 1 --out pictures").exits(0);
    let table = desk.read("pictures/memory.csv");
    assert!(table.contains(",permutation-open,16,") && table.contains(",permutation-open,128,"), "{table}");
    assert!(!table.contains("incast"), "two works of one size are no family: {table}");
    assert!(desk.read("pictures/cost.csv").contains("Time,permutation-open,16,"));
}
