//! What stands against a test, and that it leaves nothing behind then either.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, eventually, kinds, need};
use serde_json::json;

use crate::stunnerctl::{NAME, icetest, nothing_is_left, start};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_not_touched_and_what_was_made_goes() {
    let test = "what_is_there_is_not_touched_and_what_was_made_goes";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let cluster = cluster.with_controller_manager().await;
    existing_namespace(&cluster).await;
    terminating_namespace(&cluster).await;
    no_operator(&cluster).await;
    interrupted(&cluster).await;
    no_rights(&cluster).await;
}

/// Refused; removed only if that is said.
async fn existing_namespace(cluster: &Cluster) {
    let objects = cluster.objects().await;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAME } });
    objects.apply_object(&namespace).await;
    let told = icetest(cluster, &["udp"]).await;
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(told.stderr.contains("Namespace icetest"), "{told:#?}");
    assert!(told.stderr.contains("--force-cleanup"), "{told:#?}");
    assert_eq!(told.json()["runs"], json!([]), "{told:#?}");
    let live = objects
        .find(kinds::NAMESPACE, "", NAME)
        .await
        .expect("the namespace");
    assert_eq!(live["status"]["phase"], "Active", "{live}");
    assert!(objects.find(kinds::GATEWAY_CLASS, "", NAME).await.is_none());

    // It goes, and the test comes as far as one comes without an operator.
    let told = icetest(cluster, &["--force-cleanup", "--timeout", "20s", "udp"]).await;
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(
        told.stderr.contains("Initializing... completed"),
        "{told:#?}"
    );
    nothing_is_left(&objects).await;
}

/// What an earlier test left is on its way out, and waited for.
async fn terminating_namespace(cluster: &Cluster) {
    let objects = cluster.objects().await;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAME } });
    objects.apply_object(&namespace).await;
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held", "namespace": NAME, "finalizers": ["example.test/held"] } });
    objects.apply_object(&held).await;
    objects.delete(kinds::NAMESPACE, "", NAME).await;
    let mut process = start(cluster, &["--timeout", "40s", "udp"]);
    let begun = tokio::task::spawn_blocking(move || {
        assert!(process.wait_log("Initializing...", PATIENCE));
        std::thread::sleep(Duration::from_secs(1));
        assert!(process.ended().is_none(), "{:?}", process.log());
        process
    });
    let mut process = begun.await.expect("a thread");
    let free = json!({ "metadata": { "finalizers": null } });
    objects.merge(kinds::CONFIG_MAP, NAME, "held", free).await;
    eventually("the test goes on", async || {
        match process.log_contains("Initializing... completed") {
            true => Ok(()),
            false => Err(format!("{:?}", process.log())),
        }
    })
    .await;
    process.signal(libc::SIGTERM);
    assert!(process.wait_end(PATIENCE).is_some());
    nothing_is_left(&objects).await;
}

async fn no_operator(cluster: &Cluster) {
    let told = icetest(cluster, &["--timeout", "8s", "udp", "tls"]).await;
    assert_eq!(told.code, Some(1), "{told:#?}");
    for says in [
        "Creating gateways and an icetester... completed",
        "no operator has looked at it",
        "hint: is the operator running?",
        "Diagnostics:",
        "pod icetest/icetester does not run",
        "Removing what the test made... completed",
    ] {
        assert!(told.stderr.contains(says), "`{says}` is missing: {told:#?}");
    }
    nothing_is_left(&cluster.objects().await).await;
}

/// A test that the user ends cleans up too.
async fn interrupted(cluster: &Cluster) {
    let objects = cluster.objects().await;
    let mut process = start(cluster, &["udp"]);
    eventually("the test has made its last object", async || {
        let service = objects.find(kinds::SERVICE, NAME, "icetester").await;
        service.map(drop).ok_or_else(|| "no Service".to_owned())
    })
    .await;
    let gateway = objects.find(kinds::GATEWAY, NAME, "udp-gateway").await;
    let gateway = gateway.expect("a Gateway");
    assert_eq!(gateway["spec"]["listeners"][0]["protocol"], "TURN-UDP");
    let config = objects.find(kinds::GATEWAY_CONFIG, NAME, NAME).await;
    assert_eq!(
        config.expect("a GatewayConfig")["spec"]["authType"],
        "ephemeral"
    );
    process.signal(libc::SIGINT);
    let ended = process.wait_end(PATIENCE).expect("an end");
    assert_eq!(ended.code(), Some(1), "{:?}", process.log());
    assert!(process.log_contains("interrupted"), "{:?}", process.log());
    nothing_is_left(&objects).await;
}

async fn no_rights(cluster: &Cluster) {
    let objects = cluster.objects().await;
    let token = objects.token("default", "nobody", json!([]), true).await;
    let told = icetest(cluster, &["--token", &token, "udp"]).await;
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(
        told.stderr.contains("hint: the test needs the right to"),
        "{told:#?}"
    );
    nothing_is_left(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_our_kinds_is_told_what_to_install() {
    let test = "a_cluster_without_our_kinds_is_told_what_to_install";
    let cluster = need!(test, Cluster::start_empty().await);
    let told = icetest(&cluster, &["udp"]).await;
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(told.stderr.contains("gatewayclasses"), "{told:#?}");
    assert!(
        told.stderr.contains("hint: install the Gateway API"),
        "{told:#?}"
    );
    let objects = cluster.objects().await;
    assert!(objects.find(kinds::NAMESPACE, "", NAME).await.is_none());
}
