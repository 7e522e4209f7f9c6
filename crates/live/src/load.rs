//! Load and measurement: UDP frames that carry the number of their flow, made, recognised and counted.
//!
//! The flow is the low octet of the UDP source port, as in "QCN: Implementation and Evaluation on NetFPGA"; the message
//! starts with a mark, the number of the frame in its flow, and when it was made.

use crate::node::{Oddities, counted};
use quell_proto::units::{Bytes, Instant, Priority, Rate};
use quell_proto::wire::{
    CnTag, Dscp, Ecn, Envelope, EtherType, Excerpt, Header, IpEnds, IpHeader, MacAddr, Tags, Udp, VlanId,
    VlanKind, VlanTag,
};
use std::net::Ipv4Addr;

/// What the UDP ports of load start with: the low octet of the source port is the flow.
pub const PORT: u16 = 0x5100;

/// What a message starts with.
const MARK: [u8; 4] = *b"QLLD";
/// Mark, number and time.
const HEAD: usize = 4 + 8 + 8;
/// The least a frame of load has: Ethernet, IP and UDP headers and the head of the message.
pub const SHORTEST: usize = 14 + 20 + 8 + HEAD;

/// The flow of a frame, if it is UDP over IPv4: the low octet of its source port.
pub fn flow_of(header: &Header, octets: &[u8]) -> Option<u8> {
    flow_of_packet(header.ether_type, octets.get(header.payload_at()..)?)
}

/// The reaction point of the frame that a notification carries the start of: its flow as by [`flow_of`], and 0 if it is not UDP
/// over IPv4. `None` if too little of it is there to tell.
pub fn flow_of_excerpt(excerpt: &Excerpt) -> Option<u8> {
    let (kind, packet) = excerpt.as_slice().split_first_chunk::<2>()?;
    let kind = EtherType::new(u16::from_be_bytes(*kind))?;
    let is_known = kind != EtherType::IPV4 || packet.get(PROTOCOL_AT).is_some_and(|it| *it != UDP);
    if is_known { Some(0) } else { flow_of_packet(kind, packet) }
}

/// Where an IPv4 header says what it carries, and what UDP is there.
const PROTOCOL_AT: usize = 9;
const UDP: u8 = 17;

fn flow_of_packet(kind: EtherType, packet: &[u8]) -> Option<u8> {
    if kind != EtherType::IPV4 || packet.get(PROTOCOL_AT) != Some(&UDP) {
        return None;
    }
    let header = usize::from(packet.first()? & 0x0f) * 4;
    packet.get(header + 1).copied()
}

/// Where load goes and what it looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Who sends it.
    pub source: MacAddr,
    /// Whom it is for.
    pub destination: MacAddr,
    /// Its priority and VLAN, if it is tagged.
    pub tag: Option<(Priority, VlanId)>,
    /// The length of its frames without check sequence, tags counted, at least [`SHORTEST`].
    pub frame: usize,
}

/// Makes the frames of one flow.
#[derive(Clone, Debug)]
pub struct Maker {
    octets: Box<[u8]>,
    message_at: usize,
    number: u64,
}

impl Maker {
    /// One for this flow; with `cn_tag`, frames carry the flow's number in a CN-TAG too.
    ///
    /// # Panics
    /// When the frame is too short for what it carries, or too long for a datagram.
    pub fn new(shape: &Shape, flow: u8, cn_tag: bool) -> Maker {
        let tags = match shape.tag {
            Some((priority, id)) => {
                Tags::one(VlanTag { kind: VlanKind::Customer, priority, drop_eligible: false, id })
            }
            None => Tags::NONE,
        };
        let envelope = Envelope {
            destination: shape.destination,
            source: shape.source,
            tags,
            cn_tag: cn_tag.then_some(CnTag { flow: u16::from(flow) }),
        };
        let address = |mac: MacAddr| Ipv4Addr::new(10, mac.0[3], mac.0[4], mac.0[5]);
        let udp = Udp {
            ip: IpHeader {
                ends: IpEnds::V4 {
                    source: address(shape.source),
                    destination: address(shape.destination),
                    identification: 0,
                    stays_whole: true,
                },
                dscp: Dscp::default(),
                ecn: Ecn::Incapable,
                hops: 64,
            },
            source_port: PORT | u16::from(flow),
            destination_port: PORT,
            // The number changes with every frame; a checksum would cost more than the frame.
            has_checksum: false,
        };
        let message_at = envelope.header(EtherType::IPV4).payload_at() + udp.emitted_len(0);
        let mut message =
            vec![0; shape.frame.checked_sub(message_at).expect("a frame has room for its headers")];
        message[..MARK.len()].copy_from_slice(&MARK);
        let mut octets = vec![0; shape.frame].into_boxed_slice();
        udp.emit(&envelope, &message, &mut octets).expect("a frame of load fits a datagram");
        Maker { octets, message_at, number: 0 }
    }

    /// The next frame, made now.
    pub fn next(&mut self, now: Instant) -> &[u8] {
        let head = &mut self.octets[self.message_at + MARK.len()..];
        head[..8].copy_from_slice(&self.number.to_be_bytes());
        head[8..16].copy_from_slice(&now.ps().to_be_bytes());
        self.number += 1;
        &self.octets
    }

    /// Frames made so far.
    pub fn made(&self) -> u64 {
        self.number
    }

    /// What a frame counts for.
    pub fn length(&self) -> Bytes {
        counted(self.octets.len())
    }
}

/// A source that makes frames at an even rate, or as fast as they are taken.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it makes.
    pub maker: Maker,
    rate: Option<Rate>,
    due: Instant,
}

impl Source {
    /// One of this rate, in frame octets; `None` always has a frame ready.
    pub fn new(maker: Maker, rate: Option<Rate>) -> Source {
        Source { maker, rate, due: Instant::START }
    }

    /// When its next frame is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// The frame that is due, if one is. A source that was not asked for a while makes up for two milliseconds of it.
    pub fn next(&mut self, now: Instant) -> Option<&[u8]> {
        if self.due > now {
            return None;
        }
        if let Some(rate) = self.rate {
            let earliest = Instant::from_ps(now.ps().saturating_sub(crate::node::PATIENCE.ps()));
            self.due = self.due.max(earliest) + rate.time_for(self.maker.length());
        }
        Some(self.maker.next(now))
    }
}

/// What a receiver counted of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Frames that came.
    pub frames: u64,
    /// Their octets, check sequences counted.
    pub bytes: u64,
    /// Frames that are missing: numbers that were passed over and never came.
    pub lost: u64,
    /// Frames that came after one with a higher number.
    pub reordered: u64,
    /// The sum of the times they took, in picoseconds; meaningful where sender and receiver share a clock.
    pub latency_sum_ps: u64,
    /// The longest of them.
    pub latency_max_ps: u64,
    next: u64,
}

/// Counts what comes in, by flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    flows: Box<[FlowCounts; 256]>,
    frames: u64,
    oddities: Oddities,
    joins: bool,
}

/// One that is there from the first frame on: if that does not come, it is lost.
impl Default for Receiver {
    fn default() -> Receiver {
        let flows = Box::new([FlowCounts::default(); 256]);
        Receiver { flows, frames: 0, oddities: Oddities::default(), joins: false }
    }
}

impl Receiver {
    /// One that may come to senders that have long begun, and that may begin anew: what it did not hear is not lost.
    pub fn joining() -> Receiver {
        Receiver { joins: true, ..Receiver::default() }
    }

    /// A frame came in.
    pub fn on_frame(&mut self, now: Instant, octets: &[u8]) {
        let Ok(header) = Header::parse(octets) else {
            self.oddities.malformed += 1;
            return;
        };
        let message_at = header.payload_at() + 20 + Udp::LEN;
        let head = octets.get(message_at..).and_then(|message| message.first_chunk::<HEAD>());
        let (Some(flow), Some(head)) =
            (flow_of(&header, octets), head.filter(|head| head.starts_with(&MARK)))
        else {
            self.oddities.foreign += 1;
            return;
        };
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| head[at + index]));
        let (number, made) = (word(4), Instant::from_ps(word(12)));
        let counts = &mut self.flows[usize::from(flow)];
        if self.joins && (counts.frames == 0 || number == 0) {
            counts.next = number;
        }
        self.frames += 1;
        counts.frames += 1;
        counts.bytes += counted(octets.len()).get();
        if number >= counts.next {
            counts.lost += number - counts.next;
            counts.next = number + 1;
        } else {
            counts.reordered += 1;
            counts.lost = counts.lost.saturating_sub(1);
        }
        let took = now.saturating_since(made).ps();
        counts.latency_sum_ps = counts.latency_sum_ps.saturating_add(took);
        counts.latency_max_ps = counts.latency_max_ps.max(took);
    }

    /// What came of each flow so far.
    pub fn flows(&self) -> &[FlowCounts; 256] {
        &self.flows
    }

    /// Frames that came of all flows together.
    pub fn total_frames(&self) -> u64 {
        self.frames
    }

    /// What came of all flows together.
    pub fn total(&self) -> FlowCounts {
        self.flows.iter().fold(FlowCounts::default(), |mut all, flow| {
            all.frames += flow.frames;
            all.bytes += flow.bytes;
            all.lost += flow.lost;
            all.reordered += flow.reordered;
            all.latency_sum_ps = all.latency_sum_ps.saturating_add(flow.latency_sum_ps);
            all.latency_max_ps = all.latency_max_ps.max(flow.latency_max_ps);
            all
        })
    }

    /// Frames that were no load.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_proto::units::Duration;

    fn shape(frame: usize) -> Shape {
        Shape { source: MacAddr::numbered(1), destination: MacAddr::numbered(2), tag: None, frame }
    }

    #[test]
    fn a_frame_of_load_is_plain_udp_and_says_its_flow() {
        let mut maker = Maker::new(&shape(1496), 7, true);
        let frame = maker.next(Instant::START).to_vec();
        assert_eq!(frame.len(), 1496);
        let header = Header::parse(&frame).unwrap();
        assert_eq!(header.cn_tag, Some(CnTag { flow: 7 }));
        let (udp, message) = Udp::parse(header.ether_type, &frame[header.payload_at()..]).unwrap();
        assert_eq!((udp.source_port, udp.destination_port), (PORT | 7, PORT));
        assert!(message.starts_with(&MARK));
        assert_eq!(flow_of(&header, &frame), Some(7));
        let parsed = quell_proto::wire::Frame::parse(&frame).unwrap();
        assert_eq!(flow_of_excerpt(&Excerpt::of_frame(&parsed, 64)), Some(7));
        assert_eq!(flow_of_excerpt(&Excerpt::of_frame(&parsed, 10)), None);
        // What is not UDP over IPv4 shares the first reaction point, on its way out and on the way back.
        let mut tcp = frame.clone();
        tcp[header.payload_at() + PROTOCOL_AT] = 6;
        let arp = Header { ether_type: EtherType::new(0x0806).unwrap(), ..header };
        for (header, payload) in [(header, &tcp[header.payload_at()..]), (arp, &[0; 46])] {
            let parsed = quell_proto::wire::Frame { header, payload };
            assert_eq!(flow_of_excerpt(&Excerpt::of_frame(&parsed, 64)), Some(0));
        }
        assert_eq!(flow_of(&header, &tcp), None);
    }

    #[test]
    fn the_shortest_frame_carries_all_it_must() {
        let mut maker = Maker::new(&shape(SHORTEST), 0, false);
        let mut receiver = Receiver::default();
        receiver.on_frame(Instant::START, maker.next(Instant::START));
        assert_eq!(receiver.total().frames, 1);
    }

    #[test]
    fn lost_and_reordered_frames_are_told_apart() {
        let mut maker = Maker::new(&shape(100), 3, false);
        let frames: Vec<Vec<u8>> = (0..6).map(|_| maker.next(Instant::START).to_vec()).collect();
        let mut receiver = Receiver::default();
        let later = Instant::START + Duration::from_us(5);
        for number in [0, 2, 1, 5] {
            receiver.on_frame(later, &frames[number]);
        }
        let flow = receiver.flows()[3];
        assert_eq!((flow.frames, flow.lost, flow.reordered), (4, 2, 1));
        assert_eq!(flow.latency_sum_ps, 4 * Duration::from_us(5).ps());
        assert_eq!(flow.bytes, 4 * 104);
    }

    #[test]
    fn a_receiver_that_joins_misses_nothing_of_what_went_before() {
        let mut maker = Maker::new(&shape(100), 3, false);
        let frames: Vec<Vec<u8>> = (0..9).map(|_| maker.next(Instant::START).to_vec()).collect();
        let count = |mut receiver: Receiver, numbers: &[usize]| {
            numbers.iter().for_each(|number| receiver.on_frame(Instant::START, &frames[*number]));
            let flow = receiver.flows()[3];
            (flow.frames, flow.lost, flow.reordered)
        };
        assert_eq!(count(Receiver::joining(), &[4, 5, 7, 6, 8]), (5, 0, 1));
        assert_eq!(count(Receiver::joining(), &[4, 5, 7]), (3, 1, 0));
        // The sender begins anew.
        assert_eq!(count(Receiver::joining(), &[7, 8, 0, 1, 3]), (5, 1, 0));
        assert_eq!(count(Receiver::default(), &[4, 5]), (2, 4, 0));
    }

    #[test]
    fn what_is_no_load_is_counted_and_left_alone() {
        let mut receiver = Receiver::default();
        receiver.on_frame(Instant::START, &[0; 7]);
        let mut foreign = Maker::new(&shape(100), 3, false).next(Instant::START).to_vec();
        foreign[42] = b'X';
        receiver.on_frame(Instant::START, &foreign);
        receiver.on_frame(Instant::START, &foreign[..40]);
        assert_eq!(receiver.total().frames, 0);
        let Oddities { malformed, foreign, .. } = receiver.oddities();
        assert_eq!((malformed, foreign), (1, 2));
    }

    #[test]
    fn a_source_is_even_and_makes_up_for_little() {
        let maker = Maker::new(&shape(1496), 0, false);
        let mut source = Source::new(maker, Some(Rate::from_mbps(120)));
        let at = |us| Instant::START + Duration::from_us(us);
        let made = |source: &mut Source, us| std::iter::from_fn(|| source.next(at(us)).map(|_| ())).count();
        // A frame of 1500 octets every 100 us.
        assert_eq!(made(&mut source, 0), 1);
        assert_eq!(made(&mut source, 99), 0);
        assert_eq!(made(&mut source, 1000), 10);
        assert_eq!(made(&mut source, 1_000_000), 21);
    }
}
