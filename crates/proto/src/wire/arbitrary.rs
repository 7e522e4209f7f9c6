//! Any value of each format, for property tests.

use super::*;
use crate::units::{Priority, Quanta};
use proptest::prelude::*;
use std::vec::Vec;

/// A frame of any format that owns its payload, as a generated value must.
#[derive(Clone, Debug)]
pub(super) enum OwnedFrame {
    Control(AnyFrame<'static>),
    Data(Header, Vec<u8>),
}

impl OwnedFrame {
    pub(super) fn as_any(&self) -> AnyFrame<'_> {
        match self {
            OwnedFrame::Control(frame) => *frame,
            OwnedFrame::Data(header, payload) => AnyFrame::Data(Frame { header: *header, payload }),
        }
    }
}

pub(super) fn any_frame() -> impl Strategy<Value = OwnedFrame> {
    let control = |frame| OwnedFrame::Control(frame);
    prop_oneof![
        any_cnm_frame().prop_map(move |frame| control(AnyFrame::Cnm(frame))),
        (any_mac(), any::<u16>()).prop_map(move |(source, time)| {
            control(AnyFrame::Pause(PauseFrame { source, pause: Pause { time: Quanta(time) } }))
        }),
        (any_mac(), any::<[Option<u16>; 8]>()).prop_map(move |(source, times)| {
            let pfc = Pfc { times: times.map(|time| time.map(Quanta)) };
            control(AnyFrame::Pfc(PfcFrame { source, pfc }))
        }),
        (any_header(), any::<Vec<u8>>()).prop_map(|(header, payload)| OwnedFrame::Data(header, payload)),
    ]
}

fn any_cnm_frame() -> impl Strategy<Value = CnmFrame> {
    (any_header(), any_cnm()).prop_map(|(header, cnm)| {
        let Header { destination, source, tags, cn_tag, .. } = header;
        CnmFrame { destination, source, tags, cn_tag, cnm }
    })
}

pub(super) fn any_cnm() -> impl Strategy<Value = Cnm> {
    let difference = || any::<i16>().prop_map(QueueDifference::from_units);
    (
        (1..=63_u8).prop_map(|feedback| QuantisedFeedback::new(feedback).unwrap()),
        any::<[u8; 8]>().prop_map(CpId),
        difference(),
        difference(),
        any_priority(),
        any_mac(),
        prop::collection::vec(any::<u8>(), 0..=Excerpt::MOST),
    )
        .prop_map(|(feedback, point, offset, delta, priority, destination, excerpt)| {
            let excerpt = Excerpt::of(&excerpt);
            Cnm { feedback, point, offset, delta, priority, destination, excerpt }
        })
}

/// A header of data: its EtherType names none of the control formats.
pub(super) fn any_header() -> impl Strategy<Value = Header> {
    let ether_type = any::<u16>()
        .prop_filter_map("an EtherType", EtherType::new)
        .prop_filter("of data", |found| ![EtherType::CNM, EtherType::MAC_CONTROL].contains(found));
    let flow = prop::option::of(any::<u16>());
    (any_mac(), any_mac(), any_tags(), flow, ether_type).prop_map(
        |(destination, source, tags, flow, ether_type)| {
            let cn_tag = flow.map(|flow| CnTag { flow });
            Header { destination, source, tags, cn_tag, ether_type }
        },
    )
}

fn any_tags() -> impl Strategy<Value = Tags> {
    prop::collection::vec((any::<bool>(), any::<u16>()), 0..=Tags::MOST).prop_map(|list| {
        let mut tags = Tags::NONE;
        for (service, control) in list {
            let kind = if service { VlanKind::Service } else { VlanKind::Customer };
            tags.push(VlanTag::from_control(kind, control)).unwrap();
        }
        tags
    })
}

fn any_mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

fn any_priority() -> impl Strategy<Value = Priority> {
    (0..8_u8).prop_map(|priority| Priority::new(priority).unwrap())
}
