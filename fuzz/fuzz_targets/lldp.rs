//! Any octets are TLVs or an error; what was read can be written, and says the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_proto::units::Priority;
use quell_proto::wire::lldp::{Id, Lldp, Tlv, Tlvs};
use quell_proto::wire::{AnyFrame, Envelope, LldpFrame, MacAddr, parse};

fuzz_target!(|octets: &[u8]| {
    // As a whole, and behind three TLVs that are right.
    let mut behind = b"\x02\x07\x04\x02\0\0\0\0\x01\x04\x07\x03\x02\0\0\0\0\x01\x06\x02\0\x78".to_vec();
    behind.extend(octets);
    for octets in [octets, &behind] {
        let Ok(lldp) = Lldp::parse(octets) else { continue };
        let mut faults = 0;
        for tlv in lldp.tlvs.iter() {
            match tlv {
                Tlv::Other(other) => faults += usize::from(other.fault().is_some()),
                Tlv::CongestionIsolation(isolation) => Priority::all().for_each(|class| {
                    isolation.queue_map.role(class);
                }),
                Tlv::EtsRecommendation(ets) => {
                    ets.adds_up();
                }
                Tlv::Applications(applications) => assert!(applications.iter().count() <= 168),
                _ => {}
            }
        }
        let list: Vec<Tlv<'_>> = lldp.tlvs.iter().collect();
        assert!(faults <= list.len());
        let mut buffer = vec![0xa5; octets.len()];
        assert_eq!(Tlvs::write(&list, &mut buffer), Ok(lldp.tlvs));

        let name = Id::new(lldp.chassis.kind(), lldp.chassis.octets());
        assert_eq!(name, Some(lldp.chassis));
        let frame =
            LldpFrame { envelope: Envelope::plain(MacAddr::NEAREST_BRIDGE, MacAddr::numbered(1)), lldp };
        let mut again = vec![0xa5; octets.len() + 64];
        let length = frame.emit(&mut again).expect("there is room");
        assert_eq!(parse(&again[..length]), Ok(AnyFrame::Lldp(frame)));
    }
});
