use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::any;
use serde::Serialize;

use super::{Dataplane, Readiness, json};

/// `/live`, `/ready` and `/status`, for any method.
pub fn health_router(dataplane: Arc<dyn Dataplane>) -> Router {
    Router::new()
        .route("/live", any(live))
        .route("/ready", any(ready))
        .route("/status", any(status))
        .fallback(async || {
            health(
                StatusCode::NOT_FOUND,
                "no such path; try /live, /ready or /status",
            )
        })
        .with_state(dataplane)
}

#[derive(Serialize)]
struct Health<'a> {
    status: u16,
    message: &'a str,
}

fn health(status: StatusCode, message: &str) -> Response {
    json(
        status,
        &Health {
            status: status.as_u16(),
            message,
        },
    )
}

async fn live(State(dataplane): State<Arc<dyn Dataplane>>) -> Response {
    match dataplane.liveness() {
        Ok(()) => json(StatusCode::OK, &serde_json::json!({})),
        Err(why) => health(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

async fn ready(State(dataplane): State<Arc<dyn Dataplane>>) -> Response {
    match dataplane.readiness() {
        Readiness::Ready => health(StatusCode::OK, "READY"),
        Readiness::NotReady { why } => health(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

async fn status(State(dataplane): State<Arc<dyn Dataplane>>) -> Response {
    json(StatusCode::OK, &dataplane.status())
}
