//! ICE tests over the admin API.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json as value;

use super::admin::{Plane, SHARD_TIMEOUT, refuse, stuck};
use super::{IceTestError, TestClient, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    listener: String,
    #[serde(default)]
    client: TestClient,
}

/// As `RTCSessionDescription` gives it; its `type` may be there.
#[derive(Debug, Deserialize)]
pub(super) struct Offer {
    sdp: String,
}

const START_HINT: &str =
    "send {\"listener\":\"namespace/gateway/listener\"} with Content-Type: application/json";
const OFFER_HINT: &str = "send {\"sdp\":\"v=0…\"} with Content-Type: application/json";

pub(super) async fn start(
    State(dataplane): Plane,
    body: Result<Json<Start>, JsonRejection>,
) -> Response {
    let Json(start) = match body {
        Ok(start) => start,
        Err(problem) => return refuse(problem.status(), &problem.body_text(), START_HINT),
    };
    let started = dataplane.start_ice_test(start.listener, start.client);
    match tokio::time::timeout(SHARD_TIMEOUT, started).await {
        Ok(Ok(test)) => json(StatusCode::CREATED, &test),
        Ok(Err(error)) => refused(&error),
        Err(_) => stuck(),
    }
}

pub(super) async fn offer(
    State(dataplane): Plane,
    Path(id): Path<String>,
    body: Result<Json<Offer>, JsonRejection>,
) -> Response {
    let Json(offer) = match body {
        Ok(offer) => offer,
        Err(problem) => return refuse(problem.status(), &problem.body_text(), OFFER_HINT),
    };
    match dataplane.answer_ice_test(id, offer.sdp).await {
        Ok(answer) => json(StatusCode::OK, &value!({ "type": "answer", "sdp": answer })),
        Err(error) => refused(&error),
    }
}

pub(super) async fn end(State(dataplane): Plane, Path(id): Path<String>) -> Response {
    match tokio::time::timeout(SHARD_TIMEOUT, dataplane.end_ice_test(id.clone())).await {
        Ok(true) => json(StatusCode::OK, &value!({ "id": id, "ended": true })),
        Ok(false) => refused(&IceTestError::UnknownTest(id)),
        Err(_) => stuck(),
    }
}

fn refused(error: &IceTestError) -> Response {
    let status = match error {
        IceTestError::UnknownListener { .. } | IceTestError::UnknownTest(_) => {
            StatusCode::NOT_FOUND
        }
        IceTestError::Dtls(_) | IceTestError::Offer(_) => StatusCode::BAD_REQUEST,
        IceTestError::TurnOff | IceTestError::Answered => StatusCode::CONFLICT,
        IceTestError::TooMany => StatusCode::TOO_MANY_REQUESTS,
        IceTestError::Draining | IceTestError::Stopped | IceTestError::Socket(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    };
    refuse(status, &error.to_string(), &error.hint())
}
