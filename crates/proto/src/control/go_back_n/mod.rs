//! Go-back-N: how a flow survives loss where nothing but order is kept, as reliable connections of RDMA do.
//!
//! The receiver takes frames in order only. One that comes after a gap is thrown away, and the sender is told once
//! which frame is missing; it goes back to that one and sends everything from there again. Where the telling is lost
//! too, or the last frames of a message, a timeout does the same. [`Sender`] and [`Receiver`] know sequence numbers,
//! no octets and no frames; their counters say how much was sent in vain.

mod receiver;
mod sender;

pub use receiver::{Receipt, Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig};

/// What a receiver tells the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Everything below this sequence number has arrived.
    Ack(u64),
    /// So it has, and this one is missing: go back to it.
    Nak(u64),
}

#[cfg(test)]
mod tests;
