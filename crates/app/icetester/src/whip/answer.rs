//! The shapes of answers.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

/// A request that is not done: why, and what to do.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: String,
    pub(super) hint: String,
}

pub(super) fn text(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(super) fn refuse(status: StatusCode, error: &str, hint: &str) -> Response {
    let body = format!("error: {error}\nhint: {hint}\n");
    let mut response = text(status, "text/plain; charset=utf-8", body);
    // An error may repeat what the request said; no browser is to guess at it.
    let name = HeaderName::from_static("x-content-type-options");
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(name, nosniff);
    response
}

/// RFC 9725 §4.2: the answer, and where the session is to be ended.
pub(super) fn sdp(answer: String, location: &str) -> Response {
    let mut response = text(StatusCode::CREATED, "application/sdp", answer);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}
