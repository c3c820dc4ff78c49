//! TURN (RFC 8656, RFC 6062) as state machines over plain values.
//!
//! **What it is.** Two sans-IO machines. [`server::Server`] decides what a TURN server does with every datagram, frame,
//! timer and policy change it is told about; [`client`] is the other end, used by tools, the load generator and tests.
//! Time comes in as [`Now`], randomness as a seed; what shall happen goes out as values ([`server::Effect`]).
//!
//! **What it is not.** There is no socket, clock, thread or lock in here, and no configuration file: the caller owns
//! sockets and relay ports and gives the server an immutable [`server::Policy`]. The wire format lives in
//! `stunner-stun`, the question which peers may be reached in `stunner_config::admission`.
//!
//! **The loop in one sentence**: hand every packet to the machine, forward what it says to relay, and after any call
//! that did not answer `Relay` drain [`server::Server::next_effect`] until it is empty.
//!
//! Central types: [`server::Server`], [`server::Effect`], [`ClientPath`].

#![forbid(unsafe_code)]

pub mod client;
mod path;
pub mod server;
mod time;

pub use path::{AllocationId, ClientPath, ClientTransport, FiveTuple, LinkId, ListenerId};
pub use time::Now;
