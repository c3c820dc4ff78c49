//! HTTP servers for several dataplanes.

use std::sync::Arc;

use axum::Router;

use super::aggregate::Aggregate;
use crate::http::{self, Dataplane};

/// The dataplanes there are at this moment. A dataplane is listed until it has stopped.
pub type Dataplanes = Arc<dyn Fn() -> Vec<Arc<dyn Dataplane>> + Send + Sync>;

/// All of them as one: ids of sessions are prefixed so that they stay unique, metrics are added up, the status is an
/// array.
pub fn aggregate(dataplanes: Dataplanes) -> Arc<dyn Dataplane> {
    Arc::new(Aggregate::new(dataplanes))
}

/// `/live`, `/ready` and `/status`; the status is an array with one document per dataplane, sorted by name.
pub fn health_router(dataplanes: Dataplanes) -> Router {
    http::health_router(aggregate(dataplanes))
}

/// The metrics of all dataplanes, added up, at every path.
pub fn metrics_router(dataplanes: Dataplanes) -> Router {
    http::metrics_router("/", aggregate(dataplanes))
}

/// The admin API over all of them.
pub fn admin_router(dataplanes: Dataplanes) -> Router {
    http::admin_router(aggregate(dataplanes))
}
