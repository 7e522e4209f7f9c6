//! Any octets are a frame or an error, and a frame that was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_proto::wire::{AnyFrame, Frame, Header, MIN_FRAME, Ports, WireError};

/// Where congestion isolation messages go, so that the datagrams among the inputs can be some.
const PORTS: Ports = Ports { cim: Some(5000) };
/// What may be missing at the end of what is read, and is always written: LLDP's end.
const END: usize = 2;

fuzz_target!(|octets: &[u8]| {
    // Headers carry every bit, so they come back octet by octet, whatever the EtherType.
    if let Ok(header) = Header::parse(octets) {
        let mut again = [0; Header::LONGEST];
        let length = header.emit(&mut again).expect("the longest header has room");
        assert_eq!(length, header.payload_at());
        assert_eq!(again[..length], octets[..length]);
    }
    let Ok(frame) = PORTS.parse(octets) else { return };
    assert_eq!(Frame::parse(octets).map(|frame| frame.header), Ok(frame.header()));

    let mut again = vec![0xa5; octets.len().max(MIN_FRAME) + END];
    let length = frame.emit(&mut again).expect("a frame is never longer than what it was read from, padded");
    assert!(length >= MIN_FRAME);
    match (frame, PORTS.parse(&again[..length])) {
        // Nothing tells a data frame's padding from its payload.
        (AnyFrame::Data(sent), Ok(AnyFrame::Data(read))) => {
            assert_eq!(sent.header, read.header);
            let (payload, padding) = read.payload.split_at(sent.payload.len());
            assert_eq!(payload, sent.payload);
            assert!(padding.iter().all(|octet| *octet == 0));
        }
        (sent, read) => assert_eq!(read, Ok(sent)),
    }

    let (need, have) = (length, length - 1);
    let mut small = vec![0xa5; have];
    assert_eq!(frame.emit(&mut small), Err(WireError::NoRoom { need, have }));
    assert!(small.iter().all(|octet| *octet == 0xa5));
});
