//! Sessions in pods: listed, counted and ended through port-forwards.

use cluster_tests::{Cluster, GatewayApi, need};
use interop_tests::echo::UdpEcho;
use serde_json::json;

use crate::stage::{PASSWORD, Stage, USER};

const CHANNEL: u16 = 0x4000;

#[tokio::test(flavor = "multi_thread")]
async fn sessions_in_pods_are_listed_counted_and_ended() {
    let test = "sessions_in_pods_are_listed_counted_and_ended";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut stage = Stage::set(cluster, "ctl-live").await;
    let none = stage.ctl(&["sessions", "edge"]).await.with_code(1);
    none.says("error: no pod serves gateway ctl-live/edge");
    none.says("hint: `stunnerctl doctor`");

    stage.dataplane(cluster, "edge-1").await;
    let mut client = stage.client().await;
    let echo = UdpEcho::start("127.0.0.1:0");
    client.bind(CHANNEL, echo.address()).expect("admitted");
    assert!(client.echoes(CHANNEL, b"through the pod"));

    let listed = stage.ctl(&["sessions", "edge", "-o", "json"]).await;
    let session = listed.with_code(0).json();
    let id = session["id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("ctl-live/edge-1/"), "{id}");
    assert_eq!(session["pod"], "ctl-live/edge-1");
    assert_eq!(session["user"], USER);
    assert_eq!(session["listener"], "ctl-live/edge/udp");
    assert!(!session.to_string().contains(PASSWORD));

    let top = ["top", "--once", "--interval", "300ms"];
    let table = stage.ctl(&top).await.with_code(0);
    table.says("ctl-live/edge");
    table.says("  pod edge-1");
    let top = ["top", "edge", "--once", "--interval", "300ms", "-o", "json"];
    let value = stage.ctl(&top).await.with_code(0).json();
    let gateway = &value["gateways"][0];
    assert_eq!(gateway["allocations"], 1, "{value}");
    assert_eq!(gateway["pods"][0]["name"], "ctl-live/edge-1");
    assert_eq!(gateway["pods"][0]["state"], "ready");

    // A pod that cannot be asked takes nothing from the others.
    stage
        .objects
        .apply_object(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "edge-2", "namespace": "ctl-live", "labels": {
                "app": "stunner",
                "stunner.l7mp.io/related-gateway-namespace": "ctl-live",
                "stunner.l7mp.io/related-gateway-name": "edge",
            } },
            "spec": { "containers": [{ "name": "main", "image": "example.test/image:1" }] },
        }))
        .await;
    let partly = stage.ctl(&["sessions", "edge"]).await.with_code(1);
    partly.says(&id);
    partly.says("no answer from ctl-live/edge-2: the pod is not running yet");

    let ended = stage.ctl(&["sessions", "--kill", &id]).await.with_code(0);
    ended.says(&format!("ended {id}"));
    let refused = client.refresh(600).expect_err("the session has ended");
    assert_eq!(refused.code(), Some(437));
    let again = stage.ctl(&["sessions", "--kill", &id]).await.with_code(1);
    again.says("there is no session");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_look_is_told_which_right_is_missing() {
    let test = "whoever_may_not_look_is_told_which_right_is_missing";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let stage = Stage::set(cluster, "ctl-rights").await;
    let stranger = ["--as", "system:serviceaccount:ctl-rights:stranger"];
    for command in [
        &["top"][..],
        &["sessions"][..],
        &["explain", "edge", "--peer", "10.1.0.1:5000"][..],
    ] {
        let told = stage.ctl(&[command, &stranger].concat()).await.with_code(1);
        told.says("not permitted to list pods in namespace `ctl-rights`");
        told.says("hint: ");
    }
}
