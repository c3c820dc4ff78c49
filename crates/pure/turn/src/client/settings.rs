//! What a caller chooses before the first packet.

use std::fmt;

use stunner_stun::Family;

/// How the client's packets reach the server. It decides retransmission and padding, nothing else:
/// TLS is a stream and DTLS carries datagrams as far as this machine can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP or DTLS: requests are retransmitted (RFC 8489 §6.2.1), ChannelData need not be padded.
    Datagram,
    /// TCP or TLS: one request, one timeout (RFC 8489 §6.2.2), ChannelData padded to 4 bytes.
    Stream,
}

/// The long-term credential (RFC 8489 §9.2) the client answers challenges with.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// No credential: a 401 ends the request.
    None,
    /// A user name and password; ephemeral credentials are used the same way.
    Static {
        /// USERNAME as it goes on the wire.
        username: String,
        /// The password; never leaves this machine except as a key.
        password: String,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::None => f.write_str("None"),
            Credentials::Static { username, .. } => f
                .debug_struct("Static")
                .field("username", username)
                .field("password", &"***")
                .finish(),
        }
    }
}

/// Everything a [`Client`](super::Client) needs to know besides time and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The credential used when the server asks for one.
    pub credentials: Credentials,
    /// Datagram or stream.
    pub transport: Transport,
    /// SOFTWARE attribute of every request, if any.
    pub software: Option<String>,
    /// Use MESSAGE-INTEGRITY-SHA256 and PASSWORD-ALGORITHM when the server offers
    /// PASSWORD-ALGORITHMS. Off: behave as an RFC 5389 client (MD5 key, SHA-1 integrity).
    pub allow_sha256: bool,
    /// Add FINGERPRINT to requests; needed where STUN shares a port with other protocols.
    pub fingerprint: bool,
    /// Refresh the allocation, its permissions and its channels without being asked.
    pub auto_refresh: bool,
    /// Pad ChannelData to 4 bytes in datagrams too, as RFC 8656 §12.5 allows: some servers read DTLS as a stream and
    /// wait for the padding.
    pub pad_datagrams: bool,
}

impl Settings {
    /// Defaults around a credential and a transport: SHA-256 allowed, no FINGERPRINT, automatic refreshes.
    pub fn new(credentials: Credentials, transport: Transport) -> Self {
        Settings {
            credentials,
            transport,
            software: None,
            allow_sha256: true,
            fingerprint: false,
            auto_refresh: true,
            pad_datagrams: false,
        }
    }

    /// The common case: a user name and a password.
    pub fn with_password(username: &str, password: &str, transport: Transport) -> Self {
        let credentials = Credentials::Static {
            username: username.to_owned(),
            password: password.to_owned(),
        };
        Settings::new(credentials, transport)
    }
}

/// The transport between the relay and its peers (REQUESTED-TRANSPORT, RFC 8656 §18.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayTransport {
    /// Protocol number 17.
    Udp,
    /// Protocol number 6: an RFC 6062 allocation; only over a stream transport.
    Tcp,
}

impl RelayTransport {
    /// The IANA protocol number.
    pub fn protocol(self) -> u8 {
        match self {
            RelayTransport::Udp => 17,
            RelayTransport::Tcp => 6,
        }
    }
}

/// What an Allocate request asks for. The default is a UDP relay in the server's default family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocateOptions {
    /// UDP (RFC 8656) or TCP (RFC 6062).
    pub transport: RelayTransport,
    /// REQUESTED-ADDRESS-FAMILY.
    pub family: Option<Family>,
    /// ADDITIONAL-ADDRESS-FAMILY; RFC 8656 §7.1 allows IPv6 only, and not together with `family`.
    pub additional_family: Option<Family>,
    /// EVEN-PORT; `Some(true)` also reserves the next port.
    pub even_port: Option<bool>,
    /// RESERVATION-TOKEN from an earlier answer.
    pub reservation: Option<[u8; 8]>,
    /// LIFETIME in seconds.
    pub lifetime: Option<u32>,
    /// DONT-FRAGMENT: ask whether the server can set DF.
    pub dont_fragment: bool,
}

impl Default for AllocateOptions {
    fn default() -> Self {
        AllocateOptions {
            transport: RelayTransport::Udp,
            family: None,
            additional_family: None,
            even_port: None,
            reservation: None,
            lifetime: None,
            dont_fragment: false,
        }
    }
}
