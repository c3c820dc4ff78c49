//! Answers that are no: a status, and a JSON body that says what to do.

use std::time::Duration;

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{allow, typed};
use crate::answer::Refusal;

/// Why a request is not answered as the caller hoped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("there is nothing at this path")]
    Path,
    #[error("this path answers to GET only")]
    Method,
    #[error("a bearer token is needed")]
    NoToken,
    #[error("the bearer token is not valid here")]
    BadToken,
    #[error("the ServiceAccount `{account}` may not ask for credentials")]
    Account { account: String },
    #[error("tokens cannot be checked at the moment")]
    Unchecked,
    #[error("too many requests from this address")]
    TooMany { wait: Duration },
}

impl Problem {
    pub fn status(&self) -> StatusCode {
        match self {
            Problem::Refused(refusal) => {
                StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST)
            }
            Problem::Path => StatusCode::NOT_FOUND,
            Problem::Method => StatusCode::METHOD_NOT_ALLOWED,
            Problem::NoToken | Problem::BadToken => StatusCode::UNAUTHORIZED,
            Problem::Account { .. } => StatusCode::FORBIDDEN,
            Problem::Unchecked => StatusCode::SERVICE_UNAVAILABLE,
            Problem::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Problem::Refused(refusal) => refusal.hint(),
            Problem::Path => {
                "ask for `/?service=turn` or `/ice?service=turn`; `/openapi.json` describes both"
            }
            Problem::Method => "send a GET request",
            Problem::NoToken => "send `Authorization: Bearer TOKEN`",
            Problem::BadToken => "it may have expired or be for another audience; get a new one",
            Problem::Account { .. } => {
                "use another ServiceAccount, or name this one in --token-accounts of the auth service"
            }
            Problem::Unchecked => "try again later; the log of the auth service says more",
            Problem::TooMany { .. } => "wait as long as Retry-After says",
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"error": self.to_string(), "hint": self.hint()}).to_string() + "\n";
        let mut response = typed(self.status(), "application/json; charset=UTF-8", body);
        match self {
            Problem::Method => allow(&mut response),
            Problem::NoToken | Problem::BadToken => {
                // RFC 6750 §3: with the reason where a token was shown.
                let challenge = match self {
                    Problem::BadToken => "Bearer error=\"invalid_token\"",
                    _ => "Bearer",
                };
                let value = HeaderValue::from_static(challenge);
                response.headers_mut().insert(WWW_AUTHENTICATE, value);
            }
            Problem::TooMany { wait } => {
                // RFC 9110 §10.2.3: whole seconds, of which 0 would be no wait at all.
                let seconds = wait.as_secs_f64().ceil().max(1.0) as u32;
                response
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            _ => {}
        }
        response
    }
}
