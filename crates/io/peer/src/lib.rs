//! WebRTC peers for connectivity tests: one that echoes, one that calls.
//!
//! **What it is.** Both ends of an ICE test with a real WebRTC stack: ICE (RFC 8445), DTLS, SCTP and a data channel.
//! [`EchoPeer`] answers an SDP offer and sends every message back on the channel it came on. [`Caller`] makes an offer;
//! its [`Call`] runs a [`Probe`]: packets with a number and a time, of which the [`Report`] tells how many came back and
//! how long that took. What both ends can be reached at is what [`Gather::candidates`] finds: addresses of this host, and
//! addresses on TURN servers, to which it speaks UDP, TCP, TLS and DTLS through `stunner-client`.
//!
//! **What it is not.** There is no signalling: how offer and answer travel is the caller's business. Candidates do not
//! trickle: an offer or answer has all of them. Media is refused by silence, and nothing that a peer sends is kept, logged
//! or looked at. Empty messages do not come back: the engine cannot send them.

#![forbid(unsafe_code)]

mod call;
mod candidate;
mod echo;
mod engine;
mod gather;
mod offer;
mod path;
mod probe;
mod report;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use call::{Call, CallError, Caller, Offered, Stage};
pub use candidate::{CandidateKind, LocalCandidate, Pair, RemoteCandidate, has_loopback};
pub use gather::{Gather, GatherError, GatherFailure, Gathered};
pub use offer::{EchoPeer, OfferError};
pub use probe::{Probe, Progress};
pub use report::{Report, RoundTrips};
pub use server::{IceServer, IceServersError, TransportPolicy, ice_servers};
pub use session::{Ended, Limits, Session};
