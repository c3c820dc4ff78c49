//! The admin API: who is connected, what was denied and why, what happens now.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get, post};
use serde::{Deserialize, Serialize};
use serde_json::json as value;

use super::api::{DenialRecord, ExplainQuery, PeerQuery, RelayTransportName, Session};
use super::{Dataplane, events, guard, ice_tests, json};

pub(super) type Plane = State<Arc<dyn Dataplane>>;

/// Longer than any shard takes for a batch; a shard that takes longer is stuck.
pub(super) const SHARD_TIMEOUT: Duration = Duration::from_secs(5);
/// More than any offer of a browser.
const MAX_BODY: usize = 256 * 1024;

/// Everything under `/api/v1`, guarded against web pages.
pub fn admin_router(dataplane: Arc<dyn Dataplane>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/api/v1/sessions", get(sessions))
        .route("/api/v1/sessions/{id}", delete(end_session))
        .route("/api/v1/denials", get(denials))
        .route("/api/v1/statistics", get(statistics))
        .route("/api/v1/explain", get(explain))
        .route("/api/v1/events", get(events))
        .route("/api/v1/ice-tests", post(ice_tests::start))
        .route("/api/v1/ice-tests/{id}/offer", post(ice_tests::offer))
        .route("/api/v1/ice-tests/{id}", delete(ice_tests::end))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .fallback(async || {
            refuse(
                StatusCode::NOT_FOUND,
                "no such path",
                "GET / lists the paths",
            )
        })
        .method_not_allowed_fallback(async |method: Method| {
            refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("{method} is not possible here"),
                "GET / lists the methods",
            )
        })
        .layer(axum::middleware::from_fn(guard::guard))
        .with_state(dataplane)
}

/// An error of this API: what is wrong and what to do.
#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
    hint: &'a str,
}

pub(super) fn refuse(status: StatusCode, error: &str, hint: &str) -> Response {
    json(status, &Refusal { error, hint })
}

fn bad_query(problem: &QueryRejection, hint: &str) -> Response {
    refuse(StatusCode::BAD_REQUEST, &problem.body_text(), hint)
}

async fn index() -> Response {
    json(
        StatusCode::OK,
        &value!({ "endpoints": [
            { "method": "GET", "path": "/api/v1/sessions", "parameters": ["user", "listener", "client", "limit"],
              "what": "live sessions" },
            { "method": "DELETE", "path": "/api/v1/sessions/{id}", "parameters": [], "what": "end a session" },
            { "method": "GET", "path": "/api/v1/denials", "parameters": ["user", "listener", "client", "limit"],
              "what": "peers refused lately, the newest first" },
            { "method": "GET", "path": "/api/v1/statistics", "parameters": [],
              "what": "what happened so far in numbers, per gateway and listener" },
            { "method": "GET", "path": "/api/v1/explain", "parameters": ["listener", "peer", "client", "transport"],
              "what": "whether a peer would be admitted, and by which rule" },
            { "method": "GET", "path": "/api/v1/events", "parameters": [],
              "what": "events as they happen: one JSON object per line, or server-sent events" },
            { "method": "POST", "path": "/api/v1/ice-tests", "parameters": [],
              "what": "start an ICE test of {\"listener\":\"ns/gateway/name\"}" },
            { "method": "POST", "path": "/api/v1/ice-tests/{id}/offer", "parameters": [],
              "what": "answer the offer {\"sdp\":\"v=0…\"} of an ICE test" },
            { "method": "DELETE", "path": "/api/v1/ice-tests/{id}", "parameters": [], "what": "end an ICE test" },
        ] }),
    )
}

/// All conditions must hold; those left out hold always.
#[derive(Debug, Default, Deserialize)]
struct Filter {
    user: Option<String>,
    listener: Option<String>,
    client: Option<PeerQuery>,
    limit: Option<usize>,
}

const FILTER_HINT: &str =
    "the parameters are user, listener, client (an address, with or without port) and limit";

impl Filter {
    fn admits(&self, user: &str, listener: &str, client: SocketAddr) -> bool {
        self.user.as_deref().is_none_or(|wanted| wanted == user)
            && self
                .listener
                .as_deref()
                .is_none_or(|wanted| wanted == listener)
            && self.client.is_none_or(|wanted| wanted.covers(client))
    }
}

async fn sessions(
    State(dataplane): Plane,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Response {
    let Query(filter) = match filter {
        Ok(filter) => filter,
        Err(problem) => return bad_query(&problem, FILTER_HINT),
    };
    let Ok(mut sessions) = tokio::time::timeout(SHARD_TIMEOUT, dataplane.sessions()).await else {
        return stuck();
    };
    sessions.retain(|session: &Session| {
        filter.admits(&session.user, &session.listener, session.client)
    });
    let total = sessions.len();
    sessions.truncate(filter.limit.unwrap_or(usize::MAX));
    json(
        StatusCode::OK,
        &value!({ "total": total, "sessions": sessions }),
    )
}

async fn end_session(State(dataplane): Plane, Path(id): Path<String>) -> Response {
    match tokio::time::timeout(SHARD_TIMEOUT, dataplane.end_session(id.clone())).await {
        Ok(true) => json(StatusCode::OK, &value!({ "id": id, "ended": true })),
        Ok(false) => refuse(
            StatusCode::NOT_FOUND,
            &format!("there is no session `{id}`"),
            "it may have ended; GET /api/v1/sessions lists the live ones",
        ),
        Err(_) => stuck(),
    }
}

async fn denials(
    State(dataplane): Plane,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Response {
    let Query(filter) = match filter {
        Ok(filter) => filter,
        Err(problem) => return bad_query(&problem, FILTER_HINT),
    };
    let mut denials = dataplane.denials();
    denials.retain(|denial: &DenialRecord| {
        filter.admits(&denial.user, &denial.listener, denial.client)
    });
    let total = denials.len();
    denials.truncate(filter.limit.unwrap_or(usize::MAX));
    json(
        StatusCode::OK,
        &value!({ "total": total, "denials": denials }),
    )
}

async fn statistics(State(dataplane): Plane) -> Response {
    match tokio::time::timeout(SHARD_TIMEOUT, dataplane.statistics()).await {
        Ok(gateways) => json(StatusCode::OK, &value!({ "gateways": gateways })),
        Err(_) => stuck(),
    }
}

#[derive(Debug, Deserialize)]
struct ExplainParameters {
    listener: String,
    peer: PeerQuery,
    client: Option<IpAddr>,
    transport: Option<RelayTransportName>,
}

const EXPLAIN_HINT: &str = "for example /api/v1/explain?listener=ns/gateway/udp&peer=10.0.0.7:5000 \
                            (the port may be left out; client=ADDRESS and transport=udp|tcp are optional)";

async fn explain(
    State(dataplane): Plane,
    parameters: Result<Query<ExplainParameters>, QueryRejection>,
) -> Response {
    let Query(parameters) = match parameters {
        Ok(parameters) => parameters,
        Err(problem) => return bad_query(&problem, EXPLAIN_HINT),
    };
    let query = ExplainQuery {
        listener: parameters.listener,
        peer: parameters.peer,
        client: parameters.client,
        transport: parameters.transport.unwrap_or(RelayTransportName::Udp),
    };
    match dataplane.explain(query) {
        Ok(explanation) => json(StatusCode::OK, &explanation),
        Err(problem) => refuse(StatusCode::BAD_REQUEST, &problem, EXPLAIN_HINT),
    }
}

async fn events(State(dataplane): Plane, headers: HeaderMap) -> Response {
    events::stream_of(dataplane.events(), &headers)
}

pub(super) fn stuck() -> Response {
    refuse(
        StatusCode::SERVICE_UNAVAILABLE,
        "a shard did not answer in time",
        "GET /live on the health port says which one is stuck",
    )
}
