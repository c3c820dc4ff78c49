//! What the admin API says, as types. Tools read it with lenient ones of their own: they may be of another version.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a client reaches its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientTransportName {
    Udp,
    Tcp,
    Tls,
    Dtls,
}

/// How the relay reaches a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayTransportName {
    Udp,
    Tcp,
}

/// Packets and payload bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    pub packets: u64,
    pub bytes: u64,
}

/// A live allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Names the session until it ends, and is not used again while the process lives.
    pub id: String,
    /// The user id that quotas count.
    pub user: String,
    pub listener: String,
    pub client: SocketAddr,
    pub transport: ClientTransportName,
    /// The relayed address; two of them, one of each family, for a dual allocation.
    pub relayed: Vec<SocketAddr>,
    pub relay_transport: RelayTransportName,
    pub peers: Vec<SessionPeer>,
    pub age_seconds: u64,
    /// Since the last data in either direction.
    pub idle_seconds: u64,
    /// Until the session ends unless the client refreshes it.
    pub expires_in_seconds: u64,
    pub to_peers: Traffic,
    pub to_client: Traffic,
}

/// A permission or a channel of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPeer {
    /// An address for a permission, address and port for a channel.
    pub peer: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<u16>,
    pub expires_in_seconds: u64,
}

/// A peer that admission refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialRecord {
    #[serde(with = "timestamp")]
    pub at: Timestamp,
    pub listener: String,
    pub user: String,
    pub client: SocketAddr,
    /// With port 0 where the client asked for an address as a whole.
    pub peer: SocketAddr,
    pub transport: RelayTransportName,
    /// As in the label of `stunner_denials_total`.
    pub reason: String,
    /// The rule that came nearest to admitting the peer, in words: cluster, prefix, ports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
}

/// "Would this peer be admitted?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainQuery {
    pub listener: String,
    pub peer: PeerQuery,
    pub client: Option<IpAddr>,
    pub transport: RelayTransportName,
}

/// An address, with or without a port: one port, or all of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PeerQuery {
    Address(IpAddr),
    Socket(SocketAddr),
}

impl PeerQuery {
    /// Whether an address with its port is meant by this.
    pub fn covers(self, address: SocketAddr) -> bool {
        match self {
            PeerQuery::Address(ip) => ip.to_canonical() == address.ip().to_canonical(),
            PeerQuery::Socket(socket) => socket == address,
        }
    }
}

/// A text that is neither an address nor an address with a port.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is not an address or address:port")]
pub struct NotAnAddress(String);

impl TryFrom<String> for PeerQuery {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        if let Ok(socket) = text.parse() {
            return Ok(PeerQuery::Socket(socket));
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(&text);
        bare.parse()
            .map(PeerQuery::Address)
            .map_err(|_| NotAnAddress(text))
    }
}

/// An ICE test that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IceTest {
    pub id: String,
    pub listener: String,
    /// For the `RTCPeerConnection` of the browser.
    pub ice_servers: Vec<IceServer>,
    /// How long the credential makes allocations.
    pub expires_in_seconds: u64,
    /// Where the echo peer is: the only peer that the credential reaches.
    pub peer: SocketAddr,
}

/// An element of `iceServers`, as browsers take it. `Debug` masks the credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IceServer {
    pub urls: Vec<String>,
    pub username: String,
    pub credential: String,
}

impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer")
            .field("urls", &self.urls)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// Something that happened, for the event stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    #[serde(with = "timestamp")]
    pub at: Timestamp,
    /// Which dataplane tells it, where the stream is that of several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gateway: Option<String>,
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    pub fn now(kind: EventKind) -> Self {
        Event {
            at: Timestamp::now(),
            gateway: None,
            kind,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    SessionStarted {
        id: String,
        user: String,
        listener: String,
        client: SocketAddr,
        transport: ClientTransportName,
        relayed: Vec<SocketAddr>,
    },
    SessionEnded {
        id: String,
        user: String,
        listener: String,
        client: SocketAddr,
        transport: ClientTransportName,
        relayed: Vec<SocketAddr>,
        duration_seconds: u64,
        to_peers: Traffic,
        to_client: Traffic,
        /// `expired`, `deleted`, `client_closed`, `listener_removed`, `killed`, `shutdown` or `relay_failed`.
        why: String,
    },
    Denied {
        listener: String,
        user: String,
        client: SocketAddr,
        peer: SocketAddr,
        transport: RelayTransportName,
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        nearest: Option<String>,
    },
    AuthFailed {
        listener: String,
        client: SocketAddr,
        /// As in the label of `stunner_auth_failures_total`.
        reason: String,
    },
    ConfigApplied {
        generation: u64,
        /// What changed, in one line.
        changes: String,
    },
    ConfigRejected {
        why: String,
    },
    ListenerOpened {
        listener: String,
        /// Where it listens.
        address: SocketAddr,
    },
    ListenerClosed {
        listener: String,
        address: SocketAddr,
    },
    CdsConnected {
        origin: String,
    },
    CdsLost {
        origin: String,
        why: String,
    },
    Draining {
        remaining: u64,
    },
    /// This reader was too slow and missed events.
    Lagged {
        missed: u64,
    },
}

impl From<&DenialRecord> for Event {
    fn from(denial: &DenialRecord) -> Self {
        let DenialRecord {
            at,
            listener,
            user,
            client,
            peer,
            transport,
            reason,
            nearest,
        } = denial.clone();
        Event {
            at,
            gateway: None,
            kind: EventKind::Denied {
                listener,
                user,
                client,
                peer,
                transport,
                reason,
                nearest,
            },
        }
    }
}

mod timestamp {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{at:.3}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
