//! The mechanisms: values and the time in, values out.
//!
//! Nothing in here knows a clock, a queue of events or a wire. A driver (the simulator, a live datapath)
//! calls a machine with `now` and what happened, sends what comes back, and calls again when
//! `next_timeout` says so. One pending timer a machine is enough: a stale one does no harm.
//!
//! - [`qcn`]: congestion points and reaction points of IEEE 802.1Qau.
//! - [`af_qcn`], [`fqcn`]: two ways to make its congestion points fair, by measuring what each flow brings
//!   ([`arrivals`]).
//! - [`ecm`], [`qcn2007`]: what came before it, with good news from switches, and without; [`drift`] is a climb that
//!   asks nobody.
//! - [`e2cm`], [`qcn_probe`]: ECM and QCN whose sources send probes to learn when they may speed up.
//! - [`ib_cc`]: InfiniBand's: marks, their return, and a table of delays.
//! - [`ecn`]: which frames a queue marks; [`dcqcn`] and [`dctcp`] are what ends make of marks, one by rate and one by
//!   window, and [`go_back_n`] how a sender repeats what was lost.
//! - [`isolation`]: congestion isolation, IEEE 802.1Qcz: flows that build a queue get out of the others' way.
//! - [`pause`]: when a buffer stops its peer (802.3x PAUSE, 802.1Qbb PFC), and what the peer does about it.
//! - [`headroom`]: how much still arrives after a stop was decided.
//! - [`domain_defence`]: which ports border on a neighbour that takes part in congestion notification.
//! - [`pacer`]: the token bucket that holds a flow to the rate its reaction point allows.
//!
//! # Where a new scheme goes
//!
//! A scheme is a folder beside [`qcn`]: its parameters and presets in `mod.rs`, one machine a file, tests
//! below each, a transcript of a flow's life among them. What its messages say becomes a variant of
//! [`Feedback`]; its source side implements [`ReactionPoint`] and becomes a variant of [`AnyReaction`], and
//! the compiler lists the arms left to write. A scheme that only changes what QCN tells, and whom, has neither:
//! see [`af_qcn`]. Its page goes to `docs/schemes/`.

pub mod af_qcn;
pub mod arrivals;
pub mod dcqcn;
pub mod dctcp;
pub mod domain_defence;
pub mod drift;
pub mod e2cm;
pub mod ecm;
pub mod ecn;
mod estimate;
mod fixed;
pub mod fqcn;
pub mod go_back_n;
pub mod headroom;
pub mod ib_cc;
pub mod isolation;
pub mod limiter;
pub mod pacer;
pub mod pause;
mod probe;
pub mod qcn;
pub mod qcn2007;
pub mod qcn_probe;

use crate::units::{Bytes, Duration, Instant, Rate};

/// The source side of a congestion control scheme, for one limiter.
pub trait ReactionPoint {
    /// A notification for this limiter arrived.
    fn on_feedback(&mut self, now: Instant, feedback: Feedback);
    /// `size` octets of this limiter's flows left the port: sent, not merely queued.
    fn on_sent(&mut self, now: Instant, size: Bytes);
    /// The time `next_timeout` named has come. Early or repeated calls change nothing.
    fn on_timeout(&mut self, now: Instant);
    /// When `on_timeout` is next due. Ask again after every other call.
    fn next_timeout(&self) -> Option<Instant>;
    /// What the pacer holds the flows to, or `None` while nothing is limited.
    fn limit(&self) -> Option<Rate>;
    /// Whether nothing it knows matters any more, so that its driver may forget it: in most schemes, once nothing is
    /// limited. The next notification then finds a new one.
    #[inline]
    fn is_spent(&self) -> bool {
        self.limit().is_none()
    }
    /// What frames of this limiter carry for congestion points to see (a rate limiter tag), if the scheme has such
    /// a thing.
    #[inline]
    fn tag(&self) -> Option<u32> {
        None
    }
    /// Whether a probe is to be sent along the path now, in a scheme that has such a thing; asking takes it. Ask after a
    /// timeout.
    #[inline]
    fn take_probe(&mut self) -> bool {
        false
    }
    /// The port was paused for this limiter's priority. A driver that makes a reaction point during a pause
    /// says so right after. Repeated calls change nothing. Most schemes have no use for it.
    fn on_paused(&mut self, _now: Instant) {}
    /// The pause is over. Without a pause before, nothing changes.
    fn on_resumed(&mut self, _now: Instant) {}
}

/// What a network tells the source of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feedback {
    /// A congestion notification message of QCN, or of its ancestor of 2007.
    Cnm {
        /// Its Quantized Feedback field: 1 to 63, the more the worse; 0 says nothing.
        quantised: u8,
    },
    /// A message of ECM.
    Bcn {
        /// The congestion point that speaks.
        point: u32,
        /// What it says.
        message: ecm::Message,
    },
    /// A mark of InfiniBand's congestion control, returned by the receiver.
    Becn,
    /// A probe came back.
    Probe {
        /// How long it took there and back.
        took: Duration,
        /// The worst feedback of the congestion points on its way there, in units of 64 octets, good above zero; see
        /// [`qcn_probe::stamp`].
        worst: i16,
    },
    /// A congestion notification packet of DCQCN: frames of the flow came marked.
    Cnp,
}

/// A reaction point of any scheme in this crate. The set is closed, so that a flow's state lives in its
/// driver's arena without a heap; a scheme from outside enters one level up, as a [`ReactionPoint`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyReaction {
    /// QCN's.
    Qcn(qcn::QcnReaction),
    /// ECM's.
    Ecm(ecm::EcmReaction),
    /// That of QCN as it was in 2007.
    Qcn2007(qcn2007::Reaction),
    /// InfiniBand's.
    IbCc(ib_cc::IbReaction),
    /// E2CM's.
    E2cm(e2cm::E2cmReaction),
    /// That of QCN with good news from probes.
    QcnProbe(qcn_probe::ProbedReaction),
    /// DCQCN's.
    Dcqcn(dcqcn::DcqcnReaction),
}

/// Hands a call on to whichever reaction point it is.
macro_rules! each {
    ($any:expr, $it:ident => $call:expr) => {
        match $any {
            AnyReaction::Qcn($it) => $call,
            AnyReaction::Ecm($it) => $call,
            AnyReaction::Qcn2007($it) => $call,
            AnyReaction::IbCc($it) => $call,
            AnyReaction::E2cm($it) => $call,
            AnyReaction::QcnProbe($it) => $call,
            AnyReaction::Dcqcn($it) => $call,
        }
    };
}

impl ReactionPoint for AnyReaction {
    #[inline]
    fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        each!(self, it => it.on_feedback(now, feedback));
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, size: Bytes) {
        each!(self, it => it.on_sent(now, size));
    }

    #[inline]
    fn on_timeout(&mut self, now: Instant) {
        each!(self, it => it.on_timeout(now));
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        each!(self, it => it.next_timeout())
    }

    #[inline]
    fn limit(&self) -> Option<Rate> {
        each!(self, it => it.limit())
    }

    #[inline]
    fn is_spent(&self) -> bool {
        each!(self, it => it.is_spent())
    }

    #[inline]
    fn tag(&self) -> Option<u32> {
        each!(self, it => it.tag())
    }

    #[inline]
    fn take_probe(&mut self) -> bool {
        each!(self, it => it.take_probe())
    }

    #[inline]
    fn on_paused(&mut self, now: Instant) {
        each!(self, it => it.on_paused(now));
    }

    #[inline]
    fn on_resumed(&mut self, now: Instant) {
        each!(self, it => it.on_resumed(now));
    }
}
