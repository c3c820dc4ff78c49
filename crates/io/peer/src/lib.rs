//! A WebRTC peer that echoes what it gets on data channels.
//!
//! **What it is.** [`EchoPeer::answer`] takes an SDP offer with a data channel and a UDP socket, and gives the answer and
//! a running [`Session`]: ICE-lite (RFC 8445 §2.5) with one host candidate, DTLS, SCTP, and every message back on the
//! channel it came on, text as text and binary as binary. It is the far end of connectivity tests.
//!
//! **What it is not.** There is no signalling: how offer and answer travel is the caller's business. Media is refused
//! by silence, and nothing that a peer sends is kept, logged or looked at. Empty messages do not come back: the engine
//! cannot send them.

#![forbid(unsafe_code)]

mod echo;
mod offer;
mod session;
#[cfg(test)]
mod tests;

pub use offer::{EchoPeer, OfferError};
pub use session::{Ended, Limits, Session};
