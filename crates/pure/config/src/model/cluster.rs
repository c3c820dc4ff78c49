//! `clusters[]`: peers that clients may reach.

use std::fmt;

use super::{DnsEndpoint, Endpoint};

/// The transport between the gateway and a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PeerTransport {
    Udp,
    Tcp,
}

impl PeerTransport {
    pub fn as_str(self) -> &'static str {
        match self {
            PeerTransport::Udp => "UDP",
            PeerTransport::Tcp => "TCP",
        }
    }
}

impl fmt::Display for PeerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named set of peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Unique in a configuration.
    pub name: String,
    pub kind: ClusterKind,
    pub protocol: PeerTransport,
}

/// How a cluster names its peers. Both lists are sorted and without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterKind {
    Static(Vec<Endpoint>),
    StrictDns(Vec<DnsEndpoint>),
}

impl ClusterKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            ClusterKind::Static(_) => "STATIC",
            ClusterKind::StrictDns(_) => "STRICT_DNS",
        }
    }
}

impl Cluster {
    /// The endpoints in their normal spelling, sorted as texts.
    pub fn endpoint_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = match &self.kind {
            ClusterKind::Static(endpoints) => endpoints.iter().map(ToString::to_string).collect(),
            ClusterKind::StrictDns(endpoints) => {
                endpoints.iter().map(ToString::to_string).collect()
            }
        };
        texts.sort();
        texts
    }
}
