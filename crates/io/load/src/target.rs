//! The server that gets the load.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::ssl::Ssl;

/// Makes the client side of one TLS or DTLS session: who is trusted and which name is expected is decided there.
#[derive(Clone)]
pub struct Handshake(Arc<dyn Fn() -> Result<Ssl, ErrorStack> + Send + Sync>);

impl Handshake {
    pub fn new(make: impl Fn() -> Result<Ssl, ErrorStack> + Send + Sync + 'static) -> Self {
        Handshake(Arc::new(make))
    }

    pub(crate) fn make(&self) -> Result<Ssl, ErrorStack> {
        (self.0)()
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handshake")
    }
}

/// How clients reach the server.
#[derive(Clone, Debug)]
pub enum Transport {
    Udp,
    Tcp,
    Tls(Handshake),
    Dtls(Handshake),
}

/// What a session does to get a path through the server.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// Allocate and bind a channel.
    Turn(Transport),
    /// Nothing: a forwarder strips and adds four bytes and knows one peer.
    Forward,
}

impl Protocol {
    pub(crate) fn transport(&self) -> &Transport {
        match self {
            Protocol::Turn(transport) => transport,
            Protocol::Forward => &Transport::Udp,
        }
    }
}

/// A credential and an address.
#[derive(Clone)]
pub struct Target {
    /// Where the server listens.
    pub address: SocketAddr,
    /// TURN, or nothing.
    pub protocol: Protocol,
    /// The credential of all sessions.
    pub username: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("address", &self.address)
            .field("protocol", &self.protocol)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}
