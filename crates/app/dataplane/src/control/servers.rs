//! The HTTP servers that a configuration names: health and metrics.

use std::sync::{Arc, OnceLock};

use stunner_config::HttpEndpoint;

use super::PrepareError;
use crate::http::{
    BindAddress, Bound, Dataplane, HttpServer, Running, health_router, metrics_router,
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

    /// Binds the endpoint, beside the server it is to replace.
    pub fn prepare(
        &self,
        purpose: Purpose,
        endpoint: Option<&HttpEndpoint>,
    ) -> Result<PreparedServer, PrepareError> {
        let Some(endpoint) = endpoint else {
            return Ok(PreparedServer { endpoint: None });
        };
        let address = BindAddress::from(endpoint);
        let running = match purpose {
            Purpose::Health => &self.health,
            Purpose::Metrics => &self.metrics,
        };
        let bound = match running {
            Some(running) => running.bind_replacement(&address),
            None => HttpServer::bind(&address),
        };
        match bound {
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

    /// Starts prepared servers and stops the ones they replace.
    pub async fn commit(&mut self, prepared: PreparedServers) {
        if let Some(server) = prepared.health {
            let running = self.start(Purpose::Health, server);
            replace(&mut self.health, running).await;
        }
        if let Some(server) = prepared.metrics {
            let running = self.start(Purpose::Metrics, server);
            replace(&mut self.metrics, running).await;
        }
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
        replace(&mut self.health, None).await;
        replace(&mut self.metrics, None).await;
    }
}

async fn replace(slot: &mut Option<Running>, running: Option<Running>) {
    if let Some(old) = std::mem::replace(slot, running) {
        old.stop().await;
    }
}
