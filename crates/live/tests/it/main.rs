//! Real frames over real interfaces: network namespaces and veth pairs, made and taken away by each test.
//!
//! They need root. `./test` sets `QUELL_WITHOUT_ROOT` to a reason where that cannot be had; without either, they fail.

mod frames;
mod trouble;

use quell_live::device::PacketInterface;
use quell_live::lab::{Lab, is_root};
use std::io::Write;

/// Two or more namespaces for one test; `None` where the machine cannot have any and that is known.
fn lab(names: &[&str]) -> Option<Lab> {
    if let Ok(reason) = std::env::var("QUELL_WITHOUT_ROOT") {
        let _ = writeln!(std::io::stderr(), "SKIPPED, for want of network namespaces: {reason}");
        return None;
    }
    assert!(is_root(), "not root: run ./test as root, or set QUELL_WITHOUT_ROOT to a reason");
    Some(Lab::new(names).unwrap_or_else(|error| panic!("{error}")))
}

fn open(lab: &Lab, space: &str, name: &str) -> PacketInterface {
    let opened = lab.inside(space, || PacketInterface::open(name, 256)).expect("the namespace is there");
    opened.unwrap_or_else(|error| panic!("{error}"))
}
