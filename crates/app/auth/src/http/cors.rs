//! Which web pages may read the answers (the CORS protocol of the Fetch standard).

use std::str::FromStr;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

/// The origins whose pages may read answers; by default none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cors {
    allowed: Vec<Allowed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Any,
    Origin(String),
}

/// A text that is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not an origin")]
pub struct CorsError;

impl FromStr for Allowed {
    type Err = CorsError;

    /// `*`, or scheme, host and port as browsers send them: no path, the host in lower case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(Allowed::Any);
        }
        let text = text.to_ascii_lowercase();
        let uri: Uri = text.parse().map_err(|_| CorsError)?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority().ok_or(CorsError)?;
        let bare = format!("{}://{authority}", uri.scheme_str().unwrap_or_default());
        match is_web && bare == text && !authority.as_str().contains('@') {
            true => Ok(Allowed::Origin(text)),
            false => Err(CorsError),
        }
    }
}

impl Cors {
    pub fn new<'t>(origins: impl IntoIterator<Item = &'t str>) -> Result<Cors, CorsError> {
        let allowed = origins
            .into_iter()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(Cors { allowed })
    }

    /// The answer to a browser that asks before it sends the request proper. Anything else that comes with OPTIONS is
    /// left to the service.
    pub fn preflight(&self, parts: &Parts) -> Option<Response> {
        let asks = parts.method == Method::OPTIONS
            && parts.headers.contains_key(ORIGIN)
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || self.allowed.is_empty() {
            return None;
        }
        let mut response = StatusCode::NO_CONTENT.into_response();
        let headers = response.headers_mut();
        headers.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET"),
        );
        headers.insert(
            ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("Authorization"),
        );
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        Some(response)
    }

    /// Lets the page read the answer, where its origin is one of ours.
    pub fn mark(&self, parts: &Parts, headers: &mut HeaderMap) {
        if self.allowed.is_empty() {
            return;
        }
        if self.allowed.contains(&Allowed::Any) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        } else {
            headers.append(VARY, HeaderValue::from_static("Origin"));
            let Some(origin) = parts.headers.get(ORIGIN) else {
                return;
            };
            let said = origin.to_str().unwrap_or_default().to_ascii_lowercase();
            if !self.allowed.contains(&Allowed::Origin(said)) {
                return;
            }
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Retry-After"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for text in [
            "*",
            "https://app.example",
            "http://localhost:3000",
            "https://[::1]:8443",
            "HTTPS://App.example",
        ] {
            assert!(Cors::new([text]).is_ok(), "{text}");
        }
        for text in [
            "",
            "app.example",
            "https://",
            "https://app.example/",
            "https://app.example/x",
            "ftp://a.example",
            "https://me@a.example",
            "null",
        ] {
            assert_eq!(Cors::new([text]), Err(CorsError), "{text}");
        }
    }
}
