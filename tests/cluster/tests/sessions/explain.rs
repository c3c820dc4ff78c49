//! Whether a peer is admitted: with the names of routes and backends, with pods and before there are any.

use cluster_tests::{Cluster, GatewayApi, eventually, need};
use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_names_routes_and_backends_and_pods_that_differ() {
    let test = "the_answer_names_routes_and_backends_and_pods_that_differ";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut stage = Stage::set(cluster, "ctl-explain").await;
    stage.discovery(cluster).await;
    let ask = ["explain", "edge", "--peer", "10.1.2.3:5000"];
    let in_discovery = ["--cds-server-namespace", "ctl-explain"];
    let ask = [&ask[..], &in_discovery[..]].concat();

    // Before there is a pod, the configuration answers.
    let early = eventually("a configuration", async || {
        let told = stage.ctl(&ask).await;
        match told.code {
            Some(0) => Ok(told),
            _ => Err(format!("{told:?}")),
        }
    })
    .await;
    early.says("no pod serves gateway ctl-explain/edge; this is what the configuration says");
    early.says("admitted: clients of ctl-explain/edge/udp reach 10.1.2.3:5000/udp");
    early.says("route:   UDPRoute ctl-explain/calls");
    early.says("backend: StaticService ctl-explain/media");
    early.says("says:    config discovery");

    stage.dataplane(cluster, "edge-1").await;
    stage.client().await;
    let admitted = stage.ctl(&ask).await.with_code(0);
    admitted.says("says:    ctl-explain/edge-1");
    let forgotten = ["explain", "edge", "--peer", "10.2.0.7:5000"];
    let denied = stage.ctl(&forgotten).await.with_code(1);
    denied.says("denied: clients of ctl-explain/edge/udp do not reach 10.2.0.7:5000/udp");
    denied.says("it is:   Service ctl-explain/mixer");
    denied.says(
        "change:  add Service ctl-explain/mixer, which has 10.2.0.7, to the backendRefs of UDPRoute ctl-explain/calls",
    );
    let value = stage.ctl(&[&forgotten[..], &["-o", "json"]].concat()).await;
    let value = value.with_code(1).json();
    assert_eq!(value["listeners"][0]["backend"]["name"], "mixer", "{value}");

    // Who may see pods only gets the answer without the names.
    let rules = json!([
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] },
        { "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"] },
    ]);
    stage
        .objects
        .token("ctl-explain", "viewer", rules, false)
        .await;
    let viewer = ["--as", "system:serviceaccount:ctl-explain:viewer"];
    let nameless = stage
        .ctl(&[&ask[..], &viewer[..]].concat())
        .await
        .with_code(0);
    nameless.says("route:   ctl-explain/calls");
    nameless.says("udproutes cannot be read, so names may be missing");

    // A client that the load balancer leaves out.
    stage
        .objects
        .merge(
            cluster_tests::kinds::GATEWAY,
            "ctl-explain",
            "edge",
            json!({ "metadata": { "annotations": {
                "stunner.l7mp.io/load-balancer-source-ranges": "198.51.100.0/24",
            } } }),
        )
        .await;
    let outside = [&ask[..], &["--client", "192.0.2.1"]].concat();
    eventually("the source ranges of the Service", async || {
        let told = stage.ctl(&outside).await;
        let part = "client 192.0.2.1: the load balancer of ctl-explain/edge takes clients from 198.51.100.0/24 only";
        match (told.code, told.stdout.contains(part)) {
            (Some(1), true) => Ok(()),
            _ => Err(format!("{told:?}")),
        }
    })
    .await;

    stage.straggler(cluster, "edge-2").await;
    let disputed = eventually("an answer of the straggler", async || {
        let told = stage.ctl(&ask).await;
        // It answers before it has read its configuration, too, and then has no opinion.
        match told.stdout.contains("ctl-explain/edge-2") {
            true => Ok(told),
            false => Err(format!("{told:?}")),
        }
    })
    .await;
    let disputed = disputed.with_code(1);
    disputed
        .says("disputed: the dataplanes of ctl-explain/edge/udp differ about 10.1.2.3:5000/udp");
    disputed.says("ctl-explain/edge-1: admitted by ctl-explain/calls");
    disputed.says("ctl-explain/edge-2: denied (no_route)");
}
