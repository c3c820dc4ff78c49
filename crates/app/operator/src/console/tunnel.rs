//! Talking to the admin API of a pod: HTTP over a port-forward, which is the only way to a loopback port.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::port;
use stunner_cluster::{Cluster, ClusterError, Http, Place};

/// For a port-forward to open, and for an answer to a question to arrive: somebody waits for the whole page.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for what is to be done, which is done for one who asked for just that.
const PATIENCE_TO_ACT: Duration = Duration::from_secs(10);
/// Open tunnels of one visitor.
const TUNNELS: usize = 128;

/// Why a pod could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TunnelError {
    /// RBAC says no; the API server's words.
    #[error("{0}")]
    Forbidden(String),
    /// The port-forward could not be opened, or the port not be reached through it.
    #[error("{0}")]
    Unreachable(String),
    /// The dataplane refused; its words.
    #[error("{error}")]
    Refused {
        status: StatusCode,
        error: String,
        hint: String,
    },
}

impl From<ClusterError> for TunnelError {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Forbidden { said, .. } => TunnelError::Forbidden(said),
            ClusterError::Status {
                code, error, hint, ..
            } => TunnelError::Refused {
                status: StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY),
                error,
                hint,
            },
            // Which pod it is about is said around it.
            ClusterError::Unreachable { why, .. } => TunnelError::Unreachable(why),
            other => TunnelError::Unreachable(other.to_string()),
        }
    }
}

/// The tunnels of one visitor, kept from question to question.
pub(super) struct Tunnels {
    cluster: Cluster,
    kept: Mutex<HashMap<NamespacedName, Http>>,
}

impl fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnels").finish_non_exhaustive()
    }
}

impl Tunnels {
    pub(super) fn new(client: Client) -> Self {
        Tunnels {
            cluster: Cluster::of(client),
            kept: Mutex::default(),
        }
    }

    /// Asks the dataplane of a pod. `path` begins with `/`.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        pod: &NamespacedName,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, TunnelError> {
        let patience = match method == Method::GET {
            true => PATIENCE,
            false => PATIENCE_TO_ACT,
        };
        let tunnel = self.tunnel(pod).with_patience(patience);
        Ok(tunnel.ask(method, path, body).await?.json()?)
    }

    fn tunnel(&self, pod: &NamespacedName) -> Http {
        let mut kept = self.lock();
        if let Some(tunnel) = kept.get(pod) {
            return tunnel.clone();
        }
        let place = Place::pod(&self.cluster, pod, port::ADMIN);
        let tunnel = Http::new(place).by("stunner-gateway-operator");
        if kept.len() < TUNNELS {
            kept.insert(pod.clone(), tunnel.clone());
        }
        tunnel
    }

    /// Closes the tunnels to pods that are not asked any more.
    pub(super) fn retain(&self, wanted: impl Fn(&NamespacedName) -> bool) {
        self.lock().retain(|pod, _| wanted(pod));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NamespacedName, Http>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataplanes_refusal_is_told_in_its_own_words() {
        let refused = TunnelError::from(ClusterError::Status {
            place: "pod a/b port 8087".to_owned(),
            code: 404,
            error: "there is no listener `a/b/c`".to_owned(),
            hint: "look".to_owned(),
        });
        assert_eq!(
            refused,
            TunnelError::Refused {
                status: StatusCode::NOT_FOUND,
                error: "there is no listener `a/b/c`".to_owned(),
                hint: "look".to_owned(),
            }
        );
    }
}
