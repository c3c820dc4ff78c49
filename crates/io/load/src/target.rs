//! The server that gets the load.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslConnector, SslMethod, SslOptions, SslVerifyMode};

/// Makes the client side of TLS and DTLS sessions. Certificates are not looked at: it is the server's speed that is asked
/// for, and whoever wants to know who it is asks once, before the load.
#[derive(Clone)]
pub struct Handshake {
    connector: SslConnector,
    /// The name that is sent to the server, which may choose a certificate by it.
    name: String,
}

impl Handshake {
    pub fn tls(name: &str) -> Result<Self, ErrorStack> {
        Handshake::new(SslMethod::tls(), name)
    }

    pub fn dtls(name: &str) -> Result<Self, ErrorStack> {
        Handshake::new(SslMethod::dtls(), name)
    }

    fn new(method: SslMethod, name: &str) -> Result<Self, ErrorStack> {
        let mut builder = SslConnector::builder(method)?;
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_options(SslOptions::NO_QUERY_MTU);
        Ok(Handshake {
            connector: builder.build(),
            name: name.to_owned(),
        })
    }

    pub(crate) fn session(&self) -> Result<Ssl, ErrorStack> {
        let mut configuration = self.connector.configure()?;
        configuration.set_verify_hostname(false);
        // RFC 6066 §3: an address is no server name.
        configuration.set_use_server_name_indication(self.name.parse::<IpAddr>().is_err());
        configuration.into_ssl(&self.name)
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("name", &self.name)
            .finish_non_exhaustive()
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
