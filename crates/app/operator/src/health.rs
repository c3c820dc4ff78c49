//! Liveness and readiness, as probes ask for them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The loop turns every second; a first translation of a large cluster takes a few.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// What probes are told. Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Health {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    turned: Instant,
    /// `None`: ready.
    waiting_for: Option<String>,
}

impl Default for Health {
    fn default() -> Self {
        Health {
            inner: Arc::new(Mutex::new(Inner {
                turned: Instant::now(),
                waiting_for: Some("starting".to_owned()),
            })),
        }
    }
}

impl Health {
    /// The main loop has turned.
    pub fn turned(&self) {
        self.with(|inner| inner.turned = Instant::now());
    }

    pub fn set_ready(&self) {
        self.with(|inner| inner.waiting_for = None);
    }

    pub fn set_waiting_for(&self, what: impl Into<String>) {
        let what = what.into();
        self.with(|inner| inner.waiting_for = Some(what));
    }

    /// What readiness waits for.
    pub fn waiting_for(&self) -> Option<String> {
        self.with(|inner| inner.waiting_for.clone())
    }

    fn stuck_for(&self, now: Instant) -> Option<Duration> {
        let since = self.with(|inner| now.saturating_duration_since(inner.turned));
        (since > STUCK_AFTER).then_some(since)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        // Every change is a single assignment: there is no half-changed state.
        look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `/healthz` and `/readyz`; the paths below them that the original answers too are the same checks.
pub fn health_router(health: Health) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/healthz/{check}", get(healthz))
        .route("/readyz", get(readyz))
        .route("/readyz/{check}", get(readyz))
        .with_state(health)
}

async fn healthz(State(health): State<Health>) -> Response {
    match health.stuck_for(Instant::now()) {
        None => ok(),
        Some(since) => unavailable(format!(
            "the main loop has not turned for {} s",
            since.as_secs()
        )),
    }
}

async fn readyz(State(health): State<Health>) -> Response {
    match health.waiting_for() {
        None => ok(),
        Some(what) => unavailable(format!("waiting for {what}")),
    }
}

fn ok() -> Response {
    text(StatusCode::OK, "ok".to_owned())
}

fn unavailable(why: String) -> Response {
    text(StatusCode::SERVICE_UNAVAILABLE, why)
}

fn text(status: StatusCode, text: String) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (status, headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_does_not_turn_is_noticed() {
        let health = Health::default();
        let now = Instant::now();
        assert_eq!(health.stuck_for(now), None);
        assert!(health.stuck_for(now + STUCK_AFTER * 2).is_some());
    }

    #[test]
    fn readiness_says_what_is_missing() {
        let health = Health::default();
        health.set_waiting_for("Services");
        assert_eq!(health.waiting_for().as_deref(), Some("Services"));
        health.set_ready();
        assert_eq!(health.waiting_for(), None);
    }
}
