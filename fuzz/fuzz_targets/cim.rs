//! Any octets are a congestion isolation message or an error; a message survives every way it can travel.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quell_proto::wire::{
    Carriage, Cim, CimFrame, Dscp, Ecn, Envelope, FlowLabel, IpEnds, IpHeader, MacAddr, MsduStart, Udp,
};

/// How a message travels; the message takes what octets are left, so it stands last.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    ends: Ends,
    class: u8,
    hops: u8,
    ports: [u16; 2],
    has_checksum: bool,
    octets: &'a [u8],
}

#[derive(Arbitrary, Debug)]
enum Ends {
    Layer2,
    V4([u8; 4], [u8; 4], u16, bool),
    V6([u8; 16], [u8; 16], u32),
}

fuzz_target!(|input: Input<'_>| {
    // Octets as they come, as a datagram and as a message.
    let _ = CimFrame::parse(input.octets);
    let Ok(cim) = Cim::parse(input.octets) else { return };
    assert!(cim.excerpt.as_slice().len() <= MsduStart::MOST);

    let ends = match input.ends {
        Ends::Layer2 => None,
        Ends::V4(source, destination, identification, stays_whole) => Some(IpEnds::V4 {
            source: source.into(),
            destination: destination.into(),
            identification,
            stays_whole,
        }),
        Ends::V6(source, destination, flow) => Some(IpEnds::V6 {
            source: source.into(),
            destination: destination.into(),
            flow: FlowLabel::new(flow & 0xf_ffff).expect("twenty bits"),
        }),
    };
    let dscp = Dscp::new(input.class >> 2).expect("six bits");
    let ecn = [Ecn::Incapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested][usize::from(input.class & 3)];
    let carriage = ends.map_or(Carriage::Layer2, |ends| {
        let ip = IpHeader { ends, dscp, ecn, hops: input.hops };
        let [source_port, destination_port] = input.ports;
        Carriage::Udp(Udp { ip, source_port, destination_port, has_checksum: input.has_checksum })
    });
    let envelope = Envelope::plain(MacAddr::numbered(2), MacAddr::numbered(1));
    let frame = CimFrame { envelope, carriage, cim };
    let mut octets = [0xa5; 1024];
    let length = frame.emit(&mut octets).expect("there is room");
    assert_eq!(CimFrame::parse(&octets[..length]), Ok(frame));
});
