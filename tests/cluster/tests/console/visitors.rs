//! Visitors with a token: they see what their own rights let them see, and are told what they lack.

use cluster_tests::{Cluster, GatewayApi, need};
use serde_json::json;

use crate::world::{World, notes, of, shown};

#[tokio::test]
async fn a_token_that_the_api_server_does_not_know_is_refused_and_the_hierarchy_stays() {
    let test = "a_token_that_the_api_server_does_not_know_is_refused_and_the_hierarchy_stays";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-unknown").await;
    let operator = world.operator(cluster).await;
    let state = shown(
        operator.console(),
        Some("no-such-token"),
        "the Gateway",
        |state| of(&state["gateways"], "console-unknown/edge").map(|_| state.clone()),
    )
    .await;
    assert_eq!(state["token"], "refused", "{state}");
    assert!(state["live"].is_null(), "{state}");
    assert!(
        notes(&state).contains("does not accept your token"),
        "{state}"
    );
}

#[tokio::test]
async fn rights_that_a_token_lacks_are_named_by_namespace() {
    let test = "rights_that_a_token_lacks_are_named_by_namespace";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-rights").await;
    world.apply(&pod("console-rights")).await;
    world
        .objects
        .merge_status(
            cluster_tests::kinds::POD,
            "console-rights",
            "edge-1",
            json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] }),
        )
        .await;
    let operator = world.operator(cluster).await;
    let console = operator.console();

    let nothing = world.token("nothing", json!([]), false).await;
    let state = shown(console, Some(&nothing), "the Gateway", |state| {
        of(&state["gateways"], "console-rights/edge").map(|_| state.clone())
    })
    .await;
    assert_eq!(state["token"], "accepted", "{state}");
    let said = notes(&state);
    assert!(
        said.contains("Your token may not list pods in namespace console-rights"),
        "{said}"
    );

    let pods = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
    let listing = world.token("listing", pods, false).await;
    let state = console.state(Some(&listing)).expect("a state");
    let said = notes(&state);
    assert!(
        said.contains("may not create pods/portforward in namespace console-rights"),
        "{said}"
    );
    let gateway = of(&state["live"]["gateways"], "console-rights/edge").expect("the Gateway");
    assert_eq!(gateway["phase"], "running", "{gateway}");
}

fn pod(namespace: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "edge-1", "namespace": namespace, "labels": {
            "app": "stunner",
            "stunner.l7mp.io/related-gateway-namespace": namespace,
            "stunner.l7mp.io/related-gateway-name": "edge",
        } },
        "spec": { "nodeName": "nowhere", "containers": [{ "name": "stunnerd", "image": "example.test/stunnerd:1" }] },
    })
}
