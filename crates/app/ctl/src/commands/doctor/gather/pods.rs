//! The pods of a Gateway, what makes them, and what they say they run.

use std::time::Duration;

use futures_util::future::join_all;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::{label, port};
use stunner_cluster::{Cluster, Http, Kind, Place, Selection};

use super::api::Reader;
use super::failed;
use crate::commands::doctor::facts::{Asked, Facts, PodFacts, WorkloadFacts};

/// For the answer of a pod.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pods that are asked what they run.
const POLLED: usize = 16;

pub(super) async fn pods(cluster: &Cluster, reader: &Reader, facts: &mut Facts) {
    let NamespacedName { namespace, name } = &facts.name;
    let selector = format!(
        "{}={},{}={name},{}={namespace}",
        label::APP,
        label::APP_VALUE,
        label::RELATED_GATEWAY_NAME,
        label::RELATED_GATEWAY_NAMESPACE
    );
    let selected = Selection::labels(&selector);
    let found: Asked<Vec<Pod>> = reader
        .list(&Kind::of::<Pod>(), Some(namespace), selected)
        .await;
    let mut pods: Vec<PodFacts> = match found.ok() {
        Ok(pods) => pods
            .iter()
            .filter(|pod| !has_ended(pod))
            .map(pod_facts)
            .collect(),
        Err(unknown) => {
            facts.pods = unknown;
            return;
        }
    };
    if pods.iter().all(|pod| pod.terminating) {
        facts.workload = workload(reader, namespace, name).await;
    }
    if let Some(port) = health_port(facts) {
        let asked = pods.iter_mut().filter(|pod| pod.ready && !pod.terminating);
        let questions = asked.take(POLLED).map(async |pod| {
            let place = Place::pod(cluster, &NamespacedName::new(namespace, &pod.name), port);
            pod.status = status(place).await;
        });
        join_all(questions).await;
    }
    facts.pods = Asked::Known(pods);
}

/// Where pods answer; `None` where they do not.
fn health_port(facts: &Facts) -> Option<u16> {
    let Some(config) = facts.served.known().and_then(Option::as_ref) else {
        return Some(port::HEALTH);
    };
    config
        .admin
        .healthcheck_endpoint
        .as_ref()
        .map(|endpoint| endpoint.port)
}

/// What a pod's `/status` says.
async fn status(place: Place) -> Asked<Value> {
    let http = Http::new(place).with_patience(PATIENCE).by("stunnerctl");
    match http.get("/status").await {
        Ok(answer) => match serde_json::from_slice(&answer.body) {
            Ok(status) if answer.status.is_success() => Asked::Known(status),
            _ => Asked::Failed(format!("it answered {}", answer.status)),
        },
        Err(error) => failed(&error),
    }
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn pod_facts(pod: &Pod) -> PodFacts {
    let status = pod.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    PodFacts {
        name: pod.metadata.name.clone().unwrap_or_default(),
        ready: conditions
            .iter()
            .any(|it| it.type_ == "Ready" && it.status == "True"),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        trouble: status.and_then(trouble),
        status: Asked::Unasked,
    }
}

/// The most telling of what Kubernetes says: a container that cannot start, one that ended, no node, no readiness.
fn trouble(status: &PodStatus) -> Option<String> {
    let join = |reason: Option<&String>, message: Option<&String>| match (reason, message) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (Some(text), None) | (None, Some(text)) => Some(text.clone()),
        (None, None) => None,
    };
    for container in status.container_statuses.iter().flatten() {
        let state = container.state.as_ref();
        if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
            return join(waiting.reason.as_ref(), waiting.message.as_ref());
        }
        if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
            return Some(format!("its container ended with code {}", ended.exit_code));
        }
    }
    let conditions = status.conditions.as_deref().unwrap_or_default();
    ["PodScheduled", "Ready"].into_iter().find_map(|kind| {
        let condition = conditions
            .iter()
            .find(|it| it.type_ == kind && it.status == "False")?;
        join(condition.reason.as_ref(), condition.message.as_ref())
    })
}

async fn workload(reader: &Reader, namespace: &str, name: &str) -> Asked<Option<WorkloadFacts>> {
    let deployments = Kind::of::<Deployment>();
    let found: Asked<Option<Deployment>> = reader.get(&deployments, Some(namespace), name).await;
    match found.ok() {
        Ok(None) => {}
        Ok(Some(deployment)) => {
            let conditions = deployment.status.and_then(|status| status.conditions);
            let conditions = conditions.unwrap_or_default().into_iter();
            let mut failures =
                conditions.filter(|it| it.type_ == "ReplicaFailure" && it.status == "True");
            return Asked::Known(Some(WorkloadFacts {
                id: format!("Deployment {namespace}/{name}"),
                wanted: deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1),
                trouble: failures.next().and_then(|it| it.message),
            }));
        }
        Err(unknown) => return unknown,
    }
    let sets = Kind::of::<DaemonSet>();
    let found: Asked<Option<DaemonSet>> = reader.get(&sets, Some(namespace), name).await;
    found.map(|set| {
        Some(WorkloadFacts {
            id: format!("DaemonSet {namespace}/{name}"),
            wanted: set?
                .status
                .map_or(1, |status| status.desired_number_scheduled),
            trouble: None,
        })
    })
}
