//! What the admin API says and is asked. The reader is lenient: a newer dataplane may say more, an older one less.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::query::with_query;

/// `GET /api/v1/sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// How many there are, shown or not.
    pub total: u64,
    pub sessions: Vec<Session>,
}

/// A live allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Names the session until it ends.
    pub id: String,
    pub user: String,
    /// `namespace/gateway/listener`.
    pub listener: String,
    pub client: SocketAddr,
    /// How the client reaches the listener: `udp`, `tcp`, `tls` or `dtls`.
    pub transport: String,
    /// The relayed address; two of them, one of each family, for a dual allocation.
    pub relayed: Vec<SocketAddr>,
    /// How the relay reaches peers: `udp` or `tcp`.
    #[serde(default)]
    pub relay_transport: String,
    #[serde(default)]
    pub peers: Vec<SessionPeer>,
    pub age_seconds: u64,
    /// Since the last data in either direction.
    pub idle_seconds: u64,
    /// Until the session ends unless the client refreshes it.
    pub expires_in_seconds: u64,
    pub to_peers: Volume,
    pub to_client: Volume,
}

/// A permission or a channel of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPeer {
    /// An address for a permission, address and port for a channel.
    pub peer: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<u16>,
    #[serde(default)]
    pub expires_in_seconds: u64,
}

/// Packets and payload bytes of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub packets: u64,
    pub bytes: u64,
}

/// `GET /api/v1/denials`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denials {
    #[serde(default)]
    pub total: u64,
    /// The newest first.
    pub denials: Vec<Denial>,
}

/// A peer that admission refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// RFC 3339, in UTC.
    pub at: String,
    pub listener: String,
    pub user: String,
    pub client: SocketAddr,
    /// With port 0 where the client asked for an address as a whole.
    pub peer: SocketAddr,
    #[serde(default)]
    pub transport: String,
    /// As in the label of `stunner_denials_total`.
    pub reason: String,
    /// The rule that came nearest to admitting the peer, in words. The dataplane knows rules, not backends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
}

/// Which sessions or denials are meant. All conditions must hold; those left out hold always.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub user: Option<String>,
    pub listener: Option<String>,
    /// An address, with or without a port.
    pub client: Option<String>,
    pub limit: Option<usize>,
}

impl Filter {
    pub(super) fn path(&self, path: &str) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let parameters = [
            ("user", self.user.as_deref()),
            ("listener", self.listener.as_deref()),
            ("client", self.client.as_deref()),
            ("limit", limit.as_deref()),
        ];
        with_query(path, &parameters)
    }
}

/// "Would this peer be admitted?"
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explain {
    /// `namespace/gateway/listener`.
    pub listener: String,
    /// An address, with or without a port.
    pub peer: String,
    pub client: Option<IpAddr>,
    /// `udp` or `tcp`; the dataplane takes UDP without it.
    pub transport: Option<String>,
}

impl Explain {
    pub(super) fn path(&self) -> String {
        let client = self.client.map(|client| client.to_string());
        let parameters = [
            ("listener", Some(self.listener.as_str())),
            ("peer", Some(self.peer.as_str())),
            ("client", client.as_deref()),
            ("transport", self.transport.as_deref()),
        ];
        with_query("/api/v1/explain", &parameters)
    }
}

/// The answer to [`Explain`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub listener: String,
    pub peer: String,
    pub admitted: bool,
    /// What admits it: the cluster, `namespace/route` in what an operator makes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<String>,
    /// The rule that admits it, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// Why it is refused, as in the label of `stunner_denials_total`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The rule that came nearest to admitting it, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// The rule of `rule` or `nearest` in parts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grounds: Option<Grounds>,
    /// Of the configuration; grows by one with every one applied.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generation: Option<u64>,
    /// Addresses of the listener's relays; empty where they are not known beforehand.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub relays: Vec<IpAddr>,
}

/// A rule that admits peers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// `namespace/route` in what an operator makes.
    pub cluster: String,
    pub prefix: String,
    /// `first-last`.
    pub ports: String,
    pub transport: String,
}
