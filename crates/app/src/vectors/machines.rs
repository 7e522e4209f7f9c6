//! The machines, step by step.

use quell_proto::control::domain_defence::{Choice, Defence, DefenceEvent, DomainDefence};
use quell_proto::control::qcn::{
    CongestionConfig, CongestionPoint, Phase, Profile, QcnReaction, Quantiser, ReactionConfig, Sample,
};
use quell_proto::control::{Feedback, ReactionPoint};
use quell_proto::dice::Dice;
use quell_proto::units::{Bytes, Duration, Instant, Quanta, Rate};
use serde_json::{Value, json};

const FRAME: Bytes = Bytes::new(1500);

/// Congestion points: frames that arrive, and samples.
pub(super) fn congestion_points() -> Vec<Value> {
    let steady = |profile: Profile| CongestionConfig { sample_jitter_percent: 0, ..profile.congestion() };
    let standard = steady(Profile::Standard);
    let with = |quantiser| CongestionConfig { quantiser, ..standard };
    vec![
        ramp("a queue that fills and drains, by the standard", standard),
        ramp("a queue that fills and drains, by the pseudo-code", steady(Profile::PseudoCode)),
        ramp("half the weight", CongestionConfig { weight_log2: -1, ..standard }),
        ramp("another sample base", CongestionConfig { sample_base: Bytes::new(100_000), ..standard }),
        edges("edges of the quantiser, 63/F", with(Quantiser::SixtyThreeths)),
        edges("edges of the quantiser, 64/F", with(Quantiser::SixtyFourths)),
        edges("edges of the quantiser, top bits", with(Quantiser::TopBits)),
        unanswerable(standard),
    ]
}

/// Full frames into a queue that grows by 600 octets a frame up to 240 kB, and then shrinks as fast.
fn ramp(name: &str, config: CongestionConfig) -> Value {
    let mut point = CongestionPoint::new(config, Dice::new(1, 0, 0));
    let up = (1..=400_u64).map(|frame| frame * 600);
    let down = (0..400_u64).rev().map(|frame| frame * 600);
    let steps = up.chain(down).map(|queued| {
        let sample = point.on_arrival(FRAME, Bytes::new(queued), true);
        json!({ "arrives": FRAME.get(), "queued": queued, "expect": told(sample) })
    });
    json!({ "name": name, "parameters": congestion(&config), "steps": steps.collect::<Vec<_>>() })
}

/// Clock samples of queues of a steady length, just below and at each step of the feedback.
fn edges(name: &str, config: CongestionConfig) -> Value {
    let mut point = CongestionPoint::new(config, Dice::new(1, 0, 0));
    let set_point = config.set_point.get();
    let most = 5 * set_point;
    let around = (0..=64_u64).flat_map(|step| {
        let edge = (step * most).div_ceil(63);
        [edge.saturating_sub(1), edge]
    });
    let queues: Vec<u64> = around.map(|badness| set_point + badness).collect();
    // The first sample of a length has seen the queue grow to it; the second has not.
    let steps = queues.into_iter().flat_map(|queued| [queued; 2]).map(|queued| {
        let sample = point.on_clock(Bytes::new(queued));
        json!({ "clock": true, "queued": queued, "expect": told(sample) })
    });
    json!({ "name": name, "parameters": congestion(&config), "steps": steps.collect::<Vec<_>>() })
}

/// A sample that falls due on a frame whose source cannot be told waits for the next.
fn unanswerable(config: CongestionConfig) -> Value {
    let mut point = CongestionPoint::new(config, Dice::new(1, 0, 0));
    let steps = (1..=110_u64).map(|frame| {
        let answerable = !(95..=105).contains(&frame);
        let sample = point.on_arrival(FRAME, Bytes::from_kb(100), answerable);
        let queued = 100_000;
        json!({ "arrives": FRAME.get(), "queued": queued, "answerable": answerable, "expect": told(sample) })
    });
    let name = "a sample that nobody can be told waits for the next frame";
    json!({ "name": name, "parameters": congestion(&config), "steps": steps.collect::<Vec<_>>() })
}

fn told(sample: Option<Sample>) -> Value {
    sample.map_or(Value::Null, |Sample { quantised, offset, delta }| {
        json!({ "cnm": { "feedback": quantised, "offset": offset, "delta": delta } })
    })
}

fn congestion(config: &CongestionConfig) -> Value {
    json!({
        "cpQsp": config.set_point.get(),
        "cpW_log2": config.weight_log2,
        "cpSampleBase": config.sample_base.get(),
        "quantiser": match config.quantiser {
            Quantiser::SixtyThreeths => "63/F",
            Quantiser::SixtyFourths => "64/F",
            Quantiser::TopBits => "top bits",
        },
        "sample_jitter_percent": config.sample_jitter_percent,
    })
}

/// What happens to a reaction point.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Cnm(u8),
    /// So many full frames are sent, 1.2 us apart.
    Sends(u32),
    /// The next timer comes.
    Timer,
    Paused,
    Resumed,
}

/// Reaction points: notifications, frames sent, timers, pauses.
pub(super) fn reaction_points() -> Vec<Value> {
    use Happens::{Cnm, Paused, Resumed, Sends, Timer};
    // Octets below zero end a byte cycle of 150,000: the 101st full frame does.
    let cycle = Sends(101);
    let standard = ReactionConfig { min_rate: Rate::from_mbps(10), ..steady(Profile::Standard) };
    let pseudo_code = steady(Profile::PseudoCode);
    let recovery: Vec<Happens> = [vec![Cnm(63)], vec![cycle; 10]].concat();
    let by_time: Vec<Happens> = [vec![Cnm(63)], vec![Timer; 14]].concat();
    let burst = [vec![Cnm(63); 5], vec![cycle, cycle, Cnm(10), cycle, Timer]].concat();
    let hyper = [vec![Cnm(63); 4], [cycle, Timer].repeat(20)].concat();
    let pause = vec![Cnm(40), Paused, Sends(1), Resumed, Timer, Cnm(1), cycle];
    let frozen = ReactionConfig { freeze_timer_while_paused: true, ..standard };
    let odd: Vec<Happens> = (0..64).map(Cnm).collect();
    vec![
        life("cut to the half and back by octets, by the standard", standard, &recovery),
        life("cut to the half and back by octets, by the pseudo-code", pseudo_code, &recovery),
        life("cut to the half and back by time, by the standard", standard, &by_time),
        life("a burst of cuts keeps its goal, and approaches it by eighths", standard, &burst),
        life("hyper-active increase, by the standard", standard, &hyper),
        life("hyper-active increase, by the pseudo-code", pseudo_code, &hyper),
        life("a pause does not stop the timer", standard, &pause),
        life("a pause stops the timer, where that is set", frozen, &pause),
        life("every feedback, one after the other", standard, &odd),
    ]
}

fn steady(profile: Profile) -> ReactionConfig {
    ReactionConfig { reload_jitter_percent: 0, ..profile.reaction(Rate::from_gbps(10)) }
}

fn life(name: &str, config: ReactionConfig, happens: &[Happens]) -> Value {
    const GAP: Duration = Duration::from_ns(1200);
    let mut point = QcnReaction::new(config, Dice::new(1, 0, 0));
    let mut now = Instant::START;
    let mut steps = Vec::new();
    for it in happens {
        let began = now;
        let input = match *it {
            Happens::Cnm(quantised) => {
                point.on_feedback(now, Feedback::Cnm { quantised });
                json!({ "cnm": { "feedback": quantised } })
            }
            Happens::Sends(frames) => {
                for _ in 0..frames {
                    point.on_sent(now, FRAME);
                    now = now + GAP;
                }
                json!({ "sends": { "frames": frames, "octets": FRAME.get(), "apart_ps": GAP.ps() } })
            }
            Happens::Timer => {
                let Some(due) = point.next_timeout() else { break };
                now = due.max(now);
                point.on_timeout(now);
                json!({ "timer": true })
            }
            Happens::Paused => {
                point.on_paused(now);
                json!({ "paused": true })
            }
            Happens::Resumed => {
                point.on_resumed(now);
                json!({ "resumed": true })
            }
        };
        let at = if matches!(it, Happens::Timer) { now } else { began };
        let mut step = json!({ "at_ps": at.ps() });
        if let (Value::Object(step), Value::Object(input)) = (&mut step, input) {
            step.extend(input);
        }
        step["expect"] = state(&point);
        steps.push(step);
    }
    json!({ "name": name, "parameters": reaction(&config), "steps": steps })
}

fn state(point: &QcnReaction) -> Value {
    let (byte_stage, time_stage) = point.stages();
    json!({
        "limit_bps": point.limit().map(Rate::bps),
        "target_bps": point.target().bps(),
        "phase": match point.phase() {
            Phase::FastRecovery => "fast recovery",
            Phase::ActiveIncrease => "active increase",
            Phase::HyperActiveIncrease => "hyper-active increase",
        },
        "rpByteStage": byte_stage,
        "rpTimeStage": time_stage,
        "timer_ps": point.next_timeout().map(Instant::ps),
    })
}

fn reaction(config: &ReactionConfig) -> Value {
    json!({
        "rpgMaxRate_bps": config.max_rate.bps(),
        "rpgMinRate_bps": config.min_rate.bps(),
        "rpgGd_log2": config.gd_log2,
        "rpgMinDecFac_percent": config.min_decrease_percent,
        "rpgByteReset": config.byte_reset.get(),
        "rpgTimeReset_ps": config.time_reset.ps(),
        "rpgThreshold": config.threshold,
        "rpgAiRate_bps": config.ai_rate.bps(),
        "rpgHaiRate_bps": config.hai_rate.bps(),
        "reload_jitter_percent": config.reload_jitter_percent,
        "half_reload_in_ai": config.half_reload_in_ai,
        "recovery_includes_threshold": config.recovery_includes_threshold,
        "hai_excludes_threshold": config.hai_excludes_threshold,
        "freeze_timer_while_paused": config.freeze_timer_while_paused,
    })
}

/// How long pause quanta last, by the rate of the port.
pub(super) fn pause_times() -> Vec<Value> {
    let rates = [1, 10, 25, 40, 100, 400].map(Rate::from_gbps);
    let each =
        rates.into_iter().flat_map(|rate| [0, 1, 2, 1000, u16::MAX].map(|quanta| (rate, Quanta(quanta))));
    let shown = each.map(|(rate, quanta)| {
        json!({ "rate_bps": rate.bps(), "quanta": quanta.0, "expect_ps": quanta.on_port(rate).ps() })
    });
    shown.collect()
}

/// Every transition of the domain-defence machine.
pub(super) fn domain_defence() -> Vec<Value> {
    let defences = [Defence::Disabled, Defence::Interior, Defence::InteriorReady, Defence::Edge];
    let choices = || defences.into_iter().map(Choice::Admin).chain([Choice::Auto]);
    let said = [
        DefenceEvent::PeerHasCnpv,
        DefenceEvent::PeerLostCnpv,
        DefenceEvent::PeerReady,
        DefenceEvent::PeerNotReady,
    ];
    let events: Vec<DefenceEvent> = said.into_iter().chain(choices().map(DefenceEvent::Set)).collect();
    let after = |mut machine: DomainDefence, event| {
        machine.on_event(event);
        machine
    };
    let edge = DomainDefence::new(Choice::Auto);
    let interior = after(edge, DefenceEvent::PeerHasCnpv);
    let ready = after(interior, DefenceEvent::PeerReady);
    let admins =
        defences.map(|it| (format!("admin, {}", defence(it)), DomainDefence::new(Choice::Admin(it))));
    let autos = [edge, interior, ready].map(|it| (format!("auto, {}", defence(it.defence())), it));
    let states = admins.into_iter().chain(autos);
    let rows = states.flat_map(|(from, machine)| {
        events
            .iter()
            .map(|event| {
                let to = after(machine, *event);
                let who = if matches!(event, DefenceEvent::Set(_)) { set(*event) } else { None };
                let decides = who.unwrap_or_else(|| from.split(',').next().unwrap_or_default().to_owned());
                json!({
                    "state": from,
                    "event": heard(*event),
                    "expect": {
                        "state": format!("{decides}, {}", defence(to.defence())),
                        "remaps_priority": to.defence().remaps(),
                        "advertises_ready": to.defence().is_ready(),
                        "removes_cn_tag": to.defence().removes_cn_tag(),
                    },
                })
            })
            .collect::<Vec<_>>()
    });
    rows.collect()
}

/// Who decides after somebody has decided that.
fn set(event: DefenceEvent) -> Option<String> {
    match event {
        DefenceEvent::Set(Choice::Auto) => Some("auto".to_owned()),
        DefenceEvent::Set(Choice::Admin(_)) => Some("admin".to_owned()),
        _ => None,
    }
}

fn heard(event: DefenceEvent) -> String {
    match event {
        DefenceEvent::PeerHasCnpv => "peer has this CNPV".to_owned(),
        DefenceEvent::PeerLostCnpv => "peer has not, or is gone".to_owned(),
        DefenceEvent::PeerReady => "peer is ready".to_owned(),
        DefenceEvent::PeerNotReady => "peer is not ready".to_owned(),
        DefenceEvent::Set(Choice::Auto) => "set to auto".to_owned(),
        DefenceEvent::Set(Choice::Admin(it)) => format!("set to admin, {}", defence(it)),
    }
}

fn defence(defence: Defence) -> &'static str {
    match defence {
        Defence::Disabled => "disabled",
        Defence::Interior => "interior",
        Defence::InteriorReady => "interior ready",
        Defence::Edge => "edge",
    }
}
