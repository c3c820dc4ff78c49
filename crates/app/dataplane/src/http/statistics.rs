//! What the admin API says of a gateway in numbers. Tools take it twice and show the difference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Traffic;

/// A gateway of this process. Counters begin with the process and never go down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayStatistics {
    /// `namespace/gateway`.
    pub gateway: String,
    /// As in the status document: `READY`, `NOT-READY` or `TERMINATING`.
    pub status: String,
    /// Grows by one with every configuration applied.
    pub generation: u64,
    pub uptime_seconds: u64,
    pub allocations: u64,
    pub allocations_total: u64,
    /// While it drains: the allocations that hold the drain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drain_remaining: Option<u64>,
    /// By the label of `stunner_denials_total`, and so on; what never happened is left out.
    pub denials: BTreeMap<String, u64>,
    pub auth_failures: BTreeMap<String, u64>,
    /// STUN error responses by code.
    pub errors: BTreeMap<String, u64>,
    pub dropped_packets: BTreeMap<String, u64>,
    pub handshake_failures: BTreeMap<String, u64>,
    /// Sorted by name; those that are gone and still have sessions too.
    pub listeners: Vec<ListenerStatistics>,
    /// Sorted by name.
    pub clusters: Vec<ClusterStatistics>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerStatistics {
    /// `namespace/gateway/listener`.
    pub name: String,
    /// As in the configuration; missing where the listener is gone and its sessions go on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protocol: Option<String>,
    /// Where clients are told to go; missing as `protocol` is. The host may be a wildcard.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uri: Option<String>,
    pub allocations: u64,
    pub denials: u64,
    pub from_clients: Traffic,
    pub to_clients: Traffic,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatistics {
    pub name: String,
    pub from_peers: Traffic,
    pub to_peers: Traffic,
}
