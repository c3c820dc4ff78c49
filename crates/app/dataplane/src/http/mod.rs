//! The small HTTP servers of the dataplane: health, metrics and the admin API.
//!
//! The routers know nothing of shards; they ask a [`Dataplane`]. A server is bound first and started later, so that a
//! reconcile can refuse a configuration before it has touched anything.

mod admin;
mod api;
mod events;
mod guard;
mod health;
mod ice_tests;
mod metrics;
mod statistics;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use serde::Serialize;
use stunner_config::{HttpEndpoint, HttpHost};
use stunner_telemetry::metrics::Registry;
use tokio::sync::broadcast;

pub use crate::ice_test::{IceTestError, TestClient};
pub use admin::admin_router;
pub use api::{
    ClientTransportName, DenialRecord, Event, EventKind, ExplainQuery, IceServer, IceTest,
    NotAnAddress, PeerQuery, RelayTransportName, Session, SessionPeer, Traffic,
};
pub use health::health_router;
pub use metrics::metrics_router;
pub use statistics::{ClusterStatistics, GatewayStatistics, ListenerStatistics};
pub use stunner_http::{BindAddress, Bound, HttpServer, Running};

/// Where a server of the configuration listens.
pub fn bind_address(endpoint: &HttpEndpoint) -> BindAddress {
    let port = endpoint.port;
    match &endpoint.host {
        HttpHost::Any => BindAddress::Any { port },
        HttpHost::Ip(ip) => BindAddress::Socket(SocketAddr::new(*ip, port)),
        HttpHost::Name(host) => BindAddress::Name {
            host: host.clone(),
            port,
        },
    }
}

/// Whether the dataplane wants traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    NotReady { why: String },
}

/// Which dataplane this is, where a process has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `namespace/gateway`.
    pub name: String,
    /// No two dataplanes of a process ever have the same.
    pub number: u64,
}

/// What the HTTP servers can ask of a running dataplane.
pub trait Dataplane: Send + Sync + 'static {
    fn identity(&self) -> Identity;
    /// The names of the listeners in force, sorted.
    fn listeners(&self) -> Vec<String>;
    /// Fails when a shard has stopped turning, and says which.
    fn liveness(&self) -> Result<(), String>;
    fn readiness(&self) -> Readiness;
    /// The status document. Load balancers publish it, so there is no secret in it.
    fn status(&self) -> serde_json::Value;
    /// The series of this dataplane.
    fn registry(&self) -> Registry;
    /// All metrics in the Prometheus text format.
    fn metrics(&self) -> String {
        self.registry().render()
    }
    /// What happened so far in numbers, for each gateway there is, sorted by name.
    fn statistics(&self) -> BoxFuture<'_, Vec<GatewayStatistics>>;
    fn sessions(&self) -> BoxFuture<'_, Vec<Session>>;
    /// Ends a session; `false` when there is none of that id.
    fn end_session(&self, id: String) -> BoxFuture<'_, bool>;
    /// Recent denials, the newest first.
    fn denials(&self) -> Vec<DenialRecord>;
    /// How admission would judge a peer, or what is wrong with the question.
    fn explain(&self, query: ExplainQuery) -> Result<serde_json::Value, String>;
    fn events(&self) -> broadcast::Receiver<Event>;
    /// Starts an ICE test of a listener: a credential for a minute that reaches an echo peer and nothing else.
    fn start_ice_test(
        &self,
        listener: String,
        client: TestClient,
    ) -> BoxFuture<'_, Result<IceTest, IceTestError>>;
    /// Answers the offer of a test; both are SDP.
    fn answer_ice_test(
        &self,
        id: String,
        offer: String,
    ) -> BoxFuture<'_, Result<String, IceTestError>>;
    /// Ends a test with its credential; `false` when there is none of that id.
    fn end_ice_test(&self, id: String) -> BoxFuture<'_, bool>;
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(mut body) => {
            body.push(b'\n');
            respond(status, "application/json; charset=utf-8", body)
        }
        // None of our types can fail to serialise; an empty answer is still better than a panic.
        Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", Vec::new()),
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(content_type),
    );
    response
}
