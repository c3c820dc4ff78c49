//! The few forms that answers have.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use super::text::go_json;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    respond(status, JSON, body)
}

/// An error of the service itself, in the form that its clients print.
pub(super) fn error(status: StatusCode, message: &str) -> Response {
    #[derive(Serialize)]
    struct Document<'a> {
        code: u16,
        message: &'a str,
    }
    let document = Document {
        code: status.as_u16(),
        message,
    };
    json(status, go_json(&document) + "\n")
}

/// An error of the request.
pub(super) fn plain(status: StatusCode, message: &str) -> Response {
    let mut response = respond(status, TEXT, format!("{message}\n"));
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// A refusal of an upgrade, with the version of WebSocket that would have been spoken (RFC 6455 §4.4).
pub(super) fn no_upgrade(status: StatusCode, message: &str) -> Response {
    let mut response = plain(status, message);
    let version: HeaderName = header::SEC_WEBSOCKET_VERSION;
    response
        .headers_mut()
        .insert(version, HeaderValue::from_static("13"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
