//! Waiting for the Gateways to be reachable and for the icetester to run.

use std::time::{Duration, Instant};

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::GATEWAY_GROUP;
use stunner_api::names::condition::{PROGRAMMED, TRUE, UNKNOWN};
use stunner_client::ServerTransport;
use stunner_cluster::{Cluster, ConfigId, Scope};

use super::NAME;
use super::objects::{gateway_name, icetester};
use super::store::{Name, Store, kind};
use crate::failure::Failure;

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn ready(
    cluster: &Cluster,
    store: &Store,
    transports: &[ServerTransport],
    until: Instant,
) -> Result<(), Failure> {
    loop {
        let missing = match missing(cluster, store, transports).await? {
            None => return Ok(()),
            Some(missing) => missing,
        };
        if Instant::now() >= until {
            return Err(missing);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The first thing that is not there yet.
async fn missing(
    cluster: &Cluster,
    store: &Store,
    transports: &[ServerTransport],
) -> Result<Option<Failure>, Failure> {
    for transport in transports {
        let name = gateway_name(*transport);
        if let Some(failure) = gateway(store, &name).await? {
            return Ok(Some(failure));
        }
        let id = ConfigId {
            namespace: NAME.to_owned(),
            name: name.clone(),
        };
        let pods = cluster.dataplane_pods(&Scope::One(id)).await?;
        if !pods.iter().any(|pod| pod.ready) {
            return Ok(Some(Failure::new(
                format!("no pod of Gateway {NAME}/{name} is ready"),
                format!("kubectl describe pods -n {NAME} says why"),
            )));
        }
    }
    let pod: NamespacedName = icetester();
    let is_ready = cluster.pod(&pod).await.is_ok_and(|pod| pod.ready);
    Ok((!is_ready).then(|| {
        Failure::new(
            format!("the icetester pod {pod} is not ready"),
            format!("kubectl describe pod -n {NAME} {} says why; give another --ice-tester-image if it is the image", pod.name),
        )
    }))
}

/// Why a Gateway cannot be used yet.
async fn gateway(store: &Store, name: &str) -> Result<Option<Failure>, Failure> {
    let name = Name {
        kind: kind(&format!("{GATEWAY_GROUP}/v1"), "Gateway"),
        namespace: Some(NAME.to_owned()),
        name: name.to_owned(),
    };
    let Some(gateway) = store.find(&name).await? else {
        return Ok(Some(Failure::new(
            format!("{name} is gone"),
            "does another test run?",
        )));
    };
    let status = &gateway["status"];
    let conditions = status["conditions"].as_array();
    // Unknown is what the CRD says for as long as no operator says anything.
    let programmed = conditions.and_then(|all| {
        let is_said = |it: &&Value| it["type"] == PROGRAMMED && it["status"] != UNKNOWN;
        all.iter().find(is_said)
    });
    let is_programmed = programmed.is_some_and(|it| it["status"] == TRUE);
    let has_address = status["addresses"][0]["value"]
        .as_str()
        .is_some_and(|it| !it.is_empty());
    if is_programmed && has_address {
        return Ok(None);
    }
    let said = programmed
        .and_then(|it| it["message"].as_str())
        .unwrap_or_default();
    let (what, hint) = match (programmed.is_some(), has_address) {
        (false, _) => (
            "no operator has looked at it".to_owned(),
            "is the operator running? kubectl get pods -A -l control-plane=stunner-gateway-operator-controller-manager",
        ),
        (true, false) if said.is_empty() => (
            "it has no public address".to_owned(),
            "the cluster gives its Service no load balancer: try --allow-nodeport",
        ),
        (true, false) => (
            format!("it has no public address: {said}"),
            "where there is no load balancer, try --allow-nodeport",
        ),
        (true, true) => (said.to_owned(), "its conditions say what to change"),
    };
    Ok(Some(Failure::new(
        format!("{name} is not ready: {what}"),
        hint,
    )))
}
