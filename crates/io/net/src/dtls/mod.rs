//! DTLS 1.2 for datagram listeners, by OpenSSL.
//!
//! Sans-IO: the caller owns the socket and the timers. A [`DtlsListener`] answers ClientHellos
//! without keeping anything until one brings a valid cookie (RFC 6347 §4.2.1); it then hands out a
//! [`DtlsSession`], which takes the datagrams of that client from there on.

mod context;
mod cookie;
mod datagrams;
mod ffi;
mod listener;
mod session;
mod transport;

pub use context::DtlsContext;
pub use datagrams::Datagrams;
pub use listener::{DtlsListener, Listen, is_client_hello};
pub use session::{DtlsError, DtlsSession, MAX_RECORD};

/// Size of a handshake datagram. Small enough for every path with its headers and a tunnel's, so
/// that handshakes do not depend on fragments getting through.
const HANDSHAKE_MTU: u32 = 1200;
