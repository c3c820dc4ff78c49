use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use stunner_telemetry::metrics::CONTENT_TYPE;

use super::{Dataplane, respond};

/// The metrics at the path of the configured endpoint. A path that ends in `/` stands for everything below it too, so
/// that the default `/` answers `/metrics` as well.
pub fn metrics_router(path: &str, dataplane: Arc<dyn Dataplane>) -> Router {
    // Compared here and not routed: a path from a configuration may hold what a router takes for a pattern.
    Router::new()
        .fallback(metrics)
        .with_state((Arc::from(path), dataplane))
}

async fn metrics(
    State((path, dataplane)): State<(Arc<str>, Arc<dyn Dataplane>)>,
    uri: Uri,
) -> Response {
    let fits = uri.path() == &*path || (path.ends_with('/') && uri.path().starts_with(&*path));
    if fits {
        respond(StatusCode::OK, CONTENT_TYPE, dataplane.metrics())
    } else {
        respond(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            format!("the metrics are at {path}\n"),
        )
    }
}
