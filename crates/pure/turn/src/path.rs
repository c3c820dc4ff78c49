//! How a client reaches the server.

use std::net::SocketAddr;

/// A listener of the configuration, by the number its owner gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerId(pub u32);

/// The caller's own key of the socket or connection that a client came by. Opaque to the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u64);

/// An allocation of one server: a place in its table, and how often that place was taken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationId {
    pub index: u32,
    pub generation: u32,
}

/// The transport between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClientTransport {
    Udp,
    Tcp,
    Tls,
    Dtls,
}

impl ClientTransport {
    /// Whether messages are framed in a byte stream.
    pub fn is_stream(self) -> bool {
        matches!(self, ClientTransport::Tcp | ClientTransport::Tls)
    }

    /// Whether messages keep their boundaries.
    pub fn is_datagram(self) -> bool {
        !self.is_stream()
    }

    /// Whether there is a connection or session that can be closed.
    pub fn is_connected(self) -> bool {
        !matches!(self, ClientTransport::Udp)
    }

    /// The longest message that fits: a UDP datagram over IPv4, a DTLS record (RFC 6347 §4.1.1), or what the 16-bit
    /// length of STUN leaves on a stream.
    pub fn max_message(self) -> usize {
        match self {
            ClientTransport::Udp => 65_507,
            ClientTransport::Dtls => 16_384,
            ClientTransport::Tcp | ClientTransport::Tls => 65_552,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ClientTransport::Udp => "udp",
            ClientTransport::Tcp => "tcp",
            ClientTransport::Tls => "tls",
            ClientTransport::Dtls => "dtls",
        }
    }
}

/// What identifies a client (RFC 8656 §2, "5-tuple").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    pub transport: ClientTransport,
    /// Where the client's packets come from.
    pub client: SocketAddr,
    /// Where the client sent them: the local address, never a wildcard.
    pub local: SocketAddr,
}

/// A 5-tuple with what the caller needs to answer on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPath {
    pub tuple: FiveTuple,
    pub listener: ListenerId,
    pub link: LinkId,
    /// `false` where this port drains: requests on live allocations go on, new allocations get 508.
    pub accepting: bool,
}

impl ClientPath {
    /// The client's address as it is told (XOR-MAPPED-ADDRESS): what a dual-stack socket shows as mapped IPv4 is IPv4.
    pub(crate) fn mapped_address(&self) -> SocketAddr {
        let client = self.tuple.client;
        SocketAddr::new(client.ip().to_canonical(), client.port())
    }
}
