//! What the server wants done, as values.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use stunner_config::PeerTransport;
use stunner_config::admission::DenyReason;

use super::{AuthFailure, SessionRecord};
use crate::{AllocationId, ClientPath, ListenerId};

/// An Allocate that waits for its relay sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A peer connection of a TCP allocation: the CONNECTION-ID of RFC 6062. The top byte is the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// The shard that owns the connection.
    pub fn shard(self) -> u8 {
        (self.0 >> 24) as u8
    }
}

/// Something to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send a STUN message to a client.
    Send { to: ClientPath, bytes: Vec<u8> },

    /// Open relay sockets, check the user's quota, and answer with `Server::relay_opened`.
    OpenRelay(RelayRequest),
    /// The sockets of this request now serve this allocation.
    RelayReady {
        allocation: AllocationId,
        request: RequestId,
    },
    /// The sockets of this request have no use any more: close them and give the quota back.
    AbandonRelay { request: RequestId, user: Arc<str> },
    /// The allocation has ended: close its sockets and give the quota back.
    CloseRelay {
        allocation: AllocationId,
        user: Arc<str>,
    },
    /// One family of a dual allocation has ended; the other one and the quota stay (RFC 8656 §8.2).
    CloseRelayAddress {
        allocation: AllocationId,
        relayed: SocketAddr,
    },

    /// Connect to a peer from the relayed address and answer with `Server::peer_connected`.
    ConnectPeer {
        allocation: AllocationId,
        connection: ConnectionId,
        relayed: SocketAddr,
        peer: SocketAddr,
    },
    /// Close a peer connection, or stop making it.
    ClosePeer { connection: ConnectionId },
    /// From here on the client's stream and the peer connection carry each other's bytes, without framing. What was
    /// sent before this effect goes out first.
    BindPeer {
        connection: ConnectionId,
        path: ClientPath,
    },
    /// The frame just handed in is a ConnectionBind for a connection of another shard: move the stream there and hand
    /// the frame in again.
    ForwardBind { shard: u8, path: ClientPath },
    /// Close a client's connection or session.
    CloseClient { path: ClientPath },

    /// A channel came to be. Refreshing one says nothing.
    ChannelBound {
        allocation: AllocationId,
        number: u16,
        peer: SocketAddr,
        path: ClientPath,
    },
    /// A channel has ended.
    ChannelUnbound {
        allocation: AllocationId,
        number: u16,
        peer: SocketAddr,
        path: ClientPath,
    },

    /// An allocation came to be.
    Started(SessionStart),
    /// An allocation has ended.
    Ended(SessionRecord),
    /// A peer was denied: once per request, and once per policy for the packets of a permission or channel.
    Denied(Denial),
    /// A request with credentials was refused.
    AuthFailed {
        path: ClientPath,
        reason: AuthFailure,
    },
}

/// What relay sockets to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayRequest {
    pub id: RequestId,
    /// Whose quota it counts against.
    pub user: Arc<str>,
    /// The user is a guest, who needs few.
    pub is_guests: bool,
    pub listener: ListenerId,
    pub path: ClientPath,
    pub transport: PeerTransport,
    /// The address to advertise, where a relayed address of this family is wanted. With a reservation both families
    /// that the listener has are given and the token decides.
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<Ipv6Addr>,
    /// The local address of the client's packet.
    pub local: IpAddr,
    /// The port has to be even (RFC 8656 §7.2).
    pub even_port: bool,
    /// The next higher port has to be kept for whoever shows the token that is granted.
    pub reserve_next: bool,
    /// Take the port kept under this token.
    pub reservation: Option<[u8; 8]>,
}

/// Relay sockets that were opened: at least one address, as advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayGrant {
    pub v4: Option<SocketAddr>,
    pub v6: Option<SocketAddr>,
    /// Token of the port that was kept, where `reserve_next` asked for one.
    pub reservation: Option<[u8; 8]>,
}

/// Why no relay socket was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayRefusal {
    /// No port is free, or the sockets cannot be opened: 508.
    NoPort,
    /// The user has as many allocations as allowed: 486.
    Quota,
    /// The host has no such address family: 440.
    FamilyUnsupported,
    /// The token is unknown or has expired: 508.
    BadReservation,
}

/// A new allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    pub allocation: AllocationId,
    pub user: Arc<str>,
    pub username: Arc<str>,
    pub path: ClientPath,
    pub transport: PeerTransport,
    pub relayed: Vec<SocketAddr>,
}

/// A peer that a client may not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub path: ClientPath,
    pub user: Arc<str>,
    pub transport: PeerTransport,
    /// Port 0 where the request was for an address as a whole.
    pub peer: SocketAddr,
    pub reason: DenyReason,
}
