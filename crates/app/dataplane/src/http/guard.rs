//! Who may talk to the admin API: those who ask for a loopback name, and no page of another site.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use stunner_http::{HostNames, Stranger};

use super::admin::refuse;

pub(super) async fn guard(request: Request, next: Next) -> Response {
    let (error, hint) = match HostNames::loopback().examine(&request) {
        Ok(()) => return next.run(request).await,
        Err(Stranger::NoHost) => ("the request names no host", "send a Host header"),
        Err(Stranger::OtherHost) => (
            "the admin API answers to loopback names only",
            "use http://127.0.0.1:8087 or http://localhost:8087; with `kubectl port-forward` that is where it appears",
        ),
        Err(Stranger::OtherSite) => (
            "requests that change something are not accepted from other web sites",
            "use curl, or a page of the same origin",
        ),
    };
    refuse(StatusCode::FORBIDDEN, error, hint)
}
