//! `turn:` and `turns:` URIs: text in, parts out; nothing here touches the network.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use thiserror::Error;

/// How packets get to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerTransport {
    /// Plain UDP.
    Udp,
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tls,
    /// DTLS over UDP.
    Dtls,
}

impl ServerTransport {
    /// All four.
    pub const ALL: [ServerTransport; 4] = [Self::Udp, Self::Tcp, Self::Tls, Self::Dtls];

    /// Whether it is TCP below.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Tcp | Self::Tls)
    }

    /// Whether it shows a certificate.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Tls | Self::Dtls)
    }

    /// RFC 7065 §3.2: the port of a URI that has none.
    pub fn default_port(self) -> u16 {
        if self.is_secure() { 5349 } else { 3478 }
    }
}

impl fmt::Display for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Tls => "TLS",
            Self::Dtls => "DTLS",
        })
    }
}

/// A TURN server as users write it: `turn:host:port?transport=udp` (RFC 7065) or
/// `turn://user:password@host:port?transport=udp|tcp|tls|dtls`.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUri {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// Where the URI has none 3478, for TLS and DTLS 5349, or 443 in the spelling with `//`.
    pub port: u16,
    /// UDP, TCP, TLS or DTLS.
    pub transport: ServerTransport,
    /// User name and password; the password is empty where the URI has only a user name.
    pub credentials: Option<(String, String)>,
}

impl fmt::Debug for ServerUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.credentials.as_ref().map(|(user, _)| user);
        f.debug_struct("ServerUri")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("transport", &self.transport)
            .field("user", &user)
            .finish_non_exhaustive()
    }
}

/// The form of RFC 7065, without the credentials.
impl fmt::Display for ServerUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, transport) = match self.transport {
            ServerTransport::Udp => ("turn", "udp"),
            ServerTransport::Tcp => ("turn", "tcp"),
            ServerTransport::Tls => ("turns", "tcp"),
            ServerTransport::Dtls => ("turns", "udp"),
        };
        let port = self.port;
        match self.host.contains(':') {
            true => write!(f, "{scheme}:[{}]:{port}?transport={transport}", self.host),
            false => write!(f, "{scheme}:{}:{port}?transport={transport}", self.host),
        }
    }
}

/// Why a text is no TURN URI. Says what was expected and repeats nothing of the text: where a host is missing or a
/// password is not encoded, any part of it may be one of the password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UriError {
    /// Not `turn:` or `turns:`.
    #[error(
        "expected `turn:` or `turns:` at the beginning, as in `turn:192.0.2.1:3478?transport=udp`"
    )]
    Scheme,
    /// No host.
    #[error("expected a host name or an IP address")]
    NoHost,
    /// Not a host.
    #[error(
        "the host is not a host name or an IP address: expected letters, digits, `-`, `.` and `_`"
    )]
    Host,
    /// Brackets around something else.
    #[error("expected an IPv6 address in the brackets, as in `[2001:db8::1]`")]
    NotIpv6,
    /// An IPv6 address without brackets, or with one.
    #[error("expected an IPv6 address in brackets, as in `[2001:db8::1]:3478`")]
    Brackets,
    /// Not a port.
    #[error("expected a port from 1 to 65535 after the host")]
    Port,
    /// A path, a fragment or other text.
    #[error("expected nothing but `?transport=…` after the host and port")]
    Trailing,
    /// A parameter that we do not know.
    #[error("unknown parameter: expected nothing but `transport`")]
    Parameter,
    /// Not a transport.
    #[error("unknown transport: expected `udp`, `tcp`, `tls` or `dtls`")]
    Transport,
    /// The parameter twice.
    #[error("expected one `transport`, not two")]
    Twice,
    /// Broken percent-encoding.
    #[error(
        "expected two hexadecimal digits after each `%` of the user name and password, and UTF-8 behind them: write \
         `%` as `%25`, `@` as `%40` and `:` as `%3A`"
    )]
    Encoding,
}
