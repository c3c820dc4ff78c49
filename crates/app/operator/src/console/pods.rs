//! The pods of Gateways, found with a visitor's rights.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use stunner_api::NamespacedName;
use stunner_api::names::label;
use stunner_cluster::PodPlace;
use stunner_console::Note;

use super::world::View;
use crate::cluster::Refusal;

/// Pods of one list.
const LISTED: u32 = 500;
/// Namespaces that are asked one by one, where all at once is not permitted.
const NAMESPACES: usize = 32;
const NAMESPACES_AT_ONCE: usize = 8;

/// A pod that serves a Gateway, or is about to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataplanePod {
    /// `namespace/name`.
    pub(super) gateway: String,
    pub(super) place: PodPlace,
}

impl DataplanePod {
    pub(super) fn name(&self) -> &NamespacedName {
        &self.place.name
    }
}

/// What was found with a visitor's rights.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By name.
    pub(super) pods: Vec<DataplanePod>,
    /// Namespaces that were looked into. Of Gateways elsewhere nothing is known.
    pub(super) namespaces: BTreeSet<String>,
    /// What stood in the way of finding more.
    pub(super) notes: Vec<Note>,
}

/// The pods of all Gateways in the view.
pub(super) async fn find(client: &Client, view: &View) -> Found {
    let mut found = Found::default();
    if view.gateways.is_empty() {
        return found;
    }
    let gateways = view.gateways.values();
    let namespaces: BTreeSet<String> = gateways.map(|gateway| gateway.namespace.clone()).collect();
    let everywhere: Api<Pod> = Api::all(client.clone());
    match list(&everywhere).await {
        Ok(pods) => {
            found.pods = pods;
            found.namespaces = namespaces;
        }
        Err(Refusal::Forbidden(_)) => by_namespace(client, namespaces, &mut found).await,
        Err(other) => found.notes.push(note(format!(
            "The pods of the Gateways cannot be listed: {other}"
        ))),
    }
    found
        .pods
        .retain(|pod| view.gateways.contains_key(&pod.gateway));
    found.pods.sort_by(|a, b| a.name().cmp(b.name()));
    found
}

async fn by_namespace(client: &Client, namespaces: BTreeSet<String>, found: &mut Found) {
    if namespaces.len() > NAMESPACES {
        found.notes.push(note(format!(
            "Pods are looked for in the first {NAMESPACES} of {} namespaces.",
            namespaces.len()
        )));
    }
    let asked = stream::iter(namespaces.into_iter().take(NAMESPACES));
    let answers = asked.map(|namespace| {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        async move { (namespace, list(&pods).await) }
    });
    let answers: BTreeMap<String, _> = answers.buffer_unordered(NAMESPACES_AT_ONCE).collect().await;
    for (namespace, answer) in answers {
        match answer {
            Ok(pods) => {
                found.pods.extend(pods);
                found.namespaces.insert(namespace);
            }
            Err(Refusal::Forbidden(said)) => found.notes.push(Note {
                message: format!("Your token may not list pods in namespace {namespace}: {said}"),
                hint: Some(RIGHTS.to_owned()),
            }),
            Err(other) => found.notes.push(note(format!(
                "The pods of namespace {namespace} cannot be listed: {other}"
            ))),
        }
    }
}

/// What a visitor needs, in each namespace with Gateways.
pub(super) const RIGHTS: &str =
    "grant it list on pods, get on pods/proxy, and get and create on pods/portforward";

async fn list(pods: &Api<Pod>) -> Result<Vec<DataplanePod>, Refusal> {
    let selector = format!("{}={}", label::APP, label::APP_VALUE);
    // From the API server's cache: this is asked every second while somebody looks.
    let params = ListParams::default()
        .labels(&selector)
        .limit(LISTED)
        .match_any();
    let listed = pods.list(&params).await;
    let listed = listed.map_err(|error| Refusal::of(&error))?;
    Ok(listed.items.iter().filter_map(dataplane_pod).collect())
}

/// `None` for a pod that is not made for a Gateway, or has come to its end.
fn dataplane_pod(pod: &Pod) -> Option<DataplanePod> {
    let place = PodPlace::of(pod)?;
    let gateway = place.gateway.as_ref()?.to_string();
    Some(DataplanePod { gateway, place })
}

fn note(message: String) -> Note {
    Note {
        message,
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(change: impl FnOnce(&mut Value)) -> Option<DataplanePod> {
        let mut pod = json!({
            "metadata": {"namespace": "stunner", "name": "udp-gateway-1", "labels": {
                "app": "stunner",
                "stunner.l7mp.io/related-gateway-namespace": "stunner",
                "stunner.l7mp.io/related-gateway-name": "udp-gateway",
            }},
            "spec": {"containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        });
        change(&mut pod);
        dataplane_pod(&serde_json::from_value(pod).expect("a pod"))
    }

    #[test]
    fn others_are_passed_over() {
        assert_eq!(
            read(|pod| pod["metadata"]["labels"] = json!({"app": "stunner"})),
            None
        );
        assert_eq!(
            read(|pod| pod["status"]["phase"] = json!("Succeeded")),
            None
        );
        assert_eq!(
            read(|pod| pod["metadata"]["namespace"] = json!("elsewhere")),
            None
        );
    }
}
