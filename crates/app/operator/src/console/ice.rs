//! What a visitor may do: ICE tests, which one pod of a Gateway runs, and ending sessions.

use axum::http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use stunner_console::{IceTest, Refusal};

use super::guest::Guest;
use super::place::{NoPlace, Place};
use super::pods::{self, RIGHTS};
use super::tunnel::TunnelError;
use super::world::View;

const TESTS: &str = "/api/v1/ice-tests";

/// Starts a test in a ready pod of the Gateway. The pod's name is part of the test's, so that what follows finds it.
pub(super) async fn start(
    guest: &Guest,
    view: &View,
    gateway: &str,
    listener: &str,
) -> Result<IceTest, Refusal> {
    let known = view.gateways.get(gateway);
    let listeners = known.iter().flat_map(|gateway| &gateway.listeners);
    let found = listeners.into_iter().find(|found| found.name == listener);
    let Some(found) = found.filter(|found| found.served) else {
        return Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("Gateway {gateway} serves no listener `{listener}`"),
            "GET /api/v1/state lists the Gateways and their listeners",
        ));
    };
    let (pods, notes) = pods::find(&guest.client, view).await;
    let ready = pods
        .into_iter()
        .find(|pod| pod.gateway == gateway && pod.ready && !pod.terminating);
    let Some(pod) = ready else {
        return Err(match notes.into_iter().next() {
            Some(note) => Refusal::new(
                StatusCode::FORBIDDEN,
                note.message,
                note.hint.unwrap_or_default(),
            ),
            None => Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("Gateway {gateway} has no ready pod"),
                "`kubectl get pods` shows why its pods are not ready",
            ),
        });
    };
    let body = json!({ "listener": found.id });
    let test = guest
        .tunnels
        .ask(&pod.name, Method::POST, TESTS, Some(&body))
        .await;
    let mut test: IceTest = test.map_err(|error| refusal(&pod.name.namespace, &error))?;
    test.id = Place::new(&pod.name, &test.id).to_string();
    Ok(test)
}

#[derive(Deserialize)]
struct Answer {
    sdp: String,
}

/// The echo peer's answer to an offer.
pub(super) async fn answer(guest: &Guest, test: &str, offer: &str) -> Result<String, Refusal> {
    let place: Place = test.parse().map_err(nothing_there)?;
    let path = format!("{TESTS}/{}/offer", place.id);
    let body = json!({ "sdp": offer });
    let answer = guest
        .tunnels
        .ask(&place.pod, Method::POST, &path, Some(&body))
        .await;
    let answer: Answer = answer.map_err(|error| refusal(&place.pod.namespace, &error))?;
    Ok(answer.sdp)
}

pub(super) async fn end(guest: &Guest, test: &str) -> Result<(), Refusal> {
    let place: Place = test.parse().map_err(nothing_there)?;
    match delete(guest, &place, TESTS).await {
        // Ended before, or its pod is gone: all the same.
        Err(TunnelError::Refused { status, .. }) if status == StatusCode::NOT_FOUND => Ok(()),
        Err(TunnelError::Unreachable(_)) | Ok(()) => Ok(()),
        Err(error) => Err(refusal(&place.pod.namespace, &error)),
    }
}

pub(super) async fn end_session(guest: &Guest, session: &str) -> Result<(), Refusal> {
    let place: Place = session.parse().map_err(nothing_there)?;
    let ended = delete(guest, &place, "/api/v1/sessions").await;
    ended.map_err(|error| refusal(&place.pod.namespace, &error))
}

async fn delete(guest: &Guest, place: &Place, folder: &str) -> Result<(), TunnelError> {
    let path = format!("{folder}/{}", place.id);
    let answer: Result<Value, TunnelError> = guest
        .tunnels
        .ask(&place.pod, Method::DELETE, &path, None)
        .await;
    answer.map(|_| ())
}

fn nothing_there(error: NoPlace) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        error.to_string(),
        "it may have ended",
    )
}

fn refusal(namespace: &str, error: &TunnelError) -> Refusal {
    match error {
        TunnelError::Forbidden(said) => Refusal::new(
            StatusCode::FORBIDDEN,
            format!("your token may not create pods/portforward in namespace {namespace}: {said}"),
            RIGHTS,
        ),
        TunnelError::Unreachable(why) => Refusal::new(
            StatusCode::BAD_GATEWAY,
            format!("the dataplane cannot be asked: {why}"),
            "its pod may be starting or going away; try again",
        ),
        TunnelError::Refused {
            status,
            error,
            hint,
        } => Refusal::new(*status, error.as_str(), hint.as_str()),
    }
}
