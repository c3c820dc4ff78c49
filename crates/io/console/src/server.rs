//! The routes, and who may use them.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State as Held};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use serde::Deserialize;
use serde_json::{Map, json as value};
use stunner_http::{HostNames, Stranger};
use tokio::sync::Semaphore;

use crate::answer::json;
use crate::{Refusal, Source, Visitor, events, page};

/// An SDP offer of a browser is a few kilobytes.
const BODY_LIMIT: usize = 64 * 1024;
/// Event streams that are open at a time: each has a connection for as long as its page is open, and those are bounded.
const STREAMS: usize = 256;

type Behind = Held<Arc<dyn Source>>;

/// The page at `/` and its API, for requests that ask for one of `names`.
pub fn router(source: Arc<dyn Source>, names: HostNames) -> Router {
    let places = Arc::new(Semaphore::new(STREAMS));
    page::routes()
        .route("/api/v1/state", get(state))
        .route("/api/v1/events", get(|source| ticks(source, places)))
        .route("/api/v1/ice-tests", post(start_ice_test))
        .route("/api/v1/ice-tests/{id}", delete(end_ice_test))
        .route("/api/v1/ice-tests/{id}/offer", post(answer_ice_test))
        .route("/api/v1/sessions/{id}", delete(end_session))
        .fallback(async || {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "no such path",
                "the page is at /, what it shows at /api/v1/state",
            )
        })
        .method_not_allowed_fallback(async |method: Method| {
            Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                format!("{method} is not possible here"),
                "the page is at /, what it shows at /api/v1/state",
            )
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(from_fn_with_state(Arc::new(names), guard))
        .layer(from_fn(page::restrict))
        .with_state(source)
}

async fn guard(Held(names): Held<Arc<HostNames>>, request: Request, next: Next) -> Response {
    let (status, error, hint) = match names.examine(&request) {
        Ok(()) => return next.run(request).await,
        Err(Stranger::NoHost) => (
            StatusCode::FORBIDDEN,
            "the request names no host",
            "send a Host header",
        ),
        Err(Stranger::OtherHost) => (
            StatusCode::MISDIRECTED_REQUEST,
            "the console does not answer to this host name",
            "open it by its loopback address, http://127.0.0.1:PORT (a port-forward or ssh tunnel ends there), \
             or let it be called by this one: `stunner run` with --console-host NAME, the operator with \
             --console-address NAME:PORT",
        ),
        Err(Stranger::OtherSite) => (
            StatusCode::FORBIDDEN,
            "requests that change something are not accepted from other web sites",
            "use the console's own page, or curl",
        ),
    };
    Refusal::new(status, error, hint).into_response()
}

fn visitor(headers: &HeaderMap) -> Visitor {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim().to_owned())
        .filter(|token| !token.is_empty());
    Visitor { token }
}

#[derive(Deserialize)]
struct Known {
    /// The generation whose hierarchy the page has already.
    known: Option<u64>,
}

async fn state(
    Held(source): Behind,
    query: Result<Query<Known>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Query(Known { known }) = query.map_err(|rejection| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            rejection.body_text(),
            "`known` is the generation of the last answer, or left out",
        )
    })?;
    let mut state = source.state(&visitor(&headers)).await;
    // The hierarchy is by far the largest part and seldom changes, while the page asks every second.
    if known == Some(state.generation) {
        state.overview = Arc::new(Map::from_iter([("unchanged".to_owned(), true.into())]));
    }
    Ok(json(StatusCode::OK, &state))
}

async fn ticks(Held(source): Behind, places: Arc<Semaphore>) -> Result<Response, Refusal> {
    let place = places.try_acquire_owned().map_err(|_| {
        Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{STREAMS} event streams are open already"),
            "ask /api/v1/state every second instead, or close a page",
        )
    })?;
    Ok(events::stream_of(source.changed(), place))
}

#[derive(Deserialize)]
struct Start {
    /// `namespace/name`.
    gateway: String,
    listener: String,
}

async fn start_ice_test(
    Held(source): Behind,
    headers: HeaderMap,
    body: Body<Start>,
) -> Result<Response, Refusal> {
    let Start { gateway, listener } =
        read(body, r#"{"gateway": "namespace/name", "listener": "name"}"#)?;
    let test = source
        .start_ice_test(&visitor(&headers), gateway, listener)
        .await?;
    Ok(json(StatusCode::CREATED, &test))
}

#[derive(Deserialize)]
struct Offer {
    sdp: String,
}

async fn answer_ice_test(
    Held(source): Behind,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body<Offer>,
) -> Result<Response, Refusal> {
    let Offer { sdp } = read(body, r#"{"sdp": "v=0…"}"#)?;
    let answer = source.answer_ice_test(&visitor(&headers), id, sdp).await?;
    Ok(json(StatusCode::OK, &value!({ "sdp": answer })))
}

async fn end_ice_test(
    Held(source): Behind,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    source.end_ice_test(&visitor(&headers), id.clone()).await?;
    Ok(json(StatusCode::OK, &value!({ "id": id, "ended": true })))
}

async fn end_session(
    Held(source): Behind,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    source.end_session(&visitor(&headers), id.clone()).await?;
    Ok(json(StatusCode::OK, &value!({ "id": id, "ended": true })))
}

type Body<T> = Result<axum::Json<T>, JsonRejection>;

/// axum takes a body only as `application/json`, which no plain form of another site can send.
fn read<T>(body: Body<T>, shape: &str) -> Result<T, Refusal> {
    body.map(|axum::Json(value)| value).map_err(|rejection| {
        Refusal::new(
            rejection.status(),
            rejection.body_text(),
            format!("send {shape} as application/json"),
        )
    })
}
