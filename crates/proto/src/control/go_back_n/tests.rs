//! Tests of the two ends together: a gap, a lost telling, a lost tail, and any channel.

use super::*;
use crate::units::{Duration, Instant};
use insta::assert_snapshot;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::fmt::Write;
use std::string::String;
use std::vec::Vec;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_us(us)
}

fn ends(most_doublings: u8) -> (Sender, Receiver) {
    let config = SenderConfig { timeout: Duration::from_us(100), most_doublings };
    (Sender::new(config), Receiver::new(ReceiverConfig::default()))
}

#[test]
fn frames_in_order_are_delivered_and_acknowledged() {
    let (mut sender, mut receiver) = ends(0);
    for sequence in 0..5 {
        assert_eq!(sender.on_sent(at(0)), sequence);
        let receipt = receiver.on_frame(at(1), sequence, false);
        assert_eq!(receipt, Receipt { delivered: true, reply: Some(Reply::Ack(sequence + 1)) });
        sender.on_reply(at(2), Reply::Ack(sequence + 1));
    }
    assert_eq!((sender.outstanding(), sender.next_timeout()), (0, None));
}

#[test]
fn a_gap_is_told_once_and_the_sender_goes_back_to_it() {
    let (mut sender, mut receiver) = ends(0);
    for _ in 0..4 {
        sender.on_sent(at(0));
    }
    receiver.on_frame(at(1), 0, false);
    assert_eq!(receiver.on_frame(at(1), 2, false).reply, Some(Reply::Nak(1)));
    assert_eq!(receiver.on_frame(at(1), 3, false).reply, None);
    assert_eq!(receiver.after_gap(), 2);
    sender.on_reply(at(2), Reply::Nak(1));
    assert_eq!((sender.next(), sender.outstanding(), sender.naks()), (1, 0, 1));
    for sequence in 1..4 {
        sender.on_sent(at(3));
        assert!(receiver.on_frame(at(4), sequence, false).delivered);
    }
    assert_eq!(sender.retransmitted(), 3);
}

#[test]
fn a_gap_is_told_again_after_its_interval() {
    let config = ReceiverConfig { nak_interval: Some(Duration::from_us(10)), ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(config);
    let told: Vec<bool> =
        [0, 5, 10, 15, 21].map(|us| receiver.on_frame(at(us), 7, false).reply.is_some()).to_vec();
    assert_eq!(told, [true, false, true, false, true]);
}

#[test]
fn acknowledgements_can_be_saved_but_for_the_end_of_a_message() {
    let mut receiver = Receiver::new(ReceiverConfig { ack_every: 3, ..ReceiverConfig::default() });
    let replies: Vec<_> =
        (0..5).map(|sequence| receiver.on_frame(at(0), sequence, sequence == 4).reply).collect();
    assert_eq!(replies, [None, None, Some(Reply::Ack(3)), None, Some(Reply::Ack(5))]);
}

#[test]
fn a_duplicate_is_acknowledged_again_and_not_delivered() {
    let (_, mut receiver) = ends(0);
    receiver.on_frame(at(0), 0, false);
    let again = receiver.on_frame(at(1), 0, false);
    assert_eq!(again, Receipt { delivered: false, reply: Some(Reply::Ack(1)) });
    assert_eq!(receiver.duplicates(), 1);
}

#[test]
fn the_last_frame_lost_is_repeated_after_the_timeout_and_patience_grows() {
    let (mut sender, _) = ends(2);
    sender.on_sent(at(0));
    let mut waits = Vec::new();
    for _ in 0..4 {
        let due = sender.next_timeout().unwrap();
        assert!(!sender.on_timeout(Instant::from_ps(due.ps() - 1)), "early calls change nothing");
        assert!(sender.on_timeout(due));
        assert_eq!(sender.next(), 0);
        waits.push((sender.next_timeout().unwrap() - due).ps() / 1_000_000);
        sender.on_sent(due);
    }
    assert_eq!(waits, [200, 400, 400, 400]);
    assert_eq!((sender.timeouts(), sender.retransmitted()), (4, 4));
}

#[test]
fn replies_about_frames_never_sent_and_old_ones_change_nothing() {
    let (mut sender, _) = ends(0);
    for _ in 0..3 {
        sender.on_sent(at(0));
    }
    sender.on_reply(at(1), Reply::Ack(2));
    let before = std::format!("{sender:?}");
    sender.on_reply(at(2), Reply::Ack(9));
    sender.on_reply(at(2), Reply::Nak(1));
    assert_eq!(std::format!("{sender:?}"), before);
}

proptest! {
    /// A channel that keeps order, delays everything equally and loses what the history says: whatever it loses,
    /// every frame is delivered once and in order, and the sender comes to know.
    #[test]
    fn any_loss_is_made_good(
        frames in 1u64..60,
        window in 1u64..20,
        ack_every in 1u32..4,
        nak_interval in prop::option::of(1u64..50),
        lost in prop::collection::vec(any::<(bool, bool)>(), 0..200),
    ) {
        let mut sender = Sender::new(SenderConfig { timeout: Duration::from_us(100), most_doublings: 3 });
        let nak_interval = nak_interval.map(Duration::from_us);
        let mut receiver = Receiver::new(ReceiverConfig { ack_every, nak_interval });
        let mut lost = lost.into_iter();
        let (mut data, mut replies) = (VecDeque::new(), VecDeque::new());
        let mut delivered = Vec::new();
        let mut us = 0;
        while sender.acknowledged() < frames {
            us += 1;
            prop_assert!(us < 200_000, "{} of {frames} acknowledged", sender.acknowledged());
            sender.on_timeout(at(us));
            // After its history the channel loses nothing.
            let (data_lost, reply_lost) = lost.next().unwrap_or((false, false));
            if sender.next() < frames && sender.outstanding() < window {
                let sequence = sender.on_sent(at(us));
                if !data_lost {
                    data.push_back((us + 7, sequence));
                }
            }
            while data.front().is_some_and(|(arrives, _)| *arrives <= us) {
                let (_, sequence) = data.pop_front().unwrap();
                let receipt = receiver.on_frame(at(us), sequence, sequence + 1 == frames);
                if receipt.delivered {
                    delivered.push(sequence);
                }
                if let Some(reply) = receipt.reply.filter(|_| !reply_lost) {
                    replies.push_back((us + 7, reply));
                }
            }
            while replies.front().is_some_and(|(arrives, _)| *arrives <= us) {
                sender.on_reply(at(us), replies.pop_front().unwrap().1);
            }
        }
        prop_assert_eq!(delivered, (0..frames).collect::<Vec<_>>());
        prop_assert_eq!(sender.next_timeout(), None);
    }
}

#[test]
fn life_of_a_flow_that_loses() {
    // Eight frames, a window of four, 5 us each way; frames 2 and 7 and the first telling are lost.
    let (mut sender, mut receiver) = ends(0);
    let (mut data, mut replies) = (VecDeque::new(), VecDeque::new());
    let mut text = String::from("   us  event\n");
    let mut lost_data = Vec::from([2, 7]);
    let mut lose_nak = true;
    for us in 0..400 {
        let mut line = |what: String| writeln!(text, "{us:>5}  {what}").unwrap();
        if sender.on_timeout(at(us)) {
            line(std::format!("timeout, back to {}", sender.next()));
        }
        if sender.next() < 8 && sender.outstanding() < 4 {
            let sequence = sender.on_sent(at(us));
            if let Some(index) = lost_data.iter().position(|lost| *lost == sequence) {
                lost_data.remove(index);
                line(std::format!("{sequence} is lost"));
            } else {
                data.push_back((us + 5, sequence));
            }
        }
        if let Some((_, sequence)) = data.pop_front_if(|(arrives, _)| *arrives == us) {
            let receipt = receiver.on_frame(at(us), sequence, sequence == 7);
            let fate = if receipt.delivered { "delivered" } else { "thrown away" };
            line(std::format!("{sequence} {fate}, {:?}", receipt.reply));
            match receipt.reply {
                Some(Reply::Nak(_)) if lose_nak => lose_nak = false,
                Some(reply) => replies.push_back((us + 5, reply)),
                None => {}
            }
        }
        if let Some((_, reply)) = replies.pop_front_if(|(arrives, _)| *arrives == us) {
            sender.on_reply(at(us), reply);
        }
    }
    assert_snapshot!(text, @"
     us  event
      2  2 is lost
      5  0 delivered, Some(Ack(1))
      6  1 delivered, Some(Ack(2))
      8  3 thrown away, Some(Nak(2))
     16  4 thrown away, None
     17  5 thrown away, None
    111  timeout, back to 2
    116  2 delivered, Some(Ack(3))
    117  3 delivered, Some(Ack(4))
    118  4 delivered, Some(Ack(5))
    119  5 delivered, Some(Ack(6))
    123  7 is lost
    127  6 delivered, Some(Ack(7))
    232  timeout, back to 7
    237  7 delivered, Some(Ack(8))
    ");
}
