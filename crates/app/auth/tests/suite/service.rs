//! A service with a stopped clock, and requests to it.

use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode};
use std::net::SocketAddr;
use stunner_auth::answer::{Gateways, Host, Settings};
use stunner_auth::http::{Clock, Service};
use stunner_auth::source::Known;
use stunner_config::{Config, ParseOptions, parse_with};
use tower::ServiceExt;

/// What the clock says.
pub const NOW: u64 = 1_000_000;

pub fn config(text: &str) -> Config {
    let options = ParseOptions {
        expand_env: false,
        judge_listeners: false,
    };
    match parse_with(text, &|_| None, options) {
        Ok(parsed) => parsed.config,
        Err(problems) => panic!("{text}: {problems:?}"),
    }
}

pub fn settings(public_address: Option<&str>) -> Settings {
    Settings {
        max_ttl: 30 * 24 * 3600,
        public_address: public_address.map(|text| Host::parse(text).expect("a host")),
    }
}

/// A service that knows these gateways.
pub fn service(gateways: Gateways, settings: Settings) -> Service {
    let mut service = Service::open(Known::fixed(gateways), settings);
    service.clock = Clock {
        unix: || NOW,
        ..Clock::default()
    };
    service
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("text"))
    }

    /// `error` and `hint` of an answer that is no.
    pub fn problem(&self) -> (String, String) {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        let text = |key: &str| body[key].as_str().expect("a text").to_owned();
        assert_eq!(body.as_object().map(|body| body.len()), Some(2));
        (text("error"), text("hint"))
    }
}

/// Sends a request such as `GET /ice?service=turn` from an address.
pub async fn ask_from(
    router: &axum::Router,
    source: &str,
    line: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let (method, target) = line.split_once(' ').expect("method and target");
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).expect("a request");
    let source: SocketAddr = source.parse().expect("an address");
    request.extensions_mut().insert(ConnectInfo(source));
    let response = router.clone().oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: String::from_utf8(body.into()).expect("text"),
    }
}

pub async fn ask(router: &axum::Router, line: &str, headers: &[(&str, &str)]) -> Answer {
    ask_from(router, "192.0.2.200:4000", line, headers).await
}
