//! What `GET /api/v1/state` answers: everything that the page shows, in one document.
//!
//! The hierarchy of classes, gateways, listeners, routes and backends is the JSON of the operator's own overview and
//! passes through unread ([`State::overview`]); what moves from second to second is in [`Live`] and names its gateways,
//! listeners and clusters by the ids that the overview gives them. Counters only grow: the page makes rates of two answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// Everything the page shows.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub mode: Mode,
    /// Of the program.
    pub version: String,
    /// Grows when manifests or conditions change; the number of [`Source::changed`](crate::Source::changed).
    pub generation: u64,
    /// The members `classes`, `gateways` and `routes`, as the overview of the translation names them.
    /// Shared, as it may be megabytes and the page asks every second.
    #[serde(flatten, serialize_with = "shared")]
    pub overview: Arc<Map<String, Value>>,
    /// What the manifests do wrong, where they are read from files.
    pub problems: Vec<Problem>,
    /// Whether the visitor's token was needed and accepted.
    pub token: Token,
    /// What the dataplanes say; none where the visitor may not see it.
    pub live: Option<Live>,
    /// What could not be found out, and why: a dataplane that does not answer, a right that the token lacks.
    pub notes: Vec<Note>,
}

impl State {
    /// The members of an overview; anything but an object has none.
    pub fn members(overview: &impl Serialize) -> Arc<Map<String, Value>> {
        match serde_json::to_value(overview) {
            Ok(Value::Object(members)) => Arc::new(members),
            _ => Arc::default(),
        }
    }
}

fn shared<S: Serializer>(
    members: &Arc<Map<String, Value>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    members.as_ref().serialize(serializer)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Manifests from files, gateways in this process.
    Standalone,
    /// Manifests from the cluster, gateways in pods.
    Operator,
}

/// What became of the visitor's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Token {
    /// Everything is shown without one.
    NotNeeded,
    /// The live parts need one and none was sent.
    Missing,
    Accepted,
    /// The API server does not know it, or it may do nothing of what is needed; a note says which.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    /// From 1; 0 where the file as a whole is meant.
    pub line: u32,
    pub column: u32,
    /// `error` or `warning`.
    pub severity: String,
    /// `spec.listeners[0].port`; empty where no field is meant.
    pub field: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What the dataplanes say.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    pub gateways: Vec<LiveGateway>,
    pub listeners: Vec<LiveListener>,
    pub clusters: Vec<LiveCluster>,
    /// The newest first; a few hundred are enough.
    pub denials: Vec<Denial>,
    /// All denials since the dataplanes started, by reason as in `stunner_denials_total`.
    pub denials_by_reason: BTreeMap<String, u64>,
    /// Allocations, bounded by the source; [`Live::sessions_total`] counts all.
    pub sessions: Vec<Session>,
    pub sessions_total: u64,
    /// Whether [`Source::end_session`](crate::Source::end_session) does anything.
    pub can_end_sessions: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveGateway {
    /// `namespace/name`.
    pub id: String,
    pub phase: Phase,
    pub allocations: u64,
    /// In words, where there is more to say than the phase does: the time left to drain, why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    Running,
    /// Takes no new allocation and waits for the live ones to end.
    Draining,
    NotRunning,
}

/// The traffic of a listener, summed over the dataplanes of its gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveListener {
    /// `namespace/gateway/listener`.
    pub id: String,
    pub traffic: Traffic,
}

/// The traffic of a cluster, which is what the dataplane makes of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveCluster {
    /// `cluster` of the route in the overview.
    pub id: String,
    pub traffic: Traffic,
}

/// Counters since the dataplane started. Received and sent are seen from the gateway, as in its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
}

/// A peer that a client was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// RFC 3339.
    pub at: String,
    /// `namespace/gateway/listener`.
    pub listener: String,
    pub user: String,
    pub client: String,
    pub peer: String,
    /// As in the label of `stunner_denials_total`.
    pub reason: String,
    /// The backend or rule that came nearest, in words: `Service media/media-server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// All of it in one sentence.
    pub sentence: String,
}

/// An allocation. There is no secret in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// What [`Source::end_session`](crate::Source::end_session) takes; unique over all gateways.
    pub id: String,
    pub user: String,
    /// `namespace/gateway/listener`.
    pub listener: String,
    pub client: String,
    /// `udp`, `tcp`, `tls` or `dtls`.
    pub transport: String,
    pub relayed: Vec<String>,
    /// Peers with a permission or a channel.
    pub peers: Vec<String>,
    pub age_seconds: u64,
    pub idle_seconds: u64,
    pub expires_in_seconds: u64,
    pub to_peers: Volume,
    pub to_client: Volume,
}

/// Packets and payload bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub packets: u64,
    pub bytes: u64,
}

/// What a browser needs to connect through a listener to the built-in echo peer; as the admin API answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IceTest {
    pub id: String,
    /// `namespace/gateway/listener`.
    pub listener: String,
    pub ice_servers: Vec<IceServer>,
    pub expires_in_seconds: u64,
    /// Address and port of the echo peer.
    pub peer: String,
}

/// An `RTCIceServer` of the WebRTC specification.
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
