//! Congestion points of the schemes that are not a kind of QCN: at outputs, and blaming the frame that came.

use super::Switch;
use super::congestion::point_number;
use crate::model::frame::{Body, Handle, MARKED, tag_of};
use crate::model::net::Net;
use crate::model::stream;
use crate::scenario::plan::{MarkedAt, Marking, Messages, Plan, Scheme};
use quell_proto::control::{ecm, ecn, ib_cc, qcn_probe, qcn2007};
use quell_proto::dice::Dice;
use quell_proto::units::Bytes;
use quell_record::EventKind;

/// What watches one output.
#[derive(Debug)]
pub(super) struct Sampler {
    point: Point,
    /// Length and class of its messages.
    messages: (u16, u8),
    /// Frames marked since the last sample.
    marks: u64,
    /// A queue that holds no more than this is of no interest.
    pub(super) ignored: u64,
}

impl Sampler {
    /// Frames marked since the last sample, if it marks as ECN has it, instead of sending messages.
    pub(super) fn take_marks(&mut self) -> Option<u64> {
        matches!(self.point, Point::Ecn(..)).then(|| std::mem::take(&mut self.marks))
    }
}

#[derive(Debug)]
enum Point {
    Ecm(ecm::CongestionPoint, ecm::Scale),
    Qcn2007(qcn2007::CongestionPoint),
    /// That of QCN of 2007, and on which scale it writes into probes.
    QcnProbe(qcn2007::CongestionPoint, ecm::Scale),
    IbCc(ib_cc::Marker),
    Ecn(ecn::Marker, MarkedAt),
}

impl Point {
    fn new(scheme: &Scheme, marking: Option<Marking>, dice: Dice) -> Option<Point> {
        Some(match scheme {
            Scheme::None | Scheme::Qcn(_) | Scheme::AfQcn(..) | Scheme::Fqcn(_) => return None,
            Scheme::Ecm(ecm) => {
                Point::Ecm(ecm::CongestionPoint::new(ecm.congestion, dice), ecm.congestion.scale)
            }
            Scheme::E2cm(e2cm) => {
                Point::Ecm(ecm::CongestionPoint::new(e2cm.congestion, dice), e2cm.congestion.scale)
            }
            Scheme::QcnProbe(qcn) => {
                let point = qcn2007::CongestionPoint::new(qcn.congestion, dice);
                Point::QcnProbe(point, qcn.reaction.scale)
            }
            Scheme::Qcn2007(qcn) => Point::Qcn2007(qcn2007::CongestionPoint::new(qcn.congestion, dice)),
            Scheme::IbCc(ib) => Point::IbCc(ib_cc::Marker::new(ib.marker, dice)),
            Scheme::Dcqcn(_) | Scheme::Dctcp(_) => {
                let Marking { curve, at } = marking?;
                Point::Ecn(ecn::Marker::new(curve, dice), at)
            }
        })
    }
}

impl Switch {
    pub(super) fn install_samplers(&mut self, plan: &Plan, seed: u64, net: &Net) {
        let messages = plan.scheme.messages().map_or((0, 0), |Messages { priority, frame }| {
            let class = net.classes.iter().position(|class| *class == priority);
            (frame.get() as u16, class.expect("the priority of messages is in use") as u8)
        });
        for queue in 0..self.outputs.len() {
            if net.data_class(queue % self.classes).is_none() {
                continue;
            }
            let entity = u64::from(self.id.0) << 32 | (queue as u64) << 1;
            let marking = plan.switches[self.id.0 as usize].marking;
            let point = Point::new(&plan.scheme, marking, Dice::new(seed, entity, stream::CONGESTION));
            // A queue up to the lower threshold marks nothing, and draws nothing.
            let ignored = match (&point, marking) {
                (Some(Point::Ecn(..)), Some(marking)) => marking.curve.low.get(),
                _ => 0,
            };
            self.outputs[queue].sampler =
                point.map(|point| Box::new(Sampler { point, messages, marks: 0, ignored }));
        }
    }

    /// A frame of data has come to wait for an output that is watched.
    #[inline(never)]
    pub(super) fn consult(&mut self, handle: Handle, output: usize, net: &mut Net) {
        let frame = net.pool.get(handle).frame;
        let Body::Data { tag, sequence } = frame.body else { return };
        let queue = output * self.classes + frame.class as usize;
        let sender = &self.ports[output].sender;
        let (wire, has_credits) = (sender.wire, sender.held & (1 << frame.class) == 0);
        let place = &mut self.outputs[queue];
        let queued = Bytes::new(place.meter.level());
        let Some(sampler) = place.sampler.as_deref_mut() else { return };
        let told = match &mut sampler.point {
            Point::Ecm(point, scale) => point.on_arrival(queued, tag == tag_of(wire)).map(|message| {
                let ecm::Message { offset, delta } = message;
                (Body::Bcn { offset, delta, point: wire }, badness(message, *scale))
            }),
            Point::Qcn2007(point) | Point::QcnProbe(point, _) => point.on_arrival(queued).map(|sample| {
                let units =
                    |octets: i64| (octets / 64).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
                let (quantised, offset, delta) =
                    (sample.quantised, units(sample.offset), units(sample.delta));
                let point = point_number(output, net.classes[frame.class as usize]);
                (Body::Cnm { quantised, offset, delta, node: self.node, point }, i64::from(quantised))
            }),
            Point::IbCc(marker) => {
                if marker.on_arrival(frame.bytes(), queued, has_credits) {
                    place.cnms += u32::from(tag != MARKED);
                    net.pool.get_mut(handle).frame.body = Body::Data { sequence, tag: MARKED };
                }
                None
            }
            Point::Ecn(marker, MarkedAt::Arrival) => {
                if marker.marks(queued) {
                    sampler.marks += u64::from(net.pool.get_mut(handle).frame.mark());
                }
                None
            }
            Point::Ecn(_, MarkedAt::Departure) => None,
        };
        let messages = sampler.messages;
        if let Some((body, value)) = told {
            place.cnms += 1;
            if let Some(data) = net.data_class(frame.class as usize) {
                net.port_event(wire, data, EventKind::Cnm, Some(frame.flow), value);
            }
            self.send_message(frame.flow, body, messages, net);
        }
    }
}

impl Switch {
    /// A frame of data leaves a queue that is watched.
    #[inline(never)]
    pub(super) fn consult_departure(&mut self, handle: Handle, queue: usize, net: &mut Net) {
        let place = &mut self.outputs[queue];
        let left = Bytes::new(place.meter.level());
        let Some(sampler) = place.sampler.as_deref_mut() else { return };
        if let Point::Ecn(marker, MarkedAt::Departure) = &mut sampler.point
            && marker.marks(left)
        {
            sampler.marks += u64::from(net.pool.get_mut(handle).frame.mark());
        }
    }

    /// A frame that is not data has come to wait for an output. If it is a probe on its way there, and the output has
    /// something to write into it, it does.
    #[inline]
    pub(super) fn stamp(&mut self, handle: Handle, output: usize, net: &mut Net) {
        let frame = &mut net.pool.get_mut(handle).frame;
        let Body::Probe { worst, is_back: false } = frame.body else { return };
        let place = &self.outputs[output * self.classes + frame.class as usize];
        if let Some(Point::QcnProbe(point, scale)) = place.sampler.as_deref().map(|sampler| &sampler.point) {
            let queued = Bytes::new(place.meter.level());
            let worst = qcn_probe::stamp(worst, queued, point.queued_before(), *scale);
            frame.body = Body::Probe { worst, is_back: false };
        }
    }
}

/// Feedback of ECM on the scale of QCN's six bits, for the recording: 63 is the worst, less than nothing is good news,
/// and 64 is a stop.
fn badness(message: ecm::Message, scale: ecm::Scale) -> i64 {
    if message == ecm::Message::STOP {
        return 64;
    }
    let largest = i64::try_from(scale.largest()).unwrap_or(i64::MAX).max(1);
    -message.feedback(scale) * 63 / largest
}
