//! Numbers of others: the critical delays and queue means that independent computations give for these models, and
//! the closed forms they follow from.

use quell_proto::control::ecm::{CongestionConfig, ReactionConfig};
use quell_theory::model::{Detail, Regime};
use quell_theory::trace::Start;
use quell_theory::{Critical, Dcqcn, Ecm, Model, Path, Qcn, Stability, Trace};

fn path(flows: u32, gbps: f64, delay_us: f64) -> Path {
    Path { flows, capacity: gbps * 1e9, line: gbps * 1e9, delay: delay_us * 1e-6, frame: 1500.0 }
}

/// A set point of 22 frames, w = 2, Gd = 1/128, a sample every 100 frames, 5 Mb/s.
fn qcn(path: Path) -> Qcn {
    Qcn {
        path,
        set_point: 33_000.0,
        weight: 2.0,
        sample_base: 150_000.0,
        largest_cut: 63.0 / 128.0,
        byte_reset: 150_000.0,
        recovery_cycles: 5.0,
        increase: 5e6,
        detail: Detail::Plain,
    }
}

fn critical_us(model: &Model) -> f64 {
    Stability::critical_delay(model).unwrap().delay().expect("some delay is too long") * 1e6
}

fn near(found: f64, wanted: f64, within: f64, what: &str) {
    assert!((found - wanted).abs() <= within * wanted.abs(), "{what}: {found}, not {wanted}");
}

#[test]
fn qcn_bears_the_delays_of_the_table() {
    const FLOWS: [u32; 6] = [1, 2, 4, 10, 20, 50];
    let rows: [(f64, [f64; 6]); 4] = [
        (1.0, [1606.0, 2120.0, 2513.0, 2853.0, 3000.0, 3101.0]),
        (10.0, [161.0, 212.0, 251.0, 285.0, 300.0, 310.0]),
        (40.0, [40.0, 53.0, 63.0, 71.0, 75.0, 78.0]),
        (100.0, [16.0, 21.0, 25.0, 29.0, 30.0, 31.0]),
    ];
    for (gbps, delays) in rows {
        for (flows, wanted) in FLOWS.into_iter().zip(delays) {
            let found = critical_us(&Model::Qcn(qcn(path(flows, gbps, 1.0))));
            assert!((found - wanted).abs() <= 0.6, "{gbps} Gb/s, N = {flows}: {found} us, not {wanted}");
        }
    }
}

#[test]
fn qcns_linearisation_is_its_closed_form() {
    // L(s) = Gd p C R (1 + s w/(C p)) (s + mu) / (s^2 (s + mu + A R/2)) e^-st, in frames and seconds.
    for flows in [1, 3, 17] {
        let model = qcn(path(flows, 10.0, 80.0));
        let (capacity, chance) = (10e9 / 8.0 / 1500.0, 0.01_f64);
        let share = capacity / f64::from(flows);
        let lost = (1.0 - chance).powf(-100.0) - 1.0;
        let (mu, fall) = (share * chance, chance / lost * share / 2.0);
        let gain = 63.0 / 128.0 / (5.0 * 22.0) * chance * capacity * share;
        let lead = 2.0 / (capacity * chance);
        let stability = &Stability::of(&Model::Qcn(model)).unwrap()[0];
        // The closed form leaves out what feedback at rest, a third of an octet, adds to the two integrators.
        for point in stability.bode(1e3, 1e6, 60) {
            let w = point.frequency;
            let size = gain * (1.0 + w * w * lead * lead).sqrt() * w.hypot(mu) / (w * w * w.hypot(mu + fall));
            let phase = (w * lead).atan() + (w / mu).atan()
                - (w / (mu + fall)).atan()
                - std::f64::consts::PI
                - w * 80e-6;
            near(point.gain, size, 1e-5, "gain");
            assert!((point.phase - phase).abs() < 1e-4, "at {w}: {} and {phase}", point.phase);
        }
    }
}

#[test]
fn what_the_phase_margin_leaves_is_the_delay_that_can_be_added() {
    let model = Model::Qcn(qcn(path(10, 10.0, 100.0)));
    let margin = Stability::of(&model).unwrap()[0].phase_margin().unwrap();
    near((100e-6 + margin.margin / margin.frequency) * 1e6, critical_us(&model), 1e-4, "delay");
    // At the critical delay neither margin is left.
    let edge = model.with_path(path(10, 10.0, critical_us(&model)));
    let stability = &Stability::of(&edge).unwrap()[0];
    assert!(stability.phase_margin().unwrap().margin.abs() < 1e-4);
    near(stability.gain_margin().unwrap().margin, 1.0, 1e-3, "gain margin");
}

#[test]
fn qcn_rests_where_the_closed_form_says() {
    let rest = Model::Qcn(qcn(path(2, 10.0, 1.0))).equilibrium().unwrap();
    assert!((rest.queue - 33_000.0 - 0.37).abs() < 0.005, "{}", rest.queue);
    near(rest.rate, 5e9, 1e-12, "rate");
}

/// Mean and standard deviation of the queue in kB over the second half of 0.4 s, begun 2 % above the fair share.
const QUEUES: [(u32, f64, f64, f64); 15] = [
    (2, 150.0, 33.1, 0.19),
    (2, 200.0, 31.8, 1.46),
    (2, 250.0, 12.8, 12.1),
    (2, 300.0, 9.1, 12.4),
    (2, 400.0, 6.4, 11.7),
    (10, 150.0, 33.3, 0.86),
    (10, 200.0, 32.3, 2.87),
    (10, 250.0, 28.3, 7.3),
    (10, 300.0, 18.5, 15.2),
    (10, 400.0, 15.1, 16.9),
    (20, 150.0, 33.5, 2.0),
    (20, 200.0, 31.8, 5.6),
    (20, 250.0, 26.0, 12.2),
    (20, 300.0, 20.0, 18.0),
    (20, 400.0, 18.4, 19.5),
];

/// QCN by Euler's method in frames and seconds, written down once more from the equations.
fn by_euler(flows: u32, delay: f64, step: f64) -> (f64, f64) {
    let (capacity, n, chance, set_point) = (10e9 / 8.0 / 1500.0, f64::from(flows), 0.01_f64, 22.0);
    let (largest, increase) = (5.0 * set_point, 5e6 / 8.0 / 1500.0);
    let gain = 63.0 / 128.0 / largest;
    let back = (delay / step).round() as usize;
    let steps = (0.4 / step).round() as usize;
    let lost = (1.0 - chance).powf(-100.0) - 1.0;
    let (mut queue, mut rate, mut target) = (set_point, 1.02 * capacity / n, 1.02 * capacity / n);
    let mut past: Vec<(f64, f64)> = Vec::with_capacity(steps);
    for index in 0..steps {
        past.push((queue, rate));
        let (queue_then, rate_then) = past[index.saturating_sub(back)];
        let raw = queue_then - set_point + 2.0 / (capacity * chance) * (n * rate_then - capacity);
        let feedback = raw.clamp(0.0, largest);
        let told = if feedback > 0.0 { chance } else { 0.0 };
        let (climbs, active) =
            if told > 0.0 { (told / lost, (1.0 - told).powf(500.0)) } else { (1.0 / 100.0, 1.0) };
        let rate_rise =
            -gain * feedback * rate * rate_then * told + (target - rate) / 2.0 * rate_then * climbs;
        let target_rise = -(target - rate) * rate_then * told + increase * rate_then * active * climbs;
        queue = (queue + step * (n * rate - capacity)).max(0.0);
        rate = (rate + step * rate_rise).min(capacity);
        target = (target + step * target_rise).min(capacity);
    }
    let late = &past[steps / 2..];
    let mean = late.iter().map(|it| it.0).sum::<f64>() / late.len() as f64;
    let square = late.iter().map(|it| (it.0 - mean).powi(2)).sum::<f64>() / late.len() as f64;
    (mean * 1.5, square.sqrt() * 1.5)
}

#[test]
fn eulers_method_gives_qcns_published_queues() {
    for (flows, delay, mean, deviation) in QUEUES {
        // Its step of 2 us reads the past a step late.
        let found = by_euler(flows, delay * 1e-6 + 2e-6, 2e-6);
        near(found.0, mean, 0.05, &format!("mean, {flows} flows, {delay} us"));
        near(found.1, deviation, 0.03, &format!("deviation, {flows} flows, {delay} us"));
    }
}

#[test]
fn our_solver_gives_what_eulers_method_tends_to() {
    for (flows, delay, ..) in QUEUES.into_iter().step_by(3) {
        let model = Model::Qcn(qcn(path(flows, 10.0, delay)));
        let trace = Trace::of(&model, Start { queue: 33_000.0, rate: 1.02 }, 0.4).unwrap();
        let found = trace.summary(&model, 0.2, f64::INFINITY);
        let (mean, deviation) = by_euler(flows, delay * 1e-6, 1e-7);
        near(found.mean / 1e3, mean, 0.01, &format!("mean, {flows} flows, {delay} us"));
        near(found.deviation / 1e3, deviation, 0.02, &format!("deviation, {flows} flows, {delay} us"));
    }
}

/// The parameters of "2-point QCN vs ECM" (IBM 2007), which are the protocol library's.
fn ecm(path: Path) -> Ecm {
    Ecm::of(path, &CongestionConfig::default(), &ReactionConfig::default())
}

#[test]
fn ecm_bears_the_delay_of_its_closed_form_in_each_regime() {
    for flows in [2, 6, 30] {
        let model = Model::Ecm(ecm(path(flows, 10.0, 10.0)));
        let (capacity, chance) = (10e9 / 8.0, 1500.0 / 75_000.0);
        let frames = capacity / 1500.0;
        let largest = 5.0 * 37_500.0 / 1500.0;
        for stability in Stability::of(&model).unwrap() {
            // K of s^2 + K (1 + s w/(C p)) e^-st, in frames.
            let k = match stability.regime {
                Regime::Increase => 0.1 * frames / largest * chance * frames,
                _ => 0.5 / largest * chance * frames * frames / f64::from(flows),
            };
            let lead = 2.0 / (frames * chance);
            // |L| = 1: w^4 = K^2 (1 + (w lead)^2).
            let square = k * k * lead * lead;
            let w = ((square + (square * square + 4.0 * k * k).sqrt()) / 2.0).sqrt();
            let Critical::At { delay, frequency } = stability.critical() else { panic!("{stability:?}") };
            near(frequency, w, 1e-6, "frequency");
            near(delay, (w * lead).atan() / w, 1e-6, "delay");
        }
    }
}

fn dcqcn(flows: u32, delay_us: f64) -> Dcqcn {
    Dcqcn::published(Path { frame: 1000.0, ..path(flows, 40.0, delay_us) })
}

fn dcqcn_queue(model: Dcqcn) -> (f64, f64) {
    let model = Model::Dcqcn(model);
    let trace = Trace::of(&model, Start { queue: 0.0, rate: 1.0 }, 0.3).unwrap();
    let found = trace.summary(&model, 0.2, f64::INFINITY);
    (found.mean / 1e3, found.deviation / 1e3)
}

#[test]
fn dcqcn_has_the_queues_of_the_table() {
    for (flows, delay, mean, deviation) in [
        (2, 4.0, 20.2, 0.0),
        (4, 4.0, 41.8, 0.0),
        (10, 4.0, 122.6, 0.0),
        (4, 85.0, 41.3, 31.8),
        (10, 85.0, 55.4, 78.8),
    ] {
        let found = dcqcn_queue(dcqcn(flows, delay));
        near(found.0, mean, 0.01, &format!("mean, {flows} flows, {delay} us"));
        assert!(
            (found.1 - deviation).abs() <= 0.02 * deviation + 0.05,
            "{flows} flows, {delay} us: {found:?}"
        );
    }
    // Two flows at 85 us are just short of their critical delay and ring on for long. The table has a deviation of
    // 6.4 kB, by Euler's method with steps of 1 us, which itself makes a motion of this frequency grow.
    near(dcqcn_queue(dcqcn(2, 85.0)).0, 20.0, 0.01, "mean, 2 flows, 85 us");
    near(critical_us(&Model::Dcqcn(dcqcn(2, 85.0))), 85.0, 0.01, "critical delay of 2 flows");
    for (flows, mean) in [(2, 15.1), (10, 85.5)] {
        let found = dcqcn_queue(Dcqcn { increase: 10e6, ..dcqcn(flows, 85.0) });
        near(found.0, mean, 0.01, "mean at 10 Mb/s");
        assert!(found.1 < 0.05, "{flows} flows at 10 Mb/s: {found:?}");
    }
}

#[test]
fn dcqcn_with_many_flows_has_nowhere_to_rest() {
    let why = Model::Dcqcn(dcqcn(16, 4.0)).equilibrium().unwrap_err().to_string();
    assert!(why.contains("16 flows need 1.09 % of frames marked"), "{why}");
}

/// How much larger the last swings of a small disturbance are than the first.
fn swell(model: Model, delay: f64, push: f64, periods: f64) -> f64 {
    let model = model.with_path(Path { delay, ..*model.path() });
    let rest = model.equilibrium().unwrap();
    let Critical::At { frequency, .. } = Stability::critical_delay(&model).unwrap() else {
        panic!("{model:?}")
    };
    let period = std::f64::consts::TAU / frequency;
    let trace = Trace::disturbed(&model, push, period * periods).unwrap();
    let swing = |from: f64| {
        let range = (from * period / trace.step) as usize..((from + 1.5) * period / trace.step) as usize;
        trace.queue[range].iter().map(|it| (it - rest.queue).abs()).fold(0.0, f64::max)
    };
    swing(periods - 2.0) / swing(4.0)
}

#[test]
fn a_small_disturbance_dies_just_below_the_critical_delay_and_grows_just_above() {
    // QCN is smooth only as far as feedback stays above zero, and at rest that is a third of an octet.
    let qcn = Model::Qcn(qcn(path(10, 10.0, 1.0)));
    let dcqcn = Model::Dcqcn(dcqcn(4, 1.0));
    for (model, push) in [(qcn, 1e-9), (dcqcn, 1e-5)] {
        let critical = Stability::critical_delay(&model).unwrap().delay().unwrap();
        let (below, above) =
            (swell(model, critical * 0.98, push, 40.0), swell(model, critical * 1.02, push, 40.0));
        assert!(below < 0.7, "{}: {below} below {critical}", model.name());
        assert!(above > 1.4, "{}: {above} above {critical}", model.name());
    }
}

#[test]
fn ecm_dies_below_both_of_its_critical_delays_and_grows_above_both() {
    let model = Model::Ecm(ecm(path(6, 10.0, 1.0)));
    let delays =
        Stability::of(&model).unwrap().iter().map(|it| it.critical().delay().unwrap()).collect::<Vec<_>>();
    let (least, most) = (delays[0].min(delays[1]), delays[0].max(delays[1]));
    assert!(swell(model, least * 0.97, 1e-5, 30.0) < 0.7);
    assert!(swell(model, most * 1.03, 1e-5, 30.0) > 1.4);
}

#[test]
fn parameters_without_a_model_are_explained() {
    let base = qcn(path(10, 10.0, 100.0));
    let why = |model: Qcn| Model::Qcn(model).equilibrium().unwrap_err().to_string();
    assert_eq!(
        why(Qcn { path: path(0, 10.0, 1.0), ..base }),
        "there are no flows: a model needs at least one"
    );
    assert_eq!(why(Qcn { set_point: 0.0, ..base }), "the set point is 0; it must be more than zero");
    assert_eq!(why(Qcn { weight: f64::NAN, ..base }), "the weight is NaN; it must be zero or more");
    let greedy = why(Qcn { increase: 1e18, ..base });
    assert!(greedy.starts_with("there is no equilibrium: an increase of"), "{greedy}");
    let idle = why(Qcn { path: Path { line: 1e8, ..base.path }, ..base });
    assert!(idle.ends_with("at least its share: nothing is congested otherwise"), "{idle}");
    let short = Trace::of(&Model::Qcn(base), Start { queue: 0.0, rate: 1.0 }, 50e-6).unwrap_err().to_string();
    assert!(short.starts_with("the feedback is 100.0 us late and only 50.0 us are looked at"), "{short}");
}
