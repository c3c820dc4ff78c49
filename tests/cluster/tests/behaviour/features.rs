//! Fields that reach the dataplane's config or what is created, end to end.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::json;

use crate::site::{Site, conditions, same};

#[tokio::test]
async fn stun_mode_and_quota_reach_the_config() {
    let test = "stun_mode_and_quota_reach_the_config";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "knobs").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    let mut config = site.config();
    config["spec"]["userQuota"] = json!(7);
    site.apply(config).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["admin"]["user_quota"], 7)?;
        same(&config["auth"]["type"], "static")
    })
    .await;
    let mut config = site.config();
    config["spec"] = json!({ "stunMode": true, "dataplane": site.name });
    site.apply(config).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["auth"]["type"], "none")
    })
    .await;
}

#[tokio::test]
async fn infrastructure_labels_and_annotations_reach_what_is_created() {
    let test = "infrastructure_labels_and_annotations_reach_what_is_created";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "infrastructure").await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["infrastructure"] = json!({
        "labels": { "cost-centre": "42" }, "annotations": { "example.test/note": "hello" },
    });
    site.apply(gateway).await;
    let operator = site.operator(cluster).await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.object(kind, "gw", |live| {
            same(&live["metadata"]["labels"]["cost-centre"], "42")?;
            same(
                &live["metadata"]["annotations"]["example.test/note"],
                "hello",
            )
        })
        .await;
    }
    // What is taken away there is taken away here.
    site.apply(site.gateway("gw")).await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.object(kind, "gw", |live| {
            same(&live["metadata"]["labels"]["cost-centre"], json!(null))?;
            same(
                &live["metadata"]["annotations"]["example.test/note"],
                json!(null),
            )
        })
        .await;
    }
    drop(operator);
}

#[tokio::test]
async fn an_official_tcproute_renders_a_tcp_cluster() {
    let test = "an_official_tcproute_renders_a_tcp_cluster";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "tcp-route").await;
    site.apply(site.gateway("gw")).await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "backend", "namespace": site.name },
        "spec": { "ports": [{ "port": 80, "protocol": "TCP" }] },
    }))
    .await;
    site.apply(json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute",
        "metadata": { "name": "route", "namespace": site.name },
        "spec": {
            "parentRefs": [{ "name": "gw" }],
            "rules": [{ "backendRefs": [{ "name": "backend", "port": 80 }] }],
        },
    }))
    .await;
    let operator = site.operator(cluster).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["clusters"][0]["protocol"], "TCP")
    })
    .await;
    site.object(kinds::TCP_ROUTE, "route", |live| {
        conditions(
            &live["status"]["parents"][0],
            &[("Accepted", "True/Accepted")],
        )
    })
    .await;
}
