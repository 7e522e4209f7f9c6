//! Interfaces that go down, come back, or go for good; namespaces of processes that are gone.

use crate::{lab, open};
use quell_live::device::{Interface, PacketInterface, Sent, Trouble};
use quell_live::lab::{PREFIX, clean};
use std::process::Command;
use std::time::{Duration, Instant};

fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        if holds() {
            return true;
        }
    }
    false
}

#[test]
fn an_interface_that_goes_down_says_so_and_works_again_when_it_is_up() {
    let Some(lab) = lab(&["da", "db"]) else { return };
    lab.join(["da", "db"], ["a", "b"], 1500).unwrap();
    let (mut a, mut b) = (open(&lab, "da", "a"), open(&lab, "db", "b"));
    assert!(a.trouble().is_none());
    lab.ip("da", &["link", "set", "dev", "a", "down"]).unwrap();
    assert!(matches!(a.trouble(), Some(Trouble::Down { .. })));
    assert!(matches!(a.trouble(), Some(Trouble::Down { .. })), "it says so as long as it is so");
    // Sending into it is refused, not a crash, and what was put on its way is taken back, all of it.
    for _ in 0..10 {
        assert_eq!(a.send(&[2; 100]), Sent::Yes);
    }
    assert!(matches!(a.flush(), Err(Trouble::Down { .. })));
    lab.ip("da", &["link", "set", "dev", "a", "up"]).unwrap();
    assert!(a.trouble().is_none());
    let mut frame = [0; 100];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let mut into = [0; 2000];
    assert_eq!(a.send(&frame), Sent::Yes);
    assert!(a.flush().unwrap());
    assert!(eventually(|| b.receive(&mut into) == Some(100)));
    assert_eq!(into[..100], frame, "the first that comes is the first that was sent since");
}

/// The kernel says nothing of it, drops what is sent, and keeps the last of it for later.
#[test]
fn an_interface_whose_peer_is_down_has_no_carrier_and_sends_nothing_stale_afterwards() {
    let Some(lab) = lab(&["ca", "cb"]) else { return };
    lab.join(["ca", "cb"], ["a", "b"], 1500).unwrap();
    let (mut a, mut b) = (open(&lab, "ca", "a"), open(&lab, "cb", "b"));
    lab.ip("cb", &["link", "set", "dev", "b", "down"]).unwrap();
    assert!(matches!(a.trouble(), Some(Trouble::NoCarrier { .. })));
    let mut stale = [0; 100];
    stale[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    for _ in 0..300 {
        let _ = a.send(&stale);
        assert!(!a.flush().unwrap(), "it stays");
    }
    assert!(matches!(a.trouble(), Some(Trouble::NoCarrier { .. })));
    lab.ip("cb", &["link", "set", "dev", "b", "up"]).unwrap();
    assert!(eventually(|| a.trouble().is_none() && b.trouble().is_none()));
    let mut fresh = stale;
    fresh[99] = 7;
    assert_eq!(a.send(&fresh), Sent::Yes, "the ring is free again");
    a.flush().unwrap();
    let mut into = [0; 2000];
    assert!(eventually(|| b.receive(&mut into) == Some(100)));
    assert_eq!(into[99], 7, "what nobody waits for any more is not sent");
    // It can be opened all the same: somebody may come.
    lab.ip("cb", &["link", "set", "dev", "b", "down"]).unwrap();
    let mut a = open(&lab, "ca", "a");
    assert!(matches!(a.trouble(), Some(Trouble::NoCarrier { .. })));
}

#[test]
fn an_interface_that_is_taken_away_is_gone_for_good() {
    let Some(lab) = lab(&["va", "vb"]) else { return };
    lab.join(["va", "vb"], ["a", "b"], 1500).unwrap();
    let mut a = open(&lab, "va", "a");
    lab.ip("vb", &["link", "del", "dev", "b"]).unwrap();
    assert!(eventually(|| matches!(a.trouble(), Some(Trouble::Vanished { .. }))));
    assert_eq!(a.send(&[0; 60]), Sent::Yes);
    assert!(matches!(a.flush(), Err(Trouble::Vanished { .. } | Trouble::Down { .. })));
}

#[test]
fn an_interface_that_is_down_or_absent_is_not_opened() {
    let Some(lab) = lab(&["oa", "ob"]) else { return };
    lab.join(["oa", "ob"], ["a", "b"], 1500).unwrap();
    lab.ip("oa", &["link", "set", "dev", "a", "down"]).unwrap();
    let opened = lab.inside("oa", || PacketInterface::open("a", 64)).unwrap();
    assert!(matches!(opened, Err(Trouble::Down { .. })), "{opened:?}");
    let opened = lab.inside("oa", || PacketInterface::open("b", 64)).unwrap();
    assert!(matches!(opened, Err(Trouble::Missing { .. })), "{opened:?}");
}

#[test]
fn a_lab_leaves_nothing_behind_and_takes_away_what_dead_processes_left() {
    let Some(lab) = lab(&["xa"]) else { return };
    let names =
        || String::from_utf8(Command::new("ip").args(["netns", "list"]).output().unwrap().stdout).unwrap();
    let own = lab.space("xa");
    assert!(names().contains(&own));
    // Of a process that cannot be: numbers end below this one.
    let stale = format!("{PREFIX}4194999-1-old");
    assert!(Command::new("ip").args(["netns", "add", &stale]).status().unwrap().success());
    assert!(clean() >= 1);
    assert!(!names().contains(&stale) && names().contains(&own));
    drop(lab);
    assert!(!names().contains(&own));
}
