//! ICE tests: a credential for a minute that reaches a peer of the dataplane's own.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Admin;
use crate::error::ClusterError;
use crate::http::Answer;
use crate::query::encode;

/// A running test. `Debug` masks the credential.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IceTest {
    pub id: String,
    pub ice_servers: Vec<GuestServer>,
    /// The echo peer.
    pub peer: SocketAddr,
}

/// A TURN server and what to log in with.
#[derive(Clone, Serialize, Deserialize)]
pub struct GuestServer {
    pub urls: Vec<String>,
    pub username: String,
    pub credential: String,
}

impl fmt::Debug for GuestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuestServer")
            .field("urls", &self.urls)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

impl Admin {
    /// Starts a test of a listener, for a client that speaks every transport.
    pub async fn start_ice_test(&self, listener: &str) -> Result<IceTest, ClusterError> {
        let body = json!({ "listener": listener, "client": "native" });
        let started = self.admin.post("/api/v1/ice-tests", &body).await;
        started.and_then(Answer::json)
    }

    /// Ends it, with its credential.
    pub async fn end_ice_test(&self, id: &str) -> Result<(), ClusterError> {
        let path = format!("/api/v1/ice-tests/{}", encode(id));
        self.admin.delete(&path).await?.ok().map(drop)
    }
}
