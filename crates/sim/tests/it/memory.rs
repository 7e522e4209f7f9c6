//! What fits, and what is dropped, counted frame by frame.
//!
//! Three hosts send ten frames each to a fourth, in step: every 1.2 us three frames come and one goes. At an instant at
//! which the port falls free, the first arrival that is let in makes it take its next frame; the room that frees is there
//! for the second and third, not for the first.

use crate::network::*;
use quell_proto::units::Bytes;
use quell_sim::scenario::plan::*;

fn accepted(buffering: Buffering) -> u64 {
    let mut plan = star(4, TEN, US);
    plan.switches[0].buffering = buffering;
    for host in 0..3 {
        burst(&mut plan, host, 3, 10);
    }
    let said = run_of(&plan);
    assert_eq!(said.delivered() + said.lost(), 30);
    said.delivered()
}

fn shared(memory: Option<u64>, queue_limit: QueueLimit) -> Buffering {
    Buffering::OutputQueued { memory: memory.map(|frames| Bytes::new(1500 * frames)), queue_limit }
}

#[test]
fn without_a_limit_nothing_is_dropped() {
    assert_eq!(accepted(shared(None, QueueLimit::None)), 30);
}

#[test]
fn a_queue_limit_counts_the_frame_being_sent() {
    // Of four frames one is being sent. 3, then 2 (two waited), then one each time.
    assert_eq!(accepted(shared(None, QueueLimit::Static(Bytes::new(6000)))), 3 + 2 + 8);
}

#[test]
fn a_shared_memory_does_not_hold_the_frame_being_sent() {
    // 3, 3, then by turns none (four wait when they come) and two.
    assert_eq!(accepted(shared(Some(4), QueueLimit::None)), 3 + 3 + 4 * 2);
}

#[test]
fn a_dynamic_limit_is_a_multiple_of_what_is_free() {
    // Waiting, being sent and new: at most what is free of six frames.
    let limit = QueueLimit::Dynamic { alpha_num: 1, alpha_den: 1 };
    assert_eq!(accepted(shared(Some(6), limit)), 3 + 2 + 4 * 2);
}

#[test]
fn a_share_of_memory_is_each_inputs_own() {
    // Served in turn, an input passes on one frame in three steps and holds two more when its last has come: the
    // ten of each fit, if it may hold seven.
    let voq = |frames: u64| Buffering::Voq { input_memory: Some(Bytes::new(1500 * frames)), output: None };
    assert_eq!(accepted(voq(7)), 30);
    assert!(accepted(voq(4)) < 30);
}
