//! `quell theory` and `quell run --overlay`: what models say, and what they say they cannot.

use crate::support::{Desk, files};
use quell_record::claim::{Bound, Metric};
use quell_sim::scenario::{self, Request};

/// Scenarios whose targets a model gave, and how many those are.
const MODELLED: [(&str, &str, usize); 2] = [
    ("theory/fluid", include_str!("../../../../scenarios/theory/fluid.toml"), 20),
    ("theory/ecm", include_str!("../../../../scenarios/theory/ecm.toml"), 12),
];

#[test]
fn the_critical_delays_are_a_table() {
    let did = Desk::new().quell("theory critical-delay");
    did.exits(0);
    insta::assert_snapshot!(did.stdout, @"
    QCN, 10 flows, 10 Gb/s, 100 µs of delay: stable; critical delay 285 µs

           flows         1         2         4        10        20        50
          1 Gb/s   1.61 ms   2.12 ms   2.51 ms   2.85 ms   3.00 ms   3.10 ms
         10 Gb/s    161 µs    212 µs    251 µs    285 µs    300 µs    310 µs
         40 Gb/s   40.1 µs   53.0 µs   62.8 µs   71.3 µs   75.0 µs   77.5 µs
        100 Gb/s   16.1 µs   21.2 µs   25.1 µs   28.5 µs   30.0 µs   31.0 µs
    ");
}

#[test]
fn every_answer_comes_as_words_a_document_and_a_picture() {
    let desk = Desk::new();
    for question in [
        "bode --model ecm --flows 6",
        "map --model dcqcn --across delay=5us..200us:8 --up flows=2..40:8",
        "fluid --model dcqcn --flows 4 --delay 85us --span 40ms",
        "portrait --delay 150us",
        "admission --law linear",
    ] {
        let verb = question.split(' ').next().unwrap();
        let words = desk.quell(&format!("theory {question} --out pictures"));
        words.exits(0);
        assert!(words.stdout.contains(&format!("wrote pictures/{verb}.svg")), "{words:?}");
        let document = desk.json(&format!("theory {question} --json")).to_string();
        for text in [
            words.stdout,
            document,
            desk.read(&format!("pictures/{verb}.svg")),
            desk.read(&format!("pictures/{verb}.csv")),
        ] {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{question}: {text}");
        }
    }
}

#[test]
fn margins_shrink_with_delay_and_are_gone_at_the_critical_one() {
    let desk = Desk::new();
    let margin = |delay: &str| {
        let document = desk.json(&format!("theory bode --flows 10 --delay {delay} --json"));
        document["loops"][0]["phase_margin"]["margin"].as_f64().expect("a margin")
    };
    assert!(margin("50us") > margin("200us") && margin("200us") > 0.0);
    assert!(margin("284us") > 0.0 && margin("287us") < 0.0);
}

#[test]
fn a_loop_of_long_delay_has_margins_and_says_by_how_many_turns_it_is_late() {
    let desk = Desk::new();
    for delay in ["100ms", "1s"] {
        let words = desk.quell(&format!("theory bode --flows 10 --delay {delay}"));
        words.exits(0);
        assert!(words.stdout.contains("whole turns late"), "{delay}: {words:?}");
        assert!(!words.stdout.contains("gain margin    none"), "{delay}: {words:?}");
        let document = desk.json(&format!("theory bode --flows 10 --delay {delay} --json"));
        let gain = document["loops"][0]["gain_margin"]["margin"].as_f64().expect("a margin");
        assert!(gain > 0.0 && gain < 1.0, "{delay}: far beyond the critical delay, {gain}");
    }
}

#[test]
fn what_has_no_answer_is_explained() {
    let desk = Desk::new();
    for (question, words) in [
        ("bode --flows 0", "there are no flows: a model needs at least one"),
        ("bode --with set-point=0B", "the set point is 0; it must be more than zero"),
        ("bode --with set-pint=1kB", "is it `set-point`?"),
        ("bode --with k-max=1MB", "QCN has no k-max"),
        ("bode --delay 5kB", "expected a time"),
        ("bode --model dcqcn --flows 32", "there is no equilibrium: 32 flows need"),
        ("fluid --delay 10ms --span 5ms", "the feedback is 10000.0 us late and only 5000.0 us are looked at"),
        ("fluid --span 10000s", "look at a shorter time"),
        (
            "fluid --flows 1 --rate 10kb/s",
            "a flow's share, in bits per second, is 10000; it must be a frame a second or more",
        ),
        ("bode --delay -5us", "delay is `-5us`: expected a time"),
        ("admission --offered -1", "the offered rate is -1; it must be more than zero"),
        ("map --across delay=1ms..20us", "a range must end above its start"),
        ("map --across delay=1us", "that is no range"),
        ("map --across delay=1us..1ms:1", "no number of steps"),
        ("map --across flows=1..9", "both axes are `flows`"),
        ("admission --refusal 0", "the cost of turning away is 0; it must be more than zero"),
        (
            "admission --offered 1e20",
            "over the service rate is 100000000000000000000; it must be 0.000001 to 1000000",
        ),
        ("admission --holding 1e308", "it must be 0.000001 to 1000000"),
        ("admission --refusal 1e300 --offered 1e10", "it must be 0.000001 to 1000000"),
        ("fluid ibm/s1 --config ecm", "have different demands, and the model's are equal"),
        ("fluid qau/b2", "it has 5 switches, and the model has one queue"),
        ("fluid qau/b1 --config pause-only/2G/short", "it has no congestion control"),
        ("fluid qau/b1 --config outputs/2G/shrot", "there is no configuration `outputs/2G/shrot`"),
        ("fluid qau/b1 --port s1->h99", "`s1->h99` is not one of its ports towards hosts"),
    ] {
        let did = desk.quell(&format!("theory {question}"));
        did.exits(2);
        assert!(did.stderr.contains(words), "{question}: {did:?}");
        assert_eq!(did.stdout, "", "{question}");
    }
}

#[test]
fn a_model_is_followed_until_it_has_settled_and_says_if_it_has_not() {
    let desk = Desk::new();
    let late = &desk.json("theory fluid --json")["late"];
    assert_eq!(late["settled"], true);
    let (queue, load) = (late["queue_mean"].as_f64().unwrap(), late["load"].as_f64().unwrap());
    assert!(queue > 20e3 && (0.98..1.02).contains(&load), "{late}");
    let late = &desk.json("theory fluid --span 100ms --json")["late"];
    assert_eq!(late["settled"], false, "{late}");
    let words = desk.quell("theory fluid --span 100ms");
    words.exits(0);
    assert!(words.stdout.contains("no: the halves of this time differ"), "{words:?}");
}

#[test]
fn a_scenario_gives_the_model_its_numbers() {
    let document = Desk::new().json("theory fluid qau/b1 --config outputs/1G/long --span 400ms --json");
    assert_eq!(document["port"], "s1->h10");
    let parameters = &document["parameters"];
    assert_eq!((parameters["flows"].as_f64(), parameters["rate"].as_f64()), (Some(9.0), Some(1e9)));
    assert_eq!(parameters["set-point"].as_f64(), Some(33_000.0));
    // Two wires of 1 us, a frame and a notification.
    let delay = parameters["delay"].as_f64().unwrap();
    assert!((3.2e-6..3.4e-6).contains(&delay), "{delay}");
    let queue = document["late"]["queue_mean"].as_f64().unwrap();
    assert!((30e3..40e3).contains(&queue), "{queue}");
}

#[test]
fn a_run_is_drawn_under_its_model_and_says_where_there_is_none() {
    let desk = Desk::with_tiny();
    let did = desk.quell("run tiny.toml --out out --overlay fluid --quiet");
    did.exits(0);
    assert!(did.stderr.contains("No fluid model for pause-only: it has no congestion control."), "{did:?}");
    let figures = files(&desk.path("out/figures"));
    let csv = figures.iter().find(|it| it.ends_with(".csv")).expect("a figure's numbers");
    let csv = desk.read(&format!("out/figures/{csv}"));
    assert!(csv.lines().any(|line| line.contains("\"qcn, fluid model\"")), "{csv}");
    assert!(desk.read("out/report.html").contains("No fluid model for pause-only"));
}

#[test]
fn rates_and_queues_of_a_recording_are_correlated() {
    let desk = Desk::with_tiny();
    desk.quell("run tiny.toml --out out --quiet").exits(0);
    let line = "theory correlation out --config qcn --flow h1->h3 --queue s1->h3 --lag 100us --lags 10";
    let document = desk.json(&format!("{line} --json"));
    let found = &document["correlation"];
    assert_eq!((found["rates"].as_array().unwrap().len(), found["lags"].as_array().unwrap().len()), (40, 21));
    let coefficient = found["coefficient"].as_f64().unwrap();
    assert!((-1.0..=1.0).contains(&coefficient));
    desk.quell(line).exits(0);
    let wrong = desk.quell("theory correlation out --config qcn --flow h1->h3 --queue s1->h4");
    wrong.exits(2);
    assert!(wrong.stderr.contains("there is no port or input `s1->h4`"), "{wrong:?}");
    let short = desk.quell("theory correlation out --config qcn --flow h1->h3 --queue s1->h3 --lag 1ms");
    short.exits(2);
    assert!(short.stderr.contains("there are 4 values; at least 8 are needed"), "{short:?}");
    let fine = desk.quell("theory correlation out --config qcn --flow h1->h3 --queue s1->h3 --lag 1us");
    fine.exits(2);
    assert!(fine.stderr.contains("`--lag` is 1us, and the recording has a sample every 100"), "{fine:?}");
    assert!(fine.stderr.contains("take longer steps"), "{fine:?}");
}

#[test]
fn the_targets_of_the_packets_are_what_the_model_gives() {
    let desk = Desk::new();
    for (id, text, targets) in MODELLED {
        let request = Request::plain("modelled.toml", text);
        let claims = scenario::read(request).expect("it is in the catalogue").claims;
        let stated = claims.iter().filter_map(|claim| match claim.bound {
            Some(Bound::Near { target, .. }) => Some((claim, target)),
            _ => None,
        });
        let mut compared = 0;
        for (claim, target) in stated {
            for configuration in &claim.configurations {
                let document = desk.json(&format!("theory fluid {id} --config {configuration} --json"));
                let late = &document["late"];
                let modelled = match claim.measure.metric {
                    Metric::Queue => late["queue_mean"].as_f64(),
                    _ => late["period"]["seconds"].as_f64(),
                };
                let modelled = modelled.unwrap_or_else(|| panic!("{configuration}: {document}"));
                let off = (modelled / target - 1.0).abs();
                assert!(off < 0.01, "{configuration}: `{}` says {target}, the model {modelled}", claim.text);
                compared += 1;
            }
        }
        assert_eq!(compared, targets, "{id}");
    }
}
