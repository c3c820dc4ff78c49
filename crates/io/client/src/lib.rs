//! A TURN client with sockets: UDP, TCP, TLS and DTLS around the machine of `stunner-turn`.
//!
//! [`Relay::allocate`] opens one connection to a server, makes one allocation on it and keeps it alive; a task of its
//! own reads the connection and runs the timers. Datagrams go through [`Relay::send`] and [`Relay::recv`], TCP
//! connections to peers (RFC 6062) through [`Relay::connect`] and [`Relay::accept`]. [`binding`] and
//! [`inspect_certificate`] ask a server without an allocation.
//!
//! What it deliberately is not: it does not reconnect. [`Relay::lost`] says that and why an allocation is over, and
//! whoever holds the peers' state decides what comes next. It mints no credentials and reads no cluster.
//!
//! Every failure is a [`ClientError`] whose [`hint`](ClientError::hint) says what to do about it.

#![forbid(unsafe_code)]

mod certificate;
mod connect;
mod error;
mod inbox;
mod link;
mod lost;
mod probe;
mod relay;
mod session;
mod stream;
mod uri;

pub use certificate::{CertificateFault, PeerCertificate, ServerCertificates, inspect_certificate};
pub use connect::{Connect, Roots, Tls};
pub use error::{ClientError, Step};
pub use lost::Lost;
pub use probe::{Bound, binding};
pub use relay::Relay;
pub use stream::PeerStream;
pub use stunner_turn::client::{AllocateOptions, Credentials, Family, RelayTransport};
pub use uri::{ServerTransport, ServerUri, UriError};
