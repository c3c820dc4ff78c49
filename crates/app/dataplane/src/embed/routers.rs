//! HTTP servers for several dataplanes.

use std::sync::Arc;

use axum::Router;

use crate::http::Dataplane;

/// The dataplanes there are at this moment.
pub type Dataplanes = Arc<dyn Fn() -> Vec<Arc<dyn Dataplane>> + Send + Sync>;

/// `/live`, `/ready` and `/status`; the status is an array with one document per dataplane, sorted by name.
pub fn health_router(_dataplanes: Dataplanes) -> Router {
    Router::new()
}

/// The metrics of all dataplanes, added up, at every path.
pub fn metrics_router(_dataplanes: Dataplanes) -> Router {
    Router::new()
}

/// The admin API over all of them.
pub fn admin_router(_dataplanes: Dataplanes) -> Router {
    Router::new()
}
