//! What a visitor may do: ICE tests, and ending sessions.
//!
//! Where a browser's packets arrive, among the pods of a Gateway, the load balancer decides. So a test is started in
//! several pods, the browser gets the credentials of all, and its offer goes to the pod that gave it a relay address.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use stunner_console::{IceTest, Refusal};

use super::guest::Guest;
use super::place::{NoPlace, Place};
use super::pods::{self, DataplanePod, Found, RIGHTS};
use super::tunnel::TunnelError;
use super::world::View;

const TESTS: &str = "/api/v1/ice-tests";
/// Pods that take part in one test.
const PODS: usize = 4;
/// Longer than a test lives in a dataplane.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(180);
/// Tests of one visitor that are remembered.
const REMEMBERED: usize = 64;

/// The parts of a test, and where their echo peers are.
type Parts = Vec<(Place, Option<IpAddr>)>;

/// Tests that run in more than one pod, by the name that the visitor knows.
#[derive(Debug, Default)]
pub(super) struct IceTests {
    parts_by_test: Mutex<HashMap<String, (Instant, Parts)>>,
}

impl IceTests {
    fn remember(&self, test: &str, parts: Parts) {
        let mut tests = self.lock();
        tests.retain(|_, (since, _)| since.elapsed() < FORGOTTEN_AFTER);
        if tests.len() < REMEMBERED {
            tests.insert(test.to_owned(), (Instant::now(), parts));
        }
    }

    /// A test that is not remembered has one part, which its name tells.
    fn parts(&self, test: &str) -> Result<Parts, Refusal> {
        if let Some((_, parts)) = self.lock().get(test) {
            return Ok(parts.clone());
        }
        let place: Place = test.parse().map_err(nothing_there)?;
        Ok(vec![(place, None)])
    }

    fn forget(&self, test: &str) {
        self.lock().remove(test);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, Parts)>> {
        let tests = self.parts_by_test.lock();
        tests.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a test in ready pods of the Gateway.
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
    let pods = ready_pods(guest, view, gateway).await?;
    let body = json!({ "listener": found.id });
    let started = join_all(pods.iter().map(|pod| {
        let (tunnels, body) = (&guest.tunnels, &body);
        async move {
            let test = tunnels.ask(pod.name(), Method::POST, TESTS, Some(body));
            test.await.map(|test: IceTest| (pod, test))
        }
    }));
    let (mut whole, mut parts, mut refused) = (None, Vec::new(), None);
    for started in started.await {
        match started {
            Ok((pod, test)) => {
                let peer = test.peer.parse::<SocketAddr>().ok();
                parts.push((Place::new(pod.name(), &test.id), peer.map(|peer| peer.ip())));
                whole = Some(joined(whole, test));
            }
            Err(error) => refused = Some(error),
        }
    }
    match (whole, parts.first(), refused) {
        (Some(mut test), Some((place, _)), _) => {
            test.id = place.to_string();
            if parts.len() > 1 {
                guest.ice_tests.remember(&test.id, parts);
            }
            Ok(test)
        }
        (_, _, Some(error)) => Err(refusal(&pods[0].name().namespace, &error)),
        (_, _, None) => Err(no_pod(gateway)),
    }
}

/// The credentials of all; one that runs out ends the test.
fn joined(before: Option<IceTest>, mut test: IceTest) -> IceTest {
    let Some(mut whole) = before else {
        return test;
    };
    whole.ice_servers.append(&mut test.ice_servers);
    whole.expires_in_seconds = whole.expires_in_seconds.min(test.expires_in_seconds);
    whole
}

/// At least one.
async fn ready_pods(
    guest: &Guest,
    view: &View,
    gateway: &str,
) -> Result<Vec<DataplanePod>, Refusal> {
    let Found {
        mut pods, notes, ..
    } = pods::find(&guest.client, view).await;
    pods.retain(|pod| pod.gateway == gateway && pod.place.ready && !pod.place.terminating);
    pods.truncate(PODS);
    match (pods.is_empty(), notes.into_iter().next()) {
        (false, _) => Ok(pods),
        (true, Some(note)) => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            note.message,
            note.hint.unwrap_or_default(),
        )),
        (true, None) => Err(no_pod(gateway)),
    }
}

fn no_pod(gateway: &str) -> Refusal {
    Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        format!("Gateway {gateway} has no ready pod"),
        "`kubectl get pods` shows why its pods are not ready",
    )
}

#[derive(Deserialize)]
struct Answer {
    sdp: String,
}

/// The echo peer's answer to an offer, from the pod that the browser reached.
pub(super) async fn answer(guest: &Guest, test: &str, offer: &str) -> Result<String, Refusal> {
    let parts = guest.ice_tests.parts(test)?;
    let relayed = relayed_addresses(offer);
    let reached = parts
        .iter()
        .find(|(_, peer)| peer.is_some_and(|peer| relayed.contains(&peer)));
    let Some((place, _)) = reached.or(parts.first()) else {
        return Err(nothing_there(NoPlace));
    };
    let path = format!("{TESTS}/{}/offer", place.id);
    let body = json!({ "sdp": offer });
    let answer = guest
        .tunnels
        .ask(&place.pod, Method::POST, &path, Some(&body))
        .await;
    let answer: Answer = answer.map_err(|error| refusal(&place.pod.namespace, &error))?;
    Ok(answer.sdp)
}

/// The addresses of the relay candidates in an offer (RFC 8839 5.1). The echo peer is on the address that its
/// dataplane relays from.
fn relayed_addresses(offer: &str) -> Vec<IpAddr> {
    let candidates = offer.lines().filter_map(|line| {
        let candidate = line.trim().strip_prefix("a=candidate:")?;
        let words: Vec<&str> = candidate.split_whitespace().collect();
        let is_relay = words.windows(2).any(|pair| pair == ["typ", "relay"]);
        is_relay.then(|| words.get(4)?.parse().ok())?
    });
    candidates.collect()
}

pub(super) async fn end(guest: &Guest, test: &str) -> Result<(), Refusal> {
    let parts = guest.ice_tests.parts(test)?;
    let ended = join_all(parts.iter().map(|(place, _)| delete(guest, place, TESTS)));
    for (ended, (place, _)) in ended.await.into_iter().zip(&parts) {
        match ended {
            // Ended before, or its pod is gone: all the same.
            Err(TunnelError::Refused { status, .. }) if status == StatusCode::NOT_FOUND => {}
            Err(TunnelError::Unreachable(_)) | Ok(()) => {}
            Err(error) => return Err(refusal(&place.pod.namespace, &error)),
        }
    }
    guest.ice_tests.forget(test);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_tells_from_which_pod_it_is_relayed() {
        let offer = "v=0\r\na=candidate:1 1 udp 41885439 10.244.1.7 50000 typ relay raddr 0.0.0.0 rport 0\r\n\
                     a=candidate:2 1 udp 2113937151 192.0.2.1 50001 typ host\r\n\
                     a=candidate:3 1 udp 1 name.local 1 typ relay\r\na=candidate:\r\n";
        let pod: IpAddr = "10.244.1.7".parse().expect("an address");
        assert_eq!(relayed_addresses(offer), [pod]);
    }

    #[test]
    fn a_test_in_several_pods_is_remembered_and_one_in_a_single_pod_tells_its_place() {
        let tests = IceTests::default();
        assert_eq!(tests.parts("ns~pod~t1").map(|parts| parts.len()), Ok(1));
        let part = |pod: &str| {
            let pod = stunner_api::NamespacedName::new("ns", pod);
            (Place::new(&pod, "t1"), None)
        };
        tests.remember("ns~pod~t1", vec![part("pod"), part("other")]);
        assert_eq!(tests.parts("ns~pod~t1").map(|parts| parts.len()), Ok(2));
        tests.forget("ns~pod~t1");
        assert_eq!(tests.parts("ns~pod~t1").map(|parts| parts.len()), Ok(1));
        assert!(tests.parts("nonsense").is_err());
    }
}
