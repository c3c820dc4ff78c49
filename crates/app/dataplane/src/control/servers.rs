//! The HTTP servers that a configuration names: health and metrics.

use std::io;
use std::sync::{Arc, OnceLock};

use stunner_config::diff::Changes;
use stunner_config::{Admin, HttpEndpoint};

use super::PrepareError;
use crate::http::{
    Bound, Dataplane, HttpServer, Running, bind_address, health_router, metrics_router,
};

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Health,
    Metrics,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Health => "health check",
            Self::Metrics => "metrics",
        }
    }
}

/// A server that is bound, or the wish to have none.
#[derive(Debug)]
pub struct PreparedServer {
    endpoint: Option<(HttpEndpoint, Bound)>,
}

/// The servers that a change replaces.
#[derive(Debug, Default)]
pub struct PreparedServers {
    pub health: Option<PreparedServer>,
    pub metrics: Option<PreparedServer>,
}

/// The running servers.
pub struct HttpServers {
    /// What the servers show; set once the process is complete.
    dataplane: Arc<OnceLock<Arc<dyn Dataplane>>>,
    health: Option<Running>,
    metrics: Option<Running>,
}

impl std::fmt::Debug for HttpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpServers")
            .field("health", &self.health)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

impl HttpServers {
    pub fn new(dataplane: Arc<OnceLock<Arc<dyn Dataplane>>>) -> Self {
        Self {
            dataplane,
            health: None,
            metrics: None,
        }
    }

    /// Binds what a change asks for, beside the servers that run.
    pub fn prepare(
        &self,
        admin: &Admin,
        changes: &Changes,
    ) -> Result<PreparedServers, PrepareError> {
        let (health, metrics) = (&admin.healthcheck_endpoint, &admin.metrics_endpoint);
        if let (Some(health), Some(metrics)) = (health, metrics)
            && bind_address(health).overlaps(&bind_address(metrics))
        {
            // Not left to the kernel: a port that was shared once for a replacement can be shared again.
            return Err(PrepareError::Endpoint {
                purpose: Purpose::Metrics.as_str(),
                endpoint: metrics.clone(),
                cause: io::ErrorKind::AddrInUse.into(),
            });
        }
        // The two may exchange their ports: either new server may take the place of either old one that leaves.
        let leaving: Vec<&Running> = [
            self.health.as_ref().filter(|_| changes.health.is_some()),
            self.metrics.as_ref().filter(|_| changes.metrics.is_some()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let bind = |purpose, endpoint| bind(purpose, endpoint, &leaving);
        Ok(PreparedServers {
            health: match &changes.health {
                Some(change) => Some(bind(Purpose::Health, change.to.as_ref())?),
                None => None,
            },
            metrics: match &changes.metrics {
                Some(change) => Some(bind(Purpose::Metrics, change.to.as_ref())?),
                None => None,
            },
        })
    }

    /// Starts prepared servers, then stops the ones they replace.
    pub async fn commit(&mut self, prepared: PreparedServers) {
        let mut replaced = Vec::new();
        if let Some(server) = prepared.health {
            let running = self.start(Purpose::Health, server);
            replaced.extend(std::mem::replace(&mut self.health, running));
        }
        if let Some(server) = prepared.metrics {
            let running = self.start(Purpose::Metrics, server);
            replaced.extend(std::mem::replace(&mut self.metrics, running));
        }
        futures_util::future::join_all(replaced.into_iter().map(Running::stop)).await;
    }

    fn start(&self, purpose: Purpose, server: PreparedServer) -> Option<Running> {
        let (endpoint, bound) = server.endpoint?;
        let dataplane = Arc::clone(self.dataplane.get()?);
        let router = match purpose {
            Purpose::Health => health_router(dataplane),
            Purpose::Metrics => metrics_router(&endpoint.path, dataplane),
        };
        match bound.serve(router) {
            Ok(running) => Some(running),
            Err(error) => {
                tracing::error!(scope = "stunner", "cannot serve {endpoint}: {error}");
                None
            }
        }
    }

    pub async fn stop(&mut self) {
        let running = [self.health.take(), self.metrics.take()];
        let stopping = running.into_iter().flatten().map(Running::stop);
        futures_util::future::join_all(stopping).await;
    }
}

fn bind(
    purpose: Purpose,
    endpoint: Option<&HttpEndpoint>,
    leaving: &[&Running],
) -> Result<PreparedServer, PrepareError> {
    let Some(endpoint) = endpoint else {
        return Ok(PreparedServer { endpoint: None });
    };
    match HttpServer::bind_in_place_of(&bind_address(endpoint), leaving) {
        Ok(bound) => Ok(PreparedServer {
            endpoint: Some((endpoint.clone(), bound)),
        }),
        Err(cause) => Err(PrepareError::Endpoint {
            purpose: purpose.as_str(),
            endpoint: endpoint.clone(),
            cause,
        }),
    }
}
