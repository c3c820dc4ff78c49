//! TLS 1.2 and 1.3 for stream listeners, by rustls with the ring provider.
//!
//! Sans-IO: the caller reads the socket, feeds a [`TlsSession`], and writes what it hands out.

mod acceptor;
mod session;

pub use acceptor::TlsAcceptor;
pub use session::{TlsError, TlsSession};

/// ALPN protocol of TURN over TLS and DTLS (RFC 7443 §3).
pub const ALPN_TURN: &[u8] = b"stun.turn";
