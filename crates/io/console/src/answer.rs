//! Answers in JSON, and the form of every error.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// What a request is told instead of an answer: what is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    #[serde(skip)]
    pub status: StatusCode,
    pub error: String,
    pub hint: String,
}

impl Refusal {
    pub fn new(status: StatusCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal {
            status,
            error: error.into(),
            hint: hint.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        json(self.status, &self)
    }
}

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // None of our types can fail to serialise; an empty answer is still better than a panic.
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    response
}
