//! What the dataplanes say, gathered with a visitor's rights.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use futures_util::{StreamExt, stream};
use kube::client::Body;
use stunner_api::names;
use stunner_cluster::{Denials, Sessions};
use stunner_console::{Denial, Live, LiveCluster, LiveGateway, LiveListener, Note, Phase, Session};

use super::admin;
use super::guest::Guest;
use super::metrics::Counters;
use super::pods::{self, DataplanePod, Found, RIGHTS};
use super::tunnel::TunnelError;
use super::world::{MetricsPlace, View};
use crate::cluster::Refusal;

/// The page asks every second; several windows of one visitor share an answer.
const FRESH: Duration = Duration::from_secs(1);
/// Pods that are asked for one answer.
const PODS: usize = 64;
const PODS_AT_ONCE: usize = 16;
/// For a pod's metrics.
const PATIENCE: Duration = Duration::from_secs(2);
const LARGEST_PAGE: usize = 4 * 1024 * 1024;
/// Asked of each pod, and shown in all.
const SESSIONS: usize = 200;
const DENIALS: usize = 200;

/// What was gathered, and what stood in the way of more.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) live: Live,
    pub(super) notes: Vec<Note>,
}

/// What one pod says.
#[derive(Debug, Default)]
struct Told {
    counters: Counters,
    sessions: Sessions,
    denials: Denials,
    /// What cannot be found out; the same for many pods is said once.
    notes: Vec<Note>,
}

/// What the dataplanes say now, or said a moment ago.
pub(super) async fn gather(guest: &Guest, view: &View) -> Arc<Gathered> {
    let mut gathered = guest.gathered.lock().await;
    if let Some((at, fresh)) = &*gathered
        && at.elapsed() < FRESH
    {
        return Arc::clone(fresh);
    }
    let fresh = Arc::new(gather_anew(guest, view).await);
    *gathered = Some((Instant::now(), Arc::clone(&fresh)));
    fresh
}

async fn gather_anew(guest: &Guest, view: &View) -> Gathered {
    let mut found = pods::find(&guest.client, view).await;
    let mut notes = std::mem::take(&mut found.notes);
    let pods = &found.pods;
    guest
        .tunnels
        .retain(|kept| pods.iter().any(|pod| pod.name() == kept));
    let asked = to_be_asked(pods);
    if asked.len() < pods.iter().filter(|pod| pod.place.running).count() {
        notes.push(Note {
            message: format!("Only the first {PODS} dataplane pods are asked."),
            hint: None,
        });
    }
    let told: Vec<(DataplanePod, Told)> = stream::iter(asked)
        .map(|pod| async move {
            let told = ask(guest, view, &pod).await;
            (pod, told)
        })
        .buffer_unordered(PODS_AT_ONCE)
        .collect()
        .await;
    let mut said = BTreeSet::new();
    let mut told = told;
    told.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
    for (_, told) in &told {
        for note in &told.notes {
            if said.insert(note.message.clone()) {
                notes.push(note.clone());
            }
        }
    }
    Gathered {
        live: live(view, &found, &told),
        notes,
    }
}

/// One of each Gateway before the second of any.
fn to_be_asked(pods: &[DataplanePod]) -> Vec<DataplanePod> {
    let mut of_gateway: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, &DataplanePod)> = Vec::new();
    for pod in pods.iter().filter(|pod| pod.place.running) {
        let rank = of_gateway.entry(&pod.gateway).or_default();
        ranked.push((*rank, pod));
        *rank += 1;
    }
    ranked.sort_by_key(|(rank, pod)| (*rank, pod.name()));
    let asked = ranked.into_iter().take(PODS);
    asked.map(|(_, pod)| pod.clone()).collect()
}

async fn ask(guest: &Guest, view: &View, pod: &DataplanePod) -> Told {
    let place = view.metrics.get(&pod.gateway);
    let (counters, spoken) = tokio::join!(counters(guest, pod, place), spoken(guest, pod));
    let mut told = Told::default();
    match counters {
        Ok(counters) => told.counters = counters,
        Err(note) => told.notes.push(note),
    }
    match spoken {
        Ok((sessions, denials)) => {
            told.sessions = sessions;
            told.denials = denials;
        }
        Err(note) => told.notes.push(note),
    }
    told
}

/// The metrics of a pod, by the API server's pod proxy.
async fn counters(
    guest: &Guest,
    pod: &DataplanePod,
    place: Option<&MetricsPlace>,
) -> Result<Counters, Note> {
    let Some(MetricsPlace { port, path }) = place else {
        return Err(Note {
            message: format!("Gateway {} serves no metrics.", pod.gateway),
            hint: Some(
                "set `enableMetricsEndpoint: true` in its Dataplane to see traffic".to_owned(),
            ),
        });
    };
    let namespace = &pod.name().namespace;
    let unanswered = |why: &str| Note {
        message: format!("The metrics of pod {} cannot be read: {why}", pod.name()),
        hint: None,
    };
    let uri = format!(
        "/api/v1/namespaces/{namespace}/pods/{}:{port}/proxy{path}",
        pod.name().name
    );
    let request = axum::http::Request::get(uri).body(Body::empty());
    let request = request.map_err(|error| unanswered(&error.to_string()))?;
    let asked = tokio::time::timeout(PATIENCE, read_page(guest, request)).await;
    match asked {
        Ok(Ok(page)) => Ok(Counters::read(&page)),
        Ok(Err(Refusal::Forbidden(said))) => Err(Note {
            message: format!("Your token may not get pods/proxy in namespace {namespace}: {said}"),
            hint: Some(RIGHTS.to_owned()),
        }),
        Ok(Err(other)) => Err(unanswered(&other.to_string())),
        Err(_) => Err(unanswered("no answer in time")),
    }
}

async fn read_page(guest: &Guest, request: axum::http::Request<Body>) -> Result<String, Refusal> {
    use http_body_util::{BodyExt, Limited};
    let response = guest.client.send(request).await;
    let response = response.map_err(|error| Refusal::of(&error))?;
    let status = response.status();
    let unread = |why: String| Refusal::Unreachable(why);
    let body = Limited::new(response.into_body(), LARGEST_PAGE).collect();
    let body = body.await.map_err(|error| unread(error.to_string()))?;
    let bytes = body.to_bytes();
    if status.is_success() {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    // The API server says no in a Status; what a pod says is anything.
    match serde_json::from_slice::<kube::core::Status>(&bytes) {
        Ok(said) if !said.message.is_empty() => Err(Refusal::of_status(&said)),
        _ => Err(Refusal::Other(format!("the answer was {status}"))),
    }
}

/// Sessions and denials of a pod, by its admin API.
async fn spoken(guest: &Guest, pod: &DataplanePod) -> Result<(Sessions, Denials), Note> {
    let sessions = format!("/api/v1/sessions?limit={SESSIONS}");
    let denials = format!("/api/v1/denials?limit={DENIALS}");
    // One after the other, over one tunnel.
    let asked = async {
        let sessions: Sessions = guest
            .tunnels
            .ask(pod.name(), Method::GET, &sessions, None)
            .await?;
        let denials: Denials = guest
            .tunnels
            .ask(pod.name(), Method::GET, &denials, None)
            .await?;
        Ok::<_, TunnelError>((sessions, denials))
    };
    asked.await.map_err(|error| tunnel_note(pod, &error))
}

pub(super) fn tunnel_note(pod: &DataplanePod, error: &TunnelError) -> Note {
    let namespace = &pod.name().namespace;
    match error {
        TunnelError::Forbidden(said) => Note {
            message: format!(
                "Your token may not create pods/portforward in namespace {namespace}: {said}"
            ),
            hint: Some(RIGHTS.to_owned()),
        },
        other => Note {
            message: format!(
                "The admin API of pod {} cannot be asked: {other}",
                pod.name()
            ),
            hint: pod.place.host_network.then(|| {
                format!(
                    "it is off for pods on the host network unless {} is set",
                    names::env::STUNNER_ADMIN_ADDRESS
                )
            }),
        },
    }
}

/// All that was told, added up.
fn live(view: &View, found: &Found, told: &[(DataplanePod, Told)]) -> Live {
    let mut total = Counters::default();
    let mut by_gateway: BTreeMap<&str, Counters> = BTreeMap::new();
    let (mut sessions, mut denials) = (Vec::new(), Vec::<Denial>::new());
    let mut sessions_total: u64 = 0;
    for (pod, told) in told {
        let own = format!("{}/", pod.gateway);
        let is_own = |listener: &str| listener.starts_with(&own);
        let mut counters = told.counters.clone();
        // A dataplane speaks for its own Gateway only.
        counters.listeners.retain(|listener, _| is_own(listener));
        // Where there are no metrics, the admin API knows as well.
        counters.allocations = counters.allocations.max(told.sessions.total);
        by_gateway.entry(&pod.gateway).or_default().add(&counters);
        total.add(&counters);
        sessions_total = sessions_total.saturating_add(told.sessions.total);
        let those = told.sessions.sessions.iter();
        let those = those.filter(|session| is_own(&session.listener));
        sessions.extend(those.map(|session| admin::session(session, pod.name())));
        let those = told.denials.denials.iter();
        let those = those.filter(|denial| is_own(&denial.listener));
        denials.extend(those.map(|denial| admin::denial(denial, &view.backends)));
    }
    if total.denials.is_empty() {
        for denial in &denials {
            *total.denials.entry(denial.reason.clone()).or_default() += 1;
        }
    }
    newest_first(&mut denials);
    sessions.sort_by_key(|session: &Session| session.age_seconds);
    sessions.truncate(SESSIONS);
    let seen = view.gateways.values();
    let seen = seen.filter(|gateway| found.namespaces.contains(&gateway.namespace));
    let gateways = seen.map(|gateway| {
        let pods: Vec<&DataplanePod> = found
            .pods
            .iter()
            .filter(|pod| pod.gateway == gateway.id)
            .collect();
        let counters = by_gateway.get(gateway.id.as_str());
        let phase = phase(&pods, counters.is_some_and(|counters| counters.draining));
        LiveGateway {
            id: gateway.id.clone(),
            phase,
            allocations: counters.map_or(0, |counters| counters.allocations),
            message: message(&pods),
        }
    });
    let gateways = gateways.collect();
    let listeners = total.listeners.into_iter();
    let clusters = total.clusters.into_iter();
    Live {
        gateways,
        listeners: listeners
            .map(|(id, traffic)| LiveListener { id, traffic })
            .collect(),
        clusters: clusters
            .map(|(id, traffic)| LiveCluster { id, traffic })
            .collect(),
        denials,
        denials_by_reason: total.denials,
        sessions,
        sessions_total,
        can_end_sessions: true,
    }
}

fn newest_first(denials: &mut Vec<Denial>) {
    denials.sort_by(|a, b| b.at.cmp(&a.at));
    denials.truncate(DENIALS);
}

/// A Gateway drains when all its pods do: while one takes new allocations, it runs.
fn phase(pods: &[&DataplanePod], told_draining: bool) -> Phase {
    let staying = |pod: &&&DataplanePod| !pod.place.terminating;
    if pods.iter().filter(staying).any(|pod| pod.place.ready) {
        return Phase::Running;
    }
    let is_leaving = pods
        .iter()
        .any(|pod| pod.place.terminating && pod.place.running);
    match is_leaving || told_draining {
        true => Phase::Draining,
        false => Phase::NotRunning,
    }
}

fn message(pods: &[&DataplanePod]) -> Option<String> {
    let ready = pods
        .iter()
        .filter(|pod| pod.place.ready && !pod.place.terminating);
    let (ready, leaving) = (
        ready.count(),
        pods.iter().filter(|pod| pod.place.terminating).count(),
    );
    let staying = pods.len() - leaving;
    let mut parts = Vec::new();
    match (ready, staying) {
        (0, 0) if leaving == 0 => return Some("It has no pods.".to_owned()),
        (ready, staying) if ready < staying => {
            parts.push(format!("{ready} of {staying} pods are ready."));
        }
        (1, 1) | (0, 0) => {}
        (ready, _) => parts.push(format!("{ready} pods.")),
    }
    match leaving {
        0 => {}
        1 => parts.push("1 pod drains.".to_owned()),
        leaving => parts.push(format!("{leaving} pods drain.")),
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use stunner_api::NamespacedName;
    use stunner_cluster::PodPlace;

    use super::*;

    fn pod(gateway: &str, name: &str) -> DataplanePod {
        DataplanePod {
            gateway: format!("stunner/{gateway}"),
            place: PodPlace {
                name: NamespacedName::new("stunner", name),
                gateway: Some(NamespacedName::new("stunner", gateway)),
                owner: None,
                ready: true,
                running: true,
                terminating: false,
                host_network: false,
                node: None,
                addresses: Vec::new(),
            },
        }
    }

    #[test]
    fn every_gateway_is_heard_before_the_second_pod_of_any() {
        let mut pods: Vec<DataplanePod> = (0..PODS)
            .map(|number| pod("a", &format!("a-{number:03}")))
            .collect();
        pods.push(pod("b", "b-0"));
        let asked = to_be_asked(&pods);
        assert_eq!(asked.len(), PODS);
        assert_eq!(asked[1].name().name, "b-0");
    }

    #[test]
    fn a_gateway_drains_only_when_nothing_stays() {
        let staying = pod("a", "a-0");
        let mut leaving = pod("a", "a-1");
        leaving.place.terminating = true;
        let mut starting = pod("a", "a-2");
        starting.place.ready = false;
        assert_eq!(phase(&[&staying, &leaving], true), Phase::Running);
        assert_eq!(phase(&[&leaving], false), Phase::Draining);
        assert_eq!(phase(&[&starting], false), Phase::NotRunning);
        assert_eq!(phase(&[], false), Phase::NotRunning);
        assert_eq!(message(&[]).as_deref(), Some("It has no pods."));
        assert_eq!(message(&[&staying]), None);
        assert_eq!(
            message(&[&staying, &starting, &leaving]).as_deref(),
            Some("1 of 2 pods are ready. 1 pod drains.")
        );
    }

    #[test]
    fn a_dataplane_speaks_for_its_own_gateway_only() {
        let page = "stunner_listener_bytes_total{direction=\"rx\",name=\"other/gw/udp\"} 1\n\
                    stunner_listener_bytes_total{direction=\"rx\",name=\"stunner/a/udp\"} 2\n";
        let told = Told {
            counters: Counters::read(page),
            ..Told::default()
        };
        let mut view = View::default();
        for id in ["other/gw", "stunner/a"] {
            view.gateways.insert(
                id.to_owned(),
                super::super::admin::tests::gateway(id, "udp"),
            );
        }
        let seen = live(&view, &Found::default(), &[(pod("a", "a-0"), told)]);
        let names: Vec<&str> = seen
            .listeners
            .iter()
            .map(|listener| listener.id.as_str())
            .collect();
        assert_eq!(names, ["stunner/a/udp"]);
        // Nobody looked into their namespaces: whether they run is not known.
        assert!(seen.gateways.is_empty());
    }
}
