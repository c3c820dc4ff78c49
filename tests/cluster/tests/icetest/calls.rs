//! The whole test, with media.

use cluster_tests::{Cluster, GatewayApi, Operator, OperatorOptions, need, own_address};
use serde_json::{Value, json};

use crate::node::Node;
use crate::stunnerctl::{icetest, nothing_is_left};

const CONTROLLER: &str = "stunner.l7mp.io/gateway-operator";

#[tokio::test(flavor = "multi_thread")]
async fn gateways_of_the_tests_own_carry_calls_over_all_transports_and_go() {
    let test = "gateways_of_the_tests_own_carry_calls_over_all_transports_and_go";
    let address = need!(test, own_address());
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let cluster = cluster.with_controller_manager().await;
    let objects = cluster.objects().await;
    // Health servers of several dataplanes on one machine would want one port, and our own image would want a token,
    // which this API server gives to no pod.
    let dataplane = json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane", "metadata": { "name": "default" },
        "spec": { "image": "example.test/stunnerd:1", "disableHealthCheck": true, "terminationGracePeriodSeconds": 3600 },
    });
    objects.apply_object(&dataplane).await;
    let operator = Operator::start(&cluster, OperatorOptions::new(CONTROLLER)).await;
    let mut node = Node::start(&cluster, address, operator.cds_port()).await;
    let cds = format!("127.0.0.1:{}", operator.cds_port());
    let arguments = ["--cds-server-address", &cds, "--timeout", "3m"];
    let told = tokio::select! {
        told = icetest(&cluster, &arguments) => told,
        () = node.run() => unreachable!("a node runs on"),
    };
    assert_eq!(told.code, Some(0), "{told:#?}\n{:?}", operator.log());
    let json = told.json();
    let runs = json["runs"].as_array().expect("runs");
    let line = |run: &Value| {
        let words = [&run["test"], &run["transport"], &run["result"]];
        words
            .map(|word| word.as_str().unwrap_or_default().to_owned())
            .join(" ")
    };
    let lines: Vec<String> = runs.iter().map(line).collect();
    assert_eq!(lines.len(), 8, "{told:#?}");
    assert!(
        lines.iter().all(|line| line.ends_with(" passed")),
        "{told:#?}"
    );
    for step in [
        "Checking installation",
        "Checking Gateway",
        "Obtaining ICE server configuration",
    ] {
        assert!(
            told.stderr.contains(&format!("{step}... completed")),
            "{told:#?}"
        );
    }
    drop(node);
    nothing_is_left(&objects).await;
}
