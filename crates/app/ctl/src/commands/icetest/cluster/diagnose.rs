//! What Kubernetes and the operator say, when a test failed.

use serde_json::Value;
use stunner_api::names::condition::{CONFLICTED, FALSE, TRUE};
use stunner_api::names::{GATEWAY_GROUP, GROUP};
use stunner_cluster::Cluster;

use super::NAME;
use super::store::{Name, Store, called, kind};
use crate::output::Output;

/// Tells every condition that is not as it should be, and pods that are not ready.
pub(super) async fn tell(cluster: &Cluster, store: &Store, out: &mut Output<'_>) {
    let mut lines = Vec::new();
    let class = Name {
        kind: kind(&format!("{GATEWAY_GROUP}/v1"), "GatewayClass"),
        namespace: None,
        name: NAME.to_owned(),
    };
    if let Ok(Some(class)) = store.find(&class).await {
        lines.extend(conditions("GatewayClass", &class, &class["status"]));
    }
    let gateways = kind(&format!("{GATEWAY_GROUP}/v1"), "Gateway");
    for gateway in store.list(&gateways, NAME).await {
        let status = &gateway["status"];
        lines.extend(conditions("Gateway", &gateway, status));
        for listener in status["listeners"].as_array().into_iter().flatten() {
            lines.extend(conditions("listener of Gateway", &gateway, listener));
        }
    }
    let routes = kind(&format!("{GROUP}/v1"), "UDPRoute");
    for route in store.list(&routes, NAME).await {
        for parent in route["status"]["parents"].as_array().into_iter().flatten() {
            lines.extend(conditions("UDPRoute", &route, parent));
        }
    }
    let deployments = kind("apps/v1", "Deployment");
    for deployment in store.list(&deployments, NAME).await {
        lines.extend(conditions("Deployment", &deployment, &deployment["status"]));
    }
    for pod in cluster.pods(Some(NAME), "").await.unwrap_or_default() {
        if !pod.ready {
            let state = if pod.running {
                "runs, but is not ready"
            } else {
                "does not run"
            };
            lines.push(format!("pod {} {state}", pod.name));
        }
    }
    lines.dedup();
    match lines.is_empty() {
        true => out.note("Diagnostics: Gateways, routes and pods are as they should be"),
        false => out.note("Diagnostics:"),
    }
    for line in lines {
        out.note(&format!("  {line}"));
    }
}

/// Of a Deployment: it could not make its pods.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The conditions that are not as they should be: True, but for two that tell of problems.
fn conditions(what: &str, object: &Value, status: &Value) -> Vec<String> {
    let name = called(object);
    let all = status["conditions"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.filter(|condition| {
        let tells_of_problem =
            condition["type"] == CONFLICTED || condition["type"] == REPLICA_FAILURE;
        let wanted = if tells_of_problem { FALSE } else { TRUE };
        condition["status"] != wanted
    })
    .map(|condition| {
        format!(
            "{what} {name}: {}={} ({}): {}",
            text(&condition["type"]),
            text(&condition["status"]),
            text(&condition["reason"]),
            text(&condition["message"])
        )
    })
    .collect()
}
