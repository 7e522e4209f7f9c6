//! A RoCE packet survives the wire, whatever it carries; with one octet changed it is refused, or the octet is one that
//! routers may change.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quell_proto::wire::{
    AnyFrame, Bth, CnpFrame, Dscp, Ecn, Envelope, FlowLabel, IpEnds, IpHeader, MacAddr, Opcode, RoceFrame,
    U24, parse,
};

/// A packet, and what happens to it on its way. The payload takes what octets are left, so it stands last.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    v6: Option<([u8; 16], [u8; 16], u32)>,
    v4: ([u8; 4], [u8; 4], u16, bool),
    class: u8,
    hops: u8,
    source_port: u16,
    flags: [bool; 6],
    opcode: u8,
    partition: u16,
    queue_pair: u32,
    sequence: u32,
    change: Option<(u16, u8)>,
    payload: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let _ = parse(input.payload);
    let u24 = |number: u32| U24::new(number & 0xff_ffff).expect("24 bits");
    let ends = match input.v6 {
        Some((source, destination, flow)) => IpEnds::V6 {
            source: source.into(),
            destination: destination.into(),
            flow: FlowLabel::new(flow & 0xf_ffff).expect("twenty bits"),
        },
        None => {
            let (source, destination, identification, stays_whole) = input.v4;
            IpEnds::V4 { source: source.into(), destination: destination.into(), identification, stays_whole }
        }
    };
    let ecn = [Ecn::Incapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested][usize::from(input.class & 3)];
    let ip = IpHeader { ends, dscp: Dscp::new(input.class >> 2).expect("six bits"), ecn, hops: input.hops };
    let [has_checksum, solicited, migrated, fecn, becn, wants_ack] = input.flags;
    let (envelope, source_port, partition, queue_pair) = (
        Envelope::plain(MacAddr::numbered(2), MacAddr::numbered(1)),
        input.source_port,
        input.partition,
        u24(input.queue_pair),
    );
    let frame = match Opcode::new(input.opcode) {
        None => AnyFrame::Cnp(CnpFrame {
            envelope,
            ip,
            source_port,
            has_checksum,
            queue_pair,
            partition,
            migrated,
        }),
        Some(opcode) => AnyFrame::Roce(RoceFrame {
            envelope,
            ip,
            source_port,
            has_checksum,
            bth: Bth {
                opcode,
                solicited,
                migrated,
                partition,
                fecn,
                becn,
                queue_pair,
                wants_ack,
                sequence: u24(input.sequence),
            },
            payload: input.payload,
        }),
    };
    let mut octets = vec![0xa5; input.payload.len() + 256];
    let length = frame.emit(&mut octets).expect("there is room");
    let octets = &mut octets[..length];
    assert_eq!(parse(octets), Ok(frame));

    let Some((at, with)) = input.change else { return };
    let at = usize::from(at) % length;
    octets[at] ^= with;
    match (frame, parse(octets)) {
        (AnyFrame::Roce(sent), Ok(AnyFrame::Roce(read))) => {
            assert_eq!((sent.payload, sent.bth.queue_pair), (read.payload, read.bth.queue_pair));
        }
        (AnyFrame::Cnp(sent), Ok(AnyFrame::Cnp(read))) => assert_eq!(sent.queue_pair, read.queue_pair),
        (_, Ok(read)) => assert!(matches!(read, AnyFrame::Data(_)), "{read:?}"),
        (_, Err(_)) => {}
    }
});
