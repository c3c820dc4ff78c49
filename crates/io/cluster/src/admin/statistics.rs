//! What a dataplane has counted, per gateway and listener. Read twice, it gives rates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Volume;

/// `GET /api/v1/statistics`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// By name: one in a pod, one per Gateway of a local process.
    pub gateways: Vec<GatewayStatistics>,
}

/// A gateway of a process. Counters begin with the process and never go down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewayStatistics {
    /// `namespace/gateway`.
    pub gateway: String,
    /// `READY`, `NOT-READY` or `TERMINATING`.
    pub status: String,
    /// Grows by one with every configuration applied.
    pub generation: u64,
    pub uptime_seconds: u64,
    pub allocations: u64,
    pub allocations_total: u64,
    /// While it drains: the allocations that hold the drain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_remaining: Option<u64>,
    /// By the label of `stunner_denials_total`, and so on.
    pub denials: BTreeMap<String, u64>,
    pub auth_failures: BTreeMap<String, u64>,
    /// STUN error responses by code.
    pub errors: BTreeMap<String, u64>,
    pub dropped_packets: BTreeMap<String, u64>,
    pub handshake_failures: BTreeMap<String, u64>,
    pub listeners: Vec<ListenerStatistics>,
    pub clusters: Vec<ClusterStatistics>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerStatistics {
    /// `namespace/gateway/listener`.
    pub name: String,
    /// As in the configuration; `None` where the listener is gone and its sessions go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Where clients are told to go, `None` as above. The host may be a wildcard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    pub allocations: u64,
    pub denials: u64,
    pub from_clients: Volume,
    pub to_clients: Volume,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterStatistics {
    pub name: String,
    pub from_peers: Volume,
    pub to_peers: Volume,
}
