//! The answer to any sampled frame can be written, and reads back as what was said.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quell_proto::units::Priority;
use quell_proto::wire::{
    AnyFrame, CnTag, CnmFrame, CpId, EtherType, Excerpt, Frame, Header, MacAddr, Origin, QuantisedFeedback,
    QueueDifference, Tags, VlanKind, VlanTag, parse,
};

/// A sampled frame, and what is to be said about it. The payload takes what octets are left, so it stands last.
#[derive(Arbitrary, Debug)]
struct Sample<'a> {
    destination: [u8; 6],
    source: [u8; 6],
    ether_type: u16,
    feedback: u8,
    point: [u8; 8],
    offset: i64,
    delta: i64,
    message_priority: u8,
    excerpt: u8,
    tag_always: bool,
    flow: Option<u16>,
    tag_count: u8,
    tags: [(bool, u16); Tags::MOST + 1],
    payload: &'a [u8],
}

fuzz_target!(|sample: Sample<'_>| {
    let Some(feedback) = QuantisedFeedback::new(sample.feedback) else {
        assert!(sample.feedback == 0 || sample.feedback > 63);
        return;
    };
    let (Some(ether_type), Some(priority)) =
        (EtherType::new(sample.ether_type), Priority::new(sample.message_priority % 8))
    else {
        return;
    };
    let mut tags = Tags::NONE;
    for (service, control) in sample.tags.iter().take(usize::from(sample.tag_count)) {
        let kind = if *service { VlanKind::Service } else { VlanKind::Customer };
        let fits = tags.count() < Tags::MOST;
        assert_eq!(tags.push(VlanTag::from_control(kind, *control)).is_ok(), fits);
    }
    let header = Header {
        destination: MacAddr(sample.destination),
        source: MacAddr(sample.source),
        tags,
        cn_tag: sample.flow.map(|flow| CnTag { flow }),
        ether_type,
    };
    let sampled = Frame { header, payload: sample.payload };
    let origin = Origin {
        address: MacAddr([0x02, 0, 0, 0, 0x0c, 0x01]),
        point: CpId(sample.point),
        priority,
        excerpt: usize::from(sample.excerpt),
        tag_always: sample.tag_always,
    };
    let (offset, delta) =
        (QueueDifference::from_octets(sample.offset), QueueDifference::from_octets(sample.delta));
    for (octets, difference) in [(sample.offset, offset), (sample.delta, delta)] {
        let told = difference.octets();
        assert!(told.unsigned_abs() <= octets.unsigned_abs() && told.signum() * octets.signum() >= 0);
    }

    let Some(message) = origin.answer(&sampled, feedback, offset, delta) else {
        assert!(header.source.is_group());
        return;
    };
    let most = usize::from(sample.excerpt).min(Excerpt::MOST).min(2 + sample.payload.len());
    assert_eq!(message.cnm.excerpt.as_slice().len(), most);

    let mut octets = [0xa5; CnmFrame::LONGEST];
    let length = message.emit(&mut octets).expect("the longest message has room");
    assert_eq!(parse(&octets[..length]), Ok(AnyFrame::Cnm(message)));

    // Reserved bits and padding say nothing.
    let at = message.header().payload_at();
    octets[at] |= 0x0f;
    octets[at + 1] |= 0xc0;
    octets[at + 14] |= 0x1f;
    octets[at + 15] = 0xff;
    assert_eq!(CnmFrame::parse(&octets), Ok(message));
});
