//! The admin API of dataplanes, and what they tell beside it.

mod api;
mod ice_test;
mod statistics;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::port;

pub use api::{
    Denial, Denials, Explain, Explanation, Filter, Grounds, Session, SessionPeer, Sessions, Volume,
};
pub use ice_test::{GuestServer, IceTest};
pub use statistics::{ClusterStatistics, GatewayStatistics, ListenerStatistics, Statistics};

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::http::Http;
use crate::place::Place;
use crate::query::encode;

/// A dataplane that can be asked: a pod, or a process at an address that may serve several Gateways.
#[derive(Debug, Clone)]
pub struct Admin {
    admin: Http,
    health: Http,
    metrics: Http,
    metrics_path: String,
}

impl Admin {
    /// The dataplane of a pod, with its ports where they usually are.
    pub fn of_pod(cluster: &Cluster, pod: &NamespacedName) -> Admin {
        Admin::at(&Place::pod(cluster, pod, port::ADMIN))
    }

    /// `--admin ADDR`: a process on this host, such as a local `stunner run`.
    pub fn direct(address: &str) -> Result<Admin, ClusterError> {
        Ok(Admin::at(&Place::direct(address, port::ADMIN)?))
    }

    /// Health and metrics are expected beside the admin API, on their usual ports.
    fn at(place: &Place) -> Admin {
        Admin {
            health: Http::new(place.with_port(port::HEALTH)),
            metrics: Http::new(place.with_port(port::METRICS)),
            metrics_path: "/metrics".to_owned(),
            admin: Http::new(place.clone()),
        }
    }

    /// With the metrics elsewhere, as the `admin.metrics_endpoint` of a config may say.
    pub fn with_metrics(mut self, port: u16, path: &str) -> Admin {
        self.metrics = Http::new(self.admin.place().with_port(port));
        self.metrics_path = path.to_owned();
        self
    }

    /// With the health server on another port.
    pub fn with_health(mut self, port: u16) -> Admin {
        self.health = Http::new(self.admin.place().with_port(port));
        self
    }

    /// Where the admin API is.
    pub fn place(&self) -> &Place {
        self.admin.place()
    }

    /// Live allocations.
    pub async fn sessions(&self, filter: &Filter) -> Result<Sessions, ClusterError> {
        let path = filter.path("/api/v1/sessions");
        self.admin.get(&path).await?.json()
    }

    /// Ends a session.
    pub async fn kill(&self, id: &str) -> Result<(), ClusterError> {
        let path = format!("/api/v1/sessions/{}", encode(id));
        self.admin.delete(&path).await?.ok().map(drop)
    }

    /// Peers that were refused lately, the newest first.
    pub async fn denials(&self, filter: &Filter) -> Result<Denials, ClusterError> {
        let path = filter.path("/api/v1/denials");
        self.admin.get(&path).await?.json()
    }

    /// What happened so far in numbers.
    pub async fn statistics(&self) -> Result<Statistics, ClusterError> {
        self.admin.get("/api/v1/statistics").await?.json()
    }

    /// Whether a peer would be admitted.
    pub async fn explain(&self, question: &Explain) -> Result<Explanation, ClusterError> {
        self.admin.get(&question.path()).await?.json()
    }

    /// The status documents: one of a pod, one per Gateway of a local process.
    pub async fn status(&self) -> Result<Vec<Value>, ClusterError> {
        let status: Value = self.health.get("/status").await?.json()?;
        Ok(match status {
            Value::Array(documents) => documents,
            document => vec![document],
        })
    }

    /// The metrics page, to be read with [`crate::metrics::samples`].
    pub async fn metrics(&self) -> Result<String, ClusterError> {
        self.metrics.get(&self.metrics_path).await?.text()
    }
}
