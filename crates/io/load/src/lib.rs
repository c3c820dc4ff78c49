//! TURN load: many sessions, packets at a given rate or as fast as they come back, and what became of them.
//!
//! **What it is.** [`Sessions`] are clients of one server, each with a connection of its own (UDP, TCP, TLS or DTLS), an
//! allocation and a channel to the one peer. A [`Generator`] sends stamped packets through them, in one thread, and counts
//! what arrives and how long it took. A [`Swarm`] is several generators in threads of their own that start their sessions
//! little by little and tell how it goes while it goes.
//!
//! **What it is not.** It starts no servers, and it is no conformance test: it takes the shortest way through the protocol.
//! Nothing is printed here.

#![forbid(unsafe_code)]

mod arrivals;
mod error;
mod gaps;
mod generator;
mod goodbye;
mod greeting;
mod latency;
mod link;
mod pacer;
mod peer;
mod phase;
mod session;
mod stamp;
mod steps;
mod swarm;
mod target;
mod traffic;
mod worker;

pub use error::{FailureKind, SessionError};
pub use generator::Generator;
pub use latency::Latencies;
pub use peer::{PeerPlace, endpoint_options};
pub use session::Sessions;
pub use stamp::STAMP_LEN;
pub use swarm::{Failure, Far, Load, Sample, Swarm, SwarmError};
pub use target::{Handshake, Protocol, Target, Transport};
pub use traffic::{BurstMode, Direction, Flow, Outcome, Pace, Traffic};
