//! The REST interface: paths and methods, who may call, and how answers are written.

mod access;
mod cors;
mod openapi;
mod problem;
mod rate;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub use access::{Access, Accounts, REVIEW_PATIENCE, Reviewer, TokenFile, TokenFileError};
pub use cors::{Cors, CorsError};
pub use openapi::document as openapi;
pub use problem::Problem;
pub use rate::RateLimit;

use crate::answer::{self, Endpoint, Query, Settings};
use crate::source::Known;

/// Everything that an answer depends on.
#[derive(Debug)]
pub struct Service {
    pub known: Known,
    pub settings: Settings,
    pub access: Access,
    pub cors: Cors,
    /// `None` for no limit.
    pub rate: Option<RateLimit>,
    pub clock: Clock,
}

/// What time it is, so that tests can say.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Seconds of UNIX time.
    pub unix: fn() -> u64,
    pub started: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        let unix = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.unwrap_or_default().as_secs()
        };
        Clock {
            unix,
            started: Instant::now(),
        }
    }
}

impl Service {
    /// A service that hands out what is known to anybody.
    pub fn open(known: Known, settings: Settings) -> Service {
        Service {
            known,
            settings,
            access: Access::default(),
            cors: Cors::default(),
            rate: None,
            clock: Clock::default(),
        }
    }

    pub fn router(self) -> Router {
        Router::new().fallback(handle).with_state(Arc::new(self))
    }
}

/// The paths there are.
enum Path {
    Credentials(Endpoint),
    Healthy,
    Ready,
    OpenApi,
}

impl Path {
    fn parse(path: &str) -> Option<Path> {
        match path {
            "/" => Some(Path::Credentials(Endpoint::Turn)),
            "/ice" => Some(Path::Credentials(Endpoint::Ice)),
            "/healthz" => Some(Path::Healthy),
            "/readyz" => Some(Path::Ready),
            "/openapi.json" => Some(Path::OpenApi),
            _ => None,
        }
    }
}

async fn handle(State(service): State<Arc<Service>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(peer)| *peer);
    let mut response = match service.cors.preflight(&parts) {
        Some(response) => response,
        None => match service.answer(&parts, peer).await {
            Ok(response) => response,
            Err(problem) => {
                let path = parts.uri.path();
                let method = &parts.method;
                tracing::debug!(scope = "auth", "{method} {path:?}: {problem}");
                problem.into_response()
            }
        },
    };
    service.cors.mark(&parts, response.headers_mut());
    response
}

impl Service {
    async fn answer(&self, parts: &Parts, peer: Option<SocketAddr>) -> Result<Response, Problem> {
        let path = Path::parse(parts.uri.path()).ok_or(Problem::Path)?;
        if parts.method != Method::GET {
            return Err(Problem::Method);
        }
        match path {
            Path::Credentials(endpoint) => {
                self.admit(parts, peer).await?;
                let query = Query::parse(endpoint, parts.uri.query().unwrap_or_default())?;
                self.credentials(endpoint, &query)
            }
            Path::Healthy => Ok(plain(StatusCode::OK, "ok\n")),
            Path::Ready => Ok(match self.known.is_ready() {
                true => plain(StatusCode::OK, "ok\n"),
                false => plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "waiting for the first configuration\n",
                ),
            }),
            Path::OpenApi => Ok(json(&openapi(
                self.access.is_checked(),
                self.rate.is_some(),
            ))),
        }
    }

    /// Whether the caller may ask, and may ask now.
    async fn admit(&self, parts: &Parts, peer: Option<SocketAddr>) -> Result<(), Problem> {
        if let (Some(rate), Some(peer)) = (&self.rate, peer) {
            rate.admit(peer.ip(), self.clock.started.elapsed())
                .map_err(|wait| Problem::TooMany { wait })?;
        }
        self.access.check(&parts.headers).await
    }

    fn credentials(&self, endpoint: Endpoint, query: &Query) -> Result<Response, Problem> {
        let gateways = self.known.gateways();
        let now = (self.clock.unix)();
        let mut response = match endpoint {
            Endpoint::Turn => json(&answer::turn_auth(&gateways, query, &self.settings, now)?),
            Endpoint::Ice => json(&answer::ice_config(&gateways, query, &self.settings, now)?),
        };
        // A stored answer would outlive its credential, and show it to others.
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// As the original writes it, with a newline at the end.
fn json(body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => typed(
            StatusCode::OK,
            "application/json; charset=UTF-8",
            text + "\n",
        ),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    typed(status, "text/plain; charset=utf-8", text)
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// What a path answers to, for those who try something else.
fn allow(response: &mut Response) {
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET"));
}
